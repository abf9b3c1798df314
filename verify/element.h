// Per-element functions shared by our kernels (element.cu, through NVRTC) and by C loops (ops.c): random numbers,
// conversions, poison, comparison. Bit-identical on both: integers, and double arithmetic by single, exactly rounded
// operations (no library functions, no contraction).
#ifndef KB_VERIFY_ELEMENT_H
#define KB_VERIFY_ELEMENT_H

typedef unsigned long long kbe_u64;
typedef long long kbe_i64;
typedef unsigned int kbe_u32;

// The values of enum kb_dtype and enum kb_fill_kind (bench/), which NVRTC does not see; ops.c asserts that they agree.
enum { KBE_F64, KBE_F32, KBE_TF32, KBE_F16, KBE_BF16, KBE_E4M3, KBE_E5M2, KBE_I8, KBE_U8, KBE_I32, KBE_I64 };
enum {
    KBE_NORMAL,
    KBE_UNIFORM,
    KBE_LOGNORMAL,
    KBE_INTEGERS,
    KBE_CONSTANT,
    KBE_ZEROS,
    KBE_CANCELLATION,
    KBE_NEG_INF_ROWS,
    KBE_DENORMALS
};

#ifdef __CUDACC__
#define KBE_FN static __device__ __forceinline__
#define KBE_ADD(a, b) __dadd_rn(a, b)
#define KBE_MUL(a, b) __dmul_rn(a, b)
#define KBE_DIV(a, b) __ddiv_rn(a, b)
#define KBE_SQRT(a) __dsqrt_rn(a)
KBE_FN kbe_u64 kbe_bits(double v)
{
    return (kbe_u64)__double_as_longlong(v);
}
KBE_FN double kbe_from_bits(kbe_u64 b)
{
    return __longlong_as_double((kbe_i64)b);
}
KBE_FN kbe_u32 kbe_bits32(float v)
{
    return __float_as_uint(v);
}
KBE_FN float kbe_from_bits32(kbe_u32 b)
{
    return __uint_as_float(b);
}
#else
#define KBE_FN static inline __attribute__((unused))
#define KBE_ADD(a, b) ((a) + (b))
#define KBE_MUL(a, b) ((a) * (b))
#define KBE_DIV(a, b) ((a) / (b))
#define KBE_SQRT(a) __builtin_sqrt(a)
KBE_FN kbe_u64 kbe_bits(double v)
{
    kbe_u64 b;
    __builtin_memcpy(&b, &v, 8);
    return b;
}
KBE_FN double kbe_from_bits(kbe_u64 b)
{
    double v;
    __builtin_memcpy(&v, &b, 8);
    return v;
}
KBE_FN kbe_u32 kbe_bits32(float v)
{
    kbe_u32 b;
    __builtin_memcpy(&b, &v, 4);
    return b;
}
KBE_FN float kbe_from_bits32(kbe_u32 b)
{
    float v;
    __builtin_memcpy(&v, &b, 4);
    return v;
}
#endif

#define KBE_INF_BITS 0x7ff0000000000000ull
#define KBE_NO_INDEX 0xffffffffffffffffull

KBE_FN int kbe_finite(double v)
{
    return (kbe_bits(v) & KBE_INF_BITS) != KBE_INF_BITS;
}
KBE_FN int kbe_is_nan(double v)
{
    return (kbe_bits(v) & ~(1ull << 63)) > KBE_INF_BITS;
}
KBE_FN double kbe_abs(double v)
{
    return kbe_from_bits(kbe_bits(v) & ~(1ull << 63));
}
KBE_FN double kbe_max(double a, double b)
{
    return a < b ? b : a;
}
KBE_FN double kbe_min(double a, double b)
{
    return b < a ? b : a;
}
KBE_FN kbe_u64 kbe_umax(kbe_u64 a, kbe_u64 b)
{
    return a < b ? b : a;
}
KBE_FN kbe_u64 kbe_umin(kbe_u64 a, kbe_u64 b)
{
    return b < a ? b : a;
}
KBE_FN int kbe_is_float_type(int dtype)
{
    return dtype <= KBE_E5M2;
}
KBE_FN int kbe_size(int dtype)
{
    switch (dtype) {
    case KBE_F64:
    case KBE_I64:
        return 8;
    case KBE_F32:
    case KBE_TF32:
    case KBE_I32:
        return 4;
    case KBE_F16:
    case KBE_BF16:
        return 2;
    default:
        return 1;
    }
}

// ---- random numbers: a counter through the finalizer of SplitMix64 (Steele, Lea, Flood 2014) ----

KBE_FN kbe_u64 kbe_mix(kbe_u64 z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
KBE_FN kbe_u64 kbe_random(kbe_u64 key, kbe_u64 counter)
{
    return kbe_mix(key + (counter + 1) * 0x9e3779b97f4a7c15ull);
}
// (0, 1), symmetric about 1/2: the middle of one of 2^52 equal cells.
KBE_FN double kbe_unit(kbe_u64 random)
{
    return KBE_MUL(KBE_ADD((double)(random >> 12), 0.5), 0x1p-52);
}

// Natural logarithm of a normal number: 2 atanh((m-1)/(m+1)) with m in [sqrt(1/2), sqrt(2)), within 2 ULP.
KBE_FN double kbe_log(double x)
{
    kbe_u64 b = kbe_bits(x);
    int e = (int)(b >> 52) - 1023;
    double m = kbe_from_bits((b & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
    if (m > 1.4142135623730951) {
        m = KBE_MUL(m, 0.5);
        e++;
    }
    double s = KBE_DIV(KBE_ADD(m, -1.0), KBE_ADD(m, 1.0)), q = KBE_MUL(s, s), sum = 1.0 / 25;
    for (int k = 23; k >= 1; k -= 2)
        sum = KBE_ADD(KBE_MUL(sum, q), KBE_DIV(1.0, (double)k));
    return KBE_ADD(KBE_MUL((double)e, 0.6931471805599453), KBE_MUL(KBE_MUL(2.0, s), sum));
}
// exp for |x| < 700: powers of two outside, a Taylor sum for |r| <= ln(2)/2 inside.
KBE_FN double kbe_exp(double x)
{
    x = kbe_max(kbe_min(x, 700.0), -700.0);
    double scaled = KBE_MUL(x, 1.4426950408889634);
    int n = (int)KBE_ADD(scaled, scaled < 0 ? -0.5 : 0.5);
    double r =
        KBE_ADD(KBE_ADD(x, KBE_MUL((double)-n, 0.6931471803691238)), KBE_MUL((double)-n, 1.9082149292705877e-10));
    double sum = 1.0;
    for (int k = 14; k >= 1; k--)
        sum = KBE_ADD(1.0, KBE_DIV(KBE_MUL(sum, r), (double)k));
    return KBE_MUL(sum, kbe_from_bits((kbe_u64)(n + 1023) << 52));
}

KBE_FN double kbe_ratio(double x, double n7, double n6, double n5, double n4, double n3, double n2, double n1,
                        double n0, double d7, double d6, double d5, double d4, double d3, double d2, double d1)
{
#define KBE_STEP(s, c) KBE_ADD(KBE_MUL(s, x), c)
    double n = KBE_STEP(KBE_STEP(KBE_STEP(KBE_STEP(KBE_STEP(KBE_STEP(KBE_STEP(n7, n6), n5), n4), n3), n2), n1), n0);
    double d = KBE_STEP(KBE_STEP(KBE_STEP(KBE_STEP(KBE_STEP(KBE_STEP(KBE_STEP(d7, d6), d5), d4), d3), d2), d1), 1.0);
#undef KBE_STEP
    return KBE_DIV(n, d);
}
// Quantile of the standard normal: algorithm AS 241, PPND16 (Wichura 1988), relative accuracy about 1e-16.
KBE_FN double kbe_normal(double p)
{
    double q = KBE_ADD(p, -0.5);
    if (kbe_abs(q) <= 0.425)
        return KBE_MUL(q, kbe_ratio(KBE_ADD(0.180625, -KBE_MUL(q, q)), 2509.0809287301226727, 33430.575583588128105,
                                    67265.770927008700853, 45921.953931549871457, 13731.693765509461125,
                                    1971.5909503065514427, 133.14166789178437745, 3.387132872796366608,
                                    5226.495278852854561, 28729.085735721942674, 39307.89580009271061,
                                    21213.794301586595867, 5394.1960214247511077, 687.1870074920579083,
                                    42.313330701600911252));
    double r = KBE_SQRT(-kbe_log(q < 0 ? p : KBE_ADD(1.0, -p))), z;
    if (r <= 5.0)
        z = kbe_ratio(KBE_ADD(r, -1.6), 7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
                      1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959,
                      1.42343711074968357734, 1.05075007164441684324e-9, 5.475938084995344946e-4,
                      0.0151986665636164571966, 0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
                      2.05319162663775882187);
    else
        z = kbe_ratio(KBE_ADD(r, -5.0), 2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
                      0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699,
                      6.6579046435011037772, 2.04426310338993978564e-15, 1.4215117583164458887e-7,
                      1.8463183175100546818e-5, 7.868691311456132591e-4, 0.0148753612908506148525,
                      0.13692988092273580531, 0.59983220655588793769);
    return q < 0 ? -z : z;
}

// ---- conversions ----

// exponent bits, fraction bits; e4m3 has no infinity: 0x7f is its NaN, 0x7e its largest number (448)
KBE_FN int kbe_fraction_bits(int dtype)
{
    switch (dtype) {
    case KBE_F64:
        return 52;
    case KBE_F32:
        return 23;
    case KBE_TF32:
    case KBE_F16:
        return 10;
    case KBE_BF16:
        return 7;
    case KBE_E4M3:
        return 3;
    case KBE_E5M2:
        return 2;
    default:
        return 0;
    }
}
KBE_FN int kbe_exponent_bits(int dtype)
{
    switch (dtype) {
    case KBE_F64:
        return 11;
    case KBE_F32:
    case KBE_TF32:
    case KBE_BF16:
        return 8;
    case KBE_F16:
    case KBE_E5M2:
        return 5;
    case KBE_E4M3:
        return 4;
    default:
        return 0;
    }
}
// To a format narrower than double, to nearest, ties to even. Overflow gives infinity (e4m3: its largest number).
KBE_FN kbe_u64 kbe_narrow(double v, int ebits, int mbits, int no_inf)
{
    kbe_u64 b = kbe_bits(v), mag = b & ~(1ull << 63), sign = (b >> 63) << (ebits + mbits);
    kbe_u64 inf = ((1ull << ebits) - 1) << mbits, top = no_inf ? (inf | ((1ull << mbits) - 2)) : inf;
    if (mag > KBE_INF_BITS)
        return sign | inf | (no_inf ? (1ull << mbits) - 1 : 1ull << (mbits - 1));
    int e = (int)(mag >> 52) - 1023, lowest = 2 - (1 << (ebits - 1)), shift = 52 - mbits;
    if (e == -1023) // zero, or a subnormal double: far below half of any such format's smallest number
        return sign;
    if (e < lowest)
        shift += lowest - e;
    if (shift > 54)
        return sign;
    kbe_u64 m = (mag & 0x000fffffffffffffull) | (1ull << 52), q = m >> shift, rest = m & ((1ull << shift) - 1);
    kbe_u64 half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (q & 1)))
        q++;
    kbe_u64 code = e >= lowest ? q + ((kbe_u64)(e - lowest) << mbits) : q;
    return sign | (code > top ? top : code);
}
KBE_FN double kbe_wide(kbe_u64 code, int ebits, int mbits, int no_inf)
{
    kbe_u64 m = code & ((1ull << mbits) - 1), e = (code >> mbits) & ((1ull << ebits) - 1);
    kbe_u64 sign = (code >> (ebits + mbits)) << 63;
    int bias = (1 << (ebits - 1)) - 1;
    if (e == (1ull << ebits) - 1 && !no_inf)
        return kbe_from_bits(sign | KBE_INF_BITS | (m << (52 - mbits)));
    if (no_inf && (code & ((1ull << (ebits + mbits)) - 1)) == (1ull << (ebits + mbits)) - 1)
        return kbe_from_bits(sign | KBE_INF_BITS | 1ull << 51);
    if (e)
        return kbe_from_bits(sign | ((e + 1023 - (kbe_u64)bias) << 52) | (m << (52 - mbits)));
    double v = KBE_MUL((double)m, kbe_from_bits((kbe_u64)(1 - bias - mbits + 1023) << 52));
    return sign ? -v : v;
}

KBE_FN kbe_i64 kbe_to_integer(double v, double low, double high) // nearest, ties to even; NaN: 0
{
    if (kbe_is_nan(v))
        return 0;
    if (v >= high)
        return high >= 9223372036854775807.0 ? 0x7fffffffffffffffll : (kbe_i64)high;
    if (v <= low)
        return (kbe_i64)low;
    if (kbe_abs(v) >= 4503599627370496.0)
        return (kbe_i64)v;
    kbe_i64 down = (kbe_i64)v;
    double rest = KBE_ADD(v, -(double)down); // exact
    if (rest > 0.5 || (rest == 0.5 && (down & 1)))
        return down + 1;
    if (rest < -0.5 || (rest == -0.5 && (down & 1)))
        return down - 1;
    return down;
}

// The stored bits of an element: value to type, in the low bytes.
KBE_FN kbe_u64 kbe_encode(int dtype, double v)
{
    switch (dtype) {
    case KBE_F64:
        return kbe_bits(v);
    case KBE_F32:
        return kbe_narrow(v, 8, 23, 0);
    case KBE_TF32:
        return kbe_narrow(v, 8, 10, 0) << 13;
    case KBE_F16:
        return kbe_narrow(v, 5, 10, 0);
    case KBE_BF16:
        return kbe_narrow(v, 8, 7, 0);
    case KBE_E4M3:
        return kbe_narrow(v, 4, 3, 1);
    case KBE_E5M2:
        return kbe_narrow(v, 5, 2, 0);
    case KBE_I8:
        return (kbe_u64)kbe_to_integer(v, -128.0, 127.0) & 0xff;
    case KBE_U8:
        return (kbe_u64)kbe_to_integer(v, 0.0, 255.0) & 0xff;
    case KBE_I32:
        return (kbe_u64)kbe_to_integer(v, -2147483648.0, 2147483647.0) & 0xffffffffull;
    default:
        return (kbe_u64)kbe_to_integer(v, -9223372036854775808.0, 9223372036854775807.0);
    }
}
KBE_FN double kbe_decode(int dtype, kbe_u64 code)
{
    switch (dtype) {
    case KBE_F64:
        return kbe_from_bits(code);
    case KBE_F32:
    case KBE_TF32:
        return kbe_wide(code, 8, 23, 0);
    case KBE_F16:
        return kbe_wide(code, 5, 10, 0);
    case KBE_BF16:
        return kbe_wide(code, 8, 7, 0);
    case KBE_E4M3:
        return kbe_wide(code, 4, 3, 1);
    case KBE_E5M2:
        return kbe_wide(code, 5, 2, 0);
    case KBE_I8:
        return (double)(signed char)(unsigned char)code;
    case KBE_U8:
        return (double)(unsigned char)code;
    case KBE_I32:
        return (double)(int)(kbe_u32)code;
    default:
        return (double)(kbe_i64)code;
    }
}
KBE_FN kbe_u64 kbe_load(const void *p, int size, kbe_u64 i)
{
    switch (size) {
    case 8:
        return ((const kbe_u64 *)p)[i];
    case 4:
        return ((const kbe_u32 *)p)[i];
    case 2:
        return ((const unsigned short *)p)[i];
    default:
        return ((const unsigned char *)p)[i];
    }
}
KBE_FN void kbe_store(void *p, int size, kbe_u64 i, kbe_u64 code)
{
    switch (size) {
    case 8:
        ((kbe_u64 *)p)[i] = code;
        break;
    case 4:
        ((kbe_u32 *)p)[i] = (kbe_u32)code;
        break;
    case 2:
        ((unsigned short *)p)[i] = (unsigned short)code;
        break;
    default:
        ((unsigned char *)p)[i] = (unsigned char)code;
    }
}

// What an output holds before a run: NaN with a payload for floats. pattern: 0 or 1, for two runs.
KBE_FN kbe_u64 kbe_poison(int dtype, int pattern)
{
    switch (dtype) {
    case KBE_F64:
        return pattern ? 0x7ffb3c3c3c3c3c3cull : 0x7ffa5a5a5a5a5a5aull;
    case KBE_F32:
    case KBE_TF32:
        return pattern ? 0x7fe3c3c3u : 0x7fc5a5a5u;
    case KBE_F16:
        return pattern ? 0x7f3c : 0x7e5a;
    case KBE_BF16:
        return pattern ? 0x7fec : 0x7fda;
    case KBE_E4M3:
        return pattern ? 0xff : 0x7f;
    case KBE_E5M2:
        return pattern ? 0x7f : 0x7e;
    case KBE_I8:
    case KBE_U8:
        return pattern ? 0x5a : 0xa5;
    case KBE_I32:
        return pattern ? 0x5a3c5a3cu : 0xa5c3a5c3u;
    default:
        return pattern ? 0x5a3c5a3c5a3c5a3cull : 0xa5c3a5c3a5c3a5c3ull;
    }
}
KBE_FN unsigned char kbe_guard_byte(kbe_u64 key, kbe_u64 i)
{
    return (unsigned char)(kbe_random(key, i >> 3) >> ((i & 7) * 8));
}
// One term of the order-independent hash: the sum over all 8-byte words.
KBE_FN kbe_u64 kbe_hash_term(kbe_u64 word, kbe_u64 index)
{
    return kbe_mix(kbe_mix(word + 0x9e3779b97f4a7c15ull) ^ kbe_random(0x6b62656e6368ull, index));
}
KBE_FN kbe_u64 kbe_hash_word(const unsigned char *p, kbe_u64 bytes, kbe_u64 index)
{
    if (index * 8 + 8 <= bytes)
        return ((const kbe_u64 *)(const void *)p)[index];
    kbe_u64 word = 0;
    for (kbe_u64 k = index * 8; k < bytes; k++)
        word |= (kbe_u64)p[k] << ((k & 7) * 8);
    return word;
}

// ---- results that nobody may read (verify/mask.h) ----

// Two keys and two rounds: who knows some words of what lies under the stream knows neither key.
KBE_FN kbe_u64 kbe_mask_word(kbe_u64 key, kbe_u64 second, kbe_u64 index)
{
    return kbe_mix(kbe_random(key, index) ^ second);
}
KBE_FN void kbe_mask(unsigned char *p, kbe_u64 bytes, kbe_u64 index, kbe_u64 key, kbe_u64 second)
{
    kbe_u64 word = kbe_mask_word(key, second, index);
    if (index * 8 + 8 <= bytes)
        ((kbe_u64 *)(void *)p)[index] ^= word;
    for (kbe_u64 k = index * 8 + 8 <= bytes ? bytes : index * 8; k < bytes; k++)
        p[k] ^= (unsigned char)(word >> ((k & 7) * 8));
}

// ---- what comes before a timed launch (verify/disturb.h) ----

// One element of an input gets another value, or its own again.
struct kbe_poke {
    kbe_u64 to, index, code;
    int size, unused;
};
// In each `stride` elements of an output or of scratch, one gets a value of the result's size that is not the result.
// They are few, so that nothing is in the caches that was not there, and at places that nobody can tell.
struct kbe_spoil {
    kbe_u64 to, n, stride, key;
    double size; // of floating types; integers are 0 to 100
    int dtype, unused;
};
enum { KBE_MOST_POKES = 32, KBE_MOST_SPOILS = 24 }; // of one launch: all are parameters, which no kernel can read later
struct kbe_disturb {
    struct kbe_poke pokes[KBE_MOST_POKES];
    struct kbe_spoil spoils[KBE_MOST_SPOILS];
    int poke_count, spoil_count;
};
KBE_FN void kbe_spoil_block(const struct kbe_spoil *s, kbe_u64 block, void *to)
{
    kbe_u64 first = block * s->stride, room = kbe_umin(s->stride, s->n - first);
    kbe_u64 h = kbe_random(s->key, 2 * block), i = first + kbe_random(s->key, 2 * block + 1) % room;
    double v = KBE_MUL(s->size, KBE_ADD(0.25, KBE_MUL(1.5, kbe_unit(h))));
    if (!kbe_is_float_type(s->dtype))
        v = (double)(h % 101);
    else if (h & 1)
        v = -v;
    kbe_store(to, kbe_size(s->dtype), i, kbe_encode(s->dtype, v));
}

// ---- how the work is cut up, the same on both sides so that sums have one order ----

enum { KBE_LANES = 128, KBE_MOST_BLOCKS = 1024 };
KBE_FN kbe_u64 kbe_chunk(kbe_u64 n) // elements a block, a multiple of KBE_LANES
{
    kbe_u64 steps = (n + KBE_LANES - 1) / KBE_LANES;
    return (steps + KBE_MOST_BLOCKS - 1) / KBE_MOST_BLOCKS * KBE_LANES;
}
KBE_FN kbe_u64 kbe_group_of(kbe_u64 i, kbe_u64 group) // 32-bit division where it does: 64-bit ones are slow on a GPU
{
    return ((i | group) >> 32) ? i / group : (kbe_u64)((kbe_u32)i / (kbe_u32)group);
}

#endif
