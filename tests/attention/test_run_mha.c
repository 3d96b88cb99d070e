/* test_run_mha.c - the example run_mha.c, and what attention_plan.h chooses
 *
 * Ends with "N passed, M failed".
 */
#include "run_mha.h"

#include "kpack/candle/attention_plan.h"
#include "kpack/types.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_attention;

static unsigned passed, failed;

static void check(bool holds, const char *what)
{
    passed += holds;
    failed += !holds;
    if (!holds)
        printf("FAIL %s: %s\n", what, kpk_error_message());
}

static float number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (float)(int32_t)(*state >> 32) / 0x1p30f;
}

enum { HEADS = 4, KEY_HEADS = 2, D = 32, MOST = 160 };

static kpk_f16 q[MOST * HEADS * D], k[MOST * KEY_HEADS * D];
static kpk_f16 v[MOST * KEY_HEADS * D], o[MOST * HEADS * D];
static float lse[HEADS * MOST];

static double at(const kpk_f16 *array, size_t i)
{
    return (double)kpk_from_f16(array[i]);
}

/* The largest error of run_mha()'s result of a causal call. */
static double largest_error(uint32_t nq, uint32_t nk)
{
    double worst = 0;

    for (uint32_t h = 0; h < HEADS; h++)
        for (uint32_t i = 0; i < nq; i++) {
            const uint32_t sees = i + nk - nq + 1;
            double p[MOST], top = -INFINITY, sum = 0;

            for (uint32_t j = 0; j < sees; j++) {
                p[j] = 0;
                for (uint32_t e = 0; e < D; e++)
                    p[j] += 0.25 * at(q, (i * HEADS + h) * D + e) *
                            at(k, (j * KEY_HEADS + h / 2) * D + e);
                top = p[j] > top ? p[j] : top;
            }
            for (uint32_t j = 0; j < sees; j++)
                sum += p[j] = exp(p[j] - top);
            for (uint32_t e = 0; e < D; e++) {
                double want = 0;

                for (uint32_t j = 0; j < sees; j++)
                    want += p[j] / sum * at(v, (j * KEY_HEADS + h / 2) * D + e);
                worst =
                    fmax(worst, fabs(want - at(o, (i * HEADS + h) * D + e)));
            }
            worst = fmax(worst, fabs(top + log(sum) - lse[h * nq + i]));
        }
    return worst;
}

static void call(kpk_instance *inst, uint32_t nq, uint32_t nk)
{
    const size_t nbytes[] = {nq * HEADS * D * 2, nk * KEY_HEADS * D * 2,
                             nk * KEY_HEADS * D * 2, nq * HEADS * D * 2,
                             nq * HEADS * 4};
    void *const host[] = {q, k, v, o, lse};
    void *device[5];
    char what[64];

    for (int i = 0; i < 5; i++)
        check(kpk_malloc(inst, nbytes[i], &device[i]) == KPK_OK &&
                  kpk_copy_to(inst, device[i], host[i], nbytes[i]) == KPK_OK,
              "device memory");
    run_mha(device[0], device[1], device[2], device[3], device[4], NULL, NULL,
            NULL, nq * HEADS * D, nk * KEY_HEADS * D, nk * KEY_HEADS * D,
            nq * HEADS * D, 0, HEADS * D, KEY_HEADS * D, KEY_HEADS * D,
            HEADS * D, D, D, D, D, 1, HEADS, KEY_HEADS, D, D, 0.25f, nq, nk,
            128, 128, 0, 0, 1, 0, -1, 0, 0, NULL, 0, 0, NULL, 0, 0, NULL);
    check(kpk_copy_from(inst, o, device[3], nbytes[3]) == KPK_OK &&
              kpk_copy_from(inst, lse, device[4], nbytes[4]) == KPK_OK,
          "copies back");
    snprintf(what, sizeof(what), "run_mha of %u queries, %u keys: off by %g",
             nq, nk, largest_error(nq, nk));
    /* exponentials and results are rounded to f16; values are below 2 */
    check(largest_error(nq, nk) < 0x1p-9, what);
    for (int i = 0; i < 5; i++)
        check(kpk_free(inst, device[i]) == KPK_OK, "kpk_free()");
}

/* ---- wide heads and sinks ---- */

/* By both calls: heads of 512, which the first form asks for, are those of 576;
 * and with a sink of ln 3, one key that is seen has a weight of a quarter. */
static void check_second_form(kpk_instance *inst)
{
    enum { WIDE = 512 };
    static kpk_f16 row[WIDE], got[WIDE];
    const float sink = logf(3);
    kpk_attention2_args a = {.base = {.b = 1,
                                      .h = 1,
                                      .h_k = 1,
                                      .d = WIDE,
                                      .seqlen_q = 1,
                                      .seqlen_k = 1,
                                      .window_left = -1,
                                      .window_right = -1}};
    kpk_attention_plan plan;
    void *device[5] = {NULL};
    size_t wrong[2] = {0, 0};

    memset(&plan, 0, sizeof(plan));
    for (size_t i = 0; i < WIDE; i++)
        row[i] = kpk_to_f16((float)i - 200);
    for (size_t i = 0; i < 5; i++)
        check(kpk_malloc(inst, sizeof(row), &device[i]) == KPK_OK &&
                  kpk_copy_to(inst, device[i],
                              i < 4 ? (void *)row : (void *)&sink,
                              i < 4 ? sizeof(row) : 4) == KPK_OK,
              "device memory");
    /* a score of 0: its exponential is 1 beside the sink's 3 */
    a.base.q = device[0], a.base.k = device[1], a.base.v = device[2];
    a.base.o = device[3], a.base.scale = 0;
    check(
        kpk_attention_choose(inst, &kpk_module_attention, KPK_ATTENTION_F16,
                             KPK_ATTENTION_SAME, &a.base, 0, &plan) == KPK_OK &&
            strcmp(plan.kernel, "attention2_decode_f16_576") == 0 &&
            kpk_attention_launch(inst, &a.base, &plan, NULL, NULL) == KPK_OK &&
            kpk_copy_from(inst, got, device[3], sizeof(got)) == KPK_OK,
        "a head of 512 by the first form");
    for (size_t i = 0; i < WIDE; i++)
        wrong[0] += fabs(at(got, i) - at(row, i)) > 0;
    check(wrong[0] == 0, "one key is the result");
    a.sinks = device[4];
    a.d_v = WIDE / 2;
    check(kpk_attention2_choose(inst, &kpk_module_attention, KPK_ATTENTION_F16,
                                KPK_ATTENTION_SAME, &a, 0, &plan) == KPK_OK &&
              kpk_attention2_launch(inst, &a, &plan, NULL, NULL) == KPK_OK &&
              kpk_copy_from(inst, got, device[3], sizeof(got)) == KPK_OK,
          "a sink, and V of half the width");
    for (size_t i = 0; i < WIDE; i++) {
        const double part = i < WIDE / 2 ? 0.25 : 1, want = at(row, i) * part;

        wrong[1] += fabs(at(got, i) - want) > 0x1p-10 * fabs(want);
    }
    check(wrong[1] == 0, "a quarter of the key's value");
    for (size_t i = 0; i < 5; i++)
        check(kpk_free(inst, device[i]) == KPK_OK, "kpk_free()");
}

/* ---- plans ---- */

static kpk_attention_plan plan_of(const kpk_attention_args *a,
                                  kpk_attention_cache cache, uint64_t workspace)
{
    kpk_attention_plan plan;

    memset(&plan, 0, sizeof(plan));
    check(kpk_attention_choose_for(
              &kpk_module_attention, "gfx942:sramecc+:xnack-", 304,
              KPK_ATTENTION_BF16, cache, a, workspace, &plan) == KPK_OK,
          "a plan");
    return plan;
}

static void check_plans(void)
{
    kpk_attention_args a = {.b = 2,
                            .h = 32,
                            .h_k = 8,
                            .d = 128,
                            .seqlen_q = 4096,
                            .seqlen_k = 4096,
                            .window_left = -1,
                            .window_right = 0};
    kpk_attention_plan plan = plan_of(&a, KPK_ATTENTION_SAME, UINT64_MAX);

    check(strcmp(plan.kernel, "attention_bf16_128") == 0 && plan.splits == 1 &&
              plan.shape.grid[0] == 32 && plan.shape.grid[1] == 32 &&
              plan.shape.grid[2] == 2 && plan.shape.block[0] == 256 &&
              plan.join[0] == '\0' && plan.workspace_nbytes == 0,
          "many queries");
    a.seqlen_q = 1;
    plan = plan_of(&a, KPK_ATTENTION_SAME, UINT64_MAX);
    check(strcmp(plan.kernel, "attention_decode_bf16_128") == 0 &&
              plan.splits > 4 && plan.splits <= 16 &&
              plan.shape.grid[0] == plan.splits && plan.shape.grid[1] == 8 &&
              plan.shape.block[0] == 128 &&
              strcmp(plan.join, "attention_join_bf16") == 0 &&
              plan.join_shape.grid[0] == 2 && plan.join_shape.grid[1] == 32 &&
              plan.workspace_nbytes == plan.splits * 2ull * 32 * 129 * 4,
          "one query over a long cache is split");
    plan = plan_of(&a, KPK_ATTENTION_SAME, 3 * 2 * 32 * 129 * 4 + 5);
    check(plan.splits == 3, "splits that the workspace holds");
    plan = plan_of(&a, KPK_ATTENTION_SAME, 0);
    check(plan.splits == 1 && plan.join[0] == '\0', "no workspace, no splits");
    a.window_left = 100;
    plan = plan_of(&a, KPK_ATTENTION_SAME, UINT64_MAX);
    check(plan.splits == 1, "a short window is not split");
    a.window_left = -1;
    a.b = 400;
    plan = plan_of(&a, KPK_ATTENTION_SAME, UINT64_MAX);
    check(plan.splits == 1, "many sequences are not split");
    a.b = 1, a.d = 200, a.seqlen_q = 40;
    plan = plan_of(&a, KPK_ATTENTION_Q4_0, 0);
    check(strcmp(plan.kernel, "attention_decode_bf16_256_q4_0") == 0,
          "without a workspace, caches in blocks are decoded");
    plan = plan_of(&a, KPK_ATTENTION_Q4_0, UINT64_MAX);
    check(strcmp(plan.kernel, "attention_bf16_256") == 0 &&
              strcmp(plan.join, "attention2_q4_0_to_bf16") == 0 &&
              plan.workspace_nbytes == 4096 * 8 * 400 * 2 &&
              plan.join_shape.grid[0] * (uint64_t)plan.join_shape.block[0] ==
                  plan.workspace_nbytes / 16,
          "for many queries they become plain numbers first");
    check(plan_of(&a, KPK_ATTENTION_Q4_0, plan.workspace_nbytes - 1)
                  .workspace_nbytes < plan.workspace_nbytes,
          "not in a workspace that is too small");
    a.h = a.h_k = 1u << 31, a.seqlen_q = a.seqlen_k = 1u << 31;
    plan = plan_of(&a, KPK_ATTENTION_Q4_0, UINT64_MAX);
    check(plan.splits == 1 && plan.workspace_nbytes == 0,
          "no splits whose sums have more bytes than can be counted");
    a.h = 32, a.h_k = 8, a.seqlen_q = a.seqlen_k = a.b = 0;
    plan = plan_of(&a, KPK_ATTENTION_SAME, UINT64_MAX);
    check(plan.splits == 1, "nothing at all");
}

/* Few splits are a cluster on sm_90. */
static void check_cluster_plans(void)
{
    static const struct {
        const char *target;
        uint32_t d, b, keys, splits, cluster;
    } rows[] = {{"sm_90", 128, 1, 1024, 8, 8},  {"sm_90a", 128, 1, 256, 4, 4},
                {"sm_90", 64, 1, 1024, 8, 8},   {"sm_90", 64, 1, 256, 2, 2},
                {"sm_90", 256, 1, 256, 8, 8},   {"sm_90", 128, 1, 100, 2, 2},
                {"sm_90", 128, 8, 1024, 3, 3}, /* two on a multiprocessor */
                {"sm_90", 128, 8, 4096, 3, 3},  {"sm_90", 128, 17, 4096, 1, 1},
                {"sm_90", 128, 1, 8192, 16, 1}, {"sm_86", 128, 1, 1024, 4, 1},
                {"gfx942", 128, 1, 1024, 4, 1}};
    kpk_attention_args a = {.h = 32,
                            .h_k = 8,
                            .seqlen_q = 1,
                            .window_left = -1,
                            .window_right = -1};
    kpk_attention_plan plan;
    char what[64];

    memset(&plan, 0, sizeof(plan));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        a.d = rows[i].d, a.b = rows[i].b, a.seqlen_k = rows[i].keys;
        snprintf(what, sizeof(what), "%s, %u columns, %u keys, %u sequences",
                 rows[i].target, a.d, a.seqlen_k, a.b);
        check(kpk_attention_choose_for(
                  &kpk_module_attention, rows[i].target, 132, KPK_ATTENTION_F16,
                  KPK_ATTENTION_SAME, &a, UINT64_MAX, &plan) == KPK_OK &&
                  plan.splits == rows[i].splits &&
                  plan.cluster == rows[i].cluster &&
                  plan.shape.grid[0] == plan.splits &&
                  plan.quantizes == (plan.cluster > 1) &&
                  (plan.join[0] != '\0') == (plan.splits > plan.cluster) &&
                  (plan.workspace_nbytes != 0) == (plan.splits > plan.cluster),
              what);
    }
    a.d = 96, a.b = 1, a.seqlen_k = 1024;
    check(kpk_attention_choose_for(&kpk_module_attention, "sm_90", 132,
                                   KPK_ATTENTION_F16, KPK_ATTENTION_SAME, &a, 0,
                                   &plan) == KPK_OK &&
              plan.cluster == 8 && !plan.quantizes,
          "heads of 96 are not quantized");
    a.d = 128;
    check(kpk_attention_choose_for(&kpk_module_attention, "sm_90", 132,
                                   KPK_ATTENTION_F16, KPK_ATTENTION_Q8_0, &a,
                                   UINT64_MAX, &plan) == KPK_OK &&
              plan.cluster == 1 && plan.splits == 4,
          "a cache in blocks has no clusters");
    check(kpk_attention_choose_for(&kpk_module_attention, "sm_90", 132,
                                   KPK_ATTENTION_F16, KPK_ATTENTION_SAME, &a, 0,
                                   &plan) == KPK_OK &&
              plan.cluster == 8,
          "a cluster needs no workspace");
    a.h = 71, a.h_k = 1, a.d = 64, a.b = 8, a.seqlen_k = 4000;
    check(kpk_attention_choose_for(&kpk_module_attention, "sm_90", 132,
                                   KPK_ATTENTION_F16, KPK_ATTENTION_SAME, &a,
                                   UINT64_MAX, &plan) == KPK_OK &&
              strcmp(plan.kernel, "attention_decode_f16_64") == 0 &&
              plan.splits == 5 && plan.cluster == 5 && plan.shape.grid[1] == 5,
          "one query of many heads is decoded, 16 a workgroup");
}

/* NVIDIA's have K and V of many queries in dynamic shared memory. */
static void check_nvidia_plans(void)
{
    static const struct {
        const char *target;
        unsigned threads, shared_nbytes;
    } targets[] = {{"sm_90", 384, 160 << 10},
                   {"sm_90a", 384, 160 << 10},
                   {"compute_90a", 384, 160 << 10},
                   {"sm_86", 256, 64 << 10},
                   {"gfx1100", 256, 0}};
    kpk_attention_args a = {.b = 1,
                            .h = 32,
                            .h_k = 8,
                            .d = 128,
                            .seqlen_k = 8192,
                            .window_left = -1,
                            .window_right = -1};
    kpk_attention_plan plan;

    memset(&plan, 0, sizeof(plan));
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        a.seqlen_q = 8192;
        check(kpk_attention_choose_for(&kpk_module_attention, targets[i].target,
                                       132, KPK_ATTENTION_BF16,
                                       KPK_ATTENTION_SAME, &a, UINT64_MAX,
                                       &plan) == KPK_OK &&
                  plan.shape.block[0] == targets[i].threads &&
                  plan.shape.shared_nbytes == targets[i].shared_nbytes,
              targets[i].target);
        a.seqlen_q = 1;
        check(kpk_attention_choose_for(&kpk_module_attention, targets[i].target,
                                       132, KPK_ATTENTION_BF16,
                                       KPK_ATTENTION_SAME, &a, UINT64_MAX,
                                       &plan) == KPK_OK &&
                  plan.shape.shared_nbytes == 0 && plan.splits >= 16 &&
                  plan.splits <= 64,
              targets[i].target);
    }
}

/* Which kernels arguments of the second form get. */
static void check_second_plans(void)
{
    static const struct {
        uint32_t d, d_v, seqlen_q, h, h_k;
        bool sinks, mask;
        const char *kernel, *join;
    } rows[] = {
        {128, 0, 1, 32, 8, false, false, "attention_decode_bf16_128",
         "attention_join_bf16"},
        {128, 128, 4096, 32, 8, false, false, "attention_bf16_128", ""},
        {64, 0, 1, 64, 8, true, false, "attention2_decode_bf16_64",
         "attention2_join_bf16"},
        {64, 0, 4096, 64, 8, false, true, "attention2_bf16_64", ""},
        {192, 128, 4096, 16, 16, false, false, "attention2_bf16_256", ""},
        {64, 256, 4096, 16, 16, false, false, "attention2_bf16_256", ""},
        {512, 0, 4096, 8, 8, false, false, "attention2_bf16_576", ""},
        /* a query of MLA has 128 rows that share K */
        {576, 512, 1, 128, 1, false, false, "attention2_decode_bf16_576",
         "attention2_join_bf16"},
        {576, 512, 4096, 128, 1, false, false, "attention2_bf16_576", ""},
    };
    kpk_attention_plan plan;
    float none;

    memset(&plan, 0, sizeof(plan));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        kpk_attention2_args a = {.base = {.b = 2,
                                          .h = rows[i].h,
                                          .h_k = rows[i].h_k,
                                          .d = rows[i].d,
                                          .seqlen_q = rows[i].seqlen_q,
                                          .seqlen_k = 4096,
                                          .window_left = -1,
                                          .window_right = 0},
                                 .sinks = rows[i].sinks ? &none : NULL,
                                 .mask = rows[i].mask ? &none : NULL,
                                 .d_v = rows[i].d_v};
        const uint32_t d_v = a.d_v ? a.d_v : a.base.d;

        check(kpk_attention2_choose_for(&kpk_module_attention, "gfx942", 304,
                                        KPK_ATTENTION_BF16, KPK_ATTENTION_SAME,
                                        &a, UINT64_MAX, &plan) == KPK_OK &&
                  strcmp(plan.kernel, rows[i].kernel) == 0 &&
                  strcmp(plan.join, rows[i].join) == 0 &&
                  plan.workspace_nbytes ==
                      (plan.splits > 1
                           ? plan.splits * 2ull * a.base.h * (d_v + 1) * 4
                           : 0) &&
                  (rows[i].seqlen_q == 1 ||
                   plan.shape.grid[0] == (d_v > 256 ? 128 : 32)),
              rows[i].kernel);
    }
}

/* By the second form's call. */
static void refused2(kpk_attention2_args a, const char *says)
{
    kpk_attention_plan plan;

    check(kpk_attention2_choose_for(&kpk_module_attention, "gfx942", 304,
                                    KPK_ATTENTION_F16, KPK_ATTENTION_SAME, &a,
                                    0, &plan) == KPK_ERR_ARG &&
              strstr(kpk_error_message(), says),
          says);
}

static void check_second_refusals(kpk_instance *inst)
{
    kpk_attention2_args a = {.base = {.b = 1,
                                      .h = 1,
                                      .h_k = 1,
                                      .d = 64,
                                      .seqlen_q = 1,
                                      .seqlen_k = 1,
                                      .window_left = -1,
                                      .window_right = -1}};
    kpk_attention_plan plan;

    memset(&plan, 0, sizeof(plan));
    a.d_v = 12;
    refused2(a, "V has 12 columns");
    a.d_v = 520;
    refused2(a, "V has 520 columns");
    a.d_v = 0, a.base.d = 576;
    refused2(a, "V has 576 columns");
    a.base.d = 64, a.q_type = 1;
    refused2(a, "a reserved member");
    a.q_type = 0, a.reserved[3] = 1;
    refused2(a, "a reserved member");
    a.reserved[3] = 0;
    check(kpk_attention2_choose(NULL, &kpk_module_attention, KPK_ATTENTION_F16,
                                KPK_ATTENTION_SAME, &a, 0,
                                &plan) == KPK_ERR_ARG &&
              kpk_attention_choose(inst, &kpk_module_attention,
                                   KPK_ATTENTION_F16, KPK_ATTENTION_SAME, NULL,
                                   0, &plan) == KPK_ERR_ARG &&
              strstr(kpk_error_message(), "args is NULL") &&
              kpk_attention_launch(inst, NULL, &plan, NULL, NULL) ==
                  KPK_ERR_ARG,
          "no instance, no args");
    check(kpk_attention2_choose(inst, &kpk_module_attention, KPK_ATTENTION_F16,
                                KPK_ATTENTION_SAME, &a, 0, &plan) == KPK_OK,
          "a plan of the first form");
    a.sinks = (const float *)&a;
    check(kpk_attention2_launch(inst, &a, &plan, NULL, NULL) == KPK_ERR_ARG &&
              strstr(kpk_error_message(), "knows no sinks"),
          "sinks that the plan was not made for");
}

static void refused(kpk_attention_args a, int type, int cache, const char *says)
{
    kpk_attention_plan plan;
    const kpk_status st = kpk_attention_choose_for(
        &kpk_module_attention, "gfx942", 304, (kpk_attention_type)type,
        (kpk_attention_cache)cache, &a, 0, &plan);

    check(st == KPK_ERR_ARG && strstr(kpk_error_message(), says), says);
}

static void check_refusals(kpk_instance *inst)
{
    kpk_attention_args a = {.b = 1,
                            .h = 6,
                            .h_k = 2,
                            .d = 64,
                            .seqlen_q = 1,
                            .seqlen_k = 4096,
                            .window_left = -1,
                            .window_right = -1};
    kpk_attention_plan plan = plan_of(&a, KPK_ATTENTION_SAME, UINT64_MAX);

    refused(a, 2, 0, "there is no type 2");
    refused(a, 0, 3, "there is no cache 3");
    check(kpk_attention_launch(inst, &a, &plan, NULL, NULL) == KPK_ERR_ARG,
          "a plan with splits needs a workspace");
    plan.splits = 1, plan.workspace_nbytes = 0;
    a.o_q8_1 = &a;
    check(kpk_attention_launch(inst, &a, &plan, NULL, NULL) == KPK_ERR_ARG &&
              strstr(kpk_error_message(), "o_q8_1"),
          "a plan that does not quantize");
    a.o_q8_1 = NULL;
    a.block_table = (const int32_t *)&a;
    check(kpk_attention_launch(inst, &a, &plan, NULL, NULL) == KPK_ERR_ARG,
          "a block table needs a page size");
    a.d = 580;
    refused(a, 0, 0, "d is 580");
    a.d = 520;
    refused(a, 0, 0, "V has 520 columns");
    a.d = 12;
    refused(a, 0, 0, "d is 12");
    a.d = 64, a.h_k = 4;
    refused(a, 0, 0, "6 heads cannot share 4");
}

int main(void)
{
    static const kpk_module *const modules[] = {&kpk_module_attention};
    kpk_instance *inst = NULL;
    uint64_t state = 1;

    for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++)
        q[i] = kpk_to_f16(number(&state));
    for (size_t i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
        k[i] = kpk_to_f16(number(&state));
        v[i] = kpk_to_f16(number(&state));
    }
    check(kpk_open_modules(modules, 1, 0, &inst) == KPK_OK, "device 0");
    if (inst) {
        call(inst, 150, 150);
        call(inst, 1, 77);
        call(inst, 5, 5);
        check_refusals(inst);
        check_second_form(inst);
        check_second_refusals(inst);
    }
    check_plans();
    check_second_plans();
    check_nvidia_plans();
    check_cluster_plans();
    check(kpk_close(inst) == KPK_OK, "kpk_close()");
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
