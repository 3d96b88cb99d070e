/* units.hip - a plain program of two translation units, with threads */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <thread>
#include <vector>

/* units_other.hip */
int other_sum(int device, int n, int *out);

__device__ int offset = 100;

__global__ void square(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = data[i] * data[i] + offset;
}

static int run(int device, int n)
{
    std::vector<int> data(n);
    int *memory, sum = 0, wrong = 0;

    for (int i = 0; i < n; i++)
        data[i] = i;
    if (hipSetDevice(device) != hipSuccess ||
        hipMalloc((void **)&memory, n * sizeof(int)) != hipSuccess)
        return 1;
    hipMemcpy(memory, data.data(), n * sizeof(int), hipMemcpyHostToDevice);
    hipLaunchKernelGGL(square, dim3((n + 63) / 64), dim3(64), 0,
                       hipStreamPerThread, memory, n);
    if (hipStreamSynchronize(hipStreamPerThread) != hipSuccess)
        return 1;
    hipMemcpy(data.data(), memory, n * sizeof(int), hipMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        wrong += data[i] != i * i + 100;
    hipFree(memory);
    if (other_sum(device, n, &sum) != 0 || sum != n * (n - 1) / 2)
        wrong++;
    if (wrong)
        std::printf("device %d, n %d: %d wrong, sum %d\n", device, n, wrong,
                    sum);
    return wrong;
}

int main()
{
    int devices = 0;

    if (hipGetDeviceCount(&devices) != hipSuccess)
        return 1;
    std::vector<int> failed(4 * devices);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4 * devices; t++)
        threads.emplace_back(
            [t, devices, &failed] { failed[t] = run(t % devices, 100 + t); });
    int sum = 0;
    for (int t = 0; t < 4 * devices; t++) {
        threads[t].join();
        sum += failed[t];
    }
    std::puts(sum ? "FAILED" : "PASSED");
    return sum != 0;
}
