#include "tui/code_reader.h"
#include "base/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
    struct job *next;
    struct kb_code_read read;
};
struct kb_code_reader {
    pthread_mutex_t lock;
    pthread_cond_t work;
    bool quit, threaded;
    int users;               // the screen and the thread: the last one frees
    struct job *todo, *done; // oldest first
    int pipe[2];
};

void kb_code_read_free(struct kb_code_read *r)
{
    free(r->text);
    kb_sass_free(r->listing);
    kb_samples_free(r->samples);
    cJSON_Delete(r->diff);
    free(r->reason);
    *r = (struct kb_code_read){0};
}

void kb_code_read_now(struct kb_code_read *r)
{
    struct kb_error e = {0};
    if (r->form == KB_FORM_LISTING) {
        if (kb_sass_parse(r->text, r->size, &r->listing, &e))
            r->reason = kb_strdup(kb_error_line(&e));
    } else {
        cJSON *json = cJSON_ParseWithLength(r->text, r->size);
        if (r->form == KB_FORM_SAMPLES) {
            r->samples = kb_samples_make(json);
            cJSON_Delete(json);
            r->reason = r->samples ? NULL : kb_strdup("there are no samples by instruction");
        } else if (cJSON_IsObject(json)) {
            r->diff = json;
        } else {
            cJSON_Delete(json);
            r->reason = kb_strdup("the comparison could not be read");
        }
    }
    free(r->text);
    r->text = NULL;
    r->size = 0;
}

static void append(struct job **list, struct job *job)
{
    while (*list)
        list = &(*list)->next;
    job->next = NULL;
    *list = job;
}

static struct job *pop(struct job **list)
{
    struct job *job = *list;
    if (job)
        *list = job->next;
    return job;
}

static void free_jobs(struct job *list)
{
    for (struct job *job; (job = pop(&list));) {
        kb_code_read_free(&job->read);
        free(job);
    }
}

static void release(struct kb_code_reader *r)
{
    pthread_mutex_lock(&r->lock);
    bool last = --r->users == 0;
    pthread_mutex_unlock(&r->lock);
    if (!last)
        return;
    free_jobs(r->todo);
    free_jobs(r->done);
    close(r->pipe[0]);
    close(r->pipe[1]);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->work);
    free(r);
}

static void finish(struct kb_code_reader *r, struct job *job)
{
    append(&r->done, job);
    ssize_t written = write(r->pipe[1], "", 1);
    (void)written; // full: it is readable anyway
}

static void *reader(void *argument)
{
    struct kb_code_reader *r = argument;
    pthread_mutex_lock(&r->lock);
    while (!r->quit) {
        struct job *job = pop(&r->todo);
        if (!job) {
            pthread_cond_wait(&r->work, &r->lock);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        kb_code_read_now(&job->read);
        pthread_mutex_lock(&r->lock);
        finish(r, job);
    }
    pthread_mutex_unlock(&r->lock);
    release(r);
    return NULL;
}

struct kb_code_reader *kb_code_reader_new(void)
{
    struct kb_code_reader *r = kb_alloc(sizeof *r);
    r->users = 2;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->work, NULL);
    if (pipe2(r->pipe, O_CLOEXEC | O_NONBLOCK))
        r->pipe[0] = r->pipe[1] = -1;
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pthread_t thread;
    r->threaded = r->pipe[0] >= 0 && pthread_create(&thread, NULL, reader, r) == 0;
    if (r->threaded)
        pthread_detach(thread);
    else
        r->users = 1;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return r;
}

void kb_code_reader_free(struct kb_code_reader *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->quit = true;
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->lock);
    release(r);
}

int kb_code_reader_fd(const struct kb_code_reader *r)
{
    return r->pipe[0];
}

void kb_code_reader_ask(struct kb_code_reader *r, struct kb_code_read *read)
{
    struct job *job = kb_alloc(sizeof *job);
    job->read = *read;
    *read = (struct kb_code_read){0};
    pthread_mutex_lock(&r->lock);
    if (r->threaded) {
        append(&r->todo, job);
        pthread_cond_signal(&r->work);
    } else { // no thread could be had: late is better than never
        kb_code_read_now(&job->read);
        finish(r, job);
    }
    pthread_mutex_unlock(&r->lock);
}

bool kb_code_reader_take(struct kb_code_reader *r, struct kb_code_read *out)
{
    char buffer[64];
    while (read(r->pipe[0], buffer, sizeof buffer) > 0)
        continue;
    pthread_mutex_lock(&r->lock);
    struct job *job = pop(&r->done);
    pthread_mutex_unlock(&r->lock);
    if (!job)
        return false;
    *out = job->read;
    free(job);
    return true;
}
