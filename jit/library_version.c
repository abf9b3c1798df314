// Asks each CUDA library for its version through its own call.
#include "jit/toolkit.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

const char *kb_link_map_name(const struct link_map *map)
{
    return map->l_name;
}

static char *nvrtc_version(void *handle)
{
    int (*version)(int *, int *) = dlsym(handle, "nvrtcVersion");
    int major = 0, minor = 0;
    return version && version(&major, &minor) == 0 ? kb_format("%d.%d", major, minor) : NULL;
}

static char *driver_version(void *handle)
{
    int (*version)(int *) = dlsym(handle, "cuDriverGetVersion"); // works without cuInit
    int v = 0;
    return version && version(&v) == 0 ? kb_format("%d.%d", v / 1000, v % 1000 / 10) : NULL;
}

static char *cupti_version(void *handle)
{
    int (*version)(unsigned *) = dlsym(handle, "cuptiGetVersion");
    unsigned v = 0;
    return version && version(&v) == 0 ? kb_format("API %u", v) : NULL;
}

static char *nvml_version(void *handle)
{
    int (*init)(void) = dlsym(handle, "nvmlInit_v2"), (*end)(void) = dlsym(handle, "nvmlShutdown");
    int (*version)(char *, unsigned) = dlsym(handle, "nvmlSystemGetNVMLVersion");
    char text[96] = "";
    if (!init || !version || !end || init())
        return NULL;
    int status = version(text, sizeof text);
    end();
    return status == 0 ? kb_strdup(text) : NULL;
}

char *kb_library_version(const char *name, void *handle)
{
    if (!strcmp(name, "nvrtc"))
        return nvrtc_version(handle);
    if (!strcmp(name, "cuda"))
        return driver_version(handle);
    if (!strcmp(name, "cupti"))
        return cupti_version(handle);
    return !strcmp(name, "nvml") ? nvml_version(handle) : NULL;
}
