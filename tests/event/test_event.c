// The table of events against what recordings hold: everything that stands there is read, kept and written again.
#include "base/file.h"
#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"
#include "base/text.h"
#include "event/event.h"
#include "event/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// null, false and empty lists may be absent.
static bool is_nothing(const cJSON *item)
{
    return !item || cJSON_IsNull(item) || cJSON_IsFalse(item) || (cJSON_IsArray(item) && !item->child) ||
           (cJSON_IsObject(item) && !item->child);
}

// Where b lacks something of a, or has it otherwise; "": nowhere.
static void differ(const cJSON *a, const cJSON *b, const char *where, struct kb_text *out)
{
    const cJSON *item;
    if (cJSON_IsObject(a) && cJSON_IsObject(b)) {
        cJSON_ArrayForEach (item, a) {
            const cJSON *other = kb_json_get(b, item->string);
            if (is_nothing(item) && is_nothing(other))
                continue;
            char *deeper = kb_format("%s.%s", where, item->string);
            if (other)
                differ(item, other, deeper, out);
            else
                kb_text_addf(out, "%s is lost\n", deeper);
            free(deeper);
        }
    } else if (cJSON_IsArray(a) && cJSON_IsArray(b) && cJSON_GetArraySize(a) == cJSON_GetArraySize(b)) {
        const cJSON *other = b->child;
        cJSON_ArrayForEach (item, a) {
            differ(item, other, where, out);
            other = other->next;
        }
    } else if (!cJSON_Compare(a, b, true)) {
        char *one = cJSON_PrintUnformatted(a), *two = cJSON_PrintUnformatted(b);
        kb_text_addf(out, "%s: %.80s is now %.80s\n", where, one, two);
        cJSON_free(one);
        cJSON_free(two);
    }
}

static void check_line(const char *line, struct kb_text *out)
{
    cJSON *before = cJSON_Parse(line);
    struct kb_event event, copy;
    assert_non_null(before);
    const char *type = kb_json_text(before, "type", "?");
    if (kb_event_read(before, &event)) {
        kb_text_addf(out, "no event %s\n", type);
        cJSON_Delete(before);
        return;
    }
    copy = event;
    copy.body = kb_record_dup(kb_event_record(event.type), event.body);
    copy.variant = kb_strdup(event.variant);
    kb_event_free(&event);
    cJSON *after = kb_event_write(&copy);
    differ(before, after, type, out);
    kb_event_free(&copy);
    cJSON_Delete(after);
    cJSON_Delete(before);
}

static void check_recording(const char *path)
{
    char *text;
    size_t size;
    struct kb_text out = {0};
    assert_int_equal(kb_file_read(path, 64 << 20, &text, &size, NULL), 0);
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        check_line(line, &out);
    if (out.size)
        fail_msg("%s\n%.20000s", path, out.data);
    kb_text_free(&out);
    free(text);
}

static void recordings_are_what_the_table_says(void **state)
{
    (void)state;
    check_recording(KB_SOURCE_DIR "/tests/data/softmax.jsonl");
    if (getenv("KB_RECORDING")) // one of your own
        check_recording(getenv("KB_RECORDING"));
}

// KB_UPDATE_GOLDEN=1 writes it.
// Sizes of a case may be larger than what a double holds.
static void whole_numbers_keep_their_digits(void **state)
{
    (void)state;
    static const char text[] = "{\"type\":\"session\",\"params\":{\"n\":100,\"m\":9007199254740993},"
                               "\"cases\":[{\"params\":{\"m\":-9223372036854775807}}]}";
    cJSON *json = kb_json_parse(text, strlen(text));
    struct kb_event e;
    int64_t value;
    assert_int_equal(kb_event_read(json, &e), 0);
    cJSON *again = kb_event_write(&e);
    assert_true(kb_json_exact(kb_json_get(kb_json_get(again, "params"), "m"), &value));
    assert_true(value == 9007199254740993);
    const struct kb_ev_session *s = e.body;
    struct kb_ev_session *copy = kb_record_dup(&kb_record_session, s);
    assert_true(copy->cases[0].params[0].whole == -9223372036854775807);
    assert_true(copy->params[0].value == 100 && !copy->params[0].whole);
    kb_record_delete(&kb_record_session, copy);
    kb_event_free(&e);
    cJSON_Delete(again);
    cJSON_Delete(json);
}

static void the_schema_in_docs_is_the_tables(void **state)
{
    (void)state;
    static const char path[] = KB_SOURCE_DIR "/docs/events.schema.json";
    cJSON *schema = kb_events_schema();
    char *made = cJSON_Print(schema), *kept = NULL;
    char *text = kb_format("%s\n", made);
    size_t size;
    if (getenv("KB_UPDATE_GOLDEN"))
        assert_int_equal(kb_file_replace(path, text, strlen(text), NULL), 0);
    assert_int_equal(kb_file_read(path, 1 << 20, &kept, &size, NULL), 0);
    if (strcmp(text, kept))
        fail_msg("docs/events.schema.json is not what event/table.def says: run this test with KB_UPDATE_GOLDEN=1");
    free(kept);
    free(text);
    cJSON_free(made);
    cJSON_Delete(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings_are_what_the_table_says),
        cmocka_unit_test(whole_numbers_keep_their_digits),
        cmocka_unit_test(the_schema_in_docs_is_the_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
