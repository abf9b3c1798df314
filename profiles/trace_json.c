// A trace on its way: what it sums up to as JSON, warps and spans as bytes of one machine.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "profiles/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "kbtrace";
static const char no_spans[] = "it never came by", no_rate[] = "the clock's rate is not known";

struct packed_head {
    char magic[8];
    uint32_t warps, spans;
};

// ticks, and the same in us.
static void set_ticks(const struct kb_trace *t, cJSON *o, const char *what, double ticks, const char *why)
{
    char *in_ticks = kb_format("%s_ticks", what), *in_us = kb_format("%s_us", what);
    bool known = isfinite(ticks);
    kb_json_measured(o, in_ticks, ticks, known ? NULL : why);
    kb_json_measured(o, in_us, t->ticks_per_us > 0 ? ticks / t->ticks_per_us : NAN,
                     !known                ? why
                     : t->emulated         ? "instructions, not time"
                     : t->ticks_per_us > 0 ? NULL
                                           : no_rate);
    free(in_ticks);
    free(in_us);
}

static cJSON *section_json(const struct kb_trace *t, const struct kb_trace_section *s, double all)
{
    cJSON *o = cJSON_CreateObject();
    kb_json_set_text(o, "name", s->name);
    kb_json_set_text(o, "file", s->file[0] ? s->file : NULL);
    kb_json_measured(o, "line", s->line, s->line ? NULL : "it has none");
    kb_json_measured(o, "share", all > 0 ? (double)s->ticks / all : NAN, all > 0 ? NULL : "nothing was recorded");
    kb_json_set_number(o, "ticks", (double)s->ticks);
    kb_json_set_number(o, "spans", (double)s->spans);
    set_ticks(t, o, "mean", s->mean, no_spans);
    set_ticks(t, o, "median", s->median, no_spans);
    set_ticks(t, o, "max", s->max, no_spans);
    kb_json_measured(o, "imbalance", s->imbalance, isfinite(s->imbalance) ? NULL : no_spans);
    return o;
}

static cJSON *launch_json(const struct kb_trace *t, const struct kb_trace_launch *l)
{
    const char *why = t->emulated                          ? "the CPU device has no multiprocessors"
                      : l->plan.recorded != l->plan.blocks ? "not all blocks were recorded"
                                                           : "the multiprocessors' clocks cannot be compared";
    cJSON *o = cJSON_CreateObject();
    char *text = kb_trace_plan_text(&l->plan);
    kb_json_set_text(o, "kernel", l->kernel);
    kb_json_set_number(o, "blocks", (double)l->plan.blocks);
    kb_json_set_number(o, "recorded", l->plan.recorded);
    kb_json_set_text(o, "which", text);
    kb_json_set_number(o, "first", l->plan.first);
    kb_json_set_number(o, "middle", l->plan.middle);
    kb_json_set_number(o, "last", l->plan.last);
    kb_json_set_number(o, "warps_per_block", l->plan.warps);
    kb_json_set_number(o, "capacity", l->plan.capacity);
    kb_json_set_number(o, "lost_events", (double)l->lost);
    kb_json_set_number(o, "unfinished_warps", (double)l->unfinished);
    kb_json_set_number(o, "sms", l->sms);
    kb_json_set_number(o, "begin_ticks", (double)l->begin);
    kb_json_set_number(o, "end_ticks", (double)l->end);
    set_ticks(t, o, "duration", (double)(l->end - l->begin), NULL);
    set_ticks(t, o, "block_min", l->block_min, no_spans);
    set_ticks(t, o, "block_median", l->block_median, no_spans);
    set_ticks(t, o, "block_max", l->block_max, no_spans);
    kb_json_measured(o, "waves", l->waves, isfinite(l->waves) ? NULL : why);
    kb_json_measured(o, "tail_share", l->tail, isfinite(l->tail) ? NULL : why);
    free(text);
    return o;
}

static double all_ticks(const struct kb_trace *t)
{
    double all = 0;
    for (int i = 0; i < t->section_count; i++)
        all += (double)t->sections[i].ticks;
    return all;
}

// A picture for those who have no spans: multiprocessors, or the first blocks, in so many slices of time.
static cJSON *rows_json(const struct kb_trace *t)
{
    enum { ROWS = 144, COLUMNS = 100 };
    struct kb_trace_window w = {
        .level = t->emulated ? KB_TRACE_LEVEL_BLOCKS : KB_TRACE_LEVEL_SMS, .sm = KB_TRACE_ALL, .to = kb_trace_end(t)};
    struct kb_trace_row *rows;
    uint8_t *cells = kb_alloc(ROWS * COLUMNS);
    cJSON *list = cJSON_CreateArray();
    int count = kb_trace_rows(t, &w, &rows);
    count = count < ROWS ? count : ROWS;
    kb_trace_cells(t, &w, rows, count, COLUMNS, cells);
    for (int i = 0; i < count; i++) {
        char text[COLUMNS + 1] = "";
        for (int k = 0; k < COLUMNS; k++) {
            uint8_t cell = cells[i * COLUMNS + k];
            text[k] = cell ? kb_trace_letter(cell - 1) : ' ';
        }
        cJSON *row = cJSON_CreateObject();
        kb_json_set_number(row, t->emulated ? "block" : "sm", t->emulated ? rows[i].block : rows[i].sm);
        kb_json_set_number(row, "launch", t->emulated ? rows[i].launch : 0);
        kb_json_set_text(row, "cells", text);
        cJSON_AddItemToArray(list, row);
    }
    free(rows);
    free(cells);
    return list;
}

void kb_trace_to_json(const struct kb_trace *t, cJSON *head)
{
    double all = all_ticks(t);
    cJSON *sections = cJSON_CreateArray(), *launches = cJSON_CreateArray();
    kb_json_set_bool(head, "emulated", t->emulated);
    kb_json_set_text(head, "unit", t->emulated ? "instructions of the warp" : "cycles");
    kb_json_set_bool(head, "aligned", t->aligned);
    kb_json_measured(head, "ticks_per_us", t->ticks_per_us,
                     t->ticks_per_us > 0 ? NULL
                     : t->emulated       ? "emulated: instructions of the warp, not time"
                                         : no_rate);
    kb_json_measured(head, "timer_step_ns", t->timer_step_ns,
                     isfinite(t->timer_step_ns) ? NULL : "the timer did not move");
    for (int i = 0; i < t->section_count; i++)
        cJSON_AddItemToArray(sections, section_json(t, &t->sections[i], all));
    for (int i = 0; i < t->launch_count; i++)
        cJSON_AddItemToArray(launches, launch_json(t, &t->launches[i]));
    kb_json_set(head, "sections", sections);
    kb_json_set(head, "launches", launches);
    kb_json_set(head, "rows", rows_json(t));
}

char *kb_trace_pack(const struct kb_trace *t, size_t *size)
{
    struct packed_head head = {.warps = t->warp_count, .spans = t->span_count};
    struct kb_text out = {0};
    memcpy(head.magic, magic, sizeof magic);
    kb_text_bytes(&out, &head, sizeof head);
    if (t->warp_count)
        kb_text_bytes(&out, t->warps, t->warp_count * sizeof *t->warps);
    if (t->span_count)
        kb_text_bytes(&out, t->spans, t->span_count * sizeof *t->spans);
    *size = out.size;
    return kb_text_take(&out);
}

// What the bytes say must stay inside of what there is.
static bool is_sound(const struct kb_trace *t)
{
    for (uint32_t i = 0; i < t->warp_count; i++) {
        const struct kb_trace_warp *w = &t->warps[i];
        if (w->first > t->span_count || w->count > t->span_count - w->first || w->launch >= t->launch_count ||
            w->end < w->begin || w->begin < 0)
            return false;
    }
    for (uint32_t i = 0; i < t->span_count; i++)
        if (t->spans[i].section >= (uint32_t)t->section_count)
            return false;
    return true;
}

static int unpack(const char *blob, size_t size, struct kb_trace *t)
{
    struct packed_head head;
    if (size < sizeof head)
        return -1;
    memcpy(&head, blob, sizeof head);
    size_t warps = head.warps * sizeof *t->warps, spans = head.spans * sizeof *t->spans;
    if (memcmp(head.magic, magic, sizeof magic) || size - sizeof head != warps + spans)
        return -1;
    t->warps = kb_alloc(warps + 1);
    t->spans = kb_alloc(spans + 1);
    memcpy(t->warps, blob + sizeof head, warps);
    memcpy(t->spans, blob + sizeof head + warps, spans);
    t->warp_count = t->warp_capacity = head.warps;
    t->span_count = t->span_capacity = head.spans;
    return is_sound(t) ? 0 : -1;
}

static void read_section(struct kb_trace *t, const cJSON *o, bool first)
{
    int i = first ? 0
                  : kb_trace_add_section(t, kb_json_text(o, "name", "?"), kb_json_text(o, "file", ""),
                                         (int)kb_json_int(o, "line", 0), 0);
    struct kb_trace_section *s = &t->sections[i];
    if (first) {
        free(s->name);
        s->name = kb_strdup(kb_json_text(o, "name", "?"));
    }
    s->ticks = (uint64_t)kb_json_int(o, "ticks", 0);
    s->spans = (uint64_t)kb_json_int(o, "spans", 0);
    s->mean = kb_json_number(o, "mean_ticks", NAN);
    s->median = kb_json_number(o, "median_ticks", NAN);
    s->max = kb_json_number(o, "max_ticks", NAN);
    s->imbalance = kb_json_number(o, "imbalance", NAN);
}

static void read_launch(struct kb_trace *t, const cJSON *o)
{
    t->launches = kb_realloc(t->launches, sizeof *t->launches * (size_t)(t->launch_count + 1));
    struct kb_trace_launch *l = &t->launches[t->launch_count++];
    *l = (struct kb_trace_launch){.kernel = kb_strdup(kb_json_text(o, "kernel", "?")),
                                  .begin = kb_json_int(o, "begin_ticks", 0),
                                  .end = kb_json_int(o, "end_ticks", 0),
                                  .lost = (uint64_t)kb_json_int(o, "lost_events", 0),
                                  .unfinished = (uint64_t)kb_json_int(o, "unfinished_warps", 0),
                                  .sms = (int)kb_json_int(o, "sms", 0),
                                  .block_min = kb_json_number(o, "block_min_ticks", NAN),
                                  .block_median = kb_json_number(o, "block_median_ticks", NAN),
                                  .block_max = kb_json_number(o, "block_max_ticks", NAN),
                                  .waves = kb_json_number(o, "waves", NAN),
                                  .tail = kb_json_number(o, "tail_share", NAN)};
    l->plan = (struct kb_trace_plan){.blocks = (uint64_t)kb_json_int(o, "blocks", 0),
                                     .recorded = (unsigned)kb_json_int(o, "recorded", 0),
                                     .first = (unsigned)kb_json_int(o, "first", 0),
                                     .middle = (unsigned)kb_json_int(o, "middle", 0),
                                     .last = (unsigned)kb_json_int(o, "last", 0),
                                     .warps = (unsigned)kb_json_int(o, "warps_per_block", 1),
                                     .capacity = (unsigned)kb_json_int(o, "capacity", 0)};
}

int kb_trace_from_json(const cJSON *head, const void *blob, size_t size, struct kb_trace *t)
{
    const cJSON *item;
    bool first = true;
    kb_trace_begin(t, kb_json_bool(head, "emulated", false));
    t->aligned = kb_json_bool(head, "aligned", false);
    t->ticks_per_us = kb_json_number(head, "ticks_per_us", NAN);
    t->timer_step_ns = kb_json_number(head, "timer_step_ns", NAN);
    cJSON_ArrayForEach (item, kb_json_get(head, "sections")) {
        read_section(t, item, first);
        first = false;
    }
    cJSON_ArrayForEach (item, kb_json_get(head, "launches"))
        read_launch(t, item);
    if (!blob || !unpack(blob, size, t))
        return 0;
    kb_trace_free(t);
    return -1;
}
