// What the parts of the fake worker share.
#ifndef KB_TESTS_FAKE_WORKER_H
#define KB_TESTS_FAKE_WORKER_H
#include "base/json.h"
#include "bench/frame.h"

extern const char *role; // compile, run, profile, races

// fake_worker.c
void send_frame(cJSON *head, const void *blob, size_t size);
void note(const char *type, const char *name);
void done(int64_t job, const char *status, const char *reason, bool poisoned);
// The value of `//fake: key=value` in a text; "ok" if there is none. Owned by the caller.
char *directive(const char *text, const char *key);
// Does what the word asks for before an answer; returns the status to answer with, or NULL if it was cancelled.
const char *obey(const char *word, int64_t job);

// fake_worker_run.c: requests of the run worker and of the profile worker
void run(const struct kb_frame *f);
void profile(const struct kb_frame *f);

#endif
