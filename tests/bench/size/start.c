/* start.c - how long programs take to start and end
 *
 *   start PROGRAM...
 *
 * The programs take turns, so that a change of the machine's load meets all of
 * them. A line for each: the shortest time and the median, in microseconds.
 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 301, MOST = 8 };

static double times[MOST][ROUNDS];

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 1; i < argc && i <= MOST; i++) {
            char *words[] = {argv[i], NULL};
            const double start = seconds();
            int status = 1;
            pid_t child;

            if (posix_spawn(&child, argv[i], NULL, NULL, words, environ) != 0 ||
                waitpid(child, &status, 0) < 0 || status != 0) {
                (void)fprintf(stderr, "%s does not run\n", argv[i]);
                return 1;
            }
            times[i - 1][round] = seconds() - start;
        }
    }
    for (int i = 1; i < argc && i <= MOST; i++) {
        qsort(times[i - 1], ROUNDS, sizeof(double), ascending);
        printf("%-40s %7.0f %7.0f\n", argv[i], times[i - 1][0] * 1e6,
               times[i - 1][ROUNDS / 2] * 1e6);
    }
    return 0;
}
