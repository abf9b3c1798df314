// Workers that die, hang, lie and talk nonsense: the failing version is named, the next save runs clean.
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "loop/peer.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHORT_MS = 700 };

static struct bed *started(void)
{
    struct bed *b = bed_new();
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    bed_until_event(b, "verdict variant=b");
    bed_mark(b);
    return b;
}

static void next_save_runs_clean(struct bed *b, int version)
{
    char *pattern = kb_format("verdict variant=a version=%d status=pass", version);
    bed_kernel(b, "a.cu", "a", "//fake: time=18", 99);
    bed_until_event(b, pattern);
    free(pattern);
}

static void fails_in(struct bed *b, const char *fake, const char *rung, const char *words)
{
    char *pattern = kb_format("verdict variant=a version=2 status=fail rung=%s", rung);
    bed_kernel(b, "a.cu", "a", fake, 1);
    bed_until_event(b, pattern);
    if (!strstr(bed_reason(b, "a", rung), words))
        fail_msg("%s: %s", rung, bed_reason(b, "a", rung));
    next_save_runs_clean(b, 3);
    free(pattern);
}

static void a_poisoned_context_is_replaced(void **state)
{
    (void)state;
    struct bed *b = started();
    fails_in(b, "//fake: run=poison", "run", "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(bed_log_count(b, "run prepare"), 2);
    bed_free(b);
}

static bool spare_is_up(struct bed *b, const void *starts)
{
    return bed_log_count(b, "run start") == *(const int *)starts;
}

static void a_spare_takes_over(void **state)
{
    (void)state;
    struct bed *b = started();
    int two = 2, three = 3;
    bed_until(b, spare_is_up, &two);
    fails_in(b, "//fake: run=poison", "run", "CUDA_ERROR_ILLEGAL_ADDRESS");
    bed_until(b, spare_is_up, &three); // the next spare
    bed_free(b);
}

static void an_exclusive_gpu_gets_no_spare(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    setenv("KB_FAKE_EXCLUSIVE", "1", 1);
    bed_start(b);
    bed_until_event(b, "verdict variant=b");
    bed_idle(b, 200);
    assert_int_equal(bed_log_count(b, "run start"), 1);
    fails_in(b, "//fake: run=poison", "run", "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(bed_log_count(b, "run start"), 2);
    bed_free(b);
}

static void a_crash_names_its_signal(void **state)
{
    (void)state;
    struct bed *b = started();
    fails_in(b, "//fake: verify=crash", "verify", "SIGSEGV");
    bed_free(b);
}

static void a_compiler_crash_fails_that_version(void **state)
{
    (void)state;
    struct bed *b = started();
    fails_in(b, "//fake: compile=crash", "compile", "SIGSEGV");
    bed_free(b);
}

static void a_hung_kernel_is_terminated(void **state)
{
    (void)state;
    struct bed *b = started();
    kb_peer_longest_ms = SHORT_MS;
    fails_in(b, "//fake: run=hang", "run", "no answer for 0.7 s");
    assert_non_null(bed_find(b, "worker role=run state=killed"));
    bed_free(b);
}

static int64_t computed_us; // by the process that is about to be ended

static int kill_and_look(pid_t pid, int signal_number)
{
    if (signal_number == SIGTERM)
        computed_us = kb_process_cpu_us(-pid);
    return kill(pid, signal_number);
}

// However little of the machine it gets: an endless one gets its time of a core, and no more.
static void a_deadline_counts_what_the_worker_computed(void **state)
{
    (void)state;
    char *argv[] = {"sh", "-c", "while :; do :; done", NULL};
    struct kb_peer *peer = kb_peer_start(argv, NULL);
    struct kb_peer_event event = {0};
    assert_non_null(peer);
    computed_us = 0;
    kb_peer_system.kill = kill_and_look;
    kb_peer_deadline(peer, 100);
    while (!kb_peer_next(peer, &event)) {
        poll(NULL, 0, kb_peer_wait_ms(peer));
        kb_peer_step(peer);
    }
    assert_int_equal(event.kind, KB_PEER_ENDED);
    assert_true(event.asked);
    assert_non_null(strstr(event.text, "no answer for 0.1 s"));
    assert_true(computed_us >= 100000);
    kb_peer_event_free(&event);
    kb_peer_free(peer);
    kb_peer_system.kill = kill;
}

static void a_stubborn_worker_is_killed(void **state)
{
    (void)state;
    struct bed *b = started();
    kb_peer_longest_ms = SHORT_MS;
    fails_in(b, "//fake: time=stubborn", "time", "no answer");
    bed_free(b);
}

// A process in uninterruptible sleep: signals have no effect, and it is never reaped.
static pid_t immortal;

static int kill_but_not_him(pid_t pid, int signal_number)
{
    return pid == -immortal || pid == immortal ? 0 : kill(pid, signal_number);
}

static pid_t wait_but_not_for_him(pid_t pid, int *status, int flags)
{
    return pid == immortal ? 0 : waitpid(pid, status, flags);
}

static void an_immortal_worker_is_abandoned(void **state)
{
    (void)state;
    struct bed *b = started();
    immortal = (pid_t)kb_json_int(bed_find(b, "worker role=run state=ready"), "pid", 0);
    if (!immortal)
        immortal = (pid_t)b->model.workers[KB_WORKER_RUN].pid;
    kb_peer_system = (struct kb_peer_system){kill_but_not_him, wait_but_not_for_him};
    kb_peer_longest_ms = SHORT_MS;
    fails_in(b, "//fake: run=hang", "run", "abandoned pid");
    assert_non_null(bed_find(b, "worker role=run state=abandoned"));
    assert_non_null(bed_find(b, "status level=error"));
    kb_peer_system = (struct kb_peer_system){kill, waitpid};
    kill(-immortal, SIGKILL);
    waitpid(immortal, NULL, 0);
    bed_free(b);
}

static void garbage_half_lines_and_long_lines_break_the_worker_only(void **state)
{
    (void)state;
    static const struct {
        const char *fake, *words;
    } tries[] = {{"//fake: run=garbage", "frame"}, {"//fake: run=half", "worker"}, {"//fake: run=long", "64 KiB"}};
    for (size_t i = 0; i < KB_COUNT(tries); i++) {
        struct bed *b = started();
        fails_in(b, tries[i].fake, "run", tries[i].words);
        bed_free(b);
    }
}

static void a_bench_longer_than_a_line_is_prepared(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    enum { COMMENT = 70000 };
    char *text = bed_read(b, "bench.json"), *comment = kb_alloc(COMMENT + 1);
    memset(comment, 'x', COMMENT);
    char *longer = kb_format("{ \"comment\": \"%s\", %s", comment, strchr(text, '{') + 1);
    bed_write(b, "bench.json", longer);
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=pass");
    bed_until_event(b, "verdict variant=b status=pass");
    assert_int_equal(bed_count(b, "worker role=run state=ended"), 0);
    assert_int_equal(bed_log_count(b, "run prepare"), 1);
    free(text);
    free(comment);
    free(longer);
    bed_free(b);
}

// No pipe and no worker takes it: the answer comes from here, and the worker goes on.
static void a_request_that_is_too_large_is_answered_at_once(void **state)
{
    (void)state;
    char *argv[] = {(char *)"/bin/cat", NULL}, *text = kb_alloc(KB_FRAME_HEAD_MAX + 1);
    struct kb_peer *peer = kb_peer_start(argv, NULL);
    struct kb_peer_event event = {0};
    memset(text, 'x', KB_FRAME_HEAD_MAX);
    cJSON *head = kb_frame_head("prepare", 17);
    kb_json_set_text(head, "bench", text);
    kb_peer_send(peer, head, NULL, 0);
    assert_int_equal(kb_peer_next(peer, &event), 1);
    assert_int_equal(event.kind, KB_PEER_FRAME);
    assert_string_equal(kb_frame_type(&event.frame), "done");
    assert_int_equal(kb_frame_job(&event.frame), 17);
    assert_string_equal(kb_json_text(event.frame.head, "status", ""), "fail");
    assert_non_null(strstr(kb_json_text(event.frame.head, "reason", ""), "holds 16 MiB"));
    assert_false(kb_peer_ending(peer));
    kb_peer_event_free(&event);
    kb_peer_free(peer);
    free(text);
}

static void output_is_only_text(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: run=forge\n//fake: verify=fail", 1);
    bed_until_event(b, "verdict variant=a version=2");
    assert_string_equal(bed_status(b, "a", "verify"), "fail"); // the forged `done` proved nothing
    bed_until_event(b, "log source=run variant=a");
    int64_t lines = 0, dropped = 0;
    const cJSON *event;
    cJSON_ArrayForEach (event, b->events) {
        if (strcmp(kb_json_text(event, "type", ""), "log"))
            continue;
        lines++;
        dropped += kb_json_int(event, "dropped", 0);
        assert_null(strchr(kb_json_text(event, "text", ""), '\033'));
    }
    assert_in_range(lines, 1, 1500);
    next_save_runs_clean(b, 3);
    bed_free(b);
}

static bool all_lines_accounted(struct bed *b, const void *nothing)
{
    (void)nothing;
    int64_t lines = 0;
    const cJSON *event;
    cJSON_ArrayForEach (event, b->events)
        if (!strcmp(kb_json_text(event, "type", ""), "log"))
            lines += kb_json_int(event, "dropped", 0) + kb_starts(kb_json_text(event, "text", ""), "thread says");
    return lines >= 4990;
}

static void cut_lines_are_counted(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: compile=noise", 1);
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_until(b, all_lines_accounted, NULL);
    bed_free(b);
}

static void a_worker_killed_from_outside_comes_back(void **state)
{
    (void)state;
    struct bed *b = started();
    kill((pid_t)b->model.workers[KB_WORKER_RUN].pid, SIGKILL);
    bed_until_event(b, "worker role=run state=ended");
    bed_until_event(b, "worker role=run state=ready");
    next_save_runs_clean(b, 2);
    bed_free(b);
}

static void a_hung_compile_gives_way_at_once(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: compile=hang", 1);
    bed_until_event(b, "rung variant=a rung=compile status=running");
    next_save_runs_clean(b, 2);
    assert_non_null(bed_find(b, "build variant=a state=superseded"));
    bed_free(b);
}

static void a_hung_run_gives_way_to_a_newer_save(void **state)
{
    (void)state;
    struct bed *b = started();
    bed_kernel(b, "a.cu", "a", "//fake: run=hang", 1);
    bed_until_event(b, "rung variant=a rung=run status=running");
    kb_peer_longest_ms = SHORT_MS; // the deadline after a cancel
    bed_kernel(b, "a.cu", "a", "//fake: time=18", 2);
    bed_until_event(b, "verdict variant=a status=pass");
    bed_free(b);
}

static void restart_replaces_all(void **state)
{
    (void)state;
    struct bed *b = started();
    kb_session_command(b->session, KB_COMMAND_RESTART, NULL);
    bed_until_event(b, "worker role=run state=ready");
    next_save_runs_clean(b, 2);
    assert_in_range(bed_log_count(b, "run start"), 2, 4); // with or without spares
    bed_free(b);
}

static struct bed *once_with(const char *variable, const char *value)
{
    struct bed *b = bed_new();
    b->options.once = true;
    setenv(variable, value, 1);
    bed_start(b);
    bed_until_ended(b);
    return b;
}

static void no_device_is_na_and_exit_3(void **state)
{
    (void)state;
    struct bed *b = once_with("KB_FAKE_HELLO", "run:no_device");
    assert_int_equal(kb_session_exit_code(b->session), 3);
    assert_string_equal(bed_status(b, "a", "compile"), "pass");
    assert_string_equal(bed_status(b, "a", "run"), "na");
    assert_string_equal(bed_reason(b, "a", "run"), "there is nothing here");
    assert_string_equal(b->model.device->kind, "none");
    assert_non_null(strstr(b->model.device->remedy, "--device cpu"));
    bed_free(b);
}

static void no_compiler_is_na_and_exit_3(void **state)
{
    (void)state;
    struct bed *b = once_with("KB_FAKE_HELLO", "compile:no_compiler");
    assert_int_equal(kb_session_exit_code(b->session), 3);
    assert_string_equal(bed_status(b, "b", "compile"), "na");
    bed_free(b);
}

static void workers_that_never_come_up_end_it(void **state)
{
    (void)state;
    static const char *const plans[] = {"run:exit",     "run:version",     "run:garbage",  "run:leave",
                                        "compile:exit", "compile:version", "compile:leave"};
    for (size_t i = 0; i < KB_COUNT(plans); i++) {
        struct bed *b = once_with("KB_FAKE_HELLO", plans[i]);
        assert_int_equal(kb_session_exit_code(b->session), 3);
        bed_free(b);
    }
}

static void a_silent_worker_is_given_up(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.once = true;
    kb_peer_longest_ms = SHORT_MS;
    setenv("KB_FAKE_HELLO", "run:silent", 1);
    bed_start(b);
    bed_until_ended(b);
    assert_int_equal(kb_session_exit_code(b->session), 3);
    bed_free(b);
}

static void a_worker_that_is_not_there_is_exit_3(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.once = true;
    b->options.worker = "/nowhere/kbench-worker";
    bed_start(b);
    bed_until_ended(b);
    assert_int_equal(kb_session_exit_code(b->session), 3);
    bed_free(b);
}

static void a_failed_prepare_is_said(void **state)
{
    (void)state;
    struct bed *b = once_with("KB_FAKE_PREPARE", "fail");
    assert_int_equal(kb_session_exit_code(b->session), 1);
    assert_non_null(strstr(bed_reason(b, "a", "check"), "preparing the inputs failed: it was told to"));
    bed_free(b);
}

static void a_worker_that_dies_at_prepare_is_started_three_times(void **state)
{
    (void)state;
    struct bed *b = once_with("KB_FAKE_PREPARE", "crash");
    assert_int_equal(kb_session_exit_code(b->session), 3);
    assert_int_equal(bed_log_count(b, "run prepare"), 3);
    assert_non_null(strstr(bed_reason(b, "a", "check"),
                           "died 3 times while it prepared the inputs: the worker was killed by SIGSEGV"));
    assert_non_null(bed_find(b, "rung variant=b rung=check status=fail fault_of=worker"));
    assert_non_null(bed_find(b, "verdict variant=a status=fail rung=check fault_of=worker"));
    bed_free(b);
}

static void what_workers_died_at_is_tried_again_when_asked(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    setenv("KB_FAKE_PREPARE", "crash", 1);
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=fail");
    bed_until_event(b, "verdict variant=b status=fail");
    assert_int_equal(bed_log_count(b, "run prepare"), 3);
    bed_kernel(b, "a.cu", "a", "//fake: time=18", 3);
    bed_until_event(b, "verdict variant=a version=2 status=fail"); // at once: the same bench, the same end
    assert_int_equal(bed_log_count(b, "run prepare"), 3);
    unsetenv("KB_FAKE_PREPARE");
    kb_session_command(b->session, KB_COMMAND_RESTART, NULL);
    kb_session_command(b->session, KB_COMMAND_RERUN, "a");
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_free(b);
}

// Its context is lost, and another worker's would be: one is enough to know.
static void a_reference_that_faults_is_a_verdict(void **state)
{
    (void)state;
    struct bed *b = once_with("KB_FAKE_PREPARE", "reference");
    assert_int_equal(kb_session_exit_code(b->session), 4);
    assert_int_equal(bed_log_count(b, "run prepare"), 1);
    assert_non_null(strstr(bed_reason(b, "a", "check"), "at reference.cu:3"));
    assert_non_null(bed_find(b, "verdict variant=a status=fail fault_of=reference"));
    assert_non_null(bed_find(b, "verdict variant=b status=fail fault_of=reference"));
    bed_free(b);
}

static void a_reference_that_never_ends_is_a_verdict(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.once = true;
    kb_peer_longest_ms = SHORT_MS;
    setenv("KB_FAKE_PREPARE", "reference-hangs", 1);
    bed_start(b);
    bed_until_ended(b);
    assert_int_equal(kb_session_exit_code(b->session), 4);
    assert_int_equal(bed_log_count(b, "run prepare"), 1);
    assert_non_null(strstr(bed_reason(b, "a", "check"), "the reference may never end (case 64)"));
    assert_non_null(bed_find(b, "verdict variant=b status=fail fault_of=reference"));
    bed_free(b);
}

static bool gave_idle_up(struct bed *b, const void *unused)
{
    (void)unused;
    return b->model.status_text && strstr(b->model.status_text, "no inputs are made ahead any more") != NULL;
}

// What nobody asked for is not worth workers for ever; saves are served as before.
static void deaths_while_idle_are_counted(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    setenv("KB_FAKE_IDLE", "crash", 1);
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=pass");
    bed_until_event(b, "verdict variant=b status=pass");
    bed_until(b, gave_idle_up, NULL);
    bed_idle(b, 300);
    assert_int_equal(bed_log_count(b, "run idle"), 3);
    bed_mark(b);
    next_save_runs_clean(b, 2);
    assert_int_equal(bed_log_count(b, "run idle"), 3);
    bed_free(b);
}

static void a_broken_reference_fails_verify(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.once = true;
    bed_kernel(b, "reference.cu", "ref", "//fake: compile=fail", 0);
    bed_start(b);
    bed_until_ended(b);
    assert_int_equal(kb_session_exit_code(b->session), 4);
    assert_string_equal(bed_status(b, "a", "run"), "pass");
    assert_non_null(strstr(bed_reason(b, "a", "verify"), "the reference does not compile"));
    assert_non_null(bed_find(b, "verdict variant=a status=fail rung=verify fault_of=reference"));
    bed_free(b);
}

static void on_the_cpu_time_does_not_apply(void **state)
{
    (void)state;
    struct bed *b = once_with("KB_FAKE_DEVICE", "cpu");
    assert_int_equal(kb_session_exit_code(b->session), 0);
    assert_string_equal(bed_status(b, "a", "verify"), "pass");
    assert_string_equal(bed_status(b, "a", "time"), "na");
    bed_free(b);
}

// b alone is asked for: a is not compiled, whatever it would be, unless b is compared with it.
static void once_with_a_variant_builds_that_alone(void **state)
{
    (void)state;
    for (int compared = 0; compared < 2; compared++) {
        struct bed *b = bed_new();
        b->options.once = true;
        b->options.variant = "b";
        b->options.baseline = compared ? "a" : NULL;
        if (!compared)
            bed_kernel(b, "a.cu", "a", "//fake: compile=fail", 0);
        bed_start(b);
        bed_until_ended(b);
        assert_int_equal(kb_session_exit_code(b->session), 0);
        assert_string_equal(bed_status(b, "b", "time"), "pass");
        assert_int_equal(bed_count(b, "build variant=a state=started"), compared);
        assert_int_equal(bed_log_count(b, "compile compile a"), compared);
        bed_free(b);
    }
}

static void a_failing_rung_is_exit_1(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    b->options.once = true;
    bed_kernel(b, "b.cu", "b", "//fake: verify=fail", 0);
    bed_start(b);
    bed_until_ended(b);
    assert_int_equal(kb_session_exit_code(b->session), 1);
    bed_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poisoned_context_is_replaced),
        cmocka_unit_test(a_spare_takes_over),
        cmocka_unit_test(an_exclusive_gpu_gets_no_spare),
        cmocka_unit_test(a_crash_names_its_signal),
        cmocka_unit_test(a_compiler_crash_fails_that_version),
        cmocka_unit_test(a_hung_kernel_is_terminated),
        cmocka_unit_test(a_deadline_counts_what_the_worker_computed),
        cmocka_unit_test(a_stubborn_worker_is_killed),
        cmocka_unit_test(an_immortal_worker_is_abandoned),
        cmocka_unit_test(garbage_half_lines_and_long_lines_break_the_worker_only),
        cmocka_unit_test(a_bench_longer_than_a_line_is_prepared),
        cmocka_unit_test(a_request_that_is_too_large_is_answered_at_once),
        cmocka_unit_test(output_is_only_text),
        cmocka_unit_test(cut_lines_are_counted),
        cmocka_unit_test(a_worker_killed_from_outside_comes_back),
        cmocka_unit_test(a_hung_compile_gives_way_at_once),
        cmocka_unit_test(a_hung_run_gives_way_to_a_newer_save),
        cmocka_unit_test(restart_replaces_all),
        cmocka_unit_test(no_device_is_na_and_exit_3),
        cmocka_unit_test(no_compiler_is_na_and_exit_3),
        cmocka_unit_test(workers_that_never_come_up_end_it),
        cmocka_unit_test(a_silent_worker_is_given_up),
        cmocka_unit_test(a_worker_that_is_not_there_is_exit_3),
        cmocka_unit_test(a_failed_prepare_is_said),
        cmocka_unit_test(a_worker_that_dies_at_prepare_is_started_three_times),
        cmocka_unit_test(what_workers_died_at_is_tried_again_when_asked),
        cmocka_unit_test(a_reference_that_faults_is_a_verdict),
        cmocka_unit_test(a_reference_that_never_ends_is_a_verdict),
        cmocka_unit_test(deaths_while_idle_are_counted),
        cmocka_unit_test(a_broken_reference_fails_verify),
        cmocka_unit_test(on_the_cpu_time_does_not_apply),
        cmocka_unit_test(once_with_a_variant_builds_that_alone),
        cmocka_unit_test(a_failing_rung_is_exit_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
