#include "base/file.h"
#include "base/memory.h"
#include "loop/session.h"
#include "tui/once.h"
#include "tui/picker.h"
#include "tui/screen.h"
#include "tui/script.h"
#include "tui/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { SESSION_FDS = 64 };
#define SCRIPT_MOST ((size_t)1 << 20)

// Runs every variant once. Returns the session's exit code, -1 if there is none.
static int run_live(const struct kb_options *o, struct kb_session **out, struct kb_guess_choices *choices,
                    struct kb_error *e)
{
    struct kb_session_options options;
    kb_session_options_from(o, &options);
    options.once = true;
    options.choices = choices;
    if (kb_session_new(&options, out, e))
        return -1;
    struct kb_session *session = *out;
    while (!kb_session_ended(session)) {
        struct pollfd fds[SESSION_FDS];
        int n = kb_session_fds(session, fds, SESSION_FDS);
        if (poll(fds, (nfds_t)n, kb_session_wait_ms(session)) < 0 && errno != EINTR)
            break;
        kb_session_step(session);
    }
    return kb_session_exit_code(session);
}

static int print_frame(const struct kb_options *o, struct kb_app *app, struct kb_replay *replay, struct kb_error *e)
{
    struct kb_text out = {0};
    struct kb_script script = {app, replay, o->columns, o->rows, &out};
    const char *path = getenv("KBENCH_SCRIPT");
    char *text = NULL;
    size_t size;
    int status = 0;
    if (replay && !path)
        kb_replay_seek_end(replay);
    if (!path)
        kb_script_screen(&script, &out);
    else if ((status = kb_file_read(path, SCRIPT_MOST, &text, &size, e)) == 0)
        status = kb_script_run(&script, text, e);
    if (out.size && fwrite(out.data, 1, out.size, stdout) != out.size && !status)
        status = kb_fail(e, "standard output", NULL, "it takes no more");
    if (fflush(stdout) && !status)
        status = kb_fail(e, "standard output", NULL, "it takes no more");
    kb_text_free(&out);
    free(text);
    return status;
}

// What the screen asks first. Returns the exit code.
static int print_picker(const struct kb_options *o, const struct kb_guess_choices *choices, bool ascii)
{
    struct kb_picker picker = {.choices = choices, .path = o->bench};
    struct kb_grid grid;
    kb_grid_init(&grid, o->columns, o->rows, ascii);
    kb_picker_draw(&picker, &grid);
    for (int y = 0; y < o->rows; y++) {
        char *row = kb_grid_row(&grid, y);
        puts(row);
        free(row);
    }
    kb_grid_free(&grid);
    return KB_EXIT_USAGE;
}

static bool replay_acts(void *context, enum kb_action action)
{
    return kb_replay_act(context, action);
}

int kb_snapshot_run(const struct kb_options *o)
{
    struct kb_session *session = NULL;
    struct kb_replay *replay = NULL;
    struct kb_app app;
    struct kb_error e = {0};
    struct kb_guess_choices choices = {0};
    bool ascii = !kb_locale_begin() || o->ascii;
    int code = o->replay ? kb_replay_open(o->replay, &replay, &e) : run_live(o, &session, &choices, &e);
    if (code >= 0) {
        kb_app_init(&app, replay ? kb_replay_model(replay) : kb_session_model(session), ascii);
        app.now_ms = replay ? 0 : app.model->now_ms;
        if (replay)
            app.driver = (struct kb_driver){.context = replay, .replay = replay_acts};
        code = print_frame(o, &app, replay, &e) ? -1 : code;
        kb_app_free(&app);
    }
    kb_replay_free(replay);
    kb_session_free(session);
    if (choices.count)
        code = print_picker(o, &choices, ascii);
    kb_guess_choices_free(&choices);
    if (code >= 0)
        return code;
    char *text = kb_cleaned(kb_error_line(&e));
    fprintf(stderr, "kbench-tui: %s\n", text);
    free(text);
    return KB_EXIT_USAGE;
}
