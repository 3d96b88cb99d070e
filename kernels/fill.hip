/*
 * fill.hip - constants into tensors, and rows from one tensor into another
 *
 *   fill       buf[i] = value, n elements in a row
 *   copy2d     dst[r * dst_s + c] = src[r * src_s + c] for r < d1, c < d2;
 *              dst between the rows stays as it is
 *   const_set  out[off(i)] = value: rank and info describe the output, null
 *              info means contiguous; elements outside the view stay
 *
 * Any grid and block of one dimension. copy2d does not overlap.
 */
#include "map.h"

enum { EACH = 8 }; /* packs a thread */

/* Elements [0, n) at p, which is aligned to the element. */
template <typename T> DEV void fill(T *p, T value, u64 n)
{
    constexpr u32 k = per16<T>::value;

    if (leaves_at_once<k, EACH>())
        return;
    const u32 grid = blocks_anew();
    if (grid <= small_grid<k>) {
        const u32 threads = threads_anew();
        const u32 i = (u32)blockIdx.x * threads + threadIdx.x;
        if (n <= grid * threads) {
            if (i < (u32)n)
                p[wide_index(i)] = value;
            return;
        }
    }
    if (leaves_middle_grid<k>())
        return;
    const Blocks blocks = staying_blocks<k, EACH>(n, false);
    if (!blocks.stays)
        return;
    const Share share = share_packs(blocks);
    if (!is_aligned(p, 16)) {
        for (u64 i = share.first; i < n; i += share.step)
            p[i] = value;
        return;
    }
    Pack<T, k> v;
    UNROLL
    for (u32 e = 0; e < k; e++)
        v[e] = value;
    const u64 npacks = n / k + (n % k != 0);
    for (u64 i = share.first; i < npacks; i += share.step) {
        const bool whole = n - i * k >= k;
        store_some<k>(p + i * k, bits_as<Raw<T, k>>(v),
                      whole ? k : (u32)(n - i * k), whole);
    }
}

/* Packs of k along rows, the last one of a row perhaps shorter. */
template <u32 k, typename T>
DEV void copy_rows(const T *src, T *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s)
{
    const u32 row_packs = div_up(d2, k);
    const u64 npacks = (u64)d1 * row_packs;
    const Blocks blocks = staying_blocks<k, EACH>((u64)d1 * d2, false);
    if (!blocks.stays)
        return;
    const Share share = share_packs(blocks);
    for (u64 p = share.first; p < npacks; p += share.step) {
        const u64 r = divide(p, row_packs);
        const u32 c = (u32)(p - r * row_packs) * k;
        const u32 count = min_of(k, d2 - c);
        const bool whole = count == k;
        store_some<k>(dst + r * dst_s + c,
                      load_some<k>(src + r * src_s + c, count, whole), count,
                      whole);
    }
}

#if KPK_NVIDIA
/*
 * Copies one element per thread in a small grid that covers all elements;
 * returns false for any other launch. A thread beyond n exits first, because it
 * has nothing to do in any launch. The reciprocal does not depend on the thread
 * and is computed before the thread's index. The test whether the grid covers n
 * runs while the load is in flight, so the load is one that the compiler cannot
 * move behind the test.
 */
template <typename T>
DEV bool copy_small_grid(const T *src, T *dst, u32 d1, u32 d2, u32 src_s,
                         u32 dst_s)
{
    const u32 i = (u32)blockIdx.x * threads_anew() + thread_anew();
    const u64 n = (u64)d1 * d2;

    if (!is_small_grid<per16<T>::value>())
        return false;
    if (i >= n)
        return true;
    const u32 r = small_quotient(i, d2), c = i - r * d2;
    const Raw<T, 1> x = load_now(src + ((u64)r * src_s + c), d2 > 0);

    if (n > blocks_anew() * threads_anew())
        return false;
    store_raw<1>(dst + ((u64)r * dst_s + c), x);
    return true;
}
#endif

template <typename T>
DEV void copy2d(const T *src, T *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s)
{
    constexpr u32 k = per16<T>::value;
    const u64 n = (u64)d1 * d2;

#if KPK_NVIDIA
    if (copy_small_grid(src, dst, d1, d2, src_s, dst_s))
        return;
#else
    if (is_small_grid<k>() && covers(n)) {
        const u32 i = small_thread();

        if (i >= (u32)n)
            return;
        const u32 r = divide_uniform(i, d2), c = i - r * d2;

        dst[(u64)r * dst_s + c] = src[(u64)r * src_s + c];
        return;
    }
#endif
    const u32 strides = d1 > 1 ? src_s | dst_s : 0;

    if (n == 0)
        return;
    if (is_aligned(src, 16) && is_aligned(dst, 16) && strides % k == 0 &&
        d2 >= 2 * k)
        copy_rows<k>(src, dst, d1, d2, src_s, dst_s);
    else
        copy_rows<1>(src, dst, d1, d2, src_s, dst_s);
}

template <typename T>
DEV void const_set(u64 n, u64 rank, const size_t *info, T value, T *out)
{
    constexpr u32 k = per16<T>::value;

    if (info == nullptr) {
        fill(out, value, n);
        return;
    }
    if (is_small_grid<k>() && covers(n)) {
        const u32 i = small_thread();
        u64 at[1];

        if (i >= (u32)n)
            return;
        strided_offsets<1>(i, (u32)rank, info, at);
        out[at[0]] = value;
        return;
    }
    if (leaves_at_once<k, EACH>() || leaves_middle_grid<k>())
        return;
    const Blocks blocks = staying_blocks<k, EACH>(n, true);
    if (!blocks.stays)
        return;
    BLOCK_SHARED View<1> view;
    if (fills_block_shared())
        view = merge_dims<1>(n, rank, info);
    sync_block_shared();
    /* packs of k if rows are contiguous, else single elements */
    const bool flat = view.layout == LAYOUT_FLAT && is_aligned(out, 16);
    const bool rows = view.layout == LAYOUT_ROWS && view.stride[0][0] == 1 &&
                      view.dim[0] % k == 0 && rows_aligned<k>(view, 0, out);
    const u32 each = (flat && n % k == 0) || rows ? k : 1;
    Pack<T, k> v;
    UNROLL
    for (u32 e = 0; e < k; e++)
        v[e] = value;
    const Share share = share_packs(blocks);
    for (u64 p = share.first; p < n / each; p += share.step) {
        const u64 at = strided_offset(p * each, rank, info, info + rank);
        if (each == k)
            store_pack<k>(out + at, v);
        else
            out[at] = value;
    }
}

#define EXPORT_FILL(T, suffix)                                                 \
    KERNEL_PAIRED fill_##suffix(T *buf, T value, size_t n)                     \
    {                                                                          \
        fill(buf, value, n);                                                   \
    }
#define EXPORT_COPY2D(T, suffix)                                               \
    KERNEL_PAIRED copy2d_##suffix(const T *src, T *dst, u32 d1, u32 d2,        \
                                  u32 src_s, u32 dst_s)                        \
    {                                                                          \
        copy2d(src, dst, d1, d2, src_s, dst_s);                                \
    }
#define EXPORT_CONST_SET(T, suffix)                                            \
    KERNEL_PAIRED const_set_##suffix(size_t n, size_t rank,                    \
                                     const size_t *info, T value, T *out)      \
    {                                                                          \
        const_set(n, rank, info, value, out);                                  \
    }
#define EXPORT(T, suffix)                                                      \
    EXPORT_FILL(T, suffix)                                                     \
    EXPORT_COPY2D(T, suffix)                                                   \
    EXPORT_CONST_SET(T, suffix)

EXPORT(u8, u8)
EXPORT(u32, u32)
EXPORT(i64, i64)
EXPORT(f16, f16)
EXPORT(bf16, bf16)
EXPORT(f32, f32)
EXPORT(f64, f64)
EXPORT(f8, f8_e4m3)

/* Extensions, which candle's CUDA kernels lack but hosts request. */
EXPORT_COPY2D(i16, i16)
EXPORT_COPY2D(i32, i32)
EXPORT_CONST_SET(i16, i16)
EXPORT_CONST_SET(i32, i32)
