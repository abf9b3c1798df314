#include "profiles/cupti.h"
#include "base/file.h"
#include "base/memory.h"
#include "jit/compile.h"

#include <cupti.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PERMISSION                                                                                                     \
    "driver option NVreg_RestrictProfilingToAdminUsers=0, or the container capability SYS_ADMIN (--cap-add SYS_ADMIN)"
#define FITTING "install the CUPTI of the driver's CUDA version (KBENCH_CUPTI names one), or a newer driver"

static const struct {
    int code;
    bool lasting;
    const char *what, *remedy;
} refusals[] = {
    {CUPTI_ERROR_OUT_OF_MEMORY, false, "CUPTI ran out of memory", "free memory of the GPU or the host"},
    {CUPTI_ERROR_NOT_COMPATIBLE, true, "this CUPTI does not fit the driver", FITTING},
    {CUPTI_ERROR_NOT_INITIALIZED, true, "CUPTI could not start", FITTING},
    {CUPTI_ERROR_NOT_SUPPORTED, true, "CUPTI does not support this GPU or system",
     "a GPU of compute capability 7.5 or later can be profiled, on Linux itself"},
    {CUPTI_ERROR_HARDWARE_BUSY, false, "another process holds the profiling hardware", "end it, then retry"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, true, "CUPTI does not support this virtual GPU",
     "pass the whole GPU through, or take a vGPU type that can be profiled"},
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, true, NULL, NULL}, // refuse_permission()
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, true, "another NVIDIA tool observes this process",
     "close the profiler, sanitizer or debugger, then retry"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, true, "no permission to profile this virtual GPU",
     "enable profiling of this vGPU in the hypervisor"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, true, "no profiling under confidential computing",
     "switch it off for this GPU, or profile on another one"},
    {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, true, "this mining GPU cannot be profiled", "profile on another GPU"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, true, "CUPTI does not support this MIG instance",
     "take an instance of the whole GPU, or switch MIG off"},
    {CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, true, "CUPTI does not support SLI", "switch SLI off"},
    {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, true, "CUPTI does not support this GPU under WSL",
     "profile on Linux itself"},
};

static _Thread_local int last_refusal;

static bool under_wsl(void)
{
    char *release = NULL;
    size_t size;
    if (kb_file_read("/proc/sys/kernel/osrelease", 1 << 12, &release, &size, NULL))
        return false;
    bool wsl = strstr(release, "microsoft") || strstr(release, "Microsoft");
    free(release);
    return wsl;
}

// Under WSL 2 this is said whatever is allowed where, the driver's option in Windows included: nothing helps.
static int refuse_permission(struct kb_error *e, const char *why)
{
    if (under_wsl())
        return kb_fail(e, NULL, NULL, "profiling is not available under WSL2 (%s)", why);
    return kb_fail(e, NULL, PERMISSION, "no permission to profile this GPU (%s)", why);
}

int kb_cupti_refuse(int code, const char *step, struct kb_error *e)
{
    last_refusal = code;
    char *said = kb_format("CUPTI error %d from %s", code, step);
    int status;
    size_t i = 0;
    while (i < KB_COUNT(refusals) && refusals[i].code != code)
        i++;
    if (code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
        status = refuse_permission(e, said);
    else if (i < KB_COUNT(refusals))
        status = kb_fail(e, NULL, refusals[i].remedy, "%s (%s)", refusals[i].what, said);
    else
        status = kb_fail(e, NULL, NULL, "%s", said);
    free(said);
    return status;
}

bool kb_cupti_lasting(int code)
{
    for (size_t i = 0; i < KB_COUNT(refusals); i++)
        if (refusals[i].code == code)
            return refusals[i].lasting;
    return false;
}

bool kb_cupti_shared(int code)
{
    static const int alone[] = {CUPTI_ERROR_NOT_SUPPORTED, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
                                CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED};
    for (size_t i = 0; i < KB_COUNT(alone); i++)
        if (alone[i] == code)
            return false;
    return true;
}

int kb_cupti_take_refusal(void)
{
    int code = last_refusal;
    last_refusal = 0;
    return code;
}

int kb_cupti_symbols(const struct kb_cupti_symbol *symbols, size_t count, struct kb_error *e)
{
    static void *library;
    static char path[256];
    if (!library)
        library = kb_toolkit_open("cupti", path, sizeof path, e);
    if (!library)
        return -1;
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            return kb_fail(e, path, FITTING, "this CUPTI has no %s", symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    return 0;
}

int kb_profiling_allowed(int admin_only, bool sys_admin, struct kb_error *e)
{
    if (admin_only != 1 || sys_admin)
        return 0;
    last_refusal = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    return refuse_permission(e, "the driver has RmProfilingAdminOnly 1");
}

bool kb_has_sys_admin(void)
{
    enum { CAP_SYS_ADMIN_BIT = 21 }; // linux/capability.h
    char *data = NULL;
    size_t size;
    if (kb_file_read("/proc/self/status", 1 << 16, &data, &size, NULL))
        return false;
    const char *at = strstr(data, "\nCapEff:");
    uint64_t effective = at ? strtoull(at + strlen("\nCapEff:"), NULL, 16) : 0;
    free(data);
    return effective >> CAP_SYS_ADMIN_BIT & 1;
}
