// Instructions without what the assembler chose: register numbers, addresses, labels, constant offsets, scheduling. Two
// instructions of one shape do the same if their registers are renamed consistently, which kb_sass_compare finds out.
#ifndef KB_JIT_SASS_NORMAL_H
#define KB_JIT_SASS_NORMAL_H
#include "jit/sass_parse.h"

// Registers of all kinds in one numbering.
enum {
    KB_SLOT_R = 0,
    KB_SLOT_UR = 256,
    KB_SLOT_P = 512,
    KB_SLOT_UP = 528,
    KB_SLOT_B = 544,
    KB_SLOTS = 576,
};
struct kb_sass_ref { // a register that an instruction names
    uint16_t slot;
    uint8_t width; // registers in a row, 1 for most
    bool defines;
};
struct kb_sass_block { // one way in, one way out
    int first, count;
    uint64_t key;                  // of its shapes
    int next;                      // the block behind it if control gets there, else -1
    bool calls;                    // its last instruction calls, and comes back with unknown registers
    int target_from, target_count; // into targets: other blocks that it goes to
};
struct kb_sass_normal {
    const struct kb_sass_kernel *kernel;
    uint64_t *shapes;    // by instruction
    uint64_t *constants; // which constant it reads, 0 for none; by instruction
    int *targets;        // instruction that it branches to, -1 for none; by instruction (of several the first)
    struct kb_sass_ref *refs;
    int *ref_from; // count + 1 entries: refs of instruction i are ref_from[i] up to ref_from[i + 1]
    int ref_count, ref_capacity;
    struct kb_sass_block *blocks;
    int block_count, block_capacity;
    int *block_of;      // by instruction
    int *block_targets; // blocks
    int block_target_count, block_target_capacity;
};
void kb_sass_normalise(const struct kb_sass_kernel *, struct kb_sass_normal *);
void kb_sass_normal_free(struct kb_sass_normal *);

#endif
