// The table of rules. A rule tests figures and gives a score, and builds what it says. The scores only order the rules:
// 2 and more: at a roof, nothing but less work helps; 1 to 2: waste that shows on its own; under 1: roughly the share
// of the time that it explains. docs/advice.md has the thresholds in words.
#include "base/json.h"
#include "base/memory.h"
#include "loop/advice_parts.h"
#include "loop/quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOF 0.8          // share of a roof that counts as being there
#define WASTE 1.5         // more sectors than needed by this factor: not coalesced
#define SECTOR_BYTES 32.0 // what memory moves at least, at once
#define LOW_OCCUPANCY 0.5
#define SHORT_US 5.0 // a launch costs some 2 us on the device and more on the host

static bool at_least(double value, double bound) // false where unknown
{
    return value >= bound;
}

static void place(struct kb_finding *out, const cJSON *line)
{
    out->line = (int)kb_json_int(line, "line", 0);
    out->file = kb_json_text(line, "file", "");
}

// "line 14" or, without one, what is named otherwise.
static struct kb_quantity at(const struct kb_finding *out, const char *otherwise)
{
    struct kb_quantity text;
    if (out->line)
        snprintf(text.s, sizeof text.s, "line %d", out->line);
    else
        snprintf(text.s, sizeof text.s, "%s", otherwise);
    return text;
}

static bool at_dram_roof(const struct kb_figures *f)
{
    return at_least(f->dram_share, ROOF) || (isnan(f->dram_share) && f->memory_bound && at_least(f->share, ROOF));
}

// How much memory matters, 0 to 1; NAN if nothing says.
static double pressure(const struct kb_figures *f)
{
    double p = fmax(fmax(f->waits[KB_WAIT_MEMORY], f->dram_share), f->l2_share);
    return fmin(fmax(p, f->memory_bound ? f->share : NAN), 1);
}

static bool memory_matters(const struct kb_figures *f)
{
    double p = pressure(f);
    return isnan(p) || p >= 0.3;
}

// At the roofs

static double dram_roof(const struct kb_figures *f)
{
    return at_dram_roof(f) ? 2 + (isnan(f->dram_share) ? f->share : f->dram_share) : 0;
}

static void say_dram_roof(const struct kb_figures *f, struct kb_finding *out)
{
    bool hardware = !isnan(f->dram_share);
    out->kinds = KB_EVIDENCE_TIMED | (hardware ? KB_EVIDENCE_HARDWARE : 0);
    out->evidence = hardware
                        ? kb_format("DRAM moves %s, %s of its peak of %s", kb_quantity(f->dram_rate, "B/s").s,
                                    kb_percent(f->dram_share).s, kb_quantity(f->dram_peak, "B/s").s)
                        : kb_format("the run is at %s of the memory roof over its intensity", kb_percent(f->share).s);
    if (at_least(f->dram_bytes, 1.2 * f->work_bytes))
        out->step = kb_format("move fewer bytes: DRAM moves %s where the bench needs %s; read each element once and "
                              "keep it in registers or shared memory",
                              kb_quantity(f->dram_bytes, "B").s, kb_quantity(f->work_bytes, "B").s);
    else
        out->step = kb_strdup("at the roof: move fewer bytes (a narrower type, or fuse with the kernel before or "
                              "behind); nothing else makes it faster");
}

static double l2_roof(const struct kb_figures *f)
{
    return at_least(f->l2_share, 0.7) && !at_dram_roof(f) ? 1.2 + f->l2_share : 0;
}

static void say_l2_roof(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = KB_EVIDENCE_TIMED | KB_EVIDENCE_HARDWARE;
    out->evidence =
        kb_format("the L2 serves %s, %s of its peak", kb_quantity(f->l2_rate, "B/s").s, kb_percent(f->l2_share).s);
    out->step = kb_strdup("ask the L2 for less: tile through shared memory or registers, so that a block reads each "
                          "element once");
}

static double compute_share(const struct kb_figures *f)
{
    double share = fmax(f->f32_share, fmax(f->f64_share, f->tensor_share));
    return isnan(share) && f->compute_bound ? f->share : share;
}

static double compute_roof(const struct kb_figures *f)
{
    return at_least(compute_share(f), ROOF) ? 2 + compute_share(f) : 0;
}

static void say_compute_roof(const struct kb_figures *f, struct kb_finding *out)
{
    double share = compute_share(f);
    const char *unit = share == f->tensor_share ? "the tensor cores are busy"
                       : share == f->f64_share  ? "double precision is"
                                                : "single precision is";
    bool hardware = !isnan(fmax(f->f32_share, fmax(f->f64_share, f->tensor_share)));
    out->kinds = KB_EVIDENCE_TIMED | (hardware ? KB_EVIDENCE_HARDWARE : 0);
    if (!hardware)
        out->evidence = kb_format("the run is at %s of the arithmetic roof over its intensity", kb_percent(share).s);
    else
        out->evidence = kb_format("%s at %s of the peak", unit, kb_percent(share).s);
    out->step = kb_strdup(share == f->tensor_share ? "at the roof of the tensor cores: a narrower type, or less work"
                                                   : "at the arithmetic roof: fewer operations an element, a narrower "
                                                     "type, or tensor cores where it is a matrix product");
}

// Accesses to global memory

// Sectors that a request of whole warps needs: 32 lanes of so many bytes. Without SASS the widest that there is.
static double needed_sectors(double bytes)
{
    return isnan(bytes) ? 16 : fmax(bytes, 1) * 32 / SECTOR_BYTES;
}

static double uncoalesced(const struct kb_figures *f, double sectors, double bytes)
{
    double waste = 1 - needed_sectors(bytes) / sectors, p = pressure(f);
    if (!at_least(sectors, WASTE * needed_sectors(bytes)) || !memory_matters(f))
        return 0;
    return (at_dram_roof(f) ? 3 : 1) + waste * (isnan(p) ? 0.5 : p);
}

static void say_uncoalesced(const struct kb_figures *f, struct kb_finding *out, bool store)
{
    double sectors = store ? f->store_sectors : f->load_sectors, bytes = store ? f->store_bytes : f->load_bytes;
    const char *what = store ? "stores" : "loads";
    out->kinds = KB_EVIDENCE_HARDWARE | (isnan(bytes) ? 0 : KB_EVIDENCE_COMPILED) |
                 (f->samples > 0 && !store ? KB_EVIDENCE_SAMPLED : 0);
    out->instruction = store ? "STG" : "LDG";
    if (!store)
        place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    out->evidence = kb_format("global %s take %s sectors a request where %s%s would do", what, kb_plain(sectors).s,
                              isnan(bytes) ? "at most " : "", kb_plain(needed_sectors(bytes)).s);
    out->step = kb_format("coalesce the %s (%s): neighbouring threads should %s neighbouring elements; now a request "
                          "touches %s sectors of %s",
                          what, at(out, store ? "STG" : "LDG").s, store ? "write" : "read", kb_plain(sectors).s,
                          kb_plain(needed_sectors(bytes)).s);
}

static double uncoalesced_loads(const struct kb_figures *f)
{
    return uncoalesced(f, f->load_sectors, f->load_bytes);
}

static void say_uncoalesced_loads(const struct kb_figures *f, struct kb_finding *out)
{
    say_uncoalesced(f, out, false);
}

static double uncoalesced_stores(const struct kb_figures *f)
{
    return 0.95 * uncoalesced(f, f->store_sectors, f->store_bytes);
}

static void say_uncoalesced_stores(const struct kb_figures *f, struct kb_finding *out)
{
    say_uncoalesced(f, out, true);
}

static double waste_of(double sectors, double bytes) // times as many sectors as the bytes need
{
    return bytes > 0 ? SECTOR_BYTES * sectors / bytes : NAN;
}

static double counted_uncoalesced(const struct kb_figures *f)
{
    double waste = waste_of(f->counted.sectors, f->counted.bytes);
    return at_least(waste, WASTE) ? 1 + 0.5 * (1 - 1 / waste) : 0;
}

static void say_counted_uncoalesced(const struct kb_figures *f, struct kb_finding *out)
{
    const struct kb_counted *c = &f->counted;
    const cJSON *line = kb_counted_line(f, "sectors");
    double sectors = c->requests > 0 ? c->sectors / c->requests : NAN, waste = waste_of(c->sectors, c->bytes);
    double used = kb_json_number(line, "bytes", NAN) / kb_json_number(line, "sectors", NAN);
    out->kinds = KB_EVIDENCE_COUNTED;
    out->instruction = "ld.global, st.global";
    place(out, line);
    out->evidence =
        kb_format("%s sectors a request of %s that its bytes need", kb_plain(sectors).s, kb_plain(sectors / waste).s);
    out->step = kb_format("coalesce %s: neighbouring threads should take neighbouring elements; it uses %s of the 32 "
                          "bytes of each sector that it touches",
                          at(out, "the accesses").s, kb_plain(used).s);
}

static double narrow_loads(const struct kb_figures *f)
{
    bool coalesced = f->load_sectors >= 3 && f->load_sectors <= 4 * WASTE;
    if (f->load_bytes != 4 || !coalesced || at_dram_roof(f) || !memory_matters(f))
        return 0;
    return 0.3 + 0.3 * (isnan(pressure(f)) ? 0 : pressure(f));
}

static void say_narrow_loads(const struct kb_figures *f, struct kb_finding *out)
{
    place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    out->kinds = KB_EVIDENCE_HARDWARE | KB_EVIDENCE_COMPILED;
    out->instruction = "LDG.32";
    out->evidence = kb_format("every load takes 4 bytes a thread (%s sectors a request), and DRAM is not at its roof",
                              kb_plain(f->load_sectors).s);
    out->step = kb_format("%s loads 4 bytes a thread: load 16 (float4), a quarter of the requests for the same bytes",
                          at(out, "the kernel").s);
}

static double counted_narrow(const struct kb_figures *f)
{
    const struct kb_counted *c = &f->counted;
    double bytes = c->requests > 0 ? c->bytes / c->requests : NAN;
    bool narrow = bytes > 64 && bytes <= 128 && waste_of(c->sectors, c->bytes) < WASTE;
    return narrow ? 0.35 : 0;
}

static void say_counted_narrow(const struct kb_figures *f, struct kb_finding *out)
{
    const struct kb_counted *c = &f->counted;
    place(out, kb_counted_line(f, "bytes"));
    out->kinds = KB_EVIDENCE_COUNTED;
    out->instruction = "ld.global";
    out->evidence =
        kb_format("%s bytes a request of a warp: 4 bytes a thread, coalesced", kb_plain(c->bytes / c->requests).s);
    out->step = kb_format("%s takes 4 bytes a thread: take 16 (float4), a quarter of the requests for the same bytes",
                          at(out, "global memory").s);
}

// Latency

static double memory_wait(const struct kb_figures *f)
{
    return at_dram_roof(f) || at_least(f->l2_share, 0.7) ? 0 : f->waits[KB_WAIT_MEMORY];
}

static double occupancy(const struct kb_figures *f)
{
    return isnan(f->occupancy_achieved) ? f->occupancy : f->occupancy_achieved;
}

static bool low_occupancy(const struct kb_figures *f)
{
    return f->limited_by && strcmp(f->limited_by, "threads") != 0 && f->occupancy < LOW_OCCUPANCY;
}

static double few_warps(const struct kb_figures *f)
{
    double wait = memory_wait(f) + (isnan(f->waits[KB_WAIT_LATENCY]) ? 0 : f->waits[KB_WAIT_LATENCY]);
    return low_occupancy(f) && at_least(wait, 0.35) ? 0.3 + 0.7 * wait : 0;
}

static void say_few_warps(const struct kb_figures *f, struct kb_finding *out)
{
    place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    out->kinds = KB_EVIDENCE_SAMPLED | (isnan(f->occupancy_achieved) ? KB_EVIDENCE_COMPILED : KB_EVIDENCE_HARDWARE);
    out->evidence = kb_format("%s of the samples wait for memory while only %s of the warps fit, limited by %s",
                              kb_percent(f->waits[KB_WAIT_MEMORY]).s, kb_percent(occupancy(f)).s, f->limited_by);
    if (!strcmp(f->limited_by, "registers"))
        out->step = kb_format("%s registers a thread leave room for %s blocks of %s threads: fewer live values at %s, "
                              "or __launch_bounds__ with more blocks",
                              kb_plain(f->registers).s, kb_plain(f->blocks_per_sm).s, kb_plain(f->block_threads).s,
                              at(out, "the peak").s);
    else if (!strcmp(f->limited_by, "shared memory"))
        out->step = kb_format("%s bytes of shared memory a block leave room for %s blocks: a smaller tile, or more "
                              "threads that share it",
                              kb_plain(f->shared_bytes).s, kb_plain(f->blocks_per_sm).s);
    else
        out->step = kb_format("blocks of %s threads reach the limit of blocks before that of threads: make them larger",
                              kb_plain(f->block_threads).s);
}

static double loads_in_flight(const struct kb_figures *f)
{
    double wait = memory_wait(f);
    return at_least(wait, 0.35) ? 0.25 + 0.6 * wait : 0;
}

static void say_loads_in_flight(const struct kb_figures *f, struct kb_finding *out)
{
    place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    out->kinds = KB_EVIDENCE_SAMPLED | (isnan(f->dram_share) ? 0 : KB_EVIDENCE_TIMED | KB_EVIDENCE_HARDWARE);
    out->instruction = "LDG";
    out->evidence = kb_format("%s of the samples wait for memory, but DRAM is at %s of its peak",
                              kb_percent(f->waits[KB_WAIT_MEMORY]).s,
                              isnan(f->dram_share) ? "an unknown share" : kb_percent(f->dram_share).s);
    out->step = kb_format("more loads in flight at %s: unroll, so that several independent loads are asked for before "
                          "the first is used, or copy ahead with cp.async",
                          at(out, "the waiting loads").s);
}

static double fixed_latency(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_LATENCY];
    return at_least(wait, 0.3) ? 0.2 + 0.7 * wait : 0;
}

static void say_wait(const struct kb_figures *f, struct kb_finding *out, enum kb_wait wait, const char *verb,
                     const char *step)
{
    place(out, kb_hot_line(f, wait));
    out->kinds = KB_EVIDENCE_SAMPLED;
    out->evidence = kb_format("%s of the samples %s", kb_percent(f->waits[wait]).s, verb);
    out->step = kb_format("%s: %s", at(out, "the kernel").s, step);
}

static void say_fixed_latency(const struct kb_figures *f, struct kb_finding *out)
{
    say_wait(f, out, KB_WAIT_LATENCY, "wait the fixed time of the instruction before",
             "break the chain of dependent instructions: several accumulators, independent elements in turn");
}

static double constants(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_CONSTANT];
    return at_least(wait, 0.15) ? 0.2 + 0.8 * wait : 0;
}

static void say_constants(const struct kb_figures *f, struct kb_finding *out)
{
    say_wait(f, out, KB_WAIT_CONSTANT, "wait for constants that missed their cache",
             "index constant memory by what all threads of a warp share, or move the table to shared memory");
}

// Shared memory

static double shared_wait(const struct kb_figures *f) // 1 where there are no samples
{
    return isnan(f->waits[KB_WAIT_SHARED]) ? 1 : f->waits[KB_WAIT_SHARED];
}

static double bank_conflicts(const struct kb_figures *f)
{
    double share = f->wavefronts > 0 ? f->conflicts / f->wavefronts : NAN;
    return at_least(share, 0.2) && shared_wait(f) >= 0.1 ? 0.3 + 0.7 * share : 0;
}

static void say_bank_conflicts(const struct kb_figures *f, struct kb_finding *out)
{
    place(out, kb_hot_line(f, KB_WAIT_SHARED));
    out->kinds = KB_EVIDENCE_HARDWARE | (f->samples > 0 ? KB_EVIDENCE_SAMPLED : 0);
    out->instruction = "LDS, STS";
    out->evidence = kb_format("%s of the turns of shared memory are bank conflicts (%s of %s)",
                              kb_percent(f->conflicts / f->wavefronts).s, kb_quantity(f->conflicts, "conflicts").s,
                              kb_quantity(f->wavefronts, "turns").s);
    out->step = kb_format("%s: pad each row of the shared array by one element (or swizzle its columns), so that the "
                          "lanes of a warp hit 32 banks",
                          at(out, "shared memory").s);
}

static double counted_share(const struct kb_figures *f)
{
    double all = f->counted.conflicts + f->counted.shared_requests;
    return all > 0 ? f->counted.conflicts / all : NAN;
}

static double counted_conflicts(const struct kb_figures *f)
{
    return at_least(counted_share(f), 0.2) ? 0.3 + 0.7 * counted_share(f) : 0;
}

static void say_counted_conflicts(const struct kb_figures *f, struct kb_finding *out)
{
    const cJSON *line = kb_counted_line(f, "conflicts");
    place(out, line);
    out->kinds = KB_EVIDENCE_COUNTED;
    out->instruction = "ld.shared, st.shared";
    out->evidence = kb_format("%s requests to shared memory need %s further turns by bank conflicts",
                              kb_quantity(f->counted.shared_requests, "").s, kb_quantity(f->counted.conflicts, "").s);
    out->step = kb_format("%s: pad each row of the shared array by one element (or swizzle its columns); it alone "
                          "makes %s of the conflicts",
                          at(out, "shared memory").s,
                          kb_percent(kb_json_number(line, "conflicts", NAN) / f->counted.conflicts).s);
}

static double shared_queue(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_SHARED];
    return at_least(wait, 0.25) ? 0.2 + 0.7 * wait : 0;
}

static void say_shared_queue(const struct kb_figures *f, struct kb_finding *out)
{
    say_wait(f, out, KB_WAIT_SHARED, "wait for shared memory or its queue",
             "fewer, wider accesses to shared memory (float4), more reuse in registers, shuffles instead of a "
             "round trip");
}

static double barriers(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_BARRIER];
    return at_least(wait, 0.2) ? 0.25 + 0.7 * wait : 0;
}

static void say_barriers(const struct kb_figures *f, struct kb_finding *out)
{
    out->instruction = "BAR";
    say_wait(f, out, KB_WAIT_BARRIER, "wait at barriers",
             "fewer barriers (reduce within a warp by shuffles first), even work between warps, or smaller blocks so "
             "that others run meanwhile");
}

// Arithmetic

static double math_pipe(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_ARITHMETIC];
    return at_least(wait, 0.25) ? 0.3 + 0.7 * wait : 0;
}

static void say_math_pipe(const struct kb_figures *f, struct kb_finding *out)
{
    say_wait(f, out, KB_WAIT_ARITHMETIC, "wait for a free arithmetic pipe",
             "cheaper operations: fused multiply-add, __expf or a reciprocal where the tolerance allows, less address "
             "arithmetic");
    if (isnan(f->f32_share))
        return;
    char *with = kb_format("%s; single precision is at %s of its peak", out->evidence, kb_percent(f->f32_share).s);
    free(out->evidence);
    out->evidence = with;
    out->kinds |= KB_EVIDENCE_HARDWARE | KB_EVIDENCE_TIMED;
}

static double tensor_wait(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_TENSOR];
    return at_least(wait, 0.3) ? 0.25 + 0.7 * wait : 0;
}

static void say_tensor_wait(const struct kb_figures *f, struct kb_finding *out)
{
    say_wait(f, out, KB_WAIT_TENSOR, "wait for the tensor cores",
             "larger tiles a warp group, and the next operands loaded while these are multiplied");
}

static bool wants_double(const struct kb_figures *f)
{
    const cJSON *arg;
    cJSON_ArrayForEach(arg, f->in->args) if (!strcmp(kb_json_text(arg, "dtype", ""), "f64")) return true;
    return !f->in->args; // the types are unknown
}

static double doubles_of(const struct kb_figures *f)
{
    return f->has_facts ? f->counted.flops_f64 : f->flops_f64;
}

static double doubles(const struct kb_figures *f)
{
    double slow = f->fp32_peak / f->fp64_peak; // 2 on a data centre's GPU, 32 or 64 on others
    if (!(doubles_of(f) > 0) || wants_double(f))
        return 0;
    return at_least(slow, 8) ? 1.3 : 0.5;
}

static void say_doubles(const struct kb_figures *f, struct kb_finding *out)
{
    double single = f->has_facts ? f->counted.flops_f32 : f->flops_f32;
    out->kinds = f->has_facts ? KB_EVIDENCE_COUNTED : KB_EVIDENCE_HARDWARE;
    out->line = kb_double_line(f->in->source);
    out->file = "";
    out->instruction = "DFMA, DADD, DMUL";
    out->evidence = kb_format("%s in double beside %s in single, though no argument is f64",
                              kb_quantity(doubles_of(f), "FLOP").s, kb_quantity(single, "FLOP").s);
    out->step = kb_format("%s computes in double: write constants with f (0.5f) and take the float functions (expf)",
                          at(out, "something").s);
}

static double lanes_of(const struct kb_figures *f, unsigned *kind)
{
    bool counted = isnan(f->lanes) && f->has_facts && f->counted.instructions > 0;
    *kind = counted ? KB_EVIDENCE_COUNTED : KB_EVIDENCE_HARDWARE;
    return counted ? f->counted.lanes / f->counted.instructions : f->lanes;
}

static double divergence(const struct kb_figures *f)
{
    unsigned kind;
    double lanes = lanes_of(f, &kind);
    return lanes < 24 ? 0.3 + 0.6 * (1 - lanes / 32) : 0;
}

static void say_divergence(const struct kb_figures *f, struct kb_finding *out)
{
    double lanes = lanes_of(f, &out->kinds);
    place(out, kb_counted_line(f, "divergent"));
    out->instruction = "BRA";
    out->evidence = kb_format("%s of the 32 lanes work in an instruction", kb_plain(lanes).s);
    out->step = kb_format("%s: let whole warps go one way (a condition by warp, not by thread), and give every lane an "
                          "element",
                          at(out, "branches").s);
}

// Registers, local memory

static double spills(const struct kb_figures *f)
{
    return f->spill_bytes > 0 ? 0.45 : 0;
}

static void say_spills(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = KB_EVIDENCE_COMPILED;
    out->instruction = "LDL, STL";
    out->evidence = kb_format("%s bytes of registers are spilled to local memory at %s registers a thread%s",
                              kb_plain(f->spill_bytes).s, kb_plain(f->registers).s,
                              f->local_instructions > 0 ? " (LDL, STL in the SASS)" : "");
    out->step = kb_strdup("fewer live values: unroll less, split the kernel, or let it have more registers "
                          "(__launch_bounds__ with fewer threads or blocks)");
}

static double local_arrays(const struct kb_figures *f)
{
    return !(f->spill_bytes > 0) && (f->stack_bytes > 0 || f->counted.local_bytes > 0) ? 0.4 : 0;
}

static void say_local_arrays(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = f->counted.local_bytes > 0 ? KB_EVIDENCE_COUNTED : KB_EVIDENCE_COMPILED;
    out->instruction = "LDL, STL";
    out->evidence = f->counted.local_bytes > 0
                        ? kb_format("%s moved to and from local memory", kb_quantity(f->counted.local_bytes, "B").s)
                        : kb_format("%s bytes of stack a thread", kb_plain(f->stack_bytes).s);
    out->step = kb_strdup("an array of a thread lies in local memory: index it by constants (unroll the loop fully), "
                          "so that it becomes registers");
}

// Issue slots

static double scheduler_wait(const struct kb_figures *f)
{
    return f->waits[KB_WAIT_NOT_SELECTED] + f->waits[KB_WAIT_DISPATCH];
}

static double scheduler(const struct kb_figures *f)
{
    double wait = scheduler_wait(f);
    double score = at_least(wait, 0.3) ? 0.2 + 0.7 * wait : 0;
    return at_least(f->issue_active, ROOF) ? fmax(score, 0.2 + f->issue_active) : score;
}

static void say_scheduler(const struct kb_figures *f, struct kb_finding *out)
{
    double wait = scheduler_wait(f);
    bool busy = at_least(f->issue_active, ROOF), waits = at_least(wait, 0.3);
    out->kinds = (busy ? KB_EVIDENCE_HARDWARE : 0) | (waits ? KB_EVIDENCE_SAMPLED : 0);
    place(out, kb_hot_line(f, KB_WAIT_NOT_SELECTED));
    struct kb_text text = {0};
    if (waits)
        kb_text_addf(&text, "%s of the samples are of warps that could issue and were not chosen or dispatched",
                     kb_percent(wait).s);
    if (busy)
        kb_text_addf(&text, "%sthe schedulers issue in %s of the cycles", waits ? "; " : "",
                     kb_percent(f->issue_active).s);
    out->evidence = kb_text_take(&text);
    out->step = kb_format("%s: there are warps enough; fewer instructions an element (wider loads, unrolled address "
                          "arithmetic, packed types)",
                          at(out, "the kernel").s);
}

static double fetch(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_FETCH];
    return at_least(wait, 0.15) ? 0.3 + 0.7 * wait : 0;
}

static void say_fetch(const struct kb_figures *f, struct kb_finding *out)
{
    say_wait(f, out, KB_WAIT_FETCH, "wait for instructions or for a branch",
             "smaller code: unroll less, fewer branches in the inner loop");
}

// Launch and tail; the CPU device runs smaller cases, whose grids say nothing about a GPU's.

static double tiny_grid(const struct kb_figures *f)
{
    return f->cuda && f->blocks < f->sms ? 1.2 + (1 - f->blocks / f->sms) : 0;
}

static void say_tiny_grid(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = KB_EVIDENCE_COMPILED;
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

static double tail(const struct kb_figures *f)
{
    double waves = waves_of(f), used = waves / ceil(waves);
    return waves > 1 && used < 0.75 ? 0.4 + (1 - used) : 0;
}

static void say_tail(const struct kb_figures *f, struct kb_finding *out)
{
    double waves = waves_of(f);
    out->kinds = KB_EVIDENCE_COMPILED;
    out->evidence =
        kb_format("%s waves of blocks (%s blocks, %s at once): the last is %s full", kb_plain(waves).s,
                  kb_plain(f->blocks).s, kb_plain(f->sms * f->blocks_per_sm).s, kb_percent(waves - floor(waves)).s);
    out->step = kb_format("a grid that fits whole waves: %s blocks at once; smaller blocks, or a grid-stride loop",
                          kb_plain(f->sms * f->blocks_per_sm).s);
}

static double launch(const struct kb_figures *f)
{
    return f->time_us < SHORT_US && f->call_us > 1.5 * f->time_us ? 1.5 : 0;
}

static void say_launch(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = KB_EVIDENCE_TIMED;
    out->evidence =
        kb_format("the kernel runs %s us, a call costs %s us", kb_plain(f->time_us).s, kb_plain(f->call_us).s);
    out->step = kb_strdup("launching costs more than running: fuse with the kernel before or behind, batch several "
                          "problems in one launch, or replay a CUDA graph");
}

const struct kb_rule kb_rules[] = {
    {"dram roof", KB_LIMIT_MEMORY, dram_roof, say_dram_roof},
    {"compute roof", KB_LIMIT_ARITHMETIC, compute_roof, say_compute_roof},
    {"l2 roof", KB_LIMIT_MEMORY, l2_roof, say_l2_roof},
    {"uncoalesced loads", KB_LIMIT_MEMORY, uncoalesced_loads, say_uncoalesced_loads},
    {"uncoalesced stores", KB_LIMIT_MEMORY, uncoalesced_stores, say_uncoalesced_stores},
    {"uncoalesced, counted", KB_LIMIT_MEMORY, counted_uncoalesced, say_counted_uncoalesced},
    {"launch overhead", KB_LIMIT_LAUNCH, launch, say_launch},
    {"tiny grid", KB_LIMIT_LAUNCH, tiny_grid, say_tiny_grid},
    {"tail", KB_LIMIT_LAUNCH, tail, say_tail},
    {"double precision", KB_LIMIT_ARITHMETIC, doubles, say_doubles},
    {"few warps", KB_LIMIT_LATENCY, few_warps, say_few_warps},
    {"loads in flight", KB_LIMIT_LATENCY, loads_in_flight, say_loads_in_flight},
    {"barriers", KB_LIMIT_BARRIER, barriers, say_barriers},
    {"bank conflicts", KB_LIMIT_SHARED, bank_conflicts, say_bank_conflicts},
    {"bank conflicts, counted", KB_LIMIT_SHARED, counted_conflicts, say_counted_conflicts},
    {"shared memory queue", KB_LIMIT_SHARED, shared_queue, say_shared_queue},
    {"arithmetic pipe", KB_LIMIT_ARITHMETIC, math_pipe, say_math_pipe},
    {"tensor cores", KB_LIMIT_ARITHMETIC, tensor_wait, say_tensor_wait},
    {"fixed latency", KB_LIMIT_LATENCY, fixed_latency, say_fixed_latency},
    {"scheduler", KB_LIMIT_SCHEDULER, scheduler, say_scheduler},
    {"instruction fetch", KB_LIMIT_FETCH, fetch, say_fetch},
    {"constant cache", KB_LIMIT_LATENCY, constants, say_constants},
    {"divergence", KB_LIMIT_ARITHMETIC, divergence, say_divergence},
    {"spills", KB_LIMIT_MEMORY, spills, say_spills},
    {"local arrays", KB_LIMIT_MEMORY, local_arrays, say_local_arrays},
    {"narrow loads", KB_LIMIT_MEMORY, narrow_loads, say_narrow_loads},
    {"narrow accesses, counted", KB_LIMIT_MEMORY, counted_narrow, say_counted_narrow},
};
const int kb_rule_count = KB_COUNT(kb_rules);
