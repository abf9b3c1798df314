// What a bench may run: allowed for exactly what was looked at.
#include "base/file.h"
#include "base/memory.h"
#include "bench/permission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256], other[300];
static char *command[] = {"python3", "tools/ref.py", "--rows", "7", NULL};

static void put(const char *folder, const char *name, const char *text)
{
    char *path = kb_path_join(folder, name), *parent = kb_path_dir(path);
    assert_int_equal(kb_make_dirs(parent, NULL), 0);
    assert_int_equal(kb_file_replace(path, text, strlen(text), NULL), 0);
    free(parent);
    free(path);
}

static bool given(const char *folder, char *const *argv)
{
    struct kb_permission p;
    struct kb_error e = {0};
    if (kb_permission_read(folder, argv, &p, &e))
        fail_msg("%s", kb_error_line(&e));
    bool answer = p.given;
    kb_permission_free(&p);
    return answer;
}

static void give(void)
{
    struct kb_permission p;
    assert_int_equal(kb_permission_read(dir, command, &p, NULL), 0);
    assert_int_equal(kb_permission_give(&p, NULL), 0);
    kb_permission_free(&p);
}

static void exactly_that_content(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "%s/permission-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(dir));
    char *home = kb_path_join(dir, ".state");
    setenv("XDG_STATE_HOME", home, 1);
    put(dir, "tools/ref.py", "print(1)\n");
    put(dir, "helper.py", "x = 1\n");
    put(dir, "naive.cu", "// no script\n");
    assert_false(given(dir, command));
    give();
    assert_true(given(dir, command));
    put(dir, "naive.cu", "// another kernel is no matter\n");
    assert_true(given(dir, command));

    put(dir, "tools/ref.py", "print(2)\n");
    assert_false(given(dir, command));
    put(dir, "tools/ref.py", "print(1)\n"); // what was allowed stays allowed
    assert_true(given(dir, command));
    put(dir, "helper.py", "x = 2\n");
    assert_false(given(dir, command));
    put(dir, "helper.py", "x = 1\n");
    put(dir, "numpy.py", "import os\n"); // would be found before NumPy
    assert_false(given(dir, command));
    char *path = kb_path_join(dir, "numpy.py");
    unlink(path);
    free(path);
    assert_true(given(dir, command));
    put(dir, "numpy/__init__.py", "import os\n"); // so would this
    assert_false(given(dir, command));
    char *package = kb_path_join(dir, "numpy");
    kb_remove_tree(package);
    free(package);
    put(dir, "__pycache__/ref.pyc", "not used");
    put(dir, ".git/hooks/x.sh", "not used");
    assert_true(given(dir, command));
    char *more[] = {"python3", "tools/ref.py", "--rows", "8", NULL},
         *joined[] = {"python3 tools/ref.py", "--rows", "7", NULL};
    assert_false(given(dir, more));
    assert_false(given(dir, joined));

    // The same files elsewhere.
    snprintf(other, sizeof other, "%s-copy", dir);
    put(other, "tools/ref.py", "print(1)\n");
    put(other, "helper.py", "x = 1\n");
    assert_false(given(other, command));

    // A record that was tampered with is none.
    struct kb_permission p;
    assert_int_equal(kb_permission_read(dir, command, &p, NULL), 0);
    char *record = kb_format("%s/kbench/allowed/%s", home, p.hash.hex);
    assert_true(kb_is_file(record));
    assert_int_equal(kb_file_replace(record, "yes", 3, NULL), 0);
    assert_false(given(dir, command));
    assert_int_equal(p.file_count, 2);
    assert_string_equal(p.files[0].name, "helper.py");
    assert_memory_equal(p.content.data + p.files[0].at, "x = 1\n", p.files[0].size);
    kb_permission_free(&p);
    free(record);
    free(home);
    kb_remove_tree(dir);
    kb_remove_tree(other);
}

static struct kb_hash reads(const char *folder)
{
    struct kb_permission p;
    assert_int_equal(kb_permission_read(folder, command, &p, NULL), 0);
    struct kb_hash hash = p.reads;
    kb_permission_free(&p);
    return hash;
}

// What decides the results: words, scripts, files that scripts name; wherever the bench lies.
static void what_a_command_reads(void **state)
{
    (void)state;
    char script[1000];
    snprintf(dir, sizeof dir, "%s/reads-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(dir));
    snprintf(other, sizeof other, "%s-elsewhere", dir);
    put(other, "whole.bin", "1");
    snprintf(script, sizeof script,
             "a = load('w.npy'); b = load(here + \"/own.bin\"); c = load('%s/whole.bin')\n"
             "open('log.txt', 'w'); numpy.save(\"made.npy\", a); system('x > out.txt')\n",
             other);
    put(dir, "tools/ref.py", script);
    static const char *const names[] = {"w.npy", "tools/own.bin", "log.txt", "made.npy", "out.txt", "unnamed.npy"};
    for (size_t i = 0; i < KB_COUNT(names); i++)
        put(dir, names[i], "1");
    struct kb_hash before = reads(dir);
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        put(dir, names[i], "2");
        bool same = !strcmp(reads(dir).hex, before.hex);
        if (same != (i > 1))
            fail_msg("%s: %s", names[i], same ? "does not count" : "counts");
        put(dir, names[i], "1");
    }
    put(other, "whole.bin", "2");
    assert_string_not_equal(reads(dir).hex, before.hex);
    put(other, "whole.bin", "1");
    assert_string_equal(reads(dir).hex, before.hex);
    put(dir, "helper.py", "");
    assert_string_not_equal(reads(dir).hex, before.hex);

    put(other, "bench/tools/ref.py", script); // the same bench in another folder
    put(other, "bench/helper.py", "");
    put(other, "bench/w.npy", "1");
    put(other, "bench/tools/own.bin", "1");
    char *moved = kb_path_join(other, "bench");
    assert_string_equal(reads(moved).hex, reads(dir).hex);
    free(moved);
    kb_remove_tree(dir);
    kb_remove_tree(other);
}

static void which_words_name_files(void **state)
{
    (void)state;
    static const char *const yes[] = {"ref.py", "./ref", "tools/run", "../x.py"};
    static const char *const no[] = {"python3", "-c", "--file=x.py", "/usr/bin/env", "", "a=b.c"};
    for (size_t i = 0; i < KB_COUNT(yes); i++)
        assert_true(kb_permission_names_file(yes[i]));
    for (size_t i = 0; i < KB_COUNT(no); i++)
        assert_false(kb_permission_names_file(no[i]));
    char *line = kb_command_line((char *[]){"python3", "a b.py", "it's", "", "x=1", NULL});
    assert_string_equal(line, "python3 'a b.py' 'it'\\''s' '' x=1");
    free(line);
}

static void without_a_home_it_is_said(void **state)
{
    (void)state;
    char *home = kb_strdup(getenv("HOME")), folder[] = "/tmp/permission-XXXXXX";
    struct kb_permission p;
    struct kb_error e = {0};
    assert_non_null(mkdtemp(folder));
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    assert_int_equal(kb_permission_read(folder, command, &p, &e), 0);
    assert_false(p.given);
    assert_int_equal(kb_permission_give(&p, &e), -1);
    assert_non_null(strstr(e.remedy, "XDG_STATE_HOME"));
    kb_permission_free(&p);
    assert_int_equal(kb_permission_read("/no/such/folder", command, &p, &e), -1);
    if (home)
        setenv("HOME", home, 1);
    free(home);
    kb_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_that_content),
        cmocka_unit_test(what_a_command_reads),
        cmocka_unit_test(which_words_name_files),
        cmocka_unit_test(without_a_home_it_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
