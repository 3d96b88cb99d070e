/* static.c - a program linked with -static is refused, in words, by each call
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NOT_SUPPORTED = 801 };

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (!found)
        printf("%s is not exported\n", name);
    return found;
}

int main(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW);
    int (*by_name)(const char *, void **, int, uint64_t, int *);
    int (*count)(int *);
    const char *(*phrase)(int);
    void *function = NULL;
    int n = 0, status = 0, bad = 0;

    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    by_name = find(library, "hipGetProcAddress");
    count = find(library, "hipGetDeviceCount");
    phrase = find(library, "hipGetErrorString");
    if (!by_name || !count || !phrase)
        return 1;
    bad += by_name("hipMalloc", &function, 602, 0, &status) != NOT_SUPPORTED;
    bad += count(&n) != NOT_SUPPORTED;
    bad += strcmp(phrase(NOT_SUPPORTED), "operation not supported") != 0;
    printf("%s\n", bad ? "FAILED" : "PASSED");
    return bad != 0;
}
