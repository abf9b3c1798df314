// Known GPUs (profiles/devices/devices.json, embedded), and peaks for those that are not in the table.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "profiles/roofline.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char kb_embedded_devices_json[];
extern const unsigned kb_embedded_devices_json_size;

static const cJSON *table(void)
{
    static cJSON *document;
    if (!document)
        document = cJSON_ParseWithLength(kb_embedded_devices_json, kb_embedded_devices_json_size);
    return kb_json_get(document, "devices");
}

static double scaled(const cJSON *entry, const char *key, double unit)
{
    return kb_json_number(entry, key, NAN) * unit;
}

// An SM reads at most 64 bytes a clock from the L2 and writes as many (the width of its port since Volta).
static double l2_peak(int sm_count, double clock_hz)
{
    return sm_count > 0 && clock_hz > 0 ? 128.0 * sm_count * clock_hz : NAN;
}

static void peaks_of(const cJSON *entry, struct kb_peaks *out)
{
    out->dram_bytes_per_s = scaled(entry, "dram_gb_per_s", 1e9);
    out->fp32_flops = scaled(entry, "fp32_tflops", 1e12);
    out->fp64_flops = scaled(entry, "fp64_tflops", 1e12);
    out->f16_tensor_flops = scaled(entry, "f16_tensor_tflops", 1e12);
    out->f8_tensor_flops = scaled(entry, "f8_tensor_tflops", 1e12);
    out->l2_bytes = scaled(entry, "l2_kib", 1024);
    out->l2_bytes_per_s = l2_peak((int)kb_json_int(entry, "sm_count", 0), scaled(entry, "clock_mhz", 1e6));
    snprintf(out->source, sizeof out->source, "%s", kb_json_text(entry, "source", ""));
}

static void limits_of(const cJSON *entry, struct kb_device_info *out)
{
    *out = (struct kb_device_info){.kind = KB_DEVICE_CPU,
                                   .warp_size = 32,
                                   .registers_per_sm = 65536,
                                   .registers_per_block = 65536,
                                   .max_threads_per_block = 1024,
                                   .max_grid = {2147483647, 65535, 65535},
                                   .max_block = {1024, 1024, 64},
                                   .shared_per_block = 49152,
                                   .cooperative_launch = true};
    snprintf(out->name, sizeof out->name, "%s", kb_json_text(entry, "title", ""));
    snprintf(out->arch, sizeof out->arch, "%s", kb_json_text(entry, "arch", ""));
    out->sm_count = (int)kb_json_int(entry, "sm_count", 0);
    out->max_threads_per_sm = (int)kb_json_int(entry, "threads_per_sm", 0);
    out->max_blocks_per_sm = (int)kb_json_int(entry, "blocks_per_sm", 0);
    out->shared_per_sm = (size_t)kb_json_int(entry, "shared_per_sm_kib", 0) * 1024;
    out->shared_per_block_optin = (size_t)kb_json_int(entry, "shared_per_block_optin_kib", 0) * 1024;
    out->shared_reserved_per_block = (size_t)kb_json_int(entry, "shared_reserved_bytes", 0);
    out->l2_bytes = (size_t)kb_json_int(entry, "l2_kib", 0) * 1024;
    out->memory_bytes = (size_t)kb_json_int(entry, "memory_gb", 0) * 1000000000;
    out->clock_khz = (int)kb_json_int(entry, "clock_mhz", 0) * 1000;
    out->memory_bus_bits = (int)kb_json_int(entry, "memory_bus_bits", 0);
}

int kb_known_device(const char *name, struct kb_device_info *info, struct kb_peaks *peaks, struct kb_error *e)
{
    const cJSON *entry;
    struct kb_text names = {0};
    cJSON_ArrayForEach (entry, table()) {
        const char *known = kb_json_text(entry, "name", "");
        if (!strcasecmp(known, name)) {
            limits_of(entry, info);
            peaks_of(entry, peaks);
            kb_text_free(&names);
            return 0;
        }
        kb_text_addf(&names, "%s%s", names.size ? ", " : "", known);
    }
    char *list = kb_text_take(&names), *remedy = kb_format("known are %s", list);
    kb_fail(e, name, remedy, "no such GPU in the table");
    free(remedy);
    free(list);
    return -1;
}

static bool fits(const cJSON *entry, const char *device_name)
{
    const cJSON *pattern;
    cJSON_ArrayForEach (pattern, kb_json_get(entry, "patterns")) {
        if (cJSON_IsString(pattern) && !fnmatch(pattern->valuestring, device_name, FNM_CASEFOLD))
            return true;
    }
    return false;
}

static const cJSON *entry_for(const char *device_name)
{
    const cJSON *entry;
    cJSON_ArrayForEach (entry, table()) {
        if (fits(entry, device_name))
            return entry;
    }
    return NULL;
}

// Operations a clock and multiprocessor, by compute capability: fp32 and fp64 lanes x 2, and the dense tensor rates
// with 16-bit operands (the faster of 16- and 32-bit sums) and with 8-bit ones (CUDA C++ Programming Guide, "Arithmetic
// Instructions", and the vendor's architecture papers).
static const struct {
    int arch;
    double fp32, fp64, f16, f8;
} rates[] = {
    {75, 128, 4, 1024, 2048},   {80, 128, 128, 2048, 4096}, {86, 256, 4, 1024, 2048},   {87, 256, 4, 1024, 2048},
    {88, 256, 4, 1024, 2048},   {89, 256, 4, 1024, 2048},   {90, 256, 128, 4096, 8192}, {100, 256, 128, 8192, 16384},
    {103, 256, 4, 8192, 16384}, {110, 256, 4, 8192, 16384}, {120, 256, 4, 1024, 2048},  {121, 256, 4, 1024, 2048},
};

static void computed_peaks(const struct kb_device_info *info, struct kb_peaks *out)
{
    double clocks = (double)info->sm_count * info->clock_khz * 1e3; // SM clocks a second
    int arch = !strncmp(info->arch, "sm_", 3) ? atoi(info->arch + 3) : 0;
    *out = (struct kb_peaks){NAN, NAN, NAN, NAN, NAN, NAN, NAN, ""};
    if (info->memory_clock_khz > 0 && info->memory_bus_bits > 0) // two transfers a clock
        out->dram_bytes_per_s = 2.0 * info->memory_clock_khz * 1e3 * info->memory_bus_bits / 8;
    out->l2_bytes_per_s = l2_peak(info->sm_count, info->clock_khz * 1e3);
    for (size_t i = 0; i < KB_COUNT(rates) && clocks > 0; i++)
        if (rates[i].arch == arch) {
            out->fp32_flops = rates[i].fp32 * clocks;
            out->fp64_flops = rates[i].fp64 * clocks;
            out->f16_tensor_flops = rates[i].f16 * clocks;
            out->f8_tensor_flops = rates[i].f8 * clocks;
        }
}

static void raise(double *peak, double computed)
{
    if (!(*peak >= computed) && isfinite(computed)) // also where *peak is NAN
        *peak = computed;
}

// The vendor's figure is for its nominal clocks; a card that may run faster has a higher peak, and a time is impossible
// only below the highest.
static void raise_all(struct kb_peaks *peaks, const struct kb_peaks *computed)
{
    raise(&peaks->dram_bytes_per_s, computed->dram_bytes_per_s);
    raise(&peaks->l2_bytes_per_s, computed->l2_bytes_per_s);
    raise(&peaks->fp32_flops, computed->fp32_flops);
    raise(&peaks->fp64_flops, computed->fp64_flops);
    raise(&peaks->f16_tensor_flops, computed->f16_tensor_flops);
    raise(&peaks->f8_tensor_flops, computed->f8_tensor_flops);
}

int kb_peaks_for(const struct kb_device_info *info, struct kb_peaks *out, struct kb_error *e)
{
    struct kb_peaks computed;
    const cJSON *entry = entry_for(info->name);
    computed_peaks(info, &computed);
    if (!entry) {
        *out = computed;
        snprintf(out->source, sizeof out->source, "computed from clocks and widths");
    } else {
        peaks_of(entry, out);
        double dram = out->dram_bytes_per_s, tensor = out->f16_tensor_flops;
        raise_all(out, &computed);
        if (out->dram_bytes_per_s > dram || out->f16_tensor_flops > tensor)
            snprintf(out->source + strlen(out->source), sizeof out->source - strlen(out->source),
                     ", raised to this card's clocks");
    }
    if (info->l2_bytes)
        out->l2_bytes = (double)info->l2_bytes;
    if (isfinite(out->dram_bytes_per_s) || isfinite(out->fp32_flops))
        return 0;
    return kb_fail(e, info->name, "--like takes the peaks of a known GPU", "the peaks of this device are unknown");
}
