// A bench guessed from a kernel's parameters, for a .cu that no bench lists.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"
#include "bench/source_lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONE_SIZE = 1 << 20, EACH_SIZE = 1024 };

static const struct {
    const char *name;
    enum kb_dtype dtype;
    int lanes; // elements in one object of a vector type
} element_types[] = {
    {"float", KB_F32, 1},
    {"float2", KB_F32, 2},
    {"float3", KB_F32, 3},
    {"float4", KB_F32, 4},
    {"double", KB_F64, 1},
    {"double2", KB_F64, 2},
    {"half", KB_F16, 1},
    {"__half", KB_F16, 1},
    {"half2", KB_F16, 2},
    {"__half2", KB_F16, 2},
    {"__nv_bfloat16", KB_BF16, 1},
    {"nv_bfloat16", KB_BF16, 1},
    {"__nv_bfloat162", KB_BF16, 2},
    {"nv_bfloat162", KB_BF16, 2},
    {"__nv_fp8_e4m3", KB_E4M3, 1},
    {"__nv_fp8_e5m2", KB_E5M2, 1},
    {"int", KB_I32, 1},
    {"unsigned", KB_I32, 1},
    {"unsigned int", KB_I32, 1},
    {"signed int", KB_I32, 1},
    {"int32_t", KB_I32, 1},
    {"uint32_t", KB_I32, 1},
    {"uint", KB_I32, 1},
    {"int2", KB_I32, 2},
    {"int4", KB_I32, 4},
    {"uint2", KB_I32, 2},
    {"uint4", KB_I32, 4},
    {"long", KB_I64, 1},
    {"unsigned long", KB_I64, 1},
    {"long long", KB_I64, 1},
    {"unsigned long long", KB_I64, 1},
    {"long int", KB_I64, 1},
    {"size_t", KB_I64, 1},
    {"int64_t", KB_I64, 1},
    {"uint64_t", KB_I64, 1},
    {"ptrdiff_t", KB_I64, 1},
    {"char", KB_I8, 1},
    {"signed char", KB_I8, 1},
    {"int8_t", KB_I8, 1},
    {"unsigned char", KB_U8, 1},
    {"uint8_t", KB_U8, 1},
    {"bool", KB_U8, 1},
};

struct guess { // one parameter
    char *name;
    enum kb_role role;
    enum kb_dtype dtype;
    int lanes;
};
struct inference {
    const char *path;
    const struct kb_source_kernel *kernel;
    struct guess *guesses;
    bool *is_type; // per template parameter: used as an element type
    int integers;
    char *sizes[2]; // the first integer params
    struct kb_error *e;
};

// The type without qualifiers, references, "std::" and the '*'; *pointers counts those, *is_const says whether the
// element is const.
static char *bare_type(const char *type, int *pointers, bool *is_const)
{
    struct kb_text out = {0};
    *pointers = 0;
    *is_const = false;
    for (const char *p = type; *p;) {
        size_t n = 0;
        while (kb_is_name_char(p[n]))
            n++;
        bool is_restrict = (n == 8 && !memcmp(p, "restrict", n)) || (n >= 10 && !memcmp(p, "__restrict", 10));
        if (n == 5 && !memcmp(p, "const", n))
            *is_const = *is_const || !*pointers;
        else if (n && !is_restrict && strncmp(p, "volatile", n) && strncmp(p, "std", n) && strncmp(p, "typename", n))
            kb_text_addf(&out, "%s%.*s", out.size ? " " : "", (int)n, p);
        else if (*p == '*' || *p == '[')
            ++*pointers;
        else if (!n && !strchr(" :&]", *p))
            kb_text_bytes(&out, p, 1);
        p += n ? n : 1;
    }
    return kb_text_take(&out);
}

static int find_type(struct inference *f, const char *type)
{
    size_t length = strlen(type); // "long int" is "long"
    length -= length > 4 && kb_ends(type, " int") ? 4 : 0;
    for (size_t i = 0; i < KB_COUNT(element_types); i++)
        if (!strncmp(element_types[i].name, type, length) && !element_types[i].name[length])
            return (int)i;
    for (int t = 0; t < f->kernel->template_param_count; t++) {
        if (strcmp(f->kernel->template_params[t], type))
            continue;
        f->is_type[t] = true;
        return 0; // float
    }
    return -1;
}

// A param may not have the name of something else in a case or an expression.
static char *safe_name(const char *name, int index)
{
    static const char *const reserved[] = {"name", "time", "cpu", "fill", "min", "max", "ceil_div", "comment"};
    if (!kb_is_identifier(name))
        return kb_format("arg%d", index);
    for (size_t i = 0; i < KB_COUNT(reserved); i++)
        if (!strcmp(name, reserved[i]))
            return kb_format("%s_", name);
    return kb_strdup(name);
}

static int guess_one(struct inference *f, int i)
{
    const struct kb_source_param *p = &f->kernel->params[i];
    int pointers;
    bool is_const;
    char *bare = bare_type(p->type, &pointers, &is_const);
    int type = find_type(f, bare);
    free(bare);
    if (type < 0 || pointers > 1) {
        char *on = kb_format("%s:%d", f->path, f->kernel->line), *clean = kb_cleaned(p->type);
        kb_fail(f->e, on, "write a bench.json for it (docs/bench.md)",
                "cannot guess the argument \"%s\" of %s: there is no element type for \"%s\"", p->name, f->kernel->name,
                clean);
        free(on);
        free(clean);
        return -1;
    }
    f->guesses[i] = (struct guess){.name = safe_name(p->name, i),
                                   .role = !pointers  ? KB_SCALAR
                                           : is_const ? KB_INPUT
                                                      : KB_OUTPUT,
                                   .dtype = element_types[type].dtype,
                                   .lanes = element_types[type].lanes};
    if (!pointers && !kb_dtype_is_float(f->guesses[i].dtype)) {
        if (f->integers < 2)
            f->sizes[f->integers] = f->guesses[i].name;
        f->integers++;
    }
    return 0;
}

static cJSON *shape_of(const struct inference *f, const struct guess *g)
{
    cJSON *shape = cJSON_CreateArray();
    char *last = f->integers > 1   ? kb_strdup(f->sizes[1])
                 : f->integers > 0 ? kb_strdup(f->sizes[0])
                                   : kb_format("%d", LONE_SIZE);
    char *text = g->lanes > 1 ? kb_format("%d*%s", g->lanes, last) : kb_strdup(last);
    if (f->integers > 1)
        cJSON_AddItemToArray(shape, cJSON_CreateString(f->sizes[0]));
    cJSON_AddItemToArray(shape, cJSON_CreateString(text));
    free(last);
    free(text);
    return shape;
}

static cJSON *arg_json(const struct inference *f, const struct guess *g)
{
    cJSON *arg = cJSON_CreateObject();
    kb_json_set_text(arg, "name", g->name);
    kb_json_set_text(arg, "role", kb_role_name(g->role));
    kb_json_set_text(arg, "dtype", kb_dtype_name(g->dtype));
    if (g->role != KB_SCALAR)
        kb_json_set(arg, "shape", shape_of(f, g));
    else if (kb_dtype_is_float(g->dtype))
        kb_json_set_number(arg, "value", 1);
    return arg;
}

static int template_value(const char *name)
{
    static const char *const threads[] = {"block", "thread", "tpb", "size"};
    for (size_t i = 0; i < KB_COUNT(threads); i++)
        if (strcasestr(name, threads[i]))
            return 256;
    return strcasestr(name, "tile") || strcasestr(name, "dim") ? 16 : 4;
}

// "n::k<float,4>": element types are float, numbers a guess by the parameter's name.
static char *kernel_expression(const struct inference *f)
{
    struct kb_text out = {0};
    const struct kb_source_kernel *k = f->kernel;
    kb_text_addf(&out, "%s%s%s", k->scope, k->scope[0] ? "::" : "", k->name);
    for (int t = 0; t < k->template_param_count; t++) {
        kb_text_add(&out, t ? "," : "<");
        if (f->is_type[t])
            kb_text_add(&out, "float");
        else
            kb_text_addf(&out, "%d", template_value(k->template_params[t]));
    }
    if (k->template_param_count)
        kb_text_add(&out, ">");
    return kb_text_take(&out);
}

static cJSON *variant_json(const struct inference *f, const char *name)
{
    cJSON *variant = cJSON_CreateObject(), *launch = cJSON_CreateObject();
    char *kernel = kernel_expression(f);
    char *grid = f->integers > 1   ? kb_format("ceil_div(%s*%s,256)", f->sizes[0], f->sizes[1])
                 : f->integers > 0 ? kb_format("ceil_div(%s,256)", f->sizes[0])
                                   : kb_format("%d", LONE_SIZE / 256);
    kb_json_set_text(variant, "name", name);
    kb_json_set_text(variant, "source", kb_path_base(f->path));
    kb_json_set_text(variant, "kernel", kernel);
    kb_json_set_text(launch, "grid", grid);
    kb_json_set_number(launch, "block", 256);
    kb_json_set(variant, "launch", launch);
    free(kernel);
    free(grid);
    return variant;
}

static char *name_of_file(const char *path)
{
    char *name = kb_strdup(kb_path_base(path)), *dot = strrchr(name, '.');
    if (dot && dot > name)
        *dot = 0;
    for (char *p = name; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == '\\' || *p == 0x7f || (p == name && (*p == '.' || *p == '-')))
            *p = '_';
    return name;
}

// cJSON indents with tabs and puts one behind each key.
static char *pretty(const cJSON *document)
{
    char *printed = cJSON_Print(document);
    struct kb_text out = {0};
    for (const char *p = printed; *p; p++)
        if (*p == '\t')
            kb_text_add(&out, p > printed && p[-1] == ':' ? " " : "  ");
        else
            kb_text_bytes(&out, p, 1);
    kb_text_add(&out, "\n");
    free(printed);
    return kb_text_take(&out);
}

static char *skeleton_of(const struct inference *f)
{
    cJSON *document = cJSON_CreateObject(), *params = cJSON_CreateObject(), *args = cJSON_CreateArray();
    cJSON *variants = cJSON_CreateArray();
    char *name = name_of_file(f->path);
    kb_json_set_number(document, "kbench", 1);
    kb_json_set_text(document, "name", name);
    kb_json_set_text(document, "comment",
                     "Guessed from the kernel's parameters: check roles, shapes, sizes, template arguments and the "
                     "launch. Results are checked once a \"reference\" is added (docs/bench.md).");
    for (int i = 0; i < f->kernel->param_count; i++) {
        const struct guess *g = &f->guesses[i];
        if (g->role == KB_SCALAR && !kb_dtype_is_float(g->dtype))
            kb_json_set_number(params, g->name, f->integers > 1 ? EACH_SIZE : LONE_SIZE);
        cJSON_AddItemToArray(args, arg_json(f, g));
    }
    cJSON_AddItemToArray(variants, variant_json(f, name));
    kb_json_set(document, "params", params);
    kb_json_set(document, "args", args);
    kb_json_set(document, "variants", variants);
    char *text = pretty(document);
    cJSON_Delete(document);
    free(name);
    return text;
}

static int infer_kernel(struct inference *f, struct kb_bench **out, char **skeleton)
{
    int n = f->kernel->param_count, status = 0;
    f->guesses = kb_alloc(sizeof *f->guesses * (size_t)(n + 1));
    f->is_type = kb_alloc(sizeof *f->is_type * (size_t)(f->kernel->template_param_count + 1));
    for (int i = 0; i < n && !status; i++)
        status = guess_one(f, i);
    if (!status) {
        char *text = skeleton_of(f);
        status = kb_bench_parse(text, strlen(text), "", out, f->e);
        if (status || !skeleton)
            free(text);
        else
            *skeleton = text;
    }
    for (int i = 0; i < n; i++)
        free(f->guesses[i].name);
    free(f->guesses);
    free(f->is_type);
    return status;
}

// The lines of the skeleton are those of no file: errors shall not name them.
static void place_bench(struct kb_bench *b, const char *cu_path)
{
    char *clean = kb_path_clean(cu_path);
    free(b->dir);
    free(b->text);
    b->dir = kb_path_dir(clean);
    b->text = NULL;
    b->text_size = 0;
    free(clean);
}

int kb_bench_infer(const char *cu_path, const char *text, size_t size, struct kb_bench **out, char **skeleton,
                   struct kb_error *e)
{
    struct kb_source source;
    struct inference f = {.path = cu_path, .e = e};
    *out = NULL;
    if (skeleton)
        *skeleton = NULL;
    if (kb_source_scan(text, size, cu_path, &source, e))
        return -1;
    for (int i = source.kernel_count - 1; i >= 0; i--)
        if (source.kernels[i].end_line || !f.kernel)
            f.kernel = &source.kernels[i];
    int status = f.kernel ? infer_kernel(&f, out, skeleton)
                          : kb_fail(e, cu_path, "a kernel is a function marked __global__", "there is no kernel in it");
    if (!status)
        place_bench(*out, cu_path);
    kb_source_free(&source);
    return status;
}
