#include "watch/include.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Phase one: the text with continued lines joined, comments turned into a blank and raw strings emptied, so that phase
// two sees one directive a line.
struct flattener {
    const char *at, *end;
    struct kb_text out;
    size_t line; // where the current line starts in out
};

// A backslash before a line end joins the lines, also before CR LF.
static void skip_splices(struct flattener *f)
{
    for (;;) {
        if (f->end - f->at >= 2 && f->at[0] == '\\' && f->at[1] == '\n')
            f->at += 2;
        else if (f->end - f->at >= 3 && f->at[0] == '\\' && f->at[1] == '\r' && f->at[2] == '\n')
            f->at += 3;
        else
            return;
    }
}

static int peek(struct flattener *f)
{
    skip_splices(f);
    return f->at < f->end ? (unsigned char)*f->at : -1;
}

static int peek_second(struct flattener *f)
{
    struct flattener ahead = {.at = f->at, .end = f->end};
    if (peek(&ahead) < 0)
        return -1;
    ahead.at++;
    return peek(&ahead);
}

static void emit(struct flattener *f, char c)
{
    kb_text_bytes(&f->out, &c, 1);
    if (c == '\n')
        f->line = f->out.size;
}

static void copy_one(struct flattener *f)
{
    int c = peek(f);
    if (c < 0)
        return;
    f->at++;
    emit(f, (char)c);
}

static void skip_comment(struct flattener *f)
{
    bool block = peek_second(f) == '*';
    peek(f), f->at++;
    peek(f), f->at++;
    for (int c = peek(f); c >= 0; c = peek(f)) {
        if (!block && c == '\n')
            break;
        bool last = block && c == '*' && peek_second(f) == '/';
        f->at++;
        if (last) {
            peek(f), f->at++;
            break;
        }
    }
    emit(f, ' ');
}

// A string or character literal; one that is not closed ends with its line, as in "#error don't".
static void copy_literal(struct flattener *f, char quote)
{
    copy_one(f);
    for (int c = peek(f); c >= 0 && c != '\n'; c = peek(f)) {
        copy_one(f);
        if (c == quote)
            return;
        if (c == '\\' && peek(f) != '\n')
            copy_one(f);
    }
}

// The identifier or number that ends right behind out, from its first character.
static const char *last_word(const struct flattener *f, size_t *length)
{
    size_t start = f->out.size;
    while (start > f->line && (isalnum((unsigned char)f->out.data[start - 1]) || f->out.data[start - 1] == '_' ||
                               f->out.data[start - 1] == '\''))
        start--;
    *length = f->out.size - start;
    return *length ? f->out.data + start : "";
}

static bool opens_raw_string(const struct flattener *f)
{
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    size_t length;
    const char *word = last_word(f, &length);
    for (size_t i = 0; i < KB_COUNT(prefixes); i++)
        if (strlen(prefixes[i]) == length && !memcmp(word, prefixes[i], length))
            return true;
    return false;
}

// R"mark( ... )mark" leaves nothing but "" behind: what is in it is no directive.
static void skip_raw_string(struct flattener *f)
{
    const char *open = f->at + 1, *mark = open;
    while (mark < f->end && *mark != '(' && *mark != '\n' && mark - open <= 16)
        mark++;
    kb_text_add(&f->out, "\"\"");
    if (mark >= f->end || *mark != '(') {
        f->at++;
        return;
    }
    size_t length = (size_t)(mark - open);
    for (const char *p = mark + 1; (size_t)(f->end - p) >= length + 2; p++) {
        if (p[0] == ')' && !memcmp(p + 1, open, length) && p[length + 1] == '"') {
            f->at = p + length + 2;
            return;
        }
    }
    f->at = f->end;
}

static bool is_digit_separator(const struct flattener *f)
{
    size_t length;
    const char *word = last_word(f, &length);
    return length && isdigit((unsigned char)word[0]);
}

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\f' || *p == '\v' || *p == '\r')
        p++;
    return p;
}

// Behind "#" or "%:" at the start of a line; NULL if this is no directive.
static const char *directive(const char *line)
{
    const char *p = skip_blanks(line);
    if (*p == '#')
        return skip_blanks(p + 1);
    return p[0] == '%' && p[1] == ':' ? skip_blanks(p + 2) : NULL;
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_' || (p[n] & 0x80))
        n++;
    return n;
}

static bool is_word(const char *p, const char *word)
{
    return word_length(p) == strlen(word) && kb_starts(p, word);
}

static bool is_include(const char *p)
{
    return is_word(p, "include") || is_word(p, "include_next") || is_word(p, "import");
}

// In "#include <a//b>" there is no comment.
static bool opens_header_name(const struct flattener *f)
{
    if (f->out.size == f->line)
        return false;
    const char *p = directive(f->out.data + f->line);
    if (!p)
        return false;
    bool condition = is_word(p, "if") || is_word(p, "elif");
    return condition ? strstr(p, "__has_include") != NULL : is_include(p) && !*skip_blanks(p + word_length(p));
}

static void copy_header_name(struct flattener *f)
{
    int c;
    do {
        c = peek(f);
        if (c == '\n' || c < 0)
            return;
        copy_one(f);
    } while (c != '>');
}

static char *flatten(const char *text, size_t size)
{
    struct flattener f = {.at = text, .end = text + size};
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        f.at += 3;
    for (int c = peek(&f); c >= 0; c = peek(&f)) {
        int second = c == '/' ? peek_second(&f) : 0;
        if (second == '/' || second == '*')
            skip_comment(&f);
        else if (c == '"' && opens_raw_string(&f))
            skip_raw_string(&f);
        else if (c == '"' || (c == '\'' && !is_digit_separator(&f)))
            copy_literal(&f, (char)c);
        else if (c == '<' && opens_header_name(&f))
            copy_header_name(&f);
        else if (c == 0)
            f.at++;
        else
            copy_one(&f);
    }
    return kb_text_take(&f.out);
}

// A header's name at p, or what has to become one: all up to the line's end, or to `close`. False if there is nothing.
static bool read_name(const char *p, char close, struct kb_include *out)
{
    char mark = *p == '"' ? '"' : *p == '<' ? '>' : 0;
    if (mark) {
        const char *end = strchr(p + 1, mark);
        if (!end || end == p + 1)
            return false;
        out->form = mark == '"' ? KB_INCLUDE_QUOTED : KB_INCLUDE_ANGLED;
        out->name = kb_strndup(p + 1, (size_t)(end - p - 1));
        return true;
    }
    size_t n = isdigit((unsigned char)*p) ? 0 : word_length(p);
    int depth = 0;
    for (; n && p[n] && (depth || p[n] != close || !close); n++)
        depth += (p[n] == '(') - (p[n] == ')');
    while (n && strchr(" \t\r", p[n - 1]))
        n--;
    if (!n)
        return false;
    out->form = KB_INCLUDE_MACRO;
    out->name = kb_strndup(p, n);
    return true;
}

static void add_include(struct kb_include_list *list, struct kb_include include)
{
    KB_GROW(list->includes, list->include_count, list->include_capacity);
    list->includes[list->include_count++] = include;
}

// What a header's name is made of is short.
enum { BODY_MOST = 400 };

static void add_define(struct kb_include_list *list, const char *name, size_t n, char *params, const char *body)
{
    size_t size = strlen(body);
    while (size && strchr(" \t\r", body[size - 1]))
        size--;
    KB_GROW(list->defines, list->define_count, list->define_capacity);
    list->defines[list->define_count++] =
        (struct kb_include_define){kb_strndup(name, n), kb_strndup(body, size), params};
}

static char *read_params(const char *p, size_t n)
{
    struct kb_text out = {0};
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t", p[i]))
            kb_text_bytes(&out, p + i, 1);
    return kb_text_take(&out);
}

static void read_define(struct kb_include_list *list, const char *p)
{
    size_t n = word_length(p);
    const char *close = p[n] == '(' ? strchr(p + n, ')') : NULL;
    if (!n || (p[n] == '(' && !close))
        return;
    const char *body = skip_blanks(close ? close + 1 : p + n);
    if (!*body || strlen(body) > BODY_MOST)
        return;
    add_define(list, p, n, close ? read_params(p + n + 1, (size_t)(close - p) - n - 1) : NULL, body);
}

void kb_include_define(struct kb_include_list *list, const char *define)
{
    size_t n = word_length(define);
    if (n && define[n] == '=' && strlen(define) <= BODY_MOST)
        add_define(list, define, n, NULL, skip_blanks(define + n + 1));
}

static void read_conditions(struct kb_include_list *list, const char *line)
{
    for (const char *p = line; (p = strstr(p, "__has_include"));) {
        p = skip_blanks(p + word_length(p));
        struct kb_include include = {.condition = true};
        if (*p == '(' && read_name(skip_blanks(p + 1), ')', &include))
            add_include(list, include);
    }
}

static void read_line(struct kb_include_list *list, const char *line)
{
    const char *p = directive(line);
    if (!p)
        return;
    const char *rest = skip_blanks(p + word_length(p));
    struct kb_include include = {.next = is_word(p, "include_next")};
    if (is_include(p)) {
        if (read_name(rest, 0, &include))
            add_include(list, include);
    } else if (is_word(p, "define")) {
        read_define(list, rest);
    } else if (is_word(p, "if") || is_word(p, "elif")) {
        read_conditions(list, rest);
    }
}

void kb_include_scan(const char *text, size_t size, struct kb_include_list *list)
{
    char *flat = flatten(text, size), *rest = NULL;
    for (char *line = strtok_r(flat, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(list, line);
    free(flat);
}

void kb_include_list_free(struct kb_include_list *list)
{
    for (size_t i = 0; i < list->include_count; i++)
        free(list->includes[i].name);
    for (size_t i = 0; i < list->define_count; i++) {
        free(list->defines[i].name);
        free(list->defines[i].body);
        free(list->defines[i].params);
    }
    free(list->includes);
    free(list->defines);
    *list = (struct kb_include_list){0};
}
