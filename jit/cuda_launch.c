// Modules, kernels and launches of the CUDA backend.
#include "base/memory.h"
#include "jit/cuda_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kb_cuda_load(struct kb_device *device, const void *image, size_t bytes, struct kb_module **out, struct kb_error *e)
{
    struct kb_cuda_device *d = (struct kb_cuda_device *)device;
    *out = NULL;
    if (kb_cuda_alive(d, e))
        return -1;
    if (!bytes) { // a compile for a virtual architecture succeeds with an empty cubin (B1)
        d->base.fault = (struct kb_device_fault){.kind = KB_FAULT_REFUSED};
        return kb_fail(e, NULL, "compile for a real architecture (sm_XY)", "the cubin is empty");
    }
    CUmodule module = NULL;
    if (kb_cuda_check(d, d->cu->module_load(&module, image), e, "cannot load the module (%zu bytes)", bytes))
        return -1;
    *out = kb_alloc(sizeof **out);
    (*out)->device = d;
    (*out)->module = module;
    kb_cuda_find_memory(*out, image, bytes);
    return 0;
}

void kb_cuda_unload(struct kb_device *device, struct kb_module *module)
{
    struct kb_cuda_device *d = (struct kb_cuda_device *)device;
    if (!module)
        return;
    if (d->fatal.kind == KB_FAULT_NONE) {
        d->cu->stream_sync(d->stream); // its kernels may still run
        d->cu->module_unload(module->module);
    }
    for (int i = 0; i < module->kernel_count; i++)
        free(module->kernels[i]);
    free(module->kernels);
    free(module->memory);
    free(module);
}

static int attribute(const struct kb_kernel *kernel, CUfunction_attribute which)
{
    int value = 0;
    if (kernel->device->cu->function_get(&value, which, kernel->function) != CUDA_SUCCESS)
        return 0;
    return value;
}

static void read_params(struct kb_kernel *kernel)
{
    struct kb_kernel_info *info = &kernel->info;
    info->param_count = -1;
    if (!kernel->device->cu->param_info) // drivers before CUDA 12.4; the cubin tells too
        return;
    int count = 0;
    size_t offset, bytes;
    CUresult code = CUDA_SUCCESS;
    while (count < KB_MAX_PARAMS) {
        code = kernel->device->cu->param_info(kernel->function, (size_t)count, &offset, &bytes);
        if (code != CUDA_SUCCESS)
            break;
        info->param_offset[count] = (int)offset;
        info->param_bytes[count++] = (int)bytes;
    }
    if (code == CUDA_SUCCESS || code == CUDA_ERROR_INVALID_VALUE) // the end of the list; anything else is no answer
        info->param_count = count;
}

static void read_info(struct kb_kernel *kernel, const char *name)
{
    struct kb_kernel_info *info = &kernel->info;
    snprintf(info->name, sizeof info->name, "%s", name);
    info->registers = attribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS);
    info->max_threads = attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info->static_shared = (size_t)attribute(kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    info->local_bytes = (size_t)attribute(kernel, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    info->const_bytes = (size_t)attribute(kernel, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    info->max_dynamic_shared = attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    info->cluster_required = attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) *
                             attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT) *
                             attribute(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    kernel->opted_in = info->max_dynamic_shared > 0 ? (size_t)info->max_dynamic_shared : 0;
    read_params(kernel);
}

int kb_cuda_variable(struct kb_module *module, const char *name, uint64_t *address, size_t *bytes, struct kb_error *e)
{
    struct kb_cuda_device *d = module->device;
    CUdeviceptr at = 0;
    if (kb_cuda_alive(d, e) || kb_cuda_check(d, d->cu->module_global(&at, bytes, module->module, name), e,
                                             "no variable \"%s\" in the module", name))
        return -1;
    *address = at;
    return 0;
}

int kb_cuda_symbol(struct kb_module *module, const char *name, struct kb_kernel **out, struct kb_error *e)
{
    struct kb_cuda_device *d = module->device;
    *out = NULL;
    if (kb_cuda_alive(d, e))
        return -1;
    for (int i = 0; i < module->kernel_count; i++)
        if (!strcmp(module->kernels[i]->info.name, name)) {
            *out = module->kernels[i];
            return 0;
        }
    CUfunction function = NULL;
    if (kb_cuda_check(d, d->cu->module_function(&function, module->module, name), e, "no kernel \"%s\" in the module",
                      name))
        return -1;
    struct kb_kernel *kernel = kb_alloc(sizeof *kernel);
    kernel->device = d;
    kernel->function = function;
    read_info(kernel, name);
    KB_GROW(module->kernels, module->kernel_count, module->kernel_capacity);
    module->kernels[module->kernel_count++] = kernel;
    *out = kernel;
    return 0;
}

void kb_cuda_kernel_info(const struct kb_kernel *kernel, struct kb_kernel_info *info)
{
    *info = kernel->info;
}

// Above the default limit a kernel must be told what it may use. The limit holds for static and dynamic bytes together,
// and is only ever raised: a smaller launch in between must not lower it.
static int opt_in(struct kb_kernel *kernel, size_t shared, struct kb_error *e)
{
    struct kb_cuda_device *d = kernel->device;
    size_t all = shared + kernel->info.static_shared;
    if (all <= d->base.info.shared_per_block || shared <= kernel->opted_in)
        return 0;
    CUresult code = d->cu->function_set(kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared);
    if (kb_cuda_check(d, code, e, "%s: cannot opt in to %zu bytes of dynamic shared memory", kernel->info.name, shared))
        return -1;
    kernel->opted_in = shared;
    return 0;
}

int kb_cuda_occupancy(struct kb_kernel *kernel, int threads, size_t shared, int *blocks, struct kb_error *e)
{
    struct kb_cuda_device *d = kernel->device;
    const struct kb_device_info *info = &d->base.info;
    *blocks = 0;
    if (kb_cuda_alive(d, e))
        return -1;
    size_t most = info->shared_per_block_optin ? info->shared_per_block_optin : info->shared_per_block;
    if (shared + kernel->info.static_shared > most || threads < 1 || threads > info->max_threads_per_block)
        return 0; // no block fits
    if (opt_in(kernel, shared, e))
        return -1;
    return kb_cuda_check(d, d->cu->occupancy(blocks, kernel->function, threads, shared), e, "%s: occupancy",
                         kernel->info.name);
}

int kb_cuda_launch(struct kb_kernel *kernel, const struct kb_launch_args *args, struct kb_error *e)
{
    struct kb_cuda_device *d = kernel->device;
    if (kb_cuda_alive(d, e))
        return -1;
    d->base.fault = (struct kb_device_fault){0};
    if (kb_launch_check(kernel, &kb_cuda_ops, &d->base.info, args, e)) {
        if (d->base.fault.kind == KB_FAULT_NONE)
            d->base.fault.kind = KB_FAULT_REFUSED;
        return -1;
    }
    if (opt_in(kernel, args->shared, e))
        return -1;
    unsigned g[3], b[3];
    for (int i = 0; i < 3; i++) {
        g[i] = (unsigned)args->grid[i];
        b[i] = (unsigned)args->block[i];
    }
    void **values = (void **)(uintptr_t)args->args; // the driver only reads them
    CUresult code = args->cooperative ? d->cu->launch_cooperative(kernel->function, g[0], g[1], g[2], b[0], b[1], b[2],
                                                                  (unsigned)args->shared, d->stream, values)
                                      : d->cu->launch(kernel->function, g[0], g[1], g[2], b[0], b[1], b[2],
                                                      (unsigned)args->shared, d->stream, values, NULL);
    return kb_cuda_check(d, code, e, "launch of %s with grid %u x %u x %u, block %u x %u x %u, %zu shared bytes",
                         kernel->info.name, g[0], g[1], g[2], b[0], b[1], b[2], args->shared);
}
