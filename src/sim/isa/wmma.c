/* wmma.c - matrix multiply-add of gfx11 and gfx12: D = A * B + C, 16 by 16
 *
 * With G groups of 16 lanes in the wave (2 or 4), row i of A (column j of B):
 *
 *   gfx11  A[i][k] is element k of lane i, and again in every other group
 *          C[i][j] is element i / G of lane 16 * (i % G) + j; of f16 and bf16
 *          results each takes a whole register, in the half that op_sel says
 *   gfx12  in a wave of 32, A[i][k] goes over the two groups in runs of up to
 *          128 bits (8 values of 16 bits); C[i][j] is element i % 8 of lane
 *          16 * (i / 8) + j, elements of 16 bits packed. A wave of 64 has the
 *          upper half of each lane's elements 32 lanes further up.
 *
 * EXEC does not count. neg_lo and neg_hi turn the signs of even and odd
 * elements of A and B; of C, neg_lo is minus and neg_hi the absolute value. For
 * integers neg_lo says which of A and B is signed. Sums of floats are kept in
 * f32, each product added by a fused multiply-add in the order of k, and
 * rounded to D's type at the end.
 *
 * SWMMAC (gfx12) has A in structured sparsity: it holds two of each four
 * values of k, two bits in the third source tell which; D is C as well.
 */
#include "matrix_unit.h"

enum { SIDE = 16 };

struct tile {
    float f[SIDE][SIDE];
    int64_t i[SIDE][SIDE];
};

/* A and B as numbers: sign modifiers applied. */
union elements {
    struct elements_f32 f;
    struct elements_i32 i;
};

static bool is_integer(enum matrix_format format)
{
    return format >= FMT_I8;
}

/* ---- places of operands and results ---- */

/* Value k of row i of A, or of column i of B. */
static void input(const struct wave *w, unsigned i, unsigned k, unsigned nk,
                  unsigned bits, unsigned *lane, unsigned *element)
{
    unsigned per_lane = nk / 2,
             run = per_lane < 128 / bits ? per_lane : 128 / bits;

    if (w->target->major == 11) {
        *lane = i;
        *element = k;
        return;
    }
    *lane = i + 16 * (k / run % 2);
    *element = k / (2 * run) * run + k % run;
    if (w->nlanes == 64) {
        *lane += *element / (per_lane / 2) * 32;
        *element %= per_lane / 2;
    }
}

/* Element in units of the format's bits. */
static void output(const struct wave *w, const struct insn *in, unsigned i,
                   unsigned j, unsigned bits, unsigned *lane, unsigned *element)
{
    unsigned groups = w->nlanes / 16;

    if (w->target->major == 11) {
        *lane = 16 * (i % groups) + j;
        *element = i / groups;
        if (bits == 16) /* op_sel[2]: which half of the register */
            *element = *element * 2 + (in->op_sel >> 2 & 1);
        return;
    }
    *lane = 16 * (i / 8) + j;
    *element = i % 8;
    if (w->nlanes == 64) {
        *lane += *element / 4 * 32;
        *element %= 4;
    }
}

/* f32 without modifiers: a row of C or D is neighbours of one register. */
static bool has_plain_rows(const struct insn *in, unsigned operand,
                           enum matrix_format format)
{
    return format == FMT_F32 && in->op[operand].kind == OPERAND_VGPR &&
           (operand != 3 || !((in->neg_lo | in->neg_hi) & 4));
}

static void load_c(struct wave *w, const struct insn *in, unsigned operand,
                   enum matrix_format format, struct tile *t)
{
    unsigned bits = sim_format_bits(format);
    bool modifiers = operand == 3;

    if (has_plain_rows(in, operand, format)) {
        for (unsigned i = 0; i < SIDE; i++) {
            unsigned lane, e;

            output(w, in, i, 0, bits, &lane, &e);
            memcpy(t->f[i], *tuple_reg(w, &in->op[operand], e) + lane,
                   sizeof(t->f[i]));
        }
        return;
    }
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned j = 0; j < SIDE; j++) {
            unsigned lane, e;
            uint64_t raw;

            output(w, in, i, j, bits, &lane, &e);
            raw = sim_tuple_element(w, &in->op[operand], lane, e, bits);
            if (format == FMT_BF16 && in->op[operand].kind == OPERAND_CONST)
                raw = in->op[operand].value >> 16; /* the decoder gives f32 */
            if (is_integer(format)) {
                t->i[i][j] = (int32_t)raw;
            } else {
                float x = sim_format_f32(w, format, raw);

                x = modifiers && (in->neg_hi & 4) ? fabsf(x) : x;
                t->f[i][j] = modifiers && (in->neg_lo & 4) ? -x : x;
            }
        }
}

static void set16(struct wave *w, const struct operand *o, unsigned lane,
                  unsigned element, uint16_t value)
{
    uint32_t *d = &(*tuple_reg(w, o, element / 2))[lane];
    unsigned shift = element % 2 * 16;

    *d = (*d & ~(0xffffu << shift)) | (uint32_t)value << shift;
}

static void set32(struct wave *w, const struct operand *o, unsigned lane,
                  unsigned element, uint32_t value)
{
    (*tuple_reg(w, o, element))[lane] = value;
}

static void store_d(struct wave *w, const struct insn *in,
                    enum matrix_format format, const struct tile *t)
{
    const struct operand *o = &in->op[0];
    bool clamp = in->flags & F_CLAMP;

    if (has_plain_rows(in, 0, format)) {
        for (unsigned i = 0; i < SIDE; i++) {
            unsigned lane, e;

            output(w, in, i, 0, 32, &lane, &e);
            memcpy(*tuple_reg(w, o, e) + lane, t->f[i], sizeof(t->f[i]));
        }
        return;
    }
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned j = 0; j < SIDE; j++) {
            float x = t->f[i][j];
            unsigned lane, e;

            output(w, in, i, j, sim_format_bits(format), &lane, &e);
            if (format == FMT_I32)
                set32(w, o, lane, e,
                      clamp ? (uint32_t)clamp_i32(t->i[i][j], INT32_MIN,
                                                  INT32_MAX)
                            : (uint32_t)t->i[i][j]);
            else if (format == FMT_F16)
                set16(w, o, lane, e, f16_bits((half_t)x));
            else if (format == FMT_BF16)
                set16(w, o, lane, e, bf16_of_f32(x));
            else
                set32(w, o, lane, e, f32_bits(x));
        }
}

/* ---- products ---- */

static void negate(float (*v)[MAX_LANES], unsigned first, unsigned n)
{
    for (unsigned e = first; e < n; e += 2)
        for (unsigned lane = 0; lane < MAX_LANES; lane++)
            v[e][lane] = -v[e][lane];
}

/* `n` elements a lane of operand A (src 0) or B (src 1). */
static void unpack(struct wave *w, const struct insn *in, unsigned src,
                   enum matrix_format format, unsigned n, union elements *to)
{
    const struct operand *const o = &in->op[1 + src];
    const bool is_signed = in->neg_lo >> src & 1;

    if (is_integer(format)) {
        const bool is_byte = format == FMT_U8 || format == FMT_I8;

        sim_unpack_i32(w, o,
                       is_byte     ? is_signed ? FMT_I8 : FMT_U8
                       : is_signed ? FMT_I4
                                   : FMT_U4,
                       n, &to->i);
        return;
    }
    sim_unpack_f32(w, o, format, n, &to->f);
    if (sim_format_bits(format) != 16)
        return;
    if (in->neg_lo >> src & 1)
        negate(to->f.v, 0, n);
    if (in->neg_hi >> src & 1)
        negate(to->f.v, 1, n);
}

/* Elements of a lane that hold nk values of k. */
static unsigned per_lane(const struct wave *w, unsigned nk)
{
    return w->target->major == 11 ? nk : nk * SIDE / w->nlanes;
}

/* Both kinds of sum have one tile; a product of k values fits 32 bits. */
static void add_integers(struct tile *t, const int32_t (*sums)[SIDE])
{
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned j = 0; j < SIDE; j++)
            t->i[i][j] += sums[i][j];
}

static void wmma(struct wave *w, const struct insn *in, const struct matrix *m)
{
    const enum matrix_format fa = (enum matrix_format)m->a;
    const enum matrix_format fb = (enum matrix_format)m->b;
    const enum matrix_format fd = (enum matrix_format)m->d;
    const float *a_f[MATRIX_K], *b_f[MATRIX_K];
    const int32_t *a_i[MATRIX_K], *b_i[MATRIX_K];
    int32_t sums[SIDE][SIDE] = {{0}};
    union elements a, b;
    struct tile t;

    load_c(w, in, 3, fd, &t);
    unpack(w, in, 0, fa, per_lane(w, m->k), &a);
    unpack(w, in, 1, fb, per_lane(w, m->k), &b);
    for (unsigned k = 0; k < m->k; k++) {
        unsigned la, ea, lb, eb;

        input(w, 0, k, m->k, sim_format_bits(fa), &la, &ea);
        input(w, 0, k, m->k, sim_format_bits(fb), &lb, &eb);
        a_f[k] = &a.f.v[ea][la];
        b_f[k] = &b.f.v[eb][lb];
        a_i[k] = &a.i.v[ea][la];
        b_i[k] = &b.i.v[eb][lb];
    }
    if (is_integer(fd)) {
        sim_multiply_i32(SIDE, SIDE, m->k, a_i, b_i, sums[0]);
        add_integers(&t, (const int32_t(*)[SIDE])sums);
    } else {
        sim_multiply_f32(SIDE, SIDE, m->k, a_f, b_f, t.f[0]);
    }
    store_d(w, in, fd, &t);
}

/*
 * A holds two values of each four k, so its values lie at half the distance of
 * a dense operand. Each value has a two-bit index in its lane, at bit twice the
 * value's place. index_key selects the set if a register holds several.
 */
static void swmmac(struct wave *w, const struct insn *in,
                   const struct matrix *m)
{
    const enum matrix_format fa = (enum matrix_format)m->a;
    const enum matrix_format fb = (enum matrix_format)m->b;
    const enum matrix_format fd = (enum matrix_format)m->d;
    const unsigned set_bits = m->k / (w->nlanes / 16u);
    const unsigned first = set_bits < 32 ? in->index_key * set_bits : 0;
    const uint32_t *const indices = *tuple_reg(w, &in->op[3], 0);
    union elements a, b;
    struct tile t;

    load_c(w, in, 0, fd, &t);
    unpack(w, in, 0, fa, per_lane(w, m->k) / 2, &a);
    unpack(w, in, 1, fb, per_lane(w, m->k), &b);
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned c = 0; c < m->k / 2u; c++) {
            unsigned la, ea, lb, eb, k;

            input(w, i, c / 2 * 4, m->k, sim_format_bits(fa), &la, &ea);
            ea = ea / 2 + c % 2;
            k = c / 2 * 4 + (indices[la] >> (first + 2 * ea) & 3);
            input(w, 0, k, m->k, sim_format_bits(fb), &lb, &eb);
            for (unsigned j = 0; j < SIDE && is_integer(fd); j++)
                t.i[i][j] += (int64_t)a.i.v[ea][la] * b.i.v[eb][lb + j];
            for (unsigned j = 0; j < SIDE && !is_integer(fd); j++)
                t.f[i][j] = fmaf(a.f.v[ea][la], b.f.v[eb][lb + j], t.f[i][j]);
        }
    store_d(w, in, fd, &t);
}

/* clang-format off */
#define WMMA_TABLE(X)                                              \
    /* mnemonic                          K   A     B     D */      \
    X(v_wmma_f32_16x16x16_f16,    wmma, 16, F16,  F16,  F32)       \
    X(v_wmma_f32_16x16x16_bf16,   wmma, 16, BF16, BF16, F32)       \
    X(v_wmma_f16_16x16x16_f16,    wmma, 16, F16,  F16,  F16)       \
    X(v_wmma_bf16_16x16x16_bf16,  wmma, 16, BF16, BF16, BF16)      \
    X(v_wmma_i32_16x16x16_iu8,    wmma, 16, U8,   U8,   I32)       \
    X(v_wmma_i32_16x16x16_iu4,    wmma, 16, U4,   U4,   I32)       \
    X(v_wmma_i32_16x16x32_iu4,    wmma, 32, U4,   U4,   I32)       \
    X(v_wmma_f32_16x16x16_fp8_fp8, wmma, 16, FP8, FP8,  F32)       \
    X(v_wmma_f32_16x16x16_fp8_bf8, wmma, 16, FP8, BF8,  F32)       \
    X(v_wmma_f32_16x16x16_bf8_fp8, wmma, 16, BF8, FP8,  F32)       \
    X(v_wmma_f32_16x16x16_bf8_bf8, wmma, 16, BF8, BF8,  F32)       \
    X(v_swmmac_f32_16x16x32_f16,   swmmac, 32, F16,  F16,  F32)    \
    X(v_swmmac_f32_16x16x32_bf16,  swmmac, 32, BF16, BF16, F32)    \
    X(v_swmmac_f16_16x16x32_f16,   swmmac, 32, F16,  F16,  F16)    \
    X(v_swmmac_bf16_16x16x32_bf16, swmmac, 32, BF16, BF16, BF16)   \
    X(v_swmmac_i32_16x16x32_iu8,   swmmac, 32, U8,   U8,   I32)    \
    X(v_swmmac_i32_16x16x32_iu4,   swmmac, 32, U4,   U4,   I32)    \
    X(v_swmmac_i32_16x16x64_iu4,   swmmac, 64, U4,   U4,   I32)    \
    X(v_swmmac_f32_16x16x32_fp8_fp8, swmmac, 32, FP8, FP8, F32)    \
    X(v_swmmac_f32_16x16x32_fp8_bf8, swmmac, 32, FP8, BF8, F32)    \
    X(v_swmmac_f32_16x16x32_bf8_fp8, swmmac, 32, BF8, FP8, F32)    \
    X(v_swmmac_f32_16x16x32_bf8_bf8, swmmac, 32, BF8, BF8, F32)
/* clang-format on */

#define WMMA_RUN(name, how, k, a, b, d)                                        \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        static const struct matrix shape = {16,      16,      k,      1,       \
                                            FMT_##a, FMT_##b, FMT_##d};        \
        how(w, in, &shape);                                                    \
    }
WMMA_TABLE(WMMA_RUN)

#define TUPLE_F32 T_tuplef32
#define TUPLE_F16 T_tuplef16
#define TUPLE_BF16 T_tuple
#define TUPLE_I32 T_tuple
#define WMMA_ROW(name, how, k, a, b, d)                                        \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_MATRIX,                                                             \
     {TUPLE_##d, T_tuple, T_tuple, TUPLE_##d},                                 \
     0},

static const struct insn_row rows[] = {WMMA_TABLE(WMMA_ROW)};

ROW_SET_NO_ALIASES(wmma, rows);
