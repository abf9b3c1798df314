#include "jit/log.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *start;
    size_t size;
};

static bool next_line(const char **p, struct line *l)
{
    if (!**p)
        return false;
    l->start = *p;
    l->size = strcspn(*p, "\n");
    *p += l->size + ((*p)[l->size] == '\n');
    while (l->size && l->start[l->size - 1] == '\r')
        l->size--;
    return true;
}

static const struct {
    const char *word, *severity;
} severities[] = {
    {"catastrophic error", "error"}, {"internal error", "error"}, {"fatal error", "error"},
    {"command-line error", "error"}, {"error", "error"},          {"fatal", "error"},
    {"warning", "warning"},          {"remark", "remark"},        {"note", "remark"},
};

// At a severity word: returns what stands behind its colon, or NULL. "error:", "warning #177-D:", "error   :".
static const char *behind_severity(const char *s, const char *end, const char **severity)
{
    for (size_t i = 0; i < KB_COUNT(severities); i++) {
        size_t n = strlen(severities[i].word);
        if ((size_t)(end - s) < n || strncmp(s, severities[i].word, n))
            continue;
        const char *p = s + n;
        while (p < end && *p == ' ')
            p++;
        if (p < end && *p == '#') // EDG's number of the message
            while (p < end && *p != ':')
                p++;
        if (p == end || *p != ':')
            continue;
        *severity = severities[i].severity;
        p++;
        while (p < end && *p == ' ')
            p++;
        return p;
    }
    return NULL;
}

void kb_log_add(struct kb_log *l, const char *file, int line, int column, const char *severity, const char *text)
{
    KB_GROW(l->messages, l->count, l->capacity);
    struct kb_compile_message *m = &l->messages[l->count++];
    *m = (struct kb_compile_message){.file = kb_strdup(file), .line = line, .column = column, .text = kb_strdup(text)};
    snprintf(m->severity, sizeof m->severity, "%s", severity);
}

static void add_slice(struct kb_log *l, const char *file, size_t file_size, int line, int column, const char *severity,
                      const char *text, const char *end)
{
    char *name = kb_strndup(file, file_size), *words = kb_strndup(text, (size_t)(end - text));
    kb_log_add(l, name, line, column, severity, words);
    free(name);
    free(words);
}

static const char *read_int(const char *p, const char *end, int *value)
{
    const char *start = p;
    long v = 0;
    while (p < end && isdigit((unsigned char)*p) && p - start < 9)
        v = v * 10 + (*p++ - '0');
    *value = (int)v;
    return p > start ? p : NULL;
}

// "file(12): error: text". The file's name may itself hold blanks, brackets and colons.
static bool edg_message(const struct line *l, struct kb_log *out)
{
    const char *end = l->start + l->size, *severity, *text;
    for (const char *p = l->start; p < end; p++) {
        int line;
        const char *q = *p == '(' && p > l->start ? read_int(p + 1, end, &line) : NULL;
        if (!q || end - q < 3 || strncmp(q, "): ", 3) || !(text = behind_severity(q + 3, end, &severity)))
            continue;
        add_slice(out, l->start, (size_t)(p - l->start), line, 0, severity, text, end);
        return true;
    }
    return false;
}

// "file:12:5: error: text", as gcc says it while nvcc preprocesses; the column may be absent.
static bool gcc_message(const struct line *l, struct kb_log *out)
{
    const char *end = l->start + l->size, *severity, *text;
    for (const char *p = l->start + 1; p < end; p++) {
        int line, column = 0;
        const char *q = *p == ':' ? read_int(p + 1, end, &line) : NULL;
        if (!q || q == end || *q != ':')
            continue;
        const char *c = read_int(q + 1, end, &column);
        if (c && c < end && *c == ':')
            q = c;
        else
            column = 0;
        if (end - q < 2 || q[1] != ' ' || !(text = behind_severity(q + 2, end, &severity)))
            continue;
        add_slice(out, l->start, (size_t)(p - l->start), line, column, severity, text, end);
        return true;
    }
    return false;
}

// "ptxas error   : text", "ptxas application ptx input, line 46; error   : text", "nvrtc: error: text",
// "nvcc fatal   : text". Lines of PTX are no place in the source, so they stay in the text.
static bool tool_message(const struct line *l, struct kb_log *out)
{
    static const char *const tools[] = {"ptxas", "nvrtc", "nvcc", "nvlink", "cicc", "fatbinary"};
    const char *end = l->start + l->size, *severity, *text = NULL;
    bool known = false;
    for (size_t i = 0; i < KB_COUNT(tools); i++)
        known = known || (l->size > strlen(tools[i]) && !strncmp(l->start, tools[i], strlen(tools[i])));
    if (!known)
        return false;
    const char *semicolon = memchr(l->start, ';', l->size);
    const char *p = semicolon ? semicolon + 1 : l->start + strcspn(l->start, " :\n");
    while (p < end && (*p == ' ' || *p == ':'))
        p++;
    if (!(text = behind_severity(p, end, &severity)))
        return false;
    if (strstr(text, "Ptx assembly aborted") == text && kb_log_has_error(out))
        return true;
    const char *from = semicolon ? l->start : text;
    struct kb_text whole = {0};
    if (semicolon)
        kb_text_addf(&whole, "%.*s: ", (int)(semicolon - from), from);
    kb_text_bytes(&whole, text, (size_t)(end - text));
    kb_log_add(out, "", 0, 0, severity, whole.data);
    kb_text_free(&whole);
    return true;
}

static bool is_caret(const struct line *l)
{
    size_t i = 0;
    while (i < l->size && (l->start[i] == ' ' || l->start[i] == '\t'))
        i++;
    return i < l->size && l->start[i] == '^';
}

static void append_text(struct kb_compile_message *m, const struct line *l)
{
    size_t skip = 0;
    while (skip < l->size && isspace((unsigned char)l->start[skip]))
        skip++;
    char *joined =
        kb_format("%s%s%.*s", m->text, kb_ends(m->text, ":") ? " " : "; ", (int)(l->size - skip), l->start + skip);
    free(m->text);
    m->text = joined;
}

// nvcc shows its own expansion of a line: each __global__, __device__, __launch_bounds__(n) ... has become 13 bytes
// longer, as __attribute__((global)), __attribute__((device)), ...
static int expansion(const struct line *source, size_t caret)
{
    static const char mark[] = "__attribute__((";
    int longer = 0;
    for (size_t i = 0; i + sizeof mark - 1 <= source->size && i < caret; i++)
        if (!strncmp(source->start + i, mark, sizeof mark - 1))
            longer += 13;
    return longer;
}

// The lines that belong to a message: more of its text, then the source line, then the caret, then more text.
static void follow(struct kb_compile_message *m, const struct line *l, struct line *held, bool expanded)
{
    if (is_caret(l)) {
        size_t at = 0;
        while (l->start[at] != '^')
            at++;
        if (m->column == 0 && at >= 2) // both lines are indented by two blanks
            m->column = (int)at - 1 - (expanded ? expansion(held, at) : 0);
        *held = (struct line){0};
        return;
    }
    if (held->size && held->start[0] == ' ' && held->size > 10 && !strncmp(held->start, "          ", 10))
        append_text(m, held);
    *held = *l;
}

static void end_message(struct kb_log *out, struct line *held)
{
    if (held->size > 10 && !strncmp(held->start, "          ", 10) && out->count)
        append_text(&out->messages[out->count - 1], held);
    *held = (struct line){0};
}

void kb_log_parse(const char *log, struct kb_log *out)
{
    struct line l, held = {0};
    bool inside = false;
    while (next_line(&log, &l)) {
        bool indented = l.size && (l.start[0] == ' ' || l.start[0] == '\t');
        if (inside && indented) {
            follow(&out->messages[out->count - 1], &l, &held, out->expanded);
            continue;
        }
        end_message(out, &held);
        inside = false;
        if (!l.size || indented)
            continue;
        int before = out->count;
        inside = edg_message(&l, out) || gcc_message(&l, out);
        if (!inside)
            tool_message(&l, out);
        inside = inside && out->count > before;
    }
    end_message(out, &held);
}

bool kb_log_has_error(const struct kb_log *l)
{
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->messages[i].severity, "error"))
            return true;
    return false;
}

void kb_log_free(struct kb_log *l)
{
    for (int i = 0; i < l->count; i++) {
        free(l->messages[i].file);
        free(l->messages[i].text);
    }
    free(l->messages);
    *l = (struct kb_log){0};
}
