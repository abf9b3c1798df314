// One version again and again: on inputs that change under the same addresses, in a module whose globals are fresh.
// What is right for ten calls and then drifts, what replays a result that it kept, what recognises inputs, addresses or
// poison, and what comes out differently from run to run, shows here.
#ifndef KB_VERIFY_REPEAT_H
#define KB_VERIFY_REPEAT_H
#include "verify/trial.h"

enum { KB_REPEAT_PAIRS = 8, KB_REPEAT_PAIRS_GPU = 3 }; // of calls on the same inputs; timing repeats more on a GPU
enum { KB_REPEAT_MANY = 256 }; // single calls behind them, where the module keeps anything between calls

// What pairs do in turn. FRESH: new inputs, poisoned outputs. TOUCHED: a 64th of these inputs new, in place, outputs
// and scratch as the pair before left them. STALE: new inputs, outputs and scratch as before.
enum kb_repeat_kind { KB_REPEAT_FRESH, KB_REPEAT_TOUCHED, KB_REPEAT_STALE, KB_REPEAT_KINDS };
enum kb_repeat_kind kb_repeat_kind(int pair);

struct kb_repeat {
    struct kb_case_data *c; // of the last calls: the one asked for, or the smallest
    struct kb_set *set;     // likewise
    int calls;              // made
    bool many;              // the last calls were single ones, all on the same inputs
    int pairs, differing;   // pairs of calls on the same inputs; those that differ bitwise
    struct kb_trial last;   // the one that failed, else the last one; to be freed
};
// Pairs of calls on the case, and with `many` the single calls behind them, where the module keeps anything.
// trial.pass of `last` says whether all were right; its reason begins with which call failed. -1 only where the calls
// could not be made at all.
int kb_repeat_run(struct kb_data *, struct kb_case_data *, const struct kb_variant *, const cJSON *compiled,
                  const struct kb_image *, const struct kb_plan *, bool many, struct kb_repeat *, struct kb_error *);

#endif
