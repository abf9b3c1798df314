#include "watch/macro.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 1000, MOST_ARGUMENTS = 16 };

struct texts { // first in, first out
    char **list;
    size_t first, count, capacity;
};

static void push(struct texts *t, char *owned)
{
    KB_GROW(t->list, t->count, t->capacity);
    t->list[t->count++] = owned;
}

static void free_texts(struct texts *t)
{
    for (size_t i = t->first; i < t->count; i++)
        free(t->list[i]);
    free(t->list);
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\f\v");
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (in_word(p[n]))
        n++;
    return n;
}

static size_t literal_length(const char *p)
{
    size_t n = 1;
    while (p[n] && p[n] != p[0])
        n += p[n] == '\\' && p[n + 1] ? 2 : 1;
    return n + (p[n] != 0);
}

// Length of what begins at p: a literal, a word or number, or one character.
static size_t token_length(const char *p)
{
    size_t n = *p == '"' || *p == '\'' ? literal_length(p) : word_length(p);
    return n ? n : 1;
}

static char *trimmed(const char *p, size_t n)
{
    while (n && strchr(" \t\r\f\v", p[n - 1]))
        n--;
    size_t lead = strspn(p, " \t\r\f\v");
    return lead >= n ? kb_strdup("") : kb_strndup(p + lead, n - lead);
}

// What stands between parentheses: pieces of a text, divided by its outer commas.
struct arguments {
    const char *at[MOST_ARGUMENTS];
    size_t size[MOST_ARGUMENTS];
    int count;
    const char *end; // behind the closing parenthesis
};

static bool read_arguments(const char *open, bool variadic, int most, struct arguments *a)
{
    int depth = 0;
    const char *start = open + 1;
    *a = (struct arguments){0};
    for (const char *p = start; *p; p += token_length(p)) {
        bool divides = *p == ',' && !depth && !(variadic && a->count + 1 >= most);
        depth += *p == '(';
        if (divides || (*p == ')' && !depth)) {
            if (a->count == MOST_ARGUMENTS)
                return false;
            a->at[a->count] = start;
            a->size[a->count++] = (size_t)(p - start);
            start = p + 1;
        }
        if (*p == ')' && !depth--) {
            a->end = p + 1;
            return true;
        }
    }
    return false;
}

// Number of a macro's parameter, or -1. params: "a,b,..."
static int parameter_of(const char *params, const char *word, size_t n)
{
    int index = 0;
    for (const char *p = params; *p; index++) {
        size_t length = strcspn(p, ",");
        bool rest = length == 3 && !memcmp(p, "...", 3);
        if (rest ? n == 11 && !memcmp(word, "__VA_ARGS__", 11) : length == n && !memcmp(p, word, n))
            return index;
        p += length + (p[length] == ',');
    }
    return -1;
}

static int parameter_count(const char *params)
{
    int count = *params != 0;
    for (const char *p = params; *p; p++)
        count += *p == ',';
    return count;
}

static void drop_blanks(struct kb_text *t)
{
    while (t->size && strchr(" \t", t->data[t->size - 1]))
        t->data[--t->size] = 0;
}

static void add_argument(struct kb_text *out, const struct arguments *a, int index, bool quoted)
{
    char *text = index < a->count ? trimmed(a->at[index], a->size[index]) : kb_strdup("");
    kb_text_addf(out, quoted ? "\"%s\"" : "%s", text);
    free(text);
}

static void substitute(struct kb_text *out, const struct kb_include_define *d, const struct arguments *a)
{
    for (const char *p = d->body; *p;) {
        const char *behind = skip_blanks(p + 1);
        size_t n = token_length(p), next = word_length(behind);
        int index = d->params ? parameter_of(d->params, p, n) : -1;
        if (d->params && p[0] == '#' && p[1] == '#') {
            drop_blanks(out);
            p = skip_blanks(p + 2);
        } else if (d->params && p[0] == '#' && parameter_of(d->params, behind, next) >= 0) {
            add_argument(out, a, parameter_of(d->params, behind, next), true);
            p = behind + next;
        } else {
            if (index >= 0)
                add_argument(out, a, index, false);
            else
                kb_text_bytes(out, p, n);
            p += n;
        }
    }
}

// Whether a parameter stands in the body as itself somewhere, so that its argument's macros are replaced first.
static bool is_plain(const struct kb_include_define *d, int index)
{
    bool joined = false;
    for (const char *p = d->body; *p; p += token_length(p)) {
        size_t n = token_length(p);
        const char *behind = skip_blanks(p + n);
        if (parameter_of(d->params, p, n) == index && !joined && !(behind[0] == '#' && behind[1] == '#'))
            return true;
        if (*p != ' ' && *p != '\t')
            joined = *p == '#';
    }
    return false;
}

static bool expand_once(const struct kb_include_list *l, const char *text, struct texts *out);

static bool expand_arguments(const struct kb_include_list *l, const struct kb_include_define *d, const char *text,
                             const struct arguments *a, struct texts *out)
{
    for (int i = 0; i < a->count; i++) {
        struct texts alternatives = {0};
        char *argument = kb_strndup(a->at[i], a->size[i]);
        bool any = is_plain(d, i) && expand_once(l, argument, &alternatives);
        for (size_t k = 0; k < alternatives.count; k++)
            push(out, kb_format("%.*s%s%s", (int)(a->at[i] - text), text, alternatives.list[k], a->at[i] + a->size[i]));
        free(argument);
        free_texts(&alternatives);
        if (any)
            return true;
    }
    return false;
}

// The word at `at`, by one definition. False: it is a macro with parameters, and none stand here.
static bool replace(const struct kb_include_list *l, const struct kb_include_define *d, const char *text,
                    const char *at, size_t n, struct texts *out)
{
    struct arguments a = {.end = at + n};
    const char *open = skip_blanks(at + n);
    bool variadic = d->params && kb_ends(d->params, "...");
    if (d->params && (*open != '(' || !read_arguments(open, variadic, parameter_count(d->params), &a)))
        return false;
    if (d->params && expand_arguments(l, d, text, &a, out))
        return true;
    struct kb_text whole = {0};
    kb_text_bytes(&whole, text, (size_t)(at - text));
    substitute(&whole, d, &a);
    kb_text_add(&whole, a.end);
    push(out, kb_text_take(&whole));
    return true;
}

// The first macro in a text replaced, once by each of its definitions. False: there is none.
static bool expand_once(const struct kb_include_list *l, const char *text, struct texts *out)
{
    for (const char *p = text; *p; p += token_length(p)) {
        size_t n = isdigit((unsigned char)*p) ? 0 : word_length(p);
        bool any = false;
        for (size_t i = 0; n && i < l->define_count && out->count < MOST_STEPS; i++)
            if (strlen(l->defines[i].name) == n && !memcmp(l->defines[i].name, p, n))
                any |= replace(l, &l->defines[i], text, p, n, out);
        if (any)
            return true;
    }
    return false;
}

static int take_name(const char *text, int (*take)(void *, const struct kb_include *), void *context)
{
    char close = *text == '"' ? '"' : '>';
    const char *end = strchr(text + 1, close);
    if (!end || end == text + 1)
        return 0;
    struct kb_include include = {.form = close == '"' ? KB_INCLUDE_QUOTED : KB_INCLUDE_ANGLED,
                                 .name = kb_strndup(text + 1, (size_t)(end - text - 1))};
    int status = take(context, &include);
    free(include.name);
    return status;
}

bool kb_macro_headers(const struct kb_include_list *defines, const char *operand,
                      int (*take)(void *context, const struct kb_include *), void *context, int *status)
{
    struct texts work = {0};
    bool whole = true;
    *status = 0;
    push(&work, trimmed(operand, strlen(operand)));
    for (int step = 0; work.first < work.count && !*status; step++) {
        char *text = work.list[work.first++];
        const char *p = skip_blanks(text);
        bool named = *p == '"' || *p == '<', more = *p != '"' && step < MOST_STEPS && expand_once(defines, p, &work);
        if (named)
            *status = take_name(p, take, context);
        whole = whole && (named || more || !strcmp(p, "__FILE__"));
        free(text);
    }
    free_texts(&work);
    return whole;
}
