#include "jit/ptx/lex.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ptx_lex_fail(struct ptx_lexer *x, const char *format, ...)
{
    if (x->failed)
        return;
    x->failed = true;
    char what[512], on[64];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    snprintf(on, sizeof on, "PTX line %d", x->token_line ? x->token_line : x->line);
    kb_fail(x->error, on, "the CPU device takes the PTX text of NVRTC or nvcc -ptx", "%s", what);
    x->at = x->end;
    x->token = (struct ptx_token){.kind = PTX_BAD, .start = x->end};
}

static void skip_comment(struct ptx_lexer *x)
{
    x->token_line = x->line;
    for (x->at += 2; x->at < x->end; x->at++) {
        if (*x->at == '\n')
            x->line++;
        if (*x->at == '*' && x->end - x->at > 1 && x->at[1] == '/') {
            x->at += 2;
            return;
        }
    }
    ptx_lex_fail(x, "a comment is not closed");
}

static void skip_blanks(struct ptx_lexer *x)
{
    while (x->at < x->end) {
        char c = *x->at;
        if (c == '\n')
            x->line++;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') {
            x->at++;
        } else if (c == '/' && x->end - x->at > 1 && x->at[1] == '/') {
            const char *n = memchr(x->at, '\n', (size_t)(x->end - x->at));
            x->at = n ? n : x->end;
        } else if (c == '/' && x->end - x->at > 1 && x->at[1] == '*') {
            skip_comment(x);
        } else {
            return;
        }
    }
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static void lex_word(struct ptx_lexer *x)
{
    const char *p = x->at + 1;
    bool directive = *x->at == '.'; // ".reg.b16" is two words, "ld.global" one
    while (p < x->end) {
        bool next = p + 1 < x->end && word_char(p[1]) && !directive;
        if (word_char(*p) || (*p == '.' && next))
            p++;
        else if (*p == ':' && x->end - p > 2 && p[1] == ':' && word_char(p[2]))
            p += 2;
        else
            break;
    }
    x->token = (struct ptx_token){.kind = PTX_WORD, .start = x->at, .size = (size_t)(p - x->at)};
    x->at = p;
}

static int hex_bits(struct ptx_lexer *x, const char *p, int digits, uint64_t *bits)
{
    int n = 0;
    for (*bits = 0; p + n < x->end && isxdigit((unsigned char)p[n]) && n < digits; n++) {
        char c = p[n];
        *bits = *bits * 16 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    return n;
}

static void lex_decimal(struct ptx_lexer *x, const char *start)
{
    char copy[64];
    size_t n = 0;
    bool real = false;
    for (const char *p = start; p < x->end && n + 1 < sizeof copy; p++, n++) {
        bool sign = (*p == '+' || *p == '-') && n && (copy[n - 1] | 32) == 'e';
        if (!isdigit((unsigned char)*p) && *p != '.' && (*p | 32) != 'e' && !sign)
            break;
        real |= !isdigit((unsigned char)*p);
        copy[n] = *p;
    }
    copy[n] = 0;
    x->at = start + n;
    if (!real) {
        x->token.bits = strtoull(copy, NULL, copy[0] == '0' ? 8 : 10);
        return;
    }
    double value = strtod(copy, NULL);
    x->token.kind = PTX_DOUBLE;
    memcpy(&x->token.bits, &value, sizeof value);
}

static void lex_number(struct ptx_lexer *x)
{
    const char *p = x->at;
    x->token = (struct ptx_token){.kind = PTX_INTEGER, .start = p};
    char second = x->end - p > 1 ? (char)(p[1] | 32) : 0;
    int digits = 0;
    if (*p == '0' && second == 'f' && (digits = hex_bits(x, p + 2, 8, &x->token.bits)) == 8) {
        x->token.kind = PTX_SINGLE;
        x->at = p + 10;
    } else if (*p == '0' && second == 'd' && (digits = hex_bits(x, p + 2, 16, &x->token.bits)) == 16) {
        x->token.kind = PTX_DOUBLE;
        x->at = p + 18;
    } else if (*p == '0' && second == 'x' && (digits = hex_bits(x, p + 2, 16, &x->token.bits)) > 0) {
        x->at = p + 2 + digits;
    } else if (*p == '0' && second == 'b') {
        for (p += 2; p < x->end && (*p == '0' || *p == '1'); p++)
            x->token.bits = x->token.bits * 2 + (uint64_t)(*p - '0');
        x->at = p;
    } else {
        lex_decimal(x, p);
    }
    if (x->token.kind == PTX_INTEGER && x->at < x->end && (*x->at | 32) == 'u')
        x->at++;
    if (x->at < x->end && word_char(*x->at)) {
        ptx_lex_fail(x, "a number goes on with '%c'", *x->at);
        return;
    }
    x->token.size = (size_t)(x->at - x->token.start);
}

static void lex_string(struct ptx_lexer *x)
{
    const char *p = x->at + 1;
    while (p < x->end && *p != '"' && *p != '\n')
        p += *p == '\\' && x->end - p > 1 ? 2 : 1;
    if (p >= x->end || *p != '"') {
        ptx_lex_fail(x, "a string is not closed");
        return;
    }
    x->token = (struct ptx_token){.kind = PTX_STRING, .start = x->at + 1, .size = (size_t)(p - x->at - 1)};
    x->at = p + 1;
}

void ptx_next(struct ptx_lexer *x)
{
    if (x->failed)
        return;
    skip_blanks(x);
    x->token_line = x->line;
    if (x->failed)
        return;
    if (x->at >= x->end || *x->at == 0) {
        x->token = (struct ptx_token){.kind = PTX_END, .start = x->end};
        return;
    }
    char c = *x->at;
    bool next = x->end - x->at > 1 && word_char(x->at[1]);
    if (isdigit((unsigned char)c)) {
        lex_number(x);
    } else if (word_char(c) || ((c == '.' || c == '%') && next)) {
        lex_word(x);
    } else if (c == '"') {
        lex_string(x);
    } else if (strchr("{}()[]<>,;:+-*/!@|=&~^%?#.", c)) {
        x->token = (struct ptx_token){.kind = PTX_PUNCT, .start = x->at, .size = 1, .bits = (unsigned char)c};
        x->at++;
    } else {
        ptx_lex_fail(x, "unexpected byte 0x%02x", (unsigned char)c);
    }
}

void ptx_lex_start(struct ptx_lexer *x, const char *text, size_t size, struct kb_error *e)
{
    *x = (struct ptx_lexer){.at = text, .end = text + size, .line = 1, .error = e};
    ptx_next(x);
}

bool ptx_is(const struct ptx_lexer *x, const char *word)
{
    const struct ptx_token *t = &x->token;
    return (t->kind == PTX_WORD || t->kind == PTX_PUNCT) && strlen(word) == t->size && !memcmp(t->start, word, t->size);
}

bool ptx_take(struct ptx_lexer *x, const char *word)
{
    if (!ptx_is(x, word))
        return false;
    ptx_next(x);
    return true;
}

bool ptx_expect(struct ptx_lexer *x, const char *word)
{
    if (ptx_take(x, word))
        return true;
    if (x->token.kind == PTX_END)
        ptx_lex_fail(x, "the text ends where '%s' was expected", word);
    else
        ptx_lex_fail(x, "'%s' expected, found '%.*s'", word, (int)(x->token.size > 40 ? 40 : x->token.size),
                     x->token.start);
    return false;
}

void ptx_skip_braces(struct ptx_lexer *x)
{
    while (x->token.kind != PTX_END && x->token.kind != PTX_BAD && !ptx_is(x, "{"))
        ptx_next(x);
    if (x->token.kind != PTX_PUNCT) {
        ptx_lex_fail(x, "the text ends where '{' was expected");
        return;
    }
    // Inside there is debug data that need not be made of PTX words.
    int depth = 1;
    for (; x->at < x->end && depth; x->at++) {
        x->line += *x->at == '\n';
        depth += (*x->at == '{') - (*x->at == '}');
    }
    if (depth)
        ptx_lex_fail(x, "a section is not closed");
    ptx_next(x);
}
