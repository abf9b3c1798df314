// A failing case as a file: who is asked, where it goes, and that nothing is ever overwritten.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct bed *begin(const char *fake)
{
    struct bed *b = bed_new();
    bed_kernel(b, "a.cu", "a", fake, 1);
    bed_kernel(b, "b.cu", "b", "//fake: compile=fail", 1); // never runs
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    return b;
}

// Asks, and waits for the answer.
static const cJSON *export(struct bed *b, int index, const char *file)
{
    bed_mark(b);
    kb_session_export(b->session, "a", index, file);
    bed_until_event(b, "exported");
    assert_int_equal(bed_count(b, "exported"), 1);
    return bed_find(b, "exported");
}

static void reason_is(const cJSON *event, const char *part)
{
    const char *reason = kb_json_text(event, "reason", "");
    assert_true(cJSON_IsNull(kb_json_get(event, "path")));
    if (!strstr(reason, part))
        fail_msg("\"%s\" is not in: %s", part, reason);
}

static void path_is(const cJSON *event, const char *path)
{
    if (strcmp(kb_json_text(event, "path", ""), path))
        fail_msg("%s, wanted %s: %s", kb_json_text(event, "path", "no file"), path, kb_json_text(event, "reason", ""));
}

static char *text_at(const cJSON *event)
{
    char *data = NULL;
    size_t size;
    if (kb_file_read(kb_json_text(event, "path", "/none"), 1 << 20, &data, &size, NULL))
        fail_msg("there is no file: %s", kb_json_text(event, "reason", "?"));
    return data;
}

static void wrong_case_is_written_beside_the_history(void **state)
{
    (void)state;
    struct bed *b = begin("//fake: verify=fail");
    const cJSON *event = export(b, 0, NULL);
    char *text = text_at(event), *expected = bed_path(b, ".kbench/failing/a-v1-64.cu");
    path_is(event, expected);
    assert_string_equal(kb_json_text(event, "variant", ""), "a");
    assert_int_equal(kb_json_int(event, "version", 0), 1);
    assert_non_null(strstr(text, "// set 12, 3 calls, case 0\nint main()"));
    assert_non_null(strstr(text, "nvcc -g -lineinfo -arch=sm_90 -I "));
    assert_non_null(strstr(kb_json_text(event, "compile", ""), expected));
    assert_string_equal(kb_json_text(bed_find(b, "status level=info"), "remedy", ""),
                        kb_json_text(event, "compile", "?"));
    const struct kb_model_version *v = kb_model_current(&b->model, 0);
    assert_string_equal(v->exported->path, expected);
    free(text);

    // Once more: the same text is there already.
    event = export(b, -1, NULL);
    path_is(event, expected);
    // Somebody has changed it: it is kept, the next name is free.
    bed_write(b, ".kbench/failing/a-v1-64.cu", "// mine\n");
    event = export(b, -1, NULL);
    char *second = bed_path(b, ".kbench/failing/a-v1-64-2.cu"), *kept = bed_read(b, ".kbench/failing/a-v1-64.cu");
    path_is(event, second);
    assert_string_equal(kept, "// mine\n");
    assert_int_equal(bed_log_count(b, "run export"), 3);
    free(kept);
    free(second);
    free(expected);
    bed_free(b);
}

static void named_file_is_never_overwritten(void **state)
{
    (void)state;
    struct bed *b = begin("//fake: verify=fail");
    char *path = bed_path(b, "new folder/mine's.cu");
    const cJSON *event = export(b, 0, path);
    char *text = text_at(event);
    assert_non_null(strstr(text, "int main()"));
    assert_non_null(strstr(kb_json_text(event, "compile", ""), "new folder/mine'\\''s.cu'"));
    free(text);
    bed_write(b, "new folder/mine's.cu", "// mine\n");
    event = export(b, 0, path);
    reason_is(event, "there is such a file");
    assert_non_null(strstr(kb_json_text(event, "remedy", ""), "another file"));
    text = bed_read(b, "new folder/mine's.cu");
    assert_string_equal(text, "// mine\n");
    free(text);
    free(path);
    bed_free(b);
}

static void without_history_a_file_must_be_named(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.no_history = true;
    bed_kernel(b, "a.cu", "a", "//fake: verify=fail", 1);
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    reason_is(export(b, 0, NULL), "name a file");
    char *path = bed_path(b, "x.cu"), *text = text_at(export(b, 0, path)), *folder = bed_path(b, ".kbench");
    assert_non_null(strstr(text, "int main()"));
    assert_false(kb_is_dir(folder));
    free(folder);
    free(text);
    free(path);
    bed_free(b);
}

// The kernel took the worker with it: another one writes the case, and does not run the kernel.
static void lost_worker(const char *fake, const char *set)
{
    struct bed *b = begin(fake);
    int runs = bed_log_count(b, "run run"), checks = bed_log_count(b, "run check");
    char *text = text_at(export(b, -1, NULL));
    assert_non_null(strstr(text, set));
    assert_int_equal(bed_log_count(b, "run export"), 1);
    assert_int_equal(bed_log_count(b, "run run"), runs);
    assert_int_equal(bed_log_count(b, "run check"), checks);
    free(text);
    bed_free(b);
}

static void crash_and_lost_context_are_written(void **state)
{
    (void)state;
    lost_worker("//fake: run=crash", "// set 1, 1 calls, case 0\n");
    lost_worker("//fake: run=poison", "// set 1, 1 calls, case 0\n");
    lost_worker("//fake: verify=poison", "// set 1, 1 calls, case 0\n");
    lost_worker("//fake: time=crash", "// set 32, 64 calls, case 0\n");
}

static void what_did_not_fail_is_refused(void **state)
{
    (void)state;
    struct bed *b = begin("//fake: time=9");
    reason_is(export(b, -1, NULL), "no case of this version has failed");
    reason_is(export(b, 0, NULL), "this case has not failed");
    reason_is(export(b, 7, NULL), "no such case");
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: compile=fail", 2);
    bed_until_event(b, "verdict variant=a status=fail");
    reason_is(export(b, -1, NULL), "failed at compile");
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: races=fail", 3);
    bed_until_event(b, "verdict variant=a status=fail rung=races");
    reason_is(export(b, -1, NULL), "what the rung races found");
    bed_mark(b);
    kb_session_export(b->session, "nobody", -1, NULL);
    bed_until_event(b, "exported");
    reason_is(bed_find(b, "exported"), "no such variant");
    assert_int_equal(bed_log_count(b, "run export"), 0);
    bed_free(b);
}

static void folder_that_cannot_be_made_is_said(void **state)
{
    (void)state;
    struct bed *b = begin("//fake: verify=fail");
    bed_write(b, ".kbench/failing", "a file, no folder\n");
    reason_is(export(b, 0, NULL), ".kbench/failing");
    char *path = bed_path(b, "x.cu"), *text = text_at(export(b, 0, path)); // it goes on
    free(text);
    free(path);
    bed_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_case_is_written_beside_the_history),
        cmocka_unit_test(named_file_is_never_overwritten),
        cmocka_unit_test(without_history_a_file_must_be_named),
        cmocka_unit_test(crash_and_lost_context_are_written),
        cmocka_unit_test(what_did_not_fail_is_refused),
        cmocka_unit_test(folder_that_cannot_be_made_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
