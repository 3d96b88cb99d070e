/*
 * base.h - the compiler and the target, integers, how functions are declared
 *
 * AMD targets are built by clang as HIP, NVIDIA's by nvcc as CUDA. This header
 * alone reads the macros of CUDA's compilers. Kernels and other headers ask
 *
 *   KPK_NVIDIA       1 for NVIDIA's GPUs, 0 for AMD's
 *   KPK_SM           NN of sm_NN, 0 on AMD
 *   KPK_WARPGROUPS   1 if there are sm_90's instructions of warpgroups
 *
 * A header that only one vendor's targets have lies in amd/ or nvidia/, and is
 * included where one of these words says so. Elsewhere KPK_NVIDIA chooses
 * between instructions, or between numbers that are tuned for each vendor.
 */
#pragma once

#include "target_features.h"

#if defined(__CUDACC__) && !defined(__HIP__)
#define KPK_NVIDIA 1
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#else
#define KPK_NVIDIA 0
#include <hip/hip_runtime.h>
#endif

/* NN of sm_NN; the newest in nvcc's host pass; 0 on AMD. */
#if !KPK_NVIDIA
#define KPK_SM 0
#elif defined(__CUDA_ARCH__)
#define KPK_SM (__CUDA_ARCH__ / 10)
#else
#define KPK_SM 999
#endif

/* Whether the target has sm_90's instructions of warpgroups. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KPK_WARPGROUPS 1
#else
#define KPK_WARPGROUPS 0
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

static_assert(sizeof(u64) == sizeof(size_t), "a 64-bit target");

#define DEV static __device__ __forceinline__
/* An inlined member function. */
#define DEV_MEMBER __device__ __forceinline__
/* A member function that is called on NVIDIA's GPUs and inlined on AMD's. The
 * driver then compiles one copy of it from a module's PTX. */
#if KPK_NVIDIA
#define DEV_MEMBER_CALLED __device__ __noinline__
#else
#define DEV_MEMBER_CALLED DEV_MEMBER
#endif
/* A static member, or a function, that NVIDIA's kernels call. */
#define DEV_CALLED static DEV_MEMBER_CALLED
#define KERNEL extern "C" __global__ __launch_bounds__(1024) void
/*
 * A kernel of which n blocks of 1024 threads fit a multiprocessor of sm_NN: the
 * compiler limits a thread's registers. With one block per multiprocessor, the
 * multiprocessor idles whenever that block waits, starts or ends. AMD's compute
 * units have registers enough without a limit.
 */
#if KPK_NVIDIA
#define KERNEL_BLOCKS(n) extern "C" __global__ __launch_bounds__(1024, n) void
#else
#define KERNEL_BLOCKS(n) KERNEL
#endif
#define KERNEL_PAIRED KERNEL_BLOCKS(2)
/* A kernel whose callers launch at most `threads` threads a block; on sm_NN n
 * such blocks fit on a multiprocessor. */
#define KERNEL_UP_TO(threads)                                                  \
    extern "C" __global__ __launch_bounds__(threads) void
#if KPK_NVIDIA
#define KERNEL_UP_TO_RESIDENT(threads, n)                                      \
    extern "C" __global__ __launch_bounds__(threads, n) void
#else
#define KERNEL_UP_TO_RESIDENT(threads, n) KERNEL_UP_TO(threads)
#endif

/*
 * A variable with one value for a whole block. On sm_NN it lies in shared
 * memory and one thread fills it in. On AMD it is a plain variable, which the
 * waves compute in scalar registers. Call sync_block_shared() before reading.
 */
#if KPK_NVIDIA
#define BLOCK_SHARED __shared__
#define fills_block_shared() (threadIdx.x == 0)
#define sync_block_shared() __syncthreads()
#else
#define BLOCK_SHARED
#define fills_block_shared() true
#define sync_block_shared() ((void)0)
#endif

#if KPK_NVIDIA
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#define RESTRICT __restrict__
#else
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")
#define RESTRICT __restrict__
#endif

/* The launch's dynamic shared memory, as bytes aligned to 16. */
#define LDS_BYTES(name)                                                        \
    extern __shared__ __attribute__((aligned(16))) unsigned char name[]

/* ---- reinterpreting bits as another type ----------------------------- */

template <typename To, typename From> DEV To bits_as(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
    To to;
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}

template <typename A, typename B> struct is_same {
    static constexpr bool value = false;
};
template <typename A> struct is_same<A, A> {
    static constexpr bool value = true;
};

template <typename T> DEV constexpr T min_of(T a, T b)
{
    return b < a ? b : a;
}

template <typename T> DEV constexpr T max_of(T a, T b)
{
    return a < b ? b : a;
}
