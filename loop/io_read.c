// The reading thread: watching, files, stored versions.
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/permission.h"
#include "loop/io_parts.h"
#include "watch/probe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct kb_io_lane *lane;
    struct kb_io *io;
    struct kb_watch *watch;
    int *sources; // what kb_io_watch returned for each index of watch
    size_t source_count, source_capacity;
    char *where;                // folder of the source that was added last
    struct kb_history *history; // NULL: there is none
};

static void add_source(struct reader *r, const struct kb_io_job *job)
{
    const char *const *names = (const char *const *)job->names;
    int before = job->dir_count + job->option_count;
    struct kb_reach reach = {names,          job->dir_count,          names + job->dir_count, job->option_count,
                             names + before, job->name_count - before};
    int index = kb_watch_add(r->watch, job->path, &reach, job->plain);
    while (r->source_count <= (size_t)index) {
        KB_GROW(r->sources, r->source_count, r->source_capacity);
        r->sources[r->source_count++] = -1;
    }
    r->sources[index] = job->source;
    free(r->where);
    r->where = kb_path_dir(job->path);
}

static void remove_source(struct reader *r, int source)
{
    for (size_t i = 0; i < r->source_count; i++)
        if (r->sources[i] == source)
            kb_watch_remove(r->watch, (int)i);
}

static void post_watch_events(struct reader *r)
{
    struct kb_io_message message = {.kind = KB_IO_WATCH};
    kb_io_busy(r->lane, kb_now_us(), r->where);
    while (kb_watch_next(r->watch, &message.event)) {
        if (message.event.source >= 0)
            message.event.source = r->sources[message.event.source];
        kb_io_post(r->io, &message);
        message.kind = KB_IO_WATCH;
        kb_io_busy(r->lane, kb_now_us(), r->where);
    }
    kb_io_idle(r->lane);
}

static void read_file(const struct kb_io_job *job, struct kb_io_message *m)
{
    struct kb_stamp stamp;
    m->kind = KB_IO_READ;
    m->failed = kb_probe_read(job->path, job->limit, &m->data, &m->size, &stamp, &m->error) != 0;
}

// The record and the wanted objects; those that the version does not have are left out.
static void load_version(struct reader *r, const struct kb_io_job *job, int version, struct kb_io_message *m)
{
    m->failed = kb_history_load(r->history, job->path, version, &m->json, &m->error) != 0;
    if (m->failed)
        return;
    m->blobs = kb_alloc((size_t)job->name_count * sizeof *m->blobs);
    for (int i = 0; i < job->name_count && !m->failed; i++) {
        const char *hash = kb_history_object_hash(m->json, job->names[i]);
        struct kb_io_blob blob = {0};
        if (!hash)
            continue;
        m->failed = kb_history_object(r->history, hash, &blob.data, &blob.size, &m->error) != 0;
        if (m->failed)
            return;
        blob.name = kb_strdup(job->names[i]);
        m->blobs[m->blob_count++] = blob;
    }
    m->version = version;
}

static void list_versions(struct reader *r, const struct kb_io_job *job, struct kb_io_message *m)
{
    int *versions = NULL, count = 0;
    m->kind = KB_IO_LISTED;
    m->failed = kb_history_list(r->history, job->path, &versions, &count, &m->error) != 0;
    m->json = cJSON_CreateArray();
    for (int i = 0; i < count; i++) {
        cJSON *record = NULL;
        if (!kb_history_load(r->history, job->path, versions[i], &record, NULL))
            cJSON_AddItemToArray(m->json, record);
    }
    free(versions);
}

static void ask_history(struct reader *r, const struct kb_io_job *job, struct kb_io_message *m)
{
    m->kind = job->task == KB_TASK_LIST ? KB_IO_LISTED : KB_IO_FOUND;
    if (!r->history) {
        m->failed = true;
        kb_fail(&m->error, NULL, NULL, "no history is kept");
        return;
    }
    if (job->task == KB_TASK_LIST) {
        list_versions(r, job, m);
        return;
    }
    int version = job->version;
    if (job->task == KB_TASK_FIND)
        version = kb_history_find(r->history, job->path, job->text);
    if (version > 0)
        load_version(r, job, version, m);
}

static void add_reads(const struct kb_permission *p, cJSON *out)
{
    kb_json_set_text(out, "reads", p->reads.hex);
    cJSON *names = cJSON_AddArrayToObject(out, "names");
    for (int i = 0; i < p->file_count; i++)
        cJSON_AddItemToArray(names, cJSON_CreateString(p->files[i].name));
    for (int i = 0; i < p->data_count; i++)
        cJSON_AddItemToArray(names, cJSON_CreateString(p->data[i]));
}

static void ask_permission(const struct kb_io_job *job, struct kb_io_message *m)
{
    struct kb_permission p;
    char **command = kb_alloc(((size_t)job->name_count + 1) * sizeof *command);
    for (int i = 0; i < job->name_count; i++)
        command[i] = job->names[i];
    m->kind = KB_IO_ASKED;
    m->failed = kb_permission_read(job->path, command, &p, &m->error) != 0;
    if (!m->failed) {
        m->known = p.given;
        m->json = cJSON_CreateObject();
        kb_permission_describe(&p, job->path, command, m->json);
        add_reads(&p, m->json);
        kb_permission_free(&p);
    }
    free(command);
}

static void run_job(struct reader *r, struct kb_io_job *job)
{
    struct kb_io_message message = {.token = job->token};
    bool is_file = job->task == KB_TASK_READ || job->task == KB_TASK_WATCH;
    kb_io_busy(r->lane, job->queued_us, is_file ? job->path : r->history ? kb_history_dir(r->history) : r->where);
    if (job->task == KB_TASK_WATCH) {
        add_source(r, job);
    } else if (job->task == KB_TASK_UNWATCH) {
        remove_source(r, job->source);
    } else {
        if (job->task == KB_TASK_READ)
            read_file(job, &message);
        else if (job->task == KB_TASK_ASK)
            ask_permission(job, &message);
        else
            ask_history(r, job, &message);
        kb_io_post(r->io, &message);
    }
    kb_io_job_free(job);
}

void *kb_io_read_lane(void *argument)
{
    struct kb_io_lane *lane = argument;
    struct reader r = {.lane = lane, .io = lane->io};
    r.watch = kb_watch_new(&r.io->watch_options);
    if (r.io->bench_dir)
        kb_history_open(r.io->bench_dir, false, &r.history, NULL);
    for (;;) {
        kb_io_clear_wake(lane->wake); // before the question, so that no answer is slept through
        if (kb_io_is_stopping(r.io))
            break;
        for (struct kb_io_job *job; (job = kb_io_take(lane));) {
            run_job(&r, job);
            post_watch_events(&r);
        }
        post_watch_events(&r);
        struct pollfd fds[2] = {{.fd = lane->wake, .events = POLLIN}, {.fd = kb_watch_fd(r.watch), .events = POLLIN}};
        if (poll(fds, 2, kb_watch_wait_ms(r.watch)) < 0 && errno != EINTR)
            break;
    }
    kb_io_idle(lane);
    kb_watch_free(r.watch);
    kb_history_close(r.history);
    free(r.sources);
    free(r.where);
    kb_io_lane_ended(lane);
    return NULL;
}
