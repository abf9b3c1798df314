// A reference that is a command: shell scripts that read and write .npy files with cp, and everything that goes wrong
// with such programs.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/permission.h"
#include "verify/command.h"
#include "verify/npy.h"
#include "verify/support_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// y = x
static const char identity[] =
    "{'kbench':1,'name':'copy','params':{'n':33},'args':["
    "{'name':'x','role':'input','dtype':'f64','shape':['n']},{'name':'y','role':'output','dtype':'f64','shape':['n']},"
    "{'name':'n','role':'scalar','dtype':'i32'},{'name':'half','role':'scalar','dtype':'f32','value':'0.5'}],"
    "'cases':[{'n':33},{'n':1,'name':'one'}],"
    "'reference':{'command':['sh','ref.sh'],'timeout_s':%d},"
    "'variants':[{'name':'v','source':'v.cu','kernel':'copy','launch':{'grid':[1],'block':[32]}}]}";
static char dir[256], *script;

static void copy(void *const *a)
{
    memcpy(*(void **)a[1], *(void **)a[0], sizeof(double) * (size_t) * (int *)a[2]);
}
static void copy_wrong(void *const *a)
{
    copy(a);
    (*(double **)a[1])[0] += 1;
}
static const struct toy_entry right[] = {{"copy", copy}, {NULL, NULL}}, wrong[] = {{"copy", copy_wrong}, {NULL, NULL}};

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "%s/command-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(dir));
    char *cache = kb_path_join(dir, "cache"), *home = kb_path_join(dir, "state");
    setenv("KB_CACHE", cache, 1);
    setenv("XDG_STATE_HOME", home, 1);
    free(cache);
    free(home);
    script = kb_path_join(dir, "ref.sh");
    toy_command = (struct kb_command){.dir = dir};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kb_remove_tree(dir);
    free(script);
    return 0;
}

static void write_script(const char *text)
{
    assert_int_equal(kb_file_replace(script, text, strlen(text), NULL), 0);
}

static void allow(void)
{
    struct kb_permission p;
    assert_int_equal(kb_permission_read(dir, (char *[]){"sh", "ref.sh", NULL}, &p, NULL), 0);
    assert_int_equal(kb_permission_give(&p, NULL), 0);
    kb_permission_free(&p);
}

static int lines_of(const char *name)
{
    char *path = kb_path_join(dir, name), *data = NULL;
    size_t size = 0;
    int lines = 0;
    if (!kb_file_read(path, 1 << 20, &data, &size, NULL))
        for (size_t i = 0; i < size; i++)
            lines += data[i] == '\n';
    free(data);
    free(path);
    return lines;
}

static void begin(struct toy *t, const struct toy_entry *entries, int timeout_s)
{
    char *json = kb_format(identity, timeout_s);
    if (toy_setup(t, entries, json))
        fail_msg("%s", kb_error_line(&t->error));
    free(json);
}

static bool passes(const struct toy_entry *entries)
{
    struct toy t;
    struct kb_trial trial;
    begin(&t, entries, 60);
    const char *failed = toy_try(&t, 0, KB_TRIAL_VERIFY, &trial);
    if (failed)
        fail_msg("%s", failed);
    bool pass = trial.pass;
    kb_trial_free(&trial);
    toy_teardown(&t);
    return pass;
}

static void results_are_compared(void **state)
{
    (void)state;
    write_script("cp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\necho run >> runs\n"
                 "printf %s \"$KBENCH_CASE\" > case.json\npwd > where\nls -a \"$KBENCH_IN\" > inputs\n"
                 "if read line; then echo input > stdin; fi\n");
    allow();
    assert_true(passes(right));
    assert_false(passes(wrong));
    char *path = kb_path_join(dir, "case.json"), *text = NULL;
    size_t size;
    assert_int_equal(kb_file_read(path, 1 << 20, &text, &size, NULL), 0);
    cJSON *described = cJSON_Parse(text);
    assert_int_equal(kb_json_int(kb_json_get(described, "params"), "n", 0), 33);
    assert_int_equal(kb_json_int(kb_json_get(described, "scalars"), "n", 0), 33);
    assert_true(kb_json_number(kb_json_get(described, "scalars"), "half", 0) == 0.5);
    const cJSON *x = cJSON_GetArrayItem(kb_json_get(described, "args"), 0);
    assert_string_equal(kb_json_text(x, "dtype", ""), "f64");
    assert_int_equal(cJSON_GetArrayItem(kb_json_get(x, "shape"), 0)->valueint, 33);
    cJSON_Delete(described);
    free(text);
    free(path);
    assert_int_equal(lines_of("where"), 1);
    assert_int_equal(lines_of("stdin"), 0);
}

static void same_inputs_are_not_run_again(void **state)
{
    (void)state;
    write_script("cp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\necho run >> runs\n");
    allow();
    assert_true(passes(right));
    int runs = lines_of("runs");
    assert_true(runs > 0);
    assert_true(passes(right)); // the same seed: the same inputs
    assert_int_equal(lines_of("runs"), runs);
    write_script("echo again >> runs\ncp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\n");
    allow();
    assert_true(passes(right)); // another script: other results
    assert_int_equal(lines_of("runs"), 2 * runs);
}

static void expect_error(const char *text, int timeout_s, const char *what, const char *remedy)
{
    struct toy t;
    struct kb_trial trial;
    write_script(text);
    allow();
    begin(&t, right, timeout_s);
    const char *failed = toy_try(&t, 0, KB_TRIAL_VERIFY, &trial);
    if (!failed || !strstr(failed, what) || !strstr(t.error.remedy, remedy))
        fail_msg("\"%s\": \"%s\" (%s); wanted \"%s\" (%s)", text, failed ? failed : "it works", t.error.remedy, what,
                 remedy);
    assert_false(t.data.cases[0].usable);
    kb_trial_free(&trial);
    toy_teardown(&t);
}

static void failures_are_named(void **state)
{
    (void)state;
    expect_error("echo first >&2; echo no torch here >&2; exit 3\n", 60, "exit code 3: no torch here", "log");
    expect_error("exit 9\n", 60, "exit code 9", "log");
    expect_error("kill -SEGV $$\n", 60, "signal 11", "log");
    expect_error("sleep 100\n", 1, "within 1 s", "timeout_s");
    expect_error("yes\n", 60, "more than 1024 KiB", "less");
    expect_error("true\n", 60, "did not write it", "numpy.save");
    expect_error("echo no numbers > \"$KBENCH_OUT/y.npy\"\n", 60, "no .npy file", "");
    expect_error("sed 's/(33,), /(11,3),/' \"$KBENCH_IN/x.npy\" > \"$KBENCH_OUT/y.npy\"\n", 60, "11 x 3, wanted 33",
                 "");
    expect_error("sed 's/<f8/<i8/' \"$KBENCH_IN/x.npy\" > \"$KBENCH_OUT/y.npy\"\n", 60, "wrote i64", "float64");
    expect_error("head -c 200 \"$KBENCH_IN/x.npy\" > \"$KBENCH_OUT/y.npy\"\n", 60, "cut off", "");
}

static void program_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    char *json = kb_format(identity, 60), *at = strstr(json, "'sh'");
    write_script("true\n");
    memcpy(at, "'zz'", 4);
    struct kb_permission p;
    assert_int_equal(kb_permission_read(dir, (char *[]){"zz", "ref.sh", NULL}, &p, NULL), 0);
    assert_int_equal(kb_permission_give(&p, NULL), 0);
    kb_permission_free(&p);
    assert_int_equal(toy_setup(&t, right, json), 0);
    assert_string_equal(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial), "there is no program \"zz\"");
    kb_trial_free(&trial);
    toy_teardown(&t);
    free(json);
}

static void only_what_was_allowed_runs(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    write_script("cp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\necho run >> runs\n");
    begin(&t, right, 60);
    assert_non_null(strstr(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial), "has changed since it was allowed"));
    assert_non_null(strstr(t.error.remedy, "kbench-tui allow"));
    kb_trial_free(&trial);
    toy_teardown(&t);
    allow();
    begin(&t, right, 60);
    write_script("echo evil >> runs\n"); // between the first look and the run
    assert_non_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    kb_trial_free(&trial);
    toy_teardown(&t);
    assert_int_equal(lines_of("runs"), 0);
    toy_command.dir = NULL;
    begin(&t, right, 60);
    assert_false(t.data.has_reference);
    assert_non_null(strstr(t.data.no_reference, "kbench-tui allow BENCH"));
    toy_teardown(&t);
}

static bool stop_when_it_runs(void *context)
{
    (void)context;
    return lines_of("runs") > 0;
}

// Something more urgent came: the case stays usable, and is tried again later.
static void can_be_ended_from_outside(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    write_script("echo run >> runs\ntest -e go || sleep 1000\ncp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\n");
    allow();
    toy_command.stop = stop_when_it_runs;
    begin(&t, right, 900);
    assert_non_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    assert_true(t.data.command.stopped);
    assert_true(t.data.cases[0].usable);
    kb_trial_free(&trial);
    char *go = kb_path_join(dir, "go");
    assert_int_equal(kb_file_replace(go, "", 0, NULL), 0);
    t.data.command.stop = NULL;
    assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    assert_true(trial.pass);
    kb_trial_free(&trial);
    toy_teardown(&t);
    free(go);
}

static int report(const char *text, const struct toy_entry *entries, struct kb_reported *r, struct kb_error *e)
{
    struct toy t;
    write_script("cp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\n");
    char *path = kb_path_join(dir, "rival.sh");
    char *argv[] = {"sh", "rival.sh", NULL};
    assert_int_equal(kb_file_replace(path, text, strlen(text), NULL), 0);
    allow(); // the script of the reference; rival.sh lies beside it, so it counts
    struct kb_permission p;
    assert_int_equal(kb_permission_read(dir, argv, &p, NULL), 0);
    assert_int_equal(kb_permission_give(&p, NULL), 0);
    kb_permission_free(&p);
    begin(&t, entries, 60);
    struct kb_case_data *c = &t.data.cases[0];
    const struct kb_program_line program = {argv, 60, "rival"};
    assert_int_equal(kb_data_prepare(&t.data, c, e), 0);
    int status = kb_command_report(&t.data, c, &c->sets[0], &program, r, e);
    toy_teardown(&t);
    free(path);
    return status;
}

static void variant_times_itself(void **state)
{
    (void)state;
    struct kb_reported r;
    struct kb_error e = {0};
    assert_int_equal(report("echo loading\necho '{\"us\": 99}'\necho '{\"us\": 12.5, \"what\": \"torch 2.5\"}'\n"
                            "echo '{\"us\": -1}'\necho '[1]'\n",
                            right, &r, &e),
                     0);
    assert_true(r.us == 12.5);
    assert_string_equal(r.what, "torch 2.5");
    assert_false(r.compared);
    assert_string_equal(r.reason, "it wrote no outputs");
    assert_int_equal(report("cp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\necho '{\"us\": 3}'\n", right, &r, &e), 0);
    assert_true(r.compared && r.right);
    assert_int_equal(report("head -c 128 \"$KBENCH_IN/x.npy\" > \"$KBENCH_OUT/y.npy\"\nhead -c 264 /dev/zero >> "
                            "\"$KBENCH_OUT/y.npy\"\necho '{\"us\": 3}'\n",
                            right, &r, &e),
                     0);
    assert_true(r.compared && !r.right);
    assert_non_null(strstr(r.reason, "33 of 33 elements are wrong"));
    assert_int_equal(report("echo nothing > \"$KBENCH_OUT/y.npy\"\necho '{\"us\": 3}'\n", right, &r, &e), 0);
    assert_true(r.compared && !r.right);
    assert_non_null(strstr(r.reason, "no .npy file"));
    assert_int_equal(report("echo fast\n", right, &r, &e), -1);
    assert_string_equal(e.what, "it printed no time");
    assert_non_null(strstr(e.remedy, "\"us\""));
    assert_int_equal(report("exit 7\n", right, &r, &e), -1);
    assert_string_equal(e.on, "rival");
    assert_string_equal(e.what, "it ended with exit code 7");
}

// acc += w, where w is bf16, which comes as float32; count: integers keep their type.
static void add(void *const *a)
{
    for (int i = 0; i < 4; i++) {
        (*(float **)a[1])[i] = (float)kbe_decode(KBE_BF16, (*(uint16_t **)a[0])[i]);
        (*(int8_t **)a[2])[i] += 0;
    }
}
static void other_types_and_inouts(void **state)
{
    (void)state;
    static const struct toy_entry entries[] = {{"k", add}, {NULL, NULL}};
    struct toy t;
    struct kb_trial trial;
    write_script("cp \"$KBENCH_IN/w.npy\" \"$KBENCH_OUT/acc.npy\"\ncp \"$KBENCH_IN/count.npy\" \"$KBENCH_OUT/\"\n");
    allow();
    int status = toy_setup(&t, entries,
                           "{'kbench':1,'name':'types','params':{'n':2},'args':["
                           "{'name':'w','role':'input','dtype':'bf16','shape':['n','n']},"
                           "{'name':'acc','role':'output','dtype':'f32','shape':['n','n']},"
                           "{'name':'count','role':'inout','dtype':'i8','shape':['n','n']}],"
                           "'reference':{'command':['sh','ref.sh']},"
                           "'variants':[{'name':'v','source':'v.cu','kernel':'k','launch':{'grid':[1],'block':[1]}}]}");
    assert_int_equal(status, 0);
    const char *failed = toy_try(&t, 0, KB_TRIAL_VERIFY, &trial);
    if (failed)
        fail_msg("%s: %s", t.error.on, failed);
    if (!trial.pass)
        fail_msg("%s", trial.reason);
    kb_trial_free(&trial);
    toy_teardown(&t);
}

static void said(void *context, const char *text, size_t size)
{
    kb_text_bytes(context, text, size);
}

static char *only_entry(void)
{
    char *folder = kb_path_join(dir, "cache/reference"), *path = NULL;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            assert_null(path);
            path = kb_path_join(folder, e->d_name);
        }
    closedir(d);
    free(folder);
    assert_non_null(path);
    return path;
}

// Somebody else's results are not believed, and that is said.
static void cached_results_that_were_changed(void **state)
{
    (void)state;
    write_script("cp \"$KBENCH_IN/x.npy\" \"$KBENCH_OUT/y.npy\"\necho run >> runs\n");
    allow();
    assert_true(passes(right));
    assert_int_equal(lines_of("runs"), 1);
    assert_true(passes(right));
    assert_int_equal(lines_of("runs"), 1);
    char *path = only_entry(), *data;
    size_t size;
    assert_int_equal(kb_file_read(path, 1 << 20, &data, &size, NULL), 0);
    data[size - 1] ^= 1;
    assert_int_equal(kb_file_replace(path, data, size, NULL), 0);
    struct kb_text log = {0};
    toy_command.say = said;
    toy_command.context = &log;
    assert_true(passes(right));
    assert_int_equal(lines_of("runs"), 2);
    assert_non_null(strstr(log.data, "changed by somebody else"));
    toy_command = (struct kb_command){.dir = dir};
    kb_text_free(&log);
    free(data);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_are_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(same_inputs_are_not_run_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cached_results_that_were_changed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(program_that_is_not_there_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_what_was_allowed_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(can_be_ended_from_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variant_times_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_types_and_inouts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
