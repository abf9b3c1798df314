// Snippets from templates, and the kernel around them.
#include "both/both.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

const struct both_type both_ints[6] = {{"u16", 's', 'h', 'h'}, {"s16", 's', 'h', 'h'}, {"u32", 'i', 'r', 'r'},
                                       {"s32", 'i', 'r', 'r'}, {"u64", 'l', 'd', 'd'}, {"s64", 'l', 'd', 'd'}};
const struct both_type both_floats[4] = {
    {"f32", 'f', 'f', 'f'}, {"f64", 'g', 'g', 'g'}, {"f16", 'k', 'k', 'h'}, {"bf16", 'w', 'w', 'h'}};

// "add.s32 %r20, %r0, %r1;" is its own name without the semicolon.
static void add_one(struct both_table *t, enum both_how how, double bound, const char *in, const char *out,
                    const char *text)
{
    KB_GROW(t->items, t->count, t->cap);
    struct both_snippet *s = &t->items[t->count++];
    *s = (struct both_snippet){.family = t->family, .how = how, .bound = bound};
    const char *named = strstr(text, " :: ");
    s->name = named ? kb_strndup(text, (size_t)(named - text)) : kb_strndup(text, strcspn(text, ";"));
    s->body = kb_strdup(named ? named + 4 : text);
    s->preamble = kb_strdup(t->preamble ? t->preamble : "");
    strncpy(s->in, in, BOTH_SLOTS);
    strncpy(s->out, out, BOTH_RESULTS);
}

// text with this list replaced by the choice: in a named one wherever the list stands, else where it stands first.
static char *chosen(const char *text, const char *list, const char *choice, size_t length)
{
    bool all = strstr(text, " :: ") != NULL;
    struct kb_text t = {0};
    for (const char *at; (at = strstr(text, list));) {
        kb_text_bytes(&t, text, (size_t)(at - text));
        kb_text_bytes(&t, choice, length);
        text = at + strlen(list);
        if (!all)
            break;
    }
    kb_text_add(&t, text);
    return kb_text_take(&t);
}

void both_add(struct both_table *t, enum both_how how, double bound, const char *in, const char *out, const char *text)
{
    const char *open = strchr(text, '<'), *close = open ? strchr(open, '>') : NULL;
    if (!close) {
        add_one(t, how, bound, in, out, text);
        return;
    }
    char *list = kb_strndup(open, (size_t)(close + 1 - open));
    for (const char *from = open + 1; from <= close;) {
        size_t length = strcspn(from, "|>");
        char *one = chosen(text, list, from, length);
        both_add(t, how, bound, in, out, one);
        free(one);
        from += length + 1;
    }
    free(list);
}

static char *replaced(const char *text, char from, const char *to)
{
    struct kb_text t = {0};
    for (; *text; text++)
        if (*text == from)
            kb_text_add(&t, to);
        else
            kb_text_bytes(&t, text, 1);
    return kb_text_take(&t);
}

void both_each(struct both_table *t, const struct both_type *types, int count, enum both_how how, double bound,
               const char *in, const char *out, const char *text)
{
    for (int i = 0; i < count; i++) {
        const struct both_type *y = &types[i];
        char *a = replaced(text, '#', y->name), *b = replaced(a, '$', (char[]){y->reg, 0});
        char *values = replaced(in, '$', (char[]){y->in, 0}), *results = replaced(out, '$', (char[]){y->out, 0});
        both_add(t, how, bound, values, results, b);
        free(a);
        free(b);
        free(values);
        free(results);
    }
}

void both_table_free(struct both_table *t)
{
    for (int i = 0; i < t->count; i++) {
        free(t->items[i].name);
        free(t->items[i].body);
        free(t->items[i].preamble);
    }
    free(t->items);
}

const char both_head[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

static void add_store(struct kb_text *t, char kind, int k)
{
    int r = 20 + k;
    switch (kind) {
    case 'd':
        kb_text_addf(t, "mov.b64 %%d61, %%d%d;", r);
        break;
    case 'g':
        kb_text_addf(t, "mov.b64 %%d61, %%g%d;", r);
        break;
    case 'f':
        kb_text_addf(t, "mov.b32 %%r60, %%f%d; cvt.u64.u32 %%d61, %%r60;", r);
        break;
    case 'p':
        kb_text_addf(t, "selp.u64 %%d61, 1, 0, %%p%d;", r);
        break;
    case 'h':
    case 'k':
    case 'w':
        kb_text_addf(t, "cvt.u64.u16 %%d61, %%h%d;", r);
        break;
    default:
        kb_text_addf(t, "cvt.u64.u32 %%d61, %%r%d;", r);
    }
    kb_text_addf(t,
                 " mad.lo.s32 %%r63, %%r62, %d, %%r51; mul.wide.u32 %%d62, %%r63, 8; add.s64 %%d62, %%d60, %%d62; "
                 "st.global.u64 [%%d62], %%d61;\n",
                 k);
}

char *both_kernel(const struct both_snippet *s, const char *name)
{
    struct kb_text t = {0};
    kb_text_add(&t, s->preamble);
    kb_text_addf(&t,
                 "\n.visible .entry %s(.param .u64 pin, .param .u64 pout, .param .u64 pscratch, .param .u32 pn)\n{\n"
                 ".reg .b32 %%r<64>; .reg .b64 %%d<64>; .reg .f32 %%f<64>; .reg .f64 %%g<64>; .reg .b16 %%h<64>;\n"
                 ".reg .pred %%p<64>;\n",
                 name);
    if (strstr(s->body, "sm;") || strstr(s->body, "[sm"))
        kb_text_add(&t, ".shared .align 16 .b8 sm[16384];\n");
    if (strstr(s->body, "lo;") || strstr(s->body, "[lo"))
        kb_text_add(&t, ".local .align 16 .b8 lo[256];\n");
    kb_text_addf(&t,
                 "mov.u32 %%r60, %%ctaid.x; mov.u32 %%r50, %%tid.x; mad.lo.s32 %%r51, %%r60, %d, %%r50;\n"
                 "and.b32 %%r52, %%r50, 31; ld.param.u64 %%d60, [pscratch]; mul.wide.u32 %%d61, %%r60, %d;\n"
                 "add.s64 %%d50, %%d60, %%d61; ld.param.u64 %%d60, [pin]; ld.param.u32 %%r62, [pn];\n",
                 BOTH_THREADS, BOTH_SCRATCH);
    for (int k = 0; s->in[k]; k++)
        kb_text_addf(&t,
                     "mad.lo.s32 %%r63, %%r62, %d, %%r51; mul.wide.u32 %%d62, %%r63, 8; add.s64 %%d62, %%d60, %%d62;\n"
                     "ld.global.u64 %%d%d, [%%d62]; cvt.u32.u64 %%r%d, %%d%d; cvt.u16.u64 %%h%d, %%d%d;\n"
                     "mov.b32 %%f%d, %%r%d; mov.b64 %%g%d, %%d%d; and.b32 %%r63, %%r%d, 1; setp.ne.b32 %%p%d, %%r63, "
                     "0;\n",
                     k, k, k, k, k, k, k, k, k, k, k, k);
    kb_text_addf(&t, "%s\nld.param.u64 %%d60, [pout];\n", s->body);
    for (int k = 0; s->out[k]; k++)
        add_store(&t, s->out[k], k);
    kb_text_add(&t, "ret;\n}\n");
    char *text = kb_text_take(&t), *own = replaced(text, '~', name); // `~` in names of the module
    free(text);
    return own;
}

char *both_module(const struct both_snippet *s)
{
    char *kernel = both_kernel(s, "k"), *text = kb_format("%s%s", both_head, kernel);
    free(kernel);
    return text;
}
