// How far verdicts can be trusted, on a real GPU: pairs of identical code (each loaded anew) and of a kernel with 1%
// more rows, timed as the run worker times them. Prints counts and where the time of a first verdict goes; asserts
// nothing about them (scripts/gpu-check does). Skipped where there is no GPU.
//
// usage: profiles_test_timing_on_gpu [IDENTICAL PAIRS] [RUNS OF 1% MORE] [MS A RUN] [FILE FOR ALL SAMPLES]
#include "base/clock.h"
#include "jit/compile.h"
#include "profiles/cupti_activity.h"
#include "profiles/nvml.h"
#include "profiles/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4096, MORE_ROWS = 4137, COLUMNS = 4096, SETS = 3, SHORT_ROWS = 64 };
static const double SAME = 0.003; // as in worker/run_time.c

// A row a block, read, reduced and written: bound by memory as most kernels that are tuned by the percent.
static const char source[] =
    "extern \"C\" __global__ void rows(float *y, const float *x, int columns)\n"
    "{\n"
    "    __shared__ float parts[8];\n"
    "    const float4 *in = (const float4 *)(x + (size_t)blockIdx.x * columns);\n"
    "    float4 *out = (float4 *)(y + (size_t)blockIdx.x * columns), v[4];\n"
    "    float sum = 0;\n"
    "    for (int i = 0; i < 4; i++) {\n"
    "        v[i] = in[threadIdx.x + 256 * i];\n"
    "        sum += v[i].x + v[i].y + v[i].z + v[i].w;\n"
    "    }\n"
    "    for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);\n"
    "    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;\n"
    "    __syncthreads();\n"
    "    sum = 0;\n"
    "    for (int i = 0; i < 8; i++) sum += parts[i];\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        out[threadIdx.x + 256 * i] = make_float4(v[i].x + sum, v[i].y + sum, v[i].z + sum, v[i].w + sum);\n"
    "}\n"
    "extern \"C\" __global__ void reader(float *y, const float *x, int columns)\n"
    "{\n"
    "    const float4 v = ((const float4 *)x)[(size_t)blockIdx.x * blockDim.x + threadIdx.x];\n"
    "    if (v.x + v.y + v.z + v.w == 1234.5f) y[0] = columns;\n"
    "}\n"
    "extern \"C\" __global__ void empty(float *y, const float *x, int columns) {}\n";

static struct kb_device *device;
static struct kb_compiled compiled;
static struct kb_buffer input[SETS], output[2];
static int identical_pairs = 6, slower_runs = 4, run_ms = 60;
static FILE *dump;

struct version {
    struct kb_module *module;
    struct kb_kernel *kernel, *reader; // reader: runs first, see what_a_flush_leaves_behind
    int64_t rows;                      // 0: the empty kernel
    int index;                         // of the target: which of the outputs it writes, see run_version
};

static void must(int status, const struct kb_error *e)
{
    if (status)
        fail_msg("%s", kb_error_line(e));
}

static int64_t since(int64_t *begun)
{
    int64_t now = kb_now_us(), took = now - *begun;
    *begun = now;
    return took;
}

static int open_gpu(void **state)
{
    (void)state;
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_error e = {0};
    bool absent = false;
    if (kb_device_open_cuda(&request, &device, &absent, &e)) {
        print_message("no GPU to test on: %s\n", kb_error_line(&e));
        return 0;
    }
    struct kb_compile_file file = {"rows.cu", source, strlen(source)};
    struct kb_compile_request compile = {
        .main = "rows.cu", .files = &file, .file_count = 1, .arch = device->info.arch, .compiler = "nvrtc"};
    if (kb_compile(&compile, &compiled, &e)) {
        print_message("no compiler to test with: %s\n", kb_error_line(&e));
        device->ops->close(device);
        device = NULL;
        return 0;
    }
    if (!compiled.ok)
        fail_msg("%s\n%s", compiled.reason, compiled.log);
    struct kb_buffer_spec spec = {.bytes = (size_t)MORE_ROWS * COLUMNS * sizeof(float)};
    for (int i = 0; i < SETS; i++) {
        must(device->ops->alloc(device, &spec, &input[i], &e), &e);
        must(device->ops->fill(device, input[i].address, (uint8_t)(0x3c + i), spec.bytes, &e), &e);
    }
    for (int i = 0; i < 2; i++)
        must(device->ops->alloc(device, &spec, &output[i], &e), &e);
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    if (!device)
        return 0;
    for (int i = 0; i < SETS; i++)
        device->ops->free(device, &input[i]);
    for (int i = 0; i < 2; i++)
        device->ops->free(device, &output[i]);
    device->ops->close(device);
    kb_compiled_free(&compiled);
    return 0;
}

static void load(struct version *v, int index, int64_t rows)
{
    struct kb_error e = {0};
    *v = (struct version){.rows = rows, .index = index};
    must(device->ops->load(device, compiled.cubin, compiled.cubin_size, &v->module, &e), &e);
    must(device->ops->symbol(v->module, rows ? "rows" : "empty", &v->kernel, &e), &e);
}

static int read_all(const struct version *v, struct kb_error *e)
{
    const int columns = COLUMNS;
    for (int i = 1; v->reader && i < SETS; i++) {
        const void *args[] = {&output[0].address, &input[i].address, &columns};
        struct kb_launch_args launch = {
            .grid = {(int64_t)ROWS * COLUMNS / 1024, 1, 1}, .block = {256, 1, 1}, .arg_count = 3, .args = args};
        if (device->ops->launch(v->reader, &launch, e))
            return -1;
    }
    return 0;
}

// As the run worker does: the sets twice, with outputs exchanged, so that addresses favour neither target.
static int run_version(void *context, int set, struct kb_error *e)
{
    const struct version *v = context;
    const int columns = COLUMNS;
    const void *args[] = {&output[(set / SETS + v->index) % 2].address, &input[set % SETS].address, &columns};
    struct kb_launch_args launch = {
        .grid = {v->rows ? v->rows : 1, 1, 1}, .block = {v->rows ? 256 : 32, 1, 1}, .arg_count = 3, .args = args};
    return read_all(v, e) || device->ops->launch(v->kernel, &launch, e);
}

static void time_versions(struct version *versions, int count, struct kb_timing_options options,
                          struct kb_timing_result *results)
{
    struct kb_timing_target targets[KB_MAX_TARGETS];
    struct kb_error e = {0};
    for (int i = 0; i < count && i < KB_MAX_TARGETS; i++)
        targets[i] = (struct kb_timing_target){run_version, &versions[i], 1};
    options.sets = 2 * SETS;
    options.cold = true;
    must(kb_timing_run(device, targets, count, &options, results, &e), &e);
}

static void write_samples(const char *what, int run, const struct kb_timing_result *r)
{
    int count = r[0].cold_count < r[1].cold_count ? r[0].cold_count : r[1].cold_count;
    for (int i = 0; dump && i < count; i++)
        fprintf(dump, "%s %d %.3f %.3f\n", what, run, r[0].cold_samples[i], r[1].cold_samples[i]);
}

struct tally {
    int verdicts[4]; // by enum kb_verdict
    double spread[512], half_width[512], us[512];
    int runs;
};

// Version b against a, both loaded anew.
static void compare_once(const char *what, int64_t rows, struct tally *t)
{
    struct version versions[2];
    struct kb_timing_result r[2];
    struct kb_comparison c;
    load(&versions[0], 0, rows);
    load(&versions[1], 1, ROWS);
    time_versions(versions, 2, (struct kb_timing_options){.budget_ms = run_ms, .warm = true}, r);
    kb_compare_paired(r[0].cold_samples, r[1].cold_samples, r[0].cold_count, 0, SAME, &c);
    write_samples(what, t->runs, r);
    t->verdicts[c.verdict]++;
    t->spread[t->runs] = fabs(c.ratio - 1);
    t->half_width[t->runs] = (c.high - c.low) / 2;
    t->us[t->runs] = r[1].cold.median;
    print_message("%s %3d %-6s %.4f [%.4f, %.4f]  %.2f and %.2f us x %d  clock %.0f MHz  %s\n", what, t->runs,
                  kb_verdict_name(c.verdict), c.ratio, c.low, c.high, r[0].cold.median, r[1].cold.median,
                  r[0].cold_count, r[0].clock_mhz, r[0].source);
    for (int i = 0; i < 2; i++) {
        kb_timing_result_free(&r[i]);
        device->ops->unload(device, versions[i].module);
    }
    t->runs++;
}

static double median_of(const double *values, int count)
{
    struct kb_summary s;
    kb_summarize(values, count, &s);
    return s.median;
}

// One line for scripts/gpu-check.
static void print_tally(const char *what, const struct tally *t)
{
    print_message("tally {\"what\": \"%s\", \"runs\": %d, \"ms\": %d, \"unsure\": %d, \"same\": %d, \"faster\": %d, "
                  "\"slower\": %d, \"us\": %.3f, \"off\": %.6f, \"half_width\": %.6f}\n",
                  what, t->runs, run_ms, t->verdicts[KB_VERDICT_UNSURE], t->verdicts[KB_VERDICT_SAME],
                  t->verdicts[KB_VERDICT_FASTER], t->verdicts[KB_VERDICT_SLOWER], median_of(t->us, t->runs),
                  median_of(t->spread, t->runs), median_of(t->half_width, t->runs));
}

static void identical_code(void **state)
{
    (void)state;
    struct tally t = {0};
    if (!device)
        skip();
    for (int i = 0; i < identical_pairs; i++)
        compare_once("identical", ROWS, &t);
    print_tally("identical", &t);
    print_message("noise floor by these controls: %.3f%%\n", 100 * kb_noise_floor(t.spread, t.runs));
    assert_int_equal(t.runs, identical_pairs);
}

static void one_percent_more_rows(void **state)
{
    (void)state;
    struct tally t = {0};
    if (!device)
        skip();
    for (int i = 0; i < slower_runs; i++)
        compare_once("more", MORE_ROWS, &t);
    print_tally("more", &t);
    assert_int_equal(t.runs, slower_runs);
}

static void print_timing(const char *what, const struct kb_timing_result *r, int64_t us)
{
    print_message("%-34s %7.2f ms: cold %.3f us [%.3f, %.3f] x %d, batch %d, by events %.3f us, %s\n", what,
                  (double)us / 1e3, r->cold.median, r->cold.low, r->cold.high, r->cold_count, r->batch, r->events_us,
                  r->source);
}

// What kb_timing_run does, step by step.
static void steps_of_a_sample(struct version *v)
{
    struct kb_kernel_span spans[64];
    struct kb_error e = {0};
    int64_t at = kb_now_us();
    must(kb_cupti_begin(&e), &e);
    print_message("begin of recording        %7.3f ms\n", (double)since(&at) / 1e3);
    for (int i = 0; i < 10; i++) {
        must(device->ops->flush(device, &e), &e);
        must(run_version(v, i % 2, &e), &e);
    }
    print_message("10 flushes and launches   %7.3f ms\n", (double)since(&at) / 1e3);
    must(device->ops->sync(device, &e), &e);
    print_message("until they have ended     %7.3f ms\n", (double)since(&at) / 1e3);
    int lost = kb_cupti_collect(spans, 10, &e);
    print_message("their records             %7.3f ms (%d lost)\n", (double)since(&at) / 1e3, lost);
    double mhz = kb_gpu_clock_mhz(device);
    print_message("the clock (%4.0f MHz)      %7.3f ms\n", mhz, (double)since(&at) / 1e3);
}

static void where_the_first_verdict_goes(void **state)
{
    (void)state;
    struct version versions[2];
    struct kb_timing_result r[2];
    if (!device)
        skip();
    int64_t at = kb_now_us();
    kb_timing_prepare(device);
    print_message("opening CUPTI and NVML    %7.3f ms\n", (double)since(&at) / 1e3);
    load(&versions[0], 0, ROWS);
    print_message("loading the module        %7.3f ms\n", (double)since(&at) / 1e3);
    load(&versions[1], 1, ROWS);
    since(&at);
    struct kb_timing_options first = {.budget_ms = 20, .min_samples = 10, .width = 0.04};
    for (int repeat = 0; repeat < 2; repeat++)
        for (int count = 1; count <= 2; count++) {
            time_versions(versions, count, first, r);
            print_timing(count == 1 ? "first stage, alone" : "first stage, against one", &r[0], since(&at));
            for (int i = 0; i < count; i++)
                kb_timing_result_free(&r[i]);
        }
    steps_of_a_sample(&versions[0]);
    for (int i = 0; i < 2; i++)
        device->ops->unload(device, versions[i].module);
}

static void what_the_method_itself_costs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t rows;
    } kernels[] = {
        {"empty kernel, cold and warm", 0}, {"1 row, cold and warm", 1}, {"64 rows, cold and warm", SHORT_ROWS}};
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        struct version v;
        struct kb_timing_result r;
        load(&v, 0, kernels[i].rows);
        int64_t at = kb_now_us();
        time_versions(&v, 1, (struct kb_timing_options){.budget_ms = 40, .warm = true}, &r);
        print_timing(kernels[i].name, &r, since(&at));
        print_message("%-34s warm %.3f us, call %.3f us\n", "", r.warm.median, r.call_us);
        kb_timing_result_free(&r);
        device->ops->unload(device, v.module);
    }
}

// The flush writes, and what it wrote is in the cache when the run starts: the run pays for its writing back, as it
// would behind most real kernels. Compared with a cache of clean lines, read from other buffers behind the flush.
static void what_a_flush_leaves_behind(void **state)
{
    (void)state;
    struct version v;
    struct kb_timing_result r;
    struct kb_error e = {0};
    if (!device)
        skip();
    load(&v, 0, ROWS);
    for (int clean = 0; clean < 2; clean++) {
        struct kb_timing_target target = {run_version, &v, clean ? SETS : 1};
        struct kb_timing_options options = {.budget_ms = 100, .sets = 1, .cold = true};
        must(device->ops->symbol(v.module, "reader", &v.reader, &e), &e);
        v.reader = clean ? v.reader : NULL;
        must(kb_timing_run(device, &target, 1, &options, &r, &e), &e);
        print_message("cold, %s lines in the cache: %.3f us\n", clean ? "clean" : "written",
                      r.launch_us[clean ? SETS - 1 : 0]);
        kb_timing_result_free(&r);
    }
    device->ops->unload(device, v.module);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_the_first_verdict_goes), cmocka_unit_test(what_the_method_itself_costs),
        cmocka_unit_test(what_a_flush_leaves_behind),   cmocka_unit_test(identical_code),
        cmocka_unit_test(one_percent_more_rows),
    };
    identical_pairs = argc > 1 ? atoi(argv[1]) % 512 : identical_pairs;
    slower_runs = argc > 2 ? atoi(argv[2]) % 512 : slower_runs;
    run_ms = argc > 3 ? atoi(argv[3]) : run_ms;
    dump = argc > 4 ? fopen(argv[4], "w") : NULL;
    int failed = cmocka_run_group_tests(tests, open_gpu, close_gpu);
    if (dump)
        fclose(dump);
    return failed;
}
