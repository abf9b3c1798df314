// Colours by meaning. Views name a meaning; a theme says how it looks with 256 colours, with 8, and with none.
#ifndef KB_TUI_THEME_H
#define KB_TUI_THEME_H
#include <stdbool.h>

// X(name): one row of the table in theme.c for each.
#define KB_STYLES(X)                                                                                                   \
    X(TEXT)                                                                                                            \
    X(DIM)                                                                                                             \
    X(STRONG)                                                                                                          \
    X(TITLE)                                                                                                           \
    X(FRAME)                                                                                                           \
    X(FRAME_FOCUS)                                                                                                     \
    X(BAR)                                                                                                             \
    X(BAR_STRONG)                                                                                                      \
    X(BAR_WARN) X(KEY) X(HINT) X(GOOD) X(BAD) X(WARN) X(RUNNING) X(NUMBER) X(UNKNOWN) X(GOOD_BADGE) X(BAD_BADGE)       \
        X(WARN_BADGE) X(RUNNING_BADGE) X(PLAIN_BADGE) X(ROOF) X(ROOF_DASHED) X(POINT) X(TRAIL) X(OTHER_POINT) X(AXIS)  \
            X(HEAT_0) X(HEAT_1) X(HEAT_2) X(HEAT_3) X(SOURCE) X(CARET) X(MATCH) X(SECTION_NONE) X(SECTION_0)           \
                X(SECTION_1) X(SECTION_2) X(SECTION_3) X(SECTION_4) X(SECTION_5)
#define KB_STYLE_ITEM(name) KB_STYLE_##name,
enum kb_style { KB_STYLES(KB_STYLE_ITEM) KB_STYLE_COUNT };

enum { KB_LOOK_BOLD = 1, KB_LOOK_DIM = 2, KB_LOOK_REVERSE = 4, KB_LOOK_UNDERLINE = 8 };
struct kb_look {
    short fg, bg; // palette index, -1: the terminal's own
    unsigned attributes;
};

struct kb_theme;
const struct kb_theme *kb_theme_find(const char *name);        // NULL if unknown; NULL name: "dark"
const char *kb_theme_names(void);                              // "dark, light, projector, mono"
const struct kb_theme *kb_theme_next(const struct kb_theme *); // the one behind it in that list
const char *kb_theme_name(const struct kb_theme *);
// colors: 0, 8 or 256, what the terminal has. selected: the row under the cursor.
struct kb_look kb_theme_look(const struct kb_theme *, enum kb_style, bool selected, int colors);

#endif
