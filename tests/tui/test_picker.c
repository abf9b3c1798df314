// Which kernel of a source with several: the list, its keys, and the screen behind it.
#include "base/file.h"
#include "base/memory.h"
#include "tui/keys.h"
#include "tui/picker.h"
#include "tui/support_pty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct kb_guess_choice list[] = {
    {.kernel = "softmax_naive", .params = "const float *x, float *y, int n", .file = "/a/k.cu", .line = 3},
    {.kernel = "ns::gemm<float,16>", .params = "const T *A, T *C", .file = "/a/k.cu", .line = 40},
    {.kernel = "ns::gemm<half,32>", .params = "const T *A, T *C", .file = "/a/k.cu", .line = 40, .guessed = true},
};
static const struct kb_guess_choices choices = {list, 3, 2};

static void type(struct kb_picker *p, const char *text)
{
    for (; *text; text++)
        assert_int_equal(kb_picker_key(p, *text), KB_PICKED_NOT_YET);
}

static void test_keys(void **state)
{
    (void)state;
    struct kb_picker p = {.choices = &choices, .path = "/a/k.cu", .page = 10};
    assert_string_equal(kb_picker_kernel(&p), "softmax_naive");
    assert_int_equal(kb_picker_key(&p, KB_KEY_UP), KB_PICKED_NOT_YET);
    assert_string_equal(kb_picker_kernel(&p), "softmax_naive");
    kb_picker_key(&p, KB_KEY_DOWN);
    assert_string_equal(kb_picker_kernel(&p), "ns::gemm<float,16>");
    kb_picker_key(&p, KB_KEY_END);
    kb_picker_key(&p, KB_KEY_DOWN);
    assert_string_equal(kb_picker_kernel(&p), "ns::gemm<half,32>");
    type(&p, "HALF gem");
    assert_string_equal(kb_picker_kernel(&p), "ns::gemm<half,32>");
    kb_picker_key(&p, KB_KEY_ESC); // first the filter goes
    type(&p, "float gemm");
    assert_string_equal(kb_picker_kernel(&p), "ns::gemm<float,16>");
    kb_picker_key(&p, KB_KEY_ESC);
    type(&p, "ns::gemm<int, 8>x");
    kb_picker_key(&p, KB_KEY_BACKSPACE);
    assert_string_equal(kb_picker_kernel(&p), "ns::gemm<int, 8>"); // an instance that nothing names
    assert_int_equal(kb_picker_key(&p, KB_KEY_ENTER), KB_PICKED_ONE);
    kb_picker_key(&p, KB_KEY_ESC);
    assert_int_equal(kb_picker_key(&p, KB_KEY_ESC), KB_PICKED_NONE);
}

static bool row_says(const struct kb_grid *grid, int y, const char *text)
{
    char *row = kb_grid_row(grid, y);
    bool says = strstr(row, text) != NULL;
    free(row);
    return says;
}

static void test_drawing(void **state)
{
    (void)state;
    struct kb_picker p = {.choices = &choices, .path = "/a/k.cu"};
    struct kb_grid grid;
    kb_grid_init(&grid, 100, 6, true);
    kb_picker_draw(&p, &grid); // two rows of the list have room
    assert_true(row_says(&grid, 0, "k.cu holds 2 kernels"));
    assert_true(row_says(&grid, 2, "softmax_naive (const float *x, float *y, int n)"));
    assert_true(row_says(&grid, 2, "k.cu:3"));
    assert_false(row_says(&grid, 3, "guessed"));
    kb_picker_key(&p, KB_KEY_END);
    kb_grid_clear(&grid);
    kb_picker_draw(&p, &grid);
    assert_true(row_says(&grid, 3, "ns::gemm<half,32>"));
    assert_true(row_says(&grid, 3, "guessed"));
    for (int columns = 1; columns < 40; columns += 7)
        for (int rows = 1; rows < 5; rows++) {
            kb_grid_free(&grid);
            kb_grid_init(&grid, columns, rows, false);
            kb_picker_draw(&p, &grid);
        }
    kb_grid_free(&grid);
}

static void test_screen(void **state)
{
    (void)state;
    static const char source[] = "__global__ void first_one(float *x, int n) { if (threadIdx.x < n) x[0] = 1; }\n"
                                 "template <int B> __global__ void other(float *x, int n)\n"
                                 "{ int i = blockIdx.x * B + threadIdx.x; if (i < n) x[i] = 1; }\n"
                                 "void f(float *x) { other<64><<<4, 64>>>(x, 256); }\n";
    char dir[256];
    snprintf(dir, sizeof dir, "%s/test-picker-XXXXXX", KB_BUILD_DIR);
    assert_non_null(mkdtemp(dir));
    char *path = kb_path_join(dir, "k.cu");
    assert_int_equal(kb_file_replace(path, source, strlen(source), NULL), 0);
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", path, "--device", "cpu", NULL};
    struct pty *pty = pty_start(argv, 120, 40, NULL);
    assert_true(pty_wait(pty, "k.cu holds 2 kernels"));
    pty_send(pty, "oth");
    assert_true(pty_wait_gone(pty, "first_one"));
    pty_send(pty, "\r");
    assert_true(pty_wait(pty, "GUESSED launch 64x1x1"));
    pty_end(pty);
    pty = pty_start(argv, 120, 40, NULL);
    assert_true(pty_wait(pty, "k.cu holds 2 kernels"));
    pty_send(pty, "\033");
    int status;
    assert_true(pty_wait_exit(pty, &status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(pty_sane(pty));
    pty_end(pty);
    kb_remove_tree(dir);
    free(path);
}

// s: the guess becomes a bench with a reference to complete, in which the editor opens.
static void test_keep(void **state)
{
    (void)state;
    static const char source[] = "__global__ void twice(const float *x, float *y, int n)\n"
                                 "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }\n";
    static const char *const env[] = {"VISUAL=", "EDITOR=sh -c 'echo EDITING \"$@\"; read line' sh", NULL};
    char dir[256];
    snprintf(dir, sizeof dir, "%s/test-keep-XXXXXX", KB_BUILD_DIR);
    assert_non_null(mkdtemp(dir));
    char *path = kb_path_join(dir, "twice.cu"), *bench = kb_path_join(dir, "bench.json");
    assert_int_equal(kb_file_replace(path, source, strlen(source), NULL), 0);
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", path, "--device", "cpu", NULL};
    struct pty *pty = pty_start(argv, 120, 40, env);
    assert_true(pty_wait(pty, "GUESSED launch 256x1x1, n = 4096: s keeps it, edit to change"));
    assert_false(kb_is_file(bench));
    pty_send(pty, "s");
    assert_true(pty_wait(pty, "EDITING"));
    assert_true(pty_wait(pty, "twice_reference.cu"));
    assert_true(kb_is_file(bench));
    pty_send(pty, "\n");
    assert_true(pty_wait(pty, "kept as bench.json; write what is right in twice_reference.cu"));
    assert_true(pty_wait_gone(pty, "GUESSED"));
    pty_send(pty, "s");
    assert_true(pty_wait(pty, "nothing is guessed here"));
    pty_end(pty);
    kb_remove_tree(dir);
    free(path);
    free(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys), cmocka_unit_test(test_drawing),
                                       cmocka_unit_test(test_screen), cmocka_unit_test(test_keep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
