// kbench-worker processes driven over pipes, frame by frame.
#ifndef KB_TESTS_WORKER_SUPPORT_WORKERS_H
#define KB_TESTS_WORKER_SUPPORT_WORKERS_H
#include "base/text.h"
#include "bench/frame.h"

#include <stdbool.h>
#include <sys/types.h>

struct driven {
    pid_t pid;
    int in, out; // its requests, its events
    struct kb_frame_reader *reader;
    int64_t job; // of the last request
};
struct driven_answer { // the frames of one job, the last one is `done`, or none if the worker ended
    struct kb_frame frames[128];
    int count;
    bool ended;
};
// args: what comes behind the program's name, NULL-terminated.
void driven_start(struct driven *, const char *const *args);
int driven_stop(struct driven *); // closes its input and waits; its exit status, 128 + n for a signal
// A frame of this type with these fields (JSON text with ' for "; NULL: none); takes blob's content as it is.
int64_t driven_send(struct driven *, const char *type, cJSON *fields, const void *blob, size_t size);
bool driven_next(struct driven *, struct kb_frame *); // false at the end of its output
void driven_answer(struct driven *, int64_t job, struct driven_answer *);
void driven_answer_free(struct driven_answer *);
// The last frame of a type, or NULL.
const struct kb_frame *driven_find(const struct driven_answer *, const char *type);
cJSON *driven_json(const char *text); // ' means "
const char *driven_program(void);

#endif
