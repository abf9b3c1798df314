// The handlers of lanes.inc for the baseline of x86-64, or whatever the host is.
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/numbers.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__SANITIZE_ADDRESS__) // vectorising checked loops costs the compiler minutes
#pragma GCC optimize("O1")
#else
#pragma GCC optimize("O3")
#endif
#pragma GCC optimize("no-strict-aliasing", "no-trapping-math", "no-math-errno", "fp-contract=off")

#define ISA(name) name##_sse2
#include "jit/ptx/lanes.inc"
