/* copy_op.h - the operation that copies lines, rectangles and boxes */
#ifndef SIM_HIP_COPY_OP_H
#define SIM_HIP_COPY_OP_H

#include "op_queue.h"

#include "../base/allocation.h"

/* A block of bytes, rows and slices; a plain copy has one row. */
struct copy_shape {
    size_t width, height, depth;
    size_t dst_pitch, src_pitch; /* bytes from row to row */
    size_t dst_slice, src_slice; /* bytes from slice to slice */
};

/* How a call behaves: it returns when the copy is done, or when its memory is
 * no longer needed, which for a box of the program's own memory is at once: it
 * is put aside. */
enum copy_waiting {
    COPY_WAITS_FOR_END,
    COPY_WAITS_FOR_PLAIN_MEMORY,
    COPY_KEEPS_PLAIN_BOX
};

/* Checks ends, sizes and the direction, of which it leaves the plain form. */
hipError_t copy_check(void *dst, const void *src, const struct copy_shape *s,
                      int *kind);
/* Checks, and copies. */
hipError_t copy_on(struct queue *q, void *dst, const void *src,
                   const struct copy_shape *s, int kind,
                   enum copy_waiting waiting);
/*
 * Returns before the copy is done, as AMD's does. It comes behind all that both
 * devices have to do by now, and their default streams come behind it.
 */
hipError_t copy_between_devices(void *dst, const void *src, size_t n,
                                struct queue *q);

/* A box that a graph copies: checked; queued. Memory that is not pinned is
 * waited for, also in graphs, as AMD's do. */
hipError_t copy_box_check(const hipMemcpy3DParms *p);
hipError_t copy_box(const hipMemcpy3DParms *p, struct queue *queue);
/* A box's shape and its first bytes. */
hipError_t copy_read_box(const hipMemcpy3DParms *given, struct copy_shape *s,
                         void **dst, const void **src);

/* Bytes from the first to the last of a box, SIZE_MAX if that overflows. */
size_t copy_span(size_t width, size_t height, size_t depth, size_t pitch,
                 size_t slice);
/* One end: inside an allocation that is large enough, or plain host memory
 * where the direction allows that. */
hipError_t copy_check_end(const void *ptr, size_t n, bool may_be_plain,
                          bool *known, struct sim_alloc *a);

#endif
