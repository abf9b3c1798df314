// Check "full": which bytes of an allocation have no content yet. One bit a byte, kept from launch to launch: an output
// that one kernel of a version writes may be read by the next.
#ifndef KB_JIT_PTX_UNDEFINED_H
#define KB_JIT_PTX_UNDEFINED_H
#include "jit/ptx/run.h"

// [address, address + bytes) lies inside [low, high).
void ptx_undefine(struct ptx_allocation *, uint64_t address, uint64_t bytes);
void ptx_define(struct ptx_allocation *, uint64_t address, uint64_t bytes);
// True if not one of these bytes was ever written.
bool ptx_is_undefined(const struct ptx_allocation *, uint64_t address, uint64_t bytes);

#endif
