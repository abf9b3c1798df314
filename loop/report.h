// The --once table for people, made from the model.
#ifndef KB_LOOP_REPORT_H
#define KB_LOOP_REPORT_H
#include "base/text.h"
#include "loop/model.h"

#include <stdbool.h>

// Appends the whole report to out: what was measured on what, one line a variant, then failures with their first
// errors, then notes (what does not apply here and why). ascii: nothing above 0x7e is used.
void kb_report_table(const struct kb_model *, bool ascii, struct kb_text *out);

#endif
