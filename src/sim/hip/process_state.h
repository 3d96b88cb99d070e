/* process_state.h - state of the process: devices, settings, one lock */
#ifndef SIM_HIP_PROCESS_STATE_H
#define SIM_HIP_PROCESS_STATE_H

#include "abi.h"

#include "../base/processor.h"

#include <pthread.h>
#include <stdbool.h>

enum { MAX_DEVICES = 64, RELEASE_DEFAULT = 7 };

struct queue;

struct device {
    int ordinal;
    struct sim_device *sim;
    struct queue *queues; /* every open queue, the null queue too */
    struct queue *null_queue;
    hipError_t fault; /* a kernel's fault; stays until hipDeviceReset() */
    unsigned flags;
    hipMemPool_t default_pool, current_pool;
    uint64_t peers; /* bit per device whose memory was enabled */
};

/* The lock guards the queues and their operations; it is never held while a
 * kernel, a copy or a callback runs. */
struct process {
    pthread_mutex_t lock;
    struct device devices[MAX_DEVICES];
    int ndevices;
    int release; /* KPK_SIM_HIP_VERSION: 5, 6 or 7 */
    uint64_t copy_delay_us;
    bool launch_blocking;
};

extern struct process process;

struct device *process_device(int ordinal); /* NULL: no such device */

/* Says something to the user, on stderr, prefixed. */
void process_complain(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
