// For the tests of the CPU device: NVRTC where there is one, a device with named buffers, and launches that must work.
#ifndef KB_TESTS_SUPPORT_CPU_H
#define KB_TESTS_SUPPORT_CPU_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jit/device.h"

extern int (*const cpu_launch_check)(struct kb_kernel *, const struct kb_device_ops *, const struct kb_device_info *,
                                     const struct kb_launch_args *, struct kb_error *);

// PTX of a CUDA source by NVRTC (-lineinfo, compute_90 and the extra options); owned by the caller.
// NULL where there is no NVRTC. A source that does not compile fails the test with the log.
char *cuda_to_ptx(const char *source, const char *extra_option);
#define NEED_NVRTC(ptx)                                                                                                \
    if (!(ptx))                                                                                                        \
    skip()

struct cpu {
    struct kb_device *device;
    struct kb_module *module;
    struct kb_buffer buffers[16];
    int buffer_count;
    struct kb_error error;
};
void cpu_open(struct cpu *c, const char *check); // NULL: "bounds"
void cpu_close(struct cpu *c);
void cpu_load(struct cpu *c, const char *ptx);
void cpu_load_cuda(struct cpu *c, const char *source); // skips the test without NVRTC
// A buffer of n elements filled with `from` (or zeros). Returns its host memory.
void *cpu_buffer(struct cpu *c, const char *name, enum kb_dtype t, int64_t n, const void *from);
uint64_t cpu_address(const struct cpu *c, int buffer);

// Launches with the arguments behind it: each a pointer to its value, up to a NULL.
int cpu_try(struct cpu *c, const char *kernel, unsigned grid, unsigned block, unsigned shared, ...);
int cpu_try_args(struct cpu *c, const char *kernel, const int64_t grid[3], const int64_t block[3], unsigned shared,
                 bool cooperative, int count, const void *const *args);
#define cpu_run(c, ...)                                                                                                \
    do {                                                                                                               \
        if (cpu_try((c), __VA_ARGS__))                                                                                 \
            fail_msg("%s", kb_error_line(&(c)->error));                                                                \
    } while (0)

// A number of facts(), by a path such as "bytes.global_load"; fails the test if it is absent.
double cpu_fact(struct cpu *c, const char *path);
// The text of the first report of this kind, or NULL; owned by the caller.
char *cpu_report(struct cpu *c, const char *kind, int *line);

// Runs PTX statements on n triples of 64-bit values, one lane each. They find the inputs in %d0 %d1 %d2 (b64), %r0 ..
// (the low halves), %f0 .., %g0 .. (as f32, f64), %h0 .. (low 16 bits), and leave the result in %r9, %d9, %f9, %g9, %h9
// or %p9, as result ('r', 'd', 'f', 'g', 'h', 'p') says. Registers up to 30 and %p0 to %p9 are theirs.
void cpu_statements(struct cpu *c, const char *statements, char result, int n, const uint64_t *x, const uint64_t *y,
                    const uint64_t *z, uint64_t *out);

#endif
