/* collectives.c - sums and copies over GPUs by RCCL or NCCL
 *
 * They are found at run time, as HIP is: a copy in the process first, then the
 * one that a variable names, then the system's.
 */
#include "collectives.h"

#include "error.h"
#include "instance.h"
#include "library.h"
#include "process.h"

#include <stdio.h>

static struct collectives {
#define X(result, name, args) result(*name) args;
    KPK_COLLECTIVES_TABLE(X)
#undef X
    atomic_bool bound;
    char engine[300]; /* "RCCL 2.22.3 (/opt/rocm/lib/librccl.so.1)" */
} rccl, nccl;

struct vendor {
    struct collectives *functions;
    const struct kpk_i_library *library;
    const char *title;
    const char *variable;
};
static const struct vendor vendors[] = {
    [KPK_HIP] = {&rccl, &kpk_i_rccl_library, "RCCL", "KPK_RCCL_LIBRARY"},
    [KPK_CUDA] = {&nccl, &kpk_i_nccl_library, "NCCL", "KPK_NCCL_LIBRARY"},
};

static const struct vendor *vendor_of(const kpk_instance *inst)
{
    return &vendors[inst->device.platform];
}

/* ---- finding it --------------------------------------------------------- */

/* Formats the version: 22203 is 2.22.3; old ones have one digit less: 2708 is
 * 2.7.8. */
static void name_engine(const struct vendor *v, void *handle)
{
    const char *file = kpk_i_library_file(handle);
    int version = 0;
    int major;

    (void)v->functions->ncclGetVersion(&version);
    major = version < 10000 ? 1000 : 10000;
    (void)snprintf(v->functions->engine, sizeof(v->functions->engine),
                   "%s %d.%d.%d (%.200s)", v->title, version / major,
                   version % major / 100, version % 100,
                   file ? file : v->library->stem);
}

/* KPK_OK, and the handle is kept, or why the file will not do. */
static kpk_status use(const struct vendor *v, void *handle)
{
    const char *file = kpk_i_library_file(handle);
    const char *missing = NULL;

#define X(result, name, args)                                                  \
    kpk_i_store_function(&v->functions->name,                                  \
                         kpk_i_library_symbol(handle, #name));                 \
    if (!v->functions->name)                                                   \
        missing = #name;
    KPK_COLLECTIVES_TABLE(X)
#undef X
    if (!missing) {
        name_engine(v, handle);
        return KPK_OK;
    }
    (void)kpk_i_fail(KPK_ERR_UNSUPPORTED,
                     "%s is no %s that kpack can use: it has no %s",
                     file ? file : v->library->stem, v->title, missing);
    kpk_i_library_close(handle);
    return KPK_ERR_UNSUPPORTED;
}

struct search {
    struct kpk_i_tried tried;
    void *handle;
};

static bool open_file(const char *name, void *what)
{
    struct search *search = what;

    search->handle = kpk_i_open_library(name, &search->tried);
    return search->handle != NULL;
}

static kpk_status find(const struct vendor *v, const char *named)
{
    struct search search = {.handle = kpk_i_library_loaded(v->library, 0)};

    if (search.handle)
        return use(v, search.handle);
    if (named && *named) {
        search.handle = kpk_i_library_open(named);
        if (search.handle)
            return use(v, search.handle);
        (void)kpk_i_does_not_load("", v->variable, named);
        return KPK_ERR_UNSUPPORTED;
    }
    if (kpk_i_each_file(v->library, open_file, &search))
        return use(v, search.handle);
    return kpk_i_fail(KPK_ERR_UNSUPPORTED, "no %s: %s%s%s%s. %s", v->title,
                      v->library->absent, *search.tried.why ? " (" : "",
                      search.tried.why, *search.tried.why ? ")" : "",
                      v->library->advice);
}

static kpk_status find_rccl(void)
{
    return find(&vendors[KPK_HIP], kpk_i_secure_getenv("KPK_RCCL_LIBRARY"));
}

static kpk_status find_nccl(void)
{
    return find(&vendors[KPK_CUDA], kpk_i_secure_getenv("KPK_NCCL_LIBRARY"));
}

kpk_status kpk_i_collectives_find(const kpk_instance *inst, const char **engine)
{
    const struct vendor *v = vendor_of(inst);
    const kpk_status st = kpk_i_bind_once(
        &v->functions->bound, v->functions == &rccl ? find_rccl : find_nccl);

    *engine = v->functions->engine;
    return st;
}

/* ---- calling it --------------------------------------------------------- */

static kpk_status answer(const struct vendor *v, const char *call,
                         ncclResult_t result)
{
    if (result == ncclSuccess || result == ncclInProgress)
        return KPK_OK;
    return kpk_i_fail(result == ncclRemoteError ? KPK_ERR_TIMEOUT
                                                : KPK_ERR_DRIVER,
                      "%s of %s returned %d, %s", call, v->functions->engine,
                      (int)result, v->functions->ncclGetErrorString(result));
}

kpk_status kpk_i_collectives_id(const kpk_instance *inst,
                                uint8_t id[KPK_I_ID_NBYTES])
{
    const struct vendor *v = vendor_of(inst);
    ncclUniqueId made;
    kpk_status st =
        answer(v, "ncclGetUniqueId", v->functions->ncclGetUniqueId(&made));

    if (st == KPK_OK)
        memcpy(id, made.internal, sizeof(made.internal));
    return st;
}

/* An action of the library for an instance's device. */
#define ON_DEVICE(inst, name, arguments)                                       \
    do {                                                                       \
        const struct vendor *v = vendor_of(inst);                              \
        intptr_t saved;                                                        \
        kpk_status st = kpk_i_enter((inst), &saved);                           \
                                                                               \
        if (st == KPK_OK)                                                      \
            st = kpk_i_leave((inst), saved,                                    \
                             answer(v, #name, v->functions->name arguments));  \
        return st;                                                             \
    } while (0)

/* Within a group *out is set at the group's end. */
static kpk_status init(kpk_instance *inst, uint32_t rank, uint32_t ranks,
                       ncclUniqueId id, ncclComm_t *out)
{
    ON_DEVICE(inst, ncclCommInitRank, (out, (int)ranks, id, (int)rank));
}

kpk_status kpk_i_collectives_begin(const kpk_instance *inst)
{
    const struct vendor *v = vendor_of(inst);

    return answer(v, "ncclGroupStart", v->functions->ncclGroupStart());
}

kpk_status kpk_i_collectives_end(const kpk_instance *inst, kpk_status st)
{
    const struct vendor *v = vendor_of(inst);
    const ncclResult_t ended = v->functions->ncclGroupEnd();

    return st == KPK_OK ? answer(v, "ncclGroupEnd", ended) : st;
}

kpk_status kpk_i_collectives_open(kpk_instance *const *insts, uint32_t first,
                                  uint32_t n, uint32_t ranks,
                                  const uint8_t id[KPK_I_ID_NBYTES],
                                  struct ncclComm **out)
{
    ncclUniqueId of_all;
    kpk_status st = kpk_i_collectives_begin(insts[0]);

    if (st != KPK_OK)
        return st;
    memcpy(of_all.internal, id, sizeof(of_all.internal));
    for (uint32_t i = 0; i < n && st == KPK_OK; i++)
        st = init(insts[i], first + i, ranks, of_all, &out[i]);
    return kpk_i_collectives_end(insts[0], st);
}

static const ncclDataType_t types[] = {
    [KPK_I_F16] = ncclFloat16,
    [KPK_I_BF16] = ncclBfloat16,
    [KPK_I_F32] = ncclFloat32,
};

kpk_status kpk_i_collectives_all_reduce(kpk_instance *inst,
                                        const struct kpk_i_collective *c)
{
    ON_DEVICE(
        inst, ncclAllReduce,
        (c->in, c->out, c->n, types[c->type], ncclSum, c->comm, c->stream));
}

kpk_status kpk_i_collectives_reduce_scatter(kpk_instance *inst,
                                            const struct kpk_i_collective *c)
{
    ON_DEVICE(
        inst, ncclReduceScatter,
        (c->in, c->out, c->n, types[c->type], ncclSum, c->comm, c->stream));
}

kpk_status kpk_i_collectives_all_gather(kpk_instance *inst,
                                        const struct kpk_i_collective *c)
{
    ON_DEVICE(inst, ncclAllGather,
              (c->in, c->out, c->n, types[c->type], c->comm, c->stream));
}

kpk_status kpk_i_collectives_broadcast(kpk_instance *inst,
                                       const struct kpk_i_collective *c)
{
    ON_DEVICE(inst, ncclBroadcast,
              (c->in, c->out, c->n, types[c->type], (int)c->root, c->comm,
               c->stream));
}

kpk_status kpk_i_collectives_state(const kpk_instance *inst,
                                   struct ncclComm *comm)
{
    const struct vendor *v = vendor_of(inst);
    ncclResult_t state = ncclSuccess;
    kpk_status st = answer(v, "ncclCommGetAsyncError",
                           v->functions->ncclCommGetAsyncError(comm, &state));

    return st == KPK_OK ? answer(v, "a call", state) : st;
}

kpk_status kpk_i_collectives_close(kpk_instance *inst, struct ncclComm *comm)
{
    ON_DEVICE(inst, ncclCommDestroy, (comm));
}

kpk_status kpk_i_collectives_abort(kpk_instance *inst, struct ncclComm *comm)
{
    ON_DEVICE(inst, ncclCommAbort, (comm));
}
