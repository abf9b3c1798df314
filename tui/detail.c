#include "tui/detail.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kb_detail_heading(struct kb_lines *out, const char *text)
{
    if (out->count)
        kb_lines_add(out);
    kb_span(kb_lines_add(out), KB_STYLE_TITLE, text);
}

void kb_detail_item(struct kb_lines *out, int width, const char *key, enum kb_style style, const char *value)
{
    struct kb_line line = {.ascii = out->ascii};
    kb_span_cut(&line, KB_DETAIL_KEY - 1, KB_STYLE_DIM, key);
    kb_span_pad(&line, KB_DETAIL_KEY);
    kb_span(&line, style, value);
    kb_lines_wrap(out, &line, width, KB_DETAIL_KEY, 0);
    kb_line_free(&line);
}

void kb_detail_known(struct kb_lines *out, int width, const char *name, double value, const char *reason,
                     struct kb_short (*show)(double))
{
    if (!isnan(value)) {
        kb_detail_item(out, width, name, KB_STYLE_NUMBER, show(value).s);
    } else if (reason) {
        char *text = kb_format("– %s", reason);
        kb_detail_item(out, width, name, KB_STYLE_UNKNOWN, text);
        free(text);
    }
}
