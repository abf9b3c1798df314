// `export`: a failing case as a file of its own.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "verify/fill.h"
#include "verify/standalone.h"
#include "verify/stress.h"
#include "worker/run.h"

#include <stdlib.h>
#include <string.h>

// The inputs that it failed on, made again: values follow from the number of the set. `own` holds the buffers, if any.
static struct kb_set *failing_set(struct run_worker *w, struct kb_case_data *c, const struct run_failure *failure,
                                  struct kb_set *own, struct kb_error *e)
{
    struct kb_set *s = NULL;
    if (failure->stress >= 0) {
        if (!kb_stress_set(&w->data, c, (enum kb_stress)failure->stress, &s, e) && !s)
            kb_fail(e, c->label, NULL, "the inputs of that trial are gone");
        return s;
    }
    if (kb_set_make(&w->data, c, own, e))
        return NULL;
    own->number = failure->set;
    if (kb_set_inputs(&w->data, c, own, e) || (w->data.has_reference && kb_set_reference(&w->data, c, own, e)))
        return NULL;
    return own;
}

static char *text_of(struct run_worker *w, const struct run_version *v, struct kb_case_data *c, struct kb_error *e)
{
    const struct run_failure *failure = v->failures ? &v->failures[c->index] : NULL;
    struct kb_set own = {0};
    struct kb_plan plan = {0};
    char *text = NULL;
    if (!failure || !failure->known) {
        kb_fail(e, c->label, "only a case that failed can be exported", "this case has not failed");
        return NULL;
    }
    if (!w->data.has_reference) {
        kb_fail(e, c->label, NULL, "nothing to compare with: %s", w->data.no_reference);
        return NULL;
    }
    struct kb_set *s = failing_set(w, c, failure, &own, e);
    if (s && !kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &plan, e)) {
        struct kb_standalone request = {.variant = v->variant,
                                        .plan = &plan,
                                        .reason = failure->reason,
                                        .calls = failure->calls,
                                        .arg = failure->arg,
                                        .first = failure->index};
        text = kb_standalone_text(&w->data, c, s, &request, e);
        kb_plan_free(&plan);
    }
    kb_set_free(&w->data, &own);
    return text;
}

void run_export(struct run_worker *w, const struct kb_frame *f)
{
    struct kb_error error = {0};
    struct run_version *v = w->has_data ? run_find(w, kb_json_text(f->head, "version", "")) : NULL;
    int64_t index = kb_json_int(f->head, "case", -1);
    if (!v) {
        run_refuse(w, f, NULL, w->has_data ? "this version is not loaded" : "no bench was prepared");
        return;
    }
    if (index < 0 || index >= w->data.bench->case_count) {
        run_refuse(w, f, NULL, "the bench has no case of this number");
        return;
    }
    char *text = text_of(w, v, &w->data.cases[index], &error);
    if (!text) {
        run_end(w, f, NULL, "fail", kb_error_line(&error));
        return;
    }
    cJSON *head = kb_frame_head("exported", kb_frame_job(f));
    kb_json_set_text(head, "version", v->key);
    kb_json_set_number(head, "case", (double)index);
    kb_worker_send(head, text, strlen(text));
    free(text);
    run_end(w, f, NULL, "pass", NULL);
}
