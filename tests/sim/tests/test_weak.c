/* test_weak.c - KPK_SIM_WEAK: what a card promises only after a wait
 *
 * Each case is a program of one wave. s[4:5] points to 64 KiB of zeros, with
 * the descriptors of an image and a sampler at IMAGE; v1 is 4 times the
 * work-item's ID. Both are there without a wait.
 */
#include "asm.h"
#include "sim/base/host_access.h"
#include "sim/base/image_descriptor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

enum { BUFFER = 65536, IMAGE = 0x1000, SEED = 2 };

static const struct {
    const char *target, *text;
    const char *fault; /* part of its text; NULL: the program is right */
} cases[] = {
    /* a load and its use */
    {"gfx942",
     "global_load_dword v2, v1, s[4:5]\n"
     "v_add_u32 v3, v2, v2",
     "reads v2, which global_load_dword at +0x10 may not have brought: "
     "'s_waitcnt vmcnt(0)' is missing"},
    {"gfx942",
     "global_load_dword v2, v1, s[4:5]\n"
     "s_waitcnt vmcnt(0)\n"
     "v_add_u32 v3, v2, v2",
     NULL},
    {"gfx90a",
     "global_load_dwordx4 v[4:7], v1, s[4:5]\n"
     "v_mov_b32 v8, v7",
     "reads v7"},
    {"gfx1030",
     "global_load_dword v2, v1, s[4:5]\n"
     "v_mov_b32 v2, 0",
     "writes v2"},
    {"gfx1201",
     "global_load_b32 v2, v1, s[4:5]\n"
     "s_wait_dscnt 0x0\n"
     "v_mov_b32 v3, v2",
     "'s_wait_loadcnt 0x0' is missing"},
    {"gfx1201",
     "global_load_b32 v2, v1, s[4:5]\n"
     "s_wait_loadcnt_dscnt 0x3f\n"
     "v_mov_b32 v3, v2",
     NULL},
    {"gfx90a",
     "global_load_dword a2, v1, s[4:5]\n"
     "v_accvgpr_read_b32 v3, a2",
     "reads a2"},
    /* a wait one too high, with loads and stores in one order or in two */
    {"gfx942",
     "global_load_dword v2, v1, s[4:5]\n"
     "global_load_dword v3, v1, s[4:5]\n"
     "s_waitcnt vmcnt(1)\n"
     "v_mov_b32 v4, v2\n"
     "v_mov_b32 v4, v3",
     "reads v3"},
    {"gfx942",
     "global_load_dword v2, v1, s[4:5]\n"
     "global_load_dword v3, v1, s[4:5]\n"
     "s_waitcnt vmcnt(2)\n"
     "v_mov_b32 v4, v2",
     "'s_waitcnt vmcnt(1)' is missing"},
    {"gfx90a",
     "global_load_dword v2, v1, s[4:5]\n"
     "global_store_dword v1, v1, s[4:5]\n"
     "s_waitcnt vmcnt(1)\n"
     "v_mov_b32 v4, v2",
     NULL},
    {"gfx1100",
     "global_load_b32 v2, v1, s[4:5]\n"
     "global_store_b32 v1, v1, s[4:5]\n"
     "s_waitcnt vmcnt(1)\n"
     "v_mov_b32 v4, v2",
     "'s_waitcnt vmcnt(0)' is missing"},
    {"gfx1030",
     "global_atomic_add v2, v1, v1, s[4:5] glc\n"
     "s_waitcnt_vscnt null, 0x0\n"
     "v_mov_b32 v4, v2",
     "'s_waitcnt vmcnt(0)' is missing"},
    {"gfx1030",
     "global_load_dword v2, v1, s[4:5]\n"
     "global_atomic_add v1, v1, s[4:5]\n"
     "s_waitcnt vmcnt(0)\n"
     "v_mov_b32 v4, v2",
     NULL},
    /* scalar loads come in any order, and before LDS or after */
    {"gfx942",
     "s_load_dword s8, s[4:5], 0x0\n"
     "s_add_u32 s9, s8, 1",
     "reads s8, which s_load_dword at +0x10 may not have brought: 's_waitcnt "
     "lgkmcnt(0)' is missing"},
    {"gfx1100",
     "s_load_b32 s8, s[4:5], 0x0\n"
     "s_load_b32 s9, s[4:5], 0x4\n"
     "s_waitcnt lgkmcnt(1)\n"
     "s_mov_b32 s10, s8",
     "'s_waitcnt lgkmcnt(0)' is missing"},
    {"gfx942",
     "ds_read_b32 v2, v1\n"
     "s_load_dword s8, s[4:5], 0x0\n"
     "s_waitcnt lgkmcnt(1)\n"
     "v_mov_b32 v3, v2",
     "reads v2"},
    {"gfx942",
     "s_load_dword s8, s[4:5], 0x0\n"
     "ds_read_b32 v2, v1\n"
     "ds_read_b32 v3, v1\n"
     "s_waitcnt lgkmcnt(1)\n"
     "v_mov_b32 v4, v2\n"
     "s_mov_b32 s9, s8",
     "reads s8"},
    {"gfx1201",
     "ds_load_b32 v2, v1\n"
     "s_load_b32 s8, s[4:5], 0x0\n"
     "s_wait_dscnt 0x0\n"
     "v_mov_b32 v3, v2\n"
     "s_mov_b32 s9, s8",
     "'s_wait_kmcnt 0x0' is missing"},
    {"gfx1100",
     "ds_load_b32 v2, v1\n"
     "ds_load_b32 v3, v1\n"
     "s_waitcnt lgkmcnt(1)\n"
     "v_mov_b32 v4, v2\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_mov_b32 v4, v3",
     NULL},
    /* registers that the text does not name */
    {"gfx942",
     "s_load_dwordx2 vcc, s[4:5], 0x0\n"
     "s_cbranch_vccz end\n"
     "end: s_nop 0",
     "reads vcc"},
    {"gfx1100",
     "global_load_b32 v2, v1, s[4:5]\n"
     "v_dual_mov_b32 v4, v1 :: v_dual_mov_b32 v7, v2",
     "reads v2"},
    {"gfx942",
     "global_load_dword v2, v1, s[4:5]\n"
     "s_mov_b64 exec, 0\n"
     "v_readfirstlane_b32 s8, v2",
     "reads v2"},
    /* lanes that the load left alone hold what they held */
    {"gfx942",
     "s_mov_b64 exec, 1\n"
     "global_load_dword v1, v1, s[4:5]\n"
     "s_mov_b64 exec, 2\n"
     "v_mov_b32 v3, v1",
     NULL},
    /* FLAT may lead to LDS or to memory */
    {"gfx942",
     "v_mov_b32 v2, s4\n"
     "v_mov_b32 v3, s5\n"
     "flat_load_dword v4, v[2:3]\n"
     "s_waitcnt vmcnt(0)\n"
     "v_mov_b32 v5, v4",
     "'s_waitcnt lgkmcnt(0)' is missing"},
    {"gfx1201",
     "v_dual_mov_b32 v2, s4 :: v_dual_mov_b32 v3, s5\n"
     "flat_load_b32 v4, v[2:3]\n"
     "v_mov_b32 v5, v4",
     "'s_wait_loadcnt 0x0, s_wait_dscnt 0x0' is missing"},
    {"gfx1030",
     "v_mov_b32 v2, s4\n"
     "v_mov_b32 v3, s5\n"
     "flat_load_dword v4, v[2:3]\n"
     "ds_read_b32 v6, v1\n"
     "s_waitcnt vmcnt(0) lgkmcnt(1)\n"
     "v_mov_b32 v5, v4",
     NULL},
    {"gfx90a",
     "v_mov_b32 v2, s4\n"
     "v_mov_b32 v3, s5\n"
     "flat_load_dword v4, v[2:3]\n"
     "ds_read_b32 v6, v1\n"
     "s_waitcnt vmcnt(0) lgkmcnt(1)\n"
     "v_mov_b32 v5, v4",
     "'s_waitcnt lgkmcnt(0)' is missing"},
    {"gfx942",
     "v_mov_b32 v2, s4\n"
     "v_mov_b32 v3, s5\n"
     "flat_load_dword v4, v[2:3]\n"
     "flat_load_dword v5, v[2:3]\n"
     "s_waitcnt vmcnt(1) lgkmcnt(1)\n"
     "v_mov_b32 v6, v4",
     "'s_waitcnt vmcnt(0) lgkmcnt(0)' is missing"},
    /* two loads of one type to a register: in order up to gfx11 */
    {"gfx942",
     "global_load_dword v2, v1, s[4:5]\n"
     "global_load_dword v2, v1, s[4:5] offset:4\n"
     "s_waitcnt vmcnt(0)\n"
     "v_mov_b32 v3, v2",
     NULL},
    {"gfx1201",
     "global_load_b32 v2, v1, s[4:5]\n"
     "global_load_b32 v2, v1, s[4:5] offset:4",
     "writes v2"},
    {"gfx90a",
     "ds_read_b32 v2, v1\n"
     "ds_read_b64 v[2:3], v1\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_mov_b32 v4, v2",
     NULL},
    {"gfx90a",
     "ds_read_b32 v2, v1\n"
     "global_load_dword v2, v1, s[4:5]",
     "writes v2"},
    {"gfx1201",
     "ds_load_b32 v2, v1\n"
     "ds_load_b32 v2, v1",
     "writes v2"},
    /* an atomic that returns, buffers, and images: samples have a counter of
     * their own from gfx12 on
     */
    {"gfx942",
     "global_atomic_add v2, v1, v1, s[4:5] sc0\n"
     "v_mov_b32 v3, v2",
     "'s_waitcnt vmcnt(0)' is missing"},
    {"gfx942",
     "global_load_dword v2, v1, s[4:5]\n"
     "global_atomic_add v2, v1, s[4:5]",
     "reads v2"},
    {"gfx1030",
     ".set i, 8\n"
     ".rept 4\ns_mov_b32 s[i], 0\n.set i, i + 1\n.endr\n"
     "buffer_load_dword v2, off, s[8:11], 0\n"
     "buffer_atomic_add v2, off, s[8:11], 0 glc",
     "reads v2"},
    {"gfx1201",
     "global_atomic_add_u32 v2, v1, v1, s[4:5] th:TH_ATOMIC_RETURN\n"
     "s_wait_storecnt 0x0\n"
     "v_mov_b32 v3, v2",
     "'s_wait_loadcnt 0x0' is missing"},
    {"gfx1201",
     "s_load_b256 s[8:15], s[4:5], 0x1000\n"
     "s_load_b128 s[16:19], s[4:5], 0x1020\n"
     "s_wait_kmcnt 0x0\n"
     "global_load_b32 v3, v1, s[4:5]\n"
     "image_sample_lz v2, v1, s[8:15], s[16:19] dmask:0x1 "
     "dim:SQ_RSRC_IMG_1D\n"
     "s_wait_loadcnt 0x0\n"
     "v_mov_b32 v4, v3\n"
     "v_mov_b32 v4, v2",
     "'s_wait_samplecnt 0x0' is missing"},
    {"gfx1030",
     "s_load_dwordx8 s[8:15], s[4:5], 0x1000\n"
     "s_load_dwordx4 s[16:19], s[4:5], 0x1020\n"
     "s_waitcnt lgkmcnt(0)\n"
     "image_sample_lz v2, v1, s[8:15], s[16:19] dmask:0x1 "
     "dim:SQ_RSRC_IMG_1D\n"
     "image_load v3, v1, s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_1D unorm\n"
     "s_waitcnt vmcnt(1)\n"
     "v_mov_b32 v4, v2\n"
     "v_mov_b32 v4, v3",
     "reads v3"},
    /* a barrier is no wait */
    {"gfx942",
     "global_load_dword v2, v1, s[4:5]\n"
     "s_barrier\n"
     "v_mov_b32 v3, v2",
     "reads v2"},
    /* three counters full, and one more operation */
    {"gfx1201",
     ".rept 64\nglobal_store_b32 v1, v1, s[4:5]\n.endr\n"
     ".rept 64\nds_store_b32 v1, v1\n.endr\n"
     ".set i, 8\n"
     ".rept 64\ns_load_b32 s[i], s[4:5], 0x0\n.set i, i + 1\n.endr\n"
     "global_load_b32 v2, v1, s[4:5]\n"
     "s_wait_loadcnt 0x0\n"
     "v_mov_b32 v3, v2",
     NULL},
    /* a full counter: lgkmcnt holds 15 up to gfx9, and 63 later. Scalar loads
     * come in any order, so that nothing is known of the oldest
     */
    {"gfx942",
     "ds_read_b32 v2, v1\n"
     ".rept 15\nds_write_b32 v1, v1\n.endr\n"
     "v_mov_b32 v3, v2",
     NULL},
    {"gfx942",
     "ds_read_b32 v2, v1\n"
     ".rept 14\nds_write_b32 v1, v1\n.endr\n"
     "v_mov_b32 v3, v2",
     "'s_waitcnt lgkmcnt(14)' is missing"},
    {"gfx1100",
     "ds_load_b32 v2, v1\n"
     ".rept 15\nds_store_b32 v1, v1\n.endr\n"
     "v_mov_b32 v3, v2",
     "'s_waitcnt lgkmcnt(15)' is missing"},
    {"gfx90a",
     "s_load_dword s8, s[4:5], 0x0\n"
     ".rept 20\nds_write_b32 v1, v1\n.endr\n"
     "s_mov_b32 s9, s8",
     "'s_waitcnt lgkmcnt(0)' is missing"},
    /* a store's data may be overwritten at once */
    {"gfx942",
     "global_store_dword v1, v1, s[4:5]\n"
     "v_mov_b32 v1, 0",
     NULL},
};

/* Of 256 texels, which are one number each. */
static void put_image(struct sim_alloc *a, const struct sim_target *target)
{
    const struct sim_image image = {
        .type = SIM_IMAGE_1D,
        .data = SIM_DATA_32,
        .number = SIM_NUMBER_FLOAT,
        .base = a->base,
        .width = 256,
        .height = 1,
        .depth = 1,
        .nlevels = 1,
        .select = {SIM_SELECT_X, SIM_SELECT_0, SIM_SELECT_0, SIM_SELECT_1}};
    uint32_t words[SIM_IMAGE_WORDS];
    char why[SIM_IMAGE_WHY];

    if (target->major == 9) /* some have none */
        return;
    assert_true(sim_image_encode(&image, target, words, why));
    memcpy(a->bytes + IMAGE, words, sizeof(words));
}

static bool run(size_t i, struct asm_launch *l)
{
    const char *target = cases[i].target;
    const bool gfx9 = strncmp(target, "gfx9", 4) == 0;
    const bool gfx12 = strncmp(target, "gfx12", 5) == 0;
    struct sim_alloc *a = sim_mem_alloc(0, BUFFER, 256, SIM_MEM_DEVICE);
    char text[1024];
    uint64_t kernarg;
    bool ok;

    assert_non_null(a);
    memset(a->bytes, 0, BUFFER);
    put_image(a, sim_target_by_name(target));
    sim_mem_mark_written(a->base, BUFFER);
    kernarg = a->base;
    snprintf(text, sizeof(text),
             "%s s[4:5], s[0:1], 0x0\n"
             "%s\n"
             "v_lshlrev_b32 v1, 2, v0\n"
             "%s",
             gfx9 || strncmp(target, "gfx10", 5) == 0 ? "s_load_dwordx2"
                                                      : "s_load_b64",
             gfx12 ? "s_wait_kmcnt 0x0" : "s_waitcnt lgkmcnt(0)",
             cases[i].text);
    *l = (struct asm_launch){.target = target,
                             .wave_size = gfx9 ? 64 : 32,
                             .text = text,
                             .groups = 1,
                             .block = gfx9 ? 64 : 32,
                             .lds_nbytes = 1024,
                             .nregs = 64,
                             .accum_offset = 32,
                             .kernarg = &kernarg,
                             .kernarg_nbytes = sizeof(kernarg)};
    ok = asm_dispatch(l);
    sim_mem_free(a->base);
    return ok;
}

static void test_a_register_is_there_after_its_wait(void **state)
{
    (void)state;
    sim_config_mutable()->weak = SEED;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct asm_launch l;
        const bool ok = run(i, &l);

        if (ok != !cases[i].fault)
            fail_msg("%s: %s\n%s", cases[i].target, cases[i].text,
                     ok ? "passes" : l.fault.text);
        if (!ok && (l.fault.kind != SIM_FAULT_UNWAITED ||
                    !strstr(l.fault.text, cases[i].fault)))
            fail_msg("%s: %s\n%s", cases[i].target, cases[i].text,
                     l.fault.text);
    }
    sim_config_mutable()->weak = 1;
}

static void test_seed_1_completes_at_once(void **state)
{
    (void)state;
    sim_config_mutable()->weak = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct asm_launch l;

        if (!run(i, &l))
            fail_msg("%s: %s\n%s", cases[i].target, cases[i].text,
                     l.fault.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_register_is_there_after_its_wait),
        cmocka_unit_test(test_seed_1_completes_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
