/* stream_memory.c - device memory in the order of a stream's work
 *
 * A block that is freed in a stream stays in the pool of the instance, with an
 * event that was recorded then. The next allocation of its size gets it
 *
 *   at once    in the same stream, whose later work runs after the earlier;
 *   else       when the event has passed: all work that used the block is done.
 *
 * Blocks are never split or joined: each is one hipMalloc(), and fits requests
 * of one size class. Programs that run one model again and again ask for the
 * same sizes in each round, so they allocate in the first round alone. The
 * drivers have stream-ordered memory, too; HIP's has given blocks away too
 * early (ROCm 7.2), and is left alone.
 */
#include "stream_memory.h"
#include "graph.h"
#include "on_device.h"

#include <stdatomic.h>
#include <stdlib.h>

struct kpk_i_block {
    struct kpk_i_block *next;
    void *ptr;
    size_t nbytes;    /* the class's */
    size_t size;      /* its number */
    hipEvent_t event; /* recorded at the last free; NULL: has passed */
    bool in_order;    /* `stream` runs later work after that event */
    void *stream;     /* of the last free */
    unsigned thread;  /* its thread for KPK_STREAM_PER_THREAD; else 0 */
};

void kpk_i_pool_make(struct kpk_i_pool *pool)
{
    static const kpk_i_mutex fresh = KPK_I_MUTEX_FRESH;

    memcpy(&pool->lock, &fresh, sizeof(fresh));
}

/* ---- sizes, lists ------------------------------------------------------- */

/* The number of the class of nbytes > 0, and the size of its blocks. */
static size_t size_class(size_t nbytes, size_t *block_nbytes)
{
    const size_t last = nbytes - 1;
    size_t power = KPK_I_POOL_LEAST, step, nth;

    *block_nbytes = (size_t)1 << KPK_I_POOL_LEAST;
    if (nbytes <= *block_nbytes)
        return 0;
    while (last >> (power + 1))
        power++;
    step = ((size_t)1 << power) / KPK_I_POOL_STEPS;
    nth = last / step - KPK_I_POOL_STEPS + 1; /* 1 to KPK_I_POOL_STEPS */
    *block_nbytes = (KPK_I_POOL_STEPS + nth) * step;
    return (power - KPK_I_POOL_LEAST) * KPK_I_POOL_STEPS + nth;
}

static struct kpk_i_block **bucket(struct kpk_i_pool *pool, const void *ptr)
{
    const uint64_t mixed = ((uintptr_t)ptr >> 8) * 0x9e3779b97f4a7c15u;

    return &pool->used[mixed >> 32 & (KPK_I_POOL_NBUCKETS - 1)];
}

static void push(struct kpk_i_block **list, struct kpk_i_block *block)
{
    block->next = *list;
    *list = block;
}

static struct kpk_i_block *pop(struct kpk_i_block **at)
{
    struct kpk_i_block *block = *at;

    *at = block->next;
    return block;
}

static void make_used(struct kpk_i_pool *pool, struct kpk_i_block *block)
{
    push(bucket(pool, block->ptr), block);
    pool->used_nbytes += block->nbytes;
}

static void make_idle(struct kpk_i_pool *pool, struct kpk_i_block *block)
{
    push(&pool->idle[block->size], block);
    pool->idle_nbytes += block->nbytes;
}

/* ---- the thread of KPK_STREAM_PER_THREAD -------------------------------- */

/* The handle stands for another stream in each thread. The number of a thread
 * that has ended is no other thread's. */
static unsigned thread_of(const void *stream)
{
    static atomic_uint nthreads;
    static _Thread_local unsigned own;

    if (stream != KPK_STREAM_PER_THREAD)
        return 0;
    if (own == 0)
        own = 1 + atomic_fetch_add_explicit(&nthreads, 1, memory_order_relaxed);
    return own;
}

/* ---- work on the device, under the pool's lock -------------------------- */

static kpk_status free_block(const kpk_instance *inst,
                             struct kpk_i_block *block)
{
    hipError_t error = hipSuccess;

    if (block->event) {
        error = inst->gpu->hipEventDestroy(block->event);
        if (error != hipSuccess)
            return kpk_i_fail_gpu(inst->gpu, "hipEventDestroy", error,
                                  "cannot give back memory of device %d",
                                  inst->ordinal);
        block->event = NULL;
    }
    error = inst->gpu->hipFree(block->ptr);
    if (error != hipSuccess)
        return kpk_i_fail_gpu(inst->gpu, "hipFree", error,
                              "cannot give back %zu bytes of device %d",
                              block->nbytes, inst->ordinal);
    return KPK_OK;
}

/* Work that uses the blocks may still run: it is waited for. */
static kpk_status wait_for_device(const kpk_instance *inst)
{
    const hipError_t error = inst->gpu->hipDeviceSynchronize();

    if (error != hipSuccess)
        return kpk_i_fail_gpu(inst->gpu, "hipDeviceSynchronize", error,
                              "work of device %d failed, whose memory is to be "
                              "given back",
                              inst->ordinal);
    return KPK_OK;
}

static kpk_status trim(kpk_instance *inst)
{
    struct kpk_i_pool *pool = &inst->pool;
    kpk_status st = pool->idle_nbytes ? wait_for_device(inst) : KPK_OK;

    for (size_t i = 0; i < KPK_I_POOL_NSIZES; i++)
        while (st == KPK_OK && pool->idle[i]) {
            struct kpk_i_block *block = pool->idle[i];

            st = free_block(inst, block);
            if (st != KPK_OK)
                break;
            (void)pop(&pool->idle[i]);
            pool->idle_nbytes -= block->nbytes;
            free(block);
        }
    return st;
}

static kpk_status allocate(kpk_instance *inst, size_t nbytes,
                           struct kpk_i_block **out)
{
    struct kpk_i_pool *pool = &inst->pool;
    struct kpk_i_block *block = calloc(1, sizeof(*block));
    hipError_t error;
    kpk_status st = KPK_OK;

    if (!block)
        return kpk_i_fail(KPK_ERR_NOMEM, "no memory for a block of the pool");
    block->size = size_class(nbytes, &block->nbytes);
    error = inst->gpu->hipMalloc(&block->ptr, block->nbytes);
    if (error == hipErrorOutOfMemory && pool->idle_nbytes) {
        st = trim(inst);
        if (st == KPK_OK)
            error = inst->gpu->hipMalloc(&block->ptr, block->nbytes);
    }
    if (st == KPK_OK && error != hipSuccess)
        st = kpk_i_fail_gpu(inst->gpu, "hipMalloc", error,
                            "cannot allocate %zu bytes on device %d, beside "
                            "%zu that are in use in the pool",
                            nbytes, inst->ordinal, pool->used_nbytes);
    st = kpk_i_made(inst, st, "hipMalloc", block->ptr);
    if (st == KPK_OK)
        *out = block;
    else
        free(block);
    return st;
}

/* Takes an idle block of the class that work of the stream may use now. */
static kpk_status take_idle(kpk_instance *inst, size_t size, void *stream,
                            struct kpk_i_block **out)
{
    struct kpk_i_block **const first = &inst->pool.idle[size], **at;
    const unsigned thread = thread_of(stream);
    int passed = 0;

    for (at = first; *at; at = &(*at)->next)
        if ((*at)->in_order && (*at)->stream == stream &&
            (*at)->thread == thread)
            break;
    if (!*at)
        for (at = first; *at; at = &(*at)->next) {
            hipError_t error = hipSuccess;

            passed = 1;
            if ((*at)->event)
                error = kpk_i_answer(inst->gpu->hipEventQuery((*at)->event),
                                     &passed);
            if (error != hipSuccess)
                return kpk_i_fail_gpu(inst->gpu, "hipEventQuery", error,
                                      "work of device %d failed that used "
                                      "memory of the pool",
                                      inst->ordinal);
            if (passed)
                break;
        }
    if (*at) {
        *out = pop(at);
        inst->pool.idle_nbytes -= (*out)->nbytes;
    }
    return KPK_OK;
}

/* A graph's memory would be given to others while the graph lives. */
static kpk_status check_works(const kpk_instance *inst, void *stream)
{
    int state = KPK_CAPTURE_NONE;
    const hipError_t error = kpk_i_capture_state(inst, stream, &state);

    if (error != hipSuccess)
        return kpk_i_fail_gpu(inst->gpu, "hipStreamIsCapturing", error,
                              "cannot tell whether a stream of device %d "
                              "records",
                              inst->ordinal);
    if (state != KPK_CAPTURE_NONE)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "a stream of device %d records a graph, which cannot "
                          "hold memory of the pool. Allocate the memory before "
                          "kpk_capture_begin(), and free it after "
                          "kpk_capture_end()",
                          inst->ordinal);
    return KPK_OK;
}

static kpk_status take(kpk_instance *inst, size_t nbytes, void *stream,
                       struct kpk_i_block **out)
{
    size_t block_nbytes;
    const size_t size = size_class(nbytes, &block_nbytes);
    kpk_status st = check_works(inst, stream);

    if (st == KPK_OK)
        st = take_idle(inst, size, stream, out);
    if (st == KPK_OK && !*out)
        st = allocate(inst, nbytes, out);
    if (*out)
        make_used(&inst->pool, *out);
    return st;
}

static struct kpk_i_block **find_used(kpk_instance *inst, const void *ptr)
{
    struct kpk_i_block **at = bucket(&inst->pool, ptr);

    while (*at && (*at)->ptr != ptr)
        at = &(*at)->next;
    return at;
}

static void untake(kpk_instance *inst, struct kpk_i_block **at)
{
    struct kpk_i_block *block = pop(at);

    inst->pool.used_nbytes -= block->nbytes;
    make_idle(&inst->pool, block);
}

static kpk_status mark_end_of_use(kpk_instance *inst, struct kpk_i_block *block,
                                  void *stream)
{
    hipError_t error = hipSuccess;
    const char *call = "hipEventCreateWithFlags";

    if (!block->event)
        error = inst->gpu->hipEventCreateWithFlags(&block->event,
                                                   KPK_EVENT_NO_TIMING);
    if (error == hipSuccess && !block->event)
        return kpk_i_made(inst, KPK_OK, call, NULL);
    if (error == hipSuccess) {
        call = "hipEventRecord";
        error = inst->gpu->hipEventRecord(block->event, stream);
    }
    if (error != hipSuccess)
        return kpk_i_fail_gpu(inst->gpu, call, error,
                              "cannot free %p in a stream of device %d",
                              block->ptr, inst->ordinal);
    block->in_order = true;
    block->stream = stream;
    block->thread = thread_of(stream);
    return KPK_OK;
}

static kpk_status put_back(kpk_instance *inst, void *ptr, void *stream)
{
    struct kpk_i_block **at = find_used(inst, ptr);
    kpk_status st;

    if (!*at)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_free_async: %p is no memory that "
                          "kpk_malloc_async() of this instance gave out, or "
                          "it was freed before",
                          ptr);
    st = check_works(inst, stream);
    if (st == KPK_OK)
        st = mark_end_of_use(inst, *at, stream);
    if (st == KPK_OK)
        untake(inst, at);
    return st;
}

/* ---- the calls ---------------------------------------------------------- */

/* Work under the pool's lock, with the device current. */
enum work { TAKE, PUT_BACK, TRIM };

static kpk_status locked(kpk_instance *inst, enum work work, size_t nbytes,
                         void **ptr, void *stream)
{
    struct kpk_i_block *block = NULL;
    intptr_t saved;
    kpk_status st = kpk_i_enter(inst, &saved);

    if (st != KPK_OK)
        return st;
    kpk_i_lock(&inst->pool.lock);
    if (work == TAKE)
        st = take(inst, nbytes, stream, &block);
    else if (work == PUT_BACK)
        st = put_back(inst, *ptr, stream);
    else
        st = trim(inst);
    st = kpk_i_leave(inst, saved, st);
    if (block && st == KPK_OK)
        *ptr = block->ptr;
    else if (block) /* the current device could not be restored */
        untake(inst, find_used(inst, block->ptr));
    kpk_i_unlock(&inst->pool.lock);
    return st;
}

kpk_status kpk_malloc_async(kpk_instance *inst, size_t nbytes, void *stream,
                            void **out)
{
    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    if (nbytes == 0) {
        *out = NULL;
        return KPK_OK;
    }
    if (nbytes > (size_t)1 << KPK_I_POOL_MOST)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_malloc_async: %zu bytes are more than any "
                          "device has",
                          nbytes);
    return locked(inst, TAKE, nbytes, out, stream);
}

kpk_status kpk_free_async(kpk_instance *inst, void *ptr, void *stream)
{
    KPK_I_NEED(inst);
    return ptr ? locked(inst, PUT_BACK, 0, &ptr, stream) : KPK_OK;
}

kpk_status kpk_pool_trim(kpk_instance *inst)
{
    KPK_I_NEED(inst);
    return locked(inst, TRIM, 0, NULL, NULL);
}

kpk_status kpk_pool_info(kpk_instance *inst, size_t *used_nbytes,
                         size_t *idle_nbytes)
{
    KPK_I_NEED(inst);
    kpk_i_lock(&inst->pool.lock);
    if (used_nbytes)
        *used_nbytes = inst->pool.used_nbytes;
    if (idle_nbytes)
        *idle_nbytes = inst->pool.idle_nbytes;
    kpk_i_unlock(&inst->pool.lock);
    return KPK_OK;
}

void kpk_i_pool_forget(kpk_instance *inst, const void *stream)
{
    kpk_i_lock(&inst->pool.lock);
    for (size_t i = 0; i < KPK_I_POOL_NSIZES; i++)
        for (struct kpk_i_block *b = inst->pool.idle[i]; b; b = b->next)
            b->in_order = b->in_order && b->stream != stream;
    kpk_i_unlock(&inst->pool.lock);
}

/* Frees all blocks of a list, even after a failure. Reports the first failure.
 */
static kpk_status free_list(const kpk_instance *inst, struct kpk_i_block *list,
                            bool is_entered, kpk_status st)
{
    while (list) {
        struct kpk_i_block *block = pop(&list);
        const kpk_status freed = is_entered ? free_block(inst, block) : KPK_OK;

        if (st == KPK_OK)
            st = freed;
        free(block);
    }
    return st;
}

kpk_status kpk_i_pool_close(kpk_instance *inst)
{
    struct kpk_i_pool *pool = &inst->pool;
    intptr_t saved;
    kpk_status st;
    bool is_entered;

    if (!pool->used_nbytes && !pool->idle_nbytes)
        return KPK_OK;
    st = kpk_i_enter(inst, &saved);
    is_entered = st == KPK_OK;
    if (is_entered)
        st = wait_for_device(inst);
    for (size_t i = 0; i < KPK_I_POOL_NBUCKETS; i++)
        st = free_list(inst, pool->used[i], is_entered, st);
    for (size_t i = 0; i < KPK_I_POOL_NSIZES; i++)
        st = free_list(inst, pool->idle[i], is_entered, st);
    return is_entered ? kpk_i_leave(inst, saved, st) : st;
}
