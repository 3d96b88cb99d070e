/* ops.c - the steps of a model as launches of the pack's kernels */
#include "ops.h"

#include <kpack/candle.h>
#include <kpack/candle/gemm_plan.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Modules that the program links; no others are in its binary. */
static const kpk_module *const modules[] = {
    &kpk_module_affine,    &kpk_module_binary, &kpk_module_cast,
    &kpk_module_fused,     &kpk_module_gemm,   &kpk_module_mmvq_gguf,
    &kpk_module_quantized, &kpk_module_reduce, &kpk_module_unary,
};

/* Kernels that no format has a part in. */
#define KERNELS(X)                                                             \
    X(quantize, "quantize_q8_1_quants")                                        \
    X(norm, "rmsnorm_f32")                                                     \
    X(add, "badd_f32")                                                         \
    X(add_norm, "rmsnorm_add_f32")                                             \
    X(silu, "silu_mul_f32")                                                    \
    X(gelu, "gelu_mul_f32")                                                    \
    X(copy, "ucopy_f32")                                                       \
    X(scale, "affine_f32")                                                     \
    X(rotate, "rope_pos_f32")                                                  \
    X(softmax, "softmax_f32")                                                  \
    X(argmax, "fast_argmax_f32")

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
    struct allocation *allocations;
    uint64_t allocated;
};

/* ---- the device ---- */

static bool check(kpk_status status, const char *what, struct fault *fault)
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
    (void)kpk_close(gpu->inst);
    free(gpu);
}

const kpk_device *gpu_device(const struct gpu *gpu)
{
    return kpk_instance_device(gpu->inst);
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

bool gpu_wait(struct gpu *gpu, struct fault *fault)
{
    return check(kpk_sync(gpu->inst, NULL), "waiting for the GPU", fault);
}

/* ---- launching ---- */

/* At the recommended shape for n and columns (kpk_kernel_shape()). */
static bool launch(const kpk_kernel *kernel, uint64_t n, uint64_t columns,
                   struct fault *fault, const kpk_arg *args, size_t nargs)
{
    kpk_shape shape;

    return check(kpk_kernel_shape(kernel, n, columns, &shape),
                 kpk_kernel_name(kernel), fault) &&
           check(kpk_launch(kernel, &shape, NULL, args, nargs),
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

static bool is_quantized(const struct matrix *m)
{
    return m->format->lower;
}

bool op_rows(struct gpu *gpu, const struct matrix *m, const uint32_t *ids,
             uint32_t n, float *out, struct fault *fault)
{
    struct format_kernels *k = &gpu->formats[m->format->id];
    const int64_t columns = m->columns;
    const size_t row_nbytes = m->row_nbytes;

    return get_kernel(gpu, &k->rows, fault, "get_rows_", m->format->kernel, "",
                      0) &&
           launch(k->rows, n, m->columns, fault,
                  KPK_ARGS(m->data, ids, out, columns, row_nbytes));
}

/* Products read rows of a multiple of 512 elements. */
static uint32_t padded(uint32_t columns)
{
    return (columns + 511) / 512 * 512;
}

uint64_t op_quantized_nbytes(uint32_t columns, uint32_t n)
{
    return (uint64_t)padded(columns) / 32 * 36 * n;
}

bool op_quantize(struct gpu *gpu, const float *x, uint32_t columns, uint32_t n,
                 void *q8, struct fault *fault)
{
    const int32_t kx = (int32_t)columns, kx_padded = (int32_t)padded(columns);

    return launch(gpu->kernel[K_quantize], padded(columns), n, fault,
                  KPK_ARGS(x, q8, kx, kx_padded));
}

static bool float_product(struct gpu *gpu, const struct matrix *m,
                          const float *x, uint32_t n, float *out,
                          struct fault *fault)
{
    const kpk_gemm_product product = {KPK_GEMM_F32, 0,          1, n,
                                      m->rows,      m->columns, 1};
    const kpk_gemm_operands operands = {.a = x,
                                        .b = m->data,
                                        .c = out,
                                        .lda = m->columns,
                                        .ldb = m->columns,
                                        .ldc = m->rows,
                                        .alpha = 1};
    kpk_gemm_plan plan;

    return check(
               kpk_gemm_choose(gpu->inst, &kpk_module_gemm, &product, 0, &plan),
               "a product", fault) &&
           check(kpk_gemm_launch(gpu->inst, &product, &plan, &operands, NULL,
                                 NULL),
                 "a product", fault);
}

bool op_product(struct gpu *gpu, const struct matrix *m, const float *x,
                const void *q8, uint32_t n, float *out, struct fault *fault)
{
    struct format_kernels *k = &gpu->formats[m->format->id];
    const int32_t columns = (int32_t)m->columns, rows = (int32_t)m->rows;
    const int32_t count = (int32_t)n, k_padded = (int32_t)padded(m->columns);
    const int32_t stride = k_padded / 32;

    if (!is_quantized(m))
        return float_product(gpu, m, x, n, out, fault);
    if (n > MOST_COLUMNS)
        return get_kernel(gpu, &k->tiled, fault, "mul_mat_", m->format->kernel,
                          "", 0) &&
               launch(k->tiled, m->rows, n, fault,
                      KPK_ARGS(m->data, q8, out, columns, rows, count, k_padded,
                               rows));
    return get_kernel(gpu, &k->few[n - 1], fault, "mmvq_gguf_",
                      m->format->lower, "_f32_plain_cuda", n) &&
           launch(k->few[n - 1], m->rows, 0, fault,
                  KPK_ARGS(m->data, q8, out, columns, rows, stride, rows));
}

/* ---- rows ---- */

bool op_norm(struct gpu *gpu, const float *x, const float *weight,
             uint32_t rows, uint32_t columns, float eps, float *out,
             struct fault *fault)
{
    const int32_t n = (int32_t)columns, block = 0; /* the launch tells */

    return launch(gpu->kernel[K_norm], rows, columns, fault,
                  KPK_ARGS(x, out, weight, n, block, eps));
}

static bool launch_binary(const kpk_kernel *kernel, const float *a,
                          const float *b, size_t n, float *out,
                          struct fault *fault)
{
    const size_t rank = 1, *info = NULL;

    return launch(kernel, n, 0, fault, KPK_ARGS(n, rank, info, a, b, out));
}

bool op_add(struct gpu *gpu, const float *a, const float *b, size_t n,
            float *out, struct fault *fault)
{
    return launch_binary(gpu->kernel[K_add], a, b, n, out, fault);
}

/* A view of three dimensions whose right operand lacks the first. */
void op_mask_info(uint32_t heads, uint32_t n, uint32_t keys, size_t info[9])
{
    const size_t view[9] = {heads, n,    keys, (size_t)n * keys, keys, 1,
                            0,     keys, 1};

    memcpy(info, view, sizeof(view));
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

    return launch(gpu->kernel[K_add], n, 0, fault,
                  KPK_ARGS(n, rank, info, x, row, x));
}

bool op_add_norm(struct gpu *gpu, float *stream, const float *x,
                 const float *weight, uint32_t rows, uint32_t columns,
                 float eps, float *out, struct fault *fault)
{
    const int32_t n = (int32_t)columns, block = 0; /* the launch tells */

    return launch(gpu->kernel[K_add_norm], rows, columns, fault,
                  KPK_ARGS(stream, x, out, stream, weight, n, block, eps));
}

bool op_gate(struct gpu *gpu, bool gelu, float *gate, const float *up, size_t n,
             struct fault *fault)
{
    return launch(gpu->kernel[gelu ? K_gelu : K_silu], n, 0, fault,
                  KPK_ARGS(n, gate, up, gate));
}

bool op_scale(struct gpu *gpu, float *x, size_t n, float by,
              struct fault *fault)
{
    const size_t rank = 1, *info = NULL;
    const float add = 0;

    return launch(gpu->kernel[K_scale], n, 0, fault,
                  KPK_ARGS(n, rank, info, x, x, by, add));
}

bool op_rotate(struct gpu *gpu, float *x, const struct rotation *r,
               uint32_t tokens, uint32_t heads, uint32_t head,
               struct fault *fault)
{
    const float scale = 1 / r->stretch, attn = 1, none = 0;
    const uint32_t halves = !r->pairs; /* the kernel's flag ROPE_NEOX */

    return launch(
        gpu->kernel[K_rotate], (uint64_t)tokens * heads * head / 2, 0, fault,
        KPK_ARGS(x, r->positions, r->factors, x, tokens, heads, head, head,
                 r->base, scale, none, attn, none, none, halves));
}

bool op_copy(struct gpu *gpu, const float *from, float *to, size_t n,
             struct fault *fault)
{
    const size_t rank = 1, *info = NULL;

    return launch(gpu->kernel[K_copy], n, 0, fault,
                  KPK_ARGS(n, rank, info, from, to));
}

void op_argmax_info(uint32_t rows, uint32_t columns, size_t info[4])
{
    const size_t view[4] = {rows, columns, columns, 1};

    memcpy(info, view, sizeof(view));
}

bool op_argmax(struct gpu *gpu, const float *x, uint32_t rows, uint32_t columns,
               const size_t *info, uint32_t *out, struct fault *fault)
{
    const size_t n = (size_t)rows * columns, each = columns, rank = 2;

    return launch(gpu->kernel[K_argmax], rows, columns, fault,
                  KPK_ARGS(n, each, rank, info, x, out));
}

bool op_widen(struct gpu *gpu, const struct tensor_format *format,
              const void *from, size_t n, float *to, struct fault *fault)
{
    const kpk_kernel *kernel = NULL;
    const size_t rank = 1, *info = NULL;

    return get_kernel(gpu, &kernel, fault, "cast_", format->kernel, "_f32",
                      0) &&
           launch(kernel, n, 0, fault, KPK_ARGS(n, rank, info, from, to));
}

/* ---- attention ---- */

/* Heads that share K and V are products of one launch if n is 1: their rows
 * follow each other. Else each of them is a launch over all K and V. */
static bool multiply_heads(struct gpu *gpu, const struct attention *a,
                           bool scores, struct fault *fault)
{
    const uint32_t shared = a->heads / a->kv_heads;
    const uint32_t rows = a->n == 1 ? shared : a->n;
    const uint32_t width = a->heads * a->head, kv = a->kv_heads * a->head;
    const size_t of_head = (size_t)a->n * a->keys;
    const kpk_gemm_product product = {
        .type = KPK_GEMM_F32,
        .trans_b = scores,
        .m = rows,
        .n = scores ? a->keys : a->head,
        .k = scores ? a->head : a->keys,
        .batch = a->kv_heads,
    };
    float *weights = a->scores + (size_t)a->heads * of_head;
    kpk_gemm_plan plan;

    if (!check(kpk_gemm_choose(gpu->inst, &kpk_module_gemm, &product, 0, &plan),
               "attention", fault))
        return false;
    for (uint32_t i = 0; i < (a->n == 1 ? 1 : shared); i++) {
        const uint32_t lane = a->n == 1 ? a->head : width;
        const kpk_gemm_operands operands = {
            .a = scores ? a->q + (size_t)i * a->head : weights + i * of_head,
            .b = scores ? a->k : a->v,
            .c =
                scores ? a->scores + i * of_head : a->out + (size_t)i * a->head,
            .lda = scores ? lane : a->keys,
            .ldb = kv,
            .ldc = scores ? a->keys : lane,
            .stride_a = scores ? (int64_t)shared * a->head
                               : (int64_t)(shared * of_head),
            .stride_b = a->head,
            .stride_c = scores ? (int64_t)(shared * of_head)
                               : (int64_t)shared * a->head,
            .alpha = scores ? (double)a->scale : 1,
        };

        if (!check(kpk_gemm_launch(gpu->inst, &product, &plan, &operands, NULL,
                                   NULL),
                   "attention", fault))
            return false;
    }
    return true;
}

bool op_attend(struct gpu *gpu, const struct attention *a, struct fault *fault)
{
    const uint32_t rows = a->heads * a->n;
    const size_t n = (size_t)rows * a->keys, rank = 3;
    const int32_t columns = (int32_t)a->keys;
    float *weights = a->scores + n;

    return multiply_heads(gpu, a, true, fault) &&
           (!a->mask || launch(gpu->kernel[K_add], n, 0, fault,
                               KPK_ARGS(n, rank, a->info, a->scores, a->mask,
                                        a->scores))) &&
           launch(gpu->kernel[K_softmax], rows, a->keys, fault,
                  KPK_ARGS(a->scores, weights, columns)) &&
           multiply_heads(gpu, a, false, fault);
}
