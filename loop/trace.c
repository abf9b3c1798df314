// The tracer, for those who ask: the version is compiled once more, with its sections recording, by the worker of the
// listings, and then run by the run worker when that has nothing more urgent to do. One at a time.
#include "loop/parts.h"

#include <stdlib.h>
#include <string.h>

// ---- the event

static cJSON *event_of(const struct kb_tracing *t, const char *state)
{
    cJSON *event = kb_build_event(t->build, "trace");
    kb_json_set_text(event, "state", state);
    kb_json_set_number(event, "case", t->case_index);
    return event;
}

static void release(struct kb_session *s)
{
    struct kb_tracing *t = &s->tracing;
    kb_build_unref(t->build);
    kb_blobs_free(&t->blobs);
    cJSON_Delete(t->compiled);
    free(t->error);
    *t = (struct kb_tracing){0};
    s->again = true;
}

static void fail(struct kb_session *s, const char *reason)
{
    cJSON *event = event_of(&s->tracing, "failed");
    kb_json_set_text(event, "reason", reason && *reason ? reason : "no reason was given");
    s->trace_failed = true;
    kb_emit(s, event);
    release(s);
}

// ---- what was asked for

static struct kb_build *find(struct kb_session *s, const char *name, int number)
{
    int i = kb_bench_find_variant(s->bench, name);
    struct kb_slot *slot = i >= 0 ? &s->slots[i] : NULL;
    if (!slot || number <= 0)
        return slot ? slot->current : NULL;
    if (slot->current && slot->current->version == number)
        return slot->current;
    for (int k = 0; k < slot->known_count; k++)
        if (slot->known[k]->version == number)
            return slot->known[k];
    return NULL;
}

static const char *objection(const struct kb_session *s, const struct kb_build *b)
{
    return s->tracing.build                   ? "another version is being traced"
           : !b                               ? "it is not in this session: save it again"
           : !b->finished                     ? "its verdict is not known yet"
           : !kb_build_passed(b)              ? "only a version that passed is traced: a wrong one has no speed"
           : kb_no_device(s)                  ? "there is no device"
           : !b->blobs.ptx_size || !b->source ? "its code is not kept any more: save it again"
                                              : NULL;
}

void kb_tracing_command(struct kb_session *s, const char *arg)
{
    const char *at = arg ? strrchr(arg, '@') : NULL, *hash = at ? strchr(at, '#') : NULL;
    char *name = at ? kb_strndup(arg, (size_t)(at - arg)) : kb_strdup(arg ? arg : s->focus);
    kb_tracing_ask(s, name, at ? atoi(at + 1) : 0, hash ? atoi(hash + 1) : -1);
    free(name);
}

void kb_tracing_ask(struct kb_session *s, const char *name, int version, int case_index)
{
    struct kb_build *b = find(s, name, version);
    const char *why = objection(s, b);
    if (why) {
        kb_status_line(s, "warning", NULL, "%s is not traced: %s", name ? name : "nothing", why);
        s->trace_failed = true;
    } else {
        s->tracing = (struct kb_tracing){.stage = KB_TRACE_COMPILE,
                                         .build = kb_build_ref(b),
                                         .case_index = case_index < 0 ? s->model.headline : case_index};
        kb_emit(s, event_of(&s->tracing, "running"));
    }
}

bool kb_tracing_pending(const struct kb_session *s)
{
    return s->tracing.build != NULL;
}

// ---- the compile

bool kb_tracing_wants_compile(const struct kb_session *s)
{
    return s->tracing.stage == KB_TRACE_COMPILE && !s->tracing.at_work;
}

cJSON *kb_tracing_compile(struct kb_session *s, struct kb_text *blob)
{
    struct kb_tracing *t = &s->tracing;
    cJSON *head = kb_frame_head("compile", ++s->next_job);
    kb_compile_fields(s, head, "variant", &t->build->source->snapshot, t->build->resolved, blob);
    kb_json_set_bool(head, "traced", true);
    t->at_work = true;
    return head;
}

static void first_error(struct kb_tracing *t, const cJSON *errors)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, errors) {
        if (t->error || strcmp(kb_json_text(item, "severity", ""), "error"))
            continue;
        t->error = kb_format("%s:%d: %s", kb_json_text(item, "file", ""), (int)kb_json_int(item, "line", 0),
                             kb_json_text(item, "text", ""));
    }
}

void kb_tracing_compile_frame(struct kb_session *s, struct kb_frame *frame)
{
    struct kb_tracing *t = &s->tracing;
    if (!strcmp(kb_frame_type(frame), "errors"))
        first_error(t, kb_json_get(frame->head, "errors"));
    if (strcmp(kb_frame_type(frame), "compiled"))
        return;
    kb_take_blobs(&t->blobs, frame);
    cJSON_Delete(t->compiled);
    t->compiled = cJSON_Duplicate(frame->head, true);
}

void kb_tracing_compiled(struct kb_session *s, const char *reason)
{
    struct kb_tracing *t = &s->tracing;
    t->at_work = false;
    if (t->compiled && t->blobs.ptx_size && !reason) {
        t->stage = KB_TRACE_RUN;
        return;
    }
    reason = reason ? reason : t->error ? t->error : "the compiler gave no binary";
    bool more = t->error && !strstr(reason, t->error); // the reason often is the first error
    char *text = kb_format("with its sections recording, it does not compile: %s%s%s", reason, more ? "; " : "",
                           more ? t->error : "");
    char *clean = kb_cleaned(text);
    fail(s, clean);
    free(clean);
    free(text);
}

// ---- the run

struct kb_build *kb_tracing_due(const struct kb_session *s)
{
    return s->tracing.stage == KB_TRACE_RUN && !s->tracing.at_work ? s->tracing.build : NULL;
}

void kb_tracing_run_fields(struct kb_session *s, cJSON *head, struct kb_text *blob)
{
    struct kb_tracing *t = &s->tracing;
    kb_json_set_number(head, "case", t->case_index);
    kb_json_set(head, "kernels", cJSON_Duplicate(kb_json_get(t->compiled, "kernels"), true));
    kb_json_set(head, "sections", cJSON_Duplicate(kb_json_get(t->compiled, "sections"), true));
    kb_json_set_number(head, "ptx_bytes", (double)t->blobs.ptx_size);
    kb_json_set_number(head, "cubin_bytes", (double)t->blobs.cubin_size);
    kb_text_bytes(blob, t->blobs.ptx, t->blobs.ptx_size);
    kb_text_bytes(blob, t->blobs.cubin, t->blobs.cubin_size);
    t->at_work = true;
}

// A version's record keeps its newest trace only.
static void forget_older(struct kb_build *b)
{
    for (int i = cJSON_GetArraySize(b->results); i-- > 0;)
        if (!strcmp(kb_json_text(cJSON_GetArrayItem(b->results, i), "type", ""), "trace"))
            cJSON_DeleteItemFromArray(b->results, i);
}

void kb_tracing_frame(struct kb_session *s, const struct kb_frame *frame)
{
    struct kb_tracing *t = &s->tracing;
    struct kb_trace_kept *kept = &s->traces[s->traces_next++ % KB_TRACES_KEPT];
    if (!t->build)
        return;
    free(kept->variant);
    kb_trace_free(&kept->trace);
    *kept = (struct kb_trace_kept){.variant = kb_strdup(t->build->name), .version = t->build->version};
    if (kb_trace_from_json(frame->head, frame->blob, frame->blob_size, &kept->trace)) {
        free(kept->variant);
        *kept = (struct kb_trace_kept){0};
    }
    cJSON *event = cJSON_Duplicate(frame->head, true), *item;
    kb_strip_frame(event);
    kb_json_set_text(event, "variant", t->build->name);
    kb_json_set(event, "version", t->build->version ? cJSON_CreateNumber(t->build->version) : cJSON_CreateNull());
    kb_json_set_text(event, "state", "done");
    cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(event, "sections")) {
        const char *file = kb_json_text(item, "file", NULL);
        char *name = file ? kb_name_for_people(s, t->build, file) : NULL;
        if (name)
            kb_json_set_text(item, "file", name);
        free(name);
    }
    t->told = true;
    forget_older(t->build);
    kb_emit_build(s, t->build, event);
}

void kb_tracing_end(struct kb_session *s, bool passed, const char *reason)
{
    struct kb_build *b = kb_build_ref(s->tracing.build);
    if (!passed || !s->tracing.told) {
        fail(s, reason ? reason : "the worker gave no trace");
    } else {
        release(s);
        kb_records_update(s, b);
    }
    kb_build_unref(b);
}

void kb_tracing_drop(struct kb_session *s)
{
    if (s->tracing.build)
        release(s);
    for (int i = 0; i < KB_TRACES_KEPT; i++) {
        free(s->traces[i].variant);
        kb_trace_free(&s->traces[i].trace);
        s->traces[i] = (struct kb_trace_kept){0};
    }
}

const struct kb_trace *kb_session_trace(const struct kb_session *s, const char *variant, int version)
{
    const struct kb_trace *found = NULL; // the newest of this version
    for (int i = 0; i < KB_TRACES_KEPT; i++) {
        const struct kb_trace_kept *k = &s->traces[(s->traces_next + i) % KB_TRACES_KEPT];
        if (k->variant && k->version == version && !strcmp(k->variant, variant))
            found = &k->trace;
    }
    return found;
}
