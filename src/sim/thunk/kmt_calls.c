/* kmt_calls.c - opening and closing, and the calls that have nothing to do here
 *
 * ROCr binds every name, and newer releases refuse a library that lacks one;
 * what is not there says so by its status.
 */
#include "kmt.h"
#include "kmt_queue.h"
#include "node.h"

KMT_API kmt_status hsaKmtOpenKFD(void)
{
    return KMT_OK;
}

KMT_API kmt_status hsaKmtCloseKFD(void)
{
    return KMT_OK;
}

/* ---- HIP 7's plug-in ---- */

KMT_API void *DtifCreate(const char *client)
{
    (void)client;
    thunk_is_dtif = true;
    return &thunk_is_dtif;
}

/* The library is unloaded after this call, so all of its threads must end. */
KMT_API void DtifDestroy(void)
{
    thunk_queues_shutdown();
}

/* ---- accepted, with nothing to do ---- */

#define ACCEPTED(name)                                                         \
    KMT_API kmt_status name(void);                                             \
    kmt_status name(void)                                                      \
    {                                                                          \
        return KMT_OK;                                                         \
    }
ACCEPTED(hsaKmtRuntimeDisable)
ACCEPTED(hsaKmtSetMemoryPolicy)
ACCEPTED(hsaKmtSetTrapHandler)

/* Says that the kernel has no debugger's interface: ROCr then hears of errors
 * from the queues themselves. */
#define REFUSED(name)                                                          \
    KMT_API kmt_status name(void);                                             \
    kmt_status name(void)                                                      \
    {                                                                          \
        return KMT_NOT_SUPPORTED;                                              \
    }
REFUSED(hsaKmtAisReadWriteFile)
REFUSED(hsaKmtCheckRuntimeDebugSupport)
REFUSED(hsaKmtDbgAddressWatch)
REFUSED(hsaKmtDbgDisable)
REFUSED(hsaKmtDbgEnable)
REFUSED(hsaKmtDbgGetDeviceData)
REFUSED(hsaKmtDbgGetQueueData)
REFUSED(hsaKmtDbgRegister)
REFUSED(hsaKmtDbgUnregister)
REFUSED(hsaKmtDbgWavefrontControl)
REFUSED(hsaKmtDebugTrapIoctl)
REFUSED(hsaKmtGetQueueInfo)
REFUSED(hsaKmtMapGraphicHandle)
REFUSED(hsaKmtOpenSMI)
REFUSED(hsaKmtPcSamplingCreate)
REFUSED(hsaKmtPcSamplingDestroy)
REFUSED(hsaKmtPcSamplingQueryCapabilities)
REFUSED(hsaKmtPcSamplingStart)
REFUSED(hsaKmtPcSamplingStop)
REFUSED(hsaKmtPcSamplingSupport)
REFUSED(hsaKmtPmcAcquireTraceAccess)
REFUSED(hsaKmtPmcGetCounterProperties)
REFUSED(hsaKmtPmcQueryTrace)
REFUSED(hsaKmtPmcRegisterTrace)
REFUSED(hsaKmtPmcReleaseTraceAccess)
REFUSED(hsaKmtPmcStartTrace)
REFUSED(hsaKmtPmcStopTrace)
REFUSED(hsaKmtPmcUnregisterTrace)
REFUSED(hsaKmtProcessVMRead)
REFUSED(hsaKmtProcessVMWrite)
REFUSED(hsaKmtRegisterGraphicsHandleToNodes)
REFUSED(hsaKmtRegisterGraphicsHandleToNodesExt)
REFUSED(hsaKmtRegisterSharedHandle)
REFUSED(hsaKmtRegisterSharedHandleToNodes)
REFUSED(hsaKmtReplaceAsanHeaderPage)
REFUSED(hsaKmtReturnAsanHeaderPage)
REFUSED(hsaKmtRuntimeEnable)
REFUSED(hsaKmtSPMAcquire)
REFUSED(hsaKmtSPMRelease)
REFUSED(hsaKmtSPMSetDestBuffer)
REFUSED(hsaKmtSVMGetAttr)
REFUSED(hsaKmtSVMSetAttr)
REFUSED(hsaKmtShareMemory)
REFUSED(hsaKmtUnmapGraphicHandle)

KMT_API kmt_status hsaKmtGetRuntimeCapabilities(uint32_t *capabilities)
{
    *capabilities = 0;
    return KMT_OK;
}

KMT_API kmt_status hsaKmtModelEnabled(bool *enabled)
{
    *enabled = false;
    return KMT_OK;
}
