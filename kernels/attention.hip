/*
 * attention.hip - softmax(scale Q K^T + mask) V for sequences and heads
 *
 *   attention_{f16,bf16}_{64,128,256}
 *   attention_decode_{f16,bf16}_{64,128,256}[_{q8_0,q4_0}]
 *   attention_join_{f16,bf16}
 *   attention2_{f16,bf16}_{64,128,256,576}
 *   attention2_decode_{f16,bf16}_{64,128,256,576}[_{q8_0,q4_0}]
 *   attention2_join_{f16,bf16}
 *   attention2_{q8_0,q4_0}_to_{f16,bf16}
 *   set_rows_{f16,bf16,q8_0,q4_0}_{f16,f32}
 *
 * host/attention_args.h gives the argument; the number in a name is the largest
 * d, which is a multiple of 8. attention_* is for many queries, and takes 128
 * of one head in a block; attention_decode_* is for few, and takes 16 of all
 * heads that share one of K, over one of `splits` parts of the keys. With more
 * than one split attention_join_* follows; or, on sm_90 and for heads up to
 * 256, the splits are the blocks of a cluster along x, up to 8, which join
 * their results and need no workspace.
 *
 * attention2_* are the same for the second form of the argument, which has
 * sinks, a mask and a width of V; attention2_join_* follows them. The kernels
 * of 576 take wide heads: up to 576 columns of K and 512 of V, 32 queries of
 * one head in a block, without clusters.
 *
 * attention2_*_to_* makes plain numbers of K and V in blocks for attention_*
 * and attention2_*: from `partial` on, K's rows of all sequences, of h_k heads
 * and d columns, and V's behind them. Rows are those of cu_seqlens_k, or
 * seqlen_k for each sequence. Any 1-D grid.
 *
 * Grids: x over queries / 128 (of wide heads / 32), y over heads, z over b, 256
 * threads; x over splits, y over heads of K times their rows / 16 (on AMD GPUs
 * and for wide heads y over heads of K), z over b, 128 threads; x over total_q,
 * y over heads, any block of whole groups of 32 threads. Smaller grids loop. On
 * NVIDIA's the first need the recommended threads and LDS, but for wide heads.
 *
 * Tensors need no more alignment than an element's, blocks of 32 that of two
 * bytes. Nothing is read beside the rows that lengths, windows and the block
 * table name, and nothing is written beside o, lse and partial. K and V in
 * blocks are rounded to the kernel's type first, up to 256 on sm_80 to f16.
 *
 * Scores are summed in f32, and so are results; exponentials are cut off to the
 * kernel's type before they are multiplied with V (score_layout.h). All sums
 * are in the same order in each run.
 *
 * set_rows_*: row i of src, of `heads` times `cols` elements, goes to row
 * ids[i] of dst; ids below 0 or from dst_rows on are left out. Strides are
 * elements, of q8_0 and q4_0 multiples of 32; their rows are padded with zeros
 * to 32. Any 1-D grid, blocks of whole groups of 32 threads; a group takes 32
 * elements.
 */
#include "attention/attend.h"
#include "attention/join.h"
#include "attention/set_rows.h"
#include "attention/unpack.h"
#if KPK_SM >= 80
#include "nvidia/attention/attend_decode.h"
#include "nvidia/attention/attend_mma.h"
#endif
#if KPK_WARPGROUPS
#include "nvidia/attention/attend_wgmma.h"
template <u32 D> using PrefillShape = AttendGroupsShape<D>;
#elif KPK_SM >= 80
template <u32 D> using PrefillShape = AttendManyShape<D>;
#endif

#if KPK_SM >= 80
template <u32 D> struct PrefillLaunch : PrefillShape<D> {
};
template <> struct PrefillLaunch<576> {
    static constexpr u32 threads = 256, blocks = 1;
};
#define PREFILL_BOUNDS(D)                                                      \
    __launch_bounds__(PrefillLaunch<D>::threads, PrefillLaunch<D>::blocks)
#else
#define PREFILL_BOUNDS(D) __launch_bounds__(256)
#endif
/* On NVIDIA's by wgmma, or by mma.sync, if the launch has the threads and
 * LDS. */
template <typename T, u32 D, class Form>
DEV void prefill(const AttentionArgs &a)
{
#if KPK_SM >= 80
    if constexpr (D <= 256) {
        __shared__ __attribute__((aligned(128))) u8 lds[ATTEND_STATIC_LDS];
        const u32 own = (u32)__cvta_generic_to_shared(lds);
#if KPK_WARPGROUPS
        if (!attend_groups_fit<D, Form>()) {
            attend_fallback<T, D, Form>(a, own);
            /* Exit here: after a join of branches ptxas would not know that
             * warps are uniform, and would keep addresses of copies in
             * scarce vector registers. */
            asm volatile("exit;");
        }
        return attend_groups<T, D, Form>(a, own);
#else
        if (!attend_many<T, D, Form>(a))
            attend_fallback<T, D, Form>(a, own);
        return;
#endif
    }
#endif
    attention<T, D, Form>(a);
}
/* registers for two blocks on a multiprocessor: a third would cost spills */
#if KPK_SM >= 80
#define DECODE_BOUNDS __launch_bounds__(128, 2)
#else
#define DECODE_BOUNDS __launch_bounds__(128)
#endif
template <typename T, u32 D, class Form, class Format>
DEV void decode(const AttentionArgs &a)
{
    meet_launches();
#if KPK_SM >= 80
    if constexpr (D <= 256)
        return attend_decode<T, D, Form, Format>(a);
#endif
    attention_decode<T, D, Format, Form>(a);
}

/* the type and form of the arguments, and where the first form's members lie */
#define FORM1(X, ...)                                                          \
    X(attention, kpk_attention_args, FirstForm, args, __VA_ARGS__)
#define FORM2(X, ...)                                                          \
    X(attention2, kpk_attention2_args, SecondForm, args.base, __VA_ARGS__)

#define PREFILL(name, Args, Form, first, T, D)                                 \
    extern "C" __global__ PREFILL_BOUNDS(D) void name##_##T##_##D(Args args)   \
    {                                                                          \
        prefill<T, D, Form>(first);                                            \
    }
#define DECODE(name, Args, Form, first, T, D, suffix, ...)                     \
    extern "C" __global__ DECODE_BOUNDS void name##_decode_##T##_##D##suffix(  \
        Args args)                                                             \
    {                                                                          \
        decode<T, D, Form, __VA_ARGS__>(first);                                \
    }
#define JOIN(name, Args, Form, first, T)                                       \
    KERNEL name##_join_##T(Args args)                                          \
    {                                                                          \
        attention_join<T, Form>(first);                                        \
    }
#define SIZE(FORM, T, D)                                                       \
    FORM(PREFILL, T, D)                                                        \
    FORM(DECODE, T, D, , PlainFormat<T>)                                       \
    FORM(DECODE, T, D, _q8_0, Q8_0Format)                                      \
    FORM(DECODE, T, D, _q4_0, Q4_0Format)
#define SIZES(FORM, T)                                                         \
    SIZE(FORM, T, 64)                                                          \
    SIZE(FORM, T, 128)                                                         \
    SIZE(FORM, T, 256)                                                         \
    FORM(JOIN, T)
#define EXPORT(T)                                                              \
    SIZES(FORM1, T)                                                            \
    SIZES(FORM2, T)                                                            \
    SIZE(FORM2, T, 576)

EXPORT(f16)
EXPORT(bf16)

#define UNPACK(format, Format, T)                                              \
    KERNEL attention2_##format##_to_##T(kpk_attention2_args args)              \
    {                                                                          \
        attention_unpack<Format, T>(args);                                     \
    }
UNPACK(q8_0, Q8_0Format, f16)
UNPACK(q8_0, Q8_0Format, bf16)
UNPACK(q4_0, Q4_0Format, f16)
UNPACK(q4_0, Q4_0Format, bf16)

#define SET_ROWS(to, Rows, T)                                                  \
    KERNEL set_rows_##to##_##T(const T *src, const i64 *ids, void *dst, u64 n, \
                               u64 dst_rows, u32 heads, u32 cols, i64 src_row, \
                               i64 src_head, i64 dst_row, i64 dst_head)        \
    {                                                                          \
        Rows::set(SetRows<T>{src, ids, (u8 *)dst, n, dst_rows, heads, cols,    \
                             src_row, src_head, dst_row, dst_head});           \
    }
#define SET_ROWS_OF(T)                                                         \
    SET_ROWS(f16, PlainRows<f16>, T)                                           \
    SET_ROWS(bf16, PlainRows<bf16>, T)                                         \
    SET_ROWS(q8_0, Q8_0Rows, T)                                                \
    SET_ROWS(q4_0, Q4_0Rows, T)

SET_ROWS_OF(f16)
SET_ROWS_OF(f32)
