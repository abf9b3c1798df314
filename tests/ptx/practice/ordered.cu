// Blocks, warps and threads that hand things on in every way that PTX allows. Every kernel: int x[1024], int y[1024], 8
// blocks of 128 threads, resident at once, launched once.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#pragma nv_diag_suppress static_var_with_dynamic_init

__device__ int sum_of_block(int v)
{
    __shared__ int s[4];
    for (int k = 16; k; k /= 2)
        v += __shfl_down_sync(~0u, v, k);
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = v;
    __syncthreads();
    return s[0] + s[1] + s[2] + s[3];
}
#define OWN x[blockIdx.x * 128 + threadIdx.x]

__device__ unsigned drawn[16];
__device__ int part[16][8];
K sample(const int *x, int *y) // as in the samples of the toolkit: the barrier stands for the readers' fence
{
    __shared__ bool last;
    int v = sum_of_block(OWN);
    if (threadIdx.x == 0) {
        part[0][blockIdx.x] = v;
        __threadfence();
        last = atomicInc(&drawn[0], gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    v = sum_of_block(threadIdx.x < 8 ? part[0][threadIdx.x] : 0);
    if (threadIdx.x == 0)
        y[0] = v;
}
K some_lanes(const int *x, int *y) // each writer fences, thread 0 draws for all of them, the readers fence
{
    __shared__ bool last;
    int t = threadIdx.x, b = blockIdx.x;
    if (t % 16 == 3) {
        y[128 + b * 8 + t / 16] = OWN;
        __threadfence();
    }
    __syncthreads();
    if (t == 0)
        last = atomicAdd(&drawn[1], 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    if (t < 64)
        y[t] = y[128 + t] + 1;
}
K drawn_alone(const int *x, int *y) // one thread does it all
{
    int v = sum_of_block(OWN);
    if (threadIdx.x)
        return;
    part[2][blockIdx.x] = v;
    __threadfence();
    if (atomicAdd(&drawn[2], 1) != gridDim.x - 1)
        return;
    __threadfence();
    v = 0;
    for (int i = 0; i < gridDim.x; i++)
        v += part[2][i];
    y[0] = v;
}
__device__ unsigned long long word[8];
K packed(const int *x, int *y) // value and state in one word: nothing else has to be ordered
{
    int v = sum_of_block(OWN), b = blockIdx.x;
    if (threadIdx.x)
        return;
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> own(word[b]);
    own.store(1ull << 32 | (unsigned)v, cuda::memory_order_relaxed);
    int before = 0;
    for (int i = b - 1; i >= 0; i--) {
        unsigned long long seen;
        cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> other(word[i]);
        while (!((seen = other.load(cuda::memory_order_relaxed)) >> 32))
            __nanosleep(20);
        before += (int)seen;
        if (seen >> 32 == 2)
            break;
    }
    own.store(2ull << 32 | (unsigned)(before + v), cuda::memory_order_relaxed);
    y[b] = before + v;
}
__device__ volatile int turn[2];
__device__ int shared_sum[4];
K fair_lock(const int *x, int *y) // tickets
{
    if (threadIdx.x % 64)
        return;
    int mine = atomicAdd(&drawn[3], 1);
    while (turn[0] != mine)
        continue;
    __threadfence();
    shared_sum[0] += OWN;
    y[0] = shared_sum[0];
    __threadfence();
    turn[0] = mine + 1;
}
__device__ int semaphore;
K semaphores(const int *x, int *y) // blocks add up their tiles one after the other
{
    int seen = -1, t = threadIdx.x;
    while (__syncthreads_and(seen != (int)blockIdx.x))
        if (t == 0)
            asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(seen) : "l"(&semaphore) : "memory");
    __syncthreads();
    y[t] = blockIdx.x ? y[t] + OWN : OWN;
    __syncthreads();
    if (t == 0)
        asm volatile("st.global.release.gpu.b32 [%0], %1;" ::"l"(&semaphore), "r"(blockIdx.x + 1) : "memory");
}
__device__ unsigned come;
__device__ void all_blocks(unsigned goal)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&come, 1);
        while (*(volatile unsigned *)&come < goal)
            continue;
        __threadfence();
    }
    __syncthreads();
}
K phases(const int *x, int *y) // a barrier of the grid by hand; what is read was read and written before
{
    int i = blockIdx.x * 128 + threadIdx.x;
    y[i] = x[i];
    for (int k = 1; k <= 3; k++) {
        all_blocks(gridDim.x * (2 * k - 1));
        int v = y[1023 - i];
        all_blocks(gridDim.x * 2 * k);
        y[i] = v + 1;
    }
}
__device__ int stage[3];
K chain(const int *x, int *y) // the last block knows what the first one did, through the one between
{
    cuda::atomic_ref<int, cuda::thread_scope_device> one(stage[0]), two(stage[1]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        shared_sum[1] = x[5];
        one.store(1, cuda::memory_order_release);
    } else if (blockIdx.x == 1) {
        while (!one.load(cuda::memory_order_acquire))
            continue;
        two.store(1, cuda::memory_order_release);
    } else if (blockIdx.x == 2) {
        while (!two.load(cuda::memory_order_acquire))
            continue;
        y[0] = shared_sum[1];
    }
}
__device__ int counted;
K arrivals(const int *x, int *y) // a chain of atomics hands on what each of them released
{
    int v = sum_of_block(OWN);
    if (threadIdx.x)
        return;
    part[4][blockIdx.x] = v;
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(&counted) : "memory");
    if (blockIdx.x)
        return;
    cuda::atomic_ref<int, cuda::thread_scope_device> all(counted);
    while (all.load(cuda::memory_order_relaxed) != gridDim.x)
        continue;
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    v = 0;
    for (int i = 0; i < gridDim.x; i++)
        v += part[4][i];
    y[0] = v;
}
__device__ int state, table[32];
K once(const int *x, int *y) // who comes first makes the table, all others wait for it
{
    if (threadIdx.x == 0) {
        if (atomicCAS(&state, 0, 1) == 0) {
            for (int i = 0; i < 32; i++)
                table[i] = x[i] * 2;
            __threadfence();
            atomicExch(&state, 2);
        } else {
            while (atomicAdd(&state, 0) != 2)
                continue;
        }
        __threadfence();
    }
    __syncthreads();
    y[blockIdx.x * 128 + threadIdx.x] = table[threadIdx.x % 32];
}
__device__ int slot[8], full[8];
K queue(const int *x, int *y) // producers publish slots, consumers take them
{
    if (threadIdx.x)
        return;
    int b = blockIdx.x;
    if (b < 4) {
        slot[b] = x[b] + 3;
        cuda::atomic_ref<int, cuda::thread_scope_device>(full[b]).store(1, cuda::memory_order_release);
        return;
    }
    int mine = atomicAdd(&drawn[5], 1);
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(full[mine]);
    while (ready.load(cuda::memory_order_acquire) == 0)
        __nanosleep(50);
    y[mine] = slot[mine];
}
__device__ void await(unsigned long long *b, int parity)
{
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(AT(b)),
                 "r"(parity)
                 : "memory");
}
__device__ void arrive(unsigned long long *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(AT(b)) : "memory");
}
K ring(const int *x, int *y) // one warp produces, the others consume, through two slots
{
    __shared__ int s[2][32];
    __shared__ unsigned long long ready[2], free_again[2];
    int t = threadIdx.x, lane = t % 32;
    if (t < 2) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(AT(&ready[t])) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 96;" ::"r"(AT(&free_again[t])) : "memory");
    }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        if (t < 32) {
            if (i > 1)
                await(&free_again[i % 2], (i / 2 - 1) % 2);
            s[i % 2][lane] = x[i * 32 + lane];
            arrive(&ready[i % 2]);
        } else {
            await(&ready[i % 2], i / 2 % 2);
            if (t / 32 == 1 + i % 3)
                y[blockIdx.x * 128 + i * 32 + lane] = s[i % 2][31 - lane];
            arrive(&free_again[i % 2]);
        }
    }
}
K tiles(const int *x, int *y) // tiles of two warps
{
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int s[128];
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int t = threadIdx.x;
    s[t] = OWN;
    tile.sync();
    y[blockIdx.x * 128 + t] = s[t / 64 * 64 + 63 - t % 64];
}
K flags_in_block(const int *x, int *y) // warps pass a token round
{
    __shared__ volatile int token;
    __shared__ int sum;
    int t = threadIdx.x;
    if (t == 0)
        token = sum = 0;
    __syncthreads();
    if (t % 32 == 0) {
        while (token != t / 32)
            continue;
        __threadfence_block();
        sum += OWN;
        __threadfence_block();
        token = t / 32 + 1;
    }
    __syncthreads();
    y[blockIdx.x * 128 + t] = sum;
}
K reduced_barriers(const int *x, int *y) // bar.red orders as bar.sync does
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = OWN;
    int many = __syncthreads_count(s[t] > 40);
    int v = s[127 - t];
    __syncthreads_or(0);
    s[t] = v;
    y[blockIdx.x * 128 + t] = s[t] + many * 0;
}
K copied_out(const int *x, int *y) // the fence of the one thread that copies, behind the barrier
{
    __shared__ alignas(16) int s[128];
    int t = threadIdx.x;
    s[t] = OWN + 1;
    __syncthreads();
    if (t)
        return;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(y + blockIdx.x * 128), "r"(AT(s))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}
__device__ alignas(16) unsigned char place[64];
K device_barrier(const int *x, int *y) // cuda::barrier between blocks
{
    using barrier = cuda::barrier<cuda::thread_scope_device>;
    auto *b = (barrier *)place;
    cuda::atomic_ref<int, cuda::thread_scope_device> made(stage[2]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        init(b, gridDim.x);
        made.store(1, cuda::memory_order_release);
    }
    while (!made.load(cuda::memory_order_acquire))
        continue;
    y[512 + blockIdx.x] = x[blockIdx.x];
    b->arrive_and_wait();
    y[blockIdx.x] = y[512 + 7 - blockIdx.x];
}
K both_look(const int *x, int *y) // a volatile look before the operation
{
    __shared__ int most;
    if (threadIdx.x == 0)
        most = -1;
    __syncthreads();
    if (OWN > *(volatile int *)&most)
        atomicMax(&most, OWN);
    __syncthreads();
    y[blockIdx.x * 128 + threadIdx.x] = most;
}
K same_value(const int *x, int *y) // lanes of one instruction that agree
{
    if (threadIdx.x < 32)
        y[blockIdx.x] = blockIdx.x + 7;
}
