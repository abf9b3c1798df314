#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "tui/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RECORD KB_SOURCE_DIR "/tests/data/softmax.jsonl"

static int versions(const struct kb_replay *r)
{
    const struct kb_model *m = kb_replay_model(r);
    int i = kb_model_variant_index(m, "tuned");
    return i < 0 ? 0 : m->variants[i].version_count;
}

static void test_seek(void **state)
{
    (void)state;
    struct kb_replay *r = NULL;
    assert_int_equal(kb_replay_open(RECORD, &r, NULL), 0);
    const struct kb_model *model = kb_replay_model(r);
    assert_int_equal(versions(r), 0);
    kb_replay_seek_end(r);
    assert_int_equal(versions(r), 17);
    assert_int_equal(kb_replay_wait_ms(r), -1);
    int64_t end = kb_replay_time_ms(r);
    kb_replay_seek(r, end / 2);
    int half = versions(r);
    assert_in_range(half, 5, 12);
    assert_ptr_equal(model, kb_replay_model(r));
    kb_replay_seek(r, -1000);
    assert_int_equal(versions(r), 0);
    kb_replay_seek(r, end / 2);
    assert_int_equal(versions(r), half);
    kb_replay_seek(r, end * 9);
    assert_int_equal(kb_replay_time_ms(r), end);
    kb_replay_free(r);
}

static void test_play(void **state)
{
    (void)state;
    struct kb_replay *r = NULL;
    assert_int_equal(kb_replay_open(RECORD, &r, NULL), 0);
    int64_t now = 1000000;
    kb_replay_step(r, now);
    for (int i = 0; i < 50; i++)
        kb_replay_step(r, now += 20000);
    assert_int_equal(kb_replay_time_ms(r), 1000);
    kb_replay_act(r, KB_ACT_FASTER);
    kb_replay_step(r, now += 500000);
    assert_int_equal(kb_replay_time_ms(r), 2000);
    kb_replay_act(r, KB_ACT_PAUSE);
    assert_int_equal(kb_replay_wait_ms(r), -1);
    kb_replay_step(r, now += 500000);
    assert_int_equal(kb_replay_time_ms(r), 2000);
    assert_non_null(strstr(kb_replay_text(r, true), "stopped 2x 0:02"));
    kb_replay_act(r, KB_ACT_PAUSE);
    kb_replay_act(r, KB_ACT_SEEK_FORWARD);
    assert_int_equal(kb_replay_time_ms(r), 7000);
    kb_replay_act(r, KB_ACT_SEEK_BACK);
    assert_int_equal(kb_replay_time_ms(r), 2000);
    assert_false(kb_replay_act(r, KB_ACT_HELP));
    kb_replay_free(r);
}

static void test_verdicts(void **state)
{
    (void)state;
    struct kb_replay *r = NULL;
    assert_int_equal(kb_replay_open(RECORD, &r, NULL), 0);
    for (int i = 0; i < 20; i++) // naive, coalesced, shared, and 17 of tuned
        kb_replay_act(r, KB_ACT_NEXT_VERDICT);
    const struct kb_model_version *v = kb_model_current(kb_replay_model(r), 3);
    assert_int_equal(v->number, 17);
    assert_int_equal(v->status, KB_STATUS_PASS);
    for (int i = 0; i < 6; i++)
        kb_replay_act(r, KB_ACT_PREVIOUS_VERDICT);
    v = kb_model_current(kb_replay_model(r), 3);
    assert_int_equal(v->number, 11);
    assert_int_equal(v->status, KB_STATUS_FAIL);
    kb_replay_free(r);
}

static int open_text(const char *text, struct kb_replay **r, struct kb_error *e)
{
    char path[] = "/tmp/kbench-replay-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
    int status = kb_replay_open(path, r, e);
    unlink(path);
    return status;
}

// The record is from before there were verdicts: `done` is the verdict there, and steps go from one to the next. What a
// session of today would have written in its place shows the same.
static void test_a_record_without_verdicts(void **state)
{
    (void)state;
    char *data = NULL;
    size_t size = 0;
    struct kb_model old, new;
    kb_model_init(&old);
    kb_model_init(&new);
    assert_int_equal(kb_file_read(RECORD, 1 << 24, &data, &size, NULL), 0);
    int verdicts = 0;
    for (char *line = strtok(data, "\n"); line; line = strtok(NULL, "\n")) {
        cJSON *event = cJSON_Parse(line);
        bool done = !strcmp(kb_json_text(event, "type", ""), "done");
        kb_model_apply(&old, event);
        if (done)
            kb_json_set_text(event, "type", "verdict");
        kb_model_apply(&new, event);
        if (done)
            kb_json_set_text(event, "type", "done");
        if (done)
            kb_model_apply(&new, event);
        verdicts += done;
        cJSON_Delete(event);
    }
    free(data);
    assert_int_equal(verdicts, 20);
    cJSON *a = kb_model_document(&old), *b = kb_model_document(&new);
    assert_true(cJSON_Compare(a, b, true));
    assert_string_equal(kb_json_text(cJSON_GetArrayItem(kb_json_get(a, "variants"), 0), "status", ""), "pass");
    cJSON_Delete(a);
    cJSON_Delete(b);
    kb_model_free(&old);
    kb_model_free(&new);
}

static void test_bad_files(void **state)
{
    (void)state;
    struct kb_replay *r = NULL;
    struct kb_error e;
    assert_int_equal(kb_replay_open("/nonexistent/file", &r, &e), -1);
    assert_int_equal(open_text("", &r, &e), -1);
    assert_int_equal(open_text("garbage\n[1,2\n{\"no\":\"type\"}\n", &r, &e), -1);
    assert_non_null(strstr(e.what, "3 lines"));
    assert_int_equal(open_text("garbage\n{\"type\":\"log\",\"text\":\"x\"}\n{\"type\":\"lo", &r, &e), 0);
    kb_replay_seek_end(r);
    assert_int_equal(kb_replay_model(r)->log_count, 1);
    kb_replay_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seek),      cmocka_unit_test(test_play),
        cmocka_unit_test(test_verdicts),  cmocka_unit_test(test_a_record_without_verdicts),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
