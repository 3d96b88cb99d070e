/* kmt_register.h - memory of the program's own that GPUs may use for a while */
#ifndef SIM_THUNK_KMT_REGISTER_H
#define SIM_THUNK_KMT_REGISTER_H

#include "kmt.h"

/* Describes the registered range around `addr`, which may be the host's or the
 * GPUs' address; false if there is none. */
bool thunk_describe_registered(uint64_t addr, struct kmt_pointer *info);
bool thunk_set_registered_user(uint64_t addr, void *user);

/* The GPUs' address of a registered range's byte, `addr` if it is in none. */
uint64_t thunk_registered_address(uint64_t addr, uint64_t nbytes);

#endif
