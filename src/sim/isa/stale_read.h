/* stale_read.h - loads that miss what another wave has stored
 *
 * Under KPK_SIM_WEAK. The newest bytes are those of the store that was issued
 * last. A plain load of others is said on stderr, once for each code object,
 * with the store and with what was not done for it to be seen. A load that
 * passes the caches may be of a flag, and see old values; it is said if the
 * store went no further than another die's L2.
 */
#ifndef SIM_ISA_STALE_READ_H
#define SIM_ISA_STALE_READ_H

#include "caches.h"

/* The running instruction of a wave makes bytes new. */
void sim_stale_note(struct wave *w, uint8_t *at, unsigned n,
                    const uint8_t *bytes);

/* A load of the running instruction got these bytes, past the caches or not. */
void sim_stale_check(struct wave *w, uint8_t *at, unsigned n,
                     const uint8_t *bytes, bool passes, int lane);

#endif
