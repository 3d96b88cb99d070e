/* features.hip - features that the runtime and the driver's side share
 *
 * Event times, scratch that has to be asked for, 2-D and peer copies, managed
 * and registered memory, a grid barrier, printf from a kernel. With an argument
 * a kernel goes wrong instead: "address" writes where nothing is, "trap" gives
 * up.
 */
#include <hip/hip_runtime.h>

/* After the runtime's header, which it relies on. */
#include <hip/hip_cooperative_groups.h>

#include <cstdio>
#include <cstring>
#include <vector>

enum { BLOCKS = 8, THREADS = 64, N = BLOCKS * THREADS };

static int wrong;

#define CHECK(call)                                                            \
    do {                                                                       \
        hipError_t e_ = (call);                                                \
        if (e_ != hipSuccess) {                                                \
            std::printf("%s: %s\n", #call, hipGetErrorString(e_));             \
            wrong++;                                                           \
        }                                                                      \
    } while (0)

static void expect(const char *what, bool ok)
{
    if (!ok) {
        std::printf("%s: wrong\n", what);
        wrong++;
    }
}

/* Element i becomes 3 + i % THREADS, by way of a large array in scratch. */
__global__ void scratch(int *out, int n)
{
    volatile int a[2000];
    int t = threadIdx.x;

    for (int i = 0; i < n; i++)
        a[(i * 7 + t) % 2000] = i + t;
    out[blockIdx.x * blockDim.x + t] = a[(3 * 7 + t) % 2000];
}

__global__ void rotate_over_grid(int *p, int n)
{
    auto grid = cooperative_groups::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    p[i] = i;
    grid.sync();
    int v = p[(i + 97) % n];
    grid.sync();
    p[i] = v;
}

__global__ void say(int *p)
{
    printf("from lane %d\n", (int)threadIdx.x);
    p[threadIdx.x] = 7;
}

__global__ void give_up()
{
    __builtin_trap();
}

static bool filled(const int *p)
{
    for (int i = 0; i < N; i++)
        if (p[i] != 3 + i % THREADS)
            return false;
    return true;
}

static void events_and_scratch(int *p)
{
    hipEvent_t begin, end;
    std::vector<int> host(N);
    float ms = -1;

    CHECK(hipEventCreate(&begin));
    CHECK(hipEventCreate(&end));
    CHECK(hipEventRecord(begin));
    scratch<<<BLOCKS, THREADS>>>(p, 100);
    CHECK(hipEventRecord(end));
    CHECK(hipEventSynchronize(end));
    CHECK(hipEventElapsedTime(&ms, begin, end));
    expect("event times", ms > 0 && ms < 60000);
    CHECK(hipMemcpy(host.data(), p, N * sizeof(int), hipMemcpyDeviceToHost));
    expect("scratch", filled(host.data()));
}

static void rectangles()
{
    const size_t width = 37, height = 50, pitch = 40;
    std::vector<unsigned char> from(pitch * height), to(pitch * height, 0);
    unsigned char *device;
    size_t device_pitch;
    bool same = true;

    for (size_t i = 0; i < from.size(); i++)
        from[i] = (unsigned char)(i * 3);
    CHECK(hipMallocPitch((void **)&device, &device_pitch, width, height));
    CHECK(hipMemcpy2D(device, device_pitch, from.data(), pitch, width, height,
                      hipMemcpyHostToDevice));
    CHECK(hipMemcpy2D(to.data(), pitch, device, device_pitch, width, height,
                      hipMemcpyDeviceToHost));
    for (size_t y = 0; y < height; y++)
        same &= std::memcmp(&from[y * pitch], &to[y * pitch], width) == 0;
    expect("2-D copies", same);
}

static void memory_kinds()
{
    std::vector<int> own(N);
    int *managed, *device;

    CHECK(hipMallocManaged((void **)&managed, N * sizeof(int)));
    scratch<<<BLOCKS, THREADS>>>(managed, 100);
    CHECK(hipDeviceSynchronize());
    expect("managed memory", filled(managed));
    CHECK(hipFree(managed));
    CHECK(hipHostRegister(own.data(), N * sizeof(int), 0));
    CHECK(hipHostGetDevicePointer((void **)&device, own.data(), 0));
    scratch<<<BLOCKS, THREADS>>>(device, 100);
    CHECK(hipDeviceSynchronize());
    expect("registered memory", filled(own.data()));
    CHECK(hipHostUnregister(own.data()));
}

static void grid_barrier(int *p)
{
    int n = N;
    void *args[] = {&p, &n};
    std::vector<int> host(N);
    bool rotated = true;

    CHECK(hipLaunchCooperativeKernel((void *)rotate_over_grid, dim3(BLOCKS),
                                     dim3(THREADS), args, 0, 0));
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(host.data(), p, N * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        rotated &= host[i] == (i + 97) % N;
    expect("a grid barrier", rotated);
}

static void peers(const int *p)
{
    std::vector<int> here(N), there(N);
    int devices = 0, *other;

    CHECK(hipGetDeviceCount(&devices));
    if (devices < 2)
        return;
    CHECK(hipSetDevice(1));
    CHECK(hipMalloc((void **)&other, N * sizeof(int)));
    CHECK(hipSetDevice(0));
    CHECK(hipMemcpyPeer(other, 1, p, 0, N * sizeof(int)));
    CHECK(hipMemcpy(here.data(), p, N * sizeof(int), hipMemcpyDeviceToHost));
    CHECK(
        hipMemcpy(there.data(), other, N * sizeof(int), hipMemcpyDeviceToHost));
    expect("a copy between devices", here == there);
}

int main(int argc, char **argv)
{
    int *p;

    CHECK(hipMalloc((void **)&p, N * sizeof(int)));
    if (argc > 1 && std::strcmp(argv[1], "address") == 0)
        scratch<<<1, THREADS>>>((int *)0x123400000000, 100);
    else if (argc > 1)
        give_up<<<1, THREADS>>>();
    if (argc > 1)
        return hipDeviceSynchronize() != hipSuccess;
    events_and_scratch(p);
    rectangles();
    memory_kinds();
    grid_barrier(p);
    peers(p);
    say<<<1, 3>>>(p);
    CHECK(hipDeviceSynchronize());
    std::puts(wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
