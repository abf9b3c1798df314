// Parts of the details pane: rows of a name and a value, and everything known about a timing.
#ifndef KB_TUI_DETAIL_H
#define KB_TUI_DETAIL_H
#include "tui/app.h"
#include "tui/format.h"

enum { KB_DETAIL_KEY = 16 }; // columns of the name
void kb_detail_heading(struct kb_lines *, const char *text);
void kb_detail_item(struct kb_lines *, int width, const char *key, enum kb_style, const char *value);
// A number in its unit, or the reason why it is unknown; nothing without either.
void kb_detail_known(struct kb_lines *, int width, const char *name, double value, const char *reason,
                     struct kb_short (*show)(double));
// Times, spread, clock and what the method itself costs, of the case shown.
void kb_detail_timing(const struct kb_app *, const struct kb_model_version *, int width, struct kb_lines *);

#endif
