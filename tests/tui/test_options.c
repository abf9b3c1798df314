// The command line.
#include "base/error.h"
#include "base/memory.h"
#include "tui/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct kb_options o;
static struct kb_error error;

static int parse(const char *line)
{
    static char copy[512];
    char *argv[32] = {"kbench-tui"}, *rest = NULL;
    int argc = 1;
    strcpy(copy, line);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    kb_options_free(&o);
    error = (struct kb_error){0};
    return kb_options_parse(argc, argv, &o, &error);
}

static void modes(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum kb_mode mode;
        const char *bench;
    } tries[] = {
        {"", KB_MODE_SCREEN, "."},
        {"kernels/softmax", KB_MODE_SCREEN, "kernels/softmax"},
        {"--once x.cu", KB_MODE_ONCE, "x.cu"},
        {"--json", KB_MODE_ONCE, "."},
        {"--follow b", KB_MODE_FOLLOW, "b"},
        {"--replay f.jsonl b", KB_MODE_REPLAY, "b"},
        {"--snapshot 120x36 b", KB_MODE_SNAPSHOT, "b"},
        {"--replay f --snapshot 80x24", KB_MODE_SNAPSHOT, "."},
        {"--snapshot 80x24 --replay f", KB_MODE_SNAPSHOT, "."},
        {"doctor", KB_MODE_DOCTOR, "."},
        {"dump b out", KB_MODE_DUMP, "b"},
        {"export b v", KB_MODE_EXPORT, "b"},
        {"allow b", KB_MODE_ALLOW, "b"},
        {"--export r.svg b", KB_MODE_ONCE, "b"},
        {"--replay f --export r.svg", KB_MODE_REPLAY, "."},
        {"--help", KB_MODE_HELP, "."},
        {"-h", KB_MODE_HELP, "."},
        {"--version", KB_MODE_VERSION, "."},
        {"-- --once", KB_MODE_SCREEN, "--once"},
    };
    for (size_t i = 0; i < KB_COUNT(tries); i++) {
        assert_int_equal(parse(tries[i].line), 0);
        assert_int_equal(o.mode, tries[i].mode);
        assert_string_equal(o.bench, tries[i].bench);
    }
}

static void values(void **state)
{
    (void)state;
    assert_int_equal(
        parse("--device cuda:1 --variant tuned --baseline=naive --arch sm_90a --like h200 --seed 0x10 "
              "-I inc -Iother -D VEC=4 -DX --color never --ascii --theme light --check full --no-history b"),
        0);
    assert_string_equal(o.device, "cuda:1");
    assert_string_equal(o.variant, "tuned");
    assert_string_equal(o.baseline, "naive");
    assert_string_equal(o.arch, "sm_90a");
    assert_int_equal(o.seed, 16);
    assert_int_equal(o.include_dir_count, 2);
    assert_string_equal(o.include_dirs[1], "other");
    assert_int_equal(o.define_count, 2);
    assert_string_equal(o.defines[0], "VEC=4");
    assert_int_equal(o.color, KB_COLOR_NEVER);
    assert_true(o.ascii && o.no_history);
    assert_string_equal(o.theme, "light");
    assert_string_equal(o.bench, "b");
    assert_int_equal(parse("--once --seeds 8 --require-proof b"), 0);
    assert_int_equal(o.seeds, 8);
    assert_true(o.require_proof);
    assert_int_equal(parse("new mine --like softmax"), 0);
    assert_string_equal(o.new_name, "mine");
    assert_string_equal(o.like, "softmax");
    assert_int_equal(parse("dump b tuned@3 out"), 0);
    assert_string_equal(o.dump_which, "tuned@3");
    assert_string_equal(o.dump_dir, "out");
    assert_int_equal(parse("export b v --case 64x64 f.cu"), 0);
    assert_string_equal(o.variant, "v");
    assert_string_equal(o.case_name, "64x64");
    assert_string_equal(o.failing_file, "f.cu");
    assert_int_equal(parse("trace b v --case 2 --snapshot 80x24"), 0);
    assert_int_equal(o.mode, KB_MODE_TRACE);
    assert_string_equal(o.variant, "v");
    assert_int_equal(o.columns, 80);
    assert_int_equal(parse("--snapshot 80x24 trace b v"), 0);
    assert_int_equal(o.mode, KB_MODE_TRACE);
    assert_int_equal(parse("dump b out"), 0);
    assert_null(o.dump_which);
    assert_string_equal(o.dump_dir, "out");
    assert_int_equal(parse("--export=r.svg"), 0);
    assert_string_equal(o.export_path, "r.svg");
    assert_int_equal(parse("--snapshot 120x36"), 0);
    assert_int_equal(o.columns, 120);
    assert_int_equal(o.rows, 36);
}

static void mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *line, *words;
    } tries[] = {
        {"--onec", "did you mean --once?"},
        {"--devise=cpu", "did you mean --device?"},
        {"--xyzzy", "no option is called --xyzzy"},
        {"--device tpu", "\"tpu\" is no device"},
        {"--device cuda:x", "is no device"},
        {"--seed", "its value is missing"},
        {"--seed -1", "is no seed"},
        {"--seed 99999999999999999999", "is no seed"},
        {"--seed 3x", "is no seed"},
        {"--once --seeds 0", "is no number of seeds"},
        {"--once --seeds 8x", "is no number of seeds"},
        {"--seeds 8 b", "it goes with --once only"},
        {"--follow --seeds 8 b", "it goes with --once only"},
        {"--snapshot 120", "is no size"},
        {"--snapshot 0x5", "is no size"},
        {"--snapshot 5x5000", "is no size"},
        {"--arch 90", "is no architecture"},
        {"--color blue", "auto, always, never"},
        {"--check all", "off, bounds, full"},
        {"-D 3=4", "defines no name"},
        {"--once --follow", "does not go with"},
        {"a b", "one argument too many"},
        {"doctor b", "one argument too many"},
        {"new", "name of the new bench is missing"},
        {"new a b", "one argument too many"},
        {"dump b", "folder to write to is missing"},
        {"allow", "the bench is missing"},
        {"allow b c", "one argument too many"},
        {"export b", "the variant is missing"},
        {"trace b", "the variant to trace are missing"},
        {"trace b v more", "one argument too many"},
        {"trace b v --follow", "does not go with"},
        {"export b v f.cu more", "one argument too many"},
        {"--case 3 b", "it goes with export and trace only"},
        {"dump b v out more", "one argument too many"},
        {"--export r.png", "is no .svg"},
        {"--follow --export r.svg", "does not go with this"},
    };
    for (size_t i = 0; i < KB_COUNT(tries); i++) {
        assert_int_equal(parse(tries[i].line), -1);
        if (!strstr(kb_error_line(&error), tries[i].words))
            fail_msg("%s: %s", tries[i].line, kb_error_line(&error));
    }
}

static void help_names_every_option(void **state)
{
    (void)state;
    static const char *const options[] = {"--once",    "--json",     "--follow", "--replay", "--snapshot", "--device",
                                          "--variant", "--baseline", "--arch",   "--like",   "--check",    "--seed",
                                          "-I",        "-D",         "--color",  "--ascii",  "--theme",    "doctor"};
    for (size_t i = 0; i < KB_COUNT(options); i++)
        assert_non_null(strstr(kb_options_help(), options[i]));
}

static int free_options(void **state)
{
    (void)state;
    kb_options_free(&o);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes),
        cmocka_unit_test(values),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(help_names_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, free_options);
}
