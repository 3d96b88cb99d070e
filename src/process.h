/* process.h - what finding a driver asks of the process */
#ifndef KPK_PROCESS_H
#define KPK_PROCESS_H

#include "internal.h"

#include <stdatomic.h>

#pragma GCC visibility push(hidden)

/* Finds a driver unless one has been found. After a failure, the next call
 * tries again. */
kpk_status kpk_i_bind_once(atomic_bool *bound, kpk_status (*find)(void));

/* Puts what a library's symbol is into a slot for a function pointer. */
void kpk_i_store_function(void *slot, void *address);

/* Refused in a child of fork() whose parent had found a driver: its threads are
 * not there, nor are those that may have held a lock. */
kpk_status kpk_i_check_process(void);

#pragma GCC visibility pop

#endif
