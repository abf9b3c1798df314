#include "base/keyed_hash.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const uint64_t start[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                  0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
static const unsigned char order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static uint64_t turn(uint64_t x, int n)
{
    return x >> n | x << (64 - n);
}

static void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = turn(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = turn(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = turn(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = turn(v[b] ^ v[c], 63);
}

static void compress(struct kb_keyed_hasher *k, bool last)
{
    uint64_t v[16], m[16];
    memcpy(m, k->block, sizeof m); // little endian, as all machines here
    memcpy(v, k->h, sizeof k->h);
    memcpy(v + 8, start, sizeof start);
    v[12] ^= k->bytes;
    v[14] ^= last ? UINT64_MAX : 0;
    for (int round = 0; round < 12; round++) {
        const unsigned char *s = order[round % 10];
        for (int i = 0; i < 4; i++)
            mix(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
        for (int i = 0; i < 4; i++)
            mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
    }
    for (int i = 0; i < 8; i++)
        k->h[i] ^= v[i] ^ v[8 + i];
}

void kb_keyed_begin(struct kb_keyed_hasher *k, const unsigned char *key)
{
    *k = (struct kb_keyed_hasher){0};
    memcpy(k->h, start, sizeof start);
    k->h[0] ^= 0x01010000u ^ (uint64_t)(key ? KB_KEY_BYTES : 0) << 8 ^ KB_KEYED_HEX / 2;
    if (!key)
        return;
    memcpy(k->block, key, KB_KEY_BYTES);
    k->used = sizeof k->block;
}

void kb_keyed_add(struct kb_keyed_hasher *k, const void *bytes, size_t n)
{
    for (const char *p = bytes; n;) {
        if (k->used == sizeof k->block) { // the last block waits for the end
            k->bytes += sizeof k->block;
            compress(k, false);
            k->used = 0;
        }
        size_t room = sizeof k->block - k->used, some = n < room ? n : room;
        memcpy(k->block + k->used, p, some);
        k->used += some;
        p += some;
        n -= some;
    }
}

struct kb_keyed kb_keyed_end(struct kb_keyed_hasher *k)
{
    struct kb_keyed out;
    k->bytes += k->used;
    memset(k->block + k->used, 0, sizeof k->block - k->used);
    compress(k, true);
    const unsigned char *h = (const unsigned char *)k->h;
    for (int i = 0; i < KB_KEYED_HEX / 2; i++)
        snprintf(out.hex + 2 * i, 3, "%02x", h[i]);
    return out;
}
