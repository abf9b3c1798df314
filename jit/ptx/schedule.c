// Blocks over host threads. A block normally runs to its end before the next one starts. One that does not end within
// its quantum is set aside, so that what it waits for can run: further blocks become resident and all take turns.
#include "base/memory.h"
#include "jit/ptx/async.h"
#include "jit/ptx/order.h"
#include "jit/ptx/warp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_QUANTUM = 1 << 22, QUANTUM = 1 << 15, SLICE = 1 << 15, MAX_THREADS = 256 };
// Blocks that take turns: as many as a large GPU keeps resident at least, more where they are small.
enum { LEAST_RESIDENT = 192, MOST_RESIDENT = 4096, RESIDENT_BYTES = 512 << 20 };
enum { ASK_AFTER = 1 << 17, ASK_MS = 20 }; // instructions; where other threads of the host still work

static void vfault(struct ptx_warp *w, const struct ptx_op *o, int lane, const char *name, const char *text)
{
    struct ptx_launch *l = w->thread->launch;
    const struct ptx_cta *c = w->cta;
    int i = lane < 0 ? 0 : lane;
    static const struct {
        const char *name, *remedy;
        int code;
    } table[] = {
        {"CUDA_ERROR_ILLEGAL_ADDRESS", "guard the index, or check the size that the launch passes", 700},
        {"CUDA_ERROR_MISALIGNED_ADDRESS", "align the pointer to the width of the access", 716},
        {"CUDA_ERROR_ASSERT", "", 710},
        {"CUDA_ERROR_LAUNCH_TIMEOUT", "make sure that every thread the others wait for gets there", 702},
        {"CUDA_ERROR_LAUNCH_FAILED", "", 719},
        {"CUDA_ERROR_ILLEGAL_INSTRUCTION", "", 715},
    };
    pthread_mutex_lock(&l->lock);
    if (!l->failed) {
        l->failed = true;
        l->fault_name = name;
        const char *remedy = "";
        for (size_t k = 0; k < KB_COUNT(table); k++)
            if (!strcmp(table[k].name, name)) {
                l->fault_code = table[k].code;
                remedy = table[k].remedy;
            }
        l->fault_place = ptx_place_of(l->module, o->loc);
        char where[440];
        snprintf(where, sizeof where, "%s %s", strcmp(name, "CUDA_ERROR_ASSERT") ? "at" : "found at",
                 ptx_place_text(ptx_place_of(l->module, o->loc)));
        kb_fail(&l->fault, l->func->name, remedy, "%s, by thread (%u,%u,%u) of block (%u,%u,%u), %s", text,
                w->tid[0][i], w->tid[1][i], w->tid[2][i], c->ctaid[0], c->ctaid[1], c->ctaid[2], where);
    }
    pthread_mutex_unlock(&l->lock);
    atomic_store(&l->stop, true);
    w->thread->stop = true;
}

void ptx_fault(struct ptx_warp *w, const struct ptx_op *o, int lane, const char *name, const char *format, ...)
{
    if (w->thread->stop)
        return;
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    vfault(w, o, lane, name, text);
}

// Of one place and about the same memory: a line of a function that was inlined twice may access two arrays.
static bool is_same(const struct ptx_report *a, const struct ptx_report *b)
{
    const char *end_a = strchr(a->text, '['), *end_b = strchr(b->text, '[');
    if (strcmp(a->kind, b->kind) || a->line != b->line || strcmp(a->file, b->file) || !end_a != !end_b)
        return false;
    while (end_a && end_a > a->text && end_b > b->text && end_a[-1] == end_b[-1] && end_a[-1] != ' ')
        end_a--, end_b--;
    return !end_a || (end_a > a->text && end_b > b->text && end_a[-1] == ' ' && end_b[-1] == ' ');
}

static void vnote(struct ptx_launch *l, uint32_t loc, const char *kind, const char *format, va_list list)
{
    if (l->check == PTX_CHECK_OFF)
        return;
    struct ptx_report r = {.count = 1};
    snprintf(r.kind, sizeof r.kind, "%s", kind);
    vsnprintf(r.text, sizeof r.text, format, list);
    struct ptx_place place = ptx_place_of(l->module, loc);
    r.line = place.line;
    snprintf(r.file, sizeof r.file, "%s", place.file);
    r.caller_line = place.caller_line;
    snprintf(r.caller_file, sizeof r.caller_file, "%s", place.caller_line ? place.caller_file : "");
    pthread_mutex_lock(&l->lock);
    int i = 0;
    while (i < l->report_count && !is_same(&l->reports[i], &r))
        i++;
    if (i < l->report_count)
        l->reports[i].count++;
    else if (i < PTX_MAX_REPORTS)
        l->reports[l->report_count++] = r;
    else
        l->reports_cut++;
    pthread_mutex_unlock(&l->lock);
}

void ptx_note(struct ptx_warp *w, uint32_t loc, const char *kind, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vnote(w->thread->launch, loc, kind, format, list);
    va_end(list);
}

void ptx_note_at(struct ptx_launch *l, uint32_t loc, const char *kind, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vnote(l, loc, kind, format, list);
    va_end(list);
}

static struct ptx_cta *new_cta(struct ptx_thread *t)
{
    struct ptx_launch *l = t->launch;
    struct ptx_cta *c = kb_alloc(sizeof *c);
    c->warp_count = l->warps;
    c->warps = kb_alloc(l->warps * sizeof *c->warps);
    c->shared = aligned_alloc(1024, ((size_t)l->shared_end + 1024) & ~(size_t)1023);
    if (!c->shared)
        abort();
    for (uint32_t i = 0; i < l->warps; i++) {
        struct ptx_warp *w = &c->warps[i];
        w->cta = c;
        w->thread = t;
        w->index = i;
        w->local_bytes = l->local_bytes;
        if (l->local_bytes)
            w->local = kb_alloc((size_t)l->local_bytes * PTX_LANES);
        uint32_t left = l->threads - i * PTX_LANES;
        w->lanes = left >= PTX_LANES ? 0xffffffffu : (1u << left) - 1;
        for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
            uint32_t n = i * PTX_LANES + lane;
            w->tid[0][lane] = n % l->block[0];
            w->tid[1][lane] = n / l->block[0] % l->block[1];
            w->tid[2][lane] = n / l->block[0] / l->block[1];
        }
    }
    return c;
}

static void free_cta(struct ptx_cta *c)
{
    for (uint32_t i = 0; i < c->warp_count; i++) {
        ptx_async_free(c->warps[i].async);
        free(c->warps[i].local);
    }
    ptx_shadow_free(c->shadow);
    if (c->ordering)
        ptx_ordering_free(c->ordering);
    ptx_bulk_free(c->bulk);
    free(c->warps);
    free(c->shared);
    free(c);
}

// Position of the n-th block to start: 1:1 over 0 .. ctas-1, the identity for seed 0.
static uint64_t start_order(const struct ptx_launch *l, uint64_t n)
{
    if (!l->seed || l->ctas < 2)
        return n;
    uint64_t step = (l->seed % (l->ctas - 1)) + 1;
    for (;; step = step % l->ctas + 1) {
        uint64_t a = step, b = l->ctas;
        while (b) {
            uint64_t r = a % b;
            a = b;
            b = r;
        }
        if (a == 1)
            break;
    }
    return (uint64_t)(((unsigned __int128)n * step + l->seed / 7) % l->ctas);
}

static struct ptx_cta *start_cta(struct ptx_thread *t, uint64_t number)
{
    struct ptx_launch *l = t->launch;
    struct ptx_cta *c = t->free_ctas;
    if (c)
        t->free_ctas = c->next;
    else
        c = new_cta(t);
    c->next = NULL;
    c->number = number;
    c->ctaid[0] = (uint32_t)(number % l->grid[0]);
    c->ctaid[1] = (uint32_t)(number / l->grid[0] % l->grid[1]);
    c->ctaid[2] = (uint32_t)(number / l->grid[0] / l->grid[1]);
    c->live_threads = l->threads;
    c->live_warps = l->warps;
    memset(c->barrier, 0, sizeof c->barrier);
    memset(c->shared, 0xff, l->shared_end); // NaN in every floating type
    if (l->shared_end >= PTX_RESERVED_SHARED)
        memset(c->shared, 0, PTX_RESERVED_SHARED);
    ptx_shadow_reset(c);
    for (uint32_t i = 0; i < l->warps; i++) {
        ptx_async_reset(&c->warps[i]);
        ptx_start_warp(&c->warps[i], l->func->program);
    }
    return c;
}

// A launch that stopped leaves groups of lanes behind; their frames go back.
static void end_cta(struct ptx_thread *t, struct ptx_cta *c)
{
    for (uint32_t i = 0; i < c->warp_count; i++) {
        struct ptx_warp *w = &c->warps[i];
        while (w->split_count)
            ptx_drop_frame(t, w->split[--w->split_count].frame);
    }
    ptx_bulk_end(c);
    c->next = t->free_ctas;
    t->free_ctas = c;
    t->since_end = 0;
}

// The caller may want the end, since nobody needs what comes out any more.
static bool asked_to_stop(struct ptx_thread *t, uint64_t spent)
{
    struct ptx_launch *l = t->launch;
    t->since_asked += spent;
    if (!t->main || !l->stops || t->since_asked < ASK_AFTER)
        return false;
    t->since_asked = 0;
    if (!l->stops(l->stops_context))
        return false;
    l->stopped = t->stop = true;
    atomic_store(&l->stop, true);
    return true;
}

// True when the block has ended.
static bool run_cta(struct ptx_thread *t, struct ptx_cta *c, int64_t quantum)
{
    while (quantum > 0) {
        bool moved = false;
        for (uint32_t i = 0; i < c->warp_count; i++) {
            struct ptx_warp *w = &c->warps[i];
            if (!w->split_count)
                continue;
            uint64_t before = w->steps;
            int64_t slice = quantum < SLICE ? quantum : SLICE;
            enum ptx_warp_state state = ptx_run_warp(w, slice);
            // A warp that ended or waits may have changed memory before; one that got no turn does not repeat itself.
            if (w->watch.wrote || (state == PTX_WARP_READY && w->steps != before))
                ptx_watch_warp(w);
            if (t->stop || asked_to_stop(t, w->steps - before))
                return true;
            uint64_t spent = w->steps - before;
            t->since_end += spent;
            quantum -= (int64_t)spent;
            if (w->yield || state == PTX_WARP_READY)
                quantum -= SLICE / 8;
            moved |= spent != 0 || state != PTX_WARP_BLOCKED;
        }
        if (!c->live_warps)
            return true;
        if (!moved) {
            ptx_report_deadlock(c);
            return true;
        }
        if (atomic_load_explicit(&t->launch->stop, memory_order_relaxed)) {
            t->stop = true;
            return true;
        }
    }
    return false;
}

// Nobody gets on, on no thread of the host, and no block can start that might change that.
static bool all_stuck(struct ptx_thread *t, uint64_t stuck)
{
    const struct ptx_launch *l = t->launch;
    atomic_store(&t->stuck, stuck);
    for (uint32_t i = 0; i < l->all_count; i++) {
        uint64_t other = atomic_load(&l->all[i].stuck);
        if (other != stuck && other != UINT64_MAX)
            return false;
    }
    return atomic_load(&l->version) + 1 == stuck;
}

struct progress {
    uint64_t stuck;  // at this version of memory, + 1
    uint32_t blocks; // that are so, one after the other
};

// After a turn of a block that has not ended.
static void check_progress(struct ptx_thread *t, struct ptx_cta *c, struct progress *p, uint32_t resident, bool full)
{
    uint64_t stuck = ptx_block_stuck(c);
    p->blocks = stuck && stuck == p->stuck ? p->blocks + 1 : stuck != 0;
    p->stuck = stuck;
    if (stuck && full && p->blocks >= resident && all_stuck(t, stuck))
        ptx_report_stuck(c);
    else if (t->since_end / 16 > t->launch->budget)
        ptx_report_stuck(c);
}

// Blocks that all take turns; a ring in order of their start.
static void run_thread(struct ptx_thread *t)
{
    struct ptx_launch *l = t->launch;
    struct ptx_cta *first = NULL, **tail = &first;
    uint32_t resident = 0;
    bool more = true, turns = l->cooperative;
    struct progress progress = {0};
    while (!t->stop) {
        bool want = !resident || l->cooperative || (turns && resident < l->resident_a_thread);
        uint64_t n = more && want ? atomic_fetch_add(&l->next_cta, 1) : l->ctas;
        if (more && want && n >= l->ctas)
            more = false;
        struct ptx_cta *c;
        if (n < l->ctas) {
            atomic_store(&t->stuck, 0);
            c = start_cta(t, start_order(l, n));
            resident++;
        } else if (first) {
            c = first;
            first = c->next;
            tail = first ? tail : &first;
        } else {
            break;
        }
        if (run_cta(t, c, turns ? QUANTUM : FIRST_QUANTUM)) {
            end_cta(t, c);
            resident--;
            progress = (struct progress){0}; // others may have waited for it
            continue;
        }
        turns = true;
        c->next = NULL;
        *tail = c;
        tail = &c->next;
        check_progress(t, c, &progress, resident, !more || resident >= l->resident_a_thread);
    }
    atomic_store(&t->stuck, UINT64_MAX);
    while (first) {
        struct ptx_cta *next = first->next;
        end_cta(t, first);
        first = next;
    }
}

static void *thread_main(void *argument)
{
    run_thread(argument);
    return NULL;
}

static void free_thread(struct ptx_thread *t)
{
    while (t->free_ctas) {
        struct ptx_cta *next = t->free_ctas->next;
        free_cta(t->free_ctas);
        t->free_ctas = next;
    }
    while (t->free_frames) {
        struct ptx_frame *next = t->free_frames->next_free;
        free(t->free_frames->R);
        free(t->free_frames);
        t->free_frames = next;
    }
    free(t->ops);
    free(t->blocks);
}

static void add_counts(struct ptx_thread *total, const struct ptx_thread *t)
{
    const struct ptx_module *m = t->launch->module;
    for (uint32_t i = 0; i < m->op_ids; i++) {
        total->ops[i].lanes_off += t->ops[i].lanes_off;
        total->ops[i].warps_off += t->ops[i].warps_off;
        total->ops[i].sectors += t->ops[i].sectors;
        total->ops[i].conflicts += t->ops[i].conflicts;
        total->ops[i].requests += t->ops[i].requests;
        total->ops[i].bytes += t->ops[i].bytes;
    }
    for (uint32_t i = 0; i < m->block_ids; i++) {
        total->blocks[i].warps += t->blocks[i].warps;
        total->blocks[i].lanes += t->blocks[i].lanes;
        total->blocks[i].divergent += t->blocks[i].divergent;
    }
    total->barriers += t->barriers;
    total->atomics += t->atomics;
}

static uint64_t thread_count(const struct ptx_launch *l)
{
    const char *given = getenv("KB_PTX_THREADS");
    long cores = given ? atol(given) : sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (uint64_t)cores;
    if (l->check == PTX_CHECK_FULL) // so that a full check is reproducible
        n = 1;
    return n > l->ctas ? l->ctas : n;
}

static uint32_t resident_limit(const struct ptx_launch *l, uint64_t threads)
{
    size_t warp = l->func->program->frame_bytes + (size_t)l->local_bytes * PTX_LANES + sizeof(struct ptx_warp);
    size_t most = RESIDENT_BYTES / (warp * l->warps + l->shared_end + 1);
    most = most < LEAST_RESIDENT ? LEAST_RESIDENT : most > MOST_RESIDENT ? MOST_RESIDENT : most;
    return (uint32_t)((most + threads - 1) / threads);
}

static void await_thread(struct ptx_thread *caller, pthread_t id)
{
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += ASK_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_timedjoin_np(id, NULL, &until) != ETIMEDOUT)
            return;
        asked_to_stop(caller, ASK_AFTER);
    }
}

int ptx_run(struct ptx_launch *l, struct ptx_thread *total)
{
    uint64_t n = thread_count(l), started = 1;
    l->resident_a_thread = resident_limit(l, n);
    struct ptx_thread *threads = kb_alloc(n * sizeof *threads);
    l->all = threads;
    l->all_count = (uint32_t)n;
    for (uint64_t i = 0; i < n; i++) {
        threads[i].launch = l;
        threads[i].main = i == 0;
        threads[i].ops = kb_alloc((l->module->op_ids + 1) * sizeof *threads[i].ops);
        threads[i].blocks = kb_alloc((l->module->block_ids + 1) * sizeof *threads[i].blocks);
    }
    for (uint64_t i = 1; i < n; i++, started++)
        if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i]))
            break; // the others do its share
    for (uint64_t i = started; i < n; i++)
        atomic_store(&threads[i].stuck, UINT64_MAX);
    run_thread(&threads[0]);
    for (uint64_t i = 1; i < started; i++)
        await_thread(&threads[0], threads[i].id);
    for (uint64_t i = 0; i < n; i++) {
        add_counts(total, &threads[i]);
        free_thread(&threads[i]);
    }
    free(threads);
    return l->failed || l->stopped ? -1 : 0;
}
