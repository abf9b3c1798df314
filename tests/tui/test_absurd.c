// Events as no session sends them: each field in turn missing, of another type, or absurd. The screen draws on.
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "tui/app.h"
#include "tui/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORD KB_SOURCE_DIR "/tests/data/softmax.jsonl"

static unsigned seed = 1;

static unsigned dice(unsigned sides)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % sides;
}

static cJSON *absurd(void)
{
    static const double numbers[] = {0, -1, 1e308, -1e308, 1e-308, 2147483648.0, -9e18, 0.5};
    switch (dice(6)) {
    case 0:
        return cJSON_CreateNull();
    case 1:
        return cJSON_CreateString("\033[2J\xff你\n%s%n");
    case 2:
        return cJSON_CreateArray();
    case 3:
        return cJSON_CreateObject();
    case 4:
        return cJSON_CreateTrue();
    default:
        return cJSON_CreateNumber(numbers[dice(KB_COUNT(numbers))]);
    }
}

static int fields(const cJSON *item)
{
    int n = 0;
    for (const cJSON *child = item->child; child; child = child->next)
        n += 1 + fields(child);
    return n;
}

// Replaces the k-th field below item, counted depth first.
static bool replace(cJSON *item, int *k)
{
    int index = 0;
    for (cJSON *child = item->child; child; child = child->next, index++) {
        if ((*k)-- == 0) {
            char *name = kb_strdup(child->string);
            if (name)
                cJSON_ReplaceItemInObjectCaseSensitive(item, name, absurd());
            else
                cJSON_ReplaceItemInArray(item, index, absurd());
            free(name);
            return true;
        }
        if (replace(child, k))
            return true;
    }
    return false;
}

static void draw_somewhere(struct kb_app *app)
{
    static const int keys[] = {'1', '2', '3', '4', '5', '6', 'z', 'c', KB_KEY_ESC, 'j', 'G', 'v'};
    struct kb_text out = {0};
    struct kb_script script = {app, NULL, 1 + (int)dice(180), 1 + (int)dice(50), &out};
    kb_script_screen(&script, &out);
    kb_text_free(&out);
    kb_app_key(app, keys[dice(KB_COUNT(keys))], false);
}

static void test_absurd_events(void **state)
{
    (void)state;
    char *data;
    size_t size;
    struct kb_model model;
    struct kb_app app;
    assert_int_equal(kb_file_read(RECORD, 1 << 24, &data, &size, NULL), 0);
    for (int round = 0; round < 20; round++) {
        kb_model_init(&model);
        kb_app_init(&app, &model, round % 2);
        for (char *line = data, *end; line < data + size; line = end + 1) {
            end = strchr(line, '\n');
            cJSON *event = cJSON_ParseWithLength(line, (size_t)(end - line));
            assert_non_null(event);
            int n = fields(event), k = (int)dice((unsigned)n);
            kb_model_apply(&model, event);
            if (line == data ? round > 9 : dice(2) == 0) { // the first rounds keep the session as it is
                assert_true(replace(event, &k));
                kb_model_apply(&model, event);
            }
            cJSON_Delete(event);
            if (dice(3) == 0)
                draw_somewhere(&app);
        }
        kb_app_free(&app);
        kb_model_free(&model);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_absurd_events)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
