/* affine.c - out = in * mul + add, every type */
#include "elementwise.h"

#include <math.h>
#include <string.h>

extern const kpk_module kpk_module_affine;

struct scalars {
    enum kt_type type;
    uint64_t mul, add; /* codes */
};

/* Integers modulo 2^bits: the low bits of the result in 64 bits. */
static void want_integer(const struct ew *e, const void *const element[],
                         struct ew_want *want)
{
    const struct scalars *s = e->with;
    const uint64_t x = (uint64_t)kt_get_int(s->type, element[0], 0);

    want->bits = x * (uint64_t)kt_get_int(s->type, &s->mul, 0) +
                 (uint64_t)kt_get_int(s->type, &s->add, 0);
}

/*
 * The gate is half an ulp of the product and half of the result, for fused and
 * unfused alike; f8's is exact.
 */
static void want_float(const struct ew *e, const void *const element[],
                       struct ew_want *want)
{
    const struct scalars *s = e->with;
    const kt_real x = kt_get(s->type, element[0], 0);
    const kt_real product = x * kt_get(s->type, &s->mul, 0);
    const kt_real add = kt_get(s->type, &s->add, 0);

    want->value = product + add;
    want->scale = isfinite(product) ? kt_ulp(s->type, product) : 1;
    if (s->type == KT_F8) { /* exact in f32 */
        const uint64_t code = kt_encode(KT_F8, (float)want->value);

        want->value = kt_get(KT_F8, &code, 0);
    }
}

static void run(struct kt *t, const struct kt_row *row)
{
    static const kt_real mul[] = {-1.5L, 3, 0, 0.3L}, add[] = {0.25L, -7, 1, 2};
    struct scalars s = {.type = row->a};
    struct ew e = {
        .out = row->a,
        .nin = 1,
        .in = {row->a},
        .want = kt_is_float(row->a) ? want_float : want_integer,
        .with = &s,
        .bits = !kt_is_float(row->a),
        .nafter = 2,
        .in_place = true,
        .large_grid = true,
        .all_codes = kt_size(row->a) <= 2,
        .no_hostile = kt_is_float(row->a), /* products may overflow */
    };

    if (row->a != KT_F8)
        e.gate = (struct kt_gate){.ulps = 0.501L, .abs = 0.501L};
    e.after[0] = (kpk_arg){&s.mul, kt_size(row->a)};
    e.after[1] = (kpk_arg){&s.add, kt_size(row->a)};
    for (size_t k = 0; k < 4; k++) {
        s.mul = kt_encode(row->a, mul[k]);
        s.add = kt_encode(row->a, add[k]);
        if (row->a == KT_I64 && k == 1) /* beyond 32 bits */
            s.mul = UINT64_C(0x123456789abcdef1);
        if (k == 0) {
            ew_run(t, &e);
            e.in_place = e.large_grid = false;
        } else if (k == 3) {
            e.all_codes = kt_size(row->a) <= 2 && row->a != KT_F16;
            ew_run(t, &e);
        }
    }
}

/* On NVIDIA's GPUs few elements have a thread each. */
static void run_shapes(struct kt *t, const struct kt_row *row)
{
    static const struct {
        const char *target;
        uint64_t n;
        uint32_t block, grid;
    } cases[] = {{"sm_90", 0, 512, 1},        {"sm_90", 513, 512, 2},
                 {"sm_90", 393216, 512, 768}, {"sm_90", 393217, 256, 193},
                 {"gfx942", 513, 256, 1},     {"gfx1100", 393216, 256, 192}};
    size_t kernel;

    run(t, row);
    if (kpk_module_table_count(&kpk_module_affine) == 0)
        return; /* a sample of kernels recommends nothing */
    t->what = "recommended shapes";
    if (kpk_module_find_kernel(&kpk_module_affine, t->symbol, &kernel) !=
        KPK_OK) {
        kt_fail(t, "%s", kpk_error_message());
        return;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kpk_shape s = {.block = {0}};

        if (kpk_module_shape(&kpk_module_affine, kernel, cases[i].target,
                             cases[i].n, 0, &s) != KPK_OK ||
            s.block[0] != cases[i].block || s.grid[0] != cases[i].grid)
            kt_fail(t, "%u blocks of %u for %llu elements on %s", s.grid[0],
                    s.block[0], (unsigned long long)cases[i].n,
                    cases[i].target);
    }
}

#define ROW(name, type)                                                        \
    {                                                                          \
        "affine_" name, run, type, type, NULL                                  \
    }
static const struct kt_row rows[] = {
    ROW("u8", KT_U8),
    ROW("u32", KT_U32),
    ROW("i16", KT_I16),
    ROW("i32", KT_I32),
    ROW("i64", KT_I64),
    ROW("f16", KT_F16),
    ROW("bf16", KT_BF16),
    ROW("f64", KT_F64),
    ROW("f8_e4m3", KT_F8),
    ROW("f8e4m3", KT_F8),
    {"affine_f32", run_shapes, KT_F32, KT_F32, NULL}};

KT_MAIN(kpk_module_affine, rows)
