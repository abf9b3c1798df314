#include "verify/resized.h"

#include <math.h>

enum { KEPT_REST = 8 }; // what vectors and unrolled loops leave over stays as it is
static const double NEARLY = 0.9;

static int64_t least_of(const struct kb_data *d, const char *param)
{
    int64_t least = kb_case_param(d->bench, 0, d->on_cpu, param);
    for (int i = 1; i < d->bench->case_count; i++) {
        int64_t has = kb_case_param(d->bench, i, d->on_cpu, param);
        least = least < has ? least : has;
    }
    return least;
}

// Where the bench itself has an odd size no kernel may count on another; and with larger and smaller ones than this
// none may count on less.
bool kb_param_is_free(const struct kb_data *d, const char *param, int64_t value)
{
    int64_t most = value;
    bool odd = false;
    for (int i = 0; i < d->bench->case_count; i++) {
        int64_t has = kb_case_param(d->bench, i, d->on_cpu, param);
        odd = odd || (has > 1 && has % 2);
        most = i && most > has ? most : has;
    }
    return odd && value >= least_of(d, param) && value <= most;
}

// Names that are set later win.
struct kb_resized_kept kb_resized_enter(struct kb_data *d, const struct kb_resized *r)
{
    struct kb_case *c = &d->bench->cases[r->data.index];
    struct kb_resized_kept k = {.over = d->on_cpu ? &c->cpu_over : &c->over};
    kb_names_copy(&k.before, k.over);
    for (int i = 0; i < r->sizes.count; i++)
        kb_names_set(k.over, r->sizes.items[i].name, r->sizes.items[i].value);
    return k;
}

void kb_resized_leave(struct kb_resized_kept *k)
{
    kb_names_free(k->over);
    *k->over = k->before;
}

bool kb_resized_open(struct kb_data *d, struct kb_resized *r)
{
    if (!r->opened) {
        struct kb_resized_kept k = kb_resized_enter(d, r);
        kb_case_open(d, r->data.index, &r->data);
        kb_resized_leave(&k);
    }
    r->opened = true;
    return r->data.usable;
}

void kb_resized_close(struct kb_data *d, struct kb_resized *r)
{
    if (r->opened)
        kb_case_close(d, &r->data);
    kb_names_free(&r->sizes);
}

// The smallest size of at least `wanted` with the same rest, not below `least`.
static int64_t smaller(int64_t size, double wanted, int64_t least)
{
    int64_t to = (int64_t)ceil(fmax(wanted, (double)least));
    to += ((size - to) % KEPT_REST + KEPT_REST) % KEPT_REST;
    return to < size ? to : size;
}

bool kb_resized_smaller(const struct kb_data *d, int index, double share, struct kb_resized *r)
{
    const struct kb_names *params = &d->bench->params;
    *r = (struct kb_resized){.data = {.index = index}};
    for (int k = 0; k < params->count && share < NEARLY; k++) {
        const char *param = params->items[k].name;
        int64_t size = kb_case_param(d->bench, index, d->on_cpu, param), least = least_of(d, param);
        int64_t to = size > 0 ? smaller(size, share * (double)size, least) : size;
        if (to == size || !kb_param_is_free(d, param, to))
            continue;
        kb_names_set(&r->sizes, param, to);
        share *= (double)size / (double)to;
    }
    return r->sizes.count && share >= NEARLY;
}
