#include "verify/stress.h"
#include "base/memory.h"
#include "verify/fill.h"

#include <math.h>
#include <stdlib.h>

// A sample of the reference is looked at; a reference that takes longer is not run for inputs that nobody asked for.
enum { SAMPLE = 65536, SLOW_US = 300000 };

int kb_data_small_case(const struct kb_data *d)
{
    int best = -1;
    for (int i = 0; i < d->bench->case_count; i++) {
        const struct kb_case_data *c = &d->cases[i], *b = best < 0 ? NULL : &d->cases[best];
        bool plain = !d->bench->cases[i].fills, best_plain = b && !d->bench->cases[best].fills;
        if (!c->usable || !kb_case_is_small(d, c) || (best_plain && !plain))
            continue;
        if (!b || plain != best_plain || kb_case_elements(d, c) > kb_case_elements(d, b))
            best = i;
    }
    return best < 0 ? kb_data_smallest(d) : best;
}

bool kb_stress_applies(const struct kb_data *d, const struct kb_case_data *c, enum kb_stress kind)
{
    struct kb_hard hard = {d->bench, c->index, (const int64_t(*)[KB_MAX_DIMS])c->shape, c->elements, d->on_cpu};
    bool small = kb_data_small_case(d) == c->index && kb_case_is_small(d, c);
    return c->usable && kb_hard_applies(&hard, kind, small);
}

// A number that the output's type can hold.
static int has_number(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg, bool *has,
                      struct kb_error *e)
{
    enum kb_dtype dtype = d->bench->args[arg].dtype;
    uint64_t n = kbe_umin((uint64_t)c->elements[arg], SAMPLE);
    double *ref = kb_alloc(n * sizeof *ref + 8);
    int failed = n && d->device->ops->to_host(d->device, ref, s->ref[arg].address, n * sizeof *ref, e);
    *has = false;
    for (uint64_t i = 0; !failed && i < n && !*has; i++)
        *has = fabs(ref[i]) <= kbe_largest((int)dtype); // NaN is not
    free(ref);
    return failed ? -1 : 0;
}

static int fill(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    bool all = true, has;
    s->ready = s->has_reference = false;
    if (kb_set_inputs(d, c, s, e) || kb_set_reference(d, c, s, e))
        return -1;
    for (int arg = 0; arg < d->bench->arg_count; arg++) {
        if (!s->scale[arg].address)
            continue;
        if (has_number(d, c, s, arg, &has, e))
            return -1;
        all = all && has;
    }
    s->ready = s->has_reference = all;
    return 0;
}

static int make(struct kb_data *d, struct kb_case_data *c, enum kb_stress kind, struct kb_set *s, const char **why,
                struct kb_error *e)
{
    struct kb_error own = {0};
    if (d->used_bytes + c->set_bytes > d->budget_bytes) {
        *why = "no memory";
        return 0;
    }
    s->stressed = true;
    s->stress = kind;
    s->number = ~(uint64_t)kind; // apart from those of the bench's own sets
    int failed = kb_set_make(d, c, s, &own);
    if (!failed)
        d->used_bytes += c->set_bytes;
    bool made = !failed;
    failed = failed || fill(d, c, s, &own);
    if (failed && made && kb_data_was_stopped(d)) { // another time
        kb_set_free(d, s);
        d->used_bytes -= c->set_bytes;
    }
    if (failed && (kb_device_is_lost(d->device) || kb_data_was_stopped(d))) {
        *e = own;
        return -1;
    }
    d->reference_failed = false; // nobody asked it for these
    *why = s->ready ? NULL : failed ? "the reference fails there, or no memory" : "the reference has no number there";
    return 0;
}

int kb_stress_set(struct kb_data *d, struct kb_case_data *c, enum kb_stress kind, struct kb_set **out, const char **why,
                  struct kb_error *e)
{
    *out = NULL;
    *why = NULL;
    if (!kb_stress_applies(d, c, kind))
        return 0;
    if (!d->has_reference || d->bench->reference.kind != KB_REFERENCE_KERNEL)
        *why = "the reference is no kernel";
    else if (kb_reference_is_slower(d, c, SLOW_US))
        *why = "the reference takes long";
    if (*why)
        return 0;
    if (!c->stress)
        c->stress = kb_alloc(KB_STRESSES * sizeof *c->stress);
    struct kb_set *s = &c->stress[kind];
    bool tried = s->input != NULL || s->verified;
    if (!tried && make(d, c, kind, s, why, e))
        return -1;
    if (tried && s->spoilt && fill(d, c, s, e)) // a kernel wrote into an input
        return -1;
    if (tried && !s->ready)
        *why = s->input ? "the reference has no number there" : "no memory";
    s->verified = 1; // not to be tried again
    s->spoilt = false;
    *out = s->ready ? s : NULL;
    return 0;
}
