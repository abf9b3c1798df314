// The table of counters, and the range profiler against a scripted CUPTI; the names against the real one, if there.
#include "base/memory.h"
#include "jit/compile.h"
#include "profiles/counters.h"
#include "profiles/cupti.h"
#include "profiles/ranges.h"
#include "tests/fake/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

static struct kb_device *device;
static struct kb_module *module;
static struct kb_kernel *kernel;

static void use(const char *cupti)
{
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_error e = {0};
    fake_cuda("");
    fake_cupti(cupti);
    kb_ranges_forget(); // of another chip, as it were
    if (device)
        return;
    assert_int_equal(kb_device_open(&request, &device, &e), 0);
    assert_int_equal(device->ops->load(device, "cubin", 5, &module, &e), 0);
    assert_int_equal(device->ops->symbol(module, "k", &kernel, &e), 0);
}

static long cupti_count(const char *what)
{
    long (*count)(const char *);
    *(void **)&count = fake_symbol(FAKE_CUPTI, "kb_fake_cupti_count");
    return count(what);
}

struct job {
    int befores, runs, fail_at;
    int asked, interrupt_at; // 0: never
    bool order_broken;
};

static int launch(struct kb_error *e)
{
    const uint64_t pointer = 0;
    const int n = 0;
    const void *values[] = {&pointer, &pointer, &n};
    struct kb_launch_args args = {.grid = {4, 1, 1}, .block = {128, 1, 1}, .arg_count = 3, .args = values};
    return device->ops->launch(kernel, &args, e);
}

static int before(void *context, struct kb_error *e)
{
    struct job *j = context;
    j->order_broken = j->order_broken || j->befores != j->runs;
    j->befores++;
    return launch(e); // what is launched here is not counted
}

static int run(void *context, struct kb_error *e)
{
    struct job *j = context;
    j->order_broken = j->order_broken || j->befores != j->runs + 1;
    if (++j->runs == j->fail_at)
        return kb_fail(e, NULL, NULL, "the run failed");
    return launch(e);
}

static bool interrupted(void *context)
{
    struct job *j = context;
    return ++j->asked == j->interrupt_at;
}

static int measure(enum kb_counter_stage stage, struct job *j, const char **metrics, int *count,
                   struct kb_range_values *values, struct kb_error *e)
{
    struct kb_range_run r = {before, run, j, interrupted};
    *count = kb_counter_metrics(stage, metrics, KB_RANGE_METRICS);
    return kb_ranges_measure(device, metrics, *count, &r, values, e);
}

static const struct kb_counter *counter(const char *name)
{
    for (int i = 0; i < kb_counter_count; i++)
        if (!strcmp(kb_counters[i].name, name))
            return &kb_counters[i];
    fail_msg("no counter %s", name);
    return NULL;
}

static void table_is_sound(void **state)
{
    (void)state;
    for (int i = 0; i < kb_counter_count; i++) {
        const struct kb_counter *c = &kb_counters[i];
        assert_true(c->name && c->unit && c->about && c->terms[0].metric);
        for (int k = 0; k < i - 1; k++) // rows of one name follow each other
            if (!strcmp(c->name, kb_counters[k].name))
                assert_string_equal(kb_counters[i - 1].name, c->name);
    }
    for (int s = 0; s < KB_COUNTER_STAGES; s++) {
        const char *metrics[KB_RANGE_METRICS];
        int n = kb_counter_metrics((enum kb_counter_stage)s, metrics, KB_RANGE_METRICS);
        assert_true(n > 0 && n < KB_RANGE_METRICS);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < i; k++)
                assert_string_not_equal(metrics[i], metrics[k]);
    }
}

static void values_are_computed(void **state)
{
    (void)state;
    const char *metrics[] = {
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"};
    double values[] = {10, 20, 100, 640, 40};
    const char *why[5] = {0}, *reason = "";
    assert_true(kb_counter_value(counter("flops_f32"), metrics, values, why, 5, &reason) == 230);
    assert_null(reason);
    assert_true(kb_counter_value(counter("sectors_per_request_load"), metrics, values, why, 5, &reason) == 16);
    values[4] = 0;
    assert_true(isnan(kb_counter_value(counter("sectors_per_request_load"), metrics, values, why, 5, &reason)));
    assert_string_equal(reason, "there was none");
    values[1] = NAN;
    why[1] = "this chip has no such counter";
    assert_true(isnan(kb_counter_value(counter("flops_f32"), metrics, values, why, 5, &reason)));
    assert_string_equal(reason, why[1]);
    assert_true(isnan(kb_counter_value(counter("dram_bytes"), metrics, values, why, 5, &reason)));
    assert_string_equal(reason, "not measured");
}

static void every_pass_starts_afresh(void **state)
{
    (void)state;
    const char *metrics[KB_RANGE_METRICS], *reason;
    struct kb_range_values v;
    struct job j = {0};
    struct kb_error e = {0};
    int n;
    use("passes=9");
    assert_int_equal(measure(KB_COUNTER_HARDWARE, &j, metrics, &n, &v, &e), 0);
    assert_int_equal(v.passes, 9);
    assert_int_equal(j.befores, 9);
    assert_int_equal(j.runs, 9);
    assert_false(j.order_broken);
    assert_int_equal(cupti_count("ranged"), 9); // what comes before a run is outside of the range
    assert_true(v.value[0] == 1000 && v.value[n - 1] == 1000 * n);
    assert_true(kb_counter_value(counter("instructions"), metrics, v.value, v.why, n, &reason) > 0);
}

static void missing_metrics_break_nothing(void **state)
{
    (void)state;
    const char *metrics[KB_RANGE_METRICS], *reason;
    struct kb_range_values v;
    struct job j = {0};
    struct kb_error e = {0};
    int n;
    use("lacks=dram__; unschedulable=l1tex__");
    assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), 0);
    assert_true(isnan(kb_counter_value(counter("dram_bytes"), metrics, v.value, v.why, n, &reason)));
    assert_string_equal(reason, "this chip has no such counter");
    assert_true(isnan(kb_counter_value(counter("l1_bytes"), metrics, v.value, v.why, n, &reason)));
    assert_string_equal(reason, "this counter cannot be measured here");
    assert_true(kb_counter_value(counter("l2_bytes"), metrics, v.value, v.why, n, &reason) == 1000);
    use("lacks=_"); // none is there at all
    assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), 0);
    assert_int_equal(v.passes, 0);
    assert_true(isnan(v.value[0]));
}

static void refusals_have_words(void **state)
{
    (void)state;
    static const struct {
        const char *script, *says, *remedy;
        int code;
        bool lasting;
    } cases[] = {
        {"availability=35", "no permission to profile this GPU", "SYS_ADMIN", 35, true},
        {"range_enable=35", "no permission", "NVreg_RestrictProfilingToAdminUsers=0", 35, true},
        {"range_start=26", "another process holds the profiling hardware", "retry", 26, false},
        {"range_start=39", "another NVIDIA tool", "close the profiler", 39, true},
        {"decode=999", "CUPTI error 999", "", 999, false},
        {"range_stop:1=26", "another process", "retry", 26, false},
        {"host=46", "no counters for this chip", "newer CUPTI", 46, false},
        {"endless=1", "more than 256 passes", "", 0, false},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        const char *metrics[KB_RANGE_METRICS];
        struct kb_range_values v;
        struct job j = {0};
        struct kb_error e = {0};
        int n;
        use(cases[i].script);
        kb_cupti_take_refusal();
        assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), -1);
        int code = kb_cupti_take_refusal();
        if (code != cases[i].code || !strstr(e.what, cases[i].says) || !strstr(e.remedy, cases[i].remedy))
            fail_msg("%s: %d, %s (%s)", cases[i].script, code, e.what, e.remedy);
        assert_int_equal(kb_cupti_lasting(code), cases[i].lasting);
        use(""); // and the next one works
        assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), 0);
    }
}

static void failed_run_ends_it(void **state)
{
    (void)state;
    const char *metrics[KB_RANGE_METRICS];
    struct kb_range_values v;
    struct job j = {.fail_at = 2};
    struct kb_error e = {0};
    int n;
    use("passes=3");
    assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), -1);
    assert_string_equal(e.what, "the run failed");
    j = (struct job){0};
    assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), 0);
}

static void the_host_side_is_made_once(void **state)
{
    (void)state;
    const char *metrics[KB_RANGE_METRICS];
    struct kb_range_values v;
    struct job j = {0};
    struct kb_error e = {0};
    int n;
    use("unschedulable=l1tex__");
    assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), 0);
    assert_int_equal(measure(KB_COUNTER_HARDWARE, &j, metrics, &n, &v, &e), 0);
    long hosts = cupti_count("hosts");
    assert_true(hosts > 2); // each metric that cannot be had was tried alone
    for (int i = 0; i < 3; i++) {
        const char *reason;
        assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), 0);
        assert_true(kb_counter_value(counter("l2_bytes"), metrics, v.value, v.why, n, &reason) > 0);
        assert_true(isnan(kb_counter_value(counter("l1_bytes"), metrics, v.value, v.why, n, &reason)));
        assert_string_equal(reason, "this counter cannot be measured here");
        assert_int_equal(v.passes, 1);
        assert_int_equal(measure(KB_COUNTER_HARDWARE, &j, metrics, &n, &v, &e), 0);
    }
    assert_int_equal(cupti_count("hosts"), hosts);
    assert_int_equal(cupti_count("open"), 0); // the hardware is free in between
    j.fail_at = j.runs + 1;
    assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), -1);
    assert_int_equal(measure(KB_COUNTER_BYTES, &j, metrics, &n, &v, &e), 0);
    assert_true(cupti_count("hosts") > hosts); // behind a failure all is made anew
    assert_int_equal(cupti_count("open"), 0);
}

static void a_save_ends_it_between_passes(void **state)
{
    (void)state;
    for (int at = 1; at <= 6; at++) {
        const char *metrics[KB_RANGE_METRICS];
        struct kb_range_values v;
        struct job j = {.interrupt_at = at};
        struct kb_error e = {0};
        int n;
        use("passes=4");
        int result = measure(KB_COUNTER_HARDWARE, &j, metrics, &n, &v, &e);
        assert_int_equal(result, 1);
        assert_int_equal(j.runs, at > 3 ? at - 3 : 0); // asked before and behind enabling, and before each pass
        assert_true(isnan(v.value[0]));
        assert_int_equal(cupti_count("open"), 0);
        j.interrupt_at = 0;
        assert_int_equal(measure(KB_COUNTER_HARDWARE, &j, metrics, &n, &v, &e), 0);
        assert_int_equal(v.passes, 4);
        assert_true(v.value[0] == 1000);
    }
}

static void permission_known_beforehand(void **state)
{
    (void)state;
    struct kb_error e = {0};
    assert_int_equal(kb_profiling_allowed(0, false, &e), 0);
    assert_int_equal(kb_profiling_allowed(-1, false, &e), 0);
    assert_int_equal(kb_profiling_allowed(1, true, &e), 0);
    assert_int_equal(kb_profiling_allowed(1, false, &e), -1);
    assert_non_null(strstr(e.what, "RmProfilingAdminOnly 1"));
    assert_non_null(strstr(e.remedy, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_non_null(strstr(e.remedy, "SYS_ADMIN"));
}

static bool exists(const struct kb_counter *c)
{
    const char *metrics[KB_COUNTER_TERMS + 1];
    int n = 0, available = 0;
    for (int k = 0; k < KB_COUNTER_TERMS; k++)
        if (c->terms[k].metric)
            metrics[n++] = c->terms[k].metric;
    if (c->divisor)
        metrics[n++] = c->divisor;
    return kb_ranges_passes("GH100", metrics, n, &available, NULL) > 0 && available == n;
}

static bool some_row_exists(const struct kb_counter *c)
{
    for (int i = 0; i < kb_counter_count; i++)
        if (!strcmp(kb_counters[i].name, c->name) && exists(&kb_counters[i]))
            return true;
    print_message("%s cannot be computed\n", c->name);
    return false;
}

// In a process of its own, since a process keeps the library that it opened first.
static int with_real_cupti(void)
{
    char path[256];
    struct kb_error e = {0};
    unsetenv("KBENCH_CUPTI");
    if (!kb_toolkit_open("cupti", path, sizeof path, &e)) {
        print_message("no CUPTI here: %s\n", kb_error_line(&e));
        return 0;
    }
    for (int s = 0; s < KB_COUNTER_STAGES; s++) {
        const char *metrics[KB_RANGE_METRICS];
        int available = 0, n = kb_counter_metrics((enum kb_counter_stage)s, metrics, KB_RANGE_METRICS);
        int passes = kb_ranges_passes("GH100", metrics, n, &available, &e);
        print_message("stage %d of GH100: %d of %d metrics, %d passes %s\n", s, available, n, passes,
                      passes < 0 ? kb_error_line(&e) : "");
        if (passes < 0)
            return s ? 1 : 0; // a CUPTI that cannot do this without a driver
        if (s == KB_COUNTER_BYTES && passes != 1)
            return 1;
        for (int i = 0; i < kb_counter_count; i++)
            if ((int)kb_counters[i].stage == s && !some_row_exists(&kb_counters[i]))
                return 1;
    }
    int available;
    return kb_ranges_passes("no such chip", NULL, 0, &available, &e) != -1;
}

static void names_are_those_of_cupti(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); // CUPTI opens a library with RTLD_DEEPBIND, which the sanitizer does not let pass
#endif
    pid_t child = fork();
    if (!child) {
        int result = with_real_cupti();
        fflush(stdout);
        _exit(result);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    fake_use_all();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_cupti), // before anything is opened
        cmocka_unit_test(table_is_sound),
        cmocka_unit_test(values_are_computed),
        cmocka_unit_test(every_pass_starts_afresh),
        cmocka_unit_test(missing_metrics_break_nothing),
        cmocka_unit_test(refusals_have_words),
        cmocka_unit_test(failed_run_ends_it),
        cmocka_unit_test(the_host_side_is_made_once),
        cmocka_unit_test(a_save_ends_it_between_passes),
        cmocka_unit_test(permission_known_beforehand),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (device) {
        device->ops->unload(device, module);
        device->ops->close(device);
    }
    return failed;
}
