/* fake_load.c - finds the fake HIP and CUDA libraries beside the running test
 */
#include "fake_cuda.h"
#include "fake_hip.h"
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fake_hip_reset(struct fake_hip *fake)
{
    void (*set_current)(int) = fake->set_current;
    int (*get_current)(void) = fake->get_current;

    memset(fake, 0, sizeof(*fake));
    fake->set_current = set_current;
    fake->get_current = get_current;
    fake->set_current(0);
    fake->ndevices = 2;
    fake->targets[0] = "gfx90a:sramecc+:xnack-";
    fake->targets[1] = "gfx1100";
    fake->version = 60342134;
    fake->fail_error = 999;
    fake->blocks_per_unit = 2;
    fake->fail_in = -1;
}

/* An object of a library beside the running program, whose path is told. */
static void *load_beside(const char *file, const char *object,
                         char path[FAKE_PATH_MAX])
{
    char program[4000];
    char *slash;
    void *fake = NULL;

    name_program(program, sizeof(program));
    slash = strrchr(program, '/');
    if (slash) {
        *slash = '\0';
        (void)snprintf(path, FAKE_PATH_MAX, "%s/%s", program,
                       driver_file(file));
        fake = load_object(path, object);
    }
    if (!fake) {
        (void)fprintf(stderr, "%s is not beside this test\n", file);
        exit(1);
    }
    return fake;
}

struct fake_hip *fake_hip_load(const char *file)
{
    char path[FAKE_PATH_MAX];
    struct fake_hip *fake = load_beside(file, "fake_hip", path);

    fake_hip_reset(fake);
    return fake;
}

void fake_cuda_reset(struct fake_cuda *fake)
{
    const struct fake_cuda own = *fake;

    memset(fake, 0, sizeof(*fake));
    fake->push_own = own.push_own;
    fake->pop = own.pop;
    fake->depth = own.depth;
    fake->current = own.current;
    fake->ndevices = 2;
    fake->capability[0] = 90;
    fake->capability[1] = 120;
    fake->version = 13000;
    fake->fail_error = 999;
    fake->fail_in = -1;
}

struct fake_cuda *fake_cuda_load(char path[FAKE_PATH_MAX])
{
    struct fake_cuda *fake = load_beside("fake_cuda.so", "fake_cuda", path);

    fake_cuda_reset(fake);
    return fake;
}
