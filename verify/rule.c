#include "verify/rule.h"

struct kb_sums kb_rule_sums(const struct kb_case_data *c, const struct kb_set *s)
{
    struct kb_sums sums = c->sums;
    sums.equal = sums.equal || (s->stressed && kb_hard_has_equal_terms(s->stress));
    return sums;
}

double kb_rule_own_rms(const struct kb_case_data *c, int arg)
{
    for (int i = 0; i < c->set_count; i++)
        if (c->sets[i].has_reference && c->sets[i].fallback[arg] > 0)
            return c->sets[i].fallback[arg];
    return 0;
}

void kb_rule_for(const struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg,
                 struct kb_bound *b)
{
    const struct kb_arg *a = &d->bench->args[arg];
    struct kb_sums sums = kb_rule_sums(c, s);
    if (s->stressed)
        kb_bound_for_stress(&d->bench->tolerance, a->dtype, &sums, kb_rule_own_rms(c, arg), b);
    else
        kb_bound_for(&d->bench->tolerance, a->dtype, &sums, b);
    b->rule.group = kb_scale_group(a->ndim, c->shape[arg]);
    b->rule.fallback = s->fallback[arg];
}

struct kb_wanted kb_rule_wanted(const struct kb_set *s, int arg, bool conditioned)
{
    return (struct kb_wanted){.ref = &s->ref[arg],
                              .scale = s->scale[arg].address ? &s->scale[arg] : NULL,
                              .condition =
                                  conditioned && s->probed && s->condition[arg].address ? &s->condition[arg] : NULL};
}
