// `case` events.
#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"
#include "verify/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cJSON *first_bad(const struct kb_data *d, const struct kb_case_data *c, const struct kb_trial_output *o)
{
    int ndim = d->bench->args[o->arg].ndim;
    double index[KB_MAX_DIMS];
    uint64_t flat = o->bad_index;
    for (int i = ndim - 1; i >= 0; i--) {
        uint64_t n = (uint64_t)c->shape[o->arg][i];
        index[i] = (double)(flat % n);
        flat /= n;
    }
    cJSON *bad = cJSON_CreateObject();
    kb_json_set(bad, "index", cJSON_CreateDoubleArray(index, ndim));
    kb_json_set(bad, "got", kb_json_value(o->got));
    kb_json_set(bad, "want", kb_json_value(o->want));
    return bad;
}

static cJSON *map_json(const struct kb_case_data *c, const struct kb_trial_output *o)
{
    const struct kbe_map *m = &o->map;
    uint64_t all[KBE_MAP_ROWS * KBE_MAP_COLUMNS] = {0};
    char digits[KBE_MAP_ROWS * KBE_MAP_COLUMNS + 1];
    uint64_t layers = (uint64_t)c->elements[o->arg] / (m->rows * m->columns);
    int cells = (int)(m->cell_rows * m->cell_columns);
    // Elements of a cell: rows of the cell times columns of the cell times the layers folded onto each other.
    uint64_t rows[KBE_MAP_ROWS] = {0}, columns[KBE_MAP_COLUMNS] = {0};
    for (uint64_t i = 0; i < m->rows; i++)
        rows[i * m->cell_rows / m->rows]++;
    for (uint64_t i = 0; i < m->columns; i++)
        columns[i * m->cell_columns / m->columns]++;
    for (int i = 0; i < cells; i++) {
        all[i] = rows[(uint64_t)i / m->cell_columns] * columns[(uint64_t)i % m->cell_columns] * layers;
        digits[i] = kb_map_digit(o->cells[i], all[i]);
    }
    digits[cells] = 0;
    cJSON *map = cJSON_CreateObject();
    kb_json_set_number(map, "rows", (double)m->cell_rows);
    kb_json_set_number(map, "columns", (double)m->cell_columns);
    kb_json_set_text(map, "cells", digits);
    return map;
}

static cJSON *tolerance_json(const struct kb_bound *b)
{
    cJSON *t = cJSON_CreateObject();
    kb_json_set_text(t, "metric", b->metric);
    kb_json_measured(t, "bound", b->bound, isnan(b->bound) ? "bit for bit" : NULL);
    kb_json_set_text(t, "why", b->why);
    return t;
}

static cJSON *metrics_json(const struct kb_data *d, const struct kb_case_data *c, const struct kb_trial *t,
                           const struct kb_trial_output *o)
{
    bool whole = o->compared && t->depth == KB_TRIAL_VERIFY;
    cJSON *m = whole ? kb_metrics_json(&o->metrics, &o->part) : cJSON_CreateObject();
    if (t->device_failed) // nothing was looked at
        return m;
    kb_json_measured(m, "nonfinite", (double)o->part.nonfinite, o->compared ? NULL : "no reference");
    kb_json_set_number(m, "unwritten", (double)o->inspection.unwritten);
    kb_json_set_number(m, "guard_bytes_changed", (double)o->guard_bytes);
    kb_json_set_number(m, "differing", (double)o->inspection.differ);
    if (whole)
        kb_json_set(m, "first_bad", o->has_bad ? first_bad(d, c, o) : cJSON_CreateNull());
    return m;
}

static cJSON *output_json(const struct kb_data *d, const struct kb_case_data *c, const struct kb_trial *t,
                          const struct kb_trial_output *o)
{
    cJSON *out = cJSON_CreateObject();
    kb_json_set_text(out, "arg", d->bench->args[o->arg].name);
    kb_json_set_text(out, "status", t->device_failed || !o->pass ? "fail" : "pass");
    kb_json_set_text(out, "reason", o->reason[0] ? o->reason : NULL);
    kb_json_set_number(out, "elements", (double)c->elements[o->arg]);
    kb_json_set(out, "tolerance",
                o->compared && t->depth == KB_TRIAL_VERIFY ? tolerance_json(&o->bound) : cJSON_CreateNull());
    const char *why = "not compared with a reference";
    bool judged = o->compared && t->depth == KB_TRIAL_VERIFY && !t->device_failed;
    double margin = judged ? kb_margin(&o->bound, &o->metrics, &o->part, &why) : NAN;
    kb_json_measured(out, "margin", margin, why);
    kb_json_set(out, "metrics", metrics_json(d, c, t, o));
    kb_json_set(out, "map", o->has_bad ? map_json(c, o) : cJSON_CreateNull());
    kb_json_set_text(out, "where", o->where[0] ? o->where : NULL);
    return out;
}

cJSON *kb_trial_json(const struct kb_data *d, const struct kb_case_data *c, const struct kb_trial *t)
{
    cJSON *event = cJSON_CreateObject(), *outputs = cJSON_CreateArray();
    kb_json_set_text(event, "rung", t->depth == KB_TRIAL_RUN ? "run" : "verify");
    kb_json_set_number(event, "case", c->index);
    char *label = t->inputs ? kb_format("%s, %s", c->label, t->inputs) : kb_strdup(c->label);
    kb_json_set_text(event, "label", label);
    free(label);
    kb_json_set_text(event, "status", t->pass ? "pass" : "fail");
    kb_json_set_text(event, "reason", t->reason[0] ? t->reason : NULL);
    kb_json_set_text(event, "set", t->fresh ? "fresh" : "reused");
    for (int i = 0; i < t->output_count; i++)
        cJSON_AddItemToArray(outputs, output_json(d, c, t, &t->outputs[i]));
    kb_json_set(event, "outputs", outputs);
    return event;
}
