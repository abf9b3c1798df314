// Headers: changed, missing, shadowed, in new folders, and half-written while the source is saved.
#include "base/file.h"
#include "base/memory.h"
#include "support_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct bed {
    char *dir;
    struct kb_watch *watch;
    struct seen_log log;
    int source, sentinel;
};

static struct bed bed_new(void)
{
    struct bed b = {.dir = scratch_dir(), .watch = kb_watch_new(NULL)};
    char *sentinel = in_dir(b.dir, "sentinel");
    put(b.dir, "sentinel", "0");
    b.sentinel = kb_watch_add(b.watch, sentinel, NULL, true);
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.sentinel);
    free(sentinel);
    return b;
}

static void bed_watch(struct bed *b, const char *name, const char *include_dir)
{
    char *path = in_dir(b->dir, name), *include = include_dir ? in_dir(b->dir, include_dir) : NULL;
    const char *dirs[] = {include};
    struct kb_reach reach = {.include_dirs = dirs, .include_dir_count = include ? 1 : 0};
    b->source = kb_watch_add(b->watch, path, &reach, false);
    run_until(b->watch, &b->log, KB_WATCH_SETTLED, b->source);
    seen_clear(&b->log);
    free(path);
    free(include);
}

static void bed_end(struct bed *b)
{
    kb_watch_free(b->watch);
    seen_clear(&b->log);
    scratch_remove(b->dir);
}

// One build, in which the header holds this text (NULL: it is not there).
static void expect_build(struct bed *b, const char *name, const char *text)
{
    if (!seen_count(&b->log, KB_WATCH_SETTLED, b->source))
        run_until(b->watch, &b->log, KB_WATCH_SETTLED, b->source);
    run_past(b->watch, &b->log, b->dir, b->sentinel);
    assert_int_equal(seen_count(&b->log, KB_WATCH_CHANGED, b->source), 1);
    assert_int_equal(seen_count(&b->log, KB_WATCH_SETTLED, b->source), 1);
    const struct seen *changed = seen_last(&b->log, KB_WATCH_CHANGED, b->source);
    const struct kb_snapshot_file *file = snapshot_file(&changed->snapshot, name);
    assert_true(changed->snapshot.saved_us > 0);
    if (text) {
        assert_non_null(file);
        assert_string_equal(file->data, text);
    } else {
        assert_null(file);
    }
    seen_clear(&b->log);
}

static void expect_nothing(struct bed *b)
{
    run_past(b->watch, &b->log, b->dir, b->sentinel);
    for (int i = 0; i < b->log.count; i++)
        assert_int_equal(b->log.events[i].source, b->sentinel);
    seen_clear(&b->log);
}

static void a_deep_header_a_shadow_and_an_older_time_stamp(void **state)
{
    (void)state;
    struct bed b = bed_new();
    put(b.dir, "src/k.cu", "#include \"h.h\"\n");
    put(b.dir, "inc/h.h", "#include \"../deep/deep.h\"\n");
    put(b.dir, "deep/deep.h", "7");
    bed_watch(&b, "src/k.cu", "inc");
    put(b.dir, "deep/deep.h", "8");
    expect_build(&b, "deep/deep.h", "8");

    put(b.dir, "src/h.h", "#include \"../deep/deep.h\"\n#define SHADOW\n");
    expect_build(&b, "src/h.h", "#include \"../deep/deep.h\"\n#define SHADOW\n");

    put(b.dir, "deep/old", "7");
    char *old = in_dir(b.dir, "deep/old"), *deep = in_dir(b.dir, "deep/deep.h");
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    assert_int_equal(rename(old, deep), 0);
    expect_build(&b, "deep/deep.h", "7");
    put(b.dir, "inc/h.h", "// shadowed: nobody sees this\n");
    expect_nothing(&b);
    free(old);
    free(deep);
    bed_end(&b);
}

static void one_header_does_not_rebuild_the_world(void **state)
{
    (void)state;
    struct bed b = bed_new();
    put(b.dir, "a.cu", "#include \"shared.h\"\n#include \"a.h\"\n");
    put(b.dir, "b.cu", "#include \"shared.h\"\n");
    put(b.dir, "shared.h", "1");
    put(b.dir, "a.h", "1");
    bed_watch(&b, "a.cu", NULL);
    int a = b.source;
    bed_watch(&b, "b.cu", NULL);
    put(b.dir, "a.h", "2");
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, a);
    run_past(b.watch, &b.log, b.dir, b.sentinel);
    assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, b.source), 0);
    put(b.dir, "shared.h", "2");
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, a);
    run_past(b.watch, &b.log, b.dir, b.sentinel);
    assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, b.source), 1);
    assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, a), 2);
    bed_end(&b);
}

static void a_missing_header_is_created(void **state)
{
    (void)state;
    struct bed b = bed_new();
    put(b.dir, "src/k.cu", "#include \"none.h\"\n#include \"sub/dir/none.h\"\n#include <inc.h>\n");
    bed_watch(&b, "src/k.cu", "include");
    put(b.dir, "src/none.h", "1");
    expect_build(&b, "src/none.h", "1");
    put(b.dir, "include/inc.h", "3"); // the folder did not exist either
    expect_build(&b, "include/inc.h", "3");
    bed_end(&b);
}

// The folders are made and filled before anybody could have watched them.
static void new_folders_that_are_filled_at_once(void **state)
{
    (void)state;
    struct bed b = bed_new();
    put(b.dir, "k.cu", "#include \"sub/dir/deep/h.h\"\n");
    bed_watch(&b, "k.cu", NULL);
    put(b.dir, "sub/dir/deep/h.h", "1");
    expect_build(&b, "sub/dir/deep/h.h", "1");
    put(b.dir, "sub/dir/deep/h.h", "2");
    expect_build(&b, "sub/dir/deep/h.h", "2");

    char *sub = in_dir(b.dir, "sub"), *away = in_dir(b.dir, "away");
    assert_int_equal(kb_remove_tree(sub), 0);
    expect_build(&b, "sub/dir/deep/h.h", NULL);
    put(b.dir, "away/dir/deep/h.h", "3");
    assert_int_equal(rename(away, sub), 0);
    expect_build(&b, "sub/dir/deep/h.h", "3");
    free(sub);
    free(away);
    bed_end(&b);
}

static int start_writing(const struct bed *b, const char *name, const char *half)
{
    char *path = in_dir(b->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, half, strlen(half)), (ssize_t)strlen(half));
    free(path);
    return fd;
}

static void a_save_while_a_header_is_half_written(void **state)
{
    (void)state;
    struct bed b = bed_new();
    put(b.dir, "k.cu", "#include \"h.h\"\n");
    put(b.dir, "h.h", "whole 1");
    bed_watch(&b, "k.cu", NULL);
    int fd = start_writing(&b, "h.h", "ha");
    expect_nothing(&b);
    put(b.dir, "k.cu", "#include \"h.h\"\n// 2\n");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    const struct kb_snapshot *s = &seen_last(&b.log, KB_WATCH_CHANGED, b.source)->snapshot;
    assert_string_equal(s->files[0].data, "#include \"h.h\"\n// 2\n");
    assert_string_equal(snapshot_file(s, "h.h")->data, "whole 1");
    assert_int_equal(seen_count(&b.log, KB_WATCH_SETTLED, b.source), 0);
    seen_clear(&b.log);
    assert_int_equal(write(fd, "lf", 2), 2);
    close(fd);
    expect_build(&b, "h.h", "half");
    bed_end(&b);
}

static void a_header_that_is_deleted_and_returns(void **state)
{
    (void)state;
    struct bed b = bed_new();
    put(b.dir, "k.cu", "#include \"h.h\"\n");
    put(b.dir, "h.h", "1");
    bed_watch(&b, "k.cu", NULL);
    char *path = in_dir(b.dir, "h.h");
    assert_int_equal(unlink(path), 0);
    expect_build(&b, "h.h", NULL);
    put(b.dir, "h.h", "1");
    expect_build(&b, "h.h", "1");
    free(path);
    bed_end(&b);
}

// The quiet time is long here, so that the gap cannot be over before the test goes on.
static void a_save_while_a_header_is_gone_for_a_moment(void **state)
{
    (void)state;
    struct bed b = {.dir = scratch_dir(), .watch = kb_watch_new(&(struct kb_watch_options){.quiet_ms = 60000})};
    char *path = in_dir(b.dir, "k.cu"), *header = in_dir(b.dir, "h.h");
    put(b.dir, "k.cu", "#include \"h.h\"\n");
    put(b.dir, "h.h", "1");
    b.source = kb_watch_add(b.watch, path, NULL, false);
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    assert_int_equal(unlink(header), 0);
    put(b.dir, "k.cu", "#include \"h.h\"\n// 2\n");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    const struct kb_snapshot *s = &seen_last(&b.log, KB_WATCH_CHANGED, b.source)->snapshot;
    assert_string_equal(snapshot_file(s, "h.h")->data, "1");
    put(b.dir, "h.h", "1");
    run_until(b.watch, &b.log, KB_WATCH_SAME, b.source);
    assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, b.source), 2);
    free(path);
    free(header);
    bed_end(&b);
}

static void a_folder_reached_through_a_link(void **state)
{
    (void)state;
    struct bed b = bed_new();
    char *link_path = in_dir(b.dir, "inc"), *next = in_dir(b.dir, "next");
    put(b.dir, "v1/h.h", "1");
    put(b.dir, "v2/h.h", "2");
    put(b.dir, "k.cu", "#include <h.h>\n");
    assert_int_equal(symlink("v1", link_path), 0);
    bed_watch(&b, "k.cu", "inc");
    put(b.dir, "v1/h.h", "1b");
    expect_build(&b, "inc/h.h", "1b");
    assert_int_equal(symlink("v2", next), 0);
    assert_int_equal(rename(next, link_path), 0);
    expect_build(&b, "inc/h.h", "2");
    put(b.dir, "v2/h.h", "2b");
    expect_build(&b, "inc/h.h", "2b");
    put(b.dir, "v1/h.h", "no longer included");
    expect_nothing(&b);
    free(link_path);
    free(next);
    bed_end(&b);
}

static void plain_files_follow_nothing_and_sources_can_be_removed(void **state)
{
    (void)state;
    struct bed b = bed_new();
    put(b.dir, "bench.json", "#include \"h.h\"\n");
    put(b.dir, "h.h", "1");
    char *path = in_dir(b.dir, "bench.json");
    b.source = kb_watch_add(b.watch, path, NULL, true);
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    assert_int_equal(seen_last(&b.log, KB_WATCH_CHANGED, b.source)->snapshot.file_count, 1);
    seen_clear(&b.log);
    put(b.dir, "h.h", "2");
    expect_nothing(&b);
    put(b.dir, "bench.json", "{}");
    expect_build(&b, "bench.json", "{}");
    kb_watch_remove(b.watch, b.source);
    kb_watch_remove(b.watch, b.source);
    put(b.dir, "bench.json", "{ }");
    expect_nothing(&b);
    free(path);
    bed_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deep_header_a_shadow_and_an_older_time_stamp),
        cmocka_unit_test(one_header_does_not_rebuild_the_world),
        cmocka_unit_test(a_missing_header_is_created),
        cmocka_unit_test(new_folders_that_are_filled_at_once),
        cmocka_unit_test(a_save_while_a_header_is_half_written),
        cmocka_unit_test(a_header_that_is_deleted_and_returns),
        cmocka_unit_test(a_save_while_a_header_is_gone_for_a_moment),
        cmocka_unit_test(a_folder_reached_through_a_link),
        cmocka_unit_test(plain_files_follow_nothing_and_sources_can_be_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
