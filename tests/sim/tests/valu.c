/* valu.c - runs one vector instruction on many operands against a formula */
#include "valu.h"

#include <stdio.h>

enum {
    ROUNDS = 6,    /* times the instruction runs, on separate registers */
    BASE = 16,     /* first register of the first round */
    PER_ROUND = 12 /* registers: d at +0, a +2, b +4, c +6, old +8 */
};

static const struct {
    unsigned bit;
    const char *name;
    unsigned wave;
} targets[] = {{ON_906, "gfx906", 64},   {ON_90A, "gfx90a", 64},
               {ON_942, "gfx942", 64},   {ON_950, "gfx950", 64},
               {ON_1030, "gfx1030", 32}, {ON_1100, "gfx1100", 32},
               {ON_1150, "gfx1150", 32}, {ON_1201, "gfx1201", 32},
               {ON_1100, "gfx1100", 64}};

static uint64_t seed = 0x9e3779b97f4a7c15;

uint64_t valu_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1d;
}

#define PICK(list) list[valu_random() % (sizeof(list) / sizeof((list)[0]))]

uint64_t valu_operand(enum lane_type type)
{
    static const uint16_t f16[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00,
                                   0xfc00, 0x7e00, 0x7d01, 0xfd01, 0x0001,
                                   0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff,
                                   0x3800, 0x4000, 0x3555, 0x6400};
    static const uint16_t bf16[] = {0,      0x8000, 0x3f80, 0xbf80, 0x7f80,
                                    0xff80, 0x7fc0, 0x7f81, 0x0001, 0x007f,
                                    0x0080, 0x7f7f, 0xff7f, 0x4000, 0x3eaa};
    static const uint32_t f32[] = {
        0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
        0x7fc00000, 0x7fa00001, 0xffa00001, 0x00000001, 0x80000001, 0x007fffff,
        0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x40000000, 0x4f000000,
        0xcf000000, 0x4f800000, 0x4effffff, 0x477fe000, 0x33800000, 0x38800000,
        0x477ff000, 0x42ff0000, 0x3e22f983, 0x40490fdb, 0x3f7fffff};
    static const uint64_t f64[] = {0,
                                   0x8000000000000000,
                                   0x3ff0000000000000,
                                   0xbff0000000000000,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x7ff8000000000000,
                                   0x7ff4000000000001,
                                   0x0000000000000001,
                                   0x000fffffffffffff,
                                   0x0010000000000000,
                                   0x7fefffffffffffff,
                                   0xffefffffffffffff,
                                   0x41dfffffffc00000,
                                   0xc1e0000000000000,
                                   0x41f0000000000000,
                                   0x3ff8000000000000,
                                   0x47efffffe0000000,
                                   0x36a0000000000000};
    static const uint32_t u32[] = {
        0,          1,  2,  31, 32,         33,         63,         0xff,
        0x8000,     16, 15, 7,  0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe,
        0x7fff8000, 24, 8,  4,  0x00ffffff, 0x00800000, 0xffff0000};
    static const uint64_t u64[] = {
        0,          1,          UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN,
        UINT32_MAX, 0x100000000};
    bool edge = valu_random() & 1;
    uint64_t r = valu_random();

    switch (type) {
    case T_f16:
        return edge ? PICK(f16) : r & 0xffff;
    case T_bf16:
        return edge ? PICK(bf16) : r & 0xffff;
    case T_u16:
    case T_i16:
        return (edge ? PICK(u32) : r) & 0xffff;
    case T_pkf16:
        return edge ? PICK(f16) | (uint32_t)PICK(f16) << 16 : r & 0xffffffff;
    case T_pkbf16:
        return edge ? PICK(bf16) | (uint32_t)PICK(bf16) << 16 : r & 0xffffffff;
    case T_f32:
        /* Half of the random ones near 1, where sums and products interact. */
        return edge      ? PICK(f32)
               : r >> 63 ? (r & 0x83ffffff) | 0x3c000000
                         : r & 0xffffffff;
    case T_pkf32:
        return valu_operand(T_f32) | valu_operand(T_f32) << 32;
    case T_f64:
        return edge ? PICK(f64)
               : valu_random() & 1
                   ? (r & 0x807fffffffffffff) | 0x3f80000000000000
                   : r;
    case T_u64:
    case T_i64:
        return edge ? PICK(u64) : r;
    default:
        return (edge ? PICK(u32) : r) & 0xffffffff;
    }
}

/* ---- text ---- */

static bool is_wide(uint8_t type)
{
    return type == T_u64 || type == T_i64 || type == T_f64 || type == T_pkf32;
}

static bool is_half(uint8_t type)
{
    return type == T_u16 || type == T_i16 || type == T_f16 || type == T_bf16;
}

static int put_register(char *p, const struct valu_case *c, const char *target,
                        unsigned operand, unsigned round)
{
    unsigned reg = BASE + round * PER_ROUND + 2 * operand;
    bool true16 =
        strncmp(target, "gfx11", 5) == 0 || strncmp(target, "gfx12", 5) == 0;

    if (is_wide(c->type[operand]))
        return sprintf(p, "v[%u:%u]", reg, reg + 1);
    return sprintf(p, "v%u%s", reg,
                   true16 && is_half(c->type[operand]) &&
                           !(c->targets & WHOLE_REGISTERS)
                       ? ".l"
                       : "");
}

#define LINE_NBYTES 160

static void make_text(char *out, const struct valu_case *c, const char *target,
                      unsigned wave, unsigned round)
{
    char plain[128];
    const char *text = c->text;
    char *p = out;

    if (!text) {
        snprintf(plain, sizeof(plain), "%s D, A%s%s", c->name,
                 c->type[2] != T_none ? ", B" : "",
                 c->type[3] != T_none ? ", C" : "");
        text = plain;
    }
    for (const char *t = text; *t; t++) {
        char before = (char)(t == text ? ' ' : t[-1]);
        bool alone = !(before >= 'A' && before <= 'Z') && before != '_' &&
                     !(t[1] >= 'A' && t[1] <= 'Z') && t[1] != '_';

        if (alone && *t >= 'A' && *t <= 'D')
            p += put_register(p, c, target,
                              *t == 'D' ? 0 : (unsigned)(*t - 'A') + 1, round);
        else if (alone && *t == 'M') /* source mask */
            p += sprintf(p, wave == 64 ? "s[4:5]" : "s4");
        else if (alone && *t == 'W') /* destination mask */
            p += sprintf(p, wave == 64 ? "s[%u:%u]" : "s%u", 16 + 2 * round,
                         17 + 2 * round);
        else if (alone && *t == 'V')
            p += sprintf(p, wave == 64 ? "vcc" : "vcc_lo");
        else
            *p++ = *t;
    }
    *p++ = '\n';
    *p = '\0';
}

/* ---- running and comparing ---- */

static uint64_t get(const struct asm_state *st, unsigned reg, unsigned lane,
                    bool wide)
{
    uint64_t v = st->v[reg][lane];

    return wide ? v | (uint64_t)st->v[reg + 1][lane] << 32 : v;
}

static bool is_nan_of(uint8_t type, uint64_t bits)
{
    switch (type) {
    case T_f16:
        return (bits & 0x7fff) > 0x7c00;
    case T_bf16:
        return (bits & 0x7fff) > 0x7f80;
    case T_f32:
        return (bits & 0x7fffffff) > 0x7f800000;
    case T_f64:
        return (bits & INT64_MAX) > 0x7ff0000000000000;
    default:
        return false;
    }
}

static bool same(uint8_t type, uint64_t want, uint64_t got)
{
    if (type == T_pkf16 || type == T_pkbf16) {
        uint8_t half = type == T_pkf16 ? T_f16 : T_bf16;

        return same(half, want & 0xffff, got & 0xffff) &&
               same(half, want >> 16, got >> 16);
    }
    if (type == T_pkf32)
        return same(T_f32, (uint32_t)want, (uint32_t)got) &&
               same(T_f32, want >> 32, got >> 32);
    return want == got || (is_nan_of(type, want) && is_nan_of(type, got));
}

static void check_on(const struct valu_case *c, const char *target,
                     unsigned wave)
{
    struct asm_state *st = asm_new(target, wave);
    struct valu_lane lanes[ROUNDS][64];
    char text[ROUNDS * LINE_NBYTES] = "", *line = text;
    bool writes_mask = c->text && strstr(c->text, " W");
    uint64_t mask_in = valu_random();

    for (unsigned r = 0; r < ROUNDS; r++) {
        unsigned base = BASE + r * PER_ROUND;

        for (unsigned i = 0; i < wave; i++) {
            struct valu_lane *l = &lanes[r][i];
            uint64_t *src[4] = {&l->old, &l->a, &l->b, &l->c};

            for (unsigned k = 0; k < 4; k++) {
                uint64_t v = valu_operand((enum lane_type)c->type[k]);

                *src[k] = v;
                /* The other half of the register must not matter. */
                if (is_half(c->type[k]) && k)
                    v |= valu_random() << 16;
                st->v[base + 2 * k][i] = (uint32_t)v;
                st->v[base + 2 * k + 1][i] = (uint32_t)(v >> 32);
            }
            l->mask_in = mask_in >> i & 1;
            l->mask_out = false;
            l->lane = (int)i;
            l->target = target;
            c->run(l);
        }
        make_text(line, c, target, wave, r);
        line += strlen(line);
    }
    for (unsigned m = 0; m < 2; m++)
        st->s[SREG_VCC + m] = st->s[4 + m] = (uint32_t)(mask_in >> (32 * m));
    asm_run(st, text);
    for (unsigned r = 0; r < ROUNDS; r++)
        for (unsigned i = 0; i < wave; i++) {
            const struct valu_lane *l = &lanes[r][i];
            uint64_t got =
                get(st, BASE + r * PER_ROUND, i, is_wide(c->type[0]));

            if (is_half(c->type[0]))
                got &= 0xffff;
            if (c->type[0] != T_none && !same(c->type[0], l->d, got))
                fail_msg("%s on %s, a %#llx b %#llx c %#llx old %#llx mask %d: "
                         "want %#llx, got %#llx",
                         c->name, target, (unsigned long long)l->a,
                         (unsigned long long)l->b, (unsigned long long)l->c,
                         (unsigned long long)l->old, l->mask_in,
                         (unsigned long long)l->d, (unsigned long long)got);
            if (writes_mask &&
                (st->s[16 + 2 * r + i / 32] >> (i % 32) & 1) != l->mask_out)
                fail_msg("%s on %s, a %#llx b %#llx c %#llx: want %d in lane "
                         "%u of the mask",
                         c->name, target, (unsigned long long)l->a,
                         (unsigned long long)l->b, (unsigned long long)l->c,
                         l->mask_out, i);
        }
    asm_free(st);
}

void valu_check(const struct valu_case *c)
{
    for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++)
        if (c->targets & targets[t].bit)
            check_on(c, targets[t].name, targets[t].wave);
}

/* ---- rounding ---- */

/* Rounds |x| to a multiple of a power of two, ties to even. */
static long double round_to(long double x, int mantissa, int least)
{
    int e;
    long double unit, q, f;

    frexpl(x, &e); /* x = [0.5, 1) * 2^e */
    e = e - 1 < least ? least : e - 1;
    unit = ldexpl(1, e - mantissa);
    q = floorl(x / unit);
    f = x / unit - q;
    if (f > 0.5L || (f == 0.5L && fmodl(q, 2) == 1))
        q += 1;
    return q * unit;
}

static uint32_t encode(long double x, int mantissa, int bias, int exponents)
{
    uint32_t sign = signbit(x) ? 1u << (mantissa + exponents) : 0;
    uint32_t inf = ((1u << exponents) - 1) << mantissa;
    long double a = fabsl(x);
    int e;

    if (isnan(x))
        return sign | inf | 1u << (mantissa - 1);
    a = isinf(a) ? a : round_to(a, mantissa, 1 - bias);
    if (a >= ldexpl(1, bias + 1))
        return sign | inf;
    if (a < ldexpl(1, 1 - bias))
        return sign | (uint32_t)ldexpl(a, bias - 1 + mantissa);
    frexpl(a, &e);
    return sign | (uint32_t)(e - 1 + bias) << mantissa |
           ((uint32_t)ldexpl(a, mantissa - (e - 1)) & ((1u << mantissa) - 1));
}

uint16_t valu_round16(long double x)
{
    return (uint16_t)encode(x, 10, 15, 5);
}

uint16_t valu_round_bf16(long double x)
{
    return (uint16_t)encode(x, 7, 127, 8);
}
