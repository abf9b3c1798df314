#include "worker/sass.h"
#include "worker/frames.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "jit/compile.h"
#include "jit/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTING_TIMEOUT_MS = 60000, LISTING_MAX = 64 << 20 };

// Why the listing is not whole, or NULL. nvdisasm exits 1 behind a good listing where it cannot follow a branch.
static char *objection(const struct kb_capture *c)
{
    if (c->timed_out)
        return kb_format("nvdisasm had not finished after %d s and was stopped", LISTING_TIMEOUT_MS / 1000);
    if (c->cut)
        return kb_format("the listing is longer than %d MiB; the rest is left out", LISTING_MAX >> 20);
    if (c->exit_code == 0)
        return NULL;
    const char *said = c->err.data ? c->err.data : "";
    if (c->signal)
        return kb_format("nvdisasm was ended by signal %d: %.400s", c->signal, said);
    return kb_format("nvdisasm ended with status %d: %.400s", c->exit_code, said);
}

static void send_listing(int64_t job, const char *tool, struct kb_capture *c)
{
    char *why = objection(c);
    if (!c->out.size) {
        kb_worker_done(job, "fail", why ? why : "nvdisasm listed nothing", false);
    } else {
        cJSON *head = kb_frame_head("sass", job);
        kb_json_set_text(head, "tool", tool);
        kb_worker_set_clean(head, "incomplete", why, 1000);
        kb_worker_send(head, c->out.data, c->out.size);
        kb_worker_done(job, "pass", why, false);
    }
    free(why);
}

static void disassemble(int64_t job, char *tool, const char *path)
{
    struct kb_error e = {0};
    struct kb_capture c;
    char *argv[] = {tool, "-c", "-g", (char *)path, NULL};
    if (kb_capture(argv, NULL, LISTING_TIMEOUT_MS, LISTING_MAX, &c, &e)) {
        kb_worker_done(job, "fail", kb_error_line(&e), false);
        return;
    }
    send_listing(job, tool, &c);
    kb_capture_free(&c);
}

void kb_sass_job(const struct kb_frame *f)
{
    int64_t job = kb_frame_job(f);
    struct kb_error e = {0};
    char *looked = NULL, *tool = kb_toolkit_tool(kb_toolkit_get(), "nvdisasm", &looked);
    struct kb_tree folder = {.dir = tool ? kb_tree_folder(&e) : NULL};
    if (!tool) {
        char *reason = kb_format("nvdisasm not found; looked in %s. Get it with scripts/setup or "
                                 "`pip install nvidia-cuda-nvdisasm`, or set KBENCH_NVDISASM to it",
                                 looked);
        kb_worker_done(job, "na", reason, false);
        free(reason);
    } else if (!f->blob_size) {
        kb_worker_done(job, "fail", "the request holds no cubin", false);
    } else if (!folder.dir || kb_tree_write(&folder, "code.cubin", f->blob, f->blob_size, &e)) {
        kb_worker_done(job, "fail", kb_error_line(&e), false);
    } else {
        char *path = kb_path_join(folder.dir, "code.cubin"); // it wants a real file, no pipe
        disassemble(job, tool, path);
        free(path);
    }
    kb_tree_close(&folder);
    free(looked);
    free(tool);
}
