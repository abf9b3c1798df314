// The screen without a terminal: what is shown and chosen. Keys go in, a grid comes out; tests need nothing else.
#ifndef KB_TUI_APP_H
#define KB_TUI_APP_H
#include "loop/model.h"
#include "tui/cell.h"
#include "tui/code.h"
#include "tui/keys.h"
#include "tui/layout.h"
#include "tui/line.h"
#include "tui/timeline.h"
#include "tui/verdict.h"
#include "tui/view_sass.h"

// What a key did.
enum {
    KB_DID_HANDLE = 1,
    KB_DID_DRAW = 2,   // the screen changed
    KB_DID_REDRAW = 4, // and all of it is to be sent again
    KB_DID_QUIT = 8,
    KB_DID_SUSPEND = 16,
    KB_DID_EDIT = 32,
    KB_DID_THEME = 64,
    KB_DID_KEEP = 128,
};
enum kb_overlay {
    KB_OVERLAY_NONE,
    KB_OVERLAY_HELP,
    KB_OVERLAY_CASES,
    KB_OVERLAY_QUIT,
    KB_OVERLAY_RESTART,
    KB_OVERLAY_ALLOW,
    KB_OVERLAY_TRACE
};

// What the screen asks of whoever feeds it: the session, a replay, or nobody (NULL functions).
struct kb_driver {
    void *context;
    // what: enum kb_command of loop/session.h; arg may be NULL.
    void (*command)(void *context, int what, const char *arg);
    // A key of the replay group; true if it was taken. NULL: no replay.
    bool (*replay)(void *context, enum kb_action);
    // A line of a source as it is on disk, NULL while or if unknown; valid until the next call.
    const char *(*source_line)(void *context, const char *file, int line);
    int (*source_line_count)(void *context, const char *file); // 0 while or if unknown
    // Text or diff of a version, as far as it is at hand; what is not is on its way, or never comes: the reason says
    // it. All pointers of the answer are valid until the next call.
    void (*code)(void *context, const struct kb_code_request *, struct kb_code_answer *);
    // The spans of a traced version, valid until the next event; NULL function or answer: they are not at hand.
    const struct kb_trace *(*trace)(void *context, const char *variant, int version);
};

struct kb_app {
    const struct kb_model *model;
    struct kb_driver driver;
    bool ascii;
    enum kb_pane focus;
    struct kb_places places;
    bool zoom;
    enum kb_overlay overlay;
    int overlay_top, overlay_cursor;
    char asked[33];      // hash of the permission that was asked for last
    int variant;         // index of the one shown
    int version;         // number of the one shown, 0: the newest
    int case_index;      // chosen by hand, -1: the headline, or the first one that is wrong
    int top[KB_PANES];   // first line shown; log: entry, -1: follows the end
    int page[KB_PANES];  // lines shown last time, for paging
    int lines[KB_PANES]; // lines there were
    bool filtering;      // the filter is being typed
    char filter[96];
    int64_t now_ms;  // session time, set before each draw and key
    int source_line; // under the cursor of the source pane, 0: the hottest
    bool raw_stalls; // names of the hardware instead of groups
    enum kb_against against;
    enum kb_code_kind code_kind;
    struct kb_sass_view_state sass;
    struct kb_timeline timeline;
    int code_width;          // of the machine code pane, when it was drawn
    char note[160];          // about the terminal; shown until a key comes
    const char *replay_text; // state of the replay for the footer; NULL: live
    int model_focus;         // last focus seen in the model
    int64_t started_ms;      // start of the newest build of the variant shown: a new one brings the screen back to it
    char *status;            // last status text seen
    int64_t status_ms;
};
void kb_app_init(struct kb_app *, const struct kb_model *, bool ascii);
void kb_app_free(struct kb_app *);
// Takes over what changed in the model (focus, status). Call when events were applied.
void kb_app_follow(struct kb_app *);
unsigned kb_app_key(struct kb_app *, int key, bool burst); // KB_DID_ bits
void kb_app_draw(struct kb_app *, struct kb_grid *);       // into a cleared grid of any size
// ms until the screen changes by itself: 1000 for ages, less while a rung runs.
int kb_app_tick_ms(const struct kb_app *);

// For views.
const struct kb_model_version *kb_app_version(const struct kb_app *); // the one shown; NULL if none
int kb_app_case(const struct kb_app *);                               // the case shown
// The failed case that is to be written as a file: the one shown; -1: whichever failed (none was told by a case).
int kb_app_failed_case(const struct kb_app *);
void kb_app_subject(const struct kb_app *, int variant, const struct kb_model_version *, struct kb_subject *);
int kb_app_pick_timed_case(const struct kb_app *); // the case shown if it is timed, else the headline
void kb_app_focus_variant(struct kb_app *, int variant);
const char *kb_app_case_label(const struct kb_app *, int index);
void kb_app_case_marks(const struct kb_app *, int index, bool here, struct kb_line *); // the cursor; right or wrong
void kb_app_overlay(struct kb_app *, const struct kb_canvas *);                        // tui/overlay.c
void kb_app_overlay_tiny(struct kb_app *, const struct kb_canvas *);
unsigned kb_app_overlay_key(struct kb_app *, int key);

#endif
