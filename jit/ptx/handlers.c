// Which handler runs an operation: the vector code of the best instruction set first, then what all hosts share.
#include "base/memory.h"
#include "jit/ptx/lanes.h"

#include <stdlib.h>
#include <string.h>

static const struct ptx_handler_entry *vector_table(const char **name)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const char *limit = getenv("KB_PTX_ISA"); // "sse2" or "avx2": to compare
    bool all = !limit;
    if ((all || !strcmp(limit, "avx512")) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512cd")) {
        *name = "AVX-512";
        return ptx_lanes_avx512;
    }
    if ((all || strcmp(limit, "sse2")) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
        *name = "AVX2";
        return ptx_lanes_avx2;
    }
#endif
    *name = "baseline";
    return ptx_lanes_sse2;
}

const char *ptx_isa_name(void)
{
    const char *name;
    vector_table(&name);
    return name;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct ptx_handler_entry *)a)->key, ((const struct ptx_handler_entry *)b)->key);
}

static struct {
    struct ptx_handler_entry *entries;
    size_t count;
} sorted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void sort_tables(void)
{
    const char *name;
    const struct ptx_handler_entry *const tables[] = {
        vector_table(&name), ptx_plain_handlers,   ptx_round_handlers, ptx_convert_handlers, ptx_half_handlers,
        ptx_warp_handlers,   ptx_atomic_handlers,  ptx_async_handlers, ptx_tensor_handlers,  ptx_mbarrier_handlers,
        ptx_video_handlers,  ptx_builtin_handlers, ptx_bulk_handlers,  ptx_clock_handlers};
    size_t cap = 0;
    for (size_t t = 0; t < KB_COUNT(tables); t++)
        for (const struct ptx_handler_entry *e = tables[t]; e->key; e++) {
            bool known = false; // an earlier table wins
            for (size_t i = 0; i < sorted.count && !known; i++)
                known = !strcmp(sorted.entries[i].key, e->key);
            if (known)
                continue;
            KB_GROW(sorted.entries, sorted.count, cap);
            sorted.entries[sorted.count++] = *e;
        }
    qsort(sorted.entries, sorted.count, sizeof *sorted.entries, compare_entries);
}

ptx_handler *ptx_find_handler(const char *key)
{
    pthread_once(&once, sort_tables);
    struct ptx_handler_entry wanted = {key, NULL};
    const struct ptx_handler_entry *e = bsearch(&wanted, sorted.entries, sorted.count, sizeof wanted, compare_entries);
    return e ? e->run : NULL;
}
