// Captured output: lines, cleaning, bounds, counts.
#include "base/memory.h"
#include "loop/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    int lines;
    int64_t dropped;
    char last[4096];
};

static void keep(void *context, const char *text, int64_t dropped)
{
    struct seen *s = context;
    s->lines++;
    s->dropped += dropped;
    snprintf(s->last, sizeof s->last, "%s", text);
}

static void feed(struct kb_lines *l, struct seen *s, const char *text, int64_t now)
{
    kb_lines_feed(l, text, strlen(text), now, keep, s);
}

static void pieces_become_lines(void **state)
{
    (void)state;
    struct kb_lines l = {0};
    struct seen s = {0};
    feed(&l, &s, "one\ntw", 1);
    assert_int_equal(s.lines, 1);
    assert_string_equal(s.last, "one");
    feed(&l, &s, "o\r\nrest", 2);
    assert_int_equal(s.lines, 2);
    assert_string_equal(s.last, "two");
    kb_lines_end(&l, keep, &s);
    assert_int_equal(s.lines, 3);
    assert_string_equal(s.last, "rest");
}

static void each_byte_alone_gives_the_same(void **state)
{
    (void)state;
    static const char text[] = "a\n\nbc\nd";
    struct kb_lines l = {0};
    struct seen s = {0};
    for (size_t i = 0; i + 1 < sizeof text; i++)
        kb_lines_feed(&l, text + i, 1, 1, keep, &s);
    assert_int_equal(s.lines, 3);
    kb_lines_end(&l, keep, &s);
    assert_string_equal(s.last, "d");
}

static void controls_are_marked(void **state)
{
    (void)state;
    struct kb_lines l = {0};
    struct seen s = {0};
    feed(&l, &s, "\033]52;c;aGk=\a\x9b\n", 1);
    for (const char *c = s.last; *c; c++)
        assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    kb_lines_end(&l, keep, &s);
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    struct kb_lines l = {0};
    struct seen s = {0};
    char *text = kb_alloc(100001);
    memset(text, 'x', 100000);
    feed(&l, &s, text, 1);
    assert_true(l.partial.size <= KB_LINE_BYTES);
    feed(&l, &s, "\nnext\n", 1);
    assert_int_equal(s.lines, 2);
    assert_string_equal(s.last, "next");
    free(text);
    kb_lines_end(&l, keep, &s);
}

static void a_flood_is_bounded_and_counted(void **state)
{
    (void)state;
    struct kb_lines l = {0};
    struct seen s = {0};
    for (int i = 0; i < 5000; i++)
        feed(&l, &s, "flood\n", 10);
    assert_int_equal(s.lines, KB_LINES_PER_SECOND);
    assert_int_equal(kb_lines_wait_ms(&l, 10), 1001);
    kb_lines_tick(&l, 20, keep, &s); // its second is not over
    assert_int_equal(s.lines, KB_LINES_PER_SECOND);
    kb_lines_tick(&l, 1000010, keep, &s);
    assert_int_equal(s.lines, KB_LINES_PER_SECOND + 1);
    assert_int_equal(s.dropped, 5000 - KB_LINES_PER_SECOND);
    assert_int_equal(kb_lines_wait_ms(&l, 1000010), -1);
    feed(&l, &s, "calm\n", 1000020);
    assert_string_equal(s.last, "calm");
    kb_lines_end(&l, keep, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_become_lines),
        cmocka_unit_test(each_byte_alone_gives_the_same),
        cmocka_unit_test(controls_are_marked),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(a_flood_is_bounded_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
