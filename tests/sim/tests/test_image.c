/* test_image.c - loads, stores, atomics of texels; sizes; what is refused */
#include "image_test.h"
#include "sim/base/config.h"
#include "sim/base/host_access.h"
#include "sim/base/image_descriptor.h"

static const char *const targets[] = {"gfx90a", "gfx906", "gfx1030", "gfx1100",
                                      "gfx1201"};
enum { NUM_TARGETS = sizeof(targets) / sizeof(targets[0]) };

/* ---- shapes ---- */

static const struct sim_image shapes[] = {
    {.type = SIM_IMAGE_1D, .width = 37, .height = 1, .depth = 1, .nlevels = 6},
    {.type = SIM_IMAGE_2D, .width = 13, .height = 9, .depth = 1, .nlevels = 4},
    {.type = SIM_IMAGE_3D, .width = 7, .height = 5, .depth = 6, .nlevels = 3},
    {.type = SIM_IMAGE_CUBE,
     .width = 8,
     .height = 8,
     .depth = 12,
     .nlevels = 4},
    {.type = SIM_IMAGE_1D_ARRAY,
     .width = 21,
     .height = 1,
     .depth = 5,
     .nlevels = 5},
    {.type = SIM_IMAGE_2D_ARRAY,
     .width = 6,
     .height = 11,
     .depth = 4,
     .nlevels = 3}};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* Where a lane's coordinates lead; NULL: outside. */
static uint8_t *place_of(const struct test_image *t, const struct asm_state *st,
                         unsigned lane, bool has_level)
{
    const struct sim_image *i = &t->image;
    const unsigned n = image_ncoords(i->type);
    int64_t c[4] = {0}, y = 0, z = 0;
    uint32_t level = i->first_level;

    for (unsigned k = 0; k < n; k++)
        c[k] = (int32_t)st->v[k][lane];
    if (has_level) {
        if (st->v[n][lane] > i->last_level - i->first_level)
            return NULL;
        level += st->v[n][lane];
    }
    if (i->type == SIM_IMAGE_1D_ARRAY)
        z = c[1];
    else if (i->type != SIM_IMAGE_1D)
        y = c[1], z = c[2];
    if (z < 0)
        return NULL;
    return image_texel(t, level, c[0], y, z + i->first_layer);
}

static void random_coords(const struct test_image *t, struct asm_state *st)
{
    const struct sim_image *i = &t->image;
    const uint32_t most = i->width > i->height ? i->width : i->height;
    const unsigned n = image_ncoords(i->type);

    for (unsigned lane = 0; lane < st->wave_size; lane++)
        for (unsigned k = 0; k < 4; k++)
            st->v[k][lane] =
                k >= n ? (uint32_t)image_random() % 3 * (lane % 2) /* a level */
                : lane % 8 == 7
                    ? (uint32_t)image_random() - 0x40000000u /* far out */
                    : (uint32_t)(image_random() % (lane % 3 ? 4 : most)) -
                          (lane % 8 == 5);
}

/* How many lanes' coordinates led into the image. */
static unsigned check_shape(const char *target, const struct sim_image *shape,
                            bool has_level)
{
    struct sim_image image = *shape;
    struct test_image *t;
    struct asm_state *st;
    const unsigned n = image_ncoords(image.type);
    unsigned inside = 0;

    image.data = SIM_DATA_32_32;
    image.number = SIM_NUMBER_UINT;
    if (has_level) { /* a view of some levels and layers */
        image.first_level = 1;
        image.last_level = image.nlevels - 2;
        if (image.type == SIM_IMAGE_2D_ARRAY)
            image.first_layer = 1;
    }
    t = image_new(target, image);
    st = image_state(t, NULL);
    random_coords(t, st);
    asm_run(st, image_text(t, has_level ? "image_load_mip" : "image_load", 2,
                           n + has_level, 3, ""));
    for (unsigned lane = 0; lane < st->wave_size; lane++) {
        const uint8_t *at = place_of(t, st, lane, has_level);

        inside += at != NULL;
        for (unsigned c = 0; c < 2; c++)
            if (st->v[DATA_VGPR + c][lane] != (at ? dword_at(at + 4 * c) : 0))
                fail_msg("%s, type %u: lane %u at (%d, %d, %d, %d): want %#x, "
                         "got %#x",
                         target, (unsigned)image.type, lane,
                         (int)st->v[0][lane], (int)st->v[1][lane],
                         (int)st->v[2][lane], (int)st->v[3][lane],
                         at ? dword_at(at + 4 * c) : 0,
                         st->v[DATA_VGPR + c][lane]);
    }
    /* stores other values to the same texels */
    for (unsigned lane = 0; lane < st->wave_size; lane++)
        st->v[DATA_VGPR][lane] = st->v[DATA_VGPR + 1][lane] = lane + 1;
    asm_run(st, image_text(t, has_level ? "image_store_mip" : "image_store", 2,
                           n + has_level, 3, ""));
    for (unsigned lane = 0; lane < st->wave_size; lane++) {
        const uint8_t *at = place_of(t, st, lane, has_level);
        bool last = at != NULL;

        for (unsigned k = lane + 1; k < st->wave_size; k++)
            last = last && place_of(t, st, k, has_level) != at;
        if (last)
            assert_int_equal(dword_at(at + 4), lane + 1);
    }
    asm_free(st);
    image_free(t);
    return inside;
}

static void test_coordinates_of_every_shape_and_level(void **state)
{
    unsigned inside = 0, of_all = 0;

    (void)state;
    image_seed(4);
    for (unsigned target = 0; target < NUM_TARGETS; target++)
        for (unsigned s = 0; s < NUM_SHAPES; s++)
            for (unsigned has_level = 0; has_level < 2; has_level++)
                inside += check_shape(targets[target], &shapes[s], has_level),
                    of_all += 32;
    if (inside < of_all / 4)
        fail_msg("%u of %u or more lanes are inside", inside, of_all);
}

static void test_resinfo_gives_sizes_of_a_level(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++)
        for (unsigned s = 0; s < NUM_SHAPES; s++) {
            struct sim_image image = shapes[s];
            struct test_image *t;
            struct asm_state *st;

            image.data = SIM_DATA_8;
            image.first_level = 1;
            image.last_level = image.nlevels - 1;
            t = image_new(targets[target], image);
            st = image_state(t, NULL);
            for (unsigned lane = 0; lane < st->wave_size; lane++)
                st->v[0][lane] = lane;
            asm_run(st, image_text(t, "image_get_resinfo", 4, 1, 15, ""));
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                const unsigned l = lane + 1;
                const bool there = l < image.nlevels;
                const unsigned by = there ? l : 0;
                const uint32_t width = image.width >> by;
                const uint32_t height = image.height >> by;
                const uint32_t depth = image.type == SIM_IMAGE_3D
                                           ? image.depth >> by
                                           : image.depth;

                assert_int_equal(st->v[DATA_VGPR][lane], !there  ? 0
                                                         : width ? width
                                                                 : 1);
                assert_int_equal(st->v[DATA_VGPR + 1][lane], !there   ? 0
                                                             : height ? height
                                                                      : 1);
                assert_int_equal(st->v[DATA_VGPR + 2][lane], !there  ? 0
                                                             : depth ? depth
                                                                     : 1);
                assert_int_equal(st->v[DATA_VGPR + 3][lane], image.nlevels - 1);
            }
            asm_free(st);
            image_free(t);
        }
}

/* ---- masks, swizzles, halves ---- */

static struct test_image *plain_image(const char *target,
                                      enum sim_data_format data,
                                      enum sim_number_format number)
{
    struct test_image *t =
        image_new(target, (struct sim_image){.type = SIM_IMAGE_2D,
                                             .data = data,
                                             .number = number,
                                             .width = 64,
                                             .height = 2});

    return t;
}

static void lanes_as_x(struct asm_state *st)
{
    for (unsigned lane = 0; lane < st->wave_size; lane++) {
        st->v[0][lane] = lane;
        st->v[1][lane] = 1;
    }
}

static void test_dmask_packs_components_and_selects_apply(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++)
        for (unsigned dmask = 1; dmask < 16; dmask++) {
            struct test_image *t = plain_image(
                targets[target], SIM_DATA_32_32_32_32, SIM_NUMBER_UINT);
            struct asm_state *st;
            const unsigned ndata = (unsigned)__builtin_popcount(dmask);
            /* z, 1, x, w */
            static const uint8_t select[4] = {6, 1, 4, 7};

            memcpy(t->image.select, select, 4);
            st = image_state(t, NULL);
            lanes_as_x(st);
            for (unsigned lane = 0; lane < st->wave_size; lane++)
                st->v[DATA_VGPR + ndata][lane] = 77;
            asm_run(st, image_text(t, "image_load", ndata, 2, dmask, ""));
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                const uint8_t *at = image_texel(t, 0, lane, 1, 0);
                const uint32_t all[4] = {dword_at(at + 8), 1, dword_at(at),
                                         dword_at(at + 12)};
                unsigned n = 0;

                for (unsigned c = 0; c < 4; c++)
                    if (dmask >> c & 1)
                        assert_int_equal(st->v[DATA_VGPR + n++][lane], all[c]);
                assert_int_equal(st->v[DATA_VGPR + n][lane], 77);
            }
            /* stores lead the same way back: x gets z, y nothing, z x, w w */
            for (unsigned lane = 0; lane < st->wave_size; lane++)
                for (unsigned c = 0; c < ndata; c++)
                    st->v[DATA_VGPR + c][lane] = 100 * c + lane;
            asm_run(st, image_text(t, "image_store", ndata, 2, dmask, ""));
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                const uint8_t *at = image_texel(t, 0, lane, 1, 0);
                uint32_t given[4] = {0};
                unsigned n = 0;

                for (unsigned c = 0; c < 4; c++)
                    if (dmask >> c & 1)
                        given[c] = 100 * n++ + lane;
                    else if (strcmp(targets[target], "gfx1201") == 0)
                        given[c] = given[0];
                assert_int_equal(dword_at(at), given[2]);
                assert_int_equal(dword_at(at + 4), 0);
                assert_int_equal(dword_at(at + 8), given[0]);
                assert_int_equal(dword_at(at + 12), given[3]);
            }
            asm_free(st);
            image_free(t);
        }
}

static void test_d16_packs_halves_two_to_a_register(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++)
        for (unsigned n = 0; n < 3; n++) {
            static const enum sim_number_format kinds[] = {
                SIM_NUMBER_FLOAT, SIM_NUMBER_UINT, SIM_NUMBER_SINT};
            struct test_image *t =
                plain_image(targets[target], SIM_DATA_16_16_16_16, kinds[n]);
            struct asm_state *st = image_state(t, NULL);

            lanes_as_x(st);
            asm_run(st, image_text(t, "image_load", 2, 2, 15, " d16"));
            for (unsigned lane = 0; lane < st->wave_size; lane++) {
                const uint8_t *at = image_texel(t, 0, lane, 1, 0);

                assert_int_equal(st->v[DATA_VGPR][lane], dword_at(at));
                assert_int_equal(st->v[DATA_VGPR + 1][lane], dword_at(at + 4));
                st->v[DATA_VGPR][lane] ^= 0x00010002;
            }
            asm_run(st, image_text(t, "image_store", 2, 2, 15, " d16"));
            for (unsigned lane = 0; lane < st->wave_size; lane++)
                assert_int_equal(dword_at(image_texel(t, 0, lane, 1, 0)),
                                 st->v[DATA_VGPR][lane]);
            asm_free(st);
            image_free(t);
        }
}

static void test_a16_takes_two_coordinates_from_a_register(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            plain_image(targets[target], SIM_DATA_32, SIM_NUMBER_UINT);
        struct asm_state *st = image_state(t, NULL);

        for (unsigned lane = 0; lane < st->wave_size; lane++)
            st->v[0][lane] = lane | lane % 2 << 16;
        asm_run(st, image_text(t, "image_load", 1, 1, 1, " a16"));
        for (unsigned lane = 0; lane < st->wave_size; lane++)
            assert_int_equal(st->v[DATA_VGPR][lane],
                             dword_at(image_texel(t, 0, lane, lane % 2, 0)));
        asm_free(st);
        image_free(t);
    }
}

static void test_coordinates_lie_in_any_registers(void **state)
{
    static const char *const texts[][2] = {
        {"gfx1030", "image_load v20, [v7, v3], s[8:15] dmask:0x1 "
                    "dim:SQ_RSRC_IMG_2D unorm"},
        {"gfx1100", "image_load v20, [v7, v3], s[8:15] dmask:0x1 "
                    "dim:SQ_RSRC_IMG_2D unorm"},
        {"gfx1201", "image_load v20, [v7, v3], s[8:15] dmask:0x1 "
                    "dim:SQ_RSRC_IMG_2D"}};

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        struct test_image *t =
            plain_image(texts[k][0], SIM_DATA_32, SIM_NUMBER_UINT);
        struct asm_state *st = image_state(t, NULL);

        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            st->v[7][lane] = lane;
            st->v[3][lane] = 1;
        }
        asm_run(st, texts[k][1]);
        for (unsigned lane = 0; lane < st->wave_size; lane++)
            assert_int_equal(st->v[DATA_VGPR][lane],
                             dword_at(image_texel(t, 0, lane, 1, 0)));
        asm_free(st);
        image_free(t);
    }
}

static void test_lanes_that_are_off_touch_nothing(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            plain_image(targets[target], SIM_DATA_32, SIM_NUMBER_UINT);
        struct asm_state *st = image_state(t, NULL);
        uint32_t before = dword_at(image_texel(t, 0, 1, 1, 0));

        lanes_as_x(st);
        st->s[SREG_EXEC] = 4;
        st->s[SREG_EXEC + 1] = 0;
        st->v[DATA_VGPR][1] = 5;
        st->v[DATA_VGPR][2] = 6;
        asm_run(st, image_text(t, "image_store", 1, 2, 1, ""));
        assert_int_equal(dword_at(image_texel(t, 0, 1, 1, 0)), before);
        assert_int_equal(dword_at(image_texel(t, 0, 2, 1, 0)), 6);
        asm_run(st, image_text(t, "image_load", 1, 2, 1, ""));
        assert_int_equal(st->v[DATA_VGPR][1], 5);
        assert_int_equal(st->stats.bytes_read, 4);
        assert_int_equal(st->stats.segment_bytes_read, 64);
        asm_free(st);
        image_free(t);
    }
}

/* ---- atomics ---- */

#define ATOMICS(X)                                                             \
    X("swap", "swap", b)                                                       \
    X("add", "add_uint", a + b)                                                \
    X("sub", "sub_uint", a - b)                                                \
    X("smin", "min_int", (int32_t)a < (int32_t)b ? a : b)                      \
    X("umin", "min_uint", a < b ? a : b)                                       \
    X("smax", "max_int", (int32_t)a > (int32_t)b ? a : b)                      \
    X("umax", "max_uint", a > b ? a : b)                                       \
    X("and", "and", a &b)                                                      \
    X("or", "or", a | b)                                                       \
    X("xor", "xor", a ^ b)                                                     \
    X("inc", "inc_uint", a >= b ? 0 : a + 1)                                   \
    X("dec", "dec_uint", a == 0 || a > b ? b : a - 1)

static void run_atomic(struct test_image *t, struct asm_state *st,
                       const char *old, const char *new, unsigned ndata,
                       unsigned dmask)
{
    const bool gfx12 = strcmp(t->target, "gfx1201") == 0;
    char name[64];

    snprintf(name, sizeof(name), "image_atomic_%s", gfx12 ? new : old);
    asm_run(st, image_text(t, name, ndata, 2, dmask,
                           gfx12 ? " th:TH_ATOMIC_RETURN" : " glc"));
}

static void test_atomics_update_texels_and_return_the_old(void **state)
{
    (void)state;
    image_seed(5);
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            plain_image(targets[target], SIM_DATA_32, SIM_NUMBER_UINT);
        struct asm_state *st = image_state(t, NULL);
        uint32_t before[64] = {0}, given[64] = {0};

#define X(old, new, result)                                                    \
    lanes_as_x(st);                                                            \
    image_fill(t);                                                             \
    st->v[0][3] = 64; /* outside */                                            \
    for (unsigned lane = 0; lane < st->wave_size; lane++) {                    \
        before[lane] = dword_at(image_texel(t, 0, lane, 1, 0));                \
        given[lane] = st->v[DATA_VGPR][lane] = (uint32_t)image_random() * 3u;  \
    }                                                                          \
    run_atomic(t, st, old, new, 1, 1);                                         \
    for (unsigned lane = 0; lane < st->wave_size; lane++) {                    \
        const uint32_t a = before[lane], b = given[lane];                      \
                                                                               \
        assert_int_equal(dword_at(image_texel(t, 0, lane, 1, 0)),              \
                         lane == 3 ? a : (result));                            \
        assert_int_equal(st->v[DATA_VGPR][lane], lane == 3 ? 0 : a);           \
    }
        ATOMICS(X)
#undef X
        lanes_as_x(st);
        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            before[lane] = dword_at(image_texel(t, 0, lane, 1, 0));
            st->v[DATA_VGPR][lane] = 5 + lane;
            st->v[DATA_VGPR + 1][lane] = before[lane] + lane % 2;
        }
        run_atomic(t, st, "cmpswap", "cmpswap", 2, 3);
        for (unsigned lane = 0; lane < st->wave_size; lane++)
            assert_int_equal(dword_at(image_texel(t, 0, lane, 1, 0)),
                             lane % 2 ? before[lane] : 5 + lane);
        asm_free(st);
        image_free(t);
    }
}

static void test_atomics_of_64_bits_take_texels_of_two_channels(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            plain_image(targets[target], SIM_DATA_32_32, SIM_NUMBER_UINT);
        struct asm_state *st = image_state(t, NULL);
        uint64_t before[64] = {0}, after;

        lanes_as_x(st);
        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            memcpy(&before[lane], image_texel(t, 0, lane, 1, 0), 8);
            st->v[DATA_VGPR][lane] = 0xffffffff;
            st->v[DATA_VGPR + 1][lane] = lane;
        }
        run_atomic(t, st, "add", "add_uint", 2, 3);
        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            memcpy(&after, image_texel(t, 0, lane, 1, 0), 8);
            assert_true(after ==
                        before[lane] + (0xffffffff | (uint64_t)lane << 32));
            assert_int_equal(st->v[DATA_VGPR + 1][lane], before[lane] >> 32);
        }
        asm_free(st);
        image_free(t);
    }
}

/* ---- refused images ---- */

static void expect_fault(struct asm_state *st, const char *text,
                         enum sim_fault_kind kind, const char *word)
{
    if (asm_try(st, text))
        fail_msg("%s: %s: no fault, wanted '%s'", st->target, text, word);
    if (st->fault.kind != kind || !strstr(st->fault.text, word))
        fail_msg("%s: wanted kind %d, '%s'; got kind %d, '%s'", st->target,
                 (int)kind, word, (int)st->fault.kind, st->fault.text);
}

static void test_senseless_descriptors_are_faults_that_say_so(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            plain_image(targets[target], SIM_DATA_32, SIM_NUMBER_UINT);
        struct asm_state *st = image_state(t, NULL);
        uint32_t *d = &st->s[IMAGE_SGPR], good[8];
        const char *text;

        lanes_as_x(st);
        memcpy(good, d, sizeof(good));
        text = image_text(t, "image_load", 1, 2, 1, "");
#define EXPECT(kind, word)                                                     \
    expect_fault(st, text, SIM_FAULT_##kind, word);                            \
    memcpy(d, good, sizeof(good))
        memset(d, 0, 32);
        EXPECT(DESCRIPTOR, "descriptor");
        memset(d, 0xff, 32);
        EXPECT(DESCRIPTOR, "descriptor");
        d[3] = (d[3] & 0x0fffffff) | 7u << 28;
        EXPECT(DESCRIPTOR, "type 7");
        d[3] |= 5 << 20;
        EXPECT(DESCRIPTOR, "swizzle mode 5");
        d[3] = (d[3] & 0x0fffffff) | (unsigned)SIM_IMAGE_2D_ARRAY << 28;
        EXPECT(DESCRIPTOR, "2D array");
        d[4] = 0; /* sets a pitch of one texel */
        EXPECT(DESCRIPTOR, "pitch of 1 ");
        d[0] ^= 0x00800000; /* elsewhere */
        EXPECT(MEMORY, "reads 4 bytes");
        text = strcmp(targets[target], "gfx1201")
                   ? image_text(t, "image_load", 1, 2, 1, " lwe")
                   : image_text(t, "image_load", 2, 2, 1, " tfe");
        EXPECT(UNKNOWN_INSN, "modifier");
#undef EXPECT
        asm_free(st);
        image_free(t);
    }
}

static void test_wrong_shapes_are_faults(void **state)
{
    (void)state;
    for (unsigned target = 2; target < NUM_TARGETS; target++) {
        struct test_image *t =
            plain_image(targets[target], SIM_DATA_32, SIM_NUMBER_UINT);
        struct asm_state *st = image_state(t, NULL);
        struct test_image volume = *t;

        lanes_as_x(st);
        volume.image.type = SIM_IMAGE_3D;
        expect_fault(st, image_text(&volume, "image_load", 1, 3, 1, ""),
                     SIM_FAULT_DESCRIPTOR,
                     "3D images, the image descriptor is "
                     "of a 2D one");
        /* HIP's functions for cubes and layers read single images so */
        volume.image.type = SIM_IMAGE_CUBE;
        asm_run(st, image_text(&volume, "image_load", 1, 3, 1, ""));
        assert_int_equal(st->v[DATA_VGPR][5],
                         dword_at(image_texel(t, 0, 5, 1, 0)));
        asm_free(st);
        image_free(t);
    }
}

static void test_targets_without_images_say_so(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    st->s[8] = 0;
    /* LLVM does not assemble it either: the words of gfx90a's */
    assert_false(asm_try(st, ".long 0xf0001f00\n.long 0x00020004"));
    assert_true(st->fault.kind == SIM_FAULT_ILLEGAL_INSN ||
                st->fault.kind == SIM_FAULT_UNKNOWN_INSN);
    asm_free(st);
}

static void test_texels_are_checked_like_any_memory(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            plain_image(targets[target], SIM_DATA_32, SIM_NUMBER_UINT);
        struct asm_state *st;

        t->image.height = 3; /* the third row has no memory */
        st = image_state(t, NULL);
        lanes_as_x(st);
        st->v[0][5] = 7;
        st->v[1][5] = 2;
        expect_fault(st, image_text(t, "image_load", 1, 2, 1, ""),
                     SIM_FAULT_MEMORY, "lane 5: reads 4 bytes");
        assert_non_null(strstr(st->fault.text, "28 bytes past the end"));
        expect_fault(st, image_text(t, "image_store", 1, 2, 1, ""),
                     SIM_FAULT_MEMORY, "lane 5: writes 4 bytes");
        asm_free(st);
        image_free(t);
    }
}

static void test_texels_that_nothing_wrote_are_found(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            plain_image(targets[target], SIM_DATA_32, SIM_NUMBER_UINT);
        struct asm_state *st = image_state(t, NULL);
        const char *text;

        lanes_as_x(st);
        sim_mem_forget_written(t->memory->base, t->memory->size);
        sim_config_mutable()->uninit = true;
        text = image_text(t, "image_load", 1, 2, 1, "");
        expect_fault(st, text, SIM_FAULT_UNINITIALISED, "nothing has written");
        asm_run(st, image_text(t, "image_store", 1, 2, 1, ""));
        asm_run(st, image_text(t, "image_load", 1, 2, 1, ""));
        sim_config_mutable()->uninit = false;
        asm_free(st);
        image_free(t);
    }
}

/* Each group stores its number, to its own texels or to shared ones. */
static void test_groups_that_write_one_texel_race(void **state)
{
    struct test_image *t =
        image_new("gfx90a", (struct sim_image){.type = SIM_IMAGE_2D,
                                               .data = SIM_DATA_8,
                                               .number = SIM_NUMBER_UINT,
                                               .width = 64,
                                               .height = 4});
    static const char prologue[] = "s_load_dwordx8 s[8:15], s[0:1], 0x0\n"
                                   "v_mov_b32 v2, s2\nv_mov_b32 v4, v0\n";
    char text[2][512];
    uint32_t words[SIM_IMAGE_WORDS];
    char why[SIM_IMAGE_WHY];
    struct asm_launch l = {.target = "gfx90a",
                           .wave_size = 64,
                           .groups = 4,
                           .block = 64,
                           .kernarg = words,
                           .kernarg_nbytes = sizeof(words)};

    (void)state;
    assert_true(
        sim_image_encode(&t->image, sim_target_by_name("gfx90a"), words, why));
    for (unsigned shared = 0; shared < 2; shared++)
        snprintf(text[shared], sizeof(text[shared]),
                 "%sv_mov_b32 v5, %s\nimage_store v2, v[4:5], s[8:15] "
                 "dmask:0x1 unorm\n",
                 prologue, shared ? "0" : "s2");
    sim_config_mutable()->races = true;
    l.text = text[0];
    if (!asm_dispatch(&l))
        fail_msg("%s", l.fault.text);
    l.text = text[1];
    assert_false(asm_dispatch(&l));
    assert_int_equal(l.fault.kind, SIM_FAULT_GROUP_RACE);
    sim_config_mutable()->races = false;
    image_free(t);
}

/* The bounds know of texels: lines for the vector cache, bytes of the DRAM. */
static void test_texels_are_counted(void **state)
{
    struct test_image *t = plain_image("gfx90a", SIM_DATA_32, SIM_NUMBER_UINT);
    struct asm_state *st = image_state(t, NULL);

    (void)state;
    lanes_as_x(st);
    asm_run(st, image_text(t, "image_load", 1, 2, 1, ""));
    assert_int_equal(st->stats.vmem, 1);
    assert_int_equal(st->stats.bytes_read, 256);
    assert_int_equal(st->stats.segment_bytes_read, 256);
    for (unsigned lane = 0; lane < 64; lane++) /* every lane, one texel */
        st->v[0][lane] = 3;
    asm_run(st, image_text(t, "image_store", 1, 2, 1, ""));
    assert_int_equal(st->stats.bytes_written, 256);
    assert_int_equal(st->stats.segment_bytes_written, 64);
    asm_free(st);
    image_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coordinates_of_every_shape_and_level),
        cmocka_unit_test(test_resinfo_gives_sizes_of_a_level),
        cmocka_unit_test(test_dmask_packs_components_and_selects_apply),
        cmocka_unit_test(test_d16_packs_halves_two_to_a_register),
        cmocka_unit_test(test_a16_takes_two_coordinates_from_a_register),
        cmocka_unit_test(test_coordinates_lie_in_any_registers),
        cmocka_unit_test(test_lanes_that_are_off_touch_nothing),
        cmocka_unit_test(test_atomics_update_texels_and_return_the_old),
        cmocka_unit_test(test_atomics_of_64_bits_take_texels_of_two_channels),
        cmocka_unit_test(test_senseless_descriptors_are_faults_that_say_so),
        cmocka_unit_test(test_wrong_shapes_are_faults),
        cmocka_unit_test(test_targets_without_images_say_so),
        cmocka_unit_test(test_texels_are_checked_like_any_memory),
        cmocka_unit_test(test_texels_that_nothing_wrote_are_found),
        cmocka_unit_test(test_groups_that_write_one_texel_race),
        cmocka_unit_test(test_texels_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
