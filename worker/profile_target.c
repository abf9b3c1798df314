// A version's launches as the profilers want them: one run at a time, cold, from the same beginning.
#include "base/json.h"
#include "base/memory.h"
#include "worker/profile.h"

#include <stdlib.h>

struct run_version *profile_version(struct profile_worker *p, const struct kb_frame *f, const char *rung)
{
    struct run_worker *w = &p->run;
    struct run_version *v = w->has_data ? run_find(w, kb_json_text(f->head, "version", "")) : NULL;
    if (!v)
        profile_end(p, f, rung, "fail", w->has_data ? "this version is not loaded" : "no bench was prepared", NULL);
    return v;
}

int profile_open(struct profile_worker *p, const struct kb_frame *f, const struct run_version *v,
                 struct profile_target *t, struct kb_error *e)
{
    struct run_worker *w = &p->run;
    struct kb_case_data *c = &w->data.cases[kb_bench_headline(w->data.bench)];
    *t = (struct profile_target){.worker = p, .request = f, .version = v, .data = c};
    if (kb_data_prepare(&w->data, c, e))
        return -1;
    for (int i = 0; i < c->set_count && !t->set; i++)
        t->set = c->sets[i].ready ? &c->sets[i] : NULL;
    if (!t->set)
        return kb_fail(e, c->label, NULL, "there are no inputs for this case");
    t->addresses = kb_alloc((size_t)w->data.bench->arg_count * sizeof *t->addresses);
    kb_data_addresses(&w->data, c, t->set, 0, t->addresses);
    if (!kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &t->plan, e) &&
        !kb_program_load(w->device, v->variant, v->compiled, &v->image, &t->program, e) &&
        !kb_data_reset(&w->data, c, t->set, 0, e))
        return 0;
    profile_close(t);
    return -1;
}

void profile_close(struct profile_target *t)
{
    kb_program_unload(&t->program);
    kb_plan_free(&t->plan);
    free(t->addresses);
    t->addresses = NULL;
}

static int restore(struct profile_target *t, struct kb_error *e)
{
    struct kb_data *d = &t->worker->run.data;
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_buffer *from = &t->set->input[i], *to = &t->data->work[0][i];
        if (d->bench->args[i].role == KB_INOUT && from->bytes &&
            d->device->ops->copy(d->device, to->address, from->address, from->bytes, e))
            return -1;
    }
    return 0;
}

int profile_before(void *target, struct kb_error *e)
{
    struct profile_target *t = target;
    struct kb_device *device = t->worker->run.device;
    return restore(t, e) || (device->ops->flush && device->ops->flush(device, e)) ? -1 : 0;
}

int profile_launch(void *target, struct kb_error *e)
{
    struct profile_target *t = target;
    return kb_plan_launch_all(&t->program, &t->plan, t->version->variant, t->worker->run.data.bench, t->addresses, e);
}
