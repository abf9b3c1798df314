#include "jit/sass_diff.h"
#include "base/json.h"
#include "base/memory.h"
#include "jit/sass_classes.h"
#include "jit/sass_compare.h"
#include "jit/sass_hunks.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_USUAL = 8000, TEXT_SHOWN = 300 };

// One kernel of a beside one of b, or alone.
struct unit {
    const struct kb_sass_kernel *a, *b;
    struct kb_row *rows;
    int row_count;
    int written, real;             // rows that are written differently; that differ for real
    bool reordered;                // the same instructions in another order
    double *samples_a, *samples_b; // by instruction, NULL if there are none
};
struct diff {
    const struct kb_sass_listing *a, *b;
    const struct kb_sass_diff_options *o;
    struct unit *units;
    int unit_count;
    struct kb_hunks hunks;
};

// ---- which kernel became which

static void add_unit(struct diff *d, const struct kb_sass_kernel *a, const struct kb_sass_kernel *b)
{
    d->units[d->unit_count++] = (struct unit){.a = a, .b = b};
}

// By name; one that is left on both sides is taken for the same under another name (two variants' kernels).
static void pair_kernels(struct diff *d)
{
    const struct kb_sass_kernel *only_a = NULL, *only_b = NULL;
    int left_a = 0, left_b = 0;
    for (int i = 0; i < d->a->kernel_count; i++)
        if (!kb_sass_find(d->b, d->a->kernels[i].name)) {
            only_a = &d->a->kernels[i];
            left_a++;
        }
    for (int i = 0; i < d->b->kernel_count; i++)
        if (!kb_sass_find(d->a, d->b->kernels[i].name)) {
            only_b = &d->b->kernels[i];
            left_b++;
        }
    bool renamed = left_a == 1 && left_b == 1;
    for (int i = 0; i < d->a->kernel_count; i++) {
        const struct kb_sass_kernel *a = &d->a->kernels[i];
        add_unit(d, a, renamed && a == only_a ? only_b : kb_sass_find(d->b, a->name));
    }
    for (int i = 0; i < d->b->kernel_count; i++)
        if (!kb_sass_find(d->a, d->b->kernels[i].name) && !renamed)
            add_unit(d, NULL, &d->b->kernels[i]);
}

// ---- what changed in one

static bool written_alike(const struct kb_sass_instruction *x, const struct kb_sass_instruction *y)
{
    return !strcmp(x->opcode, y->opcode) && !strcmp(x->operands, y->operands) && !strcmp(x->predicate, y->predicate) &&
           !strcmp(x->control, y->control);
}

static int by_key(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static bool same_multiset(const struct kb_sass_normal *a, const struct kb_sass_normal *b)
{
    size_t n = (size_t)a->kernel->count;
    if (a->kernel->count != b->kernel->count)
        return false;
    uint64_t *x = kb_alloc(sizeof *x * (n + 1)), *y = kb_alloc(sizeof *y * (n + 1));
    for (size_t i = 0; i < n; i++) {
        x[i] = a->shapes[i];
        y[i] = b->shapes[i];
    }
    qsort(x, n, sizeof *x, by_key);
    qsort(y, n, sizeof *y, by_key);
    bool same = !memcmp(x, y, sizeof *x * n);
    free(x);
    free(y);
    return same;
}

static void count_changes(struct unit *u, const bool *differs)
{
    for (int i = 0; i < u->row_count; i++) {
        const struct kb_row *r = &u->rows[i];
        bool paired = r->a >= 0 && r->b >= 0;
        u->real += !paired || differs[r->a];
        u->written += !paired || !written_alike(&u->a->instructions[r->a], &u->b->instructions[r->b]);
    }
}

static void compare_pair(struct unit *u, bool raw)
{
    struct kb_sass_normal a, b;
    kb_sass_normalise(u->a, &a);
    kb_sass_normalise(u->b, &b);
    int *match = kb_alloc(sizeof *match * ((size_t)u->a->count + 1));
    bool *differs = kb_alloc((size_t)u->a->count + 1), *shown = kb_alloc((size_t)u->a->count + 1);
    kb_sass_align(&a, &b, match);
    kb_sass_compare(&a, &b, match, differs);
    for (int i = 0; i < u->a->count; i++)
        shown[i] =
            raw && match[i] >= 0 ? !written_alike(&u->a->instructions[i], &u->b->instructions[match[i]]) : differs[i];
    u->rows = kb_diff_rows(match, u->a->count, u->b->count, shown, &u->row_count);
    count_changes(u, differs);
    u->reordered = u->real > 0 && same_multiset(&a, &b);
    free(match);
    free(differs);
    free(shown);
    kb_sass_normal_free(&a);
    kb_sass_normal_free(&b);
}

static void compare_alone(struct unit *u)
{
    int n = u->a ? u->a->count : u->b->count;
    u->rows = kb_alloc(sizeof *u->rows * ((size_t)n + 1));
    u->row_count = u->real = u->written = n;
    for (int i = 0; i < n; i++)
        u->rows[i] = u->a ? (struct kb_row){i, -1, '-'} : (struct kb_row){-1, i, '+'};
}

// ---- samples

static double *samples_of(const struct kb_sass_kernel *k, const struct kb_sass_samples *s)
{
    if (!k || !s->count)
        return NULL;
    double *by_instruction = kb_alloc(sizeof *by_instruction * ((size_t)k->count + 1));
    for (int i = 0; i < s->count; i++) {
        if (strcmp(s->items[i].kernel, k->name))
            continue;
        int low = 0, high = k->count;
        while (low < high) {
            int middle = (low + high) / 2;
            if (k->instructions[middle].offset < s->items[i].offset)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < k->count && k->instructions[low].offset == s->items[i].offset)
            by_instruction[low] += s->items[i].samples;
    }
    return by_instruction;
}

// A hunk is as hot as its changed rows.
static double heat(const struct unit *u, const struct kb_hunk *h)
{
    double sum = 0;
    for (int i = h->first; i < h->first + h->count; i++) {
        const struct kb_row *r = &u->rows[i];
        if (r->kind == '=')
            continue;
        sum += r->a >= 0 && u->samples_a ? u->samples_a[r->a] : 0;
        sum += r->b >= 0 && u->samples_b ? u->samples_b[r->b] : 0;
    }
    return sum;
}

// ---- the document

static void add_classes(cJSON *object, const struct kb_sass_kernel *a, const struct kb_sass_kernel *b)
{
    int counts[2][KB_SASS_CLASSES_MOST] = {{0}};
    if (a)
        kb_sass_count(a, counts[0]);
    if (b)
        kb_sass_count(b, counts[1]);
    cJSON *list = cJSON_AddObjectToObject(object, "by_class");
    for (int id = 0; id < KB_SASS_CLASSES_MOST; id++) {
        if (!counts[0][id] && !counts[1][id])
            continue;
        cJSON *pair = cJSON_AddObjectToObject(list, kb_sass_class_name(id).s);
        kb_json_set_number(pair, "a", counts[0][id]);
        kb_json_set_number(pair, "b", counts[1][id]);
    }
}

static void add_pair(cJSON *object, const char *key, int a, int b, const char *reason)
{
    cJSON *pair = cJSON_AddObjectToObject(object, key);
    kb_json_measured(pair, "a", a, a < 0 ? reason : NULL);
    kb_json_measured(pair, "b", b, b < 0 ? reason : NULL);
}

static const char *state_of(const struct unit *u)
{
    return !u->a ? "added" : !u->b ? "removed" : u->real ? "changed" : u->written ? "same" : "identical";
}

static cJSON *kernel_item(const struct unit *u)
{
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "name", u->b ? u->b->name : u->a->name);
    if (u->a && u->b && strcmp(u->a->name, u->b->name))
        kb_json_set_text(item, "was", u->a->name);
    kb_json_set_text(item, "state", state_of(u));
    kb_json_set_bool(item, "reordered", u->reordered);
    kb_json_set_number(item, "real_rows", u->real);
    kb_json_set_number(item, "raw_rows", u->written);
    add_pair(item, "instructions", u->a ? u->a->count : 0, u->b ? u->b->count : 0, NULL);
    add_pair(item, "live_registers_peak", u->a ? u->a->live_peak : -1, u->b ? u->b->live_peak : -1,
             "no such kernel, or no live registers in the listing");
    add_classes(item, u->a, u->b);
    return item;
}

struct side {
    const char *text, *offset, *line, *live, *samples;
};
static const struct side side_a = {"a", "ao", "al", "ar", "as"}, side_b = {"b", "bo", "bl", "br", "bs"};

static void add_side(cJSON *row, const struct side *keys, const struct kb_sass_kernel *k, int i, const double *samples)
{
    if (i < 0)
        return;
    struct kb_text text = {0}, clean = {0};
    const struct kb_sass_instruction *at = &k->instructions[i];
    kb_sass_show(&text, at);
    kb_clean(&clean, text.data, text.size < TEXT_SHOWN ? text.size : TEXT_SHOWN, false);
    kb_json_set_text(row, keys->text, clean.data);
    kb_json_set_number(row, keys->offset, at->offset);
    if (at->at_line)
        kb_json_set_number(row, keys->line, at->at_line);
    if (at->live >= 0)
        kb_json_set_number(row, keys->live, at->live);
    if (samples && samples[i] > 0)
        kb_json_set_number(row, keys->samples, samples[i]);
    kb_text_free(&text);
    kb_text_free(&clean);
}

// The function of the section that an instruction belongs to, "" for the kernel itself.
static const char *function_of(const struct kb_sass_kernel *k, int i)
{
    const char *name = "";
    for (int l = 0; l < k->label_count; l++)
        if (k->labels[l].function && k->labels[l].index <= i)
            name = k->labels[l].name;
    return strcmp(name, k->name) ? name : "";
}

static cJSON *hunk_item(const struct unit *u, const struct kb_hunk *h, int most)
{
    cJSON *item = cJSON_CreateObject(), *rows = cJSON_CreateArray();
    const struct kb_row *first = &u->rows[h->first];
    const struct kb_sass_kernel *k = first->b >= 0 ? u->b : u->a;
    int count = h->count < most ? h->count : most;
    kb_json_set_text(item, "kernel", u->b ? u->b->name : u->a->name);
    const char *function = function_of(k, first->b >= 0 ? first->b : first->a);
    if (*function)
        kb_json_set_text(item, "function", function);
    if (u->samples_a || u->samples_b)
        kb_json_set_number(item, "samples", h->samples);
    for (int i = 0; i < count; i++) {
        const struct kb_row *r = &first[i];
        cJSON *row = cJSON_CreateObject();
        kb_json_set_text(row, "k", (char[]){r->kind, 0});
        add_side(row, &side_a, u->a, r->a, u->samples_a);
        add_side(row, &side_b, u->b, r->b, u->samples_b);
        cJSON_AddItemToArray(rows, row);
    }
    kb_json_set(item, "rows", rows);
    kb_json_set_number(item, "rows_left_out", h->count - count);
    return item;
}

static void add_hunks(cJSON *document, const struct diff *d)
{
    cJSON *list = cJSON_AddArrayToObject(document, "hunks");
    int most = d->o->rows_most ? d->o->rows_most : ROWS_USUAL, left_out = 0;
    for (int i = 0; i < d->hunks.count; i++) {
        const struct kb_hunk *h = &d->hunks.items[i];
        if (most > 0)
            cJSON_AddItemToArray(list, hunk_item(&d->units[h->unit], h, most));
        else
            left_out++;
        most -= h->count < most ? h->count : most;
    }
    kb_json_set_number(document, "hunks_left_out", left_out);
}

static void add_class_changes(cJSON *document, const struct diff *d)
{
    int change[KB_SASS_CLASSES_MOST] = {0}, counts[KB_SASS_CLASSES_MOST];
    cJSON *list = cJSON_AddObjectToObject(document, "by_class");
    for (int i = 0; i < d->unit_count; i++)
        for (int side = 0; side < 2; side++) {
            const struct kb_sass_kernel *k = side ? d->units[i].b : d->units[i].a;
            memset(counts, 0, sizeof counts);
            if (k)
                kb_sass_count(k, counts);
            for (int id = 0; id < KB_SASS_CLASSES_MOST; id++)
                change[id] += side ? counts[id] : -counts[id];
        }
    for (int id = 0; id < KB_SASS_CLASSES_MOST; id++)
        if (change[id])
            kb_json_set_number(list, kb_sass_class_name(id).s, change[id]);
}

static cJSON *document_of(const struct diff *d)
{
    cJSON *document = cJSON_CreateObject(), *kernels;
    int real = 0, written = 0;
    for (int i = 0; i < d->unit_count; i++) {
        real += d->units[i].real;
        written += d->units[i].written;
    }
    kb_json_set_text(document, "kind", "sass");
    kb_json_set_bool(document, "raw", d->o->raw);
    kb_json_set_bool(document, "identical", !written);
    kb_json_set_bool(document, "real_change", real > 0);
    kb_json_set_text(document, "arch_a", d->a->arch);
    kb_json_set_text(document, "arch_b", d->b->arch);
    add_class_changes(document, d);
    kernels = cJSON_AddArrayToObject(document, "kernels");
    for (int i = 0; i < d->unit_count; i++)
        cJSON_AddItemToArray(kernels, kernel_item(&d->units[i]));
    add_hunks(document, d);
    return document;
}

static void compare_unit(struct diff *d, int index)
{
    struct unit *u = &d->units[index];
    if (u->a && u->b)
        compare_pair(u, d->o->raw);
    else
        compare_alone(u);
    u->samples_a = samples_of(u->a, &d->o->a);
    u->samples_b = samples_of(u->b, &d->o->b);
    int before = d->hunks.count;
    kb_diff_hunks(&d->hunks, u->rows, u->row_count, d->o->context, index);
    for (int i = before; i < d->hunks.count; i++)
        d->hunks.items[i].samples = heat(u, &d->hunks.items[i]);
}

cJSON *kb_sass_diff(const struct kb_sass_listing *a, const struct kb_sass_listing *b,
                    const struct kb_sass_diff_options *o)
{
    struct diff d = {.a = a, .b = b, .o = o};
    d.units = kb_alloc(sizeof *d.units * (size_t)(a->kernel_count + b->kernel_count + 1));
    pair_kernels(&d);
    for (int i = 0; i < d.unit_count; i++)
        compare_unit(&d, i);
    kb_diff_sort(&d.hunks);
    cJSON *document = document_of(&d);
    for (int i = 0; i < d.unit_count; i++) {
        free(d.units[i].rows);
        free(d.units[i].samples_a);
        free(d.units[i].samples_b);
    }
    free(d.units);
    free(d.hunks.items);
    return document;
}

cJSON *kb_diff_head(const cJSON *document)
{
    cJSON *head = cJSON_CreateObject();
    const cJSON *by_class = kb_json_get(document, "by_class");
    kb_json_set_bool(head, "identical", kb_json_bool(document, "identical", false));
    kb_json_set_bool(head, "real_change", kb_json_bool(document, "real_change", true));
    kb_json_set_number(head, "hunks",
                       cJSON_GetArraySize(kb_json_get(document, "hunks")) +
                           kb_json_number(document, "hunks_left_out", 0));
    kb_json_set(head, "by_class", by_class ? cJSON_Duplicate(by_class, true) : cJSON_CreateObject());
    return head;
}
