#include "tui/app.h"
#include "base/memory.h"
#include "loop/session.h"
#include "tui/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_MS = 10000, FAR = 1 << 20 };

const struct kb_view *kb_view_of(enum kb_pane pane)
{
    static const struct kb_view *const views[KB_PANES] = {
        [KB_PANE_VARIANTS] = &kb_view_variants, [KB_PANE_ERRORS] = &kb_view_errors,
        [KB_PANE_ROOFLINE] = &kb_view_roofline, [KB_PANE_HISTORY] = &kb_view_history,
        [KB_PANE_LOG] = &kb_view_log,           [KB_PANE_DETAIL] = &kb_view_detail,
        [KB_PANE_WHY] = &kb_view_why,           [KB_PANE_SOURCE] = &kb_view_source,
        [KB_PANE_SASS] = &kb_view_code,
    };
    return views[pane];
}

void kb_app_init(struct kb_app *a, const struct kb_model *m, bool ascii)
{
    *a = (struct kb_app){.model = m, .ascii = ascii, .case_index = -1, .model_focus = -1};
    a->focus = KB_PANE_ERRORS;
    a->top[KB_PANE_LOG] = -1;
}

void kb_app_free(struct kb_app *a)
{
    free(a->status);
    a->status = NULL;
    kb_sass_view_free(&a->sass);
    kb_timeline_free(&a->timeline);
}

// Another version, another text: the cursor goes to its hottest line, the listing to its start.
static void look_anew(struct kb_app *a)
{
    a->version = 0;
    a->source_line = 0;
    a->sass.top = 0;
}

// A bench that wants to run a command says so once; later the key does. The question must not take keys that were meant
// for something else, so it waits for what lies over the panes now.
static void ask_permission(struct kb_app *a)
{
    const struct kb_ev_permission *p = a->model->permission;
    const char *hash = p && p->hash ? p->hash : "";
    if (!p || !a->driver.command || a->overlay || a->filtering || !strcmp(a->asked, hash))
        return;
    snprintf(a->asked, sizeof a->asked, "%s", hash);
    a->overlay = KB_OVERLAY_ALLOW;
    a->overlay_top = 0;
}

void kb_app_follow(struct kb_app *a)
{
    const struct kb_model *m = a->model;
    if (m->focus != a->model_focus) {
        a->model_focus = a->variant = m->focus;
        look_anew(a);
    }
    if (a->variant >= m->variant_count)
        a->variant = 0;
    if (a->case_index >= m->case_count)
        a->case_index = -1;
    const struct kb_model_version *newest = kb_model_current(m, a->variant);
    if (newest && newest->started_ms != a->started_ms) {
        a->started_ms = newest->started_ms;
        look_anew(a);
    }
    ask_permission(a);
    if (a->overlay == KB_OVERLAY_ALLOW && !m->permission)
        a->overlay = KB_OVERLAY_NONE;
    if (!m->status_text) { // also: a replay went back before it
        free(a->status);
        a->status = NULL;
    } else if (!a->status || strcmp(a->status, m->status_text)) {
        free(a->status);
        a->status = kb_strdup(m->status_text);
        a->status_ms = m->now_ms;
    }
}

const struct kb_model_version *kb_app_version(const struct kb_app *a)
{
    const struct kb_model_version *v = a->version ? kb_model_version(a->model, a->variant, a->version) : NULL;
    return v ? v : kb_model_current(a->model, a->variant);
}

int kb_app_case(const struct kb_app *a)
{
    if (a->case_index >= 0 && a->case_index < a->model->case_count)
        return a->case_index;
    int bad = kb_first_bad_case(a->model, kb_app_version(a));
    return bad >= 0 ? bad : a->model->headline;
}

int kb_app_failed_case(const struct kb_app *a)
{
    const struct kb_model_version *v = kb_app_version(a);
    return a->case_index >= 0 || kb_first_bad_case(a->model, v) >= 0 ? kb_app_case(a) : -1;
}

int kb_app_pick_timed_case(const struct kb_app *a)
{
    int index = kb_app_case(a);
    return kb_model_case(a->model, index)->timed ? index : a->model->headline;
}

const char *kb_app_case_label(const struct kb_app *a, int index)
{
    return kb_model_case_name(a->model, index);
}

void kb_app_case_marks(const struct kb_app *a, int index, bool here, struct kb_line *l)
{
    const struct kb_model_version *v = kb_app_version(a);
    const struct kb_ev_case *result = v ? kb_model_result(&v->cases[index]) : NULL;
    const char *status = result && result->status ? result->status : "";
    bool pass = !strcmp(status, "pass"), fail = !strcmp(status, "fail");
    enum kb_style style = pass ? KB_STYLE_GOOD : fail ? KB_STYLE_BAD : KB_STYLE_DIM;
    enum kb_sign sign = pass ? KB_SIGN_PASS : fail ? KB_SIGN_FAIL : KB_SIGN_NONE;
    kb_spanf(l, KB_STYLE_KEY, "%s ", here ? kb_sign(KB_SIGN_CURSOR, a->ascii) : " ");
    kb_spanf(l, style, "%s ", kb_sign(sign, a->ascii));
}

void kb_app_subject(const struct kb_app *a, int variant, const struct kb_model_version *v, struct kb_subject *s)
{
    *s = (struct kb_subject){a->model, variant, kb_app_pick_timed_case(a), v, a->now_ms};
}

static void command(struct kb_app *a, int what, const char *arg)
{
    if (a->driver.command)
        a->driver.command(a->driver.context, what, arg);
}

static bool running(const struct kb_app *a, int rungs)
{
    for (int i = 0; i < a->model->variant_count; i++) {
        const struct kb_model_version *v = kb_model_current(a->model, i);
        for (int r = 0; v && r < rungs; r++)
            if (v->rungs[r].status == KB_STATUS_RUNNING)
                return true;
    }
    return false;
}

int kb_app_tick_ms(const struct kb_app *a)
{
    return running(a, KB_RUNGS) && !a->model->ended ? 100 : 1000;
}

static unsigned scroll(struct kb_app *a, int by)
{
    const struct kb_view *view = kb_view_of(a->focus);
    if (view->move) {
        view->move(a, by);
        return KB_DID_DRAW;
    }
    int most = a->lines[a->focus] - a->page[a->focus], top = a->top[a->focus] + by;
    top = top > most ? most : top;
    a->top[a->focus] = top < 0 ? 0 : top;
    return KB_DID_DRAW;
}

static unsigned focus_pane(struct kb_app *a, int pane)
{
    a->focus = (enum kb_pane)((pane + KB_PANES) % KB_PANES);
    kb_places_show(&a->places, a->focus);
    return KB_DID_DRAW;
}

void kb_app_focus_variant(struct kb_app *a, int variant)
{
    a->variant = variant;
    look_anew(a);
    command(a, KB_COMMAND_FOCUS, a->model->variants[variant].name);
}

static unsigned next_variant(struct kb_app *a, int by)
{
    int n = a->model->variant_count;
    if (n)
        kb_app_focus_variant(a, (a->variant + by + n) % n);
    return n ? KB_DID_DRAW : 0;
}

static unsigned pin(struct kb_app *a)
{
    const struct kb_model_version *v = kb_app_version(a);
    if (!v || a->variant >= a->model->variant_count)
        return 0;
    const char *name = a->model->variants[a->variant].name;
    char *arg = v->status == KB_STATUS_PASS && v->number > 0 ? kb_format("%s@%d", name, v->number) : kb_strdup(name);
    command(a, KB_COMMAND_PIN, arg);
    free(arg);
    return KB_DID_DRAW;
}

// The way out of whatever was opened last.
static unsigned go_back(struct kb_app *a)
{
    if (a->zoom)
        a->zoom = false;
    else if (a->filter[0])
        a->filter[0] = 0;
    else if (a->version)
        a->version = 0;
    else if (a->case_index >= 0)
        a->case_index = -1;
    else
        a->status_ms = -STATUS_MS; // a message that was read
    return KB_DID_DRAW;
}

static unsigned open_overlay(struct kb_app *a, enum kb_overlay overlay)
{
    a->overlay = overlay;
    a->overlay_top = 0;
    if (overlay == KB_OVERLAY_TRACE)
        kb_timeline_reset(&a->timeline);
    a->overlay_cursor = overlay == KB_OVERLAY_CASES ? kb_app_case(a) : 0;
    return KB_DID_DRAW;
}

// The case shown, of the version whose source is in the file.
static unsigned export_case(struct kb_app *a)
{
    const struct kb_model_version *v = kb_app_version(a);
    if (!v || a->variant >= a->model->variant_count)
        return 0;
    const char *name = a->model->variants[a->variant].name;
    char *arg = kb_format("%s@%d", name, kb_app_failed_case(a));
    if (!a->driver.command)
        snprintf(a->note, sizeof a->note, "a replay has no worker: kbench-tui export BENCH %s --seed %s", name,
                 a->model->session && a->model->session->seed ? a->model->session->seed : "N");
    else if (v != kb_model_current(a->model, a->variant))
        snprintf(a->note, sizeof a->note, "v%d is not what the file holds now: only the newest version can be written",
                 v->number);
    else
        command(a, KB_COMMAND_EXPORT, arg);
    free(arg);
    return KB_DID_DRAW;
}

static unsigned do_work(struct kb_app *a, enum kb_action action)
{
    const char *name = a->variant < a->model->variant_count ? a->model->variants[a->variant].name : NULL;
    switch (action) {
    case KB_ACT_RERUN:
        command(a, KB_COMMAND_RERUN, name);
        return KB_DID_DRAW;
    case KB_ACT_RETRY:
        command(a, KB_COMMAND_RETRY, NULL);
        return KB_DID_DRAW;
    case KB_ACT_TRACE:
        kb_timeline_ask(a, false);
        return open_overlay(a, KB_OVERLAY_TRACE);
    case KB_ACT_PAUSE:
        command(a, KB_COMMAND_PAUSE, NULL);
        return KB_DID_DRAW;
    case KB_ACT_CANCEL:
        command(a, KB_COMMAND_CANCEL, NULL);
        return KB_DID_DRAW;
    case KB_ACT_EXPORT:
        return export_case(a);
    case KB_ACT_KEEP:
        return KB_DID_KEEP;
    case KB_ACT_ALLOW:
        if (a->model->permission && a->driver.command)
            return open_overlay(a, KB_OVERLAY_ALLOW);
        snprintf(a->note, sizeof a->note, "nothing waits to be allowed");
        return KB_DID_DRAW;
    case KB_ACT_PIN:
        return pin(a);
    case KB_ACT_UNPIN:
        command(a, KB_COMMAND_PIN, NULL);
        return KB_DID_DRAW;
    case KB_ACT_RESTART:
        return open_overlay(a, KB_OVERLAY_RESTART);
    case KB_ACT_EDIT:
        return KB_DID_EDIT;
    default:
        return 0;
    }
}

static unsigned start_filter(struct kb_app *a)
{
    focus_pane(a, KB_PANE_LOG);
    a->filtering = true;
    return KB_DID_DRAW;
}

// From machine code or the lines of a source to the next thing worth a look.
static unsigned next_hot(struct kb_app *a, int by)
{
    if (a->focus == KB_PANE_SASS)
        kb_code_jump(a, by);
    else if (a->focus != KB_PANE_SOURCE)
        return focus_pane(a, KB_PANE_SOURCE);
    else
        kb_source_step(a, by);
    return KB_DID_DRAW;
}

static unsigned look_at_code(struct kb_app *a, enum kb_action action)
{
    if (action == KB_ACT_RAW && a->focus == KB_PANE_WHY) {
        a->raw_stalls = !a->raw_stalls;
        return KB_DID_DRAW;
    }
    bool here = a->focus == KB_PANE_SASS;
    focus_pane(a, KB_PANE_SASS);
    if (action == KB_ACT_AGAINST)
        a->against = (enum kb_against)((a->against + 1) % KB_AGAINSTS);
    else if (action == KB_ACT_CODE && here)
        a->code_kind = (enum kb_code_kind)((a->code_kind + 1) % KB_CODE_KINDS);
    else if (action == KB_ACT_RAW)
        a->sass.raw = !a->sass.raw;
    a->sass.top = 0;
    return KB_DID_DRAW;
}

static unsigned act(struct kb_app *a, enum kb_action action, bool burst)
{
    int page = a->page[a->focus] > 1 ? a->page[a->focus] - 1 : 1;
    if (action >= KB_ACT_PANE_1 && action <= KB_ACT_PANE_9)
        return focus_pane(a, (int)action - KB_ACT_PANE_1);
    switch (action) {
    case KB_ACT_UP:
        return scroll(a, -1);
    case KB_ACT_DOWN:
        return scroll(a, 1);
    case KB_ACT_PAGE_UP:
        return scroll(a, -page);
    case KB_ACT_PAGE_DOWN:
        return scroll(a, page);
    case KB_ACT_TOP:
        return scroll(a, -FAR);
    case KB_ACT_BOTTOM:
        return scroll(a, FAR);
    case KB_ACT_NEXT_PANE:
        return focus_pane(a, (int)a->focus + 1);
    case KB_ACT_PREVIOUS_PANE:
        return focus_pane(a, (int)a->focus - 1);
    case KB_ACT_ZOOM:
        a->zoom = !a->zoom;
        return KB_DID_DRAW;
    case KB_ACT_BACK:
        return go_back(a);
    case KB_ACT_NEXT_VARIANT:
        return next_variant(a, 1);
    case KB_ACT_PREVIOUS_VARIANT:
        return next_variant(a, -1);
    case KB_ACT_CASES:
        return open_overlay(a, KB_OVERLAY_CASES);
    case KB_ACT_HELP:
        return open_overlay(a, KB_OVERLAY_HELP);
    case KB_ACT_FILTER:
        return start_filter(a);
    case KB_ACT_NEXT_HOT:
        return next_hot(a, 1);
    case KB_ACT_PREVIOUS_HOT:
        return next_hot(a, -1);
    case KB_ACT_AGAINST:
    case KB_ACT_CODE:
    case KB_ACT_RAW:
        return look_at_code(a, action);
    case KB_ACT_THEME:
        return KB_DID_THEME | KB_DID_DRAW;
    case KB_ACT_REDRAW:
        return KB_DID_REDRAW | KB_DID_DRAW;
    case KB_ACT_SUSPEND:
        return KB_DID_SUSPEND;
    case KB_ACT_QUIT: // a q amid other keys may be pasted text
        return burst || (running(a, KB_RUNG_LATE) && !a->driver.replay) ? open_overlay(a, KB_OVERLAY_QUIT)
                                                                        : KB_DID_QUIT;
    default:
        return do_work(a, action);
    }
}

static unsigned filter_key(struct kb_app *a, int key)
{
    size_t n = strlen(a->filter);
    if (key == KB_KEY_ENTER) {
        a->filtering = false;
    } else if (key == KB_KEY_ESC || key == KB_CTRL('c')) {
        a->filtering = false;
        a->filter[0] = 0;
    } else if (key == KB_KEY_BACKSPACE) {
        while (n && ((unsigned char)a->filter[n - 1] & 0xc0) == 0x80)
            n--;
        a->filter[n ? n - 1 : 0] = 0;
    } else if (key == KB_CTRL('u')) {
        a->filter[0] = 0;
    } else if (key >= ' ' && key < KB_KEY_UP) {
        char bytes[5];
        if (n + kb_code_utf8((uint32_t)key, bytes) < sizeof a->filter)
            strcpy(a->filter + n, bytes);
    }
    a->top[KB_PANE_LOG] = -1;
    return KB_DID_DRAW;
}

unsigned kb_app_key(struct kb_app *a, int key, bool burst)
{
    a->note[0] = 0;
    if (a->filtering)
        return KB_DID_HANDLE | filter_key(a, key);
    if (a->overlay == KB_OVERLAY_ALLOW && burst) // pasted text allows nothing
        return KB_DID_HANDLE;
    if (a->overlay)
        return KB_DID_HANDLE | kb_app_overlay_key(a, key);
    enum kb_action action = kb_action_of(key, a->driver.replay != NULL);
    if (a->driver.replay && a->driver.replay(a->driver.context, action))
        return KB_DID_HANDLE | KB_DID_DRAW;
    return action ? KB_DID_HANDLE | act(a, action, burst) : 0;
}
