/* run_mha.c - example: candle-flash-attn's entry point over module attention
 *
 * candle-flash-attn's Rust side links one C function, run_mha(). This file
 * exports it over kpack's kernels. Link it with libkpack.a instead of the
 * crate's CUDA kernels; the Rust side stays as it is.
 *
 * The kernels run on HIP's current device, for which a pack is opened the first
 * time. run_mha() cannot report an error: it prints a sentence and aborts. Keys
 * are never split, for want of a workspace. One difference: the log-sum-exp of
 * a row that sees no key is -infinity, not +infinity.
 */
#include "run_mha.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kpack/candle/attention_plan.h>

extern const kpk_module kpk_module_attention;

enum { MOST_DEVICES = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kpk_instance *instances[MOST_DEVICES];

static void must(kpk_status status)
{
    if (status == KPK_OK)
        return;
    fprintf(stderr, "run_mha: %s\n", kpk_error_message());
    abort();
}

/* HIP's, if the program has linked it; the first one otherwise. */
static int current_device(void)
{
    void *const symbol = dlsym(RTLD_DEFAULT, "hipGetDevice");
    int (*get_device)(int *);
    int device = 0;

    memcpy(&get_device, &symbol, sizeof(get_device));
    if (symbol && get_device(&device) != 0)
        device = 0;
    return device;
}

static kpk_instance *instance_of(int device)
{
    static const kpk_module *const modules[] = {&kpk_module_attention};
    kpk_instance *inst;

    if (device < 0 || device >= MOST_DEVICES) {
        fprintf(stderr, "run_mha: device %d is beyond the %d that it knows\n",
                device, MOST_DEVICES);
        abort();
    }
    pthread_mutex_lock(&lock);
    if (!instances[device])
        must(kpk_open_modules(modules, 1, device, &instances[device]));
    inst = instances[device];
    pthread_mutex_unlock(&lock);
    return inst;
}

void run_mha(void *q, void *k, void *v, void *o, void *softmax_lse,
             void *alibi_slopes, int32_t *cu_seqlens_q, int32_t *cu_seqlens_k,
             uint32_t q_batch_stride, uint32_t k_batch_stride,
             uint32_t v_batch_stride, uint32_t o_batch_stride,
             uint32_t alibi_slopes_batch_stride, uint32_t q_row_stride,
             uint32_t k_row_stride, uint32_t v_row_stride,
             uint32_t o_row_stride, uint32_t q_head_stride,
             uint32_t k_head_stride, uint32_t v_head_stride,
             uint32_t o_head_stride, uint32_t b, uint32_t h, uint32_t h_k,
             uint32_t d, uint32_t d_rounded, float softmax_scale,
             uint32_t seqlen_q, uint32_t seqlen_k, uint32_t seqlen_q_rounded,
             uint32_t seqlen_k_rounded, uint32_t total_q, int is_bf16,
             int is_causal, int unpadded_lse, int window_size_left,
             int window_size_right, float softcap, int32_t *block_table,
             uint32_t block_table_batch_stride, int page_block_size,
             int32_t *mm_prefix_ranges, uint32_t mm_prefix_range_batch_stride,
             int max_mm_prefix_ranges, void *stream)
{
    const kpk_attention_args args = {
        .q = q,
        .k = k,
        .v = v,
        .o = o,
        .lse = softmax_lse,
        .alibi_slopes = alibi_slopes,
        .cu_seqlens_q = cu_seqlens_q,
        .cu_seqlens_k = cu_seqlens_k,
        .block_table = block_table,
        .prefix_ranges = mm_prefix_ranges,
        .q_batch = q_batch_stride,
        .k_batch = k_batch_stride,
        .v_batch = v_batch_stride,
        .o_batch = o_batch_stride,
        .q_row = q_row_stride,
        .k_row = k_row_stride,
        .v_row = v_row_stride,
        .o_row = o_row_stride,
        .q_head = q_head_stride,
        .k_head = k_head_stride,
        .v_head = v_head_stride,
        .o_head = o_head_stride,
        .alibi_batch = alibi_slopes_batch_stride,
        .block_table_batch = block_table_batch_stride,
        .prefix_batch = mm_prefix_range_batch_stride,
        .page_size = (uint32_t)page_block_size,
        .max_prefix_ranges = (uint32_t)max_mm_prefix_ranges,
        .b = b,
        .h = h,
        .h_k = h_k,
        .d = d,
        .seqlen_q = seqlen_q,
        .seqlen_k = seqlen_k,
        .total_q = cu_seqlens_q ? total_q : 0,
        .unpadded_lse = unpadded_lse != 0,
        .scale = softmax_scale,
        .softcap = softcap > 0 ? softcap : 0,
        .window_left = is_causal ? -1 : window_size_left,
        .window_right = is_causal ? 0 : window_size_right,
    };
    kpk_instance *const inst = instance_of(current_device());
    kpk_attention_plan plan;

    (void)d_rounded, (void)seqlen_q_rounded, (void)seqlen_k_rounded;
    must(kpk_attention_choose(inst, &kpk_module_attention,
                              is_bf16 ? KPK_ATTENTION_BF16 : KPK_ATTENTION_F16,
                              KPK_ATTENTION_SAME, &args, 0, &plan));
    must(kpk_attention_launch(inst, &args, &plan, NULL, stream));
}
