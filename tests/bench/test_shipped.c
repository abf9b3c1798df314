// What is shipped works: the example of docs/bench.md, and every bench under kernels/ and docs/examples/.
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/permission.h"
#include "bench/support_bench.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

// The n-th block of this language in a document; owned by the caller.
static char *block(const char *document, const char *fence, int n)
{
    const char *at = document;
    for (int i = 0; i <= n; i++) {
        at = strstr(at, fence);
        assert_non_null(at);
        at += strlen(fence);
    }
    return kb_strndup(at, (size_t)(strstr(at, "```") - at));
}

static char *slurp(const char *path)
{
    char *data = NULL;
    size_t size;
    struct kb_error e;
    if (kb_file_read(path, 16 << 20, &data, &size, &e))
        fail_msg("%s", kb_error_line(&e));
    return data;
}

static struct kb_variant *resolve(const struct kb_bench *b, int variant, const char *text)
{
    struct kb_source source;
    struct kb_variant *v = NULL;
    struct kb_error e = {0};
    if (kb_source_scan(text, strlen(text), b->variants[variant].source, &source, &e) ||
        kb_variant_resolve(b, variant, &source, &v, &e))
        fail_msg("%s", kb_error_line(&e));
    assert_true(source.kernel_count > 0);
    kb_source_free(&source);
    return v;
}

static void test_documentation(void **state)
{
    (void)state;
    char *document = slurp(KB_SOURCE_DIR "/docs/bench.md"), *json = block(document, "```json\n", 0);
    char *reference = block(document, "```c++\n", 0), *warp = block(document, "```c++\n", 1);
    struct kb_bench *b = support_parse(json);
    struct kb_variant *v = resolve(b, 1, warp);
    struct kb_names names = {0};
    struct kb_dims dims;
    struct kb_error e;
    assert_int_equal(kb_case_names(b, 2, false, v, &names, &e), 0);
    assert_int_equal(*kb_names_get(&names, "WARPS"), 8);
    assert_int_equal(*kb_names_get(&names, "LANES"), 32);
    assert_int_equal(kb_launch_eval(&v->launches[0], &names, &dims, &e), 0);
    assert_int_equal(dims.grid[0], 5);
    assert_int_equal(dims.block[1], 8);
    support_contains(reference, b->reference.program.launches[0].kernel);
    kb_names_free(&names);
    kb_variant_free(v);
    kb_bench_free(b);
    free(document), free(json), free(reference), free(warp);
}

// The files that a command names are there.
static void check_command(const struct kb_bench *b, char *const *command)
{
    int files = 0;
    for (int i = 0; command[i]; i++)
        if (kb_permission_names_file(command[i])) {
            char *path = kb_path_join(b->dir, command[i]);
            if (!kb_is_file(path))
                fail_msg("%s is missing", path);
            free(path);
            files++;
        }
    assert_true(files > 0);
}

static void check_bench(const char *dir)
{
    struct kb_bench *b = NULL;
    struct kb_error e = {0};
    if (kb_bench_load(dir, &b, &e))
        fail_msg("%s", kb_error_line(&e));
    if (b->reference.kind == KB_REFERENCE_COMMAND)
        check_command(b, b->reference.command);
    for (int i = 0; i < b->variant_count; i++) {
        if (b->variants[i].kind == KB_VARIANT_COMMAND) {
            check_command(b, b->variants[i].command);
            continue;
        }
        char *path = kb_path_join(b->dir, b->variants[i].source), *text = slurp(path);
        struct kb_variant *v = resolve(b, i, text);
        for (int c = 0; c < 2 * b->case_count; c++) {
            struct kb_names names = {0};
            struct kb_dims dims;
            if (kb_case_names(b, c / 2, c & 1, v, &names, &e) || kb_launch_eval(&v->launches[0], &names, &dims, &e))
                fail_msg("%s: %s", path, kb_error_line(&e));
            kb_names_free(&names);
        }
        kb_variant_free(v);
        free(text);
        free(path);
    }
    kb_bench_free(b);
}

static void check_benches(const char *root)
{
    DIR *dir = opendir(root);
    int benches = 0;
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *folder = kb_path_join(root, entry->d_name), *file = kb_path_join(folder, "bench.json");
        if (entry->d_name[0] != '.' && kb_is_file(file)) {
            check_bench(folder);
            benches++;
        }
        free(folder);
        free(file);
    }
    closedir(dir);
    assert_true(benches > 0);
}

static void test_kernels(void **state)
{
    (void)state;
    check_benches(KB_SOURCE_DIR "/kernels");
}

static void test_examples(void **state)
{
    (void)state;
    check_benches(KB_SOURCE_DIR "/docs/examples");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documentation),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
