#include "verify/program.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "verify/element.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *data, size_t bytes)
{
    if (!bytes)
        return NULL;
    char *copy = kb_alloc(bytes + 1);
    memcpy(copy, data, bytes);
    return copy;
}

void kb_image_set(struct kb_image *image, const char *ptx, size_t ptx_bytes, const char *cubin, size_t cubin_bytes)
{
    *image = (struct kb_image){copy_of(ptx, ptx_bytes), copy_of(cubin, cubin_bytes), ptx_bytes, cubin_bytes};
}

void kb_image_free(struct kb_image *image)
{
    free(image->ptx);
    free(image->cubin);
    *image = (struct kb_image){0};
}

const void *kb_image_for(const struct kb_image *image, const struct kb_device *device, size_t *bytes,
                         struct kb_error *e)
{
    bool ptx = device->wants_ptx || !image->cubin_bytes; // the driver takes PTX too, and compiles it itself
    *bytes = ptx ? image->ptx_bytes : image->cubin_bytes;
    if (*bytes)
        return ptx ? image->ptx : image->cubin;
    kb_fail(e, NULL, NULL, "there is no %s to load", device->wants_ptx ? "PTX" : "cubin or PTX");
    return NULL;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

// The name that a line declares in global memory, or NULL. Variables of the module stand at the start of a line, behind
// words on their linkage. Strings of printf and the tables of the mathematical functions have names of their own; who
// calls a variable so is found by what is written (verify/hold.h).
static const char *global_name(const char *line, size_t size, size_t *length)
{
    static const char *const linkage[] = {".visible ", ".weak ", ".extern ", ".common "};
    for (size_t i = 0; i < KB_COUNT(linkage); i++)
        if (size > strlen(linkage[i]) && !memcmp(line, linkage[i], strlen(linkage[i]))) {
            line += strlen(linkage[i]);
            size -= strlen(linkage[i]);
        }
    if (size <= 8 || memcmp(line, ".global ", 8))
        return NULL;
    size_t end = strcspn(line, "[=;\n"), start;
    while (end && !in_name(line[end - 1]))
        end--;
    for (start = end; start && in_name(line[start - 1]);)
        start--;
    *length = end - start;
    bool constant = kb_starts(line + start, "$str") || kb_starts(line + start, "__cudart_");
    return *length && !constant ? line + start : NULL;
}

// constexpr numbers at the top of a source are declared, too, though nothing touches them.
static bool is_used(const char *ptx, const char *name, size_t length)
{
    for (const char *at = ptx; (at = memmem(at, strlen(at), name, length)); at += length)
        if (at != name && (at == ptx || !in_name(at[-1])) && !in_name(at[length]))
            return true;
    return false;
}

bool kb_image_has_globals(const struct kb_image *image)
{
    for (const char *line = image->ptx, *end; line && *line; line = *end ? end + 1 : end) {
        size_t length;
        end = line + strcspn(line, "\n");
        const char *name = global_name(line, (size_t)(end - line), &length);
        if (name && is_used(image->ptx, name, length))
            return true;
    }
    return !image->ptx || is_used(image->ptx, "malloc", 6);
}

const cJSON *kb_program_compiled(const cJSON *compiled, const char *kernel, struct kb_error *e)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, compiled)
        if (!strcmp(kb_json_text(item, "name", ""), kernel))
            return item;
    cJSON_ArrayForEach (item, compiled)
        if (!strcmp(kb_json_text(item, "lowered", ""), kernel))
            return item;
    struct kb_text list = {0};
    cJSON_ArrayForEach (item, compiled)
        kb_text_addf(&list, "%s%s", list.size ? ", " : "", kb_json_text(item, "name", "?"));
    kb_fail(e, kernel, NULL, "no such kernel in the compiled source; it has %s", list.data ? list.data : "none");
    kb_text_free(&list);
    return NULL;
}

int kb_program_load(struct kb_device *device, const struct kb_variant *v, const cJSON *compiled,
                    const struct kb_image *image, struct kb_program *p, struct kb_error *e)
{
    size_t bytes;
    *p = (struct kb_program){.launch_count = v->launch_count};
    const void *code = kb_image_for(image, device, &bytes, e);
    if (!code || device->ops->load(device, code, bytes, &p->module, e))
        return -1;
    p->device = device;
    p->kernels = kb_alloc((size_t)v->launch_count * sizeof *p->kernels);
    for (int i = 0; i < v->launch_count; i++) {
        const cJSON *entry = kb_program_compiled(compiled, v->launches[i].kernel, e);
        const char *lowered = entry ? kb_json_text(entry, "lowered", v->launches[i].kernel) : NULL;
        if (!entry || device->ops->symbol(p->module, lowered, &p->kernels[i], e)) {
            kb_program_unload(p);
            return -1;
        }
    }
    return 0;
}

void kb_program_unload(struct kb_program *p)
{
    if (p->device && p->module)
        p->device->ops->unload(p->device, p->module);
    free(p->kernels);
    *p = (struct kb_program){0};
}

static int plan_args(const struct kb_bench *b, const struct kb_launch *l, struct kb_plan_launch *out,
                     struct kb_error *e)
{
    out->arg_count = l->args ? l->arg_count : b->arg_count;
    out->args = kb_alloc((size_t)out->arg_count * sizeof *out->args);
    for (int i = 0; i < out->arg_count; i++) {
        out->args[i] = l->args ? kb_bench_find_arg(b, l->args[i]) : i;
        if (out->args[i] < 0)
            return kb_fail(e, l->kernel, NULL, "the bench has no argument '%s'", l->args[i]);
    }
    return 0;
}

static int scalar_code(const struct kb_arg *a, const struct kb_names *names, uint64_t *code, struct kb_error *e)
{
    const char *text = a->value ? a->value : a->name;
    struct kb_error inner = {0};
    int64_t integer = 0;
    double real = 0;
    bool is_float = kb_dtype_is_float(a->dtype);
    if (is_float ? kb_expr_eval_real(text, names, &real, &inner) : kb_expr_eval(text, names, &integer, &inner))
        return kb_fail(e, a->name, inner.remedy, "the scalar's value: %s", inner.what);
    int bits = 8 * (int)kb_dtype_bytes(a->dtype);
    if (is_float) {
        *code = kbe_encode((int)a->dtype, real);
        return 0;
    }
    int64_t low = a->dtype == KB_U8 ? 0 : (int64_t)(~0ull << (bits - 1)), high = a->dtype == KB_U8 ? 255 : ~low;
    if (integer < low || integer > high)
        return kb_fail(e, a->name, NULL, "the scalar's value %lld does not fit %s", (long long)integer,
                       kb_dtype_name(a->dtype));
    *code = (uint64_t)integer;
    return 0;
}

int kb_plan_make(const struct kb_bench *b, int case_index, bool on_cpu, const struct kb_variant *v,
                 struct kb_plan *plan, struct kb_error *e)
{
    struct kb_names names = {0};
    *plan = (struct kb_plan){.launch_count = v->launch_count};
    plan->launches = kb_alloc((size_t)v->launch_count * sizeof *plan->launches);
    plan->scalars = kb_alloc((size_t)b->arg_count * sizeof *plan->scalars);
    int failed = kb_case_names(b, case_index, on_cpu, v, &names, e);
    for (int i = 0; !failed && i < v->launch_count; i++)
        failed = plan_args(b, &v->launches[i], &plan->launches[i], e) ||
                 kb_launch_eval(&v->launches[i], &names, &plan->launches[i].dims, e);
    for (int i = 0; !failed && i < b->arg_count; i++)
        if (b->args[i].role == KB_SCALAR)
            failed = scalar_code(&b->args[i], &names, &plan->scalars[i], e);
    kb_names_free(&names);
    if (!failed)
        return 0;
    kb_plan_free(plan);
    return -1;
}

void kb_plan_free(struct kb_plan *plan)
{
    for (int i = 0; plan->launches && i < plan->launch_count; i++)
        free(plan->launches[i].args);
    free(plan->launches);
    free(plan->scalars);
    *plan = (struct kb_plan){0};
}

struct kb_launch_args kb_plan_shape(const struct kb_plan_launch *l)
{
    struct kb_launch_args out = {
        .shared = (size_t)l->dims.shared, .cooperative = l->dims.cooperative, .arg_count = l->arg_count};
    memcpy(out.grid, l->dims.grid, sizeof out.grid);
    memcpy(out.block, l->dims.block, sizeof out.block);
    return out;
}

int kb_plan_launch_one(const struct kb_program *p, const struct kb_plan *plan, const struct kb_variant *v,
                       const struct kb_bench *b, const uint64_t *addresses, int launch, struct kb_error *e)
{
    const void *args[KB_MAX_PARAMS];
    const struct kb_plan_launch *l = &plan->launches[launch];
    const char *kernel = v->launches[launch].kernel;
    struct kb_launch_args shape = kb_plan_shape(l);
    struct kb_error inner = {0};
    if (l->arg_count > KB_MAX_PARAMS)
        return kb_fail(e, kernel, NULL, "%d arguments are more than %d", l->arg_count, KB_MAX_PARAMS);
    for (int k = 0; k < l->arg_count; k++) {
        int a = l->args[k];
        args[k] = b->args[a].role == KB_SCALAR ? (const void *)&plan->scalars[a] : &addresses[a];
    }
    shape.args = args;
    if (!p->device->ops->launch(p->kernels[launch], &shape, &inner))
        return 0;
    return kb_fail(e, inner.on[0] ? inner.on : kernel, inner.remedy, "%s", inner.what);
}

int kb_plan_launch_all(const struct kb_program *p, const struct kb_plan *plan, const struct kb_variant *v,
                       const struct kb_bench *b, const uint64_t *addresses, struct kb_error *e)
{
    for (int i = 0; i < plan->launch_count; i++)
        if (kb_plan_launch_one(p, plan, v, b, addresses, i, e))
            return -1;
    return 0;
}

static size_t passed_bytes(const struct kb_bench *b, int arg)
{
    return b->args[arg].role == KB_SCALAR ? kb_dtype_bytes(b->args[arg].dtype) : 8;
}

int kb_plan_check_arguments(const struct kb_kernel_info *info, const struct kb_plan_launch *l, const struct kb_bench *b,
                            struct kb_error *e)
{
    struct kb_text wants = {0}, gives = {0};
    if (info->param_count < 0)
        return 0;
    bool same = info->param_count == l->arg_count;
    for (int i = 0; i < info->param_count && i < KB_MAX_PARAMS; i++) {
        kb_text_addf(&wants, "%s%d", i ? "," : "", info->param_bytes[i]);
        same = same && (size_t)info->param_bytes[i] == passed_bytes(b, l->args[i]);
    }
    for (int i = 0; i < l->arg_count; i++)
        kb_text_addf(&gives, "%s%zu", i ? "," : "", passed_bytes(b, l->args[i]));
    if (!same)
        kb_fail(e, info->name, "make the kernel's parameters and the bench's \"args\" agree",
                "kernel wants %d (%s bytes), set-up gives %d (%s)", info->param_count, wants.data ? wants.data : "0",
                l->arg_count, gives.data ? gives.data : "0");
    kb_text_free(&wants);
    kb_text_free(&gives);
    return same ? 0 : -1;
}
