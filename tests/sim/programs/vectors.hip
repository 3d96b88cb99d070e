/* vectors.hip - a plain program: copies, `<<<>>>`, a device variable, events */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__device__ unsigned launches;
__constant__ float weights[4] = {1, 2, 3, 4};

template <typename T>
__global__ void weigh(const T *a, const T *b, T *c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        atomicAdd(&launches, 1u);
    if (i < n)
        c[i] = a[i] + b[i] * (T)weights[i % 4];
}

#define CHECK(call)                                                            \
    do {                                                                       \
        hipError_t e = (call);                                                 \
        if (e != hipSuccess) {                                                 \
            std::printf("%s: %s\n", #call, hipGetErrorString(e));              \
            return 1;                                                          \
        }                                                                      \
    } while (0)

template <typename T> static int run(unsigned n)
{
    std::vector<T> a(n), b(n), c(n, T(-1));
    T *da, *db, *dc;
    hipEvent_t begin, end;
    float ms = -1;
    int wrong = 0;

    for (unsigned i = 0; i < n; i++) {
        a[i] = T(i);
        b[i] = T(2 * i + 1);
    }
    CHECK(hipMalloc((void **)&da, n * sizeof(T)));
    CHECK(hipMalloc((void **)&db, n * sizeof(T)));
    CHECK(hipMalloc((void **)&dc, n * sizeof(T)));
    CHECK(hipMemcpy(da, a.data(), n * sizeof(T), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, b.data(), n * sizeof(T), hipMemcpyHostToDevice));
    CHECK(hipEventCreate(&begin));
    CHECK(hipEventCreate(&end));
    CHECK(hipEventRecord(begin, nullptr));
    weigh<T><<<(n + 127) / 128, 128>>>(da, db, dc, n);
    CHECK(hipGetLastError());
    CHECK(hipEventRecord(end, nullptr));
    CHECK(hipMemcpy(c.data(), dc, n * sizeof(T), hipMemcpyDeviceToHost));
    CHECK(hipEventElapsedTime(&ms, begin, end));
    for (unsigned i = 0; i < n; i++)
        wrong += c[i] != a[i] + b[i] * T(1 + i % 4);
    if (wrong || ms < 0)
        std::printf("%d of %u wrong, %g ms\n", wrong, n, ms);
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
    CHECK(hipEventDestroy(begin));
    CHECK(hipEventDestroy(end));
    return wrong || ms < 0;
}

int main()
{
    int devices, failed = 0;

    CHECK(hipGetDeviceCount(&devices));
    for (int d = 0; d < devices; d++) {
        hipDeviceProp_t properties;
        unsigned count = 99, zero = 0;

        CHECK(hipSetDevice(d));
        CHECK(hipGetDeviceProperties(&properties, d));
        CHECK(hipMemcpyToSymbol(HIP_SYMBOL(launches), &zero, sizeof(zero)));
        failed += run<float>(1000) + run<int>(1) + run<float>(257);
        CHECK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(launches), sizeof(count)));
        if (count != 3) {
            std::printf("%u launches were counted\n", count);
            failed++;
        }
        std::printf("%s: %s\n", properties.gcnArchName,
                    failed ? "FAILED" : "PASSED");
    }
    return failed != 0 || devices == 0;
}
