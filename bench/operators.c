#include "bench/operators.h"

#include <stddef.h>
#include <string.h>

#define OPERATORS(X)                                                                                                   \
    X(elementwise)                                                                                                     \
    X(softmax)                                                                                                         \
    X(layernorm)                                                                                                       \
    X(rmsnorm)                                                                                                         \
    X(gemm)                                                                                                            \
    X(attention)                                                                                                       \
    X(reduce)                                                                                                          \
    X(scan)                                                                                                            \
    X(transpose)                                                                                                       \
    X(histogram)

#define FILES(name)                                                                                                    \
    extern const char kb_embedded_##name##_bench_json[], kb_embedded_##name##_reference_cu[],                          \
        kb_embedded_##name##_naive_cu[];
OPERATORS(FILES)

#define ENTRY(name)                                                                                                    \
    {#name, kb_embedded_##name##_bench_json, kb_embedded_##name##_reference_cu, kb_embedded_##name##_naive_cu},
static const struct kb_operator operators[] = {OPERATORS(ENTRY)};

const struct kb_operator *kb_operator_at(int index)
{
    return index >= 0 && index < (int)(sizeof operators / sizeof *operators) ? &operators[index] : NULL;
}

const struct kb_operator *kb_operator_find(const char *name)
{
    const struct kb_operator *o;
    for (int i = 0; (o = kb_operator_at(i)); i++)
        if (!strcmp(o->name, name))
            return o;
    return NULL;
}
