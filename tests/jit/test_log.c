// Compiler logs as they were seen, into messages with places; and ptxas' figures.
#include "jit/log.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const struct kb_log *l, int i, const char *file, int line, int column, const char *severity,
                   const char *text)
{
    assert_true(i < l->count);
    const struct kb_compile_message *m = &l->messages[i];
    assert_string_equal(m->file, file);
    assert_int_equal(m->line, line);
    assert_int_equal(m->column, column);
    assert_string_equal(m->severity, severity);
    assert_string_equal(m->text, text);
}

static void test_nvrtc(void **state)
{
    (void)state;
    struct kb_log l = {0};
    kb_log_parse(
        "k.cu(9): warning #177-D: variable \"unused\" was declared but never referenced\n      int unused;\n"
        "          ^\n\nRemark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n"
        "k.cu(2): error: identifier \"nope\" is undefined\n  \t__global__ void d(int *p) {\tp[0] = nope; }\n"
        "  \t                           \t       ^\n\n"
        "inc.cu(1): catastrophic error: could not open source file \"stdint.h\" (no directories in search list)\n"
        "  #include <stdint.h>\n                     ^\n\n1 catastrophic error detected in the compilation.\n"
        "Compilation terminated.\n",
        &l);
    assert_int_equal(l.count, 3);
    expect(&l, 0, "k.cu", 9, 9, "warning", "variable \"unused\" was declared but never referenced");
    expect(&l, 1, "k.cu", 2, 37, "error", "identifier \"nope\" is undefined");
    expect(&l, 2, "inc.cu", 1, 20, "error", "could not open source file \"stdint.h\" (no directories in search list)");
    kb_log_free(&l);
}

static void test_more_text(void **state)
{
    (void)state;
    struct kb_log l = {0};
    kb_log_parse(
        "u.cu(8): error: no instance of overloaded function \"f\" matches the argument list\n"
        "            argument types are: (const char [2], int)\n  __global__ void amb(float *p){f(\"a\", 3); }\n"
        "                                ^\n"
        "u.cu(7): note #3322-D: number of parameters of function \"f(float)\" does not match the call\n"
        "  __device__ void f(float);\n                  ^\n\n"
        "u.cu(3): error: expression must have class type but it has type \"float\"\n"
        "  return x.y;\n         ^\n          detected during:\n"
        "            instantiation of \"T A<T>::f(T) [with T=float]\" at line 4\n"
        "            instantiation of \"T g(T) [with T=float]\" at line 5\n\n2 errors detected.\n",
        &l);
    assert_int_equal(l.count, 3);
    expect(&l, 0, "u.cu", 8, 31, "error",
           "no instance of overloaded function \"f\" matches the argument list; argument types are: (const char [2], "
           "int)");
    expect(&l, 1, "u.cu", 7, 17, "remark", "number of parameters of function \"f(float)\" does not match the call");
    expect(
        &l, 2, "u.cu", 3, 8, "error",
        "expression must have class type but it has type \"float\"; detected during: instantiation of \"T A<T>::f(T) "
        "[with T=float]\" at line 4; instantiation of \"T g(T) [with T=float]\" at line 5");
    kb_log_free(&l);
}

static void test_odd_names(void **state)
{
    (void)state;
    struct kb_log l = {0};
    kb_log_parse("a (b): c/x(3).cu(12): error: expected a \";\"\n"
                 "orig name (v2).cu(4): warning: #warning directive: \"x(3): error: y\"\n"
                 "no place: error is a word here\n(5): error: a line without a file\n",
                 &l);
    assert_int_equal(l.count, 2);
    expect(&l, 0, "a (b): c/x(3).cu", 12, 0, "error", "expected a \";\"");
    expect(&l, 1, "orig name (v2).cu", 4, 0, "warning", "#warning directive: \"x(3): error: y\"");
    kb_log_free(&l);
}

static void test_tools(void **state)
{
    (void)state;
    struct kb_log l = {0};
    kb_log_parse("nvrtc: error: invalid value for --gpu-architecture (-arch)\n"
                 "ptxas application ptx input, line 46; error   : Unknown modifier '.bar'\n"
                 "ptxas fatal   : Ptx assembly aborted due to errors\n"
                 "ptxas error   : Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 max)\n"
                 "ptxas warning : Stack size for entry function 'k' cannot be statically determined\n"
                 "ptxas info    : Used 12 registers, used 1 barriers\n"
                 "nvcc fatal   : Unsupported gpu architecture 'compute_10'\n"
                 "k.cu: creating precompiled header file \"k.pch\"\n",
                 &l);
    assert_int_equal(l.count, 5);
    expect(&l, 0, "", 0, 0, "error", "invalid value for --gpu-architecture (-arch)");
    expect(&l, 1, "", 0, 0, "error", "ptxas application ptx input, line 46: Unknown modifier '.bar'");
    expect(&l, 2, "", 0, 0, "error", "Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 max)");
    expect(&l, 3, "", 0, 0, "warning", "Stack size for entry function 'k' cannot be statically determined");
    expect(&l, 4, "", 0, 0, "error", "Unsupported gpu architecture 'compute_10'");
    kb_log_free(&l);
    kb_log_parse("ptxas fatal   : Ptx assembly aborted due to errors\n", &l);
    assert_int_equal(l.count, 1); // all that is known
    kb_log_free(&l);
}

static void test_nvcc(void **state)
{
    (void)state;
    struct kb_log l = {.expanded = true};
    kb_log_parse("b.cu:3:10: fatal error: foo.h: No such file or directory\n    3 | #include \"foo.h\"\n      |        "
                 "  ^~~~~~~\n"
                 "compilation terminated.\n"
                 "b.cu(7): error: identifier \"nope\" is undefined\n"
                 "  __attribute__((global)) void k(float *p) { p[0] = nope; }\n"
                 "                                                    ^\n\n",
                 &l);
    assert_int_equal(l.count, 2);
    expect(&l, 0, "b.cu", 3, 10, "error", "foo.h: No such file or directory");
    expect(&l, 1, "b.cu", 7, 38, "error", "identifier \"nope\" is undefined");
    kb_log_free(&l);
}

// Any bytes whatever: cut a real log at each place, and change bytes of it.
static void test_garbage(void **state)
{
    (void)state;
    static const char log[] =
        "u.cu(8): error: no instance\n            argument types are: (int)\n  f(1);\n   ^\n"
        "          detected during:\n            instantiation\n\nptxas x; error : y\nb.cu:3:1: note: z\n"
        "(): error: \n(99999999999999): error: x\n\x1b]52;c;(3): error: e\xff\xfe\n";
    for (size_t i = 0; i < sizeof log; i++) {
        char *cut = kb_strndup(log, i);
        struct kb_log l = {0};
        kb_log_parse(cut, &l);
        assert_true(l.count <= 6);
        kb_log_free(&l);
        free(cut);
    }
    srand(1);
    for (int round = 0; round < 2000; round++) {
        char copy[sizeof log];
        memcpy(copy, log, sizeof log);
        for (int k = 0; k < 8; k++)
            copy[(size_t)rand() % (sizeof log - 1)] = "\n ^():;#a\xff"[rand() % 10];
        struct kb_log l = {.expanded = round & 1};
        kb_log_parse(copy, &l);
        for (int m = 0; m < l.count; m++)
            assert_true(l.messages[m].line >= 0 && l.messages[m].severity[0]);
        kb_log_free(&l);
    }
}

static const char figures[] =
    "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function '_Z1ai' for 'sm_90'\n"
    "ptxas info    : Function properties for _Z1ai\n"
    "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 512 bytes smem, 376 bytes cmem[0]\n"
    "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers\n";

static void test_resources(void **state)
{
    (void)state;
    struct kb_compiled_kernel k[3] = {{.lowered = "b", .spill_store_bytes = -1, .shared_bytes = -1},
                                      {.lowered = "_Z1ai", .spill_store_bytes = -1, .shared_bytes = -1},
                                      {.lowered = "other", .spill_store_bytes = -1, .shared_bytes = -1}};
    kb_log_resources(figures, k, 3, NULL);
    assert_int_equal(k[0].registers, 8);
    assert_int_equal(k[0].shared_bytes, 0);
    assert_int_equal(k[0].spill_store_bytes, 0);
    assert_int_equal(k[1].registers, 255);
    assert_int_equal(k[1].shared_bytes, 512);
    assert_int_equal(k[1].stack_bytes, 16);
    assert_int_equal(k[1].spill_store_bytes, 8);
    assert_int_equal(k[1].spill_load_bytes, 12);
    assert_int_equal(k[2].spill_store_bytes, -1);
    char name[16];
    long bytes;
    assert_true(kb_log_largest_shared(figures, name, sizeof name, &bytes));
    assert_string_equal(name, "_Z1ai");
    assert_int_equal(bytes, 512);
    assert_false(kb_log_largest_shared("", name, sizeof name, &bytes));
}

// What follows a kernel's own figures is about the functions that it calls.
static const char called[] = "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
                             "ptxas info    : Function properties for k\n"
                             "ptxas         .     384 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads\n"
                             "ptxas info    : Used 32 registers, used 0 barriers, 400 bytes cumulative stack size\n"
                             "ptxas info    : Compile time = 122.478 ms\n"
                             "ptxas info    : Function properties for heavy\n"
                             "ptxas         .     0 bytes stack frame, 432 bytes spill stores, 504 bytes spill loads\n"
                             "ptxas info    : Function properties for light\n"
                             "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                             "ptxas info    : Compiling entry function 'plain' for 'sm_90'\n"
                             "ptxas info    : Function properties for plain\n"
                             "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                             "ptxas info    : Used 8 registers, used 0 barriers\n";

static bool k_calls_all(const void *context, const char *kernel, const char *function)
{
    (void)context, (void)function;
    return !strcmp(kernel, "k");
}

static void test_resources_of_called_functions(void **state)
{
    (void)state;
    const struct kb_log_calls calls = {k_calls_all, NULL};
    for (int with_calls = 0; with_calls < 2; with_calls++) {
        struct kb_compiled_kernel k[2] = {{.lowered = "plain", .spill_store_bytes = -1},
                                          {.lowered = "k", .spill_store_bytes = -1}};
        kb_log_resources(called, k, 2, with_calls ? &calls : NULL);
        assert_int_equal(k[0].spill_store_bytes, 0); // nvcc's way to write it
        assert_int_equal(k[0].stack_bytes, 0);
        assert_int_equal(k[1].registers, 32);
        assert_int_equal(k[1].stack_bytes, 400);
        assert_int_equal(k[1].spill_store_bytes, with_calls ? 448 : 16);
        assert_int_equal(k[1].spill_load_bytes, with_calls ? 520 : 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvrtc),     cmocka_unit_test(test_more_text),
        cmocka_unit_test(test_odd_names), cmocka_unit_test(test_tools),
        cmocka_unit_test(test_nvcc),      cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_resources), cmocka_unit_test(test_resources_of_called_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
