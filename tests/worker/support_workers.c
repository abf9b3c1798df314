#include "worker/support_workers.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 120 * 1000 };

const char *driven_program(void)
{
    const char *path = getenv("KB_WORKER");
    return path ? path : KB_BUILD_DIR "/kbench-worker";
}

cJSON *driven_json(const char *text)
{
    char *copy = kb_strdup(text);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    cJSON *json = cJSON_Parse(copy);
    if (!json)
        fail_msg("no JSON: %s", text);
    free(copy);
    return json;
}

void driven_start(struct driven *d, const char *const *args)
{
    char *argv[16] = {(char *)driven_program()};
    int in[2], out[2];
    struct kb_error e;
    for (int i = 0; args[i]; i++)
        argv[i + 1] = (char *)args[i];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int fds[4] = {in[0], null, 2, out[1]};
    *d = (struct driven){
        .pid = kb_spawn(argv, NULL, fds, 4, &e), .in = in[1], .out = out[0], .reader = kb_frame_reader_new()};
    if (d->pid < 0)
        fail_msg("%s", e.what);
    close(in[0]);
    close(out[1]);
    close(null);
    signal(SIGPIPE, SIG_IGN);
}

int driven_stop(struct driven *d)
{
    int status = 0;
    close(d->in);
    assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
    close(d->out);
    kb_frame_reader_free(d->reader);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int64_t driven_send(struct driven *d, const char *type, cJSON *fields, const void *blob, size_t size)
{
    struct kb_text out = {0};
    cJSON *head = kb_frame_head(type, ++d->job), *item;
    while (fields && (item = cJSON_DetachItemFromArray(fields, 0)))
        cJSON_AddItemToObject(head, item->string, item);
    cJSON_Delete(fields);
    kb_frame_encode(&out, head, blob, size, NULL);
    for (size_t at = 0; at < out.size;) {
        ssize_t n = write(d->in, out.data + at, out.size - at);
        if (n <= 0) // it ended: what it said last tells why
            break;
        at += (size_t)n;
    }
    kb_text_free(&out);
    return d->job;
}

bool driven_next(struct driven *d, struct kb_frame *f)
{
    for (;;) {
        struct kb_error e;
        char buffer[1 << 16];
        int got = kb_frame_reader_next(d->reader, f, &e);
        if (got < 0)
            fail_msg("%s", e.what);
        if (got)
            return true;
        struct pollfd p = {d->out, POLLIN, 0};
        if (poll(&p, 1, PATIENCE_MS) <= 0)
            fail_msg("the worker says nothing");
        ssize_t n = read(d->out, buffer, sizeof buffer);
        if (n <= 0)
            return false;
        kb_frame_reader_feed(d->reader, buffer, (size_t)n);
    }
}

void driven_answer(struct driven *d, int64_t job, struct driven_answer *a)
{
    *a = (struct driven_answer){0};
    for (struct kb_frame f; driven_next(d, &f);) {
        if (kb_frame_job(&f) != job) {
            kb_frame_free(&f);
            continue;
        }
        assert_true(a->count < 128);
        a->frames[a->count++] = f;
        if (!strcmp(kb_frame_type(&f), "done"))
            return;
    }
    a->ended = true;
}

void driven_answer_free(struct driven_answer *a)
{
    for (int i = 0; i < a->count; i++)
        kb_frame_free(&a->frames[i]);
    a->count = 0;
}

const struct kb_frame *driven_find(const struct driven_answer *a, const char *type)
{
    for (int i = a->count - 1; i >= 0; i--)
        if (!strcmp(kb_frame_type(&a->frames[i]), type))
            return &a->frames[i];
    return NULL;
}
