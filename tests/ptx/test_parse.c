// The parser: what it takes, and that bad text gives an error with its line and nothing worse.
#include "support_cpu.h"

#include "base/memory.h"
#include "jit/ptx/program.h"

#include <stdlib.h>
#include <string.h>

static const char good[] =
    "// a comment\n.version 9.0\n.target sm_90, debug\n.address_size 64\n/* another\n one */\n"
    ".extern .shared .align 16 .b8 dyn[];\n.const .align 4 .b8 w[8] = {0, 0, 128, 63, 1};\n"
    ".global .align 8 .u64 table[2] = {f, generic(w)+4};\n.global .f32 one = 0f3F800000;\n.visible .global .align 4 "
    ".f64 d[2] = {1.5, -2};\n"
    ".func (.param .b32 r) f (.param .b32 a)\n{\n .reg .b32 %x<3>;\n ld.param.b32 %x0, [a+0];\n add.s32 %x1, %x0, 1;\n "
    "st.param.b32 [r], %x1;\n ret;\n}\n"
    ".visible .entry k(.param .u64 .ptr .global .align 4 p, .param .align 8 .b8 s[24]) .maxntid 128, 1, 1 "
    ".minnctapersm 2\n{\n"
    " .reg .pred %p<4>;\n .reg .b32 %r<10>, other;\n .reg .b64 %rd<5>;\n .reg .b16 %rs<3>;\n"
    " .shared .align 4 .b8 tile[128];\n .local .align 8 .b8 depot[16];\n"
    " .loc 1 3 5\n ld.param.u64 %rd1, [p];\n cvta.to.global.u64 %rd2, %rd1;\n mov.u32 %r1, %tid.x;\n"
    " { .reg .b32 %r1; .reg .pred q; mov.u32 %r1, 7; setp.eq.s32 q, %r1, 7; @q bra IN; IN: add.s32 other, %r1, 0; }\n"
    " { .reg .b32 t; mov.u32 t, 1; bra IN; IN: add.s32 other, other, t; }\n"
    " mov.b32 {%rs1, %rs2}, other;\n mov.u32 %r2, tile;\n st.shared.u32 [%r2+4], other;\n ld.shared.u32 %r3, "
    "[tile+4];\n"
    " .pragma \"nounroll\";\n$L__x: setp.lt.and.s32 %p1|%p2, %r1, -5, !%p3;\n @!%p1 bra $L__y;\n add.s32 %r3, %r3, "
    "1;\n$L__y:\n"
    " mul.wide.u32 %rd3, %r1, 4;\n add.s64 %rd4, %rd2, %rd3;\n st.global.u32 [%rd4], %r3;\n ret;\n}\n"
    ".file 1 \"a b.cu\"\n.section .debug_str\n{\n$L: .b8 95,0 .anything goes @@ here\n}\n";

static void test_good(void **state)
{
    (void)state;
    struct ptx_module *m;
    struct kb_error e;
    if (ptx_parse(good, sizeof good - 1, &m, &e))
        fail_msg("%s", kb_error_line(&e));
    assert_int_equal(m->version, 90);
    assert_int_equal(m->target, 90);
    const struct ptx_func *k = ptx_find_func(m, "k");
    assert_non_null(k);
    assert_true(k->is_entry);
    assert_int_equal(k->max_threads, 128);
    assert_int_equal(k->params->next->bytes, 24);
    ptx_decode(m);
    assert_null(ptx_refusal(k));
    assert_int_equal(ptx_place_of(m, k->insts[0].loc).line, 3);
    ptx_module_free(m);
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load(&c, good);
    int *out = cpu_buffer(&c, "p", KB_I32, 32, NULL);
    uint64_t p = cpu_address(&c, 0);
    char s[24] = {0};
    cpu_run(&c, "k", 1, 32, 0, &p, s, NULL);
    assert_int_equal(out[31], 8); // the inner %r1, plus one
    cpu_close(&c);
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *text, *on, *what;
    } rows[] = {
        {"", "PTX line 1", ".version"},
        {"\n\nhello", "PTX line 3", ".version"},
        {".version 9.0\n.target sm_90\n.address_size 32\n", "PTX line 3", "64-bit"},
        {".version 9.0\n.address_size 64\n", "PTX line 3", ".target"},
        {".version 9.0\n.target sm_90\n.entry k() {\n .reg .b32 %r<2>;\n add.s32 %r0, %r1, %r7;\n}\n", "PTX line 5",
         "%r7"},
        {".version 9.0\n.target sm_90\n.entry k() {\n ret;\n", "PTX line 5", "ends inside"},
        {".version 9.0\n.target sm_90\n.entry k() {\n .reg .f33 %x;\n}\n", "PTX line 4", "type"},
        {".version 9.0\n.target sm_90\n.entry k() {\n mov.u32 [, 3;\n}\n", "PTX line 4", ""},
        {".version 9.0\n.target sm_90\n.global .b8 x[2] = {1,2,3};\n", "PTX line 3", "longer"},
        {".version 9.0\n.target sm_90\n.global .b8 x[99999999999];\n", "PTX line 3", "bytes"},
        {".version 9.0\n.target sm_90\n.entry k() { a: a: ret; }\n", "PTX line 3", "twice"},
        {".version 9.0\n.target sm_90\n/* open", "PTX line 3", "comment"},
        {".version 9.0\n.target sm_90\n.global .texref t;\n", "PTX line 3", "textures"},
        {".version 9.0\n.target sm_90\n.entry k() {} .entry k() {}\n", "PTX line 3", "twice"},
        {".version 9.0\n.target sm_90\n\x01", "PTX line 3", "0x01"},
    };
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        struct ptx_module *m;
        struct kb_error e = {.what = ""};
        assert_int_equal(ptx_parse(rows[i].text, strlen(rows[i].text), &m, &e), -1);
        assert_null(m);
        if (strcmp(e.on, rows[i].on) || !strstr(e.what, rows[i].what))
            fail_msg("row %d: %s", (int)i, kb_error_line(&e));
    }
}

// Found by the fuzzer.
static void test_repeated_target(void **state)
{
    (void)state;
    const char *text = ".version 9.0\n.target sm_909\n.target sm_909\n.target sm_909\n.target sm_909\n.target sm_90\n";
    struct ptx_module *m;
    struct kb_error e;
    assert_int_equal(ptx_parse(text, strlen(text), &m, &e), 0);
    assert_int_equal(m->target, 90);
    ptx_module_free(m);
}

// Runs every kernel of a text that could be loaded; each ends, well or with a fault that says why.
static void run_kernels(const char *text, size_t size)
{
    struct cpu c;
    cpu_open(&c, size % 2 ? "full" : "bounds");
    char big[4096] = {0};
    const void *args[64];
    int n = 0;
    cpu_buffer(&c, "p", KB_F32, 256, NULL);
    uint64_t p = cpu_address(&c, 0);
    if (c.device->ops->load(c.device, text, size, &c.module, &c.error)) {
        cpu_close(&c);
        return;
    }
    struct ptx_module *m;
    assert_int_equal(ptx_parse(text, size, &m, &c.error), 0);
    const struct ptx_func *f = m->funcs;
    while (f && (!f->is_entry || f->is_extern))
        f = f->next;
    bool fits = f != NULL;
    for (const struct ptx_var *v = f ? f->params : NULL; v && n < 64; v = v->next) {
        args[n++] = v->bytes == 8 ? (const void *)&p : big;
        fits &= v->bytes <= sizeof big;
    }
    if (fits && cpu_try_args(&c, f->name, (int64_t[3]){2, 1, 1}, (int64_t[3]){48, 1, 1}, 64, false, n, args))
        assert_true(c.error.what[0]);
    ptx_module_free(m);
    cpu_close(&c);
}

// Parses, decodes, runs and forgets.
static void try_text(const char *text, size_t size)
{
    char *copy = kb_alloc(size + 1); // its own allocation, so that reading past it is caught
    memcpy(copy, text, size);
    char *exact = malloc(size ? size : 1);
    memcpy(exact, copy, size);
    struct ptx_module *m;
    struct kb_error e = {.what = ""};
    if (ptx_parse(exact, size, &m, &e)) {
        assert_true(e.what[0]);
        assert_int_equal(strncmp(e.on, "PTX line ", 9), 0);
    } else {
        ptx_decode(m);
        for (const struct ptx_func *f = m->funcs; f; f = f->next)
            if (!f->is_extern && !f->program)
                assert_true(f->refused.what[0]);
        ptx_module_free(m);
        run_kernels(exact, size);
    }
    free(exact);
    free(copy);
}

static void test_truncated(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof good; n++)
        try_text(good, n);
}

static void mutate(const char *text, size_t size, int rounds, uint32_t seed)
{
    static const char bits[] = "{}()[];,.:%$@!+-0x9fFr\"\n/*<>|_";
    char *copy = kb_alloc(size + 64);
    for (int n = 0; n < rounds; n++) {
        size_t length = size;
        memcpy(copy, text, size);
        seed = seed * 1664525u + 1013904223u;
        for (uint32_t k = 0; k < 1 + (seed >> 20) % 6; k++) {
            seed = seed * 1664525u + 1013904223u;
            size_t at = (seed >> 4) % length, other = (seed >> 9) % length, run = (seed >> 16) % 24;
            run = at + run > length ? length - at : run;
            run = other + run > length ? length - other : run;
            switch (seed >> 29) {
            case 0:
                copy[at] = (char)(seed >> 8);
                break;
            case 1:
            case 2:
                copy[at] = bits[(seed >> 8) % (sizeof bits - 1)];
                break;
            case 3:
                memmove(copy + at, copy + other, run);
                break;
            case 4: // cut out
                memmove(copy + at, copy + at + run, length - at - run);
                length -= run;
                break;
            case 5: // a digit more or less
                copy[at] = (char)('0' + seed % 10);
                break;
            default:
                copy[at] = copy[other];
            }
        }
        try_text(copy, length);
    }
    free(copy);
}

static void test_mutated(void **state)
{
    (void)state;
    mutate(good, sizeof good - 1, 6000, 1);
    char *ptx = cuda_to_ptx(
        "#include <cuda_fp16.h>\n#include <mma.h>\n"
        "extern \"C\" __global__ void k(__half2 *x, float *y, int n) { __shared__ float s[64]; int t = threadIdx.x;\n"
        "  if (t < n) x[t] = __hfma2(x[t], x[t + 1], x[t]); s[t] = y[t]; __syncthreads(); y[t] = s[63 - t] + "
        "__shfl_xor_sync(~0u, y[t], 1) + atomicAdd(y, 1.0f);\n"
        "  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f; nvcuda::wmma::fill_fragment(f, 0); "
        "nvcuda::wmma::store_matrix_sync(y, f, 16, nvcuda::wmma::mem_row_major); }\n",
        NULL);
    NEED_NVRTC(ptx);
    mutate(ptx, strlen(ptx), 1500, 2);
    free(ptx);
}

int main(void)
{
    setenv("KB_PTX_BUDGET", "20000", 1);
    setenv("KB_PTX_THREADS", "1", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
                                       cmocka_unit_test(test_repeated_target), cmocka_unit_test(test_truncated),
                                       cmocka_unit_test(test_mutated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
