#include "bench/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    bool is_float;
    double epsilon;
} types[KB_DTYPES] = {
    [KB_F64] = {"f64", 8, true, 0x1p-52},   [KB_F32] = {"f32", 4, true, 0x1p-23},
    [KB_TF32] = {"tf32", 4, true, 0x1p-10}, [KB_F16] = {"f16", 2, true, 0x1p-10},
    [KB_BF16] = {"bf16", 2, true, 0x1p-7},  [KB_E4M3] = {"e4m3", 1, true, 0x1p-3},
    [KB_E5M2] = {"e5m2", 1, true, 0x1p-2},  [KB_I8] = {"i8", 1, false, 0},
    [KB_U8] = {"u8", 1, false, 0},          [KB_I32] = {"i32", 4, false, 0},
    [KB_I64] = {"i64", 8, false, 0},
};

const char *kb_dtype_name(enum kb_dtype t)
{
    return types[t].name;
}

int kb_dtype_parse(const char *name)
{
    for (int i = 0; i < KB_DTYPES; i++)
        if (!strcmp(types[i].name, name))
            return i;
    return -1;
}

size_t kb_dtype_bytes(enum kb_dtype t)
{
    return types[t].bytes;
}

bool kb_dtype_is_float(enum kb_dtype t)
{
    return types[t].is_float;
}

double kb_dtype_epsilon(enum kb_dtype t)
{
    return types[t].epsilon;
}
