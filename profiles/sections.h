// From samples by instruction to people's questions: which section of the kernel, which line, which function, and why
// it waited. Pure: no GPU, no CUPTI.
#ifndef KB_PROFILES_SECTIONS_H
#define KB_PROFILES_SECTIONS_H
#include "profiles/line_table.h"
#include "profiles/pcsampling.h"
#include "profiles/stalls.h"

struct kb_section_mark { // a `//kb: section` and how far it reaches; borrowed
    const char *file, *name;
    int line, end_line; // both inside
};
struct kb_section_share {
    char *name, *file;  // file "" where it has none
    int line, end_line; // 0 where it has none
    uint64_t samples;
    uint64_t groups[KB_STALL_GROUPS];
    uint64_t reasons[KB_PCS_REASONS]; // by place in the profile's reasons
};
enum kb_section_place { // how a PC found its section
    KB_PLACE_LINE,      // a line of it, its own or that of a call that was inlined
    KB_PLACE_NEIGHBOUR, // no line is known: the nearest instruction before it in its function that has a section
    KB_PLACE_NONE,
};
struct kb_sections {
    uint64_t samples;
    // In the order of the marks, those without samples too; then functions that were called and not inlined, then one
    // "outside sections", each only if it has samples. Empty without marks.
    struct kb_section_share *sections;
    int section_count, section_capacity;
    struct kb_section_share *lines; // innermost lines, most samples first
    int line_count, line_capacity;
    struct kb_section_share *functions; // innermost functions, most samples first
    int function_count, function_capacity;
    uint64_t by_neighbour; // samples that found their section only so
    uint64_t without_line; // samples of PCs for which the cubin names no line
};
// table may be NULL. How a PC is attributed: from the kernel inwards through the chain of inlined calls, the first line
// that lies in a section counts, so that an inlined function counts for the section that called it.
void kb_sections_make(const struct kb_pc_profile *, const struct kb_line_table *, const struct kb_section_mark *marks,
                      int mark_count, struct kb_sections *out);
void kb_sections_free(struct kb_sections *);

// Whether a path of a line table is this file: the same, or ending in "/" + it.
bool kb_same_file(const char *path, const char *file);

#endif
