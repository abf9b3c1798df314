// Findings of a version in the model: what the CPU device saw that is wrong, or may be.
#ifndef KB_LOOP_FINDINGS_H
#define KB_LOOP_FINDINGS_H
#include "loop/model.h"

void kb_findings_add(struct kb_model_version *, const struct kb_ev_findings *);
// Forgets those of the rungs from..to-1, which start again.
void kb_findings_drop(struct kb_model_version *, int from, int to);
bool kb_finding_warns(const struct kb_ev_finding *); // it fails nothing, though no entry of the bench accepts it
// "race at red.cu:10", and "race at helper.cuh:12, called at k.cu:40" where the line is a helper's; owned by the
// caller.
char *kb_finding_place(const struct kb_ev_finding *);

#endif
