// Large buffers in address space of their own: nothing is mapped for a while before and behind them, so that a kernel
// that searches memory for what it was not given ends with an illegal address. Small ones share pages, as the driver
// deals them out; what lies there is for nobody to read anyway (verify/mask.h).
#include "jit/cuda_driver.h"

enum { APART_FROM_BYTES = 4 << 20, GAP_BYTES = 64 << 20 };

static CUmemAllocationProp property(const struct kb_cuda_device *d)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->device}};
}

static bool possible(const struct kb_cuda_device *d)
{
    const struct kb_cuda_driver *cu = d->cu;
    int supported = 0;
    bool has = cu->address_reserve && cu->address_free && cu->memory_create && cu->memory_release && cu->memory_map &&
               cu->memory_unmap && cu->memory_access && cu->memory_granularity;
    return has &&
           cu->device_attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, d->device) ==
               CUDA_SUCCESS &&
           supported;
}

// Puts new memory at an address that is reserved.
static bool map(const struct kb_cuda_device *d, CUdeviceptr at, size_t bytes)
{
    CUmemAllocationProp prop = property(d);
    CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    if (d->cu->memory_create(&handle, bytes, &prop, 0) != CUDA_SUCCESS)
        return false;
    bool mapped = d->cu->memory_map(at, bytes, 0, handle, 0) == CUDA_SUCCESS;
    d->cu->memory_release(handle); // lives as long as it is mapped
    if (mapped && d->cu->memory_access(at, bytes, &access, 1) == CUDA_SUCCESS)
        return true;
    if (mapped)
        d->cu->memory_unmap(at, bytes);
    return false;
}

bool kb_cuda_alloc_apart(const struct kb_cuda_device *d, size_t bytes, CUdeviceptr *base, size_t *mapped)
{
    CUmemAllocationProp prop = property(d);
    size_t grain = 0;
    CUdeviceptr space = 0;
    if (bytes < APART_FROM_BYTES || !possible(d) ||
        d->cu->memory_granularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS || !grain ||
        GAP_BYTES % grain)
        return false;
    *mapped = (bytes + grain - 1) / grain * grain;
    if (*mapped < bytes || d->cu->address_reserve(&space, *mapped + 2 * GAP_BYTES, 0, 0, 0) != CUDA_SUCCESS)
        return false;
    *base = space + GAP_BYTES;
    if (map(d, *base, *mapped))
        return true;
    d->cu->address_free(space, *mapped + 2 * GAP_BYTES);
    return false;
}

void kb_cuda_free_apart(const struct kb_cuda_device *d, CUdeviceptr base, size_t mapped)
{
    d->cu->stream_sync(d->stream); // unlike freeing, unmapping does not wait for who still uses it
    d->cu->memory_unmap(base, mapped);
    d->cu->address_free(base - GAP_BYTES, mapped + 2 * GAP_BYTES);
}
