// Everything that touches a disk, away from the loop: two threads behind message queues. One watches and reads, so that
// a save is seen while the other waits for an fsync; one writes the history. No call here but kb_io_stop ever blocks,
// and a disk that hangs is seen as kb_io_busy_ms.
//
// Each request returns a token (> 0); its one answer carries it. Requests of one kind are answered in order. Pointers
// that a request "takes" are freed by io; all others are copied.
#ifndef KB_LOOP_IO_H
#define KB_LOOP_IO_H
#include "loop/history.h"
#include "watch/watch.h"

#include <stdint.h>

struct kb_io;
struct kb_io_options {
    const char *bench_dir; // `.kbench` lies in it; NULL: no history
    struct kb_watch_options watch;
};
int kb_io_start(const struct kb_io_options *options, struct kb_io **out, struct kb_error *e);
// Ends both threads once what was asked is written, but waits no longer than this. False: a disk hangs; the threads
// are left behind and whatever they hold is lost with the process.
bool kb_io_stop(struct kb_io *io, int timeout_ms);

enum kb_io_kind {
    KB_IO_WATCH,   // token 0. event: its source is what kb_io_watch returned
    KB_IO_FOUND,   // kb_io_find, kb_io_load: version (0: none, or an object of it is damaged: error), json: the record,
                   // blobs
    KB_IO_CLAIMED, // kb_io_claim: version, git, known
    KB_IO_UPDATED, // kb_io_update: version
    KB_IO_LISTED,  // kb_io_list: json, an array of all records of a variant (without objects' bytes), oldest first
    KB_IO_READ,    // kb_io_read: data, size
    KB_IO_WRITTEN, // kb_io_errors, kb_io_seeds; kb_io_session_line only answers where it failed
    KB_IO_CREATED, // kb_io_create: data, the path that was written
    KB_IO_ALLOWED, // kb_io_allow
    KB_IO_ASKED,   // kb_io_ask: known (it is allowed), json
};
struct kb_io_blob {
    char *name, *data;
    size_t size;
};
struct kb_io_message {
    enum kb_io_kind kind;
    int64_t token;
    bool failed;   // error says why
    bool repeated; // the same error was told before: once is enough for people
    struct kb_error error;
    struct kb_watch_event event;
    int version;
    bool known; // a version with this key was there already; nothing new was written
    char *git;  // commit at the time of the claim, or NULL
    cJSON *json;
    struct kb_io_blob *blobs; // those of the asked objects that the version has
    int blob_count;
    char *data;
    size_t size;
};
int kb_io_fd(const struct kb_io *io);                         // readable while there are messages
bool kb_io_next(struct kb_io *io, struct kb_io_message *out); // false: none now; the fd is quiet then
void kb_io_message_free(struct kb_io_message *message);       // whatever was not taken out of it (set to NULL)

// How long the oldest operation has been going on, or the oldest request been waiting; 0: nothing is. where (may be
// NULL) gets the file or folder that is worked on.
int kb_io_busy_ms(const struct kb_io *io, char *where, size_t size);

// Sources. Returns the number that its events carry; numbers are not used again. To replace one: unwatch, watch.
int kb_io_watch(struct kb_io *io, const char *path, const struct kb_reach *reach, bool plain);
void kb_io_unwatch(struct kb_io *io, int source); // events that were on their way are still delivered

int64_t kb_io_read(struct kb_io *io, const char *path, size_t limit); // regular files only

// The history; names as in loop/history.h. Without one, each is answered with failed. objects: names of the objects
// whose bytes are wanted.
int64_t kb_io_find(struct kb_io *io, const char *variant, const char *key, const char *const *objects, int count);
int64_t kb_io_load(struct kb_io *io, const char *variant, int version, const char *const *objects, int count);
int64_t kb_io_list(struct kb_io *io, const char *variant);
int64_t kb_io_claim(struct kb_io *io, const char *variant, cJSON *record /* taken */,
                    const struct kb_history_object *objects, int count);
int64_t kb_io_update(struct kb_io *io, const char *variant, int version, cJSON *results /* taken; may be NULL */,
                     const struct kb_history_object *objects, int count);
void kb_io_session_line(struct kb_io *io, const char *line);
int64_t kb_io_errors(struct kb_io *io, const char *text); // of kb_history_errors_text
int64_t kb_io_seeds(struct kb_io *io, const char *text);  // the file KB_HISTORY_SEEDS

// A new file; its folder is made if need be. One of that name is never overwritten: with the same text it will do,
// with another text this fails, or, if numbered, the next free of NAME-2.cu, NAME-3.cu is taken.
int64_t kb_io_create(struct kb_io *io, const char *path, const char *text, bool numbered);

// Remembers that this command may run (bench/permission.h), if it still is what was looked at: the content's hash.
int64_t kb_io_allow(struct kb_io *io, const char *dir, char *const *command, const char *hash);

// Whether this command is allowed as it is now, and what it is (kb_permission_describe), with
// `reads` and `names`: the hash of what its run reads, and which files that are.
int64_t kb_io_ask(struct kb_io *io, const char *dir, char *const *command);

// For tests of a stuck disk: while the file that the environment variable KB_TEST_IO_STALL names exists, the writing
// thread waits before each request. Read at kb_io_start.

#endif
