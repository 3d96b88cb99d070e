/* test_race_order.c - KPK_SIM_RACES: which instructions order memory between
 * workgroups, in each family
 *
 * Message passing: group 0 stores data and writes a flag, the others wait for
 * the flag and load the data. Each family passes with what LLVM emits for a
 * release and an acquire of agent scope, and races without each part of it.
 *
 * s[4:5] points to zeros, v1 is 4 times the work-item's ID, v3 is 0, v4 is 1.
 */
#include "asm.h"
#include "sim/base/group_races.h"
#include "sim/base/host_access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

enum { BUFFER = 4096, MOST = 8 };

#define WAITS "s_cbranch_scc1 wait"

/* A text of one family: the writer's lines, then the reader's. One that begins
 * with a word and a bar is needed: without it the fault has the word. */
struct family {
    const char *target;
    const char *writer[MOST], *reader[MOST];
};

#define NO_WAIT_LINE "without a wait|"
#define NO_WRITE_BACK_LINE "' and a wait for it before|"
#define NO_INVALIDATION_LINE "before a flag that this workgroup read|"

static const struct family families[] = {
    {"gfx906",
     {"global_store_dword v1, v1, s[4:5]", NO_WAIT_LINE "s_waitcnt vmcnt(0)",
      "global_store_dword v3, v4, s[4:5] offset:2048"},
     {"global_load_dword v5, v3, s[4:5] offset:2048 glc", "s_waitcnt vmcnt(0)",
      NO_INVALIDATION_LINE "buffer_wbinvl1_vol",
      "global_load_dword v6, v1, s[4:5]"}},
    {"gfx90a",
     {"global_store_dword v1, v1, s[4:5] glc slc",
      NO_WAIT_LINE "s_waitcnt vmcnt(0)",
      "global_atomic_add v3, v4, s[4:5] offset:2048"},
     {"global_load_dword v5, v3, s[4:5] offset:2048 glc", "s_waitcnt vmcnt(0)",
      NO_INVALIDATION_LINE "buffer_wbinvl1_vol",
      "global_load_dword v6, v1, s[4:5] glc slc"}},
    {"gfx942",
     {"global_store_dword v1, v1, s[4:5]", NO_WRITE_BACK_LINE "buffer_wbl2 sc1",
      NO_WAIT_LINE "s_waitcnt vmcnt(0)",
      "global_store_dword v3, v4, s[4:5] offset:2048 sc1"},
     {"global_load_dword v5, v3, s[4:5] offset:2048 sc1", "s_waitcnt vmcnt(0)",
      NO_INVALIDATION_LINE "buffer_inv sc1",
      "global_load_dword v6, v1, s[4:5]"}},
    /* what went to the device by its own scope needs no write-back */
    {"gfx950",
     {"global_store_dword v1, v1, s[4:5] sc0 sc1", "s_waitcnt vmcnt(0)",
      "global_atomic_add v3, v4, s[4:5] offset:2048"},
     {"global_load_dword v5, v3, s[4:5] offset:2048 sc0 sc1",
      "s_waitcnt vmcnt(0)", NO_INVALIDATION_LINE "buffer_inv sc0 sc1",
      "global_load_dword v6, v1, s[4:5]"}},
    {"gfx1030",
     {"global_store_dword v1, v1, s[4:5]",
      NO_WAIT_LINE "s_waitcnt_vscnt null, 0x0",
      "global_store_dword v3, v4, s[4:5] offset:1024"},
     {"global_load_dword v5, v3, s[4:5] offset:1024 glc dlc",
      "s_waitcnt vmcnt(0)", NO_INVALIDATION_LINE "buffer_gl1_inv",
      NO_INVALIDATION_LINE "buffer_gl0_inv",
      "global_load_dword v6, v1, s[4:5]"}},
    {"gfx1100",
     {"global_store_b32 v1, v1, s[4:5] glc slc dlc",
      NO_WAIT_LINE "s_waitcnt_vscnt null, 0x0",
      "global_store_b32 v3, v4, s[4:5] offset:2048"},
     {"global_load_b32 v5, v3, s[4:5] offset:2048 glc", "s_waitcnt vmcnt(0)",
      NO_INVALIDATION_LINE "buffer_gl1_inv",
      NO_INVALIDATION_LINE "buffer_gl0_inv",
      "global_load_b32 v6, v1, s[4:5] slc dlc"}},
    {"gfx1201",
     {"global_store_b32 v1, v1, s[4:5]", NO_WAIT_LINE "s_wait_storecnt 0x0",
      "global_store_b32 v3, v4, s[4:5] offset:2048 scope:SCOPE_DEV"},
     {"global_load_b32 v5, v3, s[4:5] offset:2048 scope:SCOPE_DEV",
      "s_wait_loadcnt 0x0", NO_INVALIDATION_LINE "global_inv scope:SCOPE_DEV",
      "global_load_b32 v6, v1, s[4:5]"}},
    {"gfx1250",
     {"global_store_b32 v1, v1, s[4:5]",
      NO_WRITE_BACK_LINE "global_wb scope:SCOPE_DEV",
      NO_WAIT_LINE "s_wait_storecnt 0x0",
      "global_store_b32 v3, v4, s[4:5] offset:2048 scope:SCOPE_DEV"},
     {"global_load_b32 v5, v3, s[4:5] offset:2048 scope:SCOPE_DEV",
      "s_wait_loadcnt 0x0", NO_INVALIDATION_LINE "global_inv scope:SCOPE_DEV",
      "global_load_b32 v6, v1, s[4:5]"}},
};

/* By what a line is replaced, for it to do less. */
static const struct {
    const char *target, *line, *by;
} weaker[] = {
    {"gfx942", "buffer_wbl2 sc1", "buffer_wbl2 sc0"},
    {"gfx942", "buffer_inv sc1", "buffer_inv sc0"},
    {"gfx942", "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(1)"},
    {"gfx942", "global_store_dword v3, v4, s[4:5] offset:2048 sc1",
     "global_store_dword v3, v4, s[4:5] offset:2048 sc0"},
    {"gfx90a", "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"},
    {"gfx1030", "s_waitcnt_vscnt null, 0x0", "s_waitcnt vmcnt(0)"},
    {"gfx1030", "global_load_dword v5, v3, s[4:5] offset:1024 glc dlc",
     "global_load_dword v5, v3, s[4:5] offset:1024 glc"},
    {"gfx1100", "global_load_b32 v5, v3, s[4:5] offset:2048 glc",
     "global_load_b32 v5, v3, s[4:5] offset:2048 glc slc"},
    {"gfx1201", "global_inv scope:SCOPE_DEV", "global_inv scope:SCOPE_SE"},
    {"gfx1250", "global_wb scope:SCOPE_DEV", "global_wb scope:SCOPE_SE"},
};

static const char *instruction(const char *line)
{
    const char *bar = strchr(line, '|');

    return bar ? bar + 1 : line;
}

static size_t put_lines(char *text, size_t n, const char *const *lines,
                        const char *without, const char *line, const char *by)
{
    for (size_t i = 0; i < MOST && lines[i]; i++) {
        const char *in = instruction(lines[i]);

        if (lines[i] == without)
            continue;
        n += (size_t)snprintf(text + n, 2048 - n, "%s\n",
                              line && strcmp(in, line) == 0 ? by : in);
    }
    return n;
}

static const char *text_of(const struct family *f, const char *without,
                           const char *line, const char *by)
{
    static char text[2048];
    const bool gfx12 = strncmp(f->target, "gfx12", 5) == 0;
    size_t n = (size_t)snprintf(
        text, sizeof(text),
        "%s s[4:5], s[0:1], 0x0\n%s\n"
        "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v3, 0\nv_mov_b32 v4, 1\n"
        "s_cmp_lg_u32 %s, 0\n" WAITS "\n",
        f->target[3] == '9' || strncmp(f->target, "gfx10", 5) == 0
            ? "s_load_dwordx2"
            : "s_load_b64",
        gfx12 ? "s_wait_kmcnt 0x0" : "s_waitcnt lgkmcnt(0)",
        gfx12 ? "ttmp9" : "s2");

    n = put_lines(text, n, f->writer, without, line, by);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "s_endpgm\nwait:\n");
    /* the load of the flag and its wait, then what follows when it is set */
    for (size_t i = 0; i < 2; i++) {
        const char *const one[MOST] = {f->reader[i]};

        n = put_lines(text, n, one, without, line, by);
    }
    n += (size_t)snprintf(text + n, sizeof(text) - n,
                          "v_readfirstlane_b32 s7, v5\n"
                          "s_cmp_eq_u32 s7, 0\n" WAITS "\n");
    put_lines(text, n, f->reader + 2, without, line, by);
    return text;
}

static unsigned nwaves = 1; /* of a group */

static bool run(const char *target, const char *text, struct asm_launch *l)
{
    const bool gfx9 = strncmp(target, "gfx9", 4) == 0;
    struct sim_alloc *a = sim_mem_alloc(0, BUFFER, 256, SIM_MEM_DEVICE);
    uint64_t kernarg;
    bool ok;

    assert_non_null(a);
    memset(a->bytes, 0, BUFFER);
    sim_mem_mark_written(a->base, BUFFER);
    kernarg = a->base;
    *l = (struct asm_launch){.target = target,
                             .wave_size = gfx9 ? 64 : 32,
                             .text = text,
                             .groups = 3,
                             .block = nwaves * (gfx9 ? 64 : 32),
                             .scratch_nbytes = 64,
                             .nregs = 64,
                             .accum_offset = 32,
                             .kernarg = &kernarg,
                             .kernarg_nbytes = sizeof(kernarg)};
    sim_config_mutable()->races = true;
    ok = asm_dispatch(l);
    sim_config_mutable()->races = false;
    sim_mem_free(a->base);
    return ok;
}

static void expect(const char *target, const char *text, const char *fault)
{
    struct asm_launch l;
    const bool ok = run(target, text, &l);

    if (ok != !fault)
        fail_msg("%s: %s\n%s", target, text, ok ? "passes" : l.fault.text);
    if (fault &&
        (l.fault.kind != SIM_FAULT_GROUP_RACE || !strstr(l.fault.text, fault)))
        fail_msg("%s: %s\n'%s' is not in: %s", target, text, fault,
                 l.fault.text);
}

static void test_release_and_acquire_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        expect(families[i].target, text_of(&families[i], NULL, NULL, NULL),
               NULL);
}

static void test_each_part_of_them_is_needed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        for (size_t k = 0; k < 2 * MOST; k++) {
            const struct family *f = &families[i];
            const char *line = k < MOST ? f->writer[k] : f->reader[k - MOST];
            const char *bar = line ? strchr(line, '|') : NULL;
            char fault[64];

            if (!bar)
                continue;
            snprintf(fault, sizeof(fault), "%.*s", (int)(bar - line), line);
            expect(f->target, text_of(f, line, NULL, NULL), fault);
        }
}

static void test_what_does_less_does_not_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(weaker) / sizeof(*weaker); i++)
        for (size_t k = 0; k < sizeof(families) / sizeof(*families); k++)
            if (strcmp(families[k].target, weaker[i].target) == 0)
                expect(
                    weaker[i].target,
                    text_of(&families[k], NULL, weaker[i].line, weaker[i].by),
                    "data race between workgroups");
}

static const struct {
    const char *target, *text;
    const char *fault; /* part of its text; NULL: the program is right */
} cases[] = {
    /* a nontemporal store is as plain as another */
    {"gfx90a", "global_store_dword v1, v7, s[4:5] glc slc", "wrote"},
    {"gfx1100", "global_store_b32 v1, v7, s[4:5] glc slc dlc", "wrote"},
    {"gfx942", "global_store_dword v1, v7, s[4:5] nt", "wrote"},
    {"gfx1201", "global_store_b32 v1, v7, s[4:5] th:TH_STORE_NT", "wrote"},
    /* all groups write one place after a relaxed atomic, with and without wait
     */
    {"gfx90a",
     "global_atomic_add v5, v3, v4, s[4:5] offset:2048 glc\n"
     "s_waitcnt vmcnt(0)\n"
     "global_store_dword v1, v7, s[4:5]\n"
     "global_atomic_add v3, v4, s[4:5] offset:2048",
     "without a wait"},
    {"gfx90a",
     "global_store_dword v1, v7, s[4:5]\n"
     "s_waitcnt vmcnt(0)\n"
     "global_atomic_add v3, v4, s[4:5] offset:2048",
     "with no flag"},
    {"gfx90a",
     "global_atomic_add v5, v3, v4, s[4:5] offset:2048 glc\n"
     "s_waitcnt vmcnt(0)\n"
     "global_store_dword v1, v7, s[4:5]\n"
     "s_waitcnt vmcnt(0)\n"
     "global_atomic_add v3, v4, s[4:5] offset:2048",
     NULL},
    /* a compare-and-swap holds the load against memory, if it is of the same
     * place
     */
    {"gfx90a",
     "global_load_dword v5, v3, s[4:5] offset:2048\n"
     "s_waitcnt vmcnt(0)\n"
     "v_add_u32 v4, v5, v7\n"
     "global_atomic_cmpswap v6, v3, v[4:5], s[4:5] offset:2048 glc",
     NULL},
    {"gfx90a",
     "global_load_dword v5, v3, s[4:5] offset:2052\n"
     "s_waitcnt vmcnt(0)\n"
     "v_add_u32 v4, v5, v7\n"
     "global_atomic_cmpswap v6, v3, v[4:5], s[4:5] offset:2048 glc\n"
     "global_atomic_add v3, v4, s[4:5] offset:2052",
     "updated"},
    /* the value goes by other registers and by the stack */
    {"gfx90a",
     "s_load_dword s8, s[4:5], 0x800\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_mov_b32 v5, s8\n"
     "v_add_u32 v4, v5, v7\n"
     "global_atomic_cmpswap v6, v3, v[4:5], s[4:5] offset:2048 glc",
     NULL},
    {"gfx90a",
     "v_mov_b32 v10, s4\n"
     "v_mov_b32 v11, s5\n"
     "flat_load_dword v10, v[10:11] offset:2048\n"
     "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
     "v_accvgpr_write_b32 a1, v10\n"
     "v_mov_b32 v10, 0\n"
     "v_accvgpr_read_b32 v5, a1\n"
     "v_add_u32 v4, v5, v7\n"
     "global_atomic_cmpswap v6, v3, v[4:5], s[4:5] offset:2048 glc",
     NULL},
    {"gfx90a",
     "global_load_dword v5, v3, s[4:5] offset:2048\n"
     "s_waitcnt vmcnt(0)\n"
     "v_mov_b32 v5, 0\n"
     "v_add_u32 v4, v5, v7\n"
     "global_atomic_cmpswap v6, v3, v[4:5], s[4:5] offset:2048 glc",
     "updated"},
    {"gfx1100",
     "global_load_b32 v5, v3, s[4:5] offset:2048\n"
     "s_waitcnt vmcnt(0)\n"
     "scratch_store_b32 off, v5, off offset:8\n"
     "v_mov_b32 v5, 0\n"
     "scratch_load_b32 v9, off, off offset:8\n"
     "s_waitcnt vmcnt(0)\n"
     "v_dual_mov_b32 v4, 1 :: v_dual_mov_b32 v5, v9\n"
     "global_atomic_cmpswap_b32 v6, v3, v[4:5], s[4:5] offset:2048 glc",
     NULL},
    {"gfx1100",
     "global_load_b32 v5, v3, s[4:5] offset:2048\n"
     "s_waitcnt vmcnt(0)\n"
     "scratch_store_b32 off, v5, off offset:8\n"
     "scratch_store_b32 off, v3, off offset:8\n"
     "scratch_load_b32 v5, off, off offset:8\n"
     "s_waitcnt vmcnt(0)\n"
     "v_mov_b32 v4, 1\n"
     "global_atomic_cmpswap_b32 v6, v3, v[4:5], s[4:5] offset:2048 glc",
     "updated"},
    /* a flag that the atomics of other groups do not touch */
    {"gfx90a",
     "global_atomic_add v5, v7, v4, s[4:5] offset:2048 glc\n"
     "s_waitcnt vmcnt(0)\n"
     "global_store_dword v1, v7, s[4:5]\n"
     "s_waitcnt vmcnt(0)\n"
     "global_atomic_add v7, v4, s[4:5] offset:2048",
     "with no flag"},
};

static void test_atomics_and_hints_order_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *target = cases[i].target;
        const bool gfx12 = strncmp(target, "gfx12", 5) == 0;
        char text[1024];

        /* v7 differs by group */
        snprintf(text, sizeof(text),
                 "%s s[4:5], s[0:1], 0x0\n%s\nv_lshlrev_b32 v1, 2, v0\n"
                 "v_mov_b32 v3, 0\nv_mov_b32 v4, 1\ns_lshl_b32 s6, %s, 6\n"
                 "s_add_u32 s6, s6, 64\nv_mov_b32 v7, s6\n%s\n",
                 target[3] == '9' ? "s_load_dwordx2" : "s_load_b64",
                 gfx12 ? "s_wait_kmcnt 0x0" : "s_waitcnt lgkmcnt(0)",
                 gfx12 ? "ttmp9" : "s2", cases[i].text);
        expect(target, text, cases[i].fault);
    }
}

/* Each wave stores and fences, then one of them writes the flag for all: the
 * last group reads what the second wave of group 0 wrote.
 */
static void test_each_wave_fences_for_itself(void **state)
{
#define BY_ALL(fence)                                                          \
    "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"               \
    "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v3, 0\nv_mov_b32 v4, 1\n"              \
    "s_lshl_b32 s8, s2, 9\nv_add_u32 v8, s8, v1\n"                             \
    "global_store_dword v8, v0, s[4:5]\n" fence "s_waitcnt vmcnt(0)\n"         \
    "s_barrier\n"                                                              \
    "v_readfirstlane_b32 s9, v1\n"                                             \
    "s_cmp_lg_u32 s9, 0\ns_cbranch_scc1 end\n"                                 \
    "s_mov_b64 exec, 1\n"                                                      \
    "global_atomic_add v5, v3, v4, s[4:5] offset:2048 sc0\n"                   \
    "s_waitcnt vmcnt(0)\nv_readfirstlane_b32 s7, v5\ns_mov_b64 exec, -1\n"     \
    "s_cmp_lg_u32 s7, 2\ns_cbranch_scc1 end\n"                                 \
    "buffer_inv sc1\n"                                                         \
    "global_load_dword v6, v1, s[4:5] offset:256\n"                            \
    "end: s_nop 0\n"
    (void)state;
    nwaves = 2;
    expect("gfx942", BY_ALL("buffer_wbl2 sc1\n"), NULL);
    expect("gfx942", BY_ALL(""), "buffer_wbl2 sc1");
    nwaves = 1;
}

static void test_bytes_of_a_dword_are_told_apart(void **state)
{
    static const uint8_t was[8], third[8] = {[2] = 1};
    struct races *r = sim_races_new(2);
    struct race race = {0};

    (void)state;
    assert_non_null(r);
    /* a dword of one group, and one of two groups, in one page */
    assert_false(sim_races_note(r, 0, 64, 4, RACE_WRITE, was, NULL, &race));
    assert_true(sim_races_note(r, 1, 64, 4, RACE_WRITE, was, third, &race));
    assert_int_equal(race.at, 66);
    assert_false(sim_races_note(r, 0, 70, 1, RACE_WRITE, was, NULL, &race));
    assert_false(sim_races_note(r, 1, 71, 1, RACE_WRITE, was, NULL, &race));
    assert_true(sim_races_note(r, 1, 68, 4, RACE_READ, was, NULL, &race));
    assert_int_equal(race.at, 70);
    assert_true(sim_races_note(r, 1, 67, 1, RACE_READ, was, NULL, &race));
    assert_int_equal(race.group, 0);
    /* from one page to the next */
    assert_false(sim_races_note(r, 0, 1022, 4, RACE_WRITE, was, NULL, &race));
    assert_true(sim_races_note(r, 1, 1025, 2, RACE_READ, was, NULL, &race));
    assert_false(sim_races_note(r, 1, 1026, 2, RACE_READ, was, NULL, &race));
    sim_races_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_and_acquire_order),
        cmocka_unit_test(test_each_part_of_them_is_needed),
        cmocka_unit_test(test_what_does_less_does_not_order),
        cmocka_unit_test(test_atomics_and_hints_order_nothing_else),
        cmocka_unit_test(test_each_wave_fences_for_itself),
        cmocka_unit_test(test_bytes_of_a_dword_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
