// The whole screen from the app's state: bars, ladder, verdict, panes, footer.
#include "base/memory.h"
#include "tui/app.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_MS = 10000, SEGMENTS = 12 };

struct segment {
    enum kb_style style;
    char *text;
    int rank; // the highest goes first where there is no room
};
struct segments {
    struct segment items[SEGMENTS];
    int count;
};

// Takes text.
static void add_segment(struct segments *s, int rank, enum kb_style style, char *text)
{
    if (s->count < SEGMENTS && text && *text)
        s->items[s->count++] = (struct segment){style, text, rank};
    else
        free(text);
}

static char *device_text(const struct kb_app *a)
{
    const struct kb_ev_device *d = a->model->device;
    if (!d)
        return kb_strdup("device not known yet");
    if (!d->kind || !strcmp(d->kind, "none"))
        return kb_format("no device: %s", d->reason ?: "no reason was given");
    const struct kb_ev_timing *timing = kb_model_timing(a->model, kb_app_version(a), kb_app_pick_timed_case(a));
    double clock = timing && !isnan(timing->clock_mhz) ? timing->clock_mhz : d->clock_mhz; // as it was while timing
    const char *name = d->name ?: "?", *like = d->like ?: "";
    if (!isnan(clock))
        return kb_format("%s %.0f MHz", name, clock);
    return *like ? kb_format("%s like %s", name, like) : kb_strdup(name);
}

static char *source_text(const struct kb_app *a)
{
    if (a->variant >= a->model->variant_count)
        return NULL;
    const struct kb_model_variant *variant = &a->model->variants[a->variant];
    const struct kb_model_version *v = kb_app_version(a);
    if (v && v->number > 0)
        return kb_format("%s v%d%s", variant->source, v->number, a->version ? " (old)" : "");
    return kb_format("%s", variant->source);
}

static char *worker_text(const struct kb_app *a, int role)
{
    const char *state = a->model->workers[role].state;
    if (!state || !strcmp(state, "ready"))
        return NULL;
    const char *reason = a->model->workers[role].reason;
    return kb_format("%s %s%s%s", kb_worker_role_name((enum kb_worker_role)role), state, reason ? ": " : "",
                     reason ? reason : "");
}

static enum kb_style worker_style(const char *state)
{
    bool fine = !state || !strcmp(state, "busy") || !strcmp(state, "starting") || !strcmp(state, "ready");
    return fine ? KB_STYLE_BAR : KB_STYLE_BAR_WARN;
}

static void collect_segments(const struct kb_app *a, struct segments *s)
{
    const struct kb_model *m = a->model;
    const struct kb_model_version *v = kb_app_version(a);
    const struct kb_ev_watch *watch = m->watch ?: &kb_unknown_watch;
    const char *mode = watch->mode ?: "";
    bool polling = !strcmp(mode, "polling");
    const struct kb_ev_timing *timing = kb_model_timing(m, v, kb_app_pick_timed_case(a));
    double others = timing ? timing->others : NAN;
    add_segment(s, 0, KB_STYLE_BAR_STRONG, kb_strdup(m->bench_name ? m->bench_name : "kbench"));
    const struct kb_ev_bench *bench = kb_model_bench(m);
    if (bench->inferred)
        add_segment(s, 1, KB_STYLE_BAR_WARN,
                    kb_format("GUESSED %s: s keeps it, edit to change",
                              bench->guess && bench->guess->text ? bench->guess->text : "arguments"));
    if (m->paused)
        add_segment(s, 0, KB_STYLE_BAR_WARN, kb_strdup("PAUSED"));
    if (m->bench_error)
        add_segment(s, 1, KB_STYLE_BAR_WARN, kb_format("bench.json: %s", m->bench_error));
    if (m->disk_stuck)
        add_segment(s, 1, KB_STYLE_BAR_WARN, kb_strdup("DISK HANGS"));
    if (others > 0)
        add_segment(s, 2, KB_STYLE_BAR_WARN, kb_format("%.0f other%s on the GPU", others, others > 1 ? "s" : ""));
    if (m->case_count)
        add_segment(s, 4, KB_STYLE_BAR, kb_strdup(kb_app_case_label(a, kb_app_case(a))));
    add_segment(s, 3, KB_STYLE_BAR, device_text(a));
    add_segment(s, 1, KB_STYLE_BAR_STRONG, source_text(a));
    if (v && v->done_ms >= 0)
        add_segment(s, 2, KB_STYLE_BAR, kb_format("%s ago", kb_show_age(a->now_ms - v->done_ms).s));
    if (m->pin_variant)
        add_segment(s, 6, KB_STYLE_BAR, kb_format("baseline %s v%d", m->pin_variant, m->pin_version));
    for (int i = 0; i < KB_WORKER_ROLES; i++)
        add_segment(s, 5, worker_style(m->workers[i].state), worker_text(a, i));
    if (*mode)
        add_segment(s, polling ? 4 : 7, polling ? KB_STYLE_BAR_WARN : KB_STYLE_BAR,
                    polling ? kb_format("polling: %s", watch->reason ?: "?") : kb_strdup(mode));
}

static int segment_width(const struct kb_app *a, const struct segment *s)
{
    char *shown = kb_shown(s->text, a->ascii);
    const char *text = shown ? shown : s->text;
    int width = kb_text_width(text, strlen(text));
    free(shown);
    return width;
}

static void drop_until_fits(const struct kb_app *a, struct segments *s, int columns)
{
    for (;;) {
        int total = 1, worst = 0;
        for (int i = 0; i < s->count; i++) {
            total += segment_width(a, &s->items[i]) + 3;
            worst = s->items[i].rank >= s->items[worst].rank ? i : worst;
        }
        if (total <= columns || s->count <= 2)
            return;
        free(s->items[worst].text);
        memmove(&s->items[worst], &s->items[worst + 1], sizeof *s->items * (size_t)(s->count - worst - 1));
        s->count--;
    }
}

static void draw_bar(const struct kb_app *a, const struct kb_canvas *c)
{
    struct segments s = {.count = 0};
    collect_segments(a, &s);
    drop_until_fits(a, &s, c->area.w);
    kb_fill_row(c, 0, KB_STYLE_BAR);
    int x = 1;
    for (int i = 0; i < s.count; i++) {
        if (i)
            x = kb_put(c, x, 0, KB_STYLE_BAR, " │ ");
        x = kb_put_cut(c, x, 0, c->area.w - 1 - x, s.items[i].style, s.items[i].text);
        free(s.items[i].text);
    }
}

static void draw_ladder(const struct kb_app *a, const struct kb_canvas *c)
{
    struct kb_subject s;
    struct kb_line l = {.ascii = a->ascii};
    kb_app_subject(a, a->variant, kb_app_version(a), &s);
    kb_ladder_line(&l, &s, c->area.w - 2);
    kb_line_draw(c, 1, 0, c->area.w - 2, &l);
    kb_line_free(&l);
}

static void draw_verdict(const struct kb_app *a, const struct kb_canvas *c)
{
    struct kb_subject s;
    struct kb_line l = {.ascii = a->ascii};
    struct kb_lines wrapped = {.ascii = a->ascii};
    kb_app_subject(a, a->variant, kb_app_version(a), &s);
    kb_verdict_line(&l, &s);
    kb_lines_wrap(&wrapped, &l, c->area.w - 2, 2, c->area.h);
    for (int y = 0; y < wrapped.count; y++)
        kb_line_draw(c, 1, y, c->area.w - 2, &wrapped.items[y]);
    kb_lines_free(&wrapped);
    kb_line_free(&l);
}

// What a frame would say behind the pane's name.
static void draw_note(const struct kb_app *a, const struct kb_canvas *c, int x, const struct kb_view *view)
{
    struct kb_text note = {0};
    if (view->note)
        view->note(a, &note);
    if (note.size && x + 8 < c->area.w)
        kb_put_cut(c, x + 1, 0, c->area.w - x - 2, KB_STYLE_DIM, note.data);
    kb_text_free(&note);
}

static void draw_tabs(const struct kb_app *a, const struct kb_canvas *c)
{
    bool narrow = c->area.w < 150;
    int x = 1;
    for (int i = 0; i < KB_PANES; i++) {
        bool here = i == (int)a->focus;
        if (narrow && !here)
            x = kb_putf(c, x, 0, KB_STYLE_DIM, " %d ", i + 1);
        else
            x = kb_putf(c, x, 0, here ? KB_STYLE_PLAIN_BADGE : KB_STYLE_DIM, " %d %s ", i + 1,
                        kb_view_of((enum kb_pane)i)->name);
    }
    draw_note(a, c, x, kb_view_of(a->focus));
}

// Scrolls so that the cursor's line is in sight.
static void follow_cursor(struct kb_app *a, const struct kb_view *view, enum kb_pane pane, int rows)
{
    int cursor = view->cursor ? view->cursor(a) - view->sticky : -1;
    if (cursor >= 0 && cursor < a->top[pane])
        a->top[pane] = cursor;
    if (cursor >= 0 && cursor >= a->top[pane] + rows)
        a->top[pane] = cursor - rows + 1;
    if (a->top[pane] > a->lines[pane] - rows)
        a->top[pane] = a->lines[pane] - rows;
    if (a->top[pane] < 0)
        a->top[pane] = 0;
}

static void draw_lines(struct kb_app *a, const struct kb_canvas *c, const struct kb_view *view, enum kb_pane pane)
{
    struct kb_lines lines = {.ascii = a->ascii};
    view->lines(a, c->area.w, &lines);
    int sticky = view->sticky < lines.count ? view->sticky : lines.count, rows = c->area.h - sticky;
    rows = rows < 1 ? 1 : rows;
    a->page[pane] = rows;
    a->lines[pane] = lines.count - sticky;
    follow_cursor(a, view, pane, rows);
    for (int y = 0; y < sticky; y++)
        kb_line_draw(c, 0, y, c->area.w, &lines.items[y]);
    for (int y = 0; y < rows && a->top[pane] + y + sticky < lines.count; y++) {
        int index = a->top[pane] + y + sticky;
        kb_line_draw(c, 0, y + sticky, c->area.w, &lines.items[index]);
        if (view->cursor && view->cursor(a) == index && pane == a->focus)
            kb_select_row(c, y + sticky);
    }
    kb_lines_free(&lines);
}

static void draw_title(const struct kb_app *a, const struct kb_canvas *c, const struct kb_view *view, enum kb_pane pane,
                       bool tabs)
{
    struct kb_text note = {0};
    if (view->note)
        view->note(a, &note);
    int x = kb_putf(c, 2, 0, pane == a->focus ? KB_STYLE_FRAME_FOCUS : KB_STYLE_DIM, " %d ", (int)pane + 1);
    x = kb_putf(c, x, 0, KB_STYLE_TITLE, "%s ", view->name);
    enum kb_pane mate = tabs ? kb_place_mate(pane) : KB_PANES;
    if (mate < KB_PANES && c->area.w > 40) // who else has this place
        x = kb_putf(c, x, 0, KB_STYLE_DIM, "%s %d %s ", kb_sign(KB_SIGN_VERTICAL, a->ascii), (int)mate + 1,
                    kb_view_of(mate)->name);
    if (note.size) {
        x = kb_put_cut(c, x, 0, c->area.w - x - 3, KB_STYLE_DIM, note.data);
        kb_put(c, x, 0, KB_STYLE_DIM, " ");
    }
    kb_text_free(&note);
    if (a->lines[pane] > a->page[pane] && a->page[pane] > 0 && c->area.w > 24) {
        int first = a->top[pane] < 0 ? a->lines[pane] - a->page[pane] : a->top[pane];
        char *text = kb_format(" %d-%d of %d ", first + 1, first + a->page[pane], a->lines[pane]);
        kb_put(c, c->area.w - 2 - (int)strlen(text), c->area.h - 1, KB_STYLE_DIM, text);
        free(text);
    }
}

static void draw_pane(struct kb_app *a, struct kb_grid *g, enum kb_pane pane, struct kb_rect r,
                      enum kb_layout_kind kind)
{
    const struct kb_view *view = kb_view_of(pane);
    struct kb_canvas c = {g, r}, inside = c;
    bool framed = kind != KB_LAYOUT_SINGLE;
    if (framed) {
        if (r.w < 4 || r.h < 3)
            return;
        kb_draw_frame(&c, pane == a->focus ? KB_STYLE_FRAME_FOCUS : KB_STYLE_FRAME);
        inside = kb_canvas_part(&c, (struct kb_rect){1, 1, r.w - 2, r.h - 2});
        inside = kb_canvas_part(&inside, (struct kb_rect){1, 0, r.w - 4, r.h - 2});
    }
    if (view->lines)
        draw_lines(a, &inside, view, pane);
    else
        view->draw(a, &inside);
    if (framed)
        draw_title(a, &c, view, pane, kind == KB_LAYOUT_COLUMNS);
}

static int hint_width(const struct kb_binding *b)
{
    char key[16];
    return (int)(strlen(kb_key_name(b->keys[0], key)) + strlen(b->hint)) + 3;
}

// The hints of a group, as many as fit before `most`.
static int draw_group_hints(const struct kb_canvas *c, int x, int *most, enum kb_key_group group)
{
    for (size_t i = 0; i < kb_binding_count; i++) {
        const struct kb_binding *b = &kb_bindings[i];
        char key[16];
        if (!b->hint || b->group != group)
            continue;
        if (x + hint_width(b) > *most) {
            *most = 0; // nor do less important ones come instead
            break;
        }
        x = kb_put(c, x, 0, KB_STYLE_KEY, kb_key_name(b->keys[0], key));
        x = kb_putf(c, x, 0, KB_STYLE_HINT, " %s  ", b->hint);
    }
    return x;
}

// A replay's own keys come first, in place of those that build. However narrow it is, help and quit are named.
static void draw_hints(const struct kb_app *a, const struct kb_canvas *c, int most)
{
    bool replay = a->driver.replay != NULL;
    int x = 1, kept = most;
    for (size_t i = 0; i < kb_binding_count; i++)
        if (kb_bindings[i].group == KB_GROUP_PROGRAM && kb_bindings[i].hint)
            kept -= hint_width(&kb_bindings[i]);
    if (replay)
        x = draw_group_hints(c, x, &kept, KB_GROUP_REPLAY);
    x = draw_group_hints(c, x, &kept, KB_GROUP_MOVE);
    x = draw_group_hints(c, x, &kept, KB_GROUP_LOOK);
    if (!replay)
        x = draw_group_hints(c, x, &kept, KB_GROUP_WORK);
    draw_group_hints(c, x, &most, KB_GROUP_PROGRAM);
}

static bool status_visible(const struct kb_app *a)
{
    if (!a->status || a->status_ms < 0)
        return false;
    const char *level = a->model->status_level ? a->model->status_level : "info";
    return strcmp(level, "info") || a->now_ms - a->status_ms < STATUS_MS;
}

static void draw_status(const struct kb_app *a, const struct kb_canvas *c, int most)
{
    const char *level = a->model->status_level ? a->model->status_level : "info";
    enum kb_style style = !strcmp(level, "error")     ? KB_STYLE_BAD
                          : !strcmp(level, "warning") ? KB_STYLE_WARN
                                                      : KB_STYLE_TEXT;
    int x = kb_put_cut(c, 1, 0, most - 1, style, a->status);
    if (a->model->status_remedy)
        x = kb_put_cut(c, x, 0, most - x, KB_STYLE_DIM, "  ");
    if (a->model->status_remedy)
        kb_put_cut(c, x, 0, most - x, KB_STYLE_DIM, a->model->status_remedy);
}

static void draw_footer(const struct kb_app *a, const struct kb_canvas *c)
{
    int right = c->area.w;
    if (a->replay_text) {
        int width = kb_text_width(a->replay_text, strlen(a->replay_text)) + 1;
        right -= width;
        kb_put(c, right, 0, KB_STYLE_STRONG, a->replay_text);
    }
    if (a->filtering) {
        int x = kb_put(c, 1, 0, KB_STYLE_KEY, "/");
        x = kb_put_cut(c, x, 0, right - x - 1, KB_STYLE_TEXT, a->filter);
        kb_put(c, x, 0, KB_STYLE_KEY, kb_sign(KB_SIGN_BLOCK, a->ascii));
    } else if (a->note[0]) {
        kb_put_cut(c, 1, 0, right - 2, KB_STYLE_WARN, a->note);
    } else if (status_visible(a)) {
        draw_status(a, c, right - 1);
    } else {
        draw_hints(a, c, right - 1);
    }
}

static void draw_tiny(const struct kb_app *a, const struct kb_canvas *c)
{
    struct kb_subject s;
    struct kb_line l = {.ascii = a->ascii};
    kb_app_subject(a, a->variant, kb_app_version(a), &s);
    kb_spanf(&l, kb_outcome_badge(kb_outcome_of(&s)), "%s", kb_outcome_word(kb_outcome_of(&s)));
    kb_spanf(&l, KB_STYLE_TEXT, " %dx%d: needs %dx%d", c->area.w, c->area.h, KB_LEAST_COLUMNS, KB_LEAST_ROWS);
    kb_line_draw(c, 0, c->area.h / 2, c->area.w, &l);
    kb_line_free(&l);
}

void kb_app_draw(struct kb_app *a, struct kb_grid *g)
{
    struct kb_layout l;
    struct kb_canvas whole = {g, {0, 0, g->columns, g->rows}};
    kb_layout_make(g->columns, g->rows, a->focus, &a->places, a->zoom, &l);
    if (l.kind == KB_LAYOUT_TINY) {
        draw_tiny(a, &whole);
        if (a->overlay)
            kb_app_overlay_tiny(a, &whole);
        return;
    }
    draw_bar(a, &(struct kb_canvas){g, l.bar});
    draw_ladder(a, &(struct kb_canvas){g, l.ladder});
    draw_verdict(a, &(struct kb_canvas){g, l.verdict});
    if (l.tabs.h)
        draw_tabs(a, &(struct kb_canvas){g, l.tabs});
    for (int i = 0; i < KB_PANES; i++)
        if (l.panes[i].h && l.panes[i].w)
            draw_pane(a, g, (enum kb_pane)i, l.panes[i], l.kind);
    draw_footer(a, &(struct kb_canvas){g, l.footer});
    if (a->overlay)
        kb_app_overlay(a, &whole);
}
