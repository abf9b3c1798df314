// Measured roofs against the scripted driver, and their cache.
#include "base/file.h"
#include "base/memory.h"
#include "profiles/roofline.h"
#include "tests/fake/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <glob.h>
#include <math.h>
#include <string.h>

static char cache[] = KB_BUILD_DIR "/test-roofs-XXXXXX";

struct opened {
    struct kb_device *device;
    struct kb_module *module;
};

static struct opened open_device(const char *script)
{
    struct opened o;
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_error e = {0};
    fake_cuda(script);
    assert_int_equal(kb_device_open(&request, &o.device, &e), 0);
    assert_int_equal(o.device->ops->load(o.device, "cubin", 5, &o.module, &e), 0);
    return o;
}

static void close_device(struct opened *o)
{
    o->device->ops->unload(o->device, o->module);
    o->device->ops->close(o->device);
}

static struct kb_roofs measure(struct opened *o, double footprint)
{
    struct kb_roofs roofs;
    struct kb_error e = {0};
    if (kb_roofs_measure(o->device, o->module, footprint, 100, &roofs, &e))
        fail_msg("%s", kb_error_line(&e));
    return roofs;
}

static char *cache_file(void)
{
    char *pattern = kb_format("%s/roofs-GPU-*.json", cache), *path = NULL;
    glob_t found;
    if (!glob(pattern, 0, NULL, &found) && found.gl_pathc == 1)
        path = kb_strdup(found.gl_pathv[0]);
    globfree(&found);
    free(pattern);
    return path;
}

static void forget(void)
{
    char *path = cache_file();
    if (path)
        remove(path);
    free(path);
}

static void roofs_are_measured_and_kept(void **state)
{
    (void)state;
    forget();
    struct opened o = open_device("paraminfo=801;cold=40;warm=2000;free=8e6");
    struct kb_roofs roofs = measure(&o, 0);
    assert_string_equal(roofs.source, "measured");
    assert_true(fabs(roofs.copy_bytes_per_s - 1e12) < 1e10); // the scripted copy runs at 1 TB/s
    assert_true(roofs.fp32_flops > 0 && roofs.tensor_flops > 0);
    assert_string_equal(roofs.tensor_type, "bf16");
    assert_true(isnan(roofs.footprint_copy_bytes_per_s));
    assert_int_equal(fake_cuda_count("alloc"), fake_cuda_count("free"));
    long launches = fake_cuda_count("launch");
    assert_true(launches > 0);
    struct kb_roofs again = measure(&o, 0);
    assert_string_equal(again.source, "cached");
    assert_string_equal(again.tensor_type, "bf16");
    assert_true(again.copy_bytes_per_s > 0.9e12 && again.fp32_flops > 0);
    assert_int_equal(fake_cuda_count("launch"), launches);
    close_device(&o);
}

static void the_flops_are_those_of_the_kernels(void **state)
{
    (void)state;
    char *text;
    size_t size;
    assert_int_equal(kb_file_read(KB_SOURCE_DIR "/verify/roofs.cuh", 1 << 20, &text, &size, NULL), 0);
    assert_non_null(strstr(text, "KB_ROOF_FP32_CHAINS 8 "));
    assert_non_null(strstr(text, "KB_ROOF_FP32_STEPS 16 "));
    assert_non_null(strstr(text, "KB_ROOF_TENSOR_CHAINS 4 "));
    assert_non_null(strstr(text, "KB_ROOF_TENSOR_FLOPS 4096 "));
    free(text);
    forget();
    // Each launch takes 2001 us; iterations 64 -> 64: 4 SMs x 8 blocks x 256 threads x 64 x 2 x 8 x 16 flops.
    struct opened o = open_device("paraminfo=801;cold=2000;warm=2000;free=8e6");
    struct kb_roofs roofs = measure(&o, 0);
    double us = 2001, expected = 4.0 * 8 * 256 * 64 * 256 / us * 1e6;
    assert_true(fabs(roofs.fp32_flops / expected - 1) < 0.02);
    expected = 4.0 * 8 * 8 * 64 * 4 * 4096 / us * 1e6; // by warps
    assert_true(fabs(roofs.tensor_flops / expected - 1) < 0.02);
    close_device(&o);
}

static void a_footprint_is_added_to_the_cache(void **state)
{
    (void)state;
    forget();
    struct opened o = open_device("paraminfo=801;cold=40;warm=2000;free=80e6");
    measure(&o, 0);
    close_device(&o);
    o = open_device("paraminfo=801;cold=40;warm=30;free=80e6");
    struct kb_roofs roofs = measure(&o, 4e6);
    assert_string_equal(roofs.source, "cached");
    assert_true(roofs.footprint_bytes == 4e6);
    if (!(fabs(roofs.footprint_copy_bytes_per_s / (4e6 / 40e-6) - 1) < 0.05))
        fail_msg("%g", roofs.footprint_copy_bytes_per_s);
    long launches = fake_cuda_count("launch");
    roofs = measure(&o, 4e6);
    assert_true(roofs.footprint_copy_bytes_per_s > 0);
    assert_int_equal(fake_cuda_count("launch"), launches);
    assert_int_equal(fake_cuda_count("alloc") - 1, fake_cuda_count("free")); // all but the flush buffer
    roofs = measure(&o, 1e12); // larger than the large copy: that one stands for it
    assert_true(isnan(roofs.footprint_copy_bytes_per_s));
    assert_int_equal(fake_cuda_count("launch"), launches);
    close_device(&o);
}

static void a_damaged_cache_is_measured_anew(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{\"kbench\":2,\"copy_bytes_per_s\":1}",
                                        "{\"kbench\":1,\"copy_bytes_per_s\":null}",
                                        "{\"kbench\":1,\"copy_bytes_per_s\":-4}"};
    struct opened o = open_device("paraminfo=801;cold=40;warm=2000;free=8e6");
    measure(&o, 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *path = cache_file();
        assert_non_null(path);
        assert_int_equal(kb_file_replace(path, texts[i], strlen(texts[i]), NULL), 0);
        assert_string_equal(measure(&o, 0).source, "measured");
        assert_string_equal(measure(&o, 0).source, "cached");
        free(path);
    }
    close_device(&o);
}

static void before_bf16_there_is_no_tensor_roof(void **state)
{
    (void)state;
    forget();
    struct opened o = open_device("paraminfo=801;cold=40;warm=2000;free=8e6;attr75=7;attr76=5");
    struct kb_roofs roofs = measure(&o, 0);
    assert_true(isnan(roofs.tensor_flops) && roofs.fp32_flops > 0);
    assert_string_equal(roofs.tensor_type, "");
    assert_true(isnan(measure(&o, 0).tensor_flops));
    close_device(&o);
}

static void failures_leave_no_memory_and_no_cache(void **state)
{
    (void)state;
    static const char *const scripts[] = {"alloc:2=2", "free=10", "copy:2=700", "launch:3=719"};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        char *script = kb_format("%s;paraminfo=801;free=8e6", scripts[i]);
        struct kb_roofs roofs;
        struct kb_error e = {0};
        forget();
        struct opened o = open_device(script);
        assert_int_equal(kb_roofs_measure(o.device, o.module, 0, 100, &roofs, &e), -1);
        assert_true(e.what[0]);
        assert_null(cache_file());
        close_device(&o);
        free(script);
    }
}

static int use_fakes(void **state)
{
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_use_all();
    assert_non_null(mkdtemp(cache));
    setenv("KB_CACHE", cache, 1);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    return kb_remove_tree(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roofs_are_measured_and_kept),         cmocka_unit_test(the_flops_are_those_of_the_kernels),
        cmocka_unit_test(a_footprint_is_added_to_the_cache),   cmocka_unit_test(a_damaged_cache_is_measured_anew),
        cmocka_unit_test(before_bf16_there_is_no_tensor_roof), cmocka_unit_test(failures_leave_no_memory_and_no_cache),
    };
    return cmocka_run_group_tests(tests, use_fakes, clean_up);
}
