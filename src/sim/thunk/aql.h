/* aql.h - the AQL packet at a queue's head, looked at or done */
#ifndef SIM_THUNK_AQL_H
#define SIM_THUNK_AQL_H

#include "ring.h"

enum thunk_work thunk_aql_look(struct thunk_queue *queue);
void thunk_aql_step(struct thunk_queue *queue);

#endif
