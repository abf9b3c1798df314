__device__ __forceinline__ float helper(float x, int n)
{
    for (int i = 0; i < n; i++)
        x = x * 1.5f + 2.0f;
    return x;
}
