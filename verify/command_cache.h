// Results of commands, kept in the cache folder: a script that takes seconds is not run again for inputs that it has
// seen. Half a GiB at most; the oldest go first. A cache that cannot be read or written is none.
#ifndef KB_VERIFY_COMMAND_CACHE_H
#define KB_VERIFY_COMMAND_CACHE_H
#include "bench/permission.h"
#include "verify/data.h"

// Of everything that decides the results: what is run, on which case, and the hashes of the inputs. Owned.
char *kb_command_key(const struct kb_data *, const struct kb_set *, const struct kb_permission *,
                     const char *description);
// Fills results if there are exactly so many bytes under the key, as they were kept; *us: how long the command took
// then. *foreign: somebody else changed them.
bool kb_command_cached(const char *key, char *results, size_t bytes, double *us, bool *foreign);
void kb_command_keep(const char *key, const char *results, size_t bytes, double us);

#endif
