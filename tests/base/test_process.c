// Whether another process computes: one that does, one that waits, one that is gone.
#include "base/process.h"
#include "base/spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(const char *script)
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    int fds[] = {-1, -1, -1};
    pid_t pid = kb_spawn(argv, NULL, fds, 3, NULL);
    assert_true(pid > 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(-pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void one_that_computes_is_busy(void **state)
{
    (void)state;
    pid_t pid = start("while :; do :; done");
    while (kb_process_cpu_us(pid) < 30000)
        poll(NULL, 0, 2);
    assert_true(kb_process_is_busy(pid));
    end(pid);
    assert_false(kb_process_is_busy(pid));
    assert_true(kb_process_cpu_us(pid) == -1);
}

static void one_that_waits_is_not(void **state)
{
    (void)state;
    pid_t pid = start("exec sleep 1000");
    while (kb_process_is_busy(pid)) // until it has begun to wait
        poll(NULL, 0, 2);
    assert_true(kb_process_cpu_us(pid) >= 0);
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    assert_false(kb_process_is_busy(pid));
    end(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_computes_is_busy),
        cmocka_unit_test(one_that_waits_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
