/* test_dispatch.c - how waves start, wait for each other, fault and are counted
 *
 * Each kernel gets {out, in} or {out} as arguments and is written in assembly,
 * so that nothing depends on what a compiler makes of it.
 */
#include "asm.h"
#include "sim/base/config.h"
#include "sim/isa/fault_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

static struct sim_alloc *buffer(size_t n)
{
    struct sim_alloc *a = sim_mem_alloc(0, n, 256, SIM_MEM_DEVICE);

    assert_non_null(a);
    memset(a->bytes, 0, n);
    return a;
}

static uint32_t dword(const struct sim_alloc *a, size_t i)
{
    uint32_t v;

    memcpy(&v, a->bytes + 4 * i, sizeof(v));
    return v;
}

/* v0: local id in the low ten bits; group id in s2 or ttmp9. */
#define GFX9_PROLOGUE                                                          \
    "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"                                     \
    "v_and_b32 v0, 0x3ff, v0\n"                                                \
    "v_lshlrev_b32 v1, 2, v0\n"                                                \
    "s_waitcnt lgkmcnt(0)\n"

/* ---- initial state ---- */

static void run_ok(struct asm_launch *l)
{
    if (!asm_dispatch(l))
        fail_msg("%s: %s", l->target, l->fault.text);
}

static void test_every_work_item_runs_once_with_its_ids(void **state)
{
    static const struct {
        const char *target, *group_id;
        unsigned wave_size;
    } targets[] = {{"gfx900", "s2", 64},    {"gfx90a", "s2", 64},
                   {"gfx942", "s2", 64},    {"gfx1030", "s2", 32},
                   {"gfx1030", "s2", 64},   {"gfx1100", "s2", 32},
                   {"gfx1100", "s2", 64},   {"gfx1201", "ttmp9", 32},
                   {"gfx1200", "ttmp9", 64}};

    (void)state;
    for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
        bool new = strncmp(targets[t].target, "gfx11", 5) >= 0 &&
                   strncmp(targets[t].target, "gfx9", 4) < 0;
        struct sim_alloc *out = buffer(7 * 100 * 4);
        char text[1024];
        struct asm_launch l = {.target = targets[t].target,
                               .wave_size = targets[t].wave_size,
                               .text = text,
                               .groups = 7,
                               .block = 100,
                               .kernarg = &out->base,
                               .kernarg_nbytes = 8};

        /* out[group * 100 + item] += group * 1000 + item + 1 */
        snprintf(text, sizeof(text),
                 "%s s[4:5], s[0:1], 0x0\n"
                 "v_and_b32 v0, 0x3ff, v0\n"
                 "s_mul_i32 s6, %s, 100\n"
                 "s_mul_i32 s7, %s, 1000\n"
                 "s_add_u32 s7, s7, 1\n"
                 "v_mov_b32 v1, s6\n"
                 "%s v1, v1, v0\n"
                 "v_lshlrev_b32 v1, 2, v1\n"
                 "%s v2, s7, v0\n"
                 "s_nop 0\n"
                 "%s v1, v2, s[4:5]\n",
                 new ? "s_load_b64" : "s_load_dwordx2", targets[t].group_id,
                 targets[t].group_id,
                 strncmp(targets[t].target, "gfx9", 4) ? "v_add_nc_u32"
                                                       : "v_add_u32",
                 strncmp(targets[t].target, "gfx9", 4) ? "v_add_nc_u32"
                                                       : "v_add_u32",
                 new ? "global_atomic_add_u32" : "global_atomic_add");
        run_ok(&l);
        for (unsigned g = 0; g < 7; g++)
            for (unsigned i = 0; i < 100; i++)
                assert_int_equal(dword(out, g * 100 + i), g * 1000 + i + 1);
        assert_int_equal(l.stats.workgroups, 7);
        assert_int_equal(l.stats.waves,
                         7 * (targets[t].wave_size == 64 ? 2 : 4));
        sim_mem_free(out->base);
    }
}

static void test_scratch_is_set_up_by_the_kernels_prologue(void **state)
{
    struct sim_alloc *out = buffer(512 * 4);
    struct asm_launch l = {.wave_size = 64,
                           .groups = 2,
                           .block = 256,
                           .scratch_nbytes = 64,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8};

    (void)state;
    l.target = "gfx942";
    l.text = GFX9_PROLOGUE "s_lshl_b32 s6, s2, 10\n"
                           "v_add_u32 v1, s6, v1\n"
                           "scratch_store_dword off, v1, off offset:8\n"
                           "v_mov_b32 v1, 0\n"
                           "scratch_load_dword v2, off, off offset:8\n"
                           "global_store_dword v2, v2, s[4:5]\n";
    run_ok(&l);
    for (unsigned i = 0; i < 512; i++)
        assert_int_equal(dword(out, i), 4 * i);
    /* Without architected flat scratch the register holds nothing useful. */
    l.target = "gfx1030";
    l.text = "scratch_store_dword off, v0, off\n";
    assert_false(asm_dispatch(&l));
    assert_int_equal(l.fault.kind, SIM_FAULT_SCRATCH);
    sim_mem_free(out->base);
}

/* Groups follow each other in the same registers and LDS. Even groups write,
 * odd groups show the contents of registers and LDS that they did not write. */
static void test_no_group_finds_what_another_left(void **state)
{
    static const struct {
        const char *target, *writes, *shows;
    } cases[] = {
        {"gfx942", "v_mov_b32 v50, v0\n", "v_mov_b32 v3, v50\n"},
        {"gfx908", "v_accvgpr_write_b32 a9, v0\n",
         "v_accvgpr_read_b32 v3, a9\n"},
        {"gfx942", "ds_write_b32 v1, v0 offset:768\n",
         "ds_read_b32 v3, v1 offset:768\n"},
        {"gfx942", "ds_write_b8 v1, v0 offset:3\n", "ds_read_b32 v3, v1\n"},
        {"gfx942", "ds_add_u32 v1, v0 offset:512\n",
         "ds_read_b32 v3, v1 offset:512\n"},
        {"gfx900",
         "s_mov_b32 s7, 40\ns_set_gpr_idx_on s7, gpr_idx(DST)\n"
         "v_mov_b32 v10, v0\ns_set_gpr_idx_off\n",
         "v_mov_b32 v3, v50\n"},
        {"gfx1030", "s_mov_b32 m0, 40\nv_movreld_b32 v10, v0\n",
         "v_mov_b32 v3, v50\n"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        const bool old = strncmp(cases[k].target, "gfx9", 4) == 0;
        struct sim_alloc *out = buffer(16 * 256);
        char text[1024];
        struct asm_launch l = {.target = cases[k].target,
                               .wave_size = 64,
                               .text = text,
                               .groups = 16,
                               .block = 64,
                               .lds_nbytes = 1024,
                               .kernarg = &out->base,
                               .kernarg_nbytes = 8};

        snprintf(text, sizeof(text),
                 GFX9_PROLOGUE "s_lshl_b32 s6, s2, 8\n"
                               "s_bitcmp1_b32 s2, 0\n"
                               "s_cbranch_scc1 odd\n"
                               "%s"
                               "s_endpgm\n"
                               "odd:\n"
                               "%s"
                               "s_waitcnt lgkmcnt(0)\n"
                               "%s v1, s6, v1\n"
                               "global_store_dword v1, v3, s[4:5]\n",
                 cases[k].writes, cases[k].shows,
                 old ? "v_add_u32" : "v_add_nc_u32");
        run_ok(&l);
        for (unsigned i = 0; i < 16 * 64; i++)
            assert_int_equal(dword(out, i), i / 64 % 2 ? 0xa5a5a5a5 : 0);
        sim_mem_free(out->base);
    }
}

/* ---- waiting ---- */

/* Each wave leaves its number in LDS; after the barrier, wave 0 sums them. */
static const char barrier_text[] =
    GFX9_PROLOGUE "ds_write_b32 v1, v0\n"
                  "s_waitcnt lgkmcnt(0)\n"
                  "s_barrier\n"
                  "v_xor_b32 v1, 0x3fc, v1\n"
                  "ds_read_b32 v2, v1\n"
                  "s_waitcnt lgkmcnt(0)\n"
                  "global_store_dword v1, v2, s[4:5]\n";

static void test_barriers_order_lds_between_waves(void **state)
{
    struct sim_alloc *out = buffer(256 * 4);
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .text = barrier_text,
                           .groups = 1,
                           .block = 256,
                           .lds_nbytes = 1024,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8};

    (void)state;
    run_ok(&l);
    for (unsigned i = 0; i < 256; i++)
        assert_int_equal(dword(out, i), i);
    l.target = "gfx1201";
    l.wave_size = 32;
    memset(out->bytes, 0, 1024);
    l.text = "s_load_b64 s[4:5], s[0:1], 0x0\n"
             "v_and_b32 v0, 0x3ff, v0\n"
             "v_lshlrev_b32 v1, 2, v0\n"
             "ds_store_b32 v1, v0\n"
             "s_barrier_signal -1\n"
             "s_barrier_wait -1\n"
             "v_xor_b32 v1, 0x3fc, v1\n"
             "ds_load_b32 v2, v1\n"
             "global_store_b32 v1, v2, s[4:5]\n";
    run_ok(&l);
    for (unsigned i = 0; i < 256; i++)
        assert_int_equal(dword(out, i), i);
    sim_mem_free(out->base);
}

/* From gfx90a on the AGPRs are the upper part of one file, which instructions
 * reach by either name; before there are two files. */
static void test_vgprs_reach_beyond_accum_offset(void **state)
{
    static const struct {
        const char *target, *text;
        unsigned nregs, accum_offset;
        uint32_t want; /* in lane 5 of v2; 0: a fault */
    } cases[] = {
        {"gfx942", "v_mov_b32 v100, v0\nv_accvgpr_read_b32 v2, a36\n", 128, 64,
         5},
        {"gfx90a", "v_accvgpr_write_b32 a91, v0\nv_mov_b32 v2, v251\n", 256,
         160, 5},
        {"gfx950", "v_mov_b32 v163, v0\nv_lshl_add_u32 v2, v163, 1, v0\n", 168,
         160, 15},
        /* a pair */
        {"gfx942",
         "v_mov_b32 v62, v0\nv_mov_b32 v63, 0\n"
         "v_lshlrev_b64 v[64:65], 33, v[62:63]\nv_accvgpr_read_b32 v2, a1\n",
         128, 64, 10},
        /* an AGPR beyond the names of VGPRs */
        {"gfx942",
         "v_accvgpr_write_b32 a200, v0\nv_mov_b32 v200, 0\n"
         "v_accvgpr_read_b32 v2, a200\n",
         512, 256, 5},
        {"gfx942", "v_mov_b32 v128, v0\n", 128, 64, 0},
        {"gfx942", "v_accvgpr_write_b32 a64, v0\n", 128, 64, 0},
        {"gfx942", "v_accvgpr_write_b32 a0, v0\n", 64, 64, 0},
        {"gfx908", "v_mov_b32 v64, v0\n", 64, 0, 0},
        {"gfx908",
         "v_accvgpr_write_b32 a3, v0\nv_mov_b32 v3, 9\ns_nop 1\n"
         "v_accvgpr_read_b32 v2, a3\n",
         64, 0, 5},
    };
    struct sim_alloc *out = buffer(256);

    (void)state;
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        char text[512];
        struct asm_launch l = {.target = cases[n].target,
                               .wave_size = 64,
                               .text = text,
                               .groups = 1,
                               .block = 64,
                               .nregs = cases[n].nregs,
                               .accum_offset = cases[n].accum_offset,
                               .kernarg = &out->base,
                               .kernarg_nbytes = 8};

        snprintf(text, sizeof(text),
                 GFX9_PROLOGUE "%sglobal_store_dword v1, v2, s[4:5]\n",
                 cases[n].text);
        if (cases[n].want == 0) {
            assert_false(asm_dispatch(&l));
            assert_int_equal(l.fault.kind, SIM_FAULT_ILLEGAL_INSN);
            continue;
        }
        if (!asm_dispatch(&l))
            fail_msg("%s: %s", cases[n].text, l.fault.text);
        if (dword(out, 5) != cases[n].want)
            fail_msg("%s: %s: want %u, got %u", cases[n].target, cases[n].text,
                     cases[n].want, dword(out, 5));
    }
    sim_mem_free(out->base);
}

/* The first wave waits, the other one ends: before it, and after it. */
static const char *const missed_barriers[] = {
    "v_readfirstlane_b32 s4, v0\n"
    "s_cmp_lg_u32 s4, 0\n"
    "s_cbranch_scc1 done\n"
    "s_barrier\n"
    "v_mov_b32 v1, 1\n"
    "v_mov_b32 v0, 0\n"
    "global_store_dword v0, v1, s[6:7]\n"
    "done: s_nop 0\n",
    "v_readfirstlane_b32 s4, v0\n"
    "s_cmp_lg_u32 s4, 0\n"
    "s_cbranch_scc0 done\n"
    "s_barrier\n"
    "v_mov_b32 v1, 1\n"
    "v_mov_b32 v0, 0\n"
    "global_store_dword v0, v1, s[6:7]\n"
    "done: s_nop 0\n"};

static void
test_a_barrier_that_ended_waves_miss_lets_the_others_go(void **state)
{
    struct sim_alloc *out = buffer(4);
    char text[512];
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 1,
                           .block = 128,
                           .text = text,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8};

    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text),
                 "s_load_dwordx2 s[6:7], s[0:1], 0x0\n"
                 "s_waitcnt lgkmcnt(0)\n"
                 "v_and_b32 v0, 0x3ff, v0\n"
                 "%s",
                 missed_barriers[i]);
        memset(out->bytes, 0, 4);
        run_ok(&l);
        assert_int_equal(dword(out, 0), 1);
        assert_non_null(
            strstr(sim_last_warning(), i ? "wave 0 ends" : "wave 1 ends"));
        assert_non_null(strstr(sim_last_warning(), "KPK_SIM_BARRIERS"));
        sim_config_mutable()->barriers = 2;
        assert_false(asm_dispatch(&l));
        assert_int_equal(l.fault.kind, SIM_FAULT_BARRIER);
        sim_config_mutable()->barriers = 1;
    }
    sim_mem_free(out->base);
    /* Two barrier instructions: each wave waits at one, and passes. */
    sim_config_mutable()->barriers = 2;
    l.text = "v_readfirstlane_b32 s4, v0\n"
             "s_cmp_lg_u32 s4, 0\n"
             "s_cbranch_scc1 other\n"
             "s_barrier\n"
             "s_endpgm\n"
             "other: s_barrier\n";
    run_ok(&l);
    sim_config_mutable()->barriers = 1;
}

static void test_a_barrier_that_a_lane_misses_is_a_fault(void **state)
{
    struct asm_launch l = {
        .target = "gfx942", .wave_size = 64, .groups = 1, .block = 60};

    (void)state;
    /* if (item < 32) barrier(); more(); */
    l.text = "v_and_b32 v0, 0x3ff, v0\n"
             "v_cmp_gt_u32 vcc, 32, v0\n"
             "s_and_saveexec_b64 s[4:5], vcc\n"
             "s_barrier\n"
             "s_or_b64 exec, exec, s[4:5]\n"
             "v_mov_b32 v1, 0\n";
    assert_false(asm_dispatch(&l));
    assert_int_equal(l.fault.kind, SIM_FAULT_BARRIER);
    assert_int_equal(l.fault.lane, 32);
    /* if (item >= 32) return; barrier(); more(); */
    l.text = "v_and_b32 v0, 0x3ff, v0\n"
             "v_cmp_gt_u32 vcc, 32, v0\n"
             "s_and_saveexec_b64 s[4:5], vcc\n"
             "s_barrier\n"
             "v_mov_b32 v1, 0\n";
    run_ok(&l);
    /* The same, with a whole register spilled behind it. */
    l.text = "v_and_b32 v0, 0x3ff, v0\n"
             "v_cmp_gt_u32 vcc, 32, v0\n"
             "s_and_saveexec_b64 s[4:5], vcc\n"
             "s_barrier\n"
             "s_or_saveexec_b64 s[6:7], -1\n"
             "v_mov_b32 v1, 0\n"
             "s_mov_b64 exec, s[6:7]\n";
    run_ok(&l);
    /* Assembly that works with one lane for a while. */
    l.text = "s_mov_b64 s[4:5], exec\n"
             "s_mov_b64 exec, 1\n"
             "s_barrier\n"
             "s_mov_b64 exec, s[4:5]\n"
             "v_mov_b32 v1, 0\n";
    run_ok(&l);
}

/* Every group counts itself in and waits until all 40 have. */
static void test_groups_that_wait_for_each_other_all_run(void **state)
{
    struct sim_alloc *out = buffer(4);
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 40,
                           .block = 64,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8,
                           .text = GFX9_PROLOGUE
                           "s_mov_b64 exec, 1\n"
                           "v_mov_b32 v1, 0\n"
                           "v_mov_b32 v2, 1\n"
                           "global_atomic_add v1, v2, s[4:5]\n"
                           "wait: s_sleep 1\n"
                           "global_load_dword v3, v1, s[4:5] sc0 sc1\n"
                           "s_waitcnt vmcnt(0)\n"
                           "v_readfirstlane_b32 s6, v3\n"
                           "s_cmp_lt_u32 s6, 40\n"
                           "s_cbranch_scc1 wait\n"};

    (void)state;
    run_ok(&l);
    assert_int_equal(dword(out, 0), 40);
    sim_mem_free(out->base);
}

/* Four waves add 1 to one dword, and none waits for another. */
static void test_waves_take_turns_by_slices(void **state)
{
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 1,
                           .block = 256,
                           .kernarg_nbytes = 8,
                           .text = GFX9_PROLOGUE
                           "s_mov_b64 exec, 1\n"
                           "v_mov_b32 v1, 0\n"
                           "global_load_dword v2, v1, s[4:5]\n"
                           "s_waitcnt vmcnt(0)\n"
                           "v_add_u32 v2, v2, 1\n"
                           "global_store_dword v1, v2, s[4:5]\n"};
    const uint64_t usual = sim_config()->slice;

    (void)state;
    for (uint64_t slice = 1; slice <= 100; slice += 99) {
        struct sim_alloc *out = buffer(4);

        l.kernarg = &out->base;
        sim_config_mutable()->slice = slice;
        run_ok(&l);
        assert_int_equal(dword(out, 0), slice == 1 ? 1 : 4);
        assert_int_equal(l.stats.waves, 4);
        sim_mem_free(out->base);
    }
    sim_config_mutable()->slice = usual;
}

static void test_an_endless_loop_is_stopped(void **state)
{
    struct asm_launch l = {.target = "gfx1100",
                           .wave_size = 32,
                           .groups = 3,
                           .block = 32,
                           .text = "again: s_branch again\n"};

    (void)state;
    sim_config_mutable()->max_insns = 100000;
    assert_false(asm_dispatch(&l));
    assert_int_equal(l.fault.kind, SIM_FAULT_BUDGET);
    assert_int_equal(l.fault.workgroup[0], 0);
    sim_config_mutable()->max_insns = UINT64_C(1) << 33;
}

static void test_the_lowest_faulting_group_is_reported(void **state)
{
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 50,
                           .block = 64,
                           .text = "s_cmp_lt_u32 s2, 17\n"
                                   "s_cbranch_scc1 fine\n"
                                   "s_trap 2\n"
                                   "fine: s_nop 0\n"};

    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_false(asm_dispatch(&l));
        assert_int_equal(l.fault.kind, SIM_FAULT_TRAP);
        assert_int_equal(l.fault.workgroup[0], 17);
        assert_int_equal(l.fault.pc, 8);
    }
}

static void test_a_register_past_the_allocation_is_a_fault(void **state)
{
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 1,
                           .block = 64,
                           .text = "v_mov_b32 v63, 0\nv_mov_b32 v64, 0\n"};

    (void)state;
    assert_false(asm_dispatch(&l));
    assert_int_equal(l.fault.kind, SIM_FAULT_ILLEGAL_INSN);
    assert_int_equal(l.fault.pc, 4);
    assert_non_null(strstr(l.fault.text, "v64 is used"));
}

/* ---- switchable checks ---- */

/* Without a switch: a race is said once, and the wave goes on. */
static void test_races_in_lds_are_warned_of(void **state)
{
    static const struct {
        const char *text;
        bool races;
    } cases[] = {
        {"ds_write_b32 v1, v0\nv_xor_b32 v1, 0x3fc, v1\nds_read_b32 v2, v1\n",
         true},
        {"ds_read_b32 v2, v1\nv_xor_b32 v1, 0x3fc, v1\nds_write_b32 v1, v0\n",
         true},
        {"v_lshlrev_b32 v1, 5, v0\nv_and_b32 v1, 0x3f8, v1\n"
         "ds_write_b64 v1, v[0:1]\n",
         true},
        /* Side by side, but not all lanes on. */
        {"v_xor_b32 v2, 0x3fc, v1\nds_write_b32 v1, v0\n"
         "s_mov_b64 exec, 1\nds_read_b32 v3, v2\n",
         true},
        /* A load that goes to LDS, where another wave reads. */
        {"v_readfirstlane_b32 s6, v1\ns_mov_b32 m0, s6\n"
         "global_load_lds_dword v1, s[4:5]\n"
         "v_xor_b32 v1, 0x3fc, v1\nds_read_b32 v2, v1\n",
         true},
        /* Every wave its own quarter. */
        {"ds_write_b32 v1, v0\nv_xor_b32 v1, 0xfc, v1\nds_read_b32 v2, v1\n",
         false},
        /* Every wave reads; every wave stores one value and reads it. */
        {"v_mov_b32 v1, 0\nds_read_b32 v2, v1\n", false},
        {"v_mov_b32 v1, 0\nv_mov_b32 v2, 7\nds_write_b32 v1, v2\n"
         "s_nop 0\nds_read_b32 v3, v1\n",
         false},
        /* A flag by atomics, and a barrier. */
        {"v_mov_b32 v2, 0\nds_add_u32 v2, v0 offset:1020\n"
         "ds_write_b32 v1, v0\nds_add_u32 v2, v0 offset:1020\n"
         "v_xor_b32 v1, 0x3fc, v1\nds_read_b32 v2, v1\n",
         false},
        {"ds_write_b32 v1, v0\ns_barrier\nv_xor_b32 v1, 0x3fc, v1\n"
         "ds_read_b32 v2, v1\n",
         false},
    };
    struct sim_alloc *out = buffer(1024);
    char text[512];
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 1,
                           .block = 256,
                           .lds_nbytes = 1024,
                           .text = text,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char before[64];

        /* Each text has another length, and so another place to name. */
        snprintf(text, sizeof(text), GFX9_PROLOGUE "s_nop %zu\n%s", i,
                 cases[i].text);
        sim_forget_warning();
        run_ok(&l);
        snprintf(before, sizeof(before), "%.32s", sim_last_warning());
        if (cases[i].races)
            assert_string_equal(before, "data race in LDS in kernel 'asm'");
        else
            assert_string_equal(before, "");
    }
    sim_mem_free(out->base);
}

static void test_races_in_lds_are_found(void **state)
{
    struct sim_alloc *out = buffer(1024);
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 1,
                           .block = 256,
                           .lds_nbytes = 1024,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8};

    (void)state;
    sim_config_mutable()->races = true;
    l.text = barrier_text;
    run_ok(&l);
    l.text = GFX9_PROLOGUE "ds_write_b32 v1, v0\n"
                           "v_xor_b32 v1, 0x3fc, v1\n"
                           "ds_read_b32 v2, v1\n";
    assert_false(asm_dispatch(&l));
    assert_int_equal(l.fault.kind, SIM_FAULT_RACE);
    /* Atomics from all waves at once are no race. */
    l.text = GFX9_PROLOGUE "v_mov_b32 v1, 0\nds_add_u32 v1, v0\n";
    run_ok(&l);
    sim_config_mutable()->races = false;
    sim_mem_free(out->base);
}

/* A group's own 256 bytes: a dword for each lane, at v2. */
#define OWN_DWORD "s_lshl_b32 s6, s2, 8\nv_add_u32 v2, s6, v1\n"
#define COUNT_IN                                                               \
    "v_mov_b32 v3, 0\nv_mov_b32 v4, 1\ns_mov_b64 exec, 1\n"                    \
    "global_atomic_add v5, v3, v4, s[4:5] offset:2048 sc0\n"                   \
    "s_waitcnt vmcnt(0)\nv_readfirstlane_b32 s7, v5\ns_mov_b64 exec, -1\n"

static const char *const races_of_groups[] = {
    /* every group writes its number to one place; one reads a place that
     * another writes, before or after
     */
    GFX9_PROLOGUE "v_mov_b32 v2, s2\nglobal_store_dword v1, v2, s[4:5]\n",
    GFX9_PROLOGUE OWN_DWORD "global_store_dword v2, v0, s[4:5]\n"
                            "v_xor_b32 v2, 0x100, v2\n"
                            "global_load_dword v6, v2, s[4:5]\n",
    GFX9_PROLOGUE OWN_DWORD "v_xor_b32 v3, 0x300, v2\n"
                            "global_load_dword v6, v3, s[4:5]\n"
                            "global_store_dword v2, v0, s[4:5]\n",
    /* overlaps a neighbour by one byte */
    GFX9_PROLOGUE OWN_DWORD
    "global_store_dwordx2 v2, v[0:1], s[4:5] offset:1\n",
    /* an atomic and what is none */
    GFX9_PROLOGUE "global_load_dword v6, v1, s[4:5]\n"
                  "global_atomic_add v1, v0, s[4:5]\n",
    /* a scalar load */
    GFX9_PROLOGUE OWN_DWORD "global_store_dword v2, v0, s[4:5]\n"
                            "s_load_dword s8, s[4:5], 0x0\n",
    /* counted in too early */
    GFX9_PROLOGUE OWN_DWORD COUNT_IN "global_store_dword v2, v0, s[4:5]\n"
                                     "v_xor_b32 v2, 0x100, v2\n"
                                     "global_load_dword v6, v2, s[4:5]\n",
    /* The first one writes, and the others wait for a flag, but with no
     * write-back and no invalidation.
     */
    GFX9_PROLOGUE "v_mov_b32 v3, 0\nv_mov_b32 v4, 1\n"
                  "s_cmp_lg_u32 s2, 0\n"
                  "s_cbranch_scc1 wait\n"
                  "global_store_dword v1, v0, s[4:5]\n"
                  "global_atomic_add v3, v4, s[4:5] offset:3072\n"
                  "s_endpgm\n"
                  "wait: global_load_dword v5, v3, s[4:5] offset:3072 sc1\n"
                  "s_waitcnt vmcnt(0)\n"
                  "v_readfirstlane_b32 s7, v5\n"
                  "s_cmp_eq_u32 s7, 0\n"
                  "s_cbranch_scc1 wait\n"
                  "global_load_dword v6, v1, s[4:5]\n",
};

static const char *const no_races_of_groups[] = {
    /* all write the same */
    GFX9_PROLOGUE "global_store_dword v1, v0, s[4:5]\n",
    GFX9_PROLOGUE OWN_DWORD "global_store_dword v2, v0, s[4:5]\n"
                            "global_load_dword v6, v2, s[4:5]\n",
    GFX9_PROLOGUE "v_lshlrev_b32 v2, 2, v0\nv_or_b32 v2, s2, v2\n"
                  "global_store_byte v2, v0, s[4:5]\n",
    GFX9_PROLOGUE OWN_DWORD "global_load_dword v6, v1, s[4:5] offset:1024\n"
                            "global_store_dword v2, v6, s[4:5]\n",
    GFX9_PROLOGUE "global_atomic_add v1, v0, s[4:5]\n",
    /* The last group reads the stores of the others. */
    GFX9_PROLOGUE OWN_DWORD
    "global_store_dword v2, v0, s[4:5]\nbuffer_wbl2 sc1\n"
    "s_waitcnt vmcnt(0)\n" COUNT_IN "s_and_b32 s7, s7, 3\n"
    "s_cmp_lg_u32 s7, 3\n"
    "s_cbranch_scc1 end\n"
    "buffer_inv sc1\n"
    "v_xor_b32 v2, 0x100, v2\n"
    "global_load_dword v6, v2, s[4:5]\n"
    "end: s_nop 0\n",
};

static void test_races_between_workgroups_are_found(void **state)
{
    struct sim_alloc *out = buffer(4096);
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 4,
                           .block = 64,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8};

    (void)state;
    memset(out->bytes, 0, 4096);
    for (size_t i = 0; i < sizeof(races_of_groups) / sizeof(races_of_groups[0]);
         i++) {
        l.text = races_of_groups[i];
        run_ok(&l); /* only reported when asked for */
        sim_config_mutable()->races = true;
        if (asm_dispatch(&l))
            fail_msg("no race is found in %s", races_of_groups[i]);
        assert_int_equal(l.fault.kind, SIM_FAULT_GROUP_RACE);
        assert_non_null(strstr(l.fault.text, "data race between workgroups"));
        assert_non_null(strstr(l.fault.text, "which workgroup ("));
        sim_config_mutable()->races = false;
    }
    sim_config_mutable()->races = true;
    for (size_t i = 0;
         i < sizeof(no_races_of_groups) / sizeof(no_races_of_groups[0]); i++) {
        memset(out->bytes, 0, 4096);
        l.text = no_races_of_groups[i];
        run_ok(&l);
    }
    sim_config_mutable()->races = false;
    sim_mem_free(out->base);
}

static void test_reads_of_memory_never_written_are_found(void **state)
{
    struct sim_alloc *out = buffer(1024);
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 1,
                           .block = 64,
                           .lds_nbytes = 512,
                           .scratch_nbytes = 32,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8};
    static const char *const wrong[] = {
        GFX9_PROLOGUE "ds_read_b32 v2, v1 offset:4\n",
        GFX9_PROLOGUE "ds_write_b16 v1, v0\nds_read_b32 v2, v1\n",
        GFX9_PROLOGUE "scratch_load_dword v2, off, off\n",
        GFX9_PROLOGUE "global_load_dword v2, v1, s[4:5]\n",
    };
    static const char *const right[] = {
        GFX9_PROLOGUE "ds_write_b32 v1, v0\nds_read_b32 v2, v1\n",
        GFX9_PROLOGUE "scratch_store_dword off, v0, off\n"
                      "scratch_load_ubyte v2, off, off offset:3\n",
        GFX9_PROLOGUE "global_store_dword v1, v0, s[4:5]\n"
                      "global_load_dword v2, v1, s[4:5]\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        l.text = wrong[i];
        run_ok(&l); /* only reported when asked for */
        sim_config_mutable()->uninit = true;
        assert_false(asm_dispatch(&l));
        assert_int_equal(l.fault.kind, SIM_FAULT_UNINITIALISED);
        sim_config_mutable()->uninit = false;
    }
    sim_config_mutable()->uninit = true;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        l.text = right[i];
        run_ok(&l);
    }
    sim_config_mutable()->uninit = false;
    sim_mem_free(out->base);
}

/* ---- counters ---- */

static void test_counters_tell_coalesced_from_scattered(void **state)
{
    struct sim_alloc *out = buffer(64 * 256);
    struct asm_launch l = {.target = "gfx942",
                           .wave_size = 64,
                           .groups = 1,
                           .block = 64,
                           .lds_nbytes = 16384,
                           .kernarg = &out->base,
                           .kernarg_nbytes = 8};

    (void)state;
    l.text = GFX9_PROLOGUE "global_load_dword v2, v1, s[4:5]\n"
                           "ds_write_b32 v1, v2\n";
    run_ok(&l);
    assert_int_equal(l.stats.bytes_read, 256);
    assert_int_equal(l.stats.segment_bytes_read, 256);
    assert_int_equal(l.stats.lds_bytes, 256);
    assert_int_equal(l.stats.lds_bank_conflicts, 0);
    assert_int_equal(l.stats.vmem, 1);
    assert_int_equal(l.stats.lds, 1);
    assert_int_equal(l.stats.smem, 1);
    assert_int_equal(l.stats.valu, 2);
    assert_int_equal(l.stats.lane_insns, 4 * 64);
    l.text = GFX9_PROLOGUE "v_lshlrev_b32 v1, 6, v1\n" /* 256 bytes apart */
                           "global_store_dword v1, v0, s[4:5]\n"
                           "ds_write_b32 v1, v0\n";
    run_ok(&l);
    assert_int_equal(l.stats.bytes_written, 256);
    assert_int_equal(l.stats.segment_bytes_written, 64 * 64);
    /* 32 lanes on one bank take 32 cycles instead of one, twice. */
    assert_int_equal(l.stats.lds_bank_conflicts, 62);
    sim_mem_free(out->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_work_item_runs_once_with_its_ids),
        cmocka_unit_test(test_scratch_is_set_up_by_the_kernels_prologue),
        cmocka_unit_test(test_no_group_finds_what_another_left),
        cmocka_unit_test(test_barriers_order_lds_between_waves),
        cmocka_unit_test(
            test_a_barrier_that_ended_waves_miss_lets_the_others_go),
        cmocka_unit_test(test_vgprs_reach_beyond_accum_offset),
        cmocka_unit_test(test_a_barrier_that_a_lane_misses_is_a_fault),
        cmocka_unit_test(test_groups_that_wait_for_each_other_all_run),
        cmocka_unit_test(test_waves_take_turns_by_slices),
        cmocka_unit_test(test_an_endless_loop_is_stopped),
        cmocka_unit_test(test_the_lowest_faulting_group_is_reported),
        cmocka_unit_test(test_a_register_past_the_allocation_is_a_fault),
        cmocka_unit_test(test_races_in_lds_are_warned_of),
        cmocka_unit_test(test_races_in_lds_are_found),
        cmocka_unit_test(test_races_between_workgroups_are_found),
        cmocka_unit_test(test_reads_of_memory_never_written_are_found),
        cmocka_unit_test(test_counters_tell_coalesced_from_scattered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
