#include "profiles/pcsampling.h"
#include "base/memory.h"
#include "profiles/cupti.h"
#include "profiles/stalls.h"

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_PERIOD = 10,       // 2^7 loses samples on an H200, 2^10 does not
    WANTED_SAMPLES = 100000, // a share of 1% is then known to 3% of itself
    MOST_LAUNCHES = 50,
    MOST_TRIES = 5,
    COLLECT_PCS = 4096, // at a time; the rest stays with CUPTI
    MOST_ROUNDS = 4096,
    MOST_PCS = 1 << 20,
    SCRATCH_BYTES = 16 << 20,  // 16 bytes a PC and reason
    HARDWARE_BYTES = 64 << 20, // of the default 512 MiB, which 100,000 samples never fill
};

static struct {
    CUptiResult (*enable)(CUpti_PCSamplingEnableParams *);
    CUptiResult (*disable)(CUpti_PCSamplingDisableParams *);
    CUptiResult (*start)(CUpti_PCSamplingStartParams *);
    CUptiResult (*stop)(CUpti_PCSamplingStopParams *);
    CUptiResult (*data)(CUpti_PCSamplingGetDataParams *);
    CUptiResult (*configure)(CUpti_PCSamplingConfigurationInfoParams *);
    CUptiResult (*reason_count)(CUpti_PCSamplingGetNumStallReasonsParams *);
    CUptiResult (*reasons)(CUpti_PCSamplingGetStallReasonsParams *);
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
} cupti;

static struct {
    bool loaded, held;
    CUcontext context;
    int period; // as configured
    int least;  // the period below which samples were lost in this process
    struct kb_pcs_reason reasons[KB_PCS_REASONS];
    int reason_count;
    CUpti_PCSamplingData data; // filled by CUPTI
} state = {.least = FIRST_PERIOD};

void kb_pc_profile_free(struct kb_pc_profile *p)
{
    for (int i = 0; i < p->pc_count; i++) {
        free(p->pcs[i].function);
        free(p->pcs[i].counts);
    }
    free(p->pcs);
    *p = (struct kb_pc_profile){0};
}

uint64_t kb_pc_samples(const struct kb_pc_profile *p, const struct kb_pc *pc)
{
    uint64_t n = 0;
    for (int i = 0; i < p->reason_count; i++)
        if (!p->inclusive || !p->reasons[i].not_issued)
            n += pc->counts[i];
    return n;
}

static const uint32_t *plain_of(const struct kb_pc_profile *p, const struct kb_pc *pc, const char *name)
{
    for (int i = 0; i < p->reason_count; i++)
        if (!p->reasons[i].not_issued && !strcmp(p->reasons[i].name, name))
            return &pc->counts[i];
    return NULL;
}

// The documentation does not say whether a sample of "x_not_issued" is one of "x" as well. If it is, no PC can have
// more of the former; a kernel that mostly waits shows it at once if it is not.
static bool is_inclusive(const struct kb_pc_profile *p)
{
    for (int i = 0; i < p->pc_count; i++)
        for (int k = 0; k < p->reason_count; k++) {
            if (!p->reasons[k].not_issued)
                continue;
            const uint32_t *plain = plain_of(p, &p->pcs[i], p->reasons[k].name);
            if (!plain || *plain < p->pcs[i].counts[k])
                return false;
        }
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct kb_pc *x = a, *y = b;
    int order = strcmp(x->function, y->function);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

// A PC may come in several records.
static void merge(struct kb_pc_profile *p)
{
    int kept = 0;
    if (p->pc_count)
        qsort(p->pcs, (size_t)p->pc_count, sizeof *p->pcs, by_address);
    for (int i = 0; i < p->pc_count; i++) {
        if (!kept || by_address(&p->pcs[kept - 1], &p->pcs[i])) {
            p->pcs[kept++] = p->pcs[i];
            continue;
        }
        for (int k = 0; k < p->reason_count; k++)
            p->pcs[kept - 1].counts[k] += p->pcs[i].counts[k];
        free(p->pcs[i].function);
        free(p->pcs[i].counts);
    }
    p->pc_count = kept;
}

void kb_pc_profile_sum(struct kb_pc_profile *p)
{
    merge(p);
    p->inclusive = is_inclusive(p);
    p->samples = 0;
    for (int i = 0; i < p->pc_count; i++)
        p->samples += kb_pc_samples(p, &p->pcs[i]);
}

static int load(struct kb_error *e)
{
    const struct kb_cupti_symbol symbols[] = {
        {&cupti.enable, "cuptiPCSamplingEnable"},
        {&cupti.disable, "cuptiPCSamplingDisable"},
        {&cupti.start, "cuptiPCSamplingStart"},
        {&cupti.stop, "cuptiPCSamplingStop"},
        {&cupti.data, "cuptiPCSamplingGetData"},
        {&cupti.configure, "cuptiPCSamplingSetConfigurationAttribute"},
        {&cupti.reason_count, "cuptiPCSamplingGetNumStallReasons"},
        {&cupti.reasons, "cuptiPCSamplingGetStallReasons"},
        {&cupti.subscribe, "cuptiSubscribe"},
        {&cupti.unsubscribe, "cuptiUnsubscribe"},
    };
    if (!state.loaded && kb_cupti_symbols(symbols, KB_COUNT(symbols), e))
        return -1;
    state.loaded = true;
    return 0;
}

static int check(CUptiResult code, const char *step, struct kb_error *e)
{
    return code == CUPTI_SUCCESS ? 0 : kb_cupti_refuse((int)code, step, e);
}

// Being a subscriber for a moment tells whether another tool is in this process, before its data could be spoilt.
static void CUPTIAPI nothing(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}
static int alone(struct kb_error *e)
{
    CUpti_SubscriberHandle handle;
    if (check(cupti.subscribe(&handle, nothing, NULL), "cuptiSubscribe", e))
        return -1;
    cupti.unsubscribe(handle);
    return 0;
}

static int read_reasons(struct kb_error *e)
{
    size_t count = 0;
    CUpti_PCSamplingGetNumStallReasonsParams ask = {
        .size = CUpti_PCSamplingGetNumStallReasonsParamsSize, .ctx = state.context, .numStallReasons = &count};
    if (check(cupti.reason_count(&ask), "cuptiPCSamplingGetNumStallReasons", e))
        return -1;
    if (!count || count > KB_PCS_REASONS)
        return kb_fail(e, NULL, NULL, "CUPTI knows %zu stall reasons, 1 to %d were expected", count, KB_PCS_REASONS);
    uint32_t index[KB_PCS_REASONS] = {0};
    char *names[KB_PCS_REASONS];
    char(*text)[CUPTI_STALL_REASON_STRING_SIZE] = kb_alloc(count * sizeof *text);
    for (size_t i = 0; i < count; i++)
        names[i] = text[i];
    CUpti_PCSamplingGetStallReasonsParams get = {.size = CUpti_PCSamplingGetStallReasonsParamsSize,
                                                 .ctx = state.context,
                                                 .numStallReasons = count,
                                                 .stallReasonIndex = index,
                                                 .stallReasons = names};
    int failed = check(cupti.reasons(&get), "cuptiPCSamplingGetStallReasons", e);
    state.reason_count = failed ? 0 : (int)count;
    for (int i = 0; i < state.reason_count; i++) {
        state.reasons[i].index = index[i];
        names[i][CUPTI_STALL_REASON_STRING_SIZE - 1] = 0;
        kb_stall_short_name(names[i], state.reasons[i].name, &state.reasons[i].not_issued);
    }
    free(text);
    return failed;
}

static void free_buffer(void)
{
    for (size_t i = 0; state.data.pPcData && i < COLLECT_PCS; i++)
        free(state.data.pPcData[i].stallReason);
    free(state.data.pPcData);
    memset(&state.data, 0, sizeof state.data);
}

static void make_buffer(void)
{
    free_buffer();
    state.data.size = sizeof state.data;
    state.data.collectNumPcs = COLLECT_PCS;
    state.data.pPcData = kb_alloc(COLLECT_PCS * sizeof *state.data.pPcData);
    for (size_t i = 0; i < COLLECT_PCS; i++) {
        state.data.pPcData[i].size = sizeof *state.data.pPcData;
        state.data.pPcData[i].stallReason =
            kb_alloc((size_t)state.reason_count * sizeof *state.data.pPcData[i].stallReason);
    }
}

static int send_configuration(CUpti_PCSamplingConfigurationInfo *info, size_t count, struct kb_error *e)
{
    CUpti_PCSamplingConfigurationInfoParams params = {.size = CUpti_PCSamplingConfigurationInfoParamsSize,
                                                      .ctx = state.context,
                                                      .numAttributes = count,
                                                      .pPCSamplingConfigurationInfo = info};
    return check(cupti.configure(&params), "cuptiPCSamplingSetConfigurationAttribute", e);
}

static int configure(int period, struct kb_error *e)
{
    uint32_t index[KB_PCS_REASONS];
    for (int i = 0; i < state.reason_count; i++)
        index[i] = state.reasons[i].index;
    CUpti_PCSamplingConfigurationInfo info[7];
    memset(info, 0, sizeof info);
    info[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON;
    info[0].attributeData.stallReasonData.stallReasonCount = (size_t)state.reason_count;
    info[0].attributeData.stallReasonData.pStallReasonIndex = index;
    info[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    info[1].attributeData.samplingPeriodData.samplingPeriod = (uint32_t)period;
    info[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE;
    info[2].attributeData.hardwareBufferSizeData.hardwareBufferSize = HARDWARE_BYTES;
    info[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE;
    info[3].attributeData.scratchBufferSizeData.scratchBufferSize = SCRATCH_BYTES;
    info[4].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
    info[4].attributeData.samplingDataBufferData.samplingDataBuffer = &state.data;
    info[5].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL;
    info[5].attributeData.enableStartStopControlData.enableStartStopControl = 1;
    info[6].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
    info[6].attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
    if (send_configuration(info, KB_COUNT(info), e))
        return -1;
    state.period = period;
    return 0;
}

bool kb_pcs_held(void)
{
    return state.held;
}

void kb_pcs_release(void)
{
    CUpti_PCSamplingDisableParams params = {.size = CUpti_PCSamplingDisableParamsSize, .ctx = state.context};
    if (!state.held)
        return;
    cupti.disable(&params);
    state.held = false;
    free_buffer(); // CUPTI wrote to it until now
}

static int hold(struct kb_device *device, int period, struct kb_error *e)
{
    state.context = kb_device_context(device);
    if (!state.context)
        return kb_fail(e, NULL, NULL, "only a GPU can be sampled");
    if (load(e) || alone(e))
        return -1;
    CUpti_PCSamplingEnableParams params = {.size = CUpti_PCSamplingEnableParamsSize, .ctx = state.context};
    if (check(cupti.enable(&params), "cuptiPCSamplingEnable", e))
        return -1;
    state.held = true;
    if (read_reasons(e) == 0) {
        make_buffer();
        if (configure(period, e) == 0)
            return 0;
    }
    kb_pcs_release();
    return -1;
}

int kb_pcs_hold(struct kb_device *device, struct kb_error *e)
{
    return state.held ? 0 : hold(device, state.least, e);
}

// Another period while held; where CUPTI does not take it, by giving the hardware back and taking it again.
static int set_period(struct kb_device *device, int period, struct kb_error *e)
{
    if (state.held && state.period == period)
        return 0;
    if (state.held) {
        CUpti_PCSamplingConfigurationInfo info;
        memset(&info, 0, sizeof info);
        info.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
        info.attributeData.samplingPeriodData.samplingPeriod = (uint32_t)period;
        if (send_configuration(&info, 1, NULL) == 0) {
            state.period = period;
            return 0;
        }
        kb_pcs_release();
    }
    return hold(device, period, e);
}

static void add_pc(struct kb_pc_profile *p, const CUpti_PCSamplingPCData *from)
{
    if (p->pc_count >= MOST_PCS)
        return;
    KB_GROW(p->pcs, p->pc_count, p->pc_capacity);
    struct kb_pc *pc = &p->pcs[p->pc_count++];
    // The name stays CUPTI's: other records may share it, so that freeing it here could free it twice.
    *pc = (struct kb_pc){kb_strdup(from->functionName ? from->functionName : "?"), from->pcOffset,
                         kb_alloc(KB_PCS_REASONS * sizeof *pc->counts)};
    for (size_t i = 0; i < from->stallReasonCount && i < (size_t)p->reason_count; i++)
        for (int k = 0; k < p->reason_count; k++)
            if (p->reasons[k].index == from->stallReason[i].pcSamplingStallReasonIndex)
                pc->counts[k] += from->stallReason[i].samples;
}

static void take_buffer(struct kb_pc_profile *p)
{
    for (size_t i = 0; i < state.data.totalNumPcs && i < COLLECT_PCS; i++)
        add_pc(p, &state.data.pPcData[i]);
    p->dropped += state.data.droppedSamples;
    p->overflow = p->overflow || state.data.hardwareBufferFull;
    state.data.totalNumPcs = 0;
    state.data.droppedSamples = state.data.totalSamples = 0;
    state.data.hardwareBufferFull = 0;
}

// Behind stop: the buffer that CUPTI may have filled by itself, then all that is left.
static int drain(struct kb_pc_profile *p, struct kb_error *e)
{
    CUpti_PCSamplingGetDataParams params = {
        .size = CUpti_PCSamplingGetDataParamsSize, .ctx = state.context, .pcSamplingData = &state.data};
    take_buffer(p);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        CUptiResult code = cupti.data(&params);
        bool more = state.data.totalNumPcs || state.data.remainingNumPcs;
        take_buffer(p);
        if (code == CUPTI_ERROR_OUT_OF_MEMORY) {
            p->overflow = true;
            if (!more)
                return 0;
        } else if (check(code, "cuptiPCSamplingGetData", e)) {
            return -1;
        }
        if (!more)
            return 0;
    }
    return kb_fail(e, NULL, NULL, "CUPTI did not come to an end of its samples");
}

static int sample_runs(struct kb_device *device, const struct kb_pcs_run *r, int launches, struct kb_pc_profile *p,
                       struct kb_error *e)
{
    for (int i = 0; i < launches; i++) {
        if (i && r->interrupted && r->interrupted(r->context))
            break;
        if ((r->before && r->before(r->context, e)) || r->run(r->context, e))
            return -1;
        p->launches++;
    }
    return device->ops->sync(device, e);
}

static int sample_once(struct kb_device *device, const struct kb_pcs_run *r, int launches, struct kb_pc_profile *p,
                       struct kb_error *e)
{
    CUpti_PCSamplingStartParams start = {.size = CUpti_PCSamplingStartParamsSize, .ctx = state.context};
    CUpti_PCSamplingStopParams stop = {.size = CUpti_PCSamplingStopParamsSize, .ctx = state.context};
    *p = (struct kb_pc_profile){.reason_count = state.reason_count, .period = state.period};
    memcpy(p->reasons, state.reasons, sizeof p->reasons);
    state.data.totalNumPcs = 0; // what a module's unloading may have left there
    state.data.droppedSamples = 0;
    if (device->ops->sync(device, e) || check(cupti.start(&start), "cuptiPCSamplingStart", e))
        return -1;
    int failed = sample_runs(device, r, launches, p, e);
    CUptiResult stopped = cupti.stop(&stop);
    if (failed || check(stopped, "cuptiPCSamplingStop", e))
        return -1;
    return drain(p, e);
}

int kb_pcs_warm(struct kb_device *device, struct kb_error *e)
{
    const struct kb_pcs_run nothing_to_run = {0};
    struct kb_pc_profile p = {0};
    if (state.held)
        return 0;
    if (hold(device, state.least, e))
        return -1;
    int failed = sample_once(device, &nothing_to_run, 0, &p, e);
    kb_pc_profile_free(&p);
    if (failed)
        kb_pcs_release();
    return failed;
}

void kb_pcs_plan(double time_us, double clock_mhz, int sm_count, int budget_ms, int least_period, int *period,
                 int *launches)
{
    double us = isfinite(time_us) && time_us > 0 ? time_us : 50, mhz = clock_mhz > 0 ? clock_mhz : 1500;
    double cycles = us * mhz * (sm_count > 0 ? sm_count : 100); // of all multiprocessors, one run
    double runs = ceil(WANTED_SAMPLES / (cycles / ldexp(1, least_period)));
    double affordable = floor((budget_ms > 0 ? budget_ms : 20) * 1000.0 / us);
    runs = fmin(fmin(runs, affordable), MOST_LAUNCHES);
    *launches = runs >= 1 ? (int)runs : 1;
    *period = least_period;
    while (*period<KB_PCS_PERIOD_MAX && * launches * cycles / ldexp(1, *period)> 2.0 * WANTED_SAMPLES)
        ++*period;
}

int kb_pcs_collect(struct kb_device *device, const struct kb_pcs_run *r, struct kb_pc_profile *p, struct kb_error *e)
{
    int period, launches, tries = 0;
    kb_pcs_plan(r->time_us, device->info.clock_khz / 1000.0, device->info.sm_count, r->budget_ms, state.least, &period,
                &launches);
    *p = (struct kb_pc_profile){0};
    for (;;) {
        kb_pc_profile_free(p);
        if (set_period(device, period, e))
            return -1;
        if (sample_once(device, r, launches, p, e)) {
            kb_pc_profile_free(p);
            kb_pcs_release(); // in an unknown state
            return -1;
        }
        tries++;
        if ((!p->dropped && !p->overflow) || tries == MOST_TRIES || period == KB_PCS_PERIOD_MAX)
            break;
        period = period + 2 > KB_PCS_PERIOD_MAX ? KB_PCS_PERIOD_MAX : period + 2;
        if (state.least < FIRST_PERIOD + 6)
            state.least += 2;
    }
    p->tries = tries;
    kb_pc_profile_sum(p);
    return 0;
}
