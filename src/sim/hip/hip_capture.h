/* hip_capture.h - streams that record what they are given into a graph */
#ifndef SIM_HIP_CAPTURE_H
#define SIM_HIP_CAPTURE_H

struct queue;

/* The stream is about to go. */
void capture_abandon(struct queue *queue);

#endif
