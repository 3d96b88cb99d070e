/* stand_in.c - a library that has RCCL's functions and works on simulated GPUs
 *
 * Inputs come to the host and results go back in the stream's order; a host
 * function between the two meets the other ranks in a file that the id names,
 * be they threads or processes. It counts calls, and cannot sum but f32.
 */
#define _GNU_SOURCE
#include "collectives.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { MOST_RANKS = 16, MOST_NBYTES = 1 << 20, BAD_ARGUMENT = 4 };

/* Two slots for each rank: nobody is two calls ahead of another. */
struct meeting {
    atomic_int nopened;
    atomic_uint arrived[MOST_RANKS];
    unsigned char bytes[2][MOST_RANKS][MOST_NBYTES];
};

struct ncclComm {
    struct meeting *meeting;
    int rank, ranks;
    unsigned call;
    atomic_bool aborted;
    struct work *works; /* until the end */
};

enum kind { SUM, SUM_OF_ROW, ROWS, ROOT };

struct work {
    struct work *next;
    ncclComm_t comm;
    enum kind kind;
    int root;
    unsigned call;
    size_t in_nbytes, out_nbytes;
    unsigned char *in, *out; /* on the host */
};

/* Calls of collectives in this process, which tests read. */
API extern atomic_int stand_in_ncalls;
atomic_int stand_in_ncalls;

/* HIP of the simulated GPUs, which is in the process already. */
static void *hip(const char *name)
{
    static void *handle;

    if (!handle)
        handle = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
    return handle ? dlsym(handle, name) : NULL;
}

static bool all_there(const struct work *w)
{
    for (int r = 0; r < w->comm->ranks; r++)
        if (atomic_load(&w->comm->meeting->arrived[r]) < w->call)
            return false;
    return true;
}

static void add(const struct work *w, size_t from, float *sum)
{
    const size_t n = w->out_nbytes / sizeof(float);

    memset(sum, 0, w->out_nbytes);
    for (int r = 0; r < w->comm->ranks; r++) {
        const float *of =
            (const void *)(w->comm->meeting->bytes[w->call % 2][r] + from);

        for (size_t i = 0; i < n; i++)
            sum[i] += of[i];
    }
}

/* In the stream, between the copies. */
static void meet(void *what)
{
    const struct timespec pause = {.tv_nsec = 100000};
    struct work *w = what;
    struct meeting *m = w->comm->meeting;

    memcpy(m->bytes[w->call % 2][w->comm->rank], w->in, w->in_nbytes);
    atomic_store(&m->arrived[w->comm->rank], w->call);
    while (!all_there(w)) {
        if (atomic_load(&w->comm->aborted))
            return;
        nanosleep(&pause, NULL);
    }
    switch (w->kind) {
    case SUM:
        add(w, 0, (void *)w->out);
        break;
    case SUM_OF_ROW:
        add(w, (size_t)w->comm->rank * w->out_nbytes, (void *)w->out);
        break;
    case ROWS:
        for (int r = 0; r < w->comm->ranks; r++)
            memcpy(w->out + (size_t)r * w->in_nbytes, m->bytes[w->call % 2][r],
                   w->in_nbytes);
        break;
    case ROOT:
        memcpy(w->out, m->bytes[w->call % 2][w->root], w->out_nbytes);
        break;
    }
}

static ncclResult_t start(ncclComm_t comm, enum kind kind, int root,
                          const void *in, size_t in_nbytes, void *out,
                          size_t out_nbytes, void *stream)
{
    int (*copy)(void *, const void *, size_t, int, void *);
    int (*call)(void *, void (*)(void *), void *);
    int (*allocate)(void **, size_t, unsigned);
    void *from = NULL, *to = NULL;          /* pinned: other copies wait */
    struct work *w = calloc(1, sizeof(*w)); /* the process's until it ends */
    void *at = hip("hipMemcpyAsync");

    memcpy(&copy, &at, sizeof(at));
    at = hip("hipLaunchHostFunc");
    memcpy(&call, &at, sizeof(at));
    at = hip("hipHostMalloc");
    memcpy(&allocate, &at, sizeof(at));
    if (!w || !copy || !call || !allocate || in_nbytes > MOST_NBYTES ||
        allocate(&from, in_nbytes, 0) || allocate(&to, out_nbytes, 0)) {
        free(w);
        return BAD_ARGUMENT;
    }
    *w = (struct work){comm->works, comm,       kind, root, ++comm->call,
                       in_nbytes,   out_nbytes, from, to};
    comm->works = w;
    atomic_fetch_add(&stand_in_ncalls, 1);
    return copy(w->in, in, in_nbytes, 2, stream) || call(stream, meet, w) ||
                   copy(out, w->out, out_nbytes, 1, stream)
               ? 1
               : 0;
}

static size_t nbytes_of(ncclDataType_t type)
{
    return type == ncclFloat32 ? 4 : 2;
}

API ncclResult_t ncclAllReduce(const void *in, void *out, size_t n,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, void *stream)
{
    if (type != ncclFloat32 || op != ncclSum)
        return BAD_ARGUMENT;
    return start(comm, SUM, 0, in, n * 4, out, n * 4, stream);
}

API ncclResult_t ncclReduceScatter(const void *in, void *out, size_t n,
                                   ncclDataType_t type, ncclRedOp_t op,
                                   ncclComm_t comm, void *stream)
{
    if (type != ncclFloat32 || op != ncclSum)
        return BAD_ARGUMENT;
    return start(comm, SUM_OF_ROW, 0, in, (size_t)comm->ranks * n * 4, out,
                 n * 4, stream);
}

API ncclResult_t ncclAllGather(const void *in, void *out, size_t n,
                               ncclDataType_t type, ncclComm_t comm,
                               void *stream)
{
    const size_t nbytes = n * nbytes_of(type);

    return start(comm, ROWS, 0, in, nbytes, out, (size_t)comm->ranks * nbytes,
                 stream);
}

API ncclResult_t ncclBroadcast(const void *in, void *out, size_t n,
                               ncclDataType_t type, int root, ncclComm_t comm,
                               void *stream)
{
    const size_t nbytes = n * nbytes_of(type);

    return start(comm, ROOT, root, in, nbytes, out, nbytes, stream);
}

API ncclResult_t ncclGetVersion(int *out)
{
    *out = 22203;
    return 0;
}

API const char *ncclGetErrorString(ncclResult_t result)
{
    return result == BAD_ARGUMENT ? "invalid argument" : "unhandled error";
}

/* The file's name. */
API ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
    char name[] = "/dev/shm/kpk-stand-in-XXXXXX";
    const int fd = mkstemp(name);
    const bool made = fd >= 0 && ftruncate(fd, sizeof(struct meeting)) == 0;

    memset(out, 0, sizeof(*out));
    memcpy(out->internal, name, sizeof(name));
    if (fd >= 0)
        close(fd);
    return made ? 0 : 2;
}

API ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id,
                                  int rank)
{
    ncclComm_t comm = calloc(1, sizeof(*comm));
    const int fd = open((const char *)id.internal, O_RDWR | O_CLOEXEC);

    if (!comm || fd < 0 || ranks > MOST_RANKS) {
        free(comm);
        return BAD_ARGUMENT;
    }
    comm->rank = rank;
    comm->ranks = ranks;
    comm->meeting = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE,
                         MAP_SHARED, fd, 0);
    close(fd);
    if (comm->meeting == MAP_FAILED) {
        free(comm);
        return 2;
    }
    if (atomic_fetch_add(&comm->meeting->nopened, 1) + 1 == ranks)
        (void)unlink((const char *)id.internal);
    *out = comm;
    return 0;
}

API ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    void *at = hip("hipHostFree");
    int (*give_back)(void *);

    memcpy(&give_back, &at, sizeof(at));
    while (comm->works) {
        struct work *w = comm->works;

        comm->works = w->next;
        (void)give_back(w->in);
        (void)give_back(w->out);
        free(w);
    }
    munmap(comm->meeting, sizeof(struct meeting));
    free(comm);
    return 0;
}

API ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    atomic_store(&comm->aborted, true); /* its work may still run */
    return 0;
}

API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *out)
{
    (void)comm;
    *out = 0;
    return 0;
}

API ncclResult_t ncclGroupStart(void)
{
    return 0;
}

API ncclResult_t ncclGroupEnd(void)
{
    return 0;
}
