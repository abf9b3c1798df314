// Which kernel of a source that no bench lists.
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"
#include "bench/guess_parts.h"

#include <stdlib.h>
#include <string.h>

static void add_scan(struct kb_guessing *g, struct kb_source *scan, const char *text, const char *path)
{
    g->scans = kb_realloc(g->scans, sizeof *g->scans * (size_t)(g->scan_count + 1));
    struct kb_guess_scan *added = &g->scans[g->scan_count++];
    *added = (struct kb_guess_scan){.source = *scan, .path = path};
    for (int i = 0; i < g->code.text_count && !added->text; i++)
        if (g->code.texts[i]->from == text)
            added->text = g->code.texts[i];
}

static int kernels_of(const struct kb_source *scan, bool defined)
{
    int count = 0;
    for (int i = 0; i < scan->kernel_count; i++)
        count += !defined || scan->kernels[i].end_line;
    return count;
}

static void add_candidates(struct kb_guessing *g)
{
    for (int k = 0; k < g->scan_count; k++) {
        const struct kb_source *scan = &g->scans[k].source;
        g->candidates =
            kb_realloc(g->candidates, sizeof *g->candidates * (size_t)(g->candidate_count + scan->kernel_count + 1));
        for (int i = 0; i < scan->kernel_count; i++)
            if (scan->kernels[i].end_line)
                g->candidates[g->candidate_count++] = (struct kb_guess_candidate){&g->scans[k], &scan->kernels[i]};
    }
}

int kb_guess_start(struct kb_guessing *g, struct kb_error *e)
{
    const struct kb_guess_source *s = g->source;
    struct kb_source scan;
    if (kb_source_scan(s->text, s->size, s->path, &scan, e))
        return -1;
    bool own = kernels_of(&scan, true) > 0;
    kb_code_read(s, &g->code);
    add_scan(g, &scan, s->text, s->path);
    for (int i = 0; !own && i < s->header_count; i++) {
        const char *path = s->headers[i].path ? s->headers[i].path : "";
        if (!kb_source_scan(s->headers[i].text, s->headers[i].size, path, &scan, NULL))
            add_scan(g, &scan, s->headers[i].text, path);
    }
    add_candidates(g);
    if (!g->candidate_count && kernels_of(&g->scans[0].source, false))
        return kb_fail(e, s->path, "open the file that defines it", "there is no kernel in it: it only declares %s",
                       g->scans[0].source.kernels[0].name);
    if (!g->candidate_count)
        return kb_fail(e, s->path, "a kernel is a function marked __global__", "there is no kernel in it");
    return 0;
}

void kb_guess_end(struct kb_guessing *g)
{
    kb_guess_template_drop(g);
    free(g->template_args);
    for (int i = 0; i < g->scan_count; i++)
        kb_source_free(&g->scans[i].source);
    free(g->scans);
    free(g->candidates);
    kb_code_free(&g->code);
}

static bool same_args(char *const *a, char *const *b, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(a[i], b[i]))
            return false;
    return true;
}

// The launch of just this instance, where the file has several.
static void launch_of_instance(struct kb_guessing *g)
{
    struct kb_code_launch launch;
    char **args = g->template_args;
    int count = g->template_arg_count;
    bool guessed = g->instance, found = false;
    for (int n = 0; count && !found && kb_code_launch(&g->code, g->kernel->name, n, &launch); n++) {
        g->template_args = NULL;
        g->template_arg_count = 0;
        found = kb_guess_template_written(g, launch.args) && g->template_arg_count == count &&
                same_args(g->template_args, args, count);
        kb_guess_template_drop(g);
        free(g->template_args);
    }
    g->template_args = args;
    g->template_arg_count = count;
    g->instance = guessed;
    if (found)
        g->launch = launch;
}

static void take(struct kb_guessing *g, const struct kb_guess_candidate *c)
{
    kb_guess_template_drop(g);
    g->in = c->in;
    g->kernel = c->kernel;
    g->launched = kb_code_launch(&g->code, c->kernel->name, 0, &g->launch);
    if (!g->launched)
        g->launch = (struct kb_code_launch){0};
    kb_guess_template(g);
}

// The first kernel whose types are all known; else the first where only pointers hide theirs; else the first.
static const struct kb_guess_candidate *best(struct kb_guessing *g)
{
    const struct kb_guess_candidate *known = NULL, *hidden = NULL;
    for (int i = g->candidate_count - 1; i >= 0; i--) {
        take(g, &g->candidates[i]);
        known = kb_guess_types_known(g, true) ? &g->candidates[i] : known;
        hidden = kb_guess_types_known(g, false) ? &g->candidates[i] : hidden;
    }
    return known ? known : hidden ? hidden : &g->candidates[0];
}

// With its scope, or without where nothing else is called so.
static bool is_called(const struct kb_source_kernel *k, const char *name, size_t n)
{
    size_t scope = strlen(k->scope);
    if (strlen(k->name) == n && !memcmp(k->name, name, n))
        return true;
    return scope && n == scope + 2 + strlen(k->name) && !memcmp(name, k->scope, scope) &&
           !memcmp(name + scope, "::", 2) && !memcmp(name + scope + 2, k->name, n - scope - 2);
}

static int unknown(const struct kb_guessing *g, struct kb_error *e)
{
    const char **names = kb_alloc(sizeof *names * (size_t)(g->candidate_count + 1));
    for (int i = 0; i < g->candidate_count; i++)
        names[i] = g->candidates[i].kernel->name;
    const char *near = kb_nearest(g->source->wanted, names, (size_t)g->candidate_count);
    char *remedy = kb_format(near ? "did you mean %s?" : "it has %s", near ? near : names[0]);
    free(names);
    kb_fail(e, g->source->path, remedy, "there is no kernel %s in it", g->source->wanted);
    free(remedy);
    return -1;
}

// What was asked for may be what the list proposed: no less of a guess. Leaves the arguments that were asked for.
static bool is_own_guess(struct kb_guessing *g, const struct kb_guess_candidate *c)
{
    const char *wanted = g->wanted_args;
    if (!wanted)
        return false;
    char *asked = kb_guess_expression(g);
    g->wanted_args = NULL;
    take(g, c);
    char *guessed = kb_guess_expression(g);
    bool same = g->instance && !strcmp(asked, guessed);
    g->wanted_args = wanted;
    take(g, c);
    free(asked);
    free(guessed);
    return same;
}

int kb_guess_choose(struct kb_guessing *g, struct kb_error *e)
{
    const struct kb_guess_candidate *chosen = NULL;
    const char *wanted = g->source->wanted;
    if (wanted) {
        size_t n = strcspn(wanted, "<");
        g->wanted_args = wanted[n] ? wanted + n + 1 : NULL;
        while (n && wanted[n - 1] == ' ')
            n--;
        for (int i = 0; i < g->candidate_count && !chosen; i++)
            chosen = is_called(g->candidates[i].kernel, wanted, n) ? &g->candidates[i] : NULL;
    } else {
        chosen = best(g);
    }
    if (!chosen)
        return unknown(g, e);
    take(g, chosen);
    g->instance = g->instance || is_own_guess(g, chosen);
    launch_of_instance(g);
    return 0;
}

// The list

static char *params_of(const struct kb_source_kernel *k)
{
    struct kb_text out = {0};
    for (int i = 0; i < k->param_count; i++)
        kb_text_addf(&out, "%s%s%s%s", i ? ", " : "", k->params[i].type,
                     k->params[i].name[0] && !kb_ends(k->params[i].type, "*") ? " " : "", k->params[i].name);
    return out.data ? kb_text_take(&out) : kb_strdup("");
}

// Takes kernel; one that is there already is not added again.
static void add_choice(struct kb_guess_choices *out, const struct kb_guessing *g, char *kernel)
{
    for (int i = 0; i < out->count; i++)
        if (!strcmp(out->list[i].kernel, kernel)) {
            free(kernel);
            return;
        }
    out->list = kb_realloc(out->list, sizeof *out->list * (size_t)(out->count + 1));
    out->list[out->count++] =
        (struct kb_guess_choice){kernel, params_of(g->kernel), kb_strdup(g->in->path), g->kernel->line, g->instance};
}

static void add_instance(struct kb_guess_choices *out, struct kb_guessing *g, const char *args)
{
    char *wanted = kb_format("%s>", args);
    g->wanted_args = wanted;
    kb_guess_template_drop(g);
    kb_guess_template(g);
    add_choice(out, g, kb_guess_expression(g));
    g->wanted_args = NULL;
    free(wanted);
}

static void add_instances(struct kb_guess_choices *out, struct kb_guessing *g)
{
    struct kb_code_launch launch;
    for (int k = 0; k < g->scan_count; k++)
        for (int i = 0; i < g->scans[k].source.instance_count; i++) {
            const struct kb_source_instance *instance = &g->scans[k].source.instances[i];
            if (!strcmp(instance->kernel, g->kernel->name))
                add_instance(out, g, instance->args);
        }
    for (int n = 0; kb_code_launch(&g->code, g->kernel->name, n, &launch); n++) {
        kb_guess_template_drop(g);
        if (kb_guess_template_written(g, launch.args))
            add_choice(out, g, kb_guess_expression(g));
    }
    kb_guess_template_drop(g);
}

static void add_kernel(struct kb_guess_choices *out, struct kb_guessing *g, const struct kb_guess_candidate *c)
{
    int before = out->count;
    take(g, c);
    bool is_template = c->kernel->template_param_count > 0;
    char *expression = kb_guess_expression(g);
    if (is_template && g->instance)
        add_instances(out, g);
    else if (is_template) {
        add_choice(out, g, kb_strdup(expression));
        add_instances(out, g);
    }
    if (out->count == before) {
        g->instance = is_template;
        add_choice(out, g, kb_strdup(expression));
    }
    free(expression);
    out->kernels += out->count > before;
}

int kb_bench_guess_choices(const struct kb_guess_source *source, struct kb_guess_choices *out, struct kb_error *e)
{
    struct kb_guessing g = {.source = source};
    *out = (struct kb_guess_choices){0};
    int status = kb_guess_start(&g, e);
    for (int i = 0; !status && i < g.candidate_count; i++)
        add_kernel(out, &g, &g.candidates[i]);
    kb_guess_end(&g);
    return status;
}

void kb_guess_choices_free(struct kb_guess_choices *c)
{
    for (int i = 0; i < c->count; i++) {
        free(c->list[i].kernel);
        free(c->list[i].params);
        free(c->list[i].file);
    }
    free(c->list);
    *c = (struct kb_guess_choices){0};
}
