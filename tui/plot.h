// A small plot on two logarithmic axes: braille dots, or one character a cell in ASCII. Clips everything; ignores what
// is not finite or not positive.
#ifndef KB_TUI_PLOT_H
#define KB_TUI_PLOT_H
#include "tui/cell.h"

struct kb_plot {
    struct kb_canvas canvas; // the area inside the axes
    double x0, x1, y0, y1;   // limits, positive
    uint8_t *dots;           // braille bits a cell
    uint8_t *styles;
};
void kb_plot_begin(struct kb_plot *, const struct kb_canvas *, double x0, double x1, double y0, double y1);
// dash: every other group of dots is left out.
void kb_plot_line(struct kb_plot *, enum kb_style, double ax, double ay, double bx, double by, bool dash);
void kb_plot_end(struct kb_plot *); // draws the dots and frees
// A sign over the dots; call behind kb_plot_end. Points beyond an edge stand at it; false if it can't be placed at all.
bool kb_plot_sign(const struct kb_plot *, enum kb_style, double x, double y, const char *sign);
bool kb_plot_cell(const struct kb_plot *, double x, double y, int *column, int *row);

#endif
