// Branches, calls, barriers and the end of threads.
#include "base/memory.h"
#include "jit/ptx/decode.h"

#include <stdio.h>
#include <string.h>

static const struct ptx_label *find_label(struct ptx_decoder *d, const char *name)
{
    const struct ptx_func *f = d->func;
    for (uint32_t scope = d->in->scope;; scope = f->scope_parent[scope]) {
        for (uint32_t i = 0; i < f->label_count; i++)
            if (f->labels[i].scope == scope && !strcmp(f->labels[i].name, name))
                return &f->labels[i];
        if (!scope)
            break;
    }
    ptx_refuse(d, "there is no label '%s'", name);
    return NULL;
}

static void decode_bra(struct ptx_decoder *d)
{
    ptx_mod(d, "uni");
    const struct ptx_operand *o = ptx_arg(d, 0);
    const struct ptx_label *l = o->kind == PTX_LABEL ? find_label(d, o->name) : NULL;
    if (!l) {
        ptx_refuse(d, "its target is no label");
        return;
    }
    struct ptx_block *b = ptx_end_block(d, PTX_TERM_BRANCH);
    b->pred = d->in->guard >= 0 ? (uint32_t)d->in->guard + 1 : 0;
    b->pred_flip = d->in->guard_not ? ~0u : 0;
    b->target = l->inst;
}

static void decode_brx(struct ptx_decoder *d)
{
    ptx_mod(d, "idx");
    ptx_mod(d, "uni");
    ptx_guard_control(d);
    const struct ptx_operand *o = ptx_arg(d, 1);
    const struct ptx_label *l = o->kind == PTX_LABEL ? find_label(d, o->name) : NULL;
    if (!l || !l->target_count) {
        ptx_refuse(d, "its targets are not known");
        return;
    }
    uint32_t index = ptx_source(d, ptx_arg(d, 0), 32);
    uint32_t *targets = ptx_arena_alloc(&d->module->arena, (size_t)l->target_count * sizeof *targets);
    for (int i = 0; i < l->target_count; i++) {
        const struct ptx_label *t = find_label(d, l->targets[i]);
        if (!t)
            return;
        targets[i] = t->inst;
    }
    struct ptx_block *b = ptx_end_block(d, PTX_TERM_INDEXED);
    b->pred = index + 1;
    b->targets = targets;
    b->target_count = (uint32_t)l->target_count;
}

static void decode_ret(struct ptx_decoder *d)
{
    ptx_mod(d, "uni");
    bool exits = !strcmp(d->root, "exit");
    ptx_guard_control(d);
    if (!exits)
        ptx_give_results(d);
    ptx_end_block(d, exits ? PTX_TERM_EXIT : PTX_TERM_RETURN);
}

struct ptx_var *ptx_new_param(struct ptx_decoder *d, uint64_t bytes)
{
    struct ptx_var *v = ptx_arena_alloc(&d->module->arena, sizeof *v);
    *v = (struct ptx_var){
        .name = "a value of a call", .space = PTX_SPACE_PARAM, .align = 8, .element_bytes = (uint32_t)bytes};
    v->bytes = bytes;
    v->place = (d->local_bytes + 7) & ~7u;
    d->local_bytes = (uint32_t)v->place + 8;
    return v;
}

void ptx_give_results(struct ptx_decoder *d)
{
    for (struct ptx_var *v = d->func->results; v; v = v->next)
        if (v->in_register)
            ptx_move_param(d, v, (uint32_t)v->reg, true);
}

void ptx_take_params(struct ptx_decoder *d)
{
    for (struct ptx_var *v = d->func->params; v; v = v->next)
        if (v->in_register)
            ptx_move_param(d, v, (uint32_t)v->reg, false);
}

// The variables that a call copies. Registers and literals among them get one of their own, of the formal parameter's
// size; formal: the first, NULL where the callee is not known.
static int call_vars(struct ptx_decoder *d, const struct ptx_operand *list, const struct ptx_var *formal, bool result,
                     struct ptx_var ***out)
{
    *out = ptx_arena_alloc(&d->module->arena, (size_t)list->item_count * sizeof **out + 1);
    for (int i = 0; i < list->item_count; i++, formal = formal ? formal->next : NULL) {
        const struct ptx_operand *o = &list->items[i];
        bool literal = !result && (o->kind == PTX_INT || o->kind == PTX_F32 || o->kind == PTX_F64);
        int bits = o->kind == PTX_REG ? d->func->reg_bits[o->reg] : 0;
        if (o->kind == PTX_SYMBOL && o->var) {
            (*out)[i] = o->var;
        } else if (bits > 1 && bits <= 64 && !(formal && formal->bytes * 8 != (uint64_t)bits)) {
            (*out)[i] = ptx_new_param(d, (uint64_t)bits / 8);
            if (!result)
                ptx_move_param(d, (*out)[i], (uint32_t)o->reg, true);
        } else if (literal && formal && formal->bytes <= 8) {
            struct ptx_type t = {o->kind == PTX_INT ? 'b' : 'f', (int)formal->bytes * 8, false};
            (*out)[i] = ptx_new_param(d, formal->bytes);
            ptx_move_param(d, (*out)[i], ptx_source_type(d, o, t), true);
        } else {
            ptx_refuse(d, "an argument of the call is no .param variable, and no register or literal of the type that "
                          "the function declares");
            return 0;
        }
    }
    return list->item_count;
}

static void take_results(struct ptx_decoder *d, const struct ptx_call *call)
{
    const struct ptx_operand *list = ptx_arg(d, 0);
    for (int i = 0; i < call->result_count; i++)
        if (list->items[i].kind == PTX_REG)
            ptx_move_param(d, call->results[i], (uint32_t)list->items[i].reg, false);
}

static const char *builtin_key(const char *name)
{
    static const char *const names[] = {"vprintf", "__assertfail", "malloc", "free"};
    for (size_t i = 0; i < KB_COUNT(names); i++)
        if (!strcmp(names[i], name))
            return names[i];
    return NULL;
}

static void decode_call(struct ptx_decoder *d)
{
    ptx_mod(d, "uni");
    ptx_guard_control(d);
    struct ptx_call *call = ptx_arena_alloc(&d->module->arena, sizeof *call);
    int at = ptx_arg(d, 0)->kind == PTX_LIST;
    const struct ptx_operand *callee = ptx_arg(d, at);
    const struct ptx_func *known = callee->kind == PTX_SYMBOL ? callee->func : NULL;
    if (at)
        call->result_count = call_vars(d, ptx_arg(d, 0), known ? known->results : NULL, true, &call->results);
    if (++at < d->in->operand_count && ptx_arg(d, at)->kind == PTX_LIST)
        call->arg_count = call_vars(d, ptx_arg(d, at), known ? known->params : NULL, false, &call->args);
    if (callee->kind == PTX_REG) {
        uint32_t target = ptx_source(d, callee, 64);
        d->calls_indirect = true;
        struct ptx_block *b = ptx_end_block(d, PTX_TERM_CALL_INDIRECT);
        b->call = call;
        b->callee = target + 1;
        take_results(d, call);
        return;
    }
    if (callee->kind != PTX_SYMBOL || !callee->func) {
        ptx_refuse(d, "'%s' is no function", callee->name ? callee->name : "its target");
        return;
    }
    if (callee->func->is_extern) {
        const char *name = builtin_key(callee->func->name);
        if (!name) {
            ptx_refuse(d, "it calls %s, which the module does not hold", callee->func->name);
            return;
        }
        char key[32];
        snprintf(key, sizeof key, "call_%s", name);
        ptx_emit(d, key, 0)->imm = (int64_t)(uintptr_t)call;
        take_results(d, call);
        return;
    }
    call->func = callee->func;
    ptx_end_block(d, PTX_TERM_CALL)->call = call;
    take_results(d, call);
}

static void warp_barrier(struct ptx_decoder *d)
{
    ptx_mod(d, "sync");
    ptx_guard_control(d);
    uint32_t member = ptx_source(d, ptx_arg(d, 0), 32);
    ptx_begin_sync(d, member);
    ptx_emit(d, "warp_barrier", 0);
}

static void decode_bar(struct ptx_decoder *d)
{
    if (ptx_mod(d, "warp")) {
        warp_barrier(d);
        return;
    }
    ptx_mod(d, "cta");
    ptx_mod(d, "aligned");
    bool arrive = ptx_mod(d, "arrive"), red = ptx_mod(d, "red");
    if (!arrive && !red && !ptx_mod(d, "sync"))
        ptx_refuse(d, "its form is not known");
    static const char *const ops[] = {"and", "or", "popc"};
    int which = -1, n = d->in->operand_count, at = red ? 1 : 0;
    if (red) {
        ptx_mod_any(d, ops, 3, &which);
        ptx_take_type(d);
        if (which < 0)
            ptx_refuse(d, "its reduction is not known");
    }
    ptx_guard_control(d);
    uint32_t result = red ? ptx_result(d, ptx_arg(d, 0), which == 2 ? 32 : 1) : 0;
    uint32_t number = ptx_source(d, ptx_arg(d, at), 32);
    bool counted = n - at > (red ? 2 : 1);
    uint32_t count = counted ? ptx_source(d, ptx_arg(d, at + 1), 32) : 0;
    uint32_t pred = red ? ptx_predicate(d, ptx_arg(d, n - 1)) : 0;
    if (arrive && !counted)
        ptx_refuse(d, "the number of threads is missing");
    struct ptx_block *b = ptx_end_block(d, arrive ? PTX_TERM_ARRIVE : PTX_TERM_BARRIER);
    b->bar_number = number + 1;
    b->bar_count = counted ? count + 1 : 0;
    b->bar_reduce = red ? (uint8_t) "&|+"[which < 0 ? 0 : which] : 0;
    b->bar_pred = red ? pred + 1 : 0;
    b->bar_result = red ? result + 1 : 0;
}

static void decode_trap(struct ptx_decoder *d)
{
    ptx_emit(d, "trap", 0);
}

static void decode_nothing(struct ptx_decoder *d)
{
    for (int i = 0; i < d->mods; i++)
        d->used[i] = true;
    ptx_emit(d, "nop", 0);
}

// membar.cta, membar.gl, fence.acq_rel.gpu, fence.proxy.async ...
static void decode_fence(struct ptx_decoder *d)
{
    static const char *const words[] = {"cta", "cluster", "gl", "gpu", "sys"};
    bool proxy = ptx_mod(d, "proxy"), async = ptx_mod(d, "async"), init = ptx_mod(d, "mbarrier_init");
    int which = 0;
    bool scoped = ptx_mod_any(d, words, KB_COUNT(words), &which);
    for (int i = 0; i < d->mods; i++) {
        async |= !strncmp(d->mod[i], "async", 5);
        d->used[i] = true;
    }
    struct ptx_op *o = ptx_emit(d, "fence", 0);
    o->strong = true;
    o->by_proxy = proxy && async;
    if (!proxy && !init)
        o->order.scope = scoped && which < 2 ? PTX_SCOPE_BLOCK : PTX_SCOPE_DEVICE;
}

static void decode_nanosleep(struct ptx_decoder *d)
{
    ptx_mod(d, "u32");
    ptx_guard_control(d);
    ptx_emit(d, "nanosleep", 1, ptx_source(d, ptx_arg(d, 0), 32))->defs = 0;
    ptx_end_block(d, PTX_TERM_YIELD);
}

const struct ptx_decode_entry ptx_decode_control[] = {
    {"bra", decode_bra, PTX_CLASS_CONTROL},
    {"brx", decode_brx, PTX_CLASS_CONTROL},
    {"ret", decode_ret, PTX_CLASS_CONTROL},
    {"exit", decode_ret, PTX_CLASS_CONTROL},
    {"call", decode_call, PTX_CLASS_CONTROL},
    {"bar", decode_bar, PTX_CLASS_BARRIER},
    {"barrier", decode_bar, PTX_CLASS_BARRIER},
    {"membar", decode_fence, PTX_CLASS_BARRIER},
    {"fence", decode_fence, PTX_CLASS_BARRIER},
    {"trap", decode_trap, PTX_CLASS_CONTROL},
    {"brkpt", decode_nothing, PTX_CLASS_CONTROL},
    {"pmevent", decode_nothing, PTX_CLASS_CONTROL},
    {"setmaxnreg", decode_nothing, PTX_CLASS_CONTROL},
    {"griddepcontrol", decode_nothing, PTX_CLASS_CONTROL},
    {"nanosleep", decode_nanosleep, PTX_CLASS_CONTROL},
    {NULL, NULL, 0},
};
