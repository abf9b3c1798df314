// End to end with the real workers and the CPU device: files that no bench lists. Right kernels are never accused, and
// what a wrong guess can cause is a question.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "bench/guess.h"
#include "jit/compile.h"
#include "support_program.h"
#include "support_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 1800000 }; // of a hang
static char dir[256];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "%s/guess-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    kb_remove_tree(dir);
    return 0;
}

static char said[4096]; // on stderr by the last run

static char *once_of(const char *name, const char *kernel, const char *source, bool json, int exit_code)
{
    program_write(dir, name, source);
    char *path = kb_path_join(dir, name);
    char *argv[] = {KB_BUILD_DIR "/kbench-tui",
                    "--once",
                    "--device",
                    "cpu",
                    "--seed",
                    "7",
                    "--no-history",
                    "--no-profile",
                    path,
                    NULL,
                    NULL,
                    NULL,
                    NULL};
    int words = 9;
    if (kernel) {
        argv[words++] = "--kernel";
        argv[words++] = (char *)kernel;
    }
    argv[words] = json ? "--json" : NULL;
    struct kb_capture ran;
    struct kb_error error = {0};
    if (kb_capture(argv, NULL, PATIENCE_MS, 64 << 20, &ran, &error))
        fail_msg("%s", kb_error_line(&error));
    char *out = kb_strdup(ran.out.data ? ran.out.data : "");
    if (ran.timed_out || ran.exit_code != exit_code)
        fail_msg("%s\nexit code %d, not %d\n%s\n%s", source, ran.exit_code, exit_code, out,
                 ran.err.data ? ran.err.data : "");
    snprintf(said, sizeof said, "%s", ran.err.data ? ran.err.data : "");
    kb_capture_free(&ran);
    free(path);
    return out;
}

static char *once(const char *source, bool json, int exit_code)
{
    return once_of("k.cu", NULL, source, json, exit_code);
}

static cJSON *document_of(const char *source, int exit_code)
{
    char *text = once(source, true, exit_code);
    cJSON *document = schema_checked(text);
    free(text);
    return document;
}

static const cJSON *rung_of(const cJSON *document, const char *name)
{
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0), *rung;
    cJSON_ArrayForEach (rung, kb_json_get(variant, "rungs")) {
        if (!strcmp(kb_json_text(rung, "rung", ""), name))
            return rung;
    }
    fail_msg("no rung %s", name);
    return NULL;
}

static void rung_is(const cJSON *document, const char *name, const char *status, const char *reason)
{
    const cJSON *rung = rung_of(document, name);
    const char *why = kb_json_text(rung, "reason", "");
    if (strcmp(kb_json_text(rung, "status", ""), status) || !strstr(why, reason))
        fail_msg("%s: %s: %s", name, kb_json_text(rung, "status", ""), why);
}

// Inputs without const, arrays that are changed in place, counters, template parameters that are in no parameter,
// types by other names in the file and in a header, loops whose length is no size.
static void right_kernels_run(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "__global__ void add(float *a, float *b, float *c, int n)\n{\n    int i = blockIdx.x * blockDim.x + "
        "threadIdx.x;\n"
        "    if (i < n) c[i] = a[i] + b[i];\n}\n",
        "__global__ void twice(float *data, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) data[i] *= 2;\n}\n",
        "__global__ void count(unsigned char *text, unsigned *bins, int n)\n{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) atomicAdd(&bins[text[i]], 1u);\n}\n",
        "template <typename T, typename acc_t, bool flag>\n__global__ void k(const T *x, T *y, int n)\n{\n"
        "    static_assert(flag || sizeof(acc_t) == 4, \"\");\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    acc_t two = 2;\n    if (i < n) y[i] = x[i] * two;\n}\n",
        "#include \"types.h\"\n__global__ void k(const floatX *x, word *y, short *s, void *v, int n)\n{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) { y[i] = (word)x[i]; s[i] = 3; ((float4 *)v)[i] = make_float4(1, 2, 3, 4); }\n}\n",
        "__global__ void burn(const int *x, int *y, int num_iterations)\n{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0;\n"
        "    for (int k = 0; k < num_iterations; k++) s += x[i] ^ k;\n    y[i] = s;\n}\n",
        "struct Particle { float3 at; float mass; };\n"
        "__global__ void k(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n"
        "int main() { float *d; int n = 100; cudaMalloc(&d, n * sizeof(float)); k<<<1, 128>>>(d, n); }\n",
    };
    program_write(dir, "types.h", "typedef float floatX;\nusing word = unsigned;\n");
    for (size_t i = 0; i < KB_COUNT(sources); i++) {
        cJSON *document = document_of(sources[i], 0);
        rung_is(document, "run", "pass", "");
        cJSON_Delete(document);
    }
}

// Which of several is asked, and nothing runs until it was said.
static void several_kernels_are_a_question(void **state)
{
    (void)state;
    static const char source[] = "__global__ void one(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n"
                                 "template <typename T> __global__ void two(T *x, int n)\n"
                                 "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 2; }\n"
                                 "void f(double *x) { two<double><<<1, 64>>>(x, 64); two<int><<<2, 64>>>(0, 64); }\n";
    char *text = once_of("k.cu", NULL, source, true, 2);
    assert_string_equal(text, "");
    assert_non_null(strstr(said, "it holds 2 kernels"));
    assert_non_null(strstr(said, "\n  --kernel one\n  --kernel 'two<double>'\n  --kernel 'two<int>'\n"));
    free(text);
    text = once_of("k.cu", "two<int>", source, true, 0);
    cJSON *document = schema_checked(text);
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0);
    assert_string_equal(kb_json_text(variant, "kernel", ""), "two<int>");
    rung_is(document, "run", "pass", "");
    cJSON_Delete(document);
    free(text);
    text = once_of("k.cu", "tow", source, true, 2);
    assert_non_null(strstr(said, "did you mean two?"));
    free(text);
}

static void headers_are_sources(void **state)
{
    (void)state;
    char *text = once_of("k.cuh", NULL,
                         "#pragma once\n__global__ void twice(float *x, int n)\n{\n"
                         "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] *= 2;\n}\n",
                         true, 0);
    cJSON *document = schema_checked(text);
    rung_is(document, "run", "pass", "");
    cJSON_Delete(document);
    free(text);
}

// PTX as compilers write it: its addresses are those that it loads from and stores to.
static void ptx_is_a_source(void **state)
{
    (void)state;
    static const char source[] =
        "//\n.version 8.0\n.target sm_80\n.address_size 64\n\n.visible .entry _Z5twicePfS_i(\n"
        "\t.param .u64 _Z5twicePfS_i_param_0,\n\t.param .u64 .ptr .global .align 4 _Z5twicePfS_i_param_1,\n"
        "\t.param .u64 _Z5twicePfS_i_param_2\n)\n.maxntid 128, 1, 1\n{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<5>;\n"
        "\t.reg .f32 %f<3>;\n\t.reg .b64 %rd<9>;\n\tld.param.u64 %rd1, [_Z5twicePfS_i_param_0];\n"
        "\tld.param.u64 %rd2, [_Z5twicePfS_i_param_1];\n\tld.param.u64 %rd7, [_Z5twicePfS_i_param_2];\n"
        "\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmov.u32 %r4, %tid.x;\n"
        "\tmad.lo.s32 %r1, %r2, %r3, %r4;\n\tcvt.u64.u32 %rd8, %r1;\n\tsetp.ge.u64 %p1, %rd8, %rd7;\n\t@%p1 bra $end;\n"
        "\tcvta.to.global.u64 %rd3, %rd1;\n\tmul.wide.s32 %rd4, %r1, 4;\n\tadd.s64 %rd5, %rd3, %rd4;\n"
        "\tld.global.f32 %f1, [%rd5];\n\tadd.f32 %f2, %f1, %f1;\n\tcvta.to.global.u64 %rd6, %rd2;\n"
        "\tadd.s64 %rd6, %rd6, %rd4;\n\tst.global.f32 [%rd6], %f2;\n$end:\n\tret;\n}\n";
    char *ptxas = kb_toolkit_tool(kb_toolkit_get(), "ptxas", NULL);
    if (!ptxas)
        skip();
    free(ptxas);
    char *text = once_of("k.ptx", NULL, source, true, 0);
    cJSON *document = schema_checked(text);
    const char *skeleton = kb_json_text(kb_json_get(kb_json_get(document, "bench"), "guess"), "skeleton", "");
    assert_non_null(strstr(skeleton, "\"input\""));
    assert_non_null(strstr(skeleton, "\"output\""));
    assert_non_null(strstr(skeleton, "\"i64\""));
    assert_non_null(strstr(skeleton, "\"block\": 128"));
    rung_is(document, "run", "pass", "");
    cJSON_Delete(document);
    free(text);
    text =
        once_of("k.ptx", NULL, ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\toops;\n}\n", true, 1);
    document = schema_checked(text);
    rung_is(document, "compile", "fail", "k.ptx:6");
    cJSON_Delete(document);
    free(text);
}

static void put(const char *folder, const char *name, const char *text)
{
    char *path = kb_path_join(dir, folder);
    assert_int_equal(kb_make_dirs(path, NULL), 0);
    program_write(path, name, text);
    free(path);
}

static const char with_headers[] =
    "#include <helper.cuh>\n#include \"deep/two.cuh\"\n__global__ void k(real *x, int n)\n"
    "{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] = THREE * two();\n}\n";

// Headers elsewhere in the project are found; the guessed bench names their folders.
static void headers_of_the_project_are_found(void **state)
{
    (void)state;
    put("samples/a", "none.txt", "");
    put("Common", "helper.cuh", "#include <types.cuh>\n#define THREE 3\n");
    put("lib/include", "types.cuh", "typedef double real;\n");
    put("lib/deep", "two.cuh", "__device__ int two() { return 2; }\n");
    char *text = once_of("samples/a/k.cu", NULL, with_headers, true, 0);
    cJSON *document = schema_checked(text);
    const char *skeleton = kb_json_text(kb_json_get(kb_json_get(document, "bench"), "guess"), "skeleton", "");
    assert_non_null(strstr(skeleton, "\"../../Common\""));
    assert_non_null(strstr(skeleton, "\"../../lib/include\""));
    assert_non_null(strstr(skeleton, "\"../../lib\""));
    assert_non_null(strstr(skeleton, "\"f64\""));
    rung_is(document, "run", "pass", "");
    cJSON_Delete(document);
    free(text);
}

// Folders, defines and options as the nearest compile_commands.json has them, from a file of options, too.
static void compile_commands_say_the_flags(void **state)
{
    (void)state;
    put("inc", "helper.cuh", "typedef float real;\n");
    put("other/deep", "two.cuh", "__device__ int two() { return TWO; }\n");
    put("build", "includes.rsp", "-I../other \"-DTHREE=(1 + 2)\"\n");
    char *list =
        kb_format("[{\"directory\": \"%s/build\", \"file\": \"../k.cu\", \"command\": \"/usr/bin/nvcc -I../inc "
                  "--options-file includes.rsp -DTWO=2 -std=gnu++17 -O3 -ccbin /bin/false "
                  "--generate-code=arch=compute_90a,code=[sm_90a] -x cu -c ../k.cu -o k.o\"}]",
                  dir);
    put("build", "compile_commands.json", list);
    free(list);
    char *text = once_of("k.cu", NULL, with_headers, true, 0);
    cJSON *document = schema_checked(text);
    const char *skeleton = kb_json_text(kb_json_get(kb_json_get(document, "bench"), "guess"), "skeleton", "");
    assert_non_null(strstr(skeleton, "\"-std=c++17\""));
    assert_non_null(strstr(skeleton, "\"THREE\": \"(1 + 2)\""));
    assert_null(strstr(skeleton, "ccbin"));
    rung_is(document, "run", "pass", "");
    cJSON_Delete(document);
    free(text);
}

// What nvcc alone can do goes to nvcc, with the options that it asks for.
static void options_that_the_code_needs(void **state)
{
    (void)state;
    static const char source[] = "constexpr int twice(int n) { return 2 * n; }\n__global__ void l(float *x, int n)\n"
                                 "{\n    auto f = [=] __device__(float y) { return y + twice(n); };\n"
                                 "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] = f(i);\n}\n";
    char *nvcc = kb_toolkit_tool(kb_toolkit_get(), "nvcc", NULL);
    bool there = nvcc != NULL;
    free(nvcc);
    char *text = once_of("k.cu", NULL, source, true, there ? 0 : 1);
    cJSON *document = schema_checked(text);
    const char *skeleton = kb_json_text(kb_json_get(kb_json_get(document, "bench"), "guess"), "skeleton", "");
    assert_non_null(strstr(skeleton, "\"--extended-lambda\""));
    assert_non_null(strstr(skeleton, "\"--expt-relaxed-constexpr\""));
    cJSON_Delete(document);
    free(text);
}

// A run tells how much of a result the guessed grid writes: one sum a block, rows of a part.
static void what_a_run_writes_is_the_result(void **state)
{
    (void)state;
    cJSON *document = document_of("__global__ void sums(const float *x, float *sum, int n)\n{\n"
                                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                  "    int any = __syncthreads_or(i < n && x[i] > 0);\n"
                                  "    if (threadIdx.x == 0) sum[blockIdx.x] = any;\n}\n",
                                  0);
    rung_is(document, "run", "pass", "");
    const char *skeleton = kb_json_text(kb_json_get(kb_json_get(document, "bench"), "guess"), "skeleton", "");
    assert_non_null(strstr(skeleton, "\"shape\": [\"ceil_div(n,256)\"]"));
    const char *headline = kb_json_text(kb_json_get(kb_json_get(document, "bench"), "guess"), "text", "");
    assert_string_equal(headline, "launch 256x1x1, n = 4096, sum[ceil_div(n,256)]");
    cJSON_Delete(document);
}

static void check_question(const char *source, const char *rung, const char *reason)
{
    cJSON *document = document_of(source, 5);
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0), *finding;
    rung_is(document, rung, "na", "perhaps the guess: ");
    rung_is(document, rung, "na", reason);
    rung_is(document, rung, "na", "write bench.json beside k.cu");
    assert_true(kb_json_bool(rung_of(document, rung), "doubt", false));
    assert_string_equal(kb_json_text(variant, "status", ""), strcmp(rung, "races") ? "skip" : "pass");
    cJSON_ArrayForEach (finding, kb_json_get(variant, "findings"))
        assert_false(kb_json_bool(finding, "fails", true));
    cJSON_Delete(document);
}

static void failures_of_a_guess_are_questions(void **state)
{
    (void)state;
    check_question("__global__ void few(float *x, int n) { if (threadIdx.x < 2) x[threadIdx.x] = 1; }\n", "run",
                   "never written");
    check_question("__global__ void far(const float *x, float *y, int n)\n"
                   "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i * 1000]; }\n",
                   "run", "");
    check_question("__global__ void forever(volatile int *x, int n) { while (*x >= 0) ; *x = n; }\n", "run", "");
    check_question("template <typename T> struct two { };\n"
                   "template <typename T, template <typename> class P> __global__ void k(T *x, int n) { *x = n; }\n",
                   "compile", "k");
    check_question(
        "template <int BLOCK> __global__ void k(float *x, int n)\n"
        "{ __shared__ float s[BLOCK * BLOCK]; s[threadIdx.x] = n; __syncthreads(); x[threadIdx.x] = s[0]; }\n",
        "compile", "static shared memory");
    check_question("template <int BLOCK> __global__ void k(float *x, int n)\n"
                   "{ static_assert(BLOCK == 3, \"three\"); x[threadIdx.x] = n; }\n",
                   "compile", "three");
    check_question("struct Big { long a[8]; };\n__global__ void k(Big b, float *x) { *x = b.a[1]; }\n", "check", "");
}

static void errors_of_the_code_stay_errors(void **state)
{
    (void)state;
    cJSON *document = document_of("__global__ void k(float *x, int n) { x[0] = oops; }\n", 1);
    rung_is(document, "compile", "fail", "");
    cJSON_Delete(document);
}

static void the_report_says_what_was_guessed(void **state)
{
    (void)state;
    char *text = once("__global__ void few(Thing *x, int n);\nstruct Thing { float f; };\n"
                      "__global__ void few(Thing *x, int n) { if (threadIdx.x < 2) x[threadIdx.x].f = 1; }\n",
                      false, 1); // the first line knows no Thing
    assert_non_null(strstr(text, "GUESSED launch 256x1x1, n = 4096"));
    free(text);
    text =
        once("struct Thing { float f; };\n"
             "__global__ void few(Thing *x, Thing *y, int n) { if (threadIdx.x < 2) x[threadIdx.x].f = n / 3.0f; }\n",
             false, 5);
    assert_non_null(strstr(text, "run: perhaps the guess: "));
    assert_non_null(strstr(text, "bench.json, as it was guessed:"));
    assert_non_null(strstr(text, "\"dtype\": \"f32\"")); // as it is stored
    assert_non_null(strstr(text, "\"dtype\": \"?\""));   // never used: nothing tells
    free(text);
}

static cJSON *json_of(const char *path)
{
    char *text;
    size_t size;
    assert_int_equal(kb_file_read(path, 8 << 20, &text, &size, NULL), 0);
    cJSON *item = cJSON_ParseWithLength(text, size);
    assert_non_null(item);
    free(text);
    return item;
}

static void fits_schema(const char *path)
{
    cJSON *schema = json_of(KB_SOURCE_DIR "/docs/bench.schema.json"), *document = json_of(path);
    struct kb_text why = {0};
    if (schema_check(schema, document, &why))
        fail_msg("%s: %s", path, why.data);
    kb_text_free(&why);
    cJSON_Delete(schema);
    cJSON_Delete(document);
}

// The schema that editors complete by.
static void benches_fit_their_schema(void **state)
{
    (void)state;
    fits_schema(KB_SOURCE_DIR "/kernels/softmax/bench.json");
    fits_schema(KB_SOURCE_DIR "/docs/examples/softmax/bench.json");
}

// A kept guess is a bench: it opens, it waits for its reference, and then verifies.
static void a_guess_is_kept(void **state)
{
    (void)state;
    static const char source[] = "__global__ void scale(const float *x, float *y, float f, int n)\n"
                                 "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = f * x[i]; }\n";
    char *path = kb_path_join(dir, "scale.cu");
    struct kb_guess_source given = {.path = path, .text = source, .size = strlen(source)};
    struct kb_bench *bench;
    struct kb_guess guess;
    struct kb_guess_kept kept;
    struct kb_error e = {0};
    assert_int_equal(kb_bench_guess(&given, &bench, &guess, &e), 0);
    if (kb_guess_keep(bench, path, &kept, &e))
        fail_msg("%s", kb_error_line(&e));
    fits_schema(kept.bench);
    assert_string_equal(kb_path_base(kept.bench), "bench.json");
    assert_string_equal(kb_path_base(kept.reference), "scale_reference.cu");
    char *schema = kb_format("%s/.kbench/bench.schema.json", dir);
    cJSON_Delete(json_of(schema));
    free(schema);
    char *text = once_of("scale.cu", NULL, source, true, 4); // the reference is not written yet
    assert_non_null(strstr(text, "write what is right here"));
    free(text);
    program_write(
        dir, "scale_reference.cu",
        "extern \"C\" __global__ void scale_reference(const float *x, double *y, float f, int n)\n"
        "{ size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; if (i < n) y[i] = (double)f * x[i]; }\n");
    text = once_of("scale.cu", NULL, source, true, 0);
    cJSON *document = schema_checked(text);
    rung_is(document, "verify", "pass", "");
    cJSON_Delete(document);
    free(text);
    kb_guess_kept_free(&kept);
    assert_int_equal(kb_guess_keep(bench, path, &kept, &e), -1); // nothing that is there is overwritten
    assert_non_null(strstr(kb_error_line(&e), "it is there already"));
    kb_bench_free(bench);
    kb_guess_free(&guess);
    free(path);
}

// Beside a bench that does not list the file it has one of its own name; --kernel still asks for a guess.
static void a_second_guess_is_kept(void **state)
{
    (void)state;
    static const char source[] = "__global__ void one(float *x) { x[threadIdx.x] = 1; }\n"
                                 "__global__ void two(float *x) { x[threadIdx.x] = 2; }\n"
                                 "void f(float *x) { one<<<1, 32>>>(x); two<<<1, 32>>>(x); }\n";
    char *path = kb_path_join(dir, "two.cu");
    put(".", "bench.json",
        "{\"kbench\": 1, \"name\": \"o\", \"args\": [{\"name\": \"x\", \"role\": \"output\", \"dtype\": \"f32\", "
        "\"shape\": [32]}],\n\"variants\": [{\"name\": \"k\", \"source\": \"o.cu\", \"kernel\": \"o\", \"launch\": "
        "{\"grid\": 1, \"block\": 32}}]}\n");
    struct kb_guess_source given = {.path = path, .text = source, .size = strlen(source), .wanted = "two"};
    struct kb_bench *bench;
    struct kb_guess guess;
    struct kb_guess_kept kept;
    assert_int_equal(kb_bench_guess(&given, &bench, &guess, NULL), 0);
    assert_int_equal(kb_guess_keep(bench, path, &kept, NULL), 0);
    assert_string_equal(kb_path_base(kept.bench), "two.bench.json");
    char *text = once_of("two.cu", NULL, source, true, 4);
    cJSON *document = schema_checked(text);
    assert_string_equal(kb_json_text(cJSON_GetArrayItem(kb_json_get(document, "variants"), 0), "kernel", ""), "two");
    cJSON_Delete(document);
    free(text);
    text = once_of("two.cu", "one", source, true, 0);
    document = schema_checked(text);
    assert_string_equal(kb_json_text(cJSON_GetArrayItem(kb_json_get(document, "variants"), 0), "kernel", ""), "one");
    cJSON_Delete(document);
    free(text);
    kb_guess_kept_free(&kept);
    kb_bench_free(bench);
    kb_guess_free(&guess);
    free(path);
}

// What a bench says is no guess.
static void a_bench_accuses(void **state)
{
    (void)state;
    program_write(dir, "bench.json",
                  "{\"kbench\": 1, \"name\": \"few\", \"params\": {\"n\": 64},\n"
                  "\"args\": [{\"name\": \"x\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"]},\n"
                  "{\"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\"}],\n"
                  "\"variants\": [{\"name\": \"k\", \"source\": \"k.cu\", \"kernel\": \"few\",\n"
                  "\"launch\": {\"grid\": 1, \"block\": 64}}]}\n");
    cJSON *document =
        document_of("__global__ void few(float *x, int n) { if (threadIdx.x < 2) x[threadIdx.x] = 1; }\n", 1);
    rung_is(document, "run", "fail", "never written");
    cJSON_Delete(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(right_kernels_run, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(several_kernels_are_a_question, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(headers_of_the_project_are_found, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(compile_commands_say_the_flags, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(options_that_the_code_needs, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(ptx_is_a_source, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_a_run_writes_is_the_result, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(headers_are_sources, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(failures_of_a_guess_are_questions, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(errors_of_the_code_stay_errors, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_report_says_what_was_guessed, make_dir, remove_dir),
        cmocka_unit_test(benches_fit_their_schema),
        cmocka_unit_test_setup_teardown(a_guess_is_kept, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_second_guess_is_kept, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_bench_accuses, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
