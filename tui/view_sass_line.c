// One row of view_sass.c as text.
#include "base/json.h"
#include "base/memory.h"
#include "tui/format.h"
#include "tui/view_sass_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OFFSET = 5, LIVE = 9, SAMPLES = 16, SOURCE_LINE = 15 };

// Spills and what waits for other threads catch the eye.
static enum kb_style opcode_style(const char *opcode)
{
    if (kb_starts(opcode, "LDL") || kb_starts(opcode, "STL"))
        return KB_STYLE_WARN;
    if (kb_starts(opcode, "BAR") || kb_starts(opcode, "MEMBAR") || kb_starts(opcode, "DEPBAR"))
        return KB_STYLE_KEY;
    if (kb_starts(opcode, "LD") || kb_starts(opcode, "ST") || kb_starts(opcode, "RED") || kb_starts(opcode, "ATOM"))
        return KB_STYLE_NUMBER;
    return KB_STYLE_STRONG;
}

static void add_samples(struct kb_line *l, double samples, double most)
{
    if (samples > 0)
        kb_span_right(l, SAMPLES,
                      samples > most / 2   ? KB_STYLE_HEAT_3
                      : samples > most / 8 ? KB_STYLE_HEAT_2
                                           : KB_STYLE_HEAT_1,
                      kb_show_count(samples).s);
    kb_span_pad(l, SAMPLES + 1);
}

static void instruction(struct kb_line *l, const struct kb_sass_view_input *in, const struct kb_sass_row *row)
{
    const struct kb_sass_kernel *k = &in->listing->kernels[row->kernel];
    const struct kb_sass_instruction *i = &k->instructions[row->index];
    char number[16];
    snprintf(number, sizeof number, "%04x", (unsigned)i->offset);
    kb_span_right(l, OFFSET, KB_STYLE_DIM, number);
    if (in->listing->has_live) {
        snprintf(number, sizeof number, i->live < 0 ? "?" : "%d", i->live);
        kb_span_right(l, LIVE, i->live == k->live_peak ? KB_STYLE_WARN : KB_STYLE_DIM, number);
    }
    kb_span(l, KB_STYLE_TEXT, " ");
    if (in->samples) {
        double most, here = kb_samples_at(in->samples, k->name, i->offset, &most);
        add_samples(l, here, most);
    }
    kb_spanf(l, KB_STYLE_DIM, " %5s ", i->predicate);
    kb_spanf(l, opcode_style(i->opcode), "%s ", i->opcode);
    const char *targets = strstr(i->operands, "(*\"");
    int n = targets ? (int)(targets - i->operands) : (int)strlen(i->operands);
    kb_spanf(l, KB_STYLE_TEXT, "%.*s", n, i->operands);
    if (*i->control)
        kb_spanf(l, KB_STYLE_DIM, "  %s", i->control);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void source(struct kb_line *l, const struct kb_sass_view_input *in, const struct kb_sass_row *row)
{
    const struct kb_sass_instruction *i = &in->listing->kernels[row->kernel].instructions[row->index];
    const char *file = i->at_file >= 0 ? in->listing->files[i->at_file] : "?";
    kb_spanf(l, KB_STYLE_DIM, "%s:%d", base_name(file), i->at_line);
    const char *text = in->source_line ? in->source_line(in->context, file, i->at_line) : NULL;
    if (!text)
        return;
    kb_span(l, KB_STYLE_DIM, "  ");
    kb_span(l, KB_STYLE_SOURCE, text + strspn(text, " \t"));
}

static void kernel(struct kb_line *l, const struct kb_sass_view_input *in, const struct kb_sass_row *row)
{
    const struct kb_sass_kernel *k = &in->listing->kernels[row->kernel];
    kb_span(l, KB_STYLE_TITLE, k->name);
    kb_spanf(l, KB_STYLE_DIM, "  %d instructions", k->count);
    if (k->live_peak >= 0)
        kb_spanf(l, KB_STYLE_DIM, ", at most %d registers live", k->live_peak);
    if (row->text)
        kb_span(l, KB_STYLE_TEXT, row->text);
}

static void add_change(struct kb_line *l, const char *name, const cJSON *pair)
{
    double a = kb_json_number(pair, "a", NAN), b = kb_json_number(pair, "b", NAN);
    char left[24] = "?", right[24] = "?";
    if (isnan(a) && isnan(b))
        return;
    if (!isnan(a))
        snprintf(left, sizeof left, "%.0f", a);
    if (!isnan(b))
        snprintf(right, sizeof right, "%.0f", b);
    kb_spanf(l, KB_STYLE_DIM, "   %s ", name);
    if (!strcmp(left, right))
        kb_span(l, KB_STYLE_TEXT, left);
    else
        kb_spanf(l, KB_STYLE_NUMBER, "%s %s %s", left, kb_sign(KB_SIGN_ARROW, l->ascii), right);
}

static void unit(struct kb_line *l, const struct kb_sass_row *row)
{
    const char *state = kb_json_text(row->item, "state", "?"), *was = kb_json_text(row->item, "was", NULL);
    bool calm = !strcmp(state, "identical") || !strcmp(state, "same");
    kb_spanf(l, KB_STYLE_TITLE, "%s", kb_json_text(row->item, "name", "?"));
    if (was)
        kb_spanf(l, KB_STYLE_DIM, " (was %s)", was);
    kb_spanf(l, calm ? KB_STYLE_GOOD : KB_STYLE_WARN, "  %s",
             kb_json_bool(row->item, "reordered", false) ? "same instructions, other order" : state);
    add_change(l, "instructions", kb_json_get(row->item, "instructions"));
    add_change(l, "live registers", kb_json_get(row->item, "live_registers_peak"));
}

static void hunk(struct kb_line *l, const struct kb_sass_row *row)
{
    const cJSON *rows = kb_json_get(row->item, "rows"), *item;
    int line = 0;
    double samples = kb_json_number(row->item, "samples", 0);
    cJSON_ArrayForEach (item, rows)
        if (!line && kb_json_text(item, "k", "=")[0] != '=')
            line = (int)kb_json_int(item, "bl", kb_json_int(item, "al", 0));
    const char *kernel_name = kb_json_text(row->item, "kernel", ""),
               *function = kb_json_text(row->item, "function", NULL);
    kb_span(l, KB_STYLE_KEY, "@@ ");
    kb_span(l, KB_STYLE_TITLE, function ? function : kernel_name);
    if (line)
        kb_spanf(l, KB_STYLE_DIM, "%sline %d", *kernel_name ? "  " : "", line);
    if (samples > 0)
        kb_spanf(l, KB_STYLE_HEAT_2, "  %s samples", kb_show_count(samples).s);
}

struct keys {
    const char *text, *line, *live, *offset;
};

static void side(struct kb_line *l, const cJSON *item, char mark, bool right, int most)
{
    static const struct keys left_keys = {"a", "al", "ar", "ao"}, right_keys = {"b", "bl", "br", "bo"};
    const struct keys *keys = right ? &right_keys : &left_keys;
    enum kb_style style = mark == '=' ? KB_STYLE_DIM : mark == '+' ? KB_STYLE_GOOD : KB_STYLE_BAD;
    int start = kb_line_width(l), line = (int)kb_json_int(item, keys->line, 0);
    char number[16] = "";
    if (line)
        snprintf(number, sizeof number, "%d", line);
    kb_spanf(l, KB_STYLE_DIM, "%5s ", number);
    if (kb_json_get(item, keys->live)) {
        snprintf(number, sizeof number, "%d", (int)kb_json_int(item, keys->live, 0));
        kb_spanf(l, KB_STYLE_DIM, "%3s ", number);
    } else if (kb_json_get(item, keys->offset)) {
        kb_span(l, KB_STYLE_DIM, "    ");
    }
    kb_spanf(l, style, "%c ", mark == '=' ? ' ' : mark);
    kb_span_cut(l, most - (kb_line_width(l) - start), style, kb_json_text(item, keys->text, ""));
}

static void pair(struct kb_line *l, const struct kb_sass_row *row, int width)
{
    int half = (width - 3) / 2;
    if (row->item)
        side(l, row->item, row->mark, false, half);
    kb_span_pad(l, half);
    kb_spanf(l, KB_STYLE_FRAME, " %s ", kb_sign(KB_SIGN_VERTICAL, l->ascii));
    if (row->other)
        side(l, row->other, row->mark == '=' ? '=' : '+', true, width - half - 3);
}

void kb_sass_row_line(struct kb_line *l, const struct kb_sass_view_input *in, const struct kb_sass_row *row, int width)
{
    switch (row->kind) {
    case KB_SASS_ROW_TEXT:
        kb_span(l, row->style, row->text ? row->text : "");
        break;
    case KB_SASS_ROW_KERNEL:
        kernel(l, in, row);
        break;
    case KB_SASS_ROW_SOURCE:
        source(l, in, row);
        break;
    case KB_SASS_ROW_LABEL:
        kb_spanf(l, KB_STYLE_KEY, "%s:", in->listing->kernels[row->kernel].labels[row->index].name);
        break;
    case KB_SASS_ROW_INSTRUCTION:
        instruction(l, in, row);
        break;
    case KB_SASS_ROW_UNIT:
        unit(l, row);
        break;
    case KB_SASS_ROW_HUNK:
        hunk(l, row);
        break;
    case KB_SASS_ROW_PAIR:
        pair(l, row, width);
        break;
    case KB_SASS_ROW_SINGLE:
        side(l, row->item, row->mark, row->mark != '-', width);
        break;
    }
}
