// PC sampling against a scripted CUPTI: F1 (refusals), F3 (losses), who holds the hardware.
#include "base/memory.h"
#include "profiles/cupti.h"
#include "profiles/pcsampling.h"
#include "profiles/ranges.h"
#include "profiles/stalls.h"
#include "tests/fake/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kb_device *device;
static struct kb_module *module;
static struct kb_kernel *kernel;

static long cupti_count(const char *what)
{
    long (*count)(const char *);
    *(void **)&count = fake_symbol(FAKE_CUPTI, "kb_fake_cupti_count");
    return count(what);
}

// Each begins with the hardware free and nothing counted.
static void use(const char *cupti)
{
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_error e = {0};
    fake_cupti("");
    kb_pcs_release();
    fake_cuda("");
    fake_cupti(cupti);
    kb_cupti_take_refusal();
    if (device)
        return;
    assert_int_equal(kb_device_open(&request, &device, &e), 0);
    assert_int_equal(device->ops->load(device, "cubin", 5, &module, &e), 0);
    assert_int_equal(device->ops->symbol(module, "k", &kernel, &e), 0);
}

struct job {
    int befores, runs, fail_at, stop_after;
};

static int before(void *context, struct kb_error *e)
{
    struct job *j = context;
    (void)e;
    j->befores++;
    return 0;
}

static int run(void *context, struct kb_error *e)
{
    struct job *j = context;
    const uint64_t pointer = 0;
    const int n = 0;
    const void *values[] = {&pointer, &pointer, &n};
    struct kb_launch_args args = {.grid = {4, 1, 1}, .block = {128, 1, 1}, .arg_count = 3, .args = values};
    if (++j->runs == j->fail_at)
        return kb_fail(e, NULL, NULL, "the run failed");
    return device->ops->launch(kernel, &args, e);
}

static bool interrupted(void *context)
{
    const struct job *j = context;
    return j->stop_after && j->runs >= j->stop_after;
}

static int collect(struct job *j, struct kb_pc_profile *p, struct kb_error *e)
{
    struct kb_pcs_run r = {
        .before = before, .run = run, .context = j, .time_us = 1000, .budget_ms = 20, .interrupted = interrupted};
    return kb_pcs_collect(device, &r, p, e);
}

static void plans(void **state)
{
    (void)state;
    int period, launches;
    kb_pcs_plan(58.6, 1980, 132, 20, 10, &period, &launches);
    assert_int_equal(period, 10);
    assert_true(launches >= 6 && launches <= 8); // 15,000 samples each
    kb_pcs_plan(2, 1980, 132, 20, 10, &period, &launches);
    assert_int_equal(launches, 50); // however short
    kb_pcs_plan(1e6, 1980, 132, 20, 10, &period, &launches);
    assert_int_equal(launches, 1); // a second long
    assert_true(period > 10);
    double samples = 1e6 * 1980 * 132 / pow(2, period);
    assert_true(samples <= 200000 && samples > 50000);
    kb_pcs_plan(NAN, 0, 0, 0, 12, &period, &launches);
    assert_int_equal(period, 12);
    assert_true(launches >= 1);
    kb_pcs_plan(1e15, 1980, 132, 1, 10, &period, &launches);
    assert_int_equal(period, KB_PCS_PERIOD_MAX);
}

static void samples_come_with_names(void **state)
{
    (void)state;
    struct kb_pc_profile p;
    struct job j = {0};
    struct kb_error e = {0};
    use("pcs=9; function=kernel; base=256; total_pcs=2");
    assert_int_equal(collect(&j, &p, &e), 0);
    assert_int_equal(p.pc_count, 9);
    assert_string_equal(p.pcs[0].function, "kernel");
    assert_int_equal(p.pcs[8].offset, 256 + 8 * 16);
    assert_int_equal(p.launches, j.runs);
    assert_int_equal(j.befores, j.runs);
    assert_int_equal(kb_pc_samples(&p, &p.pcs[0]), 100 * j.runs);
    assert_int_equal(p.samples, 100 * 45 * j.runs);
    assert_true(p.inclusive);
    assert_int_equal(p.tries, 1);
    assert_string_equal(p.reasons[0].name, "long_scoreboard");
    assert_true(p.reasons[1].not_issued);
    kb_pc_profile_free(&p);
    assert_int_equal(collect(&j, &p, &e), 0); // held by now: nothing is enabled again
    assert_int_equal(cupti_count("enable"), 1);
    assert_int_equal(p.samples % 4500, 0); // nothing left over from before
    kb_pc_profile_free(&p);
}

static void counts_on_top_are_recognised(void **state)
{
    (void)state;
    struct kb_pc_profile p;
    struct job j = {0};
    struct kb_error e = {0};
    use("pcs=3; exclusive=1");
    assert_int_equal(collect(&j, &p, &e), 0);
    assert_false(p.inclusive);
    assert_int_equal(p.samples, 600 * j.runs);
    kb_pc_profile_free(&p);
}

static void losses_lengthen_the_period(void **state)
{
    (void)state;
    static const char *const scripts[] = {"drop_below=13", "full_below=13", "drop_below=13; fixed=1"};
    for (size_t i = 0; i < KB_COUNT(scripts); i++) {
        struct kb_pc_profile p;
        struct job j = {0};
        struct kb_error e = {0};
        use(scripts[i]);
        assert_int_equal(collect(&j, &p, &e), 0);
        assert_true(p.period >= 13);
        assert_int_equal(p.dropped, 0);
        assert_false(p.overflow);
        assert_int_equal(p.pc_count, 4);
        assert_int_equal(p.launches * (i ? 1 : p.tries), i ? p.launches : j.runs); // a lossy try leaves nothing behind
        kb_pc_profile_free(&p);
        assert_int_equal(collect(&j, &p, &e), 0); // what worked is where the next begins
        assert_int_equal(p.tries, 1);
        kb_pc_profile_free(&p);
    }
    assert_true(cupti_count("enable") >= 1);
}

static void losses_that_stay_are_told(void **state)
{
    (void)state;
    struct kb_pc_profile p;
    struct job j = {0};
    struct kb_error e = {0};
    use("drop_below=31");
    assert_int_equal(collect(&j, &p, &e), 0);
    assert_true(p.dropped > 0);
    assert_int_equal(p.tries, 5);
    kb_pc_profile_free(&p);
    use("full_below=31");
    assert_int_equal(collect(&j, &p, &e), 0);
    assert_true(p.overflow);
    assert_int_equal(p.pc_count, 2); // what came before it was full
    kb_pc_profile_free(&p);
}

static void refusals_have_words(void **state)
{
    (void)state;
    static const struct {
        const char *script, *says, *remedy;
        bool lasting;
    } cases[] = {
        {"subscribe=39", "another NVIDIA tool observes this process", "close the profiler", true},
        {"pcs_enable=8", "CUPTI ran out of memory", "free memory", false},
        {"pcs_enable=27", "does not support this GPU or system", "7.5", true},
        {"pcs_enable=14", "does not fit the driver", "KBENCH_CUPTI", true},
        {"pcs_enable=15", "could not start", "newer driver", true},
        {"pcs_enable=33", "virtual GPU", "whole GPU", true},
        {"pcs_enable=40", "no permission", "hypervisor", true},
        {"pcs_enable=41", "confidential", "switch it off", true},
        {"pcs_enable=42", "mining", "another GPU", true},
        {"pcs_enable=43", "MIG", "instance", true},
        {"pcs_enable=44", "SLI", "off", true},
        {"pcs_enable=45", "WSL", "Linux", true},
        {"pcs_enable=35", "no permission to profile this GPU", "SYS_ADMIN", true},
        {"pcs_enable=26", "another process holds the profiling hardware", "retry", false},
        {"pcs_start=26", "another process holds the profiling hardware", "retry", false},
        {"pcs_configure=2", "CUPTI error 2", "", false},
        {"pcs_data=9", "CUPTI error 9", "", false},
        {"pcs_stop=26", "another process", "retry", false},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        struct kb_pc_profile p;
        struct job j = {0};
        struct kb_error e = {0};
        use(cases[i].script);
        assert_int_equal(collect(&j, &p, &e), -1);
        int code = kb_cupti_take_refusal();
        if (!strstr(e.what, cases[i].says) || !strstr(e.remedy, cases[i].remedy))
            fail_msg("%s: %s (%s)", cases[i].script, e.what, e.remedy);
        assert_int_equal(kb_cupti_lasting(code), cases[i].lasting);
        assert_false(kb_pcs_held()); // nothing stays taken
        assert_int_equal(p.pc_count, 0);
        use("");
        assert_int_equal(collect(&j, &p, &e), 0);
        kb_pc_profile_free(&p);
    }
}

static int refused_under_wsl(const char *release)
{
    struct kb_pc_profile p;
    struct job j = {0};
    struct kb_error e = {0};
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount(release, "/proc/sys/kernel/osrelease", NULL, MS_BIND, NULL))
        return 77;
    use("pcs_enable=35");
    if (collect(&j, &p, &e) != -1 || !strstr(e.what, "not available under WSL2") || e.remedy[0])
        return 1;
    return kb_profiling_allowed(1, false, &e) != -1 || !strstr(e.what, "not available under WSL2") || e.remedy[0];
}

// Neither an option of Linux's driver nor one of Windows' helps there.
static void no_remedy_under_wsl(void **state)
{
    (void)state;
    char release[] = "/tmp/kbench-test-XXXXXX";
    int file = mkstemp(release), status;
    dprintf(file, "5.15.90.1-microsoft-standard-WSL2\n");
    close(file);
    pid_t child = fork();
    if (!child)
        _exit(refused_under_wsl(release));
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(release);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) // no mount namespaces for us
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void failed_run_gives_back(void **state)
{
    (void)state;
    struct kb_pc_profile p;
    struct job j = {.fail_at = 2};
    struct kb_error e = {0};
    use("");
    assert_int_equal(collect(&j, &p, &e), -1);
    assert_string_equal(e.what, "the run failed");
    assert_false(kb_pcs_held());
}

static void interrupted_between_runs(void **state)
{
    (void)state;
    struct kb_pc_profile p;
    struct job j = {.stop_after = 1};
    struct kb_error e = {0};
    use("");
    assert_int_equal(collect(&j, &p, &e), 0);
    assert_int_equal(p.launches, 1);
    kb_pc_profile_free(&p);
}

// Sampling must be released before counters; the fake refuses them as the hardware does.
static void one_piece_of_hardware(void **state)
{
    (void)state;
    const char *metrics[] = {"dram__bytes_read.sum"};
    struct kb_range_values v;
    struct job j = {0};
    struct kb_range_run r = {.run = run, .context = &j};
    struct kb_error e = {0};
    use("");
    assert_int_equal(kb_pcs_hold(device, &e), 0);
    assert_int_equal(kb_pcs_hold(device, &e), 0);
    assert_int_equal(cupti_count("enable"), 1);
    assert_int_equal(kb_ranges_measure(device, metrics, 1, &r, &v, &e), -1);
    kb_pcs_release();
    kb_pcs_release();
    assert_int_equal(cupti_count("disable"), 1);
    assert_int_equal(kb_ranges_measure(device, metrics, 1, &r, &v, &e), 0);
    assert_int_equal(kb_pcs_hold(device, &e), 0);
    kb_pcs_release();
}

int main(void)
{
    fake_use_all();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans),
        cmocka_unit_test(samples_come_with_names),
        cmocka_unit_test(counts_on_top_are_recognised),
        cmocka_unit_test(refusals_have_words),
        cmocka_unit_test(no_remedy_under_wsl),
        cmocka_unit_test(failed_run_gives_back),
        cmocka_unit_test(interrupted_between_runs),
        cmocka_unit_test(one_piece_of_hardware),
        cmocka_unit_test(losses_lengthen_the_period), // the period stays longer from here on
        cmocka_unit_test(losses_that_stay_are_told),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kb_pcs_release();
    if (device) {
        device->ops->unload(device, module);
        device->ops->close(device);
    }
    return failed;
}
