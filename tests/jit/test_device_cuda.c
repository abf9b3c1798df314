// The CUDA backend against a scripted driver: faults (C1), refusals (C4), opening, memory, the cold cache.
#include "jit/device.h"
#include "tests/fake/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static struct kb_device *open_with(const char *script, const char *kind)
{
    struct kb_device_request request = {.kind = kind};
    struct kb_device *device = NULL;
    struct kb_error e = {0};
    fake_cuda(script);
    if (kb_device_open(&request, &device, &e))
        fail_msg("%s", kb_error_line(&e));
    return device;
}

static struct kb_error open_fails(const char *script, const char *kind, const char *code)
{
    struct kb_device_request request = {.kind = kind};
    struct kb_device *device = NULL;
    struct kb_error e = {0};
    fake_cuda(script);
    assert_int_equal(kb_device_open(&request, &device, &e), -1);
    assert_null(device);
    assert_string_equal(kb_device_failure(), code);
    assert_non_null(strstr(e.remedy, "--device cpu"));
    return e;
}

struct setup {
    struct kb_device *device;
    struct kb_module *module;
    struct kb_kernel *kernel;
};

static struct setup set_up(const char *script)
{
    struct setup s = {.device = open_with(script, "cuda")};
    struct kb_error e = {0};
    assert_int_equal(s.device->ops->load(s.device, "cubin", 5, &s.module, &e), 0);
    assert_int_equal(s.device->ops->symbol(s.module, "k", &s.kernel, &e), 0);
    return s;
}

static void tear_down(struct setup *s)
{
    s->device->ops->unload(s->device, s->module);
    s->device->ops->close(s->device);
}

static int launch(struct setup *s, size_t shared, bool cooperative, struct kb_error *e)
{
    static const uint64_t pointer = 0;
    static const int n = 0;
    const void *values[] = {&pointer, &pointer, &n};
    struct kb_launch_args args = {.grid = {4, 1, 1},
                                  .block = {128, 1, 1},
                                  .shared = shared,
                                  .cooperative = cooperative,
                                  .arg_count = 3,
                                  .args = values};
    return s->device->ops->launch(s->kernel, &args, e);
}

static void a_device_is_described(void **state)
{
    (void)state;
    struct kb_device *device = open_with("", "cuda");
    assert_string_equal(device->info.name, "NVIDIA Fake");
    assert_string_equal(device->info.arch, "sm_90");
    assert_string_equal(device->info.uuid, "GPU-a0030609-0c0f-1215-181b-1e2124272a2d");
    assert_string_equal(device->info.driver_library, FAKE_CUDA);
    assert_int_equal(device->info.sm_count, 4);
    assert_int_equal(device->info.l2_bytes, 65536);
    assert_int_equal(device->info.max_grid[1], 65535);
    assert_true(device->info.cooperative_launch);
    assert_false(device->info.exclusive_process);
    assert_false(device->wants_ptx);
    assert_string_equal(getenv("CUDA_MODULE_LOADING"), "EAGER");
    device->ops->close(device);
}

static void devices_are_chosen_by_number_and_uuid(void **state)
{
    (void)state;
    struct kb_device *device = open_with("gpus=3", "cuda:2");
    assert_int_equal(device->info.index, 2);
    device->ops->close(device);
    device = open_with("gpus=3", "cuda:GPU-A1030609-0c0f"); // a unique beginning, any case
    assert_int_equal(device->info.index, 1);
    device->ops->close(device);
    struct kb_error e = open_fails("gpus=3", "cuda:3", "no_device");
    assert_non_null(strstr(e.what, "3 visible GPUs"));
    e = open_fails("gpus=3", "cuda:GPU-a", "no_device"); // fits all three
    assert_non_null(strstr(e.what, "3 of the 3"));
    open_fails("gpus=3", "cuda:GPU-ffff", "no_device");
    open_fails("", "cuda:one", "internal");
    open_fails("", "cuda:", "internal");
    open_fails("", "cuda:1x", "internal");
}

static void auto_takes_the_cpu_only_without_a_gpu(void **state)
{
    (void)state;
    struct kb_device_request request = {.kind = "auto"};
    struct kb_device *device = NULL;
    struct kb_error e = {0};
    const char *absent[] = {"init=100", "init=34", "gpus=0"};
    for (int i = 0; i < 3; i++) {
        bool no_gpu = false;
        fake_cuda(absent[i]);
        assert_int_equal(kb_device_open_cuda(&request, &device, &no_gpu, &e), -1);
        assert_true(no_gpu);
        assert_string_equal(kb_device_failure(), "no_device");
    }
    open_fails("init=999", "auto", "internal");
    open_fails("init=802", "auto", "busy");
    open_fails("init=803", "auto", "old_driver");
    struct kb_error old = open_fails("driver=11080", "auto", "old_driver");
    assert_non_null(strstr(old.what, "CUDA 11.8, 12.0 or later is needed"));
    struct kb_error prohibited = open_fails("mode=2", "auto", "busy");
    assert_non_null(strstr(prohibited.what, "prohibited"));
    struct kb_error busy = open_fails("context=46", "auto", "busy");
    assert_non_null(strstr(busy.what, "busy or unavailable"));
}

static void hidden_gpus_are_blamed_on_the_variable(void **state)
{
    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "MIG-12345", 1);
    struct kb_error e = open_fails("init=100", "cuda", "no_device");
    assert_non_null(strstr(e.what, "CUDA_VISIBLE_DEVICES=\"MIG-12345\""));
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void a_dying_predecessor_is_waited_for(void **state)
{
    (void)state;
    struct kb_device *device = open_with("mode=3;context:1=46;context:2=46", "auto");
    assert_true(device->info.exclusive_process);
    device->ops->close(device);
    device = open_with("context:1=2", "auto"); // its memory is not free yet
    device->ops->close(device);
}

static void faults_are_classified(void **state)
{
    (void)state;
    static const struct {
        int code, kind;
    } rows[] = {
        {700, KB_FAULT_POISONED}, {702, KB_FAULT_POISONED}, {710, KB_FAULT_POISONED}, {715, KB_FAULT_POISONED},
        {716, KB_FAULT_POISONED}, {717, KB_FAULT_POISONED}, {718, KB_FAULT_POISONED}, {719, KB_FAULT_POISONED},
        {999, KB_FAULT_POISONED}, {46, KB_FAULT_LOST},      {214, KB_FAULT_LOST},     {2, KB_FAULT_MEMORY},
        {1, KB_FAULT_REFUSED},    {701, KB_FAULT_REFUSED},  {720, KB_FAULT_REFUSED},  {801, KB_FAULT_REFUSED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct setup s = set_up("");
        struct kb_error e = {0};
        char script[32];
        snprintf(script, sizeof script, "sync:1=%d", rows[i].code);
        fake_cuda(script);
        assert_int_equal(launch(&s, 0, false, &e), 0);
        assert_int_equal(s.device->ops->sync(s.device, &e), -1);
        assert_int_equal(s.device->fault.kind, rows[i].kind);
        assert_int_equal(s.device->fault.code, rows[i].code);
        assert_true(s.device->fault.name[0]);
        assert_non_null(strstr(e.what, s.device->fault.name));
        tear_down(&s);
    }
}

static void after_an_illegal_address_nobody_else_is_blamed(void **state)
{
    (void)state;
    struct setup s = set_up("sync:1=700");
    struct kb_error e = {0};
    struct kb_buffer buffer;
    size_t free_bytes, total;
    uint8_t byte;
    assert_int_equal(launch(&s, 0, false, &e), 0);
    assert_int_equal(s.device->ops->sync(s.device, &e), -1);
    assert_int_equal(launch(&s, 0, false, &e), -1);
    assert_non_null(strstr(e.what, "lost before, by CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_int_equal(s.device->ops->alloc(s.device, &(struct kb_buffer_spec){.bytes = 4}, &buffer, &e), -1);
    assert_int_equal(s.device->ops->memory(s.device, &free_bytes, &total, &e), -1);
    assert_int_equal(s.device->ops->to_host(s.device, &byte, 0, 1, &e), -1);
    assert_int_equal(s.device->ops->flush(s.device, &e), -1);
    assert_int_equal(s.device->fault.kind, KB_FAULT_POISONED);
    assert_int_equal(fake_cuda_count("launch"), 1);
    tear_down(&s);
    assert_int_equal(fake_cuda_count("unload"), 0); // nothing is asked of a lost context
}

static void a_refused_launch_leaves_the_context_alive(void **state)
{
    (void)state;
    struct setup s = set_up("launch:1=701");
    struct kb_error e = {0};
    assert_int_equal(launch(&s, 0, false, &e), -1);
    assert_int_equal(s.device->fault.kind, KB_FAULT_REFUSED);
    assert_non_null(strstr(e.what, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"));
    assert_int_equal(launch(&s, 0, false, &e), 0);
    assert_int_equal(launch(&s, 1 << 20, false, &e), -1); // by our own check, the driver is not asked
    assert_int_equal(s.device->fault.kind, KB_FAULT_REFUSED);
    assert_int_equal(fake_cuda_count("launch"), 1);
    assert_int_equal(s.device->ops->sync(s.device, &e), 0);
    tear_down(&s);
}

static void shared_memory_is_opted_in_and_never_lowered(void **state)
{
    (void)state;
    struct setup s = set_up("static=4");
    struct kb_error e = {0};
    assert_int_equal(launch(&s, 49148, false, &e), 0); // exactly the default limit
    assert_int_equal(fake_cuda_count("optin"), 0);
    assert_int_equal(launch(&s, 49152, false, &e), 0); // 48 KiB and 4 static bytes: above it
    assert_int_equal(fake_cuda_count("optin"), 49152);
    assert_int_equal(launch(&s, 100000, false, &e), 0);
    assert_int_equal(launch(&s, 60000, false, &e), 0);
    assert_int_equal(launch(&s, 100000, false, &e), 0);
    assert_int_equal(fake_cuda_count("optin"), 100000);
    tear_down(&s);
}

static void cooperative_grids_must_be_resident(void **state)
{
    (void)state;
    struct setup s = set_up("sms=2;occupancy_blocks=2");
    struct kb_error e = {0};
    assert_int_equal(launch(&s, 0, true, &e), 0);
    tear_down(&s);
    s = set_up("sms=2;occupancy_blocks=1");
    assert_int_equal(launch(&s, 0, true, &e), -1);
    assert_non_null(strstr(e.what, "cooperative grid of 4 blocks > 2"));
    assert_int_equal(fake_cuda_count("launch"), 0);
    tear_down(&s);
}

static void parameters_come_from_the_kernel(void **state)
{
    (void)state;
    struct setup s = set_up("params=8,8,4;regs=40");
    struct kb_kernel_info info;
    s.device->ops->kernel_info(s.kernel, &info);
    assert_int_equal(info.param_count, 3);
    assert_int_equal(info.param_bytes[2], 4);
    assert_int_equal(info.param_offset[2], 16);
    assert_int_equal(info.registers, 40);
    struct kb_kernel *again, *none;
    struct kb_error e = {0};
    assert_int_equal(s.device->ops->symbol(s.module, "k", &again, &e), 0);
    assert_ptr_equal(again, s.kernel);
    assert_int_equal(s.device->ops->symbol(s.module, "nosuch", &none, &e), -1);
    assert_non_null(strstr(e.what, "no kernel \"nosuch\""));
    assert_int_equal(s.device->fault.kind, KB_FAULT_REFUSED);
    tear_down(&s);
    s = set_up("paraminfo=801");
    s.device->ops->kernel_info(s.kernel, &info);
    assert_int_equal(info.param_count, -1); // unknown, not none
    assert_int_equal(launch(&s, 0, false, &e), 0);
    tear_down(&s);
}

static void an_empty_cubin_is_no_module(void **state)
{
    (void)state;
    struct kb_device *device = open_with("", "cuda");
    struct kb_module *module;
    struct kb_error e = {0};
    assert_int_equal(device->ops->load(device, "", 0, &module, &e), -1);
    assert_non_null(strstr(e.what, "empty"));
    assert_int_equal(fake_cuda_count("load"), 0);
    device->ops->close(device);
}

static void buffers_lie_between_their_guards(void **state)
{
    (void)state;
    struct kb_device *device = open_with("", "cuda");
    struct kb_error e = {0};
    static const struct {
        size_t bytes, guard, misalign;
    } rows[] = {{1000, 0, 0}, {1000, 4096, 0}, {17, 100, 4}, {0, 64, 0}, {5, 1, 255}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kb_buffer_spec spec = {
            .bytes = rows[i].bytes, .guard_bytes = rows[i].guard, .misalign = rows[i].misalign};
        struct kb_buffer b;
        assert_int_equal(device->ops->alloc(device, &spec, &b, &e), 0);
        assert_int_equal(b.address % 256, rows[i].misalign);
        assert_true(b.address - b.guard_bytes >= b.base);
        assert_true(b.address + b.bytes + b.guard_bytes <= b.base + b.total);
        char text[1000], back[1000];
        memset(text, 'x', sizeof text);
        size_t n = b.bytes < sizeof text ? b.bytes : sizeof text;
        assert_int_equal(device->ops->to_device(device, b.address, text, n, &e), 0);
        assert_int_equal(device->ops->to_host(device, back, b.address, n, &e), 0);
        assert_memory_equal(text, back, n);
        device->ops->free(device, &b);
        assert_int_equal(b.total, 0);
    }
    assert_int_equal(fake_cuda_count("alloc"), fake_cuda_count("free"));
    device->ops->close(device);
}

static void large_buffers_lie_apart(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "attr102=1", "", "attr102=1;reserve=801", "attr102=1;create=801", "attr102=1;map=801", "attr102=1;access=801"};
    struct kb_buffer_spec spec = {.bytes = (5 << 20) + 1234, .guard_bytes = 4096};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        struct kb_device *device = open_with(scripts[i], "cuda");
        struct kb_error e = {0};
        struct kb_buffer b, small;
        char byte = 7;
        assert_int_equal(device->ops->alloc(device, &spec, &b, &e), 0);
        assert_int_equal(device->ops->alloc(device, &(struct kb_buffer_spec){.bytes = 5000}, &small, &e), 0);
        assert_int_equal(b.apart, i == 0); // where that is not possible, as ever
        assert_false(small.apart);
        assert_true(b.total >= spec.bytes + 2 * spec.guard_bytes && b.address == b.base + 4096);
        assert_int_equal(b.apart ? b.total % (2 << 20) : 0, 0); // up to the end of its last page it is guard
        assert_int_equal(device->ops->to_device(device, b.base + b.total - 1, &byte, 1, &e), 0);
        device->ops->free(device, &b);
        device->ops->free(device, &small);
        assert_int_equal(fake_cuda_count("map"), fake_cuda_count("unmap"));
        assert_int_equal(fake_cuda_count("alloc"), i ? 2 : 1);
        assert_int_equal(fake_cuda_count("alloc"), fake_cuda_count("free"));
        device->ops->close(device);
    }
}

static void out_of_memory_is_its_own_fault(void **state)
{
    (void)state;
    struct kb_device *device = open_with("alloc:1=2", "cuda");
    struct kb_error e = {0};
    struct kb_buffer b;
    struct kb_buffer_spec spec = {.bytes = 64, .name = "x"};
    assert_int_equal(device->ops->alloc(device, &spec, &b, &e), -1);
    assert_int_equal(device->fault.kind, KB_FAULT_MEMORY);
    assert_non_null(strstr(e.what, "64 bytes for x"));
    spec.bytes = (size_t)-64;
    spec.guard_bytes = 4096;
    assert_int_equal(device->ops->alloc(device, &spec, &b, &e), -1);
    spec.bytes = 64;
    assert_int_equal(device->ops->alloc(device, &spec, &b, &e), 0);
    device->ops->free(device, &b);
    device->ops->close(device);
}

static void the_flush_takes_its_size_from_the_cache_and_allocates_once(void **state)
{
    (void)state;
    struct kb_device *device = open_with("", "cuda");
    struct kb_error e = {0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(device->ops->flush(device, &e), 0);
    assert_int_equal(fake_cuda_count("alloc"), 1);
    assert_int_equal(fake_cuda_count("memset"), 5);
    assert_int_equal(fake_cuda_count("reset"), 5);
    device->ops->close(device);
    assert_int_equal(fake_cuda_count("free"), 1);
    device = open_with("reset=801", "cuda"); // a GPU that has no such thing is flushed all the same
    for (int i = 0; i < 2; i++)
        assert_int_equal(device->ops->flush(device, &e), 0);
    assert_int_equal(fake_cuda_count("memset"), 2);
    device->ops->close(device);
}

static void modules_do_not_pile_up(void **state)
{
    (void)state;
    struct setup s = set_up("");
    struct kb_error e = {0};
    for (int i = 0; i < 100; i++) {
        struct kb_module *module;
        struct kb_kernel *kernel;
        assert_int_equal(s.device->ops->load(s.device, "cubin", 5, &module, &e), 0);
        assert_int_equal(s.device->ops->symbol(module, "k", &kernel, &e), 0);
        s.device->ops->unload(s.device, module);
    }
    tear_down(&s);
    assert_int_equal(fake_cuda_count("load"), fake_cuda_count("unload"));
}

static void the_memory_of_a_module_is_found_by_its_names(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.global .align 4 .u32 calls;\n.const .align 4 .b8 table[40];\n"
        ".visible .entry k()\n{\n\tld.global.u32 %r1, [calls];\n\tcvta.const.u64 %rd1, table;\n}\n";
    struct setup s = set_up("variable=40");
    struct kb_error e = {0};
    struct kb_module *module;
    int count;
    bool whole;
    assert_int_equal(s.device->ops->load(s.device, text, sizeof text, &module, &e), 0);
    const struct kb_module_memory *memory = s.device->ops->module_memory(module, &count, &whole);
    assert_int_equal(count, 2); // in one place, as the stand-in has it, but of two kinds
    assert_true(whole && memory[0].bytes == 40 && memory[0].constant != memory[1].constant);
    s.device->ops->unload(s.device, module);
    tear_down(&s);
    s = set_up("global=500"); // one that the driver does not find by its name
    assert_int_equal(s.device->ops->load(s.device, text, sizeof text, &module, &e), 0);
    s.device->ops->module_memory(module, &count, &whole);
    assert_true(!whole && !count);
    s.device->ops->unload(s.device, module);
    tear_down(&s);
}

static int use_fakes(void **state)
{
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_use_all();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_is_described),
        cmocka_unit_test(devices_are_chosen_by_number_and_uuid),
        cmocka_unit_test(auto_takes_the_cpu_only_without_a_gpu),
        cmocka_unit_test(hidden_gpus_are_blamed_on_the_variable),
        cmocka_unit_test(a_dying_predecessor_is_waited_for),
        cmocka_unit_test(faults_are_classified),
        cmocka_unit_test(after_an_illegal_address_nobody_else_is_blamed),
        cmocka_unit_test(a_refused_launch_leaves_the_context_alive),
        cmocka_unit_test(shared_memory_is_opted_in_and_never_lowered),
        cmocka_unit_test(cooperative_grids_must_be_resident),
        cmocka_unit_test(parameters_come_from_the_kernel),
        cmocka_unit_test(an_empty_cubin_is_no_module),
        cmocka_unit_test(buffers_lie_between_their_guards),
        cmocka_unit_test(large_buffers_lie_apart),
        cmocka_unit_test(out_of_memory_is_its_own_fault),
        cmocka_unit_test(the_flush_takes_its_size_from_the_cache_and_allocates_once),
        cmocka_unit_test(modules_do_not_pile_up),
        cmocka_unit_test(the_memory_of_a_module_is_found_by_its_names),
    };
    return cmocka_run_group_tests(tests, use_fakes, NULL);
}
