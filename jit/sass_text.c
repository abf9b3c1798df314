// Two texts by lines: PTX, sources. The same rows and hunks as for machine code. Of PTX, what only says where a line of
// the source stands is no change unless asked for: one line more in a comment would change all that follows.
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "jit/sass_hunks.h"
#include "jit/sass_myers.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 1 << 20, LINE_SHOWN = 400, ROWS_USUAL = 8000 };

struct lines {
    struct line {
        const char *at;
        size_t n;
    } * items;
    uint64_t *keys;
    int count;
};

static uint64_t key_of(const char *s, size_t n)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        key = (key ^ (unsigned char)s[i]) * 0x100000001b3u;
    return key;
}

// "38_INTERNAL_00000000_8_tuned_cu_c6d2f4b8": a static name is made unique by a hash of the source, in the last 8 of so
// many characters. Returns where the hash stands, NULL if there is none from here on.
static char *hash_of_source(char *from)
{
    for (char *at = from; (at = strstr(at, "_INTERNAL_")); at++) {
        char *digits = at;
        while (digits > from && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        long length = strtol(digits, NULL, 10);
        if (digits < at && length > 18 && length < 1000 && (size_t)length <= strlen(at))
            return at + length - 8;
    }
    return NULL;
}

static uint64_t key_of_ptx(const char *s, size_t n)
{
    while (n && (*s == ' ' || *s == '\t')) {
        s++;
        n--;
    }
    if (n > 4 && !strncmp(s, ".loc", 4) && (s[4] == ' ' || s[4] == '\t'))
        return key_of(".loc", 4);
    char *line = kb_strndup(s, n), *hash = line;
    while ((hash = hash_of_source(hash))) {
        memset(hash, '0', 8);
        hash += 8;
    }
    uint64_t key = key_of(line, n);
    free(line);
    return key;
}

static bool is_ptx(const char *text, size_t size)
{
    char *head = kb_strndup(text, size < 4096 ? size : 4096);
    bool is = strstr(head, "\n.version ") && strstr(head, "\n.target ");
    free(head);
    return is;
}

static void cut(const char *text, size_t size, bool ptx, struct lines *l)
{
    int most = 1;
    for (size_t i = 0; i < size; i++)
        most += text[i] == '\n';
    *l = (struct lines){kb_alloc(sizeof *l->items * (size_t)most), kb_alloc(sizeof *l->keys * (size_t)most), 0};
    const char *end = text + size;
    while (text < end && l->count < LINES_MOST) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((newline ? newline : end) - text);
        l->items[l->count] = (struct line){text, n};
        l->keys[l->count++] = ptx ? key_of_ptx(text, n) : key_of(text, n);
        text += n + 1;
    }
}

static void free_lines(struct lines *l)
{
    free(l->items);
    free(l->keys);
}

static void add_side(cJSON *row, const char *text_key, const char *line_key, const struct lines *l, int i)
{
    if (i < 0)
        return;
    struct kb_text shown = {0};
    size_t n = l->items[i].n < LINE_SHOWN ? l->items[i].n : LINE_SHOWN;
    kb_clean(&shown, l->items[i].at, n, false);
    kb_json_set_text(row, text_key, shown.data ? shown.data : "");
    kb_json_set_number(row, line_key, i + 1);
    kb_text_free(&shown);
}

static cJSON *row_item(const struct kb_row *r, const struct lines *a, const struct lines *b)
{
    cJSON *row = cJSON_CreateObject();
    kb_json_set_text(row, "k", (char[]){r->kind, 0});
    add_side(row, "a", "al", a, r->a);
    add_side(row, "b", "bl", b, r->b);
    return row;
}

static void add_hunks(cJSON *document, const struct kb_hunks *h, const struct kb_row *rows, const struct lines *a,
                      const struct lines *b, int most)
{
    cJSON *list = cJSON_AddArrayToObject(document, "hunks");
    int left_out = 0, used = 0;
    for (int i = 0; i < h->count; i++) {
        if (used >= most) {
            left_out++;
            continue;
        }
        cJSON *hunk = cJSON_CreateObject(), *items = cJSON_CreateArray();
        const struct kb_row *r = rows + h->items[i].first;
        int count = h->items[i].count < most - used ? h->items[i].count : most - used;
        kb_json_set_text(hunk, "kernel", "");
        for (int k = 0; k < count; k++)
            cJSON_AddItemToArray(items, row_item(&r[k], a, b));
        kb_json_set(hunk, "rows", items);
        kb_json_set_number(hunk, "rows_left_out", h->items[i].count - count);
        used += count;
        cJSON_AddItemToArray(list, hunk);
    }
    kb_json_set_number(document, "hunks_left_out", left_out);
}

cJSON *kb_text_diff(const char *a, size_t a_size, const char *b, size_t b_size, const struct kb_sass_diff_options *o)
{
    struct lines la, lb;
    struct kb_hunks hunks = {0};
    int count, added = 0, removed = 0;
    bool ptx = !o->raw && is_ptx(a, a_size) && is_ptx(b, b_size);
    cut(a, a_size, ptx, &la);
    cut(b, b_size, ptx, &lb);
    int *match = kb_alloc(sizeof *match * ((size_t)la.count + 1));
    kb_sass_match(la.keys, la.count, lb.keys, lb.count, match);
    struct kb_row *rows = kb_diff_rows(match, la.count, lb.count, NULL, &count);
    for (int i = 0; i < count; i++) {
        added += rows[i].kind == '+';
        removed += rows[i].kind == '-';
    }
    kb_diff_hunks(&hunks, rows, count, o->context, 0);
    cJSON *document = cJSON_CreateObject();
    bool identical = a_size == b_size && (!a_size || !memcmp(a, b, a_size));
    kb_json_set_text(document, "kind", "text");
    kb_json_set_bool(document, "raw", !ptx);
    kb_json_set_bool(document, "identical", identical);
    kb_json_set_bool(document, "real_change", !identical && (!ptx || added || removed));
    kb_json_set_number(document, "added", added);
    kb_json_set_number(document, "removed", removed);
    add_hunks(document, &hunks, rows, &la, &lb, o->rows_most ? o->rows_most : ROWS_USUAL);
    free(hunks.items);
    free(rows);
    free(match);
    free_lines(&la);
    free_lines(&lb);
    return document;
}
