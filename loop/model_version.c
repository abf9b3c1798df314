// A version in the model: what it holds, and what its events change.
#include "base/memory.h"
#include "loop/findings.h"
#include "loop/model.h"
#include "loop/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kb_model_text(char **slot, const char *value)
{
    char *copy = kb_strdup(value);
    free(*slot);
    *slot = copy;
}

void kb_version_free_case(struct kb_model_case *c)
{
    KB_FORGET(c->run, case);
    KB_FORGET(c->verify, case);
    KB_FORGET(c->timing, timing);
    KB_FORGET(c->versus, versus);
    KB_FORGET(c->facts, facts);
    *c = (struct kb_model_case){0};
}

static void forget_seeds(struct kb_model_version *v)
{
    for (int i = 0; i < v->seed_count; i++)
        kb_record_free(&kb_record_seed, &v->seeds[i]);
    free(v->seeds);
    v->seeds = NULL;
    v->seed_count = v->seed_capacity = 0;
}

static void forget_not_tried(struct kb_model_version *v)
{
    for (int i = 0; i < v->not_tried_count; i++)
        free(v->not_tried[i]);
    free(v->not_tried);
    v->not_tried = NULL;
    v->not_tried_count = 0;
}

static void forget_late(struct kb_model_version *v)
{
    KB_FORGET(v->goal, goal);
    KB_FORGET(v->sections, sections);
    KB_FORGET(v->counters, counters);
    KB_FORGET(v->sass, sass);
    KB_FORGET(v->advice, advice);
    KB_FORGET(v->trace, trace);
    kb_findings_drop(v, 0, KB_RUNGS);
    free(v->findings);
    v->findings = NULL;
    v->finding_capacity = 0;
    forget_not_tried(v);
    forget_seeds(v);
}

void kb_version_clear(struct kb_model_version *v, int cases)
{
    for (int i = 0; v->cases && i < cases; i++)
        kb_version_free_case(&v->cases[i]);
    for (int i = 0; i < KB_RUNGS; i++) {
        free(v->rungs[i].reason);
        v->rungs[i] = (struct kb_rung_state){.ms = NAN};
    }
    KB_FORGET(v->exported, exported);
    forget_late(v);
    v->cold_us = v->warm_us = v->first_verdict_ms = NAN;
    v->impossible = false;
}

static void forget_compiled(struct kb_model_version *v)
{
    KB_FORGET(v->scan, scan);
    KB_FORGET(v->errors, errors);
    KB_FORGET(v->resources, resources);
}

void kb_version_free(struct kb_model_version *v, int cases)
{
    kb_version_clear(v, cases);
    free(v->cases);
    free(v->key);
    free(v->failed_rung);
    free(v->fault_of);
    free(v->git);
    free(v->source_hash);
    forget_compiled(v);
}

void kb_version_forget(struct kb_model_version *v, int cases)
{
    for (int i = 0; i < cases; i++)
        kb_version_free_case(&v->cases[i]);
    forget_compiled(v);
    forget_late(v);
    v->forgotten = true;
}

static void apply_rung(struct kb_model *m, struct kb_model_version *v, struct kb_ev_rung *r)
{
    int rung = kb_rung_parse(r->rung ?: ""), status = kb_status_parse(r->status ?: "?");
    if (rung < 0 || status < 0)
        return;
    struct kb_rung_state *state = &v->rungs[rung];
    if (status == KB_STATUS_RUNNING)
        kb_findings_drop(v, rung, rung >= KB_RUNG_LATE ? rung + 1 : KB_RUNGS);
    if (status == KB_STATUS_RUNNING && rung >= KB_RUNG_LATE) {
        state->since_ms = m->now_ms;          // the verdict stands
    } else if (status == KB_STATUS_RUNNING) { // a rung that starts again takes the ones behind it with it
        for (int i = rung; i < KB_RUNGS; i++) {
            kb_model_text(&v->rungs[i].reason, NULL);
            v->rungs[i] = (struct kb_rung_state){.ms = NAN};
        }
        if (rung <= KB_RUNG_VERIFY)
            forget_seeds(v);
        state->since_ms = m->now_ms;
        v->status = KB_STATUS_RUNNING;
        v->judged = false;
        v->done_ms = -1;
        kb_model_text(&v->failed_rung, NULL);
        kb_model_text(&v->fault_of, NULL);
    }
    if (status == KB_STATUS_FAIL)
        kb_model_text(&v->fault_of, r->fault_of);
    state->status = (enum kb_status)status;
    state->ms = r->ms;
    state->doubt = r->doubt;
    kb_model_text(&state->reason, r->reason);
    if (rung == KB_RUNG_VERIFY) {
        forget_not_tried(v);
        v->not_tried = r->not_tried;
        v->not_tried_count = r->not_tried_count;
        r->not_tried = NULL;
        r->not_tried_count = 0;
    }
}

static void add_seed(struct kb_model_version *v, struct kb_ev_seed *seed)
{
    KB_GROW(v->seeds, v->seed_count, v->seed_capacity);
    v->seeds[v->seed_count++] = *seed;
    kb_record_init(&kb_record_seed, seed);
}

static struct kb_model_case *case_of(struct kb_model *m, struct kb_model_version *v, int64_t index)
{
    return index >= 0 && index < m->case_count ? &v->cases[index] : NULL;
}

static void apply_case(struct kb_model *m, struct kb_model_version *v, struct kb_event *e)
{
    const struct kb_ev_case *result = e->body;
    struct kb_model_case *c = case_of(m, v, result->index);
    if (c && result->rung && !strcmp(result->rung, "run"))
        KB_KEEP(c->run, e);
    else if (c)
        KB_KEEP(c->verify, e);
}

static void apply_timing(struct kb_model *m, struct kb_model_version *v, struct kb_event *e)
{
    const struct kb_ev_timing *t = e->body;
    struct kb_model_case *c = case_of(m, v, t->index);
    if (!c)
        return;
    KB_KEEP(c->timing, e);
    if (t->index != m->headline)
        return;
    v->impossible = KB_WITHIN(t, roofline, roofline)->impossible;
    if (v->status == KB_STATUS_FAIL) // measured while `races` found it wrong
        return;
    v->cold_us = v->impossible ? NAN : KB_WITHIN(t, cold, interval)->median_us;
    v->warm_us = t->warm ? t->warm->median_us : NAN;
}

// Of names that both know, the later one's. What is replaced stays in from, and goes with it.
#define MERGE(to, from, list)                                                                                          \
    do {                                                                                                               \
        size_t most = (size_t)((to)->list##_count + (from)->list##_count + 1);                                         \
        (to)->list = kb_realloc((to)->list, sizeof *(to)->list * most);                                                \
        for (int i = 0; i < (from)->list##_count; i++) {                                                               \
            int k = 0;                                                                                                 \
            while (k < (to)->list##_count && strcmp((to)->list[k].name, (from)->list[i].name))                         \
                k++;                                                                                                   \
            if (k == (to)->list##_count)                                                                               \
                memset(&(to)->list[(to)->list##_count++], 0, sizeof *(to)->list);                                      \
            __typeof__(*(to)->list) before = (to)->list[k];                                                            \
            (to)->list[k] = (from)->list[i];                                                                           \
            (from)->list[i] = before;                                                                                  \
        }                                                                                                              \
    } while (0)

static void apply_counters(struct kb_model_version *v, struct kb_event *e)
{
    struct kb_ev_counters *from = e->body;
    if (!v->counters || !from->stage || strcmp(from->stage, "rest")) {
        KB_KEEP(v->counters, e);
        return;
    }
    MERGE(v->counters, from, metrics);
    MERGE(v->counters, from, about);
    kb_model_text(&v->counters->stage, "all");
}

// A version that failed after it had passed is nobody's baseline any more.
static void drop_comparisons(struct kb_model *m, const char *variant, int number)
{
    for (int i = 0; i < m->variant_count; i++)
        for (int k = 0; k < m->variants[i].version_count; k++)
            for (int c = 0; c < m->case_count; c++) {
                struct kb_ev_versus **versus = &m->variants[i].versions[k].cases[c].versus;
                const struct kb_ev_ref *baseline = *versus ? (*versus)->baseline : NULL;
                if (baseline && baseline->version == number && !strcmp(baseline->variant ?: "", variant))
                    KB_FORGET(*versus, versus);
            }
}

// Recordings of before there were verdicts have `done` in their place.
static void apply_verdict(struct kb_model *m, struct kb_model_version *v, const struct kb_event *e)
{
    const struct kb_ev_verdict *verdict = e->body;
    int status = kb_status_parse(verdict->status ?: "?");
    if (status < 0 || (v->judged && e->again))
        return;
    v->judged = !e->again;
    v->status = (enum kb_status)status;
    v->done_ms = m->now_ms;
    if (!isnan(verdict->first_verdict_ms))
        v->first_verdict_ms = verdict->first_verdict_ms;
    kb_model_text(&v->failed_rung, verdict->rung);
    kb_model_text(&v->fault_of, verdict->fault_of);
    if (v->status != KB_STATUS_FAIL)
        return;
    v->cold_us = v->warm_us = NAN; // a wrong version has no speed, and met no goal
    KB_FORGET(v->goal, goal);
    if (v->number)
        drop_comparisons(m, e->variant, v->number);
}

void kb_version_apply(struct kb_model *m, struct kb_model_version *v, struct kb_event *e)
{
    struct kb_model_case *c;
    switch (e->type) {
    case KB_EVENT_rung:
        apply_rung(m, v, e->body);
        break;
    case KB_EVENT_verdict:
        apply_verdict(m, v, e);
        break;
    case KB_EVENT_case:
        apply_case(m, v, e);
        break;
    case KB_EVENT_timing:
        apply_timing(m, v, e);
        break;
    case KB_EVENT_versus:
        if ((c = case_of(m, v, ((struct kb_ev_versus *)e->body)->index)))
            KB_KEEP(c->versus, e);
        break;
    case KB_EVENT_facts:
        if ((c = case_of(m, v, ((struct kb_ev_facts *)e->body)->index)))
            kb_model_add_facts(&c->facts, e);
        break;
    case KB_EVENT_scan:
        KB_KEEP(v->scan, e);
        break;
    case KB_EVENT_errors:
        KB_KEEP(v->errors, e);
        break;
    case KB_EVENT_resources:
        KB_KEEP(v->resources, e);
        break;
    case KB_EVENT_findings:
        kb_findings_add(v, e->body);
        break;
    case KB_EVENT_seed:
        add_seed(v, e->body);
        break;
    case KB_EVENT_goal:
        KB_KEEP(v->goal, e);
        break;
    case KB_EVENT_exported:
        KB_KEEP(v->exported, e);
        break;
    case KB_EVENT_sections:
        KB_KEEP(v->sections, e);
        break;
    case KB_EVENT_counters:
        apply_counters(v, e);
        break;
    case KB_EVENT_sass:
        KB_KEEP(v->sass, e);
        break;
    case KB_EVENT_advice:
        KB_KEEP(v->advice, e);
        break;
    case KB_EVENT_trace:
        KB_KEEP(v->trace, e);
        break;
    default:
        break;
    }
}
