// Reads compiler logs: NVRTC's (EDG form "file(line): error: text" with a caret line), ptxas', nvcc's and gcc's.
#ifndef KB_JIT_LOG_H
#define KB_JIT_LOG_H
#include "jit/compile.h"

struct kb_log {
    struct kb_compile_message *messages;
    int count, capacity;
    bool expanded; // set by the caller: the shown lines are nvcc's, with __attribute__((global)) for __global__ and so
                   // on
};
// Columns are bytes from 1, taken from the caret line; 0 where there is none.
void kb_log_parse(const char *log, struct kb_log *out);
void kb_log_add(struct kb_log *l, const char *file, int line, int column, const char *severity, const char *text);
bool kb_log_has_error(const struct kb_log *l);
void kb_log_free(struct kb_log *l);

// Which functions a kernel calls: the log does not say it. Both names as lowered.
struct kb_log_calls {
    bool (*calls)(const void *context, const char *kernel, const char *function);
    const void *context;
};
// Registers, spills, stack and shared memory that `--ptxas-options=-v` put in the log, into the kernels of these
// lowered names; spills with those of functions that the kernel calls (calls: NULL leaves them out). What the log does
// not say stays as it is.
void kb_log_resources(const char *log, struct kb_compiled_kernel *kernels, int count, const struct kb_log_calls *calls);
// The kernel that uses the most static shared memory by the log; false if the log names none. name is cut to size.
bool kb_log_largest_shared(const char *log, char *name, size_t size, long *bytes);

#endif
