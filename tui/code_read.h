// Reading what the session has of code: a listing, samples, a document of differences. Of long code that takes longer
// than a key may wait, so it is a job (tui/background.h).
#ifndef KB_TUI_CODE_READ_H
#define KB_TUI_CODE_READ_H
#include "jit/sass_parse.h"
#include "tui/samples.h"

#include <stddef.h>

enum kb_code_form { KB_FORM_LISTING, KB_FORM_SAMPLES, KB_FORM_DIFF };
struct kb_code_read { // all pointers are owned; exactly one of the last four is there once it was read
    enum kb_code_form form;
    char *text; // NULL once it was read
    size_t size;
    struct kb_sass_listing *listing;
    struct kb_samples *samples;
    cJSON *diff;
    char *reason; // why it can't be read
};
void kb_code_parse(struct kb_code_read *);
void kb_code_read_free(struct kb_code_read *); // what it holds

#endif
