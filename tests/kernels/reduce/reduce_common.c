/* reduce_common.c - rows of hostile numbers; the names of cases */
#include "reduce.h"

#include <math.h>
#include <stdio.h>

kt_real reduce_inner_roundoff(enum kt_type type)
{
    return type == KT_F64 ? 0x1p-53L : V;
}

void reduce_name_case(struct kt *t, const char *what, size_t n, size_t threads)
{
    char *text = kt_alloc(t, 128);

    snprintf(text, 128, "%s n=%zu block=%zu", what, n, threads);
    t->what = text;
}

void reduce_fill_row(enum kt_type type, void *x, size_t first, size_t n,
                     enum rows_data what)
{
    const bool half = type == KT_F16;
    const kt_real most = half ? kt_max(KT_F16) : kt_max(KT_F32);

    for (size_t i = 0; i < n; i++) {
        const kt_real v = kt_get(type, x, first + i);

        switch (what) {
        case SMALL:
            break;
        case HUGE_SPREAD:
            kt_put(type, x, first + i, v * 2500);
            break;
        case ONE_MINUS_INF:
            if (i == n / 2)
                kt_put(type, x, first + i, -INFINITY);
            break;
        case ALL_MINUS_INF:
            kt_put(type, x, first + i, -INFINITY);
            break;
        case WITH_NAN:
            if (i == n / 3)
                kt_put(type, x, first + i, NAN);
            break;
        case WITH_INF:
            if (i == n / 3)
                kt_put(type, x, first + i, INFINITY);
            break;
        case CONSTANT:
            kt_put(type, x, first + i, 12345.678L);
            break;
        case FAR_MEAN:
            kt_put(type, x, first + i, 1000 + v);
            break;
        case BIG:
            kt_put(type, x, first + i, v * 1.75e9L);
            break;
        case ZEROS:
            kt_put(type, x, first + i, 0);
            break;
        case HUGE_ROWS:
            if (first / n % 2)
                kt_put(type, x, first + i, v / 4.1L * most);
            break;
        case TINY:
            kt_put(type, x, first + i, v * (half ? 0x1p-12L : 0x1p-100L));
            break;
        case LEAST:
            kt_put(type, x, first + i, v * (half ? 0x1p-19L : 0x1p-129L));
            break;
        case EQUAL_HUGE:
            kt_put(type, x, first + i, most * 0.99L);
            break;
        }
    }
}
