#include "tui/timeline.h"
#include "base/memory.h"
#include "loop/session.h"
#include "tui/app.h"
#include "tui/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 9, TALL = 30, SMALL = 14, TABLE_ROWS = 12, COMPACT_ROWS = 3 };

void kb_timeline_free(struct kb_timeline *t)
{
    free(t->rows);
    free(t->cells);
    *t = (struct kb_timeline){0};
}

void kb_timeline_reset(struct kb_timeline *t)
{
    kb_timeline_free(t);
}

// ---- what is shown

static const char *variant_name(const struct kb_app *a)
{
    return a->variant < a->model->variant_count ? a->model->variants[a->variant].name : NULL;
}

static const struct kb_ev_trace *event_of(const struct kb_app *a)
{
    const struct kb_model_version *v = kb_app_version(a);
    return v ? v->trace : NULL;
}

static bool is_state(const struct kb_ev_trace *e, const char *state)
{
    return e && e->state && !strcmp(e->state, state);
}

static const struct kb_trace *trace_of(const struct kb_app *a)
{
    const struct kb_model_version *v = kb_app_version(a);
    return v && variant_name(a) && a->driver.trace ? a->driver.trace(a->driver.context, variant_name(a), v->number)
                                                   : NULL;
}

void kb_timeline_ask(struct kb_app *a, bool again)
{
    const struct kb_model_version *v = kb_app_version(a);
    const struct kb_ev_trace *event = event_of(a);
    if (!v || !a->driver.command || is_state(event, "running") || (is_state(event, "done") && !again))
        return;
    char *arg = kb_format("%s@%d#%d", variant_name(a), v->number, kb_app_pick_timed_case(a));
    a->driver.command(a->driver.context, KB_COMMAND_TRACE, arg);
    free(arg);
    kb_timeline_reset(&a->timeline);
}

static struct kb_timeline_level *level_of(struct kb_app *a, const struct kb_trace *t)
{
    struct kb_timeline *l = &a->timeline;
    struct kb_timeline_level *first = &l->levels[0];
    if (!first->window.to)
        first->window = (struct kb_trace_window){.level = t->emulated ? KB_TRACE_LEVEL_BLOCKS : KB_TRACE_LEVEL_SMS,
                                                 .sm = KB_TRACE_ALL,
                                                 .to = kb_trace_end(t)};
    return &l->levels[l->depth];
}

// Rows and cells as they are to be drawn; kept while nothing changes.
static void fill(struct kb_timeline *l, const struct kb_trace *t, struct kb_timeline_level *at, int columns, int shown)
{
    bool same = l->drawn.trace == t && l->drawn.warps == t->warp_count && l->drawn.spans == t->span_count &&
                l->drawn.end == kb_trace_end(t) && !memcmp(&l->drawn.window, &at->window, sizeof at->window);
    if (!same) {
        free(l->rows);
        l->row_count = kb_trace_rows(t, &at->window, &l->rows);
    }
    at->cursor = at->cursor >= l->row_count ? l->row_count - 1 : at->cursor;
    at->cursor = at->cursor < 0 ? 0 : at->cursor;
    at->top = at->cursor < at->top ? at->cursor : at->cursor >= at->top + shown ? at->cursor - shown + 1 : at->top;
    at->top = at->top > l->row_count - shown ? l->row_count - shown : at->top;
    at->top = at->top < 0 ? 0 : at->top;
    int count = l->row_count - at->top < shown ? l->row_count - at->top : shown;
    if (!same || l->drawn.top != at->top || l->drawn.columns != columns || l->drawn.shown != shown) {
        free(l->cells);
        l->cells = kb_alloc((size_t)(count > 0 ? count : 1) * (size_t)columns);
        kb_trace_cells(t, &at->window, l->rows + at->top, count, columns, l->cells);
    }
    l->drawn.trace = t;
    l->drawn.warps = t->warp_count;
    l->drawn.spans = t->span_count;
    l->drawn.end = kb_trace_end(t);
    l->drawn.window = at->window;
    l->drawn.top = at->top;
    l->drawn.columns = columns;
    l->drawn.shown = shown;
}

// ---- drawing

// whole: there are no sections, and all that is to be seen is where a warp was.
static void draw_cells(const struct kb_canvas *c, int y, const uint8_t *cells, int columns, bool whole)
{
    for (int x = 0; x < columns; x++)
        if (cells[x])
            kb_put_code(c, LABEL + x, y, kb_timeline_style(whole ? 1 : cells[x] - 1),
                        (uint32_t)kb_trace_letter(cells[x] - 1));
}

static void label_of(const struct kb_trace_row *r, int launches, char out[32])
{
    if (r->warp != KB_TRACE_ALL)
        snprintf(out, 32, "warp %3u", r->warp);
    else if (r->block != KB_TRACE_ALL && launches > 1)
        snprintf(out, 32, "%u:%6u", r->launch, r->block);
    else if (r->block != KB_TRACE_ALL)
        snprintf(out, 32, "b%7u", r->block);
    else
        snprintf(out, 32, "SM %5u", r->sm);
}

static void draw_rows(struct kb_app *a, const struct kb_canvas *c, const struct kb_trace *t, int height)
{
    struct kb_timeline *l = &a->timeline;
    struct kb_timeline_level *at = level_of(a, t);
    int columns = c->area.w - LABEL;
    l->height = height;
    if (columns < 8 || height < 1)
        return;
    fill(l, t, at, columns, height);
    for (int y = 0; y < height && at->top + y < l->row_count; y++) {
        char label[32];
        bool here = at->top + y == at->cursor;
        label_of(&l->rows[at->top + y], t->launch_count, label);
        kb_put_cut(c, 0, y, LABEL - 1, here ? KB_STYLE_BAR_STRONG : KB_STYLE_DIM, label);
        if (here)
            kb_put(c, LABEL - 1, y, KB_STYLE_KEY, kb_sign(KB_SIGN_CURSOR, a->ascii));
        draw_cells(c, y, l->cells + (size_t)y * (size_t)columns, columns, t->section_count == 1);
    }
}

// A replay has no spans, but the picture that came with the event.
static void draw_picture(struct kb_app *a, const struct kb_canvas *c, const struct kb_ev_trace *event, int height)
{
    int columns = c->area.w - LABEL, count = event->rows_count;
    struct kb_timeline_level *at = &a->timeline.levels[0];
    a->timeline.height = height;
    at->cursor = at->cursor >= count ? count - 1 : at->cursor;
    at->cursor = at->cursor < 0 ? 0 : at->cursor;
    at->top = at->cursor < at->top ? at->cursor : at->cursor >= at->top + height ? at->cursor - height + 1 : at->top;
    for (int row = 0; row < height && at->top + row < count; row++) {
        const struct kb_ev_trace_row *r = &event->rows[at->top + row];
        const char *cells = r->cells ?: "";
        size_t n = strlen(cells);
        if (columns < 8 || !n)
            continue;
        bool block = r->block >= 0;
        kb_putf(c, 0, row, row + at->top == at->cursor ? KB_STYLE_BAR_STRONG : KB_STYLE_DIM, "%s%*d",
                block ? "b" : "SM ", block ? 7 : 5, (int)(block ? r->block : r->sm));
        for (int x = 0; x < columns; x++) {
            char letter = cells[(size_t)x * n / (size_t)columns];
            int section = letter == '.' ? 0 : -1;
            for (int i = 1; section < 0 && i <= KB_TRACE_SECTIONS; i++)
                section = kb_trace_letter(i) == letter ? i : section;
            if (section >= 0)
                kb_put_code(c, LABEL + x, row, kb_timeline_style(section), (uint32_t)kb_trace_letter(section));
        }
    }
}

static void draw_axis(const struct kb_canvas *c, int y, const struct kb_trace *t, int64_t from, int64_t to)
{
    int columns = c->area.w - LABEL, last = -1;
    if (columns < 8)
        return;
    for (int x = 0; x < columns; x++)
        kb_put(c, LABEL + x, y, KB_STYLE_AXIS, kb_sign(KB_SIGN_HORIZONTAL, c->grid->ascii));
    for (int x = 0; x < columns; x += columns / (columns >= 120 ? 8 : 4)) {
        struct kb_text text = {0};
        kb_timeline_time(t, (double)from + (double)(to - from) * x / columns, &text);
        int width = (int)text.size + 1;
        if (x > last && LABEL + x + width < c->area.w) {
            kb_put(c, LABEL + x, y, KB_STYLE_AXIS, kb_sign(KB_SIGN_VERTICAL, c->grid->ascii));
            kb_put(c, LABEL + x + 1, y, KB_STYLE_DIM, text.data);
            last = x + width;
        }
        kb_text_free(&text);
    }
}

static void draw_about_row(struct kb_app *a, const struct kb_canvas *c, int y, const struct kb_trace *t)
{
    struct kb_timeline *l = &a->timeline;
    const struct kb_timeline_level *at = &l->levels[l->depth];
    const struct kb_trace_row *r = at->cursor < l->row_count ? &l->rows[at->cursor] : NULL;
    struct kb_text text = {0};
    if (!r)
        return;
    if (r->block != KB_TRACE_ALL)
        kb_text_addf(&text, "block %u", r->block);
    if (r->warp != KB_TRACE_ALL)
        kb_text_addf(&text, " warp %u", r->warp);
    if (!t->emulated)
        kb_text_addf(&text, "%sSM %u", text.size ? " on " : "", r->sm);
    if (r->warps > 1)
        kb_text_addf(&text, ", %u warps", r->warps);
    kb_text_add(&text, ": from ");
    kb_timeline_time(t, (double)r->begin, &text);
    kb_text_add(&text, " to ");
    kb_timeline_time(t, (double)r->end, &text);
    kb_text_addf(&text, "   row %d of %d", at->cursor + 1, l->row_count);
    kb_put_cut(c, LABEL, y, c->area.w - LABEL, KB_STYLE_TEXT, text.data);
    kb_text_free(&text);
}

static void draw_hints(const struct kb_app *a, const struct kb_canvas *c, int y, bool spans)
{
    static const char *const hints[][2] = {{"j/k", "row"},  {"Enter", "into it"},   {"Esc", "back"},
                                           {"+/-", "time"}, {"h/l", "left, right"}, {"T", "trace again"}};
    int x = 0;
    for (size_t i = 0; i < KB_COUNT(hints); i++) {
        bool zooms = i == 1 || i == 3 || i == 4;
        if ((zooms && !spans) || (i == 5 && !a->driver.command))
            continue;
        x = kb_put(c, x, y, KB_STYLE_KEY, hints[i][0]);
        x = kb_putf(c, x, y, KB_STYLE_HINT, " %s  ", i == 5 && !event_of(a) ? "trace" : hints[i][1]);
    }
}

static void draw_title(const struct kb_app *a, const struct kb_canvas *c, const struct kb_trace *t)
{
    static const char *const levels[] = {"all multiprocessors", "blocks", "warps"};
    const struct kb_model_version *v = kb_app_version(a);
    const struct kb_timeline_level *at = &a->timeline.levels[a->timeline.depth];
    kb_fill_row(c, 0, KB_STYLE_BAR);
    int x = kb_putf(c, 1, 0, KB_STYLE_BAR_STRONG, "trace  %s", variant_name(a) ? variant_name(a) : "");
    if (v && v->number)
        x = kb_putf(c, x, 0, KB_STYLE_BAR_STRONG, " v%d", v->number);
    const struct kb_ev_trace *event = event_of(a);
    x = kb_putf(c, x, 0, KB_STYLE_BAR, "  %s", kb_app_case_label(a, event && event->index > 0 ? (int)event->index : 0));
    if (!t)
        return;
    if (at->window.level == KB_TRACE_LEVEL_WARPS)
        kb_putf(c, x, 0, KB_STYLE_BAR, "  warps of block %u", at->window.block);
    else if (at->window.level == KB_TRACE_LEVEL_BLOCKS && at->window.sm != KB_TRACE_ALL)
        kb_putf(c, x, 0, KB_STYLE_BAR, "  blocks of SM %u", at->window.sm);
    else
        kb_putf(c, x, 0, KB_STYLE_BAR, "  %s", levels[at->window.level]);
}

static int draw_lines(const struct kb_canvas *c, int y, int most, const struct kb_lines *lines)
{
    for (int i = 0; i < lines->count && i < most; i++)
        kb_line_draw(c, 0, y + i, c->area.w, &lines->items[i]);
    return lines->count < most ? lines->count : most;
}

static void draw_done(struct kb_app *a, const struct kb_canvas *c, const struct kb_ev_trace *event)
{
    const struct kb_trace *t = trace_of(a);
    struct kb_lines head = {.ascii = a->ascii}, sections = {.ascii = a->ascii};
    int h = c->area.h, w = c->area.w, tall = h >= TALL;
    if (t)
        level_of(a, t);
    draw_title(a, c, t);
    int above = tall ? 6 : h < SMALL ? 1 : 4;
    kb_timeline_head(event, w, above, &head);
    int most = tall ? TABLE_ROWS : h < SMALL ? 1 : COMPACT_ROWS;
    int y = 1 + draw_lines(c, 1, above, &head);
    kb_timeline_sections(event, w, tall ? TABLE_ROWS : 0, &sections);
    int below = sections.count < most ? sections.count : most, height = h - y - below - 3;
    struct kb_canvas middle = kb_canvas_part(c, (struct kb_rect){0, y, w, height > 0 ? height : 0});
    y += height > 0 ? height : 0;
    if (t) {
        draw_rows(a, &middle, t, height);
        const struct kb_timeline_level *at = level_of(a, t);
        draw_axis(c, y, t, at->window.from, at->window.to);
        draw_about_row(a, c, y + 1, t);
    } else {
        struct kb_trace clock = {.emulated = event->emulated, .ticks_per_us = event->ticks_per_us};
        int last = event->launches_count - 1;
        draw_picture(a, &middle, event, height);
        draw_axis(c, y, &clock, 0, last < 0 ? 0 : (int64_t)event->launches[last].end_ticks);
        kb_put_cut(c, LABEL, y + 1, w - LABEL, KB_STYLE_DIM,
                   "the spans themselves are not kept: T traces it again, then Enter goes into a row");
    }
    draw_lines(c, y + 2, below, &sections);
    draw_hints(a, c, h - 1, t != NULL);
    kb_lines_free(&head);
    kb_lines_free(&sections);
}

static void draw_words(const struct kb_app *a, const struct kb_canvas *c, const struct kb_ev_trace *event)
{
    struct kb_lines lines = {.ascii = a->ascii};
    draw_title(a, c, NULL);
    if (is_state(event, "failed")) {
        kb_lines_text(&lines, KB_STYLE_BAD, c->area.w - 2, 0, "it was not traced");
        kb_lines_text(&lines, KB_STYLE_TEXT, c->area.w - 2, 0, event->reason ?: "no reason was given");
    } else if (is_state(event, "running")) {
        kb_lines_text(&lines, KB_STYLE_RUNNING, c->area.w - 2, 0, "being traced");
        kb_lines_text(&lines, KB_STYLE_DIM, c->area.w - 2, 0,
                      "it is compiled once more with its sections recording, then timed beside the plain code; a save "
                      "goes first");
    } else {
        const char *status = a->model->status_text;
        kb_lines_text(&lines, KB_STYLE_TEXT, c->area.w - 2, 0, "there is no trace of this version");
        kb_lines_text(&lines, KB_STYLE_DIM, c->area.w - 2, 0,
                      !a->driver.command                            ? "a replay shows those that were made"
                      : status && strstr(status, "is not traced: ") ? status
                                                                    : "T asks for one");
    }
    draw_lines(c, 2, c->area.h - 3, &lines);
    kb_lines_free(&lines);
    draw_hints(a, c, c->area.h - 1, false);
}

void kb_timeline_draw(struct kb_app *a, const struct kb_canvas *c)
{
    const struct kb_ev_trace *event = event_of(a);
    for (int y = 0; y < c->area.h; y++)
        kb_fill_row(c, y, KB_STYLE_TEXT);
    if (is_state(event, "done"))
        draw_done(a, c, event);
    else
        draw_words(a, c, event);
}

// ---- keys

static void go_in(struct kb_app *a, const struct kb_trace *t)
{
    struct kb_timeline *l = &a->timeline;
    struct kb_timeline_level *at = level_of(a, t);
    if (at->window.level == KB_TRACE_LEVEL_WARPS || l->depth + 1 >= (int)KB_COUNT(l->levels) || at->cursor < 0 ||
        at->cursor >= l->row_count)
        return;
    const struct kb_trace_row *r = &l->rows[at->cursor];
    int64_t margin = (r->end - r->begin) / 50 + 1;
    struct kb_trace_window w = {.level = at->window.level + 1,
                                .sm = r->sm,
                                .launch = r->launch,
                                .block = r->block,
                                .from = r->begin > margin ? r->begin - margin : 0,
                                .to = r->end + margin};
    if (w.level == KB_TRACE_LEVEL_BLOCKS) // the blocks of one multiprocessor are still looked at over the whole time
        w = (struct kb_trace_window){.level = w.level, .sm = r->sm, .from = at->window.from, .to = at->window.to};
    l->levels[++l->depth] = (struct kb_timeline_level){.window = w};
}

static void zoom_time(struct kb_trace_window *w, int64_t end, bool closer)
{
    int64_t middle = (w->from + w->to) / 2, length = (w->to - w->from) / 2;
    length = closer ? length / 2 : length * 2;
    length = length < 16 ? 16 : length;
    w->from = middle - length < 0 ? 0 : middle - length;
    w->to = middle + length > end ? end : middle + length;
}

static void pan(struct kb_trace_window *w, int64_t end, int by)
{
    int64_t step = (w->to - w->from) / 4 * by, length = w->to - w->from;
    w->from = w->from + step < 0 ? 0 : w->from + step;
    w->from = w->from + length > end ? (end > length ? end - length : 0) : w->from;
    w->to = w->from + length;
}

// Keys of time, which are no actions elsewhere. True if it was one.
static bool time_key(struct kb_app *a, const struct kb_trace *t, int key)
{
    struct kb_trace_window *w = &level_of(a, t)->window;
    int64_t end = kb_trace_end(t);
    switch (key) {
    case '+':
    case '=':
        zoom_time(w, end, true);
        return true;
    case '-':
        zoom_time(w, end, false);
        return true;
    case 'h':
    case KB_KEY_LEFT:
        pan(w, end, -1);
        return true;
    case 'l':
    case KB_KEY_RIGHT:
        pan(w, end, 1);
        return true;
    default:
        return false;
    }
}

static unsigned move(struct kb_app *a, int by)
{
    a->timeline.levels[a->timeline.depth].cursor += by;
    return KB_DID_DRAW; // which keeps it inside
}

static unsigned act(struct kb_app *a, enum kb_action action, const struct kb_trace *t, bool *open)
{
    int page = a->timeline.height > 1 ? a->timeline.height - 1 : 1;
    switch (action) {
    case KB_ACT_DOWN:
        return move(a, 1);
    case KB_ACT_UP:
        return move(a, -1);
    case KB_ACT_PAGE_DOWN:
        return move(a, page);
    case KB_ACT_PAGE_UP:
        return move(a, -page);
    case KB_ACT_TOP:
        return move(a, -(1 << 20));
    case KB_ACT_BOTTOM:
        return move(a, 1 << 20);
    case KB_ACT_ZOOM:
        if (t)
            go_in(a, t);
        return KB_DID_DRAW;
    case KB_ACT_TRACE:
        kb_timeline_ask(a, true);
        return KB_DID_DRAW;
    case KB_ACT_BACK:
        *open = a->timeline.depth > 0;
        a->timeline.depth -= a->timeline.depth > 0;
        return KB_DID_DRAW;
    case KB_ACT_THEME:
        return KB_DID_THEME | KB_DID_DRAW;
    case KB_ACT_REDRAW:
        return KB_DID_REDRAW | KB_DID_DRAW;
    case KB_ACT_SUSPEND:
        return KB_DID_SUSPEND;
    case KB_ACT_QUIT:
        *open = false;
        return KB_DID_DRAW;
    default:
        return 0;
    }
}

unsigned kb_timeline_key(struct kb_app *a, int key, bool *open)
{
    const struct kb_trace *t = is_state(event_of(a), "done") ? trace_of(a) : NULL;
    *open = true;
    if (t && time_key(a, t, key))
        return KB_DID_DRAW;
    return act(a, key == KB_KEY_BACKSPACE ? KB_ACT_BACK : kb_action_of(key, false), t, open);
}
