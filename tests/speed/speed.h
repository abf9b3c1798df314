// What the programs of this folder share: a run worker in their own process, with a bench prepared.
#ifndef KB_TESTS_SPEED_H
#define KB_TESTS_SPEED_H
#include "jit/compile.h"
#include "worker/run.h"

struct speed {
    struct run_worker worker;
    struct kb_bench *bench;
    struct kb_variant *variant; // resolved
    char *text;                 // its source
    int out;                    // standard output; frames of the worker go nowhere
};
// On failure of any kind: says what and exits.
void speed_open(struct speed *, const char *program, const char *bench, const char *variant);
void speed_close(struct speed *);
_Noreturn void speed_die(const char *what, const struct kb_error *);
// text compiled as this variant's source.
void speed_compile(const struct speed *, const struct kb_variant *, const char *text, struct kb_compiled *out);
// `check` of what was compiled, under this key.
void speed_check(struct speed *, const struct kb_compiled *, const char *key);
// Serves a request; head is freed.
void speed_serve(struct speed *, void (*request)(struct run_worker *, const struct kb_frame *), cJSON *head,
                 const struct kb_text *blob);

#endif
