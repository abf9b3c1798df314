// Opening a GPU: which one, what it is, and in plain words why it cannot be used.
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "jit/cuda_driver.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    OLDEST_DRIVER = 12000, // cuDriverGetVersion of CUDA 12.0
    ATTRIBUTE_MPS = 133,   // CU_DEVICE_ATTRIBUTE_MPS_ENABLED; by number, since older headers lack it
    PATIENCE_US = 3000000,
};

static int refuse(struct kb_error *e, const char *code, const char *on, const char *remedy, const char *what)
{
    kb_device_set_failure(code);
    return kb_fail(e, on, remedy, "%s", what);
}

static int init_failed(const struct kb_cuda_driver *cu, CUresult code, bool *absent, struct kb_error *e)
{
    struct kb_device_fault fault;
    kb_cuda_fault_of(cu, (int)code, &fault);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char text[256];
    snprintf(text, sizeof text, "cannot start the CUDA driver: %s", fault.name);
    switch ((int)code) {
    case 100: // no device
    case 34:  // the toolkit's stub library, which is no driver
        *absent = true;
        if (visible)
            snprintf(text, sizeof text, "the CUDA driver sees no GPU with CUDA_VISIBLE_DEVICES=\"%.100s\"", visible);
        else
            snprintf(text, sizeof text, "there is a CUDA driver but no GPU");
        return refuse(e, "no_device", cu->path, visible ? "correct or unset CUDA_VISIBLE_DEVICES" : "--device cpu",
                      text);
    case 803:
        return refuse(e, "old_driver", cu->path, "the driver was updated while running: reboot, or reload its modules",
                      text);
    case 804:
        return refuse(e, "old_driver", cu->path, "this CUDA compatibility library does not fit the GPU: remove it",
                      text);
    case 802:
        return refuse(e, "busy", cu->path, "the system is not ready: start nvidia-fabricmanager, or wait", text);
    case 805:
    case 806:
    case 807:
    case 808:
    case 809:
        return refuse(e, "busy", cu->path, "look at the MPS server (nvidia-cuda-mps-control)", text);
    default:
        return refuse(e, "internal", cu->path, "nvidia-smi and dmesg tell whether the driver works", text);
    }
}

static int init(const struct kb_cuda_driver *cu, bool *absent, int *count, struct kb_error *e)
{
    CUresult code = cu->init(0);
    if (code != CUDA_SUCCESS)
        return init_failed(cu, code, absent, e);
    int version = 0;
    if (cu->driver_version(&version) == CUDA_SUCCESS && version < OLDEST_DRIVER) {
        char text[128];
        snprintf(text, sizeof text, "the driver supports CUDA %d.%d, 12.0 or later is needed", version / 1000,
                 version % 1000 / 10);
        return refuse(e, "old_driver", cu->path, "install a newer NVIDIA driver", text);
    }
    code = cu->device_count(count);
    if (code == CUDA_SUCCESS && !*count)
        code = CUDA_ERROR_NO_DEVICE;
    return code == CUDA_SUCCESS ? 0 : init_failed(cu, code, absent, e);
}

static void uuid_text(const struct kb_cuda_driver *cu, CUdevice device, char out[64])
{
    CUuuid id;
    out[0] = 0;
    if (cu->device_uuid(&id, device) != CUDA_SUCCESS)
        return;
    int used = snprintf(out, 64, "GPU-");
    for (int i = 0; i < 16; i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += snprintf(out + used, 64 - (size_t)used, "%s%02x", dash, (unsigned char)id.bytes[i]);
    }
}

static bool uuid_fits(const char *uuid, const char *wanted)
{
    if (!strncasecmp(wanted, "MIG-", 4)) // the driver reports a MIG instance by its UUID, under the GPU- spelling
        wanted += 4, uuid += 4;
    return !strncasecmp(uuid, wanted, strlen(wanted)); // as in CUDA_VISIBLE_DEVICES, a unique beginning is enough
}

static int find_by_uuid(const struct kb_cuda_driver *cu, const char *wanted, int count, struct kb_error *e)
{
    int found = -1, hits = 0;
    for (int i = 0; i < count; i++) {
        CUdevice device;
        char uuid[64];
        if (cu->device_get(&device, i) != CUDA_SUCCESS)
            continue;
        uuid_text(cu, device, uuid);
        if (uuid_fits(uuid, wanted)) {
            found = i;
            hits++;
        }
    }
    if (hits == 1)
        return found;
    kb_device_set_failure("no_device");
    return kb_fail(e, wanted, "nvidia-smi -L lists the UUIDs", "%d of the %d visible GPUs have this UUID", hits, count);
}

static int choose(const struct kb_cuda_driver *cu, const char *kind, int count, struct kb_error *e)
{
    const char *which = strchr(kind, ':');
    if (!which || strncmp(kind, "cuda", 4))
        return 0;
    which++;
    if (!strncasecmp(which, "GPU-", 4) || !strncasecmp(which, "MIG-", 4))
        return find_by_uuid(cu, which, count, e);
    char *end;
    long index = strtol(which, &end, 10);
    if (!isdigit((unsigned char)*which) || *end)
        return refuse(e, "internal", kind, "cuda, cuda:N or cuda:GPU-uuid", "no such device");
    if (index < count)
        return (int)index;
    kb_device_set_failure("no_device");
    return kb_fail(e, kind, "nvidia-smi -L lists the GPUs; CUDA_VISIBLE_DEVICES may hide some",
                   "there are %d visible GPUs, counted from 0", count);
}

static void driver_text(char *out, size_t size, int version)
{
    char *data = NULL;
    size_t n;
    if (kb_file_read("/sys/module/nvidia/version", 64, &data, &n, NULL) == 0 && isdigit((unsigned char)data[0]))
        snprintf(out, size, "%.*s", (int)strcspn(data, "\n"), data);
    else
        snprintf(out, size, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    free(data);
}

static int read_attribute(const struct kb_cuda_device *d, int which)
{
    int value = 0;
    if (d->cu->device_attribute(&value, (CUdevice_attribute)which, d->device) != CUDA_SUCCESS)
        return 0;
    return value;
}

static void read_limits(struct kb_cuda_device *d)
{
    struct kb_device_info *info = &d->base.info;
    const struct {
        int which, *to;
    } numbers[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info->sm_count},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &info->max_threads_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &info->max_blocks_per_sm},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &info->warp_size},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &info->registers_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &info->registers_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &info->max_threads_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &info->max_grid[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &info->max_grid[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &info->max_grid[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &info->max_block[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &info->max_block[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &info->max_block[2]},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &info->clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &info->memory_clock_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &info->memory_bus_bits},
        {ATTRIBUTE_MPS, &info->mps},
    };
    for (size_t i = 0; i < KB_COUNT(numbers); i++)
        *numbers[i].to = read_attribute(d, numbers[i].which);
    const struct {
        int which;
        size_t *to;
    } sizes[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &info->shared_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &info->shared_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &info->shared_per_block_optin},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &info->shared_reserved_per_block},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &info->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, &info->persisting_l2_bytes},
    };
    for (size_t i = 0; i < KB_COUNT(sizes); i++)
        *sizes[i].to = (size_t)read_attribute(d, sizes[i].which);
    info->cooperative_launch = read_attribute(d, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    info->integrated = read_attribute(d, CU_DEVICE_ATTRIBUTE_INTEGRATED);
    int mode = read_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    info->exclusive_process = mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
}

static void describe(struct kb_cuda_device *d, int index)
{
    struct kb_device_info *info = &d->base.info;
    info->kind = KB_DEVICE_CUDA;
    info->index = index;
    if (d->cu->device_name(info->name, (int)sizeof info->name, d->device) != CUDA_SUCCESS)
        info->name[0] = 0;
    uuid_text(d->cu, d->device, info->uuid);
    int version = 0;
    d->cu->driver_version(&version);
    driver_text(info->driver, sizeof info->driver, version);
    snprintf(info->driver_library, sizeof info->driver_library, "%s", d->cu->path);
    snprintf(info->arch, sizeof info->arch, "sm_%d%d", read_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             read_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    d->cu->device_memory(&info->memory_bytes, d->device);
    read_limits(d);
}

// The primary context: one signature in every driver (cuCtxCreate changed its own three times), and the one that a
// vendor library in this process would use too. A predecessor that was just killed may hold an exclusive GPU, or its
// memory, for a moment longer, so those two refusals are tried again for a while.
static CUresult retain(struct kb_cuda_device *d)
{
    int64_t until = kb_now_us() + PATIENCE_US;
    for (;;) {
        CUresult code = d->cu->context_retain(&d->context, d->device);
        bool again = code == CUDA_ERROR_OUT_OF_MEMORY ||
                     (code == CUDA_ERROR_DEVICE_UNAVAILABLE && d->base.info.exclusive_process);
        if (!again || kb_now_us() >= until)
            return code;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

static int context_failed(struct kb_cuda_device *d, CUresult code, struct kb_error *e)
{
    struct kb_device_info *info = &d->base.info;
    char text[384];
    d->context = NULL;
    kb_cuda_check(d, code, e, "no context on GPU %d (%s)", info->index, info->name);
    if (code == CUDA_ERROR_DEVICE_UNAVAILABLE) {
        snprintf(text, sizeof text, "GPU %d (%s) is %s", info->index, info->name,
                 info->exclusive_process ? "in exclusive-process mode and another process holds it"
                                         : "busy or unavailable (CUDA_ERROR_DEVICE_UNAVAILABLE)");
        return refuse(e, "busy", info->uuid, "end the other process, or sudo nvidia-smi -c DEFAULT", text);
    }
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        snprintf(text, sizeof text, "GPU %d (%s) has not enough free memory for a context", info->index, info->name);
        return refuse(e, "busy", info->uuid, "nvidia-smi lists the processes that hold it", text);
    }
    kb_device_set_failure("internal");
    return -1;
}

static int open_context(struct kb_cuda_device *d, struct kb_error *e)
{
    if (read_attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_PROHIBITED)
        return refuse(e, "busy", d->base.info.uuid, "sudo nvidia-smi -c DEFAULT",
                      "the compute mode of this GPU is prohibited");
    CUresult code = retain(d);
    if (code != CUDA_SUCCESS)
        return context_failed(d, code, e);
    kb_device_set_failure("internal");
    if (kb_cuda_check(d, d->cu->context_set(d->context), e, "cannot use the context") ||
        kb_cuda_check(d, d->cu->stream_create(&d->stream, CU_STREAM_NON_BLOCKING), e, "cannot create a stream") ||
        kb_cuda_check(d, d->cu->event_create(&d->begin, CU_EVENT_DEFAULT), e, "cannot create an event") ||
        kb_cuda_check(d, d->cu->event_create(&d->end, CU_EVENT_DEFAULT), e, "cannot create an event"))
        return -1;
    return 0;
}

int kb_device_open_cuda(const struct kb_device_request *request, struct kb_device **out, bool *absent,
                        struct kb_error *e)
{
    *out = NULL;
    kb_device_set_failure("old_driver");
    const struct kb_cuda_driver *cu = kb_cuda_driver_get(absent, e);
    if (!cu) {
        if (*absent)
            kb_device_set_failure("no_device");
        return -1;
    }
    int count = 0;
    if (init(cu, absent, &count, e))
        return -1;
    int index = choose(cu, request->kind ? request->kind : "cuda", count, e);
    if (index < 0)
        return -1;
    struct kb_cuda_device *d = kb_alloc(sizeof *d);
    d->base.ops = &kb_cuda_ops;
    d->cu = cu;
    if (kb_cuda_check(d, cu->device_get(&d->device, index), e, "cannot open GPU %d", index)) {
        kb_device_set_failure("internal");
        free(d);
        return -1;
    }
    describe(d, index);
    if (open_context(d, e)) {
        kb_cuda_ops.close(&d->base);
        return -1;
    }
    *out = &d->base;
    return 0;
}
