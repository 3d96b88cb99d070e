/* matrix.h - matrix instructions by their builtins, against plain products
 *
 * A shape's test multiplies small whole numbers, whose sums are exact in any
 * order. A wave fills its operands and finds its results by the formulas of
 * the CDNA manual ("General input and output layout") or of the RDNA manuals'
 * WMMA chapters; what it adds up does not depend on lanes, only on the
 * position in the matrix. Every 64 work-items compute a product of their own,
 * waves of 32 lanes the same one twice, of which the first counts.
 *
 * A kernel is there on the targets that have the instruction; the reference
 * is computed for all shapes alike.
 */
#include "corpus.h"

enum matrix_number {
    N_F16,
    N_BF16,
    N_F32,
    N_F64,
    N_I8,
    N_U8,
    N_I4,
    N_U4,
    N_FP8,
    N_BF8,
    N_FP6,
    N_BF6,
    N_FP4
};

/* A value of matrix `which` (A, B, C) in block b, as the number it is. */
DEVICE static inline i32 element(u32 seed, u32 which, u32 b, u32 i, u32 k)
{
    u32 h = (seed ^ which * 0x9e3779b9u) + b * 0x85ebca6bu + i * 0xc2b2ae35u +
            k * 0x27d4eb2fu;

    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    return which == 2 ? (i32)(h % 129) - 64 : (i32)(h % 7) - 3;
}

/* The weight of D[i][j] in the checksum. */
DEVICE static inline u32 weight(u32 b, u32 i, u32 j)
{
    return (b * 1024 + i * 32 + j) * 0x9e3779b1u | 1;
}

#if !DEVICE_ONLY
/* Unsigned formats take the number without its sign. */
static i32 as_number(i32 v, bool is_unsigned)
{
    return is_unsigned && v < 0 ? -v : v;
}

static void host_product(const u32 *in, u32 *out, u32 n, u32 m, u32 columns,
                         u32 nk, u32 blocks, bool ua, bool ub)
{
    for (u32 unit = 0; unit < n; unit += 64) {
        u32 sum = 0;

        for (u32 b = 0; b < blocks; b++)
            for (u32 i = 0; i < m; i++)
                for (u32 j = 0; j < columns; j++) {
                    i32 d = element(in[unit], 2, b, i, j);

                    for (u32 k = 0; k < nk; k++)
                        d += as_number(element(in[unit], 0, b, i, k), ua) *
                             as_number(element(in[unit], 1, b, j, k), ub);
                    sum += (u32)d * weight(b, i, j);
                }
        for (u32 i = 0; i < 64; i++)
            out[unit + i] = i ? 0 : sum;
    }
}
#define PRODUCT_TEST(name, m, columns, nk, blocks, ua, ub)                     \
    OPTIONAL_REFERENCE(name)                                                   \
    {                                                                          \
        host_product(in, out, n, m, columns, nk, blocks, ua, ub);              \
    }
#else
template <matrix_number N> DEVICE static constexpr u32 width()
{
    return N == N_F64                             ? 64
           : N == N_F32                           ? 32
           : N == N_F16 || N == N_BF16            ? 16
           : N == N_FP6 || N == N_BF6             ? 6
           : N == N_I4 || N == N_U4 || N == N_FP4 ? 4
                                                  : 8;
}

/* -3 ... 3 in a format's bits. */
template <matrix_number N> DEVICE static inline u64 encoded(i32 v)
{
    const u32 n = (u32)(v < 0 ? -v : v), sign = v < 0;
#if defined(__gfx942__)
    const u32 fp8 = n ? (0x38u + 8) + (n == 3 ? 12 : n == 2 ? 8 : 0) : 0;
    const u32 bf8 = n ? (0x3cu + 4) + (n == 3 ? 6 : n == 2 ? 4 : 0) : 0;
    const u32 minus = n ? sign << 7 : 0;
#else
    const u32 fp8 = n ? 0x38u + (n == 3 ? 12 : n == 2 ? 8 : 0) : 0;
    const u32 bf8 = n ? 0x3cu + (n == 3 ? 6 : n == 2 ? 4 : 0) : 0;
    const u32 minus = sign << 7;
#endif

    switch (N) {
    case N_F16:
        return bits_as<u16>((f16)(float)v);
    case N_BF16:
        return bits_as<u32>((float)v) >> 16;
    case N_F32:
        return bits_as<u32>((float)v);
    case N_F64:
        return bits_as<u64>((double)v);
    case N_I8:
        return (u8)v;
    case N_I4:
        return (u32)v & 15;
    case N_U8:
    case N_U4:
        return n;
    case N_FP8:
        return fp8 | minus;
    case N_BF8:
        return bf8 | minus;
    case N_FP6: /* e2m3, bias 1: 1 is 0x08, 2 is 0x10, 3 is 0x14 */
        return (n ? (n == 1 ? 0x08u : n == 2 ? 0x10u : 0x14u) : 0) | sign << 5;
    case N_BF6: /* e3m2, bias 3 */
        return (n ? (n == 1 ? 0x0cu : n == 2 ? 0x10u : 0x12u) : 0) | sign << 5;
    default: /* e2m1, bias 1 */
        return (n ? (n == 1 ? 2u : n == 2 ? 4u : 5u) : 0) | sign << 3;
    }
}

DEVICE static inline void put_bits(u32 *regs, u32 index, u32 bits, u64 v)
{
    const u32 at = index * bits, shift = at % 32;

    if (bits == 64) {
        regs[2 * index] = (u32)v;
        regs[2 * index + 1] = (u32)(v >> 32);
        return;
    }
    regs[at / 32] |= (u32)v << shift;
    if (shift + bits > 32)
        regs[at / 32 + 1] |= (u32)(v >> (32 - shift));
}

/* Results as whole numbers. */
DEVICE static inline u32 whole(float v)
{
    return (u32)(i32)v;
}
DEVICE static inline u32 whole(double v)
{
    return (u32)(i32)v;
}
DEVICE static inline u32 whole(int v)
{
    return (u32)v;
}

template <class V> DEVICE static inline V vector_of(const u32 *regs)
{
    V v;

    __builtin_memcpy(&v, regs, sizeof(v));
    return v;
}

DEVICE static inline u32 matrix_lane()
{
    return threadIdx.x % __builtin_amdgcn_wavefrontsize();
}

DEVICE static inline u32 matrix_seed(const u32 *in)
{
    return in[(blockIdx.x * BLOCK + threadIdx.x) & ~63u];
}

DEVICE static inline void matrix_sum(u32 *out, u32 sum)
{
    if (__builtin_amdgcn_wavefrontsize() == 64 || !(threadIdx.x & 32))
        atomicAdd(&out[(blockIdx.x * BLOCK + threadIdx.x) & ~63u], sum);
}

/* Row (or column) and block of this lane's operand are fixed; k runs. */
template <matrix_number N, u32 M, u32 K, u32 BLOCKS>
DEVICE static inline void mfma_input(u32 *regs, u32 seed, u32 which)
{
    const u32 lane = matrix_lane(), nk = K * M * BLOCKS / 64;
    const u32 i = lane % M, b = lane / M % BLOCKS, part = lane / (M * BLOCKS);
    /* F8F6F4 has bytes 16 by 16 from the two halves of k */
    const bool halves = K * M == 2048 && width<N>() == 8 && N != N_I8;

    for (u32 e = 0; e < nk; e++) {
        const u32 k =
            halves ? e / 16 * (K / 2) + part * 16 + e % 16 : part * nk + e;

        put_bits(regs, e, width<N>(),
                 encoded<N>(element(seed, which, b, i, k)));
    }
}

/* Where item e of this lane's C and D stands. */
template <u32 M, u32 BLOCKS, u32 H>
DEVICE static inline void mfma_output(u32 e, u32 *b, u32 *i, u32 *j)
{
    const u32 lane = matrix_lane(), per = 64 / (M * M / H);
    const u32 bi = per ? per : 1, mi = 64 / bi / M, g = M / (H * mi);

    *j = lane % M;
    *b = e / (H * g) * bi + lane / M / mi % bi;
    *i = (e / H % g * mi + lane / M % mi) * H + e % H;
}

#define MFMA_TEST(name, builtin, M, K, BLOCKS, NA, NB, A, B, D, ND, H, ...)    \
    GROUP_TEST(name)                                                           \
    {                                                                          \
        typedef D vector __attribute__((ext_vector_type(ND)));                 \
        u32 a[8] = {0}, b[8] = {0}, sum = 0;                                   \
        const u32 seed = matrix_seed(in);                                      \
        vector c;                                                              \
                                                                               \
        mfma_input<NA, M, K, BLOCKS>(a, seed, 0);                              \
        mfma_input<NB, M, K, BLOCKS>(b, seed, 1);                              \
        for (u32 e = 0; e < ND; e++) {                                         \
            u32 block, i, j;                                                   \
                                                                               \
            mfma_output<M, BLOCKS, H>(e, &block, &i, &j);                      \
            c[e] = (D)element(seed, 2, block, i, j);                           \
        }                                                                      \
        c = builtin(vector_of<A>(a), vector_of<B>(b), c, __VA_ARGS__);         \
        for (u32 e = 0; e < ND; e++) {                                         \
            u32 block, i, j;                                                   \
                                                                               \
            mfma_output<M, BLOCKS, H>(e, &block, &i, &j);                      \
            sum += whole(c[e]) * weight(block, i, j);                          \
        }                                                                      \
        matrix_sum(out, sum);                                                  \
    }
#define ABSENT(...)

typedef f16 m_h4 __attribute__((ext_vector_type(4)));
typedef f16 m_h8 __attribute__((ext_vector_type(8)));
typedef f16 m_h16 __attribute__((ext_vector_type(16)));
typedef short m_s2 __attribute__((ext_vector_type(2)));
typedef short m_s4 __attribute__((ext_vector_type(4)));
typedef short m_s8 __attribute__((ext_vector_type(8)));
typedef short m_s16 __attribute__((ext_vector_type(16)));
typedef __bf16 m_b8 __attribute__((ext_vector_type(8)));
typedef float m_f2 __attribute__((ext_vector_type(2)));
typedef int m_i2 __attribute__((ext_vector_type(2)));
typedef int m_i4 __attribute__((ext_vector_type(4)));
typedef int m_i8 __attribute__((ext_vector_type(8)));
typedef long m_long;

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) ||       \
    defined(__gfx950__)
#define ON_MFMA MFMA_TEST
#else
#define ON_MFMA ABSENT
#endif
#if defined(__gfx908__) || defined(__gfx90a__)
#define ON_908_90A MFMA_TEST
#else
#define ON_908_90A ABSENT
#endif
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define ON_90A_UP MFMA_TEST
#define ON_90A_UP_1 MFMA_TEST_1
#else
#define ON_90A_UP ABSENT
#define ON_90A_UP_1 ABSENT
#endif
#if defined(__gfx942__) || defined(__gfx950__)
#define ON_942_UP MFMA_TEST
#else
#define ON_942_UP ABSENT
#endif
#if defined(__gfx942__)
#define ON_942 MFMA_TEST
#else
#define ON_942 ABSENT
#endif
#if defined(__gfx950__)
#define ON_950 MFMA_TEST
#else
#define ON_950 ABSENT
#endif

/* f64 4x4x4 has one number in and one out, whose rows lie 16 lanes apart with
 * the four blocks between: not as the manual's formula has it, but as kernels
 * that run on hardware use it (libParanumal, "same format as q"). */
#define MFMA_TEST_1(name, builtin, ...)                                        \
    GROUP_TEST(name)                                                           \
    {                                                                          \
        const u32 seed = matrix_seed(in);                                      \
        u32 a[2] = {0}, b[2] = {0}, block, i, j;                               \
        double d;                                                              \
                                                                               \
        mfma_input<N_F64, 4, 4, 4>(a, seed, 0);                                \
        mfma_input<N_F64, 4, 4, 4>(b, seed, 1);                                \
        i = matrix_lane() / 16;                                                \
        block = matrix_lane() / 4 % 4;                                         \
        j = matrix_lane() % 4;                                                 \
        d = builtin(vector_of<double>(a), vector_of<double>(b),                \
                    (double)element(seed, 2, block, i, j), 0, 0, 0);           \
        matrix_sum(out, whole(d) * weight(block, i, j));                       \
    }
#define PRODUCT_TEST(...)
#endif

#define MFMA(name) __builtin_amdgcn_mfma_##name

/* clang-format off */
#define MFMA_TABLE(X)                                                          \
    /* on         name           builtin   M   K blocks A and B,  registers      D */ \
    X(ON_MFMA,    f32_32x32x1f32,   32,  1,  2, N_F32,  N_F32,  float,  float,  float, 32, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_16x16x1f32,   16,  1,  4, N_F32,  N_F32,  float,  float,  float, 16, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_4x4x1f32,      4,  1, 16, N_F32,  N_F32,  float,  float,  float,  4, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_32x32x2f32,   32,  2,  1, N_F32,  N_F32,  float,  float,  float, 16, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_16x16x4f32,   16,  4,  1, N_F32,  N_F32,  float,  float,  float,  4, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_32x32x4f16,   32,  4,  2, N_F16,  N_F16,  m_h4,   m_h4,   float, 32, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_16x16x4f16,   16,  4,  4, N_F16,  N_F16,  m_h4,   m_h4,   float, 16, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_4x4x4f16,      4,  4, 16, N_F16,  N_F16,  m_h4,   m_h4,   float,  4, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_32x32x8f16,   32,  8,  1, N_F16,  N_F16,  m_h4,   m_h4,   float, 16, 4, 0, 0, 0) \
    X(ON_MFMA,    f32_16x16x16f16,  16, 16,  1, N_F16,  N_F16,  m_h4,   m_h4,   float,  4, 4, 0, 0, 0) \
    X(ON_MFMA,    i32_32x32x4i8,    32,  4,  2, N_I8,   N_I8,   int,    int,    int,   32, 4, 0, 0, 0) \
    X(ON_MFMA,    i32_16x16x4i8,    16,  4,  4, N_I8,   N_I8,   int,    int,    int,   16, 4, 0, 0, 0) \
    X(ON_MFMA,    i32_4x4x4i8,       4,  4, 16, N_I8,   N_I8,   int,    int,    int,    4, 4, 0, 0, 0) \
    X(ON_908_90A, i32_32x32x8i8,    32,  8,  1, N_I8,   N_I8,   int,    int,    int,   16, 4, 0, 0, 0) \
    X(ON_908_90A, i32_16x16x16i8,   16, 16,  1, N_I8,   N_I8,   int,    int,    int,    4, 4, 0, 0, 0) \
    X(ON_908_90A, f32_32x32x2bf16,  32,  2,  2, N_BF16, N_BF16, m_s2,   m_s2,   float, 32, 4, 0, 0, 0) \
    X(ON_908_90A, f32_16x16x2bf16,  16,  2,  4, N_BF16, N_BF16, m_s2,   m_s2,   float, 16, 4, 0, 0, 0) \
    X(ON_908_90A, f32_4x4x2bf16,     4,  2, 16, N_BF16, N_BF16, m_s2,   m_s2,   float,  4, 4, 0, 0, 0) \
    X(ON_908_90A, f32_32x32x4bf16,  32,  4,  1, N_BF16, N_BF16, m_s2,   m_s2,   float, 16, 4, 0, 0, 0) \
    X(ON_908_90A, f32_16x16x8bf16,  16,  8,  1, N_BF16, N_BF16, m_s2,   m_s2,   float,  4, 4, 0, 0, 0) \
    X(ON_90A_UP,  f32_32x32x4bf16_1k,  32,  4,  2, N_BF16, N_BF16, m_s4, m_s4,  float, 32, 4, 0, 0, 0) \
    X(ON_90A_UP,  f32_16x16x4bf16_1k,  16,  4,  4, N_BF16, N_BF16, m_s4, m_s4,  float, 16, 4, 0, 0, 0) \
    X(ON_90A_UP,  f32_4x4x4bf16_1k,     4,  4, 16, N_BF16, N_BF16, m_s4, m_s4,  float,  4, 4, 0, 0, 0) \
    X(ON_90A_UP,  f32_32x32x8bf16_1k,  32,  8,  1, N_BF16, N_BF16, m_s4, m_s4,  float, 16, 4, 0, 0, 0) \
    X(ON_90A_UP,  f32_16x16x16bf16_1k, 16, 16,  1, N_BF16, N_BF16, m_s4, m_s4,  float,  4, 4, 0, 0, 0) \
    X(ON_90A_UP,  f64_16x16x4f64,   16,  4,  1, N_F64,  N_F64,  double, double, double, 4, 1, 0, 0, 0) \
    X(ON_90A_UP_1, f64_4x4x4f64,     4,  4,  4, N_F64,  N_F64,  double, double, double, 1, 1, 0, 0, 0) \
    X(ON_942_UP,  i32_16x16x32_i8,  16, 32,  1, N_I8,   N_I8,   m_long, m_long, int,    4, 4, 0, 0, 0) \
    X(ON_942_UP,  i32_32x32x16_i8,  32, 16,  1, N_I8,   N_I8,   m_long, m_long, int,   16, 4, 0, 0, 0) \
    X(ON_942,     f32_16x16x8_xf32, 16,  8,  1, N_F32,  N_F32,  m_f2,   m_f2,   float,  4, 4, 0, 0, 0) \
    X(ON_942,     f32_32x32x4_xf32, 32,  4,  1, N_F32,  N_F32,  m_f2,   m_f2,   float, 16, 4, 0, 0, 0) \
    X(ON_942_UP,  f32_16x16x32_fp8_fp8, 16, 32, 1, N_FP8, N_FP8, m_long, m_long, float,  4, 4, 0, 0, 0) \
    X(ON_942_UP,  f32_16x16x32_fp8_bf8, 16, 32, 1, N_FP8, N_BF8, m_long, m_long, float,  4, 4, 0, 0, 0) \
    X(ON_942_UP,  f32_16x16x32_bf8_fp8, 16, 32, 1, N_BF8, N_FP8, m_long, m_long, float,  4, 4, 0, 0, 0) \
    X(ON_942_UP,  f32_16x16x32_bf8_bf8, 16, 32, 1, N_BF8, N_BF8, m_long, m_long, float,  4, 4, 0, 0, 0) \
    X(ON_942_UP,  f32_32x32x16_fp8_fp8, 32, 16, 1, N_FP8, N_FP8, m_long, m_long, float, 16, 4, 0, 0, 0) \
    X(ON_942_UP,  f32_32x32x16_fp8_bf8, 32, 16, 1, N_FP8, N_BF8, m_long, m_long, float, 16, 4, 0, 0, 0) \
    X(ON_942_UP,  f32_32x32x16_bf8_fp8, 32, 16, 1, N_BF8, N_FP8, m_long, m_long, float, 16, 4, 0, 0, 0) \
    X(ON_942_UP,  f32_32x32x16_bf8_bf8, 32, 16, 1, N_BF8, N_BF8, m_long, m_long, float, 16, 4, 0, 0, 0) \
    X(ON_950,     f32_16x16x32_f16,  16, 32,  1, N_F16,  N_F16,  m_h8, m_h8,    float,  4, 4, 0, 0, 0) \
    X(ON_950,     f32_32x32x16_f16,  32, 16,  1, N_F16,  N_F16,  m_h8, m_h8,    float, 16, 4, 0, 0, 0) \
    X(ON_950,     f32_16x16x32_bf16, 16, 32,  1, N_BF16, N_BF16, m_b8, m_b8,    float,  4, 4, 0, 0, 0) \
    X(ON_950,     f32_32x32x16_bf16, 32, 16,  1, N_BF16, N_BF16, m_b8, m_b8,    float, 16, 4, 0, 0, 0) \
    X(ON_950,     i32_16x16x64_i8,   16, 64,  1, N_I8,   N_I8,   m_i4, m_i4,    int,    4, 4, 0, 0, 0) \
    X(ON_950,     i32_32x32x32_i8,   32, 32,  1, N_I8,   N_I8,   m_i4, m_i4,    int,   16, 4, 0, 0, 0)

/* F8F6F4: formats by number, scales of 1 (127) in the byte that opsel names. */
#define SCALED_TABLE(X)                                         \
    X(fp8_fp8_16, f32_16x16x128, 16, 128, N_FP8, N_FP8, 0, 0, 4)  \
    X(bf8_fp6_16, f32_16x16x128, 16, 128, N_BF8, N_FP6, 1, 2, 4)  \
    X(fp6_bf6_16, f32_16x16x128, 16, 128, N_FP6, N_BF6, 2, 3, 4)  \
    X(fp4_fp8_16, f32_16x16x128, 16, 128, N_FP4, N_FP8, 4, 0, 4)  \
    X(fp8_fp4_32, f32_32x32x64,  32,  64, N_FP8, N_FP4, 0, 4, 16) \
    X(bf6_bf8_32, f32_32x32x64,  32,  64, N_BF6, N_BF8, 3, 1, 16) \
    X(fp4_fp4_32, f32_32x32x64,  32,  64, N_FP4, N_FP4, 4, 4, 16)
/* clang-format on */

#define MFMA_KERNEL(on, name, ...) on(mfma_##name, MFMA(name), __VA_ARGS__)
#define MFMA_REFERENCE(on, name, M, K, BLOCKS, ...)                            \
    PRODUCT_TEST(mfma_##name, M, M, K, BLOCKS, false, false)
#define SCALED_KERNEL(name, shape, M, K, NA, NB, cbsz, blgp, ND)               \
    ON_950(mfma_scale_##name, MFMA(scale_##shape##_f8f6f4), M, K, 1, NA, NB,   \
           m_i8, m_i8, float, ND, 4, cbsz, blgp, 0, 0x7f7f7f7f, 0, 0x7f7f7f7f)
#define SCALED_REFERENCE(name, shape, M, K, ...)                               \
    PRODUCT_TEST(mfma_scale_##name, M, M, K, 1, false, false)

#if DEVICE_ONLY
MFMA_TABLE(MFMA_KERNEL)
SCALED_TABLE(SCALED_KERNEL)
#else
MFMA_TABLE(MFMA_REFERENCE)
SCALED_TABLE(SCALED_REFERENCE)
#endif

/* ---- WMMA ---- */

/* clang-format off */
#define WMMA_TABLE(X)                                                          \
    /* name                K  A       B       D     unsigned: A, B  gfx11 gfx12 */ \
    X(f32_16x16x16_f16,   16, N_F16,  N_F16,  float, false, false)             \
    X(f32_16x16x16_bf16,  16, N_BF16, N_BF16, float, false, false)             \
    X(f16_16x16x16_f16,   16, N_F16,  N_F16,  f16,   false, false)             \
    X(bf16_16x16x16_bf16, 16, N_BF16, N_BF16, short, false, false)             \
    X(i32_16x16x16_iu8,   16, N_I8,   N_U8,   int,   false, true)              \
    X(i32_16x16x16_iu4,   16, N_I4,   N_I4,   int,   false, false)             \
    X(i32_16x16x32_iu4,   32, N_U4,   N_I4,   int,   true,  false)             \
    X(f32_16x16x16_fp8_fp8, 16, N_FP8, N_FP8, float, false, false)             \
    X(f32_16x16x16_fp8_bf8, 16, N_FP8, N_BF8, float, false, false)             \
    X(f32_16x16x16_bf8_fp8, 16, N_BF8, N_FP8, float, false, false)             \
    X(f32_16x16x16_bf8_bf8, 16, N_BF8, N_BF8, float, false, false)
/* clang-format on */

#if !DEVICE_ONLY
#define WMMA_REFERENCE(name, K, NA, NB, D, ua, ub)                             \
    PRODUCT_TEST(wmma_##name, 16, 16, K, 1, ua, ub)
WMMA_TABLE(WMMA_REFERENCE)
#elif defined(__GFX11__) || defined(__GFX12__)

#if defined(__GFX12__)
enum { WMMA_GFX = 12 };
#else
enum { WMMA_GFX = 11 };
#endif
enum { WMMA_WAVE = __AMDGCN_WAVEFRONT_SIZE__ };

/* gfx11: each lane holds a whole row; gfx12: runs of k over the lanes. */
template <matrix_number N, u32 K>
DEVICE static inline void wmma_input(u32 *regs, u32 seed, u32 which)
{
    const u32 lane = matrix_lane(), bits = width<N>();
    const u32 nk = WMMA_GFX == 11 ? K : K * 16 / WMMA_WAVE;
    const u32 per32 = K / 2, most = 128 / bits;
    const u32 run = per32 < most ? per32 : most;

    for (u32 e = 0; e < nk; e++) {
        /* number of the same element in a wave of 32 */
        const u32 e32 = e + (lane & 32 ? nk : 0);
        const u32 k = WMMA_GFX == 11 ? e
                                     : e32 / run * 2 * run +
                                           (lane >> 4 & 1) * run + e32 % run;

        put_bits(regs, e, bits,
                 encoded<N>(element(seed, which, 0, lane & 15, k)));
    }
}

DEVICE static inline u32 wmma_row(u32 e)
{
    const u32 lane = matrix_lane();

    return WMMA_GFX == 11 ? e * (WMMA_WAVE / 16) + lane / 16
                          : e + (lane >> 4 & 1) * 8 + (lane & 32 ? 4 : 0);
}

DEVICE static inline float wmma_number(float v)
{
    return v;
}
DEVICE static inline float wmma_number(f16 v)
{
    return (float)v;
}
DEVICE static inline float wmma_number(short v)
{
    return bits_as<float>((u32)(u16)v << 16);
}
DEVICE static inline int wmma_number(int v)
{
    return v;
}

template <class D> DEVICE static inline D wmma_value(i32 v)
{
    if (__is_same(D, short))
        return (D)(bits_as<u32>((float)v) >> 16);
    return (D)v;
}

/* Results of 16 bits take every other place on gfx11. */
#define WMMA_TEST(name, call, K, NA, NB, D, A, B)                              \
    GROUP_TEST(wmma_##name)                                                    \
    {                                                                          \
        constexpr u32 ND = 256 / WMMA_WAVE;                                    \
        constexpr u32 step = WMMA_GFX == 11 && sizeof(D) == 2 ? 2 : 1;         \
        typedef D vector __attribute__((ext_vector_type(ND * step)));          \
        u32 a[8] = {0}, b[8] = {0}, sum = 0;                                   \
        const u32 seed = matrix_seed(in), j = matrix_lane() & 15;              \
        vector c = 0;                                                          \
                                                                               \
        wmma_input<NA, K>(a, seed, 0);                                         \
        wmma_input<NB, K>(b, seed, 1);                                         \
        for (u32 e = 0; e < ND; e++)                                           \
            c[e * step] = wmma_value<D>(element(seed, 2, 0, wmma_row(e), j));  \
        {                                                                      \
            const A x = vector_of<A>(a);                                       \
            const B y = vector_of<B>(b);                                       \
                                                                               \
            c = call;                                                          \
        }                                                                      \
        for (u32 e = 0; e < ND; e++)                                           \
            sum +=                                                             \
                whole(wmma_number(c[e * step])) * weight(0, wmma_row(e), j);   \
        matrix_sum(out, sum);                                                  \
    }

#define WMMA_JOIN3(a, b, c) a##b##c
#define WMMA_JOIN(a, b, c) WMMA_JOIN3(a, b, c)
#if __AMDGCN_WAVEFRONT_SIZE__ == 64
#define WMMA_SUFFIX w64
#else
#define WMMA_SUFFIX w32
#endif
#if defined(__GFX12__)
#define WMMA(name)                                                             \
    WMMA_JOIN(__builtin_amdgcn_wmma_##name##_, WMMA_SUFFIX, _gfx12)
#define WMMA_16(name) WMMA(name)(x, y, c)
#else
#define WMMA(name) WMMA_JOIN(__builtin_amdgcn_wmma_##name##_, WMMA_SUFFIX, )
#define WMMA_16(name) WMMA(name)(x, y, c, false)
#endif

#if defined(__GFX11__)
typedef m_h16 w_half;
typedef m_s16 w_bf16;
typedef m_i4 w_byte;
typedef m_i2 w_nibble;
#elif __AMDGCN_WAVEFRONT_SIZE__ == 64
typedef m_h4 w_half;
typedef m_s4 w_bf16;
typedef int w_byte;
typedef int w_nibble;
#else
typedef m_h8 w_half;
typedef m_s8 w_bf16;
typedef m_i2 w_byte;
typedef int w_nibble;
#endif

WMMA_TEST(f32_16x16x16_f16, WMMA(f32_16x16x16_f16)(x, y, c), 16, N_F16, N_F16,
          float, w_half, w_half)
WMMA_TEST(f32_16x16x16_bf16, WMMA(f32_16x16x16_bf16)(x, y, c), 16, N_BF16,
          N_BF16, float, w_bf16, w_bf16)
WMMA_TEST(f16_16x16x16_f16, WMMA_16(f16_16x16x16_f16), 16, N_F16, N_F16, f16,
          w_half, w_half)
WMMA_TEST(bf16_16x16x16_bf16, WMMA_16(bf16_16x16x16_bf16), 16, N_BF16, N_BF16,
          short, w_bf16, w_bf16)
WMMA_TEST(i32_16x16x16_iu8, WMMA(i32_16x16x16_iu8)(true, x, false, y, c, false),
          16, N_I8, N_U8, int, w_byte, w_byte)
WMMA_TEST(i32_16x16x16_iu4, WMMA(i32_16x16x16_iu4)(true, x, true, y, c, false),
          16, N_I4, N_I4, int, w_nibble, w_nibble)
#if defined(__GFX12__)
WMMA_TEST(i32_16x16x32_iu4, WMMA(i32_16x16x32_iu4)(false, x, true, y, c, false),
          32, N_U4, N_I4, int, w_byte, w_byte)
#define WMMA_FP8(name, NA, NB)                                                 \
    WMMA_TEST(name, WMMA(name)(x, y, c), 16, NA, NB, float, w_byte, w_byte)
WMMA_FP8(f32_16x16x16_fp8_fp8, N_FP8, N_FP8)
WMMA_FP8(f32_16x16x16_fp8_bf8, N_FP8, N_BF8)
WMMA_FP8(f32_16x16x16_bf8_fp8, N_BF8, N_FP8)
WMMA_FP8(f32_16x16x16_bf8_bf8, N_BF8, N_BF8)
#endif
#endif
