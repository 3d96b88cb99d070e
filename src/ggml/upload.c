/*
 * upload.c - copies between the host and a device's tensors
 *
 * llama.cpp writes half a dozen small inputs before each token, and each of
 * them would wait for the GPU. Instead they go through a ring of pinned memory
 * and a stream of their own: a graph's stream waits for that once, on the GPU.
 */
#include "upload.h"

#include <string.h>

enum { RING_NBYTES = 4 << 20, MOST_NBYTES = 256 << 10, ALIGNMENT = 64 };

void upload_open(struct gpu *gpu)
{
    (void)pthread_mutex_init(&gpu->lock, NULL);
}

/* Made when they are first wanted. */
static bool has_stream(struct gpu *gpu)
{
    if (gpu->uploads)
        return true;
    if (!gpu_check(kpk_stream_create(gpu->inst, KPK_STREAM_NON_BLOCKING,
                                     &gpu->uploads),
                   "a stream for copies"))
        return false;
    /* without these, copies are waited for */
    if (kpk_event_create(gpu->inst, KPK_EVENT_NO_TIMING, &gpu->uploaded) ==
            KPK_OK &&
        kpk_malloc_host(gpu->inst, RING_NBYTES, (void **)&gpu->ring) != KPK_OK)
        gpu->ring = NULL;
    return true;
}

static bool wait(struct gpu *gpu)
{
    gpu->ring_used = 0;
    return gpu_check(kpk_sync(gpu->inst, gpu->uploads), "waiting for copies");
}

static bool copy_to(struct gpu *gpu, void *to, const void *from, size_t nbytes)
{
    gpu->nuploads++;
    return gpu_check(
        kpk_copy_to_async(gpu->inst, to, from, nbytes, gpu->uploads),
        "writing a tensor");
}

static bool upload_now(struct gpu *gpu, void *to, const void *from,
                       size_t nbytes)
{
    const size_t room = (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *kept;

    if (!has_stream(gpu))
        return false;
    if (!gpu->ring || !gpu->uploaded || nbytes > MOST_NBYTES)
        return copy_to(gpu, to, from, nbytes) && wait(gpu);
    if (gpu->ring_used + room > RING_NBYTES && !wait(gpu))
        return false;
    kept = gpu->ring + gpu->ring_used;
    gpu->ring_used += room;
    memcpy(kept, from, nbytes);
    return copy_to(gpu, to, kept, nbytes);
}

bool upload(struct gpu *gpu, void *to, const void *from, size_t nbytes)
{
    bool good;

    (void)pthread_mutex_lock(&gpu->lock);
    good = upload_now(gpu, to, from, nbytes);
    (void)pthread_mutex_unlock(&gpu->lock);
    return good;
}

bool download(struct gpu *gpu, void *to, const void *from, size_t nbytes)
{
    bool good;

    (void)pthread_mutex_lock(&gpu->lock);
    good = has_stream(gpu) &&
           gpu_check(
               kpk_copy_from_async(gpu->inst, to, from, nbytes, gpu->uploads),
               "reading a tensor") &&
           wait(gpu);
    (void)pthread_mutex_unlock(&gpu->lock);
    return good;
}

bool upload_end(struct gpu *gpu)
{
    bool good;

    (void)pthread_mutex_lock(&gpu->lock);
    good = !gpu->uploads || wait(gpu);
    (void)pthread_mutex_unlock(&gpu->lock);
    return good;
}

bool upload_wait(struct gpu *gpu, void *stream, uint64_t *seen)
{
    bool good = true;

    (void)pthread_mutex_lock(&gpu->lock);
    if (gpu->nuploads != *seen) {
        good = gpu->uploaded
                   ? gpu_check(kpk_event_record(gpu->inst, gpu->uploaded,
                                                gpu->uploads),
                               "waiting for copies") &&
                         gpu_check(
                             kpk_stream_wait(gpu->inst, stream, gpu->uploaded),
                             "waiting for copies")
                   : wait(gpu);
        *seen = gpu->nuploads;
    }
    (void)pthread_mutex_unlock(&gpu->lock);
    return good;
}
