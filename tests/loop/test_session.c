// Saves, versions and their order, with a scripted worker.
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/parts.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct bed *started(void)
{
    struct bed *b = bed_new();
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    bed_until_event(b, "verdict variant=b");
    bed_until_event(b, "timing variant=a stage=settled");
    bed_until_event(b, "timing variant=b stage=settled");
    bed_mark(b);
    return b;
}

// Those behind it go on while a test begins.
static int rungs_to_the_verdict(struct bed *b)
{
    int count = 0;
    for (int rung = 0; rung < KB_RUNG_LATE; rung++) {
        char *pattern = kb_format("rung variant=a rung=%s", kb_rungs[rung].name);
        count += bed_count(b, pattern);
        free(pattern);
    }
    return count;
}

static void once_proves_and_times_all(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.once = true;
    b->options.baseline = "a";
    bed_start(b);
    bed_until_ended(b);
    for (int r = 0; r < KB_RUNGS; r++) {
        assert_string_equal(bed_status(b, "a", kb_rungs[r].name), "pass");
        assert_string_equal(bed_status(b, "b", kb_rungs[r].name), "pass");
    }
    assert_int_equal(kb_session_exit_code(b->session), 0);
    const cJSON *versus = bed_find(b, "versus variant=b verdict=FASTER");
    assert_non_null(versus);
    assert_string_equal(kb_json_text(kb_json_get(versus, "baseline"), "variant", ""), "a");
    assert_int_equal(kb_json_int(kb_json_get(versus, "baseline"), "version", 0), 1);
    assert_non_null(bed_find(b, "end reason=once"));
    assert_int_equal(bed_log_count(b, "compile compile a"), 1);
    assert_int_equal(bed_log_count(b, "compile compile reference"), 1);
    bed_free(b);
}

static void a_save_is_built_once(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: time=15", 1);
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_until_event(b, "versus variant=a version=2 verdict=FASTER stage=settled");
    assert_int_equal(bed_count(b, "build variant=a state=started"), 1);
    assert_int_equal(bed_count(b, "build variant=a state=final version=2"), 1);
    assert_int_equal(bed_count(b, "build variant=b state=started"), 0);
    const cJSON *versus = bed_find(b, "versus variant=a version=2");
    assert_int_equal(kb_json_int(kb_json_get(versus, "baseline"), "version", 0), 1);
    const cJSON *done = bed_find(b, "verdict variant=a version=2");
    assert_true(kb_json_number(done, "first_verdict_ms", -1) > 0);
    bed_free(b);
}

static void the_same_bytes_build_nothing(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 0);
    bed_until_event(b, "file variant=a state=unchanged");
    bed_idle(b, 150);
    assert_int_equal(bed_count(b, "build variant=a state=started"), 0);
    assert_int_equal(rungs_to_the_verdict(b), 0);
    bed_free(b);
}

static void undo_shows_the_old_version(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: time=15", 1);
    bed_until_event(b, "verdict variant=a version=2");
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 0);
    bed_until_event(b, "build variant=a state=final version=1 known=true");
    const struct kb_model_version *v = kb_model_current(&b->model, 0);
    assert_int_equal(v->number, 1);
    assert_int_equal(v->status, KB_STATUS_PASS);
    bed_idle(b, 150);
    assert_int_equal(rungs_to_the_verdict(b), 0);
    assert_int_equal(bed_log_count(b, "compile compile a"), 2);
    bed_free(b);
}

static void a_newer_save_kills_the_compile(void **state)
{
    (void)state;
    struct bed *b = started();
    char *gate = bed_path(b, "gate"), *fake = kb_format("//fake: compile=hold:%s", gate);
    bed_kernel(b, "a.cu", "a", fake, 1);
    bed_until_event(b, "rung variant=a rung=compile status=running");
    bed_kernel(b, "a.cu", "a", fake, 2); // held too: it waits in the other worker
    bed_until_event(b, "build variant=a state=superseded");
    bed_kernel(b, "a.cu", "a", "//fake: time=12", 3);
    bed_until_event(b, "verdict variant=a");
    bed_until_event(b, "worker role=compile state=killed");
    assert_int_equal(bed_count(b, "build variant=a state=superseded"), 2);
    assert_int_equal(bed_count(b, "verdict variant=a"), 1);
    assert_int_equal(bed_count(b, "verdict variant=a version=2 status=pass"), 1); // what was superseded took no number
    const struct kb_model_version *v = kb_model_current(&b->model, 0);
    assert_int_equal(v->cold_us, 12);
    free(gate);
    free(fake);
    bed_free(b);
}

static void a_newer_save_cancels_the_run(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: verify=wait", 1);
    bed_until_event(b, "rung variant=a rung=verify status=running");
    bed_until_event(b, "build variant=a state=final version=2"); // settled long ago: it has its number
    bed_kernel(b, "a.cu", "a", "//fake: time=12", 2);
    bed_until_event(b, "verdict variant=a version=3 status=pass");
    assert_int_equal(bed_count(b, "build variant=a state=superseded version=2"), 1);
    assert_int_equal(bed_count(b, "worker role=run state=killed"), 0);
    assert_int_equal(bed_log_count(b, "run prepare"), 1);
    bed_free(b);
}

static void a_failed_compile_names_the_line(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: compile=fail", 1);
    bed_until_event(b, "verdict variant=a version=2 status=fail rung=compile");
    assert_string_equal(bed_status(b, "a", "check"), "skip");
    assert_string_equal(bed_reason(b, "a", "time"), "compile failed");
    const cJSON *errors = kb_json_get(bed_find(b, "errors variant=a"), "errors");
    assert_string_equal(kb_json_text(cJSON_GetArrayItem(errors, 0), "file", ""), "a.cu");
    bed_until_event(b, "build variant=a state=final version=2");
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 0);
    bed_until_event(b, "build variant=a state=final version=1 known=true");
    assert_int_equal(kb_model_last_good(&b->model, 0)->number, 1);
    bed_free(b);
}

static bool errors_txt_names_a(struct bed *b, const void *nothing)
{
    (void)nothing;
    char *text = bed_read(b, ".kbench/errors.txt");
    bool named = text && strstr(text, "a.cu:3:5: error: expected a \";\"");
    free(text);
    return named;
}

static bool errors_txt_is_empty(struct bed *b, const void *nothing)
{
    (void)nothing;
    char *text = bed_read(b, ".kbench/errors.txt");
    bool empty = text && !*text;
    free(text);
    return empty;
}

static void errors_go_to_the_editor(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: compile=fail", 1);
    bed_until(b, errors_txt_names_a, NULL);
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 2);
    bed_until(b, errors_txt_is_empty, NULL);
    bed_free(b);
}

static void wrong_results_have_no_time(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: verify=fail\n//fake: time=1", 1);
    bed_until_event(b, "verdict variant=a version=2 status=fail rung=verify");
    assert_string_equal(bed_status(b, "a", "time"), "skip");
    assert_int_equal(bed_count(b, "timing variant=a version=2"), 0);
    bed_free(b);
}

static void a_bad_bench_changes_nothing(void **state)
{
    (void)state;
    struct bed *b = started();
    char *good = bed_read(b, "bench.json");
    bed_write(b, "bench.json", "{ \"kbench\": 1, \"naem\": \"x\" }\n");
    bed_until_event(b, "bench");
    assert_non_null(b->model.bench_error);
    assert_non_null(strstr(b->model.bench_error, "naem"));
    bed_kernel(b, "a.cu", "a", "//fake: time=15", 1); // the old bench goes on
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_mark(b);
    bed_write(b, "bench.json", good);
    bed_until_event(b, "bench");
    assert_null(b->model.bench_error);
    bed_idle(b, 100);
    assert_int_equal(bed_count(b, "verdict variant=a"), 0); // the same contract: nothing to prove again
    free(good);
    bed_free(b);
}

static void a_new_contract_proves_all_again(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "reference.cu", "ref", "", 1);
    bed_until_event(b, "bench");
    bed_until_event(b, "verdict variant=a version=1");
    bed_until_event(b, "verdict variant=b version=1");
    assert_int_equal(bed_count(b, "rung variant=a rung=compile"), 0);
    assert_int_equal(bed_count(b, "rung variant=a rung=verify status=pass"), 1);
    assert_int_equal(bed_log_count(b, "compile compile reference"), 2);
    assert_int_equal(bed_log_count(b, "run prepare"), 2);
    bed_free(b);
}

static void a_wrong_kb_line_fails_the_scan(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//kb: blok=64", 1);
    bed_until_event(b, "verdict variant=a version=2 status=fail rung=scan");
    assert_non_null(strstr(bed_reason(b, "a", "scan"), "blok"));
    const cJSON *errors = kb_json_get(bed_find(b, "errors variant=a"), "errors");
    assert_int_equal(kb_json_int(cJSON_GetArrayItem(errors, 0), "line", 0), 1);
    bed_free(b);
}

static void a_kb_line_is_a_new_version(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//kb: block=64\n//fake: time=20", 0);
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_free(b);
}

static void a_missing_file_is_calm(void **state)
{
    (void)state;
    struct bed *b = started();
    char *path = bed_path(b, "a.cu");
    unlink(path);
    bed_until_event(b, "file variant=a state=missing");
    bed_kernel(b, "a.cu", "a", "//fake: time=17", 5);
    bed_until_event(b, "file variant=a state=back");
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    free(path);
    bed_free(b);
}

static void pause_notes_and_builds_later(void **state)
{
    (void)state;
    struct bed *b = started();
    kb_session_command(b->session, KB_COMMAND_PAUSE, NULL);
    bed_kernel(b, "a.cu", "a", "//fake: time=16", 1);
    bed_idle(b, 250);
    assert_int_equal(bed_count(b, "build variant=a state=started"), 0);
    kb_session_command(b->session, KB_COMMAND_PAUSE, NULL);
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_free(b);
}

static void rerun_starts_at_run(void **state)
{
    (void)state;
    struct bed *b = started();
    kb_session_command(b->session, KB_COMMAND_RERUN, "b");
    bed_until_event(b, "verdict variant=b version=1 status=pass");
    assert_int_equal(bed_count(b, "rung variant=b rung=check"), 0);
    assert_int_equal(bed_count(b, "rung variant=b rung=run status=pass"), 1);
    bed_free(b);
}

static void pins_compare_with_a_baseline(void **state)
{
    (void)state;
    struct bed *b = started();
    kb_session_command(b->session, KB_COMMAND_PIN, "a@1");
    bed_until_event(b, "pin variant=a version=1");
    bed_until_event(b, "versus variant=b version=1 verdict=FASTER");
    kb_session_command(b->session, KB_COMMAND_PIN, "a@9");
    bed_until_event(b, "status level=warning");
    kb_session_command(b->session, KB_COMMAND_PIN, NULL);
    bed_until_event(b, "pin variant=null");
    bed_free(b);
}

static void focus_goes_first(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.variant = "b";
    bed_start(b);
    bed_until_event(b, "verdict");
    const cJSON *event, *first = NULL;
    cJSON_ArrayForEach (event, b->events)
        if (!first && !strcmp(kb_json_text(event, "type", ""), "verdict"))
            first = event;
    assert_string_equal(kb_json_text(first, "variant", ""), "b");
    bed_until_event(b, "verdict variant=a");
    kb_session_command(b->session, KB_COMMAND_FOCUS, "a");
    bed_until_event(b, "focus variant=a");
    bed_free(b);
}

static void cancel_skips_the_rest(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: run=wait", 1);
    bed_until_event(b, "rung variant=a rung=run status=running");
    kb_session_command(b->session, KB_COMMAND_CANCEL, NULL);
    bed_until_event(b, "verdict variant=a version=2 status=skip");
    assert_string_equal(bed_reason(b, "a", "verify"), "cancelled");
    bed_kernel(b, "a.cu", "a", "//fake: time=16", 2);
    bed_until_event(b, "verdict variant=a version=3 status=pass");
    bed_free(b);
}

static void a_later_session_knows_the_version(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: time=15", 1);
    bed_until_event(b, "verdict variant=a version=2");
    bed_stop(b);
    bed_mark(b);
    int compiles = bed_log_count(b, "compile compile a");
    bed_start(b);
    bed_until_event(b, "build variant=a state=final version=2 known=true");
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    assert_string_equal(bed_reason(b, "a", "compile"), "built before as v2");
    assert_int_equal(bed_log_count(b, "compile compile a"), compiles);
    bed_free(b);
}

static void without_history_numbers_still_rise(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.no_history = true;
    bed_start(b);
    bed_until_event(b, "verdict variant=a version=1");
    bed_kernel(b, "a.cu", "a", "//fake: time=15", 1);
    bed_until_event(b, "verdict variant=a version=2");
    char *path = bed_path(b, ".kbench");
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
    bed_free(b);
}

// A3: git writes a file several times within moments, also while a build is held.
static void a_burst_ends_with_the_last_content(void **state)
{
    (void)state;
    struct bed *b = started();
    char *gate = bed_path(b, "gate"), *fake = kb_format("//fake: compile=hold:%s", gate);
    char *path = bed_path(b, "a.cu");
    for (int i = 1; i <= 12; i++) {
        if (i % 3 == 0)
            unlink(path);
        bed_kernel(b, "a.cu", "a", fake, i);
        bed_idle(b, 15);
    }
    bed_until_event(b, "rung variant=a rung=compile status=running");
    bed_idle(b, 200); // whatever would still start starts now
    bed_write(b, "gate", "");
    bed_until_event(b, "verdict variant=a status=pass");
    bed_idle(b, 150);
    assert_int_equal(bed_count(b, "verdict variant=a"), 1);
    assert_int_equal(bed_count(b, "build variant=a state=final"), 1);
    assert_int_equal(bed_count(b, "build variant=a state=final version=2"), 1);
    char *objects = bed_read(b, ".kbench/versions/a/2.json"), *source = bed_read(b, "a.cu");
    struct kb_hash hash = kb_hash_of(source, strlen(source));
    assert_non_null(strstr(objects, hash.hex)); // its stored source is the file as it is
    free(objects);
    free(source);
    free(path);
    free(gate);
    free(fake);
    bed_free(b);
}

static bool disk_is_stuck(struct bed *b, const void *nothing)
{
    (void)nothing;
    return bed_find(b, "disk state=stuck") && b->model.disk_stuck;
}

static void a_stuck_disk_holds_no_verdict_back(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    char *stall = bed_path(b, "stall");
    setenv("KB_TEST_IO_STALL", stall, 1);
    bed_start(b);
    unsetenv("KB_TEST_IO_STALL");
    bed_until_event(b, "verdict variant=a");
    bed_until_event(b, "verdict variant=b");
    bed_write(b, "stall", "");
    bed_mark(b);
    kb_lookup_ms = 10;
    bed_kernel(b, "a.cu", "a", "//fake: time=15", 1);
    bed_until_event(b, "rung variant=a rung=time status=pass version=null");
    bed_until(b, disk_is_stuck, NULL);
    assert_int_equal(bed_count(b, "build variant=a state=final"), 0);
    unlink(stall);
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_until_event(b, "status level=info");
    free(stall);
    bed_free(b);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void many_saves_leave_nothing_behind(void **state)
{
    (void)state;
    struct bed *b = started();
    int before = open_descriptors();
    for (int i = 1; i <= 60; i++) {
        char *pattern = kb_format("verdict variant=a version=%d", i + 1);
        static const char *const fakes[] = {"//fake: time=9", "//fake: run=poison", "//fake: compile=fail",
                                            "//fake: verify=crash"};
        bed_kernel(b, "a.cu", "a", fakes[i % 4], i);
        bed_until_event(b, pattern);
        free(pattern);
    }
    bed_kernel(b, "a.cu", "a", "//fake: time=8", 1000);
    bed_until_event(b, "verdict variant=a status=pass version=62");
    bed_until_event(b, "timing variant=a version=62 stage=settled");
    assert_in_range(open_descriptors(), 1, before + 12); // a spare worker more or less
    bed_free(b);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // no child is left, not even a dead one
}

// Farther back than the model keeps documents: what is shown of it is made again.
static void an_old_version_that_comes_back_has_results(void **state)
{
    (void)state;
    struct bed *b = started();
    for (int i = 1; i <= KB_MODEL_DETAILED + 6; i++) {
        char *pattern = kb_format("verdict variant=a version=%d", i + 1);
        bed_kernel(b, "a.cu", "a", "//fake: time=9", i);
        bed_until_event(b, pattern);
        free(pattern);
    }
    assert_true(kb_model_version(&b->model, 0, 2)->forgotten);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=9", 1);
    bed_until_event(b, "build variant=a state=final version=2");
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_until_event(b, "timing variant=a version=2");
    const struct kb_model_version *v = kb_model_current(&b->model, 0);
    assert_int_equal(v->number, 2);
    assert_non_null(v->cases[0].verify);
    assert_non_null(v->cases[0].timing);
    bed_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_proves_and_times_all),
        cmocka_unit_test(a_save_is_built_once),
        cmocka_unit_test(the_same_bytes_build_nothing),
        cmocka_unit_test(undo_shows_the_old_version),
        cmocka_unit_test(a_newer_save_kills_the_compile),
        cmocka_unit_test(a_newer_save_cancels_the_run),
        cmocka_unit_test(a_failed_compile_names_the_line),
        cmocka_unit_test(errors_go_to_the_editor),
        cmocka_unit_test(wrong_results_have_no_time),
        cmocka_unit_test(a_bad_bench_changes_nothing),
        cmocka_unit_test(a_new_contract_proves_all_again),
        cmocka_unit_test(a_wrong_kb_line_fails_the_scan),
        cmocka_unit_test(a_kb_line_is_a_new_version),
        cmocka_unit_test(a_missing_file_is_calm),
        cmocka_unit_test(pause_notes_and_builds_later),
        cmocka_unit_test(rerun_starts_at_run),
        cmocka_unit_test(pins_compare_with_a_baseline),
        cmocka_unit_test(focus_goes_first),
        cmocka_unit_test(cancel_skips_the_rest),
        cmocka_unit_test(a_later_session_knows_the_version),
        cmocka_unit_test(without_history_numbers_still_rise),
        cmocka_unit_test(a_burst_ends_with_the_last_content),
        cmocka_unit_test(a_stuck_disk_holds_no_verdict_back),
        cmocka_unit_test(many_saves_leave_nothing_behind),
        cmocka_unit_test(an_old_version_that_comes_back_has_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
