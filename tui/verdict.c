#include "tui/verdict.h"
#include "base/memory.h"
#include "tui/format.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *word;
    enum kb_style badge, style;
    bool good;
} outcomes[KB_OUTCOMES] = {
    [KB_OUTCOME_WAITING] = {"WAITING", KB_STYLE_PLAIN_BADGE, KB_STYLE_DIM, false},
    [KB_OUTCOME_MISSING] = {"MISSING", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_RUNNING] = {"RUNNING", KB_STYLE_RUNNING_BADGE, KB_STYLE_RUNNING, false},
    [KB_OUTCOME_COMPILE_ERROR] = {"COMPILE ERROR", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_REFUSED] = {"REFUSED", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_CRASHED] = {"CRASHED", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_HUNG] = {"HUNG", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_WRONG] = {"WRONG", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_RACE] = {"RACE", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_UNINITIALISED] = {"UNINITIALISED", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_DIVERGENT] = {"DIVERGENT", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_REFERENCE] = {"REFERENCE FAILED", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_FAILED] = {"FAILED", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_GUESSED] = {"GUESSED", KB_STYLE_WARN_BADGE, KB_STYLE_WARN, false},
    [KB_OUTCOME_IMPOSSIBLE] = {"IMPOSSIBLE", KB_STYLE_BAD_BADGE, KB_STYLE_BAD, false},
    [KB_OUTCOME_BUILT] = {"BUILT", KB_STYLE_PLAIN_BADGE, KB_STYLE_TEXT, true},
    [KB_OUTCOME_UNVERIFIED] = {"UNVERIFIED", KB_STYLE_WARN_BADGE, KB_STYLE_WARN, true},
    [KB_OUTCOME_RIGHT] = {"RIGHT", KB_STYLE_GOOD_BADGE, KB_STYLE_GOOD, true},
    [KB_OUTCOME_TIMED] = {"TIMED", KB_STYLE_GOOD_BADGE, KB_STYLE_GOOD, true},
    [KB_OUTCOME_FASTER] = {"FASTER", KB_STYLE_GOOD_BADGE, KB_STYLE_GOOD, true},
    [KB_OUTCOME_SLOWER] = {"SLOWER", KB_STYLE_WARN_BADGE, KB_STYLE_WARN, true},
    [KB_OUTCOME_SAME] = {"SAME", KB_STYLE_PLAIN_BADGE, KB_STYLE_TEXT, true},
    [KB_OUTCOME_SAME_CODE] = {"SAME CODE", KB_STYLE_PLAIN_BADGE, KB_STYLE_TEXT, true},
    [KB_OUTCOME_UNSURE] = {"UNSURE", KB_STYLE_WARN_BADGE, KB_STYLE_WARN, true},
};

const char *kb_outcome_word(enum kb_outcome o)
{
    return outcomes[o].word;
}

enum kb_style kb_outcome_badge(enum kb_outcome o)
{
    return outcomes[o].badge;
}

enum kb_style kb_outcome_style(enum kb_outcome o)
{
    return outcomes[o].style;
}

bool kb_outcome_good(enum kb_outcome o)
{
    return outcomes[o].good;
}

int kb_failed_rung(const struct kb_model_version *v)
{
    for (int i = 0; v && i < KB_RUNGS; i++)
        if (v->rungs[i].status == KB_STATUS_FAIL)
            return i;
    return -1;
}

int kb_doubted_rung(const struct kb_model_version *v)
{
    for (int i = 0; v && i < KB_RUNGS; i++)
        if (v->rungs[i].doubt)
            return i;
    return -1;
}

int kb_first_bad_case(const struct kb_model *m, const struct kb_model_version *v)
{
    for (int i = 0; v && i < m->case_count; i++)
        if (kb_case_failed(v->cases[i].run) || kb_case_failed(v->cases[i].verify))
            return i;
    return -1;
}

// Where a word begins: "change" says nothing of a hang.
static bool says_hung(const char *reason)
{
    static const char *const words[] = {"hung", "hang", "deadline", "no news", "no answer", "never end"};
    for (size_t i = 0; reason && i < KB_COUNT(words); i++)
        for (const char *at = reason; (at = strcasestr(at, words[i])); at++)
            if (at == reason || !isalpha((unsigned char)at[-1]))
                return true;
    return false;
}

// What was found says more than what came out of it; KB_OUTCOMES: nothing was found at this rung.
static enum kb_outcome found(const struct kb_model_version *v, int rung)
{
    const struct kb_ev_finding *finding = rung >= 0 ? kb_model_finding(v, (enum kb_rung)rung) : NULL;
    const struct kb_finding_kind *kind = finding ? kb_finding_kind(finding->kind ?: "") : NULL;
    for (int i = 0; kind && i < KB_OUTCOMES; i++)
        if (!strcmp(outcomes[i].word, kind->word))
            return (enum kb_outcome)i;
    return KB_OUTCOMES;
}

// What a failed case means. Without figures of an output nothing was compared: the kernel faulted.
static enum kb_outcome of_case(const struct kb_model_case *c)
{
    const struct kb_ev_case *result = kb_case_failed(c->run) ? c->run : c->verify;
    for (int i = 0; result && i < result->outputs_count; i++) {
        const struct kb_ev_metrics *m = KB_WITHIN(&result->outputs[i], metrics, metrics);
        if (result->outputs[i].reason || !isnan(m->unwritten) || !isnan(m->mismatches) || !isnan(m->max_abs))
            return KB_OUTCOME_WRONG;
    }
    return KB_OUTCOME_CRASHED;
}

static enum kb_outcome failure(const struct kb_model *m, const struct kb_model_version *v)
{
    int rung = kb_failed_rung(v);
    if (v->fault_of)
        return strcmp(v->fault_of, "reference") ? KB_OUTCOME_FAILED : KB_OUTCOME_REFERENCE;
    if (rung == KB_RUNG_SCAN || rung == KB_RUNG_COMPILE)
        return KB_OUTCOME_COMPILE_ERROR;
    if (rung == KB_RUNG_CHECK)
        return KB_OUTCOME_REFUSED;
    enum kb_outcome of_finding = found(v, rung);
    if (of_finding != KB_OUTCOMES)
        return of_finding;
    if (rung >= 0 && says_hung(v->rungs[rung].reason))
        return KB_OUTCOME_HUNG;
    int bad = kb_first_bad_case(m, v);
    if (bad >= 0)
        return of_case(&v->cases[bad]);
    if (v->impossible)
        return KB_OUTCOME_IMPOSSIBLE;
    return rung == KB_RUNG_RUN || rung == KB_RUNG_VERIFY || rung == KB_RUNG_RACES ? KB_OUTCOME_CRASHED
                                                                                  : KB_OUTCOME_FAILED;
}

static enum kb_outcome compared(const struct kb_ev_versus *versus)
{
    static const enum kb_outcome words[] = {KB_OUTCOME_FASTER, KB_OUTCOME_SLOWER, KB_OUTCOME_SAME, KB_OUTCOME_UNSURE,
                                            KB_OUTCOME_SAME_CODE};
    const char *verdict = versus && versus->verdict ? versus->verdict : "";
    if (versus && versus->same_code)
        return KB_OUTCOME_SAME_CODE;
    for (size_t i = 0; i < KB_COUNT(words); i++)
        if (!strcmp(outcomes[words[i]].word, verdict))
            return words[i];
    return KB_OUTCOME_TIMED;
}

enum kb_outcome kb_outcome_of(const struct kb_subject *s)
{
    const struct kb_model *m = s->model;
    const struct kb_model_version *v = s->version;
    if (s->variant < 0 || s->variant >= m->variant_count)
        return KB_OUTCOME_WAITING;
    bool newest = v == kb_model_current(m, s->variant);
    if (m->variants[s->variant].file_state && newest)
        return KB_OUTCOME_MISSING;
    if (!v)
        return KB_OUTCOME_WAITING;
    if (kb_failed_rung(v) >= 0 || v->status == KB_STATUS_FAIL)
        return failure(m, v);
    if (kb_doubted_rung(v) >= 0)
        return KB_OUTCOME_GUESSED;
    if (v->impossible)
        return KB_OUTCOME_IMPOSSIBLE;
    if (!isnan(kb_speed_us(m, v, s->case_index)))
        return compared(v->cases[s->case_index].versus);
    if (v->status == KB_STATUS_RUNNING)
        return KB_OUTCOME_RUNNING;
    enum kb_status verified = v->rungs[KB_RUNG_VERIFY].status;
    if (v->rungs[KB_RUNG_RUN].status == KB_STATUS_NA && v->rungs[KB_RUNG_COMPILE].status == KB_STATUS_PASS)
        return KB_OUTCOME_BUILT;
    return verified == KB_STATUS_PASS ? KB_OUTCOME_RIGHT
           : verified == KB_STATUS_NA ? KB_OUTCOME_UNVERIFIED
                                      : KB_OUTCOME_FAILED;
}

const struct kb_model_version *kb_last_good(const struct kb_model *m, int variant)
{
    if (variant < 0 || variant >= m->variant_count)
        return NULL;
    const struct kb_model_variant *all = &m->variants[variant];
    for (int k = all->version_count - 1; k >= 0; k--)
        if (all->versions[k].status == KB_STATUS_PASS && !all->versions[k].superseded && !all->versions[k].impossible)
            return &all->versions[k];
    return NULL;
}

double kb_speed_us(const struct kb_model *m, const struct kb_model_version *v, int case_index)
{
    if (!v || v->impossible || v->status == KB_STATUS_FAIL || kb_failed_rung(v) >= 0)
        return NAN;
    const struct kb_ev_timing *timing = kb_model_timing(m, v, case_index);
    return KB_WITHIN(timing, roofline, roofline)->impossible ? NAN : KB_WITHIN(timing, cold, interval)->median_us;
}

const struct kb_ev_message *kb_first_error(const struct kb_ev_errors *e)
{
    for (int i = 0; e && i < e->errors_count; i++)
        if (e->errors[i].severity && !strcmp(e->errors[i].severity, "error"))
            return &e->errors[i];
    return NULL;
}

static void add_value(struct kb_text *out, const char *value)
{
    double number = kb_value_number(value);
    if (isnan(number))
        kb_text_add(out, value ?: "unknown");
    else
        kb_text_addf(out, "%.6g", number);
}

static void add_first_bad(struct kb_text *out, const struct kb_ev_output *output, const struct kb_ev_element *bad)
{
    kb_text_addf(out, "%s[", output->arg ?: "?");
    for (int i = 0; i < bad->index_count; i++)
        kb_text_addf(out, "%s%.0f", i ? "," : "", bad->index[i]);
    kb_text_add(out, "]: got ");
    add_value(out, bad->got);
    kb_text_add(out, ", want ");
    add_value(out, bad->want);
}

static void add_count(struct kb_text *out, double n, const char *format)
{
    if (n > 0) {
        kb_text_add(out, out->size ? "; " : "");
        kb_text_addf(out, format, kb_show_count(n).s);
    }
}

void kb_explain_output(struct kb_text *out, const struct kb_ev_output *output)
{
    const struct kb_ev_metrics *m = KB_WITHIN(output, metrics, metrics);
    if (m->first_bad)
        add_first_bad(out, output, m->first_bad);
    add_count(out, m->mismatches, isnan(output->elements) ? "%s wrong" : "%s");
    if (m->mismatches > 0 && !isnan(output->elements))
        kb_text_addf(out, " of %s wrong", kb_show_count(output->elements).s);
    add_count(out, m->unwritten, "%s never written");
    add_count(out, m->nonfinite, "%s not finite");
    add_count(out, m->guard_bytes_changed, "%s bytes changed outside the buffer");
    if (!out->size)
        kb_text_add(out, output->reason ?: "");
}
