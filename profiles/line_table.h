// Source lines of the instructions of a cubin, through inlining: its .debug_line section (DWARF 2, as nvcc -lineinfo
// and NVRTC write it) with NVIDIA's extended opcode 0x90, which says for the rows behind it at which other row their
// function was inlined. Every offset is checked; the bytes may be anything.
#ifndef KB_PROFILES_LINE_TABLE_H
#define KB_PROFILES_LINE_TABLE_H
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct kb_line_table;

enum { KB_LINE_DEPTH = 16 };
struct kb_line_frame {
    const char *file; // of the line table without a leading "/"; owned by the table
    int line;
    const char *function; // symbol that was inlined here; NULL for the function's own code
};
// -1: no cubin. A cubin without lines gives a table that finds nothing (kb_line_table_rows 0).
int kb_line_table_read(const void *cubin, size_t size, struct kb_line_table **, struct kb_error *);
void kb_line_table_free(struct kb_line_table *);
int kb_line_table_rows(const struct kb_line_table *);

// Where the instruction `offset` bytes behind the start of a function (symbol) comes from: innermost first. Returns the
// number of frames, 0 if it is not known.
int kb_line_table_find(const struct kb_line_table *, const char *function, uint64_t offset,
                       struct kb_line_frame frames[KB_LINE_DEPTH]);

// "_ZN2ns6helperEf" -> "ns::helper": names only, no types, no templates; other text stays as it is. Writes at most size
// bytes.
void kb_symbol_readable(const char *symbol, char *out, size_t size);

#endif
