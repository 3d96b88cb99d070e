/* hip_capture.h - capture of streams: their work is recorded into a graph */
#ifndef SIM_HIP_CAPTURE_H
#define SIM_HIP_CAPTURE_H

struct queue;

/* The stream is about to go. */
void capture_abandon(struct queue *queue);

#endif
