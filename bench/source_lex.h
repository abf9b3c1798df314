// Internal to bench/: the lexical half of the source scan.
#ifndef KB_BENCH_SOURCE_LEX_H
#define KB_BENCH_SOURCE_LEX_H
#include "bench/source.h"

#include <stdbool.h>
#include <stddef.h>

// A copy of the text in which comments, literals and the blanks of line ends ('\r', a leading byte-order mark) are
// blanks, and where the `//` comments begin.
struct kb_blanked {
    char *text; // size bytes and a NUL
    size_t size;
    size_t *line_comments; // offsets of "//"
    int line_comment_count, line_comment_capacity;
};
void kb_blank(const char *text, size_t size, struct kb_blanked *out);
void kb_blanked_free(struct kb_blanked *b);

enum kb_token_type {
    KB_TOKEN_END,
    KB_TOKEN_NAME,
    KB_TOKEN_NUMBER,
    KB_TOKEN_PUNCT, // one character; "::" and "..." are one token
    KB_TOKEN_IF,
    KB_TOKEN_ELSE,
    KB_TOKEN_ENDIF // preprocessor conditionals (else: elif too)
};
struct kb_token {
    enum kb_token_type type;
    size_t at, length; // in the blanked text
    int line;
};
struct kb_tokens {
    struct kb_token *items; // closed by a KB_TOKEN_END
    int count, capacity;
};
// Preprocessor lines give no tokens but their conditionals, and what `#if 0` excludes gives none at all.
void kb_tokenise(const struct kb_blanked *source, struct kb_tokens *out);
void kb_tokens_free(struct kb_tokens *t);

bool kb_is_name_char(char c);
int kb_line_at(const char *text, size_t offset); // 1-based

// bench/source_ptx.c: kernels alone; names of parameters without the kernel's: "param_0".
void kb_source_scan_ptx(const char *text, size_t size, struct kb_source *out);

// bench/directive.c. starts: the offset of each kernel's `__global__`, in order, with its name and its lines.
struct kb_kernel_place {
    const char *name;
    size_t at;
    int line, end_line;
};
int kb_directives_scan(const char *text, size_t size, const char *path, const struct kb_blanked *blanked,
                       const struct kb_kernel_place *kernels, int kernel_count, struct kb_source *out,
                       struct kb_error *e);
// Splits at commas outside parentheses; the parts are trimmed. Returns how many parts there are and stores at most
// `most` of them, owned by the caller.
int kb_split_dims(const char *text, char **parts, int most);

#endif
