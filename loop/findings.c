#include "loop/findings.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void kb_findings_drop(struct kb_model_version *v, int from, int to)
{
    for (int i = cJSON_GetArraySize(v->findings) - 1; i >= 0; i--) {
        int rung = kb_rung_parse(kb_json_text(cJSON_GetArrayItem(v->findings, i), "rung", ""));
        if (rung >= from && rung < to)
            cJSON_DeleteItemFromArray(v->findings, i);
    }
    if (!cJSON_GetArraySize(v->findings)) {
        cJSON_Delete(v->findings);
        v->findings = NULL;
        v->findings_left_out = 0;
    }
}

static bool same_place(const cJSON *a, const cJSON *b)
{
    static const char *const keys[] = {"rung", "kind", "kernel", "file", "line"};
    for (size_t i = 0; i < KB_COUNT(keys); i++)
        if (!cJSON_Compare(kb_json_get(a, keys[i]), kb_json_get(b, keys[i]), true))
            return false;
    return !strcmp(kb_json_text(a, "accepted", ""), kb_json_text(b, "accepted", ""));
}

void kb_findings_add(struct kb_model_version *v, const cJSON *event)
{
    static const char *const from_event[] = {"rung", "case", "label"};
    const cJSON *from, *known;
    if (!v)
        return;
    v->findings = v->findings ? v->findings : cJSON_CreateArray();
    v->findings_left_out += kb_json_number(event, "left_out", 0);
    cJSON_ArrayForEach (from, kb_json_get(event, "findings")) {
        cJSON *item = cJSON_Duplicate(from, true);
        bool is_new = true;
        for (size_t i = 0; i < KB_COUNT(from_event); i++)
            kb_json_set(item, from_event[i], cJSON_Duplicate(kb_json_get(event, from_event[i]), true));
        cJSON_ArrayForEach (known, v->findings)
            is_new = is_new && !same_place(known, item);
        if (is_new)
            cJSON_AddItemToArray(v->findings, item);
        else
            cJSON_Delete(item);
    }
}

bool kb_finding_warns(const cJSON *finding)
{
    return !kb_json_bool(finding, "fails", true) && !kb_json_get(finding, "accepted");
}

char *kb_finding_place(const cJSON *finding)
{
    const cJSON *caller = kb_json_get(finding, "called_at");
    char *kind = kb_strdup(kb_json_text(finding, "kind", "?"));
    for (char *c = kind; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    char *text =
        kb_format("%s at %s:%d", kind, kb_json_text(finding, "file", "?"), (int)kb_json_int(finding, "line", 0));
    if (caller) {
        char *longer = kb_format("%s, called at %s:%d", text, kb_json_text(caller, "file", "?"),
                                 (int)kb_json_int(caller, "line", 0));
        free(text);
        text = longer;
    }
    free(kind);
    return text;
}

const cJSON *kb_model_cause(const struct kb_model_version *v)
{
    const cJSON *item, *warning = NULL;
    bool failed = false;
    for (int i = KB_RUNG_RUN; i < KB_RUNG_LATE; i++)
        failed = failed || v->rungs[i].status == KB_STATUS_FAIL;
    cJSON_ArrayForEach (item, v->findings) {
        if (!failed || kb_rung_parse(kb_json_text(item, "rung", "")) != KB_RUNG_RACES)
            continue;
        if (kb_json_bool(item, "fails", true))
            return item;
        warning = warning || !kb_finding_warns(item) ? warning : item;
    }
    return warning;
}

const cJSON *kb_model_finding(const struct kb_model_version *v, enum kb_rung rung)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, v->findings) {
        if (kb_rung_parse(kb_json_text(item, "rung", "")) == (int)rung && kb_json_bool(item, "fails", true))
            return item;
    }
    return NULL;
}
