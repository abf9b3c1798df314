// A reference that is a command of the bench: a program, mostly a script, that reads the inputs of a case from .npy
// files and writes the results as .npy files (docs/bench.md, "A command"). It runs in the bench's folder, in a process
// group of its own, without input, with a time limit and bounded output; only while it is allowed (bench/permission.h),
// which is looked at before each run. Results are kept in the cache folder by what was run and the inputs' hashes.
#ifndef KB_VERIFY_COMMAND_H
#define KB_VERIFY_COMMAND_H
#include "verify/data.h"

enum { KB_COMMAND_OUTPUT_BYTES = 1 << 20 }; // that it may print

// The results of a set whose inputs are there. -1: the error says what went wrong with it and what to do;
// d->command.stopped tells that it was ended from outside.
int kb_command_reference(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);

#endif
