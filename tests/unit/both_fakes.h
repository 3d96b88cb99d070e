/* both_fakes.h - an instance on the fake HIP or on the fake CUDA driver
 *
 * For test programs whose tests run on either: ON(hip, test) is a test with an
 * instance of its own, which must leave nothing behind.
 */
#ifndef KPK_TESTS_BOTH_FAKES_H
#define KPK_TESTS_BOTH_FAKES_H

#include "fake_cuda.h"
#include "fake_hip.h"
#include "system.h"
#include "test_pack.h"
#include "unit_checks.h"

#include <stdlib.h>

/* HIP's devices are 0 and 1, CUDA's follow. */
enum { DEVICE_OF_HIP = 1, DEVICE_OF_CUDA = 3 };

static struct fake_hip *fake;
static struct fake_cuda *cuda;
static kpk_instance *inst;

static inline int open_on(const kpk_pack *pack, int device)
{
    fake_hip_reset(fake);
    fake_cuda_reset(cuda);
    return kpk_open(pack, device, &inst) == KPK_OK ? 0 : -1;
}

static inline int open_on_hip(void **state)
{
    (void)state;
    return open_on(&test_pack, DEVICE_OF_HIP);
}

static inline int open_on_cuda(void **state)
{
    (void)state;
    return open_on(&test_pack_nvidia, DEVICE_OF_CUDA);
}

static inline int close_inst(void **state)
{
    (void)state;
    fake->fail_name = cuda->fail_name = NULL;
    return kpk_close(inst) == KPK_OK && fake->live == 0 && cuda->live == 0 &&
                   fake->nviolations == 0 && cuda->nviolations == 0
               ? 0
               : -1;
}

static inline int is_hip(void)
{
    return kpk_instance_device(inst)->platform == KPK_HIP;
}

/* Before any test: the two drivers that kpack will find. */
static inline void load_both_fakes(void)
{
    char path[FAKE_PATH_MAX];

    fake = fake_hip_load("fake_hip.so");
    cuda = fake_cuda_load(path);
    set_variable("KPK_CUDA_LIBRARY", path);
}

/* clang-format off */
#define ON(driver, test)                                                       \
    {#test " on " #driver, test, open_on_##driver, close_inst, NULL}
/* clang-format on */

#endif
