/*
 * comm_group.h - sums and copies over the GPUs of one host, by module comm
 *
 *     kpk_comm_open(insts, ranks, NULL, &comm);
 *     kpk_comm_register(comm, buffers, nbytes); // for large messages
 *     kpk_comm_choose(comm, KPK_COMM_ALL_REDUCE, KPK_COMM_BF16, n, &plan);
 *     kpk_comm_launch_all(comm, &plan, 0, inputs, outputs, streams);
 *     kpk_comm_sync(comm, rank, streams[rank]); // each rank
 *
 * A group has a rank for each GPU. Its kernels read and write the memory of the
 * other GPUs and wait for each other by flags, without the host: launches can
 * be recorded in graphs. All ranks make the same calls in the same order, each
 * in streams that follow each other, and the launches of one call must be able
 * to run at the same time.
 *
 * A group whose GPUs do not reach each other's memory, or are on several hosts,
 * or are more than 8, goes through RCCL (librccl.so.1) or NCCL (libnccl.so.2),
 * which are loaded when such a group is opened. The calls are the same, with
 * three differences: a thread that serves several ranks must call
 * kpk_comm_launch_all(); waits for a stream must use kpk_comm_sync(), because
 * the libraries' kernels have no time limit; and the libraries add in an order
 * of their own.
 */
#ifndef KPACK_COMM_GROUP_H
#define KPACK_COMM_GROUP_H

#include <kpack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KPK_COMM_LEAST_RANKS = 2, KPK_COMM_MOST_RANKS = 8 };

typedef enum kpk_comm_type {
    KPK_COMM_F16 = 0,
    KPK_COMM_BF16 = 1,
    KPK_COMM_F32 = 2
} kpk_comm_type;

/*
 * An operation on n elements of each rank. Sums are computed in f32, from rank
 * 0 on, and rounded once, so all ranks get the same bits at any size.
 *
 *   KPK_COMM_ALL_REDUCE      in [n], out [n]: the sum of all ranks' in. Either
 *                            out is in on every rank, or on none; otherwise the
 *                            sums of large messages are wrong.
 *                            kpk_comm_launch() sees one rank and cannot check
 *                            this; kpk_comm_launch_all() fails with KPK_ERR_ARG
 *   KPK_COMM_REDUCE_SCATTER  in [ranks, n], out [n]: the sum of all ranks' row
 *                            number `rank`; out is no part of in
 *   KPK_COMM_ALL_GATHER      in [n], out [ranks, n]: every rank's in; in may be
 *                            this rank's row of out
 *   KPK_COMM_BROADCAST       in [n], out [n]: the in of rank root; out may be
 *                            in
 */
typedef enum kpk_comm_op {
    KPK_COMM_ALL_REDUCE = 0,
    KPK_COMM_REDUCE_SCATTER = 1,
    KPK_COMM_ALL_GATHER = 2,
    KPK_COMM_BROADCAST = 3,
    KPK_COMM_NORM = 4 /* kpk_comm_choose_norm() makes such plans */
} kpk_comm_op;

/* 0 in a field means the default that its comment gives. */
typedef struct kpk_comm_options {
    /* The largest message that uses the `small` kernels: by default 256 KiB for
     * 2 ranks, 384 KiB / (ranks - 1) for more; 1 MiB at most. By default all
     * all-reduces of 2 ranks, and those above 16 KiB / (ranks - 1) of more
     * ranks, use `medium` kernels instead. Each GPU's workspace has 4 * ranks
     * times as many bytes. */
    uint32_t small_nbytes;
    /* Bytes that one launch of a large all-reduce adds up: 64 MiB, 2^40 at
     * most. Longer messages take several launches. Each GPU has three times as
     * many, for the results and for two rounds of shares: with the other two
     * sizes' 194 MiB for 2 ranks by default. */
    uint64_t large_nbytes;
    /* How long a kernel waits for another rank: 10000. */
    uint32_t limit_ms;
    /* 1: always use RCCL or NCCL; 0: only if GPUs of the group cannot access
     * each other's memory. */
    uint32_t by_library;
    /* The largest all-reduce that uses the `medium` kernels: by default 2 MiB
     * for 2 ranks, 1152 KiB / (ranks - 1) for more; at most 2^40. Each GPU's
     * workspace has 2 * ranks times as many bytes, or 2 * large_nbytes. */
    uint64_t medium_nbytes;
} kpk_comm_options;

/* A group. Calls for different ranks may come from different threads at once,
 * but for kpk_comm_register() and kpk_comm_close(). */
typedef struct kpk_comm kpk_comm;

/*
 * kpk_comm_open() opens a group, loads module comm and allocates a workspace on
 * each GPU.
 *
 *   insts    [ranks] instances with module comm, of one driver, by rank. They
 *            stay open until kpk_comm_close(). Two may be on one device, whose
 *            streams must then be able to run at once
 *   ranks    2 to 65534
 *   options  NULL for the defaults
 *   out      set on success; closed by kpk_comm_close()
 *
 * Fails with KPK_ERR_UNSUPPORTED if RCCL or NCCL is needed and cannot be used:
 * the sentence says why it is needed and what is missing. Also fails with
 * KPK_ERR_ARG and KPK_ERR_NOMEM, and as kpk_kernel_get() and kpk_malloc() do.
 */
kpk_status kpk_comm_open(kpk_instance *const *insts, uint32_t ranks,
                         const kpk_comm_options *options, kpk_comm **out);

/*
 * The caller of kpk_comm_open_rank() gives a function that carries bytes
 * between the processes, by MPI_Allgather(), a store or files. It fills `all`,
 * [ranks][nbytes], with each rank's `mine`, in the order of ranks. All ranks
 * make the same calls in the same order, each from the thread that is in a call
 * of the group. It returns 0, or another number if a rank cannot be reached.
 * kpack sets no time limit, so if a rank ends, the gathers of the other ranks
 * must return, too.
 */
typedef int (*kpk_comm_gather)(void *caller, const void *mine, void *all,
                               size_t nbytes);

/*
 * kpk_comm_open_rank() opens one rank of a group over processes, on one host or
 * several, and returns when all ranks have called it.
 *
 *   inst     an instance with module comm, on a GPU that no other rank has. It
 *            stays open until kpk_comm_close()
 *   rank     this process's, below ranks
 *   ranks    2 to 65534
 *   options  the same on all ranks; NULL for the defaults
 *   gather   see above; also called by kpk_comm_register() and
 *            kpk_comm_close(), which all ranks must call then
 *   caller   handed to gather
 *   out      set on success; closed by kpk_comm_close()
 *
 * The calls below take this process's rank and no other. If one rank fails, all
 * do. A rank that is refused for its arguments, or has no host memory, makes no
 * gather: its caller ends the others', as for a rank that has ended. Fails as
 * kpk_comm_open() does, and with KPK_ERR_ARG if ranks differ in their options
 * or the gather failed. RCCL and NCCL have no time limit: a rank that ends
 * while they open leaves the others waiting.
 */
kpk_status kpk_comm_open_rank(kpk_instance *inst, uint32_t rank, uint32_t ranks,
                              const kpk_comm_options *options,
                              kpk_comm_gather gather, void *caller,
                              kpk_comm **out);

/*
 * Frees the group after its launches have ended; NULL does nothing. In a group
 * over processes the caller first waits for the rank's streams, by
 * kpk_comm_sync(), and kpk_comm_close() waits until all ranks call it. After a
 * timeout a rank makes no gather: its caller must end the gathers of the other
 * ranks.
 */
kpk_status kpk_comm_close(kpk_comm *comm);

/* The name of the group's implementation: "module comm", or the library with
 * its version and file, "RCCL 2.22.3 (/opt/rocm/lib/librccl.so.1)". It lives as
 * long as the group. Cannot fail. */
const char *kpk_comm_engine(const kpk_comm *comm);

/*
 * kpk_comm_register() registers buffers for the inputs of large messages:
 * [ranks] pointers to nbytes each, on the ranks' GPUs, from kpk_malloc() or the
 * driver. It allocates only host memory, and lasts until kpk_comm_close(). In a
 * group over processes all ranks call it; only buffers[rank] is read, which
 * must be the start of an allocation. Fails with KPK_ERR_ARG, KPK_ERR_NOMEM
 * and, once kpk_comm_check() has, with KPK_ERR_TIMEOUT.
 */
kpk_status kpk_comm_register(kpk_comm *comm, void *const *buffers,
                             uint64_t nbytes);

/* The kernel and launch of a call, the same on every rank. */
typedef struct kpk_comm_plan {
    char kernel[40]; /* "all_reduce_small_bf16", "ncclAllReduce" */
    kpk_shape shape;
    kpk_comm_op op;
    kpk_comm_type type;
    uint32_t element_nbytes;
    uint64_t n;          /* elements */
    uint64_t each;       /* elements of one launch; 0: there are none */
    uint32_t registered; /* 1: inputs lie in registered buffers, see below */
    uint32_t medium;     /* 1: by a `medium` kernel */
    /* How much a block sends at a time before it waits: pieces of 16 bytes per
     * thread, or rows. At least 1. */
    uint32_t step;
    uint32_t columns, padded; /* of kpk_comm_choose_norm(), else 0 */
    uint32_t parts;           /* blocks that share a row */
    uint32_t clustered;       /* 1: these blocks are a cluster */
} kpk_comm_plan;

/*
 * kpk_comm_choose() picks the kernel and its grid by bytes and GPUs. Fails with
 * KPK_ERR_ARG for a NULL, an operation or a type that there is not, and more
 * than 2^50 elements.
 */
kpk_status kpk_comm_choose(const kpk_comm *comm, kpk_comm_op op,
                           kpk_comm_type type, uint64_t n, kpk_comm_plan *out);

/*
 * kpk_comm_launch() starts one rank's part of a call and returns.
 *
 *   root     the rank that KPK_COMM_BROADCAST copies from; else not read
 *   in, out  device memory of the rank's GPU, aligned to an element; fast if
 *            aligned to 16 bytes. If plan->registered, `in` is at one place of
 *            one registered buffer on all ranks, with KPK_COMM_BROADCAST too.
 *            KPK_COMM_ALL_REDUCE wants that if out is in, on NVIDIA's GPUs.
 *            NULL will do if plan->n is 0
 *   stream   a stream of the rank's instance
 *
 * Fails with KPK_ERR_ARG, with KPK_ERR_TIMEOUT once kpk_comm_check() has,
 * otherwise as kpk_kernel_get() and kpk_launch(). A launch allocates nothing.
 */
kpk_status kpk_comm_launch(kpk_comm *comm, const kpk_comm_plan *plan,
                           uint32_t rank, uint32_t root, const void *in,
                           void *out, void *stream);

/*
 * kpk_comm_choose_norm() plans an all-reduce with the next step of a model: the
 * sum over the ranks, rounded to the type, is added to a residual, and the
 * result's RMS norm goes on, as numbers or as Q8_1 blocks. The steps are those
 * of KPK_COMM_ALL_REDUCE, and of rmsnorm_add_T or
 * add_rmsnorm_quantize_q8_1_quants_T of module fused. All ranks get the same
 * bits.
 *
 *   rows     of the ranks' inputs, one row a token
 *   columns  of a row, which is whole pieces of 16 bytes
 *   padded   0 for numbers; for blocks the columns of a row of them, a multiple
 *            of 32; zero behind `columns`
 *
 * Fails with KPK_ERR_ARG, and with KPK_ERR_UNSUPPORTED in a group that goes
 * through RCCL or NCCL.
 */
kpk_status kpk_comm_choose_norm(const kpk_comm *comm, kpk_comm_type type,
                                uint32_t rows, uint32_t columns,
                                uint32_t padded, kpk_comm_plan *out);

/* Device memory of a rank's GPU, aligned to 16 bytes; blocks to 4. */
typedef struct kpk_comm_norm_args {
    const void *in;       /* [rows, columns]: as kpk_comm_launch()'s */
    const void *residual; /* [rows, columns], or NULL for 0 */
    void *sum;            /* [rows, columns]; may be residual, not in */
    const void *weight;   /* [columns], or NULL for 1 */
    void *out;            /* [rows, columns], or [rows, padded / 32] blocks */
    float eps;
} kpk_comm_norm_args;

/* kpk_comm_norm() starts one rank's part of the call, as kpk_comm_launch(). */
kpk_status kpk_comm_norm(kpk_comm *comm, const kpk_comm_plan *plan,
                         uint32_t rank, const kpk_comm_norm_args *args,
                         void *stream);

/*
 * kpk_comm_launch_all() starts a call on all ranks of a group in one process:
 * in, out, streams [ranks]. Fails as kpk_comm_launch() does. With RCCL or NCCL
 * a thread that serves several ranks must use it instead of kpk_comm_launch().
 */
kpk_status kpk_comm_launch_all(kpk_comm *comm, const kpk_comm_plan *plan,
                               uint32_t root, const void *const *in,
                               void *const *out, void *const *streams);

/*
 * kpk_comm_check() says whether a rank's finished launches (kpk_sync()) have
 * met all other ranks. If one has timed out, it fails with KPK_ERR_TIMEOUT, and
 * its message names the rank that did not come: it did not make the same calls,
 * or its GPU or process has ended. The rank's results are then wrong from the
 * call that timed out. The group has ended: later launches do not wait, and
 * every further call but kpk_comm_close(), kpk_comm_choose() and
 * kpk_comm_choose_norm() fails with KPK_ERR_TIMEOUT. Open another group, of the
 * same instances if their GPUs still work.
 */
kpk_status kpk_comm_check(kpk_comm *comm, uint32_t rank);

/*
 * kpk_comm_sync() waits for a rank's stream and checks it: kpk_sync(), then
 * kpk_comm_check(). With RCCL or NCCL it waits for limit_ms at most. After
 * limit_ms, or when the library reports that another rank has ended, it aborts
 * the rank's communicator, so that the stream ends, and fails with
 * KPK_ERR_TIMEOUT. Earlier work in the stream counts towards limit_ms, and the
 * wait keeps a processor busy.
 */
kpk_status kpk_comm_sync(kpk_comm *comm, uint32_t rank, void *stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
