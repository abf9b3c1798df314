// The roofline: axes are the machine's roofs and stay where they are; points move. Each version leaves a trail, the
// dashed roof is a plain copy of the same footprint.
#include "base/memory.h"
#include "tui/format.h"
#include "tui/plot.h"
#include "tui/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUTTER = 6, LEAST_WIDTH = 26, LEAST_HEIGHT = 6 };

struct roofs {
    double bandwidth, flops, tensor, footprint; // NAN unknown
    const char *bandwidth_source, *tensor_type;
};
struct point {
    double intensity, attained, rate, share, us, floor_us, work_flops, work_bytes;
    const char *bound, *source;
    bool impossible;
};

static double positive(double x)
{
    return x > 0 && !isinf(x) ? x : NAN;
}

static struct roofs roofs_of(const struct kb_app *a)
{
    const struct kb_ev_roofs *measured = a->model->roofs ?: &kb_unknown_roofs;
    const struct kb_ev_peaks *peak = KB_WITHIN(a->model->device, peak, peaks);
    struct roofs r = {.tensor = NAN};
    r.bandwidth = positive(measured->copy_bytes_per_s);
    r.bandwidth_source = "measured copy";
    if (isnan(r.bandwidth)) {
        r.bandwidth = positive(peak->dram_bytes_per_s);
        r.bandwidth_source = "the vendor's peak";
    }
    r.flops = positive(measured->fp32_flops);
    if (isnan(r.flops))
        r.flops = positive(peak->fp32_flops);
    r.footprint = positive(measured->footprint_copy_bytes_per_s);
    r.tensor_type = measured->tensor_type ?: "f16";
    if (kb_model_tensor_types(a->model))
        r.tensor = positive(isnan(measured->tensor_flops) ? peak->f16_tensor_flops : measured->tensor_flops);
    return r;
}

// What the hardware counted goes before what is declared; both are said.
static void take_counted(const struct kb_app *a, const struct kb_model_version *v, struct point *p)
{
    struct kb_ev_roofline counted;
    if (!kb_model_counted_roofline(a->model, v, &counted))
        return;
    p->share *= counted.attained_bytes_per_s / p->rate; // of the same roof
    p->rate = counted.attained_bytes_per_s;
    p->work_bytes = counted.bytes;
    p->source = "by counters";
    if (isnan(counted.attained_flops))
        return;
    p->attained = counted.attained_flops;
    p->work_flops = counted.flops;
    p->intensity = counted.intensity;
    p->source = !strcmp(counted.flops_source, "counters") ? "by counters" : "bytes by counters";
}

static struct point point_of(const struct kb_app *a, const struct kb_model_version *v)
{
    int index = kb_app_pick_timed_case(a);
    const struct kb_ev_timing *timing = kb_model_timing(a->model, v, index);
    const struct kb_ev_roofline *r = KB_WITHIN(timing, roofline, roofline);
    struct point p = {.us = kb_speed_us(a->model, v, index)};
    p.impossible = r->impossible;
    p.intensity = r->intensity;
    p.work_flops = r->flops;
    p.work_bytes = r->bytes;
    p.floor_us = r->floor_us;
    p.bound = r->bound ?: "unknown";
    p.source = r->source ?: "unknown";
    if (r == &kb_unknown_roofline &&
        index == a->model->headline) { // what the bench declares, before anything was timed
        const struct kb_ev_work *work = KB_WITHIN(a->model->session, work, work);
        p.work_flops = work->flops;
        p.work_bytes = work->bytes;
        p.intensity = p.work_bytes > 0 ? p.work_flops / p.work_bytes : NAN;
        p.source = "declared";
    }
    bool speed = !isnan(p.us); // a wrong or impossible version has none
    p.attained = speed ? r->attained_flops : NAN;
    p.rate = speed ? r->attained_bytes_per_s : NAN;
    p.share = speed ? r->share : NAN;
    if (speed && index == a->model->headline && strcmp(p.bound, "compute"))
        take_counted(a, v, &p);
    return p;
}

static void add_gauge(struct kb_line *l, double share, int cells)
{
    int full = isnan(share) || share < 0 ? 0 : (int)lround((share > 1 ? 1 : share) * cells);
    for (int i = 0; i < cells; i++)
        kb_span(l, i < full ? KB_STYLE_POINT : KB_STYLE_AXIS,
                i < full   ? kb_sign(KB_SIGN_BLOCK, l->ascii)
                : l->ascii ? "."
                           : "░");
}

// What the roofs allow at best: the moving of the bytes or the arithmetic, whichever takes longer. (floor_us of the
// event is what no run can beat, data that wait in the L2 included, which is next to nothing for a small case.)
static double modelled_us(const struct point *p, const struct roofs *r)
{
    return fmax(p->work_bytes / r->bandwidth, p->work_flops / r->flops) * 1e6;
}

static void first_line(const struct kb_app *a, struct kb_line *l, const struct point *p, const struct roofs *r,
                       int width)
{
    bool compute = !strcmp(p->bound, "compute");
    double rate = compute ? p->attained : p->rate, roof = compute ? r->flops : r->bandwidth;
    if (isnan(rate)) {
        const struct kb_model_version *v = kb_app_version(a);
        const char *reason = v ? v->rungs[KB_RUNG_TIME].reason : NULL;
        if (!isnan(p->us))
            reason = "bytes and FLOPs are unknown";
        if (p->impossible)
            kb_span(l, KB_STYLE_UNKNOWN, "– no rate: the time is impossible");
        if (p->impossible && !isnan(p->floor_us))
            kb_spanf(l, KB_STYLE_TEXT, "  floor %s, modelled", kb_show_time(p->floor_us).s);
        if (p->impossible)
            return;
        if (!isnan(p->floor_us) && modelled_us(p, r) > 0) // before the reason, which stands elsewhere too
            kb_spanf(l, KB_STYLE_TEXT, "floor %s, modelled  ", kb_show_time(modelled_us(p, r)).s);
        kb_spanf(l, KB_STYLE_UNKNOWN, "– no rate: %s", reason ? reason : "not timed (yet)");
        return;
    }
    kb_spanf(l, KB_STYLE_STRONG, "%s ", (compute ? kb_show_flops_rate(rate) : kb_show_bytes_rate(rate)).s);
    add_gauge(l, p->share, width >= 60 ? 20 : 10);
    kb_spanf(l, KB_STYLE_STRONG, " %s", kb_show_percent(p->share).s);
    if (!isnan(roof))
        kb_spanf(l, KB_STYLE_DIM, " of %s (%s)", (compute ? kb_show_flops_rate(roof) : kb_show_bytes_rate(roof)).s,
                 compute ? "fp32" : r->bandwidth_source);
    if (p->share > 0 && p->share < 1)
        kb_spanf(l, KB_STYLE_TEXT, "; at most %.2f x left", 1 / p->share);
}

static void second_line(struct kb_line *l, const struct point *p, const struct roofs *r, const char *why)
{
    if (isnan(p->work_bytes) && isnan(p->work_flops))
        kb_spanf(l, KB_STYLE_UNKNOWN, "work unknown: %s", why);
    else
        kb_spanf(l, KB_STYLE_DIM, "%s FLOP/B  %s, %s (%s)", kb_show_error(p->intensity).s,
                 kb_show_bytes(p->work_bytes).s, kb_show_flops(p->work_flops).s, p->source);
    if (!isnan(r->footprint))
        kb_spanf(l, KB_STYLE_ROOF_DASHED, "  - - copy of this footprint %s", kb_show_bytes_rate(r->footprint).s);
}

// Limits from the roofs alone, so that axes never move while versions come.
static bool limits(const struct roofs *r, double *x0, double *x1, double *y0, double *y1)
{
    double top = isnan(r->tensor) ? r->flops : fmax(r->tensor, isnan(r->flops) ? 0 : r->flops);
    if (isnan(r->bandwidth) && isnan(top))
        return false;
    if (isnan(top))
        top = r->bandwidth * 16;
    double bandwidth = isnan(r->bandwidth) ? top / 16 : r->bandwidth, ridge = top / bandwidth;
    *x0 = ridge / 512;
    *x1 = ridge * 8;
    *y0 = bandwidth * *x0 / 4;
    *y1 = top * 2;
    // Figures of no machine give no axes.
    return *x0 > 1e-9 && *x1 < 1e12 && *y0 > 1e-3 && *y1 < 1e24;
}

static void draw_axes(const struct kb_canvas *c, const struct kb_plot *p)
{
    int h = p->canvas.area.h, w = p->canvas.area.w;
    for (int y = 0; y < h; y++)
        kb_put(c, GUTTER - 1, y, KB_STYLE_AXIS, kb_sign(KB_SIGN_VERTICAL, c->grid->ascii));
    kb_put(c, GUTTER - 1, h, KB_STYLE_AXIS, kb_sign(KB_SIGN_BOTTOM_LEFT, c->grid->ascii));
    for (int x = 0; x < w; x++)
        kb_put(c, GUTTER + x, h, KB_STYLE_AXIS, kb_sign(KB_SIGN_HORIZONTAL, c->grid->ascii));
    int column, row, last = -8;
    for (double v = pow(10, ceil(log10(p->y0))); v <= p->y1; v *= 10) {
        if (!kb_plot_cell(p, p->x0, v, &column, &row))
            continue;
        struct kb_short text = kb_show_flops_rate(v); // "10.0 TFLOP/s"
        char *unit = strchr(text.s, ' ') + 1, *dot = strchr(text.s, '.');
        unit[*unit == 'F' ? 0 : 1] = 0;
        if (dot)
            memmove(dot, unit - 1, strlen(unit) + 2);
        kb_putf(c, 0, row, KB_STYLE_AXIS, "%5.5s", text.s);
    }
    for (double v = pow(10, ceil(log10(p->x0))); v <= p->x1; v *= 10) {
        if (!kb_plot_cell(p, v, p->y0, &column, &row) || column < last + 6 || column > w - 11)
            continue;
        kb_put(c, GUTTER + column, h + 1, KB_STYLE_AXIS, kb_show_plain(v).s);
        last = column;
    }
    kb_put(c, GUTTER + w - 6, h + 1, KB_STYLE_AXIS, "FLOP/B");
    kb_put_cut(c, 0, h + 1, GUTTER, KB_STYLE_AXIS, "FLOP/s");
}

static void draw_roof(struct kb_plot *p, const struct roofs *r)
{
    double flat = !isnan(r->flops) ? r->flops : r->tensor;
    double ridge = isnan(flat) || isnan(r->bandwidth) ? p->x1 : flat / r->bandwidth;
    if (!isnan(r->tensor) && !isnan(r->flops) && !isnan(r->bandwidth)) {
        kb_plot_line(p, KB_STYLE_AXIS, ridge, flat, r->tensor / r->bandwidth, r->tensor, false);
        kb_plot_line(p, KB_STYLE_AXIS, r->tensor / r->bandwidth, r->tensor, p->x1, r->tensor, false);
    }
    if (!isnan(r->footprint))
        kb_plot_line(p, KB_STYLE_ROOF_DASHED, p->x0, p->x0 * r->footprint, isnan(flat) ? p->x1 : flat / r->footprint,
                     isnan(flat) ? p->x1 * r->footprint : flat, true);
    if (!isnan(r->bandwidth))
        kb_plot_line(p, KB_STYLE_ROOF, p->x0, p->x0 * r->bandwidth, ridge, ridge * r->bandwidth, false);
    if (!isnan(flat))
        kb_plot_line(p, KB_STYLE_ROOF, isnan(r->bandwidth) ? p->x0 : ridge, flat, p->x1, flat, false);
}

// What the roofs are, beside them.
static void label_roofs(const struct kb_plot *p, const struct roofs *r)
{
    int column, row, w = p->canvas.area.w;
    char text[64];
    if (!isnan(r->flops) && kb_plot_cell(p, p->x1, r->flops, &column, &row)) {
        int n = snprintf(text, sizeof text, "%s fp32", kb_show_flops_rate(r->flops).s);
        kb_put(&p->canvas, w - n, row + 1 < p->canvas.area.h ? row + 1 : row, KB_STYLE_AXIS, text);
    }
    if (!isnan(r->tensor) && kb_plot_cell(p, p->x1, r->tensor, &column, &row)) {
        int n = snprintf(text, sizeof text, "%s %s", kb_show_flops_rate(r->tensor).s, r->tensor_type);
        kb_put(&p->canvas, w - n, row + 1 < p->canvas.area.h ? row + 1 : row, KB_STYLE_AXIS, text);
    }
    double x = p->x0 * 2.2;
    if (!isnan(r->bandwidth) && w >= 40 && kb_plot_cell(p, x, x * r->bandwidth, &column, &row) && row >= 2) {
        snprintf(text, sizeof text, "%s", kb_show_bytes_rate(r->bandwidth).s);
        kb_put(&p->canvas, column > 8 ? column - 8 : 0, row - 2, KB_STYLE_AXIS, text);
    }
}

// A kernel without FLOPs has no intensity: it stands at the left edge, as far under the memory roof as it is.
static struct point placed(const struct kb_app *a, const struct kb_model_version *v, const struct kb_plot *p)
{
    struct point point = point_of(a, v);
    if (!(point.intensity > 0) && point.rate > 0) {
        point.intensity = p->x0;
        point.attained = p->x0 * point.rate;
    }
    return point;
}

static void draw_trail(const struct kb_app *a, struct kb_plot *p)
{
    const struct kb_model_variant *variant = &a->model->variants[a->variant];
    struct point last = {.intensity = NAN};
    for (int k = 0; k < variant->version_count; k++) {
        struct point next = placed(a, &variant->versions[k], p);
        if (isnan(next.attained))
            continue;
        kb_plot_line(p, KB_STYLE_TRAIL, last.intensity, last.attained, next.intensity, next.attained, false);
        last = next;
    }
}

// A point's name beside its sign, in a row that no other name has taken.
static void draw_name(const struct kb_plot *p, enum kb_style style, double x, double y, const char *name, bool *taken)
{
    int column, row;
    if (!kb_plot_cell(p, x, y, &column, &row) || taken[row])
        return;
    taken[row] = true;
    int w = kb_text_width(name, strlen(name));
    if (column + 2 + w <= p->canvas.area.w)
        kb_put(&p->canvas, column + 2, row, style, name);
    else if (column - 1 - w >= 0)
        kb_put(&p->canvas, column - 1 - w, row, style, name);
}

static void draw_own(const struct kb_app *a, const struct kb_plot *p, const struct roofs *r, bool *taken)
{
    const struct kb_model_version *v = a->variant < a->model->variant_count ? kb_app_version(a) : NULL;
    struct point own = placed(a, v, p);
    if (v && !isnan(own.attained)) {
        char *name = kb_format("%s v%d", a->model->variants[a->variant].name, v->number);
        kb_plot_sign(p, KB_STYLE_POINT, own.intensity, own.attained, kb_sign(KB_SIGN_RUNNING, a->ascii));
        draw_name(p, KB_STYLE_POINT, own.intensity, own.attained, name, taken);
        free(name);
    } else if (v && v->rungs[KB_RUNG_TIME].status == KB_STATUS_NA && !isnan(own.intensity) && !isnan(r->bandwidth)) {
        // it can't be timed here: where its roof is
        double roof = own.intensity * r->bandwidth;
        roof = roof > r->flops ? r->flops : roof;
        kb_plot_sign(p, KB_STYLE_POINT, own.intensity, roof, a->ascii ? "v" : "▽");
        draw_name(p, KB_STYLE_POINT, own.intensity, roof, "floor, modelled", taken);
    }
}

// What a command reports of itself; a wrong or impossible one has no place.
static struct point reported(const struct kb_app *a, int variant, const struct kb_plot *p)
{
    const struct kb_ev_reported *said = kb_model_reported(a->model, variant, kb_app_pick_timed_case(a));
    const struct kb_ev_roofline *r = KB_WITHIN(said, roofline, roofline);
    if (r->impossible || (said && said->right == KB_NO))
        r = &kb_unknown_roofline;
    struct point point = {.intensity = r->intensity, .attained = r->attained_flops, .rate = r->attained_bytes_per_s};
    if (!(point.intensity > 0) && point.rate > 0) {
        point.intensity = p->x0;
        point.attained = p->x0 * point.rate;
    }
    return point;
}

// Signs of the others below, then one's own, then the names of the others where there is room.
static void draw_points(const struct kb_app *a, const struct kb_plot *p, const struct roofs *r)
{
    bool *taken = kb_alloc((size_t)p->canvas.area.h + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < a->model->variant_count; i++) {
            bool command = !strcmp(a->model->variants[i].kind, "command");
            struct point other = command ? reported(a, i, p) : placed(a, kb_last_good(a->model, i), p);
            if ((i == a->variant && !command) || isnan(other.attained))
                continue;
            char *name = kb_format("%s%s", a->model->variants[i].name, command ? ", reference line" : "");
            if (pass == 0)
                kb_plot_sign(p, KB_STYLE_OTHER_POINT, other.intensity, other.attained,
                             command    ? (a->ascii ? "=" : "◇")
                             : a->ascii ? "o"
                                        : "○");
            else
                draw_name(p, KB_STYLE_OTHER_POINT, other.intensity, other.attained, name, taken);
            free(name);
        }
        if (pass == 0)
            draw_own(a, p, r, taken);
    }
    free(taken);
}

static void draw_plot(const struct kb_app *a, const struct kb_canvas *c, const struct roofs *r)
{
    double x0, x1, y0, y1;
    if (!limits(r, &x0, &x1, &y0, &y1)) {
        struct kb_lines why = {.ascii = a->ascii};
        kb_lines_text(&why, KB_STYLE_UNKNOWN, c->area.w, 0,
                      "no roofs: they are measured on the device, or come with --like");
        for (int y = 0; y < why.count; y++)
            kb_line_draw(c, 0, y, c->area.w, &why.items[y]);
        kb_lines_free(&why);
        return;
    }
    struct kb_canvas inside = kb_canvas_part(c, (struct kb_rect){GUTTER, 0, c->area.w - GUTTER, c->area.h - 2});
    struct kb_plot p;
    kb_plot_begin(&p, &inside, x0, x1, y0, y1);
    draw_axes(c, &p);
    draw_roof(&p, r);
    if (a->variant < a->model->variant_count)
        draw_trail(a, &p);
    kb_plot_end(&p);
    label_roofs(&p, r);
    draw_points(a, &p, r);
}

static void draw(struct kb_app *a, const struct kb_canvas *c)
{
    struct roofs r = roofs_of(a);
    struct point p = point_of(a, kb_app_version(a));
    struct kb_line first = {.ascii = a->ascii}, second = {.ascii = a->ascii};
    first_line(a, &first, &p, &r, c->area.w);
    second_line(&second, &p, &r, KB_WITHIN(a->model->session, work, work)->reason ?: "bench.json declares none");
    kb_line_draw(c, 0, 0, c->area.w, &first);
    kb_line_draw(c, 0, 1, c->area.w, &second);
    kb_line_free(&first);
    kb_line_free(&second);
    a->lines[KB_PANE_ROOFLINE] = a->page[KB_PANE_ROOFLINE] = 0;
    if (c->area.w < LEAST_WIDTH || c->area.h < LEAST_HEIGHT + 2)
        return;
    struct kb_canvas rest = kb_canvas_part(c, (struct kb_rect){0, 2, c->area.w, c->area.h - 2});
    draw_plot(a, &rest, &r);
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    const struct kb_ev_device *d = a->model->device ?: &kb_unknown_device;
    kb_text_add(out, d->like && *d->like ? d->like : d->name ?: "");
}

const struct kb_view kb_view_roofline = {"roofline", 0, NULL, draw, note, NULL, NULL};
