/* sha256.c - SHA-256 of a buffer in memory, FIPS 180-4 section 6.2
 *
 * Processors of x86-64 that have instructions for it take a fifth of the time.
 */
#include "sha256.h"

#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

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

/* One step: the state's words take turns, so that none is moved. */
#define STEP(a, b, c, d, e, f, g, h, i)                                        \
    do {                                                                       \
        const uint32_t t_ = (h) + ((g) ^ ((e) & ((f) ^ (g)))) +                \
                            (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +   \
                            constants[i] + w[i];                               \
        (d) += t_;                                                             \
        (h) = t_ + (((a) & (b)) | ((c) & ((a) | (b)))) +                       \
              (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22));                  \
    } while (0)

static void mix(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    expand(w, block);
    for (size_t i = 0; i < 64; i += 8) {
        STEP(a, b, c, d, e, f, g, h, i);
        STEP(h, a, b, c, d, e, f, g, i + 1);
        STEP(g, h, a, b, c, d, e, f, i + 2);
        STEP(f, g, h, a, b, c, d, e, i + 3);
        STEP(e, f, g, h, a, b, c, d, i + 4);
        STEP(d, e, f, g, h, a, b, c, i + 5);
        STEP(c, d, e, f, g, h, a, b, i + 6);
        STEP(b, c, d, e, f, g, h, a, i + 7);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

static void mix_all(uint32_t state[8], const uint8_t *at, size_t nblocks)
{
    for (; nblocks > 0; nblocks--, at += 64)
        mix(state, at);
}

#ifdef __x86_64__

/* Intel's SDM, volume 2, SHA256RNDS2: the state in two registers, of words a b
 * e f and c d g h, from the highest down. */
__attribute__((target("sha,sse4.1"))) static void
mix_all_x86(uint32_t state[8], const uint8_t *at, size_t nblocks)
{
    const __m128i bytes =
        _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i *halves = (__m128i *)(void *)state;
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128(halves), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128(halves + 1), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);

    for (; nblocks > 0; nblocks--, at += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];

        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(
                _mm_loadu_si128((const __m128i *)(const void *)at + i), bytes);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) { /* four steps each */
            const __m128i last = w[(i + 3) % 4];
            __m128i k;

            if (i >= 4)
                w[i % 4] = _mm_sha256msg2_epu32(
                    _mm_add_epi32(
                        _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]),
                        _mm_alignr_epi8(last, w[(i + 2) % 4], 4)),
                    last);
            k = _mm_add_epi32(
                w[i % 4],
                _mm_loadu_si128((const __m128i *)(const void *)constants + i));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
            abef =
                _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);
    high = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(halves, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128(halves + 1, _mm_alignr_epi8(high, low, 8));
}

static int has_instructions(void)
{
    enum { SHA = 1 << 29 };
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1))
        return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA);
}

#endif

void sha256(const void *data, size_t nbytes, uint8_t digest[32])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *at = data;
    uint64_t nbits = (uint64_t)nbytes * 8;
    uint8_t tail[128] = {0};
    size_t left = nbytes % 64;
    void (*blocks)(uint32_t *, const uint8_t *, size_t) = mix_all;
    size_t tail_nbytes;

#ifdef __x86_64__
    if (has_instructions())
        blocks = mix_all_x86;
#endif
    blocks(state, at, nbytes / 64);
    at += nbytes / 64 * 64;
    if (left)
        memcpy(tail, at, left);
    tail[left] = 0x80;
    tail_nbytes = left < 56 ? 64 : 128;
    for (size_t i = 0; i < 8; i++)
        tail[tail_nbytes - 1 - i] = (uint8_t)(nbits >> 8 * i);
    blocks(state, tail, tail_nbytes / 64);
    for (size_t i = 0; i < 32; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}
