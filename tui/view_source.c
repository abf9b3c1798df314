// The kernel's source as it was compiled, with what each line costs beside it: samples of the hardware, or what the CPU
// device counted. The hottest line is marked.
#include "base/memory.h"
#include "tui/evidence.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 400, NUMBER = 7, SHARE = 14 };

// What one frame is made from.
struct page {
    const char *file;
    const char *text; // NULL: not at hand
    size_t size;
    bool disk; // lines come from the file as it is now
    int lines; // of the file; of the costs where there is no text
    struct kb_costs costs;
    const char *reason; // why there is no text
};

static void open_page(const struct kb_app *a, struct page *p)
{
    const struct kb_model_version *v = kb_app_version(a);
    *p = (struct page){.file = ""};
    if (!v || a->variant >= a->model->variant_count)
        return;
    const struct kb_model_variant *variant = &a->model->variants[a->variant];
    struct kb_why_events why;
    struct kb_code_answer answer = {0};
    struct kb_code_request request = {.kind = KB_CODE_SOURCE, .variant = variant->name, .version = v->number};
    int index = kb_app_case(a);
    p->file = variant->source ? variant->source : "";
    kb_why_events_of(a, v, &why);
    kb_costs_make(why.in.sections, index < a->model->case_count ? v->cases[index].facts : NULL, p->file, &p->costs);
    if (a->driver.code && v->number > 0)
        a->driver.code(a->driver.context, &request, &answer);
    p->text = answer.text;
    p->size = answer.size;
    p->reason = answer.reason;
    if (p->text) {
        p->lines = p->size > 0;
        for (const char *at = p->text; (at = memchr(at, '\n', p->size - (size_t)(at - p->text))); at++)
            p->lines += at + 1 < p->text + p->size;
    } else if (a->driver.source_line_count && *p->file) {
        p->lines = a->driver.source_line_count(a->driver.context, p->file);
        p->disk = p->lines > 0;
    }
    if (!p->lines)
        p->lines = p->costs.count ? p->costs.items[p->costs.count - 1].line : 0;
}

static void close_page(struct page *p)
{
    kb_costs_free(&p->costs);
}

int kb_source_cursor(const struct kb_app *a)
{
    struct page p;
    open_page(a, &p);
    int line = a->source_line ? a->source_line : kb_cost_step(&p.costs, 0, 0);
    line = line > p.lines ? p.lines : line;
    close_page(&p);
    return line < 1 ? 1 : line;
}

void kb_source_step(struct kb_app *a, int by)
{
    struct page p;
    open_page(a, &p);
    a->source_line = kb_cost_step(&p.costs, kb_source_cursor(a), by);
    close_page(&p);
}

static enum kb_style heat(const struct page *p, const struct kb_cost *c)
{
    double most = p->costs.count ? p->costs.items[p->costs.heat[0]].share : NAN;
    return !(c->share > 0)       ? KB_STYLE_DIM
           : c->share > most / 2 ? KB_STYLE_HEAT_3
           : c->share > most / 8 ? KB_STYLE_HEAT_2
                                 : KB_STYLE_HEAT_1;
}

static int stall_width(int width)
{
    return width >= 90 ? 24 : width >= 56 ? 12 : 0;
}

static void add_number(struct kb_line *l, int x, double n, enum kb_style style)
{
    if (n > 0)
        kb_span_right(l, x, style, kb_show_count(n).s);
}

// Sectors of 32 bytes moved over bytes asked for: 1 is the least.
static void add_fetch(struct kb_line *l, int x, const struct kb_cost *c)
{
    double times = c->bytes > 0 ? c->sectors * 32 / c->bytes : NAN;
    if (isnan(times))
        return;
    char *text = kb_format("x%s", kb_show_us(times).s);
    kb_span_right(l, x, times > 2 ? KB_STYLE_WARN : KB_STYLE_TEXT, text);
    free(text);
}

// Where the columns of counts end; 0: not shown.
struct columns {
    int bytes, fetch, conflicts, divergent, text;
};

static struct columns columns_of(const struct page *p, int width)
{
    if (p->costs.sampled || !p->costs.count)
        return (struct columns){.text = SHARE + 1 + (p->costs.sampled ? stall_width(width) : 0)};
    struct columns c = {.fetch = SHARE + 7, .text = SHARE + 9};
    if (width >= 70)
        c = (struct columns){.bytes = SHARE + 10, .fetch = SHARE + 17, .conflicts = SHARE + 28, .text = SHARE + 30};
    if (width >= 90)
        c = (struct columns){SHARE + 10, SHARE + 17, SHARE + 28, SHARE + 38, SHARE + 40};
    return c;
}

static void add_costs(struct kb_line *l, const struct page *p, const struct kb_cost *c, int width)
{
    struct columns at = columns_of(p, width);
    kb_span_right(l, SHARE, heat(p, c), kb_show_percent(c->share).s);
    if (p->costs.sampled && c->stall && stall_width(width)) {
        kb_span(l, KB_STYLE_TEXT, " ");
        kb_span_cut(l, stall_width(width) - 6, KB_STYLE_DIM, c->stall);
        if (width >= 90)
            kb_spanf(l, KB_STYLE_DIM, " %s", kb_show_percent(c->stall_share).s);
    }
    if (at.bytes && c->bytes > 0)
        kb_span_right(l, at.bytes, KB_STYLE_TEXT, kb_show_bytes(c->bytes).s);
    if (at.fetch)
        add_fetch(l, at.fetch, c);
    if (at.conflicts)
        add_number(l, at.conflicts, c->conflicts, KB_STYLE_WARN);
    if (at.divergent)
        add_number(l, at.divergent, c->divergent, KB_STYLE_WARN);
}

static void add_head(struct kb_line *l, const struct page *p, int width)
{
    struct columns at = columns_of(p, width);
    kb_span_right(l, NUMBER, KB_STYLE_DIM, "line");
    if (p->costs.count)
        kb_span_right(l, SHARE, KB_STYLE_DIM, p->costs.sampled ? "share" : "instr");
    if (p->costs.sampled && stall_width(width))
        kb_span(l, KB_STYLE_DIM, " waits for");
    if (at.bytes)
        kb_span_right(l, at.bytes, KB_STYLE_DIM, "bytes");
    if (at.fetch)
        kb_span_right(l, at.fetch, KB_STYLE_DIM, "fetch");
    if (at.conflicts)
        kb_span_right(l, at.conflicts, KB_STYLE_DIM, "conflicts");
    if (at.divergent)
        kb_span_right(l, at.divergent, KB_STYLE_DIM, "divergent");
}

static void add_row(const struct kb_app *a, const struct page *p, int number, const char *text, int width,
                    struct kb_line *l)
{
    const struct kb_cost *cost = kb_cost_at(&p->costs, number);
    bool worst = cost && p->costs.heat[0] == (int)(cost - p->costs.items);
    char *digits = kb_format("%d", number);
    kb_span(l, KB_STYLE_BAD, worst ? kb_sign(KB_SIGN_CURSOR, a->ascii) : " ");
    kb_span_right(l, NUMBER, cost ? KB_STYLE_TEXT : KB_STYLE_DIM, digits);
    free(digits);
    if (cost)
        add_costs(l, p, cost, width);
    kb_span_pad(l, columns_of(p, width).text);
    if (text)
        kb_span(l, KB_STYLE_SOURCE, text);
}

// The start of a line of the text, found from the start of an earlier one.
static const char *skip_lines(const struct page *p, const char *at, int lines)
{
    const char *end = p->text + p->size;
    for (; at && lines > 0; lines--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at && at + 1 < end ? at + 1 : NULL;
    }
    return at;
}

static void place(struct kb_app *a, int cursor, int rows, int lines)
{
    int *top = &a->top[KB_PANE_SOURCE], at = cursor - 1;
    if (at < *top || at >= *top + rows)
        *top = at - rows / 2;
    if (*top > lines - rows)
        *top = lines - rows;
    if (*top < 0)
        *top = 0;
}

static void draw_rows(const struct kb_app *a, const struct page *p, const struct kb_canvas *c, int cursor)
{
    int top = a->top[KB_PANE_SOURCE];
    const char *at = p->text ? skip_lines(p, p->text, top) : NULL;
    for (int y = 1; y < c->area.h && top + y <= p->lines; y++) {
        struct kb_line l = {.ascii = a->ascii};
        const char *text = NULL;
        char buffer[LINE_MOST];
        if (at) {
            size_t n = strcspn(at, "\r\n"), most = p->size - (size_t)(at - p->text);
            n = n < most ? n : most;
            n = n < LINE_MOST - 1 ? n : LINE_MOST - 1;
            memcpy(buffer, at, n);
            buffer[n] = 0;
            text = buffer;
            at = skip_lines(p, at, 1);
        } else if (p->disk && a->driver.source_line) {
            text = a->driver.source_line(a->driver.context, p->file, top + y);
        }
        add_row(a, p, top + y, text, c->area.w, &l);
        kb_line_draw(c, 0, y, c->area.w, &l);
        if (top + y == cursor && a->focus == KB_PANE_SOURCE)
            kb_select_row(c, y);
        kb_line_free(&l);
    }
}

static void draw(struct kb_app *a, const struct kb_canvas *c)
{
    struct page p;
    struct kb_line head = {.ascii = a->ascii};
    open_page(a, &p);
    int rows = c->area.h - 1, cursor = a->source_line ? a->source_line : kb_cost_step(&p.costs, 0, 0);
    cursor = cursor > p.lines ? p.lines : cursor < 1 ? 1 : cursor;
    rows = rows < 1 ? 1 : rows;
    place(a, cursor, rows, p.lines);
    a->lines[KB_PANE_SOURCE] = p.lines;
    a->page[KB_PANE_SOURCE] = rows;
    if (!p.lines) {
        kb_put_cut(c, 0, 0, c->area.w, KB_STYLE_DIM,
                   p.reason ? p.reason : "no source is at hand, and nothing was counted or sampled");
    } else {
        add_head(&head, &p, c->area.w);
        kb_line_draw(c, 0, 0, c->area.w, &head);
        draw_rows(a, &p, c, cursor);
    }
    kb_line_free(&head);
    close_page(&p);
}

static void move(struct kb_app *a, int by)
{
    int to = kb_source_cursor(a) + by, most = a->lines[KB_PANE_SOURCE];
    to = to > most ? most : to;
    a->source_line = to < 1 ? 1 : to;
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    struct page p;
    open_page(a, &p);
    const struct kb_model_version *v = kb_app_version(a);
    kb_text_add(out, p.file);
    if (v && v->number > 0)
        kb_text_addf(out, " v%d", v->number);
    if (p.disk)
        kb_text_add(out, ", as it is now on disk");
    else if (!p.text && p.lines)
        kb_text_add(out, ", text not at hand");
    if (p.costs.count)
        kb_text_add(out, p.costs.sampled ? ", PC samples" : ", counted on the CPU");
    else if (v)
        kb_text_add(out, ", not sampled or counted");
    close_page(&p);
}

const struct kb_view kb_view_source = {"source", 0, NULL, draw, note, NULL, move};
