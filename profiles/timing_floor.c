#include "profiles/timing_floor.h"
#include "base/json.h"
#include "base/sealed.h"
#include "profiles/roofline.h"
#include "profiles/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OVERHEAD_MS = 6 };

struct empty {
    struct kb_device *device;
    struct kb_kernel *kernel;
};

static int run_empty(void *context, int set, struct kb_error *e)
{
    const struct empty *it = context;
    const uint64_t none = 0;
    const int zero = 0;
    const void *args[] = {&none, &none, &zero};
    struct kb_launch_args launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .arg_count = 3, .args = args};
    (void)set;
    return it->device->ops->launch(it->kernel, &launch, e);
}

int kb_timing_overhead(struct kb_device *device, struct kb_module *builtin, double *us, struct kb_error *e)
{
    struct empty it = {.device = device};
    struct kb_timing_target target = {run_empty, &it, 1};
    struct kb_timing_options options = {
        .budget_ms = OVERHEAD_MS, .min_samples = 10, .width = 0.1, .sets = 1, .cold = true};
    struct kb_timing_result result;
    *us = NAN;
    if (device->ops->symbol(builtin, "kb_empty", &it.kernel, e) ||
        kb_timing_run(device, &target, 1, &options, &result, e))
        return -1;
    *us = result.cold.median;
    kb_timing_result_free(&result);
    return 0;
}

static void read_controls(struct kb_noise *n, const struct kb_device_info *info)
{
    char *path = kb_device_cache_path(info, "noise"), *text = NULL;
    size_t size;
    n->read = true;
    if (path && kb_sealed_read(path, 1 << 16, &text, &size) == KB_SEALED_FOUND) {
        cJSON *document = cJSON_Parse(text);
        const cJSON *item, *list = kb_json_get(document, "spreads");
        cJSON_ArrayForEach (item, list) {
            bool usable = cJSON_IsNumber(item) && isfinite(item->valuedouble) && item->valuedouble >= 0;
            if (usable && n->count < KB_NOISE_CONTROLS)
                n->spreads[n->count++] = item->valuedouble;
        }
        cJSON_Delete(document);
    }
    free(text);
    free(path);
}

static void write_controls(const struct kb_noise *n, const struct kb_device_info *info)
{
    char *path = kb_device_cache_path(info, "noise");
    if (!path)
        return;
    cJSON *document = cJSON_CreateObject();
    kb_json_set_number(document, "kbench", 1);
    kb_json_set(document, "spreads", cJSON_CreateDoubleArray(n->spreads, n->count));
    char *line = kb_json_line(document);
    kb_sealed_write(path, line, strlen(line)); // controls that cannot be kept come again
    free(line);
    cJSON_Delete(document);
    free(path);
}

double kb_noise_known(struct kb_noise *n, const struct kb_device_info *info)
{
    if (!n->read)
        read_controls(n, info);
    return kb_noise_floor(n->spreads, n->count);
}

void kb_noise_add(struct kb_noise *n, const struct kb_device_info *info, double spread)
{
    if (!isfinite(spread) || spread < 0)
        return;
    if (!n->read)
        read_controls(n, info);
    if (n->count == KB_NOISE_CONTROLS)
        memmove(n->spreads, n->spreads + 1, (size_t)--n->count * sizeof *n->spreads);
    n->spreads[n->count++] = spread;
    write_controls(n, info);
}
