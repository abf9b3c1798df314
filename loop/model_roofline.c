// A version's place under the roofs, from what the hardware counted.
#include "base/memory.h"
#include "loop/model.h"

#include <math.h>
#include <string.h>

bool kb_model_tensor_types(const struct kb_model *m)
{
    static const char *const types[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "i8", "u8"};
    const struct kb_ev_bench *bench = kb_model_bench(m);
    for (int k = 0; k < bench->args_count; k++)
        for (size_t i = 0; i < KB_COUNT(types); i++)
            if (!strcmp(bench->args[k].dtype ?: "", types[i]))
                return true;
    return false;
}

// Over all types: unknown if one of them is.
static double counted_flops(const struct kb_ev_counters *c)
{
    static const char *const names[] = {"flops_f32", "flops_f64", "flops_f16", "flops_tensor"};
    double sum = 0;
    for (size_t i = 0; i < KB_COUNT(names); i++)
        sum += kb_named_value(c->metrics, c->metrics_count, names[i]);
    return sum;
}

bool kb_model_counted_roofline(const struct kb_model *m, const struct kb_model_version *v, struct kb_ev_roofline *out)
{
    const struct kb_ev_counters *c = v && v->counters ? v->counters : &kb_unknown_counters;
    double bytes = kb_named_value(c->metrics, c->metrics_count, "dram_bytes"), us = v ? v->cold_us : NAN;
    *out = kb_unknown_roofline;
    if (!isfinite(bytes) || !isfinite(us) || us <= 0)
        return false;
    double flops = counted_flops(c), peak = c->peaks ? c->peaks->dram_bytes_per_s : NAN;
    char *source = "counters", *why = NULL;
    if (!isfinite(flops)) {
        flops = KB_WITHIN(m->session, work, work)->flops;
        source = isfinite(flops) ? "declared" : "unknown";
        why = isfinite(flops) ? NULL : "neither counted nor declared";
    }
    out->flops = flops;
    out->attained_flops = flops / us * 1e6;
    out->flops_reason = out->attained_flops_reason = why;
    out->flops_source = source;
    out->bytes = bytes;
    out->intensity = bytes > 0 ? flops / bytes : NAN;
    out->intensity_reason = bytes > 0 || why ? why : "no bytes reach DRAM";
    out->attained_bytes_per_s = bytes / us * 1e6;
    out->share = bytes / us * 1e6 / peak;
    out->share_reason = isfinite(peak) ? NULL : "the peak of DRAM is unknown";
    out->source = "counters";
    return true;
}
