// PTX text as data: what the parser found, with names resolved and nothing decoded yet (PTX ISA 9.0).
//
// Everything hangs on the module's arena and lives until ptx_module_free.
#ifndef KB_JIT_PTX_MODULE_H
#define KB_JIT_PTX_MODULE_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_arena {
    struct ptx_arena_chunk *chunk;
};
void *ptx_arena_alloc(struct ptx_arena *, size_t bytes); // zeroed, 16-byte aligned
char *ptx_arena_text(struct ptx_arena *, const char *s, size_t n);
void ptx_arena_free(struct ptx_arena *);

enum ptx_space {
    PTX_SPACE_GENERIC,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_CONST,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM,
};

// An address inside initialised data: `bytes` bytes at `at` become the address of `symbol` + add.
struct ptx_reloc {
    uint32_t at, bytes;
    const char *symbol;
    int64_t add;
    struct ptx_reloc *next;
};

struct ptx_var {
    const char *name;
    enum ptx_space space;
    uint32_t align, element_bytes;
    uint32_t step;  // see elements.h; 0: none was found
    uint64_t bytes; // 0: an extern array without a size (dynamic shared memory)
    bool is_extern;
    bool in_register; // a parameter or result in .reg: the function also has it in register `reg`
    int reg;
    const uint8_t *init; // `bytes` bytes, or NULL for zeros
    struct ptx_reloc *relocs;
    uint64_t place; // global, const: host address once loaded; shared, local, param: offset
    struct ptx_var *next;
};

enum ptx_operand_kind {
    PTX_REG,     // reg; negated: "!%p"
    PTX_INT,     // bits
    PTX_F32,     // bits: 0f...
    PTX_F64,     // bits: 0d... or a decimal literal
    PTX_SYMBOL,  // var or func, + bits
    PTX_LABEL,   // name: a label or something unknown
    PTX_SPECIAL, // name: "%tid.x"
    PTX_ADDRESS, // "[base + bits]": items[0] is the base (or none), further items after a comma
    PTX_VECTOR,  // {a,b}
    PTX_LIST,    // (a,b)
    PTX_PAIR,    // a|b
    PTX_SINK,    // "_"
};
struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;
    int reg; // virtual register
    uint64_t bits;
    const char *name;
    struct ptx_var *var;
    struct ptx_func *func;
    struct ptx_operand *items;
    int item_count;
};

struct ptx_inst {
    const char *op; // the whole opcode, "ld.global.v4.f32"
    int guard;      // predicate register or -1
    bool guard_not;
    struct ptx_operand *operands;
    int operand_count;
    uint32_t loc; // index into ptx_module.locs
    uint32_t scope;
    int text_line; // line of the PTX text
};

struct ptx_label {
    const char *name;
    uint32_t scope, inst; // the instruction behind it
    const char **targets; // .branchtargets
    int target_count;
};

struct ptx_func {
    const char *name;
    bool is_entry, is_extern;
    struct ptx_var *params, *results, *locals; // lists in order; locals: .shared, .local and .param of its body
    uint8_t *reg_bits;                         // per virtual register: 1 (predicate), 8, 16, 32, 64, 128
    uint32_t reg_count, reg_cap;
    struct ptx_inst *insts;
    uint32_t inst_count, inst_cap;
    struct ptx_label *labels;
    uint32_t label_count, label_cap;
    uint32_t *scope_parent;
    uint32_t scope_count, scope_cap;
    int max_threads; // .maxntid product, 0 if not given
    int required[3]; // .reqntid
    bool cluster;
    int text_line;
    struct ptx_program *program; // decoded form, or NULL with `refused`
    struct kb_error refused;
    struct ptx_func *next;
};

struct ptx_loc {
    int file, line, column;
    int outer_file, outer_line; // inlined_at, 0 if none
};
struct ptx_file {
    int number;
    const char *name;
};

struct ptx_module {
    struct ptx_arena arena;
    int version, target; // 90, 90 (digits of sm_XX)
    struct ptx_var *vars;
    struct ptx_func *funcs;
    struct ptx_loc *locs; // locs[0]: unknown
    uint32_t loc_count, loc_cap;
    struct ptx_file *files;
    int file_count, file_cap;
    uint32_t op_ids, block_ids; // so many decoded operations and blocks, over all functions
};

// text need not end in NUL. On failure `on` is "PTX line N".
int ptx_parse(const char *text, size_t size, struct ptx_module **out, struct kb_error *e);
void ptx_module_free(struct ptx_module *);
struct ptx_func *ptx_find_func(const struct ptx_module *, const char *name);
bool ptx_op_is(const char *op, const char *name);                 // "ld.global.f32" is "ld", "ld.global"; not "l"
const char *ptx_file_name(const struct ptx_module *, int number); // "" if unknown

// Where a person should look: the innermost line that is not inside a header of the toolkit. line 0: unknown.
struct ptx_place {
    const char *file;
    int line;
    const char *caller_file; // where that lies in a function that was inlined: the kernel's own line that called it
    int caller_line;         // 0: the place is the kernel's own
};
struct ptx_place ptx_place_of(const struct ptx_module *, uint32_t loc);
bool ptx_in_toolkit(const struct ptx_module *, uint32_t loc); // the innermost line lies in a header of the toolkit
// "softmax.cu:12", "helper.cuh:12, called at softmax.cu:40", "an unknown line"; in a static thread-local buffer.
const char *ptx_place_text(struct ptx_place);

#endif
