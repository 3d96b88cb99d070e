/*
 * comm/group.h - what one GPU of a group knows of the others
 *
 * Each rank, a GPU of the group, has a workspace that all ranks reach
 * (kernels/host/comm_workspace_inside.h). On AMD's GPUs it is uncached memory,
 * so that a flag is never kept in a cache.
 *
 * All ranks make the same calls in the same order, and call number k of a rank
 * ends after call k of every other rank has begun. The call before has then
 * ended there, because calls of a rank follow each other in one stream.
 *
 * Flags are single words of relaxed system-scope atomics. Data that a flag
 * announces lies behind a release of system scope, and is read after such an
 * acquire, as the memory models of both vendors ask.
 *
 * A wait ends after `limit_ms`. The rank then notes whom it waited for and no
 * longer waits: its results are wrong from there on, and the host learns it.
 */
#pragma once

#include "../../host/comm_workspace_inside.h"
#include "device.h"
#include "early.h"
#include "known.h"

static_assert(COMM_FAILED + 4 <= COMM_BEGUN, "the head of a workspace");
static_assert(COMM_PARTS + COMM_BLOCKS * COMM_PART_WORDS * 8 <= COMM_SLOTS,
              "the flags of a workspace");

/* The same number, of which AMD's compiler knows nothing. It would keep all
 * that follows from such numbers in scalar registers, and there are too few. */
template <typename T> DEV T known_nowhere(T v)
{
#if !KPK_NVIDIA
    asm volatile("" : "+s"(v));
#endif
    return v;
}

/*
 * A pointer for each rank among the kernel's arguments, from byte `offset` on.
 * NVIDIA's GPUs read arguments as operands. On AMD each use reads them again,
 * into scalar registers: all of the ranks' pointers would not fit these.
 */
template <typename T, u32 offset> struct RankPointers {
    T *given[COMM_RANKS];

    /* the rank's, which is one number for a whole wave */
    DEV_MEMBER T *operator[](u32 rank) const
    {
#if KPK_NVIDIA
        return of_lane(rank);
#else
        return arguments()[rank];
#endif
    }
    /* of a rank that differs by lane */
    DEV_MEMBER T *of_lane(u32 rank) const
    {
#if KPK_NVIDIA
        T *const *list = given;
#else
        auto *list = arguments();
#endif
        T *p = list[0];
        UNROLL
        for (u32 s = 1; s < COMM_RANKS; s++)
            if (rank == s)
                p = list[s];
        return p;
    }
#if !KPK_NVIDIA
    typedef __attribute__((address_space(1))) T *pointer;
    static DEV_MEMBER auto *arguments()
    {
        return arguments_from<pointer>(offset);
    }
#endif
};

/* A kernel's first arguments, and one call. */
struct CommGroup {
    RankPointers<u8, 0> memory; /* the ranks' workspaces */
    u8 *own;                    /* this rank's */
    u32 rank, ranks;
    u32 small_nbytes; /* of one slot's data */
    u32 limit_ms;
    u32 call; /* this call's number, which is never 0 */
    u32 dead; /* not 0: a wait for another rank has timed out */
};

#define RANK_POINTERS(T, name)                                                 \
    T *name##0, T *name##1, T *name##2, T *name##3, T *name##4, T *name##5,    \
        T *name##6, T *name##7
#define RANK_POINTERS_LIST(name)                                               \
    name##0, name##1, name##2, name##3, name##4, name##5, name##6, name##7
#define COMM_PARAMETERS                                                        \
    RANK_POINTERS(u8, memory), u32 rank, u32 ranks, u32 small_nbytes,          \
        u32 limit_ms
/* The group before comm_begin(), and after it. */
#define COMM_GROUP_BEFORE(name)                                                \
    CommGroup name = {{{RANK_POINTERS_LIST(memory)}},                          \
                      nullptr,                                                 \
                      rank,                                                    \
                      ranks,                                                   \
                      small_nbytes,                                            \
                      limit_ms,                                                \
                      0,                                                       \
                      0};                                                      \
    let_next_launch_begin()
#define COMM_GROUP(name)                                                       \
    COMM_GROUP_BEFORE(name);                                                   \
    comm_begin(name)

/* A loop over ranks of which each does few steps. */
#if KPK_NVIDIA
#define UNROLL_RANKS UNROLL
#else
#define UNROLL_RANKS NO_UNROLL
#endif

/* Offset of the first argument after COMM_PARAMETERS. */
constexpr u32 COMM_ARGUMENTS = COMM_RANKS * 8 + 4 * 4;

/* ---- words that several GPUs see ---------------------------------------- */

DEV u32 system_load(const u32 *p)
{
#if KPK_NVIDIA
    u32 v;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];"
                 : "=r"(v)
                 : "l"(p)
                 : "memory");
    return v;
#else
    return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#endif
}

/* The same of a flag; system_acquire_flags() follows. NVIDIA's loads acquire
 * themselves: a fence would take as long as a trip to another GPU, and each
 * lane that leaves a wait would have its own. */
DEV u32 system_load_flag(const u32 *p)
{
#if KPK_NVIDIA
    u32 v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
                 : "=r"(v)
                 : "l"(p)
                 : "memory");
    return v;
#else
    return system_load(p);
#endif
}

DEV void system_store(u32 *p, u32 v)
{
#if KPK_NVIDIA
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v)
                 : "memory");
#else
    __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#endif
}

/* Two 64-bit words, each read or written atomically, `apart` words from each
 * other. On NVIDIA's GPUs `apart` must be 1. */
DEV void system_load_two(const u64 *p, u64 v[2], u32 apart = 1)
{
#if KPK_NVIDIA
    (void)apart;
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(v[0]), "=l"(v[1])
                 : "l"(p)
                 : "memory");
#else
    v[0] = __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    v[1] = __hip_atomic_load(p + apart, __ATOMIC_RELAXED,
                             __HIP_MEMORY_SCOPE_SYSTEM);
#endif
}

DEV void system_store_two(u64 *p, u64 a, u64 b, u32 apart = 1)
{
#if KPK_NVIDIA
    (void)apart;
    asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(p),
                 "l"(a), "l"(b)
                 : "memory");
#else
    __hip_atomic_store(p, a, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    __hip_atomic_store(p + apart, b, __ATOMIC_RELAXED,
                       __HIP_MEMORY_SCOPE_SYSTEM);
#endif
}

/* fence_release() with the scope of all GPUs. */
DEV void system_release()
{
#if KPK_NVIDIA
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
#if KPK_TARGET_MFMA >= 2
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
#endif
}

DEV void system_acquire_flags()
{
#if !KPK_NVIDIA
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
#endif
}

/* ---- waiting ------------------------------------------------------------ */

/* A clock with a constant rate, and its ticks per millisecond. */
#if KPK_NVIDIA
constexpr u64 TICKS_PER_MS = 1000000;
#else
constexpr u64 TICKS_PER_MS = 100000;
#endif

DEV u64 clock_ticks()
{
#if KPK_NVIDIA
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
#else
    return __builtin_readsteadycounter();
#endif
}

DEV u32 *comm_word(u8 *memory, u32 offset, u32 index)
{
    return reinterpret_cast<u32 *>(memory + offset) + index;
}

/*
 * Calls ready(peer) until it returns true, the time limit passes or another
 * block of this rank has timed out. ready() sets peer to the rank that it waits
 * for. With Own the wait is for a block of this rank and has no limit, because
 * that block's own wait has one.
 */
template <bool Own = false, typename Ready>
DEV void wait_until(CommGroup &g, Ready ready)
{
    constexpr u32 LOOKS = 32; /* tests between two readings of the clock */
    u64 begin = 0;
    u32 peer = 0;

    if (g.dead)
        return;
    NO_UNROLL
    for (u32 n = 1; !ready(peer); n++) {
#if !KPK_NVIDIA
        __builtin_amdgcn_s_sleep(1);
#endif
        if (n % LOOKS)
            continue;
        const u64 now = clock_ticks();

        if (begin == 0)
            begin = now;
        if (!Own && now - begin > g.limit_ms * TICKS_PER_MS)
            system_store(comm_word(g.own, COMM_FAILED, 0), 1 + peer);
        if (system_load(comm_word(g.own, COMM_FAILED, 0))) {
            g.dead = 1;
            return;
        }
    }
}

/* ---- a call ------------------------------------------------------------- */

/* The next call's number. Successive numbers differ in the lowest bit, and no
 * call has number 0. */
DEV u32 call_after(u32 call)
{
    return call == ~0u ? 2 : call + 1;
}

/* Every thread calls comm_begin(), or its two parts. comm_meet() waits for the
 * launch before; afterwards a thread may load what earlier launches wrote.
 * comm_call() loads the call's number. `known` is computed before the wait. */
DEV void comm_meet(CommGroup &g, u32 known = 0)
{
    g.own = g.memory[g.rank];
    wait_for_launch_before(reinterpret_cast<u64>(g.own) | known);
}
DEV void comm_call(CommGroup &g)
{
    g.call = call_after(system_load(comm_word(g.own, COMM_EPOCH, blockIdx.x)));
    g.dead = system_load(comm_word(g.own, COMM_FAILED, 0));
}
DEV void comm_begin(CommGroup &g, u32 known = 0)
{
    comm_meet(g, known);
    comm_call(g);
}

/* Stores the call's number for the next call. All of the block's threads must
 * have loaded it before. */
DEV void comm_count(const CommGroup &g)
{
    NO_UNROLL
    for (u32 i = blockIdx.x + threadIdx.x * gridDim.x; i < COMM_BLOCKS;
         i += blockDim.x * gridDim.x)
        system_store(comm_word(g.own, COMM_EPOCH, i), g.call);
}
/* Ends the block's part of a call; the block's last step. */
DEV void comm_end(const CommGroup &g)
{
    __syncthreads();
    comm_count(g);
}

/* Offset of the flags of a call's step `step`, below COMM_STEPS. */
DEV u32 halfway(u32 step)
{
    return COMM_HALFWAY + step * (COMM_BLOCKS * COMM_RANKS * 4);
}

/*
 * Signals the block of the same number on all other ranks that this block has
 * come this far, and makes its threads' writes visible. `flags` is COMM_BEGUN
 * or halfway(step).
 */
DEV void tell_others(const CommGroup &g, u32 flags)
{
#if KPK_TARGET_MAJOR == 9
    /* A barrier does not wait for stores, and the release below waits only for
     * the stores of its own wave. */
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
    __syncthreads();
    if (threadIdx.x < g.ranks && threadIdx.x != g.rank) {
        system_release();
        system_store(comm_word(g.memory.of_lane(threadIdx.x), flags,
                               blockIdx.x * COMM_RANKS + g.rank),
                     g.call);
    }
}

/* Waits until the block of the same number on all other ranks has signalled
 * this call. A rank is at most one call ahead, because a call ends only after
 * all ranks have begun it; so the flag may hold the next call's number. Other
 * numbers are from earlier calls. */
DEV void wait_for_others(CommGroup &g, u32 flags)
{
    if (threadIdx.x < g.ranks && threadIdx.x != g.rank) {
        const u32 *flag =
            comm_word(g.own, flags, blockIdx.x * COMM_RANKS + threadIdx.x);

        wait_until(g, [&](u32 &peer) {
            const u32 told = system_load_flag(flag);

            peer = threadIdx.x;
            return told == g.call || told == call_after(g.call);
        });
        system_acquire_flags();
    }
    __syncthreads();
}

/* ---- data --------------------------------------------------------------- */

/* 16 bytes of a row of n elements. */
template <typename T> using Piece = Pack<T, per16<T>::value>;

template <typename T> DEV u64 pieces_of(u64 n)
{
    return div_up<u64>(n, per16<T>::value);
}

typedef unsigned __int128 PieceBits;
template <u32 nbytes> struct ElementBits;
template <> struct ElementBits<1> {
    typedef u8 type;
};
template <> struct ElementBits<2> {
    typedef u16 type;
};
template <> struct ElementBits<4> {
    typedef u32 type;
};

/* Piece i of a row that may end within it, and may have any alignment. */
template <typename T> DEV Piece<T> piece_at(const T *row, u64 n, u64 i)
{
    constexpr u32 each = per16<T>::value, nbits = 8 * sizeof(T);
    typedef typename ElementBits<sizeof(T)>::type Bits;
    const u64 first = i * each;
    PieceBits piece = 0;

    if (is_aligned(row, 16) && first + each <= n)
        return load_pack<each>(row + first);
    NO_UNROLL
    for (u32 k = 0; k < each; k++) {
        const Bits v = first + k < n ? bits_as<Bits>(row[first + k]) : Bits(0);

        piece = piece >> nbits | (PieceBits)v << (128 - nbits);
    }
    return bits_as<Piece<T>>(piece);
}

template <typename T>
DEV void put_piece(T *row, u64 n, u64 i, const Piece<T> &piece)
{
    constexpr u32 each = per16<T>::value;
    typedef typename ElementBits<sizeof(T)>::type Bits;
    PieceBits rest = bits_as<PieceBits>(piece);

    if (is_aligned(row, 16) && (i + 1) * each <= n) {
        store_pack<each>(row + i * each, piece);
        return;
    }
    NO_UNROLL
    for (u64 k = i * each; k < n && k < (i + 1) * each; k++) {
        row[k] = bits_as<T>((Bits)rest);
        rest >>= 8 * sizeof(T);
    }
}

/* all[] with this rank's own piece at its place */
template <typename T>
DEV void put_own(const CommGroup &g, const Piece<T> &own,
                 Piece<T> all[COMM_RANKS])
{
    const u32 rank = known_nowhere(g.rank);

    UNROLL
    for (u32 s = 0; s < COMM_RANKS; s++)
        if (s == rank)
            all[s] = own;
}

/* x + y, rounded to T. An addition in T gives the bits of one in f32, which has
 * more than twice T's digits. */
template <typename T>
DEV Piece<T> sum_of_two(const Piece<T> &x, const Piece<T> &y)
{
    Piece<T> sum;

#if KPK_SM >= 80
    if constexpr (sizeof(T) == 2) {
        const Pack<u32, 4> a = bits_as<Pack<u32, 4>>(x);
        const Pack<u32, 4> b = bits_as<Pack<u32, 4>>(y);
        Pack<u32, 4> s;

        UNROLL
        for (u32 k = 0; k < 4; k++)
            if constexpr (is_same<T, bf16>::value) /* 1 * a + b */
                asm("fma.rn.bf16x2 %0, %1, %2, %3;"
                    : "=r"(s[k])
                    : "r"(a[k]), "r"(0x3f803f80u), "r"(b[k]));
            else
                asm("add.rn.f16x2 %0, %1, %2;"
                    : "=r"(s[k])
                    : "r"(a[k]), "r"(b[k]));
        sum = bits_as<Piece<T>>(s);
    } else
#endif
    {
        UNROLL
        for (u32 k = 0; k < per16<T>::value; k++)
            sum[k] = convert_known<T>(convert<f32>(x[k]) + convert<f32>(y[k]));
    }
    return sum;
}

/* The ranks' pieces, added in f32 from rank 0 on and rounded once. */
template <typename T>
DEV Piece<T> sum_of(const CommGroup &g, const Piece<T> all[COMM_RANKS])
{
    constexpr u32 each = per16<T>::value;
    const u32 ranks = known_nowhere(g.ranks);
    f32 v[each];
    Piece<T> sum;

    UNROLL
    for (u32 k = 0; k < each; k++)
        v[k] = convert<f32>(all[0][k]);
    UNROLL
    for (u32 s = 1; s < COMM_RANKS; s++)
        if (s < ranks) {
            UNROLL
            for (u32 k = 0; k < each; k++)
                v[k] += convert<f32>(all[s][k]);
        }
    UNROLL
    for (u32 k = 0; k < each; k++)
        sum[k] = convert<T>(v[k]);
    return sum;
}

/*
 * pieces[k], of this rank, become sums over all ranks: as sum_of(), but Batch
 * ranks at a time, for kernels that have few registers. get(first, all) puts
 * the pieces of the ranks from `first` on into all[k], but for this rank's.
 */
template <typename T, u32 Batch, u32 count, typename Get>
DEV void sum_in_batches(const CommGroup &g, Piece<T> (&pieces)[count], Get get)
{
    constexpr u32 each = per16<T>::value;
    f32 v[count][each];

    UNROLL
    for (u32 k = 0; k < count * each; k++)
        v[k / each][k % each] = -0.0f; /* + x is x, of 0 and -0 too */
    NO_UNROLL
    for (u32 first = 0; first < g.ranks; first += Batch) {
        const u32 ranks = known_nowhere(g.ranks), rank = known_nowhere(g.rank);
        Piece<T> all[count][Batch];

        get(first, all);
        UNROLL
        for (u32 s = 0; s < Batch; s++)
            if (first + s < ranks) {
                UNROLL
                for (u32 k = 0; k < count; k++) {
                    const Piece<T> piece =
                        first + s == rank ? pieces[k] : all[k][s];

                    UNROLL
                    for (u32 i = 0; i < each; i++)
                        v[k][i] += convert<f32>(piece[i]);
                }
            }
    }
    UNROLL
    for (u32 k = 0; k < count * each; k++)
        pieces[k / each][k % each] = convert<T>(v[k / each][k % each]);
}
