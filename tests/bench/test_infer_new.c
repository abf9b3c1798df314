// Benches that the program makes: guessed from a kernel, and new folders.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/guess.h"
#include "bench/support_bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct guessed {
    struct kb_bench *bench;
    struct kb_guess guess;
};

static struct guessed from(const struct kb_guess_source *given)
{
    struct guessed g = {0};
    struct kb_error e = {0};
    struct kb_guess_source source = *given;
    source.path = "/some/my add.cu";
    source.size = strlen(source.text);
    if (kb_bench_guess(&source, &g.bench, &g.guess, &e))
        fail_msg("%s", kb_error_line(&e));
    return g;
}

static struct guessed infer(const char *text)
{
    return from(&(struct kb_guess_source){.text = text});
}

static void drop(struct guessed *g)
{
    kb_bench_free(g->bench);
    kb_guess_free(&g->guess);
}

static const struct kb_launch *launch_of(const struct guessed *g)
{
    return &g->bench->variants[0].launches[0];
}

static void test_one_size(void **state)
{
    (void)state;
    struct guessed g =
        infer("__device__ void f(int *);\n__global__ void add(const float *__restrict__ a, float4 const *b,\n"
              "  __half *c, float alpha, const int n) {}\n__global__ void other() {}");
    const struct kb_bench *b = g.bench;
    assert_string_equal(b->name, "my_add");
    assert_string_equal(b->dir, "/some");
    assert_string_equal(b->path, "");
    assert_int_equal(b->arg_count, 5);
    assert_int_equal(b->args[0].role, KB_INPUT);
    assert_int_equal(b->args[1].role, KB_INPUT);
    assert_string_equal(b->args[1].shape[0], "4*n");
    assert_int_equal(b->args[2].role, KB_OUTPUT);
    assert_int_equal(b->args[2].dtype, KB_F16);
    assert_int_equal(b->args[3].role, KB_SCALAR);
    assert_int_equal(b->args[3].dtype, KB_F32);
    assert_int_equal(*kb_names_get(&b->params, "n"), 4096);
    assert_int_equal(b->params.count, 1);
    assert_int_equal(b->reference.kind, KB_REFERENCE_NONE);
    assert_string_equal(b->variants[0].source, "my add.cu");
    assert_string_equal(launch_of(&g)->kernel, "add");
    assert_string_equal(launch_of(&g)->grid[0], "ceil_div(n,256)");
    assert_string_equal(g.guess.headline, "launch 256x1x1, n = 4096");
    support_contains(g.guess.skeleton, "\"comment\": \"Guessed");
    support_contains(g.guess.skeleton, "reference");
    struct kb_bench *again = support_parse(g.guess.skeleton);
    assert_int_equal(again->arg_count, 5);
    kb_bench_free(again);
    drop(&g);
}

static void test_two_sizes_and_more(void **state)
{
    (void)state;
    struct guessed g =
        infer("__global__ void mm(const double *const A, const __nv_bfloat16 *B, double *C, unsigned M,\n"
              "  size_t time, bool flag) {}");
    const struct kb_bench *b = g.bench;
    assert_int_equal(b->params.count, 3);
    assert_int_equal(*kb_names_get(&b->params, "M"), 256);
    assert_int_equal(*kb_names_get(&b->params, "flag"), 1);
    assert_string_equal(b->args[4].name, "time_"); // "time" means something in a case
    assert_int_equal(b->args[4].dtype, KB_I64);
    assert_int_equal(b->args[5].dtype, KB_U8);
    assert_int_equal(b->args[0].role, KB_INPUT);
    assert_int_equal(b->args[1].dtype, KB_BF16);
    assert_int_equal(b->args[2].ndim, 2);
    assert_string_equal(b->args[2].shape[0], "M");
    assert_string_equal(b->args[2].shape[1], "time_");
    assert_string_equal(launch_of(&g)->grid[0], "ceil_div(M*time_,256)");
    drop(&g);
}

static void test_templates_and_scopes(void **state)
{
    (void)state;
    static const char text[] = "namespace a { template <typename T, int BLOCK> __global__ void k(const T *x, T *) {} }";
    struct guessed g = infer(text);
    assert_string_equal(launch_of(&g)->kernel, "a::k<float,256>");
    assert_true(g.guess.instance);
    support_contains(g.guess.headline, "template arguments of a::k<float,256>");
    assert_string_equal(g.bench->args[1].name, "arg1");
    assert_string_equal(g.bench->args[1].shape[0], "4096");
    struct kb_source source;
    struct kb_variant *v = NULL;
    struct kb_error e = {0};
    assert_int_equal(kb_source_scan(text, strlen(text), "k.cu", &source, &e), 0);
    assert_int_equal(kb_variant_resolve(g.bench, 0, &source, &v, &e), 0);
    assert_int_equal(*kb_names_get(&v->template_values, "BLOCK"), 256);
    kb_variant_free(v);
    kb_source_free(&source);
    drop(&g);
}

// Which instance: a written one, a launch, defaults, else by what kind of parameter it is.
static void test_template_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *text, *kernel;
        bool guessed;
    } cases[] = {
        {"template <typename T, typename acc_t, bool flag> __global__ void k(T *x, int n) {}", "k<float,float,true>",
         true},
        {"template <class T, int TILE = 8, class... A> __global__ void k(T *x, int n) {}", "k<float>", true},
        {"template <typename T, int B> __global__ void k(T *x) {}\ntemplate __global__ void k<half, 64>(half *);",
         "k<half,64>", false},
        {"template <typename T, int B> __global__ void k(T *x) {}\n#define N (2 * 32)\n"
         "void f(double *x) { k<double, N><<<1, N>>>(x); }",
         "k<double,64>", false},
        {"template <typename T, int B> __global__ void k(T *x) {}\n"
         "template <typename V, int C> void f(V *x) { k<V, C><<<1, C>>>(x); }",
         "k<float,4>", true},
        {"template <int B = 4> __global__ void k(int *x) {}", "k<>", false},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        struct guessed g = infer(cases[i].text);
        assert_string_equal(launch_of(&g)->kernel, cases[i].kernel);
        assert_int_equal(g.guess.instance, cases[i].guessed);
        drop(&g);
    }
    struct guessed g = infer(cases[2].text);
    assert_int_equal(g.bench->args[0].dtype, KB_F16); // T is half
    drop(&g);
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        enum kb_dtype dtype;
        const char *shape;
    } cases[] = {
        {"short *", KB_U8, "2*n"},
        {"unsigned short *", KB_U8, "2*n"},
        {"const uint16_t *", KB_U8, "2*n"},
        {"uchar *", KB_U8, "n"},
        {"uchar4 *", KB_U8, "4*n"},
        {"ulong *", KB_I64, "n"},
        {"double3 *", KB_F64, "3*n"},
        {"cuComplex *", KB_F32, "2*n"},
        {"longlong2 *", KB_I64, "2*n"},
        {"half2 *", KB_F16, "2*n"},
        {"__nv_bfloat162 *", KB_BF16, "2*n"},
        {"float2 *", KB_F32, "2*n"},
        {"long unsigned int *", KB_I64, "n"},
        {"std::uint8_t *__restrict__", KB_U8, "n"},
        {"floatX *", KB_BF16, "n"},
        {"real_ptr", KB_F64, "n"},
        {"Color *", KB_I32, "n"},
        {"word *", KB_I32, "n"},
        {"thrust::complex<float> *", KB_F32, "2*n"},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        char *text =
            kb_format("#if defined(FP32)\ntypedef float floatX;\n#else\ntypedef __nv_bfloat16 floatX;\n#endif\n"
                      "using real = double; using real_ptr = const real *;\nenum class Color { RED };\n"
                      "__global__ void k(%s x, int n) {}",
                      cases[i].type);
        static const char header[] = "#pragma once\n#define word unsigned int\n";
        struct kb_guess_text headers[] = {{"h.h", header, strlen(header)}};
        struct guessed g = from(&(struct kb_guess_source){.text = text, .headers = headers, .header_count = 1});
        assert_int_equal(g.bench->args[0].dtype, cases[i].dtype);
        assert_string_equal(g.bench->args[0].shape[0], cases[i].shape);
        drop(&g);
        free(text);
    }
}

// The next kernel is tried; what nothing tells stays open for whoever completes the bench.
static void test_types_that_nothing_tells(void **state)
{
    (void)state;
    struct guessed g = infer("__global__ void odd(struct P p, float *x) {}\n__global__ void even(float *x, int n) {}");
    assert_string_equal(launch_of(&g)->kernel, "even");
    drop(&g);
    g = infer("__global__ void odd(Thing *p, Other q, float **x) {}");
    assert_int_equal(g.bench->arg_count, 3);
    support_contains(g.guess.skeleton, "\"dtype\": \"?\"");
    drop(&g);
}

static const char several[] =
    "__global__ void one(float *x, int n) {}\nnamespace a { template <typename T, int B> __global__ void two(const T "
    "*x) "
    "{} }\ntemplate <bool F, typename T> __global__ void three(T x) {}\n__global__ void one(float *x, int n);\n"
    "template __global__ void a::two<half, 64>(const half *);\nconstexpr int threads = 128;\n"
    "void f(double *x) { a::two<double, threads><<<4, threads>>>(x); a::two<float, 32><<<3, 32>>>((float *)x); }\n";

// Kernels, and the instances that the file names or launches.
static void test_choices(void **state)
{
    (void)state;
    static const char *const names[] = {"one", "a::two<half,64>", "a::two<double,128>", "a::two<float,32>",
                                        "three<true,float>"};
    struct kb_guess_source source = {.path = "k.cu", .text = several, .size = strlen(several)};
    struct kb_guess_choices choices;
    struct kb_error e = {0};
    assert_int_equal(kb_bench_guess_choices(&source, &choices, &e), 0);
    assert_int_equal(choices.kernels, 3);
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        assert_string_equal(choices.list[i].kernel, names[i]);
        assert_int_equal(choices.list[i].guessed, i == 4);
    }
    assert_int_equal(choices.count, KB_COUNT(names));
    assert_string_equal(choices.list[0].params, "float *x, int n");
    assert_string_equal(choices.list[0].file, "k.cu");
    assert_int_equal(choices.list[1].line, 2);
    kb_guess_choices_free(&choices);
}

// What was asked for, and the launch of just that instance.
static void test_wanted(void **state)
{
    (void)state;
    static const struct {
        const char *wanted, *kernel, *block;
        bool guessed;
    } cases[] = {
        {"one", "one", "256", false},
        {"three<true, float>", "three<true,float>", "256", true}, // as the list proposes it
        {"two", "a::two<half,64>", "128", false},
        {"a::two<float, 32>", "a::two<float,32>", "32", false},
        {"two <int,8>", "a::two<int,8>", "128", false},
        {"three<false, float>", "three<false,float>", "256", false},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        struct guessed g = from(&(struct kb_guess_source){.text = several, .wanted = cases[i].wanted});
        assert_string_equal(launch_of(&g)->kernel, cases[i].kernel);
        assert_string_equal(launch_of(&g)->block[0], cases[i].block);
        assert_int_equal(g.guess.instance, cases[i].guessed);
        drop(&g);
    }
    struct kb_guess_source source = {.path = "k.cu", .text = several, .size = strlen(several), .wanted = "thre"};
    struct kb_bench *bench;
    struct kb_guess guess;
    struct kb_error e = {0};
    assert_int_equal(kb_bench_guess(&source, &bench, &guess, &e), -1);
    support_contains(kb_error_line(&e), "did you mean three?");
}

// Those of its headers count where the file has none.
static void test_kernels_of_headers(void **state)
{
    (void)state;
    static const char header[] = "template <int B> __global__ void k(float *x, int n) { x[threadIdx.y] = n; }\n";
    struct kb_guess_text headers[] = {{"/inc/k.cuh", header, strlen(header)}};
    struct guessed g =
        from(&(struct kb_guess_source){.text = "#include \"k.cuh\"\nvoid f() { k<8><<<1, dim3(8, 4)>>>(0, 1); }",
                                       .headers = headers,
                                       .header_count = 1});
    assert_string_equal(launch_of(&g)->kernel, "k<8>");
    assert_string_equal(launch_of(&g)->block[1], "4");
    drop(&g);
}

static const char three[] = "__global__ void k(float *a, float *b, void *c, unsigned *d, int n) {}";

// The compiled kernel says what is loaded and what is stored, and as what.
static void test_uses(void **state)
{
    (void)state;
    struct kb_param_use uses[] = {
        {.bytes = 8, .known = true, .loads = true, .type = "f32"},
        {.bytes = 8, .known = true, .loads = true, .stores = true, .type = "f32"},
        {.bytes = 8, .known = true, .stores = true, .type = "f16"},
        {.bytes = 8, .known = true, .atomics = true, .type = "b32"},
        {.bytes = 4},
    };
    struct kb_guess_source source = {.text = three, .kernel = "k", .uses = uses, .use_count = 5, .max_threads = 64};
    struct guessed g = from(&source);
    assert_int_equal(g.bench->args[0].role, KB_INPUT);
    assert_int_equal(g.bench->args[1].role, KB_INOUT);
    assert_int_equal(g.bench->args[2].role, KB_OUTPUT);
    assert_int_equal(g.bench->args[2].dtype, KB_F16);
    assert_int_equal(g.bench->args[3].role, KB_INOUT);
    assert_int_equal(g.bench->args[3].fill.kind, KB_FILL_ZEROS);
    assert_string_equal(launch_of(&g)->block[0], "64");
    drop(&g);
    uses[0].known = false; // not followed everywhere
    source.kernel = "k";
    g = from(&source);
    assert_int_equal(g.bench->args[0].role, KB_OUTPUT);
    drop(&g);
    source.kernel = "another";
    g = from(&source);
    assert_int_equal(g.bench->args[1].role, KB_OUTPUT);
    drop(&g);
}

// Block, grid, shared memory and lengths as the file has them; sizes by the names that the launch passes.
static void test_launch_in_the_file(void **state)
{
    (void)state;
    struct guessed g = infer("#define TILE 32\nconst int ROWS = 96;\n"
                             "__global__ void k(const float *in, float *out, int rows, int cols, int iterations) {}\n"
                             "int main() {\n  int cols = 1 << 9, steps = 100; float *x, *y;\n"
                             "  cudaMalloc((void **)&x, sizeof(float) * ROWS * cols);\n"
                             "  cudaMalloc(&y, ROWS * sizeof(float));\n"
                             "  dim3 block(TILE, 8), grid((cols + TILE - 1) / TILE, ceil_div(ROWS, block.y));\n"
                             "  k<<<grid, block, TILE * sizeof(double)>>>(x, y, ROWS, cols, steps);\n}");
    const struct kb_launch *l = launch_of(&g);
    struct kb_dims dims;
    struct kb_error e = {0};
    assert_int_equal(kb_launch_eval(l, &g.bench->params, &dims, &e), 0);
    assert_int_equal(dims.block[0], 32);
    assert_int_equal(dims.block[1], 8);
    assert_int_equal(dims.grid[0], 16);
    assert_int_equal(dims.grid[1], 12);
    assert_int_equal(dims.shared, 256);
    assert_int_equal(*kb_names_get(&g.bench->params, "rows"), 96);
    assert_int_equal(*kb_names_get(&g.bench->params, "cols"), 512);
    assert_int_equal(*kb_names_get(&g.bench->params, "iterations"), 4); // the file's 100 would take its time
    int64_t shape[KB_MAX_DIMS], elements;
    assert_int_equal(kb_shape_eval(&g.bench->args[0], &g.bench->params, shape, &elements, &e), 0);
    assert_int_equal(elements, 96 * 512);
    assert_int_equal(kb_shape_eval(&g.bench->args[1], &g.bench->params, shape, &elements, &e), 0);
    assert_int_equal(elements, 96);
    assert_string_equal(g.guess.headline, "launch 32x8x1, rows = 96, cols = 512");
    drop(&g);
}

// A large size of the file becomes a small one, and what the launch makes from it follows.
static void test_large_sizes(void **state)
{
    (void)state;
    struct guessed g = infer("__global__ void k(float *x, int n) {}\n"
                             "void f() { int N = 1 << 26, threads = 128, blocks = (N + threads - 1) / threads;\n"
                             "  float *d; cudaMalloc(&d, N * sizeof(float)); k<<<blocks, threads>>>(d, N); }");
    struct kb_dims dims;
    struct kb_error e = {0};
    int64_t shape[KB_MAX_DIMS], elements;
    assert_int_equal(kb_launch_eval(launch_of(&g), &g.bench->params, &dims, &e), 0);
    assert_int_equal(dims.grid[0], 32);
    assert_int_equal(kb_shape_eval(&g.bench->args[0], &g.bench->params, shape, &elements, &e), 0);
    assert_int_equal(elements, 4096);
    drop(&g);
}

static void test_two_dimensions(void **state)
{
    (void)state;
    struct guessed g = infer("__global__ void t(const float *in, float *out, int h, int w) {\n"
                             "  extern __shared__ float s[]; int y = blockIdx.y * 16 + threadIdx . y; }");
    assert_int_equal(launch_of(&g)->block_dims, 2);
    assert_string_equal(launch_of(&g)->grid[0], "ceil_div(w,16)");
    assert_string_equal(launch_of(&g)->grid[1], "ceil_div(h,16)");
    assert_non_null(launch_of(&g)->shared);
    drop(&g);
}

// Names that lead back to themselves, or grow without end, are not known.
static void test_names_in_circles(void **state)
{
    (void)state;
    struct guessed g =
        infer("typedef b a; typedef a b;\n#define N (M + M + M + M)\n#define M (N + N + N + N)\n"
              "__global__ void k(a *x, int n) {}\n"
              "void f(float *x) { dim3 d(d.x, e.y), e(d.y, e.x); int q = q + q; k<<<d, q, N>>>(x, N); }");
    assert_string_equal(launch_of(&g)->block[0], "256");
    assert_int_equal(*kb_names_get(&g.bench->params, "n"), 4096);
    drop(&g);
}

static void test_numbers_that_are_no_sizes(void **state)
{
    (void)state;
    struct guessed g = infer("__global__ void k(int *x, int num_iterations, int first, bool on) {}");
    assert_int_equal(*kb_names_get(&g.bench->params, "num_iterations"), 4);
    assert_int_equal(*kb_names_get(&g.bench->params, "first"), 0);
    assert_int_equal(*kb_names_get(&g.bench->params, "on"), 1);
    assert_string_equal(g.bench->args[0].shape[0], "4096");
    assert_string_equal(g.guess.headline, "launch 256x1x1");
    drop(&g);
}

static void test_what_cannot_be_guessed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"int main() {}", "there is no kernel in it"},
        {"//kb: blok=1\n__global__ void k(float *p) {}", "unknown key \"blok\""},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        struct kb_bench *b = NULL;
        struct kb_guess guess;
        struct kb_error e = {0};
        struct kb_guess_source source = {.path = "x.cu", .text = cases[i].text, .size = strlen(cases[i].text)};
        assert_int_equal(kb_bench_guess(&source, &b, &guess, &e), -1);
        support_contains(e.on, "x.cu");
        support_contains(e.what, cases[i].what);
        assert_null(b);
        assert_null(guess.skeleton);
    }
}

static char *slurp(const char *dir, const char *name)
{
    char *path = kb_path_join(dir, name), *data = NULL;
    size_t size;
    struct kb_error e;
    if (kb_file_read(path, 1 << 20, &data, &size, &e))
        fail_msg("%s", kb_error_line(&e));
    free(path);
    return data;
}

static void test_new(void **state)
{
    (void)state;
    char root[] = "/tmp/kb-new-XXXXXX";
    assert_non_null(mkdtemp(root));
    char *dir = kb_format("%s/deeper/add \"me\"/", root);
    struct kb_error e = {0};
    if (kb_bench_new(dir, NULL, NULL, &e))
        fail_msg("%s", kb_error_line(&e));
    struct kb_bench *b = NULL;
    if (kb_bench_load(dir, &b, &e))
        fail_msg("%s", kb_error_line(&e));
    assert_string_equal(b->name, "add \"me\"");
    assert_int_equal(b->reference.kind, KB_REFERENCE_KERNEL);
    for (int i = 0; i < 2; i++) { // what bench.json names is in the sources
        const struct kb_variant *program = i ? &b->variants[0] : &b->reference.program;
        char *text = slurp(b->dir, program->source);
        struct kb_source source;
        assert_int_equal(kb_source_scan(text, strlen(text), program->source, &source, &e), 0);
        assert_int_equal(source.kernel_count, 1);
        assert_string_equal(source.kernels[0].name, program->launches[0].kernel);
        assert_int_equal(source.kernels[0].param_count, b->arg_count);
        struct kb_variant *v = NULL;
        if (i)
            assert_int_equal(kb_variant_resolve(b, 0, &source, &v, &e), 0);
        kb_variant_free(v);
        kb_source_free(&source);
        free(text);
    }
    assert_int_equal(kb_bench_new(dir, NULL, NULL, &e), -1);
    support_contains(e.what, "already exists");
    kb_bench_free(b);
    kb_remove_tree(root);
    free(dir);
}

static void test_new_like(void **state)
{
    (void)state;
    char root[] = "/tmp/kb-like-XXXXXX";
    assert_non_null(mkdtemp(root));
    char *from = kb_path_join(root, "from"), *to = kb_path_join(root, "to"), *extra = kb_path_join(from, "tuned.cu");
    char *hidden = kb_path_join(from, ".kbench"), *link = kb_path_join(from, "link.cu");
    struct kb_error e = {0};
    assert_int_equal(kb_bench_new(from, NULL, NULL, &e), 0);
    assert_int_equal(kb_file_replace(extra, "a\0b", 3, &e), 0);
    assert_int_equal(kb_make_dirs(hidden, &e), 0);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(kb_bench_new(to, from, NULL, &e), 0);
    struct kb_bench *b = NULL;
    assert_int_equal(kb_bench_load(to, &b, &e), 0);
    assert_string_equal(b->name, "to");
    kb_bench_free(b);
    char *copied = kb_path_join(to, "tuned.cu"), *data = NULL;
    size_t size = 0;
    assert_int_equal(kb_file_read(copied, 10, &data, &size, &e), 0);
    assert_int_equal(size, 3);
    free(data);
    free(copied);
    copied = kb_path_join(to, ".kbench");
    assert_false(kb_is_dir(copied));
    free(copied);
    copied = kb_path_join(to, "link.cu");
    assert_false(kb_is_file(copied));
    free(copied);
    char *other = kb_path_join(root, "other"), *nothing = kb_path_join(root, "nothing");
    assert_int_equal(kb_bench_new(other, nothing, NULL, &e), -1);
    assert_false(kb_is_dir(other));
    kb_remove_tree(root);
    free(from), free(to), free(extra), free(hidden), free(link), free(other), free(nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_size),
        cmocka_unit_test(test_two_sizes_and_more),
        cmocka_unit_test(test_templates_and_scopes),
        cmocka_unit_test(test_template_arguments),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_types_that_nothing_tells),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_kernels_of_headers),
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_launch_in_the_file),
        cmocka_unit_test(test_large_sizes),
        cmocka_unit_test(test_two_dimensions),
        cmocka_unit_test(test_names_in_circles),
        cmocka_unit_test(test_numbers_that_are_no_sizes),
        cmocka_unit_test(test_what_cannot_be_guessed),
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_new_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
