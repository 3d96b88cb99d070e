/* hip_ipc.h - memory of another process */
#ifndef SIM_HIP_IPC_H
#define SIM_HIP_IPC_H

#include "op_queue.h"

/* Frees an import of hipMemPoolImportPointer(), after the queue's work, or at
 * once if the queue is NULL. */
hipError_t ipc_import_free(uint64_t base, struct queue *queue);

#endif
