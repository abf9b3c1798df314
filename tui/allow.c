#include "tui/allow.h"
#include "base/file.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/options.h"
#include "bench/permission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *text)
{
    char *clean = kb_cleaned(text);
    fputs(clean, stdout);
    free(clean);
}

// The files themselves, too, as they were read: what is allowed is their content.
static void show_file(const struct kb_permission *p, const struct kb_permission_file *f)
{
    struct kb_text clean = {0};
    const char *data = p->content.data + f->at;
    printf("\n---- ");
    show(f->name);
    printf(", %zu bytes\n", f->size);
    for (size_t at = 0, n; at < f->size; at += n + 1) { // line by line: cleaning makes a line's end a visible mark
        const char *end = memchr(data + at, '\n', f->size - at);
        n = end ? (size_t)(end - data) - at : f->size - at;
        kb_clean(&clean, data + at, n, false);
        kb_text_add(&clean, "\n");
    }
    fwrite(clean.data ? clean.data : "", 1, clean.size, stdout);
    kb_text_free(&clean);
}

static int allow(const char *dir, char *const *command, struct kb_error *e)
{
    struct kb_permission p;
    if (kb_permission_read(dir, command, &p, e))
        return KB_EXIT_USAGE;
    char *line = kb_command_line(command);
    printf("runs:    ");
    show(line);
    printf("\nin:      ");
    show(dir);
    printf("\nfiles:   %d\n", p.file_count);
    for (int i = 0; i < p.file_count; i++)
        show_file(&p, &p.files[i]);
    int code = kb_permission_give(&p, e) ? KB_EXIT_USAGE : KB_EXIT_PASS;
    if (code == KB_EXIT_PASS)
        printf("\n%s; when one of these changes, it has to be allowed again\n",
               p.given ? "It was allowed before" : "It may run now");
    free(line);
    kb_permission_free(&p);
    return fflush(stdout) ? KB_EXIT_USAGE : code;
}

// Compiler options that ask (bench/options.h).
static int allow_options(const char *dir, const struct kb_variant *v, int *count, struct kb_error *e)
{
    char **command = kb_options_command((const char *const *)v->options, v->option_count);
    int code = KB_EXIT_PASS;
    if (command) {
        printf("%s", (*count)++ ? "\n" : "");
        code = allow(dir, command, e);
    }
    kb_free_list(command);
    return code;
}

int kb_run_allow(const char *path, struct kb_error *e)
{
    struct kb_bench *b = NULL;
    char *clean = kb_path_clean(path);
    int code = KB_EXIT_USAGE;
    if (!kb_bench_load(clean, &b, e)) {
        char *dir = kb_path_clean(b->dir);
        int count = b->reference.kind == KB_REFERENCE_COMMAND;
        code = count ? allow(dir, b->reference.command, e) : KB_EXIT_PASS;
        if (b->reference.kind == KB_REFERENCE_KERNEL && code == KB_EXIT_PASS)
            code = allow_options(dir, &b->reference.program, &count, e);
        for (int i = 0; i < b->variant_count && code == KB_EXIT_PASS; i++)
            if (b->variants[i].kind == KB_VARIANT_COMMAND) {
                printf("%s", count++ ? "\n" : "");
                code = allow(dir, b->variants[i].command, e);
            } else {
                code = allow_options(dir, &b->variants[i], &count, e);
            }
        if (!count)
            printf("%s runs no command and gives no option that asks: there is nothing to allow\n", b->name);
        free(dir);
        kb_bench_free(b);
    }
    free(clean);
    return code;
}
