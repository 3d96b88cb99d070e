/* ops.c - the steps of a model as launches of the pack's kernels */
#include "ops.h"

#include "recorder.h"

#include "base/gguf_formats.h"

#include <kpack/candle.h>
#include <kpack/candle/gemm_plan.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The modules that the program links; its binary has no others. */
static const kpk_module *const modules[] = {
    &kpk_module_affine, &kpk_module_attention, &kpk_module_binary,
    &kpk_module_cast,   &kpk_module_comm,      &kpk_module_fused,
    &kpk_module_gemm,   &kpk_module_quantized,
};

/* Kernels that no format has a part in. */
#define KERNELS(X)                                                             \
    X(quantize, "quantize_q8_1_quants")                                        \
    X(add, "badd_f32")                                                         \
    X(count_up, "badd_u32")                                                    \
    X(add_norm, "rmsnorm_add_f32")                                             \
    X(add_norm_quantize, "add_rmsnorm_quantize_q8_1_quants_f32")               \
    X(norm_twice, "rmsnorm_add_rmsnorm_quantize_q8_1_quants_f32")              \
    X(quantize16, "quantize_q8_1_quants_f16")                                  \
    X(silu, "silu_mul_f32")                                                    \
    X(gelu, "gelu_mul_f32")                                                    \
    X(silu_quantize, "silu_mul_quantize_q8_1_quants_f32")                      \
    X(gelu_quantize, "gelu_mul_quantize_q8_1_quants_f32")                      \
    X(scale, "affine_f32")                                                     \
    X(turns, "rope_table_f32")                                                 \
    X(heads, "attention_heads_f32")                                            \
    X(widen, "cast_f16_f32")                                                   \
    X(widen_bf16, "cast_bf16_f32")                                             \
    X(argmax, "argmax_rows_f32")                                               \
    X(sample, "sample_f32")

enum kernel {
#define X(name, kernel) K_##name,
    KERNELS(X)
#undef X
        NKERNELS
};
static const char *const kernel_names[NKERNELS] = {
#define X(name, kernel) kernel,
    KERNELS(X)
#undef X
};

enum { MOST_COLUMNS = 8, MOST_FORMATS = 64 };

/* Kernels of a format, found when they are first wanted. */
struct format_kernels {
    const kpk_kernel *rows, *tiled, *few[MOST_COLUMNS];
};

struct allocation {
    struct allocation *next;
    void *data;
    uint64_t nbytes;
};

struct gpu {
    kpk_instance *inst;
    const kpk_kernel *kernel[NKERNELS];
    struct format_kernels formats[MOST_FORMATS];
    const kpk_kernel *keep[NCACHE_TYPES];
    struct recorder *recorder;
    void *stream;   /* the recorder's; NULL: the default one */
    unsigned flags; /* launch flags: see flags_of() */
    struct allocation *allocations;
    uint64_t allocated;
};

/* ---- the device ---- */

bool check(kpk_status status, const char *what, struct fault *fault)
{
    return status == KPK_OK || fail(fault, "%s: %s", what, kpk_error_message());
}

bool gpu_open(int device, struct gpu **out, struct fault *fault)
{
    struct gpu *gpu = calloc(1, sizeof(*gpu));

    if (!gpu)
        return fail(fault, "no memory for a device");
    if (kpk_open_modules(modules, sizeof(modules) / sizeof(modules[0]), device,
                         &gpu->inst) != KPK_OK) {
        free(gpu);
        return fail(fault, "cannot use device %d: %s", device,
                    kpk_error_message());
    }
    for (size_t i = 0; i < NKERNELS; i++)
        if (kpk_kernel_get(gpu->inst, kernel_names[i], &gpu->kernel[i]) !=
            KPK_OK) {
            gpu_close(gpu);
            return fail(fault, "cannot use device %d: %s", device,
                        kpk_error_message());
        }
    gpu->flags = KPK_LAUNCH_EARLY;
    *out = gpu;
    return true;
}

void gpu_close(struct gpu *gpu)
{
    if (!gpu)
        return;
    for (struct allocation *a = gpu->allocations, *next; a; a = next) {
        next = a->next;
        (void)kpk_free(gpu->inst, a->data);
        free(a);
    }
    recorder_close(gpu->recorder);
    (void)kpk_close(gpu->inst);
    free(gpu);
}

const kpk_device *gpu_device(const struct gpu *gpu)
{
    return kpk_instance_device(gpu->inst);
}

kpk_instance *gpu_instance(const struct gpu *gpu)
{
    return gpu->inst;
}

void *gpu_stream(const struct gpu *gpu)
{
    return gpu->stream;
}

bool gpu_alloc(struct gpu *gpu, uint64_t nbytes, const char *what, void **out,
               struct fault *fault)
{
    struct allocation *a = malloc(sizeof(*a));
    const kpk_device *device = gpu_device(gpu);

    if (!a)
        return fail(fault, "no memory for %s", what);
    if (kpk_malloc(gpu->inst, nbytes, &a->data) != KPK_OK) {
        free(a);
        return fail(fault,
                    "too little memory on %s for %s: %" PRIu64
                    " MiB are wanted, and of its %" PRIu64 " MiB the model has "
                    "%" PRIu64 " already. Give a smaller --context or more "
                    "--devices. (%s)",
                    device->name, what, (nbytes >> 20) + 1,
                    device->memory_nbytes >> 20, gpu->allocated >> 20,
                    kpk_error_message());
    }
    a->nbytes = nbytes;
    a->next = gpu->allocations;
    gpu->allocations = a;
    gpu->allocated += nbytes;
    *out = a->data;
    return true;
}

bool gpu_free(struct gpu *gpu, void *data, struct fault *fault)
{
    for (struct allocation **at = &gpu->allocations; *at; at = &(*at)->next) {
        struct allocation *a = *at;

        if (a->data == data) {
            *at = a->next;
            gpu->allocated -= a->nbytes;
            free(a);
            break;
        }
    }
    return check(kpk_free(gpu->inst, data), "freeing memory", fault);
}

uint64_t gpu_allocated(const struct gpu *gpu)
{
    return gpu->allocated;
}

bool gpu_write(struct gpu *gpu, void *to, const void *from, size_t nbytes,
               struct fault *fault)
{
    return check(kpk_copy_to(gpu->inst, to, from, nbytes), "copying to the GPU",
                 fault);
}

bool gpu_read(struct gpu *gpu, void *to, const void *from, size_t nbytes,
              struct fault *fault)
{
    return check(kpk_copy_from(gpu->inst, to, from, nbytes),
                 "copying from the GPU", fault);
}

bool gpu_copy(struct gpu *to_gpu, void *to, const struct gpu *from_gpu,
              const void *from, size_t nbytes, struct fault *fault)
{
    return check(kpk_copy_peer_async(to_gpu->inst, to, from_gpu->inst, from,
                                     nbytes, to_gpu->stream),
                 "copying from GPU to GPU", fault) &&
           gpu_wait(to_gpu, fault);
}

bool gpu_wait(struct gpu *gpu, struct fault *fault)
{
    return check(kpk_sync(gpu->inst, gpu->stream), "waiting for the GPU",
                 fault);
}

/* ---- recording ---- */

bool gpu_can_record(struct gpu *gpu)
{
    if (!gpu->recorder)
        gpu->recorder = recorder_open(gpu->inst);
    gpu->stream = recorder_stream(gpu->recorder);
    return gpu->recorder;
}

bool gpu_record(struct gpu *gpu)
{
    return recorder_start(gpu->recorder);
}

bool gpu_recorded(struct gpu *gpu)
{
    return recorder_end(gpu->recorder);
}

bool gpu_replay(struct gpu *gpu, struct fault *fault)
{
    return recorder_replay(gpu->recorder) ||
           fail(fault, "the driver does not replay what it has recorded");
}

bool gpu_fetch(struct gpu *gpu, const void *from, size_t nbytes,
               struct fault *fault)
{
    return recorder_fetch(gpu->recorder, from, nbytes) ||
           fail(fault, "the driver does not copy from the GPU");
}

bool gpu_fetched(struct gpu *gpu, void *to, size_t nbytes, struct fault *fault)
{
    return recorder_fetched(gpu->recorder, to, nbytes) ||
           fail(fault, "the driver does not copy from the GPU");
}

/* ---- launching ---- */

/* At the recommended shape for n and columns (kpk_kernel_shape()). Kernels that
 * can wait for the launch before them begin while it runs: what they read
 * earlier are weights, which no launch writes. */
static bool launch(const struct gpu *gpu, const kpk_kernel *kernel, uint64_t n,
                   uint64_t columns, struct fault *fault, const kpk_arg *args,
                   size_t nargs)
{
    kpk_launch_options options = {.stream = gpu->stream, .flags = gpu->flags};

    return check(kpk_kernel_shape(kernel, n, columns, &options.shape),
                 kpk_kernel_name(kernel), fault) &&
           check(kpk_launch_ex(kernel, &options, args, nargs),
                 kpk_kernel_name(kernel), fault);
}

/* Finds a kernel of a format by its name's parts, once. */
static bool get_kernel(struct gpu *gpu, const kpk_kernel **kernel,
                       struct fault *fault, const char *before,
                       const char *format, const char *behind, unsigned count)
{
    char name[64];

    if (*kernel)
        return true;
    if (count)
        (void)snprintf(name, sizeof(name), "%s%s%s%u", before, format, behind,
                       count);
    else
        (void)snprintf(name, sizeof(name), "%s%s%s", before, format, behind);
    return check(kpk_kernel_get(gpu->inst, name, kernel), name, fault);
}

/* ---- matrices ---- */

bool op_takes(const struct tensor_format *format)
{
    return format->kernel && format->id < MOST_FORMATS;
}

bool op_rows(struct gpu *gpu, const struct matrix *m, const uint32_t *ids,
             uint32_t n, float *out, struct fault *fault)
{
    struct format_kernels *k = &gpu->formats[m->format->id];
    const int64_t columns = m->columns;
    const size_t row_nbytes = m->row_nbytes;

    return get_kernel(gpu, &k->rows, fault, "get_rows_", m->format->kernel, "",
                      0) &&
           launch(gpu, k->rows, n, m->columns, fault,
                  KPK_ARGS(m->data, ids, out, columns, row_nbytes));
}

uint32_t op_quantized_columns(uint32_t columns)
{
    return GGUF_Q8_1_COLUMNS(columns);
}

uint64_t op_quantized_nbytes(uint32_t columns, uint32_t n)
{
    return GGUF_Q8_1_NBYTES((uint64_t)columns) * n;
}

bool op_quantize(struct gpu *gpu, const float *x, uint32_t columns, uint32_t n,
                 void *q8, struct fault *fault)
{
    const int32_t kx = (int32_t)columns,
                  kx_padded = (int32_t)op_quantized_columns(columns);

    return launch(gpu, gpu->kernel[K_quantize], op_quantized_columns(columns),
                  n, fault, KPK_ARGS(x, q8, kx, kx_padded));
}

bool op_quantize16(struct gpu *gpu, const void *x, uint32_t columns, uint32_t n,
                   void *q8, struct fault *fault)
{
    const int32_t n_cols = (int32_t)columns,
                  n_padded = (int32_t)op_quantized_columns(columns);

    return launch(gpu, gpu->kernel[K_quantize16],
                  (uint64_t)n * op_quantized_columns(columns), 0, fault,
                  KPK_ARGS(x, q8, n, n_cols, n_padded));
}

static bool float_product(struct gpu *gpu, const struct matrix *m,
                          const float *x, uint32_t n, float *out,
                          uint32_t stride, struct fault *fault)
{
    const kpk_gemm_product product = {KPK_GEMM_F32, 0,          1, n,
                                      m->rows,      m->columns, 1};
    const kpk_gemm_operands operands = {.a = x,
                                        .b = m->data,
                                        .c = out,
                                        .lda = m->columns,
                                        .ldb = m->columns,
                                        .ldc = stride,
                                        .alpha = 1};
    kpk_gemm_plan plan;

    return check(
               kpk_gemm_choose(gpu->inst, &kpk_module_gemm, &product, 0, &plan),
               "a product", fault) &&
           check(kpk_gemm_launch(gpu->inst, &product, &plan, &operands, NULL,
                                 gpu->stream),
                 "a product", fault);
}

/* Launch flags for a product and for the launch after it. A large product of
 * more than four columns has just as many blocks as are at work at once. Begun
 * early, they lie on the multiprocessors that the launch before leaves free,
 * and take up to twice their time on an H200; and between such products small
 * launches gain nothing.
 */
static unsigned flags_of(const struct matrix *m, uint32_t n)
{
    enum { LARGE = 4 << 20, FEW_COLUMNS = 4 };

    return n <= FEW_COLUMNS || (uint64_t)m->rows * m->columns < LARGE
               ? KPK_LAUNCH_EARLY
               : 0;
}

bool op_product(struct gpu *gpu, const struct matrix *m, const float *x,
                const void *q8, uint32_t n, float *out, uint32_t stride,
                struct fault *fault)
{
    struct format_kernels *k = &gpu->formats[m->format->id];
    const bool blocks = m->format->elems > 1;
    const void *in = blocks ? q8 : x;
    const int32_t columns = (int32_t)m->columns, rows = (int32_t)m->rows;
    const int32_t count = (int32_t)n, out_rows = (int32_t)stride;
    const int32_t in_columns =
        blocks ? (int32_t)op_quantized_columns(m->columns) : columns;

    gpu->flags = flags_of(m, n);
    if (m->format->id == 0)
        return float_product(gpu, m, x, n, out, stride, fault);
    if (n > MOST_COLUMNS)
        return get_kernel(gpu, &k->tiled, fault, "mul_mat_", m->format->kernel,
                          "", 0) &&
               launch(gpu, k->tiled, m->rows, n, fault,
                      KPK_ARGS(m->data, in, out, columns, rows, count,
                               in_columns, out_rows));
    return get_kernel(gpu, &k->few[n - 1], fault, "mul_mat_vec_",
                      m->format->kernel, blocks ? "_q8_1_cuda" : "_f32_cuda",
                      n) &&
           launch(
               gpu, k->few[n - 1], m->rows, 0, fault,
               KPK_ARGS(m->data, in, out, columns, rows, in_columns, out_rows));
}

/* ---- rows ---- */

bool op_norm(struct gpu *gpu, const float *x, const float *weight,
             uint32_t rows, uint32_t columns, float eps, float *out,
             struct fault *fault)
{
    const int32_t n = (int32_t)columns, block = 0; /* the launch tells */
    const float *none = NULL;

    return launch(gpu, gpu->kernel[K_add_norm], rows, columns, fault,
                  KPK_ARGS(x, none, out, none, weight, n, block, eps));
}

static bool launch_binary(const struct gpu *gpu, const kpk_kernel *kernel,
                          const float *a, const float *b, size_t n, float *out,
                          struct fault *fault)
{
    const size_t rank = 1, *info = NULL;

    return launch(gpu, kernel, n, 0, fault, KPK_ARGS(n, rank, info, a, b, out));
}

bool op_add(struct gpu *gpu, const float *a, const float *b, size_t n,
            float *out, struct fault *fault)
{
    return launch_binary(gpu, gpu->kernel[K_add], a, b, n, out, fault);
}

bool op_count_up(struct gpu *gpu, uint32_t *x, const uint32_t *by, size_t n,
                 struct fault *fault)
{
    const size_t rank = 1, *info = NULL;

    return launch(gpu, gpu->kernel[K_count_up], n, 0, fault,
                  KPK_ARGS(n, rank, info, x, by, x));
}

void op_add_row_info(uint32_t rows, uint32_t columns, size_t info[6])
{
    const size_t view[6] = {rows, columns, columns, 1, 0, 1};

    memcpy(info, view, sizeof(view));
}

bool op_add_row(struct gpu *gpu, float *x, const float *row, uint32_t rows,
                uint32_t columns, const size_t *info, struct fault *fault)
{
    const size_t n = (size_t)rows * columns, rank = 2;

    return launch(gpu, gpu->kernel[K_add], n, 0, fault,
                  KPK_ARGS(n, rank, info, x, row, x));
}

bool op_add_norm(struct gpu *gpu, float *stream, const float *x,
                 const float *weight, uint32_t rows, uint32_t columns,
                 float eps, float *out, struct fault *fault)
{
    const int32_t n = (int32_t)columns, block = 0; /* the launch tells */

    return launch(gpu, gpu->kernel[K_add_norm], rows, columns, fault,
                  KPK_ARGS(stream, x, out, stream, weight, n, block, eps));
}

bool op_add_norm_quantize(struct gpu *gpu, float *stream, const float *x,
                          const float *weight, uint32_t rows, uint32_t columns,
                          float eps, void *q8, struct fault *fault)
{
    const int32_t n = (int32_t)columns,
                  n_padded = (int32_t)op_quantized_columns(columns);

    float *sum = x ? stream : NULL;

    return launch(gpu, gpu->kernel[K_add_norm_quantize], rows, columns, fault,
                  KPK_ARGS(stream, x, sum, weight, q8, n, n_padded, eps));
}

bool op_norm_add_norm_quantize(struct gpu *gpu, float *stream, const float *x,
                               const float *inner, const float *weight,
                               uint32_t rows, uint32_t columns, float eps,
                               void *q8, struct fault *fault)
{
    const int32_t n = (int32_t)columns,
                  n_padded = (int32_t)op_quantized_columns(columns);

    return launch(
        gpu, gpu->kernel[K_norm_twice], rows, columns, fault,
        KPK_ARGS(x, inner, stream, stream, weight, q8, n, n_padded, eps));
}

bool op_gate_quantize(struct gpu *gpu, bool gelu, const float *gate,
                      const float *up, uint32_t rows, uint32_t columns,
                      uint32_t stride, void *q8, struct fault *fault)
{
    const int32_t n = (int32_t)columns,
                  n_padded = (int32_t)op_quantized_columns(columns);
    const uint64_t numbers = stride;

    return launch(gpu, gpu->kernel[gelu ? K_gelu_quantize : K_silu_quantize],
                  (uint64_t)rows * op_quantized_columns(columns), 0, fault,
                  KPK_ARGS(gate, up, q8, rows, n, n_padded, numbers));
}

bool op_gate(struct gpu *gpu, bool gelu, float *gate, const float *up, size_t n,
             struct fault *fault)
{
    return launch(gpu, gpu->kernel[gelu ? K_gelu : K_silu], n, 0, fault,
                  KPK_ARGS(n, gate, up, gate));
}

bool op_scale(struct gpu *gpu, float *x, size_t n, float by,
              struct fault *fault)
{
    const size_t rank = 1, *info = NULL;
    const float add = 0;

    return launch(gpu, gpu->kernel[K_scale], n, 0, fault,
                  KPK_ARGS(n, rank, info, x, x, by, add));
}

bool op_turns(struct gpu *gpu, const struct rotation *r, uint32_t tokens,
              uint32_t head, float *out, struct fault *fault)
{
    const float scale = 1 / r->stretch, ext = r->yarn ? 1 : 0;

    return launch(gpu, gpu->kernel[K_turns], (uint64_t)tokens * head / 2, 0,
                  fault,
                  KPK_ARGS(r->positions, r->factors, out, tokens, head, r->base,
                           scale, ext, r->longer, r->ramp[0], r->ramp[1]));
}

bool op_argmax(struct gpu *gpu, const float *x, uint32_t rows, uint32_t columns,
               void *work, uint32_t *out, struct fault *fault)
{
    return launch(gpu, gpu->kernel[K_argmax], (uint64_t)rows * columns, 0,
                  fault, KPK_ARGS(x, out, work, rows, columns));
}

bool op_sample(struct gpu *gpu, const float *x, uint32_t columns,
               uint32_t top_k, float top_p, float temperature, uint64_t seed,
               uint64_t offset, uint32_t *out, struct fault *fault)
{
    return launch(
        gpu, gpu->kernel[K_sample], columns, 0, fault,
        KPK_ARGS(x, out, columns, top_k, top_p, temperature, seed, offset));
}

static bool cast(const struct gpu *gpu, const kpk_kernel *kernel,
                 const void *from, size_t n, void *to, struct fault *fault)
{
    const size_t rank = 1, *info = NULL;

    return launch(gpu, kernel, n, 0, fault, KPK_ARGS(n, rank, info, from, to));
}

bool op_widen(struct gpu *gpu, bool bf16, const void *from, size_t n, float *to,
              struct fault *fault)
{
    return cast(gpu, gpu->kernel[bf16 ? K_widen_bf16 : K_widen], from, n, to,
                fault);
}

/* ---- attention ---- */

/* clang-format off */
static const struct {
    const char *kernel;
    kpk_attention_cache cache;
    uint32_t elems, nbytes; /* of a block */
} cache_types[NCACHE_TYPES] = {
    [CACHE_F16]  = {"set_rows_f16_f32",  KPK_ATTENTION_SAME,  1,  2},
    [CACHE_Q8_0] = {"set_rows_q8_0_f32", KPK_ATTENTION_Q8_0, 32, 34},
    [CACHE_Q4_0] = {"set_rows_q4_0_f32", KPK_ATTENTION_Q4_0, 32, 18},
};
const char *const cache_names[NCACHE_TYPES] = {
    [CACHE_F16] = "f16", [CACHE_Q8_0] = "q8_0", [CACHE_Q4_0] = "q4_0",
};
/* clang-format on */

/* Elements from head to head. */
static int64_t lane_of(const struct cache *c)
{
    const uint32_t elems = cache_types[c->type].elems;

    return (int64_t)(c->head + elems - 1) / elems * elems;
}

static uint64_t nbytes_of(const struct cache *c, uint64_t elements)
{
    return elements / cache_types[c->type].elems * cache_types[c->type].nbytes;
}

uint64_t op_cache_nbytes(const struct cache *cache)
{
    return nbytes_of(cache, 2 * cache->rows * cache->kv_heads *
                                (uint64_t)lane_of(cache));
}

/* K and V, as they lie in qkv, to the cache as blocks. */
static bool keep(struct gpu *gpu, const struct heads *h,
                 const struct cache *cache, uint32_t n, struct fault *fault)
{
    const kpk_kernel **kernel = &gpu->keep[cache->type];
    const int64_t lane = lane_of(cache), row = 2 * cache->kv_heads * lane;
    const uint32_t heads = 2 * cache->kv_heads, columns = cache->head;
    const int64_t from_head = columns;
    const int64_t from_row = (int64_t)(h->heads + heads) * columns;
    const float *k = h->qkv + (size_t)h->heads * columns;
    void *to = cache->data;
    const uint64_t count = n, kept = cache->rows;
    /* a thread for each element of whole groups of 32 */
    const uint64_t threads = count * heads * ((columns + 31) / 32 * 32);

    return get_kernel(gpu, kernel, fault, cache_types[cache->type].kernel, "",
                      "", 0) &&
           launch(gpu, *kernel, threads, 0, fault,
                  KPK_ARGS(k, h->rows, to, count, kept, heads, columns,
                           from_row, from_head, row, lane));
}

bool op_heads(struct gpu *gpu, const struct heads *h, const struct cache *cache,
              uint32_t n, void *q16, struct fault *fault)
{
    const bool plain = cache->type == CACHE_F16;
    void *to = plain ? cache->data : NULL;
    const uint32_t halves = !h->pairs; /* the kernel's flag ROPE_NEOX */
    const uint64_t all = (uint64_t)n * (h->heads + 2 * cache->kv_heads);

    return launch(gpu, gpu->kernel[K_heads], all, 0, fault,
                  KPK_ARGS(h->qkv, h->bias, h->q_norm, h->k_norm, h->turns, q16,
                           h->rows, to, cache->rows, n, h->heads,
                           cache->kv_heads, cache->head, h->eps, halves)) &&
           (plain || keep(gpu, h, cache, n, fault));
}

/* A launch splits keys into 128 parts at most. */
uint64_t op_attend_workspace(uint32_t n, uint32_t heads, uint32_t head)
{
    return (uint64_t)n * heads * (head + 1) * 128 * sizeof(float);
}

static kpk_attention_args args_of(const struct attention *a)
{
    return (kpk_attention_args){
        .cu_seqlens_q = a->tokens,
        .cu_seqlens_k = a->keys,
        .block_table = a->pages,
        .block_table_batch = 1,
        .page_size = a->context,
        .q_row = (int64_t)a->heads * a->head,
        .o_row = (int64_t)a->heads * a->head,
        .q_head = a->head,
        .o_head = a->head,
        .b = a->groups,
        .h = a->heads,
        .h_k = a->kv_heads,
        .d = a->head,
        .seqlen_q = a->most_tokens,
        .seqlen_k = a->most_keys,
        .total_q = a->ntokens,
        .scale = a->scale,
        .window_left = a->window ? (int32_t)a->window - 1 : -1,
        .window_right = 0,
    };
}

bool op_attend_plan(struct gpu *gpu, const struct attention *a,
                    enum cache_type type, kpk_attention_plan *out,
                    struct fault *fault)
{
    const kpk_attention_args args = args_of(a);

    return check(kpk_attention_choose(
                     gpu->inst, &kpk_module_attention, KPK_ATTENTION_F16,
                     cache_types[type].cache, &args, a->workspace_nbytes, out),
                 "attention", fault);
}

bool op_attend(struct gpu *gpu, const struct attention *a,
               const kpk_attention_plan *plan, const struct cache *cache,
               const void *q, void *out, void *q8, struct fault *fault)
{
    const int64_t lane = lane_of(cache), row = 2 * cache->kv_heads * lane;
    const uint64_t first = a->pages ? 0 : (uint64_t)a->page * a->context;
    const uint8_t *keys =
        (const uint8_t *)cache->data + nbytes_of(cache, first * (uint64_t)row);
    kpk_attention_args args = args_of(a);

    args.q = q;
    args.k = keys;
    args.v = keys + nbytes_of(cache, (uint64_t)lane * cache->kv_heads);
    args.o = out;
    args.o_q8_1 = q8;
    args.k_batch = args.v_batch = row * a->context;
    args.k_row = args.v_row = row;
    args.k_head = args.v_head = lane;
    return check(
        kpk_attention_launch(gpu->inst, &args, plan, a->workspace, gpu->stream),
        "attention", fault);
}
