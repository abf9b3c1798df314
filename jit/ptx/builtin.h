// What device code may call without the module holding it: printf, assert, malloc and free.
#ifndef KB_JIT_PTX_BUILTIN_H
#define KB_JIT_PTX_BUILTIN_H
#include "jit/ptx/run.h"

// Text of device printf, bounded; what did not fit is counted. Written to stdout at the launch's end.
struct ptx_output {
    char *text;
    size_t size, capacity;
    uint64_t cut; // calls whose text was dropped
};
void ptx_output_flush(struct ptx_output *);

struct ptx_heap { // memory NULL until a module calls malloc; lives as long as the device
    char *memory;
    size_t used;
    struct ptx_heap_block *blocks;
    size_t count, cap;
    struct ptx_allocation allocation;
};
void ptx_heap_open(struct ptx_heap *, struct ptx_space_table *);
void ptx_heap_close(struct ptx_heap *, struct ptx_space_table *);

#endif
