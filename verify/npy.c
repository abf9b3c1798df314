#include "verify/npy.h"
#include "base/text.h"
#include "verify/element.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code;
    enum kb_dtype dtype;
} codes[] = {
    {"<f8", KB_F64}, {"<f4", KB_F32}, {"<f2", KB_F16}, {"<i8", KB_I64}, {"<i4", KB_I32}, {"|i1", KB_I8}, {"|u1", KB_U8},
};

// A cursor over the header's text: a Python dictionary with descr, fortran_order and shape, in any order.
struct cursor {
    const char *at, *end;
};

static void blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}
static bool take(struct cursor *c, char wanted)
{
    blanks(c);
    if (c->at >= c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}
static bool quoted(struct cursor *c, char *out, size_t room)
{
    blanks(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote && n + 1 < room)
        out[n++] = *c->at++;
    out[n] = 0;
    return take(c, quote);
}
static bool word(struct cursor *c, const char *wanted)
{
    size_t n = strlen(wanted);
    blanks(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, wanted, n))
        return false;
    c->at += n;
    return true;
}
static bool number(struct cursor *c, int64_t *out)
{
    blanks(c);
    const char *start = c->at;
    for (*out = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *c->at - '0', out))
            return false;
    return c->at > start;
}
static bool tuple(struct cursor *c, struct kb_npy *a)
{
    if (!take(c, '('))
        return false;
    while (!take(c, ')')) {
        if (a->ndim == KB_MAX_DIMS || !number(c, &a->shape[a->ndim]))
            return false;
        a->ndim++;
        if (!take(c, ',')) // one element needs its comma; more end without
            return a->ndim > 1 && take(c, ')');
    }
    return true;
}

struct header {
    char descr[16];
    int fortran; // -1 not seen
    bool has_shape;
};

static bool entry(struct cursor *c, struct header *h, struct kb_npy *a)
{
    char key[24];
    if (!quoted(c, key, sizeof key) || !take(c, ':'))
        return false;
    if (!strcmp(key, "descr") && !h->descr[0])
        return quoted(c, h->descr, sizeof h->descr) && h->descr[0];
    if (!strcmp(key, "fortran_order") && h->fortran < 0) {
        h->fortran = word(c, "True") ? 1 : word(c, "False") ? 0 : -1;
        return h->fortran >= 0;
    }
    if (strcmp(key, "shape") || h->has_shape)
        return false;
    h->has_shape = true;
    return tuple(c, a);
}

static bool dictionary(struct cursor *c, struct header *h, struct kb_npy *a)
{
    if (!take(c, '{'))
        return false;
    while (!take(c, '}')) {
        if (!entry(c, h, a))
            return false;
        if (!take(c, ','))
            return take(c, '}');
    }
    return true;
}

static int dtype_of(const char *descr, enum kb_dtype *out)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strcmp(descr, codes[i].code) || (descr[0] == '=' && !strcmp(descr + 1, codes[i].code + 1))) {
            *out = codes[i].dtype;
            return 0;
        }
    return -1;
}

static int count(struct kb_npy *a, size_t room, const char *name, struct kb_error *e)
{
    int64_t bytes;
    a->elements = 1;
    for (int i = 0; i < a->ndim; i++)
        if (__builtin_mul_overflow(a->elements, a->shape[i], &a->elements))
            return kb_fail(e, name, NULL, "the .npy shape overflows");
    if (__builtin_mul_overflow(a->elements, (int64_t)kb_dtype_bytes(a->dtype), &bytes) || (size_t)bytes > room)
        return kb_fail(e, name, NULL, "the .npy file is cut off: %lld elements of %s need more than its %zu bytes",
                       (long long)a->elements, kb_dtype_name(a->dtype), room);
    return 0;
}

int kb_npy_parse(const void *bytes, size_t size, const char *name, struct kb_npy *a, struct kb_error *e)
{
    const unsigned char *p = bytes;
    *a = (struct kb_npy){0};
    if (size < 10 || memcmp(p, "\x93NUMPY", 6))
        return kb_fail(e, name, NULL, "this is no .npy file");
    if (p[6] < 1 || p[6] > 3)
        return kb_fail(e, name, NULL, ".npy version %d is not known (1 to 3 are)", p[6]);
    size_t start = p[6] == 1 ? 10 : 12, length = (size_t)p[8] | (size_t)p[9] << 8;
    if (size >= 12 && p[6] > 1)
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (size < start || size - start < length)
        return kb_fail(e, name, NULL, "the .npy header is cut off");
    struct cursor c = {(const char *)p + start, (const char *)p + start + length};
    struct header h = {.fortran = -1};
    if (!dictionary(&c, &h, a) || !h.descr[0] || h.fortran < 0 || !h.has_shape)
        return kb_fail(e, name, NULL, "the .npy header is malformed, or has more than %d dimensions", KB_MAX_DIMS);
    if (dtype_of(h.descr, &a->dtype)) {
        char *shown = kb_cleaned(h.descr);
        kb_fail(e, name, "accepted: f8 f4 f2 i8 i4 i1 u1, little endian", "the .npy type '%s' is not accepted", shown);
        free(shown);
        return -1;
    }
    if (h.fortran == 1 && a->ndim > 1)
        return kb_fail(e, name, "save it with numpy.ascontiguousarray", "the .npy array is in Fortran order");
    a->data = p + start + length;
    return count(a, size - start - length, name, e);
}

int kb_npy_convert(const struct kb_npy *a, enum kb_dtype to, void *out, const char *name, struct kb_error *e)
{
    size_t size = kb_dtype_bytes(a->dtype);
    if (to == a->dtype) {
        if (a->elements)
            memcpy(out, a->data, (size_t)a->elements * size);
        return 0;
    }
    if (a->dtype == KB_I64 || to == KB_I64)
        return kb_fail(e, name, NULL, "64-bit integers in a .npy file go with i64 arguments only, not %s with %s",
                       kb_dtype_name(a->dtype), kb_dtype_name(to));
    for (int64_t i = 0; i < a->elements; i++) {
        uint64_t code = 0;
        memcpy(&code, (const char *)a->data + (size_t)i * size, size);
        kbe_store(out, (int)kb_dtype_bytes(to), (uint64_t)i, kbe_encode((int)to, kbe_decode((int)a->dtype, code)));
    }
    return 0;
}

int kb_npy_fits(const struct kb_npy *a, int ndim, const int64_t *shape, const char *name, struct kb_error *e)
{
    bool same = ndim == a->ndim;
    for (int i = 0; same && i < ndim; i++)
        same = shape[i] == a->shape[i];
    if (same)
        return 0;
    struct kb_text text = {0};
    for (int i = 0; i < a->ndim; i++)
        kb_text_addf(&text, "%s%lld", i ? " x " : "", (long long)a->shape[i]);
    kb_text_add(&text, a->ndim ? ", wanted " : "a scalar, wanted ");
    for (int i = 0; i < ndim; i++)
        kb_text_addf(&text, "%s%lld", i ? " x " : "", (long long)shape[i]);
    kb_fail(e, name, NULL, "the .npy array is %s", text.data);
    kb_text_free(&text);
    return -1;
}

enum kb_dtype kb_npy_type(enum kb_dtype dtype)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].dtype == dtype)
            return dtype;
    return KB_F32;
}

char *kb_npy_header(enum kb_dtype dtype, int ndim, const int64_t *shape, size_t *size)
{
    struct kb_text text = {0};
    const char *code = "";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        code = codes[i].dtype == dtype ? codes[i].code : code;
    kb_text_addf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (int i = 0; i < ndim; i++)
        kb_text_addf(&text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    kb_text_add(&text, ndim == 1 ? ",), }" : "), }");
    while ((10 + text.size + 1) % 64) // the data begin at a multiple of 64
        kb_text_add(&text, " ");
    kb_text_add(&text, "\n");
    struct kb_text out = {0};
    unsigned char head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)text.size, (unsigned char)(text.size >> 8)};
    kb_text_bytes(&out, (const char *)head, sizeof head);
    kb_text_bytes(&out, text.data, text.size);
    kb_text_free(&text);
    *size = out.size;
    return kb_text_take(&out);
}
