/* first_use.c - how long the first use of each code object takes
 *
 *   first_use
 *
 * A child for each target of the pack, several times over: in it each module's
 * code object is asked for once. A line for each code object: target, module,
 * bytes, and the least CPU time in microseconds.
 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include <kpack.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern const kpk_pack kpk_candle;

enum { ROUNDS = 15, MOST = 4096 };

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* In a child, as a program's first use. */
static void measure(const char *target, double *best)
{
    for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++) {
        const kpk_module *module = kpk_pack_module(&kpk_candle, m);
        kpk_object object;
        double start;
        size_t i;

        if (kpk_module_find_object(module, target, &i) != KPK_OK)
            continue;
        start = seconds();
        if (kpk_module_object(module, i, &object) != KPK_OK)
            _exit(1);
        start = seconds() - start;
        if (best[m] == 0 || start < best[m])
            best[m] = start;
    }
    _exit(0);
}

int main(void)
{
    const kpk_module *first = kpk_pack_module(&kpk_candle, 0);
    const size_t nmodules = kpk_pack_module_count(&kpk_candle);
    double *best = mmap(NULL, MOST * sizeof(*best), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (best == MAP_FAILED || nmodules > MOST)
        return 1;
    for (size_t t = 0; t < kpk_module_object_count(first); t++) {
        kpk_object object;

        if (kpk_module_object_info(first, t, &object) != KPK_OK)
            return 1;
        memset(best, 0, MOST * sizeof(*best));
        for (int round = 0; round < ROUNDS; round++) {
            int status = 1;

            if (fork() == 0)
                measure(object.target, best);
            if (wait(&status) < 0 || status != 0)
                return 1;
        }
        for (size_t m = 0; m < nmodules; m++) {
            const kpk_module *module = kpk_pack_module(&kpk_candle, m);
            kpk_object of_module;
            size_t i;

            if (kpk_module_find_object(module, object.target, &i) != KPK_OK ||
                kpk_module_object_info(module, i, &of_module) != KPK_OK)
                continue;
            printf("%s %s %zu %.1f\n", object.target, kpk_module_name(module),
                   of_module.nbytes, best[m] * 1e6);
        }
    }
    return 0;
}
