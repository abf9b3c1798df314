// Sources with host code: what is blanked, what stays, and that NVRTC or nvcc then takes them.
#include "jit/support_compile.h"

#include "base/file.h"
#include "base/memory.h"
#include "jit/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void expect_blanked(const char *before, const char *after, int functions)
{
    struct kb_host_text t;
    kb_host_blank(before, strlen(before), &t);
    assert_string_equal(t.text, after);
    assert_int_equal(t.blanked, functions);
    free(t.text);
}

static void test_blanking(void **state)
{
    (void)state;
    expect_blanked("__global__ void k() {}\nint main() {\n  k<<<1, 1>>>();\n}\nint x;\n",
                   "__global__ void k() {}\n            \n                \n \nint x;\n", 1);
    expect_blanked("__device__ int f() { return 1; }\n__host__ __device__ int g() { return 2; }\n"
                   "constexpr int h() { return 3; }\n",
                   "__device__ int f() { return 1; }\n__host__ __device__ int g() { return 2; }\n"
                   "constexpr int h() { return 3; }\n",
                   0);
    expect_blanked("namespace a { struct s { int f() { return 1; } }; void g() {} }\n",
                   "namespace a { struct s { int f() { return 1; } };             }\n", 1);
    expect_blanked("template <int N = (3)> struct t { int x[N]; };\ntemplate <class T> void f(T x) { }\n",
                   "template <int N = (3)> struct t { int x[N]; };\n                                  \n", 1);
    expect_blanked("// void f() {\n#define A() void f() {\nint t[] = { 1, 2 };\nextern \"C\" {\nvoid f() { }\n}\n",
                   "// void f() {\n#define A() void f() {\nint t[] = { 1, 2 };\nextern \"C\" {\n            \n}\n", 1);
    expect_blanked("void f()\n{\n#define N 3\n  g(\"}\");\n}\nint y = N;\n",
                   "        \n \n#define N 3\n         \n \nint y = N;\n", 1);
    expect_blanked("void f() { {\n", "void f() { {\n", 0); // not understood: left alone
    expect_blanked("} void f() { }\n", "} void f() { }\n", 0);
    expect_blanked("HD_DEVICE int f() { return 1; }\nMAKE(k) { int i = threadIdx.x; }\n",
                   "HD_DEVICE int f() { return 1; }\nMAKE(k) { int i = threadIdx.x; }\n", 0);
    expect_blanked("struct s f() { }\nstruct __align__(8) v { int x; };\n",
                   "                \nstruct __align__(8) v { int x; };\n", 1);
    expect_blanked("", "", 0);
}

static void test_blanking_lines(void **state)
{
    (void)state;
    char text[] = "struct a { int x; };\nstd::vector<int> v(3);\n__global__ void k() { nope(); }\nint z;\n";
    int lines[] = {2, 3};
    assert_int_equal(kb_host_blank_lines(text, lines, 2), 1);
    assert_string_equal(text,
                        "struct a { int x; };\n                      \n__global__ void k() { nope(); }\nint z;\n");
    expect_blanked("int y;\nstd::vector<int> v(3);\n", "int y;\n                      \n", 1); // remembered
}

// Any text: the length and the lines stay, and nothing is read outside of it.
static void test_garbage(void **state)
{
    (void)state;
    static const char parts[][24] = {"{",
                                     "}",
                                     "(",
                                     ")",
                                     ";",
                                     "\n",
                                     "#define A \\\n",
                                     "namespace n ",
                                     "template <class T> ",
                                     "struct s ",
                                     "void f",
                                     "\"a\"",
                                     "//",
                                     "/*",
                                     "*/",
                                     "R\"(",
                                     "=",
                                     "\\",
                                     " ",
                                     "__global__ ",
                                     "extern \"C\" ",
                                     "#if 1\n",
                                     "'",
                                     "operator",
                                     "[",
                                     "]",
                                     "<",
                                     ">"};
    srand(3);
    for (int round = 0; round < 5000; round++) {
        struct kb_text t = {0};
        struct kb_host_text out;
        for (int i = rand() % 24; i >= 0; i--)
            kb_text_add(&t, parts[(size_t)rand() % KB_COUNT(parts)]);
        char *exact = malloc(t.size); // no NUL behind it
        memcpy(exact, t.data, t.size);
        kb_host_blank(exact, t.size, &out);
        assert_int_equal(strlen(out.text), t.size);
        for (size_t i = 0; i < t.size; i++)
            assert_true((out.text[i] == '\n') == (exact[i] == '\n'));
        int lines[] = {1, 2, 3};
        kb_host_blank_lines(out.text, lines, 3);
        assert_int_equal(strlen(out.text), t.size);
        free(exact);
        free(out.text);
        kb_text_free(&t);
    }
}

static const char with_host[] =
    "#include <cstdio>\n#include <vector>\n#include <cublas_v2.h>\n#include <helper/none.h>\n"
    "__global__ void k(float *p, uint32_t n) { if (n) printf(\"%d\", 3); p[0] = fmaxf(p[1], NAN) + FLT_MAX; }\n"
    "static std::vector<float> sizes;\n"
    "int main()\n{\n    float *d;\n    cudaMalloc(&d, 100);\n    k<<<1, 32>>>(d, 3);\n    return 0;\n}\n";

static void test_nvrtc_takes_it(void **state)
{
    (void)state;
    skip_without_nvrtc();
    if (!kb_toolkit_include(kb_toolkit_get()))
        skip();
    struct trial t = {0};
    trial_file(&t, "h.cu", with_host);
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_true(t.result.ok);
    assert_string_equal(t.result.kernels[0].name, "k");
    assert_int_equal(t.result.kernels[0].line, 5);
    assert_true(kb_starts(t.result.compiler, "nvrtc"));
    assert_true(t.result.note_count >= 1);
    assert_non_null(strstr(t.result.notes[0], "host code left out"));
    assert_non_null(strstr(t.result.notes[0], "<helper/none.h>"));
    trial_free(&t);
    trial_file(&t, "h.cu", "#include <vector>\n#include \"own.h\"\n__global__ void k(float *p) { p[0] = 1; }\n");
    trial_run(&t); // a header of one's own that is missing is an error
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "h.cu", 2, "own.h"));
    trial_free(&t);
}

// Toolkit headers that want the host's, prototypes of host functions alone, constexpr functions that device code calls.
static void test_host_code_without_bodies(void **state)
{
    (void)state;
    skip_without_nvrtc();
    if (!kb_toolkit_include(kb_toolkit_get()))
        skip();
    static const char *const sources[] = {
        "#include <cuda.h>\n#include <nvtx3/nvToolsExtCudaRt.h>\n__global__ void k(float *p) { p[0] = 1; }\n",
        "void setup(int x);\nextern \"C\" void launch(float *p, int n);\n__global__ void k(float *p) { p[0] = 1; }\n",
        "constexpr int twice(int n) { return 2 * n; }\n__global__ void k(float *p) { p[0] = twice((int)p[1]); }\n"};
    for (size_t i = 0; i < KB_COUNT(sources); i++) {
        struct trial t = {0};
        trial_file(&t, "h.cu", sources[i]);
        trial_run(&t);
        assert_int_equal(t.status, 0);
        if (!t.result.ok)
            fail_msg("%s\n%s", sources[i], t.result.reason);
        assert_true(kb_starts(t.result.compiler, "nvrtc"));
        trial_free(&t);
    }
}

static void test_errors_keep_their_place(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(
        &t, "h.cu",
        "#include <vector>\nvoid host()\n{\n    std::vector<int> v;\n}\n__global__ void k(int *p) { p[0] = nope; }\n");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "h.cu", 6, "nope"));
    assert_int_equal(t.result.messages[0].column, 36);
    trial_free(&t);
}

// A wrong device function is never left out, not even where no kernel calls it.
static void test_device_code_is_never_left_out(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "h.cu",
               "#include <vector>\nstd::vector<int> v;\n__device__ int f() { return nope; }\n"
               "struct s { __device__ int g() { return neither; } };\n__global__ void k(int *p) { p[0] = 1; }\n");
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "h.cu", 3, "nope"));
    assert_true(trial_has_error(&t, "h.cu", 4, "neither"));
    trial_free(&t);
}

static void test_plain_errors_are_not_tried_again(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "h.cu", "__global__ void k(int *p) { p[0] = nope; }\n");
    t.request.compiler = "auto";
    trial_run(&t);
    assert_false(t.result.ok);
    assert_int_equal(t.result.note_count, 0);
    assert_true(kb_starts(t.result.compiler, "nvrtc"));
    trial_free(&t);
}

static void test_nvcc(void **state)
{
    (void)state;
    char *nvcc = kb_toolkit_tool(kb_toolkit_get(), "nvcc", NULL);
    if (!nvcc)
        skip();
    free(nvcc);
    struct trial t = {0};
    trial_file(
        &t, "sub/h.cu",
        "#include <vector>\n#include \"h.h\"\n__global__ void k(float *p) { p[0] = N; }\n"
        "template <class T> __global__ void one(T *p) { p[0] = 2; }\ntemplate __global__ void one<float>(float *);\n"
        "int main() { std::vector<int> v(3); k<<<1, 1>>>(nullptr); }\n");
    trial_file(&t, "sub/h.h", "#define N 5\n");
    trial_kernel(&t, "k");
    t.request.compiler = "nvcc";
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_true(t.result.ok);
    assert_true(kb_starts(t.result.compiler, "nvcc "));
    assert_int_equal(t.result.kernel_count, 1);
    assert_string_equal(t.result.kernels[0].name, "k");
    assert_true(t.result.kernels[0].registers > 0);
    assert_int_equal(t.result.kernels[0].param_count, 1);
    assert_null(memmem(t.result.cubin, t.result.cubin_size, "kbench-worker-", 14));
    assert_non_null(strstr(t.result.ptx, ".entry"));
    trial_free(&t);
    trial_file(&t, "h.cu", "__global__ void k(float *p) { p[0] = nope; }\n");
    t.request.compiler = "nvcc";
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "h.cu", 1, "nope"));
    assert_int_equal(t.result.messages[0].column, 38);
    trial_free(&t);
}

static const char instances[] = "#include <vector>\ntemplate <class T, int N> __global__ void k(T *p) { p[0] = N; }\n"
                                "template __global__ void k<double, 3>(double *);\n";

static void test_nvcc_instances(void **state)
{
    (void)state;
    char *nvcc = kb_toolkit_tool(kb_toolkit_get(), "nvcc", NULL);
    if (!nvcc)
        skip();
    free(nvcc);
    struct trial t = {0};
    trial_file(&t, "t.cu", instances);
    trial_kernel(&t, "k<float, 5>");
    t.request.compiler = "nvcc";
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_true(t.result.ok);
    assert_string_equal(t.result.kernels[0].name, "k<float, 5>");
    assert_string_equal(t.result.kernels[0].lowered, "_Z1kIfLi5EEvPT_");
    trial_free(&t);
    trial_file(&t, "t.cu", instances);
    trial_kernel(&t, "kk<float, 5>");
    t.request.compiler = "nvcc";
    trial_run(&t);
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "", 0, "no kernel \"kk<float, 5>\" in t.cu; it has: k<...>"));
    trial_free(&t);
}

// A header of one's own as CUDA projects have them.
static const char host_header[] = "#include <stdio.h>\n#include <cublas_v2.h>\nstatic cublasHandle_t handle;\n"
                                  "inline void check(cudaError_t e)\n{\n    if (e) printf(\"%d\", (int)e);\n}\n";

static void test_host_variables_of_headers_go_too(void **state)
{
    (void)state;
    skip_without_nvrtc();
    if (!kb_toolkit_include(kb_toolkit_get()))
        skip();
    struct trial t = {0};
    trial_file(&t, "h.cu",
               "#include \"check.h\"\n__global__ void k(float *p) { p[0] = 1; }\n"
               "int main() { check(cudaDeviceSynchronize()); }\n");
    trial_file(&t, "check.h", host_header);
    trial_run(&t);
    assert_int_equal(t.status, 0);
    if (!t.result.ok)
        fail_msg("%s", t.result.reason);
    assert_true(kb_starts(t.result.compiler, "nvrtc"));
    trial_free(&t);
}

// A stand-in for nvcc; $main is the source that it is asked to compile.
static void use_nvcc(const char *script)
{
    static const char path[] = "test-nvcc-stand-in";
    char *text = kb_format("#!/bin/sh\nfor a in \"$@\"; do case $a in *.cu) main=$a ;; esac; done\n%s\n", script);
    char *here = realpath(".", NULL), *file = kb_path_join(here, path);
    assert_int_equal(kb_file_replace(file, text, strlen(text), NULL), 0);
    assert_int_equal(chmod(file, 0755), 0);
    setenv("KBENCH_NVCC", file, 1);
    free(file), free(here), free(text);
}

static void end_nvcc(void)
{
    unlink(getenv("KBENCH_NVCC"));
    unsetenv("KBENCH_NVCC");
}

static void test_nvcc_gets_headers_as_they_were_written(void **state)
{
    (void)state;
    skip_without_nvrtc();
    struct trial t = {0};
    trial_file(&t, "sub/h.cu",
               "#include \"check.h\"\nstruct s { std::string n; __device__ int g() { return 1; } };\n"
               "__global__ void k(float *p) { p[0] = 1; }\nint main() { check(cudaDeviceSynchronize()); }\n");
    trial_file(&t, "sub/check.h", host_header);
    trial_file(&t, "sub/other.h", "inline int never_included() { return 1; }\n");
    t.request.compiler = "auto";
    use_nvcc("if grep -q '^inline void check' ${main%/*}/check.h && grep -q '^static cublasHandle' ${main%/*}/check.h\n"
             "then echo 'sub/h.cu(3): error: got what was written' >&2\n"
             "else echo 'sub/h.cu(3): error: got something else' >&2; fi; exit 1");
    trial_run(&t);
    end_nvcc();
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "sub/h.cu", 3, "got what was written"));
    if (t.result.includes_known) // writing a file for the compiler is not reading it
        for (int i = 0; i < t.result.include_count; i++)
            assert_string_not_equal(t.result.includes[i], "sub/other.h");
    trial_free(&t);
}

static void with_missing_header(struct trial *t, const char *kernel)
{
    static char source[400];
    snprintf(source, sizeof source, "#include <torch/extension.h>\n%s\n", kernel);
    trial_file(t, "h.cu", source);
    t->request.compiler = "auto";
    use_nvcc("echo 'h.cu:1:10: fatal error: torch/extension.h: No such file or directory' >&2; exit 1");
    trial_run(t);
    end_nvcc();
    assert_int_equal(t->status, 0);
    assert_false(t->result.ok);
    assert_true(trial_has_error(t, "h.cu", 1, "torch/extension.h"));
}

static void test_nvcc_does_not_hide_the_kernels_own_error(void **state)
{
    (void)state;
    skip_without_nvrtc();
    if (!kb_toolkit_include(kb_toolkit_get()))
        skip();
    struct trial t = {0};
    with_missing_header(&t, "template <int N> __device__ void f() { static_assert(N % 32 == 0, \"N is odd\"); }\n"
                            "__global__ void k(float *p) { f<100>(); }");
    assert_non_null(strstr(t.result.reason, "N is odd"));
    assert_non_null(strstr(t.result.reason, "more)")); // nvcc's
    trial_free(&t);
    with_missing_header(&t, "__global__ void k(float *p) { p[0] = nope; }");
    assert_non_null(strstr(t.result.reason, "h.cu:2: identifier \"nope\" is undefined"));
    trial_free(&t);
    with_missing_header(&t, "__global__ void k(at::Half *p) { p[0] = p[1]; }"); // the header is what is missing
    assert_non_null(strstr(t.result.reason, "torch/extension.h"));
    trial_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blanking),
        cmocka_unit_test(test_blanking_lines),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_nvrtc_takes_it),
        cmocka_unit_test(test_host_code_without_bodies),
        cmocka_unit_test(test_errors_keep_their_place),
        cmocka_unit_test(test_device_code_is_never_left_out),
        cmocka_unit_test(test_plain_errors_are_not_tried_again),
        cmocka_unit_test(test_host_variables_of_headers_go_too),
        cmocka_unit_test(test_nvcc_gets_headers_as_they_were_written),
        cmocka_unit_test(test_nvcc_does_not_hide_the_kernels_own_error),
        cmocka_unit_test(test_nvcc),
        cmocka_unit_test(test_nvcc_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
