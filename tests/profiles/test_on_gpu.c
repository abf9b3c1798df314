// The same on a real GPU: timing, roofs, refusals, a poisoned context. Skipped where there is none. Prints what it
// measured; asserts only what must hold on any GPU.
#include "base/clock.h"
#include "base/file.h"
#include "jit/compile.h"
#include "profiles/cupti_activity.h"
#include "profiles/nvml.h"
#include "profiles/roofline.h"
#include "profiles/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "#include \"roofs.cuh\"\n"
    "extern \"C\" __global__ void wide(float *a, int n) { extern __shared__ float s[]; s[threadIdx.x] = n; "
    "__syncthreads(); a[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x]; }\n"
    "extern \"C\" __global__ void empty(float *a) { if (!a) __trap(); }\n"
    "extern \"C\" __global__ void barrier(float *a, int n) { a[blockIdx.x] = n; }\n"
    "extern \"C\" __global__ void wild(float *a, int n) { a[(1ull << 40) + threadIdx.x] = n; }\n";

static struct kb_device *device;
static struct kb_module *module;

static bool compile(struct kb_compiled *out)
{
    char *roofs = NULL;
    size_t size;
    struct kb_error e = {0};
    if (kb_file_read("verify/roofs.cuh", 1 << 20, &roofs, &size, NULL) &&
        kb_file_read(KB_SOURCE_DIR "/verify/roofs.cuh", 1 << 20, &roofs, &size, &e))
        fail_msg("%s", kb_error_line(&e));
    struct kb_compile_file files[] = {{"gpu.cu", source, strlen(source)}, {"roofs.cuh", roofs, size}};
    struct kb_compile_request request = {
        .main = "gpu.cu", .files = files, .file_count = 2, .arch = device->info.arch, .compiler = "nvrtc"};
    int status = kb_compile(&request, out, &e);
    free(roofs);
    if (status) {
        print_message("no compiler to test with: %s\n", kb_error_line(&e));
        return false;
    }
    if (!out->ok)
        fail_msg("%s\n%s", out->reason, out->log);
    return true;
}

static int open_gpu(void **state)
{
    (void)state;
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_error e = {0};
    bool absent = false;
    int64_t before = kb_now_us();
    if (kb_device_open_cuda(&request, &device, &absent, &e)) {
        print_message("no GPU to test on: %s\n", kb_error_line(&e));
        return 0;
    }
    print_message(
        "%s %s, driver %s, %d SMs, L2 %zu (persisting %zu), clock %d kHz, memory %d kHz x %d bits: open %.1f ms\n",
        device->info.name, device->info.arch, device->info.driver, device->info.sm_count, device->info.l2_bytes,
        device->info.persisting_l2_bytes, device->info.clock_khz, device->info.memory_clock_khz,
        device->info.memory_bus_bits, (double)(kb_now_us() - before) / 1e3);
    struct kb_compiled compiled = {0};
    if (!compile(&compiled)) {
        device->ops->close(device);
        device = NULL;
        return 0;
    }
    before = kb_now_us();
    if (device->ops->load(device, compiled.cubin, compiled.cubin_size, &module, &e))
        fail_msg("%s", kb_error_line(&e));
    print_message("module load %.2f ms\n", (double)(kb_now_us() - before) / 1e3);
    kb_compiled_free(&compiled);
    return 0;
}

static struct kb_kernel *kernel_named(const char *name)
{
    struct kb_kernel *kernel;
    struct kb_error e = {0};
    if (device->ops->symbol(module, name, &kernel, &e))
        fail_msg("%s", kb_error_line(&e));
    return kernel;
}

struct copy {
    struct kb_kernel *kernel;
    struct kb_buffer to, from;
    uint64_t elements;
};

static int run_copy(void *context, int set, struct kb_error *e)
{
    struct copy *c = context;
    (void)set;
    const void *args[] = {&c->to.address, &c->from.address, &c->elements};
    struct kb_launch_args launch = {
        .grid = {(int64_t)device->info.sm_count * 8, 1, 1}, .block = {256, 1, 1}, .arg_count = 3, .args = args};
    return device->ops->launch(c->kernel, &launch, e);
}

static void print_result(const char *what, const struct kb_timing_result *r, double bytes, int64_t us)
{
    print_message(
        "%-22s %s%s%s cold %.3f [%.3f, %.3f] x%d  warm %.3f [%.3f, %.3f] x%d  events %.2f call %.2f us  batch "
        "%d  lost %d  clock %.0f  %.2f TB/s cold; took %.1f ms\n",
        what, r->source, r->source_reason[0] ? ": " : "", r->source_reason, r->cold.median, r->cold.low, r->cold.high,
        r->cold.samples, r->warm.median, r->warm.low, r->warm.high, r->warm.samples, r->events_us, r->call_us, r->batch,
        r->lost_records, r->clock_mhz, bytes / r->cold.median / 1e6, (double)us / 1e3);
}

static void time_copy(size_t bytes, const char *what, int budget_ms, bool warm, const struct kb_peaks *peaks)
{
    struct copy c = {.kernel = kernel_named("kb_roof_copy"), .elements = bytes / 16};
    struct kb_buffer_spec spec = {.bytes = bytes};
    struct kb_error e = {0};
    struct kb_timing_target targets[] = {{run_copy, &c, 1}, {run_copy, &c, 1}};
    struct kb_timing_options options = {.budget_ms = budget_ms, .sets = 1, .cold = true, .warm = warm};
    struct kb_timing_result r[2];
    assert_int_equal(device->ops->alloc(device, &spec, &c.to, &e), 0);
    assert_int_equal(device->ops->alloc(device, &spec, &c.from, &e), 0);
    int64_t before = kb_now_us();
    if (kb_timing_run(device, targets, 2, &options, r, &e))
        fail_msg("%s", kb_error_line(&e));
    print_result(what, &r[0], 2.0 * (double)bytes, kb_now_us() - before);
    struct kb_comparison same;
    kb_compare_paired(r[0].cold_samples, r[1].cold_samples, r[0].cold_count, 0, 0.003, &same);
    print_message("   the same against itself: %s %.4f [%.4f, %.4f]\n", kb_verdict_name(same.verdict), same.ratio,
                  same.low, same.high);
    struct kb_work work = {.flops = NAN, .bytes = 2.0 * (double)bytes};
    struct kb_roofline_point p;
    kb_roofline_place(&work, peaks, NULL, r[0].cold.median, true, &p);
    assert_false(p.impossible);
    for (int i = 0; i < 2; i++)
        kb_timing_result_free(&r[i]);
    device->ops->free(device, &c.to);
    device->ops->free(device, &c.from);
}

static void flushing(void **state)
{
    (void)state;
    if (!device)
        skip();
    struct kb_error e = {0};
    assert_int_equal(device->ops->flush(device, &e), 0);
    for (int i = 0; i < 3; i++) {
        int64_t before = kb_now_us();
        assert_int_equal(device->ops->flush(device, &e), 0);
        int64_t queued = kb_now_us();
        assert_int_equal(device->ops->sync(device, &e), 0);
        print_message("flush: %.1f us to enqueue, %.1f us to finish\n", (double)(queued - before),
                      (double)(kb_now_us() - before));
    }
    int64_t before = kb_now_us();
    int status = kb_cupti_open(&e);
    print_message("CUPTI: %s, %.1f ms\n", status ? kb_error_line(&e) : "open", (double)(kb_now_us() - before) / 1e3);
    before = kb_now_us();
    double mhz = kb_gpu_clock_mhz(device);
    int64_t first = kb_now_us();
    kb_gpu_clock_mhz(device);
    print_message("NVML: %.0f MHz, first %.1f ms, then %.3f ms; %d other processes\n", mhz,
                  (double)(first - before) / 1e3, (double)(kb_now_us() - first) / 1e3, kb_gpu_others(device));
}

static void copies(void **state)
{
    (void)state;
    if (!device)
        skip();
    struct kb_peaks peaks;
    struct kb_error e = {0};
    assert_int_equal(kb_peaks_for(&device->info, &peaks, &e), 0);
    print_message("peaks: %.2f TB/s, L2 %.1f TB/s, %.1f / %.0f TFLOP/s (%s)\n", peaks.dram_bytes_per_s / 1e12,
                  peaks.l2_bytes_per_s / 1e12, peaks.fp32_flops / 1e12, peaks.f16_tensor_flops / 1e12, peaks.source);
    time_copy(64 << 20, "64 MiB, first", 15, false, &peaks);
    time_copy(64 << 20, "64 MiB, first again", 15, false, &peaks);
    time_copy(64 << 20, "64 MiB, settled", 100, true, &peaks);
    time_copy(4 << 20, "4 MiB, settled", 100, true, &peaks);
    time_copy(64 << 10, "64 KiB, settled", 100, true, &peaks);
    time_copy(512 << 20, "512 MiB, settled", 100, true, &peaks);
}

static void roofs(void **state)
{
    (void)state;
    if (!device)
        skip();
    char cache[] = "/tmp/kbench-roofs-XXXXXX"; // measured, not what an earlier run left
    struct kb_roofs r;
    struct kb_error e = {0};
    assert_non_null(mkdtemp(cache));
    setenv("KB_CACHE", cache, 1);
    int64_t before = kb_now_us();
    if (kb_roofs_measure(device, module, 128 << 20, 300, &r, &e))
        fail_msg("%s", kb_error_line(&e));
    print_message("roofs (%s): copy %.2f TB/s, 128 MiB copy %.2f TB/s, fp32 %.1f TFLOP/s, %s %.0f TFLOP/s; %.0f ms\n",
                  r.source, r.copy_bytes_per_s / 1e12, r.footprint_copy_bytes_per_s / 1e12, r.fp32_flops / 1e12,
                  r.tensor_type, r.tensor_flops / 1e12, (double)(kb_now_us() - before) / 1e3);
    struct kb_peaks peaks;
    assert_int_equal(kb_peaks_for(&device->info, &peaks, &e), 0);
    assert_true(r.copy_bytes_per_s > 0 && r.copy_bytes_per_s <= peaks.dram_bytes_per_s);
    assert_true(r.fp32_flops > 0 && r.fp32_flops <= peaks.fp32_flops * 1.02);
    kb_remove_tree(cache);
}

static int launch(const char *name, int64_t blocks, int threads, size_t shared, bool cooperative, int count,
                  struct kb_error *e)
{
    struct kb_buffer b;
    struct kb_buffer_spec spec = {.bytes = 1 << 20};
    int n = 3;
    if (device->ops->alloc(device, &spec, &b, e))
        return -1;
    const void *args[] = {&b.address, &n};
    struct kb_launch_args launch_args = {.grid = {blocks, 1, 1},
                                         .block = {threads, 1, 1},
                                         .shared = shared,
                                         .cooperative = cooperative,
                                         .arg_count = count,
                                         .args = args};
    int status = device->ops->launch(kernel_named(name), &launch_args, e);
    if (!status)
        status = device->ops->sync(device, e);
    device->ops->free(device, &b);
    return status;
}

static void refusals(void **state)
{
    (void)state;
    if (!device)
        skip();
    struct kb_error e = {0};
    assert_int_equal(launch("wide", 1, 256, device->info.shared_per_block_optin, false, 2, &e), 0);
    assert_int_equal(launch("wide", 1, 256, 49152, false, 2, &e), 0);
    assert_int_equal(launch("wide", 1, 256, device->info.shared_per_block_optin + 1, false, 2, &e), -1);
    print_message("%s\n", kb_error_line(&e));
    assert_int_equal(device->fault.kind, KB_FAULT_REFUSED);
    assert_int_equal(launch("wide", 1, 256, 0, false, 1, &e), -1);
    print_message("%s\n", kb_error_line(&e));
    assert_int_equal(launch("barrier", device->info.sm_count, 256, 0, true, 2, &e), 0);
    assert_int_equal(launch("barrier", 100000, 256, 0, true, 2, &e), -1);
    print_message("%s\n", kb_error_line(&e));
    assert_int_equal(launch("empty", 1, 32, 0, false, 1, &e), 0);
}

static void poisoned(void **state)
{
    (void)state;
    if (!device)
        skip();
    struct kb_error e = {0};
    assert_int_equal(launch("wild", 1, 32, 0, false, 2, &e), -1);
    print_message("%s\n", kb_error_line(&e));
    assert_int_equal(device->fault.kind, KB_FAULT_POISONED);
    assert_int_equal(device->fault.code, 700);
    assert_int_equal(launch("empty", 1, 32, 0, false, 1, &e), -1);
    assert_int_equal(device->fault.kind, KB_FAULT_POISONED);
    device->ops->unload(device, module);
    device->ops->close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushing), cmocka_unit_test(copies),   cmocka_unit_test(roofs),
        cmocka_unit_test(refusals), cmocka_unit_test(poisoned),
    };
    return cmocka_run_group_tests(tests, open_gpu, NULL);
}
