/* groups.h - work-items that meet: LDS, barriers, shuffles, atomics
 *
 * A record is one word in and one word out here. The kernel is written for a
 * wave of 32 or 64 lanes; the reference beside it never asks.
 */
#include "corpus.h"

#if !DEVICE_ONLY
#include <algorithm>
#include <cstring>
#include <vector>
#endif

/* ---- inclusive scan of each workgroup through LDS (Hillis and Steele) ---- */
#if DEVICE_ONLY
GROUP_TEST(scan_lds)
{
    __shared__ u32 buffer[2][BLOCK];
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    u32 from = 0;

    buffer[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (u32 d = 1; d < BLOCK; d *= 2) {
        u32 v = buffer[from][t];

        if (t >= d)
            v += buffer[from][t - d];
        buffer[from ^ 1][t] = v;
        from ^= 1;
        __syncthreads();
    }
    if (i < n)
        out[i] = buffer[from][t];
}
#else
HOST_REFERENCE(scan_lds)
{
    for (u32 i = 0; i < n; i++)
        out[i] = in[i] + (i % BLOCK ? out[i - 1] : 0);
}
#endif

/* ---- the same through shuffles within 32 lanes, then LDS ---- */
#if DEVICE_ONLY
GROUP_TEST(scan_shuffle)
{
    __shared__ u32 sums[BLOCK / 32];
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    u32 v = i < n ? in[i] : 0, base = 0;

    for (u32 d = 1; d < 32; d *= 2) {
        const u32 from = (u32)__shfl_up((int)v, d, 32);

        if (t % 32 >= d)
            v += from;
    }
    if (t % 32 == 31)
        sums[t / 32] = v;
    __syncthreads();
    for (u32 k = 0; k < t / 32; k++)
        base += sums[k];
    if (i < n)
        out[i] = v + base;
}
#else
HOST_REFERENCE(scan_shuffle)
{
    for (u32 i = 0; i < n; i++)
        out[i] = in[i] + (i % BLOCK ? out[i - 1] : 0);
}
#endif

/* ---- shuffles of every kind, widths 32 and 8 ---- */
#if DEVICE_ONLY
GROUP_TEST(shuffles)
{
    const u32 i = blockIdx.x * BLOCK + threadIdx.x;
    const int v = (int)in[i];
    u32 r = (u32)__shfl_xor(v, 5, 32);

    r = r * 3 + (u32)__shfl_down(v, 3, 32);
    r = r * 3 + (u32)__shfl_up(v, 7, 32);
    r = r * 3 + (u32)__shfl(v, (int)(in[i] & 31), 32);
    r = r * 3 + (u32)__shfl_xor(v, 3, 8);
    r = r * 3 + (u32)__shfl(v, 2, 8);
    r = r * 3 + (u32)__builtin_amdgcn_mov_dpp(v, 0x1b, 0xf, 0xf, true);
    r = r * 3 + (u32)__builtin_amdgcn_mov_dpp(v, 0x141, 0xf, 0xf, true);
    r = r * 3 + (u32)__builtin_amdgcn_update_dpp(7, v, 0x112, 0xf, 0xf, false);
    r = r * 3 + (u32)__builtin_amdgcn_ds_swizzle(v, 0x041f);
    out[i] = r;
}
#else
HOST_REFERENCE(shuffles)
{
    for (u32 i = 0; i < n; i++) {
        const u32 g = i & ~31u, l = i & 31, q = i & ~7u;
        u32 r = in[g + (l ^ 5)];

        r = r * 3 + (l + 3 < 32 ? in[i + 3] : in[i]);
        r = r * 3 + (l >= 7 ? in[i - 7] : in[i]);
        r = r * 3 + in[g + (in[i] & 31)];
        r = r * 3 + in[q + ((i & 7) ^ 3)];
        r = r * 3 + in[q + 2];
        r = r * 3 + in[(i & ~3u) + (3 - (i & 3))];   /* quad_perm:[3,2,1,0] */
        r = r * 3 + in[(i & ~7u) + (7 - (i & 7))];   /* row_half_mirror */
        r = r * 3 + ((i & 15) >= 2 ? in[i - 2] : 7); /* row_shr:2 */
        r = r * 3 + in[g + (l ^ 1)];                 /* swap of neighbours */
        out[i] = r;
    }
}
#endif

/* ---- ballots and votes, a bit mask of 32 lanes at a time ---- */
#if DEVICE_ONLY
GROUP_TEST(ballots)
{
    const u32 i = blockIdx.x * BLOCK + threadIdx.x;
    const u32 wave = __builtin_amdgcn_wavefrontsize();
    const u32 shift = wave == 64 ? threadIdx.x & 32 : 0;
    const u64 ballot = __ballot((in[i] & 3) == 1);
    const u32 mine = (u32)(ballot >> shift);
    u32 r = mine ^ (u32)__popc(mine & ((1u << (threadIdx.x & 31)) - 1));

    if (in[i] & 1) /* the lanes that are off must not vote */
        r += (u32)(__ballot((in[i] & 2) != 0) >> shift);
    out[i] = r;
}
#else
HOST_REFERENCE(ballots)
{
    for (u32 g = 0; g < n; g += 32)
        for (u32 l = 0; l < 32; l++) {
            u32 first = 0, second = 0;

            for (u32 k = 0; k < 32; k++) {
                first |= (u32)((in[g + k] & 3) == 1) << k;
                second |= (u32)((in[g + k] & 3) == 3) << k;
            }
            out[g + l] =
                first ^ (u32)__builtin_popcount(first & ((1u << l) - 1));
            if (in[g + l] & 1)
                out[g + l] += second;
        }
}
#endif

/* ---- float reduction by a tree whose order is fixed ---- */
#if DEVICE_ONLY
GROUP_TEST(reduce_tree)
{
    __shared__ double slots[BLOCK];
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;

    slots[t] = (double)(i32)in[i] * 0x1p-7;
    for (u32 h = BLOCK / 2; h; h /= 2) {
        __syncthreads();
        if (t < h)
            slots[t] = slots[t] * 0.75 + slots[t + h];
    }
    __syncthreads();
    put_pair(&out[i & ~1u], bits_f64(slots[0]));
}
#else
HOST_REFERENCE(reduce_tree)
{
    for (u32 g = 0; g < n; g += BLOCK) {
        double slots[BLOCK];

        for (u32 t = 0; t < BLOCK; t++)
            slots[t] = (double)(i32)in[g + t] * 0x1p-7;
        for (u32 h = BLOCK / 2; h; h /= 2)
            for (u32 t = 0; t < h; t++)
                slots[t] = slots[t] * 0.75 + slots[t + h];
        for (u32 t = 0; t < BLOCK; t += 2)
            put_pair(&out[g + t], bits_f64(slots[0]));
    }
}
#endif

/* ---- bitonic sort of each workgroup's keys, barriers in nested loops ---- */
#if DEVICE_ONLY
GROUP_TEST(sort_bitonic)
{
    __shared__ u32 keys[BLOCK];
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;

    keys[t] = in[i];
    __syncthreads();
    for (u32 k = 2; k <= BLOCK; k *= 2)
        for (u32 j = k / 2; j; j /= 2) {
            const u32 p = t ^ j;

            if (p > t) {
                const u32 a = keys[t], b = keys[p];

                if ((a > b) == ((t & k) == 0)) {
                    keys[t] = b;
                    keys[p] = a;
                }
            }
            __syncthreads();
        }
    out[i] = keys[t];
}
#else
HOST_REFERENCE(sort_bitonic)
{
    std::copy(in, in + n, out);
    for (u32 g = 0; g < n; g += BLOCK)
        std::sort(out + g, out + g + BLOCK);
}
#endif

/* ---- radix sort by ballots and LDS counters ---- */
#if DEVICE_ONLY
GROUP_TEST(sort_radix)
{
    __shared__ u32 keys[BLOCK], ones[BLOCK];
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;

    keys[t] = in[i];
    for (u32 bit = 0; bit < 32; bit++) {
        u32 key, before = 0, total = 0, place;

        __syncthreads();
        key = keys[t];
        ones[t] = key >> bit & 1;
        __syncthreads();
        for (u32 k = 0; k < BLOCK; k++) {
            before += k < t ? ones[k] : 0;
            total += ones[k];
        }
        place = key >> bit & 1 ? BLOCK - total + before : t - before;
        keys[place] = key;
    }
    __syncthreads();
    out[i] = keys[t];
}
#else
HOST_REFERENCE(sort_radix)
{
    host_sort_bitonic(in, out, n);
}
#endif

/* ---- LDS atomics: a histogram, then global atomics of every kind ---- */
#if DEVICE_ONLY
GROUP_TEST(histogram)
{
    __shared__ u32 bins[64];
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;

    if (t < 64)
        bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[i] & 63], in[i] >> 28);
    __syncthreads();
    out[i] = bins[t & 63] + (t >> 6);
}
#else
HOST_REFERENCE(histogram)
{
    for (u32 g = 0; g < n; g += BLOCK) {
        u32 bins[64] = {0};

        for (u32 t = 0; t < BLOCK; t++)
            bins[in[g + t] & 63] += in[g + t] >> 28;
        for (u32 t = 0; t < BLOCK; t++)
            out[g + t] = bins[t & 63] + (t >> 6);
    }
}
#endif

/* out[0 .. 31] accumulate over the whole grid; the order does not matter. The
 * buffer is zeroed before each kernel, and no other word is written. */
#if DEVICE_ONLY
GROUP_TEST(atomics_global)
{
    const u32 v = in[blockIdx.x * BLOCK + threadIdx.x];
    u64 *const wide = (u64 *)out;
    u32 seen, next;

    (void)n;
    atomicAdd(&out[0], v);
    atomicSub(&out[1], v >> 3);
    atomicMax(&out[2], v);
    atomicMax((int *)&out[3], (int)v);
    atomicMin((int *)&out[4], (int)v);
    atomicOr(&out[5], v & 0x0f0f0f0f);
    atomicXor(&out[6], v);
    atomicAdd((unsigned long long *)&wide[4], (unsigned long long)v << 20);
    atomicMax((unsigned long long *)&wide[5], (unsigned long long)v * v);
    atomicXor((unsigned long long *)&wide[6], (unsigned long long)v << 9);
    /* small integers add without rounding, in any order */
    __hip_atomic_fetch_add((float *)&out[14], (float)(v & 15), __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_add((double *)&wide[8], (double)(v & 0xffff),
                           __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __builtin_amdgcn_atomic_inc32(&out[18], 1000u, __ATOMIC_RELAXED, "agent");
    seen =
        __hip_atomic_load(&out[19], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    do { /* compare and swap: a product of odd numbers commutes */
        next = seen;
        seen = atomicCAS(&out[19], next, (next | 1) * (v | 1));
    } while (seen != next);
    /* results of a returning atomic: a permutation of 0 .. grid - 1 */
    seen = atomicAdd(&out[20], 1u);
    atomicAdd(&out[21], seen);
    atomicXor(&out[22], seen * 2654435761u);
    atomicExch(&out[23], 0xabcdu);
    atomicAnd(&out[24], v);
}
#else
HOST_REFERENCE(atomics_global)
{
    float sum32 = 0;
    double sum64 = 0;
    u64 wide[3] = {0, 0, 0};

    memset(out, 0, n * sizeof(*out));
    for (u32 i = 0; i < n; i++) {
        const u32 v = in[i];

        out[0] += v;
        out[1] -= v >> 3;
        out[2] = std::max(out[2], v);
        out[3] = (u32)std::max((i32)out[3], (i32)v);
        out[4] = (u32)std::min((i32)out[4], (i32)v);
        out[5] |= v & 0x0f0f0f0f;
        out[6] ^= v;
        wide[0] += (u64)v << 20;
        wide[1] = std::max(wide[1], (u64)v * v);
        wide[2] ^= (u64)v << 9;
        sum32 += (float)(v & 15);
        sum64 += (double)(v & 0xffff);
        out[18] = out[18] >= 1000 ? 0 : out[18] + 1;
        out[19] = (out[19] | 1) * (v | 1);
        out[20]++;
        out[21] += i;
        out[22] ^= i * 2654435761u;
    }
    out[23] = 0xabcd;
    memcpy(&out[8], wide, sizeof(wide));
    memcpy(&out[14], &sum32, 4);
    memcpy(&out[16], &sum64, 8);
}
#endif

/* ---- dynamic LDS, constants, globals ---- */
#if DEVICE_ONLY
__constant__ u32 corpus_primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ u32 corpus_table[4] = {100, 200, 300, 400};

GROUP_TEST(dynamic_lds)
{
    extern __shared__ u32 dynamic[];
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;

    dynamic[t] = in[i] * corpus_primes[t & 7];
    __syncthreads();
    out[i] = dynamic[BLOCK - 1 - t] + corpus_table[in[i] & 3];
}
#else
HOST_REFERENCE(dynamic_lds)
{
    static const u32 primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

    for (u32 i = 0; i < n; i++) {
        const u32 t = i % BLOCK, from = i - t + BLOCK - 1 - t;

        out[i] = in[from] * primes[from & 7] + 100 * ((in[i] & 3) + 1);
    }
}
#endif

/* ---- barriers in a loop whose length only the data knows ---- */
#if DEVICE_ONLY
GROUP_TEST(barrier_loop)
{
    __shared__ u32 value[BLOCK], longest;
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;

    if (t == 0)
        longest = 0;
    __syncthreads();
    atomicMax(&longest, in[i] & 31);
    value[t] = in[i];
    __syncthreads();
    for (u32 k = 0; k < longest; k++) {
        const u32 neighbour = value[(t + 1) % BLOCK];

        __syncthreads();
        if ((in[i] & 31) > k)
            value[t] = value[t] * 5 + neighbour;
        __syncthreads();
    }
    out[i] = value[t];
}
#else
HOST_REFERENCE(barrier_loop)
{
    for (u32 g = 0; g < n; g += BLOCK) {
        std::vector<u32> value(in + g, in + g + BLOCK);
        u32 longest = 0;

        for (u32 t = 0; t < BLOCK; t++)
            longest = std::max(longest, in[g + t] & 31);
        for (u32 k = 0; k < longest; k++) {
            const std::vector<u32> before = value;

            for (u32 t = 0; t < BLOCK; t++)
                if ((in[g + t] & 31) > k)
                    value[t] = before[t] * 5 + before[(t + 1) % BLOCK];
        }
        std::copy(value.begin(), value.end(), out + g);
    }
}
#endif
