#include "worker/frames.h"

#include "base/json.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVENTS_FD = 3, LOG_LINES_MAX = 4000, LOG_FRAME_BYTES = 24 << 10 };

static struct {
    int in, out;
    struct kb_frame_reader *reader;
    struct kb_frame next;
    bool has_next, ended, broken;
    struct kb_error error;
    pthread_mutex_t sending;
    int64_t sequence;
    const char *log_source;
    pthread_t capture;
    int capture_fd; // read end of what descriptors 1 and 2 write; -1 without capture
} channel = {.in = 0, .out = EVENTS_FD, .sending = PTHREAD_MUTEX_INITIALIZER, .capture_fd = -1};

static void *forward_output(void *unused)
{
    char buffer[1 << 14];
    ssize_t n;
    while ((n = read(channel.capture_fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            kb_worker_log(0, channel.log_source, buffer, (size_t)n);
    return unused;
}

// Frames move to a copy of descriptor 1, then 1 and 2 become a pipe that a thread reads.
static int capture_output(struct kb_error *e)
{
    int ends[2];
    channel.out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (channel.out < 0 || pipe2(ends, O_CLOEXEC))
        return kb_fail(e, NULL, NULL, "cannot set up the output: %s", strerror(errno));
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    channel.capture_fd = ends[0];
    if (pthread_create(&channel.capture, NULL, forward_output, NULL))
        return kb_fail(e, NULL, NULL, "cannot start a thread: %s", strerror(errno));
    return 0;
}

int kb_worker_open(bool stdio, const char *log_source, struct kb_error *e)
{
    signal(SIGPIPE, SIG_IGN);
    channel.reader = kb_frame_reader_new();
    channel.log_source = log_source;
    if (stdio)
        return capture_output(e);
    if (fcntl(EVENTS_FD, F_GETFD) < 0)
        return kb_fail(e, "descriptor 3", "kbench-tui starts this program; by hand use --stdio",
                       "is not open: events have nowhere to go");
    fcntl(EVENTS_FD, F_SETFD, FD_CLOEXEC); // tools started from here must not hold it open
    return 0;
}

void kb_worker_close(void)
{
    if (channel.capture_fd >= 0) {
        int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
        fflush(NULL);
        dup2(nothing, STDOUT_FILENO); // the pipe's last writers go, so the thread sees its end
        dup2(nothing, STDERR_FILENO);
        close(nothing);
        pthread_join(channel.capture, NULL);
        close(channel.capture_fd);
        channel.capture_fd = -1;
    }
    if (channel.has_next)
        kb_frame_free(&channel.next);
    channel.has_next = false;
    kb_frame_reader_free(channel.reader);
    channel.reader = NULL;
}

// Moves one frame from the reader to `next` if there is one.
static void advance(void)
{
    if (channel.has_next || channel.broken)
        return;
    int got = kb_frame_reader_next(channel.reader, &channel.next, &channel.error);
    channel.has_next = got == 1;
    channel.broken = got < 0;
}

static void read_some(int timeout_ms)
{
    struct pollfd p = {channel.in, POLLIN, 0};
    char buffer[1 << 16];
    if (poll(&p, 1, timeout_ms) <= 0)
        return;
    ssize_t n = read(channel.in, buffer, sizeof buffer);
    if (n > 0)
        kb_frame_reader_feed(channel.reader, buffer, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        channel.ended = true;
}

int kb_worker_read(struct kb_frame *f, struct kb_error *e)
{
    for (advance(); !channel.has_next && !channel.broken && !channel.ended; advance())
        read_some(-1);
    if (channel.has_next) {
        *f = channel.next;
        channel.has_next = false;
        return 1;
    }
    if (channel.broken && e)
        *e = channel.error;
    return channel.broken ? -1 : 0;
}

const struct kb_frame *kb_worker_peek(void)
{
    int waiting = 1; // bytes that lie in the pipe are fetched, so that a large blob cannot hide what is behind it
    for (advance(); !channel.has_next && !channel.broken && !channel.ended && waiting > 0; advance()) {
        struct pollfd p = {channel.in, POLLIN, 0};
        waiting = poll(&p, 1, 0);
        if (waiting > 0)
            read_some(0);
    }
    return channel.has_next ? &channel.next : NULL;
}

bool kb_worker_pending(void)
{
    return kb_worker_peek() || channel.broken || channel.ended;
}

static bool write_all(const char *data, size_t size)
{
    while (size) {
        ssize_t n = write(channel.out, data, size);
        if (n < 0 && errno == EAGAIN) { // the other side may have made the pipe non-blocking
            struct pollfd p = {channel.out, POLLOUT, 0};
            poll(&p, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

void kb_worker_send(cJSON *head, const void *blob, size_t blob_size)
{
    struct kb_text out = {0};
    struct kb_error error = {0};
    pthread_mutex_lock(&channel.sending);
    kb_json_set_number(head, "seq", (double)++channel.sequence);
    int64_t job = kb_json_int(head, "job", 0);
    if (kb_frame_encode(&out, head, blob, blob_size, &error)) { // the job goes on, and somebody hears of it
        cJSON *log = kb_frame_head("log", job);
        kb_json_set_text(log, "source", channel.log_source);
        kb_json_set_text(log, "text", kb_error_line(&error));
        kb_json_set_number(log, "seq", (double)channel.sequence);
        kb_frame_encode(&out, log, NULL, 0, NULL);
    }
    bool sent = write_all(out.data, out.size);
    pthread_mutex_unlock(&channel.sending);
    kb_text_free(&out);
    if (!sent)
        exit(0); // nobody is left to work for; atexit cleans up
}

static cJSON *outcome(const char *type, int64_t job, const struct kb_worker_end *end)
{
    cJSON *head = kb_frame_head(type, job);
    kb_json_set_text(head, "status", end->status);
    kb_worker_set_clean(head, "reason", end->reason, 2000);
    if (end->fault_of)
        kb_json_set_text(head, "fault_of", end->fault_of);
    return head;
}

void kb_worker_end(int64_t job, const struct kb_worker_end *end)
{
    if (end->rung) {
        cJSON *head = outcome("rung", job, end);
        kb_json_set_text(head, "rung", end->rung);
        kb_json_measured(head, "ms", end->ms, end->ms < 0 ? "not finished" : NULL);
        if (end->not_tried)
            kb_json_set(head, "not_tried", cJSON_Duplicate(end->not_tried, true));
        kb_worker_send(head, NULL, 0);
    }
    cJSON *head = outcome("done", job, end);
    kb_json_set_bool(head, "poisoned", end->poisoned);
    kb_worker_send(head, NULL, 0);
}

void kb_worker_rung(int64_t job, const char *rung, const char *status, double ms, const char *reason)
{
    const struct kb_worker_end end = {.status = status, .reason = reason};
    cJSON *head = outcome("rung", job, &end);
    kb_json_set_text(head, "rung", rung);
    kb_json_measured(head, "ms", ms, ms < 0 ? "not finished" : NULL);
    kb_worker_send(head, NULL, 0);
}

void kb_worker_done(int64_t job, const char *status, const char *reason, bool poisoned)
{
    kb_worker_end(job, &(struct kb_worker_end){.status = status, .reason = reason, .poisoned = poisoned});
}

void kb_worker_set_clean(cJSON *object, const char *key, const char *text, size_t limit)
{
    if (!text) {
        kb_json_set_text(object, key, NULL);
        return;
    }
    struct kb_text clean = {0};
    size_t size = strlen(text), taken = size < limit ? size : limit;
    while (taken < size && taken && ((unsigned char)text[taken] & 0xc0) == 0x80)
        taken--; // not through a character
    kb_clean(&clean, text, taken, false);
    if (taken < size)
        kb_text_addf(&clean, " ... (%zu bytes left out)", size - taken);
    kb_json_set_text(object, key, clean.data ? clean.data : "");
    kb_text_free(&clean);
}

static void send_log(int64_t job, const char *source, const char *text, size_t size, long dropped)
{
    struct kb_text clean = {0};
    kb_clean(&clean, text, size, false);
    cJSON *head = kb_frame_head("log", job);
    kb_json_set_text(head, "source", source);
    kb_json_set_text(head, "text", clean.data ? clean.data : "");
    kb_json_set_number(head, "dropped", (double)dropped);
    kb_worker_send(head, NULL, 0);
    kb_text_free(&clean);
}

static long count_lines(const char *text, size_t size)
{
    long lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines + (size && text[size - 1] != '\n');
}

void kb_worker_log(int64_t job, const char *source, const char *text, size_t size)
{
    long lines = count_lines(text, size), dropped = lines > LOG_LINES_MAX ? lines - LOG_LINES_MAX : 0;
    for (long i = 0; i < dropped; i++) { // the end of a log says most
        const char *newline = memchr(text, '\n', size);
        size -= (size_t)(newline + 1 - text);
        text = newline + 1;
    }
    while (size) {
        size_t n = size < LOG_FRAME_BYTES / 4 ? size : LOG_FRAME_BYTES / 4; // cleaning may make 4 bytes of one, JSON 2
        const char *newline = n < size ? memrchr(text, '\n', n) : NULL;
        if (newline)
            n = (size_t)(newline + 1 - text);
        send_log(job, source, text, n, dropped);
        dropped = 0;
        text += n;
        size -= n;
    }
}
