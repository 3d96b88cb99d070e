#include <hip/hip_runtime.h>
#include <stdio.h>

__global__ void square(float *x)
{
    x[threadIdx.x] *= x[threadIdx.x];
}

int main(void)
{
    int devices = 0;

    if (hipGetDeviceCount(&devices) != hipSuccess)
        return 1;
    for (int i = 0; i < devices; i++) {
        hipDeviceProp_t device;
        float *x;
        if (hipSetDevice(i) != hipSuccess ||
            hipGetDeviceProperties(&device, i) != hipSuccess ||
            hipMallocManaged((void **)&x, 64 * sizeof(*x)) != hipSuccess)
            return 1;
        for (int k = 0; k < 64; k++)
            x[k] = k;
        square<<<1, 64>>>(x);
        if (hipDeviceSynchronize() != hipSuccess)
            return 1;
        printf("%s: 63 * 63 = %g\n", device.gcnArchName, x[63]);
        if (hipFree(x) != hipSuccess)
            return 1;
    }
    return devices == 0;
}
