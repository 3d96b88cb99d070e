/* sha256.c - SHA-256 of a buffer in memory, FIPS 180-4 section 6.2 */
#include "base/sha256.h"

#include <string.h>

/* Section 4.2.2: the cube roots of the first 64 primes, fraction bits. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void expand(uint32_t w[64], const uint8_t *block)
{
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void mix(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], s[8];

    expand(w, block);
    memcpy(s, state, sizeof(s));
    for (size_t i = 0; i < 64; i++) {
        uint32_t big1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint32_t big0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t t = s[7] + big1 + choose + constants[i] + w[i];

        memmove(s + 1, s, 7 * sizeof(s[0]));
        s[4] += t;
        s[0] = t + big0 + majority;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += s[i];
}

void sha256(const void *data, size_t nbytes, uint8_t digest[32])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *at = data;
    uint64_t nbits = (uint64_t)nbytes * 8;
    uint8_t tail[128] = {0};
    size_t left = nbytes;
    size_t tail_nbytes;

    for (; left >= 64; left -= 64, at += 64)
        mix(state, at);
    if (left)
        memcpy(tail, at, left);
    tail[left] = 0x80;
    tail_nbytes = left < 56 ? 64 : 128;
    for (size_t i = 0; i < 8; i++)
        tail[tail_nbytes - 1 - i] = (uint8_t)(nbits >> 8 * i);
    for (size_t i = 0; i < tail_nbytes; i += 64)
        mix(state, tail + i);
    for (size_t i = 0; i < 32; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}
