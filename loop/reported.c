// Variants that are commands: they time themselves, in a process of their own, while nothing else needs the device.
// What they say is shown beside the times that were measured here, as what it is: reported by the command.
#include "loop/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_command(const struct kb_session *s, int slot)
{
    return s->bench->variants[slot].kind == KB_VARIANT_COMMAND;
}

// The timed case that this variant is asked for next; -1: all were.
static int next_case(const struct kb_session *s, int slot)
{
    int from = s->slots[slot].reported_generation == s->bench_generation ? s->slots[slot].reported : 0;
    for (int i = from; i < s->bench->case_count; i++)
        if (s->bench->cases[i].timed)
            return i;
    return -1;
}

// The slot whose turn it is; -1: none.
static int next_slot(const struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++)
        if (is_command(s, i) && next_case(s, i) >= 0)
            return i;
    return -1;
}

bool kb_report_due(const struct kb_session *s)
{
    return kb_on_gpu(s) && !s->paused && !s->permission && s->run.prepared == s->bench_generation &&
           !s->run.prepare_error && next_slot(s) >= 0;
}

// Asked for on a GPU only: elsewhere there is no time that it stands beside.
bool kb_report_done(const struct kb_session *s)
{
    return !kb_on_gpu(s) || kb_no_device(s) || s->programs[KB_PROGRAM_BUILTIN].failed || s->permission ||
           s->run.prepare_error || next_slot(s) < 0;
}

cJSON *kb_report_fields(struct kb_session *s, cJSON *head)
{
    int slot = next_slot(s);
    const struct kb_variant *v = &s->bench->variants[slot];
    s->report_told = false;
    cJSON *words = cJSON_AddArrayToObject(head, "command");
    for (int i = 0; v->command[i]; i++)
        cJSON_AddItemToArray(words, cJSON_CreateString(v->command[i]));
    kb_json_set_text(head, "name", v->name);
    kb_json_set_number(head, "timeout_s", v->timeout_s);
    kb_json_set_text(head, "dir", s->bench_dir);
    kb_json_set_number(head, "case", next_case(s, slot));
    return head;
}

void kb_report_yield(struct kb_session *s)
{
    kb_run_drop(s, NULL);
}

static void emit(struct kb_session *s, int slot, cJSON *event)
{
    kb_json_set_text(event, "type", "reported");
    kb_json_set_text(event, "variant", s->slots[slot].name);
    kb_json_set_text(event, "source", "reported by the command");
    kb_emit(s, event);
}

static void advance(struct kb_session *s, int slot)
{
    int index = next_case(s, slot);
    s->slots[slot].reported_generation = s->bench_generation;
    s->slots[slot].reported = index + 1;
}

// What was told stands, also where a save ends the request before its own end comes.
void kb_report_frame(struct kb_session *s, const cJSON *head)
{
    int slot = next_slot(s);
    if (slot < 0 || s->run.lane.cancelled || s->run.prepared != s->bench_generation)
        return;
    cJSON *event = cJSON_Duplicate(head, true);
    kb_strip_frame(event);
    emit(s, slot, event);
    advance(s, slot);
    s->report_told = true;
}

void kb_report_end(struct kb_session *s, enum kb_status status, const char *reason)
{
    int slot = next_slot(s);
    if (slot < 0 || status == KB_STATUS_SKIP || s->report_told || s->run.prepared != s->bench_generation)
        return;
    cJSON *event = cJSON_CreateObject();
    kb_json_set_number(event, "case", next_case(s, slot));
    kb_json_measured(event, "us", NAN, reason ? reason : "it gave no reason");
    emit(s, slot, event);
    advance(s, slot);
}

void kb_report_again(struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++)
        s->slots[i].reported_generation = 0;
    if (s->run.request == KB_REQUEST_REPORT)
        kb_report_yield(s);
}
