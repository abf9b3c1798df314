// `export`: a failing case as a file of its own. The kernel is not run and need not be loaded: what failed, and on
// which inputs, is in the request. So a case whose kernel took its worker with it can be written by the next one.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "verify/fill.h"
#include "verify/mask.h"
#include "verify/neighbour.h"
#include "verify/standalone.h"
#include "verify/stress.h"
#include "worker/run.h"

#include <stdlib.h>
#include <string.h>

// The inputs that it failed on, made again: values follow from the number of the set. `own` holds the buffers, if any.
static struct kb_set *failing_set(struct run_worker *w, struct kb_case_data *c, const cJSON *failure,
                                  struct kb_set *own, struct kb_error *e)
{
    struct kb_set *s = NULL;
    const char *why;
    enum kb_stress stress = kb_stress_parse(kb_json_text(failure, "inputs", ""));
    if (!strncmp(kb_json_text(failure, "inputs", ""), KB_NEIGHBOUR_INPUTS, strlen(KB_NEIGHBOUR_INPUTS))) {
        kb_fail(e, c->label, "give the bench a case of this size, and export that",
                "it failed at a size that no case has");
        return NULL;
    }
    if (stress < KB_STRESSES) {
        if (!kb_stress_set(&w->data, c, stress, &s, &why, e) && !s)
            kb_fail(e, c->label, NULL, "the inputs of that trial cannot be made again: %s",
                    why ? why : "the case does not meet them");
        return s;
    }
    bool failed =
        run_failing_set(w, c, failure, own, e) || (w->data.has_reference && kb_set_reference(&w->data, c, own, e));
    return failed ? NULL : own;
}

// The output to look at: that which was wrong, else the first one. -1: the bench has none.
static int output_of(const struct kb_bench *b, const cJSON *failure)
{
    int arg = kb_bench_find_arg(b, kb_json_text(failure, "arg", ""));
    for (int i = 0; i < b->arg_count && arg < 0; i++)
        arg = kb_arg_is_written(b->args[i].role) ? i : -1;
    return arg >= 0 && kb_arg_is_written(b->args[arg].role) ? arg : -1;
}

static char *text_of(struct run_worker *w, const cJSON *head, const struct kb_variant *v, struct kb_case_data *c,
                     struct kb_error *e)
{
    const cJSON *failure = kb_json_get(head, "failure");
    int64_t calls = kb_json_int(failure, "calls", 1);
    struct kb_standalone request = {.variant = v,
                                    .reason = kb_json_text(head, "reason", NULL),
                                    .inputs = kb_json_text(failure, "inputs", NULL),
                                    .same = kb_json_bool(failure, "same", false),
                                    .calls = calls < 1 || calls > 1000 ? 1 : (int)calls,
                                    .arg = output_of(w->data.bench, failure),
                                    .first = strtoull(kb_json_text(failure, "index", "0"), NULL, 10)};
    struct kb_set own = {0};
    struct kb_plan plan = {0};
    char *text = NULL;
    if (request.arg < 0) {
        kb_fail(e, w->data.bench->name, NULL, "the bench has no output to look at");
        return NULL;
    }
    if (kb_data_prepare(&w->data, c, e))
        return NULL;
    struct kb_set *s = failing_set(w, c, failure, &own, e);
    int bent;
    if (s && kb_mask_open(&w->data, s, &bent, e)) // one that was made for a trial
        s = NULL;
    if (s && !kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v, &plan, e)) {
        request.plan = &plan;
        text = kb_standalone_text(&w->data, c, s, &request, e);
        kb_plan_free(&plan);
    }
    kb_set_free(&w->data, &own);
    return text;
}

void run_export(struct run_worker *w, const struct kb_frame *f)
{
    struct kb_error error = {0};
    struct kb_variant *v = NULL;
    int64_t index = kb_json_int(f->head, "case", -1);
    if (!w->has_data) {
        run_refuse(w, f, NULL, "no bench was prepared");
        return;
    }
    if (index < 0 || index >= w->data.bench->case_count) {
        run_refuse(w, f, NULL, "the bench has no case of this number");
        return;
    }
    char *text = NULL;
    uint64_t seed = w->data.seed;
    const char *own = kb_json_text(kb_json_get(f->head, "failure"), "seed", NULL);
    w->data.seed = own ? strtoull(own, NULL, 10) : seed; // it may have failed on another seed than the session's
    if (!kb_variant_from_json(kb_json_get(f->head, "variant"), &v, &error))
        text = text_of(w, f->head, v, &w->data.cases[index], &error);
    w->data.seed = seed;
    kb_variant_free(v);
    if (!text) {
        run_end(w, f, NULL, "fail", kb_error_line(&error));
        return;
    }
    cJSON *head = kb_frame_head("exported", kb_frame_job(f));
    kb_json_set_number(head, "case", (double)index);
    kb_worker_send(head, text, strlen(text));
    free(text);
    run_end(w, f, NULL, "pass", NULL);
}
