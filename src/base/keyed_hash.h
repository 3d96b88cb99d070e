/* keyed_hash.h - hashes of untrusted texts
 *
 * A polynomial whose coefficients are a text's bytes, at a secret point, modulo
 * the prime 2^61 - 1: two texts of n bytes have the same hash for at most n of
 * the 2^61 keys, so no file can hold texts that collide in everybody's table.
 * (Dietzfelbinger, Gil, Matias, Pippenger: Polynomial hash functions are
 * reliable. ICALP 1992.)
 *
 * Nothing that is written may depend on a hash.
 */
#ifndef KPK_KEYED_HASH_H
#define KPK_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* The leading coefficient, so that "" and "\0" differ. */
#define KEYED_HASH_EMPTY UINT64_C(1)

__extension__ typedef unsigned __int128 keyed_hash_wide;

/* A new key. If the system gives no random numbers, the key is derived from
 * `somewhere`, an address returned by malloc(). */
static inline uint64_t keyed_hash_key(const void *somewhere)
{
    uint64_t key;

    if (getentropy(&key, sizeof(key)) != 0)
        key = (uintptr_t)somewhere;
    return key >> 3;
}

/* The hash of a text whose beginning has the hash h. */
static inline uint64_t keyed_hash_bytes(uint64_t key, uint64_t h,
                                        const char *at, size_t n)
{
    const uint64_t prime = (UINT64_C(1) << 61) - 1;

    for (size_t i = 0; i < n; i++) {
        const keyed_hash_wide wide =
            (keyed_hash_wide)h * key + (unsigned char)at[i];

        h = ((uint64_t)wide & prime) + (uint64_t)(wide >> 61);
        h = h >= prime ? h - prime : h;
    }
    return h;
}

/* A hash's place in a table of mask + 1 slots, a power of two: neighbours of
 * the polynomial are none there. */
static inline size_t keyed_hash_slot(uint64_t h, size_t mask)
{
    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 32) & mask;
}

#endif
