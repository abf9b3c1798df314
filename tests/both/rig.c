// A device with the buffers of the snippets, and the comparison of what two of them gave.
#include "both/both.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int buffer(struct both_rig *r, const char *name, enum kb_dtype type, size_t elements, struct kb_buffer *to,
                  struct kb_error *e)
{
    struct kb_buffer_spec spec = {.bytes = elements * kb_dtype_bytes(type),
                                  .guard_bytes = 256,
                                  .name = name,
                                  .dtype = type,
                                  .ndim = 1,
                                  .shape = {(int64_t)elements}};
    return r->device->ops->alloc(r->device, &spec, to, e);
}

int both_rig_open(struct both_rig *r, const char *kind, int n, struct kb_error *e)
{
    struct kb_device_request request = {.kind = kind};
    *r = (struct both_rig){.n = n};
    if (kb_device_open(&request, &r->device, e))
        return -1;
    return buffer(r, "in", KB_I64, (size_t)n * BOTH_SLOTS, &r->in, e) ||
                   buffer(r, "out", KB_I64, (size_t)n * BOTH_RESULTS, &r->out, e) ||
                   buffer(r, "scratch", KB_U8, (size_t)n / BOTH_THREADS * BOTH_SCRATCH, &r->scratch, e)
               ? -1
               : 0;
}

void both_rig_close(struct both_rig *r)
{
    if (!r->device)
        return;
    r->device->ops->free(r->device, &r->in);
    r->device->ops->free(r->device, &r->out);
    r->device->ops->free(r->device, &r->scratch);
    r->device->ops->close(r->device);
    r->device = NULL;
}

static int launch(struct both_rig *r, struct kb_module *module, struct kb_error *e)
{
    struct kb_kernel *kernel;
    const void *args[] = {&r->in.address, &r->out.address, &r->scratch.address, &r->n};
    struct kb_launch_args a = {
        .grid = {r->n / BOTH_THREADS, 1, 1}, .block = {BOTH_THREADS, 1, 1}, .arg_count = 4, .args = args};
    const struct kb_device_ops *ops = r->device->ops;
    return ops->symbol(module, "k", &kernel, e) || ops->launch(kernel, &a, e) || ops->sync(r->device, e) ? -1 : 0;
}

int both_rig_run(struct both_rig *r, const struct both_snippet *s, const uint64_t *in, uint64_t *out, uint8_t *scratch,
                 bool *refused, struct kb_error *e)
{
    const struct kb_device_ops *ops = r->device->ops;
    struct kb_module *module = NULL;
    char *text = both_module(s);
    int status = ops->load(r->device, text, strlen(text), &module, e);
    free(text);
    *refused = status != 0;
    size_t n = (size_t)r->n, in_bytes = n * strlen(s->in) * 8, out_bytes = n * strlen(s->out) * 8;
    if (!status)
        status = ops->to_device(r->device, r->in.address, in, in_bytes, e) ||
                 ops->fill(r->device, r->out.address, 0xa5, r->out.bytes, e) ||
                 ops->fill(r->device, r->scratch.address, 0, r->scratch.bytes, e);
    if (!status && launch(r, module, e)) {
        *refused = r->device->fault.kind == KB_FAULT_REFUSED;
        status = -1;
    }
    if (!status)
        status = ops->to_host(r->device, out, r->out.address, out_bytes, e) ||
                 ops->to_host(r->device, scratch, r->scratch.address, r->scratch.bytes, e);
    if (module)
        ops->unload(r->device, module);
    return status ? -1 : 0;
}

struct format {
    int bits, fraction_bits, exponent_bits;
};

static struct format format_of(char kind)
{
    switch (kind) {
    case 'f':
        return (struct format){32, 23, 8};
    case 'g':
        return (struct format){64, 52, 11};
    case 'k':
    case 'K':
        return (struct format){16, 10, 5};
    default:
        return (struct format){16, 7, 8};
    }
}

static bool is_nan(uint64_t v, struct format f)
{
    uint64_t magnitude = v & ((1ull << (f.bits - 1)) - 1);
    return magnitude > ((1ull << f.exponent_bits) - 1) << f.fraction_bits;
}

// *ulp: its unit in the last place. Infinity reads as the power of two behind the largest finite value.
static double value_of(uint64_t v, struct format f, double *ulp)
{
    uint64_t fraction = v & ((1ull << f.fraction_bits) - 1);
    int exponent = (int)(v >> f.fraction_bits & ((1u << f.exponent_bits) - 1)), bias = (1 << (f.exponent_bits - 1)) - 1;
    int at = (exponent ? exponent : 1) - bias - f.fraction_bits;
    double x = ldexp((double)(fraction + (exponent ? 1ull << f.fraction_bits : 0)), at);
    *ulp = ldexp(1, at);
    return v >> (f.bits - 1) & 1 ? -x : x;
}

// How far apart in the units of `how`, less the rounding of the result that the CPU device does. Results below the
// normal ones may be flushed.
static double apart(enum both_how how, uint64_t a, uint64_t b, struct format f, double *allowed, double bound)
{
    if (a == b)
        return *allowed = 0;
    double ulp_a, ulp_b, x = value_of(a, f, &ulp_a), y = value_of(b, f, &ulp_b);
    double ulp = ulp_a > ulp_b ? ulp_a : ulp_b, most = fmax(fabs(x), fabs(y)), d = fabs(x - y);
    double normal = ldexp(1, 2 - (1 << (f.exponent_bits - 1)));
    double unit = how == BOTH_ULP ? ulp : how == BOTH_REL ? most : how == BOTH_MIX ? fmax(most, 1) : 1;
    *allowed = bound + (how == BOTH_ULP ? 0.5 : unit > 0 ? ulp / 2 / unit : 0);
    if (d == 0 || most <= normal * (1 + 0x1p-7))
        return 0;
    return d / unit;
}

static void sample(struct both_result *r, int index, int result, uint64_t a, uint64_t b)
{
    r->wrong++;
    if (r->sample_count < BOTH_SAMPLES)
        r->samples[r->sample_count++] =
            (struct both_difference){.index = index, .result = result, .first = a, .second = b};
}

// True if b is as good as a.
static bool close_enough(const struct both_snippet *s, char kind, uint64_t a, uint64_t b, struct both_result *r)
{
    struct format f = format_of(kind);
    if (s->how == BOTH_EXACT || !strchr("fgkKwW", kind))
        return a == b;
    if (is_nan(a, f) || is_nan(b, f))
        return is_nan(a, f) && is_nan(b, f);
    if (s->how == BOTH_NAN)
        return a == b;
    double allowed, d = apart(s->how, a, b, f, &allowed, s->bound);
    r->worst = d > r->worst ? d : r->worst;
    return d <= allowed;
}

static void compare_value(const struct both_snippet *s, int i, int k, uint64_t a, uint64_t b, struct both_result *r)
{
    char kind = s->out[k];
    int parts = kind == 'K' || kind == 'W' ? 2 : 1;
    bool wrong = false;
    r->values++;
    if (a == b && s->how < BOTH_ULP)
        return;
    for (int p = 0; p < parts; p++) {
        uint64_t x = parts > 1 ? a >> (16 * p) & 0xffff : a, y = parts > 1 ? b >> (16 * p) & 0xffff : b;
        wrong |= !close_enough(s, kind, x, y, r);
        if (x != y && strchr("fgkKwW", kind))
            r->nan_differ += is_nan(x, format_of(kind)) && is_nan(y, format_of(kind));
    }
    r->bits_differ += a != b;
    if (wrong)
        sample(r, i, k, a, b);
}

void both_compare(const struct both_snippet *s, int n, const uint64_t *a, const uint64_t *b, const uint8_t *scratch_a,
                  const uint8_t *scratch_b, struct both_result *r)
{
    for (int k = 0; s->out[k]; k++)
        for (int i = 0; i < n; i++)
            compare_value(s, i, k, a[k * n + i], b[k * n + i], r);
    size_t words = (size_t)n / BOTH_THREADS * BOTH_SCRATCH / 4;
    for (size_t i = 0; i < words; i++) {
        uint32_t x, y;
        memcpy(&x, scratch_a + 4 * i, 4);
        memcpy(&y, scratch_b + 4 * i, 4);
        if (x || y)
            r->values++;
        if (x == y)
            continue;
        r->bits_differ++;
        if (s->how == BOTH_EXACT || !s->out[0]) // the scratch memory of others holds their results once more
            sample(r, (int)(i / (BOTH_SCRATCH / 4) * BOTH_THREADS), -1 - (int)(i % (BOTH_SCRATCH / 4)), x, y);
    }
    r->status = r->wrong ? BOTH_DIFFER : BOTH_SAME;
}
