// Bytes into keys, and the table of keys.
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "tui/input.h"
#include "tui/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char seen[512];
static bool any_burst;

static void on_key(void *context, int key, bool burst)
{
    (void)context;
    char name[16];
    size_t n = strlen(seen);
    snprintf(seen + n, sizeof seen - n, "%s%s", n ? " " : "", kb_key_name(key, name));
    any_burst |= burst;
}

static void feed(struct kb_input *in, const char *bytes, int64_t now)
{
    seen[0] = 0;
    any_burst = false;
    kb_input_feed(in, bytes, strlen(bytes), now, on_key, NULL);
}

static void test_keys(void **state)
{
    (void)state;
    struct kb_input in = {.count = 0};
    feed(&in, "j", 0);
    assert_string_equal(seen, "j");
    assert_false(any_burst);
    feed(&in, "\033[A\033OB\033[5~\033[Z\033OP\033[1;5C\r\n\177\t", 0);
    assert_string_equal(seen, "Up Down PgUp Shift-Tab F1 Enter Enter Backspace Tab");
    feed(&in, "\xe4\xbd\xa0\xff\xc3", 0); // a character, garbage, half a character
    assert_string_equal(seen, "U+4F60");
    feed(&in, "\xa9", 1);
    assert_string_equal(seen, "U+00E9");
    feed(&in, "\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", 2); // C1 controls are no keys, what follows them is
    assert_string_equal(seen, "U+00A0");
    feed(&in, "\033[<64;10;10M\033[M\033[200;300;400;500;600;700;800;900;1000;1100;1200;1300;1400~x", 0);
    assert_string_equal(seen, "x");
    feed(&in, "qq", 0);
    assert_true(any_burst);
}

// Each sequence, cut at each place, gives the same.
static void test_split(void **state)
{
    (void)state;
    static const char all[] = "a\033[6~\xc3\xa9\033OA\033[200~qq\033[201~b";
    for (size_t cut = 0; cut < sizeof all - 1; cut++) {
        struct kb_input in = {.count = 0};
        seen[0] = 0;
        kb_input_feed(&in, all, cut, 0, on_key, NULL);
        kb_input_feed(&in, all + cut, sizeof all - 1 - cut, 1, on_key, NULL);
        assert_string_equal(seen, "a PgDn U+00E9 Up b");
    }
}

static void test_escape(void **state)
{
    (void)state;
    struct kb_input in = {.count = 0};
    assert_int_equal(kb_input_wait_ms(&in, 0), -1);
    feed(&in, "\033", 100);
    assert_string_equal(seen, "");
    int wait = kb_input_wait_ms(&in, 100);
    assert_in_range(wait, 1, 49);
    kb_input_tick(&in, 100 + wait - 1, on_key, NULL); // it may begin a sequence still
    assert_string_equal(seen, "");
    kb_input_tick(&in, 100 + wait, on_key, NULL);
    assert_string_equal(seen, "Esc");
    feed(&in, "\033\033[A", 200);
    assert_string_equal(seen, "Esc Up");
}

static void test_paste(void **state)
{
    (void)state;
    struct kb_input in = {.count = 0};
    feed(&in, "\033[200~qqq\033[31m\r\033[201~j", 0);
    assert_string_equal(seen, "j");
    in.text_field = true;
    feed(&in, "\033[200~a q\r\033[A\033[201~", 0);
    assert_string_equal(seen, "a Space q");
    in.text_field = false;
    feed(&in, "\033[200~", 1000); // without an end: somebody types on
    for (int64_t now = 1100; now < 1000 + KB_PASTE_MS; now += 100) {
        feed(&in, "q", now);
        assert_string_equal(seen, "");
        kb_input_tick(&in, now, on_key, NULL);
    }
    assert_true(kb_input_wait_ms(&in, 1400) >= 0);
    kb_input_tick(&in, 1000 + KB_PASTE_MS, on_key, NULL);
    feed(&in, "q", 1000 + KB_PASTE_MS);
    assert_string_equal(seen, "q");
    assert_int_equal(kb_input_wait_ms(&in, 2000), -1);
}

static void test_table(void **state)
{
    (void)state;
    bool bound[KB_ACTIONS] = {false};
    for (size_t i = 0; i < kb_binding_count; i++) {
        const struct kb_binding *b = &kb_bindings[i];
        bound[b->action] = true;
        assert_true(b->help[0] && b->keys[0]);
        for (size_t k = 0; k < KB_COUNT(b->keys) && b->keys[k]; k++) {
            char name[16];
            assert_int_equal(kb_key_parse(kb_key_name(b->keys[k], name)), b->keys[k]);
            // A key means one thing, apart from a replay's own.
            assert_int_equal(kb_action_of(b->keys[k], b->group == KB_GROUP_REPLAY), b->action);
        }
    }
    for (int action = KB_ACT_NONE + 1; action < KB_ACTIONS; action++)
        assert_true(bound[action]);
    assert_int_equal(kb_action_of(']', false), KB_ACT_NONE);
    assert_int_equal(kb_key_parse("no such key"), KB_KEY_NONE);
}

// docs/keys.md is the table as text; KB_UPDATE_GOLDEN=1 writes it anew.
static void test_docs(void **state)
{
    (void)state;
    static const char path[] = KB_SOURCE_DIR "/docs/keys.md";
    struct kb_text text = {0};
    char *old = NULL;
    size_t size;
    kb_text_add(&text,
                "# Keys of the screen\n\nMade from the table in tui/keys.c; `?` shows the same on the screen.\n");
    for (int group = 0; group < KB_GROUPS; group++) {
        kb_text_addf(&text, "\n## %s\n\n| key | what it does |\n|---|---|\n", kb_group_name((enum kb_key_group)group));
        for (size_t i = 0; i < kb_binding_count; i++) {
            char keys[48];
            if ((int)kb_bindings[i].group == group)
                kb_text_addf(&text, "| %s | %s |\n", kb_binding_keys(&kb_bindings[i], keys), kb_bindings[i].help);
        }
    }
    if (getenv("KB_UPDATE_GOLDEN"))
        assert_int_equal(kb_file_replace(path, text.data, text.size, NULL), 0);
    assert_int_equal(kb_file_read(path, 1 << 20, &old, &size, NULL), 0);
    assert_string_equal(old, text.data);
    free(old);
    kb_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),  cmocka_unit_test(test_split), cmocka_unit_test(test_escape),
        cmocka_unit_test(test_paste), cmocka_unit_test(test_table), cmocka_unit_test(test_docs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
