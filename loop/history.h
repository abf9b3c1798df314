// The history of a bench: the folder `.kbench/` beside it. Every call may block on a disk: it belongs to the io thread.
//
//   objects/<xxh128>          bytes named by their plain XXH128; written once, never changed
//   versions/<variant>/<n>.json  one build; n rises, failures included. A variant's name is written with %XX for bytes
//                             that a file name should not have
//   sessions/<utc>-<pid>.jsonl   events; a line counts when its '\n' is there
//   errors.txt                file:line:col: severity: text, of the last build
//   failing_seeds.json        inputs that versions failed on, to be tried first (loop/seeds.c)
//   .gitignore                "*"
//
// What another reader, or a process after kill -9, sees under those names is whole: files are written beside them
// (*.tmp), synced, and renamed or linked. Several instances may use one folder.
#ifndef KB_LOOP_HISTORY_H
#define KB_LOOP_HISTORY_H
#include "base/error.h"
#include "base/hash.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct kb_history;

// Bytes that belong to a version, under a name that is unique in it: "source", "header:inc/h.h", "ptx", "cubin",
// "sass", "samples" (JSON, by instruction: the blob of `sections`)
struct kb_history_object {
    const char *name;
    const void *data;
    size_t size;
};

// Opens `.kbench` in bench_dir. to_write: makes it, and removes what killed processes left half done; fails if it
// cannot be written. Else: nothing is made, and a folder that is not there is an empty history.
int kb_history_open(const char *bench_dir, bool to_write, struct kb_history **out, struct kb_error *e);
void kb_history_close(struct kb_history *h);
const char *kb_history_dir(const struct kb_history *h); // of `.kbench`, absolute

// The newest version of this variant whose record has this "key"; 0: none. The folder is read again if it changed.
int kb_history_find(struct kb_history *h, const char *variant, const char *key);
// All its numbers, rising; owned by the caller.
int kb_history_list(struct kb_history *h, const char *variant, int **versions, int *count, struct kb_error *e);

// Writes the objects, then the record under the next free number, and returns that number; -1 on failure. The record
// (an object with a text "key"; not changed) gets "version", "utc" and "objects": [{name, hash, bytes}]. If a version
// with this key is there already, nothing is written, *known (may be NULL) becomes true, and its number is returned.
int kb_history_claim(struct kb_history *h, const char *variant, const cJSON *record,
                     const struct kb_history_object *objects, int object_count, bool *known, struct kb_error *e);
// Replaces the record's "results" (NULL: leaves them) and adds objects (those of a name that is there are replaced).
int kb_history_update(struct kb_history *h, const char *variant, int version, const cJSON *results,
                      const struct kb_history_object *objects, int object_count, struct kb_error *e);
int kb_history_load(struct kb_history *h, const char *variant, int version, cJSON **record, struct kb_error *e);
// The bytes of an object (NUL-terminated behind *size, owned by the caller), their hash checked. A damaged one is an
// error that names the file; it is renamed to <hash>.damaged so that the next build writes it anew.
int kb_history_object(struct kb_history *h, const char *hash, char **data, size_t *size, struct kb_error *e);
// The hash of the object of this name in a loaded record; NULL if it has none. Points into the record.
const char *kb_history_object_hash(const cJSON *record, const char *name);

// Appends a line (without '\n') to this process' session file, which is made at the first line.
int kb_history_session_line(struct kb_history *h, const char *line, struct kb_error *e);

struct kb_history_message {
    const char *file; // absolute
    int line, column; // 1-based; 0 is written as 1
    const char *severity, *text;
};
char *kb_history_errors_text(const struct kb_history_message *messages, int count); // owned; no disk
int kb_history_write_errors(struct kb_history *h, const char *text, struct kb_error *e);
#define KB_HISTORY_SEEDS "failing_seeds.json"
int kb_history_write_seeds(struct kb_history *h, const char *text, struct kb_error *e);

// The commit checked out in the repository that dir lies in, as hexadecimal digits; NULL if there is none or it cannot
// be told. Reads .git itself (worktrees, packed refs); starts no program. Owned by the caller.
char *kb_history_git(const char *dir);

#endif
