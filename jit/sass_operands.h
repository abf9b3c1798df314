// What the operands of one instruction say, for sass_normal.c.
#ifndef KB_JIT_SASS_OPERANDS_H
#define KB_JIT_SASS_OPERANDS_H
#include "jit/sass_normal.h"

enum { KB_SASS_REFS_MOST = 48, KB_SASS_TARGETS_MOST = 256 };
struct kb_sass_operands {
    uint64_t shape, constant;
    struct kb_sass_ref refs[KB_SASS_REFS_MOST];
    int ref_count;
    const char *targets[KB_SASS_TARGETS_MOST]; // names of labels, with their lengths; into the operands
    int target_lengths[KB_SASS_TARGETS_MOST];
    int target_count;
    int64_t address; // of a branch that names no label, -1
};
// address: its numbers are places in the code, and none of its meaning.
void kb_sass_read_operands(const struct kb_sass_instruction *, bool address, struct kb_sass_operands *);
bool kb_sass_branches(const struct kb_sass_instruction *); // goes elsewhere, or ends
bool kb_sass_always(const struct kb_sass_instruction *);   // does so whatever its operands hold

#endif
