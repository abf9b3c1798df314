// Arguments from the kernel's parameters.
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"
#include "bench/guess_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENTS = 1 << 24 };

static const struct kb_param_use *use_of(const struct kb_guessing *g, int i)
{
    const struct kb_guess_source *s = g->source;
    return s->kernel && s->use_count == g->kernel->param_count ? &s->uses[i] : NULL;
}

// The element of a parameter's type, through template arguments; false: nothing is known of it.
static bool element_of(const struct kb_guessing *g, const char *type, struct kb_element *out, int *pointers,
                       bool *is_const)
{
    char *bare = kb_bare_type(type, pointers, is_const);
    bool known = kb_element_of(&g->code, bare, out, pointers, is_const);
    for (int t = 0; !known && t < g->template_arg_count && t < g->kernel->template_param_count; t++) {
        int hidden = 0;
        bool const_here = false;
        if (strcmp(g->kernel->template_params[t], bare))
            continue;
        known = kb_element_of_type(&g->code, g->template_args[t], out, &hidden, &const_here);
        *pointers += hidden;
        *is_const = *is_const || const_here;
    }
    free(bare);
    return known;
}

bool kb_guess_types_known(struct kb_guessing *g, bool pointers_too)
{
    for (int i = 0; i < g->kernel->param_count; i++) {
        struct kb_element element = {0};
        int pointers;
        bool is_const, known = element_of(g, g->kernel->params[i].type, &element, &pointers, &is_const);
        bool fits = known && pointers <= 1 && (pointers || element.lanes == 1);
        if (!fits && (pointers_too || !pointers))
            return false;
    }
    return true;
}

// A param may not have the name of something else in a case or an expression, or of another one.
static char *safe_name(const struct kb_guessing *g, int index)
{
    static const char *const reserved[] = {"name", "time", "cpu", "fill", "min", "max", "ceil_div", "comment"};
    const char *name = g->kernel->params[index].name;
    if (!kb_is_identifier(name))
        return kb_format("arg%d", index);
    for (int i = 0; i < index; i++)
        if (!strcmp(g->args[i].name, name))
            return kb_format("arg%d", index);
    for (size_t i = 0; i < KB_COUNT(reserved); i++)
        if (!strcmp(name, reserved[i]))
            return kb_format("%s_", name);
    return kb_strdup(name);
}

static enum kb_role role_of(const struct kb_param_use *use, bool is_const, bool *counted)
{
    *counted = use && use->known && use->atomics && !use->loads;
    if (use && use->known && (use->loads || use->stores || use->atomics)) {
        bool in = use->loads || use->atomics, out = use->stores || use->atomics;
        return in && out ? KB_INOUT : in ? KB_INPUT : KB_OUTPUT;
    }
    if (use && use->known)
        return KB_INPUT; // it is never used
    return is_const ? KB_INPUT : KB_OUTPUT;
}

// What the code loads or stores there, where the source does not tell.
static void type_by_use(struct kb_guessed_arg *a, const struct kb_param_use *use)
{
    static const struct {
        const char *type;
        enum kb_dtype dtype;
        int lanes;
    } types[] = {{"f64", KB_F64, 1}, {"f32", KB_F32, 1}, {"f16", KB_F16, 1}, {"bf16", KB_BF16, 1},
                 {"b64", KB_I64, 1}, {"b32", KB_I32, 1}, {"b16", KB_U8, 2},  {"b8", KB_U8, 1}};
    for (size_t i = 0; use && i < KB_COUNT(types); i++) {
        if (strcmp(use->type, types[i].type))
            continue;
        a->dtype = types[i].dtype;
        int elements = use->width / (int)kb_dtype_bytes(a->dtype);
        a->lanes = elements > types[i].lanes ? elements : types[i].lanes;
        a->open = types[i].type[0] == 'b' && types[i].type[1] != 'f';
    }
}

static void pointer(struct kb_guessing *g, int i, bool known, bool is_const)
{
    struct kb_guessed_arg *a = &g->args[i];
    const struct kb_param_use *use = use_of(g, i);
    a->role = role_of(use, is_const, &a->counted);
    if (!known) {
        a->open = true;
        a->dtype = KB_U8;
        a->lanes = 16;
        type_by_use(a, use);
    }
}

static bool has_word(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

// What an integer is for, by its name: loops run a few times, places are 0, switches are on; else it is a size.
static void number_by_name(struct kb_guessed_arg *a, const char *name, bool is_switch)
{
    static const char *const loops[] = {"iter", "step", "loop", "repeat", "round", "epoch", "reps"};
    static const char *const places[] = {"offset", "start", "begin", "first", "seed",  "shift",
                                         "root",   "rank",  "index", "idx",   "level", "phase"};
    static const char *const small[] = {"radius", "ksize", "kernel_size", "kernelsize", "filter", "mask_"};
    static const char *const switches[] = {"flag", "is_", "use_", "enable", "mode"};
    a->value = has_word(name, loops, KB_COUNT(loops))                      ? 4
               : has_word(name, places, KB_COUNT(places))                  ? 0
               : has_word(name, small, KB_COUNT(small))                    ? 3
               : is_switch || has_word(name, switches, KB_COUNT(switches)) ? 1
                                                                           : -1;
    a->is_size = a->value < 0;
}

static void scalar(struct kb_guessing *g, int i, bool known, const struct kb_element *element)
{
    struct kb_guessed_arg *a = &g->args[i];
    const struct kb_param_use *use = use_of(g, i);
    a->role = KB_SCALAR;
    if (!known) {
        a->open = true;
        a->dtype = use && use->bytes == 8 ? KB_I64 : use && use->bytes == 1 ? KB_U8 : KB_I32;
    }
    if (kb_dtype_is_float(a->dtype))
        return;
    a->is_param = true;
    number_by_name(a, g->kernel->params[i].name, !known || element->is_bool || kb_dtype_bytes(a->dtype) == 1);
    if (a->is_size && g->size_count < KB_GUESS_SIZES)
        g->sizes[g->size_count++] = a->name;
}

static void guess_arg(struct kb_guessing *g, int i)
{
    struct kb_element element = {0};
    int pointers;
    bool is_const, known = element_of(g, g->kernel->params[i].type, &element, &pointers, &is_const);
    struct kb_guessed_arg *a = &g->args[i];
    const struct kb_param_use *use = use_of(g, i);
    if (kb_guess_is_ptx(g) && pointers && use && use->known && !use->loads && !use->stores && !use->atomics) {
        element = (struct kb_element){.dtype = KB_I64, .lanes = 1}; // 64 bits that are no address
        known = true;
        pointers = 0;
    }
    known = known && pointers <= 1 && (pointers || element.lanes == 1);
    a->name = safe_name(g, i);
    a->dtype = element.dtype;
    a->lanes = known ? element.lanes : 1;
    if (pointers)
        pointer(g, i, known, is_const);
    else
        scalar(g, i, known, &element);
}

static void add_name(struct kb_guessing *g, char *name, const char *means)
{
    struct kb_code_scope *s = &g->scope;
    if (kb_code_meaning(s, name)) {
        free(name);
        return;
    }
    s->names = kb_realloc(s->names, sizeof *s->names * (size_t)(s->count + 1));
    s->names[s->count++] = (struct kb_code_name){name, means};
}

static bool is_one_name(struct kb_code_range r)
{
    return r.to == r.from + 1 && r.in->tokens.items[r.from].type == KB_TOKEN_NAME;
}

// The launch's own names for the sizes that it passes stand for the params.
static void name_sizes(struct kb_guessing *g)
{
    for (int i = 0; i < g->kernel->param_count && i < g->launch.call_count; i++)
        if (g->args[i].is_size && is_one_name(g->launch.call[i]))
            add_name(g, kb_code_join(g->launch.call[i]), g->args[i].name);
}

static bool constant_of(const struct kb_guessing *g, struct kb_code_range r, int64_t *value)
{
    struct kb_code_scope only = {.code = &g->code};
    char *text = kb_code_expression(&only, r);
    bool known = text && !kb_expr_eval(text, &g->params, value, NULL);
    free(text);
    return known;
}

// Small enough to be run at once on a CPU, all of them together.
static void value_of(struct kb_guessing *g, int i)
{
    static const int64_t usual[] = {KB_GUESS_LONE, KB_GUESS_LONE, 256, 128, 32, 8, 8, 4, 4},
                         most[] = {1 << 16, 1 << 16, 1024, 256, 64, 16, 16, 8, 8};
    struct kb_guessed_arg *a = &g->args[i];
    int64_t said = -1;
    bool read = i < g->launch.call_count && constant_of(g, g->launch.call[i], &said);
    if (a->is_size)
        a->value = read && said >= 1 && said <= most[g->size_count] ? said : usual[g->size_count];
    else if (read && said >= 0 && said <= (a->value > 1 ? 2 * a->value : 1024))
        a->value = said;
    kb_names_set(&g->params, a->name, a->value);
}

// A scalar that the launch makes from sizes is that expression.
static void expression_of(struct kb_guessing *g, int i)
{
    struct kb_guessed_arg *a = &g->args[i];
    int64_t ignored, value;
    if (i >= g->launch.call_count || is_one_name(g->launch.call[i]) || constant_of(g, g->launch.call[i], &ignored))
        return;
    a->text = kb_code_expression(&g->scope, g->launch.call[i]);
    if (a->text && (kb_expr_eval(a->text, &g->params, &value, NULL) || value < 0)) {
        free(a->text);
        a->text = NULL;
    }
}

// As many elements as the file allocates for what it passes.
static void elements_of(struct kb_guessing *g, int i)
{
    struct kb_guessed_arg *a = &g->args[i];
    struct kb_code_range bytes;
    if (i >= g->launch.call_count || !is_one_name(g->launch.call[i]))
        return;
    char *name = kb_code_join(g->launch.call[i]), *text = NULL;
    int64_t count = 0;
    if (kb_code_allocation(name, g->launch.call[i], &bytes))
        text = kb_code_expression(&g->scope, bytes);
    if (text)
        a->text = kb_format("(%s)/%zu", text, kb_dtype_bytes(a->dtype));
    if (a->text && (kb_expr_eval(a->text, &g->params, &count, NULL) || count < 1 || count > MOST_ELEMENTS)) {
        free(a->text);
        a->text = NULL;
    }
    free(name);
    free(text);
}

void kb_guess_args(struct kb_guessing *g)
{
    int n = g->kernel->param_count;
    g->args = kb_alloc(sizeof *g->args * (size_t)(n + 1));
    g->scope.code = &g->code;
    for (int i = 0; i < n; i++)
        guess_arg(g, i);
    name_sizes(g);
    for (int i = 0; i < n; i++)
        if (g->args[i].is_param)
            value_of(g, i);
    for (int i = 0; i < n; i++)
        if (g->args[i].role != KB_SCALAR)
            elements_of(g, i);
        else if (g->args[i].is_param && !g->args[i].is_size)
            expression_of(g, i);
}
