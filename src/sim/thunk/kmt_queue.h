/* kmt_queue.h - queues and the threads that serve them */
#ifndef SIM_THUNK_KMT_QUEUE_H
#define SIM_THUNK_KMT_QUEUE_H

/* Stops and joins the threads; queued packets are not executed. */
void thunk_queues_shutdown(void);

#endif
