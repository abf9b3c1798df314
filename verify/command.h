// A reference that is a command of the bench: a program, mostly a script, that reads the inputs of a case from .npy
// files and writes the results as .npy files (docs/bench.md, "A command"). It runs in the bench's folder, in a process
// group of its own, without input, with a time limit and bounded output; only while it is allowed (bench/permission.h),
// which is looked at before each run. Results are kept in the cache folder by what was run and the inputs' hashes.
#ifndef KB_VERIFY_COMMAND_H
#define KB_VERIFY_COMMAND_H
#include "verify/data.h"

enum { KB_COMMAND_OUTPUT_BYTES = 1 << 20 }; // that it may print

struct kb_program_line { // what is run, and who runs it
    char *const *argv;
    int timeout_s;
    const char *name; // for messages: "reference.command"
};

// The results of a set whose inputs are there. -1: the error says what went wrong with it and what to do;
// d->command.stopped tells that it was ended from outside.
int kb_command_reference(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);

// A variant that is a command: it times itself and prints lines {"us": 34.1, "what": "torch 2.5"}; the last one counts.
// Outputs that it writes are compared with the set's reference as a kernel's are.
struct kb_reported {
    double us;
    char what[200]; // in its own words, cleaned; "" if it says nothing
    bool compared, right;
    char reason[400]; // why it was not compared, or what is wrong
};
int kb_command_report(struct kb_data *, struct kb_case_data *, struct kb_set *, const struct kb_program_line *,
                      struct kb_reported *, struct kb_error *);

#endif
