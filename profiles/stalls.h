// Why warps waited: the hardware's names for stall reasons, and the few groups that people are shown.
#ifndef KB_PROFILES_STALLS_H
#define KB_PROFILES_STALLS_H
#include <stdbool.h>

enum kb_stall_group {
    KB_STALL_ISSUING,
    KB_STALL_MEMORY,
    KB_STALL_SHARED,
    KB_STALL_BARRIER,
    KB_STALL_ARITHMETIC,
    KB_STALL_LATENCY,
    KB_STALL_TENSOR,
    KB_STALL_FETCH,
    KB_STALL_NOT_SELECTED,
    KB_STALL_DISPATCH,
    KB_STALL_CONSTANT,
    KB_STALL_SLEEP,
    KB_STALL_OTHER,
    KB_STALL_GROUPS
};
struct kb_stall_reason {
    const char *name; // as in the counters' names, without what they share
    enum kb_stall_group group;
    const char *about; // one line
};
extern const char *const kb_stall_group_names[KB_STALL_GROUPS];
extern const char *const kb_stall_group_about[KB_STALL_GROUPS];

// "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued" -> "long_scoreboard", *not_issued true. Writes into
// out (of at least 64 bytes).
void kb_stall_short_name(const char *raw, char out[64], bool *not_issued);
// Of a short name; an unknown one is OTHER, "a reason unknown to this program".
const struct kb_stall_reason *kb_stall_reason(const char *short_name);

#endif
