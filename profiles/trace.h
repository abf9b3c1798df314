// Exact spans of a traced run: which blocks are recorded, what the events of a warp mean, what they sum up to, and rows
// of cells to show them. Pure: no GPU.
//
// A tick is a cycle of the warp's multiprocessor, or, emulated by the CPU device, one instruction of the warp. Each
// multiprocessor has a clock of its own; they are laid side by side by %globaltimer, so that their order is as good as
// that timer's step.
#ifndef KB_PROFILES_TRACE_H
#define KB_PROFILES_TRACE_H
#include "bench/kb_section.cuh"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KB_TRACE_SECTIONS = 60,     // names at most; further ones are "outside sections"
    KB_TRACE_EVENTS = 1 << 20,  // at most, over all launches: 8 MiB
    KB_TRACE_WARPS = 1 << 17,   // likewise
    KB_TRACE_CAPACITY = 1 << 15 // events of one warp
};

// ---- what is recorded

struct kb_trace_plan {            // of one launch
    uint64_t blocks;              // of the grid
    unsigned warps;               // of a block
    unsigned first, middle, last; // blocks recorded, see kb_section_place
    unsigned recorded, capacity;  // all blocks recorded; events a warp
};
// As many blocks as the budgets allow with so many events a warp, at least one: all of the grid, or half of them from
// its beginning, a quarter spread over the middle and a quarter from its end.
void kb_trace_plan(uint64_t blocks, unsigned warps, unsigned capacity, size_t most_events, size_t most_warps,
                   struct kb_trace_plan *);
uint64_t kb_trace_block(const struct kb_trace_plan *, unsigned place); // the block that has this place
// "all 4096 blocks", "512 of 4096 blocks: the first 256, 128 in between, the last 128". Owned by the caller.
char *kb_trace_plan_text(const struct kb_trace_plan *);

// ---- what was recorded

struct kb_trace_span {
    uint32_t begin;   // ticks since the warp's begin; it ends where the next one begins, or with the warp
    uint32_t section; // index
};
struct kb_trace_warp {
    int64_t begin, end;                     // ticks; launches stand one behind the other
    uint32_t block, sm, first, count, lost; // spans first .. first + count - 1; lost: events beyond the capacity
    uint16_t launch, warp;
};
struct kb_trace_section {
    char *name, *file; // file "" where it has none
    int line;
    unsigned id;
    uint64_t ticks, spans;
    double mean, median, max; // ticks of a span; NAN without spans
    double imbalance;         // ticks of the warp with the most over the mean of all warps; NAN without any
};
struct kb_trace_launch {
    char *kernel;
    struct kb_trace_plan plan;
    int64_t begin, end;
    uint64_t lost, unfinished;                 // events; warps that began and never came to their end
    int sms;                                   // that had blocks
    double block_min, block_median, block_max; // ticks from a block's first warp's begin to its last one's end
    // NAN unless all blocks were recorded by clocks that can be compared. waves: blocks over those that can run at
    // once; tail: mean share of the launch that a multiprocessor has nothing left to do in at its end.
    double waves, tail;
};
struct kb_trace {
    bool emulated, aligned; // aligned: the multiprocessors' clocks were laid side by side; else each begins at 0
    double ticks_per_us;    // NAN unknown
    double timer_step_ns;   // of %globaltimer, as seen; NAN unknown
    struct kb_trace_section *sections; // [0]: "outside sections"
    struct kb_trace_launch *launches;
    struct kb_trace_warp *warps; // by launch, block, warp
    struct kb_trace_span *spans;
    int section_count, launch_count;
    uint32_t warp_count, span_count, warp_capacity, span_capacity;
};
void kb_trace_begin(struct kb_trace *, bool emulated);
void kb_trace_free(struct kb_trace *);
// Returns the index; 0 ("outside sections") if there is no room.
int kb_trace_add_section(struct kb_trace *, const char *name, const char *file, int line, unsigned id);

// What one launch left in its buffers: warps[plan.recorded * plan.warps], events[...][plan.capacity].
struct kb_trace_raw {
    const struct kb_section_warp *warps;
    const unsigned long long *events;
};
// Ticks a microsecond by the same multiprocessors' clocks in two runs, the second behind the first; NAN unknown.
double kb_trace_rate(const struct kb_section_warp *before, size_t n_before, const struct kb_section_warp *after,
                     size_t n_after);
// Set ticks_per_us before.
void kb_trace_add_launch(struct kb_trace *, const char *kernel, const struct kb_trace_plan *,
                         const struct kb_trace_raw *);
void kb_trace_sum_up(struct kb_trace *); // behind the last launch: fills what is said of sections and launches

// ---- how it travels: the head (docs/protocol.md, "trace") and a blob of its warps and spans

void kb_trace_to_json(const struct kb_trace *, cJSON *head);
char *kb_trace_pack(const struct kb_trace *, size_t *size); // owned by the caller
// blob may be NULL: then there are no warps. -1: they do not belong together.
int kb_trace_from_json(const cJSON *head, const void *blob, size_t size, struct kb_trace *);

// ---- how it is shown

enum kb_trace_level { KB_TRACE_LEVEL_SMS, KB_TRACE_LEVEL_BLOCKS, KB_TRACE_LEVEL_WARPS };
enum { KB_TRACE_ALL = UINT32_MAX };
struct kb_trace_window {
    enum kb_trace_level level;
    uint32_t sm;            // BLOCKS: of this multiprocessor, or KB_TRACE_ALL
    uint32_t launch, block; // WARPS: of this block
    int64_t from, to;       // ticks
};
struct kb_trace_row {
    uint32_t launch, sm, block, warp; // what it has of them; else KB_TRACE_ALL
    int64_t begin, end;
    uint32_t warps;
};
// Rows of a level: multiprocessors by number, blocks by their begin, warps by number. Owned by the caller.
int kb_trace_rows(const struct kb_trace *, const struct kb_trace_window *, struct kb_trace_row **);
// cells[count][columns]: 1 + the section that most of the rows' warp time in this slice was spent in; 0: no warp.
void kb_trace_cells(const struct kb_trace *, const struct kb_trace_window *, const struct kb_trace_row *, int count,
                    int columns, uint8_t *cells);
int64_t kb_trace_end(const struct kb_trace *);
// The letter of a section: '.' for the first ("outside sections"), then a to z, A to Z.
char kb_trace_letter(int section);

#endif
