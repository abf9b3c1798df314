// A stand-in for libnvidia-ml.so.1. Script: KB_FAKE_NVML, see fake.h. Calls: init clock processes. Values: mhz=1980,
// low=1200 low_from=3 low_to=5 (the clock at these readings, counted from 1), pids=1,2 (compute processes; "self"
// stands for this one).
#include "tests/fake/fake.h"

#define SCRIPT &script, "KB_FAKE_NVML"

static struct fake_script script;
static int readings;

struct process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *list);

void kb_fake_nvml_script(const char *text)
{
    fake_parse(&script, text);
    readings = 0;
}

int nvmlInit_v2(void)
{
    return fake_call(SCRIPT, "init");
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    *device = &script;
    return strncmp(uuid, "GPU-", 4) ? 6 : 0;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    (void)device;
    readings++;
    bool low = readings >= fake_value(SCRIPT, "low_from", 1e9) && readings <= fake_value(SCRIPT, "low_to", 1e9);
    *mhz = type == 1 ? (unsigned)fake_value(SCRIPT, low ? "low" : "mhz", 1980) : 0;
    return fake_call(SCRIPT, "clock");
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *list)
{
    unsigned n = 0;
    (void)device;
    for (const char *at = fake_text(SCRIPT, "pids", "self"); *at; at += strcspn(at, ","), at += *at == ',') {
        if (n < *count)
            list[n].pid = strncmp(at, "self", 4) ? (unsigned)atoi(at) : (unsigned)getpid();
        n++;
    }
    int code = n > *count ? 7 : fake_call(SCRIPT, "processes");
    *count = n;
    return code;
}
