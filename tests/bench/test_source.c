// The scan of a source: kernels in all the ways that people write them.
#include "base/memory.h"
#include "base/text.h"
#include "bench/support_bench.h"

#include <stdlib.h>
#include <string.h>

static struct kb_source scan(const char *text)
{
    struct kb_source s;
    struct kb_error e = {0};
    if (kb_source_scan(text, strlen(text), "k.cu", &s, &e))
        fail_msg("%s", kb_error_line(&e));
    return s;
}

// "scope::name/parameters" of each kernel, one blank between.
static void expect(const char *text, const char *kernels)
{
    struct kb_source s = scan(text);
    struct kb_text got = {0};
    kb_text_add(&got, "");
    for (int i = 0; i < s.kernel_count; i++)
        kb_text_addf(&got, "%s%s%s%s/%d", i ? " " : "", s.kernels[i].scope, s.kernels[i].scope[0] ? "::" : "",
                     s.kernels[i].name, s.kernels[i].param_count);
    if (strcmp(got.data, kernels))
        fail_msg("found \"%s\" and not \"%s\" in:\n%s", got.data, kernels, text);
    kb_text_free(&got);
    kb_source_free(&s);
}

static void test_where_kernels_hide(void **state)
{
    (void)state;
    expect("", "");
    expect("int main() { return 0; }", "");
    expect("__global__ void k(float *x, int n) {}", "k/2");
    expect("__global__ void k() {}", "k/0");
    expect("__global__ void k(void) {}", "k/0");
    expect("void __global__ k(int a) {}", "k/1");
    expect("static __global__ void k(int a) {}", "k/1");
    expect("__global__ static void k(int a) {}", "k/1");
    expect("extern \"C\" __global__ void k(int a) {}", "k/1");
    expect("extern \"C\" {\n__global__ void k(int a) {}\n}\n__global__ void l() {}", "k/1 l/0");
    expect("extern \"C\" __global__ __launch_bounds__(256) void k(int a) {}", "k/1");
    expect("__global__ void __launch_bounds__(256, 2) k(int a, int b) {}", "k/2");
    expect("__global__ __launch_bounds__(MAX(256,2)) void __cluster_dims__(2, 1, 1) k(int a) {}", "k/1");
    expect("__global__ __attribute__((used, noinline)) void k(int a) {}", "k/1");
    expect("[[maybe_unused]] __global__ [[gnu::used(1)]] void k(int a) {}", "k/1");
    expect("__global__ BOUNDS(256) void k(int a) {}", "k/1");
    expect("__global__ void\nk\n(\nint a\n,\nint b\n)\n{\n}\n", "k/2");
    expect("__global__ void k(int);\n__global__ void k(int a) {}", "k/1");
    expect("__global__ void k(int);\n", "k/1");
    expect("__global__ void k(int a) {}\n__global__ void k(float a, int b) {}", "k/1 k/2");
    expect("MACRO(x) __global__ void k() {}", "k/0");
    expect("__global__ auto k(int a) -> void {}", "k/1");
    expect("__global__ void k(int a) noexcept {}", "k/1");
    expect("__global__", "");
    expect("__global__ void", "");
    expect("__global__ void k(", "k/0");
    expect("__global__ void k(int a", "k/0");
    expect("__global__ x;", "");
    expect("auto f = [] __global__ { };", "");
}

static void test_comments_strings_and_macros(void **state)
{
    (void)state;
    expect("// __global__ void a() {}\n/* __global__ void b() {} */ __global__ void c() {}", "c/0");
    expect("// joined \\\n __global__ void a() {}\n__global__ void b() {}", "b/0");
    expect("// joined \\\r\n __global__ void a() {}\r\n__global__ void b() {}\r\n", "b/0");
    expect("const char *s = \"__global__ void a() {}\"; __global__ void b() {}", "b/0");
    expect("const char *s = \"\\\"__global__ void a() {}\"; __global__ void b() {}", "b/0");
    expect("const char *s = R\"x(__global__ void a() {} )\" \" )x\"; __global__ void b() {}", "b/0");
    expect("const char *s = u8R\"(\n__global__ void a() {}\n)\"; __global__ void b() {}", "b/0");
    expect("const char *s = FOR\"(\"; __global__ void b() {}", "b/0");
    expect("char q = '\"'; __global__ void b() {} char r = '\"';", "b/0");
    expect("char q = '\\''; __global__ void b() {}", "b/0");
    expect("int n = 1'000'000; __global__ void b(int a) {}", "b/1");
    expect("char c = L'\"'; __global__ void b(int a) {}", "b/1");
    expect("#error don't\n__global__ void b() {}", "b/0");
    expect("#define K __global__ void a() {}\n__global__ void b() {}", "b/0");
    expect("#define K \\\n __global__ void a() {} \\\n\n__global__ void b() {}", "b/0");
    expect("#if 0\n__global__ void a() {\n#if X\n}\n#endif\n#endif\n__global__ void b() {}", "b/0");
    expect("#if 0\n__global__ void a() {}\n#else\n__global__ void b() {}\n#endif", "b/0");
    expect("#ifdef X\n__global__ void a() {}\n#else\n__global__ void b() {}\n#endif", "a/0 b/0");
    expect("\xef\xbb\xbf__global__ void k(int a) {}\r\n", "k/1");
    expect("/* never closed __global__ void k() {}", "");
    expect("R\"(never closed __global__ void k() {}", "");
    expect("R\"12345678901234567890(x)\" __global__ void k() {}", "k/0");
}

static void test_scopes(void **state)
{
    (void)state;
    expect("namespace a { namespace b { __global__ void k() {} } __global__ void l() {} } __global__ void m() {}",
           "a::b::k/0 a::l/0 m/0");
    expect("namespace a::inline b { __global__ void k() {} }", "a::b::k/0");
    expect("inline namespace v1 { __global__ void k() {} }", "v1::k/0");
    expect("namespace { __global__ void k() {} }", "k/0");
    expect("namespace [[deprecated(\"x\")]] d { __global__ void k() {} }", "d::k/0");
    expect("using namespace std; namespace z = std::y; __global__ void k() {}", "k/0");
    expect("struct S { int x; }; void f() { if (1) { } } __global__ void k() {}", "k/0");
    // A brace that two branches open is closed once.
    expect("namespace a {\nvoid f() {\n#ifdef A\nif (x) {\n#else\nif (y) {\n#endif\n}\n}\n__global__ void k() {}\n}\n"
           "__global__ void l() {}",
           "a::k/0 l/0");
    expect("}}}} __global__ void k() {}", "k/0");
}

static void test_templates(void **state)
{
    (void)state;
    struct kb_source s =
        scan("template <typename T, int VEC = 4, bool = (1 > 0), template <class> class C, class... R>\n"
             "__global__ void k(const T *__restrict__ x, C<T> c, int n) {}\n"
             "template <int N> struct X {};\n"
             "__global__ void plain() {}\n"
             "template __global__ void k<float, 4>(const float *, int);\n"
             "template <> __global__ void k<double, 2>(const double *x, int n) {}\n"
             "template <typename T, typename U = std::map<int, T>> __global__ void l(T t) {}\n");
    assert_int_equal(s.kernel_count, 3);
    const struct kb_source_kernel *k = &s.kernels[0];
    assert_true(k->is_template);
    assert_int_equal(k->template_param_count, 5);
    assert_string_equal(k->template_params[0], "T");
    assert_string_equal(k->template_params[1], "VEC");
    assert_string_equal(k->template_params[2], "");
    assert_string_equal(k->template_params[3], "C");
    assert_string_equal(k->template_params[4], "R");
    assert_int_equal(k->line, 2);
    assert_false(s.kernels[1].is_template);
    assert_string_equal(s.kernels[2].name, "l");
    assert_int_equal(s.kernels[2].template_param_count, 2);
    kb_source_free(&s);
}

static void test_parameters(void **state)
{
    (void)state;
    struct kb_source s =
        scan("__global__ void k(const float *__restrict__ x, float* const y, unsigned long long n,\n"
             "  const Foo, unsigned, ns::T<int, 2> t = {1, 2}, float (&a)[3], int b[4], int c = f(1, 2),\n"
             "  const __grid_constant__ CUtensorMap map, struct P p, __half2 *, /* x */ int last) {}");
    static const char *const wanted[][2] = {
        {"const float *__restrict__", "x"},
        {"float *const", "y"},
        {"unsigned long long", "n"},
        {"const Foo", ""},
        {"unsigned", ""},
        {"ns::T<int, 2>", "t"},
        {"float(&)[3]", "a"},
        {"int[4]", "b"},
        {"int", "c"},
        {"const __grid_constant__ CUtensorMap", "map"},
        {"struct P", "p"},
        {"__half2 *", ""},
        {"int", "last"},
    };
    assert_int_equal(s.kernels[0].param_count, KB_COUNT(wanted));
    for (size_t i = 0; i < KB_COUNT(wanted); i++) {
        assert_string_equal(s.kernels[0].params[i].type, wanted[i][0]);
        assert_string_equal(s.kernels[0].params[i].name, wanted[i][1]);
    }
    kb_source_free(&s);
}

static void test_lines_and_linkage(void **state)
{
    (void)state;
    struct kb_source s = scan("/*\n*/\n__global__ void\na(int x)\n{\n  if (x) {\n  }\n}\n"
                              "static __global__ void b() {}\n"
                              "namespace { __global__ void c() {\n} }\n"
                              "__global__ void d(int);\n"
                              "#define M \\\n  x\n"
                              "#ifdef A\n__global__ void e(int x) {\n#else\n__global__ void e(float x) {\n#endif\n}\n");
    assert_int_equal(s.kernel_count, 6);
    assert_int_equal(s.kernels[0].line, 4);
    assert_int_equal(s.kernels[0].end_line, 8);
    assert_false(s.kernels[0].is_static);
    assert_true(s.kernels[1].is_static);
    assert_int_equal(s.kernels[1].end_line, 9);
    assert_true(s.kernels[2].is_static);
    assert_int_equal(s.kernels[2].end_line, 11);
    assert_int_equal(s.kernels[3].line, 12);
    assert_int_equal(s.kernels[3].end_line, 0);
    assert_int_equal(s.kernels[4].line, 16);
    assert_int_equal(s.kernels[4].end_line, 20);
    assert_int_equal(s.kernels[5].end_line, 20);
    kb_source_free(&s);
}

static void test_blank_keeps_places(void **state)
{
    (void)state;
    static const char text[] = "a/*x\ny*/b//c\r\nd\"e\\\"f\"g'h'i";
    char *blank = kb_source_blank(text, strlen(text));
    assert_string_equal(blank, "a   \n   b    \nd      g   i");
    assert_int_equal(strlen(blank), strlen(text));
    free(blank);
    blank = kb_source_blank("a\0b", 3);
    assert_memory_equal(blank, "a b", 4);
    free(blank);
    free(kb_source_blank(NULL, 0));
}

static void test_directives(void **state)
{
    (void)state;
    struct kb_source s = scan("//kb: block=512,2 grid=ceil_div(rows,2),min(1,2) shared=4*cols\r\n"
                              "// kb: define:VEC=4 define:E= cooperative=true for=tuned\n"
                              "__global__ void a() {\n  //kb: section load x \n  int x;\n}\n"
                              "// kb is a nice thing, //kb: too\n/*\n//kb: nonsense\n*/ const char *s = \"//kb: no\";\n"
                              "//kb: block=64\ntemplate <int N>\n__global__ void b() {}\n//kb: section rest\n");
    static const struct {
        const char *key, *value, *kernel, *variant;
        int line;
    } wanted[] = {
        {"block", "512,2", "a", NULL, 1},   {"grid", "ceil_div(rows,2),min(1,2)", "a", NULL, 1},
        {"shared", "4*cols", "a", NULL, 1}, {"define:VEC", "4", "a", "tuned", 2},
        {"define:E", "", "a", "tuned", 2},  {"cooperative", "true", "a", "tuned", 2},
        {"load x", NULL, "a", NULL, 4},     {"block", "64", "b", NULL, 11},
        {"rest", NULL, NULL, NULL, 14},
    };
    assert_int_equal(s.directive_count, KB_COUNT(wanted));
    for (int i = 0; i < s.directive_count; i++) {
        const struct kb_directive *d = &s.directives[i];
        assert_string_equal(d->key, wanted[i].key);
        assert_string_equal(d->value ? d->value : "(none)", wanted[i].value ? wanted[i].value : "(none)");
        assert_string_equal(d->kernel ? d->kernel : "(none)", wanted[i].kernel ? wanted[i].kernel : "(none)");
        assert_string_equal(d->variant ? d->variant : "(none)", wanted[i].variant ? wanted[i].variant : "(none)");
        assert_int_equal(d->line, wanted[i].line);
        assert_int_equal(d->kind, wanted[i].value ? KB_DIRECTIVE_SET : KB_DIRECTIVE_SECTION);
    }
    kb_source_free(&s);
}

static void test_section_in_a_shared_body(void **state)
{
    (void)state;
    struct kb_source s = scan("#ifdef A\n__global__ void a(int x) {\n#else\n__global__ void b() {\n#endif\n"
                              "//kb: section s\n}\n");
    assert_int_equal(s.directive_count, 1);
    assert_string_equal(s.directives[0].kernel, "a");
    kb_source_free(&s);
}

static void test_directive_errors(void **state)
{
    (void)state;
    static const struct {
        const char *line, *what;
    } cases[] = {
        {"//kb:", "sets nothing"},
        {"//kb: for=x", "sets nothing"},
        {"//kb: blok=1", "unknown key \"blok\"; nearest known key: \"block\""},
        {"//kb: zzzzzzz=1", "unknown key \"zzzzzzz\""},
        {"//kb: block=", "no value behind \"block=\""},
        {"//kb: block= 512", "no value behind \"block=\""},
        {"//kb: grid=rows + 1", "no '=' in \"+\"; values hold no blanks"},
        {"//kb: =5", "no key before \"=5\""},
        {"//kb: block=1,2,3,4", "block has 4 dimensions"},
        {"//kb: block=1,,2", "block: in \"\": the expression ends too early"},
        {"//kb: grid=(1", "grid: in \"(1\": expected ')' at column 3"},
        {"//kb: shared=4*", "shared: in \"4*\""},
        {"//kb: cooperative=yes", "cooperative is \"yes\""},
        {"//kb: define:4X=1", "\"4X\" is no name of a macro"},
        {"//kb: block=1 block=2", "\"block\" is given twice"},
        {"//kb: for=a for=b block=1", "\"for\" is given twice"},
        {"//kb: section", "a section has no name"},
        {"//kb: section   ", "a section has no name"},
        {"//kb: \x1b[31m=1", "unknown key \"\xe2\x90\x9b[31m\""},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        char *text = kb_format("int x;\n\n%s\n__global__ void k() {}\n", cases[i].line);
        struct kb_source s;
        struct kb_error e = {0};
        if (!kb_source_scan(text, strlen(text), "dir/k.cu", &s, &e))
            fail_msg("\"%s\" was accepted", cases[i].line);
        assert_string_equal(e.on, "dir/k.cu:3");
        support_contains(e.what, cases[i].what);
        assert_int_equal(s.kernel_count, 0);
        free(text);
    }
}

static void test_misplaced_directives(void **state)
{
    (void)state;
    struct kb_source s;
    struct kb_error e;
    static const char behind[] = "__global__ void k() {}\n//kb: block=1\n";
    static const char inside[] = "__global__ void k() {\n//kb: block=1\n}\n__global__ void l() {}\n";
    assert_int_equal(kb_source_scan(behind, strlen(behind), "k.cu", &s, &e), -1);
    assert_string_equal(e.on, "k.cu:2");
    support_contains(e.what, "no __global__ function follows");
    assert_int_equal(kb_source_scan(inside, strlen(inside), "k.cu", &s, &e), -1);
    support_contains(e.what, "inside the body of k");
}

// Nothing in here may crash, hang or read out of bounds.
static void test_every_prefix(void **state)
{
    (void)state;
    static const char text[] =
        "\xef\xbb\xbf// c\n#if 0\n#else\n#endif\nnamespace a::b { template <class T = int(*)[3]> __global__ "
        "__launch_bounds__(1) void k<T>(const T (&x)[3], R\"d(x)d\" y = '\\'') { \"\\\\\" } }\n"
        "//kb: section s\n//kb: block=1 for=x\n__global__ void l(int) {}\n";
    for (size_t n = 0; n <= strlen(text); n++) {
        char *copy = malloc(n ? n : 1); // exactly n bytes, so that the sanitizer sees any read behind them
        memcpy(copy, text, n);
        struct kb_source s;
        struct kb_error e;
        if (!kb_source_scan(copy, n, "k.cu", &s, &e))
            kb_source_free(&s);
        free(copy);
    }
}

static void test_deep_nesting(void **state)
{
    (void)state;
    struct kb_text text = {0};
    for (int i = 0; i < 20000; i++)
        kb_text_add(&text, "namespace n { (<[ #if X\n#if Y\n{");
    for (int i = 0; i < 1000; i++)
        kb_text_add(&text, "__global__ void k(template <");
    struct kb_source s;
    struct kb_error e;
    assert_int_equal(kb_source_scan(text.data, text.size, "k.cu", &s, &e), 0);
    kb_source_free(&s);
    kb_text_free(&text);
}

// A section of a helper that is inlined ends like one of a kernel: before the next, or with its block.
static void test_sections_end(void **state)
{
    (void)state;
    static const char text[] = "static __device__ void helper(float *a)\n" // 1
                               "{\n"                                       // 2
                               "    //kb: section load\n"                  // 3
                               "    if (a) { a[0] = '}'; }\n"              // 4
                               "    //kb: section write\n"                 // 5
                               "    for (;;) {\n"                          // 6
                               "        //kb: section inner\n"             // 7
                               "        a[1] = 2; // }\n"                  // 8
                               "    }\n"                                   // 9
                               "}\n"                                       // 10
                               "__global__ void k(float *a) { helper(a); }\n";
    static const int ends[] = {4, 6, 9};
    struct kb_source s = {0};
    struct kb_error e = {0};
    assert_int_equal(kb_source_scan(text, sizeof text - 1, "k.cu", &s, &e), 0);
    assert_int_equal(s.directive_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(s.directives[i].end_line, ends[i]);
    kb_source_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections_end),
        cmocka_unit_test(test_where_kernels_hide),
        cmocka_unit_test(test_comments_strings_and_macros),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_lines_and_linkage),
        cmocka_unit_test(test_blank_keeps_places),
        cmocka_unit_test(test_directives),
        cmocka_unit_test(test_section_in_a_shared_body),
        cmocka_unit_test(test_directive_errors),
        cmocka_unit_test(test_misplaced_directives),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_deep_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
