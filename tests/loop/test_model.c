// The model, driven by events alone.
#include "base/json.h"
#include "base/text.h"
#include "loop/model.h"
#include "loop/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the headers above first
#include <cmocka.h>

static void apply(struct kb_model *m, const char *text)
{
    cJSON *event = cJSON_Parse(text);
    assert_non_null(event);
    assert_int_equal(kb_model_apply(m, event), 0);
    cJSON_Delete(event);
}

static void start(struct kb_model *m)
{
    kb_model_init(m);
    apply(m,
          "{\"type\":\"session\",\"t_ms\":0,\"bench\":{\"name\":\"softmax\"},\"headline\":0,\"focus\":\"tuned\","
          "\"cases\":[{\"index\":0,\"label\":\"4096 x 4096\",\"timed\":true},{\"index\":1,\"label\":\"1 x 1\"}],"
          "\"variants\":[{\"name\":\"naive\",\"source\":\"naive.cu\"},{\"name\":\"tuned\",\"source\":\"tuned.cu\"}]}");
}

static void build(struct kb_model *m, const char *key, int version)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"type\":\"build\",\"t_ms\":10,\"variant\":\"tuned\",\"key\":\"%s\",\"state\":\"started\"}", key);
    apply(m, text);
    if (!version)
        return;
    snprintf(text, sizeof text,
             "{\"type\":\"build\",\"t_ms\":12,\"variant\":\"tuned\",\"key\":\"%s\",\"state\":\"final\",\"version\":%d}",
             key, version);
    apply(m, text);
}

static void test_focus_and_names(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    assert_int_equal(m.focus, 1);
    assert_int_equal(m.case_count, 2);
    assert_int_equal(kb_model_variant_index(&m, "naive"), 0);
    assert_int_equal(kb_model_variant_index(&m, "nosuch"), -1);
    assert_null(kb_model_current(&m, 1));
    assert_null(kb_model_current(&m, 7));
    kb_model_free(&m);
}

static void test_ladder_of_one_version(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    build(&m, "aaaa", 1);
    apply(&m, "{\"type\":\"rung\",\"t_ms\":20,\"variant\":\"tuned\",\"version\":1,\"rung\":\"compile\",\"status\":"
              "\"running\"}");
    struct kb_model_version *v = kb_model_current(&m, 1);
    assert_int_equal(v->rungs[KB_RUNG_COMPILE].status, KB_STATUS_RUNNING);
    assert_int_equal(v->rungs[KB_RUNG_COMPILE].since_ms, 20);
    apply(&m, "{\"type\":\"rung\",\"t_ms\":50,\"variant\":\"tuned\",\"version\":1,\"rung\":\"compile\",\"status\":"
              "\"pass\",\"ms\":30.5}");
    assert_true(v->rungs[KB_RUNG_COMPILE].ms == 30.5);
    apply(
        &m,
        "{\"type\":\"timing\",\"t_ms\":60,\"variant\":\"tuned\",\"version\":1,\"case\":0,\"cold\":{\"median_us\":36.8},"
        "\"warm\":null,\"roofline\":{\"impossible\":false}}");
    assert_true(v->cold_us == 36.8);
    assert_true(isnan(v->warm_us));
    apply(&m, "{\"type\":\"done\",\"t_ms\":70,\"variant\":\"tuned\",\"version\":1,\"status\":\"pass\",\"first_verdict_"
              "ms\":61}");
    assert_ptr_equal(kb_model_last_good(&m, 1), v);
    assert_int_equal(v->done_ms, 70);
    kb_model_free(&m);
}

static void test_done_behind_a_verdict_changes_nothing(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    build(&m, "aaaa", 1);
    apply(&m,
          "{\"type\":\"verdict\",\"t_ms\":70,\"variant\":\"tuned\",\"version\":1,\"status\":\"pass\",\"first_verdict_"
          "ms\":61}");
    struct kb_model_version *v = kb_model_current(&m, 1);
    assert_int_equal(v->status, KB_STATUS_PASS);
    apply(&m, "{\"type\":\"verdict\",\"t_ms\":80,\"variant\":\"tuned\",\"version\":1,\"status\":\"fail\",\"rung\":"
              "\"races\"}");
    assert_int_equal(v->status, KB_STATUS_FAIL);
    apply(&m,
          "{\"type\":\"done\",\"t_ms\":90,\"variant\":\"tuned\",\"version\":1,\"status\":\"fail\",\"rung\":\"races\","
          "\"first_verdict_ms\":99}");
    assert_int_equal(v->done_ms, 80);
    assert_true(v->first_verdict_ms == 61);
    assert_string_equal(v->failed_rung, "races");
    kb_model_free(&m);
}

static void test_wrong_version_has_no_speed_and_last_good_stays(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    build(&m, "aaaa", 1);
    apply(&m, "{\"type\":\"done\",\"variant\":\"tuned\",\"version\":1,\"status\":\"pass\"}");
    build(&m, "bbbb", 2);
    apply(&m, "{\"type\":\"timing\",\"variant\":\"tuned\",\"version\":2,\"case\":0,\"cold\":{\"median_us\":1.0}}");
    apply(&m, "{\"type\":\"done\",\"variant\":\"tuned\",\"version\":2,\"status\":\"fail\",\"rung\":\"verify\"}");
    assert_true(isnan(kb_model_current(&m, 1)->cold_us));
    assert_string_equal(kb_model_current(&m, 1)->failed_rung, "verify");
    assert_int_equal(kb_model_last_good(&m, 1)->number, 1);
    kb_model_free(&m);
}

static void test_impossible_time_is_no_speed(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    build(&m, "aaaa", 1);
    apply(&m, "{\"type\":\"timing\",\"variant\":\"tuned\",\"version\":1,\"case\":0,\"cold\":{\"median_us\":0.1},"
              "\"roofline\":{\"impossible\":true}}");
    assert_true(kb_model_current(&m, 1)->impossible);
    assert_true(isnan(kb_model_current(&m, 1)->cold_us));
    kb_model_free(&m);
}

static void facts(struct kb_model *m, int launch, const char *kernel, int lanes, int line)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "{\"type\":\"facts\",\"variant\":\"tuned\",\"version\":1,\"case\":0,\"launch\":%d,\"facts\":{\"kernel\":\"%s\","
        "\"instructions\":10,\"thread_instructions\":%d,\"average_active_lanes\":%d,\"bytes\":{\"global_load\":64},"
        "\"lines\":[{\"line\":%d,\"file\":\"/a.cu\",\"sectors\":4}],\"reports\":[]}}",
        launch, kernel, 10 * lanes, lanes, line);
    apply(m, text);
}

static void test_facts_of_several_launches_add_up(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    build(&m, "aaaa", 1);
    for (int run = 0; run < 2; run++) { // a second run replaces the first
        facts(&m, 0, "one", 32, 7);
        facts(&m, 1, "two", 16, 7);
        facts(&m, 2, "three", 16, 9);
    }
    const struct kb_ev_counts *c = kb_model_current(&m, 1)->cases[0].facts->facts;
    assert_string_equal(c->kernel, "one, two, three");
    assert_true(c->instructions == 30);
    assert_true(c->bytes->global_load == 192);
    assert_true(c->average_active_lanes == 640.0 / 30);
    assert_int_equal(c->lines_count, 2);
    assert_true(c->lines[0].sectors == 8);
    assert_int_equal(c->lines[0].line, 7);
    kb_model_free(&m);
}

static void test_advice_in_table_and_document(void **state)
{
    (void)state;
    struct kb_model m;
    struct kb_text table = {0};
    start(&m);
    build(&m, "aaaa", 1);
    apply(&m, "{\"type\":\"done\",\"variant\":\"tuned\",\"version\":1,\"status\":\"pass\"}");
    apply(&m, "{\"type\":\"advice\",\"variant\":\"tuned\",\"version\":1,\"limit\":\"latency\",\"confidence\":\"fair\","
              "\"evidence\":[],\"steps\":[{\"rule\":\"r\",\"text\":\"unroll\",\"file\":\"tuned.cu\",\"line\":7,"
              "\"instruction\":\"LDG\"}],\"missing\":null}");
    apply(&m, "{\"type\":\"rung\",\"variant\":\"tuned\",\"version\":1,\"rung\":\"verify\",\"status\":\"pass\","
              "\"reason\":\"3 of 16 repeated runs differ bitwise\"}");
    kb_report_table(&m, true, &table);
    assert_non_null(strstr(table.data, "tuned: verify passed: 3 of 16 repeated runs differ bitwise\n"));
    assert_non_null(strstr(table.data, "tuned: limit latency (fair evidence): tuned.cu:7: unroll\n"));
    kb_text_free(&table);
    cJSON *document = kb_model_document(&m);
    const cJSON *variants = kb_json_get(document, "variants"), *naive = cJSON_GetArrayItem(variants, 0),
                *tuned = cJSON_GetArrayItem(variants, 1);
    assert_string_equal(kb_json_text(kb_json_get(tuned, "advice"), "limit", ""), "latency");
    assert_true(cJSON_IsNull(kb_json_get(naive, "advice")));
    assert_non_null(kb_json_text(naive, "advice_reason", NULL));
    cJSON_Delete(document);
    build(&m, "bbbb", 2); // a new version has none yet
    assert_null(kb_model_current(&m, 1)->advice);
    kb_model_free(&m);
}

static void test_undo_brings_the_old_version_back(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    build(&m, "aaaa", 1);
    apply(&m, "{\"type\":\"done\",\"variant\":\"tuned\",\"version\":1,\"status\":\"pass\"}");
    build(&m, "bbbb", 2);
    build(&m, "aaaa", 1);
    assert_int_equal(m.variants[1].version_count, 2);
    assert_int_equal(kb_model_current(&m, 1)->number, 1);
    kb_model_free(&m);
}

static void test_superseded_builds_do_not_pile_up(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    for (int i = 0; i < 1000; i++) {
        char key[16], text[160];
        snprintf(key, sizeof key, "k%d", i);
        build(&m, key, 0);
        snprintf(text, sizeof text,
                 "{\"type\":\"build\",\"variant\":\"tuned\",\"key\":\"%s\",\"state\":\"superseded\"}", key);
        apply(&m, text);
    }
    assert_true(m.variants[1].version_count <= 2);
    kb_model_free(&m);
}

static void test_old_versions_keep_numbers_not_documents(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    for (int i = 1; i <= 200; i++) {
        char key[16], text[256];
        snprintf(key, sizeof key, "k%d", i);
        build(&m, key, i);
        snprintf(text, sizeof text,
                 "{\"type\":\"timing\",\"variant\":\"tuned\",\"version\":%d,\"case\":0,\"cold\":{\"median_us\":%d}}", i,
                 i);
        apply(&m, text);
    }
    struct kb_model_version *first = kb_model_version(&m, 1, 1), *last = kb_model_version(&m, 1, 200);
    assert_true(first->cold_us == 1);
    assert_null(kb_model_timing(&m, first, 0));
    assert_non_null(kb_model_timing(&m, last, 0));
    kb_model_free(&m);
}

static void test_new_contract_drops_results_and_keeps_versions(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    build(&m, "aaaa", 1);
    apply(&m,
          "{\"type\":\"case\",\"variant\":\"tuned\",\"version\":1,\"case\":1,\"rung\":\"verify\",\"status\":\"pass\"}");
    apply(&m, "{\"type\":\"bench\",\"error\":{\"text\":\"bench.json:3: no\"}}");
    assert_string_equal(m.bench_error, "bench.json:3: no");
    assert_int_equal(m.variant_count, 2);
    apply(&m,
          "{\"type\":\"bench\",\"bench\":{\"name\":\"softmax\"},\"cases\":[{\"index\":0},{\"index\":1},{\"index\":2}],"
          "\"variants\":[{\"name\":\"tuned\"},{\"name\":\"new\"}]}");
    assert_null(m.bench_error);
    assert_int_equal(m.case_count, 3);
    assert_int_equal(m.focus, 0);
    struct kb_model_version *v = kb_model_current(&m, 0);
    assert_int_equal(v->number, 1);
    assert_null(v->cases[1].verify);
    kb_model_free(&m);
}

static void test_an_edit_within_the_contract_keeps_results(void **state)
{
    (void)state;
    static const char *const contracts[] = {"c1", "c1", "c2"};
    struct kb_model m;
    char text[512];
    start(&m);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text,
                 "{\"type\":\"bench\",\"bench\":{\"name\":\"softmax\",\"contract\":\"%s\"},\"headline\":0,"
                 "\"cases\":[{\"index\":0},{\"index\":1}],\"variants\":[{\"name\":\"tuned\"}]}",
                 contracts[i]);
        apply(&m, text);
        if (i == 0) {
            build(&m, "aaaa", 1);
            apply(&m, "{\"type\":\"case\",\"t_ms\":60,\"variant\":\"tuned\",\"version\":1,\"rung\":\"verify\","
                      "\"case\":1,\"status\":\"pass\"}");
        }
        assert_int_equal(m.variants[0].versions[0].cases[1].verify != NULL, i < 2);
    }
    kb_model_free(&m);
}

static void test_tensor_roofs_matter_for_bytes_of_either_sign(void **state)
{
    (void)state;
    static const char *const types[] = {"u8", "i8", "f16", "f32"};
    struct kb_model m;
    char text[256];
    for (int i = 0; i < 4; i++) {
        kb_model_init(&m);
        snprintf(
            text, sizeof text,
            "{\"type\":\"session\",\"t_ms\":0,\"bench\":{\"name\":\"b\",\"args\":[{\"name\":\"x\",\"dtype\":\"%s\"}]},"
            "\"cases\":[],\"variants\":[]}",
            types[i]);
        apply(&m, text);
        assert_int_equal(kb_model_tensor_types(&m), i < 3);
        kb_model_free(&m);
    }
}

static void test_log_is_a_bounded_ring_of_clean_lines(void **state)
{
    (void)state;
    struct kb_model m;
    start(&m);
    apply(&m, "{\"type\":\"log\",\"source\":\"compile\",\"text\":\"a\\u001b]52;c;x\\u0007\\nb\\n\",\"dropped\":3}");
    assert_int_equal(m.log_count, 2);
    assert_int_equal(m.log_dropped, 3);
    assert_null(strchr(kb_model_log(&m, 0)->text, 0x1b));
    assert_string_equal(kb_model_log(&m, 1)->text, "b");
    for (int i = 0; i < KB_LOG_MOST; i++)
        apply(&m, "{\"type\":\"log\",\"source\":\"run\",\"text\":\"x\"}");
    assert_int_equal(m.log_count, KB_LOG_MOST);
    assert_int_equal(m.log_dropped, 5);
    assert_string_equal(kb_model_log(&m, 0)->text, "x");
    assert_null(kb_model_log(&m, KB_LOG_MOST));
    kb_model_free(&m);
}

static void test_garbage_is_ignored(void **state)
{
    (void)state;
    struct kb_model m;
    kb_model_init(&m);
    cJSON *nothing = cJSON_Parse("[1]");
    assert_int_equal(kb_model_apply(&m, nothing), -1);
    cJSON_Delete(nothing);
    const char *events[] = {"{\"type\":\"rung\"}",    "{\"type\":\"case\",\"variant\":\"x\",\"case\":99}",
                            "{\"type\":\"nosuch\"}",  "{\"type\":\"build\",\"variant\":7}",
                            "{\"type\":\"session\"}", "{\"type\":\"done\",\"variant\":\"\"}"};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        apply(&m, events[i]);
    kb_model_free(&m);
    start(&m);
    build(&m, "aaaa", 1);
    apply(&m, "{\"type\":\"case\",\"variant\":\"tuned\",\"version\":1,\"case\":99,\"rung\":\"verify\"}");
    apply(&m, "{\"type\":\"case\",\"variant\":\"tuned\",\"version\":1,\"case\":-1,\"rung\":\"verify\"}");
    kb_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_focus_and_names),
        cmocka_unit_test(test_ladder_of_one_version),
        cmocka_unit_test(test_done_behind_a_verdict_changes_nothing),
        cmocka_unit_test(test_wrong_version_has_no_speed_and_last_good_stays),
        cmocka_unit_test(test_impossible_time_is_no_speed),
        cmocka_unit_test(test_facts_of_several_launches_add_up),
        cmocka_unit_test(test_advice_in_table_and_document),
        cmocka_unit_test(test_undo_brings_the_old_version_back),
        cmocka_unit_test(test_superseded_builds_do_not_pile_up),
        cmocka_unit_test(test_old_versions_keep_numbers_not_documents),
        cmocka_unit_test(test_new_contract_drops_results_and_keeps_versions),
        cmocka_unit_test(test_an_edit_within_the_contract_keeps_results),
        cmocka_unit_test(test_tensor_roofs_matter_for_bytes_of_either_sign),
        cmocka_unit_test(test_log_is_a_bounded_ring_of_clean_lines),
        cmocka_unit_test(test_garbage_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
