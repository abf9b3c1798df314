// Listings by cubin and version of nvdisasm: the tool needs half a second before it has done anything.
#ifndef KB_WORKER_SASS_CACHE_H
#define KB_WORKER_SASS_CACHE_H
#include "base/text.h"

#include <stdbool.h>

// $cache/sass-<hash of the cubin>-<version>; owned; NULL without a cache folder or version.
char *kb_sass_cache_path(const void *cubin, size_t size, const char *version);
// true if a whole entry lies there; its listing is appended to out.
bool kb_sass_cache_load(const char *path, struct kb_text *out);
// Stores, and removes the oldest entries where there are very many. What goes wrong costs time later, nothing else.
void kb_sass_cache_store(const char *path, const struct kb_text *listing);

#endif
