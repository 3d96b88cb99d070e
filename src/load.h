/* load.h - modules are loaded into an instance, and unloaded */
#ifndef KPK_LOAD_H
#define KPK_LOAD_H

#include "instance.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/* Under the lock: loads the module unless it is loaded. */
kpk_status kpk_i_load_slot(kpk_instance *inst, struct kpk_i_slot *slot);

/* Under the lock: the module stays loaded until it is let go, which takes no
 * lock. For what is too slow to be done under the lock. */
void kpk_i_hold_slot(struct kpk_i_slot *slot);
void kpk_i_let_go(struct kpk_i_slot *slot);

/* Unloads all modules, if any is loaded. Goes on after a failure; the first one
 * is returned. */
kpk_status kpk_i_unload_all(kpk_instance *inst);

#pragma GCC visibility pop

#endif
