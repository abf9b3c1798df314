// Threads that talk by flags and without barriers. Every kernel: int x[1024], int y[1024], 8 blocks of 128 threads.
#include <cuda/atomic>
#define K extern "C" __global__ void

__device__ volatile int state[8], partial[8], inclusive[8];
K look_back(const int *x, int *y) // a scan in one pass: each block waits for those before it
{
    __shared__ int s[128], before;
    int t = threadIdx.x, b = blockIdx.x;
    s[t] = x[b * 128 + t];
    __syncthreads();
    for (int k = 1; k < 128; k *= 2) {
        int v = t >= k ? s[t - k] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        if (b) {
            partial[b] = s[127];
            __threadfence();
            state[b] = 1;
        }
        int sum = 0;
        for (int i = b - 1; i >= 0; i--) {
            int seen;
            while (!(seen = state[i]))
                continue;
            __threadfence();
            sum += seen == 2 ? inclusive[i] : partial[i];
            if (seen == 2)
                break;
        }
        inclusive[b] = sum + s[127];
        __threadfence();
        state[b] = 2;
        before = sum;
    }
    __syncthreads();
    y[b * 128 + t] = s[t] + before;
}
__device__ int token, passed;
K relay(const int *x, int *y) // acquire and release; the data themselves are plain
{
    cuda::atomic_ref<int, cuda::thread_scope_device> turn(token);
    if (threadIdx.x == 0) {
        while (turn.load(cuda::memory_order_acquire) != blockIdx.x)
            continue;
        passed += x[blockIdx.x];
        y[blockIdx.x] = passed;
        turn.store(blockIdx.x + 1, cuda::memory_order_release);
    }
}
__device__ unsigned arrived;
K last_block(const int *x, int *y) // the last block to come sums what all have left
{
    __shared__ bool last;
    int t = threadIdx.x;
    int v = x[blockIdx.x * 128 + t];
    for (int k = 16; k; k /= 2)
        v += __shfl_down_sync(~0u, v, k);
    if (t % 32 == 0)
        y[8 + blockIdx.x * 4 + t / 32] = v;
    __threadfence();
    __syncthreads();
    if (t == 0)
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    __syncthreads();
    if (last && t < 32) {
        v = ((volatile int *)y)[8 + t];
        for (int k = 16; k; k /= 2)
            v += __shfl_down_sync(~0u, v, k);
        if (t == 0)
            y[0] = v;
    }
}
K volatile_warp(const int *x, int *y) // the old way within a warp
{
    __shared__ volatile int s[128];
    int t = threadIdx.x, lane = t % 32;
    s[t] = x[blockIdx.x * 128 + t];
    for (int k = 16; k; k /= 2) {
        if (lane < k)
            s[t] = s[t] + s[t + k];
        __syncwarp();
    }
    if (lane == 0)
        y[blockIdx.x * 4 + t / 32] = s[t];
}
K handed_on(const int *x, int *y) // a lock whose data are plain
{
    __shared__ int lock, sum;
    if (threadIdx.x == 0)
        lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1))
            continue;
        __threadfence_block();
        sum += x[blockIdx.x * 128 + threadIdx.x];
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    y[blockIdx.x * 128 + threadIdx.x] = sum;
}
K histogram(const int *x, int *y)
{
    __shared__ int bins[97];
    int t = threadIdx.x;
    if (t < 97)
        bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[blockIdx.x * 128 + t]], 1);
    __syncthreads();
    if (t < 97 && bins[t])
        atomicAdd(&y[t], bins[t]);
}
K split_phases(const int *x, int *y) // named barriers: half of the warps produce for the other half
{
    __shared__ int s[2][64];
    int t = threadIdx.x % 64;
    for (int i = 0; i < 4; i++)
        if (threadIdx.x < 64) {
            if (i > 1)
                asm volatile("bar.sync %0, 128;" ::"r"(3 + i % 2) : "memory");
            s[i % 2][t] = x[blockIdx.x * 64 + t] + i;
            asm volatile("bar.arrive %0, 128;" ::"r"(1 + i % 2) : "memory");
        } else {
            asm volatile("bar.sync %0, 128;" ::"r"(1 + i % 2) : "memory");
            int v = s[i % 2][63 - t];
            if (i < 2)
                asm volatile("bar.arrive %0, 128;" ::"r"(3 + i % 2) : "memory");
            if (i == 3)
                y[blockIdx.x * 64 + t] = v;
        }
}
