// `kbench-tui trace BENCH VARIANT`: one version traced, as text, as JSON, or as a frame of the screen.
#include "base/json.h"
#include "base/memory.h"
#include "loop/session.h"
#include "tui/app.h"
#include "tui/once.h"
#include "tui/script.h"
#include "tui/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_COLUMNS = 110, TEXT_ROWS = 48 };

struct command {
    const struct kb_options *options;
    struct kb_session *session;
    struct kb_app app;
    char *line; // the last `trace` event, for --json
};

static void on_event(void *context, const struct kb_event *e, const cJSON *event)
{
    struct command *c = context;
    if (e->type == KB_EVENT_trace) {
        free(c->line);
        c->line = kb_json_line(event);
    }
}

static const struct kb_trace *spans(void *context, const char *variant, int version)
{
    return kb_session_trace(((struct command *)context)->session, variant, version);
}

// The timeline alone, as tall as it needs.
static void add_text(struct command *c, struct kb_text *out)
{
    struct kb_grid grid;
    kb_grid_init(&grid, TEXT_COLUMNS, TEXT_ROWS, c->app.ascii);
    struct kb_canvas canvas = {&grid, {0, 0, grid.columns, grid.rows}};
    kb_timeline_draw(&c->app, &canvas);
    int blank = 0;
    for (int y = 0; y < grid.rows - 1; y++) { // the last row is about keys
        char *row = kb_grid_row(&grid, y);
        blank = row[0] ? 0 : blank + 1;
        if (blank < 2)
            kb_text_addf(out, "%s\n", row);
        free(row);
    }
    kb_grid_free(&grid);
}

static void add_frame(struct command *c, struct kb_text *out)
{
    struct kb_script script = {&c->app, NULL, c->options->columns, c->options->rows, out};
    c->app.overlay = KB_OVERLAY_TRACE;
    kb_script_screen(&script, out);
}

// Why there is no trace; NULL: there is one.
static const char *why_not(const struct command *c)
{
    const struct kb_model *m = kb_session_model(c->session);
    const struct kb_model_version *v = kb_model_current(m, kb_model_variant_index(m, c->options->variant));
    const struct kb_ev_trace *trace = v ? v->trace : NULL;
    if (trace && trace->state && !strcmp(trace->state, "done"))
        return NULL;
    return trace ? trace->reason ?: "it did not end" : m->status_text ?: "the version has no verdict";
}

static int tell(struct command *c)
{
    const char *why = why_not(c);
    struct kb_text out = {0};
    const struct kb_model *m = kb_session_model(c->session);
    kb_app_init(&c->app, m, !kb_locale_begin() || c->options->ascii);
    c->app.driver = (struct kb_driver){.context = c, .trace = spans};
    c->app.variant = kb_model_variant_index(m, c->options->variant);
    c->app.now_ms = m->now_ms;
    if (c->options->json && c->line)
        kb_text_addf(&out, "%s\n", c->line);
    else if (!why && c->options->columns)
        add_frame(c, &out);
    else if (!why)
        add_text(c, &out);
    bool bad = out.size && (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout));
    if (why) {
        char *text = kb_cleaned(why);
        fprintf(stderr, "kbench-tui: %s\n", text);
        free(text);
    }
    kb_text_free(&out);
    kb_app_free(&c->app);
    return bad ? KB_EXIT_USAGE : why ? KB_EXIT_FAILED : KB_EXIT_PASS;
}

static void complain(const struct kb_error *e)
{
    char *text = kb_cleaned(kb_error_line(e));
    fprintf(stderr, "kbench-tui: %s\n", text);
    free(text);
}

int kb_run_trace(const struct kb_options *o)
{
    struct command c = {.options = o};
    struct kb_session_options options;
    struct kb_error e = {0};
    int code = KB_EXIT_USAGE, index, trace_case = -1;
    kb_session_options_from(o, &options);
    options.once = options.no_profile = true;
    options.trace = o->variant;
    options.trace_case = &trace_case;
    options.on_event = on_event;
    options.context = &c;
    kb_catch_signals();
    if (kb_session_new(&options, &c.session, &e) ||
        (index = kb_case_named(kb_session_model(c.session), o->case_name, &e)) < -1) {
        complain(&e);
    } else {
        trace_case = index;
        while (!kb_session_ended(c.session) && kb_wait_and_step(c.session, -1))
            ;
        code = kb_stopped_by() ? 128 + kb_stopped_by() : tell(&c);
        int session = kb_session_exit_code(c.session);
        code = session > code ? session : code;
    }
    kb_session_free(c.session);
    free(c.line);
    return code;
}
