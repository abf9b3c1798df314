#include "bench/rungs.h"

#include "base/memory.h"

#include <string.h>

const struct kb_rung_info kb_rungs[KB_RUNGS] = {
    [KB_RUNG_SCAN] = {"scan", KB_WORKER_COMPILE, 5000, "bytes, encoding, entry points"},
    // A long compile is no fault: it is shown with its seconds, and a newer save cancels it.
    [KB_RUNG_COMPILE] = {"compile", KB_WORKER_COMPILE, 3600000, "NVRTC's log, registers, spills"},
    [KB_RUNG_CHECK] = {"check", KB_WORKER_RUN, 10000, "launch limits, arguments, shared memory, occupancy"},
    [KB_RUNG_RUN] = {"run", KB_WORKER_RUN, 20000, "poisoned outputs, guard zones, everything written"},
    [KB_RUNG_VERIFY] = {"verify", KB_WORKER_RUN, 60000, "every case against the reference in double precision"},
    [KB_RUNG_TIME] = {"time", KB_WORKER_RUN, 20000, "cold and warm, median with its interval"},
    [KB_RUNG_RACES] = {"races", KB_WORKER_RACES, 30000, "small cases on the CPU device: races, uninitialised reads"},
    [KB_RUNG_SECTIONS] = {"sections", KB_WORKER_PROFILE, 10000, "where the time goes, and what it waits for"},
    [KB_RUNG_COUNTERS] = {"counters", KB_WORKER_PROFILE, 20000, "bytes moved, operations, occupancy attained"},
    [KB_RUNG_SASS] = {"sass", KB_WORKER_COMPILE, 70000, "machine code, live registers, what changed"},
};

static const char *const statuses[KB_STATUSES] = {"", "running", "pass", "fail", "skip", "na"};
static const char *const roles[KB_WORKER_ROLES] = {"compile", "run", "profile", "races"};

int kb_rung_parse(const char *name)
{
    for (int i = 0; i < KB_RUNGS; i++)
        if (!strcmp(kb_rungs[i].name, name))
            return i;
    return -1;
}

const char *kb_status_name(enum kb_status s)
{
    return statuses[s];
}

int kb_status_parse(const char *name)
{
    for (int i = 0; i < KB_STATUSES; i++)
        if (!strcmp(statuses[i], name))
            return i;
    return -1;
}

const char *kb_worker_role_name(enum kb_worker_role r)
{
    return roles[r];
}

const struct kb_finding_kind kb_finding_kinds[KB_FINDING_KINDS] = {
    {"race", "RACE", true},
    {"uninitialised", "UNINITIALISED", true},
    {"divergent_barrier", "DIVERGENT", true},
    {"copy_not_awaited", "RACE", true},
    {"proxy_fence", "RACE", true},
    // Stores of one value by several threads, a look that an atomic operation repeats, a flag seen without a fence
    // behind, lanes that rely on lockstep or store different values, warps that meet in two barriers, threads that
    // end before a barrier, values of lanes that left, and masks that do not match are what many a kernel gets
    // away with.
    {"race_look", "LOOK", false},
    {"race_unacquired", "NO ACQUIRE", false},
    {"lanes_differ", "LANES DIFFER", false},
    {"barrier_by_warp", "BY WARP", false},
    {"race_same_value", "SAME VALUE", false},
    {"race_in_warp", "LOCKSTEP", false},
    {"barrier_left", "BARRIER LEFT", false},
    {"shuffle_inactive", "INACTIVE LANE", false},
    {"member_mask", "MEMBER MASK", false},
    // A variable that the kernel's own program sets from the host: here it is zero. Zero may be what is meant.
    {"unset_variable", "UNSET", false},
};

const struct kb_finding_kind *kb_finding_kind(const char *name)
{
    for (int i = 0; i < KB_FINDING_KINDS; i++)
        if (!strcmp(kb_finding_kinds[i].name, name))
            return &kb_finding_kinds[i];
    return NULL;
}
