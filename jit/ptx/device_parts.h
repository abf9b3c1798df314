// Inside of the CPU device: device.c is the table of jit/device.h, variables.c places what a module declares.
#ifndef KB_JIT_PTX_DEVICE_PARTS_H
#define KB_JIT_PTX_DEVICE_PARTS_H
#include "jit/ptx/builtin.h"
#include "jit/ptx/clock.h"
#include "jit/ptx/facts.h"
#include "jit/ptx/memory.h"

struct cpu_device {
    struct kb_device base;
    struct ptx_space_table space;
    struct ptx_heap heap;
    enum ptx_check check;
    uint64_t seed, launches, budget;
    struct ptx_clock clock;
    cJSON *facts;
    struct ptx_allocation workspace;
};

struct kb_kernel {
    struct kb_module *module;
    struct ptx_func *func;
    struct kb_kernel *next;
    size_t static_shared;
};

struct kb_module {
    struct cpu_device *device;
    struct ptx_module *ptx;
    struct kb_kernel *kernels;
    struct ptx_allocation **variables;
    uint32_t variable_count, variable_cap;
    struct kb_module_memory *memory; // the same for jit/device.h, once it was asked for
    uint32_t dynamic_at;             // where dynamic shared memory begins
};

// Memory of the module's global and constant variables, initialised; fails where one is declared only.
int ptx_place_variables(struct kb_module *m, struct kb_error *e);
// The same memory, a piece a variable (jit/device.h).
const struct kb_module_memory *ptx_module_memory(struct kb_module *m, int *count, bool *whole);
// Behind a launch under check "full": reports those that it read and that nobody ever wrote to.
void ptx_note_unset(struct ptx_launch *l, const struct kb_module *m);
// Addresses of all shared variables.
void ptx_place_shared(struct kb_module *m);
// Bytes of f's static shared variables as the hardware packs them.
size_t ptx_static_shared(const struct ptx_module *m, const struct ptx_func *f);

#endif
