/* argmax.c - argmax_last, argmax_rows */
#include "fused.h"

#include <math.h>

enum best { ANY, TIES, FIRST, LAST, SOME_NAN, ALL_LOW, ZEROS };

enum { MOST_ROWS = 8 };

void fused_run_argmax(struct kt *t, const struct kt_row *row)
{
    static const struct {
        uint32_t rows, n;
        unsigned grid, block;
        enum best best;
        size_t lead;
    } cases[] = {
        {1, 1, 1, 32, ANY, 1},         {2, 31, 1, 32, TIES, 1},
        {3, 1000, 5, 64, ANY, 0},      {1, 4096, 3, 256, LAST, 0},
        {2, 4099, 16, 96, FIRST, 0},   {1, 5000, 2, 1024, SOME_NAN, 1},
        {1, 3000, 4, 128, ALL_LOW, 0}, {1, 3000, 4, 128, ZEROS, 0},
        {2, 40000, 7, 256, TIES, 0},   {1, 40000, 40, 256, ANY, 1},
        {8, 300, 3, 256, ANY, 0},      {8, 3001, 19, 64, SOME_NAN, 0},
    };
    const bool all = row->detail; /* rows are answered, or the last */
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(cases); k++) {
        const uint32_t rows = cases[k].rows, n = cases[k].n;
        const size_t total = (size_t)rows * n, last = total - n;
        void *x = kt_host(t, type, total, KT_SMALL, k);
        uint32_t want[MOST_ROWS] = {0}, got[MOST_ROWS] = {0};
        uint64_t zero[2 * MOST_ROWS] = {0}, left[2 * MOST_ROWS];

        for (uint32_t i = 0; i < n; i++) {
            if (cases[k].best == TIES)
                kt_put(type, x, last + i, (kt_real)(i * i % 11));
            else if (cases[k].best == ALL_LOW)
                kt_put(type, x, last + i, -INFINITY);
            else if (cases[k].best == ZEROS) /* -0 equals 0 */
                kt_put(type, x, last + i, i % 3 ? 0.0L : -0.0L);
            else if (cases[k].best == SOME_NAN && i % 1700 == 900)
                kt_put(type, x, last + i, i == 900 ? -(kt_real)NAN : NAN);
        }
        if (cases[k].best == FIRST || cases[k].best == LAST)
            kt_put(type, x, last + (cases[k].best == LAST ? n - 1 : 0), 100);
        if (rows > 1) /* another row has a greater one */
            kt_put(type, x, 0, 1000);
        for (size_t i = 0; i < total; i++) {
            uint32_t *best = &want[i / n];
            const kt_real b = kt_get(type, x, i - i % n + *best);
            const kt_real v = kt_get(type, x, i);

            if (!isnan(b) && (isnan(v) || v > b))
                *best = (uint32_t)(i % n);
        }
        const void *src = kt_device(t, x, total * size, cases[k].lead * size);
        void *work = kt_device(t, zero, sizeof(zero), 0);
        void *dst = kt_device(t, NULL, sizeof(got), 0);

        t->what = "argmax";
        for (int again = 0; again < 2; again++) {
            const uint32_t answers = all ? rows : 1;

            if (!KT_LAUNCH(t, cases[k].grid, cases[k].block, 0, src, dst, work,
                           rows, n))
                return;
            kt_read(t, got, dst, sizeof(got));
            kt_read(t, left, work, sizeof(left));
            for (uint32_t r = 0; r < answers; r++) {
                const uint32_t best = want[all ? r : rows - 1];

                t->checks++;
                if (got[r] != best || left[2 * r] || left[2 * r + 1])
                    kt_fail(t, "case %zu: want %u, got %u; work %llx, %llu", k,
                            best, got[r], (unsigned long long)left[2 * r],
                            (unsigned long long)left[2 * r + 1]);
            }
        }
    }
}
