#include "tui/background.h"
#include "base/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct kb_background {
    pthread_mutex_t lock;
    pthread_cond_t work;
    bool quit, threaded;
    int users;                  // the asker and the thread: the last one frees
    struct kb_job *todo, *done; // oldest first
    int pipe[2];
};

static void append(struct kb_job **list, struct kb_job *job)
{
    while (*list)
        list = &(*list)->next;
    job->next = NULL;
    *list = job;
}

static struct kb_job *pop(struct kb_job **list)
{
    struct kb_job *job = *list;
    if (job)
        *list = job->next;
    return job;
}

static void drop_all(struct kb_job *list)
{
    for (struct kb_job *job; (job = pop(&list));)
        job->drop(job);
}

static void release(struct kb_background *b)
{
    pthread_mutex_lock(&b->lock);
    bool last = --b->users == 0;
    pthread_mutex_unlock(&b->lock);
    if (!last)
        return;
    drop_all(b->todo);
    drop_all(b->done);
    close(b->pipe[0]);
    close(b->pipe[1]);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->work);
    free(b);
}

static void put_done(struct kb_background *b, struct kb_job *job)
{
    append(&b->done, job);
    ssize_t written = write(b->pipe[1], "", 1);
    (void)written; // full: it is readable anyway
}

static void *thread_main(void *argument)
{
    struct kb_background *b = argument;
    pthread_mutex_lock(&b->lock);
    while (!b->quit) {
        struct kb_job *job = pop(&b->todo);
        if (!job) {
            pthread_cond_wait(&b->work, &b->lock);
            continue;
        }
        pthread_mutex_unlock(&b->lock);
        job->run(job);
        pthread_mutex_lock(&b->lock);
        put_done(b, job);
    }
    pthread_mutex_unlock(&b->lock);
    release(b);
    return NULL;
}

struct kb_background *kb_background_new(void)
{
    struct kb_background *b = kb_alloc(sizeof *b);
    b->users = 2;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->work, NULL);
    if (pipe2(b->pipe, O_CLOEXEC | O_NONBLOCK))
        b->pipe[0] = b->pipe[1] = -1;
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pthread_t thread;
    b->threaded = b->pipe[0] >= 0 && pthread_create(&thread, NULL, thread_main, b) == 0;
    if (b->threaded)
        pthread_detach(thread);
    else
        b->users = 1;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return b;
}

void kb_background_free(struct kb_background *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->quit = true;
    pthread_cond_signal(&b->work);
    pthread_mutex_unlock(&b->lock);
    release(b);
}

int kb_background_fd(const struct kb_background *b)
{
    return b->pipe[0];
}

void kb_background_ask(struct kb_background *b, struct kb_job *job)
{
    pthread_mutex_lock(&b->lock);
    if (b->threaded) {
        append(&b->todo, job);
        pthread_cond_signal(&b->work);
    } else { // no thread could be had: late is better than never
        job->run(job);
        put_done(b, job);
    }
    pthread_mutex_unlock(&b->lock);
}

bool kb_background_take(struct kb_background *b)
{
    char buffer[64];
    while (read(b->pipe[0], buffer, sizeof buffer) > 0)
        continue;
    pthread_mutex_lock(&b->lock);
    struct kb_job *done = b->done;
    b->done = NULL;
    pthread_mutex_unlock(&b->lock);
    bool any = done != NULL;
    for (struct kb_job *job; (job = pop(&done));)
        job->finish(job);
    return any;
}
