// Operations on buffers of a device: filling, poisoning, hashing, comparing. Two ways with bit-identical results: the
// kernels of element.cu, or C loops over the memory of the CPU device.
#ifndef KB_VERIFY_OPS_H
#define KB_VERIFY_OPS_H
#include "jit/device.h"
#include "verify/element_compare.h"
#include "verify/element_fill.h"

#include <stdbool.h>

enum kb_op {
    KB_OP_FILL,
    KB_OP_POISON,
    KB_OP_DISTURB,
    KB_OP_MASK,
    KB_OP_COPY,
    KB_OP_WIDEN,
    KB_OP_GUARD_FILL,
    KB_OP_GUARD_CHECK,
    KB_OP_HASH,
    KB_OP_INSPECT,
    KB_OP_GROUP_SCALE,
    KB_OP_PROBE,
    KB_OP_MOVED,
    KB_OP_LEVEL,
    KB_OP_COMPARE,
    KB_OP_MAP,
    KB_OPS_COUNT
};
struct kb_ops {
    struct kb_device *device;
    bool kernels;             // launch kernels; else loops
    struct kb_module *module; // of element.cu; NULL with loops
    struct kb_kernel *kernel[KB_OPS_COUNT];
    struct kb_buffer results; // where kernels leave partial results
};
// image: element.cu compiled for the device (see kb_device.wants_ptx). Loops are used where memory is the host's,
// unless force_kernels; image may be NULL then.
int kb_ops_open(struct kb_device *, const void *image, size_t bytes, bool force_kernels, struct kb_ops *,
                struct kb_error *);
void kb_ops_close(struct kb_ops *);

// n: elements. All wait for the device only where they return a result.
int kb_op_fill(struct kb_ops *, const struct kb_buffer *to, uint64_t n, const struct kbe_fill *, struct kb_error *);
int kb_op_poison(struct kb_ops *, const struct kb_buffer *to, uint64_t n, enum kb_dtype, int pattern,
                 struct kb_error *);
// Twice with the same keys: as before.
int kb_op_mask(struct kb_ops *, const struct kb_buffer *, uint64_t key, uint64_t second, struct kb_error *);
// Any memory of the device that kernels can reach.
int kb_op_copy(struct kb_ops *, uint64_t to, uint64_t from, uint64_t bytes, struct kb_error *);
int kb_op_disturb(struct kb_ops *, const struct kbe_disturb *, struct kb_error *);
int kb_op_widen(struct kb_ops *, const struct kb_buffer *from, enum kb_dtype, const struct kb_buffer *to, uint64_t n,
                struct kb_error *); // to doubles
int kb_op_hash(struct kb_ops *, const struct kb_buffer *, uint64_t *hash, struct kb_error *);

// All of the allocation that lies outside of the buffer's bytes is its guard.
struct kb_guard_report {
    uint64_t changed; // bytes
    int64_t first;    // of the changed ones: offset from the buffer's start; before it negative
};
int kb_op_guard_fill(struct kb_ops *, const struct kb_buffer *, struct kb_error *);
int kb_op_guard_check(struct kb_ops *, const struct kb_buffer *, struct kb_guard_report *, struct kb_error *);

struct kb_inspection {                   // of the outputs of two runs that began with poison 0 and poison 1
    uint64_t unwritten, first_unwritten; // index KBE_NO_INDEX if there is none
    uint64_t differ, first_differ;       // written, with other bits in the other run
};
int kb_op_inspect(struct kb_ops *, const struct kb_buffer *a, const struct kb_buffer *b, uint64_t n, enum kb_dtype,
                  struct kb_inspection *, struct kb_error *);

// Elements of one buffer that still hold the poison of `pattern`.
int kb_op_count_poison(struct kb_ops *, const struct kb_buffer *, uint64_t n, enum kb_dtype, int pattern,
                       uint64_t *count, uint64_t *first, struct kb_error *);

// Root mean square of each `group` consecutive elements of a reference (doubles) into scale (doubles, one a group).
int kb_op_group_scale(struct kb_ops *, const struct kb_buffer *ref, uint64_t n, uint64_t group,
                      const struct kb_buffer *scale, struct kb_error *);
// Inputs that moved by a little (verify/probe.h): a floating type's values from one buffer to another.
int kb_op_probe(struct kb_ops *, const struct kb_buffer *from, const struct kb_buffer *to, uint64_t n,
                const struct kbe_probe *, struct kb_error *);
// moved (doubles): the furthest that each element of a reference has moved, times the factor; integers in steps.
int kb_op_moved(struct kb_ops *, const struct kb_buffer *now, const struct kb_buffer *before,
                const struct kb_buffer *moved, uint64_t n, enum kb_dtype, double factor, struct kb_error *);
// Raises each element to its group's level (doubles, one a group).
int kb_op_level(struct kb_ops *, const struct kb_buffer *moved, uint64_t n, uint64_t group,
                const struct kb_buffer *levels, struct kb_error *);

struct kb_wanted { // what an output is compared with, in buffers; scale and condition NULL: none (see kbe_diff_of)
    const struct kb_buffer *ref, *scale, *condition;
};
int kb_op_compare(struct kb_ops *, const struct kb_buffer *out, const struct kb_wanted *, uint64_t n,
                  const struct kbe_rule *, struct kbe_part *, struct kb_error *);
// Wrong elements by cell; cells: KBE_MAP_ROWS * KBE_MAP_COLUMNS counters.
int kb_op_map(struct kb_ops *, const struct kb_buffer *out, const struct kb_wanted *, uint64_t n,
              const struct kbe_rule *, const struct kbe_map *, uint64_t *cells, struct kb_error *);

#endif
