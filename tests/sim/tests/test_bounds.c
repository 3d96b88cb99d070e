/* test_bounds.c - the work that is counted for bounds, and the bounds
 *
 * Kernels in assembly, whose work is worked out by hand beside each check.
 */
#include "asm.h"

#include "sim/base/cards.h"
#include "sim/base/config.h"
#include "sim/base/time_bounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The environment is read when the switches are first asked for. */
static int count_bounds(void **state)
{
    (void)state;
    assert_int_equal(setenv("KPK_SIM_STATS", "bounds", 1), 0);
    assert_true(sim_config()->bounds);
    assert_true(sim_config()->print_bounds);
    assert_false(sim_config()->stats);
    sim_config_mutable()->print_bounds = false;
    return 0;
}

static int count_no_bounds(void **state)
{
    (void)state;
    sim_config_mutable()->bounds = false;
    return 0;
}

/* s[4:5] is the address of the buffer, v0 the work-item, v1 four times that. */
#define GFX9                                                                   \
    "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"                                     \
    "v_and_b32 v0, 0x3ff, v0\n"                                                \
    "v_lshlrev_b32 v1, 2, v0\n"                                                \
    "s_waitcnt lgkmcnt(0)\n"
#define GFX11                                                                  \
    "s_load_b64 s[4:5], s[0:1], 0x0\n"                                         \
    "v_and_b32 v0, 0x3ff, v0\n"                                                \
    "v_lshlrev_b32 v1, 2, v0\n"                                                \
    "s_waitcnt lgkmcnt(0)\n"
#define GFX12                                                                  \
    "s_load_b64 s[4:5], s[0:1], 0x0\n"                                         \
    "v_and_b32 v0, 0x3ff, v0\n"                                                \
    "v_lshlrev_b32 v1, 2, v0\n"                                                \
    "s_wait_kmcnt 0x0\n"

static struct sim_stats run(const char *target, unsigned wave_size,
                            unsigned groups, unsigned block, const char *text,
                            struct sim_alloc *buffer)
{
    struct asm_launch l = {.target = target,
                           .wave_size = wave_size,
                           .text = text,
                           .groups = groups,
                           .block = block,
                           .lds_nbytes = 32768,
                           .kernarg = buffer ? &buffer->base : NULL,
                           .kernarg_nbytes = buffer ? 8 : 0};

    if (!asm_dispatch(&l))
        fail_msg("%s: %s", target, l.fault.text);
    return l.stats;
}

static struct sim_alloc *buffer_of(size_t n)
{
    struct sim_alloc *a = sim_mem_alloc(0, n, 4096, SIM_MEM_DEVICE);

    assert_non_null(a);
    memset(a->bytes, 0, n);
    return a;
}

static void assert_near(double got, double want)
{
    if (got < want * 0.999999 || got > want * 1.000001)
        fail_msg("%.9g is not %.9g", got, want);
}

/* ---- ALUs ---- */

static void test_mfma_loop_is_bound_by_the_matrix_pipe(void **state)
{
    struct sim_stats s =
        run("gfx942", 64, 8, 256,
            "s_mov_b32 s6, 100\n"
            "loop: v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], v[8:11]\n"
            "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], v[16:31]\n"
            "s_sub_u32 s6, s6, 1\n"
            "s_cmp_lg_u32 s6, 0\n"
            "s_cbranch_scc1 loop\n",
            NULL);
    struct sim_bounds b;

    (void)state;
    /* 8 groups of 4 waves, 100 rounds, 16 and 32 cycles. */
    assert_int_equal(s.work.matrix_insns, 32 * 200);
    assert_int_equal(s.work.matrix_cycles, 32 * 100 * 48);
    assert_int_equal(s.work.matrix_blocks_valu, 0);
    assert_int_equal(s.work.matrix_unknown, 0);
    assert_int_equal(s.work.salu_insns, 32 * 201);
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_int_equal(b.largest, SIM_PIPE_MATRIX);
    /* 32 waves on 32 SIMDs of 8 compute units at 2.1 GHz. */
    assert_near(b.ns[SIM_PIPE_MATRIX], 100 * 48 / 2.1);
    assert_near(b.ns[SIM_PIPE_SALU], 4 * 201 / 2.1);
    assert_near(b.ns[SIM_PIPE_VALU], 0);
    sim_bounds_of(sim_card_of("gfx942"), &s, true, &b);
    /* the same work on all 1216 SIMDs */
    assert_near(b.ns[SIM_PIPE_MATRIX], 32 * 100 * 48 / (1216 * 2.1));
}

static void test_f64_mfma_and_wmma_keep_the_vector_alu_busy(void **state)
{
    struct sim_stats s =
        run("gfx90a", 64, 1, 64,
            "v_mfma_f64_16x16x4f64 v[8:15], v[2:3], v[4:5], v[8:15]\n"
            "v_mfma_i32_16x16x16i8 v[8:11], v2, v4, v[8:11]\n",
            NULL);

    (void)state;
    assert_int_equal(s.work.matrix_cycles, 32 + 32);
    assert_int_equal(s.work.matrix_blocks_valu, 32);
    s = run("gfx1100", 32, 1, 32,
            "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]\n"
            "v_wmma_i32_16x16x16_iu4 v[8:15], v[16:17], v[24:25], v[8:15]\n",
            NULL);
    assert_int_equal(s.work.matrix_cycles, 32 + 16);
    assert_int_equal(s.work.matrix_blocks_valu, 32 + 16);
}

static void test_f8f6f4_takes_twice_as_long_for_8_bits(void **state)
{
    static const char eight[] =
        "v_mfma_f32_16x16x128_f8f6f4 v[8:11], v[16:23], v[24:31], v[8:11]\n";
    static const char four[] =
        "v_mfma_f32_16x16x128_f8f6f4 v[8:11], v[16:19], v[24:27], v[8:11] "
        "cbsz:4 blgp:4\n";
    static const char mixed[] =
        "v_mfma_f32_16x16x128_f8f6f4 v[8:11], v[16:23], v[24:27], v[8:11] "
        "blgp:4\n";

    (void)state;
    assert_int_equal(run("gfx950", 64, 1, 64, eight, NULL).work.matrix_cycles,
                     32);
    assert_int_equal(run("gfx950", 64, 1, 64, four, NULL).work.matrix_cycles,
                     16);
    assert_int_equal(run("gfx950", 64, 1, 64, mixed, NULL).work.matrix_cycles,
                     32);
}

static const struct {
    const char *target;
    unsigned wave_size;
    const char *insn;
    enum sim_rate rate;
    unsigned valu, trans; /* cycles per wave */
} rate_cases[] = {
    /* clang-format off */
    {"gfx942",  64, "v_add_f32 v2, v3, v4",                    SIM_RATE_FULL,     4, 0},
    {"gfx942",  64, "v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9]", SIM_RATE_PACKED, 4, 0},
    {"gfx908",  64, "v_pk_fma_f16 v2, v3, v4, v5",             SIM_RATE_PACKED,   4, 0},
    {"gfx908",  64, "v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]", SIM_RATE_F64,     8, 0},
    {"gfx90a",  64, "v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]", SIM_RATE_F64,     4, 0},
    {"gfx942",  64, "v_cvt_f64_f32 v[2:3], v4",                SIM_RATE_F64,      4, 0},
    {"gfx942",  64, "v_rcp_f64 v[2:3], v[4:5]",                SIM_RATE_F64,     16, 0},
    {"gfx1030", 32, "v_mul_f64 v[2:3], v[4:5], v[6:7]",        SIM_RATE_F64,     16, 0},
    {"gfx1100", 32, "v_cvt_f32_f64 v2, v[4:5]",                SIM_RATE_F64,     16, 0},
    {"gfx1100", 64, "v_add_f64 v[2:3], v[4:5], v[6:7]",        SIM_RATE_F64,     32, 0},
    {"gfx942",  64, "v_exp_f32 v2, v3",                        SIM_RATE_TRANS,   16, 0},
    {"gfx950",  64, "v_exp_f32 v2, v3",                        SIM_RATE_TRANS,    8, 0},
    {"gfx1030", 32, "v_rcp_f32 v2, v3",                        SIM_RATE_TRANS,    1, 4},
    {"gfx1030", 64, "v_rcp_f32 v2, v3",                        SIM_RATE_TRANS,    2, 8},
    {"gfx1201", 32, "v_s_exp_f32 s2, s3",                      SIM_RATE_TRANS,    1, 4},
    {"gfx908",  64, "v_mul_lo_u32 v2, v3, v4",                 SIM_RATE_QUARTER, 16, 0},
    {"gfx942",  64, "v_mul_lo_u32 v2, v3, v4",                 SIM_RATE_FULL,     4, 0},
    {"gfx1201", 32, "v_mul_lo_u32 v2, v3, v4",                 SIM_RATE_QUARTER,  4, 0},
    {"gfx908",  64, "v_lshlrev_b64 v[2:3], v4, v[6:7]",        SIM_RATE_HALF,     8, 0},
    {"gfx90a",  64, "v_lshlrev_b64 v[2:3], v4, v[6:7]",        SIM_RATE_FULL,     4, 0},
    {"gfx1030", 32, "v_cmp_lt_u64 vcc_lo, v[2:3], v[4:5]",     SIM_RATE_HALF,     2, 0},
    {"gfx1030", 32, "v_add_f32 v2, v3, v4",                    SIM_RATE_FULL,     1, 0},
    {"gfx1030", 64, "v_add_f32 v2, v3, v4",                    SIM_RATE_FULL,     2, 0},
    /* RDNA 3 has 64 lanes for what dual issue can do. */
    {"gfx1100", 64, "v_add_f32 v2, v3, v4",                    SIM_RATE_FULL,     1, 0},
    {"gfx1100", 64, "v_xor_b32 v2, v3, v4",                    SIM_RATE_FULL,     2, 0},
    {"gfx1100", 32, "v_dual_add_f32 v2, v3, v4 :: v_dual_mul_f32 v5, v6, v7", SIM_RATE_DUAL, 1, 0},
    {"gfx1100", 32, "v_dot4_i32_iu8 v2, v3, v4, v5",           SIM_RATE_FULL,     1, 0},
    /* clang-format on */
};

static void test_vector_instructions_cost_their_rate(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rate_cases) / sizeof(rate_cases[0]); i++) {
        struct sim_work w =
            run(rate_cases[i].target, rate_cases[i].wave_size, 1,
                rate_cases[i].wave_size, rate_cases[i].insn, NULL)
                .work;
        enum sim_rate rate = rate_cases[i].rate;

        if (w.valu_insns[rate] != 1 ||
            w.valu_cycles[rate] != rate_cases[i].valu ||
            w.trans_cycles != rate_cases[i].trans)
            fail_msg("%s in waves of %u: %s: %llu of its rate, %llu and %llu "
                     "cycles",
                     rate_cases[i].target, rate_cases[i].wave_size,
                     rate_cases[i].insn, (unsigned long long)w.valu_insns[rate],
                     (unsigned long long)w.valu_cycles[rate],
                     (unsigned long long)w.trans_cycles);
    }
}

static void test_rdna_skips_the_half_of_a_wave_that_is_off(void **state)
{
    struct sim_work w = run("gfx1030", 64, 1, 64,
                            "v_xor_b32 v2, v3, v4\n"
                            "s_mov_b64 exec, 1\n"
                            "v_xor_b32 v2, v3, v4\n"
                            "s_mov_b64 exec, 0\n"
                            "v_xor_b32 v2, v3, v4\n",
                            NULL)
                            .work;

    (void)state;
    assert_int_equal(w.valu_insns[SIM_RATE_FULL], 3);
    assert_int_equal(w.valu_cycles[SIM_RATE_FULL], 2 + 1 + 1);
}

/* ---- LDS ---- */

/* LDS cycles and conflicts of one instruction, lane i at at[i]. */
static struct sim_work lds(const char *target, const uint32_t at[64],
                           const char *insn)
{
    bool gfx9 = strncmp(target, "gfx9", 4) == 0;
    struct sim_alloc *a = buffer_of(256);
    char text[512];
    struct sim_work w;

    memcpy(a->bytes, at, 256);
    snprintf(text, sizeof(text), "%s%s v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n%s",
             gfx9 ? GFX9 : GFX11,
             gfx9 ? "global_load_dword" : "global_load_b32", insn);
    w = run(target, gfx9 ? 64 : 32, 1, gfx9 ? 64 : 32, text, a).work;
    sim_mem_free(a->base);
    assert_int_equal(w.lds_insns, 1);
    return w;
}

static void strided(uint32_t at[64], uint32_t step)
{
    for (uint32_t i = 0; i < 64; i++)
        at[i] = i * step;
}

static void assert_lds(struct sim_work w, unsigned cycles, unsigned conflicts)
{
    assert_int_equal(w.lds_cycles, cycles);
    assert_int_equal(w.lds_conflict_cycles, conflicts);
}

static void test_lds_dwords_conflict_by_stride(void **state)
{
    uint32_t at[64];

    (void)state;
    strided(at, 4); /* 32 lanes, 32 banks, twice */
    assert_lds(lds("gfx942", at, "ds_read_b32 v3, v2"), 2, 0);
    assert_lds(lds("gfx942", at, "ds_write_b32 v2, v3"), 2, 0);
    assert_lds(lds("gfx1100", at, "ds_load_b32 v3, v2"), 1, 0);
    strided(at, 8); /* two dwords in each of 16 banks */
    assert_lds(lds("gfx942", at, "ds_read_b32 v3, v2"), 4, 2);
    strided(at, 128); /* one bank, 32 dwords */
    assert_lds(lds("gfx942", at, "ds_read_b32 v3, v2"), 64, 62);
    assert_lds(lds("gfx1100", at, "ds_load_b32 v3, v2"), 32, 31);
    strided(at, 132); /* a row of 33 dwords: none */
    assert_lds(lds("gfx942", at, "ds_read_b32 v3, v2"), 2, 0);
    strided(at, 0); /* one dword for every lane */
    assert_lds(lds("gfx942", at, "ds_read_b32 v3, v2"), 2, 0);
    strided(at, 1); /* eight dwords, four lanes each */
    assert_lds(lds("gfx942", at, "ds_read_u8 v3, v2"), 2, 0);
    strided(at, 8); /* read2 is two accesses: dwords 2i and 2i + 1 */
    assert_lds(lds("gfx942", at, "ds_read2_b32 v[4:5], v2 offset1:1"), 8, 4);
}

static void test_wide_lds_accesses_go_in_phases(void **state)
{
    uint32_t at[64];

    (void)state;
    strided(at, 8); /* 16 lanes fill 32 banks */
    assert_lds(lds("gfx942", at, "ds_read_b64 v[4:5], v2"), 4, 0);
    assert_lds(lds("gfx1100", at, "ds_load_b64 v[4:5], v2"), 2, 0);
    assert_lds(lds("gfx950", at, "ds_read_b64 v[4:5], v2"), 2, 0);
    assert_lds(lds("gfx950", at, "ds_write_b64 v2, v[4:5]"), 4, 0);
    strided(at, 16); /* 8 lanes */
    assert_lds(lds("gfx942", at, "ds_read_b128 v[4:7], v2"), 8, 0);
    assert_lds(lds("gfx942", at, "ds_write_b128 v2, v[4:7]"), 8, 0);
    assert_lds(lds("gfx950", at, "ds_read_b128 v[4:7], v2"), 4, 0);
    assert_lds(lds("gfx1100", at, "ds_load_b128 v[4:7], v2"), 4, 0);
    strided(at, 256); /* 8 lanes on the same four banks */
    assert_lds(lds("gfx942", at, "ds_write_b128 v2, v[4:7]"), 64, 56);
}

/* Quads (0,1), (2,3)... use the same half of the banks, pair by pair. Reads
 * pair quads (0,5), (1,4), (2,7), (3,6) in a phase, which use different halves.
 */
static void test_reads_of_128_bits_pair_other_lanes_than_writes(void **state)
{
    static const unsigned half_of_quad[] = {0, 0, 1, 1, 1, 1, 0, 0};
    uint32_t at[64];

    (void)state;
    for (uint32_t i = 0; i < 64; i++)
        at[i] = 128 * (i / 4) + 64 * half_of_quad[i / 4 % 8] + 16 * (i % 4);
    assert_lds(lds("gfx90a", at, "ds_read_b128 v[4:7], v2"), 8, 0);
    assert_lds(lds("gfx90a", at, "ds_write_b128 v2, v[4:7]"), 16, 8);
}

static unsigned gcd(unsigned a, unsigned b)
{
    return b ? gcd(b, a % b) : a;
}

/*
 * Lane i at s elements of n bytes from the one before. A phase is L lanes that
 * take all B banks, consecutive ones but for places mod L, so on each bank come
 * gcd(s, L) of them. gfx950 reads dwords of 32 lanes from 64 banks.
 */
static void test_lds_conflicts_are_those_of_the_stride(void **state)
{
    static const struct {
        const char *target, *insn;
        unsigned n, lanes; /* of a phase */
    } cases[] = {
        {"gfx90a", "ds_read_b32 v4, v2", 4, 32},
        {"gfx942", "ds_read_b64 v[4:5], v2", 8, 16},
        {"gfx942", "ds_read_b128 v[4:7], v2", 16, 8},
        {"gfx942", "ds_write_b128 v2, v[4:7]", 16, 8},
        {"gfx950", "ds_read_b64 v[4:5], v2", 8, 32},
        {"gfx950", "ds_read_b128 v[4:7], v2", 16, 16},
        {"gfx950", "ds_write_b64 v2, v[4:5]", 8, 16},
        {"gfx1100", "ds_load_b64 v[4:5], v2", 8, 16},
        {"gfx1100", "ds_store_b128 v2, v[4:7]", 16, 8},
    };
    uint32_t at[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (unsigned s = 1; s <= 32; s += s < 12 ? 1 : 5) {
            unsigned lanes = cases[i].target[3] == '9' ? 64 : 32;
            unsigned phases = lanes / cases[i].lanes;
            unsigned each = gcd(s, cases[i].lanes);

            strided(at, s * cases[i].n);
            assert_lds(lds(cases[i].target, at, cases[i].insn), phases * each,
                       phases * (each - 1));
        }
    for (unsigned s = 1; s <= 64; s *= 2) {
        strided(at, 4 * s);
        assert_int_equal(lds("gfx950", at, "ds_read_b32 v4, v2").lds_cycles,
                         2 * (s < 2 ? 1 : s / 2));
    }
    /* 8 lanes of 12 bytes lie in 24 banks; 96 dwords apart all in three. Reads
     * pair lanes 0 to 3, on banks 0 to 11, with 20 to 23, on 28 to 31, 0 to 7.
     */
    strided(at, 12);
    assert_lds(lds("gfx942", at, "ds_read_b96 v[4:6], v2"), 16, 8);
    assert_lds(lds("gfx942", at, "ds_write_b96 v2, v[4:6]"), 8, 0);
    strided(at, 384);
    assert_lds(lds("gfx942", at, "ds_write_b96 v2, v[4:6]"), 64, 56);
}

/* By a flat address, LDS has the same banks; memory is not asked. */
static void test_flat_accesses_of_lds_count_there(void **state)
{
    static const char *const text = "s_mov_b64 s[6:7], src_shared_base\n"
                                    "v_lshlrev_b32 v2, 3, v0\n"
                                    "v_mov_b32 v3, s7\n"
                                    "flat_load_dword v4, v[2:3]\n"
                                    "flat_store_dwordx2 v[2:3], v[4:5]\n"
                                    "s_waitcnt vmcnt(0) lgkmcnt(0)\n";
    struct sim_work w = run("gfx942", 64, 1, 64, text, NULL).work;

    (void)state;
    assert_int_equal(w.lds_insns, 2);
    assert_lds(w, 4 + 4, 2); /* two dwords in 16 banks; then 32 banks */
    assert_int_equal(w.segments64, 0);
    assert_int_equal(w.load_bytes, 0);
}

static void test_lds_atomics_on_one_dword_take_turns(void **state)
{
    uint32_t at[64];

    (void)state;
    strided(at, 0);
    assert_lds(lds("gfx942", at, "ds_add_u32 v2, v3"), 64, 62);
    strided(at, 4);
    assert_lds(lds("gfx942", at, "ds_add_u32 v2, v3"), 2, 0);
    assert_lds(lds("gfx942", at, "ds_bpermute_b32 v3, v2, v4"), 2, 0);
}

/* ---- memory ---- */

static void test_partial_segments_and_different_bytes(void **state)
{
    struct sim_alloc *a = buffer_of(65536);
    struct sim_stats s = run("gfx942", 64, 2, 64,
                             GFX9 "v_lshlrev_b32 v2, 6, v0\n"
                                  "global_load_dword v3, v2, s[4:5]\n"
                                  "s_waitcnt vmcnt(0)\n"
                                  "global_load_dword v4, v2, s[4:5] offset:4\n"
                                  "v_add_u32 v5, 0x4000, v2\n"
                                  "global_store_short v5, v3, s[4:5]\n",
                             a);
    struct sim_bounds b;

    (void)state;
    /* Each of 2 waves: 64 lanes, 64 bytes apart, three times. */
    assert_int_equal(s.bytes_read, 2 * 2 * 256);
    assert_int_equal(s.work.segments64, 2 * 3 * 64);
    assert_int_equal(s.work.segments128, 2 * 3 * 32);
    /* Both waves touch the same. */
    assert_int_equal(s.work.read_bytes, 64 * 8);
    assert_int_equal(s.work.read_segments64, 64);
    assert_int_equal(s.work.read_segments128, 32);
    assert_int_equal(s.work.written_bytes, 64 * 2);
    assert_int_equal(s.work.written_segments32, 64);
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_near(b.dram_bytes, 64 * 64 + 64 * 32);
    assert_near(b.ns[SIM_PIPE_DRAM], 6144 / 5325.);
    /* a line of 128 bytes a clock, on 2 compute units */
    assert_near(b.ns[SIM_PIPE_L1], 192. / 2 / 2.1);
    s.work.wave_size = 0;
    sim_bounds_of(sim_card_of("gfx90a"), &s, false, &b);
    assert_near(b.ns[SIM_PIPE_L1], 384. / 2 / 1.7); /* of 64 there */
    sim_mem_free(a->base);
}

static void test_an_access_across_segments_touches_both(void **state)
{
    struct sim_alloc *a = buffer_of(65536);
    struct sim_work w = run("gfx942", 64, 1, 64,
                            GFX9 "s_mov_b64 exec, 1\n"
                                 "global_load_dwordx4 v[4:7], v1, s[4:5] "
                                 "offset:120\n"
                                 "s_load_dwordx4 s[8:11], s[4:5], 0x1000\n",
                            a)
                            .work;

    (void)state;
    assert_int_equal(w.segments64, 2);
    assert_int_equal(w.segments128, 2);
    /* 16 bytes of the vector load, 16 of the scalar one; no kernel argument */
    assert_int_equal(w.read_bytes, 32);
    assert_int_equal(w.read_segments64, 3);
    sim_mem_free(a->base);
}

static void test_atomics_on_one_address_take_turns(void **state)
{
    struct sim_alloc *a = buffer_of(65536);
    struct sim_stats s = run("gfx942", 64, 3, 64,
                             GFX9 "v_mov_b32 v2, 0\n"
                                  "global_atomic_add v2, v0, s[4:5]\n"
                                  "global_atomic_add v1, v0, s[4:5] "
                                  "offset:1024\n",
                             a);
    struct sim_bounds b;

    (void)state;
    assert_int_equal(s.work.atomic_lanes, 3 * 128);
    /* all lanes in one segment; then 256 bytes in four */
    assert_int_equal(s.work.atomic_requests, 3 * 5);
    assert_int_equal(s.work.atomic_hottest, 3 * 64);
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_near(b.ns[SIM_PIPE_ATOMICS], 192 / 2.1);
    sim_mem_free(a->base);
}

static void test_bytes_in_flight_are_those_between_waits(void **state)
{
    static const struct {
        const char *target, *text;
        unsigned wave_size, waits, loads;
    } cases[] = {
        {"gfx942",
         GFX9 "global_load_dword v2, v1, s[4:5]\n"
              "global_load_dword v3, v1, s[4:5] offset:256\n"
              "global_load_dword v4, v1, s[4:5] offset:512\n"
              "s_waitcnt vmcnt(0)\n",
         64, 1, 3},
        {"gfx942",
         GFX9 "global_load_dword v2, v1, s[4:5]\n"
              "s_waitcnt vmcnt(0)\n"
              "global_load_dword v3, v1, s[4:5] offset:256\n"
              "s_waitcnt vmcnt(0)\n"
              "global_load_dword v4, v1, s[4:5] offset:512\n"
              "s_waitcnt vmcnt(0)\n",
         64, 3, 3},
        /* Two at once, the third when the first is there: it comes one latency
         * later than both. The store in between counts but takes no time. */
        {"gfx942",
         GFX9 "global_load_dword v2, v1, s[4:5]\n"
              "global_load_dword v3, v1, s[4:5] offset:256\n"
              "s_waitcnt vmcnt(1)\n"
              "global_load_dword v4, v1, s[4:5] offset:512\n"
              "global_store_dword v1, v0, s[4:5] offset:1024\n"
              "s_waitcnt vmcnt(2)\n"
              "s_waitcnt vmcnt(1)\n",
         64, 2, 3},
        /* Stores have a counter of their own; bits 15:10. */
        {"gfx1100",
         GFX11 "global_load_b32 v2, v1, s[4:5]\n"
               "global_store_b32 v1, v0, s[4:5] offset:1024\n"
               "s_waitcnt vmcnt(1)\n"
               "s_waitcnt vmcnt(0)\n",
         32, 1, 1},
        {"gfx1100",
         GFX11 "global_load_b32 v2, v1, s[4:5]\n"
               "global_load_b32 v3, v1, s[4:5] offset:256\n"
               "s_waitcnt_vmcnt null, 0x1\n"
               "global_load_b32 v4, v1, s[4:5] offset:512\n"
               "s_waitcnt_vmcnt null, 0x0\n",
         32, 2, 3},
        {"gfx1201",
         GFX12 "global_load_b32 v2, v1, s[4:5]\n"
               "global_load_b32 v3, v1, s[4:5] offset:256\n"
               "s_wait_loadcnt 0x1\n"
               "global_load_b32 v4, v1, s[4:5] offset:512\n"
               "s_wait_loadcnt_dscnt 0x0\n",
         32, 2, 3},
        /* Nobody waits for it. */
        {"gfx1201", GFX12 "global_load_b32 v2, v1, s[4:5]\n", 32, 0, 1},
    };
    struct sim_alloc *a = buffer_of(65536);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned lanes = cases[i].wave_size;
        struct sim_work w =
            run(cases[i].target, lanes, 1, 2 * lanes, cases[i].text, a).work;

        assert_int_equal(w.load_waits, 2 * cases[i].waits);
        assert_int_equal(w.load_bytes, 2 * cases[i].loads * 4 * lanes);
    }
    sim_mem_free(a->base);
}

static void test_bytes_in_flight_of_a_unit_are_those_of_its_waves(void **state)
{
    struct sim_stats s = {.waves = 1};
    struct sim_bounds b;

    (void)state;
    s.work.waves_by_registers = 8;
    s.work.groups_by_lds = UINT32_MAX;
    s.work.load_bytes = 1000 * 512;
    s.work.load_waits = 500;
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_near(b.in_flight_bytes, 1024 * 8 * 4);
    assert_near(b.needed_bytes, 5325. * 600 / 304);
    sim_bounds_of(sim_card_of("gfx1201"), &s, false, &b);
    assert_near(b.in_flight_bytes, 1024 * 8 * 2); /* two SIMDs there */
    /* Groups of 12 waves: two of them in the room of 32, 24 on four SIMDs. */
    s.work.waves_per_group = 12;
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_near(b.waves_per_simd, 6);
    assert_near(b.in_flight_bytes, 1024 * 24);
    /* Two compute units of 16 have room for two such groups, not one each. */
    s.work.groups_share_cus = 1;
    sim_bounds_of(sim_card_of("gfx1100"), &s, false, &b);
    assert_near(b.waves_per_simd, 6);
}

/* A launch's waves on a SIMD: 64 VGPRs leave room for 8 of 64 lanes on gfx9,
 * for 16 of 32 on RDNA. LDS is a compute unit's; its granules are 512 bytes,
 * 1280 on gfx950, 1024 on RDNA. */
static void test_waves_are_those_of_groups_that_fit(void **state)
{
    static const struct {
        const char *target;
        unsigned wave, block, lds;
        double waves;
    } cases[] = {
        {"gfx90a", 64, 64, 0, 8},        {"gfx90a", 64, 320, 0, 7.5},
        {"gfx942", 64, 64, 32768, 0.5},  {"gfx942", 64, 64, 20000, 0.75},
        {"gfx942", 64, 256, 16384, 4},   {"gfx942", 64, 128, 16385, 1.5},
        {"gfx942", 64, 1024, 65536, 4},  {"gfx908", 64, 64, 0, 4},
        {"gfx950", 64, 64, 32768, 1},    {"gfx950", 64, 256, 81920, 2},
        {"gfx1030", 32, 32, 32768, 1},   {"gfx1100", 32, 64, 20000, 3},
        {"gfx1151", 32, 256, 65536, 4},  {"gfx1201", 32, 1024, 0, 16},
        {"gfx1201", 32, 32, 16385, 1.5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct asm_launch l = {.target = cases[i].target,
                               .wave_size = cases[i].wave,
                               .text = "",
                               .groups = 1,
                               .block = cases[i].block,
                               .lds_nbytes = cases[i].lds};
        struct sim_stats total = {.waves = 7};
        struct sim_bounds b;

        assert_true(asm_dispatch(&l));
        sim_stats_add(&total, &l.stats); /* like the runtime's sums */
        sim_bounds_of(sim_card_of(cases[i].target), &total, false, &b);
        if (b.waves_per_simd != cases[i].waves)
            fail_msg("%s, groups of %u and %u bytes: %g waves, not %g",
                     cases[i].target, cases[i].block, cases[i].lds,
                     b.waves_per_simd, cases[i].waves);
    }
}

/* ---- dies ---- */

/* A group works if its ID has none of the bits of `off`; 64 groups run. */
static void test_dies_are_even_where_groups_that_work_are(void **state)
{
    static const struct {
        const char *target, *off;
        unsigned working, percent;
    } cases[] = {
        {"gfx942", "0", 64, 100}, {"gfx942", "1", 32, 50},
        {"gfx942", "7", 8, 12},   {"gfx942", "8", 32, 100},
        {"gfx942", "56", 8, 100}, {"gfx942", "63", 1, 100},
        {"gfx90a", "7", 8, 100}, /* one die */
    };
    struct sim_alloc *a = buffer_of(4096);
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sim_bounds b;
        struct sim_stats s;
        uint64_t all = 0;

        (void)snprintf(text, sizeof(text),
                       "s_and_b32 s3, s2, %s\n"
                       "s_cmp_lg_u32 s3, 0\n"
                       "s_cbranch_scc1 end\n" GFX9
                       "global_store_dword v1, v0, s[4:5]\n"
                       "end:\n",
                       cases[i].off);
        s = run(cases[i].target, 64, 64, 64, text, a);
        sim_bounds_of(sim_card_of(cases[i].target), &s, false, &b);
        for (unsigned d = 0; d < SIM_DIES; d++)
            all += s.work.die_segments[d];
        assert_int_equal(s.work.working_groups, cases[i].working);
        assert_int_equal(all, 4 * cases[i].working);
        assert_int_equal((int)b.dies_percent, cases[i].percent);
    }
    sim_mem_free(a->base);
}

/* With nine groups on eight dies, one die has two groups. */
static void test_dies_are_even_where_one_has_a_group_more(void **state)
{
    struct sim_stats s = {.work.working_groups = 9};
    struct sim_bounds b;

    (void)state;
    for (unsigned i = 0; i < SIM_DIES; i++)
        s.work.die_segments[i] = i ? 10 : 20;
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_near(b.dies_percent, 100);
    s.work.die_segments[0] = 10;
    s.work.die_segments[1] = 0;
    s.work.die_segments[2] = 30;
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_near(b.dies_percent, 200 / 3.);
}

/* ---- the rest ---- */

static void test_small_grids_leave_compute_units_idle(void **state)
{
    struct sim_stats s = {.workgroups = 3, .waves = 3};
    struct sim_bounds b;

    (void)state;
    s.work.valu_cycles[SIM_RATE_FULL] = 3000;
    s.work.lds_cycles = 3000;
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_near(b.ns[SIM_PIPE_VALU], 1000 / 2.1); /* a SIMD each */
    assert_near(b.ns[SIM_PIPE_LDS], 1000 / 2.1);
    s.waves = 48; /* 16 a group: all four SIMDs of each unit */
    sim_bounds_of(sim_card_of("gfx942"), &s, false, &b);
    assert_near(b.ns[SIM_PIPE_VALU], 250 / 2.1);
    s.work.groups_share_cus = 1; /* and the neighbour's SIMDs */
    sim_bounds_of(sim_card_of("gfx1100"), &s, false, &b);
    assert_near(b.ns[SIM_PIPE_VALU], 250 / 2.5);
    assert_near(b.ns[SIM_PIPE_LDS], 500 / 2.5);
}

static void test_nothing_is_counted_unless_asked_for(void **state)
{
    static const struct sim_work nothing;
    struct sim_alloc *a = buffer_of(65536);
    struct sim_work w;

    (void)state;
    sim_config_mutable()->bounds = false;
    w = run("gfx942", 64, 1, 64,
            GFX9 "global_load_dword v2, v1, s[4:5]\n"
                 "s_waitcnt vmcnt(0)\n"
                 "ds_write_b32 v1, v2\n"
                 "global_atomic_add v1, v0, s[4:5]\n",
            a)
            .work;
    sim_config_mutable()->bounds = true;
    w.wave_size = w.waves_per_group = w.groups_share_cus = 0;
    w.waves_by_registers = w.groups_by_lds = 0;
    assert_memory_equal(&w, &nothing, sizeof(w));
    sim_mem_free(a->base);
}

/* Launches a kernel and captures its output on stderr. */
static void printed(const char *target, const char *text, char *out, size_t n)
{
    FILE *file = tmpfile();
    int old = dup(2);
    size_t got;

    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), 2);
    sim_config_mutable()->print_bounds = true;
    run(target, 64, 8, 256, text, NULL);
    sim_config_mutable()->print_bounds = false;
    fflush(stderr);
    dup2(old, 2);
    close(old);
    rewind(file);
    got = fread(out, 1, n - 1, file);
    out[got] = '\0';
    (void)fclose(file);
}

static void test_a_launch_prints_its_bounds(void **state)
{
    char text[4096];

    (void)state;
    printed("gfx942",
            "v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], v[16:31]\n"
            "v_add_f32 v2, v3, v4\n",
            text, sizeof(text));
    /* A wave on each SIMD of 8 compute units: 32 cycles at 2.1 GHz, and 4. */
    assert_non_null(strstr(text, "asm on gfx942, MI300X: bounds, no times: at "
                                 "least 0.02 us, by the matrix pipe\n"
                                 "  matrix pipe 100 %, vector ALU 12 %\n"));
    assert_non_null(strstr(text, "full 32/128; matrix 32/1024; scalar 0\n"));
    printed("gfx942", "", text, sizeof(text));
    assert_non_null(strstr(text, "at least 0.00 us, by nothing\n"));
    printed("gfx906", "v_add_f32 v2, v3, v4\n", text, sizeof(text));
    assert_non_null(strstr(text, "no card stands for gfx906"));
}

static void test_every_number_of_a_card_has_a_source(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sim_ncards; i++) {
        assert_non_null(sim_target_by_name(sim_cards[i].target));
#define X(field, what)                                                         \
    assert_true(sim_cards[i].field.value > 0);                                 \
    assert_non_null(sim_cards[i].field.source);
        SIM_CARD_NUMBERS(X)
#undef X
    }
    assert_null(sim_card_of("gfx1010"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mfma_loop_is_bound_by_the_matrix_pipe),
        cmocka_unit_test(test_f64_mfma_and_wmma_keep_the_vector_alu_busy),
        cmocka_unit_test(test_f8f6f4_takes_twice_as_long_for_8_bits),
        cmocka_unit_test(test_vector_instructions_cost_their_rate),
        cmocka_unit_test(test_rdna_skips_the_half_of_a_wave_that_is_off),
        cmocka_unit_test(test_lds_dwords_conflict_by_stride),
        cmocka_unit_test(test_wide_lds_accesses_go_in_phases),
        cmocka_unit_test(test_reads_of_128_bits_pair_other_lanes_than_writes),
        cmocka_unit_test(test_lds_conflicts_are_those_of_the_stride),
        cmocka_unit_test(test_flat_accesses_of_lds_count_there),
        cmocka_unit_test(test_lds_atomics_on_one_dword_take_turns),
        cmocka_unit_test(test_partial_segments_and_different_bytes),
        cmocka_unit_test(test_an_access_across_segments_touches_both),
        cmocka_unit_test(test_atomics_on_one_address_take_turns),
        cmocka_unit_test(test_bytes_in_flight_are_those_between_waits),
        cmocka_unit_test(test_bytes_in_flight_of_a_unit_are_those_of_its_waves),
        cmocka_unit_test(test_waves_are_those_of_groups_that_fit),
        cmocka_unit_test(test_dies_are_even_where_groups_that_work_are),
        cmocka_unit_test(test_dies_are_even_where_one_has_a_group_more),
        cmocka_unit_test(test_small_grids_leave_compute_units_idle),
        cmocka_unit_test(test_nothing_is_counted_unless_asked_for),
        cmocka_unit_test(test_a_launch_prints_its_bounds),
        cmocka_unit_test(test_every_number_of_a_card_has_a_source),
    };

    return cmocka_run_group_tests_name("bounds", tests, count_bounds,
                                       count_no_bounds);
}
