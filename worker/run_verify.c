// `run` and `verify`: trials of a version, case by case.
#include "base/json.h"
#include "base/memory.h"
#include "verify/neighbour.h"
#include "verify/repeat.h"
#include "verify/stress.h"
#include "worker/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct outcome {
    int passed, failed, unusable;
    int own;          // of the failed ones: by the version's own fault
    char reason[640]; // of the first failure, else of the first case that could not be used
    char remark[640]; // of the first case that passed with one
    bool quiet;       // only what fails is told
    uint64_t seed;    // a further one (docs/verify.md); 0: that of the session
    bool again;       // a version failed on it before
    double margin;    // share of its bound that the worst case uses; NAN: none has one
    int first_bad;    // case, where one failed
    uint64_t bad_set;
    int seeds, seeds_failed;
};

static void note(struct outcome *o, const char *label, bool label_it, int *counter, const char *reason)
{
    bool first_failure = counter == &o->failed && !o->failed;
    char seed[64] = "";
    if (o->seed)
        snprintf(seed, sizeof seed, "seed %" PRIu64 "%s: ", o->seed, o->again ? ", which failed before" : "");
    if (first_failure || (!o->failed && !o->reason[0]))
        snprintf(o->reason, sizeof o->reason, "%s%s%s%.500s", seed, label_it ? label : "", label_it ? ": " : "",
                 reason);
    ++*counter;
}

// What the version itself does wrong says more than a reference that has no result elsewhere.
static void note_failure(struct outcome *o, const char *label, bool label_it, bool of_reference, const char *reason)
{
    if (!of_reference && !o->own++ && o->failed)
        snprintf(o->reason, sizeof o->reason, "%s%s%.500s", label_it ? label : "", label_it ? ": " : "", reason);
    note(o, label, label_it, &o->failed, reason);
}

static void send_unusable(const struct kb_frame *f, const char *version, const struct kb_case_data *c, const char *rung,
                          const char *status, const char *reason)
{
    cJSON *head = kb_frame_head("case", kb_frame_job(f));
    kb_json_set_text(head, "version", version);
    kb_json_set_text(head, "rung", rung);
    kb_json_set_number(head, "case", c->index);
    kb_json_set_text(head, "label", c->label);
    kb_json_set_text(head, "status", status);
    kb_worker_set_clean(head, "reason", reason, 1000);
    kb_json_set_text(head, "set", NULL);
    kb_json_set(head, "outputs", cJSON_CreateArray());
    if (c->reference_failed)
        kb_json_set_text(head, "fault_of", "reference");
    kb_worker_send(head, NULL, 0);
}

struct calls { // what came before the end of a trial
    const struct kb_set *set;
    int count; // of the kernel in a row
    bool same; // all on these inputs, else as verify/repeat.h has it
};

// What makes a failed trial happen again, in any worker: the request `export` takes it back (docs/protocol.md).
static cJSON *failure_json(const struct run_worker *w, const struct calls *made, const struct kb_trial *t)
{
    const struct kb_trial_output *wrong = t->output_count ? &t->outputs[0] : NULL;
    cJSON *failure = cJSON_CreateObject();
    char number[24];
    for (int i = t->output_count - 1; i >= 0; i--)
        if (!t->outputs[i].pass)
            wrong = &t->outputs[i];
    snprintf(number, sizeof number, "%" PRIu64, made->set->number);
    kb_json_set_text(failure, "set", number);
    snprintf(number, sizeof number, "%" PRIu64, w->data.seed);
    kb_json_set_text(failure, "seed", number);
    snprintf(number, sizeof number, "%" PRIu64, made->set->base);
    kb_json_set_text(failure, "base", made->set->base ? number : NULL);
    kb_json_set_text(failure, "inputs", t->inputs);
    kb_json_set_number(failure, "calls", made->count);
    kb_json_set_bool(failure, "same", made->same);
    kb_json_set_text(failure, "arg", wrong ? w->data.bench->args[wrong->arg].name : NULL);
    snprintf(number, sizeof number, "%" PRIu64,
             !wrong           ? 0
             : wrong->has_bad ? wrong->bad_index
                              : (uint64_t)(wrong->inspection.unwritten ? wrong->inspection.first_unwritten : 0));
    kb_json_set_text(failure, "index", number);
    return failure;
}

// The CPU device does not run an instruction of this kernel: that is nobody's fault, and nothing is proven.
static bool is_refused(const struct run_worker *w, const struct kb_trial *t)
{
    return t->device_failed && !run_finding_fails(t) && run_was_refused(w);
}

static void send_case(const struct run_worker *w, const struct kb_frame *f, const char *version,
                      const struct kb_case_data *c, const struct calls *made, const struct kb_trial *t)
{
    bool refused = is_refused(w, t);
    cJSON *head = kb_frame_head("case", kb_frame_job(f)), *fields = kb_trial_json(&w->data, c, t), *item;
    kb_json_set_text(head, "version", version);
    while ((item = cJSON_DetachItemFromArray(fields, 0)))
        cJSON_AddItemToObject(head, item->string, item);
    cJSON_Delete(fields);
    if (refused)
        kb_json_set_text(head, "status", "na");
    else if (!t->pass)
        kb_json_set(head, "failure", failure_json(w, made, t));
    kb_worker_send(head, NULL, 0);
}

static void send_facts(const struct kb_frame *f, const char *version, const struct kb_case_data *c, struct kb_trial *t)
{
    for (int i = 0; cJSON_GetArraySize(t->facts); i++) {
        cJSON *facts = cJSON_DetachItemFromArray(t->facts, 0), *head = kb_frame_head("facts", kb_frame_job(f));
        kb_json_set_text(head, "version", version);
        kb_json_set_number(head, "case", c->index);
        kb_json_set_number(head, "launch", i);
        char *text = kb_json_line(facts);
        if (strlen(text) > KB_FRAME_LINE_MAX - 1024) // the table by line goes, the totals stay
            cJSON_DeleteItemFromObjectCaseSensitive(facts, "lines");
        free(text);
        kb_json_set(head, "facts", facts);
        kb_worker_send(head, NULL, 0);
    }
}

static double sum_of(const cJSON *object, const char *const *keys, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += kb_json_number(object, keys[i], 0);
    return sum;
}

// Work that the device counted, over all launches of a run; kept for the roofline.
static void keep_counts(struct run_version *v, int index, const cJSON *facts)
{
    static const char *const flops[] = {"f32", "f64", "f16", "tensor"};
    static const char *const bytes[] = {"global_load", "global_store"};
    const cJSON *item;
    if (!cJSON_GetArraySize(facts))
        return;
    v->counted[index] = (struct run_counted){.known = true};
    cJSON_ArrayForEach (item, facts) {
        v->counted[index].flops += sum_of(kb_json_get(item, "flops"), flops, 4);
        v->counted[index].bytes += sum_of(kb_json_get(item, "bytes"), bytes, 2);
    }
}

// A new one for verify, and for `run` the one that verify will go on with: whether there was time to fill sets in
// between decides nothing.
static struct kb_set *choose_set(struct run_worker *w, struct kb_case_data *c, enum kb_trial_depth depth, bool *fresh,
                                 struct kb_error *e)
{
    *fresh = false;
    struct kb_set *s = kb_data_take(&w->data, c, fresh, e);
    if (s && depth == KB_TRIAL_RUN)
        s->verified--;
    return s;
}

static void note_trial(struct outcome *o, int index, const struct kb_set *s, const struct kb_trial *t)
{
    const char *why;
    for (int i = 0; i < t->output_count; i++) {
        const struct kb_trial_output *out = &t->outputs[i];
        if (out->compared && t->depth == KB_TRIAL_VERIFY)
            o->margin = fmax(o->margin, kb_margin(&out->bound, &out->metrics, &out->part, &why));
    }
    if (!t->pass && !o->failed && !o->again) {
        o->first_bad = index;
        o->bad_set = s->number;
    }
}

// false: the device is gone and nothing more can be done
static bool try_case(struct run_worker *w, const struct kb_frame *f, struct run_version *v, int index,
                     enum kb_trial_depth depth, struct outcome *o)
{
    const char *rung = depth == KB_TRIAL_RUN ? "run" : "verify";
    struct kb_case_data *c = &w->data.cases[index];
    struct kb_error error = {0};
    struct kb_plan plan = {0};
    struct kb_trial t = {0};
    bool fresh, many = w->data.bench->case_count > 1;
    struct kb_set *s = choose_set(w, c, depth, &fresh, &error);
    int failed = !s || kb_plan_make(w->data.bench, index, w->data.on_cpu, v->variant, &plan, &error) ||
                 kb_trial_run(&w->data, c, s, &v->program, &plan, v->variant, depth, &t, &error);
    t.fresh = fresh;
    if (failed) {
        bool absent = !c->usable && c->no_memory; // only that is no fault of anybody
        send_unusable(f, v->key, c, rung, absent ? "na" : "fail", kb_error_line(&error));
        if (absent)
            note(o, c->label, many, &o->unusable, kb_error_line(&error));
        else
            note_failure(o, c->label, many, c->reference_failed, kb_error_line(&error));
    } else {
        note_trial(o, index, s, &t);
        bool told = !o->quiet || !t.pass;
        if (told)
            send_case(w, f, v->key, c, &(struct calls){.set = s, .count = 1}, &t);
        keep_counts(v, index, t.facts);
        run_send_findings(f, rung, v->key, c, &t);
        if (told && (depth == KB_TRIAL_VERIFY || !t.pass || !w->data.has_reference)) // verify follows, where it can
            send_facts(f, v->key, c, &t);
        if (!t.pass && is_refused(w, &t))
            note(o, c->label, many, &o->unusable, t.reason);
        else if (!t.pass)
            note_failure(o, c->label, many, false, t.reason);
        if (t.pass && t.notable && t.reason[0] && !o->remark[0])
            snprintf(o->remark, sizeof o->remark, "%s%s%.500s", many ? c->label : "", many ? ": " : "", t.reason);
        o->passed += t.pass;
    }
    kb_trial_free(&t);
    kb_plan_free(&plan);
    return !run_device_lost(w);
}

// A trial beyond the declared ones: told only where it failed, since it passes for one case like any other.
static void tell_beyond(struct run_worker *w, const struct kb_frame *f, struct run_version *v,
                        const struct kb_case_data *c, const struct calls *made, struct kb_trial *t, struct outcome *o)
{
    if (t->pass || is_refused(w, t)) // what is refused here was refused in the case itself, or by inputs of our own
        return;
    char *label = run_trial_label(c, t);
    send_case(w, f, v->key, c, made, t);
    run_send_findings(f, "verify", v->key, c, t);
    send_facts(f, v->key, c, t);
    note_failure(o, label, true, false, t->reason);
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
                      struct kb_set *s, const struct kb_plan *plan, const char *inputs, struct outcome *o,
                      struct kb_error *e)
{
    struct kb_trial t = {0};
    w->data.reference_failed = false;
    int failed = kb_trial_single(&w->data, c, s, (int)s->number & 1, &v->program, plan, v->variant, &t, e);
    if (!failed) {
        t.inputs = inputs;
        tell_beyond(w, f, v, c, &(struct calls){.set = s, .count = 1}, &t, o);
        if (t.pass && t.notable && t.reason[0] && !o->remark[0])
            snprintf(o->remark, sizeof o->remark, "%s, %s: %.400s", c->label, t.inputs, t.reason);
    }
    kb_trial_free(&t);
    return failed;
}

static int try_kind(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct kb_case_data *c,
                    enum kb_stress kind, const struct kb_plan *plan, const char *inputs, struct outcome *o,
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
                         struct outcome *o, struct kb_error *e)
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

static int try_neighbours(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct outcome *o,
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
                    struct outcome *o, struct kb_error *e)
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

static int try_stress(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct outcome *o,
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
                     bool many, struct outcome *o, struct kb_error *e)
{
    struct kb_repeat r = {0};
    struct kb_plan plan = {0};
    int failed = kb_data_prepare(&w->data, c, e) ||
                 kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &plan, e) ||
                 kb_repeat_run(&w->data, c, v->variant, v->compiled, &v->image, &plan, many, &r, e);
    kb_plan_free(&plan);
    if (!failed) {
        tell_beyond(w, f, v, r.c, &(struct calls){r.set, r.calls, r.many}, &r.last, o);
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
                            struct outcome *o, struct kb_error *e)
{
    for (int i = 0; i < w->data.bench->case_count && !o->failed && !run_cancelled(f); i++)
        if (i != but && again_has_turn(w, i) && try_again(w, f, v, &w->data.cases[i], false, o, e))
            return -1;
    return 0;
}

char *run_verify_rest(struct run_worker *w, const struct kb_frame *f, struct run_version *v)
{
    struct outcome o = {.quiet = true};
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
static void try_beyond(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct outcome *o)
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
        note_failure(o, c ? c->label : "inputs that verify adds", true, w->data.reference_failed,
                     kb_error_line(&error));
}

static void conclude(struct run_worker *w, const struct kb_frame *f, const struct run_version *v, const char *rung,
                     const struct outcome *o)
{
    char *reason = NULL;
    const char *status = o->failed ? "fail" : o->passed ? "pass" : "na";
    if (o->seeds_failed)
        reason = kb_format("%s (%d of %d seeds fail)", o->reason, o->seeds_failed, o->seeds);
    else if (o->failed > 1)
        reason = kb_format("%s (%d cases fail)", o->reason, o->failed);
    else if (!o->failed && o->unusable && o->passed)
        reason = kb_format("%d of %d cases could not be used: %s", o->unusable, o->passed + o->unusable, o->reason);
    else if (o->failed || o->unusable)
        reason = kb_strdup(o->reason);
    else if (o->remark[0])
        reason = kb_strdup(o->remark);
    w->data.reference_failed = o->failed && !o->own;
    if (o->failed && v->doubt) {
        char *longer = kb_format("%s (%s)", reason, v->doubt);
        free(reason);
        reason = longer;
    }
    run_end(w, f, rung, status, reason);
    free(reason);
}

static struct run_version *begin(struct run_worker *w, const struct kb_frame *f, const char *rung)
{
    struct run_version *v = w->has_data ? run_find(w, kb_json_text(f->head, "version", "")) : NULL;
    if (!v)
        run_refuse(w, f, rung, w->has_data ? "this version is not loaded" : "no bench was prepared");
    return v;
}

void run_run(struct run_worker *w, const struct kb_frame *f)
{
    struct outcome o = {0};
    struct run_version *v = begin(w, f, "run");
    if (!v)
        return;
    int smallest = kb_data_smallest(&w->data), headline = kb_bench_headline(w->data.bench);
    bool alive = smallest < 0 || try_case(w, f, v, smallest, KB_TRIAL_RUN, &o);
    if (run_cancelled(f)) {
        run_end(w, f, "run", "cancelled", NULL);
        return;
    }
    if (alive && headline != smallest)
        try_case(w, f, v, headline, KB_TRIAL_RUN, &o);
    conclude(w, f, v, "run", &o);
}

// ---- further seeds

static void send_seed(const struct kb_frame *f, const struct run_version *v, uint64_t seed, const struct outcome *o)
{
    cJSON *head = kb_frame_head("seed", kb_frame_job(f));
    char number[24];
    kb_json_set_text(head, "version", v->key);
    snprintf(number, sizeof number, "%" PRIu64, seed);
    kb_json_set_text(head, "seed", number);
    kb_json_set_text(head, "status", o->failed ? "fail" : o->passed ? "pass" : "na");
    kb_worker_set_clean(head, "reason", o->reason[0] && (o->failed || !o->passed) ? o->reason : NULL, 1000);
    kb_json_measured(head, "margin", o->margin, isnan(o->margin) ? "no output has one" : NULL);
    kb_json_set_bool(head, "again", o->again);
    if (o->bad_set) {
        snprintf(number, sizeof number, "%" PRIu64, o->bad_set);
        kb_json_set_number(head, "case", o->first_bad);
        kb_json_set_text(head, "set", number);
    }
    kb_worker_send(head, NULL, 0);
}

// What a case has of the session's seed while another one is tried: values are a function of the seed and of a set's
// number. The first set is made anew for each seed; the others lie untouched.
struct aside {
    uint64_t next_number, ready; // ready: a bit a set
};

static struct aside *set_aside(struct kb_data *d)
{
    struct aside *all = kb_alloc((size_t)d->bench->case_count * sizeof *all);
    for (int i = 0; i < d->bench->case_count; i++) {
        struct kb_case_data *c = &d->cases[i];
        all[i].next_number = c->next_number;
        c->next_number = 0;
        for (int k = 0; k < c->set_count; k++) {
            all[i].ready |= (uint64_t)(k && c->sets[k].ready) << k;
            c->sets[k].ready = false;
        }
    }
    return all;
}

static void bring_back(struct kb_data *d, struct aside *all)
{
    for (int i = 0; i < d->bench->case_count; i++) {
        struct kb_case_data *c = &d->cases[i];
        c->next_number = all[i].next_number;
        for (int k = 0; k < c->set_count; k++)
            c->sets[k].ready = all[i].ready >> k & 1;
    }
    free(all);
}

static void add_seed(struct outcome *o, const struct outcome *own)
{
    if (own->failed && !o->failed)
        snprintf(o->reason, sizeof o->reason, "%s", own->reason);
    o->failed += own->failed;
    o->own += own->own;
    o->seeds += !own->again;
    o->seeds_failed += own->failed && !own->again;
}

// The bench's cases on a seed of its own, from its first sets on; only >= 0: that case alone, on this set.
static bool try_seed(struct run_worker *w, const struct kb_frame *f, struct run_version *v, uint64_t seed, int only,
                     uint64_t set, struct outcome *o)
{
    struct kb_data *d = &w->data;
    struct outcome own = {.quiet = true,
                          .seed = seed,
                          .again = only >= 0,
                          .margin = NAN,
                          .first_bad = only >= 0 ? only : 0,
                          .bad_set = set};
    int cases = d->bench->case_count;
    uint64_t base = d->seed;
    struct aside *aside = set_aside(d);
    bool alive = true;
    d->seed = seed;
    if (only >= 0)
        d->cases[only].next_number = set - 1;
    for (int i = 0; alive && i < cases && !run_cancelled(f); i++)
        if (only < 0 || i == only)
            alive = try_case(w, f, v, i, KB_TRIAL_VERIFY, &own);
    d->seed = base;
    bring_back(d, aside);
    send_seed(f, v, seed, &own);
    add_seed(o, &own);
    return alive;
}

// What failed before comes first: if it is still wrong, it shows at once.
static bool try_failed_before(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct outcome *o)
{
    const cJSON *item;
    bool alive = true;
    cJSON_ArrayForEach (item, kb_json_get(f->head, "again")) {
        uint64_t seed = strtoull(kb_json_text(item, "seed", "0"), NULL, 10),
                 set = strtoull(kb_json_text(item, "set", "0"), NULL, 10);
        int64_t index = kb_json_int(item, "case", -1);
        if (alive && seed && set && index >= 0 && index < w->data.bench->case_count && !run_cancelled(f))
            alive = try_seed(w, f, v, seed, (int)index, set, o);
    }
    return alive;
}

static bool try_further_seeds(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct outcome *o)
{
    const cJSON *item;
    bool alive = true;
    cJSON_ArrayForEach (item, kb_json_get(f->head, "seeds")) {
        uint64_t seed = cJSON_IsString(item) ? strtoull(item->valuestring, NULL, 10) : 0;
        if (alive && seed && !run_cancelled(f))
            alive = try_seed(w, f, v, seed, -1, 0, o);
    }
    return alive;
}

// The bench's own seed counts among those that were asked for.
static void count_own_seed(const struct run_worker *w, const struct kb_frame *f, const struct run_version *v,
                           const struct outcome *before, struct outcome *o)
{
    if (!cJSON_GetArraySize(kb_json_get(f->head, "seeds")))
        return;
    struct outcome own = *o;
    own.failed -= before->failed;
    if (before->failed)
        own.reason[0] = 0;
    send_seed(f, v, w->data.seed, &own);
    o->seeds++;
    o->seeds_failed += own.failed != 0;
}

void run_verify(struct run_worker *w, const struct kb_frame *f)
{
    struct outcome o = {.margin = NAN};
    struct run_version *v = begin(w, f, "verify");
    if (!v)
        return;
    if (!w->data.has_reference) {
        run_end(w, f, "verify", "na", w->data.no_reference);
        return;
    }
    w->verified++;
    bool alive = try_failed_before(w, f, v, &o);
    struct outcome before = o;
    o.quiet = o.failed; // a case that passes now would hide that it failed
    alive = alive && (!o.failed || cJSON_GetArraySize(kb_json_get(f->head, "seeds")));
    for (int i = 0; alive && i < w->data.bench->case_count; i++) {
        if (run_cancelled(f)) {
            run_end(w, f, "verify", "cancelled", NULL);
            return;
        }
        alive = try_case(w, f, v, i, KB_TRIAL_VERIFY, &o);
    }
    if (alive && o.passed && !o.failed && !run_cancelled(f))
        try_beyond(w, f, v, &o);
    count_own_seed(w, f, v, &before, &o);
    if (alive)
        try_further_seeds(w, f, v, &o);
    conclude(w, f, v, "verify", &o);
}
