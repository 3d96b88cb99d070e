/* lanes.h - lanes that look at each other: DPP in every shape, permutes, votes,
 * and atomics of every type
 *
 * A record is one word in and one word out. Where a target lacks an
 * instruction, its kernel gets the result by instructions of every target.
 */
#include "corpus.h"

#if !DEVICE_ONLY
#include <algorithm>
#include <cstring>
#endif

#if DEVICE_ONLY
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define HAS_ROW_SHARE 1
#else
#define HAS_ROW_SHARE 0
#endif

DEVICE static inline u32 lane_of(u32 v, u32 from)
{
    return (u32)__builtin_amdgcn_ds_bpermute((int)(from * 4), (int)v);
}
#endif

/* ---- DPP: control, row mask, bank mask, bound control ----
 *
 * Rows are 16 lanes, banks 4. X(control, source lane in the row or -1) */
#define ROW_CONTROLS(X)                                                        \
    X(0x1b, (l & ~3) | (3 - (l & 3)))                                          \
    X(0x00, l & ~3)                                                            \
    X(0x39, (l & ~3) | ((l + 1) & 3))                                          \
    X(0xb1, l ^ 1)                                                             \
    X(0x101, l + 1 < 16 ? l + 1 : -1)                                          \
    X(0x107, l + 7 < 16 ? l + 7 : -1)                                          \
    X(0x111, l - 1)                                                            \
    X(0x118, l - 8 < 0 ? -1 : l - 8)                                           \
    X(0x11f, l - 15 < 0 ? -1 : l - 15)                                         \
    X(0x121, (l - 1) & 15)                                                     \
    X(0x12c, (l - 12) & 15)                                                    \
    X(0x140, 15 - l)                                                           \
    X(0x141, l ^ 7)
#define DPP_FORMS(X, control, from)                                            \
    X(control, from, 0xf, 0xf, false)                                          \
    X(control, from, 0xf, 0xf, true)                                           \
    X(control, from, 0x5, 0xf, false)                                          \
    X(control, from, 0xf, 0x6, true)                                           \
    X(control, from, 0xa, 0x9, false)

#if DEVICE_ONLY
GROUP_TEST(dpp_rows)
{
    const u32 i = blockIdx.x * BLOCK + threadIdx.x;
    const int v = (int)in[i], old = (int)(i * 3);
    u32 r = 0;

#define MOVE(control, from, rows, banks, bound)                                \
    r = r * 31 +                                                               \
        (u32)__builtin_amdgcn_update_dpp(old, v, control, rows, banks, bound);
#define MOVES(control, from) DPP_FORMS(MOVE, control, from)
    ROW_CONTROLS(MOVES)
    out[i] = r;
}
#else
HOST_REFERENCE(dpp_rows)
{
    for (u32 i = 0; i < n; i++) {
        const int l = (int)(i & 15);
        u32 r = 0;

/* A wave of 64 lanes has rows 0 to 3, two waves of 32 have rows 0 and 1 twice.
 * The masks select the same lanes in both. */
#define MOVE(control, from, rows, banks, bound)                                \
    {                                                                          \
        const int f = (from);                                                  \
        const bool on = (rows) >> (i / 16 & 3) & (banks) >> (l / 4) & 1;       \
        const u32 old = i * 3, v = f < 0 ? 0 : in[(i & ~15u) + (u32)f];        \
                                                                               \
        r = r * 31 + (!on ? old : f >= 0 ? v : (bound) ? 0 : old);             \
    }
#define MOVES(control, from) DPP_FORMS(MOVE, control, from)
        ROW_CONTROLS(MOVES)
        out[i] = r;
    }
}
#endif

/* The same folded into arithmetic: sums of rows, f16 and f32 and 64 bits. */
#if DEVICE_ONLY
template <int CONTROL> DEVICE static inline u32 moved(u32 v)
{
    return (u32)__builtin_amdgcn_update_dpp(0, (int)v, CONTROL, 0xf, 0xf, true);
}

GROUP_TEST(dpp_sums)
{
    const u32 i = blockIdx.x * BLOCK + threadIdx.x;
    u32 v = in[i], m = in[i], lo, hi;
    float f = (float)(in[i] & 1023);

    v += moved<0x111>(v);
    v += moved<0x112>(v);
    v += moved<0x114>(v);
    v += moved<0x118>(v);
    lo = moved<0x141>(m);
    m = m > lo ? m : lo;
    lo = moved<0xb1>(m);
    m = m < lo ? m : lo;
    f += bits_as<float>(moved<0x140>(bits_as<u32>(f)));
    f -= bits_as<float>(moved<0x4e>(bits_as<u32>(f))) * 0.5f;
    lo = moved<0x121>(v);
    hi = moved<0x121>(m);
    out[i] = v + m * 3 + bits_f32(f) +
             (u32)((((u64)hi << 32 | lo) + ((u64)v << 32 | m)) >> 30);
}
#else
HOST_REFERENCE(dpp_sums)
{
    for (u32 g = 0; g < n; g += 16) {
        u32 v[16], m[16];
        float f[16];

        for (u32 l = 0; l < 16; l++) {
            v[l] = m[l] = in[g + l];
            f[l] = (float)(in[g + l] & 1023);
        }
        for (u32 d = 1; d < 16; d *= 2)
            for (u32 l = 15; l >= d; l--)
                v[l] += v[l - d];
        {
            u32 t[16];
            float h[16];

            for (u32 l = 0; l < 16; l++) {
                t[l] = m[l] > m[l ^ 7] ? m[l] : m[l ^ 7];
                h[l] = f[l] + f[15 - l];
            }
            for (u32 l = 0; l < 16; l++) {
                m[l] = t[l] < t[l ^ 1] ? t[l] : t[l ^ 1];
                f[l] = h[l] - h[l ^ 2] * 0.5f;
            }
        }
        for (u32 l = 0; l < 16; l++) {
            const u32 p = (l - 1) & 15;
            const u64 a = (u64)m[p] << 32 | v[p], b = (u64)v[l] << 32 | m[l];

            out[g + l] =
                v[l] + m[l] * 3 + bits_f32(f[l]) + (u32)((a + b) >> 30);
        }
    }
}
#endif

/* ---- moves across rows ---- */

#if DEVICE_ONLY
GROUP_TEST(lane_moves)
{
    const u32 i = blockIdx.x * BLOCK + threadIdx.x, t = threadIdx.x;
    const u32 v = in[i];
    const u32 wave = __builtin_amdgcn_wavefrontsize();
    const u32 lane =
        __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    u32 r = lane == t % wave;

    r = r * 3 + lane_of(v, (lane & ~31u) | ((lane * 7 + 3) & 31));
    r = r * 3 + (u32)__builtin_amdgcn_ds_permute(
                    (int)(((lane & ~31u) | ((lane * 5 + 1) & 31)) * 4), (int)v);
#if HAS_ROW_SHARE
    r = r * 3 +
        __builtin_amdgcn_permlane16(0, v, 0x76543210, 0xfedcba98, false, false);
    r = r * 3 +
        __builtin_amdgcn_permlane16(0, v, 0x01234567, 0x33ff0c5a, true, false);
    r = r * 3 + __builtin_amdgcn_permlanex16(0, v, 0x13570246, 0x88888888,
                                             false, false);
    r = r * 3 + (u32)__builtin_amdgcn_update_dpp(0, (int)v, 0x153, 0xf, 0xf,
                                                 true); /* row_share:3 */
    r = r * 3 + (u32)__builtin_amdgcn_update_dpp(0, (int)v, 0x16a, 0xf, 0xf,
                                                 true);      /* row_xmask:10 */
    r = r * 3 + (u32)__builtin_amdgcn_mov_dpp8(v, 0x688fac); /* below */
#else
    {
        const u32 row = lane & ~15u, l = lane & 15;
        const u64 s = UINT64_C(0x33ff0c5a01234567);
        const u64 x = UINT64_C(0x8888888813570246);

        r = r * 3 + v;
        r = r * 3 + lane_of(v, row | (u32)(s >> 4 * l & 15));
        r = r * 3 + lane_of(v, (row ^ 16) | (u32)(x >> 4 * l & 15));
        r = r * 3 + lane_of(v, row | 3);
        r = r * 3 + lane_of(v, lane ^ 10);
        r = r * 3 + lane_of(v, (lane & ~7u) | (0x688fac >> 3 * (lane & 7) & 7));
    }
#endif
    r = r * 3 + (u32)__builtin_amdgcn_ds_swizzle((int)v, 0x8055);
    r = r * 3 + (u32)__builtin_amdgcn_ds_swizzle((int)v, 0x0c1f);
    r = r * 3 + (u32)__shfl_xor((int)v, 16, 32);
    r = r * 3 + (u32)__shfl((int)v, (int)(v >> 5 & 31), 32);
    out[i] = r;
}
#else
HOST_REFERENCE(lane_moves)
{
    for (u32 i = 0; i < n; i++) {
        const u32 g = i & ~31u, lane = i & 31, row = i & ~15u, l = i & 15;
        const u64 s = UINT64_C(0x33ff0c5a01234567);
        const u64 x = UINT64_C(0x8888888813570246);
        u32 r = 1;

        r = r * 3 + in[g + ((lane * 7 + 3) & 31)];
        for (u32 k = 0; k < 32; k++) /* finds the lane that sends to this one */
            if (((k * 5 + 1) & 31) == lane) {
                r = r * 3 + in[g + k];
                break;
            }
        r = r * 3 + in[i];
        r = r * 3 + in[row + (u32)(s >> 4 * l & 15)];
        r = r * 3 + in[(row ^ 16) + (u32)(x >> 4 * l & 15)];
        r = r * 3 + in[row + 3];
        r = r * 3 + in[i ^ 10];
        r = r * 3 + in[(i & ~7u) + (0x688fac >> 3 * (i & 7) & 7)];
        r = r * 3 + in[(i & ~3u) + (0x55 >> 2 * (i & 3) & 3)];
        r = r * 3 + in[i ^ 3];
        r = r * 3 + in[i ^ 16];
        r = r * 3 + in[g + (in[i] >> 5 & 31)];
        out[i] = r;
    }
}
#endif

/* ---- broadcasts, reductions, loops with few active lanes ---- */

#if DEVICE_ONLY
GROUP_TEST(lane_loops)
{
    const u32 i = blockIdx.x * BLOCK + threadIdx.x, lane = i & 31;
    u32 r = 0, todo = in[i] & 15, first;

    while (todo--) { /* lanes drop out one after the other */
        const u64 on = __ballot(1);
        const u32 mine =
            (u32)(__builtin_amdgcn_wavefrontsize() == 64 && (threadIdx.x & 32)
                      ? on >> 32
                      : on);

        r = r * 5 + (u32)__popc(mine & ((2u << lane) - 1));
    }
    /* every distinct key in its turn */
    for (u32 key = in[i] >> 29, done = 0; !done;) {
        first = (u32)__builtin_amdgcn_readfirstlane((int)key);
        if (key == first) {
            r += first * 100;
            done = 1;
        }
    }
    if (in[i] & 1) {
        const u32 k = (u32)__builtin_amdgcn_readlane(
            (int)lane, __builtin_amdgcn_readfirstlane((int)(in[i] & 0)));

        r ^= k << 20;
    }
    out[i] = r;
}
#else
HOST_REFERENCE(lane_loops)
{
    for (u32 g = 0; g < n; g += 32)
        for (u32 l = 0; l < 32; l++) {
            const u32 v = in[g + l];
            u32 r = 0;

            for (u32 step = 0; step < (v & 15); step++) {
                u32 below = 0;

                for (u32 k = 0; k <= l; k++)
                    below += (in[g + k] & 15) > step;
                r = r * 5 + below;
            }
            out[g + l] = r + (v >> 29) * 100;
        }
}
#endif

/* ---- atomics of every type ----
 *
 * On LDS, on memory and through pointers that may be either; sums that are
 * exact in any order. out[64 * group ...] is the group's. */
struct atomic_set {
    u32 add, sub, smin, smax, umin, umax, all, any, odd, wrapped;
    i32 small;
    float sum, least, most;
    u64 wide, wide_max, swapped, wide_any;
    double dsum, dmost;
    u16 half[2];
    u8 bytes[4];
};

#if DEVICE_ONLY
template <class T> DEVICE static inline T fetch_add(T *p, T v)
{
    return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED,
                                  __HIP_MEMORY_SCOPE_AGENT);
}

/* Every work-item's atomics on a set, by a pointer of any kind. */
DEVICE static inline void use_atomics(atomic_set *s, u32 v)
{
    u64 seen, next;

    fetch_add(&s->add, v);
    __hip_atomic_fetch_sub(&s->sub, v >> 3, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_min((i32 *)&s->smin, (i32)v, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_max((i32 *)&s->smax, (i32)v, __ATOMIC_ACQ_REL,
                           __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_min(&s->umin, v, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_SYSTEM);
    __hip_atomic_fetch_max(&s->umax, v, __ATOMIC_SEQ_CST,
                           __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_and(&s->all, v | 0x10, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_or(&s->any, v & 0x11111111, __ATOMIC_RELAXED,
                          __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_xor(&s->odd, v, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
    __builtin_amdgcn_atomic_dec32(&s->wrapped, 77u, __ATOMIC_RELAXED, "agent");
    fetch_add(&s->small, (i32)(v & 255) - 128);
    fetch_add(&s->sum, (float)(v & 63));
    __hip_atomic_fetch_min(&s->least, (float)(v & 0xfff) - 100.0f,
                           __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_max(&s->most, (float)(v & 0xfff) - 100.0f,
                           __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    fetch_add(&s->wide, (u64)v << 9);
    __hip_atomic_fetch_max(&s->wide_max, (u64)v * v, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_or(&s->wide_any, UINT64_C(1) << (v & 63),
                          __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    fetch_add(&s->dsum, (double)(v & 0xffff) * 0.25);
    __hip_atomic_fetch_max(&s->dmost, (double)(v >> 8), __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
    /* narrower than the hardware's atomics: compilers emit loops of cmpswap */
    fetch_add(&s->half[v & 1], (u16)(v >> 4));
    __hip_atomic_fetch_max(&s->bytes[v & 3], (u8)(v >> 3), __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
    seen = __hip_atomic_load(&s->swapped, __ATOMIC_RELAXED,
                             __HIP_MEMORY_SCOPE_AGENT);
    do
        next = (seen | 1) * (((u64)v << 7 | v) | 1);
    while (!__hip_atomic_compare_exchange_weak(
        &s->swapped, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
        __HIP_MEMORY_SCOPE_AGENT));
}

NOINLINE static void use_generic(atomic_set *s, u32 v)
{
    use_atomics(s, v);
}

GROUP_TEST(atomics_everywhere)
{
    __shared__ atomic_set in_lds;
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    u32 *const words = (u32 *)&in_lds;
    const u32 nwords = sizeof(in_lds) / 4;
    atomic_set *const in_memory = (atomic_set *)(out + blockIdx.x * BLOCK);

    if (t < nwords)
        words[t] = 0;
    __syncthreads();
    use_atomics(&in_lds, in[i]);
    use_generic(in[i] & 8 ? &in_lds : in_memory, in[i]);
    use_atomics(in_memory, in[i] ^ 5);
    __syncthreads();
    if (t < nwords)
        out[blockIdx.x * BLOCK + 64 + t] = words[t];
}
#else
static void use_plainly(atomic_set *s, u32 v)
{
    s->add += v;
    s->sub -= v >> 3;
    s->smin = (u32)std::min((i32)s->smin, (i32)v);
    s->smax = (u32)std::max((i32)s->smax, (i32)v);
    s->umin = std::min(s->umin, v);
    s->umax = std::max(s->umax, v);
    s->all &= v | 0x10;
    s->any |= v & 0x11111111;
    s->odd ^= v;
    s->wrapped = s->wrapped == 0 || s->wrapped > 77 ? 77 : s->wrapped - 1;
    s->small += (i32)(v & 255) - 128;
    s->sum += (float)(v & 63);
    s->least = std::min(s->least, (float)(v & 0xfff) - 100.0f);
    s->most = std::max(s->most, (float)(v & 0xfff) - 100.0f);
    s->wide += (u64)v << 9;
    s->wide_max = std::max(s->wide_max, (u64)v * v);
    s->wide_any |= UINT64_C(1) << (v & 63);
    s->dsum += (double)(v & 0xffff) * 0.25;
    s->dmost = std::max(s->dmost, (double)(v >> 8));
    s->half[v & 1] = (u16)(s->half[v & 1] + (u16)(v >> 4));
    s->bytes[v & 3] = std::max(s->bytes[v & 3], (u8)(v >> 3));
    s->swapped = (s->swapped | 1) * (((u64)v << 7 | v) | 1);
}

HOST_REFERENCE(atomics_everywhere)
{
    memset(out, 0, n * sizeof(*out));
    for (u32 g = 0; g < n; g += BLOCK) {
        atomic_set lds, memory;

        memset(&lds, 0, sizeof(lds));
        memset(&memory, 0, sizeof(memory));
        for (u32 t = 0; t < BLOCK; t++) {
            const u32 v = in[g + t];

            use_plainly(&lds, v);
            use_plainly(v & 8 ? &lds : &memory, v);
            use_plainly(&memory, v ^ 5);
        }
        memcpy(out + g, &memory, sizeof(memory));
        memcpy(out + g + 64, &lds, sizeof(lds));
    }
}
#endif

/* ---- LDS of odd shapes ---- */
#if DEVICE_ONLY
struct __attribute__((packed)) lds_record {
    u8 tag;
    u32 key;
    u16 next;
    u64 sum;
};

GROUP_TEST(lds_shapes)
{
    __shared__ lds_record list[BLOCK];
    __shared__ u8 bytes[BLOCK * 3];
    __shared__ u16 halves[BLOCK];
    __shared__ double tile[16][17];
    const u32 t = threadIdx.x, i = blockIdx.x * BLOCK + t, v = in[i];
    u64 sum;
    double d = 0;

    list[t] = {(u8)v, v * 3, (u16)((t * 5 + 1) & 255), (u64)v << 13};
    bytes[3 * t] = (u8)v;
    bytes[3 * t + 1] = (u8)(v >> 8);
    bytes[3 * t + 2] = (u8)(v >> 16);
    halves[t] = (u16)(v >> 7);
    tile[t / 16][t % 16] = (double)(v & 0xffff);
    __syncthreads();
    sum = list[list[t].next].sum + list[t].key;
    sum = sum * 7 + list[(t + 9) & 255].tag;
    sum = sum * 7 + (u32)(bytes[(t * 11) % 768] | bytes[(t * 7) % 768] << 8);
    sum = sum * 7 + (u32)(i16)halves[255 - t];
    for (u32 k = 0; k < 16; k++)
        d += tile[k][t % 16] * tile[t / 16][k];
    out[i] = (u32)sum ^ (u32)(sum >> 32) ^ (u32)(u64)d;
}
#else
HOST_REFERENCE(lds_shapes)
{
    for (u32 g = 0; g < n; g += BLOCK) {
        const u32 *const v = in + g;

        for (u32 t = 0; t < BLOCK; t++) {
            const u32 next = (t * 5 + 1) & 255;
            u64 sum = ((u64)v[next] << 13) + v[t] * 3;
            const u32 p = (t * 11) % 768, q = (t * 7) % 768;
            double d = 0;

            sum = sum * 7 + (u8)v[(t + 9) & 255];
            sum = sum * 7 + ((v[p / 3] >> 8 * (p % 3) & 255) |
                             (v[q / 3] >> 8 * (q % 3) & 255) << 8);
            sum = sum * 7 + (u32)(i16)(u16)(v[255 - t] >> 7);
            for (u32 k = 0; k < 16; k++)
                d += (double)(v[16 * k + t % 16] & 0xffff) *
                     (double)(v[t / 16 * 16 + k] & 0xffff);
            out[g + t] = (u32)sum ^ (u32)(sum >> 32) ^ (u32)(u64)d;
        }
    }
}
#endif
