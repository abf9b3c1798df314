// How events build the model.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/findings.h"
#include "loop/model.h"
#include "loop/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kb_model_init(struct kb_model *m)
{
    *m = (struct kb_model){.headline = 0};
}

static void free_variant(struct kb_model_variant *v, int cases)
{
    for (int i = 0; i < v->version_count; i++)
        kb_version_free(&v->versions[i], cases);
    free(v->versions);
    free(v->name);
    free(v->kind);
    free(v->source);
    free(v->kernel);
    for (int i = 0; i < v->reported_count; i++)
        kb_record_free(&kb_record_reported, &v->reported[i]);
    free(v->reported);
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
    KB_FORGET(m->session, session);
    KB_FORGET(m->permission, permission);
    KB_FORGET(m->device, device);
    KB_FORGET(m->roofs, roofs);
    KB_FORGET(m->watch, watch);
    KB_FORGET(m->weak, weak);
    free(m->disk_stuck);
    for (int i = 0; i < KB_WORKER_ROLES; i++) {
        KB_FORGET(m->libs[i], libs);
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

// A session of a whole day must not grow: builds that never became a version go, and old versions keep their numbers
// but not their documents (those are in the history).
static void prune(struct kb_model_variant *variant, int cases)
{
    int kept = 0;
    for (int k = 0; k < variant->version_count; k++) {
        struct kb_model_version *v = &variant->versions[k];
        if (v->superseded && !v->number)
            kb_version_free(v, cases);
        else
            variant->versions[kept++] = *v;
    }
    variant->version_count = kept;
    if (kept > KB_MODEL_DETAILED)
        kb_version_forget(&variant->versions[kept - KB_MODEL_DETAILED - 1], cases);
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
    kb_version_clear(v, m->case_count);
    return v;
}

// Which version an event is about: by number where it has one, else the newest (unfinished) one.
static struct kb_model_version *event_version(struct kb_model *m, const struct kb_event *e)
{
    int i = kb_model_variant_index(m, e->variant);
    if (i < 0)
        return NULL;
    struct kb_model_variant *variant = &m->variants[i];
    for (int k = variant->version_count - 1; e->version > 0 && k >= 0; k--)
        if (variant->versions[k].number == e->version)
            return &variant->versions[k];
    return variant->version_count ? &variant->versions[variant->version_count - 1] : NULL;
}

static struct kb_model_variant take_variant(struct kb_model *old, const struct kb_ev_variant *item)
{
    struct kb_model_variant v = {.name = kb_strdup(item->name ?: "?")};
    int same = old ? kb_model_variant_index(old, v.name) : -1;
    if (same >= 0) { // its versions live on
        struct kb_model_variant *o = &old->variants[same];
        v.versions = o->versions;
        v.reported = o->reported;
        v.reported_count = o->reported_count;
        v.reported_capacity = o->reported_capacity;
        o->reported = NULL;
        o->reported_count = 0;
        v.version_count = o->version_count;
        v.version_capacity = o->version_capacity;
        o->versions = NULL;
        o->version_count = o->version_capacity = 0;
    }
    v.kind = kb_strdup(item->kind ?: "cuda");
    v.source = kb_strdup(item->source ?: "");
    v.kernel = kb_strdup(item->kernel ?: "");
    return v;
}

static void resize_cases(struct kb_model_variant *variant, int before, int after)
{
    for (int k = 0; k < variant->version_count; k++) {
        struct kb_model_version *v = &variant->versions[k];
        for (int i = 0; i < before; i++) // results of another contract say nothing under this one
            kb_version_free_case(&v->cases[i]);
        free(v->cases);
        v->cases = kb_alloc(sizeof *v->cases * (size_t)(after + 1));
    }
}

// Then cases and what is right there are the same, whatever else was edited.
static bool same_contract(const struct kb_model *m, const struct kb_ev_session *s)
{
    const char *one = kb_model_bench(m)->contract ?: "";
    return *one && s->bench && s->bench->contract && !strcmp(one, s->bench->contract) &&
           s->cases_count == m->case_count;
}

static void apply_session(struct kb_model *m, struct kb_event *e)
{
    const struct kb_ev_session *s = e->body;
    kb_model_text(&m->bench_error, s->error ? s->error->text ?: "?" : NULL);
    if (s->error)
        return;
    char *focus = kb_strdup(m->variant_count ? m->variants[m->focus].name : s->focus);
    struct kb_model_variant *variants = kb_alloc(sizeof *variants * (size_t)(s->variants_count + 1));
    for (int i = 0; i < s->variants_count; i++)
        variants[i] = take_variant(m, &s->variants[i]);
    for (int i = 0; i < m->variant_count; i++)
        free_variant(&m->variants[i], m->case_count);
    free(m->variants);
    m->variants = variants;
    m->variant_count = s->variants_count;
    if (!same_contract(m, s)) {
        for (int i = 0; i < m->variant_count; i++)
            resize_cases(&variants[i], m->case_count, s->cases_count);
        KB_FORGET(m->weak, weak);
    }
    m->case_count = s->cases_count;
    m->headline = (int)s->headline;
    KB_KEEP(m->session, e);
    kb_model_text(&m->bench_name, kb_model_bench(m)->name ?: "?");
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

static void apply_build(struct kb_model *m, const struct kb_event *e)
{
    int i = kb_model_variant_index(m, e->variant);
    if (i < 0)
        return;
    struct kb_model_variant *variant = &m->variants[i];
    const struct kb_ev_build *b = e->body;
    const char *state = b->state ?: "", *key = b->key ?: "";
    struct kb_model_version *v = by_key(variant, key);
    if (!strcmp(state, "started")) {
        v = v ? to_end(variant, v) : add_version(m, variant, key);
        v->superseded = v->forgotten = false;
        v->started_ms = m->now_ms;
    } else if (v && !strcmp(state, "superseded")) {
        v->superseded = true;
    } else if (v && !strcmp(state, "final")) {
        v->number = e->version;
        v->known = b->known;
        kb_model_text(&v->git, b->git);
        kb_model_text(&v->source_hash, b->source_hash);
        kb_model_text(&variant->file_state, NULL);
    }
}

// -1: none of ours.
static int role_index(const char *name)
{
    for (int i = 0; name && i < KB_WORKER_ROLES; i++)
        if (!strcmp(kb_worker_role_name((enum kb_worker_role)i), name))
            return i;
    return -1;
}

static void apply_worker(struct kb_model *m, const struct kb_ev_worker *w)
{
    int i = role_index(w->role);
    if (i < 0)
        return;
    kb_model_text(&m->workers[i].state, w->state ?: "?");
    kb_model_text(&m->workers[i].reason, w->reason);
    m->workers[i].pid = w->pid;
}

static void apply_libs(struct kb_model *m, struct kb_event *e)
{
    int i = role_index(((struct kb_ev_libs *)e->body)->role);
    if (i >= 0)
        KB_KEEP(m->libs[i], e);
}

static void add_log_line(struct kb_model *m, const struct kb_event *e, const char *text, size_t n)
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
    m->log[at] = (struct kb_log_line){.source = kb_strdup(((struct kb_ev_log *)e->body)->source ?: ""),
                                      .variant = kb_strdup(e->variant),
                                      .text = kb_text_take(&clean),
                                      .t_ms = m->now_ms};
}

static void apply_log(struct kb_model *m, const struct kb_event *e)
{
    const struct kb_ev_log *log = e->body;
    m->log_dropped += isnan(log->dropped) ? 0 : (int64_t)log->dropped;
    for (const char *line = log->text ?: ""; *line;) {
        size_t n = strcspn(line, "\n");
        add_log_line(m, e, line, n);
        line += n + (line[n] == '\n');
    }
}

static void apply_file(struct kb_model *m, const struct kb_event *e)
{
    int i = kb_model_variant_index(m, e->variant);
    const struct kb_ev_file *file = e->body;
    const char *state = file->state ?: "";
    bool bad = !strcmp(state, "missing") || !strcmp(state, "unreadable");
    if (i < 0)
        return;
    kb_model_text(&m->variants[i].file_state, bad ? state : NULL);
    kb_model_text(&m->variants[i].file_reason, bad ? file->reason : NULL);
}

static void apply_reported(struct kb_model *m, const struct kb_event *e)
{
    int i = kb_model_variant_index(m, e->variant);
    struct kb_ev_reported *said = e->body, before = *said;
    if (i < 0)
        return;
    struct kb_model_variant *v = &m->variants[i];
    int k = 0;
    while (k < v->reported_count && v->reported[k].index != said->index)
        k++;
    if (k == v->reported_count) {
        KB_GROW(v->reported, v->reported_count, v->reported_capacity);
        kb_record_init(&kb_record_reported, &v->reported[v->reported_count++]);
    }
    *said = v->reported[k];
    v->reported[k] = before;
}

static void apply_permission(struct kb_model *m, struct kb_event *e)
{
    if (((struct kb_ev_permission *)e->body)->needed)
        KB_KEEP(m->permission, e);
    else
        KB_FORGET(m->permission, permission);
}

static void apply_disk(struct kb_model *m, const struct kb_ev_disk *disk)
{
    bool stuck = disk->state && !strcmp(disk->state, "stuck");
    kb_model_text(&m->disk_stuck, stuck ? disk->path ?: "" : NULL);
}

static void apply_status(struct kb_model *m, const struct kb_ev_status *status)
{
    kb_model_text(&m->status_text, status->text);
    kb_model_text(&m->status_level, status->level ?: "info");
    kb_model_text(&m->status_remedy, status->remedy);
}

static void apply_to_session(struct kb_model *m, struct kb_event *e)
{
    int i = kb_model_variant_index(m, e->variant);
    switch (e->type) {
    case KB_EVENT_session:
        apply_session(m, e);
        break;
    case KB_EVENT_build:
        apply_build(m, e);
        break;
    case KB_EVENT_worker:
        apply_worker(m, e->body);
        break;
    case KB_EVENT_libs:
        apply_libs(m, e);
        break;
    case KB_EVENT_log:
        apply_log(m, e);
        break;
    case KB_EVENT_file:
        apply_file(m, e);
        break;
    case KB_EVENT_reported:
        apply_reported(m, e);
        break;
    case KB_EVENT_device:
        KB_KEEP(m->device, e);
        break;
    case KB_EVENT_roofs:
        KB_KEEP(m->roofs, e);
        break;
    case KB_EVENT_watch:
        KB_KEEP(m->watch, e);
        break;
    case KB_EVENT_permission:
        apply_permission(m, e);
        break;
    case KB_EVENT_weak:
        KB_KEEP(m->weak, e);
        break;
    case KB_EVENT_disk:
        apply_disk(m, e->body);
        break;
    case KB_EVENT_pin:
        kb_model_text(&m->pin_variant, e->variant);
        m->pin_version = e->version;
        break;
    case KB_EVENT_focus:
        m->focus = i < 0 ? m->focus : i;
        break;
    case KB_EVENT_pause:
        m->paused = ((struct kb_ev_pause *)e->body)->paused;
        break;
    case KB_EVENT_status:
        apply_status(m, e->body);
        break;
    case KB_EVENT_end:
        m->ended = true;
        break;
    default:
        break;
    }
}

void kb_model_take(struct kb_model *m, struct kb_event *e)
{
    m->changes++;
    m->now_ms = e->t_ms < 0 ? m->now_ms : e->t_ms;
    struct kb_model_version *v = e->body ? event_version(m, e) : NULL;
    if (v)
        kb_version_apply(m, v, e);
    if (e->body)
        apply_to_session(m, e);
}

int kb_model_apply(struct kb_model *m, const cJSON *event)
{
    struct kb_event e;
    if (!kb_json_text(event, "type", NULL))
        return -1;
    kb_event_read(event, &e);
    e.t_ms = kb_json_int(event, "t_ms", -1); // also of a type that is unknown
    kb_model_take(m, &e);
    kb_event_free(&e);
    return 0;
}
