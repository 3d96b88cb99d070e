/* backend.c - the pack as a backend of ggml: registry, devices, streams */
#include "backend.h"

#include "buffer.h"
#include "gpu.h"
#include "graph.h"
#include "ops.h"
#include "upload.h"
#include "version.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 16 };

/* ---- a backend: a stream of a device ---- */

struct stream {
    struct gpu *gpu;
    void *stream;
    void *copied;  /* event: a copy to another backend is done */
    uint64_t seen; /* uploads that the stream has waited for */
    struct graphs *graphs;
};

/* Ends the program if a call has failed, where ggml's interface returns no
 * status. */
static void must(kpk_status status, const char *what)
{
    if (!gpu_check(status, what))
        abort();
}

/* Makes the stream's later work wait for uploads. */
static void behind_uploads(struct stream *s)
{
    if (!upload_wait(s->gpu, s->stream, &s->seen))
        abort();
}

static const char *backend_name(ggml_backend_t backend)
{
    const struct stream *s = backend->context;

    return s->gpu->name;
}

static void backend_free(ggml_backend_t backend)
{
    struct stream *s = backend->context;
    kpk_instance *inst = s->gpu->inst;

    (void)gpu_check(kpk_sync(inst, s->stream), "waiting for the GPU");
    graphs_close(s->graphs);
    (void)gpu_check(kpk_event_destroy(inst, s->copied), "freeing an event");
    (void)gpu_check(kpk_stream_destroy(inst, s->stream), "freeing a stream");
    free(s);
    free(backend);
}

static void set_tensor_async(ggml_backend_t backend, struct ggml_tensor *tensor,
                             const void *data, size_t offset, size_t size)
{
    struct stream *s = backend->context;

    behind_uploads(s);
    must(kpk_copy_to_async(s->gpu->inst, (char *)tensor->data + offset, data,
                           size, s->stream),
         "writing a tensor");
}

static void get_tensor_async(ggml_backend_t backend,
                             const struct ggml_tensor *tensor, void *data,
                             size_t offset, size_t size)
{
    struct stream *s = backend->context;

    behind_uploads(s);
    must(kpk_copy_from_async(s->gpu->inst, data,
                             (const char *)tensor->data + offset, size,
                             s->stream),
         "reading a tensor");
}

/* Copies on the source's stream, after the work that makes the tensor. The
 * destination's stream waits for the copy. */
static bool cpy_tensor_async(ggml_backend_t from, ggml_backend_t to,
                             const struct ggml_tensor *src,
                             struct ggml_tensor *dst)
{
    struct stream *a = from->context, *b = to->context;
    const struct gpu *src_gpu = buffer_gpu(src), *dst_gpu = buffer_gpu(dst);
    kpk_instance *inst;

    if (from->iface.free != backend_free || to->iface.free != backend_free ||
        src_gpu != a->gpu || dst_gpu != b->gpu)
        return false;
    behind_uploads(a);
    behind_uploads(b);
    inst = a->gpu->inst;
    if (a->gpu == b->gpu) {
        must(kpk_copy_async(inst, dst->data, src->data, ggml_nbytes(src),
                            a->stream),
             "copying a tensor");
    } else {
        /* A stream cannot wait for another driver's event. */
        if (kpk_instance_device(inst)->platform !=
            kpk_instance_device(b->gpu->inst)->platform)
            return false;
        must(kpk_event_record(inst, a->copied, a->stream), "copying a tensor");
        must(kpk_stream_wait(b->gpu->inst, b->stream, a->copied),
             "copying a tensor");
        must(kpk_copy_peer_async(b->gpu->inst, dst->data, inst, src->data,
                                 ggml_nbytes(src), b->stream),
             "copying a tensor");
        return true;
    }
    if (a != b) {
        must(kpk_event_record(inst, a->copied, a->stream), "copying a tensor");
        must(kpk_stream_wait(inst, b->stream, a->copied), "copying a tensor");
    }
    return true;
}

static void synchronize(ggml_backend_t backend)
{
    const struct stream *s = backend->context;

    must(kpk_sync(s->gpu->inst, s->stream), "waiting for the GPU");
}

static enum ggml_status graph_compute(ggml_backend_t backend,
                                      struct ggml_cgraph *graph)
{
    struct stream *s = backend->context;

    behind_uploads(s);
    return graphs_compute(s->graphs, graph);
}

static void event_record(ggml_backend_t backend, ggml_backend_event_t event)
{
    const struct stream *s = backend->context;

    must(kpk_event_record(s->gpu->inst, event->context, s->stream),
         "recording an event");
}

static void event_wait(ggml_backend_t backend, ggml_backend_event_t event)
{
    const struct stream *s = backend->context;

    must(kpk_stream_wait(s->gpu->inst, s->stream, event->context),
         "waiting for an event");
}

static const struct ggml_backend_i of_backend = {
    .get_name = backend_name,
    .free = backend_free,
    .set_tensor_async = set_tensor_async,
    .get_tensor_async = get_tensor_async,
    .cpy_tensor_async = cpy_tensor_async,
    .synchronize = synchronize,
    .graph_compute = graph_compute,
    .event_record = event_record,
    .event_wait = event_wait,
};

/* ---- devices ---- */

static const char *device_name(ggml_backend_dev_t dev)
{
    const struct gpu *gpu = dev->context;

    return gpu->name;
}

static const char *device_description(ggml_backend_dev_t dev)
{
    const struct gpu *gpu = dev->context;

    return kpk_instance_device(gpu->inst)->name;
}

static void device_memory(ggml_backend_dev_t dev, size_t *free, size_t *total)
{
    const struct gpu *gpu = dev->context;

    if (!gpu_check(kpk_memory_info(gpu->inst, free, total), gpu->name))
        *free = *total = 0;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev)
{
    const struct gpu *gpu = dev->context;

    return gpu->integrated ? GGML_BACKEND_DEVICE_TYPE_IGPU
                           : GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void device_props(ggml_backend_dev_t dev,
                         struct ggml_backend_dev_props *props)
{
    const struct gpu *gpu = dev->context;

    memset(props, 0, sizeof(*props));
    props->name = device_name(dev);
    props->description = device_description(dev);
    device_memory(dev, &props->memory_free, &props->memory_total);
    props->type = device_type(dev);
    props->device_id = gpu->pci[0] ? gpu->pci : NULL;
    props->caps.async = true;
    props->caps.host_buffer = true;
    props->caps.events = true;
}

static ggml_backend_t init_backend(ggml_backend_dev_t dev, const char *params)
{
    static ggml_guid guid = {0x6b, 0x70, 0x61, 0x63, 0x6b, 0x2d, 0x67, 0x67,
                             0x6d, 0x6c, 0x2d, 0x30, 0x30, 0x30, 0x30, 0x31};
    struct gpu *gpu = dev->context;
    struct ggml_backend *backend = calloc(1, sizeof(*backend));
    struct stream *s = calloc(1, sizeof(*s));

    (void)params;
    if (!backend || !s ||
        !gpu_check(
            kpk_stream_create(gpu->inst, KPK_STREAM_NON_BLOCKING, &s->stream),
            gpu->name))
        goto out;
    s->graphs = graphs_open(gpu, s->stream);
    if (!s->graphs ||
        !gpu_check(kpk_event_create(gpu->inst, KPK_EVENT_NO_TIMING, &s->copied),
                   gpu->name)) {
        graphs_close(s->graphs);
        (void)kpk_stream_destroy(gpu->inst, s->stream);
        goto out;
    }
    s->gpu = gpu;
    backend->guid = &guid;
    backend->iface = of_backend;
    backend->device = dev;
    backend->context = s;
    return backend;
out:
    free(s);
    free(backend);
    return NULL;
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev)
{
    struct gpu *gpu = dev->context;

    return &gpu->memory;
}

static ggml_backend_buffer_type_t host_buffer_type(ggml_backend_dev_t dev)
{
    struct gpu *gpu = dev->context;

    return &gpu->pinned;
}

static bool supports_op(ggml_backend_dev_t dev, const struct ggml_tensor *op)
{
    const struct gpu *gpu = dev->context;
    struct run ask = {.inst = gpu->inst};

    return is_nothing(op) || ops_node(&ask, op);
}

static bool supports_buft(ggml_backend_dev_t dev,
                          ggml_backend_buffer_type_t type)
{
    const struct gpu *gpu = dev->context;

    return type == &gpu->memory;
}

/* Whether to copy weights from host memory to the device for an operation: it
 * pays from this many rows on. */
static bool offload_op(ggml_backend_dev_t dev, const struct ggml_tensor *op)
{
    enum { ROWS = 32 };

    (void)dev;
    return op->op == GGML_OP_MUL_MAT && op->ne[1] >= ROWS;
}

static ggml_backend_event_t event_new(ggml_backend_dev_t dev)
{
    const struct gpu *gpu = dev->context;
    struct ggml_backend_event *event = calloc(1, sizeof(*event));

    if (event && !gpu_check(kpk_event_create(gpu->inst, KPK_EVENT_NO_TIMING,
                                             &event->context),
                            gpu->name)) {
        free(event);
        event = NULL;
    }
    if (event)
        event->device = dev;
    return event;
}

static void event_free(ggml_backend_dev_t dev, ggml_backend_event_t event)
{
    const struct gpu *gpu = dev->context;

    (void)gpu_check(kpk_event_destroy(gpu->inst, event->context), gpu->name);
    free(event);
}

static void event_synchronize(ggml_backend_dev_t dev,
                              ggml_backend_event_t event)
{
    const struct gpu *gpu = dev->context;

    must(kpk_event_sync(gpu->inst, event->context), gpu->name);
}

static const struct ggml_backend_device_i of_device = {
    .get_name = device_name,
    .get_description = device_description,
    .get_memory = device_memory,
    .get_type = device_type,
    .get_props = device_props,
    .init_backend = init_backend,
    .get_buffer_type = device_buffer_type,
    .get_host_buffer_type = host_buffer_type,
    .supports_op = supports_op,
    .supports_buft = supports_buft,
    .offload_op = offload_op,
    .event_new = event_new,
    .event_free = event_free,
    .event_synchronize = event_synchronize,
};

/* ---- the registry ---- */

static struct {
    pthread_once_t once;
    size_t n;
    struct gpu *gpus[MOST_DEVICES];
} found = {.once = PTHREAD_ONCE_INIT};

static const char *reg_name(ggml_backend_reg_t reg)
{
    (void)reg;
    return "KPACK";
}

static size_t device_count(ggml_backend_reg_t reg)
{
    (void)reg;
    return found.n;
}

static ggml_backend_dev_t get_device(ggml_backend_reg_t reg, size_t index)
{
    (void)reg;
    return index < found.n ? &found.gpus[index]->device : NULL;
}

static struct ggml_backend_reg registry = {
    .api_version = GGML_BACKEND_API_VERSION,
    .iface = {.get_name = reg_name,
              .get_device_count = device_count,
              .get_device = get_device},
};

/* The numbers of device attributes in HIP (5 and later), and in CUDA. */
enum { INTEGRATED, PCI_BUS, PCI_DEVICE, PCI_DOMAIN, NATTRIBUTES };
static const int attributes[NATTRIBUTES][2] = {
    [INTEGRATED] = {16, 18},
    [PCI_BUS] = {67, 33},
    [PCI_DEVICE] = {68, 34},
    [PCI_DOMAIN] = {69, 50},
};

static void describe(struct gpu *gpu)
{
    const kpk_platform platform = kpk_instance_device(gpu->inst)->platform;
    int value[NATTRIBUTES] = {0};

    for (int i = 0; i < NATTRIBUTES; i++)
        if (kpk_device_attr(gpu->inst, attributes[i][platform], &value[i]) !=
            KPK_OK)
            return; /* a driver without them: no PCI id */
    gpu->integrated = value[INTEGRATED] != 0;
    (void)snprintf(gpu->pci, sizeof(gpu->pci), "%04x:%02x:%02x.0",
                   (unsigned)value[PCI_DOMAIN] & 0xffff,
                   (unsigned)value[PCI_BUS] & 0xff,
                   (unsigned)value[PCI_DEVICE] & 0xff);
}

/* Devices without a code object in the pack are told of, and left out. */
static void find_devices(void)
{
    int n = 0;

    if (kpk_device_count(&n) != KPK_OK)
        return; /* no driver: no devices */
    for (int i = 0; i < n && found.n < MOST_DEVICES; i++) {
        struct gpu *gpu = calloc(1, sizeof(*gpu));

        if (!gpu)
            return;
        if (!gpu_check(
                kpk_open_modules(ops_modules, ops_nmodules, i, &gpu->inst),
                "a device is left out")) {
            free(gpu);
            continue;
        }
        (void)snprintf(gpu->name, sizeof(gpu->name), "KPACK%zu", found.n);
        upload_open(gpu);
        describe(gpu);
        gpu->device = (struct ggml_backend_device){
            .iface = of_device, .reg = &registry, .context = gpu};
        buffer_types(gpu);
        found.gpus[found.n++] = gpu;
    }
}

ggml_backend_reg_t ggml_backend_kpack_reg(void)
{
    if (!version_fits())
        return NULL;
    (void)pthread_once(&found.once, find_devices);
    return &registry;
}

int ggml_backend_score(void)
{
    return ggml_backend_kpack_reg() && found.n > 0;
}

ggml_backend_reg_t ggml_backend_init(void)
{
    return ggml_backend_kpack_reg();
}
