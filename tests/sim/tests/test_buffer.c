/* test_buffer.c - buffer instructions: what a descriptor lets through
 *
 * After the chapters on range checking of the CDNA and RDNA manuals.
 */
#include "memory_test.h"

/* A descriptor in s[8:11]; stride and flags go into the second and fourth. */
static void descriptor(struct asm_state *st, uint64_t base, uint32_t stride,
                       uint32_t nrecords, uint32_t flags)
{
    st->s[8] = (uint32_t)base;
    st->s[9] = (uint32_t)(base >> 32) | stride << 16;
    st->s[10] = nrecords;
    st->s[11] = flags;
}

enum {
    SWIZZLE = 1 << 0, /* put where it belongs by range_cases' test */
    ADD_TID = 1 << 23,
    OOB_STRUCTURED = 0,
    OOB_INDEX = 1 << 28,
    OOB_EMPTY = 2 << 28,
    OOB_RAW = 3 << 28
};

/* Lane n of four uses index n and offset 4 n; bit n: it reads what is there. */
static const struct {
    const char *target;
    uint32_t stride, nrecords, flags;
    const char *text;
    unsigned in_range;
} range_cases[] = {
    /* bytes, whatever the stride field holds, where there is no index */
    {"gfx942", 0, 12, 0, "buffer_load_dword v4, v1, s[8:11], 0 offen", 7},
    {"gfx942", 4, 12, 0, "buffer_load_dword v4, v1, s[8:11], 0 offen", 7},
    {"gfx942", 256, 8, 0, "buffer_load_dword v4, v1, s[8:11], 0 offen", 3},
    {"gfx950", 64, 4, 0, "buffer_load_dword v4, v1, s[8:11], 0 offen", 1},
    {"gfx942", 0, 0, 0, "buffer_load_dword v4, v1, s[8:11], 0 offen", 0},
    {"gfx942", 0, 12, 0, "buffer_load_dword v4, v1, s[8:11], 0 offen offset:4",
     3},
    /* with a stride and an index: records */
    {"gfx942", 4, 3, 0, "buffer_load_dword v4, v0, s[8:11], 0 idxen", 7},
    {"gfx906", 4, 2, 0, "buffer_load_dword v4, v0, s[8:11], 0 idxen", 3},
    {"gfx942", 4, 3, 0, "buffer_load_dword v4, v[0:1], s[8:11], 0 idxen offen",
     7},
    {"gfx942", 0, 3, 0, "buffer_load_dword v4, v0, s[8:11], 0 idxen", 0},
    {"gfx950", 4, 12, SWIZZLE | 1 << 19,
     "buffer_load_dword v4, v1, s[8:11], 0 offen", 7},
    /* thread IDs make a private buffer, that nothing bounds */
    {"gfx942", 4, 1, ADD_TID, "buffer_load_dword v4, off, s[8:11], 0", 15},
    {"gfx950", 4, 1, ADD_TID, "buffer_load_dword v4, v0, s[8:11], 0 idxen", 15},
    /* soffset counts with bytes; with records it does not */
    {"gfx906", 0, 12, 0, "buffer_load_dword v4, v1, s[8:11], s4 offen", 3},
    {"gfx90a", 0, 12, 0, "buffer_load_dword v4, v1, s[8:11], s4 offen", 3},
    {"gfx942", 4, 12, 0, "buffer_load_dword v4, v1, s[8:11], s4 offen", 3},
    {"gfx950", 0, 15, 0, "buffer_load_ushort v4, v1, s[8:11], s4 offen", 7},
    {"gfx950", 0, 13, 0, "buffer_load_ushort v4, v1, s[8:11], s4 offen", 3},
    {"gfx942", 4, 3, 0, "buffer_load_dword v4, v0, s[8:11], s4 idxen", 7},
    /* s5 is -4: the lanes' offsets wrap at 32 bits, sums with soffset do not */
    {"gfx942", 0, 64, 0, "buffer_load_dword v4, v1, s[8:11], s5 offen", 0},
    {"gfx942", 0, 16, 0, "buffer_load_dword v4, v2, s[8:11], 0 offen offset:8",
     15},
    /* gfx9 ignores the bits that later are OOB_SELECT */
    {"gfx950", 4, 12, OOB_EMPTY, "buffer_load_dword v4, v1, s[8:11], 0 offen",
     7},
    {"gfx942", 4, 3, OOB_RAW, "buffer_load_dword v4, v0, s[8:11], 0 idxen", 7},
    {"gfx1100", 4, 3, OOB_STRUCTURED,
     "buffer_load_b32 v4, v0, s[8:11], 0 idxen", 7},
    {"gfx1100", 4, 3, OOB_STRUCTURED,
     "buffer_load_b32 v4, v0, s[8:11], 0 idxen offset:4", 0},
    {"gfx1201", 4, 3, OOB_INDEX,
     "buffer_load_b32 v4, v0, s[8:11], null idxen offset:4", 7},
    {"gfx1100", 4, 3, OOB_EMPTY, "buffer_load_b32 v4, v1, s[8:11], 0 offen",
     15},
    {"gfx1100", 4, 0, OOB_EMPTY, "buffer_load_b32 v4, v1, s[8:11], 0 offen", 0},
    {"gfx1030", 0, 12, OOB_RAW, "buffer_load_dword v4, v1, s[8:11], 0 offen",
     7},
    {"gfx1201", 0, 12, OOB_RAW, "buffer_load_b32 v4, v1, s[8:11], null offen",
     7},
    /* soffset takes part in raw buffers of gfx10 and later */
    {"gfx1100", 0, 12, OOB_RAW, "buffer_load_b32 v4, v1, s[8:11], s4 offen", 3},
};

static void test_range_checks_follow_the_target_and_oob_select(void **state)
{
    struct sim_alloc *a = counting_bytes(256);

    (void)state;
    for (size_t n = 0; n < sizeof(range_cases) / sizeof(range_cases[0]); n++) {
        bool wide = strncmp(range_cases[n].target, "gfx9", 4) == 0;
        struct asm_state *st = asm_new(range_cases[n].target, wide ? 64 : 32);
        unsigned got = 0;

        st->s[SREG_EXEC] = 15;
        st->s[SREG_EXEC + 1] = 0;
        st->s[4] = 4;
        st->s[5] = 0xfffffffc;
        descriptor(st, a->base,
                   range_cases[n].stride |
                       (range_cases[n].flags & SWIZZLE ? 1 << 15 : 0),
                   range_cases[n].nrecords,
                   range_cases[n].flags & ~(uint32_t)SWIZZLE);
        for (unsigned lane = 0; lane < 4; lane++) {
            st->v[0][lane] = lane;
            st->v[1][lane] = 4 * lane;
            st->v[2][lane] = 4 * lane - 8;
            st->v[4][lane] = 99;
        }
        asm_run(st, range_cases[n].text);
        for (unsigned lane = 0; lane < 4; lane++) {
            assert_int_not_equal(st->v[4][lane], 99);
            got |= (unsigned)(st->v[4][lane] != 0) << lane;
        }
        if (got != range_cases[n].in_range)
            fail_msg("%s stride %u records %u flags %#x: %s: want lanes %#x in "
                     "range, got %#x",
                     range_cases[n].target, range_cases[n].stride,
                     range_cases[n].nrecords, range_cases[n].flags,
                     range_cases[n].text, range_cases[n].in_range, got);
        asm_free(st);
    }
    sim_mem_free(a->base);
}

static void test_dwords_of_a_wide_access_are_checked_one_by_one(void **state)
{
    static const struct {
        const char *target, *load, *store;
    } forms[] = {{"gfx942", "buffer_load_dwordx4 v[4:7], v1, s[8:11], 0 offen",
                  "buffer_store_dwordx4 v[20:23], v1, s[8:11], 0 offen"},
                 {"gfx942", "buffer_load_dwordx3 v[4:6], v1, s[8:11], 0 offen",
                  "buffer_store_dwordx3 v[20:22], v1, s[8:11], 0 offen"},
                 {"gfx1100", "buffer_load_b128 v[4:7], v1, s[8:11], 0 offen",
                  "buffer_store_b128 v[20:23], v1, s[8:11], 0 offen"},
                 {"gfx1201", "buffer_load_b96 v[4:6], v1, s[8:11], null offen",
                  "buffer_store_b96 v[20:22], v1, s[8:11], null offen"}};

    (void)state;
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        struct sim_alloc *a = counting_bytes(64);
        bool wide = strncmp(forms[f].target, "gfx9", 4) == 0;
        bool three = strstr(forms[f].load, "x3") || strstr(forms[f].load, "96");
        struct asm_state *st = asm_new(forms[f].target, wide ? 64 : 32);

        st->s[SREG_EXEC] = 1;
        st->s[SREG_EXEC + 1] = 0;
        st->v[1][0] = 8;
        /* bytes 8 ... 15 of the access lie inside, the rest does not */
        descriptor(st, a->base, 0, 16, OOB_RAW);
        for (unsigned d = 0; d < 4; d++) {
            st->v[4 + d][0] = 99;
            st->v[20 + d][0] = 0x11111111 * (d + 1);
        }
        asm_run(st, forms[f].load);
        assert_int_equal(st->v[4][0], dword_at(a->bytes + 8));
        assert_int_equal(st->v[5][0], dword_at(a->bytes + 12));
        assert_int_equal(st->v[6][0], 0);
        assert_int_equal(st->v[7][0], three ? 99 : 0);
        asm_run(st, forms[f].store);
        assert_int_equal(dword_at(a->bytes + 8), 0x11111111);
        assert_int_equal(dword_at(a->bytes + 12), 0x22222222);
        assert_int_equal(a->bytes[16], 17);
        asm_free(st);
        sim_mem_free(a->base);
    }
}

static void test_memory_behind_the_records_is_still_checked(void **state)
{
    struct sim_alloc *a = counting_bytes(64);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->s[SREG_EXEC] = 1;
    st->s[SREG_EXEC + 1] = 0;
    st->v[1][0] = 64;
    descriptor(st, a->base, 0, 0xffffffff, 0);
    assert_false(asm_try(st, "buffer_load_dword v4, v1, s[8:11], 0 offen"));
    assert_int_equal(st->fault.kind, SIM_FAULT_MEMORY);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_swizzled_records_lie_side_by_side(void **state)
{
    struct sim_alloc *a = counting_bytes(4096);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    /* elements of 4 bytes, 8 records side by side, records of 16 bytes */
    descriptor(st, a->base, 16 | 1 << 15, 64, 1 << 19);
    for (unsigned lane = 0; lane < 64; lane++) {
        st->v[0][lane] = lane;
        st->v[1][lane] = 8;
    }
    asm_run(st, "buffer_load_dword v4, v[0:1], s[8:11], 0 idxen offen");
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(
            st->v[4][lane],
            dword_at(a->bytes + (lane / 8 * 16 + 8) * 8 + lane % 8 * 4));
    asm_free(st);
    sim_mem_free(a->base);
}

/* Element by element, before soffset is added. */
static void test_dwords_of_a_swizzled_record_lie_apart(void **state)
{
    static const struct {
        const char *target, *load, *store;
        uint32_t swizzle, flags, element, most; /* bytes used of 32 a record */
    } forms[] = {
        {"gfx942",
         "buffer_load_dwordx4 v[4:7], v[0:1], s[8:11], s4 idxen offen",
         "buffer_store_dwordx4 v[4:7], v[0:1], s[8:11], s5 idxen offen",
         1 << 15, 1 << 19, 4, 7},
        {"gfx950",
         "buffer_load_dwordx4 v[4:7], v[0:1], s[8:11], s4 idxen offen",
         "buffer_store_dwordx4 v[4:7], v[0:1], s[8:11], s5 idxen offen",
         1 << 15, 2 << 19, 8, 7},
        {"gfx1030",
         "buffer_load_dwordx4 v[4:7], v[0:1], s[8:11], s4 idxen offen",
         "buffer_store_dwordx4 v[4:7], v[0:1], s[8:11], s5 idxen offen",
         1 << 15, OOB_INDEX, 4, 7},
        {"gfx1100", "buffer_load_b128 v[4:7], v[0:1], s[8:11], s4 idxen offen",
         "buffer_store_b128 v[4:7], v[0:1], s[8:11], s5 idxen offen", 1 << 14,
         OOB_INDEX, 4, 7},
    };

    (void)state;
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        struct sim_alloc *a = counting_bytes(2048);
        struct asm_state *st = asm_new(forms[f].target, 64);
        const uint32_t e = forms[f].element;

        descriptor(st, a->base, 32 | forms[f].swizzle, forms[f].most,
                   forms[f].flags);
        st->s[4] = 2;
        st->s[5] = 1024;
        st->s[SREG_EXEC] = 0xff;
        st->s[SREG_EXEC + 1] = 0;
        for (unsigned lane = 0; lane < 8; lane++) {
            st->v[0][lane] = lane;
            st->v[1][lane] = 8;
        }
        asm_run(st, forms[f].load);
        for (unsigned lane = 0; lane < 8; lane++)
            for (unsigned d = 0; d < 4; d++) {
                const uint32_t at = 8 + 4 * d;
                const uint32_t want =
                    lane >= forms[f].most
                        ? 0
                        : dword_at(a->bytes + 2 + at / e * e * 8 + lane * e +
                                   at % e);

                assert_int_equal(st->v[4 + d][lane], want);
                st->v[4 + d][lane] = 0x01010101 * (4 * lane + d);
            }
        asm_run(st, forms[f].store);
        for (unsigned lane = 0; lane < forms[f].most; lane++)
            for (unsigned d = 0; d < 4; d++) {
                const uint32_t at = 8 + 4 * d;

                assert_int_equal(dword_at(a->bytes + 1024 + at / e * e * 8 +
                                          lane * e + at % e),
                                 0x01010101 * (4 * lane + d));
            }
        asm_free(st);
        sim_mem_free(a->base);
    }
}

/* ADD_TID makes the data format's field the stride's upper bits, unless the
 * instruction needs the format. */
static void test_a_format_is_no_part_of_the_stride(void **state)
{
    enum { FORMAT_32_UINT = 4 << 12 | 4 << 15, SELECT_X = 4 };
    struct sim_alloc *a = counting_bytes(1 << 18);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->s[SREG_EXEC] = 3;
    st->s[SREG_EXEC + 1] = 0;
    descriptor(st, a->base, 8, 1, ADD_TID | FORMAT_32_UINT | SELECT_X);
    asm_run(st, "buffer_load_format_x v4, off, s[8:11], 0\n"
                "buffer_load_dword v5, off, s[8:11], 0");
    assert_int_equal(st->v[4][1], dword_at(a->bytes + 8));
    assert_int_equal(st->v[5][1], dword_at(a->bytes + 8 + (4 << 14)));
    asm_free(st);
    sim_mem_free(a->base);
}

/* ---- straight to LDS ---- */

static const struct {
    const char *target, *text;
    unsigned nbytes, step;
    bool sign;
} lds_loads[] = {
    {"gfx942", "buffer_load_dword v1, s[8:11], 0 offen lds", 4, 4, false},
    {"gfx906", "buffer_load_dword v1, s[8:11], 0 offen lds", 4, 4, false},
    {"gfx942", "buffer_load_ubyte v1, s[8:11], 0 offen lds", 1, 4, false},
    {"gfx942", "buffer_load_sbyte v1, s[8:11], 0 offen lds", 1, 4, true},
    {"gfx942", "buffer_load_ushort v1, s[8:11], 0 offen lds", 2, 4, false},
    {"gfx942", "buffer_load_sshort v1, s[8:11], 0 offen lds", 2, 4, true},
    /* three dwords take the room of four */
    {"gfx950", "buffer_load_dwordx3 v1, s[8:11], 0 offen lds", 12, 16, false},
    {"gfx950", "buffer_load_dwordx4 v1, s[8:11], 0 offen lds", 16, 16, false},
    {"gfx942", "global_load_lds_dword v1, s[8:9]", 4, 4, false},
    {"gfx942", "global_load_lds_sbyte v1, s[8:9]", 1, 4, true},
    {"gfx942", "global_load_lds_ubyte v1, s[8:9]", 1, 4, false},
    {"gfx942", "global_load_lds_ushort v1, s[8:9]", 2, 4, false},
    {"gfx942", "global_load_lds_sshort v1, s[8:9]", 2, 4, true},
    {"gfx950", "global_load_lds_dwordx3 v1, s[8:9]", 12, 16, false},
    {"gfx950", "global_load_lds_dwordx4 v1, s[8:9]", 16, 16, false},
};

static void test_loads_to_lds_of_every_width(void **state)
{
    struct sim_alloc *a = counting_bytes(2048);

    (void)state;
    for (size_t n = 0; n < sizeof(lds_loads) / sizeof(lds_loads[0]); n++) {
        struct asm_state *st = asm_new(lds_loads[n].target, 64);
        const unsigned nbytes = lds_loads[n].nbytes;

        memset(st->lds, 0x77, sizeof(st->lds));
        descriptor(st, a->base, 0, 2048, 0);
        for (unsigned lane = 0; lane < 64; lane++)
            st->v[1][lane] = 2032 - 16 * lane;
        st->s[SREG_M0] = 512;
        st->s[SREG_EXEC] = ~2u; /* an inactive lane leaves its place */
        asm_run(st, lds_loads[n].text);
        for (unsigned lane = 0; lane < 64; lane++) {
            const uint8_t *from = a->bytes + 2032 - 16 * lane;
            uint8_t want[16] = {0};

            memcpy(want, from, nbytes);
            if (lds_loads[n].sign && from[nbytes - 1] & 0x80)
                memset(want + nbytes, 0xff, 4 - nbytes);
            if (lane == 1)
                memset(want, 0x77, sizeof(want));
            assert_memory_equal(st->lds + 512 + lane * lds_loads[n].step, want,
                                nbytes < 4 ? 4 : nbytes);
            if (nbytes == 12) /* the fourth dword is skipped */
                assert_int_equal(st->lds[512 + lane * 16 + 12], 0x77);
        }
        asm_free(st);
    }
    sim_mem_free(a->base);
}

static void test_the_offset_counts_in_memory_and_in_lds(void **state)
{
    struct sim_alloc *a = counting_bytes(1024);
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    descriptor(st, a->base, 0, 260, 0); /* the last lanes are out of range */
    for (unsigned lane = 0; lane < 64; lane++)
        st->v[1][lane] = 4 * lane;
    memset(st->lds, 0x77, sizeof(st->lds));
    st->s[SREG_M0] = 256;
    asm_run(st, "buffer_load_dword v1, s[8:11], 0 offen offset:16 lds");
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(dword_at(st->lds + 256 + 16 + 4 * lane),
                         lane < 61 ? dword_at(a->bytes + 16 + 4 * lane) : 0);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_dwords_to_lds_are_checked_one_by_one(void **state)
{
    struct sim_alloc *a = counting_bytes(1024);
    struct asm_state *st = asm_new("gfx950", 64);

    (void)state;
    descriptor(st, a->base, 0, 1000, 0); /* in the middle of the last lane */
    for (unsigned lane = 0; lane < 64; lane++)
        st->v[1][lane] = 16 * lane;
    memset(st->lds, 0x77, sizeof(st->lds));
    st->s[SREG_M0] = 256;
    asm_run(st, "buffer_load_dwordx4 v1, s[8:11], 0 offen lds");
    for (unsigned at = 0; at < 1024; at += 4)
        assert_int_equal(dword_at(st->lds + 256 + at),
                         at < 1000 ? dword_at(a->bytes + at) : 0);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_lds_goes_to_a_buffer(void **state)
{
    struct sim_alloc *a = counting_bytes(256);
    struct asm_state *st = asm_new("gfx906", 64);

    (void)state;
    descriptor(st, a->base, 4, 32, 1 << 23); /* thread IDs as records */
    for (unsigned i = 0; i < 256; i++)
        st->lds[128 + i] = (uint8_t)(255 - i);
    st->s[SREG_M0] = 128;
    asm_run(st, "buffer_store_lds_dword s[8:11], 0 lds");
    assert_memory_equal(a->bytes, st->lds + 128, 256);
    asm_free(st);
    sim_mem_free(a->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range_checks_follow_the_target_and_oob_select),
        cmocka_unit_test(test_dwords_of_a_wide_access_are_checked_one_by_one),
        cmocka_unit_test(test_memory_behind_the_records_is_still_checked),
        cmocka_unit_test(test_swizzled_records_lie_side_by_side),
        cmocka_unit_test(test_dwords_of_a_swizzled_record_lie_apart),
        cmocka_unit_test(test_a_format_is_no_part_of_the_stride),
        cmocka_unit_test(test_loads_to_lds_of_every_width),
        cmocka_unit_test(test_the_offset_counts_in_memory_and_in_lds),
        cmocka_unit_test(test_dwords_to_lds_are_checked_one_by_one),
        cmocka_unit_test(test_lds_goes_to_a_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
