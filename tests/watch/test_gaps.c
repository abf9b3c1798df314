// Files and folders that go and come back: a short gap is nothing, a long one is a calm state that ends by itself.
#include "base/file.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "support_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct bed {
    char *dir, *path;
    struct kb_watch *watch;
    struct seen_log log;
    int source;
};

static struct bed bed_new(const char *name, int quiet_ms)
{
    struct bed b = {.dir = scratch_dir(), .watch = kb_watch_new(&(struct kb_watch_options){.quiet_ms = quiet_ms})};
    b.path = in_dir(b.dir, name);
    put(b.dir, name, "one\n");
    b.source = kb_watch_add(b.watch, b.path, NULL, false);
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    return b;
}

static void bed_end(struct bed *b)
{
    kb_watch_free(b->watch);
    seen_clear(&b->log);
    free(b->path);
    scratch_remove(b->dir);
}

static void expect_main(const struct bed *b, const char *text)
{
    assert_string_equal(seen_last(&b->log, KB_WATCH_CHANGED, b->source)->main, text);
}

static void a_gap_shorter_than_the_quiet_time(void **state)
{
    (void)state;
    struct bed b = bed_new("k.cu", 60000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(unlink(b.path), 0);
        struct kb_watch_event event;
        assert_int_equal(kb_watch_next(b.watch, &event), 0);
        put(b.dir, "k.cu", i == 1 ? "two\n" : "one\n");
        run_until(b.watch, &b.log, i ? KB_WATCH_CHANGED : KB_WATCH_SAME, b.source);
    }
    assert_int_equal(seen_count(&b.log, KB_WATCH_MISSING, b.source), 0);
    assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, b.source), 3);
    bed_end(&b);
}

static void a_missing_source_comes_back(void **state)
{
    (void)state;
    struct bed b = bed_new("k.cu", 0);
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    assert_int_equal(unlink(b.path), 0);
    run_until(b.watch, &b.log, KB_WATCH_MISSING, b.source);
    put(b.dir, "k.cu", "one\n");
    run_until(b.watch, &b.log, KB_WATCH_SAME, b.source);
    assert_int_equal(unlink(b.path), 0);
    run_until(b.watch, &b.log, KB_WATCH_MISSING, b.source);
    put_by_rename(b.dir, "k.cu", "two\n");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    expect_main(&b, "two\n");
    // Saved and deleted at once: still one end for each build.
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    put(b.dir, "k.cu", "three\n");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    assert_int_equal(unlink(b.path), 0);
    run_until(b.watch, &b.log, KB_WATCH_MISSING, b.source);
    assert_int_equal(seen_count(&b.log, KB_WATCH_CHANGED, b.source), 3);
    assert_int_equal(seen_count(&b.log, KB_WATCH_SETTLED, b.source), 3);
    bed_end(&b);
}

static void the_folder_goes_and_comes_back(void **state)
{
    (void)state;
    struct bed b = bed_new("a/b/k.cu", 0);
    char *top = in_dir(b.dir, "a"), *away = in_dir(b.dir, "away");
    assert_int_equal(kb_remove_tree(top), 0);
    run_until(b.watch, &b.log, KB_WATCH_MISSING, b.source);
    put(b.dir, "a/b/k.cu", "two\n");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    expect_main(&b, "two\n");
    put(b.dir, "a/b/k.cu", "three\n");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    expect_main(&b, "three\n");

    // An ancestor is renamed: no event says so.
    assert_int_equal(rename(top, away), 0);
    run_until(b.watch, &b.log, KB_WATCH_MISSING, b.source);
    put(b.dir, "a/b/k.cu", "four\n");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    expect_main(&b, "four\n");
    put(b.dir, "a/b/k.cu", "five\n");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    expect_main(&b, "five\n");
    free(top);
    free(away);
    bed_end(&b);
}

static void git(const struct bed *b, const char *command)
{
    char *line = kb_format("export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "
                           "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git %s",
                           command);
    char *argv[] = {"sh", "-c", line, NULL};
    struct kb_capture result;
    struct kb_error e;
    assert_int_equal(kb_capture(argv, b->dir, 20000, 1 << 20, &result, &e), 0);
    if (result.exit_code)
        fail_msg("git %s ended with %d: %s", command, result.exit_code, result.err.data ? result.err.data : "");
    kb_capture_free(&result);
    free(line);
}

static void stash_pop_and_checkout(void **state)
{
    (void)state;
    char *program = kb_which("git");
    if (!program)
        skip();
    free(program);
    struct bed b = bed_new("src/k.cu", 0);
    git(&b, "init -q -b main .");
    put(b.dir, "README", "");
    git(&b, "add README && git commit -q -m empty");
    git(&b, "add src && git commit -q -m kernel");
    put(b.dir, "src/k.cu", "edited\n");
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    expect_main(&b, "edited\n");

    git(&b, "stash -q");
    git(&b, "stash pop -q");
    char *disk = get(b.dir, "src/k.cu");
    assert_string_equal(disk, "edited\n");
    free(disk);
    git(&b, "stash -q");
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    expect_main(&b, "one\n");
    git(&b, "stash pop -q");
    run_until(b.watch, &b.log, KB_WATCH_SETTLED, b.source);
    expect_main(&b, "edited\n");
    assert_int_equal(seen_count(&b.log, KB_WATCH_MISSING, b.source), 0);

    git(&b, "commit -q -a -m edited");
    git(&b, "checkout -q HEAD~2"); // neither the file nor its folder is there
    run_until(b.watch, &b.log, KB_WATCH_MISSING, b.source);
    git(&b, "checkout -q main");
    run_until(b.watch, &b.log, KB_WATCH_SAME, b.source);
    git(&b, "checkout -q HEAD~1");
    run_until(b.watch, &b.log, KB_WATCH_CHANGED, b.source);
    expect_main(&b, "one\n");
    bed_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_shorter_than_the_quiet_time),
        cmocka_unit_test(a_missing_source_comes_back),
        cmocka_unit_test(the_folder_goes_and_comes_back),
        cmocka_unit_test(stash_pop_and_checkout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
