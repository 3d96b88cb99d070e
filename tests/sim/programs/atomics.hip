/* atomics.hip - every atomic operation on every type in every scope, in device
 * memory and in LDS
 *
 * The work-items that a scope covers (a wave, a block, all) share a cell. Plain
 * loops on the host check the cell's final value and the operations' results.
 * All values are small integers, so that sums of floats are exact in any order.
 */
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

enum { BLOCK = 192, NBLOCKS = 3, N = BLOCK * NBLOCKS };

#define CHECK(call)                                                            \
    do {                                                                       \
        hipError_t error_ = (call);                                            \
        if (error_ != hipSuccess) {                                            \
            std::printf("%s: %s\n", #call, hipGetErrorString(error_));         \
            std::exit(1);                                                      \
        }                                                                      \
    } while (0)

template <typename T> struct cell {
    T sum, least, most, last, swapped, count;
    T all, any, odd; /* of integers */
};

template <typename T> __host__ __device__ T value(unsigned i)
{
    const int v = (int)(i * 37 % 101);

    return std::is_signed<T>::value ? (T)(v - 50) : (T)v;
}

template <typename T> __host__ __device__ cell<T> fresh()
{
    cell<T> c = {};

    c.least = c.most = value<T>(5);
    c.last = (T)99;
    c.all = (T)~0ull;
    return c;
}

template <int scope, typename T>
__device__ typename std::enable_if<std::is_integral<T>::value>::type
use_bits(cell<T> *c, T v)
{
    __hip_atomic_fetch_and(&c->all, (T)(v | 0x10), __ATOMIC_RELAXED, scope);
    __hip_atomic_fetch_or(&c->any, (T)(v & 0x29), __ATOMIC_ACQUIRE, scope);
    __hip_atomic_fetch_xor(&c->odd, v, __ATOMIC_RELEASE, scope);
}

template <int scope, typename T>
__device__ typename std::enable_if<!std::is_integral<T>::value>::type
use_bits(cell<T> *, T)
{
}

template <int scope, typename T>
__device__ void use(cell<T> *c, unsigned i, T *before, T *turn)
{
    const T v = value<T>(i);
    T seen;

    __hip_atomic_fetch_add(&c->sum, v, __ATOMIC_RELAXED, scope);
    __hip_atomic_fetch_min(&c->least, v, __ATOMIC_ACQ_REL, scope);
    __hip_atomic_fetch_max(&c->most, v, __ATOMIC_SEQ_CST, scope);
    *before = __hip_atomic_exchange(&c->last, v, __ATOMIC_RELAXED, scope);
    *turn = __hip_atomic_fetch_add(&c->count, (T)1, __ATOMIC_RELAXED, scope);
    seen = __hip_atomic_load(&c->swapped, __ATOMIC_RELAXED, scope);
    while (!__hip_atomic_compare_exchange_strong(
        &c->swapped, &seen, (T)(seen + v), __ATOMIC_RELAXED, __ATOMIC_RELAXED,
        scope))
        ;
    use_bits<scope>(c, v);
}

template <int scope, typename T>
__global__ void in_memory(cell<T> *cells, unsigned share, T *before, T *turn)
{
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;

    use<scope>(&cells[i / share], i, &before[i], &turn[i]);
}

template <int scope, typename T>
__global__ void in_lds(cell<T> *cells, unsigned share, T *before, T *turn)
{
    __shared__ cell<T> mine[BLOCK / 32];
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    const unsigned n = BLOCK / share;

    if (threadIdx.x < n)
        mine[threadIdx.x] = fresh<T>();
    __syncthreads();
    use<scope>(&mine[threadIdx.x / share], i, &before[i], &turn[i]);
    __syncthreads();
    if (threadIdx.x < n)
        cells[blockIdx.x * n + threadIdx.x] = mine[threadIdx.x];
}

template <typename T>
static typename std::enable_if<std::is_integral<T>::value, bool>::type
bits_agree(const cell<T> &got, unsigned first, unsigned share)
{
    cell<T> want = fresh<T>();

    for (unsigned i = first; i < first + share; i++) {
        want.all &= (T)(value<T>(i) | 0x10);
        want.any |= (T)(value<T>(i) & 0x29);
        want.odd ^= value<T>(i);
    }
    return got.all == want.all && got.any == want.any && got.odd == want.odd;
}

template <typename T>
static typename std::enable_if<!std::is_integral<T>::value, bool>::type
bits_agree(const cell<T> &, unsigned, unsigned)
{
    return true;
}

template <typename T>
static bool agrees(const cell<T> &got, unsigned first, unsigned share,
                   const T *before, const T *turn)
{
    cell<T> want = fresh<T>();
    T passed_on = got.last; /* sum of all values returned, and of the last */
    std::vector<T> turns(turn + first, turn + first + share);

    for (unsigned i = first; i < first + share; i++) {
        want.sum += value<T>(i);
        want.least = std::min(want.least, value<T>(i));
        want.most = std::max(want.most, value<T>(i));
        passed_on += before[i];
    }
    std::sort(turns.begin(), turns.end());
    for (unsigned i = 0; i < share; i++)
        if (turns[i] != (T)i)
            return false;
    return got.sum == want.sum && got.least == want.least &&
           got.most == want.most && got.swapped == want.sum &&
           got.count == (T)share && passed_on == (T)(want.last + want.sum) &&
           bits_agree(got, first, share);
}

template <typename T>
static int run(void (*kernel)(cell<T> *, unsigned, T *, T *), unsigned share,
               const char *type, const char *scope, const char *where)
{
    std::vector<cell<T>> cells(N / share, fresh<T>());
    std::vector<T> before(N), turn(N);
    cell<T> *device;
    T *device_before, *device_turn;
    int failed = 0;

    CHECK(hipMalloc((void **)&device, cells.size() * sizeof(cells[0])));
    CHECK(hipMalloc((void **)&device_before, N * sizeof(T)));
    CHECK(hipMalloc((void **)&device_turn, N * sizeof(T)));
    CHECK(hipMemcpy(device, cells.data(), cells.size() * sizeof(cells[0]),
                    hipMemcpyHostToDevice));
    kernel<<<NBLOCKS, BLOCK>>>(device, share, device_before, device_turn);
    CHECK(hipMemcpy(cells.data(), device, cells.size() * sizeof(cells[0]),
                    hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(before.data(), device_before, N * sizeof(T),
                    hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(turn.data(), device_turn, N * sizeof(T),
                    hipMemcpyDeviceToHost));
    for (unsigned c = 0; c < cells.size(); c++)
        failed +=
            !agrees(cells[c], c * share, share, before.data(), turn.data());
    if (failed)
        std::printf("%s %s, scope %s: %d of %zu cells are wrong\n", type, where,
                    scope, failed, cells.size());
    CHECK(hipFree(device));
    CHECK(hipFree(device_before));
    CHECK(hipFree(device_turn));
    return failed;
}

template <typename T> static int run_scopes(const char *type, unsigned wave)
{
#define RUN(kernel, scope, share)                                              \
    run<T>(kernel<__HIP_MEMORY_SCOPE_##scope, T>, share, type, #scope, #kernel)

    return RUN(in_memory, WAVEFRONT, wave) + RUN(in_lds, WAVEFRONT, wave) +
           RUN(in_memory, WORKGROUP, BLOCK) + RUN(in_lds, WORKGROUP, BLOCK) +
           RUN(in_memory, AGENT, N) + RUN(in_lds, AGENT, BLOCK) +
           RUN(in_memory, SYSTEM, N) + RUN(in_lds, SYSTEM, BLOCK);
}

int main()
{
    int devices, failed = 0;

    CHECK(hipGetDeviceCount(&devices));
    for (int d = 0; d < devices; d++) {
        hipDeviceProp_t p;

        CHECK(hipSetDevice(d));
        CHECK(hipGetDeviceProperties(&p, d));
        failed += run_scopes<int>("int", p.warpSize);
        failed += run_scopes<unsigned>("unsigned", p.warpSize);
        failed += run_scopes<long long>("long long", p.warpSize);
        failed +=
            run_scopes<unsigned long long>("unsigned long long", p.warpSize);
        failed += run_scopes<float>("float", p.warpSize);
        failed += run_scopes<double>("double", p.warpSize);
    }
    std::puts(failed ? "FAILED" : "PASSED");
    return failed != 0 || devices == 0;
}
