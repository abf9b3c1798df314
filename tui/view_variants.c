// All variants side by side: newest version, what became of it, time, share of the roof, error, resources; without a
// GPU what was counted instead of the time.
#include "base/memory.h"
#include "base/text.h"
#include "tui/facts.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED = 2 + 5 + 2, BAR_LEAST = 8, BAR_MOST = 40 }; // cursor, version, sign

static struct kb_short show_speed(const struct kb_subject *s)
{
    return kb_show_time(kb_speed_us(s->model, s->version, s->case_index));
}

static struct kb_short show_share(const struct kb_subject *s)
{
    const struct kb_ev_timing *timing = kb_model_timing(s->model, s->version, s->case_index);
    bool speed = !isnan(kb_speed_us(s->model, s->version, s->case_index));
    return kb_show_percent(speed ? KB_WITHIN(timing, roofline, roofline)->share : NAN);
}

static struct kb_short show_max_abs(const struct kb_subject *s)
{
    return kb_show_error(KB_WORST(s->model, s->version, max_abs));
}

static struct kb_short show_registers(const struct kb_subject *s)
{
    return kb_show_plain(kb_model_kernel(s->version)->registers);
}

static struct kb_short show_occupancy(const struct kb_subject *s)
{
    return kb_show_percent(kb_model_kernel(s->version)->occupancy);
}

static const struct kb_ev_counts *counts_of(const struct kb_subject *s)
{
    return KB_WITHIN(s->version->cases[s->case_index].facts, facts, counts);
}

static struct kb_short show_sectors(const struct kb_subject *s)
{
    return kb_show_us(kb_sectors_per_request(counts_of(s)));
}

static struct kb_short show_conflicts(const struct kb_subject *s)
{
    return kb_show_count(counts_of(s)->shared_bank_conflicts);
}

struct column {
    const char *head;
    int width;
    struct kb_short (*show)(const struct kb_subject *);
};
static const struct column timed[] = {
    {"time", 10, show_speed},    {"roof", 6, show_share},    {"max_abs", 10, show_max_abs},
    {"regs", 7, show_registers}, {"occ", 6, show_occupancy}, {NULL, 0, NULL},
};
static const struct column counted[] = {
    {"max_abs", 9, show_max_abs}, {"sect/req", 10, show_sectors}, {"conflicts", 11, show_conflicts},
    {"occ", 6, show_occupancy},   {"regs", 6, show_registers},    {NULL, 0, NULL},
};

static const struct column *columns_of(const struct kb_app *a)
{
    return kb_model_device_is(a->model, "cpu") ? counted : timed;
}

static int name_width(const struct kb_app *a, int width)
{
    int most = 7;
    for (int i = 0; i < a->model->variant_count; i++) {
        int n = kb_text_width(a->model->variants[i].name, strlen(a->model->variants[i].name));
        most = n > most ? n : most;
    }
    int room = width - FIXED - 10 < 4 ? 4 : width - FIXED - 10;
    return most > room ? room : most;
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

static void head(struct kb_line *l, const struct kb_app *a, int name, int width)
{
    kb_span(l, KB_STYLE_DIM, "  variant");
    kb_span_right(l, name + 7, KB_STYLE_DIM, "ver");
    int x = name + FIXED;
    for (const struct column *c = columns_of(a); c->head && x + c->width <= width; c++)
        kb_span_right(l, x += c->width, KB_STYLE_DIM, c->head);
}

// How long it takes beside the slowest.
static void add_bar(struct kb_line *l, const struct kb_app *a, const struct kb_subject *s, int room)
{
    double us = kb_speed_us(a->model, s->version, s->case_index), slowest = slowest_us(a);
    int most = room > BAR_MOST ? BAR_MOST : room;
    if (most < BAR_LEAST || !(us > 0) || !(slowest > 0))
        return;
    int n = (int)lround(us / slowest * most);
    kb_span(l, KB_STYLE_TEXT, "   ");
    for (int i = 0; i < (n < 1 ? 1 : n); i++)
        kb_span(l, s->variant == a->variant ? KB_STYLE_POINT : KB_STYLE_TRAIL, kb_sign(KB_SIGN_BLOCK, a->ascii));
}

static void add_numbers(struct kb_line *l, const struct kb_app *a, const struct kb_subject *s, int x, int width)
{
    bool first = true;
    for (const struct column *c = columns_of(a); c->head && x + c->width <= width; c++) {
        struct kb_short text = c->show(s);
        bool unknown = !strcmp(text.s, "–");
        kb_span_right(l, x += c->width, unknown ? KB_STYLE_UNKNOWN : first ? KB_STYLE_NUMBER : KB_STYLE_TEXT, text.s);
        first = false;
    }
    add_bar(l, a, s, width - x - 3);
}

static void add_trouble(struct kb_line *l, const struct kb_app *a, const struct kb_subject *s, enum kb_outcome o,
                        int width)
{
    const struct kb_model_version *good = kb_last_good(a->model, s->variant);
    kb_span(l, kb_outcome_style(o), " ");
    kb_span_cut(l, width - kb_line_width(l), kb_outcome_style(o), kb_outcome_word(o));
    double us = kb_speed_us(a->model, good, s->case_index);
    if (good && good != s->version && kb_line_width(l) + 26 <= width)
        kb_spanf(l, KB_STYLE_DIM, "  last good v%d %s", good->number, isnan(us) ? "" : kb_show_time(us).s);
}

// A line to chase: what a command says of itself, as what it is.
static void reported_row(struct kb_line *l, const struct kb_app *a, int i, int name, int width)
{
    const struct kb_ev_reported *said =
        kb_model_reported(a->model, i, kb_app_pick_timed_case(a)) ?: &kb_unknown_reported;
    const struct kb_ev_roofline *roofline = KB_WITHIN(said, roofline, roofline);
    bool here = i == a->variant, right = said->right == KB_YES, wrong = said->right == KB_NO;
    kb_spanf(l, KB_STYLE_KEY, "%s ", here ? kb_sign(KB_SIGN_CURSOR, a->ascii) : " ");
    kb_span_cut(l, name, here ? KB_STYLE_STRONG : KB_STYLE_TEXT, a->model->variants[i].name);
    kb_span_right(l, name + 7, KB_STYLE_DIM, "line");
    kb_spanf(l,
             right   ? KB_STYLE_GOOD
             : wrong ? KB_STYLE_BAD
                     : KB_STYLE_DIM,
             " %s",
             kb_sign(right   ? KB_SIGN_PASS
                     : wrong ? KB_SIGN_FAIL
                             : KB_SIGN_NONE,
                     a->ascii));
    if (isnan(said->us) || wrong || roofline->impossible) {
        const char *why = wrong                          ? said->right_reason ?: "its outputs are wrong"
                          : roofline->impossible         ? "impossible: faster than the device can move the data"
                          : said != &kb_unknown_reported ? said->us_reason ?: "it gave no reason"
                                                         : kb_model_reported_wait(a->model);
        kb_span(l, KB_STYLE_DIM, " ");
        kb_span_cut(l, width - kb_line_width(l), wrong || roofline->impossible ? KB_STYLE_BAD : KB_STYLE_DIM, why);
        return;
    }
    int x = name + FIXED + timed[0].width;
    kb_span_right(l, x, KB_STYLE_NUMBER, kb_show_time(said->us).s);
    kb_span_right(l, x += timed[1].width, KB_STYLE_TEXT, kb_show_percent(roofline->share).s);
    kb_span(l, KB_STYLE_DIM, "  ");
    char *text = kb_format("reported by the command%s%s%s", right ? ", outputs right" : ", not verified",
                           said->what ? ": " : "", said->what ?: "");
    kb_span_cut(l, width - kb_line_width(l), KB_STYLE_DIM, text);
    free(text);
}

static void row(struct kb_line *l, const struct kb_app *a, int i, int name, int width)
{
    if (!strcmp(a->model->variants[i].kind, "command")) {
        reported_row(l, a, i, name, width);
        return;
    }
    struct kb_subject s;
    kb_app_subject(a, i, kb_model_current(a->model, i), &s);
    enum kb_outcome o = kb_outcome_of(&s);
    bool here = i == a->variant, running = o == KB_OUTCOME_RUNNING, fine = kb_outcome_good(o);
    char version[16] = "";
    if (s.version)
        snprintf(version, sizeof version, s.version->number > 0 ? "v%d" : "new", s.version->number);
    kb_spanf(l, KB_STYLE_KEY, "%s ", here ? kb_sign(KB_SIGN_CURSOR, a->ascii) : " ");
    kb_span_cut(l, name, here ? KB_STYLE_STRONG : KB_STYLE_TEXT, a->model->variants[i].name);
    kb_span_right(l, name + 7, KB_STYLE_DIM, version);
    enum kb_sign sign = running                   ? KB_SIGN_RUNNING
                        : o == KB_OUTCOME_WAITING ? KB_SIGN_NONE
                        : fine                    ? KB_SIGN_PASS
                        : o == KB_OUTCOME_GUESSED ? KB_SIGN_UNKNOWN
                                                  : KB_SIGN_FAIL;
    kb_spanf(l, fine ? KB_STYLE_GOOD : kb_outcome_style(o), " %s", kb_sign(sign, a->ascii));
    if (fine)
        add_numbers(l, a, &s, name + FIXED, width);
    else
        add_trouble(l, a, &s, o, width);
}

static void lines(const struct kb_app *a, int width, struct kb_lines *out)
{
    int name = name_width(a, width);
    head(kb_lines_add(out), a, name, width);
    for (int i = 0; i < a->model->variant_count; i++)
        row(kb_lines_add(out), a, i, name, width);
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
    if (n && to != a->variant)
        kb_app_focus_variant(a, to);
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    if (a->model->case_count)
        kb_text_add(out, kb_app_case_label(a, kb_app_pick_timed_case(a)));
}

const struct kb_view kb_view_variants = {"variants", 1, lines, NULL, note, cursor, move};
