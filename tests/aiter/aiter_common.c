/* aiter_common.c - memory, launches and numbers of the families */
#include "aiter.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT_OUT = 3, NOT_DONE = 4 };

void wrong(struct subject *s, const char *format, ...)
{
    va_list list;

    s->nwrong++;
    if (*s->why)
        return;
    va_start(list, format);
    vsnprintf(s->why, sizeof(s->why), format, list);
    va_end(list);
}

void left_out(const char *why)
{
    printf("%s", why);
    fflush(stdout);
    _Exit(LEFT_OUT);
}

static void check(kpk_status st)
{
    if (st == KPK_OK)
        return;
    printf("%s", kpk_error_message());
    fflush(stdout);
    _Exit(NOT_DONE);
}

bool has(const struct subject *s, const char *part)
{
    return strstr(s->name, part) != NULL;
}

unsigned number_behind(const struct subject *s, const char *part,
                       unsigned otherwise)
{
    const char *p = strstr(s->name, part);

    if (!p)
        return otherwise;
    p += strlen(part);
    return *p >= '0' && *p <= '9' ? (unsigned)strtoul(p, NULL, 10) : otherwise;
}

unsigned sizes_of(const struct subject *s, unsigned *sizes, unsigned most)
{
    const char *p = s->name;
    unsigned n = 0;

    while (n < 2 && (p = strchr(p, '_'))) {
        n = 0;
        do {
            char *end;
            const unsigned long size = strtoul(++p, &end, 10);

            if (end == p)
                break;
            if (n < most)
                sizes[n] = (unsigned)size;
            n++;
            p = end;
        } while (*p == 'x');
    }
    return n < most ? n : most;
}

/* ---- memory ---- */

enum { MAX_KEPT = 256 };
static void *kept_host[MAX_KEPT], *kept_device[MAX_KEPT];
static unsigned nhost, ndevice;

void *aiter_host(size_t nbytes)
{
    if (nhost == MAX_KEPT)
        left_out("no memory");
    kept_host[nhost] = calloc(1, nbytes ? nbytes : 1);
    if (!kept_host[nhost])
        left_out("no memory");
    return kept_host[nhost++];
}

void *aiter_device(struct subject *s, const void *from, size_t nbytes)
{
    void *p = NULL;

    if (ndevice == MAX_KEPT)
        left_out("no memory");
    check(kpk_malloc(s->inst, nbytes, &p));
    kept_device[ndevice++] = p;
    if (from)
        check(kpk_copy_to(s->inst, p, from, nbytes));
    return p;
}

void *aiter_device_filled(struct subject *s, uint8_t byte, size_t nbytes)
{
    void *p = aiter_device(s, NULL, nbytes);

    check(kpk_fill(s->inst, p, byte, nbytes));
    return p;
}

void aiter_fetch(struct subject *s, void *to, const void *from, size_t nbytes)
{
    check(kpk_copy_from(s->inst, to, from, nbytes));
}

void aiter_forget(struct subject *s)
{
    while (nhost)
        free(kept_host[--nhost]);
    while (ndevice)
        check(kpk_free(s->inst, kept_device[--ndevice]));
}

bool aiter_launch(struct subject *s, uint32_t x, uint32_t y, uint32_t z,
                  uint32_t block, const kpk_value *values, size_t n)
{
    const kpk_shape shape = {{x, y, z}, {block, 1, 1}, 0};
    unsigned char buffer[1024] = {0};
    size_t nbytes = 0;
    kpk_status st;

    check(kpk_values_pack(KPK_LAYOUT_SLOTS, values, n, buffer, sizeof(buffer),
                          &nbytes));
    if (nbytes < s->args_nbytes && s->args_nbytes <= sizeof(buffer))
        nbytes = s->args_nbytes;
    st = kpk_launch_packed(s->kernel, &shape, NULL, buffer, nbytes);
    if (st == KPK_OK)
        st = kpk_sync(s->inst, NULL);
    check(st);
    return true;
}

/* ---- numbers ---- */

size_t type_nbytes(enum type t)
{
    return t == F32 ? 4 : t == BF16 || t == F16 ? 2 : 1;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static float of_bits(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* A small float's value: 1 sign, `e` exponent and `m` fraction bits. */
static double small_value(uint32_t v, int e, int m, int bias)
{
    const double sign = v >> (e + m) & 1 ? -1 : 1;
    const int exponent = (int)(v >> m & ((1u << e) - 1));
    const double fraction = (double)(v & ((1u << m) - 1)) / (double)(1 << m);

    return sign * (exponent ? ldexp(1 + fraction, exponent - bias)
                            : ldexp(fraction, 1 - bias));
}

/* The nearest of the numbers up to `most`, ties to the even one. */
static uint32_t small_nearest(double x, int e, int m, int bias, uint32_t most)
{
    const uint32_t sign = signbit(x) ? 1u << (e + m) : 0;
    const double a = fabs(x);
    uint32_t low = 0, high = most;

    while (low < high) { /* the last one that is not above a */
        const uint32_t mid = (low + high + 1) / 2;

        if (small_value(mid, e, m, bias) <= a)
            low = mid;
        else
            high = mid - 1;
    }
    if (low < most) {
        const double below = a - small_value(low, e, m, bias);
        const double above = small_value(low + 1, e, m, bias) - a;

        low += above < below || (above == below && low % 2);
    }
    return sign | low;
}

void put(enum type t, void *array, size_t i, double value)
{
    uint32_t bits;

    switch (t) {
    case F32:
        ((float *)array)[i] = (float)value;
        break;
    case BF16:
        bits = bits_of((float)value);
        ((uint16_t *)array)[i] =
            (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        break;
    case F16:
        ((uint16_t *)array)[i] =
            (uint16_t)small_nearest(value, 5, 10, 15, 0x7bff);
        break;
    case FP8:
        ((uint8_t *)array)[i] = (uint8_t)small_nearest(value, 4, 3, 7, 0x7e);
        break;
    case FP8_FNUZ: /* which has no -0 */
        bits = small_nearest(value, 4, 3, 8, 0x7f);
        ((uint8_t *)array)[i] = (uint8_t)(bits == 0x80 ? 0 : bits);
        break;
    case INT8:
        value = nearbyint(value);
        ((int8_t *)array)[i] = (int8_t)(value > 127    ? 127
                                        : value < -127 ? -127
                                                       : value);
        break;
    }
}

double get(enum type t, const void *array, size_t i)
{
    uint16_t half;

    switch (t) {
    case F32:
        return (double)((const float *)array)[i];
    case BF16:
        return (double)of_bits((uint32_t)((const uint16_t *)array)[i] << 16);
    case F16:
        half = ((const uint16_t *)array)[i];
        if ((half & 0x7c00) == 0x7c00)
            return half & 0x3ff ? NAN : half >> 15 ? -INFINITY : INFINITY;
        return small_value(half, 5, 10, 15);
    case FP8:
        return small_value(((const uint8_t *)array)[i], 4, 3, 7);
    case FP8_FNUZ:
        return small_value(((const uint8_t *)array)[i], 4, 3, 8);
    default:
        return ((const int8_t *)array)[i];
    }
}

static uint64_t seed = 88172645463325252u;

double uniform(double least, double most)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return least + (most - least) * (double)(seed >> 11) * 0x1p-53;
}

double normal(void)
{
    double sum = 0;

    for (int k = 0; k < 12; k++)
        sum += uniform(-0.5, 0.5);
    return sum;
}

void *random_values(enum type t, size_t n, double deviation)
{
    void *array = aiter_host(n * type_nbytes(t));

    for (size_t i = 0; i < n; i++)
        put(t, array, i, deviation * normal());
    return array;
}
