#include "tui/plot.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void kb_plot_begin(struct kb_plot *p, const struct kb_canvas *c, double x0, double x1, double y0, double y1)
{
    size_t cells = (size_t)c->area.w * (size_t)c->area.h;
    *p = (struct kb_plot){*c, x0, x1, y0, y1, kb_alloc(cells + 1), kb_alloc(cells + 1)};
}

// Place in 0..1 between the limits; NAN if it has none.
static double place(double v, double low, double high)
{
    if (!(v > 0) || isinf(v) || !(low > 0) || !(high > low))
        return NAN;
    return log(v / low) / log(high / low);
}

static void dot(struct kb_plot *p, enum kb_style style, double u, double v)
{
    int w = p->canvas.area.w * 2, h = p->canvas.area.h * 4;
    int x = (int)lround(u * (w - 1)), y = h - 1 - (int)lround(v * (h - 1));
    if (x < 0 || y < 0 || x >= w || y >= h)
        return;
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int cell = y / 4 * p->canvas.area.w + x / 2;
    p->dots[cell] |= bits[y % 4][x % 2];
    p->styles[cell] = (uint8_t)style;
}

void kb_plot_line(struct kb_plot *p, enum kb_style style, double ax, double ay, double bx, double by, bool dash)
{
    double ua = place(ax, p->x0, p->x1), va = place(ay, p->y0, p->y1);
    double ub = place(bx, p->x0, p->x1), vb = place(by, p->y0, p->y1);
    if (isnan(ua) || isnan(va) || isnan(ub) || isnan(vb))
        return;
    int steps = 2 * (p->canvas.area.w * 2 + p->canvas.area.h * 4);
    for (int i = 0; i <= steps; i++) {
        double t = (double)i / steps;
        if (dash && i / 12 % 2)
            continue;
        dot(p, style, ua + (ub - ua) * t, va + (vb - va) * t);
    }
}

// In ASCII one sign a cell, by where its dots are.
static char ascii_sign(uint8_t dots, enum kb_style style)
{
    bool top = dots & 0x1b, bottom = dots & 0xe4;
    if (style == KB_STYLE_TRAIL)
        return ':';
    if (style == KB_STYLE_ROOF_DASHED)
        return '.';
    return top && bottom ? '/' : top ? '"' : '_';
}

void kb_plot_end(struct kb_plot *p)
{
    int w = p->canvas.area.w, h = p->canvas.area.h;
    for (int i = 0; i < w * h; i++) {
        enum kb_style style = (enum kb_style)p->styles[i];
        if (p->dots[i])
            kb_put_code(&p->canvas, i % w, i / w, style,
                        p->canvas.grid->ascii ? (uint32_t)ascii_sign(p->dots[i], style) : 0x2800u + p->dots[i]);
    }
    free(p->dots);
    free(p->styles);
    p->dots = p->styles = NULL;
}

bool kb_plot_cell(const struct kb_plot *p, double x, double y, int *column, int *row)
{
    double u = place(x, p->x0, p->x1), v = place(y, p->y0, p->y1);
    if (isnan(u) || isnan(v))
        return false;
    u = u < 0 ? 0 : u > 1 ? 1 : u;
    v = v < 0 ? 0 : v > 1 ? 1 : v;
    *column = (int)lround(u * (p->canvas.area.w * 2 - 1)) / 2;
    *row = (p->canvas.area.h * 4 - 1 - (int)lround(v * (p->canvas.area.h * 4 - 1))) / 4;
    return true;
}

bool kb_plot_sign(const struct kb_plot *p, enum kb_style style, double x, double y, const char *sign)
{
    int column, row;
    if (!kb_plot_cell(p, x, y, &column, &row))
        return false;
    kb_put(&p->canvas, column, row, style, sign);
    return true;
}
