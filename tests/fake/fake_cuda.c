// A stand-in for libcuda.so.1: memory is the host's, launches do nothing but take virtual time. Script: KB_FAKE_CUDA,
// see fake.h. Calls: init version count device name attribute context stream sync event alloc copy memset load unload
// function global reserve create map access occupancy launch cooperative reset setattr paraminfo. Values:
//   driver=13000  gpus=1  title=NVIDIA Fake  mode=0  sms=4  free=1e9  occupancy_blocks=2
//   attrN=V        device attribute N
//   variable=40    bytes of every variable of a module
//   regs=32 static=0 maxthreads=1024 params=8,8,4 (sizes)
//   cold=40 warm=30 (us of a launch behind a flush, and of others), noise=0 (share, uniform), tick=0 (us, event
//   resolution)
#include "tests/fake/fake.h"

#include <cuda.h>
#include <math.h>
#include <sys/mman.h>

#define SCRIPT &script, "KB_FAKE_CUDA"
#define CALL(name)                                                                                                     \
    do {                                                                                                               \
        int fake_code = fake_call(SCRIPT, name);                                                                       \
        if (fake_code)                                                                                                 \
            return (CUresult)fake_code;                                                                                \
    } while (0)

static struct fake_script script;
static fake_launch_hook *hook;
static uint64_t clock_ns = 1000000000, noise_state = 88172645463325252u;
static bool flushed;
static long launches, memsets, resets, allocs, frees, maps, unmaps, loads, unloads;
static size_t dynamic_limit;

void kb_fake_cuda_script(const char *text)
{
    fake_parse(&script, text);
    launches = memsets = resets = allocs = frees = maps = unmaps = loads = unloads = 0;
    dynamic_limit = 0;
    flushed = false;
}

void kb_fake_cuda_hook(fake_launch_hook *to)
{
    hook = to;
}

uint64_t kb_fake_cuda_now(void)
{
    return clock_ns;
}

long kb_fake_cuda_count(const char *what)
{
    const struct {
        const char *name;
        long value;
    } all[] = {{"launch", launches}, {"memset", memsets},
               {"reset", resets},    {"alloc", allocs},
               {"free", frees},      {"load", loads},
               {"unload", unloads},  {"map", maps},
               {"unmap", unmaps},    {"optin", (long)dynamic_limit}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!strcmp(all[i].name, what))
            return all[i].value;
    return -1;
}

static double noise(void)
{
    noise_state ^= noise_state << 13;
    noise_state ^= noise_state >> 7;
    noise_state ^= noise_state << 17;
    return (double)(noise_state >> 11) / 9007199254740992.0 - 0.5;
}

CUresult cuInit(unsigned flags)
{
    (void)flags;
    CALL("init");
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    CALL("version");
    *version = (int)fake_value(SCRIPT, "driver", 13000);
    return CUDA_SUCCESS;
}

static const struct {
    int code;
    const char *name;
} names[] = {
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {710, "CUDA_ERROR_ASSERT"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {999, "CUDA_ERROR_UNKNOWN"},
};

CUresult cuGetErrorName(CUresult error, const char **text)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == (int)error) {
            *text = names[i].name;
            return CUDA_SUCCESS;
        }
    *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    (void)error;
    *text = "as the script says";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    CALL("count");
    *count = (int)fake_value(SCRIPT, "gpus", 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CALL("device");
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    (void)device;
    CALL("name");
    snprintf(name, (size_t)length, "%s", fake_text(SCRIPT, "title", "NVIDIA Fake"));
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (char)(i ? i * 3 : 0xa0 + device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)2000000000;
    return CUDA_SUCCESS;
}

static const struct {
    int which, value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 512},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 32768},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
};

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    char key[32];
    (void)device;
    CALL("attribute");
    *value = 0;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (attributes[i].which == (int)which)
            *value = attributes[i].value;
    if (which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        *value = (int)fake_value(SCRIPT, "sms", 4);
    if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)
        *value = (int)fake_value(SCRIPT, "mode", 0);
    snprintf(key, sizeof key, "attr%d", (int)which);
    *value = (int)fake_value(SCRIPT, key, *value);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    CALL("context");
    *context = (CUcontext)(uintptr_t)0xc0;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
    CALL("reset");
    resets++;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    (void)flags;
    CALL("stream");
    *stream = (CUstream)(uintptr_t)0x51;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    CALL("sync");
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    CALL("event");
    // Handles belong to the driver: what a program leaves in a lost context is no leak of the program.
    static uint64_t pool[64];
    static unsigned next;
    *event = (CUevent)&pool[next++ % 64];
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)stream;
    CALL("event");
    memcpy((void *)event, &clock_ns, sizeof clock_ns);
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    CALL("sync");
    return CUDA_SUCCESS;
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end);
CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end)
{
    uint64_t from, to;
    double tick = fake_value(SCRIPT, "tick", 0);
    CALL("event");
    memcpy(&from, (void *)begin, sizeof from);
    memcpy(&to, (void *)end, sizeof to);
    double us = (double)(to - from) / 1e3;
    *ms = (float)((tick > 0 ? floor(us / tick) * tick : us) / 1e3);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    CALL("memory");
    *free_bytes = (size_t)fake_value(SCRIPT, "free", 1e6);
    *total = (size_t)2000000000;
    return CUDA_SUCCESS;
}

// Like handles, memory is the driver's: what a lost context still holds is reachable from here.
static void *held[4096];

static void hold(void *old, void *new)
{
    size_t i = 0;
    while (i + 1 < sizeof held / sizeof held[0] && held[i] != old)
        i++;
    held[i] = new;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    CALL("alloc");
    void *memory = aligned_alloc(512, (bytes + 511) / 512 * 512);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(memory, 0xee, bytes);
    hold(NULL, memory);
    allocs++;
    *address = (uintptr_t)memory;
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address)
{
    frees++;
    hold((void *)(uintptr_t)address, NULL);
    free((void *)(uintptr_t)address);
    return CUDA_SUCCESS;
}

// Address space is reserved without access, so that who leaves a mapping is stopped as on a GPU.
CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags)
{
    (void)alignment, (void)hint, (void)flags;
    CALL("reserve");
    void *space = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *address = (uintptr_t)space;
    return space == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    return munmap((void *)(uintptr_t)address, bytes) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags which)
{
    (void)prop, (void)which;
    *bytes = 2 << 20;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
                     unsigned long long flags)
{
    (void)bytes, (void)prop, (void)flags;
    CALL("create");
    *handle = 1;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    return handle == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    (void)address, (void)bytes, (void)offset, (void)handle, (void)flags;
    CALL("map");
    maps++;
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    (void)access, (void)count;
    CALL("access");
    return mprotect((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE) ? CUDA_ERROR_INVALID_VALUE
                                                                               : CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    unmaps++;
    return mprotect((void *)(uintptr_t)address, bytes, PROT_NONE) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    CALL("copy");
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    CALL("copy");
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    CALL("copy");
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    clock_ns += bytes / 500; // 1 TB/s, read and written
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    (void)stream;
    CALL("memset");
    memset((void *)(uintptr_t)to, value, count);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)stream;
    CALL("memset");
    for (size_t i = 0; i < count; i++)
        memcpy((char *)(uintptr_t)to + i * 4, &value, 4);
    memsets++;
    clock_ns += 40000;
    flushed = true;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    CALL("load");
    (void)image;
    loads++;
    *module = (CUmodule)(uintptr_t)loads;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    unloads++;
    (void)module;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    CALL("function");
    if (!strcmp(name, "nosuch"))
        return CUDA_ERROR_NOT_FOUND;
    *function = (CUfunction)(uintptr_t)0xf0;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    static char constant[256];
    (void)module, (void)name;
    CALL("global");
    *address = (CUdeviceptr)(uintptr_t)constant;
    *bytes = (size_t)fake_value(SCRIPT, "variable", 40);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function)
{
    (void)function;
    *value = 0;
    if (which == CU_FUNC_ATTRIBUTE_NUM_REGS)
        *value = (int)fake_value(SCRIPT, "regs", 32);
    if (which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
        *value = (int)fake_value(SCRIPT, "static", 0);
    if (which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        *value = (int)fake_value(SCRIPT, "maxthreads", 1024);
    if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        *value = 49152 - (int)fake_value(SCRIPT, "static", 0);
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value)
{
    (void)function;
    CALL("setattr");
    if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        dynamic_limit = (size_t)value;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    (void)function;
    const char *sizes = fake_text(SCRIPT, "params", "8,8,4");
    *offset = 0;
    CALL("paraminfo");
    for (size_t i = 0; i < index; i++) {
        *offset += (size_t)atoi(sizes);
        sizes = strchr(sizes, ',');
        if (!sizes++)
            return CUDA_ERROR_INVALID_VALUE;
    }
    *bytes = (size_t)atoi(sizes);
    return *bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t shared)
{
    (void)function, (void)threads, (void)shared;
    CALL("occupancy");
    *blocks = (int)fake_value(SCRIPT, "occupancy_blocks", 2);
    return CUDA_SUCCESS;
}

static CUresult launch(size_t shared)
{
    size_t fixed = (size_t)fake_value(SCRIPT, "static", 0);
    if (shared + fixed > 49152 && shared > dynamic_limit)
        return CUDA_ERROR_INVALID_VALUE;
    double us = fake_value(SCRIPT, flushed ? "cold" : "warm", flushed ? 40 : 30);
    us *= 1 + fake_value(SCRIPT, "noise", 0) * noise();
    flushed = false;
    launches++;
    struct fake_launch it = {clock_ns + 1000, clock_ns + 1000 + (uint64_t)(us * 1e3)};
    clock_ns = it.end_ns;
    if (hook)
        hook(&it);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)stream, (void)params, (void)extra;
    CALL("launch");
    return launch(shared);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void **params)
{
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)stream, (void)params;
    CALL("cooperative");
    return launch(shared);
}
