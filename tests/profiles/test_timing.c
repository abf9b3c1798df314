// Timing against a scripted driver and CUPTI: E1 (cold and warm), E2 (short kernels, budgets), F1 (refusals), F3
// (losses).
#include "base/clock.h"
#include "profiles/cupti_activity.h"
#include "profiles/nvml.h"
#include "profiles/timing.h"
#include "tests/fake/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

struct version {
    struct kb_device *device;
    struct kb_kernel *kernel;
    int launches, runs, fail_at;
    char order[4096]; // of all versions, one letter a run
    struct version *log;
    char letter;
    int sets[4];
    enum kb_timing_before before; // of the next run
};

static struct kb_device *device;
static struct kb_module *module;
static struct kb_kernel *kernel;
static struct kb_buffer buffer;

static void open_device(const char *cuda, const char *cupti)
{
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_error e = {0};
    fake_cuda(cuda);
    fake_cupti(cupti);
    kb_cupti_retry();
    assert_int_equal(kb_device_open(&request, &device, &e), 0);
    assert_int_equal(device->ops->load(device, "cubin", 5, &module, &e), 0);
    assert_int_equal(device->ops->symbol(module, "k", &kernel, &e), 0);
}

static void close_device(void)
{
    device->ops->unload(device, module);
    device->ops->close(device);
}

static int run_version(void *context, int set, struct kb_error *e)
{
    struct version *v = context;
    const uint64_t pointer = 0;
    const int n = 0;
    const void *values[] = {&pointer, &pointer, &n};
    struct kb_launch_args args = {.grid = {4, 1, 1}, .block = {128, 1, 1}, .arg_count = 3, .args = values};
    size_t used = strlen(v->log->order);
    if (used + 1 < sizeof v->log->order)
        v->log->order[used] = v->letter;
    v->sets[set % 4]++;
    if (++v->runs == v->fail_at)
        return kb_fail(e, NULL, NULL, "the run failed");
    for (int i = 0; i < v->launches; i++)
        if (v->device->ops->launch(v->kernel, &args, e))
            return -1;
    return 0;
}

static struct version version(char letter, int launches)
{
    return (struct version){.device = device, .kernel = kernel, .launches = launches, .letter = letter};
}

static struct kb_timing_result time_one(struct version *v, const struct kb_timing_options *options)
{
    struct kb_timing_target target = {run_version, v, v->launches};
    struct kb_timing_result result;
    struct kb_error e = {0};
    v->log = v;
    if (kb_timing_run(device, &target, 1, options, &result, &e))
        fail_msg("%s", kb_error_line(&e));
    return result;
}

// Far more than it takes: without noise the measurement settles at once, on however busy a machine.
static const struct kb_timing_options both = {.budget_ms = 60000, .sets = 1, .warm = true, .cold = true};

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", a, tolerance, b);
}

static void cold_and_warm_are_two_numbers(void **state)
{
    (void)state;
    open_device("cold=40;warm=30", "");
    struct version v = version('a', 1);
    struct kb_timing_result r = time_one(&v, &both);
    assert_string_equal(r.source, "cupti");
    assert_string_equal(r.source_reason, "");
    assert_true(r.has_cold && r.has_warm);
    assert_near(r.cold.median, 40, 0.01); // neither the flush (40 us) nor the gap (1 us) is in it
    assert_near(r.warm.median, 30, 0.01);
    assert_near(r.launch_us[0], 40, 0.01);
    assert_true(isnan(r.launch_us[1]));
    assert_near(r.events_us, 31, 1); // events see the gaps too
    assert_false(r.events_disagree);
    assert_true(r.call_us > 0);
    assert_int_equal(r.batch, 1);
    assert_int_equal(r.lost_records, 0);
    assert_true(r.cold.samples >= 10 && r.warm.samples >= 10);
    kb_timing_result_free(&r);
    assert_null(r.cold_samples);
    close_device();
}

static void records_that_events_contradict_are_said(void **state)
{
    (void)state;
    open_device("cold=90;warm=80", "stretch=40"); // records say 120
    struct version v = version('a', 1);
    struct kb_timing_result r = time_one(&v, &both);
    assert_near(r.warm.median, 120, 0.01);
    assert_near(r.events_us, 81, 1);
    assert_true(r.events_disagree);
    kb_timing_result_free(&r);
    close_device();
}

static void events_stand_in_and_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *script, *words, *remedy;
    } rows[] = {
        {"subscribe=39", "another NVIDIA tool observes this process", "close the profiler"},
        {"subscribe=8", "out of memory", ""},
        {"enable=35", "no permission", "NVreg_RestrictProfilingToAdminUsers=0"},
        {"register=999", "CUPTI error 999", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_device("cold=400;warm=300", rows[i].script);
        struct version v = version('a', 1);
        struct kb_timing_result r = time_one(&v, &both);
        assert_string_equal(r.source, "events");
        assert_non_null(strstr(r.source_reason, rows[i].words));
        assert_non_null(strstr(r.source_reason, rows[i].remedy));
        assert_near(r.cold.median, 401, 0.1); // the flush ends before the window opens
        assert_near(r.warm.median, 301, 0.1);
        assert_near(r.launch_us[0], 401, 0.1);
        kb_timing_result_free(&r);
        close_device();
    }
}

static void a_refusal_is_tried_again_only_on_request(void **state)
{
    (void)state;
    struct kb_error e = {0};
    open_device("", "subscribe:1=39;subscribe:2=8");
    assert_int_equal(kb_cupti_open(&e), -1);
    assert_int_equal(kb_cupti_open(&e), -1); // remembered: CUPTI was asked once
    assert_non_null(strstr(e.what, "39"));
    kb_cupti_retry();
    assert_int_equal(kb_cupti_open(&e), -1);
    assert_non_null(strstr(e.what, "memory"));
    kb_cupti_retry();
    assert_int_equal(kb_cupti_open(&e), 0);
    kb_cupti_retry(); // nothing to try again
    assert_int_equal(kb_cupti_open(&e), 0);
    close_device();
}

static void lost_and_impossible_records_are_counted(void **state)
{
    (void)state;
    static const char *const scripts[] = {"lose=5", "end0=5", "start0=5", "backwards=5", "early=5", "lose=5;shuffle=1"};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        open_device("cold=40;warm=30;noise=0.2", scripts[i]);
        struct version v = version('a', 1);
        struct kb_timing_options options = {.budget_ms = 60000, .min_samples = 20, .width = 1, .sets = 1, .cold = true};
        struct kb_timing_result r = time_one(&v, &options);
        assert_string_equal(r.source, "cupti");
        assert_true(r.lost_records > 0);
        assert_int_equal(r.cold.samples + r.lost_records, r.cold_count);
        assert_near(r.cold.median, 40, 4.1);
        assert_true(r.cold.min >= 36 - 0.01 && r.cold.max <= 44.01); // none got the time of another
        int gaps = 0;
        for (int s = 0; s < r.cold_count; s++)
            gaps += isnan(r.cold_samples[s]);
        assert_int_equal(gaps, r.lost_records);
        kb_timing_result_free(&r);
        close_device();
    }
}

static void fifty_launches_three_lost(void **state)
{
    (void)state;
    struct kb_kernel_span spans[50];
    struct kb_error e = {0};
    open_device("", "");
    assert_int_equal(kb_cupti_open(&e), 0);
    fake_cupti("lose=16"); // 16, 32, 48
    assert_int_equal(kb_cupti_begin(&e), 0);
    struct version v = version('a', 50);
    v.log = &v;
    assert_int_equal(run_version(&v, 0, &e), 0);
    assert_int_equal(kb_cupti_launches(), 50);
    assert_int_equal(kb_cupti_collect(spans, 50, &e), 3);
    for (int i = 0; i < 50; i++)
        assert_int_equal(spans[i].known, (i + 1) % 16 != 0);
    assert_true(spans[1].start_ns >= spans[0].end_ns);
    close_device();
}

static void a_storm_of_buffer_requests_is_bounded(void **state)
{
    (void)state;
    open_device("cold=40;warm=30", "storm=64");
    struct version v = version('a', 1);
    struct kb_timing_result r = time_one(&v, &both);
    assert_string_equal(r.source, "cupti");
    assert_near(r.cold.median, 40, 0.01);
    kb_timing_result_free(&r);
    close_device();
}

static void without_any_record_events_take_over(void **state)
{
    (void)state;
    open_device("cold=400;warm=300", "lose=1");
    struct version v = version('a', 1);
    struct kb_timing_result r = time_one(&v, &both);
    assert_string_equal(r.source, "events");
    assert_non_null(strstr(r.source_reason, "no usable kernel records"));
    assert_near(r.cold.median, 401, 0.1);
    kb_timing_result_free(&r);
    close_device();
}

static void cupti_failing_on_the_way_mixes_no_sources(void **state)
{
    (void)state;
    open_device("cold=400;warm=300", "flush:3=999");
    struct version v = version('a', 1);
    struct kb_timing_result r = time_one(&v, &both);
    assert_string_equal(r.source, "events");
    assert_non_null(strstr(r.source_reason, "cuptiActivityFlushAll"));
    assert_near(r.cold.min, 401, 0.1); // records would say 400
    assert_near(r.cold.max, 401, 0.1);
    kb_timing_result_free(&r);
    close_device();
}

static void short_kernels_are_batched(void **state)
{
    (void)state;
    open_device("cold=2;warm=1.5", "");
    struct version v = version('a', 1);
    struct kb_timing_options options = both;
    struct kb_timing_result r = time_one(&v, &options);
    assert_int_equal(r.batch, 10); // 20 us behind each sample
    assert_near(r.cold.median, 2, 0.001);
    assert_near(r.warm.median, 1.5, 0.001);
    kb_timing_result_free(&r);
    close_device();
}

static void short_kernels_are_batched_for_events(void **state)
{
    (void)state;
    open_device("cold=2;warm=1.5;tick=0.5", "subscribe=39");
    struct version v = version('a', 1);
    struct kb_timing_options options = both;
    struct kb_timing_result r = time_one(&v, &options);
    assert_string_equal(r.source, "events");
    assert_true(r.batch > 10);
    assert_near(r.warm.median, 2.5, 0.1); // 1.5 us and the gap of 1 us
    kb_timing_result_free(&r);
    close_device();
}

static void targets_take_turns_in_mirrored_order(void **state)
{
    (void)state;
    open_device("cold=40;warm=30", "");
    struct version a = version('a', 1), b = version('b', 1);
    a.log = b.log = &a;
    struct kb_timing_target targets[] = {{run_version, &a, 1}, {run_version, &b, 1}};
    struct kb_timing_options options = {.budget_ms = 60000, .sets = 3, .cold = true};
    struct kb_timing_result results[2];
    struct kb_error e = {0};
    assert_int_equal(kb_timing_run(device, targets, 2, &options, results, &e), 0);
    assert_memory_equal(a.order,
                        "ab"
                        "abbaabbaab",
                        12); // a pilot, then the rounds
    assert_int_equal(results[0].cold_count, results[1].cold_count);
    assert_true(results[0].cold_count >= 10);
    assert_true(a.sets[0] > 0 && a.sets[1] > 0 && a.sets[2] > 0 && a.sets[3] == 0);
    assert_memory_equal(a.sets, b.sets, sizeof a.sets);
    assert_false(results[0].has_warm);
    kb_timing_result_free(&results[0]);
    kb_timing_result_free(&results[1]);
    close_device();
}

static void a_run_of_several_launches_goes_from_first_to_last(void **state)
{
    (void)state;
    open_device("cold=40;warm=30", "");
    struct version v = version('a', 3);
    struct kb_timing_result r = time_one(&v, &both);
    assert_near(r.cold.median, 40 + 30 + 30 + 2, 0.01); // two gaps of 1 us
    assert_near(r.warm.median, 92, 0.01);
    assert_near(r.launch_us[0], 40, 0.01);
    assert_near(r.launch_us[2], 30, 0.01);
    assert_true(isnan(r.launch_us[3]));
    kb_timing_result_free(&r);
    close_device();
}

static int at_once(void *context)
{
    ++*(int *)context;
    return 1;
}

static void a_waiting_request_ends_it(void **state)
{
    (void)state;
    open_device("cold=40;warm=30;noise=0.5", "");
    struct version v = version('a', 1);
    int asked = 0;
    struct kb_timing_options options = both;
    options.budget_ms = 100000;
    options.width = 1e-9;
    options.interrupted = at_once;
    options.context = &asked;
    struct kb_timing_result r = time_one(&v, &options);
    assert_int_equal(asked, 1);
    assert_true(v.runs <= 3);
    kb_timing_result_free(&r);
    close_device();
}

struct look { // of one that looks at the results so far
    const struct version *v;
    int looks, runs, answer; // runs of the version at the last look
};

static int look_at(void *context, struct kb_error *e)
{
    struct look *l = context;
    assert_true(l->v->runs > l->runs); // something new is there each time
    l->runs = l->v->runs;
    l->looks++;
    return l->answer < 0 ? kb_fail(e, NULL, NULL, "the look failed") : l->answer;
}

static void results_are_looked_at_in_the_middle(void **state)
{
    (void)state;
    open_device("cold=40;warm=30", "");
    struct version v = version('a', 1);
    struct look l = {.v = &v};
    struct kb_timing_options options = both;
    options.between = look_at;
    options.context = &l;
    struct kb_timing_result r = time_one(&v, &options);
    assert_true(l.looks >= 1); // between cold and warm at least
    assert_true(v.runs > l.runs);
    assert_true(r.has_cold && r.has_warm);
    kb_timing_result_free(&r);

    struct version wrong = version('b', 1);
    l = (struct look){.v = &wrong, .answer = 1};
    r = time_one(&wrong, &options);
    assert_int_equal(l.looks, 1);
    assert_int_equal(wrong.runs, l.runs); // nothing runs behind it
    kb_timing_result_free(&r);

    struct version lost = version('c', 1);
    struct kb_timing_target target = {run_version, &lost, 1};
    struct kb_error e = {0};
    l = (struct look){.v = &lost, .answer = -1};
    lost.log = &lost;
    assert_int_equal(kb_timing_run(device, &target, 1, &options, &r, &e), -1);
    assert_string_equal(e.what, "the look failed");
    close_device();
}

static void noise_never_outlasts_the_budget(void **state)
{
    (void)state;
    open_device("cold=40;warm=30;noise=1", "");
    struct version v = version('a', 1);
    struct kb_timing_options options = both;
    options.width = 1e-9; // never reached
    options.budget_ms = 30;
    struct kb_timing_result r = time_one(&v, &options);
    assert_true(r.cold.samples >= 1); // that it returns at all is the point
    kb_timing_result_free(&r);
    close_device();
}

static void a_run_longer_than_the_budget_gives_its_one_sample(void **state)
{
    (void)state;
    open_device("cold=40;warm=30;launch=slow30", "");
    struct version v = version('a', 1);
    struct kb_timing_options options = both;
    options.budget_ms = 5;
    struct kb_timing_result r = time_one(&v, &options);
    assert_int_equal(r.cold.samples, 1);
    assert_near(r.cold.median, 40, 0.01);
    assert_false(r.has_warm);
    assert_true(isnan(r.call_us));
    kb_timing_result_free(&r);
    close_device();
}

static void failures_come_back_as_errors(void **state)
{
    (void)state;
    struct kb_timing_result result;
    struct kb_error e = {0};
    static const int places[] = {1, 2, 8, 20};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        open_device("cold=40;warm=30", "");
        struct version v = version('a', 1);
        struct kb_timing_target target = {run_version, &v, 1};
        v.log = &v;
        v.fail_at = places[i];
        assert_int_equal(kb_timing_run(device, &target, 1, &both, &result, &e), -1);
        assert_string_equal(e.what, "the run failed");
        close_device();
    }
    open_device("sync:4=700", "");
    struct version v = version('a', 1);
    struct kb_timing_target target = {run_version, &v, 1};
    v.log = &v;
    assert_int_equal(kb_timing_run(device, &target, 1, &both, &result, &e), -1);
    assert_int_equal(device->fault.kind, KB_FAULT_POISONED);
    close_device();
}

static void a_device_without_a_clock_is_refused(void **state)
{
    (void)state;
    static const struct kb_device_ops none = {0};
    struct kb_device cpu = {.ops = &none};
    struct kb_timing_target target = {run_version, NULL, 1};
    struct kb_timing_result result;
    struct kb_error e = {0};
    assert_int_equal(kb_timing_run(&cpu, &target, 1, &both, &result, &e), -1);
    assert_true(e.what[0]);
}

// In the order of runs: which kind of preparation.
static int prepare_version(void *context, int set, enum kb_timing_before before, struct kb_error *e)
{
    static const uint64_t value = 7;
    struct version *v = context;
    (void)set;
    strcat(v->log->order, (const char *const[]){"r", "l", "o", "s"}[before]);
    v->before = before;
    return v->device->ops->to_device(v->device, buffer.address, &value, sizeof value, e);
}

static void what_a_run_changes_is_put_back_outside_the_window(void **state)
{
    (void)state;
    struct kb_error e = {0};
    open_device("cold=40;warm=30", "");
    assert_int_equal(device->ops->alloc(device, &(struct kb_buffer_spec){.bytes = 64}, &buffer, &e), 0);
    struct version v = version('a', 1);
    struct kb_timing_options options = both;
    options.prepare = prepare_version;
    options.restores = true;
    struct kb_timing_result r = time_one(&v, &options);
    assert_near(r.cold.median, 40, 0.01); // put back before the flush, not between it and the run
    assert_near(r.warm.median, 30, 0.01);
    assert_near(r.events_us, 31, 1);
    // A pilot, ten rounds, of which the last is looked at; on a busy machine they come in several parts, whose last
    // ones are looked at, too.
    assert_memory_equal(v.order, "la", 2);
    for (int round = 1; round <= 10; round++)
        assert_true(strchr(round < 10 ? "rl" : "l", v.order[2 * round]) && v.order[2 * round + 1] == 'a');
    assert_null(strstr(v.order, "aa"));       // no run without it
    assert_non_null(strstr(v.order, "rala")); // warm: one run that brings the data in, then one more
    assert_true(isnan(r.same_us) && isnan(r.other_us));
    kb_timing_result_free(&r);
    device->ops->free(device, &buffer);
    close_device();
}

// Does a third of the work where it finds what the run before left.
static int run_with_memory(void *context, int set, struct kb_error *e)
{
    struct version *v = context;
    v->launches = v->before == KB_BEFORE_SAME ? 1 : 3;
    return run_version(context, set, e);
}

static void what_remembers_its_inputs_shows(void **state)
{
    (void)state;
    struct kb_error e = {0};
    open_device("cold=40;warm=30", "");
    assert_int_equal(device->ops->alloc(device, &(struct kb_buffer_spec){.bytes = 64}, &buffer, &e), 0);
    struct kb_timing_options options = {
        .budget_ms = 60000, .sets = 1, .cold = true, .again = true, .prepare = prepare_version};
    struct version honest = version('a', 1), lazy = version('b', 3);
    struct kb_timing_result r = time_one(&honest, &options);
    assert_near(r.same_us, 40, 0.01);
    assert_near(r.other_us, 40, 0.01);
    assert_non_null(strstr(honest.order, "oasaoasa"));
    kb_timing_result_free(&r);
    lazy.log = &lazy;
    struct kb_timing_target target = {run_with_memory, &lazy, 3};
    assert_int_equal(kb_timing_run(device, &target, 1, &options, &r, &e), 0);
    assert_near(r.cold.median, 102, 0.01);
    assert_near(r.other_us, 102, 0.01);
    assert_near(r.same_us, 40, 0.01);
    kb_timing_result_free(&r);
    device->ops->free(device, &buffer);
    close_device();
}

static void the_clock_labels_the_result(void **state)
{
    (void)state;
    open_device("cold=40;warm=30", "");
    fake_nvml("mhz=1755");
    struct version v = version('a', 1);
    struct kb_timing_options options = both;
    struct kb_timing_result r = time_one(&v, &options);
    assert_true(r.clock_mhz == 1755 && r.clock_low_mhz == 1755);
    assert_int_equal(r.throttled, 0);
    kb_timing_result_free(&r);
    fake_nvml("clock=3");
    r = time_one(&v, &options);
    assert_true(isnan(r.clock_mhz) && isnan(r.clock_low_mhz));
    kb_timing_result_free(&r);
    close_device();
}

// Readings of the fake NVML: one for the pilot, then one a chunk; a chunk of 10 rounds to begin with.
static void throttled_samples_are_taken_again(void **state)
{
    (void)state;
    open_device("cold=40;warm=30;noise=0.1", "");
    fake_nvml("mhz=1980;low=1200;low_from=3;low_to=3");
    struct version v = version('a', 1);
    struct kb_timing_options options = {.budget_ms = 60000, .min_samples = 30, .width = 1e-3, .sets = 1, .cold = true};
    struct kb_timing_result r = time_one(&v, &options);
    assert_true(r.throttled > 0);
    assert_false(r.throttled_kept);
    assert_true(r.cold.samples >= 30);
    assert_int_equal(r.cold.samples + r.throttled, r.cold_count);
    assert_true(r.clock_mhz == 1980 && r.clock_low_mhz == 1980);
    kb_timing_result_free(&r);
    close_device();
}

static void a_clock_that_is_low_all_the_time_is_only_named(void **state)
{
    (void)state;
    open_device("cold=40;warm=30", "");
    fake_nvml("mhz=1980;low=1200;low_from=2;low_to=100000"); // fast only before the first sample
    struct version v = version('a', 1);
    struct kb_timing_result r = time_one(&v, &both);
    assert_int_equal(r.throttled, 0);
    assert_true(r.clock_mhz == 1200);
    assert_true(r.cold.samples >= 10);
    kb_timing_result_free(&r);
    close_device();
}

static void a_first_look_is_short(void **state)
{
    (void)state;
    open_device("cold=40;warm=30;noise=0.01", "");
    struct version v = version('a', 1);
    struct kb_timing_options options = {.budget_ms = 60000, .min_samples = 10, .width = 0.04, .sets = 1, .cold = true};
    struct kb_timing_result r = time_one(&v, &options);
    assert_int_equal(r.cold_count, 10);
    assert_int_equal(v.runs, 11); // the pilot; nothing for the cross-check, nothing for the view from the host
    assert_true(isnan(r.events_us) && isnan(r.call_us));
    kb_timing_result_free(&r);
    close_device();
}

static void others_on_the_gpu_are_counted(void **state)
{
    (void)state;
    open_device("", "");
    static const struct {
        const char *script;
        int others;
    } rows[] = {{"pids=self", 0},
                {"pids=self,1,1", 2},
                {"pids=", 0},
                {"pids=4000001,4000002", 1}, // a container: one of these host ids is this process
                {"processes=3", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fake_nvml(rows[i].script);
        assert_int_equal(kb_gpu_others(device), rows[i].others);
    }
    close_device();
}

static void rights_are_read_beforehand(void **state)
{
    (void)state;
    static const char path[] = KB_BUILD_DIR "/test-params";
    static const struct {
        const char *text;
        int value;
    } rows[] = {{"A: 1\nRmProfilingAdminOnly: 1\nB: 0\n", 1}, {"RmProfilingAdminOnly: 0\n", 0}, {"B: 1\n", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(rows[i].text, file);
        fclose(file);
        assert_int_equal(kb_profiling_admin_only(path), rows[i].value);
    }
    remove(path);
    assert_int_equal(kb_profiling_admin_only(path), -1);
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
        // Refusals first: once CUPTI is open it stays open for the process.
        cmocka_unit_test(events_stand_in_and_say_why),
        cmocka_unit_test(short_kernels_are_batched_for_events),
        cmocka_unit_test(a_refusal_is_tried_again_only_on_request),
        cmocka_unit_test(cold_and_warm_are_two_numbers),
        cmocka_unit_test(records_that_events_contradict_are_said),
        cmocka_unit_test(lost_and_impossible_records_are_counted),
        cmocka_unit_test(fifty_launches_three_lost),
        cmocka_unit_test(a_storm_of_buffer_requests_is_bounded),
        cmocka_unit_test(without_any_record_events_take_over),
        cmocka_unit_test(cupti_failing_on_the_way_mixes_no_sources),
        cmocka_unit_test(short_kernels_are_batched),
        cmocka_unit_test(targets_take_turns_in_mirrored_order),
        cmocka_unit_test(a_run_of_several_launches_goes_from_first_to_last),
        cmocka_unit_test(a_waiting_request_ends_it),
        cmocka_unit_test(results_are_looked_at_in_the_middle),
        cmocka_unit_test(noise_never_outlasts_the_budget),
        cmocka_unit_test(a_run_longer_than_the_budget_gives_its_one_sample),
        cmocka_unit_test(failures_come_back_as_errors),
        cmocka_unit_test(a_device_without_a_clock_is_refused),
        cmocka_unit_test(what_a_run_changes_is_put_back_outside_the_window),
        cmocka_unit_test(what_remembers_its_inputs_shows),
        cmocka_unit_test(the_clock_labels_the_result),
        cmocka_unit_test(throttled_samples_are_taken_again),
        cmocka_unit_test(a_clock_that_is_low_all_the_time_is_only_named),
        cmocka_unit_test(a_first_look_is_short),
        cmocka_unit_test(others_on_the_gpu_are_counted),
        cmocka_unit_test(rights_are_read_beforehand),
    };
    return cmocka_run_group_tests(tests, use_fakes, NULL);
}
