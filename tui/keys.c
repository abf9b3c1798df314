#include "tui/keys.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MOVE KB_GROUP_MOVE
#define LOOK KB_GROUP_LOOK
#define WORK KB_GROUP_WORK
#define REPLAY KB_GROUP_REPLAY
#define PROGRAM KB_GROUP_PROGRAM

const struct kb_binding kb_bindings[] = {
    {KB_ACT_DOWN, "down", MOVE, {'j', KB_KEY_DOWN}, "one line down", NULL},
    {KB_ACT_UP, "up", MOVE, {'k', KB_KEY_UP}, "one line up", NULL},
    {KB_ACT_PAGE_DOWN, "page-down", MOVE, {KB_KEY_PAGE_DOWN, KB_CTRL('f')}, "one page down", NULL},
    {KB_ACT_PAGE_UP, "page-up", MOVE, {KB_KEY_PAGE_UP, KB_CTRL('b')}, "one page up", NULL},
    {KB_ACT_TOP, "top", MOVE, {'g', KB_KEY_HOME}, "to the first line", NULL},
    {KB_ACT_BOTTOM, "bottom", MOVE, {'G', KB_KEY_END}, "to the last line; the log follows again", NULL},
    {KB_ACT_NEXT_PANE, "next-pane", MOVE, {KB_KEY_TAB}, "next pane", "pane"},
    {KB_ACT_PREVIOUS_PANE, "previous-pane", MOVE, {KB_KEY_BACK_TAB}, "previous pane", NULL},
    {KB_ACT_PANE_1, "variants", LOOK, {'1'}, "variants: all of them side by side", NULL},
    {KB_ACT_PANE_2, "errors", LOOK, {'2'}, "errors: what the compiler says, metrics by case, where it is wrong", NULL},
    {KB_ACT_PANE_3, "roofline", LOOK, {'3'}, "roofline", NULL},
    {KB_ACT_PANE_4, "history", LOOK, {'4'}, "history: every version; the selected one is shown elsewhere", NULL},
    {KB_ACT_PANE_5, "log", LOOK, {'5'}, "log: compiler, kernel output, session", NULL},
    {KB_ACT_PANE_6, "details", LOOK, {'6'}, "details: timing, resources, device, why something is unknown", NULL},
    {KB_ACT_PANE_7, "why", LOOK, {'7'}, "why: the limit and what to try, sections, counters", NULL},
    {KB_ACT_PANE_8, "source", LOOK, {'8'}, "source: as it was compiled, with what each line costs", NULL},
    {KB_ACT_PANE_9, "sass", LOOK, {'9'}, "sass: machine code, and what changed in it", NULL},
    {KB_ACT_ZOOM, "zoom", LOOK, {KB_KEY_ENTER, 'z'}, "focused pane on the whole screen, and back", "zoom"},
    {KB_ACT_NEXT_VARIANT, "next-variant", LOOK, {'v'}, "focus the next variant; it builds first", "variant"},
    {KB_ACT_PREVIOUS_VARIANT, "previous-variant", LOOK, {'V'}, "focus the previous variant", NULL},
    {KB_ACT_CASES, "cases", LOOK, {'c'}, "choose the case whose numbers are shown", "case"},
    {KB_ACT_FILTER, "filter", LOOK, {'/'}, "show only log lines that hold a text", NULL},
    {KB_ACT_NEXT_HOT, "next-hot", LOOK, {'n'}, "source: the next hottest line; sass: the next change", NULL},
    {KB_ACT_PREVIOUS_HOT, "previous-hot", LOOK, {'N'}, "source: the hotter line before; sass: the change before", NULL},
    {KB_ACT_AGAINST,
     "against",
     LOOK,
     {'d'},
     "sass: listing, or compared with: version before, baseline, variant",
     NULL},
    {KB_ACT_CODE, "code", LOOK, {'m'}, "sass: machine code, PTX, source", NULL},
    {KB_ACT_RAW, "raw", LOOK, {'w'}, "sass: as written, or real changes only; why: raw names of stalls", NULL},
    {KB_ACT_BACK, "back", LOOK, {KB_KEY_ESC}, "leave an overlay, the zoom, a filter, an old version", NULL},
    {KB_ACT_THEME, "theme", LOOK, {'t'}, "next theme (dark, light, projector, mono)", NULL},
    {KB_ACT_EDIT,
     "edit",
     WORK,
     {'e'},
     "open $VISUAL or $EDITOR at the first error, or at the source pane's line",
     "edit"},
    {KB_ACT_EXPORT, "export", WORK, {'E'}, "write the failing case shown as a .cu with main(), for a debugger", NULL},
    {KB_ACT_KEEP, "keep", WORK, {'s'}, "keep the guessed bench: bench.json, and a reference to complete", NULL},
    {KB_ACT_ALLOW, "allow", WORK, {'A'}, "the command that this bench wants to run: look at it, allow it", NULL},
    {KB_ACT_PIN, "pin", WORK, {'b'}, "pin the version shown as the baseline of all comparisons", "baseline"},
    {KB_ACT_UNPIN, "unpin", WORK, {'B'}, "no pinned baseline: compare with the version before", NULL},
    {KB_ACT_RERUN, "rerun", WORK, {'r'}, "run, verify and time again with new inputs", "rerun"},
    {KB_ACT_RETRY, "retry", WORK, {'a'}, "ask again for sections, counters and machine code that were refused", NULL},
    {KB_ACT_TRACE,
     "trace",
     WORK,
     {'T'},
     "exact spans of the sections of this version, by multiprocessor, block and warp",
     "trace"},
    {KB_ACT_PAUSE, "pause", WORK, {'p', ' '}, "pause: saves are noted, nothing is built; again: go on", "pause"},
    {KB_ACT_CANCEL, "cancel", WORK, {'x'}, "end what is running now", NULL},
    {KB_ACT_RESTART, "restart", WORK, {'R'}, "replace all workers (asks first)", NULL},
    {KB_ACT_PAUSE, "replay-pause", REPLAY, {' ', 'p'}, "stop and go on", "stop/go"},
    {KB_ACT_SEEK_FORWARD, "forward", REPLAY, {KB_KEY_RIGHT, 'l'}, "5 seconds on", "5 s"},
    {KB_ACT_SEEK_BACK, "back-5s", REPLAY, {KB_KEY_LEFT, 'h'}, "5 seconds back", NULL},
    {KB_ACT_NEXT_VERDICT, "next-verdict", REPLAY, {']'}, "to the next verdict", "verdict"},
    {KB_ACT_PREVIOUS_VERDICT, "previous-verdict", REPLAY, {'['}, "to the verdict before", NULL},
    {KB_ACT_FASTER, "faster", REPLAY, {'+', '='}, "twice as fast", "speed"},
    {KB_ACT_SLOWER, "slower", REPLAY, {'-'}, "half as fast", NULL},
    {KB_ACT_HELP, "help", PROGRAM, {'?', KB_KEY_F1}, "this list", "help"},
    {KB_ACT_REDRAW, "redraw", PROGRAM, {KB_CTRL('l')}, "draw everything again", NULL},
    {KB_ACT_SUSPEND, "suspend", PROGRAM, {KB_CTRL('z')}, "to the shell; workers go on", NULL},
    {KB_ACT_QUIT, "quit", PROGRAM, {'q', KB_CTRL('c')}, "quit; asks if something is running", "quit"},
};
const size_t kb_binding_count = KB_COUNT(kb_bindings);

static const struct {
    int key;
    const char *name;
} names[] = {
    {' ', "Space"},
    {KB_KEY_TAB, "Tab"},
    {KB_KEY_ENTER, "Enter"},
    {KB_KEY_ESC, "Esc"},
    {KB_KEY_BACKSPACE, "Backspace"},
    {KB_KEY_UP, "Up"},
    {KB_KEY_DOWN, "Down"},
    {KB_KEY_LEFT, "Left"},
    {KB_KEY_RIGHT, "Right"},
    {KB_KEY_HOME, "Home"},
    {KB_KEY_END, "End"},
    {KB_KEY_PAGE_UP, "PgUp"},
    {KB_KEY_PAGE_DOWN, "PgDn"},
    {KB_KEY_BACK_TAB, "Shift-Tab"},
    {KB_KEY_DELETE, "Delete"},
    {KB_KEY_INSERT, "Insert"},
    {KB_KEY_F1, "F1"},
};

const char *kb_group_name(enum kb_key_group g)
{
    static const char *const texts[KB_GROUPS] = {"Move", "Look", "Work", "Replay", "Program"};
    return texts[g];
}

static bool has_key(const struct kb_binding *b, int key)
{
    for (size_t i = 0; i < KB_COUNT(b->keys); i++)
        if (b->keys[i] == key && key)
            return true;
    return false;
}

enum kb_action kb_action_of(int key, bool replay)
{
    enum kb_action found = KB_ACT_NONE;
    for (size_t i = 0; i < kb_binding_count; i++) {
        if (!has_key(&kb_bindings[i], key))
            continue;
        if (kb_bindings[i].group == KB_GROUP_REPLAY) {
            if (replay)
                return kb_bindings[i].action;
        } else if (!found) {
            found = kb_bindings[i].action;
        }
    }
    return found;
}

const struct kb_binding *kb_binding_of(enum kb_action action)
{
    for (size_t i = 0; i < kb_binding_count; i++)
        if (kb_bindings[i].action == action)
            return &kb_bindings[i];
    return NULL;
}

const char *kb_key_name(int key, char out[16])
{
    for (size_t i = 0; i < KB_COUNT(names); i++)
        if (names[i].key == key) {
            snprintf(out, 16, "%s", names[i].name);
            return out;
        }
    if (key > 0 && key < 0x20)
        snprintf(out, 16, "Ctrl-%c", key + '@');
    else if (key > 0x20 && key < 0x7f)
        snprintf(out, 16, "%c", key);
    else
        snprintf(out, 16, "U+%04X", (unsigned)key);
    return out;
}

int kb_key_parse(const char *name)
{
    for (size_t i = 0; i < KB_COUNT(names); i++)
        if (!strcasecmp(names[i].name, name))
            return names[i].key;
    if (!strncasecmp(name, "Ctrl-", 5) && name[5] && !name[6])
        return KB_CTRL(name[5]);
    uint32_t code = 0;
    size_t n = strlen(name);
    int used = n ? kb_utf8_decode(name, n, &code) : 0;
    return used && (size_t)used == n ? (int)code : KB_KEY_NONE;
}

const char *kb_binding_keys(const struct kb_binding *b, char out[48])
{
    int n = 0;
    out[0] = 0;
    for (size_t i = 0; i < KB_COUNT(b->keys); i++) {
        char name[16];
        if (b->keys[i])
            n += snprintf(out + n, 48 - (size_t)n, "%s%s", n ? ", " : "", kb_key_name(b->keys[i], name));
    }
    return out;
}
