/*
 * reduce.hip - reductions, softmax, norms and rotary embedding
 *
 * The table gives each kernel's types; the header with a kernel's body gives
 * its function, its shapes and accepted grids.
 */
#include "reduce/cumsum.h"
#include "reduce/fast.h"
#include "reduce/norm.h"
#include "reduce/rope.h"
#include "reduce/small_sum.h"
#include "reduce/softmax.h"
#include "reduce/strided_sum.h"

#define FAST(T, name, R, operation)                                            \
    KERNEL_PAIRED fast_##name##_##T(                                           \
        size_t src_numel, size_t el_to_sum_per_block, size_t num_dims,         \
        const size_t *info, const T *src, R *dst)                              \
    {                                                                          \
        fast_reduce<operation>(src_numel, el_to_sum_per_block, num_dims, info, \
                               src, dst);                                      \
    }
#define FAST_TABLE(T)                                                          \
    FAST(T, sum, T, sum_of<T>)                                                 \
    FAST(T, min, T, extreme_of<T COMMA false>)                                 \
    FAST(T, max, T, extreme_of<T COMMA true>)                                  \
    FAST(T, argmin, u32, index_of<T COMMA false>)                              \
    FAST(T, argmax, u32, index_of<T COMMA true>)                               \
    KERNEL fast_sum_small_##T(size_t dst_el, size_t el_to_sum_per_block,       \
                              size_t num_dims, const size_t *info,             \
                              const T *src, T *dst)                            \
    {                                                                          \
        small_sum(dst_el, el_to_sum_per_block, num_dims, info, src, dst);      \
    }
#define COMMA ,

FAST_TABLE(bf16)
FAST_TABLE(f16)
FAST_TABLE(f32)
FAST_TABLE(f64)
FAST_TABLE(u8)
FAST_TABLE(u32)
FAST_TABLE(i64)

#define SUM(T)                                                                 \
    KERNEL sum_##T(size_t numel, size_t num_dims, size_t num_sum_dims,         \
                   const size_t *info, const T *inp, T *out)                   \
    {                                                                          \
        strided_sum(numel, num_dims, num_sum_dims, info, inp, out);            \
    }

SUM(bf16)
SUM(f16)
SUM(f32)
SUM(f64)
SUM(u32)

#define CUMSUM(T)                                                              \
    KERNEL cumsum_last_dim_##T(const T *src, T *dst, i32 n_cols,               \
                               i32 n_threads)                                  \
    {                                                                          \
        (void)n_threads; /* the block tells */                                 \
        cumsum_row(src, dst, n_cols);                                          \
    }                                                                          \
    KERNEL cumsum_tile_##T(const T *src, T *dst, T *block_sums, i32 n_cols,    \
                           i32 tile_size, i32 n_tiles, i32 n_threads)          \
    {                                                                          \
        (void)n_threads;                                                       \
        cumsum_tile(src, dst, block_sums, n_cols, tile_size, n_tiles);         \
    }                                                                          \
    KERNEL cumsum_add_offsets_##T(T *dst, const T *offsets, i32 n_cols,        \
                                  i32 tile_size, i32 n_tiles)                  \
    {                                                                          \
        cumsum_add_offsets(dst, offsets, n_cols, tile_size, n_tiles);          \
    }

CUMSUM(f32)
CUMSUM(f64)
CUMSUM(u32)
CUMSUM(i64)

#define ROWS(T)                                                                \
    KERNEL softmax_##T(const T *src, T *dst, i32 n_cols)                       \
    {                                                                          \
        softmax(src, dst, n_cols);                                             \
    }                                                                          \
    KERNEL_PAIRED rmsnorm_##T(const T *src, T *dst, const T *alpha,            \
                              i32 n_cols, i32 block_size, f32 eps)             \
    {                                                                          \
        (void)block_size; /* the block tells */                                \
        normalize<rmsnorm_row, rms_terms>(src, dst, alpha, (const T *)nullptr, \
                                          n_cols, eps);                        \
    }                                                                          \
    KERNEL_PAIRED layernorm_##T(const T *src, T *dst, const T *alpha,          \
                                const T *beta, i32 n_cols, i32 block_size,     \
                                f32 eps)                                       \
    {                                                                          \
        (void)block_size;                                                      \
        normalize<layernorm_row, layer_terms>(src, dst, alpha, beta, n_cols,   \
                                              eps);                            \
    }                                                                          \
    KERNEL rope_i_##T(const T *src, const T *cos, const T *sin, T *dst,        \
                      u32 bh, u32 td, u32 stride_b)                            \
    {                                                                          \
        rope_interleaved(src, cos, sin, dst, bh, td, stride_b);                \
    }                                                                          \
    KERNEL rope_##T(const T *src, const T *cos, const T *sin, T *dst, u32 bh,  \
                    u32 td, u32 d, u32 stride_b)                               \
    {                                                                          \
        rope_halves(src, cos, sin, dst, bh, td, d, stride_b);                  \
    }                                                                          \
    KERNEL rope_thd_##T(const T *src, const T *cos, const T *sin, T *dst,      \
                        u32 b, u32 t, u32 h, u32 d, u32 stride_b)              \
    {                                                                          \
        rope_heads(src, cos, sin, dst, b, t, h, d, stride_b);                  \
    }

ROWS(bf16)
ROWS(f16)
ROWS(f32)
ROWS(f64)
