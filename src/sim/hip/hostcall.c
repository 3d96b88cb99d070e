/* hostcall.c - requests of kernels to the host: printf, memory, functions
 *
 * AMD's device library gives each wave that asks a packet of a buffer: a header
 * with the service and the lanes that take part, and eight values for each
 * lane. Ready packets are on one stack, free packets on another. While a kernel
 * that may ask is running, a thread takes ready packets, performs the service
 * and clears the header's flag, for which the wave waits.
 *
 * A text that is printed comes in messages of up to seven values at a time.
 */
#define _GNU_SOURCE
#include "hostcall.h"

#include "kernel_print.h"
#include "process_state.h"

#include "../base/allocation.h"
#include "../base/host_access.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEAP_NBYTES = 128 << 10, SLAB_ALIGN = 2 << 20 };
enum { LANES = 64, VALUES = 8, SIGNAL_NBYTES = 64 };
/* A wave takes a packet without asking whether there is one, so there is one
 * for each that may be under way, in so many launches at once. Packets that
 * no wave takes cost address space, no memory. */
enum { LAUNCHES = 16, NPACKETS = LAUNCHES * HOSTCALL_MAX_WAVES };
enum { SERVICE_CALL = 1, SERVICE_PRINTF = 2, SERVICE_MEMORY = 3 };

struct packet {
    uint64_t next;
    uint64_t lanes;
    uint32_t service;
    uint32_t control; /* bit 0: ready */
};

struct payload {
    uint64_t values[LANES][VALUES];
};

/* The device library's layout; pointers are valid on host and device. */
struct buffer {
    struct packet *packets;
    struct payload *payloads;
    uint64_t doorbell;
    uint64_t free_stack, ready_stack;
    uint64_t index_mask;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer
    *buffers[MAX_DEVICES]; /* made with the first such kernel */

/* ---- messages ----------------------------------------------------------- */

/* A text that is under way; a slot is free while it has no words. */
struct message {
    uint64_t *words;
    size_t n;
    bool live;
};

static uint64_t heaps[MAX_DEVICES];

static struct message *messages;
static size_t nmessages;

enum {
    FLAG_BEGIN = 1,
    FLAG_END = 2,
    LENGTH_AT = 5,
    LENGTH_MASK = 7,
    ID_AT = 8
};

static bool new_message(size_t *id)
{
    struct message *grown;

    for (*id = 0; *id < nmessages && messages[*id].live; ++*id)
        ;
    if (*id == nmessages) {
        grown = realloc(messages, (nmessages + 1) * sizeof(*messages));
        if (!grown)
            return false;
        messages = grown;
        memset(&messages[nmessages++], 0, sizeof(*messages));
    }
    messages[*id].live = true;
    return true;
}

static bool append(struct message *m, const uint64_t *words, size_t n)
{
    /* A word more, always 0, ends a text that has no end of its own. */
    uint64_t *grown = realloc(m->words, (m->n + n + 1) * sizeof(*grown));

    if (!grown)
        return false;
    m->words = grown;
    memcpy(m->words + m->n, words, n * sizeof(*words));
    m->n += n;
    m->words[m->n] = 0;
    return true;
}

/* ---- services ----------------------------------------------------------- */

/* Word 0 says where to print; the format and its arguments follow. */
static uint64_t print(const struct message *m)
{
    enum { TO_STDERR = 1 };
    struct print_args a = {m->words, m->words + m->n};
    const uint64_t control = print_take(&a);

    if (control & ~(uint64_t)TO_STDERR)
        return UINT64_MAX;
    return (uint64_t)(int64_t)print_format(
        control & TO_STDERR ? stderr : stdout, print_take_text(&a), &a);
}

static void serve_message(uint64_t *values)
{
    uint64_t descriptor = values[0];
    size_t id = (size_t)(descriptor >> ID_AT);
    struct message *m;

    if (descriptor & FLAG_BEGIN) {
        if (!new_message(&id))
            return;
        values[0] = (descriptor & 0xff & ~(uint64_t)FLAG_BEGIN) | (uint64_t)id
                                                                      << ID_AT;
    }
    m = id < nmessages && messages[id].live ? &messages[id] : NULL;
    if (!m || !append(m, values + 1, descriptor >> LENGTH_AT & LENGTH_MASK)) {
        process_complain("a kernel went on with a text that it had not begun");
        return;
    }
    if (!(descriptor & FLAG_END))
        return;
    values[0] = print(m);
    free(m->words);
    memset(m, 0, sizeof(*m));
}

/* Frees the address if there is one; else allocates a slab of the kernels'
 * heap, or a block too large for a slab. */
static void serve_memory(struct device *device, uint64_t *values)
{
    struct sim_alloc *a = NULL;

    if (values[0]) {
        sim_mem_free(values[0]);
        return;
    }
    if (values[1])
        a = sim_mem_alloc(device->sim->ordinal, values[1], SLAB_ALIGN,
                          SIM_MEM_DEVICE);
    values[0] = a ? a->base : 0;
}

static void serve_call(uint64_t *values)
{
    void (*function)(uint64_t *, const uint64_t *);
    uint64_t output[2] = {0, 0};

    memcpy(&function, &values[0], sizeof(function));
    function(output, values + 1);
    memcpy(values, output, sizeof(output));
}

static void serve_lane(struct device *device, uint32_t service,
                       uint64_t *values)
{
    switch (service) {
    case SERVICE_PRINTF:
        serve_message(values);
        break;
    case SERVICE_MEMORY:
        serve_memory(device, values);
        break;
    case SERVICE_CALL:
        serve_call(values);
        break;
    default:
        process_complain(
            "a kernel asked the host for service %u, which is not there",
            service);
    }
}

static void serve_ready(struct device *device, struct buffer *b)
{
    uint64_t at = __atomic_exchange_n(&b->ready_stack, 0, __ATOMIC_ACQUIRE);

    while (at) {
        struct packet *p = &b->packets[at & b->index_mask];
        struct payload *payload = &b->payloads[at & b->index_mask];
        uint64_t lanes = p->lanes;

        at = p->next; /* the packet is the wave's again at the end */
        pthread_mutex_lock(&lock);
        for (; lanes; lanes &= lanes - 1)
            serve_lane(device, p->service,
                       payload->values[__builtin_ctzll(lanes)]);
        pthread_mutex_unlock(&lock);
        __atomic_and_fetch(&p->control, ~1u, __ATOMIC_RELEASE);
    }
}

/* ---- the buffer --------------------------------------------------------- */

static struct buffer *make_buffer(const struct device *device)
{
    const uint64_t headers = sizeof(struct buffer) + SIGNAL_NBYTES;
    const uint64_t payloads =
        (headers + NPACKETS * sizeof(struct packet) + 63) & ~UINT64_C(63);
    struct sim_alloc *a = sim_mem_alloc(
        device->sim->ordinal, payloads + NPACKETS * sizeof(struct payload),
        4096, SIM_MEM_HOST);
    struct buffer *b;
    uint64_t next, i;

    if (!a)
        return NULL;
    a->fine_grained = true;
    memset(a->bytes, 0, payloads);
    b = (struct buffer *)(void *)a->bytes;
    b->packets = (struct packet *)(void *)(a->bytes + headers);
    b->payloads = (struct payload *)(void *)(a->bytes + payloads);
    b->doorbell = a->base + sizeof(*b);
    a->bytes[sizeof(*b)] = 1; /* a signal of the user's kind; nobody waits */
    b->index_mask = NPACKETS - 1;
    /* A link is an index and a tag above it, and never 0. */
    next = NPACKETS;
    for (i = 1; i < NPACKETS; i++) {
        b->packets[i].next = next;
        next = i;
    }
    b->free_stack = next;
    return b;
}

uint64_t hostcall_buffer(const struct device *device)
{
    struct buffer **b = &buffers[device->ordinal];
    uint64_t address;

    pthread_mutex_lock(&lock);
    if (!*b)
        *b = make_buffer(device);
    address = (uintptr_t)*b;
    pthread_mutex_unlock(&lock);
    return address;
}

/* A zeroed heap is empty: the device library asks for slabs as needed. */
uint64_t hostcall_heap(const struct device *device)
{
    uint64_t *heap = &heaps[device->ordinal];
    const struct sim_alloc *a;

    pthread_mutex_lock(&lock);
    a = *heap ? NULL
              : sim_mem_alloc(device->sim->ordinal, HEAP_NBYTES, SLAB_ALIGN,
                              SIM_MEM_INTERNAL);
    if (a) {
        memset(a->bytes, 0, HEAP_NBYTES);
        sim_mem_mark_written(a->base, HEAP_NBYTES);
        *heap = a->base;
    }
    pthread_mutex_unlock(&lock);
    return *heap;
}

void hostcalls_shutdown(void)
{
    size_t i;

    for (i = 0; i < nmessages; i++)
        free(messages[i].words);
    free(messages);
    messages = NULL;
    nmessages = 0;
}

/* ---- the thread --------------------------------------------------------- */

static void *serve(void *pointer)
{
    struct hostcall_server *s = pointer;
    const struct timespec nap = {0, 20000};
    bool last;

    do {
        last = __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE);
        serve_ready(s->device, buffers[s->device->ordinal]);
        if (!last)
            nanosleep(&nap, NULL);
    } while (!last);
    return NULL;
}

bool hostcall_start(struct hostcall_server *s, struct device *device)
{
    s->device = device;
    s->stop = false;
    return pthread_create(&s->thread, NULL, serve, s) == 0;
}

void hostcall_stop(struct hostcall_server *s)
{
    __atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
    pthread_join(s->thread, NULL);
}
