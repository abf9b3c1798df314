// What is kept between runs and decides verdicts: sealed by a keyed hash over its purpose and content, whose key lies
// in the state folder (`key`, for its user alone, made on first use). What does not fit is not believed. Whatever runs
// as this user can read the key: --no-cache (kb_caches_off) is for those who may not rely on that.
#ifndef KB_BASE_SEALED_H
#define KB_BASE_SEALED_H
#include "base/keyed_hash.h"

#include <stdbool.h>
#include <stddef.h>

// $KBENCH_NO_CACHE is set: nothing that was kept is read, nothing is kept.
bool kb_caches_off(void);

struct kb_seal_part {
    const void *data;
    size_t size;
};
struct kb_seal_key {
    unsigned char bytes[KB_KEY_BYTES];
    bool known; // false: there is none, and none can be made: nothing is sealed, nothing believed
};
struct kb_seal_key kb_seal_key(void); // asks the disk
struct kb_keyed kb_seal(const struct kb_seal_key *, const char *purpose, const struct kb_seal_part *parts, int count);

enum kb_sealed {
    KB_SEALED_NONE,    // nothing is there, or nothing may be read
    KB_SEALED_FOUND,   // *data (NUL behind *size bytes) is the caller's
    KB_SEALED_FOREIGN, // somebody else made or changed it
};
// A file is sealed for the name that it has: moved, it does not fit.
enum kb_sealed kb_sealed_read(const char *path, size_t limit, char **data, size_t *size);
int kb_sealed_write(const char *path, const void *data, size_t size); // -1: it is not kept

#endif
