#include "tui/layout.h"

#include <string.h>

enum { COLUMNS_FROM = 112, COLUMNS_ROWS_FROM = 26, STACKED_ROWS_FROM = 34, PANE_ROWS = 9 };

static void single(struct kb_layout *l, struct kb_rect body, enum kb_pane focus)
{
    l->kind = KB_LAYOUT_SINGLE;
    l->tabs = (struct kb_rect){body.x, body.y, body.w, 1};
    l->panes[focus] = (struct kb_rect){body.x, body.y + 1, body.w, body.h - 1};
}

// As many panes as have room, in the order of the number keys, the focused one among them and the tallest.
static void stacked(struct kb_layout *l, struct kb_rect body, enum kb_pane focus)
{
    int fit = body.h / PANE_ROWS, shown = 0, y = body.y;
    bool show[KB_PANES] = {false};
    show[focus] = true;
    if (fit > KB_PANES)
        fit = KB_PANES;
    for (int i = 0, n = 1; i < KB_PANES && n < fit; i++)
        if (!show[i]) {
            show[i] = true;
            n++;
        }
    for (int i = 0; i < KB_PANES; i++)
        shown += show[i];
    int each = body.h / (shown + 1), rest = body.h - each * (shown + 1);
    l->kind = KB_LAYOUT_STACKED;
    for (int i = 0; i < KB_PANES; i++) {
        if (!show[i])
            continue;
        int h = i == (int)focus ? 2 * each + rest : each;
        l->panes[i] = (struct kb_rect){body.x, y, body.w, h};
        y += h;
    }
}

static void split(struct kb_layout *l, struct kb_rect column, enum kb_pane top, enum kb_pane bottom, int percent)
{
    int h = column.h * percent / 100;
    l->panes[top] = (struct kb_rect){column.x, column.y, column.w, h};
    l->panes[bottom] = (struct kb_rect){column.x, column.y + h, column.w, column.h - h};
}

static void columns_of(struct kb_layout *l, struct kb_rect body)
{
    int left = body.w * 32 / 100, right = body.w * 36 / 100, middle = body.w - left - right;
    l->kind = KB_LAYOUT_COLUMNS;
    split(l, (struct kb_rect){body.x, body.y, left, body.h}, KB_PANE_VARIANTS, KB_PANE_HISTORY, 42);
    split(l, (struct kb_rect){body.x + left, body.y, middle, body.h}, KB_PANE_ERRORS, KB_PANE_LOG, 68);
    split(l, (struct kb_rect){body.x + left + middle, body.y, right, body.h}, KB_PANE_ROOFLINE, KB_PANE_DETAIL, 60);
}

void kb_layout_make(int columns, int rows, enum kb_pane focus, bool zoom, struct kb_layout *l)
{
    memset(l, 0, sizeof *l);
    if (columns < KB_LEAST_COLUMNS || rows < KB_LEAST_ROWS) {
        l->bar = (struct kb_rect){0, 0, columns, rows};
        return;
    }
    // The verdict is one line, and gets a second where it cannot fit into one and there is room.
    int verdict = rows >= 20 && columns < 150 ? 2 : 1;
    l->bar = (struct kb_rect){0, 0, columns, 1};
    l->ladder = (struct kb_rect){0, 1, columns, 1};
    l->verdict = (struct kb_rect){0, 2, columns, verdict};
    l->footer = (struct kb_rect){0, rows - 1, columns, 1};
    struct kb_rect body = {0, 2 + verdict, columns, rows - 3 - verdict};
    if (!zoom && columns >= COLUMNS_FROM && rows >= COLUMNS_ROWS_FROM)
        columns_of(l, body);
    else if (!zoom && rows >= STACKED_ROWS_FROM)
        stacked(l, body, focus);
    else
        single(l, body, focus);
}
