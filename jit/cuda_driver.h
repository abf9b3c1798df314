// The part of the CUDA driver API that is used here, opened at run time. Private to jit/cuda_*.c and jit/device_cuda.c:
// nothing else sees cuda.h.
#ifndef KB_JIT_CUDA_DRIVER_H
#define KB_JIT_CUDA_DRIVER_H
#include "jit/device.h"

#include <cuda.h>

// field, exported symbol, type, needed. Symbols are named with their ABI version, so that every driver since CUDA 12.0
// gives the same function whatever header this was built with; those not needed are NULL in older drivers.
#define KB_CUDA_SYMBOLS(X)                                                                                             \
    X(init, "cuInit", typeof(&cuInit), 1)                                                                              \
    X(driver_version, "cuDriverGetVersion", typeof(&cuDriverGetVersion), 1)                                            \
    X(error_name, "cuGetErrorName", typeof(&cuGetErrorName), 1)                                                        \
    X(error_string, "cuGetErrorString", typeof(&cuGetErrorString), 1)                                                  \
    X(device_count, "cuDeviceGetCount", typeof(&cuDeviceGetCount), 1)                                                  \
    X(device_get, "cuDeviceGet", typeof(&cuDeviceGet), 1)                                                              \
    X(device_name, "cuDeviceGetName", typeof(&cuDeviceGetName), 1)                                                     \
    X(device_uuid, "cuDeviceGetUuid_v2", typeof(&cuDeviceGetUuid), 1)                                                  \
    X(device_memory, "cuDeviceTotalMem_v2", typeof(&cuDeviceTotalMem), 1)                                              \
    X(device_attribute, "cuDeviceGetAttribute", typeof(&cuDeviceGetAttribute), 1)                                      \
    X(context_retain, "cuDevicePrimaryCtxRetain", typeof(&cuDevicePrimaryCtxRetain), 1)                                \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", typeof(&cuDevicePrimaryCtxRelease), 1)                          \
    X(context_set, "cuCtxSetCurrent", typeof(&cuCtxSetCurrent), 1)                                                     \
    X(reset_persisting, "cuCtxResetPersistingL2Cache", typeof(&cuCtxResetPersistingL2Cache), 0)                        \
    X(stream_create, "cuStreamCreate", typeof(&cuStreamCreate), 1)                                                     \
    X(stream_destroy, "cuStreamDestroy_v2", typeof(&cuStreamDestroy), 1)                                               \
    X(stream_sync, "cuStreamSynchronize", typeof(&cuStreamSynchronize), 1)                                             \
    X(event_create, "cuEventCreate", typeof(&cuEventCreate), 1)                                                        \
    X(event_destroy, "cuEventDestroy_v2", typeof(&cuEventDestroy), 1)                                                  \
    X(event_record, "cuEventRecord", typeof(&cuEventRecord), 1)                                                        \
    X(event_sync, "cuEventSynchronize", typeof(&cuEventSynchronize), 1)                                                \
    X(event_elapsed, "cuEventElapsedTime", typeof(&cuEventElapsedTime), 1)                                             \
    X(memory_info, "cuMemGetInfo_v2", typeof(&cuMemGetInfo), 1)                                                        \
    X(alloc, "cuMemAlloc_v2", typeof(&cuMemAlloc), 1)                                                                  \
    X(free, "cuMemFree_v2", typeof(&cuMemFree), 1)                                                                     \
    X(address_reserve, "cuMemAddressReserve", typeof(&cuMemAddressReserve), 0)                                         \
    X(address_free, "cuMemAddressFree", typeof(&cuMemAddressFree), 0)                                                  \
    X(memory_create, "cuMemCreate", typeof(&cuMemCreate), 0)                                                           \
    X(memory_release, "cuMemRelease", typeof(&cuMemRelease), 0)                                                        \
    X(memory_map, "cuMemMap", typeof(&cuMemMap), 0)                                                                    \
    X(memory_unmap, "cuMemUnmap", typeof(&cuMemUnmap), 0)                                                              \
    X(memory_access, "cuMemSetAccess", typeof(&cuMemSetAccess), 0)                                                     \
    X(memory_granularity, "cuMemGetAllocationGranularity", typeof(&cuMemGetAllocationGranularity), 0)                  \
    X(copy_to_device, "cuMemcpyHtoDAsync_v2", typeof(&cuMemcpyHtoDAsync), 1)                                           \
    X(copy_to_host, "cuMemcpyDtoHAsync_v2", typeof(&cuMemcpyDtoHAsync), 1)                                             \
    X(copy, "cuMemcpyDtoDAsync_v2", typeof(&cuMemcpyDtoDAsync), 1)                                                     \
    X(set_bytes, "cuMemsetD8Async", typeof(&cuMemsetD8Async), 1)                                                       \
    X(set_words, "cuMemsetD32Async", typeof(&cuMemsetD32Async), 1)                                                     \
    X(module_load, "cuModuleLoadData", typeof(&cuModuleLoadData), 1)                                                   \
    X(module_unload, "cuModuleUnload", typeof(&cuModuleUnload), 1)                                                     \
    X(module_function, "cuModuleGetFunction", typeof(&cuModuleGetFunction), 1)                                         \
    X(module_global, "cuModuleGetGlobal_v2", typeof(&cuModuleGetGlobal), 1)                                            \
    X(function_get, "cuFuncGetAttribute", typeof(&cuFuncGetAttribute), 1)                                              \
    X(function_set, "cuFuncSetAttribute", typeof(&cuFuncSetAttribute), 1)                                              \
    X(param_info, "cuFuncGetParamInfo", CUresult (*)(CUfunction, size_t, size_t *, size_t *), 0)                       \
    X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", typeof(&cuOccupancyMaxActiveBlocksPerMultiprocessor),  \
      1)                                                                                                               \
    X(launch, "cuLaunchKernel", typeof(&cuLaunchKernel), 1)                                                            \
    X(launch_cooperative, "cuLaunchCooperativeKernel", typeof(&cuLaunchCooperativeKernel), 1)

struct kb_cuda_driver {
#define KB_CUDA_FIELD(field, symbol, type, needed) typeof(type) field;
    KB_CUDA_SYMBOLS(KB_CUDA_FIELD)
#undef KB_CUDA_FIELD
    char path[256]; // of the library
};

struct kb_cuda_device {
    struct kb_device base;
    const struct kb_cuda_driver *cu;
    CUdevice device;
    CUcontext context;
    CUstream stream; // the one stream of all launches, copies and events: what is timed is what was launched
    CUevent begin, end;
    CUdeviceptr flush_buffer; // 2 x L2; allocated at the first flush
    size_t flush_bytes;
    bool cannot_reset;            // the driver refuses to reset persisting lines of the L2
    struct kb_device_fault fatal; // the fault that lost the context; kind KB_FAULT_NONE while it lives
};
struct kb_kernel {
    struct kb_cuda_device *device;
    CUfunction function;
    struct kb_kernel_info info;
    size_t opted_in; // dynamic shared bytes allowed so far; only ever raised
};
struct kb_module {
    struct kb_cuda_device *device;
    CUmodule module;
    struct kb_kernel **kernels;
    int kernel_count, kernel_capacity;
    struct kb_module_memory *memory; // cuda_memory.c
    int memory_count;
    bool memory_hidden; // the place of a variable is not known
};

// The driver, opened at the first call and kept. *absent: the library is not there (or is a toolkit's stub).
const struct kb_cuda_driver *kb_cuda_driver_get(bool *absent, struct kb_error *);

// What a result means for the device (C1): lost context, lost GPU, out of memory, or a mere refusal.
void kb_cuda_fault_of(const struct kb_cuda_driver *, int code, struct kb_device_fault *);
// 0 for CUDA_SUCCESS; else notes the fault and fills the error: "launch of k: CUDA_ERROR_…, text". what: the act.
int kb_cuda_check(struct kb_cuda_device *, CUresult, struct kb_error *, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
// -1, with the fault that lost the context, so that no later call is blamed for it; 0 while the context lives.
int kb_cuda_alive(struct kb_cuda_device *, struct kb_error *);

// device_cuda.c, cuda_launch.c, cuda_memory.c, cuda_open.c
extern const struct kb_device_ops kb_cuda_ops;
int kb_cuda_load(struct kb_device *, const void *image, size_t bytes, struct kb_module **, struct kb_error *);
// false: it is too small for that, or this driver or GPU cannot. cuda_apart.c
bool kb_cuda_alloc_apart(const struct kb_cuda_device *, size_t bytes, CUdeviceptr *base, size_t *mapped);
void kb_cuda_free_apart(const struct kb_cuda_device *, CUdeviceptr base, size_t mapped);
void kb_cuda_unload(struct kb_device *, struct kb_module *);
int kb_cuda_symbol(struct kb_module *, const char *name, struct kb_kernel **, struct kb_error *);
int kb_cuda_variable(struct kb_module *, const char *name, uint64_t *address, size_t *bytes, struct kb_error *);
void kb_cuda_find_memory(struct kb_module *, const void *image, size_t bytes); // once, when it is loaded
const struct kb_module_memory *kb_cuda_module_memory(struct kb_module *, int *count, bool *whole);
void kb_cuda_kernel_info(const struct kb_kernel *, struct kb_kernel_info *);
int kb_cuda_occupancy(struct kb_kernel *, int threads, size_t shared, int *blocks, struct kb_error *);
int kb_cuda_launch(struct kb_kernel *, const struct kb_launch_args *, struct kb_error *);

#endif
