#include "loop/model.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/findings.h"
#include "loop/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set_text(char **slot, const char *value)
{
    char *copy = kb_strdup(value);
    free(*slot);
    *slot = copy;
}

static void keep(cJSON **slot, const cJSON *event)
{
    cJSON *copy = event ? cJSON_Duplicate(event, true) : NULL;
    cJSON_Delete(*slot);
    *slot = copy;
}

void kb_model_init(struct kb_model *m)
{
    *m = (struct kb_model){.headline = 0};
}

static void free_case(struct kb_model_case *c)
{
    cJSON_Delete(c->run);
    cJSON_Delete(c->verify);
    cJSON_Delete(c->timing);
    cJSON_Delete(c->versus);
    cJSON_Delete(c->facts);
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

static void clear_results(struct kb_model_version *v, int cases)
{
    for (int i = 0; v->cases && i < cases; i++)
        free_case(&v->cases[i]);
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

static void free_version(struct kb_model_version *v, int cases)
{
    clear_results(v, cases);
    free(v->cases);
    free(v->key);
    free(v->failed_rung);
    free(v->fault_of);
    free(v->git);
    free(v->source_hash);
    forget_compiled(v);
}

static void free_variant(struct kb_model_variant *v, int cases)
{
    for (int i = 0; i < v->version_count; i++)
        free_version(&v->versions[i], cases);
    free(v->versions);
    free(v->name);
    free(v->kind);
    free(v->source);
    free(v->kernel);
    cJSON_Delete(v->reported);
    free(v->file_state);
    free(v->file_reason);
}

static void free_log_line(struct kb_log_line *l)
{
    free(l->source);
    free(l->variant);
    free(l->text);
}

void kb_model_free(struct kb_model *m)
{
    for (int i = 0; i < m->variant_count; i++)
        free_variant(&m->variants[i], m->case_count);
    free(m->variants);
    cJSON_Delete(m->session);
    cJSON_Delete(m->permission);
    cJSON_Delete(m->device);
    cJSON_Delete(m->roofs);
    cJSON_Delete(m->watch);
    cJSON_Delete(m->weak);
    free(m->disk_stuck);
    for (int i = 0; i < KB_WORKER_ROLES; i++) {
        cJSON_Delete(m->libs[i]);
        free(m->workers[i].state);
        free(m->workers[i].reason);
    }
    for (int i = 0; i < m->log_count; i++)
        free_log_line(&m->log[i]);
    free(m->log);
    free(m->bench_name);
    free(m->bench_error);
    free(m->pin_variant);
    free(m->status_text);
    free(m->status_level);
    free(m->status_remedy);
    kb_model_init(m);
}

int kb_model_variant_index(const struct kb_model *m, const char *name)
{
    for (int i = 0; name && i < m->variant_count; i++)
        if (!strcmp(m->variants[i].name, name))
            return i;
    return -1;
}

static void forget_details(struct kb_model_version *v, int cases)
{
    for (int i = 0; i < cases; i++)
        free_case(&v->cases[i]);
    forget_compiled(v);
    forget_late(v);
    v->forgotten = true;
}

// A session of a whole day must not grow: builds that never became a version go, and old versions keep their numbers
// but not their documents (those are in the history).
static void prune(struct kb_model_variant *variant, int cases)
{
    int kept = 0;
    for (int k = 0; k < variant->version_count; k++) {
        struct kb_model_version *v = &variant->versions[k];
        if (v->superseded && !v->number)
            free_version(v, cases);
        else
            variant->versions[kept++] = *v;
    }
    variant->version_count = kept;
    if (kept > KB_MODEL_DETAILED)
        forget_details(&variant->versions[kept - KB_MODEL_DETAILED - 1], cases);
}

static struct kb_model_version *add_version(struct kb_model *m, struct kb_model_variant *variant, const char *key)
{
    prune(variant, m->case_count);
    KB_GROW(variant->versions, variant->version_count, variant->version_capacity);
    struct kb_model_version *v = &variant->versions[variant->version_count++];
    *v = (struct kb_model_version){.key = kb_strdup(key),
                                   .status = KB_STATUS_RUNNING,
                                   .cases = kb_alloc(sizeof *v->cases * (size_t)(m->case_count + 1)),
                                   .started_ms = m->now_ms,
                                   .done_ms = -1};
    clear_results(v, m->case_count);
    return v;
}

// Which version an event is about: by number where it has one, else the newest (unfinished) one.
static struct kb_model_version *event_version(struct kb_model *m, const cJSON *event)
{
    int i = kb_model_variant_index(m, kb_json_text(event, "variant", NULL));
    if (i < 0)
        return NULL;
    struct kb_model_variant *variant = &m->variants[i];
    int number = (int)kb_json_int(event, "version", 0);
    for (int k = variant->version_count - 1; number > 0 && k >= 0; k--)
        if (variant->versions[k].number == number)
            return &variant->versions[k];
    return variant->version_count ? &variant->versions[variant->version_count - 1] : NULL;
}

static struct kb_model_variant take_variant(struct kb_model *old, const cJSON *item)
{
    struct kb_model_variant v = {.name = kb_strdup(kb_json_text(item, "name", "?"))};
    int same = old ? kb_model_variant_index(old, v.name) : -1;
    if (same >= 0) { // its versions live on
        struct kb_model_variant *o = &old->variants[same];
        v.versions = o->versions;
        v.reported = o->reported;
        o->reported = NULL;
        v.version_count = o->version_count;
        v.version_capacity = o->version_capacity;
        o->versions = NULL;
        o->version_count = o->version_capacity = 0;
    }
    v.kind = kb_strdup(kb_json_text(item, "kind", "cuda"));
    v.source = kb_strdup(kb_json_text(item, "source", ""));
    v.kernel = kb_strdup(kb_json_text(item, "kernel", ""));
    return v;
}

static void resize_cases(struct kb_model_variant *variant, int before, int after)
{
    for (int k = 0; k < variant->version_count; k++) {
        struct kb_model_version *v = &variant->versions[k];
        for (int i = 0; i < before; i++) // results of another contract say nothing under this one
            free_case(&v->cases[i]);
        free(v->cases);
        v->cases = kb_alloc(sizeof *v->cases * (size_t)(after + 1));
    }
}

// Then cases and what is right there are the same, whatever else was edited.
static bool same_contract(const cJSON *a, const cJSON *b)
{
    const char *one = kb_json_text(kb_json_get(a, "bench"), "contract", "");
    return *one && !strcmp(one, kb_json_text(kb_json_get(b, "bench"), "contract", ""));
}

static void apply_session(struct kb_model *m, const cJSON *event)
{
    const cJSON *error = kb_json_get(event, "error");
    set_text(&m->bench_error, error ? kb_json_text(error, "text", "?") : NULL);
    if (error)
        return;
    const cJSON *list = kb_json_get(event, "variants");
    int count = cJSON_GetArraySize(list), cases = cJSON_GetArraySize(kb_json_get(event, "cases"));
    char *focus =
        m->variant_count ? kb_strdup(m->variants[m->focus].name) : kb_strdup(kb_json_text(event, "focus", NULL));
    struct kb_model_variant *variants = kb_alloc(sizeof *variants * (size_t)(count + 1));
    for (int i = 0; i < count; i++)
        variants[i] = take_variant(m, cJSON_GetArrayItem(list, i));
    for (int i = 0; i < m->variant_count; i++)
        free_variant(&m->variants[i], m->case_count);
    free(m->variants);
    m->variants = variants;
    m->variant_count = count;
    if (!same_contract(m->session, event) || cases != m->case_count) {
        for (int i = 0; i < count; i++)
            resize_cases(&variants[i], m->case_count, cases);
        keep(&m->weak, NULL);
    }
    m->case_count = cases;
    m->headline = (int)kb_json_int(event, "headline", 0);
    keep(&m->session, event);
    set_text(&m->bench_name, kb_json_text(kb_json_get(event, "bench"), "name", "?"));
    int index = kb_model_variant_index(m, focus);
    m->focus = index < 0 ? 0 : index;
    free(focus);
}

static struct kb_model_version *by_key(struct kb_model_variant *variant, const char *key)
{
    for (int k = variant->version_count - 1; key && k >= 0; k--)
        if (!strcmp(variant->versions[k].key, key))
            return &variant->versions[k];
    return NULL;
}

// The newest version stands last: one that comes back (undo) moves there.
static struct kb_model_version *to_end(struct kb_model_variant *variant, struct kb_model_version *v)
{
    struct kb_model_version moved = *v, *last = &variant->versions[variant->version_count - 1];
    memmove(v, v + 1, (size_t)(last - v) * sizeof *v);
    *last = moved;
    return last;
}

static void apply_build(struct kb_model *m, const cJSON *event)
{
    int i = kb_model_variant_index(m, kb_json_text(event, "variant", NULL));
    if (i < 0)
        return;
    struct kb_model_variant *variant = &m->variants[i];
    const char *state = kb_json_text(event, "state", ""), *key = kb_json_text(event, "key", "");
    struct kb_model_version *v = by_key(variant, key);
    if (!strcmp(state, "started")) {
        v = v ? to_end(variant, v) : add_version(m, variant, key);
        v->superseded = v->forgotten = false;
        v->started_ms = m->now_ms;
    } else if (v && !strcmp(state, "superseded")) {
        v->superseded = true;
    } else if (v && !strcmp(state, "final")) {
        v->number = (int)kb_json_int(event, "version", 0);
        v->known = kb_json_bool(event, "known", false);
        set_text(&v->git, kb_json_text(event, "git", NULL));
        set_text(&v->source_hash, kb_json_text(event, "source_hash", NULL));
        set_text(&variant->file_state, NULL);
    }
}

static void apply_rung(struct kb_model *m, const cJSON *event, struct kb_event *e)
{
    struct kb_model_version *v = event_version(m, event);
    int rung = kb_rung_parse(kb_json_text(event, "rung", "")),
        status = kb_status_parse(kb_json_text(event, "status", "?"));
    if (!v || rung < 0 || status < 0)
        return;
    struct kb_rung_state *state = &v->rungs[rung];
    if (status == KB_STATUS_RUNNING)
        kb_findings_drop(v, rung, rung >= KB_RUNG_LATE ? rung + 1 : KB_RUNGS);
    if (status == KB_STATUS_RUNNING && rung >= KB_RUNG_LATE) {
        state->since_ms = m->now_ms;          // the verdict stands
    } else if (status == KB_STATUS_RUNNING) { // a rung that starts again takes the ones behind it with it
        for (int i = rung; i < KB_RUNGS; i++) {
            set_text(&v->rungs[i].reason, NULL);
            v->rungs[i] = (struct kb_rung_state){.ms = NAN};
        }
        if (rung <= KB_RUNG_VERIFY)
            forget_seeds(v);
        state->since_ms = m->now_ms;
        v->status = KB_STATUS_RUNNING;
        v->judged = false;
        v->done_ms = -1;
        set_text(&v->failed_rung, NULL);
        set_text(&v->fault_of, NULL);
    }
    if (status == KB_STATUS_FAIL)
        set_text(&v->fault_of, kb_json_text(event, "fault_of", NULL));
    state->status = (enum kb_status)status;
    state->ms = kb_json_number(event, "ms", NAN);
    state->doubt = kb_json_bool(event, "doubt", false);
    set_text(&state->reason, kb_json_text(event, "reason", NULL));
    if (rung == KB_RUNG_VERIFY) {
        struct kb_ev_rung *r = e->body;
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

static void apply_case(struct kb_model *m, const cJSON *event, const char *type)
{
    struct kb_model_version *v = event_version(m, event);
    int index = (int)kb_json_int(event, "case", -1);
    if (!v || index < 0 || index >= m->case_count)
        return;
    struct kb_model_case *c = &v->cases[index];
    if (!strcmp(type, "timing"))
        keep(&c->timing, event);
    else if (!strcmp(type, "versus"))
        keep(&c->versus, event);
    else if (!strcmp(type, "facts"))
        kb_model_add_facts(&c->facts, event);
    else if (!strcmp(kb_json_text(event, "rung", ""), "run"))
        keep(&c->run, event);
    else
        keep(&c->verify, event);
    if (strcmp(type, "timing") || index != m->headline)
        return;
    const cJSON *cold = kb_json_get(event, "cold"), *warm = kb_json_get(event, "warm");
    v->impossible = kb_json_bool(kb_json_get(event, "roofline"), "impossible", false);
    if (v->status == KB_STATUS_FAIL) // measured while `races` found it wrong
        return;
    v->cold_us = v->impossible ? NAN : kb_json_number(cold, "median_us", NAN);
    v->warm_us = kb_json_number(warm, "median_us", NAN);
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
    set_text(&v->counters->stage, "all");
}

static void apply_to_version(struct kb_model_version *v, struct kb_event *e)
{
    switch (e->type) {
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

// A version that failed after it had passed is nobody's baseline any more.
static void drop_comparisons(struct kb_model *m, const char *variant, int number)
{
    for (int i = 0; i < m->variant_count; i++)
        for (int k = 0; k < m->variants[i].version_count; k++)
            for (int c = 0; c < m->case_count; c++) {
                cJSON **versus = &m->variants[i].versions[k].cases[c].versus;
                const cJSON *baseline = kb_json_get(*versus, "baseline");
                if (kb_json_int(baseline, "version", 0) == number &&
                    !strcmp(kb_json_text(baseline, "variant", ""), variant))
                    keep(versus, NULL);
            }
}

// Recordings of before there were verdicts have `done` in their place.
static void apply_verdict(struct kb_model *m, const cJSON *event)
{
    struct kb_model_version *v = event_version(m, event);
    int status = kb_status_parse(kb_json_text(event, "status", "?"));
    bool is_verdict = !strcmp(kb_json_text(event, "type", ""), "verdict");
    if (!v || status < 0 || (v->judged && !is_verdict))
        return;
    v->judged = is_verdict;
    v->status = (enum kb_status)status;
    v->done_ms = m->now_ms;
    v->first_verdict_ms = kb_json_number(event, "first_verdict_ms", v->first_verdict_ms);
    set_text(&v->failed_rung, kb_json_text(event, "rung", NULL));
    set_text(&v->fault_of, kb_json_text(event, "fault_of", NULL));
    if (v->status != KB_STATUS_FAIL)
        return;
    v->cold_us = v->warm_us = NAN; // a wrong version has no speed, and met no goal
    KB_FORGET(v->goal, goal);
    if (v->number)
        drop_comparisons(m, kb_json_text(event, "variant", ""), v->number);
}

static void apply_worker(struct kb_model *m, const cJSON *event)
{
    for (int i = 0; i < KB_WORKER_ROLES; i++) {
        if (strcmp(kb_worker_role_name((enum kb_worker_role)i), kb_json_text(event, "role", "")))
            continue;
        set_text(&m->workers[i].state, kb_json_text(event, "state", "?"));
        set_text(&m->workers[i].reason, kb_json_text(event, "reason", NULL));
        m->workers[i].pid = kb_json_int(event, "pid", 0);
    }
}

static void apply_libs(struct kb_model *m, const cJSON *event)
{
    for (int i = 0; i < KB_WORKER_ROLES; i++)
        if (!strcmp(kb_worker_role_name((enum kb_worker_role)i), kb_json_text(event, "role", "")))
            keep(&m->libs[i], event);
}

static void add_log_line(struct kb_model *m, const cJSON *event, const char *text, size_t n)
{
    if (!m->log)
        m->log = kb_alloc(sizeof *m->log * KB_LOG_MOST);
    int at = (m->log_start + m->log_count) % KB_LOG_MOST;
    if (m->log_count == KB_LOG_MOST) {
        free_log_line(&m->log[at]);
        m->log_start = (m->log_start + 1) % KB_LOG_MOST;
        m->log_dropped++;
    } else {
        m->log_count++;
    }
    struct kb_text clean = {0};
    kb_clean(&clean, text, n, false);
    m->log[at] = (struct kb_log_line){.source = kb_strdup(kb_json_text(event, "source", "")),
                                      .variant = kb_strdup(kb_json_text(event, "variant", NULL)),
                                      .text = kb_text_take(&clean),
                                      .t_ms = m->now_ms};
}

static void apply_log(struct kb_model *m, const cJSON *event)
{
    m->log_dropped += kb_json_int(event, "dropped", 0);
    for (const char *line = kb_json_text(event, "text", ""); *line;) {
        size_t n = strcspn(line, "\n");
        add_log_line(m, event, line, n);
        line += n + (line[n] == '\n');
    }
}

static void apply_file(struct kb_model *m, const cJSON *event)
{
    int i = kb_model_variant_index(m, kb_json_text(event, "variant", NULL));
    if (i < 0)
        return;
    const char *state = kb_json_text(event, "state", "");
    bool bad = !strcmp(state, "missing") || !strcmp(state, "unreadable");
    set_text(&m->variants[i].file_state, bad ? state : NULL);
    set_text(&m->variants[i].file_reason, bad ? kb_json_text(event, "reason", NULL) : NULL);
}

static void apply_reported(struct kb_model *m, const cJSON *event)
{
    int i = kb_model_variant_index(m, kb_json_text(event, "variant", NULL));
    char *key = kb_format("%d", (int)kb_json_int(event, "case", 0));
    if (i >= 0 && !m->variants[i].reported)
        m->variants[i].reported = cJSON_CreateObject();
    if (i >= 0)
        kb_json_set(m->variants[i].reported, key, cJSON_Duplicate(event, true));
    free(key);
}

const cJSON *kb_model_reported(const struct kb_model *m, int variant, int case_index)
{
    char *key = kb_format("%d", case_index);
    const cJSON *event =
        variant >= 0 && variant < m->variant_count ? kb_json_get(m->variants[variant].reported, key) : NULL;
    free(key);
    return event;
}

const char *kb_model_reported_wait(const struct kb_model *m)
{
    const char *kind = kb_json_text(m->device, "kind", "");
    return !strcmp(kind, "cpu")    ? "commands are asked for their time on a GPU only"
           : !strcmp(kind, "none") ? "there is no device"
           : m->permission         ? "a command waits to be allowed"
                                   : "it is asked when nothing else runs";
}

static void apply_small(struct kb_model *m, const cJSON *event, const char *type)
{
    if (!strcmp(type, "device")) {
        keep(&m->device, event);
    } else if (!strcmp(type, "roofs")) {
        keep(&m->roofs, event);
    } else if (!strcmp(type, "watch")) {
        keep(&m->watch, event);
    } else if (!strcmp(type, "permission")) {
        keep(&m->permission, kb_json_bool(event, "needed", false) ? event : NULL);
    } else if (!strcmp(type, "weak")) {
        keep(&m->weak, event);
    } else if (!strcmp(type, "disk")) {
        bool stuck = !strcmp(kb_json_text(event, "state", ""), "stuck");
        set_text(&m->disk_stuck, stuck ? kb_json_text(event, "path", "") : NULL);
    } else if (!strcmp(type, "pin")) {
        set_text(&m->pin_variant, kb_json_text(event, "variant", NULL));
        m->pin_version = (int)kb_json_int(event, "version", 0);
    } else if (!strcmp(type, "focus")) {
        int i = kb_model_variant_index(m, kb_json_text(event, "variant", NULL));
        m->focus = i < 0 ? m->focus : i;
    } else if (!strcmp(type, "pause")) {
        m->paused = kb_json_bool(event, "paused", false);
    } else if (!strcmp(type, "status")) {
        set_text(&m->status_text, kb_json_text(event, "text", NULL));
        set_text(&m->status_level, kb_json_text(event, "level", "info"));
        set_text(&m->status_remedy, kb_json_text(event, "remedy", NULL));
    } else if (!strcmp(type, "end")) {
        m->ended = true;
    }
}

int kb_model_apply(struct kb_model *m, const cJSON *event)
{
    const char *type = kb_json_text(event, "type", NULL);
    if (!type)
        return -1;
    struct kb_event e;
    struct kb_model_version *v;
    bool known = kb_event_read(event, &e) == 0;
    m->now_ms = kb_json_int(event, "t_ms", m->now_ms);
    m->changes++;
    if (!strcmp(type, "session") || !strcmp(type, "bench"))
        apply_session(m, event);
    else if (!strcmp(type, "build"))
        apply_build(m, event);
    else if (!strcmp(type, "rung"))
        apply_rung(m, event, &e);
    else if (!strcmp(type, "case") || !strcmp(type, "timing") || !strcmp(type, "versus") || !strcmp(type, "facts"))
        apply_case(m, event, type);
    else if (!strcmp(type, "verdict") || !strcmp(type, "done"))
        apply_verdict(m, event);
    else if (!strcmp(type, "worker"))
        apply_worker(m, event);
    else if (!strcmp(type, "libs"))
        apply_libs(m, event);
    else if (!strcmp(type, "log"))
        apply_log(m, event);
    else if (!strcmp(type, "file"))
        apply_file(m, event);
    else if (!strcmp(type, "reported"))
        apply_reported(m, event);
    else
        apply_small(m, event, type);
    if (known && (v = event_version(m, event)))
        apply_to_version(v, &e);
    kb_event_free(&e);
    return 0;
}

const struct kb_log_line *kb_model_log(const struct kb_model *m, int index)
{
    return index >= 0 && index < m->log_count ? &m->log[(m->log_start + index) % KB_LOG_MOST] : NULL;
}

struct kb_model_version *kb_model_current(const struct kb_model *m, int variant)
{
    if (variant < 0 || variant >= m->variant_count)
        return NULL;
    struct kb_model_variant *v = &m->variants[variant];
    for (int k = v->version_count - 1; k >= 0; k--)
        if (!v->versions[k].superseded)
            return &v->versions[k];
    return NULL;
}

struct kb_model_version *kb_model_version(const struct kb_model *m, int variant, int number)
{
    if (variant < 0 || variant >= m->variant_count)
        return NULL;
    struct kb_model_variant *v = &m->variants[variant];
    for (int k = v->version_count - 1; k >= 0; k--)
        if (v->versions[k].number == number && number > 0)
            return &v->versions[k];
    return NULL;
}

struct kb_model_version *kb_model_last_good(const struct kb_model *m, int variant)
{
    if (variant < 0 || variant >= m->variant_count)
        return NULL;
    struct kb_model_variant *v = &m->variants[variant];
    for (int k = v->version_count - 1; k >= 0; k--)
        if (v->versions[k].status == KB_STATUS_PASS && !v->versions[k].superseded)
            return &v->versions[k];
    return NULL;
}

const struct kb_ev_kernel_resources *kb_model_kernel(const struct kb_model_version *v)
{
    return v && v->resources && v->resources->kernels_count ? v->resources->kernels : &kb_unknown_kernel_resources;
}

const cJSON *kb_model_timing(const struct kb_model *m, const struct kb_model_version *v, int case_index)
{
    return v && case_index >= 0 && case_index < m->case_count ? v->cases[case_index].timing : NULL;
}

const cJSON *kb_model_worst_metrics(const struct kb_model_version *v, int case_index, const cJSON **output)
{
    const cJSON *worst = NULL, *best_output = NULL, *item;
    const cJSON *event = v->cases[case_index].verify ? v->cases[case_index].verify : v->cases[case_index].run;
    double most = -1, error = -1;
    cJSON_ArrayForEach (item, kb_json_get(event, "outputs")) {
        const cJSON *metrics = kb_json_get(item, "metrics");
        double mismatches = kb_json_number(metrics, "mismatches", 0), scaled = kb_json_number(metrics, "scaled", 0);
        if (metrics && (mismatches > most || (mismatches == most && scaled > error))) {
            worst = metrics;
            best_output = item;
            most = mismatches;
            error = scaled;
        }
    }
    if (output)
        *output = best_output;
    return worst;
}

const char *kb_model_weak(const struct kb_model *m, int case_index, const char **reason)
{
    const cJSON *item;
    *reason = "the inputs were not made yet";
    cJSON_ArrayForEach (item, kb_json_get(m->weak, "cases")) {
        if (kb_json_int(item, "case", -1) != case_index)
            continue;
        *reason = kb_json_text(item, "weak_reason", "the worker did not say");
        return kb_json_text(item, "weak", NULL);
    }
    return NULL;
}
