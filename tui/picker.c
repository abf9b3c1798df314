#include "tui/picker.h"
#include "base/file.h"
#include "base/memory.h"
#include "tui/keys.h"
#include "tui/line.h"

#include <stdlib.h>
#include <string.h>

// Words in any order, in name or parameters.
static bool fits(const struct kb_guess_choice *c, const char *typed)
{
    bool all = true;
    for (const char *p = typed + strspn(typed, " "); *p && all; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        char *word = kb_strndup(p, n);
        all = strcasestr(c->kernel, word) || strcasestr(c->params, word);
        free(word);
        p += n;
    }
    return all;
}

static const struct kb_guess_choice *shown_at(const struct kb_picker *p, int index)
{
    for (int i = 0; i < p->choices->count; i++)
        if (fits(&p->choices->list[i], p->typed) && !index--)
            return &p->choices->list[i];
    return NULL;
}

static int shown(const struct kb_picker *p)
{
    int count = 0;
    for (int i = 0; i < p->choices->count; i++)
        count += fits(&p->choices->list[i], p->typed);
    return count;
}

const char *kb_picker_kernel(const struct kb_picker *p)
{
    const struct kb_guess_choice *c = shown_at(p, p->cursor);
    return c ? c->kernel : p->typed[0] ? p->typed : NULL;
}

static void draw_choice(const struct kb_picker *p, const struct kb_canvas *c, int y, int index)
{
    const struct kb_guess_choice *choice = shown_at(p, index);
    bool here = index == p->cursor;
    struct kb_line line = {.ascii = c->grid->ascii};
    kb_span(&line, KB_STYLE_KEY, here ? kb_sign(KB_SIGN_CURSOR, c->grid->ascii) : " ");
    kb_spanf(&line, here ? KB_STYLE_STRONG : KB_STYLE_TEXT, " %s", choice->kernel);
    kb_spanf(&line, KB_STYLE_DIM, " (%s)", choice->params);
    if (choice->guessed)
        kb_span(&line, KB_STYLE_WARN, "  template arguments guessed");
    char *place = kb_format("  %s:%d", kb_path_base(choice->file), choice->line);
    int width = (int)strlen(place);
    kb_line_draw(c, 1, y, c->area.w - width - 2, &line);
    kb_put(c, c->area.w - width - 1, y, KB_STYLE_DIM, place);
    if (here)
        kb_select_row(c, y);
    free(place);
    kb_line_free(&line);
}

static void clamp(struct kb_picker *p, int count)
{
    p->cursor = p->cursor >= count ? count - 1 : p->cursor;
    p->cursor = p->cursor < 0 ? 0 : p->cursor;
    p->top = p->cursor < p->top ? p->cursor : p->top;
    p->top = p->cursor >= p->top + p->page ? p->cursor - p->page + 1 : p->top;
}

void kb_picker_draw(struct kb_picker *p, const struct kb_grid *grid)
{
    struct kb_canvas all = {(struct kb_grid *)grid, {0, 0, grid->columns, grid->rows}};
    int count = shown(p);
    kb_fill_row(&all, 0, KB_STYLE_BAR);
    kb_putf(&all, 1, 0, KB_STYLE_BAR_STRONG, "%s holds %d kernels: which one?", kb_path_base(p->path),
            p->choices->kernels);
    if (p->typed[0])
        kb_putf(&all, 1, 1, KB_STYLE_TEXT, "/%s", p->typed);
    else
        kb_put(&all, 1, 1, KB_STYLE_DIM, "type to narrow the list, or a whole name: k<float, 256>");
    p->page = grid->rows > 4 ? grid->rows - 4 : 1;
    clamp(p, count);
    for (int y = 0; y < p->page && p->top + y < count; y++)
        draw_choice(p, &all, 2 + y, p->top + y);
    if (!count)
        kb_putf(&all, 1, 2, KB_STYLE_WARN, "none of them is called so: Enter opens %s", p->typed);
    kb_fill_row(&all, grid->rows - 1, KB_STYLE_BAR);
    kb_putf(&all, 1, grid->rows - 1, KB_STYLE_BAR, "Up Down choose   Enter open   Esc leave   %d of %d", count,
            p->choices->count);
}

static void type(struct kb_picker *p, int key)
{
    char bytes[5];
    size_t n = kb_code_utf8((uint32_t)key, bytes), length = strlen(p->typed);
    if (length + n < sizeof p->typed)
        memcpy(p->typed + length, bytes, n + 1);
    p->cursor = p->top = 0;
}

static void erase(struct kb_picker *p)
{
    size_t length = strlen(p->typed);
    while (length && ((unsigned char)p->typed[length - 1] & 0xc0) == 0x80)
        length--;
    p->typed[length ? length - 1 : 0] = 0;
}

enum kb_picked kb_picker_key(struct kb_picker *p, int key)
{
    switch (key) {
    case KB_KEY_ENTER:
        return kb_picker_kernel(p) ? KB_PICKED_ONE : KB_PICKED_NOT_YET;
    case KB_KEY_ESC:
        if (!p->typed[0])
            return KB_PICKED_NONE;
        p->typed[0] = 0;
        break;
    case KB_CTRL('c'):
        return KB_PICKED_NONE;
    case KB_KEY_UP:
    case KB_CTRL('p'):
        p->cursor--;
        break;
    case KB_KEY_DOWN:
    case KB_CTRL('n'):
        p->cursor++;
        break;
    case KB_KEY_PAGE_UP:
        p->cursor -= p->page;
        break;
    case KB_KEY_PAGE_DOWN:
        p->cursor += p->page;
        break;
    case KB_KEY_HOME:
        p->cursor = 0;
        break;
    case KB_KEY_END:
        p->cursor = p->choices->count;
        break;
    case KB_KEY_BACKSPACE:
    case 8:
        erase(p);
        break;
    default:
        if (key >= ' ' && key < KB_KEY_UP)
            type(p, key);
    }
    clamp(p, shown(p));
    return KB_PICKED_NOT_YET;
}
