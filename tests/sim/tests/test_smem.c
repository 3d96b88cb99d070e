/* test_smem.c - scalar memory: loads, stores, atomics, buffers, scratch */
#include "memory_test.h"

enum { N = 256 };

/* s[2:3] base, s[8:11] a buffer of the first 64 bytes, s[4:7] data. */
static struct asm_state *scalar_state(const char *target, struct sim_alloc *a)
{
    struct asm_state *st =
        asm_new(target, strncmp(target, "gfx9", 4) == 0 ? 64 : 32);

    set64(st, 2, a->base);
    set64(st, 8, a->base);
    st->s[10] = 64;
    st->s[11] = 0;
    for (unsigned i = 0; i < 4; i++)
        st->s[4 + i] = 0x11111111 * (i + 1);
    st->s[SREG_M0] = 16;
    return st;
}

static const struct {
    const char *target, *text;
    unsigned at, ndwords; /* bytes of the buffer that become s[4...] */
} stores[] = {
    {"gfx942", "s_store_dword s4, s[2:3], 0x8", 8, 1},
    {"gfx942", "s_store_dwordx2 s[4:5], s[2:3], m0", 16, 2},
    {"gfx906", "s_store_dwordx4 s[4:7], s[2:3], 0x20", 32, 4},
    {"gfx1010", "s_store_dword s4, s[2:3], 0xc", 12, 1},
    {"gfx942", "s_buffer_store_dword s4, s[8:11], 0x4", 4, 1},
    {"gfx942", "s_buffer_store_dwordx2 s[4:5], s[8:11], m0", 16, 2},
    {"gfx942", "s_buffer_store_dwordx4 s[4:7], s[8:11], 0x10", 16, 4},
    /* only the first two dwords fit the buffer */
    {"gfx942", "s_buffer_store_dwordx4 s[4:7], s[8:11], 0x38", 56, 2},
    {"gfx942", "s_scratch_store_dword s4, s[2:3], 0x8", 8, 1},
    {"gfx942", "s_mov_b32 m0, 1\ns_scratch_store_dwordx2 s[4:5], s[2:3], m0",
     64, 2},
    {"gfx906", "s_scratch_store_dwordx4 s[4:7], s[2:3], 0x10", 16, 4},
};

static void test_scalar_stores_write_their_dwords_alone(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(stores) / sizeof(stores[0]); n++) {
        struct sim_alloc *a = counting_bytes(N), *same = counting_bytes(N);
        struct asm_state *st = scalar_state(stores[n].target, a);

        memcpy(same->bytes + stores[n].at, &st->s[4], 4ull * stores[n].ndwords);
        asm_run(st, stores[n].text);
        if (memcmp(a->bytes, same->bytes, N) != 0)
            fail_msg("%s: %s wrote something else", stores[n].target,
                     stores[n].text);
        asm_free(st);
        sim_mem_free(a->base);
        sim_mem_free(same->base);
    }
}

static const struct {
    const char *target, *text;
    unsigned at, ndwords, valid; /* the rest reads 0 */
} loads[] = {
    {"gfx942", "s_load_dwordx8 s[16:23], s[2:3], 0x10", 16, 8, 8},
    {"gfx942", "s_buffer_load_dword s16, s[8:11], 0x4", 4, 1, 1},
    {"gfx942", "s_buffer_load_dwordx2 s[16:17], s[8:11], m0", 16, 2, 2},
    {"gfx942", "s_buffer_load_dwordx4 s[16:19], s[8:11], 0x38", 56, 4, 2},
    {"gfx906", "s_buffer_load_dwordx8 s[16:23], s[8:11], 0x0", 0, 8, 8},
    {"gfx942", "s_buffer_load_dwordx16 s[16:31], s[8:11], 0x4", 4, 16, 15},
    {"gfx942", "s_scratch_load_dword s16, s[2:3], 0x8", 8, 1, 1},
    {"gfx942", "s_mov_b32 m0, 2\ns_scratch_load_dwordx2 s[16:17], s[2:3], m0",
     128, 2, 2},
    {"gfx906", "s_scratch_load_dwordx4 s[16:19], s[2:3], 0x10", 16, 4, 4},
    {"gfx1100", "s_load_b256 s[16:23], s[2:3], 0x20", 32, 8, 8},
    {"gfx1201", "s_load_b512 s[16:31], s[2:3], 0x40", 64, 16, 16},
    {"gfx1100", "s_buffer_load_b32 s16, s[8:11], 0x4", 4, 1, 1},
    {"gfx1100", "s_buffer_load_b64 s[16:17], s[8:11], 0x8", 8, 2, 2},
    {"gfx1201", "s_buffer_load_b96 s[16:18], s[8:11], 0x38", 56, 3, 2},
    {"gfx1100", "s_buffer_load_b256 s[16:23], s[8:11], 0x0", 0, 8, 8},
    {"gfx1201", "s_buffer_load_b512 s[16:31], s[8:11], 0x0", 0, 16, 16},
};

static void test_scalar_loads_of_every_name(void **state)
{
    struct sim_alloc *a = counting_bytes(N);

    (void)state;
    for (size_t n = 0; n < sizeof(loads) / sizeof(loads[0]); n++) {
        struct asm_state *st = scalar_state(loads[n].target, a);

        st->s[16 + loads[n].ndwords] = 99;
        asm_run(st, loads[n].text);
        for (unsigned i = 0; i < loads[n].ndwords; i++) {
            uint32_t want = i < loads[n].valid
                                ? dword_at(a->bytes + loads[n].at + 4ull * i)
                                : 0;

            if (st->s[16 + i] != want)
                fail_msg("%s: %s: dword %u: want %#x, got %#x", loads[n].target,
                         loads[n].text, i, want, st->s[16 + i]);
        }
        assert_int_equal(st->s[16 + loads[n].ndwords], 99);
        asm_free(st);
    }
    sim_mem_free(a->base);
}

static void test_narrow_scalar_buffer_loads(void **state)
{
    struct sim_alloc *a = counting_bytes(N);
    struct asm_state *st = scalar_state("gfx1201", a);

    (void)state;
    a->bytes[5] = 0x90;
    a->bytes[7] = 0xa0;
    asm_run(st, "s_buffer_load_u8 s16, s[8:11], 0x5\n"
                "s_buffer_load_i8 s17, s[8:11], 0x5\n"
                "s_buffer_load_u16 s18, s[8:11], 0x6\n"
                "s_buffer_load_i16 s19, s[8:11], 0x6\n"
                "s_buffer_load_u8 s20, s[8:11], 0x40\n"
                "s_load_i16 s21, s[2:3], 0x6\n");
    assert_int_equal(st->s[16], 0x90);
    assert_int_equal(st->s[17], 0xffffff90);
    assert_int_equal(st->s[18], 0xa007);
    assert_int_equal(st->s[19], 0xffffa007);
    assert_int_equal(st->s[20], 0);
    assert_int_equal(st->s[21], 0xffffa007);
    asm_free(st);
    sim_mem_free(a->base);
}

/* ---- atomics ---- */

static const struct {
    const char *name;
    uint64_t old, data, compare, want32, want64;
} atomics[] = {
    {"swap", 5, 9, 0, 9, 9},
    {"cmpswap", 5, 9, 5, 9, 9},
    {"cmpswap", 5, 9, 4, 5, 5},
    {"add", UINT64_MAX, 2, 0, 1, 1},
    {"sub", 1, 2, 0, UINT32_MAX, UINT64_MAX},
    {"smin", UINT64_MAX, 2, 0, UINT32_MAX, UINT64_MAX},
    {"umin", UINT64_MAX, 2, 0, 2, 2},
    {"smax", UINT64_MAX, 2, 0, 2, 2},
    {"umax", UINT64_MAX, 2, 0, UINT32_MAX, UINT64_MAX},
    {"and", 0xff00, 0x0ff0, 0, 0x0f00, 0x0f00},
    {"or", 0xff00, 0x0ff0, 0, 0xfff0, 0xfff0},
    {"xor", 0xff00, 0x0ff0, 0, 0xf0f0, 0xf0f0},
    {"inc", 7, 7, 0, 0, 0},
    {"inc", 6, 7, 0, 7, 7},
    {"dec", 0, 7, 0, 7, 7},
    {"dec", 6, 7, 0, 5, 5},
};

static void check_atomic(size_t n, bool wide, bool buffer, bool returns)
{
    struct sim_alloc *a = counting_bytes(N);
    struct asm_state *st = scalar_state("gfx942", a);
    bool compares = strcmp(atomics[n].name, "cmpswap") == 0;
    uint64_t mask = wide ? UINT64_MAX : UINT32_MAX, got, back;
    uint64_t want = wide ? atomics[n].want64 : atomics[n].want32;
    unsigned words = (wide ? 2 : 1) * (compares ? 2 : 1);
    char text[128], data[16];

    memcpy(a->bytes + 8, &atomics[n].old, 8);
    set64(st, 20, atomics[n].data);
    if (wide)
        set64(st, 22, atomics[n].compare);
    else
        st->s[21] = (uint32_t)atomics[n].compare;
    if (words == 1)
        snprintf(data, sizeof(data), "s20");
    else
        snprintf(data, sizeof(data), "s[20:%u]", 19 + words);
    snprintf(text, sizeof(text), "s_%satomic_%s%s %s, %s, 0x8%s",
             buffer ? "buffer_" : "", atomics[n].name, wide ? "_x2" : "", data,
             buffer ? "s[8:11]" : "s[2:3]", returns ? " glc" : "");
    asm_run(st, text);
    memcpy(&got, a->bytes + 8, 8);
    back = st->s[20] | (uint64_t)st->s[21] << 32;
    if ((got & mask) != want ||
        (back & mask) != ((returns ? atomics[n].old : atomics[n].data) & mask))
        fail_msg("%s: want %#llx, got %#llx and %#llx back", text,
                 (unsigned long long)want, (unsigned long long)got,
                 (unsigned long long)back);
    if (!wide)
        assert_int_equal(got >> 32, atomics[n].old >> 32);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_scalar_atomics_update_and_return(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(atomics) / sizeof(atomics[0]); n++)
        for (unsigned form = 0; form < 8; form++)
            check_atomic(n, form & 1, form & 2, form & 4);
}

static void test_scalar_atomics_past_a_buffer_do_nothing(void **state)
{
    struct sim_alloc *a = counting_bytes(N);
    struct asm_state *st = scalar_state("gfx942", a);

    (void)state;
    asm_run(st, "s_buffer_atomic_add s4, s[8:11], 0x40 glc");
    assert_int_equal(st->s[4], 0);
    assert_int_equal(a->bytes[64], 65);
    /* memory is checked as for loads */
    assert_false(asm_try(st, "s_atomic_add s4, s[2:3], 0x1000"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MEMORY);
    assert_false(asm_try(st, "s_atomic_add s4, s[2:3], 0x2"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MISALIGNED);
    assert_false(asm_try(st, "s_store_dword s4, s[2:3], 0x100"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MEMORY);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_cache_control_does_nothing(void **state)
{
    static const struct {
        const char *target, *text;
    } lines[] = {
        {"gfx942", "s_dcache_wb\ns_dcache_inv\ns_dcache_inv_vol\n"
                   "s_dcache_wb_vol\ns_dcache_discard s[2:3], 0x0\n"
                   "s_dcache_discard_x2 s[2:3], 0x0\n"
                   "s_atc_probe 7, s[2:3], 0x0\n"
                   "s_atc_probe_buffer 7, s[8:11], 0x0\n"
                   "buffer_wbl2 sc1\nbuffer_inv sc0 sc1\ns_icache_inv"},
        {"gfx906", "buffer_wbinvl1\nbuffer_wbinvl1_vol"},
        {"gfx90a", "buffer_wbl2\nbuffer_invl2"},
        {"gfx1030", "buffer_gl0_inv\nbuffer_gl1_inv\ns_gl1_inv"},
        {"gfx1201", "s_prefetch_data s[2:3], 0, null, 0\n"
                    "s_prefetch_inst s[2:3], 0, null, 0\n"
                    "s_prefetch_data_pc_rel 0, null, 0\n"
                    "s_prefetch_inst_pc_rel 0, null, 0\n"
                    "s_buffer_prefetch_data s[8:11], 0, null, 0\n"
                    "global_wb scope:SCOPE_SYS\nglobal_wbinv scope:SCOPE_SYS\n"
                    "global_inv scope:SCOPE_DEV"}};

    (void)state;
    for (size_t n = 0; n < sizeof(lines) / sizeof(lines[0]); n++) {
        struct sim_alloc *a = counting_bytes(N);
        struct asm_state *st = scalar_state(lines[n].target, a);
        uint32_t before[NUM_SREGS];

        memcpy(before, st->s, sizeof(before));
        asm_run(st, lines[n].text);
        /* but for the base of scratch, that the test gives out */
        assert_memory_equal(before, st->s, 4 * SREG_FLAT_SCRATCH);
        assert_int_equal(a->bytes[0], 1);
        asm_free(st);
        sim_mem_free(a->base);
    }
}

static void test_clocks_go_forward(void **state)
{
    struct sim_alloc *a = counting_bytes(N);
    struct asm_state *st = scalar_state("gfx942", a);

    (void)state;
    asm_run(st, "s_memtime s[20:21]\ns_memrealtime s[22:23]\n"
                "s_memtime s[24:25]");
    assert_true((st->s[20] | (uint64_t)st->s[21] << 32) <=
                (st->s[24] | (uint64_t)st->s[25] << 32));
    asm_free(st);
    st = scalar_state("gfx1100", a);
    asm_run(st, "s_sendmsg_rtn_b64 s[20:21], sendmsg(MSG_RTN_GET_REALTIME)\n"
                "s_sendmsg_rtn_b32 s22, sendmsg(MSG_RTN_GET_DOORBELL)");
    assert_true((st->s[20] | st->s[21]) != 0);
    assert_int_equal(st->s[22], 0);
    asm_free(st);
    st = scalar_state("gfx1010", a);
    st->s[20] = 9;
    asm_run(st, "s_get_waveid_in_workgroup s20");
    assert_int_equal(st->s[20], 0);
    asm_free(st);
    sim_mem_free(a->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar_stores_write_their_dwords_alone),
        cmocka_unit_test(test_scalar_loads_of_every_name),
        cmocka_unit_test(test_narrow_scalar_buffer_loads),
        cmocka_unit_test(test_scalar_atomics_update_and_return),
        cmocka_unit_test(test_scalar_atomics_past_a_buffer_do_nothing),
        cmocka_unit_test(test_cache_control_does_nothing),
        cmocka_unit_test(test_clocks_go_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
