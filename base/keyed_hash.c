#include "base/keyed_hash.h"

#include <stdio.h>
#include <stdlib.h>

// The library refuses lengths alone, and ours are constant.
static void must(int status)
{
    if (status)
        abort();
}

void kb_keyed_begin(blake2b_state *k, const unsigned char *key)
{
    must(key ? blake2b_init_key(k, KB_KEYED_BYTES, key, KB_KEY_BYTES) : blake2b_init(k, KB_KEYED_BYTES));
}

void kb_keyed_add(blake2b_state *k, const void *bytes, size_t n)
{
    must(n ? blake2b_update(k, bytes, n) : 0);
}

struct kb_keyed kb_keyed_end(blake2b_state *k)
{
    unsigned char bytes[KB_KEYED_BYTES];
    struct kb_keyed out;
    must(blake2b_final(k, bytes, sizeof bytes));
    for (int i = 0; i < KB_KEYED_BYTES; i++)
        snprintf(out.hex + (size_t)(2 * i), 3, "%02x", bytes[i]);
    return out;
}
