// NVRTC on a source that was written for nvcc: stand-ins for host headers, host functions blanked, and, if that was not
// enough, whatever else the errors point at.
#include "jit/build.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, LINES_MAX = 256 };

static int blank_count(const struct kb_build *b)
{
    int blanked = 0;
    for (int i = 0; i < b->request->file_count; i++) {
        struct kb_host_text t;
        kb_host_blank(b->request->files[i].data, b->request->files[i].size, &t);
        blanked += t.blanked;
        free(t.text);
    }
    return blanked;
}

static bool lacks_prelude(const struct kb_compiled *out)
{
    for (int i = 0; i < out->message_count; i++) {
        const char *p = strstr(out->messages[i].text, "identifier \"");
        if (!p)
            p = strstr(out->messages[i].text, "name \"");
        p = p ? strchr(p, '"') + 1 : NULL;
        char *name = p ? kb_strndup(p, strcspn(p, "\"")) : NULL;
        bool known = name && kb_host_prelude_has(name);
        free(name);
        if (known)
            return true;
    }
    return false;
}

// What the stand-ins and -default-device are for: a header of the host's that a toolkit's header wants, and functions
// that say nothing of where they run. And what nvcc alone can do.
static bool wants_host(const struct kb_compiled *out)
{
    for (int i = 0; i < out->message_count; i++) {
        const struct kb_compile_message *m = &out->messages[i];
        if (strstr(m->text, "open source file") || strstr(m->text, "-default-device") ||
            strstr(m->text, "__host__ function") || strstr(m->text, "nvcc flag"))
            return true;
    }
    return false;
}

bool kb_host_worth_it(const struct kb_build *b)
{
    bool placed = false; // errors without a place are wrong options and names: no source helps
    for (int i = 0; i < b->out->message_count; i++)
        placed = placed || (!strcmp(b->out->messages[i].severity, "error") && b->out->messages[i].column > 0);
    if (!placed)
        return false;
    struct kb_words missing = {0};
    kb_host_missing(b, &missing);
    bool worth = missing.count > 0 || lacks_prelude(b->out) || wants_host(b->out) || blank_count(b) > 0;
    kb_words_free(&missing);
    return worth;
}

static int errors_in(const struct kb_compiled *c, bool *stopped)
{
    int count = 0;
    *stopped = false;
    for (int i = 0; i < c->message_count; i++) {
        count += !strcmp(c->messages[i].severity, "error");
        *stopped = *stopped || strstr(c->messages[i].text, "open source file") != NULL;
    }
    return count;
}

bool kb_host_better(const struct kb_compiled *plain, const struct kb_compiled *later)
{
    bool plain_stopped, later_stopped; // a missing header hides all that is behind it
    int before = errors_in(plain, &plain_stopped), after = errors_in(later, &later_stopped);
    return plain_stopped || after < before;
}

// The request's files without their host code, in their order.
static struct kb_host_text *blank_all(const struct kb_compile_request *r)
{
    struct kb_host_text *texts = kb_alloc(sizeof *texts * (size_t)r->file_count);
    for (int i = 0; i < r->file_count; i++)
        kb_host_blank(r->files[i].data, r->files[i].size, &texts[i]);
    return texts;
}

static void free_texts(const struct kb_compile_request *r, struct kb_host_text *texts)
{
    for (int i = 0; i < r->file_count; i++)
        free(texts[i].text);
    free(texts);
}

static bool is_main(const struct kb_compile_request *r, int file)
{
    return !strcmp(r->files[file].name, r->main);
}

static int put_header(const struct kb_build *b, int file, const char *text, size_t text_size, struct kb_error *e)
{
    size_t size;
    char *marked = kb_tree_marked(b->request->files[file].name, text, text_size, &size);
    int status = kb_tree_replace(&b->tree, b->request->files[file].name, marked, size, e);
    free(marked);
    return status;
}

static int put_blanked_headers(const struct kb_build *b, const struct kb_host_text *texts, struct kb_error *e)
{
    int status = 0;
    for (int i = 0; !status && i < b->request->file_count; i++)
        if (texts[i].blanked && !is_main(b->request, i))
            status = put_header(b, i, texts[i].text, strlen(texts[i].text), e);
    return status;
}

// Whoever compiles this tree next gets what the user wrote.
static int put_headers_back(const struct kb_build *b, const struct kb_host_text *texts, struct kb_error *e)
{
    int status = 0;
    for (int i = 0; !status && i < b->request->file_count; i++)
        if (texts[i].blanked && !is_main(b->request, i))
            status = put_header(b, i, b->request->files[i].data, b->request->files[i].size, e);
    return status;
}

static int error_lines(const struct kb_build *b, const char *file, int lines[LINES_MAX])
{
    int count = 0;
    for (int i = 0; i < b->out->message_count && count < LINES_MAX; i++) {
        const struct kb_compile_message *m = &b->out->messages[i];
        if (!strcmp(m->severity, "error") && !strcmp(m->file, file))
            lines[count++] = m->line;
    }
    return count;
}

// Takes out what the errors point at, in every file; returns how many items went, or -1.
static int blank_more(const struct kb_build *b, struct kb_host_text *texts, struct kb_error *e)
{
    int lines[LINES_MAX], blanked = 0;
    for (int i = 0; i < b->request->file_count; i++) {
        int count = error_lines(b, b->request->files[i].name, lines);
        int more = count ? kb_host_blank_lines(texts[i].text, lines, count) : 0;
        texts[i].blanked += more;
        blanked += more;
        if (more && !is_main(b->request, i) && put_header(b, i, texts[i].text, strlen(texts[i].text), e))
            return -1;
    }
    return blanked;
}

static void add_options(const struct kb_build *b, struct kb_words *options)
{
    kb_words_add(options, kb_format("-I%s/" KB_HOST_STUBS, b->tree.dir)); // before the toolkit's own
    kb_options_nvrtc(b, options);
    kb_words_add(options, kb_strdup("-default-device"));
    kb_words_add(options, kb_format("-include=%s/" KB_HOST_STUBS "/kbench_prelude.h", b->tree.dir));
}

static int compile_main(struct kb_build *b, const struct kb_host_text *texts, const struct kb_words *options,
                        struct kb_error *e)
{
    const struct kb_compile_request *r = b->request;
    int status = 0;
    for (int i = 0; !status && i < r->file_count; i++)
        if (is_main(r, i)) {
            size_t size;
            char *source = kb_tree_marked(r->main, texts[i].text, strlen(texts[i].text), &size);
            status = kb_build_nvrtc(b, source, options, e);
            free(source);
        }
    return status;
}

// Headers that a header of a toolkit wants and that are not there: they are the host's. Returns how many got an empty
// stand-in, or -1.
static int stand_in(const struct kb_build *b, struct kb_error *e)
{
    struct kb_words names = {0};
    for (int i = 0; i < b->out->message_count; i++) {
        const struct kb_compile_message *m = &b->out->messages[i];
        const char *name = strstr(m->text, "open source file \"");
        if (!name || kb_scan_file(b->request, m->file))
            continue;
        name = strchr(name, '"') + 1;
        char *owned = kb_strndup(name, strcspn(name, "\""));
        if (kb_tree_check_name(owned, NULL))
            free(owned);
        else
            kb_words_add(&names, owned);
    }
    int count = names.count, status = count ? kb_host_stubs(b, &names, e) : 0;
    kb_words_free(&names);
    return status ? -1 : count;
}

static int compile_rounds(struct kb_build *b, struct kb_host_text *texts, struct kb_error *e)
{
    struct kb_words options = {0};
    add_options(b, &options);
    int status = compile_main(b, texts, &options, e);
    for (int round = 1; !status && round < ROUNDS && !b->out->ok; round++) {
        int more = blank_more(b, texts, e), headers = more < 0 ? -1 : stand_in(b, e);
        if (more < 0 || headers < 0 || !(more + headers)) {
            status = more < 0 || headers < 0 ? -1 : 0;
            break;
        }
        status = compile_main(b, texts, &options, e);
    }
    kb_words_free(&options);
    return status;
}

static char *describe(int blanked, const struct kb_words *missing)
{
    struct kb_text t = {0};
    kb_text_addf(&t, "host code left out for NVRTC: %d functions or variables blanked", blanked);
    for (int i = 0; i < missing->count && i < 12; i++)
        kb_text_addf(&t, "%s<%s>", i ? ", " : "; stand-ins for ", missing->list[i]);
    if (missing->count > 12)
        kb_text_addf(&t, " and %d more", missing->count - 12);
    return kb_text_take(&t);
}

int kb_host_compile(struct kb_build *b, struct kb_error *e)
{
    struct kb_words missing = {0};
    struct kb_host_text *texts = blank_all(b->request);
    int blanked = 0;
    kb_host_missing(b, &missing);
    int status = put_blanked_headers(b, texts, e) || kb_host_stubs(b, &missing, e) || compile_rounds(b, texts, e);
    status = status || put_headers_back(b, texts, e) ? -1 : 0;
    for (int i = 0; i < b->request->file_count; i++)
        blanked += texts[i].blanked;
    if (!status && b->out->ok)
        kb_verdict_note(b->out, describe(blanked, &missing));
    free_texts(b->request, texts);
    kb_words_free(&missing);
    return status;
}
