// The --once --json document (docs/once.schema.json), made from the model.
#include "base/json.h"
#include "base/memory.h"
#include "loop/advice.h"
#include "loop/proof.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set_unknown(cJSON *object, const char *key, const char *reason)
{
    kb_json_measured(object, key, NAN, reason);
}

// A copy of from's member (null included) under the same key; without one: null with the reason.
static void copy_known(cJSON *to, const cJSON *from, const char *key, const char *reason)
{
    const cJSON *item = kb_json_get(from, key);
    if (item && !cJSON_IsNull(item)) {
        kb_json_set(to, key, cJSON_Duplicate(item, true));
        return;
    }
    char *reason_key = kb_format("%s_reason", key);
    set_unknown(to, key, kb_json_text(from, reason_key, reason));
    free(reason_key);
}

static void copy_all(cJSON *to, const cJSON *from, const char *const *keys, size_t n, const char *reason)
{
    for (size_t i = 0; i < n; i++)
        copy_known(to, from, keys[i], reason);
}

static void copy_record(cJSON *to, const struct kb_record *r, const void *record, const char *const *keys, size_t n,
                        const char *reason)
{
    cJSON *from = record ? kb_record_write(r, record) : NULL;
    copy_all(to, from, keys, n, reason);
    cJSON_Delete(from);
}

static cJSON *device_of(const struct kb_model *m)
{
    static const char *const keys[] = {"name", "arch", "uuid", "driver", "like", "peak"};
    cJSON *device = cJSON_CreateObject();
    const struct kb_ev_device *d = m->device ?: &kb_unknown_device;
    const char *kind = d->kind ?: "none";
    kb_json_set_text(device, "kind", kind);
    copy_record(device, &kb_record_device, d, keys, KB_COUNT(keys),
                !strcmp(kind, "cuda") ? "the driver did not say" : "no GPU is used");
    if (!strcmp(kind, "none")) {
        kb_json_set_text(device, "reason", d->reason ?: "no device was opened");
        kb_json_set_text(device, "remedy", d->remedy);
    }
    return device;
}

static cJSON *roofs_of(const struct kb_model *m)
{
    static const char *const keys[] = {"copy_bytes_per_s",
                                       "footprint_copy_bytes_per_s",
                                       "footprint_bytes",
                                       "fp32_flops",
                                       "tensor_flops",
                                       "tensor_type",
                                       "source"};
    cJSON *roofs = cJSON_CreateObject();
    copy_record(roofs, &kb_record_roofs, m->roofs, keys, KB_COUNT(keys), "not measured");
    return roofs;
}

static cJSON *libs_of(const struct kb_model *m)
{
    cJSON *list = cJSON_CreateArray();
    for (int role = 0; role < KB_WORKER_ROLES; role++) {
        const struct kb_ev_libs *libs = m->libs[role];
        for (int i = 0; libs && i < libs->libs_count; i++) {
            cJSON *copy = kb_record_write(&kb_record_lib, &libs->libs[i]);
            kb_json_set_text(copy, "role", kb_worker_role_name((enum kb_worker_role)role));
            cJSON_AddItemToArray(list, copy);
        }
    }
    return list;
}

static cJSON *rungs_of(const struct kb_model_version *v)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < KB_RUNGS; i++) {
        const struct kb_rung_state *r = &v->rungs[i];
        cJSON *item = cJSON_CreateObject();
        kb_json_set_text(item, "rung", kb_rungs[i].name);
        kb_json_set_text(item, "status", r->status == KB_STATUS_NONE ? "none" : kb_status_name(r->status));
        kb_json_measured(item, "ms", r->ms, isfinite(r->ms) ? NULL : "it did not run");
        kb_json_set_text(item, "reason", r->reason);
        if (r->doubt)
            kb_json_set_bool(item, "doubt", true);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

double kb_over_kernels(const struct kb_ev_resources *resources, size_t field, char how, const char **reason)
{
    double result = NAN;
    *reason = "nothing was compiled";
    for (int i = 0; resources && i < resources->kernels_count; i++) {
        const char *at = (const char *)&resources->kernels[i] + field;
        double value = *(const double *)at;
        if (!isfinite(value)) {
            *reason = *(char *const *)(at + sizeof value) ?: "unknown";
            return NAN;
        }
        result = !isfinite(result) ? value
                 : how == '+'      ? result + value
                 : how == '<'      ? fmin(result, value)
                                   : fmax(result, value);
    }
    return result;
}

static void add_resource(cJSON *to, const char *as, const struct kb_ev_resources *resources, size_t field, char how)
{
    const char *reason;
    double value = kb_over_kernels(resources, field, how, &reason);
    kb_json_measured(to, as, value, isfinite(value) ? NULL : reason);
}

// What holds the kernel back that has the lowest occupancy.
static void add_limits(cJSON *to, const struct kb_ev_resources *resources)
{
    const struct kb_ev_kernel_resources *lowest = &kb_unknown_kernel_resources;
    for (int i = 0; resources && i < resources->kernels_count; i++)
        if (!i || resources->kernels[i].occupancy < lowest->occupancy)
            lowest = &resources->kernels[i];
    const char *unknown = "not checked against a device";
    kb_json_set_text(to, "limited_by", lowest->limited_by);
    if (!lowest->limited_by)
        kb_json_set_text(to, "limited_by_reason", lowest->limited_by_reason ?: unknown);
    kb_json_set(to, "limits", lowest->limits ? kb_record_write(&kb_record_limits, lowest->limits) : cJSON_CreateNull());
    if (!lowest->limits)
        kb_json_set_text(to, "limits_reason", unknown);
}

static cJSON *resources_of(const struct kb_model_version *v)
{
    cJSON *item = cJSON_CreateObject();
    const struct kb_ev_resources *r = v->resources;
    const char *reason;
    double stores = kb_over_kernels(r, KB_OF_KERNEL(spill_store_bytes), '+', &reason);
    double loads = kb_over_kernels(r, KB_OF_KERNEL(spill_load_bytes), '+', &reason);
    add_resource(item, "registers", r, KB_OF_KERNEL(registers), '>');
    kb_json_measured(item, "spill_bytes", stores + loads, isfinite(stores + loads) ? NULL : reason);
    add_resource(item, "shared_bytes", r, KB_OF_KERNEL(shared_bytes), '>');
    add_resource(item, "dynamic_shared_bytes", r, KB_OF_KERNEL(dynamic_shared_bytes), '>');
    add_resource(item, "local_bytes", r, KB_OF_KERNEL(stack_bytes), '>');
    add_resource(item, "occupancy", r, KB_OF_KERNEL(occupancy), '<');
    add_limits(item, r);
    return item;
}

static const char *const metric_keys[] = {"max_abs", "max_rel", "mse",        "rmse",      "psnr_db",   "cosine",
                                          "max_ulp", "scaled",  "mismatches", "unwritten", "nonfinite", "first_bad"};

static cJSON *metrics_of(const struct kb_ev_metrics *metrics, const char *reason)
{
    cJSON *item = cJSON_CreateObject();
    copy_record(item, &kb_record_metrics, metrics, metric_keys, KB_COUNT(metric_keys), reason);
    // No element is wrong: that there is no first one is knowledge.
    if (metrics && metrics->mismatches == 0)
        kb_json_set_text(item, "first_bad_reason", "no element is wrong");
    return item;
}

static cJSON *outputs_of(const struct kb_ev_case *c)
{
    static const char *const keys[] = {"tolerance", "margin"};
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; c && i < c->outputs_count; i++) {
        const struct kb_ev_output *output = &c->outputs[i];
        cJSON *item = cJSON_CreateObject();
        kb_json_set_text(item, "arg", output->arg ?: "?");
        copy_record(item, &kb_record_output, output, keys, KB_COUNT(keys), "not compared");
        kb_json_set(item, "metrics", metrics_of(output->metrics, "not compared"));
        if (output->where)
            kb_json_set_text(item, "where", output->where);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static void add_interval(cJSON *to, const char *key, const struct kb_ev_interval *interval, const char *reason)
{
    static const char *const keys[] = {"median_us", "low_us", "high_us", "samples"};
    if (!interval) {
        set_unknown(to, key, reason ?: "not measured");
        return;
    }
    cJSON *item = cJSON_AddObjectToObject(to, key);
    copy_record(item, &kb_record_interval, interval, keys, KB_COUNT(keys), "not measured");
}

static cJSON *versus_of(const struct kb_ev_versus *versus)
{
    static const char *const keys[] = {"baseline", "ratio", "low", "high", "verdict"};
    cJSON *item = cJSON_CreateObject();
    copy_record(item, &kb_record_versus, versus, keys, KB_COUNT(keys), "not compared");
    return item;
}

static const char *not_timed(const struct kb_model_version *v)
{
    const struct kb_rung_state *time = &v->rungs[KB_RUNG_TIME];
    if (time->status == KB_STATUS_PASS && v->status == KB_STATUS_FAIL)
        return "a version that failed has no speed"; // it was timed before `races` found it wrong
    return time->reason ? time->reason : "it was not timed";
}

static void add_timing(cJSON *to, const struct kb_model_version *v, const struct kb_model_case *c)
{
    static const char *const keys[] = {"source"}, *const call[] = {"call_us"};
    const struct kb_ev_timing *timing = c ? c->timing : NULL;
    bool timed = timing && v->rungs[KB_RUNG_TIME].status == KB_STATUS_PASS && v->status != KB_STATUS_FAIL;
    if (!timed) {
        set_unknown(to, "timing", not_timed(v));
        return;
    }
    cJSON *item = cJSON_CreateObject();
    add_interval(item, "cold", timing->cold, timing->cold_reason);
    add_interval(item, "warm", timing->warm, timing->warm_reason);
    copy_record(item, &kb_record_timing, timing, keys, KB_COUNT(keys), "the worker did not say");
    copy_record(item, &kb_record_timing, timing, call, KB_COUNT(call), "not measured");
    if (c->versus)
        kb_json_set(item, "versus", versus_of(c->versus));
    else
        set_unknown(item, "versus", "there is no other version to compare with");
    kb_json_set(to, "timing", item);
}

static cJSON *params_of_case(const struct kb_model *m, int index)
{
    const struct kb_ev_bench_case *c = kb_model_case(m, index);
    const struct kb_ev_session *s = m->session;
    return c->params_count || !s ? kb_named_write(c->params, c->params_count)
                                 : kb_named_write(s->params, s->params_count);
}

static cJSON *case_of(const struct kb_model *m, const struct kb_model_version *v, int index)
{
    const struct kb_model_case *c = &v->cases[index];
    const struct kb_ev_case *result = kb_model_result(c);
    const struct kb_ev_bench_case *own = kb_model_case(m, index);
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "label", own->label ?: "");
    kb_json_set(item, "params", params_of_case(m, index));
    kb_json_set_text(item, "status", result && result->status ? result->status : "none");
    const char *why, *weak = kb_model_weak(m, index, &why);
    kb_json_set_text(item, "weak", weak);
    if (!weak)
        kb_json_set_text(item, "weak_reason", why);
    kb_json_set_text(item, "reason", result ? result->reason : NULL);
    kb_json_set_text(item, "not_run", own->not_run);
    if (!own->not_run)
        kb_json_set_text(item, "not_run_reason", "it has its own size");
    double margin = kb_margin_of(v, index, &why);
    kb_json_measured(item, "margin", margin, why);
    const struct kb_ev_metrics *metrics = kb_model_worst_output(v, index)->metrics;
    kb_json_set(item, "metrics", metrics_of(metrics, "not compared with a reference"));
    kb_json_set(item, "outputs", outputs_of(result));
    add_timing(item, v, c);
    if (c->facts)
        kb_json_set(item, "facts", kb_record_write(&kb_record_counts, KB_WITHIN(c->facts, facts, counts)));
    return item;
}

static cJSON *roofline_of(const struct kb_ev_roofline *roofline)
{
    static const char *const keys[] = {"flops", "bytes", "intensity", "attained_flops", "attained_bytes_per_s",
                                       "bound", "share", "floor_us",  "impossible",     "source"};
    cJSON *item = cJSON_CreateObject();
    copy_record(item, &kb_record_roofline, roofline, keys, KB_COUNT(keys), "unknown");
    kb_json_set_bool(item, "impossible", roofline->impossible);
    return item;
}

// What a version that passed is not proven by; of one that failed there is nothing to say.
static void add_proof(const struct kb_model *m, cJSON *item, const struct kb_model_version *v)
{
    struct kb_ev_proof proof = kb_proof_of(m, v);
    if (v->status == KB_STATUS_PASS)
        kb_json_set_bool(item, "proven", proof.proven);
    else
        set_unknown(item, "proven", "it did not pass");
    kb_json_set(item, "gaps", kb_record_write_list(&kb_record_gap, proof.gaps, proof.gaps_count));
    kb_proof_free(&proof);
    cJSON *seeds = kb_seeds_document(v);
    if (seeds)
        kb_json_set(item, "seeds", seeds);
    else
        set_unknown(item, "seeds", "it was verified with the session's seed alone: --seeds N takes more");
}

static void add_results(const struct kb_model *m, cJSON *item, const struct kb_model_version *v)
{
    const struct kb_model_case *headline = m->headline < m->case_count ? &v->cases[m->headline] : NULL;
    bool wrong = v->status == KB_STATUS_FAIL;
    const struct kb_ev_timing *timing = headline && !wrong ? headline->timing : NULL;
    struct kb_ev_roofline counted;
    cJSON *cases = cJSON_AddArrayToObject(item, "cases");
    for (int i = 0; i < m->case_count; i++)
        cJSON_AddItemToArray(cases, case_of(m, v, i));
    kb_json_set(item, "resources", resources_of(v));
    kb_json_set(item, "errors",
                kb_record_write_list(&kb_record_message, v->errors ? v->errors->errors : NULL,
                                     v->errors ? v->errors->errors_count : 0));
    kb_json_set(item, "findings", kb_record_write_list(&kb_record_finding, v->findings, v->finding_count));
    add_timing(item, v, headline);
    if (timing && timing->roofline)
        kb_json_set(item, "roofline", roofline_of(timing->roofline));
    else
        set_unknown(item, "roofline", not_timed(v));
    if (kb_model_counted_roofline(m, v, &counted))
        kb_json_set(item, "roofline_counters", kb_record_write(&kb_record_roofline, &counted));
    else
        set_unknown(item, "roofline_counters", "no bytes were counted by the hardware");
    if (v->goal)
        kb_json_set_text(item, "goal", v->goal->text ?: "");
    else
        set_unknown(item, "goal", "the bench has none, or it was not timed");
}

// The rungs behind the verdict

static const char *late_reason(const struct kb_model_version *v, enum kb_rung rung)
{
    const struct kb_rung_state *r = v ? &v->rungs[rung] : NULL;
    return r && r->reason ? r->reason : "it was not collected";
}

static cJSON *sections_of(const struct kb_ev_sections *s)
{
    static const char *const keys[] = {"name", "file", "line", "end_line", "share", "us", "samples", "stalls"};
    static const char *const extra[] = {"raw", "instructions", "bytes", "share_bytes"};
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < s->sections_count; i++) {
        cJSON *item = cJSON_CreateObject(), *section = kb_record_write(&kb_record_section, &s->sections[i]);
        copy_all(item, section, keys, KB_COUNT(keys), "no one place");
        for (size_t k = 0; k < KB_COUNT(extra); k++)
            if (kb_json_get(section, extra[k]))
                copy_known(item, section, extra[k], "nothing was counted");
        kb_json_set_text(item, "share_kind", s->share_kind ?: s->attribution ?: "share of the samples");
        kb_json_set_text(item, "source", s->source ?: "?");
        cJSON_AddItemToArray(list, item);
        cJSON_Delete(section);
    }
    return list;
}

// How the samples behind the sections were taken, losses included, and the hottest lines.
static void add_sampling(cJSON *to, const struct kb_ev_sections *s)
{
    static const char *const keys[] = {"source",   "samples", "dropped", "overflow",     "period",
                                       "launches", "tries",   "cold",    "without_line", "lines"};
    if (kb_is_counted(s->source)) {
        set_unknown(to, "sampling", "counted, not sampled");
        return;
    }
    cJSON *item = cJSON_CreateObject(), *event = kb_record_write(&kb_record_sections, s);
    copy_all(item, event, keys, KB_COUNT(keys), "the worker did not say");
    kb_json_set(to, "sampling", item);
    cJSON_Delete(event);
}

static cJSON *counters_of(const struct kb_ev_counters *c)
{
    static const char *const keys[] = {"source", "stage", "passes", "cold", "metrics", "about", "peaks"};
    cJSON *item = cJSON_CreateObject(), *event = kb_record_write(&kb_record_counters, c);
    copy_all(item, event, keys, KB_COUNT(keys), kb_is_counted(c->source) ? "counted on the CPU" : "not counted");
    cJSON_Delete(event);
    return item;
}

static cJSON *advice_of(const struct kb_ev_advice *a)
{
    cJSON *item = kb_record_write(&kb_record_advice, a);
    if (!a->missing)
        set_unknown(item, "missing", "nothing is missing");
    return item;
}

static cJSON *sass_of(const struct kb_ev_sass *s)
{
    cJSON *item = cJSON_CreateObject(), *classes = cJSON_CreateObject(), *event = kb_record_write(&kb_record_sass, s);
    double instructions = 0;
    for (int i = 0; i < s->kernels_count; i++) {
        const struct kb_ev_sass_kernel *k = &s->kernels[i];
        instructions += k->instructions;
        for (int c = 0; c < k->by_class_count; c++)
            kb_json_set_number(classes, k->by_class[c].name,
                               kb_json_number(classes, k->by_class[c].name, 0) + k->by_class[c].value);
    }
    kb_json_set_number(item, "instructions", instructions);
    kb_json_set(item, "by_class", classes);
    copy_known(item, event, "kernels", "unknown");
    copy_known(item, event, "same_code_as", "not compared");
    cJSON_Delete(event);
    return item;
}

static void add_late(cJSON *item, const struct kb_model_version *v)
{
    if (v && v->sections) {
        kb_json_set(item, "sections", sections_of(v->sections));
        add_sampling(item, v->sections);
    } else {
        set_unknown(item, "sections", late_reason(v, KB_RUNG_SECTIONS));
        set_unknown(item, "sampling", late_reason(v, KB_RUNG_SECTIONS));
    }
    if (v && v->counters)
        kb_json_set(item, "counters", counters_of(v->counters));
    else
        set_unknown(item, "counters", late_reason(v, KB_RUNG_COUNTERS));
    if (v && v->sass)
        kb_json_set(item, "sass", sass_of(v->sass));
    else
        set_unknown(item, "sass", late_reason(v, KB_RUNG_SASS));
    if (v && v->advice && v->status != KB_STATUS_FAIL)
        kb_json_set(item, "advice", advice_of(v->advice));
    else
        set_unknown(item, "advice",
                    v && v->status == KB_STATUS_FAIL ? "it failed: what is not right has no speed to explain"
                                                     : "the rungs behind the verdict did not end");
}

// A variant that is a command: what it said of its own time, by case.
static void add_reported(const struct kb_model *m, int index, cJSON *item)
{
    static const char *const unsaid[] = {"what", "right", "roofline"};
    if (strcmp(m->variants[index].kind, "command"))
        return;
    cJSON *list = cJSON_AddArrayToObject(item, "reported");
    for (int c = 0; c < m->case_count; c++) {
        const struct kb_ev_reported *said = kb_model_reported(m, index, c);
        cJSON *entry = said ? kb_record_write(&kb_record_reported, said) : NULL;
        for (size_t k = 0; said && !said->roofline && k < KB_COUNT(unsaid); k++) // it ended without a word
            cJSON_DeleteItemFromObjectCaseSensitive(entry, unsaid[k]);
        if (entry)
            cJSON_AddItemToArray(list, entry);
    }
}

static cJSON *variant_of(const struct kb_model *m, int index)
{
    const struct kb_model_variant *variant = &m->variants[index];
    const struct kb_model_version *v = kb_model_current(m, index);
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "name", variant->name);
    bool built = !strcmp(variant->kind, "cuda"); // a command has neither
    kb_json_set_text(item, "source", built ? variant->source : NULL);
    kb_json_set_text(item, "kernel", built ? variant->kernel : NULL);
    add_late(item, v);
    add_reported(m, index, item);
    if (!v) {
        const char *why = variant->file_reason ? variant->file_reason
                          : !built             ? "a command is not built: it reports its own time"
                                               : "it was not built";
        set_unknown(item, "version", why);
        kb_json_set_text(item, "status", variant->file_state ? "fail" : "na");
        kb_json_set(item, "rungs", cJSON_CreateArray());
        return item;
    }
    kb_json_measured(item, "version", v->number, v->number ? NULL : "it is not final yet");
    kb_json_set_text(item, "key", v->key);
    kb_json_set_text(item, "source_hash", v->source_hash);
    kb_json_set_text(item, "git", v->git);
    kb_json_set_text(item, "status", kb_status_name(v->status));
    if (v->fault_of)
        kb_json_set_text(item, "fault_of", v->fault_of);
    kb_json_set(item, "rungs", rungs_of(v));
    add_proof(m, item, v);
    add_results(m, item, v);
    return item;
}

static cJSON *bench_of(const struct kb_model *m)
{
    const struct kb_ev_bench *from = kb_model_bench(m);
    cJSON *bench = cJSON_CreateObject();
    kb_json_set_text(bench, "name", from->name ?: "?");
    kb_json_set_text(bench, "path", from->path ?: "");
    kb_json_set_text(bench, "contract", from->contract ?: "");
    if (from->guess)
        kb_json_set(bench, "guess", kb_record_write(&kb_record_guess, from->guess));
    return bench;
}

cJSON *kb_model_document(const struct kb_model *m)
{
    cJSON *document = cJSON_CreateObject();
    const struct kb_ev_session *s = m->session ?: &kb_unknown_session;
    kb_json_set_number(document, "kbench", 1);
    kb_json_set_text(document, "tool", s->tool ?: "kbench-tui");
    kb_json_set_text(document, "utc", s->utc);
    kb_json_set(document, "device", device_of(m));
    kb_json_set(document, "roofs", roofs_of(m));
    kb_json_set(document, "libs", libs_of(m));
    kb_json_set(document, "bench", bench_of(m));
    kb_json_set_text(document, "seed", s->seed ?: "");
    cJSON *variants = cJSON_AddArrayToObject(document, "variants");
    for (int i = 0; i < m->variant_count; i++)
        cJSON_AddItemToArray(variants, variant_of(m, i));
    return document;
}
