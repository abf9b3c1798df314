// `sections`: PC samples of one version, by section, line and instruction.
#include "base/json.h"
#include "base/memory.h"
#include "worker/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SECTIONS = 24, BUDGET_MS = 60 };

static bool interrupted(void *target)
{
    const struct profile_target *t = target;
    return run_cancelled(t->request);
}

static int read_marks(const struct kb_frame *f, struct kb_section_mark marks[MOST_SECTIONS])
{
    const cJSON *item;
    int n = 0;
    cJSON_ArrayForEach (item, kb_json_get(f->head, "lines")) {
        struct kb_section_mark m = {.file = kb_json_text(item, "file", ""),
                                    .name = kb_json_text(item, "name", ""),
                                    .line = (int)kb_json_int(item, "line", 0),
                                    .end_line = (int)kb_json_int(item, "end_line", 0)};
        if (n < MOST_SECTIONS && m.line > 0 && m.end_line >= m.line)
            marks[n++] = m;
    }
    return n;
}

static void send_sections(const struct profile_target *t, const struct kb_pc_profile *profile, double time_us)
{
    struct kb_section_mark marks[MOST_SECTIONS];
    struct kb_line_table *table = NULL;
    struct kb_sections sections;
    char *blob;
    kb_line_table_read(t->version->image.cubin, t->version->image.cubin_bytes, &table, NULL); // without: no lines
    kb_sections_make(profile, table, marks, read_marks(t->request, marks), &sections);
    cJSON *head = profile_sections_json(t->request, t, profile, &sections, time_us, &blob);
    kb_json_set_bool(head, "line_info", kb_line_table_rows(table) > 0);
    kb_worker_send(head, blob, strlen(blob));
    free(blob);
    kb_sections_free(&sections);
    kb_line_table_free(table);
}

void profile_sections(struct profile_worker *p, const struct kb_frame *f)
{
    struct run_worker *w = &p->run;
    struct run_version *v = profile_version(p, f, "sections");
    struct profile_target t;
    struct kb_pc_profile profile = {0};
    struct kb_error error = {0};
    if (!v || profile_is_refused(p, f, "sections"))
        return;
    if (kb_pcs_hold(w->device, &error)) { // before the module is loaded, so that CUPTI knows its functions
        profile_refuse(p, f, "sections", &error);
        return;
    }
    if (profile_open(p, f, v, &t, &error)) {
        profile_end(p, f, "sections", "fail", kb_error_line(&error), NULL);
        return;
    }
    double time_us = kb_json_number(f->head, "time_us", NAN);
    int budget = (int)kb_json_int(f->head, "budget_ms", BUDGET_MS);
    struct kb_pcs_run run = {.before = profile_before,
                             .run = profile_launch,
                             .context = &t,
                             .time_us = time_us,
                             .budget_ms = budget > 3 ? budget / 3 : 1, // the rest is for reading it all
                             .interrupted = interrupted};
    if (kb_pcs_collect(w->device, &run, &profile, &error))
        profile_refuse(p, f, "sections", &error);
    else if (run_cancelled(f))
        profile_end(p, f, "sections", "cancelled", NULL, NULL);
    else if (!profile.samples)
        profile_end(p, f, "sections", "na", "no sample fell into the kernel: it is too short", NULL);
    else {
        send_sections(&t, &profile, time_us);
        profile_end(p, f, "sections", "pass", NULL, NULL);
    }
    kb_pc_profile_free(&profile);
    profile_close(&t);
}
