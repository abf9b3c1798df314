// Lines and live registers of one cubin come in two listings; here they become one.
#include "base/memory.h"
#include "jit/sass_parse.h"

#include <stdlib.h>
#include <string.h>

enum { LIVE_COLUMN = 96 };

static const struct kb_sass_instruction *at_offset(const struct kb_sass_kernel *k, uint32_t offset)
{
    int low = 0, high = k ? k->count : 0;
    while (low < high) {
        int middle = (low + high) / 2;
        if (k->instructions[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return k && low < k->count && k->instructions[low].offset == offset ? &k->instructions[low] : NULL;
}

static void add_cell(struct kb_text *out, int n)
{
    if (n > 0)
        kb_text_addf(out, " %4d  |", n);
    else
        kb_text_add(out, "       |");
}

static void add_padding(struct kb_text *out, size_t start)
{
    static const char blanks[LIVE_COLUMN + 1] =
        "                                                                                                ";
    size_t width = out->size - start;
    if (width < LIVE_COLUMN)
        kb_text_bytes(out, blanks, LIVE_COLUMN - width);
}

static void add_live(struct kb_text *out, size_t start, const struct kb_sass_instruction *i)
{
    add_padding(out, start);
    kb_text_add(out, " // |");
    add_cell(out, i->live);
    add_cell(out, i->live_predicates);
    add_cell(out, i->live_uniform);
}

static void add_head(struct kb_text *out)
{
    size_t start = out->size;
    add_padding(out, start);
    kb_text_add(out, " // | GPR   | PRED  | UGPR  |\n");
}

// The name of the section that a heading opens, copied into name; false if the line is none.
static bool opens(const char *line, size_t n, char *name, size_t size)
{
    static const char dashes[] = "//-----";
    if (n < sizeof dashes || strncmp(line, dashes, sizeof dashes - 1))
        return false;
    size_t from = 2 + strspn(line + 2, "-");
    from += strspn(line + from, " ");
    size_t length = from < n ? strcspn(line + from, " \n") : 0;
    if (length >= size)
        length = size - 1;
    memcpy(name, line + from, length);
    name[length] = 0;
    return true;
}

static bool offset_of(const char *line, size_t n, uint32_t *offset)
{
    size_t from = strspn(line, " \t");
    char *end;
    if (from + 4 > n || strncmp(line + from, "/*", 2) || line[from + 2] == ' ')
        return false;
    *offset = (uint32_t)strtoul(line + from + 2, &end, 16);
    return !strncmp(end, "*/", 2);
}

static void join(const char *lines, const struct kb_sass_listing *live, struct kb_text *out)
{
    const struct kb_sass_kernel *kernel = NULL;
    char name[4096];
    while (*lines) {
        size_t n = strcspn(lines, "\n"), start = out->size;
        uint32_t offset;
        bool heading = opens(lines, n, name, sizeof name);
        kb_text_bytes(out, lines, n);
        const struct kb_sass_instruction *i = offset_of(lines, n, &offset) ? at_offset(kernel, offset) : NULL;
        if (i)
            add_live(out, start, i);
        kb_text_add(out, "\n");
        if (heading) {
            kernel = kb_starts(name, ".text.") ? kb_sass_find(live, name + strlen(".text.")) : NULL;
            if (kernel)
                add_head(out);
        }
        lines += n + (lines[n] == '\n');
    }
}

int kb_sass_join(const char *lines, size_t lines_size, const char *live, size_t live_size, struct kb_text *out,
                 struct kb_error *e)
{
    struct kb_sass_listing *with_lines, *with_live;
    if (kb_sass_parse(lines, lines_size, &with_lines, e))
        return -1;
    kb_sass_free(with_lines);
    if (kb_sass_parse(live, live_size, &with_live, e))
        return -1;
    char *text = kb_strndup(lines, lines_size);
    join(text, with_live, out);
    free(text);
    kb_sass_free(with_live);
    return 0;
}
