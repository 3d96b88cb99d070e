/* error.c - statuses and each thread's last failure */
#include "error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Long enough for the longest message, 'no code object fits', with every
 * known target in the pack. */
enum { MESSAGE_NBYTES = KPK_I_MESSAGE_NBYTES };

static _Thread_local struct kpk_i_failure last;

const char *kpk_status_name(kpk_status status)
{
    switch ((int)status) {
#define X(name, number, text)                                                  \
    case number:                                                               \
        return #name;
        KPK_STATUS_TABLE(X)
#undef X
    default:
        return "KPK_ERR_UNKNOWN";
    }
}

const char *kpk_status_string(kpk_status status)
{
    switch ((int)status) {
#define X(name, number, text)                                                  \
    case number:                                                               \
        return text;
        KPK_STATUS_TABLE(X)
#undef X
    default:
        return "unknown status";
    }
}

const char *kpk_error_message(void)
{
    return last.text;
}

int kpk_error_driver(void)
{
    return last.driver;
}

int kpk_version(void)
{
    return KPK_VERSION_MAJOR * 10000 + KPK_VERSION_MINOR * 100 +
           KPK_VERSION_PATCH;
}

kpk_status kpk_i_fail(kpk_status status, const char *format, ...)
{
    /* Built aside: the arguments may be the last message itself. */
    char text[MESSAGE_NBYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(last.text, text, sizeof(text));
    last.driver = 0;
    return status;
}

void kpk_i_fail_more(const char *format, ...)
{
    const size_t n = strlen(last.text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(last.text + n, sizeof(last.text) - n, format, args);
    va_end(args);
}

void kpk_i_fail_behind(hipError_t error)
{
    last.driver = (int)error;
}

void kpk_i_keep_failure(struct kpk_i_failure *out)
{
    *out = last;
}

void kpk_i_put_back_failure(const struct kpk_i_failure *from)
{
    last = *from;
}

/* Errors of work that has failed on the GPU: of the two drivers the numbers
 * are the same. Both answer later calls with them until the process ends, and
 * have nothing that undoes it: AMD's hipDeviceReset() fails likewise. Sources:
 * CUDA's manual, "CUresult"; HIP_INIT_API of AMD's runtime, 7.0 and later. */
static bool is_fault(hipError_t error)
{
    enum { ECC = 214, BAD_ADDRESS = 700, TIMEOUT = 702, ASSERT = 710 };
    enum { FIRST_OF_A_KERNEL = 714, LAST_OF_A_KERNEL = 719 };

    return error == ECC || error == BAD_ADDRESS || error == TIMEOUT ||
           error == ASSERT ||
           (error >= FIRST_OF_A_KERNEL && error <= LAST_OF_A_KERNEL);
}

static atomic_bool faulted[KPK_CUDA + 1];

bool kpk_i_has_faulted(const struct kpk_i_gpu *gpu)
{
    return atomic_load_explicit(&faulted[gpu->platform], memory_order_relaxed);
}

kpk_status kpk_i_fail_gpu(const struct kpk_i_gpu *gpu, const char *call,
                          hipError_t error, const char *format, ...)
{
    const char *name = gpu->hipGetErrorName(error);
    const char *string = gpu->hipGetErrorString(error);
    char asked[MESSAGE_NBYTES / 2];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(asked, sizeof(asked), format, args);
    va_end(args);
    (void)kpk_i_fail(KPK_ERR_DRIVER, "%s: %s returned %s (%d), %s", asked,
                     gpu->failed_name(call), name ? name : "an unnamed error",
                     (int)error, string ? string : "no text");
    if (is_fault(error)) {
        kpk_i_fail_more(". A kernel or the GPU has faulted: every later call "
                        "on this GPU fails until the process ends, kpk_open() "
                        "too. Start the program again");
        atomic_store_explicit(&faulted[gpu->platform], true,
                              memory_order_relaxed);
    }
    kpk_i_fail_behind(error);
    return KPK_ERR_DRIVER;
}

void kpk_i_append(struct kpk_i_text *text, const char *format, ...)
{
    va_list args;
    int n;

    if (text->room == 0)
        return;
    va_start(args, format);
    n = vsnprintf(text->at, text->room, format, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n >= text->room)
        n = (int)text->room - 1;
    text->at += n;
    text->room -= (size_t)n;
}

kpk_status kpk_i_lacks(const struct kpk_i_gpu *gpu, const char *what,
                       const char *hip_name)
{
    const char *instead = gpu->instead ? gpu->instead(hip_name) : NULL;

    if (instead)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "%s needs %s, which newer releases of %s have "
                          "dropped and kpack leaves alone. %s",
                          what, gpu->call_name(hip_name), gpu->title, instead);
    return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                      "%s needs %s, which %s %d.%d (%s) does not have", what,
                      gpu->call_name(hip_name), gpu->title, gpu->major,
                      gpu->minor, gpu->path);
}
