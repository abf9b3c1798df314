// State beside the registers: asynchronous copies of a warp, and what a full check remembers of a block.
#ifndef KB_JIT_PTX_ASYNC_H
#define KB_JIT_PTX_ASYNC_H
#include "jit/ptx/run.h"

void ptx_async_reset(struct ptx_warp *);
void ptx_async_free(struct ptx_async *);
void ptx_async_finish(struct ptx_warp *, uint32_t mask); // does all pending copies of these lanes
void ptx_shadow_reset(struct ptx_cta *);
void ptx_shadow_free(struct ptx_shadow *);

#endif
