// Every version of the focused variant, the newest first. The one under the cursor is shown by the other panes.
#include "base/memory.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Where columns end.
enum { TIME = 26, CHANGE = 34, AGE = 46, GIT = 60 };

static const struct kb_model_variant *variant_of(const struct kb_app *a)
{
    return a->variant < a->model->variant_count ? &a->model->variants[a->variant] : NULL;
}

// The versions shown, the newest first; owned by the caller.
struct list {
    const struct kb_model_version **items;
    int count;
};

static struct list versions_of(const struct kb_app *a)
{
    const struct kb_model_variant *variant = variant_of(a);
    int n = variant ? variant->version_count : 0;
    struct list l = {kb_alloc(sizeof *l.items * (size_t)(n + 1)), 0};
    for (int i = n - 1; i >= 0; i--)
        if (!variant->versions[i].superseded)
            l.items[l.count++] = &variant->versions[i];
    return l;
}

static int index_of(const struct list *l, const struct kb_model_version *v)
{
    for (int k = 0; k < l->count; k++)
        if (l->items[k] == v)
            return k;
    return -1;
}

// was: the time of the last version before this one that has one.
static void row(struct kb_line *l, const struct kb_app *a, const struct kb_model_version *v, double was, double best,
                int width)
{
    struct kb_subject s;
    kb_app_subject(a, a->variant, v, &s);
    enum kb_outcome o = kb_outcome_of(&s);
    const struct kb_model_variant *variant = variant_of(a);
    double us = kb_speed_us(a->model, v, s.case_index);
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

static void add_head(struct kb_line *head, int width)
{
    kb_span_right(head, 6, KB_STYLE_DIM, "ver");
    kb_span(head, KB_STYLE_DIM, "  outcome");
    kb_span_right(head, TIME, KB_STYLE_DIM, "time");
    if (width >= CHANGE)
        kb_span_right(head, CHANGE, KB_STYLE_DIM, "change");
    if (width >= AGE)
        kb_span(head, KB_STYLE_DIM, "  built");
}

static void lines(const struct kb_app *a, int width, struct kb_lines *out)
{
    struct list l = versions_of(a);
    double *was = kb_alloc(sizeof *was * (size_t)(l.count + 1)), best = NAN, last = NAN;
    int timed_case = kb_app_pick_timed_case(a);
    add_head(kb_lines_add(out), width);
    // From the oldest on, each learns the time before it.
    for (int k = l.count - 1; k >= 0; k--) {
        double us = kb_speed_us(a->model, l.items[k], timed_case);
        was[k] = last;
        last = isnan(us) ? last : us;
        best = isnan(best) || us < best ? us : best;
    }
    for (int k = 0; k < l.count; k++)
        row(kb_lines_add(out), a, l.items[k], was[k], best, width);
    if (!l.count)
        kb_span(kb_lines_add(out), KB_STYLE_DIM, "no version yet: save the source");
    free(was);
    free(l.items);
}

static int cursor(const struct kb_app *a)
{
    struct list l = versions_of(a);
    int k = index_of(&l, kb_app_version(a));
    free(l.items);
    return k + 1;
}

static void move(struct kb_app *a, int by)
{
    struct list l = versions_of(a);
    int to = index_of(&l, kb_app_version(a)) + by;
    to = to >= l.count ? l.count - 1 : to;
    to = to < 0 ? 0 : to;
    a->version = to > 0 && to < l.count ? l.items[to]->number : 0;
    free(l.items);
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    if (variant_of(a))
        kb_text_add(out, variant_of(a)->name);
}

const struct kb_view kb_view_history = {"history", 1, lines, NULL, note, cursor, move};
