// A program on a pseudo terminal, seen through libvterm.
#ifndef KB_TESTS_TUI_SUPPORT_PTY_H
#define KB_TESTS_TUI_SUPPORT_PTY_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

struct pty;
// env: "NAME=value" or "NAME" (unset), NULL-terminated; may be NULL.
struct pty *pty_start(char *const argv[], int columns, int rows, const char *const *env);
void pty_end(struct pty *); // kills it if it lives
pid_t pty_pid(const struct pty *);
int pty_fd(const struct pty *);              // our side
bool pty_hang_up(struct pty *, int *status); // closes our side and waits for its end
void pty_send(struct pty *, const char *bytes);
void pty_resize(struct pty *, int columns, int rows);
void pty_pump(struct pty *, int ms);           // takes output for so long, or until some came
char *pty_screen(struct pty *);                // rows without blanks at their end, each with '\n'; owned by the caller
bool pty_wait(struct pty *, const char *text); // until the screen holds it
bool pty_wait_gone(struct pty *, const char *text);    // until it does not
bool pty_wait_screen(struct pty *, const char *whole); // until the screen is exactly this; prints the difference if not
bool pty_wait_exit(struct pty *, int *status);         // waitpid status
bool pty_sane(const struct pty *);                     // echo, line mode, signals and CR/NL mapping are on
bool pty_alternate(const struct pty *);                // the alternate screen is on
size_t pty_bytes(const struct pty *);                  // written by the program so far
const char *pty_tail(const struct pty *);              // the last bytes it wrote

#endif
