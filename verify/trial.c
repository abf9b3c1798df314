#include "verify/trial.h"
#include "base/json.h"
#include "base/memory.h"
#include "jit/scan.h"
#include "verify/mask.h"
#include "verify/probe.h"
#include "verify/rule.h"
#include "verify/where.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kb_trial_free(struct kb_trial *t)
{
    free(t->outputs);
    cJSON_Delete(t->facts);
    cJSON_Delete(t->findings);
    *t = (struct kb_trial){0};
}

static void begin(const struct kb_data *d, enum kb_trial_depth depth, struct kb_trial *t)
{
    *t = (struct kb_trial){
        .depth = depth == KB_TRIAL_STALE ? KB_TRIAL_VERIFY : depth, .stale = depth == KB_TRIAL_STALE, .pass = true};
    t->outputs = kb_alloc((size_t)d->bench->arg_count * sizeof *t->outputs);
    for (int i = 0; i < d->bench->arg_count; i++)
        if (kb_arg_is_written(d->bench->args[i].role))
            t->outputs[t->output_count++] = (struct kb_trial_output){.arg = i, .pass = true};
}

static void fail_trial(struct kb_trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail_trial(struct kb_trial *t, const char *format, ...)
{
    va_list list;
    if (!t->pass) // the first thing that is wrong says most
        return;
    t->pass = false;
    va_start(list, format);
    vsnprintf(t->reason, sizeof t->reason, format, list);
    va_end(list);
}

static void fail_output(const struct kb_data *d, struct kb_trial *t, struct kb_trial_output *o, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void fail_output(const struct kb_data *d, struct kb_trial *t, struct kb_trial_output *o, const char *format, ...)
{
    char text[320];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fail_trial(t, "%s: %s", d->bench->args[o->arg].name, text);
    if (o->pass)
        memcpy(o->reason, text, sizeof text);
    o->pass = false;
}

// accepted: why; "": it is not.
static bool is_known(const cJSON *findings, const char *kernel, const cJSON *report, const char *accepted)
{
    static const char *const same[] = {"kind", "file", "line"};
    const cJSON *item;
    cJSON_ArrayForEach (item, findings) {
        bool known =
            !strcmp(kb_json_text(item, "kernel", ""), kernel) && !strcmp(kb_json_text(item, "accepted", ""), accepted);
        for (size_t i = 0; i < KB_COUNT(same); i++)
            known = known && cJSON_Compare(kb_json_get(item, same[i]), kb_json_get(report, same[i]), true);
        if (known)
            return true;
    }
    return false;
}

// In PTX a file of the bench is "/" and its name.
static const char *name_of(const cJSON *report)
{
    const char *file = kb_json_text(report, "file", "");
    return file + (*file == '/');
}

// What a device saw that is wrong whatever the output is: a GPU of another kind or a busier one may hang there, or read
// another value.
static void check_reports(const struct kb_bench *b, const char *kernel, const cJSON *facts, bool faulted,
                          struct kb_trial *t)
{
    const cJSON *report;
    cJSON_ArrayForEach (report, kb_json_get(facts, "reports")) {
        const struct kb_finding_kind *kind = kb_finding_kind(kb_json_text(report, "kind", ""));
        const char *accepted = kind ? kb_bench_accepts(b, kernel, report) : NULL;
        if (kind && kind->fails && !accepted && !faulted) // a fault says more
            fail_trial(t, "kernel %.80s: %.280s, at %.80s:%d", kernel, kb_json_text(report, "text", ""),
                       name_of(report), (int)kb_json_int(report, "line", 0));
        if (is_known(t->findings, kernel, report, accepted ? accepted : ""))
            continue;
        cJSON *item = cJSON_Duplicate(report, true);
        kb_json_set_text(item, "kernel", kernel);
        kb_json_set_bool(item, "fails", !kind || (kind->fails && !accepted));
        if (accepted)
            kb_json_set_text(item, "accepted", accepted);
        t->findings = t->findings ? t->findings : cJSON_CreateArray();
        cJSON_AddItemToArray(t->findings, item);
    }
    t->findings_cut += kb_json_number(facts, "reports_cut", 0);
}

// Launch by launch where the device counts what each one does.
static int launch(struct kb_data *d, const struct kb_program *p, const struct kb_plan *plan, const struct kb_variant *v,
                  const uint64_t *addresses, struct kb_trial *t, struct kb_error *e)
{
    int failed = 0;
    if (!d->device->ops->facts)
        return kb_plan_launch_all(p, plan, v, d->bench, addresses, e) || d->device->ops->sync(d->device, e);
    cJSON_Delete(t->facts);
    t->facts = cJSON_CreateArray();
    for (int i = 0; !failed && i < plan->launch_count; i++) {
        failed = kb_plan_launch_one(p, plan, v, d->bench, addresses, i, e) || d->device->ops->sync(d->device, e);
        cJSON *facts = d->device->ops->facts(d->device);
        check_reports(d->bench, v->launches[i].kernel, facts, failed, t);
        if (facts)
            cJSON_AddItemToArray(t->facts, facts);
    }
    return failed;
}

// The kernel's failure is the trial's result, not an error of its making.
static int run_once(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int run,
                    const struct kb_program *p, const struct kb_plan *plan, const struct kb_variant *v,
                    struct kb_trial *t, struct kb_error *e)
{
    struct kb_error inner = {0};
    uint64_t *addresses = kb_alloc((size_t)d->bench->arg_count * sizeof *addresses);
    int failed = (t->stale ? kb_data_restore(d, c, s, run, e) : kb_data_reset(d, c, s, run, e)) || kb_mask_all(d, e) ||
                 d->device->ops->sync(d->device, e);
    kb_data_addresses(d, c, s, run, addresses);
    if (!failed && launch(d, p, plan, v, addresses, t, &inner)) {
        t->device_failed = true;
        char *kernel = inner.on[0] ? kb_name_readable(inner.on) : kb_strdup(v->launches[0].kernel);
        fail_trial(t, "%s%s: %s", strchr(inner.on, ':') ? "" : "kernel ", kernel,
                   inner.what); // a line of it, or its name
        free(kernel);
    }
    free(addresses);
    return failed ? -1 : 0;
}

static void describe_guard(const struct kb_data *d, struct kb_trial *t, struct kb_trial_output *o,
                           const struct kb_guard_report *g, size_t bytes, enum kb_dtype dtype, const char *name)
{
    int64_t size = (int64_t)kb_dtype_bytes(dtype);
    char text[256];
    if (g->first < 0)
        snprintf(text, sizeof text, "%llu bytes written before the start of %s, from byte %lld on",
                 (unsigned long long)g->changed, name, (long long)g->first);
    else
        snprintf(text, sizeof text, "%llu bytes written past the end of %s, from element %lld on (it has %lld)",
                 (unsigned long long)g->changed, name, (long long)(g->first / size),
                 (long long)((int64_t)bytes / size));
    if (o)
        fail_output(d, t, o, "%s", text);
    else
        fail_trial(t, "%s", text);
}

static int check_guard(struct kb_data *d, const struct kb_buffer *b, int arg, struct kb_trial *t,
                       struct kb_trial_output *o, struct kb_error *e)
{
    struct kb_guard_report g;
    if (kb_op_guard_check(&d->ops, b, &g, e))
        return -1;
    if (!g.changed)
        return 0;
    if (o && !o->guard_bytes)
        o->guard_first = g.first;
    if (o)
        o->guard_bytes += g.changed;
    describe_guard(d, t, o, &g, b->bytes, d->bench->args[arg].dtype, d->bench->args[arg].name);
    return 0;
}

static struct kb_trial_output *output_of(struct kb_trial *t, int arg)
{
    for (int i = 0; i < t->output_count; i++)
        if (t->outputs[i].arg == arg)
            return &t->outputs[i];
    return NULL;
}

static int check_input(struct kb_data *d, struct kb_set *s, int arg, struct kb_trial *t, struct kb_error *e)
{
    uint64_t hash;
    if (check_guard(d, &s->input[arg], arg, t, NULL, e) || kb_op_hash(&d->ops, &s->input[arg], &hash, e))
        return -1;
    if (hash != s->hash[arg])
        fail_trial(t, "the kernel changed its input %s", d->bench->args[arg].name);
    return 0;
}

// A stray write may hit anything, even what outputs are compared with.
static int check_reference(struct kb_data *d, struct kb_set *s, struct kb_trial *t, struct kb_error *e)
{
    int bent;
    if (kb_mask_open(d, s, &bent, e))
        return -1;
    if (bent >= 0)
        fail_trial(t, "the kernel wrote to memory that it was not given: the reference of %s",
                   d->bench->args[bent].name);
    return 0;
}

// Guards of everything the kernel was given, and that inputs and references kept their values. What did not is filled
// anew before its next use.
static int check_surroundings(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const int *runs,
                              int run_count, struct kb_trial *t, struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        for (int k = 0; k < run_count; k++)
            if (c->work[runs[k]][i].address && check_guard(d, &c->work[runs[k]][i], i, t, output_of(t, i), e))
                return -1;
        bool was_whole = t->pass;
        if (d->bench->args[i].role == KB_INPUT && check_input(d, s, i, t, e))
            return -1;
        if (was_whole && !t->pass)
            kb_set_spoil(s);
    }
    bool was_whole = t->pass;
    if (check_reference(d, s, t, e))
        return -1;
    if (was_whole && !t->pass)
        kb_set_spoil(s);
    return 0;
}

static void index_text(const struct kb_case_data *c, const struct kb_bench *b, int arg, uint64_t flat, char *out,
                       size_t room)
{
    int64_t index[KB_MAX_DIMS];
    int ndim = b->args[arg].ndim;
    for (int i = ndim - 1; i >= 0; i--) {
        uint64_t n = c->shape[arg][i] > 0 ? (uint64_t)c->shape[arg][i] : 1;
        index[i] = (int64_t)(flat % n);
        flat /= n;
    }
    size_t used = (size_t)snprintf(out, room, "[");
    for (int i = 0; i < ndim && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%lld", i ? ", " : "", (long long)index[i]);
    if (used < room)
        snprintf(out + used, room - used, "]");
}

static int inspect_outputs(struct kb_data *d, struct kb_case_data *c, struct kb_trial *t, struct kb_error *e)
{
    for (int k = 0; k < t->output_count; k++) {
        struct kb_trial_output *o = &t->outputs[k];
        const struct kb_arg *a = &d->bench->args[o->arg];
        char where[160];
        if (kb_op_inspect(&d->ops, &c->work[0][o->arg], &c->work[1][o->arg], (uint64_t)c->elements[o->arg], a->dtype,
                          &o->inspection, e))
            return -1;
        if (a->role == KB_INOUT || t->stale) // was never poisoned
            o->inspection.unwritten = 0;
        t->differs = t->differs || o->inspection.differ;
        if (!o->inspection.unwritten)
            continue;
        index_text(c, d->bench, o->arg, o->inspection.first_unwritten, where, sizeof where);
        fail_output(d, t, o, "%llu of %lld elements never written, first at %s",
                    (unsigned long long)o->inspection.unwritten, (long long)c->elements[o->arg], where);
    }
    return 0;
}

static void value_text(enum kb_dtype dtype, uint64_t code, char out[40])
{
    if (!kb_dtype_is_float(dtype)) {
        int unused = 64 - 8 * (int)kb_dtype_bytes(dtype);
        int64_t value = dtype == KB_U8 ? (int64_t)code : (int64_t)(code << unused) >> unused;
        snprintf(out, 40, "%" PRId64, value);
        return;
    }
    double value = kbe_decode((int)dtype, code);
    snprintf(out, 40, isfinite(value) ? "%.17g" : "%f", value);
    if (isnan(value))
        snprintf(out, 40, "nan");
}

static int fetch(struct kb_data *d, const struct kb_buffer *b, enum kb_dtype dtype, uint64_t index, char out[40],
                 struct kb_error *e)
{
    uint64_t code = 0, size = kb_dtype_bytes(dtype);
    if (d->device->ops->to_host(d->device, &code, b->address + index * size, size, e))
        return -1;
    value_text(dtype, code, out);
    return 0;
}

static struct kbe_map map_of(const struct kb_case_data *c, const struct kb_arg *a, int arg)
{
    const int64_t *shape = c->shape[arg];
    struct kbe_map m = {.columns = a->ndim ? (uint64_t)shape[a->ndim - 1] : 1,
                        .rows = a->ndim > 1 ? (uint64_t)shape[a->ndim - 2] : 1};
    m.cell_columns = m.columns < KBE_MAP_COLUMNS ? m.columns : KBE_MAP_COLUMNS;
    m.cell_rows = m.rows < KBE_MAP_ROWS ? m.rows : KBE_MAP_ROWS;
    return m;
}

static int locate_wrong(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int run, struct kb_trial *t,
                        struct kb_trial_output *o, struct kb_error *e)
{
    const struct kb_arg *a = &d->bench->args[o->arg];
    const struct kb_buffer *out = &c->work[run][o->arg], *ref = &s->ref[o->arg];
    struct kb_wanted wanted = kb_rule_wanted(s, o->arg, o->conditioned);
    o->has_bad = o->part.first_bad != KBE_NO_INDEX;
    if (!o->has_bad)
        return 0;
    o->bad_index = o->part.first_bad;
    o->map = map_of(c, a, o->arg);
    if (fetch(d, out, a->dtype, o->bad_index, o->got, e) ||
        fetch(d, ref, kb_reference_type(a->dtype), o->bad_index, o->want, e))
        return -1;
    if (kb_op_map(&d->ops, out, &wanted, (uint64_t)c->elements[o->arg], &o->bound.rule, &o->map, o->cells, e))
        return -1;
    return kb_where_wrong(d, c, s, run, t, o, e);
}

// By the rule as it stands in o->bound.
static int judge_output(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int run,
                        const struct kb_trial *t, struct kb_trial_output *o, struct kb_judgement *j, struct kb_error *e)
{
    struct kb_wanted wanted = kb_rule_wanted(s, o->arg, o->conditioned);
    uint64_t n = (uint64_t)c->elements[o->arg];
    if (kb_op_compare(&d->ops, &c->work[run][o->arg], &wanted, n, &o->bound.rule, &o->part, e))
        return -1;
    kb_metrics_of(&o->part, n, &o->metrics);
    if (t->depth == KB_TRIAL_RUN)
        kb_judge_finite(&o->part, n, j);
    else if (s->stressed && n && !o->part.finite && !o->part.mismatches) // no fault of the version, nor of the bench
        *j = (struct kb_judgement){.pass = true};
    else
        kb_judge(&o->bound, &o->part, &o->metrics, n, j);
    return 0;
}

// An error that arithmetic in single precision, or one rounding to a narrow type, makes at the size of the bench's own
// results is no fault where hard inputs have small ones; people are told.
static double small_error(const struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg)
{
    struct kb_sums sums = kb_rule_sums(c, s);
    enum kb_dtype dtype = d->bench->args[arg].dtype;
    if (!s->stressed || !kb_dtype_is_float(dtype))
        return 0;
    double rounding = dtype == KB_F64 ? 0 : kb_dtype_epsilon(dtype) / 2;
    return fmax(rounding, kb_bound_working(dtype, &sums)) * kb_rule_own_rms(c, arg);
}

// What is wrong by the plain rule may be what any kernel does on these inputs: the reference is asked.
static int judge_again(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, int run, const struct kb_trial *t,
                       struct kb_trial_output *o, struct kb_judgement *j, struct kb_error *e)
{
    double small = small_error(d, c, s, o->arg);
    if (d->bench->tolerance.kind == KB_TOLERANCE_EXACT)
        return 0;
    if (kb_probe_condition(d, c, s, e))
        return -1;
    o->conditioned = s->probed;
    if (o->conditioned && judge_output(d, c, s, run, t, o, j, e))
        return -1;
    if (o->conditioned && j->pass && t->depth != KB_TRIAL_RUN) {
        size_t used = strlen(o->bound.why);
        snprintf(o->bound.why + used, sizeof o->bound.why - used, "; as far as the reference moves with its inputs");
    }
    if (j->pass || t->depth == KB_TRIAL_RUN || small <= o->bound.rule.allowance)
        return 0;
    o->bound.rule.allowance = small;
    if (judge_output(d, c, s, run, t, o, j, e))
        return -1;
    if (j->pass)
        snprintf(j->reason, sizeof j->reason, "digits are lost where results are small");
    return 0;
}

static int compare_output(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, int run, struct kb_trial *t,
                          struct kb_trial_output *o, struct kb_error *e)
{
    struct kb_judgement j;
    kb_rule_for(d, c, s, o->arg, &o->bound);
    if (t->depth == KB_TRIAL_RUN) { // a scale has its groups whatever is asked of it
        struct kbe_rule rule = o->bound.rule;
        kb_bound_none(d->bench->args[o->arg].dtype, &o->bound);
        o->bound.rule.group = rule.group;
        o->bound.rule.fallback = rule.fallback;
    }
    o->conditioned = false;
    if (judge_output(d, c, s, run, t, o, &j, e) || (!j.pass && t->pass && judge_again(d, c, s, run, t, o, &j, e)))
        return -1;
    o->compared = true;
    if (!j.pass)
        fail_output(d, t, o, "%s", j.reason);
    else if (o->pass && j.reason[0])
        snprintf(o->reason, sizeof o->reason, "%s", j.reason);
    if (t->depth != KB_TRIAL_RUN)
        return locate_wrong(d, c, s, run, t, o, e);
    return !o->pass && o->part.mismatches ? kb_where_wrong(d, c, s, run, t, o, e) : 0;
}

// The second run's output too where it has other bits: a race shows in either.
static int compare_outputs(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_trial *t,
                           struct kb_error *e)
{
    for (int k = 0; k < t->output_count; k++) {
        struct kb_trial_output *o = &t->outputs[k];
        if (compare_output(d, c, s, 0, t, o, e))
            return -1;
        bool first_is_right = o->part.mismatches == 0;
        if (o->inspection.differ && first_is_right && compare_output(d, c, s, 1, t, o, e))
            return -1;
    }
    return 0;
}

static void add_remark(struct kb_trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_remark(struct kb_trial *t, const char *format, ...)
{
    size_t used = strlen(t->reason);
    va_list list;
    if (used + 3 >= sizeof t->reason)
        return;
    if (used)
        used += (size_t)snprintf(t->reason + used, sizeof t->reason - used, "; ");
    va_start(list, format);
    vsnprintf(t->reason + used, sizeof t->reason - used, format, list);
    va_end(list);
}

// What the device saw and is no fault by itself.
static void remark_findings(struct kb_trial *t)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, t->findings) {
        if (!t->pass || kb_json_bool(item, "fails", true) || kb_json_get(item, "accepted"))
            continue;
        t->notable = true;
        add_remark(t, "kernel %.80s: %.200s, at %.80s:%d", kb_json_text(item, "kernel", ""),
                   kb_json_text(item, "text", ""), name_of(item), (int)kb_json_int(item, "line", 0));
        return;
    }
}

static void remark(const struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, struct kb_trial *t)
{
    uint64_t most = 0;
    t->notable = t->pass && t->differs;
    for (int k = 0; k < t->output_count; k++) {
        const struct kb_trial_output *o = &t->outputs[k];
        most = kbe_umax(most, o->inspection.differ);
        t->notable = t->notable || (t->pass && o->compared && o->metrics.constant && !s->stressed);
        if (t->pass && o->reason[0])
            add_remark(t, "%s: %s", d->bench->args[o->arg].name, o->reason);
    }
    if (t->differs)
        add_remark(t, "2 runs differ bitwise (%llu elements)", (unsigned long long)most);
    if (t->pass && t->depth == KB_TRIAL_VERIFY && c->weak[0] && !s->stressed) {
        t->notable = true;
        add_remark(t, "%s", c->weak);
    }
    remark_findings(t);
}

int kb_trial_run(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kb_program *p,
                 const struct kb_plan *plan, const struct kb_variant *v, enum kb_trial_depth depth, struct kb_trial *t,
                 struct kb_error *e)
{
    static const int both[] = {0, 1};
    begin(d, depth, t);
    // The last output of one trial is the first of the next one on new inputs, with other content; on inputs that were
    // only touched it is the other one, which still holds the old result.
    int runs = depth == KB_TRIAL_WATCH ? 1 : 2;
    int first = (int)((s->base ? s->base : s->number) & 1) ^ (t->stale && !s->base);
    for (int k = 0; k < runs; k++) {
        if (run_once(d, c, s, k ^ first, p, plan, v, t, e))
            return -1;
        if (t->device_failed)
            return 0;
    }
    if (depth == KB_TRIAL_WATCH) {
        remark_findings(t);
        return 0;
    }
    if (check_surroundings(d, c, s, both, 2, t, e) || inspect_outputs(d, c, t, e) ||
        (s->has_reference && compare_outputs(d, c, s, t, e)))
        return -1;
    remark(d, c, s, t);
    return 0;
}

static int compare_run(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, int run, struct kb_trial *t,
                       struct kb_error *e)
{
    if (check_surroundings(d, c, s, &run, 1, t, e))
        return -1;
    for (int k = 0; s->has_reference && k < t->output_count; k++)
        if (compare_output(d, c, s, run, t, &t->outputs[k], e))
            return -1;
    return 0;
}

int kb_trial_single(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, int run, const struct kb_program *p,
                    const struct kb_plan *plan, const struct kb_variant *v, struct kb_trial *t, struct kb_error *e)
{
    begin(d, KB_TRIAL_VERIFY, t);
    if (run_once(d, c, s, run, p, plan, v, t, e))
        return -1;
    return t->device_failed ? 0 : compare_run(d, c, s, run, t, e);
}

int kb_trial_compare(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, int run, struct kb_trial *t,
                     struct kb_error *e)
{
    begin(d, KB_TRIAL_VERIFY, t);
    return compare_run(d, c, s, run, t, e);
}
