// What a traced compile makes of a source: lines stay, calls stand where the markers stood.
#include "base/memory.h"
#include "base/text.h"
#include "bench/instrument.h"
#include "bench/kb_section.cuh"
#include "bench/support_bench.h"

#include <stdlib.h>
#include <string.h>

struct result {
    struct kb_instrumented out;
    struct kb_trace_names names;
    struct kb_error error;
    int status;
};

static struct result instrument(const char *text)
{
    struct result r = {0};
    r.status = kb_instrument(text, strlen(text), "k.cu", &r.out, &r.names, &r.error);
    return r;
}

static void done(struct result *r)
{
    free(r->out.text);
    kb_trace_names_free(&r->names);
}

// The calls in this text as "line:call line:call", with K for the kernel's object, B for a block's, A for a marker's;
// behind B and A the place in hex.
static char *calls_of(const char *text)
{
    struct kb_text out = {0};
    int line = 1;
    for (const char *p = text; *p; p++) {
        line += *p == '\n';
        if (kb_starts(p, "::kb_section_kernel "))
            kb_text_addf(&out, "%s%d:K", out.size ? " " : "", line);
        if (kb_starts(p, "::kb_section_block "))
            kb_text_addf(&out, "%s%d:B%lx", out.size ? " " : "", line, strtoul(strchr(p, '(') + 1, NULL, 16));
        if (kb_starts(p, "::kb_section_at("))
            kb_text_addf(&out, "%s%d:A%lx", out.size ? " " : "", line, strtoul(strchr(p, '(') + 1, NULL, 16));
    }
    return kb_text_take(&out);
}

static int lines_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void expect(const char *text, const char *calls)
{
    struct result r = instrument(text);
    if (r.status)
        fail_msg("%s", kb_error_line(&r.error));
    char *got = calls_of(r.out.text);
    if (strcmp(got, calls))
        fail_msg("found \"%s\" and not \"%s\" in:\n%s", got, calls, r.out.text);
    assert_int_equal(lines_of(r.out.text), lines_of(text));
    assert_int_equal(strlen(r.out.text), r.out.size);
    free(got);
    done(&r);
}

static void expect_error(const char *text, const char *on, const char *what)
{
    struct result r = instrument(text);
    if (!r.status)
        fail_msg("taken: %s", text);
    assert_string_equal(r.error.on, on);
    if (!strstr(r.error.what, what) || !r.error.remedy[0])
        fail_msg("%s", kb_error_line(&r.error));
    done(&r);
}

static void test_kernels_without_markers(void **state)
{
    (void)state;
    expect("__global__ void k(int *x) { *x = 1; }\n", "1:K");
    expect("__global__ void k(int *x)\n{\n    if (*x) return;\n    *x = 1;\n    return;\n}\n", "2:K");
    expect("template <int N> __global__ void k(int *x)\n{\n}\ntemplate <> __global__ void k<3>(int *x) {}\n",
           "2:K 4:K");
    expect("namespace a { __global__ void k() {} }\n__global__ void k();\n__global__ void l() {}\n", "1:K 3:K");
    expect("#if A\n__global__ void k(int a) {\n#else\n__global__ void k(float a) {\n#endif\n}\n", "2:K 4:K");
    expect("int host() { return 1; }\n", "");
}

static void test_markers(void **state)
{
    (void)state;
    expect("__global__ void k() {\n//kb: section a\nint x;\n    // kb: section b\n}\n", "1:K 2:A0 4:A0");
    expect("__global__ void k() {\n int x = 0; //kb: section a\n}\n", "1:K 2:A0");
    // a block's own markers: an object once, then calls
    expect(
        "__global__ void k() {\nfor (;;) {\n//kb: section a\nif (x) continue;\n//kb: section b\n}\n//kb: section c\n}",
        "1:K 3:B100000 3:A100000 5:A100000 7:A0");
    // a lambda's body is a block
    expect("__global__ void k() {\nauto f = [&](int i) {\n//kb: section a\nreturn i; };\nf(1);\n}",
           "1:K 3:B100000 3:A100000");
    // functions for the device have numbers; those of the host stay as they are
    expect("__device__ int f() {\n//kb: section a\nreturn 1; }\nint g() {\n//kb: section b\nreturn 1; }\n"
           "static __device__ void h() {\nif (1) {\n//kb: section c\n}\n}\n__global__ void k() { f(); }\n",
           "2:B1000000 2:A1000000 9:B2100000 9:A2100000 12:K");
    // neither strings nor comments nor what is excluded
    expect("__global__ void k() {\nconst char *s = \"//kb: section a\";\n/*\n//kb: section b\n*/\n"
           "const char *r = R\"(\n//kb: section c\n)\";\n}",
           "1:K");
    expect("__global__ void k() {\nswitch (x) {\ncase 1: {\n//kb: section a\nbreak; }\ncase 2: break;\n}\n}",
           "1:K 4:B200000 4:A200000");
    // braces in strings and macros do not count
    expect("#define OPEN {\n__global__ void k() {\nprintf(\"{{{\");\n//kb: section a\n}\n", "2:K 4:A0");
    expect("__global__ void k() {\n#pragma unroll\nfor (;;) {}\n//kb: section a\n}\n", "1:K 4:A0");
    expect("__global__ void k() {\n//kb: section a\n#pragma unroll\nfor (;;) {}\n}\n", "1:K 2:A0");
    expect("__global__ void k() {\r\n//kb: section a\r\nint x;\r\n}\r\n", "1:K 2:A0");
}

static void test_names(void **state)
{
    (void)state;
    struct result r = instrument("__device__ int f() { KB_SECTION(\"by hand\"); KB_SECTION_END(); return 1; }\n"
                                 "// KB_SECTION(\"comment\")\n__global__ void k() {\n//kb: section load tile\nint x;\n"
                                 "//kb: section store\nint y;\n//kb: section load tile\n}\n");
    assert_int_equal(r.status, 0);
    assert_int_equal(r.out.kernels, 1);
    assert_int_equal(r.names.count, 3);
    assert_string_equal(r.names.items[0].name, "load tile");
    assert_int_equal(r.names.items[0].line, 4);
    assert_string_equal(r.names.items[0].file, "k.cu");
    assert_string_equal(r.names.items[1].name, "store");
    assert_string_equal(r.names.items[2].name, "by hand");
    assert_int_equal(r.names.items[2].line, 1);
    assert_int_equal(r.names.items[0].id, kb_section_id("load tile"));
    assert_int_not_equal(r.names.items[0].id, r.names.items[1].id);
    done(&r);
}

static void test_refused(void **state)
{
    (void)state;
    expect_error("__global__ void k() {\nfor (int i = 0; i < 3; i++) //kb: section a\n x();\n}", "k.cu:2", "statement");
    expect_error("__global__ void k() {\nx = y +\n//kb: section a\n z;\n}", "k.cu:3", "statement");
    expect_error("__global__ void k() {\nif (x) y();\nelse\n//kb: section a\n z();\n}", "k.cu:4", "statement");
    expect_error("__global__ void k() {\n#pragma unroll 4\n\n//kb: section a\nfor (;;) {}\n}", "k.cu:4", "#pragma");
    expect_error("__global__ void k() {\nswitch (x) {\ncase 1:\n//kb: section a\nbreak;\ncase 2: break;\n}\n}",
                 "k.cu:4", "case");
    expect_error("__global__ void k() {\n//kb: blok=3\n}", "k.cu:2", "inside the body");
}

static void test_places(void **state)
{
    (void)state;
    struct kb_section_setup s = {.first = 4, .middle = 2, .last = 3};
    unsigned seen = 0;
    for (unsigned block = 0; block < 20; block++) {
        unsigned place = kb_section_place(&s, block, 20);
        if (place == KB_SECTION_NOWHERE)
            continue;
        assert_int_equal(place, seen);
        seen++;
    }
    assert_int_equal(seen, 9);
    assert_int_equal(kb_section_place(&s, 8, 9), 8);
    assert_int_equal(kb_section_place(&s, 19, 20), 8);
    assert_int_equal(kb_section_place(&s, 4, 20), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_without_markers),
        cmocka_unit_test(test_markers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
