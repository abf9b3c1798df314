// Variants as values: copies, JSON, the integers that their macros and template arguments stand for.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void clear_launch(struct kb_launch *l)
{
    for (int i = 0; i < 3; i++) {
        free(l->grid[i]);
        free(l->block[i]);
    }
    free(l->kernel);
    free(l->shared);
    kb_free_texts(l->args, l->arg_count);
}

void kb_variant_clear(struct kb_variant *v)
{
    for (int i = 0; i < v->define_count; i++) {
        free(v->defines[i].name);
        free(v->defines[i].value);
    }
    for (int i = 0; i < v->launch_count; i++)
        clear_launch(&v->launches[i]);
    kb_free_texts(v->options, v->option_count);
    kb_names_free(&v->template_values);
    free(v->defines), free(v->launches);
    kb_free_list(v->command);
    free(v->name), free(v->source), free(v->compiler);
    *v = (struct kb_variant){0};
}

void kb_variant_free(struct kb_variant *v)
{
    if (!v)
        return;
    kb_variant_clear(v);
    free(v);
}

static cJSON *texts(char *const *list, int count)
{
    cJSON *array = cJSON_CreateArray();
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(array, cJSON_CreateString(list[i]));
    return array;
}

static cJSON *step_to_json(const struct kb_launch *l)
{
    cJSON *step = cJSON_CreateObject(), *launch = cJSON_CreateObject();
    kb_json_set_text(step, "kernel", l->kernel);
    if (l->args)
        kb_json_set(step, "args", texts(l->args, l->arg_count));
    if (l->grid_dims)
        kb_json_set(launch, "grid", texts(l->grid, l->grid_dims));
    if (l->block_dims)
        kb_json_set(launch, "block", texts(l->block, l->block_dims));
    if (l->shared)
        kb_json_set_text(launch, "shared", l->shared);
    kb_json_set_bool(launch, "cooperative", l->cooperative);
    kb_json_set(step, "launch", launch);
    return step;
}

cJSON *kb_variant_to_json(const struct kb_variant *v)
{
    cJSON *out = cJSON_CreateObject(), *defines = cJSON_CreateObject(), *launches = cJSON_CreateArray();
    cJSON *values = cJSON_CreateObject();
    kb_json_set_text(out, "name", v->name);
    kb_json_set_text(out, "kind", "cuda");
    kb_json_set_text(out, "source", v->source);
    kb_json_set_text(out, "compiler", v->compiler);
    for (int i = 0; i < v->define_count; i++)
        kb_json_set_text(defines, v->defines[i].name, v->defines[i].value);
    for (int i = 0; i < v->launch_count; i++)
        cJSON_AddItemToArray(launches, step_to_json(&v->launches[i]));
    for (int i = 0; i < v->template_values.count; i++) {
        char *text = kb_format("%" PRId64, v->template_values.items[i].value);
        kb_json_set_text(values, v->template_values.items[i].name, text);
        free(text);
    }
    kb_json_set(out, "defines", defines);
    kb_json_set(out, "options", texts(v->options, v->option_count));
    kb_json_set(out, "launches", launches);
    kb_json_set(out, "template_values", values);
    return out;
}

int kb_variant_from_json(const cJSON *document, struct kb_variant **out, struct kb_error *e)
{
    struct kb_document doc = {.path = "variant", .root = document, .e = e};
    struct kb_variant *v = kb_alloc(sizeof *v);
    *out = NULL;
    if (kb_variant_read(&doc, document, KB_FORM_VARIANT, v)) {
        kb_variant_free(v);
        return -1;
    }
    *out = v;
    return 0;
}

bool kb_integer_of(const char *text, const struct kb_names *names, int64_t *value)
{
    while (*text == ' ')
        text++;
    if (!strcmp(text, "true") || !strcmp(text, "false")) {
        *value = *text == 't';
        return true;
    }
    char *copy = kb_strdup(text);
    size_t n = strlen(copy);
    while (n && copy[n - 1] == ' ')
        copy[--n] = 0;
    // A suffix of a literal, and not the end of a name.
    if (copy[0] >= '0' && copy[0] <= '9' && strspn(copy, "0123456789abcdefABCDEFxXuUlL") == n)
        while (n && strchr("uUlL", copy[n - 1]))
            copy[--n] = 0;
    bool ok = kb_expr_eval(copy, names, value, NULL) == 0;
    free(copy);
    return ok;
}

void kb_add_define_names(const struct kb_variant *v, struct kb_names *names)
{
    struct kb_names macros = {0}; // a macro's value may use other macros, but no params
    for (int i = 0; i < v->define_count; i++) {
        int64_t value;
        if (kb_integer_of(v->defines[i].value, &macros, &value))
            kb_names_set(&macros, v->defines[i].name, value);
    }
    kb_names_copy(names, &macros);
    kb_names_free(&macros);
}
