// cuda::barrier, pipeline, atomic_ref, semaphore, latch. Every kernel: int x[1024], int y[1024], a block of 128 threads.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
using block_barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init

K rounds(const int *x, int *y)
{
    __shared__ block_barrier barrier;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    for (int i = 0; i < 3; i++) {
        s[t] = x[t] + i;
        auto token = barrier.arrive();
        barrier.wait(cuda::std::move(token));
        y[i * 128 + t] = s[127 - t];
        barrier.arrive_and_wait();
    }
}
K copy_group(const int *x, int *y)
{
    __shared__ block_barrier barrier;
    __shared__ int s[256];
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, s, x, sizeof s, barrier);
    barrier.arrive_and_wait();
    y[threadIdx.x] = s[255 - threadIdx.x];
}
K copy_thread(const int *x, int *y) // 16-byte pieces with a barrier: bulk copies from sm_90 on
{
    __shared__ block_barrier barrier;
    __shared__ int4 s[128];
    int t = threadIdx.x;
    if (t == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(s + t, (const int4 *)x + t, cuda::aligned_size_t<16>(16), barrier);
    barrier.arrive_and_wait();
    int4 v = s[127 - t];
    y[t] = v.x + 2 * v.y + 3 * v.z + 4 * v.w;
}
K copy_tile(const int *x, int *y) // one thread copies the whole tile
{
    __shared__ block_barrier barrier;
    __shared__ alignas(16) int s[512];
    int t = threadIdx.x;
    if (t == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    block_barrier::arrival_token token;
    if (t == 0) {
        cuda::memcpy_async(s, x, cuda::aligned_size_t<16>(sizeof s), barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, 0);
    } else {
        token = barrier.arrive();
    }
    barrier.wait(cuda::std::move(token));
    y[t] = s[511 - t] + s[t];
}
K stages(const int *x, int *y)
{
    __shared__ int s[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int fetched = 0;
    for (int c = 0; c < 8; c++) {
        for (; fetched < 8 && fetched < c + 2; fetched++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[fetched % 2], x + fetched * 128, sizeof s[0], pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        y[c * 128 + threadIdx.x] = s[c % 2][127 - threadIdx.x];
        pipe.consumer_release();
    }
}
K thread_stages(const int *x, int *y)
{
    __shared__ int s[2][128];
    auto pipe = cuda::make_pipeline();
    int fetched = 0, t = threadIdx.x;
    for (int c = 0; c < 8; c++) {
        for (; fetched < 8 && fetched < c + 2; fetched++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[fetched % 2][t], x + fetched * 128 + t, sizeof(int), pipe);
            pipe.producer_commit();
        }
        if (c < 7)
            cuda::pipeline_consumer_wait_prior<1>(pipe);
        else
            cuda::pipeline_consumer_wait_prior<0>(pipe);
        __syncthreads();
        y[c * 128 + t] = s[c % 2][127 - t];
        __syncthreads();
        pipe.consumer_release();
    }
}
K roles(const int *x, int *y) // the first warp produces, the others consume
{
    __shared__ int s[2][96];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    bool producer = threadIdx.x < 32;
    auto role = producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    int t = threadIdx.x - 32;
    for (int i = 0; i < 8; i++)
        if (producer) {
            pipe.producer_acquire();
            for (int k = threadIdx.x; k < 96; k += 32)
                cuda::memcpy_async(&s[i % 2][k], x + i * 96 + k, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            y[i * 96 + t] = s[i % 2][95 - t];
            pipe.consumer_release();
        }
}
K references(const int *x, int *y)
{
    int t = threadIdx.x;
    if (t < 8)
        y[t] = 0;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(y[0]);
    sum.fetch_add(x[t]);
    cuda::atomic_ref<int, cuda::thread_scope_block> most(y[1]);
    most.fetch_max(x[t], cuda::memory_order_relaxed);
    cuda::atomic_ref<int> swapped(y[2]);
    int old = swapped.load();
    while (!swapped.compare_exchange_weak(old, old + 2))
        continue;
    cuda::atomic_ref<float> real(*(float *)&y[3]);
    real.fetch_add(0.5f);
    cuda::atomic_ref<unsigned long long> bits(*(unsigned long long *)&y[4]);
    bits.fetch_xor(1ull << t % 64);
    cuda::atomic_ref<unsigned char> small(*((unsigned char *)&y[6] + t % 4));
    small.fetch_add(1);
    cuda::atomic_ref<short> half(*((short *)&y[7] + t % 2));
    half.fetch_sub(3);
}
K locked(const int *x, int *y)
{
    __shared__ cuda::binary_semaphore<cuda::thread_scope_block> lock;
    if (threadIdx.x == 0) {
        new (&lock) cuda::binary_semaphore<cuda::thread_scope_block>(1);
        y[0] = 0;
    }
    __syncthreads();
    lock.acquire();
    y[0] = y[0] + x[threadIdx.x];
    lock.release();
}
K latched(const int *x, int *y)
{
    __shared__ alignas(16) char memory[sizeof(cuda::latch<cuda::thread_scope_block>)];
    auto &latch = *(cuda::latch<cuda::thread_scope_block> *)memory;
    if (threadIdx.x == 0)
        new (&latch) cuda::latch<cuda::thread_scope_block>(blockDim.x);
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x] + 1;
    latch.arrive_and_wait();
    y[threadIdx.x + 128] = y[127 - threadIdx.x];
}
struct alignas(16) pair {
    unsigned long long a, b;
};
K pairs(const int *x, int *y) // 128-bit compare-and-swap and exchange
{
    pair *p = (pair *)y;
    if (threadIdx.x == 0)
        p[0] = p[1] = {0, 0};
    __syncthreads();
    pair seen = p[0], old;
    do {
        old = seen;
        seen = atomicCAS(p, old, pair{old.a + 1, old.b + x[threadIdx.x]});
    } while (seen.a != old.a || seen.b != old.b);
    seen = atomicExch(p + 1, pair{threadIdx.x + 1, 7});
    y[8 + threadIdx.x] = (int)seen.a;
}
