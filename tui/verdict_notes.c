#include "tui/verdict_notes.h"
#include "base/memory.h"
#include "loop/findings.h"
#include "loop/proof.h"
#include "tui/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_NAMED = 2, CLASSES_NAMED = 3, CLASSES = 256 };

static void gap(struct kb_line *l)
{
    kb_span(l, KB_STYLE_TEXT, "   ");
}

void kb_note_cases(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_model *m = s->model;
    const struct kb_ev_versus *here = s->version->cases[s->case_index].versus;
    const char *own = here ? here->verdict : NULL;
    int alike = 0, others = 0, named = 0;
    for (int i = 0; own && i < m->case_count; i++) {
        const struct kb_ev_versus *versus = s->version->cases[i].versus ?: &kb_unknown_versus;
        const char *verdict = versus->verdict;
        if (i == s->case_index || !verdict)
            continue;
        others++;
        alike += !strcmp(verdict, own);
        bool slower = !strcmp(verdict, "SLOWER");
        if (!strcmp(verdict, own) || named++ >= CASES_NAMED)
            continue;
        gap(l);
        kb_spanf(l, slower ? KB_STYLE_WARN : KB_STYLE_TEXT, "%s %s", kb_model_case_name(m, i), verdict);
        kb_spanf(l, KB_STYLE_DIM, " %s", kb_show_change(versus->ratio).s);
    }
    if (named > CASES_NAMED)
        kb_spanf(l, KB_STYLE_DIM, ", %d more differ", named - CASES_NAMED);
    if (others && alike == others)
        kb_spanf(l, KB_STYLE_DIM, "   all %d cases", others + 1);
}

struct change {
    const char *name;
    double by;
};

static int add_classes(struct change *list, int count, const struct kb_ev_sass_kernel *kernel, double sign)
{
    for (int i = 0; i < kernel->by_class_count; i++) {
        int k = 0;
        while (k < count && strcmp(list[k].name, kernel->by_class[i].name))
            k++;
        if (k == count && count < CLASSES)
            list[count++] = (struct change){kernel->by_class[i].name, 0};
        if (k < count)
            list[k].by += sign * kernel->by_class[i].value;
    }
    return count;
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(((const struct change *)a)->by), y = fabs(((const struct change *)b)->by);
    return x < y ? 1 : x > y ? -1 : strcmp(((const struct change *)a)->name, ((const struct change *)b)->name);
}

void kb_note_classes(struct kb_line *l, const struct kb_subject *s, const struct kb_model_version *baseline)
{
    struct change list[CLASSES];
    const struct kb_ev_sass *now = s->version->sass, *then = baseline ? baseline->sass : NULL;
    int count = 0;
    if (!now || !then || !now->kernels_count || !then->kernels_count)
        return;
    for (int i = 0; i < now->kernels_count; i++)
        count = add_classes(list, count, &now->kernels[i], 1);
    for (int i = 0; i < then->kernels_count; i++)
        count = add_classes(list, count, &then->kernels[i], -1);
    qsort(list, (size_t)count, sizeof *list, by_size);
    for (int i = 0; i < count && i < CLASSES_NAMED && list[i].by != 0; i++) {
        if (i)
            kb_span(l, KB_STYLE_DIM, ", ");
        else
            gap(l);
        kb_spanf(l, KB_STYLE_TEXT, "%s %+.0f", list[i].name, list[i].by);
    }
}

static const char *holding(const char *reason, const char *words)
{
    return reason && strstr(reason, words) ? reason : NULL;
}

static const char *case_remark(const struct kb_model *m, const struct kb_model_version *v, const char *words)
{
    for (int i = 0; v && i < m->case_count; i++) {
        const struct kb_ev_case *results[] = {v->cases[i].verify, v->cases[i].run};
        for (size_t k = 0; k < KB_COUNT(results); k++) {
            const struct kb_ev_case *c = results[k] ?: &kb_unknown_case;
            const char *found = holding(c->reason, words);
            for (int o = 0; o < c->outputs_count && !found; o++)
                found = holding(c->outputs[o].reason, words);
            if (found)
                return found;
        }
    }
    return NULL;
}

const char *kb_weak_note(const struct kb_model *m, const char **label)
{
    const char *unused, *weak = NULL;
    for (int i = 0; !weak && i < m->case_count; i++) {
        weak = kb_model_weak(m, i, &unused);
        *label = kb_model_case_name(m, i);
    }
    return weak;
}

const char *kb_differing_note(const struct kb_model *m, const struct kb_model_version *v)
{
    if (!v)
        return NULL;
    const char *found = holding(v->rungs[KB_RUNG_VERIFY].reason, "differ bitwise");
    found = found ? found : holding(v->rungs[KB_RUNG_RUN].reason, "differ bitwise");
    found = found ? found : case_remark(m, v, "differ bitwise");
    return !found && KB_WORST(m, v, differing) > 0 ? "two runs on the same inputs differ bitwise" : found;
}

// The first of a kind, and how many more; of rungs all the names.
static void note_kind(struct kb_line *l, const struct kb_ev_proof *p, const char *kind, const char *word)
{
    bool names = !strcmp(kind, "not proven");
    int count = 0, shown = 0;
    for (int i = 0; i < p->gaps_count; i++) {
        if (strcmp(p->gaps[i].kind, kind))
            continue;
        count++;
        if (!shown || names)
            kb_spanf(l, KB_STYLE_WARN, "%s%s%s", shown ? ", " : "   ", shown ? "" : word, p->gaps[i].what ?: "?");
        shown += !shown || names;
    }
    if (count > shown)
        kb_spanf(l, KB_STYLE_WARN, ", %d more", count - shown);
}

void kb_note_gaps(struct kb_line *l, const struct kb_subject *s)
{
    struct kb_ev_proof proof = kb_proof_of(s->model, s->version);
    note_kind(l, &proof, "not proven", "not proven: ");
    note_kind(l, &proof, "not run", "NOT RUN: ");
    note_kind(l, &proof, "not tried", "not tried: ");
    kb_proof_free(&proof);
}

static void add_clock(struct kb_line *l, const struct kb_ev_timing *timing)
{
    if (timing->throttled_kept == KB_YES) {
        kb_span(l, KB_STYLE_WARN, "   at throttled clocks");
        if (!isnan(timing->clock_mhz))
            kb_spanf(l, KB_STYLE_WARN, ", %.0f MHz", timing->clock_mhz);
    }
    if (KB_WITHIN(timing, cold, interval)->drifting)
        kb_span(l, KB_STYLE_WARN, "   drifting");
}

static void add_findings(struct kb_line *l, const struct kb_model_version *v)
{
    int warnings = 0, accepted = 0;
    for (int i = 0; i < v->finding_count; i++) {
        warnings += kb_finding_warns(&v->findings[i]);
        accepted += v->findings[i].accepted != NULL;
    }
    if (warnings)
        kb_spanf(l, KB_STYLE_WARN, "   %d warning%s: see errors", warnings, warnings > 1 ? "s" : "");
    if (accepted)
        kb_spanf(l, KB_STYLE_DIM, "   %d finding%s accepted", accepted, accepted > 1 ? "s" : "");
}

void kb_note_doubts(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_model_case *c = &s->version->cases[s->case_index];
    const struct kb_ev_timing *timing = kb_model_timing(s->model, s->version, s->case_index) ?: &kb_unknown_timing;
    double others = fmax(timing->others, (c->versus ?: &kb_unknown_versus)->others);
    add_clock(l, timing);
    if (others > 0)
        kb_spanf(l, KB_STYLE_WARN, "   %.0f other on the GPU", others);
    if (kb_differing_note(s->model, s->version))
        kb_span(l, KB_STYLE_WARN, "   runs differ bitwise");
    add_findings(l, s->version);
    const char *label;
    if (kb_weak_note(s->model, &label))
        kb_span(l, KB_STYLE_WARN, "   weak bench: see errors");
}
