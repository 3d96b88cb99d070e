/* texts.hip - a plain program: what kernels print and allocate; an assertion
 *
 * The failed assertion is a child's: it ends the kernel and faults the device.
 */
#include <hip/hip_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_set>

__global__ void hello(int n)
{
    printf("block %d of %d, item %u: %s %5.2f|%-4d|%c|%lld|%p%%\n",
           (int)blockIdx.x, n, (unsigned)threadIdx.x,
           "text of more than one word", 0.5 * threadIdx.x, -7, 'z', 1ll << 40,
           (void *)0x1234);
}

__global__ void count(int *out)
{
    out[threadIdx.x] = printf("%d\n", (int)(10 * threadIdx.x));
}

/* Each item keeps a list of its own from one kernel to the next. */
__global__ void build_lists(int **lists, int n)
{
    int *list = (int *)malloc(n * sizeof(*list));

    lists[threadIdx.x] = list;
    for (int i = 0; list && i < n; i++)
        list[i] = (int)threadIdx.x * i;
}

__global__ void sum_lists(int **lists, int n, int *sums)
{
    int sum = 0;

    for (int i = 0; lists[threadIdx.x] && i < n; i++)
        sum += lists[threadIdx.x][i];
    sums[threadIdx.x] = sum;
    free(lists[threadIdx.x]);
}

/* Nobody reads what it prints before every group has begun. */
__global__ void crowd(int *begun)
{
    if (threadIdx.x == 0)
        __hip_atomic_fetch_add(begun, 1, __ATOMIC_RELAXED,
                               __HIP_MEMORY_SCOPE_SYSTEM);
    printf("group %4d, item %2d, and a text of more than one message\n",
           (int)blockIdx.x, (int)threadIdx.x);
}

__global__ void assert_below(int n)
{
    assert((int)threadIdx.x < n);
}

#define CHECK(call)                                                            \
    do {                                                                       \
        hipError_t e = (call);                                                 \
        if (e != hipSuccess) {                                                 \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e));     \
            return 1;                                                          \
        }                                                                      \
    } while (0)

/* Reads printed text back from the file, and empties the file. */
static int capture(char *text, size_t n, FILE *file)
{
    std::fflush(stdout);
    std::rewind(file);
    size_t got = std::fread(text, 1, n - 1, file);
    text[got] = '\0';
    return ftruncate(fileno(file), 0) != 0 || std::fseek(file, 0, SEEK_SET);
}

static int run_lists()
{
    enum { ITEMS = 96 };
    int **lists, *sums, got[ITEMS];

    CHECK(hipMalloc((void **)&lists, ITEMS * sizeof(*lists)));
    CHECK(hipMalloc((void **)&sums, sizeof(got)));
    for (int n = 10; n <= 1000; n *= 10) {
        build_lists<<<1, ITEMS>>>(lists, n);
        sum_lists<<<1, ITEMS>>>(lists, n, sums);
        CHECK(hipMemcpy(got, sums, sizeof(got), hipMemcpyDeviceToHost));
        for (int i = 0; i < ITEMS; i++)
            if (got[i] != i * (n * (n - 1) / 2)) {
                std::fprintf(stderr, "list %d of %d sums to %d\n", i, n,
                             got[i]);
                return 1;
            }
    }
    CHECK(hipFree(lists));
    CHECK(hipFree(sums));
    return 0;
}

/* In a child that never returns from here, and before the first use of HIP. */
static void fail_an_assertion(int error)
{
    dup2(error, STDERR_FILENO);
    assert_below<<<1, 8>>>(7);
    _exit(hipDeviceSynchronize() == hipSuccess);
}

static int run_assertion()
{
    char text[4096];
    int ends[2], status;
    ssize_t n, got = 0;

    if (pipe(ends) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        fail_an_assertion(ends[1]);
    close(ends[1]);
    while ((n = read(ends[0], text + got, sizeof(text) - 1 - got)) > 0)
        got += n;
    text[got] = '\0';
    close(ends[0]);
    /* AMD's runtime kills the process; the simulated one returns an error. */
    if (waitpid(child, &status, 0) != child ||
        (WIFEXITED(status) && WEXITSTATUS(status) != 0) ||
        !std::strstr(text, "Device-side assertion") ||
        !std::strstr(text, "threadIdx.x < n")) {
        std::fprintf(stderr, "assertion: status %x, %s\n", status, text);
        return 1;
    }
    return 0;
}

/* The pipe is full soon, so that many more waves wait for the host at once than
 * the 256 that there was room for. */
static int crowd_into(int ends[2])
{
    enum { GROUPS = 400, ITEMS = 64 };
    std::string got;
    std::unordered_set<std::string> lines;
    char text[1 << 14];
    int *begun;

    CHECK(hipHostMalloc((void **)&begun, sizeof(*begun), 0));
    __atomic_store_n(begun, 0, __ATOMIC_RELAXED);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    dup2(ends[1], STDOUT_FILENO);
    crowd<<<GROUPS, ITEMS>>>(begun);
    while (__atomic_load_n(begun, __ATOMIC_RELAXED) < GROUPS)
        usleep(1000);
    for (bool ended = false, empty = false; !ended || !empty;) {
        ssize_t n = read(ends[0], text, sizeof(text));
        empty = n <= 0;
        if (!empty) {
            got.append(text, (size_t)n);
        } else if (!ended && hipStreamQuery(0) != hipErrorNotReady) {
            std::fflush(stdout);
            ended = true;
            empty = false;
        } else {
            usleep(1000);
        }
    }
    CHECK(hipHostFree(begun));
    for (size_t at = 0, end; (end = got.find('\n', at)) != std::string::npos;
         at = end + 1)
        lines.insert(got.substr(at, end - at));
    for (int g = 0; g < GROUPS; g++)
        for (int t = 0; t < ITEMS; t++) {
            std::snprintf(text, sizeof(text),
                          "group %4d, item %2d, and a text of more than one "
                          "message",
                          g, t);
            if (!lines.count(text)) {
                std::fprintf(stderr, "not printed: %s\n", text);
                return 1;
            }
        }
    return 0;
}

static int run_crowd()
{
    int ends[2], failed;

    if (pipe(ends) != 0)
        return 1;
    failed = crowd_into(ends);
    close(ends[0]);
    close(ends[1]);
    return failed;
}

static int run(FILE *file)
{
    static char text[1 << 16];
    int *out, got[3];

    hello<<<2, 3>>>(2);
    CHECK(hipDeviceSynchronize());
    if (capture(text, sizeof(text), file))
        return 1;
    for (int b = 0; b < 2; b++)
        for (int t = 0; t < 3; t++) {
            char want[256];
            std::snprintf(want, sizeof(want),
                          "block %d of 2, item %d: text of more than one word "
                          "%5.2f|-7  |z|1099511627776|0x1234%%\n",
                          b, t, 0.5 * t);
            if (!std::strstr(text, want)) {
                std::fprintf(stderr, "not printed: %sbut: %s", want, text);
                return 1;
            }
        }
    CHECK(hipMalloc((void **)&out, sizeof(got)));
    count<<<1, 3>>>(out);
    CHECK(hipMemcpy(got, out, sizeof(got), hipMemcpyDeviceToHost));
    if (capture(text, sizeof(text), file))
        return 1;
    if (std::strcmp(text, "0\n10\n20\n") || got[0] != 2 || got[2] != 3) {
        std::fprintf(stderr, "printed: %sreturned: %d %d\n", text, got[0],
                     got[2]);
        return 1;
    }
    CHECK(hipFree(out));
    return 0;
}

int main()
{
    FILE *file = std::tmpfile();
    int devices, major, failed = run_assertion();

    if (!file || dup2(fileno(file), STDOUT_FILENO) < 0)
        return 1;
    CHECK(hipGetDeviceCount(&devices));
    failed += run_crowd();
    if (dup2(fileno(file), STDOUT_FILENO) < 0)
        return 1;
    for (int d = 0; d < devices; d++) {
        CHECK(hipSetDevice(d));
        failed += run(file);
        /* The 5.2 device library's heap reads a clock that later GPUs lack. */
        CHECK(hipDeviceGetAttribute(
            &major, hipDeviceAttributeComputeCapabilityMajor, d));
        failed += major < 11 ? run_lists() : 0;
    }
    std::fputs(failed ? "FAILED\n" : "PASSED\n", stderr);
    return failed != 0 || devices == 0;
}
