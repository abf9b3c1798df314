// A worker's side of the frames: requests on descriptor 0, events on descriptor 3, or 0 and 1 with --stdio, where what
// the process writes to its own descriptors 1 and 2 travels as `log` frames. One channel a process.
#ifndef KB_WORKER_FRAMES_H
#define KB_WORKER_FRAMES_H
#include "bench/frame.h"

#include <stdbool.h>

int kb_worker_open(bool stdio, const char *log_source, struct kb_error *e);
// Waits for what descriptor 1 and 2 still hold (--stdio) and sends it. Called before the process ends.
void kb_worker_close(void);

// Waits for the next request. 1: it is in *f (owned by the caller); 0: end of input; -1: the stream is broken.
int kb_worker_read(struct kb_frame *f, struct kb_error *e);
// The next request if a whole one has arrived, without waiting or taking it; NULL if none. Owned by the channel.
const struct kb_frame *kb_worker_peek(void);
// A request, the end of the input or a broken stream is waiting: a long job should come to an end.
bool kb_worker_pending(void);

// Sends one frame; takes head, gives it its number. If nobody reads any more, the process ends.
void kb_worker_send(cJSON *head, const void *blob, size_t blob_size);
void kb_worker_rung(int64_t job, const char *rung, const char *status, double ms,
                    const char *reason); // reason may be NULL
void kb_worker_done(int64_t job, const char *status, const char *reason, bool poisoned);
struct kb_worker_end {
    const char *rung; // NULL: only `done`
    const char *status, *reason, *fault_of;
    const cJSON *not_tried; // texts that go with the rung; NULL: everything was tried
    double ms;
    bool poisoned;
};
// A `rung` and its job's `done` in one, both with `fault_of` where it is told.
void kb_worker_end(int64_t job, const struct kb_worker_end *);
// Text of any length and content: cleaned, cut into frames, at most 4,000 lines of it; the rest is counted as dropped.
void kb_worker_log(int64_t job, const char *source, const char *text, size_t size);
// Sets key to text cleaned for JSON, cut to at most limit bytes with the number of bytes left out. NULL sets null.
void kb_worker_set_clean(cJSON *object, const char *key, const char *text, size_t limit);

#endif
