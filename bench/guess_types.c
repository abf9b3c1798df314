// Which elements a type of C++ has, through the names that the source gives it.
#include "base/memory.h"
#include "base/text.h"
#include "bench/guess_code.h"

#include <stdlib.h>
#include <string.h>

// Of integers of 16 bits there are none in a bench: two bytes each.
static const struct {
    const char *name;
    enum kb_dtype dtype;
    int lanes;
} elements[] = {
    {"float", KB_F32, 1},
    {"double", KB_F64, 1},
    {"half", KB_F16, 1},
    {"__half", KB_F16, 1},
    {"bfloat16", KB_BF16, 1},
    {"nv_bfloat16", KB_BF16, 1},
    {"__nv_bfloat16", KB_BF16, 1},
    {"bf16", KB_BF16, 1},
    {"fp8_e4m3", KB_E4M3, 1},
    {"__nv_fp8_e4m3", KB_E4M3, 1},
    {"__nv_fp8_e5m2", KB_E5M2, 1},
    {"__half_raw", KB_F16, 1},
    {"int", KB_I32, 1},
    {"signed", KB_I32, 1},
    {"unsigned", KB_I32, 1},
    {"uint", KB_I32, 1},
    {"int32_t", KB_I32, 1},
    {"uint32_t", KB_I32, 1},
    {"long", KB_I64, 1},
    {"unsigned long", KB_I64, 1},
    {"ulong", KB_I64, 1},
    {"long long", KB_I64, 1},
    {"unsigned long long", KB_I64, 1},
    {"longlong", KB_I64, 1},
    {"ulonglong", KB_I64, 1},
    {"size_t", KB_I64, 1},
    {"ssize_t", KB_I64, 1},
    {"int64_t", KB_I64, 1},
    {"uint64_t", KB_I64, 1},
    {"ptrdiff_t", KB_I64, 1},
    {"intptr_t", KB_I64, 1},
    {"uintptr_t", KB_I64, 1},
    {"char", KB_I8, 1},
    {"signed char", KB_I8, 1},
    {"int8_t", KB_I8, 1},
    {"unsigned char", KB_U8, 1},
    {"uchar", KB_U8, 1},
    {"uint8_t", KB_U8, 1},
    {"byte", KB_U8, 1},
    {"bool", KB_U8, 1},
    {"short", KB_U8, 2},
    {"signed short", KB_U8, 2},
    {"unsigned short", KB_U8, 2},
    {"ushort", KB_U8, 2},
    {"int16_t", KB_U8, 2},
    {"uint16_t", KB_U8, 2},
    {"cuComplex", KB_F32, 2},
    {"cuFloatComplex", KB_F32, 2},
    {"cufftComplex", KB_F32, 2},
    {"cufftReal", KB_F32, 1},
    {"cuDoubleComplex", KB_F64, 2},
    {"cufftDoubleComplex", KB_F64, 2},
    {"complex<float>", KB_F32, 2},
    {"complex<double>", KB_F64, 2},
    {"__nv_bfloat162", KB_BF16, 2},
    {"nv_bfloat162", KB_BF16, 2},
    {"__half2", KB_F16, 2},
    {"half2", KB_F16, 2},
};

static bool starts_word(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && !memcmp(p, word, n);
}

static bool says_nothing(const char *p, size_t n)
{
    static const char *const words[] = {
        "volatile",   "std",          "thrust",   "cuda",      "typename", "struct",
        "class",      "enum",         "static",   "inline",    "restrict", "__grid_constant__",
        "__restrict", "__restrict__", "register", "constexpr", "mutable"};
    for (size_t i = 0; i < KB_COUNT(words); i++)
        if (starts_word(p, n, words[i]))
            return true;
    return false;
}

char *kb_bare_type(const char *type, int *pointers, bool *is_const)
{
    struct kb_text out = {0};
    *pointers = 0;
    *is_const = false;
    for (const char *p = type; *p;) {
        size_t n = 0;
        while (kb_is_name_char(p[n]))
            n++;
        bool word_before = out.size && kb_is_name_char(out.data[out.size - 1]);
        if (starts_word(p, n, "const") || starts_word(p, n, "__const__"))
            *is_const = *is_const || !*pointers;
        else if (n && !says_nothing(p, n))
            kb_text_addf(&out, "%s%.*s", word_before ? " " : "", (int)n, p);
        else if (*p == '*' || *p == '[')
            ++*pointers;
        else if (!n && !strchr(" :&]", *p))
            kb_text_bytes(&out, p, 1);
        p += n ? n : 1;
    }
    kb_text_add(&out, "");
    return out.data ? kb_text_take(&out) : kb_strdup("");
}

// "unsigned long int", "long unsigned", "long int" as one of the names of the table.
static char *usual_order(const char *bare)
{
    bool is_unsigned = strstr(bare, "unsigned") != NULL;
    const char *size = strstr(bare, "long long") ? "long long"
                       : strstr(bare, "long")    ? "long"
                       : strstr(bare, "short")   ? "short"
                                                 : NULL;
    if (size && strstr(bare, "double"))
        return kb_strdup("double");
    if (size && strspn(bare, "unsigedlotihr ") == strlen(bare))
        return kb_format("%s%s", is_unsigned ? "unsigned " : "", size);
    if (!strcmp(bare, "unsigned int") || !strcmp(bare, "signed int") || !strcmp(bare, "int unsigned"))
        return kb_strdup("int");
    return kb_strdup(bare);
}

static bool in_table(const char *name, struct kb_element *out)
{
    for (size_t i = 0; i < KB_COUNT(elements); i++) {
        if (strcmp(elements[i].name, name))
            continue;
        *out = (struct kb_element){elements[i].dtype, elements[i].lanes, !strcmp(name, "bool")};
        return true;
    }
    return false;
}

// CUDA's vector types: float2 to ulonglong4, uchar4.
static bool is_vector(const char *name, struct kb_element *out)
{
    static const char *const bases[] = {"float", "double", "int",  "uint",  "char",     "uchar",
                                        "short", "ushort", "long", "ulong", "longlong", "ulonglong"};
    size_t n = strlen(name);
    if (n < 4 || name[n - 1] < '1' || name[n - 1] > '4')
        return false;
    for (size_t i = 0; i < KB_COUNT(bases); i++)
        if (starts_word(name, n - 1, bases[i]) && in_table(bases[i], out)) {
            out->lanes *= name[n - 1] - '0';
            return true;
        }
    return false;
}

bool kb_element_of(const struct kb_code *code, const char *bare, struct kb_element *out, int *pointers, bool *is_const)
{
    char *name = usual_order(bare);
    bool known = false;
    for (int depth = 0; depth < 8 && !known; depth++) {
        known = in_table(name, out) || is_vector(name, out);
        const struct kb_definition *d = known || !code ? NULL : kb_code_type(code, name);
        if (!d)
            break;
        int hidden = 0;
        bool const_here = false;
        char *text = kb_code_join(d->range), *inner = kb_bare_type(text, &hidden, &const_here);
        *pointers += hidden;
        *is_const = *is_const || const_here;
        free(name);
        name = usual_order(inner);
        free(text);
        free(inner);
    }
    free(name);
    return known;
}

bool kb_element_of_type(const struct kb_code *code, const char *type, struct kb_element *out, int *pointers,
                        bool *is_const)
{
    char *bare = kb_bare_type(type, pointers, is_const);
    bool known = kb_element_of(code, bare, out, pointers, is_const);
    free(bare);
    return known;
}
