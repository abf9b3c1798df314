// Child processes: what they print, how they end, what they inherit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_MS = 60000, LIMIT = 1 << 20 };

static struct kb_capture shell(const char *script, int timeout_ms, size_t limit)
{
    struct kb_capture c;
    struct kb_error e = {0};
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    if (kb_capture(argv, NULL, timeout_ms, limit, &c, &e))
        fail_msg("%s", kb_error_line(&e));
    return c;
}

static void test_output_and_exit(void **state)
{
    (void)state;
    struct kb_capture c = shell("echo out; echo err >&2; read x || echo no input; exit 3", LONG_MS, LIMIT);
    assert_string_equal(c.out.data, "out\nno input\n");
    assert_string_equal(c.err.data, "err\n");
    assert_int_equal(c.exit_code, 3);
    assert_int_equal(c.signal, 0);
    assert_false(c.timed_out || c.cut);
    kb_capture_free(&c);
    c = shell("kill -SEGV $$", LONG_MS, LIMIT);
    assert_int_equal(c.exit_code, -1);
    assert_int_equal(c.signal, SIGSEGV);
    kb_capture_free(&c);
}

static bool second_time(void *context)
{
    return ++*(int *)context > 2;
}

static void test_stopped(void **state)
{
    (void)state;
    struct kb_capture c;
    struct kb_error e;
    int asked = 0;
    char *argv[] = {"sh", "-c", "echo out; sleep 1000", NULL};
    assert_int_equal(kb_capture_while(argv, NULL, LONG_MS, LIMIT, second_time, &asked, &c, &e), 0);
    assert_true(c.stopped);
    assert_false(c.timed_out || c.cut);
    assert_int_equal(c.signal, SIGKILL);
    kb_capture_free(&c);
}

static void test_folder(void **state)
{
    (void)state;
    struct kb_capture c;
    struct kb_error e;
    char *argv[] = {"pwd", NULL};
    assert_int_equal(kb_capture(argv, "/", LONG_MS, LIMIT, &c, &e), 0);
    assert_string_equal(c.out.data, "/\n");
    kb_capture_free(&c);
    assert_int_equal(kb_capture(argv, "/no/such/folder", LONG_MS, LIMIT, &c, &e), -1);
    assert_non_null(strstr(e.what, "No such file"));
    kb_capture_free(&c);
}

static void test_time_out_kills_the_group(void **state)
{
    (void)state;
    struct kb_capture c = shell("echo before; (sleep 1000; echo grandchild) & sleep 1000; echo after", 200, LIMIT);
    assert_true(c.timed_out);
    assert_string_equal(c.out.data, "before\n");
    assert_int_equal(c.signal, SIGKILL);
    kb_capture_free(&c);
    // Closed pipes are no end.
    c = shell("exec >&- 2>&-; sleep 1000", 200, LIMIT);
    assert_true(c.timed_out);
    assert_int_equal(c.signal, SIGKILL);
    kb_capture_free(&c);
}

// A server that a tool leaves behind keeps its pipes open.
static void test_left_behind_process_is_not_waited_for(void **state)
{
    (void)state;
    struct kb_capture c = shell("sleep 1000 & echo $!; exit 0", LONG_MS, LIMIT);
    assert_false(c.timed_out);
    assert_int_equal(c.exit_code, 0);
    int left = atoi(c.out.data);
    assert_true(left > 1);
    assert_int_equal(kill(left, SIGKILL), 0); // it was left alone
    kb_capture_free(&c);
}

static void test_limit(void **state)
{
    (void)state;
    struct kb_capture c = shell("yes", LONG_MS, 1000);
    assert_true(c.cut);
    assert_false(c.timed_out);
    assert_int_equal(c.out.size, 1000);
    assert_int_equal(c.signal, SIGKILL);
    kb_capture_free(&c);
    c = shell("yes >&2", LONG_MS, 1000);
    assert_true(c.cut);
    assert_int_equal(c.err.size, 1000);
    kb_capture_free(&c);
    c = shell("printf 12345", LONG_MS, 5); // as much as the limit is no cut
    assert_false(c.cut);
    assert_string_equal(c.out.data, "12345");
    kb_capture_free(&c);
}

static void test_cannot_start(void **state)
{
    (void)state;
    struct kb_capture c;
    struct kb_error e;
    char *missing[] = {"kb-no-such-program", NULL}, *folder[] = {"/", NULL};
    assert_int_equal(kb_capture(missing, NULL, LONG_MS, LIMIT, &c, &e), -1);
    assert_string_equal(e.on, "kb-no-such-program");
    assert_non_null(strstr(e.what, "cannot start: No such file"));
    assert_int_equal(kb_capture(folder, NULL, LONG_MS, LIMIT, &c, &e), -1);
    assert_non_null(strstr(e.what, "Permission denied"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // no zombie is left
    assert_int_equal(errno, ECHILD);
}

static void test_child_is_clean(void **state)
{
    (void)state;
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &old);
    signal(SIGPIPE, SIG_IGN);
    int leak = dup(1); // without close-on-exec
    struct kb_capture c = shell("ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status; "
                                "[ $(ps -o pgid= -p $$) = $$ ] && echo own group; true",
                                LONG_MS, LIMIT);
    close(leak);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    // 0, 1, 2 and the folder that ls has open
    assert_non_null(strstr(c.out.data, "4\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
    kb_capture_free(&c);
}

static void test_descriptors(void **state)
{
    (void)state;
    int pipes[2], input[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipe(input), 0);
    struct kb_error e = {0};
    char *argv[] = {"sh", "-c", "read x; echo got $x >&3; echo lost; [ $(ps -o pgid= -p $$) = $$ ] && echo own >&3",
                    NULL};
    pid_t pid = kb_spawn(argv, NULL, (int[]){input[0], -1, -1, pipes[1]}, 4, &e);
    assert_true(pid > 0);
    assert_int_equal(getpgid(pid), pid);
    close(pipes[1]);
    close(input[0]);
    assert_int_equal(write(input[1], "hello\n", 6), 6);
    close(input[1]);
    char text[100] = "";
    size_t size = 0;
    for (ssize_t n; (n = read(pipes[0], text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    assert_true(!strncmp(text, "got hello\n", 10));
    close(pipes[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(kb_spawn(argv, NULL, NULL, 17, &e), -1);
}

static void test_which(void **state)
{
    (void)state;
    char *sh = kb_which("sh"), *direct = kb_which("/bin/sh"), *none = kb_which("kb-no-such-program");
    assert_non_null(sh);
    assert_int_equal(sh[0], '/');
    assert_string_equal(direct, "/bin/sh");
    assert_null(none);
    assert_null(kb_which("/etc"));
    free(sh);
    free(direct);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_and_exit),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_time_out_kills_the_group),
        cmocka_unit_test(test_left_behind_process_is_not_waited_for),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_cannot_start),
        cmocka_unit_test(test_child_is_clean),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_which),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
