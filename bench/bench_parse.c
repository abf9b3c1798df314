// bench.json, from text to struct kb_bench. What its parts say about each other is checked in check.c.
#include "base/file.h"
#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_names[KB_ROLES] = {"input", "output", "inout", "scratch", "scalar"};

bool kb_arg_is_read(enum kb_role role)
{
    return role == KB_INPUT || role == KB_INOUT;
}

bool kb_arg_is_written(enum kb_role role)
{
    return role == KB_OUTPUT || role == KB_INOUT;
}

const char *kb_role_name(enum kb_role r)
{
    return role_names[r];
}

int kb_read_text(const struct kb_document *doc, const cJSON *item, char **out)
{
    if (kb_document_type(doc, item, KB_JSON_TEXT))
        return -1;
    if (!item->valuestring[0])
        return kb_document_fail(doc, item, NULL, "is an empty text");
    *out = kb_strdup(item->valuestring);
    return 0;
}

// Of an item that was found to be one.
static int64_t integer(const cJSON *item)
{
    int64_t value = 0;
    kb_json_exact(item, &value);
    return value;
}

// All its digits: as integer where it is one, so that no i64 goes through a double.
static char *number_text(const cJSON *item)
{
    char text[32];
    kb_json_number_text(item, text);
    return kb_strdup(text);
}

char *kb_expression_text(const cJSON *item)
{
    return cJSON_IsString(item) ? kb_strdup(item->valuestring) : kb_format("%" PRId64, integer(item));
}

int kb_read_texts(const struct kb_document *doc, const cJSON *item, char ***out, int *count)
{
    if (kb_document_type(doc, item, KB_JSON_ARRAY))
        return -1;
    *out = kb_alloc(sizeof **out * (size_t)(cJSON_GetArraySize(item) + 1));
    *count = 0;
    for (const cJSON *part = item->child; part; part = part->next)
        if (kb_read_text(doc, part, &(*out)[*count]))
            return -1;
        else
            ++*count;
    return 0;
}

void kb_free_texts(char **texts, int count)
{
    for (int i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

bool kb_is_identifier(const char *s)
{
    if (!*s || (*s >= '0' && *s <= '9'))
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == strlen(s);
}

int kb_read_identifier(const struct kb_document *doc, const cJSON *item, const char *name)
{
    return kb_is_identifier(name) ? 0
                                  : kb_document_fail(doc, item, "a letter or '_', then letters, digits and '_'",
                                                     "\"%.60s\" is no name", name);
}

// Integers by name: params, a case's overrides.
static int read_params(const struct kb_document *doc, const cJSON *item, struct kb_names *params)
{
    static const char *const reserved[] = {"name", "time", "cpu", "fill", "ceil_div", "min", "max"};
    for (const cJSON *child = item ? item->child : NULL; child; child = child->next) {
        if (kb_is_comment(child))
            continue;
        if (kb_read_identifier(doc, child, child->string) || kb_document_type(doc, child, KB_JSON_INTEGER))
            return -1;
        if (kb_names_get(params, child->string))
            return kb_document_fail(doc, child, "keep one of them", "this param is given twice");
        for (size_t i = 0; i < KB_COUNT(reserved); i++)
            if (!strcmp(child->string, reserved[i]))
                return kb_document_fail(doc, child, "choose another name", "\"%s\" has a meaning of its own",
                                        child->string);
        kb_names_set(params, child->string, integer(child));
    }
    return 0;
}

static int read_shape(const struct kb_document *doc, const cJSON *item, struct kb_arg *a)
{
    const cJSON *shape = kb_json_get(item, "shape");
    if (a->role == KB_SCALAR)
        return shape ? kb_document_fail(doc, shape, NULL, "a scalar has no shape") : 0;
    if (!shape)
        return kb_document_fail(doc, item, NULL, "the argument \"%s\" needs the key \"shape\": a list of sizes",
                                a->name);
    int n = cJSON_GetArraySize(shape);
    if (n < 1 || n > KB_MAX_DIMS)
        return kb_document_fail(doc, shape, NULL, "has %d dimensions, expected 1 to %d", n, KB_MAX_DIMS);
    for (const cJSON *size = shape->child; size; size = size->next) {
        struct kb_error inner;
        if (kb_document_type(doc, size, KB_JSON_EXPRESSION))
            return -1;
        a->shape[a->ndim++] = kb_expression_text(size);
        if (kb_expr_check(a->shape[a->ndim - 1], &inner))
            return kb_document_fail(doc, size, inner.remedy, "%s", inner.what);
    }
    return 0;
}

static int read_role(const struct kb_document *doc, const cJSON *item, struct kb_arg *a)
{
    const cJSON *role = kb_json_get(item, "role"), *dtype = kb_json_get(item, "dtype");
    const char *dtypes[KB_DTYPES];
    int r = 0, type = kb_dtype_parse(dtype->valuestring);
    for (int t = 0; t < KB_DTYPES; t++)
        dtypes[t] = kb_dtype_name((enum kb_dtype)t);
    while (r < KB_ROLES && strcmp(role_names[r], role->valuestring))
        r++;
    if (r == KB_ROLES)
        return kb_document_unknown(doc, role, "role", role->valuestring, role_names, KB_ROLES);
    if (type < 0)
        return kb_document_unknown(doc, dtype, "dtype", dtype->valuestring, dtypes, KB_DTYPES);
    a->role = (enum kb_role)r;
    a->dtype = (enum kb_dtype)type;
    a->fill = kb_fill_default(a->dtype);
    return 0;
}

static int read_value(const struct kb_document *doc, const cJSON *item, struct kb_arg *a)
{
    const cJSON *value = kb_json_get(item, "value");
    if (!value)
        return 0;
    if (a->role != KB_SCALAR)
        return kb_document_fail(doc, value, "inputs are given by \"fill\"", "only a scalar has a value");
    if (cJSON_IsNumber(value) && kb_dtype_is_float(a->dtype)) {
        a->value = number_text(value);
        return 0;
    }
    if (kb_document_type(doc, value, KB_JSON_EXPRESSION))
        return -1;
    a->value = kb_expression_text(value);
    return 0;
}

static int read_arg(const struct kb_document *doc, const cJSON *item, struct kb_bench *b)
{
    static const struct kb_key keys[] = {
        {"name", KB_JSON_TEXT | KB_JSON_REQUIRED},  {"role", KB_JSON_TEXT | KB_JSON_REQUIRED},
        {"dtype", KB_JSON_TEXT | KB_JSON_REQUIRED}, {"shape", KB_JSON_ARRAY},
        {"fill", KB_JSON_TEXT | KB_JSON_OBJECT},    {"value", KB_JSON_TEXT | KB_JSON_NUMBER},
    };
    if (kb_document_keys(doc, item, keys, KB_COUNT(keys), "an argument"))
        return -1;
    const cJSON *name = kb_json_get(item, "name"), *fill = kb_json_get(item, "fill");
    if (kb_read_identifier(doc, name, name->valuestring))
        return -1;
    if (kb_bench_find_arg(b, name->valuestring) >= 0)
        return kb_document_fail(doc, name, NULL, "two arguments are named \"%s\"", name->valuestring);
    struct kb_arg *a = &b->args[b->arg_count++];
    a->name = kb_strdup(name->valuestring);
    if (read_role(doc, item, a) || read_shape(doc, item, a) || read_value(doc, item, a))
        return -1;
    if (fill && a->role != KB_INPUT && a->role != KB_INOUT)
        return kb_document_fail(doc, fill, NULL, "only inputs and inouts are filled, \"%s\" is %s", a->name,
                                role_names[a->role]);
    return fill ? kb_fill_read(doc, fill, a->dtype, &a->fill) : 0;
}

static int read_args(const struct kb_document *doc, const cJSON *list, struct kb_bench *b)
{
    b->args = kb_alloc(sizeof *b->args * (size_t)(cJSON_GetArraySize(list) + 1));
    for (const cJSON *item = list->child; item; item = item->next)
        if (read_arg(doc, item, b))
            return -1;
    return 0;
}

static int read_case_fills(const struct kb_document *doc, const cJSON *item, struct kb_bench *b, struct kb_case *c)
{
    if (kb_document_type(doc, item, KB_JSON_OBJECT))
        return -1;
    const char **names = kb_alloc(sizeof *names * (size_t)(b->arg_count + 1));
    int status = 0;
    c->fills = kb_alloc(sizeof *c->fills * (size_t)(b->arg_count + 1));
    for (int i = 0; i < b->arg_count; i++) {
        c->fills[i].kind = KB_FILLS;
        names[i] = b->args[i].name;
    }
    for (const cJSON *child = item->child; child && !status; child = child->next) {
        int i = kb_bench_find_arg(b, child->string);
        if (kb_is_comment(child))
            continue;
        if (i < 0)
            status = kb_document_unknown(doc, child, "argument", child->string, names, (size_t)b->arg_count);
        else if (b->args[i].role != KB_INPUT && b->args[i].role != KB_INOUT)
            status = kb_document_fail(doc, child, NULL, "only inputs and inouts are filled");
        else if (c->fills[i].kind != KB_FILLS)
            status = kb_document_fail(doc, child, "keep one of them", "this key is given twice");
        else
            status = kb_fill_read(doc, child, b->args[i].dtype, &c->fills[i]);
    }
    free(names);
    return status;
}

// The keys of a case: its own and the params; over: only the params.
static int read_overrides(const struct kb_document *doc, const cJSON *item, const struct kb_bench *b,
                          struct kb_names *over, bool is_case)
{
    static const char *const own[] = {"name", "time", "cpu", "fill"};
    size_t n = 0, own_count = is_case ? KB_COUNT(own) : 0;
    const char **known = kb_alloc(sizeof *known * ((size_t)b->params.count + KB_COUNT(own)));
    int status = 0;
    for (size_t i = 0; i < own_count; i++)
        known[n++] = own[i];
    for (int i = 0; i < b->params.count; i++)
        known[n++] = b->params.items[i].name;
    for (const cJSON *child = item->child; child && !status; child = child->next) {
        bool is_own = kb_is_comment(child);
        for (size_t i = 0; i < own_count; i++)
            is_own = is_own || !strcmp(child->string, own[i]);
        if (is_own)
            continue;
        if (!kb_names_get(&b->params, child->string))
            status = kb_document_unknown(doc, child, is_case ? "key or param" : "param", child->string, known, n);
        else if (kb_names_get(over, child->string))
            status = kb_document_fail(doc, child, "keep one of them", "this key is given twice");
        else if ((status = kb_document_type(doc, child, KB_JSON_INTEGER)) == 0)
            kb_names_set(over, child->string, integer(child));
    }
    free(known);
    return status;
}

static int read_case(const struct kb_document *doc, const cJSON *item, struct kb_bench *b)
{
    struct kb_case *c = &b->cases[b->case_count++];
    if (kb_document_type(doc, item, KB_JSON_OBJECT))
        return -1;
    const cJSON *name = kb_json_get(item, "name"), *cpu = kb_json_get(item, "cpu");
    const cJSON *timed = kb_json_get(item, "time"), *fill = kb_json_get(item, "fill");
    if ((name && kb_document_type(doc, name, KB_JSON_TEXT)) || (timed && kb_document_type(doc, timed, KB_JSON_BOOL)) ||
        (cpu && kb_document_type(doc, cpu, KB_JSON_OBJECT)))
        return -1;
    c->name = kb_strdup(name ? name->valuestring : "");
    c->timed = cJSON_IsTrue(timed);
    c->has_cpu = cpu != NULL;
    if (read_overrides(doc, item, b, &c->over, true) || (cpu && read_overrides(doc, cpu, b, &c->cpu_over, false)))
        return -1;
    return fill ? read_case_fills(doc, fill, b, c) : 0;
}

static int read_cases(const struct kb_document *doc, const cJSON *list, struct kb_bench *b)
{
    int n = list ? cJSON_GetArraySize(list) : 0;
    bool says_time = false;
    b->cases = kb_alloc(sizeof *b->cases * (size_t)(n + 1));
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
        if (read_case(doc, item, b))
            return -1;
        says_time = says_time || kb_json_get(item, "time");
    }
    if (list && !n)
        return kb_document_fail(doc, list, NULL, "is empty; without this key there is one case, the params");
    if (!n)
        b->cases[b->case_count++].name = kb_strdup("");
    if (!says_time)
        b->cases[0].timed = true;
    return 0;
}

static int read_reference(const struct kb_document *doc, const cJSON *item, struct kb_reference *r)
{
    if (!item)
        return 0;
    const cJSON *source = kb_json_get(item, "source"), *npy = kb_json_get(item, "npy");
    const cJSON *command = kb_json_get(item, "command");
    if (kb_variant_read(doc, item, KB_FORM_REFERENCE, &r->program))
        return -1;
    if (!!source + !!npy + !!command != 1)
        return kb_document_fail(doc, item, NULL, "the reference needs one of \"source\", \"npy\" and \"command\"%s",
                                source || npy || command ? ", not several" : "");
    if (!command && kb_json_get(item, "timeout_s"))
        return kb_document_fail(doc, kb_json_get(item, "timeout_s"), NULL, "is for a command");
    if (source) {
        r->kind = KB_REFERENCE_KERNEL;
    } else if (npy) {
        r->kind = KB_REFERENCE_FILE;
        return kb_read_text(doc, npy, &r->file);
    } else {
        r->kind = KB_REFERENCE_COMMAND;
        return kb_read_command(doc, item, &r->command, &r->timeout_s);
    }
    return 0;
}

static int read_bounds(const struct kb_document *doc, const cJSON *item, struct kb_tolerance *t)
{
    static const struct kb_key keys[] = {
        {"max_abs", KB_JSON_NUMBER}, {"max_rel", KB_JSON_NUMBER}, {"rmse", KB_JSON_NUMBER},
        {"max_ulp", KB_JSON_NUMBER}, {"scaled", KB_JSON_NUMBER},  {"psnr_db", KB_JSON_NUMBER},
        {"cosine", KB_JSON_NUMBER},
    };
    double *places[] = {&t->max_abs, &t->max_rel, &t->rmse, &t->max_ulp, &t->scaled, &t->psnr_db, &t->cosine};
    int given = 0;
    if (kb_document_keys(doc, item, keys, KB_COUNT(keys), "the tolerance"))
        return -1;
    for (size_t i = 0; i < KB_COUNT(keys); i++) {
        const cJSON *bound = kb_json_get(item, keys[i].name);
        if (!bound)
            continue;
        if (i < 5 && bound->valuedouble < 0)
            return kb_document_fail(doc, bound, NULL, "the bound %g is negative", bound->valuedouble);
        *places[i] = bound->valuedouble;
        given++;
    }
    t->kind = KB_TOLERANCE_BOUNDS;
    return given ? 0 : kb_document_fail(doc, item, "write \"auto\" to have it derived", "the tolerance bounds nothing");
}

static int read_tolerance(const struct kb_document *doc, const cJSON *item, struct kb_tolerance *t)
{
    static const char *const kinds[] = {"auto", "exact"};
    *t = (struct kb_tolerance){KB_TOLERANCE_AUTO, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (cJSON_IsObject(item))
        return read_bounds(doc, item, t);
    if (!item || !strcmp(item->valuestring, "auto"))
        return 0;
    if (strcmp(item->valuestring, "exact"))
        return kb_document_unknown(doc, item, "tolerance", item->valuestring, kinds, KB_COUNT(kinds));
    t->kind = KB_TOLERANCE_EXACT;
    return 0;
}

static int read_work_part(const struct kb_document *doc, const cJSON *item, char **out)
{
    if (item)
        *out = cJSON_IsNumber(item) ? kb_format("%.17g", item->valuedouble) : kb_strdup(item->valuestring);
    if (item && cJSON_IsNumber(item) && !(item->valuedouble >= 0))
        return kb_document_fail(doc, item, NULL, "%g is negative", item->valuedouble);
    return 0;
}

static int read_work(const struct kb_document *doc, const cJSON *item, struct kb_bench *b)
{
    static const struct kb_key keys[] = {{"flops", KB_JSON_TEXT | KB_JSON_NUMBER},
                                         {"bytes", KB_JSON_TEXT | KB_JSON_NUMBER}};
    if (!item)
        return 0;
    if (kb_document_keys(doc, item, keys, KB_COUNT(keys), "work"))
        return -1;
    return read_work_part(doc, kb_json_get(item, "flops"), &b->flops) ||
                   read_work_part(doc, kb_json_get(item, "bytes"), &b->bytes)
               ? -1
               : 0;
}

static int read_goal(const struct kb_document *doc, const cJSON *item, struct kb_goal *g)
{
    static const struct kb_key keys[] = {{"roof", KB_JSON_NUMBER}, {"versus", KB_JSON_TEXT}, {"ratio", KB_JSON_NUMBER}};
    if (!item)
        return 0;
    if (kb_document_keys(doc, item, keys, KB_COUNT(keys), "the goal"))
        return -1;
    const cJSON *roof = kb_json_get(item, "roof"), *versus = kb_json_get(item, "versus");
    const cJSON *ratio = kb_json_get(item, "ratio"), *number = roof ? roof : ratio;
    if (!roof == !versus)
        return kb_document_fail(doc, item, NULL, "the goal needs %s of \"roof\" and \"versus\"",
                                roof ? "only one" : "one");
    if (roof && ratio)
        return kb_document_fail(doc, ratio, NULL, "\"ratio\" goes with \"versus\"");
    g->kind = roof ? KB_GOAL_ROOF : KB_GOAL_VERSUS;
    g->ratio = number ? number->valuedouble : 1;
    g->versus = versus ? kb_strdup(versus->valuestring) : NULL;
    if (!(g->ratio > 0) || (roof && g->ratio > 1))
        return kb_document_fail(doc, number, NULL, "%g is no %s", g->ratio,
                                roof ? "share of a roof: above 0, at most 1" : "ratio of speeds: above 0");
    return 0;
}

static int read_variants(const struct kb_document *doc, const cJSON *list, struct kb_bench *b)
{
    if (!list->child)
        return kb_document_fail(doc, list, NULL, "is empty, expected at least one variant");
    b->variants = kb_alloc(sizeof *b->variants * (size_t)cJSON_GetArraySize(list));
    for (const cJSON *item = list->child; item; item = item->next) {
        struct kb_variant *v = &b->variants[b->variant_count];
        int status = kb_variant_read(doc, item, KB_FORM_VARIANT, v);
        bool twice = !status && kb_bench_find_variant(b, v->name) >= 0;
        b->variant_count++;
        if (status)
            return -1;
        if (twice)
            return kb_document_fail(doc, kb_json_get(item, "name"), NULL, "two variants are named \"%s\"", v->name);
    }
    return 0;
}

static int read_bench(const struct kb_document *doc, struct kb_bench *b)
{
    static const struct kb_key keys[] = {
        {"kbench", KB_JSON_INTEGER | KB_JSON_REQUIRED},
        {"name", KB_JSON_TEXT | KB_JSON_REQUIRED},
        {"params", KB_JSON_OBJECT},
        {"args", KB_JSON_ARRAY | KB_JSON_REQUIRED},
        {"cases", KB_JSON_ARRAY},
        {"reference", KB_JSON_OBJECT},
        {"tolerance", KB_JSON_TEXT | KB_JSON_OBJECT},
        {"work", KB_JSON_OBJECT},
        {"goal", KB_JSON_OBJECT},
        {"accept", KB_JSON_ARRAY},
        {"include_dirs", KB_JSON_ARRAY},
        {"variants", KB_JSON_ARRAY | KB_JSON_REQUIRED},
    };
    const cJSON *root = doc->root, *dirs = kb_json_get(root, "include_dirs"), *version = kb_json_get(root, "kbench");
    if (cJSON_IsNumber(version) && version->valuedouble != 1)
        return kb_document_fail(doc, version, NULL, "is version %g of the format, this program reads version 1",
                                version->valuedouble);
    if (kb_document_keys(doc, root, keys, KB_COUNT(keys), "a bench") ||
        kb_read_text(doc, kb_json_get(root, "name"), &b->name) ||
        read_params(doc, kb_json_get(root, "params"), &b->params) || read_args(doc, kb_json_get(root, "args"), b) ||
        read_cases(doc, kb_json_get(root, "cases"), b) ||
        read_reference(doc, kb_json_get(root, "reference"), &b->reference) ||
        read_tolerance(doc, kb_json_get(root, "tolerance"), &b->tolerance) ||
        read_work(doc, kb_json_get(root, "work"), b) || read_goal(doc, kb_json_get(root, "goal"), &b->goal) ||
        kb_accept_check(doc, kb_json_get(root, "accept")) ||
        (dirs && kb_read_texts(doc, dirs, &b->include_dirs, &b->include_dir_count)) ||
        read_variants(doc, kb_json_get(root, "variants"), b))
        return -1;
    return kb_bench_check(doc, b);
}

int kb_bench_parse(const char *text, size_t size, const char *path, struct kb_bench **out, struct kb_error *e)
{
    struct kb_bench *b = kb_alloc(sizeof *b);
    b->text = kb_alloc(size + 1);
    if (size)
        memcpy(b->text, text, size);
    b->text_size = size;
    b->path = path[0] ? kb_path_clean(path) : kb_strdup("");
    b->dir = path[0] ? kb_path_dir(b->path) : kb_strdup("");
    struct kb_document doc = {.path = path[0] ? path : "bench.json", .text = b->text, .size = size, .e = e};
    *out = NULL;
    if (kb_document_parse(&doc, &b->json) || read_bench(&doc, b)) {
        kb_bench_free(b);
        return -1;
    }
    *out = b;
    return 0;
}

int kb_bench_load(const char *path, struct kb_bench **out, struct kb_error *e)
{
    enum { MOST_BYTES = 4 << 20 };
    char *file = kb_is_dir(path) ? kb_path_join(path, "bench.json") : kb_strdup(path), *text = NULL;
    size_t size = 0;
    *out = NULL;
    int status = kb_file_read(file, MOST_BYTES, &text, &size, e);
    if (status && errno == ENOENT)
        kb_fail(e, file, "`kbench-tui new NAME` starts a bench", "no such file");
    else if (!status)
        status = kb_bench_parse(text, size, file, out, e);
    free(text);
    free(file);
    return status;
}

int kb_bench_from_json(const cJSON *document, struct kb_bench **out, struct kb_error *e)
{
    struct kb_bench *b = kb_alloc(sizeof *b);
    b->json = cJSON_Duplicate(document, true);
    b->path = kb_strdup(kb_json_text(document, "path", ""));
    b->dir = kb_strdup(kb_json_text(document, "dir", ""));
    cJSON_DeleteItemFromObjectCaseSensitive(b->json, "path");
    cJSON_DeleteItemFromObjectCaseSensitive(b->json, "dir");
    struct kb_document doc = {.path = b->path[0] ? b->path : "bench.json", .root = b->json, .e = e};
    *out = NULL;
    if (read_bench(&doc, b)) {
        kb_bench_free(b);
        return -1;
    }
    *out = b;
    return 0;
}
