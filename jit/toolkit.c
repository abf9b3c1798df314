// Finds CUDA's libraries, tools and headers on any machine, and remembers what was found where. Nothing is linked.
#include "jit/toolkit.h"
#include "jit/compile.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ROOTS = 48, MAX_RECORDS = 8 };

// Toolkit folders in the order of search. Those before `named` were named by the user; the loader's own path comes
// behind them, and the customary folders behind that.
struct roots {
    char *dirs[MAX_ROOTS];
    int count, named;
};
struct library {
    const char *name, *variable;
    const char *files[4]; // newest acceptable first
    const char *remedy;
};
struct record { // what an attempt to open a library came to
    const struct library *library;
    void *handle;
    char *path, *version, *missing;
};
struct kb_toolkit {
    struct roots roots;
    struct record records[MAX_RECORDS];
    int record_count;
    char *include;
};

static const struct library libraries[] = {
    {"nvrtc",
     "KBENCH_NVRTC",
     {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
     "run scripts/setup, or install a CUDA 12 or 13 toolkit and set CUDA_HOME, or set KBENCH_NVRTC to the library"},
    {"cuda", "KBENCH_CUDA", {"libcuda.so.1"}, "it comes with NVIDIA's driver; without a GPU use --device cpu"},
    {"cupti",
     "KBENCH_CUPTI",
     {"libcupti.so.13", "libcupti.so.12"},
     "run scripts/setup, or install a CUDA 12 or 13 toolkit and set CUDA_HOME, or set KBENCH_CUPTI to the library"},
    {"nvml", "KBENCH_NVML", {"libnvidia-ml.so.1"}, "it comes with NVIDIA's driver"},
};
static const char *const library_dirs[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                           "extras/CUPTI/lib64"};

static void add_root(struct roots *r, const char *dir)
{
    if (!dir || dir[0] != '/' || !kb_is_dir(dir) || r->count == MAX_ROOTS)
        return;
    char *clean = kb_path_clean(dir);
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->dirs[i], clean)) {
            free(clean);
            return;
        }
    r->dirs[r->count++] = clean;
}

static void add_pattern(struct roots *r, const char *pattern)
{
    glob_t found = {0};
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0;) // sorted by name: the newest version is last
            add_root(r, found.gl_pathv[i]);
    globfree(&found);
}

// Wheels unpack as nvidia/cu13/{bin,lib,include} (one folder a package before CUDA 13).
static void add_deps(struct roots *r, const char *dir)
{
    static const char *const patterns[] = {".deps/cuda", ".deps/nvidia/cu1[0-9]", ".deps/*/nvidia/cu1[0-9]",
                                           ".deps/nvidia/cuda_*", ".deps/*/nvidia/cuda_*"};
    for (size_t i = 0; i < KB_COUNT(patterns); i++) {
        char *pattern = kb_path_join(dir, patterns[i]);
        add_pattern(r, pattern);
        free(pattern);
    }
}

static void add_beside_program(struct roots *r)
{
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0)
        return;
    program[n] = 0;
    char *dir = kb_path_dir(program);
    for (int i = 0; i < 3; i++) {
        add_deps(r, dir);
        char *up = kb_path_dir(dir);
        free(dir);
        dir = up;
    }
    free(dir);
}

static void find_roots(struct roots *r)
{
    add_root(r, getenv("KBENCH_CUDA_HOME"));
    add_root(r, getenv("CUDA_HOME"));
    add_root(r, getenv("CUDA_PATH"));
    r->named = r->count;
    char *nvcc = kb_which("nvcc"), *real = nvcc ? realpath(nvcc, NULL) : NULL;
    if (real) {
        char *bin = kb_path_dir(real), *root = kb_path_dir(bin);
        add_root(r, root);
        free(bin);
        free(root);
    }
    free(nvcc);
    free(real);
    add_root(r, "/usr/local/cuda");
    add_pattern(r, "/usr/local/cuda-1[2-9]*");
    add_root(r, "/opt/cuda");
    add_beside_program(r);
}

const struct kb_toolkit *kb_toolkit_get(void)
{
    static struct kb_toolkit toolkit;
    static bool opened;
    if (!opened)
        find_roots(&toolkit.roots);
    opened = true;
    return &toolkit;
}

// The loader and its callees are single-threaded here; the handle behind the const view is this file's own state.
static struct kb_toolkit *own(void)
{
    return (struct kb_toolkit *)kb_toolkit_get();
}

static struct record *find_record(const char *name)
{
    struct kb_toolkit *t = own();
    for (int i = 0; i < t->record_count; i++)
        if (!strcmp(t->records[i].library->name, name))
            return &t->records[i];
    return NULL;
}

static char *loaded_path(void *handle, const char *opened_as)
{
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) {
        const char *name = kb_link_map_name(map);
        if (name && name[0])
            return kb_strdup(name);
    }
    return kb_strdup(opened_as);
}

// What dlopen says of a library that is there but cannot be loaded matters more than where it was not.
static void *try_open(const char *file, struct kb_text *looked)
{
    bool by_path = strchr(file, '/') != NULL;
    if (by_path && access(file, R_OK))
        return NULL;
    void *handle = kb_library_open(file);
    if (!handle && by_path)
        kb_text_addf(looked, "%s%s", looked->size ? "; " : "", dlerror());
    return handle;
}

static void *open_in_dir(const struct library *lib, const char *dir, char **path, struct kb_text *looked)
{
    for (size_t i = 0; i < KB_COUNT(lib->files) && lib->files[i]; i++) {
        char *file = kb_path_join(dir, lib->files[i]);
        void *handle = try_open(file, looked);
        if (handle)
            *path = loaded_path(handle, file);
        free(file);
        if (handle)
            return handle;
    }
    return NULL;
}

static void *open_in_roots(const struct library *lib, int from, int to, char **path, struct kb_text *looked)
{
    const struct roots *roots = &own()->roots;
    for (int i = from; i < to; i++) {
        for (size_t d = 0; d < KB_COUNT(library_dirs); d++) {
            char *dir = kb_path_join(roots->dirs[i], library_dirs[d]);
            void *handle = open_in_dir(lib, dir, path, looked);
            free(dir);
            if (handle)
                return handle;
        }
        kb_text_addf(looked, "%s%s", looked->size ? ", " : "", roots->dirs[i]);
    }
    return NULL;
}

static void *open_by_loader(const struct library *lib, char **path, struct kb_text *looked)
{
    for (size_t i = 0; i < KB_COUNT(lib->files) && lib->files[i]; i++) {
        void *handle = try_open(lib->files[i], looked);
        if (handle) {
            *path = loaded_path(handle, lib->files[i]);
            return handle;
        }
    }
    kb_text_addf(looked, "%sthe loader's path", looked->size ? ", " : "");
    return NULL;
}

static void *open_beside_nvrtc(const struct library *lib, char **path, struct kb_text *looked)
{
    struct record *nvrtc = find_record("nvrtc");
    if (!nvrtc || !nvrtc->handle)
        return NULL;
    char *dir = kb_path_dir(nvrtc->path);
    void *handle = open_in_dir(lib, dir, path, looked);
    free(dir);
    return handle;
}

static void *search_library(const struct library *lib, char **path, struct kb_text *looked)
{
    const char *variable = getenv(lib->variable);
    if (variable && variable[0]) { // named by hand: never replaced by another one in silence
        void *handle = kb_library_open(variable);
        if (handle)
            *path = loaded_path(handle, variable);
        else
            kb_text_addf(looked, "%s=%s: %s", lib->variable, variable, dlerror());
        return handle;
    }
    bool of_driver = !strcmp(lib->name, "cuda") || !strcmp(lib->name, "nvml");
    if (of_driver) { // toolkits only hold stubs of these
        void *handle = open_by_loader(lib, path, looked);
        return handle ? handle : open_in_dir(lib, "/usr/lib/wsl/lib", path, looked);
    }
    const struct roots *roots = &own()->roots;
    void *handle = open_in_roots(lib, 0, roots->named, path, looked);
    if (!handle)
        handle = open_beside_nvrtc(lib, path, looked);
    if (!handle)
        handle = open_by_loader(lib, path, looked);
    return handle ? handle : open_in_roots(lib, roots->named, roots->count, path, looked);
}

// NVRTC asks the loader for its builtins by name alone and has no search path of its own: those beside it are opened
// first, so that a wheel's NVRTC, or one of two toolkits, finds the ones that belong to it.
static void open_builtins(const struct record *nvrtc)
{
    char *dir = kb_path_dir(nvrtc->path);
    char *file = kb_format("%s/libnvrtc-builtins.so.%s", dir, nvrtc->version ? nvrtc->version : "");
    if (kb_is_file(file))
        kb_library_open(file);
    free(file);
    free(dir);
}

static struct record *open_library(const struct library *lib)
{
    struct kb_toolkit *t = own();
    struct record *r = find_record(lib->name);
    if (r)
        return r;
    r = &t->records[t->record_count++];
    *r = (struct record){.library = lib};
    struct kb_text looked = {0};
    r->handle = search_library(lib, &r->path, &looked);
    if (r->handle)
        r->version = kb_library_version(lib->name, r->handle);
    else
        r->missing = kb_format("%s not found; looked in %s", lib->files[0], looked.data ? looked.data : "nothing");
    if (r->handle && !strcmp(lib->name, "nvrtc"))
        open_builtins(r);
    kb_text_free(&looked);
    return r;
}

void *kb_toolkit_open(const char *name, char *path, size_t path_size, struct kb_error *e)
{
    for (size_t i = 0; i < KB_COUNT(libraries); i++) {
        if (strcmp(libraries[i].name, name))
            continue;
        struct record *r = open_library(&libraries[i]);
        if (path && path_size)
            snprintf(path, path_size, "%s", r->path ? r->path : "");
        if (!r->handle)
            kb_fail(e, NULL, libraries[i].remedy, "%s", r->missing); // it names the file
        return r->handle;
    }
    kb_fail(e, name, NULL, "no library of this name is known");
    return NULL;
}

void *kb_toolkit_nvrtc(const struct kb_toolkit *t)
{
    (void)t;
    return kb_toolkit_open("nvrtc", NULL, 0, NULL);
}

// Headers beside the loaded NVRTC fit it best, unless the user named a toolkit.
static char *find_include(const struct kb_toolkit *t)
{
    struct roots order = {0};
    for (int i = 0; i < t->roots.named; i++)
        add_root(&order, t->roots.dirs[i]);
    struct record *nvrtc = find_record("nvrtc");
    if (nvrtc && nvrtc->path) {
        char *lib = kb_path_dir(nvrtc->path), *root = kb_path_dir(lib), *above = kb_path_dir(root);
        add_root(&order, root);
        add_root(&order, above);
        free(lib);
        free(root);
        free(above);
    }
    for (int i = t->roots.named; i < t->roots.count; i++)
        add_root(&order, t->roots.dirs[i]);
    char *found = NULL;
    for (int i = 0; i < order.count; i++) {
        char *header = kb_path_join(order.dirs[i], "include/cuda_fp16.h");
        if (!found && kb_is_file(header))
            found = kb_path_dir(header);
        free(header);
        free(order.dirs[i]);
    }
    return found;
}

const char *kb_toolkit_include(const struct kb_toolkit *t)
{
    if (!own()->include)
        own()->include = find_include(t);
    return t->include;
}

static void add_place(struct kb_text *looked, const char *place)
{
    if (!looked->size || !strstr(looked->data, place))
        kb_text_addf(looked, "%s%s", looked->size ? ", " : "", place);
}

static char *tool_in(const char *dir, const char *sub, const char *name, struct kb_text *looked)
{
    char *bin = kb_path_join(dir, sub), *file = kb_path_join(bin, name);
    bool good = access(file, X_OK) == 0 && kb_is_file(file);
    if (!good)
        add_place(looked, bin);
    free(bin);
    if (good)
        return file;
    free(file);
    return NULL;
}

static char *tool_by_variable(const char *name, struct kb_text *looked, bool *named)
{
    char variable[64] = "KBENCH_";
    size_t used = strlen(variable);
    for (const char *p = name; *p && used < sizeof variable - 1; p++)
        variable[used++] = *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
    variable[used] = 0;
    const char *value = getenv(variable);
    *named = value && value[0];
    if (!*named)
        return NULL;
    char *found = kb_which(value);
    if (!found)
        kb_text_addf(looked, "%s=%s, which is no executable file", variable, value);
    return found;
}

static char *search_tool(const struct kb_toolkit *t, const char *name, struct kb_text *looked)
{
    bool named;
    char *found = tool_by_variable(name, looked, &named);
    if (named)
        return found;
    for (int i = 0; i < t->roots.named && !found; i++)
        found = tool_in(t->roots.dirs[i], "bin", name, looked);
    struct record *nvrtc = find_record("nvrtc");
    if (!found && nvrtc && nvrtc->path) {
        char *dir = kb_path_dir(nvrtc->path), *up = kb_path_dir(dir);
        found = tool_in(up, "bin", name, looked);
        free(dir);
        free(up);
    }
    if (!found && !(found = kb_which(name)))
        add_place(looked, "PATH");
    for (int i = t->roots.named; i < t->roots.count && !found; i++)
        found = tool_in(t->roots.dirs[i], "bin", name, looked);
    return found;
}

char *kb_toolkit_tool(const struct kb_toolkit *t, const char *name, char **looked)
{
    struct kb_text places = {0};
    char *found = search_tool(t, name, &places);
    if (looked)
        *looked = found ? NULL : kb_text_take(&places);
    kb_text_free(&places);
    return found;
}

static cJSON *library_item(const char *name, const char *path, const char *version, const char *missing)
{
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "name", name);
    kb_json_set_text(item, "path", path);
    kb_json_set_text(item, "version", version);
    kb_json_set_text(item, "missing", missing);
    return item;
}

static cJSON *tool_item(const struct kb_toolkit *t, const char *name, const char *remedy)
{
    char *looked = NULL, *path = kb_toolkit_tool(t, name, &looked);
    char *missing = path ? NULL : kb_format("%s not found; looked in %s (%s)", name, looked, remedy);
    cJSON *item = library_item(name, path, NULL, missing);
    free(looked);
    free(path);
    free(missing);
    return item;
}

cJSON *kb_toolkit_libs(const struct kb_toolkit *t)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < t->record_count; i++) {
        const struct record *r = &t->records[i];
        char *missing = r->missing ? kb_format("%s (%s)", r->missing, r->library->remedy) : NULL;
        cJSON_AddItemToArray(list, library_item(r->library->name, r->path, r->version, missing));
        free(missing);
    }
    const char *include = kb_toolkit_include(t);
    cJSON_AddItemToArray(list, library_item("headers", include, NULL,
                                            include ? NULL
                                                    : "no folder with cuda_fp16.h found: cuda_fp16.h, cooperative "
                                                      "groups and the like cannot be included (run scripts/setup, or "
                                                      "set CUDA_HOME)"));
    cJSON_AddItemToArray(list, tool_item(t, "nvcc",
                                         "only needed for sources that NVRTC does not take; it comes with the CUDA "
                                         "toolkit"));
    cJSON_AddItemToArray(list, tool_item(t, "nvdisasm",
                                         "needed for SASS; run scripts/setup, or pip install nvidia-cuda-nvdisasm, or "
                                         "set KBENCH_NVDISASM to it"));
    return list;
}
