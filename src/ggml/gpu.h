/* gpu.h - a device of the backend, and how its other files see it */
#ifndef KPK_GGML_GPU_H
#define KPK_GGML_GPU_H

#include <kpack.h>

#include <ggml-backend-impl.h>
#include <ggml.h>

#include <pthread.h>

struct gpu {
    kpk_instance *inst;
    char name[16];   /* "KPACK0" */
    char pci[16];    /* "0000:c1:00.0", or "" */
    bool integrated; /* its memory is the host's */
    struct ggml_backend_device device;
    struct ggml_backend_buffer_type memory, pinned;
    /* of upload.c */
    pthread_mutex_t lock;
    void *uploads, *uploaded; /* a stream and an event; NULL: not yet made */
    char *ring;               /* pinned memory */
    size_t ring_used;
    uint64_t nuploads; /* so far */
};

/* Prints to stderr why a step failed; the reason is kpack's last message. */
bool gpu_check(kpk_status status, const char *what);

#endif
