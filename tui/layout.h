// Where everything goes: a pure function of the size, the focused pane, what its neighbours show, and the zoom.
#ifndef KB_TUI_LAYOUT_H
#define KB_TUI_LAYOUT_H
#include "tui/cell.h"

// In the order of the number keys.
enum kb_pane {
    KB_PANE_VARIANTS,
    KB_PANE_ERRORS,
    KB_PANE_ROOFLINE,
    KB_PANE_HISTORY,
    KB_PANE_LOG,
    KB_PANE_DETAIL,
    KB_PANE_WHY,
    KB_PANE_SOURCE,
    KB_PANE_SASS,
    KB_PANES
};
enum kb_layout_kind { KB_LAYOUT_TINY, KB_LAYOUT_SINGLE, KB_LAYOUT_STACKED, KB_LAYOUT_COLUMNS };
enum { KB_LEAST_COLUMNS = 40, KB_LEAST_ROWS = 8 };

// Where there are columns, not all panes have room: two places hold one of two panes each, and code has a page of its
// own, as it needs the whole width.
struct kb_places {
    bool code;         // the page of code is shown, not the overview
    bool detail, sass; // who has the place: details (else why), machine code (else source)
};
// Brings the pane into sight: what `focus` must always have been given to before a layout is made.
void kb_places_show(struct kb_places *, enum kb_pane focus);
// The pane that shares its place with this one, KB_PANES for none.
enum kb_pane kb_place_mate(enum kb_pane);

// Rectangles do not overlap and lie inside the size; w or h of 0: not shown.
struct kb_layout {
    enum kb_layout_kind kind;
    struct kb_rect bar, ladder, verdict, tabs, footer;
    struct kb_rect panes[KB_PANES];
};
// TINY fills only `bar`, with all of the screen. The focused pane is always shown otherwise.
void kb_layout_make(int columns, int rows, enum kb_pane focus, const struct kb_places *, bool zoom, struct kb_layout *);

#endif
