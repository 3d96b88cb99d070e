/* sdma.h - the copy engine's packet at a queue's head, looked at or done */
#ifndef SIM_THUNK_SDMA_H
#define SIM_THUNK_SDMA_H

#include "ring.h"

enum thunk_work thunk_sdma_look(struct thunk_queue *queue);
void thunk_sdma_step(struct thunk_queue *queue);

#endif
