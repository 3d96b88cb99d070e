/* fused_common.c - what the tests of several fused steps use */
#include "fused.h"

#include <math.h>
#include <string.h>

const int32_t fused_negative_widths[] = {-1, -NEG_COLS, INT32_MIN};

/* The step of quants of numbers up to `most`: most / 127, or the next multiple
 * of 2^-24 if the step is a denormal of f16. */
static kt_real step_of(kt_real most)
{
    if (most < 127 * 0x1p-14L)
        return ceill(most / 127 * 0x1p24L) * 0x1p-24L;
    return most / 127;
}

void fused_check_block(struct kt *t, const uint8_t *block, const kt_real *want,
                       size_t count, kt_real slack, bool of_quants)
{
    kt_real most = 0, sum = 0, size = 0, quants = 0, step;
    const kt_real d = kt_get(KT_F16, block, 0);
    const kt_real s = kt_get(KT_F16, block, 1);

    t->checks += 34;
    for (size_t i = 0; i < count; i++) {
        if (of_quants && isnan(want[i])) /* its quant is 0 */
            continue;
        if (fabsl(want[i]) > most) /* false for a NaN */
            most = fabsl(want[i]);
        sum += want[i];
        size += fabsl(want[i]);
    }
    if (isnan(sum) || isinf(most)) {
        if (isfinite(s))
            kt_fail(t, "the sum of what has no sum: %Lg", s);
        return;
    }
    step = step_of(most);
    if (step < 0x1p-14L) { /* `slack` may move the step to the multiple before
                              or behind */
        if (d < step_of(most * (1 - slack)) || d > step_of(most * (1 + slack)))
            kt_fail(t, "scale %Lg of %Lg", d, step);
        step = d;
    } else if (fabsl(d - step) > kt_ulp(KT_F16, step) / 2 + step * slack) {
        kt_fail(t, "scale %Lg of %Lg", d, step);
    }
    for (size_t i = 0; of_quants && i < 32; i++)
        quants += (int8_t)block[4 + i];
    if (of_quants)
        sum = quants * step;
    if (fabsl(s - sum) > kt_ulp(KT_F16, sum) / 2 + size * (slack + 8 * V))
        kt_fail(t, "sum %Lg of %Lg", s, sum);
    for (size_t i = 0; i < 32; i++) {
        const kt_real x =
            i < count && most > 0 && !isnan(want[i]) ? want[i] / step : 0;
        const int8_t q = (int8_t)block[4 + i];

        if (fabsl(x - q) > 0.5L + 127 * 2 * (slack + 2 * V)) {
            kt_fail(t, "quant %zu: %d of %Lg", i, q, x);
            return;
        }
    }
}

void fused_check_blocks(struct kt *t, const uint8_t *got, const kt_real *want,
                        size_t rows, size_t n, size_t padded, kt_real slack)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t first = 0; first < padded; first += 32) {
            const size_t count = first >= n       ? 0
                                 : n - first < 32 ? n - first
                                                  : 32;

            fused_check_block(t, got, want + r * n + first, count, slack, true);
            got += 36;
        }
}

void fused_check_untouched(struct kt *t, const void *dst, size_t nbytes)
{
    uint8_t *got = kt_alloc(t, nbytes), *want = kt_alloc(t, nbytes);

    memset(want, 0xa5, nbytes); /* kt_device()'s filling */
    kt_read(t, got, dst, nbytes);
    kt_check_bytes(t, got, want, nbytes, "what nobody writes");
}

void fused_wide_norm(const kt_real *x, const float *alpha, size_t n, float eps,
                     kt_real *y)
{
    kt_real squares = 0;

    for (size_t i = 0; i < n; i++)
        squares += x[i] * x[i];
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / sqrtl(squares / (kt_real)n + (kt_real)eps) *
               (alpha ? (kt_real)alpha[i] : 1);
}
