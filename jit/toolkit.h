// Inner side of the toolkit finder: opening libraries, and versions of opened ones.
#ifndef KB_JIT_TOOLKIT_H
#define KB_JIT_TOOLKIT_H
struct link_map;

// dlopen, everything resolved now; NULL: see dlerror. Nothing else in the programs opens a vendor's library, since leak
// checks end with the first one (library_open.c).
void *kb_library_open(const char *file);
const char *kb_link_map_name(const struct link_map *map); // path the loader took; may be ""
// Version of an opened library by its short name, "13.0"; owned; NULL where it has no way to say.
char *kb_library_version(const char *name, void *handle);

#endif
