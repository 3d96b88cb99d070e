/* copy_op.c - the operation that copies lines, rectangles and boxes
 *
 * A copy is an operation on a queue like a kernel. Its ends are addresses; an
 * address that lies in no allocation is ordinary memory of the program. For
 * such memory an asynchronous copy waits for its own end, or takes a copy of a
 * box, as the buffer may be gone when the call has returned; pinned memory is
 * the program's promise that it will not be.
 */
#include "copy_op.h"

#include "allocation_lookup.h"
#include "hip_array.h"
#include "hip_peer.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"

#include "../base/allocation.h"
#include "../base/host_access.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct copy_op {
    struct op op;
    uint64_t dst, src;
    struct copy_shape shape;
    bool dst_known, src_known; /* in an allocation */
    uint8_t *kept;             /* copy of the source's bytes; may be NULL */
};

size_t copy_span(size_t width, size_t height, size_t depth, size_t pitch,
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
    const struct copy_shape *s = &c->shape;
    size_t row, slice;

    if (process.copy_delay_us)
        usleep((useconds_t)process.copy_delay_us);
    for (slice = 0; slice < s->depth; slice++)
        for (row = 0; row < s->height; row++) {
            uint64_t dst = c->dst + slice * s->dst_slice + row * s->dst_pitch;
            uint64_t src = c->src + slice * s->src_slice + row * s->src_pitch;
            uint8_t *to = view_of(dst, s->width, c->dst_known);
            const uint8_t *from = view_of(src, s->width, c->src_known);

            if (!to || !from) {
                process_complain(
                    "a copy of %zu bytes from 0x%llx to 0x%llx met memory "
                    "that was freed before it ran",
                    s->width, (unsigned long long)src, (unsigned long long)dst);
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

hipError_t copy_check_end(const void *ptr, size_t n, bool may_be_plain,
                          bool *known, struct sim_alloc *a)
{
    *known = allocation_find(ptr, a);
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

/* A blocking copy from or to another device waits for that device, too. */
static void wait_for_owner(const struct sim_alloc *a, const struct queue *q)
{
    struct device *owner = allocation_owner(a);
    struct queue *null;

    if (!owner || owner == q->device)
        return;
    null = stream_null_queue(owner);
    if (null) {
        queue_wait(null);
        queue_unref(null);
    }
}

/* Looks up both ends, and checks their sizes and the direction. */
static hipError_t check_ends(void *dst, const void *src,
                             const struct copy_shape *s, int *kind,
                             struct ends *e)
{
    hipError_t error;

    if (!dst || !src)
        return hipErrorInvalidValue;
    if (*kind == hipMemcpyDeviceToDeviceNoCU) /* by a copy engine, or not */
        *kind = hipMemcpyDeviceToDevice;
    /* HIP 5.2 does not check it. */
    if ((*kind < hipMemcpyHostToHost || *kind > hipMemcpyDefault) &&
        process.release > 5)
        return hipErrorInvalidMemcpyDirection;
    error = copy_check_end(
        dst,
        copy_span(s->width, s->height, s->depth, s->dst_pitch, s->dst_slice),
        *kind != hipMemcpyHostToDevice && *kind != hipMemcpyDeviceToDevice,
        &e->dst_known, &e->dst);
    if (error != hipSuccess)
        return error;
    return copy_check_end(
        src,
        copy_span(s->width, s->height, s->depth, s->src_pitch, s->src_slice),
        *kind != hipMemcpyDeviceToHost && *kind != hipMemcpyDeviceToDevice,
        &e->src_known, &e->src);
}

hipError_t copy_check(void *dst, const void *src, const struct copy_shape *s,
                      int *kind)
{
    struct ends e;

    return check_ends(dst, src, s, kind, &e);
}

/* Where HIP counts it, pinned and managed memory too; NULL for other memory. */
static struct device *place(bool known, const struct sim_alloc *a)
{
    return known ? allocation_owner(a) : NULL;
}

/*
 * The device on whose default stream AMD's runtime copies a line, where that is
 * not the call's stream: neither end lies on the stream's device. NULL: the
 * copy runs on the call's stream.
 */
static struct device *elsewhere(const struct ends *e,
                                const struct copy_shape *s,
                                const struct queue *q)
{
    struct device *to = place(e->dst_known, &e->dst);
    struct device *from = place(e->src_known, &e->src);
    struct device *at = NULL;

    if (s->height != 1 || s->depth != 1 || process.release < 6)
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
    return process.release > 5 && e->dst_known && e->src_known &&
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
    struct op *marker = op_new(sizeof(*marker), NULL, NULL);

    if (!marker)
        return hipErrorOutOfMemory;
    if (!op_after(marker, earlier)) {
        op_unref(marker);
        return hipErrorOutOfMemory;
    }
    return op_submit(q, marker);
}

/* Submits an operation to the default stream of another device. It follows the
 * queue's current operations, and the queue's later operations follow it. */
static hipError_t submit_elsewhere(struct device *device, struct op *op,
                                   struct queue *q)
{
    struct queue *null = stream_null_queue(device);
    hipError_t error = hipErrorOutOfMemory;

    if (!null || !op_after_queue(op, q)) {
        op_unref(op);
        goto out;
    }
    op_ref(op);
    error = op_submit(null, op);
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

static struct op *copy_op(void *dst, const void *src,
                          const struct copy_shape *s, const struct ends *e)
{
    struct copy_op *c =
        (struct copy_op *)op_new(sizeof(*c), run_copy, free_kept);

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
    struct copy_shape *s = &c->shape;
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

static bool is_box_to_device(const struct copy_shape *s, const struct ends *e)
{
    return (s->height > 1 || s->depth > 1) && !e->src_known && e->dst_known &&
           e->dst.kind == SIM_MEM_DEVICE && process.release > 5;
}

hipError_t copy_on(struct queue *q, void *dst, const void *src,
                   const struct copy_shape *s, int kind,
                   enum copy_waiting waiting)
{
    struct ends e;
    struct device *other;
    struct op *op;
    hipError_t error;
    bool waits;

    error = check_ends(dst, src, s, &kind, &e);
    if (error != hipSuccess)
        return error;
    if (e.dst_known && e.src_known && e.dst.kind == e.src.kind) {
        peers_map(e.dst.base, e.src.device);
        peers_map(e.src.base, e.dst.device);
    }
    other = elsewhere(&e, s, q);
    if (waiting == COPY_WAITS_FOR_END && stays_inside(&e))
        waiting = COPY_WAITS_FOR_PLAIN_MEMORY;
    if (waiting == COPY_WAITS_FOR_END && e.dst_known)
        wait_for_owner(&e.dst, q);
    if (waiting == COPY_WAITS_FOR_END && e.src_known)
        wait_for_owner(&e.src, q);
    op = copy_op(dst, src, s, &e);
    if (!op)
        return hipErrorOutOfMemory;
    waits = !e.dst_known || !e.src_known || waiting == COPY_WAITS_FOR_END ||
            stays_on_host(&e);
    if (waiting == COPY_KEEPS_PLAIN_BOX && is_box_to_device(s, &e))
        waits = !keep_box((struct copy_op *)op);
    op_ref(op);
    error = other ? submit_elsewhere(other, op, q) : op_submit(q, op);
    if (error == hipSuccess && waits) {
        op_wait(op);
        error = queues_error(q->device);
    }
    op_unref(op);
    return error;
}

/* Has a device's default stream wait for another device's copy, so that freeing
 * the device's memory waits, too. */
static hipError_t wait_on_device(struct device *device, struct op *op,
                                 const struct queue *q)
{
    struct queue *null = device ? stream_null_queue(device) : NULL;
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
hipError_t copy_between_devices(void *dst, const void *src, size_t n,
                                struct queue *q)
{
    const struct copy_shape s = {.width = n, .height = 1, .depth = 1};
    struct device *to, *from;
    int kind = hipMemcpyDeviceToDevice;
    struct ends e;
    struct op *op;
    hipError_t error = check_ends(dst, src, &s, &kind, &e);

    if (error != hipSuccess)
        return error;
    peers_map(e.dst.base, e.src.device);
    peers_map(e.src.base, e.dst.device);
    to = allocation_owner(&e.dst);
    from = allocation_owner(&e.src);
    op = copy_op(dst, src, &s, &e);
    if (!op)
        return hipErrorOutOfMemory;
    if ((to && !op_after_device(op, to)) ||
        (from && !op_after_device(op, from))) {
        op_unref(op);
        return hipErrorOutOfMemory;
    }
    op_ref(op);
    error = op_submit(q, op);
    if (error == hipSuccess)
        error = wait_on_device(to, op, q);
    if (error == hipSuccess)
        error = wait_on_device(from, op, q);
    op_unref(op);
    return error;
}

/* ---- boxes -------------------------------------------------------------- */

/*
 * One end of a box that is an array, in bytes of linear memory: widths are
 * counted in its elements, and places in it, too.
 */
static hipError_t end_in_array(const void *array, struct array_rows *rows,
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

static bool fits_in_array(const struct array_rows *rows, const hipPos *pos,
                          const hipExtent *extent)
{
    return !rows->element || (extent->width <= rows->row - pos->x &&
                              extent->height <= rows->nrows - pos->y &&
                              extent->depth <= rows->nslices - pos->z);
}

/* Replaces a box's arrays by plain memory, and gives their rows. An end without
 * an array has elements of 0 bytes. */
static hipError_t without_arrays(const hipMemcpy3DParms *p,
                                 hipMemcpy3DParms *out, struct array_rows *to,
                                 struct array_rows *from)
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

hipError_t copy_read_box(const hipMemcpy3DParms *given, struct copy_shape *s,
                         void **dst, const void **src)
{
    hipMemcpy3DParms box;
    const hipMemcpy3DParms *p = &box;
    struct array_rows to, from;
    hipError_t error =
        given ? without_arrays(given, &box, &to, &from) : hipErrorInvalidValue;

    if (error != hipSuccess)
        return error;
    if (p->srcPtr.ptr && p->dstPtr.ptr && process.release > 5) {
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

hipError_t copy_box_check(const hipMemcpy3DParms *p)
{
    struct ends e;
    struct copy_shape s;
    const void *src;
    void *dst;
    int kind;
    hipError_t error = copy_read_box(p, &s, &dst, &src);

    if (error != hipSuccess)
        return error;
    kind = (int)p->kind;
    return check_ends(dst, src, &s, &kind, &e);
}

hipError_t copy_box(const hipMemcpy3DParms *p, struct queue *q)
{
    struct copy_shape s;
    const void *src;
    void *dst;
    hipError_t error = copy_read_box(p, &s, &dst, &src);

    if (error != hipSuccess || !s.width || !s.height || !s.depth)
        return error;
    return copy_on(q, dst, src, &s, (int)p->kind, COPY_WAITS_FOR_PLAIN_MEMORY);
}
