// What decode_tensor.c and the handlers agree on: the shape of a matrix operation, which hangs on ptx_op.imm.
//
// Fragments of mma are laid out as the PTX manual draws them; those of wmma, whose layout PTX leaves open, hold the
// element (lane * elements of a lane + i) modulo the matrix.
#ifndef KB_JIT_PTX_TENSOR_H
#define KB_JIT_PTX_TENSOR_H
#include "jit/ptx/decode.h"

enum ptx_matrix_type {
    PTX_M_F16,
    PTX_M_BF16,
    PTX_M_TF32,
    PTX_M_F32,
    PTX_M_F64,
    PTX_M_E4M3,
    PTX_M_E5M2,
    PTX_M_S8,
    PTX_M_U8,
    PTX_M_S4,
    PTX_M_U4,
    PTX_M_B1,
    PTX_M_S32,
};

struct ptx_matrix {
    int m, n, k;
    uint8_t d_type, a_type, b_type, c_type;
    int d_regs, a_regs, b_regs, c_regs;
    bool wmma, satfinite, xor_popc;
    // loads and stores of wmma: the matrix is rows x cols
    int rows, cols, regs;
    uint8_t type;
    bool column_major;
};

int ptx_matrix_bits(uint8_t type);

#endif
