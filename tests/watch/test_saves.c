// How editors and other programs save: each save is seen once, with its bytes, and nothing else is.
#include "base/file.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "support_watch.h"
#include "watch/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct bed {
    char *dir;
    struct kb_watch *watch;
    struct seen_log log;
    int source, sentinel;
};

static struct bed bed_with(const char *name, const char *text)
{
    struct bed b = {.dir = scratch_dir()};
    put(b.dir, "sentinel", "0");
    if (text)
        put(b.dir, name, text);
    b.watch = kb_watch_new(NULL);
    assert_true(kb_watch_fd(b.watch) >= 0);
    char *path = in_dir(b.dir, name), *sentinel = in_dir(b.dir, "sentinel");
    b.sentinel = kb_watch_add(b.watch, sentinel, NULL, true);
    b.source = kb_watch_add(b.watch, path, NULL, false);
    run_until(b.watch, &b.log, text ? KB_WATCH_SETTLED : KB_WATCH_MISSING, b.source);
    seen_clear(&b.log);
    free(path);
    free(sentinel);
    return b;
}

static void bed_end(struct bed *b)
{
    kb_watch_free(b->watch);
    seen_clear(&b->log);
    scratch_remove(b->dir);
}

static void expect_one_build(struct bed *b, const char *text)
{
    if (!seen_count(&b->log, KB_WATCH_SETTLED, b->source))
        run_until(b->watch, &b->log, KB_WATCH_SETTLED, b->source);
    run_past(b->watch, &b->log, b->dir, b->sentinel);
    assert_int_equal(seen_count(&b->log, KB_WATCH_CHANGED, b->source), 1);
    assert_int_equal(seen_count(&b->log, KB_WATCH_SETTLED, b->source), 1);
    assert_int_equal(seen_count(&b->log, KB_WATCH_MISSING, b->source), 0);
    assert_int_equal(seen_count(&b->log, KB_WATCH_UNREADABLE, b->source), 0);
    const struct seen *changed = seen_last(&b->log, KB_WATCH_CHANGED, b->source);
    assert_string_equal(changed->main, text);
    assert_true(changed->snapshot.saved_us > 0);
    seen_clear(&b->log);
}

static void expect_nothing(struct bed *b)
{
    run_past(b->watch, &b->log, b->dir, b->sentinel);
    for (int i = 0; i < b->log.count; i++)
        assert_int_equal(b->log.events[i].source, b->sentinel);
    seen_clear(&b->log);
}

static void move(const struct bed *b, const char *from, const char *to)
{
    char *a = in_dir(b->dir, from), *z = in_dir(b->dir, to);
    assert_int_equal(rename(a, z), 0);
    free(a);
    free(z);
}

static void delete_file(const struct bed *b, const char *name)
{
    char *path = in_dir(b->dir, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void the_trace_of_vim(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", "one\n");
    static const char *const texts[] = {"two\n", "three\n", "four\n"};
    for (int i = 0; i < 3; i++) {
        put(b.dir, "4913", "");
        delete_file(&b, "4913");
        move(&b, "k.cu", "k.cu~");
        put(b.dir, "k.cu", texts[i]);
        delete_file(&b, "k.cu~");
        expect_one_build(&b, texts[i]);
    }
    bed_end(&b);
}

// The same while the watch is running: it meets every state on the way. The quiet time is far longer than any gap.
static void the_trace_of_vim_step_by_step(void **state)
{
    (void)state;
    struct bed b = {.dir = scratch_dir(), .watch = kb_watch_new(&(struct kb_watch_options){.quiet_ms = 2000})};
    char *path = in_dir(b.dir, "k.cu");
    put(b.dir, "k.cu", "one\n");
    b.source = kb_watch_add(b.watch, path, NULL, false);
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    seen_clear(&b.log);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 30; i++) {
            char text[16], *backup = in_dir(b.dir, "k.cu~"), *probe = in_dir(b.dir, "4913");
            snprintf(text, sizeof text, "%d\n", i);
            close(open(probe, O_WRONLY | O_CREAT | O_EXCL, 0644));
            unlink(probe);
            usleep(1000);
            rename(path, backup);
            usleep(1000);
            int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            usleep(1000);
            if (write(fd, text, strlen(text)) < 0)
                _exit(1);
            usleep(1000);
            close(fd);
            usleep(1000);
            unlink(backup);
            free(backup);
            free(probe);
        }
        _exit(0);
    }
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    int last = -1;
    for (int i = 0; i < b.log.count; i++) { // whole contents, in order, and nothing else
        const struct seen *seen = &b.log.events[i];
        if (i == b.log.count - 1)
            break;
        assert_int_equal(seen->kind, KB_WATCH_CHANGED);
        char *end;
        int number = (int)strtol(seen->main, &end, 10);
        assert_string_equal(end, "\n");
        assert_true(number > last);
        last = number;
    }
    assert_int_equal(last, 29);
    free(path);
    bed_end(&b);
}

static void droppings(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", "one\n");
    char *lock = in_dir(b.dir, ".#k.cu");
    assert_int_equal(symlink("user@host.1234:99", lock), 0);
    put(b.dir, ".k.cu.swp", "swap");
    put(b.dir, "4913", "");
    put(b.dir, "k.cu~", "backup");
    put(b.dir, "#k.cu#", "auto save");
    put(b.dir, "k.cu.orig", "");
    expect_nothing(&b);
    assert_int_equal(unlink(lock), 0);
    expect_nothing(&b);
    free(lock);
    bed_end(&b);
}

static void the_trace_of_a_safe_write(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", "one\n");
    put(b.dir, "k.cu___jb_tmp___", "two\n");
    move(&b, "k.cu", "k.cu___jb_old___");
    move(&b, "k.cu___jb_tmp___", "k.cu");
    delete_file(&b, "k.cu___jb_old___");
    expect_one_build(&b, "two\n");
    put_by_rename(b.dir, "k.cu", "three\n");
    expect_one_build(&b, "three\n");
    bed_end(&b);
}

static void a_save_of_the_same_content_is_said_to_be_the_same(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", "one\n");
    put(b.dir, "k.cu", "one\n");
    run_until(b.watch, &b.log, KB_WATCH_SAME, b.source);
    assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, b.source), 0);
    seen_clear(&b.log);
    put_by_rename(b.dir, "k.cu", "one\n");
    run_until(b.watch, &b.log, KB_WATCH_SAME, b.source);
    run_past(b.watch, &b.log, b.dir, b.sentinel);
    assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, b.source), 0);
    assert_int_equal(seen_count(&b.log, KB_WATCH_SETTLED, b.source), 0);
    bed_end(&b);
}

static void write_text(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void a_file_that_is_emptied_and_written_slowly(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", "one\n");
    char *path = in_dir(b.dir, "k.cu");
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    expect_nothing(&b);
    write_text(fd, "half");
    expect_nothing(&b);
    write_text(fd, " and half\n");
    expect_nothing(&b);
    close(fd);
    expect_one_build(&b, "half and half\n");
    free(path);
    bed_end(&b);
}

static void a_write_through_mmap(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", "one\n");
    char *path = in_dir(b.dir, "k.cu");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char *bytes = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    memcpy(bytes, "two\n", 4);
    munmap(bytes, 4);
    close(fd);
    expect_one_build(&b, "two\n");
    free(path);
    bed_end(&b);
}

static void a_file_that_appears(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", NULL);
    put(b.dir, "k.cu", "first\n");
    expect_one_build(&b, "first\n");
    bed_end(&b);
}

static void a_file_that_is_being_saved_at_the_first_reading(void **state)
{
    (void)state;
    struct bed b = bed_with("other.cu", "x");
    char *path = in_dir(b.dir, "k.cu");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (kb_writer_of(path) == KB_WRITER_OPEN) {
        b.source = kb_watch_add(b.watch, path, NULL, false);
        struct kb_watch_event event;
        assert_int_equal(kb_watch_next(b.watch, &event), 0);
        write_text(fd, "whole\n");
        close(fd);
        run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
        assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, b.source), 1);
        assert_string_equal(seen_last(&b.log, KB_WATCH_CHANGED, b.source)->main, "whole\n");
        seen_clear(&b.log);
        // Kept open for good: read all the same.
        fd = open(path, O_WRONLY | O_CLOEXEC);
        b.source = kb_watch_add(b.watch, path, NULL, false);
        run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    }
    close(fd);
    free(path);
    bed_end(&b);
}

// A hard link and a file linked in from O_TMPFILE are complete when they appear; no close event follows.
static void files_that_are_linked_into_place(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", NULL);
    put(b.dir, "other", "linked\n");
    char *other = in_dir(b.dir, "other"), *path = in_dir(b.dir, "k.cu");
    assert_int_equal(link(other, path), 0);
    expect_one_build(&b, "linked\n");
    delete_file(&b, "k.cu");
    run_until(b.watch, &b.log, KB_WATCH_MISSING, b.source);
    seen_clear(&b.log);
    int fd = open(b.dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    if (fd >= 0) {
        write_text(fd, "temporary\n");
        char *self = kb_format("/proc/self/fd/%d", fd);
        assert_int_equal(linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW), 0);
        close(fd);
        expect_one_build(&b, "temporary\n");
        free(self);
    }
    free(other);
    free(path);
    bed_end(&b);
}

static void point(const struct bed *b, const char *target)
{
    char *next = in_dir(b->dir, "src/next");
    assert_int_equal(symlink(target, next), 0);
    free(next);
    move(b, "src/next", "src/k.cu");
}

static void a_symbolic_link_its_target_and_a_swap(void **state)
{
    (void)state;
    struct bed b = bed_with("unused.cu", "");
    put(b.dir, "real/a.cu", "a1\n");
    put(b.dir, "real/b.cu", "b1\n");
    put(b.dir, "src/x", "");
    char *path = in_dir(b.dir, "src/k.cu");
    point(&b, "../real/a.cu");
    b.source = kb_watch_add(b.watch, path, NULL, false);
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    assert_string_equal(seen_last(&b.log, KB_WATCH_CHANGED, b.source)->main, "a1\n");
    seen_clear(&b.log);
    put(b.dir, "real/a.cu", "a2\n");
    expect_one_build(&b, "a2\n");
    put_by_rename(b.dir, "real/a.cu", "a3\n");
    expect_one_build(&b, "a3\n");
    point(&b, "../real/b.cu");
    expect_one_build(&b, "b1\n");
    put(b.dir, "real/a.cu", "nobody looks here now\n");
    expect_nothing(&b);
    put(b.dir, "real/b.cu", "b2\n");
    expect_one_build(&b, "b2\n");
    point(&b, "k.cu"); // a circle is a missing file
    run_until(b.watch, &b.log, KB_WATCH_MISSING, b.source);
    seen_clear(&b.log);
    put_by_rename(b.dir, "src/k.cu", "plain\n");
    expect_one_build(&b, "plain\n");
    free(path);
    bed_end(&b);
}

// Runs a program while the watch is running, until its save has been seen.
static void run(struct bed *b, char *const argv[])
{
    struct kb_error e;
    pid_t child = kb_spawn(argv, b->dir, (int[]){-1, -1, -1}, 3, &e);
    if (child < 0)
        fail_msg("%s", kb_error_line(&e));
    run_until(b->watch, &b->log, KB_WATCH_SETTLED, b->source);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void real_vim(void **state)
{
    (void)state;
    char *vim = kb_which("vim");
    if (!vim)
        skip();
    free(vim);
    struct bed b = bed_with("k.cu", "one\n");
    char *one[] = {"vim", "-es", "-u", "NONE", "-N", "-c", "%s/.*/two/", "-c", "wq", "k.cu", NULL};
    char *two[] = {"vim", "-es",          "-u", "NONE", "-N",   "-c", "set backup",
                   "-c",  "%s/.*/three/", "-c", "wq",   "k.cu", NULL};
    char *in_place[] = {"vim", "-es",         "-u", "NONE", "-N",   "-c", "set backupcopy=yes",
                        "-c",  "%s/.*/four/", "-c", "wq",   "k.cu", NULL};
    run(&b, one);
    expect_one_build(&b, "two\n");
    run(&b, two);
    expect_one_build(&b, "three\n");
    run(&b, in_place);
    expect_one_build(&b, "four\n");
    bed_end(&b);
}

static void sed_in_place(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", "one\n");
    char *sed[] = {"sed", "-i", "s/one/two/", "k.cu", NULL};
    run(&b, sed);
    expect_one_build(&b, "two\n");
    bed_end(&b);
}

static void a_source_that_turns_into_something_unreadable(void **state)
{
    (void)state;
    struct bed b = bed_with("k.cu", "one\n");
    char *path = in_dir(b.dir, "k.cu");
    delete_file(&b, "k.cu");
    assert_int_equal(mkfifo(path, 0644), 0);
    run_until(b.watch, &b.log, KB_WATCH_UNREADABLE, b.source);
    assert_non_null(strstr(seen_last(&b.log, KB_WATCH_UNREADABLE, b.source)->error.what, "FIFO"));
    seen_clear(&b.log);
    put_by_rename(b.dir, "k.cu", "two\n");
    expect_one_build(&b, "two\n");
    free(path);
    bed_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trace_of_vim),
        cmocka_unit_test(the_trace_of_vim_step_by_step),
        cmocka_unit_test(droppings),
        cmocka_unit_test(the_trace_of_a_safe_write),
        cmocka_unit_test(a_save_of_the_same_content_is_said_to_be_the_same),
        cmocka_unit_test(a_file_that_is_emptied_and_written_slowly),
        cmocka_unit_test(a_write_through_mmap),
        cmocka_unit_test(a_file_that_appears),
        cmocka_unit_test(a_file_that_is_being_saved_at_the_first_reading),
        cmocka_unit_test(files_that_are_linked_into_place),
        cmocka_unit_test(a_symbolic_link_its_target_and_a_swap),
        cmocka_unit_test(real_vim),
        cmocka_unit_test(sed_in_place),
        cmocka_unit_test(a_source_that_turns_into_something_unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
