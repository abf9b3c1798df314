// JSON helpers, hashes, errors, the clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_readers_give_the_default(void **state)
{
    (void)state;
    cJSON *o = cJSON_Parse("{\"t\":\"x\",\"n\":1.5,\"i\":-7,\"b\":true,\"big\":1e300,\"null\":null,\"N\":2}");
    assert_string_equal(kb_json_text(o, "t", "d"), "x");
    assert_string_equal(kb_json_text(o, "n", "d"), "d");
    assert_string_equal(kb_json_text(o, "none", "d"), "d");
    assert_true(kb_json_number(o, "n", 9) == 1.5 && kb_json_number(o, "t", 9) == 9 &&
                kb_json_number(o, "null", 9) == 9);
    assert_int_equal(kb_json_int(o, "i", 3), -7);
    assert_int_equal(kb_json_int(o, "big", 3), 3);
    assert_int_equal(kb_json_int(o, "t", 3), 3);
    assert_true(kb_json_bool(o, "b", false) && kb_json_bool(o, "i", true) && !kb_json_bool(o, "none", false));
    assert_true(kb_json_number(o, "N", 9) == 2); // case counts
    assert_null(kb_json_get(NULL, "x"));
    assert_null(kb_json_get(cJSON_GetObjectItem(o, "i"), "x"));
    assert_string_equal(kb_json_text(NULL, "x", "d"), "d");
    cJSON_Delete(o);
}

static char *printed(cJSON *o)
{
    char *line = kb_json_line(o);
    cJSON_Delete(o);
    return line;
}

static void expect(cJSON *o, const char *want)
{
    char *line = printed(o);
    assert_string_equal(line, want);
    free(line);
}

static void test_measured(void **state)
{
    (void)state;
    cJSON *o = cJSON_CreateObject();
    kb_json_measured(o, "a", 2, NULL);
    kb_json_measured(o, "b", 2, "no GPU");
    kb_json_measured(o, "c", NAN, NULL);
    kb_json_measured(o, "d", INFINITY, NULL);
    kb_json_measured(o, "e", 0, "why");
    kb_json_measured(o, "e", 5, NULL); // known now: the reason goes
    expect(o, "{\"a\":2,\"b\":null,\"b_reason\":\"no GPU\",\"c\":null,\"c_reason\":\"not finite\",\"d\":null,"
              "\"d_reason\":\"not finite\",\"e\":5}");
}

static void test_setters_replace(void **state)
{
    (void)state;
    cJSON *o = cJSON_CreateObject();
    kb_json_set_text(o, "a", "x\n\"");
    kb_json_set_text(o, "b", NULL);
    kb_json_set_number(o, "a", 1);
    kb_json_set_number(o, "c", -INFINITY);
    kb_json_set_bool(o, "d", true);
    kb_json_set(o, "b", cJSON_CreateArray());
    expect(o, "{\"a\":1,\"c\":null,\"d\":true,\"b\":[]}");
    expect(NULL, "null");
}

static void round_trip(const char *text)
{
    cJSON *parsed = kb_json_parse(text, strlen(text)), *copy = cJSON_Duplicate(parsed, true);
    char *line = kb_json_line(copy);
    assert_string_equal(line, text);
    assert_true(kb_json_same(parsed, copy));
    free(line);
    cJSON_Delete(parsed);
    cJSON_Delete(copy);
}

static void test_numbers_keep_their_digits(void **state)
{
    (void)state;
    round_trip("{\"a 12345678901234567 \\\" 9\":9007199254740991,\"b\":[9007199254740993,{\"c\":9223372036854775807},"
               "-9223372036854775808,9223372036854775806],\"d\":0.1,\"e\":9007199254740993}");
    round_trip(
        "[0.30000000000000004,1.7976931348623157e+308,4.94065645841247e-324,-0.12345678901234568,3.141592653589793]");
    round_trip("[\"\\b\\f\\n\\r\\t\\u0001\\\\/\\\"\",\"\xe2\x82\xac\",true,false,null,{},[]]");
    int64_t value;
    cJSON *list = kb_json_parse("[9007199254740993,9223372036854775808,1.5,\"1\"]", 46);
    assert_true(kb_json_exact(cJSON_GetArrayItem(list, 0), &value));
    assert_true(value == 9007199254740993);
    for (int i = 1; i < 4; i++)
        assert_false(kb_json_exact(cJSON_GetArrayItem(list, i), &value));
    cJSON *other = kb_json_parse("[9007199254740992,9223372036854775808,1.5,\"1\"]", 46);
    assert_false(kb_json_same(list, other)); // one double, two numbers
    cJSON_Delete(list);
    cJSON_Delete(other);
    cJSON *object = cJSON_CreateObject();
    kb_json_set_int(object, "n", INT64_MAX);
    assert_true(kb_json_exact(kb_json_get(object, "n"), &value) && value == INT64_MAX);
    kb_json_set_int(object, "n", -7);
    expect(object, "{\"n\":-7}");
}

static void test_hash(void **state)
{
    (void)state;
    assert_string_equal(kb_hash_of("", 0).hex, "99aa06d3014798d86001c324468d497f"); // XXH128's own value
    assert_string_not_equal(kb_hash_of("a", 1).hex, kb_hash_of("b", 1).hex);
    assert_int_equal(strlen(kb_hash_of("a", 1).hex), 32);
}

static struct kb_hash hash_of_parts(const char *a, const char *b)
{
    struct kb_hasher *h = kb_hasher_new();
    kb_hasher_text(h, a);
    kb_hasher_text(h, b);
    return kb_hasher_end(h);
}

static void test_parts_do_not_run_together(void **state)
{
    (void)state;
    assert_string_equal(hash_of_parts("ab", "c").hex, hash_of_parts("ab", "c").hex);
    assert_string_not_equal(hash_of_parts("ab", "c").hex, hash_of_parts("a", "bc").hex);
    assert_string_not_equal(hash_of_parts("abc", "").hex, hash_of_parts("", "abc").hex);
    assert_string_not_equal(hash_of_parts("a", NULL).hex, hash_of_parts("a", "").hex);
}

static void test_error(void **state)
{
    (void)state;
    struct kb_error e;
    assert_int_equal(kb_fail(NULL, "on", "do", "x"), -1);
    assert_int_equal(kb_fail(&e, "k.cu:3", "do this", "%d wrong", 7), -1);
    assert_string_equal(kb_error_line(&e), "k.cu:3: 7 wrong (do this)");
    kb_fail(&e, e.remedy, e.what, "%s: %s", e.on, e.what); // parts of itself
    assert_string_equal(kb_error_line(&e), "do this: k.cu:3: 7 wrong (7 wrong)");
    kb_fail(&e, NULL, NULL, "plain");
    assert_string_equal(kb_error_line(&e), "plain");
    char *text = kb_alloc(5000);
    memset(text, 'x', 4999);
    kb_fail(&e, text, text, "%s", text);
    assert_int_equal(strlen(e.what), sizeof e.what - 1);
    assert_int_equal(strlen(e.on), sizeof e.on - 1);
    assert_true(strlen(kb_error_line(&e)) > sizeof e.what);
    free(text);
}

static void test_clock(void **state)
{
    (void)state;
    char stamp[17], iso[21];
    int64_t before = kb_now_us();
    kb_utc_stamp(stamp);
    kb_utc_iso(iso);
    assert_true(kb_now_us() >= before);
    assert_int_equal(strlen(stamp), 16);
    assert_int_equal(stamp[8], 'T');
    assert_int_equal(strlen(iso), 20);
    assert_int_equal(iso[19], 'Z');
}

static void test_memory(void **state)
{
    (void)state;
    char *zero = kb_alloc(0), *copy = kb_strndup("abc", 2), *formatted = kb_format("%s-%d", "a", 1);
    assert_non_null(zero);
    assert_string_equal(copy, "ab");
    assert_string_equal(formatted, "a-1");
    assert_null(kb_strdup(NULL));
    int *list = NULL, count = 0, capacity = 0;
    for (int i = 0; i < 100; i++) {
        KB_GROW(list, count, capacity);
        list[count++] = i;
    }
    assert_int_equal(list[99], 99);
    free(zero), free(copy), free(formatted), free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers_give_the_default),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_setters_replace),
        cmocka_unit_test(test_numbers_keep_their_digits),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_parts_do_not_run_together),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
