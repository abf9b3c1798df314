#include "loop/peer.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/spawn.h"
#include "loop/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct kb_peer_system kb_peer_system = {kill, waitpid};
int kb_peer_longest_ms;

enum { QUEUE_KEPT = 1 << 20, LOOK_AGAIN_MS = 100, LONGEST = 20 };
enum life { ALIVE, TERMED, KILLED, OVER };

struct kb_peer {
    pid_t pid;
    int in, events, out[2]; // our ends of its descriptors 0, 3, 1 and 2; -1 closed
    struct kb_text queue;   // bytes for descriptor 0
    size_t sent;            // of the queue
    struct kb_frame_reader *reader;
    struct kb_lines lines[2];
    struct kb_peer_event *ready; // not taken yet, oldest first
    int ready_count, ready_capacity, ready_start;
    enum life life;
    char *why; // of the end; NULL if it was not asked for
    int deadline_ms, cores;
    int64_t deadline_us;      // 0: none
    int64_t since_us, cpu_us; // when the deadline was set, and what the process had computed by then
    int64_t life_us;          // when `life` was entered
};

void kb_peer_event_free(struct kb_peer_event *e)
{
    kb_frame_free(&e->frame);
    free(e->text);
    *e = (struct kb_peer_event){0};
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int open_pipes(int ends[4][2])
{
    for (int i = 0; i < 4; i++)
        ends[i][0] = ends[i][1] = -1;
    for (int i = 0; i < 4; i++)
        if (pipe2(ends[i], O_CLOEXEC))
            return -1;
    return 0;
}

struct kb_peer *kb_peer_start(char *const argv[], struct kb_error *e)
{
    int ends[4][2], saved = 0;
    pid_t pid = -1;
    if (open_pipes(ends)) {
        saved = errno;
        kb_fail(e, argv[0], "close other programs, or raise the limit of open files", "cannot start a worker: %s",
                strerror(saved));
    } else {
        pid = kb_spawn(argv, NULL, (int[]){ends[0][0], ends[1][1], ends[2][1], ends[3][1]}, 4, e);
    }
    for (int i = 0; i < 4; i++)
        close_fd(&ends[i][i == 0 ? 0 : 1]);
    if (pid < 0) {
        for (int i = 0; i < 4; i++)
            close_fd(&ends[i][i == 0 ? 1 : 0]);
        return NULL;
    }
    struct kb_peer *p = kb_alloc(sizeof *p);
    *p = (struct kb_peer){
        .pid = pid, .cores = 1, .in = ends[0][1], .events = ends[3][0], .out = {ends[1][0], ends[2][0]}};
    int fds[] = {p->in, p->events, p->out[0], p->out[1]};
    for (size_t i = 0; i < KB_COUNT(fds); i++)
        fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
    p->reader = kb_frame_reader_new();
    p->life_us = kb_now_us();
    return p;
}

pid_t kb_peer_pid(const struct kb_peer *p)
{
    return p->pid;
}

bool kb_peer_ending(const struct kb_peer *p)
{
    return p->life != ALIVE;
}

static struct kb_peer_event *add_event(struct kb_peer *p, enum kb_peer_event_kind kind)
{
    if (p->ready_start == p->ready_count)
        p->ready_start = p->ready_count = 0;
    KB_GROW(p->ready, p->ready_count, p->ready_capacity);
    p->ready[p->ready_count] = (struct kb_peer_event){.kind = kind};
    return &p->ready[p->ready_count++];
}

static void flush_queue(struct kb_peer *p)
{
    while (p->in >= 0 && p->sent < p->queue.size) {
        ssize_t n = write(p->in, p->queue.data + p->sent, p->queue.size - p->sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            close_fd(&p->in); // it died; the end of its events says how
        if (n <= 0)
            return;
        p->sent += (size_t)n;
    }
    if (p->queue.capacity > QUEUE_KEPT) // one long frame shall not hold so much for good
        kb_text_free(&p->queue);
    kb_text_clear(&p->queue);
    p->sent = 0;
}

void kb_peer_send(struct kb_peer *p, cJSON *head, const void *blob, size_t size)
{
    const struct kb_frame_part part = {blob, size};
    kb_peer_send_parts(p, head, &part, 1);
}

static void refuse_frame(struct kb_peer *p, int64_t job, const struct kb_error *why)
{
    cJSON *done = kb_frame_head("done", job);
    kb_json_set_text(done, "status", "fail");
    kb_json_set_text(done, "reason", kb_error_line(why));
    add_event(p, KB_PEER_FRAME)->frame.head = done;
}

void kb_peer_send_parts(struct kb_peer *p, cJSON *head, const struct kb_frame_part *parts, int count)
{
    if (p->in < 0 || p->life != ALIVE) {
        cJSON_Delete(head);
        return;
    }
    struct kb_error error = {0};
    int64_t job = kb_json_int(head, "job", 0);
    if (kb_frame_encode_parts(&p->queue, head, parts, count, &error))
        refuse_frame(p, job, &error);
    flush_queue(p);
}

void kb_peer_deadline(struct kb_peer *p, int ms)
{
    if (kb_peer_longest_ms && ms > kb_peer_longest_ms)
        ms = kb_peer_longest_ms;
    p->deadline_ms = ms;
    p->since_us = kb_now_us();
    p->deadline_us = ms ? p->since_us + (int64_t)ms * 1000 : 0;
    p->cpu_us = ms ? kb_process_cpu_us(p->pid) : -1;
}

void kb_peer_cores(struct kb_peer *p, int cores)
{
    p->cores = cores > 0 ? cores : 1;
}

// Beside others it computed less than the time it was given, and wants to go on: how busy the machine is decides
// nothing.
static bool is_starved(const struct kb_peer *p, int64_t now)
{
    int64_t given = (int64_t)p->deadline_ms * 1000, used = kb_process_cpu_us(p->pid) - p->cpu_us;
    return p->cpu_us >= 0 && used >= 0 && used < given * p->cores && now - p->since_us < given * LONGEST &&
           kb_process_is_busy(p->pid);
}

static void enter(struct kb_peer *p, enum life life)
{
    p->life = life;
    p->life_us = kb_now_us();
    if (life != OVER)
        kb_peer_system.kill(-p->pid, life == TERMED ? SIGTERM : SIGKILL);
}

void kb_peer_end(struct kb_peer *p, const char *why, bool now)
{
    if (p->life == OVER || p->life == KILLED || (p->life == TERMED && !now))
        return;
    if (!p->why)
        p->why = kb_strdup(why);
    enter(p, now ? KILLED : TERMED);
    p->deadline_us = 0;
}

static void add_line(void *context, const char *text, int64_t dropped)
{
    struct kb_peer_event *e = add_event(context, KB_PEER_LINE);
    e->text = kb_strdup(text);
    e->dropped = dropped;
}

// Returns false when nothing more is there now.
static bool read_output(struct kb_peer *p, int which)
{
    char bytes[1 << 14];
    ssize_t n = p->out[which] >= 0 ? read(p->out[which], bytes, sizeof bytes) : -1;
    if (n > 0)
        kb_lines_feed(&p->lines[which], bytes, (size_t)n, kb_now_us(), add_line, p);
    if (n == 0)
        close_fd(&p->out[which]);
    return n > 0;
}

static void take_frames(struct kb_peer *p)
{
    struct kb_frame frame;
    struct kb_error error = {0};
    int got;
    while ((got = kb_frame_reader_next(p->reader, &frame, &error)) == 1) {
        add_event(p, KB_PEER_FRAME)->frame = frame;
        if (p->deadline_ms && p->life == ALIVE)
            kb_peer_deadline(p, p->deadline_ms);
    }
    if (got < 0)
        kb_peer_end(p, kb_error_line(&error), false);
}

// Returns true when more may be there now.
static bool read_events(struct kb_peer *p)
{
    static char bytes[1 << 18];
    for (int i = 0; i < 8 && p->events >= 0; i++) { // bounded: the screen wants its turn
        ssize_t n = read(p->events, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        if (n <= 0) {
            close_fd(&p->events);
            return false;
        }
        kb_frame_reader_feed(p->reader, bytes, (size_t)n);
        take_frames(p);
    }
    return p->events >= 0;
}

static const char *signal_name(int signal)
{
    const char *name = sigabbrev_np(signal);
    return name ? name : "a signal";
}

static void add_ended(struct kb_peer *p, int status, bool abandoned)
{
    for (int i = 0; i < 2; i++) {
        for (int turn = 0; turn < 64 && read_output(p, i); turn++)
            ;
        kb_lines_end(&p->lines[i], add_line, p);
        close_fd(&p->out[i]);
    }
    struct kb_peer_event *e = add_event(p, KB_PEER_ENDED);
    e->abandoned = abandoned;
    e->asked = p->why != NULL;
    e->signal = !abandoned && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    e->exit_code = !abandoned && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (abandoned)
        e->text = kb_format("%s; abandoned pid %d: it ignored SIGKILL, the GPU may still be busy",
                            p->why ? p->why : "it closed its pipe", (int)p->pid);
    else if (p->why)
        e->text = kb_strdup(p->why);
    else if (e->signal)
        e->text = kb_format("the worker was killed by SIG%s", signal_name(e->signal));
    else
        e->text = kb_format("the worker ended with exit code %d", e->exit_code);
    close_fd(&p->in);
    close_fd(&p->events);
    enter(p, OVER);
}

static void reap(struct kb_peer *p)
{
    int status = 0;
    if (kb_peer_system.wait(p->pid, &status, WNOHANG) != p->pid)
        return;
    while (read_events(p)) // what it sent before it ended still counts
        ;
    add_ended(p, status, false);
}

static void go_down_the_ladder(struct kb_peer *p, int64_t now)
{
    int64_t since_ms = (now - p->life_us) / 1000;
    if (p->life == TERMED && since_ms >= KB_TERM_GRACE_MS)
        enter(p, KILLED);
    else if (p->life == KILLED && since_ms >= KB_KILL_GRACE_MS)
        add_ended(p, 0, true);
}

void kb_peer_step(struct kb_peer *p)
{
    if (p->life == OVER)
        return;
    flush_queue(p);
    read_events(p);
    int64_t now = kb_now_us();
    for (int i = 0; i < 2; i++) {
        for (int turn = 0; turn < 16 && read_output(p, i); turn++)
            ;
        kb_lines_tick(&p->lines[i], now, add_line, p);
    }
    if (p->life == ALIVE && p->events < 0) { // it is ending by itself: give it the usual grace before a kill
        p->life = TERMED;
        p->life_us = now;
    }
    if (p->life == ALIVE && p->deadline_us && now >= p->deadline_us && is_starved(p, now))
        p->deadline_us = now + LOOK_AGAIN_MS * 1000;
    if (p->life == ALIVE && p->deadline_us && now >= p->deadline_us) {
        char *why = kb_format("no answer for %g s", p->deadline_ms / 1000.0);
        kb_peer_end(p, why, false);
        free(why);
    }
    if (p->life != ALIVE)
        reap(p);
    if (p->life != ALIVE && p->life != OVER)
        go_down_the_ladder(p, now);
}

int kb_peer_next(struct kb_peer *p, struct kb_peer_event *event)
{
    if (p->ready_start == p->ready_count)
        return 0;
    *event = p->ready[p->ready_start++];
    return 1;
}

int kb_peer_fds(struct kb_peer *p, struct pollfd *fds, int capacity)
{
    int n = 0;
    if (p->events >= 0 && n < capacity)
        fds[n++] = (struct pollfd){p->events, POLLIN, 0};
    for (int i = 0; i < 2; i++)
        if (p->out[i] >= 0 && n < capacity)
            fds[n++] = (struct pollfd){p->out[i], POLLIN, 0};
    if (p->in >= 0 && p->sent < p->queue.size && n < capacity)
        fds[n++] = (struct pollfd){p->in, POLLOUT, 0};
    return n;
}

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

int kb_peer_wait_ms(const struct kb_peer *p)
{
    if (p->ready_start < p->ready_count)
        return 0;
    if (p->life == OVER)
        return -1;
    int64_t now = kb_now_us();
    int wait = p->life == ALIVE ? -1 : 5; // a child's end wakes no poll
    for (int i = 0; i < 2; i++)
        wait = sooner(wait, kb_lines_wait_ms(&p->lines[i], now));
    if (p->deadline_us)
        wait = sooner(wait, p->deadline_us > now ? (int)((p->deadline_us - now) / 1000) + 1 : 0);
    return wait;
}

// The program is ending, or replaces this worker for good: a bounded moment, so that no zombie and no GPU memory stays.
static void finish_off(struct kb_peer *p)
{
    if (p->life == ALIVE || p->life == TERMED) {
        close_fd(&p->in);
        kb_peer_system.kill(-p->pid, SIGTERM);
    }
    for (int i = 0; i < 60; i++) {
        if (i == 30)
            kb_peer_system.kill(-p->pid, SIGKILL);
        if (kb_peer_system.wait(p->pid, NULL, WNOHANG) != 0)
            return;
        poll(NULL, 0, i < 10 ? 2 : 10);
    }
}

void kb_peer_free(struct kb_peer *p)
{
    if (!p)
        return;
    if (p->life != OVER)
        finish_off(p);
    int *fds[] = {&p->in, &p->events, &p->out[0], &p->out[1]};
    for (size_t i = 0; i < KB_COUNT(fds); i++)
        close_fd(fds[i]);
    for (int i = p->ready_start; i < p->ready_count; i++)
        kb_peer_event_free(&p->ready[i]);
    for (int i = 0; i < 2; i++)
        kb_text_free(&p->lines[i].partial);
    free(p->ready);
    kb_frame_reader_free(p->reader);
    kb_text_free(&p->queue);
    free(p->why);
    free(p);
}
