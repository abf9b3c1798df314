// How the kernel is launched: as the file does it where that can be read, else one thread an element.
#include "base/memory.h"
#include "base/text.h"
#include "bench/guess_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1 << 22, MOST_BLOCK = 1024, SHARED_BYTES = 16384, MOST_SHARED = 98304, USUAL = 256, SIDE = 16 };

static bool same_tokens(const struct kb_code_text *t, int i, const char *words)
{
    for (const char *p = words; *p; i++) {
        const struct kb_token *token = &t->tokens.items[i];
        p += strspn(p, " ");
        if (token->type == KB_TOKEN_END || strncmp(t->blanked.text + token->at, p, token->length))
            return false;
        p += token->length;
    }
    return true;
}

bool kb_guess_body_says(const struct kb_guessing *g, const char *words)
{
    const struct kb_code_text *t = g->in->text;
    for (int i = 0; i < t->tokens.count; i++) {
        size_t at = t->tokens.items[i].at;
        if (at > g->kernel->body_open && at < g->kernel->body_close && same_tokens(t, i, words))
            return true;
    }
    return false;
}

bool kb_guess_is_ptx(const struct kb_guessing *g)
{
    return kb_ends(g->source->path, ".ptx");
}

static bool ptx_says(const struct kb_guessing *g, const char *words)
{
    return kb_guess_is_ptx(g) && strstr(g->in->text->blanked.text, words);
}

static void drop(char *texts[3], int *count)
{
    for (int i = 0; i < 3; i++) {
        free(texts[i]);
        texts[i] = NULL;
    }
    *count = 0;
}

// "(128)" and "2*64" as 128: what depends on no size is a number.
static void make_plain(char **text)
{
    struct kb_names none = {0};
    int64_t value;
    if (!*text || kb_expr_eval(*text, &none, &value, NULL))
        return;
    free(*text);
    *text = kb_format("%lld", (long long)value);
}

// -1 where one is not known or is less than 1.
static int64_t product_of(const struct kb_guessing *g, char *const texts[3], int count)
{
    int64_t all = 1, value;
    for (int i = 0; i < count; i++) {
        if (kb_expr_eval(texts[i], &g->params, &value, NULL) || value < 1 || value > MOST_THREADS)
            return -1;
        all *= value;
        if (all > MOST_THREADS)
            return -1;
    }
    return count ? all : -1;
}

static int most_threads(const struct kb_guessing *g)
{
    int most = g->source->kernel ? g->source->max_threads : 0;
    return most > 0 && most < MOST_BLOCK ? most : MOST_BLOCK;
}

static void read_block(struct kb_guessing *g)
{
    if (g->launched)
        g->block_dims = kb_code_dims(&g->scope, g->launch.config[1], g->block);
    int64_t threads = product_of(g, g->block, g->block_dims);
    if (threads < 1 || threads > most_threads(g))
        drop(g->block, &g->block_dims);
}

static void usual_block(struct kb_guessing *g)
{
    int threads = most_threads(g) < USUAL ? most_threads(g) : USUAL, side = threads < USUAL ? 4 : SIDE;
    g->block_dims = g->planar ? 2 : 1;
    g->block[0] = kb_format("%d", g->planar ? side : threads);
    g->block[1] = g->planar ? kb_format("%d", side) : NULL;
}

static void read_grid(struct kb_guessing *g)
{
    if (g->launched)
        g->grid_dims = kb_code_dims(&g->scope, g->launch.config[0], g->grid);
    int64_t blocks = product_of(g, g->grid, g->grid_dims), threads = product_of(g, g->block, g->block_dims);
    if (blocks < 1 || blocks * threads > MOST_THREADS)
        drop(g->grid, &g->grid_dims);
}

static void usual_grid(struct kb_guessing *g)
{
    struct kb_text all = {0};
    for (int i = 0; i < g->size_count; i++)
        kb_text_addf(&all, "%s%s", i ? "*" : "", g->sizes[i]);
    if (!g->size_count)
        kb_text_addf(&all, "%d", KB_GUESS_LONE);
    g->grid_dims = 1;
    if (g->planar && g->size_count > 1) {
        g->grid_dims = 2;
        g->grid[0] = kb_format("ceil_div(%s,%s)", g->sizes[1], g->block[0]);
        g->grid[1] = kb_format("ceil_div(%s,%s)", g->sizes[0], g->block_dims > 1 ? g->block[1] : "1");
    } else if (g->planar && g->size_count) {
        g->grid_dims = 2;
        for (int i = 0; i < 2; i++)
            g->grid[i] = kb_format("ceil_div(%s,%s)", g->sizes[0], i < g->block_dims ? g->block[i] : "1");
    } else if (g->planar) {
        g->grid_dims = 2;
        for (int i = 0; i < 2; i++)
            g->grid[i] = kb_strdup("4");
    } else {
        g->grid[0] = kb_format("ceil_div(%s,%s)", all.data, g->block[0]);
    }
    kb_text_free(&all);
}

static void read_shared(struct kb_guessing *g)
{
    int64_t bytes = -1;
    char *text = g->launched && g->launch.config_count > 2 ? kb_code_expression(&g->scope, g->launch.config[2]) : NULL;
    if (text && !kb_expr_eval(text, &g->params, &bytes, NULL) && bytes >= 0 && bytes <= MOST_SHARED) {
        g->shared = bytes ? text : NULL;
        text = bytes ? NULL : text;
    } else if (kb_guess_body_says(g, "extern __shared__") || ptx_says(g, ".extern .shared")) {
        g->shared = kb_format("%d", SHARED_BYTES);
    }
    free(text);
}

void kb_guess_set_up(struct kb_guessing *g)
{
    g->planar = kb_guess_body_says(g, "threadIdx.y") || kb_guess_body_says(g, "blockIdx.y") || ptx_says(g, "%tid.y") ||
                ptx_says(g, "%ctaid.y");
    g->cooperative = kb_guess_body_says(g, "this_grid(");
    read_block(g);
    if (!g->block_dims)
        usual_block(g);
    read_grid(g);
    if (!g->grid_dims)
        usual_grid(g);
    read_shared(g);
    for (int i = 0; i < 3; i++) {
        make_plain(&g->block[i]);
        make_plain(&g->grid[i]);
    }
    make_plain(&g->shared);
}
