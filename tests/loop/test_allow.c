// A bench whose reference is a command: asked for once, run when it was allowed, asked for again when it changed.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/permission.h"
#include "support_program.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 240000 };

static const char bench_text[] =
    "{ \"kbench\": 1, \"name\": \"copy\", \"params\": { \"n\": 64 },\n"
    "  \"args\": [ { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f64\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f64\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
    "  \"reference\": { \"command\": [\"sh\", \"ref.sh\"] },\n"
    "  \"variants\": [ { \"name\": \"a\", \"source\": \"a.cu\", \"kernel\": \"a\",\n"
    "    \"launch\": { \"grid\": [1], \"block\": [64] } } ] }\n";
static char *command[] = {"sh", "ref.sh", NULL};

static struct bed *begin(void)
{
    struct bed *b = bed_new();
    char *state = bed_path(b, "state");
    setenv("XDG_STATE_HOME", state, 1);
    free(state);
    bed_write(b, "bench.json", bench_text);
    bed_write(b, "ref.sh", "cp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\n");
    return b;
}

// What the fake worker asks for: the content as it is now.
static void ask_for(struct bed *b)
{
    struct kb_permission p;
    assert_int_equal(kb_permission_read(b->dir, command, &p, NULL), 0);
    setenv("KB_FAKE_PERMISSION", p.hash.hex, 1);
    kb_permission_free(&p);
}

static void allowing_runs_it(void **state)
{
    (void)state;
    struct bed *b = begin();
    ask_for(b);
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    const cJSON *asked = bed_find(b, "permission needed=true");
    assert_string_equal(kb_json_text(asked, "line", ""), "sh ref.sh");
    assert_string_equal(kb_json_text(asked, "dir", ""), b->dir);
    assert_non_null(b->model.permission);
    int verified = bed_log_count(b, "run verify");
    bed_mark(b);
    kb_session_command(b->session, KB_COMMAND_ALLOW, NULL);
    bed_until_event(b, "permission needed=false");
    bed_until_event(b, "verdict variant=a"); // verified again, in inputs that were prepared again
    assert_int_equal(bed_count(b, "permission needed=true"), 0);
    assert_null(b->model.permission);
    assert_int_equal(bed_log_count(b, "run verify"), verified + 1);
    assert_int_equal(bed_log_count(b, "run prepare"), 2);
    bed_mark(b);
    kb_session_command(b->session, KB_COMMAND_ALLOW, NULL); // there is nothing to allow any more
    bed_idle(b, 50);
    assert_int_equal(bed_log_count(b, "run prepare"), 2);
    unsetenv("KB_FAKE_PERMISSION");
    bed_free(b);
}

static void what_changed_meanwhile_is_not_allowed(void **state)
{
    (void)state;
    struct bed *b = begin();
    ask_for(b);
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    bed_mark(b);
    bed_write(b, "helper.py", "print('somebody else put this here')\n");
    kb_session_command(b->session, KB_COMMAND_ALLOW, NULL);
    bed_until_event(b, "status level=warning");
    assert_non_null(
        strstr(kb_json_text(bed_find(b, "status level=warning"), "text", ""), "has changed since it was shown"));
    bed_until_event(b, "permission needed=true"); // and it is asked for again
    unsetenv("KB_FAKE_PERMISSION");
    bed_free(b);
}

// Its script is part of the contract: a save of it prepares and verifies anew.
static void script_is_watched(void **state)
{
    (void)state;
    struct bed *b = begin();
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    bed_mark(b);
    bed_write(b, "ref.sh", "# another one\ncp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\n");
    bed_until_event(b, "bench");
    bed_until_event(b, "verdict variant=a");
    assert_int_equal(bed_log_count(b, "run prepare"), 2);
    bed_free(b);
}

static char *run(struct bed *b, const char *first, const char *second, int code)
{
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", (char *)first, b->dir, "--device", "cpu", (char *)second, NULL};
    return program_text(argv, PATIENCE_MS, code);
}

static void expect(struct bed *b, const char *mode, int code, const char *part)
{
    char *out = run(b, mode, NULL, code);
    if (!strstr(out, part))
        fail_msg("\"%s\" is not in\n%s", part, out);
    free(out);
}

// With the real workers: nothing runs before it was allowed, then it decides what is right.
static void end_to_end(void **state)
{
    (void)state;
    struct bed *b = begin();
    char *worker = kb_strdup(getenv("KB_WORKER")), *cache = bed_path(b, "cache"), *ran = bed_path(b, "ran");
    setenv("KB_WORKER", KB_BUILD_DIR "/kbench-worker", 1);
    setenv("KB_CACHE", cache, 1);
    bed_write(b, "ref.sh", "echo run > ran\ncp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\n");
    bed_write(b, "a.cu",
              "extern \"C\" __global__ void a(const double *x, double *y, int n)\n"
              "{\n    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];\n}\n");
    expect(b, "--once", 0, "nobody has allowed yet: kbench-tui allow BENCH");
    assert_false(kb_is_file(ran));
    expect(b, "allow", 0, "cp \"$KBENCH_IN/x.npy\""); // it shows the script
    assert_false(kb_is_file(ran));
    expect(b, "--once", 0, "a ");
    assert_true(kb_is_file(ran));
    bed_write(b, "a.cu",
              "extern \"C\" __global__ void a(const double *x, double *y, int n)\n"
              "{\n    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] + (threadIdx.x == 63);\n}\n");
    expect(b, "--once", 1, "y: 1 of 64 elements are wrong");
    bed_write(b, "ref.sh", "echo no torch here >&2\nexit 4\n");
    expect(b, "--once", 0, "nobody has allowed yet");
    expect(b, "allow", 0, "It may run now");
    expect(b, "--once", 4, "exit code 4: no torch here");
    setenv("KB_WORKER", worker ? worker : "", 1);
    free(worker);
    free(cache);
    free(ran);
    bed_free(b);
}

static void ask_with(struct bed *b, const char *options)
{
    char *text =
        kb_format("{ \"kbench\": 1, \"name\": \"copy\", \"params\": { \"n\": 64 },\n"
                  "  \"args\": [ { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f64\", \"shape\": [\"n\"] } ],\n"
                  "  \"reference\": { \"source\": \"reference.cu\", \"kernel\": \"r\", %s\n"
                  "    \"launch\": { \"grid\": [1], \"block\": [64] } },\n"
                  "  \"variants\": [ { \"name\": \"a\", \"source\": \"a.cu\", \"kernel\": \"a\", %s\n"
                  "    \"launch\": { \"grid\": [1], \"block\": [64] } } ] }\n",
                  strstr(options, "reference:") ? options + 10 : "", strstr(options, "reference:") ? "" : options);
    bed_write(b, "bench.json", text);
    free(text);
}

// Options that start programs or are not known: nothing is compiled before they were allowed, with the files they name.
static void options_are_asked_for(void **state)
{
    (void)state;
    struct bed *b = begin();
    bed_write(b, "host.sh", "exec g++ \"$@\"\n");
    ask_with(b, "\"options\": [\"-O3\", \"-ccbin=./host.sh\"],");
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=fail rung=scan");
    assert_non_null(strstr(bed_reason(b, "a", "scan"), "-ccbin=./host.sh"));
    assert_non_null(strstr(bed_reason(b, "a", "scan"), "kbench-tui allow"));
    assert_int_equal(bed_log_count(b, "compile compile a"), 0);
    assert_string_equal(kb_json_text(bed_find(b, "permission needed=true"), "line", ""),
                        "compile-with -ccbin ./host.sh");
    bed_mark(b);
    kb_session_command(b->session, KB_COMMAND_ALLOW, NULL);
    bed_until_event(b, "permission needed=false");
    bed_until_event(b, "verdict variant=a status=pass");
    assert_int_equal(bed_log_count(b, "compile compile a"), 1);
    bed_mark(b);
    bed_write(b, "host.sh", "echo another one\n"); // what was allowed is that content
    bed_kernel(b, "a.cu", "a", "", 7);
    bed_until_event(b, "verdict variant=a status=fail rung=scan");
    assert_int_equal(bed_count(b, "permission needed=true"), 1);
    bed_free(b);
}

static void options_of_the_reference_are_asked_for(void **state)
{
    (void)state;
    struct bed *b = begin();
    ask_with(b, "reference:\"options\": [\"--nonsense\"],");
    bed_start(b);
    bed_until_event(b, "permission needed=true");
    bed_until_event(b, "status level=error");
    assert_non_null(strstr(kb_json_text(bed_find(b, "status level=error"), "text", ""), "--nonsense"));
    assert_int_equal(bed_log_count(b, "compile compile reference"), 0);
    bed_mark(b);
    kb_session_command(b->session, KB_COMMAND_ALLOW, NULL);
    bed_until_event(b, "permission needed=false");
    bed_until_event(b, "rung variant=a rung=verify status=pass");
    bed_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allowing_runs_it),
        cmocka_unit_test(what_changed_meanwhile_is_not_allowed),
        cmocka_unit_test(script_is_watched),
        cmocka_unit_test(options_are_asked_for),
        cmocka_unit_test(options_of_the_reference_are_asked_for),
        cmocka_unit_test(end_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
