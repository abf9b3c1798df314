#include "profiles/line_table.h"
#include "base/memory.h"
#include "base/text.h"
#include "profiles/line_elf.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { // DWARF 2, 6.2.5, and NVIDIA's addition
    LNS_COPY = 1,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_SET_FILE,
    LNS_SET_COLUMN,
    LNS_NEGATE_STMT,
    LNS_BASIC_BLOCK,
    LNS_CONST_ADD_PC,
    LNS_FIXED_ADVANCE_PC,
    LNE_END_SEQUENCE = 1,
    LNE_SET_ADDRESS = 2,
    LNE_DEFINE_FILE = 3,
    LNE_INLINED_CALL =
        0x90, // ULEB context: row of the same sequence (from 1) that called, 0 none; ULEB name in .debug_str
    MOST_ROWS = 4 << 20,
};

struct row {
    int section; // ELF section of the code; rows of an ended sequence mark its end with line 0
    uint64_t address;
    int file, line;
    int caller; // index of a row, -1 none
    const char *function;
    int order; // in which it came
};
struct kb_line_table {
    struct kb_line_elf elf; // owns a copy of the bytes
    char **files;
    int file_count, file_capacity;
    struct row *rows; // in the order of the program: contexts refer to it
    int row_count, row_capacity;
    int *sorted; // rows by section, address, order
};

struct unit { // one line program
    const unsigned char *p, *end;
    bool broken;
    unsigned min_instruction, line_range, opcode_base;
    int line_base;
    const unsigned char *lengths; // of the standard opcodes
    int first_file, first_row;    // first_row: of the sequence at hand
    const char *folders[256];
    int folder_count;
};

static unsigned take_byte(struct unit *u)
{
    u->broken = u->broken || u->p >= u->end;
    return u->broken ? 0 : *u->p++;
}

static uint64_t take_fixed(struct unit *u, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)take_byte(u) << 8 * i;
    return v;
}

static uint64_t take_uleb(struct unit *u)
{
    uint64_t v = 0;
    for (unsigned shift = 0; !u->broken; shift += 7) {
        unsigned b = take_byte(u);
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            break;
    }
    return v;
}

static int64_t take_sleb(struct unit *u)
{
    uint64_t v = 0;
    unsigned shift = 0, b = 0x80;
    while (!u->broken && b & 0x80) {
        b = take_byte(u);
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        shift += 7;
    }
    if (shift < 64 && b & 0x40)
        v |= ~(uint64_t)0 << shift;
    return (int64_t)v;
}

static const char *take_text(struct unit *u)
{
    const unsigned char *end = u->broken ? NULL : memchr(u->p, 0, (size_t)(u->end - u->p));
    const char *text = end ? (const char *)u->p : "";
    u->broken = u->broken || !end;
    if (end)
        u->p = end + 1;
    return text;
}

static void add_file(struct kb_line_table *t, const struct unit *u, const char *name, uint64_t folder)
{
    bool inside = folder >= 1 && folder <= (uint64_t)u->folder_count && name[0] != '/';
    const char *where = inside ? u->folders[folder - 1] : "";
    KB_GROW(t->files, t->file_count, t->file_capacity);
    char *full = kb_format("%s%s%s", where, inside && !kb_ends(where, "/") ? "/" : "", name);
    t->files[t->file_count++] = full;
}

static void take_file(struct kb_line_table *t, struct unit *u)
{
    const char *name = take_text(u);
    uint64_t folder = take_uleb(u);
    take_uleb(u); // time
    take_uleb(u); // size
    add_file(t, u, name, folder);
}

static bool take_header(struct kb_line_table *t, struct unit *u)
{
    unsigned version = (unsigned)take_fixed(u, 2);
    uint64_t header = take_fixed(u, 4);
    if (u->broken || version < 2 || version > 4 || header > (uint64_t)(u->end - u->p))
        return false;
    const unsigned char *program = u->p + header;
    u->min_instruction = take_byte(u);
    if (version >= 4)
        take_byte(u); // operations an instruction
    take_byte(u);     // default of is_stmt
    u->line_base = (int8_t)take_byte(u);
    u->line_range = take_byte(u);
    u->opcode_base = take_byte(u);
    u->lengths = u->p;
    for (unsigned i = 1; i < u->opcode_base; i++)
        take_byte(u);
    for (const char *s; *(s = take_text(u));)
        if (u->folder_count < (int)KB_COUNT(u->folders))
            u->folders[u->folder_count++] = s;
    while (!u->broken && u->p < u->end && *u->p)
        take_file(t, u);
    u->p = program;
    return !u->broken && u->line_range && u->opcode_base;
}

struct machine {
    int section, file, line;
    uint64_t address;
    int caller;
    const char *function;
};

static void add_row(struct kb_line_table *t, const struct machine *m, int line)
{
    if (t->row_count >= MOST_ROWS)
        return;
    KB_GROW(t->rows, t->row_count, t->row_capacity);
    t->rows[t->row_count] = (struct row){m->section, m->address, m->file, line, m->caller, m->function, t->row_count};
    t->row_count++;
}

static void extended(struct kb_line_table *t, struct unit *u, struct machine *m)
{
    uint64_t length = take_uleb(u);
    if (u->broken || !length || length > (uint64_t)(u->end - u->p)) {
        u->broken = true;
        return;
    }
    const unsigned char *next = u->p + length;
    unsigned code = take_byte(u);
    if (code == LNE_END_SEQUENCE) {
        add_row(t, m, 0);
        u->first_row = t->row_count;
        *m = (struct machine){.section = -1, .file = 1, .line = 1, .caller = -1};
    } else if (code == LNE_SET_ADDRESS) {
        uint64_t place = (uint64_t)(u->p - t->elf.line.data);
        m->address = take_fixed(u, length > 9 ? 8 : (unsigned)length - 1);
        kb_line_elf_relocate(&t->elf, place, &m->section, &m->address);
    } else if (code == LNE_DEFINE_FILE) {
        take_file(t, u);
    } else if (code == LNE_INLINED_CALL) {
        uint64_t context = take_uleb(u), name = take_uleb(u);
        uint64_t row = context ? (uint64_t)u->first_row + context - 1 : 0;
        m->caller = context && row < (uint64_t)t->row_count ? (int)row : -1;
        m->function = context ? kb_line_elf_text(&t->elf, name) : NULL;
    }
    u->p = next;
}

static void standard(struct kb_line_table *t, struct unit *u, struct machine *m, unsigned code)
{
    switch (code) {
    case LNS_COPY:
        add_row(t, m, m->line);
        break;
    case LNS_ADVANCE_PC:
        m->address += take_uleb(u) * u->min_instruction;
        break;
    case LNS_ADVANCE_LINE:
        m->line = (int)(m->line + take_sleb(u));
        break;
    case LNS_SET_FILE:
        m->file = (int)take_uleb(u);
        break;
    case LNS_CONST_ADD_PC:
        m->address += (uint64_t)((255 - u->opcode_base) / u->line_range) * u->min_instruction;
        break;
    case LNS_FIXED_ADVANCE_PC:
        m->address += take_fixed(u, 2);
        break;
    default: // changes nothing that is used here
        for (unsigned i = 0; i < u->lengths[code - 1]; i++)
            take_uleb(u);
    }
}

static void run_program(struct kb_line_table *t, struct unit *u)
{
    struct machine m = {.section = -1, .file = 1, .line = 1, .caller = -1};
    while (!u->broken && u->p < u->end) {
        unsigned code = take_byte(u);
        if (code >= u->opcode_base) {
            unsigned special = code - u->opcode_base;
            m.address += (uint64_t)(special / u->line_range) * u->min_instruction;
            m.line += u->line_base + (int)(special % u->line_range);
            add_row(t, &m, m.line);
        } else if (code == 0) {
            extended(t, u, &m);
        } else {
            standard(t, u, &m, code);
        }
    }
}

static void read_units(struct kb_line_table *t)
{
    const unsigned char *p = t->elf.line.data, *end = p + t->elf.line.size;
    while (p && end - p > 4) {
        uint32_t length;
        memcpy(&length, p, 4);
        p += 4;
        if (length > (size_t)(end - p))
            return;
        struct unit u = {.p = p, .end = p + length, .first_file = t->file_count, .first_row = t->row_count};
        int before = t->row_count;
        if (take_header(t, &u))
            run_program(t, &u);
        for (int i = before; i < t->row_count; i++) { // numbers of this unit become numbers of the table
            int file = u.first_file + t->rows[i].file - 1;
            t->rows[i].file = t->rows[i].file >= 1 && file < t->file_count ? file : -1;
        }
        p += length;
    }
}

static const struct row *sorting; // qsort has no context; one thread reads tables

static int by_place(const void *a, const void *b)
{
    const struct row *x = &sorting[*(const int *)a], *y = &sorting[*(const int *)b];
    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

int kb_line_table_read(const void *cubin, size_t size, struct kb_line_table **out, struct kb_error *e)
{
    struct kb_line_table *t = kb_alloc(sizeof *t);
    if (kb_line_elf_open(cubin, size, &t->elf)) {
        free(t);
        return kb_fail(e, NULL, NULL, "no cubin (%zu bytes that are no 64-bit ELF)", size);
    }
    read_units(t);
    t->sorted = kb_alloc((size_t)t->row_count * sizeof *t->sorted + 1);
    for (int i = 0; i < t->row_count; i++)
        t->sorted[i] = i;
    sorting = t->rows;
    if (t->row_count)
        qsort(t->sorted, (size_t)t->row_count, sizeof *t->sorted, by_place);
    *out = t;
    return 0;
}

void kb_line_table_free(struct kb_line_table *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->file_count; i++)
        free(t->files[i]);
    free(t->files);
    free(t->rows);
    free(t->sorted);
    kb_line_elf_close(&t->elf);
    free(t);
}

int kb_line_table_rows(const struct kb_line_table *t)
{
    return t ? t->row_count : 0;
}

// The last row at or before a place of a section; NULL if there is none.
static const struct row *row_at(const struct kb_line_table *t, int section, uint64_t address)
{
    int low = 0, high = t->row_count; // the first row behind lies in [low, high]
    while (low < high) {
        int middle = low + (high - low) / 2;
        const struct row *r = &t->rows[t->sorted[middle]];
        bool behind = r->section != section ? r->section > section : r->address > address;
        if (behind)
            high = middle;
        else
            low = middle + 1;
    }
    const struct row *r = low ? &t->rows[t->sorted[low - 1]] : NULL;
    return r && r->section == section && r->line > 0 ? r : NULL;
}

int kb_line_table_find(const struct kb_line_table *t, const char *function, uint64_t offset,
                       struct kb_line_frame frames[KB_LINE_DEPTH])
{
    int section, n = 0;
    uint64_t start;
    if (!t || kb_line_elf_function(&t->elf, function, &section, &start))
        return 0;
    const struct row *r = row_at(t, section, start + offset);
    while (r && n < KB_LINE_DEPTH) {
        const char *file = r->file >= 0 ? t->files[r->file] : "";
        frames[n++] = (struct kb_line_frame){file + (file[0] == '/'), r->line, r->function};
        const struct row *caller = r->caller >= 0 ? &t->rows[r->caller] : NULL;
        r = caller && caller->order < r->order ? caller : NULL; // backwards only: no cycle
    }
    return n;
}
