#include "jit/sass_parse.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct place {
    int file, line;
};
struct reader {
    struct kb_sass_listing *out;
    struct kb_sass_kernel *kernel; // NULL outside of code
    struct place inner, outer;     // of what comes next
    bool chain;                    // the last line said where the next instruction comes from
    int columns[3];                // which of the live columns are GPR, PRED and UGPR; -1 absent
    long line;
};

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t");
}

static int no_listing(const struct reader *r, const char *line, struct kb_error *e)
{
    char *clean = kb_cleaned(line);
    kb_fail(e, NULL, "it may come from a version of nvdisasm that is not known here",
            "could not read listing: line %ld is not understood: %.120s", r->line, clean);
    free(clean);
    return -1;
}

static void close_kernel(struct reader *r)
{
    struct kb_sass_kernel *k = r->kernel;
    while (k && k->count && kb_sass_is(&k->instructions[k->count - 1], "NOP"))
        k->count--;
    r->kernel = NULL;
}

static void open_kernel(struct reader *r, const char *name)
{
    struct kb_sass_listing *l = r->out;
    if (r->kernel && !strcmp(r->kernel->name, name))
        return; // the heading and the directive name it both
    close_kernel(r);
    KB_GROW(l->kernels, l->kernel_count, l->kernel_capacity);
    r->kernel = &l->kernels[l->kernel_count++];
    *r->kernel = (struct kb_sass_kernel){.name = name, .live_peak = -1};
    r->inner = r->outer = (struct place){-1, 0};
    r->chain = false;
}

// "//--------------------- .text.NAME -----" and "\t.section\t.text.NAME,"ax",@progbits"
static void section(struct reader *r, char *name)
{
    name[strcspn(name, " \t,")] = 0;
    if (kb_starts(name, ".text."))
        open_kernel(r, name + strlen(".text."));
    else
        close_kernel(r);
}

static int file_index(struct kb_sass_listing *l, const char *name)
{
    for (int i = l->file_count - 1; i >= 0; i--)
        if (!strcmp(l->files[i], name))
            return i;
    KB_GROW(l->files, l->file_count, l->file_capacity);
    l->files[l->file_count] = name;
    return l->file_count++;
}

// `"name", line N`; names may hold anything but the end of that. Returns what stands behind, NULL if it is none.
static char *read_place(struct reader *r, char *s, struct place *p)
{
    char *end = *s == '"' ? strstr(s + 1, "\", line ") : NULL, *after;
    if (!end)
        return NULL;
    long line = strtol(end + strlen("\", line "), &after, 10);
    *end = 0;
    p->file = file_index(r->out, s + 1);
    p->line = line > 0 && line < 1 << 30 ? (int)line : 0;
    return after;
}

// Lines of one chain go from the innermost function outward; only where it starts and ends counts.
static bool read_comment(struct reader *r, char *s)
{
    static const char inlined[] = " inlined at ";
    struct place p, at;
    if (!kb_starts(s, "//## File "))
        return kb_starts(s, "//");
    char *rest = read_place(r, s + strlen("//## File "), &p);
    if (!rest)
        return true; // "//## File X" without a line says nothing that is needed
    if (!r->chain)
        r->inner = r->outer = p;
    r->outer = p;
    if (kb_starts(rest, inlined) && read_place(r, rest + strlen(inlined), &at))
        r->outer = at;
    r->chain = true;
    r->out->has_lines = true;
    return true;
}

// "| GPR   | PRED   | UGPR   |" names the columns of live registers.
static void read_columns(struct reader *r, const char *s)
{
    static const char *const names[] = {"GPR", "PRED", "UGPR"};
    int column = -1;
    for (; *s; s++) {
        if (*s != '|')
            continue;
        column++;
        const char *name = skip_blanks(s + 1);
        size_t n = strcspn(name, " |");
        for (int i = 0; i < 3; i++)
            if (n == strlen(names[i]) && !strncmp(name, names[i], n))
                r->columns[i] = column;
    }
}

static void read_live(struct reader *r, const char *s, struct kb_sass_instruction *i)
{
    int16_t *const to[] = {&i->live, &i->live_predicates, &i->live_uniform};
    int column = -1;
    for (; *s; s++) {
        if (*s != '|' || !skip_blanks(s + 1)[0])
            continue;
        column++;
        long n = strtol(s + 1, NULL, 10); // an empty cell is 0
        for (int k = 0; k < 3; k++)
            if (r->columns[k] == column)
                *to[k] = n >= 0 && n < 4096 ? (int16_t)n : -1;
    }
    r->out->has_live |= i->live >= 0;
    if (i->live > r->kernel->live_peak)
        r->kernel->live_peak = i->live;
}

static void trim_end(char *s)
{
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    s[n] = 0;
}

static char *word(char **s)
{
    char *start = *s;
    *s += strcspn(*s, " \t");
    if (**s)
        *(*s)++ = 0;
    *s = (char *)skip_blanks(*s);
    return start;
}

// "&wr=0x1 &req={1,0} ?WAIT4" behind the operands.
static const char *split_control(char *operands)
{
    for (char *s = operands; *s; s++)
        if ((*s == '&' || *s == '?') && (s == operands || s[-1] == ' ')) {
            char *control = kb_starts(s, "?") || s[1] != ' ' ? s : NULL;
            if (!control)
                continue;
            if (s > operands)
                s[-1] = 0;
            return control;
        }
    return "";
}

static bool read_text(char *s, struct kb_sass_instruction *i)
{
    char *targets = strstr(s, "(*\""), *end = strrchr(s, ';');
    if (!end || (targets && end < targets))
        return false;
    *end = 0;
    if (*skip_blanks(end + 1) && !strchr("}/", *skip_blanks(end + 1)))
        return false;
    s = (char *)skip_blanks(*s == '{' ? s + 1 : s);
    i->predicate = *s == '@' ? word(&s) : "";
    i->opcode = word(&s);
    i->base = (int)strcspn(i->opcode, ".");
    for (int k = 0; k < i->base; k++)
        if (!isupper((unsigned char)i->opcode[k]) && !isdigit((unsigned char)i->opcode[k]) && i->opcode[k] != '_')
            return false; // UCGABAR_ARV has a line between its words
    trim_end(s);
    i->operands = s;
    i->control = split_control(s);
    if (i->control != s)
        trim_end(s);
    else
        i->operands = "";
    return i->base > 0 && isupper((unsigned char)i->opcode[0]);
}

// "/*0070*/   @P0 BRA `(.L_x_1) ;   // |  4 | 1 | 3 |"
static bool read_instruction(struct reader *r, char *s, char *live)
{
    struct kb_sass_kernel *k = r->kernel;
    char *end;
    unsigned long offset = strtoul(s + 2, &end, 16);
    if (end == s + 2 || !kb_starts(end, "*/") || offset > UINT32_MAX)
        return false;
    struct kb_sass_instruction i = {(uint32_t)offset, "", "", "", "", 0, r->inner.file, r->inner.line, r->outer.file,
                                    r->outer.line,    -1, -1, -1};
    char *text = (char *)skip_blanks(end + 2), *encoding = strstr(text, "/* 0x");
    if (encoding)
        *encoding = 0;
    if (!read_text(text, &i))
        return false;
    if (live && live[0] == '|')
        read_live(r, live, &i);
    KB_GROW(k->instructions, k->count, k->capacity);
    k->instructions[k->count++] = i;
    r->chain = false;
    return true;
}

static bool read_label(struct reader *r, char *s)
{
    struct kb_sass_kernel *k = r->kernel;
    trim_end(s);
    size_t n = strlen(s);
    if (n < 2 || s[n - 1] != ':' || strpbrk(s, " \t"))
        return false;
    s[n - 1] = 0;
    if (kb_starts(s, ".text."))
        return true;
    KB_GROW(k->labels, k->label_count, k->label_capacity);
    k->labels[k->label_count++] = (struct kb_sass_label){s, k->count, s[0] != '.'};
    return true;
}

// Cuts "// | 11 | | 3 |" (or a rule of the table, "// +---+") off; returns what stands in it, NULL if there is none.
static char *cut_live(char *s)
{
    char *at = s;
    while ((at = strstr(at, "// ")) && at[3] != '|' && at[3] != '+')
        at += 3;
    if (!at)
        return NULL;
    *at = 0;
    return at + 3;
}

static bool is_heading(const char *s)
{
    return kb_starts(s, "//-----");
}

static bool read_line(struct reader *r, char *line)
{
    char *s = (char *)skip_blanks(line);
    if (is_heading(s)) {
        section(r, (char *)skip_blanks(s + 2 + strspn(s + 2, "-")));
        return true;
    }
    if (kb_starts(s, ".section") && strchr(" \t", s[strlen(".section")])) {
        section(r, (char *)skip_blanks(s + strlen(".section")));
        return true;
    }
    if (kb_starts(s, ".target") && !r->out->arch[0]) {
        r->out->arch = skip_blanks(s + strlen(".target"));
        return true;
    }
    if (!r->kernel)
        return true;
    char *live = cut_live(s);
    if (live && strstr(live, "GPR"))
        read_columns(r, live);
    if (!*s || kb_starts(s, "//"))
        return !*s || read_comment(r, s);
    if (kb_starts(s, "/*") && !kb_starts(s, "/* "))
        return read_instruction(r, s, live);
    bool indented = s != line;
    return kb_starts(s, "/* 0x") || (indented && *s == '.') || !strcmp(s, "}") || (!indented && read_label(r, s));
}

bool kb_sass_is(const struct kb_sass_instruction *i, const char *base)
{
    return strlen(base) == (size_t)i->base && !strncmp(i->opcode, base, (size_t)i->base);
}

static void clamp_labels(struct kb_sass_listing *l)
{
    for (int i = 0; i < l->kernel_count; i++)
        for (int k = 0; k < l->kernels[i].label_count; k++)
            if (l->kernels[i].labels[k].index > l->kernels[i].count)
                l->kernels[i].labels[k].index = l->kernels[i].count;
}

static int read_all(struct reader *r, struct kb_error *e)
{
    char *next;
    for (char *line = r->out->text; *line; line = next) {
        char *end = strchr(line, '\n');
        if (!end)
            break;
        next = end + 1;
        *end = 0;
        if (end > line && end[-1] == '\r')
            end[-1] = 0;
        r->line++;
        char *kept = r->kernel ? kb_strndup(line, 200) : NULL;
        bool fine = read_line(r, line);
        if (!fine)
            no_listing(r, kept ? kept : "", e);
        free(kept);
        if (!fine)
            return -1;
    }
    close_kernel(r);
    clamp_labels(r->out);
    for (int i = 0; i < r->out->kernel_count; i++)
        if (r->out->kernels[i].count)
            return 0;
    return kb_fail(e, NULL, "it may come from a version of nvdisasm that is not known here",
                   "could not read listing: none of its %ld lines is an instruction", r->line);
}

int kb_sass_parse(const char *text, size_t size, struct kb_sass_listing **out, struct kb_error *e)
{
    struct kb_sass_listing *l = kb_alloc(sizeof *l);
    struct reader r = {.out = l, .inner = {-1, 0}, .outer = {-1, 0}, .columns = {-1, -1, -1}};
    *out = NULL;
    l->text = kb_alloc(size + 1);
    l->arch = "";
    if (size)
        memcpy(l->text, text, size);
    if (size && memchr(text, 0, size)) {
        kb_sass_free(l);
        return kb_fail(e, NULL, NULL, "could not read listing: it holds binary data");
    }
    if (read_all(&r, e)) {
        kb_sass_free(l);
        return -1;
    }
    *out = l;
    return 0;
}

void kb_sass_free(struct kb_sass_listing *l)
{
    for (int i = 0; l && i < l->kernel_count; i++) {
        free(l->kernels[i].instructions);
        free(l->kernels[i].labels);
    }
    if (!l)
        return;
    free(l->kernels);
    free(l->files);
    free(l->text);
    free(l);
}

const struct kb_sass_kernel *kb_sass_find(const struct kb_sass_listing *l, const char *name)
{
    for (int i = 0; i < l->kernel_count; i++)
        if (!strcmp(l->kernels[i].name, name))
            return &l->kernels[i];
    return NULL;
}

void kb_sass_show(struct kb_text *out, const struct kb_sass_instruction *i)
{
    if (*i->predicate)
        kb_text_addf(out, "%s ", i->predicate);
    kb_text_add(out, i->opcode);
    if (*i->operands) {
        kb_text_add(out, " ");
        size_t n = strlen(i->operands);
        const char *targets = strstr(i->operands, "(*\"");
        for (n = targets ? (size_t)(targets - i->operands) : n; n && i->operands[n - 1] == ' '; n--)
            continue;
        kb_text_bytes(out, i->operands, n);
    }
}
