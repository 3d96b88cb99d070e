/* test_image_format.c - texels of every format, in images and in buffers */
#include "image_test.h"

static const char *const targets[] = {"gfx90a", "gfx906", "gfx1030", "gfx1100",
                                      "gfx1201"};
enum { NUM_TARGETS = sizeof(targets) / sizeof(targets[0]) };

static const enum sim_number_format numbers[] = {
    SIM_NUMBER_UNORM, SIM_NUMBER_SNORM, SIM_NUMBER_USCALED, SIM_NUMBER_SSCALED,
    SIM_NUMBER_UINT,  SIM_NUMBER_SINT,  SIM_NUMBER_FLOAT,   SIM_NUMBER_SRGB};

/* An image of a format, or NULL if the target does not have it. */
static struct test_image *image_of(const char *target, enum sim_data_format d,
                                   enum sim_number_format n)
{
    const struct sim_target *t = sim_target_by_name(target);

    if (!sim_format_of(d, n) || (t->major > 9 && !sim_format_encode(d, n, t)))
        return NULL;
    return image_new(target, (struct sim_image){.type = SIM_IMAGE_2D,
                                                .data = d,
                                                .number = n,
                                                .width = 9,
                                                .height = 7});
}

#define EACH_FORMAT(t)                                                         \
    for (unsigned target = 0; target < NUM_TARGETS; target++)                  \
        for (unsigned d = 0; d < sizeof(datas) / sizeof(datas[0]); d++)        \
            for (unsigned n = 0; n < sizeof(numbers) / sizeof(numbers[0]);     \
                 n++)                                                          \
                for (struct test_image *t =                                    \
                         image_of(targets[target], datas[d], numbers[n]);      \
                     t; image_free(t), t = NULL)

/* A register's value as a number. */
static double register_value(const struct test_image *t, uint32_t v)
{
    return t->image.number == SIM_NUMBER_UINT   ? (double)v
           : t->image.number == SIM_NUMBER_SINT ? (double)(int32_t)v
                                                : (double)as_float(v);
}

static void expect(const struct test_image *t, const char *what, unsigned lane,
                   unsigned c, double want, uint32_t got)
{
    const double value = register_value(t, got);

    if (isnan(want)
            ? isnan(value)
            : fabs(value - want) <= fabs(want) * 1.2e-7 || value == want)
        return;
    fail_msg("%s, data format %u, number format %u: %s: lane %u, component "
             "%u: want %.9g, got %.9g",
             t->target, (unsigned)t->image.data, (unsigned)t->image.number,
             what, lane, c, want, value);
}

static void test_texels_of_every_format_are_loaded(void **state)
{
    (void)state;
    image_seed(1);
    EACH_FORMAT(t)
    {
        struct asm_state *st = image_state(t, NULL);

        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            st->v[0][lane] = (unsigned)image_random() % 9;
            st->v[1][lane] = (unsigned)image_random() % 7;
        }
        asm_run(st, image_text(t, "image_load", 4, 2, 15, ""));
        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            double want[4] = {0};

            image_value(t, image_texel(t, 0, st->v[0][lane], st->v[1][lane], 0),
                        want);
            for (unsigned c = 0; c < 4; c++)
                expect(t, "load", lane, c, want[c], st->v[DATA_VGPR + c][lane]);
        }
        asm_free(st);
    }
}

/* The nearest number that a format has, by trying the neighbours. */
static double nearest(const struct test_image *t, unsigned nbits, double v)
{
    const double most = ldexp(1, (int)nbits) - 1;
    const double half = ldexp(1, (int)nbits - 1) - 1;

    switch (t->image.number) {
    case SIM_NUMBER_UINT:
    case SIM_NUMBER_USCALED:
        return fmin(fmax(trunc(v), 0), most);
    case SIM_NUMBER_SINT:
    case SIM_NUMBER_SSCALED:
        return fmin(fmax(trunc(v), -half - 1), half);
    case SIM_NUMBER_SNORM:
        return nearbyint(fmin(fmax(v, -1), 1) * half) / half;
    default:
        return nearbyint(fmin(fmax(v, 0), 1) * most) / most;
    }
}

/* Half a step of a float of nbits at v; without a sign below 16. */
static double float_step(unsigned nbits, double v)
{
    const int fraction = nbits == 32 ? 23 : nbits == 16 ? 10 : (int)nbits - 5;
    int exponent;

    frexp(v, &exponent);
    exponent = exponent - 1 < -14 && nbits < 32 ? -14 : exponent - 1;
    return ldexp(1, exponent - fraction - 1);
}

static void expect_stored(const struct test_image *t, unsigned lane, unsigned c,
                          uint32_t given, double got)
{
    const struct sim_texel_format *f =
        sim_format_of(t->image.data, t->image.number);
    const double v = register_value(t, given);
    double want, tolerance = 1e-9;

    if (c >= f->nchannels)
        return;
    if (t->image.number == SIM_NUMBER_FLOAT) {
        want = f->nbits[c] < 16 ? fmax(v, 0) : v;
        tolerance = float_step(f->nbits[c], want) * 1.001;
    } else if (t->image.number == SIM_NUMBER_SRGB && c < 3) {
        want = fmin(fmax(v, 0), 1); /* half a step, where steps are largest */
        tolerance = 0.5 / 255 * 2.4;
    } else {
        want = nearest(t, f->nbits[c], v);
    }
    if (fabs(got - want) > tolerance * fmax(1, fabs(want) * 1e-7))
        fail_msg("%s, data format %u, number format %u: store: lane %u, "
                 "channel %u: gave %.9g, want %.9g, got %.9g",
                 t->target, (unsigned)t->image.data, (unsigned)t->image.number,
                 lane, c, v, want, got);
}

static void test_texels_of_every_format_are_stored(void **state)
{
    (void)state;
    image_seed(2);
    EACH_FORMAT(t)
    {
        struct asm_state *st = image_state(t, NULL);

        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            st->v[0][lane] = lane % 9;
            st->v[1][lane] = lane / 9; /* 64 lanes: one below the last row */
            for (unsigned c = 0; c < 4; c++) {
                uint32_t any =
                    (uint32_t)image_random() << 1 ^ (uint32_t)image_random();

                st->v[DATA_VGPR + c][lane] =
                    image_is_integer(t)
                        ? any >> image_random() % 32
                        : as_bits((float)(between(-1.5, 1.5) *
                                          (lane % 5 ? 1 : 1000)));
            }
        }
        asm_run(st, image_text(t, "image_store", 4, 2, 15, ""));
        for (unsigned lane = 0; lane < st->wave_size && lane < 63; lane++) {
            double got[4] = {0};

            image_value(t, image_texel(t, 0, lane % 9, lane / 9, 0), got);
            for (unsigned c = 0; c < 4; c++)
                expect_stored(t, lane, c, st->v[DATA_VGPR + c][lane], got[c]);
        }
        asm_free(st);
    }
}

static void test_what_was_loaded_is_stored_back_as_it_was(void **state)
{
    (void)state;
    image_seed(3);
    EACH_FORMAT(t)
    {
        struct asm_state *st = image_state(t, NULL);
        uint8_t *before = malloc(t->memory->size);
        char text[600];

        assert_non_null(before);
        if (t->image.number == SIM_NUMBER_FLOAT && t->image.data <= 7 &&
            t->image.data >= 6) /* no NaNs and infinities among the bits */
            for (uint64_t i = 0; i < t->memory->size; i++)
                t->memory->bytes[i] &= 0x3b;
        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            st->v[0][lane] = lane % 9;
            st->v[1][lane] = lane / 9;
        }
        memcpy(before, t->memory->bytes, t->memory->size);
        snprintf(text, sizeof(text), "%s",
                 image_text(t, "image_load", 4, 2, 15, ""));
        asm_run(st, text);
        asm_run(st, image_text(t, "image_store", 4, 2, 15, ""));
        for (uint64_t i = 0; i < t->memory->size; i++)
            if (before[i] != t->memory->bytes[i] &&
                t->image.number != SIM_NUMBER_SNORM) /* two are -1 */
                fail_msg("%s, data format %u, number format %u: byte %llu: "
                         "was %#x, is %#x",
                         t->target, (unsigned)t->image.data,
                         (unsigned)t->image.number, (unsigned long long)i,
                         before[i], t->memory->bytes[i]);
        free(before);
        asm_free(st);
    }
}

/* ---- buffers of texels ---- */

static uint32_t format_field(const struct test_image *t)
{
    const struct sim_target *target = sim_target_by_name(t->target);

    if (target->major == 9)
        return (uint32_t)t->image.number << 12 | (uint32_t)t->image.data << 15;
    return sim_format_encode(t->image.data, t->image.number, target) << 12;
}

/* Row 0 of the image as a buffer of nine records. */
static void buffer_state(const struct test_image *t, struct asm_state *st)
{
    const uint64_t base = t->memory->base;

    st->s[8] = (uint32_t)base;
    st->s[9] = (uint32_t)(base >> 32) | t->layout.texel_nbytes << 16;
    st->s[10] = 9;
    st->s[11] = 4 | 5 << 3 | 6 << 6 | 7 << 9 | format_field(t);
    for (unsigned lane = 0; lane < st->wave_size; lane++)
        st->v[0][lane] = lane;
}

static const char *buffer_text(const struct test_image *t, const char *name,
                               const char *format)
{
    static char text[256];
    const unsigned major = sim_target_by_name(t->target)->major;

    snprintf(text, sizeof(text), "%s v[20:23], v0, s[8:11], %s %s idxen", name,
             major >= 12 ? "null" : "0", format);
    return text;
}

static void test_typed_buffers_load_and_store_every_format(void **state)
{
    (void)state;
    image_seed(6);
    EACH_FORMAT(t)
    {
        struct asm_state *st = image_state(t, NULL);
        uint8_t before[9 * 16];
        const size_t nbytes = 9 * (size_t)t->layout.texel_nbytes;

        /* descriptors of buffers have fewer bits: no sRGB, no packed 16 */
        if (t->image.number == SIM_NUMBER_SRGB || t->image.data >= 16) {
            asm_free(st);
            continue;
        }
        if (t->image.data == 6 || t->image.data == 7)
            for (uint64_t i = 0; i < t->memory->size; i++)
                t->memory->bytes[i] &= 0x3b;
        buffer_state(t, st);
        asm_run(st, buffer_text(t, "buffer_load_format_xyzw", ""));
        for (unsigned lane = 0; lane < st->wave_size; lane++) {
            double want[4] = {0};

            if (lane < 9)
                image_value(t, image_texel(t, 0, lane, 0, 0), want);
            for (unsigned c = 0; c < 4; c++)
                expect(t, "buffer load", lane, c, want[c],
                       st->v[DATA_VGPR + c][lane]);
        }
        memcpy(before, t->memory->bytes, nbytes);
        memset(t->memory->bytes, 0x55, nbytes);
        asm_run(st, buffer_text(t, "buffer_store_format_xyzw", ""));
        if (t->image.number != SIM_NUMBER_SNORM)
            assert_memory_equal(t->memory->bytes, before, nbytes);
        asm_free(st);
    }
}

static void test_fewer_components_and_halves_of_buffers(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            image_of(targets[target], SIM_DATA_16_16_16_16, SIM_NUMBER_SINT);
        struct asm_state *st = image_state(t, NULL);
        const unsigned major = sim_target_by_name(targets[target])->major;
        char text[128];

        buffer_state(t, st);
        for (unsigned lane = 0; lane < st->wave_size; lane++)
            st->v[22][lane] = 77;
        snprintf(text, sizeof(text),
                 "buffer_load_format_xy v[20:21], v0, s[8:11], %s idxen",
                 major >= 12 ? "null" : "0");
        asm_run(st, text);
        for (unsigned lane = 0; lane < 9; lane++) {
            double want[4] = {0};

            image_value(t, image_texel(t, 0, lane, 0, 0), want);
            assert_int_equal((int32_t)st->v[20][lane], (int)want[0]);
            assert_int_equal((int32_t)st->v[21][lane], (int)want[1]);
            assert_int_equal(st->v[22][lane], 77);
        }
        snprintf(text, sizeof(text), "%s v[20:21], v0, s[8:11], %s idxen",
                 major >= 11 ? "buffer_load_d16_format_xyzw"
                             : "buffer_load_format_d16_xyzw",
                 major >= 12 ? "null" : "0");
        asm_run(st, text);
        for (unsigned lane = 0; lane < 9; lane++) {
            const uint32_t got[2] = {st->v[20][lane], st->v[21][lane]};

            assert_memory_equal(got, image_texel(t, 0, lane, 0, 0), 8);
        }
        asm_free(st);
        image_free(t);
    }
}

static void test_tbuffer_brings_its_own_format(void **state)
{
    (void)state;
    for (unsigned target = 0; target < NUM_TARGETS; target++) {
        struct test_image *t =
            image_of(targets[target], SIM_DATA_16_16, SIM_NUMBER_FLOAT);
        struct asm_state *st = image_state(t, NULL);
        const bool gfx9 = strncmp(targets[target], "gfx9", 4) == 0;
        double want[4] = {0};

        buffer_state(t, st);
        st->s[11] = 4 | 5 << 3 | 6 << 6 | 7 << 9; /* no format */
        asm_run(st, buffer_text(t, "tbuffer_load_format_xyzw",
                                gfx9 ? "format:[BUF_DATA_FORMAT_16_16,"
                                       "BUF_NUM_FORMAT_FLOAT]"
                                     : "format:[BUF_FMT_16_16_FLOAT]"));
        image_value(t, image_texel(t, 0, 3, 0, 0), want);
        for (unsigned c = 0; c < 4; c++)
            expect(t, "tbuffer", 3, c, want[c], st->v[DATA_VGPR + c][3]);
        /* LLVM leaves bytes, UNORM, away */
        asm_run(st, buffer_text(t, "tbuffer_load_format_xyzw",
                                gfx9 ? "format:[BUF_DATA_FORMAT_8,"
                                       "BUF_NUM_FORMAT_UNORM]"
                                     : "format:[BUF_FMT_8_UNORM]"));
        assert_true(as_float(st->v[DATA_VGPR][3]) ==
                    (float)(t->memory->bytes[12] / 255.0));
        asm_free(st);
        image_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texels_of_every_format_are_loaded),
        cmocka_unit_test(test_texels_of_every_format_are_stored),
        cmocka_unit_test(test_what_was_loaded_is_stored_back_as_it_was),
        cmocka_unit_test(test_typed_buffers_load_and_store_every_format),
        cmocka_unit_test(test_fewer_components_and_halves_of_buffers),
        cmocka_unit_test(test_tbuffer_brings_its_own_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
