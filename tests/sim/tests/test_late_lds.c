/* test_late_lds.c - KPK_SIM_WEAK: LDS between the waves of a group
 *
 * Litmus tests of two waves. v1 is 4 times the work-item's ID, v2 the place of
 * the same lane of the other wave, v3 is 7, LDS holds zeros. Each work-item
 * stores v5; what is wanted is that all of v5 are 7. Memory has 7 from byte 512
 * on.
 */
#include "asm.h"
#include "sim/base/host_access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { WAVES = 2, MOST = 64 * WAVES, SEEDS = 60 };

enum verdict {
    FORBIDDEN, /* v5 is 7 whatever the seed */
    ALLOWED,   /* seeds show another value, and seed 1 does not */
};

/* A wave's 64 dwords of 7 to its part of LDS. */
#define LOAD_TO_LDS                                                            \
    "v_readfirstlane_b32 s6, v1\n"                                             \
    "s_mov_b32 m0, s6\n"                                                       \
    "v_or_b32 v4, 0x200, v1\n"                                                 \
    "global_load_lds_dword v4, s[4:5]\n"

/* gfx1250's, at the place that v1 names. */
#define LOAD_ASYNC                                                             \
    "v_or_b32 v4, 0x200, v1\n"                                                 \
    "global_load_async_to_lds_b32 v1, v4, s[4:5]\n"
#define STORE_ASYNC                                                            \
    "ds_store_b32 v1, v3\n"                                                    \
    "s_wait_dscnt 0x0\n"                                                       \
    "v_or_b32 v4, 0x200, v1\n"                                                 \
    "v_mov_b32 v6, 9\n"                                                        \
    "global_store_async_from_lds_b32 v4, v1, s[4:5]\n"
#define READ_BACK                                                              \
    "ds_store_b32 v1, v6\n"                                                    \
    "s_wait_dscnt 0x0\n"                                                       \
    "s_wait_asynccnt 0x0\n"                                                    \
    "global_load_b32 v5, v4, s[4:5]\n"                                         \
    "s_wait_loadcnt 0x0"
/* v[8:9]: v1's place in LDS as FLAT sees it. */
#define FLAT_PLACE                                                             \
    "s_mov_b64 s[8:9], src_shared_base\n"                                      \
    "v_mov_b32 v8, v1\n"                                                       \
    "v_mov_b32 v9, s9\n"

static const struct {
    const char *target, *text;
    enum verdict other; /* another value than 7 */
} cases[] = {
    /* a message through LDS: the writer's wait, then the barrier */
    {"gfx942",
     "ds_write_b32 v1, v3\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx942",
     "ds_write_b32 v1, v3\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    {"gfx90a",
     "ds_write_b32 v1, v3\n"
     "s_waitcnt vmcnt(0)\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    {"gfx942",
     "ds_write_b32 v1, v3\n"
     "ds_read_b32 v6, v1\n"
     "s_waitcnt lgkmcnt(1)\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx1030",
     "ds_write_b32 v1, v3\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx1030",
     "ds_write_b32 v1, v3\n"
     "s_waitcnt_vscnt null, 0x0\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    {"gfx1100",
     "ds_store_b32 v1, v3\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "ds_load_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx1100",
     "ds_store_b32 v1, v3\n"
     "s_barrier\n"
     "ds_load_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    /* a barrier in two halves: the wait comes before the signal */
    {"gfx1201",
     "ds_store_b32 v1, v3\n"
     "s_wait_dscnt 0x0\n"
     "s_barrier_signal -1\n"
     "s_barrier_wait -1\n"
     "ds_load_b32 v5, v2\n"
     "s_wait_dscnt 0x0",
     FORBIDDEN},
    {"gfx1201",
     "ds_store_b32 v1, v3\n"
     "s_wait_loadcnt 0x0\n"
     "s_barrier_signal -1\n"
     "s_barrier_wait -1\n"
     "ds_load_b32 v5, v2\n"
     "s_wait_dscnt 0x0",
     ALLOWED},
    /* a load before the barrier may not see a store behind it */
    {"gfx942",
     "ds_write_b32 v1, v3\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "v_mov_b32 v6, 9\n"
     "ds_write_b32 v1, v6\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx942",
     "ds_write_b32 v1, v3\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_barrier\n"
     "v_mov_b32 v6, 9\n"
     "ds_write_b32 v1, v6\n"
     "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    /* an atomic is done after its wait, like a store */
    {"gfx1100",
     "ds_add_u32 v1, v3\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "ds_load_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx1100",
     "ds_add_u32 v1, v3\n"
     "s_barrier\n"
     "ds_load_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    /* one wave's own operations are in order, and read their registers when
     * they are issued
     */
    {"gfx942",
     "ds_write_b32 v1, v3\n"
     "ds_read_b32 v5, v1\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx1201",
     "ds_store_b32 v1, v3\n"
     "v_mov_b32 v3, 9\n"
     "ds_load_b32 v5, v1\n"
     "v_mov_b32 v1, 0\n"
     "s_wait_dscnt 0x0\n"
     "v_lshlrev_b32 v1, 2, v0",
     FORBIDDEN},
    {"gfx942",
     "ds_write_b32 v1, v3\n"
     "v_mov_b32 v5, v1\n"
     "ds_read_b32 v5, v5\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    /* more operations than are kept; lanes that are off at the wait */
    {"gfx90a",
     ".rept 40\n"
     "ds_write_b32 v1, v3\n"
     ".endr\n"
     "s_mov_b64 exec, 1\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_mov_b64 exec, -1\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    /* a load to LDS is there after its own wait, for its own wave, too */
    {"gfx942",
     LOAD_TO_LDS "s_waitcnt vmcnt(0)\n"
                 "s_barrier\n"
                 "ds_read_b32 v5, v2\n"
                 "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx942",
     LOAD_TO_LDS "s_waitcnt lgkmcnt(0)\n"
                 "s_barrier\n"
                 "ds_read_b32 v5, v2\n"
                 "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    {"gfx950",
     LOAD_TO_LDS "ds_read_b32 v5, v1\n"
                 "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    {"gfx950",
     LOAD_TO_LDS "global_load_dword v6, v4, s[4:5]\n"
                 "s_waitcnt vmcnt(1)\n"
                 "ds_read_b32 v5, v1\n"
                 "s_waitcnt vmcnt(0) lgkmcnt(0)",
     FORBIDDEN},
    /* the same of gfx1250, which has a counter for them. Loads are in order,
     * and so are stores, but not both
     */
    {"gfx1250",
     LOAD_ASYNC "s_wait_asynccnt 0x0\n"
                "s_barrier_signal -1\n"
                "s_barrier_wait -1\n"
                "ds_load_b32 v5, v2\n"
                "s_wait_dscnt 0x0",
     FORBIDDEN},
    {"gfx1250",
     LOAD_ASYNC "s_wait_loadcnt_dscnt 0x0\n"
                "s_barrier_signal -1\n"
                "s_barrier_wait -1\n"
                "ds_load_b32 v5, v2\n"
                "s_wait_dscnt 0x0",
     ALLOWED},
    {"gfx1250",
     LOAD_ASYNC "global_load_async_to_lds_b32 v2, v4, s[4:5]\n"
                "s_wait_asynccnt 0x1\n"
                "ds_load_b32 v5, v1\n"
                "s_wait_dscnt 0x0",
     FORBIDDEN},
    {"gfx1250",
     LOAD_ASYNC "global_store_async_from_lds_b32 v1, v2, s[4:5]\n"
                "s_wait_asynccnt 0x1\n"
                "ds_load_b32 v5, v1\n"
                "s_wait_dscnt 0x0",
     ALLOWED},
    {"gfx1250", STORE_ASYNC "s_wait_asynccnt 0x0\n" READ_BACK, FORBIDDEN},
    {"gfx1250", STORE_ASYNC READ_BACK, ALLOWED},
    /* FLAT at addresses of LDS */
    {"gfx942",
     FLAT_PLACE "flat_store_dword v[8:9], v3\n"
                "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
                "s_barrier\n"
                "ds_read_b32 v5, v2\n"
                "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx942",
     FLAT_PLACE "flat_store_dword v[8:9], v3\n"
                "v_mov_b32 v8, 0\n"
                "s_waitcnt vmcnt(0)\n"
                "s_barrier\n"
                "ds_read_b32 v5, v2\n"
                "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    {"gfx1030",
     "ds_write_b32 v1, v3\n" FLAT_PLACE "flat_load_dword v5, v[8:9]\n"
     "v_mov_b32 v9, 0\n"
     "s_waitcnt vmcnt(0) lgkmcnt(0)",
     FORBIDDEN},
    {"gfx1030",
     FLAT_PLACE "flat_atomic_add v[8:9], v3\n"
                "v_mov_b32 v8, 0\n"
                "s_waitcnt lgkmcnt(0)\n"
                "s_waitcnt_vscnt null, 0x0\n"
                "s_barrier\n"
                "ds_read_b32 v5, v2\n"
                "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    /* M0 of an operation is M0 at its issue */
    {"gfx942",
     "v_readfirstlane_b32 s6, v1\n"
     "s_mov_b32 m0, s6\n"
     "ds_write_addtid_b32 v3\n"
     "s_mov_b32 m0, 0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "ds_read_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     FORBIDDEN},
    {"gfx1100",
     "v_readfirstlane_b32 s6, v1\n"
     "s_mov_b32 m0, s6\n"
     "ds_store_addtid_b32 v3\n"
     "s_barrier\n"
     "ds_load_b32 v5, v2\n"
     "s_waitcnt lgkmcnt(0)",
     ALLOWED},
    /* a flag of a wave that has ended, or waits at the barrier, is seen */
    {"gfx942",
     "v_readfirstlane_b32 s6, v1\n"
     "v_mov_b32 v5, v3\n"
     "v_mov_b32 v6, 0\n"
     "s_cmp_lg_u32 s6, 0\n"
     "s_cbranch_scc1 wait\n"
     "ds_write_b32 v6, v3\n"
     "s_branch end\n"
     "wait: ds_read_b32 v5, v6\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_readfirstlane_b32 s7, v5\n"
     "s_cmp_eq_u32 s7, 0\n"
     "s_cbranch_scc1 wait\n"
     "end: s_nop 0",
     FORBIDDEN},
};

static bool
    watches; /* check for races, each of which counts as a wrong value */

static bool is_gfx12(const char *target)
{
    return strncmp(target, "gfx12", 5) == 0;
}

/* Without the warnings of races, which every other run would print. */
static bool dispatch_quietly(struct asm_launch *l)
{
    const int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int old = dup(STDERR_FILENO);
    bool ok;

    assert_true(none >= 0 && old >= 0);
    dup2(none, STDERR_FILENO);
    ok = asm_dispatch(l);
    dup2(old, STDERR_FILENO);
    close(none);
    close(old);
    return ok;
}

/* Runs a case; whether all values are 7. */
static bool run(size_t i, uint64_t seed)
{
    const char *target = cases[i].target;
    const bool gfx9 = target[3] == '9', gfx12 = is_gfx12(target);
    const unsigned lanes = gfx9 ? 64 : 32;
    struct sim_alloc *a =
        sim_mem_alloc(0, 2 * MOST * sizeof(uint32_t), 256, SIM_MEM_DEVICE);
    char text[2048];
    uint64_t kernarg;
    bool right = true;
    struct asm_launch l = {.target = target,
                           .wave_size = lanes,
                           .text = text,
                           .groups = 1,
                           .block = WAVES * lanes,
                           .lds_nbytes = MOST * 4,
                           .nregs = 64,
                           .kernarg = &kernarg,
                           .kernarg_nbytes = sizeof(kernarg)};

    assert_non_null(a);
    memset(a->bytes, 0, MOST * sizeof(uint32_t));
    for (size_t k = MOST; k < 2 * (size_t)MOST; k++)
        memcpy(a->bytes + k * sizeof(uint32_t), &(uint32_t){7},
               sizeof(uint32_t));
    sim_mem_mark_written(a->base, 2 * MOST * sizeof(uint32_t));
    kernarg = a->base;
    snprintf(
        text, sizeof(text),
        "%s s[4:5], s[0:1], 0x0\n"
        "v_lshlrev_b32 v1, 2, v0\n"
        "v_xor_b32 v2, %u, v1\n"
        "v_mov_b32 v3, 0\n"
        "%s v1, v3\n"
        "%s\n%s\n"
        "v_mov_b32 v3, 7\n"
        "%s\n"
        "%s v1, v5, s[4:5]\n",
        gfx9 || target[4] == '0' ? "s_load_dwordx2" : "s_load_b64", 4 * lanes,
        gfx9 || target[4] == '0' ? "ds_write_b32" : "ds_store_b32",
        gfx12 ? "s_wait_dscnt 0x0\ns_wait_kmcnt 0x0" : "s_waitcnt lgkmcnt(0)",
        gfx12 ? "s_barrier_signal -1\ns_barrier_wait -1" : "s_barrier",
        cases[i].text,
        gfx9 || target[4] == '0' ? "global_store_dword" : "global_store_b32");
    sim_config_mutable()->weak = seed;
    sim_config_mutable()->weak_parts = WEAK_LDS; /* its own turns alone */
    sim_config_mutable()->races = watches;
    right = dispatch_quietly(&l);
    sim_config_mutable()->races = false;
    if (!right && (!watches || l.fault.kind != SIM_FAULT_RACE))
        fail_msg("%s, seed %u: %s\n%s", target, (unsigned)seed, cases[i].text,
                 l.fault.text);
    sim_config_mutable()->weak = 1;
    for (unsigned k = 0; k < WAVES * lanes; k++) {
        uint32_t value;

        memcpy(&value, a->bytes + k * sizeof(value), sizeof(value));
        right &= value == 7;
    }
    sim_mem_free(a->base);
    return right;
}

static void test_what_is_forbidden_never_shows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint64_t seed = 0; cases[i].other == FORBIDDEN && seed < SEEDS;
             seed++)
            if (!run(i, seed))
                fail_msg("%s, seed %u shows another value: %s", cases[i].target,
                         (unsigned)seed, cases[i].text);
}

static void test_what_is_allowed_shows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned n = 0;

        if (cases[i].other != ALLOWED)
            continue;
        for (uint64_t seed = 2; seed < SEEDS; seed++)
            n += !run(i, seed);
        if (run(i, 0) || n < SEEDS / 4 || n == SEEDS - 2)
            fail_msg("%s: %u of %d seeds show another value: %s",
                     cases[i].target, n, SEEDS - 2, cases[i].text);
    }
}

/* Seed 0 and KPK_SIM_RACES find each missing wait, and nothing else. */
static void test_a_missing_wait_is_a_race(void **state)
{
    (void)state;
    watches = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (!strstr(cases[i].text, "wait:") &&
            !strstr(cases[i].text, "v5, v1") &&
            run(i, 0) != (cases[i].other == FORBIDDEN))
            fail_msg("%s: %s", cases[i].target, cases[i].text);
    watches = false;
}

static void test_seed_1_is_the_plain_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (cases[i].other == ALLOWED)
            assert_true(run(i, 1));
}

static void test_a_seed_repeats(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint64_t seed = 2; seed < 8; seed++)
            assert_int_equal(run(i, seed), run(i, seed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_forbidden_never_shows),
        cmocka_unit_test(test_what_is_allowed_shows),
        cmocka_unit_test(test_a_missing_wait_is_a_race),
        cmocka_unit_test(test_seed_1_is_the_plain_run),
        cmocka_unit_test(test_a_seed_repeats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
