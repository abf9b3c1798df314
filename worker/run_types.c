// `check`: the types of a kernel's pointers, as the compiler saw them, against those of the bench's arguments.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "jit/mangled.h"
#include "worker/run.h"

#include <stdlib.h>
#include <string.h>

// Types that say what a value is; chars, shorts, unsigned and vector types hold the bits of any other.
static int dtype_of(const char *name)
{
    static const struct {
        const char *name;
        enum kb_dtype dtype;
    } table[] = {{"double", KB_F64},         {"float", KB_F32},          {"__half", KB_F16}, {"__nv_bfloat16", KB_BF16},
                 {"__nv_fp8_e4m3", KB_E4M3}, {"__nv_fp8_e5m2", KB_E5M2}, {"int", KB_I32},    {"long", KB_I64},
                 {"long long", KB_I64}};
    for (size_t i = 0; i < KB_COUNT(table); i++)
        if (!strcmp(table[i].name, name))
            return (int)table[i].dtype;
    return -1;
}

enum fit { FITS, DOUBTFUL, WRONG };

// A narrower floating type cannot be meant as a container of the argument's values; a wider one, or one as wide, can.
static enum fit fit_of(enum kb_dtype bench, const struct kb_mangled_type *own)
{
    int dtype = own->pointers == 1 ? dtype_of(own->name) : -1;
    if (dtype < 0 || dtype == (int)bench || (dtype == KB_F32 && bench == KB_TF32))
        return FITS;
    bool floats = kb_dtype_is_float(bench) && kb_dtype_is_float((enum kb_dtype)dtype);
    return floats && kb_dtype_bytes((enum kb_dtype)dtype) < kb_dtype_bytes(bench) ? WRONG : DOUBTFUL;
}

static char *words(const struct kb_arg *a, const struct kb_mangled_type *own, const struct kb_variant *v, int line)
{
    const char *name = !strcmp(own->name, "__half") ? "half" : own->name;
    return line ? kb_format("%s is %s in the bench, %s * in %s:%d", a->name, kb_dtype_name(a->dtype), name, v->source,
                            line)
                : kb_format("%s is %s in the bench, %s * in %s", a->name, kb_dtype_name(a->dtype), name, v->source);
}

static int check_launch(const struct run_worker *w, struct run_version *v, const struct kb_plan_launch *l, int launch,
                        struct kb_error *e)
{
    struct kb_mangled_type types[KB_MANGLED_PARAMS];
    const char *name = v->variant->launches[launch].kernel;
    const cJSON *compiled = kb_program_compiled(v->compiled, name, NULL);
    int count = kb_mangled_params(kb_json_text(compiled, "lowered", ""), types);
    struct kb_text wrong = {0};
    for (int i = 0; count == l->arg_count && i < count; i++) {
        const struct kb_arg *a = &w->data.bench->args[l->args[i]];
        enum fit fit = a->role == KB_SCALAR ? FITS : fit_of(a->dtype, &types[i]);
        char *text = fit == FITS ? NULL : words(a, &types[i], v->variant, (int)kb_json_int(compiled, "line", 0));
        if (fit == WRONG)
            kb_text_addf(&wrong, "%s%s", wrong.size ? "; " : "", text);
        if (fit == DOUBTFUL && !v->doubt)
            v->doubt = kb_strdup(text);
        free(text);
    }
    int failed = wrong.size ? kb_fail(e, name, "give the argument the kernel's type, or the kernel the argument's",
                                      "%s", wrong.data)
                            : 0;
    kb_text_free(&wrong);
    return failed;
}

int run_check_types(const struct run_worker *w, struct run_version *v, struct kb_error *e)
{
    struct kb_plan plan;
    int failed = 0;
    if (kb_plan_make(w->data.bench, 0, w->data.on_cpu, v->variant, &plan, NULL))
        return 0; // the check of its launches says why
    for (int i = 0; !failed && i < plan.launch_count; i++)
        failed = check_launch(w, v, &plan.launches[i], i, e);
    kb_plan_free(&plan);
    return failed;
}
