// A keyed hash: BLAKE2b (RFC 7693), 256 bits, with a key of 32 bytes, by libb2. Whoever does not have the key can make
// no content that fits.
#ifndef KB_BASE_KEYED_HASH_H
#define KB_BASE_KEYED_HASH_H
#include <stddef.h>

#include <blake2.h>

enum { KB_KEY_BYTES = 32, KB_KEYED_BYTES = 32, KB_KEYED_HEX = 2 * KB_KEYED_BYTES };
struct kb_keyed { // lower case, NUL-terminated
    char hex[KB_KEYED_HEX + 1];
};

// key NULL: the plain hash.
void kb_keyed_begin(blake2b_state *k, const unsigned char *key);
void kb_keyed_add(blake2b_state *k, const void *bytes, size_t n);
struct kb_keyed kb_keyed_end(blake2b_state *k);

#endif
