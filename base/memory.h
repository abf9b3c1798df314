// Allocation that does not fail: out of host memory ends the program with a message.
#ifndef KB_BASE_MEMORY_H
#define KB_BASE_MEMORY_H
#include <stddef.h>

void *kb_alloc(size_t bytes); // zeroed
void *kb_realloc(void *p, size_t bytes);
char *kb_strdup(const char *s); // NULL gives NULL
char *kb_strndup(const char *s, size_t n);
void kb_free_list(char **list); // NULL-terminated, owned with its texts; may be NULL
char *kb_format(const char *format, ...) __attribute__((format(printf, 1, 2))); // owned by the caller

// Makes room for one more element behind `count` in a growing array; cap doubles.
#define KB_GROW(array, count, cap)                                                                                     \
    do {                                                                                                               \
        if ((size_t)(count) >= (size_t)(cap)) {                                                                        \
            (cap) = (cap) ? (cap)*2 : 8;                                                                               \
            (array) = kb_realloc((array), (size_t)(cap) * sizeof *(array));                                            \
        }                                                                                                              \
    } while (0)

#define KB_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif
