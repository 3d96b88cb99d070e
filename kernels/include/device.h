/*
 * device.h - the base of every kernel: one text for AMD GPUs and sm_NN
 *
 * A kernel includes device.h alone and uses the words below; base.h says which
 * vendor's GPU it is for, where that matters.
 *
 *   u8 u16 u32 u64 i8 i16 i32 i64   integers
 *   f16 bf16 f8                     small floats (convert.h)
 *   KERNEL                          an exported kernel, up to 1024 threads
 *   DEV                             an inlined device function
 *   global_thread() ...             places in a 1-D grid, in 64 bits
 *   wave_size() lane_id() shfl*()   lanes; groups of 32 on any wave
 *   Pack, load_pack() ...           memory in pieces of up to 16 bytes
 *   LDS_BYTES(name)                 the launch's dynamic shared memory
 *   fence_release() fence_acquire() around flags and counts of all blocks
 *   KPK_TARGET_WAVE ...             what the target has (target_features.h)
 *
 * A wave is 32 or 64 lanes, and code must be right for both: all lane exchanges
 * here work within aligned groups of 32, unless a width says 64.
 */
#pragma once

#include "convert.h"

/* log2 of v > 0, rounded down */
DEV u32 log2_of(u32 v)
{
    return 31 - (u32)__clz((int)v);
}

/* log2_of() for constants */
DEV constexpr u32 constant_log2(u32 v)
{
    return v > 1 ? 1 + constant_log2(v / 2) : 0;
}

/* ceil(a / b) for unsigned a and b, without overflow */
template <typename T> DEV constexpr T div_up(T a, T b)
{
    return a / b + (a % b != 0);
}

/* a * b, rounded, where the compiler must not fuse it with the next
 * operation */
DEV double rounded_product(double a, double b)
{
#if KPK_NVIDIA
    return __dmul_rn(a, b);
#else
#pragma clang fp contract(off)
    return a * b;
#endif
}

DEV float rounded_product(float a, float b)
{
#if KPK_NVIDIA
    return __fmul_rn(a, b);
#else
#pragma clang fp contract(off)
    return a * b;
#endif
}

/* a * b + c, rounded once; the compiler must fuse it */
DEV double fused(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

DEV float fused(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/* ---- places in the grid ----------------------------------------------- */

/* This thread's index in a 1-D grid. */
DEV u64 global_thread()
{
    return (u64)blockIdx.x * (u32)blockDim.x + (u32)threadIdx.x;
}

/* Threads in a 1-D grid. */
DEV u64 global_threads()
{
    return (u64)(u32)gridDim.x * (u32)blockDim.x;
}

/* ---- waves -------------------------------------------------------------- */

/*
 * Lanes in a wave, 32 or 64. Uniform, and a constant once the target is known,
 * but it can size no array and be no template argument.
 */
DEV u32 wave_size()
{
#if KPK_NVIDIA
    return 32;
#else
    return __builtin_amdgcn_wavefrontsize();
#endif
}

/* This lane's number in its wave. */
DEV u32 lane_id()
{
#if KPK_NVIDIA
    u32 lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
#else
    const u32 low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
    return wave_size() == 64 ? __builtin_amdgcn_mbcnt_hi(~0u, low) : low;
#endif
}

/*
 * Value v of lane `lane` of this wave, for one 32-bit word. Lanes that have
 * left give an undefined value.
 */
DEV u32 lane_read_word(u32 v, u32 lane)
{
#if KPK_NVIDIA
    return __shfl_sync(__activemask(), v, (int)lane);
#else
    return (u32)__builtin_amdgcn_ds_bpermute((int)(lane << 2), (int)v);
#endif
}

/*
 * Any trivially copyable v up to 16 bytes, word by word.
 */
template <typename T> DEV T lane_read(const T &v, u32 lane)
{
    if constexpr (sizeof(T) <= 4) {
        u32 w = 0;
        __builtin_memcpy(&w, &v, sizeof(T));
        w = lane_read_word(w, lane);
        T r;
        __builtin_memcpy(&r, &w, sizeof(T));
        return r;
    } else {
        u32 w[sizeof(T) / 4];
        __builtin_memcpy(w, &v, sizeof(T));
        UNROLL
        for (u32 i = 0; i < sizeof(T) / 4; i++)
            w[i] = lane_read_word(w[i], lane);
        T r;
        __builtin_memcpy(&r, w, sizeof(T));
        return r;
    }
}

/*
 * Exchanges within aligned groups of `width` lanes, a power of two up to 32
 * (or up to wave_size() where the caller knows it). All lanes of the group
 * must take part. A source outside the group gives the lane's own value.
 */
template <typename T> DEV T shfl(const T &v, u32 source, u32 width = 32)
{
    const u32 lane = lane_id();
    return lane_read(v, (lane & ~(width - 1)) | (source & (width - 1)));
}

template <typename T> DEV T shfl_xor(const T &v, u32 mask, u32 width = 32)
{
    const u32 lane = lane_id();
    const u32 from = lane ^ mask;
    return lane_read(v, ((from ^ lane) & ~(width - 1)) == 0 ? from : lane);
}

template <typename T> DEV T shfl_down(const T &v, u32 delta, u32 width = 32)
{
    const u32 lane = lane_id();
    const u32 at = (lane & (width - 1)) + delta;
    return lane_read(v, at < width ? lane + delta : lane);
}

template <typename T> DEV T shfl_up(const T &v, u32 delta, u32 width = 32)
{
    const u32 lane = lane_id();
    return lane_read(v, (lane & (width - 1)) >= delta ? lane - delta : lane);
}

/*
 * shfl_xor() with a mask known to the compiler, 1 to 31: no address register,
 * and for many masks no trip through LDS hardware.
 */
template <u32 mask> DEV u32 lane_xor_word(u32 v)
{
    static_assert(mask >= 1 && mask <= 31, "within a group of 32 lanes");
#if KPK_NVIDIA
    return __shfl_xor_sync(0xffffffffu, v, mask);
#else
#if KPK_TARGET_MAJOR >= 10
    if constexpr (mask <= 15) /* DPP row_xmask */
        return (u32)__builtin_amdgcn_mov_dpp((int)v, 0x160 + mask, 0xf, 0xf,
                                             true);
#endif
    if constexpr (mask == 7) /* DPP row_half_mirror */
        return (u32)__builtin_amdgcn_mov_dpp((int)v, 0x141, 0xf, 0xf, true);
    if constexpr (mask == 15) /* DPP row_mirror */
        return (u32)__builtin_amdgcn_mov_dpp((int)v, 0x140, 0xf, 0xf, true);
    if constexpr (mask <= 3) { /* DPP quad_perm: lane i of 4 reads i ^ mask */
        constexpr int perm =
            (0 ^ mask) | (1 ^ mask) << 2 | (2 ^ mask) << 4 | (3 ^ mask) << 6;
        return (u32)__builtin_amdgcn_mov_dpp((int)v, perm, 0xf, 0xf, true);
    } else { /* ds_swizzle in bit mode: lane i of 32 reads i ^ mask */
        return (u32)__builtin_amdgcn_ds_swizzle((int)v, 0x1f | mask << 10);
    }
#endif
}

template <u32 mask, typename T> DEV T lane_xor(const T &v)
{
    if constexpr (sizeof(T) <= 4) {
        u32 w = 0;
        __builtin_memcpy(&w, &v, sizeof(T));
        w = lane_xor_word<mask>(w);
        T r;
        __builtin_memcpy(&r, &w, sizeof(T));
        return r;
    } else {
        u32 w[sizeof(T) / 4];
        __builtin_memcpy(w, &v, sizeof(T));
        UNROLL
        for (u32 i = 0; i < sizeof(T) / 4; i++)
            w[i] = lane_xor_word<mask>(w[i]);
        T r;
        __builtin_memcpy(&r, w, sizeof(T));
        return r;
    }
}

/* Joins v of `lanes` adjacent lanes by op, in a fixed order; all lanes get the
 * result. */
template <u32 lanes = 32, typename T, typename Op> DEV T join_lanes(T v, Op op)
{
    if constexpr (lanes > 16)
        v = op(v, lane_xor<16>(v));
    if constexpr (lanes > 8)
        v = op(v, lane_xor<8>(v));
    if constexpr (lanes > 4)
        v = op(v, lane_xor<4>(v));
    if constexpr (lanes > 2)
        v = op(v, lane_xor<2>(v));
    return op(v, lane_xor<1>(v));
}

/*
 * v, the same in all lanes that are present, in a scalar register: for numbers
 * that the compiler cannot see to be uniform (a thread's wave number, say).
 */
DEV u32 uniform(u32 v)
{
#if KPK_NVIDIA
    return v;
#else
    return (u32)__builtin_amdgcn_readfirstlane((int)v);
#endif
}

#if !KPK_NVIDIA
/* The kernel's arguments from byte `offset` on. The compiler does not see that
 * they are arguments, so each use loads them again. */
template <typename Args> DEV auto *arguments_from(u32 offset)
{
    typedef const __attribute__((address_space(4))) u8 constant_byte;
    auto *args = __builtin_amdgcn_kernarg_segment_ptr();

    asm volatile("" : "+s"(args));
    return (const __attribute__((address_space(4)))
            Args *)((constant_byte *)args + offset);
}
#endif

/*
 * A kernel's arguments, loaded again from the argument segment. Otherwise AMD's
 * compiler keeps every value derived from an argument in scalar registers
 * through loops that do not use it, and runs out of registers. Args has the
 * kernel's parameters from the first on.
 */
template <typename Args> DEV const Args &read_again(const Args &given)
{
#if KPK_NVIDIA
    return given;
#else
    (void)given;
    return *(const Args *)arguments_from<Args>(0);
#endif
}

/*
 * Orders this wave's LDS accesses among its own lanes, for exchanges through
 * LDS that stay within a group of 32 lanes. Not a barrier between waves.
 */
DEV void wave_sync()
{
#if KPK_NVIDIA
    __syncwarp(__activemask());
#else
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#endif
}

/*
 * A release fence with device scope: this work-item's writes, and writes that
 * it has seen, are visible before an atomic that follows, such as a flag.
 *
 * LLVM 22.1.8 omits the wait for buffer_wbl2 if no other memory operation is
 * in flight, so this function adds a wait on gfx90a, gfx942 and gfx950.
 */
DEV void fence_release()
{
#if KPK_NVIDIA
    __threadfence();
#else
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
#if KPK_TARGET_MFMA >= 2
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
#endif
}

/* After an atomic that has read such a flag or count. */
DEV void fence_acquire()
{
#if KPK_NVIDIA
    __threadfence();
#else
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
#endif
}

/*
 * Makes the compiler read memory again from here on, for values in LDS that
 * should not be kept in registers.
 */
DEV void forget_memory()
{
    asm volatile("" ::: "memory");
}

/*
 * 0, unknown to the compiler: `lds[opaque_zero()]` keeps a structure in LDS
 * behind one address register. Constant addresses would get one each.
 */
DEV u32 opaque_zero()
{
    u32 zero = 0;
#if !KPK_NVIDIA
    asm("" : "+v"(zero));
#endif
    return zero;
}

/*
 * Nothing is moved over this line by the scheduler. In long unrolled bodies
 * AMD's otherwise issues all LDS reads at once and runs out of registers.
 */
DEV void schedule_fence()
{
#if !KPK_NVIDIA
    __builtin_amdgcn_sched_barrier(0);
#endif
}

/* ---- memory in pieces of up to 16 bytes ---------------------------------- */

/* n elements of T that are loaded and stored by one instruction. */
template <typename T, u32 n> struct alignas(sizeof(T) * n) Pack {
    T v[n];
    DEV_MEMBER T &operator[](u32 i)
    {
        return v[i];
    }
    DEV_MEMBER const T &operator[](u32 i) const
    {
        return v[i];
    }
};

template <u32 nbytes> struct Word;
template <> struct Word<1> {
    typedef u8 type;
};
template <> struct Word<2> {
    typedef u16 type;
};
template <> struct Word<4> {
    typedef u32 type;
};
#if KPK_NVIDIA
template <> struct Word<8> {
    typedef uint2 type;
};
template <> struct Word<16> {
    typedef uint4 type;
};
#else
template <> struct Word<8> {
    typedef u32 type __attribute__((ext_vector_type(2)));
};
template <> struct Word<16> {
    typedef u32 type __attribute__((ext_vector_type(4)));
};
#endif

/* n elements of T as they are loaded: not yet taken apart into registers. */
template <typename T, u32 n> using Raw = typename Word<n * sizeof(T)>::type;

/* Elements of T in 16 bytes. */
template <typename T> struct per16 {
    static constexpr u32 value = 16 / sizeof(T);
};

/* n elements at p; n * sizeof(T) is 1, 2, 4, 8 or 16, and p aligned to it. */
template <u32 n, typename T> DEV Raw<T, n> load_raw(const T *p)
{
    return *reinterpret_cast<const Raw<T, n> *>(p);
}

template <u32 n, typename T> DEV void store_raw(T *p, const Raw<T, n> &v)
{
    *reinterpret_cast<Raw<T, n> *>(p) = v;
}

/*
 * The pack in the words of `raw`. Without the empty instruction the compiler
 * would take the words apart where they were loaded, a register for each byte.
 */
template <u32 n, typename T> DEV Pack<T, n> pack_of(Raw<T, n> raw)
{
#if KPK_NVIDIA
    if constexpr (sizeof(raw) == 16)
        asm("" : "+r"(raw.x), "+r"(raw.y), "+r"(raw.z), "+r"(raw.w));
    else if constexpr (sizeof(raw) == 8)
        asm("" : "+r"(raw.x), "+r"(raw.y));
#else
    if constexpr (sizeof(raw) >= 4)
        asm("" : "+v"(raw));
#endif
    return bits_as<Pack<T, n>>(raw);
}

template <u32 n, typename T> DEV Pack<T, n> load_pack(const T *p)
{
    return bits_as<Pack<T, n>>(load_raw<n>(p));
}

template <u32 n, typename T> DEV void store_pack(T *p, const Pack<T, n> &v)
{
    store_raw<n>(p, bits_as<Raw<T, n>>(v));
}

/* Whether p is a multiple of nbytes, a power of two. */
template <typename T> DEV bool is_aligned(const T *p, u32 nbytes)
{
    return ((u64)p & (nbytes - 1)) == 0;
}
