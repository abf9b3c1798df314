#include "base/clock.h"
#include "base/memory.h"
#include "loop/io_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static void set_wake(int fd)
{
    uint64_t one = 1;
    // Can only fail where the counter is full: then it is set anyway.
    if (write(fd, &one, sizeof one) < 0)
        return;
}

void kb_io_clear_wake(int fd)
{
    uint64_t count;
    if (read(fd, &count, sizeof count) < 0)
        return; // it was clear
}

static char **copy_names(const char *const *names, int count)
{
    char **copy = kb_alloc((size_t)count * sizeof *copy);
    for (int i = 0; i < count; i++)
        copy[i] = kb_strdup(names[i]);
    return copy;
}

void kb_io_job_free(struct kb_io_job *job)
{
    for (int i = 0; i < job->name_count; i++)
        free(job->names[i]);
    for (int i = 0; i < job->blob_count; i++) {
        free(job->blobs[i].name);
        free(job->blobs[i].data);
    }
    free(job->names);
    free(job->blobs);
    free(job->path);
    free(job->text);
    cJSON_Delete(job->json);
    free(job);
}

void kb_io_message_free(struct kb_io_message *m)
{
    kb_watch_event_free(&m->event);
    free(m->git);
    cJSON_Delete(m->json);
    for (int i = 0; i < m->blob_count; i++) {
        free(m->blobs[i].name);
        free(m->blobs[i].data);
    }
    free(m->blobs);
    free(m->data);
    *m = (struct kb_io_message){0};
}

static void free_io(struct kb_io *io)
{
    struct kb_io_message message;
    while (kb_io_next(io, &message))
        kb_io_message_free(&message);
    for (int i = 0; i < KB_LANES; i++) {
        for (struct kb_io_job *job; (job = kb_io_take(&io->lanes[i]));)
            kb_io_job_free(job);
        if (io->lanes[i].wake >= 0)
            close(io->lanes[i].wake);
    }
    if (io->ready >= 0)
        close(io->ready);
    pthread_mutex_destroy(&io->mutex);
    free(io->bench_dir);
    free(io->stall);
    free(io);
}

struct kb_io_job *kb_io_take(struct kb_io_lane *lane)
{
    pthread_mutex_lock(&lane->io->mutex);
    struct kb_io_job *job = lane->first;
    if (job) {
        lane->first = job->next;
        lane->job_count--;
        lane->busy_since_us = job->queued_us;
    }
    if (!lane->first)
        lane->last = NULL;
    pthread_mutex_unlock(&lane->io->mutex);
    return job;
}

bool kb_io_is_stopping(struct kb_io *io)
{
    pthread_mutex_lock(&io->mutex);
    bool stopping = io->stopping;
    pthread_mutex_unlock(&io->mutex);
    return stopping;
}

void kb_io_busy(struct kb_io_lane *lane, int64_t since_us, const char *where)
{
    pthread_mutex_lock(&lane->io->mutex);
    lane->busy_since_us = since_us;
    if (where)
        snprintf(lane->where, sizeof lane->where, "%s", where);
    pthread_mutex_unlock(&lane->io->mutex);
}

void kb_io_idle(struct kb_io_lane *lane)
{
    pthread_mutex_lock(&lane->io->mutex);
    lane->busy_since_us = 0;
    pthread_mutex_unlock(&lane->io->mutex);
}

void kb_io_post(struct kb_io *io, struct kb_io_message *message)
{
    struct kb_io_answer *answer = kb_alloc(sizeof *answer);
    answer->message = *message;
    *message = (struct kb_io_message){0};
    pthread_mutex_lock(&io->mutex);
    if (io->last)
        io->last->next = answer;
    else
        io->first = answer;
    io->last = answer;
    set_wake(io->ready);
    pthread_mutex_unlock(&io->mutex);
}

void kb_io_lane_ended(struct kb_io_lane *lane)
{
    struct kb_io *io = lane->io;
    pthread_mutex_lock(&io->mutex);
    lane->ended = true;
    bool is_last = io->abandoned;
    for (int i = 0; i < KB_LANES; i++)
        is_last = is_last && io->lanes[i].ended;
    pthread_mutex_unlock(&io->mutex);
    if (is_last)
        free_io(io);
}

// Signals belong to the loop's thread.
static int start_threads(struct kb_io *io)
{
    static void *(*const bodies[KB_LANES])(void *) = {kb_io_read_lane, kb_io_write_lane};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int status = 0, started = 0;
    for (; !status && started < KB_LANES; started++)
        status = pthread_create(&io->lanes[started].thread, NULL, bodies[started], &io->lanes[started]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!status)
        return 0;
    for (int i = started - 1; i < KB_LANES; i++) {
        io->lanes[i].thread = 0;
        io->lanes[i].ended = true;
    }
    if (started > 1)
        kb_io_stop(io, 1000);
    else
        free_io(io);
    errno = status;
    return -1;
}

int kb_io_start(const struct kb_io_options *options, struct kb_io **out, struct kb_error *e)
{
    struct kb_io *io = kb_alloc(sizeof *io);
    pthread_mutex_init(&io->mutex, NULL);
    io->bench_dir = kb_strdup(options->bench_dir);
    const char *stall = getenv("KB_TEST_IO_STALL");
    io->stall = stall && *stall ? kb_strdup(stall) : NULL;
    io->watch_options = options->watch;
    io->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool has_all = io->ready >= 0;
    const char *bench_dir = options->bench_dir ? options->bench_dir : "";
    for (int i = 0; i < KB_LANES; i++) {
        io->lanes[i] = (struct kb_io_lane){.io = io, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        has_all = has_all && io->lanes[i].wake >= 0;
        snprintf(io->lanes[i].where, sizeof io->lanes[i].where, "%s%s", bench_dir,
                 i == KB_LANE_WRITE ? "/.kbench" : "");
    }
    *out = io;
    if (has_all && start_threads(io) == 0)
        return 0;
    int saved = errno;
    if (!has_all)
        free_io(io);
    *out = NULL;
    return kb_fail(e, NULL, NULL, "the io threads cannot be started: %s", strerror(saved));
}

bool kb_io_stop(struct kb_io *io, int timeout_ms)
{
    if (!io)
        return true;
    pthread_mutex_lock(&io->mutex);
    io->stopping = true;
    bool ended[KB_LANES];
    for (int i = 0; i < KB_LANES; i++) {
        ended[i] = io->lanes[i].ended && !io->lanes[i].thread; // was never started
        set_wake(io->lanes[i].wake);
    }
    pthread_mutex_unlock(&io->mutex);
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    int64_t ns = end.tv_nsec + (int64_t)timeout_ms * 1000000;
    end.tv_sec += ns / 1000000000;
    end.tv_nsec = ns % 1000000000;
    bool all = true;
    for (int i = 0; i < KB_LANES; i++) {
        if (!ended[i])
            ended[i] = pthread_timedjoin_np(io->lanes[i].thread, NULL, &end) == 0;
        all = all && ended[i];
    }
    if (all) {
        free_io(io);
        return true;
    }
    for (int i = 0; i < KB_LANES; i++)
        if (!ended[i])
            pthread_detach(io->lanes[i].thread);
    pthread_mutex_lock(&io->mutex);
    io->abandoned = true; // the last thread frees io
    bool too_late = io->lanes[KB_LANE_READ].ended && io->lanes[KB_LANE_WRITE].ended;
    pthread_mutex_unlock(&io->mutex);
    if (too_late)
        free_io(io);
    return false;
}

int kb_io_fd(const struct kb_io *io)
{
    return io->ready;
}

bool kb_io_next(struct kb_io *io, struct kb_io_message *out)
{
    pthread_mutex_lock(&io->mutex);
    struct kb_io_answer *answer = io->first;
    if (answer)
        io->first = answer->next;
    if (!io->first) {
        io->last = NULL;
        kb_io_clear_wake(io->ready);
    }
    pthread_mutex_unlock(&io->mutex);
    if (!answer)
        return false;
    *out = answer->message;
    free(answer);
    return true;
}

int kb_io_busy_ms(const struct kb_io *io, char *where, size_t size)
{
    struct kb_io *own = (struct kb_io *)io; // only the mutex changes
    int64_t oldest = 0;
    if (where && size)
        where[0] = 0;
    pthread_mutex_lock(&own->mutex);
    for (int i = 0; i < KB_LANES; i++) {
        const struct kb_io_lane *lane = &io->lanes[i];
        int64_t since = lane->busy_since_us ? lane->busy_since_us : lane->first ? lane->first->queued_us : 0;
        if (!since || (oldest && since >= oldest))
            continue;
        oldest = since;
        if (where && size)
            snprintf(where, size, "%s", lane->where);
    }
    pthread_mutex_unlock(&own->mutex);
    int64_t ms = oldest ? (kb_now_us() - oldest) / 1000 : 0;
    return oldest && !ms ? 1 : (int)ms;
}

static int64_t ask(struct kb_io *io, int lane_index, struct kb_io_job job)
{
    struct kb_io_job *own = kb_alloc(sizeof *own);
    struct kb_io_lane *lane = &io->lanes[lane_index];
    *own = job;
    own->queued_us = kb_now_us();
    pthread_mutex_lock(&io->mutex);
    int64_t token = own->token = ++io->next_token;
    if (lane->last)
        lane->last->next = own;
    else
        lane->first = own;
    lane->last = own;
    lane->job_count++;
    set_wake(lane->wake);
    pthread_mutex_unlock(&io->mutex);
    return token;
}

int kb_io_watch(struct kb_io *io, const char *path, const struct kb_reach *reach, bool plain)
{
    static const struct kb_reach nothing;
    const struct kb_reach *r = reach ? reach : &nothing;
    struct kb_io_job job = {
        .task = KB_TASK_WATCH, .source = io->next_source++, .plain = plain, .path = kb_strdup(path)};
    job.dir_count = r->include_dir_count;
    job.option_count = r->option_count;
    job.name_count = r->include_dir_count + r->option_count + r->define_count;
    job.names = kb_alloc(((size_t)job.name_count + 1) * sizeof *job.names);
    for (int i = 0; i < job.name_count; i++) {
        int option = i - r->include_dir_count, define = option - r->option_count;
        job.names[i] = kb_strdup(option < 0   ? r->include_dirs[i]
                                 : define < 0 ? r->options[option]
                                              : r->defines[define]);
    }
    ask(io, KB_LANE_READ, job);
    return job.source;
}

void kb_io_unwatch(struct kb_io *io, int source)
{
    ask(io, KB_LANE_READ, (struct kb_io_job){.task = KB_TASK_UNWATCH, .source = source});
}

int64_t kb_io_read(struct kb_io *io, const char *path, size_t limit)
{
    return ask(io, KB_LANE_READ, (struct kb_io_job){.task = KB_TASK_READ, .path = kb_strdup(path), .limit = limit});
}

int64_t kb_io_find(struct kb_io *io, const char *variant, const char *key, const char *const *objects, int count)
{
    return ask(io, KB_LANE_READ,
               (struct kb_io_job){.task = KB_TASK_FIND,
                                  .path = kb_strdup(variant),
                                  .text = kb_strdup(key),
                                  .names = copy_names(objects, count),
                                  .name_count = count});
}

int64_t kb_io_load(struct kb_io *io, const char *variant, int version, const char *const *objects, int count)
{
    return ask(io, KB_LANE_READ,
               (struct kb_io_job){.task = KB_TASK_LOAD,
                                  .path = kb_strdup(variant),
                                  .version = version,
                                  .names = copy_names(objects, count),
                                  .name_count = count});
}

int64_t kb_io_list(struct kb_io *io, const char *variant)
{
    return ask(io, KB_LANE_READ, (struct kb_io_job){.task = KB_TASK_LIST, .path = kb_strdup(variant)});
}

static struct kb_io_blob *copy_objects(const struct kb_history_object *objects, int count)
{
    struct kb_io_blob *copy = kb_alloc((size_t)count * sizeof *copy);
    for (int i = 0; i < count; i++) {
        copy[i] = (struct kb_io_blob){kb_strdup(objects[i].name), kb_alloc(objects[i].size + 1), objects[i].size};
        if (objects[i].size)
            memcpy(copy[i].data, objects[i].data, objects[i].size);
    }
    return copy;
}

int64_t kb_io_claim(struct kb_io *io, const char *variant, cJSON *record, const struct kb_history_object *objects,
                    int count)
{
    return ask(io, KB_LANE_WRITE,
               (struct kb_io_job){.task = KB_TASK_CLAIM,
                                  .path = kb_strdup(variant),
                                  .json = record,
                                  .blobs = copy_objects(objects, count),
                                  .blob_count = count});
}

int64_t kb_io_update(struct kb_io *io, const char *variant, int version, cJSON *results,
                     const struct kb_history_object *objects, int count)
{
    return ask(io, KB_LANE_WRITE,
               (struct kb_io_job){.task = KB_TASK_UPDATE,
                                  .path = kb_strdup(variant),
                                  .version = version,
                                  .json = results,
                                  .blobs = copy_objects(objects, count),
                                  .blob_count = count});
}

static bool is_flooded(struct kb_io *io, bool *newly)
{
    pthread_mutex_lock(&io->mutex);
    bool flooded = io->lanes[KB_LANE_WRITE].job_count >= KB_IO_MAX_WAITING;
    *newly = flooded && !io->flooded;
    io->flooded = flooded;
    pthread_mutex_unlock(&io->mutex);
    return flooded;
}

void kb_io_session_line(struct kb_io *io, const char *line)
{
    bool newly;
    if (is_flooded(io, &newly)) {
        struct kb_io_message message = {.kind = KB_IO_WRITTEN, .failed = true};
        kb_fail(&message.error, io->bench_dir, "look at that disk",
                "%d writes are waiting: events are left out of the session file", KB_IO_MAX_WAITING);
        if (newly)
            kb_io_post(io, &message);
        return;
    }
    ask(io, KB_LANE_WRITE, (struct kb_io_job){.task = KB_TASK_SESSION_LINE, .text = kb_strdup(line)});
}

int64_t kb_io_errors(struct kb_io *io, const char *text)
{
    return ask(io, KB_LANE_WRITE, (struct kb_io_job){.task = KB_TASK_ERRORS, .text = kb_strdup(text)});
}

int64_t kb_io_seeds(struct kb_io *io, const char *text)
{
    return ask(io, KB_LANE_WRITE, (struct kb_io_job){.task = KB_TASK_SEEDS, .text = kb_strdup(text)});
}

int64_t kb_io_create(struct kb_io *io, const char *path, const char *text, bool numbered)
{
    return ask(io, KB_LANE_WRITE,
               (struct kb_io_job){
                   .task = KB_TASK_CREATE, .path = kb_strdup(path), .text = kb_strdup(text), .numbered = numbered});
}

int64_t kb_io_allow(struct kb_io *io, const char *dir, char *const *command, const char *hash)
{
    int count = 0;
    while (command[count])
        count++;
    return ask(io, KB_LANE_WRITE,
               (struct kb_io_job){.task = KB_TASK_ALLOW,
                                  .path = kb_strdup(dir),
                                  .text = kb_strdup(hash),
                                  .names = copy_names((const char *const *)command, count),
                                  .name_count = count});
}

int64_t kb_io_ask(struct kb_io *io, const char *dir, char *const *command)
{
    int count = 0;
    while (command[count])
        count++;
    return ask(io, KB_LANE_READ,
               (struct kb_io_job){.task = KB_TASK_ASK,
                                  .path = kb_strdup(dir),
                                  .names = copy_names((const char *const *)command, count),
                                  .name_count = count});
}
