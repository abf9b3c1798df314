// A variant and its source: which launch, which macros, which names.
#include "base/memory.h"
#include "bench/support_bench.h"

#include <stdlib.h>
#include <string.h>

static const char kernels[] = "namespace n {\ntemplate <typename T, int WIDE>\n__global__ void tuned(T *y) {}\n}\n"
                              "__global__ void softmax_naive(float *y) {}\n";

// The error of resolving variant `index` with these //kb: lines in front of the kernels, "" if there is none.
static struct kb_error resolve(const struct kb_bench *b, int index, const char *lines, struct kb_variant **v)
{
    struct kb_source source;
    struct kb_error e = {0};
    char *text = kb_format("%s%s", lines, kernels);
    *v = NULL;
    if (kb_source_scan(text, strlen(text), "k.cu", &source, &e))
        fail_msg("%s", kb_error_line(&e));
    if (!kb_variant_resolve(b, index, &source, v, &e))
        assert_string_equal(e.what, "");
    kb_source_free(&source);
    free(text);
    return e;
}

static struct kb_variant *resolved(const struct kb_bench *b, int index, const char *lines)
{
    struct kb_variant *v;
    struct kb_error e = resolve(b, index, lines, &v);
    if (!v)
        fail_msg("%s", kb_error_line(&e));
    return v;
}

static void test_nothing_changes_without_lines(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    struct kb_variant *v = resolved(b, 0, "");
    cJSON *before = kb_variant_to_json(&b->variants[0]), *after = kb_variant_to_json(v);
    assert_true(cJSON_Compare(before, after, true));
    cJSON_Delete(before);
    cJSON_Delete(after);
    kb_variant_free(v);
    kb_bench_free(b);
}

static void test_source_wins(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    struct kb_variant *v = resolved(b, 1, "//kb: block=64,2 shared=8 define:VEC=2 define:NEW=(1+2) cooperative=true\n");
    const struct kb_launch *l = &v->launches[0];
    assert_string_equal(l->block[0], "64");
    assert_string_equal(l->block[1], "2");
    assert_int_equal(l->block_dims, 2);
    assert_string_equal(l->grid[0], "rows");
    assert_string_equal(l->shared, "8");
    assert_true(l->cooperative);
    assert_int_equal(v->define_count, 4);
    assert_string_equal(v->defines[0].value, "2");
    assert_string_equal(v->defines[3].name, "NEW");
    assert_string_equal(b->variants[1].defines[0].value, "4"); // the bench stays as it was
    struct kb_names names = {0};
    assert_int_equal(kb_case_names(b, 0, false, v, &names, NULL), 0);
    assert_int_equal(*kb_names_get(&names, "NEW"), 3);
    assert_int_equal(*kb_names_get(&names, "WIDE"), 2); // the kernel is n::tuned<float,VEC>
    kb_names_free(&names);
    kb_variant_free(v);
    v = resolved(b, 0, "//kb: block=64\n"); // a line for another kernel
    assert_string_equal(v->launches[0].block[0], "256");
    kb_variant_free(v);
    kb_bench_free(b);
}

static void test_command_line_wins_over_source(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    struct kb_source source;
    struct kb_variant *v = NULL;
    struct kb_error e = {0};
    char text[sizeof kernels + 64] = "//kb: define:VEC=2 block=32*SCALE\n", *defines[] = {"VEC=16", "SCALE"};
    strcat(text, kernels);
    assert_int_equal(kb_source_scan(text, strlen(text), "k.cu", &source, &e), 0);
    assert_int_equal(kb_variant_resolve(b, 1, &source, &v, &e), -1); // nothing says what SCALE is
    if (kb_variant_resolve_with(b, 1, &source, defines, 2, &v, &e))
        fail_msg("%s", kb_error_line(&e));
    assert_string_equal(v->defines[0].value, "16");
    assert_string_equal(v->defines[3].name, "SCALE");
    assert_string_equal(v->defines[3].value, "1");
    assert_int_equal(*kb_names_get(&v->template_values, "WIDE"), 16);
    kb_variant_free(v);
    kb_source_free(&source);
    kb_bench_free(b);
}

static void test_special_lines_win_over_general(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    struct kb_variant *v = resolved(b, 1,
                                    "//kb: block=1 for=tuned\n//kb: block=2\n//kb: grid=3\n//kb: grid=4\n"
                                    "//kb: shared=5 for=naive\n");
    assert_string_equal(v->launches[0].block[0], "1");
    assert_string_equal(v->launches[0].grid[0], "4");
    assert_string_equal(v->launches[0].shared, "4*cols");
    kb_variant_free(v);
    kb_bench_free(b);
}

static void test_launch_may_come_from_the_source_alone(void **state)
{
    (void)state;
    char *text = support_replaced(support_softmax,
                                  ",\n      \"launch\": { \"grid\": [\"ceil_div(rows,256)\"], \"block\": [256] }", "");
    struct kb_bench *b = support_parse(text);
    struct kb_variant *v;
    struct kb_error e = resolve(b, 0, "", &v);
    support_contains(e.on, "/b/bench.json:18");
    support_contains(e.what, "variants[0]: the launch of softmax_naive has no grid");
    struct kb_source source;
    static const char with[] = "//kb: grid=rows block=32\n__global__ void softmax_naive(float *y) {}\n";
    assert_int_equal(kb_source_scan(with, strlen(with), "k.cu", &source, &e), 0);
    assert_int_equal(kb_variant_resolve(b, 0, &source, &v, &e), 0);
    assert_string_equal(v->launches[0].grid[0], "rows");
    kb_variant_free(v);
    kb_source_free(&source);
    kb_bench_free(b);
    free(text);
}

static void test_template_values(void **state)
{
    (void)state;
    char *text =
        support_replaced(support_softmax, "\"n::tuned<float,VEC>\"", "\"n::tuned< std::pair<int,3> , 2*8u >\"");
    struct kb_bench *b = support_parse(text);
    struct kb_variant *v = resolved(b, 1, "");
    assert_int_equal(v->template_values.count, 0); // "2*8u" is no integer expression
    kb_variant_free(v);
    kb_bench_free(b);
    free(text);
    text = support_replaced(support_softmax, "\"n::tuned<float,VEC>\"", "\"n::tuned< std::pair<int,3> , 16u >\"");
    b = support_parse(text);
    v = resolved(b, 1, "//kb: grid=rows/WIDE+1\n");
    assert_int_equal(v->template_values.count, 1);
    assert_int_equal(*kb_names_get(&v->template_values, "WIDE"), 16);
    kb_variant_free(v);
    kb_bench_free(b);
    free(text);
}

static void test_two_launches_of_one_template(void **state)
{
    (void)state;
    char *text = support_replaced(
        support_softmax,
        "\"kernel\": \"softmax_naive\",\n      \"launch\": { \"grid\": [\"ceil_div(rows,256)\"], \"block\": [256] }",
        "\"launches\": [\n"
        "{ \"kernel\": \"n::tuned<float,8>\", \"launch\": { \"grid\": \"rows*WIDE\", \"block\": \"WIDE\" } },\n"
        "{ \"kernel\": \"n::tuned<float,2>\", \"launch\": { \"grid\": \"rows*WIDE+WIDER\", \"block\": "
        "\"min(WIDE,WIDE)\" } }]");
    char *fixed = support_replaced(text, "+WIDER", "");
    struct kb_bench *b = support_parse(fixed);
    struct kb_variant *v = resolved(b, 0, "");
    struct kb_names names = {0};
    struct kb_dims dims;
    struct kb_error e;
    assert_int_equal(kb_case_names(b, 0, false, v, &names, NULL), 0);
    assert_int_equal(kb_launch_eval(&v->launches[0], &names, &dims, &e), 0);
    assert_int_equal(dims.block[0], 8);
    assert_int_equal(kb_launch_eval(&v->launches[1], &names, &dims, &e), 0);
    assert_int_equal(dims.block[0], 2);
    assert_int_equal(dims.grid[0], 8192);
    kb_names_free(&names);
    kb_variant_free(v);
    kb_bench_free(b);
    b = support_parse(text);
    e = resolve(b, 0, "", &v);
    support_contains(e.on, "bench.json:20");
    support_contains(e.what, "variants[0].launches[1].launch.grid: in \"rows*(2)+WIDER\": unknown name 'WIDER'");
    support_contains(e.remedy, "did you mean 'WIDE'");
    kb_bench_free(b);
    free(text), free(fixed);
}

static void test_errors(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    struct kb_variant *v;
    struct kb_error e = resolve(b, 1, "\n//kb: block=colls/4\n", &v);
    support_contains(e.on, "/b/tuned.cu:2");
    support_contains(e.what, "block: in \"colls/4\": unknown name 'colls' at column 1");
    support_contains(e.remedy, "did you mean 'cols'");
    e = resolve(b, 1, "//kb: block=1 for=tunned\n", &v);
    support_contains(e.on, "/b/tuned.cu:1");
    support_contains(e.what, "for=tunned names no variant of this bench, did you mean \"tuned\"?");
    e = resolve(b, 1, "//kb: block=cols/(rows-37)\n", &v); // in one case only
    support_contains(e.what, "division by zero at column 5");
    assert_int_equal(kb_variant_resolve(b, 2, &(struct kb_source){0}, &v, &e), -1);
    support_contains(e.what, "no variant 2");
    kb_bench_free(b);
    char *text = support_replaced(support_softmax, "[\"cols/VEC\", 1]", "[1,\n\"cols/VECT\"]");
    b = support_parse(text);
    e = resolve(b, 1, "", &v);
    support_contains(e.on, "/b/bench.json:24");
    support_contains(e.what, "variants[1].launch.block[1]: in \"cols/VECT\": unknown name 'VECT'");
    v = resolved(b, 1, "//kb: define:VECT=8\n");
    kb_variant_free(v);
    kb_bench_free(b);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_changes_without_lines),
        cmocka_unit_test(test_source_wins),
        cmocka_unit_test(test_command_line_wins_over_source),
        cmocka_unit_test(test_special_lines_win_over_general),
        cmocka_unit_test(test_launch_may_come_from_the_source_alone),
        cmocka_unit_test(test_template_values),
        cmocka_unit_test(test_two_launches_of_one_template),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
