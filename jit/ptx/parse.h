// Inside of the parser: shared by parse.c (module level) and parse_body.c (function bodies).
#ifndef KB_JIT_PTX_PARSE_H
#define KB_JIT_PTX_PARSE_H
#include "jit/ptx/lex.h"
#include "jit/ptx/module.h"

struct ptx_name { // a register, a family of registers ("%r<20>") or a variable of a scope
    const char *name;
    size_t size;
    int reg, family; // first register; family: how many, 0 for a single one
    struct ptx_var *var;
    struct ptx_name *next;
};
struct ptx_scope {
    uint32_t id;
    struct ptx_name *names;
    struct ptx_scope *parent;
};
struct ptx_parser {
    struct ptx_lexer x;
    struct ptx_module *module;
    struct ptx_func *func;
    struct ptx_scope *scope;
    struct ptx_var **local_tail;
    uint32_t loc;
};

char *ptx_parse_name(struct ptx_parser *p); // the current word, stepped over
bool ptx_at_space(const struct ptx_parser *p, enum ptx_space *space);
int ptx_type_bytes(struct ptx_parser *p); // ".f32" -> 4, stepped over
// The declaration behind ".global" etc., without the ';'; several names give several variables.
struct ptx_var *ptx_parse_vars(struct ptx_parser *p, enum ptx_space space, bool is_extern);
bool ptx_directive(struct ptx_parser *p); // .loc, .file, .pragma, .section; true if it was one
void ptx_parse_body(struct ptx_parser *p);
void ptx_enter_scope(struct ptx_parser *p);
void ptx_leave_scope(struct ptx_parser *p);
// A parameter or result of a function in .reg: its register in the function's scope.
void ptx_name_reg_param(struct ptx_parser *p, struct ptx_var *v);
void ptx_name_var(struct ptx_parser *p, struct ptx_var *v);

#endif
