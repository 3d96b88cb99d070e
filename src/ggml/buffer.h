/* buffer.h - memory of a device, and pinned memory of the host, for ggml */
#ifndef KPK_GGML_BUFFER_H
#define KPK_GGML_BUFFER_H

#include "gpu.h"

/* Fills in gpu->memory and gpu->pinned. */
void buffer_types(struct gpu *gpu);

/* The device whose memory holds a tensor; NULL if it is no device of kpack. */
struct gpu *buffer_gpu(const struct ggml_tensor *tensor);

#endif
