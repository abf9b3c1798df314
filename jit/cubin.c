// Reads a cubin: 64-bit little-endian ELF with one .text.K, .nv.info.K, .nv.shared.K a kernel. Every offset is checked;
// the bytes may be anything. Attribute numbers and layouts were read off the output of CUDA 12 and 13 compilers.
#include "jit/compile.h"

#include "base/hash.h"
#include "base/memory.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRY_FLAG = 0x10,  // in st_other of a kernel's symbol
    MANAGED_FLAG = 0x4, // in that of a variable
    ATTR_MAX_THREADS = 0x05,
    ATTR_REQUIRED_THREADS = 0x10,
    ATTR_FRAME_SIZE = 0x11,
    ATTR_PARAM = 0x17,
    ATTR_REGISTERS = 0x2f,
    ATTR_PARAM_V2 = 0x45,
    RESERVED_SHARED = 1024, // of each block, counted in .nv.shared.K where .nv.shared.reserved.0 exists
};

struct elf {
    const unsigned char *bytes;
    size_t size;
    uint64_t sections_at;
    unsigned section_count, names_index;
};
struct section {
    const char *name;
    uint32_t type, link, info;
    uint64_t size, entry_size;
    const unsigned char *data; // NULL if it has no bytes in the file
};

static bool inside(const struct elf *f, uint64_t offset, uint64_t size)
{
    return offset <= f->size && size <= f->size - offset;
}

static bool open_elf(struct elf *f, const void *bytes, size_t size)
{
    Elf64_Ehdr h;
    *f = (struct elf){.bytes = bytes, .size = size};
    if (size < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    f->sections_at = h.e_shoff;
    f->section_count = h.e_shnum;
    f->names_index = h.e_shstrndx;
    return h.e_shentsize == sizeof(Elf64_Shdr) && h.e_shstrndx < h.e_shnum &&
           inside(f, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr));
}

static void header_at(const struct elf *f, unsigned i, Elf64_Shdr *h)
{
    memcpy(h, f->bytes + f->sections_at + (uint64_t)i * sizeof *h, sizeof *h);
}

// A NUL-terminated text inside a string table, or "".
static const char *text_at(const struct elf *f, const Elf64_Shdr *table, uint64_t offset)
{
    if (table->sh_type == SHT_NOBITS || !inside(f, table->sh_offset, table->sh_size) || offset >= table->sh_size)
        return "";
    const char *s = (const char *)f->bytes + table->sh_offset + offset;
    return memchr(s, 0, table->sh_size - offset) ? s : "";
}

static bool section_at(const struct elf *f, unsigned i, struct section *s)
{
    if (i >= f->section_count)
        return false;
    Elf64_Shdr h, names;
    header_at(f, i, &h);
    header_at(f, f->names_index, &names);
    *s = (struct section){.name = text_at(f, &names, h.sh_name),
                          .type = h.sh_type,
                          .link = h.sh_link,
                          .info = h.sh_info,
                          .size = h.sh_size,
                          .entry_size = h.sh_entsize};
    if (h.sh_type != SHT_NOBITS && h.sh_size) {
        if (!inside(f, h.sh_offset, h.sh_size))
            return false;
        s->data = f->bytes + h.sh_offset;
    }
    return true;
}

static bool section_named(const struct elf *f, const char *prefix, const char *name, struct section *s)
{
    size_t n = strlen(prefix);
    for (unsigned i = 1; i < f->section_count; i++)
        if (section_at(f, i, s) && !strncmp(s->name, prefix, n) && !strcmp(s->name + n, name))
            return true;
    return false;
}

static bool symbol_table(const struct elf *f, struct section *s, Elf64_Shdr *names)
{
    for (unsigned i = 1; i < f->section_count; i++)
        if (section_at(f, i, s) && s->type == SHT_SYMTAB && s->data && s->link < f->section_count) {
            header_at(f, s->link, names);
            return true;
        }
    return false;
}

struct attribute {
    unsigned number;
    const unsigned char *data;
    unsigned size;
};

static uint32_t get32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static unsigned get16(const unsigned char *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

// One entry of .nv.info: format, number, then a value of two bytes, or (format 4) a size and so many bytes.
static bool next_attribute(const struct section *s, size_t *at, struct attribute *a)
{
    if (!s->data || s->size - *at < 4 || *at >= s->size)
        return false;
    const unsigned char *p = s->data + *at;
    *a = (struct attribute){.number = p[1], .data = p + 2, .size = 2};
    size_t used = 4;
    if (p[0] == 4) {
        a->size = get16(p + 2);
        a->data = p + 4;
        used += a->size;
        if (s->size - *at < used)
            return false;
    }
    *at += used;
    return true;
}

static void add_param(struct kb_compiled_kernel *k, unsigned ordinal, unsigned offset, unsigned bytes)
{
    if (ordinal >= KB_COUNT(k->params))
        return;
    k->params[ordinal].offset = (int)offset;
    k->params[ordinal].bytes = (int)bytes;
    if ((int)ordinal >= k->param_count)
        k->param_count = (int)ordinal + 1;
}

static int threads_of(const struct attribute *a)
{
    uint64_t x = get32(a->data), y = get32(a->data + 4), z = get32(a->data + 8);
    if (!x || !y || !z || x > 1024 || y > 1024 || z > 1024 || x * y * z > 1024)
        return 0;
    return (int)(x * y * z);
}

static void read_own_info(const struct elf *f, struct kb_compiled_kernel *k)
{
    struct section s;
    struct attribute a;
    if (!section_named(f, ".nv.info.", k->lowered, &s))
        return;
    for (size_t at = 0; next_attribute(&s, &at, &a);) {
        if (a.number == ATTR_PARAM && a.size >= 12) // size in the upper 14 bits
            add_param(k, get16(a.data + 4), get16(a.data + 6), get32(a.data + 8) >> 18);
        else if (a.number == ATTR_PARAM_V2 && a.size >= 12)
            add_param(k, get16(a.data + 4), get16(a.data + 6), get32(a.data + 8));
        else if ((a.number == ATTR_MAX_THREADS || a.number == ATTR_REQUIRED_THREADS) && a.size >= 12)
            k->max_threads = threads_of(&a);
    }
}

// The common .nv.info holds pairs of symbol index and value.
static void read_common_info(const struct elf *f, struct kb_compiled_kernel *k, uint32_t symbol)
{
    struct section s;
    struct attribute a;
    if (!section_named(f, ".nv.info", "", &s))
        return;
    for (size_t at = 0; next_attribute(&s, &at, &a);) {
        if (a.size < 8 || get32(a.data) != symbol)
            continue;
        if (a.number == ATTR_REGISTERS)
            k->registers = (int)(get32(a.data + 4) & 0xffff);
        else if (a.number == ATTR_FRAME_SIZE)
            k->stack_bytes = get32(a.data + 4);
    }
}

static void read_sizes(const struct elf *f, struct kb_compiled_kernel *k)
{
    struct section s, reserved;
    k->shared_bytes = 0;
    if (section_named(f, ".nv.shared.", k->lowered, &s)) {
        bool counted = section_named(f, ".nv.shared.reserved.0", "", &reserved) && s.size >= RESERVED_SHARED;
        k->shared_bytes = (long)(s.size - (counted ? RESERVED_SHARED : 0));
    }
    k->const_bytes = section_named(f, ".nv.constant3", "", &s) ? (long)s.size : 0;
}

static void read_kernel(const struct elf *f, const char *name, uint32_t symbol, struct kb_compiled_kernel *k)
{
    *k = (struct kb_compiled_kernel){.name = kb_strdup(name),
                                     .lowered = kb_strdup(name),
                                     .spill_store_bytes = -1,
                                     .spill_load_bytes = -1,
                                     .shared_bytes = -1,
                                     .stack_bytes = -1,
                                     .const_bytes = -1};
    read_own_info(f, k);
    read_common_info(f, k, symbol);
    read_sizes(f, k);
}

// The i-th; false behind the last one.
static bool symbol_at(const struct section *symbols, uint32_t i, Elf64_Sym *out)
{
    bool there = (uint64_t)(i + 1) * sizeof *out <= symbols->size;
    if (there)
        memcpy(out, symbols->data + (size_t)i * sizeof *out, sizeof *out);
    return there;
}

int kb_cubin_kernels(const void *cubin, size_t size, struct kb_compiled_kernel **out, struct kb_error *e)
{
    struct elf f;
    struct section symbols;
    Elf64_Shdr names;
    Elf64_Sym s;
    *out = NULL;
    if (!open_elf(&f, cubin, size) || !symbol_table(&f, &symbols, &names))
        return kb_fail(e, "cubin", NULL, "%zu bytes that are no readable cubin", size);
    int count = 0, capacity = 0;
    for (uint32_t i = 0; symbol_at(&symbols, i, &s); i++) {
        const char *name = text_at(&f, &names, s.st_name);
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || !(s.st_other & ENTRY_FLAG) || !name[0])
            continue;
        KB_GROW(*out, count, capacity);
        read_kernel(&f, name, i, &(*out)[count++]);
    }
    return count;
}

bool kb_cubin_calls(const void *cubin, size_t size, const char *kernel, const char *function)
{
    struct elf f;
    struct section symbols;
    Elf64_Shdr names;
    Elf64_Sym s;
    bool found = false;
    if (!open_elf(&f, cubin, size) || !symbol_table(&f, &symbols, &names))
        return false;
    char *copy = kb_format("$%s$%s", kernel, function);
    for (uint32_t i = 0; !found && symbol_at(&symbols, i, &s); i++) {
        found = ELF64_ST_TYPE(s.st_info) == STT_FUNC && !strcmp(text_at(&f, &names, s.st_name), copy);
    }
    free(copy);
    return found;
}

int kb_cubin_code_hash(const void *cubin, size_t size, const char *lowered, struct kb_hash *out, struct kb_error *e)
{
    struct elf f;
    if (!open_elf(&f, cubin, size))
        return kb_fail(e, "cubin", NULL, "%zu bytes that are no readable cubin", size);
    struct kb_hasher *h = kb_hasher_new();
    int found = 0;
    for (unsigned i = 1; i < f.section_count; i++) {
        struct section s;
        if (!section_at(&f, i, &s) || strncmp(s.name, ".text.", 6) || !s.data)
            continue;
        if (lowered && strcmp(s.name + 6, lowered))
            continue;
        kb_hasher_text(h, s.name);
        kb_hasher_add(h, s.data, s.size);
        found++;
    }
    *out = kb_hasher_end(h);
    return found ? 0 : kb_fail(e, lowered ? lowered : "cubin", NULL, "no code of this kernel in the cubin");
}

int kb_cubin_data_hash(const void *cubin, size_t size, struct kb_hash *out, struct kb_error *e)
{
    struct elf f;
    if (!open_elf(&f, cubin, size))
        return kb_fail(e, "cubin", NULL, "%zu bytes that are no readable cubin", size);
    struct kb_hasher *h = kb_hasher_new();
    for (unsigned i = 1; i < f.section_count; i++) {
        struct section s;
        bool wanted = section_at(&f, i, &s) && s.data &&
                      (!strncmp(s.name, ".nv.constant", 12) || !strncmp(s.name, ".nv.global.init", 15));
        if (!wanted)
            continue;
        kb_hasher_text(h, s.name);
        kb_hasher_add(h, s.data, s.size);
    }
    *out = kb_hasher_end(h);
    return 0;
}

static bool holds_variables(const struct elf *f, unsigned index, bool *constant)
{
    struct section s;
    if (!section_at(f, index, &s))
        return false;
    *constant = !strcmp(s.name, ".nv.constant3");
    return *constant || !strcmp(s.name, ".nv.global") || !strcmp(s.name, ".nv.global.init");
}

int kb_cubin_variables(const void *cubin, size_t size, struct kb_cubin_variable **out, struct kb_error *e)
{
    struct elf f;
    struct section symbols;
    Elf64_Shdr names;
    Elf64_Sym s;
    int count = 0, capacity = 0;
    *out = NULL;
    if (!open_elf(&f, cubin, size) || !symbol_table(&f, &symbols, &names))
        return kb_fail(e, "cubin", NULL, "%zu bytes that are no readable cubin", size);
    for (uint32_t i = 0; symbol_at(&symbols, i, &s); i++) {
        bool constant = false;
        if (ELF64_ST_TYPE(s.st_info) != STT_OBJECT || !s.st_size || !holds_variables(&f, s.st_shndx, &constant))
            continue;
        KB_GROW(*out, count, capacity);
        (*out)[count++] = (struct kb_cubin_variable){.name = kb_strdup(text_at(&f, &names, s.st_name)),
                                                     .offset = s.st_value,
                                                     .bytes = s.st_size,
                                                     .section = s.st_shndx,
                                                     .constant = constant,
                                                     .managed = s.st_other & MANAGED_FLAG};
    }
    return count;
}

void kb_cubin_variables_free(struct kb_cubin_variable *list, int count)
{
    for (int i = 0; i < count; i++)
        free(list[i].name);
    free(list);
}
