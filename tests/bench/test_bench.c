// Reading a bench: values, defaults, names and launches of cases, JSON there and back, the contract.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/support_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_values(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    assert_string_equal(b->name, "softmax");
    assert_true(kb_ends(b->dir, "/b"));
    assert_int_equal(b->arg_count, 4);
    assert_int_equal(b->args[0].role, KB_INPUT);
    assert_int_equal(b->args[0].fill.kind, KB_FILL_NORMAL);
    assert_true(b->args[0].fill.std == 1);
    assert_int_equal(b->args[1].ndim, 2);
    assert_string_equal(b->args[1].shape[1], "cols");
    assert_int_equal(b->args[2].dtype, KB_I32);
    assert_null(b->args[2].value);
    assert_int_equal(b->case_count, 3);
    assert_true(b->cases[0].timed && !b->cases[1].timed && !b->cases[2].timed);
    assert_true(b->cases[0].has_cpu && !b->cases[1].has_cpu);
    assert_null(b->cases[0].fills);
    assert_int_equal(b->cases[2].fills[0].kind, KB_FILL_CANCELLATION);
    assert_int_equal(b->cases[2].fills[1].kind, KB_FILLS);
    assert_int_equal(b->reference.kind, KB_REFERENCE_KERNEL);
    assert_string_equal(b->reference.program.launches[0].kernel, "softmax_f64");
    assert_int_equal(b->tolerance.kind, KB_TOLERANCE_AUTO);
    assert_true(isnan(b->tolerance.max_abs));
    assert_int_equal(b->goal.kind, KB_GOAL_ROOF);
    assert_string_equal(b->bytes, "8*rows*cols");
    assert_int_equal(kb_bench_find_variant(b, "tuned"), 1);
    assert_int_equal(kb_bench_find_variant(b, "nothing"), -1);
    assert_int_equal(kb_bench_find_arg(b, "cols"), 3);
    assert_int_equal(kb_bench_headline(b), 0);
    kb_bench_free(b);
}

static void test_variant_values(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    const struct kb_variant *naive = &b->variants[0], *tuned = &b->variants[1];
    assert_string_equal(naive->compiler, "auto");
    assert_null(naive->launches[0].args);
    assert_string_equal(naive->launches[0].block[0], "256");
    assert_int_equal(tuned->define_count, 3);
    assert_string_equal(tuned->defines[0].value, "4");
    assert_string_equal(tuned->defines[2].value, "1");
    assert_int_equal(tuned->launches[0].arg_count, 4);
    assert_string_equal(tuned->launches[0].args[0], "y");
    assert_int_equal(tuned->launches[0].grid_dims, 1);
    assert_int_equal(tuned->launches[0].block_dims, 2);
    assert_string_equal(tuned->launches[0].shared, "4*cols");
    kb_bench_free(b);
}

static void test_defaults(void **state)
{
    (void)state;
    struct kb_bench *b =
        support_parse("\xef\xbb\xbf{\"kbench\":1,\"$schema\":\"x\",\"comment\":[1],\"name\":\"d\",\"params\":{"
                      "\"comment\":\"sizes\",\"n\":8},"
                      "\"args\":[{\"comment\":1,\"name\":\"i\",\"role\":\"input\",\"dtype\":\"i32\",\"shape\":[\"n\"]},"
                      "{\"name\":\"u\",\"role\":\"inout\",\"dtype\":\"u8\",\"shape\":[4]},"
                      "{\"name\":\"h\",\"role\":\"input\",\"dtype\":\"f16\",\"shape\":[4],\"fill\":\"w.npy\"},"
                      "{\"name\":\"c\",\"role\":\"input\",\"dtype\":\"bf16\",\"shape\":[4],\"fill\":{\"kind\":"
                      "\"uniform\",\"high\":5}},"
                      "{\"name\":\"a\",\"role\":\"scalar\",\"dtype\":\"f32\",\"value\":0.25},"
                      "{\"name\":\"m\",\"role\":\"scalar\",\"dtype\":\"i64\",\"value\":\"2*n\"}],"
                      "\"variants\":[{\"name\":\"v\",\"source\":\"v.cu\",\"launches\":["
                      "{\"kernel\":\"p\",\"args\":[\"i\"],\"launch\":{\"grid\":1,\"block\":1}},"
                      "{\"kernel\":\"q\",\"launch\":{\"grid\":\"n\",\"block\":[1,2,3],\"cooperative\":true}}],"
                      "\"options\":[\"-lineinfo\"],\"compiler\":\"nvcc\"}]}");
    assert_int_equal(b->params.count, 1);
    assert_int_equal(b->args[0].fill.kind, KB_FILL_INTEGERS);
    assert_true(b->args[0].fill.low == -8 && b->args[1].fill.low == 0);
    assert_int_equal(b->args[2].fill.kind, KB_FILL_FILE);
    assert_string_equal(b->args[2].fill.file, "w.npy");
    assert_true(b->args[3].fill.low == -1 && b->args[3].fill.high == 5);
    assert_string_equal(b->args[4].value, "0.25");
    assert_int_equal(b->case_count, 1);
    assert_true(b->cases[0].timed);
    assert_string_equal(b->cases[0].name, "");
    assert_int_equal(b->reference.kind, KB_REFERENCE_NONE);
    assert_int_equal(b->goal.kind, KB_GOAL_NONE);
    assert_null(b->flops);
    assert_int_equal(b->variants[0].launch_count, 2);
    assert_true(b->variants[0].launches[1].cooperative);
    assert_int_equal(b->variants[0].launches[1].block_dims, 3);
    assert_string_equal(b->variants[0].options[0], "-lineinfo");
    kb_bench_free(b);
}

static void test_first_case_is_timed_if_none_says(void **state)
{
    (void)state;
    char *text = support_replaced(support_softmax, "\"time\": true, ", "");
    struct kb_bench *b = support_parse(text);
    assert_true(b->cases[0].timed && !b->cases[1].timed);
    kb_bench_free(b);
    free(text);
    text = support_replaced(support_softmax, "\"time\": true", "\"time\": false");
    b = support_parse(text);
    assert_false(b->cases[0].timed);
    kb_bench_free(b);
    free(text);
}

static void test_forms_of_reference_tolerance_goal(void **state)
{
    (void)state;
    static const char kernel[] = "{ \"source\": \"reference.cu\", \"kernel\": \"softmax_f64\",\n"
                                 "    \"launch\": { \"grid\": [\"rows\"], \"block\": [128] } }";
    char *npy = support_replaced(support_softmax, kernel, "{\"npy\":\"y.npy\"}");
    struct kb_bench *b = support_parse(npy);
    assert_int_equal(b->reference.kind, KB_REFERENCE_FILE);
    assert_string_equal(b->reference.file, "y.npy");
    kb_bench_free(b);
    char *command = support_replaced(support_softmax, kernel, "{\"command\":[\"python3\",\"r.py\"]}");
    b = support_parse(command);
    assert_int_equal(b->reference.kind, KB_REFERENCE_COMMAND);
    assert_string_equal(b->reference.command[1], "r.py");
    assert_null(b->reference.command[2]);
    assert_int_equal(b->reference.timeout_s, KB_COMMAND_TIMEOUT_S);
    kb_bench_free(b);
    char *rival = support_replaced(support_softmax, "\"variants\": [",
                                   "\"variants\": [ {\"name\":\"torch\",\"kind\":"
                                   "\"command\",\"command\":[\"python3\",\"t.py\"],\"timeout_s\":120},");
    b = support_parse(rival);
    assert_int_equal(b->variants[0].kind, KB_VARIANT_COMMAND);
    assert_string_equal(b->variants[0].command[1], "t.py");
    assert_int_equal(b->variants[0].timeout_s, 120);
    assert_null(b->variants[0].source);
    assert_int_equal(b->variants[1].kind, KB_VARIANT_CUDA);
    kb_bench_free(b);
    free(rival);
    char *bounds = support_replaced(support_softmax, "\"auto\"", "{\"max_abs\":1e-5,\"cosine\":0.99}");
    b = support_parse(bounds);
    assert_int_equal(b->tolerance.kind, KB_TOLERANCE_BOUNDS);
    assert_true(b->tolerance.max_abs == 1e-5 && b->tolerance.cosine == 0.99 && isnan(b->tolerance.rmse));
    kb_bench_free(b);
    char *versus = support_replaced(support_softmax, "{ \"roof\": 0.9 }", "{\"versus\":\"naive\"}");
    b = support_parse(versus);
    assert_int_equal(b->goal.kind, KB_GOAL_VERSUS);
    assert_true(b->goal.ratio == 1);
    kb_bench_free(b);
    free(npy), free(command), free(bounds), free(versus);
}

static void test_names_and_labels(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    struct kb_names names = {0};
    assert_int_equal(kb_case_names(b, 0, true, &b->variants[1], &names, NULL), 0);
    assert_int_equal(*kb_names_get(&names, "rows"), 64);
    assert_int_equal(*kb_names_get(&names, "cols"), 4096);
    assert_int_equal(*kb_names_get(&names, "VEC"), 4);
    assert_int_equal(*kb_names_get(&names, "FAST"), 1);
    assert_null(kb_names_get(&names, "T"));
    kb_names_free(&names);
    assert_int_equal(kb_case_names(b, 3, false, NULL, &names, NULL), -1);
    char *gpu = kb_case_label(b, 0, false), *cpu = kb_case_label(b, 0, true), *odd = kb_case_label(b, 2, false);
    assert_string_equal(gpu, "4096 x 4096");
    assert_string_equal(cpu, "64 x 4096");
    assert_string_equal(odd, "37 x 1023");
    free(gpu), free(cpu), free(odd);
    kb_bench_free(b);
}

static void test_launch_and_shape(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    struct kb_names names = {0};
    struct kb_dims dims;
    struct kb_error e;
    int64_t shape[KB_MAX_DIMS], elements;
    assert_int_equal(kb_case_names(b, 2, false, &b->variants[1], &names, NULL), 0);
    assert_int_equal(kb_launch_eval(&b->variants[1].launches[0], &names, &dims, &e), 0);
    assert_int_equal(dims.grid[0], 37);
    assert_int_equal(dims.block[0], 255);
    assert_int_equal(dims.grid[2], 1);
    assert_int_equal(dims.shared, 4092);
    assert_int_equal(kb_shape_eval(&b->args[0], &names, shape, &elements, &e), 0);
    assert_int_equal(elements, 37 * 1023);
    kb_names_set(&names, "cols", 3); // 3/4 threads
    assert_int_equal(kb_launch_eval(&b->variants[1].launches[0], &names, &dims, &e), -1);
    support_contains(e.what, "block[0] is \"cols/VEC\" = 0");
    kb_names_set(&names, "cols", INT64_MAX / 2);
    assert_int_equal(kb_shape_eval(&b->args[0], &names, shape, &elements, &e), -1);
    support_contains(e.what, "64-bit");
    kb_names_free(&names);
    kb_bench_free(b);
}

static struct kb_hash contract_of(const struct kb_bench *b, const char *source)
{
    struct kb_contract_part part = {"reference.cu", source, source ? strlen(source) : 0};
    return kb_bench_contract(b, &part, source ? 1 : 0);
}

static void test_json_round_trip(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax), *again = NULL;
    cJSON *sent = cJSON_Duplicate(b->json, true);
    kb_json_set_text(sent, "dir", "/somewhere");
    struct kb_error e;
    assert_int_equal(kb_bench_from_json(sent, &again, &e), 0);
    assert_string_equal(again->dir, "/somewhere");
    assert_string_equal(again->path, "");
    assert_true(cJSON_Compare(b->json, again->json, true));
    assert_string_equal(contract_of(b, "r").hex, contract_of(again, "r").hex);
    cJSON_Delete(sent);
    kb_bench_free(again);
    cJSON *document = cJSON_CreateObject();
    assert_int_equal(kb_bench_from_json(document, &again, &e), -1);
    assert_null(again);
    cJSON_Delete(document);
    kb_bench_free(b);
}

static void test_variant_round_trip(void **state)
{
    (void)state;
    struct kb_bench *b = support_parse(support_softmax);
    kb_names_set(&b->variants[1].template_values, "N", INT64_MIN);
    cJSON *one = kb_variant_to_json(&b->variants[1]);
    struct kb_variant *v = NULL;
    struct kb_error e;
    assert_int_equal(kb_variant_from_json(one, &v, &e), 0);
    cJSON *two = kb_variant_to_json(v);
    assert_true(cJSON_Compare(one, two, true));
    assert_true(*kb_names_get(&v->template_values, "N") == INT64_MIN);
    assert_string_equal(v->launches[0].block[0], "cols/VEC");
    cJSON_Delete(one);
    cJSON_Delete(two);
    kb_variant_free(v);
    kb_variant_free(NULL);
    kb_bench_free(b);
}

static void expect_contract(const char *from, const char *to, bool same)
{
    struct kb_bench *a = support_parse(support_softmax);
    char *text = support_replaced(support_softmax, from, to);
    struct kb_bench *b = support_parse(text);
    bool equal = !strcmp(contract_of(a, "r").hex, contract_of(b, "r").hex);
    if (equal != same)
        fail_msg("%s -> %s: the contract is %s", from, to, equal ? "the same" : "another");
    kb_bench_free(a);
    kb_bench_free(b);
    free(text);
}

static void test_contract(void **state)
{
    (void)state;
    expect_contract("{ \"rows\": 4096, \"cols\": 4096 }", "{\"cols\":4.096e3,  \"comment\": 3,\n\"rows\":4096}", true);
    expect_contract("\"tolerance\": \"auto\",", "", true);
    expect_contract("{ \"rows\": 1, \"cols\": 1 }", "{ \"rows\": 1, \"cols\": 1, \"name\": \"tiny\" }", true);
    expect_contract("\"name\": \"naive\"", "\"name\": \"slow\"", true);
    expect_contract("[256]", "[512]", true);
    expect_contract("\"auto\"", "\"exact\"", false);
    expect_contract("1023", "1024", false);
    expect_contract("0.9", "0.8", false);
    expect_contract("5*rows*cols", "6*rows*cols", false);
    expect_contract("\"fill\": \"normal\"", "\"fill\": \"uniform\"", false);
    expect_contract("\"reference.cu\"", "\"other.cu\"", false);
    expect_contract("\"tolerance\": \"auto\",", "\"accept\": [],", true);
    expect_contract("\"tolerance\": \"auto\",", "\"accept\": [{\"kind\": \"race\", \"reason\": \"r\"}],", false);
    struct kb_bench *b = support_parse(support_softmax);
    assert_string_not_equal(contract_of(b, "r").hex, contract_of(b, "s").hex);
    assert_string_not_equal(contract_of(b, "").hex, contract_of(b, NULL).hex);
    kb_bench_free(b);
}

static void expect_accepted(const char *narrowed, const char *reason)
{
    char *accept = kb_format("\"accept\": [{\"kind\": \"uninitialised\", \"reason\": \"no\"}, "
                             "{\"kind\": \"race\", \"reason\": \"clamped\"%s}],",
                             narrowed),
         *text = support_replaced(support_softmax, "\"tolerance\": \"auto\",", accept);
    struct kb_bench *b = support_parse(text);
    cJSON *report = cJSON_Parse("{\"kind\": \"race\", \"file\": \"/k.cu\", \"line\": 14, \"text\": \"thread (1,0,0) of "
                                "block (0,0,0) reads y[899], which thread (2,0,0) wrote to x[3]\"}");
    const char *got = kb_bench_accepts(b, "n::k<float,4>", report);
    if (!got != !reason || (got && strcmp(got, reason)))
        fail_msg("%s: %s", narrowed, got ? got : "not accepted");
    cJSON_Delete(report);
    kb_bench_free(b);
    free(text);
    free(accept);
}

static void expect_unused(const char *entry, const char *findings, const char *said)
{
    char *accept = kb_format("\"accept\": [{\"kind\": \"race\", \"reason\": \"r\"%s}],", entry),
         *text = support_replaced(support_softmax, "\"tolerance\": \"auto\",", accept);
    struct kb_bench *b = support_parse(text);
    cJSON *list = cJSON_Parse(findings);
    char *got = kb_bench_accepts_nothing(b, &b->variants[0], list);
    if (!got != !said || (got && strcmp(got, said)))
        fail_msg("%s: %s", entry, got ? got : "none");
    free(got);
    cJSON_Delete(list);
    kb_bench_free(b);
    free(text);
    free(accept);
}

static void test_accept_unused(void **state)
{
    (void)state;
    expect_unused(", \"file\": \"naive.cu\", \"line\": 14", "[]", "race in naive.cu:14");
    expect_unused(", \"kernel\": \"softmax_naive\"", "[]", "race in softmax_naive");
    expect_unused(", \"file\": \"naive.cu\"", "[{\"kind\": \"race\", \"file\": \"/naive.cu\"}]", NULL);
    expect_unused(", \"file\": \"tuned.cu\"", "[]", NULL); // about another variant
    expect_unused("", "[]", NULL);
}

static void test_accept(void **state)
{
    (void)state;
    expect_accepted("", "clamped");
    expect_accepted(", \"kernel\": \"n::k\", \"argument\": \"y\", \"file\": \"k.cu\", \"line\": 14", "clamped");
    expect_accepted(", \"kernel\": \"n::k<float,4>\"", "clamped");
    expect_accepted(", \"kernel\": \"n::k<float,8>\"", NULL);
    expect_accepted(", \"kernel\": \"n::\"", NULL);
    expect_accepted(", \"argument\": \"x\"", NULL);
    expect_accepted(", \"file\": \"u.cu\"", NULL);
    expect_accepted(", \"line\": 15", NULL);
}

static void test_load(void **state)
{
    (void)state;
    char dir[] = "/tmp/kb-bench-XXXXXX";
    struct kb_bench *b = NULL;
    struct kb_error e = {0};
    assert_non_null(mkdtemp(dir));
    assert_int_equal(kb_bench_load(dir, &b, &e), -1);
    support_contains(e.on, "bench.json");
    support_contains(e.remedy, "kbench-tui new");
    char *path = kb_path_join(dir, "bench.json");
    assert_int_equal(kb_file_replace(path, support_softmax, strlen(support_softmax), &e), 0);
    assert_int_equal(kb_bench_load(dir, &b, &e), 0);
    assert_string_equal(b->path, path);
    assert_string_equal(b->dir, dir);
    kb_bench_free(b);
    assert_int_equal(kb_bench_load(path, &b, &e), 0);
    kb_bench_free(b);
    free(path);
    kb_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_variant_values),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_first_case_is_timed_if_none_says),
        cmocka_unit_test(test_forms_of_reference_tolerance_goal),
        cmocka_unit_test(test_names_and_labels),
        cmocka_unit_test(test_launch_and_shape),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_variant_round_trip),
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_accept_unused),
        cmocka_unit_test(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
