// Rules about memory: its roofs, how it is asked, what lies in local memory.
#include "base/memory.h"
#include "loop/advice_rules.h"
#include "loop/quantity.h"

#include <math.h>

#define WASTE 1.5         // more sectors than needed by this factor: not coalesced
#define SECTOR_BYTES 32.0 // what memory moves at least, at once

// At the roofs

double kb_rule_dram_roof(const struct kb_figures *f)
{
    return kb_at_dram_roof(f) ? 2 + (isnan(f->dram_share) ? f->share : f->dram_share) : 0;
}

void kb_say_dram_roof(const struct kb_figures *f, struct kb_finding *out)
{
    bool hardware = !isnan(f->dram_share);
    out->kinds = KB_EVIDENCE_TIMED | (hardware ? KB_EVIDENCE_HARDWARE : 0);
    out->instruction = "LDG, STG";
    kb_place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    kb_cite(out, "dram_bytes_per_s", f->dram_rate);
    kb_cite(out, "dram_share", f->dram_share);
    kb_cite(out, "dram_bytes", f->dram_bytes);
    kb_cite(out, "needed_bytes", f->work_bytes);
    kb_cite(out, "roof_share", f->share);
    out->evidence = hardware
                        ? kb_format("DRAM moves %s, %s of its peak of %s", kb_quantity(f->dram_rate, "B/s").s,
                                    kb_percent(f->dram_share).s, kb_quantity(f->dram_peak, "B/s").s)
                        : kb_format("the run is at %s of the memory roof over its intensity", kb_percent(f->share).s);
    if (kb_at_least(f->dram_bytes, 1.2 * f->work_bytes))
        out->step = kb_format("move fewer bytes: DRAM moves %s where the bench needs %s; read each element once and "
                              "keep it in registers or shared memory",
                              kb_quantity(f->dram_bytes, "B").s, kb_quantity(f->work_bytes, "B").s);
    else
        out->step = kb_strdup("at the roof: move fewer bytes (a narrower type, or fuse with the kernel before or "
                              "behind); nothing else makes it faster");
}

double kb_rule_l2_roof(const struct kb_figures *f)
{
    return kb_at_least(f->l2_share, 0.7) && !kb_at_dram_roof(f) ? 1.2 + f->l2_share : 0;
}

void kb_say_l2_roof(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = KB_EVIDENCE_TIMED | KB_EVIDENCE_HARDWARE;
    out->instruction = "LDG, STG";
    kb_place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    kb_cite(out, "l2_bytes_per_s", f->l2_rate);
    kb_cite(out, "l2_share", f->l2_share);
    out->evidence =
        kb_format("the L2 serves %s, %s of its peak", kb_quantity(f->l2_rate, "B/s").s, kb_percent(f->l2_share).s);
    out->step = kb_strdup("ask the L2 for less: tile through shared memory or registers, so that a block reads each "
                          "element once");
}

// Accesses to global memory

// Sectors that a request of whole warps needs: 32 lanes of so many bytes. Without SASS the widest that there is.
static double needed_sectors(double bytes)
{
    return isnan(bytes) ? 16 : fmax(bytes, 1) * 32 / SECTOR_BYTES;
}

static double uncoalesced(const struct kb_figures *f, double sectors, double bytes)
{
    double waste = 1 - needed_sectors(bytes) / sectors, p = kb_pressure(f);
    if (!kb_at_least(sectors, WASTE * needed_sectors(bytes)) || !kb_memory_matters(f))
        return 0;
    return (kb_at_dram_roof(f) ? 3 : 1) + waste * (isnan(p) ? 0.5 : p);
}

static void say_uncoalesced(const struct kb_figures *f, struct kb_finding *out, bool store)
{
    double sectors = store ? f->store_sectors : f->load_sectors, bytes = store ? f->store_bytes : f->load_bytes;
    const char *what = store ? "stores" : "loads";
    out->kinds = KB_EVIDENCE_HARDWARE | (isnan(bytes) ? 0 : KB_EVIDENCE_COMPILED) |
                 (f->samples > 0 && !store ? KB_EVIDENCE_SAMPLED : 0);
    out->instruction = store ? "STG" : "LDG";
    if (!store)
        kb_place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    kb_cite(out, "sectors_per_request", sectors);
    kb_cite(out, "sectors_needed", needed_sectors(bytes));
    kb_cite(out, "bytes_per_thread", bytes);
    out->evidence = kb_format("global %s take %s sectors a request where %s%s would do", what, kb_plain(sectors).s,
                              isnan(bytes) ? "at most " : "", kb_plain(needed_sectors(bytes)).s);
    out->step = kb_format("coalesce the %s (%s): neighbouring threads should %s neighbouring elements; now a request "
                          "touches %s sectors of %s",
                          what, kb_at(out, store ? "STG" : "LDG").s, store ? "write" : "read", kb_plain(sectors).s,
                          kb_plain(needed_sectors(bytes)).s);
}

double kb_rule_uncoalesced_loads(const struct kb_figures *f)
{
    return uncoalesced(f, f->load_sectors, f->load_bytes);
}

void kb_say_uncoalesced_loads(const struct kb_figures *f, struct kb_finding *out)
{
    say_uncoalesced(f, out, false);
}

double kb_rule_uncoalesced_stores(const struct kb_figures *f)
{
    return 0.95 * uncoalesced(f, f->store_sectors, f->store_bytes);
}

void kb_say_uncoalesced_stores(const struct kb_figures *f, struct kb_finding *out)
{
    say_uncoalesced(f, out, true);
}

static double waste_of(double sectors, double bytes) // times as many sectors as the bytes need
{
    return bytes > 0 ? SECTOR_BYTES * sectors / bytes : NAN;
}

double kb_rule_counted_uncoalesced(const struct kb_figures *f)
{
    double waste = waste_of(f->counted.sectors, f->counted.bytes);
    return kb_at_least(waste, WASTE) ? 1 + 0.5 * (1 - 1 / waste) : 0;
}

void kb_say_counted_uncoalesced(const struct kb_figures *f, struct kb_finding *out)
{
    const struct kb_counted *c = &f->counted;
    const struct kb_ev_line_counts *line = KB_COUNTED_LINE(f, sectors);
    double sectors = c->requests > 0 ? c->sectors / c->requests : NAN, waste = waste_of(c->sectors, c->bytes);
    double used = line->bytes / line->sectors;
    out->kinds = KB_EVIDENCE_COUNTED;
    out->instruction = "ld.global, st.global";
    kb_place(out, line);
    kb_cite(out, "sectors_per_request", sectors);
    kb_cite(out, "sectors_needed", sectors / waste);
    kb_cite(out, "bytes_used_per_sector", used);
    out->evidence =
        kb_format("%s sectors a request of %s that its bytes need", kb_plain(sectors).s, kb_plain(sectors / waste).s);
    out->step = kb_format("coalesce %s: neighbouring threads should take neighbouring elements; it uses %s of the 32 "
                          "bytes of each sector that it touches",
                          kb_at(out, "the accesses").s, kb_plain(used).s);
}

double kb_rule_narrow_loads(const struct kb_figures *f)
{
    bool coalesced = f->load_sectors >= 3 && f->load_sectors <= 4 * WASTE;
    if (f->load_bytes != 4 || !coalesced || kb_at_dram_roof(f) || !kb_memory_matters(f))
        return 0;
    return 0.3 + 0.3 * (isnan(kb_pressure(f)) ? 0 : kb_pressure(f));
}

void kb_say_narrow_loads(const struct kb_figures *f, struct kb_finding *out)
{
    kb_place(out, kb_hot_line(f, KB_WAIT_MEMORY));
    out->kinds = KB_EVIDENCE_HARDWARE | KB_EVIDENCE_COMPILED;
    out->instruction = "LDG.32";
    kb_cite(out, "bytes_per_thread", f->load_bytes);
    kb_cite(out, "sectors_per_request", f->load_sectors);
    kb_cite(out, "dram_share", f->dram_share);
    out->evidence = kb_format("every load takes 4 bytes a thread (%s sectors a request), and DRAM is not at its roof",
                              kb_plain(f->load_sectors).s);
    out->step = kb_format("%s loads 4 bytes a thread: load 16 (float4), a quarter of the requests for the same bytes",
                          kb_at(out, "the kernel").s);
}

double kb_rule_counted_narrow(const struct kb_figures *f)
{
    const struct kb_counted *c = &f->counted;
    double bytes = c->requests > 0 ? c->bytes / c->requests : NAN;
    bool narrow = bytes > 64 && bytes <= 128 && waste_of(c->sectors, c->bytes) < WASTE;
    return narrow ? 0.35 : 0;
}

void kb_say_counted_narrow(const struct kb_figures *f, struct kb_finding *out)
{
    const struct kb_counted *c = &f->counted;
    const struct kb_ev_line_counts *line = KB_COUNTED_LINE(f, bytes);
    kb_place(out, line);
    out->kinds = KB_EVIDENCE_COUNTED;
    out->instruction = "ld.global";
    kb_cite(out, "bytes_per_request", c->bytes / c->requests);
    out->evidence =
        kb_format("%s bytes a request of a warp: 4 bytes a thread, coalesced", kb_plain(c->bytes / c->requests).s);
    out->step = kb_format("%s takes 4 bytes a thread: take 16 (float4), a quarter of the requests for the same bytes",
                          kb_at(out, "global memory").s);
}

// Registers, local memory

double kb_rule_spills(const struct kb_figures *f)
{
    return f->spill_bytes > 0 ? 0.45 : 0;
}

void kb_say_spills(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = KB_EVIDENCE_COMPILED;
    out->instruction = "LDL, STL";
    kb_cite(out, "spill_bytes", f->spill_bytes);
    kb_cite(out, "registers", f->registers);
    out->evidence = kb_format("%s bytes of registers are spilled to local memory at %s registers a thread%s",
                              kb_plain(f->spill_bytes).s, kb_plain(f->registers).s,
                              f->local_instructions > 0 ? " (LDL, STL in the SASS)" : "");
    out->step = kb_strdup("fewer live values: unroll less, split the kernel, or let it have more registers "
                          "(__launch_bounds__ with fewer threads or blocks)");
}

double kb_rule_local_arrays(const struct kb_figures *f)
{
    return !(f->spill_bytes > 0) && (f->stack_bytes > 0 || f->counted.local_bytes > 0) ? 0.4 : 0;
}

void kb_say_local_arrays(const struct kb_figures *f, struct kb_finding *out)
{
    out->kinds = f->counted.local_bytes > 0 ? KB_EVIDENCE_COUNTED : KB_EVIDENCE_COMPILED;
    out->instruction = "LDL, STL";
    kb_cite(out, "local_bytes", f->counted.local_bytes);
    kb_cite(out, "stack_bytes", f->stack_bytes);
    out->evidence = f->counted.local_bytes > 0
                        ? kb_format("%s moved to and from local memory", kb_quantity(f->counted.local_bytes, "B").s)
                        : kb_format("%s bytes of stack a thread", kb_plain(f->stack_bytes).s);
    out->step = kb_strdup("an array of a thread lies in local memory: index it by constants (unroll the loop fully), "
                          "so that it becomes registers");
}
