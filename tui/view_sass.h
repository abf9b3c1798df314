// The pane of machine code: a listing with source lines, live registers and samples, or what changed between two
// versions. Drawing is pure: what is shown comes in as a struct, where the reader is in another one. The same pane
// shows diffs of PTX and of sources, whose documents have no instructions.
#ifndef KB_TUI_VIEW_SASS_H
#define KB_TUI_VIEW_SASS_H
#include "jit/sass_diff.h"
#include "tui/cell.h"
#include "tui/line.h"
#include "tui/samples.h"

struct kb_sass_view_input {
    unsigned edition;                      // another number whenever anything that a pointer below leads to has changed
    const struct kb_sass_listing *listing; // of the version shown; NULL: listing_reason says why
    const char *listing_reason;            // also with a listing: why it is not whole; NULL if all is well
    const struct kb_samples *samples;      // NULL: the column is left out
    const cJSON *diff, *raw_diff;          // documents of docs/protocol.md, "diff"; NULL: diff_reason says why
    const char *diff_reason;
    const char *name_a, *name_b; // "tuned v16" and "tuned v17"; NULL if there is nothing to compare with
    // A line of a source as it was compiled, NULL if it is not at hand; valid until the next call. May be NULL.
    const char *(*source_line)(void *context, const char *file, int line);
    void *context;
};
enum kb_sass_mode { KB_SASS_LISTING, KB_SASS_DIFF };
struct kb_sass_view_state { // all zero at first
    enum kb_sass_mode mode;
    bool raw;
    int top;                   // first row shown
    int rows;                  // there were the last time
    int page;                  // rows there was room for the last time
    struct kb_sass_kept *kept; // the rows of the last time; those of a listing serve again while it is the same
};
void kb_sass_view_free(struct kb_sass_view_state *);

void kb_sass_view_draw(const struct kb_sass_view_input *, struct kb_sass_view_state *, const struct kb_canvas *);
// What stands behind the pane's name: what is compared, where the reader is.
void kb_sass_view_note(const struct kb_sass_view_input *, const struct kb_sass_view_state *, struct kb_text *);
void kb_sass_view_scroll(struct kb_sass_view_state *, int by);
// To the next (1) or the previous (-1) hunk, or kernel of a listing.
void kb_sass_view_jump(const struct kb_sass_view_input *, struct kb_sass_view_state *, int width, int by);
// d: listing or diff; w: as written, or real changes only; n, N or p: next and previous hunk, or kernel of a listing.
// width: of the canvas. true if the key was one of these.
bool kb_sass_view_key(const struct kb_sass_view_input *, struct kb_sass_view_state *, int width, int key);

enum { KB_SASS_SIDE_BY_SIDE = 100 }; // columns from which a diff has two sides

#endif
