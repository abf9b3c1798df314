// A listing of machine code by nvdisasm, read into kernels and instructions. Pure: text in, structures out.
//
// The text form is read (`-c -g -gi`, and `-c -plr -lrm count` for the live registers), not `-json`: every version
// since CUDA 10 prints it, while the JSON has neither live registers nor inlining and its schema has changed. One run
// cannot give both lines and live registers (nvdisasm ignores -g behind -plr), so that two listings are joined by
// kb_sass_join(), whose result is a listing again: both kinds of annotation in one text.
#ifndef KB_JIT_SASS_PARSE_H
#define KB_JIT_SASS_PARSE_H
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kb_sass_instruction {
    uint32_t offset;       // bytes from the start of the kernel's section: a sample's pc
    const char *predicate; // "@!P0", "" if none
    const char *opcode;    // with its modifiers, "LDG.E.128"
    const char *operands;  // "R2, desc[UR6][R2.64]", "" if none
    const char *control;   // scheduling as newer versions print it, "&req={1} ?WAIT4"; "" if none
    int base;              // bytes of the opcode without modifiers: 3 of "LDG.E.128"
    int file, line;        // index into files, -1; 0 if unknown. Of the innermost inlined function
    int at_file, at_line;  // where that was inlined into the kernel itself; the same as file, line if it was not
    int16_t live, live_predicates, live_uniform; // registers live here, -1 unknown
};
struct kb_sass_label {
    const char *name;
    int index;     // of the instruction behind it; the kernel's count at its end
    bool function; // a symbol, not a place to branch to
};
struct kb_sass_kernel {
    const char *name; // symbol
    struct kb_sass_instruction *instructions;
    int count, capacity; // count: without the NOPs that fill up the section's end
    struct kb_sass_label *labels;
    int label_count, label_capacity;
    int live_peak; // most registers live at once, -1 unknown
};
struct kb_sass_listing {
    char *text;       // what all names point into
    const char *arch; // "sm_90", "" if not said
    struct kb_sass_kernel *kernels;
    int kernel_count, kernel_capacity;
    const char **files; // source files as the line table names them
    int file_count, file_capacity;
    bool has_lines, has_live;
};

// 0, or -1 where this is no listing, holds no code, or a line of its code is not understood: never a shorter listing in
// silence. A last line without its end (a listing that was cut) is left out.
int kb_sass_parse(const char *text, size_t size, struct kb_sass_listing **out, struct kb_error *);
void kb_sass_free(struct kb_sass_listing *);
const struct kb_sass_kernel *kb_sass_find(const struct kb_sass_listing *, const char *name); // NULL if absent
bool kb_sass_is(const struct kb_sass_instruction *, const char *base); // is its opcode without modifiers `base`?
// "@!P0 LDG.E.128 R4, desc[UR6][R2.64]" appended.
void kb_sass_show(struct kb_text *, const struct kb_sass_instruction *);

// The listing with lines, with the columns of live registers of the other one behind each instruction. Both must be
// listings of one cubin. Appends to out; -1 if either can't be read.
int kb_sass_join(const char *lines, size_t lines_size, const char *live, size_t live_size, struct kb_text *out,
                 struct kb_error *);

#endif
