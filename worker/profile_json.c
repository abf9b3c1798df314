// The `sections` frame: bounded, with everything by instruction in its blob.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "worker/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_LINES = 64,
    MOST_FUNCTIONS = 16,
    MOST_GROUPS = 4, // of a line
    MOST_RAW = 24,
    MOST_PCS = 50000,
    HEAD_BYTES = 60000, // a frame's line holds 65,536
};

struct shares {
    const struct kb_pc_profile *profile;
    double samples, time_us;
};

static double rounded(double value, double step)
{
    return round(value / step) * step;
}

// The groups of a row, most samples first.
static cJSON *groups_json(const struct kb_section_share *s, int most)
{
    cJSON *list = cJSON_CreateArray();
    bool told[KB_STALL_GROUPS] = {false};
    for (int n = 0; n < most; n++) {
        int best = -1;
        for (int g = 0; g < KB_STALL_GROUPS; g++)
            if (!told[g] && s->groups[g] && (best < 0 || s->groups[g] > s->groups[best]))
                best = g;
        if (best < 0)
            break;
        told[best] = true;
        cJSON *o = cJSON_CreateObject();
        kb_json_set_text(o, "group", kb_stall_group_names[best]);
        kb_json_set_number(o, "share", rounded((double)s->groups[best] / (double)s->samples, 1e-4));
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *raw_json(const struct kb_section_share *s, const struct kb_pc_profile *p)
{
    cJSON *list = cJSON_CreateArray();
    bool told[KB_PCS_REASONS] = {false};
    for (int n = 0; n < MOST_RAW; n++) {
        int best = -1;
        for (int i = 0; i < p->reason_count; i++)
            if (!told[i] && s->reasons[i] && (best < 0 || s->reasons[i] > s->reasons[best]))
                best = i;
        if (best < 0)
            break;
        told[best] = true;
        cJSON *o = cJSON_CreateObject();
        char *name = kb_format("%s%s", p->reasons[best].name, p->reasons[best].not_issued ? "_not_issued" : "");
        kb_worker_set_clean(o, "name", name, 80);
        kb_json_set_number(o, "samples", (double)s->reasons[best]);
        cJSON_AddItemToArray(list, o);
        free(name);
    }
    return list;
}

static cJSON *row_json(const struct kb_section_share *s, const struct shares *all)
{
    cJSON *o = cJSON_CreateObject();
    double share = all->samples > 0 ? (double)s->samples / all->samples : NAN;
    kb_json_set_number(o, "samples", (double)s->samples);
    kb_json_measured(o, "share", rounded(share, 1e-4), isnan(share) ? "no samples" : NULL);
    kb_json_measured(o, "us", rounded(share * all->time_us, 1e-3), isnan(all->time_us) ? "the time is unknown" : NULL);
    return o;
}

static cJSON *section_json(const struct kb_section_share *s, const struct shares *all)
{
    cJSON *o = row_json(s, all);
    kb_worker_set_clean(o, "name", s->name, 80);
    kb_worker_set_clean(o, "file", s->file[0] ? s->file : NULL, 200);
    kb_json_measured(o, "line", s->line, s->line ? NULL : "no one place");
    kb_json_measured(o, "end_line", s->end_line, s->end_line ? NULL : "no one place");
    kb_json_set(o, "stalls", groups_json(s, KB_STALL_GROUPS));
    kb_json_set(o, "raw", raw_json(s, all->profile));
    return o;
}

static cJSON *sections_json(const struct kb_sections *s, const struct shares *all)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < s->section_count; i++)
        cJSON_AddItemToArray(list, section_json(&s->sections[i], all));
    return list;
}

static cJSON *lines_json(const struct kb_sections *s)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < s->line_count && i < MOST_LINES; i++) {
        cJSON *o = cJSON_CreateObject();
        kb_worker_set_clean(o, "file", s->lines[i].file, 200);
        kb_json_set_number(o, "line", s->lines[i].line);
        kb_json_set_number(o, "samples", (double)s->lines[i].samples);
        kb_json_set(o, "stalls", groups_json(&s->lines[i], MOST_GROUPS));
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *functions_json(const struct kb_sections *s, const struct shares *all)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < s->function_count && i < MOST_FUNCTIONS; i++) {
        cJSON *o = row_json(&s->functions[i], all);
        kb_worker_set_clean(o, "name", s->functions[i].name, 120);
        kb_json_set(o, "stalls", groups_json(&s->functions[i], MOST_GROUPS));
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static enum kb_stall_group top_group(const struct kb_pc_profile *p, const struct kb_pc *pc)
{
    uint64_t groups[KB_STALL_GROUPS] = {0};
    int best = KB_STALL_OTHER;
    for (int i = 0; i < p->reason_count; i++)
        if (!p->inclusive || !p->reasons[i].not_issued)
            groups[kb_stall_reason(p->reasons[i].name)->group] += pc->counts[i];
    for (int g = 0; g < KB_STALL_GROUPS; g++)
        best = groups[g] > groups[best] ? g : best;
    return (enum kb_stall_group)best;
}

// {"kernels":[{"name","pcs":[[offset, samples, "group"], ...]}]}; the PCs are sorted by function and offset.
static char *blob_json(const struct kb_pc_profile *p)
{
    struct kb_text out = {0};
    const char *function = NULL;
    kb_text_add(&out, "{\"kernels\":[");
    for (int i = 0; i < p->pc_count && i < MOST_PCS; i++) {
        const struct kb_pc *pc = &p->pcs[i];
        bool next = !function || strcmp(function, pc->function) != 0;
        if (next) {
            cJSON *name = cJSON_CreateString(pc->function);
            char *quoted = kb_json_line(name);
            kb_text_addf(&out, "%s{\"name\":%s,\"pcs\":[", function ? "]}," : "", quoted);
            free(quoted);
            cJSON_Delete(name);
        }
        kb_text_addf(&out, "%s[%llu,%llu,\"%s\"]", next ? "" : ",", (unsigned long long)pc->offset,
                     (unsigned long long)kb_pc_samples(p, pc), kb_stall_group_names[top_group(p, pc)]);
        function = pc->function;
    }
    kb_text_addf(&out, "%s],\"pcs_left_out\":%d}", function ? "]}" : "",
                 p->pc_count > MOST_PCS ? p->pc_count - MOST_PCS : 0);
    return kb_text_take(&out);
}

// Takes the coolest lines, then raw names away until the head fits a frame.
static void shorten(cJSON *head)
{
    for (;;) {
        char *line = kb_json_line(head);
        bool fits = strlen(line) <= HEAD_BYTES;
        free(line);
        cJSON *lines = cJSON_GetObjectItemCaseSensitive(head, "lines"), *section;
        int n = cJSON_GetArraySize(lines);
        if (fits)
            return;
        for (int i = 0; i < 8 && n > 0; i++)
            cJSON_DeleteItemFromArray(lines, --n);
        if (n > 0)
            continue;
        cJSON_ArrayForEach (section, cJSON_GetObjectItemCaseSensitive(head, "sections"))
            cJSON_DeleteItemFromObjectCaseSensitive(section, "raw");
        kb_json_set_text(head, "shortened", "the frame was full");
        return;
    }
}

cJSON *profile_sections_json(const struct kb_frame *f, const struct profile_target *t, const struct kb_pc_profile *p,
                             const struct kb_sections *s, double time_us, char **blob)
{
    struct shares all = {p, (double)p->samples, time_us};
    cJSON *head = kb_frame_head("sections", kb_frame_job(f));
    kb_json_set_text(head, "version", t->version->key);
    kb_json_set_number(head, "case", t->data->index);
    kb_json_set_text(head, "source", "cupti pc sampling");
    kb_json_set_number(head, "period", ldexp(1, p->period));
    kb_json_set_number(head, "samples", (double)p->samples);
    kb_json_set_number(head, "dropped", (double)p->dropped);
    kb_json_set_bool(head, "overflow", p->overflow);
    kb_json_set_number(head, "launches", p->launches);
    kb_json_set_number(head, "tries", p->tries);
    kb_json_measured(head, "time_us", time_us, isnan(time_us) ? "not measured" : NULL);
    kb_json_set_text(head, "attribution", "share of the samples x measured time");
    kb_json_set_bool(head, "cold", true);
    kb_json_set_number(head, "by_neighbour", (double)s->by_neighbour);
    kb_json_set_number(head, "without_line", (double)s->without_line);
    kb_json_set(head, "sections", sections_json(s, &all));
    kb_json_set(head, "functions", functions_json(s, &all));
    kb_json_set(head, "lines", lines_json(s));
    shorten(head);
    *blob = blob_json(p);
    return head;
}
