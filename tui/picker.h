// Which kernel of a source that holds several: a list to choose from, before there is a session. Without a terminal:
// keys go in, a grid comes out.
#ifndef KB_TUI_PICKER_H
#define KB_TUI_PICKER_H
#include "bench/guess.h"
#include "tui/cell.h"

struct kb_picker {
    const struct kb_guess_choices *choices;
    const char *path; // of the source, as it was given
    char typed[160];  // narrows the list; a name that nothing in it has may be typed whole
    int cursor, top;  // of the lines shown
    int page;         // lines shown last time
};
enum kb_picked { KB_PICKED_NOT_YET, KB_PICKED_ONE, KB_PICKED_NONE };
void kb_picker_draw(struct kb_picker *, const struct kb_grid *);
// ONE: kb_picker_kernel says which; NONE: left without a choice.
enum kb_picked kb_picker_key(struct kb_picker *, int key);
const char *kb_picker_kernel(const struct kb_picker *); // NULL: the list is empty and nothing was typed

#endif
