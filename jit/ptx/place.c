// Where the lines of PTX point to: .loc with the chain of calls that were inlined there.
#include "base/memory.h"
#include "jit/ptx/module.h"

#include <stdio.h>
#include <string.h>

static bool toolkit_header(const char *file)
{
    static const char *const marks[] = {"/include/cuda",           "/include/sm_",        "/include/device_",
                                        "/include/mma.h",          "/include/crt/",       "/include/cooperative_groups",
                                        "/include/math_functions", "/include/cccl/",      "/include/cub/",
                                        "/include/thrust/",        "targets/x86_64-linux"};
    for (size_t i = 0; i < KB_COUNT(marks); i++)
        if (strstr(file, marks[i]))
            return true;
    const char *base = strrchr(file, '/');
    base = base ? base + 1 : file;
    // NVRTC gives its built-in headers without a folder of theirs.
    const char *end = strrchr(base, '.');
    if (!end || strcmp(end, ".h"))
        return false;
    return !strncmp(base, "cuda_", 5) || !strncmp(base, "sm_", 3) || !strncmp(base, "device_", 7) ||
           !strncmp(base, "__nv", 4) || !strncmp(base, "builtin", 7) || !strcmp(base, "mma.h");
}

bool ptx_in_toolkit(const struct ptx_module *m, uint32_t loc)
{
    return loc < m->loc_count && toolkit_header(ptx_file_name(m, m->locs[loc].file));
}

enum {
    MOST_INLINED = 16,
    MOST_BACK = 256
}; // calls within calls; how far back the location of the caller is looked for

// The location that an inlined one names as its caller: NVRTC writes the chain outermost first. NULL: the kernel's own.
static const struct ptx_loc *called_from(const struct ptx_module *m, const struct ptx_loc *l)
{
    for (const struct ptx_loc *o = l; o > m->locs && l - o < MOST_BACK; o--)
        if (o != l && o->file == l->outer_file && o->line == l->outer_line)
            return o;
    return NULL;
}

// Where the kernel itself called what the place lies in.
static void add_caller(const struct ptx_module *m, const struct ptx_loc *l, struct ptx_place *place)
{
    int file = 0, line = 0;
    for (int i = 0; l && l->outer_line && i < MOST_INLINED; i++) {
        file = l->outer_file;
        line = l->outer_line;
        l = called_from(m, l);
    }
    const char *name = ptx_file_name(m, file);
    if (!line || toolkit_header(name) || (line == place->line && !strcmp(name, place->file)))
        return;
    place->caller_file = name;
    place->caller_line = line;
}

struct ptx_place ptx_place_of(const struct ptx_module *m, uint32_t loc)
{
    const struct ptx_loc *first = &m->locs[loc < m->loc_count ? loc : 0];
    struct ptx_place place = {.file = ptx_file_name(m, first->file), .line = first->line};
    const struct ptx_loc *l = first;
    for (int i = 0; l && l->line && i < MOST_INLINED; i++, l = called_from(m, l)) {
        const char *file = ptx_file_name(m, l->file), *outer = ptx_file_name(m, l->outer_file);
        bool own = !toolkit_header(file);
        if (!own && (!l->outer_line || toolkit_header(outer)))
            continue;
        place = own ? (struct ptx_place){.file = file, .line = l->line}
                    : (struct ptx_place){.file = outer, .line = l->outer_line};
        break;
    }
    add_caller(m, first, &place);
    return place;
}

static size_t add_place(char *text, size_t room, const char *before, const char *file, int line)
{
    const char *base = strrchr(file, '/');
    base = base ? base + 1 : file;
    int n =
        *base ? snprintf(text, room, "%s%s:%d", before, base, line) : snprintf(text, room, "%sline %d", before, line);
    return n > 0 && (size_t)n < room ? (size_t)n : room - 1;
}

const char *ptx_place_text(struct ptx_place place)
{
    static _Thread_local char text[400];
    if (!place.line)
        return "an unknown line";
    size_t n = add_place(text, sizeof text, "", place.file, place.line);
    if (place.caller_line)
        add_place(text + n, sizeof text - n, ", called at ", place.caller_file, place.caller_line);
    return text;
}
