// What decode_warp.c and atomic.c agree on: ptx_op.sub of an atomic operation.
#ifndef KB_JIT_PTX_ATOMIC_H
#define KB_JIT_PTX_ATOMIC_H

enum ptx_atomic {
    PTX_ATOM_ADD,
    PTX_ATOM_MIN,
    PTX_ATOM_MAX,
    PTX_ATOM_INC,
    PTX_ATOM_DEC,
    PTX_ATOM_AND,
    PTX_ATOM_OR,
    PTX_ATOM_XOR,
    PTX_ATOM_EXCH,
    PTX_ATOM_CAS,
};
// The type, beside the operation: how the bits are read.
enum ptx_atomic_type {
    PTX_ATOM_U16,
    PTX_ATOM_U32,
    PTX_ATOM_S32,
    PTX_ATOM_U64,
    PTX_ATOM_S64,
    PTX_ATOM_F32,
    PTX_ATOM_F64,
    PTX_ATOM_F16,
    PTX_ATOM_F16X2,
    PTX_ATOM_BF16,
    PTX_ATOM_BF16X2,
    PTX_ATOM_B128,    // two halves
    PTX_ATOM_F32_FTZ, // F32 in global memory, where .add flushes subnormals; only while it runs
};

#endif
