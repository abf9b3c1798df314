#include "tui/facts.h"
#include "base/json.h"
#include "base/memory.h"
#include "tui/format.h"

#include <math.h>
#include <string.h>

enum { KEY = 18, LINES_SHOWN = 24 };

double kb_sectors_per_request(const cJSON *event)
{
    const cJSON *facts = kb_json_get(event, "facts");
    double requests = kb_json_number(facts, "global_requests", NAN);
    return requests > 0 ? kb_json_number(facts, "global_sectors", NAN) / requests : NAN;
}

// Files carry the path inside the compiler's own tree.
static const char *file_of(const cJSON *item)
{
    const char *file = kb_json_text(item, "file", "");
    return *file == '/' ? file + 1 : file;
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

void kb_facts_reports(const cJSON *event, int width, struct kb_lines *out)
{
    const cJSON *facts = kb_json_get(event, "facts"), *report;
    cJSON_ArrayForEach (report, kb_json_get(facts, "reports")) {
        struct kb_ev_report r;
        kb_record_read(&kb_record_report, report, &r);
        if (r.file && *r.file == '/')
            memmove(r.file, r.file + 1, strlen(r.file));
        kb_facts_report(&r, KB_STYLE_BAD, width, out);
        kb_record_free(&kb_record_report, &r);
    }
    double cut = kb_json_number(facts, "reports_cut", 0);
    if (cut > 0)
        kb_spanf(kb_lines_add(out), KB_STYLE_DIM, "and %s more", kb_show_count(cut).s);
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

void kb_facts_totals(const cJSON *event, struct kb_lines *out)
{
    const cJSON *f = kb_json_get(event, "facts"), *bytes = kb_json_get(f, "bytes"), *kind;
    figure(out, "instructions", kb_show_count(kb_json_number(f, "instructions", NAN)).s, "of warps");
    figure(out, "active lanes", kb_show_us(kb_json_number(f, "average_active_lanes", NAN)).s, "of 32");
    cJSON_ArrayForEach (kind, kb_json_get(f, "flops")) {
        if (kind->valuedouble > 0)
            figure(out, "FLOPs", kb_show_count(kind->valuedouble).s, kind->string);
    }
    figure(out, "global loads", kb_show_bytes(kb_json_number(bytes, "global_load", NAN)).s, "");
    figure(out, "global stores", kb_show_bytes(kb_json_number(bytes, "global_store", NAN)).s, "");
    figure(out, "sectors/request", kb_show_us(kb_sectors_per_request(event)).s, "4: coalesced 4-byte, 32: scattered");
    figure(out, "shared", kb_show_bytes(kb_json_number(bytes, "shared", NAN)).s, "");
    figure(out, "bank conflicts", kb_show_count(kb_json_number(f, "shared_bank_conflicts", NAN)).s, "further passes");
    double branches = kb_json_number(f, "branches", NAN), divergent = kb_json_number(f, "divergent_branches", NAN);
    figure(out, "divergent", kb_show_percent(branches > 0 ? divergent / branches : NAN).s, "of branches");
    figure(out, "barriers", kb_show_count(kb_json_number(f, "barriers", NAN)).s, "");
    if (kb_json_number(f, "atomics", 0) > 0)
        figure(out, "atomics", kb_show_count(kb_json_number(f, "atomics", NAN)).s, "lanes");
}

static void add_number(struct kb_line *l, int x, const cJSON *item, const char *key, enum kb_style style)
{
    double n = kb_json_number(item, key, NAN);
    kb_span_right(l, x, n > 0 ? style : KB_STYLE_DIM, n > 0 ? kb_show_count(n).s : n == 0 ? "0" : "–");
}

static void add_source_line(const struct kb_app *a, const cJSON *item, double most, int width, struct kb_lines *out)
{
    struct kb_line *l = kb_lines_add(out);
    int number = (int)kb_json_int(item, "line", 0);
    kb_spanf(l, KB_STYLE_DIM, "%5d", number);
    double share = kb_json_number(item, "instructions", NAN) / most;
    kb_span_right(l, 11, share > 0.1 ? KB_STYLE_WARN : KB_STYLE_TEXT, kb_show_percent(share).s);
    add_number(l, 22, item, "sectors", KB_STYLE_TEXT);
    add_number(l, 32, item, "conflicts", KB_STYLE_WARN);
    if (width < 60)
        return;
    add_number(l, 42, item, "divergent", KB_STYLE_WARN);
    const char *text =
        a->driver.source_line && number > 0 ? a->driver.source_line(a->driver.context, file_of(item), number) : NULL;
    if (text)
        kb_spanf(l, KB_STYLE_SOURCE, "  %s", text + strspn(text, " \t"));
}

void kb_facts_lines(const struct kb_app *a, const cJSON *event, int width, struct kb_lines *out)
{
    const cJSON *facts = kb_json_get(event, "facts"), *item;
    kb_facts_reports(event, width, out);
    kb_facts_totals(event, out);
    kb_lines_add(out);
    struct kb_line *head = kb_lines_add(out);
    kb_span(head, KB_STYLE_DIM, " line");
    kb_span_right(head, 11, KB_STYLE_DIM, "instr");
    kb_span_right(head, 22, KB_STYLE_DIM, "sectors");
    kb_span_right(head, 32, KB_STYLE_DIM, "conflicts");
    if (width >= 60)
        kb_span_right(head, 42, KB_STYLE_DIM, "divergent");
    int shown = 0;
    cJSON_ArrayForEach (item, kb_json_get(facts, "lines")) {
        if (shown++ == LINES_SHOWN)
            break;
        add_source_line(a, item, kb_json_number(facts, "instructions", NAN), width, out);
    }
}
