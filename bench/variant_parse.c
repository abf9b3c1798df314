// The object of a variant in a bench file, and of the reference's program, which has the same keys.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"

#include <stdlib.h>
#include <string.h>

static const struct kb_key variant_keys[] = {
    {"name", KB_JSON_TEXT | KB_JSON_REQUIRED},
    {"kind", KB_JSON_TEXT},
    {"source", KB_JSON_TEXT | KB_JSON_REQUIRED},
    {"kernel", KB_JSON_TEXT},
    {"launch", KB_JSON_OBJECT},
    {"launches", KB_JSON_ARRAY},
    {"args", KB_JSON_ARRAY},
    {"defines", KB_JSON_OBJECT},
    {"options", KB_JSON_ARRAY},
    {"compiler", KB_JSON_TEXT},
    {"template_values", KB_JSON_OBJECT},
};
static const struct kb_key reference_keys[] = {
    {"source", KB_JSON_TEXT}, {"kernel", KB_JSON_TEXT},    {"launch", KB_JSON_OBJECT},     {"launches", KB_JSON_ARRAY},
    {"args", KB_JSON_ARRAY},  {"defines", KB_JSON_OBJECT}, {"options", KB_JSON_ARRAY},     {"compiler", KB_JSON_TEXT},
    {"npy", KB_JSON_TEXT},    {"command", KB_JSON_ARRAY},  {"timeout_s", KB_JSON_INTEGER},
};
static const struct kb_key command_keys[] = {
    {"name", KB_JSON_TEXT | KB_JSON_REQUIRED},
    {"kind", KB_JSON_TEXT},
    {"command", KB_JSON_ARRAY | KB_JSON_REQUIRED},
    {"timeout_s", KB_JSON_INTEGER},
};
static const struct kb_key step_keys[] = {
    {"kernel", KB_JSON_TEXT | KB_JSON_REQUIRED},
    {"launch", KB_JSON_OBJECT},
    {"args", KB_JSON_ARRAY},
};
static const struct kb_key launch_keys[] = {
    {"grid", KB_JSON_EXPRESSION | KB_JSON_ARRAY},
    {"block", KB_JSON_EXPRESSION | KB_JSON_ARRAY},
    {"shared", KB_JSON_EXPRESSION},
    {"cooperative", KB_JSON_BOOL},
};

static int read_expression(const struct kb_document *doc, const cJSON *item, char **out)
{
    struct kb_error inner;
    if (kb_document_type(doc, item, KB_JSON_EXPRESSION))
        return -1;
    *out = kb_expression_text(item);
    return kb_expr_check(*out, &inner) ? kb_document_fail(doc, item, inner.remedy, "%s", inner.what) : 0;
}

static int read_dims(const struct kb_document *doc, const cJSON *item, char *dims[3], int *count)
{
    if (!item)
        return 0;
    *count = 1;
    if (!cJSON_IsArray(item))
        return read_expression(doc, item, &dims[0]);
    *count = cJSON_GetArraySize(item);
    if (*count < 1 || *count > 3) {
        int n = *count;
        *count = 0;
        return kb_document_fail(doc, item, NULL, "has %d dimensions, expected 1 to 3", n);
    }
    int i = 0;
    for (const cJSON *part = item->child; part; part = part->next)
        if (read_expression(doc, part, &dims[i++]))
            return -1;
    return 0;
}

static int read_launch(const struct kb_document *doc, const cJSON *item, struct kb_launch *l)
{
    if (kb_document_keys(doc, item, launch_keys, KB_COUNT(launch_keys), "a launch"))
        return -1;
    l->cooperative = kb_json_bool(item, "cooperative", false);
    const cJSON *shared = kb_json_get(item, "shared");
    if (shared && read_expression(doc, shared, &l->shared))
        return -1;
    return read_dims(doc, kb_json_get(item, "grid"), l->grid, &l->grid_dims) ||
                   read_dims(doc, kb_json_get(item, "block"), l->block, &l->block_dims)
               ? -1
               : 0;
}

// One launch: its kernel and arguments stand beside the object `launch`, both for a variant and for a step of it.
static int read_step(const struct kb_document *doc, const cJSON *item, const cJSON *args, struct kb_launch *l)
{
    const cJSON *launch = kb_json_get(item, "launch");
    if (kb_read_text(doc, kb_json_get(item, "kernel"), &l->kernel))
        return -1;
    if (args && kb_read_texts(doc, args, &l->args, &l->arg_count))
        return -1;
    return launch ? read_launch(doc, launch, l) : 0;
}

static int read_steps(const struct kb_document *doc, const cJSON *item, struct kb_variant *v)
{
    const cJSON *steps = kb_json_get(item, "launches");
    if (kb_json_get(item, "kernel") || kb_json_get(item, "launch"))
        return kb_document_fail(doc, steps, NULL,
                                "\"launches\" replaces \"kernel\" and \"launch\"; give only one form");
    if (!steps->child)
        return kb_document_fail(doc, steps, NULL, "is empty, expected at least one {kernel, launch}");
    v->launches = kb_alloc(sizeof *v->launches * (size_t)cJSON_GetArraySize(steps));
    for (const cJSON *step = steps->child; step; step = step->next) {
        if (kb_document_keys(doc, step, step_keys, KB_COUNT(step_keys), "a launch"))
            return -1;
        const cJSON *args = kb_json_get(step, "args");
        if (read_step(doc, step, args ? args : kb_json_get(item, "args"), &v->launches[v->launch_count++]))
            return -1;
    }
    return 0;
}

static int read_launches(const struct kb_document *doc, const cJSON *item, struct kb_variant *v)
{
    if (kb_json_get(item, "launches"))
        return read_steps(doc, item, v);
    if (!kb_json_get(item, "kernel"))
        return kb_document_fail(doc, item, NULL, "needs the key \"kernel\" (with \"launch\"), or \"launches\"");
    v->launches = kb_alloc(sizeof *v->launches);
    v->launch_count = 1;
    return read_step(doc, item, kb_json_get(item, "args"), &v->launches[0]);
}

static int read_defines(const struct kb_document *doc, const cJSON *item, struct kb_variant *v)
{
    v->defines = kb_alloc(sizeof *v->defines * (size_t)(cJSON_GetArraySize(item) + 1));
    for (const cJSON *child = item ? item->child : NULL; child; child = child->next) {
        if (kb_is_comment(child))
            continue;
        if (kb_read_identifier(doc, child, child->string) ||
            kb_document_type(doc, child, KB_JSON_TEXT | KB_JSON_INTEGER | KB_JSON_BOOL))
            return -1;
        for (int i = 0; i < v->define_count; i++)
            if (!strcmp(v->defines[i].name, child->string))
                return kb_document_fail(doc, child, "keep one of them", "this macro is defined twice");
        char *value = cJSON_IsBool(child) ? kb_strdup(cJSON_IsTrue(child) ? "1" : "0") : kb_expression_text(child);
        v->defines[v->define_count++] = (struct kb_define){kb_strdup(child->string), value};
    }
    return 0;
}

static int read_template_values(const struct kb_document *doc, const cJSON *item, struct kb_variant *v)
{
    for (const cJSON *child = item ? item->child : NULL; child; child = child->next) {
        int64_t value; // a text, because JSON numbers lose digits beyond 2^53
        if (!cJSON_IsString(child) || kb_expr_eval(child->valuestring, NULL, &value, NULL))
            return kb_document_fail(doc, child, NULL, "expected an integer as a text");
        kb_names_set(&v->template_values, child->string, value);
    }
    return 0;
}

// Names of variants are names of folders in the history and of for= in //kb: lines.
static int read_name(const struct kb_document *doc, const cJSON *item, char **out)
{
    if (kb_read_text(doc, item, out))
        return -1;
    for (const char *p = *out; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == '/' || *p == '\\' || *p == 0x7f)
            return kb_document_fail(doc, item, NULL,
                                    "the name \"%.60s\" may hold no blanks, slashes or control characters", *out);
    return **out == '.' || **out == '-' ? kb_document_fail(doc, item, NULL, "a name may not begin with '%c'", **out)
                                        : 0;
}

int kb_read_command(const struct kb_document *doc, const cJSON *item, char ***command, int *timeout_s)
{
    const cJSON *words = kb_json_get(item, "command"), *timeout = kb_json_get(item, "timeout_s");
    int n = 0;
    *timeout_s = timeout ? (int)timeout->valuedouble : KB_COMMAND_TIMEOUT_S;
    if (timeout && (timeout->valuedouble < 1 || timeout->valuedouble > 3600))
        return kb_document_fail(doc, timeout, NULL, "expected 1 to 3600 seconds");
    if (kb_read_texts(doc, words, command, &n))
        return -1;
    return n ? 0 : kb_document_fail(doc, words, NULL, "is empty, expected a program and its arguments");
}

static bool is_command(const cJSON *item)
{
    return !strcmp(kb_json_text(item, "kind", ""), "command");
}

static int read_command_variant(const struct kb_document *doc, const cJSON *item, struct kb_variant *v)
{
    v->kind = KB_VARIANT_COMMAND;
    if (kb_document_keys(doc, item, command_keys, KB_COUNT(command_keys), "a variant of kind \"command\"") ||
        read_name(doc, kb_json_get(item, "name"), &v->name))
        return -1;
    return kb_read_command(doc, item, &v->command, &v->timeout_s);
}

static int read_kind(const struct kb_document *doc, const cJSON *item)
{
    static const char *const kinds[] = {"cuda", "library", "command"};
    const cJSON *kind = kb_json_get(item, "kind");
    if (!kind || !strcmp(kind->valuestring, "cuda"))
        return 0;
    if (!strcmp(kind->valuestring, "library"))
        return kb_document_fail(doc, kind, "this version knows \"cuda\" and \"command\"",
                                "variants of kind \"%s\" are not supported yet", kind->valuestring);
    return kb_document_unknown(doc, kind, "kind", kind->valuestring, kinds, KB_COUNT(kinds));
}

static int read_compiler(const struct kb_document *doc, const cJSON *item, char **out)
{
    static const char *const compilers[] = {"auto", "nvrtc", "nvcc"};
    const cJSON *compiler = kb_json_get(item, "compiler");
    *out = kb_strdup(compiler ? compiler->valuestring : "auto");
    for (size_t i = 0; i < KB_COUNT(compilers); i++)
        if (!strcmp(*out, compilers[i]))
            return 0;
    return kb_document_unknown(doc, compiler, "compiler", *out, compilers, KB_COUNT(compilers));
}

int kb_variant_read(const struct kb_document *doc, const cJSON *item, enum kb_variant_form form, struct kb_variant *v)
{
    bool is_reference = form == KB_FORM_REFERENCE;
    if (!is_reference && is_command(item))
        return read_command_variant(doc, item, v);
    size_t variant_key_count = KB_COUNT(variant_keys) - (doc->text != NULL);
    if (is_reference ? kb_document_keys(doc, item, reference_keys, KB_COUNT(reference_keys), "the reference")
                     : kb_document_keys(doc, item, variant_keys, variant_key_count, "a variant"))
        return -1;
    if (is_reference && !kb_json_get(item, "source")) // a .npy or a command
        return 0;
    const cJSON *options = kb_json_get(item, "options");
    if (is_reference)
        v->name = kb_strdup("reference");
    else if (read_name(doc, kb_json_get(item, "name"), &v->name))
        return -1;
    if (read_kind(doc, item) || kb_read_text(doc, kb_json_get(item, "source"), &v->source) ||
        read_compiler(doc, item, &v->compiler) || read_defines(doc, kb_json_get(item, "defines"), v) ||
        read_template_values(doc, kb_json_get(item, "template_values"), v))
        return -1;
    if (options && kb_read_texts(doc, options, &v->options, &v->option_count))
        return -1;
    return read_launches(doc, item, v);
}

const cJSON *kb_launch_item(const cJSON *variant, int i)
{
    const cJSON *steps = kb_json_get(variant, "launches");
    return kb_json_get(steps ? cJSON_GetArrayItem(steps, i) : variant, "launch");
}

const cJSON *kb_launch_args_item(const cJSON *variant, int i)
{
    const cJSON *steps = kb_json_get(variant, "launches");
    const cJSON *own = steps ? kb_json_get(cJSON_GetArrayItem(steps, i), "args") : NULL;
    return own ? own : kb_json_get(variant, "args");
}
