// A marker's place among the tokens decides what it becomes: in a kernel's own block a call that says which section
// begins; in a block inside of it, and in a function that it may call, first an object whose destructor says that the
// block was left, by its end, by break, continue or return.
#include "bench/instrument.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/kb_section.cuh"
#include "bench/source_lex.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = KB_SECTION_DEPTHS - 1, MOST_NESTING = 256 };

struct insertion {
    size_t at;
    char *text;
};
struct block { // the innermost one around a marker
    size_t open;
    int depth;    // 0: the function's body
    int first;    // index of the token behind its brace
    int function; // 0: a kernel
};
struct work {
    const char *text, *path;
    size_t size;
    struct kb_blanked blanked;
    struct kb_tokens tokens;
    struct kb_source source;
    struct insertion *list;
    int count, capacity;
    size_t functions[KB_SECTION_FUNCTIONS]; // offsets of the bodies that have markers, kernels left out
    int function_count;
    size_t *marked; // blocks that have their object
    int marked_count, marked_capacity;
    struct kb_trace_names *names;
    struct kb_error *e;
};

static int refuse(struct work *w, int line, const char *remedy, const char *what)
{
    char *on = kb_format("%s:%d", w->path, line);
    kb_fail(w->e, on, remedy, "%s", what);
    free(on);
    return -1;
}

static void insert(struct work *w, size_t at, char *text)
{
    KB_GROW(w->list, w->count, w->capacity);
    w->list[w->count++] = (struct insertion){at, text};
}

static bool token_is(const struct work *w, int i, const char *want)
{
    const struct kb_token *t = &w->tokens.items[i];
    return (t->type == KB_TOKEN_NAME || t->type == KB_TOKEN_PUNCT) && t->length == strlen(want) &&
           !memcmp(w->blanked.text + t->at, want, t->length);
}

// Names

static int add_name(struct work *w, const char *name, int line, unsigned *id)
{
    struct kb_trace_names *n = w->names;
    *id = kb_section_id(name);
    for (int i = 0; i < n->count; i++) {
        if (n->items[i].id != *id)
            continue;
        if (!strcmp(n->items[i].name, name))
            return 0;
        char *what = kb_format("the sections \"%s\" and \"%s\" have the same number", name, n->items[i].name);
        int status = refuse(w, line, "rename one of them", what);
        free(what);
        return status;
    }
    KB_GROW(n->items, n->count, n->capacity);
    n->items[n->count++] = (struct kb_trace_name){kb_strdup(name), kb_strdup(w->path), line, *id};
    return 0;
}

// KB_SECTION("name"): the literal is a blank in the blanked text.
static int take_macro(struct work *w, int i)
{
    const struct kb_token *open = &w->tokens.items[i + 1];
    const char *p = w->text + open->at + 1, *end = w->text + w->size;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (!token_is(w, i + 1, "(") || p >= end || *p != '"')
        return 0; // not by a literal: the timeline shows its number
    const char *quote = memchr(p + 1, '"', (size_t)(end - p - 1));
    if (!quote)
        return 0;
    char *name = kb_strndup(p + 1, (size_t)(quote - p - 1));
    unsigned id;
    int status = add_name(w, name, open->line, &id);
    free(name);
    return status;
}

static int take_macros(struct work *w)
{
    for (int i = 0; i + 1 < w->tokens.count; i++)
        if (token_is(w, i, "KB_SECTION") && take_macro(w, i))
            return -1;
    return 0;
}

// Places

static bool is_conditional(const struct kb_token *t)
{
    return t->type == KB_TOKEN_IF || t->type == KB_TOKEN_ELSE || t->type == KB_TOKEN_ENDIF;
}

// Index of the last token before this place; conditionals of the preprocessor are no tokens here. -1: none.
static int token_before(const struct work *w, size_t at)
{
    int found = -1;
    for (int i = 0; i < w->tokens.count && w->tokens.items[i].at < at; i++)
        if (!is_conditional(&w->tokens.items[i]))
            found = i;
    return found;
}

static const struct kb_source_body *kernel_of(const struct work *w, size_t open)
{
    for (int i = 0; i < w->source.body_count; i++)
        if (w->source.bodies[i].open == open)
            return &w->source.bodies[i];
    return NULL;
}

// The brace at token i opens the body of a function for the device: behind its parameters, with __device__ in its
// declaration.
static bool opens_function(const struct work *w, int i)
{
    bool device = false;
    for (int k = i - 1; k >= 0 && !device; k--) {
        if (token_is(w, k, ";") || token_is(w, k, "{") || token_is(w, k, "}"))
            break;
        device = token_is(w, k, "__device__");
    }
    return device;
}

// The braces around a place. Returns how many.
static int braces_around(const struct work *w, size_t at, int open[MOST_NESTING])
{
    int depth = 0;
    for (int i = 0; i < w->tokens.count && w->tokens.items[i].at < at; i++) {
        if (token_is(w, i, "{")) {
            if (depth < MOST_NESTING)
                open[depth] = i;
            depth++;
        } else if (token_is(w, i, "}") && depth > 0) {
            depth--;
        }
    }
    return depth > MOST_NESTING ? MOST_NESTING : depth;
}

// Functions are told apart by number, so that one that is called inside a section of another is not taken for it.
static int number_of(struct work *w, size_t open)
{
    for (int i = 0; i < w->function_count; i++)
        if (w->functions[i] == open)
            return w->names->functions + i + 1;
    if (w->function_count < (int)KB_COUNT(w->functions))
        w->functions[w->function_count++] = open;
    return w->names->functions + w->function_count;
}

// false: the marker is in no function that a kernel could run.
static bool block_around(struct work *w, size_t at, struct block *out)
{
    int open[MOST_NESTING], count = braces_around(w, at, open);
    for (int i = 0; i < count; i++) {
        size_t body = w->tokens.items[open[i]].at;
        bool kernel = kernel_of(w, body) != NULL;
        if (!kernel && !opens_function(w, open[i]))
            continue;
        int inner = open[count - 1], number = kernel ? 0 : number_of(w, body) % KB_SECTION_FUNCTIONS;
        *out = (struct block){w->tokens.items[inner].at, count - 1 - i, inner + 1, number};
        return true;
    }
    return false;
}

// A jump to a label behind the marker would jump over the object.
static bool label_behind(const struct work *w, const struct block *b, size_t at)
{
    int depth = 0;
    for (int i = b->first; i < w->tokens.count && depth >= 0; i++) {
        depth += token_is(w, i, "{") ? 1 : token_is(w, i, "}") ? -1 : 0;
        if (depth == 0 && w->tokens.items[i].at > at && (token_is(w, i, "case") || token_is(w, i, "default")))
            return true;
    }
    return false;
}

// The line of code before the marker's is a #pragma: it means the statement behind it.
static bool behind_pragma(const struct work *w, size_t at)
{
    const char *text = w->blanked.text, *line = text + at;
    while (line > text) {
        while (line > text && line[-1] != '\n')
            line--;
        size_t blanks = strspn(line, " \t");
        if (line[blanks] == '#') {
            line += blanks + 1;
            return kb_starts(line + strspn(line, " \t"), "pragma");
        }
        if (line + blanks < text + at && line[blanks] != '\n')
            return false;
        line -= line > text;
    }
    return false;
}

static bool is_marked(const struct work *w, size_t open)
{
    for (int i = 0; i < w->marked_count; i++)
        if (w->marked[i] == open)
            return true;
    return false;
}

static int check_place(struct work *w, const struct kb_directive *d, const struct block *b)
{
    int before = token_before(w, d->at);
    bool statement = before >= 0 && (token_is(w, before, ";") || token_is(w, before, "{") || token_is(w, before, "}") ||
                                     token_is(w, before, ":"));
    if (!statement)
        return refuse(w, d->line, "put it on a line of its own, between two statements",
                      "a section cannot begin in the middle of a statement");
    if (behind_pragma(w, d->at))
        return refuse(w, d->line, "put it above the #pragma", "a section cannot begin between a #pragma and its loop");
    if ((b->depth || b->function) && label_behind(w, b, d->at))
        return refuse(w, d->line, "give the lines of this case braces of their own",
                      "a section cannot begin before another case of the same switch");
    if (b->depth > MOST_DEPTH)
        return refuse(w, d->line, "mark a block further out", "a section in more than 15 blocks inside each other");
    return 0;
}

static int mark(struct work *w, const struct kb_directive *d)
{
    struct block b;
    unsigned id;
    if (!block_around(w, d->at, &b))
        return 0;
    if (check_place(w, d, &b) || add_name(w, d->key, d->line, &id))
        return -1;
    unsigned place = (unsigned)b.function << 24 | (unsigned)b.depth << 20;
    if ((b.depth || b.function) && !is_marked(w, b.open)) {
        KB_GROW(w->marked, w->marked_count, w->marked_capacity);
        w->marked[w->marked_count++] = b.open;
        insert(w, d->at, kb_format("::kb_section_block kb_section_block_%d(0x%xu); ", d->line, place));
    }
    insert(w, d->at, kb_format("::kb_section_at(0x%xu, 0x%xu); ", place, id));
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct insertion *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at ? 1 : strcmp(y->text, x->text); // "…_block" goes before "…_at"
}

static void put_together(struct work *w, struct kb_instrumented *out)
{
    struct kb_text t = {0};
    size_t at = 0;
    if (w->count)
        qsort(w->list, (size_t)w->count, sizeof *w->list, by_place);
    for (int i = 0; i < w->count; i++) {
        kb_text_bytes(&t, w->text + at, w->list[i].at - at);
        kb_text_add(&t, w->list[i].text);
        at = w->list[i].at;
    }
    kb_text_bytes(&t, w->text + at, w->size - at);
    out->size = t.size;
    out->text = kb_text_take(&t);
}

static int instrument(struct work *w)
{
    for (int i = 0; i < w->source.body_count; i++)
        insert(w, w->source.bodies[i].open + 1, kb_strdup(" ::kb_section_kernel kb_section_kernel_;"));
    for (int i = 0; i < w->source.directive_count; i++)
        if (w->source.directives[i].kind == KB_DIRECTIVE_SECTION && mark(w, &w->source.directives[i]))
            return -1;
    return take_macros(w);
}

int kb_instrument(const char *text, size_t size, const char *path, struct kb_instrumented *out,
                  struct kb_trace_names *names, struct kb_error *e)
{
    struct work w = {.text = text, .size = size, .path = path, .names = names, .e = e};
    *out = (struct kb_instrumented){0};
    if (kb_source_scan(text, size, path, &w.source, e))
        return -1;
    kb_blank(text, size, &w.blanked);
    kb_tokenise(&w.blanked, &w.tokens);
    int status = instrument(&w);
    if (!status)
        put_together(&w, out);
    names->functions += w.function_count;
    out->kernels = w.source.body_count;
    for (int i = 0; i < w.count; i++)
        free(w.list[i].text);
    free(w.list);
    free(w.marked);
    kb_tokens_free(&w.tokens);
    kb_blanked_free(&w.blanked);
    kb_source_free(&w.source);
    return status;
}

void kb_trace_names_free(struct kb_trace_names *n)
{
    for (int i = 0; i < n->count; i++) {
        free(n->items[i].name);
        free(n->items[i].file);
    }
    free(n->items);
    *n = (struct kb_trace_names){0};
}
