// A bench that runs a command, for its reference or as a variant: nobody runs it before somebody has seen and allowed
// it.
#include "loop/parts.h"

#include <stdlib.h>
#include <string.h>

static void emit(struct kb_session *s, bool needed, const cJSON *from)
{
    static const char *const keys[] = {"line", "dir", "command", "files", "file_count", "hash"};
    cJSON *event = kb_event("permission");
    kb_json_set_bool(event, "needed", needed);
    for (size_t i = 0; i < KB_COUNT(keys); i++)
        if (kb_json_get(from, keys[i]))
            kb_json_set(event, keys[i], cJSON_Duplicate(kb_json_get(from, keys[i]), true));
    cJSON_Delete(s->permission);
    s->permission = needed ? cJSON_Duplicate(event, true) : NULL;
    kb_emit(s, event);
}

void kb_permission_asked(struct kb_session *s, const cJSON *head)
{
    if (head || s->permission)
        emit(s, head != NULL, head ? head : s->permission);
}

void kb_session_allow(struct kb_session *s)
{
    const cJSON *words = kb_json_get(s->permission, "command"), *item;
    char **command = kb_alloc(((size_t)cJSON_GetArraySize(words) + 1) * sizeof *command);
    int n = 0;
    cJSON_ArrayForEach(item, words) if (cJSON_IsString(item)) command[n++] = item->valuestring;
    if (n)
        kb_records_allow(s, command, kb_json_text(s->permission, "hash", ""));
    free(command);
}

// All inputs are prepared again, now with their references, and every variant is verified. After a refusal, too: what
// there is to look at has changed.
void kb_permission_written(struct kb_session *s, bool failed, const struct kb_error *e)
{
    if (failed)
        kb_status_line(s, "warning", e->remedy, "not allowed: %s%s%s", e->on, e->on[0] ? ": " : "", e->what);
    s->bench_generation++;
    for (int i = 0; !failed && i < s->slot_count; i++)
        if (s->slots[i].current)
            kb_build_rerun(s, s->slots[i].current, KB_RUNG_RUN);
    s->again = true;
}
