/* hip_test.h - helpers for tests of the HIP functions
 *
 * Prototypes come from Debian's HIP header; newer functions are declared here.
 * A test that needs other devices, another release or injected faults runs in a
 * child process with its own environment, since the runtime reads that once.
 */
#ifndef SIM_TESTS_HIP_TEST_H
#define SIM_TESTS_HIP_TEST_H

#define __HIP_PLATFORM_AMD__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs those above */

/* Contexts are deprecated, and tested all the same. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

hipError_t hipGetDevicePropertiesR0000(void *out, int device);
hipError_t hipGetDevicePropertiesR0600(void *out, int device);
hipError_t hipChooseDeviceR0600(int *device, const void *wish);
hipError_t hipExtGetLastError(void);
hipError_t hipGetProcAddress(const char *symbol, void **pfn, int hip_version,
                             uint64_t flags, int *status);
hipError_t hipModuleLoadFatBinary(hipModule_t *module, const void *image);
hipError_t hipModuleGetFunctionCount(unsigned *count, hipModule_t module);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx,
                                            unsigned gy, unsigned gz,
                                            unsigned bx, unsigned by,
                                            unsigned bz, unsigned shared,
                                            hipStream_t stream, void **params);
hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy,
                                    uint32_t gz, uint32_t bx, uint32_t by,
                                    uint32_t bz, size_t shared,
                                    hipStream_t stream, void **params,
                                    void **extra, hipEvent_t start,
                                    hipEvent_t stop, uint32_t flags);
hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void *),
                             void *data);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device);
hipError_t hipDrvGetErrorName(hipError_t error, const char **text);
int hiprtcCompileProgram(void *program, int n, const char **options);
const char *hiprtcGetErrorString(int result);
hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t value);

/* Expects a call to return an error; says both by name if it does not. */
#define EXPECT(error, call) expect_error(error, call, #call, __FILE__, __LINE__)
void expect_error(hipError_t want, hipError_t got, const char *call,
                  const char *file, int line);

/* The code object of programs/NAME.hip for a target; the caller frees it. */
void *read_program(const char *target, const char *name, size_t *n);
void *read_api(const char *target, size_t *n); /* of api.hip */

/*
 * Runs `body` in a child process with these variables set: "NAME=VALUE", ends
 * with NULL. The child's failed assertions fail the running test.
 */
void in_child(const char *const environment[], void (*body)(void));

#endif
