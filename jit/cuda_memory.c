// Where the variables of a module lie on the GPU: names from the image, places from the driver.
//
// The driver tells the place of what it finds by name. Variables that inline assembly declares get names of the
// assembler's making; they lie in the same section of the cubin as others, at a known distance.
#include "base/memory.h"
#include "jit/compile.h"
#include "jit/cuda_driver.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { JOIN_BYTES = 256, ALIGNMENT = 8 };

static bool find(const struct kb_module *m, const char *name, struct kb_module_memory *out)
{
    CUdeviceptr at = 0;
    if (m->device->cu->module_global(&at, &out->bytes, m->module, name) != CUDA_SUCCESS || !at)
        return false;
    out->address = at;
    return true;
}

// The start of its section, by another variable that the driver knows; 0 if there is none.
static uint64_t section_start(const struct kb_module *m, const struct kb_cubin_variable *list, int count,
                              unsigned section)
{
    struct kb_module_memory found;
    for (int i = 0; i < count; i++)
        if (list[i].section == section && !list[i].managed && find(m, list[i].name, &found))
            return found.address - list[i].offset;
    return 0;
}

static void add(struct kb_module *m, struct kb_module_memory piece)
{
    uint64_t before = piece.address % ALIGNMENT; // still its section's: those begin at multiples of far more
    piece.address -= before;
    piece.bytes += before;
    m->memory = kb_realloc(m->memory, (size_t)(m->memory_count + 1) * sizeof *m->memory);
    m->memory[m->memory_count++] = piece;
}

static void from_cubin(struct kb_module *m, const struct kb_cubin_variable *list, int count)
{
    for (int i = 0; i < count; i++) {
        struct kb_module_memory piece = {.bytes = list[i].bytes};
        uint64_t start;
        if (!find(m, list[i].name, &piece) && !list[i].managed &&
            (start = section_start(m, list, count, list[i].section)))
            piece.address = start + list[i].offset;
        piece.constant = list[i].constant;
        if (piece.address)
            add(m, piece);
        else
            m->memory_hidden = true;
    }
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

// The declaration at `line`, behind its state space: its name, the last one before what is between brackets.
static void add_declared(struct kb_module *m, const char *line, bool constant)
{
    size_t end = strcspn(line, "[=;\n"), start;
    struct kb_module_memory piece = {.constant = constant};
    while (end && !in_name(line[end - 1]))
        end--;
    for (start = end; start && in_name(line[start - 1]);)
        start--;
    char *name = kb_strndup(line + start, end - start);
    if (find(m, name, &piece))
        add(m, piece);
    else
        m->memory_hidden = true;
    free(name);
}

static void from_ptx(struct kb_module *m, const char *ptx)
{
    static const char *const spaces[] = {".global", ".const"};
    for (size_t k = 0; k < KB_COUNT(spaces); k++)
        for (const char *at = ptx; (at = strstr(at, spaces[k]));) {
            bool begins = at == ptx || isspace((unsigned char)at[-1]) || strchr(";{", at[-1]);
            at += strlen(spaces[k]);
            if (begins && (*at == ' ' || *at == '\t')) // else part of an instruction's name
                add_declared(m, at, k == 1);
        }
}

static int by_address(const void *a, const void *b)
{
    const struct kb_module_memory *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void join(struct kb_module *m)
{
    int kept = 0;
    if (m->memory_count)
        qsort(m->memory, (size_t)m->memory_count, sizeof *m->memory, by_address);
    for (int i = 0; i < m->memory_count; i++) {
        const struct kb_module_memory *next = &m->memory[i];
        struct kb_module_memory *last = kept ? &m->memory[kept - 1] : NULL;
        uint64_t end = next->address + next->bytes;
        if (!last || last->constant != next->constant || next->address > last->address + last->bytes + JOIN_BYTES)
            m->memory[kept++] = *next;
        else if (end > last->address + last->bytes)
            last->bytes = end - last->address;
    }
    m->memory_count = kept;
}

void kb_cuda_find_memory(struct kb_module *m, const void *image, size_t bytes)
{
    struct kb_cubin_variable *list;
    int count = kb_cubin_variables(image, bytes, &list, NULL);
    if (count < 0 && strnlen(image, bytes) + 1 >= bytes) // text; what loads it wants a NUL behind it
        from_ptx(m, image);
    else if (count < 0)
        m->memory_hidden = true;
    else
        from_cubin(m, list, count);
    kb_cubin_variables_free(list, count < 0 ? 0 : count);
    join(m);
}

const struct kb_module_memory *kb_cuda_module_memory(struct kb_module *m, int *count, bool *whole)
{
    *count = m->memory_count;
    *whole = !m->memory_hidden;
    return m->memory;
}
