#include "jit/cuda_driver.h"
#include "jit/compile.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *load_symbols(struct kb_cuda_driver *driver, void *handle)
{
    const char *missing = NULL;
#define KB_CUDA_LOAD(field, symbol, type, needed)                                                                      \
    *(void **)&driver->field = dlsym(handle, symbol);                                                                  \
    if (!driver->field && (needed) && !missing)                                                                        \
        missing = symbol;
    KB_CUDA_SYMBOLS(KB_CUDA_LOAD)
#undef KB_CUDA_LOAD
    return missing;
}

const struct kb_cuda_driver *kb_cuda_driver_get(bool *absent, struct kb_error *e)
{
    static struct kb_cuda_driver driver;
    *absent = false;
    if (driver.init)
        return &driver;
    // Lazy loading would load a kernel's code at its first launch: inside a timed window, and it can wait forever for
    // a kernel that never ends.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    struct kb_cuda_driver opened = {0};
    void *handle = kb_toolkit_open("cuda", opened.path, sizeof opened.path, e);
    if (!handle) {
        *absent = true;
        return NULL;
    }
    const char *missing = load_symbols(&opened, handle);
    if (missing) {
        kb_fail(e, opened.path, "install a newer NVIDIA driver (CUDA 12.0 or later), or use --device cpu",
                "the CUDA driver library has no %s", missing);
        dlclose(handle);
        return NULL;
    }
    driver = opened;
    return &driver;
}

static const struct {
    int code, kind;
} faults[] = {
    {2, KB_FAULT_MEMORY},     {4, KB_FAULT_POISONED}, // deinitialized
    {46, KB_FAULT_LOST},                              // device unavailable
    {100, KB_FAULT_LOST},                             // no device: it was there when it was opened
    {101, KB_FAULT_LOST},                             // invalid device: likewise
    {201, KB_FAULT_POISONED},                         // invalid context
    {214, KB_FAULT_LOST},                             // uncorrectable ECC error
    {220, KB_FAULT_LOST},                             // uncorrectable NVLink error
    {226, KB_FAULT_POISONED},                         // contained memory error
    {700, KB_FAULT_POISONED},                         // illegal address
    {702, KB_FAULT_POISONED},                         // launch timeout
    {709, KB_FAULT_POISONED},                         // context is destroyed
    {710, KB_FAULT_POISONED},                         // assert
    {714, KB_FAULT_POISONED},                         // hardware stack error
    {715, KB_FAULT_POISONED},                         // illegal instruction
    {716, KB_FAULT_POISONED},                         // misaligned address
    {717, KB_FAULT_POISONED},                         // invalid address space
    {718, KB_FAULT_POISONED},                         // invalid program counter
    {719, KB_FAULT_POISONED},                         // launch failed
    {721, KB_FAULT_POISONED},                         // tensor memory leak
    {806, KB_FAULT_POISONED},                         // MPS server gone
    {810, KB_FAULT_POISONED},                         // MPS client terminated
    {999, KB_FAULT_POISONED},                         // unknown: the next open tells whether the GPU is still there
};

void kb_cuda_fault_of(const struct kb_cuda_driver *cu, int code, struct kb_device_fault *fault)
{
    memset(fault, 0, sizeof *fault);
    if (!code)
        return;
    fault->code = code;
    fault->kind = KB_FAULT_REFUSED;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (faults[i].code == code)
            fault->kind = faults[i].kind;
    const char *name = NULL;
    if (cu->error_name((CUresult)code, &name) != CUDA_SUCCESS || !name)
        snprintf(fault->name, sizeof fault->name, "CUDA error %d", code);
    else
        snprintf(fault->name, sizeof fault->name, "%s", name);
}

static const char *remedy_of(int code)
{
    switch (code) {
    case 2:
        return "make the bench smaller, or free memory of the GPU that other processes hold";
    case 46:
    case 214:
    case 220:
        return "the GPU is lost: see dmesg for its Xid, then reset it or reboot";
    case 209:
        return "compile for the architecture of this GPU";
    case 700:
        return "the kernel read or wrote outside its buffers: --device cpu names the line";
    case 710:
        return "a device-side assert fired: see the log";
    case 716:
        return "a vector access needs an address that is a multiple of its size";
    case 719:
        return "often an access outside shared or local memory, or a trap: --device cpu names the line";
    default:
        return NULL;
    }
}

int kb_cuda_check(struct kb_cuda_device *d, CUresult code, struct kb_error *e, const char *what, ...)
{
    if (code == CUDA_SUCCESS)
        return 0;
    kb_cuda_fault_of(d->cu, (int)code, &d->base.fault);
    if (d->base.fault.kind == KB_FAULT_POISONED || d->base.fault.kind == KB_FAULT_LOST)
        d->fatal = d->base.fault;
    const char *text = NULL;
    d->cu->error_string(code, &text);
    char act[320];
    va_list list;
    va_start(list, what);
    vsnprintf(act, sizeof act, what, list);
    va_end(list);
    return kb_fail(e, NULL, remedy_of((int)code), "%s: %s%s%s", act, d->base.fault.name, text ? ", " : "",
                   text ? text : "");
}

int kb_cuda_alive(struct kb_cuda_device *d, struct kb_error *e)
{
    if (d->fatal.kind == KB_FAULT_NONE)
        return 0;
    d->base.fault = d->fatal;
    return kb_fail(e, NULL, "replace this process", "the %s was lost before, by %s",
                   d->fatal.kind == KB_FAULT_LOST ? "GPU" : "context", d->fatal.name);
}
