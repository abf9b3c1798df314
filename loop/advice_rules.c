// The table of rules. A rule tests figures and gives a score, and builds what it says. The scores only order the rules:
// 2 and more: at a roof, nothing but less work helps; 1 to 2: waste that shows on its own; under 1: roughly the share
// of the time that it explains. docs/advice.md has the thresholds in words.
#include "loop/advice_rules.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool kb_at_least(double value, double bound) // false where unknown
{
    return value >= bound;
}

void kb_place(struct kb_finding *out, const struct kb_ev_line_counts *line)
{
    out->line = line ? (int)line->line : 0;
    out->file = line && line->file ? line->file : "";
}

// "line 14" or, without one, what is named otherwise.
struct kb_quantity kb_at(const struct kb_finding *out, const char *otherwise)
{
    struct kb_quantity text;
    if (out->line)
        snprintf(text.s, sizeof text.s, "line %d", out->line);
    else
        snprintf(text.s, sizeof text.s, "%s", otherwise);
    return text;
}

const char *kb_step_words(const char *text, int line)
{
    struct kb_quantity at;
    int n = snprintf(at.s, sizeof at.s, "line %d ", line);
    return line && !strncmp(text, at.s, (size_t)n) ? text + n : text;
}

bool kb_at_dram_roof(const struct kb_figures *f)
{
    return kb_at_least(f->dram_share, KB_AT_ROOF) ||
           (isnan(f->dram_share) && f->memory_bound && kb_at_least(f->share, KB_AT_ROOF));
}

// How much memory matters, 0 to 1; NAN if nothing says.
double kb_pressure(const struct kb_figures *f)
{
    double p = fmax(fmax(f->waits[KB_WAIT_MEMORY], f->dram_share), f->l2_share);
    return fmin(fmax(p, f->memory_bound ? f->share : NAN), 1);
}

bool kb_memory_matters(const struct kb_figures *f)
{
    double p = kb_pressure(f);
    return isnan(p) || p >= 0.3;
}

void kb_cite(struct kb_finding *out, const char *name, double value)
{
    if (isfinite(value) && out->number_count < KB_ADVICE_NUMBERS)
        out->numbers[out->number_count++] = (struct kb_advice_number){name, value};
}

void kb_say_wait(const struct kb_figures *f, struct kb_finding *out, enum kb_wait wait, const char *verb,
                 const char *step)
{
    kb_place(out, kb_hot_line(f, wait));
    out->kinds = KB_EVIDENCE_SAMPLED;
    kb_cite(out, "wait", f->waits[wait]);
    out->evidence = kb_format("%s of the samples %s", kb_percent(f->waits[wait]).s, verb);
    out->step = kb_format("%s: %s", kb_at(out, "the kernel").s, step);
}

const struct kb_rule kb_rules[] = {
    {"dram roof", KB_LIMIT_MEMORY, kb_rule_dram_roof, kb_say_dram_roof},
    {"compute roof", KB_LIMIT_ARITHMETIC, kb_rule_compute_roof, kb_say_compute_roof},
    {"l2 roof", KB_LIMIT_MEMORY, kb_rule_l2_roof, kb_say_l2_roof},
    {"uncoalesced loads", KB_LIMIT_MEMORY, kb_rule_uncoalesced_loads, kb_say_uncoalesced_loads},
    {"uncoalesced stores", KB_LIMIT_MEMORY, kb_rule_uncoalesced_stores, kb_say_uncoalesced_stores},
    {"uncoalesced, counted", KB_LIMIT_MEMORY, kb_rule_counted_uncoalesced, kb_say_counted_uncoalesced},
    {"launch overhead", KB_LIMIT_LAUNCH, kb_rule_launch, kb_say_launch},
    {"tiny grid", KB_LIMIT_LAUNCH, kb_rule_tiny_grid, kb_say_tiny_grid},
    {"tail", KB_LIMIT_LAUNCH, kb_rule_tail, kb_say_tail},
    {"double precision", KB_LIMIT_ARITHMETIC, kb_rule_doubles, kb_say_doubles},
    {"few warps", KB_LIMIT_LATENCY, kb_rule_few_warps, kb_say_few_warps},
    {"loads in flight", KB_LIMIT_LATENCY, kb_rule_loads_in_flight, kb_say_loads_in_flight},
    {"barriers", KB_LIMIT_BARRIER, kb_rule_barriers, kb_say_barriers},
    {"bank conflicts", KB_LIMIT_SHARED, kb_rule_bank_conflicts, kb_say_bank_conflicts},
    {"bank conflicts, counted", KB_LIMIT_SHARED, kb_rule_counted_conflicts, kb_say_counted_conflicts},
    {"shared memory queue", KB_LIMIT_SHARED, kb_rule_shared_queue, kb_say_shared_queue},
    {"arithmetic pipe", KB_LIMIT_ARITHMETIC, kb_rule_math_pipe, kb_say_math_pipe},
    {"tensor cores", KB_LIMIT_ARITHMETIC, kb_rule_tensor_wait, kb_say_tensor_wait},
    {"fixed latency", KB_LIMIT_LATENCY, kb_rule_fixed_latency, kb_say_fixed_latency},
    {"scheduler", KB_LIMIT_SCHEDULER, kb_rule_scheduler, kb_say_scheduler},
    {"instruction fetch", KB_LIMIT_FETCH, kb_rule_fetch, kb_say_fetch},
    {"constant cache", KB_LIMIT_LATENCY, kb_rule_constants, kb_say_constants},
    {"divergence", KB_LIMIT_ARITHMETIC, kb_rule_divergence, kb_say_divergence},
    {"spills", KB_LIMIT_MEMORY, kb_rule_spills, kb_say_spills},
    {"local arrays", KB_LIMIT_MEMORY, kb_rule_local_arrays, kb_say_local_arrays},
    {"narrow loads", KB_LIMIT_MEMORY, kb_rule_narrow_loads, kb_say_narrow_loads},
    {"narrow accesses, counted", KB_LIMIT_MEMORY, kb_rule_counted_narrow, kb_say_counted_narrow},
};
const int kb_rule_count = KB_COUNT(kb_rules);
