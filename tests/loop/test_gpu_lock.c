// The lock between instances, and sessions that wait for it.
#include "base/memory.h"
#include "loop/gpu_lock.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char uuid[64];

static void one_at_a_time(void **state)
{
    (void)state;
    struct kb_gpu_lock a = {0}, b = {0}, other = {0};
    assert_int_equal(kb_gpu_lock_open(&a, uuid, NULL), 0);
    assert_int_equal(kb_gpu_lock_open(&b, uuid, NULL), 0);
    assert_int_equal(kb_gpu_lock_open(&other, "GPU/../other", NULL), 0); // no path of the caller's making
    assert_true(kb_gpu_lock_try(&a));
    assert_true(kb_gpu_lock_try(&a));
    assert_false(kb_gpu_lock_try(&b));
    assert_true(kb_gpu_lock_try(&other));
    assert_int_equal(kb_gpu_lock_holder(&b), getpid());
    kb_gpu_lock_release(&a);
    assert_true(kb_gpu_lock_try(&b));
    unlink(other.path);
    kb_gpu_lock_close(&a);
    kb_gpu_lock_close(&b);
    kb_gpu_lock_close(&other);
}

static void a_holder_that_dies_lets_go(void **state)
{
    (void)state;
    struct kb_gpu_lock mine = {0};
    pid_t pid = fork();
    if (pid == 0) {
        struct kb_gpu_lock theirs = {0};
        kb_gpu_lock_open(&theirs, uuid, NULL);
        _exit(kb_gpu_lock_try(&theirs) ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(kb_gpu_lock_open(&mine, uuid, NULL), 0);
    assert_true(kb_gpu_lock_try(&mine));
    assert_int_equal(kb_gpu_lock_holder(&mine), getpid());
    kb_gpu_lock_close(&mine);
}

static void without_a_uuid_nothing_is_locked(void **state)
{
    (void)state;
    struct kb_gpu_lock lock = {0};
    struct kb_error error = {0};
    assert_int_equal(kb_gpu_lock_open(&lock, "", &error), -1);
    assert_true(kb_gpu_lock_try(&lock));
    kb_gpu_lock_close(&lock);
}

static void a_session_waits_for_the_gpu(void **state)
{
    (void)state;
    struct kb_gpu_lock mine = {0};
    assert_int_equal(kb_gpu_lock_open(&mine, uuid, NULL), 0);
    assert_true(kb_gpu_lock_try(&mine));
    struct bed *b = bed_new();
    setenv("KB_FAKE_UUID", uuid, 1);
    b->options.once = true;
    bed_start(b);
    bed_until_event(b, "status level=info");
    assert_string_equal(bed_status(b, "a", "check"), "");
    kb_gpu_lock_release(&mine);
    bed_until_ended(b);
    assert_string_equal(bed_status(b, "a", "time"), "pass");
    bed_stop(b);
    assert_true(kb_gpu_lock_try(&mine));
    unlink(mine.path);
    kb_gpu_lock_close(&mine);
    bed_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(a_holder_that_dies_lets_go),
        cmocka_unit_test(without_a_uuid_nothing_is_locked),
        cmocka_unit_test(a_session_waits_for_the_gpu),
    };
    snprintf(uuid, sizeof uuid, "GPU-test-%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
