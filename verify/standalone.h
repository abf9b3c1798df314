// A failing case as one .cu file with a main(): the kernel's own source included, the same inputs bit by bit, poisoned
// outputs between guard zones, and what the reference wants round the first wrong element. For a debugger, or for
// somebody who has nothing but nvcc.
//
// Inputs come from the generator of verify/element.h, whose text is in the file; those that no generator makes (a .npy,
// the inputs of verify/stress.h) stand there as numbers. Without a reference it looks for what was never written, for
// writes beside the arrays and into inputs.
#ifndef KB_VERIFY_STANDALONE_H
#define KB_VERIFY_STANDALONE_H
#include "verify/trial.h"

enum { KB_STANDALONE_DATA_BYTES = 4 << 20, KB_STANDALONE_WINDOW = 1024 }; // most inputs as numbers; elements compared

struct kb_standalone {
    const struct kb_variant *variant;
    const struct kb_plan *plan;
    const char *reason; // what failed, one line
    const char *inputs; // their name where verify added them, else NULL
    int calls;          // of the kernel in a row, at least 1
    bool same;          // all of them on the inputs of the set; else as verify/repeat.h has it
    int arg;            // the output to look at
    uint64_t first;     // its first wrong element
};
// The file's text; owned by the caller. set: filled, with its reference if there is one. NULL if inputs that no
// generator makes are too many bytes, or the device failed.
char *kb_standalone_text(struct kb_data *, struct kb_case_data *, struct kb_set *, const struct kb_standalone *,
                         struct kb_error *);

#endif
