#include "tui/layout.h"

#include <string.h>

enum {
    TWO_COLUMNS_FROM = 104,
    THREE_COLUMNS_FROM = 150,
    COLUMNS_ROWS_FROM = 26,
    STACKED_ROWS_FROM = 34,
    PANE_ROWS = 9,
    CODE_ROWS = 16,
    ONE_LINE_FROM = 230,
};

void kb_places_show(struct kb_places *p, enum kb_pane focus)
{
    bool code = focus == KB_PANE_SOURCE || focus == KB_PANE_SASS;
    if (code)
        p->sass = focus == KB_PANE_SASS;
    if (focus == KB_PANE_DETAIL || focus == KB_PANE_WHY)
        p->detail = focus == KB_PANE_DETAIL;
    if (code)
        p->code = true;
    else if (focus != KB_PANE_WHY && focus != KB_PANE_LOG) // these stand beside the code, too
        p->code = false;
}

enum kb_pane kb_place_mate(enum kb_pane pane)
{
    switch (pane) {
    case KB_PANE_DETAIL:
        return KB_PANE_WHY;
    case KB_PANE_WHY:
        return KB_PANE_DETAIL;
    case KB_PANE_SOURCE:
        return KB_PANE_SASS;
    case KB_PANE_SASS:
        return KB_PANE_SOURCE;
    default:
        return KB_PANES;
    }
}

static void single(struct kb_layout *l, struct kb_rect body, enum kb_pane focus)
{
    l->kind = KB_LAYOUT_SINGLE;
    l->tabs = (struct kb_rect){body.x, body.y, body.w, 1};
    l->panes[focus] = (struct kb_rect){body.x, body.y + 1, body.w, body.h - 1};
}

// As many panes as have room, the most telling ones, the focused one among them and the tallest.
static void stacked(struct kb_layout *l, struct kb_rect body, enum kb_pane focus)
{
    static const enum kb_pane telling[] = {KB_PANE_VARIANTS, KB_PANE_ERRORS, KB_PANE_ROOFLINE, KB_PANE_HISTORY,
                                           KB_PANE_WHY,      KB_PANE_LOG,    KB_PANE_DETAIL};
    enum { TELLING = sizeof telling / sizeof *telling };
    bool code = focus == KB_PANE_SOURCE || focus == KB_PANE_SASS, show[KB_PANES] = {false};
    int fit = body.h / (code ? CODE_ROWS : PANE_ROWS), shown = 1, y = body.y;
    show[focus] = true;
    for (int i = 0; i < TELLING && shown < fit; i++)
        if (!show[telling[i]]) {
            show[telling[i]] = true;
            shown++;
        }
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

struct part {
    enum kb_pane pane;
    int percent; // of the column's height
};

// The last one takes what is left.
static void column(struct kb_layout *l, struct kb_rect r, const struct part *parts, int count)
{
    int y = r.y, end = r.y + r.h;
    for (int i = 0; i < count; i++) {
        int h = i == count - 1 ? end - y : r.h * parts[i].percent / 100;
        l->panes[parts[i].pane] = (struct kb_rect){r.x, y, r.w, h};
        y += h;
    }
}

static void overview(struct kb_layout *l, struct kb_rect b, const struct kb_places *p)
{
    enum kb_pane last = p->detail ? KB_PANE_DETAIL : KB_PANE_WHY;
    if (b.w < THREE_COLUMNS_FROM) {
        const struct part left[] = {{KB_PANE_VARIANTS, 27}, {KB_PANE_ERRORS, 47}, {KB_PANE_LOG, 0}};
        const struct part right[] = {{KB_PANE_ROOFLINE, 47}, {KB_PANE_HISTORY, 21}, {last, 0}};
        int w = b.w / 2;
        column(l, (struct kb_rect){b.x, b.y, w, b.h}, left, 3);
        column(l, (struct kb_rect){b.x + w, b.y, b.w - w, b.h}, right, 3);
        return;
    }
    const struct part left[] = {{KB_PANE_VARIANTS, 42}, {KB_PANE_HISTORY, 0}};
    const struct part middle[] = {{KB_PANE_ERRORS, 68}, {KB_PANE_LOG, 0}};
    const struct part right[] = {{KB_PANE_ROOFLINE, 52}, {last, 0}};
    int w = b.w * 32 / 100, r = b.w * 36 / 100, m = b.w - w - r;
    column(l, (struct kb_rect){b.x, b.y, w, b.h}, left, 2);
    column(l, (struct kb_rect){b.x + w, b.y, m, b.h}, middle, 2);
    column(l, (struct kb_rect){b.x + w + m, b.y, r, b.h}, right, 2);
}

static void code_page(struct kb_layout *l, struct kb_rect b, const struct kb_places *p)
{
    int h = b.h * 68 / 100, w = b.w / 2;
    l->panes[p->sass ? KB_PANE_SASS : KB_PANE_SOURCE] = (struct kb_rect){b.x, b.y, b.w, h};
    l->panes[KB_PANE_WHY] = (struct kb_rect){b.x, b.y + h, w, b.h - h};
    l->panes[KB_PANE_LOG] = (struct kb_rect){b.x + w, b.y + h, b.w - w, b.h - h};
}

void kb_layout_make(int columns, int rows, enum kb_pane focus, const struct kb_places *places, bool zoom,
                    struct kb_layout *l)
{
    memset(l, 0, sizeof *l);
    if (columns < KB_LEAST_COLUMNS || rows < KB_LEAST_ROWS) {
        l->bar = (struct kb_rect){0, 0, columns, rows};
        return;
    }
    // The verdict is one line, and gets a second where it cannot fit into one and there is room.
    int verdict = rows >= 20 && columns < ONE_LINE_FROM ? 2 : 1;
    l->bar = (struct kb_rect){0, 0, columns, 1};
    l->ladder = (struct kb_rect){0, 1, columns, 1};
    l->verdict = (struct kb_rect){0, 2, columns, verdict};
    l->footer = (struct kb_rect){0, rows - 1, columns, 1};
    struct kb_rect body = {0, 2 + verdict, columns, rows - 3 - verdict};
    struct kb_places p = *places;
    kb_places_show(&p, focus);
    if (!zoom && columns >= TWO_COLUMNS_FROM && rows >= COLUMNS_ROWS_FROM) {
        l->kind = KB_LAYOUT_COLUMNS;
        if (p.code)
            code_page(l, body, &p);
        else
            overview(l, body, &p);
    } else if (!zoom && rows >= STACKED_ROWS_FROM) {
        stacked(l, body, focus);
    } else {
        single(l, body, focus);
    }
}
