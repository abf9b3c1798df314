#include "profiles/line_elf.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static struct kb_line_span span_of(const struct kb_line_elf *f, const Elf64_Shdr *h)
{
    if (h->sh_type == SHT_NOBITS || h->sh_offset > f->size || h->sh_size > f->size - h->sh_offset)
        return (struct kb_line_span){0};
    return (struct kb_line_span){f->bytes + h->sh_offset, h->sh_size};
}

static const char *text_of(struct kb_line_span s, uint64_t offset)
{
    if (!s.data || offset >= s.size || !memchr(s.data + offset, 0, s.size - offset))
        return "";
    return (const char *)s.data + offset;
}

static void take_section(struct kb_line_elf *f, const Elf64_Shdr *all, const Elf64_Shdr *h, const char *name)
{
    if (!strcmp(name, ".debug_line"))
        f->line = span_of(f, h);
    else if (!strcmp(name, ".debug_str"))
        f->text = span_of(f, h);
    else if (!strcmp(name, ".rela.debug_line") || !strcmp(name, ".rel.debug_line")) {
        f->relocations = span_of(f, h);
        f->with_addends = h->sh_type == SHT_RELA;
    } else if (h->sh_type == SHT_SYMTAB && h->sh_link < f->section_count) {
        f->symbols = span_of(f, h);
        f->names = span_of(f, &all[h->sh_link]);
    }
}

int kb_line_elf_open(const void *bytes, size_t size, struct kb_line_elf *f)
{
    Elf64_Ehdr e;
    *f = (struct kb_line_elf){.size = size};
    if (!bytes || size < sizeof e)
        return -1;
    memcpy(&e, bytes, sizeof e);
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB ||
        e.e_shentsize != sizeof(Elf64_Shdr) || e.e_shoff > size ||
        (uint64_t)e.e_shnum * sizeof(Elf64_Shdr) > size - e.e_shoff || e.e_shstrndx >= e.e_shnum)
        return -1;
    f->bytes = kb_alloc(size);
    memcpy(f->bytes, bytes, size);
    f->section_count = e.e_shnum;
    Elf64_Shdr *all = kb_alloc((size_t)e.e_shnum * sizeof *all); // aligned
    memcpy(all, f->bytes + e.e_shoff, (size_t)e.e_shnum * sizeof *all);
    struct kb_line_span names = span_of(f, &all[e.e_shstrndx]);
    for (unsigned i = 1; i < e.e_shnum; i++)
        take_section(f, all, &all[i], text_of(names, all[i].sh_name));
    free(all);
    return 0;
}

void kb_line_elf_close(struct kb_line_elf *f)
{
    free(f->bytes);
    *f = (struct kb_line_elf){0};
}

const char *kb_line_elf_text(const struct kb_line_elf *f, uint64_t offset)
{
    return text_of(f->text, offset);
}

static bool symbol_at(const struct kb_line_elf *f, uint64_t i, Elf64_Sym *s)
{
    if (!f->symbols.data || i >= f->symbols.size / sizeof *s)
        return false;
    memcpy(s, f->symbols.data + i * sizeof *s, sizeof *s);
    return true;
}

void kb_line_elf_relocate(const struct kb_line_elf *f, uint64_t place, int *section, uint64_t *address)
{
    size_t each = f->with_addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    size_t count = f->relocations.data ? f->relocations.size / each : 0;
    for (size_t i = 0; i < count; i++) {
        Elf64_Rela r = {0};
        Elf64_Sym s;
        memcpy(&r, f->relocations.data + i * each, each);
        if (r.r_offset != place || !symbol_at(f, ELF64_R_SYM(r.r_info), &s))
            continue;
        *section = s.st_shndx;
        *address = s.st_value + (f->with_addends ? (uint64_t)r.r_addend : *address);
        return;
    }
}

int kb_line_elf_function(const struct kb_line_elf *f, const char *symbol, int *section, uint64_t *address)
{
    Elf64_Sym s;
    for (uint64_t i = 0; symbol_at(f, i, &s); i++) {
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || strcmp(text_of(f->names, s.st_name), symbol))
            continue;
        *section = s.st_shndx;
        *address = s.st_value;
        return 0;
    }
    return -1;
}
