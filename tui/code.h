// What the panes of code ask for, and the parts of it that are worth keeping between frames.
#ifndef KB_TUI_CODE_H
#define KB_TUI_CODE_H
#include "jit/sass_parse.h"
#include "tui/samples.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum kb_code_kind { KB_CODE_SASS, KB_CODE_PTX, KB_CODE_SOURCE, KB_CODE_KINDS, KB_CODE_SAMPLES = KB_CODE_KINDS };
enum kb_against { KB_AGAINST_NOTHING, KB_AGAINST_PREVIOUS, KB_AGAINST_PINNED, KB_AGAINST_VARIANT, KB_AGAINSTS };

struct kb_code_request {
    enum kb_code_kind kind;
    const char *variant;
    int version;
    const char *against; // variant to compare with, NULL: the text itself is asked for
    int against_version;
    bool raw;
};
struct kb_code_answer {
    const char *text; // PTX and source; NULL: not asked for, or not (yet) known
    size_t size;
    const struct kb_sass_listing *listing; // machine code; NULL likewise
    const struct kb_samples *samples;      // samples by instruction; NULL likewise
    const cJSON *diff;                     // the document of docs/protocol.md; NULL likewise
    unsigned edition;                      // of what is there: another number for other contents
    const char *reason;                    // why there is nothing, or why it is not whole; NULL if all is well
};
const char *kb_code_kind_name(enum kb_code_kind); // "machine code", "PTX", "source"

#endif
