// What NVRTC answered, said so that one knows what to do: wrong names, wrong architectures, too much shared memory.
#include "jit/build.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIC_SHARED_MAX = 49152 }; // bytes a kernel may declare (CUDA C++ Programming Guide, compute capabilities)

void kb_verdict_note(struct kb_compiled *out, char *note)
{
    out->notes = kb_realloc(out->notes, sizeof *out->notes * (size_t)(out->note_count + 1));
    out->notes[out->note_count++] = note;
}

static void set_messages(struct kb_compiled *out, struct kb_log *log)
{
    struct kb_log old = {.messages = out->messages, .count = out->message_count};
    kb_log_free(&old);
    out->messages = log->messages;
    out->message_count = log->count;
    *log = (struct kb_log){0};
}

static char *unknown_kernel(const struct kb_build *b, const char *name, const char *said)
{
    const struct kb_scan_kernel *k = kb_scan_find(&b->scan, name);
    char *list = kb_scan_list(&b->scan), *text;
    const char *names[256];
    size_t n = 0;
    for (int i = 0; i < b->scan.kernel_count && n < KB_COUNT(names); i++)
        names[n++] = b->scan.kernels[i].name;
    const char *near = kb_nearest(name, names, n);
    if (strstr(said, "non-__global__"))
        text = kb_format("\"%s\" is no __global__ function; %s has: %s", name, b->request->main, list);
    else if (k && k->is_template && !strchr(name, '<'))
        text = kb_format("kernel \"%s\" is a template; name an instance of it, such as %s<float>", name, name);
    else if (k && strstr(said, "overloaded"))
        text = kb_format("kernel \"%s\" is overloaded; name one of them with its type, such as (void (*)(float *))%s",
                         name, name);
    else if (k)
        text = kb_format("kernel \"%s\" cannot be named: %s", name, said);
    else
        text = kb_format("no kernel \"%s\" in %s; it has: %s%s%s%s", name, b->request->main, list,
                         near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    free(list);
    return text;
}

// NVRTC blames wrong name expressions on a file __nv_name_map that does not exist: one message "identifier ... is
// undefined", then one "Error in parsing name expression ... Input name expression was: \" NAME\"".
static void name_messages(const struct kb_build *b, const struct kb_log *from, struct kb_log *to)
{
    static const char marker[] = "Input name expression was: \"";
    const char *said = "";
    for (int i = 0; i < from->count; i++) {
        const struct kb_compile_message *m = &from->messages[i];
        if (!strcmp(m->file, KB_NAME_LINES) && m->line >= 1 && m->line <= b->request->kernel_count) {
            char *text = unknown_kernel(b, b->request->kernels[m->line - 1], m->text);
            kb_log_add(to, "", 0, 0, m->severity, text);
            free(text);
            continue;
        }
        if (strcmp(m->file, "__nv_name_map")) {
            kb_log_add(to, m->file, m->line, m->column, m->severity, m->text);
            continue;
        }
        const char *at = strstr(m->text, marker);
        if (!at) {
            said = m->text;
            continue;
        }
        at += strlen(marker);
        at += strspn(at, " ");
        const char *end = strrchr(at, '"');
        char *name = kb_strndup(at, end ? (size_t)(end - at) : strlen(at)),
             *text = unknown_kernel(b, name, said[0] ? said : m->text);
        kb_log_add(to, "", 0, 0, "error", text);
        free(text);
        free(name);
        said = "";
    }
    if (said[0]) // a form of the complaint that is not known: still no file of that name
        kb_log_add(to, "", 0, 0, "error", said);
}

static void hint_headers(struct kb_compile_message *m)
{
    static const struct {
        const char *header, *instead;
    } hints[] = {{"stdint.h", "cuda/std/cstdint"}, {"stddef.h", "cuda/std/cstddef"}, {"limits.h", "cuda/std/climits"},
                 {"float.h", "cuda/std/cfloat"},   {"math.h", "cuda/std/cmath"},     {"assert.h", "cuda/std/cassert"}};
    const char *p = strstr(m->text, "not open source file \""); // "could not", or "cannot" with include paths
    if (!p)
        return;
    p = strchr(p, '"') + 1;
    int n = (int)strcspn(p, "\"");
    char *name = kb_strndup(p, (size_t)n), *instead = NULL;
    for (size_t i = 0; i < KB_COUNT(hints); i++)
        if (!strcmp(hints[i].header, name))
            instead = kb_format("; NVRTC has no host headers, include <%s>", hints[i].instead);
    if (!instead && !strchr(name, '.') && !strchr(name, '/'))
        instead = kb_format("; NVRTC has no host headers, try <cuda/std/%s>", name);
    if (instead) {
        char *text = kb_format("%s%s", m->text, instead);
        free(m->text);
        m->text = text;
    }
    free(instead);
    free(name);
}

void kb_verdict_messages(struct kb_build *b, const char *log, bool expanded)
{
    struct kb_log raw = {.expanded = expanded}, named = {0};
    kb_log_parse(log, &raw);
    name_messages(b, &raw, &named);
    for (int i = 0; i < named.count; i++)
        hint_headers(&named.messages[i]);
    kb_log_free(&raw);
    set_messages(b->out, &named);
}

void kb_verdict_add(struct kb_compiled *out, const char *file, int line, const char *text)
{
    struct kb_log log = {.messages = out->messages, .count = out->message_count, .capacity = out->message_count};
    kb_log_add(&log, file, line, 0, "error", text);
    out->messages = log.messages;
    out->message_count = log.count;
}

static const struct kb_compile_message *first_error(const struct kb_compiled *out, int *count)
{
    const struct kb_compile_message *first = NULL;
    *count = 0;
    for (int i = 0; i < out->message_count; i++)
        if (!strcmp(out->messages[i].severity, "error")) {
            first = first ? first : &out->messages[i];
            ++*count;
        }
    return first;
}

void kb_verdict_failed(struct kb_build *b, const char *otherwise)
{
    struct kb_compiled *out = b->out;
    int count;
    const struct kb_compile_message *m = first_error(out, &count);
    out->ok = false;
    if (!m) {
        kb_verdict_add(out, "", 0, otherwise);
        m = first_error(out, &count);
    }
    char more[32] = "", place[256] = "";
    if (count > 1)
        snprintf(more, sizeof more, " (and %d more)", count - 1);
    if (m->line)
        snprintf(place, sizeof place, "%.200s:%d: ", m->file, m->line);
    snprintf(out->reason, sizeof out->reason, "%s%.*s%s", place, (int)(sizeof out->reason - 300), m->text, more);
}

// ptxas refuses too much static shared memory without a word in NVRTC's log: only its size betrays it.
static bool explain_shared(struct kb_build *b)
{
    char lowered[512];
    long bytes;
    if (!kb_log_largest_shared(b->out->log, lowered, sizeof lowered, &bytes) || bytes <= STATIC_SHARED_MAX)
        return false;
    char *name = kb_name_readable(lowered);
    const struct kb_scan_kernel *k = kb_scan_find(&b->scan, name);
    char *text =
        kb_format("kernel %s declares %ld bytes of static shared memory > %d, the most that can be declared; use "
                  "extern __shared__ and give the size with shared=",
                  name, bytes, STATIC_SHARED_MAX);
    kb_verdict_add(b->out, k ? k->file : "", k ? k->line : 0, text);
    free(text);
    free(name);
    return true;
}

static char *explain_silence(struct kb_build *b, const struct kb_nvrtc_result *r)
{
    char *objection = kb_arch_objection(b->arch);
    if (objection[0])
        return objection;
    free(objection);
    if (r->ok)
        return kb_format(
            "NVRTC made no cubin for %s (%zu bytes of PTX); an option such as -dlto asks for something else", b->arch,
            r->ptx_size);
    return kb_format("NVRTC failed without a message (%s)", r->status);
}

void kb_verdict_nvrtc(struct kb_build *b, const struct kb_nvrtc_result *r)
{
    struct kb_compiled *out = b->out;
    free(out->log);
    out->log = kb_tree_hide(&b->tree, r->log);
    kb_verdict_messages(b, out->log, false);
    out->ok = r->ok && r->cubin_size > 0 && r->ptx_size > 0;
    if (out->ok)
        return;
    int errors;
    first_error(out, &errors);
    char *objection = r->invalid_option || r->ok ? kb_arch_objection(b->arch) : kb_strdup("");
    if (objection[0]) {
        struct kb_log none = {0};
        set_messages(out, &none);
    } else if (!errors) {
        explain_shared(b);
    }
    char *otherwise = objection[0] ? kb_strdup(objection) : explain_silence(b, r);
    kb_verdict_failed(b, otherwise);
    free(objection);
    free(otherwise);
}
