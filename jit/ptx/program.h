// The decoded form that runs: handlers over 32 lanes, in basic blocks.
//
// Registers of a frame lie in one piece of memory: 32 lanes of 4 bytes for everything up to 32 bits (narrow values are
// kept zero-extended), 32 lanes of 8 bytes for 64 bits, one bit a lane (uint32_t) for predicates. Constants are
// registers that are filled once. While decoding, operands are numbers of virtual registers; ptx_layout turns them into
// byte offsets.
#ifndef KB_JIT_PTX_PROGRAM_H
#define KB_JIT_PTX_PROGRAM_H
#include "jit/ptx/module.h"

struct ptx_warp;
struct ptx_op;
typedef void ptx_handler(struct ptx_warp *, const struct ptx_op *, uint32_t mask);

enum ptx_class {
    PTX_CLASS_INTEGER,
    PTX_CLASS_F32,
    PTX_CLASS_F64,
    PTX_CLASS_F16,
    PTX_CLASS_SPECIAL, // ex2, lg2, sin, rcp, sqrt ...
    PTX_CLASS_CONVERT,
    PTX_CLASS_MOVE,
    PTX_CLASS_COMPARE, // setp, selp, predicate logic
    PTX_CLASS_GLOBAL,
    PTX_CLASS_SHARED,
    PTX_CLASS_LOCAL,
    PTX_CLASS_CONST, // constant banks and parameters
    PTX_CLASS_GENERIC,
    PTX_CLASS_ATOMIC,
    PTX_CLASS_TENSOR,
    PTX_CLASS_SHUFFLE, // shfl, vote, match, redux
    PTX_CLASS_BARRIER, // and fences
    PTX_CLASS_CONTROL,
    PTX_CLASSES
};
extern const char *const ptx_class_names[PTX_CLASSES];

enum ptx_flop { PTX_FLOP_NONE, PTX_FLOP_F32, PTX_FLOP_F64, PTX_FLOP_F16, PTX_FLOP_TENSOR, PTX_FLOPS };

enum ptx_elem { PTX_U8, PTX_S8, PTX_U16, PTX_S16, PTX_B32, PTX_S32, PTX_B64 };

// How far a strong access or a fence reaches. A cluster is one block here, and what reaches the device all of the
// system.
enum ptx_scope { PTX_WEAK, PTX_SCOPE_BLOCK, PTX_SCOPE_DEVICE };

// What a memory operation orders.
struct ptx_memory_order {
    uint8_t scope; // enum ptx_scope
    bool acquires, releases;
};

struct ptx_op {
    ptx_handler *run;
    uint32_t r[4];       // operands; r[0] is the result where there is one
    uint32_t *more;      // operands beyond the fourth
    uint32_t guard;      // predicate, 0: none
    uint32_t guard_flip; // all ones for "@!p"
    int64_t imm, imm2;
    uint32_t id, loc;
    uint8_t counted; // begins an instruction of the PTX text (others are its further steps)
    uint8_t class;   // enum ptx_class
    uint8_t elem;    // enum ptx_elem
    uint8_t vec;     // elements a lane
    uint8_t space;   // enum ptx_space
    uint8_t wide;    // the data register has 64 bits though the element has fewer
    uint8_t base32;  // the address register has 32 bits
    uint8_t flop;    // enum ptx_flop
    uint16_t flops;  // a lane; tensor operations: a 32nd of the warp's, so that full warps add up
    uint16_t sub;    // meaning depends on the handler
    uint16_t operand_count;
    bool strong; // volatile, relaxed, acquire ...: a place where a spin loop waits
    bool write;  // memory operation that writes
    struct ptx_memory_order order;
    bool guess;    // a load whose value is only what a compare-and-swap of the same address begins with
    bool look;     // a load whose value only decides whether a minimum, maximum ... of the same address is tried
    bool data;     // a load whose value decides nothing: it ends in stores
    bool later;    // a copy: what it writes is there once it was waited for
    bool by_proxy; // done by the asynchronous proxy
    uint64_t defs; // bit i: operand i is written; the others are read
    const char *name;
};

enum ptx_term {
    PTX_TERM_NEXT,
    PTX_TERM_BRANCH, // to target where the predicate holds (pred 0: all)
    PTX_TERM_INDEXED,
    PTX_TERM_BARRIER,
    PTX_TERM_ARRIVE,
    PTX_TERM_CALL,
    PTX_TERM_CALL_INDIRECT,
    PTX_TERM_RETURN,
    PTX_TERM_EXIT,
    PTX_TERM_YIELD,
};

struct ptx_call {
    struct ptx_func *func;            // NULL: indirect
    ptx_handler *builtin;             // printf, malloc ...; used instead of func
    struct ptx_var **args, **results; // .param variables of the caller
    int arg_count, result_count;
};

struct ptx_block {
    uint32_t first, count;
    uint32_t cycles; // what its operations take (clock.h)
    uint8_t term;
    bool sync;                   // its one operation waits for lanes
    uint32_t member;             // register with the member mask, if sync
    const uint8_t *operand_bits; // 1, 32 or 64 for each operand of that operation
    bool strong;                 // has an access that a spin loop may wait for
    bool writes;                 // may change memory, apart from its atomics
    uint32_t pred, pred_flip;
    uint32_t target;   // block
    uint32_t *targets; // PTX_TERM_INDEXED
    uint32_t target_count, index;
    uint32_t id; // over the whole module
    uint32_t term_loc;
    uint8_t term_counted, term_class;
    // Barriers: number, count (0: none) and reduction.
    uint32_t bar_number, bar_count, bar_pred, bar_pred_flip, bar_result;
    uint8_t bar_reduce; // 0, '&', '|', '+'
    struct ptx_call *call;
    uint32_t callee; // register of an indirect call
    const char *term_name;
};

struct ptx_const {
    uint32_t reg, wide;
    uint64_t bits;
};

struct ptx_range {
    uint32_t at, bytes;
};

struct ptx_program {
    struct ptx_func *func;
    struct ptx_op *ops;
    uint32_t op_count;
    struct ptx_block *blocks;
    uint32_t block_count;
    struct ptx_const *consts; // reg: byte offset
    uint32_t const_count;
    size_t frame_bytes;
    size_t const_bytes;   // constants lie at the front, behind the first 64 bytes
    uint32_t local_bytes; // .local and .param variables of one lane
    bool calls_indirect;
    struct ptx_range *steering; // places in the frame of the registers that branches depend on
    uint32_t steering_count;
    bool memory_steers; // branches depend on something that was loaded, or that other warps have a part in
};

// What a call takes of the stack; never nothing, so that endless recursion ends.
#define PTX_FRAME_BYTES(local_bytes) ((((uint32_t)(local_bytes) + 15) & ~15u) + 16)

enum { PTX_GUARD_GAP = 1024 }; // between shared variables; keeps the bank of each address
// Shared memory begins behind what the driver keeps, as on sm_80 and later. Cooperative groups use a part of that.
enum { PTX_RESERVED_SHARED = 1024, PTX_RESERVED_OFFSET_1 = 512 };

// Decodes every function of m, whose variables have their places. An instruction that cannot run, and a function that
// cannot be called, become an operation that ends the launch if a lane gets there.
void ptx_decode(struct ptx_module *m);
// Why a kernel cannot be launched at all (its parameters, clusters); NULL if it can.
const struct kb_error *ptx_refusal(const struct ptx_func *f);
// Whether f, or what it may call, uses the variable.
bool ptx_uses_var(const struct ptx_module *m, const struct ptx_func *f, const struct ptx_var *v);
bool ptx_uses_reserved(const struct ptx_module *m, const struct ptx_func *f); // %reserved_smem_offset_...
// Local bytes a lane including what is called; *recursive if no bound is known.
size_t ptx_stack_bytes(const struct ptx_module *m, const struct ptx_func *f, bool *recursive);

#endif
