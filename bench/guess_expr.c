// Integer expressions of host code, in the language of bench files.
#include "base/memory.h"
#include "base/text.h"
#include "bench/guess_code.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 24, MOST_PARTS = 4, MOST_TEXT = 2000 };

struct reader {
    const struct kb_code_scope *scope;
    struct kb_code_range r; // r.from: the next token
    int depth;
    bool failed;
};

static char *sum(struct reader *x);
static char *inside(struct reader *x, struct kb_code_range r);
static int numbers_of(const struct kb_code_scope *scope, struct kb_code_range r, char *out[3]);

static bool at(const struct reader *x, const char *want)
{
    return x->r.from < x->r.to && kb_code_is(x->r.in, x->r.from, want);
}

static bool take(struct reader *x, const char *want)
{
    bool here = at(x, want);
    x->r.from += here;
    return here;
}

const char *kb_code_meaning(const struct kb_code_scope *scope, const char *name)
{
    for (int i = 0; i < scope->count; i++)
        if (!strcmp(scope->names[i].name, name))
            return scope->names[i].means;
    return NULL;
}

static char *unknown(struct reader *x)
{
    x->failed = true;
    return kb_strdup("0");
}

// "1024", "0x400u", "256.0f": the digits of an integer.
static char *number(struct reader *x)
{
    char *text = kb_code_join((struct kb_code_range){x->r.in, x->r.from, x->r.from + 1}), *end = text;
    x->r.from++;
    unsigned long long value = strtoull(text, &end, 0);
    bool whole = !end[strspn(end, "uUlLfF")];
    free(text);
    if (take(x, ".") && x->r.from < x->r.to && x->r.in->tokens.items[x->r.from].type == KB_TOKEN_NUMBER) {
        text = kb_code_join((struct kb_code_range){x->r.in, x->r.from++, x->r.from});
        whole = whole && !text[strspn(text, "0fF")];
        free(text);
    }
    return whole && value < 1ull << 40 ? kb_format("%llu", value) : unknown(x);
}

static bool is_type(struct kb_code_range r)
{
    int pointers;
    bool is_const, known;
    struct kb_element element;
    char *text = kb_code_join(r);
    known = kb_element_of_type(NULL, text, &element, &pointers, &is_const);
    free(text);
    return known;
}

static char *size_of(struct reader *x, struct kb_code_range r)
{
    int pointers;
    bool is_const, known;
    struct kb_element element;
    char *text = kb_code_join(r);
    known = kb_element_of_type(x->scope->code, text, &element, &pointers, &is_const);
    free(text);
    if (pointers)
        return kb_strdup("8");
    return known ? kb_format("%zu", kb_dtype_bytes(element.dtype) * (size_t)element.lanes) : unknown(x);
}

static char *two(struct reader *x, const char *function, const struct kb_code_range parts[2])
{
    char *a = inside(x, parts[0]), *b = inside(x, parts[1]), *out = kb_format("%s(%s,%s)", function, a, b);
    free(a);
    free(b);
    return out;
}

// ceil(a / b), where the division is that of reals.
static char *ceiling(struct reader *x, struct kb_code_range r)
{
    int depth = 0;
    for (int i = r.to - 1; i > r.from; i--) {
        depth += kb_code_is(r.in, i, ")") - kb_code_is(r.in, i, "(");
        if (depth || !kb_code_is(r.in, i, "/"))
            continue;
        struct kb_code_range parts[2] = {{r.in, r.from, i}, {r.in, i + 1, r.to}};
        return two(x, "ceil_div", parts);
    }
    return inside(x, r);
}

static char *call(struct reader *x, const char *name, struct kb_code_range r)
{
    struct kb_code_range parts[MOST_PARTS];
    int count = kb_code_split(r, parts, MOST_PARTS);
    bool divides = strcasestr(name, "div") || strcasestr(name, "ceil");
    if (!strcmp(name, "sizeof"))
        return size_of(x, r);
    if (count == 1 && (!strcmp(name, "ceil") || !strcmp(name, "ceilf")))
        return ceiling(x, r);
    if (count == 2 && (!strcmp(name, "min") || !strcmp(name, "max")))
        return two(x, name, parts);
    if (count == 2 && divides)
        return two(x, "ceil_div", parts);
    if (count == 1 && (!strcmp(name, "int") || !strcmp(name, "unsigned") || !strcmp(name, "size_t")))
        return inside(x, r);
    return unknown(x);
}

static char *component(struct reader *x, const struct kb_definition *d)
{
    static const char *const axes[] = {"x", "y", "z"};
    char *dims[3] = {0}, *out = NULL;
    struct kb_code_scope deeper = *x->scope;
    deeper.depth = x->depth + 1;
    for (int i = 0; i < 3; i++) {
        if (!at(x, axes[i]))
            continue;
        int count = x->depth >= MOST_DEPTH ? 0
                    : d->is_dims           ? numbers_of(&deeper, d->range, dims)
                                           : kb_code_dims(&deeper, d->range, dims);
        out = count ? kb_strdup(i < count ? dims[i] : "1") : NULL;
    }
    x->r.from++;
    for (int i = 0; i < 3; i++)
        free(dims[i]);
    return out ? out : unknown(x);
}

static char *named(struct reader *x, const char *name, struct kb_code_range here)
{
    if (kb_code_meaning(x->scope, name))
        return kb_strdup(kb_code_meaning(x->scope, name));
    const struct kb_definition *d = kb_code_value(x->scope->code, name, here);
    if (!d)
        return unknown(x);
    if (take(x, "."))
        return component(x, d);
    char *inner = d->is_dims ? unknown(x) : inside(x, d->range), *out = kb_format("(%s)", inner);
    free(inner);
    return out;
}

static char *word(struct reader *x)
{
    struct kb_code_range here = {x->r.in, x->r.from, x->r.from + 1};
    while (at(x, "std") || at(x, "::") || at(x, "static_cast"))
        x->r.from++;
    if (take(x, "<")) { // of the cast
        while (x->r.from < x->r.to && !take(x, ">"))
            x->r.from++;
        return sum(x);
    }
    char *name = kb_code_join((struct kb_code_range){x->r.in, x->r.from, x->r.from + 1}), *out;
    x->r.from += x->r.from < x->r.to;
    if (at(x, "(")) {
        int close = kb_code_close(x->r.in, x->r.from, x->r.to);
        out = call(x, name, (struct kb_code_range){x->r.in, x->r.from + 1, close});
        x->r.from = close < x->r.to ? close + 1 : x->r.to;
    } else {
        out = named(x, name, here);
    }
    free(name);
    return out;
}

static char *primary(struct reader *x)
{
    enum kb_token_type type = x->r.from < x->r.to ? x->r.in->tokens.items[x->r.from].type : KB_TOKEN_END;
    if (x->failed || type == KB_TOKEN_END)
        return unknown(x);
    if (type == KB_TOKEN_NUMBER)
        return number(x);
    if (type == KB_TOKEN_NAME)
        return word(x);
    if (!at(x, "("))
        return unknown(x);
    int close = kb_code_close(x->r.in, x->r.from, x->r.to);
    struct kb_code_range r = {x->r.in, x->r.from + 1, close};
    x->r.from = close < x->r.to ? close + 1 : x->r.to;
    if (is_type(r)) // a cast
        return primary(x);
    char *inner = inside(x, r), *out = kb_format("(%s)", inner);
    free(inner);
    return out;
}

static char *joined(char *a, const char *operator, char * b)
{
    char *out = kb_format("%s%s%s", a, operator, b);
    free(a);
    free(b);
    return out;
}

static char *product(struct reader *x)
{
    char *out = primary(x);
    for (;;) {
        const char *operator= take(x, "*") ? "*" : take(x, "/") ? "/" : take(x, "%") ? "%" : NULL;
        if (!operator)
            return out;
        out = joined(out, operator, primary(x));
    }
}

static char *difference(struct reader *x)
{
    char *out = product(x);
    for (;;) {
        const char *operator= take(x, "+") ? "+" : take(x, "-") ? "-" : NULL;
        if (!operator)
            return out;
        out = joined(out, operator, product(x));
    }
}

// Shifts by a number, as products and quotients.
static char *sum(struct reader *x)
{
    char *out = difference(x);
    while (!x->failed && (at(x, "<") || at(x, ">"))) {
        const char *side = at(x, "<") ? "<" : ">";
        x->r.from++;
        char *bits = take(x, side) ? difference(x) : unknown(x), *end;
        long shift = strtol(bits, &end, 10);
        bool fits = *bits && !*end && shift >= 0 && shift < 40;
        char *both = fits ? kb_format("(%s)%s%lld", out, *side == '<' ? "*" : "/", 1ll << shift) : unknown(x);
        free(bits);
        free(out);
        out = both;
    }
    return out;
}

static char *inside(struct reader *x, struct kb_code_range r)
{
    struct reader inner = {x->scope, r, x->depth + 1, x->failed || x->depth >= MOST_DEPTH};
    char *out = inner.failed ? unknown(&inner) : sum(&inner);
    if (inner.failed || inner.r.from < r.to || strlen(out) > MOST_TEXT)
        x->failed = true;
    return out;
}

char *kb_code_expression(const struct kb_code_scope *scope, struct kb_code_range r)
{
    struct reader x = {.scope = scope, .r = r, .depth = scope->depth};
    char *out = inside(&x, r);
    if (!x.failed)
        return out;
    free(out);
    return NULL;
}

static struct kb_code_range dims_of_name(const struct kb_code_scope *scope, struct kb_code_range r, bool *is_dims)
{
    for (int depth = 0; depth < 4; depth++) {
        bool type = kb_code_is(r.in, r.from, "dim3") && r.to - r.from > 2;
        if (type || (kb_code_is(r.in, r.from, "{") && r.to > r.from)) {
            *is_dims = true;
            return (struct kb_code_range){r.in, r.from + 1 + type, kb_code_close(r.in, r.from + type, r.to)};
        }
        if (r.to != r.from + 1 || r.in->tokens.items[r.from].type != KB_TOKEN_NAME)
            return r;
        char *name = kb_code_join(r);
        const struct kb_definition *d = kb_code_meaning(scope, name) ? NULL : kb_code_value(scope->code, name, r);
        free(name);
        if (!d)
            return r;
        *is_dims = d->is_dims;
        r = d->range;
        if (d->is_dims)
            return r;
    }
    return r;
}

// Up to three expressions between commas; all or none.
static int numbers_of(const struct kb_code_scope *scope, struct kb_code_range r, char *out[3])
{
    struct kb_code_range parts[3];
    int count = kb_code_split(r, parts, 3), known = 0;
    for (int i = 0; i < 3; i++)
        out[i] = i < count && count <= 3 && parts[i].from < parts[i].to ? kb_code_expression(scope, parts[i]) : NULL;
    for (int i = 0; i < 3; i++)
        known += out[i] != NULL;
    for (int i = 0; i < 3 && known < count; i++) {
        free(out[i]);
        out[i] = NULL;
    }
    return known < count ? 0 : count;
}

int kb_code_dims(const struct kb_code_scope *scope, struct kb_code_range r, char *out[3])
{
    bool is_dims = false;
    struct kb_code_range inner = r.from < r.to ? dims_of_name(scope, r, &is_dims) : r;
    if (is_dims)
        return numbers_of(scope, inner, out);
    out[0] = r.from < r.to ? kb_code_expression(scope, r) : NULL;
    out[1] = out[2] = NULL;
    return out[0] != NULL;
}
