// XXH128, as 32 hex digits: names of objects in the history, identities of versions. Not for security.
#ifndef KB_BASE_HASH_H
#define KB_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

struct kb_hash {
    char hex[33]; // lower case, NUL-terminated
};

struct kb_hasher; // several parts, each framed by its length so that parts cannot run together
struct kb_hasher *kb_hasher_new(void);
void kb_hasher_add(struct kb_hasher *h, const void *bytes, size_t n);
void kb_hasher_text(struct kb_hasher *h, const char *s); // NULL differs from ""
struct kb_hash kb_hasher_end(struct kb_hasher *h);       // frees h

struct kb_hash kb_hash_of(const void *bytes, size_t n); // the plain XXH128 of the bytes

// All bits of z on all bits of the result: the end of splitmix64 (Steele, Lea, Flood, 2014).
static inline uint64_t kb_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

#endif
