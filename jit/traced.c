// kb_section.cuh is always found, and a traced compile makes calls of it out of the marked lines.
#include "jit/build.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_mentioned(const struct kb_compile_request *r)
{
    for (int i = 0; i < r->file_count; i++)
        if (memmem(r->files[i].data, r->files[i].size, KB_SECTION_HEADER, sizeof KB_SECTION_HEADER - 1))
            return true;
    return false;
}

bool kb_section_header_add(const struct kb_compile_request *r, struct kb_compile_request *out)
{
    static const char name[] = KB_SECTION_FOLDER "/" KB_SECTION_HEADER;
    if (!r->traced && !is_mentioned(r))
        return false;
    struct kb_compile_file *files = kb_alloc(sizeof *files * (size_t)(r->file_count + 1));
    const char **dirs = kb_alloc(sizeof *dirs * (size_t)(r->include_dir_count + 1));
    for (int i = 0; i < r->file_count; i++)
        files[i] = r->files[i];
    for (int i = 0; i < r->include_dir_count; i++)
        dirs[i] = r->include_dirs[i];
    files[r->file_count] = (struct kb_compile_file){name, kb_embedded_kb_section_cuh, kb_embedded_kb_section_cuh_size};
    dirs[r->include_dir_count] = KB_SECTION_FOLDER; // last: a copy of the user's own goes first
    *out = *r;
    out->files = files;
    out->include_dirs = dirs;
    out->file_count++;
    out->include_dir_count++;
    return true;
}

void kb_section_header_free(struct kb_compile_request *r)
{
    free((void *)r->files);
    free((void *)r->include_dirs);
}

int kb_compile_traced(const struct kb_compile_request *given, struct kb_compiled *out, struct kb_trace_names *names,
                      struct kb_error *e)
{
    struct kb_compile_request r = *given;
    struct kb_compile_file *files = kb_alloc(sizeof *files * (size_t)(r.file_count + 1));
    struct kb_instrumented *texts = kb_alloc(sizeof *texts * (size_t)(r.file_count + 1));
    int status = 0, kernels = 0;
    *out = (struct kb_compiled){0};
    for (int i = 0; !status && i < r.file_count; i++) {
        const struct kb_compile_file *f = &r.files[i];
        status = kb_instrument(f->data, f->size, f->name, &texts[i], names, e);
        kernels += texts[i].kernels;
        files[i] = (struct kb_compile_file){f->name, texts[i].text, texts[i].size};
        if (!strcmp(kb_path_base(f->name), KB_SECTION_HEADER)) // not its own macros
            files[i] = *f;
    }
    if (!status && !kernels)
        status = kb_fail(e, r.main, "a kernel that a macro writes cannot be traced: write its body out",
                         "no kernel's body was found to trace");
    r.files = files;
    r.traced = true;
    if (!status)
        status = kb_compile(&r, out, e);
    for (int i = 0; i < given->file_count; i++)
        free(texts[i].text);
    free(texts);
    free(files);
    return status;
}
