#include "worker/sass_listing.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "jit/compile.h"
#include "jit/tree.h"
#include "worker/sass_cache.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTING_MAX = 64 << 20, VERSION_TIMEOUT_MS = 5000, VERSION_MAX = 1 << 16 };

struct run { // one run of the tool
    char *argv[8];
    int timeout_ms, status;
    struct kb_capture capture;
    struct kb_error error;
};

static void *run_tool(void *context)
{
    struct run *r = context;
    r->status = kb_capture(r->argv, NULL, r->timeout_ms, LISTING_MAX, &r->capture, &r->error);
    return NULL;
}

// Why the output is not whole, or NULL. nvdisasm exits 1 behind a good listing where it cannot follow a branch.
static char *objection(const struct run *r)
{
    const struct kb_capture *c = &r->capture;
    if (r->status)
        return kb_strdup(kb_error_line(&r->error));
    if (c->timed_out)
        return kb_format("nvdisasm had not finished after %.3g s and was stopped", r->timeout_ms / 1000.0);
    if (c->cut)
        return kb_format("the listing is longer than %d MiB; the rest is left out", LISTING_MAX >> 20);
    if (c->exit_code == 0)
        return NULL;
    const char *said = c->err.data ? c->err.data : "";
    if (c->signal)
        return kb_format("nvdisasm was ended by signal %d: %.400s", c->signal, said);
    return kb_format("nvdisasm ended with status %d: %.400s", c->exit_code, said);
}

// "13.5.37" of "Cuda compilation tools, release 13.5, V13.5.37"; NULL where the tool does not say. Letters, digits and
// dots only, so that it may stand in a file name.
static char *version_of(char *tool)
{
    static const char allowed[] = "0123456789.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct kb_capture c;
    char *argv[] = {tool, "--version", NULL}, *version = NULL;
    if (kb_capture(argv, NULL, VERSION_TIMEOUT_MS, VERSION_MAX, &c, NULL))
        return NULL;
    const char *at = c.out.data && !c.timed_out && c.exit_code == 0 ? strstr(c.out.data, ", V") : NULL;
    size_t n = at ? strspn(at + 3, allowed) : 0;
    if (n && n < 64)
        version = kb_strndup(at + 3, n);
    kb_capture_free(&c);
    return version;
}

static void read_listing(struct kb_sass_made *m)
{
    struct kb_error e = {0};
    if (kb_sass_parse(m->text.data ? m->text.data : "", m->text.size, &m->listing, &e))
        m->unreadable = kb_strdup(kb_error_line(&e));
}

// Lines and live registers cannot be had in one run, so two go side by side.
static void merge(struct kb_sass_made *m, const struct run *lines, const struct run *live)
{
    const struct kb_text *text = &lines->capture.out, *other = &live->capture.out;
    struct kb_error e = {0};
    char *why = objection(live);
    bool usable = text->size && other->size && !live->capture.cut && !live->capture.timed_out;
    if (!usable) {
        m->no_live = why ? kb_format("no live registers: %s", why) : kb_strdup("no live registers: nothing was listed");
        kb_text_bytes(&m->text, text->data ? text->data : "", text->size);
    } else if (kb_sass_join(text->data, text->size, other->data, other->size, &m->text, &e)) {
        m->no_live = kb_format("no live registers: %s", kb_error_line(&e));
        kb_text_bytes(&m->text, text->data, text->size);
    }
    free(why);
}

static int disassemble(const char *path, int timeout_ms, struct kb_sass_made *m, struct kb_error *e)
{
    struct run lines = {.argv = {m->tool, "-c", "-g", "-gi", (char *)path}, .timeout_ms = timeout_ms};
    struct run live = {.argv = {m->tool, "-c", "-plr", "-lrm", "count", (char *)path}, .timeout_ms = timeout_ms};
    pthread_t thread;
    bool beside = pthread_create(&thread, NULL, run_tool, &live) == 0;
    run_tool(&lines);
    if (beside)
        pthread_join(thread, NULL);
    else
        run_tool(&live);
    m->incomplete = objection(&lines);
    int status = 0;
    if (lines.status || !lines.capture.out.size)
        status = kb_fail(e, NULL, NULL, "%s", m->incomplete ? m->incomplete : "nvdisasm listed nothing");
    else
        merge(m, &lines, &live);
    kb_capture_free(&lines.capture);
    kb_capture_free(&live.capture);
    return status;
}

static int make_anew(const void *cubin, size_t size, int timeout_ms, struct kb_sass_made *m, struct kb_error *e)
{
    struct kb_tree folder = {.dir = kb_tree_folder(e)};
    int status = folder.dir ? kb_tree_write(&folder, "code.cubin", cubin, size, e) : -1;
    if (!status) {
        char *path = kb_path_join(folder.dir, "code.cubin"); // it wants a real file, no pipe
        status = disassemble(path, timeout_ms, m, e);
        free(path);
    }
    kb_tree_close(&folder);
    return status;
}

int kb_sass_make(const void *cubin, size_t size, int timeout_ms, struct kb_sass_made *m, struct kb_error *e)
{
    char *looked = NULL;
    *m = (struct kb_sass_made){.tool = kb_toolkit_tool(kb_toolkit_get(), "nvdisasm", &looked)};
    if (!m->tool) {
        m->absent = true;
        kb_fail(e, NULL,
                "get it with scripts/setup or `pip install nvidia-cuda-nvdisasm`, or set KBENCH_NVDISASM to it",
                "nvdisasm not found; looked in %s", looked ? looked : "nothing");
        free(looked);
        return -1;
    }
    if (!size)
        return kb_fail(e, NULL, NULL, "the request holds no cubin");
    m->version = version_of(m->tool);
    char *path = kb_sass_cache_path(cubin, size, m->version);
    m->cached = kb_sass_cache_load(path, &m->text);
    int status = m->cached ? 0 : make_anew(cubin, size, timeout_ms, m, e);
    if (!status)
        read_listing(m);
    if (!status && !m->cached && m->listing && !m->incomplete && !m->no_live)
        kb_sass_cache_store(path, &m->text);
    free(path);
    return status;
}

int kb_sass_take(const char *text, size_t size, struct kb_sass_made *m, struct kb_error *e)
{
    *m = (struct kb_sass_made){0};
    if (!size)
        return kb_fail(e, NULL, NULL, "could not read listing: it is empty");
    kb_text_bytes(&m->text, text, size);
    read_listing(m);
    return 0;
}

void kb_sass_made_free(struct kb_sass_made *m)
{
    kb_text_free(&m->text);
    kb_sass_free(m->listing);
    free(m->unreadable);
    free(m->incomplete);
    free(m->no_live);
    free(m->tool);
    free(m->version);
    *m = (struct kb_sass_made){0};
}
