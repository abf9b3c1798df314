// The inside of the io threads, shared by their files. Nobody else includes this.
#ifndef KB_LOOP_IO_PARTS_H
#define KB_LOOP_IO_PARTS_H
#include "loop/io.h"

#include <pthread.h>

enum kb_io_task {
    KB_TASK_WATCH,
    KB_TASK_UNWATCH,
    KB_TASK_READ,
    KB_TASK_FIND,
    KB_TASK_LOAD,
    KB_TASK_LIST,
    KB_TASK_CLAIM,
    KB_TASK_UPDATE,
    KB_TASK_SESSION_LINE,
    KB_TASK_ERRORS,
    KB_TASK_SEEDS,
    KB_TASK_CREATE,
    KB_TASK_ALLOW,
    KB_TASK_ASK,
};
struct kb_io_job { // owns all it points to
    enum kb_io_task task;
    int64_t token, queued_us;
    int source, version;
    bool plain, numbered;
    size_t limit;
    char *path;   // or the variant
    char *text;   // key, line or errors
    char **names; // include folders, options and macros, or objects that are wanted
    int name_count, dir_count, option_count;
    cJSON *json;
    struct kb_io_blob *blobs;
    int blob_count;
    struct kb_io_job *next;
};

// One thread with its queue. All fields but the thread's own are guarded by io->mutex, which is never held during any
// call that may block.
struct kb_io_lane {
    struct kb_io *io;
    pthread_t thread;
    struct kb_io_job *first, *last;
    int job_count;
    int wake;              // eventfd: a job came, or the end
    int64_t busy_since_us; // of what is worked on; 0: idle
    char where[512];
    bool ended;
};
struct kb_io_answer {
    struct kb_io_message message;
    struct kb_io_answer *next;
};
enum { KB_LANE_READ, KB_LANE_WRITE, KB_LANES };
enum { KB_IO_MAX_WAITING = 20000 }; // beyond this, lines for the session file are dropped
struct kb_io {
    pthread_mutex_t mutex;
    struct kb_io_lane lanes[KB_LANES];
    struct kb_io_answer *first, *last;
    int ready; // eventfd: there are answers
    int64_t next_token;
    int next_source;
    bool stopping, abandoned, flooded;
    char *bench_dir, *stall; // NULL: none
    struct kb_watch_options watch_options;
};

void *kb_io_read_lane(void *lane);
void *kb_io_write_lane(void *lane);

// For the lanes. take: the next job, NULL if there is none; busy and idle tell what the thread is at (where NULL: where
// it was before).
struct kb_io_job *kb_io_take(struct kb_io_lane *lane);
bool kb_io_is_stopping(struct kb_io *io);
void kb_io_busy(struct kb_io_lane *lane, int64_t since_us, const char *where);
void kb_io_idle(struct kb_io_lane *lane);
void kb_io_post(struct kb_io *io, struct kb_io_message *message); // takes what it holds
void kb_io_lane_ended(struct kb_io_lane *lane);                   // the last call of a thread
void kb_io_job_free(struct kb_io_job *job);
void kb_io_clear_wake(int fd); // eventfd

#endif
