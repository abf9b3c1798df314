// Keys and what they do. The table of bindings is the only place that knows: key handling, help screen, footer and
// docs are all made from it.
#ifndef KB_TUI_KEYS_H
#define KB_TUI_KEYS_H
#include <stdbool.h>
#include <stddef.h>

// A key is a code point, or one of these.
enum {
    KB_KEY_NONE = 0,
    KB_KEY_TAB = 9,
    KB_KEY_ENTER = 13,
    KB_KEY_ESC = 27,
    KB_KEY_BACKSPACE = 127,
    KB_KEY_UP = 0x110000,
    KB_KEY_DOWN,
    KB_KEY_LEFT,
    KB_KEY_RIGHT,
    KB_KEY_HOME,
    KB_KEY_END,
    KB_KEY_PAGE_UP,
    KB_KEY_PAGE_DOWN,
    KB_KEY_BACK_TAB,
    KB_KEY_DELETE,
    KB_KEY_INSERT,
    KB_KEY_F1,
};
#define KB_CTRL(letter) ((letter)&0x1f)

enum kb_action {
    KB_ACT_NONE,
    KB_ACT_UP,
    KB_ACT_DOWN,
    KB_ACT_PAGE_UP,
    KB_ACT_PAGE_DOWN,
    KB_ACT_TOP,
    KB_ACT_BOTTOM,
    KB_ACT_NEXT_PANE,
    KB_ACT_PREVIOUS_PANE,
    KB_ACT_PANE_1, // and so on: as many as there are panes, in order
    KB_ACT_PANE_2,
    KB_ACT_PANE_3,
    KB_ACT_PANE_4,
    KB_ACT_PANE_5,
    KB_ACT_PANE_6,
    KB_ACT_PANE_7,
    KB_ACT_PANE_8,
    KB_ACT_PANE_9,
    KB_ACT_ZOOM,
    KB_ACT_BACK,
    KB_ACT_NEXT_VARIANT,
    KB_ACT_PREVIOUS_VARIANT,
    KB_ACT_CASES,
    KB_ACT_FILTER,
    KB_ACT_NEXT_HOT,
    KB_ACT_PREVIOUS_HOT,
    KB_ACT_AGAINST,
    KB_ACT_CODE,
    KB_ACT_RAW,
    KB_ACT_EDIT,
    KB_ACT_PIN,
    KB_ACT_UNPIN,
    KB_ACT_RERUN,
    KB_ACT_PAUSE,
    KB_ACT_CANCEL,
    KB_ACT_RESTART,
    KB_ACT_RETRY,
    KB_ACT_EXPORT,
    KB_ACT_KEEP,
    KB_ACT_ALLOW,
    KB_ACT_TRACE,
    KB_ACT_SEEK_BACK,
    KB_ACT_SEEK_FORWARD,
    KB_ACT_PREVIOUS_VERDICT,
    KB_ACT_NEXT_VERDICT,
    KB_ACT_SLOWER,
    KB_ACT_FASTER,
    KB_ACT_THEME,
    KB_ACT_HELP,
    KB_ACT_REDRAW,
    KB_ACT_SUSPEND,
    KB_ACT_QUIT,
    KB_ACTIONS
};
enum kb_key_group { KB_GROUP_MOVE, KB_GROUP_LOOK, KB_GROUP_WORK, KB_GROUP_REPLAY, KB_GROUP_PROGRAM, KB_GROUPS };
struct kb_binding {
    enum kb_action action;
    const char *id; // stable name
    enum kb_key_group group;
    int keys[3];
    const char *help; // one line of the help screen
    const char *hint; // a word for the footer, NULL: not there
};
extern const struct kb_binding kb_bindings[];
extern const size_t kb_binding_count;
const char *kb_group_name(enum kb_key_group);

enum kb_action kb_action_of(int key, bool replay); // in a replay its own keys win over those for work
const struct kb_binding *kb_binding_of(enum kb_action);
// "j", "Ctrl-L", "Space", "PgUp" into out; returns out.
const char *kb_key_name(int key, char out[16]);
int kb_key_parse(const char *name); // the reverse; KB_KEY_NONE if it is no key
// "j, Down" for all keys of a binding.
const char *kb_binding_keys(const struct kb_binding *, char out[48]);

#endif
