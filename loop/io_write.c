// The writing thread: the history.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/permission.h"
#include "loop/io_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct writer {
    struct kb_io_lane *lane;
    struct kb_io *io;
    struct kb_history *history; // NULL: not open
    char *told;                 // the last failure; NULL: none since the last success
};

// Tried again with each request: a disk may have room again, a mount may be back.
static int open_history(struct writer *w, struct kb_error *e)
{
    if (w->history)
        return 0;
    if (!w->io->bench_dir)
        return kb_fail(e, NULL, NULL, "no history is kept");
    return kb_history_open(w->io->bench_dir, true, &w->history, e);
}

static void claim(struct writer *w, struct kb_io_job *job, struct kb_io_message *m)
{
    m->kind = KB_IO_CLAIMED;
    m->git = kb_history_git(w->io->bench_dir);
    kb_json_set_text(job->json, "git", m->git);
    if (!m->git)
        kb_json_set_text(job->json, "git_reason", "the bench is in no git repository, or it has no commit yet");
    struct kb_history_object *objects = kb_alloc((size_t)job->blob_count * sizeof *objects);
    for (int i = 0; i < job->blob_count; i++)
        objects[i] = (struct kb_history_object){job->blobs[i].name, job->blobs[i].data, job->blobs[i].size};
    int n = kb_history_claim(w->history, job->path, job->json, objects, job->blob_count, &m->known, &m->error);
    m->failed = n < 0;
    m->version = n < 0 ? 0 : n;
    free(objects);
}

static void update(struct writer *w, const struct kb_io_job *job, struct kb_io_message *m)
{
    m->kind = KB_IO_UPDATED;
    m->version = job->version;
    struct kb_history_object *objects = kb_alloc((size_t)job->blob_count * sizeof *objects);
    for (int i = 0; i < job->blob_count; i++)
        objects[i] = (struct kb_history_object){job->blobs[i].name, job->blobs[i].data, job->blobs[i].size};
    m->failed =
        kb_history_update(w->history, job->path, job->version, job->json, objects, job->blob_count, &m->error) != 0;
    free(objects);
}

enum { MOST_NUMBERED = 999, MOST_COMPARED = 64 << 20 };

static bool holds(const char *path, const char *text)
{
    char *data = NULL;
    size_t size = 0;
    bool same = kb_is_file(path) && !kb_file_read(path, MOST_COMPARED, &data, &size, NULL) && !strcmp(data, text);
    free(data);
    return same;
}

// "dir/name.cu", then "dir/name-2.cu"; owned.
static char *numbered(const char *path, int n)
{
    const char *dot = strrchr(kb_path_base(path), '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    return n == 1 ? kb_strdup(path) : kb_format("%.*s-%d%s", (int)stem, path, n, dot ? dot : "");
}

static void create_file(const struct kb_io_job *job, struct kb_io_message *m)
{
    char *dir = kb_path_dir(job->path);
    bool made = !kb_make_dirs(dir, &m->error);
    m->kind = KB_IO_CREATED;
    m->failed = true;
    for (int n = 1; made && m->failed && n <= (job->numbered ? MOST_NUMBERED : 1); n++) {
        char *path = numbered(job->path, n);
        bool written = !kb_file_create(path, job->text, strlen(job->text), &m->error), taken = errno == EEXIST;
        m->failed = !written && !(taken && holds(path, job->text));
        if (!m->failed)
            m->data = kb_strdup(path);
        else if (taken)
            kb_fail(&m->error, path, "name another file, or remove that one", "there is such a file: it is left alone");
        free(path);
        made = taken;
    }
    m->size = m->data ? strlen(m->data) : 0;
    free(dir);
}

static void allow(const struct kb_io_job *job, struct kb_io_message *m)
{
    struct kb_permission p;
    char **command = kb_alloc(((size_t)job->name_count + 1) * sizeof *command);
    for (int i = 0; i < job->name_count; i++)
        command[i] = job->names[i];
    m->kind = KB_IO_ALLOWED;
    m->failed = kb_permission_read(job->path, command, &p, &m->error) != 0;
    if (!m->failed && strcmp(p.hash.hex, job->text))
        m->failed = kb_fail(&m->error, job->path, "look at it again", "it has changed since it was shown") != 0;
    m->failed = m->failed || kb_permission_give(&p, &m->error);
    kb_permission_free(&p);
    free(command);
}

static void write_job(struct writer *w, struct kb_io_job *job, struct kb_io_message *m)
{
    m->kind = job->task == KB_TASK_CLAIM ? KB_IO_CLAIMED : job->task == KB_TASK_UPDATE ? KB_IO_UPDATED : KB_IO_WRITTEN;
    if (job->task == KB_TASK_CREATE || job->task == KB_TASK_ALLOW) {
        (job->task == KB_TASK_CREATE ? create_file : allow)(job, m);
        return;
    }
    m->failed = open_history(w, &m->error) != 0;
    if (m->failed)
        return;
    if (job->task == KB_TASK_CLAIM)
        claim(w, job, m);
    else if (job->task == KB_TASK_UPDATE)
        update(w, job, m);
    else if (job->task == KB_TASK_ERRORS)
        m->failed = kb_history_write_errors(w->history, job->text, &m->error) != 0;
    else if (job->task == KB_TASK_SEEDS)
        m->failed = kb_history_write_seeds(w->history, job->text, &m->error) != 0;
    else
        m->failed = kb_history_session_line(w->history, job->text, &m->error) != 0;
}

static void note_failure(struct writer *w, struct kb_io_message *m)
{
    const char *line = m->failed ? kb_error_line(&m->error) : NULL;
    m->repeated = line && w->told && !strcmp(line, w->told);
    if (m->repeated)
        return;
    free(w->told);
    w->told = kb_strdup(line);
}

static void wait_while_stalled(const struct kb_io *io)
{
    while (io->stall && access(io->stall, F_OK) == 0)
        poll(NULL, 0, 5);
}

static void run_job(struct writer *w, struct kb_io_job *job)
{
    struct kb_io_message message = {.token = job->token};
    kb_io_busy(w->lane, job->queued_us, NULL);
    wait_while_stalled(w->io);
    write_job(w, job, &message);
    note_failure(w, &message);
    if (job->task != KB_TASK_SESSION_LINE || (message.failed && !message.repeated))
        kb_io_post(w->io, &message);
    else
        kb_io_message_free(&message);
    kb_io_job_free(job);
    kb_io_idle(w->lane);
}

void *kb_io_write_lane(void *argument)
{
    struct kb_io_lane *lane = argument;
    struct writer w = {.lane = lane, .io = lane->io};
    for (;;) {
        kb_io_clear_wake(lane->wake);        // before the question, so that no answer is slept through
        bool last = kb_io_is_stopping(w.io); // what was asked before the end is still written
        for (struct kb_io_job *job; (job = kb_io_take(lane));)
            run_job(&w, job);
        if (last)
            break;
        poll(&(struct pollfd){.fd = lane->wake, .events = POLLIN}, 1, -1);
    }
    kb_history_close(w.history);
    free(w.told);
    kb_io_lane_ended(lane);
    return NULL;
}
