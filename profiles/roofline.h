// The roofline: roofs of a device (measured, vendor's), and where a measured run stands under them.
#ifndef KB_PROFILES_ROOFLINE_H
#define KB_PROFILES_ROOFLINE_H
#include "jit/device.h"

#include <stdbool.h>

struct kb_peaks { // vendor's figures; NAN where unknown. From profiles/devices/*.json or computed from clocks and
                  // widths
    double dram_bytes_per_s, l2_bytes_per_s, fp32_flops, fp64_flops, f16_tensor_flops;
    double f8_tensor_flops; // 8-bit operands, floating or integer
    double l2_bytes;
    char source[160];
};
struct kb_roofs {                                       // measured on this device; NAN where not measured
    double copy_bytes_per_s;                            // a large device to device copy, read + written
    double footprint_bytes, footprint_copy_bytes_per_s; // a plain copy of the bench's footprint, cold
    double fp32_flops, tensor_flops;
    char tensor_type[8]; // "bf16": by mma.sync, which wgmma of sm_90 can beat
    char source[16];     // "measured" or "cached"
};
struct kb_work { // declared by the bench, or counted; NAN unknown
    double flops, bytes;
    char source[16]; // "declared", "counted", "counters"
    // Narrowest floating or 8-bit type of the bench's inputs, in bits: 8 allows the 8-bit tensor peak, 16 or less lets
    // the tensor roof stand for compute. 0: wider, or unknown.
    int operand_bits;
};
struct kb_roofline_point {
    double intensity; // flops per byte; NAN if bytes are 0 or unknown
    double attained_flops, attained_bytes_per_s;
    const char *bound; // "memory", "compute" or "unknown": the roof over this intensity
    double share;      // of that roof, 0..; NAN unknown
    double floor_us;   // the time no run can beat: see below
    bool impossible;
    const char *impossible_why; // static text
};
// Impossible: time < bytes / the L2's peak, or < flops / vendor peak, or, cold, < (bytes - L2 size) / vendor DRAM peak.
// The peak is the largest that the operands allow. Beating the measured copy is no impossibility. time_us <=
// 0 or not finite is impossible too.
void kb_roofline_place(const struct kb_work *, const struct kb_peaks *, const struct kb_roofs *, double time_us,
                       bool cold, struct kb_roofline_point *);

// Peaks for a device: the entry of the table of known GPUs that fits its name, else computed from clocks, bus width
// and SM count by architecture, and source says which. like: a name of profiles/devices/ ("h200").
int kb_peaks_for(const struct kb_device_info *, struct kb_peaks *, struct kb_error *);
// Limits and peaks of a known GPU by its short name, for --like. The error lists the known names.
int kb_known_device(const char *name, struct kb_device_info *, struct kb_peaks *, struct kb_error *);

// kb_cache_dir()/what-UUID-DRIVER.json; owned; NULL if there is no cache or no UUID.
char *kb_device_cache_path(const struct kb_device_info *, const char *what);

// Measures the roofs (a few hundred ms), or takes them from the cache of this GPU (UUID) and driver. footprint_bytes:
// read + written by the bench's headline case, 0 if unknown. ptx/cubin of roof kernels come from element.cu.
struct kb_module;
int kb_roofs_measure(struct kb_device *, struct kb_module *builtin, double footprint_bytes, int budget_ms,
                     struct kb_roofs *, struct kb_error *);

#endif
