// Text: the cleaner, widths, decoding, nearest words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *cleaned(const char *bytes, size_t n, bool ascii)
{
    struct kb_text out = {0};
    kb_clean(&out, bytes, n, ascii);
    return kb_text_take(&out);
}

static void test_marks(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *utf8, *ascii;
    } cases[] = {
        {"", "", ""},
        {"plain text", "plain text", "plain text"},
        {"\x1b[31mred\x1b[0m", "␛[31mred␛[0m", "^[[31mred^[[0m"},
        {"\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇", "^[]52;c;aGk=^G"}, // writes the clipboard
        {"\x1b]0;title\x1b\\", "␛]0;title␛\\", "^[]0;title^[\\"},
        {"abcdef\rXY", "abcdef␍XY", "abcdef^MXY"},
        {"ab\b\bc\x7f", "ab␈␈c␡", "ab^H^Hc^?"},
        {"\x9b"
         "2J",
         "<9b>2J", "<9b>2J"}, // CSI in one byte
        {"\xc2\x9b"
         "2J",
         "<U+009B>2J", "<U+009B>2J"}, // the same, encoded
        {"\xe2\x80\xae"
         "gnp.exe",
         "<U+202E>gnp.exe", "<U+202E>gnp.exe"}, // right-to-left override
        {"\xe2\x81\xa6x", "<U+2066>x", "<U+2066>x"},
        {"a\xe2\x80\x8b"
         "b",
         "a<U+200B>b", "a<U+200B>b"}, // zero width
        {"\xef\xbb\xbfx", "<U+FEFF>x", "<U+FEFF>x"},
        {"\xe2\x80\xa8", "<U+2028>", "<U+2028>"}, // line separator
        {"\xff\xfe", "<ff><fe>", "<ff><fe>"},
        {"\xc0\xaf", "<c0><af>", "<c0><af>"},                         // overlong
        {"\xed\xa0\x80", "<ed><a0><80>", "<ed><a0><80>"},             // a surrogate
        {"\xf4\x90\x80\x80", "<f4><90><80><80>", "<f4><90><80><80>"}, // beyond U+10FFFF
        {"caf\xc3", "caf<c3>", "caf<c3>"},                            // cut
        {"caf\xc3\xa9", "café", "caf\\u{e9}"},
        {"\xf0\x9f\x98\x80", "😀", "\\u{1f600}"},
        {"a\tb", "a       b", "a       b"},
        {"12345678\tb", "12345678        b", "12345678        b"},
        {"\xe4\xbd\xa0\tb", "你      b", "\\u{4f60}        b"}, // two columns
        {"a\nb\tc", "a\nb       c", "a\nb       c"},
        {"\r\n", "␍\n", "^M\n"},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        char *utf8 = cleaned(cases[i].bytes, strlen(cases[i].bytes), false);
        char *ascii = cleaned(cases[i].bytes, strlen(cases[i].bytes), true);
        assert_string_equal(utf8, cases[i].utf8);
        assert_string_equal(ascii, cases[i].ascii);
        free(utf8);
        free(ascii);
    }
    char *zero = cleaned("a\0b", 3, false);
    assert_string_equal(zero, "a␀b");
    free(zero);
}

// Whatever comes in: nothing that drives a terminal comes out, and cleaning twice is cleaning once.
static void test_any_bytes(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (int round = 0; round < 2000; round++) {
        char bytes[64];
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)(random >> 24);
        }
        for (int ascii = 0; ascii < 2; ascii++) {
            char *once = cleaned(bytes, sizeof bytes, ascii), *twice = cleaned(once, strlen(once), ascii);
            for (size_t i = 0, n = strlen(once); i < n;) {
                uint32_t code = 0;
                int used = kb_utf8_decode(once + i, n - i, &code);
                assert_true(used > 0);
                assert_true(code == '\n' || (code >= 0x20 && code != 0x7f && !(code >= 0x80 && code < 0xa0)));
                assert_true(!ascii || code < 0x7f);
                i += (size_t)used;
            }
            assert_string_equal(once, twice);
            free(once);
            free(twice);
        }
    }
}

static void test_cleaned_is_one_line(void **state)
{
    (void)state;
    char *clean = kb_cleaned("a\nb\t\x1b\n");
    assert_string_equal(clean, "a␊b       ␛␊");
    free(clean);
    clean = kb_cleaned("");
    assert_string_equal(clean, "");
    free(clean);
}

static void test_widths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int width;
    } cases[] = {
        {"", 0},     {"abc", 3}, {"é", 1},    {"e\xcc\x81", 1}, // combining
        {"你好", 4}, {"ａ", 2},                                 // full width
        {"😀", 2},    {"␛[", 2},  {"\xff", 1}, {"│─▁█", 4},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++)
        assert_int_equal(kb_text_width(cases[i].text, strlen(cases[i].text)), cases[i].width);
    for (uint32_t code = 0x20; code < 0x7f; code++)
        assert_int_equal(kb_char_width(code), 1);
    assert_int_equal(kb_char_width(0x1b), 0);
    assert_int_equal(kb_char_width(0x7f), 0);
    assert_int_equal(kb_char_width(0x9b), 0);
}

static void test_decode(void **state)
{
    (void)state;
    uint32_t code = 0;
    assert_int_equal(kb_utf8_decode("é", 2, &code), 2);
    assert_int_equal(code, 0xe9);
    assert_int_equal(kb_utf8_decode("é", 1, &code), 0);
    assert_int_equal(kb_utf8_decode("\xf0\x9f\x98\x80", 4, &code), 4);
    assert_int_equal(code, 0x1f600);
    assert_int_equal(kb_utf8_decode("\0", 1, &code), 1);
    assert_int_equal(code, 0);
    assert_int_equal(kb_utf8_decode("\x80", 1, &code), 0);
}

static void test_growing(void **state)
{
    (void)state;
    struct kb_text t = {0};
    kb_text_bytes(&t, NULL, 0);
    assert_string_equal(t.data, "");
    for (int i = 0; i < 1000; i++)
        kb_text_addf(&t, "%d,", i % 10);
    assert_int_equal(t.size, 2000);
    assert_int_equal(strlen(t.data), 2000);
    kb_text_clear(&t);
    assert_string_equal(t.data, "");
    kb_text_add(&t, "x");
    char *taken = kb_text_take(&t);
    assert_string_equal(taken, "x");
    assert_null(t.data);
    free(taken);
    taken = kb_text_take(&t);
    assert_string_equal(taken, "");
    free(taken);
    kb_text_free(&t);
}

static const char *near(const char *word)
{
    static const char *const known[] = {"tolerance", "time", "fill", "f32", "f64", "x", "rows", "cols"};
    const char *found = kb_nearest(word, known, KB_COUNT(known));
    return found ? found : "";
}

static void test_nearest(void **state)
{
    (void)state;
    assert_string_equal(near("tolerance"), "tolerance");
    assert_string_equal(near("tolerence"), "tolerance");
    assert_string_equal(near("toleranec"), "tolerance");
    assert_string_equal(near("TOLERANCE"), "tolerance");
    assert_string_equal(near("fil"), "fill");
    assert_string_equal(near("f23"), "f32"); // swapped is nearer than changed
    assert_string_equal(near("X"), "x");
    assert_string_equal(near("y"), "");
    assert_string_equal(near("clos"), "cols");
    assert_string_equal(near("something else"), "");
    assert_string_equal(near(""), "");
    char longer[300];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_string_equal(near(longer), "");
    const char *const same[] = {longer};
    assert_null(kb_nearest("x", same, 1));
    assert_null(kb_nearest("x", NULL, 0));
}

static void test_prefix_suffix(void **state)
{
    (void)state;
    assert_true(kb_starts("abc", "ab") && kb_starts("abc", "") && !kb_starts("ab", "abc"));
    assert_true(kb_ends("a.npy", ".npy") && kb_ends("x", "") && !kb_ends("npy", ".npy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_cleaned_is_one_line),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_prefix_suffix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
