// The command line of kbench-tui (DESIGN.md, "The command line").
#ifndef KB_TUI_OPTIONS_H
#define KB_TUI_OPTIONS_H
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum kb_exit {
    KB_EXIT_PASS = 0,
    KB_EXIT_FAILED = 1,
    KB_EXIT_USAGE = 2,
    KB_EXIT_NO_DEVICE = 3,
    KB_EXIT_REFERENCE = 4,
    KB_EXIT_GUESSED = 5, // nothing failed, but a guessed bench does not fit: there is no verdict
};

enum kb_mode {
    KB_MODE_SCREEN,   // none was named: the screen, or KB_MODE_ONCE where stdout is no terminal
    KB_MODE_ONCE,     // --once, --json
    KB_MODE_FOLLOW,   // --follow
    KB_MODE_REPLAY,   // --replay FILE: the screen plays `replay`
    KB_MODE_SNAPSHOT, // --snapshot WxH
    KB_MODE_NEW,      // new NAME
    KB_MODE_DOCTOR,   // doctor
    KB_MODE_DUMP,     // dump BENCH [VARIANT[@N]] DIR
    KB_MODE_ALLOW,    // allow BENCH
    KB_MODE_EXPORT,   // export BENCH VARIANT [FILE.cu]: a failing case
    KB_MODE_TRACE,    // trace BENCH VARIANT
    KB_MODE_HELP,
    KB_MODE_VERSION,
};
enum kb_color { KB_COLOR_AUTO, KB_COLOR_ALWAYS, KB_COLOR_NEVER };

struct kb_options { // texts point into argv
    enum kb_mode mode;
    const char *bench; // folder, bench.json or .cu; "." if none was given
    bool json;
    const char *replay;                // NULL: live
    int columns, rows;                 // SNAPSHOT, TRACE (0: as text)
    const char *new_name;              // NEW
    const char *dump_which, *dump_dir; // DUMP; which: NULL: the newest version of each variant
    const char *case_name;             // EXPORT, TRACE: a number or label; NULL: the first that fails, the headline
    const char *failing_file;          // EXPORT; NULL: a new one
    bool traced;                       // TRACE: its VARIANT was given
    const char *export_path;           // ONCE, or of `replay`: the roofline as SVG; NULL: none
    const char *device;                // "auto" by default
    const char *variant, *baseline;    // NULL: none
    const char *kernel;                // of a source that no bench lists; NULL: asked for where it holds several
    const char *arch, *like, *op, *check, *theme;
    uint64_t seed; // 0: from the clock
    const char **include_dirs, **defines;
    int include_dir_count, define_count;
    enum kb_color color;
    bool ascii;
    bool no_history, no_cache;
    int seeds;          // ONCE: each version is verified with so many; 0: one
    bool require_proof; // what is not proven fails: KB_EXIT_FAILED
    bool no_profile;
    const char *worker; // path of kbench-worker; NULL: beside the program
};
// 0, or -1 with the error filled (the nearest option named); then the program ends with KB_EXIT_USAGE.
int kb_options_parse(int argc, char **argv, struct kb_options *out, struct kb_error *e);
void kb_options_free(struct kb_options *);
const char *kb_options_help(void); // the whole text of --help

#endif
