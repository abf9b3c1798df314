// Inside of the decoder: one instruction at a time becomes operations. decode.c drives; decode_*.c know the families.
#ifndef KB_JIT_PTX_DECODE_H
#define KB_JIT_PTX_DECODE_H
#include "jit/ptx/program.h"

enum { PTX_MAX_MODS = 24 };

struct ptx_type {
    char kind; // 'u', 's', 'b', 'f' (binary32 or 64), 'h' (f16), 'w' (bf16), 't' (tf32), '4' (e4m3), '5' (e5m2), 'p'
    int bits;  // of one element: 1, 8, 16, 32, 64, 128
    bool x2;   // a pair
};

struct ptx_decoder {
    struct ptx_module *module;
    struct ptx_func *func;
    const struct ptx_inst *in;
    uint32_t inst; // index of in
    char root[32];
    char mod[PTX_MAX_MODS][40];
    bool used[PTX_MAX_MODS];
    int mods;
    uint8_t class;
    bool counted; // the next operation begins the instruction

    struct ptx_op *ops;
    uint32_t op_count, op_cap;
    struct ptx_block *blocks;
    uint32_t block_count, block_cap;
    struct ptx_const *consts; // reg: virtual register
    uint32_t const_count, const_cap;
    uint32_t *inst_block;  // first block of each instruction
    bool *leader;          // an instruction that begins a block
    uint32_t carry;        // virtual register of the condition code, +1
    uint32_t (*halves)[2]; // of each 128-bit register: two of 64 bits, +1; NULL until one is met
    uint32_t halves_count;
    uint32_t local_bytes; // of .local and .param variables so far
    bool refused, calls_indirect;
};

// Refuses the function: the message names the instruction and its line.
void ptx_refuse(struct ptx_decoder *, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool ptx_mod(struct ptx_decoder *, const char *name); // present; marks it used
bool ptx_mod_any(struct ptx_decoder *, const char *const *names, size_t n, int *which);
bool ptx_parse_type(const char *name, struct ptx_type *);
struct ptx_type ptx_take_type(struct ptx_decoder *); // the next unused modifier that is a type; refuses if none
int ptx_rounding(struct ptx_decoder *);              // enum ptx_rounding; PTX_RN if none is given

// The n-th operand of the instruction; refuses and gives a sink if it is absent.
const struct ptx_operand *ptx_arg(struct ptx_decoder *, int n);

// Virtual registers. bits 1, 32 or 64 tell the kind of storage.
uint32_t ptx_temp(struct ptx_decoder *, int bits);
uint32_t ptx_constant(struct ptx_decoder *, uint64_t bits, int width);
uint32_t ptx_source(struct ptx_decoder *, const struct ptx_operand *, int bits);             // integers and bits
uint32_t ptx_source_type(struct ptx_decoder *, const struct ptx_operand *, struct ptx_type); // literals fit the type
uint32_t ptx_predicate(struct ptx_decoder *, const struct ptx_operand *);                    // negation resolved
uint32_t ptx_result(struct ptx_decoder *, const struct ptx_operand *, int bits); // a register of that storage
// A 128-bit operand as two of 64 bits, low one first: a register, or a pair in braces.
void ptx_halves(struct ptx_decoder *, const struct ptx_operand *, bool result, uint32_t half[2]);
int ptx_storage(struct ptx_type); // 1, 32 or 64
int ptx_reg_bits(const struct ptx_decoder *, uint32_t reg);

// Adds an operation with n operands (virtual registers), of which the first is the result. Never NULL.
struct ptx_op *ptx_emit(struct ptx_decoder *, const char *key, int n, ...);
struct ptx_op *ptx_emit_list(struct ptx_decoder *, const char *key, int n, const uint32_t *regs, uint64_t defs);
uint32_t ptx_emit_to(struct ptx_decoder *, const char *key, int bits, uint32_t a); // one source, into a new register

// Blocks. The current one is the last.
struct ptx_block *ptx_current_block(struct ptx_decoder *);
struct ptx_block *ptx_end_block(struct ptx_decoder *, enum ptx_term); // returns the ended one; a new one is current
void ptx_guard_control(struct ptx_decoder *);                         // "@p" of control flow becomes a branch around it
void ptx_begin_sync(struct ptx_decoder *, uint32_t member); // the next operation waits for the lanes of that mask

// Address operand: base register (virtual) into *base, *base32; returns the offset. space may become more precise.
int64_t ptx_address(struct ptx_decoder *, const struct ptx_operand *, enum ptx_space *space, uint32_t *base,
                    bool *base32);
// A register from or into a .param variable of the frame, as a step of the current instruction.
void ptx_move_param(struct ptx_decoder *, struct ptx_var *, uint32_t reg, bool store);
struct ptx_var *ptx_new_param(struct ptx_decoder *, uint64_t bytes); // one that the text does not have
// Parameters in .reg are taken at a function's begin, results in .reg given before each return.
void ptx_take_params(struct ptx_decoder *);
void ptx_give_results(struct ptx_decoder *);
bool ptx_take_space(struct ptx_decoder *, enum ptx_space *);
struct ptx_memory_order ptx_take_memory_order(struct ptx_decoder *); // .volatile, .relaxed ... and scopes
void ptx_take_cache_hints(struct ptx_decoder *);
// 16-bit signed sources, extended to the 32 bits that their operation runs on.
void ptx_int_sources(struct ptx_decoder *, struct ptx_type, uint32_t *src, int n);

typedef void ptx_decode_fn(struct ptx_decoder *);
struct ptx_decode_entry {
    const char *root;
    ptx_decode_fn *decode;
    enum ptx_class class;
};
// One table a file; each ends with a NULL root.
extern const struct ptx_decode_entry ptx_decode_alu[], ptx_decode_compare[], ptx_decode_memory[], ptx_decode_control[],
    ptx_decode_convert[], ptx_decode_bits[], ptx_decode_warp[], ptx_decode_matrix[], ptx_decode_async[],
    ptx_decode_video[];

void ptx_layout(struct ptx_decoder *, struct ptx_program *); // layout.c

#endif
