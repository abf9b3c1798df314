// `run` and `verify`: trials of a version, case by case.
#include "base/json.h"
#include "base/memory.h"
#include "worker/run_verify_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note(struct run_outcome *o, const char *label, bool label_it, int *counter, const char *reason)
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
void run_note_failure(struct run_outcome *o, const char *label, bool label_it, bool of_reference, const char *reason)
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

// What makes a failed trial happen again, in any worker: the request `export` takes it back (docs/protocol.md).
static cJSON *failure_json(const struct run_worker *w, const struct run_calls *made, const struct kb_trial *t)
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
bool run_trial_refused(const struct run_worker *w, const struct kb_trial *t)
{
    return t->device_failed && !run_finding_fails(t) && run_was_refused(w);
}

void run_send_case(const struct run_worker *w, const struct kb_frame *f, const char *version,
                   const struct kb_case_data *c, const struct run_calls *made, const struct kb_trial *t)
{
    bool refused = run_trial_refused(w, t);
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

void run_send_facts(const struct kb_frame *f, const char *version, const struct kb_case_data *c, struct kb_trial *t)
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

static void note_trial(struct run_outcome *o, int index, const struct kb_set *s, const struct kb_trial *t)
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
                     enum kb_trial_depth depth, struct run_outcome *o)
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
            run_note_failure(o, c->label, many, c->reference_failed, kb_error_line(&error));
    } else {
        note_trial(o, index, s, &t);
        bool told = !o->quiet || !t.pass;
        if (told)
            run_send_case(w, f, v->key, c, &(struct run_calls){.set = s, .count = 1}, &t);
        keep_counts(v, index, t.facts);
        run_send_findings(f, rung, v->key, c, &t);
        if (told && (depth == KB_TRIAL_VERIFY || !t.pass || !w->data.has_reference)) // verify follows, where it can
            run_send_facts(f, v->key, c, &t);
        if (!t.pass && run_trial_refused(w, &t))
            note(o, c->label, many, &o->unusable, t.reason);
        else if (!t.pass)
            run_note_failure(o, c->label, many, false, t.reason);
        if (t.pass && t.notable && t.reason[0] && !o->remark[0])
            snprintf(o->remark, sizeof o->remark, "%s%s%.500s", many ? c->label : "", many ? ": " : "", t.reason);
        o->passed += t.pass;
    }
    kb_trial_free(&t);
    kb_plan_free(&plan);
    return !run_device_lost(w);
}

static void conclude(struct run_worker *w, const struct kb_frame *f, const struct run_version *v, const char *rung,
                     const struct run_outcome *o)
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
    struct run_outcome o = {0};
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

static void send_seed(const struct kb_frame *f, const struct run_version *v, uint64_t seed, const struct run_outcome *o)
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

static void add_seed(struct run_outcome *o, const struct run_outcome *own)
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
                     uint64_t set, struct run_outcome *o)
{
    struct kb_data *d = &w->data;
    struct run_outcome own = {.quiet = true,
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
static bool try_failed_before(struct run_worker *w, const struct kb_frame *f, struct run_version *v,
                              struct run_outcome *o)
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

static bool try_further_seeds(struct run_worker *w, const struct kb_frame *f, struct run_version *v,
                              struct run_outcome *o)
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
                           const struct run_outcome *before, struct run_outcome *o)
{
    if (!cJSON_GetArraySize(kb_json_get(f->head, "seeds")))
        return;
    struct run_outcome own = *o;
    own.failed -= before->failed;
    if (before->failed)
        own.reason[0] = 0;
    send_seed(f, v, w->data.seed, &own);
    o->seeds++;
    o->seeds_failed += own.failed != 0;
}

void run_verify(struct run_worker *w, const struct kb_frame *f)
{
    struct run_outcome o = {.margin = NAN};
    struct run_version *v = begin(w, f, "verify");
    if (!v)
        return;
    if (!w->data.has_reference) {
        run_end(w, f, "verify", "na", w->data.no_reference);
        return;
    }
    w->verified++;
    bool alive = try_failed_before(w, f, v, &o);
    struct run_outcome before = o;
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
        run_try_beyond(w, f, v, &o);
    count_own_seed(w, f, v, &before, &o);
    if (alive)
        try_further_seeds(w, f, v, &o);
    conclude(w, f, v, "verify", &o);
}
