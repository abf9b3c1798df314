// Sections and counters of the CPU device: what it counted while it ran the headline case, in the shape of the events
// that a GPU's profile gives. Counts are exact, but of PTX, and say nothing about time.
#include "loop/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAUNCHES = 32, MOST_LINES = 64 };
static const char source[] = "counted (PTX)";

// The newest counts of each launch of the headline case.
static int launches_of(const struct kb_session *s, const struct kb_build *b, const cJSON *out[MOST_LAUNCHES])
{
    int most = 0;
    const cJSON *event;
    memset(out, 0, sizeof *out * MOST_LAUNCHES);
    cJSON_ArrayForEach (event, b->results) {
        int launch = (int)kb_json_int(event, "launch", 0);
        if (strcmp(kb_json_text(event, "type", ""), "facts") || kb_json_int(event, "case", -1) != s->model.headline ||
            launch < 0 || launch >= MOST_LAUNCHES)
            continue;
        out[launch] = kb_json_get(event, "facts");
        most = launch + 1 > most ? launch + 1 : most;
    }
    int n = 0;
    for (int i = 0; i < most; i++)
        if (out[i])
            out[n++] = out[i];
    return n;
}

// Sections

struct row {
    double instructions, bytes;
};
static bool same_file(const char *a, const char *b)
{
    return !strcmp(a + (*a == '/'), b + (*b == '/'));
}

static int mark_of(const cJSON *marks, const cJSON *line)
{
    int index = 0, number = (int)kb_json_int(line, "line", 0);
    const cJSON *mark;
    cJSON_ArrayForEach (mark, marks) {
        if (number >= kb_json_int(mark, "line", 0) && number <= kb_json_int(mark, "end_line", -1) &&
            same_file(kb_json_text(line, "file", ""), kb_json_text(mark, "file", "")))
            return index;
        index++;
    }
    return -1;
}

static cJSON *row_json(const char *name, const struct row *r, const struct row *all)
{
    cJSON *item = cJSON_CreateObject();
    double share = all->instructions > 0 ? r->instructions / all->instructions : NAN,
           share_bytes = all->bytes > 0 ? r->bytes / all->bytes : NAN;
    kb_json_set_text(item, "name", name);
    kb_json_set_number(item, "instructions", r->instructions);
    kb_json_set_number(item, "bytes", r->bytes);
    kb_json_measured(item, "share", share, isnan(share) ? "nothing was executed" : NULL);
    kb_json_measured(item, "share_bytes", share_bytes, isnan(share_bytes) ? "no global memory is touched" : NULL);
    kb_json_measured(item, "samples", NAN, "counted, not sampled");
    kb_json_measured(item, "us", NAN, "the CPU device has no GPU time");
    kb_json_set(item, "stalls", cJSON_CreateArray());
    return item;
}

static void add_row(struct row *to, const cJSON *line)
{
    to->instructions += kb_json_number(line, "instructions", 0);
    to->bytes += kb_json_number(line, "bytes", 0);
}

static cJSON *functions_of(const cJSON *const *facts, int n, struct row *all)
{
    cJSON *list = cJSON_CreateArray();
    struct row rows[MOST_LAUNCHES] = {{0}};
    for (int i = 0; i < n; i++) {
        const cJSON *bytes = kb_json_get(facts[i], "bytes");
        rows[i].instructions = kb_json_number(facts[i], "instructions", 0);
        rows[i].bytes = kb_json_number(bytes, "global_load", 0) + kb_json_number(bytes, "global_store", 0);
        all->instructions += rows[i].instructions;
        all->bytes += rows[i].bytes;
    }
    for (int i = 0; i < n; i++)
        cJSON_AddItemToArray(list, row_json(kb_json_text(facts[i], "kernel", "?"), &rows[i], all));
    return list;
}

static cJSON *lines_of(const cJSON *const *facts, int n)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *line;
    for (int i = 0; i < n; i++) {
        int taken = 0;
        cJSON_ArrayForEach (line, kb_json_get(facts[i], "lines")) {
            if (taken++ >= MOST_LINES / n || kb_json_int(line, "line", 0) <= 0)
                continue;
            cJSON_AddItemToArray(list, cJSON_Duplicate(line, true));
        }
    }
    return list;
}

static cJSON *sections_of(const cJSON *marks, const cJSON *const *facts, int n, const struct row *all)
{
    int count = cJSON_GetArraySize(marks);
    struct row *rows = kb_alloc(sizeof *rows * (size_t)(count + 1)), left = *all;
    const cJSON *line;
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < n; i++)
        cJSON_ArrayForEach (line, kb_json_get(facts[i], "lines")) {
            int mark = mark_of(marks, line);
            if (mark >= 0)
                add_row(&rows[mark], line);
        }
    for (int i = 0; i < count; i++) {
        const cJSON *mark = cJSON_GetArrayItem(marks, i);
        cJSON *item = row_json(kb_json_text(mark, "name", "?"), &rows[i], all);
        kb_json_set_text(item, "file", kb_json_text(mark, "file", ""));
        kb_json_set_number(item, "line", (double)kb_json_int(mark, "line", 0));
        kb_json_set_number(item, "end_line", (double)kb_json_int(mark, "end_line", 0));
        cJSON_AddItemToArray(list, item);
        left.instructions -= rows[i].instructions;
        left.bytes -= rows[i].bytes;
    }
    left = (struct row){fmax(0, left.instructions), fmax(0, left.bytes)};
    if (count && left.instructions > 0)
        cJSON_AddItemToArray(list, row_json("outside sections", &left, all));
    free(rows);
    return list;
}

static void send_sections(struct kb_session *s, struct kb_build *b, const cJSON *const *facts, int n)
{
    cJSON *event = kb_event("sections"), *marks = kb_section_marks(b);
    struct row all = {0};
    kb_json_set_number(event, "case", s->model.headline);
    kb_json_set_text(event, "source", source);
    kb_json_set_text(event, "share_kind", "share of executed warp instructions");
    kb_json_set_text(event, "attribution",
                     "counted by line, without time; share_bytes: of bytes asked of global memory");
    cJSON *functions = functions_of(facts, n, &all);
    kb_json_set_number(event, "instructions", all.instructions);
    kb_json_set_number(event, "bytes", all.bytes);
    kb_json_set(event, "sections", sections_of(marks, facts, n, &all));
    kb_json_set(event, "functions", functions);
    kb_json_set(event, "lines", lines_of(facts, n));
    kb_late_event(s, b, event);
    cJSON_Delete(event);
    cJSON_Delete(marks);
    kb_build_rung(s, b, KB_RUNG_SECTIONS, KB_STATUS_PASS, NAN, source);
}

// Counters: sums over the launches.

static const struct {
    const char *name, *group, *key, *unit, *about;
} counts[] = {
    {"instructions", NULL, "instructions", "warp instructions", "executed"},
    {"thread_instructions", NULL, "thread_instructions", "instructions", "executed by lanes that were not guarded off"},
    {"flops_f32", "flops", "f32", "flops", "add, sub, mul: 1; fma: 2"},
    {"flops_f64", "flops", "f64", "flops", "add, sub, mul: 1; fma: 2"},
    {"flops_f16", "flops", "f16", "flops", "add, sub, mul: 1; fma: 2"},
    {"flops_tensor", "flops", "tensor", "flops", "2 m n k a matrix operation"},
    {"global_load_bytes", "bytes", "global_load", "bytes", "asked for by active lanes"},
    {"global_store_bytes", "bytes", "global_store", "bytes", "written by active lanes"},
    {"shared_bytes", "bytes", "shared", "bytes", "read and written by active lanes"},
    {"local_bytes", "bytes", "local", "bytes", "local memory: spills and arrays indexed at run time"},
    {"global_requests", NULL, "global_requests", "requests", "warp operations on global memory"},
    {"global_sectors", NULL, "global_sectors", "sectors", "distinct 32-byte sectors of each request, summed"},
    {"shared_requests", NULL, "shared_requests", "requests", "warp operations on shared memory"},
    {"shared_bank_conflicts", NULL, "shared_bank_conflicts", "passes", "further passes that bank conflicts cost"},
    {"branches", NULL, "branches", "branches", "of warps"},
    {"divergent_branches", NULL, "divergent_branches", "branches", "where lanes of a warp went different ways"},
    {"barriers", NULL, "barriers", "barriers", "completed"},
    {"atomics", NULL, "atomics", "operations", "lanes that did one"},
};

static void add_metric(cJSON *metrics, cJSON *about, const char *name, double value, const char *unit, const char *text)
{
    cJSON *item = cJSON_AddObjectToObject(about, name);
    kb_json_measured(metrics, name, value, isfinite(value) ? NULL : "there are none to divide by");
    kb_json_set_text(item, "unit", unit);
    kb_json_set_text(item, "about", text);
}

static double sum(const cJSON *const *facts, int n, const char *group, const char *key)
{
    double total = 0;
    for (int i = 0; i < n; i++)
        total += kb_json_number(group ? kb_json_get(facts[i], group) : facts[i], key, 0);
    return total;
}

static void send_counters(struct kb_session *s, struct kb_build *b, const cJSON *const *facts, int n)
{
    static const char *const unknown[] = {"dram_bytes", "dram_read_bytes", "dram_write_bytes", "l2_bytes"};
    cJSON *event = kb_event("counters"), *metrics = cJSON_AddObjectToObject(event, "metrics"),
          *about = cJSON_AddObjectToObject(event, "about");
    for (size_t i = 0; i < KB_COUNT(counts); i++)
        add_metric(metrics, about, counts[i].name, sum(facts, n, counts[i].group, counts[i].key), counts[i].unit,
                   counts[i].about);
    double instructions = sum(facts, n, NULL, "instructions"), requests = sum(facts, n, NULL, "global_requests");
    add_metric(metrics, about, "threads_per_instruction", sum(facts, n, NULL, "thread_instructions") / instructions,
               "lanes", "active lanes of an executed instruction, of 32");
    add_metric(metrics, about, "sectors_per_request", sum(facts, n, NULL, "global_sectors") / requests, "sectors",
               "32-byte sectors of a global request; 4 are enough where 32 lanes use 4 bytes each side by side");
    for (size_t i = 0; i < KB_COUNT(unknown); i++)
        kb_json_measured(metrics, unknown[i], NAN,
                         "the CPU device counts what is asked for, not what caches let through");
    kb_json_set_number(event, "case", s->model.headline);
    kb_json_set_text(event, "stage", "all");
    kb_json_set_text(event, "source", source);
    kb_late_event(s, b, event);
    cJSON_Delete(event);
    kb_build_rung(s, b, KB_RUNG_COUNTERS, KB_STATUS_PASS, NAN, source);
}

void kb_counted(struct kb_session *s, struct kb_build *b)
{
    const cJSON *facts[MOST_LAUNCHES];
    int n = launches_of(s, b, facts);
    for (int rung = KB_RUNG_SECTIONS; !n && rung <= KB_RUNG_COUNTERS; rung++)
        kb_late_na(s, b, (enum kb_rung)rung, "the CPU device sent no counts of the headline case");
    if (n && b->rungs[KB_RUNG_SECTIONS] == KB_STATUS_NONE)
        send_sections(s, b, facts, n);
    if (n && b->rungs[KB_RUNG_COUNTERS] == KB_STATUS_NONE)
        send_counters(s, b, facts, n);
}
