#include "tui/view_sass_rows.h"
#include "base/json.h"
#include "base/memory.h"
#include "jit/sass_classes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kb_sass_row *kb_sass_rows_add(struct kb_sass_rows *r, enum kb_sass_row_kind kind)
{
    KB_GROW(r->items, r->count, r->capacity);
    struct kb_sass_row *row = &r->items[r->count++];
    *row = (struct kb_sass_row){.kind = kind};
    return row;
}

void kb_sass_rows_text(struct kb_sass_rows *r, enum kb_style style, const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    int n = vasprintf(&text, format, list);
    va_end(list);
    struct kb_sass_row *row = kb_sass_rows_add(r, KB_SASS_ROW_TEXT);
    row->style = style;
    row->text = n < 0 ? NULL : text;
}

void kb_sass_rows_free(struct kb_sass_rows *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->items[i].text);
    free(r->items);
    *r = (struct kb_sass_rows){0};
}

// ---- listing

// Labels that only the line table needed are not worth a row.
static bool *branched_to(const struct kb_sass_kernel *k)
{
    enum { MOST = 1 << 20 };
    bool *seen = kb_alloc(MOST);
    for (int i = 0; i < k->count; i++)
        for (const char *at = k->instructions[i].operands; (at = strstr(at, ".L_x_")); at += 5) {
            long n = strtol(at + 5, NULL, 10);
            if (n >= 0 && n < MOST)
                seen[n] = true;
        }
    bool *keep = kb_alloc((size_t)k->label_count + 1);
    for (int i = 0; i < k->label_count; i++) {
        const char *name = k->labels[i].name;
        long n = kb_starts(name, ".L_x_") ? strtol(name + 5, NULL, 10) : -1;
        keep[i] = k->labels[i].index < k->count && strcmp(name, k->name) && (n < 0 || n >= MOST || seen[n]);
    }
    free(seen);
    return keep;
}

// "  FADD 10  SHFL 10": what it has most of.
static char *most_classes(const struct kb_sass_kernel *k)
{
    int counts[KB_SASS_CLASSES_MOST] = {0};
    struct kb_text out = {0};
    kb_sass_count(k, counts);
    for (int shown = 0; shown < 8; shown++) {
        int most = 0;
        for (int id = 0; id < KB_SASS_CLASSES_MOST; id++)
            if (counts[id] > counts[most])
                most = id;
        if (!counts[most])
            break;
        kb_text_addf(&out, "  %s %d", kb_sass_class_name(most).s, counts[most]);
        counts[most] = 0;
    }
    return kb_text_take(&out);
}

static void add_kernel(struct kb_sass_rows *r, const struct kb_sass_listing *l, int index)
{
    const struct kb_sass_kernel *k = &l->kernels[index];
    bool *keep = branched_to(k);
    int label = 0, file = -2, line = -1;
    struct kb_sass_row *head = kb_sass_rows_add(r, KB_SASS_ROW_KERNEL);
    head->kernel = index;
    head->text = most_classes(k);
    for (int i = 0; i < k->count; i++) {
        const struct kb_sass_instruction *at = &k->instructions[i];
        for (; label < k->label_count && k->labels[label].index <= i; label++) {
            if (!keep[label])
                continue;
            struct kb_sass_row *row = kb_sass_rows_add(r, KB_SASS_ROW_LABEL);
            row->kernel = index;
            row->index = label;
        }
        if (at->at_line && (at->at_file != file || at->at_line != line)) {
            struct kb_sass_row *row = kb_sass_rows_add(r, KB_SASS_ROW_SOURCE);
            row->kernel = index;
            row->index = i;
            file = at->at_file;
            line = at->at_line;
        }
        struct kb_sass_row *row = kb_sass_rows_add(r, KB_SASS_ROW_INSTRUCTION);
        row->kernel = index;
        row->index = i;
    }
    free(keep);
}

void kb_sass_rows_listing(struct kb_sass_rows *r, const struct kb_sass_view_input *in)
{
    if (in->listing_reason)
        kb_sass_rows_text(r, in->listing ? KB_STYLE_WARN : KB_STYLE_DIM, "%s", in->listing_reason);
    if (!in->listing) {
        if (!in->listing_reason)
            kb_sass_rows_text(r, KB_STYLE_DIM, "no listing yet");
        return;
    }
    if (!in->listing->has_lines)
        kb_sass_rows_text(r, KB_STYLE_DIM, "no source lines: the code was compiled without line information");
    if (!in->listing->has_live)
        kb_sass_rows_text(r, KB_STYLE_DIM, "no live registers in this listing");
    for (int i = 0; i < in->listing->kernel_count; i++)
        add_kernel(r, in->listing, i);
}

// ---- diff

static void add_single(struct kb_sass_rows *r, const cJSON *item, char mark)
{
    struct kb_sass_row *row = kb_sass_rows_add(r, KB_SASS_ROW_SINGLE);
    row->item = item;
    row->mark = mark;
}

static void add_pair(struct kb_sass_rows *r, const cJSON *left, const cJSON *right, char mark)
{
    struct kb_sass_row *row = kb_sass_rows_add(r, KB_SASS_ROW_PAIR);
    row->item = left;
    row->other = right;
    row->mark = mark;
}

static char kind_of(const cJSON *row)
{
    return row ? kb_json_text(row, "k", "=")[0] : 0;
}

// Rows of one change: those that left, beside or above those that came.
static const cJSON *add_change(struct kb_sass_rows *r, const cJSON *row, bool two_sides)
{
    const cJSON *left[512], *right[512];
    int lefts = 0, rights = 0;
    for (char k = kind_of(row); row && k != '=' && lefts < 512 && rights < 512; row = row->next, k = kind_of(row)) {
        if (k == '-' || k == '~')
            left[lefts++] = row;
        if (k == '+' || k == '~')
            right[rights++] = row;
    }
    for (int i = 0; two_sides && (i < lefts || i < rights); i++)
        add_pair(r, i < lefts ? left[i] : NULL, i < rights ? right[i] : NULL, '-');
    for (int i = 0; !two_sides && i < lefts; i++)
        add_single(r, left[i], '-');
    for (int i = 0; !two_sides && i < rights; i++)
        add_single(r, right[i], '+');
    return row;
}

static void add_hunk(struct kb_sass_rows *r, const cJSON *hunk, bool two_sides)
{
    kb_sass_rows_add(r, KB_SASS_ROW_HUNK)->item = hunk;
    const cJSON *rows = kb_json_get(hunk, "rows");
    for (const cJSON *row = rows ? rows->child : NULL; row;) {
        if (kind_of(row) != '=') {
            row = add_change(r, row, two_sides);
            continue;
        }
        if (two_sides)
            add_pair(r, row, row, '=');
        else
            add_single(r, row, '=');
        row = row->next;
    }
    int left_out = (int)kb_json_int(hunk, "rows_left_out", 0);
    if (left_out)
        kb_sass_rows_text(r, KB_STYLE_WARN, "%d more rows of this change are left out", left_out);
}

static int raw_rows(const cJSON *document)
{
    const cJSON *unit;
    int count = 0;
    cJSON_ArrayForEach (unit, kb_json_get(document, "kernels"))
        count += (int)kb_json_int(unit, "raw_rows", 0);
    return count;
}

static void add_verdict(struct kb_sass_rows *r, const cJSON *d, bool raw)
{
    bool text = !strcmp(kb_json_text(d, "kind", "sass"), "text");
    const char *doubt = kb_json_text(d, "incomplete", NULL);
    if (doubt)
        kb_sass_rows_text(r, KB_STYLE_WARN, "a listing is not whole: %s", doubt);
    if (kb_json_bool(d, "identical", false))
        kb_sass_rows_text(r, KB_STYLE_GOOD, text ? "same text" : "same code");
    else if (!text && cJSON_IsFalse(kb_json_get(d, "real_change")))
        kb_sass_rows_text(r, KB_STYLE_GOOD,
                          raw ? "no real change: %d instructions are only written differently"
                              : "no real change: %d instructions are only written differently (w shows them)",
                          raw_rows(d));
    else if (text && cJSON_IsFalse(kb_json_get(d, "real_change")))
        kb_sass_rows_text(r, KB_STYLE_GOOD, "no real change: only the places of source lines differ (w shows them)");
    else if (text)
        kb_sass_rows_text(r, KB_STYLE_TEXT, "%d lines came, %d left", (int)kb_json_int(d, "added", 0),
                          (int)kb_json_int(d, "removed", 0));
}

static void add_classes(struct kb_sass_rows *r, const cJSON *d)
{
    struct kb_text line = {0};
    const cJSON *item;
    cJSON_ArrayForEach (item, kb_json_get(d, "by_class"))
        kb_text_addf(&line, "%s%s %+d", line.size ? "   " : "", item->string, (int)item->valuedouble);
    if (line.size)
        kb_sass_rows_text(r, KB_STYLE_STRONG, "%s", line.data);
    kb_text_free(&line);
}

void kb_sass_rows_diff(struct kb_sass_rows *r, const struct kb_sass_view_input *in, bool raw, bool two_sides)
{
    const cJSON *d = raw && in->raw_diff ? in->raw_diff : in->diff, *item;
    if (!d) {
        kb_sass_rows_text(r, KB_STYLE_DIM, "%s", in->diff_reason ? in->diff_reason : "nothing to compare with yet");
        return;
    }
    if (raw && !in->raw_diff)
        kb_sass_rows_text(r, KB_STYLE_DIM, "as written: not at hand; real changes are shown");
    add_verdict(r, d, raw);
    add_classes(r, d);
    cJSON_ArrayForEach (item, kb_json_get(d, "kernels"))
        kb_sass_rows_add(r, KB_SASS_ROW_UNIT)->item = item;
    cJSON_ArrayForEach (item, kb_json_get(d, "hunks"))
        add_hunk(r, item, two_sides);
    int left_out = (int)kb_json_int(d, "hunks_left_out", 0);
    if (left_out)
        kb_sass_rows_text(r, KB_STYLE_WARN, "%d more changes are left out", left_out);
}
