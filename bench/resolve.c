// A variant as its source wants it: //kb: lines over bench.json, and names for its integer template arguments.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"
#include "bench/source_lex.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct origin { // lines of the //kb: lines that set this; 0: bench.json
    int grid, block, shared;
};
struct resolver {
    const struct kb_bench *b;
    int index;
    const struct kb_source *source;
    struct kb_variant *v;
    struct origin *origins; // per launch
    struct kb_error *e;
};

// "a::b<float,4>" -> "b"; points into the expression.
static const char *kernel_base(const char *expression, size_t *length)
{
    size_t n = strcspn(expression, "<");
    while (n && expression[n - 1] == ' ')
        n--;
    const char *start = expression + n;
    while (start > expression && start[-1] != ':' && start[-1] != ' ')
        start--;
    *length = (size_t)(expression + n - start);
    return start;
}

static bool names_kernel(const char *expression, const char *name)
{
    size_t n;
    const char *base = kernel_base(expression, &n);
    return strlen(name) == n && !memcmp(base, name, n);
}

static int fail_line(struct resolver *r, int line, const char *remedy, const char *what)
{
    char *path = kb_path_join(r->b->dir, r->v->source), *on = kb_format("%s:%d", path, line);
    kb_fail(r->e, on, remedy, "%s", what);
    free(path);
    free(on);
    return -1;
}

static int check_variant_name(struct resolver *r, const struct kb_directive *d)
{
    if (!d->variant || kb_bench_find_variant(r->b, d->variant) >= 0)
        return 0;
    const char **names = kb_alloc(sizeof *names * (size_t)r->b->variant_count);
    for (int i = 0; i < r->b->variant_count; i++)
        names[i] = r->b->variants[i].name;
    const char *near = kb_nearest(d->variant, names, (size_t)r->b->variant_count);
    char *what = kb_format("for=%s names no variant of this bench%s%s%s", d->variant, near ? ", did you mean \"" : "",
                           near ? near : "", near ? "\"?" : "");
    int status = fail_line(r, d->line, NULL, what);
    free(names);
    free(what);
    return status;
}

static void set_define(struct kb_variant *v, const char *name, const char *value)
{
    for (int i = 0; i < v->define_count; i++) {
        if (strcmp(v->defines[i].name, name))
            continue;
        free(v->defines[i].value);
        v->defines[i].value = kb_strdup(value);
        return;
    }
    v->defines = kb_realloc(v->defines, sizeof *v->defines * (size_t)(v->define_count + 1));
    v->defines[v->define_count++] = (struct kb_define){kb_strdup(name), kb_strdup(value)};
}

static void set_dims(char *dims[3], int *count, const char *value)
{
    for (int i = 0; i < 3; i++) {
        free(dims[i]);
        dims[i] = NULL;
    }
    *count = kb_split_dims(value, dims, 3);
}

static void apply_to_launch(struct kb_launch *l, struct origin *o, const struct kb_directive *d)
{
    if (!strcmp(d->key, "grid")) {
        set_dims(l->grid, &l->grid_dims, d->value);
        o->grid = d->line;
    } else if (!strcmp(d->key, "block")) {
        set_dims(l->block, &l->block_dims, d->value);
        o->block = d->line;
    } else if (!strcmp(d->key, "shared")) {
        free(l->shared);
        l->shared = kb_strdup(d->value);
        o->shared = d->line;
    } else if (!strcmp(d->key, "cooperative")) {
        l->cooperative = !strcmp(d->value, "true");
    }
}

// First the lines for every variant, then those for this one: the special wins over the general.
static int apply_directives(struct resolver *r)
{
    for (int special = 0; special < 2; special++) {
        for (int i = 0; i < r->source->directive_count; i++) {
            const struct kb_directive *d = &r->source->directives[i];
            if (d->kind != KB_DIRECTIVE_SET || !d->kernel)
                continue;
            if (check_variant_name(r, d))
                return -1;
            if ((d->variant != NULL) != (special == 1) || (d->variant && strcmp(d->variant, r->v->name)))
                continue;
            for (int k = 0; k < r->v->launch_count; k++) {
                if (!names_kernel(r->v->launches[k].kernel, d->kernel))
                    continue;
                apply_to_launch(&r->v->launches[k], &r->origins[k], d);
                if (kb_starts(d->key, "define:"))
                    set_define(r->v, d->key + 7, d->value);
            }
        }
    }
    return 0;
}

// The name replaced by its value wherever it stands as a word.
static void substitute(char **text, const char *name, int64_t value)
{
    if (!*text)
        return;
    struct kb_text out = {0};
    size_t n = strlen(name);
    for (const char *p = *text; *p;) {
        size_t word = 0;
        while (kb_is_name_char(p[word]))
            word++;
        if (word == n && !memcmp(p, name, n))
            kb_text_addf(&out, "(%" PRId64 ")", value);
        else
            kb_text_bytes(&out, p, word ? word : 1);
        p += word ? word : 1;
    }
    free(*text);
    *text = kb_text_take(&out);
}

// Where two launches of a variant give one template parameter different values, no single name can stand for both.
static void bind(struct kb_variant *v, struct kb_launch *l, const char *name, int64_t value)
{
    const int64_t *known = kb_names_get(&v->template_values, name);
    if (!known)
        kb_names_set(&v->template_values, name, value);
    if (!known || *known == value)
        return;
    for (int i = 0; i < 3; i++) {
        substitute(&l->grid[i], name, value);
        substitute(&l->block[i], name, value);
    }
    substitute(&l->shared, name, value);
}

static const struct kb_source_kernel *find_kernel(const struct kb_source *source, const char *expression)
{
    for (int i = 0; i < source->kernel_count; i++)
        if (source->kernels[i].is_template && names_kernel(expression, source->kernels[i].name))
            return &source->kernels[i];
    return NULL;
}

static void bind_templates(struct resolver *r, struct kb_launch *l)
{
    const struct kb_source_kernel *k = find_kernel(r->source, l->kernel);
    const char *start = strchr(l->kernel, '<');
    struct kb_names macros = {0};
    if (!k || !start)
        return;
    kb_add_define_names(r->v, &macros);
    int depth = 0, index = 0;
    for (const char *p = ++start; *p; p++) {
        bool ends = depth == 0 && (*p == ',' || *p == '>');
        depth += *p == '<' || *p == '(' ? 1 : *p == ')' || (*p == '>' && depth) ? -1 : 0;
        if (!ends)
            continue;
        char *text = kb_strndup(start, (size_t)(p - start));
        int64_t value;
        if (index < k->template_param_count && k->template_params[index][0] && kb_integer_of(text, &macros, &value))
            bind(r->v, l, k->template_params[index], value);
        free(text);
        start = p + 1;
        index++;
        if (*p == '>')
            break;
    }
    kb_names_free(&macros);
}

// line: of the //kb: line, or 0 for the key of bench.json.
static int check_expression(struct resolver *r, int launch, int line, const char *key, int dim, const char *text,
                            const struct kb_names *names)
{
    struct kb_error inner;
    int64_t value;
    if (!kb_expr_eval(text, names, &value, &inner))
        return 0;
    if (line) {
        char *what = kb_format("%s: %s", key, inner.what);
        fail_line(r, line, inner.remedy, what);
        free(what);
        return -1;
    }
    const struct kb_bench *b = r->b;
    struct kb_document doc = {b->path[0] ? b->path : "bench.json", b->text, b->text_size, b->json, r->e};
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(b->json, "variants"), r->index);
    const cJSON *item = kb_json_get(kb_launch_item(variant, launch), key);
    if (cJSON_IsArray(item))
        item = cJSON_GetArrayItem(item, dim);
    return kb_document_fail(&doc, item, inner.remedy, "%s", inner.what);
}

static int check_launch(struct resolver *r, int k, const struct kb_names *names)
{
    const struct kb_launch *l = &r->v->launches[k];
    const struct origin *o = &r->origins[k];
    for (int i = 0; i < l->grid_dims; i++)
        if (check_expression(r, k, o->grid, "grid", i, l->grid[i], names))
            return -1;
    for (int i = 0; i < l->block_dims; i++)
        if (check_expression(r, k, o->block, "block", i, l->block[i], names))
            return -1;
    if (l->shared && check_expression(r, k, o->shared, "shared", 0, l->shared, names))
        return -1;
    if (l->grid_dims && l->block_dims)
        return 0;
    const struct kb_bench *b = r->b;
    struct kb_document doc = {b->path[0] ? b->path : "bench.json", b->text, b->text_size, b->json, r->e};
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(b->json, "variants"), r->index);
    const cJSON *launch = kb_launch_item(variant, k);
    return kb_document_fail(&doc, launch ? launch : variant,
                            "add \"launch\", or a line like \"//kb: grid=... block=...\" above the kernel",
                            "the launch of %s has no %s", l->kernel, l->grid_dims ? "block" : "grid");
}

static int check_launches(struct resolver *r)
{
    int status = 0;
    for (int i = 0; i < r->b->case_count * 2 && !status; i++) {
        bool cpu = i & 1;
        struct kb_names names = {0};
        if (cpu && !r->b->cases[i / 2].has_cpu)
            continue;
        status = kb_case_names(r->b, i / 2, cpu, r->v, &names, r->e);
        for (int k = 0; k < r->v->launch_count && !status; k++)
            status = check_launch(r, k, &names);
        kb_names_free(&names);
    }
    return status;
}

static void apply_command_line(struct kb_variant *v, char *const *defines, int count)
{
    for (int i = 0; i < count; i++) {
        size_t n = strcspn(defines[i], "=");
        char *name = kb_strndup(defines[i], n);
        set_define(v, name, defines[i][n] ? defines[i] + n + 1 : "1");
        free(name);
    }
}

int kb_variant_resolve(const struct kb_bench *b, int variant, const struct kb_source *source, struct kb_variant **out,
                       struct kb_error *e)
{
    return kb_variant_resolve_with(b, variant, source, NULL, 0, out, e);
}

int kb_variant_resolve_with(const struct kb_bench *b, int variant, const struct kb_source *source, char *const *defines,
                            int define_count, struct kb_variant **out, struct kb_error *e)
{
    *out = NULL;
    if (variant < 0 || variant >= b->variant_count)
        return kb_fail(e, b->name, NULL, "there is no variant %d, the bench has %d", variant, b->variant_count);
    cJSON *copy = kb_variant_to_json(&b->variants[variant]);
    struct resolver r = {.b = b, .index = variant, .source = source, .e = e};
    int status = kb_variant_from_json(copy, &r.v, e);
    cJSON_Delete(copy);
    if (status)
        return -1;
    r.origins = kb_alloc(sizeof *r.origins * (size_t)(r.v->launch_count + 1));
    status = apply_directives(&r);
    apply_command_line(r.v, defines, define_count);
    for (int k = 0; k < r.v->launch_count && !status; k++)
        bind_templates(&r, &r.v->launches[k]);
    if (!status)
        status = check_launches(&r);
    free(r.origins);
    if (status)
        kb_variant_free(r.v);
    else
        *out = r.v;
    return status;
}
