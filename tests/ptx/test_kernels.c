// Whole kernels as NVRTC compiles them, against values computed here.
#include "support_cpu.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char softmax_source[] = "\n\
#define INFINITY __int_as_float(0x7f800000)\n\
extern \"C\" __global__ void naive(const float *x, float *y, int rows, int cols) {\n\
  int r = blockIdx.x * blockDim.x + threadIdx.x;\n\
  if (r >= rows) return;\n\
  float m = -INFINITY, s = 0;\n\
  for (int i = 0; i < cols; i++) m = fmaxf(m, x[r * cols + i]);\n\
  for (int i = 0; i < cols; i++) s += expf(x[r * cols + i] - m);\n\
  for (int i = 0; i < cols; i++) y[r * cols + i] = expf(x[r * cols + i] - m) / s;\n\
}\n\
extern \"C\" __global__ void tree(const float *x, float *y, int rows, int cols) {\n\
  __shared__ float part[256];\n\
  int r = blockIdx.x, t = threadIdx.x;\n\
  float m = -INFINITY, s = 0;\n\
  for (int i = t; i < cols; i += blockDim.x) m = fmaxf(m, x[r * cols + i]);\n\
  part[t] = m; __syncthreads();\n\
  for (int k = blockDim.x / 2; k; k /= 2) { if (t < k) part[t] = fmaxf(part[t], part[t + k]); __syncthreads(); }\n\
  m = part[0]; __syncthreads();\n\
  for (int i = t; i < cols; i += blockDim.x) s += __expf(x[r * cols + i] - m);\n\
  part[t] = s; __syncthreads();\n\
  for (int k = blockDim.x / 2; k; k /= 2) { if (t < k) part[t] += part[t + k]; __syncthreads(); }\n\
  for (int i = t; i < cols; i += blockDim.x) y[r * cols + i] = __expf(x[r * cols + i] - m) / part[0];\n\
}\n\
extern \"C\" __global__ void warp(const float *x, float *y, int rows, int cols) {\n\
  int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;\n\
  if (r >= rows) return;\n\
  float m = -INFINITY, s = 0;\n\
  for (int i = lane; i < cols; i += 32) { float v = x[r * cols + i], n = fmaxf(m, v); s = s * __expf(m - n) + __expf(v - n); m = n; }\n\
  for (int k = 16; k; k /= 2) { float om = __shfl_xor_sync(~0u, m, k), os = __shfl_xor_sync(~0u, s, k), n = fmaxf(m, om);\n\
    s = (m == n ? s : s * __expf(m - n)) + (om == n ? os : os * __expf(om - n)); m = n; }\n\
  for (int i = lane; i < cols; i += 32) y[r * cols + i] = __expf(x[r * cols + i] - m) / s;\n\
}\n\
extern \"C\" __global__ void reference(const float *x, double *y, int rows, int cols) {\n\
  int r = blockIdx.x; __shared__ double part[128];\n\
  double m = -INFINITY, s = 0;\n\
  for (int i = 0; i < cols; i++) m = fmax(m, (double)x[r * cols + i]);\n\
  for (int i = threadIdx.x; i < cols; i += blockDim.x) s += exp(x[r * cols + i] - m);\n\
  part[threadIdx.x] = s; __syncthreads();\n\
  if (threadIdx.x == 0) { for (int i = 1; i < blockDim.x; i++) s += part[i]; part[0] = s; } __syncthreads();\n\
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[r * cols + i] = exp(x[r * cols + i] - m) / part[0];\n\
}\n";

enum { ROWS = 37, COLS = 203 };

static void fill(float *x, int n)
{
    uint32_t s = 12345;
    for (int i = 0; i < n; i++) {
        s = s * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)s / 3e8f;
    }
}

static void softmax_in_double(const float *x, double *y)
{
    for (int r = 0; r < ROWS; r++) {
        double m = -INFINITY, s = 0;
        for (int i = 0; i < COLS; i++)
            m = fmax(m, (double)x[r * COLS + i]);
        for (int i = 0; i < COLS; i++)
            s += exp((double)x[r * COLS + i] - m);
        for (int i = 0; i < COLS; i++)
            y[r * COLS + i] = exp((double)x[r * COLS + i] - m) / s;
    }
}

static void test_softmax(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, softmax_source);
    int rows = ROWS, cols = COLS;
    float *x = cpu_buffer(&c, "x", KB_F32, ROWS * COLS, NULL);
    float *y = cpu_buffer(&c, "y", KB_F32, ROWS * COLS, NULL);
    double *z = cpu_buffer(&c, "z", KB_F64, ROWS * COLS, NULL);
    fill(x, ROWS * COLS);
    double *want = kb_alloc(sizeof *want * ROWS * COLS);
    softmax_in_double(x, want);
    uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1), pz = cpu_address(&c, 2);
    cpu_run(&c, "reference", ROWS, 128, 0, &px, &pz, &rows, &cols, NULL);
    for (int i = 0; i < ROWS * COLS; i++)
        assert_true(fabs(z[i] - want[i]) <= 1e-14 * want[i]);
    static const struct {
        const char *kernel;
        unsigned grid, block;
    } runs[] = {{"naive", 2, 32}, {"tree", ROWS, 256}, {"warp", 10, 128}};
    for (size_t k = 0; k < KB_COUNT(runs); k++) {
        memset(y, 0xff, sizeof *y * ROWS * COLS);
        cpu_run(&c, runs[k].kernel, runs[k].grid, runs[k].block, 0, &px, &py, &rows, &cols, NULL);
        for (int i = 0; i < ROWS * COLS; i++)
            if (!(fabs((double)y[i] - want[i]) <= 2e-6 * want[i] + 1e-12))
                fail_msg("%s: y[%d] = %g, not %g", runs[k].kernel, i, (double)y[i], want[i]);
    }
    free(want);
    cpu_close(&c);
}

static const char blocks_source[] =
    "#include <cub/block/block_radix_sort.cuh>\n#include <cub/block/block_reduce.cuh>\n#include "
    "<cub/block/block_scan.cuh>\n"
    "extern \"C\" __global__ void k(const int *in, int *out) {\n"
    "  using R = cub::BlockReduce<int, 128>; using S = cub::BlockScan<int, 128>; using Q = cub::BlockRadixSort<int, "
    "128, 4>;\n"
    "  __shared__ union { typename R::TempStorage r; typename S::TempStorage s; typename Q::TempStorage q; } t;\n"
    "  int v = in[threadIdx.x], sum = R(t.r).Sum(v), before; __syncthreads(); S(t.s).ExclusiveSum(v, before); "
    "__syncthreads();\n"
    "  int k[4]; for (int i = 0; i < 4; i++) k[i] = in[threadIdx.x * 4 + i]; Q(t.q).Sort(k);\n"
    "  for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = k[i]; out[512 + threadIdx.x] = before; if (threadIdx.x "
    "== 0) out[640] = sum; }\n";

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

// CUB's block primitives, at both levels of checking.
static void test_block_primitives(void **state)
{
    (void)state;
    static const char *const levels[] = {"bounds", "full"};
    for (size_t n = 0; n < KB_COUNT(levels); n++) {
        struct cpu c;
        cpu_open(&c, levels[n]);
        cpu_load_cuda(&c, blocks_source);
        int *in = cpu_buffer(&c, "in", KB_I32, 512, NULL), *out = cpu_buffer(&c, "out", KB_I32, 641, NULL);
        uint32_t seed = 99;
        for (int i = 0; i < 512; i++) {
            seed = seed * 1664525u + 1013904223u;
            in[i] = (int)(seed >> 8) % 1000 - 500;
        }
        uint64_t pi = cpu_address(&c, 0), po = cpu_address(&c, 1);
        cpu_run(&c, "k", 1, 128, 0, &pi, &po, NULL);
        int sum = 0;
        for (int i = 0; i < 128; i++) {
            assert_int_equal(out[512 + i], sum);
            sum += in[i];
        }
        assert_int_equal(out[640], sum);
        qsort(in, 512, sizeof *in, by_value);
        assert_memory_equal(in, out, 512 * sizeof *in);
        char *text = cpu_report(&c, "race", NULL);
        if (text)
            fail_msg("%s", text);
        cpu_close(&c);
    }
}

static const char gemm_source[] =
    "extern \"C\" __global__ void k(const float *a, const float *b, float *c, int m, int n, int k) {\n"
    "  __shared__ float as[16][16], bs[16][17]; int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = "
    "blockIdx.y * 16 + ty;\n"
    "  float s = 0; for (int t = 0; t < k; t += 16) {\n"
    "    as[ty][tx] = y < m && t + tx < k ? a[y * k + t + tx] : 0; bs[ty][tx] = x < n && t + ty < k ? b[(t + ty) * n + "
    "x] : 0; __syncthreads();\n"
    "    for (int i = 0; i < 16; i++) s += as[ty][i] * bs[i][tx]; __syncthreads(); }\n"
    "  if (x < n && y < m) c[y * n + x] = s; }\n";

// Ragged edges, several blocks in two dimensions; the same bits and counts for one thread and for many.
static void test_gemm(void **state)
{
    (void)state;
    enum { M = 45, N = 37, K = 29 };
    int m = M, n = N, k = K;
    static const char *const threads[] = {"1", "3"};
    float first[M * N];
    double instructions = 0;
    for (size_t run = 0; run < KB_COUNT(threads); run++) {
        struct cpu c;
        setenv("KB_PTX_THREADS", threads[run], 1);
        cpu_open(&c, NULL);
        cpu_load_cuda(&c, gemm_source);
        float *a = cpu_buffer(&c, "a", KB_F32, M * K, NULL), *b = cpu_buffer(&c, "b", KB_F32, K * N, NULL);
        float *out = cpu_buffer(&c, "c", KB_F32, M * N, NULL);
        fill(a, M * K);
        fill(b, K * N);
        uint64_t p[3] = {cpu_address(&c, 0), cpu_address(&c, 1), cpu_address(&c, 2)};
        const void *args[] = {&p[0], &p[1], &p[2], &m, &n, &k};
        if (cpu_try_args(&c, "k", (int64_t[3]){3, 3, 1}, (int64_t[3]){16, 16, 1}, 0, false, 6, args))
            fail_msg("%s", kb_error_line(&c.error));
        for (int y = 0; y < M; y++)
            for (int x = 0; x < N; x++) {
                float s = 0;
                for (int i = 0; i < K; i++)
                    s = fmaf(a[y * K + i], b[i * N + x], s);
                assert_true(out[y * N + x] == s);
            }
        if (run)
            assert_memory_equal(first, out, sizeof first);
        if (run)
            assert_true(instructions == cpu_fact(&c, "instructions"));
        memcpy(first, out, sizeof first);
        instructions = cpu_fact(&c, "instructions");
        assert_true(cpu_fact(&c, "flops.f32") == 2.0 * 9 * 256 * 32);
        cpu_close(&c);
    }
    unsetenv("KB_PTX_THREADS");
}

// Blocks may start in any order: the seed says which.
static void test_seed(void **state)
{
    (void)state;
    char *ptx = cuda_to_ptx("__device__ int count; extern \"C\" __global__ void k(int *order) { if (threadIdx.x == 0) "
                            "order[atomicAdd(&count, 1)] = blockIdx.x; }\n",
                            NULL);
    NEED_NVRTC(ptx);
    setenv("KB_PTX_THREADS", "1", 1);
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct cpu c = {0};
        struct kb_device_request request = {.kind = "cpu", .seed = seed * 7919};
        assert_int_equal(kb_device_open_cpu(&request, &c.device, &c.error), 0);
        cpu_load(&c, ptx);
        int *order = cpu_buffer(&c, "order", KB_I32, 50, NULL), seen[50] = {0}, in_place = 0;
        uint64_t p = cpu_address(&c, 0);
        cpu_run(&c, "k", 50, 32, 0, &p, NULL);
        for (int i = 0; i < 50; i++) {
            seen[order[i]]++;
            in_place += order[i] == i;
        }
        for (int i = 0; i < 50; i++)
            assert_int_equal(seen[i], 1);
        assert_true(seed ? in_place < 50 : in_place == 50);
        cpu_close(&c);
    }
    unsetenv("KB_PTX_THREADS");
    free(ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax), cmocka_unit_test(test_block_primitives),
                                       cmocka_unit_test(test_gemm), cmocka_unit_test(test_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
