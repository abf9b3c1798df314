// The element types of arguments.
#ifndef KB_BENCH_DTYPE_H
#define KB_BENCH_DTYPE_H
#include <stdbool.h>
#include <stddef.h>

// The values are part of the interface of verify/element.h: device code switches on them.
enum kb_dtype { KB_F64, KB_F32, KB_TF32, KB_F16, KB_BF16, KB_E4M3, KB_E5M2, KB_I8, KB_U8, KB_I32, KB_I64, KB_DTYPES };

const char *kb_dtype_name(enum kb_dtype t); // "f64" ...
int kb_dtype_parse(const char *name);       // -1 if unknown
size_t kb_dtype_bytes(enum kb_dtype t);     // 1, 2, 4 or 8; tf32 is stored in 4
bool kb_dtype_is_float(enum kb_dtype t);
// Unit in the last place of 1.0 (2^-p for p stored fraction bits): f64 2^-52, f32 2^-23, tf32 2^-10, f16 2^-10,
// bf16 2^-7, e4m3 2^-3, e5m2 2^-2; 0 for integers.
double kb_dtype_epsilon(enum kb_dtype t);

#endif
