// What a case makes of the bench: names, labels, launches and shapes as numbers.
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int kb_case_names(const struct kb_bench *b, int case_index, bool on_cpu, const struct kb_variant *v,
                  struct kb_names *names, struct kb_error *e)
{
    if (case_index < 0 || case_index >= b->case_count)
        return kb_fail(e, b->name, NULL, "there is no case %d, the bench has %d", case_index, b->case_count);
    const struct kb_case *c = &b->cases[case_index];
    kb_names_copy(names, &b->params);
    kb_names_copy(names, &c->over);
    if (on_cpu)
        kb_names_copy(names, &c->cpu_over);
    if (v) {
        kb_add_define_names(v, names);
        kb_names_copy(names, &v->template_values);
    }
    return 0;
}

int64_t kb_case_param(const struct kb_bench *b, int case_index, bool on_cpu, const char *param)
{
    struct kb_names names = {0};
    const int64_t *value =
        kb_case_names(b, case_index, on_cpu, NULL, &names, NULL) ? NULL : kb_names_get(&names, param);
    int64_t out = value ? *value : 0;
    kb_names_free(&names);
    return out;
}

static bool is_overridden(const struct kb_bench *b, const struct kb_case *c, const char *name)
{
    for (int i = 0; i < b->case_count; i++)
        if (kb_names_get(&b->cases[i].over, name) || kb_names_get(&b->cases[i].cpu_over, name))
            return true;
    return kb_names_get(&c->over, name) != NULL;
}

// The params that vary over the cases, in the order of the bench; all of them where none varies.
char *kb_case_label(const struct kb_bench *b, int case_index, bool on_cpu)
{
    struct kb_text label = {0};
    struct kb_names names = {0};
    if (kb_case_names(b, case_index, on_cpu, NULL, &names, NULL))
        return kb_strdup("");
    const struct kb_case *c = &b->cases[case_index];
    if (c->name[0]) {
        kb_names_free(&names);
        return kb_strdup(c->name);
    }
    for (int all = 0; all < 2 && !label.size; all++)
        for (int i = 0; i < b->params.count; i++) {
            const char *name = b->params.items[i].name;
            if (all || is_overridden(b, c, name))
                kb_text_addf(&label, "%s%" PRId64, label.size ? " x " : "", *kb_names_get(&names, name));
        }
    kb_names_free(&names);
    if (!label.size)
        kb_text_add(&label, "the only case");
    return kb_text_take(&label);
}

static int eval_size(const char *what, int dim, const char *text, int64_t least, const struct kb_names *names,
                     int64_t *out, struct kb_error *e)
{
    struct kb_error inner;
    char label[80];
    snprintf(label, sizeof label, dim < 0 ? "%s" : "%s[%d]", what, dim);
    if (kb_expr_eval(text, names, out, &inner))
        return kb_fail(e, NULL, inner.remedy, "%s: %s", label, inner.what);
    if (*out >= least)
        return 0;
    return kb_fail(e, NULL, NULL, "%s is \"%.100s\" = %" PRId64 ", expected at least %" PRId64, label, text, *out,
                   least);
}

int kb_launch_eval(const struct kb_launch *l, const struct kb_names *names, struct kb_dims *out, struct kb_error *e)
{
    *out = (struct kb_dims){.grid = {1, 1, 1}, .block = {1, 1, 1}, .cooperative = l->cooperative};
    struct kb_error inner = {0};
    int status = 0;
    if (!l->grid_dims || !l->block_dims)
        status = kb_fail(&inner, NULL, "give it in bench.json (\"launch\") or above the kernel (//kb:)",
                         "the launch has no %s", l->grid_dims ? "block" : "grid");
    for (int i = 0; i < l->grid_dims && !status; i++)
        status = eval_size("grid", l->grid_dims > 1 ? i : -1, l->grid[i], 1, names, &out->grid[i], &inner);
    for (int i = 0; i < l->block_dims && !status; i++)
        status = eval_size("block", l->block_dims > 1 ? i : -1, l->block[i], 1, names, &out->block[i], &inner);
    if (l->shared && !status)
        status = eval_size("shared", -1, l->shared, 0, names, &out->shared, &inner);
    return status ? kb_fail(e, l->kernel, inner.remedy, "%s", inner.what) : 0;
}

int kb_shape_eval(const struct kb_arg *a, const struct kb_names *names, int64_t shape[KB_MAX_DIMS], int64_t *elements,
                  struct kb_error *e)
{
    struct kb_error inner;
    *elements = 1;
    for (int i = 0; i < a->ndim; i++) {
        if (eval_size("shape", i, a->shape[i], 0, names, &shape[i], &inner))
            return kb_fail(e, a->name, inner.remedy, "%s", inner.what);
    }
    for (int i = 0; i < a->ndim; i++)
        if (__builtin_mul_overflow(*elements, shape[i], elements))
            return kb_fail(e, a->name, NULL, "the shape has more elements than a 64-bit integer counts");
    int64_t bytes;
    if (__builtin_mul_overflow(*elements, (int64_t)kb_dtype_bytes(a->dtype), &bytes))
        return kb_fail(e, a->name, NULL, "the shape has more bytes than a 64-bit integer counts");
    return 0;
}
