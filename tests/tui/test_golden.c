// Each view at each size, as it was when somebody looked at it: tests/tui/golden/*.txt holds the text, and a digest of
// the looks of all cells in colour and in mono. KB_UPDATE_GOLDEN=1 writes the files anew; look at their diff.
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "tui/replay.h"
#include "tui/script.h"
#include "tui/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORD KB_SOURCE_DIR "/tests/data/softmax.jsonl"
#define GOLDEN KB_SOURCE_DIR "/tests/tui/golden"

static const int sizes[][2] = {{20, 5}, {40, 12}, {80, 24}, {120, 36}, {200, 60}};

struct stage {
    struct kb_replay *replay;
    struct kb_app app;
};

static bool act(void *context, enum kb_action action)
{
    return kb_replay_act(context, action);
}

static void set_up(struct stage *s, const char *file, int64_t t_ms)
{
    assert_int_equal(kb_replay_open(file, &s->replay, NULL), 0);
    kb_replay_seek(s->replay, t_ms);
    kb_app_init(&s->app, kb_replay_model(s->replay), false);
    s->app.driver = (struct kb_driver){.context = s->replay, .replay = act};
}

static void tear_down(struct stage *s)
{
    kb_app_free(&s->app);
    kb_replay_free(s->replay);
}

static void digest(const struct kb_grid *g, const char *theme, int colors, char out[9])
{
    struct kb_text looks = {0};
    for (int i = 0; i < g->columns * g->rows; i++) {
        struct kb_look look =
            kb_theme_look(kb_theme_find(theme), (enum kb_style)g->cells[i].style, g->cells[i].selected, colors);
        kb_text_addf(&looks, "%d %d %u\n", look.fg, look.bg, look.attributes);
    }
    snprintf(out, 9, "%.8s", kb_hash_of(looks.data, looks.size).hex);
    kb_text_free(&looks);
}

static void add_frame(struct kb_text *out, struct stage *s, int columns, int rows, bool ascii)
{
    struct kb_grid g;
    char colour[9], mono[9];
    kb_grid_init(&g, columns, rows, ascii);
    s->app.ascii = ascii;
    s->app.now_ms = kb_replay_time_ms(s->replay) + 3000;
    s->app.replay_text = kb_replay_text(s->replay, ascii);
    kb_app_follow(&s->app);
    kb_app_draw(&s->app, &g);
    digest(&g, "dark", 256, colour);
    digest(&g, "mono", 0, mono);
    kb_text_addf(out, "== %dx%d %s colour %s mono %s\n", columns, rows, ascii ? "ascii" : "utf-8", colour, mono);
    for (int y = 0; y < rows; y++) {
        char *row = kb_grid_row(&g, y);
        assert_true(kb_text_width(row, strlen(row)) <= columns);
        kb_text_addf(out, "%s\n", row);
        free(row);
    }
    kb_grid_free(&g);
}

static void add_all_sizes(struct kb_text *out, struct stage *s)
{
    for (size_t i = 0; i < KB_COUNT(sizes); i++)
        for (int ascii = 0; ascii < 2; ascii++)
            add_frame(out, s, sizes[i][0], sizes[i][1], ascii);
}

static void compare(const char *name, const struct kb_text *frames)
{
    char *path = kb_format("%s/%s.txt", GOLDEN, name), *old = NULL;
    size_t size = 0;
    if (getenv("KB_UPDATE_GOLDEN")) {
        assert_int_equal(kb_make_dirs(GOLDEN, NULL), 0);
        assert_int_equal(kb_file_replace(path, frames->data, frames->size, NULL), 0);
    }
    assert_int_equal(kb_file_read(path, 1 << 24, &old, &size, NULL), 0);
    if (size != frames->size || memcmp(old, frames->data, size)) {
        size_t at = 0, line = 1;
        while (at < size && at < frames->size && old[at] == frames->data[at])
            line += old[at++] == '\n';
        fail_msg("%s: line %zu differs; KB_UPDATE_GOLDEN=1 takes the new look:\n%.600s", path, line,
                 frames->data + (at > 200 ? at - 200 : 0));
    }
    free(old);
    free(path);
}

static void test_views(void **state)
{
    (void)state;
    for (int pane = 0; pane < KB_PANES; pane++) {
        struct stage s;
        struct kb_text frames = {0};
        set_up(&s, RECORD, INT64_MAX);
        s.app.focus = (enum kb_pane)pane;
        s.app.zoom = true;
        add_all_sizes(&frames, &s);
        compare(kb_view_of((enum kb_pane)pane)->name, &frames);
        kb_text_free(&frames);
        tear_down(&s);
    }
}

// The moments of a session that a screen is for.
static void test_moments(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int verdicts; // of all variants, before it
        int64_t later_ms;
    } moments[] = {{"empty", 0, 0}, {"first", 1, 0},        {"compile-error", 7, 500}, {"hung-running", 8, 18000},
                   {"hung", 9, 10}, {"impossible", 12, 10}, {"wrong", 14, 10},         {"end", 99, 0}};
    for (size_t i = 0; i < KB_COUNT(moments); i++) {
        struct stage s;
        struct kb_text frames = {0};
        set_up(&s, RECORD, 0);
        for (int k = 0; k < moments[i].verdicts; k++)
            kb_replay_act(s.replay, KB_ACT_NEXT_VERDICT);
        kb_replay_seek(s.replay, kb_replay_time_ms(s.replay) + moments[i].later_ms);
        add_frame(&frames, &s, 120, 36, false);
        add_frame(&frames, &s, 80, 24, true);
        compare(moments[i].name, &frames);
        kb_text_free(&frames);
        tear_down(&s);
    }
}

static void test_overlays(void **state)
{
    (void)state;
    static const int keys[] = {'?', KB_KEY_ESC, 'c', KB_KEY_DOWN, KB_KEY_ENTER, 'R', KB_KEY_ESC};
    struct stage s;
    struct kb_text frames = {0};
    set_up(&s, RECORD, INT64_MAX);
    for (size_t i = 0; i < KB_COUNT(keys); i++) {
        kb_app_key(&s.app, keys[i], false);
        add_frame(&frames, &s, 100, 30, false);
    }
    compare("overlays", &frames);
    kb_text_free(&frames);
    tear_down(&s);
}

// Beside each other: the overview and the page of code.
static void test_pages(void **state)
{
    (void)state;
    static const int wide[][2] = {{110, 34}, {120, 36}, {160, 45}, {200, 60}};
    static const int keys[] = {'2', '6', '8', '9', 'd', '7'};
    struct stage s;
    struct kb_text frames = {0};
    set_up(&s, RECORD, INT64_MAX);
    for (size_t k = 0; k < KB_COUNT(keys); k++) {
        kb_app_key(&s.app, keys[k], false);
        for (size_t i = 0; i < KB_COUNT(wide); i++)
            add_frame(&frames, &s, wide[i][0], wide[i][1], false);
    }
    compare("pages", &frames);
    kb_text_free(&frames);
    tear_down(&s);
}

// At any size, at any moment, in any pane: it draws, and every text fits.
static void test_every_size(void **state)
{
    (void)state;
    struct kb_text frames = {0};
    for (int moment = 0; moment < 6; moment++) {
        struct stage s;
        set_up(&s, RECORD, moment * 30000);
        for (int columns = 1; columns <= 220; columns += columns < 50 ? 3 : 19)
            for (int rows = 1; rows <= 70; rows += rows < 14 ? 2 : 13) {
                kb_text_clear(&frames);
                kb_app_key(&s.app, "\t1z3?6v/c\033gG789nNdmw"[(columns + rows) % 21], false);
                add_frame(&frames, &s, columns, rows, columns % 2);
            }
        tear_down(&s);
    }
    kb_text_free(&frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_views), cmocka_unit_test(test_moments),
                                       cmocka_unit_test(test_overlays), cmocka_unit_test(test_pages),
                                       cmocka_unit_test(test_every_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
