#include "tui/signals.h"
#include "base/memory.h"

#include <string.h>
#include <unistd.h>

static const int caught[] = {SIGWINCH, SIGCONT, SIGTSTP, SIGTERM, SIGHUP, SIGINT};
static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};
static volatile sig_atomic_t flags[NSIG];
static struct sigaction before[KB_COUNT(deadly)];
static struct {
    volatile sig_atomic_t fd;
    struct termios modes;
    char leave[512];
    size_t size;
} guarded = {.fd = -1};

static void note(int number)
{
    flags[number] = 1;
}

// Only calls that are safe in a signal handler. The old action then gets its turn (a sanitizer's report, a core dump).
static void die(int number)
{
    int fd = guarded.fd;
    guarded.fd = -1;
    if (fd >= 0) {
        ssize_t written = write(fd, guarded.leave, guarded.size);
        (void)written;
        tcsetattr(fd, TCSANOW, &guarded.modes);
    }
    for (size_t i = 0; i < KB_COUNT(deadly); i++)
        if (deadly[i] == number)
            sigaction(number, &before[i], NULL);
    raise(number);
}

void kb_signals_begin(sigset_t *inside)
{
    static char stack[64 * 1024];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, old;
    if (!sigaltstack(NULL, &old) && (old.ss_flags & SS_DISABLE))
        sigaltstack(&alternate, NULL);
    sigset_t block;
    sigemptyset(&block);
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < KB_COUNT(caught); i++) {
        sigaddset(&block, caught[i]);
        sigaction(caught[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &block, inside);
    for (size_t i = 0; i < KB_COUNT(caught); i++)
        sigdelset(inside, caught[i]);
    struct sigaction fatal = {.sa_handler = die, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigemptyset(&fatal.sa_mask);
    for (size_t i = 0; i < KB_COUNT(deadly); i++)
        sigaction(deadly[i], &fatal, &before[i]);
    signal(SIGPIPE, SIG_IGN);
}

bool kb_signal_take(int number)
{
    bool was = flags[number];
    flags[number] = 0;
    return was;
}

void kb_signals_stop_self(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL}, ours;
    sigset_t stop, mask;
    sigemptyset(&plain.sa_mask);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    sigaction(SIGTSTP, &plain, &ours);
    kill(0, SIGTSTP); // the whole foreground group: a script that started us stops too
    sigprocmask(SIG_UNBLOCK, &stop, &mask);
    // Stopped here, until SIGCONT. An orphaned process group is not stopped at all.
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGTSTP, &ours, NULL);
    flags[SIGTSTP] = 0;
}

void kb_signals_guard(int fd, const struct termios *modes, const char *leave, size_t size)
{
    guarded.fd = -1;
    if (fd < 0)
        return;
    guarded.modes = *modes;
    guarded.size = size < sizeof guarded.leave ? size : sizeof guarded.leave;
    memcpy(guarded.leave, leave, guarded.size);
    guarded.fd = fd;
}
