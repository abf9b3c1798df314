// The grid that all views draw into: cells with a meaning, no terminal. A back end copies the cells that changed.
#ifndef KB_TUI_CELL_H
#define KB_TUI_CELL_H
#include "tui/theme.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_rect {
    int x, y, w, h;
};
enum { KB_MARKS = 2 };
struct kb_cell {
    uint32_t code;            // ' ' where nothing was drawn
    uint32_t marks[KB_MARKS]; // combining marks, 0: none
    uint8_t width;            // 1 or 2; 0: the right half of the wide character before it
    uint8_t style;
    bool selected;
};
struct kb_grid {
    int columns, rows;
    bool ascii; // only ASCII may be drawn: marks, frames and plots fall back
    struct kb_cell *cells;
};
void kb_grid_init(struct kb_grid *, int columns, int rows, bool ascii); // at least 1 x 1
void kb_grid_free(struct kb_grid *);
void kb_grid_clear(struct kb_grid *);
struct kb_cell *kb_grid_at(const struct kb_grid *, int x, int y); // NULL outside
bool kb_cell_same(const struct kb_cell *, const struct kb_cell *);
// Row y as UTF-8 without blanks at its end; owned by the caller.
char *kb_grid_row(const struct kb_grid *, int y);

size_t kb_code_utf8(uint32_t code, char out[5]); // NUL-terminated; returns its length

// What a view is given: a part of the grid. Coordinates are relative to area; what lies outside is cut.
struct kb_canvas {
    struct kb_grid *grid;
    struct kb_rect area;
};
struct kb_canvas kb_canvas_part(const struct kb_canvas *, struct kb_rect relative);
// Draws text (cleaned first, whatever it holds) and returns the column behind it. '\n' shows as a mark.
int kb_put(const struct kb_canvas *, int x, int y, enum kb_style, const char *text);
// The same in at most `most` columns; text that is longer ends in an ellipsis.
int kb_put_cut(const struct kb_canvas *, int x, int y, int most, enum kb_style, const char *text);
int kb_putf(const struct kb_canvas *, int x, int y, enum kb_style, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void kb_put_code(const struct kb_canvas *, int x, int y, enum kb_style, uint32_t code);
void kb_fill_row(const struct kb_canvas *, int y, enum kb_style); // blanks, from the left to the right edge
void kb_select_row(const struct kb_canvas *, int y);
void kb_draw_frame(const struct kb_canvas *, enum kb_style);

// Signs with a fall-back in ASCII.
enum kb_sign {
    KB_SIGN_PASS,
    KB_SIGN_FAIL,
    KB_SIGN_RUNNING,
    KB_SIGN_SKIP,
    KB_SIGN_NA,
    KB_SIGN_NONE,
    KB_SIGN_ELLIPSIS,
    KB_SIGN_ARROW,
    KB_SIGN_PLUS_MINUS,
    KB_SIGN_UNKNOWN,
    KB_SIGN_DOT,
    KB_SIGN_HORIZONTAL,
    KB_SIGN_VERTICAL,
    KB_SIGN_TOP_LEFT,
    KB_SIGN_TOP_RIGHT,
    KB_SIGN_BOTTOM_LEFT,
    KB_SIGN_BOTTOM_RIGHT,
    KB_SIGN_CURSOR,
    KB_SIGN_BLOCK,
    KB_SIGN_TIMES,
    KB_SIGN_UP,
    KB_SIGN_DOWN,
    KB_SIGN_PIN,
    KB_SIGNS
};
const char *kb_sign(enum kb_sign, bool ascii);
// Text as it may be shown in one row: cleaned, and in ASCII with the signs above replaced. Owned; NULL if text is
// plain ASCII and may be shown as it is.
char *kb_shown(const char *text, bool ascii);

#endif
