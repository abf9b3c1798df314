#include "tui/line.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kb_line_free(struct kb_line *l)
{
    kb_text_free(&l->text);
    free(l->spans);
    *l = (struct kb_line){.ascii = l->ascii};
}

void kb_line_clear(struct kb_line *l)
{
    kb_text_clear(&l->text);
    l->count = 0;
}

static void add_shown(struct kb_line *l, enum kb_style style, const char *text, size_t n)
{
    if (!n)
        return;
    kb_text_bytes(&l->text, text, n);
    if (l->count && l->spans[l->count - 1].style == style) {
        l->spans[l->count - 1].end = l->text.size;
        return;
    }
    KB_GROW(l->spans, l->count, l->capacity);
    l->spans[l->count++] = (struct kb_span){style, l->text.size};
}

void kb_span(struct kb_line *l, enum kb_style style, const char *text)
{
    char *shown = kb_shown(text, l->ascii);
    const char *s = shown ? shown : text;
    add_shown(l, style, s, strlen(s));
    free(shown);
}

void kb_spanf(struct kb_line *l, enum kb_style style, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = NULL;
    int n = vasprintf(&text, format, list);
    va_end(list);
    if (n < 0)
        return;
    kb_span(l, style, text);
    free(text);
}

int kb_line_width(const struct kb_line *l)
{
    return l->text.size ? kb_text_width(l->text.data, l->text.size) : 0;
}

void kb_span_pad(struct kb_line *l, int column)
{
    for (int i = kb_line_width(l); i < column; i++)
        add_shown(l, l->count ? l->spans[l->count - 1].style : KB_STYLE_TEXT, " ", 1);
}

void kb_span_right(struct kb_line *l, int column, enum kb_style style, const char *text)
{
    char *shown = kb_shown(text, l->ascii);
    const char *s = shown ? shown : text;
    kb_span_pad(l, column - kb_text_width(s, strlen(s)));
    add_shown(l, style, s, strlen(s));
    free(shown);
}

// Bytes of s that fit into most columns.
static size_t fitting(const char *s, size_t n, int most)
{
    size_t i = 0;
    while (i < n) {
        uint32_t code = '?';
        int used = kb_utf8_decode(s + i, n - i, &code), width = kb_char_width(code);
        if (width > most)
            break;
        most -= width;
        i += used ? (size_t)used : 1;
    }
    return i;
}

void kb_span_cut(struct kb_line *l, int most, enum kb_style style, const char *text)
{
    char *shown = kb_shown(text, l->ascii);
    const char *s = shown ? shown : text;
    size_t n = strlen(s);
    if (most > 0 && kb_text_width(s, n) > most) {
        add_shown(l, style, s, fitting(s, n, most - 1));
        kb_span(l, style, kb_sign(KB_SIGN_ELLIPSIS, l->ascii));
    } else if (most > 0) {
        add_shown(l, style, s, n);
    }
    free(shown);
}

int kb_line_draw(const struct kb_canvas *c, int x, int y, int most, const struct kb_line *l)
{
    if (most > c->area.w - x)
        most = c->area.w - x;
    size_t start = 0;
    bool cut = kb_line_width(l) > most;
    int end = x + most - cut;
    enum kb_style style = KB_STYLE_TEXT;
    for (int i = 0; i < l->count && x < end; i++) {
        style = l->spans[i].style;
        size_t n = fitting(l->text.data + start, l->spans[i].end - start, end - x);
        char *part = kb_strndup(l->text.data + start, n);
        x = kb_put(c, x, y, style, part);
        free(part);
        if (n < l->spans[i].end - start)
            break;
        start = l->spans[i].end;
    }
    return cut && most > 0 ? kb_put(c, x, y, style, kb_sign(KB_SIGN_ELLIPSIS, c->grid->ascii)) : x;
}

struct kb_line *kb_lines_add(struct kb_lines *l)
{
    KB_GROW(l->items, l->count, l->capacity);
    struct kb_line *line = &l->items[l->count++];
    *line = (struct kb_line){.ascii = l->ascii};
    return line;
}

void kb_lines_free(struct kb_lines *l)
{
    for (int i = 0; i < l->count; i++)
        kb_line_free(&l->items[i]);
    free(l->items);
    *l = (struct kb_lines){.ascii = l->ascii};
}

// Where to break text[from..n): behind the last blank that fits, else in the middle of the word.
static size_t break_at(const char *text, size_t from, size_t n, int width)
{
    size_t most = from + fitting(text + from, n - from, width < 1 ? 1 : width);
    if (most == from)
        return n; // one wide character in one column
    if (most >= n)
        return n;
    for (size_t i = most; i > from; i--)
        if (text[i] == ' ')
            return i;
    return most;
}

void kb_lines_wrap(struct kb_lines *out, const struct kb_line *l, int width, int indent, int most)
{
    if (indent > width / 2)
        indent = width / 2;
    size_t n = l->text.size, from = 0;
    int made = 0;
    do {
        int left = from ? indent : 0;
        size_t to = n && ++made == most ? n : n ? break_at(l->text.data, from, n, width - left) : 0;
        struct kb_line *line = kb_lines_add(out);
        kb_span_pad(line, left);
        size_t start = 0;
        for (int i = 0; i < l->count; i++) {
            size_t a = start > from ? start : from, b = l->spans[i].end < to ? l->spans[i].end : to;
            if (a < b)
                add_shown(line, l->spans[i].style, l->text.data + a, b - a);
            start = l->spans[i].end;
        }
        from = to;
        while (from < n && l->text.data[from] == ' ')
            from++;
    } while (from < n);
}

void kb_lines_text(struct kb_lines *out, enum kb_style style, int width, int indent, const char *text)
{
    struct kb_line line = {.ascii = out->ascii};
    kb_span_pad(&line, indent);
    kb_span(&line, style, text);
    kb_lines_wrap(out, &line, width, indent, 0);
    kb_line_free(&line);
}
