#include "tui/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_COLUMNS = 300, MOST_ROWS = 100, RECTANGLES = 5 + KB_PANES };

static int collect(const struct kb_layout *l, struct kb_rect *out)
{
    const struct kb_rect bars[] = {l->bar, l->ladder, l->verdict, l->tabs, l->footer};
    memcpy(out, bars, sizeof bars);
    memcpy(out + 5, l->panes, sizeof l->panes);
    return RECTANGLES;
}

// No overlap, all inside: each cell is covered at most once.
static void check_cover(const struct kb_layout *l, int columns, int rows, bool whole)
{
    static unsigned char covered[MOST_ROWS][MOST_COLUMNS];
    struct kb_rect r[RECTANGLES];
    int n = collect(l, r), cells = 0;
    memset(covered, 0, sizeof covered);
    for (int i = 0; i < n; i++) {
        assert_true(r[i].w >= 0 && r[i].h >= 0);
        if (!r[i].w || !r[i].h)
            continue;
        assert_true(r[i].x >= 0 && r[i].y >= 0 && r[i].x + r[i].w <= columns && r[i].y + r[i].h <= rows);
        for (int y = r[i].y; y < r[i].y + r[i].h; y++)
            for (int x = r[i].x; x < r[i].x + r[i].w; x++) {
                assert_int_equal(covered[y][x], 0);
                covered[y][x] = 1;
                cells++;
            }
    }
    if (whole)
        assert_int_equal(cells, columns * rows);
}

static void check_size(int columns, int rows, enum kb_pane focus, bool zoom)
{
    struct kb_layout l;
    // whatever was shown before
    struct kb_places places = {.code = columns % 2, .detail = rows % 2, .sass = columns % 3 == 0};
    kb_layout_make(columns, rows, focus, &places, zoom, &l);
    bool tiny = columns < KB_LEAST_COLUMNS || rows < KB_LEAST_ROWS;
    assert_int_equal(l.kind == KB_LAYOUT_TINY, tiny);
    check_cover(&l, columns, rows, true);
    if (tiny)
        return;
    assert_true(l.bar.h == 1 && l.ladder.h == 1 && l.verdict.h >= 1 && l.footer.h == 1);
    assert_true(l.panes[focus].w > 0 && l.panes[focus].h > 0);
    if (zoom)
        assert_int_equal(l.kind, KB_LAYOUT_SINGLE);
    for (int i = 0; i < KB_PANES; i++) // a frame, and something inside it
        if (l.panes[i].h && l.kind != KB_LAYOUT_SINGLE)
            assert_true(l.panes[i].h >= 4 && l.panes[i].w >= 20);
}

static void test_all_sizes(void **state)
{
    (void)state;
    for (int columns = 1; columns <= MOST_COLUMNS; columns++)
        for (int rows = 1; rows <= MOST_ROWS; rows++)
            check_size(columns, rows, (enum kb_pane)((columns + rows) % KB_PANES), (columns * rows) % 5 == 0);
}

static void test_kinds(void **state)
{
    (void)state;
    struct kb_layout l;
    struct kb_places p = {0};
    kb_layout_make(80, 24, KB_PANE_ERRORS, &p, false, &l);
    assert_int_equal(l.kind, KB_LAYOUT_SINGLE);
    kb_layout_make(120, 36, KB_PANE_ERRORS, &p, false, &l);
    assert_int_equal(l.kind, KB_LAYOUT_COLUMNS);
    kb_layout_make(100, 50, KB_PANE_DETAIL, &p, false, &l);
    assert_int_equal(l.kind, KB_LAYOUT_STACKED);
    assert_true(l.panes[KB_PANE_DETAIL].h > l.panes[KB_PANE_VARIANTS].h);
    kb_layout_make(0, -3, KB_PANE_ERRORS, &p, false, &l);
    assert_int_equal(l.kind, KB_LAYOUT_TINY);
}

static bool shown(const struct kb_layout *l, enum kb_pane pane)
{
    return l->panes[pane].h > 0;
}

// With columns: what is most useful at first, code on a page of its own, and back.
static void test_pages(void **state)
{
    (void)state;
    static const int sizes[][2] = {{110, 34}, {120, 36}, {200, 60}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct kb_layout l;
        struct kb_places p = {0};
        int w = sizes[i][0], h = sizes[i][1];
        kb_layout_make(w, h, KB_PANE_ERRORS, &p, false, &l);
        for (int pane = 0; pane < KB_PANES; pane++)
            assert_int_equal(shown(&l, (enum kb_pane)pane),
                             pane != KB_PANE_DETAIL && pane != KB_PANE_SOURCE && pane != KB_PANE_SASS);
        assert_true(l.panes[KB_PANE_ROOFLINE].h >= 12); // frame, two lines, axes: 6 rows of plot and more
        kb_places_show(&p, KB_PANE_SASS);
        kb_layout_make(w, h, KB_PANE_SASS, &p, false, &l);
        assert_int_equal(l.panes[KB_PANE_SASS].w, w);
        assert_true(shown(&l, KB_PANE_WHY) && shown(&l, KB_PANE_LOG) && !shown(&l, KB_PANE_SOURCE));
        kb_places_show(&p, KB_PANE_WHY); // beside the code: the page stays
        kb_layout_make(w, h, KB_PANE_WHY, &p, false, &l);
        assert_true(shown(&l, KB_PANE_SASS));
        kb_places_show(&p, KB_PANE_DETAIL);
        kb_layout_make(w, h, KB_PANE_DETAIL, &p, false, &l);
        assert_true(shown(&l, KB_PANE_ROOFLINE) && !shown(&l, KB_PANE_SASS) && !shown(&l, KB_PANE_WHY));
        assert_int_equal(kb_place_mate(KB_PANE_DETAIL), KB_PANE_WHY);
        assert_int_equal(kb_place_mate(KB_PANE_LOG), KB_PANES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_sizes), cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
