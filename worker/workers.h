// The entry points of kbench-worker: one function a role. Each runs to the end of its input and returns an exit status.
#ifndef KB_WORKER_WORKERS_H
#define KB_WORKER_WORKERS_H
#include <stdbool.h>

struct kb_worker_options {
    bool stdio;         // frames on descriptors 0 and 1 (for ssh) instead of 0 and 3
    const char *device; // "auto", ...; NULL: not given
    const char *like, *check;
};
enum { KB_EXIT_OK = 0, KB_EXIT_USAGE = 2, KB_EXIT_NO_WORKER = 3 };

int kb_run_compile_worker(const struct kb_worker_options *o);
// The run worker reads its own options from the whole command line of the program.
int kb_run_worker(int argc, char **argv);
int kb_run_profile_worker(const struct kb_worker_options *o);
// The kernels of verify/element.cu on a device against C loops, bit for bit, as a table. 1 if anything differs.
int kb_run_selftest(const struct kb_worker_options *o);
// One line of JSON on stdout: what was found where, and the remedy for what was not. Needs no GPU.
int kb_run_doctor(void);

#endif
