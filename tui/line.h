// Text in several styles: what lists, the ladder and the verdict are made of before anybody knows where they go.
#ifndef KB_TUI_LINE_H
#define KB_TUI_LINE_H
#include "base/text.h"
#include "tui/cell.h"

struct kb_span {
    enum kb_style style;
    size_t end; // bytes of the line's text up to the end of this span
};
struct kb_line {
    struct kb_text text; // shown form already (kb_shown)
    struct kb_span *spans;
    int count, capacity;
    bool ascii;
};
void kb_line_free(struct kb_line *);
void kb_line_clear(struct kb_line *); // keeps the memory
void kb_span(struct kb_line *, enum kb_style, const char *text);
void kb_spanf(struct kb_line *, enum kb_style, const char *format, ...) __attribute__((format(printf, 3, 4)));
void kb_span_pad(struct kb_line *, int column);                                    // blanks up to a column
void kb_span_right(struct kb_line *, int column, enum kb_style, const char *text); // ends before the column
void kb_span_cut(struct kb_line *, int most, enum kb_style, const char *text);     // at most so many columns
int kb_line_width(const struct kb_line *);
// Draws the line at x in at most `most` columns; an ellipsis where something is cut. Returns the column behind.
int kb_line_draw(const struct kb_canvas *, int x, int y, int most, const struct kb_line *);

struct kb_lines {
    struct kb_line *items;
    int count, capacity;
    bool ascii;
};
struct kb_line *kb_lines_add(struct kb_lines *); // valid until the next one is added
void kb_lines_free(struct kb_lines *);
// Breaks a line at blanks into lines of at most width columns, the later ones indented. With most > 0 the line number
// `most` takes all the rest, whatever its width.
void kb_lines_wrap(struct kb_lines *, const struct kb_line *, int width, int indent, int most);
// A paragraph in one style, wrapped.
void kb_lines_text(struct kb_lines *, enum kb_style, int width, int indent, const char *text);

#endif
