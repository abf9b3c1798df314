// Check "full": words of memory by which threads hand on what they know (order.h).
#ifndef KB_JIT_PTX_FLAGS_H
#define KB_JIT_PTX_FLAGS_H
#include "jit/ptx/known.h"
#include "jit/ptx/run.h"

enum { PTX_LOCAL_CLOCKS = 8 }; // blocks whose own clocks stay at a word, the last ones

struct ptx_flag {
    uint64_t at;
    struct ptx_vector *device; // for all of the device
    struct {
        uint64_t block;
        struct ptx_vector *clock; // for threads of this block
    } local[PTX_LOCAL_CLOCKS];
    uint32_t next_local, writer; // writer: of the whole grid, UINT32_MAX if nobody yet
};
struct ptx_flags { // of a launch: open addressing
    struct ptx_flag *slots;
    uint32_t count, cap;
    uint64_t work; // entries of clocks that were joined so far
};

struct ptx_flags *ptx_flags_of(struct ptx_launch *);                   // made when it is needed first
struct ptx_flag *ptx_flag_find(const struct ptx_flags *, uint64_t at); // NULL if nothing was left there
struct ptx_flag *ptx_flag_add(struct ptx_flags *, uint64_t at);        // finds it or makes it; valid until the next one
void ptx_flag_empty(struct ptx_flag *);

#endif
