// kbench-tui: what the command line asks for, and the exit code.
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench.h"
#include "loop/dump.h"
#include "tui/allow.h"
#include "tui/doctor.h"
#include "tui/export.h"
#include "tui/once.h"
#include "tui/options.h"
#include "tui/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void complain(const struct kb_error *e)
{
    struct kb_text clean = {0};
    const char *line = kb_error_line(e);
    kb_clean(&clean, line, strlen(line), false);
    fprintf(stderr, "kbench-tui: %s\n", clean.data);
    kb_text_free(&clean);
}

// A bench to copy: a folder, or the name of one that comes with the program (kernels/ beside the build folder).
static char *like_folder(const char *like)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *dir = kb_path_dir(self), *raw = kb_format("%s/../kernels/%s", dir, like), *path = kb_path_clean(raw);
    free(dir);
    free(raw);
    if (!kb_is_dir(like) && kb_is_dir(path))
        return path;
    free(path);
    return kb_strdup(like);
}

static int run_new(const struct kb_options *o)
{
    struct kb_error error = {0};
    char *like = o->like ? like_folder(o->like) : NULL;
    int status = kb_bench_new(o->new_name, like, o->op, &error);
    free(like);
    if (status) {
        complain(&error);
        return KB_EXIT_USAGE;
    }
    printf("%s is ready: kbench-tui %s\n", o->new_name, o->new_name);
    return KB_EXIT_PASS;
}

static int run_dump(const struct kb_options *o)
{
    struct kb_error error = {0};
    struct kb_text written = {0};
    int status = kb_dump(o->bench, o->dump_which, o->dump_dir, &written, &error);
    if (written.size)
        fputs(written.data, stdout);
    if (status)
        complain(&error);
    kb_text_free(&written);
    return status ? KB_EXIT_USAGE : KB_EXIT_PASS;
}

static int run_allow(const struct kb_options *o)
{
    struct kb_error error = {0};
    int code = kb_run_allow(o->bench, &error);
    if (code == KB_EXIT_USAGE)
        complain(&error);
    return code;
}

// For the workers, too; the driver keeps compiled code of its own.
static void turn_caches_off(void)
{
    setenv("KBENCH_NO_CACHE", "1", 1);
    setenv("CUDA_CACHE_DISABLE", "1", 1);
}

static int run(const struct kb_options *o)
{
    if (o->no_cache)
        turn_caches_off();
    switch (o->mode) {
    case KB_MODE_HELP:
        return fputs(kb_options_help(), stdout) < 0 ? KB_EXIT_USAGE : KB_EXIT_PASS;
    case KB_MODE_VERSION:
        return printf("kbench-tui %s\n", KB_VERSION) < 0 ? KB_EXIT_USAGE : KB_EXIT_PASS;
    case KB_MODE_NEW:
        return run_new(o);
    case KB_MODE_DOCTOR:
        return kb_run_doctor_report(o);
    case KB_MODE_DUMP:
        return run_dump(o);
    case KB_MODE_ALLOW:
        return run_allow(o);
    case KB_MODE_EXPORT:
        return kb_run_export_case(o);
    case KB_MODE_TRACE:
        return kb_run_trace(o);
    case KB_MODE_REPLAY:
        return o->export_path ? kb_run_export_replay(o) : kb_screen_run(o);
    case KB_MODE_ONCE:
        return kb_run_once(o);
    case KB_MODE_FOLLOW:
        return kb_run_follow(o);
    case KB_MODE_SCREEN:
        return isatty(STDOUT_FILENO) ? kb_screen_run(o) : kb_run_once(o);
    default:
        return kb_screen_run(o);
    }
}

int main(int argc, char **argv)
{
    struct kb_options options;
    struct kb_error error = {0};
    int code = KB_EXIT_USAGE;
    if (kb_options_parse(argc, argv, &options, &error))
        complain(&error);
    else
        code = run(&options);
    kb_options_free(&options);
    return code;
}
