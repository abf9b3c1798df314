#include "profiles/roofline.h"

#include <math.h>
#include <string.h>

static bool known(double value)
{
    return isfinite(value) && value > 0;
}

static double larger(double a, double b)
{
    return known(a) && (!known(b) || a > b) ? a : b;
}

// The fastest arithmetic that the operands allow. A kernel may use tensor cores whatever the bench's types are (fp32 by
// splitting), so these always count; the 8-bit rate only for 8-bit operands.
static double compute_peak(const struct kb_work *work, const struct kb_peaks *peaks)
{
    double peak = larger(peaks->fp32_flops, larger(peaks->fp64_flops, peaks->f16_tensor_flops));
    return work->operand_bits == 8 ? larger(peaks->f8_tensor_flops, peak) : peak;
}

struct bound {
    double us; // NAN unknown
    const char *why;
};

static double at_rate(double amount, double rate)
{
    return known(rate) && isfinite(amount) ? amount / rate * 1e6 : NAN;
}

static void find_floor(const struct kb_work *work, const struct kb_peaks *peaks, bool cold,
                       struct kb_roofline_point *out)
{
    // What the flush left behind, the kernel's own writes may stay in the L2: that much need not move while it runs.
    // But every byte passes the L2 once, cold or warm.
    double beyond =
        cold && known(peaks->l2_bytes) && isfinite(work->bytes) ? fmax(work->bytes - peaks->l2_bytes, 0) : NAN;
    const struct bound bounds[] = {
        {at_rate(work->flops, compute_peak(work, peaks)), "less than the arithmetic takes at the vendor's peak"},
        {at_rate(beyond, peaks->dram_bytes_per_s),
         "less than the bytes beyond the L2 take at the vendor's memory peak"},
        {at_rate(work->bytes, peaks->l2_bytes_per_s), "less than the bytes take at the L2's peak"},
    };
    out->floor_us = NAN;
    out->impossible_why = "";
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (isfinite(bounds[i].us) && !(bounds[i].us <= out->floor_us)) {
            out->floor_us = fmax(bounds[i].us, 0);
            out->impossible_why = bounds[i].why;
        }
}

// The roof over this point, in flops: tensor cores where the operands fit them, or where no other unit is that fast.
static double compute_roof(const struct kb_work *work, const struct kb_peaks *peaks, const struct kb_roofs *roofs,
                           double attained)
{
    double fp32 = roofs && known(roofs->fp32_flops) ? roofs->fp32_flops : peaks->fp32_flops;
    double tensor = roofs && known(roofs->tensor_flops) ? roofs->tensor_flops : peaks->f16_tensor_flops;
    bool narrow = work->operand_bits > 0 && work->operand_bits <= 16;
    if (known(tensor) && (narrow || !known(fp32) || attained > fp32))
        return tensor;
    return fp32;
}

static void find_bound(const struct kb_work *work, const struct kb_peaks *peaks, const struct kb_roofs *roofs,
                       struct kb_roofline_point *out)
{
    double memory = roofs && known(roofs->copy_bytes_per_s) ? roofs->copy_bytes_per_s : peaks->dram_bytes_per_s;
    double compute = compute_roof(work, peaks, roofs, out->attained_flops);
    bool moves = known(work->bytes), computes = known(work->flops);
    out->bound = "unknown";
    out->share = NAN;
    if (moves && known(memory) &&
        (work->flops == 0 || (computes && known(compute) && work->flops / compute <= work->bytes / memory))) {
        out->bound = "memory";
        out->share = out->attained_bytes_per_s / memory;
    } else if (computes && known(compute) &&
               (work->bytes == 0 || (moves && known(memory)))) { // infinite intensity, or right of the ridge
        out->bound = "compute";
        out->share = out->attained_flops / compute;
    }
}

void kb_roofline_place(const struct kb_work *work, const struct kb_peaks *peaks, const struct kb_roofs *roofs,
                       double time_us, bool cold, struct kb_roofline_point *out)
{
    bool timed = known(time_us);
    *out = (struct kb_roofline_point){.bound = "unknown", .share = NAN};
    out->intensity = known(work->bytes) && isfinite(work->flops) ? work->flops / work->bytes : NAN;
    out->attained_flops = timed && isfinite(work->flops) ? work->flops / time_us * 1e6 : NAN;
    out->attained_bytes_per_s = timed && isfinite(work->bytes) ? work->bytes / time_us * 1e6 : NAN;
    find_bound(work, peaks, roofs, out);
    find_floor(work, peaks, cold, out);
    out->impossible = !timed || time_us < out->floor_us; // a floor of NAN forbids nothing
    if (!timed)
        out->impossible_why = "no run takes no time";
    else if (!out->impossible)
        out->impossible_why = "";
}
