// Benches that the program makes: guessed from a kernel, and new folders.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/support_bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kb_bench *infer(const char *text, char **skeleton)
{
    struct kb_bench *b = NULL;
    struct kb_error e = {0};
    if (kb_bench_infer("/some/my add.cu", text, strlen(text), &b, skeleton, &e))
        fail_msg("%s", kb_error_line(&e));
    return b;
}

static void test_one_size(void **state)
{
    (void)state;
    char *skeleton = NULL;
    struct kb_bench *b =
        infer("__device__ void f(int *);\n__global__ void add(const float *__restrict__ a, float4 const *b,\n"
              "  __half *c, float alpha, const int n) {}\n__global__ void other() {}",
              &skeleton);
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
    assert_int_equal(*kb_names_get(&b->params, "n"), 1 << 20);
    assert_int_equal(b->params.count, 1);
    assert_int_equal(b->reference.kind, KB_REFERENCE_NONE);
    assert_string_equal(b->variants[0].source, "my add.cu");
    assert_string_equal(b->variants[0].launches[0].kernel, "add");
    assert_string_equal(b->variants[0].launches[0].grid[0], "ceil_div(n,256)");
    support_contains(skeleton, "\"comment\": \"Guessed");
    support_contains(skeleton, "reference");
    struct kb_bench *again = support_parse(skeleton);
    assert_int_equal(again->arg_count, 5);
    kb_bench_free(again);
    kb_bench_free(b);
    free(skeleton);
}

static void test_two_sizes_and_more(void **state)
{
    (void)state;
    struct kb_bench *b =
        infer("__global__ void mm(const double *const A, const __nv_bfloat16 *B, double *C, unsigned M,\n"
              "  size_t time, long long int K, bool flag) {}",
              NULL);
    assert_int_equal(b->params.count, 4);
    assert_int_equal(*kb_names_get(&b->params, "M"), 1024);
    assert_string_equal(b->args[4].name, "time_"); // "time" means something in a case
    assert_int_equal(b->args[4].dtype, KB_I64);
    assert_int_equal(b->args[5].dtype, KB_I64);
    assert_int_equal(b->args[6].dtype, KB_U8);
    assert_int_equal(b->args[0].role, KB_INPUT);
    assert_int_equal(b->args[1].dtype, KB_BF16);
    assert_int_equal(b->args[2].ndim, 2);
    assert_string_equal(b->args[2].shape[0], "M");
    assert_string_equal(b->args[2].shape[1], "time_");
    assert_string_equal(b->variants[0].launches[0].grid[0], "ceil_div(M*time_,256)");
    kb_bench_free(b);
}

static void test_templates_and_scopes(void **state)
{
    (void)state;
    static const char text[] = "namespace a { template <typename T, int BLOCK> __global__ void k(const T *x, T *) {} }";
    struct kb_bench *b = infer(text, NULL);
    assert_string_equal(b->variants[0].launches[0].kernel, "a::k<float,256>");
    assert_string_equal(b->args[1].name, "arg1");
    assert_string_equal(b->args[1].shape[0], "1048576");
    assert_string_equal(b->variants[0].launches[0].grid[0], "4096");
    struct kb_source source;
    struct kb_variant *v = NULL;
    struct kb_error e = {0};
    assert_int_equal(kb_source_scan(text, strlen(text), "k.cu", &source, &e), 0);
    assert_int_equal(kb_variant_resolve(b, 0, &source, &v, &e), 0);
    assert_int_equal(*kb_names_get(&v->template_values, "BLOCK"), 256);
    kb_variant_free(v);
    kb_source_free(&source);
    kb_bench_free(b);
}

static void test_what_cannot_be_guessed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"int main() {}", "there is no kernel in it"},
        {"__global__ void k(struct P p) {}", "there is no element type for \"struct P\""},
        {"__global__ void k(float **p) {}", "there is no element type for \"float **\""},
        {"//kb: blok=1\n__global__ void k(float *p) {}", "unknown key \"blok\""},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        struct kb_bench *b = NULL;
        char *skeleton = NULL;
        struct kb_error e = {0};
        assert_int_equal(kb_bench_infer("x.cu", cases[i].text, strlen(cases[i].text), &b, &skeleton, &e), -1);
        support_contains(e.on, "x.cu");
        support_contains(e.what, cases[i].what);
        assert_null(b);
        assert_null(skeleton);
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
    if (kb_bench_new(dir, NULL, &e))
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
    assert_int_equal(kb_bench_new(dir, NULL, &e), -1);
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
    assert_int_equal(kb_bench_new(from, NULL, &e), 0);
    assert_int_equal(kb_file_replace(extra, "a\0b", 3, &e), 0);
    assert_int_equal(kb_make_dirs(hidden, &e), 0);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(kb_bench_new(to, from, &e), 0);
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
    assert_int_equal(kb_bench_new(other, nothing, &e), -1);
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
        cmocka_unit_test(test_what_cannot_be_guessed),
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_new_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
