#include "worker/run_timing_json.h"
#include "base/json.h"

#include <math.h>

static void summary(cJSON *event, const char *key, bool has, const struct kb_summary *s)
{
    if (!has || s->samples < 1) {
        kb_json_measured(event, key, NAN, "not measured in this stage");
        return;
    }
    cJSON *o = cJSON_CreateObject();
    kb_json_measured(o, "median_us", s->median, NULL);
    kb_json_measured(o, "low_us", s->low, isfinite(s->low) ? NULL : "too few samples");
    kb_json_measured(o, "high_us", s->high, isfinite(s->high) ? NULL : "too few samples");
    kb_json_set_number(o, "samples", s->samples);
    kb_json_set_number(o, "outliers", s->outliers);
    kb_json_set_bool(o, "drifting", s->drifting);
    kb_json_set(event, key, o);
}

static cJSON *histogram_json(const struct kb_timing_result *r)
{
    bool cold = r->has_cold;
    if (!(cold ? r->cold_count : r->warm_count))
        return cJSON_CreateNull();
    struct kb_histogram h;
    kb_histogram_of(cold ? r->cold_samples : r->warm_samples, cold ? r->cold_count : r->warm_count, &h);
    cJSON *o = cJSON_CreateObject();
    kb_json_measured(o, "low_us", h.low, NULL);
    kb_json_measured(o, "high_us", h.high, NULL);
    kb_json_set(o, "counts", cJSON_CreateIntArray(h.counts, KB_HISTOGRAM_BINS));
    return o;
}

void run_timing_json(cJSON *event, const struct kb_timing_result *r, const struct kb_variant *variant)
{
    cJSON *launches = cJSON_CreateArray();
    summary(event, "cold", r->has_cold, &r->cold);
    summary(event, "warm", r->has_warm, &r->warm);
    kb_json_measured(event, "call_us", r->has_warm ? r->call_us : NAN,
                     r->has_warm ? NULL : "not measured in this stage");
    kb_json_measured(event, "events_us", r->events_us, isfinite(r->events_us) ? NULL : "not measured");
    if (isfinite(r->events_us))
        kb_json_set_bool(event, "events_disagree", r->events_disagree);
    for (int i = 0; i < variant->launch_count && i < KB_MAX_LAUNCHES; i++) {
        cJSON *o = cJSON_CreateObject();
        kb_json_set_text(o, "kernel", variant->launches[i].kernel);
        kb_json_measured(o, "median_us", r->launch_us[i], isfinite(r->launch_us[i]) ? NULL : "no record");
        cJSON_AddItemToArray(launches, o);
    }
    kb_json_set(event, "launches", launches);
    kb_json_set_text(event, "source", r->source);
    if (r->source_reason[0])
        kb_json_set_text(event, "source_reason", r->source_reason);
    kb_json_measured(event, "clock_mhz", r->clock_mhz, isfinite(r->clock_mhz) ? NULL : "not read");
    kb_json_measured(event, "clock_low_mhz", r->clock_low_mhz, isfinite(r->clock_low_mhz) ? NULL : "not read");
    kb_json_set_number(event, "throttled", r->throttled);
    kb_json_set_bool(event, "throttled_kept", r->throttled_kept);
    kb_json_set_number(event, "batch", r->batch);
    kb_json_set_number(event, "lost_records", r->lost_records);
    kb_json_set(event, "histogram", histogram_json(r));
}
