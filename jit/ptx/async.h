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
void ptx_shadow_barrier(struct ptx_cta *);                // a barrier of the block was completed
void ptx_shadow_warp_sync(struct ptx_warp *);             // lanes have met in a warp operation
void ptx_shadow_strong(struct ptx_warp *, uint32_t mask); // these lanes did a strong access or fence
void ptx_shadow_local(struct ptx_warp *, uint32_t lane, uint64_t offset, uint64_t bytes); // written from outside
void ptx_shadow_end(const struct ptx_space_table *); // forgets what a launch did to global memory

#endif
