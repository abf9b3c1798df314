// The ways to run without a screen: the table, the JSON document, the event stream.
#ifndef KB_TUI_ONCE_H
#define KB_TUI_ONCE_H
#include "loop/session.h"
#include "tui/options.h"

// What a session needs from the command line. Texts are shared with the options.
// "--kernel NAME" for each, to stderr.
void kb_print_choices(const struct kb_guess_choices *);
void kb_session_options_from(const struct kb_options *, struct kb_session_options *out);
// --once, --once --json: every variant once. Returns the exit code; messages go to stderr.
int kb_run_once(const struct kb_options *);
// --follow: each event as one line, until the input ends, a signal comes, or nobody reads any more.
int kb_run_follow(const struct kb_options *);
// `trace`: one version traced. As kb_run_once(); 1 where it could not be traced.
int kb_run_trace(const struct kb_options *);
// --replay FILE --export FILE.svg: the roofline of a recorded session's end, without a screen.
int kb_run_export_replay(const struct kb_options *);
// For modes without a screen: waits for what the session waits for, and for input's end where that matters (-1: not),
// then steps. False: a signal came, or the input ended.
bool kb_wait_and_step(struct kb_session *, int input);
void kb_catch_signals(void);
int kb_stopped_by(void); // signal that came since, or 0
// The index that --case means: a number, a name or a label of the bench. -1: none was named; -2: there is no such case,
// with the error.
struct kb_model;
int kb_case_named(const struct kb_model *, const char *wanted, struct kb_error *);
bool kb_locale_is_utf8(void); // of the environment; sets the locale

#endif
