/* hip_array_copy.c - copies to and from arrays */
#include "call.h"
#include "copy_op.h"
#include "hip_array.h"
#include "hip_copy.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"

/* ---- rectangles --------------------------------------------------------- */

/* Takes over the reference to the queue. */
static hipError_t refuse(struct queue *q, hipError_t error)
{
    if (q)
        queue_unref(q);
    return error;
}

struct side {
    void *plain; /* a pointer with a pitch, if there is no array */
    size_t pitch;
    void *array;
    size_t x, y;
};

static hipError_t find_side(const struct side *s, size_t width, size_t height,
                            void **at, size_t *pitch)
{
    struct array_rows rows;

    if (s->plain || !s->array) {
        *at = s->plain;
        *pitch = s->pitch;
        if (s->plain && height > 1 && s->pitch < width)
            return hipErrorInvalidPitchValue;
        return s->plain ? hipSuccess : hipErrorInvalidValue;
    }
    if (!array_rows(s->array, &rows))
        return hipErrorInvalidHandle;
    if (s->x > rows.row || width > rows.row - s->x || s->y > rows.nrows ||
        height > rows.nrows - s->y)
        return hipErrorInvalidValue;
    *pitch = rows.pitch;
    *at = (uint8_t *)rows.at + s->y * rows.pitch + s->x;
    return hipSuccess;
}

static hipError_t copy_sides(const struct side *dst, const struct side *src,
                             size_t width, size_t height, int kind,
                             struct queue *q, bool blocking)
{
    struct copy_shape s = {.width = width, .height = height, .depth = 1};
    void *to, *from;
    hipError_t error;

    error = find_side(dst, width, height, &to, &s.dst_pitch);
    if (error == hipSuccess)
        error = find_side(src, width, height, &from, &s.src_pitch);
    if (error != hipSuccess)
        return refuse(q, error);
    return copy_submit(to, from, &s, kind, q, blocking);
}

/* An array argument that is NULL is no array, whatever the rest. */
#define NEED_ARRAY(array, queue)                                               \
    do {                                                                       \
        if (!array_is_handle(array))                                           \
            return call_leave(refuse(queue, hipErrorInvalidHandle));           \
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
        void *dst, size_t x, size_t y, const void *src, size_t pitch,          \
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
        void *dst, size_t pitch, void *src, size_t x, size_t y, size_t width,  \
        size_t height, int kind, ##__VA_ARGS__)                                \
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

HIP_API hipError_t hipMemcpy2DArrayToArray(void *dst, size_t dst_x,
                                           size_t dst_y, void *src,
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

/* A run of bytes from an offset on, counted without the padding of rows. Plain
 * memory counts as one row. */
struct run {
    struct array_rows rows;
    size_t offset;
};

static struct run plain(const void *at)
{
    return (struct run){{.at = (void *)(uintptr_t)at,
                         .row = SIZE_MAX,
                         .nrows = 1,
                         .nslices = 1},
                        0};
}

/* False if the array does not have so many bytes there. */
static bool in_array(const void *array, size_t offset, size_t n,
                     struct run *out)
{
    size_t size;

    array_rows(array, &out->rows);
    size = out->rows.row * out->rows.nrows * out->rows.nslices;
    out->offset = offset;
    return offset <= size && n <= size - offset;
}

static void *address(const struct run *r)
{
    const size_t row = r->offset / r->rows.row;

    return (uint8_t *)r->rows.at + row / r->rows.nrows * r->rows.slice +
           row % r->rows.nrows * r->rows.pitch + r->offset % r->rows.row;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t left_in_row(const struct run *r)
{
    return r->rows.row - r->offset % r->rows.row;
}

/* Rows of this length that can be copied at once from here on. */
static size_t rows_at_once(const struct run *r, size_t row)
{
    if (r->rows.row == SIZE_MAX)
        return SIZE_MAX;
    if (r->rows.row != row || r->offset % row)
        return 0;
    return r->rows.nrows - r->offset / row % r->rows.nrows;
}

/* The next piece of a copy: whole rows, or a part that lies in one row on both
 * sides. */
static struct copy_shape piece(const struct run *to, const struct run *from,
                               size_t n)
{
    const size_t row = smaller(to->rows.row, from->rows.row);
    const size_t nrows = smaller(
        smaller(rows_at_once(to, row), rows_at_once(from, row)), n / row);
    struct copy_shape s = {.width = row, .height = nrows, .depth = 1};

    s.dst_pitch = to->rows.row == SIZE_MAX ? row : to->rows.pitch;
    s.src_pitch = from->rows.row == SIZE_MAX ? row : from->rows.pitch;
    if (nrows == 0) {
        s.width = smaller(n, smaller(left_in_row(to), left_in_row(from)));
        s.height = 1;
    }
    return s;
}

static hipError_t copy_runs(struct run to, struct run from, size_t n, int kind,
                            struct queue *q, bool blocking)
{
    hipError_t error = hipSuccess;
    struct copy_shape s;

    if (!q || n == 0)
        return copy_line(address(&to), address(&from), n, kind, q, blocking);
    for (; n > 0 && error == hipSuccess; n -= s.width * s.height) {
        s = piece(&to, &from, n);
        queue_ref(q);
        error =
            copy_submit(address(&to), address(&from), &s, kind, q, blocking);
        to.offset += s.width * s.height;
        from.offset += s.width * s.height;
    }
    return refuse(q, error);
}

static hipError_t to_array(void *a, size_t offset, const void *src, size_t n,
                           int kind, struct queue *q, bool blocking)
{
    struct run to;

    if (!array_is_handle(a))
        return refuse(q, hipErrorInvalidHandle);
    if (!in_array(a, offset, n, &to))
        return refuse(q, hipErrorInvalidValue);
    return copy_runs(to, plain(src), n, kind, q, blocking);
}

static hipError_t from_array(void *dst, void *a, size_t offset, size_t n,
                             int kind, struct queue *q, bool blocking)
{
    struct run from;

    if (!array_is_handle(a))
        return refuse(q, hipErrorInvalidHandle);
    if (!in_array(a, offset, n, &from))
        return refuse(q, hipErrorInvalidValue);
    return copy_runs(plain(dst), from, n, kind, q, blocking);
}

/* Whether n bytes from `offset` on lie in the array's first row, as HIP 6 and
 * later demand. HIP 5 allows bytes behind the row. */
static bool in_first_row(const void *a, size_t offset, size_t n)
{
    struct array_rows rows;

    return array_rows(a, &rows) &&
           (process.release < 6 ||
            (offset <= rows.row && n <= rows.row - offset));
}

static hipError_t to_row(void *a, size_t offset, const void *src, size_t n,
                         struct queue *q, bool blocking)
{
    return in_first_row(a, offset, n)
               ? to_array(a, offset, src, n, hipMemcpyHostToDevice, q, blocking)
               : refuse(q, hipErrorInvalidValue);
}

static hipError_t from_row(void *dst, void *a, size_t offset, size_t n,
                           struct queue *q, bool blocking)
{
    return in_first_row(a, offset, n)
               ? from_array(dst, a, offset, n, hipMemcpyDeviceToHost, q,
                            blocking)
               : refuse(q, hipErrorInvalidValue);
}

/* The offset in an array of byte x of row y. */
static size_t offset_of(const void *a, size_t x, size_t y)
{
    struct array_rows rows;

    return array_rows(a, &rows) ? y * rows.row + x : 0;
}

/*
 * X(name, parameters, call): the array is `a`; the name tells the direction,
 * and whether the other side is host memory.
 */
/* clang-format off */
#define BYTES_TABLE(X)                                                                                                          \
    X(hipMemcpyToArray,       (void *a, size_t x, size_t y, const void *src, size_t n, int kind), to_array(a, offset_of(a, x, y), src, n, kind, stream_queue(NULL), true)) \
    X(hipMemcpyFromArray,     (void *dst, void *a, size_t x, size_t y, size_t n, int kind), from_array(dst, a, offset_of(a, x, y), n, kind, stream_queue(NULL), true)) \
    X(hipMemcpyFromArray_spt, (void *dst, void *a, size_t x, size_t y, size_t n, int kind), from_array(dst, a, offset_of(a, x, y), n, kind, stream_queue_spt(NULL), true)) \
    X(hipMemcpyHtoA,          (void *a, size_t at, const void *src, size_t n), to_row(a, at, src, n, stream_queue(NULL), true)) \
    X(hipMemcpyAtoH,          (void *dst, void *a, size_t at, size_t n), from_row(dst, a, at, n, stream_queue(NULL), true)) \
    X(hipMemcpyDtoA,          (void *a, size_t at, hipDeviceptr_t src, size_t n), to_array(a, at, src, n, hipMemcpyDeviceToDevice, stream_queue(NULL), true)) \
    X(hipMemcpyAtoD,          (hipDeviceptr_t dst, void *a, size_t at, size_t n), from_array(dst, a, at, n, hipMemcpyDeviceToDevice, stream_queue(NULL), true)) \
    X(hipMemcpyHtoAAsync,     (void *a, size_t at, const void *src, size_t n, hipStream_t stream), to_row(a, at, src, n, stream_queue(stream), false)) \
    X(hipMemcpyAtoHAsync,     (void *dst, void *a, size_t at, size_t n, hipStream_t stream), from_row(dst, a, at, n, stream_queue(stream), false))
/* clang-format on */

#define X(name, parameters, call)                                              \
    HIP_API hipError_t name parameters                                         \
    {                                                                          \
        ENTER();                                                               \
        LEAVE(call);                                                           \
    }
BYTES_TABLE(X)
#undef X

HIP_API hipError_t hipMemcpyAtoA(void *dst, size_t dst_at, void *src,
                                 size_t src_at, size_t n)
{
    struct run to, from;

    ENTER();
    NEED_ARRAY(src, NULL);
    NEED_ARRAY(dst, NULL);
    if (!in_array(src, src_at, n, &from) || !in_array(dst, dst_at, n, &to))
        LEAVE(hipErrorInvalidValue);
    LEAVE(copy_runs(to, from, n, hipMemcpyDeviceToDevice, stream_queue(NULL),
                    true));
}
