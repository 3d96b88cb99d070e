/* fake_collectives.h - what a test tells the fake RCCL, and reads from it */
#ifndef FAKE_COLLECTIVES_H
#define FAKE_COLLECTIVES_H

#include <stddef.h>

struct fake_collectives {
    /* Set by the test. */
    int version;
    const char *fail_name; /* fails every call to this function ... */
    int fail_error;        /* ... with this error */
    int state;             /* ncclCommGetAsyncError's answer */

    /* Read by the test. */
    const char *last; /* the last function */
    int ncalls;
    int ranks, id;
    const void *in, *out, *comm, *stream;
    size_t n;
    int type, root;
};

#endif
