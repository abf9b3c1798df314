// The overhead of the method against the scripted driver, and controls that outlive the process.
#include "base/file.h"
#include "base/memory.h"
#include "profiles/timing_floor.h"
#include "tests/fake/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static char cache[] = KB_BUILD_DIR "/test-noise-XXXXXX";
static const struct kb_device_info gpu = {.kind = KB_DEVICE_CUDA, .uuid = "GPU-1/2", .driver = "580.1"};

static void an_empty_kernel_is_timed_like_any_other(void **state)
{
    (void)state;
    struct kb_device *device;
    struct kb_module *module;
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_error e = {0};
    double us = 0;
    fake_cuda("cold=1.25;warm=1");
    assert_int_equal(kb_device_open(&request, &device, &e), 0);
    assert_int_equal(device->ops->load(device, "cubin", 5, &module, &e), 0);
    assert_int_equal(kb_timing_overhead(device, module, &us, &e), 0);
    assert_true(fabs(us - 1.25) < 0.001);
    device->ops->unload(device, module);
    device->ops->close(device);
    fake_cuda("function=500"); // a module without it
    assert_int_equal(kb_device_open(&request, &device, &e), 0);
    assert_int_equal(device->ops->load(device, "cubin", 5, &module, &e), 0);
    assert_int_equal(kb_timing_overhead(device, module, &us, &e), -1);
    assert_true(isnan(us) && e.what[0]);
    device->ops->unload(device, module);
    device->ops->close(device);
}

static void controls_are_kept_for_this_gpu_and_driver(void **state)
{
    (void)state;
    struct kb_noise n = {0}, later = {0}, other = {0};
    struct kb_device_info another = gpu;
    assert_true(isnan(kb_noise_known(&n, &gpu)));
    for (int i = 0; i < 5; i++)
        kb_noise_add(&n, &gpu, 0.002);
    kb_noise_add(&n, &gpu, NAN);
    kb_noise_add(&n, &gpu, -1);
    assert_int_equal(n.count, 5);
    double floor = kb_noise_known(&n, &gpu);
    assert_true(fabs(floor - 0.00764) < 1e-4);
    assert_true(fabs(kb_noise_known(&later, &gpu) - floor) < 1e-12); // another process
    strcpy(another.driver, "590.1");
    assert_true(isnan(kb_noise_known(&other, &another)));
}

static void only_the_newest_twenty_count(void **state)
{
    (void)state;
    struct kb_noise n = {0}, later = {0};
    for (int i = 0; i < 50; i++)
        kb_noise_add(&n, &gpu, i < 30 ? 0.01 : 0.001);
    assert_int_equal(n.count, KB_NOISE_CONTROLS);
    assert_true(kb_noise_known(&n, &gpu) < 0.004);
    assert_true(kb_noise_known(&later, &gpu) < 0.004);
    assert_int_equal(later.count, KB_NOISE_CONTROLS);
}

static void a_damaged_file_is_not_believed(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "[]", "{\"spreads\":7}", "{\"spreads\":[\"x\",null,-1,1e999,0.5]}"};
    char *path = kb_format("%s/noise-GPU-1_2-580.1.json", cache);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct kb_noise n = {0};
        assert_int_equal(kb_file_replace(path, texts[i], strlen(texts[i]), NULL), 0);
        assert_true(isnan(kb_noise_known(&n, &gpu)));
        assert_true(n.count <= 1);
    }
    free(path);
}

static void without_a_uuid_nothing_is_kept(void **state)
{
    (void)state;
    struct kb_device_info nameless = {.kind = KB_DEVICE_CUDA};
    struct kb_noise n = {0}, later = {0};
    for (int i = 0; i < 5; i++)
        kb_noise_add(&n, &nameless, 0.001);
    assert_true(kb_noise_known(&n, &nameless) > 0);
    assert_true(isnan(kb_noise_known(&later, &nameless)));
}

static int use_fakes(void **state)
{
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_use_all();
    if (!mkdtemp(cache))
        return -1;
    return setenv("KB_CACHE", cache, 1);
}

static int remove_cache(void **state)
{
    (void)state;
    kb_remove_tree(cache);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_kernel_is_timed_like_any_other),
        cmocka_unit_test(controls_are_kept_for_this_gpu_and_driver),
        cmocka_unit_test(only_the_newest_twenty_count),
        cmocka_unit_test(a_damaged_file_is_not_believed),
        cmocka_unit_test(without_a_uuid_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, use_fakes, remove_cache);
}
