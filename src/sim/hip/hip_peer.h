/* hip_peer.h - access of kernels to other devices' memory */
#ifndef SIM_HIP_PEER_H
#define SIM_HIP_PEER_H

#include "process_state.h"

#include "../base/allocation.h"

/* Keeps other devices out of a new allocation unless AMD's runtime would map
 * it for them. */
void peers_bar(struct sim_alloc *a);
/* Gives one device access to the allocation at `base`. */
void peers_let_in(uint64_t base, const struct device *device);
/* Called when `device` copies or fills memory at this address. If the
 * allocation belongs to another device, it is then mapped for all devices. */
void peers_map(uint64_t addr, int device);

#endif
