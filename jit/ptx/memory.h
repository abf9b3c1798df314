// Memory with provenance: every access lies inside one allocation, or it is a fault that names the nearest one.
#ifndef KB_JIT_PTX_MEMORY_H
#define KB_JIT_PTX_MEMORY_H
#include "jit/ptx/run.h"

// One operation of a warp. address: what the kernel computed; inactive lanes repeat the first active one.
struct ptx_access {
    uint64_t address[PTX_LANES];
    uint32_t mask, bytes; // bytes of one lane
    int first;            // first active lane
    bool unit;            // all lanes active, neighbours in a row
};

// Checks alignment and bounds, counts sectors or bank conflicts, and turns the addresses into host addresses.
// False after a fault (then nothing may be touched).
bool ptx_access_slow(struct ptx_warp *, const struct ptx_op *, struct ptx_access *);
// Looks the range up and remembers it in the operation's count; false after a fault.
bool ptx_find_global(struct ptx_warp *, const struct ptx_op *, const struct ptx_access *, uint64_t low, uint64_t high);
bool ptx_find_shared(struct ptx_warp *, const struct ptx_op *, const struct ptx_access *, uint64_t low, uint64_t high);
// One lane: host address of `bytes` bytes at a generic address, or NULL after a fault.
char *ptx_resolve(struct ptx_warp *, const struct ptx_op *, int lane, uint64_t address, uint32_t bytes);
// The same for an address in o->space.
char *ptx_resolve_in(struct ptx_warp *, const struct ptx_op *, int lane, uint64_t address, uint32_t bytes);
void ptx_misaligned(struct ptx_warp *, const struct ptx_op *, const struct ptx_access *);

uint32_t ptx_sectors(const uint64_t *address, uint32_t mask, uint32_t bytes);
uint32_t ptx_bank_conflicts(const uint64_t *address, uint32_t mask, uint32_t bytes);
// Check "full": what was written before, and by whom. host: what access->address became.
void ptx_shadow(struct ptx_warp *, const struct ptx_op *, const struct ptx_access *);
void ptx_shadow_stored(struct ptx_warp *); // behind a store: two that write the same value are told apart

// Lanes of a store have met at an address: tells it if their values differ. x: host addresses.
void ptx_compare_lanes(struct ptx_warp *, const struct ptx_op *, const struct ptx_access *);

// One range that a lane touches outside of ptx_access_slow, by host address, in elements of so many bytes; check "full"
// only.
void ptx_shadow_range(struct ptx_warp *, const struct ptx_op *, uint32_t lane, uint64_t host, uint32_t bytes,
                      uint32_t element);
const char *ptx_plain_name(const char *mangled); // "_ZZ5smallE1s" -> "s"; valid until the next call

// The table of allocations.
void ptx_space_add(struct ptx_space_table *, struct ptx_allocation *);
struct ptx_allocation *ptx_space_find(const struct ptx_space_table *, uint64_t address); // inside its guards, or NULL
void ptx_space_remove(struct ptx_space_table *, struct ptx_allocation *);

#endif
