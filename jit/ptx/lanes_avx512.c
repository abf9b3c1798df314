// The handlers of lanes.inc for AVX-512.
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/numbers.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__x86_64__)
#pragma GCC target(                                                                                                    \
    "avx512f,avx512dq,avx512bw,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
#if defined(__SANITIZE_ADDRESS__) // vectorising checked loops costs the compiler minutes
#pragma GCC optimize("O1")
#else
#pragma GCC optimize("O3")
#endif
#pragma GCC optimize("no-strict-aliasing", "no-trapping-math", "no-math-errno", "fp-contract=off")

#define ISA(name) name##_avx512
#include "jit/ptx/lanes.inc"
