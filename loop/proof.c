#include "loop/proof.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct kb_ev_proof *p, const char *kind, const char *what, const char *reason, bool fails)
{
    p->gaps = kb_realloc(p->gaps, sizeof *p->gaps * (size_t)(p->gaps_count + 1));
    p->gaps[p->gaps_count++] = (struct kb_ev_gap){kb_strdup(kind), kb_strdup(what), kb_strdup(reason), fails};
    p->proven = p->proven && !fails;
}

// Those that say whether a version is right.
static void add_rungs(struct kb_ev_proof *p, const struct kb_model_version *v)
{
    static const enum kb_rung proving[] = {KB_RUNG_RUN, KB_RUNG_VERIFY, KB_RUNG_RACES};
    for (size_t i = 0; i < KB_COUNT(proving); i++) {
        const struct kb_rung_state *r = &v->rungs[proving[i]];
        bool watched =
            v->rungs[KB_RUNG_RUN].status == KB_STATUS_PASS && !strcmp(r->reason ? r->reason : "", KB_WATCHED_ALREADY);
        if (r->status == KB_STATUS_NA && !watched)
            add(p, "not proven", kb_rungs[proving[i]].name, r->reason, true);
    }
}

// `races` looks at as many cases as its budget allows, from the smallest on: "3 of 4 cases: why not more".
static void add_races(struct kb_ev_proof *p, const struct kb_model_version *v)
{
    const struct kb_rung_state *r = &v->rungs[KB_RUNG_RACES];
    int clean, all;
    if (r->status != KB_STATUS_PASS || !r->reason || sscanf(r->reason, "%d of %d cases:", &clean, &all) != 2)
        return;
    char *what = kb_format("races in %d of %d cases", all - clean, all);
    const char *colon = strchr(r->reason, ':');
    add(p, "not run", what, colon[1] ? colon + 2 : NULL, false);
    free(what);
}

static void add_cases(struct kb_ev_proof *p, const struct kb_model *m, const struct kb_model_version *v)
{
    for (int i = 0; i < m->case_count; i++) {
        const struct kb_ev_case *c = kb_model_result(&v->cases[i]) ?: &kb_unknown_case;
        if (c->status && !strcmp(c->status, "na"))
            add(p, "not run", kb_model_case(m, i)->label ?: "?", c->reason, true);
    }
    for (int i = 0; i < m->case_count; i++)
        if (kb_model_case(m, i)->not_run && kb_model_result(&v->cases[i]))
            add(p, "not run", kb_model_case(m, i)->not_run, NULL, false);
}

static void add_inputs(struct kb_ev_proof *p, char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        add(p, "not tried", list[i], NULL, true);
}

struct kb_ev_proof kb_proof_of(const struct kb_model *m, const struct kb_model_version *v)
{
    struct kb_ev_proof p = {.proven = true};
    if (!v || v->status != KB_STATUS_PASS)
        return p;
    add_rungs(&p, v);
    add_cases(&p, m, v);
    add_races(&p, v);
    add_inputs(&p, v->not_tried, v->not_tried_count);
    for (int i = 0; i < m->case_count; i++)
        if (v->cases[i].verify)
            add_inputs(&p, v->cases[i].verify->not_tried, v->cases[i].verify->not_tried_count);
    return p;
}

void kb_proof_free(struct kb_ev_proof *p)
{
    kb_record_free(&kb_record_proof, p);
}

char *kb_gap_text(const struct kb_ev_gap *g)
{
    const char *kind = g->kind ?: "?";
    return kb_format("%s: %s%s%s", !strcmp(kind, "not run") ? "NOT RUN" : kind, g->what ?: "?", g->reason ? ": " : "",
                     g->reason ?: "");
}

struct seeds {
    int tried, passed, failed;
    const struct kb_ev_seed *first_failed;
};

static bool ended(const struct kb_ev_seed *s, const char *status)
{
    return s->status && !strcmp(s->status, status);
}

static struct seeds count_seeds(const struct kb_model_version *v)
{
    struct seeds n = {0};
    for (int i = 0; i < v->seed_count; i++) {
        const struct kb_ev_seed *s = &v->seeds[i];
        if (s->again)
            continue;
        n.tried++;
        n.passed += ended(s, "pass");
        n.failed += ended(s, "fail");
        if (!n.first_failed && ended(s, "fail"))
            n.first_failed = s;
    }
    return n;
}

char *kb_seeds_text(const struct kb_model_version *v)
{
    struct kb_text out = {0};
    struct seeds n = count_seeds(v);
    for (int i = 0; i < v->seed_count; i++)
        if (v->seeds[i].again)
            kb_text_addf(&out, "%sseed %s, which failed before, was tried first: it %s", out.size ? "\n" : "",
                         v->seeds[i].seed ?: "?", ended(&v->seeds[i], "pass") ? "passed" : "fails again");
    int not_run = n.tried - n.passed - n.failed;
    if (n.tried)
        kb_text_addf(&out, "%s%d of %d seeds passed", out.size ? "\n" : "", n.passed, n.tried);
    if (not_run)
        kb_text_addf(&out, ", %d could not be tried", not_run);
    if (n.first_failed)
        kb_text_addf(&out, "; seed %s fails first: %s", n.first_failed->seed ?: "?",
                     n.first_failed->reason ?: "no reason was given");
    return out.data ? kb_text_take(&out) : NULL;
}

cJSON *kb_seeds_document(const struct kb_model_version *v)
{
    struct seeds n = count_seeds(v);
    if (!v->seed_count)
        return NULL;
    cJSON *out = cJSON_CreateObject(), *item;
    kb_json_set_number(out, "tried", n.tried);
    kb_json_set_number(out, "passed", n.passed);
    kb_json_set_text(out, "first_failed", n.first_failed ? n.first_failed->seed : NULL);
    if (!n.first_failed)
        kb_json_set_text(out, "first_failed_reason", "none fails");
    cJSON *list = cJSON_AddArrayToObject(out, "list");
    for (int i = 0; i < v->seed_count; i++) {
        cJSON_AddItemToArray(list, item = kb_record_write(&kb_record_seed, &v->seeds[i]));
        cJSON_DeleteItemFromObjectCaseSensitive(item, "case");
        cJSON_DeleteItemFromObjectCaseSensitive(item, "set");
    }
    return out;
}

// Recordings of before have no margin; the deciding metric and its bound tell most of it.
static double margin_of_output(const struct kb_ev_output *o)
{
    const struct kb_ev_tolerance *tolerance = KB_WITHIN(o, tolerance, tolerance);
    const char *metric = tolerance->metric ?: "";
    if (!isnan(o->margin) || o->margin_reason)
        return o->margin;
    bool distance = !strcmp(metric, "scaled") || !strncmp(metric, "max_", 4) || !strcmp(metric, "rmse");
    double value = kb_record_number(&kb_record_metrics, KB_WITHIN(o, metrics, metrics), metric);
    return distance && tolerance->bound > 0 ? value / tolerance->bound : NAN;
}

double kb_margin_of(const struct kb_model_version *v, int index, const char **reason)
{
    const struct kb_ev_case *c = v->cases[index].verify;
    double worst = NAN;
    const char *why = "not compared with a reference";
    for (int i = 0; c && i < c->outputs_count; i++) {
        worst = fmax(worst, margin_of_output(&c->outputs[i])); // of a number and a NAN the number
        why = c->outputs[i].margin_reason ?: why;
    }
    if (reason)
        *reason = isnan(worst) ? why : NULL;
    return worst;
}

double kb_worst_margin(const struct kb_model *m, const struct kb_model_version *v)
{
    double worst = NAN;
    for (int i = 0; v && i < m->case_count; i++)
        worst = fmax(worst, kb_margin_of(v, i, NULL));
    return worst;
}
