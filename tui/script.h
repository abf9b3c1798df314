// A script that presses keys and saves the screen, for tests and pictures. One command a line:
//   size 120x36      key j Down Enter Ctrl-L        type some text        at 12500 (ms of the replay)        end
//   screen [FILE]    appends the frame as plain text to FILE, or to the output
#ifndef KB_TUI_SCRIPT_H
#define KB_TUI_SCRIPT_H
#include "tui/app.h"
#include "tui/replay.h"

struct kb_script {
    struct kb_app *app;
    struct kb_replay *replay; // NULL: live; then "at" and "end" are errors
    int columns, rows;
    struct kb_text *out;
};
// Stops at the first bad line (error: its number, and what is known). 0 also when a key quit.
int kb_script_run(struct kb_script *, const char *text, struct kb_error *);
void kb_script_screen(struct kb_script *, struct kb_text *out); // one frame, a line a row

#endif
