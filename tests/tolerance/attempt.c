#include "tolerance/attempt.h"
#include "base/memory.h"
#include "verify/stress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETERS = 8, REPEATS = 6 };

static struct { // what the kernel "v" is at the moment
    const struct operator* op;
    toy_kernel kernel;
    enum worse worse;
    const struct toy *toy;
    int case_index;
    double bound; // of the output
} now;

bool attempt_applies(const struct operator* op, enum worse worse)
{
    bool single = strstr(op->bench, "'role':'input','dtype':'f32'") != NULL;
    switch (worse) {
    case COARSE_INPUTS:
        return single && !(op->traits & INTEGERS) && !strstr(op->bench, "e4m3");
    case LAST_DROPPED:
        return op->traits & SUMS;
    case FOUR_TIMES:
        return !(op->traits & INTEGERS);
    case OTHER_TIE:
        return op->traits & TIES;
    default:
        return true;
    }
}

static void *coarse_copy(const void *from, int64_t n, enum kb_dtype dtype)
{
    size_t size = kb_dtype_bytes(dtype);
    void *to = kb_alloc((size_t)n * size + 8);
    for (int64_t i = 0; i < n; i++) {
        double v = kbe_decode((int)dtype, kbe_load(from, (int)size, (uint64_t)i));
        kbe_store(to, (int)size, (uint64_t)i, kbe_encode((int)dtype, kbe_decode(KBE_BF16, kbe_encode(KBE_BF16, v))));
    }
    return to;
}

// By four times what is allowed at the size of the result; of a scalar at the size of what was summed.
static void enlarge_errors(void *out, int64_t n, enum kb_dtype dtype, int64_t summed)
{
    int size = (int)kb_dtype_bytes(dtype);
    double whole = n == 1 ? sqrt((double)summed) : 0;
    for (int64_t i = 0; i < n; i++) {
        double v = kbe_decode((int)dtype, kbe_load(out, size, (uint64_t)i));
        kbe_store(out, size, (uint64_t)i, kbe_encode((int)dtype, v + 4 * now.bound * fmax(fabs(v), whole)));
    }
}

static void current_kernel(void *const *args)
{
    const struct kb_case_data *c = &now.toy->data.cases[now.case_index];
    const struct kb_arg *list = now.toy->data.bench->args;
    int output = now.op->input_count;
    void *own[MOST_PARAMETERS];
    uint64_t address[3];
    memcpy(own, args, (size_t)now.toy->data.bench->arg_count * sizeof *own);
    for (int i = 0; now.worse == COARSE_INPUTS && i < output; i++) {
        const void *from = (const void *)(uintptr_t) * (const uint64_t *)args[i];
        address[i] = (uint64_t)(uintptr_t)coarse_copy(from, c->elements[i], list[i].dtype);
        own[i] = &address[i];
    }
    operators_dropped = now.worse == LAST_DROPPED;
    operators_other_tie = now.worse == OTHER_TIE;
    now.kernel(own);
    operators_dropped = operators_other_tie = 0;
    for (int i = 0; now.worse == COARSE_INPUTS && i < output; i++)
        free((void *)(uintptr_t)address[i]);
    if (now.worse == FOUR_TIMES)
        enlarge_errors((void *)(uintptr_t) * (uint64_t *)args[output], c->elements[output], list[output].dtype,
                       c->elements[0]);
}

static void take(struct attempt *a, const struct kb_trial *t, const char *what)
{
    const struct kb_trial_output *o = &t->outputs[0];
    if (!t->pass && a->pass) {
        a->pass = false;
        snprintf(a->where, sizeof a->where, "%.60s: %.120s", what, t->reason);
    }
    if (t->pass && o->compared && o->bound.rule.scaled > 0 && isfinite(o->bound.rule.scaled) && o->metrics.scaled > 0)
        a->margin = fmax(a->margin, o->metrics.scaled / o->bound.rule.scaled);
}

static void try_case(struct toy *t, int index, struct attempt *a)
{
    struct kb_trial trial;
    now.case_index = index;
    struct kb_bound b;
    struct kb_tolerance plain = {.kind = KB_TOLERANCE_AUTO};
    struct kb_error e = {0};
    if (!kb_data_prepare(&t->data, &t->data.cases[index], &e)) {
        kb_bound_for(&plain, t->data.bench->args[now.op->input_count].dtype, &t->data.cases[index].sums, &b);
        now.bound = b.bound;
    }
    const char *failed = toy_try(t, index, KB_TRIAL_VERIFY, &trial);
    if (failed) {
        a->pass = false;
        snprintf(a->where, sizeof a->where, "not tried: %.150s", failed);
        return;
    }
    take(a, &trial, t->data.cases[index].label);
    kb_trial_free(&trial);
}

static void try_hard(struct toy *t, int index, enum kb_stress kind, struct attempt *a)
{
    struct kb_case_data *c = &t->data.cases[index];
    struct kb_trial trial = {0};
    struct kb_plan plan = {0};
    struct kb_error e = {0};
    struct kb_set *s;
    const char *why;
    now.case_index = index;
    if (kb_stress_set(&t->data, c, kind, &s, &why, &e) || !s)
        return;
    if (!kb_plan_make(t->data.bench, index, true, t->variant, &plan, &e) &&
        !kb_trial_single(&t->data, c, s, 0, &t->program, &plan, t->variant, &trial, &e))
        take(a, &trial, kb_stress_name(kind));
    kb_trial_free(&trial);
    kb_plan_free(&plan);
}

void attempt_run(const struct operator* op, int kernel, enum worse worse, uint64_t seed, struct attempt *a)
{
    const struct toy_entry entries[] = {{"ref", op->reference}, {"v", current_kernel}, {NULL, NULL}};
    struct toy t;
    *a = (struct attempt){.pass = true};
    now.op = op;
    now.kernel = op->kernels[kernel];
    now.worse = worse;
    now.toy = &t;
    toy_free_bytes = (size_t)1 << 31;
    if (toy_setup(&t, entries, op->bench)) {
        a->pass = false;
        snprintf(a->where, sizeof a->where, "%.150s", t.error.what);
        return;
    }
    t.data.seed = seed;
    for (int i = 0; i < t.data.bench->case_count && (a->pass || worse == RIGHT); i++)
        try_case(&t, i, a);
    for (int i = 0; i < t.data.bench->case_count; i++)
        for (int kind = 0; kind < KB_STRESSES && (a->pass || worse == RIGHT); kind++)
            try_hard(&t, i, (enum kb_stress)kind, a);
    for (int i = 0; i < REPEATS && (a->pass || worse == RIGHT); i++)
        try_case(&t, 0, a);
    toy_teardown(&t);
}
