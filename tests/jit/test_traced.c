// Traced compiles: what becomes of lines, templates and headers, and that the macros mean nothing otherwise.
#include "base/memory.h"
#include "jit/support_compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct trial t;
static struct kb_trace_names names;

static void run_traced(void)
{
    trial_run(&t); // the same without tracing, for what it fills in
    if (t.status == 0)
        kb_compiled_free(&t.result);
    t.status = kb_compile_traced(&t.request, &t.result, &names, &t.error);
}

static int done(void **state)
{
    (void)state;
    trial_free(&t);
    kb_trace_names_free(&names);
    return 0;
}

static void by_hand_costs_nothing(void **state)
{
    (void)state;
    skip_without_nvrtc();
    trial_file(&t, "k.cu",
               "#include \"kb_section.cuh\"\n__global__ void k(float *x)\n{\n    KB_SECTION(\"a\");\n"
               "    x[threadIdx.x] *= 2;\n    KB_SECTION_END();\n}\n");
    trial_run(&t);
    if (t.status || !t.result.ok)
        fail_msg("%s %s", t.result.reason, t.result.log ? t.result.log : "");
    assert_null(strstr(t.result.ptx, "clock"));
    assert_null(strstr(t.result.ptx, ".shared"));
    assert_int_equal(t.result.include_count, 0); // the worker's own file is none of the user's
    assert_int_equal(t.result.message_count, 0);
}

static void lines_and_names_stay(void **state)
{
    (void)state;
    skip_without_nvrtc();
    trial_file(&t, "k.cu",
               "#include \"part.h\"\nnamespace n {\ntemplate <typename T, int N> __global__ void k(T *x)\n{\n"
               "    //kb: section load\n    T v = x[threadIdx.x];\n    for (int i = 0; i < N; i++) {\n"
               "        //kb: section round\n        v = twice(v);\n    }\n    x[threadIdx.x] = v;\n}\n}\n");
    trial_file(&t, "part.h",
               "template <typename T> __device__ T twice(T v)\n{\n    //kb: section twice\n    return v + v;\n}\n");
    trial_kernel(&t, "n::k<float, 3>");
    run_traced();
    if (t.status || !t.result.ok)
        fail_msg("%s %s %s", t.error.what, t.result.reason, t.result.log ? t.result.log : "");
    assert_int_equal(t.result.message_count, 0); // no warning of ours either
    assert_int_equal(t.result.kernel_count, 1);
    assert_int_equal(t.result.kernels[0].line, 3);
    assert_int_equal(t.result.kernels[0].shared_bytes, 256);
    assert_non_null(strstr(t.result.ptx, "kb_section_setup"));
    assert_non_null(strstr(t.result.ptx, "%globaltimer"));
    assert_int_equal(names.count, 3);
    assert_string_equal(names.items[2].file, "part.h");
}

static void errors_keep_their_place(void **state)
{
    (void)state;
    skip_without_nvrtc();
    trial_file(&t, "k.cu",
               "__global__ void k(float *x)\n{\n    //kb: section a\n    int y = 1;\n    *x = nonsense;\n}\n");
    run_traced();
    assert_int_equal(t.status, 0);
    assert_false(t.result.ok);
    assert_true(trial_has_error(&t, "k.cu", 5, "nonsense"));
}

// Sources written for nvcc: the host's part is blanked, the tracer's own functions are not.
static void beside_host_code(void **state)
{
    (void)state;
    skip_without_nvrtc();
    trial_file(
        &t, "k.cu",
        "#include <cstdio>\n#include <vector>\n__global__ void k(float *x)\n{\n    //kb: section a\n    *x = 1;\n}\n"
        "int main()\n{\n    std::vector<float> v(3);\n    //kb: section host\n    printf(\"%d\\n\", (int)v.size());\n"
        "    k<<<1, 1>>>(v.data());\n    return 0;\n}\n");
    t.request.compiler = "auto";
    run_traced();
    if (t.status || !t.result.ok)
        fail_msg("%s %s %s", t.error.what, t.result.reason, t.result.log ? t.result.log : "");
    assert_int_equal(names.count, 1);
    assert_non_null(strstr(t.result.ptx, "%globaltimer"));
}

static void no_body_is_said(void **state)
{
    (void)state;
    skip_without_nvrtc();
    trial_file(
        &t, "k.cu",
        "#define KERNEL(name) __global__ void name(float *x) { *x = 1; }\nKERNEL(k)\n__global__ void other();\n");
    run_traced();
    assert_int_equal(t.status, -1);
    assert_non_null(strstr(t.error.what, "no kernel's body"));
    t.status = -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(by_hand_costs_nothing, done),   cmocka_unit_test_teardown(lines_and_names_stay, done),
        cmocka_unit_test_teardown(errors_keep_their_place, done), cmocka_unit_test_teardown(beside_host_code, done),
        cmocka_unit_test_teardown(no_body_is_said, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
