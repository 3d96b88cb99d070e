/* groups.hip - a plain program: cooperative groups over a grid and over the
 * grids of several devices, and a launch in steps */
#include <hip/hip_runtime.h>

#include <hip/hip_cooperative_groups.h>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <vector>

namespace cg = cooperative_groups;

/* Debian's device libraries are older than gfx12: their barrier of a grid is an
 * instruction (ds_gws_barrier) that it no longer has. */
#ifdef __GFX12__
#define SYNC(group) ((void)(group))
#else
#define SYNC(group) (group).sync()
#endif
static bool has_grid_barrier(int device)
{
    hipDeviceProp_t p;

    return hipGetDeviceProperties(&p, device) == hipSuccess &&
           std::strncmp(p.gcnArchName, "gfx12", 5) != 0;
}

/* Each round adds what the whole grid left in the round before: a block that
 * ran ahead of the barrier would read a sum that is not complete. */
__global__ void rounds(unsigned *sums, unsigned nrounds)
{
    cg::grid_group grid = cg::this_grid();

    for (unsigned r = 0; r < nrounds; r++) {
        const unsigned before = r ? sums[r - 1] : 1;

        atomicAdd(&sums[r], before + (unsigned)grid.thread_rank() % 2);
        SYNC(grid);
    }
}

/* One counter of host memory for all grids, raised in turn. */
__global__ void all_grids(unsigned *counter, unsigned *seen)
{
    cg::multi_grid_group all = cg::this_multi_grid();
    const unsigned me = all.grid_rank();

    for (unsigned turn = 0; turn < all.num_grids(); turn++) {
        if (turn == me && blockIdx.x == 0 && threadIdx.x == 0)
            __hip_atomic_fetch_add(counter, me + 1, __ATOMIC_RELAXED,
                                   __HIP_MEMORY_SCOPE_SYSTEM);
        SYNC(all);
        if (blockIdx.x == 0 && threadIdx.x == 0)
            seen[me * all.num_grids() + turn] = __hip_atomic_load(
                counter, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        SYNC(all);
    }
}

__global__ void scale(float *data, double by, unsigned char add, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        data[i] = (float)(data[i] * by) + add;
}

#define CHECK(call)                                                            \
    do {                                                                       \
        hipError_t e = (call);                                                 \
        if (e != hipSuccess) {                                                 \
            std::printf("%s: %s\n", #call, hipGetErrorString(e));              \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static int run_rounds()
{
    unsigned nrounds = 6, blocks = 8, block = 96, want = 1, sums[6], *device;
    void *args[] = {&device, &nrounds};

    CHECK(hipMalloc((void **)&device, sizeof(sums)));
    CHECK(hipMemset(device, 0, sizeof(sums)));
    CHECK(hipLaunchCooperativeKernel((const void *)rounds, dim3(blocks),
                                     dim3(block), args, 0, 0));
    CHECK(hipMemcpy(sums, device, sizeof(sums), hipMemcpyDeviceToHost));
    CHECK(hipFree(device));
    for (unsigned r = 0; r < nrounds; r++) {
        want = blocks * block * want + blocks * block / 2;
        if (sums[r] != want) {
            std::printf("round %u: %u, not %u\n", r, sums[r], want);
            return 1;
        }
    }
    return 0;
}

static int run_all_grids(const std::vector<int> &devices)
{
    const int ndevices = (int)devices.size();
    unsigned *counter, *seen, want = 0;
    void *args[] = {&counter, &seen};
    std::vector<hipStream_t> streams(ndevices);
    std::vector<hipLaunchParams> launches(ndevices);

    CHECK(hipHostMalloc((void **)&counter, sizeof(*counter),
                        hipHostMallocCoherent));
    CHECK(hipHostMalloc((void **)&seen, ndevices * ndevices * sizeof(*seen),
                        hipHostMallocCoherent));
    *counter = 0;
    for (int d = 0; d < ndevices; d++) {
        CHECK(hipSetDevice(devices[d]));
        CHECK(hipStreamCreate(&streams[d]));
        launches[d].func = (void *)all_grids;
        launches[d].gridDim = dim3(3);
        launches[d].blockDim = dim3(64);
        launches[d].args = args;
        launches[d].sharedMem = 0;
        launches[d].stream = streams[d];
    }
    CHECK(hipLaunchCooperativeKernelMultiDevice(launches.data(), ndevices, 0));
    for (int d = 0; d < ndevices; d++) {
        CHECK(hipStreamSynchronize(streams[d]));
        CHECK(hipStreamDestroy(streams[d]));
    }
    for (int turn = 0; turn < ndevices; turn++) {
        want += turn + 1;
        for (int d = 0; d < ndevices; d++)
            if (seen[d * ndevices + turn] != want) {
                std::printf("grid %d, turn %d: %u, not %u\n", d, turn,
                            seen[d * ndevices + turn], want);
                return 1;
            }
    }
    CHECK(hipHostFree(counter));
    CHECK(hipHostFree(seen));
    return 0;
}

/* As programs did before <<<>>> was turned into one call. */
static int run_in_steps()
{
    const int n = 100;
    const double by = 2.5;
    const unsigned char add = 3;
    float host[n], *device;

    for (int i = 0; i < n; i++)
        host[i] = (float)i;
    CHECK(hipMalloc((void **)&device, sizeof(host)));
    CHECK(hipMemcpy(device, host, sizeof(host), hipMemcpyHostToDevice));
    CHECK(hipConfigureCall(dim3(2), dim3(64), 0, 0));
    CHECK(hipSetupArgument(&device, sizeof(device), 0));
    CHECK(hipSetupArgument(&by, sizeof(by), 8));
    CHECK(hipSetupArgument(&add, sizeof(add), 16));
    CHECK(hipSetupArgument(&n, sizeof(n), 20));
    CHECK(hipLaunchByPtr((const void *)scale));
    CHECK(hipMemcpy(host, device, sizeof(host), hipMemcpyDeviceToHost));
    CHECK(hipFree(device));
    for (int i = 0; i < n; i++)
        if (host[i] != (float)(i * by) + add) {
            std::printf("[%d] is %g\n", i, host[i]);
            return 1;
        }
    return 0;
}

/* A launch by a structure with attributes, as HIP has it from 6.5 on: two of
 * the grid's blocks wait for each other, so it has to be a cooperative one. */
static int run_with_attributes()
{
    struct attribute {
        int id, pad, cooperative;
        char rest[60];
    } cooperative = {2, 0, 1, {}};
    struct {
        dim3 grid, block;
        size_t shared;
        hipStream_t stream;
        attribute *attributes;
        unsigned n;
    } config = {dim3(2), dim3(64), 0, nullptr, &cooperative, 1};
    typedef hipError_t (*launch_t)(const void *, const void *, void **);
    const launch_t launch = (launch_t)dlsym(RTLD_DEFAULT, "hipLaunchKernelExC");
    unsigned nrounds = 3, sums[3] = {}, *device;
    void *args[] = {&device, &nrounds};

    if (!launch)
        return 0; /* an older runtime */
    CHECK(hipMalloc((void **)&device, sizeof(sums)));
    CHECK(hipMemset(device, 0, sizeof(sums)));
    CHECK(launch(&config, (const void *)rounds, args));
    CHECK(hipMemcpy(sums, device, sizeof(sums), hipMemcpyDeviceToHost));
    CHECK(hipFree(device));
    /* 128 threads add the previous sum, half of the threads one more. */
    for (unsigned r = 0, before = 1; r < nrounds; before = sums[r++])
        if (sums[r] != 128 * before + 64) {
            std::printf("round %u with attributes is %u\n", r, sums[r]);
            return 1;
        }
    return launch(nullptr, (const void *)rounds, args) != hipErrorInvalidValue;
}

int main()
{
    int devices, failed = 0;
    std::vector<int> with_barrier;

    CHECK(hipGetDeviceCount(&devices));
    for (int d = 0; d < devices; d++) {
        CHECK(hipSetDevice(d));
        failed += run_in_steps();
        if (has_grid_barrier(d)) {
            failed += run_rounds();
            failed += run_with_attributes();
            with_barrier.push_back(d);
        }
    }
    if (!with_barrier.empty())
        failed += run_all_grids(with_barrier);
    std::puts(failed ? "FAILED" : "PASSED");
    return failed != 0 || devices == 0;
}
