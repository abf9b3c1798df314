// Reconvergence: lanes that stand at the same block of the same call run together; of several groups the one deepest in
// calls and then with the lowest block goes first, since the blocks are in the order of the text and groups meet behind
// a branch that way. So that a group spinning on a lock cannot starve the one that holds it, groups take turns for
// FAIR_TURNS out of every FAIR_PERIOD steps.
#include "jit/ptx/warp.h"

#include "base/memory.h"
#include "jit/ptx/async.h"
#include "jit/ptx/clock.h"

#include <stdlib.h>
#include <string.h>

enum { FAIR_PERIOD = 512, FAIR_TURNS = 64, STRONG_WEIGHT = 500 };

struct ptx_frame *ptx_new_frame(struct ptx_thread *t, const struct ptx_program *p)
{
    for (struct ptx_frame **at = &t->free_frames; *at; at = &(*at)->next_free)
        if ((*at)->program == p) {
            struct ptx_frame *f = *at;
            *at = f->next_free;
            f->next_free = NULL;
            if (t->launch->check == PTX_CHECK_FULL)
                memset(f->R + 64 + p->const_bytes, 0, p->frame_bytes - 64 - p->const_bytes);
            return f;
        }
    struct ptx_frame *f = kb_alloc(sizeof *f);
    f->program = p;
    size_t bytes = (p->frame_bytes + 63) & ~(size_t)63;
    f->R = aligned_alloc(64, bytes);
    if (!f->R)
        abort();
    memset(f->R, 0, bytes);
    for (uint32_t i = 0; i < p->const_count; i++) {
        const struct ptx_const *c = &p->consts[i];
        for (int lane = 0; lane < PTX_LANES; lane++)
            if (c->wide)
                ((uint64_t *)(f->R + c->reg))[lane] = c->bits;
            else
                ((uint32_t *)(f->R + c->reg))[lane] = (uint32_t)c->bits;
    }
    return f;
}

void ptx_drop_frame(struct ptx_thread *t, struct ptx_frame *f)
{
    while (f && --f->users == 0) {
        struct ptx_frame *parent = f->parent;
        f->parent = NULL;
        f->next_free = t->free_frames;
        t->free_frames = f;
        f = parent;
    }
}

void ptx_start_warp(struct ptx_warp *w, const struct ptx_program *p)
{
    struct ptx_frame *f = ptx_new_frame(w->thread, p);
    f->users = 1;
    f->depth = 0;
    f->local_base = 0;
    f->parent = NULL;
    f->call = NULL;
    w->live = w->lanes;
    w->split_count = 1;
    w->current = 0;
    w->turns = 0;
    w->steps = 0;
    w->yield = false;
    w->watch = (struct ptx_watch){.wrote = true};
    w->split[0] = (struct ptx_split){.frame = f, .mask = w->lanes};
    ptx_clock_start(w);
}

static void remove_split(struct ptx_warp *w, uint32_t i)
{
    ptx_drop_frame(w->thread, w->split[i].frame);
    w->split[i] = w->split[--w->split_count];
}

static void merge_splits(struct ptx_warp *w)
{
    for (uint32_t i = 0; i < w->split_count; i++)
        for (uint32_t j = i + 1; j < w->split_count; j++) {
            struct ptx_split *a = &w->split[i], *b = &w->split[j];
            if (a->block != b->block || a->frame != b->frame || a->wait == PTX_WAITS_BARRIER ||
                b->wait == PTX_WAITS_BARRIER)
                continue;
            a->mask |= b->mask;
            a->wait = PTX_RUNS;
            remove_split(w, j--);
        }
}

// False if every group waits.
static bool choose_split(struct ptx_warp *w)
{
    struct ptx_split *best = NULL;
    uint32_t turn = ++w->turns;
    bool fair = turn % FAIR_PERIOD >= FAIR_PERIOD - FAIR_TURNS;
    for (uint32_t i = 0; i < w->split_count; i++) {
        struct ptx_split *s = &w->split[i];
        if (s->wait != PTX_RUNS)
            continue;
        bool better = !best;
        if (best && fair)
            better = s->seen < best->seen;
        else if (best)
            better =
                s->frame->depth != best->frame->depth ? s->frame->depth > best->frame->depth : s->block < best->block;
        best = better ? s : best;
    }
    if (!best)
        return false;
    best->seen = turn;
    w->current = (uint32_t)(best - w->split);
    return true;
}

static void run_ops(struct ptx_warp *w, const struct ptx_block *b, uint32_t mask)
{
    const struct ptx_op *o = w->program->ops + b->first, *end = o + b->count;
    for (; o < end; o++) {
        uint32_t m = mask;
        if (o->guard) {
            m &= *ptx_u32(w, o->guard) ^ o->guard_flip;
            if (m != mask) {
                struct ptx_op_count *c = &w->thread->ops[o->id];
                c->lanes_off += (uint32_t)__builtin_popcount(mask & ~m);
                if (!m) {
                    c->warps_off++;
                    continue;
                }
            }
        }
        o->run(w, o, m);
    }
}

// Lanes with the same member mask run together.
static void run_by_member(struct ptx_warp *w, const struct ptx_split *s, const struct ptx_block *b)
{
    uint32_t seen = 0;
    for (uint32_t rest = s->mask, group; rest; rest &= ~group) {
        group = ptx_next_members(w, s, rest, &seen);
        run_ops(w, b, group);
    }
}

// The taken lanes go to `target`, the others to the next block.
static void branch(struct ptx_warp *w, const struct ptx_block *b)
{
    struct ptx_split *s = &w->split[w->current];
    uint32_t taken = b->pred ? (*ptx_u32(w, b->pred) ^ b->pred_flip) & s->mask : s->mask;
    if (taken == s->mask) {
        s->block = b->target;
    } else if (!taken) {
        s->block = b->index + 1;
    } else {
        w->thread->blocks[b->id].divergent++;
        struct ptx_split *other = &w->split[w->split_count++];
        *other = *s;
        other->mask = taken;
        other->block = b->target;
        other->frame->users++;
        s->mask &= ~taken;
        s->block = b->index + 1;
    }
}

static void indexed_branch(struct ptx_warp *w, const struct ptx_block *b)
{
    const uint32_t *index = ptx_u32(w, b->pred);
    uint32_t rest = w->split[w->current].mask;
    bool first = true;
    while (rest) {
        uint32_t value = index[__builtin_ctz(rest)], group = 0;
        for (uint32_t m = rest; m; m &= m - 1)
            group |= index[__builtin_ctz(m)] == value ? m & -m : 0;
        if (value >= b->target_count) {
            ptx_fault(w, &w->program->ops[b->first], __builtin_ctz(rest), "CUDA_ERROR_LAUNCH_FAILED",
                      "an indexed branch with index %u of %u targets", value, b->target_count);
            return;
        }
        struct ptx_split *s = &w->split[w->current];
        if (!first) {
            w->thread->blocks[b->id].divergent++;
            s->frame->users++;
            w->split[w->split_count] = *s;
            s = &w->split[w->split_count++];
        }
        s->mask = group;
        s->block = b->targets[value];
        rest &= ~group;
        first = false;
    }
}

static char *lane_local(struct ptx_warp *w, int lane, uint32_t offset)
{
    return w->local + (size_t)lane * w->local_bytes + offset;
}

static void copy_params(struct ptx_warp *w, uint32_t mask, const struct ptx_var *to, uint32_t to_base,
                        const struct ptx_var *from, uint32_t from_base)
{
    size_t bytes = to->bytes < from->bytes ? to->bytes : from->bytes;
    for (; mask; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        memcpy(lane_local(w, lane, to_base + (uint32_t)to->place),
               lane_local(w, lane, from_base + (uint32_t)from->place), bytes);
        ptx_shadow_local(w, (uint32_t)lane, to_base + to->place, bytes);
    }
}

static void enter_call(struct ptx_warp *w, struct ptx_split *s, const struct ptx_block *b, struct ptx_func *callee)
{
    const struct ptx_program *p = callee->program;
    uint32_t base = s->frame->local_base + PTX_FRAME_BYTES(s->frame->program->local_bytes);
    if ((uint64_t)base + p->local_bytes > w->local_bytes) {
        ptx_fault(w, &w->program->ops[b->first], __builtin_ctz(s->mask), "CUDA_ERROR_LAUNCH_FAILED",
                  "stack overflow: %u calls deep, %u bytes a thread", s->frame->depth, w->local_bytes);
        return;
    }
    struct ptx_frame *f = ptx_new_frame(w->thread, p);
    f->parent = s->frame;
    f->users = 1;
    f->depth = s->frame->depth + 1;
    f->local_base = base;
    f->return_block = b->index + 1;
    f->call = b->call;
    const struct ptx_var *to = callee->params;
    for (int i = 0; i < b->call->arg_count && to; i++, to = to->next)
        copy_params(w, s->mask, to, base, b->call->args[i], s->frame->local_base);
    s->frame = f;
    s->block = 0;
}

static void indirect_call(struct ptx_warp *w, const struct ptx_block *b)
{
    const uint64_t *target = ptx_u64(w, b->callee);
    struct ptx_split *s = &w->split[w->current];
    uint32_t all = s->mask;
    uint64_t value = target[__builtin_ctz(all)];
    uint32_t group = 0;
    for (uint32_t m = all; m; m &= m - 1)
        group |= target[__builtin_ctz(m)] == value ? m & -m : 0;
    struct ptx_func *callee = NULL;
    for (struct ptx_func *f = w->thread->launch->module->funcs; f; f = f->next)
        if ((uint64_t)f == value && f->program && !f->is_entry)
            callee = f;
    if (!callee) {
        ptx_fault(w, &w->program->ops[b->first], __builtin_ctz(all), "CUDA_ERROR_LAUNCH_FAILED",
                  "a call through 0x%llx, which is no function", (unsigned long long)value);
        return;
    }
    if (group != all) { // the others come back to this block
        struct ptx_split *other = &w->split[w->split_count++];
        *other = *s;
        other->mask = all & ~group;
        other->frame->users++;
        s->mask = group;
    }
    enter_call(w, s, b, callee);
}

static void end_lanes(struct ptx_warp *w)
{
    uint32_t mask = w->split[w->current].mask;
    remove_split(w, w->current);
    if (!w->split_count)
        ptx_clock_end(w);
    ptx_lanes_left(w->cta, w, mask);
    ptx_lanes_look_again(w); // nobody waits for lanes that have ended
}

static void return_call(struct ptx_warp *w)
{
    struct ptx_split *s = &w->split[w->current];
    struct ptx_frame *f = s->frame, *parent = f->parent;
    if (!parent) {
        end_lanes(w);
        return;
    }
    const struct ptx_var *from = f->program->func->results;
    for (int i = 0; i < f->call->result_count && from; i++, from = from->next)
        copy_params(w, s->mask, f->call->results[i], parent->local_base, from, f->local_base);
    s->block = f->return_block;
    s->frame = parent;
    parent->users++;
    ptx_drop_frame(w->thread, f);
}

static void end_block(struct ptx_warp *w, const struct ptx_block *b)
{
    struct ptx_split *s = &w->split[w->current];
    switch ((enum ptx_term)b->term) {
    case PTX_TERM_NEXT:
        s->block = b->index + 1;
        break;
    case PTX_TERM_BRANCH:
        branch(w, b);
        break;
    case PTX_TERM_INDEXED:
        indexed_branch(w, b);
        break;
    case PTX_TERM_BARRIER:
    case PTX_TERM_ARRIVE:
        w->watch.wrote = true;
        ptx_barrier_arrive(w, s, b);
        break;
    case PTX_TERM_CALL:
        enter_call(w, s, b, b->call->func);
        break;
    case PTX_TERM_CALL_INDIRECT:
        indirect_call(w, b);
        break;
    case PTX_TERM_RETURN:
        return_call(w);
        break;
    case PTX_TERM_EXIT:
        end_lanes(w);
        break;
    case PTX_TERM_YIELD:
        s->block = b->index + 1;
        w->yield = true;
        break;
    }
}

enum ptx_warp_state ptx_run_warp(struct ptx_warp *w, int64_t quantum)
{
    struct ptx_thread *t = w->thread;
    w->yield = false;
    while (quantum > 0 && !w->yield) {
        if (w->split_count != 1) {
            if (!w->split_count)
                return PTX_WARP_DONE;
            merge_splits(w);
        }
        if (w->split_count != 1 || w->split[0].wait != PTX_RUNS || w->current) {
            if (!choose_split(w))
                return PTX_WARP_BLOCKED;
        }
        struct ptx_split *s = &w->split[w->current];
        w->program = s->frame->program;
        w->R = s->frame->R;
        const struct ptx_block *b = &w->program->blocks[s->block];
        if (b->sync && !ptx_meet(w, s)) {
            if (t->stop)
                return PTX_WARP_DONE;
            continue;
        }
        struct ptx_block_count *c = &t->blocks[b->id];
        c->warps++;
        c->lanes += (uint32_t)__builtin_popcount(s->mask);
        if (b->strong)
            ptx_clock_meet(w);
        if (b->writes && !w->watch.wrote) // before anybody can see it: nobody is stuck at what memory was
            atomic_fetch_add(&t->launch->version, 1);
        w->watch.wrote |= b->writes;
        if (b->sync)
            ptx_shadow_warp_sync(w);
        if (b->sync)
            run_by_member(w, s, b);
        else
            run_ops(w, b, s->mask);
        end_block(w, b);
        w->steps += b->count + 1;
        w->cycles += b->cycles;
        if (b->strong)
            ptx_clock_meet(w);
        quantum -= b->count + 1 + (b->strong ? STRONG_WEIGHT : 0); // a strong access may be a spin loop's
        w->watch.waited |= b->strong;
        if (w->steps > t->launch->budget)
            ptx_report_endless(w, "");
        if (t->stop)
            return PTX_WARP_DONE;
    }
    return w->split_count ? PTX_WARP_READY : PTX_WARP_DONE;
}
