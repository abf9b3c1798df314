// Integer and bit instructions on edge values and random ones, against what C computes.
#include "support_cpu.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 600 };
static uint64_t x[COUNT], y[COUNT], z[COUNT], out[COUNT];

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 3,
                                 15,
                                 16,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 65,
                                 127,
                                 128,
                                 255,
                                 256,
                                 0x7fff,
                                 0x8000,
                                 0xffff,
                                 0x10000,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x100000000,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 ~0ull,
                                 ~1ull,
                                 0xdeadbeefcafebabe,
                                 0x0123456789abcdef};

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252ull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s * 0x9e3779b97f4a7c15ull;
}

static uint64_t value(int i, int step)
{
    uint64_t r = random_bits();
    return i % 5 == 4 ? r : edges[(unsigned)(i * step + (int)(r & 3)) % KB_COUNT(edges)];
}

static void fill(void)
{
    for (int i = 0; i < COUNT; i++) {
        x[i] = value(i, 1);
        y[i] = value(i, 7);
        z[i] = value(i, 11);
    }
}

typedef uint64_t expect(uint64_t a, uint64_t b, uint64_t c);
struct row {
    const char *text;
    char result;
    expect *want;
};

static void check(const struct row *rows, size_t n)
{
    struct cpu c;
    cpu_open(&c, NULL);
    fill();
    for (size_t i = 0; i < n; i++) {
        cpu_statements(&c, rows[i].text, rows[i].result, COUNT, x, y, z, out);
        for (int k = 0; k < COUNT; k++)
            if (out[k] != rows[i].want(x[k], y[k], z[k]))
                fail_msg("%s of 0x%llx, 0x%llx, 0x%llx: 0x%llx, not 0x%llx", rows[i].text, (unsigned long long)x[k],
                         (unsigned long long)y[k], (unsigned long long)z[k], (unsigned long long)out[k],
                         (unsigned long long)rows[i].want(x[k], y[k], z[k]));
    }
    cpu_close(&c);
}

#define W(name, expression)                                                                                            \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                                           \
    {                                                                                                                  \
        (void)a, (void)b, (void)c;                                                                                     \
        return (uint64_t)(expression);                                                                                 \
    }
#define U(v) ((uint32_t)(v))
#define S(v) ((int32_t)(v))
#define H(v) ((uint16_t)(v))
#define HS(v) ((int16_t)(v))
#define L(v) ((int64_t)(v))

W(add32, U(a + b))
W(sub32, U(a - b))
W(mul32, U(a *b))
W(mad32, U(a *b + c))
W(hiu32, U(a) * (uint64_t)U(b) >> 32)
W(his32, U((int64_t)S(a) * S(b) >> 32))
W(wideu, (uint64_t)U(a) * U(b))
W(wides, (int64_t)S(a) * S(b))
W(madwides, (uint64_t)((int64_t)S(a) * S(b)) + c)
W(madwideu, (uint64_t)U(a) * U(b) + c)
W(divs32, U(S(b) == 0 ? -1 : S(b) == -1 ? (int32_t)(0 - U(a)) : S(a) / S(b)))
W(rems32, U(S(b) == 0 ? S(a) : S(b) == -1 ? 0 : S(a) % S(b)))
W(divu32, U(b) ? U(a) / U(b) : U(~0u))
W(remu32, U(b) ? U(a) % U(b) : U(a)) W(mins32, U(S(a) < S(b) ? a : b)) W(maxs32, U(S(a) > S(b) ? a : b))
    W(minu32, U(U(a) < U(b) ? a : b)) W(maxu32, U(U(a) > U(b) ? a : b)) W(and32, U(a &b)) W(or32, U(a | b)) W(
        xor32, U(a ^ b)) W(not32, U(~a)) W(cnot32, U(a) ? 0 : 1) W(neg32, U(0 - a)) W(abs32,
                                                                                      U(S(a) < 0 ? 0 - U(a) : U(a)))
        W(shl32, U(b) > 31 ? 0 : U(U(a) << U(b))) W(shru32, U(b) > 31 ? 0 : U(a) >> U(b))
            W(shrs32, U(S(a) >> (U(b) > 31 ? 31 : U(b)))) W(sads32, U(U(c) + (S(a) < S(b) ? U(b) - U(a) : U(a) - U(b))))
                W(sadu32, U(U(c) + (U(a) < U(b) ? U(b) - U(a) : U(a) - U(b))))
                    W(addsat,
                      U(L(S(a)) + S(b) > INT32_MAX ? INT32_MAX
                        : L(S(a)) + S(b) < INT32_MIN
                            ? INT32_MIN
                            : L(S(a)) + S(b))) W(subsat,
                                                 U(L(S(a)) - S(b) > INT32_MAX ? INT32_MAX
                                                   : L(S(a)) - S(b) < INT32_MIN
                                                       ? INT32_MIN
                                                       : L(S(a)) -
                                                             S(b))) W(add64, a + b) W(sub64, a - b) W(mul64, a *b)
                        W(mad64, a *b + c) W(hiu64, (unsigned __int128)a *b >> 64) W(his64, (__int128)L(a) * L(b) >> 64)
                            W(divs64,
                              b == 0       ? ~0ull
                              : L(b) == -1 ? 0 - a
                                           : (uint64_t)(L(a) / L(b)))
                                W(rems64,
                                  b == 0       ? a
                                  : L(b) == -1 ? 0
                                               : (uint64_t)(L(a) % L(b))) W(divu64, b ? a / b : ~0ull)
                                    W(remu64, b ? a % b : a) W(shl64, U(b) > 63 ? 0 : a << U(b))
                                        W(shru64, U(b) > 63 ? 0 : a >> U(b)) W(shrs64, L(a) >> (U(b) > 63 ? 63 : U(b)))
                                            W(mins64, L(a) < L(b) ? a : b) W(maxu64, a > b ? a : b)
                                                W(abs64, L(a) < 0 ? 0 - a : a) W(add16, H(a + b))
                                                    W(mul16,
                                                      H(U(H(a)) * H(b))) W(mulhis16, H(HS(a) * HS(b) >> 16))
                                                        W(mulwides16,
                                                          U(HS(a) * HS(b))) W(mins16, H(HS(a) < HS(b) ? a : b))
                                                            W(shrs16, H(HS(a) >> (U(b) > 15 ? 15 : U(b))))
                                                                W(shl16, U(b) > 15 ? 0 : H(H(a) << U(b)))
                                                                    W(divs16, H(HS(b) == 0 ? -1 : HS(a) / HS(b)))
                                                                        W(neg16, H(-HS(a)))
                                                                            W(madlo16, H(U(H(a)) * H(b) + H(c)))
                                                                                W(mul24, U(L(S(U(a) << 8) >> 8) *
                                                                                           L(S(U(b) << 8) >> 8)))
                                                                                    W(mul24hi,
                                                                                      U((uint64_t)(U(a) & 0xffffff) *
                                                                                            (U(b) & 0xffffff) >>
                                                                                        16))

                                                                                        static const
    struct row arithmetic[] = {
        {"add.s32 %r9, %r0, %r1;", 'r', add32},
        {"sub.u32 %r9, %r0, %r1;", 'r', sub32},
        {"mul.lo.s32 %r9, %r0, %r1;", 'r', mul32},
        {"mad.lo.u32 %r9, %r0, %r1, %r2;", 'r', mad32},
        {"mul.hi.u32 %r9, %r0, %r1;", 'r', hiu32},
        {"mul.hi.s32 %r9, %r0, %r1;", 'r', his32},
        {"mul.wide.u32 %d9, %r0, %r1;", 'd', wideu},
        {"mul.wide.s32 %d9, %r0, %r1;", 'd', wides},
        {"mad.wide.s32 %d9, %r0, %r1, %d2;", 'd', madwides},
        {"mad.wide.u32 %d9, %r0, %r1, %d2;", 'd', madwideu},
        {"div.s32 %r9, %r0, %r1;", 'r', divs32},
        {"rem.s32 %r9, %r0, %r1;", 'r', rems32},
        {"div.u32 %r9, %r0, %r1;", 'r', divu32},
        {"rem.u32 %r9, %r0, %r1;", 'r', remu32},
        {"min.s32 %r9, %r0, %r1;", 'r', mins32},
        {"max.s32 %r9, %r0, %r1;", 'r', maxs32},
        {"min.u32 %r9, %r0, %r1;", 'r', minu32},
        {"max.u32 %r9, %r0, %r1;", 'r', maxu32},
        {"and.b32 %r9, %r0, %r1;", 'r', and32},
        {"or.b32 %r9, %r0, %r1;", 'r', or32},
        {"xor.b32 %r9, %r0, %r1;", 'r', xor32},
        {"not.b32 %r9, %r0;", 'r', not32},
        {"cnot.b32 %r9, %r0;", 'r', cnot32},
        {"neg.s32 %r9, %r0;", 'r', neg32},
        {"abs.s32 %r9, %r0;", 'r', abs32},
        {"shl.b32 %r9, %r0, %r1;", 'r', shl32},
        {"shr.u32 %r9, %r0, %r1;", 'r', shru32},
        {"shr.b32 %r9, %r0, %r1;", 'r', shru32},
        {"shr.s32 %r9, %r0, %r1;", 'r', shrs32},
        {"sad.s32 %r9, %r0, %r1, %r2;", 'r', sads32},
        {"sad.u32 %r9, %r0, %r1, %r2;", 'r', sadu32},
        {"add.sat.s32 %r9, %r0, %r1;", 'r', addsat},
        {"sub.sat.s32 %r9, %r0, %r1;", 'r', subsat},
        {"add.s64 %d9, %d0, %d1;", 'd', add64},
        {"sub.s64 %d9, %d0, %d1;", 'd', sub64},
        {"mul.lo.s64 %d9, %d0, %d1;", 'd', mul64},
        {"mad.lo.s64 %d9, %d0, %d1, %d2;", 'd', mad64},
        {"mul.hi.u64 %d9, %d0, %d1;", 'd', hiu64},
        {"mul.hi.s64 %d9, %d0, %d1;", 'd', his64},
        {"div.s64 %d9, %d0, %d1;", 'd', divs64},
        {"rem.s64 %d9, %d0, %d1;", 'd', rems64},
        {"div.u64 %d9, %d0, %d1;", 'd', divu64},
        {"rem.u64 %d9, %d0, %d1;", 'd', remu64},
        {"shl.b64 %d9, %d0, %r1;", 'd', shl64},
        {"shr.u64 %d9, %d0, %r1;", 'd', shru64},
        {"shr.s64 %d9, %d0, %r1;", 'd', shrs64},
        {"min.s64 %d9, %d0, %d1;", 'd', mins64},
        {"max.u64 %d9, %d0, %d1;", 'd', maxu64},
        {"abs.s64 %d9, %d0;", 'd', abs64},
        {"add.s16 %h9, %h0, %h1;", 'h', add16},
        {"mul.lo.s16 %h9, %h0, %h1;", 'h', mul16},
        {"mul.hi.s16 %h9, %h0, %h1;", 'h', mulhis16},
        {"mul.wide.s16 %r9, %h0, %h1;", 'r', mulwides16},
        {"min.s16 %h9, %h0, %h1;", 'h', mins16},
        {"shr.s16 %h9, %h0, %r1;", 'h', shrs16},
        {"shl.b16 %h9, %h0, %r1;", 'h', shl16},
        {"div.s16 %h9, %h0, %h1;", 'h', divs16},
        {"neg.s16 %h9, %h0;", 'h', neg16},
        {"mad.lo.s16 %h9, %h0, %h1, %h2;", 'h', madlo16},
        {"mul24.lo.s32 %r9, %r0, %r1;", 'r', mul24},
        {"mul24.hi.u32 %r9, %r0, %r1;", 'r', mul24hi},
};

static void test_arithmetic(void **state)
{
    (void)state;
    check(arithmetic, KB_COUNT(arithmetic));
}

// 128-bit sums of (a, b) and (c, a) by carries, and their difference.
W(carry_high, (uint64_t)((((unsigned __int128)b << 64 | a) + ((unsigned __int128)a << 64 | c)) >> 64))
W(borrow_high, (uint64_t)((((unsigned __int128)b << 64 | a) - ((unsigned __int128)a << 64 | c)) >> 64))
W(carry32, a + b)
W(madcarry, U(a) * (uint64_t)U(b) + c)

static const struct row carries[] = {
    {"add.cc.u64 %d3, %d0, %d2; addc.u64 %d9, %d1, %d0;", 'd', carry_high},
    {"sub.cc.u64 %d3, %d0, %d2; subc.u64 %d9, %d1, %d0;", 'd', borrow_high},
    {"mov.b64 {%r3,%r4}, %d0; mov.b64 {%r5,%r6}, %d1; add.cc.u32 %r3, %r3, %r5; addc.cc.u32 %r4, %r4, %r6;"
     "mov.b64 %d9, {%r3,%r4};",
     'd', carry32},
    {"mov.b64 {%r5,%r6}, %d2; mad.lo.cc.u32 %r3, %r0, %r1, %r5; madc.hi.u32 %r4, %r0, %r1, %r6;"
     "mov.b64 %d9, {%r3,%r4};",
     'd', madcarry},
};

static void test_carries(void **state)
{
    (void)state;
    check(carries, KB_COUNT(carries));
}

static uint64_t bit_count(uint64_t v, int bits)
{
    uint64_t n = 0;
    for (int i = 0; i < bits; i++)
        n += v >> i & 1;
    return n;
}
static uint64_t leading(uint64_t v, int bits)
{
    int n = 0;
    while (n < bits && !(v >> (bits - 1 - n) & 1))
        n++;
    return (uint64_t)n;
}
static uint64_t reversed(uint64_t v, int bits)
{
    uint64_t r = 0;
    for (int i = 0; i < bits; i++)
        r |= (v >> i & 1) << (bits - 1 - i);
    return r;
}
// Pseudocode of the PTX manual, bit by bit.
static uint64_t field(uint64_t a, uint64_t b, uint64_t c, int msb, bool is_signed)
{
    uint64_t pos = b & 0xff, len = c & 0xff, top = pos + len - 1 < (uint64_t)msb ? pos + len - 1 : (uint64_t)msb, d = 0;
    uint64_t sbit = !is_signed || len == 0 ? 0 : a >> top & 1;
    for (uint64_t i = 0; i <= (uint64_t)msb; i++)
        d |= (i < len && pos + i <= (uint64_t)msb ? a >> (pos + i) & 1 : sbit) << i;
    return d;
}
static uint64_t inserted(uint64_t a, uint64_t b, uint64_t c, uint64_t n, int msb)
{
    uint64_t pos = c & 0xff, len = n & 0xff, f = b;
    for (uint64_t i = 0; i < len && pos + i <= (uint64_t)msb; i++)
        f = (f & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
    return f;
}
static uint64_t found(uint64_t v, int bits, bool is_signed, bool shift)
{
    if (is_signed && v >> (bits - 1) & 1)
        v = ~v;
    for (int i = bits - 1; i >= 0; i--)
        if (v >> i & 1)
            return (uint64_t)(shift ? bits - 1 - i : i);
    return 0xffffffff;
}
static uint64_t permuted(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t both = U(a) | (uint64_t)U(b) << 32, r = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t s = c >> (4 * i) & 15, byte = both >> (8 * (s & 7)) & 0xff;
        r |= (s & 8 ? (byte >> 7 ? 0xff : 0) : byte) << (8 * i);
    }
    return r;
}
static uint64_t dot4(uint64_t a, uint64_t b, uint64_t c)
{
    int64_t sum = S(c);
    for (int i = 0; i < 4; i++)
        sum += (int8_t)(a >> (8 * i)) * (int64_t)(uint8_t)(b >> (8 * i));
    return U(sum);
}
static uint64_t dot2(uint64_t a, uint64_t b, uint64_t c)
{
    int64_t sum = S(c);
    for (int i = 0; i < 2; i++)
        sum += HS(a >> (16 * i)) * (int64_t)(int8_t)(b >> (16 + 8 * i));
    return U(sum);
}
W(popc32, bit_count(a, 32))
W(popc64, bit_count(a, 64))
W(clz32, leading(a, 32))
W(clz64, leading(a, 64))
W(brev32, reversed(a, 32))
W(brev64, reversed(a, 64))
W(bfeu, field(U(a), b, c, 31, false))
W(bfes, U(field(U(a), b, c, 31, true)))
W(bfeu64, field(a, b, c, 63, false))
W(bfes64, field(a, b, c, 63, true))
W(bfi32, U(inserted(U(a), U(b), c, a >> 3, 31)))
W(bfi64, inserted(a, b, c, a >> 3, 63))
W(bfindu, found(U(a), 32, false, false))
W(bfinds, found(U(a), 32, true, false)) W(bfinds64, found(a, 64, true, true)) W(prmt, permuted(a, b, c))
    W(prmt_rc8, permuted(a, b, (c & 3) * 0x1111)) W(prmt_f4e, permuted(a, b, (c & 3) * 0x1111 + 0x3210))
        W(lop3, U((a & b) ^ (~c | a))) W(shfl, U((((uint64_t)U(b) << 32 | U(a)) << (U(c) & 31)) >> 32))
            W(shfr, U(((uint64_t)U(b) << 32 | U(a)) >> (U(c) > 32 ? 32 : U(c)))) W(less_u, U(a) < U(b))

                static const struct row bits[] = {
                    {"popc.b32 %r9, %r0;", 'r', popc32},
                    {"popc.b64 %r9, %d0;", 'r', popc64},
                    {"clz.b32 %r9, %r0;", 'r', clz32},
                    {"clz.b64 %r9, %d0;", 'r', clz64},
                    {"brev.b32 %r9, %r0;", 'r', brev32},
                    {"brev.b64 %d9, %d0;", 'd', brev64},
                    {"bfe.u32 %r9, %r0, %r1, %r2;", 'r', bfeu},
                    {"bfe.s32 %r9, %r0, %r1, %r2;", 'r', bfes},
                    {"bfe.u64 %d9, %d0, %r1, %r2;", 'd', bfeu64},
                    {"bfe.s64 %d9, %d0, %r1, %r2;", 'd', bfes64},
                    {"shr.u64 %d3, %d0, 3; cvt.u32.u64 %r3, %d3; bfi.b32 %r9, %r0, %r1, %r2, %r3;", 'r', bfi32},
                    {"shr.u64 %d3, %d0, 3; cvt.u32.u64 %r3, %d3; bfi.b64 %d9, %d0, %d1, %r2, %r3;", 'd', bfi64},
                    {"bfind.u32 %r9, %r0;", 'r', bfindu},
                    {"bfind.s32 %r9, %r0;", 'r', bfinds},
                    {"bfind.shiftamt.s64 %r9, %d0;", 'r', bfinds64},
                    {"prmt.b32 %r9, %r0, %r1, %r2;", 'r', prmt},
                    {"prmt.b32.rc8 %r9, %r0, %r1, %r2;", 'r', prmt_rc8},
                    {"prmt.b32.f4e %r9, %r0, %r1, %r2;", 'r', prmt_f4e},
                    {"lop3.b32 %r9, %r0, %r1, %r2, 0x3d;", 'r', NULL},
                    {"shf.l.wrap.b32 %r9, %r0, %r1, %r2;", 'r', shfl},
                    {"shf.r.clamp.b32 %r9, %r0, %r1, %r2;", 'r', shfr},
                    {"dp4a.s32.u32 %r9, %r0, %r1, %r2;", 'r', dot4},
                    {"dp2a.hi.s32.s32 %r9, %r0, %r1, %r2;", 'r', dot2},
                    {"setp.lt.u32 %p9, %r0, %r1;", 'p', less_u},
};

static void test_bits(void **state)
{
    (void)state;
    struct row rows[KB_COUNT(bits)];
    memcpy(rows, bits, sizeof bits);
    char text[80];
    // The table of lop3 is the function of 0xf0, 0xcc and 0xaa.
    snprintf(text, sizeof text, "lop3.b32 %%r9, %%r0, %%r1, %%r2, 0x%x;", ((0xf0 & 0xcc) ^ (~0xaa | 0xf0)) & 0xff);
    for (size_t i = 0; i < KB_COUNT(rows); i++)
        if (!rows[i].want) {
            rows[i].text = text;
            rows[i].want = lop3;
        }
    check(rows, KB_COUNT(rows));
}

W(lts, S(a) < S(b))
W(ges64, L(a) >= L(b))
W(hi, U(a) > U(b))
W(eq16, H(a) == H(b))
W(les16, HS(a) <= HS(b))
W(both, S(a) < S(b) && U(c) != 0)
W(other, !(S(a) < S(b)) && U(c) != 0)
W(lowest, a < b ? a : b)
W(selected, S(c) >= 0 ? U(a) : U(b))
W(ones, U(a) > U(b) ? 0xffffffff : 0)
W(real, U(a) > U(b) ? 0x3f800000 : 0)

static const struct row compares[] = {
    {"setp.lt.s32 %p9, %r0, %r1;", 'p', lts},
    {"setp.ge.s64 %p9, %d0, %d1;", 'p', ges64},
    {"setp.hi.u32 %p9, %r0, %r1;", 'p', hi},
    {"setp.eq.s16 %p9, %h0, %h1;", 'p', eq16},
    {"setp.le.s16 %p9, %h0, %h1;", 'p', les16},
    {"setp.ne.u32 %p1, %r2, 0; setp.lt.and.s32 %p9|%p2, %r0, %r1, %p1;", 'p', both},
    {"setp.ne.u32 %p1, %r2, 0; setp.lt.and.s32 %p2|%p9, %r0, %r1, %p1;", 'p', other},
    {"setp.lt.u64 %p1, %d0, %d1; selp.b64 %d9, %d0, %d1, %p1;", 'd', lowest},
    {"slct.u32.s32 %r9, %r0, %r1, %r2;", 'r', selected},
    {"set.gt.u32.u32 %r9, %r0, %r1;", 'r', ones},
    {"set.gt.f32.u32 %f9, %r0, %r1;", 'f', real},
    {"setp.ge.u64 %p1, %d0, %d1; mov.b64 %d9, %d0; @%p1 mov.b64 %d9, %d1;", 'd', lowest},
    {"setp.lt.u64 %p1, %d0, %d1; mov.b64 %d9, %d1; @!%p1 bra skip; mov.b64 %d9, %d0; skip:", 'd', lowest},
};

static void test_compares(void **state)
{
    (void)state;
    check(compares, KB_COUNT(compares));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_carries),
                                       cmocka_unit_test(test_bits), cmocka_unit_test(test_compares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
