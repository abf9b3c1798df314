// Fake libcupti, PC sampling and range profiler. One piece of hardware: while sampling is enabled, the range profiler's
// start fails with 1, as on a real GPU.
// Calls: pcs_enable pcs_disable pcs_start pcs_stop pcs_data pcs_configure host add range_enable range_start range_stop
// decode. Values:
//   function=NAME pcs=N base=N  instructions with samples: NAME + base + 16 i, i < N; i-th has 100 (i + 1) a launch at
//                               period 2^10, half as many at 2^11, ...
//   drop_below=P                at periods below 2^P a tenth of the samples is dropped
//   full_below=P                at periods below 2^P the buffer runs full: OUT_OF_MEMORY half way
//   exclusive=1                 samples not issued come on top of the plain ones
//   fixed=1                     the period cannot be changed while enabled
//   total_pcs=N                 records come N at a time
//   lacks=TEXT                  metrics with TEXT in their name do not exist
//   unschedulable=TEXT          they exist, but cannot be added
//   passes=N                    default 1
//   endless=1                   never says that the last pass was submitted
#include "tests/fake/fake_cupti.h"

#include <cupti_pcsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

static struct {
    bool enabled, started, ranging, pushed, sized;
    int period, enables, disables, starts, passes, submitted, hosts, ranges_open;
    long launches_before, launches, in_range;
    int next_pc; // to deliver
    bool overflowed, drop_told;
} fake;

static const char *const reasons[] = {
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard", "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_selected", "smsp__pcsamp_warps_issue_stalled_barrier"};
enum { REASONS = 4 };

void kb_fake_cupti_profiler_reset(void)
{
    bool enabled = fake.enabled;
    int period = fake.period;
    memset(&fake, 0, sizeof fake);
    fake.enabled = enabled; // a script does not take the hardware away
    fake.period = period;
}

static int value(const char *name, int otherwise)
{
    return (int)fake_value(SCRIPT, name, otherwise);
}

static const char *text(const char *name, const char *otherwise)
{
    return fake_text(SCRIPT, name, otherwise);
}

static long driver_count(const char *what)
{
    long (*count)(const char *) = NULL;
    *(void **)&count = kb_fake_driver_symbol("kb_fake_cuda_count");
    return count ? count(what) : 0;
}

long kb_fake_cupti_count(const char *what)
{
    return !strcmp(what, "enable")    ? fake.enables
           : !strcmp(what, "disable") ? fake.disables
           : !strcmp(what, "start")   ? fake.starts
           : !strcmp(what, "passes")  ? fake.passes
           : !strcmp(what, "ranged")  ? fake.in_range
           : !strcmp(what, "period")  ? fake.period
           : !strcmp(what, "hosts")   ? fake.hosts
           : !strcmp(what, "open")    ? fake.ranges_open
                                      : fake.enabled;
}

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
    CALL("pcs_enable");
    if (!p->ctx || p->size != CUpti_PCSamplingEnableParamsSize || fake.enabled)
        return CUPTI_ERROR_INVALID_PARAMETER;
    fake.enabled = true;
    fake.period = 0;
    fake.enables++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *p)
{
    CALL("pcs_disable");
    (void)p;
    fake.enabled = false;
    fake.disables++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
    CALL("pcs_configure");
    for (size_t i = 0; i < p->numAttributes; i++) {
        CUpti_PCSamplingConfigurationInfo *info = &p->pPCSamplingConfigurationInfo[i];
        if (info->attributeType != CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
            continue;
        int period = (int)info->attributeData.samplingPeriodData.samplingPeriod;
        if (period < 5 || period > 31 || (fake.period && value("fixed", 0)))
            return CUPTI_ERROR_INVALID_OPERATION;
        fake.period = period;
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *p)
{
    *p->numStallReasons = REASONS;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *p)
{
    for (size_t i = 0; i < p->numStallReasons && i < REASONS; i++) {
        p->stallReasonIndex[i] = 40 + (uint32_t)i; // an index is no place
        snprintf(p->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE, "%s", reasons[i]);
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingStart(CUpti_PCSamplingStartParams *p)
{
    CALL("pcs_start");
    (void)p;
    if (!fake.enabled || fake.started)
        return CUPTI_ERROR_INVALID_OPERATION;
    fake.started = true;
    fake.starts++;
    fake.launches_before = driver_count("launch");
    return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingStop(CUpti_PCSamplingStopParams *p)
{
    CALL("pcs_stop");
    (void)p;
    fake.launches = driver_count("launch") - fake.launches_before;
    fake.started = false;
    fake.next_pc = 0;
    fake.overflowed = fake.drop_told = false;
    return CUPTI_SUCCESS;
}

static void fill(CUpti_PCSamplingPCData *pc, int i)
{
    long samples = 100L * (i + 1) * fake.launches;
    samples = fake.period > 10 ? samples >> (fake.period - 10) : samples << (10 - fake.period);
    pc->cubinCrc = 1;
    pc->pcOffset = (uint64_t)(value("base", 0) + 16 * i);
    pc->functionName = (char *)(uintptr_t)text("function", "k");
    uint32_t waiting = (uint32_t)(samples / 2), not_issued = waiting / 2;
    if (value("exclusive", 0)) {
        not_issued = waiting * 3 / 4;
        waiting -= not_issued;
    }
    const uint32_t counts[REASONS] = {waiting, not_issued, (uint32_t)(samples / 4),
                                      (uint32_t)(samples - samples / 2 - samples / 4)};
    pc->stallReasonCount = REASONS;
    for (uint32_t k = 0; k < REASONS; k++)
        pc->stallReason[k] = (CUpti_PCSamplingStallReason){40 + k, counts[k]};
}

CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
    CUpti_PCSamplingData *d = p->pcSamplingData;
    int all = value("pcs", 4), at_once = value("total_pcs", 1000), n = 0;
    CALL("pcs_data");
    bool full = fake.period < value("full_below", 0);
    while (fake.next_pc < (full ? all / 2 : all) && n < at_once && (size_t)n < d->collectNumPcs)
        fill(&d->pPcData[n++], fake.next_pc++);
    d->totalNumPcs = (size_t)n;
    d->remainingNumPcs = full ? 0 : (size_t)(all - fake.next_pc);
    bool dropping = fake.period < value("drop_below", 0) && !fake.drop_told;
    d->droppedSamples = dropping ? (uint64_t)(10 * fake.launches) : 0;
    fake.drop_told = true;
    if (!full || fake.overflowed || n)
        return CUPTI_SUCCESS;
    fake.overflowed = true;
    d->hardwareBufferFull = 1;
    return CUPTI_ERROR_OUT_OF_MEMORY;
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
    (void)p;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
    p->pChipName = "GH100";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p)
{
    CALL("availability");
    if (p->pCounterAvailabilityImage)
        memset(p->pCounterAvailabilityImage, 1, p->counterAvailabilityImageSize);
    p->counterAvailabilityImageSize = 16;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
    CALL("host");
    fake.hosts++;
    p->pHostObject = (CUpti_Profiler_Host_Object *)malloc(8);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
    free(p->pHostObject);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
    const char *lacks = text("lacks", NULL);
    return lacks && strstr(p->pMetricName, lacks) ? CUPTI_ERROR_INVALID_METRIC_NAME : CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
    const char *cannot = text("unschedulable", NULL);
    CALL("add");
    for (size_t i = 0; cannot && i < p->numMetrics; i++)
        if (strstr(p->ppMetricNames[i], cannot))
            return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
    p->configImageSize = 32;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
    memset(p->pConfigImage, 2, p->configImageSize);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
    p->numOfPasses = (size_t)value("passes", 1);
    return CUPTI_SUCCESS;
}

// The k-th metric of a measurement is 1000 (k + 1).
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
    for (size_t i = 0; i < p->numMetrics; i++)
        p->pMetricValues[i] = 1000.0 * (double)(i + 1);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p)
{
    CALL("range_enable");
    fake.ranges_open++;
    p->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)&fake;
    fake.submitted = 0;
    fake.passes = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p)
{
    (void)p;
    fake.ranges_open--;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
    p->counterDataSize = 64;
    fake.sized = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
    if (!fake.sized) // CUPTI 13.0 crashes
        abort();
    fake.sized = false;
    memset(p->pCounterData, 0, p->counterDataSize);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p)
{
    bool good = p->range == CUPTI_UserRange && p->replayMode == CUPTI_UserReplay && p->pConfig && p->pCounterDataImage;
    return good ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p)
{
    (void)p;
    CALL("range_start");
    if (fake.enabled || fake.ranging)
        return CUPTI_ERROR_INVALID_PARAMETER;
    fake.ranging = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p)
{
    fake.launches_before = driver_count("launch");
    fake.pushed = true;
    return p->pRangeName ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p)
{
    (void)p;
    if (!fake.pushed)
        return CUPTI_ERROR_INVALID_OPERATION;
    fake.pushed = false;
    fake.in_range += driver_count("launch") - fake.launches_before;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p)
{
    fake.ranging = false; // also where it says that it failed
    CALL("range_stop");
    fake.passes++;
    p->isAllPassSubmitted = ++fake.submitted >= value("passes", 1) && !value("endless", 0);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p)
{
    CALL("decode");
    p->numOfRangeDropped = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p)
{
    p->numTotalRanges = 1;
    return CUPTI_SUCCESS;
}
