/* penalty.c - repeat_penalty */
#include "fused.h"

#include <math.h>

void fused_run_penalty(struct kt *t, const struct kt_row *row)
{
    static const struct {
        const char *what;
        uint32_t vocab, n_context;
        unsigned grid, block;
        size_t lead;
        enum kt_data data;
    } cases[] = {
        {"candle's shape", 3000, 64, 3, 1024, 0, KT_SMALL},
        {"one token", 1, 1, 1, 32, 1, KT_SMALL},
        {"a context longer than the block", 1001, 300, 4, 64, 1, KT_SMALL},
        {"blocks without a token", 5, 7, 9, 32, 0, KT_SMALL},
        {"one block", 2049, 100, 1, 96, 1, KT_HOSTILE},
        {"no context", 700, 0, 2, 256, 0, KT_HOSTILE},
        {"no tokens", 0, 3, 1, 64, 0, KT_SMALL},
    };
    const enum kt_type type = row->a;

    for (size_t c = 0; c < NCASES(cases); c++) {
        uint32_t vocab = cases[c].vocab, n_context = cases[c].n_context;
        const size_t nbytes = vocab * kt_size(type);
        const size_t lead = cases[c].lead * kt_size(type);
        float penalty = c % 2 ? 1.1F : 0.7F;
        void *x = kt_host(t, type, vocab, cases[c].data, c);
        uint32_t *context = kt_alloc(t, n_context * sizeof(*context));
        kt_real *want = kt_alloc(t, vocab * sizeof(*want));
        void *got = kt_alloc(t, nbytes);
        uint64_t seed = c;

        for (size_t i = 0; i < vocab; i++)
            want[i] = kt_get(type, x, i);
        /* repeated tokens, and one beyond the vocabulary */
        for (size_t j = 0; j < n_context; j++) {
            const uint32_t token = (uint32_t)(kt_random(&seed) % (vocab + 1));

            context[j] = j % 5 == 4 ? context[j / 2] : token;
        }
        for (size_t j = 0; j < n_context; j++) {
            const uint32_t i = context[j];

            if (i >= vocab)
                continue;
            const kt_real v = kt_get(type, x, i);

            want[i] = v >= 0 ? v / (kt_real)penalty : v * (kt_real)penalty;
        }
        const void *input = kt_device(t, x, nbytes, lead);
        const void *tokens =
            kt_device(t, context, n_context * sizeof(*context), 0);
        void *output = kt_device(t, NULL, nbytes, lead);

        t->what = cases[c].what;
        if (!KT_LAUNCH(t, cases[c].grid, cases[c].block, 0, input, output,
                       tokens, vocab, n_context, penalty))
            return;
        kt_read(t, got, output, nbytes);
        /* f16 and bf16 are rounded from f32 */
        kt_check(t, type, got, want, vocab,
                 (struct kt_gate){0.51L, 0, NULL, true});
    }
}
