// Directs kb_toolkit_open() to the scripted libraries of the build folder, and finds what they export for tests.
#ifndef KB_FAKE_OPEN_H
#define KB_FAKE_OPEN_H
#include "tests/fake/fake.h"

#include <dlfcn.h>

#define FAKE_CUDA KB_BUILD_DIR "/tests/fake/libcuda.so.1"
#define FAKE_CUPTI KB_BUILD_DIR "/tests/fake/libcupti.so.13"
#define FAKE_NVML KB_BUILD_DIR "/tests/fake/libnvidia-ml.so.1"

static inline void fake_use_all(void)
{
    setenv("KBENCH_CUDA", FAKE_CUDA, 1);
    setenv("KBENCH_CUPTI", FAKE_CUPTI, 1);
    setenv("KBENCH_NVML", FAKE_NVML, 1);
}

// The library stays loaded, as in the program under test.
static inline void *fake_symbol(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW);
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s: no %s: %s\n", library, name, dlerror());
        abort();
    }
    return symbol;
}

static inline void fake_script_of(const char *library, const char *setter, const char *text)
{
    fake_set_script *set;
    *(void **)&set = fake_symbol(library, setter);
    set(text);
}

static inline void fake_cuda(const char *text)
{
    fake_script_of(FAKE_CUDA, "kb_fake_cuda_script", text);
}

static inline void fake_cupti(const char *text)
{
    fake_script_of(FAKE_CUPTI, "kb_fake_cupti_script", text);
}

static inline void fake_nvml(const char *text)
{
    fake_script_of(FAKE_NVML, "kb_fake_nvml_script", text);
}

static inline long fake_cuda_count(const char *what)
{
    long (*count)(const char *);
    *(void **)&count = fake_symbol(FAKE_CUDA, "kb_fake_cuda_count");
    return count(what);
}

#endif
