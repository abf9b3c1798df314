// What a module keeps from launch to launch: the memory of its variables, whatever they are called. How it was when the
// module was loaded, whether a kernel has written to it since, and how it gets there again.
#ifndef KB_VERIFY_HOLD_H
#define KB_VERIFY_HOLD_H
#include "verify/ops.h"
#include "verify/program.h"

struct kb_hold_piece { // of the module's memory
    struct kb_buffer memory;
    uint64_t hash;  // as loaded
    uint64_t saved; // address of a copy of that, 0: none is kept
    bool constant, written;
};
struct kb_hold {
    struct kb_ops *ops;
    struct kb_hold_piece *pieces;
    int count;
    struct kb_buffer copies;
    bool written; // one piece at least
    bool whole;   // no variable is missing
};

// Of a program that was just loaded and never launched. copies: so that it can be restored. Waits for the device where
// there is memory at all. Nothing to close on failure.
int kb_hold_open(struct kb_ops *, const struct kb_program *, bool copies, struct kb_hold *, struct kb_error *);
void kb_hold_close(struct kb_hold *);
// Looks again which pieces have another content than at first, and keeps them in mind: `written` stays true. Waits.
int kb_hold_look(struct kb_hold *, struct kb_error *);
// Everything that was seen to be written as it was when loaded; enqueued.
int kb_hold_restore(struct kb_hold *, struct kb_error *);

bool kb_hold_constant_written(const struct kb_hold *); // which no right kernel does

#endif
