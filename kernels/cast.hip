/*
 * cast.hip - out[i] = in[i] as another type, by the rules of convert.h
 *
 * in    any layout (map.h)
 * out   contiguous; may be a contiguous in of the same size
 *
 * Every conversion rounds once. Floats to integers truncate and saturate (to u8
 * too), NaN gives 0; f8 saturates at 448. A type to itself keeps its bits.
 */
#include "map.h"

#define EXPORT(S, from, D, to)                                                 \
    KERNEL_PAIRED cast_##from##_##to(size_t n, size_t rank,                    \
                                     const size_t *info, const S *in, D *out)  \
    {                                                                          \
        map_unary<LIGHT>(n, rank, info, in, out,                               \
                         [](S x) -> D { return convert<D>(x); });              \
    }

/* clang-format off */
#define TO_u8(S, from)   EXPORT(S, from, u8, u8)
#define TO_u32(S, from)  EXPORT(S, from, u32, u32)
#define TO_i16(S, from)  EXPORT(S, from, i16, i16)
#define TO_i32(S, from)  EXPORT(S, from, i32, i32)
#define TO_i64(S, from)  EXPORT(S, from, i64, i64)
#define TO_f16(S, from)  EXPORT(S, from, f16, f16)
#define TO_bf16(S, from) EXPORT(S, from, bf16, bf16)
#define TO_f32(S, from)  EXPORT(S, from, f32, f32)
#define TO_f64(S, from)  EXPORT(S, from, f64, f64)
#define TO_f8(S, from)   EXPORT(S, from, f8, f8_e4m3)
#define TO_FLOATS(S, from) TO_f16(S, from) TO_bf16(S, from) TO_f32(S, from) TO_f64(S, from)

TO_u8(u8, u8)     TO_u32(u8, u8)     TO_i64(u8, u8)   TO_FLOATS(u8, u8)     TO_f8(u8, u8)
TO_u8(u32, u32)   TO_u32(u32, u32)   TO_i64(u32, u32) TO_FLOATS(u32, u32)
TO_u8(i64, i64)   TO_u32(i64, i64)   TO_i64(i64, i64) TO_f32(i64, i64)      TO_f64(i64, i64)
TO_u8(f16, f16)   TO_u32(f16, f16)                    TO_FLOATS(f16, f16)   TO_f8(f16, f16)
TO_u8(bf16, bf16) TO_u32(bf16, bf16)                  TO_FLOATS(bf16, bf16) TO_f8(bf16, bf16)
TO_u8(f32, f32)   TO_u32(f32, f32)   TO_i64(f32, f32) TO_FLOATS(f32, f32)   TO_f8(f32, f32)
TO_u8(f64, f64)   TO_u32(f64, f64)   TO_i64(f64, f64) TO_FLOATS(f64, f64)   TO_f8(f64, f64)
TO_u8(f8, f8_e4m3) TO_i32(f8, f8_e4m3) TO_FLOATS(f8, f8_e4m3) TO_f8(f8, f8_e4m3)
TO_f8(i32, i32)

/*
 * Extensions, which candle's CUDA kernels lack but hosts request. Where the
 * sign of 32 bits does not matter, aliases.csv names u32's.
 */
TO_f16(i64, i64)  TO_bf16(i64, i64)  TO_f8(i64, i64)  TO_f8(u32, u32)
TO_i64(f16, f16)  TO_i64(bf16, bf16) TO_i64(f8, f8_e4m3) TO_u32(f8, f8_e4m3)

TO_u8(i16, i16)   TO_u32(i16, i16)   TO_i16(i16, i16) TO_i64(i16, i16)      TO_FLOATS(i16, i16) TO_f8(i16, i16)
TO_i64(i32, i32)  TO_FLOATS(i32, i32)

TO_i16(u8, u8)    TO_i16(u32, u32)   TO_i16(i64, i64) TO_i16(f16, f16)      TO_i16(bf16, bf16)
TO_i16(f32, f32)  TO_i16(f64, f64)   TO_i16(f8, f8_e4m3)
TO_i32(f16, f16)  TO_i32(bf16, bf16) TO_i32(f32, f32) TO_i32(f64, f64)
    /* clang-format on */
