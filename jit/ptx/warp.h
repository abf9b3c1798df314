// One warp at work: which of its lanes run next, and what happens at the end of a basic block.
#ifndef KB_JIT_PTX_WARP_H
#define KB_JIT_PTX_WARP_H
#include "jit/ptx/run.h"

enum ptx_warp_state { PTX_WARP_DONE, PTX_WARP_BLOCKED, PTX_WARP_READY };

// Runs until the warp ends, waits, or has spent about `quantum` instructions.
enum ptx_warp_state ptx_run_warp(struct ptx_warp *w, int64_t quantum);
void ptx_start_warp(struct ptx_warp *w, const struct ptx_program *p);

struct ptx_frame *ptx_new_frame(struct ptx_thread *t, const struct ptx_program *p);
void ptx_drop_frame(struct ptx_thread *t, struct ptx_frame *f);

// meet.c. Whether the group s, now the current one, may run the `.sync` operation that it stands at. Lanes of the group
// whose partners are not here become a group of their own. False if it waits, or ran the operation together with lanes
// of other groups and stands behind it, or after a fault.
bool ptx_meet(struct ptx_warp *w, struct ptx_split *s);
void ptx_lanes_look_again(struct ptx_warp *w); // whoever waits for lanes
// Those of `rest` that share the member mask of its first lane. seen: masks so far; begins as 0.
uint32_t ptx_next_members(struct ptx_warp *w, const struct ptx_split *s, uint32_t rest, uint32_t *seen);
void ptx_report_unmet(struct ptx_warp *w, const struct ptx_split *s);

// spin.c. After a turn of the warp: whether it still gets on. Ends the launch where it cannot.
void ptx_watch_warp(struct ptx_warp *w);
// Whether nobody in the block gets on while memory stays as it is; 0, or the version of memory + 1.
uint64_t ptx_block_stuck(const struct ptx_cta *cta);
void ptx_report_stuck(struct ptx_cta *cta);
void ptx_report_endless(struct ptx_warp *w, const char *why);

// barrier.c
void ptx_barrier_arrive(struct ptx_warp *w, struct ptx_split *s, const struct ptx_block *b);
void ptx_lanes_left(struct ptx_cta *cta, struct ptx_warp *w, uint32_t lanes);
void ptx_report_deadlock(struct ptx_cta *cta);

#endif
