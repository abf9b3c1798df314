// The ladder of one build: from new content to its verdict.
#include "base/file.h"
#include "loop/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEEP_KNOWN = 64, KEEP_BLOBS = 8 }; // finished builds of a variant that are remembered; with their binaries

// Life

struct kb_build *kb_build_ref(struct kb_build *b)
{
    if (b)
        b->refs++;
    return b;
}

struct kb_slot *kb_slot_of(const struct kb_session *s, const struct kb_build *b)
{
    bool there = b->variant >= 0 && b->variant < s->slot_count && !strcmp(s->slots[b->variant].name, b->name);
    if (there)
        return &s->slots[b->variant];
    for (int i = 0; b->variant >= 0 && i < s->slot_count; i++) // one that no slot holds any more did not move with it
        if (!strcmp(s->slots[i].name, b->name))
            return &s->slots[i];
    return NULL;
}

void kb_blobs_free(struct kb_blobs *blobs)
{
    free(blobs->ptx);
    free(blobs->cubin);
    free(blobs->sass);
    *blobs = (struct kb_blobs){0};
}

void kb_build_unref(struct kb_build *b)
{
    if (!b || --b->refs)
        return;
    kb_shared_unref(b->source);
    kb_variant_free(b->resolved);
    kb_blobs_free(&b->blobs);
    cJSON_Delete(b->compiled);
    cJSON_Delete(b->errors);
    cJSON_Delete(b->results);
    free(b->failed_rung_reason);
    cJSON_Delete(b->not_tried);
    free(b->samples);
    free(b->git);
    free(b->name);
    free(b);
}

// A -D of the command line wins over the bench and over //kb: lines.
static void add_define(struct kb_variant *v, const char *define)
{
    size_t n = strcspn(define, "=");
    const char *value = define[n] ? define + n + 1 : "1";
    for (int i = 0; i < v->define_count; i++) {
        if (strlen(v->defines[i].name) != n || strncmp(v->defines[i].name, define, n))
            continue;
        free(v->defines[i].value);
        v->defines[i].value = kb_strdup(value);
        return;
    }
    v->defines = kb_realloc(v->defines, sizeof *v->defines * (size_t)(v->define_count + 1));
    v->defines[v->define_count++] = (struct kb_define){kb_strndup(define, n), kb_strdup(value)};
}

static void resolve(struct kb_session *s, struct kb_build *b)
{
    const struct kb_snapshot_file *file = &b->source->snapshot.files[0];
    char *path = kb_path_relative(s->bench_dir, file->path);
    struct kb_source source = {0};
    if (kb_source_scan(file->data, file->size, path, &source, &b->resolve_error) == 0 &&
        kb_variant_resolve(s->bench, b->variant, &source, &b->resolved, &b->resolve_error))
        b->resolved = NULL;
    kb_source_free(&source);
    free(path);
    for (int i = 0; b->resolved && i < s->options.define_count; i++)
        add_define(b->resolved, s->defines[i]);
}

// Everything that decides which binary comes out and how it is launched.
static void compute_key(const struct kb_session *s, struct kb_build *b)
{
    struct kb_hasher *h = kb_hasher_new();
    kb_hasher_text(h, b->source->snapshot.hash.hex);
    if (b->resolved) {
        cJSON *document = kb_variant_to_json(b->resolved);
        char *line = kb_json_line(document);
        kb_hasher_text(h, line);
        free(line);
        cJSON_Delete(document);
    } else {
        kb_hasher_text(h, kb_error_line(&b->resolve_error));
    }
    kb_hasher_text(h, s->arch);
    kb_hasher_text(h, s->compile_libs);
    if (b->resolved && kb_may_use_nvcc(b->resolved) && (*s->nvcc_flags || *s->nvcc_folders)) {
        kb_hasher_text(h, s->nvcc_flags);
        kb_hasher_text(h, s->nvcc_folders);
    }
    if (b->source->snapshot.opaque) // a file that nobody can name may change: never the same as in another session
        kb_hasher_add(h, &s->started_unix, sizeof s->started_unix);
    struct kb_hash hash = kb_hasher_end(h);
    memcpy(b->key, hash.hex, sizeof b->key);
}

struct kb_build *kb_build_new(struct kb_session *s, int index)
{
    struct kb_build *b = kb_alloc(sizeof *b);
    *b = (struct kb_build){.refs = 1, .variant = index, .source = s->slots[index].source->latest};
    b->source->refs++;
    b->name = kb_strdup(s->slots[index].name);
    b->results = cJSON_CreateArray();
    b->saved_us = b->source->snapshot.saved_us;
    resolve(s, b);
    compute_key(s, b);
    return b;
}

// Rungs

const char *kb_fault_word(const char *word)
{
    static const char *const words[] = {"reference", "bench", "worker"};
    for (size_t i = 0; word && i < KB_COUNT(words); i++)
        if (!strcmp(words[i], word))
            return words[i];
    return NULL;
}

void kb_build_rung(struct kb_session *s, struct kb_build *b, enum kb_rung rung, enum kb_status status, double ms,
                   const char *reason)
{
    if (b->dead)
        return;
    bool doubt = status == KB_STATUS_FAIL && kb_guess_doubts(s, b, rung, reason);
    char *words = doubt ? kb_guess_words(s, reason) : NULL;
    if (doubt)
        status = KB_STATUS_NA;
    b->doubted = b->doubted || doubt;
    b->rungs[rung] = status;
    if (status == KB_STATUS_RUNNING && rung >= KB_RUNG_LATE)
        b->late_us[rung] = kb_now_us();
    cJSON *event = kb_build_event(b, "rung");
    kb_json_set_text(event, "rung", kb_rungs[rung].name);
    kb_json_set_text(event, "status", kb_status_name(status));
    kb_json_set_number(event, "ms", ms);
    kb_json_set_text(event, "reason", doubt ? words : reason && *reason ? reason : NULL);
    if (doubt)
        kb_json_set_bool(event, "doubt", true);
    free(words);
    if (rung == KB_RUNG_VERIFY && b->not_tried && status != KB_STATUS_RUNNING)
        kb_json_set(event, "not_tried", cJSON_Duplicate(b->not_tried, true));
    if (status == KB_STATUS_FAIL) {
        if (b->fault_of)
            kb_json_set_text(event, "fault_of", b->fault_of);
        free(b->failed_rung_reason);
        b->failed_rung_reason = kb_strdup(reason ? reason : "failed");
    }
    if (status == KB_STATUS_RUNNING)
        kb_emit(s, event);
    else
        kb_emit_build(s, b, event);
}

static void skip_rest(struct kb_session *s, struct kb_build *b, enum kb_rung from, const char *reason)
{
    for (int i = from; i < KB_RUNGS; i++)
        if (i != KB_RUNG_RACES || !kb_races_look(s, b))
            kb_build_rung(s, b, (enum kb_rung)i, KB_STATUS_SKIP, NAN, reason);
}

int kb_build_failed_rung(const struct kb_build *b)
{
    for (int i = 0; i < KB_RUNGS_DECIDING; i++)
        if (b->rungs[i] == KB_STATUS_FAIL)
            return i;
    return -1;
}

bool kb_build_failed(const struct kb_build *b)
{
    return kb_build_failed_rung(b) >= 0;
}

bool kb_build_passed(const struct kb_build *b)
{
    if (!b->finished || kb_build_failed(b))
        return false;
    for (int i = 0; i < KB_RUNG_LATE; i++)
        if (b->rungs[i] != KB_STATUS_PASS && b->rungs[i] != KB_STATUS_NA)
            return false;
    return true;
}

// Binaries are large: only the newest keep them, and those that others are compared with.
static void drop_old_blobs(struct kb_session *s, struct kb_slot *slot)
{
    for (int i = 0; i < slot->known_count - KEEP_BLOBS; i++) {
        struct kb_build *b = slot->known[i];
        if (b != slot->current && b != slot->good && b != slot->previous && b != s->pin)
            kb_blobs_free(&b->blobs);
    }
}

static void remember(struct kb_session *s, struct kb_build *b)
{
    struct kb_slot *slot = kb_slot_of(s, b);
    if (!slot)
        return;
    if (kb_build_passed(b) && slot->good != b) {
        kb_build_unref(slot->previous);
        slot->previous = slot->good;
        slot->good = kb_build_ref(b);
    }
    for (int i = 0; i < slot->known_count; i++)
        if (slot->known[i] == b)
            return;
    if (slot->known_count == KEEP_KNOWN) {
        kb_ended_build(s, slot->known[0]);
        kb_build_unref(slot->known[0]);
        memmove(slot->known, slot->known + 1, sizeof *slot->known * (KEEP_KNOWN - 1));
        slot->known_count--;
    }
    KB_GROW(slot->known, slot->known_count, slot->known_capacity);
    slot->known[slot->known_count++] = kb_build_ref(b);
    drop_old_blobs(s, slot);
}

static void finish(struct kb_session *s, struct kb_build *b)
{
    b->finished = true;
    remember(s, b);
    kb_emit_build(s, b, kb_build_outcome(b, "verdict", b->verdict_us));
    kb_goal_check(s, b);
    kb_late_begin(s, b);
    kb_records_update(s, b);
    kb_records_errors(s);
}

// The newest good one before the one that is to follow it; NULL: none is known.
static struct kb_build *good_before(const struct kb_slot *slot, const struct kb_build *after)
{
    for (int i = slot->known_count - 1; i >= 0; i--)
        if (slot->known[i] != after && kb_build_passed(slot->known[i]))
            return slot->known[i];
    return NULL;
}

static void replace(struct kb_build **slot, struct kb_build *b)
{
    kb_build_ref(b);
    kb_build_unref(*slot);
    *slot = b;
}

// It is no good version, nobody's baseline, and what was compared with it is compared anew.
void kb_build_disproved(struct kb_session *s, struct kb_build *b)
{
    struct kb_slot *slot = kb_slot_of(s, b);
    if (!slot)
        return;
    struct kb_build *current = slot->current;
    bool compared = slot->previous == b && current != b;
    kb_build_ref(b);
    b->settled_timing = false;
    if (slot->good == b)
        replace(&slot->good, slot->previous ? slot->previous : good_before(slot, b));
    if (slot->previous == b || slot->previous == slot->good)
        replace(&slot->previous, good_before(slot, slot->good));
    for (int i = KB_RUNGS_DECIDING; i < KB_RUNGS; i++)
        if (b->rungs[i] == KB_STATUS_NONE)
            kb_build_rung(s, b, (enum kb_rung)i, KB_STATUS_SKIP, NAN,
                          b->rungs[KB_RUNG_TIME] == KB_STATUS_FAIL ? "time failed" : "races failed");
    kb_emit_build(s, b, kb_build_outcome(b, "verdict", kb_now_us()));
    if (compared && current && kb_build_passed(current))
        current->settled_timing = current->rungs[KB_RUNG_TIME] == KB_STATUS_PASS;
    kb_pin_lost(s, b);
    kb_records_errors(s);
    kb_build_unref(b);
}

static void verdict(struct kb_session *s, struct kb_build *b)
{
    b->stage = KB_STAGE_DONE;
    b->verdict_us = kb_now_us();
    b->settled_timing = b->rungs[KB_RUNG_TIME] == KB_STATUS_PASS;
    if (b->final)
        finish(s, b);
}

void kb_build_rung_done(struct kb_session *s, struct kb_build *b, enum kb_rung rung)
{
    if (b->dead)
        return;
    kb_build_settle(s, b);
    if (b->rungs[rung] == KB_STATUS_FAIL || b->doubted) {
        char *reason = kb_format(b->doubted ? "%s did not work as guessed" : "%s failed", kb_rungs[rung].name);
        skip_rest(s, b, (enum kb_rung)(rung + 1), reason);
        free(reason);
        verdict(s, b);
        return;
    }
    b->next = (enum kb_rung)(rung + 1);
    if ((int)b->next == KB_RUNG_LATE)
        verdict(s, b);
    else if (b->next >= KB_RUNG_CHECK)
        b->stage = KB_STAGE_LADDER;
    if (b->stage == KB_STAGE_LADDER && kb_no_device(s))
        kb_build_no_device(s, b);
}

void kb_build_no_device(struct kb_session *s, struct kb_build *b)
{
    const char *reason = kb_json_text(s->device, "reason", "there is no device");
    for (int i = b->next; i < KB_RUNG_LATE; i++)
        kb_build_rung(s, b, (enum kb_rung)i, KB_STATUS_NA, NAN, reason);
    kb_build_settle(s, b);
    verdict(s, b);
}

// Beginning

static void emit_state(struct kb_session *s, struct kb_build *b, const char *state)
{
    cJSON *event = kb_build_event(b, "build");
    kb_json_set_text(event, "key", b->key);
    kb_json_set_text(event, "state", state);
    if (!strcmp(state, "final")) {
        kb_json_set_text(event, "source_hash", b->source->snapshot.hash.hex);
        kb_json_set_text(event, "git", b->git);
        kb_json_set_bool(event, "known", b->known);
        double ago = b->saved_us ? (double)(kb_now_us() - b->saved_us) : NAN;
        kb_json_measured(event, "saved_us_ago", ago, b->saved_us ? NULL : "it was there when the session began");
    }
    kb_emit(s, event);
}

static void resolve_failed(struct kb_session *s, struct kb_build *b)
{
    cJSON *event = kb_build_event(b, "errors"), *list = cJSON_AddArrayToObject(event, "errors");
    cJSON *item = cJSON_CreateObject();
    const char *on = b->resolve_error.on, *colon = strrchr(on, ':');
    int line = colon ? atoi(colon + 1) : 0;
    char *file = line ? kb_strndup(on, (size_t)(colon - on)) : kb_strdup(on);
    char *text = b->resolve_error.remedy[0] ? kb_format("%s (%s)", b->resolve_error.what, b->resolve_error.remedy)
                                            : kb_strdup(b->resolve_error.what);
    kb_json_set_text(item, "file", file);
    kb_json_set_number(item, "line", line);
    kb_json_set_number(item, "column", line ? 1 : 0);
    kb_json_set_text(item, "severity", "error");
    kb_json_set_text(item, "text", text);
    cJSON_AddItemToArray(list, item);
    b->errors = cJSON_Duplicate(list, true);
    kb_emit_build(s, b, event);
    char *reason = kb_cleaned(kb_error_line(&b->resolve_error));
    kb_build_rung(s, b, KB_RUNG_SCAN, KB_STATUS_FAIL, NAN, reason);
    kb_build_rung_done(s, b, KB_RUNG_SCAN);
    free(reason);
    free(file);
    free(text);
}

void kb_build_no_compiler(struct kb_session *s, struct kb_build *b)
{
    kb_build_rung(s, b, KB_RUNG_SCAN, KB_STATUS_NA, NAN, s->compiler_reason);
    kb_build_rung(s, b, KB_RUNG_COMPILE, KB_STATUS_NA, NAN, s->compiler_reason);
    for (int i = KB_RUNG_CHECK; i < KB_RUNGS; i++)
        kb_build_rung(s, b, (enum kb_rung)i, KB_STATUS_NA, NAN, "nothing was compiled");
    kb_build_settle(s, b);
    verdict(s, b);
}

static void look_up(struct kb_session *s, struct kb_build *b)
{
    b->stage = KB_STAGE_LOOKUP;
    b->lookup_us = kb_now_us();
    kb_records_find(s, b);
}

void kb_build_start(struct kb_session *s, int index, struct kb_build *b)
{
    struct kb_slot *slot = &s->slots[index];
    kb_build_unref(slot->current);
    slot->current = b;
    memcpy(b->contract, s->contract, sizeof b->contract);
    b->started_us = s->last_save_us = kb_now_us();
    kb_profile_yield(s);
    emit_state(s, b, "started");
    if (!b->resolved) {
        resolve_failed(s, b);
        return;
    }
    if (s->compiler_absent) {
        kb_build_no_compiler(s, b);
        return;
    }
    b->stage = KB_STAGE_ASK;
    if (kb_options_may_go(s, b))
        look_up(s, b);
}

void kb_build_refuse(struct kb_session *s, struct kb_build *b, const char *reason)
{
    if (b->dead || b->stage != KB_STAGE_ASK)
        return;
    b->options_refused = true;
    kb_build_rung(s, b, KB_RUNG_SCAN, KB_STATUS_FAIL, NAN, reason);
    kb_build_rung_done(s, b, KB_RUNG_SCAN);
}

// Now, or again: then all is as if it were built for the first time.
void kb_build_allowed(struct kb_session *s, struct kb_build *b)
{
    if (b->dead || (b->stage != KB_STAGE_ASK && !b->options_refused))
        return;
    b->options_allowed = true;
    if (b->stage == KB_STAGE_ASK) {
        look_up(s, b);
        return;
    }
    b->options_refused = false;
    b->rungs[KB_RUNG_SCAN] = KB_STATUS_NONE;
    kb_build_rerun(s, b, KB_RUNG_RUN);
}

void kb_build_return(struct kb_session *s, int index, struct kb_build *b)
{
    struct kb_slot *slot = &s->slots[index];
    kb_ended_build(s, b); // as it was left
    kb_build_ref(b);
    kb_build_unref(slot->current);
    slot->current = b;
    const struct kb_model_version *shown = kb_model_version(&s->model, b->variant, b->version);
    bool forgotten = shown && shown->forgotten; // read before `started` makes it the newest
    b->dead = b->done = false;
    b->known = true;
    b->started_us = b->verdict_us = s->last_save_us = kb_now_us(); // its verdict is known already
    kb_profile_yield(s);
    kb_shared_unref(b->source);
    b->source = slot->source->latest;
    b->source->refs++;
    b->saved_us = b->source->snapshot.saved_us;
    emit_state(s, b, "started");
    emit_state(s, b, "final");
    if (kb_build_passed(b))
        remember(s, b);
    if (strcmp(b->contract, s->contract) || forgotten)
        kb_build_rerun(s, b, KB_RUNG_CHECK);
    kb_records_errors(s);
}

void kb_build_found(struct kb_session *s, struct kb_build *b, int number, const cJSON *record, struct kb_blobs *blobs)
{
    if (b->dead || b->stage != KB_STAGE_LOOKUP)
        return;
    const cJSON *compiled = kb_json_get(record, "compiled");
    b->stage = KB_STAGE_COMPILE;
    if (!number || !cJSON_IsObject(compiled) || !blobs->ptx_size)
        return;
    b->compiled = cJSON_Duplicate(compiled, true);
    b->blobs = *blobs;
    *blobs = (struct kb_blobs){0};
    b->known = true;
    char *reason = kb_format("built before as v%d", number);
    kb_build_rung(s, b, KB_RUNG_SCAN, KB_STATUS_PASS, 0, reason);
    kb_build_rung(s, b, KB_RUNG_COMPILE, KB_STATUS_PASS, 0, reason);
    free(reason);
    kb_build_resources(s, b);
    kb_guess_compiled(s, b);
    kb_build_rung_done(s, b, KB_RUNG_COMPILE);
}

// The end of its content's quiet time

// A number is for what was built, failures included: a compile that a newer save cut short takes none.
static bool was_built(const struct kb_build *b)
{
    return b->rungs[KB_RUNG_SCAN] == KB_STATUS_FAIL || b->rungs[KB_RUNG_COMPILE] > KB_STATUS_RUNNING;
}

void kb_build_settle(struct kb_session *s, struct kb_build *b)
{
    const struct kb_slot *slot = kb_slot_of(s, b);
    const struct kb_session_file *w = slot ? slot->source : NULL;
    if (b->dead || b->claiming || b->final || !w || !w->settled || w->latest != b->source || !was_built(b))
        return;
    b->claiming = true;
    kb_records_claim(s, b);
}

void kb_build_claimed(struct kb_session *s, struct kb_build *b, int number, const char *git, bool known)
{
    b->claiming = false;
    b->version = number;
    b->final = true;
    b->known = b->known || known;
    b->git = kb_strdup(git);
    if (!b->dead) {
        emit_state(s, b, "final");
        if (b->stage == KB_STAGE_DONE)
            finish(s, b);
    }
    kb_records_update(s, b);
}

// Other ends

bool kb_build_in_flight(const struct kb_build *b)
{
    return !b->dead && b->stage != KB_STAGE_DONE;
}

void kb_build_supersede(struct kb_session *s, struct kb_build *b)
{
    if (b->dead)
        return;
    kb_compile_drop(s, b);
    kb_run_drop(s, b);
    if (!b->finished) {
        emit_state(s, b, "superseded");
        b->dead = true;
        if (b->final)
            kb_records_update(s, b);
    }
}

void kb_build_cancel(struct kb_session *s, struct kb_build *b)
{
    kb_compile_drop(s, b);
    kb_run_drop(s, b);
    int from = KB_RUNGS;
    for (int i = KB_RUNGS - 1; i >= 0 && b->rungs[i] <= KB_STATUS_RUNNING; i--)
        from = i;
    skip_rest(s, b, (enum kb_rung)from, "cancelled");
    kb_build_settle(s, b);
    verdict(s, b);
}

static void drop_results(struct kb_build *b, enum kb_rung from)
{
    for (int i = cJSON_GetArraySize(b->results) - 1; i >= 0; i--) {
        const cJSON *event = cJSON_GetArrayItem(b->results, i);
        const char *type = kb_json_text(event, "type", "");
        int rung = kb_rung_parse(kb_json_text(event, "rung", "time"));
        if (!strcmp(type, "verdict") || !strcmp(type, "done") ||
            (rung >= (int)from && strcmp(type, "errors") && strcmp(type, "scan") && strcmp(type, "resources")))
            cJSON_DeleteItemFromArray(b->results, i);
    }
}

void kb_build_rerun(struct kb_session *s, struct kb_build *b, enum kb_rung from)
{
    if (b->dead || b->stage < KB_STAGE_LADDER)
        return;
    if (b->rungs[KB_RUNG_SCAN] == KB_STATUS_FAIL || s->compiler_absent)
        return;
    kb_run_drop(s, b);
    kb_profile_yield(s);
    s->last_save_us = kb_now_us();
    bool compile = !b->compiled || !b->blobs.ptx_size;
    b->next = compile ? KB_RUNG_SCAN : b->rungs[KB_RUNG_CHECK] == KB_STATUS_PASS ? from : KB_RUNG_CHECK;
    bool goes = !compile || kb_options_may_go(s, b);
    b->stage = !goes ? KB_STAGE_ASK : compile ? KB_STAGE_COMPILE : KB_STAGE_LADDER;
    b->options_allowed = b->options_allowed && !compile; // looked at anew before each compile
    for (int i = b->next; i < KB_RUNGS; i++)
        b->rungs[i] = KB_STATUS_NONE;
    b->counted_bytes = false;
    b->fault_of = NULL;
    drop_results(b, b->next);
    b->finished = b->done = b->settled_timing = b->doubted = b->set_up_refused = false;
    b->started_us = kb_now_us();
    b->saved_us = 0;
    memcpy(b->contract, s->contract, sizeof b->contract);
    if (!compile && kb_no_device(s))
        kb_build_no_device(s, b);
    s->again = true;
}
