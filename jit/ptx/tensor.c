// mma, wmma, ldmatrix and their kin. Sums are formed in double (integers: exactly) and rounded once to the type of D;
// PTX leaves the order and the inner precision of sums open.
#include "jit/ptx/tensor.h"

#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/numbers.h"

#include <string.h>

enum { MAX_M = 32, MAX_N = 32, MAX_K = 256 };

int ptx_matrix_bits(uint8_t type)
{
    static const uint8_t bits[] = {16, 16, 32, 32, 64, 8, 8, 8, 8, 4, 4, 1, 32};
    return bits[type];
}

static bool is_whole(uint8_t type)
{
    return type >= PTX_M_S8;
}

// Bits of one element as a number.
static double element(uint64_t bits, uint8_t type)
{
    switch ((enum ptx_matrix_type)type) {
    case PTX_M_F16:
        return (double)f16_to_f32((uint32_t)bits);
    case PTX_M_BF16:
        return (double)bf16_to_f32((uint32_t)bits);
    case PTX_M_TF32:
        return (double)f32_bits((uint32_t)bits & 0xffffe000u);
    case PTX_M_F32:
        return (double)f32_bits((uint32_t)bits);
    case PTX_M_F64:
        return f64_bits(bits);
    case PTX_M_E4M3:
        return ptx_widen((uint32_t)bits, ptx_e4m3);
    case PTX_M_E5M2:
        return ptx_widen((uint32_t)bits, ptx_e5m2);
    case PTX_M_S8:
        return (int8_t)bits;
    case PTX_M_S4:
        return (int8_t)(bits << 4) >> 4;
    case PTX_M_S32:
        return (int32_t)bits;
    case PTX_M_U8:
    case PTX_M_U4:
    case PTX_M_B1:
        break;
    }
    return (double)bits;
}

static uint64_t element_bits(double x, uint8_t type, bool satfinite)
{
    switch ((enum ptx_matrix_type)type) {
    case PTX_M_F16:
        return ptx_narrow(x, ptx_f16, PTX_RN, satfinite);
    case PTX_M_F32:
        return bits_f32(canon((float)x));
    case PTX_M_F64:
        return bits_f64(x);
    default:
        if (satfinite)
            x = x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
        return (uint32_t)(int64_t)x;
    }
}

// The part of a register that holds element j of those it holds.
static uint64_t part_of(const struct ptx_warp *w, uint32_t reg, int lane, int j, int bits)
{
    if (bits == 64)
        return ptx_u64(w, reg)[lane];
    uint32_t v = ptx_u32(w, reg)[lane];
    return bits == 32 ? v : v >> (j * bits) & ((1u << bits) - 1);
}

static void put_part(const struct ptx_warp *w, uint32_t reg, int lane, int j, int bits, uint64_t value)
{
    if (bits == 64) {
        ptx_u64(w, reg)[lane] = value;
    } else if (bits == 32) {
        ptx_u32(w, reg)[lane] = (uint32_t)value;
    } else {
        uint32_t field = ((1u << bits) - 1) << (j * bits), *v = &ptx_u32(w, reg)[lane];
        *v = (*v & ~field) | (uint32_t)value << (j * bits);
    }
}

// Where element j of register r of a lane lies in its matrix.
struct spot {
    int row, col;
};
// Fragments of wmma run through the matrix row by row, lane after lane, and begin anew behind its end.
static struct spot next_spot(struct spot *at, int rows, int cols)
{
    struct spot here = *at;
    if (++at->col == cols) {
        at->col = 0;
        at->row = at->row + 1 == rows ? 0 : at->row + 1;
    }
    return here;
}
static struct spot spot_a(const struct ptx_matrix *x, int lane, int r, int j, int per_reg)
{
    int halves = x->m == 16; // registers alternate between rows 0-7 and 8-15
    int col = lane % 4 * per_reg + j + (halves ? r / 2 : r) * 4 * per_reg;
    return (struct spot){lane / 4 + (halves ? r % 2 * 8 : 0), col};
}
static struct spot spot_b(int lane, int r, int j, int per_reg)
{
    return (struct spot){lane % 4 * per_reg + j + r * 4 * per_reg, lane / 4};
}
static struct spot spot_c(int lane, int r, int j, int per_reg)
{
    int i = r * per_reg + j;
    return (struct spot){lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2};
}

static int elements_of(uint8_t type)
{
    int bits = ptx_matrix_bits(type);
    return bits >= 32 ? 1 : 32 / bits;
}

struct operands {
    double a[MAX_M][MAX_K], b[MAX_K][MAX_N], c[MAX_M][MAX_N];
};

static void gather(const struct ptx_warp *w, const struct ptx_op *o, const struct ptx_matrix *x, struct operands *in)
{
    int first_a = x->d_regs, first_b = first_a + x->a_regs, first_c = first_b + x->b_regs;
    struct spot at_a = {0}, at_b = {0}, at_c = {0};
    int pa = elements_of(x->a_type), pb = elements_of(x->b_type), pc = elements_of(x->c_type);
    for (int lane = 0; lane < PTX_LANES; lane++) {
        for (int r = 0; r < x->a_regs; r++)
            for (int j = 0; j < pa; j++) {
                struct spot s = x->wmma ? next_spot(&at_a, x->m, x->k) : spot_a(x, lane, r, j, pa);
                in->a[s.row][s.col] =
                    element(part_of(w, ptx_operand(o, (unsigned)(first_a + r)), lane, j, ptx_matrix_bits(x->a_type)),
                            x->a_type);
            }
        for (int r = 0; r < x->b_regs; r++)
            for (int j = 0; j < pb; j++) {
                struct spot s = x->wmma ? next_spot(&at_b, x->k, x->n) : spot_b(lane, r, j, pb);
                in->b[s.row][s.col] =
                    element(part_of(w, ptx_operand(o, (unsigned)(first_b + r)), lane, j, ptx_matrix_bits(x->b_type)),
                            x->b_type);
            }
        for (int r = 0; r < x->c_regs; r++)
            for (int j = 0; j < pc; j++) {
                struct spot s = x->wmma ? next_spot(&at_c, x->m, x->n) : spot_c(lane, r, j, pc);
                in->c[s.row][s.col] =
                    element(part_of(w, ptx_operand(o, (unsigned)(first_c + r)), lane, j, ptx_matrix_bits(x->c_type)),
                            x->c_type);
            }
    }
}

static void multiply(const struct ptx_matrix *x, struct operands *in)
{
    bool bits = x->a_type == PTX_M_B1, fused = x->d_type == PTX_M_F64;
    for (int i = 0; i < x->m; i++)
        for (int k = 0; k < x->k; k++) {
            double a = in->a[i][k], *c = in->c[i];
            const double *b = in->b[k];
            if (bits)
                for (int j = 0; j < x->n; j++)
                    c[j] += x->xor_popc ? a != b[j] : a != 0 && b[j] != 0;
            else if (fused)
                for (int j = 0; j < x->n; j++)
                    c[j] = fma(a, b[j], c[j]);
            else
                for (int j = 0; j < x->n; j++)
                    c[j] += a * b[j];
        }
}

static bool whole_warp(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    if (mask == 0xffffffffu)
        return true;
    ptx_fault(w, o, __builtin_ctz(mask), "CUDA_ERROR_LAUNCH_FAILED", "%s needs all 32 lanes, mask 0x%08x runs it",
              o->name, mask);
    return false;
}

static void mma(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    const struct ptx_matrix *x = (const struct ptx_matrix *)(uintptr_t)o->imm;
    if (!whole_warp(w, o, mask))
        return;
    struct operands in;
    gather(w, o, x, &in);
    multiply(x, &in);
    struct spot at = {0};
    int per = elements_of(x->d_type), bits = ptx_matrix_bits(x->d_type);
    for (int lane = 0; lane < PTX_LANES; lane++)
        for (int r = 0; r < x->d_regs; r++)
            for (int j = 0; j < per; j++) {
                struct spot s = x->wmma ? next_spot(&at, x->m, x->n) : spot_c(lane, r, j, per);
                bool clamp = x->satfinite && is_whole(x->d_type);
                put_part(w, ptx_operand(o, (unsigned)r), lane, j, bits,
                         element_bits(in.c[s.row][s.col], x->d_type, clamp));
            }
}

static uint64_t lane_address(const struct ptx_warp *w, const struct ptx_op *o, int lane)
{
    return o->base32 ? ptx_u32(w, o->r[0])[lane] + (uint32_t)o->imm2 : ptx_u64(w, o->r[0])[lane] + (uint64_t)o->imm2;
}

// Host addresses of the first 8 * n lanes' rows of 16 bytes; false after a fault.
static bool matrix_rows(struct ptx_warp *w, const struct ptx_op *o, int n, struct ptx_access *x)
{
    *x = (struct ptx_access){.mask = n == 4 ? 0xffffffffu : (1u << (8 * n)) - 1, .bytes = 16};
    for (int i = 0; i < PTX_LANES; i++)
        x->address[i] = lane_address(w, o, i < 8 * n ? i : 0);
    return ptx_access_slow(w, o, x);
}

// sub: transposed. vec: matrices. Operands: address, registers.
static void ldmatrix(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    struct ptx_access x;
    int n = o->imm > 0 ? (int)o->imm : 1;
    if (!whole_warp(w, o, mask) || !matrix_rows(w, o, n, &x))
        return;
    uint16_t m[8][8];
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < 8; i++)
            memcpy(m[i], (const void *)x.address[8 * r + i], 16);
        uint32_t *d = ptx_u32(w, ptx_operand(o, (unsigned)r + 1));
        for (int lane = 0; lane < PTX_LANES; lane++) {
            int row = lane / 4, col = lane % 4 * 2;
            d[lane] =
                o->sub ? m[col][row] | (uint32_t)m[col + 1][row] << 16 : m[row][col] | (uint32_t)m[row][col + 1] << 16;
        }
    }
}

static void stmatrix(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    struct ptx_access x;
    int n = o->imm > 0 ? (int)o->imm : 1;
    if (!whole_warp(w, o, mask) || !matrix_rows(w, o, n, &x))
        return;
    uint16_t m[8][8];
    for (int r = 0; r < n; r++) {
        const uint32_t *d = ptx_u32(w, ptx_operand(o, (unsigned)r + 1));
        for (int lane = 0; lane < PTX_LANES; lane++) {
            int row = lane / 4, col = lane % 4 * 2;
            *(o->sub ? &m[col][row] : &m[row][col]) = (uint16_t)d[lane];
            *(o->sub ? &m[col + 1][row] : &m[row][col + 1]) = (uint16_t)(d[lane] >> 16);
        }
        for (int i = 0; i < 8; i++)
            memcpy((void *)x.address[8 * r + i], m[i], 16);
    }
}

static void movmatrix(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    uint32_t a[PTX_LANES], *d = ptx_u32(w, o->r[0]);
    if (!whole_warp(w, o, mask))
        return;
    memcpy(a, ptx_u32(w, o->r[1]), sizeof a);
    for (int lane = 0; lane < PTX_LANES; lane++) {
        uint32_t r = 0;
        for (int j = 0; j < 2; j++) { // element (row, col) of the result is (col, row) of the source
            int row = lane % 4 * 2 + j, col = lane / 4;
            r |= (a[row * 4 + col / 2] >> (col % 2 * 16) & 0xffff) << (16 * j);
        }
        d[lane] = r;
    }
}

static void copy_element(void *to, const void *from, int bytes)
{
    if (bytes == 2)
        memcpy(to, from, 2);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, (size_t)bytes);
}

// Loads and stores of wmma. Operands: address, stride in elements, registers. All lanes give the same address.
static void wmma_move(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, bool store)
{
    const struct ptx_matrix *x = (const struct ptx_matrix *)(uintptr_t)o->imm;
    if (!whole_warp(w, o, mask))
        return;
    int bits = ptx_matrix_bits(x->type), bytes = bits / 8, per = elements_of(x->type);
    int lines = x->column_major ? x->cols : x->rows, length = x->column_major ? x->rows : x->cols;
    uint64_t stride = ptx_u32(w, o->r[1])[0], base = lane_address(w, o, 0);
    char *line[MAX_M];
    struct spot place = {0};
    struct ptx_op_count *c = &w->thread->ops[o->id];
    c->requests++;
    for (int i = 0; i < lines; i++) {
        uint64_t at = base + (uint64_t)i * stride * (uint64_t)bytes;
        line[i] = ptx_resolve_in(w, o, 0, at, (uint32_t)(length * bytes));
        if (!line[i])
            return;
        ptx_shadow_range(w, o, 0, (uint64_t)line[i], (uint32_t)(length * bytes), (uint32_t)bytes);
        if (o->space != PTX_SPACE_SHARED && PTX_TAG(at) == 0)
            c->sectors += ((at + (uint64_t)(length * bytes) - 1) >> 5) - (at >> 5) + 1;
    }
    for (int lane = 0; lane < PTX_LANES; lane++)
        for (int r = 0; r < x->regs; r++)
            for (int j = 0; j < per; j++) {
                struct spot s = next_spot(&place, x->rows, x->cols);
                char *at = x->column_major ? line[s.col] + s.row * bytes : line[s.row] + s.col * bytes;
                uint32_t reg = ptx_operand(o, (unsigned)r + 2);
                uint64_t value = 0;
                if (store) {
                    value = part_of(w, reg, lane, j, bits);
                    copy_element(at, &value, bytes);
                } else {
                    copy_element(&value, at, bytes);
                    put_part(w, reg, lane, j, bits, value);
                }
            }
}

static void wmma_load(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    wmma_move(w, o, mask, false);
}

static void wmma_store(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    wmma_move(w, o, mask, true);
}

const struct ptx_handler_entry ptx_tensor_handlers[] = {
    {"mma", mma},
    {"ldmatrix", ldmatrix},
    {"stmatrix", stmatrix},
    {"movmatrix", movmatrix},
    {"wmma_load", wmma_load},
    {"wmma_store", wmma_store},
    {NULL, NULL},
};
