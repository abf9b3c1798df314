// The handlers of lanes.inc for the baseline of x86-64, or whatever the host is.
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/numbers.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#pragma GCC optimize("O3", "no-strict-aliasing", "no-trapping-math", "no-math-errno", "fp-contract=off")

#define ISA(name) name##_sse2
#include "jit/ptx/lanes.inc"
