/* hip_array.h - arrays: linear images in device memory
 *
 * An array is a linear image of the simulated hardware
 * (base/image_descriptor.h), and copies treat it as rows in memory.
 */
#ifndef SIM_HIP_ARRAY_H
#define SIM_HIP_ARRAY_H

#include "process_state.h"
#include "texel_format.h"

#include "../base/image_descriptor.h"

enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBE = 4, ARRAY_FLAGS = 15 };

typedef struct array *hipArray_t;
typedef struct mipmapped_array *hipMipmappedArray_t;

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

struct array {
    uint64_t base;
    size_t width, height, depth; /* elements, rows, slices; as asked, 0 too */
    struct texel texel;
    unsigned flags;
    struct device *device;
    struct sim_image image;
    struct sim_image_layout layout;
    unsigned level;          /* the image's level that copies reach */
    struct array *next;      /* next level of the same mipmapped array */
    hipMipmappedArray_t mip; /* a level's owner; NULL: owns its memory */
};

/* Fills in the array's image of nlevels levels: its format and its layout on
 * the device. False if no card has an image of this size. */
bool array_shape(struct array *a, unsigned nlevels);
/* Allocates the array's memory, on its device. */
hipError_t array_memory_new(struct array *a);
/* A mipmapped array as one array with every level. */
struct mipmapped_array {
    struct array whole; /* not a handle of the program */
    struct array *levels;
};
extern pthread_mutex_t array_levels_lock; /* of all `levels` */

/* NULL: a bad handle. */
const struct array *mipmap_whole(hipMipmappedArray_t mip);

bool array_is_handle(const void *pointer);
/* The bytes of an array's element; false if it is none. */
bool array_element(const void *array, size_t *nbytes);
/* An array's memory; false if it is none. */
struct array_rows {
    void *at;
    size_t element;             /* bytes */
    size_t row, nrows, nslices; /* bytes of a row, without the padding */
    size_t pitch, slice;        /* bytes from row to row, slice to slice */
};
bool array_rows(const void *array, struct array_rows *out);

#endif
