// What `kbench-tui new NAME --op OPERATOR` writes: each operator's first kernel is right, and said to be so without a
// warning of races; its reference is not what a careless kernel would compute.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/operators.h"
#include "support_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 1800000 }; // of a hang
static char root[256];

static char *new_bench(const char *op, int exit_code)
{
    char *dir = kb_format("%s/my-%s", root, op);
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", "new", dir, "--op", (char *)op, NULL};
    struct kb_capture c = program_run(argv, PATIENCE_MS, exit_code);
    kb_capture_free(&c);
    return dir;
}

static void the_first_kernels_are_right(void **state)
{
    (void)state;
    const struct kb_operator *o;
    for (int i = 0; (o = kb_operator_at(i)); i++) {
        char *dir = new_bench(o->name, 0);
        char *argv[] = {KB_BUILD_DIR "/kbench-tui", "--once", "--json", "--device", "cpu", dir, NULL};
        cJSON *document = program_document(argv, PATIENCE_MS, 0);
        const cJSON *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0);
        assert_string_equal(kb_json_text(kb_json_get(document, "bench"), "name", ""), dir + strlen(root) + 1);
        assert_string_equal(kb_json_text(variant, "status", ""), "pass");
        assert_int_equal(cJSON_GetArraySize(kb_json_get(variant, "findings")), 0);
        cJSON_Delete(document);
        free(dir);
    }
}

// The same kernel with one thing wrong, for some.
static void wrong_ones_fail(void **state)
{
    (void)state;
    static const struct {
        const char *op, *right, *wrong;
    } edits[] = {
        {"softmax", "int c = 1; c < cols", "int c = 1; c < cols - 1"},
        {"gemm", "i < k; i++", "i < k - k % 2; i++"},
        {"scan", "t < threadIdx.x", "t + 1 < threadIdx.x"},
        {"histogram", "atomicAdd(&counts[x[i]], 1)", "counts[x[i]]++"},
    };
    for (size_t i = 0; i < KB_COUNT(edits); i++) {
        char *dir = kb_format("%s/my-%s", root, edits[i].op), *path = kb_path_join(dir, "naive.cu"), *text = NULL;
        size_t size;
        assert_int_equal(kb_file_read(path, 1 << 20, &text, &size, NULL), 0);
        char *at = strstr(text, edits[i].right);
        assert_non_null(at);
        char *changed = kb_format("%.*s%s%s", (int)(at - text), text, edits[i].wrong, at + strlen(edits[i].right));
        program_write(dir, "naive.cu", changed);
        char *argv[] = {KB_BUILD_DIR "/kbench-tui", "--once", "--device", "cpu", dir, NULL};
        struct kb_capture c = program_run(argv, PATIENCE_MS, 1);
        kb_capture_free(&c);
        free(changed);
        free(text);
        free(path);
        free(dir);
    }
}

static void an_unknown_one_is_named(void **state)
{
    (void)state;
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", "new", root, "--op", "sofmax", NULL};
    struct kb_capture c = program_run(argv, PATIENCE_MS, 2);
    assert_non_null(strstr(c.err.data, "sofmax"));
    assert_non_null(strstr(c.err.data, "layernorm"));
    kb_capture_free(&c);
}

int main(void)
{
    snprintf(root, sizeof root, "%s/operators-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(root))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_kernels_are_right),
        cmocka_unit_test(wrong_ones_fail),
        cmocka_unit_test(an_unknown_one_is_named),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kb_remove_tree(root);
    return failed;
}
