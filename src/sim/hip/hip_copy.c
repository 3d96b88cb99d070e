/* hip_copy.c - copies of lines, rectangles and boxes, and device variables */
#define _GNU_SOURCE
#include "hip_copy.h"

#include "allocation_lookup.h"
#include "call.h"
#include "capture_node.h"
#include "capture_state.h"
#include "copy_op.h"
#include "hip_register.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"

#include "../base/allocation.h"

/* The same copy in hipMemcpy3D()'s parameters. */
static hipMemcpy3DParms box_of(void *dst, const void *src,
                               const struct copy_shape *s, int kind)
{
    const size_t to = s->dst_pitch ? s->dst_pitch : s->width;
    const size_t from = s->src_pitch ? s->src_pitch : s->width;

    return (hipMemcpy3DParms){
        .dstPtr = {dst, to, s->width,
                   s->dst_slice ? s->dst_slice / to : s->height},
        .srcPtr = {(void *)(uintptr_t)src, from, s->width,
                   s->src_slice ? s->src_slice / from : s->height},
        .extent = {s->width, s->height, s->depth},
        .kind = (hipMemcpyKind)kind};
}

static hipError_t record(struct queue *q, void *dst, const void *src,
                         const struct copy_shape *s, int kind)
{
    const hipError_t error = copy_check(dst, src, s, &kind);
    hipMemcpy3DParms box;

    if (error != hipSuccess)
        return error;
    box = box_of(dst, src, s, kind);
    return capture_copy(q, &box);
}

hipError_t copy_submit(void *dst, const void *src,
                       const struct copy_shape *shape, int kind,
                       struct queue *q, bool blocking)
{
    hipError_t error;

    if (!q)
        return hipErrorContextIsDestroyed;
    if (!shape->width || !shape->height || !shape->depth)
        error = hipSuccess;
    else if (!blocking && capture_is_active(q))
        error = record(q, dst, src, shape, kind);
    else
        error = copy_on(q, dst, src, shape, kind,
                        blocking ? COPY_WAITS_FOR_END : COPY_KEEPS_PLAIN_BOX);
    queue_unref(q);
    return error;
}

hipError_t copy_line(void *dst, const void *src, size_t n, int kind,
                     struct queue *q, bool blocking)
{
    struct copy_shape shape = {.width = n, .height = 1, .depth = 1};

    return copy_submit(dst, src, &shape, kind, q, blocking);
}

/*
 * X(name, parameters, blocking, stream, destination, source, bytes, kind). The
 * names that differ by their direction alone come from one row each.
 */
/* clang-format off */
#define COPY_TABLE(X)                                                                                                            \
    X(hipMemcpy,          (void *dst, const void *src, size_t n, int kind),                     true,  stream_queue(NULL), kind) \
    X(hipMemcpy_spt,      (void *dst, const void *src, size_t n, int kind),                     true,  stream_queue_spt(NULL), kind) \
    X(hipMemcpyAsync,     (void *dst, const void *src, size_t n, int kind, hipStream_t stream), false, stream_queue(stream), kind) \
    X(hipMemcpyAsync_spt, (void *dst, const void *src, size_t n, int kind, hipStream_t stream), false, stream_queue_spt(stream), kind) \
    X(hipMemcpyHtoD,      (hipDeviceptr_t dst, const void *src, size_t n),                      true,  stream_queue(NULL), hipMemcpyHostToDevice) \
    X(hipMemcpyDtoH,      (void *dst, hipDeviceptr_t src, size_t n),                            true,  stream_queue(NULL), hipMemcpyDeviceToHost) \
    X(hipMemcpyDtoD,      (hipDeviceptr_t dst, hipDeviceptr_t src, size_t n),                   true,  stream_queue(NULL), hipMemcpyDeviceToDevice) \
    X(hipMemcpyHtoDAsync, (hipDeviceptr_t dst, const void *src, size_t n, hipStream_t stream),  false, stream_queue(stream), hipMemcpyHostToDevice) \
    X(hipMemcpyDtoHAsync, (void *dst, hipDeviceptr_t src, size_t n, hipStream_t stream),        false, stream_queue(stream), hipMemcpyDeviceToHost) \
    X(hipMemcpyDtoDAsync, (hipDeviceptr_t dst, hipDeviceptr_t src, size_t n, hipStream_t stream), false, stream_queue(stream), hipMemcpyDeviceToDevice)
/* clang-format on */

#define X(name, parameters, blocking, queue, kind)                             \
    HIP_API hipError_t name parameters                                         \
    {                                                                          \
        ENTER();                                                               \
        LEAVE(copy_line(dst, src, n, kind, queue, blocking));                  \
    }
COPY_TABLE(X)
#undef X

/* Before HIP 7 it is recorded on a captured stream. */
static hipError_t copy_with_stream(void *dst, const void *src, size_t n,
                                   int kind, struct queue *q)
{
    hipError_t error = hipSuccess;

    if (q && process.release < 7)
        return copy_line(dst, src, n, kind, q, !capture_is_active(q));
    if (q)
        error = capture_forbids_wait(q);
    if (error == hipSuccess)
        return copy_line(dst, src, n, kind, q, true);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipMemcpyWithStream(void *dst, const void *src, size_t n,
                                       int kind, hipStream_t stream)
{
    ENTER();
    LEAVE(copy_with_stream(dst, src, n, kind, stream_queue(stream)));
}

static hipError_t check_peers(int to, int from)
{
    return process_device(to) && process_device(from) ? hipSuccess
                                                      : hipErrorInvalidDevice;
}

static hipError_t copy_between(void *dst, int to, const void *src, int from,
                               size_t n)
{
    struct sim_alloc a, b;
    struct queue *q;
    hipError_t error;

    if (check_peers(to, from) != hipSuccess)
        return hipErrorInvalidDevice;
    q = stream_queue(NULL);
    if (!q)
        return hipErrorContextIsDestroyed;
    if (process.release < 6 || n == 0 || !allocation_find(dst, &a) ||
        !allocation_find(src, &b) || a.device == b.device ||
        a.kind != SIM_MEM_DEVICE || b.kind != SIM_MEM_DEVICE || a.sync_memops ||
        b.sync_memops)
        return copy_line(dst, src, n, hipMemcpyDeviceToDevice, q, true);
    error = copy_between_devices(dst, src, n, q);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipMemcpyPeer(void *dst, int to, const void *src, int from,
                                 size_t n)
{
    ENTER();
    LEAVE(copy_between(dst, to, src, from, n));
}

/* After HIP 5 it runs at once on a captured stream. */
static hipError_t copy_peer_async(void *dst, const void *src, size_t n,
                                  struct queue *q)
{
    const struct copy_shape line = {.width = n, .height = 1, .depth = 1};
    hipError_t error = hipSuccess;

    if (!q || process.release == 5)
        return copy_line(dst, src, n, hipMemcpyDeviceToDevice, q, false);
    if (n)
        error = copy_on(q, dst, src, &line, hipMemcpyDeviceToDevice,
                        COPY_WAITS_FOR_PLAIN_MEMORY);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipMemcpyPeerAsync(void *dst, int to, const void *src,
                                      int from, size_t n, hipStream_t stream)
{
    ENTER();
    if (check_peers(to, from) != hipSuccess)
        LEAVE(hipErrorInvalidDevice);
    LEAVE(copy_peer_async(dst, src, n, stream_queue(stream)));
}

static hipError_t copy_2d(void *dst, size_t dst_pitch, const void *src,
                          size_t src_pitch, size_t width, size_t height,
                          int kind, struct queue *q, bool blocking)
{
    struct copy_shape s = {.width = width,
                           .height = height,
                           .depth = 1,
                           .dst_pitch = dst_pitch,
                           .src_pitch = src_pitch};

    if (width && height && (width > dst_pitch || width > src_pitch)) {
        if (q)
            queue_unref(q);
        return hipErrorInvalidPitchValue;
    }
    return copy_submit(dst, src, &s, kind, q, blocking);
}

HIP_API hipError_t hipMemcpy2D(void *dst, size_t dst_pitch, const void *src,
                               size_t src_pitch, size_t width, size_t height,
                               int kind)
{
    ENTER();
    LEAVE(copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind,
                  stream_queue(NULL), true));
}

HIP_API hipError_t hipMemcpy2D_spt(void *dst, size_t dst_pitch, const void *src,
                                   size_t src_pitch, size_t width,
                                   size_t height, int kind)
{
    ENTER();
    LEAVE(copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind,
                  stream_queue_spt(NULL), true));
}

HIP_API hipError_t hipMemcpy2DAsync(void *dst, size_t dst_pitch,
                                    const void *src, size_t src_pitch,
                                    size_t width, size_t height, int kind,
                                    hipStream_t stream)
{
    ENTER();
    LEAVE(copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind,
                  stream_queue(stream), false));
}

HIP_API hipError_t hipMemcpy2DAsync_spt(void *dst, size_t dst_pitch,
                                        const void *src, size_t src_pitch,
                                        size_t width, size_t height, int kind,
                                        hipStream_t stream)
{
    ENTER();
    LEAVE(copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind,
                  stream_queue_spt(stream), false));
}

hipError_t copy_3d(const hipMemcpy3DParms *p, struct queue *q, bool blocking)
{
    struct copy_shape s;
    const void *src;
    void *dst;
    hipError_t error = copy_read_box(p, &s, &dst, &src);

    if (error != hipSuccess) {
        if (q)
            queue_unref(q);
        return error;
    }
    return copy_submit(dst, src, &s, (int)p->kind, q, blocking);
}

HIP_API hipError_t hipMemcpy3D(const hipMemcpy3DParms *p)
{
    ENTER();
    LEAVE(copy_3d(p, stream_queue(NULL), true));
}

HIP_API hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms *p)
{
    ENTER();
    LEAVE(copy_3d(p, stream_queue_spt(NULL), true));
}

HIP_API hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms *p,
                                    hipStream_t stream)
{
    ENTER();
    LEAVE(copy_3d(p, stream_queue(stream), false));
}

HIP_API hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms *p,
                                        hipStream_t stream)
{
    ENTER();
    LEAVE(copy_3d(p, stream_queue_spt(stream), false));
}

/* ---- device variables --------------------------------------------------- */

static hipError_t symbol_copy(const void *symbol, void *to, const void *from,
                              size_t n, size_t offset, int kind,
                              struct queue *q, bool blocking)
{
    uint64_t address, size;
    hipError_t error = registered_variable(symbol, &address, &size);

    if (error == hipSuccess && (offset > size || n > size - offset))
        error = hipErrorInvalidValue;
    if (error == hipSuccess &&
        (kind == (to ? hipMemcpyHostToDevice : hipMemcpyDeviceToHost) ||
         kind < hipMemcpyHostToDevice || kind > hipMemcpyDefault))
        error = hipErrorInvalidMemcpyDirection;
    if (error != hipSuccess) {
        if (q)
            queue_unref(q);
        return error;
    }
    address += offset;
    return copy_line(to ? to : (void *)(uintptr_t)address,
                     from ? from : (const void *)(uintptr_t)address, n, kind, q,
                     blocking);
}

HIP_API hipError_t hipMemcpyToSymbol(const void *symbol, const void *src,
                                     size_t n, size_t offset, int kind)
{
    ENTER();
    if (!src)
        LEAVE(n ? hipErrorInvalidValue : hipSuccess);
    LEAVE(symbol_copy(symbol, NULL, src, n, offset, kind, stream_queue(NULL),
                      true));
}

HIP_API hipError_t hipMemcpyToSymbol_spt(const void *symbol, const void *src,
                                         size_t n, size_t offset, int kind)
{
    ENTER();
    if (!src)
        LEAVE(n ? hipErrorInvalidValue : hipSuccess);
    LEAVE(symbol_copy(symbol, NULL, src, n, offset, kind,
                      stream_queue_spt(NULL), true));
}

HIP_API hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *src,
                                          size_t n, size_t offset, int kind,
                                          hipStream_t stream)
{
    ENTER();
    if (!src)
        LEAVE(n ? hipErrorInvalidValue : hipSuccess);
    LEAVE(symbol_copy(symbol, NULL, src, n, offset, kind, stream_queue(stream),
                      false));
}

HIP_API hipError_t hipMemcpyToSymbolAsync_spt(const void *symbol,
                                              const void *src, size_t n,
                                              size_t offset, int kind,
                                              hipStream_t stream)
{
    ENTER();
    if (!src)
        LEAVE(n ? hipErrorInvalidValue : hipSuccess);
    LEAVE(symbol_copy(symbol, NULL, src, n, offset, kind,
                      stream_queue_spt(stream), false));
}

HIP_API hipError_t hipMemcpyFromSymbol(void *dst, const void *symbol, size_t n,
                                       size_t offset, int kind)
{
    ENTER();
    if (!dst)
        LEAVE(n ? hipErrorInvalidValue : hipSuccess);
    LEAVE(symbol_copy(symbol, dst, NULL, n, offset, kind, stream_queue(NULL),
                      true));
}

HIP_API hipError_t hipMemcpyFromSymbol_spt(void *dst, const void *symbol,
                                           size_t n, size_t offset, int kind)
{
    ENTER();
    if (!dst)
        LEAVE(n ? hipErrorInvalidValue : hipSuccess);
    LEAVE(symbol_copy(symbol, dst, NULL, n, offset, kind,
                      stream_queue_spt(NULL), true));
}

HIP_API hipError_t hipMemcpyFromSymbolAsync(void *dst, const void *symbol,
                                            size_t n, size_t offset, int kind,
                                            hipStream_t stream)
{
    ENTER();
    if (!dst)
        LEAVE(n ? hipErrorInvalidValue : hipSuccess);
    LEAVE(symbol_copy(symbol, dst, NULL, n, offset, kind, stream_queue(stream),
                      false));
}

HIP_API hipError_t hipMemcpyFromSymbolAsync_spt(void *dst, const void *symbol,
                                                size_t n, size_t offset,
                                                int kind, hipStream_t stream)
{
    ENTER();
    if (!dst)
        LEAVE(n ? hipErrorInvalidValue : hipSuccess);
    LEAVE(symbol_copy(symbol, dst, NULL, n, offset, kind,
                      stream_queue_spt(stream), false));
}
