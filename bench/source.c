// Finds the kernels of a CUDA source by its tokens. No preprocessor: every branch of a conditional is read, and each
// branch starts with the brace depth that its #if had.
#include "bench/source.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/source_lex.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 256, MAX_LIST = 4096 }; // MAX_LIST tokens in brackets: bounds the search for their end

struct found { // a kernel while it is read
    struct kb_source_kernel kernel;
    size_t at; // of its __global__
    int depth; // brace depth around its body
    bool kept; // it goes into the result
    bool open; // the body's end was not seen yet
    struct kb_source_body body;
    char *args;    // of an instance: what stands in the angle brackets behind its name, or NULL
    bool instance; // an explicit instantiation or specialisation: a target of //kb: lines, but no kernel of its own
};

struct scanner {
    const char *text; // blanked
    struct kb_token *tokens;
    int count, i;
    char *scopes[MAX_NESTING]; // of each open brace: a namespace's name, "" for others
    bool anonymous[MAX_NESTING];
    int depth, branches[MAX_NESTING], branch_depth;
    int template_at;  // index of the newest `template` of this declaration, -1
    int statement_at; // where this declaration began
    struct found *found;
    int found_count, found_capacity;
};

static bool is(const struct scanner *s, int i, const char *want)
{
    const struct kb_token *t = &s->tokens[i];
    return s->text[t->at] == want[0] && (t->type == KB_TOKEN_NAME || t->type == KB_TOKEN_PUNCT) &&
           strlen(want) == t->length && !memcmp(s->text + t->at, want, t->length);
}

static bool is_type(const struct scanner *s, int i, enum kb_token_type type)
{
    return s->tokens[i].type == type;
}

static char *token_text(const struct scanner *s, int i)
{
    return kb_strndup(s->text + s->tokens[i].at, s->tokens[i].length);
}

// Index of the token that closes the bracket at i; the closing KB_TOKEN_END if none does.
static int matching(const struct scanner *s, int i, const char *open, const char *close)
{
    int depth = 0;
    for (int end = i + MAX_LIST; i < end && !is_type(s, i, KB_TOKEN_END); i++) {
        if (is(s, i, open))
            depth++;
        else if (is(s, i, close) && --depth == 0)
            return i;
        else if (is(s, i, "__global__")) // never inside brackets: they are not closed
            break;
    }
    return s->count - 1;
}

// The same for '<': parentheses inside are skipped, and ';' or '{' says that it was a comparison (0).
static int matching_angle(const struct scanner *s, int i)
{
    int depth = 0;
    for (int end = i + MAX_LIST; i < end && !is_type(s, i, KB_TOKEN_END); i++) {
        if (is(s, i, "("))
            i = matching(s, i, "(", ")");
        if (is(s, i, "<"))
            depth++;
        else if (is(s, i, ">") && --depth == 0)
            return i;
        else if (is(s, i, ";") || is(s, i, "{"))
            return 0;
        if (is_type(s, i, KB_TOKEN_END))
            break;
    }
    return 0;
}

// "const float *__restrict__": one blank between two words, none before "::" or ",".
static char *joined(const struct scanner *s, int from, int to)
{
    struct kb_text out = {0};
    for (int i = from; i < to; i++) {
        const struct kb_token *t = &s->tokens[i];
        bool word = t->type == KB_TOKEN_NAME || t->type == KB_TOKEN_NUMBER;
        bool after_word = i > from && (is_type(s, i - 1, KB_TOKEN_NAME) || is_type(s, i - 1, KB_TOKEN_NUMBER));
        bool after_close = i > from && (is(s, i - 1, ">") || is(s, i - 1, ","));
        if ((word && (after_word || after_close)) || ((is(s, i, "*") || is(s, i, "&")) && (after_word || after_close)))
            kb_text_add(&out, " ");
        kb_text_bytes(&out, s->text + t->at, t->length);
    }
    return kb_text_take(&out);
}

static bool is_type_word(const struct scanner *s, int i)
{
    static const char *const words[] = {
        "const", "volatile", "unsigned", "signed",       "int",        "char",     "short",
        "long",  "float",    "double",   "bool",         "void",       "auto",     "struct",
        "class", "enum",     "typename", "__restrict__", "__restrict", "restrict", "__grid_constant__",
        "size_t"};
    for (size_t k = 0; k < KB_COUNT(words); k++)
        if (is(s, i, words[k]))
            return true;
    return false;
}

static bool is_qualifier(const struct scanner *s, int i)
{
    static const char *const words[] = {"const", "volatile", "struct",           "class",
                                        "enum",  "typename", "unsigned",         "signed",
                                        "long",  "short",    "__grid_constant__"};
    for (size_t k = 0; k < KB_COUNT(words); k++)
        if (is(s, i, words[k]))
            return true;
    return false;
}

// Where the name of the parameter in [from, to) is, -1 if it has none.
static int parameter_name(const struct scanner *s, int from, int to)
{
    for (int i = from; i + 2 < to; i++) // a pointer or reference to an array or a function
        if (is(s, i, "(") && (is(s, i + 1, "*") || is(s, i + 1, "&")) && is_type(s, i + 2, KB_TOKEN_NAME))
            return i + 2;
    int last = to - 1;
    while (last > from && is(s, last, "]")) {
        while (last > from && !is(s, last, "["))
            last--;
        last--;
    }
    if (last <= from || !is_type(s, last, KB_TOKEN_NAME) || is_type_word(s, last) || is(s, last - 1, "::"))
        return -1;
    for (int i = from; i < last; i++)
        if (!is_qualifier(s, i) || is(s, i, "unsigned") || is(s, i, "long") || is(s, i, "short") || is(s, i, "signed"))
            return last;
    return -1;
}

static struct kb_source_param parameter(const struct scanner *s, int from, int to)
{
    int name = parameter_name(s, from, to);
    if (name < 0)
        return (struct kb_source_param){joined(s, from, to), kb_strdup("")};
    char *before = joined(s, from, name), *after = joined(s, name + 1, to);
    struct kb_source_param p = {kb_format("%s%s", before, after), token_text(s, name)};
    free(before);
    free(after);
    return p;
}

// Calls add for each part of [from, to) that commas outside all brackets split; a default value is cut off.
static void each_part(struct scanner *s, int from, int to, struct found *f,
                      void (*add)(struct scanner *, struct found *, int, int))
{
    int depth = 0, start = from, value = -1;
    for (int i = from; i <= to; i++) {
        int angle = value >= 0 && i < to && is(s, i, "<") ? matching_angle(s, i) : 0;
        if (angle && angle < to) // in a value '<' is a bracket only if it is closed
            i = angle + 1;
        bool opens = is(s, i, "(") || is(s, i, "[") || is(s, i, "{") || (value < 0 && is(s, i, "<"));
        bool closes = is(s, i, ")") || is(s, i, "]") || is(s, i, "}") || (value < 0 && is(s, i, ">"));
        if (i == to || (depth == 0 && is(s, i, ","))) {
            int end = value >= 0 ? value : i;
            if (end > start)
                add(s, f, start, end);
            start = i + 1;
            value = -1;
        } else if (opens) {
            depth++;
        } else if (closes) {
            depth--;
        } else if (depth == 0 && value < 0 && is(s, i, "=")) {
            value = i;
        }
    }
}

static void add_parameter(struct scanner *s, struct found *f, int from, int to)
{
    struct kb_source_kernel *k = &f->kernel;
    if (to == from + 1 && is(s, from, "void"))
        return;
    k->params = kb_realloc(k->params, sizeof *k->params * (size_t)(k->param_count + 1));
    k->params[k->param_count++] = parameter(s, from, to);
}

static void add_template_parameter(struct scanner *s, struct found *f, int from, int to)
{
    struct kb_source_kernel *k = &f->kernel;
    bool named = to - from > 1 && is_type(s, to - 1, KB_TOKEN_NAME) && !is_type_word(s, to - 1);
    size_t more = (size_t)k->template_param_count + 1;
    k->template_kinds = kb_realloc(k->template_kinds, sizeof(char *) * more);
    k->template_kinds[more - 1] = joined(s, from, named ? to - 1 : to);
    k->template_defaults = kb_realloc(k->template_defaults, sizeof(bool) * more);
    k->template_defaults[more - 1] = is(s, to, "=");
    k->template_params = kb_realloc(k->template_params, sizeof(char *) * more);
    k->template_params[k->template_param_count++] = named ? token_text(s, to - 1) : kb_strdup("");
}

static char *scope_now(const struct scanner *s)
{
    struct kb_text out = {0};
    for (int i = 0; i < s->depth && i < MAX_NESTING; i++)
        if (s->scopes[i] && s->scopes[i][0])
            kb_text_addf(&out, "%s%s", out.size ? "::" : "", s->scopes[i]);
    return kb_text_take(&out);
}

// Words that can stand before a parenthesis without being the kernel's name.
static bool is_attribute(const struct scanner *s, int i)
{
    const char *p = s->text + s->tokens[i].at;
    size_t n = s->tokens[i].length;
    return (n > 4 && !memcmp(p, "__", 2) && !memcmp(p + n - 2, "__", 2)) || is(s, i, "alignas") ||
           is(s, i, "noexcept") || is(s, i, "decltype") || is(s, i, "requires") || is(s, i, "__declspec");
}

// From behind __global__ to the name: the last word before a parenthesis whose end is followed by a body or ';', else
// the last word before a parenthesis. *open and *close are its parentheses, *next what follows.
static int kernel_name(const struct scanner *s, int from, int *open, int *close, int *next)
{
    int name = -1, end = from + MAX_LIST;
    for (int i = from; i < end && !is_type(s, i, KB_TOKEN_END) && !is(s, i, ";") && !is(s, i, "{") && !is(s, i, "}");
         i++) {
        if (is(s, i, "__global__")) // another one
            break;
        int paren = i + 1;
        if (is(s, i, "[")) {
            i = matching(s, i, "[", "]");
        } else if (is(s, i, "(")) {
            i = matching(s, i, "(", ")");
        } else if (is_type(s, i, KB_TOKEN_NAME) && !is_attribute(s, i)) {
            if (is(s, paren, "<"))
                paren = matching_angle(s, paren) + 1;
            if (paren > i && is(s, paren, "(")) {
                name = i;
                *open = paren;
                *close = i = matching(s, paren, "(", ")");
            }
        }
        if (is_type(s, i, KB_TOKEN_END))
            break;
        *next = i + 1;
    }
    return name;
}

static void read_template(struct scanner *s, struct found *f)
{
    int open = s->template_at + 1;
    f->kernel.is_template = true;
    int close = is(s, open, "<") ? matching_angle(s, open) : 0;
    if (close <= open + 1) { // `template __global__` instantiates, `template <>` specialises
        f->instance = true;
        return;
    }
    each_part(s, open + 1, close, f, add_template_parameter);
}

static void read_kernel(struct scanner *s)
{
    int open = 0, close = 0, next = s->i + 1, name = kernel_name(s, s->i + 1, &open, &close, &next);
    if (name < 0)
        return;
    KB_GROW(s->found, s->found_count, s->found_capacity);
    struct found *f = &s->found[s->found_count++];
    *f = (struct found){.at = s->tokens[s->i].at, .depth = s->depth};
    f->kernel.name = token_text(s, name);
    f->kernel.line = s->tokens[name].line;
    f->kernel.scope = scope_now(s);
    if (s->template_at >= 0)
        read_template(s, f);
    if (is(s, name + 1, "<") && open > name + 2)
        f->args = joined(s, name + 2, open - 1);
    for (int i = s->statement_at; i < name; i++)
        f->kernel.is_static = f->kernel.is_static || is(s, i, "static");
    for (int i = 0; i < s->depth && i < MAX_NESTING; i++)
        f->kernel.is_static = f->kernel.is_static || s->anonymous[i];
    if (is(s, close, ")"))
        each_part(s, open + 1, close, f, add_parameter);
    f->open = is(s, next, "{");
    f->body.open = s->tokens[next].at;
    s->i = next - 1;
}

// `namespace a::b {` and its kin: moves to the '{' and says what it opens.
static char *namespace_name(struct scanner *s, bool *anonymous)
{
    struct kb_text name = {0};
    int i = s->i + 1, end = i + MAX_NESTING;
    for (; i < end && (is_type(s, i, KB_TOKEN_NAME) || is(s, i, "::") || is(s, i, "[")); i++) {
        if (is(s, i, "["))
            i = matching(s, i, "[", "]");
        else if (is(s, i, "::"))
            kb_text_add(&name, "::");
        else if (!is(s, i, "inline") && !is_attribute(s, i))
            kb_text_bytes(&name, s->text + s->tokens[i].at, s->tokens[i].length);
        if (is_type(s, i, KB_TOKEN_END))
            break;
    }
    if (!is(s, i, "{")) { // an alias or `using namespace`
        kb_text_free(&name);
        return NULL;
    }
    *anonymous = !name.size;
    s->i = i;
    return kb_text_take(&name);
}

static void open_brace(struct scanner *s, char *scope, bool anonymous)
{
    if (s->depth < MAX_NESTING) {
        free(s->scopes[s->depth]);
        s->scopes[s->depth] = scope;
        s->anonymous[s->depth] = anonymous;
    } else {
        free(scope);
    }
    s->depth++;
}

static void close_brace(struct scanner *s)
{
    s->depth -= s->depth > 0;
    for (int k = 0; k < s->found_count; k++) {
        if (s->found[k].open && s->depth <= s->found[k].depth) {
            s->found[k].kernel.end_line = s->tokens[s->i].line;
            s->found[k].body.close = s->tokens[s->i].at;
            s->found[k].kernel.body_open = s->found[k].body.open;
            s->found[k].kernel.body_close = s->found[k].body.close;
            s->found[k].open = false;
        }
    }
}

static void branch(struct scanner *s)
{
    if (is_type(s, s->i, KB_TOKEN_IF)) {
        if (s->branch_depth < MAX_NESTING)
            s->branches[s->branch_depth] = s->depth;
        s->branch_depth++;
    } else if (is_type(s, s->i, KB_TOKEN_ELSE)) {
        if (s->branch_depth > 0 && s->branch_depth <= MAX_NESTING)
            s->depth = s->branches[s->branch_depth - 1];
    } else {
        s->branch_depth -= s->branch_depth > 0;
    }
}

static void next_declaration(struct scanner *s)
{
    s->template_at = -1;
    s->statement_at = s->i + 1;
}

static void walk(struct scanner *s)
{
    s->template_at = -1;
    for (s->i = 0; !is_type(s, s->i, KB_TOKEN_END); s->i++) {
        bool anonymous = false;
        char *scope = is(s, s->i, "namespace") ? namespace_name(s, &anonymous) : NULL;
        if (is(s, s->i, "{")) {
            open_brace(s, scope ? scope : kb_strdup(""), anonymous);
            next_declaration(s);
        } else if (is(s, s->i, "}")) {
            close_brace(s);
            next_declaration(s);
        } else if (is(s, s->i, ";")) {
            next_declaration(s);
        } else if (is(s, s->i, "template")) {
            s->template_at = s->i;
            int close = is(s, s->i + 1, "<") ? matching_angle(s, s->i + 1) : 0;
            s->i = close ? close : s->i; // past the templates inside its parameters
        } else if (is(s, s->i, "__global__")) {
            read_kernel(s);
        } else if (!is_type(s, s->i, KB_TOKEN_NAME) && !is_type(s, s->i, KB_TOKEN_PUNCT) &&
                   !is_type(s, s->i, KB_TOKEN_NUMBER)) {
            branch(s);
        }
    }
}

static void free_kernel(struct kb_source_kernel *k)
{
    for (int i = 0; i < k->param_count; i++) {
        free(k->params[i].type);
        free(k->params[i].name);
    }
    for (int i = 0; i < k->template_param_count; i++) {
        free(k->template_params[i]);
        free(k->template_kinds[i]);
    }
    free(k->params);
    free(k->template_params);
    free(k->template_kinds);
    free(k->template_defaults);
    free(k->name);
    free(k->scope);
}

// A declaration says nothing that its definition doesn't say.
static bool is_redundant(const struct scanner *s, const struct found *f)
{
    for (int i = 0; !f->instance && !f->kernel.end_line && i < s->found_count; i++) {
        const struct kb_source_kernel *other = &s->found[i].kernel;
        if (other->end_line && other->param_count == f->kernel.param_count && !strcmp(other->name, f->kernel.name) &&
            !strcmp(other->scope, f->kernel.scope) && !s->found[i].instance)
            return true;
    }
    return f->instance;
}

// Moves the kernels to out and keeps what the directives need to know.
static void take_kernels(struct scanner *s, struct kb_source *out)
{
    out->kernels = kb_alloc(sizeof *out->kernels * (size_t)(s->found_count + 1));
    out->bodies = kb_alloc(sizeof *out->bodies * (size_t)(s->found_count + 1));
    for (int i = 0; i < s->found_count; i++) {
        if (s->found[i].body.close)
            out->bodies[out->body_count++] = s->found[i].body;
        s->found[i].kept = !is_redundant(s, &s->found[i]);
        if (s->found[i].kept)
            out->kernels[out->kernel_count++] = s->found[i].kernel;
    }
    out->instances = kb_alloc(sizeof *out->instances * (size_t)(s->found_count + 1));
    for (int i = 0; i < s->found_count; i++) {
        struct found *f = &s->found[i];
        if (f->instance && f->args) {
            out->instances[out->instance_count++] = (struct kb_source_instance){kb_strdup(f->kernel.name), f->args};
            f->args = NULL;
        }
        free(f->args);
        if (!f->kept)
            free_kernel(&f->kernel);
    }
}

static int scan_directives(struct scanner *s, const char *text, size_t size, const char *path,
                           const struct kb_blanked *blanked, struct kb_source *out, struct kb_error *e)
{
    struct kb_kernel_place *places = kb_alloc(sizeof *places * (size_t)(s->found_count + 1));
    for (int i = 0; i < s->found_count; i++)
        places[i] = (struct kb_kernel_place){s->found[i].kernel.name, s->found[i].at, s->found[i].kernel.line,
                                             s->found[i].kernel.end_line};
    int status = kb_directives_scan(text, size, path, blanked, places, s->found_count, out, e);
    free(places);
    return status;
}

int kb_source_scan(const char *text, size_t size, const char *path, struct kb_source *out, struct kb_error *e)
{
    *out = (struct kb_source){0};
    if (kb_ends(path, ".ptx")) {
        kb_source_scan_ptx(text, size, out);
        return 0;
    }
    struct kb_blanked blanked;
    struct kb_tokens tokens;
    kb_blank(text, size, &blanked);
    kb_tokenise(&blanked, &tokens);
    struct scanner *s = kb_alloc(sizeof *s);
    s->text = blanked.text;
    s->tokens = tokens.items;
    s->count = tokens.count;
    walk(s);
    int status = scan_directives(s, text, size, path, &blanked, out, e);
    take_kernels(s, out);
    for (int i = 0; i < MAX_NESTING; i++)
        free(s->scopes[i]);
    free(s->found);
    free(s);
    kb_tokens_free(&tokens);
    kb_blanked_free(&blanked);
    if (status)
        kb_source_free(out);
    return status;
}

bool kb_source_path(const char *path)
{
    return kb_ends(path, ".cu") || kb_ends(path, ".cuh") || kb_ends(path, ".ptx");
}

void kb_source_free(struct kb_source *s)
{
    for (int i = 0; i < s->kernel_count; i++)
        free_kernel(&s->kernels[i]);
    for (int i = 0; i < s->directive_count; i++) {
        struct kb_directive *d = &s->directives[i];
        free(d->kernel), free(d->variant), free(d->key), free(d->value);
    }
    for (int i = 0; i < s->instance_count; i++)
        free(s->instances[i].kernel), free(s->instances[i].args);
    free(s->kernels);
    free(s->bodies);
    free(s->instances);
    free(s->directives);
    *s = (struct kb_source){0};
}
