/* test_memory.c - scalar, global, flat, scratch, buffer and LDS instructions */
#include "memory_test.h"

#include <sys/stat.h>

static void test_scalar_loads_of_every_width(void **state)
{
    struct sim_alloc *a = counting_bytes(256);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    set64(st, 2, a->base);
    st->s[4] = 8;
    asm_run(st, "s_load_dword s5, s[2:3], 0x4\n"
                "s_load_dwordx2 s[6:7], s[2:3], s4\n"
                "s_load_dwordx16 s[16:31], s[2:3], 0x40\n");
    assert_int_equal(st->s[5], dword_at(a->bytes + 4));
    assert_int_equal(st->s[7], dword_at(a->bytes + 12));
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(st->s[16 + i], dword_at(a->bytes + 64 + 4 * i));
    asm_free(st);

    st = asm_new("gfx1201", 32);
    set64(st, 2, a->base + 16);
    st->s[4] = 8;
    a->bytes[8] = 0x80;
    asm_run(st, "s_load_b96 s[8:10], s[2:3], s4 offset:-0x8\n"
                "s_load_i8 s5, s[2:3], -0x8\n"
                "s_load_u16 s6, s[2:3], 0x1\n");
    assert_int_equal(st->s[10], dword_at(a->bytes + 24));
    assert_int_equal(st->s[5], 0xffffff80);
    assert_int_equal(st->s[6], a->bytes[17] | a->bytes[18] << 8);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_scalar_loads_are_checked(void **state)
{
    struct sim_alloc *a = counting_bytes(16);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    set64(st, 2, a->base);
    assert_false(asm_try(st, "s_load_dwordx2 s[6:7], s[2:3], 0xc"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MEMORY);
    assert_int_equal(st->fault.lane, -1);
    assert_int_equal(st->fault.address, a->base + 12);
    set64(st, 2, a->base + 2);
    assert_false(asm_try(st, "s_load_dword s6, s[2:3], 0x0"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MISALIGNED);
    sim_mem_free(a->base);
    set64(st, 2, a->base);
    assert_false(asm_try(st, "s_load_dword s6, s[2:3], 0x0"));
    assert_int_equal(st->fault.kind, SIM_FAULT_USE_AFTER_FREE);
    asm_free(st);
}

static void test_scalar_buffer_loads_give_zero_past_the_end(void **state)
{
    struct sim_alloc *a = counting_bytes(64);
    struct asm_state *st = asm_new("gfx1100", 32);

    (void)state;
    set64(st, 4, a->base);
    st->s[6] = 12; /* bytes */
    st->s[7] = 0;
    asm_run(st, "s_buffer_load_b128 s[8:11], s[4:7], 0x4");
    assert_int_equal(st->s[8], dword_at(a->bytes + 4));
    assert_int_equal(st->s[9], dword_at(a->bytes + 8));
    assert_int_equal(st->s[10], 0);
    assert_int_equal(st->s[11], 0);
    asm_free(st);
    sim_mem_free(a->base);
}

/* One load, its address step and what lane 3 must find. */
static const struct {
    const char *old, *new;
    unsigned nbytes;
    uint32_t before, want;
} narrow_loads[] = {
    {"ubyte", "u8", 1, 0, 0x90},
    {"sbyte", "i8", 1, 0, 0xffffff90},
    {"ushort", "u16", 2, 0, 0x9190},
    {"sshort", "i16", 2, 0, 0xffff9190},
    {"ubyte_d16", "d16_u8", 1, 0x12345678, 0x12340090},
    {"ubyte_d16_hi", "d16_hi_u8", 1, 0x12345678, 0x00905678},
    {"sbyte_d16", "d16_i8", 1, 0x12345678, 0x1234ff90},
    {"sbyte_d16_hi", "d16_hi_i8", 1, 0x12345678, 0xff905678},
    {"short_d16", "d16_b16", 2, 0x12345678, 0x12349190},
    {"short_d16_hi", "d16_hi_b16", 2, 0x12345678, 0x91905678},
};

static void test_narrow_loads_extend_or_keep_the_other_half(void **state)
{
    struct sim_alloc *a = counting_bytes(1024);

    (void)state;
    for (int new = 0; new < 2; new ++)
        for (size_t i = 0; i < sizeof(narrow_loads) / sizeof(narrow_loads[0]);
             i++) {
            struct asm_state *st =
                asm_new(new ? "gfx1100" : "gfx942", new ? 32 : 64);
            char text[128];

            set_addresses(st, 2, a->base + 140, 1);
            for (unsigned lane = 0; lane < 64; lane++)
                st->v[0][lane] = narrow_loads[i].before;
            st->s[SREG_EXEC] = 0x8; /* lane 3: address base + 143 */
            st->s[SREG_EXEC + 1] = 0;
            snprintf(text, sizeof(text), "global_load_%s v0, v[2:3], off",
                     new ? narrow_loads[i].new : narrow_loads[i].old);
            asm_run(st, text);
            if (st->v[0][3] != narrow_loads[i].want ||
                st->v[0][2] != narrow_loads[i].before)
                fail_msg("%s: want %x, got %x", text, narrow_loads[i].want,
                         st->v[0][3]);
            asm_free(st);
        }
    sim_mem_free(a->base);
}

static void test_global_addressing_forms(void **state)
{
    struct sim_alloc *a = counting_bytes(2048);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    set_addresses(st, 2, a->base, 16);
    set64(st, 6, a->base + 64);
    for (unsigned lane = 0; lane < 64; lane++)
        st->v[4][lane] = lane * 8;
    asm_run(st, "global_load_dwordx4 v[8:11], v[2:3], off\n"
                "global_load_dwordx3 v[12:14], v4, s[6:7] offset:-64\n"
                "global_load_dwordx2 a[0:1], v4, s[6:7]\n");
    for (unsigned lane = 0; lane < 64; lane++) {
        for (unsigned d = 0; d < 4; d++)
            assert_int_equal(st->v[8 + d][lane],
                             dword_at(a->bytes + 16 * lane + 4 * d));
        for (unsigned d = 0; d < 3; d++)
            assert_int_equal(st->v[12 + d][lane],
                             dword_at(a->bytes + 8 * lane + 4 * d));
        assert_int_equal(st->a[1][lane], dword_at(a->bytes + 68 + 8 * lane));
    }
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_stores_touch_active_lanes_only(void **state)
{
    struct sim_alloc *a = counting_bytes(1024);
    struct asm_state *st = asm_new("gfx1030", 32);

    (void)state;
    memset(a->bytes, 0, 1024);
    set_addresses(st, 2, a->base, 4);
    for (unsigned lane = 0; lane < 32; lane++)
        st->v[4][lane] = 0x11110000 + lane;
    st->s[SREG_EXEC] = 0x5;
    asm_run(st, "global_store_dword v[2:3], v4, off\n"
                "global_store_short_d16_hi v[2:3], v4, off offset:512\n"
                "global_store_byte v[2:3], v4, off offset:1000\n");
    assert_int_equal(dword_at(a->bytes), 0x11110000);
    assert_int_equal(dword_at(a->bytes + 4), 0);
    assert_int_equal(dword_at(a->bytes + 8), 0x11110002);
    assert_int_equal(dword_at(a->bytes + 512), 0x1111);
    assert_int_equal(dword_at(a->bytes + 516), 0);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_an_overrun_names_lane_and_allocation(void **state)
{
    struct sim_alloc *a = counting_bytes(100);
    struct asm_state *st = asm_new("gfx1100", 32);
    char want[64];

    (void)state;
    set_addresses(st, 2, a->base, 4);
    assert_false(asm_try(st, "s_nop 0\nglobal_load_b32 v0, v[2:3], off"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MEMORY);
    assert_int_equal(st->fault.lane, 25);
    assert_int_equal(st->fault.pc, 4);
    assert_int_equal(st->fault.address, a->base + 100);
    snprintf(want, sizeof(want), "0 bytes past the end of allocation #%llu",
             (unsigned long long)a->serial);
    if (!strstr(st->fault.text, want) ||
        !strstr(st->fault.text, "global_load_b32 v0, v[2:3], off"))
        fail_msg("want '%s' in: %s", want, st->fault.text);
    set_addresses(st, 2, a->base + 98, 0);
    assert_false(asm_try(st, "global_load_b32 v0, v[2:3], off"));
    assert_non_null(strstr(st->fault.text, "of which 2 lie past the end"));
    a->readonly = true;
    set_addresses(st, 2, a->base, 0);
    asm_run(st, "global_load_b32 v0, v[2:3], off");
    assert_false(asm_try(st, "global_store_b32 v[2:3], v0, off"));
    assert_int_equal(st->fault.kind, SIM_FAULT_READONLY);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_flat_reaches_lds_and_scratch_through_apertures(void **state)
{
    struct sim_alloc *a = counting_bytes(256);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->scratch[1][2] = 0xcafe;
    memcpy(st->lds + 16, &(uint32_t){0xbeef}, 4);
    set_addresses(st, 2, a->base, 4);
    /* Lane 1 reads LDS, lane 2 its scratch, the others global memory. */
    st->v[2][1] = 16;
    st->v[3][1] = (uint32_t)(SHARED_BASE >> 32);
    st->v[2][2] = 4;
    st->v[3][2] = (uint32_t)(PRIVATE_BASE >> 32);
    asm_run(st, "flat_load_dword v0, v[2:3]\n"
                "s_mov_b64 s[4:5], src_shared_base\n"
                "s_mov_b64 s[6:7], src_private_base");
    assert_int_equal(st->v[0][0], dword_at(a->bytes));
    assert_int_equal(st->v[0][1], 0xbeef);
    assert_int_equal(st->v[0][2], 0xcafe);
    assert_int_equal(st->v[0][63], dword_at(a->bytes + 252));
    assert_int_equal(st->s[4], 0);
    assert_int_equal(st->s[5], SHARED_BASE >> 32);
    assert_int_equal(st->s[7], PRIVATE_BASE >> 32);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_scratch_is_private_to_a_lane(void **state)
{
    struct asm_state *st = asm_new("gfx1100", 32);

    (void)state;
    st->s[4] = 16;
    for (unsigned lane = 0; lane < 32; lane++) {
        st->v[1][lane] = lane;
        st->v[2][lane] = 100 + lane;
        st->v[3][lane] = 8;
    }
    asm_run(st, "scratch_store_b64 off, v[1:2], s4 offset:4\n"
                "scratch_load_b32 v5, v3, s4\n"
                "scratch_load_u16 v6, v3, off offset:12\n"
                "scratch_store_b32 off, v1, off offset:33\n"
                "scratch_load_b32 v7, off, off offset:32\n");
    for (unsigned lane = 0; lane < 32; lane++) {
        assert_int_equal(st->scratch[5][lane], lane);
        assert_int_equal(st->v[5][lane], 100 + lane);
        assert_int_equal(st->v[6][lane], lane);
        /* unaligned: bytes 33 to 36 */
        assert_int_equal(st->v[7][lane], lane << 8 | 0xa5);
    }
    assert_false(asm_try(st, "scratch_store_b64 off, v[1:2], off offset:252"));
    assert_int_equal(st->fault.kind, SIM_FAULT_SCRATCH);
    asm_free(st);
}

static void test_buffers_bound_their_records(void **state)
{
    struct sim_alloc *a = counting_bytes(256);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    set64(st, 4, a->base);
    st->s[6] = 64; /* raw: bytes */
    st->s[7] = 0x00020000;
    for (unsigned lane = 0; lane < 64; lane++) {
        st->v[1][lane] = lane * 4;
        st->v[2][lane] = lane;
    }
    asm_run(st, "buffer_load_dword v0, v1, s[4:7], 0 offen offset:4\n"
                "buffer_store_dword v2, v1, s[4:7], 0 offen");
    for (unsigned lane = 0; lane < 15; lane++)
        assert_int_equal(st->v[0][lane],
                         0x04030201u + 0x04040404u * (lane + 1));
    assert_int_equal(st->v[0][15], 0); /* bytes 64 to 67 */
    for (unsigned lane = 0; lane < 16; lane++)
        assert_int_equal(dword_at(a->bytes + 4 * lane), lane);
    assert_int_equal(a->bytes[64], 65); /* nothing past the records */

    st->s[5] |= 8u << 16; /* stride 8: 4 records of 8 bytes */
    st->s[6] = 4;
    asm_run(st, "buffer_load_dwordx2 v[8:9], v2, s[4:7], 0 idxen");
    assert_int_equal(st->v[8][3], dword_at(a->bytes + 24));
    assert_int_equal(st->v[9][3], dword_at(a->bytes + 28));
    assert_int_equal(st->v[8][4], 0);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_loads_to_lds_place_lanes_behind_m0(void **state)
{
    struct sim_alloc *a = counting_bytes(1024);
    struct asm_state *st = asm_new("gfx950", 64);

    (void)state;
    set_addresses(st, 2, a->base, 16);
    st->s[SREG_M0] = 256;
    asm_run(st, "global_load_lds_dword v[2:3], off\n"
                "s_add_u32 m0, m0, 0x400\n"
                "global_load_lds_dwordx4 v[2:3], off\n");
    for (unsigned lane = 0; lane < 64; lane++) {
        assert_int_equal(dword_at(st->lds + 256 + 4 * lane),
                         dword_at(a->bytes + 16 * lane));
        assert_memory_equal(st->lds + 1280 + 16 * lane, a->bytes + 16 * lane,
                            16);
    }
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_load_to_lds_below_its_start_is_a_fault(void **state)
{
    struct sim_alloc *a = counting_bytes(1024);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    set_addresses(st, 2, a->base + 4, 4); /* the offset is of both sides */
    st->s[SREG_M0] = 0;
    st->s[SREG_EXEC] = 1;
    st->s[SREG_EXEC + 1] = 0;
    assert_false(asm_try(st, "global_load_lds_dword v[2:3], off offset:-4"));
    assert_int_equal(st->fault.kind, SIM_FAULT_LDS);
    assert_non_null(strstr(st->fault.text, "LDS offset -4;"));
    asm_free(st);
    sim_mem_free(a->base);
}

/* ---- LDS ---- */

/* A lane goes from 16 bytes of memory to 32 bytes of LDS, and back. */
static void test_moves_between_memory_and_lds_of_every_width(void **state)
{
    static const struct {
        const char *text;
        unsigned nbytes;
    } moves[] = {{"b8", 1}, {"b32", 4}, {"b64", 8}, {"b128", 16}};
    struct sim_alloc *a = counting_bytes(2048);

    (void)state;
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        struct asm_state *st = asm_new("gfx1250", 32);
        const unsigned n = moves[i].nbytes;
        char text[256];

        memset(a->bytes + 1024, 0x55, 1024);
        memset(st->lds, 0x77, sizeof(st->lds));
        for (unsigned lane = 0; lane < 32; lane++) {
            st->v[1][lane] = 1024 - 32 * lane;
            st->v[2][lane] = 16 * lane;
        }
        set64(st, 8, a->base);
        set_addresses(st, 4, a->base + 1024 - 8, 16);
        st->s[SREG_EXEC] = ~2u; /* an inactive lane leaves its places */
        snprintf(text, sizeof(text),
                 "global_load_async_to_lds_%s v1, v2, s[8:9] offset:8\n"
                 "global_store_async_from_lds_%s v[4:5], v1, off offset:8",
                 moves[i].text, moves[i].text);
        asm_run(st, text);
        for (unsigned lane = 0; lane < 32; lane++) {
            uint8_t lds[17], memory[16];

            memset(lds, 0x77, sizeof(lds));
            memset(memory, 0x55, sizeof(memory));
            if (lane != 1) {
                memcpy(lds, a->bytes + 16 * lane + 8, n);
                memcpy(memory, lds, n);
            }
            assert_memory_equal(st->lds + 1032 - 32 * lane, lds, n + 1);
            assert_memory_equal(a->bytes + 1024 + 16 * lane, memory, 16);
        }
        asm_free(st);
    }
    sim_mem_free(a->base);
}

static void test_lds_reads_and_writes_of_every_form(void **state)
{
    struct asm_state *st = asm_new("gfx906", 64);

    (void)state;
    for (unsigned lane = 0; lane < 64; lane++) {
        st->v[0][lane] = lane * 16;
        for (unsigned r = 1; r <= 4; r++)
            st->v[r][lane] = lane << 8 | r;
    }
    asm_run(st, "ds_write_b128 v0, v[1:4] offset:1024\n"
                "ds_read_b96 v[8:10], v0 offset:1028\n"
                "ds_write2_b32 v0, v1, v2 offset0:2 offset1:3\n"
                "ds_read_b64 v[12:13], v0 offset:8\n"
                "ds_write2st64_b32 v0, v3, v4 offset0:8 offset1:16\n"
                "ds_read_b32 v14, v0 offset:4096\n"
                "ds_read2_b64 v[0:3], v0 offset0:128 offset1:129\n");
    for (unsigned lane = 0; lane < 64; lane++) {
        for (unsigned r = 0; r < 3; r++)
            assert_int_equal(st->v[8 + r][lane], lane << 8 | (r + 2));
        assert_int_equal(st->v[12][lane], lane << 8 | 1);
        assert_int_equal(st->v[13][lane], lane << 8 | 2);
        assert_int_equal(st->v[14][lane], lane << 8 | 4);
        /* The first pair of results replaces the address register. */
        for (unsigned r = 0; r < 4; r++)
            assert_int_equal(st->v[r][lane], lane << 8 | (r + 1));
    }
    asm_free(st);
}

static void test_lds_addresses_wrap_at_32_bits(void **state)
{
    struct asm_state *st = asm_new("gfx1201", 32);

    (void)state;
    memcpy(st->lds + 4, &(uint32_t){77}, 4);
    for (unsigned lane = 0; lane < 32; lane++)
        st->v[0][lane] = (uint32_t)-1020;
    asm_run(st, "ds_load_b32 v1, v0 offset:1024");
    assert_int_equal(st->v[1][31], 77);
    asm_free(st);
}

static void test_lds_accesses_stay_inside(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    for (unsigned lane = 0; lane < 64; lane++)
        st->v[0][lane] = 65536 - 4 * 64 + 4 * lane;
    asm_run(st, "ds_read_b32 v1, v0");
    assert_false(asm_try(st, "ds_read_b64 v[2:3], v0"));
    assert_int_equal(st->fault.kind, SIM_FAULT_LDS);
    assert_int_equal(st->fault.lane, 63);
    asm_free(st);
}

/* Atomics on LDS and on global memory: the same operation from both. */
struct atomic_case {
    const char *ds, *global; /* with _rtn and the return bit added */
    unsigned nbytes;
    uint64_t old, data, compare, want;
};

/* clang-format off */
static const struct atomic_case atomics[] = {
    {"add_rtn_u32", "add",      4, 0xffffffff,         2,          0, 1},
    {"sub_rtn_u32", "sub",      4, 1,                  2,          0, 0xffffffff},
    {"min_rtn_i32", "smin",     4, 0xffffffff,         1,          0, 0xffffffff},
    {"min_rtn_u32", "umin",     4, 0xffffffff,         1,          0, 1},
    {"max_rtn_i32", "smax",     4, 0xffffffff,         1,          0, 1},
    {"max_rtn_u32", "umax",     4, 0xffffffff,         1,          0, 0xffffffff},
    {"and_rtn_b32", "and",      4, 0xff00,             0x0ff0,     0, 0x0f00},
    {"or_rtn_b32",  "or",       4, 0xff00,             0x0ff0,     0, 0xfff0},
    {"xor_rtn_b32", "xor",      4, 0xff00,             0x0ff0,     0, 0xf0f0},
    {"inc_rtn_u32", "inc",      4, 7,                  7,          0, 0},
    {"inc_rtn_u32", "inc",      4, 6,                  7,          0, 7},
    {"dec_rtn_u32", "dec",      4, 0,                  7,          0, 7},
    {"dec_rtn_u32", "dec",      4, 8,                  7,          0, 7},
    {"dec_rtn_u32", "dec",      4, 7,                  7,          0, 6},
    {"wrxchg_rtn_b32", "swap",  4, 5,                  9,          0, 9},
    {"add_rtn_u64", "add_x2",   8, 0xffffffff,         1,          0, 0x100000000},
    {"sub_rtn_u64", "sub_x2",   8, 0,                  1,          0, UINT64_MAX},
    {"min_rtn_i64", "smin_x2",  8, UINT64_MAX,         1,          0, UINT64_MAX},
    {"max_rtn_u64", "umax_x2",  8, UINT64_MAX,         1,          0, UINT64_MAX},
    {"inc_rtn_u64", "inc_x2",   8, 0x100000000,        0x100000000, 0, 0},
    {"wrxchg_rtn_b64", "swap_x2", 8, 5,                0x900000001, 0, 0x900000001},
    {"add_rtn_f32", "add_f32",  4, 0x3f800000,         0x40000000, 0, 0x40400000},
    {"add_rtn_f64", "add_f64",  8, 0x3ff0000000000000, 0x4000000000000000, 0, 0x4008000000000000},
    {"min_rtn_f64", "min_f64",  8, 0x7ff8000000000000, 0x4000000000000000, 0, 0x4000000000000000},
    {"max_rtn_f64", "max_f64",  8, 0x8000000000000000, 0,          0, 0},
    {"pk_add_rtn_f16", "pk_add_f16",   4, 0x3c004000,  0x3c003c00, 0, 0x40004200},
    {"pk_add_rtn_bf16", "pk_add_bf16", 4, 0x3f804000,  0x3f803f80, 0, 0x40004040},
    {"cmpst_rtn_b32", "cmpswap",       4, 5,           9,          5, 9},
    {"cmpst_rtn_b32", "cmpswap",       4, 5,           9,          4, 5},
    {"cmpst_rtn_b64", "cmpswap_x2",    8, 0x500000005, 9,          0x500000005, 9},
    {"cmpst_rtn_b64", "cmpswap_x2",    8, 0x500000005, 9,          5, 0x500000005},
};
/* clang-format on */

static void pair_in(struct asm_state *st, unsigned reg, uint64_t v)
{
    st->v[reg][0] = (uint32_t)v;
    st->v[reg + 1][0] = (uint32_t)(v >> 32);
}

static void check_atomic(const struct atomic_case *c, const char *where,
                         uint64_t result, uint64_t returned)
{
    uint64_t mask = c->nbytes == 8 ? UINT64_MAX : UINT32_MAX;

    if ((result & mask) != c->want || (returned & mask) != c->old)
        fail_msg("%s %s: want %llx and %llx back, got %llx and %llx", where,
                 c->global, (unsigned long long)c->want,
                 (unsigned long long)c->old, (unsigned long long)result,
                 (unsigned long long)returned);
}

static void test_atomics_update_and_return(void **state)
{
    struct sim_alloc *a = counting_bytes(16);

    (void)state;
    for (size_t i = 0; i < sizeof(atomics) / sizeof(atomics[0]); i++) {
        const struct atomic_case *c = &atomics[i];
        bool cas = strstr(c->global, "cmpswap") != NULL;
        bool wide = c->nbytes == 8;
        struct asm_state *st = asm_new("gfx942", 64);
        char text[256];
        uint64_t memory;

        set64(st, SREG_EXEC, 1);
        memcpy(st->lds, &c->old, 8);
        memcpy(a->bytes, &c->old, 8);
        st->v[0][0] = 0;
        set_addresses(st, 2, a->base, 0);
        pair_in(st, 4, c->data); /* and the compare value behind it */
        pair_in(st, wide ? 6 : 5, c->compare);
        pair_in(st, 20, c->compare);
        snprintf(text, sizeof(text), "ds_%s %s, v0, %s%s%s", c->ds,
                 wide ? "v[8:9]" : "v8",
                 cas    ? wide ? "v[20:21]" : "v20"
                 : wide ? "v[4:5]"
                        : "v4",
                 cas ? ", " : "", cas ? wide ? "v[4:5]" : "v4" : "");
        asm_run(st, text);
        memcpy(&memory, st->lds, 8);
        check_atomic(c, "LDS", memory,
                     st->v[8][0] | (uint64_t)st->v[9][0] << 32);

        snprintf(text, sizeof(text), "global_atomic_%s %s, v[2:3], %s, off sc0",
                 c->global, wide ? "v[8:9]" : "v8",
                 cas    ? wide ? "v[4:7]" : "v[4:5]"
                 : wide ? "v[4:5]"
                        : "v4");
        asm_run(st, text);
        memcpy(&memory, a->bytes, 8);
        check_atomic(c, "global", memory,
                     st->v[8][0] | (uint64_t)st->v[9][0] << 32);
        asm_free(st);
    }
    sim_mem_free(a->base);
}

static void test_atomics_must_be_aligned(void **state)
{
    struct sim_alloc *a = counting_bytes(64);
    struct asm_state *st = asm_new("gfx1201", 32);

    (void)state;
    set_addresses(st, 2, a->base + 4, 0);
    asm_run(st, "global_atomic_add_u32 v[2:3], v4, off");
    assert_false(asm_try(st, "global_atomic_add_u64 v[2:3], v[4:5], off"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MISALIGNED);
    st->v[0][0] = 2;
    assert_false(asm_try(st, "ds_add_u32 v0, v4"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MISALIGNED);
    asm_free(st);
    sim_mem_free(a->base);
}

/* ---- transposing loads ----
 *
 * Memory holds rows of 16 values, value = row * 16 + column (cut to its bits);
 * each lane is to get consecutive rows of its column, as a matrix operand. */

static uint32_t bits_of(const vreg *reg, unsigned lane, unsigned index,
                        unsigned nbits)
{
    uint32_t v = 0;

    for (unsigned b = 0; b < nbits; b++) {
        unsigned bit = index * nbits + b;

        v |= (reg[bit / 32][lane] >> bit % 32 & 1) << b;
    }
    return v;
}

static void put_bits(uint8_t *bytes, unsigned index, unsigned nbits,
                     uint32_t value)
{
    for (unsigned b = 0; b < nbits; b++) {
        unsigned bit = index * nbits + b;

        bytes[bit / 8] = (uint8_t)((bytes[bit / 8] & ~(1u << bit % 8)) |
                                   (value >> b & 1) << bit % 8);
    }
}

static void check_transposed(const struct asm_state *st, unsigned rows,
                             unsigned nbits)
{
    for (unsigned lane = 0; lane < st->wave_size; lane++)
        for (unsigned i = 0; i < rows; i++) {
            unsigned row = lane / 16 * rows + i;
            uint32_t want = (row * 16 + lane % 16) & ((1u << nbits) - 1);
            uint32_t got = bits_of(&st->v[8], lane, i, nbits);

            if (got != want)
                fail_msg("%u bits: lane %u value %u: want %x, got %x", nbits,
                         lane, i, want, got);
        }
}

static void test_transposing_loads_give_columns(void **state)
{
    static const struct {
        const char *text;
        unsigned nbytes, nbits;
    } reads[] = {{"ds_read_b64_tr_b16 v[8:9], v0", 8, 16},
                 {"ds_read_b64_tr_b8 v[8:9], v0", 8, 8},
                 {"ds_read_b64_tr_b4 v[8:9], v0", 8, 4},
                 {"ds_read_b96_tr_b6 v[8:10], v0", 12, 6}};
    struct sim_alloc *a = counting_bytes(512);
    struct asm_state *st;

    (void)state;
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        unsigned n = 8 * reads[i].nbytes / reads[i].nbits;

        st = asm_new("gfx950", 64);
        for (unsigned lane = 0; lane < 64; lane++)
            st->v[0][lane] = lane * reads[i].nbytes;
        for (unsigned k = 0; k < 64 * n; k++)
            put_bits(st->lds, k, reads[i].nbits, k);
        asm_run(st, reads[i].text);
        check_transposed(st, n, reads[i].nbits);
        asm_free(st);
    }
    for (unsigned k = 0; k < 256; k++)
        put_bits(a->bytes, k, 16, k);
    st = asm_new("gfx1201", 32);
    set_addresses(st, 2, a->base, 16);
    asm_run(st, "global_load_tr_b128 v[8:11], v[2:3], off");
    check_transposed(st, 8, 16);
    asm_free(st);
    sim_mem_free(a->base);
}

/* ---- lanes through LDS hardware ---- */

static void test_permutes_and_swizzles_move_lanes(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    for (unsigned lane = 0; lane < 64; lane++) {
        st->v[0][lane] = (lane + 1) * 4; /* the next lane, around */
        st->v[1][lane] = 100 + lane;
    }
    asm_run(st, "ds_bpermute_b32 v2, v0, v1\n"
                "ds_permute_b32 v3, v0, v1\n"
                "ds_swizzle_b32 v4, v1 offset:swizzle(SWAP,1)\n"
                "ds_swizzle_b32 v5, v1 offset:swizzle(QUAD_PERM,3,2,1,0)\n"
                "ds_swizzle_b32 v6, v1 offset:swizzle(BROADCAST,8,3)\n"
                "ds_swizzle_b32 v7, v1 offset:swizzle(ROTATE,0,2)\n");
    for (unsigned lane = 0; lane < 64; lane++) {
        assert_int_equal(st->v[2][lane], 100 + (lane + 1) % 64);
        assert_int_equal(st->v[3][lane], 100 + (lane + 63) % 64);
        assert_int_equal(st->v[4][lane], 100 + (lane ^ 1));
        assert_int_equal(st->v[5][lane], 100 + (lane ^ 3));
        assert_int_equal(st->v[6][lane], 100 + ((lane & ~7u) | 3));
        assert_int_equal(st->v[7][lane],
                         100 + ((lane & 32) | ((lane + 2) & 31)));
    }
    asm_free(st);

    st = asm_new("gfx1100", 32);
    for (unsigned lane = 0; lane < 32; lane++) {
        st->v[0][lane] = lane < 16 ? 31 * 4 : 0;
        st->v[1][lane] = 100 + lane;
    }
    st->s[SREG_EXEC] = 0xffff;
    asm_run(st, "ds_bpermute_b32 v2, v0, v1");
    assert_int_equal(st->v[2][0], 0); /* lane 31 is off */
    assert_int_equal(st->v[2][16], 0xa5a5a5a5);
    asm_free(st);

    st = asm_new("gfx1201", 64);
    for (unsigned lane = 0; lane < 64; lane++) {
        st->v[0][lane] = (lane + 32) * 4; /* across the halves */
        st->v[1][lane] = 100 + lane;
    }
    st->s[SREG_EXEC + 1] = 0;
    asm_run(st, "ds_bpermute_b32 v2, v0, v1\n"
                "ds_bpermute_fi_b32 v3, v0, v1");
    for (unsigned lane = 0; lane < 32; lane++) {
        assert_int_equal(st->v[2][lane], 0);
        assert_int_equal(st->v[3][lane], 132 + lane); /* from lanes off, too */
    }
    assert_int_equal(st->v[3][32], 0xa5a5a5a5);
    asm_free(st);
}

/* Segments of one code object may share a page. */
static void test_freed_parts_leave_their_neighbours(void **state)
{
    const struct sim_mem_part parts[] = {
        {0x100, 0x100, true}, {0x800, 0x100, false}, {0x1f00, 0x200, false}};
    struct sim_alloc *a = counting_bytes(1), *part[3];
    struct stat before, after;
    uint64_t offset;
    int fd = -1;

    (void)state;
    assert_true(sim_mem_shared_file(a->base, &fd, &offset));
    assert_int_equal(fstat(fd, &before), 0);
    assert_true(sim_mem_alloc_parts(0, parts, 3, SIM_MEM_CODE, part));
    memset(part[0]->bytes, 1, part[0]->size);
    memset(part[1]->bytes, 2, part[1]->size);
    memset(part[2]->bytes, 3, part[2]->size);
    assert_true(sim_mem_free(part[0]->base));
    assert_true(sim_mem_free(part[2]->base));
    assert_int_equal(part[1]->bytes[0], 2);
    assert_int_equal(part[1]->bytes[0xff], 2);
    assert_true(sim_mem_free(part[1]->base));
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(after.st_blocks, before.st_blocks);
    sim_mem_free(a->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar_loads_of_every_width),
        cmocka_unit_test(test_scalar_loads_are_checked),
        cmocka_unit_test(test_scalar_buffer_loads_give_zero_past_the_end),
        cmocka_unit_test(test_narrow_loads_extend_or_keep_the_other_half),
        cmocka_unit_test(test_global_addressing_forms),
        cmocka_unit_test(test_stores_touch_active_lanes_only),
        cmocka_unit_test(test_an_overrun_names_lane_and_allocation),
        cmocka_unit_test(test_flat_reaches_lds_and_scratch_through_apertures),
        cmocka_unit_test(test_scratch_is_private_to_a_lane),
        cmocka_unit_test(test_buffers_bound_their_records),
        cmocka_unit_test(test_loads_to_lds_place_lanes_behind_m0),
        cmocka_unit_test(test_load_to_lds_below_its_start_is_a_fault),
        cmocka_unit_test(test_moves_between_memory_and_lds_of_every_width),
        cmocka_unit_test(test_lds_reads_and_writes_of_every_form),
        cmocka_unit_test(test_lds_addresses_wrap_at_32_bits),
        cmocka_unit_test(test_lds_accesses_stay_inside),
        cmocka_unit_test(test_atomics_update_and_return),
        cmocka_unit_test(test_atomics_must_be_aligned),
        cmocka_unit_test(test_transposing_loads_give_columns),
        cmocka_unit_test(test_permutes_and_swizzles_move_lanes),
        cmocka_unit_test(test_freed_parts_leave_their_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
