// When inotify cannot be had, loses events, or does not hear: the files are polled, and it is said why.
#include "base/file.h"
#include "base/memory.h"
#include "support_watch.h"
#include "watch/inotify.h"
#include "watch/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct kb_watch_options fast = {.quiet_ms = 20, .poll_ms = 10};

static int init_fails(int flags)
{
    (void)flags;
    errno = EMFILE;
    return -1;
}

static int adds_left;

static int add_fails(int fd, const char *path, uint32_t mask)
{
    if (adds_left-- > 0)
        return inotify_add_watch(fd, path, mask);
    errno = ENOSPC;
    return -1;
}

static int add_refuses(int fd, const char *path, uint32_t mask)
{
    if (!strstr(path, "deaf"))
        return inotify_add_watch(fd, path, mask);
    errno = EACCES;
    return -1;
}

static bool overflow_next;

// Throws away what was queued and says so, like a kernel whose queue is full.
static ssize_t read_overflows(int fd, void *buffer, size_t size)
{
    if (!overflow_next)
        return read(fd, buffer, size);
    while (read(fd, buffer, size) > 0)
        ;
    overflow_next = false;
    struct inotify_event event = {.wd = -1, .mask = IN_Q_OVERFLOW};
    memcpy(buffer, &event, sizeof event);
    return sizeof event;
}

static int reads_left;
static const char *touched_dir;

// Somebody writes a file just before the events are read for the n-th time.
static ssize_t read_meets_a_write(int fd, void *buffer, size_t size)
{
    if (reads_left > 0 && --reads_left == 0)
        put(touched_dir, "h39.h", "touched");
    return read(fd, buffer, size);
}

static int watch_file(struct kb_watch *w, const char *dir, const char *name)
{
    char *path = in_dir(dir, name);
    int source = kb_watch_add(w, path, NULL, false);
    free(path);
    return source;
}

static void expect_saves_are_seen(struct kb_watch *w, struct seen_log *log, const char *dir, int source)
{
    put(dir, "k.cu", "#include \"h.h\"\n// 2\n");
    run_until(w, log, KB_WATCH_CHANGED, source);
    assert_string_equal(seen_last(log, KB_WATCH_CHANGED, source)->main, "#include \"h.h\"\n// 2\n");
    run_until(w, log, KB_WATCH_SETTLED, source);
    put_by_rename(dir, "h.h", "changed");
    run_until(w, log, KB_WATCH_CHANGED, source);
    assert_string_equal(snapshot_file(&seen_last(log, KB_WATCH_CHANGED, source)->snapshot, "h.h")->data, "changed");
    run_until(w, log, KB_WATCH_SETTLED, source);
    char *path = in_dir(dir, "k.cu");
    assert_int_equal(unlink(path), 0);
    free(path);
    run_until(w, log, KB_WATCH_MISSING, source);
    put(dir, "k.cu", "#include \"h.h\"\n// 2\n");
    run_until(w, log, KB_WATCH_SAME, source);
}

static void end(struct kb_watch *w, struct seen_log *log, char *dir)
{
    kb_watch_free(w);
    kb_inotify_use(NULL);
    seen_clear(log);
    scratch_remove(dir);
}

static void no_instance_left(void **state)
{
    (void)state;
    struct kb_inotify_calls calls = kb_inotify_system;
    calls.init = init_fails;
    kb_inotify_use(&calls);
    char *dir = scratch_dir();
    put(dir, "k.cu", "#include \"h.h\"\n");
    struct seen_log log = {0};
    struct kb_watch *w = kb_watch_new(&fast);
    assert_int_equal(kb_watch_fd(w), -1);
    int source = watch_file(w, dir, "k.cu");
    run_until(w, &log, KB_WATCH_SETTLED, source);
    const struct seen *mode = seen_last(&log, KB_WATCH_MODE, -1);
    assert_true(mode->polling);
    assert_non_null(strstr(mode->error.what, "max_user_instances"));
    assert_non_null(strstr(mode->error.remedy, "sysctl fs.inotify.max_user_instances="));
    expect_saves_are_seen(w, &log, dir, source);
    end(w, &log, dir);
}

static void no_watch_left(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        adds_left = allowed;
        struct kb_inotify_calls calls = kb_inotify_system;
        calls.add = add_fails;
        kb_inotify_use(&calls);
        char *dir = scratch_dir();
        put(dir, "k.cu", "#include \"h.h\"\n#include \"sub/other.h\"\n");
        put(dir, "sub/other.h", "");
        struct seen_log log = {0};
        struct kb_watch *w = kb_watch_new(&fast);
        int source = watch_file(w, dir, "k.cu");
        run_until(w, &log, KB_WATCH_SETTLED, source);
        const struct seen *mode = seen_last(&log, KB_WATCH_MODE, -1);
        assert_true(mode->polling);
        assert_non_null(strstr(mode->error.what, "max_user_watches"));
        assert_non_null(strstr(mode->error.remedy, "sysctl fs.inotify.max_user_watches="));
        assert_null(strstr(mode->error.what, "space"));
        assert_int_equal(seen_count(&log, KB_WATCH_MODE, -1), 1);
        assert_int_equal(seen_count(&log, KB_WATCH_CHANGED, source), 1);
        assert_int_equal(kb_watch_fd(w), -1);
        expect_saves_are_seen(w, &log, dir, source);
        end(w, &log, dir);
    }
}

static void a_folder_that_cannot_be_heard_is_polled(void **state)
{
    (void)state;
    struct kb_inotify_calls calls = kb_inotify_system;
    calls.add = add_refuses;
    kb_inotify_use(&calls);
    char *dir = scratch_dir();
    put(dir, "deaf/k.cu", "one\n");
    put(dir, "fine/k.cu", "one\n");
    struct seen_log log = {0};
    struct kb_watch *w = kb_watch_new(&fast);
    int deaf = watch_file(w, dir, "deaf/k.cu"), fine = watch_file(w, dir, "fine/k.cu");
    run_until(w, &log, KB_WATCH_SETTLED, fine);
    assert_true(kb_watch_fd(w) >= 0);
    assert_int_equal(seen_count(&log, KB_WATCH_MODE, fine), 0);
    assert_true(seen_last(&log, KB_WATCH_MODE, deaf)->polling);
    assert_non_null(strstr(seen_last(&log, KB_WATCH_MODE, deaf)->error.what, "Permission denied"));
    put(dir, "deaf/k.cu", "two\n");
    run_until(w, &log, KB_WATCH_CHANGED, deaf);
    assert_string_equal(seen_last(&log, KB_WATCH_CHANGED, deaf)->main, "two\n");
    end(w, &log, dir);
}

static void an_injected_overflow(void **state)
{
    (void)state;
    struct kb_inotify_calls calls = kb_inotify_system;
    calls.read = read_overflows;
    kb_inotify_use(&calls);
    char *dir = scratch_dir();
    put(dir, "k.cu", "one\n");
    put(dir, "other.cu", "one\n");
    put(dir, "sentinel", "0");
    struct seen_log log = {0};
    struct kb_watch *w = kb_watch_new(&fast);
    int source = watch_file(w, dir, "k.cu"), other = watch_file(w, dir, "other.cu");
    int sentinel = watch_file(w, dir, "sentinel");
    run_until(w, &log, KB_WATCH_SETTLED, sentinel);
    seen_clear(&log);
    put(dir, "k.cu", "two\n"); // this event is lost
    overflow_next = true;
    run_until(w, &log, KB_WATCH_SETTLED, source);
    assert_string_equal(seen_last(&log, KB_WATCH_CHANGED, source)->main, "two\n");
    run_past(w, &log, dir, sentinel);
    assert_int_equal(seen_count(&log, KB_WATCH_CHANGED, source), 1);
    assert_int_equal(seen_count(&log, KB_WATCH_CHANGED, other), 0);
    assert_int_equal(seen_count(&log, KB_WATCH_SAME, other), 0);
    end(w, &log, dir);
}

static void a_real_overflow(void **state)
{
    (void)state;
    char *text = NULL, *dir = scratch_dir();
    size_t size = 0;
    if (kb_file_read("/proc/sys/fs/inotify/max_queued_events", 64, &text, &size, NULL))
        skip();
    long queued = strtol(text, NULL, 10);
    free(text);
    if (queued <= 0 || queued > 100000)
        skip();
    put(dir, "k.cu", "one\n");
    put(dir, "a", "");
    struct seen_log log = {0};
    struct kb_watch *w = kb_watch_new(&fast);
    int source = watch_file(w, dir, "k.cu");
    run_until(w, &log, KB_WATCH_SETTLED, source);
    seen_clear(&log);
    char *a = in_dir(dir, "a"), *z = in_dir(dir, "z");
    for (long i = 0; i < queued; i++) {
        assert_int_equal(rename(i % 2 ? z : a, i % 2 ? a : z), 0);
        if (i == queued * 3 / 4)
            put(dir, "k.cu", "two\n");
    }
    run_until(w, &log, KB_WATCH_SETTLED, source);
    assert_int_equal(seen_count(&log, KB_WATCH_CHANGED, source), 1);
    assert_string_equal(seen_last(&log, KB_WATCH_CHANGED, source)->main, "two\n");
    put(dir, "k.cu", "three\n");
    run_until(w, &log, KB_WATCH_CHANGED, source);
    free(a);
    free(z);
    end(w, &log, dir);
}

// A source has just let go of its headers when an event for the last of them comes in, while another source is read.
static void an_event_for_a_header_that_was_just_dropped(void **state)
{
    (void)state;
    struct kb_inotify_calls calls = kb_inotify_system;
    calls.read = read_meets_a_write;
    char *dir = scratch_dir();
    for (int first = 1; first <= 6; first++) {
        reads_left = 0;
        kb_inotify_use(&calls);
        char *text = kb_strdup("");
        for (int i = 0; i < 40; i++) {
            char *more = kb_format("%s#include \"h%d.h\"\n", text, i), *name = kb_format("h%d.h", i);
            put(dir, name, "");
            free(text);
            free(name);
            text = more;
        }
        put(dir, "a.cu", text);
        put(dir, "b.cu", "one");
        put(dir, "sentinel", "0");
        free(text);
        struct seen_log log = {0};
        struct kb_watch *w = kb_watch_new(&fast);
        int a = watch_file(w, dir, "a.cu"), b = watch_file(w, dir, "b.cu"), sentinel = watch_file(w, dir, "sentinel");
        run_until(w, &log, KB_WATCH_SETTLED, sentinel);
        seen_clear(&log);
        put(dir, "a.cu", "two");
        put(dir, "b.cu", "two");
        touched_dir = dir;
        reads_left = first;
        run_until(w, &log, KB_WATCH_SETTLED, b);
        run_past(w, &log, dir, sentinel);
        assert_int_equal(seen_count(&log, KB_WATCH_CHANGED, a), 1);
        assert_int_equal(seen_count(&log, KB_WATCH_CHANGED, b), 1);
        assert_int_equal(seen_last(&log, KB_WATCH_CHANGED, a)->snapshot.file_count, 1);
        kb_watch_free(w);
        seen_clear(&log);
    }
    kb_inotify_use(NULL);
    scratch_remove(dir);
}

static void polling_on_request(void **state)
{
    (void)state;
    char *dir = scratch_dir();
    put(dir, "k.cu", "#include \"h.h\"\n");
    struct seen_log log = {0};
    struct kb_watch *w = kb_watch_new(&(struct kb_watch_options){.poll_ms = 10, .force_polling = true});
    int source = watch_file(w, dir, "k.cu");
    run_until(w, &log, KB_WATCH_SETTLED, source);
    expect_saves_are_seen(w, &log, dir, source);
    end(w, &log, dir);
}

// Same size, same inode, and the time of modification put back.
static void polling_sees_a_change_that_hides(void **state)
{
    (void)state;
    char *dir = scratch_dir(), *path = in_dir(dir, "k.cu");
    put(dir, "k.cu", "one\n");
    struct seen_log log = {0};
    struct kb_watch *w = kb_watch_new(&(struct kb_watch_options){.poll_ms = 10, .force_polling = true});
    int source = watch_file(w, dir, "k.cu");
    run_until(w, &log, KB_WATCH_SETTLED, source);
    struct stat before;
    assert_int_equal(stat(path, &before), 0);
    put(dir, "k.cu", "two\n");
    struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    run_until(w, &log, KB_WATCH_CHANGED, source);
    assert_string_equal(seen_last(&log, KB_WATCH_CHANGED, source)->main, "two\n");
    free(path);
    end(w, &log, dir);
}

static void polling_waits_for_a_slow_writer(void **state)
{
    (void)state;
    char *dir = scratch_dir(), *path = in_dir(dir, "k.cu");
    put(dir, "k.cu", "one\n");
    put(dir, "sentinel", "0");
    if (kb_writer_of(path) == KB_WRITER_UNKNOWN) {
        free(path);
        scratch_remove(dir);
        skip();
    }
    struct seen_log log = {0};
    struct kb_watch *w = kb_watch_new(&(struct kb_watch_options){.poll_ms = 10, .force_polling = true});
    int source = watch_file(w, dir, "k.cu"), sentinel = watch_file(w, dir, "sentinel");
    run_until(w, &log, KB_WATCH_SETTLED, sentinel);
    seen_clear(&log);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    run_past(w, &log, dir, sentinel);
    assert_int_equal(write(fd, "half", 4), 4);
    run_past(w, &log, dir, sentinel);
    assert_int_equal(write(fd, " and half\n", 10), 10);
    run_past(w, &log, dir, sentinel);
    assert_int_equal(seen_count(&log, KB_WATCH_CHANGED, source), 0);
    close(fd);
    run_until(w, &log, KB_WATCH_SETTLED, source);
    assert_int_equal(seen_count(&log, KB_WATCH_CHANGED, source), 1);
    assert_string_equal(seen_last(&log, KB_WATCH_CHANGED, source)->main, "half and half\n");
    free(path);
    end(w, &log, dir);
}

enum { CANNOT_PLAY = 77, OTHER_USER = 65534 };

// Runs as another user, who gets no lease on this file: 0 if the only content that was seen behind the first is whole.
static int watch_as_other_user(const char *path, const char *whole, int ready)
{
    if (setgid(OTHER_USER) || setuid(OTHER_USER) || access(path, R_OK) || kb_writer_of(path) != KB_WRITER_UNKNOWN)
        return CANNOT_PLAY;
    struct kb_watch *w = kb_watch_new(&(struct kb_watch_options){.poll_ms = 100, .force_polling = true});
    kb_watch_add(w, path, NULL, false);
    for (int changes = 0;; usleep(1000)) {
        struct kb_watch_event event;
        if (!kb_watch_next(w, &event))
            continue;
        if (event.kind == KB_WATCH_CHANGED && ++changes == 2)
            return strcmp(event.snapshot.files[0].data, whole) != 0;
        if (event.kind == KB_WATCH_SETTLED && write(ready, "", 1) != 1)
            return 1;
    }
}

// Nobody can be asked whether the file is still open: an empty file is not believed at once.
static void polling_where_writers_cannot_be_asked_about(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    char *dir = scratch_dir(), *path = in_dir(dir, "k.cu");
    assert_int_equal(chmod(dir, 0755), 0);
    put(dir, "k.cu", "one\n");
    int ready[2], status = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(watch_as_other_user(path, "whole\n", ready[1]));
    close(ready[1]);
    char byte;
    if (read(ready[0], &byte, 1) == 1) {
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        usleep(300000); // longer than a file that holds something is waited for
        assert_int_equal(write(fd, "whole\n", 6), 6);
        close(fd);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ready[0]);
    free(path);
    scratch_remove(dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_PLAY)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_instance_left),
        cmocka_unit_test(no_watch_left),
        cmocka_unit_test(a_folder_that_cannot_be_heard_is_polled),
        cmocka_unit_test(an_injected_overflow),
        cmocka_unit_test(a_real_overflow),
        cmocka_unit_test(an_event_for_a_header_that_was_just_dropped),
        cmocka_unit_test(polling_on_request),
        cmocka_unit_test(polling_sees_a_change_that_hides),
        cmocka_unit_test(polling_waits_for_a_slow_writer),
        cmocka_unit_test(polling_where_writers_cannot_be_asked_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
