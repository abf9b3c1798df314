#include "tui/cell.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kb_cell blank = {.code = ' ', .width = 1, .style = KB_STYLE_TEXT};

void kb_grid_init(struct kb_grid *g, int columns, int rows, bool ascii)
{
    g->columns = columns < 1 ? 1 : columns;
    g->rows = rows < 1 ? 1 : rows;
    g->ascii = ascii;
    g->cells = kb_alloc(sizeof *g->cells * (size_t)g->columns * (size_t)g->rows);
    kb_grid_clear(g);
}

void kb_grid_free(struct kb_grid *g)
{
    free(g->cells);
    g->cells = NULL;
}

void kb_grid_clear(struct kb_grid *g)
{
    for (int i = 0; i < g->columns * g->rows; i++)
        g->cells[i] = blank;
}

struct kb_cell *kb_grid_at(const struct kb_grid *g, int x, int y)
{
    return x >= 0 && y >= 0 && x < g->columns && y < g->rows ? &g->cells[(size_t)y * (size_t)g->columns + (size_t)x]
                                                             : NULL;
}

bool kb_cell_same(const struct kb_cell *a, const struct kb_cell *b)
{
    return a->code == b->code && a->marks[0] == b->marks[0] && a->marks[1] == b->marks[1] && a->width == b->width &&
           a->style == b->style && a->selected == b->selected;
}

size_t kb_code_utf8(uint32_t code, char out[5])
{
    size_t n = 0;
    if (code < 0x80) {
        out[n++] = (char)code;
    } else if (code < 0x800) {
        out[n++] = (char)(0xc0 | code >> 6);
        out[n++] = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        out[n++] = (char)(0xe0 | code >> 12);
        out[n++] = (char)(0x80 | (code >> 6 & 63));
        out[n++] = (char)(0x80 | (code & 63));
    } else {
        out[n++] = (char)(0xf0 | code >> 18);
        out[n++] = (char)(0x80 | (code >> 12 & 63));
        out[n++] = (char)(0x80 | (code >> 6 & 63));
        out[n++] = (char)(0x80 | (code & 63));
    }
    out[n] = 0;
    return n;
}

static void add_code(struct kb_text *out, uint32_t code)
{
    char bytes[5];
    kb_text_bytes(out, bytes, kb_code_utf8(code, bytes));
}

char *kb_grid_row(const struct kb_grid *g, int y)
{
    struct kb_text out = {0};
    size_t used = 0;
    for (int x = 0; x < g->columns; x++) {
        const struct kb_cell *c = kb_grid_at(g, x, y);
        if (!c->width)
            continue;
        add_code(&out, c->code);
        for (int i = 0; i < KB_MARKS && c->marks[i]; i++)
            add_code(&out, c->marks[i]);
        if (c->code != ' ')
            used = out.size;
    }
    if (out.data)
        out.data[used] = 0;
    return kb_text_take(&out);
}

struct kb_canvas kb_canvas_part(const struct kb_canvas *c, struct kb_rect r)
{
    int right = r.x + r.w < c->area.w ? r.x + r.w : c->area.w, bottom = r.y + r.h < c->area.h ? r.y + r.h : c->area.h;
    struct kb_canvas part = {c->grid, {c->area.x + r.x, c->area.y + r.y, right - r.x, bottom - r.y}};
    if (part.area.w < 0)
        part.area.w = 0;
    if (part.area.h < 0)
        part.area.h = 0;
    return part;
}

static struct kb_cell *cell_at(const struct kb_canvas *c, int x, int y)
{
    if (x < 0 || y < 0 || x >= c->area.w || y >= c->area.h)
        return NULL;
    return kb_grid_at(c->grid, c->area.x + x, c->area.y + y);
}

// Half of a wide character that loses its other half becomes a blank.
static void break_wide(const struct kb_canvas *c, int x, int y)
{
    struct kb_cell *here = kb_grid_at(c->grid, c->area.x + x, c->area.y + y);
    struct kb_cell *before = kb_grid_at(c->grid, c->area.x + x - 1, c->area.y + y);
    struct kb_cell *after = kb_grid_at(c->grid, c->area.x + x + 1, c->area.y + y);
    if (here && !here->width && before)
        *before = (struct kb_cell){.code = ' ', .width = 1, .style = before->style, .selected = before->selected};
    if (here && here->width == 2 && after)
        *after = (struct kb_cell){.code = ' ', .width = 1, .style = after->style, .selected = after->selected};
}

void kb_put_code(const struct kb_canvas *c, int x, int y, enum kb_style style, uint32_t code)
{
    int width = kb_char_width(code);
    struct kb_cell *cell = cell_at(c, x, y);
    if (width == 0 && (cell = cell_at(c, x - 1, y)) && !cell->width)
        cell = cell_at(c, x - 2, y);
    if (!cell)
        return;
    if (width == 0) {
        for (int i = 0; i < KB_MARKS; i++)
            if (!cell->marks[i]) {
                cell->marks[i] = code;
                break;
            }
        return;
    }
    struct kb_cell *half = width == 2 ? cell_at(c, x + 1, y) : NULL;
    break_wide(c, x, y);
    if (half)
        break_wide(c, x + 1, y);
    if (width == 2 && !half)
        code = ' ';
    *cell = (struct kb_cell){.code = code, .width = half ? 2 : 1, .style = style, .selected = cell->selected};
    if (half)
        *half = (struct kb_cell){.code = ' ', .width = 0, .style = style, .selected = half->selected};
}

static bool is_plain(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
            return false;
    return true;
}

static const char *const signs[KB_SIGNS][2] = {
    [KB_SIGN_PASS] = {"✓", "+"},        [KB_SIGN_FAIL] = {"✗", "x"},         [KB_SIGN_RUNNING] = {"●", "*"},
    [KB_SIGN_SKIP] = {"∅", "."},        [KB_SIGN_NA] = {"–", "-"},           [KB_SIGN_NONE] = {"·", "."},
    [KB_SIGN_ELLIPSIS] = {"…", "~"},    [KB_SIGN_ARROW] = {"→", "->"},       [KB_SIGN_PLUS_MINUS] = {"±", "+-"},
    [KB_SIGN_UNKNOWN] = {"–", "-"},     [KB_SIGN_DOT] = {"·", "."},          [KB_SIGN_HORIZONTAL] = {"─", "-"},
    [KB_SIGN_VERTICAL] = {"│", "|"},    [KB_SIGN_TOP_LEFT] = {"┌", "+"},     [KB_SIGN_TOP_RIGHT] = {"┐", "+"},
    [KB_SIGN_BOTTOM_LEFT] = {"└", "+"}, [KB_SIGN_BOTTOM_RIGHT] = {"┘", "+"}, [KB_SIGN_CURSOR] = {"▸", ">"},
    [KB_SIGN_BLOCK] = {"█", "#"},       [KB_SIGN_TIMES] = {"×", "x"},        [KB_SIGN_UP] = {"▲", "^"},
    [KB_SIGN_DOWN] = {"▼", "v"},        [KB_SIGN_PIN] = {"◆", "="},
};

// The signs that have an ASCII form; all else is left to kb_clean.
static char *replace_signs(const char *text)
{
    struct kb_text out = {0};
    while (*text) {
        const char *plain = NULL;
        size_t n = 1;
        for (int i = 0; i < KB_SIGNS && (unsigned char)*text > 0x7e && !plain; i++)
            if (kb_starts(text, signs[i][0])) {
                plain = signs[i][1];
                n = strlen(signs[i][0]);
            }
        kb_text_bytes(&out, plain ? plain : text, plain ? strlen(plain) : 1);
        text += n;
    }
    return kb_text_take(&out);
}

char *kb_shown(const char *text, bool ascii)
{
    if (is_plain(text))
        return NULL;
    char *one_line = strchr(text, '\n') ? kb_cleaned(text) : kb_strdup(text);
    char *s = ascii ? replace_signs(one_line) : one_line;
    struct kb_text out = {0};
    kb_clean(&out, s, strlen(s), ascii);
    if (s != one_line)
        free(s);
    free(one_line);
    return kb_text_take(&out);
}

static int put_clean(const struct kb_canvas *c, int x, int y, int most, enum kb_style style, const char *s)
{
    size_t n = strlen(s);
    bool cut = kb_text_width(s, n) > most;
    int end = x + most - (cut ? 1 : 0);
    for (size_t i = 0; i < n;) {
        uint32_t code = '?';
        int used = kb_utf8_decode(s + i, n - i, &code), width = kb_char_width(code);
        if (x + width > end)
            break;
        kb_put_code(c, x, y, style, code);
        x += width;
        i += used ? (size_t)used : 1;
    }
    if (cut && most > 0) {
        uint32_t code;
        const char *sign = kb_sign(KB_SIGN_ELLIPSIS, c->grid->ascii);
        kb_utf8_decode(sign, strlen(sign), &code);
        kb_put_code(c, x++, y, style, code);
    }
    return x;
}

int kb_put_cut(const struct kb_canvas *c, int x, int y, int most, enum kb_style style, const char *text)
{
    if (most <= 0)
        return x;
    char *clean = kb_shown(text, c->grid->ascii);
    int end = put_clean(c, x, y, most, style, clean ? clean : text);
    free(clean);
    return end;
}

int kb_put(const struct kb_canvas *c, int x, int y, enum kb_style style, const char *text)
{
    return kb_put_cut(c, x, y, c->area.w - x, style, text);
}

int kb_putf(const struct kb_canvas *c, int x, int y, enum kb_style style, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = NULL;
    int n = vasprintf(&text, format, list);
    va_end(list);
    if (n < 0)
        return x;
    int end = kb_put(c, x, y, style, text);
    free(text);
    return end;
}

void kb_fill_row(const struct kb_canvas *c, int y, enum kb_style style)
{
    for (int x = 0; x < c->area.w; x++)
        kb_put_code(c, x, y, style, ' ');
}

void kb_select_row(const struct kb_canvas *c, int y)
{
    for (int x = 0; x < c->area.w; x++) {
        struct kb_cell *cell = cell_at(c, x, y);
        if (cell)
            cell->selected = true;
    }
}

const char *kb_sign(enum kb_sign sign, bool ascii)
{
    return signs[sign][ascii];
}

void kb_draw_frame(const struct kb_canvas *c, enum kb_style style)
{
    bool ascii = c->grid->ascii;
    int right = c->area.w - 1, bottom = c->area.h - 1;
    if (right < 1 || bottom < 1)
        return;
    for (int x = 1; x < right; x++) {
        kb_put(c, x, 0, style, kb_sign(KB_SIGN_HORIZONTAL, ascii));
        kb_put(c, x, bottom, style, kb_sign(KB_SIGN_HORIZONTAL, ascii));
    }
    for (int y = 1; y < bottom; y++) {
        kb_put(c, 0, y, style, kb_sign(KB_SIGN_VERTICAL, ascii));
        kb_put(c, right, y, style, kb_sign(KB_SIGN_VERTICAL, ascii));
    }
    kb_put(c, 0, 0, style, kb_sign(KB_SIGN_TOP_LEFT, ascii));
    kb_put(c, right, 0, style, kb_sign(KB_SIGN_TOP_RIGHT, ascii));
    kb_put(c, 0, bottom, style, kb_sign(KB_SIGN_BOTTOM_LEFT, ascii));
    kb_put(c, right, bottom, style, kb_sign(KB_SIGN_BOTTOM_RIGHT, ascii));
}
