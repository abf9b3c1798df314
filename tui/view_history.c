// Every version of the focused variant, the newest first. The one under the cursor is shown by the other panes.
#include "base/json.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Where columns end.
enum { TIME = 26, CHANGE = 34, AGE = 46, GIT = 60 };

static const struct kb_model_variant *variant_of(const struct kb_app *a)
{
    return a->variant < a->model->variant_count ? &a->model->variants[a->variant] : NULL;
}

// The k-th version from the newest that is shown; NULL behind the last.
static const struct kb_model_version *nth(const struct kb_app *a, int k)
{
    const struct kb_model_variant *variant = variant_of(a);
    for (int i = variant ? variant->version_count - 1 : -1; i >= 0; i--)
        if (!variant->versions[i].superseded && k-- == 0)
            return &variant->versions[i];
    return NULL;
}

static double best_us(const struct kb_app *a)
{
    double best = NAN;
    const struct kb_model_version *v;
    for (int k = 0; (v = nth(a, k)); k++) {
        double us = kb_speed_us(a->model, v, kb_app_pick_timed_case(a));
        best = isnan(best) || us < best ? us : best;
    }
    return best;
}

// The time of the last version before this one that has one.
static double before_us(const struct kb_app *a, int k)
{
    const struct kb_model_version *v;
    while ((v = nth(a, ++k))) {
        double us = kb_speed_us(a->model, v, kb_app_pick_timed_case(a));
        if (!isnan(us))
            return us;
    }
    return NAN;
}

static void row(struct kb_line *l, const struct kb_app *a, int k, const struct kb_model_version *v, double best,
                int width)
{
    struct kb_subject s;
    kb_app_subject(a, a->variant, v, &s);
    enum kb_outcome o = kb_outcome_of(&s);
    const struct kb_model_variant *variant = variant_of(a);
    double us = kb_speed_us(a->model, v, s.case_index), was = before_us(a, k);
    bool shown = v == kb_app_version(a);
    bool pinned = a->model->pin_variant && !strcmp(a->model->pin_variant, variant->name) &&
                  a->model->pin_version == v->number && v->number > 0;
    kb_spanf(l, KB_STYLE_KEY, "%s", shown ? kb_sign(KB_SIGN_CURSOR, a->ascii) : " ");
    kb_spanf(l, KB_STYLE_WARN, "%s", pinned ? kb_sign(KB_SIGN_PIN, a->ascii) : " ");
    char number[16] = "new";
    if (v->number > 0)
        snprintf(number, sizeof number, "v%d", v->number);
    kb_span_right(l, 6, shown ? KB_STYLE_STRONG : KB_STYLE_TEXT, number);
    kb_spanf(l, kb_outcome_style(o), "  %s", kb_outcome_word(o));
        if (!isnan(us))
        kb_span_right(l, TIME, us == best ? KB_STYLE_GOOD : KB_STYLE_NUMBER, kb_show_time(us).s);
    if (!isnan(us) && !isnan(was) && width >= CHANGE)
        kb_span_right(l, CHANGE,
                      us < was   ? KB_STYLE_GOOD
                      : us > was ? KB_STYLE_WARN
                                 : KB_STYLE_DIM,
                      kb_show_change(us / was).s);
    if (width < AGE)
        return;
    kb_span_pad(l, CHANGE + 2);
    kb_spanf(l, KB_STYLE_DIM, "%s ago", kb_show_age(a->now_ms - (v->done_ms >= 0 ? v->done_ms : v->started_ms)).s);
    if (v->git && width >= GIT) {
        kb_span_pad(l, AGE + 2);
        kb_spanf(l, KB_STYLE_DIM, "%.10s", v->git);
    }
}

static void lines(const struct kb_app *a, int width, struct kb_lines *out)
{
    struct kb_line *head = kb_lines_add(out);
    kb_span_right(head, 6, KB_STYLE_DIM, "ver");
    kb_span(head, KB_STYLE_DIM, "  outcome");
    kb_span_right(head, TIME, KB_STYLE_DIM, "time");
    if (width >= CHANGE)
        kb_span_right(head, CHANGE, KB_STYLE_DIM, "change");
    if (width >= AGE)
        kb_span(head, KB_STYLE_DIM, "  built");
    double best = best_us(a);
    const struct kb_model_version *v;
    for (int k = 0; (v = nth(a, k)); k++)
        row(kb_lines_add(out), a, k, v, best, width);
    if (out->count == 1)
        kb_span(kb_lines_add(out), KB_STYLE_DIM, "no version yet: save the source");
}

static int shown_index(const struct kb_app *a)
{
    const struct kb_model_version *v, *shown = kb_app_version(a);
    for (int k = 0; (v = nth(a, k)); k++)
        if (v == shown)
            return k;
    return -1;
}

static int cursor(const struct kb_app *a)
{
    return shown_index(a) + 1;
}

static void move(struct kb_app *a, int by)
{
    int count = 0;
    while (nth(a, count))
        count++;
    int to = shown_index(a) + by;
    to = to >= count ? count - 1 : to;
    to = to < 0 ? 0 : to;
    const struct kb_model_version *v = nth(a, to);
    a->version = v && to > 0 ? v->number : 0;
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    if (variant_of(a))
        kb_text_add(out, variant_of(a)->name);
}

const struct kb_view kb_view_history = {"history", 1, lines, NULL, note, cursor, move};
