/* runtime.h - types and functions shared in the simulated HIP runtime
 *
 * Every exported function begins with ENTER() and leaves by LEAVE(error), so
 * that initialisation, fault injection, device loss and the thread's last
 * error have one place each. One lock (rt.lock) guards the queues and their
 * operations; it is never held while a kernel, a copy or a callback runs.
 */
#ifndef SIM_HIP_RUNTIME_H
#define SIM_HIP_RUNTIME_H

#include "abi.h"

#include "../base/allocation.h"
#include "../base/code_object.h"
#include "../base/processor.h"
#include "../run/dispatch.h"

#include <pthread.h>
#include <stdbool.h>

#define HIP_API __attribute__((visibility("default")))

enum { MAX_DEVICES = 64, RELEASE_DEFAULT = 7 };

/* ---- queues and operations (queue.c) ------------------------------------ */

struct queue;

/*
 * One thing to do on a queue. Made by new_op(), given to submit(); the kinds
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

/* A stream, or a device's default stream. */
struct queue {
    struct queue *next; /* of the device */
    struct device *device;
    int refs;
    unsigned flags;
    int priority;
    int sync_policy; /* as hipStreamSetAttribute() was told; 0: not yet */
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

struct device {
    int ordinal;
    struct sim_device *sim;
    struct queue *queues; /* every open queue, the null queue too */
    struct queue *null_queue;
    hipError_t fault; /* a kernel's fault; stays until hipDeviceReset() */
    unsigned flags;
    struct ihipMemPoolHandle_t *default_pool, *current_pool;
    uint64_t peers; /* bit per device whose memory was enabled */
};

struct op *new_op(size_t nbytes, hipError_t (*run)(struct op *),
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
hipError_t submit(struct queue *queue, struct op *op);
struct op *op_ref(struct op *op);
void op_unref(struct op *op);
bool op_done(struct op *op);
void op_wait(struct op *op);

struct queue *new_queue(struct device *device, unsigned flags, int priority);
void queue_ref(struct queue *queue);
void queue_unref(struct queue *queue);
void queue_close(struct queue *queue);
/* Waits for all that was submitted so far; the null queue waits for all
 * blocking streams too. Then says what became of the device. */
hipError_t queue_wait(struct queue *queue);
bool queue_idle(struct queue *queue);
hipError_t device_wait(struct device *device);
/* The device's sticky error: a kernel's fault, or the loss of the device. */
hipError_t device_error(const struct device *device);
void queues_shutdown(void);
bool queues_stopping(void);
bool on_worker(void); /* in a callback, for one */
uint64_t now_ns(void);

/* ---- process and thread state (runtime.c) ------------------------------- */

struct call_configuration {
    struct call_configuration *below;
    dim3 grid, block;
    size_t shared;
    hipStream_t stream;
    uint8_t *arguments; /* of hipSetupArgument() */
    size_t narguments;
};

struct context_entry {
    struct context_entry *below;
    struct device *device;
};

struct thread {
    int device;
    hipError_t last_error;
    hipError_t sticky_error;           /* hipExtGetLastError() */
    struct queue *queues[MAX_DEVICES]; /* hipStreamPerThread */
    struct call_configuration *calls;
    struct context_entry *contexts;
    int capture_mode; /* hipThreadExchangeStreamCaptureMode() */
};

struct runtime {
    pthread_mutex_t lock;
    struct device devices[MAX_DEVICES];
    int ndevices;
    int release; /* KPK_SIM_HIP_VERSION: 5, 6 or 7 */
    uint64_t copy_delay_us;
    bool launch_blocking;
};

extern struct runtime rt;

struct thread *this_thread(void);
struct device *current_device(void);
struct device *device_at(int ordinal); /* NULL: no such device */
int visible_devices(int list[MAX_DEVICES]);
void device_uuid(const struct sim_device *d, char out[16]);

/* Has the environment read, for what needs the release and nothing else. */
void runtime_ready(void);

enum need { NEED_NOTHING, NEED_DEVICE };
hipError_t enter(const char *function, enum need need);
hipError_t leave(hipError_t error);

#define ENTER_WITH(need)                                                       \
    do {                                                                       \
        hipError_t entered_ = enter(__func__, need);                           \
        if (entered_ != hipSuccess)                                            \
            return leave(entered_);                                            \
    } while (0)
#define ENTER() ENTER_WITH(NEED_DEVICE)
#define LEAVE(error) return leave(error)

/* Says something to the user, on stderr, prefixed. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* AMD_LOG_LEVEL, or what the program set instead (error.c). */
size_t log_level(void);

/* ---- fault injection (fault.c) ------------------------------------------ */

/* The error that is to be returned by this call, or hipSuccess. */
hipError_t injected_fault(const char *function);

/* ---- handles (handle.c) ------------------------------------------------- */

enum handle_kind {
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_POOL,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_GRAPH_EXEC,
    HANDLE_USER_OBJECT,
    HANDLE_ARRAY,
    HANDLE_MIPMAPPED_ARRAY,
    HANDLE_TEXTURE,
    HANDLE_TEXTURE_REFERENCE,
    HANDLE_SURFACE,
    HANDLE_PHYSICAL,
    HANDLE_LINK
};

bool handle_add(const void *handle, enum handle_kind kind);
bool handle_remove(const void *handle, enum handle_kind kind);
bool handle_valid(const void *handle, enum handle_kind kind);
void handles_shutdown(void);

/* ---- streams and events (stream.c, event.c) ----------------------------- */

/*
 * The queue of a stream handle, with a reference that queue_unref() gives
 * back; NULL if the handle is unknown. NULL and 1 are the legacy default
 * stream of the current device, 2 this thread's.
 */
struct queue *stream_queue(hipStream_t stream);
/* The same, with the default stream of the `_spt` functions. */
struct queue *stream_queue_spt(hipStream_t stream);
/* HIP's multiprocessors: compute units, from gfx10 on pairs of compute units
 * (properties.c). */
uint32_t multiprocessors(const struct sim_target *t);
/* Most threads resident on one multiprocessor. */
uint32_t resident_threads(const struct sim_target *t);
/* Whether it has images, and so arrays and textures (properties.c). */
bool device_has_images(const struct device *device);
/* A device's legacy default stream, with a reference; NULL: no memory. */
struct queue *null_queue(struct device *device);

/* Work of graph nodes on a queue: a host function, a wait, a record. */
hipError_t call_host(struct queue *queue, hipHostFn_t function, void *data);
hipError_t wait_for_event(struct queue *queue, hipEvent_t event);
hipError_t record_event(struct queue *queue, hipEvent_t event);

/*
 * Whether a wait for the event on this queue belongs to a capture, and so does
 * not wait; *error is its outcome then.
 */
bool event_wait_captured(hipEvent_t event, struct queue *queue,
                         hipError_t *error);

/* Makes the event stand for an operation: its start or its end. */
hipError_t event_attach(hipEvent_t event, struct op *op, bool at_start);
/* The operation that it stands for, with a reference, NULL if it was never
 * recorded. False if the event is unknown. */
bool event_operation(hipEvent_t event, struct op **out);

/* ---- waits for values in memory and writes of them (stream_value.c) ----- */

hipError_t batch_check(const hipStreamBatchMemOpParams *list, unsigned count);
/* Checks each again: memory may be gone by now. */
hipError_t batch_submit(struct queue *queue,
                        const hipStreamBatchMemOpParams *list, unsigned count);

/* ---- memory and events of several processes (ipc.c) --------------------- */

/* Gives up what hipMemPoolImportPointer() gave, after the queue's work, or at
 * once if that is NULL. */
hipError_t import_free(uint64_t base, struct queue *queue);

struct shared_event;
struct shared_event *shared_event_new(void);
struct shared_event *shared_event_ref(struct shared_event *s);
void shared_event_unref(struct shared_event *s);
/* A record's turn; its stream has come to it; the latest; whether it is done.
 */
uint64_t shared_event_record(struct shared_event *s);
void shared_event_reach(struct shared_event *s, uint64_t turn);
uint64_t shared_event_turn(const struct shared_event *s);
bool shared_event_is_done(const struct shared_event *s, uint64_t turn);
void shared_event_wait(const struct shared_event *s, uint64_t turn);
/* The event's shared state, with a reference; NULL for an ordinary event. */
struct shared_event *event_shared(hipEvent_t event);
/* An event that takes over the reference. */
hipError_t event_from_shared(hipEvent_t *out, struct shared_event *s);
/* Has the queue wait for the latest record, of whatever process. */
hipError_t wait_for_shared(struct queue *queue, struct shared_event *s);

/* ---- modules and launches (module.c, launch.c, register.c) -------------- */

struct loaded {
    struct sim_code_object *object;
    struct device *device;
    int refs; /* the module, and launches that are under way */
    hipFunction_t functions;
    struct managed *managed;         /* module.c */
    struct module_texture *textures; /* texture_reference.c */
};

struct ihipModuleSymbol_t {
    struct ihipModuleSymbol_t *next;
    struct loaded *loaded;
    const struct sim_kernel *kernel;
    int carveout;
};

/* Loads an image of any accepted form for one device. */
hipError_t load_image(struct device *device, const void *image, size_t size,
                      struct loaded **out);
/* Modules on the current device: from memory, from a file, and away again. */
hipError_t module_from_memory(hipModule_t *out, const void *image, size_t size);
hipError_t module_from_file(hipModule_t *out, const char *name);
hipError_t module_unload(hipModule_t module);
struct loaded *module_loaded(hipModule_t module);
/* Marks a module as a library. library_of() gives a function's library, NULL
 * for a function of a plain module. */
void module_set_library(hipModule_t module);
hipModule_t library_of(hipFunction_t function);
/* A variable's place and size, of managed variables alone if that is asked. */
hipError_t module_global(hipModule_t module, const char *name,
                         bool managed_only, hipDeviceptr_t *dptr,
                         size_t *bytes);
/* The whole file, in memory of the caller's. */
hipError_t read_file(const char *name, void **out, size_t *n);
/* The function of that name, made at the first request; NULL if none. */
hipFunction_t loaded_function(struct loaded *loaded, const char *name);
const struct sim_global *loaded_global(const struct loaded *loaded,
                                       const char *name);
void loaded_ref(struct loaded *loaded);
void loaded_unref(struct loaded *loaded);
void modules_shutdown(void);
/* A texture reference of that name, with what it says at first. */
hipError_t module_texture(struct loaded *loaded, const char *name, void **out);
void module_textures_free(struct loaded *loaded);

struct launch {
    hipFunction_t function;
    const void *stub; /* NULL: a module's function */
    uint32_t grid[3]; /* work-items */
    uint32_t block[3];
    size_t shared;
    void **params, **extra;
    hipEvent_t start, stop;
    bool cooperative;
    bool any_device; /* takes the stream's device, not the current one */
    uint32_t grid_id, ngrids;           /* 0, 0 but for multi-device launches */
    uint64_t mg_sync;                   /* its shared barrier, 0 if none */
    uint64_t items_before, items_total; /* work-items in grids before; in all */
};
/* Copies the arguments and gives the dispatch to the queue. */
hipError_t launch(const struct launch *l, struct queue *queue);
/* The same also on a stream that is captured. */
hipError_t launch_now(const struct launch *l, struct queue *queue);
/* Checks common to all forms of launch; grid and block are not zero. */
hipError_t check_launch(const struct launch *l, struct queue *queue);
/* Checks, and sets l->grid to blocks times l->block. */
hipError_t check_blocks(struct launch *l, const uint32_t blocks[3],
                        struct queue *queue);
/* The same, and launches. */
hipError_t launch_blocks(struct launch *l, const uint32_t blocks[3],
                         struct queue *queue);
void launches_shutdown(void);

/* The same as part of a cooperative grid. */
hipError_t launch_cooperative(struct launch *l, const uint32_t blocks[3],
                              struct queue *queue);
/* A `__global__` function; both take over the reference to the queue. */
hipError_t launch_host_function(const void *stub, dim3 grid, dim3 block,
                                size_t shared, struct launch *l,
                                struct queue *queue);
hipError_t launch_host_cooperative(const void *stub, dim3 grid, dim3 block,
                                   void **args, size_t shared,
                                   struct queue *queue);

/* A `__global__` function's stub on a device. */
hipError_t host_function(const void *stub, struct device *device,
                         hipFunction_t *out);
/* A `__device__` variable's host shadow on the current device. */
hipError_t host_variable(const void *shadow, uint64_t *address, uint64_t *size);
void registered_shutdown(void);

int resident_blocks(hipFunction_t function, int block, size_t dynamic);
/* The work of hipFuncGetAttribute() and hipFuncSetAttribute(). */
hipError_t function_attribute(hipFunction_t function, int which, int *value);
hipError_t function_set_attribute(hipFunction_t function, int which, int value);

/* ---- memory (memory.c) -------------------------------------------------- */

/* Frees all that programs allocated on the device. */
void free_device_memory(const struct device *device);

/* The functions that made an allocation (sim_alloc.origin). */
enum origin {
    BY_RUNTIME,
    BY_MALLOC, /* hipMalloc and kin, hipMallocManaged */
    BY_HOST_MALLOC,
    BY_HOST_REGISTER,
    BY_POOL,
    BY_GRAPH,
    BY_IPC,
    BY_IMPORT
};
/* The live allocation that holds the address, or the memory of a graph, mapped
 * or not; false if there is none. */
bool find_allocation(const void *ptr, struct sim_alloc *out);
/* Whether the process has every page of the range mapped. */
bool is_mapped(const void *ptr, size_t size);
/* The device that owns the allocation; NULL if no visible device does. */
struct device *owner_of(const struct sim_alloc *a);

/* ---- memory of other devices (peer.c) ----------------------------------- */

/* Keeps other devices out of a new allocation unless AMD's runtime would map
 * it for them. */
void peers_bar(struct sim_alloc *a);
/* Lets one device into the allocation at `base`. */
void peers_let_in(uint64_t base, const struct device *device);
/* A simulated device's copy or fill reaches this address, which maps the
 * allocation for all devices unless it is that one's own. */
void peers_map(uint64_t addr, int device);

/* ---- managed memory (managed.c) ----------------------------------------- */

/* Drops the advice about memory that is freed. */
void managed_forget(uint64_t base, uint64_t size);

/* ---- copies (copy.c) ---------------------------------------------------- */

/* A block of bytes, rows and slices; a plain copy has one row. */
struct shape {
    size_t width, height, depth;
    size_t dst_pitch, src_pitch; /* bytes from row to row */
    size_t dst_slice, src_slice; /* bytes from slice to slice */
};
/* Takes over the reference to the queue; NULL says the stream was unknown. */
hipError_t copy(void *dst, const void *src, const struct shape *shape, int kind,
                struct queue *queue, bool blocking);
hipError_t copy_line(void *dst, const void *src, size_t n, int kind,
                     struct queue *queue, bool blocking);

/* Bytes from the first to the last of a box, SIZE_MAX if that overflows. */
size_t span(size_t width, size_t height, size_t depth, size_t pitch,
            size_t slice);
/* One end: inside an allocation that is large enough, or plain host memory
 * where the direction allows that. */
hipError_t check_end(const void *ptr, size_t n, bool may_be_plain, bool *known,
                     struct sim_alloc *a);
/* Takes over the reference to the queue, too. */
hipError_t copy_3d(const hipMemcpy3DParms *p, struct queue *q, bool blocking);
/* A box from the driver's structure and back (copy_driver.c). */
hipError_t driver_box(const HIP_MEMCPY3D *p, hipMemcpy3DParms *box);
void box_for_driver(const hipMemcpy3DParms *box, HIP_MEMCPY3D *p);
/* A box that a graph copies: checked; queued. Memory that is not pinned is
 * waited for, also in graphs, as AMD's do. */
hipError_t copy_box_check(const hipMemcpy3DParms *p);
hipError_t copy_box(const hipMemcpy3DParms *p, struct queue *queue);

bool is_array(const void *pointer);
/* The bytes of an array's element (array.c); false if it is none. */
bool array_element(const void *array, size_t *nbytes);
/* An array's memory; false if it is none. */
struct rows {
    void *at;
    size_t element;             /* bytes */
    size_t row, nrows, nslices; /* bytes of a row, without the padding */
    size_t pitch, slice;        /* bytes from row to row, slice to slice */
};
bool array_rows(const void *array, struct rows *out);

/* ---- fills (fill.c) ----------------------------------------------------- */

struct fill {
    uint64_t dst;
    size_t width, height, depth, pitch, slice; /* bytes */
    uint32_t value;
    uint32_t element; /* bytes: 1, 2, 4 */
};
hipError_t fill_check(const struct fill *fill);
hipError_t fill_on(const struct fill *fill, struct queue *queue, bool wait);

/* ---- stream capture (capture.c) ----------------------------------------- */

struct capture;
struct ihipGraph;
struct hipGraphNode;

bool is_capturing(const struct queue *queue);
/* Records a call on a capturing stream as a node behind the stream's tail. */
hipError_t capture_launch(struct queue *queue, const struct launch *launch);
hipError_t capture_copy(struct queue *queue, const hipMemcpy3DParms *p);
hipError_t capture_fill(struct queue *queue, const struct fill *fill);
hipError_t capture_host(struct queue *queue, hipHostFn_t function, void *data);

/* The nodes behind an event that was recorded on a capturing stream. */
struct captured {
    uint64_t id; /* the capture's; 0: none */
    struct hipGraphNode **nodes;
    size_t nnodes;
};
hipError_t capture_record(struct queue *queue, struct captured *event);
hipError_t capture_record_node(struct queue *queue, hipEvent_t event);
void captured_clear(struct captured *event);
/* Whether the event's capture still goes on. */
bool captured_is_active(const struct captured *event);
/* A wait for such an event: its stream takes part in the capture from then. */
hipError_t capture_join(struct queue *queue, const struct captured *event);

/*
 * Checks for calls that are forbidden while streams are captured: hipSuccess if
 * the call is allowed, else its answer, and the capture becomes invalid.
 */
hipError_t capture_refuses(const char *function);      /* by capture.def */
hipError_t capture_forbids_queue(struct queue *queue); /* on this stream */
hipError_t capture_forbids_wait(struct queue *queue);  /* for this stream */
/* A callback on the default stream; a pool's memory on a stream that is not
 * captured. */
hipError_t capture_forbids_callback(const struct queue *queue);
hipError_t capture_forbids_pool(const struct queue *queue);
hipError_t capture_forbids_unsafe(void); /* UNSAFE rows of capture.def */
/* Asking or waiting for an event, that was last recorded on this queue (NULL:
 * on none yet). */
hipError_t capture_forbids_event(const struct captured *event,
                                 struct queue *queue, bool waits);
/* The stream is about to go. */
void capture_abandon(struct queue *queue);

/* ---- memory of graphs (graph_memory.c) ---------------------------------- */

bool graph_memory_at(const void *ptr, struct sim_alloc *out);
/* Frees it: on a queue, or at once if that is NULL. */
hipError_t graph_memory_free(uint64_t base, struct queue *queue);
void graph_memory_reset(const struct device *device);
/* hipMallocAsync() and hipFreeAsync() on a capturing stream. */
hipError_t capture_alloc(struct queue *queue, struct device *device,
                         uint64_t size, void **ptr);
hipError_t capture_free(struct queue *queue, void *ptr);

/* ---- memory pools (pool.c) ---------------------------------------------- */

void pools_shutdown(void);
/* Frees all chunks of a device on which nothing runs. */
void pools_reset(const struct device *device);
/* pools_trim() gives back memory beyond the pools' thresholds, after a wait.
 * pools_empty() gives back all freed memory, when memory is short. */
void pools_trim(const struct device *device);
void pools_empty(void);
/* A stream waits for another: it may have what that one frees. */
void pools_follow(const struct queue *stream, struct queue *waiter);
/* hipFreeAsync() of the allocation at ptr. */
hipError_t free_in_order(void *ptr, struct queue *queue);
/* Takes back a chunk that nothing uses any more. */
hipError_t pool_free(uint64_t base);

/* ---- reports (stats.c) -------------------------------------------------- */

void stats_add(const struct sim_stats *stats);
void report_fault(const char *kernel, const struct sim_fault *fault);

#endif
