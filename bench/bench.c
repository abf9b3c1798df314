// The bench as a value: freeing it and finding things in it.
#include "bench/bench.h"
#include "base/memory.h"
#include "bench/bench_internal.h"

#include <stdlib.h>
#include <string.h>

static void clear_arg(struct kb_arg *a)
{
    for (int i = 0; i < a->ndim; i++)
        free(a->shape[i]);
    free(a->name);
    free(a->value);
    free(a->fill.file);
}

static void clear_case(struct kb_case *c, int arg_count)
{
    for (int i = 0; c->fills && i < arg_count; i++)
        free(c->fills[i].file);
    free(c->fills);
    free(c->name);
    kb_names_free(&c->over);
    kb_names_free(&c->cpu_over);
}

static void clear_reference(struct kb_reference *r)
{
    kb_variant_clear(&r->program);
    free(r->file);
    for (char **word = r->command; word && *word; word++)
        free(*word);
    free(r->command);
}

void kb_bench_free(struct kb_bench *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->arg_count; i++)
        clear_arg(&b->args[i]);
    for (int i = 0; i < b->case_count; i++)
        clear_case(&b->cases[i], b->arg_count);
    for (int i = 0; i < b->variant_count; i++)
        kb_variant_clear(&b->variants[i]);
    clear_reference(&b->reference);
    kb_free_texts(b->include_dirs, b->include_dir_count);
    kb_names_free(&b->params);
    free(b->args), free(b->cases), free(b->variants);
    free(b->flops), free(b->bytes), free(b->goal.versus);
    free(b->name), free(b->dir), free(b->path), free(b->text);
    cJSON_Delete(b->json);
    free(b);
}

int kb_bench_find_variant(const struct kb_bench *b, const char *name)
{
    for (int i = 0; i < b->variant_count; i++)
        if (!strcmp(b->variants[i].name, name))
            return i;
    return -1;
}

int kb_bench_find_arg(const struct kb_bench *b, const char *name)
{
    for (int i = 0; i < b->arg_count; i++)
        if (!strcmp(b->args[i].name, name))
            return i;
    return -1;
}

int kb_bench_headline(const struct kb_bench *b)
{
    for (int i = 0; i < b->case_count; i++)
        if (b->cases[i].timed)
            return i;
    return 0;
}
