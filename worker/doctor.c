// What CUDA pieces this machine has, for `kbench-tui doctor`: looked up in the worker, since the screen's process loads
// none.
#include "worker/workers.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "jit/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "release 13.0, V13.0.88" and the like from `TOOL --version`; owned; NULL if it does not say.
static char *tool_version(const char *path)
{
    struct kb_capture c;
    char *argv[] = {(char *)path, "--version", NULL}, *version = NULL;
    if (kb_capture(argv, NULL, 10000, 1 << 16, &c, NULL))
        return NULL;
    const char *at = c.out.data ? strstr(c.out.data, "release ") : NULL;
    if (at)
        version = kb_strndup(at + 8, strcspn(at + 8, "\n"));
    kb_capture_free(&c);
    return version;
}

static void add_tool_versions(cJSON *libs)
{
    cJSON *item;
    cJSON_ArrayForEach (item, libs) {
        const char *name = kb_json_text(item, "name", ""), *path = kb_json_text(item, "path", NULL);
        if (!path || (strcmp(name, "nvcc") && strcmp(name, "nvdisasm")))
            continue;
        char *version = tool_version(path);
        kb_json_set_text(item, "version", version);
        free(version);
    }
}

int kb_run_doctor(void)
{
    static const char *const names[] = {"nvrtc", "cuda", "cupti", "nvml"};
    const struct kb_toolkit *t = kb_toolkit_get();
    for (size_t i = 0; i < KB_COUNT(names); i++)
        kb_toolkit_open(names[i], NULL, 0, NULL); // the outcome is in the list below
    cJSON *document = cJSON_CreateObject(), *libs = kb_toolkit_libs(t), *archs = kb_toolkit_archs(t);
    add_tool_versions(libs);
    kb_json_set_number(document, "kbench", 1);
    kb_json_set_text(document, "tool", KB_VERSION);
    kb_json_set(document, "libs", libs);
    kb_json_set(document, "archs", archs ? archs : cJSON_CreateArray());
    char *line = kb_json_line(document);
    int status = puts(line) < 0 || fflush(stdout) ? KB_EXIT_USAGE : KB_EXIT_OK;
    free(line);
    cJSON_Delete(document);
    return status;
}
