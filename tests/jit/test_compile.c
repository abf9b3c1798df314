// NVRTC itself on small sources: architectures, include paths, encodings, changed headers, kernel names.
#include "jit/support_compile.h"

#include "base/hash.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char plain[] =
    "__global__ void add(const float *a, float *b, int n)\n{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        b[i] += a[i];\n}\n";

static void test_plain(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "add.cu", plain);
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_true(t.result.ok);
    assert_true(t.result.cubin_size > 0);
    assert_true(t.result.ptx_size > 0);
    assert_non_null(strstr(t.result.ptx, ".target sm_90"));
    assert_int_equal(t.result.kernel_count, 1);
    const struct kb_compiled_kernel *k = &t.result.kernels[0];
    assert_string_equal(k->name, "add");
    assert_string_equal(k->lowered, "_Z3addPKfPfi");
    assert_int_equal(k->line, 1);
    assert_true(k->registers > 0);
    assert_int_equal(k->param_count, 3);
    assert_int_equal(k->params[2].offset, 16);
    assert_int_equal(k->params[2].bytes, 4);
    assert_int_equal(k->spill_store_bytes, 0);
    assert_int_equal(k->shared_bytes, 0);
    trial_free(&t);
}

// A function that is not inlined spills for the kernel that calls it, and for no other.
static void test_spills_of_a_called_function(void **state)
{
    (void)state;
    skip_without_nvrtc();
    static const char source[] =
        "__device__ __noinline__ float heavy(const float *p, int n)\n{\n    float a[60], s = 0;\n#pragma unroll\n"
        "    for (int i = 0; i < 60; i++)\n        a[i] = p[i * n + threadIdx.x];\n#pragma unroll\n"
        "    for (int i = 0; i < 60; i++)\n        s += a[i] * a[59 - i] * a[i * 7 % 60];\n    return s;\n}\n"
        "__global__ void calls(const float *p, float *q, int n) { q[threadIdx.x] = heavy(p, n); }\n"
        "__global__ void spills(const float *p, float *q, int n)\n{\n    float a[60], s = 0;\n#pragma unroll\n"
        "    for (int i = 0; i < 60; i++)\n        a[i] = p[i * n + threadIdx.x];\n#pragma unroll\n"
        "    for (int i = 0; i < 60; i++)\n        s += a[i] * a[59 - i] * a[i * 7 % 60];\n"
        "    q[threadIdx.x] = s * heavy(p + 1, n);\n}\n"
        "__global__ void plain(float *q) { q[0] = 1; }\n";
    struct trial t = {0};
    trial_file(&t, "h.cu", source);
    trial_option(&t, "-maxrregcount=32");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_int_equal(t.result.kernel_count, 3);
    const struct kb_compiled_kernel *k = t.result.kernels;
    assert_string_equal(k[0].name, "calls");
    assert_true(k[0].spill_store_bytes > 0 && k[0].spill_load_bytes > 0 && k[0].stack_bytes > 0);
    assert_true(k[1].spill_store_bytes > k[0].spill_store_bytes);
    assert_int_equal(k[2].spill_store_bytes, 0);
    assert_int_equal(k[2].stack_bytes, 0);
    trial_free(&t);
}

// B1
static void test_virtual_architecture(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "add.cu", plain);
    t.request.arch = "compute_90";
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_non_null(strstr(t.result.reason, "virtual architecture"));
    assert_non_null(strstr(t.result.reason, "sm_90"));
    assert_null(t.result.cubin);
    trial_free(&t);
}

static void test_unsupported_architectures(void **state)
{
    (void)state;
    skip_without_nvrtc();
    static const char *const archs[] = {"sm_30", "sm_999"};
    for (size_t i = 0; i < 2; i++) {
        struct trial t = {0};
        trial_file(&t, "add.cu", plain);
        t.request.arch = archs[i];
        trial_run(&t);
        assert_int_equal(t.status, 0);
        assert_false(t.result.ok);
        assert_non_null(strstr(t.result.reason, "this NVRTC ("));
        assert_non_null(strstr(t.result.reason, "libnvrtc"));
        assert_non_null(strstr(t.result.reason, archs[i] + 3));
        assert_true(strlen(t.result.log) > 0);
        trial_free(&t);
    }
}

static void test_option_without_cubin(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "add.cu", plain);
    trial_option(&t, "-dlto");
    t.request.options_allowed = true;
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_non_null(strstr(t.result.reason, "no cubin"));
    trial_free(&t);
}

static void test_wrong_option(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "add.cu", plain);
    trial_option(&t, "-no-such-option");
    t.request.options_allowed = true;
    trial_run(&t);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "", 0, "-no-such-option"));
    trial_free(&t);
}

// B2
static void test_include_paths(void **state)
{
    (void)state;
    skip_without_nvrtc();
    if (!kb_toolkit_include(kb_toolkit_get()))
        skip();
    struct trial t = {0};
    trial_file(&t, "sub/q.cu",
               "#include <cuda/std/cstdint>\n#include <cuda_fp16.h>\n#include \"h.h\"\n#include <far.h>\n"
               "__global__ void q(cuda::std::uint32_t *p, __half h) { *p = NEAR + FAR + N; }\n");
    trial_file(&t, "sub/h.h", "#include \"deep/near.h\"\n");
    trial_file(&t, "sub/deep/near.h", "#define NEAR 1\n");
    trial_file(&t, "with blank/far.h", "#define FAR 2\n");
    trial_file(&t, "unused.h", "#error never read\n");
    trial_include_dir(&t, "with blank");
    trial_define(&t, "N=3");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_true(t.result.ok);
    if (t.result.includes_known) {
        assert_int_equal(t.result.include_count, 3);
        for (int i = 0; i < 3; i++)
            assert_string_not_equal(t.result.includes[i], "unused.h");
    }
    trial_free(&t);
}

static void test_host_headers_do_not_hide_errors(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "q.cu", "#include <stdint.h>\n#include <nowhere.h>\n__global__ void q(unsigned *p) { nope(p); }\n");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "q.cu", 3, "nope")); // what the user has to mend, not the header
    trial_free(&t);
}

static void test_same_source_same_bytes(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct kb_hash cubin[2], ptx[2];
    for (int i = 0; i < 2; i++) {
        struct trial t = {0};
        trial_file(&t, "sub/k.cu", "#include \"h.h\"\n__global__ void k(float *p)\n{\n    p[0] = f(p[1]);\n}\n");
        trial_file(&t, "sub/h.h", "__device__ inline float f(float x)\n{\n    return sinf(x) * 2;\n}\n");
        trial_run(&t);
        assert_true(t.result.ok);
        cubin[i] = kb_hash_of(t.result.cubin, t.result.cubin_size);
        ptx[i] = kb_hash_of(t.result.ptx, t.result.ptx_size);
        assert_null(memmem(t.result.cubin, t.result.cubin_size, "kbench-worker-", 14));
        assert_null(strstr(t.result.ptx, "kbench-worker-"));
        assert_non_null(strstr(t.result.ptx, "\"/sub/k.cu\""));
        trial_free(&t);
    }
    assert_string_equal(cubin[0].hex, cubin[1].hex);
    assert_string_equal(ptx[0].hex, ptx[1].hex);
}

// B3
static void test_byte_order_mark(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "b.cu", "\xef\xbb\xbf__global__ void b(int *p) { p[0] = nope; }\n");
    trial_run(&t);
    assert_false(t.result.ok);
    assert_int_equal(t.result.message_count, 1);
    assert_int_equal(t.result.messages[0].line, 1);
    assert_int_equal(t.result.messages[0].column, 36); // as an editor counts, which does not show the mark
    assert_int_equal(t.result.note_count, 1);
    assert_non_null(strstr(t.result.notes[0], "byte order mark"));
    trial_free(&t);
}

static void test_text_beyond_ascii(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "u.cu",
               "// \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80\r\n#define TWO(x) \\\r\n    (2 * (x))\r\n"
               "__global__ void u(int *p) { p[0] = TWO(p[1]); }\r\n");
    trial_run(&t);
    assert_true(t.result.ok);
    trial_free(&t);
    trial_file(&t, "e.cu", "__global__ void caf\xc3\xa9(int *p) { p[0] = 1; }\n");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "e.cu", 1, "unrecognized token"));
    trial_free(&t);
}

static void test_no_kernel(void **state)
{
    (void)state;
    struct trial t = {0};
    trial_file(&t, "naive.cu", "");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_string_equal(t.result.reason, "no __global__ function in naive.cu (0 bytes)");
    trial_free(&t);
    trial_file(&t, "naive.cu", "// __global__ void k() {}\n");
    trial_run(&t);
    assert_false(t.result.ok);
    assert_string_equal(t.result.reason, "no __global__ function in naive.cu (26 bytes)");
    trial_free(&t);
}

// B5
static long value_with_header(const char *header)
{
    struct trial t = {0};
    trial_file(&t, "k.cu", "#include \"h.h\"\n__global__ void k(int *p) { p[0] = VALUE; }\n");
    trial_file(&t, "h.h", header);
    trial_run(&t);
    assert_true(t.result.ok);
    const char *moved = strstr(t.result.ptx, "%r1, ");
    long value = moved ? strtol(moved + 5, NULL, 10) : -1;
    trial_free(&t);
    return value;
}

static void test_changed_header_is_seen(void **state)
{
    (void)state;
    skip_without_nvrtc();
    assert_int_equal(value_with_header("#define VALUE 7\n"), 7);
    assert_int_equal(value_with_header("#define VALUE 22\n"), 22);
    assert_int_equal(value_with_header("#define VALUE 7\n"), 7);
}

static void test_options_refused(void **state)
{
    (void)state;
    static const char *const options[] = {"-pch", "--pch-dir=x", "-create-pch=x", "-G", "-arch=sm_80"};
    for (size_t i = 0; i < KB_COUNT(options); i++) {
        struct trial t = {0};
        trial_file(&t, "add.cu", plain);
        trial_option(&t, options[i]);
        trial_run(&t);
        assert_int_equal(t.status, -1);
        assert_string_equal(t.error.on, options[i]);
        trial_free(&t);
    }
}

// What starts programs or writes files is not even tried before it was allowed, whoever compiles.
static void test_options_that_ask(void **state)
{
    (void)state;
    static const char *const options[] = {"-ccbin=/nowhere/host", "-time=kbench-times.csv", "--nonsense"};
    for (size_t i = 0; i < KB_COUNT(options) * 2; i++) {
        struct trial t = {0};
        trial_file(&t, "add.cu", plain);
        trial_option(&t, options[i / 2]);
        t.request.compiler = i % 2 ? "nvcc" : "nvrtc";
        trial_run(&t);
        assert_int_equal(t.status, -1);
        assert_string_equal(t.error.on, options[i / 2]);
        assert_non_null(strstr(t.error.remedy, "kbench-tui allow"));
        trial_free(&t);
    }
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "add.cu", plain);
    trial_option(&t, "--nonsense");
    t.request.options_allowed = true;
    trial_run(&t);
    assert_int_equal(t.status, 0); // NVRTC says itself that it does not know it
    assert_false(t.result.ok);
    trial_free(&t);
}

// nvcc gives its words to a shell.
static void test_no_shell(void **state)
{
    (void)state;
    static const char *const defines[] = {"X=`touch ran`", "X=$(touch ran)", "X=${HOME}"};
    for (size_t i = 0; i < KB_COUNT(defines); i++) {
        struct trial t = {0};
        trial_file(&t, "add.cu", plain);
        trial_define(&t, defines[i]);
        t.request.compiler = "nvcc";
        trial_run(&t);
        assert_int_equal(t.status, -1);
        assert_string_equal(t.error.on, defines[i]);
        assert_non_null(strstr(t.error.what, "shell"));
        trial_free(&t);
    }
}

// B7
static const char many[] = "__constant__ float table[16];\n"
                           "template <class T> __global__ void k(T *p) { p[0] = T(table[0]); }\n"
                           "namespace n { __global__ void k(float *p) { p[0] = 1; } }\n"
                           "static __global__ void s(float *p) { p[0] = 2; }\n"
                           "__global__ void add(float *p) { p[0] += table[1]; }\n";

static void test_names(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    static const char *const asked[] = {"add", "n::k", "k<float>", "s"};
    trial_file(&t, "many.cu", many);
    for (size_t i = 0; i < 4; i++)
        trial_kernel(&t, asked[i]);
    trial_run(&t);
    assert_true(t.result.ok);
    assert_int_equal(t.result.kernel_count, 4);
    static const int lines[] = {5, 3, 2, 4};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(t.result.kernels[i].name, asked[i]);
        assert_non_null(strstr(t.result.ptx, t.result.kernels[i].lowered));
        assert_int_equal(t.result.kernels[i].line, lines[i]);
    }
    trial_free(&t);
}

static void test_all_plain_kernels(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "many.cu", many);
    trial_run(&t);
    assert_true(t.result.ok);
    assert_int_equal(t.result.kernel_count, 3); // the template has no instance
    assert_string_equal(t.result.kernels[0].name, "n::k");
    assert_string_equal(t.result.kernels[1].name, "s");
    assert_string_equal(t.result.kernels[2].name, "add");
    assert_int_equal(t.result.kernels[2].const_bytes, 64);
    trial_free(&t);
}

static void test_wrong_names(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "many.cu", many);
    trial_kernel(&t, "ad");
    trial_kernel(&t, "nosuch");
    trial_kernel(&t, "k");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "", 0, "\"ad\""));
    assert_true(trial_has_error(&t, "", 0, "did you mean \"add\"?"));
    assert_true(trial_has_error(&t, "", 0, "no kernel \"nosuch\" in many.cu; it has: k<...>, n::k, s, add"));
    assert_true(trial_has_error(&t, "", 0, "\"k\" is a template"));
    for (int i = 0; i < t.result.message_count; i++)
        assert_null(strstr(t.result.messages[i].file, "__nv_name_map"));
    trial_free(&t);
}

static void test_name_of_a_device_function(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "d.cu",
               "__device__ __noinline__ float f(float x) { return x; }\n"
               "__global__ void k(float *p) { p[0] = f(p[0]); }\n");
    trial_kernel(&t, "f");
    trial_run(&t);
    assert_false(t.result.ok);
    assert_non_null(strstr(t.result.reason, "\"f\" is no __global__ function"));
    trial_free(&t);
}

static void test_overloads(void **state)
{
    (void)state;
    skip_without_nvrtc();
    static const char both[] = "__global__ void k(float *p) { p[0] = 1; }\n__global__ void k(double *p) { p[0] = 1; }\n"
                               "extern \"C\" __global__ void e(int *p) { p[0] = 1; }\n";
    struct trial t = {0};
    trial_file(&t, "o.cu", both);
    trial_kernel(&t, "k");
    trial_run(&t);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "", 0, "\"k\" is overloaded"));
    trial_free(&t);
    trial_file(&t, "o.cu", both);
    trial_kernel(&t, "(void (*)(double *))k");
    trial_kernel(&t, "e");
    trial_run(&t);
    assert_true(t.result.ok);
    assert_string_equal(t.result.kernels[0].lowered, "_Z1kPd");
    assert_string_equal(t.result.kernels[1].lowered, "e");
    trial_free(&t);
    trial_file(&t, "o.cu", both); // all of them: names that tell them apart
    trial_run(&t);
    assert_int_equal(t.result.kernel_count, 3);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(t.result.kernels[i].name, t.result.kernels[k].name);
    trial_free(&t);
}

static void test_line_breaks_are_refused(void **state)
{
    (void)state;
    struct trial t = {0};
    trial_file(&t, "add.cu", plain);
    trial_kernel(&t, "add\n#error x");
    trial_run(&t);
    assert_int_equal(t.status, -1);
    trial_free(&t);
    trial_file(&t, "add.cu", plain);
    trial_define(&t, "N=1\n#error x");
    trial_run(&t);
    assert_int_equal(t.status, -1);
    trial_free(&t);
}

static void test_too_much_shared_memory(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "s.cu",
               "\n__global__ void big(float *p)\n{\n    __shared__ float t[20000];\n    t[threadIdx.x] = p[0];\n"
               "    __syncthreads();\n    p[0] = t[3];\n}\n");
    trial_run(&t);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "s.cu", 2, "80000 bytes"));
    trial_free(&t);
}

static void test_wrong_assembly(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "a.cu",
               "__global__ void k(int *p)\n{\n    asm volatile(\"foo.bar %r1, %r2;\");\n    p[0] = 1;\n}\n");
    trial_run(&t);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "", 0, "'.bar'"));
    trial_free(&t);
}

static void test_names_that_leave_the_tree(void **state)
{
    (void)state;
    static const char *const names[] = {"../x.cu", "/etc/x.cu", "a/../x.cu", "a\nb.cu", "a//b.cu", ""};
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        struct trial t = {0};
        trial_file(&t, names[i], plain);
        trial_run(&t);
        assert_int_equal(t.status, -1);
        assert_true(strlen(t.error.what) > 0);
        trial_free(&t);
    }
}

static void test_odd_file_names(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "a (b): c/x(3) \"q\\.cu", "__global__ void k(int *p) { p[0] = nope; }\n");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_true(trial_has_error(&t, "a (b): c/x(3) \"q\\.cu", 1, "nope"));
    trial_free(&t);
    trial_file(&t, "k.cu", "#line 1 \"orig name (v2).cu\"\n__global__ void k(int *p) { p[0] = nope; }\n");
    trial_run(&t);
    assert_true(trial_has_error(&t, "orig name (v2).cu", 1, "nope"));
    trial_free(&t);
}

static void test_working_folder_stays(void **state)
{
    (void)state;
    skip_without_nvrtc();
    char *here = getcwd(NULL, 0);
    struct trial t = {0};
    trial_file(&t, "add.cu", plain);
    trial_run(&t);
    trial_free(&t);
    char *after = getcwd(NULL, 0);
    assert_string_equal(here, after);
    free(here);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_spills_of_a_called_function),
        cmocka_unit_test(test_virtual_architecture),
        cmocka_unit_test(test_unsupported_architectures),
        cmocka_unit_test(test_option_without_cubin),
        cmocka_unit_test(test_wrong_option),
        cmocka_unit_test(test_include_paths),
        cmocka_unit_test(test_host_headers_do_not_hide_errors),
        cmocka_unit_test(test_same_source_same_bytes),
        cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_text_beyond_ascii),
        cmocka_unit_test(test_no_kernel),
        cmocka_unit_test(test_changed_header_is_seen),
        cmocka_unit_test(test_options_refused),
        cmocka_unit_test(test_options_that_ask),
        cmocka_unit_test(test_no_shell),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_all_plain_kernels),
        cmocka_unit_test(test_wrong_names),
        cmocka_unit_test(test_name_of_a_device_function),
        cmocka_unit_test(test_overloads),
        cmocka_unit_test(test_line_breaks_are_refused),
        cmocka_unit_test(test_too_much_shared_memory),
        cmocka_unit_test(test_wrong_assembly),
        cmocka_unit_test(test_names_that_leave_the_tree),
        cmocka_unit_test(test_odd_file_names),
        cmocka_unit_test(test_working_folder_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
