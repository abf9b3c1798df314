// Words of PTX text, with line numbers.
#ifndef KB_JIT_PTX_LEX_H
#define KB_JIT_PTX_LEX_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_token_kind { PTX_END, PTX_WORD, PTX_INTEGER, PTX_SINGLE, PTX_DOUBLE, PTX_STRING, PTX_PUNCT, PTX_BAD };

struct ptx_token {
    enum ptx_token_kind kind;
    const char *start;
    size_t size;
    uint64_t bits; // numbers; for PTX_PUNCT the character
};

struct ptx_lexer {
    const char *at, *end;
    int line, token_line;   // where reading is; where the current token begins
    struct ptx_token token; // the current one
    struct kb_error *error; // filled once
    bool failed;
};

void ptx_lex_start(struct ptx_lexer *, const char *text, size_t size, struct kb_error *);
void ptx_next(struct ptx_lexer *);
bool ptx_is(const struct ptx_lexer *, const char *word); // the current token is this word or punctuation
bool ptx_take(struct ptx_lexer *, const char *word);     // and steps over it
bool ptx_expect(struct ptx_lexer *, const char *word);   // or fails
void ptx_lex_fail(struct ptx_lexer *, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Skips raw text up to and with the brace that closes the next '{'.
void ptx_skip_braces(struct ptx_lexer *);

#endif
