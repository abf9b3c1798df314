// The kernels of a PTX text, as kb_source_scan finds those of C++. A 64-bit parameter is taken for an address: what it
// is, the code tells (jit/pointers.h).
#include "base/memory.h"
#include "base/text.h"
#include "bench/source_lex.h"

#include <stdlib.h>
#include <string.h>

static bool is_symbol(char c)
{
    return kb_is_name_char(c) || c == '$' || c == '%';
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static bool has_word(const char *text, size_t n, const char *word)
{
    const char *at = memmem(text, n, word, strlen(word));
    return at && !is_symbol(at[strlen(word)]);
}

// ".param .u64 .ptr .global .align 4 name", ".param .align 8 .b8 name[16]"
static struct kb_source_param read_param(const char *text, size_t n)
{
    static const struct {
        const char *words[3], *type;
    } types[] = {{{".f32"}, "float"},
                 {{".f64"}, "double"},
                 {{".u32", ".s32", ".b32"}, "int"},
                 {{".u16", ".s16", ".b16"}, "short"},
                 {{".u64", ".s64", ".b64"}, "void *"}};
    const char *array = memchr(text, '[', n), *end = array ? array : text + n;
    while (end > text && !is_symbol(end[-1]))
        end--;
    const char *name = end;
    while (name > text && is_symbol(name[-1]))
        name--;
    const char *type = array ? "struct bytes" : "char";
    for (size_t i = 0; !array && i < KB_COUNT(types); i++)
        for (size_t k = 0; k < 3 && types[i].words[k]; k++)
            if (has_word(text, n, types[i].words[k]))
                type = types[i].type;
    const char *tail = memmem(name, (size_t)(end - name), "_param_", 7);
    name = tail ? tail + 1 : name;
    return (struct kb_source_param){kb_strdup(type), kb_strndup(name, (size_t)(end - name))};
}

static const char *read_params(const char *p, struct kb_source_kernel *k)
{
    const char *close = strchr(p, ')');
    if (*p != '(' || !close)
        return p;
    for (p++; p < close;) {
        size_t n = strcspn(p, ",)");
        k->params = kb_realloc(k->params, sizeof *k->params * (size_t)(k->param_count + 1));
        if (memmem(p, n, ".param", 6))
            k->params[k->param_count++] = read_param(p, n);
        p += n + 1;
    }
    return close + 1;
}

static void read_body(const char *text, const char *p, struct kb_source_kernel *k)
{
    size_t open = strcspn(p, "{;");
    int depth = 0;
    if (p[open] != '{')
        return; // a declaration
    k->body_open = (size_t)(p + open - text);
    for (p += open; *p; p++) {
        depth += (*p == '{') - (*p == '}');
        if (!depth)
            break;
    }
    k->body_close = (size_t)(p - text);
    k->end_line = kb_line_at(text, k->body_close);
}

void kb_source_scan_ptx(const char *text, size_t size, struct kb_source *out)
{
    char *plain = kb_source_blank(text, size);
    for (const char *p = plain; (p = strstr(p, ".entry"));) {
        struct kb_source_kernel k = {.scope = kb_strdup("")};
        p = skip_blanks(p + 6);
        size_t n = 0;
        while (is_symbol(p[n]))
            n++;
        k.name = kb_strndup(p, n);
        k.line = kb_line_at(plain, (size_t)(p - plain));
        p = read_params(skip_blanks(p + n), &k);
        read_body(plain, p, &k);
        out->kernels = kb_realloc(out->kernels, sizeof *out->kernels * (size_t)(out->kernel_count + 1));
        out->kernels[out->kernel_count++] = k;
    }
    free(plain);
}
