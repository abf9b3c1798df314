// State beside the registers: asynchronous copies of a warp, and what a full check remembers of a block.
#ifndef KB_JIT_PTX_ASYNC_H
#define KB_JIT_PTX_ASYNC_H
#include "jit/ptx/run.h"

void ptx_async_reset(struct ptx_warp *);
void ptx_async_free(struct ptx_async *);
void ptx_async_finish(struct ptx_warp *, uint32_t mask); // does all pending copies of these lanes

struct ptx_bulk;
void ptx_bulk_free(struct ptx_bulk *);
void ptx_bulk_end(struct ptx_cta *); // the block ends: copies to global memory that nobody waited for are done now
void ptx_bulk_wait(struct ptx_cta *, const uint64_t *barrier); // does the copies that this barrier object waits for
// mbarrier.c: the object at an address of shared memory, NULL after a fault; `bytes` awaited bytes have come.
uint64_t *ptx_mbarrier_at(struct ptx_warp *, const struct ptx_op *, uint32_t lane, uint64_t address);
void ptx_mbarrier_complete(uint64_t *object, uint32_t bytes);

void ptx_shadow_reset(struct ptx_cta *);
void ptx_shadow_free(struct ptx_shadow *);
void ptx_shadow_open(struct ptx_cta *); // before its first use
// What orders accesses (order.c). A barrier of the block was completed; lanes came to one of some of its warps, passed
// it, and all have; lanes have met in a warp operation; lanes fenced.
void ptx_shadow_barrier(struct ptx_cta *);
void ptx_shadow_arrive(struct ptx_warp *, uint32_t mask, uint32_t number);
void ptx_shadow_passed(struct ptx_warp *, uint32_t mask, uint32_t number);
void ptx_shadow_met(struct ptx_cta *, uint32_t number);
void ptx_shadow_warp_sync(struct ptx_warp *);
void ptx_shadow_fence(struct ptx_warp *, const struct ptx_op *, uint32_t mask);
// A barrier object: the lane arrives at it, or sees that a phase of it is over. A copy of this thread of the block is
// done: the bytes have come, and the object knows.
void ptx_shadow_signal(struct ptx_warp *, uint32_t lane, const void *object);
void ptx_shadow_observe(struct ptx_warp *, uint32_t lane, const void *object);
void ptx_shadow_copied(struct ptx_cta *, uint32_t thread, const void *host, uint32_t bytes);
void ptx_shadow_copy_done(struct ptx_cta *, uint32_t thread, const void *object);
void ptx_shadow_local(struct ptx_warp *, uint32_t lane, uint64_t offset, uint64_t bytes); // written from outside
void ptx_shadow_end(const struct ptx_space_table *); // forgets what a launch did to global memory
void ptx_shadow_forget_flags(struct ptx_launch *);

#endif
