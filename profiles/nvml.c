#include "profiles/nvml.h"
#include "base/file.h"
#include "base/memory.h"
#include "jit/compile.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// NVML's header is not part of every toolkit; these few declarations are its stable ABI.
enum { NVML_OK = 0, NVML_INSUFFICIENT_SIZE = 7, NVML_CLOCK_SM = 1 };
typedef void *nvml_device;
struct nvml_process { // nvmlProcessInfo_t of the _v2 and _v3 calls
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

static struct {
    int (*init)(void);
    int (*by_uuid)(const char *, nvml_device *);
    int (*clock)(nvml_device, int, unsigned *);
    int (*processes)(nvml_device, unsigned *, struct nvml_process *);
} nvml;

static bool start(void)
{
    char path[256];
    void *library = kb_toolkit_open("nvml", path, sizeof path, NULL);
    if (!library)
        return false;
    *(void **)&nvml.init = dlsym(library, "nvmlInit_v2");
    *(void **)&nvml.by_uuid = dlsym(library, "nvmlDeviceGetHandleByUUID");
    *(void **)&nvml.clock = dlsym(library, "nvmlDeviceGetClockInfo");
    *(void **)&nvml.processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
    if (!nvml.processes) // drivers before 510
        *(void **)&nvml.processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v2");
    return nvml.init && nvml.by_uuid && nvml.init() == NVML_OK;
}

static nvml_device handle_of(const struct kb_device *device)
{
    static enum { NOT_TRIED, OPEN, MISSING } opened;
    static nvml_device handle; // a process has one device, and asks for it often
    static char uuid[sizeof device->info.uuid];
    if (device->info.kind != KB_DEVICE_CUDA || !device->info.uuid[0])
        return NULL;
    if (opened == NOT_TRIED)
        opened = start() ? OPEN : MISSING;
    if (opened != OPEN || (strcmp(uuid, device->info.uuid) && nvml.by_uuid(device->info.uuid, &handle) != NVML_OK))
        return NULL;
    snprintf(uuid, sizeof uuid, "%s", device->info.uuid);
    return handle;
}

double kb_gpu_clock_mhz(const struct kb_device *device)
{
    unsigned mhz = 0;
    nvml_device handle = handle_of(device);
    if (!handle || !nvml.clock || nvml.clock(handle, NVML_CLOCK_SM, &mhz) != NVML_OK || !mhz)
        return NAN;
    return mhz;
}

// Same program and same parent as this process: another worker of the same session.
static bool is_sibling(unsigned pid)
{
    char path[64], ours[256] = "", theirs[256] = "", *stat = NULL;
    size_t size;
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    if (readlink("/proc/self/exe", ours, sizeof ours - 1) < 0 || readlink(path, theirs, sizeof theirs - 1) < 0 ||
        strcmp(ours, theirs))
        return false;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    if (kb_file_read(path, 1 << 14, &stat, &size, NULL))
        return false;
    const char *behind_name = strrchr(stat, ')');
    int parent = -1;
    if (!behind_name || sscanf(behind_name, ") %*c %d", &parent) != 1)
        parent = -1;
    free(stat);
    return parent == (int)getppid();
}

// Compile workers are of the same program, but on no GPU.
static bool uses_gpu(unsigned pid)
{
    char path[64], *line = NULL;
    size_t size;
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    if (kb_file_read(path, 1 << 16, &line, &size, NULL))
        return false;
    size_t first = strlen(line) + 1;
    bool uses = first >= size || strcmp(line + first, "compile") != 0;
    free(line);
    return uses;
}

static int siblings_on_gpu(void)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    int count = 0;
    while (processes && (entry = readdir(processes))) {
        unsigned pid = (unsigned)strtoul(entry->d_name, NULL, 10);
        count += pid && pid != (unsigned)getpid() && is_sibling(pid) && uses_gpu(pid);
    }
    if (processes)
        closedir(processes);
    return count;
}

int kb_gpu_others(const struct kb_device *device)
{
    struct nvml_process list[64];
    unsigned count = KB_COUNT(list);
    nvml_device handle = handle_of(device);
    if (!handle || !nvml.processes)
        return -1;
    int code = nvml.processes(handle, &count, list);
    if (code == NVML_INSUFFICIENT_SIZE)
        return (int)count - 1;
    if (code != NVML_OK)
        return -1;
    int others = 0;
    bool self = false;
    for (unsigned i = 0; i < count; i++) {
        bool own = list[i].pid == (unsigned)getpid();
        self |= own;
        others += !own && !is_sibling(list[i].pid);
    }
    if (self || !others)
        return others;
    // In a container the listed process ids are the host's: some of the entries are this process and its siblings.
    others -= 1 + siblings_on_gpu();
    return others > 0 ? others : 0;
}
