// E4: what is impossible, and a roofline without a NAN cell where there is a number. The table of known GPUs.
#include "base/file.h"
#include "profiles/roofline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kb_peaks h200 = {.dram_bytes_per_s = 4.8e12,
                                     .l2_bytes_per_s = 33e12,
                                     .fp32_flops = 67e12,
                                     .fp64_flops = 33.5e12,
                                     .f16_tensor_flops = 989e12,
                                     .f8_tensor_flops = 1979e12,
                                     .l2_bytes = 60 << 20};
static const struct kb_roofs roofs = {.copy_bytes_per_s = 4.3e12,
                                      .footprint_bytes = NAN,
                                      .footprint_copy_bytes_per_s = NAN,
                                      .fp32_flops = 60e12,
                                      .tensor_flops = 600e12};
static const double MIB = 1 << 20;

static struct kb_roofline_point place(double flops, double bytes, double us, bool cold)
{
    struct kb_work work = {.flops = flops, .bytes = bytes};
    struct kb_roofline_point point;
    kb_roofline_place(&work, &h200, &roofs, us, cold, &point);
    return point;
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fabs(b)))
        fail_msg("%.12g is not %.12g", a, b);
}

static void a_softmax_is_bound_by_memory(void **state)
{
    (void)state;
    double n = 4096.0 * 4096;
    struct kb_roofline_point p = place(5 * n, 8 * n, 35.8, true);
    assert_near(p.intensity, 5.0 / 8);
    assert_string_equal(p.bound, "memory");
    assert_near(p.attained_bytes_per_s, 8 * n / 35.8e-6);
    assert_near(p.share, 8 * n / 35.8e-6 / 4.3e12);
    assert_near(p.floor_us, (8 * n - 60 * MIB) / 4.8e12 * 1e6);
    assert_false(p.impossible);
    assert_string_equal(p.impossible_why, "");
}

static void faster_than_memory_allows_is_impossible(void **state)
{
    (void)state;
    struct kb_roofline_point p = place(0, 128 * MIB, 1, true); // 134 MB in 1 us
    assert_true(p.impossible);
    assert_non_null(strstr(p.impossible_why, "memory peak"));
    assert_false(place(0, 128 * MIB, 14.9, true).impossible); // what fits into the L2 need not move
    assert_true(place(0, 128 * MIB, 14.8, true).impossible);
    assert_false(place(0, 32 * MIB, 1.1, true).impossible);  // all of it may stay in the L2
    assert_true(place(0, 128 * MIB, 4.0, false).impossible); // warm: the L2's own peak
    assert_false(place(0, 128 * MIB, 4.2, false).impossible);
}

// What fits into the L2 is still not moved faster than the L2 moves anything.
static void faster_than_the_l2_allows_is_impossible(void **state)
{
    (void)state;
    struct kb_roofline_point p = place(1e6, 8e6, 0.01, true); // 800 TB/s
    assert_true(p.impossible);
    assert_non_null(strstr(p.impossible_why, "the L2's peak"));
    assert_near(p.floor_us, 8e6 / 33e12 * 1e6);
    assert_true(place(1e6, 64e6, 1, true).impossible); // 64 TB/s, 1 MB of it beyond the L2
    assert_false(place(1e6, 64e6, 2, true).impossible);
    assert_false(place(1e6, 8e6, 0.25, true).impossible);
    struct kb_peaks small = h200; // whose size nobody knows
    small.l2_bytes = NAN;
    struct kb_work work = {.flops = 1e6, .bytes = 8e6};
    kb_roofline_place(&work, &small, &roofs, 0.01, true, &p);
    assert_true(p.impossible);
    small.l2_bytes_per_s = NAN;
    kb_roofline_place(&work, &small, &roofs, 0.01, true, &p);
    assert_false(p.impossible);
}

static void faster_than_arithmetic_allows_is_impossible(void **state)
{
    (void)state;
    double flops = 2.0 * 4096 * 4096 * 4096;
    struct kb_roofline_point p = place(flops, 3 * 4096.0 * 4096 * 2, 5, true);
    assert_true(p.impossible);
    assert_non_null(strstr(p.impossible_why, "arithmetic"));
    assert_near(p.floor_us, flops / 989e12 * 1e6);
    assert_false(place(flops, 3 * 4096.0 * 4096 * 2, 139, true).impossible);
    // 8-bit operands have a higher peak.
    struct kb_work narrow = {.flops = flops, .bytes = 1e6, .operand_bits = 8};
    kb_roofline_place(&narrow, &h200, &roofs, 100, true, &p);
    assert_false(p.impossible);
}

static void beating_the_measured_copy_is_possible(void **state)
{
    (void)state;
    struct kb_roofline_point p = place(1, 4.5e9, 1000, true); // 4.5 TB/s
    assert_false(p.impossible);
    assert_true(p.share > 1);
}

static void times_that_are_none(void **state)
{
    (void)state;
    const double times[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        struct kb_roofline_point p = place(1e9, 1e6, times[i], true);
        assert_true(p.impossible);
        assert_true(p.impossible_why[0]);
        assert_true(isnan(p.attained_flops) && isnan(p.attained_bytes_per_s) && isnan(p.share));
        assert_near(p.intensity, 1000);
    }
}

static void corners_of_the_axes(void **state)
{
    (void)state;
    struct kb_roofline_point p = place(0, 1e9, 1000, true);
    assert_true(p.intensity == 0 && p.attained_flops == 0);
    assert_string_equal(p.bound, "memory");
    p = place(1e9, 0, 1000, true); // infinite intensity
    assert_true(isnan(p.intensity));
    assert_string_equal(p.bound, "compute");
    assert_near(p.share, 1e12 / 60e12);
    p = place(0, 0, 1000, true);
    assert_string_equal(p.bound, "unknown");
    assert_false(p.impossible);
    p = place(NAN, NAN, 1000, true);
    assert_string_equal(p.bound, "unknown");
    assert_true(isnan(p.floor_us) && !p.impossible);
    p = place(NAN, 1e9, 1, true); // the bytes alone forbid it
    assert_true(p.impossible);
    p = place(1e18, 1e9, 1e6, true); // intensity 1e9
    assert_string_equal(p.bound, "compute");
    assert_true(isfinite(p.intensity));
}

static void tensor_cores_have_a_roof_of_their_own(void **state)
{
    (void)state;
    double flops = 2.0 * 4096 * 4096 * 4096;
    struct kb_work half = {.flops = flops, .bytes = 1e8, .operand_bits = 16}, wide = {.flops = flops, .bytes = 1e8};
    struct kb_roofline_point p;
    kb_roofline_place(&half, &h200, &roofs, 3000, true, &p);
    assert_near(p.share, flops / 3000e-6 / 600e12);
    kb_roofline_place(&wide, &h200, &roofs, 3000, true, &p);
    assert_near(p.share, flops / 3000e-6 / 60e12);
    kb_roofline_place(&wide, &h200, &roofs, 1000, true, &p); // 137 TFLOP/s: no fp32 unit does that
    assert_near(p.share, flops / 1000e-6 / 600e12);
    assert_false(p.impossible);
}

static void without_measured_roofs_the_vendors_stand_in(void **state)
{
    (void)state;
    struct kb_work work = {.flops = 1, .bytes = 1e9};
    struct kb_peaks unknown = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, ""};
    struct kb_roofline_point p;
    kb_roofline_place(&work, &h200, NULL, 1000, true, &p);
    assert_near(p.share, 1e12 / 4.8e12);
    kb_roofline_place(&work, &unknown, NULL, 1000, true, &p);
    assert_string_equal(p.bound, "unknown");
    assert_true(isnan(p.share) && !p.impossible);
}

static void every_known_gpu_is_complete(void **state)
{
    (void)state;
    static const char *const names[] = {"h200",    "h100",    "h100-pcie", "a100-80gb", "a100-40gb", "l40s", "l4",
                                        "rtx4090", "rtx3090", "rtx5090",   "a10",       "t4",        "b200"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct kb_device_info info;
        struct kb_peaks peaks, again;
        struct kb_error e = {0};
        assert_int_equal(kb_known_device(names[i], &info, &peaks, &e), 0);
        assert_true(info.sm_count >= 40 && info.max_threads_per_sm >= 1024 && info.max_blocks_per_sm >= 16);
        assert_true(info.shared_per_block_optin >= 65536 && info.shared_per_sm >= info.shared_per_block_optin);
        assert_true(info.registers_per_sm == 65536 && info.l2_bytes >= 4 << 20);
        assert_memory_equal(info.arch, "sm_", 3);
        assert_true(peaks.dram_bytes_per_s >= 3e11 && peaks.fp32_flops >= 8e12 && peaks.fp64_flops > 0);
        assert_true(peaks.f8_tensor_flops > peaks.f16_tensor_flops && peaks.f16_tensor_flops > peaks.fp32_flops);
        assert_true(peaks.l2_bytes_per_s > peaks.dram_bytes_per_s);
        assert_true(peaks.source[0]);
        // Its own name finds the same entry.
        assert_int_equal(kb_peaks_for(&info, &again, &e), 0);
        assert_near(again.dram_bytes_per_s, peaks.dram_bytes_per_s);
        assert_int_equal(strncmp(again.source, peaks.source, 12), 0);
    }
}

static void an_unknown_name_lists_the_known(void **state)
{
    (void)state;
    struct kb_device_info info;
    struct kb_peaks peaks;
    struct kb_error e = {0};
    assert_int_equal(kb_known_device("h2000", &info, &peaks, &e), -1);
    assert_non_null(strstr(e.remedy, "h200"));
    assert_non_null(strstr(e.remedy, "rtx4090"));
    assert_int_equal(kb_known_device("H200", &info, &peaks, &e), 0);
}

static void names_that_merely_begin_alike_are_other_cards(void **state)
{
    (void)state;
    static const struct {
        const char *name, *source;
    } rows[] = {
        {"NVIDIA H100 80GB HBM3", "NVIDIA H100 datasheet (SXM)"},
        {"NVIDIA H100 PCIe", "NVIDIA H100 datasheet (PCIe)"},
        {"NVIDIA A100-PCIE-40GB", "NVIDIA A100 datasheet (40 GB)"},
        {"NVIDIA A100 80GB PCIe", "NVIDIA A100 datasheet (SXM, 80 GB)"},
        {"NVIDIA GeForce RTX 4090", "NVIDIA Ada"},
        {"NVIDIA GeForce RTX 4090 Laptop GPU", "computed"},
        {"NVIDIA GeForce RTX 3090 Ti", "computed"},
        {"NVIDIA A10G", "computed"},
        {"NVIDIA L4", "NVIDIA L4 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kb_device_info info = {
            .arch = "sm_89", .sm_count = 76, .clock_khz = 2000000, .memory_clock_khz = 100000, .memory_bus_bits = 256};
        struct kb_peaks peaks;
        struct kb_error e = {0};
        snprintf(info.name, sizeof info.name, "%s", rows[i].name);
        assert_int_equal(kb_peaks_for(&info, &peaks, &e), 0);
        if (strncmp(peaks.source, rows[i].source, strlen(rows[i].source)))
            fail_msg("%s: %s", rows[i].name, peaks.source);
    }
}

static void a_card_with_faster_clocks_has_higher_peaks(void **state)
{
    (void)state;
    struct kb_device_info info = {.name = "NVIDIA H200",
                                  .arch = "sm_90",
                                  .sm_count = 132,
                                  .clock_khz = 1980000,
                                  .memory_clock_khz = 3201000,
                                  .memory_bus_bits = 6144,
                                  .l2_bytes = 123};
    struct kb_peaks peaks;
    struct kb_error e = {0};
    assert_int_equal(kb_peaks_for(&info, &peaks, &e), 0);
    assert_near(peaks.dram_bytes_per_s, 2.0 * 3201e6 * 6144 / 8);
    assert_non_null(strstr(peaks.source, "raised to this card's clocks"));
    assert_true(peaks.l2_bytes == 123); // the device's own word
}

static void a_device_of_which_nothing_is_known(void **state)
{
    (void)state;
    struct kb_device_info info = {.name = "Something"};
    struct kb_peaks peaks;
    struct kb_error e = {0};
    assert_int_equal(kb_peaks_for(&info, &peaks, &e), -1);
    assert_true(isnan(peaks.dram_bytes_per_s) && isnan(peaks.fp32_flops));
    assert_non_null(strstr(e.remedy, "--like"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_softmax_is_bound_by_memory),
        cmocka_unit_test(faster_than_memory_allows_is_impossible),
        cmocka_unit_test(faster_than_the_l2_allows_is_impossible),
        cmocka_unit_test(faster_than_arithmetic_allows_is_impossible),
        cmocka_unit_test(beating_the_measured_copy_is_possible),
        cmocka_unit_test(times_that_are_none),
        cmocka_unit_test(corners_of_the_axes),
        cmocka_unit_test(tensor_cores_have_a_roof_of_their_own),
        cmocka_unit_test(without_measured_roofs_the_vendors_stand_in),
        cmocka_unit_test(every_known_gpu_is_complete),
        cmocka_unit_test(an_unknown_name_lists_the_known),
        cmocka_unit_test(names_that_merely_begin_alike_are_other_cards),
        cmocka_unit_test(a_card_with_faster_clocks_has_higher_peaks),
        cmocka_unit_test(a_device_of_which_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
