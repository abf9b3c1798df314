#include "profiles/cupti_activity.h"
#include "base/file.h"
#include "base/memory.h"
#include "profiles/cupti.h"

#include <cupti.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFERS = 8, // the pool is bounded: a storm of requests drops records, which is counted, and never eats the memory
    BUFFER_BYTES = 256 << 10,
    MOST_LAUNCHES = 1 << 16,
    CLOCK_SLACK_NS = 1000000, // CUPTI maps the GPU's clock to the host's with an error of microseconds
};

static struct {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
    CUptiResult (*enable_callback)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
    CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc);
    CUptiResult (*activity_enable)(CUpti_ActivityKind);
    CUptiResult (*flush_all)(uint32_t);
    CUptiResult (*next_record)(uint8_t *, size_t, CUpti_Activity **);
    CUptiResult (*timestamp)(uint64_t *);
} cupti;

struct record {
    uint32_t correlation;
    struct kb_kernel_span span;
};
static struct {
    pthread_mutex_t lock;
    bool recording;
    uint64_t begin_ns;
    uint32_t *launches; // correlation ids in launch order
    int launch_count, launch_capacity;
    struct record *records;
    int record_count, record_capacity;
    void *buffers[BUFFERS];
    bool lent[BUFFERS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum { NOT_TRIED, OPEN, REFUSED } opened;
static struct kb_error refusal;
static CUpti_SubscriberHandle subscriber;

// CUPTI asks for a buffer to fill; without one it drops records.
static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = NULL;
    *size = *max_records = 0;
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < BUFFERS; i++) {
        if (state.lent[i])
            continue;
        if (!state.buffers[i])
            state.buffers[i] = kb_alloc(BUFFER_BYTES);
        state.lent[i] = true;
        *buffer = state.buffers[i];
        *size = BUFFER_BYTES;
        break;
    }
    pthread_mutex_unlock(&state.lock);
}

static bool possible(const CUpti_ActivityKernel4 *k)
{
    return k->start && k->end && k->end >= k->start && k->start + CLOCK_SLACK_NS >= state.begin_ns;
}

#define SAME_PLACE(field)                                                                                              \
    _Static_assert(offsetof(CUpti_ActivityKernel4, field) == offsetof(CUpti_ActivityKernel9, field), #field)
SAME_PLACE(start);
SAME_PLACE(end);
SAME_PLACE(correlationId);

static void note_record(const CUpti_Activity *activity)
{
    if (activity->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && activity->kind != CUPTI_ACTIVITY_KIND_KERNEL)
        return;
    // Every version of this record since CUDA 9 begins like version 4, and no more than that is read.
    const CUpti_ActivityKernel4 *k = (const void *)activity;
    if (state.record_count >= MOST_LAUNCHES)
        return;
    KB_GROW(state.records, state.record_count, state.record_capacity);
    state.records[state.record_count++] = (struct record){k->correlationId, {possible(k), k->start, k->end}};
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    CUpti_Activity *activity = NULL;
    pthread_mutex_lock(&state.lock);
    while (valid && cupti.next_record(buffer, valid, &activity) == CUPTI_SUCCESS)
        note_record(activity);
    for (int i = 0; i < BUFFERS; i++)
        if (state.buffers[i] == buffer)
            state.lent[i] = false;
    pthread_mutex_unlock(&state.lock);
}

// Records arrive unordered and some may be missing, so each launch is noted by the id that its record will bear.
static void CUPTIAPI launched(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)user, (void)domain, (void)id;
    if (call->callbackSite != CUPTI_API_EXIT)
        return;
    const CUresult *result = call->functionReturnValue;
    pthread_mutex_lock(&state.lock);
    if (state.recording && state.launch_count < MOST_LAUNCHES && (!result || *result == CUDA_SUCCESS)) {
        KB_GROW(state.launches, state.launch_count, state.launch_capacity);
        state.launches[state.launch_count++] = call->correlationId;
    }
    pthread_mutex_unlock(&state.lock);
}

static int load(struct kb_error *e)
{
    const struct kb_cupti_symbol symbols[] = {
        {&cupti.subscribe, "cuptiSubscribe"},
        {&cupti.unsubscribe, "cuptiUnsubscribe"},
        {&cupti.enable_callback, "cuptiEnableCallback"},
        {&cupti.register_callbacks, "cuptiActivityRegisterCallbacks"},
        {&cupti.activity_enable, "cuptiActivityEnable"},
        {&cupti.flush_all, "cuptiActivityFlushAll"},
        {&cupti.next_record, "cuptiActivityGetNextRecord"},
        {&cupti.timestamp, "cuptiGetTimestamp"},
    };
    return kb_cupti_symbols(symbols, KB_COUNT(symbols), e);
}

static int enable(struct kb_error *e)
{
    static const CUpti_CallbackId launches[] = {
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    };
    for (size_t i = 0; i < KB_COUNT(launches); i++) {
        CUptiResult code = cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i]);
        if (code != CUPTI_SUCCESS)
            return kb_cupti_refuse((int)code, "cuptiEnableCallback", e);
    }
    CUptiResult code = cupti.register_callbacks(buffer_requested, buffer_completed);
    if (code != CUPTI_SUCCESS)
        return kb_cupti_refuse((int)code, "cuptiActivityRegisterCallbacks", e);
    code = cupti.activity_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    return code == CUPTI_SUCCESS ? 0 : kb_cupti_refuse((int)code, "cuptiActivityEnable", e);
}

static int start(struct kb_error *e)
{
    if (load(e))
        return -1;
    // Being the one subscriber tells whether another tool is there, before its data could be spoilt.
    CUptiResult code = cupti.subscribe(&subscriber, launched, NULL);
    if (code != CUPTI_SUCCESS)
        return kb_cupti_refuse((int)code, "cuptiSubscribe", e);
    if (enable(e) == 0)
        return 0;
    cupti.unsubscribe(subscriber);
    return -1;
}

int kb_cupti_open(struct kb_error *e)
{
    if (opened == NOT_TRIED)
        opened = start(&refusal) ? REFUSED : OPEN;
    if (opened == OPEN)
        return 0;
    if (e)
        *e = refusal;
    return -1;
}

void kb_cupti_retry(void)
{
    if (opened == REFUSED)
        opened = NOT_TRIED;
}

int kb_cupti_begin(struct kb_error *e)
{
    uint64_t now = 0;
    if (kb_cupti_open(e))
        return -1;
    CUptiResult code = cupti.timestamp(&now);
    if (code != CUPTI_SUCCESS)
        return kb_cupti_refuse((int)code, "cuptiGetTimestamp", e);
    pthread_mutex_lock(&state.lock);
    state.begin_ns = now;
    state.launch_count = state.record_count = 0;
    state.recording = true;
    pthread_mutex_unlock(&state.lock);
    return 0;
}

int kb_cupti_launches(void)
{
    pthread_mutex_lock(&state.lock);
    int count = state.launch_count;
    pthread_mutex_unlock(&state.lock);
    return count;
}

static int by_correlation(const void *a, const void *b)
{
    uint32_t x = ((const struct record *)a)->correlation, y = ((const struct record *)b)->correlation;
    return (x > y) - (x < y);
}

static int match(struct kb_kernel_span *spans, int count)
{
    int unknown = 0;
    qsort(state.records, (size_t)state.record_count, sizeof *state.records, by_correlation);
    for (int i = 0; i < count; i++) {
        struct record key = {.correlation = i < state.launch_count ? state.launches[i] : 0};
        const struct record *found = NULL;
        if (state.record_count && i < state.launch_count)
            found = bsearch(&key, state.records, (size_t)state.record_count, sizeof key, by_correlation);
        spans[i] = found ? found->span : (struct kb_kernel_span){0};
        unknown += !spans[i].known;
    }
    return unknown;
}

int kb_cupti_collect(struct kb_kernel_span *spans, int count, struct kb_error *e)
{
    int unknown = count;
    for (int attempt = 0; attempt < 2 && unknown; attempt++) { // a buffer may complete only behind the first flush
        CUptiResult code = cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
        if (code != CUPTI_SUCCESS)
            return kb_cupti_refuse((int)code, "cuptiActivityFlushAll", e);
        pthread_mutex_lock(&state.lock);
        state.recording = false;
        unknown = match(spans, count);
        pthread_mutex_unlock(&state.lock);
    }
    return unknown;
}

int kb_profiling_admin_only(const char *params_path)
{
    char *data = NULL;
    size_t size;
    if (kb_file_read(params_path ? params_path : "/proc/driver/nvidia/params", 1 << 16, &data, &size, NULL))
        return -1;
    const char *at = strstr(data, "RmProfilingAdminOnly:");
    int value = at ? atoi(at + strlen("RmProfilingAdminOnly:")) != 0 : -1;
    free(data);
    return value;
}
