/* call.h - how every call begins and ends
 *
 * Every exported function begins with ENTER() and leaves by LEAVE(error), so
 * that initialisation, fault injection, device loss and the thread's last
 * error have one place each.
 */
#ifndef SIM_HIP_CALL_H
#define SIM_HIP_CALL_H

#include "abi.h"

#include <stdbool.h>

enum call_need { NEED_NOTHING, NEED_DEVICE };
hipError_t call_enter(const char *function, enum call_need need);
hipError_t call_leave(hipError_t error);

#define ENTER_WITH(need)                                                       \
    do {                                                                       \
        hipError_t entered_ = call_enter(__func__, need);                      \
        if (entered_ != hipSuccess)                                            \
            return call_leave(entered_);                                       \
    } while (0)
#define ENTER() ENTER_WITH(NEED_DEVICE)
#define LEAVE(error) return call_leave(error)

/* Reads the environment, for callers that only need HIP's release. */
void call_ready(void);

/* No call does anything from now on. False if none ever did, or in a forked
 * child. */
bool calls_end(void);

#endif
