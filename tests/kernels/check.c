/* check.c - compares a kernel's results with the reference */
#include "harness.h"

#include <math.h>
#include <string.h>

#define MAX_REPORTS 3 /* per call: one bad kernel must not flood the log */

static bool accept(enum kt_type type, kt_real got, kt_real want, size_t i,
                   const struct kt_gate *gate)
{
    const kt_real max = kt_max(type);
    const kt_real ulp = kt_ulp(type, want);
    kt_real allowed = gate->ulps * ulp;

    if (gate->abs != 0)
        allowed += gate->abs * (gate->scale ? gate->scale[i] : 1);
    if (isnan(want))
        return isnan(got);
    if (isnan(got))
        return false;
    if (isinf(want) || fabsl(want) > max + ulp + allowed) {
        if (type == KT_F8 || !kt_is_float(type))
            return got == copysignl(max, want);
        return isinf(got) && signbit(got) == signbit(want);
    }
    if (isinf(got)) /* right only at the threshold of overflow */
        return fabsl(want) >= max - ulp - allowed &&
               signbit(got) == signbit(want);
    if (want == 0 && got == 0)
        return !gate->zero_sign || signbit(got) == signbit(want);
    if (allowed == 0) {
        const uint64_t code = kt_encode(type, want);

        return got == kt_get(type, &code, 0);
    }
    return fabsl(got - want) <= allowed;
}

void kt_check(struct kt *t, enum kt_type type, const void *got,
              const kt_real *want, size_t n, struct kt_gate gate)
{
    unsigned reports = 0;

    t->checks += n;
    for (size_t i = 0; i < n; i++) {
        const kt_real v = kt_get(type, got, i);

        if (accept(type, v, want[i], i, &gate))
            continue;
        t->failures++;
        if (reports++ < MAX_REPORTS)
            kt_fail(t,
                    "index %zu of %zu: want %.17Lg, got %.17Lg (code 0x%llx,"
                    " %.3Lg ulp)",
                    i, n, want[i], v,
                    (unsigned long long)kt_get_bits(type, got, i),
                    fabsl(v - want[i]) / kt_ulp(type, want[i]));
    }
}

void kt_check_bits(struct kt *t, enum kt_type type, const void *got,
                   const void *want, size_t n)
{
    unsigned reports = 0;

    t->checks += n;
    if (n == 0 || memcmp(got, want, n * kt_size(type)) == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        const uint64_t g = kt_get_bits(type, got, i);
        const uint64_t w = kt_get_bits(type, want, i);

        if (g == w || (kt_is_float(type) && isnan(kt_get(type, got, i)) &&
                       isnan(kt_get(type, want, i))))
            continue;
        t->failures++;
        if (reports++ < MAX_REPORTS)
            kt_fail(t,
                    "index %zu of %zu: want code 0x%llx (%.9Lg), got 0x%llx "
                    "(%.9Lg)",
                    i, n, (unsigned long long)w, kt_get(type, want, i),
                    (unsigned long long)g, kt_get(type, got, i));
    }
}

void kt_check_bytes(struct kt *t, const void *got, const void *want,
                    size_t nbytes, const char *of_what)
{
    const unsigned char *g = got, *w = want;

    t->checks += nbytes;
    for (size_t i = 0; i < nbytes; i++) {
        if (g[i] == w[i])
            continue;
        t->failures++;
        kt_fail(t, "byte %zu of %s: want 0x%02x, got 0x%02x", i, of_what, w[i],
                g[i]);
        return;
    }
}

void kt_check_rows(struct kt *t, const void *device, const void *row,
                   size_t row_nbytes, size_t nbytes)
{
    const size_t rows_at_once = ((size_t)16 << 20) / row_nbytes + 1;
    const size_t piece = rows_at_once * row_nbytes;
    char *got = kt_alloc(t, piece), *want = kt_alloc(t, piece);

    for (size_t i = 0; i < rows_at_once; i++)
        memcpy(want + i * row_nbytes, row, row_nbytes);
    for (size_t done = 0; done < nbytes; done += piece) {
        const size_t n = nbytes - done < piece ? nbytes - done : piece;

        t->checks += n;
        kt_read(t, got, (const char *)device + done, n);
        for (size_t i = 0; memcmp(got, want, n) != 0; i++)
            if (got[i] != want[i]) {
                kt_fail(t, "byte %zu of %zu: want 0x%02x, got 0x%02x", done + i,
                        nbytes, want[i] & 0xff, got[i] & 0xff);
                return;
            }
    }
}
