/* upload.h - copies between the host and a device's tensors */
#ifndef KPK_GGML_UPLOAD_H
#define KPK_GGML_UPLOAD_H

#include "gpu.h"

/*
 * upload() copies to a tensor's memory. It reads the bytes before it returns.
 * Small uploads may arrive later, but before work that follows upload_wait(),
 * and before all other calls of this file. download() reads memory;
 * upload_end() waits for all uploads.
 */
bool upload(struct gpu *gpu, void *to, const void *from, size_t nbytes);
bool download(struct gpu *gpu, void *to, const void *from, size_t nbytes);
bool upload_end(struct gpu *gpu);

/* Later work of a stream begins behind the uploads so far. *seen is the number
 * of those that the stream has waited for, 0 at first. */
bool upload_wait(struct gpu *gpu, void *stream, uint64_t *seen);

void upload_open(struct gpu *gpu);

#endif
