// Names that a source gives to types and numbers.
#include "bench/guess_code.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

bool kb_code_is(const struct kb_code_text *t, int i, const char *want)
{
    const struct kb_token *token = &t->tokens.items[i];
    return token->type != KB_TOKEN_END && strlen(want) == token->length &&
           !memcmp(t->blanked.text + token->at, want, token->length);
}

static bool is_name(const struct kb_code_text *t, int i)
{
    return t->tokens.items[i].type == KB_TOKEN_NAME;
}

static char *text_of(const struct kb_code_text *t, int i)
{
    return kb_strndup(t->blanked.text + t->tokens.items[i].at, t->tokens.items[i].length);
}

char *kb_code_join(struct kb_code_range r)
{
    struct kb_text out = {0};
    for (int i = r.from; i < r.to; i++) {
        const struct kb_token *token = &r.in->tokens.items[i];
        bool words =
            i > r.from && kb_is_name_char(out.data[out.size - 1]) && kb_is_name_char(r.in->blanked.text[token->at]);
        kb_text_add(&out, words ? " " : "");
        kb_text_bytes(&out, r.in->blanked.text + token->at, token->length);
    }
    return out.data ? kb_text_take(&out) : kb_strdup("");
}

static int depth_step(const struct kb_code_text *t, int i)
{
    bool opens = kb_code_is(t, i, "(") || kb_code_is(t, i, "[") || kb_code_is(t, i, "{");
    bool closes = kb_code_is(t, i, ")") || kb_code_is(t, i, "]") || kb_code_is(t, i, "}");
    return opens ? 1 : closes ? -1 : 0;
}

int kb_code_close(const struct kb_code_text *t, int open, int to)
{
    int depth = 0;
    for (int i = open; i < to; i++) {
        depth += depth_step(t, i);
        if (!depth)
            return i;
    }
    return to;
}

int kb_code_split(struct kb_code_range r, struct kb_code_range *parts, int most)
{
    int count = 0, depth = 0, start = r.from;
    for (int i = r.from; i <= r.to && r.from < r.to; i++) {
        if (i < r.to)
            depth += depth_step(r.in, i);
        if (i < r.to && (depth || !kb_code_is(r.in, i, ",")))
            continue;
        if (count < most)
            parts[count] = (struct kb_code_range){r.in, start, i};
        count++;
        start = i + 1;
    }
    return count;
}

static void add(struct kb_definition **list, int *count, int *capacity, char *name, struct kb_code_range range,
                bool is_dims)
{
    KB_GROW(*list, *count, *capacity);
    (*list)[(*count)++] = (struct kb_definition){name, is_dims, range};
}

static void add_type(struct kb_code *c, char *name, struct kb_code_range range)
{
    add(&c->types, &c->type_count, &c->type_capacity, name, range, false);
}

static void add_value(struct kb_code *c, char *name, struct kb_code_range range, bool is_dims)
{
    add(&c->values, &c->value_count, &c->value_capacity, name, range, is_dims);
}

static const struct kb_code_text *add_text(struct kb_code *c, const char *text, size_t size)
{
    struct kb_code_text *t = kb_alloc(sizeof *t);
    t->from = text;
    kb_blank(text, size, &t->blanked);
    kb_tokenise(&t->blanked, &t->tokens);
    KB_GROW(c->texts, c->text_count, c->text_capacity);
    c->texts[c->text_count++] = t;
    return t;
}

// Where the expression or declarator at `from` ends: at ';' or ',' outside brackets, or at a bracket that closes more.
static int end_of(const struct kb_code_text *t, int from)
{
    int depth = 0, i = from;
    for (; t->tokens.items[i].type != KB_TOKEN_END && i - from < 256; i++) {
        depth += depth_step(t, i);
        if (depth < 0 || (!depth && (kb_code_is(t, i, ";") || kb_code_is(t, i, ","))))
            break;
    }
    return i;
}

static void read_typedef(struct kb_code *c, const struct kb_code_text *t, int i)
{
    int end = i + 1;
    while (t->tokens.items[end].type != KB_TOKEN_END && !kb_code_is(t, end, ";") && end - i < 64)
        end++;
    if (kb_code_is(t, end, ";") && end - i > 2 && is_name(t, end - 1))
        add_type(c, text_of(t, end - 1), (struct kb_code_range){t, i + 1, end - 1});
}

static void read_using(struct kb_code *c, const struct kb_code_text *t, int i)
{
    if (!is_name(t, i + 1) || !kb_code_is(t, i + 2, "="))
        return;
    add_type(c, text_of(t, i + 1), (struct kb_code_range){t, i + 3, end_of(t, i + 3)});
}

// enum NAME, enum class NAME: integers.
static void read_enum(struct kb_code *c, const struct kb_code_text *t, int i)
{
    i += kb_code_is(t, i + 1, "class") || kb_code_is(t, i + 1, "struct") ? 2 : 1;
    if (!is_name(t, i) || !(kb_code_is(t, i + 1, "{") || kb_code_is(t, i + 1, ":")))
        return;
    char *name = text_of(t, i);
    const struct kb_code_text *integer = add_text(c, "int", 3);
    add_type(c, name, (struct kb_code_range){integer, 0, 1});
}

// dim3 a(x, y), b = dim3(z), c{1};
static void read_dims(struct kb_code *c, const struct kb_code_text *t, int i)
{
    for (i++; is_name(t, i); i++) {
        int name = i++, end = t->tokens.count - 1;
        if (kb_code_is(t, i, "=")) {
            i = end_of(t, i); // kept as a value
        } else if (kb_code_is(t, i, "(") || kb_code_is(t, i, "{")) {
            int close = kb_code_close(t, i, end);
            add_value(c, text_of(t, name), (struct kb_code_range){t, i + 1, close}, true);
            i = close < end ? close + 1 : end;
        }
        if (!kb_code_is(t, i, ","))
            return;
    }
}

// NAME = ...; of a declaration or as a statement; a loop's counter is none.
static void read_value(struct kb_code *c, const struct kb_code_text *t, int i)
{
    bool statement = i > 0 && (kb_code_is(t, i - 1, ";") || kb_code_is(t, i - 1, "{") || kb_code_is(t, i - 1, "}"));
    bool declared = i > 0 && (is_name(t, i - 1) || kb_code_is(t, i - 1, ","));
    bool counter = i > 2 && kb_code_is(t, i - 2, "(") && kb_code_is(t, i - 3, "for");
    if ((!statement && !declared) || counter || kb_code_is(t, i + 2, "="))
        return;
    add_value(c, text_of(t, i), (struct kb_code_range){t, i + 2, end_of(t, i + 2)}, false);
}

static void read_tokens(struct kb_code *c, const struct kb_code_text *t)
{
    for (int i = 0; t->tokens.items[i].type != KB_TOKEN_END; i++) {
        if (kb_code_is(t, i, "typedef"))
            read_typedef(c, t, i);
        else if (kb_code_is(t, i, "using"))
            read_using(c, t, i);
        else if (kb_code_is(t, i, "enum"))
            read_enum(c, t, i);
        else if (kb_code_is(t, i, "dim3"))
            read_dims(c, t, i);
        else if (is_name(t, i) && kb_code_is(t, i + 1, "="))
            read_value(c, t, i);
    }
}

static void read_macro(struct kb_code *c, const char *line, size_t size)
{
    const char *p = line + strspn(line, " \t#"), *end = line + size;
    if (p + 7 >= end || memcmp(p, "define", 6))
        return;
    p += 6;
    p += strspn(p, " \t");
    size_t n = 0;
    while (kb_is_name_char(p[n]))
        n++;
    if (!n || p[n] == '(' || p + n >= end)
        return;
    const struct kb_code_text *t = add_text(c, p + n, (size_t)(end - p) - n);
    struct kb_code_range all = {t, 0, t->tokens.count - 1};
    if (all.to) {
        add_type(c, kb_strndup(p, n), all);
        add_value(c, kb_strndup(p, n), all, false);
    }
}

static void read_macros(struct kb_code *c, const struct kb_code_text *t)
{
    const char *text = t->blanked.text;
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) : strlen(line);
        if (line[strspn(line, " \t")] == '#')
            read_macro(c, line, size);
        line = end ? end + 1 : NULL;
    }
}

void kb_code_read(const struct kb_guess_source *source, struct kb_code *out)
{
    *out = (struct kb_code){0};
    for (int i = 0; i <= source->header_count; i++) {
        bool last = i == source->header_count;
        const struct kb_code_text *t = last ? add_text(out, source->text, source->size)
                                            : add_text(out, source->headers[i].text, source->headers[i].size);
        if (last)
            out->main = out->text_count - 1;
        read_macros(out, t);
        read_tokens(out, t);
    }
}

static void free_definitions(struct kb_definition *list, int count)
{
    for (int i = 0; i < count; i++)
        free(list[i].name);
    free(list);
}

void kb_code_free(struct kb_code *c)
{
    for (int i = 0; i < c->text_count; i++) {
        kb_tokens_free(&c->texts[i]->tokens);
        kb_blanked_free(&c->texts[i]->blanked);
        free(c->texts[i]);
    }
    free(c->texts);
    free_definitions(c->types, c->type_count);
    free_definitions(c->values, c->value_count);
    *c = (struct kb_code){0};
}

const struct kb_definition *kb_code_type(const struct kb_code *c, const char *name)
{
    for (int i = c->type_count - 1; i >= 0; i--)
        if (!strcmp(c->types[i].name, name))
            return &c->types[i];
    return NULL;
}

const struct kb_definition *kb_code_value(const struct kb_code *c, const char *name, struct kb_code_range at)
{
    const struct kb_definition *last = NULL, *nearest = NULL;
    for (int i = 0; i < c->value_count; i++) {
        if (strcmp(c->values[i].name, name))
            continue;
        last = &c->values[i];
        if (last->range.in == at.in && last->range.to < at.from)
            nearest = last;
    }
    return nearest ? nearest : last;
}
