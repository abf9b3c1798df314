// A variant's compiled kernels on the device, and what a case makes of its launches.
#ifndef KB_VERIFY_PROGRAM_H
#define KB_VERIFY_PROGRAM_H
#include "jit/device.h"

struct kb_image { // owned; a NUL stands behind the PTX
    char *ptx, *cubin;
    size_t ptx_bytes, cubin_bytes;
};
void kb_image_set(struct kb_image *, const char *ptx, size_t ptx_bytes, const char *cubin, size_t cubin_bytes);
void kb_image_free(struct kb_image *);
// What the device wants to load; NULL with the error if it is not there.
const void *kb_image_for(const struct kb_image *, const struct kb_device *, size_t *bytes, struct kb_error *);

// Whether its PTX uses the heap, or variables in global memory that are not named as strings and tables of the toolkit:
// what a kernel can keep from one launch to the next, apart from the buffers that it is given. True where there is no
// PTX to tell.
bool kb_image_has_globals(const struct kb_image *);

struct kb_program {
    struct kb_device *device; // NULL: nothing loaded
    struct kb_module *module;
    struct kb_kernel **kernels; // one for each launch of the variant
    int launch_count;
};
// compiled: `kernels` of a `compiled` frame, which maps names as written to symbols. A fresh module: fresh globals.
int kb_program_load(struct kb_device *, const struct kb_variant *, const cJSON *compiled, const struct kb_image *,
                    struct kb_program *, struct kb_error *);
void kb_program_unload(struct kb_program *);
// The entry of compiled for a launch's kernel; the error lists what there is.
const cJSON *kb_program_compiled(const cJSON *compiled, const char *kernel, struct kb_error *);

struct kb_plan_launch {
    struct kb_dims dims;
    int arg_count;
    int *args; // indices into bench.args, in parameter order
};
struct kb_plan { // the launches of a variant for one case
    struct kb_plan_launch *launches;
    int launch_count;
    uint64_t *scalars; // encoded, by argument of the bench; 0 for buffers
};
int kb_plan_make(const struct kb_bench *, int case_index, bool on_cpu, const struct kb_variant *, struct kb_plan *,
                 struct kb_error *);
void kb_plan_free(struct kb_plan *);

// Enqueues one launch of the plan. addresses: by argument of the bench. The error's `on` is the kernel.
int kb_plan_launch_one(const struct kb_program *, const struct kb_plan *, const struct kb_variant *,
                       const struct kb_bench *, const uint64_t *addresses, int launch, struct kb_error *);
int kb_plan_launch_all(const struct kb_program *, const struct kb_plan *, const struct kb_variant *,
                       const struct kb_bench *, const uint64_t *addresses, struct kb_error *);

// Parameters that the compiled kernel declares against what the launch passes: "kernel wants 3 (8,8,4 bytes), set-up
// gives 2 (8,4)". Unknown parameter lists pass.
int kb_plan_check_arguments(const struct kb_kernel_info *, const struct kb_plan_launch *, const struct kb_bench *,
                            struct kb_error *);
// The launch as the device takes it, without argument values.
struct kb_launch_args kb_plan_shape(const struct kb_plan_launch *);

#endif
