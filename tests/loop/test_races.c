// The late rung `races`, with a scripted worker: it holds no verdict back, and takes one back.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/parts.h"
#include "loop/report.h"
#include "support_schema.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct bed *bed(void)
{
    kb_profile_times = (struct kb_profile_times){20, 40, 3600000};
    return bed_new();
}

static const struct kb_model_version *newest(struct bed *b, const char *variant)
{
    return kb_model_current(&b->model, kb_model_variant_index(&b->model, variant));
}

static void it_comes_behind_the_verdict_and_holds_nothing_back(void **state)
{
    (void)state;
    struct bed *b = bed();
    char *gate = bed_path(b, "gate"), *fake = kb_format("//fake: time=20\n//fake: races=hold:%s", gate);
    bed_kernel(b, "a.cu", "a", fake, 1);
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=pass");
    bed_until_event(b, "rung variant=a rung=races status=running");
    bed_until_event(b, "timing variant=a stage=settled");
    bed_until_event(b, "rung variant=a rung=counters status=pass");
    assert_null(bed_find(b, "rung variant=a rung=races status=pass"));
    bed_write(b, "gate", "");
    bed_until_event(b, "rung variant=a rung=races status=pass");
    bed_until_event(b, "rung variant=b rung=races status=pass");
    assert_int_equal(bed_log_count(b, "races start"), 1);
    assert_int_equal(bed_log_count(b, "races prepare"), 1);
    assert_int_equal(newest(b, "a")->status, KB_STATUS_PASS);
    free(gate);
    free(fake);
    bed_free(b);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // no process is left
}

static bool told_to_the_editor(struct bed *b, const void *nothing)
{
    (void)nothing;
    char *text = bed_read(b, ".kbench/errors.txt");
    bool told =
        text && strstr(text, "a.cu:14") && strstr(text, "error: race: thread 33 reads s[5]") && strstr(text, "a.cu:12");
    free(text);
    return told;
}

static bool recorded(struct bed *b, const void *number)
{
    char *name = kb_format(".kbench/versions/a/%d.json", *(const int *)number), *text = bed_read(b, name);
    cJSON *record = cJSON_Parse(text ? text : "");
    bool done = !strcmp(kb_json_text(kb_json_get(record, "results"), "status", ""), "fail");
    cJSON_Delete(record);
    free(name);
    free(text);
    return done;
}

// The longer timing finds what the first look did not: it was never right.
static void a_settled_timing_takes_the_verdict_back(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=races status=pass");
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=15\n//fake: settled=fail", 1);
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_until_event(b, "verdict variant=a version=2 status=fail rung=time");
    const struct kb_model_version *v = newest(b, "a");
    assert_int_equal(v->status, KB_STATUS_FAIL);
    assert_string_equal(v->failed_rung, "time");
    assert_true(v->cold_us != v->cold_us);
    assert_int_equal(kb_model_last_good(&b->model, 0)->number, 1);
    assert_int_equal(kb_session_exit_code(b->session), 1);
    bed_until_event(b, "done variant=a version=2 status=fail rung=time");
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=18", 2);
    bed_until_event(b, "versus variant=a version=3 stage=settled");
    const cJSON *versus = bed_find(b, "versus variant=a version=3 stage=settled");
    assert_int_equal(kb_json_int(kb_json_get(versus, "baseline"), "version", 0), 1);
    bed_free(b);
}

static void a_race_takes_the_verdict_back(void **state)
{
    (void)state;
    struct bed *b = bed();
    const int two = 2;
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=races status=pass");
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=15\n//fake: races=fail", 1);
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_until_event(b, "verdict variant=a version=2 status=fail rung=races");
    const struct kb_model_version *v = newest(b, "a");
    assert_int_equal(v->status, KB_STATUS_FAIL);
    assert_string_equal(v->failed_rung, "races");
    assert_true(v->cold_us != v->cold_us); // a wrong version has no speed
    assert_int_equal(kb_model_last_good(&b->model, 0)->number, 1);
    assert_int_equal(v->finding_count, 2);
    const struct kb_ev_finding *first = kb_model_finding(v, KB_RUNG_RACES);
    assert_string_equal(first->file, "a.cu");
    assert_int_equal(first->line, 14);
    assert_int_equal(kb_session_exit_code(b->session), 1);
    bed_until(b, told_to_the_editor, NULL);
    bed_until(b, recorded, &two);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=18", 2); // compared with the last good one
    bed_until_event(b, "versus variant=a version=3 stage=settled");
    const cJSON *versus = bed_find(b, "versus variant=a version=3 stage=settled");
    assert_int_equal(kb_json_int(kb_json_get(versus, "baseline"), "version", 0), 1);
    bed_until_event(b, "rung variant=a version=3 rung=races status=pass");
    assert_int_equal(kb_session_exit_code(b->session), 0);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=15\n//fake: races=fail", 1); // undo: it stays wrong
    bed_until_event(b, "build variant=a version=2 state=final known=true");
    assert_int_equal(newest(b, "a")->status, KB_STATUS_FAIL);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=17", 3);
    bed_until_event(b, "versus variant=a version=4 stage=settled");
    versus = bed_find(b, "versus variant=a version=4 stage=settled");
    assert_int_equal(kb_json_int(kb_json_get(versus, "baseline"), "version", 0), 3);
    bed_free(b);
}

// Of variant a; NULL: none.
static const cJSON *last_of(struct bed *b, int version)
{
    const cJSON *event, *last = NULL;
    cJSON_ArrayForEach (event, b->events)
        if (!strcmp(kb_json_text(event, "variant", ""), "a") && kb_json_int(event, "version", 0) == version)
            last = event;
    return last;
}

static void done_comes_once_and_last(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_start(b);
    bed_until_event(b, "done variant=a version=1 status=pass");
    bed_kernel(b, "a.cu", "a", "//fake: time=15\n//fake: races=fail", 1);
    bed_until_event(b, "done variant=a version=2");
    bed_idle(b, 100);
    assert_int_equal(bed_count(b, "done variant=a version=1"), 1);
    assert_int_equal(bed_count(b, "advice variant=a version=1"), 1);
    const cJSON *done = bed_find(b, "done variant=a version=1");
    assert_ptr_equal(done, last_of(b, 1));
    assert_string_equal(kb_json_text(done->prev, "type", ""), "advice");
    assert_int_equal(bed_count(b, "verdict variant=a version=2 status=pass"), 1);
    assert_int_equal(bed_count(b, "verdict variant=a version=2 status=fail rung=races"), 1);
    assert_int_equal(bed_count(b, "done variant=a version=2"), 1);
    assert_int_equal(bed_count(b, "advice variant=a version=2"), 0); // what is wrong has no speed to explain
    done = bed_find(b, "done variant=a version=2");
    assert_ptr_equal(done, last_of(b, 2));
    assert_string_equal(kb_json_text(done, "status", ""), "fail");
    assert_string_equal(kb_json_text(done, "rung", ""), "races");
    assert_true(kb_json_number(done, "ms", 0) >= kb_json_number(done, "first_verdict_ms", 1e9));
    bed_free(b);
}

static void what_a_newer_save_cuts_short_is_done_once(void **state)
{
    (void)state;
    struct bed *b = bed();
    char *gate = bed_path(b, "gate"), *fake = kb_format("//fake: time=20\n//fake: races=hold:%s", gate);
    bed_kernel(b, "a.cu", "a", fake, 1);
    bed_start(b);
    bed_until_event(b, "rung variant=a version=1 rung=races status=running");
    assert_int_equal(bed_count(b, "done variant=a"), 0);
    bed_kernel(b, "a.cu", "a", "//fake: time=18", 2);
    bed_until_event(b, "done variant=a version=1 status=pass");
    assert_non_null(bed_find(b, "rung variant=a version=1 rung=races status=skip"));
    bed_until_event(b, "done variant=a version=2 status=pass");
    assert_int_equal(bed_count(b, "done variant=a version=1"), 1);
    assert_int_equal(bed_count(b, "advice variant=a version=1"), 0); // not all of it was seen
    assert_ptr_equal(bed_find(b, "done variant=a version=1"), last_of(b, 1));
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=17\n//fake: verify=fail",
               3); // nothing comes behind a plain failure but why
    bed_until_event(b, "done variant=a version=3 status=fail rung=verify");
    assert_non_null(bed_find(b, "rung variant=a version=3 rung=races"));
    free(gate);
    free(fake);
    bed_free(b);
}

static void a_baseline_with_a_race_is_none(void **state)
{
    (void)state;
    struct bed *b = bed();
    char *gate = bed_path(b, "gate"), *fake = kb_format("//fake: time=20\n//fake: races=fail-hold:%s", gate);
    b->options.baseline = "a";
    bed_kernel(b, "a.cu", "a", fake, 1);
    bed_start(b);
    bed_until_event(b, "pin variant=a version=1");
    bed_until_event(b, "versus variant=b stage=settled");
    assert_non_null(newest(b, "b")->cases[0].versus);
    bed_mark(b);
    bed_write(b, "gate", "");
    bed_until_event(b, "verdict variant=a status=fail rung=races");
    bed_until_event(b, "timing variant=b stage=settled"); // anew, beside nothing
    assert_null(newest(b, "b")->cases[0].versus);
    assert_null(b->model.pin_variant);
    assert_non_null(bed_find(b, "status level=warning"));
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 2); // the next good one takes its place
    bed_until_event(b, "pin variant=a version=2");
    bed_until_event(b, "versus variant=b stage=settled");
    free(gate);
    free(fake);
    bed_free(b);
}

static void a_save_goes_first(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_kernel(b, "a.cu", "a", "//fake: races=wait", 1);
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=races status=running");
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 2);
    bed_until_event(b, "rung variant=a version=1 rung=races status=skip");
    bed_until_event(b, "rung variant=a version=2 rung=races status=pass");
    assert_int_equal(bed_log_count(b, "races start"), 1);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: races=wait", 1); // it is due again
    bed_until_event(b, "rung variant=a version=1 rung=races status=running");
    bed_free(b);
}

static void what_cannot_be_watched_fails_nothing(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_kernel(b, "a.cu", "a", "//fake: races=crash", 1);
    bed_kernel(b, "b.cu", "b", "//fake: races=na", 1);
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=races status=na");
    bed_until_event(b, "rung variant=b rung=races status=na");
    bed_kernel(b, "b.cu", "b", "//fake: races-check=fail", 2); // an instruction that the CPU device refuses
    bed_until_event(b, "rung variant=b version=2 rung=races status=na");
    assert_non_null(strstr(bed_reason(b, "a", "races"), "SIGSEGV"));
    assert_string_equal(bed_reason(b, "b", "races"), "it was told to");
    assert_int_equal(kb_session_exit_code(b->session), 0);
    assert_int_equal(newest(b, "a")->status, KB_STATUS_PASS);
    bed_free(b);
}

static void one_that_hangs_is_killed(void **state)
{
    (void)state;
    struct bed *b = bed();
    kb_peer_longest_ms = 500;
    bed_kernel(b, "a.cu", "a", "//fake: races=stubborn", 1);
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=races status=na");
    assert_non_null(strstr(bed_reason(b, "a", "races"), "too slow on a CPU"));
    bed_until_event(b, "rung variant=b rung=races status=pass");
    kb_peer_longest_ms = 0;
    bed_free(b);
}

static void a_fault_fails_the_version_and_costs_the_worker(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_kernel(b, "a.cu", "a", "//fake: races=poison", 1);
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=fail rung=races");
    bed_until_event(b, "rung variant=b rung=races status=pass");
    assert_non_null(strstr(bed_reason(b, "a", "races"), "illegal memory access"));
    assert_int_equal(bed_log_count(b, "races start"), 2);
    bed_free(b);
}

static void once_waits_for_it(void **state)
{
    (void)state;
    struct bed *b = bed();
    b->options.once = true;
    bed_kernel(b, "a.cu", "a", "//fake: races=fail", 1);
    bed_start(b);
    bed_until_ended(b);
    assert_int_equal(kb_session_exit_code(b->session), 1);
    assert_string_equal(bed_status(b, "a", "races"), "fail");
    assert_string_equal(bed_status(b, "b", "races"), "pass");
    cJSON *document = kb_model_document(&b->model);
    const cJSON *a = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0),
                *finding = cJSON_GetArrayItem(kb_json_get(a, "findings"), 1);
    assert_string_equal(kb_json_text(a, "status", ""), "fail");
    assert_string_equal(kb_json_text(finding, "kind", ""), "race");
    assert_string_equal(kb_json_text(finding, "rung", ""), "races");
    assert_true(cJSON_IsNull(kb_json_get(a, "timing")));
    assert_true(cJSON_IsNull(kb_json_get(a, "advice")));
    assert_non_null(strstr(kb_json_text(a, "advice_reason", ""), "it failed"));
    struct kb_text table = {0};
    kb_report_table(&b->model, true, &table);
    const char *said = strstr(table.data, "a: races failed: RACE, case ");
    assert_non_null(said);
    assert_non_null(strstr(said, "a.cu:14: race: thread 33 reads s[5]"));
    assert_null(strstr(strstr(said, "a.cu:14") + 1, "a.cu:14: ")); // said once
    assert_non_null(strstr(said, "a: warnings of the CPU device"));
    kb_text_free(&table);
    char *schema_text = NULL;
    size_t size;
    assert_int_equal(kb_file_read(KB_SOURCE_DIR "/docs/once.schema.json", 1 << 20, &schema_text, &size, NULL), 0);
    cJSON *schema = cJSON_Parse(schema_text);
    struct kb_text why = {0};
    if (schema_check(schema, document, &why))
        fail_msg("%s", why.data);
    kb_text_free(&why);
    cJSON_Delete(schema);
    free(schema_text);
    cJSON_Delete(document);
    bed_free(b);
}

// Wrong values have no line: the full check finds it behind the verdict, which stands.
static void why_a_version_failed_is_looked_for(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_kernel(b, "a.cu", "a", "//fake: verify=fail\n//fake: races=fail", 1);
    bed_kernel(b, "b.cu", "b", "//fake: run=fail", 1);
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=fail rung=verify");
    bed_mark(b);
    bed_until_event(b, "rung variant=a rung=races status=fail");
    bed_until_event(b, "rung variant=a rung=verify status=fail");
    assert_null(bed_find(b, "verdict variant=a"));
    const char *reason = bed_reason(b, "a", "verify"), *cause = "race at a.cu:14: thread 33 reads s[5]";
    assert_int_equal(strncmp(reason, cause, strlen(cause)), 0);
    assert_non_null(strstr(reason, "; it was told to"));
    const struct kb_model_version *v = newest(b, "a");
    assert_string_equal(v->failed_rung, "verify");
    assert_int_equal(kb_model_cause(v)->line, 14);
    bed_until(b, told_to_the_editor, NULL);
    bed_until_event(b, "rung variant=b rung=races status=pass"); // nothing was found there
    assert_string_equal(bed_reason(b, "b", "run"), "it was told to");
    assert_null(kb_model_cause(newest(b, "b")));
    assert_int_equal(kb_session_exit_code(b->session), 1);
    bed_free(b);
}

static void a_full_check_needs_no_second_one(void **state)
{
    (void)state;
    struct bed *b = bed();
    setenv("KB_FAKE_DEVICE", "cpu", 1);
    b->options.check = "full";
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=races status=na");
    assert_non_null(strstr(bed_reason(b, "a", "races"), "watched for them already"));
    assert_int_equal(bed_log_count(b, "races start"), 0);
    unsetenv("KB_FAKE_DEVICE");
    bed_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_behind_the_verdict_and_holds_nothing_back),
        cmocka_unit_test(a_settled_timing_takes_the_verdict_back),
        cmocka_unit_test(a_race_takes_the_verdict_back),
        cmocka_unit_test(done_comes_once_and_last),
        cmocka_unit_test(what_a_newer_save_cuts_short_is_done_once),
        cmocka_unit_test(a_baseline_with_a_race_is_none),
        cmocka_unit_test(a_save_goes_first),
        cmocka_unit_test(what_cannot_be_watched_fails_nothing),
        cmocka_unit_test(one_that_hangs_is_killed),
        cmocka_unit_test(a_fault_fails_the_version_and_costs_the_worker),
        cmocka_unit_test(once_waits_for_it),
        cmocka_unit_test(why_a_version_failed_is_looked_for),
        cmocka_unit_test(a_full_check_needs_no_second_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
