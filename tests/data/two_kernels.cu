__device__ __forceinline__ float helper(float x)
{
    return x * x + sinf(x);
}
extern "C" __global__ void one(float *a)
{
    a[threadIdx.x] = helper(a[threadIdx.x]);
}
extern "C" __global__ void two(float *a)
{
    float x = a[threadIdx.x];
    a[threadIdx.x] = helper(x);
}
