// Where lanes meet in `.sync` operations. PTX: a lane waits until every lane of its member mask that has not ended has
// executed the same operation with the same qualifiers and the same mask. That need not be the same instruction, nor
// the same call of the function that holds it; only `.aligned` ones want the same instruction.
#include "base/memory.h"
#include "jit/ptx/async.h"
#include "jit/ptx/warp.h"

#include <stdio.h>
#include <string.h>

enum { MOST_OPERANDS = 48, SLOT_BYTES = 8 * PTX_LANES };

// Each lane brings its own member mask: the tiles of a warp pass different ones.
static const uint32_t *member_masks(const struct ptx_split *s)
{
    return (const uint32_t *)(s->frame->R + s->frame->program->blocks[s->block].member);
}

static const struct ptx_op *first_op(const struct ptx_split *s)
{
    const struct ptx_program *p = s->frame->program;
    return &p->ops[p->blocks[s->block].first];
}

static bool same_operation(const struct ptx_op *a, const struct ptx_op *b)
{
    return a == b || (a->run == b->run && a->sub == b->sub && !strstr(a->name, ".aligned"));
}

static bool is_member(struct ptx_warp *w, const struct ptx_split *s)
{
    const uint32_t *member = member_masks(s);
    for (uint32_t m = s->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        if (member[lane] & (m & -m))
            continue;
        ptx_fault(w, first_op(s), lane, "CUDA_ERROR_LAUNCH_FAILED",
                  "%s is run by lane %d, which its member mask 0x%08x does not hold: PTX leaves the result undefined",
                  first_op(s)->name, lane, member[lane]);
        return false;
    }
    return true;
}

// The group's lanes whose partners all stand here with them.
static uint32_t met_alone(const struct ptx_warp *w, const struct ptx_split *s)
{
    const uint32_t *member = member_masks(s);
    uint32_t met = 0;
    for (uint32_t m = s->mask; m; m &= m - 1)
        met |= member[__builtin_ctz(m)] & w->live & ~s->mask ? 0 : m & -m;
    return met;
}

// Lanes of one group that stand at the operation with this mask.
static uint32_t lanes_at(const struct ptx_split *s, const struct ptx_op *o, uint32_t value)
{
    if (!s->frame->program->blocks[s->block].sync || !same_operation(first_op(s), o))
        return 0;
    const uint32_t *member = member_masks(s);
    uint32_t lanes = 0;
    for (uint32_t m = s->mask & value; m; m &= m - 1)
        lanes |= member[__builtin_ctz(m)] == value ? m & -m : 0;
    return lanes;
}

static uint32_t lanes_of_all(const struct ptx_warp *w, const struct ptx_op *o, uint32_t value)
{
    uint32_t lanes = 0;
    for (uint32_t k = 0; k < w->split_count; k++)
        if (k == w->current || w->split[k].wait == PTX_WAITS_LANES)
            lanes |= lanes_at(&w->split[k], o, value);
    return lanes;
}

// Copies the operands of these lanes between the group's registers and slots of SLOT_BYTES each.
static void copy_operands(const struct ptx_split *s, uint32_t lanes, char *slots, bool results)
{
    const struct ptx_op *o = first_op(s);
    const uint8_t *bits = s->frame->program->blocks[s->block].operand_bits;
    for (unsigned k = 0; k < o->operand_count; k++) {
        char *reg = s->frame->R + ptx_operand(o, k), *slot = slots + k * SLOT_BYTES;
        if (results != (o->defs >> k & 1))
            continue;
        char *to = results ? reg : slot;
        const char *from = results ? slot : reg;
        if (bits[k] == 1) {
            *(uint32_t *)to = (*(uint32_t *)to & ~lanes) | (*(const uint32_t *)from & lanes);
            continue;
        }
        for (uint32_t m = lanes; m; m &= m - 1) {
            size_t at = (size_t)__builtin_ctz(m) * bits[k] / 8;
            memcpy(to + at, from + at, bits[k] / 8);
        }
    }
}

// The lanes leave the operation behind; what else is in the group stays there.
static void leave(struct ptx_warp *w, struct ptx_split *s, uint32_t lanes)
{
    struct ptx_block_count *c = &w->thread->blocks[s->frame->program->blocks[s->block].id];
    c->warps++;
    c->lanes += (uint32_t)__builtin_popcount(lanes);
    if (lanes != s->mask) {
        struct ptx_split *rest = &w->split[w->split_count++];
        *rest = *s;
        rest->mask = s->mask & ~lanes;
        rest->frame->users++;
        s->mask = lanes;
    }
    s->block++;
    s->wait = PTX_RUNS;
}

// Lanes of several groups run the operation as one, on registers that are brought together for it.
static void run_together(struct ptx_warp *w, const struct ptx_op *o, uint32_t value, uint32_t lanes)
{
    _Alignas(64) char slots[64 + MOST_OPERANDS * SLOT_BYTES]; // offset 0 means "none"
    uint32_t part[PTX_LANES], groups = w->split_count, more[MOST_OPERANDS];
    for (uint32_t k = 0; k < groups; k++) {
        bool here = k == w->current || w->split[k].wait == PTX_WAITS_LANES;
        part[k] = here ? lanes_at(&w->split[k], o, value) : 0;
        if (part[k])
            copy_operands(&w->split[k], part[k], slots + 64, false);
    }
    struct ptx_op joint = *o;
    joint.more = more;
    for (unsigned k = 0; k < o->operand_count; k++)
        *(k < 4 ? &joint.r[k] : &more[k - 4]) = 64 + k * SLOT_BYTES;
    char *registers = w->R;
    w->R = slots;
    ptx_shadow_warp_sync(w);
    o->run(w, &joint, lanes);
    w->R = registers;
    w->steps += 2;
    for (uint32_t k = 0; k < groups; k++)
        if (part[k]) {
            copy_operands(&w->split[k], part[k], slots + 64, true);
            leave(w, &w->split[k], part[k]);
        }
}

bool ptx_meet(struct ptx_warp *w, struct ptx_split *s)
{
    if (!is_member(w, s))
        return false;
    uint32_t met = met_alone(w, s);
    if (met) {
        if (met != s->mask) { // the others look again
            struct ptx_split *other = &w->split[w->split_count++];
            *other = *s;
            other->mask = s->mask & ~met;
            other->frame->users++;
            s->mask = met;
        }
        return true;
    }
    const struct ptx_op *o = first_op(s);
    const uint32_t *member = member_masks(s);
    for (uint32_t rest = s->mask; rest && o->operand_count <= MOST_OPERANDS;) {
        uint32_t value = member[__builtin_ctz(rest)], lanes = lanes_of_all(w, o, value);
        if (!(value & w->live & ~lanes)) {
            run_together(w, o, value, lanes);
            return false;
        }
        rest &= ~lanes;
    }
    s->wait = PTX_WAITS_LANES;
    return false;
}

void ptx_lanes_look_again(struct ptx_warp *w)
{
    for (uint32_t k = 0; k < w->split_count; k++)
        if (w->split[k].wait == PTX_WAITS_LANES)
            w->split[k].wait = PTX_RUNS;
}

uint32_t ptx_next_members(struct ptx_warp *w, const struct ptx_split *s, uint32_t rest, uint32_t *seen)
{
    const uint32_t *member = member_masks(s);
    uint32_t value = member[__builtin_ctz(rest)], group = 0;
    for (uint32_t m = rest & value; m; m &= m - 1)
        group |= member[__builtin_ctz(m)] == value ? m & -m : 0;
    if (*seen & value & w->live)
        ptx_note(
            w, first_op(s)->loc, "member_mask",
            "lanes come to one %s with masks that differ and overlap (0x%08x is one): PTX leaves the result undefined",
            first_op(s)->name, value);
    *seen |= value;
    return group;
}

static const char *place_of(const struct ptx_warp *w, uint32_t loc)
{
    return ptx_place_text(ptx_place_of(w->thread->launch->module, loc));
}

// What the missing lanes do instead, as far as they wait somewhere.
static void say_where(const struct ptx_warp *w, const struct ptx_split *s, uint32_t missing, char *text, size_t size)
{
    const struct ptx_op *o = first_op(s);
    text[0] = 0;
    for (uint32_t k = 0; k < w->split_count; k++) {
        const struct ptx_split *other = &w->split[k];
        uint32_t lanes = other->mask & missing;
        if (!lanes)
            continue;
        const struct ptx_block *b = &other->frame->program->blocks[other->block];
        if (other->wait == PTX_WAITS_BARRIER)
            snprintf(text, size, "; lanes 0x%08x wait in a barrier of the block at %s", lanes,
                     place_of(w, b->term_loc));
        else if (!same_operation(first_op(other), o))
            snprintf(text, size, "; lanes 0x%08x wait in %s at %s", lanes, first_op(other)->name,
                     place_of(w, first_op(other)->loc));
        else
            snprintf(text, size, "; lanes 0x%08x wait in it with the mask 0x%08x, which PTX leaves undefined", lanes,
                     member_masks(other)[__builtin_ctz(lanes)]);
        return;
    }
}

void ptx_report_unmet(struct ptx_warp *w, const struct ptx_split *s)
{
    int lane = __builtin_ctz(s->mask);
    const struct ptx_op *o = first_op(s);
    uint32_t need = member_masks(s)[lane], missing = need & w->live & ~lanes_of_all(w, o, need);
    char where[300];
    say_where(w, s, missing, where, sizeof where);
    ptx_fault(w, o, lane, "CUDA_ERROR_LAUNCH_TIMEOUT",
              "%s waits for lanes 0x%08x of its member mask 0x%08x, which never arrive%s", o->name, missing, need,
              where);
}
