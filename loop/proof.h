// What a verdict does not stand on: cases that ran in a smaller size or not at all, rungs that could not be done,
// inputs that could not be tried. And how near to its bound what passed is.
#ifndef KB_LOOP_PROOF_H
#define KB_LOOP_PROOF_H
#include "loop/model.h"

// Of a version that passed, weightiest first; of others and of NULL there are no gaps. Owned: kb_proof_free. kind is
// "not proven" (what: a rung), "not run" (a case) or "not tried" (inputs); one that fails: with --require-proof the
// exit code is 1.
struct kb_ev_proof kb_proof_of(const struct kb_model *, const struct kb_model_version *);
void kb_proof_free(struct kb_ev_proof *);
char *kb_gap_text(const struct kb_ev_gap *); // "NOT RUN: 4096 x 4096 (64 rows were)"; owned by the caller

// How much of its bound the worst output of a case uses, 0 to 1 where it passes; NAN where nothing was compared or the
// bound is no distance, with the reason (reason may be NULL).
double kb_margin_of(const struct kb_model_version *, int case_index, const char **reason);
// Of all cases; NAN if none has one.
double kb_worst_margin(const struct kb_model *, const struct kb_model_version *);

// "7 of 8 seeds passed; seed 123 fails first: ...", "seed 99, which failed before, passed": what further seeds showed,
// a line each; owned by the caller. NULL: there were none.
char *kb_seeds_text(const struct kb_model_version *);
// {tried, passed, failed, first_failed, list:[{seed, status, reason, margin, again}]}; owned by the caller. NULL as
// above.
cJSON *kb_seeds_document(const struct kb_model_version *);

// The reason of a rung `races` that does not apply because the rungs before it watched for races themselves.
#define KB_WATCHED_ALREADY "run and verify watched for them already (--check full)"

#endif
