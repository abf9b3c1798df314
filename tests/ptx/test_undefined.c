// Check "full": reads of outputs and scratch that nobody wrote are found; what a kernel wrote, it may read.
#include "support_cpu.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char source[] =
    "#include <cuda_fp16.h>\n"
    "#define K extern \"C\" __global__ void\n"
    "K adds(const float *x, float *y) { int t = threadIdx.x;\n"
    "  y[t] += x[t]; }\n"
    "K gaps(const float *x, float *y) { int t = threadIdx.x;\n"
    "  if (t % 2 == 0) y[t] = x[t];\n"
    "  __syncthreads();\n"
    "  float v = y[63 - t];\n"
    "  __syncthreads(); y[t] = v; }\n"
    "K counts(const float *x, float *y) {\n"
    "  atomicAdd(y + 40, x[0]); }\n"
    "K wide(const float *x, float *y) { if (threadIdx.x) return; y[8] = y[9] = 1;\n"
    "  float4 v = ((float4 *)y)[2]; y[20] = v.x + v.w; }\n"
    "K heap(const float *x, float *y) { if (threadIdx.x) return; float *p = (float *)malloc(64); p[1] = 1;\n"
    "  y[0] = p[1] + p[2]; free(p); }\n"
    "K writes(const float *x, float *y) { int t = threadIdx.x; y[t] = x[t]; y[t] += 1; }\n"
    "K zeros(const float *x, float *y) { y[threadIdx.x] = 0; }\n"
    "K swaps(const float *x, float *y) { atomicExch(y + threadIdx.x, x[threadIdx.x]); }\n"
    "K owned(const float *x, float *y) { int t = threadIdx.x; if (t == 0) y[3] = 0; __syncthreads();\n"
    "  atomicAdd(y + 3, x[t]); }\n"
    "struct padded { char a; int b; long long c; char d; };\n"
    "K pads(const float *x, float *y) { if (threadIdx.x > 31) return; padded *p = (padded *)y + threadIdx.x, q;\n"
    "  p->a = 1; p->b = 2; p->c = 3; p->d = 4; q = *p; __syncwarp(); *((padded *)y + 31 - threadIdx.x) = q; }\n"
    "K halves(const float *x, float *y) { half *h = (half *)y; int t = threadIdx.x; h[2 * t] = x[t];\n"
    "  unsigned *u = (unsigned *)y + t, old = *u, seen;\n"
    "  do { seen = old; old = atomicCAS(u, seen, (seen & 0xffff) | 0x3c000000); } while (old != seen); }\n"
    "K heaps(const float *x, float *y) { float *p = (float *)malloc(8); p[0] = threadIdx.x; y[threadIdx.x] = p[0]; }\n"
    "K tail(const float *x, float *y, int n) { __shared__ float4 s[64]; int t = threadIdx.x, left = (n - 4 * t) * 4;\n"
    "  left = left < 0 ? 0 : left > 16 ? 16 : left; unsigned to = __cvta_generic_to_shared(s + t);\n"
    "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\\n\\tcp.async.wait_all;\" :: \"r\"(to),\n"
    "    \"l\"(x + 4 * t), \"r\"(left) : \"memory\");\n"
    "  for (int i = 0; i < 4; i++) if (4 * t + i < 256) y[4 * t + i] = ((float *)(s + t))[i]; }\n"
    "K corner(const float *x, float *y) { __shared__ float4 s[1]; if (threadIdx.x) return; float *p = (float *)s;\n"
    "  p[0] = p[1] = p[3] = x[0];\n"
    "  float4 v = s[0]; y[0] = v.x; y[1] = v.y; y[2] = v.z; y[3] = v.w; }\n"
    "K bytes(const float *x, float *y) { __shared__ char s[64]; int t = threadIdx.x; if (t != 7) s[t] = t;\n"
    "  __syncthreads();\n"
    "  y[t] = s[t]; }\n"
    "K neighbours(const float *x, float *y) { __shared__ char s[64]; int t = threadIdx.x; s[t] = t; s[t] += 1;\n"
    "  __syncthreads(); y[t] = ((int *)s)[t / 4]; __syncthreads(); s[t] = 2; y[t] += s[t]; }\n";

struct device {
    struct cpu c;
    float *x, *y;
    uint64_t px, py;
};

static void begin(struct device *d)
{
    cpu_open(&d->c, "full");
    cpu_load_cuda(&d->c, source);
    d->x = cpu_buffer(&d->c, "x", KB_F32, 255, NULL);
    d->y = cpu_buffer(&d->c, "y", KB_F32, 256, NULL);
    for (int i = 0; i < 255; i++)
        d->x[i] = (float)i;
    d->px = cpu_address(&d->c, 0);
    d->py = cpu_address(&d->c, 1);
}

static void forget(struct device *d)
{
    memset(d->y, 0xff, 1024);
    assert_int_equal(d->c.device->ops->undefined(d->c.device, d->py, 1024, &d->c.error), 0);
}

static void expect_silence(struct device *d, const char *kernel)
{
    cpu_run(&d->c, kernel, 1, 64, 0, &d->px, &d->py, NULL);
    char *text = cpu_report(&d->c, "uninitialised", NULL);
    if (text)
        fail_msg("%s: %s", kernel, text);
}

static void test_found(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *text;
        int line;
    } rows[] = {
        {"adds", "thread (0,0,0) of block (0,0,0) reads y[0], which nobody wrote", 4},
        {"gaps", "thread (32,0,0) of block (0,0,0) reads y[31]", 8},
        {"counts", "reads y[40], which nobody wrote", 11},
        {"wide", "reads y[10], which nobody wrote", 13},
        {"corner", "reads s[2] of shared memory, which nobody wrote", 35},
        {"bytes", "reads s[7] of shared memory, which nobody wrote", 38},
        {"heap", "of device malloc[", 15},
    };
    struct device d;
    begin(&d);
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        int line = 0;
        forget(&d);
        cpu_run(&d.c, rows[i].kernel, 1, 64, 0, &d.px, &d.py, NULL);
        char *text = cpu_report(&d.c, "uninitialised", &line);
        if (!text || !strstr(text, rows[i].text))
            fail_msg("%s: %s", rows[i].kernel, text ? text : "no report");
        assert_int_equal(line, rows[i].line);
        free(text);
    }
    cpu_close(&d.c);
}

static void test_silent(void **state)
{
    (void)state;
    static const char *const kernels[] = {"writes", "swaps", "owned", "pads", "halves", "heaps", "neighbours"};
    struct device d;
    begin(&d);
    for (size_t i = 0; i < KB_COUNT(kernels); i++) {
        forget(&d);
        expect_silence(&d, kernels[i]);
    }
    cpu_close(&d.c);
}

// What one launch of a version wrote, the next may read; so with what the host wrote.
static void test_launches(void **state)
{
    (void)state;
    struct device d;
    begin(&d);
    forget(&d);
    expect_silence(&d, "zeros");
    expect_silence(&d, "adds");
    assert_true(d.y[63] == 63);
    forget(&d);
    cpu_run(&d.c, "adds", 1, 64, 0, &d.px, &d.py, NULL);
    char *text = cpu_report(&d.c, "uninitialised", NULL);
    assert_non_null(text);
    free(text);
    expect_silence(&d, "adds"); // written by now, if badly
    forget(&d);
    const struct kb_device_ops *ops = d.c.device->ops;
    assert_int_equal(ops->fill(d.c.device, d.py - 16, 0, 16 + 31 * 4, &d.c.error), 0); // from the guard zone on
    assert_int_equal(ops->to_device(d.c.device, d.py + 31 * 4, d.x, 4, &d.c.error), 0);
    assert_int_equal(ops->copy(d.c.device, d.py + 32 * 4, d.px, 31 * 4, &d.c.error), 0);
    cpu_run(&d.c, "adds", 1, 64, 0, &d.px, &d.py, NULL);
    text = cpu_report(&d.c, "uninitialised", NULL);
    assert_non_null(text);
    assert_non_null(strstr(text, "y[63]"));
    free(text);
    assert_int_equal(ops->undefined(d.c.device, d.py, 1025, &d.c.error), -1);
    assert_int_equal(d.c.device->fault.kind, KB_FAULT_REFUSED);
    cpu_close(&d.c);
}

// A partial asynchronous copy reads, and must have, only its source bytes.
static void test_partial_copies(void **state)
{
    (void)state;
    struct device d;
    begin(&d);
    int n = 255;
    cpu_run(&d.c, "tail", 1, 64, 0, &d.px, &d.py, &n, NULL);
    for (int i = 0; i < 256; i++)
        assert_true(d.y[i] == (i < 255 ? (float)i : 0));
    assert_null(cpu_report(&d.c, "uninitialised", NULL));
    n = 256;
    assert_int_equal(cpu_try(&d.c, "tail", 1, 64, 0, &d.px, &d.py, &n, NULL), -1);
    assert_non_null(strstr(d.c.error.what, "x["));
    cpu_close(&d.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_silent),
                                       cmocka_unit_test(test_launches), cmocka_unit_test(test_partial_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
