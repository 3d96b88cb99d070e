/* hip_copy.h - copies on streams, captured or not */
#ifndef SIM_HIP_COPY_H
#define SIM_HIP_COPY_H

#include "copy_op.h"

/* Each takes over the reference to the queue; NULL says the stream was
 * unknown. */
hipError_t copy_submit(void *dst, const void *src,
                       const struct copy_shape *shape, int kind,
                       struct queue *queue, bool blocking);
hipError_t copy_line(void *dst, const void *src, size_t n, int kind,
                     struct queue *queue, bool blocking);
hipError_t copy_3d(const hipMemcpy3DParms *p, struct queue *q, bool blocking);

#endif
