// What compilers, kernels and the session said. Follows its end until scrolled; zoomed, long lines are wrapped.
#include "base/memory.h"
#include "tui/format.h"
#include "tui/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const struct kb_app *a, const struct kb_log_line *l)
{
    if (!l->text[strspn(l->text, " ")])
        return false;
    return !a->filter[0] || strcasestr(l->text, a->filter) || (l->variant && strcasestr(l->variant, a->filter)) ||
           strcasestr(l->source, a->filter);
}

// Indices of the entries that pass the filter; owned.
static int *passing(const struct kb_app *a, int *count)
{
    int *list = kb_alloc(sizeof *list * (size_t)(a->model->log_count + 1));
    *count = 0;
    for (int i = 0; i < a->model->log_count; i++)
        if (matches(a, kb_model_log(a->model, i)))
            list[(*count)++] = i;
    return list;
}

static enum kb_style text_style(const char *text)
{
    return strcasestr(text, "error") ? KB_STYLE_BAD : strcasestr(text, "warning") ? KB_STYLE_WARN : KB_STYLE_TEXT;
}

static void add_text(struct kb_line *line, const char *text, const char *filter)
{
    enum kb_style style = text_style(text);
    size_t n = strlen(filter);
    const char *hit;
    while (n && (hit = strcasestr(text, filter))) {
        kb_spanf(line, style, "%.*s", (int)(hit - text), text);
        kb_spanf(line, KB_STYLE_MATCH, "%.*s", (int)n, hit);
        text = hit + n;
    }
    kb_span(line, style, text);
}

static void entry(const struct kb_app *a, int index, int width, struct kb_lines *out)
{
    const struct kb_log_line *l = kb_model_log(a->model, index);
    struct kb_line line = {.ascii = a->ascii};
    char time[16];
    snprintf(time, sizeof time, "%.1f", (double)l->t_ms / 1e3);
    kb_span_right(&line, 7, KB_STYLE_DIM, time);
    kb_span(&line, KB_STYLE_DIM, " ");
    if (width >= 48)
        kb_spanf(&line, KB_STYLE_DIM, "%-7s ", l->source);
    if (l->variant && width >= 60)
        kb_spanf(&line, KB_STYLE_DIM, "%s ", l->variant);
    add_text(&line, l->text, a->filter);
    kb_lines_wrap(out, &line, width, 16, a->zoom ? 0 : 1);
    kb_line_free(&line);
}

// The first entry shown so that the last one ends at the bottom.
static int first_of_end(const struct kb_app *a, const int *list, int count, int width, int rows)
{
    int k = count;
    for (int used = 0; k > 0; k--) {
        struct kb_lines lines = {.ascii = a->ascii};
        entry(a, list[k - 1], width, &lines);
        used += lines.count;
        kb_lines_free(&lines);
        if (used > rows)
            break;
    }
    return k;
}

static void draw(struct kb_app *a, const struct kb_canvas *c)
{
    int count, *list = passing(a, &count), y = 0;
    int end = first_of_end(a, list, count, c->area.w, c->area.h), *top = &a->top[KB_PANE_LOG];
    if (*top >= end)
        *top = -1;
    int k = *top < 0 ? end : *top;
    // Where the oldest entry of the end is taller than the pane, show it from its start.
    if (k == count && count)
        k = count - 1;
    a->lines[KB_PANE_LOG] = count;
    a->page[KB_PANE_LOG] = count - end < 1 ? 1 : count - end;
    for (; k < count && y < c->area.h; k++) {
        struct kb_lines lines = {.ascii = a->ascii};
        entry(a, list[k], c->area.w, &lines);
        for (int i = 0; i < lines.count && y < c->area.h; i++)
            kb_line_draw(c, 0, y++, c->area.w, &lines.items[i]);
        kb_lines_free(&lines);
    }
    if (!count)
        kb_put(c, 0, 0, KB_STYLE_DIM, a->filter[0] ? "no line holds the filter's text" : "nothing was said yet");
    free(list);
}

static void move(struct kb_app *a, int by)
{
    int *top = &a->top[KB_PANE_LOG], end = a->lines[KB_PANE_LOG] - a->page[KB_PANE_LOG];
    int to = (*top < 0 ? end : *top) + by;
    *top = to >= end ? -1 : to < 0 ? 0 : to;
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    if (a->filter[0])
        kb_text_addf(out, "/%s ", a->filter);
    if (a->top[KB_PANE_LOG] >= 0)
        kb_text_add(out, "scrolled; G follows again ");
    if (a->model->log_dropped)
        kb_text_addf(out, "%s older lines dropped", kb_show_count((double)a->model->log_dropped).s);
}

const struct kb_view kb_view_log = {"log", 0, NULL, draw, note, NULL, move};
