// The pane of machine code at several sizes: golden frames in tests/tui/golden/sass-*.txt (KB_UPDATE_GOLDEN=1 writes
// them anew; look at their diff), and its keys.
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "tui/view_sass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int sizes[][2] = {{20, 5}, {40, 12}, {80, 24}, {120, 36}, {200, 60}};

struct stage {
    struct kb_sass_view_input in;
    struct kb_sass_view_state state;
    struct kb_sass_listing *a, *b;
    cJSON *diff, *raw;
    struct kb_samples *samples;
};

static char *stored(const char *name)
{
    char *path = kb_format("%s/tests/data/sass/%s.txt", KB_SOURCE_DIR, name), *data = NULL;
    size_t size;
    assert_int_equal(kb_file_read(path, 1 << 24, &data, &size, NULL), 0);
    free(path);
    return data;
}

static struct kb_sass_listing *joined(const char *name)
{
    char *live_name = kb_format("%s_live", name), *lines = stored(name), *live = stored(live_name);
    struct kb_text both = {0};
    struct kb_sass_listing *l;
    assert_int_equal(kb_sass_join(lines, strlen(lines), live, strlen(live), &both, NULL), 0);
    assert_int_equal(kb_sass_parse(both.data, both.size, &l, NULL), 0);
    kb_text_free(&both);
    free(lines);
    free(live);
    free(live_name);
    return l;
}

static const char *source_line(void *context, const char *file, int line)
{
    (void)context;
    return strcmp(file, "/dot.cu") ? NULL
           : line == 12            ? "        s += a[i] * b[i];"
           : line == 11            ? "    for (...)"
                                   : NULL;
}

static void set_up(struct stage *s)
{
    *s = (struct stage){.a = joined("dot_90")};
    char *changed = stored("dot_changed_90");
    assert_int_equal(kb_sass_parse(changed, strlen(changed), &s->b, NULL), 0);
    free(changed);
    const char *kernel = s->a->kernels[0].name;
    const struct kb_sass_sample samples[] = {{kernel, 0xf0, 120}, {kernel, 0x130, 1900}, {kernel, 0x160, 400}};
    cJSON *json = cJSON_CreateArray();
    for (size_t i = 0; i < KB_COUNT(samples); i++) {
        cJSON *item = cJSON_CreateArray();
        cJSON_AddItemToArray(item, cJSON_CreateString(kernel));
        cJSON_AddItemToArray(item, cJSON_CreateNumber(samples[i].offset));
        cJSON_AddItemToArray(item, cJSON_CreateNumber(samples[i].samples));
        cJSON_AddItemToArray(json, item);
    }
    s->samples = kb_samples_make(json);
    cJSON_Delete(json);
    struct kb_sass_diff_options o = {.context = 3, .a = {samples, KB_COUNT(samples)}};
    s->diff = kb_sass_diff(s->a, s->b, &o);
    o.raw = true;
    s->raw = kb_sass_diff(s->a, s->b, &o);
    s->in = (struct kb_sass_view_input){.listing = s->a,
                                        .samples = s->samples,
                                        .diff = s->diff,
                                        .raw_diff = s->raw,
                                        .name_a = "tuned v16",
                                        .name_b = "tuned v17",
                                        .source_line = source_line};
}

static void tear_down(struct stage *s)
{
    kb_sass_free(s->a);
    kb_sass_free(s->b);
    cJSON_Delete(s->diff);
    cJSON_Delete(s->raw);
    kb_samples_free(s->samples);
    kb_sass_view_free(&s->state);
}

static void add_frame(struct kb_text *out, struct stage *s, int columns, int rows, bool ascii)
{
    struct kb_grid g;
    struct kb_text looks = {0}, note = {0};
    kb_grid_init(&g, columns, rows, ascii);
    struct kb_canvas c = {&g, {0, 0, columns, rows}};
    kb_sass_view_draw(&s->in, &s->state, &c);
    kb_sass_view_note(&s->in, &s->state, &note);
    for (int i = 0; i < columns * rows; i++)
        kb_text_addf(&looks, "%d ", g.cells[i].style);
    kb_text_addf(out, "== %dx%d %s styles %.8s note %s\n", columns, rows, ascii ? "ascii" : "utf-8",
                 kb_hash_of(looks.data, looks.size).hex, note.data ? note.data : "");
    for (int y = 0; y < rows; y++) {
        char *row = kb_grid_row(&g, y);
        assert_true(kb_text_width(row, strlen(row)) <= columns);
        for (const char *at = row; ascii && *at; at++)
            assert_true((unsigned char)*at < 0x80);
        kb_text_addf(out, "%s\n", row);
        free(row);
    }
    kb_text_free(&looks);
    kb_text_free(&note);
    kb_grid_free(&g);
}

static void compare(const char *name, const struct kb_text *frames)
{
    char *path = kb_format("%s/tests/tui/golden/sass-%s.txt", KB_SOURCE_DIR, name), *old = NULL;
    size_t size = 0;
    if (getenv("KB_UPDATE_GOLDEN"))
        assert_int_equal(kb_file_replace(path, frames->data, frames->size, NULL), 0);
    assert_int_equal(kb_file_read(path, 1 << 24, &old, &size, NULL), 0);
    if (size != frames->size || memcmp(old, frames->data, size))
        fail_msg("%s differs; KB_UPDATE_GOLDEN=1 takes the new look:\n%s", path, frames->data);
    free(old);
    free(path);
}

static void all_sizes(const char *name, struct stage *s)
{
    struct kb_text frames = {0};
    for (size_t i = 0; i < KB_COUNT(sizes); i++)
        for (int ascii = 0; ascii < 2; ascii++)
            add_frame(&frames, s, sizes[i][0], sizes[i][1], ascii);
    compare(name, &frames);
    kb_text_free(&frames);
}

static void test_listing(void **state)
{
    (void)state;
    struct stage s;
    set_up(&s);
    all_sizes("listing", &s);
    tear_down(&s);
}

static void test_diff(void **state)
{
    (void)state;
    struct stage s;
    set_up(&s);
    assert_true(kb_sass_view_key(&s.in, &s.state, 120, 'd'));
    all_sizes("diff", &s);
    assert_true(kb_sass_view_key(&s.in, &s.state, 120, 'w'));
    all_sizes("diff-raw", &s);
    tear_down(&s);
}

static void frame_has(struct stage *s, int columns, const char *text)
{
    struct kb_text frame = {0};
    add_frame(&frame, s, columns, 40, false);
    if (!strstr(frame.data, text))
        fail_msg("no \"%s\" in\n%s", text, frame.data);
    kb_text_free(&frame);
}

// Nothing there says why; so does what is the same, and what is not whole.
static void test_reasons(void **state)
{
    (void)state;
    struct stage s;
    set_up(&s);
    s.in.listing = NULL;
    frame_has(&s, 80, "no listing yet");
    s.in.listing_reason = "nvdisasm not found; looked in PATH";
    frame_has(&s, 80, "nvdisasm not found; looked in PATH");
    s.in.listing = s.a;
    s.in.listing_reason = "nvdisasm ended with status 1: untrackable branch";
    frame_has(&s, 80, "untrackable branch");
    frame_has(&s, 80, "_Z3dotPKfS0_Pfi  64 instructions");
    s.in.listing_reason = NULL;
    s.in.listing = s.b;
    frame_has(&s, 80, "no live registers in this listing");
    s.state.mode = KB_SASS_DIFF;
    s.in.diff = NULL;
    frame_has(&s, 80, "nothing to compare with yet");
    struct kb_sass_diff_options o = {.context = 3};
    cJSON *same = kb_sass_diff(s.a, s.a, &o);
    s.in.diff = same;
    frame_has(&s, 80, "same code");
    kb_json_set_bool(same, "identical", false);
    frame_has(&s, 80, "no real change: 0 instructions are only written differently (w shows them)");
    cJSON_Delete(same);
    tear_down(&s);
}

// PTX and sources.
static void test_text(void **state)
{
    (void)state;
    static const char a[] = "one\ntwo\nthree\n", b[] = "one\n2\nthree\n";
    struct stage s;
    struct kb_sass_diff_options o = {.context = 3};
    set_up(&s);
    cJSON *document = kb_text_diff(a, sizeof a - 1, b, sizeof b - 1, &o);
    s.in.diff = document;
    s.state.mode = KB_SASS_DIFF;
    frame_has(&s, 80, "1 lines came, 1 left");
    frame_has(&s, 80, "    2 - two\n    2 + 2\n");
    frame_has(&s, 120, "    2 - two");
    cJSON_Delete(document);
    tear_down(&s);
}

static void test_keys(void **state)
{
    (void)state;
    struct stage s;
    struct kb_text frame = {0};
    set_up(&s);
    struct kb_sass_diff_options o = {.raw = true};
    cJSON_Delete(s.raw);
    s.in.raw_diff = s.raw = kb_sass_diff(s.a, s.b, &o); // without context: more hunks
    add_frame(&frame, &s, 80, 10, false);
    assert_true(s.state.rows > 64);
    kb_sass_view_scroll(&s.state, 5);
    assert_int_equal(s.state.top, 5);
    kb_sass_view_scroll(&s.state, -100);
    assert_int_equal(s.state.top, 0);
    kb_sass_view_scroll(&s.state, 1 << 20);
    assert_int_equal(s.state.top, s.state.rows - 10);
    assert_false(kb_sass_view_key(&s.in, &s.state, 80, 'x'));
    kb_sass_view_key(&s.in, &s.state, 80, 'd');
    kb_sass_view_key(&s.in, &s.state, 80, 'w');
    assert_int_equal(s.state.top, 0);
    int stops = 0, last = -1;
    while (s.state.top != last) {
        last = s.state.top;
        kb_sass_view_key(&s.in, &s.state, 80, 'n');
        stops += s.state.top != last;
    }
    assert_int_equal(stops, cJSON_GetArraySize(kb_json_get(s.raw, "hunks")));
    assert_true(stops > 1);
    kb_sass_view_key(&s.in, &s.state, 80, 'p');
    assert_true(s.state.top < last);
    kb_text_free(&frame);
    tear_down(&s);
}

static void test_every_size(void **state)
{
    (void)state;
    struct stage s;
    struct kb_text frame = {0};
    set_up(&s);
    for (int columns = 1; columns < 210; columns += columns < 60 ? 1 : 13)
        for (int rows = 1; rows < 40; rows += 6) {
            kb_text_clear(&frame);
            kb_sass_view_key(&s.in, &s.state, columns, "dwnnp"[(columns + rows) % 5]);
            add_frame(&frame, &s, columns, rows, columns % 2);
        }
    kb_text_free(&frame);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_listing), cmocka_unit_test(test_diff),
                                       cmocka_unit_test(test_reasons), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_keys),    cmocka_unit_test(test_every_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
