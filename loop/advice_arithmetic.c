// Rules about arithmetic: its roof, its pipes, doubles, idle lanes.
#include "base/memory.h"
#include "loop/advice_rules.h"
#include "loop/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double compute_share(const struct kb_figures *f)
{
    double share = fmax(f->f32_share, fmax(f->f64_share, f->tensor_share));
    return isnan(share) && f->compute_bound ? f->share : share;
}

double kb_rule_compute_roof(const struct kb_figures *f)
{
    return kb_at_least(compute_share(f), KB_AT_ROOF) ? 2 + compute_share(f) : 0;
}

void kb_say_compute_roof(const struct kb_figures *f, struct kb_finding *out)
{
    double share = compute_share(f);
    const char *unit = share == f->tensor_share ? "the tensor cores are busy"
                       : share == f->f64_share  ? "double precision is"
                                                : "single precision is";
    bool hardware = !isnan(fmax(f->f32_share, fmax(f->f64_share, f->tensor_share)));
    out->kinds = KB_EVIDENCE_TIMED | (hardware ? KB_EVIDENCE_HARDWARE : 0);
    out->instruction = share == f->tensor_share ? "HMMA, HGMMA" : share == f->f64_share ? "DFMA" : "FFMA";
    kb_place(out, kb_hot_line(f, share == f->tensor_share ? KB_WAIT_TENSOR : KB_WAIT_ARITHMETIC));
    kb_cite(out, "share", share);
    if (!hardware)
        out->evidence = kb_format("the run is at %s of the arithmetic roof over its intensity", kb_percent(share).s);
    else
        out->evidence = kb_format("%s at %s of the peak", unit, kb_percent(share).s);
    out->step = kb_strdup(share == f->tensor_share ? "at the roof of the tensor cores: a narrower type, or less work"
                                                   : "at the arithmetic roof: fewer operations an element, a narrower "
                                                     "type, or tensor cores where it is a matrix product");
}

double kb_rule_math_pipe(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_ARITHMETIC];
    return kb_at_least(wait, 0.25) ? 0.3 + 0.7 * wait : 0;
}

void kb_say_math_pipe(const struct kb_figures *f, struct kb_finding *out)
{
    kb_say_wait(
        f, out, KB_WAIT_ARITHMETIC, "wait for a free arithmetic pipe",
        "cheaper operations: fused multiply-add, __expf or a reciprocal where the tolerance allows, less address "
        "arithmetic");
    if (isnan(f->f32_share))
        return;
    char *with = kb_format("%s; single precision is at %s of its peak", out->evidence, kb_percent(f->f32_share).s);
    free(out->evidence);
    out->evidence = with;
    out->kinds |= KB_EVIDENCE_HARDWARE | KB_EVIDENCE_TIMED;
}

double kb_rule_tensor_wait(const struct kb_figures *f)
{
    double wait = f->waits[KB_WAIT_TENSOR];
    return kb_at_least(wait, 0.3) ? 0.25 + 0.7 * wait : 0;
}

void kb_say_tensor_wait(const struct kb_figures *f, struct kb_finding *out)
{
    kb_say_wait(f, out, KB_WAIT_TENSOR, "wait for the tensor cores",
                "larger tiles a warp group, and the next operands loaded while these are multiplied");
}

static bool wants_double(const struct kb_figures *f)
{
    const struct kb_ev_bench *bench = f->in->bench;
    for (int i = 0; bench && i < bench->args_count; i++)
        if (!strcmp(bench->args[i].dtype ?: "", "f64"))
            return true;
    return !bench; // the types are unknown
}

static double doubles_of(const struct kb_figures *f)
{
    return f->has_facts ? f->counted.flops_f64 : f->flops_f64;
}

double kb_rule_doubles(const struct kb_figures *f)
{
    double slow = f->fp32_peak / f->fp64_peak; // 2 on a data centre's GPU, 32 or 64 on others
    if (!(doubles_of(f) > 0) || wants_double(f))
        return 0;
    return kb_at_least(slow, 8) ? 1.3 : 0.5;
}

void kb_say_doubles(const struct kb_figures *f, struct kb_finding *out)
{
    double single = f->has_facts ? f->counted.flops_f32 : f->flops_f32;
    out->kinds = f->has_facts ? KB_EVIDENCE_COUNTED : KB_EVIDENCE_HARDWARE;
    out->line = kb_double_line(f->in->source);
    out->file = "";
    out->instruction = "DFMA, DADD, DMUL";
    kb_cite(out, "flops_f64", doubles_of(f));
    kb_cite(out, "flops_f32", single);
    out->evidence = kb_format("%s in double beside %s in single, though no argument is f64",
                              kb_quantity(doubles_of(f), "FLOP").s, kb_quantity(single, "FLOP").s);
    out->step = kb_format("%s computes in double: write constants with f (0.5f) and take the float functions (expf)",
                          kb_at(out, "something").s);
}

static double lanes_of(const struct kb_figures *f, unsigned *kind)
{
    bool counted = isnan(f->lanes) && f->has_facts && f->counted.instructions > 0;
    *kind = counted ? KB_EVIDENCE_COUNTED : KB_EVIDENCE_HARDWARE;
    return counted ? f->counted.lanes / f->counted.instructions : f->lanes;
}

double kb_rule_divergence(const struct kb_figures *f)
{
    unsigned kind;
    double lanes = lanes_of(f, &kind);
    return lanes < 24 ? 0.3 + 0.6 * (1 - lanes / 32) : 0;
}

void kb_say_divergence(const struct kb_figures *f, struct kb_finding *out)
{
    double lanes = lanes_of(f, &out->kinds);
    const struct kb_ev_line_counts *line = KB_COUNTED_LINE(f, divergent);
    kb_place(out, line);
    out->instruction = "BRA";
    kb_cite(out, "lanes", lanes);
    out->evidence = kb_format("%s of the 32 lanes work in an instruction", kb_plain(lanes).s);
    out->step = kb_format("%s: let whole warps go one way (a condition by warp, not by thread), and give every lane an "
                          "element",
                          kb_at(out, "branches").s);
}
