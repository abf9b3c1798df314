// Files and paths.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/kb-file-XXXXXX";

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return kb_remove_tree(root);
}

static int entries(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void test_replace_and_read(void **state)
{
    (void)state;
    char *path = kb_path_join(root, "f"), *data = NULL;
    size_t size = 0;
    struct kb_error e = {0};
    assert_int_equal(kb_file_replace(path, "a\0b", 3, &e), 0);
    assert_int_equal(kb_file_read(path, 3, &data, &size, &e), 0);
    assert_int_equal(size, 3);
    assert_memory_equal(data, "a\0b\0", 4);
    free(data);
    assert_int_equal(kb_file_replace(path, "", 0, &e), 0);
    assert_int_equal(kb_file_read(path, 0, &data, &size, &e), 0);
    assert_int_equal(size, 0);
    free(data);
    size_t large = 100000;
    char *bytes = kb_alloc(large);
    memset(bytes, 'x', large);
    assert_int_equal(kb_file_replace(path, bytes, large, &e), 0);
    assert_int_equal(kb_file_read(path, large, &data, &size, &e), 0);
    assert_int_equal(size, large);
    free(data);
    assert_int_equal(kb_file_read(path, large - 1, &data, &size, &e), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(entries(root), 1); // no temporary is left
    free(bytes);
    unlink(path);
    free(path);
}

static void test_failures(void **state)
{
    (void)state;
    char *none = kb_path_join(root, "no/such"), *data = NULL;
    size_t size;
    struct kb_error e = {0};
    assert_int_equal(kb_file_read(none, 10, &data, &size, &e), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(e.on, none);
    assert_int_equal(kb_file_read(root, 10, &data, &size, &e), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(kb_file_replace(none, "x", 1, &e), -1);
    assert_non_null(strstr(e.what, "No such file"));
    assert_int_equal(kb_file_replace(root, "x", 1, &e), -1); // a folder
    assert_true(kb_is_dir(root));
    free(none);
}

static void *replace_often(void *path)
{
    for (int i = 0; i < 50; i++)
        if (kb_file_replace(path, "1234567890", 10, NULL))
            return path;
    return NULL;
}

// A reader sees the whole file whoever writes it.
static void test_replacing_at_once(void **state)
{
    (void)state;
    char *path = kb_path_join(root, "shared");
    pthread_t threads[3];
    void *failed = NULL, *any = NULL;
    assert_null(replace_often(path));
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, replace_often, path), 0);
    for (int i = 0; i < 200; i++) {
        char *data;
        size_t size;
        struct kb_error e;
        assert_int_equal(kb_file_read(path, 100, &data, &size, &e), 0);
        assert_string_equal(data, "1234567890");
        free(data);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &failed);
        any = failed ? failed : any;
    }
    assert_null(any);
    assert_int_equal(entries(root), 1);
    unlink(path);
    free(path);
}

static void test_folders(void **state)
{
    (void)state;
    char *deep = kb_path_join(root, "a/b//c/"), *file = kb_path_join(root, "a/f"), *below = kb_path_join(root, "a/f/g");
    char *link = kb_path_join(root, "a/link"), *outside = kb_path_join(root, "outside"), *a = kb_path_join(root, "a");
    struct kb_error e = {0};
    assert_int_equal(kb_make_dirs(deep, &e), 0);
    assert_int_equal(kb_make_dirs(deep, &e), 0);
    assert_true(kb_is_dir(deep));
    assert_int_equal(kb_file_replace(file, "x", 1, &e), 0);
    assert_int_equal(kb_make_dirs(file, &e), -1);
    assert_int_equal(kb_make_dirs(below, &e), -1);
    assert_int_equal(kb_make_dirs("", &e), -1);
    assert_int_equal(kb_file_replace(outside, "x", 1, &e), 0);
    assert_int_equal(symlink(root, link), 0);
    assert_int_equal(kb_remove_tree(a), 0);
    assert_false(kb_is_dir(a));
    assert_true(kb_is_file(outside)); // links are not followed
    assert_int_equal(kb_remove_tree(a), 0);
    unlink(outside);
    free(deep), free(file), free(below), free(link), free(outside), free(a);
}

static void test_clean(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"/", "/"},     {"//a//b/", "/a/b"}, {"/a/./b/../c", "/a/c"}, {"/..", "/"},          {"/../../a", "/a"},
        {"/a/..", "/"}, {"/a/b/../..", "/"}, {"/a/...", "/a/..."},    {"/a/b/..//./", "/a"},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        char *clean = kb_path_clean(cases[i][0]);
        assert_string_equal(clean, cases[i][1]);
        free(clean);
    }
    char *here = getcwd(NULL, 0), *clean = kb_path_clean("x/../y"), *want = kb_path_join(here, "y");
    assert_string_equal(clean, want);
    free(here), free(clean), free(want);
}

static void expect_text(char *got, const char *want)
{
    assert_string_equal(got, want);
    free(got);
}

static void test_parts(void **state)
{
    (void)state;
    expect_text(kb_path_join("a", "b"), "a/b");
    expect_text(kb_path_join("a/", "b"), "a/b");
    expect_text(kb_path_join("a", "/b"), "/b");
    expect_text(kb_path_join("", "b"), "b");
    expect_text(kb_path_dir("/a/b"), "/a");
    expect_text(kb_path_dir("/a"), "/");
    expect_text(kb_path_dir("a"), ".");
    assert_string_equal(kb_path_base("/a/b"), "b");
    assert_string_equal(kb_path_base("b"), "b");
    expect_text(kb_path_relative("/a", "/a/b/c"), "b/c");
    expect_text(kb_path_relative("/a", "/ab"), "/ab");
    expect_text(kb_path_relative("/", "/ab"), "ab");
    expect_text(kb_path_relative("/a", "/a"), "/a");
    expect_text(kb_path_between("/a/b", "/a/b/c"), "c");
    expect_text(kb_path_between("/a/b", "/a/bc"), "../bc");
    expect_text(kb_path_between("/a/b/c", "/a"), "../..");
    expect_text(kb_path_between("/a/b", "/c/d"), "../../c/d");
    expect_text(kb_path_between("/a", "/a"), ".");
    expect_text(kb_path_between("/", "/a/b"), "a/b");
    expect_text(kb_path_between("/a/b", "/"), "../..");
}

static void test_cache(void **state)
{
    (void)state;
    char *own = kb_path_join(root, "cache"), *xdg = kb_path_join(root, "xdg"), *under = kb_path_join(xdg, "kbench");
    char *old = kb_strdup(getenv("KB_CACHE"));
    setenv("KB_CACHE", own, 1);
    expect_text(kb_cache_dir(), own);
    assert_true(kb_is_dir(own));
    setenv("KB_CACHE", "", 1);
    setenv("XDG_CACHE_HOME", xdg, 1);
    expect_text(kb_cache_dir(), under);
    setenv("KB_CACHE", "/dev/null/x", 1);
    assert_null(kb_cache_dir());
    if (old)
        setenv("KB_CACHE", old, 1);
    free(own), free(xdg), free(under), free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace_and_read),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_replacing_at_once),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_cache),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
