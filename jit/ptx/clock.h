// Time as a kernel sees it. It is not the host's: each warp has a count of cycles that follows from what it executed,
// so that %clock, %globaltimer and nanosleep are reproducible and look as on a GPU: an instruction takes some cycles, a
// load from global memory some hundred, no two readings are alike. A kernel that asks where it runs learns nothing, so
// what the CPU device watches is what a GPU runs.
#ifndef KB_JIT_PTX_CLOCK_H
#define KB_JIT_PTX_CLOCK_H
#include "jit/ptx/run.h"

// The kernels' time of a device: cycles that its launches took so far, and the key of its random streams.
struct ptx_clock {
    uint64_t seed, cycles, key, launches;
};
// Before a launch: sets its fields. Another seed than that of the launch before starts anew.
void ptx_clock_launch(struct ptx_clock *, uint64_t seed, struct ptx_launch *);
void ptx_clock_done(struct ptx_clock *, const struct ptx_launch *);

// What the operations of a block take; called once a block, when it is laid out.
uint32_t ptx_block_cycles(const struct ptx_op *ops, uint32_t count);

void ptx_clock_start(struct ptx_warp *); // the warp of a block that begins
void ptx_clock_end(struct ptx_warp *);   // its last lane has ended
// Before and behind an access through which blocks may learn of each other: none sees an earlier time than was told.
void ptx_clock_meet(struct ptx_warp *);

#endif
