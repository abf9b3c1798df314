#define XXH_INLINE_ALL
#include "base/hash.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct kb_hasher {
    XXH3_state_t *state;
};

static struct kb_hash to_hex(XXH128_hash_t value)
{
    struct kb_hash hash;
    snprintf(hash.hex, sizeof hash.hex, "%016llx%016llx", (unsigned long long)value.high64,
             (unsigned long long)value.low64);
    return hash;
}

struct kb_hasher *kb_hasher_new(void)
{
    struct kb_hasher *h = kb_alloc(sizeof *h);
    h->state = XXH3_createState();
    XXH3_128bits_reset(h->state);
    return h;
}

void kb_hasher_add(struct kb_hasher *h, const void *bytes, size_t n)
{
    uint64_t length = n;
    XXH3_128bits_update(h->state, &length, sizeof length);
    if (n)
        XXH3_128bits_update(h->state, bytes, n);
}

void kb_hasher_text(struct kb_hasher *h, const char *s)
{
    if (s) {
        kb_hasher_add(h, s, strlen(s));
    } else {
        uint64_t none = UINT64_MAX;
        XXH3_128bits_update(h->state, &none, sizeof none);
    }
}

struct kb_hash kb_hasher_end(struct kb_hasher *h)
{
    struct kb_hash hash = to_hex(XXH3_128bits_digest(h->state));
    XXH3_freeState(h->state);
    free(h);
    return hash;
}

struct kb_hash kb_hash_of(const void *bytes, size_t n)
{
    return to_hex(XXH3_128bits(bytes, n));
}
