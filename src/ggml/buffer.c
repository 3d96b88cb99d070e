/* buffer.c - memory of a device, and pinned memory of the host, for ggml */
#include "buffer.h"

#include "upload.h"

#include <stdlib.h>

/* A failure ends the program: ggml's interface cannot report it. */
static void must_be(bool good)
{
    if (!good)
        abort();
}
static void must(kpk_status status, const char *what)
{
    must_be(gpu_check(status, what));
}

struct block {
    struct gpu *gpu;
    void *base;
};

/* ---- memory of the device ---- */

static void free_buffer(ggml_backend_buffer_t buffer)
{
    struct block *b = buffer->context;

    (void)upload_end(b->gpu);
    (void)gpu_check(kpk_free(b->gpu->inst, b->base), "freeing memory");
    free(b);
}

static void *get_base(ggml_backend_buffer_t buffer)
{
    const struct block *b = buffer->context;

    return b->base;
}

static void memset_tensor(ggml_backend_buffer_t buffer,
                          struct ggml_tensor *tensor, uint8_t value,
                          size_t offset, size_t size)
{
    const struct block *b = buffer->context;

    must_be(upload_end(b->gpu));
    must(kpk_fill(b->gpu->inst, (char *)tensor->data + offset, value, size),
         "filling a tensor");
    must(kpk_sync(b->gpu->inst, NULL), "filling a tensor");
}

static void set_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor *tensor,
                       const void *data, size_t offset, size_t size)
{
    const struct block *b = buffer->context;

    must_be(upload(b->gpu, (char *)tensor->data + offset, data, size));
}

static void get_tensor(ggml_backend_buffer_t buffer,
                       const struct ggml_tensor *tensor, void *data,
                       size_t offset, size_t size)
{
    const struct block *b = buffer->context;

    must_be(download(b->gpu, data, (const char *)tensor->data + offset, size));
}

static bool cpy_tensor(ggml_backend_buffer_t buffer,
                       const struct ggml_tensor *src, struct ggml_tensor *dst)
{
    const struct block *b = buffer->context;
    struct gpu *from = buffer_gpu(src);

    if (!from || kpk_instance_device(from->inst)->platform !=
                     kpk_instance_device(b->gpu->inst)->platform)
        return false;
    must_be(upload_end(from) && upload_end(b->gpu));
    must(kpk_copy_peer_async(b->gpu->inst, dst->data, from->inst, src->data,
                             ggml_nbytes(src), NULL),
         "copying a tensor");
    must(kpk_sync(b->gpu->inst, NULL), "copying a tensor");
    return true;
}

static void clear(ggml_backend_buffer_t buffer, uint8_t value)
{
    const struct block *b = buffer->context;

    must_be(upload_end(b->gpu));
    must(kpk_fill(b->gpu->inst, b->base, value, buffer->size),
         "clearing memory");
    must(kpk_sync(b->gpu->inst, NULL), "clearing memory");
}

static const struct ggml_backend_buffer_i of_memory = {
    .free_buffer = free_buffer,
    .get_base = get_base,
    .memset_tensor = memset_tensor,
    .set_tensor = set_tensor,
    .get_tensor = get_tensor,
    .cpy_tensor = cpy_tensor,
    .clear = clear,
};

static const char *memory_name(ggml_backend_buffer_type_t type)
{
    const struct gpu *gpu = type->context;

    return gpu->name;
}

/* NULL without memory: ggml then reports it, or asks for less. */
static ggml_backend_buffer_t alloc_memory(ggml_backend_buffer_type_t type,
                                          size_t size)
{
    struct gpu *gpu = type->context;
    struct block *b = malloc(sizeof(*b));

    if (!b)
        return NULL;
    b->gpu = gpu;
    if (!gpu_check(kpk_malloc(gpu->inst, size ? size : 1, &b->base),
                   gpu->name)) {
        free(b);
        return NULL;
    }
    return ggml_backend_buffer_init(type, of_memory, b, size);
}

static size_t memory_alignment(ggml_backend_buffer_type_t type)
{
    (void)type;
    return 128;
}

/* ---- pinned memory of the host ---- */

static void free_pinned(ggml_backend_buffer_t buffer)
{
    const struct gpu *gpu = buffer->buft->context;

    (void)gpu_check(kpk_free_host(gpu->inst, buffer->context),
                    "freeing pinned memory");
}

static const char *pinned_name(ggml_backend_buffer_type_t type)
{
    (void)type;
    return "KPACK_Host";
}

/* Falls back to ordinary host memory if none can be pinned. */
static ggml_backend_buffer_t alloc_pinned(ggml_backend_buffer_type_t type,
                                          size_t size)
{
    const struct gpu *gpu = type->context;
    ggml_backend_buffer_t buffer;
    void *data;

    if (kpk_malloc_host(gpu->inst, size ? size : 1, &data) != KPK_OK)
        return ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(),
                                              size);
    buffer = ggml_backend_cpu_buffer_from_ptr(data, size);
    buffer->buft = type;
    buffer->iface.free_buffer = free_pinned;
    return buffer;
}

static size_t pinned_alignment(ggml_backend_buffer_type_t type)
{
    (void)type;
    return ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
}

static bool is_host(ggml_backend_buffer_type_t type)
{
    (void)type;
    return true;
}

void buffer_types(struct gpu *gpu)
{
    gpu->memory = (struct ggml_backend_buffer_type){
        .iface = {.get_name = memory_name,
                  .alloc_buffer = alloc_memory,
                  .get_alignment = memory_alignment},
        .device = &gpu->device,
        .context = gpu};
    gpu->pinned = (struct ggml_backend_buffer_type){
        .iface = {.get_name = pinned_name,
                  .alloc_buffer = alloc_pinned,
                  .get_alignment = pinned_alignment,
                  .is_host = is_host},
        .device = &gpu->device,
        .context = gpu};
}

struct gpu *buffer_gpu(const struct ggml_tensor *tensor)
{
    const struct ggml_backend_buffer *buffer =
        tensor->view_src ? tensor->view_src->buffer : tensor->buffer;

    return buffer && buffer->buft->iface.get_name == memory_name
               ? buffer->buft->context
               : NULL;
}
