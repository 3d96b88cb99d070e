/* units_other.hip - the other translation unit of units.hip */
#include <hip/hip_runtime.h>

/* Distinct from the variable of the same name in units.hip. */
static __device__ int offset = 0;

__global__ void sum_up(int n, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out, i + offset);
}

int other_sum(int device, int n, int *out)
{
    int *memory;

    if (hipSetDevice(device) != hipSuccess ||
        hipMalloc((void **)&memory, sizeof(int)) != hipSuccess)
        return 1;
    hipMemset(memory, 0, sizeof(int));
    sum_up<<<(n + 31) / 32, 32>>>(n, memory);
    hipError_t error =
        hipMemcpy(out, memory, sizeof(int), hipMemcpyDeviceToHost);
    hipFree(memory);
    return error != hipSuccess;
}
