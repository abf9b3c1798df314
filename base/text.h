// Growing text, UTF-8 widths, and the one cleaner that all foreign text passes before anybody sees it.
#ifndef KB_BASE_TEXT_H
#define KB_BASE_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_text {
    char *data; // NUL-terminated once anything was added, else NULL
    size_t size, capacity;
};

void kb_text_add(struct kb_text *t, const char *s);
void kb_text_bytes(struct kb_text *t, const void *bytes, size_t n);
void kb_text_addf(struct kb_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kb_text_clear(struct kb_text *t); // keeps the memory
void kb_text_free(struct kb_text *t);
char *kb_text_take(struct kb_text *t); // never NULL; owned by the caller; t is empty afterwards

// Makes foreign bytes safe to show: each control character, each byte that is no valid UTF-8, each bidi override or
// zero-width format character becomes a visible mark of known width ("␛", "␍", "<9b>", "<U+202E>"); TAB becomes
// blanks up to the next multiple of 8; '\n' stays. With ascii, marks are ASCII and all above 0x7e is "\u{hex}".
// Cleaning clean text changes nothing. Appends to out.
void kb_clean(struct kb_text *out, const char *bytes, size_t n, bool ascii);
char *kb_cleaned(const char *s); // UTF-8 form, newlines marked too; owned by the caller

// Decodes one code point at s (n bytes left, n > 0). Returns its length in bytes, 0 if invalid.
int kb_utf8_decode(const char *s, size_t n, uint32_t *code);
// Columns of a code point: 0, 1 or 2. Controls: 0.
int kb_char_width(uint32_t code);
// Columns of the first n bytes of s.
int kb_text_width(const char *s, size_t n);

// The candidate nearest to word, or NULL if none is near (at most a third of its letters differ, 2 at least).
const char *kb_nearest(const char *word, const char *const *candidates, size_t n);

bool kb_starts(const char *s, const char *prefix);
bool kb_ends(const char *s, const char *suffix);

#endif
