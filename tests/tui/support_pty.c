#include "tui/support_pty.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "tui/cell.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

enum { WAIT_MS = 30000, TAIL = 4096 };

struct pty {
    int fd;
    pid_t pid;
    VTerm *term;
    VTermScreen *screen;
    int columns, rows;
    bool alternate, ended;
    size_t bytes;
    char tail[TAIL + 1];
};

static int on_property(VTermProp property, VTermValue *value, void *context)
{
    struct pty *p = context;
    if (property == VTERM_PROP_ALTSCREEN)
        p->alternate = value->boolean;
    return 1;
}

static const VTermScreenCallbacks callbacks = {.settermprop = on_property};

static void set_environment(const char *const *env)
{
    for (; env && *env; env++) {
        if (strchr(*env, '='))
            putenv(kb_strdup(*env));
        else
            unsetenv(*env);
    }
}

struct pty *pty_start(char *const argv[], int columns, int rows, const char *const *env)
{
    struct pty *p = kb_alloc(sizeof *p);
    struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
    *p = (struct pty){.columns = columns, .rows = rows};
    p->term = vterm_new(rows < 1 ? 1 : rows, columns < 1 ? 1 : columns);
    vterm_set_utf8(p->term, 1);
    p->screen = vterm_obtain_screen(p->term);
    vterm_screen_set_callbacks(p->screen, &callbacks, p);
    vterm_screen_enable_altscreen(p->screen, 1);
    vterm_screen_reset(p->screen, 1);
    p->pid = forkpty(&p->fd, NULL, NULL, &size);
    if (p->pid == 0) {
        setenv("TERM", "xterm-256color", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        unsetenv("NO_COLOR");
        set_environment(env);
        execvp(argv[0], argv);
        _exit(127);
    }
    return p;
}

void pty_end(struct pty *p)
{
    if (!p->ended) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
    }
    if (p->fd >= 0)
        close(p->fd);
    vterm_free(p->term);
    free(p);
}

pid_t pty_pid(const struct pty *p)
{
    return p->pid;
}

int pty_fd(const struct pty *p)
{
    return p->fd;
}

bool pty_hang_up(struct pty *p, int *status)
{
    close(p->fd);
    p->fd = -1;
    for (int64_t end = kb_now_us() + WAIT_MS * 1000LL; kb_now_us() < end; usleep(1000))
        if (waitpid(p->pid, status, WNOHANG) == p->pid) {
            p->ended = true;
            return true;
        }
    return false;
}

void pty_send(struct pty *p, const char *bytes)
{
    for (size_t n = strlen(bytes); n;) {
        ssize_t sent = write(p->fd, bytes, n);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return;
        if (sent < 0)
            continue;
        bytes += sent;
        n -= (size_t)sent;
    }
}

void pty_resize(struct pty *p, int columns, int rows)
{
    struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
    p->columns = columns;
    p->rows = rows;
    vterm_set_size(p->term, rows < 1 ? 1 : rows, columns < 1 ? 1 : columns);
    ioctl(p->fd, TIOCSWINSZ, &size);
}

static void keep_tail(struct pty *p, const char *bytes, size_t n)
{
    size_t old = strlen(p->tail);
    if (n > TAIL) {
        bytes += n - TAIL;
        n = TAIL;
    }
    if (old + n > TAIL) {
        size_t drop = old + n - TAIL;
        memmove(p->tail, p->tail + drop, old - drop + 1);
        old -= drop;
    }
    for (size_t i = 0; i < n; i++)
        p->tail[old + i] = bytes[i] ? bytes[i] : '?';
    p->tail[old + n] = 0;
}

void pty_pump(struct pty *p, int ms)
{
    char buffer[16384];
    struct pollfd fd = {.fd = p->fd, .events = POLLIN};
    if (poll(&fd, 1, ms) <= 0)
        return;
    ssize_t n = read(p->fd, buffer, sizeof buffer);
    if (n <= 0) {
        usleep(1000); // it hung up: waitpid tells the rest
        return;
    }
    p->bytes += (size_t)n;
    keep_tail(p, buffer, (size_t)n);
    vterm_input_write(p->term, buffer, (size_t)n);
    vterm_screen_flush_damage(p->screen);
    size_t answer = vterm_output_read(p->term, buffer, sizeof buffer);
    if (answer && write(p->fd, buffer, answer) < 0)
        return;
}

static void add_row(struct pty *p, struct kb_text *out, int y)
{
    size_t used = out->size;
    for (int x = 0; x < p->columns;) {
        VTermScreenCell cell;
        vterm_screen_get_cell(p->screen, (VTermPos){y, x}, &cell);
        if (!cell.chars[0])
            kb_text_add(out, " ");
        for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i] && cell.chars[i] != (uint32_t)-1; i++) {
            char utf8[5];
            kb_text_bytes(out, utf8, kb_code_utf8(cell.chars[i], utf8));
        }
        if (cell.chars[0] && cell.chars[0] != ' ')
            used = out->size;
        x += cell.width > 1 ? cell.width : 1;
    }
    out->size = used;
    kb_text_add(out, "\n");
}

char *pty_screen(struct pty *p)
{
    struct kb_text out = {0};
    for (int y = 0; y < p->rows; y++)
        add_row(p, &out, y);
    return kb_text_take(&out);
}

// Half of a frame lacks what stands in its other half: what is gone counts only when nothing more comes.
static bool wait_for(struct pty *p, const char *text, bool present)
{
    int64_t end = kb_now_us() + WAIT_MS * 1000LL;
    char *screen = pty_screen(p);
    bool found = present && strstr(screen, text);
    while (!found && kb_now_us() < end) {
        size_t before = p->bytes;
        pty_pump(p, 20);
        free(screen);
        screen = pty_screen(p);
        found = present ? strstr(screen, text) != NULL : p->bytes == before && !strstr(screen, text);
    }
    if (!found)
        fprintf(stderr, "%s \"%s\" in:\n%s", present ? "no" : "still", text, screen);
    free(screen);
    return found;
}

bool pty_wait(struct pty *p, const char *text)
{
    return wait_for(p, text, true);
}

bool pty_wait_gone(struct pty *p, const char *text)
{
    return wait_for(p, text, false);
}

bool pty_wait_screen(struct pty *p, const char *whole)
{
    int64_t end = kb_now_us() + WAIT_MS * 1000LL;
    char *screen = pty_screen(p);
    while (strcmp(screen, whole) && kb_now_us() < end) {
        pty_pump(p, 20);
        free(screen);
        screen = pty_screen(p);
    }
    bool same = !strcmp(screen, whole);
    if (!same)
        fprintf(stderr, "the screen is:\n%s\nand should be:\n%s", screen, whole);
    free(screen);
    return same;
}

bool pty_wait_exit(struct pty *p, int *status)
{
    int64_t end = kb_now_us() + WAIT_MS * 1000LL;
    while (kb_now_us() < end) {
        pty_pump(p, 20);
        if (waitpid(p->pid, status, WNOHANG) == p->pid) {
            p->ended = true;
            struct pollfd fd = {.fd = p->fd, .events = POLLIN};
            while (poll(&fd, 1, 0) > 0 && (fd.revents & POLLIN))
                pty_pump(p, 0);
            return true;
        }
    }
    return false;
}

bool pty_sane(const struct pty *p)
{
    struct termios t;
    if (tcgetattr(p->fd, &t))
        return false;
    return (t.c_lflag & ECHO) && (t.c_lflag & ICANON) && (t.c_lflag & ISIG) && (t.c_oflag & OPOST) &&
           (t.c_iflag & ICRNL);
}

bool pty_alternate(const struct pty *p)
{
    return p->alternate;
}

size_t pty_bytes(const struct pty *p)
{
    return p->bytes;
}

const char *pty_tail(const struct pty *p)
{
    return p->tail;
}
