/*
 * draw.h - uniform and normal numbers from Philox's words
 *
 * out           n of T
 * seed          Philox's key
 * offset        number of the sequence's element that out[0] is; offset + n is
 *               below 2^64
 * low, high     uniform: from low up to, and without, high; low < high
 * mean, std     normal
 *
 * Element e is word e % 4 of Philox's block with counter e / 4, so any grid and
 * any part of a sequence gives the same numbers. f64 takes 32 bits more from
 * the same word of the block whose counter has 1 in its upper half. Uniform
 * numbers of f16 and bf16, which hold fewer bits, are half words, the lower
 * half of a word first: number e % 8 of the block with counter e / 8.
 *
 *   uniform  u = the upper 24 bits of the word (f64: 53; half words: 16) as a
 *            fraction, and then u * high + (low - u * low), fused, in f32 for
 *            the small types, and rounded once. A number rounded to high or
 *            beyond becomes the number below high. The same bits on every
 *            target.
 *   normal   words in pairs (a, b), by Box and Muller's transform: r = sqrt(-2
 *            ln u), u = (a + 1/2) / 2^32 with a and u rounded to f32 (f64: 53
 *            bits, from 2^-53 to 1), and z = r cos(2 pi b), r sin(2 pi b), b
 *            being the upper 24 bits (f64: 53) as a fraction. Then z * std +
 *            mean, in f32 for the small types, rounded. All but f64 multiply r
 *            by std first: std is below 2^124.
 *
 * Targets may differ in the last places of normal numbers. Before the rounding
 * to T, normal numbers in f32 are off by at most 6 units of 2^-24 of r * std
 * (f64: of 2^-53). On NVIDIA's GPUs, whose instructions for logarithm, sine and
 * cosine err by 2^-22 to 2^-20.9, it is up to 24 units, and 32 for f16 and
 * bf16, which a shorter polynomial serves: their own rounding is 100 times as
 * much.
 *
 * Any 1-D grid and block.
 */
#pragma once

#include "random/normal.h"
#include "random/uniform.h"

/* Makes 16 bytes or a block of numbers, whichever is more. block_at(b) is the
 * number of the chunk's b-th block. */
template <typename T, u32 n, typename F, typename G>
DEV Pack<T, n> make_chunk(u64 seed, const F &numbers, G block_at)
{
    Pack<T, n> v;

    UNROLL
    for (u32 b = 0; b < n / F::per; b++) {
        const Pack<T, F::per> some = numbers.of(seed, block_at(b));

        UNROLL
        for (u32 i = 0; i < F::per; i++)
            v[b * F::per + i] = some[i];
    }
    return v;
}

template <typename T, u32 n> DEV void store_chunk(T *out, const Pack<T, n> &v)
{
    constexpr u32 V = 16 / sizeof(T);

    UNROLL
    for (u32 i = 0; i < n; i += V) {
        Pack<T, V> some;

        UNROLL
        for (u32 j = 0; j < V; j++)
            some[j] = v[i + j];
        store_pack<V>(out + i, some);
    }
}

/*
 * A thread makes several of Philox's blocks at a time, its part of a tile,
 * which share the rounds of the key. In almost all tiles they also share the
 * upper half of the counters, so one of the 20 multiplications is made once and
 * another one is by zero. On NVIDIA's GPUs a multiplication takes the time of
 * two other instructions. Numbers not aligned to 16 bytes, and the last ones,
 * are made a block at a time.
 */
template <typename T, typename F>
DEV void random_numbers(T *out, u64 n, u64 seed, u64 offset, const F &numbers)
{
    constexpr u32 V = 16 / sizeof(T), per = F::per;
    constexpr u32 chunk = V > per ? V : per, blocks_of = chunk / per;
    constexpr u32 most = sizeof(T) == 8 ? 1
                         : KPK_NVIDIA   ? 64 / chunk
                                        : 16 / chunk;
    const u32 skipped = (u32)offset % per; /* in the first block */
    const u32 threads = blockDim.x, thread = threadIdx.x;
    const u64 first = offset / per;
    const u64 chunks = skipped == 0 && is_aligned(out, 16) ? n / chunk : 0;
    const u64 blocks = n > 0 ? (n - 1 + skipped) / per + 1 : 0;
    const auto make_alone = [&](u64 k) {
        store_chunk(out + k * chunk,
                    make_chunk<T, chunk>(seed, numbers, [&](u32 b) {
                        return first + k * blocks_of + b;
                    }));
    };

    if constexpr (!F::in_tiles) {
        NO_UNROLL
        for (u64 k = global_thread(); k < chunks; k += global_threads())
            make_alone(k);
    } else {
        /* for every thread something, first */
        const bool many =
            threads % 32 == 0 && chunks >= most * global_threads();
        const u32 place =
            (thread & ~31u) * most + (thread & 31); /* in a tile */
        const u32 tile = many ? most * threads : threads;

        NO_UNROLL
        for (u64 at = (u64)blockIdx.x * tile; at < chunks;
             at += (u64)(u32)gridDim.x * tile) {
            const u64 block = first + at * blocks_of;
            const u32 low = (u32)block, high = (u32)(block >> 32);

            if (many && at + tile <= chunks && low <= 0u - tile * blocks_of) {
                T *const to = out + at * chunk + place * chunk;
                Pack<T, chunk> v[most];

                UNROLL
                for (u32 i = 0; i < most; i++)
                    v[i] = make_chunk<T, chunk>(seed, numbers, [&](u32 b) {
                        return (u64)high << 32 | (low + place * blocks_of +
                                                  (i * 32 * blocks_of + b));
                    });
                UNROLL
                for (u32 i = 0; i < most; i++)
                    store_chunk(to + i * 32 * chunk, v[i]);
            } else {
                /* lane_here() keeps threads that do not take this loop from
                 * computing its addresses */
                NO_UNROLL
                for (u64 k = at + lane_here(thread);
                     k < min_of(at + tile, chunks); k += threads)
                    make_alone(k);
            }
        }
    }
    if (!KPK_NVIDIA && chunks * blocks_of == blocks)
        return;
    NO_UNROLL
    for (u64 b = chunks * blocks_of + global_thread(); b < blocks;
         b += global_threads()) {
        const Pack<T, per> v = numbers.of(seed, first + b);
        const u64 at = per * b - skipped; /* may be before out[0] */

        UNROLL
        for (u32 i = 0; i < per; i++)
            if (at + i < n) /* unsigned: before out[0] is far off */
                out[at + i] = v[i];
    }
}

template <typename T>
DEV void random_uniform(T *out, u64 n, u64 seed, u64 offset, T low, T high)
{
    const uniform_numbers<T> numbers(low, high);

    if (numbers.first == 0 && numbers.last == 1)
        random_numbers(out, n, seed, offset, unit_numbers<T>());
    else
        random_numbers(out, n, seed, offset, numbers);
}
