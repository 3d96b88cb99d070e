/*
 * comm/group.h - what one GPU of a group knows of the others
 *
 * Each rank, a GPU of the group, has a workspace that all ranks reach. On AMD's
 * GPUs it is uncached memory, so that a flag is never kept in a cache. It holds
 *
 *   epoch    [COMM_BLOCKS] u32: how many calls this rank has made. Blocks of a
 *            launch advance all of them, so that any grid finds its own
 *   failed   u32: 0, or 1 + the rank that was waited for in vain
 *   begun    [COMM_BLOCKS][COMM_RANKS] u32: the last call that this block of
 *            that rank has begun
 *   halfway  the same of calls of which it has done the first step
 *   slots    small messages (small.h)
 *   results  sums of this rank, for the others (large.h)
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

#include "device.h"
#include "early.h"

constexpr u32 COMM_RANKS = 8;
constexpr u32 COMM_BLOCKS = 128;
constexpr u32 COMM_THREADS = 512;

/* Bytes from the start of a workspace. */
constexpr u32 COMM_EPOCH = 0;
constexpr u32 COMM_FAILED = COMM_EPOCH + COMM_BLOCKS * 4;
constexpr u32 COMM_BEGUN = 1024;
constexpr u32 COMM_HALFWAY = COMM_BEGUN + COMM_BLOCKS * COMM_RANKS * 4;
constexpr u32 COMM_SLOTS = 16384;

static_assert(COMM_FAILED + 4 <= COMM_BEGUN, "the head of a workspace");
static_assert(COMM_HALFWAY + COMM_BLOCKS * COMM_RANKS * 4 <= COMM_SLOTS,
              "the flags of a workspace");

/* A kernel's arguments, and one call. */
struct CommGroup {
    u8 *memory[COMM_RANKS]; /* the ranks' workspaces; NULL above `ranks` */
    u32 rank, ranks;
    u32 small_nbytes; /* of one slot's data */
    u32 limit_ms;
    u32 call;  /* this call's number, which is never 0 */
    bool dead; /* somebody was waited for in vain */
};

#define COMM_PARAMETERS                                                        \
    u8 *memory0, u8 *memory1, u8 *memory2, u8 *memory3, u8 *memory4,           \
        u8 *memory5, u8 *memory6, u8 *memory7, u32 rank, u32 ranks,            \
        u32 small_nbytes, u32 limit_ms
#define COMM_GROUP(name)                                                       \
    CommGroup name = {{memory0, memory1, memory2, memory3, memory4, memory5,   \
                       memory6, memory7},                                      \
                      rank,                                                    \
                      ranks,                                                   \
                      small_nbytes,                                            \
                      limit_ms,                                                \
                      0,                                                       \
                      false};                                                  \
    comm_begin(name)

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

DEV void system_store(u32 *p, u32 v)
{
#if KPK_NVIDIA
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v)
                 : "memory");
#else
    __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#endif
}

/* Two words of 64 bits, each of which is seen as a whole. */
DEV void system_load_two(const u64 *p, u64 v[2])
{
#if KPK_NVIDIA
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(v[0]), "=l"(v[1])
                 : "l"(p)
                 : "memory");
#else
    v[0] = __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    v[1] =
        __hip_atomic_load(p + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#endif
}

DEV void system_store_two(u64 *p, u64 a, u64 b)
{
#if KPK_NVIDIA
    asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(p),
                 "l"(a), "l"(b)
                 : "memory");
#else
    __hip_atomic_store(p, a, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    __hip_atomic_store(p + 1, b, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#endif
}

/* As fence_release() and fence_acquire(), for all GPUs. */
DEV void system_release()
{
#if KPK_NVIDIA
    __threadfence_system();
#else
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
#if KPK_TARGET_MFMA >= 2
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
#endif
}

DEV void system_acquire()
{
#if KPK_NVIDIA
    __threadfence_system();
#else
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
#endif
}

/* ---- waiting ------------------------------------------------------------ */

/* Ticks of a clock that runs at one rate, and how many a millisecond has. */
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

/* The workspace of a rank that the compiler does not know. */
DEV u8 *memory_of(const CommGroup &g, u32 rank)
{
    u8 *memory = g.memory[0];
    UNROLL
    for (u32 s = 1; s < COMM_RANKS; s++)
        if (rank == s)
            memory = g.memory[s];
    return memory;
}

/*
 * Calls ready() until it is true, or until the time is over, or somebody of
 * this rank has given up.
 */
template <typename Ready>
DEV void wait_until(CommGroup &g, u8 *own, u32 peer, Ready ready)
{
    constexpr u32 LOOKS = 32; /* between two looks at the clock */
    u64 begin = 0;

    if (g.dead)
        return;
    for (u32 n = 1; !ready(); n++) {
#if !KPK_NVIDIA
        __builtin_amdgcn_s_sleep(1);
#endif
        if (n % LOOKS)
            continue;
        const u64 now = clock_ticks();

        if (begin == 0)
            begin = now;
        if (now - begin > g.limit_ms * TICKS_PER_MS)
            system_store(comm_word(own, COMM_FAILED, 0), 1 + peer);
        if (system_load(comm_word(own, COMM_FAILED, 0))) {
            g.dead = true;
            return;
        }
    }
}

/* ---- a call ------------------------------------------------------------- */

/* Every thread begins here. */
DEV void comm_begin(CommGroup &g)
{
    meet_launches();
    u8 *own = memory_of(g, g.rank);
    const u32 before = system_load(comm_word(own, COMM_EPOCH, blockIdx.x));

    g.dead = system_load(comm_word(own, COMM_FAILED, 0)) != 0;
    /* Numbers of neighbouring calls differ in the lowest bit. */
    g.call = before == ~0u ? 2 : before + 1;
}

/* And ends here: the last of a call that a block does. */
DEV void comm_end(const CommGroup &g)
{
    u8 *own = memory_of(g, g.rank);

    __syncthreads();
    for (u32 i = blockIdx.x + threadIdx.x * gridDim.x; i < COMM_BLOCKS;
         i += blockDim.x * gridDim.x)
        system_store(comm_word(own, COMM_EPOCH, i), g.call);
}

/*
 * Tells this block of all other ranks that the block is there, and what all of
 * its threads have written. `flags` is COMM_BEGUN or COMM_HALFWAY.
 */
DEV void tell_others(const CommGroup &g, u32 flags)
{
    __syncthreads();
    if (threadIdx.x < g.ranks && threadIdx.x != g.rank) {
        system_release();
        system_store(comm_word(memory_of(g, threadIdx.x), flags,
                               blockIdx.x * COMM_RANKS + g.rank),
                     g.call);
    }
}

/* Waits until this block of all other ranks has told so. */
DEV void wait_for_others(CommGroup &g, u32 flags)
{
    if (threadIdx.x < g.ranks && threadIdx.x != g.rank) {
        u8 *own = memory_of(g, g.rank);
        const u32 *flag =
            comm_word(own, flags, blockIdx.x * COMM_RANKS + threadIdx.x);

        wait_until(g, own, threadIdx.x,
                   [&]() { return (i32)(system_load(flag) - g.call) >= 0; });
        system_acquire();
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

/* Piece i of a row that may end within it, and may have any alignment. */
template <typename T> DEV Piece<T> piece_at(const T *row, u64 n, u64 i)
{
    constexpr u32 each = per16<T>::value;
    Piece<T> piece = {};

    if (is_aligned(row, 16) && (i + 1) * each <= n)
        return load_pack<each>(row + i * each);
    UNROLL
    for (u32 k = 0; k < each; k++)
        if (i * each + k < n)
            piece[k] = row[i * each + k];
    return piece;
}

template <typename T>
DEV void put_piece(T *row, u64 n, u64 i, const Piece<T> &piece)
{
    constexpr u32 each = per16<T>::value;

    if (is_aligned(row, 16) && (i + 1) * each <= n) {
        store_pack<each>(row + i * each, piece);
        return;
    }
    UNROLL
    for (u32 k = 0; k < each; k++)
        if (i * each + k < n)
            row[i * each + k] = piece[k];
}

/* The ranks' pieces, added in f32 from rank 0 on and rounded once. */
template <typename T>
DEV Piece<T> sum_of(const CommGroup &g, const Piece<T> all[COMM_RANKS])
{
    Piece<T> sum;
    UNROLL
    for (u32 k = 0; k < per16<T>::value; k++) {
        f32 v = convert<f32>(all[0][k]);
        UNROLL
        for (u32 s = 1; s < COMM_RANKS; s++)
            if (s < g.ranks)
                v += convert<f32>(all[s][k]);
        sum[k] = convert<T>(v);
    }
    return sum;
}
