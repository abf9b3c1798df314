// Bytes from a terminal into keys: escape sequences, UTF-8, bracketed paste.
#ifndef KB_TUI_INPUT_H
#define KB_TUI_INPUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KB_ESC_MS = 40, KB_PASTE_MS = 500, KB_SEQUENCE_MOST = 64 };
struct kb_input {
    char bytes[KB_SEQUENCE_MOST]; // not decided yet
    size_t count;
    int64_t since_ms; // when the first of them came
    bool pasting;     // between the marks of a bracketed paste
    int64_t paste_ms; // when its last byte came
    bool text_field;  // set by the owner: a paste is text to be taken; elsewhere it is dropped
};
// Decodes n bytes that came at now_ms. Calls on_key for each key; burst: it came together with others, as an unmarked
// paste does.
void kb_input_feed(struct kb_input *, const char *bytes, size_t n, int64_t now_ms,
                   void (*on_key)(void *context, int key, bool burst), void *context);
// Decides what was left open for too long: a lone Esc, a paste without an end.
void kb_input_tick(struct kb_input *, int64_t now_ms, void (*on_key)(void *context, int key, bool burst),
                   void *context);
int kb_input_wait_ms(const struct kb_input *, int64_t now_ms); // until tick has something to decide; -1: nothing

#endif
