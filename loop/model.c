// What is asked of the model.
#include "loop/model.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int kb_model_variant_index(const struct kb_model *m, const char *name)
{
    for (int i = 0; name && i < m->variant_count; i++)
        if (!strcmp(m->variants[i].name, name))
            return i;
    return -1;
}

const struct kb_ev_bench *kb_model_bench(const struct kb_model *m)
{
    return KB_WITHIN(m->session, bench, bench);
}

const struct kb_ev_bench_case *kb_model_case(const struct kb_model *m, int index)
{
    return m->session && index >= 0 && index < m->session->cases_count ? &m->session->cases[index]
                                                                       : &kb_unknown_bench_case;
}

const char *kb_model_case_name(const struct kb_model *m, int index)
{
    const struct kb_ev_bench_case *c = kb_model_case(m, index);
    return c->name && *c->name ? c->name : c->label ?: "?";
}

bool kb_model_device_is(const struct kb_model *m, const char *kind)
{
    return m->device && m->device->kind && !strcmp(m->device->kind, kind);
}

const struct kb_log_line *kb_model_log(const struct kb_model *m, int index)
{
    return index >= 0 && index < m->log_count ? &m->log[(m->log_start + index) % KB_LOG_MOST] : NULL;
}

struct kb_model_version *kb_model_current(const struct kb_model *m, int variant)
{
    if (variant < 0 || variant >= m->variant_count)
        return NULL;
    struct kb_model_variant *v = &m->variants[variant];
    for (int k = v->version_count - 1; k >= 0; k--)
        if (!v->versions[k].superseded)
            return &v->versions[k];
    return NULL;
}

struct kb_model_version *kb_model_version(const struct kb_model *m, int variant, int number)
{
    if (variant < 0 || variant >= m->variant_count)
        return NULL;
    struct kb_model_variant *v = &m->variants[variant];
    for (int k = v->version_count - 1; k >= 0; k--)
        if (v->versions[k].number == number && number > 0)
            return &v->versions[k];
    return NULL;
}

struct kb_model_version *kb_model_last_good(const struct kb_model *m, int variant)
{
    if (variant < 0 || variant >= m->variant_count)
        return NULL;
    struct kb_model_variant *v = &m->variants[variant];
    for (int k = v->version_count - 1; k >= 0; k--)
        if (v->versions[k].status == KB_STATUS_PASS && !v->versions[k].superseded)
            return &v->versions[k];
    return NULL;
}

const struct kb_ev_kernel_resources *kb_model_kernel(const struct kb_model_version *v)
{
    return v && v->resources && v->resources->kernels_count ? v->resources->kernels : &kb_unknown_kernel_resources;
}

const struct kb_ev_timing *kb_model_timing(const struct kb_model *m, const struct kb_model_version *v, int case_index)
{
    return v && case_index >= 0 && case_index < m->case_count ? v->cases[case_index].timing : NULL;
}

const struct kb_ev_case *kb_model_result(const struct kb_model_case *c)
{
    return c->verify ?: c->run;
}

bool kb_case_failed(const struct kb_ev_case *c)
{
    return c && c->status && !strcmp(c->status, "fail");
}

const struct kb_ev_output *kb_model_worst_output(const struct kb_model_version *v, int case_index)
{
    const struct kb_ev_output *worst = &kb_unknown_output;
    const struct kb_ev_case *c = kb_model_result(&v->cases[case_index]);
    double most = -1, error = -1;
    for (int i = 0; c && i < c->outputs_count; i++) {
        const struct kb_ev_metrics *m = c->outputs[i].metrics;
        double mismatches = m ? fmax(m->mismatches, 0) : -1, scaled = m ? fmax(m->scaled, 0) : -1; // unknown: 0
        if (mismatches > most || (mismatches == most && scaled > error)) {
            worst = &c->outputs[i];
            most = mismatches;
            error = scaled;
        }
    }
    return worst;
}

double kb_metric_at(const struct kb_ev_metrics *m, size_t metric)
{
    return *(const double *)(const void *)((const char *)m + metric);
}

double kb_model_worst(const struct kb_model *m, const struct kb_model_version *v, size_t metric)
{
    double worst = NAN;
    for (int i = 0; i < m->case_count; i++)
        worst = fmax(worst, kb_metric_at(KB_WITHIN(kb_model_worst_output(v, i), metrics, metrics), metric));
    return worst;
}

const char *kb_model_weak(const struct kb_model *m, int case_index, const char **reason)
{
    *reason = "the inputs were not made yet";
    for (int i = 0; m->weak && i < m->weak->cases_count; i++) {
        const struct kb_ev_weak_case *c = &m->weak->cases[i];
        if (c->index != case_index)
            continue;
        *reason = c->weak_reason ?: "the worker did not say";
        return c->weak;
    }
    return NULL;
}

const struct kb_ev_reported *kb_model_reported(const struct kb_model *m, int variant, int case_index)
{
    const struct kb_model_variant *v = variant >= 0 && variant < m->variant_count ? &m->variants[variant] : NULL;
    for (int i = 0; v && i < v->reported_count; i++)
        if (v->reported[i].index == case_index)
            return &v->reported[i];
    return NULL;
}

const char *kb_model_reported_wait(const struct kb_model *m)
{
    return kb_model_device_is(m, "cpu")    ? "commands are asked for their time on a GPU only"
           : kb_model_device_is(m, "none") ? "there is no device"
           : m->permission                 ? "a command waits to be allowed"
                                           : "it is asked when nothing else runs";
}
