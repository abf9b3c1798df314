// The screen over a living session, with a worker that does as its sources say (tests/fake/fake_worker.c).
#include "base/file.h"
#include "base/memory.h"
#include "tui/support_pty.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define PROGRAM KB_BUILD_DIR "/kbench-tui"

static const char bench[] =
    "{ \"kbench\": 1, \"name\": \"fake\", \"params\": { \"n\": 64 },\n"
    "  \"args\": [ { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
    "  \"reference\": { \"source\": \"reference.cu\", \"kernel\": \"ref\",\n"
    "    \"launch\": { \"grid\": [1], \"block\": [32] } },\n"
    "  \"variants\": [ { \"name\": \"first\", \"source\": \"a.cu\", \"kernel\": \"a\",\n"
    "    \"launch\": { \"grid\": [1], \"block\": [32] } } ] }\n";

struct bed {
    char dir[256];
    struct pty *pty;
    int salt;
};

static void put(const struct bed *b, const char *name, const char *text)
{
    char *path = kb_path_join(b->dir, name);
    assert_int_equal(kb_file_replace(path, text, strlen(text), NULL), 0);
    free(path);
}

// A save: what the worker shall do with it stands in its first lines.
static void save(struct bed *b, const char *fake)
{
    char *text =
        kb_format("//fake: %s\n// %d\n__global__ void a(const float *x, float *y, int n)\n{\n}\n", fake, b->salt++);
    put(b, "a.cu", text);
    free(text);
}

// Done to the settled time: only then it has an age, and is there to be compared with.
static void wait_done(struct bed *b, const char *version)
{
    char *name = kb_format("a.cu %s │ ", version);
    assert_true(pty_wait(b->pty, name));
    assert_true(pty_wait(b->pty, " s ago"));
    free(name);
}

static int set_up(void **state)
{
    struct bed *b = kb_alloc(sizeof *b);
    static const char *const env[] = {"KB_WORKER=" KB_BUILD_DIR "/tests/fake_worker",
                                      "VISUAL=", "EDITOR=sh -c 'echo EDITING \"$@\"; read line' sh", "KB_FAKE_HELLO",
                                      NULL};
    snprintf(b->dir, sizeof b->dir, "%s/test-live-XXXXXX", KB_BUILD_DIR);
    assert_non_null(mkdtemp(b->dir));
    put(b, "bench.json", bench);
    put(b, "reference.cu", "__global__ void ref(const float *x, double *y, int n)\n{\n}\n");
    save(b, "time=20");
    char *argv[] = {PROGRAM, b->dir, NULL};
    b->pty = pty_start(argv, 140, 40, env);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bed *b = *state;
    pty_end(b->pty);
    kb_remove_tree(b->dir);
    free(b);
    return 0;
}

static void quit(struct bed *b)
{
    int status;
    pty_send(b->pty, "q");
    assert_true(pty_wait_exit(b->pty, &status));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(pty_sane(b->pty));
    assert_false(pty_alternate(b->pty));
}

static void test_saves(void **state)
{
    struct bed *b = *state;
    wait_done(b, "v1");
    save(b, "time=15");
    assert_true(pty_wait(b->pty, "FASTER   v2 against v1: 20.0 → 15.0 us"));
    wait_done(b, "v2");
    save(b, "compile=fail");
    assert_true(pty_wait(b->pty, "COMPILE ERROR   v3   a.cu:3:5 expected a \";\""));
    assert_true(pty_wait(b->pty, "3 │ __global__ void a(const float *x"));
    assert_true(pty_wait(b->pty, "last good v2 15.0 us"));
    save(b, "verify=fail");
    assert_true(pty_wait(b->pty, "WRONG   v4"));
    assert_true(pty_wait(b->pty, "7 wrong   max_abs 3.5   last good v2 15.0 us"));
    save(b, "time=30");
    assert_true(pty_wait(b->pty, "SLOWER   v5 against v2: 15.0 → 30.0 us"));
    quit(b);
}

static void test_alive_while_it_hangs(void **state)
{
    struct bed *b = *state;
    wait_done(b, "v1");
    save(b, "run=hang");
    assert_true(pty_wait(b->pty, "RUNNING   v2"));
    pty_send(b->pty, "?");
    assert_true(pty_wait(b->pty, "Keys"));
    pty_send(b->pty, "?");
    assert_true(pty_wait_gone(b->pty, "Keys"));
    pty_send(b->pty, "q"); // something runs: it asks
    assert_true(pty_wait(b->pty, "Quit?"));
    pty_send(b->pty, "n");
    assert_true(pty_wait_gone(b->pty, "Quit?"));
    save(b, "time=12");
    assert_true(pty_wait(b->pty, "v3 against v1: 20.0 → 12.0 us"));
    quit(b);
}

static void test_noise(void **state)
{
    struct bed *b = *state;
    wait_done(b, "v1");
    pty_send(b->pty, "5z");
    save(b, "compile=noise");
    assert_true(pty_wait(b->pty, "thread says ␛[31mhello"));
    assert_null(strstr(pty_tail(b->pty), "\033[31mhello"));
    pty_send(b->pty, "/forge\r");
    assert_true(pty_wait(b->pty, "no line holds"));
    pty_send(b->pty, "\033"); // first the zoom ends, then the filter
    assert_true(pty_wait(b->pty, "3 roofline"));
    assert_true(pty_wait(b->pty, "no line holds"));
    pty_send(b->pty, "\033");
    assert_true(pty_wait_gone(b->pty, "no line holds"));
    quit(b);
}

static void test_pause_and_edit(void **state)
{
    struct bed *b = *state;
    wait_done(b, "v1");
    pty_send(b->pty, "p");
    assert_true(pty_wait(b->pty, "PAUSED"));
    pty_send(b->pty, "p");
    assert_true(pty_wait_gone(b->pty, "PAUSED"));
    save(b, "compile=fail");
    assert_true(pty_wait(b->pty, "COMPILE ERROR"));
    pty_send(b->pty, "e");
    assert_true(pty_wait(b->pty, "EDITING +3 "));
    assert_true(pty_sane(b->pty));
    save(b, "time=18"); // the loop goes on behind the editor
    pty_send(b->pty, "\r");
    assert_true(pty_wait(b->pty, "20.0 → 18.0 us"));
    assert_false(pty_sane(b->pty));
    quit(b);
}

// Texts and comparisons come from the session while the screen goes on.
static void test_code(void **state)
{
    struct bed *b = *state;
    wait_done(b, "v1");
    pty_send(b->pty, "8");
    assert_true(pty_wait(b->pty, "8 source"));
    assert_true(pty_wait(b->pty, "__global__ void a(const float *x, float *y, int n)"));
    pty_send(b->pty, "9");
    assert_true(pty_wait(b->pty, "machine code: first v1"));
    pty_send(b->pty, "mm");
    assert_true(pty_wait(b->pty, "source: first v1"));
    assert_true(pty_wait(b->pty, "//fake: time=20"));
    save(b, "time=15");
    assert_true(pty_wait(b->pty, "source: first v2"));
    assert_true(pty_wait(b->pty, "//fake: time=15"));
    pty_send(b->pty, "d");
    assert_true(pty_wait(b->pty, "source: first v2 against first v1"));
    assert_true(pty_wait(b->pty, "no real change"));
    pty_send(b->pty, "d");
    assert_true(pty_wait(b->pty, "no baseline is pinned"));
    pty_send(b->pty, "dd"); // round again, to the text itself
    assert_true(pty_wait(b->pty, "//fake: time=15"));
    save(b, "sass=na");
    assert_true(pty_wait(b->pty, "//fake: sass=na"));
    pty_send(b->pty, "m");
    assert_true(pty_wait(b->pty, "there is no nvdisasm"));
    wait_done(b, "v3");
    pty_send(b->pty, "a2");
    assert_true(pty_wait(b->pty, "2 errors"));
    quit(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_alive_while_it_hangs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_noise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pause_and_edit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
