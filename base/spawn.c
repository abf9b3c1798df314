#include "base/spawn.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int s = 1; s < NSIG; s++)
        sigaction(s, &plain, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// Only async-signal-safe calls from here to exec: the parent may have threads.
static void become_child(char *const argv[], const char *dir, const int *fds, int n, int report, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    int moved[16];
    for (int i = 0; i < n; i++) { // out of the way of the targets first
        int fd = fds[i] >= 0 ? fds[i] : open("/dev/null", O_RDWR);
        moved[i] = fcntl(fd, F_DUPFD_CLOEXEC, 64);
    }
    report = fcntl(report, F_DUPFD_CLOEXEC, 96);
    for (int i = 0; i < n; i++)
        dup2(moved[i], i);
    close_range((unsigned)n, (unsigned)report - 1, 0);
    close_range((unsigned)report + 1, ~0u, 0);
    reset_signals();
    if (!dir || chdir(dir) == 0)
        execvp(argv[0], argv);
    int code = errno;
    if (write(report, &code, sizeof code) < 0)
        _exit(126);
    _exit(127);
}

pid_t kb_spawn(char *const argv[], const char *dir, const int *fds, int n, struct kb_error *e)
{
    int report[2];
    if (n > 16 || pipe2(report, O_CLOEXEC))
        return kb_fail(e, argv[0], NULL, "cannot start: %s", n > 16 ? "too many descriptors" : strerror(errno));
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_child(argv, dir, fds, n, report[1], parent);
    int fork_error = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(report[1]);
    int code = pid < 0 ? fork_error : 0;
    ssize_t got = 0;
    while (pid > 0 && (got = read(report[0], &code, sizeof code)) < 0 && errno == EINTR)
        ;
    if (pid > 0 && got == sizeof code) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        pid = -1;
    }
    close(report[0]);
    if (pid < 0)
        kb_fail(e, argv[0], NULL, "cannot start: %s", strerror(code));
    return pid;
}

struct stream {
    int fd;
    struct kb_text *text;
};

static void drain(struct stream *s, size_t limit, bool *cut)
{
    char buffer[1 << 16];
    ssize_t n = read(s->fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0) {
        close(s->fd);
        s->fd = -1;
        return;
    }
    size_t room = limit > s->text->size ? limit - s->text->size : 0;
    if ((size_t)n > room)
        *cut = true;
    kb_text_bytes(s->text, buffer, (size_t)n < room ? (size_t)n : room);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

// Reads until the program has ended and the pipes hold nothing more. Both count: a program may close its pipes and go
// on, and one that it left behind may keep them open for ever. The end of the pipes is nearly always its end too, so
// looking now and then is enough.
static void collect(pid_t pid, struct stream streams[2], int timeout_ms, size_t limit, bool (*stop)(void *context),
                    void *context, struct kb_capture *r)
{
    int64_t end = kb_now_us() + (int64_t)timeout_ms * 1000;
    while (!r->cut) {
        bool ended = has_ended(pid), is_open = streams[0].fd >= 0 || streams[1].fd >= 0;
        int64_t left = (end - kb_now_us() + 999) / 1000, slice = ended ? 0 : !is_open ? 1 : stop ? 5 : 50;
        if (left <= 0) {
            r->timed_out = !ended;
            break;
        }
        if (stop && !ended && stop(context)) {
            r->stopped = true;
            break;
        }
        struct pollfd polls[2] = {{streams[0].fd, POLLIN, 0}, {streams[1].fd, POLLIN, 0}};
        int ready = poll(polls, 2, (int)(left < slice ? left : slice));
        if (ready == 0 && ended)
            break;
        for (int i = 0; i < 2; i++)
            if (ready > 0 && polls[i].revents)
                drain(&streams[i], limit, &r->cut);
    }
    if (r->timed_out || r->cut || r->stopped)
        kill(-pid, SIGKILL);
    for (int i = 0; i < 2; i++)
        if (streams[i].fd >= 0)
            close(streams[i].fd);
}

int kb_capture(char *const argv[], const char *dir, int timeout_ms, size_t limit, struct kb_capture *r,
               struct kb_error *e)
{
    return kb_capture_while(argv, dir, timeout_ms, limit, NULL, NULL, r, e);
}

int kb_capture_while(char *const argv[], const char *dir, int timeout_ms, size_t limit, bool (*stop)(void *context),
                     void *context, struct kb_capture *r, struct kb_error *e)
{
    *r = (struct kb_capture){0};
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC))
        return kb_fail(e, argv[0], NULL, "cannot start: %s", strerror(errno));
    if (pipe2(err, O_CLOEXEC)) {
        close(out[0]), close(out[1]);
        return kb_fail(e, argv[0], NULL, "cannot start: %s", strerror(errno));
    }
    pid_t pid = kb_spawn(argv, dir, (int[]){-1, out[1], err[1]}, 3, e);
    close(out[1]), close(err[1]);
    struct stream streams[2] = {{out[0], &r->out}, {err[0], &r->err}};
    if (pid < 0) {
        close(out[0]), close(err[0]);
        return -1;
    }
    collect(pid, streams, timeout_ms, limit, stop, context, r);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    r->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return 0;
}

void kb_capture_free(struct kb_capture *r)
{
    kb_text_free(&r->out);
    kb_text_free(&r->err);
}

char *kb_which(const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 && kb_is_file(name) ? kb_strdup(name) : NULL;
    while (path && *path) {
        size_t n = strcspn(path, ":");
        char *dir = kb_strndup(path, n), *file = kb_path_join(n ? dir : ".", name);
        free(dir);
        if (access(file, X_OK) == 0 && kb_is_file(file))
            return file;
        free(file);
        path += n + (path[n] == ':');
    }
    return NULL;
}
