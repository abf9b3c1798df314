// One worker and what it is asked, from its start to its end. A lane owns the life cycle and its limits: a worker is
// started when it is first needed, and after MOST_FAILURES that came to nothing no more, until a restart.
#ifndef KB_LOOP_LANE_H
#define KB_LOOP_LANE_H
#include "loop/model.h"
#include "loop/peer.h"

struct kb_build;
struct kb_session;

enum { KB_LANE_ARGUMENTS = 10 };

// What a lane differs in.
struct kb_lane_kind {
    enum kb_worker_role role;
    const char *source; // of its worker's lines in the log
    bool silent;        // no `worker` events
    bool expendable;    // killed at a restart; else it gets time to give back what it holds
    const char *remedy; // stands between what failed at the start and its remedy; NULL: the remedy is not told
    int hello_ms;
    void (*command)(struct kb_session *, char *argv[KB_LANE_ARGUMENTS]); // NULL-terminated; nothing is owned
    void (*started)(struct kb_peer *);                                   // may be NULL
    void (*hello)(struct kb_session *, const cJSON *head); // before its `failed` is looked at; may be NULL
    // Where the life cycle is the lane's own matter: every frame, and the end, its peer still in place. NULL: as below
    void (*all)(struct kb_session *, struct kb_frame *);
    void (*gone)(struct kb_session *, const struct kb_peer_event *);
    void (*frame)(struct kb_session *, struct kb_frame *); // every other frame of the job in flight
    // Its worker is gone, and with it the request in flight. True: it counts as one that came to nothing, though it
    // said hello.
    bool (*ended)(struct kb_session *, const struct kb_peer_event *);
    void (*cut)(struct kb_session *, const char *why); // a restart: the request in flight, if any, ends
    void (*forget)(struct kb_session *);               // what the worker knew; may be NULL
    void (*absent)(struct kb_session *, const char *); // no worker can be had; may be NULL
};

struct kb_lane {
    struct kb_peer *peer;   // NULL: no worker
    bool ready;             // it said hello
    bool cancelled;         // its request
    char *absent;           // why there is none, NULL: there may be one
    int64_t job;            // 0: none in flight
    struct kb_build *build; // whom the request serves; NULL: nobody (any more)
    int failures;           // in a row, that came to nothing
};

void kb_lane_step(struct kb_session *, struct kb_lane *, const struct kb_lane_kind *); // hands on what its worker said
// Starts its worker if there is none. True: it is there and takes a request.
bool kb_lane_start(struct kb_session *, struct kb_lane *, const struct kb_lane_kind *);
// The head of a request, which is now the one in flight; owned. b may be NULL.
cJSON *kb_lane_request(struct kb_session *, struct kb_lane *, const char *type, struct kb_build *b, int deadline_ms);
struct kb_build *kb_lane_close(struct kb_lane *); // the request in flight is over; the build that it served is owned
void kb_lane_cancel(struct kb_lane *);            // and its worker is killed if the job does not end soon
// It works on as far as it must, but for the lane it is gone.
void kb_lane_retire(struct kb_session *, struct kb_lane *, const struct kb_lane_kind *, const char *why, bool now);
void kb_lane_forget(struct kb_session *, struct kb_lane *, const struct kb_lane_kind *); // its worker is no more
void kb_lane_restart(struct kb_session *, struct kb_lane *, const struct kb_lane_kind *, const char *why);
void kb_lane_forgive(struct kb_lane *); // what could not be had may be tried again
int kb_lane_wait_ms(const struct kb_lane *);
void kb_lane_free(struct kb_lane *);
const char *kb_lane_end(const struct kb_peer_event *ended); // its word in a `worker` event
#endif
