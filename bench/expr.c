#include "bench/expr.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 200, QUOTE_MAX = 100 };

void kb_names_set(struct kb_names *names, const char *name, int64_t value)
{
    for (int i = 0; i < names->count; i++) {
        if (!strcmp(names->items[i].name, name)) {
            names->items[i].value = value;
            return;
        }
    }
    KB_GROW(names->items, names->count, names->capacity);
    names->items[names->count++] = (struct kb_name){kb_strdup(name), value};
}

const int64_t *kb_names_get(const struct kb_names *names, const char *name)
{
    for (int i = names ? names->count - 1 : -1; i >= 0; i--)
        if (!strcmp(names->items[i].name, name))
            return &names->items[i].value;
    return NULL;
}

void kb_names_copy(struct kb_names *to, const struct kb_names *from)
{
    for (int i = 0; i < from->count; i++)
        kb_names_set(to, from->items[i].name, from->items[i].value);
}

void kb_names_free(struct kb_names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->items[i].name);
    free(names->items);
    *names = (struct kb_names){0};
}

// One recursive-descent parser for the three uses; a value carries both forms and the mode says which one counts.
enum mode { MODE_INTEGER, MODE_REAL, MODE_SYNTAX };
struct value {
    int64_t i;
    double r;
};
struct parser {
    const char *text, *at;
    const struct kb_names *names;
    enum mode mode;
    int depth;
    struct kb_error *e;
};

static int expression(struct parser *p, struct value *v);

static bool is_letter(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        p->at++;
}

// Fails at the given place; `what` is one clause.
static int fail_at(struct parser *p, const char *where, const char *remedy, const char *what)
{
    int length = (int)strnlen(p->text, QUOTE_MAX + 1);
    return kb_fail(p->e, NULL, remedy, "in \"%.*s%s\": %s at column %ld", length > QUOTE_MAX ? QUOTE_MAX : length,
                   p->text, length > QUOTE_MAX ? "..." : "", what, (long)(where - p->text) + 1);
}

static int unknown_name(struct parser *p, const char *where, const char *name)
{
    struct kb_text known = {0};
    const char **list = kb_alloc(sizeof *list * (size_t)(p->names ? p->names->count + 1 : 1));
    size_t n = 0;
    for (int i = 0; p->names && i < p->names->count; i++)
        list[n++] = p->names->items[i].name;
    const char *near = kb_nearest(name, list, n);
    if (near)
        kb_text_addf(&known, "did you mean '%s'? ", near);
    kb_text_add(&known, n ? "known names: " : "no names are known here");
    for (size_t i = 0; i < n; i++)
        kb_text_addf(&known, "%s%s", i ? ", " : "", list[i]);
    char *what = kb_format("unknown name '%.60s'", name);
    int status = fail_at(p, where, known.data, what);
    free(what);
    free(list);
    kb_text_free(&known);
    return status;
}

static int overflow(struct parser *p, const char *where)
{
    return fail_at(p, where, p->mode == MODE_REAL ? NULL : "values are 64-bit integers", "overflow");
}

enum operation { ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, CEIL_DIV, MIN, MAX };

static int apply_integer(struct parser *p, enum operation op, const char *where, int64_t a, int64_t b, int64_t *out)
{
    bool divides = op == DIVIDE || op == REMAINDER || op == CEIL_DIV, bad = false;
    if (divides && b == 0)
        return fail_at(p, where, NULL, "division by zero");
    if (divides && a == INT64_MIN && b == -1) {
        *out = 0;
        return op == REMAINDER ? 0 : overflow(p, where);
    }
    switch (op) {
    case ADD:
        bad = __builtin_add_overflow(a, b, out);
        break;
    case SUBTRACT:
        bad = __builtin_sub_overflow(a, b, out);
        break;
    case MULTIPLY:
        bad = __builtin_mul_overflow(a, b, out);
        break;
    case DIVIDE:
        *out = a / b;
        break;
    case REMAINDER:
        *out = a % b;
        break;
    case CEIL_DIV:
        *out = a / b + (a % b != 0 && (a < 0) == (b < 0));
        break;
    case MIN:
        *out = a < b ? a : b;
        break;
    case MAX:
        *out = a > b ? a : b;
        break;
    }
    return bad ? overflow(p, where) : 0;
}

static int apply_real(struct parser *p, enum operation op, const char *where, double a, double b, double *out)
{
    if ((op == DIVIDE || op == REMAINDER || op == CEIL_DIV) && b == 0)
        return fail_at(p, where, NULL, "division by zero");
    switch (op) {
    case ADD:
        *out = a + b;
        break;
    case SUBTRACT:
        *out = a - b;
        break;
    case MULTIPLY:
        *out = a * b;
        break;
    case DIVIDE:
        *out = a / b;
        break;
    case REMAINDER:
        *out = fmod(a, b);
        break;
    case CEIL_DIV:
        *out = ceil(a / b);
        break;
    case MIN:
        *out = fmin(a, b);
        break;
    case MAX:
        *out = fmax(a, b);
        break;
    }
    return isfinite(*out) ? 0 : overflow(p, where);
}

static int apply(struct parser *p, enum operation op, const char *where, struct value *a, struct value b)
{
    if (p->mode == MODE_SYNTAX)
        return 0;
    if (p->mode == MODE_REAL)
        return apply_real(p, op, where, a->r, b.r, &a->r);
    return apply_integer(p, op, where, a->i, b.i, &a->i);
}

static int digit_of(char c, int base)
{
    int d = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
    return d < base ? d : -1;
}

static int real_number(struct parser *p, struct value *v)
{
    char *end;
    v->r = strtod(p->at, &end);
    if (!isfinite(v->r))
        return overflow(p, p->at);
    p->at = end;
    return 0;
}

// The sign belongs to the number, so that the smallest integer can be written.
static int number(struct parser *p, bool negative, struct value *v)
{
    const char *start = p->at;
    int base = p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X') ? 16 : 10;
    if (p->mode == MODE_REAL && base == 10) {
        if (real_number(p, v))
            return -1;
        v->r = negative ? -v->r : v->r;
    } else {
        p->at += base == 16 ? 2 : 0;
        if (digit_of(*p->at, base) < 0)
            return fail_at(p, start, NULL, "a number without digits");
        v->i = 0;
        for (int d; (d = digit_of(*p->at, base)) >= 0; p->at++)
            if (__builtin_mul_overflow(v->i, (int64_t)base, &v->i) ||
                __builtin_add_overflow(v->i, negative ? -(int64_t)d : (int64_t)d, &v->i))
                return overflow(p, start);
        v->r = (double)v->i;
    }
    if (is_letter(*p->at) || *p->at == '.')
        return fail_at(p, p->at, "write plain decimal or 0x integers", "unexpected text behind a number");
    return 0;
}

static int expect(struct parser *p, char c, const char *what)
{
    skip_blanks(p);
    if (*p->at != c)
        return fail_at(p, p->at, NULL, what);
    p->at++;
    return 0;
}

static int call(struct parser *p, const char *name, const char *where, struct value *v)
{
    static const char *const names[] = {"ceil_div", "min", "max"};
    static const enum operation operations[] = {CEIL_DIV, MIN, MAX};
    size_t k = 0;
    while (k < KB_COUNT(names) && strcmp(names[k], name))
        k++;
    if (k == KB_COUNT(names)) {
        const char *near = kb_nearest(name, names, KB_COUNT(names));
        char *remedy = kb_format("%s%s%sfunctions: ceil_div, min, max", near ? "did you mean '" : "", near ? near : "",
                                 near ? "'? " : "");
        fail_at(p, where, remedy, "unknown function");
        free(remedy);
        return -1;
    }
    struct value second = {0};
    p->at++;
    if (expression(p, v) || expect(p, ',', "expected ',' and a second argument") || expression(p, &second) ||
        expect(p, ')', "expected ')'"))
        return -1;
    return apply(p, operations[k], where, v, second);
}

static int name_or_call(struct parser *p, struct value *v)
{
    const char *start = p->at;
    while (is_letter(*p->at) || is_digit(*p->at))
        p->at++;
    char *name = kb_strndup(start, (size_t)(p->at - start));
    int status = 0;
    skip_blanks(p);
    const int64_t *known = kb_names_get(p->names, name);
    if (*p->at == '(')
        status = call(p, name, start, v);
    else if (known)
        *v = (struct value){*known, (double)*known};
    else if (p->mode != MODE_SYNTAX)
        status = unknown_name(p, start, name);
    free(name);
    return status;
}

static int unexpected(struct parser *p)
{
    char what[64] = "the expression ends too early";
    unsigned char c = (unsigned char)*p->at;
    if (c > ' ' && c < 0x7f)
        snprintf(what, sizeof what, "unexpected '%c'", c);
    else if (c)
        snprintf(what, sizeof what, "unexpected byte 0x%02x", c);
    return fail_at(p, p->at, "expressions know names, integers, + - * / %, ( ), ceil_div, min and max", what);
}

static int primary(struct parser *p, bool negative, struct value *v)
{
    if (is_digit(*p->at))
        return number(p, negative, v);
    int status;
    const char *start = p->at;
    if (is_letter(*p->at)) {
        status = name_or_call(p, v);
    } else if (*p->at == '(') {
        p->at++;
        status = expression(p, v) || expect(p, ')', "expected ')'") ? -1 : 0;
    } else {
        return unexpected(p);
    }
    if (status || !negative)
        return status;
    struct value right = *v;
    *v = (struct value){0};
    return apply(p, SUBTRACT, start, v, right);
}

static int unary(struct parser *p, struct value *v)
{
    skip_blanks(p);
    if (*p->at != '-')
        return primary(p, false, v);
    const char *start = p->at++;
    skip_blanks(p);
    if (*p->at != '-')
        return primary(p, true, v);
    if (++p->depth > MAX_DEPTH)
        return fail_at(p, start, NULL, "nested too deeply");
    struct value right;
    if (unary(p, &right))
        return -1;
    p->depth--;
    *v = (struct value){0};
    return apply(p, SUBTRACT, start, v, right);
}

// Operands with operators of one rank between them, from left to right.
static int chain(struct parser *p, const char *operators, int (*operand)(struct parser *, struct value *),
                 struct value *v)
{
    static const char signs[] = "+-*/%"; // in the order of enum operation
    if (operand(p, v))
        return -1;
    for (;;) {
        skip_blanks(p);
        const char *where = p->at;
        if (!*where || !strchr(operators, *where))
            return 0;
        p->at++;
        struct value right = {0};
        if (operand(p, &right) || apply(p, (enum operation)(strchr(signs, *where) - signs), where, v, right))
            return -1;
    }
}

static int product(struct parser *p, struct value *v)
{
    return chain(p, "*/%", unary, v);
}

static int expression(struct parser *p, struct value *v)
{
    if (++p->depth > MAX_DEPTH)
        return fail_at(p, p->at, NULL, "nested too deeply");
    if (chain(p, "+-", product, v))
        return -1;
    p->depth--;
    return 0;
}

static int whole(const char *text, const struct kb_names *names, enum mode mode, struct value *v, struct kb_error *e)
{
    struct parser p = {.text = text, .at = text, .names = names, .mode = mode, .e = e};
    *v = (struct value){0};
    if (expression(&p, v))
        return -1;
    return *p.at ? unexpected(&p) : 0;
}

int kb_expr_eval(const char *text, const struct kb_names *names, int64_t *value, struct kb_error *e)
{
    struct value v;
    if (whole(text, names, MODE_INTEGER, &v, e))
        return -1;
    *value = v.i;
    return 0;
}

int kb_expr_check(const char *text, struct kb_error *e)
{
    struct value v;
    return whole(text, NULL, MODE_SYNTAX, &v, e);
}

int kb_expr_eval_real(const char *text, const struct kb_names *names, double *value, struct kb_error *e)
{
    struct value v;
    if (whole(text, names, MODE_REAL, &v, e))
        return -1;
    *value = v.r;
    return 0;
}
