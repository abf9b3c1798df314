// kbench-tui as a process of its own, on files that a test writes.
#ifndef KB_TESTS_LOOP_SUPPORT_PROGRAM_H
#define KB_TESTS_LOOP_SUPPORT_PROGRAM_H
#include "base/spawn.h"

#include <cjson/cJSON.h>

void program_write(const char *dir, const char *name, const char *text);
// What it printed, for kb_capture_free. The test fails where it does not end by itself, or with another exit code.
struct kb_capture program_run(char *const *argv, int patience_ms, int exit_code);
char *program_text(char *const *argv, int patience_ms, int exit_code);      // what it printed for people; owned
cJSON *program_document(char *const *argv, int patience_ms, int exit_code); // as schema_checked gives it
#endif
