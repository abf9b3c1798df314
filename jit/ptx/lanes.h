// Tables of handlers by key; see lanes.inc.
#ifndef KB_JIT_PTX_LANES_H
#define KB_JIT_PTX_LANES_H
#include "jit/ptx/run.h"

struct ptx_handler_entry {
    const char *key;
    ptx_handler *run;
};
extern const struct ptx_handler_entry ptx_lanes_sse2[];
extern const struct ptx_handler_entry ptx_lanes_avx2[];
extern const struct ptx_handler_entry ptx_lanes_avx512[];
// The same on every instruction set: one table for each file that has some.
extern const struct ptx_handler_entry ptx_plain_handlers[];    // plain.c: packing, special registers, bit tricks
extern const struct ptx_handler_entry ptx_round_handlers[];    // rounding.c: directed rounding
extern const struct ptx_handler_entry ptx_convert_handlers[];  // convert.c
extern const struct ptx_handler_entry ptx_half_handlers[];     // half.c
extern const struct ptx_handler_entry ptx_warp_handlers[];     // shuffle.c
extern const struct ptx_handler_entry ptx_atomic_handlers[];   // atomic.c
extern const struct ptx_handler_entry ptx_tensor_handlers[];   // tensor.c
extern const struct ptx_handler_entry ptx_async_handlers[];    // async.c
extern const struct ptx_handler_entry ptx_mbarrier_handlers[]; // mbarrier.c
extern const struct ptx_handler_entry ptx_bulk_handlers[];     // bulk.c
extern const struct ptx_handler_entry ptx_video_handlers[];    // video.c
extern const struct ptx_handler_entry ptx_clock_handlers[];    // clock.c: %clock and its like, nanosleep
extern const struct ptx_handler_entry ptx_builtin_handlers[];  // builtin.c: printf, assert, malloc

#endif
