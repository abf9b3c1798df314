#include "tui/view_sass.h"
#include "base/json.h"
#include "base/memory.h"
#include "tui/view_sass_rows.h"

#include <stdlib.h>
#include <string.h>

static void collect(const struct kb_sass_view_input *in, const struct kb_sass_view_state *s, int width,
                    struct kb_sass_rows *rows)
{
    if (s->mode == KB_SASS_LISTING)
        kb_sass_rows_listing(rows, in);
    else
        kb_sass_rows_diff(rows, in, s->raw, width >= KB_SASS_SIDE_BY_SIDE);
}

void kb_sass_view_scroll(struct kb_sass_view_state *s, int by)
{
    int most = s->rows - s->page;
    s->top += by;
    s->top = s->top > most ? most : s->top;
    s->top = s->top < 0 ? 0 : s->top;
}

void kb_sass_view_draw(const struct kb_sass_view_input *in, struct kb_sass_view_state *s, const struct kb_canvas *c)
{
    struct kb_sass_rows rows = {0};
    collect(in, s, c->area.w, &rows);
    s->rows = rows.count;
    s->page = c->area.h;
    if (s->top >= rows.count)
        s->top = rows.count ? rows.count - 1 : 0;
    for (int y = 0; y < c->area.h && s->top + y < rows.count; y++) {
        struct kb_line line = {.ascii = c->grid->ascii};
        kb_sass_row_line(&line, in, &rows.items[s->top + y], c->area.w);
        kb_line_draw(c, 0, y, c->area.w, &line);
        kb_line_free(&line);
    }
    kb_sass_rows_free(&rows);
}

static int hunks_before(const struct kb_sass_rows *rows, int top, int *all)
{
    int before = 0;
    *all = 0;
    for (int i = 0; i < rows->count; i++) {
        bool is = rows->items[i].kind == KB_SASS_ROW_HUNK;
        *all += is;
        before += is && i <= top;
    }
    return before;
}

void kb_sass_view_note(const struct kb_sass_view_input *in, const struct kb_sass_view_state *s, struct kb_text *out)
{
    if (s->mode == KB_SASS_LISTING) {
        if (in->name_b)
            kb_text_addf(out, "%s", in->name_b);
        if (in->listing && in->listing->arch[0])
            kb_text_addf(out, " %s", in->listing->arch);
        return;
    }
    if (in->name_a && in->name_b)
        kb_text_addf(out, "%s against %s", in->name_b, in->name_a);
    if (s->raw)
        kb_text_add(out, ", as written");
    struct kb_sass_rows rows = {0};
    int all, before;
    collect(in, s, KB_SASS_SIDE_BY_SIDE, &rows);
    before = hunks_before(&rows, s->top, &all);
    if (all && before)
        kb_text_addf(out, ", change %d of %d", before, all);
    else if (all)
        kb_text_addf(out, ", %d change%s", all, all > 1 ? "s" : "");
    kb_sass_rows_free(&rows);
}

static bool is_stop(const struct kb_sass_row *row)
{
    return row->kind == KB_SASS_ROW_HUNK || row->kind == KB_SASS_ROW_KERNEL;
}

static void jump(const struct kb_sass_view_input *in, struct kb_sass_view_state *s, int width, int by)
{
    struct kb_sass_rows rows = {0};
    collect(in, s, width, &rows);
    for (int i = s->top + by; i >= 0 && i < rows.count; i += by)
        if (is_stop(&rows.items[i])) {
            s->top = i;
            break;
        }
    s->rows = rows.count;
    kb_sass_rows_free(&rows);
}

bool kb_sass_view_key(const struct kb_sass_view_input *in, struct kb_sass_view_state *s, int width, int key)
{
    switch (key) {
    case 'd':
        s->mode = s->mode == KB_SASS_LISTING ? KB_SASS_DIFF : KB_SASS_LISTING;
        s->top = 0;
        return true;
    case 'w':
        s->raw = !s->raw;
        s->top = 0;
        return true;
    case 'n':
        jump(in, s, width, 1);
        return true;
    case 'p':
        jump(in, s, width, -1);
        return true;
    default:
        return false;
    }
}
