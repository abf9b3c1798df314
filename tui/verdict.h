// What the results say, as words and styled lines: pure functions of the model.
#ifndef KB_TUI_VERDICT_H
#define KB_TUI_VERDICT_H
#include "loop/model.h"
#include "tui/line.h"

enum kb_outcome {
    KB_OUTCOME_WAITING, // nothing was built yet
    KB_OUTCOME_MISSING, // its file cannot be read
    KB_OUTCOME_RUNNING, // some rung is still to come
    KB_OUTCOME_COMPILE_ERROR,
    KB_OUTCOME_REFUSED, // check failed: it cannot be launched like this
    KB_OUTCOME_CRASHED, // run ended without a comparison: an illegal address, a lost worker
    KB_OUTCOME_HUNG,    // a deadline passed
    KB_OUTCOME_WRONG,
    KB_OUTCOME_RACE, // found by the CPU device, whatever came out
    KB_OUTCOME_UNINITIALISED,
    KB_OUTCOME_DIVERGENT,
    KB_OUTCOME_REFERENCE, // not this version: the reference has no result to compare with
    KB_OUTCOME_FAILED,    // any other rung
    KB_OUTCOME_GUESSED,   // a guessed bench does not fit it: no verdict
    KB_OUTCOME_IMPOSSIBLE,
    KB_OUTCOME_BUILT,      // compiled; there is no device to run it
    KB_OUTCOME_UNVERIFIED, // nothing failed, nothing was compared, no time
    KB_OUTCOME_RIGHT,      // right, and no time: on a CPU
    KB_OUTCOME_TIMED,      // right and timed, nothing to compare with
    KB_OUTCOME_FASTER,
    KB_OUTCOME_SLOWER,
    KB_OUTCOME_SAME,
    KB_OUTCOME_UNSURE,
    KB_OUTCOME_SAME_CODE, // the same machine code: whatever was measured is noise
    KB_OUTCOMES
};

// What is looked at. version NULL: the variant has none.
struct kb_subject {
    const struct kb_model *model;
    int variant, case_index; // case_index: whose numbers are shown
    const struct kb_model_version *version;
    int64_t now_ms; // session time
};
enum kb_outcome kb_outcome_of(const struct kb_subject *);
const char *kb_outcome_word(enum kb_outcome);
enum kb_style kb_outcome_badge(enum kb_outcome);
enum kb_style kb_outcome_style(enum kb_outcome);
bool kb_outcome_good(enum kb_outcome); // may show a speed

// The newest version of the variant that passed and is possible; NULL if none.
const struct kb_model_version *kb_last_good(const struct kb_model *, int variant);
int kb_first_bad_case(const struct kb_model *, const struct kb_model_version *); // -1 if none
// Median of a case, cold, of a version that may show a speed; NAN else.
double kb_speed_us(const struct kb_model *, const struct kb_model_version *, int case_index);
// The first rung that failed, -1 if none.
int kb_failed_rung(const struct kb_model_version *);
// The first that failed perhaps since its bench is guessed, -1 if none.
int kb_doubted_rung(const struct kb_model_version *);
// The first with severity error; NULL if none, or for NULL.
const struct kb_ev_message *kb_first_error(const struct kb_ev_errors *);
// "y[3,1020]: got 0.125, want 0.0313", or what else is wrong with an output; "" if nothing.
void kb_explain_output(struct kb_text *, const struct kb_ev_output *);

void kb_ladder_line(struct kb_line *, const struct kb_subject *, int width); // as much as width columns take
void kb_verdict_line(struct kb_line *, const struct kb_subject *);

#endif
