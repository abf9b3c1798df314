// Vector clocks, as far as threads know of each other: up to which time something that a thread, a warp or a block did
// is known. They never change once made; threads, blocks and flags in memory share them.
#ifndef KB_JIT_PTX_KNOWN_H
#define KB_JIT_PTX_KNOWN_H
#include <stdbool.h>
#include <stdint.h>

// Who: a block, a warp of it, or a lane of that. Sorted, what stands for more comes first.
#define PTX_WHO_BLOCK(block) ((uint64_t)(block) << 12)
#define PTX_WHO_WARP(block, warp) (PTX_WHO_BLOCK(block) | ((uint64_t)(warp) + 1) << 6)
#define PTX_WHO_LANE(block, warp, lane) (PTX_WHO_WARP(block, warp) | ((uint64_t)(lane) + 1))

struct ptx_known {
    uint64_t who;
    uint32_t time;
};
struct ptx_vector {
    uint32_t users, count;
    uint32_t all; // of everybody
    struct ptx_known of[];
};

// `count` entries in the order of `who`; those that others imply may be among them. NULL for none.
struct ptx_vector *ptx_vector_new(const struct ptx_known *of, uint32_t count);
struct ptx_vector *ptx_vector_everything(uint32_t time);
struct ptx_vector *ptx_vector_use(struct ptx_vector *); // one user more; NULL stays NULL
void ptx_vector_drop(struct ptx_vector *);
void ptx_vector_forget(struct ptx_vector **); // drops it and leaves NULL
// *a becomes what a and b know together; the caller's use of *a goes into it. Adds to *work what it cost, in entries.
void ptx_vector_join(struct ptx_vector **a, struct ptx_vector *b, uint64_t *work);
bool ptx_vector_knows(const struct ptx_vector *, uint64_t block, uint32_t warp, uint32_t lane, uint32_t time);

#endif
