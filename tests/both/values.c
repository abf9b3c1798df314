// The inputs of snippets. A kind of value has edge values; the first half of the inputs sets those of the first two
// operands against each other, the second half mixes edge values and random ones.
//
// i l s: integers of 32, 64, 16 bits; b: shift amounts and positions; c: those of up to 255, as fields have them; n: an
// integer that is not zero in any width; f g k w: f32, f64, f16, bf16; K W: two f16, two bf16; y: any bits; m q o: f32,
// f64, f16 whose products, quotients and sums lie at the least normal f32 and f16, on both sides of what rounds up to
// it; O: two such f16; a: f32 within 100 pi; x: f32 within 140; u: f32 within 1; t: the same as tf32; U V: two f16, two
// bf16 within 1; D: f64 within 1; N M S Z: small integers as two f16, two bf16, f32, f64; 4 5: four e4m3, four e5m2
// within 1; 6 7: four small integers as e4m3, as e5m2; 8: any two e4m3 or e5m2
#include "both/both.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const uint64_t ints[] = {
    0,      1,    2,    3,  ~0ull, ~1ull, ~2ull,      0x7fffffff, 0x80000000, 0x80000001, 0xffff, 0x10000,   0x7fff,
    0x8000, 0xff, 0x80, 31, 32,    33,    0x12345678, 0x7f,       0xaaaaaaaa, 0x00ff00ff, 24,     0xfffffff8};
static const uint64_t longs[] = {0,
                                 1,
                                 2,
                                 ~0ull,
                                 ~1ull,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x100000000,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 0x8000000000000001,
                                 0xffffffff00000000,
                                 0x123456789abcdef0,
                                 0xffff,
                                 0x8000,
                                 0x80,
                                 63,
                                 64,
                                 0xaaaaaaaaaaaaaaaa,
                                 0xffffffff80000000,
                                 0xffffffff7fffffff,
                                 0x20000000000001,
                                 0x7fffffffffffff80,
                                 0x8000008000000001,
                                 0x1000001,
                                 0x1000003};
static const uint64_t shorts[] = {0,      1,      2,      0xffff, 0xfffe, 0x7fff, 0x8000, 0x8001,
                                  0x00ff, 0x0080, 0x007f, 0x0100, 15,     16,     17,     0x5555};
static const uint64_t amounts[] = {0,  1,  2,  7,  8,  9,  15, 16,  17,  23,  24,  30,  31,  32,         33,
                                   40, 47, 48, 62, 63, 64, 65, 127, 128, 255, 256, 257, 512, 0x80000000, 0xffffffff};
// 2^-126 (1 + x)(1 - x) and the like: (1 + 2^-k)(1 - 2^-k) is 1 - 2^-2k.
static const uint64_t thresholds[] = {
    0x3f7fffff, 0x3f7ffffe, 0x3f000400, 0x3f000800, 0x3f001000, 0x00fff800, 0x00fff000, 0x00ffe000, 0x00800000,
    0x80800000, 0x00800001, 0x00ffffff, 0x00fffffe, 0x3f000000, 0x3f000001, 0x40000000, 0x3f800000, 0x3f800001,
    0x3f800002, 0x7e800000, 0x7e800001, 0x7e7fffff, 0x7effffff, 0x20000000, 0xa0000000, 0x1a000000, 0x9a000000,
    0x19800000, 0x007fffff, 0x00000001, 0x80000001, 0x5f000000, 0x7f800000};
static const uint64_t doubled[] = {0x380fffffe0000000, 0x380fffffdfffffff, 0x380fffffe0000001, 0x380fffffefffffff,
                                   0x380ffffff0000000, 0x380ffffff0000001, 0x380fffffffffffff, 0x3810000000000000,
                                   0xb80fffffffffffff, 0xb80ffffff0000000, 0xb80fffffe0000000, 0x3800000000000000,
                                   0x36a0000000000000, 0x3810000010000000};
static const uint64_t near_halves[] = {0x3bff, 0x3bfe, 0x3808, 0x3810, 0x3820, 0x07f8, 0x07f0, 0x07e0, 0x0400,
                                       0x8400, 0x0401, 0x07ff, 0x3800, 0x4000, 0x3c00, 0x3c01, 0x0c00, 0x8c00,
                                       0x2000, 0xa000, 0x1c00, 0x9c00, 0x03ff, 0x0001, 0x8001, 0x7c00};
static const uint64_t singles[] = {
    0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,
    0x7fffffff, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff,
    0x3f800001, 0x3f7fffff, 0x3f000000, 0x3fc00000, 0x40200000, 0x40600000, 0xc0200000, 0x4b000000, 0x4b800001,
    0x4f000000, 0x4effffff, 0xcf000000, 0xcf000001, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x477fe000,
    0x477ff000, 0x43e00000, 0x43e80000, 0x47600000, 0x47700000, 0x3f801000, 0x3f803000, 0x3f808000, 0x3f818000,
    0x33000000, 0x33000001, 0x37000000, 0x40490fdb, 0x20000000, 0x60000000, 0x42ff0000, 0x43000000, 0x43008000};
static const uint64_t doubles[] = {0,
                                   0x8000000000000000,
                                   0x3ff0000000000000,
                                   0xbff0000000000000,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x7ff8000000000000,
                                   0xfff8000000000001,
                                   0x7ff0000000000001,
                                   0x7fffffffffffffff,
                                   1,
                                   0x8000000000000001,
                                   0x000fffffffffffff,
                                   0x0010000000000000,
                                   0x8010000000000000,
                                   0x7fefffffffffffff,
                                   0xffefffffffffffff,
                                   0x3ff0000000000001,
                                   0x3fefffffffffffff,
                                   0x3fe0000000000000,
                                   0x3ff8000000000000,
                                   0x4004000000000000,
                                   0xc004000000000000,
                                   0x4330000000000000,
                                   0x4340000000000001,
                                   0x41dfffffffc00000,
                                   0x41e0000000000000,
                                   0xc1e0000000200000,
                                   0x43e0000000000000,
                                   0xc3e0000000000000,
                                   0x43f0000000000000,
                                   0x47efffffe0000000,
                                   0x47efffffefffffff,
                                   0x47effffff0000000,
                                   0x36a0000000000000,
                                   0x3690000000000000,
                                   0x3690000000000001,
                                   0x380fffffe0000000,
                                   0x3ff0000010000000,
                                   0x3ff0000030000000,
                                   0x40effc0000000000,
                                   0x40effe0000000000,
                                   0x3e60000000000000,
                                   0x1ff0000000000000,
                                   0x5ff0000000000000};
static const uint64_t halves[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe01,
                                  0x7c01, 0x7fff, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400,
                                  0x7bff, 0xfbff, 0x3c01, 0x3bff, 0x3800, 0x3e00, 0x4100, 0xc100,
                                  0x6400, 0x6801, 0x1400, 0x5c00, 0x5f00, 0x4248, 0x0200, 0x5400};
static const uint64_t brains[] = {0,      0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0xffc1,
                                  0x7f81, 0x7fff, 0x0001, 0x8001, 0x007f, 0x807f, 0x0080, 0x8080,
                                  0x7f7f, 0xff7f, 0x3f81, 0x3f7f, 0x3f00, 0x3fc0, 0x4020, 0xc020,
                                  0x4300, 0x4380, 0x477f, 0x4049, 0x2000, 0x6000, 0x4f00, 0x5f00};
static const uint64_t angles[] = {0,          0x80000000, 0x3fc90fdb, 0x40490fdb, 0x40c90fdb, 0xc0490fdb,
                                  0x3f490fdb, 0x00000001, 0x00800000, 0x3f800000, 0xbf800000, 0x42c80000,
                                  0xc2c80000, 0x7f800000, 0xff800000, 0x7fc00000};
static const uint64_t powers[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x42fe0000, 0x42ffffff,
                                  0x43000000, 0xc2fc0000, 0xc2fd0000, 0xc2fe0000, 0xc3150000, 0xc3160000,
                                  0xc3200000, 0x00000001, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f000000};

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

#define EDGES(array) (*list = (array), (int)KB_COUNT(array))
static int edges(char kind, const uint64_t **list)
{
    switch (kind) {
    case 'i':
    case 'n':
        return EDGES(ints);
    case 'l':
        return EDGES(longs);
    case 's':
        return EDGES(shorts);
    case 'b':
        return EDGES(amounts);
    case 'c':
        *list = amounts;
        return (int)KB_COUNT(amounts) - 5; // those of more than 255 come last
    case 'm':
        return EDGES(thresholds);
    case 'q':
        return EDGES(doubled);
    case 'o':
    case 'O':
        return EDGES(near_halves);
    case 'f':
        return EDGES(singles);
    case 'g':
        return EDGES(doubles);
    case 'k':
    case 'K':
        return EDGES(halves);
    case 'w':
    case 'W':
        return EDGES(brains);
    case 'a':
        return EDGES(angles);
    case 'x':
        return EDGES(powers);
    default:
        *list = NULL;
        return 0;
    }
}

static uint32_t bits_of(float x)
{
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}

// x as a float of these widths, cut; it is exact for what is asked here. Below the normal ones: 0.
static uint32_t small_float(double x, int exponent_bits, int fraction_bits)
{
    int e;
    double m = frexp(fabs(x), &e);
    uint32_t sign = x < 0 ? 1u << (exponent_bits + fraction_bits) : 0;
    int biased = e - 1 + (1 << (exponent_bits - 1)) - 1;
    if (m == 0 || biased < 1)
        return sign;
    return sign | (uint32_t)biased << fraction_bits | (uint32_t)((m * 2 - 1) * (1 << fraction_bits));
}

static uint64_t packed(uint64_t r, int count, int bits, int exponent_bits, int fraction_bits, bool integers)
{
    uint64_t all = 0;
    for (int k = 0; k < count; k++) {
        uint64_t part = mix(r + (uint64_t)k * 77);
        double x = integers ? (double)(part >> 40) / 0x1p24 * 17 - 8 : (double)(part >> 11) / 0x1p52 - 1;
        all |= (uint64_t)small_float(integers ? floor(x) : x, exponent_bits, fraction_bits) << (k * bits);
    }
    return all;
}

static double between(uint64_t r, double most)
{
    return ((double)(r >> 11) / 0x1p52 - 1) * most;
}

static uint64_t bits64(double x)
{
    uint64_t b;
    memcpy(&b, &x, 8);
    return b;
}

static uint64_t random_value(char kind, uint64_t r)
{
    uint64_t near = mix(r + 1);
    switch (kind) {
    case 'b':
        return r % 3 ? near % 66 : near;
    case 'c':
        return r % 3 ? near % 66 : near & 255;
    case 'm': // a product of two of them lies near the least normal one
        return (near & 0x807fffff) | (r & 1 ? 126u : 1u) << 23;
    case 'q':
        return (near & 0x8000000003ffffff) | 0x380fffffc0000000;
    case 'o':
        return (near & 0x83ff) | (r & 1 ? 14u : 1u) << 10;
    case 'O':
        return (near & 0x83ff83ff) | (r & 1 ? 14u : 1u) << 10 | (r & 2 ? 14u : 1u) << 26;
    case 'f': // all bits, or of moderate size
        return r & 1 ? near & 0xffffffff : (near & 0x807fffff) | (120 + near % 16) << 23;
    case 'g':
        return r & 1 ? near : (near & 0x800fffffffffffff) | (1016 + near % 16) << 52;
    case 'k':
        return near & 0xffff;
    case 'w':
        return r & 1 ? near & 0xffff : (near & 0x807f) | (120 + near % 16) << 7;
    case 'W':
        return r & 1 ? near & 0xffffffff
                     : (near & 0x807f807f) | (120 + near % 16) << 7 | (120 + (near >> 8) % 16) << 23;
    case 'a':
        return bits_of((float)between(r, 314));
    case 'x':
        return bits_of((float)between(r, 140));
    case 'u':
        return bits_of((float)between(r, 1));
    case 't':
        return bits_of((float)between(r, 1)) & 0xffffe000;
    case 'D':
        return bits64(between(r, 1));
    case 'U':
        return packed(r, 2, 16, 5, 10, false);
    case 'V':
        return packed(r, 2, 16, 8, 7, false);
    case '4':
        return packed(r, 4, 8, 4, 3, false);
    case '5':
        return packed(r, 4, 8, 5, 2, false);
    case 'N':
        return packed(r, 2, 16, 5, 10, true);
    case 'M':
        return packed(r, 2, 16, 8, 7, true);
    case 'S':
        return bits_of((float)(int)(near % 17) - 8);
    case 'Z':
        return bits64((double)(int)(near % 17) - 8);
    case '6':
        return packed(r, 4, 8, 4, 3, true);
    case '7':
        return packed(r, 4, 8, 5, 2, true);
    default:
        return near;
    }
}

static uint64_t pair_of(char kind, uint64_t edge, uint64_t r)
{
    const uint64_t *list;
    int count = edges(kind, &list);
    return kind == 'K' || kind == 'W' || kind == 'O' ? edge | list[r % (uint64_t)count] << 16 : edge;
}

uint64_t both_value(const char *in, int slot, int i, int n)
{
    const uint64_t *list, *first;
    char kind = in[slot];
    int count = edges(kind, &list);
    uint64_t r = mix((uint64_t)i * 64 + (uint64_t)slot + 1) ^ mix((uint64_t)(unsigned char)kind), value;
    if (i < n / 2 && count && slot < 2) {
        int before = slot ? edges(in[0], &first) : 1;
        value = pair_of(kind, list[i / (before ? before : 1) % count], r);
    } else if (count && r % 2) {
        value = pair_of(kind, list[(r >> 8) % (uint64_t)count], r >> 20);
    } else {
        value = random_value(kind, r >> 1);
    }
    if (kind == 'n' && !(value & 0xffff))
        value |= 1;
    return value;
}
