// The rungs behind the verdict: who owes what, and how each ends. Only `races` may fail a version.
#include "loop/parts.h"
#include "loop/proof.h"

#include "base/file.h"
#include "bench/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SECTIONS = 24, ONCE_MS = 5000 };

bool kb_late_due(const struct kb_build *b, enum kb_rung rung)
{
    return b && !b->dead && b->finished && b->stage == KB_STAGE_DONE && b->rungs[rung] == KB_STATUS_NONE;
}

// What the verdict does not stand on, once all is known that decides.
static void proof_event(struct kb_session *s, struct kb_build *b)
{
    const struct kb_model_version *v = kb_model_version(&s->model, b->variant, b->version);
    if (!v || !kb_build_passed(b))
        return;
    cJSON *event = kb_build_event(b, "proof");
    struct kb_ev_proof proof = kb_proof_of(&s->model, v);
    kb_json_set_bool(event, "proven", proof.proven);
    kb_json_set(event, "gaps", kb_record_write_list(&kb_record_gap, proof.gaps, proof.gaps_count));
    kb_emit_build(s, b, event);
    kb_proof_free(&proof);
}

void kb_late_na(struct kb_session *s, struct kb_build *b, enum kb_rung rung, const char *reason)
{
    if (b->rungs[rung] > KB_STATUS_RUNNING)
        return;
    kb_build_rung(s, b, rung, KB_STATUS_NA, NAN, reason);
    if (rung == KB_RUNG_RACES)
        proof_event(s, b);
}

void kb_late_end(struct kb_session *s, struct kb_build *b, enum kb_rung rung, enum kb_status status, const char *reason)
{
    if (b->dead)
        return;
    if (status == KB_STATUS_SKIP) { // a newer save went first; it is due again if this content comes back
        kb_build_rung(s, b, rung, KB_STATUS_SKIP, NAN, reason);
        b->rungs[rung] = KB_STATUS_NONE;
        return;
    }
    bool decides = rung < KB_RUNGS_DECIDING && status == KB_STATUS_FAIL, failed_before = kb_build_failed(b);
    kb_build_rung(s, b, rung, status == KB_STATUS_PASS || decides ? status : KB_STATUS_NA,
                  (double)(kb_now_us() - b->late_us[rung]) / 1000.0, reason);
    if (decides && !failed_before && !b->doubted)
        kb_build_disproved(s, b);
    if (failed_before)
        kb_races_tell_cause(s, b);
    if (rung == KB_RUNG_RACES)
        kb_records_errors(s); // warnings, the cause of a failure
    if (rung == KB_RUNG_RACES && !failed_before && (!decides || b->doubted))
        proof_event(s, b);
    kb_records_update(s, b);
}

void kb_late_begin(struct kb_session *s, struct kb_build *b)
{
    const char *device = kb_no_device(s) ? kb_json_text(s->device, "reason", "there is no device") : NULL;
    if (kb_build_failed(b) || b->rungs[KB_RUNG_SASS] > KB_STATUS_RUNNING)
        return;
    for (int rung = KB_RUNG_LATE; s->options.no_profile && rung < KB_RUNGS; rung++)
        kb_late_na(s, b, (enum kb_rung)rung, "left out by --no-profile");
    for (int rung = KB_RUNG_SECTIONS; device && rung <= KB_RUNG_COUNTERS; rung++)
        kb_late_na(s, b, (enum kb_rung)rung, device);
    if (!s->options.no_profile)
        kb_races_begin(s, b);
    if (!s->options.no_profile && !device && kb_on_cpu(s))
        kb_counted(s, b);
    if (!b->blobs.cubin_size)
        kb_late_na(s, b, KB_RUNG_SASS, "there is no cubin: only PTX was made");
}

void kb_late_retry(struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++) {
        struct kb_build *b = s->slots[i].current;
        if (!b || b->dead || !kb_build_passed(b))
            continue;
        for (int rung = KB_RUNG_LATE; rung < KB_RUNGS; rung++)
            if (b->rungs[rung] == KB_STATUS_NA) {
                b->rungs[rung] = KB_STATUS_NONE;
                b->done = false;
            }
        kb_late_begin(s, b);
    }
    s->again = true;
}

// What is still owed by the newest content of each variant: of one that failed only why, and what is under way.
static bool is_owed(const struct kb_build *b, enum kb_rung rung)
{
    return b && !b->dead && b->finished &&
           (b->rungs[rung] == KB_STATUS_RUNNING ||
            (b->rungs[rung] == KB_STATUS_NONE &&
             (kb_build_passed(b) || (rung == KB_RUNG_RACES && kb_build_failed(b)))));
}

static bool any_owed(const struct kb_session *s, enum kb_rung from, enum kb_rung to)
{
    for (int i = 0; i < s->slot_count; i++)
        for (int rung = from; rung < (int)to; rung++)
            if (is_owed(s->slots[i].current, (enum kb_rung)rung))
                return true;
    return false;
}

bool kb_late_owed(const struct kb_build *b)
{
    for (int rung = KB_RUNG_LATE; rung < KB_RUNGS; rung++)
        if (is_owed(b, (enum kb_rung)rung))
            return true;
    return false;
}

bool kb_late_done(const struct kb_session *s)
{
    return !any_owed(s, KB_RUNG_LATE, KB_RUNGS);
}

void kb_late_expire(struct kb_session *s)
{
    if (!any_owed(s, KB_RUNGS_DECIDING, KB_RUNGS)) // what decides ends by its own budget and deadline
        return;
    s->late_us = s->late_us ? s->late_us : kb_now_us();
    if (kb_now_us() - s->late_us < (int64_t)s->slot_count * ONCE_MS * 1000)
        return;
    for (int i = 0; i < s->slot_count; i++)
        for (int rung = KB_RUNGS_DECIDING; rung < KB_RUNGS; rung++)
            if (is_owed(s->slots[i].current, (enum kb_rung)rung))
                kb_late_na(s, s->slots[i].current, (enum kb_rung)rung, "it was not done within 5 s a variant");
}

int kb_late_wait_ms(const struct kb_session *s)
{
    int64_t left = s->late_us ? s->late_us + (int64_t)s->slot_count * ONCE_MS * 1000 - kb_now_us() : 0;
    return !s->late_us ? -1 : left > 0 ? (int)(left / 1000) + 1 : 0;
}

// Sections

static void add_marks(cJSON *list, const struct kb_snapshot_file *file)
{
    struct kb_source source = {0};
    if (kb_source_scan(file->data, file->size, file->name, &source, NULL) == 0)
        for (int i = 0; i < source.directive_count && cJSON_GetArraySize(list) < MOST_SECTIONS; i++) {
            const struct kb_directive *d = &source.directives[i];
            if (d->kind != KB_DIRECTIVE_SECTION)
                continue;
            cJSON *item = cJSON_CreateObject();
            kb_json_set_text(item, "file", file->name);
            kb_json_set_number(item, "line", d->line);
            kb_json_set_number(item, "end_line", d->end_line);
            kb_json_set_text(item, "name", d->key);
            cJSON_AddItemToArray(list, item);
        }
    kb_source_free(&source);
}

cJSON *kb_section_marks(const struct kb_build *b)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < b->source->snapshot.file_count; i++)
        add_marks(list, &b->source->snapshot.files[i]);
    return list;
}

static void name_files(const struct kb_session *s, const struct kb_build *b, cJSON *list)
{
    cJSON *item;
    cJSON_ArrayForEach (item, list) {
        const char *file = kb_json_text(item, "file", "");
        char *name = kb_name_for_people(s, b, file + (*file == '/'));
        if (*file)
            kb_json_set_text(item, "file", name);
        free(name);
    }
}

void kb_late_event(struct kb_session *s, struct kb_build *b, const cJSON *head)
{
    cJSON *event = cJSON_Duplicate(head, true);
    kb_strip_frame(event);
    kb_json_set_text(event, "variant", b->name);
    kb_json_set(event, "version", b->version ? cJSON_CreateNumber(b->version) : cJSON_CreateNull());
    name_files(s, b, cJSON_GetObjectItemCaseSensitive(event, "sections"));
    name_files(s, b, cJSON_GetObjectItemCaseSensitive(event, "lines"));
    kb_emit_build(s, b, event);
}
