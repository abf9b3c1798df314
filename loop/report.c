#include "loop/report.h"
#include "base/memory.h"
#include "loop/advice.h"
#include "loop/findings.h"
#include "loop/proof.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column {
    VARIANT,
    VERSION,
    RUNGS,
    REGISTERS,
    OCCUPANCY,
    MAX_ABS,
    SCALED,
    MARGIN,
    COLD,
    WARM,
    ROOF,
    VERSUS,
    COLUMNS
};
enum { FIRST_ERRORS = 3 };

static const char *const titles[COLUMNS] = {"variant", "version",  "rungs",   "registers", "occupancy", "max_abs",
                                            "scaled",  "of bound", "cold us", "warm us",   "roof",      "versus"};

struct row {
    char *cells[COLUMNS];
};

static const char *mark(enum kb_status status, bool ascii)
{
    switch (status) {
    case KB_STATUS_PASS:
        return ascii ? "+" : "\u2713";
    case KB_STATUS_FAIL:
        return ascii ? "x" : "\u2717";
    case KB_STATUS_RUNNING:
        return "~";
    case KB_STATUS_SKIP:
        return ".";
    default:
        return ascii ? "-" : "\u2013";
    }
}

static char *marks(const struct kb_model_version *v, bool ascii)
{
    struct kb_text out = {0};
    for (int i = 0; i < KB_RUNGS; i++)
        kb_text_add(&out, mark(v->rungs[i].status, ascii));
    return kb_text_take(&out);
}

static char *number(double value, const char *format)
{
    char *text = NULL;
    if (!isfinite(value))
        return kb_strdup("-");
    struct kb_text out = {0};
    if (!strcmp(format, "g"))
        kb_text_addf(&out, "%.3g", value);
    else if (!strcmp(format, "margin"))
        kb_text_addf(&out, value > 0 && value < 0.005 ? "<0.01" : value < 100 ? "%.2f" : "%.3g", value);
    else if (!strcmp(format, "%"))
        kb_text_addf(&out, "%.0f%%", 100 * value);
    else if (!strcmp(format, "us"))
        kb_text_addf(&out, "%.*f", value < 10 ? 3 : value < 1000 ? 2 : 0, value);
    else
        kb_text_addf(&out, "%.0f", value);
    text = kb_text_take(&out);
    return text;
}

static char *versus_cell(const struct kb_model *m, const struct kb_model_version *v)
{
    const struct kb_ev_versus *versus = m->headline < m->case_count ? v->cases[m->headline].versus : NULL;
    if (!versus || !isfinite(versus->ratio) || v->status == KB_STATUS_FAIL)
        return kb_strdup("-");
    const struct kb_ev_ref *baseline = versus->baseline ?: &kb_unknown_ref;
    return kb_format("%s %+.1f%% against %s v%d", versus->verdict ?: "?", 100 * (versus->ratio - 1),
                     baseline->variant ?: "?", (int)baseline->version);
}

static double roof_share(const struct kb_model *m, const struct kb_model_version *v)
{
    if (v->status == KB_STATUS_FAIL || v->impossible || !isfinite(v->cold_us))
        return NAN;
    return KB_WITHIN(kb_model_timing(m, v, m->headline), roofline, roofline)->share;
}

static void fill_row(const struct kb_model *m, int index, bool ascii, struct row *row)
{
    const struct kb_model_version *v = kb_model_current(m, index);
    row->cells[VARIANT] = kb_cleaned(m->variants[index].name);
    if (!v) {
        for (int i = VERSION; i < COLUMNS; i++)
            row->cells[i] = kb_strdup("-");
        return;
    }
    const char *unused;
    row->cells[VERSION] = v->number ? kb_format("v%d", v->number) : kb_strdup("-");
    row->cells[RUNGS] = marks(v, ascii);
    row->cells[REGISTERS] = number(kb_over_kernels(v->resources, KB_OF_KERNEL(registers), '>', &unused), "d");
    row->cells[OCCUPANCY] = number(kb_over_kernels(v->resources, KB_OF_KERNEL(occupancy), '<', &unused), "%");
    row->cells[MAX_ABS] = number(KB_WORST(m, v, max_abs), "g");
    row->cells[SCALED] = number(KB_WORST(m, v, scaled), "g");
    row->cells[MARGIN] = number(kb_worst_margin(m, v), "margin");
    row->cells[COLD] = v->impossible ? kb_strdup("impossible") : number(v->cold_us, "us");
    row->cells[WARM] = number(v->warm_us, "us");
    row->cells[ROOF] = number(roof_share(m, v), "%");
    row->cells[VERSUS] = versus_cell(m, v);
}

static void add_padded(struct kb_text *out, const char *cell, int width, bool right)
{
    int blanks = width - kb_text_width(cell, strlen(cell));
    if (right)
        kb_text_addf(out, "%*s", blanks > 0 ? blanks : 0, "");
    kb_text_add(out, cell);
    if (!right)
        kb_text_addf(out, "%*s", blanks > 0 ? blanks : 0, "");
}

static void add_row(struct kb_text *out, char *const cells[COLUMNS], const int widths[COLUMNS])
{
    size_t line = out->size;
    for (int i = 0; i < COLUMNS; i++) {
        kb_text_add(out, i ? "  " : "");
        add_padded(out, cells[i], widths[i], i >= REGISTERS && i <= ROOF);
    }
    while (out->size > line && out->data[out->size - 1] == ' ')
        out->size--;
    kb_text_add(out, "\n");
}

static void add_table(const struct kb_model *m, bool ascii, struct kb_text *out)
{
    struct row *rows = kb_alloc(sizeof *rows * (size_t)(m->variant_count + 1));
    int widths[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        widths[c] = (int)strlen(titles[c]);
    for (int i = 0; i < m->variant_count; i++) {
        fill_row(m, i, ascii, &rows[i]);
        for (int c = 0; c < COLUMNS; c++) {
            int width = kb_text_width(rows[i].cells[c], strlen(rows[i].cells[c]));
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    add_row(out, (char *const *)titles, widths);
    for (int i = 0; i < m->variant_count; i++) {
        add_row(out, rows[i].cells, widths);
        for (int c = 0; c < COLUMNS; c++)
            free(rows[i].cells[c]);
    }
    free(rows);
}

static void add_errors(const struct kb_model_version *v, struct kb_text *out)
{
    int shown = 0, more = 0;
    for (int i = 0; v->errors && i < v->errors->errors_count; i++) {
        const struct kb_ev_message *e = &v->errors->errors[i];
        if (!e->severity || strcmp(e->severity, "error"))
            continue;
        if (shown == FIRST_ERRORS) {
            more++;
            continue;
        }
        shown++;
        kb_text_add(out, "    ");
        if (e->file && *e->file && e->line)
            kb_text_addf(out, "%s:%d:%d: ", e->file, (int)e->line, (int)e->column);
        kb_text_addf(out, "%s\n", e->text ?: "");
    }
    if (more)
        kb_text_addf(out, "    ... and %d more\n", more);
}

// said: what stands above already.
static void add_bad_cases(const struct kb_model *m, const struct kb_model_version *v, const char *said,
                          struct kb_text *out)
{
    int shown = 0;
    for (int i = 0; i < m->case_count && shown < FIRST_ERRORS; i++) {
        const struct kb_model_case *c = &v->cases[i];
        const struct kb_ev_case *bad = kb_case_failed(c->run) ? c->run : c->verify;
        if (!kb_case_failed(bad) || (said && strstr(said, bad->reason ?: "failed")))
            continue;
        shown++;
        kb_text_addf(out, "    case %s: %s\n", bad->label ?: "?", bad->reason ?: "failed");
    }
}

// Of one rung, those that fail it; of all rungs (KB_RUNGS) those that are warnings. said: what stands above already.
static void add_findings(const struct kb_model_version *v, int rung, const struct kb_ev_finding *said,
                         struct kb_text *out)
{
    int shown = 0, more = 0;
    for (int i = 0; i < v->finding_count; i++) {
        const struct kb_ev_finding *f = &v->findings[i];
        if (f == said || f->fails != (rung < KB_RUNGS) || (!f->fails && !kb_finding_warns(f)) ||
            (f->fails && kb_rung_parse(f->rung ?: "") != rung))
            continue;
        if (shown == FIRST_ERRORS) {
            more++;
            continue;
        }
        shown++;
        kb_text_addf(out, "    %s:%d: %s: %s\n", f->file ?: "?", (int)f->line, f->kind ?: "?", f->text ?: "");
    }
    if (more || (rung < KB_RUNGS && v->findings_left_out > 0))
        kb_text_addf(out, "    ... and %.0f more\n", more + (rung < KB_RUNGS ? v->findings_left_out : 0));
}

static bool has_warnings(const struct kb_model_version *v)
{
    const struct kb_ev_finding *said = kb_model_cause(v);
    for (int i = 0; i < v->finding_count; i++)
        if (&v->findings[i] != said && kb_finding_warns(&v->findings[i]))
            return true;
    return false;
}

static void add_accepted(const struct kb_model *m, struct kb_text *out)
{
    for (int i = 0; i < m->variant_count; i++) {
        const struct kb_model_version *v = kb_model_current(m, i);
        for (int k = 0; v && k < v->finding_count; k++) {
            const struct kb_ev_finding *f = &v->findings[k];
            if (f->accepted)
                kb_text_addf(out, "%s: accepted: %s at %s:%d: %s (%s)\n", m->variants[i].name, f->kind ?: "?",
                             f->file ?: "?", (int)f->line, f->text ?: "", f->accepted);
        }
    }
}

// Lines to chase: what commands said of themselves.
static void add_reported(const struct kb_model *m, struct kb_text *out)
{
    for (int i = 0; i < m->variant_count; i++)
        for (int c = 0; c < m->case_count && !strcmp(m->variants[i].kind, "command"); c++) {
            const struct kb_ev_reported *said = kb_model_reported(m, i, c);
            if (!said && c != m->headline)
                continue;
            kb_text_addf(out, "\n%s, case %s: ", m->variants[i].name, kb_model_case(m, c)->label ?: "?");
            if (!said) {
                kb_text_addf(out, "no time: %s\n", kb_model_reported_wait(m));
                continue;
            }
            if (isfinite(said->us))
                kb_text_addf(out, "%.*f us, reported by the command%s%s; %s%s%s\n", said->us < 10 ? 3 : 2, said->us,
                             said->what ? ": " : "", said->what ?: "",
                             said->right == KB_YES  ? "its outputs are right"
                             : said->right == KB_NO ? "its outputs are wrong: "
                                                    : "not verified: ",
                             said->right_reason ?: "",
                             KB_WITHIN(said, roofline, roofline)->impossible
                                 ? "; impossible: faster than the device can move the data"
                                 : "");
            else
                kb_text_addf(out, "no time: %s\n", said->us_reason ?: "it gave no reason");
        }
}

static void add_failures(const struct kb_model *m, struct kb_text *out)
{
    for (int i = 0; i < m->variant_count; i++) {
        const struct kb_model_version *v = kb_model_current(m, i);
        if (m->variants[i].file_state)
            kb_text_addf(out, "\n%s: %s is %s: %s\n", m->variants[i].name, m->variants[i].source,
                         m->variants[i].file_state, m->variants[i].file_reason ? m->variants[i].file_reason : "");
        for (int r = 0; v && r < KB_RUNGS; r++) {
            if (v->rungs[r].status != KB_STATUS_FAIL)
                continue;
            const struct kb_ev_finding *finding = kb_model_finding(v, (enum kb_rung)r);
            if (finding && finding == kb_model_cause(v)) { // it stands in the reason of the rung before
                add_findings(v, r, finding, out);
                continue;
            }
            const char *kind = finding && finding->kind ? finding->kind : "";
            kb_text_addf(out, "\n%s: %s%s failed: ", m->variants[i].name,
                         v->fault_of && !strcmp(v->fault_of, "reference") ? "REFERENCE FAILED, so " : "",
                         kb_rungs[r].name);
            if (finding) // its words follow with the others, each behind its source line
                kb_text_addf(out, "%s, case %s\n", kb_finding_kind(kind) ? kb_finding_kind(kind)->word : kind,
                             finding->label ?: "?");
            else
                kb_text_addf(out, "%s\n", v->rungs[r].reason ? v->rungs[r].reason : "no reason was given");
            if (r <= KB_RUNG_COMPILE)
                add_errors(v, out);
            else if (r < KB_RUNG_LATE && !finding)
                add_bad_cases(m, v, v->rungs[r].reason, out);
            add_findings(v, r, NULL, out);
        }
        if (v && has_warnings(v)) {
            kb_text_addf(out, "\n%s: warnings of the CPU device\n", m->variants[i].name);
            add_findings(v, KB_RUNGS, kb_model_cause(v), out);
        }
        if (v && v->impossible)
            kb_text_addf(out, "\n%s: its time is impossible: %s\n", m->variants[i].name,
                         KB_WITHIN(kb_model_timing(m, v, m->headline), roofline, roofline)->impossible_reason
                             ?: "faster than the device can move the data");
    }
}

// Among the warnings, with its line.
static bool is_listed(const struct kb_model_version *v, const char *remark)
{
    for (int i = 0; i < v->finding_count; i++)
        if (kb_finding_warns(&v->findings[i]) && strstr(remark, v->findings[i].text ?: "?"))
            return true;
    return false;
}

// What a rung that passed has to remark: runs that differ, a weak bench, cases that were left out.
static void add_remarks(const struct kb_model *m, struct kb_text *out)
{
    static const enum kb_rung remarking[] = {KB_RUNG_RUN, KB_RUNG_VERIFY, KB_RUNG_RACES};
    for (int i = 0; i < m->variant_count; i++) {
        const struct kb_model_version *v = kb_model_current(m, i);
        for (size_t k = 0; v && k < KB_COUNT(remarking); k++) {
            const struct kb_rung_state *r = &v->rungs[remarking[k]];
            if (r->status == KB_STATUS_PASS && r->reason && !is_listed(v, r->reason))
                kb_text_addf(out, "%s: %s passed: %s\n", m->variants[i].name, kb_rungs[remarking[k]].name, r->reason);
        }
    }
}

static bool has_gap(const struct kb_ev_proof *p, const char *text)
{
    bool found = false;
    for (int i = 0; i < p->gaps_count; i++) {
        char *other = kb_gap_text(&p->gaps[i]);
        found = found || !strcmp(other, text);
        free(other);
    }
    return found;
}

// A line for each gap, behind the variants that it holds for; none are named where it holds for all. all: of each
// variant.
static void add_gap(const struct kb_model *m, const struct kb_ev_proof *all, int first, const char *text,
                    struct kb_text *out)
{
    struct kb_text names = {0};
    int count = 0;
    for (int i = 0; i < first; i++)
        if (has_gap(&all[i], text)) // said already
            return;
    for (int i = first; i < m->variant_count; i++)
        if (has_gap(&all[i], text))
            kb_text_addf(&names, "%s%s", count++ ? ", " : "", m->variants[i].name);
    if (count == m->variant_count)
        kb_text_addf(out, "%s\n", text);
    else
        kb_text_addf(out, "%s: %s\n", names.data, text);
    kb_text_free(&names);
}

static void add_seeds(const struct kb_model *m, struct kb_text *out)
{
    for (int i = 0; i < m->variant_count; i++) {
        const struct kb_model_version *v = kb_model_current(m, i);
        char *text = v ? kb_seeds_text(v) : NULL, *rest = NULL;
        for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
            kb_text_addf(out, "%s: %s\n", m->variants[i].name, line);
        free(text);
    }
}

static void add_gaps(const struct kb_model *m, struct kb_text *out)
{
    struct kb_ev_proof *all = kb_alloc(sizeof *all * (size_t)(m->variant_count + 1));
    for (int i = 0; i < m->variant_count; i++)
        all[i] = kb_proof_of(m, kb_model_current(m, i));
    for (int i = 0; i < m->variant_count; i++)
        for (int k = 0; k < all[i].gaps_count; k++) {
            char *text = kb_gap_text(&all[i].gaps[k]);
            add_gap(m, all, i, text, out);
            free(text);
        }
    for (int i = 0; i < m->variant_count; i++)
        kb_proof_free(&all[i]);
    free(all);
}

// One line for each reason that a rung does not apply; those that prove something stand among the gaps.
static void add_na_notes(const struct kb_model *m, struct kb_text *out)
{
    for (int r = 0; r < KB_RUNGS; r++)
        for (int i = 0; i < m->variant_count; i++) {
            const struct kb_model_version *v = kb_model_current(m, i);
            bool gap = r == KB_RUNG_RUN || r == KB_RUNG_VERIFY || r == KB_RUNG_RACES;
            if (!v || v->rungs[r].status != KB_STATUS_NA || (gap && v->status == KB_STATUS_PASS))
                continue;
            const char *reason = v->rungs[r].reason ? v->rungs[r].reason : "no reason was given";
            bool said = false;
            for (int k = 0; k < i && !said; k++) {
                const struct kb_model_version *o = kb_model_current(m, k);
                said = o && o->rungs[r].status == KB_STATUS_NA && o->rungs[r].reason &&
                       !strcmp(o->rungs[r].reason, reason);
            }
            if (!said)
                kb_text_addf(out, "%s: %s%s\n", kb_rungs[r].name, v->rungs[r].doubt ? "" : "not applicable: ", reason);
        }
}

// A bench.json to start from, where the guessed one did not do.
static void add_skeleton(const struct kb_model *m, struct kb_text *out)
{
    const struct kb_model_version *v = m->variant_count ? kb_model_current(m, 0) : NULL;
    const struct kb_ev_guess *guess = kb_model_bench(m)->guess;
    bool doubt = false;
    for (int r = 0; v && r < KB_RUNGS; r++)
        doubt = doubt || v->rungs[r].doubt;
    if (doubt && guess && guess->skeleton)
        kb_text_addf(out, "\nbench.json, as it was guessed:\n%s", guess->skeleton);
}

static void add_goals(const struct kb_model *m, struct kb_text *out)
{
    for (int i = 0; i < m->variant_count; i++) {
        const struct kb_model_version *v = kb_model_current(m, i);
        if (v && v->goal)
            kb_text_addf(out, "%s: %s\n", m->variants[i].name, v->goal->text ?: "");
    }
}

// What limits each, and the first thing to try.
static void add_limits(const struct kb_model *m, struct kb_text *out)
{
    for (int i = 0; i < m->variant_count; i++) {
        const struct kb_model_version *v = kb_model_current(m, i);
        const struct kb_ev_advice *a = v ? v->advice : NULL;
        if (!a || !a->steps_count || v->status == KB_STATUS_FAIL)
            continue;
        const struct kb_ev_step *step = a->steps;
        kb_text_addf(out, "%s: limit %s (%s evidence): ", m->variants[i].name, a->limit ?: "?", a->confidence ?: "?");
        int line = step->file ? (int)step->line : 0;
        const char *text = step->text ?: "", *words = kb_step_words(text, line);
        if (step->file)
            kb_text_addf(out, "%s:%d%s ", step->file, line, words == text ? ":" : "");
        kb_text_addf(out, "%s\n", words);
    }
}

static void add_head(const struct kb_model *m, struct kb_text *out)
{
    const struct kb_ev_device *d = m->device ?: &kb_unknown_device;
    const struct kb_ev_bench *bench = kb_model_bench(m);
    bool none = !d->kind || kb_model_device_is(m, "none");
    kb_text_addf(out, "%s on ", m->bench_name ? m->bench_name : "?");
    if (none)
        kb_text_addf(out, "no device: %s", d->reason ?: "none was opened");
    else
        kb_text_addf(out, "%s%s%s%s", d->name ?: d->kind, d->arch ? " (" : "", d->arch ?: "", d->arch ? ")" : "");
    if (d->like && kb_model_device_is(m, "cpu"))
        kb_text_addf(out, ", limits of %s", d->like);
    kb_text_addf(out, "   seed %s   contract %.8s\n", m->session && m->session->seed ? m->session->seed : "?",
                 bench->contract ?: "");
    if (none && d->remedy && *d->remedy)
        kb_text_addf(out, "  %s\n", d->remedy);
    if (bench->inferred)
        kb_text_addf(out, "no bench lists this file: GUESSED %s; nothing is verified\n",
                     bench->guess && bench->guess->text ? bench->guess->text : "its arguments");
    kb_text_addf(out, "%d case%s; times are of %s\n\n", m->case_count, m->case_count == 1 ? "" : "s",
                 kb_model_case(m, m->headline)->label ?: "the first");
}

void kb_report_table(const struct kb_model *m, bool ascii, struct kb_text *out)
{
    struct kb_text raw = {0};
    add_head(m, &raw);
    add_table(m, ascii, &raw);
    kb_text_addf(&raw, "rungs:");
    for (int i = 0; i < KB_RUNGS; i++)
        kb_text_addf(&raw, " %s", kb_rungs[i].name);
    kb_text_addf(&raw, "   (%s pass, %s fail, . skipped, %s not applicable)\n", mark(KB_STATUS_PASS, ascii),
                 mark(KB_STATUS_FAIL, ascii), mark(KB_STATUS_NA, ascii));
    add_reported(m, &raw);
    add_failures(m, &raw);
    size_t before = raw.size;
    kb_text_add(&raw, "\n");
    add_seeds(m, &raw);
    add_gaps(m, &raw);
    add_accepted(m, &raw);
    add_remarks(m, &raw);
    add_goals(m, &raw);
    add_limits(m, &raw);
    add_na_notes(m, &raw);
    add_skeleton(m, &raw);
    if (raw.size == before + 1)
        raw.size = before;
    kb_clean(out, raw.data, raw.size, ascii);
    kb_text_free(&raw);
}
