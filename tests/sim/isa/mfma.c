/* mfma.c - matrix multiply-add of the gfx9 accelerators: D = A * B + C
 *
 * A is M x K, B is K x N, C and D are M x N, all of them `blocks` times. The
 * 64 lanes hold them so (i row of A and C, j column of B and C, b block):
 *
 *   A  lane i + M * (b + blocks * (k / KL)), element k % KL of the lane's
 *      registers, where KL = K * M * blocks / 64; B likewise with j
 *   C  see output()
 *
 * CBSZ and ABID give A's block ABID to each group of 2^CBSZ blocks; BLGP gives
 * B from other lanes. EXEC does not count. Products are added to C in the
 * order of k, each by one fused multiply-add in the type of D: hardware adds
 * some of them in one step, so the last bit may differ where sums are inexact.
 * gfx90a flushes denormal f16 and bf16 operands and their results.
 *
 * SMFMAC has A in structured sparsity: of each four values of k it holds two,
 * and two bits of the third source tell which each is.
 */
#include "matrix.h"

enum { MAX_IN = 32 * 64, MAX_OUT = 32 * 64 };

/* Where row i, column j of block b stands in C and D: rows lie below each
 * other in a lane by four (f64: one by one), then beside each other. */
static void output(const struct matrix *m, unsigned i, unsigned j, unsigned b,
                   unsigned *lane, unsigned *element)
{
    unsigned rows = m->d == FMT_F64 ? 1 : 4;
    unsigned beside = 64 / m->n; /* groups of rows that fit */
    unsigned per_group = (unsigned)m->m * m->n / rows;
    unsigned blocks_beside = per_group < 64 ? 64 / per_group : 1;

    *element = b * ((unsigned)m->m * m->n / 64) + i / (rows * beside) * rows +
               i % rows;
    *lane =
        b % blocks_beside * m->n + i / rows % beside * blocks_beside * m->n + j;
}

static unsigned blgp_lane(unsigned lane, unsigned blgp)
{
    switch (blgp) {
    case 0:
        return lane;
    case 1:
    case 2: /* one half to all lanes */
        return lane % 32 + 32 * (blgp - 1);
    case 3: /* rotated by 16 */
        return (lane + 16) % 64;
    default: /* one quarter to all lanes */
        return lane % 16 + 16 * (blgp - 4);
    }
}

struct place {
    unsigned lane, element;
};

/* 8-bit elements of f8f6f4: 16 of them, then 16 from the other half of K. */
static struct place input(const struct matrix *m, unsigned rows, unsigned i,
                          unsigned k, unsigned b, bool halves)
{
    unsigned per_lane = (unsigned)m->k * rows * m->blocks / 64;
    struct place p;

    if (halves) {
        unsigned half = k / (m->k / 2u), in_half = k % (m->k / 2u);

        p.lane = i + rows * (in_half / 16);
        p.element = half * 16 + in_half % 16;
        return p;
    }
    p.lane = i + rows * (b + m->blocks * (k / per_lane));
    p.element = k % per_lane;
    return p;
}

/* Which block of A block b is multiplied with. */
static unsigned a_block(const struct insn *in, const struct matrix *m,
                        unsigned b)
{
    if (m->blocks == 1)
        return b;
    return (b >> in->cbsz << in->cbsz) + in->abid;
}

static bool flushes(const struct wave *w, enum matrix_format format)
{
    return w->target->stepping == 0xa && w->target->major == 9 &&
           w->target->minor == 0 && (format == FMT_F16 || format == FMT_BF16);
}

static float flushed(float x, float least)
{
    return fabsf(x) < least ? copysignf(0.0f, x) : x;
}

static float in_f32(const struct wave *w, enum matrix_format format,
                    uint64_t bits)
{
    float x = sim_format_f32(w, format, bits);

    if (flushes(w, format))
        x = flushed(x, format == FMT_F16 ? 0x1p-14f : 0x1p-126f);
    return x;
}

/* acc[i][j] += a[i][k] * b[k][j], for every block */
static void multiply_f32(const struct matrix *m, const float *a, const float *b,
                         float *acc)
{
    for (unsigned i = 0; i < m->m; i++)
        for (unsigned k = 0; k < m->k; k++)
            for (unsigned j = 0; j < m->n; j++)
                acc[i * m->n + j] =
                    fmaf(a[i * m->k + k], b[k * m->n + j], acc[i * m->n + j]);
}

/* Scale exponents of MX blocks: 32 values of k share one; E8M0, 255 is NaN. */
static float mx_scale(uint32_t byte)
{
    return byte == 255 ? bits_f32(0x7fc00000)
                       : (float)ldexp(1.0, (int)byte - 127);
}

/* The scale of row i for the k-th value; op_sel picks the byte of a lane. */
static float scale_of(struct wave *w, const struct insn *in, unsigned src,
                      unsigned rows, unsigned i, unsigned k)
{
    unsigned byte = (in->op_sel >> src & 1) | (in->op_sel_hi >> src & 1) << 1;
    uint64_t word =
        sim_tuple_element(w, &in->op[4 + src], i + rows * (k / 32), 0, 32);

    return mx_scale((uint32_t)(word >> (8 * byte)) & 255);
}

static void mfma_f32(struct wave *w, const struct insn *in,
                     const struct matrix *m, bool scaled)
{
    enum matrix_format fa = (enum matrix_format)m->a;
    enum matrix_format fb = (enum matrix_format)m->b;
    unsigned abits = sim_format_bits(fa), bbits = sim_format_bits(fb);
    bool narrow = m->k >= 64 && m->blocks == 1 && m->k * m->m == 2048;
    bool plain_blgp = narrow || fa < FMT_F32;
    float a[MAX_IN], b[MAX_IN], acc[MAX_OUT];

    for (unsigned blk = 0; blk < m->blocks; blk++) {
        float *d = acc + (size_t)blk * m->m * m->n;

        for (unsigned k = 0; k < m->k; k++) {
            for (unsigned i = 0; i < m->m; i++) {
                struct place p = input(m, m->m, i, k, a_block(in, m, blk),
                                       narrow && abits == 8);
                float x = in_f32(
                    w, fa,
                    sim_tuple_element(w, &in->op[1], p.lane, p.element, abits));

                a[i * m->k + k] =
                    scaled ? x * scale_of(w, in, 0, m->m, i, k) : x;
            }
            for (unsigned j = 0; j < m->n; j++) {
                struct place p =
                    input(m, m->n, j, k, blk, narrow && bbits == 8);
                unsigned lane =
                    plain_blgp ? p.lane : blgp_lane(p.lane, in->blgp);
                float x = in_f32(
                    w, fb,
                    sim_tuple_element(w, &in->op[2], lane, p.element, bbits));

                b[k * m->n + j] =
                    scaled ? x * scale_of(w, in, 1, m->n, j, k) : x;
            }
        }
        for (unsigned i = 0; i < m->m; i++)
            for (unsigned j = 0; j < m->n; j++) {
                unsigned lane, e;

                output(m, i, j, blk, &lane, &e);
                d[i * m->n + j] = bits_f32(
                    (uint32_t)sim_tuple_element(w, &in->op[3], lane, e, 32));
            }
        multiply_f32(m, a, b, d);
    }
    /* All is read before anything is written: D may overlap A and B. */
    for (unsigned blk = 0; blk < m->blocks; blk++)
        for (unsigned i = 0; i < m->m; i++)
            for (unsigned j = 0; j < m->n; j++) {
                float x = acc[(blk * m->m + i) * m->n + j];
                unsigned lane, e;

                if (flushes(w, fa))
                    x = flushed(x, 0x1p-126f);
                output(m, i, j, blk, &lane, &e);
                sim_tuple_set32(w, &in->op[0], lane, e, f32_bits(x));
            }
}

static void mfma_i32(struct wave *w, const struct insn *in,
                     const struct matrix *m)
{
    int32_t a[MAX_IN], b[MAX_IN];
    uint32_t acc[MAX_OUT];

    for (unsigned blk = 0; blk < m->blocks; blk++) {
        uint32_t *d = acc + (size_t)blk * m->m * m->n;

        for (unsigned k = 0; k < m->k; k++) {
            for (unsigned i = 0; i < m->m; i++) {
                struct place p =
                    input(m, m->m, i, k, a_block(in, m, blk), false);

                a[i * m->k + k] = sim_format_i32(
                    FMT_I8,
                    sim_tuple_element(w, &in->op[1], p.lane, p.element, 8));
            }
            for (unsigned j = 0; j < m->n; j++) {
                struct place p = input(m, m->n, j, k, blk, false);

                b[k * m->n + j] = sim_format_i32(
                    FMT_I8, sim_tuple_element(w, &in->op[2],
                                              blgp_lane(p.lane, in->blgp),
                                              p.element, 8));
            }
        }
        for (unsigned i = 0; i < m->m; i++)
            for (unsigned j = 0; j < m->n; j++) {
                unsigned lane, e;

                output(m, i, j, blk, &lane, &e);
                d[i * m->n + j] =
                    (uint32_t)sim_tuple_element(w, &in->op[3], lane, e, 32);
            }
        for (unsigned i = 0; i < m->m; i++)
            for (unsigned k = 0; k < m->k; k++)
                for (unsigned j = 0; j < m->n; j++)
                    d[i * m->n + j] +=
                        (uint32_t)(a[i * m->k + k] * b[k * m->n + j]);
    }
    for (unsigned blk = 0; blk < m->blocks; blk++)
        for (unsigned i = 0; i < m->m; i++)
            for (unsigned j = 0; j < m->n; j++) {
                unsigned lane, e;

                output(m, i, j, blk, &lane, &e);
                sim_tuple_set32(w, &in->op[0], lane, e,
                                acc[(blk * m->m + i) * m->n + j]);
            }
}

/* f64: from gfx940 on the bits of BLGP turn the signs of A, B and C. */
static void mfma_f64(struct wave *w, const struct insn *in,
                     const struct matrix *m)
{
    double a[MAX_IN / 2], b[MAX_IN / 2], acc[MAX_OUT / 2];
    double sign[3];

    for (unsigned n = 0; n < 3; n++)
        sign[n] = in->neg_lo >> n & 1 ? -1.0 : 1.0;
    for (unsigned blk = 0; blk < m->blocks; blk++) {
        double *d = acc + (size_t)blk * m->m * m->n;

        for (unsigned k = 0; k < m->k; k++) {
            for (unsigned i = 0; i < m->m; i++) {
                struct place p =
                    input(m, m->m, i, k, a_block(in, m, blk), false);

                a[i * m->k + k] =
                    sign[0] * bits_f64(sim_tuple_element(w, &in->op[1], p.lane,
                                                         p.element, 64));
            }
            for (unsigned j = 0; j < m->n; j++) {
                struct place p = input(m, m->n, j, k, blk, false);

                b[k * m->n + j] =
                    sign[1] * bits_f64(sim_tuple_element(
                                  w, &in->op[2], blgp_lane(p.lane, in->blgp),
                                  p.element, 64));
            }
        }
        for (unsigned i = 0; i < m->m; i++)
            for (unsigned j = 0; j < m->n; j++) {
                unsigned lane, e;

                output(m, i, j, blk, &lane, &e);
                d[i * m->n + j] =
                    sign[2] *
                    bits_f64(sim_tuple_element(w, &in->op[3], lane, e, 64));
            }
        for (unsigned i = 0; i < m->m; i++)
            for (unsigned k = 0; k < m->k; k++)
                for (unsigned j = 0; j < m->n; j++)
                    d[i * m->n + j] =
                        fma(a[i * m->k + k], b[k * m->n + j], d[i * m->n + j]);
    }
    for (unsigned blk = 0; blk < m->blocks; blk++)
        for (unsigned i = 0; i < m->m; i++)
            for (unsigned j = 0; j < m->n; j++) {
                uint64_t bits = f64_bits(acc[(blk * m->m + i) * m->n + j]);
                unsigned lane, e;

                output(m, i, j, blk, &lane, &e);
                sim_tuple_set32(w, &in->op[0], lane, 2 * e, (uint32_t)bits);
                sim_tuple_set32(w, &in->op[0], lane, 2 * e + 1,
                                (uint32_t)(bits >> 32));
            }
}

static void mfma(struct wave *w, const struct insn *in, const struct matrix *m)
{
    if (m->d == FMT_I32)
        mfma_i32(w, in, m);
    else if (m->d == FMT_F64)
        mfma_f64(w, in, m);
    else
        mfma_f32(w, in, m, false);
}

/* cbsz and blgp give the formats of A and B; see enum matrix_format. */
static void f8f6f4(struct wave *w, const struct insn *in,
                   const struct matrix *shape, bool scaled)
{
    struct matrix m = *shape;

    if (in->cbsz > FMT_FP4 || in->blgp > FMT_FP4) {
        sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                        "cbsz:%u blgp:%u name no format", in->cbsz, in->blgp);
        return;
    }
    m.a = in->cbsz;
    m.b = in->blgp;
    mfma_f32(w, in, &m, scaled);
}

/*
 * Where SMFMAC has the c-th kept value of a row of A. Sixteen bits: one after
 * the other. Eight bits: four by four over the lanes, and the doubled shapes of
 * gfx950 in an order of their own.
 */
static struct place sparse_a(const struct matrix *m, unsigned i, unsigned c)
{
    unsigned groups = 64u / m->m, kept = m->k / 2u / groups;
    bool wide = sim_format_bits((enum matrix_format)m->a) == 16;
    struct place p;
    unsigned group;

    if (wide) {
        group = c / kept;
        p.element = c % kept;
    } else if (kept == 8) {
        group = c / 4 % groups;
        p.element = c / (4 * groups) * 4 + c % 4;
    } else if (m->m == 16) {
        group = (c >> 3 & 1) | (c >> 5 & 1) << 1;
        p.element = (c & 3) | (c >> 4 & 1) << 2 | (c >> 2 & 1) << 3;
    } else {
        group = c >> 4 & 1;
        p.element = (c & 3) | (c >> 3 & 1) << 2 | (c >> 2 & 1) << 3;
    }
    p.lane = i + m->m * group;
    return p;
}

/* B goes over the lanes by eight values of k. */
static struct place sparse_b(const struct matrix *m, unsigned j, unsigned k)
{
    unsigned groups = 64u / m->n;
    struct place p = {j + m->n * (k / 8 % groups),
                      k / (8 * groups) * 8 + k % 8};

    return p;
}

/* Two bits of the third source for each element that A holds, in its lane:
 * which of four successive values of k it is. Where a register holds several
 * sets of them, ABID picks one if CBSZ is 0. */
static void smfmac(struct wave *w, const struct insn *in,
                   const struct matrix *m)
{
    unsigned bits = sim_format_bits((enum matrix_format)m->a);
    unsigned set_bits = (unsigned)m->k * m->m / 64;
    unsigned set =
        in->cbsz || set_bits >= 32 ? 0 : in->abid % (32 / set_bits) * set_bits;
    uint32_t acc[32 * 32];

    for (unsigned i = 0; i < m->m; i++)
        for (unsigned j = 0; j < m->n; j++) {
            unsigned lane, e;
            uint32_t sum;

            output(m, i, j, 0, &lane, &e);
            sum = (uint32_t)sim_tuple_element(w, &in->op[0], lane, e, 32);
            for (unsigned c = 0; c < m->k / 2u; c++) {
                struct place p = sparse_a(m, i, c), q;
                uint64_t index =
                    sim_tuple_element(w, &in->op[3], p.lane, 0, 32) >>
                    (set + 2ull * p.element);
                uint64_t x, y;

                q = sparse_b(m, j, c / 2 * 4 + (index & 3));
                x = sim_tuple_element(w, &in->op[1], p.lane, p.element, bits);
                y = sim_tuple_element(w, &in->op[2], q.lane, q.element, bits);
                if (m->d == FMT_I32)
                    sum += (uint32_t)(sim_format_i32(FMT_I8, x) *
                                      sim_format_i32(FMT_I8, y));
                else
                    sum = f32_bits(fmaf(in_f32(w, (enum matrix_format)m->a, x),
                                        in_f32(w, (enum matrix_format)m->b, y),
                                        bits_f32(sum)));
            }
            acc[i * m->n + j] = sum;
        }
    for (unsigned i = 0; i < m->m; i++)
        for (unsigned j = 0; j < m->n; j++) {
            unsigned lane, e;

            output(m, i, j, 0, &lane, &e);
            sim_tuple_set32(w, &in->op[0], lane, e, acc[i * m->n + j]);
        }
}

/* clang-format off */
#define MFMA_TABLE(X)                                                    \
    /* mnemonic                      M   N   K  blocks A    B    D */    \
    X(v_mfma_f32_32x32x1_2b_f32,    32, 32,  1,  2, F32,  F32,  F32)     \
    X(v_mfma_f32_16x16x1_4b_f32,    16, 16,  1,  4, F32,  F32,  F32)     \
    X(v_mfma_f32_4x4x1_16b_f32,      4,  4,  1, 16, F32,  F32,  F32)     \
    X(v_mfma_f32_32x32x2_f32,       32, 32,  2,  1, F32,  F32,  F32)     \
    X(v_mfma_f32_16x16x4_f32,       16, 16,  4,  1, F32,  F32,  F32)     \
    X(v_mfma_f32_32x32x4_xf32,      32, 32,  4,  1, XF32, XF32, F32)     \
    X(v_mfma_f32_16x16x8_xf32,      16, 16,  8,  1, XF32, XF32, F32)     \
    X(v_mfma_f32_32x32x4_2b_f16,    32, 32,  4,  2, F16,  F16,  F32)     \
    X(v_mfma_f32_16x16x4_4b_f16,    16, 16,  4,  4, F16,  F16,  F32)     \
    X(v_mfma_f32_4x4x4_16b_f16,      4,  4,  4, 16, F16,  F16,  F32)     \
    X(v_mfma_f32_32x32x8_f16,       32, 32,  8,  1, F16,  F16,  F32)     \
    X(v_mfma_f32_16x16x16_f16,      16, 16, 16,  1, F16,  F16,  F32)     \
    X(v_mfma_f32_32x32x16_f16,      32, 32, 16,  1, F16,  F16,  F32)     \
    X(v_mfma_f32_16x16x32_f16,      16, 16, 32,  1, F16,  F16,  F32)     \
    X(v_mfma_f32_32x32x2bf16,       32, 32,  2,  2, BF16, BF16, F32)     \
    X(v_mfma_f32_16x16x2bf16,       16, 16,  2,  4, BF16, BF16, F32)     \
    X(v_mfma_f32_4x4x2bf16,          4,  4,  2, 16, BF16, BF16, F32)     \
    X(v_mfma_f32_32x32x4bf16,       32, 32,  4,  1, BF16, BF16, F32)     \
    X(v_mfma_f32_16x16x8bf16,       16, 16,  8,  1, BF16, BF16, F32)     \
    X(v_mfma_f32_32x32x4_2b_bf16,   32, 32,  4,  2, BF16, BF16, F32)     \
    X(v_mfma_f32_16x16x4_4b_bf16,   16, 16,  4,  4, BF16, BF16, F32)     \
    X(v_mfma_f32_4x4x4_16b_bf16,     4,  4,  4, 16, BF16, BF16, F32)     \
    X(v_mfma_f32_32x32x8_bf16,      32, 32,  8,  1, BF16, BF16, F32)     \
    X(v_mfma_f32_16x16x16_bf16,     16, 16, 16,  1, BF16, BF16, F32)     \
    X(v_mfma_f32_32x32x16_bf16,     32, 32, 16,  1, BF16, BF16, F32)     \
    X(v_mfma_f32_16x16x32_bf16,     16, 16, 32,  1, BF16, BF16, F32)     \
    X(v_mfma_f32_32x32x16_fp8_fp8,  32, 32, 16,  1, FP8,  FP8,  F32)     \
    X(v_mfma_f32_32x32x16_fp8_bf8,  32, 32, 16,  1, FP8,  BF8,  F32)     \
    X(v_mfma_f32_32x32x16_bf8_fp8,  32, 32, 16,  1, BF8,  FP8,  F32)     \
    X(v_mfma_f32_32x32x16_bf8_bf8,  32, 32, 16,  1, BF8,  BF8,  F32)     \
    X(v_mfma_f32_16x16x32_fp8_fp8,  16, 16, 32,  1, FP8,  FP8,  F32)     \
    X(v_mfma_f32_16x16x32_fp8_bf8,  16, 16, 32,  1, FP8,  BF8,  F32)     \
    X(v_mfma_f32_16x16x32_bf8_fp8,  16, 16, 32,  1, BF8,  FP8,  F32)     \
    X(v_mfma_f32_16x16x32_bf8_bf8,  16, 16, 32,  1, BF8,  BF8,  F32)     \
    X(v_mfma_i32_32x32x4_2b_i8,     32, 32,  4,  2, I8,   I8,   I32)     \
    X(v_mfma_i32_16x16x4_4b_i8,     16, 16,  4,  4, I8,   I8,   I32)     \
    X(v_mfma_i32_4x4x4_16b_i8,       4,  4,  4, 16, I8,   I8,   I32)     \
    X(v_mfma_i32_32x32x8i8,         32, 32,  8,  1, I8,   I8,   I32)     \
    X(v_mfma_i32_16x16x16i8,        16, 16, 16,  1, I8,   I8,   I32)     \
    X(v_mfma_i32_32x32x16_i8,       32, 32, 16,  1, I8,   I8,   I32)     \
    X(v_mfma_i32_16x16x32_i8,       16, 16, 32,  1, I8,   I8,   I32)     \
    X(v_mfma_i32_32x32x32_i8,       32, 32, 32,  1, I8,   I8,   I32)     \
    X(v_mfma_i32_16x16x64_i8,       16, 16, 64,  1, I8,   I8,   I32)     \
    X(v_mfma_f64_16x16x4_f64,       16, 16,  4,  1, F64,  F64,  F64)     \
    X(v_mfma_f64_4x4x4_4b_f64,       4,  4,  4,  4, F64,  F64,  F64)

#define SMFMAC_TABLE(X)                                                  \
    X(v_smfmac_f32_16x16x32_f16,      16, 16,  32, 1, F16,  F16,  F32)   \
    X(v_smfmac_f32_32x32x16_f16,      32, 32,  16, 1, F16,  F16,  F32)   \
    X(v_smfmac_f32_16x16x64_f16,      16, 16,  64, 1, F16,  F16,  F32)   \
    X(v_smfmac_f32_32x32x32_f16,      32, 32,  32, 1, F16,  F16,  F32)   \
    X(v_smfmac_f32_16x16x32_bf16,     16, 16,  32, 1, BF16, BF16, F32)   \
    X(v_smfmac_f32_32x32x16_bf16,     32, 32,  16, 1, BF16, BF16, F32)   \
    X(v_smfmac_f32_16x16x64_bf16,     16, 16,  64, 1, BF16, BF16, F32)   \
    X(v_smfmac_f32_32x32x32_bf16,     32, 32,  32, 1, BF16, BF16, F32)   \
    X(v_smfmac_f32_16x16x64_fp8_fp8,  16, 16,  64, 1, FP8,  FP8,  F32)   \
    X(v_smfmac_f32_16x16x64_fp8_bf8,  16, 16,  64, 1, FP8,  BF8,  F32)   \
    X(v_smfmac_f32_16x16x64_bf8_fp8,  16, 16,  64, 1, BF8,  FP8,  F32)   \
    X(v_smfmac_f32_16x16x64_bf8_bf8,  16, 16,  64, 1, BF8,  BF8,  F32)   \
    X(v_smfmac_f32_32x32x32_fp8_fp8,  32, 32,  32, 1, FP8,  FP8,  F32)   \
    X(v_smfmac_f32_32x32x32_fp8_bf8,  32, 32,  32, 1, FP8,  BF8,  F32)   \
    X(v_smfmac_f32_32x32x32_bf8_fp8,  32, 32,  32, 1, BF8,  FP8,  F32)   \
    X(v_smfmac_f32_32x32x32_bf8_bf8,  32, 32,  32, 1, BF8,  BF8,  F32)   \
    X(v_smfmac_f32_16x16x128_fp8_fp8, 16, 16, 128, 1, FP8,  FP8,  F32)   \
    X(v_smfmac_f32_16x16x128_fp8_bf8, 16, 16, 128, 1, FP8,  BF8,  F32)   \
    X(v_smfmac_f32_16x16x128_bf8_fp8, 16, 16, 128, 1, BF8,  FP8,  F32)   \
    X(v_smfmac_f32_16x16x128_bf8_bf8, 16, 16, 128, 1, BF8,  BF8,  F32)   \
    X(v_smfmac_f32_32x32x64_fp8_fp8,  32, 32,  64, 1, FP8,  FP8,  F32)   \
    X(v_smfmac_f32_32x32x64_fp8_bf8,  32, 32,  64, 1, FP8,  BF8,  F32)   \
    X(v_smfmac_f32_32x32x64_bf8_fp8,  32, 32,  64, 1, BF8,  FP8,  F32)   \
    X(v_smfmac_f32_32x32x64_bf8_bf8,  32, 32,  64, 1, BF8,  BF8,  F32)   \
    X(v_smfmac_i32_16x16x64_i8,       16, 16,  64, 1, I8,   I8,   I32)   \
    X(v_smfmac_i32_32x32x32_i8,       32, 32,  32, 1, I8,   I8,   I32)   \
    X(v_smfmac_i32_16x16x128_i8,      16, 16, 128, 1, I8,   I8,   I32)   \
    X(v_smfmac_i32_32x32x64_i8,       32, 32,  64, 1, I8,   I8,   I32)

#define F8F6F4_TABLE(X)                                        \
    X(v_mfma_f32_16x16x128_f8f6f4,       16, 16, 128, false)   \
    X(v_mfma_f32_32x32x64_f8f6f4,        32, 32,  64, false)   \
    X(v_mfma_scale_f32_16x16x128_f8f6f4, 16, 16, 128, true)    \
    X(v_mfma_scale_f32_32x32x64_f8f6f4,  32, 32,  64, true)

/* gfx908 and gfx90a spell most of them without blocks. */
#define MFMA_ALIASES(X)                                            \
    X(v_mfma_f32_32x32x1f32,      v_mfma_f32_32x32x1_2b_f32)       \
    X(v_mfma_f32_16x16x1f32,      v_mfma_f32_16x16x1_4b_f32)       \
    X(v_mfma_f32_4x4x1f32,        v_mfma_f32_4x4x1_16b_f32)        \
    X(v_mfma_f32_32x32x2f32,      v_mfma_f32_32x32x2_f32)          \
    X(v_mfma_f32_16x16x4f32,      v_mfma_f32_16x16x4_f32)          \
    X(v_mfma_f32_32x32x4f16,      v_mfma_f32_32x32x4_2b_f16)       \
    X(v_mfma_f32_16x16x4f16,      v_mfma_f32_16x16x4_4b_f16)       \
    X(v_mfma_f32_4x4x4f16,        v_mfma_f32_4x4x4_16b_f16)        \
    X(v_mfma_f32_32x32x8f16,      v_mfma_f32_32x32x8_f16)          \
    X(v_mfma_f32_16x16x16f16,     v_mfma_f32_16x16x16_f16)         \
    X(v_mfma_f32_32x32x4bf16_1k,  v_mfma_f32_32x32x4_2b_bf16)      \
    X(v_mfma_f32_16x16x4bf16_1k,  v_mfma_f32_16x16x4_4b_bf16)      \
    X(v_mfma_f32_4x4x4bf16_1k,    v_mfma_f32_4x4x4_16b_bf16)       \
    X(v_mfma_f32_32x32x8bf16_1k,  v_mfma_f32_32x32x8_bf16)         \
    X(v_mfma_f32_16x16x16bf16_1k, v_mfma_f32_16x16x16_bf16)        \
    X(v_mfma_i32_32x32x4i8,       v_mfma_i32_32x32x4_2b_i8)        \
    X(v_mfma_i32_16x16x4i8,       v_mfma_i32_16x16x4_4b_i8)        \
    X(v_mfma_i32_4x4x4i8,         v_mfma_i32_4x4x4_16b_i8)         \
    X(v_mfma_f64_16x16x4f64,      v_mfma_f64_16x16x4_f64)          \
    X(v_mfma_f64_4x4x4f64,        v_mfma_f64_4x4x4_4b_f64)
/* clang-format on */

#define MFMA_RUN(name, m, n, k, blocks, a, b, d)                               \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        static const struct matrix shape = {m,       n,       k,      blocks,  \
                                            FMT_##a, FMT_##b, FMT_##d};        \
        mfma(w, in, &shape);                                                   \
    }
MFMA_TABLE(MFMA_RUN)

#define SMFMAC_RUN(name, m, n, k, blocks, a, b, d)                             \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        static const struct matrix shape = {m,       n,       k,      blocks,  \
                                            FMT_##a, FMT_##b, FMT_##d};        \
        smfmac(w, in, &shape);                                                 \
    }
SMFMAC_TABLE(SMFMAC_RUN)

#define F8F6F4_RUN(name, m, n, k, scaled)                                      \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        static const struct matrix shape = {m, n, k, 1, 0, 0, FMT_F32};        \
        f8f6f4(w, in, &shape, scaled);                                         \
    }
F8F6F4_TABLE(F8F6F4_RUN)

#define TUPLE_F32 T_tuplef32
#define TUPLE_I32 T_tuple
#define TUPLE_F64 T_tuplef64
#define MFMA_ROW(name, m, n, k, blocks, a, b, d)                               \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_MATRIX,                                                             \
     {TUPLE_##d, T_tuple, T_tuple, TUPLE_##d},                                 \
     0},
#define SMFMAC_ROW(name, m, n, k, blocks, a, b, d)                             \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_MATRIX,                                                             \
     {TUPLE_##d, T_tuple, T_tuple, T_tuple},                                   \
     0},
#define F8F6F4_ROW(name, m, n, k, scaled)                                      \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_MATRIX,                                                             \
     {T_tuplef32, T_tuple, T_tuple, T_tuplef32, T_u32, T_u32},                 \
     0},

static const struct insn_row rows[] = {
    MFMA_TABLE(MFMA_ROW) SMFMAC_TABLE(SMFMAC_ROW) F8F6F4_TABLE(F8F6F4_ROW)};
static const struct insn_alias aliases[] = {MFMA_ALIASES(ALIAS)};

ROW_SET(matrix, rows, aliases);
