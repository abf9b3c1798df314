// Headers that a source reaches by options, by macros and by the environment's folders.
#include "base/memory.h"
#include "support_watch.h"
#include "watch/macro.h"

#include <stdlib.h>
#include <string.h>

static struct kb_snapshot take(const char *dir, const struct kb_reach *reach)
{
    char *path = in_dir(dir, "bench/k.cu");
    struct kb_snapshot s;
    struct kb_error e = {0};
    if (kb_snapshot_take(path, reach, &s, &e))
        fail_msg("%s", kb_error_line(&e));
    free(path);
    return s;
}

static const struct kb_snapshot_file *beside(const struct kb_snapshot *s, const char *dir, const char *name)
{
    char *path = in_dir(dir, name);
    const struct kb_snapshot_file *file = snapshot_file(s, path);
    free(path);
    assert_true(!file || file->beside);
    return file;
}

// A folder `out` beside the bench, with a header that is reached in some way and one that it includes.
static char *layout(const char *source)
{
    char *dir = scratch_dir();
    put(dir, "bench/k.cu", source);
    put(dir, "out/x.h", "#include \"sub/y.h\"\n");
    put(dir, "out/sub/y.h", "#define ONE 1\n");
    return dir;
}

static void by_option(const char *source, const char *option, const char *second)
{
    char *dir = layout(source), *out = in_dir(dir, "out");
    char *first = kb_format(option, out), *other = second ? kb_format(second, out) : NULL;
    const char *options[] = {first, other};
    struct kb_reach reach = {.options = options, .option_count = second ? 2 : 1};
    struct kb_snapshot s = take(dir, &reach);
    if (!beside(&s, dir, "out/x.h") || !beside(&s, dir, "out/sub/y.h"))
        fail_msg("%s %s reaches nothing", option, second ? second : "");
    assert_string_equal(s.main, "k.cu"); // what lies elsewhere does not move the root
    assert_int_equal(s.include_dir_count, 0);
    char *before = kb_strdup(s.hash.hex);
    kb_snapshot_free(&s);
    put(dir, "out/sub/y.h", "#define ONE 2\n");
    s = take(dir, &reach);
    assert_string_not_equal(s.hash.hex, before);
    kb_snapshot_free(&s);
    free(before);
    free(other);
    free(first);
    free(out);
    scratch_remove(dir);
}

static void folders_and_headers_of_options(void **state)
{
    (void)state;
    static const char angled[] = "#include <x.h>\n", quoted[] = "#include \"x.h\"\n";
    by_option(angled, "-I%s", NULL);
    by_option(quoted, "-I%s", NULL);
    by_option(angled, "-I", "%s");
    by_option(angled, "-I=%s", NULL);
    by_option(angled, "--include-path=%s", NULL);
    by_option(angled, "--include-path", "%s");
    by_option(angled, "-isystem=%s", NULL);
    by_option(angled, "-isystem", "%s");
    by_option(angled, "-I/nowhere,%s", NULL);
    by_option(angled, "-Xcompiler=-I%s,-O2", NULL);
    by_option("", "-include=%s/x.h", NULL);
    by_option("", "--pre-include=%s/x.h", NULL);
    by_option("", "-include", "%s/x.h");
    by_option("", "-I%s", "-include=x.h");
    by_option("#include HH\n", "-DHH=<%s/x.h>", NULL);
    by_option("#include HH\n", "-I%s", "-DHH=\"x.h\"");
    by_option("#include HH\n", "-I%s", "--define-macro=HH=<x.h>");
}

static void files_of_options(void **state)
{
    (void)state;
    char *dir = layout("#include <x.h>\n"), *out = in_dir(dir, "out"), *flags = in_dir(dir, "flags");
    char *words = kb_format("-O3\n'-I%s'", out), *first = kb_format("@%s", flags);
    put(dir, "flags", words);
    const char *options[] = {first, "--options-file", flags};
    for (int i = 0; i < 2; i++) {
        struct kb_reach reach = {.options = options + i, .option_count = 1 + i};
        struct kb_snapshot s = take(dir, &reach);
        assert_non_null(beside(&s, dir, "out/x.h"));
        assert_non_null(beside(&s, dir, "flags"));
        kb_snapshot_free(&s);
    }
    free(first);
    free(words);
    free(flags);
    free(out);
    scratch_remove(dir);
}

// Which one a compiler takes depends on the options' order: both count. What lies in the request's folders goes there.
static void all_folders_count(void **state)
{
    (void)state;
    char *dir = layout("#include <x.h>\n"), *out = in_dir(dir, "out"), *own = in_dir(dir, "bench/inc");
    put(dir, "bench/inc/x.h", "#include \"z.h\"\n");
    put(dir, "bench/inc/z.h", "");
    char *option = kb_format("-I%s", out);
    const char *options[] = {option}, *dirs[] = {own};
    struct kb_reach reach = {.include_dirs = dirs, .include_dir_count = 1, .options = options, .option_count = 1};
    struct kb_snapshot s = take(dir, &reach);
    assert_non_null(beside(&s, dir, "out/x.h"));
    assert_false(snapshot_file(&s, "inc/x.h")->beside);
    assert_false(snapshot_file(&s, "inc/z.h")->beside);
    kb_snapshot_free(&s);
    put(dir, "out/x.h", "#include <z.h>\n"); // and what one of them includes from there, too
    put(dir, "bench/inc/x.h", "");
    s = take(dir, &reach);
    assert_false(snapshot_file(&s, "inc/z.h")->beside);
    kb_snapshot_free(&s);
    free(option);
    free(own);
    free(out);
    scratch_remove(dir);
}

static void macros_of_the_variant(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "#include HH\n",
        "//kb: block=32 define:HH=\"x.h\"\n#include HH\n",
        "#define S(a) #a\n#define X(a) S(a)\n#define NAME x.h\n#include X(NAME)\n",
        "#define CAT(a, b) <a##b>\n#include CAT(x, .h)\n",
        "#define FILE_OF(dir, ...) <__VA_ARGS__>\n#include FILE_OF(0, x.h)\n",
        "#if A\n#define HEADER \"none.h\"\n#else\n#define HEADER \"x.h\"\n#endif\n#include HEADER\n",
    };
    for (size_t i = 0; i < KB_COUNT(sources); i++) {
        char *dir = layout(sources[i]), *out = in_dir(dir, "out");
        const char *dirs[] = {out}, *defines[] = {"HH=\"x.h\""};
        struct kb_reach reach = {.include_dirs = dirs, .include_dir_count = 1};
        reach.defines = defines;
        reach.define_count = i == 0;
        struct kb_snapshot s = take(dir, &reach);
        if (!snapshot_file(&s, "out/x.h") || s.opaque)
            fail_msg("%s reaches nothing", sources[i]);
        kb_snapshot_free(&s);
        free(out);
        scratch_remove(dir);
    }
}

static void what_cannot_be_made_out_is_said(void **state)
{
    (void)state;
    static const char *const sources[] = {"#include UNKNOWN\n", "#define A B\n#include A\n",
                                          "#define F(x) #x\n#include F\n"};
    for (size_t i = 0; i < KB_COUNT(sources); i++) {
        char *dir = layout(sources[i]);
        struct kb_snapshot s = take(dir, NULL);
        assert_non_null(s.opaque);
        assert_non_null(strstr(s.opaque, "k.cu: #include "));
        kb_snapshot_free(&s);
        scratch_remove(dir);
    }
    char *dir = layout("#if __has_include(UNKNOWN)\n#endif\n#include __FILE__\n");
    struct kb_snapshot s = take(dir, NULL);
    assert_null(s.opaque);
    kb_snapshot_free(&s);
    scratch_remove(dir);
}

static int count_name(void *context, const struct kb_include *include)
{
    (void)include;
    ++*(int *)context;
    return 0;
}

// Macros that grow or run in circles end; the sanitizers watch the rest.
static void circles_end(void **state)
{
    (void)state;
    static const char *const operands[] = {"A", "F(A)", "F(F(F(A)))", "F(", "F(A,A,A)", "<A>", "\"", "A F(B) C", "F()"};
    struct kb_include_list list = {0};
    static const char text[] =
        "#define A A B\n#define B A \"x\n#define F(x) F(x x) #x ## x\n#define F(...) __VA_ARGS__ A\n";
    kb_include_scan(text, sizeof text - 1, &list);
    for (size_t i = 0; i < KB_COUNT(operands); i++) {
        int names = 0, status = -1;
        kb_macro_headers(&list, operands[i], count_name, &names, &status);
        assert_int_equal(status, 0);
    }
    kb_include_list_free(&list);
}

// A header that only an option reaches is watched as the others are.
static void a_save_of_such_a_header_is_seen(void **state)
{
    (void)state;
    char *dir = layout("#include <x.h>\n"), *out = in_dir(dir, "out"), *path = in_dir(dir, "bench/k.cu");
    char *option = kb_format("-I%s", out);
    const char *options[] = {option};
    struct kb_reach reach = {.options = options, .option_count = 1};
    struct kb_watch *w = kb_watch_new(NULL);
    struct seen_log log = {0};
    int source = kb_watch_add(w, path, &reach, false);
    run_until(w, &log, KB_WATCH_CHANGED, source);
    put(dir, "out/sub/y.h", "#define ONE 3\n");
    run_until(w, &log, KB_WATCH_CHANGED, source);
    const struct seen *last = seen_last(&log, KB_WATCH_CHANGED, source);
    assert_string_equal(beside(&last->snapshot, dir, "out/sub/y.h")->data, "#define ONE 3\n");
    seen_clear(&log);
    kb_watch_free(w);
    free(option);
    free(path);
    free(out);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_and_headers_of_options),
        cmocka_unit_test(files_of_options),
        cmocka_unit_test(all_folders_count),
        cmocka_unit_test(macros_of_the_variant),
        cmocka_unit_test(what_cannot_be_made_out_is_said),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(a_save_of_such_a_header_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
