// CUB's block and warp primitives. Every kernel: int x[1024], int y[1024], a block of 128 threads.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#define K extern "C" __global__ void

template <class F> __device__ void each(F f)
{
    for (int i = 0; i < 4; i++)
        f(i, threadIdx.x * 4 + i);
}

K sum(const int *x, int *y)
{
    using R = cub::BlockReduce<int, 128>;
    __shared__ R::TempStorage s;
    int v = R(s).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0)
        y[0] = v;
}
K most(const int *x, int *y)
{
    using P = cub::KeyValuePair<int, int>;
    using R = cub::BlockReduce<P, 128, cub::BLOCK_REDUCE_RAKING>;
    __shared__ R::TempStorage s;
    P v = R(s).Reduce(P(threadIdx.x, x[threadIdx.x]), cub::ArgMax());
    if (threadIdx.x == 0) {
        y[0] = v.key;
        y[1] = v.value;
    }
}
K scan(const int *x, int *y)
{
    using S = cub::BlockScan<int, 128>;
    __shared__ S::TempStorage s;
    int v[4];
    each([&](int i, int k) { v[i] = x[k]; });
    S(s).InclusiveSum(v, v);
    each([&](int i, int k) { y[k] = v[i]; });
}
K scan_raking(const int *x, int *y)
{
    using S = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING>;
    __shared__ S::TempStorage s;
    int v, total;
    S(s).ExclusiveSum(x[threadIdx.x], v, total);
    y[threadIdx.x] = v;
    y[128 + threadIdx.x] = total;
}
K sort(const int *x, int *y)
{
    using S = cub::BlockRadixSort<int, 128, 4>;
    __shared__ S::TempStorage s;
    int v[4];
    each([&](int i, int k) { v[i] = x[k]; });
    S(s).Sort(v);
    each([&](int i, int k) { y[k] = v[i]; });
}
K sort_pairs(const int *x, int *y) // stable, descending
{
    using S = cub::BlockRadixSort<float, 128, 4, int>;
    __shared__ S::TempStorage s;
    float key[4];
    int v[4];
    each([&](int i, int k) { key[i] = -(float)x[k]; v[i] = k; });
    S(s).SortDescending(key, v);
    each([&](int i, int k) { y[k] = (int)key[i]; y[512 + k] = v[i]; });
}
K merge(const int *x, int *y)
{
    using S = cub::BlockMergeSort<int, 128, 4>;
    __shared__ S::TempStorage s;
    int v[4];
    each([&](int i, int k) { v[i] = x[k]; });
    S(s).Sort(v, [](int a, int b) { return a < b; });
    each([&](int i, int k) { y[k] = v[i]; });
}
K transposed(const int *x, int *y)
{
    using L = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using S = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        L::TempStorage load;
        S::TempStorage store;
    } s;
    int v[4];
    L(s.load).Load(x, v, 500, -1);
    __syncthreads();
    for (int i = 0; i < 4; i++)
        v[i] += threadIdx.x * 1000;
    S(s.store).Store(y, v, 500);
}
K histogram(const int *x, int *y)
{
    using H = cub::BlockHistogram<unsigned char, 128, 4, 16>;
    __shared__ H::TempStorage s;
    __shared__ int bins[16];
    unsigned char v[4];
    each([&](int i, int k) { v[i] = x[k] & 15; });
    H(s).Histogram(v, bins);
    __syncthreads();
    if (threadIdx.x < 16)
        y[threadIdx.x] = bins[threadIdx.x];
}
K warp_sum(const int *x, int *y)
{
    using R = cub::WarpReduce<int, 16>;
    __shared__ R::TempStorage s[8];
    int v = R(s[threadIdx.x / 16]).Sum(x[threadIdx.x]);
    if (threadIdx.x % 16 == 0)
        y[threadIdx.x / 16] = v;
}
K segments(const int *x, int *y)
{
    using R = cub::WarpReduce<int>;
    __shared__ R::TempStorage s[4];
    int v = R(s[threadIdx.x / 32]).HeadSegmentedSum(x[threadIdx.x], threadIdx.x % 32 % 5 == 0);
    if (threadIdx.x % 32 % 5 == 0)
        y[threadIdx.x] = v;
}
K warp_scan(const int *x, int *y)
{
    using S = cub::WarpScan<double>;
    __shared__ S::TempStorage s[4];
    double v;
    S(s[threadIdx.x / 32]).InclusiveSum(x[threadIdx.x] * 0.5, v);
    y[threadIdx.x] = (int)(2 * v);
}
