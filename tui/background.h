// One thread beside the screen's, for what takes longer than a key may wait: reading files, parsing long listings. Jobs
// are done in the order in which they were asked for; a descriptor tells when one is done.
#ifndef KB_TUI_BACKGROUND_H
#define KB_TUI_BACKGROUND_H
#include <stdbool.h>

struct kb_job { // the first member of whatever the asker needs
    struct kb_job *next;
    void (*run)(struct kb_job *);    // on the other thread
    void (*finish)(struct kb_job *); // then on the asker's, by kb_background_take; what it frees is gone
    void (*drop)(struct kb_job *);   // instead of finish, on any thread: nobody waits any more. Frees the job
};
struct kb_background;
struct kb_background *kb_background_new(void);
// What it still works on is dropped behind the caller's back: nobody waits, not even for a disk that is stuck.
void kb_background_free(struct kb_background *);
int kb_background_fd(const struct kb_background *); // readable: something is done
void kb_background_ask(struct kb_background *, struct kb_job *);
bool kb_background_take(struct kb_background *); // finishes all that is done; false: nothing was

#endif
