// Listings and comparisons: a compile worker of its own, started when the first is due, so that no compile ever waits
// for a listing and no listing is lost to a save.
#include "loop/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void release(struct kb_disasm_worker *d)
{
    kb_build_unref(d->build);
    kb_build_unref(d->other);
    cJSON_Delete(d->summary);
    d->build = d->other = NULL;
    d->summary = NULL;
    d->reading = NULL;
    d->kind = KB_DISASM_NONE;
    kb_lane_close(&d->lane);
}

// Answers

static void emit_sass(struct kb_session *s, struct kb_build *b, const cJSON *summary, const struct kb_build *same,
                      const char *why)
{
    static const char *const keys[] = {"tool",  "tool_version", "kernels", "kernels_reason", "kernels_left_out",
                                       "lines", "arch"};
    cJSON *event = kb_build_event(b, "sass");
    for (size_t i = 0; i < KB_COUNT(keys); i++)
        if (kb_json_get(summary, keys[i]))
            kb_json_set(event, keys[i], cJSON_Duplicate(kb_json_get(summary, keys[i]), true));
    kb_json_measured(event, "same_code_as", same ? same->version : NAN, same ? NULL : why);
    kb_json_set_text(event, "reason", kb_json_text(summary, "incomplete", NULL));
    kb_emit_build(s, b, event);
}

static struct kb_build *version_before(struct kb_session *s, const struct kb_build *b)
{
    struct kb_slot *slot = kb_slot_of(s, b);
    struct kb_build *before = !slot ? NULL : slot->good == b ? slot->previous : slot->good;
    return before && before != b && before->blobs.sass_size && before->version ? before : NULL;
}

static void end_of_sass(struct kb_session *s, enum kb_status status, const char *reason, const struct kb_build *same,
                        const char *why)
{
    struct kb_disasm_worker *d = &s->disasm;
    struct kb_build *b = kb_build_ref(d->build);
    if (!b->dead && status == KB_STATUS_PASS && d->summary)
        emit_sass(s, b, d->summary, same, why);
    release(d);
    kb_late_end(s, b, KB_RUNG_SASS, status, reason);
    kb_listing_made(s, b);
    kb_build_unref(b);
}

static void send_same(struct kb_session *s, struct kb_build *before)
{
    struct kb_disasm_worker *d = &s->disasm;
    const struct kb_blobs *a = &before->blobs, *b = &d->build->blobs;
    cJSON *head, *item;
    const struct kb_frame_part parts[] = {{a->sass, a->sass_size}, {b->sass, b->sass_size}};
    d->kind = KB_DISASM_SAME;
    d->other = kb_build_ref(before);
    d->lane.job = ++s->next_job;
    head = kb_frame_head("diff", d->lane.job);
    item = cJSON_AddObjectToObject(head, "a");
    kb_json_set_number(item, "text_bytes", (double)a->sass_size);
    item = cJSON_AddObjectToObject(head, "b");
    kb_json_set_number(item, "text_bytes", (double)b->sass_size);
    kb_json_set_text(head, "kind", "sass");
    kb_json_set_number(head, "context", 0);
    kb_peer_send_parts(d->lane.peer, head, parts, KB_COUNT(parts));
}

static void listed(struct kb_session *s, struct kb_frame *frame)
{
    struct kb_disasm_worker *d = &s->disasm;
    if (d->kind == KB_DISASM_LIST && d->reading) {
        kb_listing_listed(s, d->reading, frame->blob ? frame->blob : "", frame->blob_size,
                          kb_json_text(frame->head, "unreadable", NULL));
        d->reading = NULL;
        return;
    }
    if (d->kind != KB_DISASM_SASS)
        return;
    cJSON_Delete(d->summary);
    d->summary = cJSON_Duplicate(frame->head, true);
    free(d->build->blobs.sass);
    d->build->blobs.sass = frame->blob ? frame->blob : kb_strdup("");
    d->build->blobs.sass_size = frame->blob_size;
    frame->blob = NULL;
    d->build->sass_stored = false;
}

static void compared(struct kb_session *s, struct kb_frame *frame)
{
    struct kb_disasm_worker *d = &s->disasm;
    if (d->kind == KB_DISASM_DIFF && d->reading) {
        char *document = frame->blob;
        frame->blob = NULL;
        kb_listing_compared(s, d->reading, document, frame->blob_size, "the comparison is empty");
        d->reading = NULL;
    } else if (d->kind == KB_DISASM_SAME) {
        const cJSON *real = kb_json_get(frame->head, "real_change");
        kb_json_set(d->summary, "same", cJSON_CreateBool(cJSON_IsFalse(real)));
    }
}

// The job is over: status of its `done`, or NA where the worker died.
static void end_of_job(struct kb_session *s, enum kb_status status, const char *reason)
{
    struct kb_disasm_worker *d = &s->disasm;
    s->again = true;
    if (d->kind == KB_DISASM_SASS) {
        struct kb_build *before = status == KB_STATUS_PASS && !d->build->dead ? version_before(s, d->build) : NULL;
        if (before && d->lane.peer && d->build->blobs.sass_size)
            send_same(s, before);
        else
            end_of_sass(s, status, reason, NULL, "there is no listing of the version before");
    } else if (d->kind == KB_DISASM_SAME) {
        bool same = status == KB_STATUS_PASS && kb_json_bool(d->summary, "same", false);
        char *why = status == KB_STATUS_PASS ? kb_format("it differs from v%d", d->other->version) : kb_strdup(reason);
        end_of_sass(s, KB_STATUS_PASS, NULL, same ? d->other : NULL, why ? why : "they could not be compared");
        free(why);
    } else if (d->kind == KB_DISASM_TRACE) {
        release(d);
        if (kb_tracing_pending(s))
            kb_tracing_compiled(s, status == KB_STATUS_PASS ? NULL : reason ? reason : "no reason was given");
    } else {
        if (d->reading && d->kind == KB_DISASM_LIST)
            kb_listing_listed(s, d->reading, NULL, 0, reason ? reason : "no listing came");
        else if (d->reading)
            kb_listing_compared(s, d->reading, NULL, 0, reason ? reason : "no comparison came");
        d->reading = NULL;
        release(d);
    }
}

static void cut(struct kb_session *s, const char *why)
{
    if (s->disasm.kind != KB_DISASM_NONE)
        end_of_job(s, KB_STATUS_NA, why);
}

static void hello(struct kb_session *s, const cJSON *head)
{
    (void)head;
    s->disasm.lane.failures = 0;
}

static void take_frame(struct kb_session *s, struct kb_frame *frame)
{
    struct kb_disasm_worker *d = &s->disasm;
    const char *type = kb_frame_type(frame);
    if (d->kind == KB_DISASM_TRACE && strcmp(type, "done")) {
        if (kb_tracing_pending(s))
            kb_tracing_compile_frame(s, frame);
    } else if (!strcmp(type, "sass")) {
        listed(s, frame);
    } else if (!strcmp(type, "diff")) {
        compared(s, frame);
    } else if (!strcmp(type, "done")) {
        const char *text = kb_json_text(frame->head, "reason", NULL);
        char *reason = text ? kb_cleaned(text) : NULL;
        bool pass = !strcmp(kb_json_text(frame->head, "status", ""), "pass");
        end_of_job(s, pass ? KB_STATUS_PASS : KB_STATUS_NA, reason);
        free(reason);
    }
}

static bool worker_ended(struct kb_session *s, const struct kb_peer_event *event)
{
    cut(s, event->text);
    return false;
}

// Requests

static void send_sass(struct kb_session *s, const char *cubin, size_t size)
{
    struct kb_disasm_worker *d = &s->disasm;
    d->lane.job = ++s->next_job;
    kb_peer_deadline(d->lane.peer, kb_rungs[KB_RUNG_SASS].deadline_ms);
    kb_peer_send(d->lane.peer, kb_frame_head("sass", d->lane.job), cubin, size);
}

static void add_side(cJSON *head, const char *name, const struct kb_reading_side *side, struct kb_frame_part parts[2])
{
    cJSON *item = cJSON_AddObjectToObject(head, name);
    size_t samples = side->samples ? strlen(side->samples) : 0;
    bool text = side->text != NULL;
    kb_json_set_number(item, text ? "text_bytes" : "cubin_bytes", (double)(text ? side->text_size : side->cubin_size));
    kb_json_set_number(item, "samples_bytes", (double)samples);
    parts[0] = (struct kb_frame_part){text ? side->text : side->cubin, text ? side->text_size : side->cubin_size};
    parts[1] = (struct kb_frame_part){side->samples, samples};
}

static void send_reading(struct kb_session *s, struct kb_reading *r)
{
    struct kb_disasm_worker *d = &s->disasm;
    d->reading = r;
    if (!r->diff) {
        d->kind = KB_DISASM_LIST;
        send_sass(s, r->sides[0].cubin, r->sides[0].cubin_size);
        return;
    }
    struct kb_frame_part parts[4];
    d->kind = KB_DISASM_DIFF;
    d->lane.job = ++s->next_job;
    cJSON *head = kb_frame_head("diff", d->lane.job);
    add_side(head, "a", &r->sides[0], parts);
    add_side(head, "b", &r->sides[1], parts + 2);
    kb_json_set_text(head, "kind", r->kind == KB_LISTING_SASS ? "sass" : "text");
    kb_json_set_bool(head, "raw", r->raw);
    kb_peer_deadline(d->lane.peer, kb_rungs[KB_RUNG_SASS].deadline_ms);
    kb_peer_send_parts(d->lane.peer, head, parts, KB_COUNT(parts));
}

static void send_trace(struct kb_session *s)
{
    struct kb_disasm_worker *d = &s->disasm;
    struct kb_text blob = {0};
    cJSON *head = kb_tracing_compile(s, &blob);
    d->kind = KB_DISASM_TRACE;
    d->lane.job = s->next_job;
    kb_peer_deadline(d->lane.peer, kb_rungs[KB_RUNG_COMPILE].deadline_ms);
    kb_peer_send(d->lane.peer, head, blob.data, blob.size);
    kb_text_free(&blob);
}

static void command(struct kb_session *s, char *argv[KB_LANE_ARGUMENTS])
{
    (void)s;
    argv[1] = "compile";
}

static const struct kb_lane_kind lane_kind = {
    .role = KB_WORKER_COMPILE,
    .source = "compile",
    .silent = true,
    .expendable = true,
    .hello_ms = 30000,
    .command = command,
    .hello = hello,
    .frame = take_frame,
    .ended = worker_ended,
    .cut = cut,
};

// What is wanted cannot be had: each is told so.
static void refuse(struct kb_session *s)
{
    struct kb_disasm_worker *d = &s->disasm;
    struct kb_build *b;
    struct kb_reading *r;
    if (kb_tracing_wants_compile(s))
        kb_tracing_compiled(s, d->lane.absent);
    while ((b = kb_build_at(s, kb_order(s).sass)))
        kb_late_na(s, b, KB_RUNG_SASS, d->lane.absent);
    while ((r = kb_listing_next(s)) && r->diff)
        kb_listing_compared(s, r, NULL, 0, d->lane.absent);
    if (r)
        kb_listing_listed(s, r, NULL, 0, d->lane.absent);
}

static void assign(struct kb_session *s)
{
    struct kb_disasm_worker *d = &s->disasm;
    struct kb_reading *r = d->kind == KB_DISASM_NONE ? kb_listing_next(s) : NULL;
    bool trace = !r && d->kind == KB_DISASM_NONE && kb_tracing_wants_compile(s);
    struct kb_build *b = r || trace || d->kind != KB_DISASM_NONE ? NULL : kb_build_at(s, kb_order(s).sass);
    if ((!r && !b && !trace) || s->ending)
        return;
    if (d->lane.absent) {
        refuse(s);
        return;
    }
    if (!kb_lane_start(s, &d->lane, &lane_kind))
        return;
    if (r) {
        r->state = KB_READING_WORK;
        send_reading(s, r);
        return;
    }
    if (trace) {
        send_trace(s);
        return;
    }
    d->kind = KB_DISASM_SASS;
    d->build = kb_build_ref(b);
    kb_build_rung(s, b, KB_RUNG_SASS, KB_STATUS_RUNNING, NAN, NULL);
    send_sass(s, b->blobs.cubin, b->blobs.cubin_size);
}

void kb_disasm_step(struct kb_session *s)
{
    kb_lane_step(s, &s->disasm.lane, &lane_kind);
    assign(s);
}

void kb_disasm_restart(struct kb_session *s, const char *why)
{
    kb_lane_restart(s, &s->disasm.lane, &lane_kind, why);
}

void kb_disasm_free(struct kb_session *s)
{
    release(&s->disasm);
    kb_lane_free(&s->disasm.lane);
}
