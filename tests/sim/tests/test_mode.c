/* test_mode.c - rounding and denormals as MODE says, for each type apart
 *
 * MODE[5:4] is for f32, MODE[7:6] for f16 and f64: bit 0 keeps denormal
 * operands, bit 1 denormal results.
 */
#include "asm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

enum { OBEYS_32 = 4, OBEYS_64 = 6, OBEYS_NONE = 8 };

/* v0 of each lane becomes something of a (v[2:3]), b (v[4:5]) and c (v[6:7]);
 * what it is with denormals kept, flushed as operands, flushed as results. */
struct denormal_case {
    const char *target, *text;
    unsigned obeys;
    uint64_t a, b, c;
    uint64_t kept, flushed_in, flushed_out;
};

#define MIN_F32 0x00800000u /* least normal number; half of it is denormal */
#define HALF_F32 0x3f000000u
#define ONE_F32 0x3f800000u
#define DEN_F32 0x00400000u
#define DEN_F64 UINT64_C(0x0008000000000000)
#define MIN_F64 UINT64_C(0x0010000000000000)
#define ONE_F64 UINT64_C(0x3ff0000000000000)
#define HALF_F64 UINT64_C(0x3fe0000000000000)

/* clang-format off */
static const struct denormal_case denormals[] = {
    /* a denormal operand that gives a normal result; a denormal result */
    {"gfx942", "v_add_f32 v0, v2, v4", OBEYS_32, DEN_F32, MIN_F32, 0, 0x00c00000, MIN_F32, 0x00c00000},
    {"gfx942", "v_mul_f32 v0, v2, v4", OBEYS_32, MIN_F32, HALF_F32, 0, DEN_F32, DEN_F32, 0},
    {"gfx942", "v_mul_f32 v0, v2, v4", OBEYS_32, 0x80000000 | MIN_F32, HALF_F32, 0, 0x80000000 | DEN_F32, 0x80000000 | DEN_F32, 0x80000000},
    {"gfx942", "v_fma_f32 v0, v2, v4, v6", OBEYS_32, DEN_F32, ONE_F32, MIN_F32, 0x00c00000, MIN_F32, 0x00c00000},
    {"gfx942", "v_fmac_f32 v0, v2, v4", OBEYS_32, MIN_F32, HALF_F32, 0, DEN_F32, DEN_F32, 0},
    {"gfx1100", "v_sub_f32 v0, v2, v4", OBEYS_32, 0x00c00000, MIN_F32, 0, DEN_F32, DEN_F32, 0},
    {"gfx1201", "v_max_num_f32 v0, v2, v4", OBEYS_32, DEN_F32, 0, 0, DEN_F32, 0, DEN_F32},
    {"gfx942", "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", OBEYS_32, MIN_F32 * UINT64_C(0x100000001), HALF_F32 * UINT64_C(0x100000001), 0,
     DEN_F32 * UINT64_C(0x100000001), DEN_F32 * UINT64_C(0x100000001), 0},
    {"gfx942", "v_cmp_lt_f32 vcc, 0, v2\nv_cndmask_b32 v0, 0, 1, vcc", OBEYS_32, DEN_F32, 0, 0, 1, 0, 1},
    {"gfx942", "v_cmp_class_f32 vcc, v2, v4\nv_cndmask_b32 v0, 0, 1, vcc", OBEYS_NONE, DEN_F32, 0x80, 0, 1, 1, 1},
    {"gfx942", "v_mov_b32 v0, v2", OBEYS_NONE, DEN_F32, 0, 0, DEN_F32, 0, 0},
    {"gfx942", "v_add_f64 v[0:1], v[2:3], v[4:5]", OBEYS_64, DEN_F64, MIN_F64, 0, DEN_F64 + MIN_F64, MIN_F64, DEN_F64 + MIN_F64},
    {"gfx942", "v_mul_f64 v[0:1], v[2:3], v[4:5]", OBEYS_64, MIN_F64, HALF_F64, 0, DEN_F64, DEN_F64, 0},
    {"gfx1100", "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", OBEYS_64, DEN_F64, ONE_F64, MIN_F64, DEN_F64 + MIN_F64, MIN_F64, DEN_F64 + MIN_F64},
    {"gfx942", "v_add_f16 v0, v2, v4", OBEYS_64, 0x0200, 0x0400, 0, 0x0600, 0x0400, 0x0600},
    {"gfx942", "v_mul_f16 v0, v2, v4", OBEYS_64, 0x8400, 0x3800, 0, 0x8200, 0x8200, 0x8000},
    {"gfx942", "v_fma_f16 v0, v2, v4, v6", OBEYS_64, 0x0200, 0x3c00, 0x0400, 0x0600, 0x0400, 0x0600},
    {"gfx1100", "v_add_f16 v0.l, v2.l, v4.l", OBEYS_64, 0x0200, 0x0400, 0, 0x0600, 0x0400, 0x0600},
    {"gfx1201", "v_sub_f16 v0.l, v2.l, v4.l", OBEYS_64, 0x0500, 0x0400, 0, 0x0100, 0x0100, 0x0000},
    {"gfx942", "v_pk_add_f16 v0, v2, v4", OBEYS_64, 0x02000600, 0x04008400, 0, 0x06000200, 0x04000200, 0x06000000},
    {"gfx942", "v_pk_fma_f16 v0, v2, v4, v6", OBEYS_64, 0x02000400, 0x3c003800, 0x04000000, 0x06000200, 0x04000200, 0x06000000},
    {"gfx942", "v_cvt_f32_f16 v0, v2", OBEYS_64, 0x0200, 0, 0, 0x38000000, 0, 0x38000000},
    {"gfx942", "v_cvt_f16_f32 v0, v2", OBEYS_64, 0x38000000, 0, 0, 0x0200, 0x0200, 0},
    {"gfx942", "v_cmp_lt_f16 vcc, 0, v2\nv_cndmask_b32 v0, 0, 1, vcc", OBEYS_64, 0x0200, 0, 0, 1, 0, 1},
    {"gfx942", "v_cmp_class_f16 vcc, v2, v4\nv_cndmask_b32 v0, 0, 1, vcc", OBEYS_NONE, 0x0200, 0x80, 0, 1, 1, 1},
    {"gfx942", "v_add_u16 v0, v2, v4", OBEYS_NONE, 0x0200, 0x0100, 0, 0x0300, 0, 0},
    /* LDS atomics obey the mode; whether memory atomics flush depends on the
     * generation */
    {"gfx942", "s_mov_b64 exec, 2\nv_mov_b32 v8, 0\nds_write_b32 v8, v2\nds_add_f32 v8, v4\nds_read_b32 v0, v8", OBEYS_32, DEN_F32, MIN_F32, 0, 0x00c00000, MIN_F32, 0x00c00000},
    {"gfx942", "v_mov_b32 v8, 0\nscratch_store_dword v8, v2, off\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0x20000\nflat_atomic_add_f32 v[10:11], v4\nscratch_load_dword v0, v8, off", OBEYS_NONE, DEN_F32, MIN_F32, 0, 0x00c00000, 0, 0},
    {"gfx1100", "v_mov_b32 v8, 0\nscratch_store_b32 v8, v2, off\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0x20000\nflat_atomic_add_f32 v[10:11], v4\nscratch_load_b32 v0, v8, off", OBEYS_NONE, DEN_F32, MIN_F32, 0, MIN_F32, 0, 0},
    /* dot products always flush f32 */
    {"gfx942", "v_dot2_f32_f16 v0, v2, v4, v6", OBEYS_NONE, 0, 0, DEN_F32, 0, 0, 0},
    {"gfx1100", "v_dot2_f32_f16 v0, v2, v4, v6", OBEYS_NONE, 0x3c00, 0x0001, DEN_F32, 0x33800000, 0, 0},
};
/* clang-format on */

static void put64(struct asm_state *st, unsigned reg, uint64_t v)
{
    for (unsigned lane = 0; lane < st->wave_size; lane++) {
        st->v[reg][lane] = (uint32_t)v;
        st->v[reg + 1][lane] = (uint32_t)(v >> 32);
    }
}

static uint64_t expected(const struct denormal_case *c, uint32_t mode)
{
    uint32_t field = c->obeys == OBEYS_NONE ? 3 : mode >> c->obeys & 3;

    return !(field & 1) ? c->flushed_in : field & 2 ? c->kept : c->flushed_out;
}

static void test_denormals_of_each_type_follow_their_field(void **state)
{
    /* every field by itself and together; both flushed is no case of its own */
    static const uint32_t modes[] = {0xf0, 0xd0, 0xe0, 0x70, 0xb0, 0x50, 0xa0};

    (void)state;
    for (size_t n = 0; n < sizeof(denormals) / sizeof(denormals[0]); n++)
        for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
            const struct denormal_case *c = &denormals[n];
            bool wide = strncmp(c->target, "gfx9", 4) == 0;
            bool pair = strstr(c->text, "v[0:1]") != NULL;
            struct asm_state *st = asm_new(c->target, wide ? 64 : 32);
            uint64_t want = expected(c, modes[m]), got;

            st->mode = (st->mode & ~0xf0u) | modes[m];
            put64(st, 0, 0);
            put64(st, 2, c->a);
            put64(st, 4, c->b);
            put64(st, 6, c->c);
            asm_run(st, c->text);
            got = st->v[0][1] | (pair ? (uint64_t)st->v[1][1] << 32 : 0);
            if (got != want)
                fail_msg("%s with MODE %#x: %s: want %#llx, got %#llx",
                         c->target, modes[m], c->text, (unsigned long long)want,
                         (unsigned long long)got);
            asm_free(st);
        }
}

/* 1 + 2^-24 and the like: to nearest, up, down, towards zero. */
static const struct {
    const char *text;
    unsigned shift; /* the field's bit in MODE */
    uint64_t a, b;
    uint64_t want[4];
} roundings[] = {
    {"v_add_f32 v0, v2, v4",
     0,
     ONE_F32,
     0x33000000,
     {ONE_F32, ONE_F32 + 1, ONE_F32, ONE_F32}},
    {"v_sub_f32 v0, v2, v4",
     0,
     0xbf800000,
     0x33000000,
     {0xbf800000, 0xbf800000, 0xbf800001, 0xbf800000}},
    {"v_mul_f64 v[0:1], v[2:3], v[4:5]",
     2,
     ONE_F64 + 1,
     ONE_F64 + 1,
     {ONE_F64 + 2, ONE_F64 + 3, ONE_F64 + 2, ONE_F64 + 2}},
    {"v_add_f16 v0, v2, v4",
     2,
     0x3c00,
     0x0c00,
     {0x3c00, 0x3c01, 0x3c00, 0x3c00}},
    {"v_cvt_f16_f32 v0, v2",
     2,
     ONE_F32 + 1,
     0,
     {0x3c00, 0x3c01, 0x3c00, 0x3c00}},
    {"v_cvt_f32_f64 v0, v[2:3]",
     2,
     ONE_F64 + 1,
     0,
     {ONE_F32, ONE_F32 + 1, ONE_F32, ONE_F32}},
    {"v_cvt_f32_u32 v0, v2",
     0,
     0xffffffff,
     0,
     {0x4f800000, 0x4f800000, 0x4f7fffff, 0x4f7fffff}},
    /* these know no rounding mode */
    {"v_cvt_pkrtz_f16_f32 v0, v2, v4",
     2,
     ONE_F32 + 0x1fff,
     0xbf801fff,
     {0xbc003c00, 0xbc003c00, 0xbc003c00, 0xbc003c00}},
    {"v_dot2_f32_f16 v0, v6, v6, v2",
     0,
     ONE_F32,
     0,
     {ONE_F32, ONE_F32, ONE_F32, ONE_F32}},
    {"v_mfma_f32_4x4x4_16b_f16 v[8:11], v[6:7], v[6:7], v[12:15]\n"
     "s_nop 7\nv_mov_b32 v0, v8",
     0,
     0,
     0,
     {ONE_F32, ONE_F32, ONE_F32, ONE_F32}},
};

static void test_rounding_of_each_type_follows_its_field(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(roundings) / sizeof(roundings[0]); n++)
        for (unsigned mode = 0; mode < 4; mode++) {
            struct asm_state *st = asm_new("gfx942", 64);
            bool pair = strstr(roundings[n].text, "v[0:1]") != NULL;
            uint64_t got;

            st->mode = (st->mode & ~0xfu) | mode << roundings[n].shift;
            put64(st, 0, 0);
            put64(st, 2, roundings[n].a);
            put64(st, 4, roundings[n].b);
            put64(st, 6, 0x0c00); /* 2^-12, squared: half an ulp of 1 */
            put64(st, 12, ONE_F32 * UINT64_C(0x100000001));
            put64(st, 14, ONE_F32 * UINT64_C(0x100000001));
            asm_run(st, roundings[n].text);
            got = st->v[0][1] | (pair ? (uint64_t)st->v[1][1] << 32 : 0);
            if (got != roundings[n].want[mode])
                fail_msg("rounding %u: %s: want %#llx, got %#llx", mode,
                         roundings[n].text,
                         (unsigned long long)roundings[n].want[mode],
                         (unsigned long long)got);
            asm_free(st);
        }
}

/* f32 and f64 rules may alternate from one instruction to the next. */
static void test_kinds_may_alternate(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->mode = (st->mode & ~0xffu) | 0xc3; /* f32: to zero, flushed */
    put64(st, 2, MIN_F32);
    put64(st, 4, HALF_F32);
    put64(st, 6, DEN_F64);
    put64(st, 8, ONE_F64);
    asm_run(st, "v_mul_f64 v[20:21], v[6:7], v[8:9]\n"
                "v_mul_f32 v22, v2, v4\n"
                "v_mfma_f32_4x4x1_16b_f32 v[24:27], v4, v4, 0\n"
                "v_mul_f32 v23, v2, v4\n"
                "v_mul_f64 v[28:29], v[6:7], v[8:9]\n");
    assert_int_equal(st->v[21][0], DEN_F64 >> 32);
    assert_int_equal(st->v[29][0], DEN_F64 >> 32);
    assert_int_equal(st->v[22][0], 0);
    assert_int_equal(st->v[23][0], 0);
    assert_int_equal(st->v[24][0], 0x3e800000);
    asm_free(st);
}

/* ---- gfx9: vector instructions are skipped, of every kind ---- */

static void test_s_setvskip_skips_vector_instructions(void **state)
{
    static const char *const targets[] = {"gfx906", "gfx90a", "gfx942",
                                          "gfx950"};

    (void)state;
    for (size_t n = 0; n < sizeof(targets) / sizeof(targets[0]); n++) {
        struct asm_state *st = asm_new(targets[n], 64);

        memset(st->lds, 0, sizeof(st->lds));
        for (unsigned lane = 0; lane < 64; lane++) {
            st->v[0][lane] = lane;
            st->v[1][lane] = 4 * lane;
            st->v[5][lane] = 0;
        }
        st->s[4] = 1u << 7;
        st->s[8] = st->s[9] = 1;
        st->s[SREG_VCC] = 0x12345678;
        for (unsigned i = 12; i < 16; i++) /* an unmapped address */
            st->s[i] = 0xfffffff0;
        asm_run(st, "s_setvskip s4, 7\n"
                    "v_mov_b32 v0, 9\n"
                    "v_cmp_eq_u32 vcc, v0, v0\n"
                    "v_readfirstlane_b32 s8, v1\n"
                    "v_readlane_b32 s9, v1, 3\n"
                    "ds_write_b32 v1, v1\n"
                    "flat_load_dword v0, v[2:3]\n"
                    "global_store_dword v[2:3], v1, off\n"
                    "buffer_load_dword v0, v1, s[12:15], 0 offen\n"
                    "s_mov_b32 s10, 5\n"
                    "s_setvskip s4, 8\n"
                    "v_mov_b32 v5, 7\n"
                    "s_getreg_b32 s11, hwreg(HW_REG_MODE)\n"
                    "s_setvskip s4, 39\n" /* five bits: 7 */
                    "v_mov_b32 v5, 8\n"
                    "s_getreg_b32 s12, hwreg(HW_REG_MODE)");
        for (unsigned lane = 0; lane < 64; lane++) {
            assert_int_equal(st->v[0][lane], lane);
            assert_int_equal(st->v[5][lane], 7);
        }
        assert_int_equal(st->s[8], 1);
        assert_int_equal(st->s[9], 1);
        assert_int_equal(st->s[10], 5);
        assert_int_equal(st->lds[4], 0);
        assert_int_equal(st->s[SREG_VCC], 0x12345678);
        assert_int_equal(st->s[11] >> 28 & 1, 0);
        assert_int_equal(st->s[12] >> 28 & 1, 1);
        asm_free(st);
    }
}

/* A wave that skips a loop's body ends it all the same. */
static void test_scalar_code_goes_on_while_vector_code_is_skipped(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->s[4] = 0;
    memset(st->v[0], 0, sizeof(st->v[0]));
    asm_run(st, "loop:\n"
                "s_and_b32 s5, s4, 1\n"
                "s_setvskip s5, 0\n"
                "v_add_u32 v0, 1, v0\n"
                "s_add_u32 s4, s4, 1\n"
                "s_cmp_lt_u32 s4, 10\n"
                "s_cbranch_scc1 loop\n");
    assert_int_equal(st->s[4], 10);
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(st->v[0][lane], 5);
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denormals_of_each_type_follow_their_field),
        cmocka_unit_test(test_rounding_of_each_type_follows_its_field),
        cmocka_unit_test(test_kinds_may_alternate),
        cmocka_unit_test(test_s_setvskip_skips_vector_instructions),
        cmocka_unit_test(test_scalar_code_goes_on_while_vector_code_is_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
