// Inner side of the toolkit finder: versions of opened libraries.
#ifndef KB_JIT_TOOLKIT_H
#define KB_JIT_TOOLKIT_H
struct link_map;

const char *kb_link_map_name(const struct link_map *map); // path the loader took; may be ""
// Version of an opened library by its short name, "13.0"; owned; NULL where it has no way to say.
char *kb_library_version(const char *name, void *handle);

#endif
