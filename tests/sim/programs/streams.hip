/* streams.hip - a plain program: streams, events between them, pinned memory,
 * callbacks, dynamic LDS, managed memory */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

__managed__ int total = 5;

__global__ void twice_plus(unsigned *data, unsigned k)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[i] * 2 + k;
}

__global__ void reverse_blocks(unsigned *data)
{
    extern __shared__ unsigned tile[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = data[i];
    __syncthreads();
    data[i] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void add_to_total(int n)
{
    if (threadIdx.x == 0)
        atomicAdd(&total, n);
}

static void note(hipStream_t, hipError_t status, void *data)
{
    *(int *)data = status == hipSuccess ? 1 : -1;
}

#define CHECK(call)                                                            \
    do {                                                                       \
        hipError_t e = (call);                                                 \
        if (e != hipSuccess) {                                                 \
            std::printf("%s: %s\n", #call, hipGetErrorString(e));              \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static int run()
{
    const unsigned n = 1024, block = 64;
    hipStream_t first, second;
    hipEvent_t between;
    unsigned *host, *device;
    int called = 0, before = total;

    CHECK(hipStreamCreate(&first));
    CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
    CHECK(hipEventCreateWithFlags(&between, hipEventDisableTiming));
    CHECK(hipHostMalloc((void **)&host, n * sizeof(*host), 0));
    CHECK(hipMalloc((void **)&device, n * sizeof(*device)));
    for (unsigned i = 0; i < n; i++)
        host[i] = i;
    CHECK(hipMemcpyAsync(device, host, n * sizeof(*host), hipMemcpyHostToDevice,
                         first));
    for (unsigned k = 0; k < 5; k++)
        twice_plus<<<n / block, block, 0, first>>>(device, k);
    CHECK(hipEventRecord(between, first));
    CHECK(hipStreamWaitEvent(second, between, 0));
    reverse_blocks<<<n / block, block, block * sizeof(unsigned), second>>>(
        device);
    add_to_total<<<3, 32, 0, second>>>(7);
    CHECK(hipMemcpyAsync(host, device, n * sizeof(*host), hipMemcpyDeviceToHost,
                         second));
    CHECK(hipStreamAddCallback(second, note, &called, 0));
    CHECK(hipStreamSynchronize(second));
    for (unsigned i = 0; i < n; i++) {
        unsigned from = i / block * block + block - 1 - i % block;
        unsigned want = from;
        for (unsigned k = 0; k < 5; k++)
            want = want * 2 + k;
        if (host[i] != want) {
            std::printf("[%u] is %u, not %u\n", i, host[i], want);
            return 1;
        }
    }
    if (called != 1 || total != before + 21) {
        std::printf("called %d, total %d\n", called, total);
        return 1;
    }
    CHECK(hipFree(device));
    CHECK(hipHostFree(host));
    CHECK(hipEventDestroy(between));
    CHECK(hipStreamDestroy(first));
    CHECK(hipStreamDestroy(second));
    return 0;
}

/* A kernel runs on its stream's device, whatever device is current. */
static int launch_from_device(int current, int devices)
{
    for (int d = 0; d < devices; d++) {
        unsigned *data, got[2], start[2] = {3, 4};
        hipStream_t stream;
        CHECK(hipSetDevice(d));
        CHECK(hipStreamCreate(&stream));
        CHECK(hipMalloc((void **)&data, sizeof(start)));
        CHECK(hipMemcpy(data, start, sizeof(start), hipMemcpyHostToDevice));
        CHECK(hipSetDevice(current));
        twice_plus<<<1, 2, 0, stream>>>(data, 1);
        CHECK(hipGetLastError());
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipMemcpy(got, data, sizeof(got), hipMemcpyDeviceToHost));
        if (got[0] != 7 || got[1] != 9) {
            std::printf("device %d from %d: %u %u\n", d, current, got[0],
                        got[1]);
            return 1;
        }
        CHECK(hipFree(data));
        CHECK(hipStreamDestroy(stream));
    }
    return 0;
}

int main()
{
    int devices, version, failed = 0;

    CHECK(hipRuntimeGetVersion(&version));
    CHECK(hipGetDeviceCount(&devices));
    for (int d = 0; d < devices; d++) {
        CHECK(hipSetDevice(d));
        failed += run();
        if (version >= 60000000) /* HIP 5.2 ends the process */
            failed += launch_from_device(d, devices);
    }
    std::puts(failed ? "FAILED" : "PASSED");
    return failed != 0 || devices == 0;
}
