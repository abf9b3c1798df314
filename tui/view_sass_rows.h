// The rows of view_sass.c: cheap descriptions of all, so that only those in sight are made into text.
#ifndef KB_TUI_VIEW_SASS_ROWS_H
#define KB_TUI_VIEW_SASS_ROWS_H
#include "tui/view_sass.h"

enum kb_sass_row_kind {
    KB_SASS_ROW_TEXT,        // text
    KB_SASS_ROW_KERNEL,      // kernel, text: its heading in a listing, what it has most of
    KB_SASS_ROW_SOURCE,      // kernel, index: the source line of an instruction
    KB_SASS_ROW_LABEL,       // kernel, index: of a label
    KB_SASS_ROW_INSTRUCTION, // kernel, index
    KB_SASS_ROW_UNIT,        // item: one kernel of a diff
    KB_SASS_ROW_HUNK,        // item
    KB_SASS_ROW_PAIR,        // item and other: a row each of the left and the right side, NULL for none
    KB_SASS_ROW_SINGLE,      // item: one side of a row, mark says which
};
struct kb_sass_row {
    enum kb_sass_row_kind kind;
    int kernel, index;
    const cJSON *item, *other;
    char mark; // '=', '-', '+'
    char *text;
    enum kb_style style;
};
struct kb_sass_rows {
    struct kb_sass_row *items;
    int count, capacity;
};
void kb_sass_rows_listing(struct kb_sass_rows *, const struct kb_sass_view_input *);
void kb_sass_rows_diff(struct kb_sass_rows *, const struct kb_sass_view_input *, bool raw, bool two_sides);
void kb_sass_rows_text(struct kb_sass_rows *, enum kb_style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct kb_sass_row *kb_sass_rows_add(struct kb_sass_rows *, enum kb_sass_row_kind);
void kb_sass_rows_free(struct kb_sass_rows *);

// One row as text of at most width columns.
void kb_sass_row_line(struct kb_line *, const struct kb_sass_view_input *, const struct kb_sass_row *, int width);

#endif
