// A device that runs kernels: one table of functions, two backends: the CUDA driver (jit/device_cuda.c) and PTX
// executed on the CPU (jit/ptx/). Single-threaded use; one device a process.
//
// Every function that can fail returns 0 or -1 with the error filled. After KB_FAULT_POISONED (illegal address, assert,
// launch failure, ...) the context is lost: every later call fails, and the process must be replaced.
#ifndef KB_JIT_DEVICE_H
#define KB_JIT_DEVICE_H
#include "base/error.h"
#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_device;
struct kb_module;
struct kb_kernel;

enum kb_device_kind { KB_DEVICE_CUDA, KB_DEVICE_CPU };

struct kb_device_info { // 0 or "" where it is unknown or has no meaning
    enum kb_device_kind kind;
    char name[128];
    char arch[16]; // "sm_90"; for the CPU device that of the GPU it stands in for (--like)
    char uuid[64]; // "GPU-…"
    char driver[32], driver_library[256];
    int index;
    int sm_count, max_threads_per_sm, max_blocks_per_sm, warp_size;
    int registers_per_sm, registers_per_block, max_threads_per_block;
    int max_grid[3], max_block[3];
    size_t shared_per_sm, shared_per_block, shared_per_block_optin, shared_reserved_per_block;
    size_t memory_bytes, l2_bytes, persisting_l2_bytes;
    int clock_khz, memory_clock_khz, memory_bus_bits;
    bool cooperative_launch, exclusive_process, integrated;
    int mps; // 1 if an MPS server is in use
};

struct kb_device_fault { // what the last failed call meant for the device
    enum { KB_FAULT_NONE, KB_FAULT_REFUSED, KB_FAULT_POISONED, KB_FAULT_LOST, KB_FAULT_MEMORY } kind;
    int code;      // CUresult, or 0
    char name[64]; // "CUDA_ERROR_ILLEGAL_ADDRESS"
};

// A buffer with guard zones of guard_bytes before and behind `bytes` (both filled by verify/, not here). `address` is
// what a kernel gets; 256-byte aligned (plus misalign). name, dtype, shape serve the CPU device's reports.
struct kb_buffer {
    uint64_t address;
    size_t bytes, guard_bytes;
    void *host;    // the same memory for the host, on the CPU device; NULL on a GPU
    uint64_t base; // start of the allocation, guard included
    size_t total;
    bool apart; // nothing is mapped before and behind it: who leaves it is stopped by the hardware
};
struct kb_buffer_spec {
    size_t bytes, guard_bytes;
    size_t misalign;  // shifts `address` by so many bytes past the 256-byte boundary (a multiple of the element size)
    const char *name; // may be NULL
    enum kb_dtype dtype;
    int ndim;
    int64_t shape[KB_MAX_DIMS];
    bool read_only; // kernels must not write to it; the CPU device refuses that, a GPU cannot
};

// Memory that a module keeps from launch to launch. Neighbouring variables are one piece; starts are 8-byte aligned.
struct kb_module_memory {
    uint64_t address;
    size_t bytes;
    bool constant; // __constant__ memory
};

enum { KB_MAX_PARAMS = 128 };
struct kb_kernel_info {
    char name[256];             // lowered
    int registers, max_threads; // registers 0 on the CPU device
    size_t static_shared, local_bytes, const_bytes;
    int max_dynamic_shared;
    int param_count; // -1 if unknown
    int param_offset[KB_MAX_PARAMS], param_bytes[KB_MAX_PARAMS];
    int cluster_required;
};

struct kb_launch_args {
    int64_t grid[3], block[3];
    size_t shared; // dynamic bytes; the backend opts in above the default limit
    bool cooperative;
    int arg_count;
    const void *const *args; // as cuLaunchKernel takes them: pointers to the values
};

struct kb_device_ops {
    int (*alloc)(struct kb_device *, const struct kb_buffer_spec *, struct kb_buffer *, struct kb_error *);
    void (*free)(struct kb_device *, struct kb_buffer *);
    int (*memory)(struct kb_device *, size_t *free_bytes, size_t *total_bytes, struct kb_error *);
    // Copies are ordered with launches; to_host returns when the bytes are there.
    int (*to_device)(struct kb_device *, uint64_t to, const void *from, size_t bytes, struct kb_error *);
    int (*to_host)(struct kb_device *, void *to, uint64_t from, size_t bytes, struct kb_error *);
    int (*copy)(struct kb_device *, uint64_t to, uint64_t from, size_t bytes, struct kb_error *);
    int (*fill)(struct kb_device *, uint64_t to, uint8_t byte, size_t bytes, struct kb_error *);
    // From now on these bytes of one buffer count as never written, whatever they hold, until a kernel or one of the
    // copies above writes them; the CPU device reports who reads them (check "full"). NULL where nobody would notice.
    int (*undefined)(struct kb_device *, uint64_t address, size_t bytes, struct kb_error *);
    // image: cubin or PTX text (NUL-terminated) as the backend wants it: see wants_ptx. Fresh globals at each load.
    int (*load)(struct kb_device *, const void *image, size_t bytes, struct kb_module **, struct kb_error *);
    void (*unload)(struct kb_device *, struct kb_module *);
    int (*symbol)(struct kb_module *, const char *lowered_name, struct kb_kernel **,
                  struct kb_error *); // owned by module
    // Where a __device__ or __constant__ variable lies; may be written before launches of its module.
    int (*variable)(struct kb_module *, const char *name, uint64_t *address, size_t *bytes, struct kb_error *);
    // All variables of a module, whatever their names; owned by the module. *whole false: it has some that the driver
    // does not tell the place of.
    const struct kb_module_memory *(*module_memory)(struct kb_module *, int *count, bool *whole);
    void (*kernel_info)(const struct kb_kernel *, struct kb_kernel_info *);
    // Blocks of this shape resident on one multiprocessor; the occupancy calculator of the driver or of --like.
    int (*occupancy)(struct kb_kernel *, int block_threads, size_t dynamic_shared, int *blocks, struct kb_error *);
    // Refuses what exceeds limits with one sentence that holds the numbers (KB_FAULT_REFUSED), before the driver is
    // asked.
    int (*launch)(struct kb_kernel *, const struct kb_launch_args *, struct kb_error *);
    int (*sync)(struct kb_device *, struct kb_error *);
    // Events around what is launched in between, on the launch stream. NULL on the CPU device.
    int (*time_begin)(struct kb_device *, struct kb_error *);
    int (*time_end)(struct kb_device *, double *us, struct kb_error *); // waits
    // Evicts the L2 by writing twice its size and resets persisting lines; ordered with launches. NULL on the CPU
    // device.
    int (*flush)(struct kb_device *, struct kb_error *);
    // Counts and reports of the last launch (docs/protocol.md, "facts"); NULL where the backend has none. Owned by
    // caller.
    cJSON *(*facts)(struct kb_device *);
    void (*close)(struct kb_device *);
};

struct kb_device { // backends embed it as their first member
    const struct kb_device_ops *ops;
    struct kb_device_info info;
    struct kb_device_fault fault;
    bool wants_ptx;
    bool clock_counts;     // set by the caller, CPU device: %clock is the count of the warp's instructions, for traces
    uint64_t clock_seed;   // set by the caller, CPU device: of the clocks that kernels see; 0: of the request
    bool (*stops)(void *); // CPU device, set by the caller: asked while a launch runs, true ends it; may be NULL
    void *stops_context;
    bool stopped;      // a launch was ended so; the caller resets it
    uint64_t executed; // instructions of warps in all launches so far, where the device counts them; else 0
};

struct kb_device_request {
    const char *kind; // "auto", "cpu", "cuda", "cuda:N", "cuda:GPU-uuid"
    const char *like; // CPU: a name of profiles/devices/ whose limits apply, with its values in like_info; may be NULL
    const struct kb_device_info *like_info;
    const char *check; // CPU: "off", "bounds" or "full"; NULL: "bounds"
    uint64_t seed;     // CPU: order in which blocks start, another one at each launch; 0: in place
};
// "auto" takes the CPU only if there is no driver or no GPU; a busy GPU, an old driver or an unsupported architecture
// is an error that names --device cpu.
int kb_device_open(const struct kb_device_request *, struct kb_device **, struct kb_error *);
int kb_device_open_cuda(const struct kb_device_request *, struct kb_device **, bool *absent, struct kb_error *);
int kb_device_open_cpu(const struct kb_device_request *, struct kb_device **, struct kb_error *);
// The driver's context (a CUcontext), for CUPTI; NULL on the CPU device.
void *kb_device_context(struct kb_device *);
// Why the last open of this thread failed, in the code words of hello.failed: "no_device", "busy", "old_driver",
// "unsupported" or "internal". Static text.
const char *kb_device_failure(void);
void kb_device_set_failure(const char *code); // for the backends

// The checks of a launch against limits, shared by both backends: zero or too large dimensions, threads, registers
// ("255 registers x 512 threads = 130,560 > 65,536"), static + dynamic shared memory, cooperative grids (occupancy).
int kb_launch_check(struct kb_kernel *, const struct kb_device_ops *, const struct kb_device_info *,
                    const struct kb_launch_args *, struct kb_error *);

#endif
