// Where libraries and tools are found, in which order, and what is said when they are not: `kbench-worker doctor` in
// made-up surroundings.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/kbench-test-XXXXXX";

static cJSON *doctor(void)
{
    const char *program = getenv("KB_WORKER");
    char *argv[] = {(char *)(program ? program : KB_BUILD_DIR "/kbench-worker"), "doctor", NULL};
    struct kb_capture c;
    struct kb_error e = {0};
    if (kb_capture(argv, NULL, 120000, 1 << 20, &c, &e))
        fail_msg("%s", kb_error_line(&e));
    assert_int_equal(c.exit_code, 0);
    cJSON *document = cJSON_Parse(c.out.data);
    assert_non_null(document);
    kb_capture_free(&c);
    return document;
}

static const cJSON *library(const cJSON *document, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, kb_json_get(document, "libs"))
        if (!strcmp(kb_json_text(item, "name", ""), name))
            return item;
    fail_msg("doctor says nothing about %s", name);
    return NULL;
}

static char *tool(const char *dir, const char *name)
{
    char *in = kb_path_join(folder, dir), *path = kb_path_join(in, name);
    static const char script[] = "#!/bin/sh\necho 'fake, release 99.1, V99.1.2'\n";
    assert_int_equal(kb_make_dirs(in, NULL), 0);
    assert_int_equal(kb_file_replace(path, script, sizeof script - 1, NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    free(in);
    return path;
}

static void test_everything_is_said(void **state)
{
    (void)state;
    static const char *const names[] = {"nvrtc", "cuda", "cupti", "nvml", "headers", "nvcc", "nvdisasm"};
    cJSON *document = doctor();
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        const cJSON *item = library(document, names[i]);
        bool there = kb_json_text(item, "path", NULL) != NULL, explained = kb_json_text(item, "missing", NULL) != NULL;
        assert_true(there != explained);
    }
    cJSON_Delete(document);
}

// The file that doctor finds this library in; owned; NULL where there is none.
static char *real_library(const char *name)
{
    cJSON *document = doctor();
    const char *path = kb_json_text(library(document, name), "path", NULL);
    char *real = path ? realpath(path, NULL) : NULL;
    cJSON_Delete(document);
    return real;
}

static void test_order_of_tools(void **state)
{
    (void)state;
    char *home = kb_path_join(folder, "home"), *in_home = tool("home/bin", "nvdisasm");
    char *on_path = tool("path", "nvdisasm"), *by_variable = tool("anywhere", "other-name");
    char *dir = kb_path_dir(on_path), *old_path = kb_strdup(getenv("PATH"));
    char *path = kb_format("%s:%s", dir, old_path);
    setenv("PATH", path, 1);
    setenv("CUDA_HOME", home, 1);
    setenv("KBENCH_NVRTC", by_variable, 1); // no library: what lies beside this machine's own NVRTC has no say
    cJSON *document = doctor();
    assert_string_equal(kb_json_text(library(document, "nvdisasm"), "path", ""), in_home);
    assert_string_equal(kb_json_text(library(document, "nvdisasm"), "version", ""), "99.1, V99.1.2");
    cJSON_Delete(document);
    setenv("KBENCH_NVDISASM", by_variable, 1); // an absolute path, not on PATH
    document = doctor();
    assert_string_equal(kb_json_text(library(document, "nvdisasm"), "path", ""), by_variable);
    cJSON_Delete(document);
    unlink(by_variable); // named by hand, but gone: said, not replaced by another one
    document = doctor();
    assert_null(kb_json_text(library(document, "nvdisasm"), "path", NULL));
    assert_non_null(strstr(kb_json_text(library(document, "nvdisasm"), "missing", ""), "KBENCH_NVDISASM"));
    cJSON_Delete(document);
    unsetenv("KBENCH_NVDISASM");
    unlink(in_home);
    document = doctor();
    assert_string_equal(kb_json_text(library(document, "nvdisasm"), "path", ""), on_path);
    cJSON_Delete(document);
    unlink(on_path); // the wheels in .deps, if anything
    document = doctor();
    assert_string_not_equal(kb_json_text(library(document, "nvdisasm"), "path", ""), on_path);
    cJSON_Delete(document);
    setenv("PATH", old_path, 1);
    unsetenv("KBENCH_NVRTC");
    unsetenv("CUDA_HOME");
    free(home), free(in_home), free(on_path), free(by_variable), free(dir), free(old_path), free(path);
}

// The tools of the toolkit, or of the wheels, that NVRTC came from fit it best.
static void test_tools_beside_nvrtc_before_path(void **state)
{
    (void)state;
    char *real = real_library("nvrtc");
    if (!real)
        skip();
    char *lib = kb_path_join(folder, "nvrtc/lib"), *file = kb_path_join(lib, "libnvrtc.so.13");
    char *beside = tool("nvrtc/bin", "nvdisasm"), *on_path = tool("path", "nvdisasm"), *dir = kb_path_dir(on_path);
    char *old_path = kb_strdup(getenv("PATH")), *path = kb_format("%s:%s", dir, old_path);
    assert_int_equal(kb_make_dirs(lib, NULL), 0);
    assert_int_equal(symlink(real, file), 0);
    setenv("PATH", path, 1);
    setenv("KBENCH_NVRTC", file, 1);
    cJSON *document = doctor();
    assert_string_equal(kb_json_text(library(document, "nvrtc"), "path", ""), file);
    assert_string_equal(kb_json_text(library(document, "nvdisasm"), "path", ""), beside);
    cJSON_Delete(document);
    setenv("PATH", old_path, 1);
    unsetenv("KBENCH_NVRTC");
    free(real), free(lib), free(file), free(beside), free(on_path), free(dir), free(old_path), free(path);
}

static void test_newest_library_first(void **state)
{
    (void)state;
    char *target = real_library("cupti");
    if (!target)
        skip();
    char *lib = kb_path_join(folder, "cupti/lib64"), *home = kb_path_join(folder, "cupti");
    char *older = kb_path_join(lib, "libcupti.so.12"), *newer = kb_path_join(lib, "libcupti.so.13");
    assert_int_equal(kb_make_dirs(lib, NULL), 0);
    assert_int_equal(symlink(target, older), 0);
    setenv("CUDA_HOME", home, 1);
    cJSON *document = doctor();
    assert_string_equal(kb_json_text(library(document, "cupti"), "path", ""), older);
    assert_true(kb_starts(kb_json_text(library(document, "cupti"), "version", ""), "API "));
    cJSON_Delete(document);
    assert_int_equal(symlink(target, newer), 0);
    document = doctor();
    assert_string_equal(kb_json_text(library(document, "cupti"), "path", ""), newer);
    cJSON_Delete(document);
    unsetenv("CUDA_HOME");
    free(target), free(lib), free(home), free(older), free(newer);
}

static void test_library_that_does_not_load(void **state)
{
    (void)state;
    char *file = kb_path_join(folder, "libnvrtc.so.13");
    assert_int_equal(kb_file_replace(file, "no library", 10, NULL), 0);
    setenv("KBENCH_NVRTC", file, 1);
    cJSON *document = doctor();
    const char *missing = kb_json_text(library(document, "nvrtc"), "missing", "");
    assert_non_null(strstr(missing, file));
    assert_int_equal(cJSON_GetArraySize(kb_json_get(document, "archs")), 0);
    cJSON_Delete(document);
    unsetenv("KBENCH_NVRTC");
    free(file);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return kb_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_said),
        cmocka_unit_test(test_order_of_tools),
        cmocka_unit_test(test_tools_beside_nvrtc_before_path),
        cmocka_unit_test(test_newest_library_first),
        cmocka_unit_test(test_library_that_does_not_load),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
