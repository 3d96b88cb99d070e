/* register.h - what the thunk knows about memory of the program's own */
#ifndef SIM_THUNK_REGISTER_H
#define SIM_THUNK_REGISTER_H

#include "kmt.h"

/* Describes the registered range around `addr`; false if there is none. */
bool thunk_describe_registered(uint64_t addr, struct kmt_pointer *info);
bool thunk_set_registered_user(uint64_t addr, void *user);

#endif
