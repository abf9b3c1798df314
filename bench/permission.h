// What a bench may run. A command of a bench.json is only run after somebody has seen and allowed it, and what was
// allowed is exactly this content: the bench's folder, the words of the command, and the bytes of the files that it
// names and of every script (.py, .pyc, .so, .sh) beside and below bench.json. What these import from elsewhere is not
// looked at.
//
// A permission is a file in $XDG_STATE_HOME/kbench/allowed that holds all of that content, so that nothing else passes
// for it. All calls block on disks.
#ifndef KB_BENCH_PERMISSION_H
#define KB_BENCH_PERMISSION_H
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum { KB_PERMISSION_FILES = 256, KB_PERMISSION_FILE_BYTES = 8 << 20 };

struct kb_permission_file {
    char *name;      // in the bench's folder
    size_t at, size; // of its bytes in content
};
struct kb_permission {
    bool given;
    struct kb_text content;
    struct kb_hash hash; // of content
    // Of what decides the results: the words, those files, and the files in the bench (or anywhere, by their whole
    // path) whose names stand in one of them. Not the bench's folder, so that it is the same elsewhere.
    struct kb_hash reads;
    char **data; // names of the latter, as paths or in the bench's folder
    int data_count;
    struct kb_permission_file *files;
    int file_count;
};
// command: NULL-terminated. Fails where a file cannot be read, or is too large to be looked at.
int kb_permission_read(const char *dir, char *const *command, struct kb_permission *, struct kb_error *);
// What is asked for, for people and for the answer: fields line, dir, command, files, file_count, hash
// (docs/protocol.md).
void kb_permission_describe(const struct kb_permission *, const char *dir, char *const *command, cJSON *out);
int kb_permission_give(const struct kb_permission *, struct kb_error *);
void kb_permission_free(struct kb_permission *);

// Whether a word of a command may name a file of the bench: relative, with a dot or a slash, and no option.
bool kb_permission_names_file(const char *word);
// The command as a line of a shell; owned.
char *kb_command_line(char *const *command);

#endif
