// The rungs behind the verdict, with a scripted worker: their order, what a save does to them, refusals, listings.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/parts.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct bed *bed(void)
{
    kb_profile_times = (struct kb_profile_times){20, 40, 3600000};
    return bed_new();
}

static void until_all(struct bed *b)
{
    bed_until_event(b, "rung variant=a rung=counters status=pass");
    bed_until_event(b, "rung variant=b rung=counters status=pass");
    bed_until_event(b, "rung variant=a rung=sass status=pass");
    bed_until_event(b, "rung variant=b rung=sass status=pass");
}

static int index_of(struct bed *b, const char *pattern)
{
    const cJSON *wanted = bed_find(b, pattern), *event;
    int index = 0;
    cJSON_ArrayForEach (event, b->events) {
        if (event == wanted)
            return index;
        index++;
    }
    fail_msg("no event: %s", pattern);
    return -1;
}

static void they_come_behind_the_settled_timing(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_start(b);
    until_all(b);
    int done = index_of(b, "verdict variant=a"), settled = index_of(b, "timing variant=a stage=settled"),
        sections = index_of(b, "sections variant=a"), bytes = index_of(b, "counters variant=a stage=bytes"),
        rest = index_of(b, "counters variant=a stage=rest");
    assert_true(done < settled && settled < sections && sections < bytes && bytes < rest);
    assert_true(done < index_of(b, "sass variant=a"));
    assert_int_equal(bed_log_count(b, "profile prepare"), 1);
    const struct kb_model_version *v = kb_model_current(&b->model, kb_model_variant_index(&b->model, "a"));
    assert_int_equal(v->status, KB_STATUS_PASS);
    assert_non_null(v->sections);
    assert_string_equal(v->counters->stage, "all");
    assert_true(kb_named_value(v->counters->metrics, v->counters->metrics_count, "dram_bytes") == 4096);
    assert_true(kb_named_value(v->counters->metrics, v->counters->metrics_count, "instructions") == 77);
    assert_string_equal(v->sections->sections[0].file, "a.cu");
    bed_free(b);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // no process is left
}

static void advice_comes_last(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_kernel(b, "b.cu", "b", "//fake: verify=fail", 1);
    bed_start(b);
    bed_until_event(b, "advice variant=a version=1");
    assert_true(index_of(b, "advice variant=a") > index_of(b, "counters variant=a stage=rest"));
    assert_true(index_of(b, "advice variant=a") > index_of(b, "sass variant=a"));
    bed_idle(b, 100);
    assert_int_equal(bed_count(b, "advice variant=a"), 1); // nothing new: it is not said again
    assert_int_equal(bed_count(b, "advice variant=b"), 0); // what is wrong has no speed to explain
    const struct kb_model_version *v = kb_model_current(&b->model, kb_model_variant_index(&b->model, "a"));
    assert_non_null(v->advice->limit);
    bed_mark(b);
    kb_session_command(b->session, KB_COMMAND_RERUN, "a");
    bed_until_event(b, "advice variant=a version=1");
    bed_free(b);
}

static void a_save_goes_first(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_kernel(b, "a.cu", "a", "//fake: time=20\n//fake: sections=wait", 1);
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=sections status=running");
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 2);
    bed_until_event(b, "verdict variant=a status=pass");
    assert_non_null(bed_find(b, "rung variant=a version=1 rung=sections status=skip"));
    bed_until_event(b, "rung variant=a version=2 rung=sections status=pass");
    bed_until_event(b, "rung variant=a version=2 rung=counters status=pass");
    bed_until_event(b, "rung variant=b rung=counters status=pass");
    assert_int_equal(bed_log_count(b, "profile start"), 1);
    bed_free(b);
}

static bool asked_to_hold(struct bed *b, const void *count)
{
    return bed_log_count(b, "profile hold") == *(const int *)count;
}

// Taking the sampling hardware takes as long as a compile, so it is asked for beside that, once a save.
static void hold_beside_a_compile(struct bed *b, int version, int holds)
{
    char *name = kb_format("gate%d", version), *gate = bed_path(b, name);
    char *fake = kb_format("//fake: time=20\n//fake: compile=hold:%s", gate);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", fake, version);
    bed_until(b, asked_to_hold, &holds);
    bed_idle(b, 50); // asked once, though the compile goes on
    bed_write(b, name, "");
    char *sections = kb_format("rung variant=a version=%d rung=sections status=pass", version),
         *counters = kb_format("rung variant=a version=%d rung=counters status=pass", version);
    bed_until_event(b, sections);
    bed_until_event(b, counters);
    assert_int_equal(bed_log_count(b, "profile hold"), holds);
    char *all[] = {name, gate, fake, sections, counters};
    for (size_t i = 0; i < KB_COUNT(all); i++)
        free(all[i]);
}

static void the_hardware_is_taken_while_a_save_compiles(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_start(b);
    until_all(b);
    assert_int_equal(bed_log_count(b, "profile hold"), 0); // the first sections take it themselves
    hold_beside_a_compile(b, 2, 1);
    bed_free(b);
}

static void busy_hardware_costs_a_save_nothing(void **state)
{
    (void)state;
    struct bed *b = bed();
    setenv("KB_FAKE_HOLD", "refuse", 1);
    bed_start(b);
    until_all(b);
    hold_beside_a_compile(b, 2, 1);
    hold_beside_a_compile(b, 3, 2);
    bed_free(b);
}

static void a_refusal_is_said_and_asked_once(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_kernel(b, "a.cu", "a", "//fake: sections=refuse\n//fake: sass=na", 1);
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=counters status=pass");
    bed_until_event(b, "rung variant=a rung=sass status=na");
    bed_until_event(b, "rung variant=b rung=counters status=pass");
    assert_string_equal(bed_status(b, "a", "sections"), "na");
    assert_string_equal(bed_reason(b, "a", "sections"), "another profiler holds the hardware; end it, then retry");
    assert_string_equal(bed_status(b, "b", "sections"), "na");
    assert_string_equal(bed_reason(b, "a", "sass"), "there is no nvdisasm");
    assert_int_equal(bed_log_count(b, "profile sections"), 1);
    assert_int_equal(kb_session_exit_code(b->session), 0);
    bed_mark(b);
    kb_session_command(b->session, KB_COMMAND_RETRY, NULL);
    bed_until_event(b, "rung variant=a rung=sass status=na");
    bed_until_event(b, "rung variant=a rung=sections status=na");
    bed_until_event(b, "rung variant=b rung=sections status=na");
    assert_int_equal(bed_log_count(b, "profile sections"), 2);
    bed_free(b);
}

static void an_unsafe_gpu_gets_no_second_context(void **state)
{
    (void)state;
    struct bed *b = bed();
    setenv("KB_FAKE_EXCLUSIVE", "1", 1);
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=counters status=na");
    bed_until_event(b, "rung variant=b rung=counters status=na");
    assert_int_equal(bed_log_count(b, "profile start"), 0);
    assert_non_null(strstr(bed_reason(b, "a", "sections"), "second context"));
    bed_free(b);
}

static bool released(struct bed *b, const void *nothing)
{
    (void)nothing;
    return bed_log_count(b, "profile release") > 0;
}

static void the_hardware_is_given_back(void **state)
{
    (void)state;
    struct bed *b = bed();
    kb_profile_times = (struct kb_profile_times){3600000, 20, 60}; // counters never: they would give it back
    bed_start(b);
    bed_until_event(b, "rung variant=b rung=sections status=pass");
    bed_until(b, released, NULL);
    bed_idle(b, 300); // where b was late, it took the hardware once more
    int releases = bed_log_count(b, "profile release");
    assert_in_range(releases, 1, 2);
    bed_idle(b, 150);
    assert_int_equal(bed_log_count(b, "profile release"), releases);
    bed_free(b);
}

static void a_dead_profiler_fails_nothing(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_kernel(b, "a.cu", "a", "//fake: sections=crash\n//fake: counters=crash\n//fake: sass=crash", 1);
    bed_start(b);
    bed_until_event(b, "rung variant=a rung=counters status=na");
    bed_until_event(b, "rung variant=a rung=sass status=na");
    bed_until_event(b, "rung variant=b rung=counters status=pass");
    bed_until_event(b, "rung variant=b rung=sass status=pass");
    assert_non_null(strstr(bed_reason(b, "a", "sections"), "SIGSEGV"));
    assert_int_equal(kb_session_exit_code(b->session), 0);
    assert_int_equal(kb_model_current(&b->model, 0)->status, KB_STATUS_PASS);
    bed_free(b);
}

static void once_waits_for_them(void **state)
{
    (void)state;
    struct bed *b = bed();
    b->options.once = true;
    bed_start(b);
    bed_until_ended(b);
    cJSON *document = kb_model_document(&b->model);
    const cJSON *a = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0);
    assert_int_equal(cJSON_GetArraySize(kb_json_get(a, "sections")), 1);
    assert_true(kb_json_number(kb_json_get(a, "sass"), "instructions", 0) == 12);
    assert_true(kb_json_number(kb_json_get(a, "roofline_counters"), "bytes", 0) == 4096);
    cJSON_Delete(document);
    bed_free(b);
}

static void without_profile_it_stops_at_the_verdict(void **state)
{
    (void)state;
    struct bed *b = bed();
    b->options.once = b->options.no_profile = true;
    bed_start(b);
    bed_until_ended(b);
    assert_string_equal(bed_status(b, "a", "sass"), "na");
    assert_int_equal(bed_log_count(b, "profile start"), 0);
    assert_int_equal(bed_log_count(b, "compile sass"), 0);
    bed_free(b);
}

static void the_same_code_is_named(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_start(b);
    until_all(b);
    bed_mark(b);
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 5);
    bed_until_event(b, "sass variant=a version=2");
    assert_int_equal(kb_json_int(bed_find(b, "sass variant=a version=2"), "same_code_as", 0), 1);
    bed_kernel(b, "a.cu", "a", "//fake: time=20\n//fake: code=other", 6);
    bed_until_event(b, "sass variant=a version=3");
    assert_true(cJSON_IsNull(kb_json_get(bed_find(b, "sass variant=a version=3"), "same_code_as")));
    int listings = bed_log_count(b, "compile sass");
    bed_kernel(b, "a.cu", "a", "//fake: time=20", 5); // undo: known in every respect
    bed_until_event(b, "build variant=a version=2 state=final known=true");
    bed_idle(b, 150);
    assert_int_equal(bed_log_count(b, "compile sass"), listings);
    bed_free(b);
}

// Of the document that the last diff made, which is there once.
static double samples_in_diff(struct bed *b)
{
    size_t size;
    int id = (int)kb_json_int(bed_find(b, "diff"), "id", 0);
    char *text = kb_session_take_diff(b->session, id, &size);
    assert_non_null(text);
    assert_int_equal(strlen(text), size);
    assert_null(kb_session_take_diff(b->session, id, &size));
    cJSON *document = cJSON_Parse(text);
    double samples = kb_json_number(document, "samples_bytes", 0);
    cJSON_Delete(document);
    free(text);
    return samples;
}

static void listings_and_differences(void **state)
{
    (void)state;
    struct bed *b = bed();
    bed_start(b);
    until_all(b);
    const char *sass = kb_session_listing(b->session, "a", 1, KB_LISTING_SASS);
    assert_non_null(sass);
    assert_non_null(strstr(sass, "__global__ void a("));
    assert_non_null(kb_session_listing(b->session, "a", 1, KB_LISTING_PTX));
    assert_non_null(strstr(kb_session_listing(b->session, "b", 1, KB_LISTING_SOURCE), "void b("));
    assert_non_null(strstr(kb_session_listing(b->session, "a", 1, KB_LISTING_SAMPLES), "\"pcs\""));
    struct kb_diff_request request = {"a", "b", 1, 1, KB_LISTING_SASS, false};
    assert_true(kb_session_diff(b->session, &request) > 0);
    bed_until_event(b, "diff kind=sass reason=null");
    assert_true(samples_in_diff(b) > 0);
    request.kind = KB_LISTING_SOURCE;
    kb_session_diff(b->session, &request);
    bed_until_event(b, "diff kind=source reason=null");
    assert_int_equal(bed_log_count(b, "compile diff text"), 1);
    request.a_version = 99;
    kb_session_diff(b->session, &request);
    bed_until_event(b, "diff ready=false");
    bed_stop(b);

    bed_kernel(b, "a.cu", "a", "//fake: time=20", 7); // another session, another content: v1 lies in the history
    bed_mark(b);
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    assert_null(kb_session_listing(b->session, "a", 1, KB_LISTING_SASS));
    assert_null(kb_session_listing(b->session, "a", 1, KB_LISTING_SASS));
    bed_until_event(b, "listing variant=a version=1 kind=sass ready=true");
    sass = kb_session_listing(b->session, "a", 1, KB_LISTING_SASS);
    assert_non_null(sass);
    assert_non_null(strstr(sass, "__global__ void a("));
    assert_null(kb_session_listing(b->session, "a", 1, KB_LISTING_SAMPLES));
    bed_until_event(b, "listing variant=a version=1 kind=samples ready=true");
    assert_non_null(strstr(kb_session_listing(b->session, "a", 1, KB_LISTING_SAMPLES), "\"pcs\""));
    bed_until_event(b, "sass variant=a version=2");
    bed_mark(b);
    request = (struct kb_diff_request){"a", "a", 1, 2, KB_LISTING_SASS, false};
    kb_session_diff(b->session, &request);
    bed_until_event(b, "diff kind=sass reason=null");
    assert_true(samples_in_diff(b) > 0);
    assert_null(kb_session_listing(b->session, "a", 77, KB_LISTING_PTX));
    bed_until_event(b, "listing variant=a version=77 ready=false");
    bed_free(b);
}

// bench.json with these variants, each of NAME.cu.
static void write_variants(struct bed *b, int count)
{
    struct kb_text text = {0};
    kb_text_add(&text, "{\"kbench\":1,\"name\":\"fake\",\"params\":{\"n\":64},\"args\":["
                       "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"]},"
                       "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"n\"]},"
                       "{\"name\":\"n\",\"role\":\"scalar\",\"dtype\":\"i32\"}],"
                       "\"reference\":{\"source\":\"reference.cu\",\"kernel\":\"ref\","
                       "\"launch\":{\"grid\":[1],\"block\":[32]}},\"variants\":[");
    for (int i = 0; i < count; i++)
        kb_text_addf(&text,
                     "%s{\"name\":\"%c\",\"source\":\"%c.cu\",\"kernel\":\"%c\","
                     "\"launch\":{\"grid\":[1],\"block\":[32]}}",
                     i ? "," : "", 'a' + i, 'a' + i, 'a' + i);
    kb_text_add(&text, "]}");
    bed_write(b, "bench.json", text.data);
    kb_text_free(&text);
}

// The last of twelve variants is still at a late rung when bench.json keeps the first only: its answer finds nobody.
static void a_variant_leaves_the_bench_at(const char *rung, const char *end)
{
    enum { MANY = 12 };
    struct bed *b = bed_new();
    char *gate = bed_path(b, "gate"), *held = kb_format("//fake: time=20\n//fake: %s=%s:%s", rung, end, gate);
    char *running = kb_format("rung variant=l rung=%s status=running", rung);
    for (int i = 0; i < MANY; i++) {
        char file[] = {(char)('a' + i), '.', 'c', 'u', 0}, kernel[] = {(char)('a' + i), 0};
        bed_kernel(b, file, kernel, i == MANY - 1 ? held : "//fake: time=20", 0);
    }
    write_variants(b, MANY);
    bed_start(b);
    bed_until_event(b, running);
    bed_mark(b);
    write_variants(b, 1);
    bed_until_event(b, "bench");
    bed_write(b, "gate", "");
    bed_kernel(b, "a.cu", "a", "//fake: time=18", 1); // and everybody goes on
    bed_until_event(b, "verdict variant=a version=2 status=pass");
    bed_until_event(b, "rung variant=a version=2 rung=sass status=pass");
    bed_until_event(b, "rung variant=a version=2 rung=races status=pass");
    assert_null(bed_find(b, "verdict variant=l"));
    assert_int_equal(b->model.variant_count, 1);
    bed_free(b);
    free(gate);
    free(held);
    free(running);
}

static void variants_leave_the_bench_while_late_rungs_run(void **state)
{
    (void)state;
    a_variant_leaves_the_bench_at("sass", "hold");
    a_variant_leaves_the_bench_at("races", "hold");
    a_variant_leaves_the_bench_at("races", "fail-hold");
    a_variant_leaves_the_bench_at("sections", "hold");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_come_behind_the_settled_timing),
        cmocka_unit_test(advice_comes_last),
        cmocka_unit_test(a_save_goes_first),
        cmocka_unit_test(the_hardware_is_taken_while_a_save_compiles),
        cmocka_unit_test(busy_hardware_costs_a_save_nothing),
        cmocka_unit_test(a_refusal_is_said_and_asked_once),
        cmocka_unit_test(an_unsafe_gpu_gets_no_second_context),
        cmocka_unit_test(the_hardware_is_given_back),
        cmocka_unit_test(a_dead_profiler_fails_nothing),
        cmocka_unit_test(once_waits_for_them),
        cmocka_unit_test(without_profile_it_stops_at_the_verdict),
        cmocka_unit_test(the_same_code_is_named),
        cmocka_unit_test(listings_and_differences),
        cmocka_unit_test(variants_leave_the_bench_while_late_rungs_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
