// A bench guessed for a source that no bench lists: its parts put together.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"
#include "bench/guess_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *product(char *const *texts, int count)
{
    struct kb_text out = {0};
    for (int i = 0; i < count; i++)
        kb_text_addf(&out, count > 1 ? "%s(%s)" : "%s%s", i ? "*" : "", texts[i]);
    return out.data ? kb_text_take(&out) : kb_strdup("1");
}

// What a run wrote of a result, where that is a number which such a launch has: one of the sizes, one a block, one a
// thread of a block. NULL: a run said nothing, or wrote some other part: that is a question.
static char *written(const struct kb_guessing *g, const struct kb_guessed_arg *a)
{
    const struct kb_guess_source *s = g->source;
    char *texts[KB_GUESS_SIZES + 2];
    int count = 0;
    int64_t wanted = 0, value;
    for (int i = 0; s->kernel && i < s->extent_count; i++)
        if (a->role == KB_OUTPUT && !strcmp(s->extents[i].arg, a->name))
            wanted = s->extents[i].elements;
    if (!wanted)
        return NULL;
    for (int i = 0; i < g->size_count; i++)
        texts[count++] = kb_strdup(g->sizes[i]);
    texts[count++] = product(g->grid, g->grid_dims);
    texts[count++] = product(g->block, g->block_dims);
    char *found = NULL;
    for (int i = 0; i < count; i++) {
        bool same = !found && !kb_expr_eval(texts[i], &g->params, &value, NULL) && value * a->lanes == wanted;
        if (same)
            found = a->lanes > 1 ? kb_format("%d*(%s)", a->lanes, texts[i]) : kb_strdup(texts[i]);
        free(texts[i]);
    }
    return found;
}

// Elements of an array, where nothing says how many: what the sizes make together; of what a planar kernel writes, the
// first two.
static cJSON *shape_of(const struct kb_guessing *g, const struct kb_guessed_arg *a)
{
    cJSON *shape = cJSON_CreateArray();
    bool planar = g->size_count == 2 || (g->size_count > 2 && g->planar && a->role == KB_OUTPUT);
    struct kb_text last = {0};
    char *seen = written(g, a);
    if (seen || a->text) {
        cJSON_AddItemToArray(shape, cJSON_CreateString(seen ? seen : a->text));
        free(seen);
        return shape;
    }
    if (planar)
        cJSON_AddItemToArray(shape, cJSON_CreateString(g->sizes[0]));
    if (a->lanes > 1)
        kb_text_addf(&last, "%d*", a->lanes);
    if (planar)
        kb_text_add(&last, g->sizes[1]);
    for (int i = 0; !planar && i < g->size_count; i++)
        kb_text_addf(&last, "%s%s", i ? "*" : "", g->sizes[i]);
    if (!g->size_count) {
        int64_t grid = 1, block = 1, value;
        for (int i = 0; i < g->grid_dims; i++)
            grid *= kb_expr_eval(g->grid[i], &g->params, &value, NULL) ? 1 : value;
        for (int i = 0; i < g->block_dims; i++)
            block *= kb_expr_eval(g->block[i], &g->params, &value, NULL) ? 1 : value;
        kb_text_addf(&last, "%" PRId64, grid * block);
    }
    cJSON_AddItemToArray(shape, cJSON_CreateString(last.data));
    kb_text_free(&last);
    return shape;
}

// Integers may be indices: none of them leaves an array. What has no known meaning is zeros.
static cJSON *fill_of(const struct kb_guessed_arg *a)
{
    if (a->open || a->counted)
        return cJSON_CreateString("zeros");
    if (a->dtype != KB_I32 && a->dtype != KB_I64)
        return NULL;
    cJSON *fill = cJSON_CreateObject();
    kb_json_set_text(fill, "kind", "integers");
    kb_json_set_number(fill, "low", 0);
    kb_json_set_number(fill, "high", 7);
    return fill;
}

static cJSON *arg_json(const struct kb_guessing *g, const struct kb_guessed_arg *a, bool offered)
{
    cJSON *arg = cJSON_CreateObject();
    kb_json_set_text(arg, "name", a->name);
    kb_json_set_text(arg, "role", kb_role_name(a->role));
    kb_json_set_text(arg, "dtype", a->open && offered ? "?" : kb_dtype_name(a->dtype));
    if (a->role == KB_SCALAR && kb_dtype_is_float(a->dtype))
        kb_json_set_number(arg, "value", 1);
    else if (a->role == KB_SCALAR && a->text)
        kb_json_set_text(arg, "value", a->text);
    if (a->role == KB_SCALAR)
        return arg;
    kb_json_set(arg, "shape", shape_of(g, a));
    cJSON *fill = a->role == KB_OUTPUT ? NULL : fill_of(a);
    if (fill)
        kb_json_set(arg, "fill", fill);
    return arg;
}

char *kb_guess_expression(const struct kb_guessing *g)
{
    struct kb_text out = {0};
    const struct kb_source_kernel *k = g->kernel;
    kb_text_addf(&out, "%s%s%s", k->scope, k->scope[0] ? "::" : "", k->name);
    for (int t = 0; t < g->template_arg_count; t++)
        kb_text_addf(&out, "%s%s", t ? "," : "<", g->template_args[t]);
    if (k->template_param_count)
        kb_text_add(&out, g->template_arg_count ? ">" : "<>");
    return kb_text_take(&out);
}

// A number as a number, one dimension without a list.
static cJSON *dims_json(char *const *texts, int count)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < count; i++) {
        char *end;
        long value = strtol(texts[i], &end, 10);
        cJSON_AddItemToArray(list, *end ? cJSON_CreateString(texts[i]) : cJSON_CreateNumber((double)value));
    }
    if (count > 1)
        return list;
    cJSON *only = cJSON_DetachItemFromArray(list, 0);
    cJSON_Delete(list);
    return only;
}

static bool code_says(const struct kb_code_text *t, const char *a, const char *b)
{
    for (int i = 0; i + 1 < t->tokens.count; i++)
        if (kb_code_is(t, i, a) && (!b || kb_code_is(t, i + 1, b)))
            return true;
    return false;
}

// Options of nvcc that the code seems to need; they change nothing where it does not.
static void add_needed(const struct kb_guessing *g, cJSON *options)
{
    bool lambda = false, relaxed = false;
    for (int i = 0; i < g->code.text_count; i++) {
        const struct kb_code_text *t = g->code.texts[i];
        lambda = lambda || code_says(t, "]", "__device__") || code_says(t, "]", "__host__");
        relaxed = relaxed || code_says(t, "constexpr", NULL) || code_says(t, "std", "::");
    }
    static const char *const names[] = {"--extended-lambda", "--expt-relaxed-constexpr"};
    for (int i = 0; i < 2; i++) {
        bool given = !(i ? relaxed : lambda);
        for (int k = 0; k < g->source->option_count; k++)
            given = given || !strcmp(g->source->options[k], names[i]);
        if (!given)
            cJSON_AddItemToArray(options, cJSON_CreateString(names[i]));
    }
}

static void add_flags(const struct kb_guessing *g, cJSON *variant)
{
    const struct kb_guess_source *s = g->source;
    cJSON *defines = cJSON_CreateObject();
    for (int i = 0; i < s->define_count; i++) {
        const char *equals = strchr(s->defines[i], '=');
        char *name = kb_strndup(s->defines[i], strcspn(s->defines[i], "="));
        if (kb_is_identifier(name))
            kb_json_set_text(defines, name, equals ? equals + 1 : "1");
        free(name);
    }
    if (s->define_count)
        kb_json_set(variant, "defines", defines);
    else
        cJSON_Delete(defines);
    cJSON *options = cJSON_CreateArray();
    for (int i = 0; i < s->option_count; i++)
        cJSON_AddItemToArray(options, cJSON_CreateString(s->options[i]));
    add_needed(g, options);
    if (cJSON_GetArraySize(options))
        kb_json_set(variant, "options", options);
    else
        cJSON_Delete(options);
}

// By the way from the bench's folder: a checkout that is moved keeps its bench.
static void add_folders(const struct kb_guessing *g, cJSON *document)
{
    char *clean = kb_path_clean(g->source->path), *dir = kb_path_dir(clean);
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < g->source->include_dir_count; i++) {
        char *relative = kb_path_between(dir, g->source->include_dirs[i]);
        cJSON_AddItemToArray(list, cJSON_CreateString(relative));
        free(relative);
    }
    if (g->source->include_dir_count)
        kb_json_set(document, "include_dirs", list);
    else
        cJSON_Delete(list);
    free(clean);
    free(dir);
}

static cJSON *variant_json(const struct kb_guessing *g, const char *name)
{
    cJSON *variant = cJSON_CreateObject(), *launch = cJSON_CreateObject();
    char *kernel = kb_guess_expression(g);
    kb_json_set_text(variant, "name", name);
    kb_json_set_text(variant, "source", kb_path_base(g->source->path));
    kb_json_set_text(variant, "kernel", kernel);
    kb_json_set(launch, "grid", dims_json(g->grid, g->grid_dims));
    kb_json_set(launch, "block", dims_json(g->block, g->block_dims));
    if (g->shared)
        kb_json_set(launch, "shared", dims_json(&g->shared, 1));
    if (g->cooperative)
        kb_json_set_bool(launch, "cooperative", true);
    kb_json_set(variant, "launch", launch);
    add_flags(g, variant);
    free(kernel);
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
char *kb_guess_pretty(const cJSON *document)
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

// offered: for people, who fill in what is open; else for the program.
static char *document_of(const struct kb_guessing *g, bool offered)
{
    cJSON *document = cJSON_CreateObject(), *params = cJSON_CreateObject(), *args = cJSON_CreateArray();
    cJSON *variants = cJSON_CreateArray();
    char *name = name_of_file(g->source->path);
    kb_json_set_number(document, "kbench", 1);
    kb_json_set_text(document, "name", name);
    kb_json_set_text(
        document, "comment",
        "Guessed from the kernel: check roles, types (\"?\": not known), shapes, sizes, template arguments "
        "and the launch. Results are checked once a \"reference\" is added (docs/bench.md).");
    for (int i = 0; i < g->kernel->param_count; i++) {
        const struct kb_guessed_arg *a = &g->args[i];
        if (a->is_param && !a->text)
            kb_json_set_number(params, a->name, (double)a->value);
        cJSON_AddItemToArray(args, arg_json(g, a, offered));
    }
    cJSON_AddItemToArray(variants, variant_json(g, name));
    add_folders(g, document);
    kb_json_set(document, "params", params);
    kb_json_set(document, "args", args);
    kb_json_set(document, "variants", variants);
    char *text = kb_guess_pretty(document);
    cJSON_Delete(document);
    free(name);
    return text;
}

// "launch 16x16x1, M = 128, N = 128"
static char *headline_of(const struct kb_guessing *g)
{
    enum { MOST = 4 };
    struct kb_text out = {0};
    int64_t value;
    kb_text_add(&out, "launch ");
    for (int i = 0; i < 3; i++) {
        bool known = i < g->block_dims && !kb_expr_eval(g->block[i], &g->params, &value, NULL);
        kb_text_addf(&out, "%s%" PRId64, i ? "x" : "", known ? value : 1);
    }
    for (int i = 0; i < g->size_count && i < MOST; i++)
        kb_text_addf(&out, ", %s = %" PRId64, g->sizes[i], *kb_names_get(&g->params, g->sizes[i]));
    for (int i = 0; i < g->kernel->param_count; i++) {
        char *seen = written(g, &g->args[i]);
        if (seen)
            kb_text_addf(&out, ", %s[%s]", g->args[i].name, seen);
        free(seen);
    }
    if (g->instance) {
        char *kernel = kb_guess_expression(g);
        kb_text_addf(&out, ", template arguments of %s", kernel);
        free(kernel);
    }
    return kb_text_take(&out);
}

// Uses are of the kernel that was compiled.
static struct kb_guess_source own_uses(const struct kb_guess_source *source, const char *kernel)
{
    struct kb_guess_source own = *source;
    if (source->kernel && strcmp(source->kernel, kernel))
        own.kernel = NULL;
    return own;
}

static int put_together(struct kb_guessing *g, struct kb_bench **out, struct kb_guess *guess, struct kb_error *e)
{
    const struct kb_source_kernel *k = g->kernel;
    struct kb_guess_source own;
    guess->kernel = kb_format("%s%s%s", k->scope, k->scope[0] ? "::" : "", k->name);
    own = own_uses(g->source, guess->kernel);
    g->source = &own;
    kb_guess_args(g);
    kb_guess_set_up(g);
    guess->skeleton = document_of(g, true);
    guess->headline = headline_of(g);
    guess->instance = g->instance;
    char *text = document_of(g, false);
    int status = kb_bench_parse(text, strlen(text), "", out, e);
    free(text);
    return status;
}

static void free_guessing(struct kb_guessing *g)
{
    for (int i = 0; g->args && i < g->kernel->param_count; i++) {
        free(g->args[i].name);
        free(g->args[i].text);
    }
    for (int i = 0; i < g->scope.count; i++)
        free(g->scope.names[i].name);
    for (int i = 0; i < 3; i++) {
        free(g->grid[i]);
        free(g->block[i]);
    }
    free(g->shared);
    free(g->args);
    free(g->scope.names);
    kb_names_free(&g->params);
    kb_guess_end(g);
}

// The lines of the document are those of no file: errors shall not name them.
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

int kb_bench_guess(const struct kb_guess_source *source, struct kb_bench **out, struct kb_guess *guess,
                   struct kb_error *e)
{
    struct kb_guessing g = {.source = source};
    *out = NULL;
    *guess = (struct kb_guess){0};
    int status = kb_guess_start(&g, e) || kb_guess_choose(&g, e) ? -1 : put_together(&g, out, guess, e);
    if (status)
        kb_guess_free(guess);
    else
        place_bench(*out, source->path);
    free_guessing(&g);
    return status;
}

void kb_guess_free(struct kb_guess *g)
{
    free(g->kernel);
    free(g->headline);
    free(g->skeleton);
    *g = (struct kb_guess){0};
}
