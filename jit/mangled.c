#include "jit/mangled.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KNOWN = 96, MOST_ARGS = 32, MOST_DEPTH = 24 };

struct parser {
    const char *p;
    bool failed;
    int depth;
    struct kb_mangled_type known[MOST_KNOWN]; // what S_, S0_, ... stand for
    int known_count;
    struct kb_mangled_type args[MOST_ARGS]; // of the function's template: T_, T0_, ...
    int arg_count;
};

static struct kb_mangled_type fail(struct parser *s)
{
    s->failed = true;
    return (struct kb_mangled_type){0};
}

static bool take(struct parser *s, char c)
{
    if (s->failed || *s->p != c)
        return false;
    s->p++;
    return true;
}

static void remember(struct parser *s, const struct kb_mangled_type *t)
{
    if (s->known_count == MOST_KNOWN)
        s->failed = true;
    else
        s->known[s->known_count++] = *t;
}

// "_", "0_", "1_", ..., "Z_", "10_" in base 36: 0, 1, 2, ...; -1 fails.
static int sequence(struct parser *s)
{
    int n = 0;
    if (take(s, '_'))
        return 0;
    for (; *s->p && *s->p != '_' && n < 1000; s->p++)
        n = n * 36 + (*s->p >= '0' && *s->p <= '9'   ? *s->p - '0'
                      : *s->p >= 'A' && *s->p <= 'Z' ? *s->p - 'A' + 10
                                                     : 1000);
    return take(s, '_') && n < 1000 ? n + 1 : -1;
}

static struct kb_mangled_type type(struct parser *s);
static void template_args(struct parser *s, bool of_function);

static void add_name(struct parser *s, struct kb_mangled_type *t)
{
    char *end;
    unsigned long n = strtoul(s->p, &end, 10);
    size_t used = strlen(t->name);
    if (end == s->p || !n || n > strlen(end)) {
        s->failed = true;
        return;
    }
    snprintf(t->name + used, sizeof t->name - used, "%s%.*s", used ? "::" : "", (int)(n < 64 ? n : 63), end);
    s->p = end + n;
}

// "N2ns1kIfEE", of_function: the last part and its instance are no candidates for S_. True: it ends with arguments of a
// template.
static bool nested(struct parser *s, struct kb_mangled_type *t, bool of_function)
{
    bool instance = false;
    while (!s->failed && *s->p != 'E') {
        instance = *s->p == 'I';
        if (instance) {
            template_args(s, of_function);
        } else if (*s->p == 'S' && !t->name[0]) {
            s->p++;
            int n = sequence(s);
            *t = n >= 0 && n < s->known_count ? s->known[n] : fail(s);
            continue;
        } else {
            take(s, 'L');
            add_name(s, t);
        }
        if (!s->failed && !(of_function && *s->p == 'E'))
            remember(s, t);
    }
    take(s, 'E');
    return instance;
}

// Arguments of a template may follow: the instance is a candidate for S_ of its own.
static void instance_of(struct parser *s, const struct kb_mangled_type *t)
{
    if (*s->p != 'I')
        return;
    template_args(s, false);
    remember(s, t);
}

static struct kb_mangled_type class_name(struct parser *s)
{
    struct kb_mangled_type t = {0};
    if (take(s, 'N')) {
        nested(s, &t, false);
        return t;
    }
    add_name(s, &t);
    remember(s, &t);
    instance_of(s, &t);
    return t;
}

static struct kb_mangled_type substitution(struct parser *s)
{
    int n = sequence(s);
    if (n < 0 || n >= s->known_count)
        return fail(s);
    struct kb_mangled_type t = s->known[n];
    instance_of(s, &t);
    return t;
}

static struct kb_mangled_type parameter_of_template(struct parser *s)
{
    int n = sequence(s);
    struct kb_mangled_type t = n >= 0 && n < s->arg_count ? s->args[n] : fail(s);
    remember(s, &t);
    return t;
}

static struct kb_mangled_type builtin(struct parser *s)
{
    static const struct {
        char code;
        const char *name;
    } table[] = {{'v', "void"},
                 {'b', "bool"},
                 {'c', "char"},
                 {'a', "signed char"},
                 {'h', "unsigned char"},
                 {'s', "short"},
                 {'t', "unsigned short"},
                 {'i', "int"},
                 {'j', "unsigned int"},
                 {'l', "long"},
                 {'m', "unsigned long"},
                 {'x', "long long"},
                 {'y', "unsigned long long"},
                 {'f', "float"},
                 {'d', "double"}};
    struct kb_mangled_type t = {0};
    for (size_t i = 0; i < KB_COUNT(table); i++)
        if (take(s, table[i].code)) {
            snprintf(t.name, sizeof t.name, "%s", table[i].name);
            return t;
        }
    return fail(s);
}

static struct kb_mangled_type derived(struct parser *s, int levels)
{
    s->p++;
    struct kb_mangled_type t = type(s);
    t.pointers += levels;
    remember(s, &t);
    return t;
}

// "VKf": one candidate for S_, not two.
static struct kb_mangled_type qualified(struct parser *s)
{
    while (*s->p == 'r' || *s->p == 'V' || *s->p == 'K')
        s->p++;
    s->p--;
    return derived(s, 0);
}

static struct kb_mangled_type type(struct parser *s)
{
    struct kb_mangled_type t;
    if (s->failed || ++s->depth > MOST_DEPTH)
        return fail(s);
    switch (*s->p) {
    case 'P':
    case 'R':
    case 'O':
        t = derived(s, 1);
        break;
    case 'r':
    case 'V':
    case 'K':
        t = qualified(s);
        break;
    case 'S':
        s->p++;
        t = substitution(s);
        break;
    case 'T':
        s->p++;
        t = parameter_of_template(s);
        break;
    default:
        t = *s->p == 'N' || (*s->p >= '1' && *s->p <= '9') ? class_name(s) : builtin(s);
    }
    s->depth--;
    return t;
}

// "Li256E": a value; nothing is a pointer to it.
static void literal(struct parser *s)
{
    type(s);
    while (!s->failed && ((*s->p >= '0' && *s->p <= '9') || *s->p == 'n'))
        s->p++;
    s->failed = !take(s, 'E');
}

static void template_args(struct parser *s, bool of_function)
{
    int count = 0;
    struct kb_mangled_type args[MOST_ARGS];
    take(s, 'I');
    while (!s->failed && !take(s, 'E')) {
        struct kb_mangled_type t = {0};
        if (count == MOST_ARGS)
            s->failed = true;
        else if (take(s, 'L'))
            literal(s);
        else
            t = type(s);
        if (!s->failed)
            args[count++] = t;
    }
    if (s->failed || !of_function)
        return;
    memcpy(s->args, args, (size_t)count * sizeof *args);
    s->arg_count = count;
}

// The function's own name; true: a template, whose result stands before its parameters.
static bool function_name(struct parser *s)
{
    struct kb_mangled_type t = {0};
    if (take(s, 'N'))
        return nested(s, &t, true);
    take(s, 'L');
    add_name(s, &t);
    if (s->failed || *s->p != 'I')
        return false;
    remember(s, &t);
    template_args(s, true);
    return true;
}

int kb_mangled_params(const char *symbol, struct kb_mangled_type out[KB_MANGLED_PARAMS])
{
    struct parser *s;
    int count = 0;
    if (strncmp(symbol, "_Z", 2) != 0)
        return -1;
    s = kb_alloc(sizeof *s);
    s->p = symbol + 2;
    if (function_name(s))
        type(s);
    while (!s->failed && *s->p) {
        struct kb_mangled_type t = type(s);
        if (count == KB_MANGLED_PARAMS)
            s->failed = true;
        else
            out[count++] = t;
    }
    bool failed = s->failed;
    free(s);
    bool none = count == 1 && !out[0].pointers && !strcmp(out[0].name, "void");
    return failed ? -1 : none ? 0 : count;
}
