/* fill.c - fill, copy2d and const_set: bits, and bytes that must not change */
#include "harness.h"

#include <stdio.h>
#include <string.h>

extern const kpk_module kpk_module_fill;

static const unsigned blocks[] = {1024, 256, 96};

/* Blocks for n elements: a thread each, or some, or far too many. */
static unsigned grid_for(size_t n, size_t turn)
{
    const unsigned block = blocks[turn % 3];
    const unsigned all = (unsigned)((n + block - 1) / block);

    if (turn % 4 == 3)
        return 1;
    return (all ? all : 1) + (turn % 5 == 4 ? 9 : 0);
}

static const char *name_case(struct kt *t, const char *what, size_t a, size_t b,
                             size_t c, size_t d)
{
    char *text = kt_alloc(t, 128);

    snprintf(text, 128, "%s %zu %zu %zu %zu", what, a, b, c, d);
    return text;
}

/* Any code of the type, NaN with a payload among them. */
static uint64_t some_value(enum kt_type type, size_t turn)
{
    static const uint64_t values[] = {UINT64_C(0x123456789abcdef1), 0,
                                      UINT64_MAX, UINT64_C(0x7fc1807e3c01ff42)};
    const size_t nbytes = kt_size(type);

    return values[turn % 4] &
           (nbytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * nbytes) - 1);
}

/* Puts a code as bytes: kt_check_bytes() compares, so NaN's bits count. */
static void put(enum kt_type type, void *data, size_t i, uint64_t code)
{
    memcpy((char *)data + i * kt_size(type), &code, kt_size(type));
}

/* More than 2^31 elements, by either kernel; it takes seconds to simulate. */
static void run_huge(struct kt *t, const struct kt_row *row, bool has_info)
{
    const size_t n = ((size_t)1 << 31) + 1025, rank = 0, *info = NULL;
    const size_t size = kt_size(row->a), spare = 16;
    const uint64_t value = some_value(row->a, 0);
    char after[16], got[16];
    char *out;

    if (kt_is_simulated() ? row->a != KT_U8 || !has_info : size > 4)
        return;
    t->what = "more than 2^31 elements";
    out = kt_large_device(t, n * size + spare);
    if (!out)
        return;
    memset(after, 0xA5, sizeof(after));
    kt_write(t, out + n * size, after, spare);
    if (has_info) {
        kpk_arg args[] = {
            {&n, 8}, {&rank, 8}, {&info, 8}, {&value, size}, {&out, 8}};

        kt_launch(t, (unsigned[]){4096, 1, 1}, (unsigned[]){256, 1, 1}, 0, args,
                  5);
    } else {
        kpk_arg args[] = {{&out, 8}, {&value, size}, {&n, 8}};

        kt_launch(t, (unsigned[]){4096, 1, 1}, (unsigned[]){256, 1, 1}, 0, args,
                  3);
    }
    kt_check_rows(t, out, &value, size, n * size);
    kt_read(t, got, out + n * size, spare);
    kt_check_bytes(t, got, after, spare, "what follows");
}

static void run_fill(struct kt *t, const struct kt_row *row)
{
    static const size_t sizes[] = {0, 1, 15, 17, 1023, 1024, 1025, 30001};
    const size_t size = kt_size(row->a);

    for (size_t turn = 0; turn < 40; turn++) {
        const size_t n = sizes[turn % 8], spare = n ? 0 : 4;
        const size_t lead = turn % 3 == 2 ? size : 0;
        const uint64_t value = some_value(row->a, turn);
        void *buf = kt_device(t, NULL, (n + spare) * size, lead);
        void *got = kt_alloc(t, (n + spare) * size);
        void *want = kt_alloc(t, (n + spare) * size);
        kpk_arg args[] = {{&buf, 8}, {&value, size}, {&n, 8}};

        t->what = name_case(t, "fill", n, lead, turn, 0);
        if (!kt_launch(t, (unsigned[]){grid_for(n, turn), 1, 1},
                       (unsigned[]){blocks[turn % 3], 1, 1}, 0, args, 3))
            return;
        memset(want, 0xA5, (n + spare) * size);
        for (size_t i = 0; i < n; i++)
            put(row->a, want, i, value);
        kt_read(t, got, buf, (n + spare) * size);
        kt_check_bytes(t, got, want, (n + spare) * size, "the buffer");
    }
    run_huge(t, row, false);
}

static const struct {
    uint32_t d1, d2, src_s, dst_s;
} copies[] = {
    {1, 1, 1, 1},      {1, 1000, 1000, 1000}, {3, 0, 5, 5},
    {0, 7, 7, 7},      {16, 64, 64, 64},      {16, 64, 96, 64},
    {16, 64, 64, 128}, {33, 67, 80, 70},      {7, 3, 5, 4},
    {1025, 1, 3, 2},   {5, 1024, 1040, 1056}, {64, 48, 0, 48},
    {300, 40, 48, 64},
};

static void run_copy2d(struct kt *t, const struct kt_row *row)
{
    const size_t size = kt_size(row->a);

    for (size_t turn = 0; turn < 3 * sizeof(copies) / sizeof(copies[0]);
         turn++) {
        uint32_t d1 = copies[turn / 3].d1, d2 = copies[turn / 3].d2;
        uint32_t src_s = copies[turn / 3].src_s;
        uint32_t dst_s = copies[turn / 3].dst_s;
        const size_t rows = d1 ? d1 - 1 : 0;
        const size_t nsrc = rows * src_s + d2, ndst = rows * dst_s + d2 + 3;
        const size_t lead = turn % 3 == 1 ? size : 0;
        const char *host = kt_host(t, row->a, nsrc, KT_HOSTILE, turn);
        void *src = kt_device(t, host, nsrc * size, lead);
        void *dst = kt_device(t, NULL, ndst * size, lead);
        char *got = kt_alloc(t, ndst * size), *want = kt_alloc(t, ndst * size);
        const unsigned grid = grid_for((size_t)d1 * d2, turn);

        t->what = name_case(t, "copy2d", d1, d2, src_s, dst_s);
        if (!KT_LAUNCH(t, grid, blocks[turn % 3], 0, src, dst, d1, d2, src_s,
                       dst_s))
            return;
        memset(want, 0xA5, ndst * size);
        for (size_t r = 0; r < d1; r++)
            memcpy(want + r * dst_s * size, host + r * src_s * size, d2 * size);
        kt_read(t, got, dst, ndst * size);
        kt_check_bytes(t, got, want, ndst * size, "dst");
    }
}

static const struct {
    size_t rank, dims[6];
} shapes[] = {
    {0, {0}},      {1, {0}},        {1, {1025}},       {2, {33, 67}},
    {2, {32, 64}}, {3, {5, 1, 48}}, {4, {3, 4, 5, 6}}, {6, {2, 2, 3, 2, 3, 4}},
};

static void set_layout(struct kt *t, enum kt_type type,
                       const struct kt_layout *layout, bool with_info,
                       size_t turn)
{
    const size_t size = kt_size(type), n = layout->numel, rank = layout->rank;
    const size_t extent = layout->extent + 5;
    const size_t lead = turn % 3 == 1 ? size : 0;
    const uint64_t value = some_value(type, turn);
    const size_t *info = with_info ? kt_info(t, 1, &layout) : NULL;
    void *out = kt_device(t, NULL, extent * size, lead);
    void *got = kt_alloc(t, extent * size), *want = kt_alloc(t, extent * size);
    kpk_arg args[] = {
        {&n, 8}, {&rank, 8}, {&info, 8}, {&value, size}, {&out, 8}};

    t->what = layout->name;
    if (!kt_launch(t, (unsigned[]){grid_for(n, turn), 1, 1},
                   (unsigned[]){blocks[turn % 3], 1, 1}, 0, args, 5))
        return;
    memset(want, 0xA5, extent * size);
    for (size_t i = 0; i < n; i++)
        put(type, want, kt_offset(layout, i), value);
    kt_read(t, got, out, extent * size);
    kt_check_bytes(t, got, want, extent * size, "out");
}

static void run_const_set(struct kt *t, const struct kt_row *row)
{
    size_t turn = 0;

    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
        for (int order = 0; order < KT_NORDERS; order++) {
            const struct kt_layout layout =
                kt_layout(shapes[s].rank, shapes[s].dims, (enum kt_order)order);

            set_layout(t, row->a, &layout, true, turn++);
            if (kt_is_contiguous(&layout))
                set_layout(t, row->a, &layout, false, turn++);
        }
    run_huge(t, row, true);
}

#define ROW(name, run, suffix, type) {name "_" suffix, run, type, type, NULL},
#define ROWS(name, run)                                                        \
    ROW(name, run, "u8", KT_U8)                                                \
    ROW(name, run, "u32", KT_U32)                                              \
    ROW(name, run, "i64", KT_I64)                                              \
    ROW(name, run, "f16", KT_F16)                                              \
    ROW(name, run, "bf16", KT_BF16)                                            \
    ROW(name, run, "f32", KT_F32)                                              \
    ROW(name, run, "f64", KT_F64)                                              \
    ROW(name, run, "f8_e4m3", KT_F8)                                           \
    ROW(name, run, "f8e4m3", KT_F8)
#define EXTENSIONS(name, run)                                                  \
    ROW(name, run, "i16", KT_I16)                                              \
    ROW(name, run, "i32", KT_I32)

static const struct kt_row rows[] = {
    ROWS("fill", run_fill) ROWS("copy2d", run_copy2d)
        ROWS("const_set", run_const_set) EXTENSIONS("copy2d", run_copy2d)
            EXTENSIONS("const_set", run_const_set)};

KT_MAIN(kpk_module_fill, rows)
