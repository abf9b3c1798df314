// Sampling and counters on a real GPU: sections of known cost, the bytes of a copy, the cost of each step. Skipped
// where there is none or where profiling is refused. Prints what it measured.
#include "base/clock.h"
#include "base/memory.h"
#include "jit/compile.h"
#include "profiles/counters.h"
#include "profiles/cupti.h"
#include "profiles/cupti_activity.h"
#include "profiles/ranges.h"
#include "profiles/sections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The parts wait for fixed numbers of cycles: 50, 30 and 20% of the whole. The second and third by a function that is
// inlined, and that has no section of its own.
static const char source[] = "__device__ __forceinline__ float spin(long long cycles, float x)\n"    // 1
                             "{\n"                                                                   // 2
                             "    long long start = clock64();\n"                                    // 3
                             "    while (clock64() - start < cycles)\n"                              // 4
                             "        for (int i = 0; i < 64; i++) x = __fmaf_rn(x, 1.01f, 0.5f);\n" // 5
                             "    return x;\n"                                                       // 6
                             "}\n"                                                                   // 7
                             "extern \"C\" __global__ void parts(float *out, long long unit)\n"      // 8
                             "{\n"                                                                   // 9
                             "    //kb: section half\n"                                              // 10
                             "    long long start = clock64();\n"                                    // 11
                             "    float x = start & 1;\n"                                            // 12
                             "    while (clock64() - start < 50 * unit)\n"                           // 13
                             "        for (int i = 0; i < 64; i++) x = __fmaf_rn(x, 1.01f, 0.5f);\n" // 14
                             "    //kb: section third\n"                                             // 15
                             "    x = spin(30 * unit, x);\n"                                         // 16
                             "    //kb: section rest\n"                                              // 17
                             "    x = spin(20 * unit, x);\n"                                         // 18
                             "    out[blockIdx.x * blockDim.x + threadIdx.x] = x;\n"                 // 19
                             "}\n"                                                                   // 20
                             "extern \"C\" __global__ void copy(float4 *to, const float4 *from, long long n)\n"
                             "{\n"
                             "    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += "
                             "gridDim.x * (long long)blockDim.x)\n"
                             "        to[i] = from[i];\n"
                             "}\n"
                             "extern \"C\" __global__ void sweep(const float4 *from, long long n, float *out)\n"
                             "{\n"
                             "    float sum = 0;\n"
                             "    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += "
                             "gridDim.x * (long long)blockDim.x)\n"
                             "        sum += from[i].x;\n"
                             "    if (sum == 1.5f) *out = sum;\n"
                             "}\n"
                             "extern \"C\" __global__ void fused(float *x)\n"
                             "{\n"
                             "    float a = x[threadIdx.x];\n"
                             "    for (int i = 0; i < 1000; i++) a = __fmaf_rn(a, 1.0001f, 0.5f);\n"
                             "    x[blockIdx.x * blockDim.x + threadIdx.x] = a;\n"
                             "}\n";

static const struct kb_section_mark marks[] = {
    {"gpu.cu", "half", 10, 14}, {"gpu.cu", "third", 15, 16}, {"gpu.cu", "rest", 17, 20}};

static struct kb_device *device;
static struct kb_compiled compiled;
static struct kb_error refusal;
static bool refused;

static int open_gpu(void **state)
{
    (void)state;
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_error e = {0};
    bool absent = false;
    if (kb_device_open_cuda(&request, &device, &absent, &e)) {
        print_message("no GPU to test on: %s\n", kb_error_line(&e));
        device = NULL;
        return 0;
    }
    refused = kb_profiling_allowed(kb_profiling_admin_only(NULL), kb_has_sys_admin(), &refusal);
    struct kb_compile_file file = {"gpu.cu", source, strlen(source)};
    struct kb_compile_request compile = {.main = "gpu.cu",
                                         .files = &file,
                                         .file_count = 1,
                                         .arch = device->info.arch,
                                         .compiler = "nvrtc",
                                         .lineinfo = true};
    if (kb_compile(&compile, &compiled, &e) || !compiled.ok) {
        print_message("nothing to test with: %s %s\n%s\n", kb_error_line(&e), compiled.reason,
                      compiled.log ? compiled.log : "");
        return -1;
    }
    return 0;
}

static void need_profiling(void)
{
    if (!device)
        skip();
    if (refused) {
        print_message("%s\n", kb_error_line(&refusal));
        skip();
    }
}

struct job {
    struct kb_module *module;
    struct kb_kernel *kernel, *sweep;
    struct kb_buffer a, b, clean;
    int64_t blocks, threads;
    const void *args[3];
    int arg_count;
    int64_t number;
    bool cold;
};

static void load(struct job *j, const char *name)
{
    struct kb_error e = {0};
    *j = (struct job){0};
    if (device->ops->load(device, compiled.cubin, compiled.cubin_size, &j->module, &e) ||
        device->ops->symbol(j->module, name, &j->kernel, &e) || device->ops->symbol(j->module, "sweep", &j->sweep, &e))
        fail_msg("%s", kb_error_line(&e));
}

static void allocate(struct kb_buffer *b, size_t bytes)
{
    struct kb_error e = {0};
    struct kb_buffer_spec spec = {.bytes = bytes};
    if (device->ops->alloc(device, &spec, b, &e) || device->ops->fill(device, b->address, 0, bytes, &e))
        fail_msg("%s", kb_error_line(&e));
}

static void unload(struct job *j)
{
    device->ops->free(device, &j->a);
    device->ops->free(device, &j->b);
    device->ops->free(device, &j->clean);
    device->ops->unload(device, j->module);
}

static int launch(void *context, struct kb_error *e)
{
    struct job *j = context;
    struct kb_launch_args args = {
        .grid = {j->blocks, 1, 1}, .block = {j->threads, 1, 1}, .arg_count = j->arg_count, .args = j->args};
    return device->ops->launch(j->kernel, &args, e);
}

// The L2 full of clean lines of something else.
static int cold(void *context, struct kb_error *e)
{
    struct job *j = context;
    int64_t n = (int64_t)(j->clean.bytes / 16);
    const void *args[] = {&j->clean.address, &n, &j->clean.address};
    struct kb_launch_args launch_args = {.grid = {1024, 1, 1}, .block = {256, 1, 1}, .arg_count = 3, .args = args};
    return device->ops->flush(device, e) || device->ops->launch(j->sweep, &launch_args, e);
}

static double ms_since(int64_t before)
{
    return (double)(kb_now_us() - before) / 1e3;
}

static void print_profile(const char *what, const struct kb_pc_profile *p, double ms)
{
    uint64_t plain = 0, extra = 0;
    for (int i = 0; i < p->pc_count; i++)
        for (int k = 0; k < p->reason_count; k++)
            *(p->reasons[k].not_issued ? &extra : &plain) += p->pcs[i].counts[k];
    print_message("%s: %.1f ms, %llu samples at 2^%d, %d launches, %d tries, dropped %llu%s, %d PCs, %d reasons; plain "
                  "%llu, not issued %llu (%s)\n",
                  what, ms, (unsigned long long)p->samples, p->period, p->launches, p->tries,
                  (unsigned long long)p->dropped, p->overflow ? ", overflow" : "", p->pc_count, p->reason_count,
                  (unsigned long long)plain, (unsigned long long)extra, p->inclusive ? "inclusive" : "on top");
}

static void print_sections(const struct kb_pc_profile *p, const struct kb_sections *s)
{
    for (int i = 0; i < s->section_count; i++) {
        const struct kb_section_share *one = &s->sections[i];
        print_message("  %-18s %6.2f%% ", one->name, 100.0 * (double)one->samples / (double)s->samples);
        for (int g = 0; g < KB_STALL_GROUPS; g++)
            if (one->samples && one->groups[g] * 20 > one->samples)
                print_message(" %s %.0f%%", kb_stall_group_names[g],
                              100.0 * (double)one->groups[g] / (double)one->samples);
        print_message("\n");
    }
    for (int k = 0; k < p->reason_count; k++) {
        uint64_t n = 0;
        for (int i = 0; i < s->section_count; i++)
            n += s->sections[i].reasons[k];
        if (n)
            print_message("    %s%s %llu\n", p->reasons[k].name, p->reasons[k].not_issued ? " (not issued)" : "",
                          (unsigned long long)n);
    }
    for (int i = 0; i < s->line_count && i < 6; i++)
        print_message("    %s:%d %llu\n", s->lines[i].file, s->lines[i].line, (unsigned long long)s->lines[i].samples);
}

// Where the samples of a kernel lie, with the reasons that make up a tenth of each instruction's.
static void print_pcs(const struct kb_pc_profile *p)
{
    for (int i = 0; i < p->pc_count; i++) {
        uint64_t all = kb_pc_samples(p, &p->pcs[i]);
        print_message("    %s+%03llx %6llu", p->pcs[i].function, (unsigned long long)p->pcs[i].offset,
                      (unsigned long long)all);
        for (int k = 0; k < p->reason_count; k++)
            if (!p->reasons[k].not_issued && p->pcs[i].counts[k] * 10ull > all)
                print_message(" %s %u", p->reasons[k].name, p->pcs[i].counts[k]);
        print_message("\n");
    }
}

static void parts(void **state)
{
    (void)state;
    need_profiling();
    struct kb_error e = {0};
    struct job j;
    int64_t before = kb_now_us();
    if (kb_pcs_hold(device, &e)) {
        print_message("%s\n", kb_error_line(&e));
        skip();
    }
    print_message("first enable: %.1f ms\n", ms_since(before));
    load(&j, "parts");
    j.blocks = device->info.sm_count;
    j.threads = 256;
    j.number = 2000; // cycles of one percent
    allocate(&j.a, (size_t)(j.blocks * j.threads) * 4);
    j.args[0] = &j.a.address;
    j.args[1] = &j.number;
    j.arg_count = 2;
    struct kb_pcs_run run = {.run = launch, .context = &j, .time_us = 200000 / 1.8e3, .budget_ms = 20};
    struct kb_pc_profile p;
    struct kb_line_table *table;
    assert_int_equal(kb_line_table_read(compiled.cubin, compiled.cubin_size, &table, &e), 0);
    for (int i = 0; i < 4; i++) {
        before = kb_now_us();
        if (kb_pcs_collect(device, &run, &p, &e))
            fail_msg("%s", kb_error_line(&e));
        print_profile(i ? "later start, run, stop, collect" : "first start, run, stop, collect", &p, ms_since(before));
        struct kb_sections s;
        before = kb_now_us();
        kb_sections_make(&p, table, marks, 3, &s);
        print_message("  sections made in %.2f ms\n", ms_since(before));
        assert_true(p.samples > 1000);
        double share[3];
        for (int k = 0; k < 3; k++)
            share[k] = 100.0 * (double)s.sections[k].samples / (double)s.samples;
        if (i == 0 || i == 3)
            print_sections(&p, &s);
        if (i == 0)
            print_pcs(&p);
        assert_true(fabs(share[0] - 50) < 3 && fabs(share[1] - 30) < 3 && fabs(share[2] - 20) < 3);
        kb_sections_free(&s);
        kb_pc_profile_free(&p);
    }
    kb_line_table_free(table);
    unload(&j);
    before = kb_now_us();
    kb_pcs_release();
    print_message("release: %.1f ms\n", ms_since(before));
}

static void copy_sampled(void **state)
{
    (void)state;
    need_profiling();
    struct kb_error e = {0};
    struct job j;
    int64_t before = kb_now_us();
    if (kb_pcs_hold(device, &e)) {
        print_message("%s\n", kb_error_line(&e));
        skip();
    }
    print_message("taken again: %.1f ms\n", ms_since(before));
    kb_pcs_release();
    before = kb_now_us();
    if (kb_pcs_warm(device, &e))
        fail_msg("%s", kb_error_line(&e));
    print_message("taken again, started and stopped once: %.1f ms\n", ms_since(before));
    load(&j, "copy");
    allocate(&j.a, 64 << 20);
    allocate(&j.b, 64 << 20);
    allocate(&j.clean, 2 * device->info.l2_bytes);
    j.number = 4 << 20;
    j.blocks = 4 * device->info.sm_count;
    j.threads = 512;
    j.args[0] = &j.a.address, j.args[1] = &j.b.address, j.args[2] = &j.number;
    j.arg_count = 3;
    struct kb_pcs_run run = {.run = launch, .context = &j, .time_us = 37, .budget_ms = 20};
    struct kb_pc_profile p;
    before = kb_now_us();
    if (kb_pcs_collect(device, &run, &p, &e))
        fail_msg("%s", kb_error_line(&e));
    print_profile("copy of 64 MiB", &p, ms_since(before));
    struct kb_sections s;
    const struct kb_section_mark whole = {"gpu.cu", "copy", 21, 25};
    struct kb_line_table *table;
    assert_int_equal(kb_line_table_read(compiled.cubin, compiled.cubin_size, &table, &e), 0);
    kb_sections_make(&p, table, &whole, 1, &s);
    print_sections(&p, &s);
    assert_true(s.sections[0].samples * 10 > s.samples * 9);
    kb_sections_free(&s);
    kb_line_table_free(table);
    kb_pc_profile_free(&p);
    kb_pcs_release();
    unload(&j);
}

// Counters of a stage, printed; value of one of them in *wanted.
static void count(struct job *j, enum kb_counter_stage stage, const char *name, double *value)
{
    static const char *const stages[] = {"bytes", "hardware", "code"};
    const char *metrics[KB_RANGE_METRICS];
    struct kb_range_values *v = kb_alloc(sizeof *v);
    struct kb_range_run run = {.before = cold, .run = launch, .context = j};
    struct kb_error e = {0};
    int n = kb_counter_metrics(stage, metrics, KB_RANGE_METRICS);
    int64_t before = kb_now_us();
    int failed = kb_ranges_measure(device, metrics, n, &run, v, &e);
    print_message("counters, %s: %d passes, %.1f ms%s%s\n", stages[stage], v->passes, ms_since(before),
                  failed ? ": " : "", failed ? kb_error_line(&e) : "");
    if (failed)
        fail();
    for (int i = 0; i < kb_counter_count; i++) {
        const char *why;
        if (kb_counters[i].stage != stage)
            continue;
        double x = kb_counter_value(&kb_counters[i], metrics, v->value, v->why, n, &why);
        print_message("    %-26s %.6g %s%s%s\n", kb_counters[i].name, x, kb_counters[i].unit, why ? ": " : "",
                      why ? why : "");
        if (!why && !strcmp(kb_counters[i].name, name)) // other chips' names of it are unknown here
            *value = x;
    }
    free(v);
}

static void copy_counted(void **state)
{
    (void)state;
    need_profiling();
    struct job j;
    double read = NAN, written = NAN, sectors = NAN;
    const double bytes = 256 << 20;
    load(&j, "copy");
    allocate(&j.a, 256 << 20);
    allocate(&j.b, 256 << 20);
    allocate(&j.clean, 2 * device->info.l2_bytes);
    j.number = 16 << 20;
    j.blocks = 4 * device->info.sm_count;
    j.threads = 512;
    j.args[0] = &j.a.address, j.args[1] = &j.b.address, j.args[2] = &j.number;
    j.arg_count = 3;
    count(&j, KB_COUNTER_BYTES, "dram_read_bytes", &read);
    count(&j, KB_COUNTER_BYTES, "dram_write_bytes", &written);
    count(&j, KB_COUNTER_HARDWARE, "sectors_per_request_load", &sectors);
    print_message("copy of %.0f bytes: read %.4f of it, written %.4f (up to the L2's %zu bytes stay there)\n", bytes,
                  read / bytes, written / bytes, device->info.l2_bytes);
    assert_true(fabs(read / bytes - 1) < 0.05);
    assert_true(written / bytes < 1.05 && written >= 0.95 * bytes - (double)device->info.l2_bytes);
    assert_true(fabs(sectors - 16) < 0.1);
    unload(&j);
}

static void flops_counted(void **state)
{
    (void)state;
    need_profiling();
    struct job j;
    double flops = NAN;
    load(&j, "fused");
    j.blocks = 100;
    j.threads = 256;
    allocate(&j.a, 100 * 256 * 4);
    allocate(&j.clean, 2 * device->info.l2_bytes);
    j.args[0] = &j.a.address;
    j.arg_count = 1;
    count(&j, KB_COUNTER_CODE, "flops_f32", &flops);
    assert_true(fabs(flops / (2.0 * 1000 * 100 * 256) - 1) < 0.005);
    unload(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(copy_sampled),
        cmocka_unit_test(copy_counted),
        cmocka_unit_test(flops_counted),
    };
    return cmocka_run_group_tests(tests, open_gpu, NULL);
}
