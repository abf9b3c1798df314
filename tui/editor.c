#include "tui/editor.h"
#include "base/memory.h"
#include "base/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *editor_name(void)
{
    const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");
    return visual && *visual ? visual : editor && *editor ? editor : "vi";
}

// The child: default signals, then a shell, because the variable may hold words ("code -w").
static void run_editor(const char *file, int line)
{
    char command[1024], place[32];
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    snprintf(command, sizeof command, "exec %s \"$@\"", editor_name());
    snprintf(place, sizeof place, "+%d", line < 1 ? 1 : line);
    execl("/bin/sh", "sh", "-c", command, "sh", place, file, (char *)NULL);
    _exit(127);
}

pid_t kb_editor_start(const char *file, int line, int *pidfd, struct kb_error *e)
{
    char *found = strcmp(editor_name(), "vi") ? kb_strdup("") : kb_which("vi");
    if (!found)
        return kb_fail(e, NULL, "set $VISUAL or $EDITOR", "there is no vi, and no editor is set");
    free(found);
    pid_t pid = fork();
    if (pid == 0)
        run_editor(file, line);
    if (pid < 0)
        return kb_fail(e, editor_name(), NULL, "the editor could not be started: %s", strerror(errno));
    *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (*pidfd < 0) { // an old kernel: wait here
        int saved = errno;
        waitpid(pid, NULL, 0);
        return kb_fail(e, editor_name(), NULL, "pidfd_open: %s", strerror(saved));
    }
    return pid;
}
