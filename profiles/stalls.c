#include "profiles/stalls.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

const char *const kb_stall_group_names[KB_STALL_GROUPS] = {
    [KB_STALL_ISSUING] = "issuing",
    [KB_STALL_MEMORY] = "memory",
    [KB_STALL_SHARED] = "shared memory",
    [KB_STALL_BARRIER] = "barrier",
    [KB_STALL_ARITHMETIC] = "arithmetic pipe",
    [KB_STALL_LATENCY] = "fixed latency",
    [KB_STALL_TENSOR] = "tensor",
    [KB_STALL_FETCH] = "instruction fetch",
    [KB_STALL_NOT_SELECTED] = "not selected",
    [KB_STALL_DISPATCH] = "dispatch",
    [KB_STALL_CONSTANT] = "constant cache",
    [KB_STALL_SLEEP] = "sleeping",
    [KB_STALL_OTHER] = "other",
};
const char *const kb_stall_group_about[KB_STALL_GROUPS] = {
    [KB_STALL_ISSUING] = "not waiting: the warp issued an instruction",
    [KB_STALL_MEMORY] = "waiting for global or local memory, or for room in its queues",
    [KB_STALL_SHARED] = "waiting for shared memory, special functions or other work of the memory input-output unit",
    [KB_STALL_BARRIER] = "waiting for other warps, or for memory to be ordered",
    [KB_STALL_ARITHMETIC] = "waiting for a free arithmetic pipe",
    [KB_STALL_LATENCY] = "waiting the fixed time of the instruction before",
    [KB_STALL_TENSOR] = "waiting for the tensor cores' work on a warp group",
    [KB_STALL_FETCH] = "waiting for instructions, or for a branch to be decided",
    [KB_STALL_NOT_SELECTED] = "ready, but the scheduler chose another warp: there are warps enough",
    [KB_STALL_DISPATCH] = "ready, but the dispatcher could not send",
    [KB_STALL_CONSTANT] = "waiting for a constant that missed its cache",
    [KB_STALL_SLEEP] = "asleep by its own wish",
    [KB_STALL_OTHER] = "waiting for something else",
};

// Names as CUPTI gives them on compute capability 7.0 to 12.0; meanings from NVIDIA's profiling guide.
static const struct kb_stall_reason reasons[] = {
    {"selected", KB_STALL_ISSUING, "was chosen and issued"},
    {"long_scoreboard", KB_STALL_MEMORY, "a load from global, local, texture or surface memory is not back yet"},
    {"lg_throttle", KB_STALL_MEMORY, "the queue for global and local memory is full"},
    {"tex_throttle", KB_STALL_MEMORY, "the texture queue is full"},
    {"drain", KB_STALL_MEMORY, "at its end, until its stores have left"},
    {"short_scoreboard", KB_STALL_SHARED, "a result of shared memory, a special function or a vote is not back yet"},
    {"mio_throttle", KB_STALL_SHARED, "the queue for shared memory and special functions is full"},
    {"barrier", KB_STALL_BARRIER, "at __syncthreads(), until the others come"},
    {"membar", KB_STALL_BARRIER, "at a memory fence"},
    {"warpgroup_arrive", KB_STALL_BARRIER, "until the warps of a warp group are together"},
    {"math_pipe_throttle", KB_STALL_ARITHMETIC, "the pipe that it needs is taken"},
    {"wait", KB_STALL_LATENCY, "a fixed number of cycles after the instruction before"},
    {"gmma", KB_STALL_TENSOR, "warp-group matrix instructions are not done"},
    {"no_instruction", KB_STALL_FETCH, "the next instruction is not there yet"},
    {"no_instructions", KB_STALL_FETCH, "the next instruction is not there yet"},
    {"no_inst", KB_STALL_FETCH, "the next instruction is not there yet"},
    {"branch_resolving", KB_STALL_FETCH, "until the branch's target is known"},
    {"branch_resolve", KB_STALL_FETCH, "until the branch's target is known"},
    {"not_selected", KB_STALL_NOT_SELECTED, "could issue, another warp was chosen"},
    {"dispatch_stall", KB_STALL_DISPATCH, "the dispatcher holds back"},
    {"dispatch", KB_STALL_DISPATCH, "the dispatcher holds back"},
    {"imc_miss", KB_STALL_CONSTANT, "an immediate constant missed its cache"},
    {"imc", KB_STALL_CONSTANT, "an immediate constant missed its cache"},
    {"sleeping", KB_STALL_SLEEP, "in nanosleep"},
    {"misc", KB_STALL_OTHER, "a reason that the hardware does not tell apart"},
};

void kb_stall_short_name(const char *raw, char out[64], bool *not_issued)
{
    static const char suffix[] = "_not_issued";
    const char *at = strstr(raw, "stalled_");
    at = at ? at + strlen("stalled_") : strstr(raw, "stall_") ? strstr(raw, "stall_") + strlen("stall_") : raw;
    snprintf(out, 64, "%s", at);
    *not_issued = kb_ends(out, suffix);
    if (*not_issued)
        out[strlen(out) - strlen(suffix)] = 0;
}

const struct kb_stall_reason *kb_stall_reason(const char *short_name)
{
    static const struct kb_stall_reason unknown = {"?", KB_STALL_OTHER, "a reason unknown to this program"};
    for (size_t i = 0; i < KB_COUNT(reasons); i++)
        if (!strcmp(reasons[i].name, short_name))
            return &reasons[i];
    return &unknown;
}
