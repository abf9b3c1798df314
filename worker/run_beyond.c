// What `verify` tries beyond the cases: hard inputs, sizes next to the timed ones, calls again and again.
#include "base/memory.h"
#include "verify/neighbour.h"
#include "verify/repeat.h"
#include "verify/stress.h"
#include "worker/run_verify_parts.h"

#include <stdio.h>
#include <stdlib.h>

// A trial beyond the declared ones: told only where it failed, since it passes for one case like any other.
static void tell_beyond(struct run_worker *w, const struct kb_frame *f, struct run_version *v,
                        const struct kb_case_data *c, const struct run_calls *made, struct kb_trial *t,
                        struct run_outcome *o)
{
    if (t->pass ||
        run_trial_refused(w, t)) // what is refused here was refused in the case itself, or by inputs of our own
        return;
    char *label = run_trial_label(c, t);
    run_send_case(w, f, v->key, c, made, t);
    run_send_findings(f, "verify", v->key, c, t);
    run_send_facts(f, v->key, c, t);
    run_note_failure(o, label, true, false, t->reason);
    free(label);
}

static void leave_out(struct run_worker *w, const struct kb_case_data *c, const char *inputs, const char *why)
{
    char *text = kb_format("%s: %s (%s)", c->label, inputs, why);
    w->not_tried = w->not_tried ? w->not_tried : cJSON_CreateArray();
    cJSON_AddItemToArray(w->not_tried, cJSON_CreateString(text));
    free(text);
}

// One call: what two calls tell, the cases have told.
static int try_single(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct kb_case_data *c,
                      struct kb_set *s, const struct kb_plan *plan, const char *inputs, struct run_outcome *o,
                      struct kb_error *e)
{
    struct kb_trial t = {0};
    w->data.reference_failed = false;
    int failed = kb_trial_single(&w->data, c, s, (int)s->number & 1, &v->program, plan, v->variant, &t, e);
    if (!failed) {
        t.inputs = inputs;
        tell_beyond(w, f, v, c, &(struct run_calls){.set = s, .count = 1}, &t, o);
        if (t.pass && t.notable && t.reason[0] && !o->remark[0])
            snprintf(o->remark, sizeof o->remark, "%s, %s: %.400s", c->label, t.inputs, t.reason);
    }
    kb_trial_free(&t);
    return failed;
}

static int try_kind(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct kb_case_data *c,
                    enum kb_stress kind, const struct kb_plan *plan, const char *inputs, struct run_outcome *o,
                    struct kb_error *e)
{
    struct kb_set *s;
    const char *why;
    if (kb_stress_set(&w->data, c, kind, &s, &why, e))
        return -1;
    if (why)
        leave_out(w, c, inputs, why);
    return s ? try_single(w, f, v, c, s, plan, inputs, o, e) : 0;
}

static int try_neighbour(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct kb_resized *n,
                         struct run_outcome *o, struct kb_error *e)
{
    struct kb_plan plan = {0};
    const char *why;
    if (kb_neighbour_prepare(&w->data, n, &why, e))
        return -1;
    if (why) {
        leave_out(w, &n->data, KB_NEIGHBOUR_INPUTS, why);
        return 0;
    }
    int failed = kb_neighbour_plan(&w->data, n, v->variant, &plan, e) ||
                 try_single(w, f, v, &n->data, &n->data.sets[0], &plan, KB_NEIGHBOUR_INPUTS, o, e);
    for (int i = KB_STRESS_MIXED; i < KB_STRESSES && !failed && !o->failed && !run_cancelled(f); i++)
        if (kb_neighbour_meets(&w->data, n, (enum kb_stress)i, w->verified))
            failed = try_kind(w, f, v, &n->data, (enum kb_stress)i, &plan, KB_NEIGHBOUR_HARD, o, e);
    kb_plan_free(&plan);
    return failed;
}

static int try_neighbours(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct run_outcome *o,
                          struct kb_error *e)
{
    for (int i = 0; i < w->data.neighbour_count && !o->failed && !run_cancelled(f); i++)
        if ((w->no_turns || kb_neighbour_has_turn(&w->data, i, w->verified)) &&
            try_neighbour(w, f, v, &w->data.neighbours[i], o, e))
            return -1;
    return 0;
}

// Cases that are not timed, but the largest in some param: on a GPU each version meets one in three, by turns, since
// this comes before its first verdict.
static bool has_turn(const struct run_worker *w, int index, enum kb_stress kind)
{
    bool aside = kind >= KB_STRESS_MIXED && !w->data.bench->cases[index].timed;
    return w->data.on_cpu || w->no_turns || !aside || (w->verified + (uint64_t)index) % 3 == 0;
}

// Hard inputs, on a small case each kind by itself, on timed ones all together.
static int try_hard(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct kb_case_data *c,
                    struct run_outcome *o, struct kb_error *e)
{
    struct kb_plan plan = {0};
    int failed = 0;
    for (int i = 0; i < KB_STRESSES && !failed && !o->failed && !run_cancelled(f); i++) {
        enum kb_stress kind = (enum kb_stress)i;
        if (!has_turn(w, c->index, kind) || !kb_stress_applies(&w->data, c, kind))
            continue;
        failed = kb_data_prepare(&w->data, c, e) ||
                 (!plan.launch_count && kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &plan, e)) ||
                 try_kind(w, f, v, c, kind, &plan, kb_stress_name(kind), o, e);
    }
    kb_plan_free(&plan);
    return failed;
}

static int try_stress(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct run_outcome *o,
                      struct kb_error *e)
{
    for (int i = 0; i < w->data.bench->case_count && !o->failed; i++)
        if (try_hard(w, f, v, &w->data.cases[i], o, e))
            return -1;
    return 0;
}

enum { AGAIN_ELEMENTS = 16384 };

// many: it is the case that stands for all, whose module meets many calls, too.
static int try_again(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct kb_case_data *c,
                     bool many, struct run_outcome *o, struct kb_error *e)
{
    struct kb_repeat r = {0};
    struct kb_plan plan = {0};
    int failed = kb_data_prepare(&w->data, c, e) ||
                 kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &plan, e) ||
                 kb_repeat_run(&w->data, c, v->variant, v->compiled, &v->image, &plan, many, &r, e);
    kb_plan_free(&plan);
    if (!failed) {
        tell_beyond(w, f, v, r.c, &(struct run_calls){r.set, r.calls, r.many}, &r.last, o);
        if (r.differing && r.last.pass)
            snprintf(o->remark, sizeof o->remark, "%s: %d of %d repeated runs differ bitwise", c->label, r.differing,
                     r.pairs);
    }
    kb_trial_free(&r.last);
    return failed;
}

// A result that is kept for some sizes only is kept for small ones where it costs nothing to look. On a GPU by turns.
static bool again_has_turn(const struct run_worker *w, int index)
{
    const struct kb_case_data *c = &w->data.cases[index];
    bool little = c->usable && kb_case_elements(&w->data, c) <= AGAIN_ELEMENTS;
    return little &&
           (w->data.on_cpu || w->no_turns || w->verified % (uint64_t)w->data.bench->case_count == (uint64_t)index);
}

// but: the case that was.
static int try_others_again(struct run_worker *w, const struct kb_frame *f, struct run_version *v, int but,
                            struct run_outcome *o, struct kb_error *e)
{
    for (int i = 0; i < w->data.bench->case_count && !o->failed && !run_cancelled(f); i++)
        if (i != but && again_has_turn(w, i) && try_again(w, f, v, &w->data.cases[i], false, o, e))
            return -1;
    return 0;
}

char *run_verify_rest(struct run_worker *w, const struct kb_frame *f, struct run_version *v)
{
    struct run_outcome o = {.quiet = true};
    struct kb_error error = {0};
    int small = kb_data_small_case(&w->data), failed = 0;
    w->no_turns = true;
    for (int i = 0; i < w->data.bench->case_count && !failed && !o.failed; i++)
        if (i != small && !w->data.bench->cases[i].timed)
            failed = try_hard(w, f, v, &w->data.cases[i], &o, &error);
    failed = failed || try_neighbours(w, f, v, &o, &error) || try_others_again(w, f, v, small, &o, &error);
    w->no_turns = false;
    if (failed && run_device_lost(w))
        return kb_strdup(kb_error_line(&error));
    return o.failed ? kb_strdup(o.reason) : NULL;
}

// What no case asks for: inputs that the bench does not have, and many calls of a freshly loaded module. On a GPU a
// case that is not small would hold the verdict back; timing calls it often, and looks.
void run_try_beyond(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct run_outcome *o)
{
    int index = kb_data_small_case(&w->data);
    struct kb_error error = {0};
    struct kb_case_data *c = index < 0 ? NULL : &w->data.cases[index];
    w->data.reference_failed = false;
    bool again = c && (w->data.on_cpu || kb_case_is_small(&w->data, c));
    int failed = try_stress(w, f, v, o, &error) || try_neighbours(w, f, v, o, &error);
    if (!failed && !o->failed && again && !run_cancelled(f))
        failed = try_again(w, f, v, c, true, o, &error);
    failed = failed || try_others_again(w, f, v, index, o, &error);
    if (failed)
        run_note_failure(o, c ? c->label : "inputs that verify adds", true, w->data.reference_failed,
                         kb_error_line(&error));
}
