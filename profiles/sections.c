#include "profiles/sections.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

bool kb_same_file(const char *path, const char *file)
{
    path += path[0] == '/';
    file += file[0] == '/';
    size_t n = strlen(path), m = strlen(file);
    return n >= m && !strcmp(path + n - m, file) && (n == m || path[n - m - 1] == '/');
}

static void add_counts(struct kb_section_share *s, const struct kb_pc_profile *p, const struct kb_pc *pc)
{
    s->samples += kb_pc_samples(p, pc);
    for (int i = 0; i < p->reason_count; i++) {
        s->reasons[i] += pc->counts[i];
        if (!p->inclusive || !p->reasons[i].not_issued)
            s->groups[kb_stall_reason(p->reasons[i].name)->group] += pc->counts[i];
    }
}

// The entry of this name and place; made if it is not there.
static struct kb_section_share *entry(struct kb_section_share **list, int *count, int *capacity, const char *name,
                                      const char *file, int line)
{
    for (int i = 0; i < *count; i++) {
        struct kb_section_share *s = &(*list)[i];
        if (s->line == line && !strcmp(s->name, name) && !strcmp(s->file, file))
            return s;
    }
    KB_GROW(*list, *count, *capacity);
    struct kb_section_share *s = &(*list)[(*count)++];
    *s = (struct kb_section_share){.name = kb_strdup(name), .file = kb_strdup(file), .line = line};
    return s;
}

// Sections are few, marks come first and keep their places.
static int mark_of(const struct kb_line_frame *frames, int depth, const struct kb_section_mark *marks, int count)
{
    for (int d = depth - 1; d >= 0; d--)
        for (int i = 0; i < count; i++)
            if (frames[d].line >= marks[i].line && frames[d].line <= marks[i].end_line &&
                kb_same_file(frames[d].file, marks[i].file))
                return i;
    return -1;
}

// "$kernel$function" is a function inside a kernel's code that was called, not inlined.
static const char *called_function(const char *symbol)
{
    const char *second = symbol[0] == '$' ? strchr(symbol + 1, '$') : NULL;
    return second ? second + 1 : NULL;
}

static void function_name(const struct kb_line_frame *frames, int depth, const char *symbol, char out[200])
{
    const char *called = called_function(symbol);
    kb_symbol_readable(depth && frames[0].function ? frames[0].function : called ? called : symbol, out, 200);
}

static struct kb_section_share *outside(struct kb_sections *out, const char *symbol)
{
    const char *called = called_function(symbol);
    char name[220] = "outside sections", readable[200];
    if (called) {
        kb_symbol_readable(called, readable, sizeof readable);
        strcpy(name, "in ");
        strcat(name, readable);
    }
    return entry(&out->sections, &out->section_count, &out->section_capacity, name, "", 0);
}

struct place { // where the PC before was
    const char *function;
    int mark;
};

static void add_to_section(struct kb_sections *out, const struct kb_pc_profile *p, const struct kb_pc *pc,
                           const struct kb_line_frame *frames, int depth, const struct kb_section_mark *marks,
                           int mark_count, struct place *before)
{
    int mark = mark_of(frames, depth, marks, mark_count);
    bool same = before->function && !strcmp(before->function, pc->function);
    if (mark < 0 && !depth && same && before->mark >= 0) {
        mark = before->mark;
        out->by_neighbour += kb_pc_samples(p, pc);
    }
    if (mark >= 0 || !same || depth)
        *before = (struct place){pc->function, mark};
    add_counts(mark >= 0 ? &out->sections[mark] : outside(out, pc->function), p, pc);
}

static int by_samples(const void *a, const void *b)
{
    const struct kb_section_share *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    int order = strcmp(x->file, y->file);
    return order ? order : x->line != y->line ? (x->line > y->line) - (x->line < y->line) : strcmp(x->name, y->name);
}

// Calls before "outside sections", which is the last.
static int by_rest(const void *a, const void *b)
{
    const struct kb_section_share *x = a, *y = b;
    int ox = !kb_starts(x->name, "in "), oy = !kb_starts(y->name, "in ");
    return ox != oy ? ox - oy : by_samples(a, b);
}

static void sort(struct kb_section_share *list, int count, int (*order)(const void *, const void *))
{
    if (count > 1)
        qsort(list, (size_t)count, sizeof *list, order);
}

void kb_sections_make(const struct kb_pc_profile *p, const struct kb_line_table *table,
                      const struct kb_section_mark *marks, int mark_count, struct kb_sections *out)
{
    struct place before = {0};
    *out = (struct kb_sections){.samples = p->samples};
    for (int i = 0; i < mark_count; i++) {
        KB_GROW(out->sections, out->section_count, out->section_capacity);
        out->sections[out->section_count++] = (struct kb_section_share){.name = kb_strdup(marks[i].name),
                                                                        .file = kb_strdup(marks[i].file),
                                                                        .line = marks[i].line,
                                                                        .end_line = marks[i].end_line};
    }
    for (int i = 0; i < p->pc_count; i++) {
        const struct kb_pc *pc = &p->pcs[i];
        struct kb_line_frame frames[KB_LINE_DEPTH];
        char name[200];
        int depth = kb_line_table_find(table, pc->function, pc->offset, frames);
        if (mark_count)
            add_to_section(out, p, pc, frames, depth, marks, mark_count, &before);
        function_name(frames, depth, pc->function, name);
        add_counts(entry(&out->functions, &out->function_count, &out->function_capacity, name, "", 0), p, pc);
        if (depth)
            add_counts(entry(&out->lines, &out->line_count, &out->line_capacity, "", frames[0].file, frames[0].line), p,
                       pc);
        else
            out->without_line += kb_pc_samples(p, pc);
    }
    sort(out->lines, out->line_count, by_samples);
    sort(out->functions, out->function_count, by_samples);
    sort(out->sections + mark_count, out->section_count - mark_count, by_rest);
}

static void free_list(struct kb_section_share *list, int count)
{
    for (int i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].file);
    }
    free(list);
}

void kb_sections_free(struct kb_sections *s)
{
    free_list(s->sections, s->section_count);
    free_list(s->lines, s->line_count);
    free_list(s->functions, s->function_count);
    *s = (struct kb_sections){0};
}
