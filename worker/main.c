// kbench-worker: compiles, runs or looks around in a process of its own. Started by kbench-tui, never by people.
#include "worker/workers.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static const char usage[] = "usage: kbench-worker compile|run|profile|doctor|selftest [--device D] [--like NAME] "
                            "[--check MODE] [--nice] [--stdio]\n"
                            "kbench-tui starts this program; `kbench-tui doctor` shows what it finds on this machine\n";

static int bad_usage(const char *what)
{
    fprintf(stderr, "kbench-worker: %s\n%s", what, usage);
    return KB_EXIT_USAGE;
}

// 0, or -1 with *bad telling which argument is wrong.
static int parse(int argc, char **argv, struct kb_worker_options *o, const char **bad)
{
    for (int i = 2; i < argc; i++) {
        const char **value = !strcmp(argv[i], "--device")  ? &o->device
                             : !strcmp(argv[i], "--like")  ? &o->like
                             : !strcmp(argv[i], "--check") ? &o->check
                                                           : NULL;
        if (!strcmp(argv[i], "--stdio")) {
            o->stdio = true;
        } else if (!strcmp(argv[i], "--nice")) {
            continue; // run_worker's own
        } else if (value && i + 1 < argc) {
            *value = argv[++i];
        } else {
            *bad = argv[i];
            return -1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct kb_worker_options options = {0};
    const char *bad = NULL;
    if (argc < 2)
        return bad_usage("what to work as is missing");
    if (parse(argc, argv, &options, &bad)) {
        char *what = kb_format("unknown or incomplete argument %s", bad);
        return bad_usage(what);
    }
    prctl(PR_SET_PDEATHSIG, options.stdio ? SIGHUP : SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    if (!strcmp(argv[1], "compile"))
        return kb_run_compile_worker(&options);
    if (!strcmp(argv[1], "run"))
        return kb_run_worker(argc, argv);
    if (!strcmp(argv[1], "profile"))
        return kb_run_profile_worker(&options);
    if (!strcmp(argv[1], "doctor"))
        return kb_run_doctor();
    if (!strcmp(argv[1], "selftest"))
        return kb_run_selftest(&options);
    return bad_usage("it works as compile, run, profile, doctor or selftest");
}
