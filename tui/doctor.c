#include "tui/doctor.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "base/text.h"
#include "tui/once.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOCTOR_MS = 60000, OUTPUT_LIMIT = 1 << 20 };

static char *worker_path(const struct kb_options *o)
{
    const char *environment = getenv("KB_WORKER");
    if (o->worker || (environment && *environment))
        return kb_strdup(o->worker ? o->worker : environment);
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *dir = kb_path_dir(self), *path = kb_path_join(dir, "kbench-worker");
    free(dir);
    return path;
}

static void add_libs(const cJSON *libs, struct kb_text *out)
{
    const cJSON *lib;
    int width = 0;
    cJSON_ArrayForEach (lib, libs) {
        int n = (int)strlen(kb_json_text(lib, "name", "?"));
        width = n > width ? n : width;
    }
    cJSON_ArrayForEach (lib, libs) {
        const char *missing = kb_json_text(lib, "missing", NULL), *version = kb_json_text(lib, "version", NULL);
        kb_text_addf(out, "  %-*s  ", width, kb_json_text(lib, "name", "?"));
        if (missing)
            kb_text_addf(out, "missing: %s\n", missing);
        else
            kb_text_addf(out, "%s   %s\n", version ? version : "found", kb_json_text(lib, "path", "?"));
    }
}

static void add_archs(const cJSON *archs, struct kb_text *out)
{
    const cJSON *arch;
    if (!cJSON_GetArraySize(archs))
        return;
    kb_text_add(out, "\ncompiles for:");
    cJSON_ArrayForEach (arch, archs)
        if (cJSON_IsString(arch))
            kb_text_addf(out, " %s", arch->valuestring);
    kb_text_add(out, "\n");
}

static bool present(const cJSON *libs, const char *name)
{
    const cJSON *lib;
    cJSON_ArrayForEach (lib, libs)
        if (!strcmp(kb_json_text(lib, "name", ""), name))
            return !kb_json_text(lib, "missing", NULL) && kb_json_text(lib, "path", NULL);
    return false;
}

static void add_device(const cJSON *document, const cJSON *libs, struct kb_text *out)
{
    const cJSON *gpu, *gpus = kb_json_get(document, "gpus");
    cJSON_ArrayForEach (gpu, gpus)
        kb_text_addf(out, "GPU: %s (%s)\n", kb_json_text(gpu, "name", "?"),
                     kb_json_text(gpu, "arch", "architecture unknown"));
    if (!present(libs, "cuda"))
        kb_text_add(out, "no CUDA driver: kernels run on the CPU (--device cpu), without times\n");
}

static int report(const struct kb_options *o, const char *path, const cJSON *document)
{
    const cJSON *libs = kb_json_get(document, "libs");
    struct kb_text raw = {0}, out = {0};
    kb_text_addf(&raw, "kbench-tui %s, worker %s (%s)\n\n", KB_VERSION, kb_json_text(document, "tool", "?"), path);
    add_libs(libs, &raw);
    add_archs(kb_json_get(document, "archs"), &raw);
    kb_text_add(&raw, "\n");
    add_device(document, libs, &raw);
    bool compiler = present(libs, "nvrtc") || present(libs, "nvcc");
    if (!compiler)
        kb_text_add(&raw, "no compiler: neither NVRTC nor nvcc was found, nothing can be built\n");
    kb_clean(&out, raw.data, raw.size, o->ascii || !kb_locale_is_utf8());
    fwrite(out.data, 1, out.size, stdout);
    kb_text_free(&raw);
    kb_text_free(&out);
    return compiler ? KB_EXIT_PASS : KB_EXIT_NO_DEVICE;
}

int kb_run_doctor_report(const struct kb_options *o)
{
    char *path = worker_path(o);
    char *argv[] = {path, "doctor", NULL};
    struct kb_capture capture;
    struct kb_error error = {0};
    int code = KB_EXIT_NO_DEVICE;
    if (kb_capture(argv, NULL, DOCTOR_MS, OUTPUT_LIMIT, &capture, &error)) {
        fprintf(stderr, "kbench-tui: %s\n", kb_error_line(&error));
        free(path);
        return code;
    }
    cJSON *document = cJSON_Parse(capture.out.data ? capture.out.data : "");
    if (cJSON_IsObject(document))
        code = report(o, path, document);
    else
        fprintf(stderr, "kbench-tui: %s doctor gave no report (%s%d)\n", path,
                capture.timed_out ? "no answer in time, exit code "
                : capture.signal  ? "killed by signal "
                                  : "exit code ",
                capture.signal ? capture.signal : capture.exit_code);
    cJSON_Delete(document);
    kb_capture_free(&capture);
    free(path);
    return code;
}
