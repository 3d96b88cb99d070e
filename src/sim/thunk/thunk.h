/* thunk.h - types and functions shared in the simulated thunk
 *
 * Node 0 is the CPU; node n is the simulated device n - 1.
 */
#ifndef SIM_THUNK_THUNK_H
#define SIM_THUNK_THUNK_H

#include "kmt.h"

#include "../base/allocation.h"
#include "../base/processor.h"
#include "../run/dispatch.h"

#define KMT_API __attribute__((visibility("default")))

/* True from DtifCreate() on: HIP 7's layouts, doorbells rung by a call. */
extern bool thunk_is_dtif;

static inline struct sim_device *thunk_device(uint32_t node)
{
    return node == 0 ? NULL : sim_device_get((int)node - 1);
}

static inline uint32_t thunk_node(const struct sim_device *device)
{
    return (uint32_t)device->ordinal + 1;
}

/* Addresses are numbers in every interface here; one place makes pointers. */
static inline void *thunk_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* The one clock of CPU, GPUs and signals: nanoseconds. */
uint64_t thunk_now(void);

/* ---- event.c ---- */

/* Sets the event with this ID; an ID that no event has is no fault. */
void thunk_event_set(uint32_t id);
/*
 * Writes a memory fault into the events that wait for one and sets them. False
 * if there are none: the runtime polls.
 */
bool thunk_event_memory_fault(uint32_t node, uint64_t address,
                              uint32_t reasons);

/* ---- signal.c: HSA signals, which lie in ROCr's memory ---- */

/* Where [addr, addr + n) is in this process; NULL if the GPU may not. */
void *thunk_memory(uint64_t addr, uint64_t n);
int64_t thunk_signal_value(uint64_t signal);
/* Completes a packet's signal, as a packet processor does; 0: no signal. */
void thunk_signal_complete(uint64_t signal, uint64_t start, uint64_t end);
/* Stores a value and wakes who waits for it. */
void thunk_signal_store(uint64_t signal, int64_t value);

/* ---- queue.c ---- */

struct thunk_queue {
    uint64_t id;
    struct sim_device *device;
    bool is_sdma;
    bool stopped;       /* after an error: nothing more is taken from it */
    bool paused;        /* by its owner */
    bool needs_scratch; /* ROCr has been asked for it */
    uint8_t *ring;
    uint64_t nbytes;
    volatile uint64_t *doorbell, *write_index, *read_index;
    uint64_t amd_queue;  /* address of ROCr's queue object, AQL only */
    struct sim_gws *gws; /* NULL until asked for */
};

/* Kind of work at the head of a queue. */
enum thunk_work {
    THUNK_NO_WORK, /* nothing, or what has to wait */
    THUNK_PACKET,  /* something short */
    THUNK_KERNEL
};

/* Stops and joins the threads; what is queued stays undone. */
void thunk_queues_shutdown(void);

/* ---- aql.c, sdma.c: the packet at a queue's head, looked at or done ---- */

enum thunk_work thunk_aql_look(struct thunk_queue *queue);
void thunk_aql_step(struct thunk_queue *queue);
enum thunk_work thunk_sdma_look(struct thunk_queue *queue);
void thunk_sdma_step(struct thunk_queue *queue);

/* ---- kernel.c ---- */

/* Errors of a queue, as ROCr knows them: bits of its inactive signal. */
#define THUNK_NEEDS_SCRATCH INT64_C(1)
#define THUNK_BAD_DIMENSIONS INT64_C(2)
#define THUNK_BAD_GROUP_MEMORY INT64_C(4)
#define THUNK_BAD_CODE INT64_C(8)
#define THUNK_BAD_PACKET INT64_C(32)
#define THUNK_BAD_WORKGROUP INT64_C(64)
#define THUNK_BAD_ADDRESS (INT64_C(1) << 29)
#define THUNK_ILLEGAL_INSN (INT64_C(1) << 30)
#define THUNK_TRAPPED (INT64_C(1) << 31)

/*
 * Runs the kernel dispatch packet at `packet`. Returns 0 or the queue's error;
 * a memory fault has then been reported to the events, if any wait for one.
 */
int64_t thunk_run_kernel(const struct thunk_queue *queue,
                         const uint8_t *packet);

/* ---- symbol.c ---- */

/*
 * The name of the kernel whose descriptor lies at `descriptor`, from the ELF
 * image around it. False, and an empty name, if there is none.
 */
bool thunk_kernel_name(uint64_t descriptor, char *name, size_t nname);

#endif
