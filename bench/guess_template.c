// The instance of a template kernel that is tried.
#include "base/memory.h"
#include "base/text.h"
#include "bench/guess_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };

static void add(struct kb_guessing *g, char *owned)
{
    g->template_args = kb_realloc(g->template_args, sizeof(char *) * (size_t)(g->template_arg_count + 1));
    g->template_args[g->template_arg_count++] = owned;
}

// "float,4" or "Pair<int, 2>, 8" at the commas outside brackets.
static void add_all(struct kb_guessing *g, const char *text)
{
    int depth = 0;
    const char *start = text;
    for (const char *p = text;; p++) {
        depth += *p && strchr("<([{", *p) ? 1 : *p && strchr(">)]}", *p) ? -1 : 0;
        if (*p && (*p != ',' || depth))
            continue;
        start += strspn(start, " ");
        add(g, kb_strndup(start, (size_t)(p - start)));
        if (!*p)
            return;
        start = p + 1;
    }
}

void kb_guess_template_drop(struct kb_guessing *g)
{
    for (int t = 0; t < g->template_arg_count; t++)
        free(g->template_args[t]);
    g->template_arg_count = 0;
    g->instance = false;
}

static bool from_instance(struct kb_guessing *g)
{
    for (int k = 0; k < g->scan_count; k++)
        for (int i = 0; i < g->scans[k].source.instance_count; i++) {
            const struct kb_source_instance *instance = &g->scans[k].source.instances[i];
            if (strcmp(instance->kernel, g->kernel->name))
                continue;
            add_all(g, instance->args);
            return true;
        }
    return false;
}

static void as_wanted(struct kb_guessing *g)
{
    size_t n = strlen(g->wanted_args);
    while (n && strchr("> ", g->wanted_args[n - 1]) && g->wanted_args[n - 1] != '>')
        n--;
    char *inner = kb_strndup(g->wanted_args, n ? n - 1 : 0);
    if (inner[strspn(inner, " ")])
        add_all(g, inner);
    free(inner);
}

static bool is_type(const struct kb_guessing *g, int t)
{
    const char *kind = g->kernel->template_kinds[t];
    return kb_starts(kind, "typename") || kb_starts(kind, "class");
}

// What a launch writes there, if it means something outside its function: a number, or a type with a known name.
static char *from_launch(struct kb_guessing *g, int t, struct kb_code_range r)
{
    struct kb_code_scope scope = {.code = &g->code};
    char *text = kb_code_join(r), *number = is_type(g, t) ? NULL : kb_code_expression(&scope, r);
    int64_t value;
    int pointers;
    bool is_const, known = !strcmp(text, "true") || !strcmp(text, "false");
    struct kb_element element;
    if (is_type(g, t))
        known = kb_element_of_type(&g->code, text, &element, &pointers, &is_const);
    char *out = known                                                       ? kb_strdup(text)
                : number && !kb_expr_eval(number, &g->params, &value, NULL) ? kb_format("%lld", (long long)value)
                                                                            : NULL;
    free(text);
    free(number);
    return out;
}

static char *by_name(const struct kb_guessing *g, int t)
{
    static const char *const threads[] = {"block", "thread", "tpb", "size", "bs"};
    const char *name = g->kernel->template_params[t], *kind = g->kernel->template_kinds[t];
    if (is_type(g, t))
        return kb_strdup("float");
    if (kb_starts(kind, "bool"))
        return kb_strdup("true");
    for (size_t i = 0; i < KB_COUNT(threads); i++)
        if (strcasestr(name, threads[i]))
            return kb_strdup("256");
    return kb_strdup(strcasestr(name, "tile") || strcasestr(name, "dim") ? "16" : "4");
}

static bool rest_has_defaults(const struct kb_source_kernel *k, int from)
{
    bool all = true;
    for (int t = from; t < k->template_param_count; t++)
        all = all && (k->template_defaults[t] || strstr(k->template_kinds[t], "..."));
    return all;
}

bool kb_guess_template_written(struct kb_guessing *g, struct kb_code_range args)
{
    struct kb_code_range parts[MOST];
    int written = args.to > args.from ? kb_code_split(args, parts, MOST) : 0;
    for (int t = 0; t < written && t < g->kernel->template_param_count && t < MOST; t++) {
        char *said = from_launch(g, t, parts[t]);
        if (!said)
            return false;
        add(g, said);
    }
    return written > 0 && written <= MOST && rest_has_defaults(g->kernel, written);
}

void kb_guess_template(struct kb_guessing *g)
{
    const struct kb_source_kernel *k = g->kernel;
    struct kb_code_range parts[MOST];
    int written = 0;
    if (k->template_param_count && g->wanted_args)
        as_wanted(g);
    if (!k->template_param_count || g->wanted_args || from_instance(g))
        return;
    if (g->launched && g->launch.args.to > g->launch.args.from)
        written = kb_code_split(g->launch.args, parts, MOST);
    for (int t = 0; t < k->template_param_count && t < MOST; t++) {
        char *said = t < written ? from_launch(g, t, parts[t]) : NULL;
        if (!said && t >= written && rest_has_defaults(k, t))
            return;
        g->instance = g->instance || !said;
        add(g, said ? said : by_name(g, t));
    }
}
