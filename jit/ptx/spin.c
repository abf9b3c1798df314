// Loops that never end. A warp whose registers are, between two turns, what they were at an earlier one, while memory
// was not changed, does the same again for ever: at once if nothing in the loop may wait for others, else when none of
// them gets on either. Of a warp that has run for long only the registers count that branches depend on: others, which
// add something up on and on, change nothing about where it goes; where no branch depends on memory, stores do not
// count either. A loop whose own end is computed on and on is left to the budget of instructions.
#include "jit/ptx/warp.h"

#include <string.h>

enum {
    QUIET_TURNS = 4,
    FAIR_TURNS = 1024,    // in which each group of lanes has had its own turn (warp.c)
    LONG_STEPS = 1 << 23, // an address that runs out of its array has done so before
};

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15;
    return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, bytes + i, sizeof word);
        h = mix(h, word);
    }
    return h;
}

static uint64_t frame_state(uint64_t h, const struct ptx_frame *f, bool steering)
{
    const struct ptx_program *p = f->program;
    size_t from = 64 + p->const_bytes;
    if (!steering)
        return mix_bytes(h, f->R + from, p->frame_bytes - from);
    for (uint32_t i = 0; i < p->steering_count; i++)
        h = mix_bytes(h, f->R + p->steering[i].at, p->steering[i].bytes);
    return h;
}

static uint64_t warp_state(const struct ptx_warp *w)
{
    uint64_t h = w->split_count;
    for (uint32_t i = 0; i < w->split_count; i++) {
        const struct ptx_split *s = &w->split[i];
        h = mix(mix(h, (uint64_t)s->block << 32 | s->mask), (uint64_t)s->wait << 32 | s->barrier);
        for (const struct ptx_frame *f = s->frame; f; f = f->parent)
            h = frame_state(mix(h, (uint64_t)f), f, w->watch.steering);
    }
    return h;
}

static bool memory_steers(const struct ptx_warp *w)
{
    for (uint32_t i = 0; i < w->split_count; i++)
        for (const struct ptx_frame *f = w->split[i].frame; f; f = f->parent)
            if (f->program->memory_steers)
                return true;
    return false;
}

void ptx_report_endless(struct ptx_warp *w, const char *why)
{
    const struct ptx_split *s = &w->split[w->split_count > w->current ? w->current : 0];
    const struct ptx_program *p = s->frame->program;
    const struct ptx_block *b = &p->blocks[s->block];
    struct ptx_op at = {.loc = b->count ? p->ops[b->first].loc : b->term_loc, .name = "loop"};
    ptx_fault(w, &at, __builtin_ctz(s->mask), "CUDA_ERROR_LAUNCH_TIMEOUT",
              "no end after %llu instructions of one warp%s", (unsigned long long)w->steps, why);
}

// The state is kept at looks 1, 2, 4, 8 ...: a loop of any length comes back to one of them.
static void keep_state(struct ptx_warp *w, uint64_t state, uint64_t version)
{
    struct ptx_watch *x = &w->watch;
    x->until = x->until ? x->until * 2 : 1;
    x->looks = 0;
    x->turns = w->turns;
    x->state = state;
    x->version = version;
    x->waited = false;
}

void ptx_watch_warp(struct ptx_warp *w)
{
    struct ptx_launch *l = w->thread->launch;
    struct ptx_watch *x = &w->watch;
    bool memory = memory_steers(w);
    if (x->wrote) {
        x->wrote = false;
        atomic_fetch_add(&l->version, 1);
        if (memory) {
            *x = (struct ptx_watch){0};
            return;
        }
    }
    if (++x->quiet < QUIET_TURNS)
        return;
    if (!x->steering && w->steps >= LONG_STEPS) {
        x->steering = true;
        x->until = 0;
    }
    uint64_t version = atomic_load(&l->version), state = warp_state(w);
    bool same = x->until && state == x->state && (w->split_count == 1 || w->turns - x->turns >= FAIR_TURNS);
    if (same && (!x->waited || !memory)) {
        ptx_report_endless(w, ": it repeats itself");
        return;
    }
    x->stuck = same && version == x->version ? version + 1 : 0;
    if (x->stuck)
        return;
    if (same)
        x->until = 0;
    if (++x->looks >= x->until)
        keep_state(w, state, version);
}

static bool waits(const struct ptx_warp *w)
{
    for (uint32_t i = 0; i < w->split_count; i++)
        if (w->split[i].wait == PTX_RUNS)
            return false;
    return true;
}

uint64_t ptx_block_stuck(const struct ptx_cta *cta)
{
    uint64_t stuck = atomic_load(&cta->warps[0].thread->launch->version) + 1;
    bool any = false;
    for (uint32_t i = 0; i < cta->warp_count; i++) {
        const struct ptx_warp *w = &cta->warps[i];
        if (waits(w))
            continue;
        any = true;
        if (w->watch.stuck != stuck)
            return 0;
    }
    return any ? stuck : 0;
}

void ptx_report_stuck(struct ptx_cta *cta)
{
    struct ptx_warp *w = &cta->warps[0];
    for (uint32_t i = 0; i < cta->warp_count; i++)
        if (!waits(&cta->warps[i])) {
            w = &cta->warps[i];
            break;
        }
    if (w->split_count)
        ptx_report_endless(w, w->watch.stuck ? ": it repeats itself, and nobody changes what it waits for"
                                             : ", nor of any other of its blocks");
}
