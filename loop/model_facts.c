// What the CPU device counted of a run with several launches, as one: sums, and the lines of all kernels.
#include "base/memory.h"
#include "loop/model.h"
#include "loop/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct kb_ev_line_counts *same_line(struct kb_ev_counts *c, const struct kb_ev_line_counts *line)
{
    for (int i = 0; i < c->lines_count; i++)
        if (c->lines[i].line == line->line && !strcmp(c->lines[i].file ?: "", line->file ?: ""))
            return &c->lines[i];
    return NULL;
}

// Moves an item of a list to the end of another, which has room.
#define MOVE(r, to, from, list, i)                                                                                     \
    do {                                                                                                               \
        (to)->list[(to)->list##_count++] = (from)->list[i];                                                            \
        kb_record_init(&kb_record_##r, &(from)->list[i]);                                                              \
    } while (0)
#define GROW(to, from, list)                                                                                           \
    (to)->list = kb_realloc((to)->list, sizeof *(to)->list * (size_t)((to)->list##_count + (from)->list##_count + 1))

static void join(struct kb_ev_counts *to, struct kb_ev_counts *from)
{
    char *kernels = kb_format("%s, %s", to->kernel ?: "?", from->kernel ?: "?");
    free(to->kernel);
    to->kernel = kernels;
    kb_record_add(&kb_record_counts, to, from);
    GROW(to, from, lines);
    for (int i = 0; i < from->lines_count; i++) {
        struct kb_ev_line_counts *known = same_line(to, &from->lines[i]);
        if (known)
            kb_record_add(&kb_record_line_counts, known, &from->lines[i]);
        else
            MOVE(line_counts, to, from, lines, i);
    }
    GROW(to, from, reports);
    for (int i = 0; i < from->reports_count; i++)
        MOVE(report, to, from, reports, i);
    free(to->average_active_lanes_reason);
    to->average_active_lanes = to->instructions > 0 ? to->thread_instructions / to->instructions : NAN;
    to->average_active_lanes_reason = to->instructions > 0 ? NULL : kb_strdup("nothing was executed");
}

void kb_model_add_facts(struct kb_ev_facts **kept, struct kb_event *e)
{
    struct kb_ev_facts *facts = e->body;
    if (!*kept || !(*kept)->facts || facts->launch <= (*kept)->launch) { // the first launch of another run
        KB_KEEP(*kept, e);
        return;
    }
    if (facts->facts)
        join((*kept)->facts, facts->facts);
    (*kept)->launch = facts->launch;
}
