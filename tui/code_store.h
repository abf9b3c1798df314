// Texts and diffs of the session as the panes of code have asked for them. Drawing only looks and leaves a wish; the
// wishes are asked for between frames, as the session may answer at once, with events.
#ifndef KB_TUI_CODE_STORE_H
#define KB_TUI_CODE_STORE_H
#include "loop/session.h"
#include "tui/background.h"
#include "tui/code.h"

struct kb_code_store;
struct kb_code_store *kb_code_store_new(struct kb_background *);
void kb_code_store_free(struct kb_code_store *); // behind its background
// What is known of a request; a wish is left where nothing is. Pointers of the answer are valid until the next call.
void kb_code_store_get(struct kb_code_store *, const struct kb_code_request *, struct kb_code_answer *);
// Asks for all wishes. true if something came at once.
bool kb_code_store_ask(struct kb_code_store *, struct kb_session *);
void kb_code_store_event(struct kb_code_store *, const struct kb_event *); // `listing`, `diff`, `sections`, others not
void kb_code_store_retry(struct kb_code_store *);                          // what was refused is asked for again

#endif
