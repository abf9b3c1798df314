#include "verify/repeat.h"
#include "base/clock.h"
#include "verify/fill.h"

#include <stdio.h>
#include <string.h>

enum { LONG_US = 400 * 1000, LEAST_PAIRS = 2 }; // where a pair takes long, fewer do

static void say_which(struct kb_repeat *r)
{
    char inner[sizeof r->last.reason];
    memcpy(inner, r->last.reason, sizeof inner);
    snprintf(r->last.reason, sizeof r->last.reason, "call %d or %d of a freshly loaded module: %.400s", r->calls - 1,
             r->calls, inner);
}

// New inputs under addresses that the version has seen, where the reference allows.
static struct kb_set *next_set(struct kb_data *d, struct kb_case_data *c, int pair, bool *fresh, struct kb_error *e)
{
    bool command = d->bench->reference.kind == KB_REFERENCE_COMMAND; // starting a program is never quick
    double most_us = command ? 0 : d->on_cpu ? 1e6 : 50e3;
    if (c->reference_us > most_us || !c->set_count)
        return kb_data_take(d, c, fresh, e);
    struct kb_set *s = &c->sets[pair % c->set_count];
    if (kb_set_fill(d, c, s, e))
        return NULL;
    s->verified = 1;
    *fresh = true;
    return s;
}

int kb_repeat_run(struct kb_data *d, struct kb_case_data *c, const struct kb_variant *v, const cJSON *compiled,
                  const struct kb_image *image, const struct kb_plan *plan, struct kb_repeat *r, struct kb_error *e)
{
    struct kb_program program = {0};
    int wanted = d->on_cpu ? KB_REPEAT_PAIRS : KB_REPEAT_PAIRS_GPU, failed = 0;
    *r = (struct kb_repeat){0};
    if (kb_program_load(d->device, v, compiled, image, &program, e))
        return -1;
    int64_t start = kb_now_us();
    do {
        bool fresh = false;
        kb_trial_free(&r->last);
        struct kb_set *s = next_set(d, c, r->pairs, &fresh, e);
        failed = !s || kb_trial_run(d, c, s, &program, plan, v, KB_TRIAL_VERIFY, &r->last, e);
        r->last.fresh = fresh;
        r->set = s;
        r->calls += 2;
        r->pairs++;
        r->differing += !failed && r->last.differs;
        if (r->pairs >= LEAST_PAIRS && kb_now_us() - start > LONG_US * (int64_t)r->pairs)
            break;
    } while (!failed && r->last.pass && r->pairs < wanted);
    kb_program_unload(&program);
    if (!failed && !r->last.pass)
        say_which(r);
    return failed ? -1 : 0;
}
