/* copy.c - copies of lines, rectangles and boxes
 *
 * A copy is an operation on a queue like a kernel. Its ends are addresses; an
 * address that lies in no allocation is ordinary memory of the program. For
 * such memory an asynchronous copy waits for its own end, or takes a copy of a
 * box, as the buffer may be gone when the call has returned; pinned memory is
 * the program's promise that it will not be.
 */
#define _GNU_SOURCE
#include "runtime.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct copy_op {
    struct op op;
    uint64_t dst, src;
    struct shape shape;
    bool dst_known, src_known; /* in an allocation */
    uint8_t *kept;             /* copy of the source's bytes; may be NULL */
};

/* Bytes from the first to the last of a box, SIZE_MAX if that overflows. */
size_t span(size_t width, size_t height, size_t depth, size_t pitch,
            size_t slice)
{
    size_t rows, slices, total;

    if (__builtin_mul_overflow(pitch, height - 1, &rows) ||
        __builtin_mul_overflow(slice, depth - 1, &slices) ||
        __builtin_add_overflow(rows, slices, &total) ||
        __builtin_add_overflow(total, width, &total))
        return SIZE_MAX;
    return total;
}

/* ---- copying ------------------------------------------------------------ */

static uint8_t *view_of(uint64_t address, size_t n, bool known)
{
    return known ? sim_mem_host_view(address, n)
                 : (uint8_t *)(uintptr_t)address;
}

static hipError_t run_copy(struct op *op)
{
    const struct copy_op *c = (const struct copy_op *)op;
    const struct shape *s = &c->shape;
    size_t row, slice;

    if (rt.copy_delay_us)
        usleep((useconds_t)rt.copy_delay_us);
    for (slice = 0; slice < s->depth; slice++)
        for (row = 0; row < s->height; row++) {
            uint64_t dst = c->dst + slice * s->dst_slice + row * s->dst_pitch;
            uint64_t src = c->src + slice * s->src_slice + row * s->src_pitch;
            uint8_t *to = view_of(dst, s->width, c->dst_known);
            const uint8_t *from = view_of(src, s->width, c->src_known);

            if (!to || !from) {
                complain("a copy of %zu bytes from 0x%llx to 0x%llx met memory "
                         "that was freed before it ran",
                         s->width, (unsigned long long)src,
                         (unsigned long long)dst);
                return hipErrorIllegalAddress;
            }
            memmove(to, from, s->width);
            if (c->dst_known && c->src_known)
                sim_mem_copy_written(dst, src, s->width);
            else if (c->dst_known)
                sim_mem_mark_written(dst, s->width);
        }
    return hipSuccess;
}

/* One end: inside an allocation that is large enough, or plain host memory
 * where the direction allows that. */
hipError_t check_end(const void *ptr, size_t n, bool may_be_plain, bool *known,
                     struct sim_alloc *a)
{
    *known = find_allocation(ptr, a);
    if (!*known)
        return may_be_plain ? hipSuccess : hipErrorInvalidValue;
    if (a->no_read == UINT64_MAX) /* mapped, and no device may touch it */
        return hipErrorInvalidValue;
    if (n > a->size - ((uintptr_t)ptr - a->base) &&
        (!a->shared || !sim_mem_host_view((uintptr_t)ptr, n)))
        return hipErrorInvalidValue;
    return hipSuccess;
}

struct ends {
    bool dst_known, src_known;
    struct sim_alloc dst, src;
};

/* The same copy in hipMemcpy3D()'s parameters. */
static hipMemcpy3DParms box_of(void *dst, const void *src,
                               const struct shape *s, int kind)
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

/* A blocking copy from or to another device waits for that one as well. */
static void wait_for_owner(const struct sim_alloc *a, const struct queue *q)
{
    struct device *owner = owner_of(a);
    struct queue *null;

    if (!owner || owner == q->device)
        return;
    null = null_queue(owner);
    if (null) {
        queue_wait(null);
        queue_unref(null);
    }
}

/* Looks up both ends, and checks their sizes and the direction. */
static hipError_t check_ends(void *dst, const void *src, const struct shape *s,
                             int *kind, struct ends *e)
{
    hipError_t error;

    if (!dst || !src)
        return hipErrorInvalidValue;
    if (*kind == hipMemcpyDeviceToDeviceNoCU) /* by a copy engine, or not */
        *kind = hipMemcpyDeviceToDevice;
    /* HIP 5.2 does not look. */
    if ((*kind < hipMemcpyHostToHost || *kind > hipMemcpyDefault) &&
        rt.release > 5)
        return hipErrorInvalidMemcpyDirection;
    error = check_end(
        dst, span(s->width, s->height, s->depth, s->dst_pitch, s->dst_slice),
        *kind != hipMemcpyHostToDevice && *kind != hipMemcpyDeviceToDevice,
        &e->dst_known, &e->dst);
    if (error != hipSuccess)
        return error;
    return check_end(
        src, span(s->width, s->height, s->depth, s->src_pitch, s->src_slice),
        *kind != hipMemcpyDeviceToHost && *kind != hipMemcpyDeviceToDevice,
        &e->src_known, &e->src);
}

/* How a call behaves: it returns when the copy is done, or when its memory is
 * no longer needed, which for a box of the program's own memory is at once: it
 * is put aside. */
enum waiting { WAITS_FOR_END, WAITS_FOR_PLAIN_MEMORY, KEEPS_PLAIN_BOX };

/* Where HIP counts it, pinned and managed memory too; NULL for other memory. */
static struct device *place(bool known, const struct sim_alloc *a)
{
    return known ? owner_of(a) : NULL;
}

/*
 * The device on whose default stream AMD's runtime copies a line, where that is
 * not the call's stream: neither end lies on the stream's device. NULL: the
 * copy runs on the call's stream.
 */
static struct device *elsewhere(const struct ends *e, const struct shape *s,
                                const struct queue *q)
{
    struct device *to = place(e->dst_known, &e->dst);
    struct device *from = place(e->src_known, &e->src);
    struct device *at = NULL;

    if (s->height != 1 || s->depth != 1 || rt.release < 6)
        return NULL;
    if (!to || !from || to == from)
        at = to ? to : from;
    else if (e->dst.kind != SIM_MEM_DEVICE && q->device != from)
        at = from;
    else if (e->src.kind != SIM_MEM_DEVICE)
        at = to;
    return at == q->device ? NULL : at;
}

/* Memory of one device is copied within it, and no host sees that: AMD's
 * runtime does not wait for the end, though the call is a blocking one. */
static bool stays_inside(const struct ends *e)
{
    return rt.release > 5 && e->dst_known && e->src_known &&
           e->dst.device == e->src.device && e->dst.kind == SIM_MEM_DEVICE &&
           e->src.kind == SIM_MEM_DEVICE && !e->dst.fine_grained &&
           !e->src.fine_grained && !e->dst.sync_memops && !e->src.sync_memops;
}

/* Between two places that the host reaches AMD's runtime copies itself, in the
 * call, once all that the stream held before is done. */
static bool stays_on_host(const struct ends *e)
{
    return e->dst_known && e->src_known &&
           (e->dst.kind == SIM_MEM_HOST || e->dst.kind == SIM_MEM_MANAGED) &&
           (e->src.kind == SIM_MEM_HOST || e->src.kind == SIM_MEM_MANAGED);
}

/* Has a queue wait for an operation that goes on elsewhere. */
static hipError_t wait_on_queue(struct queue *q, struct op *earlier)
{
    struct op *marker = new_op(sizeof(*marker), NULL, NULL);

    if (!marker)
        return hipErrorOutOfMemory;
    if (!op_after(marker, earlier)) {
        op_unref(marker);
        return hipErrorOutOfMemory;
    }
    return submit(q, marker);
}

/* On the default stream of another device, behind what the queue holds by now;
 * what the queue gets from now on comes behind it. */
static hipError_t submit_elsewhere(struct device *device, struct op *op,
                                   struct queue *q)
{
    struct queue *null = null_queue(device);
    hipError_t error = hipErrorOutOfMemory;

    if (!null || !op_after_queue(op, q)) {
        op_unref(op);
        goto out;
    }
    op_ref(op);
    error = submit(null, op);
    if (error == hipSuccess)
        error = wait_on_queue(q, op);
    op_unref(op);
out:
    if (null)
        queue_unref(null);
    return error;
}

static void free_kept(struct op *op)
{
    struct copy_op *c = (struct copy_op *)op;

    free(c->kept);
    c->kept = NULL;
}

static struct op *copy_op(void *dst, const void *src, const struct shape *s,
                          const struct ends *e)
{
    struct copy_op *c =
        (struct copy_op *)new_op(sizeof(*c), run_copy, free_kept);

    if (!c)
        return NULL;
    c->dst = (uintptr_t)dst;
    c->src = (uintptr_t)src;
    c->shape = *s;
    c->dst_known = e->dst_known;
    c->src_known = e->src_known;
    return &c->op;
}

/* Saves the source's box, row by row. False if memory is short. */
static bool keep_box(struct copy_op *c)
{
    struct shape *s = &c->shape;
    size_t row, slice;
    uint8_t *to;

    c->kept = malloc(s->width * s->height * s->depth);
    if (!c->kept)
        return false;
    to = c->kept;
    for (slice = 0; slice < s->depth; slice++)
        for (row = 0; row < s->height; row++, to += s->width)
            memcpy(to,
                   (const uint8_t *)(uintptr_t)c->src + slice * s->src_slice +
                       row * s->src_pitch,
                   s->width);
    c->src = (uintptr_t)c->kept;
    s->src_pitch = s->width;
    s->src_slice = s->width * s->height;
    return true;
}

static bool is_box_to_device(const struct shape *s, const struct ends *e)
{
    return (s->height > 1 || s->depth > 1) && !e->src_known && e->dst_known &&
           e->dst.kind == SIM_MEM_DEVICE && rt.release > 5;
}

static hipError_t copy_on(struct queue *q, void *dst, const void *src,
                          const struct shape *s, int kind, enum waiting waiting)
{
    struct ends e;
    struct device *other;
    struct op *op;
    hipError_t error;
    bool waits;

    error = check_ends(dst, src, s, &kind, &e);
    if (error != hipSuccess)
        return error;
    if (waiting == KEEPS_PLAIN_BOX && is_capturing(q)) {
        const hipMemcpy3DParms p = box_of(dst, src, s, kind);

        return capture_copy(q, &p);
    }
    if (e.dst_known && e.src_known && e.dst.kind == e.src.kind) {
        peers_map(e.dst.base, e.src.device);
        peers_map(e.src.base, e.dst.device);
    }
    other = elsewhere(&e, s, q);
    if (waiting == WAITS_FOR_END && stays_inside(&e))
        waiting = WAITS_FOR_PLAIN_MEMORY;
    if (waiting == WAITS_FOR_END && e.dst_known)
        wait_for_owner(&e.dst, q);
    if (waiting == WAITS_FOR_END && e.src_known)
        wait_for_owner(&e.src, q);
    op = copy_op(dst, src, s, &e);
    if (!op)
        return hipErrorOutOfMemory;
    waits = !e.dst_known || !e.src_known || waiting == WAITS_FOR_END ||
            stays_on_host(&e);
    if (waiting == KEEPS_PLAIN_BOX && is_box_to_device(s, &e))
        waits = !keep_box((struct copy_op *)op);
    op_ref(op);
    error = other ? submit_elsewhere(other, op, q) : submit(q, op);
    if (error == hipSuccess && waits) {
        op_wait(op);
        error = device_error(q->device);
    }
    op_unref(op);
    return error;
}

hipError_t copy(void *dst, const void *src, const struct shape *shape, int kind,
                struct queue *q, bool blocking)
{
    hipError_t error = hipSuccess;

    if (!q)
        return hipErrorContextIsDestroyed;
    if (shape->width && shape->height && shape->depth)
        error = copy_on(q, dst, src, shape, kind,
                        blocking ? WAITS_FOR_END : KEEPS_PLAIN_BOX);
    queue_unref(q);
    return error;
}

hipError_t copy_line(void *dst, const void *src, size_t n, int kind,
                     struct queue *q, bool blocking)
{
    struct shape shape = {.width = n, .height = 1, .depth = 1};

    return copy(dst, src, &shape, kind, q, blocking);
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

    if (q && rt.release < 7)
        return copy_line(dst, src, n, kind, q, !is_capturing(q));
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
    return device_at(to) && device_at(from) ? hipSuccess
                                            : hipErrorInvalidDevice;
}

/* Has a device's default stream wait for a copy that another does, so that
 * whoever frees its memory does. */
static hipError_t wait_on_device(struct device *device, struct op *op,
                                 const struct queue *q)
{
    struct queue *null = device ? null_queue(device) : NULL;
    hipError_t error = hipSuccess;

    if (!null)
        return device ? hipErrorOutOfMemory : hipSuccess;
    if (null != q)
        error = wait_on_queue(null, op);
    queue_unref(null);
    return error;
}

/*
 * Returns before the copy is done, as AMD's does. It comes behind all that both
 * devices have to do by now, and their default streams come behind it.
 */
static hipError_t copy_peer(void *dst, const void *src, size_t n,
                            struct queue *q)
{
    const struct shape s = {.width = n, .height = 1, .depth = 1};
    struct device *to, *from;
    int kind = hipMemcpyDeviceToDevice;
    struct ends e;
    struct op *op;
    hipError_t error = check_ends(dst, src, &s, &kind, &e);

    if (error != hipSuccess)
        return error;
    peers_map(e.dst.base, e.src.device);
    peers_map(e.src.base, e.dst.device);
    to = owner_of(&e.dst);
    from = owner_of(&e.src);
    op = copy_op(dst, src, &s, &e);
    if (!op)
        return hipErrorOutOfMemory;
    if ((to && !op_after_device(op, to)) ||
        (from && !op_after_device(op, from))) {
        op_unref(op);
        return hipErrorOutOfMemory;
    }
    op_ref(op);
    error = submit(q, op);
    if (error == hipSuccess)
        error = wait_on_device(to, op, q);
    if (error == hipSuccess)
        error = wait_on_device(from, op, q);
    op_unref(op);
    return error;
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
    if (rt.release < 6 || n == 0 || !find_allocation(dst, &a) ||
        !find_allocation(src, &b) || a.device == b.device ||
        a.kind != SIM_MEM_DEVICE || b.kind != SIM_MEM_DEVICE || a.sync_memops ||
        b.sync_memops)
        return copy_line(dst, src, n, hipMemcpyDeviceToDevice, q, true);
    error = copy_peer(dst, src, n, q);
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
    const struct shape line = {.width = n, .height = 1, .depth = 1};
    hipError_t error = hipSuccess;

    if (!q || rt.release == 5)
        return copy_line(dst, src, n, hipMemcpyDeviceToDevice, q, false);
    if (n)
        error = copy_on(q, dst, src, &line, hipMemcpyDeviceToDevice,
                        WAITS_FOR_PLAIN_MEMORY);
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
    struct shape s = {.width = width,
                      .height = height,
                      .depth = 1,
                      .dst_pitch = dst_pitch,
                      .src_pitch = src_pitch};

    if (width && height && (width > dst_pitch || width > src_pitch)) {
        if (q)
            queue_unref(q);
        return hipErrorInvalidPitchValue;
    }
    return copy(dst, src, &s, kind, q, blocking);
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

/*
 * One end of a box that is an array, in bytes of linear memory: widths are
 * counted in its elements, and places in it, too.
 */
static hipError_t end_in_array(const void *array, struct rows *rows,
                               hipPos *pos, hipPitchedPtr *ptr)
{
    if (!array_rows(array, rows))
        return hipErrorInvalidHandle;
    if (pos->x > rows->row / rows->element || pos->y > rows->nrows ||
        pos->z > rows->nslices)
        return hipErrorInvalidValue;
    *ptr = (hipPitchedPtr){rows->at, rows->pitch, rows->row, rows->nrows};
    pos->x *= rows->element;
    return hipSuccess;
}

static bool fits_in_array(const struct rows *rows, const hipPos *pos,
                          const hipExtent *extent)
{
    return !rows->element || (extent->width <= rows->row - pos->x &&
                              extent->height <= rows->nrows - pos->y &&
                              extent->depth <= rows->nslices - pos->z);
}

/* Replaces a box's arrays by plain memory, and gives their rows. An end without
 * an array has elements of 0 bytes. */
static hipError_t without_arrays(const hipMemcpy3DParms *p,
                                 hipMemcpy3DParms *out, struct rows *to,
                                 struct rows *from)
{
    hipError_t error = hipSuccess;
    size_t element;

    *out = *p;
    to->element = from->element = 0;
    if ((p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
        return hipErrorInvalidValue;
    if (p->dstArray)
        error = end_in_array(p->dstArray, to, &out->dstPos, &out->dstPtr);
    if (p->srcArray && error == hipSuccess)
        error = end_in_array(p->srcArray, from, &out->srcPos, &out->srcPtr);
    if (error != hipSuccess)
        return error;
    if (to->element && from->element && to->element != from->element)
        return hipErrorInvalidValue;
    element = to->element ? to->element : from->element;
    if (element && out->extent.width > SIZE_MAX / element)
        return hipErrorInvalidValue;
    out->extent.width *= element ? element : 1;
    if (!fits_in_array(to, &out->dstPos, &out->extent) ||
        !fits_in_array(from, &out->srcPos, &out->extent))
        return hipErrorInvalidValue;
    return hipSuccess;
}

/* The first byte of a box; without memory none, wherever in it. */
static void *first_byte(hipPitchedPtr in, hipPos at, size_t slice)
{
    return in.ptr ? (uint8_t *)in.ptr + at.x + at.y * in.pitch + at.z * slice
                  : NULL;
}

static hipError_t read_box(const hipMemcpy3DParms *given, struct shape *s,
                           void **dst, const void **src)
{
    hipMemcpy3DParms box;
    const hipMemcpy3DParms *p = &box;
    struct rows to, from;
    hipError_t error =
        given ? without_arrays(given, &box, &to, &from) : hipErrorInvalidValue;

    if (error != hipSuccess)
        return error;
    if (p->srcPtr.ptr && p->dstPtr.ptr && rt.release > 5) {
        if (p->srcPtr.pitch < p->srcPtr.xsize ||
            p->dstPtr.pitch < p->dstPtr.xsize)
            return hipErrorInvalidPitchValue;
        /* A line, as graphs hold it, may be longer. */
        if (((p->srcPtr.pitch >= INT_MAX || p->dstPtr.pitch >= INT_MAX) &&
             (p->srcPtr.ysize != 1 || p->dstPtr.ysize != 1)) ||
            p->extent.width + p->dstPos.x > p->dstPtr.pitch ||
            p->extent.width + p->srcPos.x > p->srcPtr.pitch)
            return hipErrorInvalidValue;
    }
    s->width = p->extent.width;
    s->height = p->extent.height;
    s->depth = p->extent.depth;
    s->dst_pitch = p->dstPtr.pitch;
    s->src_pitch = p->srcPtr.pitch;
    s->dst_slice = to.element ? to.slice : p->dstPtr.pitch * p->dstPtr.ysize;
    s->src_slice =
        from.element ? from.slice : p->srcPtr.pitch * p->srcPtr.ysize;
    *dst = first_byte(p->dstPtr, p->dstPos, s->dst_slice);
    *src = first_byte(p->srcPtr, p->srcPos, s->src_slice);
    return hipSuccess;
}

hipError_t copy_3d(const hipMemcpy3DParms *p, struct queue *q, bool blocking)
{
    struct shape s;
    const void *src;
    void *dst;
    hipError_t error = read_box(p, &s, &dst, &src);

    if (error != hipSuccess) {
        if (q)
            queue_unref(q);
        return error;
    }
    return copy(dst, src, &s, (int)p->kind, q, blocking);
}

hipError_t copy_box_check(const hipMemcpy3DParms *p)
{
    struct ends e;
    struct shape s;
    const void *src;
    void *dst;
    int kind;
    hipError_t error = read_box(p, &s, &dst, &src);

    if (error != hipSuccess)
        return error;
    kind = (int)p->kind;
    return check_ends(dst, src, &s, &kind, &e);
}

hipError_t copy_box(const hipMemcpy3DParms *p, struct queue *q)
{
    struct shape s;
    const void *src;
    void *dst;
    hipError_t error = read_box(p, &s, &dst, &src);

    if (error != hipSuccess || !s.width || !s.height || !s.depth)
        return error;
    return copy_on(q, dst, src, &s, (int)p->kind, WAITS_FOR_PLAIN_MEMORY);
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
    hipError_t error = host_variable(symbol, &address, &size);

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
