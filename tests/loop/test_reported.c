// Variants that are commands: asked for their time when nothing else runs, ended by a save, told as what they are.
#include "base/json.h"
#include "base/memory.h"
#include "loop/report.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The second word of the command is what the fake worker is to say: a time, or a word that it obeys.
static struct bed *begin(const char *says)
{
    struct bed *b = bed_new();
    char *text = kb_format(
        "{ \"kbench\": 1, \"name\": \"fake\", \"params\": { \"n\": 64 },\n"
        "  \"args\": [ { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
        "    { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
        "    { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
        "  \"cases\": [ { \"n\": 64 }, { \"n\": 1 }, { \"n\": 7, \"time\": true }, { \"n\": 9, \"time\": true } ],\n"
        "  \"variants\": [ { \"name\": \"a\", \"source\": \"a.cu\", \"kernel\": \"a\",\n"
        "      \"launch\": { \"grid\": [1], \"block\": [32] } },\n"
        "    { \"name\": \"rival\", \"kind\": \"command\", \"command\": [\"sh\", \"%s\"], \"timeout_s\": 5 } ] }\n",
        says);
    bed_write(b, "bench.json", text);
    free(text);
    return b;
}

static void each_timed_case_is_asked_for_once(void **state)
{
    (void)state;
    struct bed *b = begin("12.5");
    bed_start(b);
    bed_until_event(b, "reported variant=rival case=3");
    assert_int_equal(bed_count(b, "reported"), 2);
    const cJSON *event = bed_find(b, "reported case=2");
    assert_true(kb_json_number(event, "us", 0) == 12.5);
    assert_string_equal(kb_json_text(event, "source", ""), "reported by the command");
    assert_true(kb_model_reported(&b->model, 1, 2)->us == 12.5);
    assert_null(kb_model_reported(&b->model, 1, 0)); // is not timed
    bed_until_event(b, "verdict variant=a");
    int asked = bed_log_count(b, "run report"); // once more where the first reading of a.cu ended a request
    assert_in_range(asked, 2, 3);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "", 2); // a save of a kernel is no reason to ask again
    bed_until_event(b, "verdict variant=a");
    bed_idle(b, 50);
    assert_int_equal(bed_log_count(b, "run report"), asked);
    bed_free(b);
}

static void once_waits_for_them(void **state)
{
    (void)state;
    struct bed *b = begin("12.5");
    b->options.once = true;
    bed_start(b);
    bed_until_ended(b);
    assert_int_equal(bed_count(b, "reported"), 2);
    assert_int_equal(kb_session_exit_code(b->session), 0);
    cJSON *document = kb_model_document(&b->model);
    const cJSON *command = cJSON_GetArrayItem(kb_json_get(document, "variants"), 1);
    assert_true(cJSON_IsNull(kb_json_get(command, "source")) && cJSON_IsNull(kb_json_get(command, "kernel")));
    const cJSON *list = kb_json_get(command, "reported");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_true(kb_json_number(cJSON_GetArrayItem(list, 0), "us", 0) == 12.5);
    cJSON_Delete(document);
    bed_free(b);
}

static void failure_is_told(void **state)
{
    (void)state;
    struct bed *b = begin("fail");
    bed_start(b);
    bed_until_event(b, "reported variant=rival case=3");
    const cJSON *event = bed_find(b, "reported case=2");
    assert_true(cJSON_IsNull(kb_json_get(event, "us")));
    assert_string_equal(kb_json_text(event, "us_reason", ""), "it was told to");
    bed_free(b);
}

// It lasts for ever: a save goes first, and it is asked again afterwards.
static void save_goes_first(void **state)
{
    (void)state;
    struct bed *b = begin("wait");
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    while (!bed_log_count(b, "run report"))
        bed_idle(b, 5);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "", 2);
    bed_until_event(b, "verdict variant=a");
    assert_int_equal(bed_count(b, "reported"), 0);
    assert_int_equal(bed_count(b, "worker state=killed"), 0);
    while (bed_log_count(b, "run report") < 2)
        bed_idle(b, 5);
    bed_free(b);
}

static void crash_is_told_and_does_not_come_back(void **state)
{
    (void)state;
    struct bed *b = begin("crash");
    bed_start(b);
    bed_until_event(b, "reported variant=rival case=3");
    int asked = bed_log_count(b, "run report"); // the first reading of a.cu may end a request under way
    assert_in_range(asked, 2, 3);
    bed_until_event(b, "verdict variant=a");
    bed_idle(b, 50);
    assert_int_equal(bed_log_count(b, "run report"), asked);
    assert_int_equal(bed_count(b, "reported variant=rival case=2"), 1);
    assert_int_equal(bed_count(b, "reported variant=rival case=3"), 1);
    bed_free(b);
}

static void not_asked_on_a_cpu(void **state)
{
    (void)state;
    struct bed *b = begin("12.5");
    setenv("KB_FAKE_DEVICE", "cpu", 1);
    b->options.once = true;
    bed_start(b);
    bed_until_ended(b);
    assert_int_equal(bed_log_count(b, "run report"), 0);
    struct kb_text table = {0};
    kb_report_table(&b->model, true, &table);
    assert_non_null(strstr(table.data, "no time: commands are asked for their time on a GPU only"));
    kb_text_free(&table);
    unsetenv("KB_FAKE_DEVICE");
    bed_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_timed_case_is_asked_for_once),
        cmocka_unit_test(once_waits_for_them),
        cmocka_unit_test(failure_is_told),
        cmocka_unit_test(save_goes_first),
        cmocka_unit_test(crash_is_told_and_does_not_come_back),
        cmocka_unit_test(not_asked_on_a_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
