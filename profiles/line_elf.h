// The parts of a cubin that line_table.c reads. Private to it.
#ifndef KB_PROFILES_LINE_ELF_H
#define KB_PROFILES_LINE_ELF_H
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_line_span {
    const unsigned char *data;
    size_t size;
};
struct kb_line_elf {
    unsigned char *bytes; // own copy
    size_t size;
    unsigned section_count;
    struct kb_line_span line, text, symbols, names, relocations; // .debug_line, .debug_str, ...
    bool with_addends;
};
int kb_line_elf_open(const void *bytes, size_t size, struct kb_line_elf *); // -1: no 64-bit ELF
void kb_line_elf_close(struct kb_line_elf *);
const char *kb_line_elf_text(const struct kb_line_elf *, uint64_t offset); // of .debug_str, or ""
// What lies at `place` of .debug_line is the address of a symbol: its section, and its value plus addend.
void kb_line_elf_relocate(const struct kb_line_elf *, uint64_t place, int *section, uint64_t *address);
int kb_line_elf_function(const struct kb_line_elf *, const char *symbol, int *section, uint64_t *address); // -1: none

#endif
