// Which kind of work an instruction is, for counts that people compare: "LDG.128 +12, FFMA -64, BAR -1".
#ifndef KB_JIT_SASS_CLASSES_H
#define KB_JIT_SASS_CLASSES_H
#include "jit/sass_parse.h"

#include <cjson/cJSON.h>

enum { KB_SASS_CLASSES_MOST = 512 }; // ids are below
struct kb_sass_class_name {
    char s[16];
};
int kb_sass_class(const char *opcode); // with its modifiers; "other" for what the table does not know
struct kb_sass_class_name kb_sass_class_name(int id);
// Instructions of one kernel by class; counts[KB_SASS_CLASSES_MOST] is added to.
void kb_sass_count(const struct kb_sass_kernel *, int *counts);
// {"LDG.128": 12, ...}, in the order of the table; only what occurs.
cJSON *kb_sass_by_class(const int *counts);
// [{name, instructions, by_class{}, live_registers_peak}]: the `kernels` of a `sass` frame, as many as fit into most
// bytes of JSON; the others are counted. Owned by the caller.
cJSON *kb_sass_summary(const struct kb_sass_listing *, size_t most, int *left_out);

#endif
