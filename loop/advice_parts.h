// Between the advice and its table of rules: the figures that rules test, all NAN where unknown.
#ifndef KB_LOOP_ADVICE_PARTS_H
#define KB_LOOP_ADVICE_PARTS_H
#include "loop/advice.h"

enum kb_wait { // groups of stall reasons, as `sections` events name them
    KB_WAIT_MEMORY,
    KB_WAIT_SHARED,
    KB_WAIT_BARRIER,
    KB_WAIT_ARITHMETIC,
    KB_WAIT_LATENCY,
    KB_WAIT_TENSOR,
    KB_WAIT_FETCH,
    KB_WAIT_NOT_SELECTED,
    KB_WAIT_DISPATCH,
    KB_WAIT_CONSTANT,
    KB_WAITS
};
struct kb_counted { // by the CPU device, over the launches of the headline case
    double bytes, sectors, requests, conflicts, shared_requests, lanes, instructions, flops_f32, flops_f64, local_bytes;
};
struct kb_figures {
    struct kb_advice_input own; // the input without what the CPU device counted in the shape of samples and counters
    const struct kb_advice_input *in; // = &own
    double time_us, call_us;
    double share; // of the roof over this version's intensity, by the timing's roofline
    bool memory_bound, compute_bound;
    double work_bytes; // declared by the bench
    double dram_bytes, dram_rate, dram_peak, dram_share, l2_rate, l2_peak, l2_share, f32_share, f64_share, tensor_share;
    double waits[KB_WAITS]; // shares of all samples; NAN without samples
    double samples;
    double load_sectors, store_sectors; // a request
    double load_bytes, store_bytes;     // the widest access of a thread in the SASS
    double lanes, conflicts, wavefronts, issue_active, occupancy_achieved;
    double occupancy, registers, shared_bytes, block_threads, blocks_per_sm; // of the kernel with the lowest occupancy
    double spill_bytes, stack_bytes, local_instructions;
    double blocks; // of the only kernel; NAN of several
    double sms, flops_f32, flops_f64, fp32_peak, fp64_peak;
    const char *limited_by; // NULL unknown
    bool cuda;
    bool has_facts;
    struct kb_counted counted;
};
struct kb_finding { // what a rule says; texts owned by the taker
    unsigned kinds;
    char *evidence;
    char *step;                     // NULL: nothing to try
    const char *file, *instruction; // borrowed
    struct kb_advice_number numbers[KB_ADVICE_NUMBERS];
    int number_count;
    int line;
};
struct kb_rule {
    const char *name;
    enum kb_limit limit;
    double (*test)(const struct kb_figures *); // 0: does not apply; else its score, see docs/advice.md
    void (*build)(const struct kb_figures *, struct kb_finding *);
};
extern const struct kb_rule kb_rules[];
extern const int kb_rule_count;

void kb_figures_make(const struct kb_advice_input *, struct kb_figures *out);
extern const char *const kb_wait_names[KB_WAITS];
// The line with the most samples of this group; NULL without.
const struct kb_ev_line_counts *kb_hot_line(const struct kb_figures *, enum kb_wait);
// The line of the facts with the most of a field (sectors, conflicts, divergent, bytes); never NULL.
const struct kb_ev_line_counts *kb_counted_line_by(const struct kb_figures *, size_t field);
#define KB_COUNTED_LINE(f, field) kb_counted_line_by(f, offsetof(struct kb_ev_line_counts, field))
// The first line of the source that computes in double (the word, or a constant without f); 0: none is seen.
int kb_double_line(const char *source);

#endif
