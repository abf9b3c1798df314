#include "base/text.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

void kb_text_bytes(struct kb_text *t, const void *bytes, size_t n)
{
    if (t->size + n + 1 > t->capacity) {
        t->capacity = (t->size + n + 1) * 2;
        t->data = kb_realloc(t->data, t->capacity);
    }
    if (n)
        memcpy(t->data + t->size, bytes, n);
    t->size += n;
    t->data[t->size] = 0;
}

void kb_text_add(struct kb_text *t, const char *s)
{
    kb_text_bytes(t, s, strlen(s));
}

void kb_text_addf(struct kb_text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *out = NULL;
    int n = vasprintf(&out, format, list);
    va_end(list);
    if (n >= 0)
        kb_text_bytes(t, out, (size_t)n);
    free(out);
}

void kb_text_clear(struct kb_text *t)
{
    t->size = 0;
    if (t->data)
        t->data[0] = 0;
}

void kb_text_free(struct kb_text *t)
{
    free(t->data);
    *t = (struct kb_text){0};
}

char *kb_text_take(struct kb_text *t)
{
    char *data = t->data ? t->data : kb_strdup("");
    *t = (struct kb_text){0};
    return data;
}

int kb_utf8_decode(const char *s, size_t n, uint32_t *code)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)(n > 4 ? 4 : n), &c);
    if (used <= 0)
        return 0;
    *code = (uint32_t)c;
    return (int)used;
}

int kb_char_width(uint32_t code)
{
    return code < 0x7f && code >= 0x20 ? 1 : utf8proc_charwidth((utf8proc_int32_t)code);
}

int kb_text_width(const char *s, size_t n)
{
    int width = 0;
    for (size_t i = 0; i < n;) {
        uint32_t code;
        int used = kb_utf8_decode(s + i, n - i, &code);
        width += used ? kb_char_width(code) : 1;
        i += used ? (size_t)used : 1;
    }
    return width;
}

// Printable: not a control, not a format character (bidi overrides and isolates, zero-width marks, BOM), not a line
// or paragraph separator, and assigned. Variation selectors and combining marks pass: they change no direction.
static bool printable(uint32_t code)
{
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return true;
    }
}

static void add_mark(struct kb_text *out, uint32_t code, bool ascii)
{
    if (code < 0x20 && !ascii) // U+2400: the pictures of the control characters
        kb_text_addf(out, "\xe2\x90%c", (char)(0x80 + code));
    else if (code < 0x20)
        kb_text_addf(out, "^%c", (char)('@' + code));
    else if (code == 0x7f)
        kb_text_add(out, ascii ? "^?" : "\xe2\x90\xa1");
    else
        kb_text_addf(out, "<U+%04X>", code);
}

void kb_clean(struct kb_text *out, const char *bytes, size_t n, bool ascii)
{
    int column = 0;
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        int used = kb_utf8_decode(bytes + i, n - i, &code);
        size_t before = out->size;
        if (!used) {
            kb_text_addf(out, "<%02x>", (unsigned char)bytes[i]);
            used = 1;
        } else if (code == '\n') {
            kb_text_bytes(out, "\n", 1);
            column = 0;
            before = out->size;
        } else if (code == '\t') {
            kb_text_bytes(out, "        ", (size_t)(8 - column % 8));
        } else if (!printable(code)) {
            add_mark(out, code, ascii);
        } else if (ascii && code > 0x7e) {
            kb_text_addf(out, "\\u{%x}", code);
        } else {
            kb_text_bytes(out, bytes + i, (size_t)used);
        }
        if (out->size > before)
            column += kb_text_width(out->data + before, out->size - before);
        i += (size_t)used;
    }
}

char *kb_cleaned(const char *s)
{
    struct kb_text out = {0};
    for (const char *line = s; *line;) {
        size_t n = strcspn(line, "\n");
        kb_clean(&out, line, n, false);
        line += n;
        if (*line == '\n') {
            add_mark(&out, '\n', false);
            line++;
        }
    }
    return kb_text_take(&out);
}

enum { EDIT = 8 };

// Edits from a to b, in EDITs: a letter added, lost, changed or swapped with its neighbour. Another case is 1.
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 64 };
    size_t rows[3][MOST + 1], n = strlen(b);
    if (n > MOST)
        return EDIT * MOST;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = EDIT * j;
    size_t i = 0;
    for (; a[i]; i++) {
        size_t *above2 = rows[(i + 2) % 3], *above = rows[i % 3], *row = rows[(i + 1) % 3];
        row[0] = EDIT * (i + 1);
        for (size_t j = 0; j < n; j++) {
            bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            size_t best = above[j] + (a[i] == b[j] ? 0 : same ? 1 : EDIT);
            best = above[j + 1] + EDIT < best ? above[j + 1] + EDIT : best;
            best = row[j] + EDIT < best ? row[j] + EDIT : best;
            if (i && j && a[i] == b[j - 1] && a[i - 1] == b[j] && above2[j - 1] + EDIT < best)
                best = above2[j - 1] + EDIT;
            row[j + 1] = best;
        }
    }
    return rows[i % 3][n];
}

const char *kb_nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t third = strlen(word) / 3, limit = EDIT * ((third > 2 ? third : 2) + 1);
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, candidates[i]);
        if (d < limit && d < EDIT * strlen(candidates[i])) {
            best = candidates[i];
            limit = d;
        }
    }
    return best;
}

bool kb_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool kb_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}
