// Barriers of a block: who has arrived, who is released, and the reports about those who never come.
#include "jit/ptx/async.h"
#include "jit/ptx/warp.h"

#include <stdio.h>
#include <string.h>

static struct ptx_place place_of(const struct ptx_cta *cta, uint32_t loc)
{
    return ptx_place_of(cta->warps[0].thread->launch->module, loc);
}

static bool waits_in(const struct ptx_split *s, uint32_t number)
{
    return s->wait == PTX_WAITS_BARRIER && s->barrier == number;
}

static const struct ptx_block *barrier_of(const struct ptx_split *s)
{
    return &s->frame->program->blocks[s->block];
}

// Threads wait in different instructions for one barrier. PTX allows that if whole warps do, CUDA C++ does not.
static void report_places(struct ptx_cta *cta, struct ptx_warp *w, const struct ptx_block *a, const struct ptx_block *b,
                          bool by_warp)
{
    const char *kind = by_warp ? "barrier_by_warp" : "divergent_barrier", *who = by_warp ? "warps" : "threads";
    char one[128];
    snprintf(one, sizeof one, "%s", ptx_place_text(place_of(cta, a->term_loc)));
    const char *other = ptx_place_text(place_of(cta, b->term_loc));
    if (strcmp(one, other))
        ptx_note(w, b->term_loc, kind, "%s of one block meet in two different barriers, at %s and at %s", who, one,
                 other);
    else
        ptx_note(w, b->term_loc, kind, "%s of one block meet in two different barriers of one line", who);
}

static void check_places(struct ptx_cta *cta, uint32_t number)
{
    const struct ptx_block *first = NULL, *other = NULL;
    struct ptx_warp *of_other = NULL;
    bool by_warp = true;
    for (uint32_t i = 0; i < cta->warp_count; i++)
        for (uint32_t j = 0; j < cta->warps[i].split_count; j++) {
            struct ptx_warp *w = &cta->warps[i];
            const struct ptx_split *s = &w->split[j];
            if (!waits_in(s, number))
                continue;
            by_warp &= s->mask == w->live;
            first = first ? first : barrier_of(s);
            if (!other && barrier_of(s) != first) {
                other = barrier_of(s);
                of_other = w;
            }
        }
    if (other)
        report_places(cta, of_other, first, other, by_warp);
}

static void give_result(const struct ptx_split *s, const struct ptx_block *b, const struct ptx_barrier *bar)
{
    uint32_t *result = (uint32_t *)(s->frame->R + b->bar_result);
    if (b->bar_reduce == '+') {
        for (uint32_t m = s->mask; m; m &= m - 1)
            result[__builtin_ctz(m)] = bar->count;
    } else {
        uint32_t value = (b->bar_reduce == '&' ? bar->all : bar->any) ? s->mask : 0;
        *result = (*result & ~s->mask) | value;
    }
}

static void release(struct ptx_cta *cta, uint32_t number)
{
    struct ptx_barrier *bar = &cta->barrier[number];
    bool counted = bar->expected != 0;
    if (!counted)
        check_places(cta, number);
    for (uint32_t i = 0; i < cta->warp_count; i++) {
        struct ptx_warp *w = &cta->warps[i];
        for (uint32_t j = 0; j < w->split_count; j++) {
            struct ptx_split *s = &w->split[j];
            if (!waits_in(s, number))
                continue;
            const struct ptx_block *b = barrier_of(s);
            if (b->bar_result)
                give_result(s, b, bar);
            if (counted)
                ptx_shadow_passed(w, s->mask, number);
            s->wait = PTX_RUNS;
            s->block = b->index + 1;
        }
    }
    *bar = (struct ptx_barrier){0};
    if (counted)
        ptx_shadow_met(cta, number);
    else
        ptx_shadow_barrier(cta);
    cta->warps[0].thread->barriers++;
}

static bool complete(const struct ptx_cta *cta, const struct ptx_barrier *bar)
{
    return bar->used && bar->arrived >= (bar->expected ? bar->expected : cta->live_threads);
}

// A barrier operand is a constant or a register; all lanes agree on it.
static uint32_t operand_value(const struct ptx_split *s, uint32_t reg)
{
    return ((const uint32_t *)(s->frame->R + reg))[__builtin_ctz(s->mask)];
}

void ptx_barrier_arrive(struct ptx_warp *w, struct ptx_split *s, const struct ptx_block *b)
{
    struct ptx_cta *cta = w->cta;
    uint32_t number = operand_value(s, b->bar_number), expected = b->bar_count ? operand_value(s, b->bar_count) : 0;
    const struct ptx_op *at = &w->program->ops[b->first];
    if (number >= PTX_BARRIERS || expected % PTX_LANES || expected > (cta->warp_count * PTX_LANES)) {
        ptx_fault(w, at, __builtin_ctz(s->mask), "CUDA_ERROR_ILLEGAL_INSTRUCTION",
                  "barrier %u for %u threads: a block has %d barriers, and the number of threads is a multiple of 32 "
                  "within the block's %u",
                  number, expected, PTX_BARRIERS, cta->warp_count * PTX_LANES);
        return;
    }
    struct ptx_barrier *bar = &cta->barrier[number];
    if (bar->used && bar->expected != expected)
        ptx_note(w, b->term_loc, "divergent_barrier", "barrier %u is waited for with %u and with %u threads", number,
                 bar->expected, expected);
    if (!bar->used)
        *bar = (struct ptx_barrier){.used = true, .expected = expected, .all = 1};
    // A counted barrier counts whole warps.
    uint32_t lanes = (uint32_t)__builtin_popcount(s->mask);
    bar->arrived += expected && s->mask == w->live ? PTX_LANES : lanes;
    if (expected)
        ptx_shadow_arrive(w, s->mask, number);
    if (b->bar_reduce) {
        uint32_t yes = (*(const uint32_t *)(s->frame->R + b->bar_pred) ^ b->bar_pred_flip) & s->mask;
        bar->count += (uint32_t)__builtin_popcount(yes);
        bar->any |= yes != 0;
        bar->all &= yes == s->mask;
    }
    if (b->term == PTX_TERM_ARRIVE) {
        s->block = b->index + 1;
    } else {
        s->wait = PTX_WAITS_BARRIER;
        s->barrier = number;
    }
    if (complete(cta, bar))
        release(cta, number);
}

void ptx_lanes_left(struct ptx_cta *cta, struct ptx_warp *w, uint32_t lanes)
{
    w->live &= ~lanes;
    cta->live_threads -= (uint32_t)__builtin_popcount(lanes);
    if (!w->live)
        cta->live_warps--;
    for (uint32_t i = 0; i < PTX_BARRIERS; i++) {
        struct ptx_barrier *bar = &cta->barrier[i];
        if (!bar->used || bar->expected || !complete(cta, bar))
            continue;
        for (uint32_t k = 0; k < cta->warp_count; k++)
            for (uint32_t j = 0; j < cta->warps[k].split_count; j++) {
                const struct ptx_split *s = &cta->warps[k].split[j];
                if (s->wait != PTX_WAITS_BARRIER || s->barrier != i)
                    continue;
                ptx_note(&cta->warps[k], s->frame->program->blocks[s->block].term_loc, "barrier_left",
                         "threads of the block ended without reaching the barrier that others wait in");
                k = cta->warp_count - 1;
                break;
            }
        release(cta, i);
    }
}

// Where threads wait that do not wait in this barrier; "" if nowhere: they ended.
static void others_of(const struct ptx_cta *cta, uint32_t barrier, char out[256])
{
    *out = 0;
    for (uint32_t i = 0; i < cta->warp_count; i++)
        for (uint32_t j = 0; j < cta->warps[i].split_count; j++) {
            const struct ptx_split *s = &cta->warps[i].split[j];
            if (s->wait != PTX_WAITS_BARRIER || s->barrier == barrier)
                continue;
            uint32_t loc = s->frame->program->blocks[s->block].term_loc;
            snprintf(out, 256, ", others in barrier %u at %s", s->barrier, ptx_place_text(place_of(cta, loc)));
            return;
        }
}

void ptx_report_deadlock(struct ptx_cta *cta)
{
    for (uint32_t i = 0; i < cta->warp_count; i++)
        for (uint32_t j = 0; j < cta->warps[i].split_count; j++) {
            struct ptx_warp *w = &cta->warps[i];
            const struct ptx_split *s = &w->split[j];
            const struct ptx_program *p = s->frame->program;
            const struct ptx_block *b = &p->blocks[s->block];
            int lane = __builtin_ctz(s->mask);
            w->program = p;
            w->current = j;
            if (s->wait == PTX_WAITS_LANES) {
                ptx_report_unmet(w, s);
                return;
            }
            const struct ptx_barrier *bar = &cta->barrier[s->barrier];
            struct ptx_op at = {.loc = b->term_loc, .name = "barrier"};
            char others[256];
            others_of(cta, s->barrier, others);
            ptx_fault(w, &at, lane, "CUDA_ERROR_LAUNCH_TIMEOUT",
                      "barrier %u is never completed: %u of %u threads wait in it%s", s->barrier, bar->arrived,
                      bar->expected ? bar->expected : cta->live_threads, others);
            return;
        }
}
