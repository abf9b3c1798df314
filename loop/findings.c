#include "loop/findings.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_at(const struct kb_ev_finding *f, int from, int to)
{
    int rung = kb_rung_parse(f->rung ?: "");
    return rung >= from && rung < to;
}

void kb_findings_drop(struct kb_model_version *v, int from, int to)
{
    int kept = 0;
    for (int i = 0; i < v->finding_count; i++) {
        if (is_at(&v->findings[i], from, to))
            kb_record_free(&kb_record_finding, &v->findings[i]);
        else
            v->findings[kept++] = v->findings[i];
    }
    v->finding_count = kept;
    if (!kept)
        v->findings_left_out = 0;
}

static bool same(const char *a, const char *b)
{
    return !strcmp(a ?: "", b ?: "");
}

static bool same_place(const struct kb_ev_finding *a, const struct kb_ev_finding *b)
{
    return a->line == b->line && same(a->rung, b->rung) && same(a->kind, b->kind) && same(a->kernel, b->kernel) &&
           same(a->file, b->file) && same(a->accepted, b->accepted);
}

static bool is_known(const struct kb_model_version *v, const struct kb_ev_finding *f)
{
    for (int i = 0; i < v->finding_count; i++)
        if (same_place(&v->findings[i], f))
            return true;
    return false;
}

void kb_findings_add(struct kb_model_version *v, const struct kb_ev_findings *event)
{
    v->findings_left_out += event->left_out > 0 ? event->left_out : 0;
    for (int i = 0; i < event->findings_count; i++) {
        struct kb_ev_finding f = event->findings[i]; // with the event's texts
        f.rung = event->rung;
        f.index = event->index;
        f.label = event->label;
        if (is_known(v, &f))
            continue;
        KB_GROW(v->findings, v->finding_count, v->finding_capacity);
        kb_record_copy(&kb_record_finding, &f, &v->findings[v->finding_count++]);
    }
}

bool kb_finding_warns(const struct kb_ev_finding *f)
{
    return !f->fails && !f->accepted;
}

char *kb_finding_place(const struct kb_ev_finding *f)
{
    const struct kb_ev_place *caller = f->called_at;
    char *kind = kb_strdup(f->kind ?: "?");
    for (char *c = kind; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    char *text = caller ? kb_format("%s at %s:%d, called at %s:%d", kind, f->file ?: "?", (int)f->line,
                                    caller->file ?: "?", (int)caller->line)
                        : kb_format("%s at %s:%d", kind, f->file ?: "?", (int)f->line);
    free(kind);
    return text;
}

const struct kb_ev_finding *kb_model_cause(const struct kb_model_version *v)
{
    const struct kb_ev_finding *warning = NULL;
    bool failed = false;
    for (int i = KB_RUNG_RUN; i < KB_RUNG_LATE; i++)
        failed = failed || v->rungs[i].status == KB_STATUS_FAIL;
    for (int i = 0; failed && i < v->finding_count; i++) {
        const struct kb_ev_finding *f = &v->findings[i];
        if (!is_at(f, KB_RUNG_RACES, KB_RUNG_RACES + 1))
            continue;
        if (f->fails)
            return f;
        warning = warning || !kb_finding_warns(f) ? warning : f;
    }
    return warning;
}

const struct kb_ev_finding *kb_model_finding(const struct kb_model_version *v, enum kb_rung rung)
{
    for (int i = 0; i < v->finding_count; i++)
        if (v->findings[i].fails && is_at(&v->findings[i], (int)rung, (int)rung + 1))
            return &v->findings[i];
    return NULL;
}
