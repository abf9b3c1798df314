#include "tui/terminal.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "tui/signals.h"
#include "tui/terminfo.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

enum { PAIRS = 256, LEAVE_MS = 300 };
// Bracketed paste; and the wheel sends arrow keys, so that selecting text with the mouse stays possible.
static const char modes_on[] = "\033[?2004h\033[?1007h", modes_off[] = "\033[?2004l\033[?1007l";

struct kb_terminal {
    int tty;    // our own open file description, non-blocking: the shell's stays as it is
    int memory; // what curses writes to
    FILE *out, *in;
    SCREEN *screen;
    struct termios shell, raw;
    struct kb_text pending;
    size_t sent;
    struct kb_grid shown;
    bool fresh; // the next frame is drawn whole
    bool away;
    const struct kb_theme *theme;
    int colors;
    struct {
        short fg, bg;
    } pairs[PAIRS];
    int pair_count;
};

bool kb_locale_begin(void)
{
    const char *names[] = {getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")}, *wanted = NULL;
    for (size_t i = 0; i < KB_COUNT(names) && !wanted; i++)
        wanted = names[i] && *names[i] ? names[i] : NULL;
    if (!setlocale(LC_ALL, "") && wanted && (strstr(wanted, "UTF-8") || strstr(wanted, "utf8")))
        setlocale(LC_CTYPE, "C.UTF-8");
    setlocale(LC_NUMERIC, "C");
    bool utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
    // Curses itself always works in UTF-8, of which ASCII is a part: elsewhere it repeats characters by a sequence that
    // terminals get wrong at the last column.
    if (!utf8)
        setlocale(LC_CTYPE, "C.UTF-8");
    return utf8;
}

static int open_tty(struct kb_error *e)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return kb_fail(e, NULL, "start it in a terminal, or use --once, --follow or --snapshot",
                       "standard %s is no terminal", isatty(STDIN_FILENO) ? "output" : "input");
    int flags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const char *name = ttyname(STDOUT_FILENO);
    int fd = name ? open(name, flags) : -1;
    if (fd < 0)
        fd = open("/dev/tty", flags);
    return fd >= 0 ? fd
                   : kb_fail(e, name, "start it in a terminal that belongs to you", "the terminal cannot be opened: %s",
                             strerror(errno));
}

static void set_modes(const struct kb_terminal *t, const struct termios *modes)
{
    while (tcsetattr(t->tty, TCSANOW, modes) < 0 && errno == EINTR)
        continue;
}

static void make_raw(struct kb_terminal *t)
{
    t->raw = t->shell;
    cfmakeraw(&t->raw);
    t->raw.c_cc[VMIN] = 1;
    t->raw.c_cc[VTIME] = 0;
}

// Moves what curses wrote into the pending bytes.
static void collect(struct kb_terminal *t)
{
    char buffer[16384];
    ssize_t n;
    fflush(t->out);
    lseek(t->memory, 0, SEEK_SET);
    while ((n = read(t->memory, buffer, sizeof buffer)) > 0)
        kb_text_bytes(&t->pending, buffer, (size_t)n);
    lseek(t->memory, 0, SEEK_SET);
    if (ftruncate(t->memory, 0) < 0)
        return; // memory of our own: cannot fail
}

// Curses asks its type alone for a size: ours comes with each frame. Some types (linux, cygwin, hurd) name none, and
// then curses begins only with one that it assumes; the variables, which may say anything, are kept from it.
static SCREEN *new_screen(struct kb_terminal *t, const char *type)
{
    static const char *const names[] = {"LINES", "COLUMNS"};
    char *kept[KB_COUNT(names)];
    use_env(FALSE);
    SCREEN *screen = newterm(type, t->out, t->in);
    if (screen)
        return screen;
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        kept[i] = kb_strdup(getenv(names[i]));
        unsetenv(names[i]);
    }
    use_env(TRUE);
    screen = newterm(type, t->out, t->in);
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        if (kept[i])
            setenv(names[i], kept[i], 1);
        free(kept[i]);
    }
    return screen;
}

static int open_screen(struct kb_terminal *t, const char *type, struct kb_error *e)
{
    t->memory = memfd_create("screen", MFD_CLOEXEC);
    t->out = t->memory < 0 ? NULL : fdopen(t->memory, "r+");
    t->in = fdopen(dup(STDIN_FILENO), "r");
    t->screen = t->out && t->in ? new_screen(t, type) : NULL;
    if (!t->screen)
        return kb_fail(e, type, "set TERM to what your terminal is, for instance TERM=xterm-256color",
                       "curses cannot use this terminal");
    set_term(t->screen);
    nonl();
    leaveok(stdscr, TRUE);
    scrollok(stdscr, FALSE);
    curs_set(0);
    return 0;
}

static int colors_of(enum kb_color mode)
{
    const char *no = getenv("NO_COLOR");
    if (mode == KB_COLOR_NEVER || (mode == KB_COLOR_AUTO && no && *no) || !has_colors())
        return 0;
    start_color();
    use_default_colors();
    return COLORS >= 256 ? 256 : 8;
}

// What leaves the screen, learned from curses itself once, so that a signal handler needs no curses.
static void guard(struct kb_terminal *t)
{
    struct kb_text kept = t->pending, leave = {0};
    t->pending = (struct kb_text){0};
    endwin();
    collect(t);
    kb_text_add(&leave, modes_off);
    kb_text_bytes(&leave, t->pending.data ? t->pending.data : "", t->pending.size);
    kb_signals_guard(t->tty, &t->shell, leave.data, leave.size);
    kb_text_free(&leave);
    kb_text_free(&t->pending);
    t->pending = kept;
}

int kb_terminal_open(const struct kb_theme *theme, enum kb_color color, struct kb_terminal **out, const char **note,
                     struct kb_error *e)
{
    int tty = open_tty(e);
    const char *type = tty < 0 ? NULL : kb_terminal_type(note, e);
    if (!type) {
        if (tty >= 0)
            close(tty);
        return -1;
    }
    struct kb_terminal *t = kb_alloc(sizeof *t);
    *t = (struct kb_terminal){.tty = tty, .memory = -1, .theme = theme, .away = true};
    kb_grid_init(&t->shown, 1, 1, false);
    tcgetattr(tty, &t->shell);
    make_raw(t);
    if (open_screen(t, type, e)) {
        kb_terminal_close(t);
        return -1;
    }
    t->colors = colors_of(color);
    refresh();
    collect(t);
    kb_text_clear(&t->pending);
    guard(t);
    kb_terminal_enter(t);
    *out = t;
    return 0;
}

void kb_terminal_close(struct kb_terminal *t)
{
    if (!t)
        return;
    if (t->screen) {
        kb_terminal_leave(t);
        delscreen(t->screen);
    }
    kb_signals_guard(-1, NULL, NULL, 0);
    if (t->out)
        fclose(t->out);
    if (t->in)
        fclose(t->in);
    close(t->tty);
    kb_text_free(&t->pending);
    kb_grid_free(&t->shown);
    free(t);
}

int kb_terminal_in(const struct kb_terminal *t)
{
    return t->tty;
}

void kb_terminal_size(const struct kb_terminal *t, int *columns, int *rows)
{
    struct winsize size = {0};
    bool known = !ioctl(t->tty, TIOCGWINSZ, &size) && size.ws_col && size.ws_row;
    *columns = known ? size.ws_col : 80;
    *rows = known ? size.ws_row : 24;
}

void kb_terminal_theme(struct kb_terminal *t, const struct kb_theme *theme)
{
    t->theme = theme;
    t->fresh = true;
}

bool kb_terminal_busy(const struct kb_terminal *t)
{
    return t->sent < t->pending.size;
}

void kb_terminal_write(struct kb_terminal *t)
{
    while (kb_terminal_busy(t)) {
        ssize_t n = write(t->tty, t->pending.data + t->sent, t->pending.size - t->sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) // it is gone; SIGHUP or the end of input says so
            n = (ssize_t)(t->pending.size - t->sent);
        if (n < 0)
            return;
        t->sent += (size_t)n;
    }
    kb_text_clear(&t->pending);
    t->sent = 0;
}

// Sends what is pending, waiting for a slow terminal for a short while only.
static void drain(struct kb_terminal *t)
{
    int64_t end = kb_now_us() + LEAVE_MS * 1000;
    kb_terminal_write(t);
    while (kb_terminal_busy(t) && kb_now_us() < end) {
        struct pollfd fd = {.fd = t->tty, .events = POLLOUT};
        poll(&fd, 1, 20);
        kb_terminal_write(t);
    }
}

static short pair_of(struct kb_terminal *t, short fg, short bg)
{
    if (fg < 0 && bg < 0)
        return 0;
    for (int i = 0; i < t->pair_count; i++)
        if (t->pairs[i].fg == fg && t->pairs[i].bg == bg)
            return (short)(i + 1);
    if (t->pair_count + 1 >= PAIRS || t->pair_count + 1 >= COLOR_PAIRS)
        return 0;
    t->pairs[t->pair_count].fg = fg;
    t->pairs[t->pair_count].bg = bg;
    init_pair((short)++t->pair_count, fg, bg);
    return (short)t->pair_count;
}

static void put_cell(struct kb_terminal *t, int x, int y, const struct kb_cell *cell)
{
    struct kb_look look = kb_theme_look(t->theme, (enum kb_style)cell->style, cell->selected, t->colors);
    attr_t attributes = 0;
    attributes |= look.attributes & KB_LOOK_BOLD ? A_BOLD : 0;
    attributes |= look.attributes & KB_LOOK_DIM ? A_DIM : 0;
    attributes |= look.attributes & KB_LOOK_REVERSE ? A_REVERSE : 0;
    attributes |= look.attributes & KB_LOOK_UNDERLINE ? A_UNDERLINE : 0;
    wchar_t text[KB_MARKS + 2] = {(wchar_t)cell->code};
    for (int i = 0; i < KB_MARKS && cell->marks[i]; i++)
        text[i + 1] = (wchar_t)cell->marks[i];
    cchar_t c;
    if (setcchar(&c, text, attributes, t->colors ? pair_of(t, look.fg, look.bg) : 0, NULL) == OK)
        mvadd_wch(y, x, &c);
}

static void adopt_size(struct kb_terminal *t, const struct kb_grid *g)
{
    if (g->columns != COLS || g->rows != LINES)
        resizeterm(g->rows, g->columns);
    if (g->columns != t->shown.columns || g->rows != t->shown.rows) {
        kb_grid_free(&t->shown);
        kb_grid_init(&t->shown, g->columns, g->rows, false);
        t->fresh = true;
    }
}

void kb_terminal_draw(struct kb_terminal *t, const struct kb_grid *g)
{
    if (t->away || kb_terminal_busy(t))
        return;
    adopt_size(t, g);
    if (t->fresh) {
        erase();
        clearok(stdscr, TRUE);
    }
    for (int y = 0; y < g->rows; y++)
        for (int x = 0; x < g->columns; x++) {
            const struct kb_cell *cell = kb_grid_at(g, x, y);
            struct kb_cell *old = kb_grid_at(&t->shown, x, y);
            if ((t->fresh || !kb_cell_same(cell, old)) && cell->width)
                put_cell(t, x, y, cell);
            *old = *cell;
        }
    t->fresh = false;
    refresh();
    collect(t);
    kb_terminal_write(t);
}

void kb_terminal_redraw(struct kb_terminal *t)
{
    t->fresh = true;
}

void kb_terminal_leave(struct kb_terminal *t)
{
    if (t->away)
        return;
    endwin();
    collect(t);
    kb_text_add(&t->pending, modes_off);
    drain(t);
    kb_text_clear(&t->pending);
    t->sent = 0;
    set_modes(t, &t->shell);
    t->away = true;
}

void kb_terminal_enter(struct kb_terminal *t)
{
    set_modes(t, &t->raw);
    kb_text_add(&t->pending, modes_on);
    t->away = false;
    t->fresh = true;
}
