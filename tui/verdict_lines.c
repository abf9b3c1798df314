#include "base/memory.h"
#include "loop/findings.h"
#include "loop/proof.h"
#include "tui/facts.h"
#include "tui/format.h"
#include "tui/verdict.h"
#include "tui/verdict_notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void rung_mark(struct kb_line *l, const struct kb_rung_state *r, int64_t now_ms, bool words)
{
    static const struct {
        enum kb_sign sign;
        enum kb_style style;
    } marks[KB_STATUSES] = {
        [KB_STATUS_NONE] = {KB_SIGN_NONE, KB_STYLE_DIM},  [KB_STATUS_RUNNING] = {KB_SIGN_RUNNING, KB_STYLE_RUNNING},
        [KB_STATUS_PASS] = {KB_SIGN_PASS, KB_STYLE_GOOD}, [KB_STATUS_FAIL] = {KB_SIGN_FAIL, KB_STYLE_BAD},
        [KB_STATUS_SKIP] = {KB_SIGN_SKIP, KB_STYLE_DIM},  [KB_STATUS_NA] = {KB_SIGN_NA, KB_STYLE_DIM},
    };
    kb_span(l, marks[r->status].style, kb_sign(marks[r->status].sign, l->ascii));
    if (r->status == KB_STATUS_RUNNING)
        kb_spanf(l, KB_STYLE_RUNNING, " %s", kb_show_ms((double)(now_ms - r->since_ms)).s);
    else if (words && (r->status == KB_STATUS_NA || r->status == KB_STATUS_SKIP))
        kb_spanf(l, KB_STYLE_DIM, " %s", r->status == KB_STATUS_NA ? "n/a" : "skipped");
    else if (!isnan(r->ms) && r->status != KB_STATUS_NONE)
        kb_spanf(l, KB_STYLE_DIM, " %s", kb_show_ms(r->ms).s);
}

// How much a ladder of a certain width tells.
struct ladder_form {
    int gap, letters; // letters of a rung's name at most
    bool times, total, space;
};

static void add_ladder(struct kb_line *l, const struct kb_subject *s, const struct ladder_form *form)
{
    static const struct kb_rung_state none = {.status = KB_STATUS_NONE, .ms = NAN};
    const struct kb_model_version *v = s->version;
    for (int i = 0; i < KB_RUNGS; i++) {
        struct kb_rung_state r = v ? v->rungs[i] : none;
        bool reached = r.status != KB_STATUS_NONE && r.status != KB_STATUS_SKIP;
        if (!form->times)
            r.ms = NAN;
        kb_spanf(l, reached ? KB_STYLE_TEXT : KB_STYLE_DIM, "%*s%.*s%s", i ? form->gap : 0, "", form->letters,
                 kb_rungs[i].name, form->space ? " " : "");
        rung_mark(l, &r, s->now_ms, form->times);
    }
    if (form->total && v && !isnan(v->first_verdict_ms))
        kb_spanf(l, KB_STYLE_DIM, "   verdict after %s", kb_show_ms(v->first_verdict_ms).s);
}

void kb_ladder_line(struct kb_line *l, const struct kb_subject *s, int width)
{
    static const struct ladder_form forms[] = {
        {3, 16, true, true, true},    {2, 16, true, false, true},  {2, 16, false, false, true},
        {1, 16, false, false, false}, {1, 4, false, false, false}, {1, 2, false, false, false},
        {0, 1, false, false, false},
    };
    for (size_t i = 0; i < KB_COUNT(forms); i++) {
        kb_line_clear(l);
        add_ladder(l, s, &forms[i]);
        if (kb_line_width(l) <= width)
            return;
    }
}

static void version_name(struct kb_text *out, const struct kb_subject *s)
{
    if (s->version && s->version->number > 0)
        kb_text_addf(out, "v%d", s->version->number);
    else if (s->version)
        kb_text_add(out, "new version");
}

static void gap(struct kb_line *l)
{
    kb_span(l, KB_STYLE_TEXT, "   ");
}

static const struct kb_model_version *baseline_of(const struct kb_subject *s)
{
    const struct kb_ev_ref *base = KB_WITHIN(s->version->cases[s->case_index].versus, baseline, ref);
    return kb_model_version(s->model, kb_model_variant_index(s->model, base->variant), (int)base->version);
}

static void add_comparison(struct kb_line *l, const struct kb_subject *s, enum kb_outcome o, double us)
{
    const struct kb_ev_versus *versus = s->version->cases[s->case_index].versus ?: &kb_unknown_versus;
    const struct kb_ev_ref *base = KB_WITHIN(versus, baseline, ref);
    const char *variant = base->variant ?: "";
    double before = versus->baseline_us, spread = (versus->high - versus->low) / 2;
    if (isnan(before))
        before = kb_speed_us(s->model, baseline_of(s), s->case_index);
    kb_span(l, KB_STYLE_TEXT, " against ");
    if (strcmp(variant, s->model->variants[s->variant].name))
        kb_spanf(l, KB_STYLE_TEXT, "%s ", variant);
    kb_spanf(l, KB_STYLE_TEXT, "v%d: ", (int)base->version);
    kb_spanf(l, KB_STYLE_NUMBER, "%s → %s us", kb_show_us(before).s, kb_show_us(isnan(versus->us) ? us : versus->us).s);
    kb_spanf(l, kb_outcome_style(o), "  %s", kb_show_change(versus->ratio).s);
    if (!isnan(spread))
        kb_spanf(l, KB_STYLE_DIM, " ±%.1f%%", spread * 100);
    if (o == KB_OUTCOME_SAME_CODE)
        kb_span(l, KB_STYLE_DIM, " is noise: the machine code is the same");
    else if (!isnan(versus->noise))
        kb_spanf(l, KB_STYLE_DIM, " (noise ±%.1f%%)", versus->noise * 100);
    kb_note_cases(l, s);
}

static void add_rate(struct kb_line *l, const struct kb_ev_timing *timing)
{
    const struct kb_ev_roofline *roofline = KB_WITHIN(timing, roofline, roofline);
    bool memory = strcmp(roofline->bound ?: "memory", "compute");
    double rate = memory ? roofline->attained_bytes_per_s : roofline->attained_flops;
    if (isnan(rate))
        return;
    gap(l);
    kb_span(l, KB_STYLE_NUMBER, memory ? kb_show_bytes_rate(rate).s : kb_show_flops_rate(rate).s);
    if (!isnan(roofline->share))
        kb_spanf(l, KB_STYLE_TEXT, ", %s of the roof", kb_show_percent(roofline->share).s);
}

static void add_error(struct kb_line *l, const struct kb_subject *s)
{
    double worst = NAN;
    const struct kb_ev_output *of = &kb_unknown_output;
    for (int i = 0; i < s->model->case_count; i++) {
        const struct kb_ev_output *output = kb_model_worst_output(s->version, i);
        double x = KB_WITHIN(output, metrics, metrics)->max_abs;
        if (!isnan(x) && (isnan(worst) || x > worst)) {
            worst = x;
            of = output;
        }
    }
    if (isnan(worst))
        return;
    gap(l);
    kb_spanf(l, KB_STYLE_TEXT, "max_abs %s", kb_show_error(worst).s);
    double psnr = KB_WITHIN(of, metrics, metrics)->psnr_db;
    if (!strcmp(KB_WITHIN(of, tolerance, tolerance)->metric ?: "", "psnr_db") && !isnan(psnr))
        kb_spanf(l, KB_STYLE_TEXT, "  PSNR %.0f dB", psnr);
}

static void add_margin(struct kb_line *l, const struct kb_subject *s)
{
    double margin = kb_worst_margin(s->model, s->version);
    if (!isnan(margin))
        kb_spanf(l, margin > 0.9 ? KB_STYLE_WARN : KB_STYLE_TEXT, "   %s of its bound", kb_show_margin(margin).s);
}

static void add_was_is(struct kb_line *l, const char *name, double was, double is, double scale, const char *unit)
{
    if (isnan(is))
        return;
    gap(l);
    kb_spanf(l, KB_STYLE_TEXT, "%s ", name);
    if (!isnan(was) && was != is)
        kb_spanf(l, KB_STYLE_TEXT, "%.0f → ", was * scale);
    kb_spanf(l, KB_STYLE_NUMBER, "%.0f%s", is * scale, unit);
}

static void add_resources(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_ev_kernel_resources *now = kb_model_kernel(s->version), *then = kb_model_kernel(baseline_of(s));
    double spills = fmax(now->spill_store_bytes, 0) + fmax(now->spill_load_bytes, 0); // unknown: 0
    add_was_is(l, "registers", then->registers, now->registers, 1, "");
    if (spills > 0) {
        gap(l);
        kb_spanf(l, KB_STYLE_WARN, "spills %s", kb_show_bytes(spills).s);
    }
    add_was_is(l, "occupancy", then->occupancy, now->occupancy, 100, "%");
}

static void add_goal(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_ev_goal *goal = s->version->goal;
    if (!goal)
        return;
    gap(l);
    bool met = goal->met == KB_YES;
    kb_span(l, met ? KB_STYLE_GOOD : KB_STYLE_WARN, met ? "goal MET" : "goal not met");
    if (!isnan(goal->value))
        kb_spanf(l, KB_STYLE_DIM, " %s of %s", kb_show_percent(goal->value).s, kb_show_percent(goal->wanted).s);
}

// Without a time: what was counted says why it will be fast or slow.
static void add_counts(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_ev_counts *counts = KB_WITHIN(s->version->cases[s->case_index].facts, facts, counts);
    double sectors = kb_sectors_per_request(counts);
    if (!isnan(sectors))
        kb_spanf(l, KB_STYLE_NUMBER, "   %s sectors/request", kb_show_us(sectors).s);
    if (counts->shared_bank_conflicts > 0)
        kb_spanf(l, KB_STYLE_WARN, "   %s bank conflicts", kb_show_count(counts->shared_bank_conflicts).s);
    if (!isnan(counts->average_active_lanes))
        kb_spanf(l, KB_STYLE_TEXT, "   %s of 32 lanes", kb_show_us(counts->average_active_lanes).s);
}

static void add_good(struct kb_line *l, const struct kb_subject *s, enum kb_outcome o)
{
    const struct kb_ev_timing *timing = kb_model_timing(s->model, s->version, s->case_index);
    double us = kb_speed_us(s->model, s->version, s->case_index);
    if (o == KB_OUTCOME_BUILT) {
        const char *why = s->version->rungs[KB_RUNG_RUN].reason;
        kb_spanf(l, KB_STYLE_DIM, "   not run: %s", why ? why : "there is no device");
    } else if (o == KB_OUTCOME_UNVERIFIED) {
        const char *why = s->version->rungs[KB_RUNG_VERIFY].reason;
        kb_spanf(l, KB_STYLE_TEXT, "   nothing to compare with: %s", why ? why : "not verified");
        add_counts(l, s);
    } else if (o == KB_OUTCOME_RIGHT) {
        add_margin(l, s);
        kb_note_gaps(l, s);
        add_counts(l, s);
    } else if (o == KB_OUTCOME_TIMED) {
        const struct kb_ev_interval *cold = KB_WITHIN(timing, cold, interval);
        double spread = (cold->high_us - cold->low_us) / 2;
        kb_spanf(l, KB_STYLE_NUMBER, "   %s", kb_show_time(us).s);
        if (!isnan(spread))
            kb_spanf(l, KB_STYLE_DIM, " ±%s", kb_show_us(spread).s);
    } else {
        add_comparison(l, s, o, us);
    }
    if (o != KB_OUTCOME_RIGHT)
        kb_note_gaps(l, s);
    kb_note_doubts(l, s); // before what a narrow screen cuts
    add_rate(l, timing);
    if (o != KB_OUTCOME_RIGHT)
        add_margin(l, s);
    add_error(l, s);
    add_resources(l, s);
    if (!isnan(us) && s->version->cases[s->case_index].versus)
        kb_note_classes(l, s, baseline_of(s));
    add_goal(l, s);
    if (o == KB_OUTCOME_RIGHT) {
        const struct kb_rung_state *time = &s->version->rungs[KB_RUNG_TIME];
        kb_spanf(l, KB_STYLE_DIM, "   no time: %s", time->reason ? time->reason : "not timed");
    }
}

static void add_compile_error(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_ev_errors *e = s->version->errors;
    const struct kb_ev_message *first = kb_first_error(e);
    int count = 0;
    gap(l);
    if (!first) {
        int rung = kb_failed_rung(s->version);
        const char *reason = rung < 0 ? NULL : s->version->rungs[rung].reason;
        kb_span(l, KB_STYLE_TEXT, reason ? reason : "see the log");
        return;
    }
    for (int i = 0; i < e->errors_count; i++)
        count += e->errors[i].severity && !strcmp(e->errors[i].severity, "error");
    if (first->file && *first->file)
        kb_spanf(l, KB_STYLE_STRONG, "%s:%d:%d ", first->file, (int)first->line, (int)first->column);
    kb_span(l, KB_STYLE_TEXT, first->text ?: "");
    if (count > 1)
        kb_spanf(l, KB_STYLE_DIM, "  +%d more", count - 1);
}

static void add_wrong(struct kb_line *l, const struct kb_subject *s)
{
    int index = kb_first_bad_case(s->model, s->version);
    const struct kb_model_case *c = &s->version->cases[index];
    const struct kb_ev_case *result = kb_case_failed(c->run) ? c->run : c->verify;
    kb_spanf(l, KB_STYLE_TEXT, "   case %s: ", result->label ?: "?");
    for (int i = 0; i < result->outputs_count; i++) {
        const struct kb_ev_output *output = &result->outputs[i];
        const struct kb_ev_metrics *m = KB_WITHIN(output, metrics, metrics);
        struct kb_text why = {0};
        if (m->mismatches > 0 || !strcmp(output->status ?: "", "fail"))
            kb_explain_output(&why, output);
        if (why.size) {
            kb_span(l, KB_STYLE_STRONG, why.data);
            if (!isnan(m->max_abs)) // no pair of numbers, no distance
                kb_spanf(l, KB_STYLE_TEXT, "   max_abs %s", kb_show_error(m->max_abs).s);
            kb_text_free(&why);
            return;
        }
        kb_text_free(&why);
    }
    kb_span(l, KB_STYLE_STRONG, result->reason ?: "it differs from the reference");
}

static void add_impossible(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_ev_timing *timing = kb_model_timing(s->model, s->version, s->model->headline);
    const struct kb_ev_roofline *roofline = KB_WITHIN(timing, roofline, roofline);
    const char *reason = roofline->impossible_reason ?: s->version->rungs[KB_RUNG_TIME].reason;
    double floor = roofline->floor_us;
    gap(l);
    if (!isnan(floor))
        kb_spanf(l, KB_STYLE_STRONG, "below the floor of %s", kb_show_time(floor).s);
    if (reason)
        kb_spanf(l, KB_STYLE_TEXT, "%s%s", isnan(floor) ? "" : ": ", reason);
    else if (isnan(floor))
        kb_span(l, KB_STYLE_TEXT, "no machine like this can do it in that time");
}

static void add_running(struct kb_line *l, const struct kb_subject *s)
{
    for (int i = 0; i < KB_RUNGS; i++)
        if (s->version->rungs[i].status == KB_STATUS_RUNNING)
            kb_spanf(l, KB_STYLE_TEXT, "   %s: %s", kb_rungs[i].name, kb_rungs[i].about);
}

static void add_finding(struct kb_line *l, const struct kb_subject *s, enum kb_rung rung)
{
    const struct kb_ev_finding *first = kb_model_finding(s->version, rung);
    int more = -1;
    for (int i = 0; i < s->version->finding_count; i++)
        more += s->version->findings[i].fails;
    kb_spanf(l, KB_STYLE_STRONG, "   %s:%d ", first->file ?: "?", (int)first->line);
    kb_span(l, KB_STYLE_TEXT, first->text ?: "");
    if (more > 0)
        kb_spanf(l, KB_STYLE_DIM, "  +%d more", more);
    if (first->label && *first->label)
        kb_spanf(l, KB_STYLE_DIM, "   case %s", first->label);
}

// Of a version that failed where it ran: the line that the full check names.
static void add_cause(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_ev_finding *cause = kb_model_cause(s->version);
    if (!cause)
        return;
    char *place = kb_finding_place(cause);
    kb_spanf(l, KB_STYLE_STRONG, "   %s%s: ", cause->fails ? "" : "perhaps ", place);
    kb_span(l, KB_STYLE_TEXT, cause->text ?: "");
    free(place);
}

static void add_bad(struct kb_line *l, const struct kb_subject *s, enum kb_outcome o)
{
    int rung = o == KB_OUTCOME_GUESSED ? kb_doubted_rung(s->version) : kb_failed_rung(s->version);
    if (s->version)
        add_cause(l, s);
    if (o == KB_OUTCOME_COMPILE_ERROR)
        add_compile_error(l, s);
    else if (rung >= 0 && kb_model_finding(s->version, (enum kb_rung)rung))
        add_finding(l, s, (enum kb_rung)rung);
    else if (o == KB_OUTCOME_WRONG)
        add_wrong(l, s);
    else if (o == KB_OUTCOME_IMPOSSIBLE)
        add_impossible(l, s);
    else if (o == KB_OUTCOME_RUNNING)
        add_running(l, s);
    else if (rung >= 0)
        kb_spanf(l, KB_STYLE_TEXT, "   %s: %s", kb_rungs[rung].name,
                 s->version->rungs[rung].reason ? s->version->rungs[rung].reason : "no reason was given");
}

static void add_last_good(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_model_version *good = kb_last_good(s->model, s->variant);
    if (!good || good == s->version)
        return;
    double us = kb_speed_us(s->model, good, s->case_index);
    gap(l);
    kb_spanf(l, KB_STYLE_DIM, "last good v%d", good->number);
    if (!isnan(us))
        kb_spanf(l, KB_STYLE_GOOD, " %s", kb_show_time(us).s);
}

// A variant that is a command has no versions and no verdict of its own.
static void add_reported(struct kb_line *l, const struct kb_subject *s)
{
    const struct kb_ev_reported *said = kb_model_reported(s->model, s->variant, s->case_index);
    if (!said || isnan(said->us)) {
        kb_spanf(l, KB_STYLE_DIM, "no time: %s",
                 said ? said->us_reason ?: "it gave no reason" : kb_model_reported_wait(s->model));
        return;
    }
    bool wrong = said->right == KB_NO;
    kb_span(l, KB_STYLE_NUMBER, kb_show_time(said->us).s);
    kb_spanf(l, KB_STYLE_DIM, "   reported by the command%s%s", said->what ? ": " : "", said->what ?: "");
    if (KB_WITHIN(said, roofline, roofline)->impossible)
        kb_span(l, KB_STYLE_BAD, "   impossible: faster than the device can move the data");
    if (said->right == KB_YES)
        kb_span(l, KB_STYLE_GOOD, "   outputs right");
    else
        kb_spanf(l, wrong ? KB_STYLE_BAD : KB_STYLE_WARN, "   %s: %s", wrong ? "outputs wrong" : "not verified",
                 said->right_reason ?: "no reason");
}

void kb_verdict_line(struct kb_line *l, const struct kb_subject *s)
{
    enum kb_outcome o = kb_outcome_of(s);
    bool any = s->variant >= 0 && s->variant < s->model->variant_count;
    struct kb_text name = {0};
    if (any && !strcmp(s->model->variants[s->variant].kind, "command")) {
        kb_spanf(l, KB_STYLE_PLAIN_BADGE, " LINE ");
        kb_spanf(l, KB_STYLE_STRONG, "  %s  ", s->model->variants[s->variant].name);
        add_reported(l, s);
        return;
    }
    version_name(&name, s);
    kb_spanf(l, kb_outcome_badge(o), " %s ", kb_outcome_word(o));
    kb_spanf(l, KB_STYLE_STRONG, "  %s", name.data ? name.data : "");
    kb_text_free(&name);
    if (o == KB_OUTCOME_MISSING)
        kb_spanf(l, KB_STYLE_TEXT, "  %s is %s: %s", s->model->variants[s->variant].source,
                 s->model->variants[s->variant].file_state,
                 s->model->variants[s->variant].file_reason ? s->model->variants[s->variant].file_reason : "no reason");
    else if (o == KB_OUTCOME_WAITING)
        kb_spanf(l, KB_STYLE_DIM, "%s%s", any ? s->model->variants[s->variant].source : "no variant",
                 any ? " was not built yet" : "");
    else if (kb_outcome_good(o))
        add_good(l, s, o);
    else
        add_bad(l, s, o);
    if (!kb_outcome_good(o))
        add_last_good(l, s);
}
