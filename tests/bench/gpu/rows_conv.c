/* rows_conv.c - convolutions, pooling and resampling on a batch of images */
#include "gpu_bench.h"

/* The batch of the other kernels: 8 images of 64 channels of 128 x 128; 3 x 3.
 */
static const uint64_t B = 8, C = 64, S = 128, K = 3;
static const uint64_t IN = (uint64_t)8 * 64 * 128 * 128;

static void one_thread_each(struct bench_launch *l, uint64_t n)
{
    l->grid[0] = (unsigned)((n + 1023) / 1024);
    l->block[0] = 1024;
}

/*
 * A convolution of p: type; 1 for a transposed one; images, channels, side,
 * output channels, kernel's side, stride. A kernel as large as the stride or
 * smaller has no padding, others keep the size.
 */
struct shape {
    enum bench_type type;
    int transposed;
    uint64_t b, c, s, o, k, stride, padding, out;
};

static struct shape shape_of(const struct bench_row *row)
{
    struct shape v = {(enum bench_type)row->p[0],
                      (int)row->p[1],
                      (uint64_t)row->p[2],
                      (uint64_t)row->p[3],
                      (uint64_t)row->p[4],
                      (uint64_t)row->p[5],
                      (uint64_t)row->p[6],
                      (uint64_t)row->p[7],
                      0,
                      0};

    if (v.stride < v.k)
        v.padding = v.transposed ? (v.k - v.stride) / 2 : v.k / 2;
    v.out = v.transposed ? (v.s - 1) * v.stride + v.k - 2 * v.padding
                         : (v.s + 2 * v.padding - v.k) / v.stride + 1;
    return v;
}

/* in `dims` dimensions, all sides alike */
static void conv(struct bench_launch *l, const struct bench_row *row, int dims)
{
    const struct shape v = shape_of(row);
    const uint64_t w0 = v.transposed ? v.c : v.o, w1 = v.transposed ? v.o : v.c;
    const uint64_t s = v.s, k = v.k, area = dims == 1 ? s : s * s;
    const uint64_t taps = dims == 1 ? k : k * k;
    const uint64_t places = dims == 1 ? v.out : v.out * v.out;
    const uint64_t flat[] = {v.b, v.c, s, v.c * s,   s, 1,
                             w0,  w1,  k, w1 * taps, k, 1};
    const uint64_t square[] = {v.b, v.c, s, s, v.c * area, area, s, 1,
                               w0,  w1,  k, k, w1 * taps,  taps, k, 1};
    const uint64_t in = v.b * v.c * area, out = v.b * v.o * places;

    one_thread_each(l, out);
    bench_arg(l, in);
    for (int i = 0; i < dims; i++)
        bench_arg(l, v.out);
    bench_arg(l, v.stride);
    bench_arg(l, v.padding);
    if (v.transposed)
        bench_arg(l, 0); /* output padding */
    bench_arg(l, 1);     /* dilation */
    bench_arg(l, dims == 1 ? bench_upload(flat, sizeof(flat))
                           : bench_upload(square, sizeof(square)));
    bench_arg(l, bench_random(v.type, in));
    bench_arg(l, bench_random(v.type, v.c * v.o * taps));
    bench_arg(l, bench_empty(out * bench_size(v.type)));
    l->nbytes = (double)((in + out + v.c * v.o * taps) * bench_size(v.type));
    l->nops = 2.0 * (double)(v.transposed ? in * v.o * taps : out * v.c * taps);
}

static void conv2d(struct bench_launch *l, const struct bench_row *row)
{
    conv(l, row, 2);
}

static void conv1d(struct bench_launch *l, const struct bench_row *row)
{
    conv(l, row, 1);
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

/* p[1], p[2]: window and stride of both axes */
static void pool(struct bench_launch *l, const struct bench_row *row)
{
    const enum bench_type type = (enum bench_type)row->p[0];
    const uint64_t k = (uint64_t)row->p[1], stride = (uint64_t)row->p[2];
    const uint64_t side = (S - k) / stride + 1, out = B * C * side * side;

    one_thread_each(l, out);
    bench_arg(l, IN);
    bench_arg(l, k);
    bench_arg(l, k);
    bench_arg(l, stride);
    bench_arg(l, stride);
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

#define PACK(symbol, label, ...) BENCH_ROW("conv", symbol, label, __VA_ARGS__)
#define BOTH(symbol, label, ...)                                               \
    BENCH_BOTH("conv", "plain_conv", symbol, label, __VA_ARGS__)
#define F32 BENCH_F32

const struct bench_row bench_conv[] = {
    BOTH("conv2d_f32", IMAGE " 3x3, 64 out", conv2d,
         {F32, 0, 8, 64, 128, 64, 3, 1}),
    PACK("conv2d_f16", IMAGE " 3x3, 64 out", conv2d,
         {BENCH_F16, 0, 8, 64, 128, 64, 3, 1}),
    BOTH("conv2d_f32", "1x3x224x224 7x7 stride 2, 64 out", conv2d,
         {F32, 0, 1, 3, 224, 64, 7, 2}),
    BOTH("conv2d_f32", "1x3x224x224 16x16 patches, 768 out", conv2d,
         {F32, 0, 1, 3, 224, 768, 16, 16}),
    BOTH("conv2d_f32", "1x64x56x56 3x3, 64 out", conv2d,
         {F32, 0, 1, 64, 56, 64, 3, 1}),
    BOTH("conv2d_f32", "1x128x56x56 3x3 stride 2, 128 out", conv2d,
         {F32, 0, 1, 128, 56, 128, 3, 2}),
    BOTH("conv2d_f32", "1x256x14x14 3x3, 256 out", conv2d,
         {F32, 0, 1, 256, 14, 256, 3, 1}),
    BOTH("conv2d_f32", "1x512x7x7 3x3, 512 out", conv2d,
         {F32, 0, 1, 512, 7, 512, 3, 1}),
    BOTH("conv2d_f32", "1x512x7x7 7x7 whole, 4096 out", conv2d,
         {F32, 0, 1, 512, 7, 4096, 7, 7}),
    BOTH("conv2d_f32", "1x256x56x56 1x1, 64 out", conv2d,
         {F32, 0, 1, 256, 56, 64, 1, 1}),
    BOTH("conv2d_f32", "8x256x56x56 1x1, 512 out", conv2d,
         {F32, 0, 8, 256, 56, 512, 1, 1}),
    BOTH("conv2d_f32", "8x256x56x56 1x1 stride 2, 512 out", conv2d,
         {F32, 0, 8, 256, 56, 512, 1, 2}),
    BOTH("conv2d_f32", "1x1x112x112 3x3, 1 out (a group)", conv2d,
         {F32, 0, 1, 1, 112, 1, 3, 1}),
    BOTH("conv2d_f32", "8x1x112x112 31x31, 1 out (a group)", conv2d,
         {F32, 0, 8, 1, 112, 1, 31, 1}),
    BOTH("conv2d_f32", "8x64x128x128 3x3, 3 out", conv2d,
         {F32, 0, 8, 64, 128, 3, 3, 1}),
    BOTH("conv_transpose2d_f32", IMAGE " 3x3, 64 out", conv2d,
         {F32, 1, 8, 64, 128, 64, 3, 1}),
    BOTH("conv_transpose2d_f32", "1x64x64x64 4x4 stride 2, 32 out", conv2d,
         {F32, 1, 1, 64, 64, 32, 4, 2}),
    BOTH("conv_transpose2d_f32", "1x256x16x16 2x2 stride 2, 128 out", conv2d,
         {F32, 1, 1, 256, 16, 128, 2, 2}),
    BOTH("conv1d_f32", "8x64x16384 3, 64 out", conv1d,
         {F32, 0, 8, 64, 16384, 64, 3, 1}),
    BOTH("conv1d_f32", "1x80x3000 3, 384 out", conv1d,
         {F32, 0, 1, 80, 3000, 384, 3, 1}),
    BOTH("conv1d_f32", "1x384x3000 3 stride 2, 384 out", conv1d,
         {F32, 0, 1, 384, 3000, 384, 3, 2}),
    BOTH("conv1d_f32", "1x512x256 7, 512 out", conv1d,
         {F32, 0, 1, 512, 256, 512, 7, 1}),
    BOTH("conv_transpose1d_f32", "8x64x16384 3, 64 out", conv1d,
         {F32, 1, 8, 64, 16384, 64, 3, 1}),
    BOTH("conv_transpose1d_f32", "1x512x256 16 stride 8, 256 out", conv1d,
         {F32, 1, 1, 512, 256, 256, 16, 8}),
    BOTH("im2col_f32", IMAGE " 3x3", im2col, {F32}),
    PACK("im2col_f16", IMAGE " 3x3", im2col, {BENCH_F16}),
    BOTH("avg_pool2d_f32", IMAGE " 2x2", pool, {F32, 2, 2}),
    BOTH("avg_pool2d_f32", IMAGE " 3x3 stride 2", pool, {F32, 3, 2}),
    BOTH("avg_pool2d_f32", IMAGE " 8x8", pool, {F32, 8, 8}),
    BOTH("avg_pool2d_f32", IMAGE " 128x128", pool, {F32, 128, 128}),
    BOTH("max_pool2d_f32", IMAGE " 2x2", pool, {F32, 2, 2}),
    BOTH("max_pool2d_f32", IMAGE " 3x3 stride 2", pool, {F32, 3, 2}),
    PACK("max_pool2d_f16", IMAGE " 2x2", pool, {BENCH_F16, 2, 2}),
    BOTH("upsample_nearest2d_f32", IMAGE " x2", nearest, {F32}),
    BOTH("upsample_bilinear2d_f32", IMAGE " x2", bilinear, {F32}),
    {0},
};
