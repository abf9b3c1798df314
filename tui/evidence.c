#include "tui/evidence.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *state_of(const struct kb_rung_state *r)
{
    if (r->status == KB_STATUS_RUNNING)
        return "being measured";
    if (r->reason)
        return r->reason;
    return r->status == KB_STATUS_NONE ? "not measured yet" : "none were sent";
}

void kb_why_events_of(const struct kb_app *a, const struct kb_model_version *v, struct kb_why_events *out)
{
    const struct kb_model *m = a->model;
    *out = (struct kb_why_events){.sections_state = "not sampled", .counters_state = "not counted"};
    struct kb_advice_input *in = &out->in;
    in->device = m->device;
    in->bench = kb_model_bench(m);
    if (!v)
        return;
    const struct kb_model_case *c = m->headline < m->case_count ? &v->cases[m->headline] : NULL;
    in->resources = v->resources;
    in->sass = v->sass;
    in->sections = v->sections;
    if (v->counters)
        in->counters[in->counters_count++] = v->counters;
    in->no_sections = v->sections ? NULL : v->rungs[KB_RUNG_SECTIONS].reason;
    in->no_counters = v->counters ? NULL : v->rungs[KB_RUNG_COUNTERS].reason;
    out->sections_state = state_of(&v->rungs[KB_RUNG_SECTIONS]);
    out->counters_state = state_of(&v->rungs[KB_RUNG_COUNTERS]);
    in->timing = c && !isnan(kb_speed_us(m, v, m->headline)) ? c->timing : NULL; // a wrong version has no time
    if (c && c->facts)
        in->facts[in->facts_count++] = c->facts;
}

// ---- lines

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_file(const char *named, const char *file)
{
    return !strcmp(base_name(named), base_name(file));
}

static struct kb_cost *add_cost(struct kb_costs *c, int line)
{
    KB_GROW(c->items, c->count, c->capacity);
    struct kb_cost *cost = &c->items[c->count++];
    *cost = (struct kb_cost){line, NAN, NAN, NAN, NAN, NAN, NAN, NULL};
    return cost;
}

static void add_sampled(struct kb_costs *c, const struct kb_ev_sections *s, const char *file)
{
    c->sampled = true;
    for (int i = 0; i < s->lines_count; i++) {
        const struct kb_ev_line_counts *line = &s->lines[i];
        const struct kb_ev_stall *most = line->stalls_count ? line->stalls : &kb_unknown_stall;
        for (int k = 1; k < line->stalls_count; k++)
            most = line->stalls[k].share > most->share ? &line->stalls[k] : most;
        if (line->line < 1 || !same_file(line->file ?: "", file))
            continue;
        struct kb_cost *cost = add_cost(c, (int)line->line);
        cost->share = line->samples / s->samples;
        cost->stall = most->group;
        cost->stall_share = most->share;
    }
}

static void add_counted(struct kb_costs *c, const struct kb_ev_counts *counts, const char *file)
{
    for (int i = 0; i < counts->lines_count; i++) {
        const struct kb_ev_line_counts *line = &counts->lines[i];
        if (line->line < 1 || !same_file(line->file ?: "", file))
            continue;
        struct kb_cost *cost = add_cost(c, (int)line->line);
        cost->share = line->instructions / counts->instructions;
        cost->bytes = line->bytes;
        cost->sectors = line->sectors;
        cost->conflicts = line->conflicts;
        cost->divergent = line->divergent;
    }
}

static int by_line(const void *a, const void *b)
{
    return ((const struct kb_cost *)a)->line - ((const struct kb_cost *)b)->line;
}

static double heat_of(const struct kb_cost *c)
{
    return isnan(c->share) ? -1 : c->share;
}

static void sort_by_heat(struct kb_costs *c)
{
    c->heat = kb_alloc(sizeof *c->heat * (size_t)(c->count + 1));
    for (int i = 0; i < c->count; i++) { // few lines: by insertion, stable
        int k = i;
        for (; k > 0 && heat_of(&c->items[c->heat[k - 1]]) < heat_of(&c->items[i]); k--)
            c->heat[k] = c->heat[k - 1];
        c->heat[k] = i;
    }
}

void kb_costs_make(const struct kb_ev_sections *sections, const struct kb_ev_facts *facts, const char *file,
                   struct kb_costs *out)
{
    *out = (struct kb_costs){0};
    if (sections && !kb_is_counted(sections->source))
        add_sampled(out, sections, file);
    if (!out->count && facts) {
        out->sampled = false;
        add_counted(out, KB_WITHIN(facts, facts, counts), file);
    }
    if (out->count)
        qsort(out->items, (size_t)out->count, sizeof *out->items, by_line);
    sort_by_heat(out);
}

void kb_costs_free(struct kb_costs *c)
{
    free(c->items);
    free(c->heat);
    *c = (struct kb_costs){0};
}

const struct kb_cost *kb_cost_at(const struct kb_costs *c, int line)
{
    struct kb_cost key = {.line = line};
    return c->count ? bsearch(&key, c->items, (size_t)c->count, sizeof *c->items, by_line) : NULL;
}

int kb_cost_step(const struct kb_costs *c, int line, int by)
{
    const struct kb_cost *here = kb_cost_at(c, line);
    if (!c->count)
        return line;
    if (!here)
        return c->items[c->heat[0]].line;
    int rank = 0;
    while (c->heat[rank] != (int)(here - c->items))
        rank++;
    rank += by;
    rank = rank < 0 ? 0 : rank >= c->count ? c->count - 1 : rank;
    return c->items[c->heat[rank]].line;
}
