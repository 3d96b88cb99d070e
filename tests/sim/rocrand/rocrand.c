/* rocrand.c - prints what rocRAND's generators give
 *
 *     rocrand LIBRARY GENERATOR
 *
 * Integers, then floats from 0 to 1, then from a normal and from a Poisson
 * distribution, in hexadecimal. GENERATOR is a number of rocrand_rng_type.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1024, DEVICE_TO_HOST = 2 };

static void *library;

static void *find(const char *name)
{
    void *symbol = dlsym(library, name);

    if (symbol)
        return symbol;
    fprintf(stderr, "rocrand: %s\n", dlerror());
    exit(2);
}

static void demand(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "rocrand: %s: status %d\n", what, status);
    exit(1);
}

int main(int argc, char **argv)
{
    static unsigned numbers[N];
    void *generator, *device;

    if (argc != 3)
        return 2;
    /* Its libamdhip64 is the simulated one. */
    library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "rocrand: %s\n", dlerror());
        return 2;
    }

    int (*const allocate)(void **, size_t) = find("hipMalloc");
    int (*const copy)(void *, const void *, size_t, int) = find("hipMemcpy");
    int (*const create)(void **, int) = find("rocrand_create_generator");
    int (*const destroy)(void *) = find("rocrand_destroy_generator");
    int (*const integers)(void *, unsigned *, size_t) =
        find("rocrand_generate");
    int (*const uniform)(void *, float *, size_t) =
        find("rocrand_generate_uniform");
    int (*const normal)(void *, float *, size_t, float, float) =
        find("rocrand_generate_normal");
    int (*const poisson)(void *, unsigned *, size_t, double) =
        find("rocrand_generate_poisson");

    demand(allocate(&device, sizeof(numbers)), "hipMalloc");
    demand(create(&generator, atoi(argv[2])), "rocrand_create_generator");
    for (int how = 0; how < 4; how++) {
        demand(how == 0   ? integers(generator, device, N)
               : how == 1 ? uniform(generator, device, N)
               : how == 2 ? normal(generator, device, N, 0, 1)
                          : poisson(generator, device, N, 10),
               "rocrand_generate");
        demand(copy(numbers, device, sizeof(numbers), DEVICE_TO_HOST),
               "hipMemcpy");
        for (unsigned i = 0; i < N; i++)
            printf("%08x\n", numbers[i]);
    }
    demand(destroy(generator), "rocrand_destroy_generator");
    return 0;
}
