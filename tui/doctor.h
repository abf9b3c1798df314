// `kbench-tui doctor`: asks the worker what it finds on this machine, and prints it for people.
#ifndef KB_TUI_DOCTOR_H
#define KB_TUI_DOCTOR_H
#include "tui/options.h"

// Exit code: 0 if kernels can be compiled and run on a GPU or the CPU, 3 if the worker or every compiler is missing.
int kb_run_doctor_report(const struct kb_options *);

#endif
