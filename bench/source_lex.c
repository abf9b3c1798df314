#include "bench/source_lex.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

bool kb_is_name_char(char c)
{
    return c == '_' || c == '$' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c & 0x80);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int kb_line_at(const char *text, size_t offset)
{
    int line = 1;
    for (const char *p = text, *end = text + offset; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        line++;
    return line;
}

struct blanker {
    const char *text;
    size_t size, at;
    struct kb_blanked *out;
};

static char peek(const struct blanker *b, size_t ahead)
{
    return b->at + ahead < b->size ? b->text[b->at + ahead] : 0;
}

static void blank(struct blanker *b, size_t n)
{
    for (; n && b->at < b->size; n--, b->at++)
        if (b->text[b->at] != '\n')
            b->out->text[b->at] = ' ';
}

// Length of a backslash at the line's end with its newline, 0 if there is none here.
static size_t continuation(const struct blanker *b)
{
    if (peek(b, 0) != '\\')
        return 0;
    return peek(b, 1) == '\n' ? 2 : peek(b, 1) == '\r' && peek(b, 2) == '\n' ? 3 : 0;
}

static void line_comment(struct blanker *b)
{
    struct kb_blanked *out = b->out;
    KB_GROW(out->line_comments, out->line_comment_count, out->line_comment_capacity);
    out->line_comments[out->line_comment_count++] = b->at;
    while (b->at < b->size && peek(b, 0) != '\n') {
        size_t joined = continuation(b);
        blank(b, joined ? joined : 1);
    }
}

static void block_comment(struct blanker *b)
{
    blank(b, 2);
    while (b->at < b->size && !(peek(b, 0) == '*' && peek(b, 1) == '/'))
        blank(b, 1);
    blank(b, 2);
}

// Ends at the quote, or at the end of the line: an apostrophe in an #error text opens nothing.
static void quoted(struct blanker *b, char quote)
{
    blank(b, 1);
    while (b->at < b->size && peek(b, 0) != quote && peek(b, 0) != '\n') {
        size_t joined = continuation(b);
        blank(b, joined ? joined : peek(b, 0) == '\\' ? 2 : 1);
    }
    if (peek(b, 0) == quote)
        blank(b, 1);
}

static void raw_string(struct blanker *b)
{
    size_t open = b->at + 1, n = 0;
    while (open + n < b->size && n <= 16 && b->text[open + n] != '(' && b->text[open + n] != '\n')
        n++;
    if (open + n >= b->size || b->text[open + n] != '(') {
        quoted(b, '"');
        return;
    }
    const char *delimiter = b->text + open;
    blank(b, n + 2);
    while (b->at < b->size && !(peek(b, 0) == ')' && b->size - b->at >= n + 2 &&
                                !memcmp(b->text + b->at + 1, delimiter, n) && peek(b, n + 1) == '"'))
        blank(b, 1);
    blank(b, n + 2);
}

// The name or number that ends just before `at`.
static size_t word_before(const struct blanker *b)
{
    size_t n = 0;
    while (n < b->at && kb_is_name_char(b->text[b->at - n - 1]))
        n++;
    return n;
}

static bool is_raw_prefix(const char *word, size_t n)
{
    return (n == 1 && word[0] == 'R') || (n == 2 && word[1] == 'R' && strchr("LuU", word[0])) ||
           (n == 3 && !memcmp(word, "u8R", 3));
}

static void quote_here(struct blanker *b)
{
    size_t n = word_before(b);
    const char *word = b->text + b->at - n;
    if (peek(b, 0) == '\'' && n && is_digit(word[0])) // a digit separator
        b->at++;
    else if (peek(b, 0) == '"' && is_raw_prefix(word, n))
        raw_string(b);
    else
        quoted(b, peek(b, 0));
}

void kb_blank(const char *text, size_t size, struct kb_blanked *out)
{
    *out = (struct kb_blanked){.text = kb_alloc(size + 1), .size = size};
    if (size)
        memcpy(out->text, text, size);
    struct blanker b = {text, size, 0, out};
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        blank(&b, 3);
    while (b.at < size) {
        char c = text[b.at], next = peek(&b, 1);
        if (c == '/' && next == '/')
            line_comment(&b);
        else if (c == '/' && next == '*')
            block_comment(&b);
        else if (c == '"' || c == '\'')
            quote_here(&b);
        else if (c == '\r' || c == 0)
            blank(&b, 1);
        else
            b.at++;
    }
}

void kb_blanked_free(struct kb_blanked *b)
{
    free(b->text);
    free(b->line_comments);
    *b = (struct kb_blanked){0};
}

char *kb_source_blank(const char *text, size_t size)
{
    struct kb_blanked out;
    kb_blank(text, size, &out);
    free(out.line_comments);
    return out.text;
}

struct tokeniser {
    const struct kb_blanked *source;
    struct kb_tokens *out;
    size_t at;
    int line;
    int excluded; // depth of conditionals inside an `#if 0`; 0: nothing is excluded
    bool at_line_start;
};

static void add(struct tokeniser *t, enum kb_token_type type, size_t length)
{
    struct kb_tokens *out = t->out;
    KB_GROW(out->items, out->count, out->capacity);
    out->items[out->count++] = (struct kb_token){type, t->at, length, t->line};
}

static bool word_is(const char *word, size_t n, const char *want)
{
    return strlen(want) == n && !memcmp(word, want, n);
}

static void conditional(struct tokeniser *t, const char *word, size_t n, const char *rest)
{
    bool opens = word_is(word, n, "if") || word_is(word, n, "ifdef") || word_is(word, n, "ifndef");
    bool other = word_is(word, n, "else") || word_is(word, n, "elif") || word_is(word, n, "elifdef");
    bool closes = word_is(word, n, "endif");
    if (opens && !t->excluded) {
        rest += strspn(rest, " \t");
        add(t, KB_TOKEN_IF, 1);
        t->excluded = word_is(word, n, "if") && rest[0] == '0' && !kb_is_name_char(rest[1]) ? 1 : 0;
    } else if (opens) {
        t->excluded++;
    } else if (other && t->excluded <= 1) {
        t->excluded = 0;
        add(t, KB_TOKEN_ELSE, 1);
    } else if (closes) {
        if (t->excluded <= 1)
            add(t, KB_TOKEN_ENDIF, 1);
        t->excluded -= t->excluded > 0;
    }
}

// A whole directive, with its continuation lines.
static void preprocessor(struct tokeniser *t)
{
    const char *text = t->source->text, *p = text + t->at + 1;
    p += strspn(p, " \t");
    size_t n = 0;
    while (kb_is_name_char(p[n]))
        n++;
    conditional(t, p, n, p + n);
    for (; t->at < t->source->size; t->at++) {
        if (text[t->at] != '\n')
            continue;
        size_t last = t->at;
        while (last && (text[last - 1] == ' ' || text[last - 1] == '\t'))
            last--;
        if (!last || text[last - 1] != '\\')
            break;
        t->line++;
    }
}

static size_t run_of_name(const char *p)
{
    size_t n = 0;
    while (kb_is_name_char(p[n]))
        n++;
    return n;
}

static void token(struct tokeniser *t)
{
    const char *p = t->source->text + t->at;
    size_t n = run_of_name(p);
    enum kb_token_type type = n == 0 ? KB_TOKEN_PUNCT : is_digit(*p) ? KB_TOKEN_NUMBER : KB_TOKEN_NAME;
    if (!n)
        n = !strncmp(p, "...", 3) ? 3 : !strncmp(p, "::", 2) ? 2 : 1;
    if (!t->excluded)
        add(t, type, n);
    t->at += n;
}

void kb_tokenise(const struct kb_blanked *source, struct kb_tokens *out)
{
    *out = (struct kb_tokens){0};
    struct tokeniser t = {.source = source, .out = out, .line = 1, .at_line_start = true};
    while (t.at < source->size) {
        char c = source->text[t.at];
        if (c == '\n') {
            t.line++;
            t.at_line_start = true;
            t.at++;
        } else if (c == ' ' || c == '\t' || c == '\\' || c == '\f' || c == '\v') {
            t.at++;
        } else if (c == '#' && t.at_line_start) {
            preprocessor(&t);
        } else {
            t.at_line_start = false;
            token(&t);
        }
    }
    add(&t, KB_TOKEN_END, 0);
}

void kb_tokens_free(struct kb_tokens *t)
{
    free(t->items);
    *t = (struct kb_tokens){0};
}
