// Expressions: values, limits, and where the errors point.
#include "base/memory.h"
#include "base/text.h"
#include "bench/expr.h"
#include "bench/support_bench.h"

#include <stdlib.h>
#include <string.h>

static struct kb_names some_names(void)
{
    struct kb_names names = {0};
    kb_names_set(&names, "rows", 37);
    kb_names_set(&names, "cols", 1023);
    kb_names_set(&names, "low", INT64_MIN);
    kb_names_set(&names, "high", INT64_MAX);
    kb_names_set(&names, "minus", -1);
    return names;
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"  42 ", 42},
        {"007", 7},
        {"0xFf", 255},
        {"rows*cols", 37 * 1023},
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"10-4-3", 3},
        {"100/10/5", 2},
        {"-7/2", -3},
        {"-7%3", -1},
        {"--5", 5},
        {"- - -5", -5},
        {"2*-3", -6},
        {"-rows", -37},
        {"ceil_div(1,256)", 1},
        {"ceil_div(256,256)", 1},
        {"ceil_div(257,256)", 2},
        {"ceil_div(-7,2)", -3},
        {"ceil_div(-7,-2)", 4},
        {"ceil_div(0,5)", 0},
        {"ceil_div(high,1)", INT64_MAX},
        {"ceil_div(high,high-1)", 2},
        {"min(rows,cols)", 37},
        {"max(rows , min(1,2))", 37},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036854775807", INT64_MAX},
        {"low%minus", 0},
        {"\trows\n", 37},
    };
    struct kb_names names = some_names();
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        int64_t value = 99;
        struct kb_error e = {0};
        if (kb_expr_eval(cases[i].text, &names, &value, &e))
            fail_msg("%s: %s", cases[i].text, kb_error_line(&e));
        if (value != cases[i].value)
            fail_msg("%s is %lld", cases[i].text, (long long)value);
        assert_int_equal(kb_expr_check(cases[i].text, &e), 0);
    }
    kb_names_free(&names);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what, *remedy;
    } cases[] = {
        {"", "ends too early at column 1", ""},
        {"rows*", "ends too early at column 6", ""},
        {"rows*(2+", "ends too early at column 9", ""},
        {"(1", "expected ')' at column 3", ""},
        {"1)", "unexpected ')' at column 2", ""},
        {"1 2", "unexpected '2' at column 3", ""},
        {"1<<20", "unexpected '<' at column 2", "ceil_div"},
        {"3u", "behind a number at column 2", ""},
        {"1.5", "behind a number at column 2", ""},
        {"0x", "without digits at column 1", ""},
        {"row*2", "unknown name 'row' at column 1", "did you mean 'rows'"},
        {"2*colz", "unknown name 'colz' at column 3", "did you mean 'cols'"},
        {"zebra", "unknown name 'zebra'", "known names: rows, cols"},
        {"ceildiv(1,2)", "unknown function at column 1", "did you mean 'ceil_div'"},
        {"min(1)", "expected ',' and a second argument at column 6", ""},
        {"min(1,2,3)", "expected ')' at column 8", ""},
        {"1/0", "division by zero at column 2", ""},
        {"1%(2-2)", "division by zero at column 2", ""},
        {"ceil_div(1,0)", "division by zero at column 1", ""},
        {"high+1", "overflow at column 5", ""},
        {"low-1", "overflow at column 4", ""},
        {"high*2", "overflow at column 5", ""},
        {"low/minus", "overflow at column 4", ""},
        {"ceil_div(low,minus)", "overflow at column 1", ""},
        {"-low", "overflow", ""},
        {"9223372036854775808", "overflow at column 1", ""},
        {"-9223372036854775809", "overflow at column 2", ""},
        {"0x8000000000000000", "overflow", ""},
        {"1+\x01", "unexpected byte 0x01", ""},
        {"1+\xff", "unexpected byte 0xff", ""},
    };
    struct kb_names names = some_names();
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        int64_t value;
        struct kb_error e = {0};
        if (!kb_expr_eval(cases[i].text, &names, &value, &e))
            fail_msg("%s was accepted", cases[i].text);
        support_contains(e.what, cases[i].what);
        support_contains(e.remedy, cases[i].remedy);
        assert_int_equal(kb_expr_eval(cases[i].text, &names, &value, NULL), -1);
    }
    kb_names_free(&names);
}

static char *repeated(const char *open, const char *middle, const char *close, int n)
{
    struct kb_text out = {0};
    for (int i = 0; i < n; i++)
        kb_text_add(&out, open);
    kb_text_add(&out, middle);
    for (int i = 0; i < n; i++)
        kb_text_add(&out, close);
    return kb_text_take(&out);
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    static const char *const opens[] = {"(", "-", "min(1,", "-(", "1+("};
    struct kb_error e;
    int64_t value;
    for (size_t i = 0; i < KB_COUNT(opens); i++) {
        char *text = repeated(opens[i], "1", strchr(opens[i], '(') ? ")" : "", 100000);
        assert_int_equal(kb_expr_eval(text, NULL, &value, &e), -1);
        support_contains(e.what, "nested too deeply");
        assert_int_equal(kb_expr_check(text, &e), -1);
        free(text);
    }
    char *fine = repeated("(", "7", ")", 100), *wide = repeated("1+", "1", "", 100000);
    assert_int_equal(kb_expr_eval(fine, NULL, &value, &e), 0);
    assert_int_equal(value, 7);
    assert_int_equal(kb_expr_eval(wide, NULL, &value, &e), 0);
    assert_int_equal(value, 100001);
    char *many = repeated("(1)*", "5", "", 1000); // depth comes back after each parenthesis
    assert_int_equal(kb_expr_eval(many, NULL, &value, &e), 0);
    assert_int_equal(value, 5);
    free(fine), free(wide), free(many);
}

static void test_syntax_only(void **state)
{
    (void)state;
    struct kb_error e;
    assert_int_equal(kb_expr_check("anything*(other+1)/0", &e), 0);
    assert_int_equal(kb_expr_check("a b", &e), -1);
    support_contains(e.what, "column 3");
}

static void test_real(void **state)
{
    (void)state;
    struct kb_names names = some_names();
    double value = 0;
    struct kb_error e;
    assert_int_equal(kb_expr_eval_real("2*high*high", &names, &value, &e), 0);
    assert_true(value > 1.7e38 && value < 1.71e38);
    assert_int_equal(kb_expr_eval_real("0.5*rows + 1e3", &names, &value, &e), 0);
    assert_true(value == 1018.5);
    assert_int_equal(kb_expr_eval_real("ceil_div(7,2)+7/2", &names, &value, &e), 0);
    assert_true(value == 7.5);
    assert_int_equal(kb_expr_eval_real("min(-1,0x10)-max(2,3)", &names, &value, &e), 0);
    assert_true(value == -4);
    assert_int_equal(kb_expr_eval_real("1/0", &names, &value, &e), -1);
    support_contains(e.what, "division by zero");
    assert_int_equal(kb_expr_eval_real("1e308*10", &names, &value, &e), -1);
    support_contains(e.what, "overflow at column 6");
    assert_int_equal(kb_expr_eval_real("1e999", &names, &value, &e), -1);
    assert_int_equal(kb_expr_eval_real("1..2", &names, &value, &e), -1);
    kb_names_free(&names);
}

static void test_names(void **state)
{
    (void)state;
    struct kb_names a = some_names(), b = {0};
    kb_names_set(&a, "rows", 5);
    assert_int_equal(a.count, 5);
    kb_names_set(&b, "rows", 6);
    kb_names_set(&b, "z", 7);
    kb_names_copy(&a, &b);
    assert_int_equal(*kb_names_get(&a, "rows"), 6);
    assert_int_equal(*kb_names_get(&a, "z"), 7);
    assert_null(kb_names_get(&a, "Z"));
    kb_names_free(&a);
    kb_names_free(&b);
    assert_int_equal(a.count, 0);
}

static void test_long_text_is_cut_in_errors(void **state)
{
    (void)state;
    char *text = repeated("abcdefgh+", "1", "", 500);
    struct kb_error e;
    int64_t value;
    assert_int_equal(kb_expr_eval(text, NULL, &value, &e), -1);
    support_contains(e.what, "...\": unknown name 'abcdefgh' at column 1");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_syntax_only),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_long_text_is_cut_in_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
