/*
 * plain_rows.hip - row and indexing kernels written the plain way
 *
 * To compare with, in a few types: an element a thread, or a block (a group of
 * 32 lanes) a row that it reads once for each step, element by element; places
 * in 32 bits, from strides where there are any; a tree in shared memory or a
 * butterfly of lanes. It is the shape of candle's CUDA kernels; names and
 * arguments are those of the pack's.
 */
#include "device.h"

/* ---- indexing ------------------------------------------------------- */

DEV u32 first_item()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

#define EACH(i, n)                                                             \
    for (u32 i = first_item(); i < (n); i += blockDim.x * gridDim.x)

DEV bool is_row(u32 id, size_t dim)
{
    return id != 0xffffffff && id < dim;
}

template <typename T>
DEV void index_select(size_t numel, const u32 *ids, const T *inp, T *out,
                      size_t src_dim, size_t ids_dim, size_t right)
{
    EACH(i, numel)
    {
        const u32 r = i % right, j = i / right % ids_dim;
        const u32 l = i / (right * ids_dim), id = ids[j];

        out[i] = is_row(id, src_dim) ? inp[(l * src_dim + id) * right + r]
                                     : convert<T>(0.0f);
    }
}

template <typename T>
DEV void gather(size_t numel, const u32 *ids, const T *inp, T *out,
                size_t src_dim, size_t ids_dim, size_t right)
{
    EACH(i, numel)
    {
        const u32 r = i % right, l = i / (right * ids_dim), id = ids[i];

        out[i] = is_row(id, src_dim) ? inp[(l * src_dim + id) * right + r]
                                     : convert<T>(0.0f);
    }
}

template <typename T>
DEV void index_add(const u32 *ids, size_t ids_dim, const T *inp, T *out,
                   size_t left, size_t dst_dim, size_t right)
{
    EACH(i, left * right)
    {
        const u32 r = i % right, l = i / right;

        for (u32 j = 0; j < ids_dim; j++)
            if (is_row(ids[j], dst_dim)) {
                T &to = out[(l * dst_dim + ids[j]) * right + r];

                to = convert<T>(
                    convert<float>(to) +
                    convert<float>(inp[(l * ids_dim + j) * right + r]));
            }
    }
}

template <bool ADD, typename T>
DEV void scatter(const u32 *ids, const T *inp, T *out, size_t left,
                 size_t src_dim, size_t dst_dim, size_t right)
{
    EACH(i, left * right)
    {
        const u32 r = i % right, l = i / right;

        for (u32 j = 0; j < src_dim; j++) {
            const size_t p = (l * src_dim + j) * right + r;

            if (is_row(ids[p], dst_dim)) {
                T &to = out[(l * dst_dim + ids[p]) * right + r];

                to = ADD ? convert<T>(convert<float>(to) +
                                      convert<float>(inp[p]))
                         : inp[p];
            }
        }
    }
}

#define INDEXING(T)                                                            \
    KERNEL is_u32_##T(size_t n, size_t, const size_t *, const u32 *ids,        \
                      const T *inp, T *out, size_t, size_t src_dim,            \
                      size_t ids_dim, size_t right)                            \
    {                                                                          \
        index_select(n, ids, inp, out, src_dim, ids_dim, right);               \
    }                                                                          \
    KERNEL gather_u32_##T(size_t n, const u32 *ids, const T *inp, T *out,      \
                          size_t, size_t src_dim, size_t ids_dim,              \
                          size_t right)                                        \
    {                                                                          \
        gather(n, ids, inp, out, src_dim, ids_dim, right);                     \
    }                                                                          \
    KERNEL ia_u32_##T(const u32 *ids, size_t ids_dim, const T *inp, T *out,    \
                      size_t left, size_t, size_t dst_dim, size_t right)       \
    {                                                                          \
        index_add(ids, ids_dim, inp, out, left, dst_dim, right);               \
    }                                                                          \
    KERNEL s_u32_##T(const u32 *ids, const T *inp, T *out, size_t left,        \
                     size_t src_dim, size_t dst_dim, size_t right)             \
    {                                                                          \
        scatter<false>(ids, inp, out, left, src_dim, dst_dim, right);          \
    }                                                                          \
    KERNEL sa_u32_##T(const u32 *ids, const T *inp, T *out, size_t left,       \
                      size_t src_dim, size_t dst_dim, size_t right)            \
    {                                                                          \
        scatter<true>(ids, inp, out, left, src_dim, dst_dim, right);           \
    }

INDEXING(f32)
INDEXING(f16)
INDEXING(u8)

/* ---- reductions ----------------------------------------------------- */

DEV u32 strided(u32 i, u32 num_dims, const size_t *info)
{
    u32 at = 0;

    for (u32 d = num_dims; d-- > 0;) {
        at += i % (u32)info[d] * (u32)info[num_dims + d];
        i /= (u32)info[d];
    }
    return at;
}

template <typename T> struct place_of {
    T v;
    u32 i;
};

/* take(slot, element, place); join(slot, slot) */
template <typename S, typename T, typename TAKE, typename JOIN>
DEV S reduce_tree(size_t n, size_t each, size_t num_dims, const size_t *info,
                  const T *src, S start, TAKE take, JOIN join)
{
    __shared__ S slot[1024];
    const u32 first = blockIdx.x * (u32)each, t = threadIdx.x;
    const u32 end = min_of(first + (u32)each, (u32)n);

    slot[t] = start;
    for (u32 i = first + t; i < end; i += blockDim.x)
        slot[t] = take(slot[t], src[strided(i, (u32)num_dims, info)], i);
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            slot[t] = join(slot[t], slot[t + half]);
    }
    return slot[0];
}

template <typename T> DEV T plus(T a, T b)
{
    return convert<T>(convert<float>(a) + convert<float>(b));
}
DEV u8 plus(u8 a, u8 b)
{
    return (u8)(a + b);
}
template <typename T> DEV bool above(T a, T b)
{
    return convert<float>(a) > convert<float>(b);
}
DEV bool above(u8 a, u8 b)
{
    return a > b;
}

#define FAST(T, lowest)                                                        \
    KERNEL fast_sum_##T(size_t n, size_t each, size_t num_dims,                \
                        const size_t *info, const T *src, T *dst)              \
    {                                                                          \
        const T v = reduce_tree(                                               \
            n, each, num_dims, info, src, convert<T>(0.0f),                    \
            [](T a, T x, u32) { return plus(a, x); },                          \
            [](T a, T b) { return plus(a, b); });                              \
                                                                               \
        if (threadIdx.x == 0)                                                  \
            dst[blockIdx.x] = v;                                               \
    }                                                                          \
    KERNEL fast_max_##T(size_t n, size_t each, size_t num_dims,                \
                        const size_t *info, const T *src, T *dst)              \
    {                                                                          \
        const T v = reduce_tree(                                               \
            n, each, num_dims, info, src, convert<T>(lowest),                  \
            [](T a, T x, u32) { return above(x, a) ? x : a; },                 \
            [](T a, T b) { return above(b, a) ? b : a; });                     \
                                                                               \
        if (threadIdx.x == 0)                                                  \
            dst[blockIdx.x] = v;                                               \
    }                                                                          \
    KERNEL fast_argmax_##T(size_t n, size_t each, size_t num_dims,             \
                           const size_t *info, const T *src, u32 *dst)         \
    {                                                                          \
        using P = place_of<T>;                                                 \
        const P v = reduce_tree(                                               \
            n, each, num_dims, info, src, P{convert<T>(lowest), 0xffffffff},   \
            [](P a, T x, u32 i) {                                              \
                return a.i == 0xffffffff || above(x, a.v) ? P{x, i} : a;       \
            },                                                                 \
            [](P a, P b) { return above(b.v, a.v) ? b : a; });                 \
                                                                               \
        if (threadIdx.x == 0)                                                  \
            dst[blockIdx.x] = v.i % (u32)info[num_dims - 1];                   \
    }

FAST(f32, -__builtin_inff())
FAST(f16, -__builtin_inff())
FAST(u8, 0.0f)

/* ---- rows ----------------------------------------------------------- */

template <typename F> DEV float over_lanes(float v, F f)
{
    for (u32 mask = 16; mask > 0; mask /= 2)
        v = f(v, shfl_xor(v, mask));
    return v;
}

/* the block's sum: 32 threads, or 1024 through a slot a group of lanes */
DEV float over_block(float v)
{
    __shared__ float slot[32];
    auto add = [](float a, float b) { return a + b; };

    v = over_lanes(v, add);
    if (blockDim.x == 32)
        return v;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        slot[threadIdx.x / 32] = v;
    __syncthreads();
    return over_lanes(slot[threadIdx.x % 32], add);
}

template <typename T> DEV void softmax(const T *src, T *dst, int n)
{
    float most = -__builtin_inff(), sum = 0;

    src += blockIdx.x * n;
    dst += blockIdx.x * n;
    for (int c = threadIdx.y; c < n; c += 32)
        most = fmaxf(most, convert<float>(src[c]));
    most = over_lanes(most, [](float a, float b) { return fmaxf(a, b); });
    for (int c = threadIdx.y; c < n; c += 32) {
        const float e = expf(convert<float>(src[c]) - most);

        sum += e;
        dst[c] = convert<T>(e);
    }
    sum = 1 / over_lanes(sum, [](float a, float b) { return a + b; });
    for (int c = threadIdx.y; c < n; c += 32)
        dst[c] = convert<T>(convert<float>(dst[c]) * sum);
}

template <bool CENTER, typename T>
DEV void norm(const T *src, T *dst, const T *alpha, const T *beta, int n,
              float eps)
{
    float sum = 0, squares = 0;

    src += blockIdx.x * n;
    dst += blockIdx.x * n;
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        const float v = convert<float>(src[c]);

        sum += v;
        squares += v * v;
    }
    const float mean = CENTER ? over_block(sum) / (float)n : 0;
    const float g = rsqrtf(over_block(squares) / (float)n - mean * mean + eps);

    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float v = (convert<float>(src[c]) - mean) * g;

        if (alpha)
            v *= convert<float>(alpha[c]);
        if (beta)
            v += convert<float>(beta[c]);
        dst[c] = convert<T>(v);
    }
}

template <typename T>
DEV void turn(const T *src, const T *cos, const T *sin, T *dst, u32 a, u32 e,
              u32 k)
{
    const float x = convert<float>(src[a]), y = convert<float>(src[e]);
    const float c = convert<float>(cos[k]), z = convert<float>(sin[k]);

    dst[a] = convert<T>(x * c - y * z);
    dst[e] = convert<T>(x * z + y * c);
}

#define ROWS(T)                                                                \
    KERNEL softmax_##T(const T *src, T *dst, i32 n)                            \
    {                                                                          \
        softmax(src, dst, n);                                                  \
    }                                                                          \
    KERNEL rmsnorm_##T(const T *src, T *dst, const T *alpha, i32 n, i32,       \
                       f32 eps)                                                \
    {                                                                          \
        norm<false>(src, dst, alpha, (const T *)nullptr, n, eps);              \
    }                                                                          \
    KERNEL layernorm_##T(const T *src, T *dst, const T *alpha, const T *beta,  \
                         i32 n, i32, f32 eps)                                  \
    {                                                                          \
        norm<true>(src, dst, alpha, beta, n, eps);                             \
    }                                                                          \
    KERNEL rope_i_##T(const T *src, const T *cos, const T *sin, T *dst,        \
                      u32 bh, u32 td, u32)                                     \
    {                                                                          \
        const u32 i = first_item();                                            \
                                                                               \
        if (2 * i < bh * td)                                                   \
            turn(src, cos, sin, dst, 2 * i, 2 * i + 1, i % (td / 2));          \
    }                                                                          \
    KERNEL rope_##T(const T *src, const T *cos, const T *sin, T *dst, u32 bh,  \
                    u32 td, u32 d, u32)                                        \
    {                                                                          \
        const u32 i = first_item(), row = i / (d / 2), j = i % (d / 2);        \
                                                                               \
        if (2 * i < bh * td)                                                   \
            turn(src, cos, sin, dst, row *d + j, row * d + j + d / 2,          \
                 row % (td / d) * (d / 2) + j);                                \
    }                                                                          \
    KERNEL rope_thd_##T(const T *src, const T *cos, const T *sin, T *dst,      \
                        u32 b, u32 t, u32 h, u32 d, u32)                       \
    {                                                                          \
        const u32 i = first_item(), row = i / (d / 2), j = i % (d / 2);        \
                                                                               \
        if (2 * i < b * t * h * d)                                             \
            turn(src, cos, sin, dst, row *d + j, row * d + j + d / 2,          \
                 row / h % t * (d / 2) + j);                                   \
    }

ROWS(f32)
ROWS(f16)

/* an empty kernel, which times the launch itself */
KERNEL nothing()
{
}
