/* array.c - arrays, as linear memory
 *
 * Without texture units an array is rows without gaps. It can be filled and
 * read by every call that copies arrays; textures of it are refused.
 */
#include "runtime.h"

#include <stdlib.h>

enum { KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT };
enum { FLAGS_KNOWN = 0xf, FLAGS_OF_3D = 1 | 4 /* layered, cube */ };

struct array {
    uint64_t base;
    size_t width, height, depth; /* elements, rows, slices; 0 as it was asked */
    hipChannelFormatDesc desc;
    int format;
    unsigned channels, flags;
    size_t element; /* bytes */
    int device;
};
typedef struct array *hipArray_t;

typedef struct {
    size_t Width, Height;
    int Format;
    unsigned NumChannels;
} HIP_ARRAY_DESCRIPTOR;

typedef struct {
    size_t Width, Height, Depth;
    int Format;
    unsigned NumChannels, Flags;
} HIP_ARRAY3D_DESCRIPTOR;

/* ---- elements ----------------------------------------------------------- */

static const struct format {
    int number, bits, kind;
} formats[] = {
    {0x01, 8, KIND_UNSIGNED},  {0x02, 16, KIND_UNSIGNED},
    {0x03, 32, KIND_UNSIGNED}, {0x08, 8, KIND_SIGNED},
    {0x09, 16, KIND_SIGNED},   {0x0a, 32, KIND_SIGNED},
    {0x10, 16, KIND_FLOAT},    {0x20, 32, KIND_FLOAT},
};
enum { NFORMATS = sizeof(formats) / sizeof(formats[0]) };

/* One, two or four channels of one width. */
static bool read_desc(const hipChannelFormatDesc *d, struct array *a)
{
    const int bits[] = {d->x, d->y, d->z, d->w};
    unsigned n = 0, i;

    while (n < 4 && bits[n])
        n++;
    if (n == 0 || n == 3)
        return false;
    for (i = 0; i < 4; i++)
        if (bits[i] != (i < n ? d->x : 0))
            return false;
    for (i = 0; i < NFORMATS; i++)
        if (formats[i].bits == d->x && formats[i].kind == d->f) {
            a->format = formats[i].number;
            a->channels = n;
            a->element = n * (unsigned)d->x / 8;
            a->desc = *d;
            return true;
        }
    return false;
}

static bool read_format(int format, unsigned channels, struct array *a)
{
    unsigned i;

    for (i = 0; i < NFORMATS; i++)
        if (formats[i].number == format) {
            const int bits = formats[i].bits;
            const hipChannelFormatDesc d = {
                bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                channels > 3 ? bits : 0, formats[i].kind};

            return channels >= 1 && channels <= 4 && read_desc(&d, a);
        }
    return false;
}

/* ---- making and freeing ------------------------------------------------- */

static size_t at_least_1(size_t n)
{
    return n ? n : 1;
}

static size_t row_nbytes(const struct array *a)
{
    return a->width * a->element;
}

/* What the cards of all targets take (hipDeviceProp_t says so, too): elements
 * of a row, rows, slices, layers. */
static bool fits(const struct array *a)
{
    enum { WIDEST = 16384, DEEPEST = 8192, LAYERED = 1, CUBE = 4 };
    const bool layered = a->flags & LAYERED;

    if (a->width > WIDEST || a->height > WIDEST || a->depth > DEEPEST ||
        ((a->flags & CUBE) && !a->height))
        return false;
    return layered ? a->depth != 0 : a->height || !a->depth;
}

static hipError_t make(hipArray_t *out, const struct array *like)
{
    struct array *a;
    struct sim_alloc *memory;
    hipError_t error;
    size_t nbytes;

    error = capture_forbids_memory();
    if (error != hipSuccess)
        return error;
    if (like->width == 0 || (like->flags & ~(unsigned)FLAGS_KNOWN) ||
        !fits(like))
        return hipErrorInvalidValue;
    nbytes = like->width * like->element * at_least_1(like->height) *
             at_least_1(like->depth);
    a = calloc(1, sizeof(*a));
    memory = a ? sim_mem_alloc(current_device()->sim->ordinal, nbytes, 0,
                               SIM_MEM_DEVICE)
               : NULL;
    if (!memory || !handle_add(a, HANDLE_ARRAY)) {
        if (memory)
            sim_mem_free(memory->base);
        free(a);
        return hipErrorOutOfMemory;
    }
    peers_bar(memory);
    *a = *like;
    a->base = memory->base;
    a->device = this_thread()->device;
    *out = a;
    return hipSuccess;
}

HIP_API hipError_t hipMallocArray(hipArray_t *out,
                                  const hipChannelFormatDesc *desc,
                                  size_t width, size_t height, unsigned flags)
{
    struct array a = {.width = width, .height = height, .flags = flags};

    ENTER();
    if (!out || !desc || (flags & FLAGS_OF_3D) || !read_desc(desc, &a))
        LEAVE(hipErrorInvalidValue);
    LEAVE(make(out, &a));
}

HIP_API hipError_t hipMalloc3DArray(hipArray_t *out,
                                    const hipChannelFormatDesc *desc,
                                    hipExtent extent, unsigned flags)
{
    struct array a = {.width = extent.width,
                      .height = extent.height,
                      .depth = extent.depth,
                      .flags = flags};

    ENTER();
    if (!out || !desc || !read_desc(desc, &a))
        LEAVE(hipErrorInvalidValue);
    LEAVE(make(out, &a));
}

static hipError_t make_of_format(hipArray_t *out,
                                 const HIP_ARRAY3D_DESCRIPTOR *d)
{
    struct array a = {.width = d->Width,
                      .height = d->Height,
                      .depth = d->Depth,
                      .flags = d->Flags};

    if (!out || !read_format(d->Format, d->NumChannels, &a))
        return hipErrorInvalidValue;
    return make(out, &a);
}

HIP_API hipError_t hipArrayCreate(hipArray_t *out,
                                  const HIP_ARRAY_DESCRIPTOR *d)
{
    HIP_ARRAY3D_DESCRIPTOR flat = {0};

    ENTER();
    if (!d)
        LEAVE(hipErrorInvalidValue);
    flat.Width = d->Width;
    flat.Height = d->Height;
    flat.Format = d->Format;
    flat.NumChannels = d->NumChannels;
    LEAVE(make_of_format(out, &flat));
}

HIP_API hipError_t hipArray3DCreate(hipArray_t *out,
                                    const HIP_ARRAY3D_DESCRIPTOR *d)
{
    ENTER();
    LEAVE(d ? make_of_format(out, d) : hipErrorInvalidValue);
}

static hipError_t destroy(hipArray_t a)
{
    hipError_t error = capture_forbids_memory();

    if (error != hipSuccess)
        return error;
    if (!a)
        return hipErrorInvalidValue;
    if (!handle_remove(a, HANDLE_ARRAY))
        return hipErrorContextIsDestroyed;
    device_wait(device_at(a->device));
    sim_mem_free(a->base);
    free(a);
    return hipSuccess;
}

HIP_API hipError_t hipFreeArray(hipArray_t array)
{
    ENTER();
    LEAVE(destroy(array));
}

HIP_API hipError_t hipArrayDestroy(hipArray_t array)
{
    ENTER();
    LEAVE(destroy(array));
}

/* ---- questions ---------------------------------------------------------- */

HIP_API hipError_t hipArrayGetInfo(hipChannelFormatDesc *desc,
                                   hipExtent *extent, unsigned *flags,
                                   hipArray_t a)
{
    ENTER();
    if (!handle_valid(a, HANDLE_ARRAY))
        LEAVE(hipErrorInvalidHandle);
    if (desc)
        *desc = a->desc;
    if (extent)
        *extent = (hipExtent){a->width, a->height, a->depth};
    if (flags)
        *flags = a->flags;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGetChannelDesc(hipChannelFormatDesc *desc, hipArray_t a)
{
    ENTER();
    if (!desc || !handle_valid(a, HANDLE_ARRAY))
        LEAVE(hipErrorInvalidValue);
    *desc = a->desc;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR *d, hipArray_t a)
{
    ENTER();
    if (!d)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(a, HANDLE_ARRAY))
        LEAVE(hipErrorInvalidHandle);
    *d = (HIP_ARRAY_DESCRIPTOR){a->width, a->height, a->format, a->channels};
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR *d,
                                           hipArray_t a)
{
    ENTER();
    if (!d)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(a, HANDLE_ARRAY))
        LEAVE(hipErrorInvalidHandle);
    *d = (HIP_ARRAY3D_DESCRIPTOR){a->width,  a->height,   a->depth,
                                  a->format, a->channels, a->flags};
    LEAVE(hipSuccess);
}

bool is_array(const void *pointer)
{
    return handle_valid(pointer, HANDLE_ARRAY);
}

bool array_memory(const void *array, hipPitchedPtr *out, size_t *element)
{
    const struct array *a = array;

    if (!handle_valid(a, HANDLE_ARRAY))
        return false;
    *out = (hipPitchedPtr){(void *)(uintptr_t)a->base, row_nbytes(a),
                           row_nbytes(a), at_least_1(a->height)};
    *element = a->element;
    return true;
}

/* ---- copies ------------------------------------------------------------- */

/* A rectangle of an array: its address, NULL if it is not inside. */
static uint8_t *rectangle(const struct array *a, size_t x, size_t y,
                          size_t width, size_t height)
{
    const size_t rows = at_least_1(a->height);

    if (x > row_nbytes(a) || width > row_nbytes(a) - x || y > rows ||
        height > rows - y)
        return NULL;
    return (uint8_t *)(uintptr_t)a->base + y * row_nbytes(a) + x;
}

/* Takes over the reference to the queue. */
static hipError_t refuse(struct queue *q, hipError_t error)
{
    if (q)
        queue_unref(q);
    return error;
}

struct side {
    void *plain; /* a pointer with a pitch, where there is no array */
    size_t pitch;
    hipArray_t array;
    size_t x, y;
};

static hipError_t find_side(const struct side *s, size_t width, size_t height,
                            void **at, size_t *pitch)
{
    if (s->plain || !s->array) {
        *at = s->plain;
        *pitch = s->pitch;
        if (s->plain && height > 1 && s->pitch < width)
            return hipErrorInvalidPitchValue;
        return s->plain ? hipSuccess : hipErrorInvalidValue;
    }
    if (!handle_valid(s->array, HANDLE_ARRAY))
        return hipErrorInvalidHandle;
    *pitch = row_nbytes(s->array);
    *at = rectangle(s->array, s->x, s->y, width, height);
    return *at ? hipSuccess : hipErrorInvalidValue;
}

static hipError_t copy_sides(const struct side *dst, const struct side *src,
                             size_t width, size_t height, int kind,
                             struct queue *q, bool blocking)
{
    struct shape s = {.width = width, .height = height, .depth = 1};
    void *to, *from;
    hipError_t error;

    error = find_side(dst, width, height, &to, &s.dst_pitch);
    if (error == hipSuccess)
        error = find_side(src, width, height, &from, &s.src_pitch);
    if (error != hipSuccess)
        return refuse(q, error);
    return copy(to, from, &s, kind, q, blocking);
}

/* An array argument that is NULL is no array, whatever the rest. */
#define NEED_ARRAY(array, queue)                                               \
    do {                                                                       \
        if (!handle_valid(array, HANDLE_ARRAY))                                \
            return leave(refuse(queue, hipErrorInvalidHandle));                \
    } while (0)

/* X(name, its end, queue, blocking[, further parameter]) */
/* clang-format off */
#define RECTANGLE_TABLE(X)                                                          \
    X(hipMemcpy2D,  ,          stream_queue(NULL),       true)                      \
    X(hipMemcpy2D,  _spt,      stream_queue_spt(NULL),   true)                      \
    X(hipMemcpy2D,  Async,     stream_queue(stream),     false, hipStream_t stream) \
    X(hipMemcpy2D,  Async_spt, stream_queue_spt(stream), false, hipStream_t stream)
/* clang-format on */

#define X(prefix, suffix, queue, blocking, ...)                                \
    HIP_API hipError_t prefix##ToArray##suffix(                                \
        hipArray_t dst, size_t x, size_t y, const void *src, size_t pitch,     \
        size_t width, size_t height, int kind, ##__VA_ARGS__)                  \
    {                                                                          \
        const struct side to = {.array = dst, .x = x, .y = y};                 \
        const struct side from = {.plain = (void *)(uintptr_t)src,             \
                                  .pitch = pitch};                             \
                                                                               \
        ENTER();                                                               \
        NEED_ARRAY(dst, NULL);                                                 \
        LEAVE(copy_sides(&to, &from, width, height, kind, queue, blocking));   \
    }                                                                          \
    HIP_API hipError_t prefix##FromArray##suffix(                              \
        void *dst, size_t pitch, hipArray_t src, size_t x, size_t y,           \
        size_t width, size_t height, int kind, ##__VA_ARGS__)                  \
    {                                                                          \
        const struct side to = {.plain = dst, .pitch = pitch};                 \
        const struct side from = {.array = src, .x = x, .y = y};               \
                                                                               \
        ENTER();                                                               \
        NEED_ARRAY(src, NULL);                                                 \
        LEAVE(copy_sides(&to, &from, width, height, kind, queue, blocking));   \
    }
RECTANGLE_TABLE(X)
#undef X

HIP_API hipError_t hipMemcpy2DArrayToArray(hipArray_t dst, size_t dst_x,
                                           size_t dst_y, hipArray_t src,
                                           size_t src_x, size_t src_y,
                                           size_t width, size_t height,
                                           int kind)
{
    const struct side to = {.array = dst, .x = dst_x, .y = dst_y};
    const struct side from = {.array = src, .x = src_x, .y = src_y};

    ENTER();
    NEED_ARRAY(dst, NULL);
    NEED_ARRAY(src, NULL);
    LEAVE(
        copy_sides(&to, &from, width, height, kind, stream_queue(NULL), true));
}

/* ---- bytes of an array from an offset on -------------------------------- */

static void *bytes_of(const struct array *a, size_t offset, size_t n)
{
    const size_t size =
        row_nbytes(a) * at_least_1(a->height) * at_least_1(a->depth);

    if (offset > size || n > size - offset)
        return NULL;
    return (void *)(uintptr_t)(a->base + offset);
}

static hipError_t to_array(hipArray_t a, size_t offset, const void *src,
                           size_t n, int kind, struct queue *q, bool blocking)
{
    void *to;

    if (!handle_valid(a, HANDLE_ARRAY))
        return refuse(q, hipErrorInvalidHandle);
    to = bytes_of(a, offset, n);
    return to ? copy_line(to, src, n, kind, q, blocking)
              : refuse(q, hipErrorInvalidValue);
}

static hipError_t from_array(void *dst, hipArray_t a, size_t offset, size_t n,
                             int kind, struct queue *q, bool blocking)
{
    void *from;

    if (!handle_valid(a, HANDLE_ARRAY))
        return refuse(q, hipErrorInvalidHandle);
    from = bytes_of(a, offset, n);
    return from ? copy_line(dst, from, n, kind, q, blocking)
                : refuse(q, hipErrorInvalidValue);
}

/* Bytes of the first row, as far as HIP 6 and later have it; 5 takes what
 * follows as well. */
static bool in_first_row(const struct array *a, size_t offset, size_t n)
{
    return handle_valid(a, HANDLE_ARRAY) &&
           (rt.release < 6 ||
            (offset <= row_nbytes(a) && n <= row_nbytes(a) - offset));
}

static hipError_t to_row(hipArray_t a, size_t offset, const void *src, size_t n,
                         struct queue *q, bool blocking)
{
    return in_first_row(a, offset, n)
               ? to_array(a, offset, src, n, hipMemcpyHostToDevice, q, blocking)
               : refuse(q, hipErrorInvalidValue);
}

static hipError_t from_row(void *dst, hipArray_t a, size_t offset, size_t n,
                           struct queue *q, bool blocking)
{
    return in_first_row(a, offset, n)
               ? from_array(dst, a, offset, n, hipMemcpyDeviceToHost, q,
                            blocking)
               : refuse(q, hipErrorInvalidValue);
}

/* Where a column in bytes and a row are. */
static size_t offset_of(hipArray_t a, size_t x, size_t y)
{
    return handle_valid(a, HANDLE_ARRAY) ? y * row_nbytes(a) + x : 0;
}

/*
 * X(name, parameters, call): the array is `a`; the name says which way, and
 * whether the other side is the host's.
 */
/* clang-format off */
#define BYTES_TABLE(X)                                                                                                          \
    X(hipMemcpyToArray,       (hipArray_t a, size_t x, size_t y, const void *src, size_t n, int kind), to_array(a, offset_of(a, x, y), src, n, kind, stream_queue(NULL), true)) \
    X(hipMemcpyFromArray,     (void *dst, hipArray_t a, size_t x, size_t y, size_t n, int kind), from_array(dst, a, offset_of(a, x, y), n, kind, stream_queue(NULL), true)) \
    X(hipMemcpyFromArray_spt, (void *dst, hipArray_t a, size_t x, size_t y, size_t n, int kind), from_array(dst, a, offset_of(a, x, y), n, kind, stream_queue_spt(NULL), true)) \
    X(hipMemcpyHtoA,          (hipArray_t a, size_t at, const void *src, size_t n), to_row(a, at, src, n, stream_queue(NULL), true)) \
    X(hipMemcpyAtoH,          (void *dst, hipArray_t a, size_t at, size_t n), from_row(dst, a, at, n, stream_queue(NULL), true)) \
    X(hipMemcpyDtoA,          (hipArray_t a, size_t at, hipDeviceptr_t src, size_t n), to_array(a, at, src, n, hipMemcpyDeviceToDevice, stream_queue(NULL), true)) \
    X(hipMemcpyAtoD,          (hipDeviceptr_t dst, hipArray_t a, size_t at, size_t n), from_array(dst, a, at, n, hipMemcpyDeviceToDevice, stream_queue(NULL), true)) \
    X(hipMemcpyHtoAAsync,     (hipArray_t a, size_t at, const void *src, size_t n, hipStream_t stream), to_row(a, at, src, n, stream_queue(stream), false)) \
    X(hipMemcpyAtoHAsync,     (void *dst, hipArray_t a, size_t at, size_t n, hipStream_t stream), from_row(dst, a, at, n, stream_queue(stream), false))
/* clang-format on */

#define X(name, parameters, call)                                              \
    HIP_API hipError_t name parameters                                         \
    {                                                                          \
        ENTER();                                                               \
        LEAVE(call);                                                           \
    }
BYTES_TABLE(X)
#undef X

HIP_API hipError_t hipMemcpyAtoA(hipArray_t dst, size_t dst_at, hipArray_t src,
                                 size_t src_at, size_t n)
{
    const void *from;

    ENTER();
    NEED_ARRAY(src, NULL);
    from = bytes_of(src, src_at, n);
    if (!from)
        LEAVE(hipErrorInvalidValue);
    LEAVE(to_array(dst, dst_at, from, n, hipMemcpyDeviceToDevice,
                   stream_queue(NULL), true));
}
