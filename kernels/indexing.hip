/*
 * indexing.hip - index_select, gather, index_add, scatter and scatter_add
 *
 * The tables give each kernel's index type and element type; the header with a
 * kernel's body gives its function, shapes and grids.
 */
#include "indexing/gather.h"
#include "indexing/scatter.h"

#define INDEX_SELECT(I, T, suffix)                                             \
    KERNEL_PAIRED is_##I##_##suffix(                                           \
        size_t numel, size_t num_dims, const size_t *info, const I *ids,       \
        const T *inp, T *out, size_t left_size, size_t src_dim_size,           \
        size_t ids_dim_size, size_t right_size)                                \
    {                                                                          \
        (void)left_size;                                                       \
        index_select(numel, num_dims, info, ids, inp, out, src_dim_size,       \
                     ids_dim_size, right_size);                                \
    }
#define GATHER(I, T, suffix)                                                   \
    KERNEL_PAIRED gather_##I##_##suffix(                                       \
        size_t numel, const I *ids, const T *inp, T *out, size_t left_size,    \
        size_t src_dim_size, size_t ids_dim_size, size_t right_size)           \
    {                                                                          \
        (void)left_size;                                                       \
        gather(numel, ids, inp, out, src_dim_size, ids_dim_size, right_size);  \
    }
#define INDEX_ADD(I, T, suffix)                                                \
    KERNEL ia_##I##_##suffix(const I *ids, size_t ids_dim_size, const T *inp,  \
                             T *out, size_t left_size, size_t src_dim_size,    \
                             size_t dst_dim_size, size_t right_size)           \
    {                                                                          \
        (void)src_dim_size;                                                    \
        index_add(ids, ids_dim_size, inp, out, left_size, dst_dim_size,        \
                  right_size);                                                 \
    }
#define SCATTER_ADD(I, T, suffix)                                              \
    KERNEL sa_##I##_##suffix(const I *ids, const T *inp, T *out,               \
                             size_t left_size, size_t src_dim_size,            \
                             size_t dst_dim_size, size_t right_size)           \
    {                                                                          \
        scatter<true>(ids, inp, out, left_size, src_dim_size, dst_dim_size,    \
                      right_size);                                             \
    }
#define SCATTER(I, T, suffix)                                                  \
    KERNEL s_##I##_##suffix(const I *ids, const T *inp, T *out,                \
                            size_t left_size, size_t src_dim_size,             \
                            size_t dst_dim_size, size_t right_size)            \
    {                                                                          \
        scatter<false>(ids, inp, out, left_size, src_dim_size, dst_dim_size,   \
                       right_size);                                            \
    }

#define WITH_F8(I, T, suffix)                                                  \
    INDEX_SELECT(I, T, suffix)                                                 \
    GATHER(I, T, suffix)                                                       \
    INDEX_ADD(I, T, suffix)                                                    \
    SCATTER_ADD(I, T, suffix)
#define WITHOUT_F8(I, T)                                                       \
    WITH_F8(I, T, T)                                                           \
    SCATTER(I, T, T)
#define INDEXED_BY(I)                                                          \
    WITHOUT_F8(I, bf16)                                                        \
    WITHOUT_F8(I, f16)                                                         \
    WITHOUT_F8(I, f32)                                                         \
    WITHOUT_F8(I, f64)                                                         \
    WITHOUT_F8(I, u8)                                                          \
    WITHOUT_F8(I, u32)                                                         \
    WITHOUT_F8(I, i64)                                                         \
    WITH_F8(I, f8, f8_e4m3)

INDEXED_BY(u8)
INDEXED_BY(u32)
INDEXED_BY(i64)
WITH_F8(i16, f8, f8_e4m3)
WITH_F8(i32, f8, f8_e4m3)
