/* hip_ipc.h - memory of another process */
#ifndef SIM_HIP_IPC_H
#define SIM_HIP_IPC_H

#include "op_queue.h"

/* Gives up what hipMemPoolImportPointer() gave, after the queue's work, or at
 * once if that is NULL. */
hipError_t ipc_import_free(uint64_t base, struct queue *queue);

#endif
