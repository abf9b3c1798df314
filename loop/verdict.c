// What results mean: a worker's frames as events, the baseline, the goal.
#include "base/file.h"
#include "loop/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kb_strip_frame(cJSON *head)
{
    static const char *const keys[] = {"kbench", "seq", "job", "blob"};
    for (size_t i = 0; i < KB_COUNT(keys); i++)
        cJSON_DeleteItemFromObjectCaseSensitive(head, keys[i]);
}

static void name_version(const struct kb_build *b, cJSON *item)
{
    kb_json_set_text(item, "variant", b->name);
    kb_json_set(item, "version", b->version ? cJSON_CreateNumber(b->version) : cJSON_CreateNull());
}

// Which build a worker means by a key.
static struct kb_build *by_key(struct kb_session *s, struct kb_build *b, const char *key)
{
    struct kb_build *against[2];
    int count = kb_against(s, b, against);
    if (!key || !strcmp(key, b->key))
        return b;
    for (int i = 0; i < count; i++)
        if (!strcmp(against[i]->key, key))
            return against[i];
    return NULL;
}

static const char *baseline_key(const cJSON *head)
{
    const cJSON *baseline = kb_json_get(head, "baseline");
    if (cJSON_IsString(baseline))
        return baseline->valuestring;
    return kb_json_text(baseline, "version", kb_json_text(head, "against", NULL));
}

static void name_file(const struct kb_session *s, const struct kb_build *b, cJSON *item)
{
    const char *file = kb_json_text(item, "file", "");
    char *name = kb_name_for_people(s, b, file + (*file == '/'));
    kb_json_set_text(item, "file", name);
    free(name);
}

static void name_findings(const struct kb_session *s, const struct kb_build *b, cJSON *event)
{
    cJSON *item;
    cJSON_ArrayForEach (item, kb_json_get(event, "findings")) {
        cJSON *caller = cJSON_GetObjectItemCaseSensitive(item, "called_at");
        name_file(s, b, item);
        if (caller)
            name_file(s, b, caller);
    }
}

void kb_verdict_event(struct kb_session *s, struct kb_build *b, const struct kb_frame *frame)
{
    static const char *const known[] = {"case", "timing", "versus", "resources", "facts", "findings", "seed"};
    const char *type = kb_frame_type(frame);
    bool wanted = false;
    for (size_t i = 0; i < KB_COUNT(known); i++)
        wanted = wanted || !strcmp(known[i], type);
    struct kb_build *of = wanted ? by_key(s, b, kb_json_text(frame->head, "version", NULL)) : NULL;
    if (!of)
        return;
    cJSON *event = cJSON_Duplicate(frame->head, true);
    kb_strip_frame(event);
    if (!strcmp(type, "versus")) {
        struct kb_build *baseline = by_key(s, b, baseline_key(event));
        cJSON *item = cJSON_CreateObject();
        if (!baseline || baseline == b) {
            cJSON_Delete(item);
            cJSON_Delete(event);
            return;
        }
        name_version(baseline, item);
        kb_json_set(event, "baseline", item);
        cJSON_DeleteItemFromObjectCaseSensitive(event, "against");
    }
    name_findings(s, of, event);
    kb_guess_soften(s, event);
    name_version(of, event);
    kb_seeds_event(s, of, event);
    if (of == b)
        kb_emit_build(s, b, event);
    else
        kb_emit(s, event);
}

// Resources that the compiler knows; the rung `check` adds what depends on the device.
void kb_build_resources(struct kb_session *s, struct kb_build *b)
{
    static const char *const keys[] = {"name",         "registers",  "spill_store_bytes", "spill_load_bytes",
                                       "shared_bytes", "stack_bytes"};
    cJSON *event = kb_build_event(b, "resources"), *list = cJSON_AddArrayToObject(event, "kernels");
    const cJSON *kernel;
    cJSON_ArrayForEach (kernel, kb_json_get(b->compiled, "kernels")) {
        cJSON *item = cJSON_CreateObject();
        for (size_t i = 0; i < KB_COUNT(keys); i++) {
            const cJSON *value = kb_json_get(kernel, keys[i]);
            char *reason_key = kb_format("%s_reason", keys[i]);
            kb_json_set(item, keys[i], value ? cJSON_Duplicate(value, true) : cJSON_CreateNull());
            if (!value || cJSON_IsNull(value))
                kb_json_set_text(item, reason_key, kb_json_text(kernel, reason_key, "the compiler did not say"));
            free(reason_key);
        }
        kb_json_measured(item, "dynamic_shared_bytes", NAN, "not checked against a device yet");
        kb_json_measured(item, "occupancy", NAN, "not checked against a device yet");
        cJSON_AddItemToArray(list, item);
    }
    kb_emit(s, event);
}

// Names in errors become relative to the bench, so that an editor finds them from there.
char *kb_name_for_people(const struct kb_session *s, const struct kb_build *b, const char *file)
{
    if (!*file)
        return kb_strdup("");
    const struct kb_snapshot *snapshot = &b->source->snapshot;
    for (int i = 0; i < snapshot->file_count; i++)
        if (!strcmp(snapshot->files[i].name, file))
            return kb_path_relative(s->bench_dir, snapshot->files[i].path);
    return kb_strdup(file); // a name of a #line, or the toolkit's
}

void kb_build_errors(struct kb_session *s, struct kb_build *b, const cJSON *frame)
{
    cJSON *event = kb_build_event(b, "errors");
    cJSON *list = cJSON_Duplicate(kb_json_get(frame, "errors"), true), *item;
    if (!cJSON_IsArray(list)) {
        cJSON_Delete(list);
        list = cJSON_CreateArray();
    }
    cJSON_ArrayForEach (item, list) {
        char *name = kb_name_for_people(s, b, kb_json_text(item, "file", ""));
        char *clean = kb_cleaned(name), *text = kb_cleaned(kb_json_text(item, "text", ""));
        kb_json_set_text(item, "file", clean);
        kb_json_set_text(item, "text", text);
        free(name);
        free(clean);
        free(text);
    }
    cJSON_Delete(b->errors);
    b->errors = cJSON_Duplicate(list, true);
    kb_json_set(event, "errors", list);
    kb_emit_build(s, b, event);
}

// The baseline

int kb_against(struct kb_session *s, struct kb_build *b, struct kb_build *out[2])
{
    struct kb_slot *slot = kb_slot_of(s, b);
    struct kb_build *previous = !slot ? NULL : slot->good == b ? slot->previous : slot->good;
    int count = 0;
    if (s->pin && s->pin != b && s->pin->blobs.ptx_size && s->pin->rungs[KB_RUNG_TIME] == KB_STATUS_PASS)
        out[count++] = s->pin;
    if (previous && previous != b && previous != s->pin && previous->blobs.ptx_size &&
        previous->rungs[KB_RUNG_TIME] == KB_STATUS_PASS)
        out[count++] = previous;
    return count;
}

// A version to be compared with could not be loaded again: the comparison goes without it.
void kb_load_failed(struct kb_session *s, struct kb_build *b, const char *reason)
{
    struct kb_slot *slot = kb_slot_of(s, b);
    if (!slot)
        return;
    if (b->stage == KB_STAGE_LADDER && slot->current == b) {
        kb_build_rung(s, b, b->next, KB_STATUS_FAIL, NAN, reason);
        kb_build_rung_done(s, b, b->next);
        return;
    }
    kb_status_line(s, "warning", NULL, "%s v%d could not be loaded for a comparison: %s", slot->name, b->version,
                   reason ? reason : "no reason given");
    if (slot->previous == b) {
        slot->previous = NULL;
        kb_build_unref(b);
    }
    if (s->pin == b)
        kb_pin(s, NULL);
    b->settled_timing = false;
}

static void pin_event(struct kb_session *s)
{
    cJSON *event = kb_event("pin");
    if (s->pin)
        name_version(s->pin, event);
    else
        kb_json_set_text(event, "variant", NULL);
    kb_emit(s, event);
}

static void pin_build(struct kb_session *s, struct kb_build *b)
{
    kb_build_ref(b);
    kb_build_unref(s->pin);
    s->pin = b;
    if (b)
        s->pin_variant = b->variant;
    pin_event(s);
    // What is on the screen is to be compared with the new baseline, too.
    for (int i = 0; b && i < s->slot_count; i++) {
        struct kb_build *c = s->slots[i].current;
        if (c && c != b && c->finished && kb_build_passed(c) && c->rungs[KB_RUNG_TIME] == KB_STATUS_PASS)
            c->settled_timing = true;
    }
}

void kb_pin(struct kb_session *s, const char *arg)
{
    if (!arg) {
        s->pin_variant = -1;
        pin_build(s, NULL);
        return;
    }
    const char *at = strrchr(arg, '@');
    int number = at ? atoi(at + 1) : 0;
    char *name = number > 0 ? kb_strndup(arg, (size_t)(at - arg)) : kb_strdup(arg);
    int i = kb_bench_find_variant(s->bench, name);
    struct kb_build *found = i >= 0 && number <= 0 ? s->slots[i].good : NULL;
    for (int k = 0; i >= 0 && number > 0 && k < s->slots[i].known_count; k++)
        if (s->slots[i].known[k]->version == number)
            found = s->slots[i].known[k];
    if (found && kb_build_passed(found) && found->blobs.ptx_size)
        pin_build(s, found);
    else
        kb_status_line(s, "warning", "pin one that passed every rung in this session", "%s cannot be the baseline",
                       arg);
    free(name);
}

void kb_pin_lost(struct kb_session *s, const struct kb_build *b)
{
    if (s->pin != b)
        return;
    kb_status_line(s, "warning", "pin another one, or mend it: the next good version takes its place",
                   "the baseline %s v%d failed at races: it is no baseline any more", b->name, b->version);
    pin_build(s, NULL); // pin_variant stays
    for (int i = 0; i < s->slot_count; i++) {
        struct kb_build *c = s->slots[i].current;
        if (c && c->finished && kb_build_passed(c) && c->rungs[KB_RUNG_TIME] == KB_STATUS_PASS)
            c->settled_timing = true;
    }
}

void kb_pin_update(struct kb_session *s)
{
    if (s->pin || s->pin_variant < 0 || s->pin_variant >= s->slot_count)
        return;
    struct kb_build *good = s->slots[s->pin_variant].good;
    if (good && good->finished)
        pin_build(s, good);
}

// The goal

static void roof_goal(struct kb_session *s, const struct kb_model_version *v, cJSON *event)
{
    const struct kb_ev_timing *timing = kb_model_timing(&s->model, v, s->model.headline);
    const struct kb_ev_roofline *roofline = KB_WITHIN(timing, roofline, roofline);
    double share = v->impossible ? NAN : roofline->share, wanted = s->bench->goal.ratio;
    const char *why = v->impossible     ? "the time is impossible"
                      : isfinite(share) ? NULL
                      : !timing         ? "it was not timed"
                                        : roofline->share_reason ?: "the share of the roof is unknown";
    kb_json_measured(event, "value", share, why);
    kb_json_set_number(event, "wanted", wanted);
    kb_json_set(event, "met", why ? cJSON_CreateNull() : cJSON_CreateBool(share >= wanted));
    char *text = why               ? kb_format("goal %.0f%% of the roof: %s", 100 * wanted, why)
                 : share >= wanted ? kb_format("goal MET: %.0f%% of the roof, %.0f%% wanted", 100 * share, 100 * wanted)
                                   : kb_format("goal: %.0f%% of the roof, %.0f%% wanted, %.2fx to go", 100 * share,
                                               100 * wanted, wanted / share);
    kb_json_set_text(event, "text", text);
    free(text);
}

static void versus_goal(struct kb_session *s, const struct kb_model_version *v, cJSON *event)
{
    const struct kb_goal *goal = &s->bench->goal;
    int other = kb_model_variant_index(&s->model, goal->versus);
    const struct kb_model_version *o = kb_model_last_good(&s->model, other);
    double speed = o ? o->cold_us / v->cold_us : NAN;
    const char *why = isfinite(speed) ? NULL : !o || !isfinite(o->cold_us) ? "it has no time yet" : "no time yet";
    kb_json_measured(event, "value", speed, why);
    kb_json_set_number(event, "wanted", goal->ratio);
    kb_json_set(event, "met", why ? cJSON_CreateNull() : cJSON_CreateBool(speed >= goal->ratio));
    char *text = why ? kb_format("goal %.2fx the speed of %s: %s", goal->ratio, goal->versus, why)
                     : kb_format("goal%s: %.2fx the speed of %s, %.2fx wanted", speed >= goal->ratio ? " MET" : "",
                                 speed, goal->versus, goal->ratio);
    kb_json_set_text(event, "text", text);
    free(text);
}

void kb_goal_check(struct kb_session *s, struct kb_build *b)
{
    enum kb_goal_kind kind = s->bench->goal.kind;
    const struct kb_model_version *v = kb_model_version(&s->model, b->variant, b->version);
    if (kind == KB_GOAL_NONE || !v || kb_build_failed(b) || b->rungs[KB_RUNG_TIME] != KB_STATUS_PASS)
        return;
    if (kind == KB_GOAL_VERSUS && !strcmp(s->bench->goal.versus, b->name))
        return;
    cJSON *event = kb_build_event(b, "goal");
    if (kind == KB_GOAL_ROOF)
        roof_goal(s, v, event);
    else
        versus_goal(s, v, event);
    kb_emit_build(s, b, event);
}
