// The scan rung: encodings, kernels in headers and macros, names as the compiler lowers them; temporary folders.
#include "jit/scan.h"

#include "base/file.h"
#include "base/memory.h"
#include "jit/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void scan(const char *text, size_t size, const char *header, struct kb_scan *s)
{
    struct kb_compile_file files[2] = {{"k.cu", text, size}, {"h.h", header, header ? strlen(header) : 0}};
    struct kb_compile_request r = {.main = "k.cu", .files = files, .file_count = header ? 2 : 1};
    kb_scan_request(&r, s);
}

static void test_encodings(void **state)
{
    (void)state;
    struct kb_scan s;
    scan("\xff\xfe_\0_\0", 6, NULL, &s);
    assert_false(s.ok);
    assert_non_null(strstr(s.reason, "UTF-16"));
    kb_scan_free(&s);
    scan("a\nb\0c", 5, NULL, &s);
    assert_false(s.ok);
    assert_non_null(strstr(s.reason, "byte 0x00 in line 2"));
    kb_scan_free(&s);
    static const char stops[] = "__global__ void k() {}\n\n// a \xff in a comment\n";
    scan(stops, sizeof stops - 1, NULL, &s);
    assert_false(s.ok);
    assert_non_null(strstr(s.reason, "k.cu: byte 0xFF in line 3"));
    kb_scan_free(&s);
    struct kb_compile_file file = {"k.cu", stops, sizeof stops - 1};
    struct kb_compile_request by_nvcc = {.main = "k.cu", .files = &file, .file_count = 1, .compiler = "nvcc"};
    kb_scan_request(&by_nvcc, &s); // its preprocessor takes comments out
    assert_true(s.ok);
    kb_scan_free(&s);
    static const char latin[] = "\n// caf\xe9\n__global__ void k() {}\n";
    scan(latin, sizeof latin - 1, NULL, &s);
    assert_true(s.ok);
    assert_int_equal(s.note_count, 1);
    assert_string_equal(s.notes[0], "k.cu:2: not valid UTF-8 (byte 0xe9)");
    kb_scan_free(&s);
    static const char marked[] = "\xef\xbb\xbf__global__ void k() {}\n";
    scan(marked, sizeof marked - 1, NULL, &s);
    assert_true(s.ok);
    assert_int_equal(s.kernels[0].line, 1);
    assert_string_equal(s.notes[0], "k.cu: byte order mark stripped");
    kb_scan_free(&s);
}

static void test_where_kernels_are(void **state)
{
    (void)state;
    struct kb_scan s;
    static const char includes[] = "#include \"h.h\"\n", made[] = "#define K(n) __global__ void n() {}\nK(a)\n";
    scan(includes, sizeof includes - 1, "namespace a { template <int N> __global__ void k() {} }\n", &s);
    assert_true(s.ok);
    assert_int_equal(s.kernel_count, 1);
    assert_string_equal(s.kernels[0].name, "a::k");
    assert_string_equal(s.kernels[0].file, "h.h");
    assert_true(s.kernels[0].is_template);
    assert_ptr_equal(kb_scan_find(&s, "a::k<3>"), &s.kernels[0]);
    assert_ptr_equal(kb_scan_find(&s, "::a::k"), &s.kernels[0]);
    assert_null(kb_scan_find(&s, "k"));
    char *list = kb_scan_list(&s);
    assert_string_equal(list, "a::k<...>");
    free(list);
    kb_scan_free(&s);
    scan(includes, sizeof includes - 1, "// nothing\n", &s);
    assert_false(s.ok);
    assert_string_equal(s.reason, "no __global__ function in k.cu (15 bytes)");
    kb_scan_free(&s);
    scan(made, sizeof made - 1, NULL, &s);
    assert_true(s.ok); // the compiler will tell
    kb_scan_free(&s);
}

static void test_readable_names(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"_Z3addPKfPfx", "add"},
        {"_ZN1n1kEPf", "n::k"},
        {"_Z1kIfEvPT_i", "k<...>"},
        {"withstruct", "withstruct"},
        {"_ZL1sPf", "s"},
        {"_ZN1a1b1kILi3EEEvv", "a::b::k<...>"},
        {"_Z", "_Z"},
        {"_Z99short", "_Z99short"},
        {"_ZN", "_ZN"},
        {"_ZN12_GLOBAL__N_11kEv", "(anonymous)::k"},
        {"_Z0k", "_Z0k"},
    };
    for (size_t i = 0; i < KB_COUNT(pairs); i++) {
        char *name = kb_name_readable(pairs[i][0]);
        assert_string_equal(name, pairs[i][1]);
        free(name);
    }
}

static void test_fitting_names(void **state)
{
    (void)state;
    assert_int_equal(kb_name_fits("_Z3addPKfPfx", "add"), 2);
    assert_int_equal(kb_name_fits("_Z3addPKfPfx", "::add"), 2);
    assert_int_equal(kb_name_fits("_Z3addPKfPfx", "ad"), 0);
    assert_int_equal(kb_name_fits("_Z3addPKfPfx", "add<float>"), 0);
    assert_int_equal(kb_name_fits("plain", "plain"), 2);
    assert_int_equal(kb_name_fits("_ZN1n1kIfLi4EEEvPT_", "n::k<float, 4>"), 2);
    assert_int_equal(kb_name_fits("_ZN1n1kIfLi4EEEvPT_", "n::k<float,8>"), 1);
    assert_int_equal(kb_name_fits("_ZN1n1kIfLi4EEEvPT_", "n::k"), 0);
    assert_int_equal(kb_name_fits("_Z1kILin3ELb1EEvv", "k<-3, true>"), 2);
    assert_int_equal(kb_name_fits("_Z1kI6__halfEvPT_", "k<__half>"), 2);
    assert_int_equal(kb_name_fits("_Z1kIfEvPT_", "k<double>"), 1);
    assert_int_equal(kb_name_fits("", "k<"), 0);
    assert_int_equal(kb_name_fits("_Z1kI", "k<f"), 1);
}

static void test_tree(void **state)
{
    (void)state;
    struct kb_compile_file files[] = {{"a/k.cu", "\xef\xbb\xbfint x;\n", 10}, {"h.h", "", 0}};
    struct kb_compile_request r = {.main = "a/k.cu", .files = files, .file_count = 2};
    struct kb_tree t;
    assert_int_equal(kb_tree_open(&t, &r, NULL), 0);
    char *path = kb_path_join(t.dir, "a/k.cu"), *data;
    size_t size;
    assert_int_equal(kb_file_read(path, 1000, &data, &size, NULL), 0);
    assert_string_equal(data, "#line 1 \"a/k.cu\"\nint x;\n");
    struct stat info;
    assert_int_equal(stat(t.dir, &info), 0);
    assert_int_equal(info.st_mode & 077, 0); // private
    char *said = kb_format("%s/a/k.cu(3): error\n%s\n", t.dir, t.dir), *hidden = kb_tree_hide(&t, said);
    assert_string_equal(hidden, "a/k.cu(3): error\n\n");
    free(said), free(hidden), free(data), free(path);
    char *dir = kb_strdup(t.dir);
    kb_tree_close(&t);
    assert_false(kb_is_dir(dir));
    free(dir);
    struct kb_compile_file twice[] = {{"k.cu", "", 0}, {"k.cu", "", 0}};
    r = (struct kb_compile_request){.main = "k.cu", .files = twice, .file_count = 2};
    assert_int_equal(kb_tree_open(&t, &r, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings),      cmocka_unit_test(test_where_kernels_are),
        cmocka_unit_test(test_readable_names), cmocka_unit_test(test_fitting_names),
        cmocka_unit_test(test_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
