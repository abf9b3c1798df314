#include "tui/options.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "kbench-tui: save a kernel, see it compiled, proven and timed\n"
    "\n"
    "  kbench-tui [BENCH]                    full screen. BENCH: a folder with bench.json, a bench.json, or a source\n"
    "  kbench-tui --once [--json] [BENCH]    all variants once, as a table or one JSON document\n"
    "  kbench-tui --follow [BENCH]           no screen: one JSON event a line\n"
    "  kbench-tui --replay FILE [BENCH]      play a recorded session on the screen\n"
    "  kbench-tui --snapshot 120x36 ...      one frame of the screen as plain text\n"
    "  kbench-tui new NAME [--op OPERATOR | --like BENCH]\n"
    "                                        start a bench: of a known operator (elementwise, softmax, layernorm,\n"
    "                                        rmsnorm, gemm, attention, reduce, scan, transpose, histogram), or a copy\n"
    "  kbench-tui doctor                     what is installed, what is missing, and the remedy\n"
    "  kbench-tui dump BENCH [VARIANT[@N]] DIR   a folder a version, with report.md, out of the history\n"
    "  kbench-tui allow BENCH                show the commands that the bench runs, and allow them\n"
    "  kbench-tui export BENCH VARIANT [FILE.cu]   a case that it fails, as a .cu with main(), for a debugger\n"
    "  kbench-tui trace BENCH VARIANT [--json] [--snapshot WxH]   exact spans of its marked sections\n"
    "\n"
    "  --device auto|cpu|cuda[:N]   where kernels run; auto takes the CPU only if there is no driver or no GPU\n"
    "  --variant NAME               the one to begin with; with --once the only one that is built, but for\n"
    "                               what it is compared with (--baseline, the goal)\n"
    "  --kernel NAME                of a .cu, .cuh or .ptx with several: \"k\", \"k<float, 256>\"\n"
    "  --baseline NAME              the one that the others are compared with\n"
    "  --arch sm_XY                 compile for this architecture\n"
    "  --like NAME                  which GPU the CPU device stands in for (h200, ...)\n"
    "  --check off|bounds|full      what the CPU device watches for\n"
    "  --seed N                     of the inputs; without it, from the clock\n"
    "  --seeds N                    with --once: verify each version with N seeds, and say how many pass\n"
    "  -I DIR, -D NAME=VALUE        further include folders and defines, for all variants\n"
    "  --no-history                 write nothing beside the bench\n"
    "  --no-cache                   believe nothing that was kept: no cached results, no binaries of the history\n"
    "  --no-profile                 stop at the verdict: no races, sections, counters, code\n"
    "  --require-proof              what is \"not proven\" fails: a rung that decides could not be done, a case or\n"
    "                               inputs could not be tried; then the exit code is 1\n"
    "  --export FILE.svg            the roofline as a picture, after all variants ran once, or of --replay's end\n"
    "  --case N|LABEL               of export: which failing case (the first); of trace: which case (the headline)\n"
    "  --color auto|always|never, --ascii, --theme NAME\n"
    "  --help, --version\n"
    "\n"
    "exit: 0 nothing failed, 1 a rung failed, 2 usage, bench file or terminal, 3 no device or worker\n";

const char *kb_options_help(void)
{
    return help;
}

enum option_id {
    ONCE,
    JSON,
    FOLLOW,
    REPLAY,
    SNAPSHOT,
    DEVICE,
    VARIANT,
    KERNEL,
    BASELINE,
    ARCH,
    LIKE,
    OP,
    CHECK,
    SEED,
    INCLUDE,
    DEFINE,
    COLOR,
    ASCII,
    THEME,
    NO_HISTORY,
    NO_CACHE,
    NO_PROFILE,
    REQUIRE_PROOF,
    SEEDS,
    EXPORT,
    CASE,
    WORKER,
    HELP,
    VERSION
};
static const struct option {
    const char *name;
    enum option_id id;
    bool takes_value;
} options[] = {
    {"--once", ONCE, false},
    {"--json", JSON, false},
    {"--follow", FOLLOW, false},
    {"--replay", REPLAY, true},
    {"--snapshot", SNAPSHOT, true},
    {"--device", DEVICE, true},
    {"--variant", VARIANT, true},
    {"--baseline", BASELINE, true},
    {"--arch", ARCH, true},
    {"--like", LIKE, true},
    {"--op", OP, true},
    {"--check", CHECK, true},
    {"--seed", SEED, true},
    {"-I", INCLUDE, true},
    {"-D", DEFINE, true},
    {"--color", COLOR, true},
    {"--ascii", ASCII, false},
    {"--theme", THEME, true},
    {"--no-history", NO_HISTORY, false},
    {"--export", EXPORT, true},
    {"--worker", WORKER, true},
    {"--help", HELP, false},
    {"-h", HELP, false},
    {"--version", VERSION, false},
    {"--no-profile", NO_PROFILE, false},
    {"--case", CASE, true},
    {"--require-proof", REQUIRE_PROOF, false},
    {"--seeds", SEEDS, true},
    {"--no-cache", NO_CACHE, false},
    {"--kernel", KERNEL, true},
};

static int one_of(const char *option, const char *value, const char *const *known, size_t n, struct kb_error *e)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(known[i], value))
            return (int)i;
    struct kb_text list = {0};
    for (size_t i = 0; i < n; i++)
        kb_text_addf(&list, "%s%s", i ? ", " : "it is one of ", known[i]);
    kb_fail(e, option, list.data, "\"%s\" is not known", value);
    kb_text_free(&list);
    return -1;
}

static int parse_device(const char *value, struct kb_error *e)
{
    char *end = NULL;
    if (!strcmp(value, "auto") || !strcmp(value, "cpu") || !strcmp(value, "cuda"))
        return 0;
    if (kb_starts(value, "cuda:GPU-"))
        return 0;
    if (kb_starts(value, "cuda:") && value[5] >= '0' && value[5] <= '9' && strtol(value + 5, &end, 10) >= 0 && !*end)
        return 0;
    return kb_fail(e, "--device", "it is auto, cpu, cuda, cuda:N or cuda:GPU-uuid", "\"%s\" is no device", value);
}

static int parse_seed(const char *value, uint64_t *seed, struct kb_error *e)
{
    char *end = NULL;
    errno = 0;
    unsigned long long n = strtoull(value, &end, 0);
    if (errno || *value < '0' || *value > '9' || *end || !n)
        return kb_fail(e, "--seed", "a whole number from 1 to 2^64 - 1", "\"%s\" is no seed", value);
    *seed = n;
    return 0;
}

static int parse_seeds(const char *value, int *seeds, struct kb_error *e)
{
    char *end = NULL;
    long n = strtol(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || n < 1 || n > 1000)
        return kb_fail(e, "--seeds", "a whole number from 1 to 1000", "\"%s\" is no number of seeds", value);
    *seeds = (int)n;
    return 0;
}

static int parse_size(const char *value, int *columns, int *rows, struct kb_error *e)
{
    char rest;
    if (sscanf(value, "%5dx%5d%c", columns, rows, &rest) != 2 || *columns < 1 || *rows < 1 || *columns > 1000 ||
        *rows > 1000)
        return kb_fail(e, "--snapshot", "columns x rows, as in 120x36", "\"%s\" is no size", value);
    return 0;
}

static int parse_arch(const char *value, struct kb_error *e)
{
    if (kb_starts(value, "sm_") && strlen(value) >= 5 && strlen(value) < 12)
        return 0;
    return kb_fail(e, "--arch", "as in sm_90", "\"%s\" is no architecture", value);
}

static int parse_define(const char *value, struct kb_error *e)
{
    char first = *value;
    if (first == '_' || (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z'))
        return 0;
    return kb_fail(e, "-D", "as in -D VEC=4", "\"%s\" defines no name", value);
}

static int set_mode(struct kb_options *o, enum kb_mode mode, const char *option, struct kb_error *e)
{
    if (o->mode != KB_MODE_SCREEN && o->mode != mode)
        return kb_fail(e, option, "name one way to run", "it does not go with the option before it");
    o->mode = mode;
    return 0;
}

static int parse_color(struct kb_options *o, const char *value, struct kb_error *e)
{
    static const char *const known[] = {"auto", "always", "never"};
    int i = one_of("--color", value, known, KB_COUNT(known), e);
    o->color = i < 0 ? KB_COLOR_AUTO : (enum kb_color)i;
    return i < 0 ? -1 : 0;
}

static int parse_check(struct kb_options *o, const char *value, struct kb_error *e)
{
    static const char *const known[] = {"off", "bounds", "full"};
    o->check = value;
    return one_of("--check", value, known, KB_COUNT(known), e) < 0 ? -1 : 0;
}

static void add_text(const char ***list, int *count, const char *value)
{
    *list = kb_realloc(*list, sizeof **list * (size_t)(*count + 1));
    (*list)[(*count)++] = value;
}

static int apply_mode(struct kb_options *o, enum option_id id, const char *value, struct kb_error *e)
{
    switch (id) {
    case ONCE:
        return set_mode(o, KB_MODE_ONCE, "--once", e);
    case JSON:
        o->json = true;
        return 0;
    case FOLLOW:
        return set_mode(o, KB_MODE_FOLLOW, "--follow", e);
    case REPLAY:
        o->replay = value;
        return o->mode == KB_MODE_SNAPSHOT ? 0 : set_mode(o, KB_MODE_REPLAY, "--replay", e);
    case SNAPSHOT:
        if (o->mode == KB_MODE_REPLAY)
            o->mode = KB_MODE_SCREEN;
        if (parse_size(value, &o->columns, &o->rows, e))
            return -1;
        return o->mode == KB_MODE_TRACE ? 0 : set_mode(o, KB_MODE_SNAPSHOT, "--snapshot", e);
    case HELP:
        o->mode = KB_MODE_HELP;
        return 0;
    default:
        o->mode = KB_MODE_VERSION;
        return 0;
    }
}

static int apply(struct kb_options *o, enum option_id id, const char *value, struct kb_error *e)
{
    switch (id) {
    case DEVICE:
        o->device = value;
        return parse_device(value, e);
    case VARIANT:
        o->variant = value;
        return 0;
    case KERNEL:
        o->kernel = value;
        return 0;
    case BASELINE:
        o->baseline = value;
        return 0;
    case ARCH:
        o->arch = value;
        return parse_arch(value, e);
    case LIKE:
        o->like = value;
        return 0;
    case OP:
        o->op = value;
        return 0;
    case CHECK:
        return parse_check(o, value, e);
    case SEED:
        return parse_seed(value, &o->seed, e);
    case INCLUDE:
        add_text(&o->include_dirs, &o->include_dir_count, value);
        return 0;
    case DEFINE:
        add_text(&o->defines, &o->define_count, value);
        return parse_define(value, e);
    case COLOR:
        return parse_color(o, value, e);
    case ASCII:
        o->ascii = true;
        return 0;
    case THEME:
        o->theme = value;
        return 0;
    case NO_HISTORY:
        o->no_history = true;
        return 0;
    case NO_CACHE:
        o->no_cache = true;
        return 0;
    case NO_PROFILE:
        o->no_profile = true;
        return 0;
    case SEEDS:
        return parse_seeds(value, &o->seeds, e);
    case REQUIRE_PROOF:
        o->require_proof = true;
        return 0;
    case EXPORT:
        o->export_path = value;
        return kb_ends(value, ".svg") ? 0 : kb_fail(e, "--export", "as in roofline.svg", "\"%s\" is no .svg", value);
    case CASE:
        o->case_name = value;
        return 0;
    case WORKER:
        o->worker = value;
        return 0;
    default:
        return apply_mode(o, id, value, e);
    }
}

static int unknown(const char *arg, struct kb_error *e)
{
    const char *names[KB_COUNT(options)];
    for (size_t i = 0; i < KB_COUNT(options); i++)
        names[i] = options[i].name;
    size_t length = strcspn(arg, "=");
    char *name = kb_strndup(arg, length);
    const char *near = kb_nearest(name, names, KB_COUNT(options));
    char *remedy = near ? kb_format("did you mean %s?", near) : kb_strdup("kbench-tui --help lists them");
    kb_fail(e, NULL, remedy, "no option is called %s", name);
    free(remedy);
    free(name);
    return -1;
}

// Finds the option of an argument, and its value where it is glued on ("--seed=3", "-Iinc"). NULL: none is called so.
static const struct option *find(const char *arg, const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < KB_COUNT(options); i++) {
        const struct option *o = &options[i];
        size_t n = strlen(o->name);
        if (!strcmp(arg, o->name))
            return o;
        bool is_long = n > 2;
        if (o->takes_value && !strncmp(arg, o->name, n) && (!is_long || arg[n] == '=')) {
            *value = arg + n + is_long;
            return o;
        }
    }
    return NULL;
}

static int word(struct kb_options *o, const char *arg, int *words, struct kb_error *e)
{
    int place = (*words)++;
    if (place == 0 && !strcmp(arg, "doctor"))
        return set_mode(o, KB_MODE_DOCTOR, "doctor", e);
    if (place == 0 && !strcmp(arg, "new"))
        return set_mode(o, KB_MODE_NEW, "new", e);
    if (place == 0 && !strcmp(arg, "dump"))
        return set_mode(o, KB_MODE_DUMP, "dump", e);
    if (place == 0 && !strcmp(arg, "allow"))
        return set_mode(o, KB_MODE_ALLOW, "allow", e);
    if (place == 0 && !strcmp(arg, "export"))
        return set_mode(o, KB_MODE_EXPORT, "export", e);
    if (place == 0 && !strcmp(arg, "trace")) {
        o->mode = o->mode == KB_MODE_SNAPSHOT ? KB_MODE_SCREEN : o->mode;
        return set_mode(o, KB_MODE_TRACE, "trace", e);
    }
    if (o->mode == KB_MODE_TRACE && o->bench && !o->traced) {
        o->variant = arg;
        o->traced = true;
        return 0;
    }
    if (o->mode == KB_MODE_NEW && !o->new_name) {
        o->new_name = arg;
        return 0;
    }
    if (o->mode == KB_MODE_EXPORT && o->bench && place <= 3) {
        *(place == 2 ? &o->variant : &o->failing_file) = arg;
        return 0;
    }
    if (o->mode == KB_MODE_DUMP && o->bench && !o->dump_which) { // the last word is the folder, see finish()
        o->dump_which = o->dump_dir;
        o->dump_dir = arg;
        return 0;
    }
    if (o->mode == KB_MODE_DOCTOR || o->mode == KB_MODE_NEW || o->bench)
        return kb_fail(e, arg, o->bench ? "one bench at a time" : NULL, "it is one argument too many");
    o->bench = arg;
    return 0;
}

static int finish(struct kb_options *o, struct kb_error *e)
{
    if (o->mode == KB_MODE_NEW && !o->new_name)
        return kb_fail(e, "new", "kbench-tui new NAME", "the name of the new bench is missing");
    if (o->op && (o->mode != KB_MODE_NEW || o->like))
        return kb_fail(e, "--op", "kbench-tui new NAME --op OPERATOR", "it says which operator a new bench is of");
    if (o->mode == KB_MODE_DUMP && !o->dump_dir)
        return kb_fail(e, "dump", "kbench-tui dump BENCH [VARIANT[@N]] DIR", "the folder to write to is missing");
    if (o->mode == KB_MODE_ALLOW && !o->bench)
        return kb_fail(e, "allow", "kbench-tui allow BENCH", "the bench is missing");
    if (o->mode == KB_MODE_EXPORT && !o->variant)
        return kb_fail(e, "export", "kbench-tui export BENCH VARIANT [FILE.cu]", "the variant is missing");
    if (o->mode == KB_MODE_TRACE && !o->variant)
        return kb_fail(e, "trace", "kbench-tui trace BENCH VARIANT", "the bench and the variant to trace are missing");
    if (o->case_name && o->mode != KB_MODE_EXPORT && o->mode != KB_MODE_TRACE)
        return kb_fail(e, "--case", "kbench-tui export or trace BENCH VARIANT --case N",
                       "it goes with export and trace only");
    if ((o->json || o->export_path) && o->mode == KB_MODE_SCREEN)
        o->mode = KB_MODE_ONCE;
    if (o->export_path && o->mode != KB_MODE_ONCE && o->mode != KB_MODE_REPLAY)
        return kb_fail(e, "--export", "it takes all variants once, or --replay FILE", "it does not go with this");
    if (o->seeds && o->mode != KB_MODE_ONCE)
        return kb_fail(e, "--seeds", "kbench-tui --once --seeds N BENCH",
                       "it goes with --once only: otherwise each save meets new inputs anyway");
    if (!o->bench)
        o->bench = ".";
    return 0;
}

int kb_options_parse(int argc, char **argv, struct kb_options *o, struct kb_error *e)
{
    *o = (struct kb_options){.device = "auto"};
    int words = 0;
    bool only_words = false;
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (!only_words && !strcmp(argv[i], "--")) {
            only_words = true;
            continue;
        }
        if (only_words || argv[i][0] != '-' || !argv[i][1]) {
            if (word(o, argv[i], &words, e))
                return -1;
            continue;
        }
        const struct option *option = find(argv[i], &value);
        if (!option)
            return unknown(argv[i], e);
        if (option->takes_value && !value)
            value = i + 1 < argc ? argv[++i] : NULL;
        if (option->takes_value && (!value || !*value))
            return kb_fail(e, option->name, "kbench-tui --help lists what it takes", "its value is missing");
        if (apply(o, option->id, value, e))
            return -1;
    }
    return finish(o, e);
}

void kb_options_free(struct kb_options *o)
{
    free(o->include_dirs);
    free(o->defines);
    *o = (struct kb_options){0};
}
