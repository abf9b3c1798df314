// What the parts of a bench say about each other: expressions over known names, arguments that exist, a goal that can
// be met. Every case is evaluated, with its values for the CPU too.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"

#include <stdlib.h>
#include <string.h>

static int fail_case(const struct kb_document *doc, const cJSON *item, const struct kb_bench *b, int i, bool cpu,
                     const struct kb_error *inner)
{
    char *label = kb_case_label(b, i, cpu);
    const char *suffix = cpu ? " on the CPU" : "";
    int status = b->case_count == 1
                     ? kb_document_fail(doc, item, inner->remedy, "%s", inner->what)
                     : kb_document_fail(doc, item, inner->remedy, "%s (case %s%s)", inner->what, label, suffix);
    free(label);
    return status;
}

// Which of the dimensions is at fault is in the message; its line is better than the list's.
static const cJSON *shape_item(const cJSON *arg, const struct kb_arg *a, const struct kb_names *names)
{
    const cJSON *shape = kb_json_get(arg, "shape");
    for (int i = 0; i < a->ndim; i++) {
        int64_t value;
        if (kb_expr_eval(a->shape[i], names, &value, NULL) || value < 0)
            return cJSON_GetArrayItem(shape, i);
    }
    return shape;
}

static int check_scalar(const struct kb_arg *a, const struct kb_names *names, struct kb_error *e)
{
    int64_t integer;
    double real;
    const char *text = a->value ? a->value : a->name;
    return kb_dtype_is_float(a->dtype) ? kb_expr_eval_real(text, names, &real, e)
                                       : kb_expr_eval(text, names, &integer, e);
}

static int check_arg(const struct kb_document *doc, const struct kb_bench *b, int arg, int case_index, bool cpu,
                     const struct kb_names *names)
{
    const struct kb_arg *a = &b->args[arg];
    const cJSON *item = cJSON_GetArrayItem(kb_json_get(doc->root, "args"), arg);
    struct kb_error inner;
    if (a->role == KB_SCALAR) {
        if (!a->value && !kb_names_get(names, a->name))
            return kb_document_fail(doc, item, "add \"value\", or a param of this name",
                                    "the scalar \"%s\" has no value, and no param is named so", a->name);
        const cJSON *value = kb_json_get(item, "value");
        return check_scalar(a, names, &inner) ? fail_case(doc, value ? value : item, b, case_index, cpu, &inner) : 0;
    }
    int64_t shape[KB_MAX_DIMS], elements;
    if (!kb_shape_eval(a, names, shape, &elements, &inner))
        return 0;
    return fail_case(doc, shape_item(item, a, names), b, case_index, cpu, &inner);
}

static int check_work(const struct kb_document *doc, const struct kb_bench *b, int case_index, bool cpu,
                      const struct kb_names *names)
{
    const cJSON *work = kb_json_get(doc->root, "work");
    const char *texts[] = {b->flops, b->bytes}, *keys[] = {"flops", "bytes"};
    for (int i = 0; i < 2; i++) {
        struct kb_error inner;
        double value;
        if (!texts[i])
            continue;
        int status = kb_expr_eval_real(texts[i], names, &value, &inner);
        if (!status && value < 0)
            status = kb_fail(&inner, NULL, NULL, "\"%.100s\" is %g, expected at least 0", texts[i], value);
        if (status)
            return fail_case(doc, kb_json_get(work, keys[i]), b, case_index, cpu, &inner);
    }
    return 0;
}

static int check_case(const struct kb_document *doc, const struct kb_bench *b, int i, bool cpu)
{
    struct kb_names names = {0};
    int status = kb_case_names(b, i, cpu, NULL, &names, doc->e);
    for (int a = 0; a < b->arg_count && !status; a++)
        status = check_arg(doc, b, a, i, cpu, &names);
    if (!status)
        status = check_work(doc, b, i, cpu, &names);
    kb_names_free(&names);
    return status;
}

static int check_launch_args(const struct kb_document *doc, const struct kb_bench *b, const cJSON *item,
                             const struct kb_variant *v)
{
    const char **names = kb_alloc(sizeof *names * (size_t)(b->arg_count + 1));
    int status = 0;
    for (int i = 0; i < b->arg_count; i++)
        names[i] = b->args[i].name;
    for (int i = 0; i < v->launch_count; i++) {
        const struct kb_launch *l = &v->launches[i];
        for (int k = 0; k < l->arg_count && !status; k++)
            if (kb_bench_find_arg(b, l->args[k]) < 0)
                status = kb_document_unknown(doc, cJSON_GetArrayItem(kb_launch_args_item(item, i), k), "argument",
                                             l->args[k], names, (size_t)b->arg_count);
    }
    free(names);
    return status;
}

static int check_dims(const struct kb_document *doc, const cJSON *item, char *const *dims, int n,
                      const struct kb_names *names)
{
    for (int i = 0; i < n; i++) {
        struct kb_error inner;
        int64_t value;
        if (kb_expr_eval(dims[i], names, &value, &inner))
            return kb_document_fail(doc, cJSON_IsArray(item) ? cJSON_GetArrayItem(item, i) : item, inner.remedy, "%s",
                                    inner.what);
    }
    return 0;
}

// Here nothing but the file decides: no //kb: line applies to the reference. Template arguments are not known yet.
static int check_reference_launch(const struct kb_document *doc, const struct kb_launch *l, const cJSON *launch,
                                  const cJSON *reference, const struct kb_names *names)
{
    if (!l->grid_dims || !l->block_dims)
        return kb_document_fail(doc, launch ? launch : reference, NULL,
                                "a launch needs the keys \"grid\" and \"block\"");
    if (strchr(l->kernel, '<'))
        return 0;
    return check_dims(doc, kb_json_get(launch, "grid"), l->grid, l->grid_dims, names) ||
                   check_dims(doc, kb_json_get(launch, "block"), l->block, l->block_dims, names) ||
                   check_dims(doc, kb_json_get(launch, "shared"), &l->shared, l->shared ? 1 : 0, names)
               ? -1
               : 0;
}

static int check_reference(const struct kb_document *doc, const struct kb_bench *b)
{
    const cJSON *item = kb_json_get(doc->root, "reference");
    const struct kb_variant *program = &b->reference.program;
    int outputs = 0;
    for (int i = 0; i < b->arg_count; i++)
        outputs += b->args[i].role == KB_OUTPUT || b->args[i].role == KB_INOUT;
    if (b->reference.kind == KB_REFERENCE_FILE && outputs != 1)
        return kb_document_fail(doc, item, "use a kernel as reference", "a .npy holds one output, but the bench has %d",
                                outputs);
    struct kb_names names = {0};
    int status = kb_case_names(b, kb_bench_headline(b), false, program, &names, doc->e);
    for (int i = 0; i < program->launch_count && !status; i++)
        status = check_reference_launch(doc, &program->launches[i], kb_launch_item(item, i), item, &names);
    kb_names_free(&names);
    return status ? -1 : check_launch_args(doc, b, item, program);
}

static int check_goal(const struct kb_document *doc, const struct kb_bench *b)
{
    if (b->goal.kind != KB_GOAL_VERSUS || kb_bench_find_variant(b, b->goal.versus) >= 0)
        return 0;
    const char **names = kb_alloc(sizeof *names * (size_t)(b->variant_count + 1));
    for (int i = 0; i < b->variant_count; i++)
        names[i] = b->variants[i].name;
    const cJSON *versus = kb_json_get(kb_json_get(doc->root, "goal"), "versus");
    kb_document_unknown(doc, versus, "variant", b->goal.versus, names, (size_t)b->variant_count);
    free(names);
    return -1;
}

int kb_bench_check(const struct kb_document *doc, const struct kb_bench *b)
{
    const cJSON *variants = kb_json_get(doc->root, "variants");
    for (int i = 0; i < b->case_count; i++)
        if (check_case(doc, b, i, false) || (b->cases[i].has_cpu && check_case(doc, b, i, true)))
            return -1;
    for (int i = 0; i < b->variant_count; i++)
        if (check_launch_args(doc, b, cJSON_GetArrayItem(variants, i), &b->variants[i]))
            return -1;
    return check_reference(doc, b) || check_goal(doc, b) ? -1 : 0;
}
