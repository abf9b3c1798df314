// A source that is PTX already: ptxas makes the cubin, nothing else is compiled.
#include "base/file.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "bench/source.h"
#include "jit/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 600000, LOG_MAX = 8 << 20, IMAGE_MAX = 256 << 20 };

// ".target sm_90a" wants just that; one without a letter is for what comes after it, too.
static void take_target(struct kb_build *b, const char *text)
{
    const char *line = strstr(text, "\n.target"), *sm = line ? strstr(line, "sm_") : NULL;
    size_t n = sm ? strspn(sm + 3, "0123456789") : 0;
    if (n && n < 6 && (sm[3 + n] == 'a' || sm[3 + n] == 'f'))
        snprintf(b->arch, sizeof b->arch, "%.*s", (int)(4 + n), sm);
    snprintf(b->out->arch, sizeof b->out->arch, "%s", b->arch);
}

// "ptxas k.ptx, line 6; error   : what" as "k.ptx(6): error: what", by which messages have a place.
static char *placed(const char *log, const char *main)
{
    struct kb_text out = {0};
    char *start = kb_format("ptxas %s, line ", main);
    for (const char *line = log; *line;) {
        size_t n = strcspn(line, "\n");
        const char *number = kb_starts(line, start) ? line + strlen(start) : NULL, *rest = NULL;
        if (number)
            rest = memmem(number, n - (size_t)(number - line), "; error   : ", 12);
        if (rest)
            kb_text_addf(&out, "%s(%.*s): error: %.*s\n", main, (int)(rest - number), number,
                         (int)(line + n - rest - 12), rest + 12);
        else
            kb_text_addf(&out, "%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    free(start);
    return out.data ? kb_text_take(&out) : kb_strdup("");
}

static void fill(struct kb_build *b, const struct kb_capture *ran, const char *text, const char *image)
{
    struct kb_compiled *out = b->out;
    free(out->log);
    char *hidden = kb_tree_hide(&b->tree, ran->err.data ? ran->err.data : "");
    out->log = placed(hidden, b->request->main);
    free(hidden);
    kb_verdict_messages(b, out->log, false);
    out->ok =
        !ran->timed_out && ran->exit_code == 0 && !kb_file_read(image, IMAGE_MAX, &out->cubin, &out->cubin_size, NULL);
    if (!out->ok) {
        char *why = kb_format("ptxas failed with status %d: %.300s", ran->exit_code, out->log);
        kb_verdict_failed(b, why);
        free(why);
        return;
    }
    out->ptx = kb_strdup(text);
    out->ptx_size = strlen(text);
    kb_kernels_fill(b, b->request->kernel_count ? (char *const *)b->request->kernels : NULL);
}

int kb_ptx_compile(struct kb_build *b, struct kb_error *e)
{
    const struct kb_compile_file *f = kb_scan_file(b->request, b->request->main);
    char *looked, *ptxas = kb_toolkit_tool(kb_toolkit_get(), "ptxas", &looked);
    if (!ptxas) {
        kb_fail(e, "ptxas", "install the CUDA toolkit", "PTX needs it; not found; looked in %.600s", looked);
        free(looked);
        return -1;
    }
    char *text = kb_strndup(f->data, f->size), *path = kb_path_join(b->tree.dir, b->request->main);
    char *image = kb_path_join(b->tree.dir, KB_HOST_STUBS ".cubin");
    take_target(b, text);
    char *arch = kb_format("-arch=%s", b->arch);
    char *argv[] = {ptxas, (char *)"-v", arch, path, (char *)"-o", image, NULL};
    struct kb_capture ran = {0};
    int status = kb_tree_replace(&b->tree, b->request->main, f->data, f->size, e) ||
                         kb_capture(argv, "/", TIMEOUT_MS, LOG_MAX, &ran, e)
                     ? -1
                     : 0;
    snprintf(b->out->compiler, sizeof b->out->compiler, "ptxas");
    if (!status)
        fill(b, &ran, text, image);
    kb_capture_free(&ran);
    free(ptxas);
    free(text);
    free(path);
    free(image);
    free(arch);
    return status;
}
