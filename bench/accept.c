// Findings of the CPU device that a bench accepts: `accept` in bench.json. They stay in the document as read.
#include "base/json.h"
#include "base/memory.h"
#include "bench/bench_internal.h"
#include "bench/rungs.h"

#include <string.h>

// Such a launch has no result, so there is nothing to accept (jit/ptx/facts.h).
static const char *const faults[] = {"illegal_address", "misaligned_address", "assert",
                                     "launch_timeout",  "launch_failed",      "illegal_instruction"};

static int read_kind(const struct kb_document *doc, const cJSON *item)
{
    const char *known[KB_FINDING_KINDS];
    for (size_t i = 0; i < KB_COUNT(faults); i++)
        if (!strcmp(faults[i], item->valuestring))
            return kb_document_fail(doc, item, "mend the kernel",
                                    "\"%s\" is a fault that ends a launch: it cannot be accepted", item->valuestring);
    for (int i = 0; i < KB_FINDING_KINDS; i++)
        known[i] = kb_finding_kinds[i].name;
    return kb_finding_kind(item->valuestring)
               ? 0
               : kb_document_unknown(doc, item, "kind", item->valuestring, known, KB_FINDING_KINDS);
}

static int read_entry(const struct kb_document *doc, const cJSON *item)
{
    static const struct kb_key keys[] = {
        {"kind", KB_JSON_TEXT | KB_JSON_REQUIRED},
        {"reason", KB_JSON_TEXT | KB_JSON_REQUIRED},
        {"kernel", KB_JSON_TEXT},
        {"argument", KB_JSON_TEXT},
        {"file", KB_JSON_TEXT},
        {"line", KB_JSON_INTEGER},
    };
    if (kb_document_keys(doc, item, keys, KB_COUNT(keys), "an accepted finding"))
        return -1;
    for (size_t i = 0; i < KB_COUNT(keys); i++) {
        const cJSON *text = kb_json_get(item, keys[i].name);
        if (cJSON_IsString(text) && !text->valuestring[strspn(text->valuestring, " \t\n")])
            return kb_document_fail(doc, text, NULL, "is an empty text");
    }
    const cJSON *line = kb_json_get(item, "line");
    if (line && line->valuedouble < 1)
        return kb_document_fail(doc, line, NULL, "%g is no line: they count from 1", line->valuedouble);
    return read_kind(doc, kb_json_get(item, "kind"));
}

int kb_accept_check(const struct kb_document *doc, const cJSON *list)
{
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next)
        if (read_entry(doc, item))
            return -1;
    return 0;
}

// Without its template arguments a name stands for all of its instances.
static bool is_kernel(const char *wanted, const char *kernel)
{
    size_t n = strlen(wanted);
    return !strncmp(wanted, kernel, n) && (!kernel[n] || kernel[n] == '<');
}

// In PTX a file of the bench is "/" and its name.
static bool is_file(const char *wanted, const char *file)
{
    return !strcmp(wanted, file + (*file == '/' && *wanted != '/'));
}

// The text names what is accessed first: "thread (1,0,0) of block (0,0,0) reads y[5], which ...".
static bool is_argument(const char *wanted, const char *text)
{
    size_t n = strlen(wanted), end = strcspn(text, "[");
    return text[end] && end > n && text[end - n - 1] == ' ' && !strncmp(text + end - n, wanted, n);
}

static bool accepts(const cJSON *entry, const char *kernel, const cJSON *report)
{
    const char *wanted_kernel = kb_json_text(entry, "kernel", NULL), *file = kb_json_text(entry, "file", NULL),
               *argument = kb_json_text(entry, "argument", NULL);
    int64_t line = kb_json_int(entry, "line", 0);
    return !strcmp(kb_json_text(entry, "kind", ""), kb_json_text(report, "kind", "?")) &&
           (!wanted_kernel || is_kernel(wanted_kernel, kernel)) &&
           (!file || is_file(file, kb_json_text(report, "file", ""))) &&
           (!line || line == kb_json_int(report, "line", 0)) &&
           (!argument || is_argument(argument, kb_json_text(report, "text", "")));
}

const char *kb_bench_accepts(const struct kb_bench *b, const char *kernel, const cJSON *report)
{
    const cJSON *entry;
    cJSON_ArrayForEach (entry, kb_json_get(b->json, "accept")) {
        if (accepts(entry, kernel, report))
            return kb_json_text(entry, "reason", "");
    }
    return NULL;
}

// One that names neither a kernel nor a file may be about any of the variants.
static bool is_about(const cJSON *entry, const struct kb_variant *v)
{
    const char *kernel = kb_json_text(entry, "kernel", NULL), *file = kb_json_text(entry, "file", NULL);
    bool launched = !kernel;
    for (int i = 0; i < v->launch_count; i++)
        launched = launched || is_kernel(kernel, v->launches[i].kernel);
    return (kernel || file) && launched && (!file || (v->source && is_file(file, v->source)));
}

static bool is_used(const cJSON *entry, const cJSON *findings)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, findings) {
        if (accepts(entry, kb_json_text(item, "kernel", ""), item))
            return true;
    }
    return false;
}

char *kb_bench_accepts_nothing(const struct kb_bench *b, const struct kb_variant *v, const cJSON *findings)
{
    const cJSON *entry;
    cJSON_ArrayForEach (entry, kb_json_get(b->json, "accept")) {
        int line = (int)kb_json_int(entry, "line", 0);
        const char *kind = kb_json_text(entry, "kind", "?"), *file = kb_json_text(entry, "file", NULL);
        if (!is_about(entry, v) || is_used(entry, findings))
            continue;
        const char *where = file ? file : kb_json_text(entry, "kernel", "?");
        return line ? kb_format("%s in %s:%d", kind, where, line) : kb_format("%s in %s", kind, where);
    }
    return NULL;
}
