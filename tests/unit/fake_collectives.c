/* fake_collectives.c - an RCCL that does nothing, and records its calls
 *
 * Another one, with FAKE_BROKEN, lacks a function.
 */
#include "fake_collectives.h"

#include "collectives.h"

#define API __attribute__((visibility("default")))

#define X(result, name, args) API result name args;
KPK_COLLECTIVES_TABLE(X)
#undef X

API extern struct fake_collectives fake_collectives;
struct fake_collectives fake_collectives = {.version = 22203};

static struct ncclComm {
    int rank;
} comms[2];

static int called(const char *name)
{
    fake_collectives.last = name;
    fake_collectives.ncalls++;
    return fake_collectives.fail_name &&
                   strcmp(fake_collectives.fail_name, name) == 0
               ? fake_collectives.fail_error
               : 0;
}

static int collect(const char *name, const void *in, const void *out, size_t n,
                   int type, int root, ncclComm_t comm, void *stream)
{
    fake_collectives.in = in;
    fake_collectives.out = out;
    fake_collectives.n = n;
    fake_collectives.type = type;
    fake_collectives.root = root;
    fake_collectives.comm = comm;
    fake_collectives.stream = stream;
    return called(name);
}

int ncclGetVersion(int *out)
{
    *out = fake_collectives.version;
    return called(__func__);
}

const char *ncclGetErrorString(int result)
{
    return result == 5 ? "invalid usage" : "another error";
}

int ncclGetUniqueId(ncclUniqueId *out)
{
    memset(out->internal, 7, sizeof(out->internal));
    return called(__func__);
}

int ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id, int rank)
{
    fake_collectives.ranks = ranks;
    fake_collectives.id = id.internal[KPK_I_ID_NBYTES - 1];
    *out = &comms[rank % 2];
    return called(__func__);
}

#define SIMPLE(name)                                                           \
    int name(ncclComm_t comm)                                                  \
    {                                                                          \
        fake_collectives.comm = comm;                                          \
        return called(__func__);                                               \
    }
SIMPLE(ncclCommDestroy)
#ifndef FAKE_BROKEN
SIMPLE(ncclCommAbort)
#endif

int ncclCommGetAsyncError(ncclComm_t comm, int *out)
{
    fake_collectives.comm = comm;
    *out = fake_collectives.state;
    return called(__func__);
}

int ncclGroupStart(void)
{
    return called(__func__);
}

int ncclGroupEnd(void)
{
    return called(__func__);
}

int ncclAllReduce(const void *in, void *out, size_t n, int type, int op,
                  ncclComm_t comm, void *stream)
{
    return op ? 4 : collect(__func__, in, out, n, type, 0, comm, stream);
}

int ncclReduceScatter(const void *in, void *out, size_t n, int type, int op,
                      ncclComm_t comm, void *stream)
{
    return op ? 4 : collect(__func__, in, out, n, type, 0, comm, stream);
}

int ncclAllGather(const void *in, void *out, size_t n, int type,
                  ncclComm_t comm, void *stream)
{
    return collect(__func__, in, out, n, type, 0, comm, stream);
}

int ncclBroadcast(const void *in, void *out, size_t n, int type, int root,
                  ncclComm_t comm, void *stream)
{
    return collect(__func__, in, out, n, type, root, comm, stream);
}
