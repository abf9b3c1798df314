// Function bodies: scopes, registers, labels, instructions and their operands.
#include "base/memory.h"
#include "jit/ptx/parse.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 64, MAX_REGISTERS = 1 << 20 };

void ptx_enter_scope(struct ptx_parser *p)
{
    struct ptx_func *f = p->func;
    struct ptx_scope *s = kb_alloc(sizeof *s);
    KB_GROW(f->scope_parent, f->scope_count, f->scope_cap);
    s->id = f->scope_count++;
    f->scope_parent[s->id] = p->scope ? p->scope->id : 0;
    s->parent = p->scope;
    p->scope = s;
}

void ptx_leave_scope(struct ptx_parser *p)
{
    struct ptx_scope *s = p->scope;
    if (!s)
        return;
    p->scope = s->parent;
    while (s->names) {
        struct ptx_name *next = s->names->next;
        free(s->names);
        s->names = next;
    }
    free(s);
}

static struct ptx_name *add_name(struct ptx_parser *p, const char *name)
{
    struct ptx_name *n = kb_alloc(sizeof *n);
    n->name = name;
    n->size = strlen(name);
    n->next = p->scope->names;
    p->scope->names = n;
    return n;
}

void ptx_name_var(struct ptx_parser *p, struct ptx_var *v)
{
    add_name(p, v->name)->var = v;
}

static int add_registers(struct ptx_parser *p, uint64_t count, int bits)
{
    struct ptx_func *f = p->func;
    if (count > MAX_REGISTERS || f->reg_count + count > MAX_REGISTERS) {
        ptx_lex_fail(&p->x, "more than %d registers", MAX_REGISTERS);
        return 0;
    }
    int first = (int)f->reg_count;
    for (uint64_t i = 0; i < count; i++) {
        KB_GROW(f->reg_bits, f->reg_count, f->reg_cap);
        f->reg_bits[f->reg_count++] = (uint8_t)bits;
    }
    return first;
}

void ptx_name_reg_param(struct ptx_parser *p, struct ptx_var *v)
{
    v->reg = add_registers(p, 1, (int)v->bytes * 8);
    add_name(p, v->name)->reg = v->reg;
}

static void parse_registers(struct ptx_parser *p)
{
    if (ptx_is(&p->x, ".v2") || ptx_is(&p->x, ".v4"))
        ptx_lex_fail(&p->x, "vector registers are not supported by the CPU device");
    int bytes = ptx_type_bytes(p);
    int bits = bytes ? bytes * 8 : 1;
    do {
        struct ptx_name *n = add_name(p, ptx_parse_name(p));
        uint64_t count = 1;
        if (ptx_take(&p->x, "<")) {
            count = p->x.token.bits;
            if (p->x.token.kind != PTX_INTEGER || !count)
                ptx_lex_fail(&p->x, "a number of registers expected");
            ptx_next(&p->x);
            ptx_expect(&p->x, ">");
            n->family = count > MAX_REGISTERS ? MAX_REGISTERS : (int)count;
        }
        n->reg = add_registers(p, p->x.failed ? 1 : count, bits);
    } while (!p->x.failed && ptx_take(&p->x, ","));
    ptx_expect(&p->x, ";");
}

// Finds the number behind a family's prefix: "%r12" in "%r<20>".
static int family_index(const struct ptx_name *n, const char *word, size_t size)
{
    if (size <= n->size || size - n->size > 7 || memcmp(word, n->name, n->size))
        return -1;
    if (word[n->size] == '0' && size - n->size > 1)
        return -1;
    int index = 0;
    for (size_t i = n->size; i < size; i++) {
        if (word[i] < '0' || word[i] > '9')
            return -1;
        index = index * 10 + word[i] - '0';
    }
    return index < n->family ? index : -1;
}

static const struct ptx_name *find_name(const struct ptx_parser *p, const char *word, size_t size, int *reg)
{
    for (const struct ptx_scope *s = p->scope; s; s = s->parent)
        for (const struct ptx_name *n = s->names; n; n = n->next) {
            int index = n->family ? family_index(n, word, size) : -1;
            if (index < 0 && (n->family || n->size != size || memcmp(n->name, word, size)))
                continue;
            *reg = n->reg + (index > 0 ? index : 0);
            return n;
        }
    return NULL;
}

static bool is_special(const char *word)
{
    static const char *const names[] = {"%tid",
                                        "%ntid",
                                        "%ctaid",
                                        "%nctaid",
                                        "%laneid",
                                        "%warpid",
                                        "%nwarpid",
                                        "%smid",
                                        "%nsmid",
                                        "%gridid",
                                        "%lanemask_",
                                        "%clock",
                                        "%pm",
                                        "%envreg",
                                        "%globaltimer",
                                        "%reserved_smem",
                                        "%total_smem_size",
                                        "%dynamic_smem_size",
                                        "%aggr_smem_size",
                                        "%current_graph_exec",
                                        "%cluster",
                                        "%is_explicit",
                                        "%nclusterid"};
    for (size_t i = 0; i < KB_COUNT(names); i++)
        if (!strncmp(word, names[i], strlen(names[i])))
            return true;
    return false;
}

static void word_operand(struct ptx_parser *p, struct ptx_operand *o)
{
    const struct ptx_token *t = &p->x.token;
    int reg = 0;
    const struct ptx_name *n = find_name(p, t->start, t->size, &reg);
    if (n && !n->var) {
        *o = (struct ptx_operand){.kind = PTX_REG, .reg = reg};
        ptx_next(&p->x);
        return;
    }
    o->name = ptx_parse_name(p);
    o->kind = PTX_SYMBOL;
    if (n)
        o->var = n->var;
    for (struct ptx_var *v = p->module->vars; v && !o->var; v = v->next)
        if (!strcmp(v->name, o->name))
            o->var = v;
    if (!o->var)
        o->func = ptx_find_func(p->module, o->name);
    if (o->var || o->func)
        return;
    if (!strcmp(o->name, "_")) {
        o->kind = PTX_SINK;
    } else if (!strcmp(o->name, "WARP_SZ")) {
        *o = (struct ptx_operand){.kind = PTX_INT, .bits = 32};
    } else if (o->name[0] == '%') {
        o->kind = PTX_SPECIAL;
        if (!is_special(o->name))
            ptx_lex_fail(&p->x, "the register '%s' is not declared", o->name);
    } else {
        o->kind = PTX_LABEL;
    }
}

static void number_operand(struct ptx_parser *p, struct ptx_operand *o, bool minus)
{
    const struct ptx_token *t = &p->x.token;
    o->bits = t->bits;
    if (t->kind == PTX_INTEGER) {
        o->kind = PTX_INT;
        o->bits = minus ? -o->bits : o->bits;
    } else if (t->kind == PTX_SINGLE) {
        o->kind = PTX_F32;
        o->bits ^= minus ? 0x80000000u : 0;
    } else if (t->kind == PTX_DOUBLE) {
        o->kind = PTX_F64;
        o->bits ^= minus ? 1ull << 63 : 0;
    } else {
        ptx_lex_fail(&p->x, "a number expected, found '%.*s'", (int)(t->size > 40 ? 40 : t->size), t->start);
    }
    ptx_next(&p->x);
}

static void parse_operand(struct ptx_parser *p, struct ptx_operand *o, int depth);

// Operands up to the closing character, which is stepped over.
static void operand_items(struct ptx_parser *p, struct ptx_operand *o, const char *close, int depth)
{
    struct ptx_operand items[MAX_OPERANDS];
    int n = 0;
    while (!p->x.failed && !ptx_is(&p->x, close)) {
        if (n == MAX_OPERANDS) {
            ptx_lex_fail(&p->x, "more than %d operands", MAX_OPERANDS);
            break;
        }
        parse_operand(p, &items[n++], depth + 1);
        if (!ptx_take(&p->x, ","))
            break;
    }
    ptx_expect(&p->x, close);
    o->item_count = n;
    o->items = ptx_arena_alloc(&p->module->arena, (size_t)n * sizeof items[0] + 1);
    memcpy(o->items, items, (size_t)n * sizeof items[0]);
}

// "+ 4", "- 4", "+ -4" behind a symbol or register.
static void parse_offset(struct ptx_parser *p, uint64_t *bits)
{
    while (!p->x.failed && (ptx_is(&p->x, "+") || ptx_is(&p->x, "-"))) {
        bool minus = ptx_is(&p->x, "-");
        ptx_next(&p->x);
        if (ptx_take(&p->x, "-"))
            minus = !minus;
        if (p->x.token.kind != PTX_INTEGER) {
            ptx_lex_fail(&p->x, "a whole number expected behind '%s'", minus ? "-" : "+");
            return;
        }
        *bits += minus ? -p->x.token.bits : p->x.token.bits;
        ptx_next(&p->x);
    }
}

static void address_operand(struct ptx_parser *p, struct ptx_operand *o, int depth)
{
    operand_items(p, o, "]", depth);
    o->kind = PTX_ADDRESS;
    if (!o->item_count) {
        ptx_lex_fail(&p->x, "an empty address");
        return;
    }
    // The offset was read with the base; it belongs to the address.
    struct ptx_operand *base = &o->items[0];
    o->bits = base->kind == PTX_F32 || base->kind == PTX_F64 ? 0 : base->bits;
    if (base->kind != PTX_INT)
        base->bits = 0;
}

static void parse_operand(struct ptx_parser *p, struct ptx_operand *o, int depth)
{
    *o = (struct ptx_operand){0};
    if (depth > 6) {
        ptx_lex_fail(&p->x, "operands are nested too deeply");
        return;
    }
    if (ptx_take(&p->x, "{")) {
        operand_items(p, o, "}", depth);
        o->kind = PTX_VECTOR;
    } else if (ptx_take(&p->x, "(")) {
        operand_items(p, o, ")", depth);
        o->kind = PTX_LIST;
    } else if (ptx_take(&p->x, "[")) {
        address_operand(p, o, depth);
    } else if (ptx_take(&p->x, "!")) {
        parse_operand(p, o, depth + 1);
        o->negated = !o->negated;
        return;
    } else if (ptx_take(&p->x, "-")) {
        number_operand(p, o, true);
    } else if (ptx_take(&p->x, "~")) {
        number_operand(p, o, false);
        o->bits = ~o->bits;
    } else if (p->x.token.kind == PTX_WORD) {
        word_operand(p, o);
    } else {
        number_operand(p, o, false);
    }
    if (o->kind == PTX_REG || o->kind == PTX_SYMBOL || o->kind == PTX_INT)
        parse_offset(p, &o->bits);
    if (ptx_take(&p->x, "|")) {
        struct ptx_operand *pair = ptx_arena_alloc(&p->module->arena, 2 * sizeof *pair);
        pair[0] = *o;
        parse_operand(p, &pair[1], depth + 1);
        *o = (struct ptx_operand){.kind = PTX_PAIR, .items = pair, .item_count = 2};
    }
}

static void parse_guard(struct ptx_parser *p, struct ptx_inst *in)
{
    in->guard = -1;
    if (!ptx_take(&p->x, "@"))
        return;
    struct ptx_operand o;
    parse_operand(p, &o, 0);
    if (!p->x.failed && (o.kind != PTX_REG || p->func->reg_bits[o.reg] != 1))
        ptx_lex_fail(&p->x, "the guard is no predicate register");
    in->guard = o.reg;
    in->guard_not = o.negated;
}

static void parse_instruction(struct ptx_parser *p)
{
    struct ptx_func *f = p->func;
    struct ptx_inst in = {.loc = p->loc, .scope = p->scope->id, .text_line = p->x.line};
    parse_guard(p, &in);
    in.op = ptx_parse_name(p);
    struct ptx_operand operands[MAX_OPERANDS];
    int n = 0;
    while (!p->x.failed && !ptx_is(&p->x, ";")) {
        if (n == MAX_OPERANDS) {
            ptx_lex_fail(&p->x, "more than %d operands", MAX_OPERANDS);
            return;
        }
        parse_operand(p, &operands[n++], 0);
        if (!ptx_take(&p->x, ","))
            break;
    }
    ptx_expect(&p->x, ";");
    in.operand_count = n;
    in.operands = ptx_arena_alloc(&p->module->arena, (size_t)n * sizeof operands[0] + 1);
    memcpy(in.operands, operands, (size_t)n * sizeof operands[0]);
    KB_GROW(f->insts, f->inst_count, f->inst_cap);
    f->insts[f->inst_count++] = in;
}

static struct ptx_label *add_label(struct ptx_parser *p, const char *name)
{
    struct ptx_func *f = p->func;
    for (uint32_t i = 0; i < f->label_count; i++)
        if (f->labels[i].scope == p->scope->id && !strcmp(f->labels[i].name, name))
            ptx_lex_fail(&p->x, "the label '%s' is defined twice", name);
    KB_GROW(f->labels, f->label_count, f->label_cap);
    struct ptx_label *l = &f->labels[f->label_count++];
    *l = (struct ptx_label){.name = name, .scope = p->scope->id, .inst = f->inst_count};
    return l;
}

static void parse_targets(struct ptx_parser *p, struct ptx_label *l)
{
    const char *targets[4096];
    int n = 0;
    do {
        if (n == (int)KB_COUNT(targets)) {
            ptx_lex_fail(&p->x, "more than %d branch targets", n);
            return;
        }
        targets[n++] = ptx_parse_name(p);
    } while (!p->x.failed && ptx_take(&p->x, ","));
    ptx_expect(&p->x, ";");
    l->targets = ptx_arena_alloc(&p->module->arena, (size_t)n * sizeof targets[0]);
    memcpy(l->targets, targets, (size_t)n * sizeof targets[0]);
    l->target_count = n;
}

// "proto: .callprototype (.param .b32 _) _ (.param .b64 _);" tells no more than the call site does.
static void skip_statement(struct ptx_parser *p)
{
    while (!p->x.failed && p->x.token.kind != PTX_END && !ptx_is(&p->x, ";"))
        ptx_next(&p->x);
    ptx_expect(&p->x, ";");
}

static void label_or_instruction(struct ptx_parser *p)
{
    struct ptx_lexer saved = p->x;
    if (p->x.token.kind == PTX_WORD) {
        char *name = ptx_parse_name(p);
        if (ptx_take(&p->x, ":")) {
            struct ptx_label *l = add_label(p, name);
            if (ptx_take(&p->x, ".branchtargets"))
                parse_targets(p, l);
            else if (ptx_is(&p->x, ".callprototype") || ptx_is(&p->x, ".calltargets"))
                skip_statement(p);
            return;
        }
        if (p->x.failed)
            return;
        p->x = saved;
    }
    parse_instruction(p);
}

static void parse_statement(struct ptx_parser *p)
{
    enum ptx_space space;
    if (ptx_take(&p->x, ".reg")) {
        parse_registers(p);
    } else if (ptx_at_space(p, &space)) {
        ptx_next(&p->x);
        struct ptx_var *v = ptx_parse_vars(p, space, false);
        for (*p->local_tail = v; v; v = v->next) {
            ptx_name_var(p, v);
            p->local_tail = &v->next;
        }
        ptx_expect(&p->x, ";");
    } else if (!ptx_take(&p->x, ";") && !ptx_directive(p)) {
        label_or_instruction(p);
    }
}

void ptx_parse_body(struct ptx_parser *p)
{
    ptx_expect(&p->x, "{");
    int depth = 1;
    while (!p->x.failed && depth) {
        if (p->x.token.kind == PTX_END) {
            ptx_lex_fail(&p->x, "the text ends inside the body of '%s'", p->func->name);
        } else if (ptx_take(&p->x, "{")) {
            if (++depth > 64)
                ptx_lex_fail(&p->x, "blocks are nested too deeply");
            ptx_enter_scope(p);
        } else if (ptx_is(&p->x, "}")) {
            if (--depth)
                ptx_leave_scope(p);
            ptx_next(&p->x);
        } else {
            parse_statement(p);
        }
    }
}
