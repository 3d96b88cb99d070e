/* facts.h - parts of HIP's ABI in which the simulated runtime's own
 * declarations must agree with HIP's headers
 *
 * Compiled twice, once under each declaration, into tables of the same rows.
 * The lists hold declarations that HIP 5.2 already has and later releases left
 * in place.
 */
/* clang-format off */
#define VALUES(X)                                                             \
    X(hipSuccess) X(hipErrorInvalidValue) X(hipErrorOutOfMemory)              \
    X(hipErrorNotInitialized) X(hipErrorDeinitialized)                        \
    X(hipErrorProfilerDisabled) X(hipErrorProfilerNotInitialized)             \
    X(hipErrorProfilerAlreadyStarted) X(hipErrorProfilerAlreadyStopped)       \
    X(hipErrorInvalidConfiguration) X(hipErrorInvalidPitchValue)              \
    X(hipErrorInvalidSymbol) X(hipErrorInvalidDevicePointer)                  \
    X(hipErrorInvalidMemcpyDirection) X(hipErrorInsufficientDriver)           \
    X(hipErrorMissingConfiguration) X(hipErrorPriorLaunchFailure)             \
    X(hipErrorInvalidDeviceFunction) X(hipErrorNoDevice)                      \
    X(hipErrorInvalidDevice) X(hipErrorInvalidImage)                          \
    X(hipErrorInvalidContext) X(hipErrorContextAlreadyCurrent)                \
    X(hipErrorMapFailed) X(hipErrorUnmapFailed) X(hipErrorArrayIsMapped)      \
    X(hipErrorAlreadyMapped) X(hipErrorNoBinaryForGpu)                        \
    X(hipErrorAlreadyAcquired) X(hipErrorNotMapped)                           \
    X(hipErrorNotMappedAsArray) X(hipErrorNotMappedAsPointer)                 \
    X(hipErrorECCNotCorrectable) X(hipErrorUnsupportedLimit)                  \
    X(hipErrorContextAlreadyInUse) X(hipErrorPeerAccessUnsupported)           \
    X(hipErrorInvalidKernelFile) X(hipErrorInvalidGraphicsContext)            \
    X(hipErrorInvalidSource) X(hipErrorFileNotFound)                          \
    X(hipErrorSharedObjectSymbolNotFound) X(hipErrorSharedObjectInitFailed)   \
    X(hipErrorOperatingSystem) X(hipErrorInvalidHandle)                       \
    X(hipErrorIllegalState) X(hipErrorNotFound) X(hipErrorNotReady)           \
    X(hipErrorIllegalAddress) X(hipErrorLaunchOutOfResources)                 \
    X(hipErrorLaunchTimeOut) X(hipErrorPeerAccessAlreadyEnabled)              \
    X(hipErrorPeerAccessNotEnabled) X(hipErrorSetOnActiveProcess)             \
    X(hipErrorContextIsDestroyed) X(hipErrorAssert)                           \
    X(hipErrorHostMemoryAlreadyRegistered) X(hipErrorHostMemoryNotRegistered) \
    X(hipErrorLaunchFailure) X(hipErrorCooperativeLaunchTooLarge)             \
    X(hipErrorNotSupported) X(hipErrorStreamCaptureUnsupported)               \
    X(hipErrorStreamCaptureInvalidated) X(hipErrorStreamCaptureMerge)         \
    X(hipErrorStreamCaptureUnmatched) X(hipErrorStreamCaptureUnjoined)        \
    X(hipErrorStreamCaptureIsolation) X(hipErrorStreamCaptureImplicit)        \
    X(hipErrorCapturedEvent) X(hipErrorStreamCaptureWrongThread)              \
    X(hipErrorGraphExecUpdateFailure) X(hipErrorUnknown)                      \
    X(hipErrorRuntimeMemory) X(hipErrorRuntimeOther) X(hipMemcpyHostToHost)   \
    X(hipMemcpyHostToDevice) X(hipMemcpyDeviceToHost)                         \
    X(hipMemcpyDeviceToDevice) X(hipMemcpyDefault) X(hipStreamNonBlocking)    \
    X(hipEventBlockingSync) X(hipEventDisableTiming) X(hipEventInterprocess)

#define SIZES(X)                                                              \
    X(dim3) X(hipFuncAttributes) X(hipPointerAttribute_t) X(hipLaunchParams)  \
    X(hipPitchedPtr) X(hipExtent) X(hipPos) X(hipMemcpy3DParms)               \
    X(hipMemLocation) X(hipMemPoolProps) X(hipMemAccessDesc) X(hipUUID)

#define OFFSETS(X)                                                            \
    X(dim3, y) X(dim3, z) X(hipFuncAttributes, binaryVersion)                 \
    X(hipFuncAttributes, cacheModeCA) X(hipFuncAttributes, constSizeBytes)    \
    X(hipFuncAttributes, localSizeBytes)                                      \
    X(hipFuncAttributes, maxDynamicSharedSizeBytes)                           \
    X(hipFuncAttributes, maxThreadsPerBlock) X(hipFuncAttributes, numRegs)    \
    X(hipFuncAttributes, preferredShmemCarveout)                              \
    X(hipFuncAttributes, ptxVersion) X(hipFuncAttributes, sharedSizeBytes)    \
    X(hipPointerAttribute_t, device) X(hipPointerAttribute_t, devicePointer)  \
    X(hipPointerAttribute_t, hostPointer) X(hipPointerAttribute_t, isManaged) \
    X(hipPointerAttribute_t, allocationFlags) X(hipLaunchParams, func)        \
    X(hipLaunchParams, gridDim) X(hipLaunchParams, blockDim)                  \
    X(hipLaunchParams, args) X(hipLaunchParams, sharedMem)                    \
    X(hipLaunchParams, stream) X(hipPitchedPtr, pitch)                        \
    X(hipPitchedPtr, xsize) X(hipPitchedPtr, ysize) X(hipExtent, height)      \
    X(hipExtent, depth) X(hipMemcpy3DParms, srcArray)                         \
    X(hipMemcpy3DParms, srcPos) X(hipMemcpy3DParms, srcPtr)                   \
    X(hipMemcpy3DParms, dstArray) X(hipMemcpy3DParms, dstPos)                 \
    X(hipMemcpy3DParms, dstPtr) X(hipMemcpy3DParms, extent)                   \
    X(hipMemcpy3DParms, kind) X(hipMemLocation, id)                           \
    X(hipMemPoolProps, location) X(hipMemPoolProps, win32SecurityAttributes)  \
    X(hipMemAccessDesc, flags)
/* clang-format on */

struct fact {
    const char *what;
    unsigned long long number;
};

#define VALUE(name) {#name, (unsigned long long)(name)},
#define SIZE(type) {"sizeof(" #type ")", sizeof(type)},
#define OFFSET(type, member)                                                   \
    {"offsetof(" #type ", " #member ")", offsetof(type, member)},

/* The rows under whatever declares the names; ends with an empty one. */
#define FACTS(table)                                                           \
    const struct fact table[] = {VALUES(VALUE) SIZES(SIZE)                     \
                                     OFFSETS(OFFSET){0, 0}}
