/* stream_memory.h - an instance's pool of device memory */
#ifndef KPK_STREAM_MEMORY_H
#define KPK_STREAM_MEMORY_H

#include "instance.h"

#pragma GCC visibility push(hidden)

void kpk_i_pool_make(struct kpk_i_pool *pool);

/* Gives all memory back, used or idle, for an instance that is closed. */
kpk_status kpk_i_pool_close(kpk_instance *inst);

/* A stream ends: another one may get its handle. */
void kpk_i_pool_forget(kpk_instance *inst, const void *stream);

#pragma GCC visibility pop

#endif
