// What is wrong, and how right it is: the compiler's errors at their source line, metrics by case, the first wrong
// element and where the wrong ones lie.
#include "base/memory.h"
#include "loop/proof.h"
#include "tui/facts.h"
#include "tui/format.h"
#include "tui/keys.h"
#include "tui/verdict_notes.h"
#include "tui/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum kb_style severity_style(const char *severity)
{
    return !strcmp(severity, "error") ? KB_STYLE_BAD : !strcmp(severity, "warning") ? KB_STYLE_WARN : KB_STYLE_DIM;
}

// The source line with a caret under the column. Both are laid out as they are shown, so that marks for controls and
// wide characters do not shift the caret.
static void add_source(const struct kb_app *a, const struct kb_ev_message *m, int width, struct kb_lines *out)
{
    int number = (int)m->line, column = (int)m->column;
    const char *text = m->source;
    if (!text && a->driver.source_line && m->file && *m->file && number > 0)
        text = a->driver.source_line(a->driver.context, m->file, number);
    if (!text)
        return;
    size_t before = column > 1 ? (size_t)column - 1 : 0, n = strlen(text);
    struct kb_text head = {0};
    kb_clean(&head, text, before < n ? before : n, a->ascii);
    int at = head.data ? kb_text_width(head.data, head.size) : 0, from = 8;
    struct kb_line *line = kb_lines_add(out);
    kb_spanf(line, KB_STYLE_DIM, "%5d %s ", number, kb_sign(KB_SIGN_VERTICAL, a->ascii));
    struct kb_text all = {0};
    kb_clean(&all, text, n, a->ascii);
    const char *rest = all.data ? all.data : "";
    for (int over = at - (width - from - 12); over > 0 && *rest; over--, at--) // keep the caret in sight
        rest++;
    kb_span(line, KB_STYLE_SOURCE, rest);
    if (column > 0) {
        struct kb_line *caret = kb_lines_add(out);
        kb_span_pad(caret, from + at);
        kb_span(caret, KB_STYLE_CARET, "^");
    }
    kb_text_free(&head);
    kb_text_free(&all);
}

static void add_compiler(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    for (int i = 0; v->errors && i < v->errors->errors_count; i++) {
        struct kb_line line = {.ascii = a->ascii};
        const struct kb_ev_message *m = &v->errors->errors[i];
        const char *severity = m->severity ?: "error";
        if (m->file && *m->file)
            kb_spanf(&line, KB_STYLE_STRONG, "%s:%d:%d ", m->file, (int)m->line, (int)m->column);
        kb_spanf(&line, severity_style(severity), "%s: ", severity);
        kb_span(&line, KB_STYLE_TEXT, m->text ?: "");
        kb_lines_wrap(out, &line, width, 4, 0);
        kb_line_free(&line);
        add_source(a, m, width, out);
    }
    const struct kb_rung_state *r = &v->rungs[KB_RUNG_COMPILE];
    if (r->status == KB_STATUS_FAIL && !kb_first_error(v->errors))
        kb_lines_text(out, KB_STYLE_BAD, width, 0, r->reason ? r->reason : "the compiler gave no reason: see the log");
}

static void add_failed_rung(const struct kb_model_version *v, int width, struct kb_lines *out)
{
    int rung = kb_failed_rung(v);
    if (rung < 0 || rung == KB_RUNG_COMPILE || !v->rungs[rung].reason)
        return;
    struct kb_line line = {.ascii = out->ascii};
    const struct kb_ev_finding *finding = kb_model_finding(v, (enum kb_rung)rung);
    kb_spanf(&line, KB_STYLE_BAD, "%s failed: ", kb_rungs[rung].name);
    if (finding) // its words follow with the others, each at its source line
        kb_spanf(&line, KB_STYLE_TEXT, "kernel %s, case %s", finding->kernel ?: "?", finding->label ?: "?");
    else
        kb_span(&line, KB_STYLE_TEXT, v->rungs[rung].reason);
    kb_lines_wrap(out, &line, width, 4, 0);
    kb_line_free(&line);
    kb_lines_add(out);
}

// What the CPU device saw, each at its source line.
static void add_findings(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    for (int i = 0; i < v->finding_count; i++) {
        const struct kb_ev_finding *f = &v->findings[i];
        struct kb_ev_report report = {f->kind, f->text, f->file, f->line, f->count, NULL};
        kb_facts_report(&report, f->accepted ? KB_STYLE_DIM : f->fails ? KB_STYLE_BAD : KB_STYLE_WARN, width, out);
        if (f->accepted) {
            char *why = kb_format("accepted: %s", f->accepted);
            kb_lines_text(out, KB_STYLE_DIM, width, 4, why);
            free(why);
        }
        add_source(a, &(struct kb_ev_message){.file = f->file, .line = f->line}, width, out);
    }
    if (v->findings_left_out > 0)
        kb_spanf(kb_lines_add(out), KB_STYLE_DIM, "and %s more", kb_show_count(v->findings_left_out).s);
    if (v->finding_count || v->findings_left_out > 0)
        kb_lines_add(out);
}

// What the verdict does not stand on, with the reasons.
static void add_gaps(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    struct kb_ev_proof proof = kb_proof_of(a->model, v);
    for (int i = 0; i < proof.gaps_count; i++) {
        struct kb_line line = {.ascii = out->ascii};
        char *text = kb_gap_text(&proof.gaps[i]);
        size_t head = strcspn(text, ":") + 1;
        kb_spanf(&line, KB_STYLE_WARN, "%.*s", (int)head, text);
        kb_span(&line, KB_STYLE_TEXT, text + head);
        kb_lines_wrap(out, &line, width, 4, 0);
        kb_line_free(&line);
        free(text);
    }
    kb_proof_free(&proof);
}

// What further seeds showed: those that were asked for, and those that failed before.
static void add_seeds(const struct kb_model_version *v, int width, struct kb_lines *out)
{
    char *text = kb_seeds_text(v), *rest = NULL;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        kb_lines_text(out, strstr(line, "fails") ? KB_STYLE_BAD : KB_STYLE_TEXT, width, 0, line);
    free(text);
}

// A state of its own beside right and wrong, and a bench that proves little.
static void add_doubts(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    const char *differing = kb_differing_note(a->model, v), *label, *weak = kb_weak_note(a->model, &label);
    if (differing) {
        struct kb_line line = {.ascii = out->ascii};
        kb_span(&line, KB_STYLE_WARN, "not reproducible: ");
        kb_span(&line, KB_STYLE_TEXT, differing);
        kb_lines_wrap(out, &line, width, 4, 0);
        kb_line_free(&line);
    }
    if (weak) {
        struct kb_line line = {.ascii = out->ascii};
        kb_span(&line, KB_STYLE_WARN, "weak bench: ");
        kb_spanf(&line, KB_STYLE_TEXT, "case %s: %s", label, weak);
        kb_lines_wrap(out, &line, width, 4, 0);
        kb_line_free(&line);
    }
}

enum metric_form { DISTANCE, COUNT, MARGIN, COSINE, DECIBELS };
static const struct {
    const char *head;
    size_t at; // in kb_ev_metrics; MARGIN is of the outputs
    int width;
    enum metric_form form;
} metrics_shown[] = {
#define OF(metric) offsetof(struct kb_ev_metrics, metric)
    {"max_abs", OF(max_abs), 10, DISTANCE}, {"wrong", OF(mismatches), 11, COUNT},    {"of bound", 0, 10, MARGIN},
    {"max_rel", OF(max_rel), 10, DISTANCE}, {"ULP", OF(max_ulp), 12, COUNT},         {"RMSE", OF(rmse), 10, DISTANCE},
    {"cosine", OF(cosine), 11, COSINE},     {"PSNR dB", OF(psnr_db), 9, DECIBELS},   {"MSE", OF(mse), 10, DISTANCE},
    {"scaled", OF(scaled), 10, DISTANCE},   {"differing", OF(differing), 11, COUNT},
};

static int label_width(const struct kb_app *a, int width)
{
    int most = 4;
    for (int i = 0; i < a->model->case_count; i++) {
        const char *label = kb_app_case_label(a, i);
        int n = kb_text_width(label, strlen(label));
        most = n > most ? n : most;
    }
    int room = width - 25 < 12 ? 12 : width - 25; // the two most telling columns beside it
    return most > room ? room : most;
}

static void add_metrics_head(struct kb_lines *out, int label, int width)
{
    struct kb_line *l = kb_lines_add(out);
    kb_span(l, KB_STYLE_DIM, "    case");
    int x = label + 4;
    for (size_t i = 0; i < KB_COUNT(metrics_shown) && x + metrics_shown[i].width <= width; i++)
        kb_span_right(l, x += metrics_shown[i].width, KB_STYLE_DIM, metrics_shown[i].head);
}

static void add_metric(struct kb_line *l, int x, size_t which, const struct kb_ev_metrics *m, double margin, bool fail)
{
    enum metric_form form = metrics_shown[which].form;
    double value = form == MARGIN ? margin : kb_metric_at(m, metrics_shown[which].at);
    bool bad = fail && metrics_shown[which].at == OF(mismatches) && value > 0;
    // A count that has no room is shown as a power of ten.
    bool whole = form == COUNT && (int)strlen(kb_show_count(value).s) < metrics_shown[which].width;
    struct kb_short text = whole ? kb_show_count(value) : form == MARGIN ? kb_show_margin(value) : kb_show_error(value);
    if (form == COSINE && !isnan(value))
        snprintf(text.s, sizeof text.s, "%.7f", value);
    if (form == DECIBELS && !isnan(value) && !isinf(value))
        snprintf(text.s, sizeof text.s, "%.1f", value);
    kb_span_right(l, x, isnan(value) ? KB_STYLE_UNKNOWN : bad ? KB_STYLE_BAD : KB_STYLE_NUMBER, text.s);
}

static void add_case(const struct kb_app *a, const struct kb_model_version *v, int i, int label, int width,
                     struct kb_lines *out)
{
    struct kb_line *l = kb_lines_add(out);
    const struct kb_ev_case *result = kb_model_result(&v->cases[i]);
    const struct kb_ev_metrics *metrics = KB_WITHIN(kb_model_worst_output(v, i), metrics, metrics);
    double margin = kb_margin_of(v, i, NULL);
    bool fail = kb_case_failed(result), here = i == kb_app_case(a);
    kb_app_case_marks(a, i, here, l);
    kb_span_cut(l, label, here ? KB_STYLE_STRONG : KB_STYLE_TEXT, kb_app_case_label(a, i));
    int x = label + 4;
    kb_span_pad(l, x);
    for (size_t k = 0; k < KB_COUNT(metrics_shown) && x + metrics_shown[k].width <= width && result; k++)
        add_metric(l, x += metrics_shown[k].width, k, metrics, margin, fail);
}

static enum kb_style heat(int level)
{
    return level == 0 ? KB_STYLE_HEAT_0 : level < 5 ? KB_STYLE_HEAT_1 : level < 11 ? KB_STYLE_HEAT_2 : KB_STYLE_HEAT_3;
}

static const char *heat_sign(int level, bool ascii)
{
    static const char *const blocks[] = {"·", "░", "▒", "▓", "█"}, *const letters[] = {".", "-", "+", "#", "@"};
    int i = level == 0 ? 0 : level < 5 ? 1 : level < 11 ? 2 : level < 15 ? 3 : 4;
    return (ascii ? letters : blocks)[i];
}

// One sign for a part of the output's last two dimensions.
static void add_map(const struct kb_ev_output *output, int width, struct kb_lines *out)
{
    const struct kb_ev_map *map = KB_WITHIN(output, map, map);
    int rows = (int)map->rows, columns = (int)map->columns;
    const char *cells = map->cells ?: "";
    if (rows < 1 || columns < 1 || rows > 4096 || columns > 4096 || strlen(cells) < (size_t)rows * (size_t)columns)
        return;
    kb_lines_add(out);
    struct kb_line *head = kb_lines_add(out);
    kb_spanf(head, KB_STYLE_DIM, "where %s is wrong (%d x %d tiles)", output->arg ?: "?", rows, columns);
    if (output->where)
        kb_lines_text(out, KB_STYLE_TEXT, width, 2, output->where);
    int twice = columns * 2 + 2 <= width ? 2 : 1;
    for (int y = 0; y < rows; y++) {
        struct kb_line *l = kb_lines_add(out);
        kb_span(l, KB_STYLE_TEXT, "  ");
        for (int x = 0; x < columns && 2 + x * twice < width; x++) {
            char digit[2] = {cells[y * columns + x], 0};
            int level = (int)strtol(digit, NULL, 16);
            for (int k = 0; k < twice; k++)
                kb_span(l, heat(level), heat_sign(level, out->ascii));
        }
    }
}

static void add_tolerance(const struct kb_ev_output *output, int width, struct kb_lines *out)
{
    const struct kb_ev_tolerance *t = KB_WITHIN(output, tolerance, tolerance);
    if (!t->metric)
        return;
    double value = kb_record_number(&kb_record_metrics, KB_WITHIN(output, metrics, metrics), t->metric);
    struct kb_line line = {.ascii = out->ascii};
    kb_spanf(&line, KB_STYLE_DIM, "%s decides by %s: ", output->arg ?: "?", t->metric);
    kb_span(&line, KB_STYLE_NUMBER, kb_show_error(value).s);
    kb_spanf(&line, KB_STYLE_DIM, ", bound %s (%s)", kb_show_error(t->bound).s, t->why ?: "declared");
    if (!isnan(output->margin))
        kb_spanf(&line, KB_STYLE_NUMBER, ", %s of its bound", kb_show_margin(output->margin).s);
    kb_lines_wrap(out, &line, width, 4, 0);
    kb_line_free(&line);
}

static void add_outputs(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    int index = kb_app_case(a);
    if (index >= a->model->case_count)
        return;
    const struct kb_model_case *c = &v->cases[index];
    const struct kb_ev_case *result = kb_model_result(c);
    if (!result)
        return;
    kb_lines_add(out);
    kb_spanf(kb_lines_add(out), KB_STYLE_TITLE, "case %s", kb_app_case_label(a, index));
    for (int i = 0; i < result->outputs_count; i++) {
        const struct kb_ev_output *output = &result->outputs[i];
        struct kb_text why = {0};
        kb_explain_output(&why, output);
        bool fail = !strcmp(output->status ?: "", "fail");
        if (why.size)
            kb_lines_text(out, fail ? KB_STYLE_BAD : KB_STYLE_TEXT, width, 0, why.data);
        kb_text_free(&why);
        add_tolerance(output, width, out);
        if (fail)
            add_map(output, width, out);
    }
    if (!v->finding_count) // older recordings have no others
        kb_facts_reports(KB_WITHIN(c->facts, facts, counts), width, out);
    if (result->reason)
        kb_lines_text(out, KB_STYLE_DIM, width, 0, result->reason);
    if (!strcmp(result->set ?: "", "reused"))
        kb_lines_text(out, KB_STYLE_DIM, width, 0, "inputs of this case were seen before: no fresh set was ready");
}

// A failing case as a file: where it is, or how to get it.
static void add_export(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    const struct kb_binding *b = kb_binding_of(KB_ACT_EXPORT);
    int rung = kb_failed_rung(v);
    if (rung < KB_RUNG_RUN || rung > KB_RUNG_TIME || v->impossible || v != kb_model_current(a->model, a->variant))
        return;
    const struct kb_ev_exported *x = v->exported;
    char keys[48];
    kb_lines_add(out);
    if (!x || !x->path) {
        struct kb_line line = {.ascii = out->ascii};
        kb_spanf(&line, KB_STYLE_KEY, "%s: ", kb_binding_keys(b, keys));
        kb_span(&line, KB_STYLE_DIM, b->help);
        kb_lines_wrap(out, &line, width, 2, 0);
        kb_line_free(&line);
        return;
    }
    struct kb_line line = {.ascii = out->ascii};
    kb_spanf(&line, KB_STYLE_DIM, "case %s is in ", x->label ?: "?");
    kb_span(&line, KB_STYLE_STRONG, x->path);
    kb_lines_wrap(out, &line, width, 2, 0);
    kb_line_free(&line);
    kb_lines_text(out, KB_STYLE_TEXT, width, 2, x->compile ?: "");
}

static bool any_case(const struct kb_app *a, const struct kb_model_version *v)
{
    for (int i = 0; i < a->model->case_count; i++)
        if (kb_model_result(&v->cases[i]))
            return true;
    return false;
}

static void lines(const struct kb_app *a, int width, struct kb_lines *out)
{
    const struct kb_model_version *v = kb_app_version(a);
    if (a->model->bench_error)
        kb_lines_text(out, KB_STYLE_BAD, width, 0, a->model->bench_error);
    if (!v) {
        kb_span(kb_lines_add(out), KB_STYLE_DIM, "nothing was built yet");
        return;
    }
    add_compiler(a, v, width, out);
    add_failed_rung(v, width, out);
    add_findings(a, v, width, out);
    add_seeds(v, width, out);
    add_gaps(a, v, width, out);
    add_doubts(a, v, width, out);
    if (!any_case(a, v)) {
        if (!out->count)
            kb_span(kb_lines_add(out), KB_STYLE_DIM, "nothing was compared yet");
        add_export(a, v, width, out);
        return;
    }
    if (out->count && kb_line_width(&out->items[out->count - 1]))
        kb_lines_add(out);
    int label = label_width(a, width);
    add_metrics_head(out, label, width);
    for (int i = 0; i < a->model->case_count; i++)
        add_case(a, v, i, label, width, out);
    add_export(a, v, width, out);
    add_outputs(a, v, width, out);
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    const struct kb_model_version *v = kb_app_version(a);
    if (v && v->number > 0)
        kb_text_addf(out, "%s v%d", a->model->variants[a->variant].name, v->number);
}

const struct kb_view kb_view_errors = {"errors", 0, lines, NULL, note, NULL, NULL};
