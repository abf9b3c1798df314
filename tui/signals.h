// Signals as the loop sees them: blocked everywhere but inside ppoll, a handler only sets a flag. Deaths that cannot be
// waited for (SIGSEGV and its kin) give the terminal back first.
#ifndef KB_TUI_SIGNALS_H
#define KB_TUI_SIGNALS_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

// Blocks and catches SIGWINCH, SIGCONT, SIGTSTP, SIGTERM, SIGHUP, SIGINT; ignores SIGPIPE. *inside gets the mask for
// ppoll. Call before anything starts a thread.
void kb_signals_begin(sigset_t *inside);
bool kb_signal_take(int number); // was it caught since the last call?
void kb_signals_stop_self(void); // stops this process group as Ctrl-Z does; returns when it goes on

// What to do to the terminal when the process dies by SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT or SIGQUIT: modes and
// bytes to write. leave is copied. fd -1: nothing.
void kb_signals_guard(int fd, const struct termios *modes, const char *leave, size_t size);

#endif
