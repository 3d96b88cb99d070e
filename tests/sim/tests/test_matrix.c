/* test_matrix.c - MFMA, SMFMAC and WMMA against plain products
 *
 * Operands are filled through the layouts that the manuals give, each written
 * out here as formulas of lane and register; values are small whole numbers,
 * so that every order of the sums gives the same result.
 */
#include "valu.h"

#include <assert.h>
#include <stdio.h>

enum element { F16, BF16, F32, F64, I8, FP8, BF8, FP4, I4 };

static unsigned bits_in(enum element e)
{
    static const unsigned bits[] = {16, 16, 32, 64, 8, 8, 8, 4, 4};

    return bits[e];
}

/* -3 ... 3, as bits of a type; fp8 as of gfx950 and gfx12 unless FNUZ. */
static uint64_t small(enum element e, int x, bool fnuz)
{
    static const uint8_t e4m3[] = {0, 0x38, 0x40, 0x44};
    static const uint8_t e5m2[] = {0, 0x3c, 0x40, 0x42};
    static const uint8_t e2m1[] = {0, 2, 4, 5};
    int n = x < 0 ? -x : x;
    double d = x;
    uint64_t u;

    switch (e) {
    case F16:
        return valu_round16(x);
    case BF16:
        return valu_round_bf16(x);
    case F32:
        return bits_of((float)x);
    case F64:
        memcpy(&u, &d, 8);
        return u;
    case I8:
        return (uint8_t)x;
    case I4:
        return (uint8_t)x & 15;
    case FP8: /* FNUZ has its exponents one higher */
        return n ? (uint64_t)(e4m3[n] + (fnuz ? 8 : 0)) | (x < 0 ? 0x80 : 0)
                 : 0;
    case BF8:
        return n ? (uint64_t)(e5m2[n] + (fnuz ? 4 : 0)) | (x < 0 ? 0x80 : 0)
                 : 0;
    default:
        return n ? (uint64_t)e2m1[n] | (x < 0 ? 8 : 0) : 0;
    }
}

static void put(struct asm_state *st, unsigned reg, unsigned lane,
                unsigned index, unsigned bits, uint64_t value)
{
    unsigned at = index * bits, shift = at % 32;
    uint32_t mask = bits >= 32 ? UINT32_MAX : ((1u << bits) - 1) << shift;
    uint32_t *v = &st->v[reg + at / 32][lane];

    *v = (*v & ~mask) | (uint32_t)value << shift;
    if (bits == 64)
        st->v[reg + at / 32 + 1][lane] = (uint32_t)(value >> 32);
}

/* ---- MFMA ---- */

struct mfma_case {
    const char *target, *name;
    unsigned m, k, blocks;
    enum element a, b, d;
};

/* clang-format off */
static const struct mfma_case mfma_cases[] = {
    {"gfx90a", "v_mfma_f32_32x32x1f32",        32,  1,  2, F32,  F32,  F32},
    {"gfx90a", "v_mfma_f32_16x16x1f32",        16,  1,  4, F32,  F32,  F32},
    {"gfx90a", "v_mfma_f32_4x4x1f32",           4,  1, 16, F32,  F32,  F32},
    {"gfx90a", "v_mfma_f32_32x32x2f32",        32,  2,  1, F32,  F32,  F32},
    {"gfx942", "v_mfma_f32_16x16x4_f32",       16,  4,  1, F32,  F32,  F32},
    {"gfx942", "v_mfma_f32_32x32x4_xf32",      32,  4,  1, F32,  F32,  F32},
    {"gfx942", "v_mfma_f32_16x16x8_xf32",      16,  8,  1, F32,  F32,  F32},
    {"gfx90a", "v_mfma_f32_32x32x4f16",        32,  4,  2, F16,  F16,  F32},
    {"gfx942", "v_mfma_f32_16x16x4_4b_f16",    16,  4,  4, F16,  F16,  F32},
    {"gfx942", "v_mfma_f32_4x4x4_16b_f16",      4,  4, 16, F16,  F16,  F32},
    {"gfx942", "v_mfma_f32_32x32x8_f16",       32,  8,  1, F16,  F16,  F32},
    {"gfx942", "v_mfma_f32_16x16x16_f16",      16, 16,  1, F16,  F16,  F32},
    {"gfx950", "v_mfma_f32_32x32x16_f16",      32, 16,  1, F16,  F16,  F32},
    {"gfx950", "v_mfma_f32_16x16x32_f16",      16, 32,  1, F16,  F16,  F32},
    {"gfx908", "v_mfma_f32_32x32x2bf16",       32,  2,  2, BF16, BF16, F32},
    {"gfx908", "v_mfma_f32_16x16x8bf16",       16,  8,  1, BF16, BF16, F32},
    {"gfx90a", "v_mfma_f32_32x32x8bf16_1k",    32,  8,  1, BF16, BF16, F32},
    {"gfx90a", "v_mfma_f32_16x16x16bf16_1k",   16, 16,  1, BF16, BF16, F32},
    {"gfx942", "v_mfma_f32_4x4x4_16b_bf16",     4,  4, 16, BF16, BF16, F32},
    {"gfx942", "v_mfma_f32_16x16x16_bf16",     16, 16,  1, BF16, BF16, F32},
    {"gfx950", "v_mfma_f32_16x16x32_bf16",     16, 32,  1, BF16, BF16, F32},
    {"gfx950", "v_mfma_f32_32x32x16_bf16",     32, 16,  1, BF16, BF16, F32},
    {"gfx942", "v_mfma_f32_16x16x32_fp8_fp8",  16, 32,  1, FP8,  FP8,  F32},
    {"gfx942", "v_mfma_f32_32x32x16_bf8_fp8",  32, 16,  1, BF8,  FP8,  F32},
    {"gfx950", "v_mfma_f32_16x16x32_fp8_bf8",  16, 32,  1, FP8,  BF8,  F32},
    {"gfx90a", "v_mfma_i32_32x32x4i8",         32,  4,  2, I8,   I8,   I8},
    {"gfx90a", "v_mfma_i32_32x32x8i8",         32,  8,  1, I8,   I8,   I8},
    {"gfx90a", "v_mfma_i32_16x16x16i8",        16, 16,  1, I8,   I8,   I8},
    {"gfx942", "v_mfma_i32_16x16x32_i8",       16, 32,  1, I8,   I8,   I8},
    {"gfx942", "v_mfma_i32_32x32x16_i8",       32, 16,  1, I8,   I8,   I8},
    {"gfx950", "v_mfma_i32_16x16x64_i8",       16, 64,  1, I8,   I8,   I8},
    {"gfx90a", "v_mfma_f64_16x16x4f64",        16,  4,  1, F64,  F64,  F64},
    {"gfx942", "v_mfma_f64_4x4x4_4b_f64",       4,  4,  4, F64,  F64,  F64},
};
/* clang-format on */

/* Row and lane of C and D: what the manual's tables say for each shape. */
static unsigned c_lane(const struct mfma_case *c, unsigned i, unsigned j,
                       unsigned b)
{
    if (c->d == F64)
        return c->m == 16 ? 16 * (i % 4) + j : 16 * i + 4 * b + j;
    switch (c->m) {
    case 32:
        return 32 * (i / 4 % 2) + j;
    case 16:
        return 16 * (i / 4) + j;
    default:
        return 4 * b + j;
    }
}

static unsigned c_register(const struct mfma_case *c, unsigned i, unsigned b)
{
    if (c->d == F64)
        return c->m == 16 ? i / 4 : 0;
    switch (c->m) {
    case 32:
        return 16 * b + 4 * (i / 8) + i % 4;
    case 16:
        return 4 * b + i % 4;
    default:
        return i;
    }
}

static unsigned width(unsigned bits, unsigned elements)
{
    return bits * elements / 32 ? bits * elements / 32 : 1;
}

static void operand(char out[24], char file, unsigned reg, unsigned n)
{
    if (n == 1)
        snprintf(out, 24, "%c%u", file, reg);
    else
        snprintf(out, 24, "%c[%u:%u]", file, reg, reg + n - 1);
}

enum { REG_A = 128, REG_B = 144, REG_C = 64, REG_D = 0 };

static int a_mat[16][32][128], b_mat[16][128][32], c_mat[16][32][32];

static void random_matrices(unsigned m, unsigned n, unsigned k, unsigned blocks)
{
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned i = 0; i < m; i++)
            for (unsigned x = 0; x < k; x++)
                a_mat[b][i][x] = (int)(valu_random() % 7) - 3;
        for (unsigned j = 0; j < n; j++)
            for (unsigned x = 0; x < k; x++)
                b_mat[b][x][j] = (int)(valu_random() % 7) - 3;
        for (unsigned i = 0; i < m; i++)
            for (unsigned j = 0; j < n; j++)
                c_mat[b][i][j] = (int)(valu_random() % 2001) - 1000;
    }
}

static void fill_mfma(struct asm_state *st, const struct mfma_case *c)
{
    unsigned per_lane = c->k * c->m * c->blocks / 64;
    bool fnuz = strcmp(c->target, "gfx942") == 0;

    for (unsigned b = 0; b < c->blocks; b++)
        for (unsigned i = 0; i < c->m; i++) {
            for (unsigned k = 0; k < c->k; k++) {
                unsigned lane =
                    i + c->m * b + c->m * c->blocks * (k / per_lane);

                put(st, REG_A, lane, k % per_lane, bits_in(c->a),
                    small(c->a, a_mat[b][i][k], fnuz));
                put(st, REG_B, lane, k % per_lane, bits_in(c->b),
                    small(c->b, b_mat[b][k][i], fnuz));
            }
            for (unsigned j = 0; j < c->m; j++)
                put(st, REG_C, c_lane(c, i, j, b), c_register(c, i, b),
                    c->d == F64 ? 64 : 32,
                    c->d == I8 ? (uint32_t)c_mat[b][i][j]
                               : small(c->d, c_mat[b][i][j], false));
        }
}

static void check_mfma(const struct asm_state *st, const struct mfma_case *c,
                       unsigned cbsz, unsigned abid)
{
    for (unsigned b = 0; b < c->blocks; b++)
        for (unsigned i = 0; i < c->m; i++)
            for (unsigned j = 0; j < c->m; j++) {
                unsigned lane = c_lane(c, i, j, b), reg = c_register(c, i, b);
                unsigned from = (b >> cbsz << cbsz) + abid;
                int want = c_mat[b][i][j];
                uint64_t got, bits;

                for (unsigned k = 0; k < c->k; k++)
                    want += a_mat[cbsz ? from : b][i][k] * b_mat[b][k][j];
                bits = c->d == I8 ? (uint32_t)want : small(c->d, want, false);
                if (c->d == F64)
                    got = st->v[REG_D + 2 * reg][lane] |
                          (uint64_t)st->v[REG_D + 2 * reg + 1][lane] << 32;
                else
                    got = st->v[REG_D + reg][lane];
                if (got != bits)
                    fail_msg("%s block %u row %u column %u: want %d (%#llx), "
                             "got %#llx",
                             c->name, b, i, j, want, (unsigned long long)bits,
                             (unsigned long long)got);
            }
}

static void test_mfma_multiplies(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(mfma_cases) / sizeof(mfma_cases[0]); n++) {
        const struct mfma_case *c = &mfma_cases[n];
        struct asm_state *st = asm_new(c->target, 64);
        bool gfx908 = strcmp(c->target, "gfx908") == 0;
        unsigned per_lane = c->k * c->m * c->blocks / 64;
        unsigned out =
            width(c->d == F64 ? 64 : 32, c->m * c->m * c->blocks / 64);
        char d[24], a[24], b[24], acc[24], text[160];

        /* gfx908 has C and D in accumulation registers. */
        operand(d, gfx908 ? 'a' : 'v', REG_D, out);
        operand(a, 'v', REG_A, width(bits_in(c->a), per_lane));
        operand(b, 'v', REG_B, width(bits_in(c->b), per_lane));
        operand(acc, gfx908 ? 'a' : 'v', REG_C, out);
        random_matrices(c->m, c->m, c->k, c->blocks);
        fill_mfma(st, c);
        memcpy(st->a, st->v, sizeof(st->a));
        st->s[SREG_EXEC] = 1; /* does not count */
        snprintf(text, sizeof(text), "%s %s, %s, %s, %s", c->name, d, a, b,
                 acc);
        asm_run(st, text);
        if (gfx908)
            memcpy(st->v, st->a, out * sizeof(vreg));
        check_mfma(st, c, 0, 0);
        if (c->blocks >= 4 && c->d != F64 && !gfx908) {
            snprintf(text, sizeof(text), "%s %s, %s, %s, %s cbsz:2 abid:3",
                     c->name, d, a, b, acc);
            asm_run(st, text);
            check_mfma(st, c, 2, 3);
        }
        asm_free(st);
    }
}

static void test_mfma_takes_constants_and_accumulation_registers(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);
    const struct mfma_case c = {"gfx942", "", 16, 16, 1, F16, F16, F32};

    (void)state;
    random_matrices(16, 16, 16, 1);
    fill_mfma(st, &c);
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++)
            c_mat[0][i][j] = 1;
    asm_run(st, "v_mfma_f32_16x16x16_f16 a[4:7], v[128:129], v[144:145], 1.0\n"
                "v_accvgpr_read_b32 v0, a4\nv_accvgpr_read_b32 v1, a5\n"
                "v_accvgpr_read_b32 v2, a6\nv_accvgpr_read_b32 v3, a7");
    check_mfma(st, &c, 0, 0);
    asm_free(st);
}

/* BLGP: B from the first 32 lanes, from the second, rotated, from quarters. */
static void test_mfma_blgp_moves_lanes_of_b(void **state)
{
    (void)state;
    for (unsigned blgp = 1; blgp < 8; blgp++) {
        struct asm_state *st = asm_new("gfx90a", 64);
        char text[128];

        for (unsigned i = 0; i < 64; i++) {
            st->v[0][i] = bits_of(1);
            st->v[1][i] = bits_of((float)(i + 1));
        }
        snprintf(text, sizeof(text),
                 "v_mfma_f32_32x32x1f32 v[64:95], v0, v1, 0 blgp:%u", blgp);
        asm_run(st, text);
        for (unsigned i = 0; i < 64; i++) {
            /* Block b of B is lanes 32 b ... 32 b + 31. */
            unsigned from = blgp == 1   ? i % 32
                            : blgp == 2 ? 32 + i % 32
                            : blgp == 3 ? (i + 16) % 64
                                        : i % 16 + 16 * (blgp - 4);

            assert_int_equal(st->v[64 + 16 * (i / 32)][i % 32],
                             bits_of((float)(from + 1)));
        }
        asm_free(st);
    }
}

/* f8f6f4: formats by cbsz and blgp; scales of 2 and 1/4 by op_sel's byte. */
static void test_mfma_f8f6f4_scales_blocks_of_32(void **state)
{
    struct asm_state *st = asm_new("gfx950", 64);

    (void)state;
    random_matrices(16, 16, 64, 1);
    memset(st->v[REG_A], 0, 8 * sizeof(vreg));
    memset(st->v[REG_B], 0, 8 * sizeof(vreg));
    /* fp4: lane i + 16 g holds k = 32 g ... 32 g + 31; here k < 64 alone. */
    for (unsigned i = 0; i < 16; i++)
        for (unsigned k = 0; k < 64; k++) {
            put(st, REG_A, i + 16 * (k / 32), k % 32, 4,
                small(FP4, a_mat[0][i][k], false));
            put(st, REG_B, i + 16 * (k / 32), k % 32, 4,
                small(FP4, b_mat[0][k][i], false));
        }
    for (unsigned lane = 0; lane < 64; lane++) {
        st->v[160][lane] = lane < 16 ? 0x7f7f807f : 0x7f7f7f7f;
        st->v[161][lane] = lane < 16 ? 0x7f7f7f7f : 0x7f7f7f7d;
    }
    asm_run(st, "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[128:131], "
                "v[144:147], 0, v160, v161 op_sel:[1,0,0] cbsz:4 blgp:4");
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++) {
            float want = 0;

            for (unsigned k = 0; k < 64; k++)
                want += (float)(a_mat[0][i][k] * b_mat[0][k][j]) *
                        (k < 32 ? 2.0f : 0.25f);
            assert_int_equal(st->v[i % 4][16 * (i / 4) + j], bits_of(want));
        }
    asm_free(st);
}

/* ---- sparse ---- */

/* Where the value c of the half that a row keeps stands, and value k of a
 * column of B: by formulas for each shape, as probed on hardware. */
struct spot {
    unsigned group, element; /* lanes in groups of M */
};

static struct spot smfmac_a(unsigned m, unsigned k, unsigned bits, unsigned c)
{
    switch (m * 1000 + k + (bits == 16 ? 500 : 0)) {
    case 16532:
    case 32516:
        return (struct spot){c / 4, c % 4};
    case 16564:
    case 32532:
        return (struct spot){c / 8, c % 8};
    case 16064:
        return (struct spot){c % 16 / 4, 4 * (c / 16) + c % 4};
    case 32032:
        return (struct spot){c % 8 / 4, 4 * (c / 8) + c % 4};
    case 16128:
        return (struct spot){2 * (c / 32) + c / 8 % 2,
                             8 * (c / 4 % 2) + 4 * (c / 16 % 2) + c % 4};
    default: /* 32 x 32 x 64 of bytes */
        return (struct spot){c / 16, 8 * (c / 4 % 2) + 4 * (c / 8 % 2) + c % 4};
    }
}

static struct spot smfmac_b(unsigned m, unsigned k)
{
    return m == 16 ? (struct spot){k / 8 % 4, 8 * (k / 32) + k % 8}
                   : (struct spot){k / 8 % 2, 8 * (k / 16) + k % 8};
}

/* gfx12; 64 lanes hold the second half of each lane's values further up. */
static struct spot swmmac_b(unsigned k, unsigned nk, unsigned bits,
                            unsigned wave)
{
    if (bits == 16)
        return wave == 64 ? (struct spot){k / 8, k % 8}
                          : (struct spot){k / 8 % 2, 8 * (k / 16) + k % 8};
    const unsigned half = nk / 2;

    assert(half > 0);
    return (struct spot){k / half, k % half};
}

/* Two random places of each four stay; the others become 0. */
static unsigned keep_two(unsigned i, unsigned g)
{
    unsigned first = (unsigned)(valu_random() % 3);
    unsigned second = first + 1 + (unsigned)(valu_random() % (3 - first));

    for (unsigned x = 0; x < 4; x++)
        if (x != first && x != second)
            a_mat[0][i][4 * g + x] = 0;
    return first | second << 2;
}

/* A's value and its two index bits, in set `set` of `set_bits` bits. */
static void put_sparse(struct asm_state *st, unsigned lane, unsigned element,
                       enum element e, unsigned i, unsigned g, unsigned slot,
                       unsigned kept, unsigned shift, bool fnuz)
{
    unsigned at = kept >> (2 * slot) & 3;

    put(st, REG_A, lane, element, bits_in(e),
        small(e, a_mat[0][i][4 * g + at], fnuz));
    st->v[160][lane] |= at << (shift + 2 * element);
}

static void fill_smfmac(struct asm_state *st, const struct mfma_case *c,
                        unsigned set)
{
    bool fnuz = strcmp(c->target, "gfx942") == 0;

    memset(st->v[160], 0, sizeof(vreg));
    for (unsigned i = 0; i < c->m; i++) {
        for (unsigned g = 0; g < c->k / 4; g++) {
            unsigned kept = keep_two(i, g);

            for (unsigned slot = 0; slot < 2; slot++) {
                struct spot p =
                    smfmac_a(c->m, c->k, bits_in(c->a), 2 * g + slot);

                put_sparse(st, i + c->m * p.group, p.element, c->a, i, g, slot,
                           kept, set * (c->k * c->m / 64), fnuz);
            }
        }
        for (unsigned k = 0; k < c->k; k++) {
            struct spot p = smfmac_b(c->m, k);

            put(st, REG_B, i + c->m * p.group, p.element, bits_in(c->b),
                small(c->b, b_mat[0][k][i], fnuz));
        }
    }
}

static const struct {
    const char *target, *name;
    unsigned m, k;
    enum element a, b, d;
    unsigned set; /* set of indices in the index register */
} smfmac_cases[] = {
    {"gfx942", "v_smfmac_f32_16x16x32_f16", 16, 32, F16, F16, F32, 1},
    {"gfx942", "v_smfmac_f32_16x16x32_f16", 16, 32, F16, F16, F32, 3},
    {"gfx942", "v_smfmac_f32_32x32x16_f16", 32, 16, F16, F16, F32, 0},
    {"gfx942", "v_smfmac_f32_16x16x32_bf16", 16, 32, BF16, BF16, F32, 0},
    {"gfx942", "v_smfmac_f32_32x32x16_bf16", 32, 16, BF16, BF16, F32, 2},
    {"gfx942", "v_smfmac_i32_16x16x64_i8", 16, 64, I8, I8, I8, 1},
    {"gfx942", "v_smfmac_i32_32x32x32_i8", 32, 32, I8, I8, I8, 0},
    {"gfx942", "v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, FP8, FP8, F32, 1},
    {"gfx942", "v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, BF8, FP8, F32, 0},
    {"gfx942", "v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, FP8, BF8, F32, 0},
    {"gfx942", "v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, BF8, BF8, F32, 1},
    {"gfx950", "v_smfmac_f32_16x16x64_f16", 16, 64, F16, F16, F32, 1},
    {"gfx950", "v_smfmac_f32_32x32x32_bf16", 32, 32, BF16, BF16, F32, 0},
    {"gfx950", "v_smfmac_f32_16x16x128_fp8_fp8", 16, 128, FP8, FP8, F32, 0},
    {"gfx950", "v_smfmac_f32_32x32x64_bf8_fp8", 32, 64, BF8, FP8, F32, 0},
    {"gfx950", "v_smfmac_i32_16x16x128_i8", 16, 128, I8, I8, I8, 0},
    {"gfx950", "v_smfmac_i32_32x32x64_i8", 32, 64, I8, I8, I8, 0},
};

static void test_smfmac_places_values_by_index(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(smfmac_cases) / sizeof(smfmac_cases[0]);
         n++) {
        const struct mfma_case c = {smfmac_cases[n].target,
                                    smfmac_cases[n].name,
                                    smfmac_cases[n].m,
                                    smfmac_cases[n].k,
                                    1,
                                    smfmac_cases[n].a,
                                    smfmac_cases[n].b,
                                    smfmac_cases[n].d};
        struct asm_state *st = asm_new(c.target, 64);
        unsigned per_lane = c.k * c.m / 64;
        char a[24], b[24], d[24], text[160];

        random_matrices(c.m, c.m, c.k, 1);
        for (unsigned i = 0; i < c.m; i++)
            for (unsigned j = 0; j < c.m; j++)
                put(st, REG_C, c_lane(&c, i, j, 0), c_register(&c, i, 0), 32,
                    c.d == I8 ? (uint32_t)c_mat[0][i][j]
                              : small(c.d, c_mat[0][i][j], false));
        fill_smfmac(st, &c, smfmac_cases[n].set);
        operand(d, 'v', REG_D, c.m * c.m / 64);
        operand(a, 'v', REG_A, width(bits_in(c.a), per_lane / 2));
        operand(b, 'v', REG_B, width(bits_in(c.b), per_lane));
        memcpy(st->v[REG_D], st->v[REG_C], c.m * c.m / 64 * sizeof(vreg));
        snprintf(text, sizeof(text), "%s %s, %s, %s, v160 abid:%u", c.name, d,
                 a, b, smfmac_cases[n].set);
        asm_run(st, text);
        check_mfma(st, &c, 0, 0);
        asm_free(st);
    }
}

/* ---- WMMA ---- */

static const struct wmma_case {
    const char *target;
    unsigned wave;
    const char *name;
    enum element in, out;
    unsigned k;
} wmma_cases[] = {
    {"gfx1100", 32, "v_wmma_f32_16x16x16_f16", F16, F32, 16},
    {"gfx1100", 64, "v_wmma_f32_16x16x16_f16", F16, F32, 16},
    {"gfx1100", 32, "v_wmma_f32_16x16x16_bf16", BF16, F32, 16},
    {"gfx1100", 32, "v_wmma_f16_16x16x16_f16", F16, F16, 16},
    {"gfx1100", 32, "v_wmma_bf16_16x16x16_bf16", BF16, BF16, 16},
    {"gfx1100", 32, "v_wmma_i32_16x16x16_iu8", I8, I8, 16},
    {"gfx1201", 32, "v_wmma_f32_16x16x16_f16", F16, F32, 16},
    {"gfx1201", 64, "v_wmma_f32_16x16x16_f16", F16, F32, 16},
    {"gfx1201", 32, "v_wmma_f32_16x16x16_bf16", BF16, F32, 16},
    {"gfx1201", 32, "v_wmma_f16_16x16x16_f16", F16, F16, 16},
    {"gfx1201", 32, "v_wmma_f32_16x16x16_fp8_fp8", FP8, F32, 16},
    {"gfx1201", 32, "v_wmma_f32_16x16x16_bf8_bf8", BF8, F32, 16},
    {"gfx1201", 32, "v_wmma_bf16_16x16x16_bf16", BF16, BF16, 16},
    {"gfx1201", 32, "v_wmma_f32_16x16x16_fp8_bf8", FP8, F32, 16},
    {"gfx1201", 32, "v_wmma_f32_16x16x16_bf8_fp8", BF8, F32, 16},
    {"gfx1201", 32, "v_wmma_i32_16x16x16_iu8", I8, I8, 16},
    {"gfx1201", 64, "v_wmma_i32_16x16x16_iu8", I8, I8, 16},
    {"gfx1100", 32, "v_wmma_i32_16x16x16_iu4", I4, I8, 16},
    {"gfx1201", 32, "v_wmma_i32_16x16x16_iu4", I4, I8, 16},
    {"gfx1201", 32, "v_wmma_i32_16x16x32_iu4", I4, I8, 32},
    /* gfx12's sparse ones: twice the values of k in B, D is C */
    {"gfx1201", 32, "v_swmmac_f32_16x16x32_f16", F16, F32, 32},
    {"gfx1201", 64, "v_swmmac_f32_16x16x32_f16", F16, F32, 32},
    {"gfx1201", 32, "v_swmmac_f16_16x16x32_f16", F16, F16, 32},
    {"gfx1201", 32, "v_swmmac_f32_16x16x32_bf16", BF16, F32, 32},
    {"gfx1201", 32, "v_swmmac_bf16_16x16x32_bf16", BF16, BF16, 32},
    {"gfx1201", 32, "v_swmmac_i32_16x16x32_iu8", I8, I8, 32},
    {"gfx1201", 32, "v_swmmac_i32_16x16x32_iu4", I4, I8, 32},
    {"gfx1201", 32, "v_swmmac_i32_16x16x64_iu4", I4, I8, 64},
    {"gfx1201", 32, "v_swmmac_f32_16x16x32_fp8_fp8", FP8, F32, 32},
    {"gfx1201", 32, "v_swmmac_f32_16x16x32_bf8_bf8", BF8, F32, 32},
    {"gfx1201", 32, "v_swmmac_f32_16x16x32_fp8_bf8", FP8, F32, 32},
    {"gfx1201", 32, "v_swmmac_f32_16x16x32_bf8_fp8", BF8, F32, 32},
};

/* B's type: the last one of the name, where A and B differ. */
static enum element type_of_b(const struct wmma_case *c)
{
    return strstr(c->name, "_fp8_bf8")   ? BF8
           : strstr(c->name, "_bf8_fp8") ? FP8
                                         : c->in;
}

static bool is_sparse(const struct wmma_case *c)
{
    return strncmp(c->name, "v_swmmac", 8) == 0;
}

static void wmma_c(const struct wmma_case *c, unsigned i, unsigned j,
                   unsigned *lane, unsigned *index)
{
    if (strcmp(c->target, "gfx1100") == 0) {
        *lane = 16 * (i % (c->wave / 16)) + j;
        *index = i / (c->wave / 16) * (bits_in(c->out) == 16 ? 2 : 1);
    } else if (c->wave == 32) {
        *lane = 16 * (i / 8) + j;
        *index = i % 8;
    } else {
        *lane = 16 * (i / 8) + 32 * (i / 4 % 2) + j;
        *index = i % 4;
    }
}

/* Place of element k of dense A and B; gfx11 repeats A and B in every group of
 * lanes. */
static struct spot wmma_ab(const struct wmma_case *c, unsigned k)
{
    if (strcmp(c->target, "gfx1100") == 0)
        return (struct spot){0, k};
    if (is_sparse(c))
        return swmmac_b(k, c->k, bits_in(c->in), c->wave);
    if (c->wave == 64)
        return (struct spot){k / 8 + 2 * (k / 4 % 2), k % 4};
    const unsigned half = c->k / 2;

    assert(half > 0);
    return (struct spot){k / half, k % half};
}

static void fill_wmma(struct asm_state *st, const struct wmma_case *c)
{
    bool gfx11 = strcmp(c->target, "gfx1100") == 0;

    memset(st->v[160], 0, sizeof(vreg));
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned g = 0; is_sparse(c) && g < c->k / 4; g++) {
            struct spot p = wmma_ab(c, 4 * g);
            unsigned kept = keep_two(i, g);

            for (unsigned slot = 0; slot < 2; slot++)
                put_sparse(st, i + 16 * p.group, p.element / 2 + slot, c->in, i,
                           g, slot, kept, 0, false);
        }
        for (unsigned k = 0; k < c->k; k++) {
            struct spot p = wmma_ab(c, k);

            for (unsigned copy = 0; copy < (gfx11 ? c->wave / 16 : 1); copy++) {
                unsigned lane = i + 16 * (p.group + copy);

                if (!is_sparse(c))
                    put(st, REG_A, lane, p.element, bits_in(c->in),
                        small(c->in, a_mat[0][i][k], false));
                put(st, REG_B, lane, p.element, bits_in(c->in),
                    small(type_of_b(c), b_mat[0][k][i], false));
            }
        }
    }
}

static void test_wmma_multiplies(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(wmma_cases) / sizeof(wmma_cases[0]); n++) {
        const struct wmma_case *c = &wmma_cases[n];
        struct asm_state *st = asm_new(c->target, c->wave);
        bool gfx11 = strcmp(c->target, "gfx1100") == 0;
        bool sparse = is_sparse(c);
        unsigned groups = c->wave / 16, bits = bits_in(c->in);
        unsigned per_lane = gfx11 ? c->k : c->k / groups;
        unsigned out_bits = c->out == I8 ? 32 : bits_in(c->out);
        unsigned out = gfx11 || out_bits == 32 ? 256 / c->wave : 128 / c->wave;
        char d[24], a[24], b[24], acc[24], text[160];

        random_matrices(16, 16, c->k, 1);
        fill_wmma(st, c);
        for (unsigned i = 0; i < 16; i++)
            for (unsigned j = 0; j < 16; j++) {
                unsigned lane, index;

                c_mat[0][i][j] /= 10;
                wmma_c(c, i, j, &lane, &index);
                put(st, REG_C, lane, index, out_bits,
                    c->out == I8 ? (uint32_t)c_mat[0][i][j]
                                 : small(c->out, c_mat[0][i][j], false));
            }
        if (sparse)
            memcpy(st->v[REG_D], st->v[REG_C], out * sizeof(vreg));
        operand(d, 'v', REG_D, out);
        operand(a, 'v', REG_A, width(bits, sparse ? per_lane / 2 : per_lane));
        operand(b, 'v', REG_B, width(bits, per_lane));
        operand(acc, 'v', sparse ? 160 : REG_C, sparse ? 1 : out);
        snprintf(text, sizeof(text), "%s %s, %s, %s, %s%s", c->name, d, a, b,
                 acc, c->out == I8 ? " neg_lo:[1,1,0]" : "");
        asm_run(st, text);
        for (unsigned i = 0; i < 16; i++)
            for (unsigned j = 0; j < 16; j++) {
                int want = c_mat[0][i][j];
                unsigned lane, index;
                uint64_t bits_want, got;

                for (unsigned k = 0; k < c->k; k++)
                    want += a_mat[0][i][k] * b_mat[0][k][j];
                bits_want =
                    c->out == I8 ? (uint32_t)want : small(c->out, want, false);
                wmma_c(c, i, j, &lane, &index);
                got = st->v[REG_D + index * out_bits / 32][lane];
                if (out_bits == 16)
                    got = got >> (index % 2 * 16) & 0xffff;
                if (got != bits_want)
                    fail_msg("%s on %s wave%u row %u column %u: want %d "
                             "(%#llx), got %#llx",
                             c->name, c->target, c->wave, i, j, want,
                             (unsigned long long)bits_want,
                             (unsigned long long)got);
            }
        asm_free(st);
    }
}

static void test_wmma_modifiers(void **state)
{
    struct asm_state *st = asm_new("gfx1100", 32);

    (void)state;
    /* A row of ones, B a column of twos, C -5: sums over 16 values of k. */
    for (unsigned i = 0; i < 32; i++)
        for (unsigned r = 0; r < 8; r++) {
            st->v[REG_A + r][i] = 0x3c003c00;
            st->v[REG_B + r][i] = 0x40004000;
            st->v[REG_C + r][i] = bits_of(-5);
        }
    asm_run(st, "v_wmma_f32_16x16x16_f16 v[0:7], v[128:135], v[144:151], "
                "v[64:71] neg_hi:[0,0,1]\n"
                "v_wmma_f32_16x16x16_f16 v[8:15], v[128:135], v[144:151], "
                "v[64:71] neg_lo:[1,0,1]\n"
                "v_wmma_i32_16x16x16_iu8 v[16:23], v[128:131], v[144:147], "
                "v[144:151] neg_lo:[1,1,0] clamp");
    assert_int_equal(st->v[0][0], bits_of(5 + 32));
    /* Even values of k turned: they cancel; C turned. */
    assert_int_equal(st->v[8][0], bits_of(5));
    assert_int_equal(st->v[16][0], 0x40004000 + 8 * 0x3c * 0x40);
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mfma_multiplies),
        cmocka_unit_test(test_mfma_takes_constants_and_accumulation_registers),
        cmocka_unit_test(test_mfma_blgp_moves_lanes_of_b),
        cmocka_unit_test(test_mfma_f8f6f4_scales_blocks_of_32),
        cmocka_unit_test(test_smfmac_places_values_by_index),
        cmocka_unit_test(test_wmma_multiplies),
        cmocka_unit_test(test_wmma_modifiers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
