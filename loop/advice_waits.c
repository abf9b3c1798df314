// Rules about waiting: for results, for shared memory, at barriers, for the scheduler; launches and tails.
#include "base/memory.h"
#include "loop/advice_rules.h"
#include "loop/quantity.h"

#include <math.h>
#include <string.h>

#define LOW_OCCUPANCY 0.5
#define SHORT_US 5.0 // a launch costs some 2 us on the device and more on the host

// Latency

static double memory_wait(const struct kb_figures *f)
{
    return kb_at_dram_roof(f) || kb_at_least(f->l2_share, 0.7) ? 0 : f->waits[KB_WAIT_MEMORY];
}

static double occupancy(const struct kb_figures *f)
{
    return isnan(f->occupancy_achieved) ? f->occupancy : f->occupancy_achieved;
}

static bool low_occupancy(const struct kb_figures *f)
{
    return f->limited_by && strcmp(f->limited_by, "threads") != 0 && f->occupancy < LOW_OCCUPANCY;
}

double kb_rule_few_warps(const struct kb_figures *f)
{
    double wait = memory_wait(f) + (isnan(f->waits[KB_WAIT_LATENCY]) ? 0 : f->waits[KB_WAIT_LATENCY]);
    return low_occupancy(f) && kb_at_least(wait, 0.35) ? 0.3 + 0.7 * wait : 0;
}

void kb_say_few_warps(const struct kb_figures *f, struct kb_finding *out)
{
    kb_place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    out->kinds = KB_EVIDENCE_SAMPLED | (isnan(f->occupancy_achieved) ? KB_EVIDENCE_COMPILED : KB_EVIDENCE_HARDWARE);
    kb_cite(out, "memory_wait", f->waits[KB_WAIT_MEMORY]);
    kb_cite(out, "occupancy", occupancy(f));
    kb_cite(out, "registers", f->registers);
    kb_cite(out, "shared_bytes", f->shared_bytes);
    kb_cite(out, "blocks_per_sm", f->blocks_per_sm);
    out->evidence = kb_format("%s of the samples wait for memory while only %s of the warps fit, limited by %s",
                              kb_percent(f->waits[KB_WAIT_MEMORY]).s, kb_percent(occupancy(f)).s, f->limited_by);
    if (!strcmp(f->limited_by, "registers"))
        out->step = kb_format("%s registers a thread leave room for %s blocks of %s threads: fewer live values at %s, "
                              "or __launch_bounds__ with more blocks",
                              kb_plain(f->registers).s, kb_plain(f->blocks_per_sm).s, kb_plain(f->block_threads).s,
                              kb_at(out, "the peak").s);
    else if (!strcmp(f->limited_by, "shared memory"))
        out->step = kb_format("%s bytes of shared memory a block leave room for %s blocks: a smaller tile, or more "
                              "threads that share it",
                              kb_plain(f->shared_bytes).s, kb_plain(f->blocks_per_sm).s);
    else
        out->step = kb_format("blocks of %s threads reach the limit of blocks before that of threads: make them larger",
                              kb_plain(f->block_threads).s);
}

double kb_rule_loads_in_flight(const struct kb_figures *f)
{
    double wait = memory_wait(f);
    return kb_at_least(wait, 0.35) ? 0.25 + 0.6 * wait : 0;
}

void kb_say_loads_in_flight(const struct kb_figures *f, struct kb_finding *out)
{
    kb_place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    out->kinds = KB_EVIDENCE_SAMPLED | (isnan(f->dram_share) ? 0 : KB_EVIDENCE_TIMED | KB_EVIDENCE_HARDWARE);
    out->instruction = "LDG";
    kb_cite(out, "memory_wait", f->waits[KB_WAIT_MEMORY]);
    kb_cite(out, "dram_share", f->dram_share);
    out->evidence = kb_format("%s of the samples wait for memory, but DRAM is at %s of its peak",
                              kb_percent(f->waits[KB_WAIT_MEMORY]).s,
                              isnan(f->dram_share) ? "an unknown share" : kb_percent(f->dram_share).s);
    out->step = kb_format("more loads in flight at %s: unroll, so that several independent loads are asked for before "
                          "the first is used, or copy ahead with cp.async",
                          kb_at(out, "the waiting loads").s);
}

double kb_rule_fixed_latency(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_LATENCY];
    return kb_at_least(wait, 0.3) ? 0.2 + 0.7 * wait : 0;
}

void kb_say_fixed_latency(const struct kb_figures *f, struct kb_finding *out)
{
    kb_say_wait(f, out, KB_WAIT_LATENCY, "wait the fixed time of the instruction before",
                "break the chain of dependent instructions: several accumulators, independent elements in turn");
}

double kb_rule_constants(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_CONSTANT];
    return kb_at_least(wait, 0.15) ? 0.2 + 0.8 * wait : 0;
}

void kb_say_constants(const struct kb_figures *f, struct kb_finding *out)
{
    kb_say_wait(f, out, KB_WAIT_CONSTANT, "wait for constants that missed their cache",
                "index constant memory by what all threads of a warp share, or move the table to shared memory");
}

// Shared memory

static double shared_wait(const struct kb_figures *f) // 1 where there are no samples
{
    return isnan(f->waits[KB_WAIT_SHARED]) ? 1 : f->waits[KB_WAIT_SHARED];
}

double kb_rule_bank_conflicts(const struct kb_figures *f)
{
    double share = f->wavefronts > 0 ? f->conflicts / f->wavefronts : NAN;
    return kb_at_least(share, 0.2) && shared_wait(f) >= 0.1 ? 0.3 + 0.7 * share : 0;
}

void kb_say_bank_conflicts(const struct kb_figures *f, struct kb_finding *out)
{
    kb_place(out, kb_hot_line(f, KB_WAIT_SHARED));
    out->kinds = KB_EVIDENCE_HARDWARE | (f->samples > 0 ? KB_EVIDENCE_SAMPLED : 0);
    out->instruction = "LDS, STS";
    kb_cite(out, "conflicts", f->conflicts);
    kb_cite(out, "wavefronts", f->wavefronts);
    kb_cite(out, "shared_wait", f->waits[KB_WAIT_SHARED]);
    out->evidence = kb_format("%s of the turns of shared memory are bank conflicts (%s of %s)",
                              kb_percent(f->conflicts / f->wavefronts).s, kb_quantity(f->conflicts, "conflicts").s,
                              kb_quantity(f->wavefronts, "turns").s);
    out->step = kb_format("%s: pad each row of the shared array by one element (or swizzle its columns), so that the "
                          "lanes of a warp hit 32 banks",
                          kb_at(out, "shared memory").s);
}

static double counted_share(const struct kb_figures *f)
{
    double all = f->counted.conflicts + f->counted.shared_requests;
    return all > 0 ? f->counted.conflicts / all : NAN;
}

double kb_rule_counted_conflicts(const struct kb_figures *f)
{
    return kb_at_least(counted_share(f), 0.2) ? 0.3 + 0.7 * counted_share(f) : 0;
}

void kb_say_counted_conflicts(const struct kb_figures *f, struct kb_finding *out)
{
    const struct kb_ev_line_counts *line = KB_COUNTED_LINE(f, conflicts);
    kb_place(out, line);
    out->kinds = KB_EVIDENCE_COUNTED;
    out->instruction = "ld.shared, st.shared";
    kb_cite(out, "conflicts", f->counted.conflicts);
    kb_cite(out, "requests", f->counted.shared_requests);
    out->evidence = kb_format("%s requests to shared memory need %s further turns by bank conflicts",
                              kb_quantity(f->counted.shared_requests, "").s, kb_quantity(f->counted.conflicts, "").s);
    out->step = kb_format("%s: pad each row of the shared array by one element (or swizzle its columns); it alone "
                          "makes %s of the conflicts",
                          kb_at(out, "shared memory").s, kb_percent(line->conflicts / f->counted.conflicts).s);
}

double kb_rule_shared_queue(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_SHARED];
    return kb_at_least(wait, 0.25) ? 0.2 + 0.7 * wait : 0;
}

void kb_say_shared_queue(const struct kb_figures *f, struct kb_finding *out)
{
    kb_say_wait(f, out, KB_WAIT_SHARED, "wait for shared memory or its queue",
                "fewer, wider accesses to shared memory (float4), more reuse in registers, shuffles instead of a "
                "round trip");
}

double kb_rule_barriers(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_BARRIER];
    return kb_at_least(wait, 0.2) ? 0.25 + 0.7 * wait : 0;
}

void kb_say_barriers(const struct kb_figures *f, struct kb_finding *out)
{
    out->instruction = "BAR";
    kb_say_wait(
        f, out, KB_WAIT_BARRIER, "wait at barriers",
        "fewer barriers (reduce within a warp by shuffles first), even work between warps, or smaller blocks so "
        "that others run meanwhile");
}

// Issue slots

static double scheduler_wait(const struct kb_figures *f)
{
    return f->waits[KB_WAIT_NOT_SELECTED] + f->waits[KB_WAIT_DISPATCH];
}

double kb_rule_scheduler(const struct kb_figures *f)
{
    double wait = scheduler_wait(f);
    double score = kb_at_least(wait, 0.3) ? 0.2 + 0.7 * wait : 0;
    return kb_at_least(f->issue_active, KB_AT_ROOF) ? fmax(score, 0.2 + f->issue_active) : score;
}

void kb_say_scheduler(const struct kb_figures *f, struct kb_finding *out)
{
    double wait = scheduler_wait(f);
    bool busy = kb_at_least(f->issue_active, KB_AT_ROOF), waits = kb_at_least(wait, 0.3);
    out->kinds = (busy ? KB_EVIDENCE_HARDWARE : 0) | (waits ? KB_EVIDENCE_SAMPLED : 0);
    kb_place(out, kb_hot_line(f, KB_WAIT_NOT_SELECTED));
    struct kb_text text = {0};
    if (waits)
        kb_text_addf(&text, "%s of the samples are of warps that could issue and were not chosen or dispatched",
                     kb_percent(wait).s);
    if (busy)
        kb_text_addf(&text, "%sthe schedulers issue in %s of the cycles", waits ? "; " : "",
                     kb_percent(f->issue_active).s);
    kb_cite(out, "scheduler_wait", wait);
    kb_cite(out, "issue_active", f->issue_active);
    out->evidence = kb_text_take(&text);
    out->step = kb_format("%s: there are warps enough; fewer instructions an element (wider loads, unrolled address "
                          "arithmetic, packed types)",
                          kb_at(out, "the kernel").s);
}

double kb_rule_fetch(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_FETCH];
    return kb_at_least(wait, 0.15) ? 0.3 + 0.7 * wait : 0;
}

void kb_say_fetch(const struct kb_figures *f, struct kb_finding *out)
{
    kb_say_wait(f, out, KB_WAIT_FETCH, "wait for instructions or for a branch",
                "smaller code: unroll less, fewer branches in the inner loop");
}

// Launch and tail; the CPU device runs smaller cases, whose grids say nothing about a GPU's.

double kb_rule_tiny_grid(const struct kb_figures *f)
{
    return f->cuda && f->blocks < f->sms ? 1.2 + (1 - f->blocks / f->sms) : 0;
}

void kb_say_tiny_grid(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = KB_EVIDENCE_COMPILED;
    kb_cite(out, "blocks", f->blocks);
    kb_cite(out, "multiprocessors", f->sms);
    out->evidence = kb_format("%s blocks for %s multiprocessors: %s of them have nothing to do", kb_plain(f->blocks).s,
                              kb_plain(f->sms).s, kb_percent(1 - f->blocks / f->sms).s);
    out->step = kb_format("more blocks: split the work further (fewer elements a block than now with %s threads), or "
                          "split the reduction over blocks",
                          kb_plain(f->block_threads).s);
}

static double waves_of(const struct kb_figures *f)
{
    double waves = f->blocks / (f->sms * f->blocks_per_sm);
    return f->cuda && f->blocks_per_sm > 0 ? waves : NAN;
}

double kb_rule_tail(const struct kb_figures *f)
{
    double waves = waves_of(f), used = waves / ceil(waves);
    return waves > 1 && used < 0.75 ? 0.4 + (1 - used) : 0;
}

void kb_say_tail(const struct kb_figures *f, struct kb_finding *out)
{
    double waves = waves_of(f);
    out->kinds = KB_EVIDENCE_COMPILED;
    kb_cite(out, "waves", waves);
    kb_cite(out, "blocks", f->blocks);
    kb_cite(out, "blocks_at_once", f->sms * f->blocks_per_sm);
    out->evidence =
        kb_format("%s waves of blocks (%s blocks, %s at once): the last is %s full", kb_plain(waves).s,
                  kb_plain(f->blocks).s, kb_plain(f->sms * f->blocks_per_sm).s, kb_percent(waves - floor(waves)).s);
    out->step = kb_format("a grid that fits whole waves: %s blocks at once; smaller blocks, or a grid-stride loop",
                          kb_plain(f->sms * f->blocks_per_sm).s);
}

double kb_rule_launch(const struct kb_figures *f)
{
    return f->time_us < SHORT_US && f->call_us > 1.5 * f->time_us ? 1.5 : 0;
}

void kb_say_launch(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = KB_EVIDENCE_TIMED;
    kb_cite(out, "time_us", f->time_us);
    kb_cite(out, "call_us", f->call_us);
    out->evidence =
        kb_format("the kernel runs %s us, a call costs %s us", kb_plain(f->time_us).s, kb_plain(f->call_us).s);
    out->step = kb_strdup("launching costs more than running: fuse with the kernel before or behind, batch several "
                          "problems in one launch, or replay a CUDA graph");
}
