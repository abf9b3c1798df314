// Races: each kernel has a mark at the place that the report's line names, "// 2 kernel", and at the one that its text
// names besides, "// 1 kernel". Every kernel: int x[1024], int y[1024], 8 blocks of 128 threads.
#include <cuda/atomic>
#define K extern "C" __global__ void
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define FIRST_ONE                                                                                                      \
    if (threadIdx.x)                                                                                                   \
    return
#define ONE_BLOCK                                                                                                      \
    if (blockIdx.x)                                                                                                    \
    return

__device__ int data[32][8], flag[32][8];
K no_release(const int *x, int *y) // the reader fences, the writer does not
{
    FIRST_ONE;
    int b = blockIdx.x;
    data[0][b] = x[b]; // 1 no_release
    atomicExch(&flag[0][b], 1);
    if (b)
        return;
    for (int i = 0; i < 8; i++) {
        while (!atomicAdd(&flag[0][i], 0))
            continue;
        __threadfence();
        y[i] = data[0][i]; // 2 no_release
    }
}
K released_too_early(const int *x, int *y) // what is handed on is stored behind the fence
{
    FIRST_ONE;
    int b = blockIdx.x;
    __threadfence();
    data[1][b] = x[b]; // 1 released_too_early
    atomicExch(&flag[1][b], 1);
    if (b)
        return;
    for (int i = 0; i < 8; i++) {
        while (!atomicAdd(&flag[1][i], 0))
            continue;
        __threadfence();
        y[i] = data[1][i]; // 2 released_too_early
    }
}
K fences_of_blocks(const int *x, int *y)
{
    FIRST_ONE;
    data[2][blockIdx.x] = x[blockIdx.x]; // 1 fences_of_blocks
    __threadfence_block();
    if (atomicAdd(&flag[2][0], 1) != 7)
        return;
    __threadfence_block();
    for (int i = 0; i < 8; i++)
        y[i] = data[2][7 - i]; // 2 fences_of_blocks
}
K counter_of_block(const int *x, int *y) // the counter itself: an atomic that reaches its own block only
{
    FIRST_ONE;
    cuda::atomic_ref<int, cuda::thread_scope_block> n(flag[3][0]);
    y[blockIdx.x] = n.fetch_add(1, cuda::memory_order_relaxed); // 1 counter_of_block 2 counter_of_block
}
K release_of_block(const int *x, int *y) // a release of block scope, a counter that reaches all
{
    FIRST_ONE;
    data[4][blockIdx.x] = x[blockIdx.x]; // 1 release_of_block
    __threadfence_block();
    cuda::atomic_ref<int, cuda::thread_scope_device> n(flag[4][0]);
    if (n.fetch_add(1, cuda::memory_order_acquire) != 7)
        return;
    for (int i = 0; i < 8; i++)
        y[i] = data[4][7 - i]; // 2 release_of_block
}
K warps_not_waited_for(const int *x, int *y)
{
    int t = threadIdx.x, b = blockIdx.x;
    __shared__ bool last;
    if (t == 32)
        data[5][b] = x[b]; // 1 warps_not_waited_for
    __threadfence();
    if (t == 0)
        last = atomicAdd(&flag[5][0], 1) == 7;
    __syncthreads();
    if (last && t < 8) {
        __threadfence();
        y[t] = data[5][t]; // 2 warps_not_waited_for
    }
}
K open_lock(const int *x, int *y)
{
    FIRST_ONE;
    while (atomicCAS(&flag[6][0], 0, 1))
        continue;
    data[6][0] += x[blockIdx.x]; // 1 open_lock 2 open_lock
    atomicExch(&flag[6][0], 0);
}
K half_a_lock(const int *x, int *y) // no fence behind the lock: the old sum may come from the cache
{
    FIRST_ONE;
    while (atomicCAS(&flag[7][0], 0, 1))
        continue;
    data[7][0] += x[blockIdx.x]; // 1 half_a_lock 2 half_a_lock
    __threadfence();
    atomicExch(&flag[7][0], 0);
}
K volatile_is_no_fence(const int *x, int *y)
{
    FIRST_ONE;
    int b = blockIdx.x;
    volatile int *d = data[8], *f = flag[8];
    d[b] = x[b]; // 1 volatile_is_no_fence
    f[b] = 1;
    for (int i = 0; i < 8 && b == 3; i++) {
        while (!f[i])
            continue;
        y[i] = d[i]; // 2 volatile_is_no_fence
    }
}
K fence_is_no_flag(const int *x, int *y)
{
    FIRST_ONE;
    y[blockIdx.x] = x[blockIdx.x]; // 1 fence_is_no_flag
    __threadfence();
    y[512 + blockIdx.x] = y[(blockIdx.x + 7) % 8]; // 2 fence_is_no_flag
}
K copied_not_awaited(const int *x, int *y)
{
    ONE_BLOCK;
    __shared__ int s[2][128];
    int t = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(AT(&s[i][t])), "l"(x + i * 128 + t)); // 1 copied_not_awaited
        asm volatile("cp.async.commit_group;");
    }
    asm volatile("cp.async.wait_group 1;" ::: "memory"); // the second one is still under way
    __syncthreads();
    y[t] = s[0][127 - t] + 1;
    y[128 + t] = s[1][127 - t]; // 2 copied_not_awaited
}
K awaited_too_late(const int *x, int *y) // each waits for its own copies, but behind the barrier
{
    ONE_BLOCK;
    __shared__ int s[128];
    int t = threadIdx.x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(AT(&s[t])), "l"(x + t)); // 1 awaited_too_late
    __syncthreads();
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[t] = s[127 - t]; // 2 awaited_too_late
}
K bulk_not_awaited(const int *x, int *y)
{
    ONE_BLOCK;
    __shared__ alignas(16) int s[128];
    __shared__ unsigned long long b;
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(AT(&b)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(AT(&b)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(AT(s)), "l"(x), "r"(AT(&b)) : "memory"); // 1 bulk_not_awaited
    }
    __syncthreads();
    y[t] = s[t]; // 2 bulk_not_awaited
}
K one_proxy_fence(const int *x, int *y) // only the copying thread's stores are fenced
{
    ONE_BLOCK;
    __shared__ alignas(16) int s[128];
    int t = threadIdx.x;
    s[t] = x[t]; // 1 one_proxy_fence
    if (t == 0)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(y), "r"(AT(s)) : "memory"); // 2 one_proxy_fence
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
K outside_of_the_barrier(const int *x, int *y) // two warps meet, a third one reads
{
    ONE_BLOCK;
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 32)
        s[t] = x[t]; // 1 outside_of_the_barrier
    if (t < 64)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else if (t < 96)
        y[t] = s[t - 64]; // 2 outside_of_the_barrier
}
K arrived_too_early(const int *x, int *y)
{
    ONE_BLOCK;
    __shared__ int s[32];
    __shared__ unsigned long long b;
    int t = threadIdx.x;
    if (t == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(AT(&b)) : "memory");
    __syncthreads();
    if (t < 32) {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(AT(&b)) : "memory");
        s[t] = x[t]; // 1 arrived_too_early
    } else if (t < 64) {
        asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" ::"r"(AT(&b)) : "memory");
        y[t] = s[t - 32]; // 2 arrived_too_early
    }
}
K flag_of_the_block(const int *x, int *y) // a flag in shared memory, without fences
{
    ONE_BLOCK;
    __shared__ int s;
    __shared__ volatile int ready;
    int t = threadIdx.x;
    if (t == 0)
        ready = 0;
    __syncthreads();
    if (t == 0) {
        s = x[0]; // 1 flag_of_the_block
        ready = 1;
    } else if (t == 64) {
        while (!ready)
            continue;
        y[0] = s; // 2 flag_of_the_block
    }
}
K plain_look(const int *x, int *y) // harmless
{
    ONE_BLOCK;
    __shared__ int most;
    if (threadIdx.x == 0)
        most = -1;
    __syncthreads();
    int v = x[threadIdx.x];
    if (v > most) // 2 plain_look
        atomicMax(&most, v); // 1 plain_look
    __syncthreads();
    y[threadIdx.x] = most;
}
K not_acquired(const int *x, int *y) // works on what is read for the first time
{
    FIRST_ONE;
    data[9][blockIdx.x] = x[blockIdx.x]; // 1 not_acquired
    __threadfence();
    if (atomicAdd(&flag[9][0], 1) != 7)
        return;
    for (int i = 0; i < 8; i++)
        y[i] = data[9][7 - i]; // 2 not_acquired
}
K lanes(const int *x, int *y)
{
    if (blockIdx.x == 0 && threadIdx.x < 32)
        y[threadIdx.x / 4] = x[threadIdx.x]; // 1 lanes 2 lanes
}
