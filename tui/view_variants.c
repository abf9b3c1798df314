// All variants side by side: newest version, what became of it, time, share of the roof, error, resources.
#include "base/json.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Columns that a table of this width has room for.
struct columns {
    int name, bar;
    bool share, error, resources;
};

static struct columns columns_for(const struct kb_app *a, int width)
{
    struct columns c = {.name = 7};
    for (int i = 0; i < a->model->variant_count; i++) {
        int n = kb_text_width(a->model->variants[i].name, strlen(a->model->variants[i].name));
        c.name = n > c.name ? n : c.name;
    }
    int used = 2 + 5 + 2 + 10; // cursor, version, sign, time
    int most = width - used;
    c.name = c.name > most ? most : c.name;
    c.name = c.name < 4 ? 4 : c.name;
    used += c.name;
    c.share = width >= used + 6;
    used += 6;
    c.error = width >= used + 10;
    used += 10;
    c.resources = width >= used + 12;
    used += 12;
    c.bar = width - used - 3 > 40 ? 40 : width - used - 3;
    return c;
}

static double slowest_us(const struct kb_app *a)
{
    double most = 0;
    for (int i = 0; i < a->model->variant_count; i++) {
        double us = kb_speed_us(a->model, kb_model_current(a->model, i), kb_app_pick_timed_case(a));
        most = us > most ? us : most;
    }
    return most;
}

static void head(struct kb_line *l, const struct columns *c)
{
    kb_span(l, KB_STYLE_DIM, "  variant");
    int x = 2 + c->name;
    kb_span_right(l, x += 5, KB_STYLE_DIM, "ver");
    kb_span_right(l, x += 12, KB_STYLE_DIM, "time");
    if (c->share)
        kb_span_right(l, x += 6, KB_STYLE_DIM, "roof");
    if (c->error)
        kb_span_right(l, x += 10, KB_STYLE_DIM, "max_abs");
    if (c->resources)
        kb_span_right(l, x += 12, KB_STYLE_DIM, "regs  occ");
}

static double worst_error(const struct kb_app *a, const struct kb_model_version *v)
{
    double worst = NAN;
    for (int i = 0; i < a->model->case_count; i++) {
        double x = kb_json_number(kb_model_worst_metrics(v, i, NULL), "max_abs", NAN);
        worst = isnan(worst) || x > worst ? x : worst;
    }
    return worst;
}

static void numbers(struct kb_line *l, const struct kb_app *a, const struct kb_subject *s, const struct columns *c,
                    int x)
{
    const cJSON *timing = kb_model_timing(a->model, s->version, s->case_index);
    const cJSON *kernel = cJSON_GetArrayItem(kb_json_get(s->version->resources, "kernels"), 0);
    double us = kb_speed_us(a->model, s->version, s->case_index), slowest = slowest_us(a);
    double share = kb_json_number(kb_json_get(timing, "roofline"), "share", NAN);
    kb_span_right(l, x += 10, isnan(us) ? KB_STYLE_UNKNOWN : KB_STYLE_NUMBER, kb_show_time(us).s);
    if (c->share)
        kb_span_right(l, x += 6, KB_STYLE_TEXT, kb_show_percent(isnan(us) ? NAN : share).s);
    if (c->error)
        kb_span_right(l, x += 10, KB_STYLE_TEXT, kb_show_error(worst_error(a, s->version)).s);
    if (c->resources) {
        kb_span_right(l, x += 7, KB_STYLE_TEXT, kb_show_plain(kb_json_number(kernel, "registers", NAN)).s);
        kb_span_right(l, x += 5, KB_STYLE_TEXT, kb_show_percent(kb_json_number(kernel, "occupancy", NAN)).s);
    }
    if (c->bar >= 8 && us > 0 && slowest > 0) {
        kb_span(l, KB_STYLE_TEXT, "   ");
        int n = (int)lround(us / slowest * c->bar);
        for (int i = 0; i < (n < 1 ? 1 : n); i++)
            kb_span(l, s->variant == a->variant ? KB_STYLE_POINT : KB_STYLE_TRAIL, kb_sign(KB_SIGN_BLOCK, a->ascii));
    }
}

static void row(struct kb_line *l, const struct kb_app *a, int i, const struct columns *c, int width)
{
    struct kb_subject s;
    kb_app_subject(a, i, kb_model_current(a->model, i), &s);
    enum kb_outcome o = kb_outcome_of(&s);
    const struct kb_model_version *v = s.version, *good = kb_last_good(a->model, i);
    bool here = i == a->variant;
    kb_spanf(l, KB_STYLE_KEY, "%s ", here ? kb_sign(KB_SIGN_CURSOR, a->ascii) : " ");
    kb_span_cut(l, c->name, here ? KB_STYLE_STRONG : KB_STYLE_TEXT, a->model->variants[i].name);
    char version[16] = "new";
    if (v && v->number > 0)
        snprintf(version, sizeof version, "v%d", v->number);
    kb_span_right(l, 7 + c->name, KB_STYLE_DIM, v ? version : "");
    bool running = o == KB_OUTCOME_RUNNING, fine = kb_outcome_good(o);
    enum kb_sign sign = running || o == KB_OUTCOME_WAITING ? KB_SIGN_NONE : fine ? KB_SIGN_PASS : KB_SIGN_FAIL;
    kb_spanf(l, fine ? KB_STYLE_GOOD : kb_outcome_style(o), " %s", kb_sign(running ? KB_SIGN_RUNNING : sign, a->ascii));
    if (fine && v) {
        numbers(l, a, &s, c, 9 + c->name);
        return;
    }
    kb_span_cut(l, width - 11 - c->name, kb_outcome_style(o), " ");
    kb_span_cut(l, width - 11 - c->name, kb_outcome_style(o), kb_outcome_word(o));
    double us = kb_speed_us(a->model, good, s.case_index);
    if (good && good != v && kb_line_width(l) + 26 <= width)
        kb_spanf(l, KB_STYLE_DIM, "  last good v%d %s", good->number, isnan(us) ? "" : kb_show_time(us).s);
}

static void lines(const struct kb_app *a, int width, struct kb_lines *out)
{
    struct columns c = columns_for(a, width);
    head(kb_lines_add(out), &c);
    for (int i = 0; i < a->model->variant_count; i++)
        row(kb_lines_add(out), a, i, &c, width);
    if (!a->model->variant_count)
        kb_span(kb_lines_add(out), KB_STYLE_DIM, "the bench was not read yet");
}

static int cursor(const struct kb_app *a)
{
    return a->variant + 1;
}

static void move(struct kb_app *a, int by)
{
    int n = a->model->variant_count, to = a->variant + by;
    to = to >= n ? n - 1 : to;
    to = to < 0 ? 0 : to;
    if (n)
        kb_app_focus_variant(a, to);
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    if (a->model->case_count)
        kb_text_add(out, kb_app_case_label(a, kb_app_pick_timed_case(a)));
}

const struct kb_view kb_view_variants = {"variants", 1, lines, NULL, note, cursor, move};
