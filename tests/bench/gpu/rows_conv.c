/* rows_conv.c - convolutions, pooling and resampling on a batch of images */
#include "bench.h"

/* The batch: 8 images of 64 channels of 128 x 128; 64 output channels, 3 x 3.
 */
static const uint64_t B = 8, C = 64, S = 128, O = 64, K = 3;
static const uint64_t IN = (uint64_t)8 * 64 * 128 * 128;

static void one_thread_each(struct bench_launch *l, uint64_t n)
{
    l->grid[0] = (unsigned)((n + 1023) / 1024);
    l->block[0] = 1024;
}

/* p[0]: type; p[1]: 1 for a transposed convolution. */
static void conv2d(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t w0 = row->p[1] ? C : O, w1 = row->p[1] ? O : C;
    const uint64_t info[] = {B,  C,  S, S, C * S * S,  S * S, S, 1,
                             w0, w1, K, K, w1 * K * K, K * K, K, 1};

    one_thread_each(l, B * O * S * S);
    bench_arg(l, IN);
    bench_arg(l, S);
    bench_arg(l, S);
    bench_arg(l, 1); /* stride */
    bench_arg(l, 1); /* padding */
    if (row->p[1])
        bench_arg(l, 0); /* output padding */
    bench_arg(l, 1);     /* dilation */
    bench_arg(l, bench_upload(info, sizeof(info)));
    bench_arg(l, bench_random(type, IN));
    bench_arg(l, bench_random(type, C * O * K * K));
    bench_arg(l, bench_empty(B * O * S * S * bench_size(type)));
    l->nbytes = (double)((IN + B * O * S * S) * bench_size(type));
    l->nops = 2.0 * (double)(B * O * S * S * C * K * K);
}

/* The same work in one dimension: S * S samples a channel. */
static void conv1d(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t len = S * S;
    const uint64_t w0 = row->p[1] ? C : O, w1 = row->p[1] ? O : C;
    const uint64_t info[] = {B,  C,  len, C * len, len, 1,
                             w0, w1, K,   w1 * K,  K,   1};

    one_thread_each(l, B * O * len);
    bench_arg(l, IN);
    bench_arg(l, len);
    bench_arg(l, 1);
    bench_arg(l, 1);
    if (row->p[1])
        bench_arg(l, 0);
    bench_arg(l, 1);
    bench_arg(l, bench_upload(info, sizeof(info)));
    bench_arg(l, bench_random(type, IN));
    bench_arg(l, bench_random(type, C * O * K));
    bench_arg(l, bench_empty(B * O * len * bench_size(type)));
    l->nbytes = (double)((IN + B * O * len) * bench_size(type));
    l->nops = 2.0 * (double)(B * O * len * C * K);
}

static void arg_image(struct bench_launch *l, enum bench_type type)
{
    const uint64_t info[] = {B, C, S, S, C * S * S, S * S, S, 1};

    bench_arg(l, bench_upload(info, sizeof(info)));
    bench_arg(l, bench_random(type, IN));
}

static void im2col(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t out = IN * K * K;

    one_thread_each(l, out);
    bench_arg(l, out);
    bench_arg(l, S);
    bench_arg(l, S);
    bench_arg(l, K);
    bench_arg(l, K);
    bench_arg(l, 1);
    bench_arg(l, 1);
    bench_arg(l, 1);
    arg_image(l, type);
    bench_arg(l, bench_empty(out * bench_size(type)));
    l->nbytes = (double)((IN + out) * bench_size(type));
}

static void pool(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t out = IN / 4;

    one_thread_each(l, out);
    bench_arg(l, IN);
    for (int i = 0; i < 4; i++)
        bench_arg(l, 2); /* window and stride of both axes */
    arg_image(l, type);
    bench_arg(l, bench_empty(out * bench_size(type)));
    l->nbytes = (double)((IN + out) * bench_size(type));
}

static void arg_f64(struct bench_launch *l, double v)
{
    union {
        double d;
        uint64_t bits;
    } u = {v};

    bench_arg(l, u.bits);
}

static void nearest(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t out = IN * 4;

    one_thread_each(l, out);
    bench_arg(l, 2 * S);
    bench_arg(l, 2 * S);
    arg_f64(l, 0.5);
    arg_f64(l, 0.5);
    arg_image(l, type);
    bench_arg(l, bench_empty(out * bench_size(type)));
    l->nbytes = (double)((IN + out) * bench_size(type));
}

static void bilinear(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t out = IN * 4;

    one_thread_each(l, out);
    bench_arg(l, 2 * S);
    bench_arg(l, 2 * S);
    bench_arg(l, 0); /* align corners */
    bench_arg(l, 0);
    arg_f64(l, 0);
    bench_arg(l, 0);
    arg_f64(l, 0);
    arg_image(l, type);
    bench_arg(l, bench_empty(out * bench_size(type)));
    l->nbytes = (double)((IN + out) * bench_size(type));
}

#define IMAGE "8x64x128x128"

/* A kernel of the pack, and where there is one the same written plainly
 * (plain.hip): the two are timed one after the other. */
#define PACK(symbol, label, ...)                                               \
    {                                                                          \
        "conv", symbol, label, __VA_ARGS__                                     \
    }
#define BOTH(symbol, label, ...)                                               \
    PACK(symbol, label, __VA_ARGS__),                                          \
    {                                                                          \
        "plain", symbol, label ", plain", __VA_ARGS__                          \
    }

const struct bench_row bench_conv[] = {
    BOTH("conv2d_f32", IMAGE " 3x3, 64 out", conv2d, {BENCH_F32}),
    PACK("conv2d_f16", IMAGE " 3x3, 64 out", conv2d, {BENCH_F16}),
    BOTH("conv_transpose2d_f32", IMAGE " 3x3, 64 out", conv2d, {BENCH_F32, 1}),
    BOTH("conv1d_f32", "8x64x16384 3, 64 out", conv1d, {BENCH_F32}),
    BOTH("conv_transpose1d_f32", "8x64x16384 3, 64 out", conv1d,
         {BENCH_F32, 1}),
    BOTH("im2col_f32", IMAGE " 3x3", im2col, {BENCH_F32}),
    PACK("im2col_f16", IMAGE " 3x3", im2col, {BENCH_F16}),
    BOTH("avg_pool2d_f32", IMAGE " 2x2", pool, {BENCH_F32}),
    BOTH("max_pool2d_f32", IMAGE " 2x2", pool, {BENCH_F32}),
    PACK("max_pool2d_f16", IMAGE " 2x2", pool, {BENCH_F16}),
    BOTH("upsample_nearest2d_f32", IMAGE " x2", nearest, {BENCH_F32}),
    BOTH("upsample_bilinear2d_f32", IMAGE " x2", bilinear, {BENCH_F32}),
    {0},
};
