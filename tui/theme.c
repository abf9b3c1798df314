#include "tui/theme.h"
#include "base/memory.h"

#include <string.h>

// A hue has an index for 256 colours and one for 8.
struct hue {
    short full, basic;
};
enum hue_name {
    OWN,
    PALE,
    FAINT,
    LINE,
    LIGHT,
    GREEN,
    RED,
    AMBER,
    BLUE,
    CYAN,
    MAGENTA,
    BAR_GROUND,
    BAR_INK,
    INK,
    SELECT,
    ROW_0,
    ROW_1,
    HUES
};
struct kb_theme {
    const char *name;
    bool colours, bold_all;
    struct hue hues[HUES];
};

static const struct kb_theme themes[] = {
    {"dark",
     true,
     false,
     {[OWN] = {-1, -1},
      [PALE] = {252, 7},
      [FAINT] = {245, 7},
      [LINE] = {239, 4},
      [LIGHT] = {231, 7},
      [GREEN] = {114, 2},
      [RED] = {203, 1},
      [AMBER] = {221, 3},
      [BLUE] = {75, 6},
      [CYAN] = {80, 6},
      [MAGENTA] = {176, 5},
      [BAR_GROUND] = {236, 4},
      [BAR_INK] = {252, 7},
      [INK] = {16, 0},
      [SELECT] = {238, 4},
      [ROW_0] = {237, 0},
      [ROW_1] = {137, 3}}},
    {"light",
     true,
     false,
     {[OWN] = {-1, -1},
      [PALE] = {235, 0},
      [FAINT] = {242, 0},
      [LINE] = {250, 4},
      [LIGHT] = {16, 0},
      [GREEN] = {28, 2},
      [RED] = {160, 1},
      [AMBER] = {130, 3},
      [BLUE] = {26, 4},
      [CYAN] = {30, 6},
      [MAGENTA] = {90, 5},
      [BAR_GROUND] = {253, 7},
      [BAR_INK] = {236, 0},
      [INK] = {231, 7},
      [SELECT] = {254, 7},
      [ROW_0] = {253, 7},
      [ROW_1] = {180, 3}}},
    // For a lecture hall: pure white on the terminal's black, saturated colours, no faint greys, all of it bold.
    {"projector",
     true,
     true,
     {[OWN] = {231, 7},
      [PALE] = {231, 7},
      [FAINT] = {253, 7},
      [LINE] = {250, 7},
      [LIGHT] = {231, 7},
      [GREEN] = {46, 2},
      [RED] = {203, 1},
      [AMBER] = {226, 3},
      [BLUE] = {51, 6},
      [CYAN] = {51, 6},
      [MAGENTA] = {213, 5},
      [BAR_GROUND] = {18, 4},
      [BAR_INK] = {231, 7},
      [INK] = {16, 0},
      [SELECT] = {19, 4},
      [ROW_0] = {240, 0},
      [ROW_1] = {208, 3}}},
    {"mono", false, false, {{0, 0}}},
};

static const struct {
    enum hue_name fg, bg;
    unsigned attributes, mono; // mono: attributes where there are no colours
} styles[KB_STYLE_COUNT] = {
    [KB_STYLE_TEXT] = {OWN, OWN, 0, 0},
    [KB_STYLE_DIM] = {FAINT, OWN, 0, KB_LOOK_DIM},
    [KB_STYLE_STRONG] = {LIGHT, OWN, KB_LOOK_BOLD, KB_LOOK_BOLD},
    [KB_STYLE_TITLE] = {PALE, OWN, KB_LOOK_BOLD, KB_LOOK_BOLD},
    [KB_STYLE_FRAME] = {LINE, OWN, 0, KB_LOOK_DIM},
    [KB_STYLE_FRAME_FOCUS] = {BLUE, OWN, KB_LOOK_BOLD, KB_LOOK_BOLD},
    [KB_STYLE_BAR] = {BAR_INK, BAR_GROUND, 0, KB_LOOK_REVERSE},
    [KB_STYLE_BAR_STRONG] = {LIGHT, BAR_GROUND, KB_LOOK_BOLD, KB_LOOK_REVERSE | KB_LOOK_BOLD},
    [KB_STYLE_BAR_WARN] = {AMBER, BAR_GROUND, KB_LOOK_BOLD, KB_LOOK_REVERSE | KB_LOOK_UNDERLINE},
    [KB_STYLE_KEY] = {BLUE, OWN, KB_LOOK_BOLD, KB_LOOK_BOLD},
    [KB_STYLE_HINT] = {FAINT, OWN, 0, 0},
    [KB_STYLE_GOOD] = {GREEN, OWN, 0, 0},
    [KB_STYLE_BAD] = {RED, OWN, KB_LOOK_BOLD, KB_LOOK_BOLD},
    [KB_STYLE_WARN] = {AMBER, OWN, 0, KB_LOOK_UNDERLINE},
    [KB_STYLE_RUNNING] = {CYAN, OWN, KB_LOOK_BOLD, KB_LOOK_BOLD},
    [KB_STYLE_NUMBER] = {LIGHT, OWN, 0, 0},
    [KB_STYLE_UNKNOWN] = {FAINT, OWN, 0, KB_LOOK_DIM},
    [KB_STYLE_GOOD_BADGE] = {INK, GREEN, KB_LOOK_BOLD, KB_LOOK_REVERSE | KB_LOOK_BOLD},
    [KB_STYLE_BAD_BADGE] = {INK, RED, KB_LOOK_BOLD, KB_LOOK_REVERSE | KB_LOOK_BOLD},
    [KB_STYLE_WARN_BADGE] = {INK, AMBER, KB_LOOK_BOLD, KB_LOOK_REVERSE | KB_LOOK_BOLD},
    [KB_STYLE_RUNNING_BADGE] = {INK, CYAN, KB_LOOK_BOLD, KB_LOOK_REVERSE},
    [KB_STYLE_PLAIN_BADGE] = {INK, FAINT, KB_LOOK_BOLD, KB_LOOK_REVERSE},
    [KB_STYLE_ROOF] = {PALE, OWN, 0, 0},
    [KB_STYLE_ROOF_DASHED] = {AMBER, OWN, 0, 0},
    [KB_STYLE_POINT] = {GREEN, OWN, KB_LOOK_BOLD, KB_LOOK_REVERSE | KB_LOOK_BOLD},
    [KB_STYLE_TRAIL] = {BLUE, OWN, 0, KB_LOOK_BOLD},
    [KB_STYLE_OTHER_POINT] = {MAGENTA, OWN, 0, KB_LOOK_BOLD},
    [KB_STYLE_AXIS] = {FAINT, OWN, 0, KB_LOOK_DIM},
    [KB_STYLE_HEAT_0] = {LINE, OWN, 0, KB_LOOK_DIM},
    [KB_STYLE_HEAT_1] = {ROW_1, OWN, 0, 0},
    [KB_STYLE_HEAT_2] = {AMBER, OWN, 0, KB_LOOK_BOLD},
    [KB_STYLE_HEAT_3] = {RED, OWN, KB_LOOK_BOLD, KB_LOOK_REVERSE},
    [KB_STYLE_SOURCE] = {PALE, OWN, 0, 0},
    [KB_STYLE_CARET] = {RED, OWN, KB_LOOK_BOLD, KB_LOOK_BOLD},
    [KB_STYLE_MATCH] = {INK, AMBER, 0, KB_LOOK_REVERSE},
    [KB_STYLE_SECTION_NONE] = {FAINT, OWN, 0, KB_LOOK_DIM},
    [KB_STYLE_SECTION_0] = {INK, GREEN, 0, KB_LOOK_REVERSE},
    [KB_STYLE_SECTION_1] = {INK, BLUE, 0, 0},
    [KB_STYLE_SECTION_2] = {INK, AMBER, 0, KB_LOOK_REVERSE | KB_LOOK_BOLD},
    [KB_STYLE_SECTION_3] = {INK, MAGENTA, 0, KB_LOOK_UNDERLINE},
    [KB_STYLE_SECTION_4] = {INK, RED, 0, KB_LOOK_REVERSE | KB_LOOK_UNDERLINE},
    [KB_STYLE_SECTION_5] = {INK, FAINT, 0, KB_LOOK_BOLD},
};

const struct kb_theme *kb_theme_find(const char *name)
{
    for (size_t i = 0; i < KB_COUNT(themes); i++)
        if (!strcmp(themes[i].name, name ? name : "dark"))
            return &themes[i];
    return NULL;
}

const char *kb_theme_names(void)
{
    return "dark, light, projector, mono";
}

const struct kb_theme *kb_theme_next(const struct kb_theme *t)
{
    return t + 1 < themes + KB_COUNT(themes) ? t + 1 : themes;
}

const char *kb_theme_name(const struct kb_theme *t)
{
    return t->name;
}

struct kb_look kb_theme_look(const struct kb_theme *t, enum kb_style style, bool selected, int colors)
{
    if (!t->colours || colors < 8) {
        unsigned mono = styles[style].mono;
        return (struct kb_look){-1, -1, selected ? mono ^ KB_LOOK_REVERSE : mono};
    }
    const struct hue *fg = &t->hues[styles[style].fg], *bg = &t->hues[styles[style].bg];
    bool ground = styles[style].bg != OWN;
    if (selected && !ground)
        bg = &t->hues[SELECT];
    bool full = colors >= 256;
    struct kb_look look = {full ? fg->full : fg->basic, full ? bg->full : bg->basic, styles[style].attributes};
    if (!ground && !selected)
        look.bg = -1;
    if (look.fg >= 0 && look.fg == look.bg) // eight colours are few
        look.fg = full ? t->hues[LIGHT].full : t->hues[LIGHT].basic;
    if (t->bold_all)
        look.attributes |= KB_LOOK_BOLD;
    return look;
}
