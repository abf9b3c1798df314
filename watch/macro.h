// Inside of watch/: what "#include MACRO" may name.
#ifndef KB_WATCH_MACRO_H
#define KB_WATCH_MACRO_H
#include "watch/include.h"

// Calls back for each header that the operand may stand for: every definition of a macro counts, since conditions are
// not evaluated, with and without parameters, # and ##. False if some way ends in something that is no header's name,
// or the macros run in circles. A take that returns other than 0 ends it (*status).
bool kb_macro_headers(const struct kb_include_list *defines, const char *operand,
                      int (*take)(void *context, const struct kb_include *), void *context, int *status);

#endif
