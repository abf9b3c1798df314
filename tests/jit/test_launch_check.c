// C4: what a launch may not be, each refusal in one sentence with its numbers. C5: a changed signature.
#include "jit/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

struct kb_kernel {
    struct kb_kernel_info info;
    int blocks;
};

static void kernel_info(const struct kb_kernel *kernel, struct kb_kernel_info *info)
{
    *info = kernel->info;
}

static int occupancy(struct kb_kernel *kernel, int threads, size_t shared, int *blocks, struct kb_error *e)
{
    (void)threads, (void)shared;
    *blocks = kernel->blocks;
    return kernel->blocks < 0 ? kb_fail(e, NULL, NULL, "no occupancy") : 0;
}

static const struct kb_device_ops ops = {.kernel_info = kernel_info, .occupancy = occupancy};
static const struct kb_device_info h200 = {.name = "H200",
                                           .arch = "sm_90",
                                           .sm_count = 132,
                                           .registers_per_block = 65536,
                                           .max_threads_per_block = 1024,
                                           .max_grid = {2147483647, 65535, 65535},
                                           .max_block = {1024, 1024, 64},
                                           .shared_per_block = 49152,
                                           .shared_per_block_optin = 232448,
                                           .cooperative_launch = true};

struct row {
    const char *what; // part of the sentence; NULL: allowed
    int64_t grid[3], block[3];
    size_t dynamic, fixed;
    int registers, max_threads;
    bool cooperative;
};

static void check(const struct row *row, const struct kb_device_info *info)
{
    struct kb_kernel kernel = {.info = {.name = "k",
                                        .registers = row->registers,
                                        .max_threads = row->max_threads,
                                        .static_shared = row->fixed,
                                        .param_count = -1},
                               .blocks = 4};
    struct kb_launch_args args = {.shared = row->dynamic, .cooperative = row->cooperative};
    struct kb_error e = {0};
    memcpy(args.grid, row->grid, sizeof args.grid);
    memcpy(args.block, row->block, sizeof args.block);
    int status = kb_launch_check(&kernel, &ops, info, &args, &e);
    if (!row->what) {
        if (status)
            fail_msg("refused: %s", e.what);
        return;
    }
    assert_int_equal(status, -1);
    if (!strstr(e.what, row->what))
        fail_msg("\"%s\" is not in \"%s\"", row->what, e.what);
    assert_string_equal(e.on, "k");
}

static void limits_by_the_numbers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {NULL, {1, 1, 1}, {1, 1, 1}, 0, 0, 32, 1024, false},
        {NULL, {2147483647, 65535, 65535}, {1024, 1, 1}, 0, 0, 32, 1024, false},
        {"grid y: 65,536 > 65,535", {1, 65536, 1}, {32, 1, 1}, 0, 0, 32, 1024, false},
        {"grid z: 65,536 > 65,535", {1, 1, 65536}, {32, 1, 1}, 0, 0, 32, 1024, false},
        {"grid x: 2,147,483,648 > 2,147,483,647", {2147483648, 1, 1}, {32, 1, 1}, 0, 0, 32, 1024, false},
        {"grid x is 0", {0, 1, 1}, {32, 1, 1}, 0, 0, 32, 1024, false},
        {"grid z is -7", {1, 1, -7}, {32, 1, 1}, 0, 0, 32, 1024, false},
        {"block y is 0", {1, 1, 1}, {32, 0, 1}, 0, 0, 32, 1024, false},
        {"block x: 1,025 > 1,024", {1, 1, 1}, {1025, 1, 1}, 0, 0, 32, 1024, false},
        {"block z: 65 > 64", {1, 1, 1}, {1, 1, 65}, 0, 0, 32, 1024, false},
        {"block of 32 x 33 x 1 = 1,056 threads > 1,024", {1, 1, 1}, {32, 33, 1}, 0, 0, 32, 1024, false},
        {"255 registers x 512 threads = 130,560 > 65,536", {1, 1, 1}, {512, 1, 1}, 0, 0, 255, 256, false},
        {NULL, {1, 1, 1}, {256, 1, 1}, 0, 0, 255, 256, false},
        // 65 x 1000 would fit, but registers are handed out to whole warps in units.
        {"65 registers (72 as allocated) x 1,024 threads (whole warps) = 73,728 > 65,536",
         {1, 1, 1},
         {1000, 1, 1},
         0,
         0,
         65,
         1024,
         false},
        {NULL, {1, 1, 1}, {1024, 1, 1}, 0, 0, 64, 1024, false},
        {"block of 512 threads > 128", {1, 1, 1}, {512, 1, 1}, 0, 0, 32, 128, false},
        {NULL, {1, 1, 1}, {32, 1, 1}, 49152, 4, 32, 1024, false}, // above the default limit: opt-in
        {NULL, {1, 1, 1}, {32, 1, 1}, 232444, 4, 32, 1024, false},
        {"4 static + 232,445 dynamic = 232,449 bytes > 232,448", {1, 1, 1}, {32, 1, 1}, 232445, 4, 32, 1024, false},
        {"shared memory", {1, 1, 1}, {32, 1, 1}, (size_t)-2, 4, 32, 1024, false}, // no wrap-around
        {NULL, {528, 1, 1}, {32, 1, 1}, 0, 0, 32, 1024, true},
        {"cooperative grid of 529 blocks > 528 that fit at once (4 on each of 132 multiprocessors)",
         {529, 1, 1},
         {32, 1, 1},
         0,
         0,
         32,
         1024,
         true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i], &h200);
}

static void a_small_device_has_small_limits(void **state)
{
    (void)state;
    struct kb_device_info t4 = h200;
    strcpy(t4.arch, "sm_75");
    t4.shared_per_block_optin = 65536;
    check(
        &(struct row){
            "= 102,400 bytes > 65,536, the most a block of sm_75", {1, 1, 1}, {32, 1, 1}, 102400, 0, 32, 1024, false},
        &t4);
    t4.shared_per_block_optin = 0; // unknown: no opting in
    check(&(struct row){"= 49,156 bytes > 49,152", {1, 1, 1}, {32, 1, 1}, 49152, 4, 32, 1024, false}, &t4);
    t4.cooperative_launch = false;
    check(&(struct row){"no cooperative launch", {1, 1, 1}, {32, 1, 1}, 0, 0, 32, 1024, true}, &t4);
}

static void unknown_limits_refuse_only_what_no_device_takes(void **state)
{
    (void)state;
    struct kb_device_info none = {0};
    check(&(struct row){NULL, {1, 1, 1}, {1024, 1, 1}, 1 << 20, 0, 255, 0, false}, &none);
    check(&(struct row){"block x: 1,025 > 1,024", {1, 1, 1}, {1025, 1, 1}, 0, 0, 0, 0, false}, &none);
    check(&(struct row){"grid y: 65,536", {1, 65536, 1}, {1, 1, 1}, 0, 0, 0, 0, false}, &none);
}

static void a_changed_signature_is_named(void **state)
{
    (void)state;
    struct kb_kernel kernel = {.info = {.name = "k", .param_count = 3, .param_bytes = {8, 8, 4}}};
    struct kb_launch_args args = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .arg_count = 2};
    struct kb_error e = {0};
    assert_int_equal(kb_launch_check(&kernel, &ops, &h200, &args, &e), -1);
    assert_string_equal(e.what, "kernel wants 3 parameters (8, 8, 4 bytes), set-up gives 2");
    args.arg_count = 3;
    assert_int_equal(kb_launch_check(&kernel, &ops, &h200, &args, &e), 0);
    kernel.info.param_count = 0;
    assert_int_equal(kb_launch_check(&kernel, &ops, &h200, &args, &e), -1);
    assert_string_equal(e.what, "kernel wants 0 parameters (no bytes), set-up gives 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_by_the_numbers),
        cmocka_unit_test(a_small_device_has_small_limits),
        cmocka_unit_test(unknown_limits_refuse_only_what_no_device_takes),
        cmocka_unit_test(a_changed_signature_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
