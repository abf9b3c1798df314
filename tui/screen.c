#include "tui/screen.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "loop/session.h"
#include "tui/app.h"
#include "tui/code_store.h"
#include "tui/editor.h"
#include "tui/input.h"
#include "tui/once.h"
#include "tui/picker.h"
#include "tui/replay.h"
#include "tui/signals.h"
#include "tui/source_lines.h"
#include "tui/terminal.h"
#include "tui/view.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SESSION_FDS = 64, FRAME_MS = 16 };

struct screen {
    struct kb_app app;
    struct kb_terminal *terminal;
    const struct kb_theme *theme;
    struct kb_input input;
    struct kb_model empty; // shown while there is no session
    struct kb_session *session;
    struct kb_replay *replay;
    struct kb_background *background;
    struct kb_source_lines *sources;
    struct kb_code_store *code;
    struct kb_session_options session_options;
    struct kb_guess_choices choices; // while there is no session: which kernel?
    struct kb_picker picker;
    char *kernel;          // the one that was chosen
    struct kb_error error; // it ended with this; "": with none
    sigset_t inside;       // mask for ppoll
    int64_t start_us, drawn_us;
    bool stale; // the screen shows less than is known
    bool now;   // a key was pressed: do not wait for the next frame
    bool quit;
    int signal_number; // that ended it; 0: none
    pid_t editor;
    int editor_fd;
};

static void on_event(void *context, const struct kb_event *e, const cJSON *as_json)
{
    struct screen *s = context;
    (void)as_json;
    if (s->code)
        kb_code_store_event(s->code, e);
    if (s->sources && e->type == KB_EVENT_errors)
        kb_source_lines_forget(s->sources);
    s->stale = true;
}

static void do_command(void *context, int what, const char *arg)
{
    struct screen *s = context;
    if (what == KB_COMMAND_RETRY && s->code)
        kb_code_store_retry(s->code);
    if (s->session)
        kb_session_command(s->session, (enum kb_command)what, arg);
}

static bool do_replay(void *context, enum kb_action action)
{
    struct screen *s = context;
    return kb_replay_act(s->replay, action);
}

static const char *source_line(void *context, const char *file, int line)
{
    struct screen *s = context;
    return s->sources ? kb_source_line(s->sources, file, line) : NULL;
}

static int source_line_count(void *context, const char *file)
{
    struct screen *s = context;
    return s->sources ? kb_source_line_count(s->sources, file) : 0;
}

static void code(void *context, const struct kb_code_request *request, struct kb_code_answer *answer)
{
    struct screen *s = context;
    kb_code_store_get(s->code, request, answer);
}

static const struct kb_trace *trace(void *context, const char *variant, int version)
{
    struct screen *s = context;
    return kb_session_trace(s->session, variant, version);
}

static void draw(struct screen *s)
{
    struct kb_grid grid;
    int columns, rows;
    kb_terminal_size(s->terminal, &columns, &rows);
    kb_grid_init(&grid, columns, rows, s->app.ascii);
    s->app.now_ms = s->replay ? kb_replay_time_ms(s->replay) : (kb_now_us() - s->start_us) / 1000;
    s->app.replay_text = s->replay ? kb_replay_text(s->replay, s->app.ascii) : NULL;
    if (s->choices.count) {
        kb_picker_draw(&s->picker, &grid);
    } else {
        kb_app_follow(&s->app);
        kb_app_draw(&s->app, &grid);
    }
    kb_terminal_draw(s->terminal, &grid);
    kb_grid_free(&grid);
    s->stale = s->now = false;
    s->drawn_us = kb_now_us();
    if (s->session && kb_code_store_ask(s->code, s->session))
        s->stale = true;
    if (s->sources)
        kb_source_lines_ask(s->sources);
}

// ms until the next frame may or must be drawn.
static int frame_wait_ms(const struct screen *s)
{
    int since = (int)((kb_now_us() - s->drawn_us) / 1000);
    int due = s->stale ? FRAME_MS : s->replay && kb_replay_wait_ms(s->replay) >= 0 ? 100 : kb_app_tick_ms(&s->app);
    return s->now || since >= due ? 0 : due - since;
}

static void draw_if_due(struct screen *s)
{
    if (!s->editor && !kb_terminal_busy(s->terminal) && frame_wait_ms(s) == 0)
        draw(s);
}

static void say(struct screen *s, const struct kb_error *e)
{
    snprintf(s->app.note, sizeof s->app.note, "%s", kb_error_line(e));
    s->stale = s->now = true;
}

// The first error's place, else the kernel's line. *line is filled; owned path.
static char *place_to_edit(const struct screen *s, int *line)
{
    const struct kb_model *m = s->app.model;
    const struct kb_model_version *v = kb_app_version(&s->app);
    if (s->app.variant >= m->variant_count || !s->session)
        return NULL;
    const char *file = m->variants[s->app.variant].source;
    if (s->app.focus == KB_PANE_SOURCE) {
        *line = kb_source_cursor(&s->app);
        return kb_format("%s/%s", kb_session_bench_dir(s->session), file);
    }
    *line = v && v->scan && v->scan->kernels_count ? (int)v->scan->kernels[0].line : 1;
    const struct kb_ev_message *first = v ? kb_first_error(v->errors) : NULL;
    if (first && first->file && *first->file) {
        file = first->file;
        *line = (int)first->line;
    }
    return kb_format("%s/%s", kb_session_bench_dir(s->session), file);
}

static void edit_at(struct screen *s, const char *path, int line)
{
    struct kb_error e = {0};
    kb_terminal_leave(s->terminal);
    s->editor = kb_editor_start(path, line, &s->editor_fd, &e);
    if (s->editor < 0) {
        s->editor = 0;
        kb_terminal_enter(s->terminal);
        say(s, &e);
    }
}

static void start_editor(struct screen *s)
{
    struct kb_error e = {0};
    int line = 1;
    char *path = place_to_edit(s, &line);
    if (path) {
        edit_at(s, path, line);
    } else {
        kb_fail(&e, NULL, NULL, "there is no source to edit%s", s->replay ? " in a replay" : "");
        say(s, &e);
    }
    free(path);
}

static void end_editor(struct screen *s)
{
    while (waitpid(s->editor, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(s->editor_fd);
    s->editor = 0;
    kb_terminal_enter(s->terminal);
    s->stale = s->now = true;
}

static void next_theme(struct screen *s)
{
    s->theme = kb_theme_next(s->theme);
    kb_terminal_theme(s->terminal, s->theme);
    snprintf(s->app.note, sizeof s->app.note, "theme %s", kb_theme_name(s->theme));
}

static void suspend(struct screen *s)
{
    if (!s->editor)
        kb_terminal_leave(s->terminal);
    kb_signals_stop_self();
    if (!s->editor)
        kb_terminal_enter(s->terminal);
    s->stale = s->now = true;
}

static int open_session(struct screen *s)
{
    s->start_us = kb_now_us();
    if (kb_session_new(&s->session_options, &s->session, &s->error))
        return -1;
    s->app.model = kb_session_model(s->session);
    s->sources = kb_source_lines_new(kb_session_bench_dir(s->session), s->background);
    return 0;
}

static void begin_app(struct screen *s)
{
    bool ascii = s->app.ascii;
    kb_app_init(&s->app, &s->empty, ascii);
    s->app.driver = (struct kb_driver){.context = s,
                                       .command = do_command,
                                       .source_line = source_line,
                                       .source_line_count = source_line_count,
                                       .code = code,
                                       .trace = trace};
    s->background = kb_background_new();
    s->code = kb_code_store_new(s->background);
}

static void end_session(struct screen *s)
{
    if (!s->replay)
        s->app.model = &s->empty;
    kb_session_free(s->session);
    kb_background_free(s->background);
    kb_source_lines_free(s->sources);
    kb_code_store_free(s->code);
    s->background = NULL;
    s->session = NULL;
    s->sources = NULL;
    s->code = NULL;
}

// The guess becomes files, and what was shown gives way to the bench that they are.
static void keep_guess(struct screen *s)
{
    struct kb_guess_kept kept;
    struct kb_error e = {0};
    if (!s->session || kb_session_keep(s->session, &kept, &e)) {
        if (!s->session)
            kb_fail(&e, NULL, NULL, "a replay keeps nothing");
        say(s, &e);
        return;
    }
    end_session(s);
    kb_app_free(&s->app);
    begin_app(s);
    s->session_options.kernel = NULL;
    if (open_session(s))
        s->quit = true;
    else
        edit_at(s, kept.reference, 1);
    if (!s->quit)
        snprintf(s->app.note, sizeof s->app.note, "kept as %s; write what is right in %s", kb_path_base(kept.bench),
                 kb_path_base(kept.reference));
    kb_guess_kept_free(&kept);
}

static void on_picker_key(struct screen *s, int key)
{
    enum kb_picked picked = kb_picker_key(&s->picker, key);
    s->stale = s->now = true;
    s->quit = s->quit || picked == KB_PICKED_NONE;
    if (picked != KB_PICKED_ONE)
        return;
    s->kernel = kb_strdup(kb_picker_kernel(&s->picker));
    s->session_options.kernel = s->kernel;
    s->session_options.choices = NULL;
    s->input.text_field = false;
    kb_guess_choices_free(&s->choices);
    kb_terminal_redraw(s->terminal);
    if (open_session(s))
        s->quit = true;
}

static void on_key(void *context, int key, bool burst)
{
    struct screen *s = context;
    if (s->choices.count) {
        on_picker_key(s, key);
        return;
    }
    unsigned did = kb_app_key(&s->app, key, burst);
    s->input.text_field = s->app.filtering;
    if (did & (KB_DID_DRAW | KB_DID_REDRAW))
        s->stale = s->now = true;
    if (did & KB_DID_REDRAW)
        kb_terminal_redraw(s->terminal);
    if (did & KB_DID_THEME)
        next_theme(s);
    if (did & KB_DID_QUIT)
        s->quit = true;
    if (did & KB_DID_SUSPEND)
        suspend(s);
    if ((did & KB_DID_EDIT) && !s->editor)
        start_editor(s);
    if ((did & KB_DID_KEEP) && !s->editor)
        keep_guess(s);
}

static void read_keys(struct screen *s)
{
    char bytes[4096];
    ssize_t n = read(kb_terminal_in(s->terminal), bytes, sizeof bytes);
    if (n > 0)
        kb_input_feed(&s->input, bytes, (size_t)n, kb_now_us() / 1000, on_key, s);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        s->quit = true; // the terminal is gone
}

static void take_signals(struct screen *s)
{
    static const int ends[] = {SIGTERM, SIGHUP, SIGINT};
    for (size_t i = 0; i < KB_COUNT(ends); i++)
        if (kb_signal_take(ends[i])) {
            s->quit = true;
            s->signal_number = ends[i];
        }
    if (kb_signal_take(SIGTSTP))
        suspend(s);
    bool resized = kb_signal_take(SIGWINCH), continued = kb_signal_take(SIGCONT);
    if (continued && !s->editor)
        kb_terminal_enter(s->terminal); // a shell may have set the modes while we were stopped
    if (resized || continued)
        s->stale = s->now = true;
}

static int shorter(int a, int b)
{
    return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

static int wait_ms(const struct screen *s)
{
    int wait = -1;
    if (!s->editor)
        wait = kb_input_wait_ms(&s->input, kb_now_us() / 1000);
    if (!s->editor && !kb_terminal_busy(s->terminal))
        wait = shorter(wait, frame_wait_ms(s));
    if (s->session)
        wait = shorter(wait, kb_session_wait_ms(s->session));
    if (s->replay)
        wait = shorter(wait, kb_replay_wait_ms(s->replay));
    return wait;
}

static void wait_and_do(struct screen *s)
{
    struct pollfd fds[SESSION_FDS + 3];
    int wait = wait_ms(s);
    short out = kb_terminal_busy(s->terminal) ? POLLOUT : 0;
    fds[0] = (struct pollfd){.fd = s->editor ? -1 : kb_terminal_in(s->terminal), .events = (short)(POLLIN | out)};
    fds[1] = (struct pollfd){.fd = s->editor ? s->editor_fd : -1, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = s->background ? kb_background_fd(s->background) : -1, .events = POLLIN};
    int n = 3 + (s->session ? kb_session_fds(s->session, fds + 3, SESSION_FDS) : 0);
    struct timespec time = {wait / 1000, wait % 1000 * 1000000L};
    int ready = ppoll(fds, (nfds_t)n, wait < 0 ? NULL : &time, &s->inside);
    take_signals(s);
    if (ready > 0 && (fds[0].revents & POLLOUT))
        kb_terminal_write(s->terminal);
    if (ready > 0 && (fds[0].revents & ~POLLOUT))
        read_keys(s);
    if (ready > 0 && fds[1].revents)
        end_editor(s);
    if (ready > 0 && fds[2].revents && kb_background_take(s->background))
        s->stale = true;
    kb_input_tick(&s->input, kb_now_us() / 1000, on_key, s);
    if (s->session)
        kb_session_step(s->session);
    if (s->replay && kb_replay_step(s->replay, kb_now_us()))
        s->stale = true;
}

static void print_error(const struct kb_error *e)
{
    char *text = kb_cleaned(kb_error_line(e));
    fprintf(stderr, "kbench-tui: %s\n", text);
    free(text);
}

static int open_source(struct screen *s, const struct kb_options *o, struct kb_error *e)
{
    if (o->replay) {
        if (kb_replay_open(o->replay, &s->replay, e))
            return -1;
        kb_app_init(&s->app, kb_replay_model(s->replay), s->app.ascii);
        s->app.driver = (struct kb_driver){.context = s, .replay = do_replay};
        return 0;
    }
    kb_session_options_from(o, &s->session_options);
    s->session_options.on_event = on_event;
    s->session_options.context = s;
    s->session_options.choices = &s->choices;
    begin_app(s);
    if (!open_session(s))
        return 0;
    if (!s->choices.count) {
        *e = s->error;
        return -1;
    }
    s->error = (struct kb_error){0}; // it is a question
    s->picker = (struct kb_picker){.choices = &s->choices, .path = o->bench};
    s->input.text_field = true;
    return 0;
}

static void close_all(struct screen *s)
{
    kb_terminal_close(s->terminal); // first: the user has the shell back while workers end
    end_session(s);
    kb_replay_free(s->replay);
    kb_app_free(&s->app);
    kb_guess_choices_free(&s->choices);
    free(s->kernel);
}

static int run(struct screen *s, const struct kb_options *o, struct kb_error *e)
{
    const char *note = "";
    if (open_source(s, o, e))
        return -1;
    if (kb_terminal_open(s->theme, o->color, &s->terminal, &note, e))
        return -1;
    snprintf(s->app.note, sizeof s->app.note, "%s", note);
    s->stale = s->now = true;
    while (!s->quit) {
        draw_if_due(s);
        wait_and_do(s);
    }
    *e = s->error;
    return s->error.what[0] ? -1 : 0;
}

int kb_screen_run(const struct kb_options *o)
{
    if (o->mode == KB_MODE_SNAPSHOT)
        return kb_snapshot_run(o);
    struct screen s = {.theme = kb_theme_find(o->theme)};
    struct kb_error e = {0};
    if (!s.theme) {
        kb_fail(&e, NULL, kb_theme_names(), "there is no theme \"%s\"", o->theme);
        print_error(&e);
        return KB_EXIT_USAGE;
    }
    kb_model_init(&s.empty);
    kb_signals_begin(&s.inside);
    s.app.ascii = !kb_locale_begin() || o->ascii;
    int status = run(&s, o, &e);
    close_all(&s);
    if (status)
        print_error(&e);
    return status ? KB_EXIT_USAGE : s.signal_number == SIGTERM ? 128 + SIGTERM : KB_EXIT_PASS;
}
