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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
