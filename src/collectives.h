/* collectives.h - RCCL and NCCL, as far as kpack calls them
 *
 * Both have the same functions and numbers. A row: result type, name, argument
 * types. All are in NCCL since 2.4 and in RCCL of every ROCm that is served.
 */
#ifndef KPK_COLLECTIVES_H
#define KPK_COLLECTIVES_H

#include "internal.h"

typedef int ncclResult_t;
typedef int ncclDataType_t;
typedef int ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct ncclUniqueId {
    uint8_t internal[KPK_I_ID_NBYTES];
} ncclUniqueId;

enum {
    ncclSuccess = 0,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclFloat16 = 6,
    ncclFloat32 = 7,
    ncclBfloat16 = 9,
    ncclSum = 0
};

/* clang-format off */
#define KPK_COLLECTIVES_TABLE(X)                                              \
    X(ncclResult_t, ncclGetVersion, (int *))                                  \
    X(const char *, ncclGetErrorString, (ncclResult_t))                       \
    X(ncclResult_t, ncclGetUniqueId, (ncclUniqueId *))                        \
    X(ncclResult_t, ncclCommInitRank, (ncclComm_t *, int, ncclUniqueId, int)) \
    X(ncclResult_t, ncclCommDestroy, (ncclComm_t))                            \
    X(ncclResult_t, ncclCommAbort, (ncclComm_t))                              \
    X(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t, ncclResult_t *))      \
    X(ncclResult_t, ncclGroupStart, (void))                                   \
    X(ncclResult_t, ncclGroupEnd, (void))                                     \
    X(ncclResult_t, ncclAllReduce,                                            \
      (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, \
       void *))                                                               \
    X(ncclResult_t, ncclReduceScatter,                                        \
      (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, \
       void *))                                                               \
    X(ncclResult_t, ncclAllGather,                                            \
      (const void *, void *, size_t, ncclDataType_t, ncclComm_t, void *))     \
    X(ncclResult_t, ncclBroadcast,                                            \
      (const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, void *))
/* clang-format on */

#endif
