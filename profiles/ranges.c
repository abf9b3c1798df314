#include "profiles/ranges.h"
#include "base/clock.h"
#include "base/memory.h"
#include "profiles/cupti.h"

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PASSES = 256, KEPT = 4 };

const char *const kb_range_steps[KB_RANGE_STEPS] = {"chip",  "config", "enable", "data",     "set_config",
                                                    "start", "passes", "decode", "evaluate", "disable"};

#define PARAMS(type, ...)                                                                                              \
    {                                                                                                                  \
        .structSize = type##_STRUCT_SIZE, __VA_ARGS__                                                                  \
    }

static struct {
    CUptiResult (*initialize)(CUpti_Profiler_Initialize_Params *);
    CUptiResult (*chip_name)(CUpti_Device_GetChipName_Params *);
    CUptiResult (*availability)(CUpti_Profiler_GetCounterAvailability_Params *);
    CUptiResult (*host_open)(CUpti_Profiler_Host_Initialize_Params *);
    CUptiResult (*host_close)(CUpti_Profiler_Host_Deinitialize_Params *);
    CUptiResult (*properties)(CUpti_Profiler_Host_GetMetricProperties_Params *);
    CUptiResult (*add)(CUpti_Profiler_Host_ConfigAddMetrics_Params *);
    CUptiResult (*config_size)(CUpti_Profiler_Host_GetConfigImageSize_Params *);
    CUptiResult (*config)(CUpti_Profiler_Host_GetConfigImage_Params *);
    CUptiResult (*passes)(CUpti_Profiler_Host_GetNumOfPasses_Params *);
    CUptiResult (*evaluate)(CUpti_Profiler_Host_EvaluateToGpuValues_Params *);
    CUptiResult (*enable)(CUpti_RangeProfiler_Enable_Params *);
    CUptiResult (*disable)(CUpti_RangeProfiler_Disable_Params *);
    CUptiResult (*data_size)(CUpti_RangeProfiler_GetCounterDataSize_Params *);
    CUptiResult (*data_init)(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *);
    CUptiResult (*data_info)(CUpti_RangeProfiler_GetCounterDataInfo_Params *);
    CUptiResult (*set_config)(CUpti_RangeProfiler_SetConfig_Params *);
    CUptiResult (*start)(CUpti_RangeProfiler_Start_Params *);
    CUptiResult (*stop)(CUpti_RangeProfiler_Stop_Params *);
    CUptiResult (*push)(CUpti_RangeProfiler_PushRange_Params *);
    CUptiResult (*pop)(CUpti_RangeProfiler_PopRange_Params *);
    CUptiResult (*decode)(CUpti_RangeProfiler_DecodeData_Params *);
} cupti;

static int load(struct kb_error *e)
{
    static bool loaded;
    const struct kb_cupti_symbol symbols[] = {
        {&cupti.initialize, "cuptiProfilerInitialize"},
        {&cupti.chip_name, "cuptiDeviceGetChipName"},
        {&cupti.availability, "cuptiProfilerGetCounterAvailability"},
        {&cupti.host_open, "cuptiProfilerHostInitialize"},
        {&cupti.host_close, "cuptiProfilerHostDeinitialize"},
        {&cupti.properties, "cuptiProfilerHostGetMetricProperties"},
        {&cupti.add, "cuptiProfilerHostConfigAddMetrics"},
        {&cupti.config_size, "cuptiProfilerHostGetConfigImageSize"},
        {&cupti.config, "cuptiProfilerHostGetConfigImage"},
        {&cupti.passes, "cuptiProfilerHostGetNumOfPasses"},
        {&cupti.evaluate, "cuptiProfilerHostEvaluateToGpuValues"},
        {&cupti.enable, "cuptiRangeProfilerEnable"},
        {&cupti.disable, "cuptiRangeProfilerDisable"},
        {&cupti.data_size, "cuptiRangeProfilerGetCounterDataSize"},
        {&cupti.data_init, "cuptiRangeProfilerCounterDataImageInitialize"},
        {&cupti.data_info, "cuptiRangeProfilerGetCounterDataInfo"},
        {&cupti.set_config, "cuptiRangeProfilerSetConfig"},
        {&cupti.start, "cuptiRangeProfilerStart"},
        {&cupti.stop, "cuptiRangeProfilerStop"},
        {&cupti.push, "cuptiRangeProfilerPushRange"},
        {&cupti.pop, "cuptiRangeProfilerPopRange"},
        {&cupti.decode, "cuptiRangeProfilerDecodeData"},
    };
    if (!loaded && kb_cupti_symbols(symbols, KB_COUNT(symbols), e))
        return -1;
    loaded = true;
    return 0;
}

static int check(CUptiResult code, const char *step, struct kb_error *e)
{
    return code == CUPTI_SUCCESS ? 0 : kb_cupti_refuse((int)code, step, e);
}

struct chip {
    char name[64];
    uint8_t *availability; // NULL: what the chip's model has
};
struct config { // metrics that can be measured, and how
    CUpti_Profiler_Host_Object *host;
    const char *metrics[KB_RANGE_METRICS];
    int place[KB_RANGE_METRICS]; // in the metrics asked for
    int count, passes;
    uint8_t *image, *data; // data: what the counts go to
    size_t image_bytes, data_bytes;
};
struct asked { // metrics as they were asked for, with their configuration
    const char *metrics[KB_RANGE_METRICS], *why[KB_RANGE_METRICS];
    int count;
    struct config config;
};

// All of it depends on the chip and the metrics alone.
static struct {
    struct kb_device *device;
    struct chip chip;
    struct asked asked[KEPT];
    int count;
} kept;

static int open_host(const struct chip *chip, CUpti_Profiler_Host_Object **host, struct kb_error *e)
{
    CUpti_Profiler_Host_Initialize_Params p =
        PARAMS(CUpti_Profiler_Host_Initialize_Params, .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
               .pChipName = chip->name, .pCounterAvailabilityImage = chip->availability);
    CUptiResult code = cupti.host_open(&p);
    *host = p.pHostObject;
    if (code == CUPTI_SUCCESS)
        return 0;
    kb_cupti_refuse((int)code, "cuptiProfilerHostInitialize", NULL);
    return kb_fail(e, chip->name, "a newer CUPTI may know it",
                   "CUPTI has no counters for this chip (CUPTI error %d from cuptiProfilerHostInitialize)", code);
}

static void close_host(CUpti_Profiler_Host_Object *host)
{
    CUpti_Profiler_Host_Deinitialize_Params p = PARAMS(CUpti_Profiler_Host_Deinitialize_Params, .pHostObject = host);
    if (host)
        cupti.host_close(&p);
}

static bool add_metrics(CUpti_Profiler_Host_Object *host, const char **metrics, int count)
{
    CUpti_Profiler_Host_ConfigAddMetrics_Params p =
        PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, .pHostObject = host, .ppMetricNames = metrics,
               .numMetrics = (size_t)count);
    return cupti.add(&p) == CUPTI_SUCCESS;
}

static bool has_metric(CUpti_Profiler_Host_Object *host, const char *metric)
{
    CUpti_Profiler_Host_GetMetricProperties_Params p =
        PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, .pHostObject = host, .pMetricName = metric);
    return cupti.properties(&p) == CUPTI_SUCCESS;
}

// Each added alone, to a host object of its own: one that cannot be scheduled must not cost the others.
static bool can_schedule(const struct chip *chip, const char *metric)
{
    CUpti_Profiler_Host_Object *host;
    if (open_host(chip, &host, NULL))
        return false;
    bool can = add_metrics(host, &metric, 1);
    close_host(host);
    return can;
}

static void close_config(struct config *c)
{
    close_host(c->host);
    free(c->image);
    free(c->data);
    *c = (struct config){0};
}

static int make_image(struct config *c, struct kb_error *e)
{
    CUpti_Profiler_Host_GetConfigImageSize_Params size =
        PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, .pHostObject = c->host);
    if (check(cupti.config_size(&size), "cuptiProfilerHostGetConfigImageSize", e))
        return -1;
    c->image_bytes = size.configImageSize;
    c->image = kb_alloc(c->image_bytes + 1);
    CUpti_Profiler_Host_GetConfigImage_Params image =
        PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, .pHostObject = c->host, .configImageSize = c->image_bytes,
               .pConfigImage = c->image);
    CUpti_Profiler_Host_GetNumOfPasses_Params passes =
        PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, .configImageSize = c->image_bytes, .pConfigImage = c->image);
    if (check(cupti.config(&image), "cuptiProfilerHostGetConfigImage", e) ||
        check(cupti.passes(&passes), "cuptiProfilerHostGetNumOfPasses", e))
        return -1;
    c->passes = (int)passes.numOfPasses;
    return 0;
}

// why: of each metric that is left out.
static int make_config(const struct chip *chip, const char *const *metrics, int count, const char **why,
                       struct config *c, struct kb_error *e)
{
    *c = (struct config){0};
    if (open_host(chip, &c->host, e))
        goto failed;
    for (int i = 0; i < count; i++) {
        why[i] = !has_metric(c->host, metrics[i]) ? "this chip has no such counter" : NULL;
        if (!why[i]) {
            c->metrics[c->count] = metrics[i];
            c->place[c->count++] = i;
        }
    }
    if (c->count && !add_metrics(c->host, c->metrics, c->count)) {
        int left = 0;
        for (int i = 0; i < c->count; i++) {
            if (can_schedule(chip, c->metrics[i])) {
                c->metrics[left] = c->metrics[i];
                c->place[left++] = c->place[i];
            } else {
                why[c->place[i]] = "this counter cannot be measured here";
            }
        }
        c->count = left;
        close_host(c->host);
        c->host = NULL;
        if (open_host(chip, &c->host, e) ||
            (left && !add_metrics(c->host, c->metrics, left) &&
             kb_fail(e, chip->name, NULL, "CUPTI cannot schedule these %d counters together", left)))
            goto failed;
    }
    if (!c->count || make_image(c, e) == 0)
        return 0;
failed:
    close_config(c);
    return -1;
}

int kb_ranges_passes(const char *name, const char *const *metrics, int count, int *available, struct kb_error *e)
{
    struct chip chip = {0};
    struct config c;
    const char *why[KB_RANGE_METRICS];
    strncpy(chip.name, name, sizeof chip.name - 1);
    if (count > KB_RANGE_METRICS)
        return kb_fail(e, NULL, NULL, "%d metrics at once, at most %d", count, KB_RANGE_METRICS);
    if (load(e))
        return -1;
    CUpti_Profiler_Initialize_Params init = PARAMS(CUpti_Profiler_Initialize_Params, .pPriv = NULL);
    cupti.initialize(&init); // fails without a driver; the host's part works all the same
    if (make_config(&chip, metrics, count, why, &c, e))
        return -1;
    int passes = c.passes;
    *available = c.count;
    close_config(&c);
    return passes;
}

static int open_chip(struct kb_device *device, struct chip *chip, struct kb_error *e)
{
    CUpti_Profiler_Initialize_Params init = PARAMS(CUpti_Profiler_Initialize_Params, .pPriv = NULL);
    CUpti_Device_GetChipName_Params name =
        PARAMS(CUpti_Device_GetChipName_Params, .deviceIndex = (size_t)device->info.index);
    CUpti_Profiler_GetCounterAvailability_Params ask =
        PARAMS(CUpti_Profiler_GetCounterAvailability_Params, .ctx = kb_device_context(device));
    *chip = (struct chip){0};
    if (!ask.ctx)
        return kb_fail(e, NULL, NULL, "only a GPU has hardware counters");
    if (check(cupti.initialize(&init), "cuptiProfilerInitialize", e) ||
        check(cupti.chip_name(&name), "cuptiDeviceGetChipName", e) ||
        check(cupti.availability(&ask), "cuptiProfilerGetCounterAvailability", e))
        return -1;
    strncpy(chip->name, name.pChipName, sizeof chip->name - 1);
    chip->availability = kb_alloc(ask.counterAvailabilityImageSize + 1);
    ask.pCounterAvailabilityImage = chip->availability;
    if (check(cupti.availability(&ask), "cuptiProfilerGetCounterAvailability", e) == 0)
        return 0;
    free(chip->availability);
    return -1;
}

void kb_ranges_forget(void)
{
    for (int i = 0; i < kept.count; i++)
        close_config(&kept.asked[i].config);
    free(kept.chip.availability);
    memset(&kept, 0, sizeof kept);
}

// One measurement.
struct session {
    struct kb_device *device;
    const struct kb_range_run *run;
    struct config *config;
    CUpti_RangeProfiler_Object *profiler;
    struct kb_range_values *out;
    int64_t since_us; // the end of the step before
};

static void step_done(struct session *s, enum kb_range_step step)
{
    int64_t now = kb_now_us();
    s->out->step_ms[step] += (double)(now - s->since_us) / 1000;
    s->since_us = now;
}

static bool interrupted(const struct session *s)
{
    return s->run->interrupted && s->run->interrupted(s->run->context);
}

static int enable(struct session *s, struct kb_error *e)
{
    CUpti_RangeProfiler_Enable_Params p =
        PARAMS(CUpti_RangeProfiler_Enable_Params, .ctx = kb_device_context(s->device));
    int failed = check(cupti.enable(&p), "cuptiRangeProfilerEnable", e);
    s->profiler = failed ? NULL : p.pRangeProfilerObject;
    step_done(s, KB_RANGE_ENABLE);
    return failed;
}

// Empty: what was counted before is gone. Its size is asked for each time, although it is that of the metrics: this is
// where a profiler learns them (CUPTI 13.0 crashes without).
static int make_data(struct session *s, struct kb_error *e)
{
    struct config *c = s->config;
    CUpti_RangeProfiler_GetCounterDataSize_Params size =
        PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, .pRangeProfilerObject = s->profiler,
               .pMetricNames = (const char **)c->metrics, .numMetrics = (size_t)c->count, .maxNumOfRanges = 1,
               .maxNumRangeTreeNodes = 1);
    if (check(cupti.data_size(&size), "cuptiRangeProfilerGetCounterDataSize", e))
        return -1;
    free(c->data);
    c->data_bytes = size.counterDataSize;
    c->data = kb_alloc(c->data_bytes + 1);
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params init =
        PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, .pRangeProfilerObject = s->profiler,
               .counterDataSize = c->data_bytes, .pCounterData = c->data);
    int failed = check(cupti.data_init(&init), "cuptiRangeProfilerCounterDataImageInitialize", e);
    step_done(s, KB_RANGE_DATA);
    return failed;
}

static int set_config(struct session *s, struct kb_error *e)
{
    const struct config *c = s->config;
    CUpti_RangeProfiler_SetConfig_Params set =
        PARAMS(CUpti_RangeProfiler_SetConfig_Params, .pRangeProfilerObject = s->profiler, .configSize = c->image_bytes,
               .pConfig = c->image, .counterDataImageSize = c->data_bytes, .pCounterDataImage = c->data,
               .range = CUPTI_UserRange, .replayMode = CUPTI_UserReplay, .maxRangesPerPass = 1, .numNestingLevels = 1,
               .minNestingLevel = 1, .passIndex = 0, .targetNestingLevel = 1);
    int failed = check(cupti.set_config(&set), "cuptiRangeProfilerSetConfig", e);
    step_done(s, KB_RANGE_SET);
    return failed;
}

static void disable(struct session *s)
{
    CUpti_RangeProfiler_Disable_Params p =
        PARAMS(CUpti_RangeProfiler_Disable_Params, .pRangeProfilerObject = s->profiler);
    s->since_us = kb_now_us();
    if (s->profiler)
        cupti.disable(&p);
    step_done(s, KB_RANGE_DISABLE);
}

// What is counted lies between push and pop, and the device is idle before and behind.
static int run_pass(struct session *s, bool *last, struct kb_error *e)
{
    struct kb_device *device = s->device;
    const struct kb_range_run *r = s->run;
    CUpti_RangeProfiler_Start_Params start =
        PARAMS(CUpti_RangeProfiler_Start_Params, .pRangeProfilerObject = s->profiler);
    CUpti_RangeProfiler_Stop_Params stop = PARAMS(CUpti_RangeProfiler_Stop_Params, .pRangeProfilerObject = s->profiler);
    CUpti_RangeProfiler_PushRange_Params push =
        PARAMS(CUpti_RangeProfiler_PushRange_Params, .pRangeProfilerObject = s->profiler, .pRangeName = "run");
    CUpti_RangeProfiler_PopRange_Params pop =
        PARAMS(CUpti_RangeProfiler_PopRange_Params, .pRangeProfilerObject = s->profiler);
    if (check(cupti.start(&start), "cuptiRangeProfilerStart", e))
        return -1;
    step_done(s, KB_RANGE_START);
    int failed = (r->before && r->before(r->context, e)) || device->ops->sync(device, e) ||
                 check(cupti.push(&push), "cuptiRangeProfilerPushRange", e);
    if (!failed) {
        failed = r->run(r->context, e) || device->ops->sync(device, e);
        failed = check(cupti.pop(&pop), "cuptiRangeProfilerPopRange", failed ? NULL : e) || failed;
    }
    failed = check(cupti.stop(&stop), "cuptiRangeProfilerStop", failed ? NULL : e) || failed;
    *last = stop.isAllPassSubmitted;
    s->out->passes++;
    step_done(s, KB_RANGE_PASSES);
    return failed ? -1 : 0;
}

static int read_values(struct session *s, struct kb_error *e)
{
    const struct config *c = s->config;
    struct kb_range_values *out = s->out;
    double values[KB_RANGE_METRICS];
    CUpti_RangeProfiler_DecodeData_Params decode =
        PARAMS(CUpti_RangeProfiler_DecodeData_Params, .pRangeProfilerObject = s->profiler);
    CUpti_RangeProfiler_GetCounterDataInfo_Params info =
        PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, .pCounterDataImage = c->data,
               .counterDataImageSize = c->data_bytes);
    if (check(cupti.decode(&decode), "cuptiRangeProfilerDecodeData", e) ||
        check(cupti.data_info(&info), "cuptiRangeProfilerGetCounterDataInfo", e))
        return -1;
    step_done(s, KB_RANGE_DECODE);
    if (!info.numTotalRanges || decode.numOfRangeDropped)
        return kb_fail(e, NULL, NULL, "the profiler lost its range (%zu there, %zu dropped)", info.numTotalRanges,
                       decode.numOfRangeDropped);
    CUpti_Profiler_Host_EvaluateToGpuValues_Params p =
        PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, .pHostObject = c->host, .pCounterDataImage = c->data,
               .counterDataImageSize = c->data_bytes, .rangeIndex = 0, .ppMetricNames = (const char **)c->metrics,
               .numMetrics = (size_t)c->count, .pMetricValues = values);
    if (check(cupti.evaluate(&p), "cuptiProfilerHostEvaluateToGpuValues", e))
        return -1;
    for (int i = 0; i < c->count; i++) {
        out->value[c->place[i]] = isfinite(values[i]) ? values[i] : NAN;
        out->why[c->place[i]] = isfinite(values[i]) ? NULL : "the counter gave no number";
    }
    step_done(s, KB_RANGE_VALUES);
    return 0;
}

// Once enabled, it is disabled again whatever comes: a second configuration would be ignored in silence, and its counts
// be those of the first (CUPTI 13.0).
static int count_run(struct session *s, struct kb_error *e)
{
    bool last = false;
    if (interrupted(s))
        return 1;
    int result = enable(s, e);
    if (!result && interrupted(s))
        result = 1;
    if (!result)
        result = make_data(s, e) || set_config(s, e) ? -1 : 0;
    while (!result && !last && s->out->passes < MOST_PASSES)
        result = interrupted(s) ? 1 : run_pass(s, &last, e);
    if (!result && !last)
        result = kb_fail(e, NULL, NULL, "the profiler wanted more than %d passes", MOST_PASSES);
    if (!result)
        result = read_values(s, e);
    disable(s);
    return result;
}

static struct asked *find(const char *const *metrics, int count)
{
    for (int i = 0; i < kept.count; i++) {
        struct asked *a = &kept.asked[i];
        bool same = a->count == count;
        for (int k = 0; same && k < count; k++)
            same = !strcmp(a->metrics[k], metrics[k]);
        if (same)
            return a;
    }
    return NULL;
}

// The configuration of these metrics, made if it is not kept; NULL: it can't be.
static struct asked *configured(struct session *s, const char *const *metrics, int count, struct kb_error *e)
{
    if (kept.device != s->device || kept.count == KEPT)
        kb_ranges_forget();
    if (!kept.device && open_chip(s->device, &kept.chip, e))
        return NULL;
    kept.device = s->device;
    step_done(s, KB_RANGE_CHIP);
    struct asked *a = find(metrics, count);
    if (!a) {
        a = &kept.asked[kept.count];
        *a = (struct asked){.count = count};
        memcpy(a->metrics, metrics, (size_t)count * sizeof *metrics);
        if (make_config(&kept.chip, metrics, count, a->why, &a->config, e))
            return NULL;
        kept.count++;
    }
    step_done(s, KB_RANGE_CONFIG);
    return a;
}

int kb_ranges_measure(struct kb_device *device, const char *const *metrics, int metric_count,
                      const struct kb_range_run *r, struct kb_range_values *out, struct kb_error *e)
{
    struct session s = {.device = device, .run = r, .out = out, .since_us = kb_now_us()};
    *out = (struct kb_range_values){0};
    if (metric_count > KB_RANGE_METRICS)
        return kb_fail(e, NULL, NULL, "%d metrics at once, at most %d", metric_count, KB_RANGE_METRICS);
    for (int i = 0; i < metric_count; i++)
        out->value[i] = NAN;
    if (load(e))
        return -1;
    struct asked *a = configured(&s, metrics, metric_count, e);
    if (a)
        memcpy(out->why, a->why, (size_t)metric_count * sizeof *out->why);
    s.config = a ? &a->config : NULL;
    int result = !a ? -1 : a->config.count ? count_run(&s, e) : 0;
    if (result < 0)
        kb_ranges_forget(); // what was asked of this state of things may be the cause
    return result;
}
