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
#include "fault_report.h"
#include "matrix_unit.h"

enum { MAX_OUT = 2 * MATRIX_SIDE * MATRIX_SIDE }; /* of all blocks */

/* The lane and register that hold row i, column j of block b of C and D. Rows
 * form groups of four (f64: one) in a lane's consecutive registers; consecutive
 * groups go to different lanes first, then to further registers. */
static void output(const struct matrix *m, unsigned i, unsigned j, unsigned b,
                   unsigned *lane, unsigned *element)
{
    unsigned rows = m->d == FMT_F64 ? 1 : 4;
    unsigned beside = 64 / m->n; /* row groups side by side in a wave */
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
    case 2: /* one half for every lane */
        return lane % 32 + 32 * (blgp - 1);
    case 3: /* rotated by 16 */
        return (lane + 16) % 64;
    default: /* one quarter for every lane */
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

/* An operand as numbers, of `n` elements a lane. */
static void unpack(struct wave *w, const struct operand *o,
                   enum matrix_format format, unsigned n,
                   struct elements_f32 *to)
{
    const float least = format == FMT_F16 ? 0x1p-14f : 0x1p-126f;

    sim_unpack_f32(w, o, format, n, to);
    for (unsigned e = 0; e < n && flushes(w, format); e++)
        for (unsigned lane = 0; lane < 64; lane++)
            to->v[e][lane] = flushed(to->v[e][lane], least);
}

/* Applies BLGP, by which lanes use other lanes' values, to 32-bit elements. */
static void move_lanes(uint32_t (*v)[MAX_LANES], unsigned n, unsigned blgp)
{
    for (unsigned e = 0; e < n && blgp; e++) {
        uint32_t from[MAX_LANES];

        memcpy(from, v[e], sizeof(from));
        for (unsigned lane = 0; lane < 64; lane++)
            v[e][lane] = from[blgp_lane(lane, blgp)];
    }
}

/* Scale exponents of MX blocks: 32 values of k share one; E8M0, 255 is NaN. */
static float mx_scale(uint32_t byte)
{
    return byte == 255 ? bits_f32(0x7fc00000)
                       : (float)ldexp(1.0, (int)byte - 127);
}

/* Every value times the scale of its row and k; op_sel picks a lane's byte. */
static void scale(struct wave *w, const struct insn *in, unsigned src,
                  const struct matrix *m, unsigned rows, bool halves,
                  struct elements_f32 *to)
{
    unsigned byte = (in->op_sel >> src & 1) | (in->op_sel_hi >> src & 1) << 1;

    for (unsigned k = 0; k < m->k; k++) {
        const struct place p = input(m, rows, 0, k, 0, halves);

        for (unsigned i = 0; i < rows; i++) {
            const uint64_t word = sim_tuple_element(w, &in->op[4 + src],
                                                    i + rows * (k / 32), 0, 32);

            to->v[p.element][p.lane + i] *=
                mx_scale((uint32_t)(word >> (8 * byte)) & 255);
        }
    }
}

/* Rows of C and D: 32 bits, neighbours in a row are neighbours in lanes. */
static void load_rows(struct wave *w, const struct operand *o,
                      const struct matrix *m, uint32_t *acc)
{
    const bool is_constant = o->kind != OPERAND_VGPR && o->kind != OPERAND_AGPR;

    for (unsigned row = 0; row < (unsigned)m->blocks * m->m; row++) {
        uint32_t *const to = acc + (size_t)row * m->n;
        unsigned lane, e;

        output(m, row % m->m, 0, row / m->m, &lane, &e);
        for (unsigned j = 0; j < m->n && is_constant; j++)
            to[j] = (uint32_t)sim_src_scalar64(w, o);
        if (!is_constant)
            memcpy(to, *tuple_reg(w, o, e) + lane, m->n * sizeof(*to));
    }
}

static void store_rows(struct wave *w, const struct operand *o,
                       const struct matrix *m, const uint32_t *acc)
{
    for (unsigned row = 0; row < (unsigned)m->blocks * m->m; row++) {
        unsigned lane, e;

        output(m, row % m->m, 0, row / m->m, &lane, &e);
        memcpy(*tuple_reg(w, o, e) + lane, acc + (size_t)row * m->n,
               m->n * sizeof(*acc));
    }
}

/* Pointers to the first A and B of each k, for block `blk`. */
#define POINT_AT(m, halves_a, halves_b)                                        \
    for (unsigned k = 0; k < (m)->k; k++) {                                    \
        const struct place p =                                                 \
            input(m, (m)->m, 0, k, a_block(in, m, blk), halves_a);             \
        const struct place q = input(m, (m)->n, 0, k, blk, halves_b);          \
                                                                               \
        at_a[k] = &a.v[p.element][p.lane];                                     \
        at_b[k] = &b.v[q.element][q.lane];                                     \
    }

/* Elements of A (B) in each lane. */
static unsigned per_lane(const struct matrix *m, unsigned rows)
{
    return (unsigned)m->k * rows * m->blocks / 64;
}

static void mfma_f32(struct wave *w, const struct insn *in,
                     const struct matrix *m, bool scaled)
{
    const enum matrix_format fa = (enum matrix_format)m->a;
    const enum matrix_format fb = (enum matrix_format)m->b;
    const bool narrow = m->k >= 64 && m->blocks == 1 && m->k * m->m == 2048;
    const bool plain_blgp = narrow || fa < FMT_F32;
    const bool halves_a = narrow && sim_format_bits(fa) == 8;
    const bool halves_b = narrow && sim_format_bits(fb) == 8;
    const float *at_a[MATRIX_K], *at_b[MATRIX_K];
    struct elements_f32 a, b;
    float acc[MAX_OUT];

    unpack(w, &in->op[1], fa, per_lane(m, m->m), &a);
    unpack(w, &in->op[2], fb, per_lane(m, m->n), &b);
    if (!plain_blgp)
        move_lanes((uint32_t(*)[MAX_LANES])b.v, per_lane(m, m->n), in->blgp);
    if (scaled) {
        scale(w, in, 0, m, m->m, halves_a, &a);
        scale(w, in, 1, m, m->n, halves_b, &b);
    }
    load_rows(w, &in->op[3], m, (uint32_t *)acc);
    for (unsigned blk = 0; blk < m->blocks; blk++) {
        POINT_AT(m, halves_a, halves_b)
        sim_multiply_f32(m->m, m->n, m->k, at_a, at_b,
                         acc + (size_t)blk * m->m * m->n);
    }
    for (unsigned i = 0; i < (unsigned)m->blocks * m->m * m->n; i++)
        acc[i] = flushes(w, fa) ? flushed(acc[i], 0x1p-126f) : acc[i];
    store_rows(w, &in->op[0], m, (const uint32_t *)acc);
}

static void mfma_i32(struct wave *w, const struct insn *in,
                     const struct matrix *m)
{
    const int32_t *at_a[MATRIX_K], *at_b[MATRIX_K];
    struct elements_i32 a, b;
    uint32_t acc[MAX_OUT];

    sim_unpack_i32(w, &in->op[1], FMT_I8, per_lane(m, m->m), &a);
    sim_unpack_i32(w, &in->op[2], FMT_I8, per_lane(m, m->n), &b);
    move_lanes((uint32_t(*)[MAX_LANES])b.v, per_lane(m, m->n), in->blgp);
    load_rows(w, &in->op[3], m, acc);
    for (unsigned blk = 0; blk < m->blocks; blk++) {
        int32_t sums[MATRIX_SIDE * MATRIX_SIDE] = {0};
        uint32_t *const d = acc + (size_t)blk * m->m * m->n;

        POINT_AT(m, false, false)
        sim_multiply_i32(m->m, m->n, m->k, at_a, at_b, sums);
        for (unsigned i = 0; i < (unsigned)m->m * m->n; i++)
            d[i] += (uint32_t)sums[i];
    }
    store_rows(w, &in->op[0], m, acc);
}

/* One f64 in each lane of A, B, C and D, or four in C and D. */
static void load_f64(struct wave *w, const struct operand *o, unsigned n,
                     double sign, double (*to)[MAX_LANES])
{
    for (unsigned e = 0; e < n; e++)
        for (unsigned lane = 0; lane < 64; lane++)
            to[e][lane] = sign * bits_f64(sim_tuple_element(w, o, lane, e, 64));
}

/* From gfx940 on the bits of BLGP turn the signs of A, B and C. */
static void mfma_f64(struct wave *w, const struct insn *in,
                     const struct matrix *m)
{
    double a[1][MAX_LANES], b[1][MAX_LANES], c[4][MAX_LANES], sign[3];
    const unsigned nout = (unsigned)m->m * m->n * m->blocks / 64;

    for (unsigned n = 0; n < 3; n++)
        sign[n] = in->neg_lo >> n & 1 ? -1.0 : 1.0;
    load_f64(w, &in->op[1], 1, sign[0], a);
    load_f64(w, &in->op[2], 1, sign[1], b);
    load_f64(w, &in->op[3], nout, sign[2], c);
    for (unsigned row = 0; row < (unsigned)m->blocks * m->m; row++) {
        const unsigned i = row % m->m, blk = row / m->m;
        unsigned lane, e;

        output(m, i, 0, blk, &lane, &e);
        for (unsigned k = 0; k < m->k; k++) {
            const struct place p =
                input(m, m->m, i, k, a_block(in, m, blk), false);
            const struct place q = input(m, m->n, 0, k, blk, false);

            for (unsigned j = 0; j < m->n; j++)
                c[e][lane + j] =
                    fma(a[0][p.lane], b[0][blgp_lane(q.lane + j, in->blgp)],
                        c[e][lane + j]);
        }
    }
    for (unsigned e = 0; e < nout; e++)
        for (unsigned lane = 0; lane < 64; lane++) {
            const uint64_t bits = f64_bits(c[e][lane]);

            (*tuple_reg(w, &in->op[0], 2 * e))[lane] = (uint32_t)bits;
            (*tuple_reg(w, &in->op[0], 2 * e + 1))[lane] =
                (uint32_t)(bits >> 32);
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

/* Indices of a sparse A, in the third source: two bits for each element of the
 * lane, its place among four successive values of k. If a register holds
 * several sets of indices, ABID picks one if CBSZ is 0. */
struct sparse {
    const uint32_t *indices;
    unsigned set; /* its first bit */
};

/* Row of B for the c-th kept value of row i of A, which stands at p. */
static struct place kept_b(const struct matrix *m, const struct sparse *s,
                           struct place p, unsigned i, unsigned c)
{
    const uint64_t index = s->indices[p.lane + i] >> (s->set + 2 * p.element);

    return sparse_b(m, 0, c / 2 * 4 + (unsigned)(index & 3));
}

static void smfmac_f32(struct wave *w, const struct insn *in,
                       const struct matrix *m, const struct sparse *s,
                       float *acc)
{
    struct elements_f32 a, b;

    unpack(w, &in->op[1], (enum matrix_format)m->a, m->k / 2u * m->m / 64, &a);
    unpack(w, &in->op[2], (enum matrix_format)m->b, per_lane(m, m->n), &b);
    for (unsigned c = 0; c < m->k / 2u; c++) {
        const struct place p = sparse_a(m, 0, c);

        for (unsigned i = 0; i < m->m; i++) {
            const struct place q = kept_b(m, s, p, i, c);
            const float x = a.v[p.element][p.lane + i];
            const float *const y = &b.v[q.element][q.lane];

            for (unsigned j = 0; j < m->n; j++)
                acc[i * m->n + j] = fmaf(x, y[j], acc[i * m->n + j]);
        }
    }
}

static void smfmac_i32(struct wave *w, const struct insn *in,
                       const struct matrix *m, const struct sparse *s,
                       uint32_t *acc)
{
    struct elements_i32 a, b;

    sim_unpack_i32(w, &in->op[1], FMT_I8, m->k / 2u * m->m / 64, &a);
    sim_unpack_i32(w, &in->op[2], FMT_I8, per_lane(m, m->n), &b);
    for (unsigned c = 0; c < m->k / 2u; c++) {
        const struct place p = sparse_a(m, 0, c);

        for (unsigned i = 0; i < m->m; i++) {
            const struct place q = kept_b(m, s, p, i, c);
            const int32_t x = a.v[p.element][p.lane + i];
            const int32_t *const y = &b.v[q.element][q.lane];

            for (unsigned j = 0; j < m->n; j++)
                acc[i * m->n + j] += (uint32_t)(x * y[j]);
        }
    }
}

static void smfmac(struct wave *w, const struct insn *in,
                   const struct matrix *m)
{
    const unsigned set_bits = (unsigned)m->k * m->m / 64;
    const struct sparse s = {.indices = *tuple_reg(w, &in->op[3], 0),
                             .set =
                                 in->cbsz || set_bits >= 32
                                     ? 0
                                     : in->abid % (32 / set_bits) * set_bits};
    uint32_t acc[MATRIX_SIDE * MATRIX_SIDE];

    load_rows(w, &in->op[0], m, acc);
    if (m->d == FMT_I32)
        smfmac_i32(w, in, m, &s, acc);
    else
        smfmac_f32(w, in, m, &s, (float *)acc);
    store_rows(w, &in->op[0], m, acc);
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

/* gfx908's and gfx90a's names omit the number of blocks. */
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

ROW_SET(mfma, rows, aliases);
