/* topk.c - softmax of gating logits and the largest of it: topksoftmax
 *
 * In names: topksoftmax_MxExK: M tokens a workgroup, E experts, the K largest;
 * _bf16: the type of the logits.
 */
#include "aiter.h"

#include <math.h>
#include <string.h>

static void run_case(struct subject *s, enum type type, unsigned subm,
                     unsigned nexperts, unsigned k, unsigned ntokens,
                     bool renormalizes, unsigned stride)
{
    const size_t nout = (size_t)ntokens * stride;
    void *logits = random_values(type, (size_t)ntokens * nexperts, 2);
    unsigned char *ids = aiter_host(nout), *weights = aiter_host(nout);
    void *out_ids = aiter_device_filled(s, 0xee, nout);
    void *out_weights = aiter_device_filled(s, 0xee, nout);
    double *e = aiter_host(sizeof(*e) * nexperts);
    const kpk_value values[] = {
        kpk_ptr(out_ids),
        kpk_ptr(out_weights),
        kpk_ptr(
            aiter_device(s, logits, ntokens * nexperts * type_nbytes(type))),
        kpk_u32(ntokens),
        kpk_u32(nexperts),
        kpk_u32(k),
        kpk_u32(renormalizes),
        kpk_u32(stride)};

    aiter_launch(s, (ntokens + subm - 1) / subm, 1, 1, 256, values, 8);
    aiter_fetch(s, ids, out_ids, nout);
    aiter_fetch(s, weights, out_weights, nout);
    for (unsigned t = 0; t < ntokens; t++) {
        double sum = 0, chosen = 0;

        for (unsigned i = 0; i < nexperts; i++)
            sum += e[i] = exp(get(type, logits, (size_t)t * nexperts + i));
        for (unsigned n = 0; n < k; n++) {
            int32_t id;

            memcpy(&id, ids + (size_t)t * stride + 4ul * n, 4);
            chosen += id >= 0 && (unsigned)id < nexperts ? e[id] : NAN;
        }
        for (unsigned n = 0; n < k; n++) {
            unsigned most = 0;
            double want;
            int32_t id;
            float w;

            for (unsigned i = 0; i < nexperts; i++)
                if (e[i] > e[most])
                    most = i;
            memcpy(&id, ids + (size_t)t * stride + 4ul * n, 4);
            memcpy(&w, weights + (size_t)t * stride + 4ul * n, 4);
            want = e[most] / (renormalizes ? chosen : sum);
            if ((unsigned)id != most ||
                !(fabs((double)w - want) <= 4e-6 * want))
                wrong(s,
                      "%u tokens: number %u of token %u is %d with %g, not "
                      "%u with %g",
                      ntokens, n, t, id, (double)w, most, want);
            e[most] = -1;
        }
    }
    aiter_forget(s);
}

void run_topksoftmax(struct subject *s)
{
    const enum type type = has(s, "bf16") ? BF16 : F32;
    unsigned n[3];

    if (sizes_of(s, n, 3) != 3)
        left_out("its name does not say what it is");
    run_case(s, type, n[0], n[1], n[2], 1, true, 4 * n[2]);
    run_case(s, type, n[0], n[1], n[2], 61, false, 4 * n[2]);
    run_case(s, type, n[0], n[1], n[2], 13, true, 4 * n[2] + 16);
}
