#include "tui/export.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/model.h"
#include "tui/once.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct waiting {
    const struct kb_session *session;
    const char *variant;
    bool judged;
    struct kb_ev_exported *answer; // NULL: not yet
};

static void on_event(void *context, const struct kb_event *e, const cJSON *as_json)
{
    struct waiting *w = context;
    (void)as_json;
    if (e->type == KB_EVENT_verdict && !e->again && !strcmp(e->variant ?: "", w->variant))
        w->judged = true;
    if (e->type != KB_EVENT_exported)
        return;
    kb_record_delete(&kb_record_exported, w->answer);
    w->answer = kb_record_dup(&kb_record_exported, e->body);
}

static void say(const char *text, const char *remedy)
{
    char *clean = kb_cleaned(text);
    fprintf(stderr, "kbench-tui: %s%s%s%s\n", clean, remedy ? " (" : "", remedy ? remedy : "", remedy ? ")" : "");
    free(clean);
}

static bool source_is_lost(const struct waiting *w)
{
    const struct kb_model *m = kb_session_model(w->session);
    int i = kb_model_variant_index(m, w->variant);
    if (i < 0 || !m->variants[i].file_state)
        return false;
    char *what = kb_format("%s: %s", m->variants[i].source, m->variants[i].file_reason);
    say(what, NULL);
    free(what);
    return true;
}

static int finish(const struct waiting *w, struct kb_session *s)
{
    const struct kb_ev_exported *x = w->answer;
    if (x->path) {
        printf("case %s is in %s\n%s\n", x->label ?: "?", x->path, x->compile ?: "");
        return fflush(stdout) ? KB_EXIT_USAGE : KB_EXIT_PASS;
    }
    say(x->reason ?: "nothing was written", x->remedy);
    return kb_session_exit_code(s) == KB_EXIT_NO_DEVICE ? KB_EXIT_NO_DEVICE : KB_EXIT_FAILED;
}

static int wait_and_write(struct waiting *w, struct kb_session *s, const struct kb_options *o)
{
    bool asked = false;
    w->session = s;
    while (!w->answer) {
        if (!kb_wait_and_step(s, -1)) {
            say("stopped before the case was written", NULL);
            return 128 + (kb_stopped_by() ? kb_stopped_by() : SIGTERM);
        }
        if (!w->judged && source_is_lost(w))
            return KB_EXIT_FAILED;
        if (!w->judged || asked)
            continue;
        struct kb_error e = {0};
        int index = kb_case_named(kb_session_model(s), o->case_name, &e);
        if (index < -1) {
            say(e.what, e.remedy);
            return KB_EXIT_USAGE;
        }
        kb_session_export(s, w->variant, index, o->failing_file);
        asked = true;
    }
    return finish(w, s);
}

int kb_run_export_case(const struct kb_options *o)
{
    struct waiting w = {.variant = o->variant};
    struct kb_session_options options;
    struct kb_session *s = NULL;
    struct kb_error error = {0};
    int code = KB_EXIT_USAGE;
    kb_session_options_from(o, &options);
    options.on_event = on_event;
    options.context = &w;
    options.no_profile = true;
    kb_catch_signals();
    if (kb_session_new(&options, &s, &error))
        say(kb_error_line(&error), NULL);
    else
        code = wait_and_write(&w, s, o);
    kb_session_free(s);
    kb_record_delete(&kb_record_exported, w.answer);
    return code;
}
