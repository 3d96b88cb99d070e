/*
 * ternary.hip - where: out[i] = ids[i] != 0 ? t[i] : f[i]
 *
 * ids, t, f  any layout (map.h); t's and f's bits are copied unchanged
 * out        contiguous; may be a contiguous t or f
 *
 * A null info means contiguous, which candle's hosts pass for scalars only.
 */
#include "map.h"

#define EXPORT(I, id, T, suffix)                                               \
    KERNEL_PAIRED where_##id##_##suffix(size_t n, size_t rank,                 \
                                        const size_t *info, const I *ids,      \
                                        const T *t, const T *f, T *out)        \
    {                                                                          \
        map_ternary(n, rank, info, ids, t, f, out,                             \
                    [](I c, T x, T y) -> T { return c != 0 ? x : y; });        \
    }
#define EXPORT_TYPES(I, id)                                                    \
    EXPORT(I, id, u8, u8)                                                      \
    EXPORT(I, id, u32, u32)                                                    \
    EXPORT(I, id, i64, i64)                                                    \
    EXPORT(I, id, f16, f16)                                                    \
    EXPORT(I, id, bf16, bf16)                                                  \
    EXPORT(I, id, f32, f32)                                                    \
    EXPORT(I, id, f64, f64)                                                    \
    EXPORT(I, id, f8, fp8_e4m3)

EXPORT_TYPES(u8, u8)
EXPORT_TYPES(u32, u32)
EXPORT_TYPES(i64, i64)
EXPORT(i16, i16, f8, fp8_e4m3)
EXPORT(i32, i32, f8, fp8_e4m3)
