// A bench that runs a command, for its reference or as a variant: nobody runs it before somebody has seen and allowed
// it.
#include "bench/options.h"
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

static bool is_of_options(const cJSON *permission)
{
    const cJSON *first = cJSON_GetArrayItem(kb_json_get(permission, "command"), 0);
    return cJSON_IsString(first) && !strcmp(first->valuestring, KB_OPTIONS_COMMAND);
}

void kb_permission_asked(struct kb_session *s, const cJSON *head)
{
    if (head || (s->permission && !is_of_options(s->permission))) // preparing anew says nothing about options
        emit(s, head != NULL, head ? head : s->permission);
}

void kb_session_allow(struct kb_session *s)
{
    const cJSON *words = kb_json_get(s->permission, "command"), *item;
    char **command = kb_alloc(((size_t)cJSON_GetArraySize(words) + 1) * sizeof *command);
    int n = 0;
    cJSON_ArrayForEach (item, words)
        if (cJSON_IsString(item))
            command[n++] = item->valuestring;
    if (n)
        kb_records_allow(s, command, kb_json_text(s->permission, "hash", ""));
    free(command);
}

// In inputs that are prepared anew, now with their references.
static void verify_again(struct kb_session *s)
{
    s->bench_generation++;
    for (int i = 0; i < s->slot_count; i++)
        if (s->slots[i].current)
            kb_build_rerun(s, s->slots[i].current, KB_RUNG_RUN);
}

// Options of the compiler

bool kb_options_may_go(struct kb_session *s, struct kb_build *b)
{
    struct kb_program *reference = b ? NULL : &s->programs[KB_PROGRAM_REFERENCE];
    const struct kb_variant *v = b ? b->resolved : &s->bench->reference.program;
    char **command = kb_options_command((const char *const *)v->options, v->option_count);
    bool free_to_go = !command || (reference && reference->allowed);
    if (!free_to_go && !(reference && reference->asked))
        kb_records_ask(s, b, command);
    if (reference)
        reference->asked = true;
    kb_free_list(command);
    return free_to_go;
}

static char *refusal(const struct kb_variant *v, const struct kb_error *e)
{
    const char *why = "", *option = kb_options_asking((const char *const *)v->options, v->option_count, &why);
    return e ? kb_strdup(kb_error_line(e))
             : kb_format("nobody has allowed the option %s: %s (" KB_OPTION_REMEDY ")", option ? option : "?", why);
}

static void answer_reference(struct kb_session *s, const struct kb_error *e, bool given)
{
    struct kb_program *p = &s->programs[KB_PROGRAM_REFERENCE];
    p->allowed = given;
    if (given && p->refused)
        verify_again(s);
    p->refused = !given;
    if (given)
        return;
    p->failed = true;
    free(p->reason);
    p->reason = refusal(&s->bench->reference.program, e);
    kb_status_line(s, "error", NULL, "the reference does not compile: %s", p->reason);
}

void kb_options_answered(struct kb_session *s, struct kb_build *b, const struct kb_error *e, bool given,
                         const cJSON *what)
{
    if (what && !given)
        emit(s, true, what);
    if (!b) {
        answer_reference(s, e, given);
    } else if (given) {
        kb_build_allowed(s, b);
    } else if (b->resolved) {
        char *reason = refusal(b->resolved, e);
        kb_build_refuse(s, b, reason);
        free(reason);
    }
    s->again = true;
}

// Whoever waits asks again: what was allowed may be another one's.
static void ask_again(struct kb_session *s)
{
    struct kb_program *reference = &s->programs[KB_PROGRAM_REFERENCE];
    if (reference->asked && !reference->allowed)
        reference->asked = reference->failed = false; // its compile asks
    for (int i = 0; i < s->slot_count; i++)
        if (s->slots[i].current && s->slots[i].current->options_refused)
            kb_options_may_go(s, s->slots[i].current);
}

// All inputs are prepared again, now with their references, and every variant is verified. After a refusal, too: what
// there is to look at has changed.
void kb_permission_written(struct kb_session *s, bool failed, const struct kb_error *e)
{
    if (failed)
        kb_status_line(s, "warning", e->remedy, "not allowed: %s%s%s", e->on, e->on[0] ? ": " : "", e->what);
    if (!failed && is_of_options(s->permission)) {
        emit(s, false, s->permission);
        ask_again(s);
        s->again = true;
        return;
    }
    if (failed)
        s->bench_generation++;
    else
        verify_again(s);
    s->again = true;
}
