// What the run worker tells about its device, and where a time stands under its roofs.
#include "base/json.h"
#include "worker/run.h"

#include <math.h>
#include <string.h>

static void measured(cJSON *o, const char *key, double value)
{
    kb_json_measured(o, key, value, isfinite(value) ? NULL : "unknown for this device");
}
static void count(cJSON *o, const char *key, double value) // 0 means unknown in kb_device_info
{
    kb_json_measured(o, key, value, value > 0 ? NULL : "the device does not say");
}

static cJSON *peak_json(const struct kb_peaks *p)
{
    cJSON *peak = cJSON_CreateObject();
    measured(peak, "dram_bytes_per_s", p->dram_bytes_per_s);
    measured(peak, "l2_bytes_per_s", p->l2_bytes_per_s);
    measured(peak, "fp32_flops", p->fp32_flops);
    measured(peak, "fp64_flops", p->fp64_flops);
    measured(peak, "f16_tensor_flops", p->f16_tensor_flops);
    kb_json_set_text(peak, "source", p->source);
    return peak;
}

static void cpu_fields(cJSON *o, const char *like)
{
    kb_json_set_text(o, "like", like);
    kb_json_set_text(o, "reason", "kernels are executed by this machine's CPU, warp by warp");
    kb_json_set_text(o, "remedy", NULL);
}

cJSON *run_device_json(const struct run_worker *w)
{
    const struct kb_device_info *i = &w->device->info;
    bool cpu = i->kind == KB_DEVICE_CPU;
    cJSON *o = cJSON_CreateObject();
    size_t free_bytes = 0, total = 0;
    bool knows = w->device->ops->memory && w->device->ops->memory(w->device, &free_bytes, &total, NULL) == 0;
    kb_json_set_text(o, "kind", cpu ? "cpu" : "cuda");
    kb_json_set_text(o, "name", i->name);
    kb_json_set_text(o, "arch", i->arch);
    kb_json_set_text(o, "uuid", i->uuid[0] ? i->uuid : NULL);
    kb_json_set_text(o, "driver", i->driver[0] ? i->driver : NULL);
    count(o, "sm_count", i->sm_count);
    count(o, "memory_bytes", (double)i->memory_bytes);
    count(o, "l2_bytes", (double)i->l2_bytes);
    count(o, "clock_mhz", i->clock_khz / 1000.0);
    kb_json_measured(o, "free_bytes", (double)free_bytes, knows ? NULL : "the device does not say");
    kb_json_set_bool(o, "exclusive_process", i->exclusive_process);
    kb_json_set_number(o, "mps", i->mps);
    if (cpu)
        cpu_fields(o, w->like);
    kb_json_set(o, "peak", peak_json(&w->peaks));
    return o;
}

static double evaluated(const struct run_worker *w, const struct kb_case_data *c, const char *expression)
{
    struct kb_names names = {0};
    double value = NAN;
    if (expression && !kb_case_names(w->data.bench, c->index, w->data.on_cpu, NULL, &names, NULL) &&
        kb_expr_eval_real(expression, &names, &value, NULL))
        value = NAN;
    kb_names_free(&names);
    return value;
}

static int operand_bits(const struct kb_bench *b)
{
    int least = 0;
    for (int i = 0; i < b->arg_count; i++) {
        const struct kb_arg *a = &b->args[i];
        int bits = 8 * (int)kb_dtype_bytes(a->dtype);
        bool counts = kb_arg_is_read(a->role) && (kb_dtype_is_float(a->dtype) || bits == 8);
        if (counts && (!least || bits < least))
            least = bits;
    }
    return least;
}

struct kb_work run_work(const struct run_worker *w, const struct kb_case_data *c)
{
    const struct kb_bench *b = w->data.bench;
    return (struct kb_work){.flops = evaluated(w, c, b->flops),
                            .bytes = evaluated(w, c, b->bytes),
                            .source = "declared",
                            .operand_bits = operand_bits(b)};
}

cJSON *run_roofline_json(const struct run_worker *w, const struct kb_work *work, double time_us, bool cold)
{
    struct kb_roofline_point p;
    cJSON *o = cJSON_CreateObject();
    bool timed = !isnan(time_us), known = isfinite(work->flops) || isfinite(work->bytes);
    const char *untimed = timed ? NULL : "not timed";
    kb_roofline_place(work, &w->peaks, &w->roofs, timed ? time_us : 1e12, cold, &p);
    kb_json_measured(o, "flops", work->flops, isfinite(work->flops) ? NULL : "the bench declares none");
    kb_json_measured(o, "bytes", work->bytes, isfinite(work->bytes) ? NULL : "the bench declares none");
    kb_json_measured(o, "intensity", p.intensity, isfinite(p.intensity) ? NULL : "flops or bytes are unknown, or 0");
    kb_json_measured(o, "attained_flops", p.attained_flops,
                     untimed                      ? untimed
                     : isfinite(p.attained_flops) ? NULL
                                                  : "unknown flops");
    kb_json_measured(o, "attained_bytes_per_s", p.attained_bytes_per_s,
                     untimed                            ? untimed
                     : isfinite(p.attained_bytes_per_s) ? NULL
                                                        : "unknown bytes");
    kb_json_set_text(o, "bound", p.bound);
    kb_json_measured(o, "share", p.share, untimed ? untimed : isfinite(p.share) ? NULL : "no roof is known");
    kb_json_measured(o, "floor_us", p.floor_us, known && isfinite(p.floor_us) ? NULL : "work or peak is unknown");
    kb_json_set_bool(o, "impossible", timed && p.impossible);
    if (timed && p.impossible)
        kb_json_set_text(o, "impossible_reason", p.impossible_why);
    kb_json_set_text(o, "source", known ? work->source : NULL);
    return o;
}
