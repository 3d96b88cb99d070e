/* valu.h - runs one vector instruction on many operands against a formula
 *
 * A case names a mnemonic, the types of its result and sources, and a C
 * expression for what one lane computes:
 *
 *     X(ALL, v_add_u32, u32, u32, u32, none, d = a + b)
 *
 * Each lane of several repetitions gets operands of its own: random bits, or
 * edges of the type (zeros, extremes, infinities, NaN, denormals). Results are
 * compared bit for bit; of a float result any NaN will do for a NaN.
 */
#ifndef SIM_TESTS_VALU_H
#define SIM_TESTS_VALU_H

#include "asm.h"

#include "sim/isa/lane_types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Processors that a case runs on. */
enum {
    ON_906 = 1 << 0,
    ON_90A = 1 << 1,
    ON_942 = 1 << 2,
    ON_950 = 1 << 3,
    ON_1030 = 1 << 4,
    ON_1100 = 1 << 5,
    ON_1150 = 1 << 6,
    ON_1201 = 1 << 7,
    GFX9 = ON_906 | ON_90A | ON_942 | ON_950,
    GFX10 = ON_1030,
    GFX11 = ON_1100 | ON_1150,
    GFX12 = ON_1201,
    GFX10_11 = GFX10 | GFX11,
    GFX11_12 = GFX11 | GFX12,
    GFX10_UP = GFX10 | GFX11 | GFX12,
    GFX9_TO_11 = GFX9 | GFX10 | GFX11,
    ALL = GFX9 | GFX10_UP,
    WHOLE_REGISTERS = 1 << 16 /* 16-bit operands are not named .l */
};

/* A reference's inputs: the raw bits of each source and of the old destination,
 * and further values that a formula may need. */
struct valu_lane {
    uint64_t a, b, c, old;
    uint64_t d;
    bool mask_in;  /* the lane's bit of VCC or of s[4:5] */
    bool mask_out; /* the lane's bit of the carry, s[6:7] */
    int lane;
    const char *target;
};

typedef void valu_reference(struct valu_lane *l);

struct valu_case {
    unsigned targets;
    const char *name;
    const char *text; /* D, A, B, C stand for operands; NULL: all in order */
    uint8_t type[4];  /* enum lane_type of d, a, b, c */
    valu_reference *run;
};

/* Runs a case on all of its targets. */
void valu_check(const struct valu_case *c);

/* Random bits, the same in every run of the tests. */
uint64_t valu_random(void);
/* Random bits or an edge of the type. */
uint64_t valu_operand(enum lane_type type);

/* ---- rows ---- */

#define VALU_READ(name, type)                                                  \
    lane_##type name;                                                          \
    memcpy(&name, &l->name, sizeof(name))

#define VALU_FN(targets, mnemonic, dt, at, bt, ct, expr)                       \
    static void ref_##mnemonic(struct valu_lane *l)                            \
    {                                                                          \
        VALU_READ(a, at);                                                      \
        VALU_READ(b, bt);                                                      \
        VALU_READ(c, ct);                                                      \
        lane_##dt old, d;                                                      \
                                                                               \
        memcpy(&old, &l->old, sizeof(old));                                    \
        (void)a, (void)b, (void)c, (void)old;                                  \
        expr;                                                                  \
        l->d = 0;                                                              \
        memcpy(&l->d, &d, sizeof(d));                                          \
    }
#define VALU_ROW(targets, mnemonic, dt, at, bt, ct, expr)                      \
    {targets,                                                                  \
     #mnemonic,                                                                \
     NULL,                                                                     \
     {T_##dt, T_##at, T_##bt, T_##ct},                                         \
     ref_##mnemonic},

/* A test per table: static void test_NAME(void **state) */
#define VALU_TEST(table)                                                       \
    table(VALU_FN) static void test_##table(void **state)                      \
    {                                                                          \
        static const struct valu_case cases[] = {table(VALU_ROW)};             \
                                                                               \
        (void)state;                                                           \
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)          \
            valu_check(&cases[i]);                                             \
    }

/* The same with the text written out: X(targets, NAME, "text", types, expr) */
#define VALU_TEXT_FN(targets, mnemonic, text, dt, at, bt, ct, expr)            \
    VALU_FN(targets, mnemonic, dt, at, bt, ct, expr)
#define VALU_TEXT_ROW(targets, mnemonic, text, dt, at, bt, ct, expr)           \
    {targets,                                                                  \
     #mnemonic,                                                                \
     text,                                                                     \
     {T_##dt, T_##at, T_##bt, T_##ct},                                         \
     ref_##mnemonic},
#define VALU_TEXT_TEST(table)                                                  \
    table(VALU_TEXT_FN) static void test_##table(void **state)                 \
    {                                                                          \
        static const struct valu_case cases[] = {table(VALU_TEXT_ROW)};        \
                                                                               \
        (void)state;                                                           \
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)          \
            valu_check(&cases[i]);                                             \
    }

/* ---- arithmetic that does not lean on the simulator's ---- */

/* Bits to numbers and back. */
static inline double num16(uint16_t bits)
{
    int e = bits >> 10 & 31, m = bits & 1023;
    double x = e == 31 ? (m ? (double)NAN : (double)INFINITY)
               : e     ? ldexp(m + 1024, e - 25)
                       : ldexp(m, -24);

    return bits & 0x8000 ? -x : x;
}

/* Nearest even, from the number itself: by trying both neighbours. */
uint16_t valu_round16(long double x);
uint16_t valu_round_bf16(long double x);

static inline float as_f32(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

#endif
