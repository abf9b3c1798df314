#include "verify/repeat.h"
#include "verify/fill.h"
#include "verify/hold.h"

#include <stdio.h>
#include <string.h>

// Where a pair takes long, fewer do; for all of the single calls (kb_spent_us).
enum { LONG_US = 400 * 1000, LEAST_PAIRS = 2, MANY_US = 1500 * 1000 };
// Filling, hashing and comparing an element on the CPU, beside what kernels execute; the clock of a GPU counts it
// anyway.
static const double element_us = 0.2;

struct calls {
    struct kb_data *d;
    const struct kb_variant *variant;
    struct kb_program program;
    struct kb_hold hold;
    bool keeps; // the module has variables in global memory, or has been seen to write to what looks like constants
    struct kb_repeat *r;
};

enum kb_repeat_kind kb_repeat_kind(int pair)
{
    return (enum kb_repeat_kind)(pair % KB_REPEAT_KINDS);
}

static void say_which(struct kb_repeat *r)
{
    char inner[sizeof r->last.reason], first[24] = "";
    memcpy(inner, r->last.reason, sizeof inner);
    if (!r->many)
        snprintf(first, sizeof first, "%d or ", r->calls - 1);
    snprintf(r->last.reason, sizeof r->last.reason, "call %s%d of a freshly loaded module: %.400s", first, r->calls,
             inner);
}

// New inputs under addresses that the version has seen, where the reference allows.
static struct kb_set *next_set(struct kb_data *d, struct kb_case_data *c, enum kb_repeat_kind kind, bool *fresh,
                               struct kb_error *e)
{
    bool command = d->bench->reference.kind == KB_REFERENCE_COMMAND; // starting a program is never quick
    double most_us = command ? 0 : d->on_cpu ? 1e6 : 50e3;
    if (kb_reference_is_slower(d, c, most_us) || !c->set_count)
        return kb_data_take(d, c, fresh, e);
    struct kb_set *s = &c->sets[0];
    if (kind == KB_REPEAT_TOUCHED && s->ready ? kb_set_touch(d, c, s, e) : kb_set_fill(d, c, s, e))
        return NULL;
    s->verified = 1;
    *fresh = true;
    return s;
}

static int one_pair(struct calls *w, const struct kb_plan *plan, struct kb_error *e)
{
    static const char *const names[KB_REPEAT_KINDS] = {
        [KB_REPEAT_TOUCHED] = "a few inputs changed", [KB_REPEAT_STALE] = "outputs holding older results"};
    struct kb_repeat *r = w->r;
    enum kb_repeat_kind kind = kb_repeat_kind(r->pairs);
    bool fresh = false;
    struct kb_set *s = next_set(w->d, r->c, kind, &fresh, e);
    enum kb_trial_depth depth = kind == KB_REPEAT_FRESH ? KB_TRIAL_VERIFY : KB_TRIAL_STALE;
    int failed = !s || kb_trial_run(w->d, r->c, s, &w->program, plan, w->variant, depth, &r->last, e);
    r->last.fresh = fresh;
    r->last.inputs = names[kind == KB_REPEAT_TOUCHED && s && !s->base ? KB_REPEAT_STALE : kind];
    r->set = s;
    r->calls += 2;
    r->pairs++;
    r->differing += !failed && r->last.differs;
    return failed;
}

// Of one call.
static double beside_us(const struct calls *w)
{
    return w->d->on_cpu ? element_us * (double)kb_case_elements(w->d, w->r->c) : 0;
}

static int all_pairs(struct calls *w, const struct kb_plan *plan, struct kb_error *e)
{
    struct kb_repeat *r = w->r;
    int wanted = w->d->on_cpu ? KB_REPEAT_PAIRS : KB_REPEAT_PAIRS_GPU, failed;
    double start = kb_spent_us(w->d), beside = 2 * beside_us(w);
    do {
        kb_trial_free(&r->last);
        failed = one_pair(w, plan, e);
        if (r->pairs >= LEAST_PAIRS && kb_spent_us(w->d) - start > (LONG_US - beside) * r->pairs)
            break;
    } while (!failed && r->last.pass && r->pairs < wanted);
    return failed;
}

// What counts is what is written: names of strings and of the toolkit's tables are names like others.
static int look_for_memory(struct calls *w, struct kb_error *e)
{
    if (!w->keeps && kb_hold_look(&w->hold, e))
        return -1;
    w->keeps = w->keeps || w->hold.written;
    return 0;
}

// The smallest case, so that many are affordable; each call is compared. One is enough where the module keeps nothing.
static int many_calls(struct calls *w, struct kb_error *e)
{
    struct kb_repeat *r = w->r;
    int index = kb_data_smallest(w->d), failed;
    struct kb_plan plan = {0};
    r->many = true;
    r->c = &w->d->cases[index];
    if (kb_data_prepare(w->d, r->c, e) || kb_plan_make(w->d->bench, index, w->d->on_cpu, w->variant, &plan, e))
        return -1;
    r->set = &r->c->sets[0];
    double end = kb_spent_us(w->d) + MANY_US;
    int most = r->calls + KB_REPEAT_MANY;
    do {
        kb_trial_free(&r->last);
        failed = kb_trial_single(w->d, r->c, r->set, r->calls & 1, &w->program, &plan, w->variant, &r->last, e);
        r->calls++;
        end -= beside_us(w);
        failed = failed || look_for_memory(w, e);
    } while (!failed && w->keeps && r->last.pass && r->calls < most && kb_spent_us(w->d) < end);
    kb_plan_free(&plan);
    return failed;
}

int kb_repeat_run(struct kb_data *d, struct kb_case_data *c, const struct kb_variant *v, const cJSON *compiled,
                  const struct kb_image *image, const struct kb_plan *plan, bool many, struct kb_repeat *r,
                  struct kb_error *e)
{
    struct calls w = {.d = d, .variant = v, .r = r};
    *r = (struct kb_repeat){.c = c};
    if (kb_program_load(d->device, v, compiled, image, &w.program, e))
        return -1;
    int failed = kb_hold_open(&d->ops, &w.program, false, &w.hold, e) || all_pairs(&w, plan, e);
    w.keeps = kb_image_has_globals(image) || !w.hold.whole;
    if (!failed && r->last.pass && many)
        failed = look_for_memory(&w, e);
    if (!failed && r->last.pass && many && (w.keeps || w.hold.count))
        failed = many_calls(&w, e);
    kb_hold_close(&w.hold);
    kb_program_unload(&w.program);
    if (!failed && !r->last.pass)
        say_which(r);
    return failed ? -1 : 0;
}
