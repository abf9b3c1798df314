// One worker process: its pipes, frames, captured output, deadline and end. Nothing here waits: a worker that ignores
// SIGKILL is abandoned, and said to be.
#ifndef KB_LOOP_PEER_H
#define KB_LOOP_PEER_H
#include "base/error.h"
#include "bench/frame.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

enum { KB_PEER_FDS = 4, KB_TERM_GRACE_MS = 500, KB_KILL_GRACE_MS = 1000 };

enum kb_peer_event_kind {
    KB_PEER_FRAME, // frame: owned by the taker
    KB_PEER_LINE,  // text: a line of its captured output, cleaned
    KB_PEER_ENDED, // text: how it ended; the last event
};
struct kb_peer_event {
    enum kb_peer_event_kind kind;
    struct kb_frame frame;
    char *text;
    int64_t dropped; // LINE: lines cut before it
    bool abandoned;  // ENDED: it could not be killed and may go on
    bool asked;      // ENDED: kb_peer_end or a deadline did it
    int signal, exit_code;
};
void kb_peer_event_free(struct kb_peer_event *);

// The calls that tests replace to play a process that cannot be killed.
struct kb_peer_system {
    int (*kill)(pid_t, int);
    pid_t (*wait)(pid_t, int *, int);
};
extern struct kb_peer_system kb_peer_system;
extern int kb_peer_longest_ms; // no deadline is longer than this; 0: as asked. For tests

struct kb_peer;
struct kb_peer *kb_peer_start(char *const argv[], struct kb_error *); // NULL: could not be started
void kb_peer_free(struct kb_peer *); // kills what still runs; waits at most a moment for it
pid_t kb_peer_pid(const struct kb_peer *);

// Queues a frame; takes head, copies the blob. A frame to a dead worker is dropped. One that is too large to be sent is
// answered here, by a failed `done` of its job that says so.
void kb_peer_send(struct kb_peer *, cJSON *head, const void *blob, size_t size);
void kb_peer_send_parts(struct kb_peer *, cJSON *head, const struct kb_frame_part *parts, int count);
// Without a frame from it for so long, it is ended with that reason. Each frame starts the time anew. 0: no deadline.
// A process that computes all the while, but beside others got less than that of each of its cores, goes on.
void kb_peer_deadline(struct kb_peer *, int ms);
void kb_peer_cores(struct kb_peer *, int cores); // it computes on so many; 1 unless told
// SIGTERM (skipped if now), SIGKILL after KB_TERM_GRACE_MS, abandoned after KB_KILL_GRACE_MS more.
void kb_peer_end(struct kb_peer *, const char *why, bool now);
bool kb_peer_ending(const struct kb_peer *);

int kb_peer_fds(struct kb_peer *, struct pollfd *fds, int capacity);
int kb_peer_wait_ms(const struct kb_peer *);                // -1: nothing is due
void kb_peer_step(struct kb_peer *);                        // reads, writes, reaps, goes on with the kill ladder
int kb_peer_next(struct kb_peer *, struct kb_peer_event *); // 1: an event is in *event; 0: none now

#endif
