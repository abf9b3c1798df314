#include "tui/view_sass.h"
#include "base/memory.h"
#include "tui/view_sass_rows.h"

#include <stdlib.h>
#include <string.h>

struct kb_sass_kept {
    struct kb_sass_rows rows;
    int hunks;
    enum kb_sass_mode mode;
    uint64_t print; // of what they were made from
};

static uint64_t mix(uint64_t print, uint64_t value)
{
    return (print ^ value) * 0x100000001b3u;
}

// Of all that decides which rows there are. An address may come back with another listing behind it: with another
// edition.
static uint64_t print_of(const struct kb_sass_view_input *in)
{
    uint64_t print = mix(mix(0xcbf29ce484222325u, in->edition), (uintptr_t)in->listing);
    for (const char *s = in->listing_reason; s && *s; s++)
        print = mix(print, (unsigned char)*s);
    return print;
}

// A diff's rows lead into its document, and are few: they are made each time.
static const struct kb_sass_rows *collect(const struct kb_sass_view_input *in, struct kb_sass_view_state *s, int width)
{
    bool listing = s->mode == KB_SASS_LISTING;
    uint64_t print = listing ? print_of(in) : 0;
    if (listing && s->kept && s->kept->mode == KB_SASS_LISTING && s->kept->print == print)
        return &s->kept->rows;
    kb_sass_view_free(s);
    struct kb_sass_kept *k = s->kept = kb_alloc(sizeof *k);
    *k = (struct kb_sass_kept){.mode = s->mode, .print = print};
    if (listing)
        kb_sass_rows_listing(&k->rows, in);
    else
        kb_sass_rows_diff(&k->rows, in, s->raw, width >= KB_SASS_SIDE_BY_SIDE);
    for (int i = 0; i < k->rows.count; i++)
        k->hunks += k->rows.items[i].kind == KB_SASS_ROW_HUNK;
    return &k->rows;
}

void kb_sass_view_free(struct kb_sass_view_state *s)
{
    if (s->kept)
        kb_sass_rows_free(&s->kept->rows);
    free(s->kept);
    s->kept = NULL;
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
    const struct kb_sass_rows *rows = collect(in, s, c->area.w);
    s->rows = rows->count;
    s->page = c->area.h;
    if (s->top >= rows->count)
        s->top = rows->count ? rows->count - 1 : 0;
    for (int y = 0; y < c->area.h && s->top + y < rows->count; y++) {
        struct kb_line line = {.ascii = c->grid->ascii};
        kb_sass_row_line(&line, in, &rows->items[s->top + y], c->area.w);
        kb_line_draw(c, 0, y, c->area.w, &line);
        kb_line_free(&line);
    }
}

// Of the changes that were drawn last: a pane draws before its title.
static void note_changes(const struct kb_sass_view_state *s, struct kb_text *out)
{
    const struct kb_sass_kept *k = s->kept;
    int before = 0;
    for (int i = 0; k && i <= s->top && i < k->rows.count; i++)
        before += k->rows.items[i].kind == KB_SASS_ROW_HUNK;
    if (k && k->hunks && before)
        kb_text_addf(out, ", change %d of %d", before, k->hunks);
    else if (k && k->hunks)
        kb_text_addf(out, ", %d change%s", k->hunks, k->hunks > 1 ? "s" : "");
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
    note_changes(s, out);
}

static bool is_stop(const struct kb_sass_row *row)
{
    return row->kind == KB_SASS_ROW_HUNK || row->kind == KB_SASS_ROW_KERNEL;
}

void kb_sass_view_jump(const struct kb_sass_view_input *in, struct kb_sass_view_state *s, int width, int by)
{
    const struct kb_sass_rows *rows = collect(in, s, width);
    s->rows = rows->count;
    for (int i = s->top + by; i >= 0 && i < rows->count; i += by)
        if (is_stop(&rows->items[i])) {
            s->top = i;
            return;
        }
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
        kb_sass_view_jump(in, s, width, 1);
        return true;
    case 'p':
    case 'N':
        kb_sass_view_jump(in, s, width, -1);
        return true;
    default:
        return false;
    }
}
