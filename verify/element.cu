// Kernels around the kernels: fill, poison, hash, inspect, compare, on the device and bit for bit as the loops of
// ops.c.
#include "element_compare.h"
#include "element_fill.h"
#include "roofs.cuh"

// Launched with KBE_LANES threads a block.

static __device__ __forceinline__ kbe_u64 first_index(void)
{
    return (kbe_u64)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ kbe_u64 grid_stride(void)
{
    return (kbe_u64)gridDim.x * blockDim.x;
}

extern "C" __global__ void kb_fill(void *to, kbe_u64 n, struct kbe_fill fill)
{
    int size = kbe_size(fill.dtype);
    for (kbe_u64 i = first_index(); i < n; i += grid_stride())
        kbe_store(to, size, i, kbe_fill_code(&fill, i));
}

extern "C" __global__ void kb_poison(void *to, kbe_u64 n, int size, kbe_u64 code)
{
    for (kbe_u64 i = first_index(); i < n; i += grid_stride())
        kbe_store(to, size, i, code);
}

// Memory of a module, which the driver's copies take variable by variable only.
extern "C" __global__ void kb_copy(unsigned char *to, const unsigned char *from, kbe_u64 bytes)
{
    for (kbe_u64 i = first_index(); i < (bytes + 7) / 8; i += grid_stride())
        for (kbe_u64 k = 8 * i; k < 8 * i + 8 && k < bytes; k++)
            to[k] = from[k];
}

extern "C" __global__ void kb_mask(unsigned char *p, kbe_u64 bytes, kbe_u64 key, kbe_u64 second)
{
    for (kbe_u64 i = first_index(); i < (bytes + 7) / 8; i += grid_stride())
        kbe_mask(p, bytes, i, key, second);
}

// All of it is in the parameters; few threads do it, for it comes between two runs that are timed.
extern "C" __global__ void kb_disturb(struct kbe_disturb d)
{
    kbe_u64 me = first_index();
    if (me < d.poke_count)
        kbe_store((void *)d.pokes[me].to, d.pokes[me].size, d.pokes[me].index, d.pokes[me].code);
    for (int k = 0; k < d.spoil_count; k++)
        for (kbe_u64 block = me; block * d.spoils[k].stride < d.spoils[k].n; block += grid_stride())
            kbe_spoil_block(&d.spoils[k], block, (void *)d.spoils[k].to);
}

extern "C" __global__ void kb_widen(const void *from, double *to, kbe_u64 n, int dtype)
{
    int size = kbe_size(dtype);
    for (kbe_u64 i = first_index(); i < n; i += grid_stride())
        to[i] = kbe_decode(dtype, kbe_load(from, size, i));
}

extern "C" __global__ void kb_guard_fill(unsigned char *to, kbe_u64 bytes, kbe_u64 key)
{
    for (kbe_u64 i = first_index(); i < bytes; i += grid_stride())
        to[i] = kbe_guard_byte(key, i);
}

// result[0] sum, result[1] minimum, over the block, then over the grid. result starts as {0, KBE_NO_INDEX}.
static __device__ void reduce_to(kbe_u64 *result, kbe_u64 sum, kbe_u64 least)
{
    __shared__ kbe_u64 sums[KBE_LANES], leasts[KBE_LANES];
    sums[threadIdx.x] = sum;
    leasts[threadIdx.x] = least;
    __syncthreads();
    for (int half = KBE_LANES / 2; half; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            leasts[threadIdx.x] = kbe_umin(leasts[threadIdx.x], leasts[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && (sums[0] || leasts[0] != KBE_NO_INDEX)) {
        atomicAdd(&result[0], sums[0]);
        atomicMin(&result[1], leasts[0]);
    }
    __syncthreads();
}

extern "C" __global__ void kb_guard_check(const unsigned char *p, kbe_u64 bytes, kbe_u64 key, kbe_u64 *result)
{
    kbe_u64 changed = 0, first = KBE_NO_INDEX;
    for (kbe_u64 i = first_index(); i < bytes; i += grid_stride())
        if (p[i] != kbe_guard_byte(key, i)) {
            changed++;
            first = kbe_umin(first, i);
        }
    reduce_to(result, changed, first);
}

extern "C" __global__ void kb_hash(const unsigned char *p, kbe_u64 bytes, kbe_u64 *result)
{
    kbe_u64 sum = 0;
    for (kbe_u64 i = first_index(); i < (bytes + 7) / 8; i += grid_stride())
        sum += kbe_hash_term(kbe_hash_word(p, bytes, i), i);
    reduce_to(result, sum, KBE_NO_INDEX);
}

// Two outputs of two runs: result[0..1] elements that still hold both poisons, [2..3] elements that differ though at
// least one was written.
extern "C" __global__ void kb_inspect(const void *a, const void *b, kbe_u64 n, int size, kbe_u64 poison_a,
                                      kbe_u64 poison_b, kbe_u64 *result)
{
    kbe_u64 unwritten = 0, first_unwritten = KBE_NO_INDEX, differ = 0, first_differ = KBE_NO_INDEX;
    for (kbe_u64 i = first_index(); i < n; i += grid_stride()) {
        kbe_u64 x = kbe_load(a, size, i), y = kbe_load(b, size, i);
        if (x == poison_a && y == poison_b) {
            unwritten++;
            first_unwritten = kbe_umin(first_unwritten, i);
        } else if (x != y) {
            differ++;
            first_differ = kbe_umin(first_differ, i);
        }
    }
    reduce_to(result, unwritten, first_unwritten);
    reduce_to(result + 2, differ, first_differ);
}

// Root mean square of each group of consecutive elements of the reference, non-finite ones left out.
extern "C" __global__ void kb_group_scale(const double *ref, kbe_u64 n, kbe_u64 group, double *scale)
{
    __shared__ double sums[KBE_LANES];
    __shared__ kbe_u64 counts[KBE_LANES];
    for (kbe_u64 g = blockIdx.x; g * group < n; g += gridDim.x) {
        kbe_u64 end = kbe_umin(n, (g + 1) * group), count = 0;
        double sum = 0;
        for (kbe_u64 i = g * group + threadIdx.x; i < end; i += KBE_LANES)
            if (kbe_finite(ref[i])) {
                sum = KBE_ADD(sum, KBE_MUL(ref[i], ref[i]));
                count++;
            }
        sums[threadIdx.x] = sum;
        counts[threadIdx.x] = count;
        __syncthreads();
        for (int half = KBE_LANES / 2; half; half /= 2) {
            if (threadIdx.x < half) {
                sums[threadIdx.x] = KBE_ADD(sums[threadIdx.x], sums[threadIdx.x + half]);
                counts[threadIdx.x] += counts[threadIdx.x + half];
            }
            __syncthreads();
        }
        if (threadIdx.x == 0)
            scale[g] = counts[0] ? KBE_SQRT(KBE_DIV(sums[0], (double)counts[0])) : 0.0;
        __syncthreads();
    }
}

// Inputs that moved by a little.
extern "C" __global__ void kb_probe(const void *from, void *to, kbe_u64 n, struct kbe_probe probe)
{
    int size = kbe_size(probe.dtype);
    for (kbe_u64 i = first_index(); i < n; i += grid_stride())
        kbe_store(to, size, i, kbe_probe_code(&probe, kbe_load(from, size, i), i));
}

// The furthest that each element of the reference has moved so far.
extern "C" __global__ void kb_moved(const void *now, const void *before, double *moved, kbe_u64 n, int dtype,
                                    double factor)
{
    int size = kbe_is_float_type(dtype) ? 8 : kbe_size(dtype);
    for (kbe_u64 i = first_index(); i < n; i += grid_stride())
        moved[i] = kbe_max(moved[i], kbe_moved_by(dtype, kbe_load(now, size, i), kbe_load(before, size, i), factor));
}

// At least the root mean square of the group.
extern "C" __global__ void kb_level(double *moved, kbe_u64 n, kbe_u64 group, const double *levels)
{
    for (kbe_u64 i = first_index(); i < n; i += grid_stride())
        moved[i] = kbe_max(moved[i], levels[kbe_group_of(i, group)]);
}

static __device__ __forceinline__ void diff_at(const void *out, const struct kbe_wanted *want, kbe_u64 i,
                                               const struct kbe_rule *rule, struct kbe_diff *d)
{
    int size = kbe_size(rule->dtype), ref_size = kbe_is_float_type(rule->dtype) ? 8 : size;
    double s = want->scale ? want->scale[kbe_group_of(i, rule->group)] : 0.0;
    double c = want->condition ? want->condition[i] : 0.0;
    kbe_diff_of(rule, kbe_load(out, size, i), kbe_load(want->ref, ref_size, i), s, c, d);
}

// One part a block; the host merges them in order.
extern "C" __global__ void kb_compare(const void *out, struct kbe_wanted want, kbe_u64 n, struct kbe_rule rule,
                                      struct kbe_part *parts)
{
    __shared__ struct kbe_part lanes[KBE_LANES];
    kbe_u64 chunk = kbe_chunk(n), begin = blockIdx.x * chunk, end = kbe_umin(n, begin + chunk);
    struct kbe_part part;
    kbe_part_zero(&part);
    for (kbe_u64 i = begin + threadIdx.x; i < end; i += KBE_LANES) {
        struct kbe_diff d;
        diff_at(out, &want, i, &rule, &d);
        kbe_part_add(&part, &d, i);
    }
    lanes[threadIdx.x] = part;
    __syncthreads();
    for (int half = KBE_LANES / 2; half; half /= 2) {
        if (threadIdx.x < half)
            kbe_part_merge(&lanes[threadIdx.x], &lanes[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        parts[blockIdx.x] = lanes[0];
}

extern "C" __global__ void kb_map(const void *out, struct kbe_wanted want, kbe_u64 n, struct kbe_rule rule,
                                  struct kbe_map map, kbe_u64 *cells)
{
    for (kbe_u64 i = first_index(); i < n; i += grid_stride()) {
        struct kbe_diff d;
        diff_at(out, &want, i, &rule, &d);
        if (d.bad)
            atomicAdd(&cells[kbe_map_cell(&map, i)], 1ull);
    }
}
