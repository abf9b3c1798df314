// A session on a small bench in a folder of its own, with the scripted worker (tests/fake/fake_worker.c).
#ifndef KB_TESTS_LOOP_SUPPORT_SESSION_H
#define KB_TESTS_LOOP_SUPPORT_SESSION_H
#include "loop/model.h"
#include "loop/session.h"

#include <stdbool.h>

struct bed { // test bed
    char dir[256];
    char *log; // requests that the workers saw, one a line (KB_FAKE_LOG)
    struct kb_session *session;
    struct kb_model model;
    cJSON *events; // array, all of them
    struct kb_session_options options;
};

// A folder with bench.json, reference.cu, a.cu and b.cu (variants a and b, both fine and timed). Environment variables
// of the fake worker are cleared. No session yet: change files and options first.
struct bed *bed_new(void);
void bed_start(struct bed *);
void bed_free(struct bed *);
void bed_stop(struct bed *); // ends the session only

// Writes NAME by rename, as editors do. bed_kernel: a kernel with //fake: lines in front.
void bed_write(struct bed *, const char *name, const char *text);
void bed_kernel(struct bed *, const char *name, const char *kernel, const char *fake, int salt);
char *bed_read(struct bed *, const char *name); // owned; NULL if it is not there
char *bed_path(struct bed *, const char *name); // owned

typedef bool bed_condition(struct bed *, const void *what);
// Steps until the condition holds; fails the test after 60 s, telling the last events.
void bed_until(struct bed *, bed_condition *, const void *what);
void bed_until_event(struct bed *, const char *pattern); // "type key=value ...": seen since the last bed_mark
void bed_until_ended(struct bed *);
void bed_mark(struct bed *);
void bed_idle(struct bed *, int ms); // steps for so long: only to show that something does not happen

// Events since the mark that match "type key=value key=value"; values as JSON texts or numbers.
int bed_count(struct bed *, const char *pattern);
const cJSON *bed_find(struct bed *, const char *pattern);                    // the last such; NULL
int bed_log_count(struct bed *, const char *line);                           // lines of the worker's log that begin so
const char *bed_status(struct bed *, const char *variant, const char *rung); // of the current version
const char *bed_reason(struct bed *, const char *variant, const char *rung); // "" if none

#endif
