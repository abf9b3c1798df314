// A stand-in for libcupti.so.13: kernel records of what the fake driver launched. Script: KB_FAKE_CUPTI, see fake.h.
// Calls: subscribe callback register enable flush timestamp. Values, each a number n: every n-th record is
//   lose=n (never delivered)  end0=n (end 0)  start0=n  backwards=n (end < start)  early=n (start before everything)
// and stretch=V (us that each record is too long), shuffle=1 delivers them newest first; storm=n asks for n buffers
// before it delivers.
#include "tests/fake/fake_cupti.h"

#include <dlfcn.h>

#define script kb_fake_cupti_state
struct fake_script kb_fake_cupti_state;
static CUpti_CallbackFunc callback;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static bool enabled;
static uint32_t correlation;
static long produced;
static CUpti_ActivityKernel4 *pending;
static int pending_count, pending_capacity;

void kb_fake_cupti_script(const char *text)
{
    fake_parse(&script, text);
    produced = 0;
    pending_count = 0;
    kb_fake_cupti_profiler_reset();
}

static bool every(const char *name)
{
    int n = (int)fake_value(SCRIPT, name, 0);
    return n > 0 && produced % n == 0;
}

static void record(const struct fake_launch *launch)
{
    CUpti_ActivityKernel4 k;
    memset(&k, 0, sizeof k);
    k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    k.start = launch->start_ns;
    k.end = launch->end_ns + (uint64_t)(1e3 * fake_value(SCRIPT, "stretch", 0));
    k.correlationId = correlation;
    produced++;
    if (every("lose"))
        return;
    if (every("end0"))
        k.end = 0;
    if (every("start0"))
        k.start = 0;
    if (every("backwards"))
        k.end = k.start - 1;
    if (every("early"))
        k.start = 5;
    if (pending_count == pending_capacity) {
        pending_capacity = pending_capacity ? 2 * pending_capacity : 64;
        pending = realloc(pending, (size_t)pending_capacity * sizeof *pending);
        if (!pending)
            abort();
    }
    pending[pending_count++] = k;
}

static void on_launch(const struct fake_launch *launch)
{
    CUresult result = CUDA_SUCCESS;
    CUpti_CallbackData data;
    memset(&data, 0, sizeof data);
    data.correlationId = ++correlation;
    data.functionReturnValue = &result;
    if (enabled)
        record(launch);
    if (callback) {
        data.callbackSite = CUPTI_API_ENTER;
        callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
        data.callbackSite = CUPTI_API_EXIT;
        callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    }
}

void *kb_fake_driver_symbol(const char *name)
{
    const char *path = getenv("KBENCH_CUDA");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    return library ? dlsym(library, name) : NULL;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function, void *user)
{
    void (*set_hook)(fake_launch_hook *) = NULL;
    (void)user;
    CALL("subscribe");
    *(void **)&set_hook = kb_fake_driver_symbol("kb_fake_cuda_hook");
    if (!set_hook)
        return CUPTI_ERROR_NOT_INITIALIZED;
    set_hook(on_launch);
    callback = function;
    *subscriber = (CUpti_SubscriberHandle)(uintptr_t)1;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    (void)subscriber;
    callback = NULL;
    enabled = false;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id)
{
    (void)enable, (void)subscriber, (void)domain, (void)id;
    CALL("callback");
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    CALL("register");
    request = requested;
    complete = completed;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    (void)kind;
    CALL("enable");
    enabled = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *now)
{
    uint64_t (*gpu_now)(void) = NULL;
    CALL("timestamp");
    *(void **)&gpu_now = kb_fake_driver_symbol("kb_fake_cuda_now");
    *now = gpu_now ? gpu_now() : 1;
    return CUPTI_SUCCESS;
}

// The records of a buffer lie behind each other at its beginning.
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record_at)
{
    uint8_t *next = *record_at ? (uint8_t *)*record_at + sizeof(CUpti_ActivityKernel4) : buffer;
    if (next + sizeof(CUpti_ActivityKernel4) > buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record_at = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

static void deliver(uint8_t *buffer, size_t size)
{
    size_t n = size / sizeof *pending;
    if (n > (size_t)pending_count)
        n = (size_t)pending_count;
    for (size_t i = 0; i < n; i++) {
        bool shuffle = fake_value(SCRIPT, "shuffle", 0) > 0;
        memcpy(buffer + i * sizeof *pending, &pending[shuffle ? n - 1 - i : i], sizeof *pending);
    }
    pending_count -= (int)n;
    memmove(pending, pending + n, (size_t)pending_count * sizeof *pending);
    complete(NULL, 0, buffer, size, n * sizeof *pending);
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    uint8_t *buffers[64];
    size_t sizes[64], most;
    int storm = (int)fake_value(SCRIPT, "storm", 1), got = 0;
    CALL("flush");
    if (!(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED))
        return CUPTI_SUCCESS; // half-full buffers stay where they are
    do {
        got = 0;
        for (int i = 0; i < storm && i < 64; i++) {
            request(&buffers[got], &sizes[got], &most);
            got += buffers[got] != NULL;
        }
        for (int i = 0; i < got; i++)
            deliver(buffers[i], sizes[i]);
    } while (pending_count && got);
    return CUPTI_SUCCESS;
}
