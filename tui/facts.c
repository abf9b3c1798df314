#include "tui/facts.h"
#include "base/memory.h"
#include "tui/format.h"

#include <math.h>
#include <string.h>

enum { KEY = 18, LINES_SHOWN = 24 };

double kb_sectors_per_request(const struct kb_ev_counts *c)
{
    return c->global_requests > 0 ? c->global_sectors / c->global_requests : NAN;
}

// Files carry the path inside the compiler's own tree.
static const char *own_path(const char *file)
{
    return file && *file == '/' ? file + 1 : file;
}

void kb_facts_report(const struct kb_ev_report *r, enum kb_style style, int width, struct kb_lines *out)
{
    struct kb_line line = {.ascii = out->ascii};
    kb_spanf(&line, KB_STYLE_STRONG, "%s:%d ", r->file ?: "?", (int)r->line);
    kb_spanf(&line, style, "%s: ", r->kind ?: "?");
    kb_span(&line, KB_STYLE_TEXT, r->text ?: "");
    if (r->count > 1)
        kb_spanf(&line, KB_STYLE_DIM, "  %s times", kb_show_count(r->count).s);
    kb_lines_wrap(out, &line, width, 4, 0);
    kb_line_free(&line);
}

void kb_facts_reports(const struct kb_ev_counts *c, int width, struct kb_lines *out)
{
    for (int i = 0; i < c->reports_count; i++) {
        struct kb_ev_report r = c->reports[i];
        r.file = (char *)own_path(r.file);
        kb_facts_report(&r, KB_STYLE_BAD, width, out);
    }
    if (c->reports_cut > 0)
        kb_spanf(kb_lines_add(out), KB_STYLE_DIM, "and %s more", kb_show_count(c->reports_cut).s);
}

static void figure(struct kb_lines *out, const char *name, const char *value, const char *about)
{
    struct kb_line *l = kb_lines_add(out);
    kb_span(l, KB_STYLE_DIM, name);
    kb_span_pad(l, KEY);
    kb_span(l, KB_STYLE_NUMBER, value);
    if (*about)
        kb_spanf(l, KB_STYLE_DIM, "  %s", about);
}

void kb_facts_totals(const struct kb_ev_counts *c, struct kb_lines *out)
{
    const struct kb_ev_asked_bytes *bytes = KB_WITHIN(c, bytes, asked_bytes);
    const struct kb_ev_by_type *flops = KB_WITHIN(c, flops, by_type);
    const struct kb_named kinds[] = {{.name = "f32", .value = flops->f32},
                                     {.name = "f64", .value = flops->f64},
                                     {.name = "f16", .value = flops->f16},
                                     {.name = "tensor", .value = flops->tensor}};
    figure(out, "instructions", kb_show_count(c->instructions).s, "of warps");
    figure(out, "active lanes", kb_show_us(c->average_active_lanes).s, "of 32");
    for (size_t i = 0; i < KB_COUNT(kinds); i++)
        if (kinds[i].value > 0)
            figure(out, "FLOPs", kb_show_count(kinds[i].value).s, kinds[i].name);
    figure(out, "global loads", kb_show_bytes(bytes->global_load).s, "");
    figure(out, "global stores", kb_show_bytes(bytes->global_store).s, "");
    figure(out, "sectors/request", kb_show_us(kb_sectors_per_request(c)).s, "4: coalesced 4-byte, 32: scattered");
    figure(out, "shared", kb_show_bytes(bytes->shared).s, "");
    figure(out, "bank conflicts", kb_show_count(c->shared_bank_conflicts).s, "further passes");
    double divergent = c->branches > 0 ? c->divergent_branches / c->branches : NAN;
    figure(out, "divergent", kb_show_percent(divergent).s, "of branches");
    figure(out, "barriers", kb_show_count(c->barriers).s, "");
    if (c->atomics > 0)
        figure(out, "atomics", kb_show_count(c->atomics).s, "lanes");
}

static void add_number(struct kb_line *l, int x, double n, enum kb_style style)
{
    kb_span_right(l, x, n > 0 ? style : KB_STYLE_DIM, n > 0 ? kb_show_count(n).s : n == 0 ? "0" : "–");
}

static void add_source_line(const struct kb_app *a, const struct kb_ev_line_counts *line, double most, int width,
                            struct kb_lines *out)
{
    struct kb_line *l = kb_lines_add(out);
    int number = (int)line->line;
    kb_spanf(l, KB_STYLE_DIM, "%5d", number);
    double share = line->instructions / most;
    kb_span_right(l, 11, share > 0.1 ? KB_STYLE_WARN : KB_STYLE_TEXT, kb_show_percent(share).s);
    add_number(l, 22, line->sectors, KB_STYLE_TEXT);
    add_number(l, 32, line->conflicts, KB_STYLE_WARN);
    if (width < 60)
        return;
    add_number(l, 42, line->divergent, KB_STYLE_WARN);
    const char *file = own_path(line->file) ?: "";
    const char *text =
        a->driver.source_line && number > 0 ? a->driver.source_line(a->driver.context, file, number) : NULL;
    if (text)
        kb_spanf(l, KB_STYLE_SOURCE, "  %s", text + strspn(text, " \t"));
}

void kb_facts_lines(const struct kb_app *a, const struct kb_ev_counts *c, int width, struct kb_lines *out)
{
    kb_facts_reports(c, width, out);
    kb_facts_totals(c, out);
    kb_lines_add(out);
    struct kb_line *head = kb_lines_add(out);
    kb_span(head, KB_STYLE_DIM, " line");
    kb_span_right(head, 11, KB_STYLE_DIM, "instr");
    kb_span_right(head, 22, KB_STYLE_DIM, "sectors");
    kb_span_right(head, 32, KB_STYLE_DIM, "conflicts");
    if (width >= 60)
        kb_span_right(head, 42, KB_STYLE_DIM, "divergent");
    for (int i = 0; i < c->lines_count && i < LINES_SHOWN; i++)
        add_source_line(a, &c->lines[i], c->instructions, width, out);
}
