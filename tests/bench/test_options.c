// Which compiler options a bench may give without asking, and what they name.
#include "base/memory.h"
#include "base/text.h"
#include "bench/options.h"
#include "support_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The words of a line, divided at blanks.
static const char *const *words_of(const char *line, int *count)
{
    static char copy[1000], *words[64];
    snprintf(copy, sizeof copy, "%s", line);
    *count = 0;
    for (char *rest = NULL, *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[(*count)++] = word;
    return (const char *const *)words;
}

static void check(const char *line, const char *asking)
{
    int count;
    const char *const *words = words_of(line, &count);
    const char *why = NULL, *got = kb_options_asking(words, count, &why);
    if (!got != !asking || (got && asking && strcmp(got, asking)))
        fail_msg("%s: %s asks, not %s", line, got ? got : "nothing", asking ? asking : "nothing");
    assert_true(!got == !why);
}

static void harmless(void **state)
{
    (void)state;
    check("", NULL);
    check("-std=c++17 --std=c++20 -std c++14 -O3 -O 2 --use_fast_math -use_fast_math -ftz=true --fmad=false", NULL);
    check("-maxrregcount=64 --maxrregcount 32 -lineinfo -rdc=true -restrict -default-device -minimal", NULL);
    check("-I/x -I /x -I=/x --include-path=/x -isystem /x -include a.h --pre-include=a.h -DA -D B=1 -DB=2 -UA", NULL);
    check("--expt-relaxed-constexpr --extended-lambda -diag-suppress=177 -w -v --resource-usage", NULL);
    check("-Xptxas=-v -Xptxas -v,-O3 --ptxas-options=-dlcm=ca -Xptxas -dlcm=cg,--warn-on-spills -Xptxas -O,3", NULL);
    check("-gencode arch=compute_90,code=sm_90 --split-compile 2 -t 4 --ftemplate-depth 900", NULL);
}

static void what_asks(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "-ccbin=./x",
        "-ccbin ./x",
        "--compiler-bindir=/x",
        "--compiler-bindir /x",
        "-Xcompiler -fplugin=x.so",
        "-Xcompiler=-B/x",
        "--compiler-options=-wrapper,x",
        "-time=/x",
        "-time /x",
        "--time=x",
        "--fdevice-time-trace=x",
        "-odir /x",
        "-o /x",
        "-o=/x",
        "--output-file=/x",
        "--keep",
        "-keep",
        "--keep-dir=/x",
        "-dlto",
        "@flags",
        "--options-file flags",
        "-optf=flags",
        "-run",
        "--run",
        "-run-args x",
        "-MD",
        "-MF x",
        "-M",
        "-x c",
        "-E",
        "-lfoo",
        "-L/x",
        "-ldir /x",
        "-Xlinker x",
        "-Xnvlink=x",
        "-forward-unknown-opts",
        "-c",
        "-dc",
        "other.cu",
        "--target-directory=x",
        "-arbin x",
        "-nonsense",
        "--nonsense=1",
        "-",
        "--",
        "--O3",
        "-save-temps",
        "-Xptxas=-o,x",
        "-Xptxas -o",
        "-Xptxas=--output-file=x",
        "-Xptxas --options-file=x",
        "-Xptxas=-v,--nonsense",
        "-Xptxas=",
        "-Xptxas",
        "-Xptxas=-dlcm=/x",
        "--use_fast_math=x",
        "-qpp-config x",
    };
    for (size_t i = 0; i < KB_COUNT(lines); i++) {
        char *first = kb_strndup(lines[i], strcspn(lines[i], " "));
        check(lines[i], first);
        free(first);
    }
    check(" -time=x", "-time=x");
    check("-O3 -I/x -ccbin=x", "-ccbin=x");
    check("-ftz -ccbin=x", "-ccbin=x"); // a value that is none does not hide what stands there
    check("-I @flags", "@flags");
    static const char *const blank[] = {" -time=x"};
    assert_non_null(kb_options_asking(blank, 1, NULL));
}

static char *joined(char *const *words)
{
    struct kb_text out = {0};
    for (int i = 0; words && words[i]; i++)
        kb_text_addf(&out, "%s%s", i ? "|" : "", words[i]);
    return kb_text_take(&out);
}

static void what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *line, *command;
    } rows[] = {
        {"-O3 -I/x", ""},
        {"-O3 -ccbin=./host.py -lineinfo", "compile-with|-ccbin|./host.py"},
        {"-ccbin ./host.py", "compile-with|-ccbin|./host.py"},
        {"@flags --options-file a/b", "compile-with|@|./flags|--options-file|a/b"},
        {"-keep -lfoo", "compile-with|-keep|-l|foo"},
        {"other.cu", "compile-with|other.cu"},
    };
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        int count;
        const char *const *words = words_of(rows[i].line, &count);
        char **command = kb_options_command(words, count), *got = joined(command);
        assert_string_equal(got, rows[i].command);
        free(got);
        kb_free_list(command);
    }
}

static void check_placed(const char *line, const char *wanted)
{
    int count, placed_count = 0;
    const char *const *words = words_of(line, &count);
    char **placed = NULL;
    kb_options_place(words, count, "/b", &placed, &placed_count);
    char *got = joined(placed);
    assert_string_equal(got, wanted);
    free(got);
    kb_free_list(placed);
}

static void relative_folders(void **state)
{
    (void)state;
    check_placed("-Iinc -I /abs -I sub -O3", "-I/b/inc|-I|/abs|-I|/b/sub|-O3");
    check_placed("--include-path=a,/c -isystem=d", "--include-path=/b/a,/c|-isystem=/b/d");
    check_placed("-DX=inc @flags -I", "-DX=inc|@/b/flags|-I");
}

static void check_split(const char *text, const char *wanted)
{
    char **words = NULL;
    int count = 0;
    kb_options_split(text, &words, &count);
    char *got = joined(words);
    assert_string_equal(got, wanted);
    free(got);
    kb_free_list(words);
}

static void words_of_a_text(void **state)
{
    (void)state;
    check_split("", "");
    check_split("  -O3\n\t-I/x ", "-O3|-I/x");
    check_split("-I'/a b' \"-DX=1 2\" a\\ b \\", "-I/a b|-DX=1 2|a b|\\");
    check_split("''", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmless),         cmocka_unit_test(what_asks),       cmocka_unit_test(what_is_allowed),
        cmocka_unit_test(relative_folders), cmocka_unit_test(words_of_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
