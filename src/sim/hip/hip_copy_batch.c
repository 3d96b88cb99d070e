/* hip_copy_batch.c - several copies by one call; boxes between devices */
#include "call.h"
#include "capture_state.h"
#include "copy_op.h"
#include "hip_array.h"
#include "hip_copy.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"

/* ---- batches ------------------------------------------------------------ */

enum { ORDER_STREAM = 1, ORDER_DURING_CALL = 2, ORDER_ANY = 3 };
enum { PREFER_OVERLAP = 1, PREFER_ENGINE = 0x100 };

typedef struct {
    int srcAccessOrder;
    hipMemLocation srcLocHint, dstLocHint;
    unsigned flags;
} hipMemcpyAttributes;

static hipError_t check_attributes(const hipMemcpyAttributes *list,
                                   const size_t *from, size_t n, size_t count)
{
    size_t i;

    if (n == 0)
        return hipSuccess;
    if (!list || !from || n > count || from[0] != 0)
        return hipErrorInvalidValue;
    for (i = 0; i < n; i++) {
        if (from[i] >= count || (i && from[i] <= from[i - 1]) ||
            list[i].srcAccessOrder < ORDER_STREAM ||
            list[i].srcAccessOrder > ORDER_ANY)
            return hipErrorInvalidValue;
        if (list[i].flags & ~(unsigned)(PREFER_OVERLAP | PREFER_ENGINE))
            return hipErrorNotSupported; /* swaps and indirect copies */
    }
    return hipSuccess;
}

/*
 * The attributes at `from[k]` hold from that copy on. A source that is read
 * during the call may be gone after it; where a copy runs is nobody's concern.
 */
HIP_API hipError_t hipMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes,
                                       size_t count,
                                       hipMemcpyAttributes *attributes,
                                       size_t *from, size_t nattributes,
                                       size_t *failed, hipStream_t stream)
{
    hipError_t error;
    size_t i, k = 0;

    ENTER();
    if (failed)
        *failed = SIZE_MAX; /* none, or the call as a whole */
    if (!dsts || !srcs || !sizes || count == 0)
        LEAVE(hipErrorInvalidValue);
    error = check_attributes(attributes, from, nattributes, count);
    for (i = 0; i < count && error == hipSuccess; i++) {
        while (k + 1 < nattributes && from[k + 1] <= i)
            k++;
        error = copy_line(
            dsts[i], srcs[i], sizes[i], hipMemcpyDefault, stream_queue(stream),
            nattributes && attributes[k].srcAccessOrder == ORDER_DURING_CALL);
        if (error != hipSuccess && failed)
            *failed = i;
    }
    LEAVE(error);
}

enum { OPERAND_POINTER = 1, OPERAND_ARRAY = 2 };

typedef struct {
    int type;
    union {
        struct {
            void *ptr;
            size_t rowLength, layerHeight; /* 0: the extent's */
            hipMemLocation locHint;
        } ptr;
        struct {
            void *array;
            hipPos offset;
        } array;
    } op;
} hipMemcpy3DOperand;

typedef struct {
    hipMemcpy3DOperand src, dst;
    hipExtent extent;
    int srcAccessOrder;
    unsigned flags;
} hipMemcpy3DBatchOp;

/* The size of an element: of an array's element, else 1. */
static bool find_element(const hipMemcpy3DOperand *o, size_t *element)
{
    if (o->type == OPERAND_ARRAY)
        return array_element(o->op.array.array, element);
    return o->type == OPERAND_POINTER && o->op.ptr.ptr;
}

static void put_operand(const hipMemcpy3DOperand *o, const hipExtent *extent,
                        size_t element, void **array, hipPos *pos,
                        hipPitchedPtr *ptr)
{
    const size_t row =
        o->op.ptr.rowLength ? o->op.ptr.rowLength : extent->width;

    if (o->type == OPERAND_ARRAY) {
        *array = o->op.array.array;
        *pos = o->op.array.offset;
        return;
    }
    *ptr =
        (hipPitchedPtr){.ptr = o->op.ptr.ptr,
                        .pitch = row * element,
                        .xsize = row * element,
                        .ysize = o->op.ptr.layerHeight ? o->op.ptr.layerHeight
                                                       : extent->height};
}

static hipError_t copy_operands(const hipMemcpy3DBatchOp *op,
                                hipStream_t stream)
{
    hipMemcpy3DParms box = {.kind = hipMemcpyDefault, .extent = op->extent};
    size_t element = 1;

    if (!find_element(&op->dst, &element) || !find_element(&op->src, &element))
        return hipErrorInvalidValue;
    if (op->srcAccessOrder < ORDER_STREAM || op->srcAccessOrder > ORDER_ANY)
        return hipErrorInvalidValue;
    put_operand(&op->src, &op->extent, element, &box.srcArray, &box.srcPos,
                &box.srcPtr);
    put_operand(&op->dst, &op->extent, element, &box.dstArray, &box.dstPos,
                &box.dstPtr);
    return copy_3d(&box, stream_queue(stream),
                   op->srcAccessOrder == ORDER_DURING_CALL);
}

HIP_API hipError_t hipMemcpy3DBatchAsync(size_t count, hipMemcpy3DBatchOp *list,
                                         size_t *failed,
                                         unsigned long long flags,
                                         hipStream_t stream)
{
    hipError_t error = hipSuccess;
    size_t i;

    ENTER();
    if (failed)
        *failed = SIZE_MAX;
    if (!list || count == 0 || flags)
        LEAVE(hipErrorInvalidValue);
    for (i = 0; i < count && error == hipSuccess; i++) {
        error = copy_operands(&list[i], stream);
        if (error != hipSuccess && failed)
            *failed = i;
    }
    LEAVE(error);
}

/* ---- boxes between devices ---------------------------------------------- */

typedef struct {
    void *srcArray;
    hipPos srcPos;
    hipPitchedPtr srcPtr;
    int srcDevice;
    void *dstArray;
    hipPos dstPos;
    hipPitchedPtr dstPtr;
    int dstDevice;
    hipExtent extent;
} hipMemcpy3DPeerParms;

static hipError_t copy_peers(const hipMemcpy3DPeerParms *p, hipStream_t stream,
                             bool blocking)
{
    hipMemcpy3DParms box;
    struct queue *q;
    hipError_t error;

    if (!p)
        return hipErrorInvalidValue;
    if (!process_device(p->srcDevice) || !process_device(p->dstDevice))
        return hipErrorInvalidDevice;
    box = (hipMemcpy3DParms){.srcArray = p->srcArray,
                             .srcPos = p->srcPos,
                             .srcPtr = p->srcPtr,
                             .dstArray = p->dstArray,
                             .dstPos = p->dstPos,
                             .dstPtr = p->dstPtr,
                             .extent = p->extent,
                             .kind = hipMemcpyDeviceToDevice};
    q = stream_queue(stream);
    if (!q || !capture_is_active(q))
        return copy_3d(&box, q, blocking);
    error = copy_box_check(&box); /* is not recorded */
    if (error == hipSuccess)
        error = copy_box(&box, q);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipMemcpy3DPeer(hipMemcpy3DPeerParms *p)
{
    ENTER();
    LEAVE(copy_peers(p, NULL, true));
}

HIP_API hipError_t hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms *p,
                                        hipStream_t stream)
{
    ENTER();
    LEAVE(copy_peers(p, stream, false));
}
