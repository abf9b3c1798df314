// Puts together what is known of each kernel: the cubin's tables, ptxas' log, the source's lines.
#include "jit/build.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_kernel(struct kb_compiled_kernel *k)
{
    free(k->name);
    free(k->lowered);
}

static void place(const struct kb_build *b, struct kb_compiled_kernel *k)
{
    const struct kb_scan_kernel *found = kb_scan_find(&b->scan, k->name);
    if (found && !strcmp(found->file, b->request->main))
        k->line = found->line;
}

// Readable names where they tell the kernels apart, else (overloads) the lowered ones.
static void name_kernels(struct kb_compiled_kernel *kernels, int count)
{
    for (int i = 0; i < count; i++) {
        free(kernels[i].name);
        kernels[i].name = kb_name_readable(kernels[i].lowered);
    }
    for (int i = 0; i < count; i++) {
        bool twice = false;
        for (int k = 0; k < count; k++)
            twice = twice || (k != i && !strcmp(kernels[i].name, kernels[k].name));
        for (int k = count - 1; twice && k >= i; k--)
            if (!strcmp(kernels[i].name, kernels[k].name)) {
                free(kernels[k].name);
                kernels[k].name = kb_strdup(kernels[k].lowered);
            }
    }
}

// Place of a kernel in the source; those that the scan does not see come last.
static int source_order(const struct kb_build *b, const struct kb_compiled_kernel *k)
{
    const struct kb_scan_kernel *found = kb_scan_find(&b->scan, k->name);
    return found ? (int)(found - b->scan.kernels) : b->scan.kernel_count;
}

static void sort_kernels(const struct kb_build *b, struct kb_compiled_kernel *kernels, int count)
{
    for (int i = 1; i < count; i++) { // stable
        struct kb_compiled_kernel moving = kernels[i];
        int k = i, order = source_order(b, &moving);
        for (; k > 0 && source_order(b, &kernels[k - 1]) > order; k--)
            kernels[k] = kernels[k - 1];
        kernels[k] = moving;
    }
}

static int index_of(const struct kb_compiled_kernel *kernels, int count, const char *lowered)
{
    for (int i = 0; lowered && i < count; i++)
        if (!strcmp(kernels[i].lowered, lowered))
            return i;
    return -1;
}

static void pick_requested(struct kb_build *b, char *const *lowered, struct kb_compiled_kernel *all, int count)
{
    const struct kb_compile_request *r = b->request;
    struct kb_compiled *out = b->out;
    out->kernels = kb_alloc(sizeof *out->kernels * (size_t)(r->kernel_count + 1));
    for (int i = 0; i < r->kernel_count; i++) {
        int at = index_of(all, count, lowered[i]);
        if (at < 0) {
            char *text = kb_format("\"%s\" is no __global__ function", r->kernels[i]);
            kb_verdict_failed(b, text);
            free(text);
            continue;
        }
        struct kb_compiled_kernel *k = &out->kernels[out->kernel_count++];
        *k = all[at];
        k->name = kb_strdup(r->kernels[i]);
        k->lowered = kb_strdup(all[at].lowered);
    }
    for (int i = 0; i < count; i++)
        free_kernel(&all[i]);
    free(all);
}

static bool calls(const void *compiled, const char *kernel, const char *function)
{
    const struct kb_compiled *c = compiled;
    return kb_cubin_calls(c->cubin, c->cubin_size, kernel, function);
}

void kb_kernels_fill(struct kb_build *b, char *const *lowered)
{
    struct kb_compiled *out = b->out;
    struct kb_compiled_kernel *all;
    struct kb_error e = {0};
    int count = kb_cubin_kernels(out->cubin, out->cubin_size, &all, &e);
    if (count < 0) {
        kb_verdict_failed(b, kb_error_line(&e));
        return;
    }
    kb_log_resources(out->log, all, count, &(struct kb_log_calls){calls, out});
    if (lowered) {
        pick_requested(b, lowered, all, count);
    } else {
        name_kernels(all, count);
        sort_kernels(b, all, count);
        out->kernels = all;
        out->kernel_count = count;
    }
    for (int i = 0; i < out->kernel_count; i++)
        place(b, &out->kernels[i]);
    if (out->ok && !out->kernel_count) {
        char *list = kb_scan_list(&b->scan);
        char *text = kb_format(
            "it compiled, but holds no kernel; the source has: %s (a template needs an instance by name)", list);
        kb_verdict_failed(b, text);
        free(list);
        free(text);
    }
}
