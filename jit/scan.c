#include "jit/scan.h"

#include "base/memory.h"
#include "bench/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kb_compile_file *kb_scan_file(const struct kb_compile_request *r, const char *name)
{
    for (int i = 0; i < r->file_count; i++)
        if (!strcmp(r->files[i].name, name))
            return &r->files[i];
    return NULL;
}

size_t kb_scan_mark(const char *data, size_t size)
{
    return size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3) ? 3 : 0;
}

static void add_note(struct kb_scan *s, char *note)
{
    s->notes = kb_realloc(s->notes, sizeof *s->notes * (size_t)(s->note_count + 1));
    s->notes[s->note_count++] = note;
}

static int line_of(const char *data, size_t at)
{
    int line = 1;
    for (size_t i = 0; i < at; i++)
        line += data[i] == '\n';
    return line;
}

static size_t first_invalid(const char *data, size_t size)
{
    for (size_t i = 0; i < size;) {
        uint32_t code;
        int n = (unsigned char)data[i] < 0x80 ? 1 : kb_utf8_decode(data + i, size - i, &code);
        if (n <= 0)
            return i;
        i += (size_t)n;
    }
    return size;
}

static bool stops_at(const struct kb_compile_file *f, int byte, const char *what, struct kb_scan *s)
{
    const char *at = memchr(f->data, byte, f->size);
    if (at)
        snprintf(s->reason, sizeof s->reason, "%s: byte 0x%02X in line %d: %s", f->name, (unsigned)byte,
                 line_of(f->data, (size_t)(at - f->data)), what);
    return at != NULL;
}

// false, with the reason, for what no compiler should be bothered with.
static bool check_encoding(const struct kb_compile_file *f, const char *compiler, struct kb_scan *s)
{
    if (f->size >= 2 && (!memcmp(f->data, "\xff\xfe", 2) || !memcmp(f->data, "\xfe\xff", 2))) {
        snprintf(s->reason, sizeof s->reason, "%s is UTF-16; save it as UTF-8", f->name);
        return false;
    }
    if (stops_at(f, 0, "a NUL; this is no text", s))
        return false;
    // NVRTC takes it for the file's end, in comments too, and says nothing.
    bool nvrtc = !compiler || strcmp(compiler, "nvcc") != 0;
    if (nvrtc && stops_at(f, 0xff, "NVRTC reads no further than this; save the file as UTF-8", s))
        return false;
    if (kb_scan_mark(f->data, f->size))
        add_note(s, kb_format("%s: byte order mark stripped", f->name));
    size_t bad = first_invalid(f->data, f->size);
    if (bad < f->size)
        add_note(s, kb_format("%s:%d: not valid UTF-8 (byte 0x%02x)", f->name, line_of(f->data, bad),
                              (unsigned char)f->data[bad]));
    return true;
}

static void take_kernels(const struct kb_source *source, const char *file, struct kb_scan *s)
{
    for (int i = 0; i < source->kernel_count; i++) {
        const struct kb_source_kernel *k = &source->kernels[i];
        s->kernels = kb_realloc(s->kernels, sizeof *s->kernels * (size_t)(s->kernel_count + 1));
        s->kernels[s->kernel_count++] = (struct kb_scan_kernel){
            .name = kb_format("%s%s%s", k->scope, k->scope[0] ? "::" : "", k->name),
            .file = kb_strdup(file),
            .line = k->line,
            .is_template = k->is_template,
        };
    }
}

static bool mentions_kernel(const struct kb_compile_file *f)
{
    char *blank = kb_source_blank(f->data, f->size);
    bool found = strstr(blank, "__global__") != NULL || (kb_ends(f->name, ".ptx") && strstr(blank, ".entry"));
    free(blank);
    return found;
}

// Kernels of one file. Only the main file's //kb: lines count, so only there a bad one is an error.
static bool scan_file(const struct kb_compile_file *f, bool is_main, struct kb_scan *s, bool *mentioned)
{
    size_t mark = kb_scan_mark(f->data, f->size);
    struct kb_source source = {0};
    struct kb_error e = {0};
    bool there = f->size && mentions_kernel(f);
    *mentioned = *mentioned || there;
    if (!there && !is_main)
        return true;
    if (kb_source_scan(f->data + mark, f->size - mark, f->name, &source, &e)) {
        if (!is_main)
            return true;
        snprintf(s->reason, sizeof s->reason, "%s", kb_error_line(&e));
        return false;
    }
    take_kernels(&source, f->name, s);
    kb_source_free(&source);
    return true;
}

void kb_scan_request(const struct kb_compile_request *r, struct kb_scan *s)
{
    *s = (struct kb_scan){0};
    const struct kb_compile_file *f = kb_scan_file(r, r->main);
    if (!f) {
        snprintf(s->reason, sizeof s->reason, "%s is not among the files of the request", r->main);
        return;
    }
    bool mentioned = false;
    if (!check_encoding(f, r->compiler, s) || !scan_file(f, true, s, &mentioned))
        return;
    for (int i = 0; i < r->file_count; i++) {
        const struct kb_compile_file *other = &r->files[i];
        if (other == f)
            continue;
        if (kb_scan_mark(other->data, other->size))
            add_note(s, kb_format("%s: byte order mark stripped", other->name));
        scan_file(other, false, s, &mentioned);
    }
    s->ok = mentioned; // a macro may make kernels that the scan does not see
    if (!s->ok)
        snprintf(s->reason, sizeof s->reason, "no __global__ function in %s (%zu bytes)", f->name, f->size);
}

void kb_scan_free(struct kb_scan *s)
{
    for (int i = 0; i < s->kernel_count; i++) {
        free(s->kernels[i].name);
        free(s->kernels[i].file);
    }
    for (int i = 0; i < s->note_count; i++)
        free(s->notes[i]);
    free(s->kernels);
    free(s->notes);
    *s = (struct kb_scan){0};
}

const struct kb_scan_kernel *kb_scan_find(const struct kb_scan *s, const char *name)
{
    if (kb_starts(name, "::"))
        name += 2;
    size_t n = strcspn(name, "< ");
    for (int i = 0; i < s->kernel_count; i++)
        if (strlen(s->kernels[i].name) == n && !strncmp(s->kernels[i].name, name, n))
            return &s->kernels[i];
    return NULL;
}

char *kb_scan_list(const struct kb_scan *s)
{
    struct kb_text t = {0};
    for (int i = 0; i < s->kernel_count && i < 20; i++)
        kb_text_addf(&t, "%s%s%s", t.size ? ", " : "", s->kernels[i].name, s->kernels[i].is_template ? "<...>" : "");
    if (s->kernel_count > 20)
        kb_text_addf(&t, " and %d more", s->kernel_count - 20);
    if (!s->kernel_count)
        kb_text_add(&t, "none");
    return kb_text_take(&t);
}
