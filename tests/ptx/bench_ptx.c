// Speed of the CPU device: lane instructions a second, beside the same work in plain C.
//
// usage: bench_ptx [runs [off|bounds|full]]; KB_PTX_THREADS and KB_PTX_ISA (sse2, avx2, avx512) choose threads and
// instruction set.
#include "jit/ptx/run.h"
#include "support_cpu.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char source[] = "\n\
#define INFINITY __int_as_float(0x7f800000)\n\
extern \"C\" __global__ void gemm_naive(const float *a, const float *b, float *c, int n) {\n\
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n\
  float s = 0;\n\
  for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];\n\
  c[y * n + x] = s;\n\
}\n\
extern \"C\" __global__ void gemm_tiled(const float *a, const float *b, float *c, int n) {\n\
  __shared__ float as[16][16], bs[16][16];\n\
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;\n\
  float s = 0;\n\
  for (int t = 0; t < n; t += 16) {\n\
    as[ty][tx] = a[y * n + t + tx]; bs[ty][tx] = b[(t + ty) * n + x]; __syncthreads();\n\
    for (int k = 0; k < 16; k++) s += as[ty][k] * bs[k][tx];\n\
    __syncthreads();\n\
  }\n\
  c[y * n + x] = s;\n\
}\n\
extern \"C\" __global__ void softmax(const float *x, float *y, int n) {\n\
  __shared__ float part[256];\n\
  int r = blockIdx.x, t = threadIdx.x;\n\
  float m = -INFINITY, s = 0;\n\
  for (int i = t; i < n; i += blockDim.x) m = fmaxf(m, x[r * n + i]);\n\
  part[t] = m; __syncthreads();\n\
  for (int k = blockDim.x / 2; k; k /= 2) { if (t < k) part[t] = fmaxf(part[t], part[t + k]); __syncthreads(); }\n\
  m = part[0]; __syncthreads();\n\
  for (int i = t; i < n; i += blockDim.x) s += __expf(x[r * n + i] - m);\n\
  part[t] = s; __syncthreads();\n\
  for (int k = blockDim.x / 2; k; k /= 2) { if (t < k) part[t] += part[t + k]; __syncthreads(); }\n\
  for (int i = t; i < n; i += blockDim.x) y[r * n + i] = __expf(x[r * n + i] - m) / part[0];\n\
}\n";

__attribute__((noinline)) static void c_gemm(const float *a, const float *b, float *c, int n)
{
    memset(c, 0, sizeof *c * (size_t)n * (size_t)n);
    for (int y = 0; y < n; y++)
        for (int k = 0; k < n; k++)
            for (int x = 0; x < n; x++)
                c[y * n + x] += a[y * n + k] * b[k * n + x];
}

__attribute__((noinline)) static void c_softmax(const float *x, float *y, int n)
{
    for (int r = 0; r < n; r++) {
        float m = -INFINITY, s = 0;
        for (int i = 0; i < n; i++)
            m = fmaxf(m, x[r * n + i]);
        for (int i = 0; i < n; i++)
            s += y[r * n + i] = expf(x[r * n + i] - m);
        for (int i = 0; i < n; i++)
            y[r * n + i] /= s;
    }
}

// Time of the wall and of all cores together; the least of each.
struct spent {
    double wall_us, core_us;
};

static double core_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct spent best(struct cpu *c, const char *kernel, const int64_t grid[3], const int64_t block[3], int count,
                         const void *const *args, int runs)
{
    struct spent least = {INFINITY, INFINITY};
    for (int i = 0; i < runs; i++) {
        int64_t wall = kb_now_us();
        double core = core_us();
        if (cpu_try_args(c, kernel, grid, block, 0, false, count, args)) {
            fprintf(stderr, "%s\n", kb_error_line(&c->error));
            exit(1);
        }
        least.wall_us = fmin(least.wall_us, (double)(kb_now_us() - wall));
        least.core_us = fmin(least.core_us, core_us() - core);
    }
    return least;
}

struct work {
    const char *name, *kernel;
    int64_t grid[3], block[3];
    int count;
    const void *args[4];
};

// On all cores, then on one.
static void print_row(struct cpu *c, const struct work *w, double c_us, int runs)
{
    const char *given = getenv("KB_PTX_THREADS");
    char *threads = given ? kb_strdup(given) : NULL;
    struct spent all = best(c, w->kernel, w->grid, w->block, w->count, w->args, runs);
    double lanes = cpu_fact(c, "thread_instructions");
    setenv("KB_PTX_THREADS", "1", 1);
    struct spent one = best(c, w->kernel, w->grid, w->block, w->count, w->args, runs);
    if (threads)
        setenv("KB_PTX_THREADS", threads, 1);
    else
        unsetenv("KB_PTX_THREADS");
    printf("%-11s %9.0f us, %5.2f G lane-instructions/s; a core: %5.2f G/s; %s threads %4.2f times one; plain C on one "
           "core %8.0f us, ratio %5.1f\n",
           w->name, all.wall_us, lanes / all.wall_us / 1e3, lanes / all.core_us / 1e3, threads ? threads : "all",
           one.wall_us / all.wall_us, c_us, all.core_us / c_us);
    free(threads);
}

int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 5, n = 512, rows = 1024;
    const char *check = argc > 2 ? argv[2] : NULL;
    char *ptx = cuda_to_ptx(source, NULL);
    if (!ptx) {
        puts("no NVRTC found");
        return 0;
    }
    struct cpu c;
    cpu_open(&c, check);
    cpu_load(&c, ptx);
    free(ptx);
    size_t count = (size_t)rows * (size_t)rows;
    float *x = cpu_buffer(&c, "x", KB_F32, (int64_t)count, NULL),
          *y = cpu_buffer(&c, "y", KB_F32, (int64_t)count, NULL);
    float *z = cpu_buffer(&c, "z", KB_F32, (int64_t)count, NULL);
    for (size_t i = 0; i < count; i++)
        x[i] = y[i] = (float)(i * 2654435761u % 1000) / 500.0f - 1;
    uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1), pz = cpu_address(&c, 2);
    struct work list[] = {
        {"gemm naive", "gemm_naive", {n / 32, n / 8, 1}, {32, 8, 1}, 4, {&px, &py, &pz, &n}},
        {"gemm tiled", "gemm_tiled", {n / 16, n / 16, 1}, {16, 16, 1}, 4, {&px, &py, &pz, &n}},
        {"softmax", "softmax", {rows, 1, 1}, {256, 1, 1}, 3, {&px, &pz, &rows}},
    };
    printf("%s, %ld cores, check %s, best of %d\n", ptx_isa_name(), sysconf(_SC_NPROCESSORS_ONLN),
           check ? check : "bounds", runs);
    double start = core_us();
    c_gemm(x, y, z, n);
    double gemm_us = core_us() - start;
    start = core_us();
    c_softmax(x, z, rows);
    double softmax_us = core_us() - start;
    for (size_t i = 0; i < KB_COUNT(list); i++)
        print_row(&c, &list[i], i < 2 ? gemm_us : softmax_us, runs);
    cpu_close(&c);
    return 0;
}
