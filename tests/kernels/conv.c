/* conv.c - convolutions, im2col, pooling and upsampling
 *
 * References are the formulas of the kernels' specification, term by term in
 * kt_real (integers wrap). Gates: (K + 1) * u * sum |x * w| for convolutions of
 * K terms summed in a type of unit roundoff u, plus the last rounding; pooling
 * and upsampling as noted there; what only moves elements must be exact.
 */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_conv;

/* unit roundoff of the type's accumulators */
static kt_real sum_roundoff(enum kt_type type)
{
    return type == KT_F64 ? 0x1p-53L : 0x1p-24L;
}

/* blocks beyond those that the outputs need: most of a large grid leaves */
static unsigned spare_blocks;

static unsigned blocks_for(size_t threads, unsigned block)
{
    const size_t n = (threads + block - 1) / block;

    return (n ? (unsigned)n : 1) + spare_blocks;
}

/* spare blocks in one case per kernel */
static void spare_for_case(size_t k)
{
    spare_blocks = k == 1 ? 2100 : 0;
}

/* ---- operands ------------------------------------------------------- */

/* a strided tensor on host and device */
struct tensor {
    enum kt_type type;
    struct kt_layout layout;
    void *host;
    const void *device;
    kt_real *value; /* host's numbers, by read_values() */
};

static struct tensor make_tensor(struct kt *t, enum kt_type type, size_t rank,
                                 const size_t *dims, enum kt_order order,
                                 bool group_view, size_t lead, uint64_t seed)
{
    struct tensor x = {type, kt_layout(rank, dims, order), NULL, NULL, NULL};

    if (group_view) { /* a slice of dim 1: batches further apart */
        x.layout.extent += (x.layout.dims[0] - 1) * 2 * x.layout.strides[0];
        x.layout.strides[0] *= 3;
    }
    x.host = kt_host(t, type, x.layout.extent, KT_SMALL, seed);
    x.device = kt_device(t, x.host, x.layout.extent * kt_size(type),
                         lead * kt_size(type));
    return x;
}

/* after a change to x->host */
static void upload(struct kt *t, struct tensor *x)
{
    kt_write(t, (void *)(uintptr_t)x->device, x->host,
             x->layout.extent * kt_size(x->type));
}

/* Converts all values once, because each is read many times. */
static void read_values(struct kt *t, struct tensor *x)
{
    x->value = kt_alloc(t, x->layout.extent * sizeof(*x->value));
    for (size_t i = 0; i < x->layout.extent; i++)
        x->value[i] = kt_get(x->type, x->host, i);
}

static size_t place(const struct tensor *x, size_t a, size_t b, size_t c,
                    size_t d)
{
    const size_t *s = x->layout.strides;

    return a * s[0] + b * s[1] + c * s[2] +
           (x->layout.rank == 4 ? d * s[3] : 0);
}

/* dims, strides of x and then of w, as `info` */
static const size_t *conv_info(struct kt *t, const struct tensor *x,
                               const struct tensor *w)
{
    size_t info[16], used = 0;
    const struct tensor *const both[2] = {x, w};

    for (int k = 0; k < (w ? 2 : 1); k++) {
        const struct kt_layout *l = &both[k]->layout;

        memcpy(info + used, l->dims, l->rank * sizeof(info[0]));
        used += l->rank;
        memcpy(info + used, l->strides, l->rank * sizeof(info[0]));
        used += l->rank;
    }
    return kt_device(t, info, used * sizeof(info[0]), 0);
}

/* ---- convolutions --------------------------------------------------- */

enum kind { CONV1D, CONV2D, CONVT1D, CONVT2D };

struct conv_case {
    const char *name;
    size_t b, c, o, h, w, kh, kw; /* h and kh: 1 where 1-D */
    size_t stride, padding, dilation, out_padding;
    enum kt_order x_order, w_order;
    bool group_view;
    unsigned block;
    size_t lead;
    bool strange; /* an infinite and a NaN kernel element */
};

/* a block that says: the shape that kpk_kernel_shape() recommends */
enum { ADVISED = 0 };

#define N KT_CONTIGUOUS
#define T KT_TRANSPOSED
#define S KT_SLICED
static const struct conv_case cases_1d[] = {
    {"k=1", 1, 1, 1, 1, 5, 1, 1, 1, 0, 1, 0, N, N, 0, 1024, 1, 0},
    {"k=l", 2, 3, 4, 1, 7, 1, 7, 1, 0, 1, 0, N, N, 0, 1024, 0, 0},
    {"stride", 2, 3, 5, 1, 40, 1, 3, 3, 0, 1, 0, N, N, 0, 1024, 0, 0},
    {"padding", 1, 2, 3, 1, 20, 1, 3, 1, 4, 1, 0, N, N, 0, 1024, 1, 0},
    {"dilation", 1, 2, 3, 1, 30, 1, 3, 1, 0, 4, 0, N, N, 0, 1024, 0, 0},
    {"all", 2, 5, 9, 1, 50, 1, 4, 3, 5, 2, 1, N, N, 0, 1024, 0, 0},
    {"stride > k", 2, 3, 2, 1, 31, 1, 2, 5, 1, 1, 3, N, N, 0, 1024, 0, 0},
    {"d and s share 2", 1, 3, 2, 1, 31, 1, 5, 4, 3, 6, 2, N, N, 0, 1024, 0, 0},
    {"transposed", 2, 3, 4, 1, 23, 1, 3, 2, 1, 1, 0, T, T, 0, 1024, 0, 0},
    {"sliced", 2, 3, 4, 1, 23, 1, 3, 1, 1, 1, 0, S, S, 0, 1024, 3, 0},
    {"group", 3, 2, 2, 1, 23, 1, 3, 1, 1, 1, 0, N, N, 1, 1024, 0, 0},
    {"wide", 1, 2, 70, 1, 600, 1, 3, 1, 1, 1, 0, N, N, 0, 1024, 0, 0},
    {"many channels", 1, 300, 3, 1, 40, 1, 3, 1, 1, 1, 0, N, N, 0, 256, 0, 0},
    {"long kernel", 1, 1, 2, 1, 1500, 1, 1100, 1, 3, 1, 0, N, N, 0, 256, 0, 0},
    {"far taps", 1, 2, 2, 1, 2000, 1, 3, 2, 100, 900, 1, N, N, 0, 256, 0, 0},
    {"long stride", 1, 2, 2, 1, 900, 1, 2, 130, 1, 1, 0, N, N, 0, 64, 0, 0},
    {"huge stride", 1, 2, 2, 1, 1, 1, 3, 1ul << 33, 0, 1, 0, N, N, 0, 64, 0, 0},
    {"odd block", 2, 3, 4, 1, 23, 1, 3, 2, 1, 2, 1, N, N, 0, 48, 0, 0},
    {"inf and NaN", 1, 2, 5, 1, 20, 1, 3, 1, 2, 1, 0, N, N, 0, 1024, 0, 1},
    /* tiles enough for a GPU */
    {"many tiles", 1, 2, 9, 1, 16000, 1, 3, 1, 1, 1, 0, N, N, 0, 32, 0, 0},
    {"tiles, inf", 1, 2, 9, 1, 16000, 1, 3, 1, 1, 1, 0, N, N, 0, 32, 0, 1},
    /* outputs at a few positions */
    {"whole", 3, 40, 11, 1, 9, 1, 9, 1, 0, 1, 0, N, N, 0, 1024, 0, 0},
    {"few places", 1, 50, 6, 1, 11, 1, 3, 2, 1, 2, 0, S, T, 0, 64, 1, 0},
    {"few, inf", 2, 40, 6, 1, 5, 1, 3, 1, 2, 1, 0, N, N, 0, 1024, 0, 1},
    {"two lists of taps", 1, 5, 2, 1, 230, 1, 220, 1, 2, 1, 0, N, S, 0, 1024, 0,
     0},
    /* few tiles of many terms */
    {"split", 2, 70, 37, 1, 50, 1, 3, 2, 1, 1, 1, N, N, 0, 1024, 0, 0},
    {"split, all", 2, 20, 19, 1, 50, 1, 4, 3, 5, 2, 1, N, N, 1, 256, 3, 0},
    {"split, views", 2, 20, 9, 1, 23, 1, 3, 2, 1, 1, 0, T, S, 0, 96, 0, 0},
    {"split, inf", 1, 20, 9, 1, 33, 1, 3, 1, 2, 1, 0, N, N, 0, 1024, 0, 1},
    /* and of several groups of channels a block */
    {"tiles, groups", 1, 3, 17, 1, 8190, 1, 4, 1, 1, 1, 0, N, N, 0, 64, 0, 0},
    /* tiles enough for matrix instructions */
    {"matrix", 2, 16, 66, 1, 1600, 1, 3, 1, 1, 1, 0, N, N, 0, 1024, 0, 0},
    {"matrix, long", 1, 1, 70, 1, 1440, 1, 40, 1, 0, 1, 0, N, N, 0, 1024, 0, 0},
    {"advised", 2, 24, 40, 1, 333, 1, 3, 2, 5, 2, 0, N, N, 0, ADVISED, 0, 0},
    {"advised, 1", 2, 24, 40, 1, 320, 1, 1, 1, 0, 1, 0, N, N, 0, ADVISED, 0, 0},
    {"advised, patches", 2, 3, 33, 1, 700, 1, 80, 4, 0, 1, 0, N, N, 0, ADVISED,
     0, 0},
    {"advised, s > k", 2, 24, 40, 1, 90, 1, 3, 4, 1, 1, 2, N, N, 0, ADVISED, 0,
     0},
};
static const struct conv_case cases_2d[] = {
    {"k=1", 1, 1, 1, 5, 7, 1, 1, 1, 0, 1, 0, N, N, 0, 1024, 1, 0},
    {"k=image", 2, 3, 4, 5, 7, 5, 7, 1, 0, 1, 0, N, N, 0, 1024, 0, 0},
    {"stride", 2, 3, 5, 13, 19, 3, 3, 2, 0, 1, 0, N, N, 0, 1024, 0, 0},
    {"padding >= k", 1, 2, 3, 6, 5, 2, 3, 1, 4, 1, 0, N, N, 0, 1024, 1, 0},
    {"dilation", 1, 2, 3, 13, 12, 3, 2, 1, 0, 4, 0, N, N, 0, 1024, 0, 0},
    {"all", 2, 5, 9, 15, 18, 4, 3, 3, 5, 2, 1, N, N, 0, 1024, 0, 0},
    {"stride > k", 1, 3, 2, 16, 11, 2, 1, 5, 1, 1, 4, N, N, 0, 1024, 0, 0},
    {"s=2 k=2", 2, 4, 3, 9, 8, 2, 2, 2, 0, 1, 0, N, N, 0, 1024, 0, 0},
    {"transposed", 2, 3, 4, 9, 8, 3, 2, 2, 1, 1, 0, T, T, 0, 1024, 0, 0},
    {"sliced", 2, 3, 4, 9, 8, 3, 3, 1, 1, 1, 0, S, S, 0, 1024, 3, 0},
    {"group", 3, 2, 2, 9, 8, 3, 3, 1, 1, 1, 0, N, N, 1, 1024, 0, 0},
    {"one of each", 9, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, N, N, 0, 1024, 0, 0},
    {"3x3, 64 out", 2, 10, 66, 17, 33, 3, 3, 1, 1, 1, 0, N, N, 0, 1024, 0, 0},
    {"130 images", 130, 4, 9, 3, 3, 3, 3, 1, 1, 1, 0, N, N, 0, 256, 0, 0},
    {"large kernel", 1, 2, 2, 30, 29, 23, 21, 1, 2, 1, 0, N, N, 0, 256, 0, 0},
    {"large image", 1, 1, 1, 200, 150, 3, 3, 1, 1, 1, 0, N, N, 0, 1024, 0, 0},
    {"huge stride", 1, 2, 2, 1, 1, 3, 2, 1ul << 33, 0, 1, 0, N, N, 0, 64, 0, 0},
    {"odd block", 2, 3, 4, 7, 8, 3, 2, 2, 1, 2, 1, N, N, 0, 48, 0, 0},
    {"inf and NaN", 1, 2, 5, 6, 7, 3, 3, 1, 2, 1, 0, N, N, 0, 1024, 0, 1},
    {"many tiles", 1, 2, 9, 128, 126, 3, 3, 1, 1, 1, 0, N, N, 0, 32, 0, 0},
    {"tiles, inf", 1, 2, 9, 128, 126, 3, 3, 1, 1, 1, 0, N, N, 0, 32, 0, 1},
    {"few places", 1, 20, 6, 3, 5, 3, 3, 2, 1, 1, 0, T, S, 0, 1024, 1, 0},
    {"few, inf", 1, 20, 6, 3, 3, 3, 3, 1, 1, 1, 0, N, N, 0, 1024, 0, 1},
    {"split", 1, 30, 21, 7, 7, 3, 3, 1, 1, 1, 0, N, N, 0, 1024, 0, 0},
    {"split, all", 2, 9, 11, 15, 18, 4, 3, 3, 5, 2, 1, N, N, 1, 256, 3, 0},
    {"split, views", 2, 9, 9, 9, 8, 3, 2, 2, 1, 1, 0, T, S, 0, 96, 0, 0},
    {"split, inf", 1, 9, 9, 6, 7, 3, 3, 1, 2, 1, 0, N, N, 0, 1024, 0, 1},
    {"wide rows", 2, 3, 5, 3, 803, 3, 3, 1, 1, 1, 0, N, N, 0, 1024, 1, 0},
    {"many taps", 1, 20, 5, 9, 8, 5, 5, 1, 2, 1, 0, S, N, 0, 1024, 1, 0},
    {"tiles, groups", 1, 3, 17, 91, 90, 3, 3, 1, 1, 1, 0, N, N, 0, 64, 0, 0},
    {"tiles, stride", 1, 3, 17, 91, 90, 3, 4, 2, 2, 1, 1, N, N, 0, 64, 0, 0},
    /* tiles enough for matrix instructions */
    {"matrix", 1, 8, 66, 39, 41, 3, 3, 1, 1, 1, 0, N, N, 0, 1024, 0, 0},
    /* more taps than the list of taps outside holds */
    {"matrix, patches", 1, 1, 70, 156, 305, 6, 6, 6, 0, 1, 0, N, N, 0, 1024, 0,
     0},
    {"matrix, far", 1, 2, 66, 44, 60, 6, 7, 1, 0, 2, 0, N, N, 0, 1024, 1, 0},
    {"matrix, all", 3, 9, 130, 38, 37, 2, 4, 2, 3, 2, 1, N, N, 1, 1024, 1, 0},
    {"matrix, views", 9, 33, 4, 19, 18, 1, 1, 1, 0, 1, 0, T, N, 0, 1024, 0, 0},
    {"matrix, inf", 1, 8, 66, 39, 41, 3, 3, 1, 1, 1, 0, S, N, 0, 1024, 3, 1},
    {"advised", 2, 24, 66, 17, 19, 3, 3, 1, 1, 1, 0, N, N, 0, ADVISED, 0, 0},
    {"advised, odd", 3, 21, 33, 7, 7, 2, 3, 2, 1, 2, 0, N, N, 0, ADVISED, 0, 0},
    {"advised, 1x1", 3, 40, 70, 8, 8, 1, 1, 1, 0, 1, 0, N, N, 0, ADVISED, 0, 0},
    {"advised, 7x7", 5, 33, 35, 7, 7, 1, 1, 1, 0, 1, 0, N, N, 0, ADVISED, 0, 0},
    {"advised, fours", 3, 72, 70, 6, 6, 1, 1, 1, 0, 1, 0, N, N, 0, ADVISED, 0,
     0},
    {"advised, ones", 5, 40, 130, 7, 7, 1, 1, 1, 0, 1, 0, S, N, 0, ADVISED, 1,
     0},
    {"advised, deep", 1, 1032, 40, 5, 8, 1, 1, 1, 0, 1, 0, N, N, 0, ADVISED, 0,
     0},
    {"advised, column", 2, 24, 40, 20, 1, 1, 1, 2, 0, 1, 0, N, N, 0, ADVISED, 0,
     0},
    {"advised, tiles", 2, 16, 8, 100, 100, 1, 1, 1, 0, 1, 0, N, N, 0, ADVISED,
     0, 0},
    {"advised, odd tiles", 2, 16, 8, 99, 101, 1, 1, 1, 0, 1, 0, N, N, 0,
     ADVISED, 0, 0},
    {"advised, gaps", 2, 24, 33, 15, 17, 1, 1, 2, 0, 1, 0, N, N, 0, ADVISED, 0,
     0},
    {"advised, patches", 1, 3, 33, 26, 28, 10, 8, 8, 0, 1, 0, N, N, 0, ADVISED,
     0, 0},
    {"advised, s > k", 2, 24, 33, 9, 7, 2, 1, 3, 1, 1, 1, N, N, 0, ADVISED, 0,
     0},
    {"advised, s=2 k=4", 1, 24, 33, 9, 17, 4, 4, 2, 1, 1, 0, T, S, 0, ADVISED,
     0, 1},
    {"advised, wide", 1, 16, 9, 3, 700, 3, 3, 1, 1, 1, 0, N, N, 0, ADVISED, 0,
     0},
    {"advised, inf", 1, 20, 40, 9, 11, 3, 3, 1, 1, 1, 0, N, N, 0, ADVISED, 0,
     1},
};
/* the last thread of 520 blocks, and the last 16 positions, have work */
static const struct conv_case long_row = {"", 1, 1, 1, 1, 8327, 1,  1, 1,
                                          0,  1, 0, N, N, 0,    16, 0, 0};
#undef N
#undef T
#undef S

/* 1 block in 2, 8 and 64 stays; the last run of blocks is not whole */
static const struct {
    const char *name;
    unsigned blocks;
} grids[] = {
    {"1027 blocks", 1027}, {"1035 blocks", 1035},   {"4101 blocks", 4101},
    {"4159 blocks", 4159}, {"32773 blocks", 32773}, {"33000 blocks", 33000},
};

/* long_row on grid k */
static struct conv_case case_of_grid(size_t k)
{
    struct conv_case c = long_row;

    c.name = grids[k].name;
    spare_blocks = 0;
    spare_blocks = grids[k].blocks - blocks_for(c.w, c.block);
    return c;
}

static bool is_transposed(enum kind kind)
{
    return kind == CONVT1D || kind == CONVT2D;
}

/* outputs along an axis; 0 if there are none */
static size_t out_size(bool transposed, size_t in, size_t k,
                       const struct conv_case *c)
{
    const size_t span = c->dilation * (k - 1) + 1;

    if (transposed) {
        const size_t n = (in - 1) * c->stride + span + c->out_padding;

        return n > 2 * c->padding ? n - 2 * c->padding : 0;
    }
    return in + 2 * c->padding >= span
               ? (in + 2 * c->padding - span) / c->stride + 1
               : 0;
}

/* the input that output p reads through tap k, or -1 */
static long input_of(bool transposed, const struct conv_case *c, size_t in,
                     size_t p, size_t k)
{
    const long s = (long)c->stride;
    long n;

    if (!transposed) {
        n = s * (long)p + (long)(c->dilation * k) - (long)c->padding;
    } else {
        n = (long)(p + c->padding) - (long)(c->dilation * k);
        if (n < 0 || n % s)
            return -1;
        n /= s;
    }
    return n >= 0 && n < (long)in ? n : -1;
}

struct sums {
    kt_real sum, magnitude;
    uint64_t wrapped;
};

static void add_product(struct sums *s, const struct tensor *x, size_t i,
                        const struct tensor *w, size_t k)
{
    const kt_real product = x->value[i] * w->value[k];

    s->sum += product;
    s->magnitude += fabsl(product);
    if (!kt_is_float(x->type))
        s->wrapped += (uint64_t)kt_get_int(x->type, x->host, i) *
                      (uint64_t)kt_get_int(w->type, w->host, k);
}

static kpk_shape shape_of(struct kt *t, const struct conv_case *c, size_t n)
{
    kpk_shape shape = {{1, 1, 1}, {c->block, 1, 1}, 0};
    const kpk_kernel *kernel;

    if (c->block != ADVISED)
        shape.grid[0] = blocks_for(n, c->block);
    else if (kpk_kernel_get(t->inst, t->symbol, &kernel) != KPK_OK ||
             kpk_kernel_shape(kernel, n, 0, &shape) != KPK_OK)
        kt_fail(t, "%s", kpk_error_message());
    return shape;
}

static bool is_flat(enum kind kind)
{
    return kind == CONV1D || kind == CONVT1D;
}

/* A case's operands and size; an output has oh x ow numbers. */
struct conv {
    const struct conv_case *c;
    enum kind kind;
    enum kt_type type;
    size_t oh, ow, total;
    struct tensor x, w;
};

/* Output i, out of all inputs that it reads. */
static struct sums output_of(const struct conv *v, size_t i)
{
    const struct conv_case *c = v->c;
    const bool flat = is_flat(v->kind), transposed = is_transposed(v->kind);
    const size_t plane = v->oh * v->ow;
    const size_t n = i / plane / c->o, o = i / plane % c->o;
    struct sums s = {0, 0, 0};

    for (size_t kh = 0; kh < (flat ? 1 : c->kh); kh++) {
        const long qh =
            flat ? 0 : input_of(transposed, c, c->h, i / v->ow % v->oh, kh);

        for (size_t kw = 0; qh >= 0 && kw < c->kw; kw++) {
            const long qw = input_of(transposed, c, c->w, i % v->ow, kw);

            if (qw < 0)
                continue;
            for (size_t ch = 0; ch < c->c; ch++)
                add_product(&s, &v->x,
                            flat ? place(&v->x, n, ch, (size_t)qw, 0)
                                 : place(&v->x, n, ch, (size_t)qh, (size_t)qw),
                            &v->w,
                            place(&v->w, transposed ? ch : o,
                                  transposed ? o : ch, flat ? kw : kh, kw));
        }
    }
    return s;
}

/* *out: the outputs, on the device. False if the launch failed. */
static bool launch_conv(struct kt *t, const struct conv *v, void **out)
{
    const struct conv_case *c = v->c;
    const void *info = conv_info(t, &v->x, &v->w);
    void *dst = *out = kt_device(t, NULL, v->total * kt_size(v->type), 0);
    const void *x = v->x.device, *w = v->w.device;
    const kpk_shape shape = shape_of(t, c, v->total);
    const unsigned grid = shape.grid[0], block = shape.block[0];
    const size_t shared = shape.shared_nbytes;
    size_t numel = v->x.layout.numel, h_out = v->oh, w_out = v->ow;
    size_t stride = c->stride, padding = c->padding, dilation = c->dilation;
    size_t out_padding = c->out_padding;

    switch (v->kind) {
    case CONV1D:
        return KT_LAUNCH(t, grid, block, shared, numel, w_out, stride, padding,
                         dilation, info, x, w, dst);
    case CONV2D:
        return KT_LAUNCH(t, grid, block, shared, numel, w_out, h_out, stride,
                         padding, dilation, info, x, w, dst);
    case CONVT1D:
        return KT_LAUNCH(t, grid, block, shared, numel, w_out, stride, padding,
                         out_padding, dilation, info, x, w, dst);
    case CONVT2D:
        return KT_LAUNCH(t, grid, block, shared, numel, w_out, h_out, stride,
                         padding, out_padding, dilation, info, x, w, dst);
    }
    return false;
}

static void run_conv_case(struct kt *t, const struct conv_case *c,
                          enum kind kind, enum kt_type type)
{
    const bool flat = is_flat(kind), transposed = is_transposed(kind);
    struct conv v = {.c = c,
                     .kind = kind,
                     .type = type,
                     .oh = flat ? 1 : out_size(transposed, c->h, c->kh, c),
                     .ow = out_size(transposed, c->w, c->kw, c)};
    const size_t total = v.total = c->b * c->o * v.oh * v.ow;
    const size_t xd[4] = {c->b, c->c, flat ? c->w : c->h, c->w};
    const size_t wd[4] = {transposed ? c->c : c->o, transposed ? c->o : c->c,
                          flat ? c->kw : c->kh, c->kw};

    if (total == 0 || (c->strange && !kt_is_float(type)) || !kt_turn(t))
        return;
    v.x = make_tensor(t, type, flat ? 3 : 4, xd, c->x_order, c->group_view,
                      c->lead, 1);
    v.w = make_tensor(t, type, flat ? 3 : 4, wd, c->w_order, false, c->lead, 2);
    if (c->strange) {
        kt_put(type, v.w.host, 0, INFINITY);
        kt_put(type, v.w.host, v.w.layout.extent - 1, NAN);
        upload(t, &v.w);
    }
    struct kt_shared *shared =
        kt_shared(t, total * (2 * sizeof(kt_real) + kt_size(type)));
    kt_real *want = shared->data, *scale = want + total;
    void *exact = scale + total;

    if (!shared->filled) {
        read_values(t, &v.x);
        read_values(t, &v.w);
    }
    for (size_t i = 0; i < total && !shared->filled; i++) {
        const struct sums s = output_of(&v, i);

        want[i] = s.sum;
        scale[i] = s.magnitude;
        kt_put_bits(type, exact, i, s.wrapped);
    }
    shared->filled = true;

    void *dst, *got = kt_alloc(t, total * kt_size(type));

    t->what = c->name;
    if (!launch_conv(t, &v, &dst))
        return;
    kt_read(t, got, dst, total * kt_size(type));
    if (kt_is_float(type)) {
        const kt_real terms = (kt_real)(c->c * c->kh * c->kw);

        kt_check(t, type, got, want, total,
                 (struct kt_gate){0.5L, (terms + 1) * sum_roundoff(type), scale,
                                  false});
    } else {
        kt_check_bits(t, type, got, exact, total);
    }
}

/* Matrix instructions compute plain convolutions of these types. For other
 * types cases with fewer terms have as many outputs. */
static bool is_by_matrix(enum kind kind, enum kt_type type)
{
    return !is_transposed(kind) &&
           (type == KT_F16 || type == KT_BF16 || type == KT_F32);
}

static void run_conv(struct kt *t, const struct kt_row *row)
{
    const enum kind kind = *(const enum kind *)row->detail;
    const bool flat = is_flat(kind);
    const struct conv_case *c = flat ? cases_1d : cases_2d;
    const size_t n =
        flat ? sizeof(cases_1d) / sizeof(*c) : sizeof(cases_2d) / sizeof(*c);

    for (size_t k = 0; k < n; k++, c++) {
        if (strncmp(c->name, "matrix", 6) == 0 && !is_by_matrix(kind, row->a))
            continue;
        spare_for_case(k);
        run_conv_case(t, c, kind, row->a);
    }
    for (size_t k = 0; k < sizeof(grids) / sizeof(grids[0]); k++) {
        const struct conv_case long_case = case_of_grid(k);

        run_conv_case(t, &long_case, kind, row->a);
    }
}

/* ---- im2col --------------------------------------------------------- */

/* the same cases without output channels */
static void run_im2col_case(struct kt *t, const struct conv_case *c, bool flat,
                            enum kt_type type)
{
    const size_t oh = flat ? 1 : out_size(false, c->h, c->kh, c);
    const size_t ow = out_size(false, c->w, c->kw, c);
    const size_t kh = flat ? 1 : c->kh, size = kt_size(type);
    const size_t total = c->b * oh * ow * c->c * kh * c->kw;
    const size_t xd[4] = {c->b, c->c, flat ? c->w : c->h, c->w};

    if (total == 0 || total > 60000 || c->strange || !kt_turn(t))
        return;
    struct tensor x = make_tensor(t, type, flat ? 3 : 4, xd, c->x_order,
                                  c->group_view, c->lead, 3);
    char *want = kt_alloc(t, total * size);

    for (size_t i = 0; i < total; i++) {
        const size_t kw_at = i % c->kw, kh_at = i / c->kw % kh;
        const size_t ch = i / c->kw / kh % c->c;
        const size_t position = i / c->kw / kh / c->c;
        const size_t n = position / ow / oh;
        const long qh =
            flat ? 0 : input_of(false, c, c->h, position / ow % oh, kh_at);
        const long qw = input_of(false, c, c->w, position % ow, kw_at);

        if (qh < 0 || qw < 0)
            continue;
        memcpy(want + i * size,
               (char *)x.host +
                   size * (flat ? place(&x, n, ch, (size_t)qw, 0)
                                : place(&x, n, ch, (size_t)qh, (size_t)qw)),
               size);
    }
    const void *info = conv_info(t, &x, NULL);
    void *dst = kt_device(t, NULL, total * size, c->lead * size);
    void *got = kt_alloc(t, total * size);
    size_t threads = flat ? c->b * ow * c->c : total, h_out = oh, w_out = ow;
    size_t h_k = c->kh, w_k = c->kw;
    size_t stride = c->stride, padding = c->padding, dilation = c->dilation;
    const kpk_shape shape = shape_of(t, c, threads);
    const unsigned grid = shape.grid[0], block = shape.block[0];

    t->what = c->name;
    if (flat ? !KT_LAUNCH(t, grid, block, 0, threads, w_out, w_k, stride,
                          padding, dilation, info, x.device, dst)
             : !KT_LAUNCH(t, grid, block, 0, threads, h_out, w_out, h_k, w_k,
                          stride, padding, dilation, info, x.device, dst))
        return;
    kt_read(t, got, dst, total * size);
    kt_check_bits(t, type, got, want, total);
}

static void run_im2col(struct kt *t, const struct kt_row *row)
{
    const bool flat = *(const bool *)row->detail;
    const struct conv_case *c = flat ? cases_1d : cases_2d;
    const size_t n =
        flat ? sizeof(cases_1d) / sizeof(*c) : sizeof(cases_2d) / sizeof(*c);

    for (size_t k = 0; k < n; k++, c++) {
        spare_for_case(k);
        run_im2col_case(t, c, flat, row->a);
    }
    for (size_t k = 0; k < sizeof(grids) / sizeof(grids[0]); k++) {
        const struct conv_case long_case = case_of_grid(k);

        run_im2col_case(t, &long_case, flat, row->a);
    }
}

/* ---- col2im1d ------------------------------------------------------- */

static const struct col2im_case {
    const char *name;
    size_t b, l_in, c, k, stride;
} col2im_cases[] = {
    {"stride 1", 2, 9, 3, 4, 1},    {"stride < k", 1, 20, 5, 5, 2},
    {"stride = k", 2, 11, 4, 3, 3}, {"stride > k", 2, 7, 3, 2, 5},
    {"one", 1, 1, 1, 1, 1},         {"wide", 1, 700, 3, 7, 3},
    {"k=40", 1, 33, 9, 40, 1},
};

/* a + b in the type that sums have, f32 for f16 and bf16; integers wrap */
static void add_to(enum kt_type type, void *sum, const void *x, size_t i)
{
    if (type == KT_F64)
        *(double *)sum += ((const double *)x)[i];
    else if (kt_is_float(type))
        *(float *)sum += (float)kt_get(type, x, i);
    else
        kt_put_bits(type, sum, 0,
                    (uint64_t)kt_get_int(type, sum, 0) +
                        (uint64_t)kt_get_int(type, x, i));
}

static void run_col2im(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < sizeof(col2im_cases) / sizeof(col2im_cases[0]);
         k++) {
        if (!kt_turn(t))
            continue;
        const struct col2im_case *c = &col2im_cases[k];
        size_t l_in = c->l_in, c_out = c->c, k_size = c->k, stride = c->stride;
        size_t l_out = (l_in - 1) * stride + k_size;
        size_t total = c->b * c_out * l_out;
        const size_t inputs = c->b * l_in * c_out * k_size;
        const void *x = kt_host(t, type, inputs, KT_SMALL, k);
        char *want = kt_alloc(t, total * size);
        void *got = kt_alloc(t, total * size);

        for (size_t i = 0; i < total; i++) {
            const size_t at = i % l_out, o = i / l_out % c_out;
            const size_t b = i / l_out / c_out;
            union {
                double f64;
                float f32;
                uint64_t code;
            } sum = {.code = 0};

            for (size_t in = l_in; in-- > 0;)
                if (at >= in * stride && at - in * stride < k_size)
                    add_to(type, &sum, x,
                           ((b * l_in + in) * c_out + o) * k_size + at -
                               in * stride);
            if (kt_is_float(type) && type != KT_F64)
                kt_put(type, want, i, sum.f32);
            else
                memcpy(want + i * size, &sum, size);
        }
        const void *src = kt_device(t, x, inputs * size, size);
        void *dst = kt_device(t, NULL, total * size, 0);

        t->what = c->name;
        if (!KT_LAUNCH(t, blocks_for(total, 1024), 1024, 0, total, l_out, l_in,
                       c_out, k_size, stride, src, dst))
            return;
        kt_read(t, got, dst, total * size);
        kt_check_bits(t, type, got, want, total);
    }
}

/* ---- pooling -------------------------------------------------------- */

enum pool_data { POOL_PLAIN, POOL_NAN, POOL_ALL_NAN, POOL_LARGE };

static const struct pool_case {
    const char *name;
    size_t b, c, d2, d3, k2, k3, s2, s3;
    enum kt_order order;
    bool group_view;
    enum pool_data data;
} pool_cases[] = {
    {"2x2", 2, 3, 8, 6, 2, 2, 2, 2, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"3x3 by 1", 1, 2, 7, 9, 3, 3, 1, 1, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"leftovers", 2, 2, 11, 13, 3, 2, 2, 3, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"1x1", 1, 1, 5, 4, 1, 1, 1, 1, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"gaps", 1, 2, 12, 17, 2, 1, 5, 4, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"whole", 2, 2, 9, 7, 9, 7, 1, 1, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"transposed", 2, 3, 8, 6, 2, 3, 2, 1, KT_TRANSPOSED, false, POOL_PLAIN},
    {"sliced", 2, 3, 8, 6, 2, 3, 2, 1, KT_SLICED, false, POOL_PLAIN},
    {"group", 3, 2, 8, 6, 2, 2, 2, 2, KT_CONTIGUOUS, true, POOL_PLAIN},
    {"many", 2, 5, 30, 41, 3, 3, 2, 2, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"NaN", 1, 2, 12, 12, 3, 3, 3, 3, KT_CONTIGUOUS, false, POOL_NAN},
    {"all NaN", 1, 1, 6, 6, 3, 3, 3, 3, KT_CONTIGUOUS, false, POOL_ALL_NAN},
    {"large", 1, 1, 6, 6, 3, 3, 3, 3, KT_CONTIGUOUS, false, POOL_LARGE},
    {"2x2 rows", 2, 3, 8, 32, 2, 2, 2, 2, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"5x7", 2, 3, 20, 22, 5, 7, 3, 2, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"16x17", 2, 3, 35, 37, 16, 17, 8, 3, KT_CONTIGUOUS, false, POOL_PLAIN},
    {"20x20 views", 2, 3, 41, 43, 20, 20, 7, 9, KT_SLICED, false, POOL_PLAIN},
    {"16x16 NaN", 1, 2, 32, 32, 16, 16, 16, 16, KT_CONTIGUOUS, false, POOL_NAN},
    {"16x16 all NaN", 1, 1, 16, 16, 16, 16, 16, 16, KT_CONTIGUOUS, false,
     POOL_ALL_NAN},
};

static void run_pool(struct kt *t, const struct kt_row *row)
{
    const bool max = *(const bool *)row->detail;
    const enum kt_type type = row->a;

    for (size_t k = 0; k < sizeof(pool_cases) / sizeof(pool_cases[0]); k++) {
        if (!kt_turn(t))
            continue;
        spare_for_case(k);
        const struct pool_case *c = &pool_cases[k];
        const size_t out2 = (c->d2 - c->k2) / c->s2 + 1;
        const size_t out3 = (c->d3 - c->k3) / c->s3 + 1;
        const size_t total = c->b * c->c * out2 * out3;
        const size_t xd[4] = {c->b, c->c, c->d2, c->d3};

        if (c->data != POOL_PLAIN && c->data != POOL_LARGE &&
            !kt_is_float(type))
            continue;
        struct tensor x =
            make_tensor(t, type, 4, xd, c->order, c->group_view, k % 2, k);

        for (size_t i = 0; i < x.layout.extent; i++) {
            if (c->data == POOL_ALL_NAN || (c->data == POOL_NAN && i % 23 == 5))
                kt_put(type, x.host, i, NAN);
            if (c->data == POOL_LARGE)
                kt_put(type, x.host, i, 250);
        }
        upload(t, &x);

        kt_real *want = kt_alloc(t, total * sizeof(*want));
        kt_real *scale = kt_alloc(t, total * sizeof(*scale));
        const kt_real area = (kt_real)(c->k2 * c->k3);

        for (size_t i = 0; i < total; i++) {
            const size_t i3 = i % out3, i2 = i / out3 % out2;
            const size_t ch = i / out3 / out2 % c->c,
                         b = i / out3 / out2 / c->c;
            kt_real sum = 0, most = NAN, magnitude = 0;
            bool has_nan = false;

            for (size_t h = 0; h < c->k2; h++)
                for (size_t w = 0; w < c->k3; w++) {
                    const kt_real v = kt_get(
                        type, x.host,
                        place(&x, b, ch, i2 * c->s2 + h, i3 * c->s3 + w));

                    sum += v;
                    magnitude += fabsl(v) / area;
                    has_nan = has_nan || isnan(v);
                    most = fmaxl(most, v);
                }
            if (has_nan)
                most = NAN;
            want[i] = max ? most : sum / area;
            if (!max && !kt_is_float(type))
                want[i] = truncl((kt_real)((float)sum * (1.0F / (float)area)));
            scale[i] = (area + 2) * magnitude;
        }
        const void *info = conv_info(t, &x, NULL);
        void *dst = kt_device(t, NULL, total * kt_size(type), 0);
        void *got = kt_alloc(t, total * kt_size(type));
        size_t src_numel = x.layout.numel, w_k = c->k2, h_k = c->k3;
        size_t w_stride = c->s2, h_stride = c->s3;

        t->what = c->name;
        if (!KT_LAUNCH(t, blocks_for(total, 1024), 1024, 0, src_numel, w_k, h_k,
                       w_stride, h_stride, info, x.device, dst))
            return;
        kt_read(t, got, dst, total * kt_size(type));
        if (max || !kt_is_float(type))
            kt_check(t, type, got, want, total, KT_EXACT);
        else
            kt_check(t, type, got, want, total,
                     (struct kt_gate){0.5L, sum_roundoff(type), scale, false});
    }
}

/* ---- upsampling ----------------------------------------------------- */

static const struct upsample_case {
    const char *name;
    size_t b, c, d2, d3, out2, out3;
    enum kt_order order;
    bool align, has_scale;
    double scale2, scale3;
} upsample_cases[] = {
    {"up", 2, 3, 5, 7, 10, 21, KT_CONTIGUOUS, false, false, 0, 0},
    {"down", 1, 2, 30, 30, 22, 13, KT_CONTIGUOUS, false, false, 0, 0},
    {"identity", 1, 2, 6, 5, 6, 5, KT_CONTIGUOUS, false, false, 0, 0},
    {"align", 2, 2, 6, 5, 11, 17, KT_CONTIGUOUS, true, false, 0, 0},
    {"align to 1", 1, 2, 6, 5, 1, 9, KT_CONTIGUOUS, true, false, 0, 0},
    {"to 1", 1, 2, 6, 5, 1, 1, KT_CONTIGUOUS, false, false, 0, 0},
    {"from 1", 1, 2, 1, 1, 4, 3, KT_CONTIGUOUS, false, false, 0, 0},
    {"align from 1", 1, 2, 1, 1, 4, 3, KT_CONTIGUOUS, true, false, 0, 0},
    {"scale 1.5", 1, 2, 7, 5, 10, 7, KT_CONTIGUOUS, false, true, 1.5, 1.5},
    {"scale too large", 1, 2, 7, 5, 10, 7, KT_CONTIGUOUS, false, true, .5,
     2.25},
    {"transposed", 2, 3, 4, 5, 9, 7, KT_TRANSPOSED, false, false, 0, 0},
    {"sliced", 2, 3, 4, 5, 9, 7, KT_SLICED, true, false, 0, 0},
    {"many", 1, 3, 20, 21, 41, 43, KT_CONTIGUOUS, false, false, 0, 0},
};

/* the two inputs around output i, and the weight of the second */
static void neighbours(const struct upsample_case *c, size_t i, size_t in,
                       size_t out, double scale, size_t at[2], double *weight)
{
    const double factor =
        c->align       ? (out > 1 ? (double)(in - 1) / (double)(out - 1) : 0)
        : c->has_scale ? 1 / scale
                       : (double)in / (double)out;
    double pos =
        c->align ? factor * (double)i : factor * ((double)i + 0.5) - 0.5;

    pos = fmax(pos, 0);
    at[0] = (size_t)floor(pos);
    if (at[0] > in - 1)
        at[0] = in - 1;
    at[1] = at[0] + 1 < in ? at[0] + 1 : in - 1;
    *weight = fmin(fmax(pos - (double)at[0], 0), 1);
}

/* truncated, but either side of a whole number is right next to it */
static void check_truncated(struct kt *t, enum kt_type type, const void *got,
                            kt_real *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const kt_real whole = roundl(want[i]), v = kt_get(type, got, i);

        if (fabsl(want[i] - whole) < 1e-9L && fabsl(v - whole) <= 1)
            want[i] = v;
        else
            want[i] = truncl(want[i]);
    }
    kt_check(t, type, got, want, n, KT_EXACT);
}

static void run_upsample(struct kt *t, const struct kt_row *row)
{
    const bool bilinear = *(const bool *)row->detail;
    const enum kt_type type = row->a;

    for (size_t k = 0; k < sizeof(upsample_cases) / sizeof(upsample_cases[0]);
         k++) {
        if (!kt_turn(t))
            continue;
        spare_for_case(k);
        const struct upsample_case *c = &upsample_cases[k];
        const size_t total = c->b * c->c * c->out2 * c->out3;
        const size_t xd[4] = {c->b, c->c, c->d2, c->d3};
        struct tensor x =
            make_tensor(t, type, 4, xd, c->order, false, k % 2, k);
        kt_real *want = kt_alloc(t, total * sizeof(*want));
        kt_real *scale = kt_alloc(t, total * sizeof(*scale));
        double scale2 = (double)c->d2 / (double)c->out2;
        double scale3 = (double)c->d3 / (double)c->out3;

        for (size_t i = 0; i < total; i++) {
            const size_t i3 = i % c->out3, i2 = i / c->out3 % c->out2;
            const size_t ch = i / c->out3 / c->out2 % c->c;
            const size_t b = i / c->out3 / c->out2 / c->c;
            size_t h[2], w[2];
            double wh, ww;

            if (!bilinear) {
                const size_t p2 = (size_t)((double)i2 * scale2);
                const size_t p3 = (size_t)((double)i3 * scale3);

                want[i] = kt_get(type, x.host,
                                 place(&x, b, ch, p2 < c->d2 ? p2 : c->d2 - 1,
                                       p3 < c->d3 ? p3 : c->d3 - 1));
                continue;
            }
            neighbours(c, i2, c->d2, c->out2, c->scale2, h, &wh);
            neighbours(c, i3, c->d3, c->out3, c->scale3, w, &ww);
            kt_real v[4];

            for (int q = 0; q < 4; q++) {
                v[q] =
                    kt_get(type, x.host, place(&x, b, ch, h[q / 2], w[q % 2]));
                scale[i] = fmaxl(scale[i], fabsl(v[q]));
            }
            want[i] =
                (v[0] * (1 - (kt_real)ww) + v[1] * (kt_real)ww) *
                    (1 - (kt_real)wh) +
                (v[2] * (1 - (kt_real)ww) + v[3] * (kt_real)ww) * (kt_real)wh;
        }
        const void *info = conv_info(t, &x, NULL);
        void *dst = kt_device(t, NULL, total * kt_size(type), 0);
        void *got = kt_alloc(t, total * kt_size(type));
        const unsigned grid = blocks_for(total, 1024);
        size_t out2 = c->out2, out3 = c->out3;
        bool align = c->align, has = c->has_scale, ok;
        double given2 = c->scale2, given3 = c->scale3;

        t->what = c->name;
        if (bilinear) /* width first in the sizes, height first in the scales */
            ok = KT_LAUNCH(t, grid, 1024, 0, out3, out2, align, has, given2,
                           has, given3, info, x.device, dst);
        else
            ok = KT_LAUNCH(t, grid, 1024, 0, out2, out3, scale2, scale3, info,
                           x.device, dst);
        if (!ok)
            return;
        kt_read(t, got, dst, total * kt_size(type));
        if (!bilinear)
            kt_check(t, type, got, want, total, KT_EXACT);
        else if (kt_is_float(type))
            kt_check(t, type, got, want, total,
                     (struct kt_gate){1, 8 * 0x1p-53L, scale, false});
        else
            check_truncated(t, type, got, want, total);
    }
}

/* ---- the table ------------------------------------------------------ */

static const enum kind kinds[] = {CONV1D, CONV2D, CONVT1D, CONVT2D};
static const bool no = false, yes = true;

#define CONV(T, TYPE)                                                          \
    {"conv1d_" #T, run_conv, TYPE, TYPE, &kinds[CONV1D]},                      \
        {"conv2d_" #T, run_conv, TYPE, TYPE, &kinds[CONV2D]},                  \
        {"conv_transpose1d_" #T, run_conv, TYPE, TYPE, &kinds[CONVT1D]},       \
        {"conv_transpose2d_" #T, run_conv, TYPE, TYPE, &kinds[CONVT2D]},       \
        {"im2col1d_" #T, run_im2col, TYPE, TYPE, &yes},                        \
        {"im2col_" #T, run_im2col, TYPE, TYPE, &no},                           \
        {"col2im1d_" #T, run_col2im, TYPE, TYPE, NULL},                        \
        {"avg_pool2d_" #T, run_pool, TYPE, TYPE, &no},                         \
        {"max_pool2d_" #T, run_pool, TYPE, TYPE, &yes},                        \
        {"upsample_nearest2d_" #T, run_upsample, TYPE, TYPE, &no},             \
    {                                                                          \
        "upsample_bilinear2d_" #T, run_upsample, TYPE, TYPE, &yes              \
    }

static const struct kt_row rows[] = {
    CONV(bf16, KT_BF16), CONV(f16, KT_F16), CONV(f32, KT_F32),
    CONV(f64, KT_F64),   CONV(u8, KT_U8),   CONV(u32, KT_U32),
};

KT_MAIN(kpk_module_conv, rows)
