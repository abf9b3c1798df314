#include "loop/svg.h"
#include "base/memory.h"
#include "loop/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 960,
    LEFT = 100,
    RIGHT = 24,
    TOP = 70,
    PLOT_HEIGHT = 470,
    PLOT_WIDTH = WIDTH - LEFT - RIGHT,
    LABEL_HEIGHT = 15,
    ROW_HEIGHT = 17,
    MOST_BOXES = 512,
};
#define LETTER 7.4 // mean width of a bold letter at 12 px

struct box {
    double x, y, w, h;
};
struct roof {
    const char *name, *class; // class: of the style sheet
    double value;             // bytes/s if slanted, else FLOP/s
    bool slanted;
};
struct chart {
    const struct kb_model *model;
    struct kb_text *out;
    struct roof roofs[10];
    int roof_count;
    double x0, x1, y0, y1; // FLOP/byte, FLOP/s
    struct box boxes[MOST_BOXES];
    int box_count;
    struct kb_text notes; // variants without a point, one a line
    int note_count;
};
struct point {
    double intensity, flops, rate, share; // NAN unknown
    bool modelled;                        // not timed: its place under the roof
    const char *why;                      // no point: the reason
    const char *source;                   // of bytes and FLOPs: "counters", "counted", "declared"
};

static const char *const colours[] = {"#0b5fa5", "#c2410c", "#15803d", "#7e22ce", "#be123c", "#0f766e", "#a16207"};

static void escape(struct kb_text *out, const char *text)
{
    char *clean = kb_cleaned(text ? text : "");
    for (const char *p = clean; *p; p++) {
        const char *entity = *p == '&'    ? "&amp;"
                             : *p == '<'  ? "&lt;"
                             : *p == '>'  ? "&gt;"
                             : *p == '"'  ? "&quot;"
                             : *p == '\'' ? "&#39;"
                                          : NULL;
        if (entity)
            kb_text_add(out, entity);
        else
            kb_text_bytes(out, p, 1);
    }
    free(clean);
}

// Figures of no machine have no place on a logarithmic axis.
static double usable(double x)
{
    return x > 1e-12 && x < 1e30 ? x : NAN;
}

static void add_roof(struct chart *c, const char *name, const char *class, double value, bool slanted)
{
    value = usable(value);
    if (!isnan(value))
        c->roofs[c->roof_count++] = (struct roof){name, class, value, slanted};
}

static void read_roofs(struct chart *c)
{
    const struct kb_ev_roofs *measured = c->model->roofs ?: &kb_unknown_roofs;
    const struct kb_ev_peaks *peak = KB_WITHIN(c->model->device, peak, peaks);
    add_roof(c, "DRAM, a large copy measured", "roof", measured->copy_bytes_per_s, true);
    add_roof(c, "DRAM, the vendor's peak", "vendor", peak->dram_bytes_per_s, true);
    add_roof(c, "a copy of this footprint, measured", "copy", measured->footprint_copy_bytes_per_s, true);
    add_roof(c, "L2, the vendor's peak", "vendor", peak->l2_bytes_per_s, true);
    add_roof(c, "fp32, measured", "roof", measured->fp32_flops, false);
    add_roof(c, "fp32, the vendor's peak", "vendor", peak->fp32_flops, false);
    if (!kb_model_tensor_types(c->model))
        return;
    add_roof(c, "tensor cores, measured", "roof", measured->tensor_flops, false);
    add_roof(c, "f16 tensor cores, the vendor's peak", "vendor", peak->f16_tensor_flops, false);
}

// The roofs that decide, the measured ones first; NAN without any.
static double memory_roof(const struct chart *c)
{
    for (int i = 0; i < c->roof_count; i++)
        if (c->roofs[i].slanted)
            return c->roofs[i].value;
    return NAN;
}

static double flat_roof(const struct chart *c, bool highest)
{
    double value = NAN;
    for (int i = 0; i < c->roof_count; i++)
        if (!c->roofs[i].slanted && (isnan(value) || highest))
            value = isnan(value) ? c->roofs[i].value : fmax(value, c->roofs[i].value);
    return value;
}

static const char *why_no_point(const struct kb_model_version *v, const struct kb_ev_roofline *roofline)
{
    const char *reason = v->rungs[KB_RUNG_TIME].reason;
    if (v->status == KB_STATUS_FAIL)
        return "wrong: it has no speed";
    if (v->impossible || (roofline && roofline->impossible))
        return "its time is impossible";
    return reason ? reason : roofline ? "bytes and FLOPs are unknown" : "not timed";
}

static const char *source_name(const char *source) // static: the event may go
{
    static const char *const names[] = {"declared", "counted", "counters"};
    for (size_t i = 0; source && i < KB_COUNT(names); i++)
        if (!strcmp(names[i], source))
            return names[i];
    return NULL;
}

static struct point point_of(const struct chart *c, const struct kb_model_version *v)
{
    const struct kb_ev_timing *timing = kb_model_timing(c->model, v, c->model->headline);
    const struct kb_ev_roofline *r = timing ? timing->roofline : NULL;
    struct kb_ev_roofline counted;
    struct point p = {NAN, NAN, NAN, NAN, false, "no version of it was built", NULL};
    if (!v)
        return p;
    p.why = why_no_point(v, r);
    if (v->status == KB_STATUS_FAIL || v->impossible || (r && r->impossible))
        return p;
    r = r ?: &kb_unknown_roofline;
    p.source = source_name(r->source);
    if (kb_model_counted_roofline(c->model, v, &counted)) {
        r = &counted;
        p.source = "hardware counters";
    }
    p.intensity = usable(r->intensity);
    p.flops = usable(r->attained_flops);
    p.rate = usable(r->attained_bytes_per_s);
    p.share = usable(r->share);
    if (isnan(p.flops) && isnan(p.rate) && !isnan(p.intensity) && v->rungs[KB_RUNG_TIME].status == KB_STATUS_NA) {
        p.flops = fmin(p.intensity * memory_roof(c), flat_roof(c, false));
        p.modelled = !isnan(p.flops);
    }
    return p;
}

static bool has_place(const struct point *p)
{
    return (!isnan(p->flops) && !isnan(p->intensity)) || !isnan(p->rate) || !isnan(p->flops);
}

// A kernel without FLOPs stands at the left edge, as far under the memory roof as it is; one without bytes at the
// right.
static void place(const struct chart *c, const struct point *p, double *x, double *y)
{
    *x = !isnan(p->intensity) ? p->intensity : !isnan(p->rate) ? c->x0 : c->x1;
    *y = !isnan(p->flops) ? p->flops : *x * p->rate;
}

static void widen(struct chart *c)
{
    for (int i = 0; i < c->model->variant_count; i++) {
        const struct kb_model_variant *variant = &c->model->variants[i];
        for (int k = 0; k < variant->version_count; k++) {
            struct point p = point_of(c, &variant->versions[k]);
            if (isnan(p.intensity) || isnan(p.flops))
                continue;
            c->x0 = fmin(c->x0, p.intensity / 2);
            c->x1 = fmax(c->x1, p.intensity * 2);
            c->y0 = fmin(c->y0, p.flops / 2);
            c->y1 = fmax(c->y1, p.flops * 2);
        }
    }
}

static void set_axes(struct chart *c)
{
    double memory = memory_roof(c), top = flat_roof(c, true);
    if (isnan(memory) && isnan(top))
        memory = 1e12; // some axes, so that points have a place
    top = isnan(top) ? 16 * memory : top;
    memory = isnan(memory) ? top / 16 : memory;
    c->x0 = top / memory / 512;
    c->x1 = top / memory * 8;
    c->y0 = memory * c->x0 / 4;
    c->y1 = top * 2;
    widen(c);
}

static double column(const struct chart *c, double intensity)
{
    double t = log(intensity / c->x0) / log(c->x1 / c->x0);
    return LEFT + fmin(fmax(t, 0), 1) * PLOT_WIDTH;
}

static double row(const struct chart *c, double flops)
{
    double t = log(flops / c->y0) / log(c->y1 / c->y0);
    return TOP + (1 - fmin(fmax(t, 0), 1)) * PLOT_HEIGHT;
}

static void text_at(struct kb_text *out, double x, double y, const char *attributes, const char *text)
{
    kb_text_addf(out, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *attributes ? " " : "", attributes);
    escape(out, text);
    kb_text_add(out, "</text>\n");
}

static void line_at(struct kb_text *out, const char *class, double x0, double y0, double x1, double y1)
{
    kb_text_addf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x0, y0, x1, y1);
}

static double decade(double from)
{
    return pow(10, ceil(log10(from) - 1e-9));
}

static void draw_axes(struct chart *c)
{
    double step = c->x1 / c->x0 > 1e9 ? 100 : 10;
    for (double v = decade(c->x0); v <= c->x1; v *= step) {
        line_at(c->out, "grid", column(c, v), TOP, column(c, v), TOP + PLOT_HEIGHT);
        text_at(c->out, column(c, v), TOP + PLOT_HEIGHT + 18, "text-anchor=\"middle\"", kb_plain(v).s);
    }
    step = c->y1 / c->y0 > 1e9 ? 100 : 10;
    for (double v = decade(c->y0); v <= c->y1; v *= step) {
        line_at(c->out, "grid", LEFT, row(c, v), LEFT + PLOT_WIDTH, row(c, v));
        struct kb_quantity text = kb_quantity(v, "FLOP/s"); // "1.00 TFLOP/s": decades are whole
        char *dot = strchr(text.s, '.');
        if (dot)
            memmove(dot, strchr(dot, ' '), strlen(strchr(dot, ' ')) + 1);
        text_at(c->out, LEFT - 8, row(c, v) + 4, "text-anchor=\"end\"", text.s);
    }
    kb_text_addf(c->out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP,
                 PLOT_WIDTH, PLOT_HEIGHT);
    text_at(c->out, LEFT + PLOT_WIDTH / 2.0, TOP + PLOT_HEIGHT + 36, "text-anchor=\"middle\"",
            "arithmetic intensity, FLOP per byte");
}

// A slanted roof ends where it meets the flat one of its own kind, or the frame.
static void draw_roof(struct chart *c, const struct roof *r)
{
    double top = flat_roof(c, true), left = c->x0, right = c->x1;
    if (r->slanted) {
        right = fmin(right, (isnan(top) ? c->y1 : top) / r->value);
        left = fmax(left, c->y0 / r->value);
        if (left < right)
            line_at(c->out, r->class, column(c, left), row(c, left * r->value), column(c, right),
                    row(c, right * r->value));
        return;
    }
    double memory = memory_roof(c);
    if (!isnan(memory))
        left = fmin(fmax(left, r->value / memory), right);
    line_at(c->out, r->class, column(c, left), row(c, r->value), column(c, right), row(c, r->value));
}

// Labels

static bool overlaps(const struct box *a, const struct box *b)
{
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h && b->y < a->y + a->h;
}

static bool is_free(const struct chart *c, const struct box *b)
{
    if (b->x < LEFT || b->x + b->w > LEFT + PLOT_WIDTH || b->y < TOP || b->y + b->h > TOP + PLOT_HEIGHT)
        return false;
    for (int i = 0; i < c->box_count; i++)
        if (overlaps(b, &c->boxes[i]))
            return false;
    return true;
}

static void reserve(struct chart *c, struct box b)
{
    if (c->box_count < MOST_BOXES)
        c->boxes[c->box_count++] = b;
}

// Beside the point; where that is taken, in rings around it. The last try stands if all is full.
static struct box find_room(struct chart *c, double x, double y, double w)
{
    struct box b = {0};
    for (int ring = 0; ring < 14; ring++) {
        double dy = ring * LABEL_HEIGHT;
        struct box tries[] = {{x + 10, y - LABEL_HEIGHT / 2.0 - dy, w, LABEL_HEIGHT},
                              {x - 10 - w, y - LABEL_HEIGHT / 2.0 - dy, w, LABEL_HEIGHT},
                              {x + 10, y - LABEL_HEIGHT / 2.0 + dy, w, LABEL_HEIGHT},
                              {x - 10 - w, y - LABEL_HEIGHT / 2.0 + dy, w, LABEL_HEIGHT}};
        for (size_t i = 0; i < KB_COUNT(tries); i++) {
            b = tries[i];
            if (is_free(c, &b))
                return b;
        }
    }
    b.x = fmin(fmax(b.x, LEFT), LEFT + PLOT_WIDTH - fmin(w, PLOT_WIDTH));
    b.y = fmin(fmax(b.y, TOP), TOP + PLOT_HEIGHT - LABEL_HEIGHT);
    return b;
}

static void draw_label(struct chart *c, double x, double y, const char *colour, const char *text)
{
    struct box b = find_room(c, x, y, LETTER * kb_text_width(text, strlen(text)) + 4);
    reserve(c, b);
    double middle = b.y + b.h / 2, end = b.x > x ? b.x : b.x + b.w;
    if (fabs(middle - y) > LABEL_HEIGHT)
        line_at(c->out, "leader", x, y, end, middle);
    char *attributes = kb_format("class=\"label\" style=\"fill:%s\"", colour);
    text_at(c->out, b.x + 2, b.y + 11.5, attributes, text);
    free(attributes);
}

static void draw_legend(struct chart *c)
{
    double w = 356, h = ROW_HEIGHT * c->roof_count + 10.0, x = LEFT + PLOT_WIDTH - w - 8, y = TOP + PLOT_HEIGHT - h - 8;
    if (!c->roof_count) {
        text_at(c->out, LEFT + 12, TOP + 22, "", "no roofs: they are measured on the device, or come with --like");
        return;
    }
    kb_text_addf(c->out, "<rect class=\"legend\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x, y, w, h);
    for (int i = 0; i < c->roof_count; i++) {
        const struct roof *r = &c->roofs[i];
        double middle = y + 5 + ROW_HEIGHT * (i + 0.5);
        char *text = kb_format("%s: %s", r->name, kb_quantity(r->value, r->slanted ? "B/s" : "FLOP/s").s);
        line_at(c->out, r->class, x + 8, middle, x + 40, middle);
        text_at(c->out, x + 48, middle + 4, "", text);
        free(text);
    }
    reserve(c, (struct box){x, y, w, h});
}

// Points

static void draw_trail(struct chart *c, const struct kb_model_variant *variant, const char *colour)
{
    struct kb_text points = {0};
    int n = 0;
    for (int k = 0; k < variant->version_count; k++) {
        struct point p = point_of(c, &variant->versions[k]);
        double x, y;
        if (!has_place(&p) || p.modelled)
            continue;
        place(c, &p, &x, &y);
        kb_text_addf(&points, "%s%.1f,%.1f", n++ ? " " : "", column(c, x), row(c, y));
        kb_text_addf(c->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\" opacity=\"0.5\"/>\n", column(c, x),
                     row(c, y), colour);
    }
    if (n > 1)
        kb_text_addf(c->out, "<polyline class=\"trail\" stroke=\"%s\" points=\"%s\"/>\n", colour, points.data);
    kb_text_free(&points);
}

static void note(struct chart *c, const char *name, const char *why)
{
    char *text = kb_format("%s: no point (%s)", name, why), *line = kb_cleaned(text);
    kb_text_addf(&c->notes, "%s\n", line);
    c->note_count++;
    free(line);
    free(text);
}

static void draw_sign(struct chart *c, int index, const struct point *p)
{
    const char *colour = colours[(size_t)index % KB_COUNT(colours)];
    double x, y;
    place(c, p, &x, &y);
    x = column(c, x);
    y = row(c, y);
    if (p->modelled)
        kb_text_addf(
            c->out,
            "<path class=\"modelled\" stroke=\"%s\" d=\"M%.1f %.1f l-6 -10 h12 z\"><title>modelled</title></path>\n",
            colour, x, y);
    else
        kb_text_addf(c->out, "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"%s\"/>\n", x, y, colour);
    reserve(c, (struct box){x - 7, y - 7, 14, 14});
}

static void name_point(struct chart *c, int index, const struct point *p)
{
    const struct kb_model_version *v = kb_model_current(c->model, index);
    struct kb_text text = {0};
    double x, y;
    place(c, p, &x, &y);
    kb_text_addf(&text, "%s v%d", c->model->variants[index].name, v->number);
    if (p->modelled)
        kb_text_add(&text, ", floor, modelled");
    else if (isfinite(v->cold_us))
        kb_text_addf(&text, ", %s us", kb_plain(v->cold_us).s);
    if (!isnan(p->share))
        kb_text_addf(&text, ", %s", kb_percent(p->share).s);
    draw_label(c, column(c, x), row(c, y), colours[(size_t)index % KB_COUNT(colours)], text.data);
    kb_text_free(&text);
}

static void draw_points(struct chart *c)
{
    const struct kb_model *m = c->model;
    for (int i = 0; i < m->variant_count; i++) {
        struct point p = point_of(c, kb_model_current(m, i));
        draw_trail(c, &m->variants[i], colours[(size_t)i % KB_COUNT(colours)]);
        if (has_place(&p))
            draw_sign(c, i, &p);
        else
            note(c, m->variants[i].name, p.why);
    }
    for (int i = 0; i < m->variant_count; i++) { // once all signs have their place
        struct point p = point_of(c, kb_model_current(m, i));
        if (has_place(&p))
            name_point(c, i, &p);
    }
}

// The device, and where the points' bytes and FLOPs come from.
static void draw_subtitle(const struct chart *c)
{
    struct kb_text text = {0};
    const char *said[3] = {NULL};
    int n = 0;
    kb_text_add(&text, (c->model->device ?: &kb_unknown_device)->name ?: "no device");
    for (int i = 0; i < c->model->variant_count; i++) {
        struct point p = point_of(c, kb_model_current(c->model, i));
        int k = 0;
        while (k < n && strcmp(said[k], p.source ? p.source : "") != 0)
            k++;
        if (!p.source || !has_place(&p) || k < n || n == (int)KB_COUNT(said))
            continue;
        said[n++] = p.source;
        kb_text_addf(&text, "%s%s", n > 1 ? ", " : "; bytes and FLOPs: ", p.source);
    }
    text_at(c->out, LEFT, 52, "", text.data);
    kb_text_free(&text);
}

static void draw_titles(const struct chart *c)
{
    const struct kb_model *m = c->model;
    char *title =
        kb_format("%s, %s", m->bench_name ? m->bench_name : "bench", kb_model_case(m, m->headline)->label ?: "");
    text_at(c->out, LEFT, 30, "class=\"title\"", title);
    draw_subtitle(c);
    free(title);
}

static void draw_notes(struct chart *c)
{
    double y = TOP + PLOT_HEIGHT + 58;
    for (char *line = c->notes.data; line && *line; y += ROW_HEIGHT) {
        char *end = strchr(line, '\n');
        *end = 0;
        text_at(c->out, LEFT, y, "", line);
        line = end + 1;
    }
}

static const char style[] =
    "<style>text{font:12px "
    "sans-serif;fill:#222}.title{font-size:18px;font-weight:bold}.label{font-weight:bold;paint-order:stroke;stroke:#"
    "fff;stroke-width:3px}"
    ".grid{stroke:#e4e4e4}.frame{fill:none;stroke:#555}.roof{stroke:#111;stroke-width:2}"
    ".vendor{stroke:#777;stroke-width:1.2;stroke-dasharray:2 4}.copy{stroke:#111;stroke-dasharray:8 5}"
    ".legend{fill:#fff;fill-opacity:0.9;stroke:#ccc}.trail{fill:none;stroke-width:1.2;stroke-opacity:0.5}"
    ".point{stroke:#fff;stroke-width:1.5}.modelled{fill:none;stroke-width:1.8}.leader{stroke:#999;stroke-width:0.8}"
    "</style>\n";

void kb_svg_roofline(const struct kb_model *m, struct kb_text *out)
{
    struct kb_text body = {0};
    struct chart *c = kb_alloc(sizeof *c);
    c->model = m;
    c->out = &body;
    read_roofs(c);
    set_axes(c);
    draw_titles(c);
    draw_axes(c);
    for (int i = 0; i < c->roof_count; i++)
        draw_roof(c, &c->roofs[i]);
    draw_legend(c);
    draw_points(c);
    draw_notes(c);
    int height = TOP + PLOT_HEIGHT + 52 + ROW_HEIGHT * c->note_count;
    kb_text_addf(out,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                 "height=\"%d\" viewBox=\"0 0 %d %d\">\n",
                 WIDTH, height, WIDTH, height);
    kb_text_add(out, style);
    kb_text_addf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", WIDTH, height);
    kb_text_bytes(out, body.data, body.size);
    kb_text_add(out, "</svg>\n");
    kb_text_free(&c->notes);
    kb_text_free(&body);
    free(c);
}
