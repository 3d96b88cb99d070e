/* buffered.hip - a plain program: texts that kernels leave in a buffer
 *
 * Compiled with -mprintf-kind=buffered. A format that is known goes by its
 * hash, another one in full. printf() answers -1 when the buffer is full.
 */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <unistd.h>

/* As in newer device libraries: takes room in hidden_printf_buffer. */
extern "C" __device__ char *__printf_alloc(unsigned n)
{
    enum { HIDDEN_PRINTF_BUFFER = 72 };
    const char *hidden = (const char *)__builtin_amdgcn_implicitarg_ptr();
    unsigned *head = *(unsigned *const *)(hidden + HIDDEN_PRINTF_BUFFER);
    unsigned at = __atomic_load_n(head, __ATOMIC_RELAXED);

    do
        if (at + n > head[1])
            return nullptr;
    while (!__atomic_compare_exchange_n(head, &at, at + n, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return (char *)(head + 2) + at;
}

/* A format that the compiler does not know is what is tested. */
#pragma clang diagnostic ignored "-Wformat-security"

__global__ void hello(const char *name)
{
    printf("item %u: %s %5.2f|%-4d|%c|%lld%%\n", (unsigned)threadIdx.x,
           "text of more than one word", 0.5 * threadIdx.x, -7, 'z', 1ll << 40);
    if (threadIdx.x == 1) {
        printf("%s|%d\n", name, 5);
        printf(name);
    }
}

__global__ void flood(int n, int *answers)
{
    answers[0] = printf("first\n");
    for (int i = 0; i < n; i++)
        answers[1] = printf("%d\n%s", i, "a text of more than one word");
}

#define CHECK(call)                                                            \
    do {                                                                       \
        hipError_t e = (call);                                                 \
        if (e != hipSuccess) {                                                 \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e));     \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static int run(FILE *file, char *shared)
{
    static char text[1 << 12];
    int *answers = (int *)(shared + 32);

    std::strcpy(shared, "the name of it\n");
    hello<<<1, 2>>>(shared);
    CHECK(hipDeviceSynchronize());
    std::fflush(stdout);
    std::rewind(file);
    text[std::fread(text, 1, sizeof(text) - 1, file)] = '\0';
    if (std::strcmp(
            text,
            "item 0: text of more than one word  0.00|-7  |z|1099511627776%\n"
            "item 1: text of more than one word  0.50|-7  |z|1099511627776%\n"
            "the name of it\n|5\nthe name of it\n")) {
        std::fprintf(stderr, "printed: %s", text);
        return 1;
    }
    flood<<<1, 1>>>(1 << 17, answers); /* texts of 60 bytes, 8 MB */
    CHECK(hipDeviceSynchronize());
    if (answers[0] != 0 || answers[1] != -1) {
        std::fprintf(stderr, "answers: %d %d\n", answers[0], answers[1]);
        return 1;
    }
    std::fflush(stdout);
    return ftruncate(fileno(file), 0) != 0 || std::fseek(file, 0, SEEK_SET);
}

int main()
{
    FILE *file = std::tmpfile();
    int devices, failed = 0;
    char *shared;

    if (!file || dup2(fileno(file), STDOUT_FILENO) < 0)
        return 1;
    CHECK(hipHostMalloc((void **)&shared, 64, 0));
    CHECK(hipGetDeviceCount(&devices));
    for (int d = 0; d < devices; d++) {
        CHECK(hipSetDevice(d));
        failed += run(file, shared);
    }
    std::fputs(failed ? "FAILED\n" : "PASSED\n", stderr);
    return failed != 0 || devices == 0;
}
