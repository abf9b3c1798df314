// NVRTC on a source that was written for nvcc: stand-ins for host headers, host functions blanked, and, if that was not
// enough, whatever else the errors point at.
#include "jit/build.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 3, LINES_MAX = 256 };

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

bool kb_host_worth_it(const struct kb_build *b)
{
    bool placed = false; // errors without a place are wrong options and names: no source helps
    for (int i = 0; i < b->out->message_count; i++)
        placed = placed || (!strcmp(b->out->messages[i].severity, "error") && b->out->messages[i].column > 0);
    if (!placed)
        return false;
    struct kb_words missing = {0};
    kb_host_missing(b, &missing);
    bool worth = missing.count > 0 || lacks_prelude(b->out) || blank_count(b) > 0;
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

// The request's other files, with their host functions blanked, over those in the tree.
static int blank_headers(const struct kb_build *b, struct kb_error *e)
{
    int status = 0;
    for (int i = 0; !status && i < b->request->file_count; i++) {
        const struct kb_compile_file *f = &b->request->files[i];
        struct kb_host_text t;
        if (!strcmp(f->name, b->request->main))
            continue;
        kb_host_blank(f->data, f->size, &t);
        if (t.blanked) {
            size_t size;
            char *path = kb_path_join(b->tree.dir, f->name), *marked = kb_tree_marked(f->name, t.text, f->size, &size);
            unlink(path);
            status = kb_tree_write(&b->tree, f->name, marked, size, e);
            free(marked);
            free(path);
        }
        free(t.text);
    }
    return status;
}

static int error_lines(const struct kb_build *b, int lines[LINES_MAX])
{
    int count = 0;
    for (int i = 0; i < b->out->message_count && count < LINES_MAX; i++) {
        const struct kb_compile_message *m = &b->out->messages[i];
        if (!strcmp(m->severity, "error") && !strcmp(m->file, b->request->main))
            lines[count++] = m->line;
    }
    return count;
}

static void add_options(const struct kb_build *b, struct kb_words *options)
{
    kb_words_add(options, kb_format("-I%s/" KB_HOST_STUBS, b->tree.dir)); // before the toolkit's own
    kb_options_nvrtc(b, options);
    kb_words_add(options, kb_strdup("-default-device"));
    kb_words_add(options, kb_format("-include=%s/" KB_HOST_STUBS "/kbench_prelude.h", b->tree.dir));
}

static int compile_rounds(struct kb_build *b, struct kb_host_text *main, struct kb_error *e)
{
    struct kb_words options = {0};
    int status = 0, lines[LINES_MAX];
    add_options(b, &options);
    for (int round = 0; !status && round < ROUNDS && !b->out->ok; round++) {
        if (round > 0) {
            int more = kb_host_blank_lines(main->text, lines, error_lines(b, lines));
            if (!more)
                break;
            main->blanked += more;
        }
        size_t size;
        char *source = kb_tree_marked(b->request->main, main->text, strlen(main->text), &size);
        status = kb_build_nvrtc(b, source, &options, e);
        free(source);
    }
    kb_words_free(&options);
    return status;
}

static char *describe(const struct kb_host_text *main, const struct kb_words *missing)
{
    struct kb_text t = {0};
    kb_text_addf(&t, "host code left out for NVRTC: %d functions or variables blanked", main->blanked);
    for (int i = 0; i < missing->count && i < 12; i++)
        kb_text_addf(&t, "%s<%s>", i ? ", " : "; stand-ins for ", missing->list[i]);
    if (missing->count > 12)
        kb_text_addf(&t, " and %d more", missing->count - 12);
    return kb_text_take(&t);
}

int kb_host_compile(struct kb_build *b, struct kb_error *e)
{
    const struct kb_compile_file *f = kb_scan_file(b->request, b->request->main);
    struct kb_words missing = {0};
    struct kb_host_text main;
    kb_host_missing(b, &missing);
    kb_host_blank(f->data, f->size, &main);
    int status = blank_headers(b, e) || kb_host_stubs(b, &missing, e) || compile_rounds(b, &main, e) ? -1 : 0;
    if (!status && b->out->ok)
        kb_verdict_note(b->out, describe(&main, &missing));
    free(main.text);
    kb_words_free(&missing);
    return status;
}
