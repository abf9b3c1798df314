// Reads listings, samples and documents of differences on a thread of its own: of long code that takes longer than a
// key may wait. What was asked for is answered in order; the descriptor tells when.
#ifndef KB_TUI_CODE_READER_H
#define KB_TUI_CODE_READER_H
#include "jit/sass_parse.h"
#include "tui/samples.h"

#include <stddef.h>

enum kb_code_form { KB_FORM_LISTING, KB_FORM_SAMPLES, KB_FORM_DIFF };
struct kb_code_read { // all pointers are owned; exactly one of the last four is there once it was read
    enum kb_code_form form;
    unsigned serial; // whatever the asker likes
    char *text;      // NULL once it was read
    size_t size;
    struct kb_sass_listing *listing;
    struct kb_samples *samples;
    cJSON *diff;
    char *reason; // why it can't be read
};
void kb_code_read_free(struct kb_code_read *); // what it holds
// Now, on this thread.
void kb_code_read_now(struct kb_code_read *);

struct kb_code_reader;
struct kb_code_reader *kb_code_reader_new(void);
// What it still works on is thrown away behind the caller's back: nobody waits.
void kb_code_reader_free(struct kb_code_reader *);
int kb_code_reader_fd(const struct kb_code_reader *);                        // readable: something was read
void kb_code_reader_ask(struct kb_code_reader *, struct kb_code_read *);     // takes what it holds
bool kb_code_reader_take(struct kb_code_reader *, struct kb_code_read *out); // false: nothing is ready

#endif
