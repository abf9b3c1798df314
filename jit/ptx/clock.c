#include "jit/ptx/clock.h"

#include "base/hash.h"
#include "jit/ptx/lanes.h"

// The boost clock of an H200, and the steps in which its timer moves.
enum { CYCLES_PER_1000_NS = 1755, TIMER_STEP_NS = 32 };
enum { FIRST_LOAD = 480, NEXT_LOAD = 12, FIRST_SHARED = 29, NEXT_SHARED = 4 };
enum { BETWEEN_LAUNCHES = 9000, MOST_NANOSLEEP = 1000000 };
static const uint64_t epoch_ns = 1764000000000000000; // %globaltimer counts from 1970

static uint64_t mix(uint64_t z)
{
    return kb_mix64(z + 0x9e3779b97f4a7c15);
}

void ptx_clock_launch(struct ptx_clock *c, uint64_t seed, struct ptx_launch *l)
{
    if (!c->key || c->seed != seed) {
        *c = (struct ptx_clock){.seed = seed, .key = mix(seed)};
        c->cycles = mix(c->key) >> 22; // the GPU was switched on up to 40 minutes ago
    }
    l->clock_base = c->cycles;
    l->clock_key = mix(c->key + ++c->launches);
    l->sm_key = c->key;
    l->grid_id = c->launches + (c->key & 63);
}

void ptx_clock_done(struct ptx_clock *c, const struct ptx_launch *l)
{
    c->cycles += atomic_load(&l->clock_latest) + BETWEEN_LAUNCHES + (mix(l->clock_key) & 4095);
}

// Cycles from the begin of an operation to that of the next: what it waits for included, as a chain of dependent
// operations would show it. Loads of one block overlap. *loads: those of global memory and of shared memory so far.
static uint32_t op_cycles(const struct ptx_op *o, uint32_t loads[2])
{
    static const uint8_t of_class[PTX_CLASSES] = {
        [PTX_CLASS_INTEGER] = 5,  [PTX_CLASS_F32] = 4,     [PTX_CLASS_F64] = 8,      [PTX_CLASS_F16] = 5,
        [PTX_CLASS_SPECIAL] = 18, [PTX_CLASS_CONVERT] = 6, [PTX_CLASS_MOVE] = 4,     [PTX_CLASS_COMPARE] = 6,
        [PTX_CLASS_CONST] = 7,    [PTX_CLASS_TENSOR] = 33, [PTX_CLASS_SHUFFLE] = 24, [PTX_CLASS_BARRIER] = 22,
        [PTX_CLASS_CONTROL] = 9,
    };
    bool far = o->class == PTX_CLASS_GLOBAL || o->class == PTX_CLASS_GENERIC || o->class == PTX_CLASS_ATOMIC;
    bool near = o->class == PTX_CLASS_SHARED || o->class == PTX_CLASS_LOCAL;
    if (!o->counted)
        return 0;
    if (o->write && o->class != PTX_CLASS_ATOMIC) // nobody waits for a store
        return 6;
    if (far)
        return loads[0]++ ? NEXT_LOAD : FIRST_LOAD;
    if (near)
        return loads[1]++ ? NEXT_SHARED : FIRST_SHARED;
    return of_class[o->class];
}

uint32_t ptx_block_cycles(const struct ptx_op *ops, uint32_t count)
{
    uint32_t sum = 0, loads[2] = {0, 0};
    for (uint32_t i = 0; i < count; i++)
        sum += op_cycles(&ops[i], loads);
    return sum;
}

void ptx_clock_start(struct ptx_warp *w)
{
    const struct ptx_launch *l = w->thread->launch;
    w->random = mix(l->clock_key ^ (w->cta->number * PTX_LANES + w->index));
    w->cycles = 300 + (w->random & 511);
    w->cta->clock = 0;
}

static void keep_latest(_Atomic uint64_t *latest, uint64_t value)
{
    uint64_t seen = atomic_load_explicit(latest, memory_order_relaxed);
    while (seen < value && !atomic_compare_exchange_weak(latest, &seen, value))
        ;
}

void ptx_clock_end(struct ptx_warp *w)
{
    keep_latest(&w->thread->launch->clock_latest, w->cycles);
}

void ptx_clock_meet(struct ptx_warp *w)
{
    struct ptx_launch *l = w->thread->launch;
    uint64_t told = atomic_load_explicit(&l->clock_told, memory_order_relaxed);
    if (told > w->cycles)
        w->cycles = told;
    else
        keep_latest(&l->clock_told, w->cycles);
}

static uint32_t random_below(struct ptx_warp *w, uint32_t n)
{
    w->random = mix(w->random);
    return (uint32_t)(w->random >> 33) % n;
}

// Cycles since the launch began. Readings of one block rise in the order in which they are made, whichever warp makes
// them: what a barrier orders is ordered here.
static uint64_t cycles_now(struct ptx_warp *w, const struct ptx_op *o)
{
    const struct ptx_block *b = &w->program->blocks[w->split[w->current].block];
    const struct ptx_op *first = w->program->ops + b->first;
    uint64_t before = ptx_block_cycles(first, (uint32_t)(o - first));
    w->cycles += 2 + random_below(w, 7) + (random_below(w, 16) ? 0 : 20 + random_below(w, 160));
    uint64_t now = w->cycles + before;
    if (now <= w->cta->clock) {
        w->cycles += w->cta->clock + 1 - now;
        now = w->cta->clock + 1;
    }
    return w->cta->clock = now;
}

static uint64_t smid(const struct ptx_warp *w)
{
    int n = w->thread->launch->sm_count;
    return w->cta->number % (uint32_t)(n > 0 ? n : 1);
}

// Multiprocessors do not begin to count at the same time.
static uint64_t clock_value(struct ptx_warp *w, const struct ptx_op *o)
{
    const struct ptx_launch *l = w->thread->launch;
    if (l->clock_counts)
        return w->steps;
    return l->clock_base + (mix(l->sm_key + smid(w)) & 0xfffff) + cycles_now(w, o);
}

static uint64_t timer_value(struct ptx_warp *w, const struct ptx_op *o)
{
    uint64_t cycles = w->thread->launch->clock_base + cycles_now(w, o);
    uint64_t ns = cycles / CYCLES_PER_1000_NS * 1000 + cycles % CYCLES_PER_1000_NS * 1000 / CYCLES_PER_1000_NS;
    return (epoch_ns + ns) / TIMER_STEP_NS * TIMER_STEP_NS;
}

// All lanes of a reading see the same.
#define READING(name, bits, value)                                                                                     \
    static void sreg_##name(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)                                 \
    {                                                                                                                  \
        uint##bits##_t v = (uint##bits##_t)(value);                                                                    \
        PTX_ACTIVE (mask, i)                                                                                           \
            ptx_u##bits(w, o->r[0])[i] = v;                                                                            \
    }
READING(clock, 32, clock_value(w, o))
READING(clock_hi, 32, clock_value(w, o) >> 32)
READING(clock64, 64, clock_value(w, o))
READING(globaltimer, 64, timer_value(w, o))
READING(globaltimer_lo, 32, timer_value(w, o))
READING(globaltimer_hi, 32, timer_value(w, o) >> 32)
READING(smid, 32, smid(w))
READING(gridid, 64, w->thread->launch->grid_id)

// From half of the time to twice as long, as PTX allows.
static void nanosleep_op(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    uint64_t most = 0;
    PTX_ACTIVE (mask, i)
        most = ptx_u32(w, o->r[0])[i] > most ? ptx_u32(w, o->r[0])[i] : most;
    most = most > MOST_NANOSLEEP ? MOST_NANOSLEEP : most;
    w->cycles += most * CYCLES_PER_1000_NS / 1000 * (64 + random_below(w, 128)) / 128;
}

const struct ptx_handler_entry ptx_clock_handlers[] = {
    {"sreg_clock", sreg_clock},
    {"sreg_clock_hi", sreg_clock_hi},
    {"sreg_clock64", sreg_clock64},
    {"sreg_globaltimer", sreg_globaltimer},
    {"sreg_globaltimer_lo", sreg_globaltimer_lo},
    {"sreg_globaltimer_hi", sreg_globaltimer_hi},
    {"sreg_smid", sreg_smid},
    {"sreg_gridid", sreg_gridid},
    {"nanosleep", nanosleep_op},
    {NULL, NULL},
};
