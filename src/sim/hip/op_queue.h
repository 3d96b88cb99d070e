/* op_queue.h - queues and operations */
#ifndef SIM_HIP_OP_QUEUE_H
#define SIM_HIP_OP_QUEUE_H

#include "process_state.h"

/*
 * One thing to do on a queue. Made by op_new(), given to op_submit(); the kinds
 * of operation put it first into a struct of their own.
 */
struct op {
    struct op *next;
    int refs;
    struct queue *queue;
    bool done;
    hipError_t error;
    uint64_t start_ns, end_ns; /* when it ran, CLOCK_MONOTONIC */
    struct op **after;         /* operations to wait for */
    size_t nafter;
    hipError_t (*run)(struct op *); /* NULL: a marker */
    void (*release)(struct op *);   /* frees the kind's own data; may be NULL */
    bool runs_after_fault;          /* callbacks and markers do */
};

enum { CU_WORDS = 16 }; /* 512 CUs, more than any processor has */

struct capture;
struct hipGraphNode;

/* A stream, or a device's default stream. */
struct queue {
    struct queue *next; /* of the device */
    struct device *device;
    int refs;
    unsigned flags;
    int priority;
    int sync_policy;        /* set by hipStreamSetAttribute(); 0: not set */
    uint32_t cus[CU_WORDS]; /* requested mask of CUs; 0: no mask */
    bool is_null;           /* the legacy default stream */
    bool closed;            /* destroyed: the worker ends when it is empty */
    bool started;
    pthread_t worker;
    struct op *first, *last; /* waiting; not the running one */
    struct op *newest;       /* submitted last, waiting, running or done */
    pthread_cond_t work, finished;
    uint64_t hsa_queue; /* amd_queue_t of its kernels, 0 until needed */
    uint64_t packet;
    uint64_t id;                /* 1, 2, 3... in order of creation */
    struct capture *capture;    /* NULL: not capturing */
    struct hipGraphNode **tail; /* the next node's dependencies */
    size_t ntail;
};

struct op *op_new(size_t nbytes, hipError_t (*run)(struct op *),
                  void (*release)(struct op *));
/* Takes one more dependency; false if there is no memory. */
bool op_after(struct op *op, struct op *earlier);
/* The same for the newest operation of a queue, and of each blocking queue of a
 * device. */
bool op_after_queue(struct op *op, struct queue *queue);
bool op_after_device(struct op *op, const struct device *device);
/*
 * Gives the operation to the queue, which owns it from then on; a caller that
 * wants to wait for it takes a reference first (op_ref). On error the
 * operation is released.
 */
hipError_t op_submit(struct queue *queue, struct op *op);
struct op *op_ref(struct op *op);
void op_unref(struct op *op);
bool op_done(struct op *op);
void op_wait(struct op *op);

struct queue *queue_new(struct device *device, unsigned flags, int priority);
void queue_ref(struct queue *queue);
void queue_unref(struct queue *queue);
void queue_close(struct queue *queue);
/* Waits for all operations submitted so far; on the null queue also for all
 * blocking streams. Returns the device's error, if any. */
hipError_t queue_wait(struct queue *queue);
bool queue_idle(struct queue *queue);
bool queue_on_worker(void); /* whether this is a worker, as in a callback */

/* Every queue of the device. */
hipError_t queues_wait(struct device *device);
/* The device's sticky error: a kernel's fault, or the loss of the device. */
hipError_t queues_error(const struct device *device);
void queues_shutdown(void);
bool queues_stopping(void);

#endif
