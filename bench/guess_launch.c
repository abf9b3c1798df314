// Launches and allocations in host code.
#include "base/memory.h"
#include "bench/guess_code.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CONFIG = 4, MOST_CALL = 64, MOST_TOKENS = 512 };

// Three of the same character in a row, with nothing between.
static bool is_triple(const struct kb_code_text *t, int i, const char *what)
{
    const struct kb_token *token = &t->tokens.items[i];
    for (int k = 0; k < 3; k++)
        if (i + k >= t->tokens.count || !kb_code_is(t, i + k, what) || token[k].at != token->at + (size_t)k)
            return false;
    return true;
}

// The '<' that the '>' at `close` ends; -1 if there is none nearby.
static int angle_before(const struct kb_code_text *t, int close)
{
    int depth = 0;
    for (int i = close; i >= 0 && close - i < MOST_TOKENS; i--) {
        depth += kb_code_is(t, i, ">") - kb_code_is(t, i, "<");
        if (!depth)
            return i;
        if (kb_code_is(t, i, ";") || kb_code_is(t, i, "{"))
            return -1;
    }
    return -1;
}

static int end_of_config(const struct kb_code_text *t, int from)
{
    int last = t->tokens.count - 1;
    for (int i = from; i < last && i - from < MOST_TOKENS; i++) {
        if (is_triple(t, i, ">"))
            return i;
        if (kb_code_is(t, i, "(") || kb_code_is(t, i, "{"))
            i = kb_code_close(t, i, last);
        else if (kb_code_is(t, i, ";"))
            return -1;
    }
    return -1;
}

// The launch whose "<<<" is at i.
static bool read_launch(const struct kb_code_text *t, int i, const char *kernel, struct kb_code_launch *out)
{
    int name = i - 1, close = end_of_config(t, i + 3), last = t->tokens.count - 1;
    *out = (struct kb_code_launch){.args = {t, 0, 0}};
    if (name > 0 && kb_code_is(t, name, ">")) {
        int open = angle_before(t, name);
        if (open < 1)
            return false;
        out->args = (struct kb_code_range){t, open + 1, name};
        name = open - 1;
    }
    if (name < 0 || close < 0 || !kb_code_is(t, name, kernel))
        return false;
    out->config_count = kb_code_split((struct kb_code_range){t, i + 3, close}, out->config, MOST_CONFIG);
    if (kb_code_is(t, close + 3, "(")) {
        struct kb_code_range call = {t, close + 4, kb_code_close(t, close + 3, last)};
        out->call_count = kb_code_split(call, out->call, MOST_CALL);
    }
    return out->config_count >= 2 && out->config_count <= MOST_CONFIG && out->call_count <= MOST_CALL;
}

bool kb_code_launch(const struct kb_code *c, const char *kernel, int number, struct kb_code_launch *out)
{
    for (int k = c->main; k >= 0; k--) {
        const struct kb_code_text *t = c->texts[k];
        for (int i = 0; i + 3 < t->tokens.count; i++)
            if (is_triple(t, i, "<") && read_launch(t, i, kernel, out) && !number--)
                return true;
    }
    return false;
}

static bool allocates(const struct kb_code_text *t, int i)
{
    static const char *const words[] = {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "hipMalloc"};
    for (size_t k = 0; k < KB_COUNT(words); k++)
        if (kb_code_is(t, i, words[k]))
            return kb_code_is(t, i + 1, "(");
    return false;
}

bool kb_code_allocation(const char *name, struct kb_code_range where, struct kb_code_range *bytes)
{
    bool found = false;
    const struct kb_code_text *t = where.in;
    for (int i = 0; t && i + 2 < t->tokens.count; i++) {
        struct kb_code_range parts[3];
        if (!allocates(t, i))
            continue;
        struct kb_code_range all = {t, i + 2, kb_code_close(t, i + 1, t->tokens.count - 1)};
        if (kb_code_split(all, parts, 3) < 2 || parts[0].to <= parts[0].from || !kb_code_is(t, parts[0].to - 1, name) ||
            (found && i > where.from))
            continue;
        *bytes = parts[1];
        found = true;
    }
    return found;
}
