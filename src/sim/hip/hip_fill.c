/* hip_fill.c - fills of lines, rectangles and boxes
 *
 * A fill is an operation on a queue. Its value has one, two or four bytes.
 */
#define _GNU_SOURCE
#include "call.h"
#include "capture_node.h"
#include "capture_state.h"
#include "fill_op.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"

#include "../base/allocation.h"

static hipError_t fill(const struct fill *f, struct queue *q, bool blocking)
{
    hipError_t error = hipSuccess;
    struct sim_alloc a;

    if (!q)
        return hipErrorContextIsDestroyed;
    if (f->width && f->height && f->depth) {
        error = fill_find(f, &a);
        if (error == hipSuccess && capture_is_active(q))
            error = capture_fill(q, f);
        else if (error == hipSuccess)
            /* Device memory is filled without waiting, also by hipMemset(). */
            error = fill_on(f, q, blocking && a.kind != SIM_MEM_DEVICE);
    }
    queue_unref(q);
    return error;
}

static hipError_t fill_line(void *dst, uint32_t value, uint32_t element,
                            size_t count, struct queue *q, bool blocking)
{
    struct fill f = {.dst = (uintptr_t)dst,
                     .height = 1,
                     .depth = 1,
                     .value = value,
                     .element = element};

    if (__builtin_mul_overflow(count, (size_t)element, &f.width)) {
        if (q)
            queue_unref(q);
        return hipErrorInvalidValue;
    }
    return fill(&f, q, blocking);
}

/* X(name, value's type, bytes of an element, parameters, queue, blocking) */
/* clang-format off */
#define FILL_TABLE(X)                                                                           \
    X(hipMemset,         void *,         int,            1, PARAMS,      stream_queue(NULL),       true)  \
    X(hipMemset_spt,     void *,         int,            1, PARAMS,      stream_queue_spt(NULL),   true)  \
    X(hipMemsetAsync,    void *,         int,            1, ON_STREAM,   stream_queue(stream),     false) \
    X(hipMemsetAsync_spt, void *,        int,            1, ON_STREAM,   stream_queue_spt(stream), false) \
    X(hipMemsetD8,       hipDeviceptr_t, unsigned char,  1, PARAMS,      stream_queue(NULL),       true)  \
    X(hipMemsetD16,      hipDeviceptr_t, unsigned short, 2, PARAMS,      stream_queue(NULL),       true)  \
    X(hipMemsetD32,      hipDeviceptr_t, int,            4, PARAMS,      stream_queue(NULL),       true)  \
    X(hipMemsetD8Async,  hipDeviceptr_t, unsigned char,  1, ON_STREAM,   stream_queue(stream),     false) \
    X(hipMemsetD16Async, hipDeviceptr_t, unsigned short, 2, ON_STREAM,   stream_queue(stream),     false) \
    X(hipMemsetD32Async, hipDeviceptr_t, int,            4, ON_STREAM,   stream_queue(stream),     false)
/* clang-format on */
#define PARAMS(pointer, type) (pointer dst, type value, size_t count)
#define ON_STREAM(pointer, type)                                               \
    (pointer dst, type value, size_t count, hipStream_t stream)

#define X(name, pointer, type, element, parameters, queue, blocking)           \
    HIP_API hipError_t name parameters(pointer, type)                          \
    {                                                                          \
        ENTER();                                                               \
        LEAVE(                                                                 \
            fill_line(dst, (uint32_t)value, element, count, queue, blocking)); \
    }
FILL_TABLE(X)
#undef X

/* Fills rows that are `xsize` bytes long in memory. A pitch below `xsize` is
 * refused, unless rows follow each other without gaps. HIP 5.2 does not check.
 */
static hipError_t fill_rows(const struct fill *f, size_t xsize, struct queue *q,
                            bool blocking)
{
    if (process.release > 5 && f->width && f->height && f->depth &&
        f->pitch != f->width && f->pitch < xsize) {
        if (q)
            queue_unref(q);
        return hipErrorInvalidValue;
    }
    return fill(f, q, blocking);
}

static hipError_t fill_2d(void *dst, size_t pitch, int value, size_t width,
                          size_t height, struct queue *q, bool blocking)
{
    struct fill f = {.dst = (uintptr_t)dst,
                     .width = width,
                     .height = height,
                     .depth = 1,
                     .pitch = pitch,
                     .value = (uint32_t)value,
                     .element = 1};

    return fill_rows(&f, width, q, blocking);
}

HIP_API hipError_t hipMemset2D(void *dst, size_t pitch, int value, size_t width,
                               size_t height)
{
    ENTER();
    LEAVE(fill_2d(dst, pitch, value, width, height, stream_queue(NULL), true));
}

HIP_API hipError_t hipMemset2D_spt(void *dst, size_t pitch, int value,
                                   size_t width, size_t height)
{
    ENTER();
    LEAVE(fill_2d(dst, pitch, value, width, height, stream_queue_spt(NULL),
                  true));
}

HIP_API hipError_t hipMemset2DAsync(void *dst, size_t pitch, int value,
                                    size_t width, size_t height,
                                    hipStream_t stream)
{
    ENTER();
    LEAVE(
        fill_2d(dst, pitch, value, width, height, stream_queue(stream), false));
}

HIP_API hipError_t hipMemset2DAsync_spt(void *dst, size_t pitch, int value,
                                        size_t width, size_t height,
                                        hipStream_t stream)
{
    ENTER();
    LEAVE(fill_2d(dst, pitch, value, width, height, stream_queue_spt(stream),
                  false));
}

static hipError_t fill_3d(const hipPitchedPtr *p, int value,
                          const hipExtent *extent, struct queue *q,
                          bool blocking)
{
    struct fill f = {.dst = (uintptr_t)p->ptr,
                     .width = extent->width,
                     .height = extent->height,
                     .depth = extent->depth,
                     .pitch = p->pitch,
                     .slice = p->pitch * p->ysize,
                     .value = (uint32_t)value,
                     .element = 1};

    return fill_rows(&f, p->xsize, q, blocking);
}

HIP_API hipError_t hipMemset3D(hipPitchedPtr p, int value, hipExtent extent)
{
    ENTER();
    LEAVE(fill_3d(&p, value, &extent, stream_queue(NULL), true));
}

HIP_API hipError_t hipMemset3D_spt(hipPitchedPtr p, int value, hipExtent extent)
{
    ENTER();
    LEAVE(fill_3d(&p, value, &extent, stream_queue_spt(NULL), true));
}

HIP_API hipError_t hipMemset3DAsync(hipPitchedPtr p, int value,
                                    hipExtent extent, hipStream_t stream)
{
    ENTER();
    LEAVE(fill_3d(&p, value, &extent, stream_queue(stream), false));
}

HIP_API hipError_t hipMemset3DAsync_spt(hipPitchedPtr p, int value,
                                        hipExtent extent, hipStream_t stream)
{
    ENTER();
    LEAVE(fill_3d(&p, value, &extent, stream_queue_spt(stream), false));
}

/* X(name, value's type, bytes of an element) */
#define FILL_2D_TABLE(X)                                                       \
    X(hipMemsetD2D8, unsigned char, 1)                                         \
    X(hipMemsetD2D16, unsigned short, 2)                                       \
    X(hipMemsetD2D32, unsigned, 4)

static hipError_t fill_elements(hipDeviceptr_t dst, size_t pitch,
                                uint32_t value, uint32_t element, size_t width,
                                size_t height, struct queue *q, bool blocking)
{
    struct fill f = {.dst = (uintptr_t)dst,
                     .height = height,
                     .depth = 1,
                     .pitch = pitch,
                     .value = value,
                     .element = element};

    if (pitch % element ||
        __builtin_mul_overflow(width, (size_t)element, &f.width) ||
        (height > 1 && f.width > pitch)) {
        if (q)
            queue_unref(q);
        return hipErrorInvalidValue;
    }
    return fill(&f, q, blocking);
}

#define X(name, type, element)                                                 \
    HIP_API hipError_t name(hipDeviceptr_t dst, size_t pitch, type value,      \
                            size_t width, size_t height)                       \
    {                                                                          \
        ENTER();                                                               \
        LEAVE(fill_elements(dst, pitch, value, element, width, height,         \
                            stream_queue(NULL), true));                        \
    }                                                                          \
    HIP_API hipError_t name##Async(hipDeviceptr_t dst, size_t pitch,           \
                                   type value, size_t width, size_t height,    \
                                   hipStream_t stream)                         \
    {                                                                          \
        ENTER();                                                               \
        LEAVE(fill_elements(dst, pitch, value, element, width, height,         \
                            stream_queue(stream), false));                     \
    }
FILL_2D_TABLE(X)
#undef X
