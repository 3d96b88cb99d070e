/*
 * counted_hip.c - HIP as KPK_HIP_LIBRARY names it, with its launches counted
 *
 * A shared library that needs libamdhip64: kpack finds all functions in it, and
 * these two here. At the end of the process a line on stderr has the counts;
 * counted_hip() gives them before.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "counted_hip.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct counted_hip counted;

/* A function of libamdhip64. */
static void *next(const char *name)
{
    void *hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
    void *function = hip ? dlsym(hip, name) : NULL;

    if (!function) {
        (void)fprintf(stderr, "counted_hip: no %s\n", name);
        abort();
    }
    return function;
}

static void add(unsigned long *counter)
{
    (void)__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

typedef int launch(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, unsigned, void *, void **, void **);
typedef int replay(void *, void *);

launch hipModuleLaunchKernel;
int hipModuleLaunchKernel(void *f, unsigned grid_x, unsigned grid_y,
                          unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared, void *stream,
                          void **params, void **extra)
{
    launch *hip = (launch *)next("hipModuleLaunchKernel");

    add(&counted.launches);
    return hip(f, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
               stream, params, extra);
}

replay hipGraphLaunch;
int hipGraphLaunch(void *exec, void *stream)
{
    replay *hip = (replay *)next("hipGraphLaunch");

    add(&counted.replays);
    return hip(exec, stream);
}

const struct counted_hip *counted_hip(void)
{
    return &counted;
}

__attribute__((destructor)) static void tell(void)
{
    (void)fprintf(stderr, "counted_hip: %s: %lu launches, %lu replays\n",
                  program_invocation_short_name, counted.launches,
                  counted.replays);
}
