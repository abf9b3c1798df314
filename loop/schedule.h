// Which lane gets which version next: what is the case goes in, what is decided comes out, and nothing else happens.
#ifndef KB_LOOP_SCHEDULE_H
#define KB_LOOP_SCHEDULE_H
#include <stdbool.h>
#include <stdint.h>

// The newest content of one variant, by what it waits for.
struct kb_schedule_slot {
    int64_t saved_us;
    bool in_flight; // its first verdict is still to come
    bool compile;   // it is to be compiled
    bool lookup;    // likewise, but the history may know it, and its answer is still worth the moment
    bool ladder;    // its next rung before the verdict
    bool settle;    // its second, longer timing
    bool races, sass;
    int profile; // what it owes of sections and counters; 0: nothing
};
struct kb_schedule_state {
    const struct kb_schedule_slot *slots;
    int count, focus, baseline; // focus, baseline: -1: none; baseline: of a session that ends by itself
    bool compiling;             // a version is
    bool run_idle;              // the run worker is there, prepared, and does nothing
    bool verdicts_open;         // of a session that ends by itself: some variant has none, or the device is at work
    bool others;                // time enough to profile variants that are not looked at
};
struct kb_schedule { // each the index of a slot, -1: none
    int compile, run, races, sass;
    int profile;
    bool profile_may_work; // the device is free for it
};
struct kb_schedule kb_schedule(const struct kb_schedule_state *);
#endif
