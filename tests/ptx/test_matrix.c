// Matrix instructions: mma by the layouts of the PTX manual, written down here from its figures, and wmma end to end.
#include "support_cpu.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint16_t half_of(int v) // small whole numbers, exact in f16
{
    if (!v)
        return 0;
    uint16_t sign = v < 0 ? 0x8000 : 0;
    unsigned a = (unsigned)abs(v), e = 0;
    while (a >> (e + 1))
        e++;
    return (uint16_t)(sign | (e + 15) << 10 | (a << (10 - e) & 0x3ff));
}

static float single(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static int small(int i, int j, int seed)
{
    return (i * 7 + j * 5 + seed * 3 + i * j) % 9 - 4;
}

// Registers of all lanes: regs[lane][r]; four of A, two of B, four of C and D.
struct fragments {
    uint32_t a[32][4], b[32][2], c[32][4], d[32][4];
};

static void run_mma(struct cpu *c, const char *op, int na, int nb, int nc, struct fragments *f)
{
    char source[3000], text[600] = "";
    size_t n = 0;
    const int counts[] = {nc, na, nb, nc};
    int at = 0;
    n += (size_t)snprintf(text + n, sizeof text - n, "%s ", op);
    for (int k = 0; k < 4; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s{", k ? ", " : "");
        for (int i = 0; i < counts[k]; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%%%d", i ? "," : "", at++);
        n += (size_t)snprintf(text + n, sizeof text - n, "}");
    }
    char outs[200] = "", ins[500] = "";
    for (int i = 0; i < nc; i++)
        snprintf(outs + strlen(outs), sizeof outs - strlen(outs), "%s\"=r\"(d[t*4+%d])", i ? "," : "", i);
    const struct {
        const char *name;
        int count, stride;
    } parts[] = {{"a", na, 4}, {"b", nb, 2}, {"c", nc, 4}};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < parts[k].count; i++)
            snprintf(ins + strlen(ins), sizeof ins - strlen(ins), "%s\"r\"(%s[t*%d+%d])", k || i ? "," : "",
                     parts[k].name, parts[k].stride, i);
    snprintf(source, sizeof source,
             "extern \"C\" __global__ void k(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *d) {\n"
             "int t = threadIdx.x; asm volatile(\"%s;\" : %s : %s); }\n",
             text, outs, ins);
    cpu_load_cuda(c, source);
    memcpy(c->buffers[0].host, f->a, sizeof f->a);
    memcpy(c->buffers[1].host, f->b, sizeof f->b);
    memcpy(c->buffers[2].host, f->c, sizeof f->c);
    uint64_t p[4];
    for (int i = 0; i < 4; i++)
        p[i] = cpu_address(c, i);
    cpu_run(c, "k", 1, 32, 0, &p[0], &p[1], &p[2], &p[3], NULL);
    memcpy(f->d, c->buffers[3].host, sizeof f->d);
}

static void open_buffers(struct cpu *c)
{
    cpu_open(c, NULL);
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++)
        cpu_buffer(c, names[i], KB_I32, 128, NULL);
}

// a and b at their places: i-th element of the lane, by the manual's formulas.
static void test_f16(void **state)
{
    (void)state;
    struct cpu c;
    open_buffers(&c);
    struct fragments f = {0};
    for (int lane = 0; lane < 32; lane++) {
        int g = lane >> 2, t = lane % 4;
        for (int i = 0; i < 8; i++) {
            int row = i < 2 || (i >= 4 && i < 6) ? g : g + 8, col = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
            f.a[lane][i / 2] |= (uint32_t)half_of(small(row, col, 1)) << (16 * (i % 2));
        }
        for (int i = 0; i < 4; i++) {
            int row = t * 2 + (i & 1) + (i >= 2 ? 8 : 0);
            f.b[lane][i / 2] |= (uint32_t)half_of(small(row, g, 2)) << (16 * (i % 2));
            f.c[lane][i] = bits_of((float)small(i < 2 ? g : g + 8, t * 2 + (i & 1), 3));
        }
    }
    run_mma(&c, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, &f);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row = (lane >> 2) + (i < 2 ? 0 : 8), col = lane % 4 * 2 + (i & 1), sum = small(row, col, 3);
            for (int k = 0; k < 16; k++)
                sum += small(row, k, 1) * small(k, col, 2);
            assert_true(single(f.d[lane][i]) == (float)sum);
        }
    assert_true(cpu_fact(&c, "flops.tensor") == 2 * 16 * 8 * 16);
    cpu_close(&c);
}

static void test_tf32(void **state)
{
    (void)state;
    struct cpu c;
    open_buffers(&c);
    struct fragments f = {0};
    for (int lane = 0; lane < 32; lane++) {
        int g = lane >> 2, t = lane % 4;
        for (int i = 0; i < 4; i++) // bits below tf32's fraction do not count
            f.a[lane][i] = bits_of((float)small(g + (i & 1) * 8, t + (i >> 1) * 4, 1)) | 0xfff;
        for (int i = 0; i < 2; i++)
            f.b[lane][i] = bits_of((float)small(t + i * 4, g, 2));
        for (int i = 0; i < 4; i++)
            f.c[lane][i] = bits_of(1.5f);
    }
    run_mma(&c, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, &f);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row = (lane >> 2) + (i < 2 ? 0 : 8), col = lane % 4 * 2 + (i & 1), sum = 0;
            for (int k = 0; k < 8; k++)
                sum += small(row, k, 1) * small(k, col, 2);
            assert_true(single(f.d[lane][i]) == (float)sum + 1.5f);
        }
    cpu_close(&c);
}

static void test_s8(void **state)
{
    (void)state;
    struct cpu c;
    open_buffers(&c);
    struct fragments f = {0};
    for (int lane = 0; lane < 32; lane++) {
        int g = lane >> 2, t = lane % 4;
        for (int i = 0; i < 16; i++) {
            int row = i < 4 || (i >= 8 && i < 12) ? g : g + 8, col = t * 4 + (i & 3) + (i >= 8 ? 16 : 0);
            f.a[lane][i / 4] |= (uint32_t)(uint8_t)(small(row, col, 1) * 30) << (8 * (i % 4));
        }
        for (int i = 0; i < 8; i++) {
            int row = t * 4 + (i & 3) + (i >= 4 ? 16 : 0);
            f.b[lane][i / 4] |= (uint32_t)(uint8_t)(small(row, g, 2) * 30) << (8 * (i % 4));
        }
        f.c[lane][0] = 0x7fffff00;
    }
    run_mma(&c, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4, 2, 4, &f);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row = (lane >> 2) + (i < 2 ? 0 : 8), col = lane % 4 * 2 + (i & 1);
            int64_t sum = i ? 0 : 0x7fffff00;
            for (int k = 0; k < 32; k++)
                sum += small(row, k, 1) * small(k, col, 2) * 900;
            assert_int_equal((int32_t)f.d[lane][i], sum > INT32_MAX ? INT32_MAX : sum);
        }
    cpu_close(&c);
}

static void test_ldmatrix(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(
        &c, "extern \"C\" __global__ void k(unsigned *out) { __shared__ __align__(16) unsigned short s[32][8]; int t = "
            "threadIdx.x;\n"
            "  for (int i = 0; i < 8; i++) s[t][i] = t * 8 + i; __syncwarp(); unsigned p = "
            "(unsigned)__cvta_generic_to_shared(&s[t][0]), r[4], q;\n"
            "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\" : \"=r\"(r[0]), "
            "\"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : \"r\"(p));\n"
            "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];\" : \"=r\"(q) : \"r\"(p));\n"
            "  for (int i = 0; i < 4; i++) out[t * 4 + i] = r[i]; out[128 + t] = q;\n"
            "  asm volatile(\"movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;\" : \"=r\"(q) : \"r\"(r[0])); out[160 + t] "
            "= q;\n"
            "  asm volatile(\"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};\" :: \"r\"(p), \"r\"(r[2]), "
            "\"r\"(r[3]) : \"memory\"); __syncwarp(); out[192 + t] = s[t][5]; }\n");
    unsigned *out = cpu_buffer(&c, "out", KB_I32, 224, NULL);
    uint64_t p = cpu_address(&c, 0);
    cpu_run(&c, "k", 1, 32, 0, &p, NULL);
    for (unsigned t = 0; t < 32; t++) {
        unsigned row = t / 4, col = t % 4 * 2;
        for (unsigned i = 0; i < 4; i++) {
            unsigned v = (8 * i + row) * 8 + col;
            assert_int_equal(out[t * 4 + i], v | (v + 1) << 16);
        }
        unsigned v = col * 8 + row;
        assert_int_equal(out[128 + t], v | (v + 8) << 16);
        assert_int_equal(out[160 + t], v | (v + 8) << 16);
        assert_int_equal(out[192 + t], (t < 16 ? t + 16 : t) * 8 + 5);
    }
    cpu_close(&c);
}

static void test_wmma(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, "#include <mma.h>\nusing namespace nvcuda;\n"
                      "extern \"C\" __global__ void k(const half *a, const half *b, float *c, int n, int ldb) {\n"
                      "  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa; "
                      "wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;\n"
                      "  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc; wmma::fill_fragment(fc, 1.0f);\n"
                      "  for (int k = 0; k < n; k += 16) { wmma::load_matrix_sync(fa, a + k, n); "
                      "wmma::load_matrix_sync(fb, b + k, ldb); wmma::mma_sync(fc, fa, fb, fc); }\n"
                      "  for (int i = 0; i < fc.num_elements; i++) fc.x[i] *= 2; wmma::store_matrix_sync(c, fc, 16, "
                      "wmma::mem_col_major); }\n");
    enum { N = 48 };
    uint16_t *a = cpu_buffer(&c, "a", KB_F16, 16 * N, NULL), *b = cpu_buffer(&c, "b", KB_F16, 16 * N, NULL);
    float *out = cpu_buffer(&c, "c", KB_F32, 256, NULL);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < N; k++) {
            a[i * N + k] = half_of(small(i, k, 1));
            b[i * N + k] = half_of(small(k, i, 2));
        }
    int n = N;
    uint64_t p[3] = {cpu_address(&c, 0), cpu_address(&c, 1), cpu_address(&c, 2)};
    cpu_run(&c, "k", 1, 32, 0, &p[0], &p[1], &p[2], &n, &n, NULL);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int sum = 1;
            for (int k = 0; k < N; k++)
                sum += small(i, k, 1) * small(k, j, 2);
            assert_true(out[j * 16 + i] == (float)(2 * sum));
        }
    cpu_close(&c);
}

// f64: m8n8k4, with the fragments as the manual draws them.
static void test_f64(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, "extern \"C\" __global__ void k(const double *a, const double *b, double *d) { int t = "
                      "threadIdx.x; double x, y;\n"
                      "  asm volatile(\"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, "
                      "{%4,%5};\" : \"=d\"(x), \"=d\"(y) : \"d\"(a[t]), \"d\"(b[t]), \"d\"(0.5), \"d\"(0.25));\n"
                      "  d[2 * t] = x; d[2 * t + 1] = y; }\n");
    double *a = cpu_buffer(&c, "a", KB_F64, 32, NULL), *b = cpu_buffer(&c, "b", KB_F64, 32, NULL);
    double *d = cpu_buffer(&c, "d", KB_F64, 64, NULL);
    for (int t = 0; t < 32; t++) {
        a[t] = small(t >> 2, t % 4, 1) / 3.0;
        b[t] = small(t % 4, t >> 2, 2) / 7.0;
    }
    uint64_t p[3] = {cpu_address(&c, 0), cpu_address(&c, 1), cpu_address(&c, 2)};
    cpu_run(&c, "k", 1, 32, 0, &p[0], &p[1], &p[2], NULL);
    for (int t = 0; t < 32; t++)
        for (int i = 0; i < 2; i++) {
            double sum = i ? 0.25 : 0.5;
            for (int k = 0; k < 4; k++)
                sum = fma(small(t >> 2, k, 1) / 3.0, small(k, t % 4 * 2 + i, 2) / 7.0, sum);
            assert_true(d[2 * t + i] == sum);
        }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f16),      cmocka_unit_test(test_tf32),
                                       cmocka_unit_test(test_s8),       cmocka_unit_test(test_f64),
                                       cmocka_unit_test(test_ldmatrix), cmocka_unit_test(test_wmma)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
