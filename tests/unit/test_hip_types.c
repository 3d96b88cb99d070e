/* test_hip_types.c - the rows of hip_api.h against HIP's own header
 *
 * kpack declares the HIP functions that it calls itself. Compiling this file
 * holds each row of the first table against the real declaration; the second
 * table is younger than the header that Debian ships.
 */
#define __HIP_PLATFORM_AMD__ 1 /* HIP 5 wants to be told */
#define __HIP_PLATFORM_HCC__ 1 /* HIP 4 too */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wconversion"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop

#define KPK_HIP_ROWS_ALONE /* the types are those of the header above */
#include "hip_api.h"
#include "unit_checks.h"

#include <stdbool.h>

typedef enum hipMemcpyKind hipMemcpyKind;

#define X(need, result, name, args)                                            \
    _Static_assert(_Generic(&(name), result(*) args : 1, default : 0),         \
                   #name " has another type in HIP's header");
KPK_HIP_TABLE(X)
#undef X

_Static_assert(sizeof(hipIpcMemHandle_t) == 64, "bytes of kpk_ipc_memory");
_Static_assert(hipIpcMemLazyEnablePeerAccess == (HIP_VERSION_MAJOR > 5),
               "src/ipc.c knows the flag of each release");

/* Fields that src/hip_device.c reads by offset in HIP 5's layout. */
#define FIELD(field, offset, nbytes)                                           \
    _Static_assert(offsetof(hipDeviceProp_t, field) == (offset) &&             \
                       sizeof(((hipDeviceProp_t *)0)->field) == (nbytes),      \
                   #field " lies elsewhere");
#if HIP_VERSION_MAJOR < 6
_Static_assert(sizeof(hipDeviceProp_t) == 792, "size of R0000");
FIELD(name, 0, 256)
FIELD(gcnArchName, 396, 256)
FIELD(totalGlobalMem, 256, 8)
FIELD(sharedMemPerBlock, 264, 8)
FIELD(warpSize, 276, 4)
FIELD(maxThreadsPerBlock, 280, 4)
FIELD(maxThreadsDim, 284, 12)
FIELD(maxGridSize, 296, 12)
FIELD(multiProcessorCount, 336, 4)
FIELD(cooperativeLaunch, 656, 4)
FIELD(cooperativeMultiDeviceLaunch, 660, 4)
#else
_Static_assert(sizeof(hipDeviceProp_t) == 1472, "size of R0600");
FIELD(name, 0, 256)
FIELD(gcnArchName, 1160, 256)
FIELD(totalGlobalMem, 288, 8)
FIELD(sharedMemPerBlock, 296, 8)
FIELD(warpSize, 308, 4)
FIELD(maxThreadsPerBlock, 320, 4)
FIELD(maxThreadsDim, 324, 12)
FIELD(maxGridSize, 336, 12)
FIELD(multiProcessorCount, 388, 4)
FIELD(cooperativeLaunch, 688, 4)
FIELD(cooperativeMultiDeviceLaunch, 692, 4)
#endif

static void test_hip_constants_are_those_of_the_header(void **state)
{
    (void)state;
    assert_int_equal(hipSuccess, 0);
    assert_int_equal(hipErrorNoDevice, 100);
    assert_int_equal(hipErrorInvalidDevice, 101);
    assert_int_equal(hipMemcpyHostToDevice, 1);
    assert_int_equal(hipMemcpyDeviceToHost, 2);
    assert_int_equal(hipMemcpyDeviceToDevice, 3);
    assert_int_equal(hipErrorNotReady, 600);
    assert_int_equal(hipErrorPeerAccessAlreadyEnabled, 704);
    assert_int_equal(hipErrorInvalidContext, 201);
    assert_int_equal(hipStreamNonBlocking, KPK_STREAM_NON_BLOCKING);
    assert_int_equal(hipEventBlockingSync, KPK_EVENT_SLEEP);
    assert_int_equal(hipEventDisableTiming, KPK_EVENT_NO_TIMING);
    assert_int_equal(hipHostMallocPortable, 1);
    assert_int_equal(hipErrorOutOfMemory, 2);
    assert_int_equal(hipStreamCaptureModeGlobal, KPK_CAPTURE_GLOBAL);
    assert_int_equal(hipStreamCaptureModeThreadLocal, KPK_CAPTURE_THREAD);
    assert_int_equal(hipStreamCaptureModeRelaxed, KPK_CAPTURE_RELAXED);
    assert_int_equal(hipStreamCaptureStatusNone, KPK_CAPTURE_NONE);
    assert_int_equal(hipStreamCaptureStatusActive, KPK_CAPTURE_ACTIVE);
    assert_int_equal(hipStreamCaptureStatusInvalidated, KPK_CAPTURE_BROKEN);
    assert_int_equal((size_t)HIP_LAUNCH_PARAM_BUFFER_POINTER, 1);
    assert_int_equal((size_t)HIP_LAUNCH_PARAM_BUFFER_SIZE, 2);
    assert_int_equal((size_t)HIP_LAUNCH_PARAM_END, 3);
    assert_int_equal(sizeof(hipError_t), 4);
    assert_int_equal(sizeof(hipMemcpyKind), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hip_constants_are_those_of_the_header),
    };

    return cmocka_run_group_tests_name("hip_types", tests, NULL, NULL);
}
