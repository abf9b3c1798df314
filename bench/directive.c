// The `//kb:` lines of a source.
#include "base/memory.h"
#include "base/text.h"
#include "bench/expr.h"
#include "bench/source_lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char remedy[] = "//kb: block=512 grid=rows shared=4*cols cooperative=true define:VEC=4 for=VARIANT, "
                             "or //kb: section NAME";

struct scan {
    const char *path;
    const struct kb_kernel_place *kernels;
    int kernel_count;
    struct kb_source *out;
    int capacity;
    int line;
    size_t at;
    const char *blanked;
    struct kb_error *e;
};

static int fail(struct scan *s, const char *how, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct scan *s, const char *how, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *what = NULL;
    if (vasprintf(&what, format, list) < 0)
        what = NULL;
    va_end(list);
    char *on = kb_format("%s:%d", s->path, s->line), *clean = kb_cleaned(what ? what : "a malformed //kb: line");
    kb_fail(s->e, on, how ? how : remedy, "%s", clean);
    free(what);
    free(on);
    free(clean);
    return -1;
}

int kb_split_dims(const char *text, char **parts, int most)
{
    int count = 0, depth = 0;
    const char *start = text;
    for (const char *p = text;; p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (*p && !(*p == ',' && depth == 0))
            continue;
        if (count < most) {
            const char *end = p;
            while (start < end && *start == ' ')
                start++;
            while (end > start && end[-1] == ' ')
                end--;
            parts[count] = kb_strndup(start, (size_t)(end - start));
        }
        count++;
        start = p + 1;
        if (!*p)
            return count;
    }
}

static struct kb_directive *add(struct scan *s)
{
    KB_GROW(s->out->directives, s->out->directive_count, s->capacity);
    struct kb_directive *d = &s->out->directives[s->out->directive_count++];
    *d = (struct kb_directive){.line = s->line, .at = s->at};
    return d;
}

// The line of the brace that closes the block around s->at: for what stands in a function's own block, its end.
static int end_of_block(const struct scan *s)
{
    int line = s->line, depth = 0;
    for (const char *p = s->blanked + s->at; *p && depth >= 0; p++) {
        line += *p == '\n';
        depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
    }
    return line;
}

static int section(struct scan *s, const char *name, size_t n)
{
    enum { MOST = 1000 }; // each looks for its end
    if (!n)
        return fail(s, NULL, "a section has no name");
    if (s->out->directive_count >= MOST)
        return fail(s, NULL, "more than %d //kb: entries in one file", MOST);
    struct kb_directive *d = add(s);
    d->kind = KB_DIRECTIVE_SECTION;
    d->end_line = end_of_block(s);
    d->key = kb_strndup(name, n);
    // Two branches of a conditional may share one body: the first names it.
    for (int i = 0; i < s->kernel_count && !d->kernel; i++)
        if (s->kernels[i].at < s->at && s->line <= s->kernels[i].end_line)
            d->kernel = kb_strdup(s->kernels[i].name);
    return 0;
}

// A section ends before the next one of the same block.
static void end_sections(struct kb_source *source)
{
    for (int i = 0; i < source->directive_count; i++)
        for (int k = i + 1; k < source->directive_count; k++) {
            struct kb_directive *d = &source->directives[i], *next = &source->directives[k];
            if (next->kind != KB_DIRECTIVE_SECTION || next->line == d->line)
                continue;
            if (next->line <= d->end_line)
                d->end_line = next->line - 1;
            break;
        }
}

static int check_expression(struct scan *s, const char *key, const char *text)
{
    struct kb_error inner;
    if (!kb_expr_check(text, &inner))
        return 0;
    return fail(s, inner.remedy, "%s: %s", key, inner.what);
}

static int check_dims(struct scan *s, const char *key, const char *value)
{
    char *parts[3] = {NULL};
    int n = kb_split_dims(value, parts, 3), status = 0;
    if (n > 3)
        status = fail(s, "give 1 to 3, split by commas", "%s has %d dimensions", key, n);
    for (int i = 0; i < n && i < 3; i++) {
        if (!status)
            status = check_expression(s, key, parts[i]);
        free(parts[i]);
    }
    return status;
}

static bool is_name(const char *s)
{
    if (*s >= '0' && *s <= '9')
        return false;
    size_t n = 0;
    while (kb_is_name_char(s[n]))
        n++;
    return n && !s[n];
}

static int check_value(struct scan *s, const char *key, const char *value)
{
    static const char *const keys[] = {"block", "grid", "shared", "cooperative", "define:NAME", "for"};
    if (kb_starts(key, "define:"))
        return is_name(key + 7) ? 0 : fail(s, NULL, "\"%s\" is no name of a macro", key + 7);
    if (!strcmp(key, "block") || !strcmp(key, "grid"))
        return check_dims(s, key, value);
    if (!strcmp(key, "shared"))
        return check_expression(s, key, value);
    if (!strcmp(key, "for"))
        return 0;
    if (!strcmp(key, "cooperative"))
        return !strcmp(value, "true") || !strcmp(value, "false")
                   ? 0
                   : fail(s, NULL, "cooperative is \"%s\", but can be true or false", value);
    const char *near = kb_nearest(key, keys, KB_COUNT(keys));
    return fail(s, NULL, "unknown key \"%s\"%s%s%s", key, near ? "; nearest known key: \"" : "", near ? near : "",
                near ? "\"" : "");
}

// One "key=value"; *variant is set by for=.
static int assignment(struct scan *s, const char *word, size_t n, const char *kernel, int first, char **variant)
{
    const char *equals = memchr(word, '=', n);
    if (!equals)
        return fail(s, NULL, "no '=' in \"%.*s\"; values hold no blanks", (int)n, word);
    char *key = kb_strndup(word, (size_t)(equals - word));
    char *value = kb_strndup(equals + 1, n - (size_t)(equals + 1 - word));
    int status = 0;
    if (!*key)
        status = fail(s, NULL, "no key before \"=%s\"", value);
    else if (!*value && !kb_starts(key, "define:"))
        status = fail(s, NULL, "no value behind \"%s=\"; values hold no blanks", key);
    else
        status = check_value(s, key, value);
    bool is_for = !strcmp(key, "for"), twice = is_for && *variant;
    for (int i = first; i < s->out->directive_count; i++)
        twice = twice || !strcmp(s->out->directives[i].key, key);
    if (!status && twice)
        status = fail(s, NULL, "\"%s\" is given twice", key);
    if (!status && is_for) {
        *variant = value;
        value = NULL;
    } else if (!status) {
        struct kb_directive *d = add(s);
        d->key = key;
        d->value = value;
        d->kernel = kb_strdup(kernel);
        return 0;
    }
    free(key);
    free(value);
    return status;
}

static int target(struct scan *s, const char **kernel)
{
    const struct kb_kernel_place *next = NULL;
    for (int i = 0; i < s->kernel_count; i++) {
        const struct kb_kernel_place *k = &s->kernels[i];
        if (k->at > s->at) {
            next = next ? next : k;
        } else if (s->line <= k->end_line) {
            return fail(s, "put it above the kernel that it is for", "this //kb: line is inside the body of %s",
                        k->name);
        }
    }
    if (!next)
        return fail(s, "put it above the kernel that it is for", "no __global__ function follows this //kb: line");
    *kernel = next->name;
    return 0;
}

static int settings(struct scan *s, const char *text, const char *end)
{
    const char *kernel = NULL;
    char *variant = NULL;
    int first = s->out->directive_count, status = target(s, &kernel);
    while (!status && text < end) {
        size_t n = 0;
        while (text + n < end && text[n] != ' ' && text[n] != '\t')
            n++;
        if (n)
            status = assignment(s, text, n, kernel, first, &variant);
        text += n ? n : 1;
    }
    if (!status && s->out->directive_count == first)
        status = fail(s, NULL, "this //kb: line sets nothing");
    for (int i = first; !status && i < s->out->directive_count; i++)
        s->out->directives[i].variant = kb_strdup(variant);
    free(variant);
    return status;
}

// Formatters like to put one blank behind the slashes, so "// kb:" is the same.
static int one_line(struct scan *s, const char *text, const char *end)
{
    const char *p = text + 2;
    if (p < end && *p == ' ')
        p++;
    if (end - p < 3 || memcmp(p, "kb:", 3))
        return 0;
    p += 3;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (end - p >= 7 && !memcmp(p, "section", 7) && (end - p == 7 || p[7] == ' ' || p[7] == '\t')) {
        p += 7;
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        return section(s, p, (size_t)(end - p));
    }
    return settings(s, p, end);
}

int kb_directives_scan(const char *text, size_t size, const char *path, const struct kb_blanked *blanked,
                       const struct kb_kernel_place *kernels, int kernel_count, struct kb_source *out,
                       struct kb_error *e)
{
    struct scan s = {.path = path,
                     .kernels = kernels,
                     .kernel_count = kernel_count,
                     .out = out,
                     .line = 1,
                     .blanked = blanked->text,
                     .e = e};
    size_t counted = 0;
    for (int i = 0; i < blanked->line_comment_count; i++) {
        s.at = blanked->line_comments[i];
        s.line += kb_line_at(text + counted, s.at - counted) - 1;
        counted = s.at;
        const char *end = memchr(text + s.at, '\n', size - s.at);
        if (one_line(&s, text + s.at, end ? end : text + size))
            return -1;
    }
    end_sections(out);
    return 0;
}
