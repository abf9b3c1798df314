// The `session` event (first of the stream), and the `bench` event with the same fields when bench.json changed.
#include "base/json_exact.h"
#include "loop/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static cJSON *args_of(const struct kb_bench *b)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < b->arg_count; i++) {
        const struct kb_arg *a = &b->args[i];
        cJSON *item = cJSON_CreateObject(), *shape = cJSON_AddArrayToObject(item, "shape");
        kb_json_set_text(item, "name", a->name);
        kb_json_set_text(item, "role", kb_role_name(a->role));
        kb_json_set_text(item, "dtype", kb_dtype_name(a->dtype));
        for (int d = 0; d < a->ndim; d++)
            cJSON_AddItemToArray(shape, cJSON_CreateString(a->shape[d]));
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *names_of(const struct kb_names *names)
{
    cJSON *object = cJSON_CreateObject();
    for (int i = 0; i < names->count; i++)
        kb_json_set_int(object, names->items[i].name, names->items[i].value);
    return object;
}

// The values that the CPU device replaces, where it does: "4096 x 4096 (64 rows were)".
static char *not_run(const struct kb_session *s, int index)
{
    const struct kb_names *small = &s->bench->cases[index].cpu_over;
    struct kb_names full = {0};
    struct kb_text ran = {0};
    kb_case_names(s->bench, index, false, NULL, &full, NULL);
    for (int i = 0; kb_on_cpu(s) && i < small->count; i++) {
        const int64_t *own = kb_names_get(&full, small->items[i].name);
        if (!own || *own != small->items[i].value)
            kb_text_addf(&ran, "%s%" PRId64 " %s", ran.size ? ", " : "", small->items[i].value, small->items[i].name);
    }
    kb_names_free(&full);
    if (!ran.size)
        return NULL;
    char *label = kb_case_label(s->bench, index, false), *text = kb_format("%s (%s were)", label, ran.data);
    kb_text_free(&ran);
    free(label);
    return text;
}

static cJSON *cases_of(const struct kb_session *s)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < s->bench->case_count; i++) {
        cJSON *item = cJSON_CreateObject();
        char *label = kb_case_label(s->bench, i, kb_on_cpu(s)), *left = not_run(s, i);
        struct kb_names names = {0};
        kb_json_set_number(item, "index", i);
        kb_json_set_text(item, "name", s->bench->cases[i].name);
        kb_json_set_text(item, "label", label);
        kb_json_set_bool(item, "timed", s->bench->cases[i].timed);
        kb_json_set_text(item, "not_run", left);
        if (kb_case_names(s->bench, i, kb_on_cpu(s), NULL, &names, NULL) == 0)
            kb_json_set(item, "params", names_of(&names));
        kb_names_free(&names);
        free(label);
        free(left);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *goal_of(const struct kb_goal *goal)
{
    if (goal->kind == KB_GOAL_NONE)
        return cJSON_CreateNull();
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "kind", goal->kind == KB_GOAL_ROOF ? "roof" : "versus");
    kb_json_set_number(item, "ratio", goal->ratio);
    kb_json_set_text(item, "versus", goal->kind == KB_GOAL_VERSUS ? goal->versus : NULL);
    return item;
}

static void add_work(cJSON *work, const char *key, const char *expression, const struct kb_names *names)
{
    double value = NAN;
    struct kb_error error = {0};
    char *why = NULL;
    if (!expression)
        why = kb_format("bench.json declares no work.%s", key);
    else if (kb_expr_eval_real(expression, names, &value, &error))
        why = kb_strdup(kb_error_line(&error));
    kb_json_measured(work, key, value, why);
    if (why)
        kb_json_set_text(work, "reason", why);
    free(why);
}

static cJSON *work_of(const struct kb_session *s)
{
    cJSON *work = cJSON_CreateObject();
    struct kb_names names = {0};
    kb_json_set(work, "reason", cJSON_CreateNull());
    kb_case_names(s->bench, kb_bench_headline(s->bench), kb_on_cpu(s), NULL, &names, NULL);
    add_work(work, "flops", s->bench->flops, &names);
    add_work(work, "bytes", s->bench->bytes, &names);
    kb_names_free(&names);
    return work;
}

static const char *kind_name(enum kb_variant_kind kind)
{
    return kind == KB_VARIANT_CUDA ? "cuda" : kind == KB_VARIANT_LIBRARY ? "library" : "command";
}

static cJSON *variants_of(const struct kb_bench *b)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < b->variant_count; i++) {
        const struct kb_variant *v = &b->variants[i];
        cJSON *item = cJSON_CreateObject();
        kb_json_set_text(item, "name", v->name);
        kb_json_set_text(item, "kind", kind_name(v->kind));
        kb_json_set_text(item, "source", v->source);
        kb_json_set_text(item, "kernel", v->launch_count ? v->launches[0].kernel : NULL);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *guess_of(const struct kb_guess *g)
{
    cJSON *guess = cJSON_CreateObject();
    kb_json_set_text(guess, "text", g->headline);
    kb_json_set_text(guess, "skeleton", g->skeleton);
    return guess;
}

static cJSON *bench_of(const struct kb_session *s)
{
    cJSON *bench = cJSON_CreateObject();
    kb_json_set_text(bench, "name", s->bench->name);
    kb_json_set_text(bench, "path", s->bench->path[0] ? s->bench->path : s->bench_path);
    kb_json_set_text(bench, "contract", s->contract);
    kb_json_set_bool(bench, "inferred", s->inferred);
    kb_json_set(bench, "guess", s->inferred ? guess_of(&s->guess) : cJSON_CreateNull());
    kb_json_set(bench, "args", args_of(s->bench));
    return bench;
}

void kb_sources_announce(struct kb_session *s)
{
    cJSON *event = kb_event(s->announced ? "bench" : "session");
    char utc[21], seed[32];
    kb_utc_iso(utc);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
    kb_json_set_number(event, "kbench", KB_PROTOCOL);
    kb_json_set_text(event, "tool", "kbench-tui " KB_VERSION);
    kb_json_set_text(event, "utc", utc);
    kb_json_set_text(event, "seed", seed);
    kb_json_set(event, "bench", bench_of(s));
    kb_json_set(event, "params", names_of(&s->bench->params));
    kb_json_set(event, "cases", cases_of(s));
    kb_json_set_number(event, "headline", kb_bench_headline(s->bench));
    kb_json_set(event, "goal", goal_of(&s->bench->goal));
    kb_json_set(event, "work", work_of(s));
    kb_json_set(event, "variants", variants_of(s->bench));
    kb_json_set_text(event, "focus", s->focus);
    s->announced = true;
    kb_emit(s, event);
}
