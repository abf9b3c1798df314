// What a comparison tells: the same machine code is SAME CODE and a control of the noise, other code gets a verdict.
// On the scripted driver, with times from here; kernels are compiled, so that the code is real.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "speed/speed.h"
#include "tests/fake/open.h"
#include "worker/run_time_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <math.h>

enum { ROUNDS = 100 };
static char cache[] = KB_BUILD_DIR "/test-versus-XXXXXX";
static struct speed s;
static bool ready;

static void take_in(const char *key, const char *text)
{
    struct kb_compiled c;
    speed_compile(&s, s.variant, text, &c);
    speed_check(&s, &c, key);
    kb_compiled_free(&c);
}

static struct run_target target_of(const char *key)
{
    struct kb_error e = {0};
    struct kb_data *d = &s.worker.data;
    struct run_target t = {
        .worker = &s.worker, .version = run_find(&s.worker, key), .data = &d->cases[kb_bench_headline(d->bench)]};
    assert_non_null(t.version);
    if (kb_plan_make(d->bench, t.data->index, false, t.version->variant, &t.plan, &e))
        fail_msg("%s", kb_error_line(&e));
    return t;
}

static void drop(struct run_target *a, struct run_target *b)
{
    kb_plan_free(&a->plan);
    kb_plan_free(&b->plan);
}

// Versions a and b of these sources; drop() them.
static void build(const char *text_a, const char *text_b, struct run_target *a, struct run_target *b)
{
    take_in("a", text_a);
    take_in("b", text_b);
    *a = target_of("a");
    *b = target_of("b");
}

static char *edited(const char *old, const char *new)
{
    const char *at = strstr(s.text, old);
    assert_non_null(at);
    return kb_format("%.*s%s%s", (int)(at - s.text), s.text, new, at + strlen(old));
}

static void times(struct kb_timing_result *r, double us)
{
    *r = (struct kb_timing_result){.has_cold = true, .call_us = NAN, .events_us = NAN, .clock_mhz = 1755, .batch = 1};
    r->cold_samples = kb_alloc(ROUNDS * sizeof *r->cold_samples);
    r->cold_count = ROUNDS;
    for (int i = 0; i < ROUNDS; i++)
        r->cold_samples[i] = us * (1 + 0.0005 * (i * 7 % 11 - 5));
    kb_summarize(r->cold_samples, ROUNDS, &r->cold);
}

// The `versus` of two versions with these times, as it leaves the worker.
static cJSON *tell(const struct run_target *a, double us_a, const struct run_target *b, double us_b, bool settled)
{
    struct kb_frame request = {.head = kb_frame_head("time", 7)};
    struct run_time_job job = {.w = &s.worker, .f = &request, .settled = settled, .others = settled ? 2 : -1};
    struct run_target targets[] = {*a, *b};
    struct kb_timing_result results[2];
    times(&results[0], us_a);
    times(&results[1], us_b);
    char path[] = KB_BUILD_DIR "/test-frames-XXXXXX", *text;
    size_t size;
    int file = mkstemp(path);
    assert_true(file >= 0 && dup2(file, 3) == 3);
    run_time_tell(&job, targets, results, 2);
    assert_int_equal(kb_file_read(path, 1 << 20, &text, &size, NULL), 0);
    close(file);
    remove(path);
    char *last = strstr(text, "\"versus\"");
    assert_non_null(last);
    while (last > text && last[-1] != '\n')
        last--;
    cJSON *event = cJSON_Parse(last);
    assert_non_null(event);
    for (int i = 0; i < 2; i++)
        kb_timing_result_free(&results[i]);
    kb_frame_free(&request);
    free(text);
    return event;
}

static void assert_says(cJSON *event, const char *verdict, bool same_code)
{
    assert_string_equal(kb_json_text(event, "verdict", ""), verdict);
    assert_int_equal(cJSON_IsTrue(kb_json_get(event, "same_code")), same_code);
    assert_string_equal(kb_json_text(event, "version", ""), "a");
    assert_true(kb_json_get(event, "against") != NULL);
    cJSON_Delete(event);
}

static void a_changed_comment_is_the_same_code(void **state)
{
    (void)state;
    struct run_target a, b;
    if (!ready)
        skip();
    char *commented = kb_format("// another\n\n\n%s", s.text);
    build(s.text, commented, &a, &b);
    assert_true(run_same_code(&a, &b));
    assert_says(tell(&a, 40, &b, 40, false), "SAME CODE", true);
    assert_says(tell(&a, 30, &b, 40, false), "SAME CODE", true); // whatever was measured
    assert_int_equal(s.worker.noise.count, 0);                   // a first look is no control
    assert_says(tell(&a, 30, &b, 40, true), "SAME CODE", true);
    assert_int_equal(s.worker.noise.count, 1);
    free(commented);
    drop(&a, &b);
}

static void another_constant_is_other_code(void **state)
{
    (void)state;
    struct run_target a, b;
    if (!ready)
        skip();
    char *other = edited("= 1.44269504088896f", "= 1.5f");
    build(s.text, other, &a, &b);
    assert_false(run_same_code(&a, &b));
    assert_says(tell(&a, 40, &b, 42, false), "FASTER", false);
    assert_says(tell(&a, 42, &b, 40, true), "SLOWER", false);
    assert_says(tell(&a, 40, &b, 40, true), "SAME", false);
    cJSON *event = tell(&a, 40, &b, 40, true);
    assert_int_equal(kb_json_int(event, "others", 0), 2);
    cJSON_Delete(event);
    free(other);
    drop(&a, &b);
}

// The code is the same, byte for byte; what it reads from the constants is not.
static void another_table_is_other_code(void **state)
{
    (void)state;
    struct run_target a, b;
    if (!ready)
        skip();
    char *tables[2];
    for (int i = 0; i < 2; i++) {
        const char *use = "return exp2f(";
        char *declared = kb_format("__constant__ float table[2] = {%d.0f, 3.0f};\n%s", i + 1, s.text);
        char *at = strstr(declared, use);
        assert_non_null(at);
        tables[i] =
            kb_format("%.*sreturn table[threadIdx.x & 1] * exp2f(%s", (int)(at - declared), declared, at + strlen(use));
        free(declared);
    }
    build(tables[0], tables[1], &a, &b);
    assert_false(run_same_code(&a, &b));
    drop(&a, &b);
    build(tables[0], tables[0], &a, &b);
    assert_true(run_same_code(&a, &b));
    drop(&a, &b);
    for (int i = 0; i < 2; i++)
        free(tables[i]);
}

static void another_launch_of_the_same_kernel_is_not_the_same(void **state)
{
    (void)state;
    struct run_target a, b;
    if (!ready)
        skip();
    build(s.text, s.text, &a, &b);
    assert_true(run_same_code(&a, &b));
    b.plan.launches[0].dims.block[0] /= 2;
    assert_false(run_same_code(&a, &b));
    b.plan.launches[0].dims.block[0] *= 2;
    b.plan.launches[0].dims.shared += 1024;
    assert_false(run_same_code(&a, &b));
    drop(&a, &b);
}

static void controls_make_a_floor_that_verdicts_use(void **state)
{
    (void)state;
    struct run_target a, b;
    if (!ready)
        skip();
    build(s.text, s.text, &a, &b);
    s.worker.noise = (struct kb_noise){.read = true};
    cJSON *event = tell(&a, 40, &b, 40, true);
    assert_true(cJSON_IsNull(kb_json_get(event, "noise")));
    assert_non_null(strstr(kb_json_text(event, "noise_reason", ""), "fewer than 5"));
    cJSON_Delete(event);
    for (int i = 0; i < 8; i++)
        cJSON_Delete(tell(&a, 40.4, &b, 40, true)); // 1% off, all the time
    event = tell(&a, 40.4, &b, 40, true);
    double noise = kb_json_number(event, "noise", NAN);
    cJSON_Delete(event);
    assert_true(noise > 0.03 && noise < 0.05);
    char *other = edited("= 1.44269504088896f", "= 1.5f");
    drop(&a, &b);
    build(s.text, other, &a, &b);
    assert_says(tell(&a, 40, &b, 40.8, true), "UNSURE", false); // 2% say nothing on such a machine
    assert_says(tell(&a, 40, &b, 43, true), "FASTER", false);
    free(other);
    drop(&a, &b);
}

static int open_all(void **state)
{
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_use_all();
    if (!mkdtemp(cache) || setenv("KB_CACHE", cache, 1))
        return -1;
    ready = kb_toolkit_nvrtc(kb_toolkit_get()) != NULL;
    if (!ready)
        print_message("no compiler to test with\n");
    fake_cuda("paraminfo=801;free=8e9"); // a driver that does not know parameters takes any
    if (ready)
        speed_open(&s, "test_versus", KB_SOURCE_DIR "/kernels/softmax", "tuned");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    kb_remove_tree(cache);
    if (ready)
        speed_close(&s);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_comment_is_the_same_code),
        cmocka_unit_test(another_constant_is_other_code),
        cmocka_unit_test(another_table_is_other_code),
        cmocka_unit_test(another_launch_of_the_same_kernel_is_not_the_same),
        cmocka_unit_test(controls_make_a_floor_that_verdicts_use),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
