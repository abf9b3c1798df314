// The counts and reports of one launch as JSON, what device_ops.facts() gives:
//
// { "kernel": name, "instructions": warp instructions executed, "thread_instructions": by lane (guarded-off lanes left
// out),
//   "by_class": { "integer": n, "f32": n, ... },            // enum ptx_class; classes that ran only; warp instructions
//   "flops": { "f32": n, "f64": n, "f16": n, "tensor": n }, // add, sub, mul: 1; fma: 2; mma: 2 m n k
//   "bytes": { "global_load": n, "global_store": n, "shared": n, "local": n }, // asked for by active lanes; atomics
//                                                                                        count as load and store
//   "global_requests": warp operations on global memory, "global_sectors": distinct 32-byte sectors of each, summed,
//   "shared_requests": n, "shared_bank_conflicts": further passes needed, summed,
//   "branches": n, "divergent_branches": n, "average_active_lanes": x,
//   "barriers": completed barriers, "atomics": lanes that did one, "blocks": n, "threads": n,
//   "lines": [ { "line": n, "file": path, "instructions": n, "bytes": global bytes, "sectors": n, "conflicts": n,
//                "divergent": n, "flops": n } ],            // by instructions, most first; line 0: unknown
//   "reports": [ { "kind": k, "text": t, "line": n, "file": path, "count": n, "called_at": { "line": n, "file": path }
//   } ], "reports_cut": n }
//
// called_at: only where the line lies in a function that was inlined: the kernel's own line that called it.
// kind: illegal_address, misaligned_address, assert, launch_timeout, launch_failed, illegal_instruction (the fault that
// ended the launch); divergent_barrier, barrier_left, shuffle_inactive, member_mask; with check "full" also race,
// race_in_warp, race_same_value, uninitialised, unset_variable (of the module: read, but nobody wrote to it).
#ifndef KB_JIT_PTX_FACTS_H
#define KB_JIT_PTX_FACTS_H
#include "jit/ptx/run.h"

#include <cjson/cJSON.h>

// total: the counts that ptx_run added up. Owned by the caller.
cJSON *ptx_facts(const struct ptx_launch *l, const struct ptx_thread *total);

#endif
