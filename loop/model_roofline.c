// A version's place under the roofs, from what the hardware counted.
#include "base/json.h"
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

static double metric(const struct kb_ev_counters *c, const char *name)
{
    return kb_named_value(c->metrics, c->metrics_count, name);
}

cJSON *kb_model_counted_roofline(const struct kb_model *m, const struct kb_model_version *v)
{
    const struct kb_ev_counters *c = v && v->counters ? v->counters : &kb_unknown_counters;
    double bytes = metric(c, "dram_bytes"), us = v ? v->cold_us : NAN;
    if (!isfinite(bytes) || !isfinite(us) || us <= 0)
        return NULL;
    double flops = metric(c, "flops_f32") + metric(c, "flops_f64") + metric(c, "flops_f16") + metric(c, "flops_tensor");
    double peak = (c->peaks ?: &kb_unknown_peaks)->dram_bytes_per_s;
    bool counted = isfinite(flops);
    if (!counted)
        flops = m->session && m->session->work ? m->session->work->flops : NAN;
    const char *why = isfinite(flops) ? bytes > 0 ? NULL : "no bytes reach DRAM" : "neither counted nor declared";
    cJSON *item = cJSON_CreateObject();
    kb_json_measured(item, "flops", flops, isfinite(flops) ? NULL : why);
    kb_json_set_text(item, "flops_source", !isfinite(flops) ? "unknown" : counted ? "counters" : "declared");
    kb_json_set_number(item, "bytes", bytes);
    kb_json_measured(item, "intensity", bytes > 0 ? flops / bytes : NAN, why);
    kb_json_measured(item, "attained_flops", flops / us * 1e6, isfinite(flops) ? NULL : why);
    kb_json_set_number(item, "attained_bytes_per_s", bytes / us * 1e6);
    kb_json_measured(item, "share", bytes / us * 1e6 / peak, isfinite(peak) ? NULL : "the peak of DRAM is unknown");
    kb_json_set_text(item, "source", "counters");
    return item;
}
