// What lies over the panes: help, the case picker, questions.
#include "loop/session.h"
#include "tui/app.h"
#include "tui/format.h"

#include <string.h>

static void help_lines(const struct kb_app *a, struct kb_lines *out)
{
    for (int group = 0; group < KB_GROUPS; group++) {
        if (group == KB_GROUP_REPLAY && !a->driver.replay)
            continue;
        if (out->count)
            kb_lines_add(out);
        kb_span(kb_lines_add(out), KB_STYLE_TITLE, kb_group_name((enum kb_key_group)group));
        for (size_t i = 0; i < kb_binding_count; i++) {
            const struct kb_binding *b = &kb_bindings[i];
            if ((int)b->group != group)
                continue;
            char keys[48];
            struct kb_line *l = kb_lines_add(out);
            kb_spanf(l, KB_STYLE_KEY, "  %s", kb_binding_keys(b, keys));
            kb_span_pad(l, 16);
            kb_spanf(l, KB_STYLE_TEXT, " %s", b->help);
        }
    }
    kb_lines_add(out);
    kb_span(kb_lines_add(out), KB_STYLE_TITLE, "The ladder");
    struct kb_line *signs = kb_lines_add(out);
    kb_spanf(signs, KB_STYLE_GOOD, "  %s", kb_sign(KB_SIGN_PASS, out->ascii));
    kb_span(signs, KB_STYLE_TEXT, " passed  ");
    kb_span(signs, KB_STYLE_BAD, kb_sign(KB_SIGN_FAIL, out->ascii));
    kb_span(signs, KB_STYLE_TEXT, " failed  ");
    kb_span(signs, KB_STYLE_DIM, kb_sign(KB_SIGN_NA, out->ascii));
    kb_span(signs, KB_STYLE_TEXT, " does not apply (details say why)  ");
    kb_span(signs, KB_STYLE_DIM, kb_sign(KB_SIGN_SKIP, out->ascii));
    kb_span(signs, KB_STYLE_TEXT, " skipped");
    for (int i = 0; i < KB_RUNGS; i++) {
        struct kb_line *l = kb_lines_add(out);
        kb_spanf(l, KB_STYLE_KEY, "  %s", kb_rungs[i].name);
        kb_span_pad(l, 16);
        kb_spanf(l, KB_STYLE_TEXT, " %s", kb_rungs[i].about);
    }
}

static void case_lines(const struct kb_app *a, struct kb_lines *out)
{
    const struct kb_model_version *v = kb_app_version(a);
    for (int i = 0; i < a->model->case_count; i++) {
        struct kb_line *l = kb_lines_add(out);
        kb_app_case_marks(a, i, i == a->overlay_cursor, l);
        kb_span(l, KB_STYLE_TEXT, kb_app_case_label(a, i));
        if (kb_model_timing(a->model, v, i))
            kb_spanf(l, KB_STYLE_DIM, "  %s", kb_show_time(kb_speed_us(a->model, v, i)).s);
        if (i == a->model->headline)
            kb_span(l, KB_STYLE_DIM, "  headline");
    }
    if (!out->count)
        kb_span(kb_lines_add(out), KB_STYLE_DIM, "the bench has no cases yet");
}

static void allow_lines(const struct kb_app *a, struct kb_lines *out)
{
    const struct kb_ev_permission *p = a->model->permission ?: &kb_unknown_permission;
    kb_span(kb_lines_add(out), KB_STYLE_TEXT,
            "This bench runs a command, for its reference or as a variant. It runs as you, without a fence:");
    kb_lines_add(out);
    kb_spanf(kb_lines_add(out), KB_STYLE_STRONG, "  %s", p->line ?: "?");
    kb_spanf(kb_lines_add(out), KB_STYLE_TEXT, "  in %s", p->dir ?: "?");
    for (int i = 0; i < p->files_count; i++)
        kb_spanf(kb_lines_add(out), KB_STYLE_TEXT, "  with %s, %s bytes", p->files[i].name ?: "?",
                 kb_show_count(p->files[i].bytes).s);
    double more = (double)p->file_count - p->files_count;
    if (more > 0)
        kb_spanf(kb_lines_add(out), KB_STYLE_TEXT, "  and %s files more", kb_show_count(more).s);
    kb_lines_add(out);
    kb_span(kb_lines_add(out), KB_STYLE_TEXT,
            "Allowed is this content only: when a file changes, you are asked again.");
    kb_span(kb_lines_add(out), KB_STYLE_TEXT, "y: allow it, any other key: not now (A asks again)");
}

static const char *overlay_title(const struct kb_app *a)
{
    static const char *const titles[] = {
        [KB_OVERLAY_HELP] = "Keys",
        [KB_OVERLAY_CASES] = "Case",
        [KB_OVERLAY_QUIT] = "Quit?",
        [KB_OVERLAY_RESTART] = "Restart all workers?",
        [KB_OVERLAY_ALLOW] = "Run a command of this bench?",
    };
    return titles[a->overlay];
}

static void overlay_lines(const struct kb_app *a, struct kb_lines *out)
{
    if (a->overlay == KB_OVERLAY_HELP)
        help_lines(a, out);
    else if (a->overlay == KB_OVERLAY_CASES)
        case_lines(a, out);
    else if (a->overlay == KB_OVERLAY_ALLOW)
        allow_lines(a, out);
    else if (a->overlay == KB_OVERLAY_QUIT)
        kb_span(kb_lines_add(out), KB_STYLE_TEXT, "A build may be running. y: quit, any other key: stay");
    else
        kb_span(kb_lines_add(out), KB_STYLE_TEXT, "What is running is lost. y: restart, any other key: leave them");
}

static void clamp_top(struct kb_app *a, int count, int rows)
{
    if (a->overlay == KB_OVERLAY_CASES) {
        if (a->overlay_cursor < a->overlay_top)
            a->overlay_top = a->overlay_cursor;
        if (a->overlay_cursor >= a->overlay_top + rows)
            a->overlay_top = a->overlay_cursor - rows + 1;
    }
    if (a->overlay_top > count - rows)
        a->overlay_top = count - rows;
    if (a->overlay_top < 0)
        a->overlay_top = 0;
}

// Under the ladder and the verdict, which stay in sight.
static void draw_timeline(struct kb_app *a, const struct kb_canvas *c)
{
    struct kb_layout l;
    kb_layout_make(c->area.w, c->area.h, a->focus, &a->places, true, &l);
    int y = l.kind == KB_LAYOUT_TINY ? 0 : l.verdict.y + l.verdict.h;
    struct kb_canvas part = kb_canvas_part(c, (struct kb_rect){0, y, c->area.w, c->area.h - y});
    kb_timeline_draw(a, &part);
}

void kb_app_overlay(struct kb_app *a, const struct kb_canvas *c)
{
    struct kb_lines lines = {.ascii = a->ascii};
    if (a->overlay == KB_OVERLAY_TRACE) {
        draw_timeline(a, c);
        return;
    }
    overlay_lines(a, &lines);
    int width = 24;
    for (int i = 0; i < lines.count; i++)
        width = kb_line_width(&lines.items[i]) > width ? kb_line_width(&lines.items[i]) : width;
    int w = width + 4 < c->area.w ? width + 4 : c->area.w,
        h = lines.count + 2 < c->area.h ? lines.count + 2 : c->area.h;
    struct kb_rect box = {(c->area.w - w) / 2, (c->area.h - h) / 2, w, h};
    struct kb_canvas part = kb_canvas_part(c, box);
    for (int y = 0; y < h; y++)
        kb_fill_row(&part, y, KB_STYLE_TEXT);
    kb_draw_frame(&part, KB_STYLE_FRAME_FOCUS);
    kb_putf(&part, 2, 0, KB_STYLE_TITLE, " %s ", overlay_title(a));
    clamp_top(a, lines.count, h - 2);
    for (int y = 0; y < h - 2 && a->overlay_top + y < lines.count; y++)
        kb_line_draw(&part, 2, y + 1, w - 4, &lines.items[a->overlay_top + y]);
    if (lines.count > h - 2)
        kb_putf(&part, w - 14, h - 1, KB_STYLE_DIM, " %d-%d/%d ", a->overlay_top + 1, a->overlay_top + h - 2,
                lines.count);
    kb_lines_free(&lines);
}

// Where no box has room: a question in as few words as it takes, on the first rows, before everything else.
void kb_app_overlay_tiny(struct kb_app *a, const struct kb_canvas *c)
{
    static const char *const questions[][3] = {
        [KB_OVERLAY_QUIT] = {"quit? something is running", "y: quit, any other key: stay", "quit? y: yes"},
        [KB_OVERLAY_RESTART] = {"restart all workers?", "y: restart, any other key: no", "restart? y: yes"},
        [KB_OVERLAY_ALLOW] = {"allow this command of the bench?", "y: allow, any other key: not now", "allow? y: yes"},
    };
    size_t which = (size_t)a->overlay;
    const char *const *words = questions[which < sizeof questions / sizeof *questions ? which : 0];
    if (!words[0]) {
        kb_app_overlay(a, c);
        return;
    }
    bool short_words = c->area.h < 2 || c->area.w < (int)strlen(words[0]);
    for (int i = 0; i < (short_words ? 1 : 2); i++) {
        kb_fill_row(c, i, KB_STYLE_TEXT);
        kb_putf(c, 0, i, KB_STYLE_STRONG, "%s", short_words ? words[2] : words[i]);
    }
    if (a->overlay == KB_OVERLAY_ALLOW && !short_words && c->area.h > 2) {
        kb_fill_row(c, 2, KB_STYLE_TEXT);
        kb_putf(c, 0, 2, KB_STYLE_TEXT, "%s", (a->model->permission ?: &kb_unknown_permission)->line ?: "?");
    }
}

static void move(struct kb_app *a, int by)
{
    int *place = a->overlay == KB_OVERLAY_CASES ? &a->overlay_cursor : &a->overlay_top;
    int most = a->overlay == KB_OVERLAY_CASES ? a->model->case_count - 1 : 1000; // the draw clamps it
    *place += by;
    *place = *place > most ? most : *place;
    *place = *place < 0 ? 0 : *place;
}

static unsigned list_key(struct kb_app *a, int key)
{
    switch (kb_action_of(key, false)) {
    case KB_ACT_DOWN:
        move(a, 1);
        return KB_DID_DRAW;
    case KB_ACT_UP:
        move(a, -1);
        return KB_DID_DRAW;
    case KB_ACT_PAGE_DOWN:
        move(a, 10);
        return KB_DID_DRAW;
    case KB_ACT_PAGE_UP:
        move(a, -10);
        return KB_DID_DRAW;
    case KB_ACT_TOP:
        move(a, -1000);
        return KB_DID_DRAW;
    case KB_ACT_BOTTOM:
        move(a, 1000);
        return KB_DID_DRAW;
    case KB_ACT_ZOOM:
        if (a->overlay == KB_OVERLAY_CASES)
            a->case_index = a->overlay_cursor;
        break;
    case KB_ACT_REDRAW:
        return KB_DID_REDRAW | KB_DID_DRAW;
    case KB_ACT_SUSPEND:
        return KB_DID_SUSPEND;
    default:
        break;
    }
    a->overlay = KB_OVERLAY_NONE;
    return KB_DID_DRAW;
}

unsigned kb_app_overlay_key(struct kb_app *a, int key)
{
    if (a->overlay == KB_OVERLAY_HELP || a->overlay == KB_OVERLAY_CASES)
        return list_key(a, key);
    if (a->overlay == KB_OVERLAY_TRACE) {
        bool open;
        unsigned did = kb_timeline_key(a, key, &open);
        a->overlay = open ? KB_OVERLAY_TRACE : KB_OVERLAY_NONE;
        return did;
    }
    bool yes = key == 'y' || key == 'Y', quit = a->overlay == KB_OVERLAY_QUIT;
    int command = a->overlay == KB_OVERLAY_ALLOW ? KB_COMMAND_ALLOW : KB_COMMAND_RESTART;
    a->overlay = KB_OVERLAY_NONE;
    if (yes && !quit && a->driver.command)
        a->driver.command(a->driver.context, command, NULL);
    return yes && quit ? KB_DID_QUIT : KB_DID_DRAW;
}
