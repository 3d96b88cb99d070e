/* corpus.h - the same program text for the simulated GPU and for the CPU
 *
 * LANE_TEST(name, nin, nout) begins a function of one work-item: it reads the
 * words in[0 .. nin) and writes out[0 .. nout). On a GPU it becomes the kernel
 * corpus_NAME, one work-item per record; on the CPU it becomes a function that
 * loops over the records. The CPU's compiler, not the simulator's author, says
 * what is right. Both are compiled without contraction of a * b + c.
 *
 * GROUP_TEST(name, ...) is a kernel whose work-items meet (LDS, shuffles,
 * atomics); its plain C reference stands beside it as HOST_REFERENCE(name), or
 * OPTIONAL_REFERENCE(name) if there are targets without that kernel.
 *
 * Every kernel has the arguments (const u32 *in, u32 *out, u32 n): n records
 * of nin and nout words, 256 work-items in a workgroup, n a multiple of 256.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef int8_t i8;
typedef uint16_t u16;
typedef int16_t i16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;
typedef _Float16 f16;

enum { BLOCK = 256 };

#if defined(__HIP_DEVICE_COMPILE__) || defined(__HIP__)
#include <hip/hip_runtime.h>
#define DEVICE __device__
#define NOINLINE __device__ __attribute__((noinline))
#define KERNEL(name)                                                           \
    extern "C" __global__ void __launch_bounds__(BLOCK) corpus_##name(         \
        const u32 *__restrict__ in, u32 *__restrict__ out, u32 n)
#define LANE_TEST(name, nin, nout)                                             \
    static DEVICE void lane_##name(const u32 *in, u32 *out);                   \
    KERNEL(name)                                                               \
    {                                                                          \
        const u32 i = blockIdx.x * BLOCK + threadIdx.x;                        \
        if (i < n)                                                             \
            lane_##name(in + (size_t)i * (nin), out + (size_t)i * (nout));     \
    }                                                                          \
    static DEVICE void lane_##name(const u32 *in, u32 *out)
#define GROUP_TEST(name) KERNEL(name)
#define DEVICE_ONLY 1
#else
/* On the CPU each test enters itself in the list that the runner walks. */
struct corpus_test {
    const char *name;
    u32 nin, nout;
    void (*host)(const u32 *in, u32 *out, u32 n);
    bool optional; /* some targets do not have the kernel */
    const corpus_test *next;
    static inline const corpus_test *first = nullptr;

    corpus_test(const char *name_, u32 nin_, u32 nout_,
                void (*host_)(const u32 *, u32 *, u32), bool optional_ = false)
        : name(name_), nin(nin_), nout(nout_), host(host_), optional(optional_),
          next(first)
    {
        first = this;
    }
};

#define DEVICE
#define NOINLINE __attribute__((noinline))
#define LANE_TEST(name, nin, nout)                                             \
    static void lane_##name(const u32 *in, u32 *out);                          \
    static void host_##name(const u32 *in, u32 *out, u32 n)                    \
    {                                                                          \
        for (size_t i = 0; i < n; i++)                                         \
            lane_##name(in + i * (nin), out + i * (nout));                     \
    }                                                                          \
    static const corpus_test test_##name(#name, nin, nout, host_##name);       \
    static void lane_##name(const u32 *in, u32 *out)
#define HOST_REFERENCE(name)                                                   \
    static void host_##name(const u32 *in, u32 *out, u32 n);                   \
    static const corpus_test test_##name(#name, 1, 1, host_##name);            \
    static void host_##name(const u32 *in, u32 *out, u32 n)
#define OPTIONAL_REFERENCE(name)                                               \
    static void host_##name(const u32 *in, u32 *out, u32 n);                   \
    static const corpus_test test_##name(#name, 1, 1, host_##name, true);      \
    static void host_##name(const u32 *in, u32 *out, u32 n)
#define DEVICE_ONLY 0
#endif

template <class To, class From> DEVICE static inline To bits_as(From v)
{
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;

    __builtin_memcpy(&to, &v, sizeof(to));
    return to;
}

DEVICE static inline u64 pair(const u32 *p)
{
    return (u64)p[1] << 32 | p[0];
}

DEVICE static inline void put_pair(u32 *p, u64 v)
{
    p[0] = (u32)v;
    p[1] = (u32)(v >> 32);
}

/* Which NaN an operation gives is not compared. */
DEVICE static inline u32 bits_f32(float v)
{
    return v != v ? 0x7fc00000u : bits_as<u32>(v);
}

DEVICE static inline u64 bits_f64(double v)
{
    return v != v ? UINT64_C(0x7ff8000000000000) : bits_as<u64>(v);
}

DEVICE static inline u32 bits_f16(f16 v)
{
    return v != v ? 0x7e00u : bits_as<u16>(v);
}

#endif
