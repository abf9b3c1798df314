// Measured roofs. The kernels are in verify/roofs.cuh, part of the builtin module; the numbers of operations below are
// theirs.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sealed.h"
#include "profiles/roofline.h"
#include "profiles/timing.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FP32_CHAINS = 8, // KB_ROOF_FP32_CHAINS
    FP32_STEPS = 16,
    TENSOR_CHAINS = 4,
    TENSOR_FLOPS = 4096,
    THREADS = 256,
    BLOCKS_PER_SM = 8,
    REPEATS = 3,
};
static const double TARGET_US = 2000; // of one compute kernel: long enough for the clock to settle on its real value
static const size_t COPY_BYTES = (size_t)1 << 30;

struct bench {
    struct kb_device *device;
    struct kb_module *module;
    struct kb_buffer to, from;
};

static int allocate(struct bench *b, size_t bytes, struct kb_error *e)
{
    size_t free_bytes, total_bytes;
    const struct kb_device_ops *ops = b->device->ops;
    if (ops->memory(b->device, &free_bytes, &total_bytes, e))
        return -1;
    if (bytes > free_bytes / 4) // both buffers take at most half of what is free
        bytes = free_bytes / 4;
    bytes = bytes / 16 * 16;
    if (bytes < 16)
        return kb_fail(e, NULL, "free memory of the GPU", "not enough free memory to measure the roofs");
    struct kb_buffer_spec spec = {.bytes = bytes, .name = "roof", .dtype = KB_F32};
    if (ops->alloc(b->device, &spec, &b->to, e))
        return -1;
    return ops->alloc(b->device, &spec, &b->from, e) || ops->fill(b->device, b->from.address, 0x3c, bytes, e) ? -1 : 0;
}

static void release(struct bench *b)
{
    if (b->to.total)
        b->device->ops->free(b->device, &b->to);
    if (b->from.total)
        b->device->ops->free(b->device, &b->from);
}

static int measure_copy(struct bench *b, double *bytes_per_s, struct kb_error *e)
{
    const struct kb_device_ops *ops = b->device->ops;
    double best = 0;
    if (allocate(b, COPY_BYTES, e))
        return -1;
    for (int i = 0; i <= REPEATS; i++) { // the first warms up
        double us = 0;
        if (ops->time_begin(b->device, e) || ops->copy(b->device, b->to.address, b->from.address, b->to.bytes, e) ||
            ops->time_end(b->device, &us, e))
            return -1;
        if (i && us > 0 && 2.0 * (double)b->to.bytes / us * 1e6 > best)
            best = 2.0 * (double)b->to.bytes / us * 1e6;
    }
    *bytes_per_s = best > 0 ? best : NAN;
    return 0;
}

static int launch_compute(struct bench *b, struct kb_kernel *kernel, int iterations, double *us, struct kb_error *e)
{
    uint64_t out = b->to.address;
    const void *args[] = {&out, &iterations};
    struct kb_launch_args launch = {.grid = {(int64_t)b->device->info.sm_count * BLOCKS_PER_SM, 1, 1},
                                    .block = {THREADS, 1, 1},
                                    .arg_count = 2,
                                    .args = args};
    const struct kb_device_ops *ops = b->device->ops;
    return ops->time_begin(b->device, e) || ops->launch(kernel, &launch, e) || ops->time_end(b->device, us, e) ? -1 : 0;
}

// flops_per_thread: of one iteration. The iterations are chosen so that a launch lasts TARGET_US.
static int measure_compute(struct bench *b, const char *name, double flops_per_thread, double *flops,
                           struct kb_error *e)
{
    struct kb_kernel *kernel;
    int iterations = 64;
    double us = 0, best = NAN, threads = (double)b->device->info.sm_count * BLOCKS_PER_SM * THREADS;
    if (b->device->ops->symbol(b->module, name, &kernel, e) || launch_compute(b, kernel, iterations, &us, e) ||
        launch_compute(b, kernel, iterations, &us, e))
        return -1;
    iterations = (int)fmin(fmax(iterations * TARGET_US / fmax(us, 1), 64), 1 << 20);
    for (int i = 0; i < REPEATS; i++) {
        if (launch_compute(b, kernel, iterations, &us, e))
            return -1;
        double rate = us > 0 ? flops_per_thread * iterations * threads / us * 1e6 : NAN;
        best = isfinite(best) && !(rate > best) ? best : rate;
    }
    *flops = best;
    return 0;
}

struct footprint {
    struct bench *bench;
    struct kb_kernel *kernel;
    size_t elements;
};

static int run_footprint(void *context, int set, struct kb_error *e)
{
    struct footprint *f = context;
    uint64_t to = f->bench->to.address, from = f->bench->from.address;
    const void *args[] = {&to, &from, &f->elements};
    int64_t blocks = (int64_t)f->bench->device->info.sm_count * BLOCKS_PER_SM;
    struct kb_launch_args launch = {.grid = {blocks, 1, 1}, .block = {THREADS, 1, 1}, .arg_count = 3, .args = args};
    (void)set;
    return f->bench->device->ops->launch(f->kernel, &launch, e);
}

// A copy that reads half of the footprint and writes the other half: what a kernel of these bytes could reach, which
// for small ones is less than the large copy.
static int measure_footprint(struct bench *b, double bytes, int budget_ms, double *bytes_per_s, struct kb_error *e)
{
    struct footprint f = {.bench = b, .elements = (size_t)(bytes / 2 / 16)};
    struct kb_timing_target target = {run_footprint, &f, 1};
    struct kb_timing_options options = {.budget_ms = budget_ms > 90 ? budget_ms / 3 : 30, .sets = 1, .cold = true};
    struct kb_timing_result result;
    if (f.elements * 16 > b->to.bytes) // too little memory was free
        return 0;
    if (b->device->ops->symbol(b->module, "kb_roof_copy", &f.kernel, e) ||
        kb_timing_run(b->device, &target, 1, &options, &result, e))
        return -1;
    if (result.has_cold && result.cold.median > 0)
        *bytes_per_s = (double)f.elements * 32 / result.cold.median * 1e6;
    kb_timing_result_free(&result);
    return 0;
}

// Above the large copy's size that one stands for it.
static bool wants_footprint(const struct kb_roofs *roofs)
{
    return roofs->footprint_bytes >= 32 && roofs->footprint_bytes / 2 <= (double)COPY_BYTES &&
           !isfinite(roofs->footprint_copy_bytes_per_s);
}

static bool has_bf16_tensor(const struct kb_device *device)
{
    return !strncmp(device->info.arch, "sm_", 3) && atoi(device->info.arch + 3) >= 80;
}

static int measure(struct bench *b, int budget_ms, struct kb_roofs *roofs, struct kb_error *e)
{
    double fp32 = 2.0 * FP32_CHAINS * FP32_STEPS, tensor = (double)TENSOR_CHAINS * TENSOR_FLOPS / 32;
    if (!isfinite(roofs->copy_bytes_per_s)) {
        if (measure_copy(b, &roofs->copy_bytes_per_s, e) ||
            measure_compute(b, "kb_roof_fp32", fp32, &roofs->fp32_flops, e) ||
            (has_bf16_tensor(b->device) && measure_compute(b, "kb_roof_tensor", tensor, &roofs->tensor_flops, e)))
            return -1;
        snprintf(roofs->source, sizeof roofs->source, "measured");
    }
    if (!wants_footprint(roofs))
        return 0;
    if (!b->to.total && allocate(b, (size_t)(roofs->footprint_bytes / 2) + 16, e))
        return -1;
    return measure_footprint(b, roofs->footprint_bytes, budget_ms, &roofs->footprint_copy_bytes_per_s, e);
}

char *kb_device_cache_path(const struct kb_device_info *info, const char *what)
{
    char *dir = info->uuid[0] ? kb_cache_dir() : NULL;
    if (!dir)
        return NULL;
    char *path = kb_format("%s/%s-%s-%s.json", dir, what, info->uuid, info->driver);
    for (char *p = path + strlen(dir) + 1; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '.')
            *p = '_';
    free(dir);
    return path;
}

static double positive(const cJSON *document, const char *key)
{
    double value = kb_json_number(document, key, NAN);
    return value > 0 && isfinite(value) ? value : NAN;
}

static cJSON *read_cache(const char *path)
{
    char *text = NULL;
    size_t size;
    if (!path || kb_sealed_read(path, 1 << 20, &text, &size) != KB_SEALED_FOUND)
        return NULL;
    cJSON *document = cJSON_Parse(text);
    free(text);
    // A cache of another layout, or a damaged one, is measured anew.
    if (kb_json_int(document, "kbench", 0) != 1 || !isfinite(positive(document, "copy_bytes_per_s"))) {
        cJSON_Delete(document);
        return NULL;
    }
    return document;
}

static void footprint_key(double bytes, char key[32])
{
    snprintf(key, 32, "%.0f", bytes);
}

static void from_cache(const cJSON *document, struct kb_roofs *roofs)
{
    char key[32];
    footprint_key(roofs->footprint_bytes, key);
    roofs->copy_bytes_per_s = positive(document, "copy_bytes_per_s");
    roofs->fp32_flops = positive(document, "fp32_flops");
    roofs->tensor_flops = positive(document, "tensor_flops");
    roofs->footprint_copy_bytes_per_s = positive(kb_json_get(document, "footprints"), key);
    snprintf(roofs->source, sizeof roofs->source, "cached");
}

static void to_cache(const char *path, cJSON *document, const struct kb_roofs *roofs)
{
    char key[32];
    footprint_key(roofs->footprint_bytes, key);
    if (!document)
        document = cJSON_CreateObject();
    kb_json_set_number(document, "kbench", 1);
    kb_json_set_number(document, "copy_bytes_per_s", roofs->copy_bytes_per_s);
    kb_json_set_number(document, "fp32_flops", roofs->fp32_flops); // null where it was not measured
    kb_json_set_number(document, "tensor_flops", roofs->tensor_flops);
    cJSON *footprints = cJSON_GetObjectItemCaseSensitive(document, "footprints");
    if (!footprints)
        footprints = cJSON_AddObjectToObject(document, "footprints");
    if (isfinite(roofs->footprint_copy_bytes_per_s))
        kb_json_set_number(footprints, key, roofs->footprint_copy_bytes_per_s);
    char *line = kb_json_line(document);
    kb_sealed_write(path, line, strlen(line)); // a cache that cannot be written is measured again
    free(line);
    cJSON_Delete(document);
}

int kb_roofs_measure(struct kb_device *device, struct kb_module *builtin, double footprint_bytes, int budget_ms,
                     struct kb_roofs *roofs, struct kb_error *e)
{
    struct bench b = {.device = device, .module = builtin};
    *roofs = (struct kb_roofs){NAN, NAN, NAN, NAN, NAN, "", ""};
    roofs->footprint_bytes = footprint_bytes;
    if (!device->ops->time_begin)
        return kb_fail(e, NULL, "--like shows the vendor's peaks", "roofs can only be measured on a GPU");
    char *path = kb_device_cache_path(&device->info, "roofs");
    cJSON *document = read_cache(path);
    if (document)
        from_cache(document, roofs);
    bool complete = document && !wants_footprint(roofs);
    int status = complete ? 0 : measure(&b, budget_ms, roofs, e);
    release(&b);
    if (isfinite(roofs->tensor_flops))
        snprintf(roofs->tensor_type, sizeof roofs->tensor_type, "bf16");
    if (!status && !complete && path)
        to_cache(path, document, roofs);
    else
        cJSON_Delete(document);
    free(path);
    return status;
}
