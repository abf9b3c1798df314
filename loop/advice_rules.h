// The rules of the advice: what they share, and what each file of them gives to the table.
#ifndef KB_LOOP_ADVICE_RULES_H
#define KB_LOOP_ADVICE_RULES_H
#include "loop/advice_parts.h"
#include "loop/quantity.h"

#define KB_AT_ROOF 0.8 // share of a roof that counts as being there

bool kb_at_least(double value, double bound); // false where unknown
bool kb_at_dram_roof(const struct kb_figures *);
// How much memory matters, 0 to 1; NAN if nothing says.
double kb_pressure(const struct kb_figures *);
bool kb_memory_matters(const struct kb_figures *);
void kb_place(struct kb_finding *, const struct kb_ev_line_counts *line); // NULL: no one line
// "line 14" or, without one, what is named otherwise.
struct kb_quantity kb_at(const struct kb_finding *, const char *otherwise);
// A number that the finding rests on, for programs; an unknown one is left out.
void kb_cite(struct kb_finding *, const char *name, double value);
// What a rule says that rests on one kind of waiting.
void kb_say_wait(const struct kb_figures *, struct kb_finding *, enum kb_wait, const char *verb, const char *step);

// advice_memory.c
double kb_rule_dram_roof(const struct kb_figures *);
void kb_say_dram_roof(const struct kb_figures *, struct kb_finding *);
double kb_rule_l2_roof(const struct kb_figures *);
void kb_say_l2_roof(const struct kb_figures *, struct kb_finding *);
double kb_rule_uncoalesced_loads(const struct kb_figures *);
void kb_say_uncoalesced_loads(const struct kb_figures *, struct kb_finding *);
double kb_rule_uncoalesced_stores(const struct kb_figures *);
void kb_say_uncoalesced_stores(const struct kb_figures *, struct kb_finding *);
double kb_rule_counted_uncoalesced(const struct kb_figures *);
void kb_say_counted_uncoalesced(const struct kb_figures *, struct kb_finding *);
double kb_rule_spills(const struct kb_figures *);
void kb_say_spills(const struct kb_figures *, struct kb_finding *);
double kb_rule_local_arrays(const struct kb_figures *);
void kb_say_local_arrays(const struct kb_figures *, struct kb_finding *);
double kb_rule_narrow_loads(const struct kb_figures *);
void kb_say_narrow_loads(const struct kb_figures *, struct kb_finding *);
double kb_rule_counted_narrow(const struct kb_figures *);
void kb_say_counted_narrow(const struct kb_figures *, struct kb_finding *);

// advice_waits.c
double kb_rule_launch(const struct kb_figures *);
void kb_say_launch(const struct kb_figures *, struct kb_finding *);
double kb_rule_tiny_grid(const struct kb_figures *);
void kb_say_tiny_grid(const struct kb_figures *, struct kb_finding *);
double kb_rule_tail(const struct kb_figures *);
void kb_say_tail(const struct kb_figures *, struct kb_finding *);
double kb_rule_few_warps(const struct kb_figures *);
void kb_say_few_warps(const struct kb_figures *, struct kb_finding *);
double kb_rule_loads_in_flight(const struct kb_figures *);
void kb_say_loads_in_flight(const struct kb_figures *, struct kb_finding *);
double kb_rule_barriers(const struct kb_figures *);
void kb_say_barriers(const struct kb_figures *, struct kb_finding *);
double kb_rule_bank_conflicts(const struct kb_figures *);
void kb_say_bank_conflicts(const struct kb_figures *, struct kb_finding *);
double kb_rule_counted_conflicts(const struct kb_figures *);
void kb_say_counted_conflicts(const struct kb_figures *, struct kb_finding *);
double kb_rule_shared_queue(const struct kb_figures *);
void kb_say_shared_queue(const struct kb_figures *, struct kb_finding *);
double kb_rule_fixed_latency(const struct kb_figures *);
void kb_say_fixed_latency(const struct kb_figures *, struct kb_finding *);
double kb_rule_scheduler(const struct kb_figures *);
void kb_say_scheduler(const struct kb_figures *, struct kb_finding *);
double kb_rule_fetch(const struct kb_figures *);
void kb_say_fetch(const struct kb_figures *, struct kb_finding *);
double kb_rule_constants(const struct kb_figures *);
void kb_say_constants(const struct kb_figures *, struct kb_finding *);

// advice_arithmetic.c
double kb_rule_compute_roof(const struct kb_figures *);
void kb_say_compute_roof(const struct kb_figures *, struct kb_finding *);
double kb_rule_doubles(const struct kb_figures *);
void kb_say_doubles(const struct kb_figures *, struct kb_finding *);
double kb_rule_math_pipe(const struct kb_figures *);
void kb_say_math_pipe(const struct kb_figures *, struct kb_finding *);
double kb_rule_tensor_wait(const struct kb_figures *);
void kb_say_tensor_wait(const struct kb_figures *, struct kb_finding *);
double kb_rule_divergence(const struct kb_figures *);
void kb_say_divergence(const struct kb_figures *, struct kb_finding *);

#endif
