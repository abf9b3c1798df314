// `races`: the small cases once more on the CPU device, with a check that follows who touches what. What comes out is
// not looked at: the rungs before did that. Of a version that failed there, the failing case goes first, on the inputs
// that it failed on: what is found names the line that the wrong values come from.
#include "base/json.h"
#include "base/memory.h"
#include "verify/fill.h"
#include "verify/hard.h"
#include "verify/resized.h"
#include "worker/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FINDINGS_SENT = 24,
    TEXT_MOST = 500,
};
// Until a case has shown more: what executing a unit of work (see work_of) takes, in instructions of lanes. An
// operation costs less than an element or a thread: a product and its sum are one instruction of the 3 to 8 of an inner
// loop (loads, addresses).
static const double first_cost = 100, cost_of_flop = 5;
static const double smaller_cost = 30e6; // what a case at smaller sizes should take: less than half a second of a core

bool run_finding_fails(const struct kb_trial *t)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, t->findings)
        if (kb_json_bool(item, "fails", false))
            return true;
    return false;
}

char *run_trial_label(const struct kb_case_data *c, const struct kb_trial *t)
{
    return t->inputs ? kb_format("%s, %s", c->label, t->inputs) : kb_strdup(c->label);
}

void run_send_findings(const struct kb_frame *f, const char *rung, const char *version, const struct kb_case_data *c,
                       const struct kb_trial *t)
{
    int n = cJSON_GetArraySize(t->findings), sent = n < FINDINGS_SENT ? n : FINDINGS_SENT;
    if (!n)
        return;
    cJSON *head = kb_frame_head("findings", kb_frame_job(f)), *list = cJSON_AddArrayToObject(head, "findings");
    char *label = run_trial_label(c, t);
    kb_json_set_text(head, "version", version);
    kb_json_set_text(head, "rung", rung);
    kb_json_set_number(head, "case", c->index);
    kb_json_set_text(head, "label", label);
    for (int i = 0; i < sent; i++) {
        cJSON *item = cJSON_Duplicate(cJSON_GetArrayItem(t->findings, i), true);
        char *text = kb_strdup(kb_json_text(item, "text", ""));
        char *accepted = kb_strdup(kb_json_text(item, "accepted", ""));
        kb_worker_set_clean(item, "text", text, TEXT_MOST);
        if (*accepted)
            kb_worker_set_clean(item, "accepted", accepted, TEXT_MOST);
        free(accepted);
        cJSON_AddItemToArray(list, item);
        free(text);
    }
    kb_json_set_number(head, "left_out", n - sent + t->findings_cut);
    kb_worker_send(head, NULL, 0);
    free(label);
}

struct candidate {
    int index;
    double work;
};
struct tally {
    int clean, left_out;
    double cost; // instructions of lanes for a unit of work
    double left_out_cost;
    const char *left_out_label;
    int smaller; // of those left out: watched at smaller sizes
    char smaller_text[160];
    char fault[640], remark[640], unusable[640];
    bool refused;    // the fault says nothing about the kernel
    cJSON *findings; // of all cases
};

// What executing a case costs, in units of one element or thread: the most of what the launches start, what the arrays
// hold, and what the bench says it takes.
static double work_of(const struct run_worker *w, const struct run_version *v, const struct kb_case_data *c)
{
    struct kb_plan plan = {0};
    double elements = 0, threads = 0, flops = run_work(w, c).flops;
    for (int i = 0; i < w->data.bench->arg_count; i++)
        elements += (double)c->elements[i];
    if (!kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &plan, NULL)) {
        for (int i = 0; i < plan.launch_count; i++) {
            const struct kb_dims *d = &plan.launches[i].dims;
            threads += (double)d->grid[0] * (double)d->grid[1] * (double)d->grid[2] * (double)d->block[0] *
                       (double)d->block[1] * (double)d->block[2];
        }
        kb_plan_free(&plan);
    }
    return fmax(fmax(elements, threads), isfinite(flops) ? flops * cost_of_flop / first_cost : 0);
}

static int by_work(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->work < y->work ? -1 : x->work > y->work ? 1 : x->index - y->index;
}

// A launch that is refused, or that does not end here, says something about this device, not about the kernel.
static bool is_refusal(const struct run_worker *w)
{
    return w->device->fault.kind == KB_FAULT_REFUSED || w->device->fault.kind == KB_FAULT_MEMORY ||
           !strcmp(w->device->fault.name, "CUDA_ERROR_LAUNCH_TIMEOUT");
}

static double instructions_of(const cJSON *facts)
{
    double sum = 0;
    const cJSON *item;
    cJSON_ArrayForEach (item, facts)
        sum += kb_json_number(item, "thread_instructions", 0);
    return sum;
}

int run_failing_set(struct run_worker *w, const struct kb_case_data *c, const cJSON *failure, struct kb_set *own,
                    struct kb_error *e)
{
    enum kb_stress stress = kb_stress_parse(kb_json_text(failure, "inputs", ""));
    if (kb_set_make(&w->data, c, own, e))
        return -1;
    own->number = strtoull(kb_json_text(failure, "set", "1"), NULL, 10);
    own->base = strtoull(kb_json_text(failure, "base", "0"), NULL, 10);
    own->stressed = stress < KB_STRESSES;
    own->stress = stress;
    return kb_set_inputs(&w->data, c, own, e);
}

static void add_to(struct tally *tally, const struct run_worker *w, const struct kb_case_data *c,
                   const struct kb_trial *t)
{
    bool many = w->data.bench->case_count > 1;
    const char *label = many ? c->label : "", *colon = many ? ": " : "";
    if (!t->pass) {
        tally->refused = t->device_failed && is_refusal(w) && !run_finding_fails(t);
        snprintf(tally->fault, sizeof tally->fault, "%s%s%.500s", label, colon, t->reason);
        return;
    }
    tally->clean++;
    if (t->reason[0] && !tally->remark[0])
        snprintf(tally->remark, sizeof tally->remark, "%s%s%.500s", label, colon, t->reason);
}

// failure: of the case that the version failed on, or NULL: on the bench's inputs. Returns the instructions that its
// lanes executed.
static double watch_case(struct run_worker *w, const struct kb_frame *f, struct run_version *v, struct kb_case_data *c,
                         const cJSON *failure, struct tally *tally)
{
    struct kb_error error = {0};
    struct kb_plan plan = {0};
    struct kb_trial t = {0};
    struct kb_set own = {0};
    int failed = kb_data_prepare(&w->data, c, &error) || (failure && run_failing_set(w, c, failure, &own, &error)) ||
                 kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &plan, &error) ||
                 kb_trial_run(&w->data, c, failure ? &own : &c->sets[0], &v->program, &plan, v->variant, KB_TRIAL_WATCH,
                              &t, &error);
    if (failed) {
        tally->left_out++;
        snprintf(tally->unusable, sizeof tally->unusable, "%.600s", kb_error_line(&error));
    } else {
        t.inputs = own.stressed ? kb_stress_name(own.stress) : NULL;
        add_to(tally, w, c, &t);
    }
    if (!tally->refused)
        run_send_findings(f, "races", v->key, c, &t);
    const cJSON *item;
    cJSON_ArrayForEach (item, t.findings)
        cJSON_AddItemToArray(tally->findings, cJSON_Duplicate(item, true));
    double instructions = instructions_of(t.facts);
    kb_trial_free(&t);
    kb_plan_free(&plan);
    kb_set_free(&w->data, &own);
    return instructions;
}

static void tell_progress(const struct kb_frame *f, const struct run_version *v, const struct tally *tally)
{
    cJSON *head = kb_frame_head("watched", kb_frame_job(f));
    kb_json_set_text(head, "version", v->key);
    kb_json_set_number(head, "cases", tally->clean);
    kb_worker_send(head, NULL, 0);
}

static void leave_out(struct tally *tally, const struct kb_case_data *c, double cost)
{
    if (!tally->left_out_label) {
        tally->left_out_label = c->label;
        tally->left_out_cost = cost;
    }
    tally->left_out++;
}

// A case that is too large, at sizes that the bench shows to be free.
static bool watch_smaller(struct run_worker *w, const struct kb_frame *f, struct run_version *v,
                          struct kb_case_data *whole, double expected, double *left, struct tally *tally)
{
    struct kb_resized r;
    double executed = 0;
    if (kb_resized_smaller(&w->data, whole->index, fmin(*left / 2, smaller_cost) / expected, &r) &&
        kb_resized_open(&w->data, &r)) {
        struct kb_resized_kept kept = kb_resized_enter(&w->data, &r);
        int clean = tally->clean, left_out = tally->left_out;
        if (work_of(w, v, &r.data) * tally->cost <= *left)
            executed = watch_case(w, f, v, &r.data, NULL, tally);
        bool right = tally->clean > clean;
        tally->smaller += right;
        tally->left_out = left_out + (executed > 0); // as a whole; where nothing ran, the caller says so
        tally->clean = clean;
        kb_resized_leave(&kept);
        if (right && !tally->smaller_text[0])
            snprintf(tally->smaller_text, sizeof tally->smaller_text, "%.70s (%.70s was)", whole->label, r.data.label);
    }
    kb_resized_close(&w->data, &r);
    *left -= executed;
    return executed > 0;
}

// One of those that are affordable in what is left of the instructions.
static void watch_next(struct run_worker *w, const struct kb_frame *f, struct run_version *v,
                       const struct candidate *next, const cJSON *failure, double *left, struct tally *tally)
{
    struct kb_case_data *c = &w->data.cases[next->index];
    double expected = next->work * tally->cost;
    if (expected > *left) {
        if (!watch_smaller(w, f, v, c, expected, left, tally))
            leave_out(tally, c, expected);
        return;
    }
    double executed = watch_case(w, f, v, c, failure, tally);
    *left -= executed;
    if (executed > 0 && next->work > 0)
        tally->cost = executed / next->work;
    tell_progress(f, v, tally);
}

static void watch_all(struct run_worker *w, const struct kb_frame *f, struct run_version *v,
                      const struct candidate *list, struct tally *tally)
{
    double left = kb_json_number(f->head, "instructions", 0);
    const cJSON *failure = kb_json_get(f->head, "failure");
    int64_t failing = cJSON_IsObject(failure) ? kb_json_int(f->head, "case", -1) : -1;
    bool own_inputs = kb_stress_parse(kb_json_text(failure, "inputs", "")) == KB_STRESSES;
    for (int i = 0; i < w->data.bench->case_count && !run_cancelled(f); i++)
        if (list[i].index == failing)
            watch_next(w, f, v, &list[i], failure, &left, tally);
    if (!own_inputs) // the case itself is still to come
        tally->clean = tally->left_out = tally->smaller = 0;
    for (int i = 0; i < w->data.bench->case_count && !tally->fault[0] && !run_cancelled(f); i++)
        if (list[i].index != failing || !own_inputs)
            watch_next(w, f, v, &list[i], NULL, &left, tally);
}

static void conclude(struct run_worker *w, const struct kb_frame *f, const struct run_version *v, const struct tally *t)
{
    char *reason = NULL, *left = NULL, *unused = kb_bench_accepts_nothing(w->data.bench, v->variant, t->findings);
    const char *status = t->fault[0] ? (t->refused ? "na" : "fail") : t->clean + t->smaller ? "pass" : "na";
    if (t->left_out_label)
        left = kb_format("%s would execute some %.3g million instructions", t->left_out_label, t->left_out_cost / 1e6);
    else if (t->left_out)
        left = kb_strdup(t->unusable[0] ? t->unusable : t->smaller_text);
    if (t->fault[0] && t->refused)
        reason = kb_format("%s%s", t->clean + t->smaller ? "not in every case: " : "", t->fault);
    else if (t->fault[0])
        reason = kb_strdup(t->fault);
    else if (t->remark[0])
        reason = kb_format("warning: %s", t->remark);
    else if (!t->clean && !t->smaller && left)
        reason = kb_format("no case is small enough: %s; give one a smaller size for the CPU (\"cpu\": {...})", left);
    else if (left)
        reason = kb_format("%d of %d cases: %s", t->clean, t->clean + t->left_out, left);
    else if (unused)
        reason = kb_format("accept: %s was not found", unused);
    run_end(w, f, "races", status, reason);
    free(reason);
    free(left);
    free(unused);
}

void run_races(struct run_worker *w, const struct kb_frame *f)
{
    struct run_version *v = w->has_data ? run_find(w, kb_json_text(f->head, "version", "")) : NULL;
    struct tally tally = {.cost = first_cost};
    if (!v || !w->data.on_cpu) {
        run_refuse(w, f, "races",
                   !w->has_data     ? "no bench was prepared"
                   : w->data.on_cpu ? "this version is not loaded"
                                    : "only the CPU device sees who touches what");
        return;
    }
    struct candidate *list = kb_alloc((size_t)w->data.bench->case_count * sizeof *list);
    for (int i = 0; i < w->data.bench->case_count; i++)
        list[i] = (struct candidate){i, work_of(w, v, &w->data.cases[i])};
    qsort(list, (size_t)w->data.bench->case_count, sizeof *list, by_work);
    tally.findings = cJSON_CreateArray();
    watch_all(w, f, v, list, &tally);
    free(list);
    if (run_cancelled(f))
        run_end(w, f, "races", "cancelled", NULL);
    else
        conclude(w, f, v, &tally);
    cJSON_Delete(tally.findings);
}
