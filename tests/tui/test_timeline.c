// The timeline of a trace: frames at several sizes against tests/tui/golden/timeline.txt, its keys, and what it says
// where there is nothing to show. KB_UPDATE_GOLDEN=1 writes the file anew; look at its diff.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "loop/session.h"
#include "tui/app.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN KB_SOURCE_DIR "/tests/tui/golden/timeline.txt"

struct stage {
    struct kb_model model;
    struct kb_app app;
    struct kb_trace trace;
    bool spans;  // they are at hand
    char *asked; // last argument of the command
    int asked_times;
};

static void apply(struct stage *s, const char *event)
{
    cJSON *item = cJSON_Parse(event);
    assert_non_null(item);
    assert_int_equal(kb_model_apply(&s->model, item), 0);
    cJSON_Delete(item);
}

static void command(void *context, int what, const char *arg)
{
    struct stage *s = context;
    assert_int_equal(what, KB_COMMAND_TRACE);
    free(s->asked);
    s->asked = kb_strdup(arg);
    s->asked_times++;
}

static const struct kb_trace *spans(void *context, const char *variant, int version)
{
    struct stage *s = context;
    return s->spans && !strcmp(variant, "naive") && version == 3 ? &s->trace : NULL;
}

// 40 blocks of 2 warps on 4 multiprocessors, two at a time; later blocks take longer. Emulated: the same from 0.
static void make_trace(struct kb_trace *t, bool emulated)
{
    enum { BLOCKS = 40, WARPS = 2, EVENTS = 3 };
    static struct kb_section_warp w[BLOCKS * WARPS];
    static unsigned long long events[BLOCKS * WARPS * EVENTS];
    struct kb_trace_plan p = {
        .blocks = BLOCKS, .warps = WARPS, .first = BLOCKS, .recorded = BLOCKS, .capacity = EVENTS};
    struct kb_trace_raw raw = {w, events};
    unsigned long long free_at[8] = {0};
    kb_trace_begin(t, emulated);
    t->ticks_per_us = emulated ? NAN : 1980;
    kb_trace_add_section(t, "load", "naive.cu", 12, 1);
    kb_trace_add_section(t, "compute", "naive.cu", 19, 2);
    kb_trace_add_section(t, "store", "naive.cu", 31, 3);
    for (unsigned b = 0; b < BLOCKS; b++)
        for (unsigned k = 0; k < WARPS; k++) {
            unsigned long long length = 4000 + b * 150 + k * 100, begin = emulated ? 0 : free_at[b % 8];
            struct kb_section_warp *one = &w[b * WARPS + k];
            unsigned long long clock = begin + (emulated ? 0 : 1000000 + b % 4 * 77777), ns = begin * 1000 / 1980;
            *one = (struct kb_section_warp){.begin_clock = emulated ? 1 : clock,
                                            .end_clock = (emulated ? 1 : clock) + length,
                                            .begin_ns = 1000000 + ns,
                                            .end_ns = 1000000 + ns + length * 1000 / 1980,
                                            .sm = b % 4,
                                            .events = EVENTS};
            for (unsigned i = 0; i < EVENTS; i++)
                events[(b * WARPS + k) * EVENTS + i] =
                    (unsigned long long)(i + 1) << 32 | (unsigned)(one->begin_clock + length * (i * 3 + 1) / 10);
            if (k == WARPS - 1)
                free_at[b % 8] = begin + length + 200;
        }
    kb_trace_add_launch(t, "naive", &p, &raw);
    kb_trace_sum_up(t);
}

static void tell(struct stage *s, bool emulated)
{
    cJSON *event =
        cJSON_Parse("{\"type\":\"trace\",\"t_ms\":900,\"variant\":\"naive\",\"version\":3,\"state\":\"done\","
                    "\"case\":0,\"right\":true,\"registers\":{\"plain\":40,\"traced\":42},"
                    "\"slowdown\":{\"ratio\":1.04,\"plain\":37.2,\"traced\":38.7,\"unit\":\"us\","
                    "\"method\":\"cupti, cold, medians\"}}");
    make_trace(&s->trace, emulated);
    kb_trace_to_json(&s->trace, event);
    assert_int_equal(kb_model_apply(&s->model, event), 0);
    cJSON_Delete(event);
}

static void set_up(struct stage *s)
{
    *s = (struct stage){.spans = true};
    kb_model_init(&s->model);
    apply(s, "{\"type\":\"session\",\"t_ms\":1,\"bench\":{\"name\":\"softmax\",\"args\":[]},\"headline\":0,\"focus\":"
             "\"naive\",\"cases\":[{\"index\":0,\"label\":\"4096 x 4096\",\"timed\":true}],"
             "\"variants\":[{\"name\":\"naive\",\"kind\":\"cuda\",\"source\":\"naive.cu\",\"kernel\":\"naive\"}]}");
    apply(s, "{\"type\":\"build\",\"t_ms\":2,\"variant\":\"naive\",\"key\":\"k\",\"state\":\"started\"}");
    apply(s, "{\"type\":\"build\",\"t_ms\":3,\"variant\":\"naive\",\"key\":\"k\",\"state\":\"final\",\"version\":3}");
    for (int i = 0; i < KB_RUNG_LATE; i++) {
        char *rung = kb_format("{\"type\":\"rung\",\"t_ms\":%d,\"variant\":\"naive\",\"version\":3,\"rung\":\"%s\","
                               "\"status\":\"pass\",\"ms\":1}",
                               4 + i, kb_rungs[i].name);
        apply(s, rung);
        free(rung);
    }
    apply(s, "{\"type\":\"done\",\"t_ms\":400,\"variant\":\"naive\",\"version\":3,\"status\":\"pass\",\"ms\":90}");
    kb_app_init(&s->app, &s->model, false);
    s->app.driver = (struct kb_driver){.context = s, .command = command, .trace = spans};
    kb_app_follow(&s->app);
}

static void tear_down(struct stage *s)
{
    kb_app_free(&s->app);
    kb_model_free(&s->model);
    kb_trace_free(&s->trace);
    free(s->asked);
}

static void key(struct stage *s, int k)
{
    kb_app_key(&s->app, k, false);
}

static char *frame(struct stage *s, int columns, int rows, bool ascii)
{
    struct kb_grid g;
    struct kb_text out = {0};
    kb_grid_init(&g, columns, rows, ascii);
    s->app.ascii = ascii;
    s->app.now_ms = 2000;
    kb_app_draw(&s->app, &g);
    for (int y = 0; y < rows; y++) {
        char *row = kb_grid_row(&g, y);
        assert_true(kb_text_width(row, strlen(row)) <= columns);
        for (const char *p = row; ascii && *p; p++)
            assert_true((unsigned char)*p < 0x7f);
        kb_text_addf(&out, "%s\n", row);
        free(row);
    }
    kb_grid_free(&g);
    return kb_text_take(&out);
}

static bool shows(struct stage *s, const char *text)
{
    char *now = frame(s, 120, 36, false);
    bool there = strstr(now, text) != NULL;
    free(now);
    return there;
}

static void add(struct kb_text *out, struct stage *s, const char *what, int columns, int rows, bool ascii)
{
    char *text = frame(s, columns, rows, ascii);
    kb_text_addf(out, "== %s %dx%d %s\n%s", what, columns, rows, ascii ? "ascii" : "utf-8", text);
    free(text);
}

static void test_frames(void **state)
{
    static const int sizes[][2] = {{40, 12}, {80, 24}, {120, 36}, {160, 45}};
    struct stage s;
    struct kb_text out = {0};
    (void)state;
    for (int emulated = 0; emulated < 2; emulated++) {
        set_up(&s);
        tell(&s, emulated);
        key(&s, 'T');
        for (size_t i = 0; i < KB_COUNT(sizes); i++)
            add(&out, &s, emulated ? "emulated" : "multiprocessors", sizes[i][0], sizes[i][1], i % 2);
        if (!emulated) {
            key(&s, 'j');
            key(&s, KB_KEY_ENTER);
            add(&out, &s, "blocks", 80, 24, false);
            key(&s, 'j');
            key(&s, KB_KEY_ENTER);
            add(&out, &s, "warps", 80, 24, false);
            s.spans = false;
            add(&out, &s, "picture", 80, 24, false);
        }
        tear_down(&s);
    }
    char *old = NULL;
    size_t size;
    if (getenv("KB_UPDATE_GOLDEN"))
        assert_int_equal(kb_file_replace(GOLDEN, out.data, out.size, NULL), 0);
    assert_int_equal(kb_file_read(GOLDEN, 1 << 22, &old, &size, NULL), 0);
    if (size != out.size || memcmp(old, out.data, size)) {
        size_t at = 0;
        while (at < size && at < out.size && old[at] == out.data[at])
            at++;
        fail_msg("frames differ from byte %zu on: %.400s", at, out.data + at);
    }
    free(old);
    kb_text_free(&out);
}

static void test_asking(void **state)
{
    struct stage s;
    (void)state;
    set_up(&s);
    key(&s, 'T');
    assert_string_equal(s.asked, "naive@3#0");
    assert_true(shows(&s, "there is no trace of this version"));
    apply(&s, "{\"type\":\"trace\",\"t_ms\":500,\"variant\":\"naive\",\"version\":3,\"state\":\"running\",\"case\":0}");
    assert_true(shows(&s, "being traced"));
    key(&s, 'T'); // not twice
    assert_int_equal(s.asked_times, 1);
    apply(&s, "{\"type\":\"trace\",\"t_ms\":600,\"variant\":\"naive\",\"version\":3,\"state\":\"failed\",\"case\":0,"
              "\"reason\":\"the GPU is on fire\"}");
    assert_true(shows(&s, "the GPU is on fire"));
    key(&s, 'T');
    assert_int_equal(s.asked_times, 2);
    tell(&s, false);
    assert_true(shows(&s, "1.04 x"));
    key(&s, KB_KEY_ESC);
    assert_int_equal(s.app.overlay, KB_OVERLAY_NONE);
    key(&s, 'T'); // it is there: only shown
    assert_int_equal(s.asked_times, 2);
    assert_int_equal(s.app.overlay, KB_OVERLAY_TRACE);
    key(&s, 'T'); // again
    assert_int_equal(s.asked_times, 3);
    tear_down(&s);
}

static void test_keys(void **state)
{
    struct stage s;
    (void)state;
    set_up(&s);
    tell(&s, false);
    key(&s, 'T');
    assert_true(shows(&s, "all multiprocessors"));
    assert_true(shows(&s, "SM 0, 20 warps"));
    key(&s, 'G');
    assert_true(shows(&s, "SM 3, 20 warps"));
    key(&s, KB_KEY_ENTER);
    assert_true(shows(&s, "blocks of SM 3"));
    assert_true(shows(&s, "row 1 of 10"));
    key(&s, KB_KEY_ENTER);
    assert_true(shows(&s, "warps of block 3"));
    key(&s, KB_KEY_ENTER); // no further
    assert_true(shows(&s, "warps of block 3"));
    int64_t before = s.app.timeline.levels[2].window.to - s.app.timeline.levels[2].window.from;
    key(&s, '+');
    assert_true(s.app.timeline.levels[2].window.to - s.app.timeline.levels[2].window.from < before);
    for (int i = 0; i < 40; i++)
        key(&s, i % 2 ? 'l' : '+');
    assert_true(shows(&s, "warps of block 3"));
    for (int i = 0; i < 40; i++)
        key(&s, i % 2 ? 'h' : '-');
    assert_int_equal(s.app.timeline.levels[2].window.from, 0);
    assert_int_equal(s.app.timeline.levels[2].window.to, kb_trace_end(&s.trace));
    key(&s, KB_KEY_ESC);
    assert_true(shows(&s, "blocks of SM 3"));
    key(&s, KB_KEY_BACKSPACE);
    assert_true(shows(&s, "all multiprocessors"));
    key(&s, 'q'); // closes it, and not the program
    assert_int_equal(s.app.overlay, KB_OVERLAY_NONE);
    tear_down(&s);
}

// Any size, with the cursor anywhere.
static void test_sizes(void **state)
{
    struct stage s;
    (void)state;
    set_up(&s);
    tell(&s, false);
    key(&s, 'T');
    for (int rows = 1; rows < 50; rows += 3)
        for (int columns = 1; columns < 170; columns += 13) {
            free(frame(&s, columns, rows, columns % 2));
            key(&s, 'j');
        }
    tear_down(&s);
}

// On a narrow screen whole facts go, not the ends of lines; what is not known is said with its reason.
static void test_head(void **state)
{
    (void)state;
    cJSON *event = cJSON_Parse(
        "{\"slowdown\":{\"ratio\":1.03,\"plain\":33.6,\"traced\":34.6,\"unit\":\"us\",\"method\":\"timed together, "
        "cold\"},"
        "\"registers\":{\"plain\":31,\"traced\":32},\"right\":true,\"ticks_per_us\":1980,\"timer_step_ns\":null,"
        "\"timer_step_ns_reason\":\"the timer did not move\",\"launches\":[{\"kernel\":\"k\",\"which\":\"all 4,096 "
        "blocks\","
        "\"lost_events\":0,\"waves\":3.9,\"tail_share\":0.12,\"block_min_us\":7.1,\"block_median_us\":8,\"block_max_"
        "us\":9}]}");
    struct kb_ev_trace *trace = kb_record_new(&kb_record_trace, event);
    for (int width = 80; width <= 240; width += 40) {
        struct kb_lines lines = {0};
        struct kb_text all = {0};
        kb_timeline_head(trace, width, 4, &lines);
        for (int i = 0; i < lines.count; i++)
            kb_text_addf(&all, "%s ", lines.items[i].text.data);
        assert_true(lines.count <= 4);
        assert_non_null(strstr(all.data, "1.03 x"));
        assert_non_null(strstr(all.data, "idle at the end 12%"));
        assert_non_null(strstr(all.data, "the timer did not move"));
        kb_text_free(&all);
        kb_lines_free(&lines);
    }
    kb_record_delete(&kb_record_trace, trace);
    cJSON_Delete(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head), cmocka_unit_test(test_frames), cmocka_unit_test(test_asking),
        cmocka_unit_test(test_keys), cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
