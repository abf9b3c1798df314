#include "jit/support_sass.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

char *sass_text(const char *name, size_t *size)
{
    char *path = kb_format("%s/tests/data/sass/%s.txt", KB_SOURCE_DIR, name), *data = NULL;
    size_t n;
    assert_int_equal(kb_file_read(path, 1 << 24, &data, &n, NULL), 0);
    free(path);
    if (size)
        *size = n;
    return data;
}

struct kb_sass_listing *sass_read(const char *text)
{
    struct kb_error e = {0};
    struct kb_sass_listing *l;
    if (kb_sass_parse(text, strlen(text), &l, &e))
        fail_msg("%s", kb_error_line(&e));
    return l;
}

struct kb_sass_listing *sass_stored(const char *name)
{
    char *text = sass_text(name, NULL);
    struct kb_sass_listing *l = sass_read(text);
    free(text);
    return l;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

char *sass_replaced(const char *text, const char *from, const char *to)
{
    struct kb_text out = {0};
    size_t n = strlen(from);
    for (const char *at = text; *at;) {
        bool hit = !strncmp(at, from, n) && !(at > text && in_word(at[-1]) && in_word(from[0])) &&
                   !(in_word(from[n - 1]) && in_word(at[n]));
        kb_text_bytes(&out, hit ? to : at, hit ? strlen(to) : 1);
        at += hit ? n : 1;
    }
    return kb_text_take(&out);
}

cJSON *sass_compare(const char *a, const char *b, bool raw)
{
    struct kb_sass_diff_options o = {.raw = raw, .context = 3};
    struct kb_sass_listing *x = sass_read(a), *y = sass_read(b);
    cJSON *document = kb_sass_diff(x, y, &o);
    kb_sass_free(x);
    kb_sass_free(y);
    return document;
}

const cJSON *sass_unit(const cJSON *document, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, kb_json_get(document, "kernels"))
        if (!strcmp(kb_json_text(item, "name", ""), name))
            return item;
    return NULL;
}

int sass_rows(const cJSON *document, const char *kinds)
{
    const cJSON *hunk, *row;
    int count = 0;
    cJSON_ArrayForEach (hunk, kb_json_get(document, "hunks")) {
        cJSON_ArrayForEach (row, kb_json_get(hunk, "rows"))
            count += strchr(kinds, kb_json_text(row, "k", "?")[0]) != NULL;
    }
    return count;
}

bool sass_has_row(const cJSON *document, char kind, const char *a, const char *b)
{
    const cJSON *hunk, *row;
    cJSON_ArrayForEach (hunk, kb_json_get(document, "hunks")) {
        cJSON_ArrayForEach (row, kb_json_get(hunk, "rows"))
            if (kb_json_text(row, "k", "?")[0] == kind && kb_starts(kb_json_text(row, "a", ""), a) &&
                kb_starts(kb_json_text(row, "b", ""), b))
                return true;
    }
    return false;
}
