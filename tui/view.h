// A view: what one pane shows. Views read the model and the app's choices, draw into a canvas, and know no terminal.
#ifndef KB_TUI_VIEW_H
#define KB_TUI_VIEW_H
#include "tui/app.h"

struct kb_view {
    const char *name;
    int sticky; // lines at the top that do not scroll: the head of a table
    // Each frame while its pane is shown, to fill lines for so many columns. NULL: draw does it all.
    void (*lines)(const struct kb_app *, int width, struct kb_lines *);
    // Each frame while its pane is shown, inside the frame, instead of lines.
    void (*draw)(struct kb_app *, const struct kb_canvas *);
    // Each frame, for what stands behind the name in the frame. NULL: nothing.
    void (*note)(const struct kb_app *, struct kb_text *);
    // Each frame: the line of `lines` under the cursor, -1 for none. NULL: the pane has no cursor.
    int (*cursor)(const struct kb_app *);
    // On a key that moves the cursor by so many rows (large: to the end). NULL: the pane only scrolls.
    void (*move)(struct kb_app *, int by);
};
extern const struct kb_view kb_view_variants, kb_view_errors, kb_view_roofline, kb_view_history, kb_view_log,
    kb_view_detail, kb_view_why, kb_view_source, kb_view_code;
const struct kb_view *kb_view_of(enum kb_pane);

int kb_source_cursor(const struct kb_app *);  // the line under the source pane's cursor
void kb_source_step(struct kb_app *, int by); // to a line that costs less (by > 0) or more
void kb_code_jump(struct kb_app *, int by);   // the machine code pane: to the next change or kernel, or back

#endif
