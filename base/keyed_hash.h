// A keyed hash: BLAKE2b (RFC 7693), 256 bits, with a key of 32 bytes. Whoever does not have the key can make no content
// that fits.
#ifndef KB_BASE_KEYED_HASH_H
#define KB_BASE_KEYED_HASH_H
#include <stddef.h>
#include <stdint.h>

enum { KB_KEY_BYTES = 32, KB_KEYED_HEX = 64 };
struct kb_keyed { // lower case, NUL-terminated
    char hex[KB_KEYED_HEX + 1];
};

struct kb_keyed_hasher {
    uint64_t h[8], bytes;
    unsigned char block[128];
    size_t used;
};
// key NULL: the plain hash.
void kb_keyed_begin(struct kb_keyed_hasher *k, const unsigned char *key);
void kb_keyed_add(struct kb_keyed_hasher *k, const void *bytes, size_t n);
struct kb_keyed kb_keyed_end(struct kb_keyed_hasher *k);

#endif
