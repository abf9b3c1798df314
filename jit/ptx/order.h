// Check "full": what each thread knows of what the others did (happens-before with scopes, PTX ISA "Memory Consistency
// Model"). Barriers and warp operations are kept as times by warp; what goes through memory, as vector clocks
// (clock.h).
//
// A strong store or atomic hands on what its thread had done before its last fence, to the block or to the device as
// far as fence and store reach; barriers carry the fences of others along. A strong load or atomic takes what lies
// there: of its own block at once, of another one when a fence of the device follows. Chains of atomics hand on what
// lies there already. Taken to order more than PTX says: any operation of a warp with a member mask, an acquire or
// release as if it were a fence, and everything that was meant to be seen once the clocks of a launch cost too much
// (MOST_WORK).
#ifndef KB_JIT_PTX_ORDER_H
#define KB_JIT_PTX_ORDER_H
#include "jit/ptx/memory.h"

enum ptx_ordered {
    PTX_ORDERED,
    PTX_SEEN_THROUGH_BARRIER, // seen, and a barrier of the block passed, but no fence of the device
    PTX_SEEN,                 // seen, but no fence
    PTX_UNORDERED,
};

// Thread numbers are those of the whole grid. What `thread` did at `time`, as the lane of w knows it.
enum ptx_ordered ptx_order_of(const struct ptx_warp *w, uint32_t lane, uint32_t thread, uint32_t time);
// The times up to which the warp knows the warps of its block.
const uint32_t *ptx_order_row(struct ptx_warp *w);
// A strong access: before it is made. x: host addresses.
void ptx_order_strong(struct ptx_warp *w, const struct ptx_op *o, const struct ptx_access *x);
// Whether the asynchronous proxy sees what a thread of the block did, when this lane starts a copy.
bool ptx_order_proxied(const struct ptx_warp *w, uint32_t lane, uint32_t thread, uint32_t time);
// The lane has seen a strong store of another block.
void ptx_order_saw(struct ptx_warp *w, uint32_t lane, uint32_t thread, uint32_t time, uint32_t loc);
// Where it saw one of that thread's after that time; 0: nowhere.
uint32_t ptx_order_saw_since(const struct ptx_warp *w, uint32_t lane, uint32_t thread, uint32_t time);

struct ptx_ordering *ptx_ordering_new(const struct ptx_launch *);
void ptx_ordering_reset(struct ptx_ordering *);
void ptx_ordering_free(struct ptx_ordering *);

#endif
