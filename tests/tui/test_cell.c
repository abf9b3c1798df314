// The grid, styled lines and numbers.
#include "base/memory.h"
#include "tui/cell.h"
#include "tui/format.h"
#include "tui/line.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_row(const struct kb_grid *g, int y, const char *text)
{
    char *row = kb_grid_row(g, y);
    assert_string_equal(row, text);
    free(row);
}

static void test_put_and_cut(void **state)
{
    (void)state;
    struct kb_grid g;
    kb_grid_init(&g, 10, 2, false);
    struct kb_canvas c = {&g, {0, 0, 10, 2}};
    assert_int_equal(kb_put(&c, 0, 0, KB_STYLE_TEXT, "abc"), 3);
    expect_row(&g, 0, "abc");
    kb_put_cut(&c, 2, 1, 5, KB_STYLE_TEXT, "abcdefgh");
    expect_row(&g, 1, "  abcd…");
    kb_put(&c, 8, 0, KB_STYLE_TEXT, "xyz");
    expect_row(&g, 0, "abc     x…");
    kb_put(&c, 0, 7, KB_STYLE_TEXT, "outside");
    kb_put(&c, -2, 0, KB_STYLE_TEXT, "12Z");
    expect_row(&g, 0, "Zbc     x…");
    kb_grid_free(&g);
}

static void test_wide(void **state)
{
    (void)state;
    struct kb_grid g;
    kb_grid_init(&g, 6, 1, false);
    struct kb_canvas c = {&g, {0, 0, 6, 1}};
    assert_int_equal(kb_put(&c, 0, 0, KB_STYLE_TEXT, "你好"), 4);
    assert_int_equal(kb_grid_at(&g, 0, 0)->width, 2);
    assert_int_equal(kb_grid_at(&g, 1, 0)->width, 0);
    kb_put(&c, 1, 0, KB_STYLE_TEXT, "x"); // half of it goes, so all of it goes
    expect_row(&g, 0, " x好");
    kb_put_code(&c, 5, 0, KB_STYLE_TEXT, 0x4f60); // no room for its right half
    assert_int_equal(kb_grid_at(&g, 5, 0)->code, ' ');
    kb_put(&c, 0, 0, KB_STYLE_TEXT, "e\xcc\x81"); // e and a combining acute accent
    assert_int_equal(kb_grid_at(&g, 0, 0)->marks[0], 0x301);
    assert_int_equal(kb_put_cut(&c, 0, 0, 3, KB_STYLE_TEXT, "你好"), 3);
    expect_row(&g, 0, "你…");
    kb_grid_free(&g);
}

static void test_foreign_text(void **state)
{
    (void)state;
    static const char evil[] = "a\033[31m\rb\b\xe2\x80\xae\xff\nz";
    struct kb_grid g;
    kb_grid_init(&g, 60, 1, false);
    kb_put(&(struct kb_canvas){&g, {0, 0, 60, 1}}, 0, 0, KB_STYLE_TEXT, evil);
    for (int x = 0; x < 60; x++)
        assert_true(kb_grid_at(&g, x, 0)->code >= 0x20 && kb_grid_at(&g, x, 0)->code != 0x202e);
    g.ascii = true;
    kb_put(&(struct kb_canvas){&g, {0, 0, 60, 1}}, 0, 0, KB_STYLE_TEXT, evil);
    for (int x = 0; x < 60; x++)
        assert_in_range(kb_grid_at(&g, x, 0)->code, 0x20, 0x7e);
    kb_grid_clear(&g);
    kb_put(&(struct kb_canvas){&g, {0, 0, 60, 1}}, 0, 0, KB_STYLE_TEXT, "1 → 2 ±3 – é");
    expect_row(&g, 0, "1 -> 2 +-3 - \\u{e9}");
    kb_grid_free(&g);
}

static void test_lines(void **state)
{
    (void)state;
    struct kb_line l = {.ascii = false};
    struct kb_lines out = {.ascii = false};
    struct kb_grid g;
    kb_span(&l, KB_STYLE_GOOD, "one two");
    kb_span(&l, KB_STYLE_BAD, " three");
    kb_span_right(&l, 20, KB_STYLE_TEXT, "end");
    assert_int_equal(kb_line_width(&l), 20);
    kb_lines_wrap(&out, &l, 8, 2, 0);
    kb_grid_init(&g, 8, 4, false);
    for (int i = 0; i < out.count; i++) {
        assert_true(kb_line_width(&out.items[i]) <= 8);
        kb_line_draw(&(struct kb_canvas){&g, {0, 0, 8, 4}}, 0, i, 8, &out.items[i]);
    }
    expect_row(&g, 0, "one two");
    expect_row(&g, 1, "  three");
    expect_row(&g, 2, "  end");
    assert_int_equal(kb_grid_at(&g, 0, 0)->style, KB_STYLE_GOOD);
    assert_int_equal(kb_grid_at(&g, 2, 1)->style, KB_STYLE_BAD);
    kb_lines_free(&out);
    kb_lines_wrap(&out, &l, 8, 2, 2); // the second takes the rest
    assert_int_equal(out.count, 2);
    assert_true(kb_line_width(&out.items[1]) > 8);
    kb_lines_free(&out);
    kb_lines_text(&out, KB_STYLE_TEXT, 1, 0, "你a"); // nothing fits, nothing hangs
    assert_true(out.count >= 1);
    kb_lines_free(&out);
    kb_line_free(&l);
    kb_grid_free(&g);
}

static void test_numbers(void **state)
{
    (void)state;
    assert_string_equal(kb_show_time(36.8).s, "36.8 us");
    assert_string_equal(kb_show_time(9.994).s, "9.99 us");
    assert_string_equal(kb_show_time(842.64).s, "842.6 us");
    assert_string_equal(kb_show_time(12345).s, "12.3 ms");
    assert_string_equal(kb_show_time(0).s, "0.00 us");
    assert_string_equal(kb_show_time(NAN).s, "–");
    assert_string_equal(kb_show_ms(3.14).s, "3.1 ms");
    assert_string_equal(kb_show_ms(20003).s, "20.0 s");
    assert_string_equal(kb_show_bytes_rate(3.9e12).s, "3.90 TB/s");
    assert_string_equal(kb_show_bytes_rate(INFINITY).s, "inf B/s");
    assert_string_equal(kb_show_flops_rate(5.12e13).s, "51.2 TFLOP/s");
    assert_string_equal(kb_show_bytes(134217728).s, "134 MB");
    assert_string_equal(kb_show_bytes(999).s, "999 B");
    assert_string_equal(kb_show_percent(0.912).s, "91%");
    assert_string_equal(kb_show_percent(0.042).s, "4.2%");
    assert_string_equal(kb_show_change(0.9266).s, "-7.3%");
    assert_string_equal(kb_show_change(24.7).s, "+2370%");
    assert_string_equal(kb_show_error(2e-7).s, "2e-7");
    assert_string_equal(kb_show_error(2.14e-7).s, "2.1e-7");
    assert_string_equal(kb_show_error(0.0914).s, "0.0914");
    assert_string_equal(kb_show_error(INFINITY).s, "inf");
    assert_string_equal(kb_show_error(-1e30).s, "-1e30");
    assert_string_equal(kb_show_count(4194304).s, "4,194,304");
    assert_string_equal(kb_show_count(-1000).s, "-1,000");
    assert_string_equal(kb_show_count(7).s, "7");
    assert_string_equal(kb_show_age(-5).s, "0 s");
    assert_string_equal(kb_show_age(125000).s, "2 min");
    assert_string_equal(kb_show_age(7200000).s, "2 h");
}

static void test_themes(void **state)
{
    (void)state;
    const struct kb_theme *t = kb_theme_find(NULL);
    assert_null(kb_theme_find("neon"));
    for (int i = 0; i < 4; i++, t = kb_theme_next(t)) {
        assert_non_null(strstr(kb_theme_names(), kb_theme_name(t)));
        for (int style = 0; style < KB_STYLE_COUNT; style++)
            for (int selected = 0; selected < 2; selected++) {
                struct kb_look none = kb_theme_look(t, (enum kb_style)style, selected, 0);
                struct kb_look eight = kb_theme_look(t, (enum kb_style)style, selected, 8);
                struct kb_look full = kb_theme_look(t, (enum kb_style)style, selected, 256);
                assert_true(none.fg == -1 && none.bg == -1);
                assert_in_range(eight.fg + 1, 0, 8);
                assert_in_range(full.fg + 1, 0, 256);
                assert_true(full.fg == -1 || full.fg != full.bg); // never the same on the same
                assert_true(eight.fg == -1 || eight.fg != eight.bg);
            }
    }
    assert_ptr_equal(t, kb_theme_find("dark")); // around
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_and_cut), cmocka_unit_test(test_wide),    cmocka_unit_test(test_foreign_text),
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_numbers), cmocka_unit_test(test_themes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
