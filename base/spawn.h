// Child processes: always a fresh exec, in a process group of their own, signals reset, descriptors closed, dying with
// the parent (with the thread that started them, to be exact: start long-lived ones from a thread that stays).
#ifndef KB_BASE_SPAWN_H
#define KB_BASE_SPAWN_H
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

// Starts argv[0] (searched on PATH if it has no slash). fds[i] becomes descriptor i of the child for i < n; -1 gives
// /dev/null. dir may be NULL. Returns the pid, or -1.
pid_t kb_spawn(char *const argv[], const char *dir, const int *fds, int n, struct kb_error *e);

// Runs argv to its end with no input and collects stdout and stderr. After timeout_ms, or limit bytes of either, its
// process group is killed and the result says so.
struct kb_capture {
    struct kb_text out, err;
    int exit_code;  // -1 if killed by a signal
    int signal;     // 0 if it exited
    bool timed_out; // what was read so far is in out
    bool cut;       // limit reached
    bool stopped;   // kb_capture_while: it was asked to end
};
int kb_capture(char *const argv[], const char *dir, int timeout_ms, size_t limit, struct kb_capture *result,
               struct kb_error *e);
// The same, but asks `stop` every few milliseconds, and ends the program where that says true.
int kb_capture_while(char *const argv[], const char *dir, int timeout_ms, size_t limit, bool (*stop)(void *context),
                     void *context, struct kb_capture *result, struct kb_error *e);
void kb_capture_free(struct kb_capture *result);

// Finds an executable on PATH; owned by the caller, NULL if none.
char *kb_which(const char *name);

#endif
