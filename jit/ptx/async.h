// State beside the registers: asynchronous copies of a warp, and what a full check remembers of a block.
#ifndef KB_JIT_PTX_ASYNC_H
#define KB_JIT_PTX_ASYNC_H
#include "jit/ptx/run.h"

void ptx_async_reset(struct ptx_warp *);
void ptx_async_free(struct ptx_async *);
void ptx_async_finish(struct ptx_warp *, uint32_t mask); // does all pending copies of these lanes
void ptx_shadow_reset(struct ptx_cta *);
void ptx_shadow_free(struct ptx_shadow *);
void ptx_shadow_barrier(struct ptx_cta *);                // a barrier of the block was completed
void ptx_shadow_warp_sync(struct ptx_warp *);             // lanes have met in a warp operation
void ptx_shadow_strong(struct ptx_warp *, uint32_t mask); // these lanes did a strong access or fence
void ptx_shadow_local(struct ptx_warp *, uint32_t lane, uint64_t offset, uint64_t bytes); // written from outside
void ptx_shadow_end(const struct ptx_space_table *); // forgets what a launch did to global memory

#endif
