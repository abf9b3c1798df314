#include "base/file.h"
#include "base/memory.h"
#include "support_watch.h"
#include "watch/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kb_snapshot take(const char *dir, const char *name, const char *include_dir)
{
    char *path = in_dir(dir, name), *include = include_dir ? in_dir(dir, include_dir) : NULL;
    const char *dirs[] = {include};
    struct kb_snapshot s;
    struct kb_error e = {0};
    struct kb_reach reach = {.include_dirs = dirs, .include_dir_count = include ? 1 : 0};
    if (kb_snapshot_take(path, &reach, &s, &e))
        fail_msg("%s", kb_error_line(&e));
    free(path);
    free(include);
    return s;
}

static bool misses(const struct kb_snapshot *s, const char *dir, const char *name)
{
    char *path = in_dir(dir, name);
    bool found = false;
    for (int i = 0; i < s->missing_count; i++)
        found |= !strcmp(s->missing[i], path);
    free(path);
    return found;
}

static void names_are_relative_to_what_holds_everything(void **state)
{
    (void)state;
    char *dir = scratch_dir();
    put(dir, "src/k.cu", "#include \"h.h\"\n#include <inc.h>\n#include <stdint.h>\n");
    put(dir, "src/h.h", "#include \"../far/deep.h\"\n");
    put(dir, "far/deep.h", "#define VALUE 7\n");
    put(dir, "include dir/inc.h", "");
    struct kb_snapshot s = take(dir, "src/k.cu", "include dir");
    assert_string_equal(s.root, dir);
    assert_string_equal(s.main, "src/k.cu");
    assert_string_equal(s.files[0].name, "src/k.cu");
    assert_int_equal(s.file_count, 4);
    assert_string_equal(s.files[1].name, "far/deep.h");
    assert_non_null(snapshot_file(&s, "src/h.h"));
    assert_non_null(snapshot_file(&s, "include dir/inc.h"));
    assert_int_equal(s.include_dir_count, 1);
    assert_string_equal(s.include_dirs[0], "include dir");
    assert_true(misses(&s, dir, "include dir/stdint.h"));
    assert_false(misses(&s, dir, "src/stdint.h"));
    assert_int_equal(s.saved_us, 0);
    kb_snapshot_free(&s);
    scratch_remove(dir);
}

static void a_lone_source_and_an_include_dir_that_is_the_root(void **state)
{
    (void)state;
    char *dir = scratch_dir();
    put(dir, "k.cu", "");
    struct kb_snapshot s = take(dir, "k.cu", ".");
    assert_string_equal(s.main, "k.cu");
    assert_int_equal(s.files[0].size, 0);
    assert_string_equal(s.include_dirs[0], ".");
    kb_snapshot_free(&s);
    scratch_remove(dir);
}

static void earlier_places_in_the_search_order_are_missing(void **state)
{
    (void)state;
    char *dir = scratch_dir();
    put(dir, "src/k.cu", "#include \"h.h\"\n#include \"none.h\"\n#if __has_include(\"maybe.h\")\n#endif\n");
    put(dir, "inc/h.h", "");
    struct kb_snapshot s = take(dir, "src/k.cu", "inc");
    assert_non_null(snapshot_file(&s, "inc/h.h"));
    assert_true(misses(&s, dir, "src/h.h"));
    assert_true(misses(&s, dir, "src/none.h"));
    assert_true(misses(&s, dir, "inc/none.h"));
    assert_true(misses(&s, dir, "src/maybe.h"));
    assert_false(misses(&s, dir, "inc/h.h"));
    struct kb_hash before = s.hash;
    kb_snapshot_free(&s);

    put(dir, "src/h.h", ""); // the same content, found elsewhere: another version
    s = take(dir, "src/k.cu", "inc");
    assert_null(snapshot_file(&s, "inc/h.h"));
    assert_non_null(snapshot_file(&s, "src/h.h"));
    assert_string_not_equal(s.hash.hex, before.hex);
    kb_snapshot_free(&s);
    scratch_remove(dir);
}

static void macros_circles_and_next(void **state)
{
    (void)state;
    char *dir = scratch_dir();
    put(dir, "k.cu", "#include CONFIG\n#include \"names.h\"\n#include LATER\n#include A\n");
    put(dir, "names.h",
        "#define CONFIG OTHER\n#define OTHER \"config.h\"\n#define A B\n#define A A\n#define B A\n#define B B\n");
    put(dir, "config.h", "#include \"k.cu\"\n#define LATER <later.h>\n");
    put(dir, "inc/later.h", "#include_next <later.h>\n");
    struct kb_snapshot s = take(dir, "k.cu", "inc");
    assert_int_equal(s.file_count, 4);
    assert_non_null(snapshot_file(&s, "config.h"));
    assert_non_null(snapshot_file(&s, "inc/later.h"));
    kb_snapshot_free(&s);
    scratch_remove(dir);
}

static void the_hash_follows_content_only(void **state)
{
    (void)state;
    char *dir = scratch_dir(), *deep = in_dir(dir, "deep.h");
    put(dir, "k.cu", "#include \"deep.h\"\n");
    put(dir, "deep.h", "7");
    struct kb_snapshot a = take(dir, "k.cu", NULL);
    put(dir, "deep.h", "8");
    struct kb_snapshot b = take(dir, "k.cu", NULL);
    put(dir, "deep.h", "7");
    struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, deep, old, 0), 0);
    struct kb_snapshot c = take(dir, "k.cu", NULL);
    assert_string_not_equal(a.hash.hex, b.hash.hex);
    assert_string_equal(a.hash.hex, c.hash.hex);
    kb_snapshot_free(&a);
    kb_snapshot_free(&b);
    kb_snapshot_free(&c);
    free(deep);
    scratch_remove(dir);
}

// A FIFO would block its reader for ever, and a device has no end.
static void only_regular_files_are_read(void **state)
{
    (void)state;
    char *dir = scratch_dir(), *fifo = in_dir(dir, "pipe.h"), *zero = in_dir(dir, "zero.h");
    put(dir, "k.cu", "#include \"pipe.h\"\n#include \"zero.h\"\n#include \"folder.h\"\n");
    put(dir, "folder.h/x", "");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    assert_int_equal(symlink("/dev/zero", zero), 0);
    struct kb_snapshot s = take(dir, "k.cu", NULL);
    assert_int_equal(s.file_count, 1);
    assert_true(misses(&s, dir, "pipe.h"));
    assert_true(misses(&s, dir, "zero.h"));
    assert_true(misses(&s, dir, "folder.h"));
    kb_snapshot_free(&s);

    struct kb_error e = {0};
    assert_int_equal(kb_snapshot_take(fifo, NULL, &s, &e), -1);
    assert_int_equal(errno, ENOTSUP);
    assert_non_null(strstr(e.what, "FIFO"));
    assert_int_equal(kb_snapshot_take(dir, NULL, &s, &e), -1);
    assert_int_equal(errno, EISDIR);
    char *none = in_dir(dir, "none.cu");
    assert_int_equal(kb_snapshot_take(none, NULL, &s, &e), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(e.on, none);
    free(none);
    free(fifo);
    free(zero);
    scratch_remove(dir);
}

static void limits(void **state)
{
    (void)state;
    char *dir = scratch_dir(), *big = in_dir(dir, "big.h"), *main_path = in_dir(dir, "k.cu");
    put(dir, "k.cu", "#include \"big.h\"\n");
    put(dir, "big.h", "");
    assert_int_equal(truncate(big, ((off_t)64 << 20) + 1), 0);
    struct kb_snapshot s;
    struct kb_error e = {0};
    assert_int_equal(kb_snapshot_take(main_path, NULL, &s, &e), -1);
    assert_int_equal(errno, EFBIG);
    assert_non_null(strstr(e.what, "64 MiB"));
    assert_int_equal(kb_snapshot_take(big, NULL, &s, &e), -1);
    assert_int_equal(errno, EFBIG);

    FILE *many = fopen(main_path, "w");
    for (int i = 0; i < 5001; i++) {
        char name[32];
        snprintf(name, sizeof name, "h%d.h", i);
        put(dir, name, "");
        fprintf(many, "#include \"%s\"\n", name);
    }
    fclose(many);
    assert_int_equal(kb_snapshot_take(main_path, NULL, &s, &e), -1);
    assert_non_null(strstr(e.what, "5000 headers"));
    free(big);
    free(main_path);
    scratch_remove(dir);
}

static void a_toolkit_on_the_include_path_is_not_followed(void **state)
{
    (void)state;
    char *dir = scratch_dir();
    put(dir, "src/k.cu", "#include <cuda_runtime_api.h>\n#include <mine.h>\n");
    put(dir, "toolkit/cuda_runtime_api.h", "");
    put(dir, "toolkit/mine.h", "");
    struct kb_snapshot s = take(dir, "src/k.cu", "toolkit");
    assert_int_equal(s.file_count, 1);
    assert_int_equal(s.include_dir_count, 0);
    assert_string_equal(s.main, "k.cu");
    kb_snapshot_free(&s);
    scratch_remove(dir);
}

static void a_writer_is_noticed(void **state)
{
    (void)state;
    char *dir = scratch_dir(), *path = in_dir(dir, "k.cu");
    put(dir, "k.cu", "x");
    enum kb_writer idle = kb_writer_of(path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    enum kb_writer writing = kb_writer_of(path);
    close(fd);
    // Where the file system knows no leases, both answers are "unknown".
    if (idle == KB_WRITER_UNKNOWN)
        assert_int_equal(writing, KB_WRITER_UNKNOWN);
    else
        assert_true(idle == KB_WRITER_NONE && writing == KB_WRITER_OPEN);
    char *none = in_dir(dir, "none");
    assert_int_equal(kb_writer_of(none), KB_WRITER_UNKNOWN);
    free(none);
    free(path);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_relative_to_what_holds_everything),
        cmocka_unit_test(a_lone_source_and_an_include_dir_that_is_the_root),
        cmocka_unit_test(earlier_places_in_the_search_order_are_missing),
        cmocka_unit_test(macros_circles_and_next),
        cmocka_unit_test(the_hash_follows_content_only),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_toolkit_on_the_include_path_is_not_followed),
        cmocka_unit_test(a_writer_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
