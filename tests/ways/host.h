/* host.h - what kpack leaves to HIP or CUDA: streams, events, raw handles */
#ifndef WAYS_HOST_H
#define WAYS_HOST_H

#include "kpack.h"

/* Each returns 0, or the platform's number of an error. */
struct host {
    int (*create_stream)(void **out);
    int (*destroy_stream)(void *stream);
    int (*create_event)(void **out);
    int (*destroy_event)(void *event);
    int (*wait_for_event)(void *event);
    int (*elapsed)(float *ms, void *start, void *stop);
    int (*function)(void **out, void *module, const char *name);
    int (*variable)(void **out, size_t *nbytes, void *module, const char *name);
    int (*launch)(void *function, unsigned grid, unsigned block, void **params);
};

/* The platform's own calls, with the device current in this thread from here
 * on. Ends the program if the platform is missing. */
const struct host *host_of(const kpk_device *device);

#endif
