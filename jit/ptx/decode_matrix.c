// mma, wmma, ldmatrix, stmatrix, movmatrix.
#include "base/memory.h"
#include "jit/ptx/tensor.h"

#include <stdio.h>
#include <string.h>

static int take_matrix_type(struct ptx_decoder *d)
{
    static const char *const names[] = {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2",
                                        "s8",  "u8",   "s4",   "u4",  "b1",  "s32"};
    int which = -1;
    if (!ptx_mod_any(d, names, KB_COUNT(names), &which))
        ptx_refuse(d, "a matrix type is missing");
    return which;
}

static bool more_types(struct ptx_decoder *d)
{
    static const char *const names[] = {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2",
                                        "s8",  "u8",   "s4",   "u4",  "b1",  "s32"};
    for (int i = 0; i < d->mods; i++)
        for (size_t k = 0; k < KB_COUNT(names) && !d->used[i]; k++)
            if (!strcmp(d->mod[i], names[k]))
                return true;
    return false;
}

static void take_shape(struct ptx_decoder *d, struct ptx_matrix *x)
{
    for (int i = 0; i < d->mods; i++) {
        int used = 0;
        if (!d->used[i] && sscanf(d->mod[i], "m%dn%dk%d%n", &x->m, &x->n, &x->k, &used) == 3 && !d->mod[i][used]) {
            d->used[i] = true;
            return;
        }
    }
    ptx_refuse(d, "its shape is not known");
    x->m = x->n = x->k = 8;
}

static void take_aligned(struct ptx_decoder *d)
{
    ptx_mod(d, "sync");
    ptx_mod(d, "aligned");
}

static int element_count(uint8_t type)
{
    return ptx_matrix_bits(type) >= 32 ? 1 : 32 / ptx_matrix_bits(type);
}

// Appends the registers of an operand; a single register stands for a list of one.
static int list_regs(struct ptx_decoder *d, const struct ptx_operand *o, uint8_t type, bool result, uint32_t *regs)
{
    const struct ptx_operand *items = o->kind == PTX_VECTOR ? o->items : o;
    int n = o->kind == PTX_VECTOR ? o->item_count : 1, bits = type == PTX_M_F64 ? 64 : 32;
    if (n > 16) {
        ptx_refuse(d, "an operand has %d registers", n);
        return 0;
    }
    for (int i = 0; i < n; i++)
        regs[i] = result ? ptx_result(d, &items[i], bits) : ptx_source(d, &items[i], bits);
    return n;
}

static bool floating(int type)
{
    return type <= PTX_M_E5M2;
}

// The layouts are those of one family, so only sizes need a look.
static bool shape_fits(const struct ptx_matrix *x)
{
    int pa = element_count(x->a_type), pb = element_count(x->b_type), pc = element_count(x->c_type);
    int pd = element_count(x->d_type);
    if (floating(x->a_type) != floating(x->d_type) || floating(x->c_type) != floating(x->d_type))
        return false;
    if (x->m > 32 || x->n > 32 || x->k > 256 || x->m < 8 || x->n < 8 || x->k < 4)
        return false;
    int a = x->a_regs * pa * 32, b = x->b_regs * pb * 32, c = x->c_regs * pc * 32, e = x->d_regs * pd * 32;
    if (x->wmma)
        return a >= x->m * x->k && b >= x->k * x->n && c >= x->m * x->n && e >= x->m * x->n;
    bool tile = (x->m == 8 || x->m == 16) && x->n == 8;
    bool volta = x->m == 8 && x->k == 4 && x->a_type != PTX_M_F64; // quad pairs: another family of layouts
    return tile && !volta && a == x->m * x->k && b == x->k * x->n && c == x->m * x->n && e == x->m * x->n;
}

static void emit_mma(struct ptx_decoder *d, struct ptx_matrix *x)
{
    uint32_t regs[64];
    int n = x->d_regs = list_regs(d, ptx_arg(d, 0), x->d_type, true, regs);
    n += x->a_regs = list_regs(d, ptx_arg(d, 1), x->a_type, false, regs + n);
    n += x->b_regs = list_regs(d, ptx_arg(d, 2), x->b_type, false, regs + n);
    n += x->c_regs = list_regs(d, ptx_arg(d, 3), x->c_type, false, regs + n);
    if (d->refused)
        return;
    if (!shape_fits(x)) {
        ptx_refuse(d, "this combination of shape and types is not supported");
        return;
    }
    ptx_begin_sync(d, ptx_constant(d, 0xffffffff, 32));
    struct ptx_op *o = ptx_emit_list(d, "mma", n, regs, (1ull << x->d_regs) - 1);
    o->imm = (int64_t)(uintptr_t)x;
    o->flop = PTX_FLOP_TENSOR;
    o->flops = (uint16_t)(2 * x->m * x->n * x->k / 32);
}

static void decode_mma(struct ptx_decoder *d)
{
    struct ptx_matrix *x = ptx_arena_alloc(&d->module->arena, sizeof *x);
    take_aligned(d);
    ptx_guard_control(d);
    take_shape(d, x);
    ptx_mod(d, "row");
    if (!ptx_mod(d, "col"))
        ptx_refuse(d, "its layout is not .row.col");
    x->satfinite = ptx_mod(d, "satfinite");
    if (ptx_mod(d, "xor"))
        x->xor_popc = true;
    else
        ptx_mod(d, "and");
    ptx_mod(d, "popc");
    ptx_mod(d, "rn");
    x->d_type = (uint8_t)take_matrix_type(d);
    x->a_type = (uint8_t)take_matrix_type(d);
    x->b_type = (uint8_t)take_matrix_type(d);
    x->c_type = (uint8_t)take_matrix_type(d);
    if (!d->refused)
        emit_mma(d, x);
}

static void wmma_mma(struct ptx_decoder *d, struct ptx_matrix *x)
{
    static const char *const layouts[] = {"row", "col"};
    int which;
    while (ptx_mod_any(d, layouts, 2, &which)) // fragments know no layout
        continue;
    x->satfinite = ptx_mod(d, "satfinite");
    ptx_mod(d, "rn");
    x->d_type = (uint8_t)take_matrix_type(d);
    uint8_t second = (uint8_t)take_matrix_type(d);
    if (d->refused)
        return;
    if (more_types(d)) { // .dtype.atype.btype.ctype
        x->a_type = second;
        x->b_type = (uint8_t)take_matrix_type(d);
        x->c_type = (uint8_t)take_matrix_type(d);
    } else {
        x->a_type = x->b_type = PTX_M_F16;
        x->c_type = second;
    }
    if (!d->refused)
        emit_mma(d, x);
}

static void wmma_memory(struct ptx_decoder *d, struct ptx_matrix *x, bool store)
{
    bool a = ptx_mod(d, "a"), b = ptx_mod(d, "b");
    ptx_mod(d, "c");
    ptx_mod(d, "d");
    x->rows = b ? x->k : x->m;
    x->cols = a ? x->k : x->n;
    x->column_major = ptx_mod(d, "col");
    ptx_mod(d, "row");
    enum ptx_space space;
    ptx_take_space(d, &space);
    x->type = (uint8_t)take_matrix_type(d);
    uint32_t regs[20];
    bool base32;
    int at = store ? 0 : 1;
    int64_t offset = ptx_address(d, ptx_arg(d, at), &space, &regs[0], &base32);
    int length = x->column_major ? x->rows : x->cols;
    regs[1] = d->in->operand_count > 2 ? ptx_source(d, ptx_arg(d, 2), 32) : ptx_constant(d, (uint64_t)length, 32);
    x->regs = list_regs(d, ptx_arg(d, store ? 1 : 0), x->type, !store, regs + 2);
    if (d->refused)
        return;
    if (x->regs * element_count(x->type) * 32 < x->rows * x->cols || x->rows > 32 || x->cols > 32 ||
        ptx_matrix_bits(x->type) < 8) {
        ptx_refuse(d, "this combination of shape and type is not supported");
        return;
    }
    ptx_begin_sync(d, ptx_constant(d, 0xffffffff, 32));
    d->class = space == PTX_SPACE_SHARED   ? PTX_CLASS_SHARED
               : space == PTX_SPACE_GLOBAL ? PTX_CLASS_GLOBAL
                                           : PTX_CLASS_GENERIC;
    uint64_t defs = store ? 0 : ((1ull << x->regs) - 1) << 2;
    struct ptx_op *o = ptx_emit_list(d, store ? "wmma_store" : "wmma_load", x->regs + 2, regs, defs);
    o->imm = (int64_t)(uintptr_t)x;
    o->imm2 = offset;
    o->base32 = base32;
    o->space = (uint8_t)space;
    o->write = store;
    // The bytes of the matrix, spread over the lanes.
    o->elem = PTX_U8;
    o->vec = (uint8_t)(x->rows * x->cols * ptx_matrix_bits(x->type) / 8 / 32);
}

static void decode_wmma(struct ptx_decoder *d)
{
    struct ptx_matrix *x = ptx_arena_alloc(&d->module->arena, sizeof *x);
    x->wmma = true;
    bool load = ptx_mod(d, "load"), store = !load && ptx_mod(d, "store");
    if (!load && !store)
        ptx_mod(d, "mma");
    take_aligned(d);
    ptx_guard_control(d);
    take_shape(d, x);
    if (load || store)
        wmma_memory(d, x, store);
    else
        wmma_mma(d, x);
}

static void decode_ldmatrix(struct ptx_decoder *d)
{
    static const char *const counts[] = {"x1", "x2", "x4"};
    bool store = d->root[0] == 's', base32;
    int which = 0;
    take_aligned(d);
    ptx_guard_control(d);
    if (!ptx_mod(d, "m8n8") || !ptx_mod_any(d, counts, 3, &which))
        ptx_refuse(d, "only m8n8 matrices of 16 bits are supported");
    bool transposed = ptx_mod(d, "trans");
    enum ptx_space space;
    ptx_take_space(d, &space);
    if (!ptx_mod(d, "b16"))
        ptx_refuse(d, "only m8n8 matrices of 16 bits are supported");
    uint32_t regs[20];
    int64_t offset = ptx_address(d, ptx_arg(d, store ? 0 : 1), &space, &regs[0], &base32);
    int n = list_regs(d, ptx_arg(d, store ? 1 : 0), PTX_M_F16, !store, regs + 1);
    if (n != 1 << which)
        ptx_refuse(d, "it has %d registers", n);
    if (d->refused)
        return;
    ptx_begin_sync(d, ptx_constant(d, 0xffffffff, 32));
    d->class = PTX_CLASS_SHARED;
    struct ptx_op *o = ptx_emit_list(d, store ? "stmatrix" : "ldmatrix", n + 1, regs, store ? 0 : (2ull << n) - 2);
    o->imm = n;
    o->imm2 = offset;
    o->base32 = base32;
    o->space = (uint8_t)space;
    o->sub = transposed;
    o->write = store;
    o->elem = PTX_B32; // n registers a lane
    o->vec = (uint8_t)n;
}

static void decode_movmatrix(struct ptx_decoder *d)
{
    take_aligned(d);
    ptx_guard_control(d);
    if (!ptx_mod(d, "m8n8") || !ptx_mod(d, "trans") || !ptx_mod(d, "b16"))
        ptx_refuse(d, "its form is not known");
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32), a = ptx_source(d, ptx_arg(d, 1), 32);
    ptx_begin_sync(d, ptx_constant(d, 0xffffffff, 32));
    ptx_emit(d, "movmatrix", 2, r, a);
}

const struct ptx_decode_entry ptx_decode_matrix[] = {
    {"mma", decode_mma, PTX_CLASS_TENSOR},
    {"wmma", decode_wmma, PTX_CLASS_TENSOR},
    {"ldmatrix", decode_ldmatrix, PTX_CLASS_SHARED},
    {"stmatrix", decode_ldmatrix, PTX_CLASS_SHARED},
    {"movmatrix", decode_movmatrix, PTX_CLASS_SHUFFLE},
    {NULL, NULL, 0},
};
