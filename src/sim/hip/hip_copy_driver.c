/* hip_copy_driver.c - copies as the driver's structures describe them
 *
 * They tell for each end where it is (host, device, array), and count along
 * rows in bytes. They become the boxes of hipMemcpy3D().
 */
#include "hip_copy_driver.h"

#include "call.h"
#include "hip_array.h"
#include "hip_copy.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"

typedef struct {
    size_t srcXInBytes, srcY;
    int srcMemoryType;
    const void *srcHost;
    hipDeviceptr_t srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    int dstMemoryType;
    void *dstHost;
    hipDeviceptr_t dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} hip_Memcpy2D;

/* HIP_MEMCPY3D up to 5.x. */
struct copy_of_5 {
    unsigned srcXInBytes, srcY, srcZ, srcLOD;
    int srcMemoryType;
    const void *srcHost;
    hipDeviceptr_t srcDevice;
    void *srcArray;
    unsigned srcPitch, srcHeight;
    unsigned dstXInBytes, dstY, dstZ, dstLOD;
    int dstMemoryType;
    void *dstHost;
    hipDeviceptr_t dstDevice;
    void *dstArray;
    unsigned dstPitch, dstHeight;
    unsigned WidthInBytes, Height, Depth;
};

enum place { HOST, DEVICE, ARRAY, UNIFIED, MANAGED, NPLACES };

/* The numbers of hipMemoryType changed with 6.0. */
static int number_of(enum place place)
{
    static const int before_6[] = {0, 1, 2, 3, 4}, since[] = {1, 2, 10, 11, 3};

    return (process.release < 6 ? before_6 : since)[place];
}

static enum place place_of(int number)
{
    enum place place = HOST;

    while (place < NPLACES && number_of(place) != number)
        place++;
    return place;
}

/* Source or destination. */
struct end {
    enum place place;
    const void *host, *device, *array;
    size_t x, y, z, pitch, height;
};

/* Sets one end of the box; for an array also the bytes of an element. */
static bool end_of_box(const struct end *e, const HIP_MEMCPY3D *p, void **array,
                       hipPos *pos, hipPitchedPtr *ptr, size_t *element)
{
    const void *at = e->place == HOST ? e->host : e->device;
    *pos = (hipPos){e->x, e->y, e->z};
    if (e->place == ARRAY) {
        *array = (void *)(uintptr_t)e->array;
        if (!array_element(e->array, element) || e->x % *element ||
            p->WidthInBytes % *element)
            return false;
        pos->x /= *element;
        return true;
    }
    *ptr =
        (hipPitchedPtr){.ptr = (void *)(uintptr_t)at,
                        .pitch = e->pitch ? e->pitch : p->WidthInBytes + e->x,
                        .ysize = e->height ? e->height : p->Height + e->y};
    return at != NULL && e->place != NPLACES;
}

/* The direction, from the kinds of both ends if they are known. */
static hipMemcpyKind kind_of(enum place to, enum place from)
{
    const bool to_host = to == HOST, from_host = from == HOST;

    if (to >= UNIFIED || from >= UNIFIED)
        return hipMemcpyDefault;
    return to_host     ? from_host ? hipMemcpyHostToHost : hipMemcpyDeviceToHost
           : from_host ? hipMemcpyHostToDevice
                       : hipMemcpyDeviceToDevice;
}

hipError_t copy_box_from_driver(const HIP_MEMCPY3D *p, hipMemcpy3DParms *box)
{
    struct end to, from;
    size_t element = 1;

    if (!p)
        return hipErrorInvalidValue;
    to = (struct end){place_of(p->dstMemoryType),
                      p->dstHost,
                      p->dstDevice,
                      p->dstArray,
                      p->dstXInBytes,
                      p->dstY,
                      p->dstZ,
                      p->dstPitch,
                      p->dstHeight};
    from = (struct end){place_of(p->srcMemoryType),
                        p->srcHost,
                        p->srcDevice,
                        p->srcArray,
                        p->srcXInBytes,
                        p->srcY,
                        p->srcZ,
                        p->srcPitch,
                        p->srcHeight};
    *box = (hipMemcpy3DParms){.kind = kind_of(to.place, from.place)};
    if (!end_of_box(&to, p, &box->dstArray, &box->dstPos, &box->dstPtr,
                    &element) ||
        !end_of_box(&from, p, &box->srcArray, &box->srcPos, &box->srcPtr,
                    &element))
        return hipErrorInvalidValue;
    box->extent = (hipExtent){p->WidthInBytes / element, p->Height, p->Depth};
    return hipSuccess;
}

/* One end back from a box. */
static struct end end_from_box(const void *array, const hipPos *pos,
                               const hipPitchedPtr *ptr, enum place place,
                               size_t *element)
{
    struct end e = {.place = place,
                    .x = pos->x,
                    .y = pos->y,
                    .z = pos->z,
                    .pitch = ptr->pitch,
                    .height = ptr->ysize};
    if (array && array_element(array, element)) {
        e.place = ARRAY;
        e.array = array;
        e.x *= *element;
        e.pitch = e.height = 0;
    } else if (place == HOST) {
        e.host = ptr->ptr;
    } else {
        e.device = ptr->ptr;
    }
    return e;
}

void copy_box_to_driver(const hipMemcpy3DParms *box, HIP_MEMCPY3D *p)
{
    const hipMemcpyKind kind = box->kind;
    const bool both = kind == hipMemcpyDefault;
    size_t element = 1;
    const struct end to = end_from_box(
        box->dstArray, &box->dstPos, &box->dstPtr,
        both                                                           ? UNIFIED
        : kind == hipMemcpyDeviceToHost || kind == hipMemcpyHostToHost ? HOST
                                                                       : DEVICE,
        &element);
    const struct end from = end_from_box(
        box->srcArray, &box->srcPos, &box->srcPtr,
        both                                                           ? UNIFIED
        : kind == hipMemcpyHostToDevice || kind == hipMemcpyHostToHost ? HOST
                                                                       : DEVICE,
        &element);

    *p = (HIP_MEMCPY3D){.srcXInBytes = from.x,
                        .srcY = from.y,
                        .srcZ = from.z,
                        .srcMemoryType = number_of(from.place),
                        .srcHost = from.host,
                        .srcDevice = (void *)(uintptr_t)from.device,
                        .srcArray = (void *)(uintptr_t)from.array,
                        .srcPitch = from.pitch,
                        .srcHeight = from.height,
                        .dstXInBytes = to.x,
                        .dstY = to.y,
                        .dstZ = to.z,
                        .dstMemoryType = number_of(to.place),
                        .dstHost = (void *)(uintptr_t)to.host,
                        .dstDevice = (void *)(uintptr_t)to.device,
                        .dstArray = (void *)(uintptr_t)to.array,
                        .dstPitch = to.pitch,
                        .dstHeight = to.height,
                        .WidthInBytes = box->extent.width * element,
                        .Height = box->extent.height,
                        .Depth = box->extent.depth};
}

/* ---- rectangles and boxes ----------------------------------------------- */

#define WIDEN(p, depth)                                                        \
    {                                                                          \
        .srcXInBytes = (p)->srcXInBytes, .srcY = (p)->srcY,                    \
        .srcMemoryType = (p)->srcMemoryType, .srcHost = (p)->srcHost,          \
        .srcDevice = (p)->srcDevice, .srcArray = (p)->srcArray,                \
        .srcPitch = (p)->srcPitch, .dstXInBytes = (p)->dstXInBytes,            \
        .dstY = (p)->dstY, .dstMemoryType = (p)->dstMemoryType,                \
        .dstHost = (p)->dstHost, .dstDevice = (p)->dstDevice,                  \
        .dstArray = (p)->dstArray, .dstPitch = (p)->dstPitch,                  \
        .WidthInBytes = (p)->WidthInBytes, .Height = (p)->Height,              \
        .Depth = (depth)                                                       \
    }

static hipError_t copy_driver(const HIP_MEMCPY3D *p, struct queue *q,
                              bool blocking)
{
    hipMemcpy3DParms box;
    hipError_t error = hipErrorContextIsDestroyed;

    if (q && p->WidthInBytes && p->Height && p->Depth) {
        error = copy_box_from_driver(p, &box);
        if (error == hipSuccess) {
            queue_ref(q); /* copy_3d() drops this reference */
            error = copy_3d(&box, q, blocking);
        }
    } else if (q) {
        error = hipSuccess;
    }
    if (q)
        queue_unref(q);
    return error;
}

static hipError_t copy_rectangle(const hip_Memcpy2D *p, hipStream_t stream,
                                 bool blocking)
{
    HIP_MEMCPY3D wide = {0};

    if (!p)
        return hipErrorInvalidValue;
    wide = (HIP_MEMCPY3D)WIDEN(p, 1);
    return copy_driver(&wide, stream_queue(stream), blocking);
}

static hipError_t copy_cuboid(const void *given, hipStream_t stream,
                              bool blocking)
{
    HIP_MEMCPY3D wide;

    if (!given)
        return hipErrorInvalidValue;
    if (process.release > 5) {
        wide = *(const HIP_MEMCPY3D *)given;
    } else {
        const struct copy_of_5 *p = given;

        wide = (HIP_MEMCPY3D)WIDEN(p, p->Depth);
        wide.srcZ = p->srcZ;
        wide.srcHeight = p->srcHeight;
        wide.dstZ = p->dstZ;
        wide.dstHeight = p->dstHeight;
    }
    return copy_driver(&wide, stream_queue(stream), blocking);
}

HIP_API hipError_t hipMemcpyParam2D(const hip_Memcpy2D *p)
{
    ENTER();
    LEAVE(copy_rectangle(p, NULL, true));
}

HIP_API hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *p,
                                         hipStream_t stream)
{
    ENTER();
    LEAVE(copy_rectangle(p, stream, false));
}

HIP_API hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *p)
{
    ENTER();
    LEAVE(copy_rectangle(p, NULL, true));
}

HIP_API hipError_t hipDrvMemcpy3D(const void *p)
{
    ENTER();
    LEAVE(copy_cuboid(p, NULL, true));
}

HIP_API hipError_t hipDrvMemcpy3DAsync(const void *p, hipStream_t stream)
{
    ENTER();
    LEAVE(copy_cuboid(p, stream, false));
}
