/* kmt_queue.h - queues and the threads that serve them */
#ifndef SIM_THUNK_KMT_QUEUE_H
#define SIM_THUNK_KMT_QUEUE_H

/* Stops and joins the threads; what is queued stays undone. */
void thunk_queues_shutdown(void);

#endif
