// What stands behind the verdict's numbers: other timed cases, classes of instructions, and what makes it doubtful.
#ifndef KB_TUI_VERDICT_NOTES_H
#define KB_TUI_VERDICT_NOTES_H
#include "tui/verdict.h"

// "37 x 1023 SLOWER +4.2%": the timed cases whose verdict is another than that of the case shown; if all agree, how
// many they are.
void kb_note_cases(struct kb_line *, const struct kb_subject *);
// "LDG.128 +12, FFMA -64": the largest changes against this version, where both have machine code.
void kb_note_classes(struct kb_line *, const struct kb_subject *, const struct kb_model_version *baseline);
// "NOT RUN: 4096 x 4096 (64 rows were)   not proven: races": what a verdict that is good does not stand on.
void kb_note_gaps(struct kb_line *, const struct kb_subject *);
// Throttled clocks, other processes, drift, runs that differ, a bench that lets anything pass.
void kb_note_doubts(struct kb_line *, const struct kb_subject *);
// "2 runs differ bitwise (64 elements)": why a version is not reproducible; NULL if nothing says so. Valid as long as
// the model is.
const char *kb_differing_note(const struct kb_model *, const struct kb_model_version *);
// The first case whose bench lets outputs pass that compute nothing, and which; *label: of that case. NULL: none known.
const char *kb_weak_note(const struct kb_model *, const char **label);

#endif
