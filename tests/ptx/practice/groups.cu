// Cooperative groups below the grid. Every kernel: int x[1024], int y[1024], blocks of 128 threads.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void

K tile_sum(const int *x, int *y)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    y[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
}
K tile_max(const int *x, int *y)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    y[threadIdx.x] = cg::reduce(tile, (float)x[threadIdx.x], cg::greater<float>());
}
K tile_scan(const int *x, int *y)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    y[threadIdx.x] = cg::inclusive_scan(tile, x[threadIdx.x], cg::plus<int>()) * 1000 +
                     cg::exclusive_scan(tile, x[threadIdx.x] & 3, cg::plus<int>());
}
K tile_shuffles(const int *x, int *y)
{
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    int v = x[threadIdx.x];
    y[threadIdx.x] = tile.shfl(v, 1) + 10 * tile.shfl_xor(v, 3) + 100 * tile.shfl_down(v, 1) + tile.meta_group_rank();
}
K large_tile(const int *x, int *y)
{
    __shared__ cg::block_tile_memory<128> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    y[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
}
K coalesced(const int *x, int *y)
{
    int v = x[threadIdx.x];
    y[threadIdx.x] = -1;
    if (v & 1) {
        auto group = cg::coalesced_threads();
        y[threadIdx.x] = group.shfl(v, group.size() - 1) * 100 + group.thread_rank();
    }
}
K labeled(const int *x, int *y)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(tile, x[threadIdx.x] % 5);
    y[threadIdx.x] = cg::reduce(same, x[threadIdx.x], cg::plus<int>()) * 100 + same.thread_rank();
}
K binary(const int *x, int *y)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto half = cg::binary_partition(tile, x[threadIdx.x] > 40);
    y[threadIdx.x] = half.size() * 100 + half.thread_rank();
}
K aggregated(const int *x, int *y) // the classical filter: one atomic a warp
{
    if (threadIdx.x == 0)
        y[200] = 0;
    __syncthreads();
    if (x[threadIdx.x] > 30) {
        auto group = cg::coalesced_threads();
        int first = 0;
        if (group.thread_rank() == 0)
            first = atomicAdd(&y[200], (int)group.size());
        y[group.shfl(first, 0) + group.thread_rank()] = 1;
    }
}
K copied(const int *x, int *y)
{
    __shared__ int s[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, x, sizeof s);
    cg::wait(block);
    y[threadIdx.x] = s[255 - threadIdx.x];
}
K split_barrier(const int *x, int *y)
{
    __shared__ int s[128];
    auto block = cg::this_thread_block();
    s[threadIdx.x] = x[threadIdx.x];
    auto token = block.barrier_arrive();
    block.barrier_wait(static_cast<decltype(token) &&>(token));
    y[threadIdx.x] = s[127 - threadIdx.x];
}
