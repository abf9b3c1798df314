// The curses back end. Curses draws into memory; the bytes go to the terminal from here and never block: while it has
// not taken the last frame, no new one is made, and then the newest state is drawn whole.
#ifndef KB_TUI_TERMINAL_H
#define KB_TUI_TERMINAL_H
#include "base/error.h"
#include "tui/cell.h"
#include "tui/options.h"

// Sets the locale. True if the terminal may be sent UTF-8. Where the user's UTF-8 locale is not installed, C.UTF-8 is
// taken.
bool kb_locale_begin(void);

struct kb_terminal;
// Takes the terminal over. Colours: KB_COLOR_AUTO means unless NO_COLOR is set. Fails (exit code 2) where there is
// none, or TERM can't be served, not even as xterm-256color. *note: what the user should know, or ""; static.
int kb_terminal_open(const struct kb_theme *, enum kb_color, struct kb_terminal **, const char **note,
                     struct kb_error *);
void kb_terminal_close(struct kb_terminal *); // gives it back as it was; NULL is fine
int kb_terminal_in(const struct kb_terminal *);
void kb_terminal_size(const struct kb_terminal *, int *columns,
                      int *rows);                                      // asks the kernel; 80 x 24 if it does not know
void kb_terminal_theme(struct kb_terminal *, const struct kb_theme *); // draws all again next time
bool kb_terminal_busy(const struct kb_terminal *);                     // it has not taken all of the last frame
void kb_terminal_write(struct kb_terminal *);                          // what it takes now. Call when out is writable
void kb_terminal_draw(struct kb_terminal *, const struct kb_grid *);   // only when not busy
void kb_terminal_redraw(struct kb_terminal *);                         // the next draw sends everything
// Gives it back for a while (Ctrl-Z, an editor), and takes it again.
void kb_terminal_leave(struct kb_terminal *);
void kb_terminal_enter(struct kb_terminal *);

#endif
