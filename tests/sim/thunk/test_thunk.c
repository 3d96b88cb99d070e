/* test_thunk.c - the thunk without ROCr: packets that AMD's tests do not send
 *
 * Queues are written as ROCr writes them, in memory that the thunk gave.
 */
#include "sim/base/allocation.h"
#include "sim/thunk/hsa_signal.h"
#include "sim/thunk/kmt.h"
#include "sim/thunk/node.h"
#include "sim/thunk/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The thunk's calls, as a program that links it would declare them. */
kmt_status hsaKmtAllocMemory(uint32_t, uint64_t, uint32_t, void **);
kmt_status hsaKmtFreeMemory(void *, uint64_t);
kmt_status hsaKmtCreateQueue(uint32_t, uint32_t, uint32_t, int32_t, void *,
                             uint64_t, struct kmt_event *, struct kmt_queue *);
kmt_status hsaKmtDestroyQueue(uint64_t);
kmt_status hsaKmtUpdateQueue(uint64_t, uint32_t, int32_t, void *, uint64_t,
                             struct kmt_event *);
kmt_status hsaKmtCreateEvent(const struct kmt_event_descriptor *, bool, bool,
                             struct kmt_event **);
kmt_status hsaKmtDestroyEvent(struct kmt_event *);
kmt_status hsaKmtSetEvent(struct kmt_event *);
kmt_status hsaKmtWaitOnEvent(struct kmt_event *, uint32_t);
kmt_status hsaKmtWaitOnMultipleEvents(struct kmt_event *const *, uint32_t, bool,
                                      uint32_t);
kmt_status hsaKmtRegisterMemory(void *, uint64_t);
kmt_status hsaKmtDeregisterMemory(void *);
kmt_status hsaKmtMapMemoryToGPU(void *, uint64_t, uint64_t *);
kmt_status hsaKmtQueryPointerInfo(const void *, struct kmt_pointer *);
kmt_status hsaKmtExportDMABufHandle(void *, uint64_t, int *, uint64_t *);
kmt_status hsaKmtGetAMDGPUDeviceHandle(uint32_t, void **);
kmt_status hsaKmtAvailableMemory(uint32_t, uint64_t *);
int amdgpu_device_get_fd(const struct kmt_drm_device *);
int amdgpu_bo_import(void *, int, uint32_t, struct kmt_bo_import *);
int amdgpu_bo_export(const struct kmt_bo *, int, uint32_t *);
int amdgpu_bo_free(struct kmt_bo *);
int amdgpu_bo_va_op(const struct kmt_bo *, uint64_t, uint64_t, uint64_t,
                    uint64_t, uint32_t);
int drmCommandWriteRead(int, unsigned long, void *, unsigned long);

enum { RING = 4096, MEMORY = 1 << 20, GPU = 1, LONG_MS = 600000 };

/* A page with ROCr's queue object at 0 and signals behind it. */
static uint8_t *memory;

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void put(uint8_t *at, uint64_t value, unsigned n)
{
    memcpy(at, &value, n);
}

/* Signal `i`, which has no event: it is polled. */
static uint8_t *signal_at(unsigned i)
{
    return memory + 4096 + (size_t)64 * i;
}

static void set_signal(unsigned i, int64_t value)
{
    memset(signal_at(i), 0, 64);
    put(signal_at(i) + 8, (uint64_t)value, 8);
}

static int64_t signal_value(unsigned i)
{
    return __atomic_load_n((int64_t *)(void *)(signal_at(i) + 8),
                           __ATOMIC_ACQUIRE);
}

/* True when the signal gets the value; not for ever, should it be lost. */
static bool reaches(unsigned i, int64_t value)
{
    const struct timespec ms = {0, 1000000};

    for (int n = 0; n < LONG_MS; n++) {
        if (signal_value(i) == value)
            return true;
        nanosleep(&ms, NULL);
    }
    return false;
}

static int make_memory(void **state)
{
    void *p = NULL;

    (void)state;
    assert_int_equal(hsaKmtAllocMemory(0, MEMORY, 0, &p), KMT_OK);
    memory = p;
    return 0;
}

static int drop_memory(void **state)
{
    (void)state;
    return hsaKmtFreeMemory(memory, MEMORY) == KMT_OK ? 0 : -1;
}

/* ---- AQL ---- */

struct aql {
    struct kmt_queue resource;
    uint8_t *ring;
};

static struct aql open_aql(void)
{
    struct aql q = {.ring = memory + 65536};

    memset(memory, 0, 256);
    for (unsigned i = 0; i < RING / 64; i++)
        put(q.ring + (size_t)64 * i, 1, 2); /* invalid */
    set_signal(0, 0);
    put(memory + 192, address(signal_at(0)), 8); /* inactive signal */
    q.resource.write_index = (uint64_t *)(void *)(memory + 56);
    q.resource.read_index = (uint64_t *)(void *)(memory + 128);
    assert_int_equal(hsaKmtCreateQueue(GPU, KMT_QUEUE_AQL, 100, 0, q.ring, RING,
                                       NULL, &q.resource),
                     KMT_OK);
    return q;
}

/* Submits a packet whose body is written; `done` is its completion signal. */
static void submit(struct aql *q, uint8_t packet[64], uint16_t header,
                   unsigned done)
{
    uint64_t index = *q->resource.write_index;
    uint8_t *slot = q->ring + index % (RING / 64) * 64;

    put(packet + 56, address(signal_at(done)), 8);
    memcpy(slot + 2, packet + 2, 62);
    __atomic_store_n((uint16_t *)(void *)slot, header, __ATOMIC_RELEASE);
    __atomic_store_n(q->resource.write_index, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(q->resource.doorbell, index, __ATOMIC_RELEASE);
}

static void test_barrier_or_opens_with_one_of_its_signals(void **state)
{
    struct aql q = open_aql();
    uint8_t packet[64] = {0};

    (void)state;
    set_signal(1, 1);
    set_signal(2, 1);
    set_signal(3, 1);
    put(packet + 8, address(signal_at(1)), 8);
    put(packet + 24, address(signal_at(2)), 8);
    submit(&q, packet, 5, 3);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    assert_int_equal(signal_value(3), 1); /* it waits */
    set_signal(2, 0);
    assert_true(reaches(3, 0));
    assert_int_equal(*q.resource.read_index, 1);
    assert_int_equal(hsaKmtDestroyQueue(q.resource.id), KMT_OK);
}

static void test_barrier_and_waits_for_all_of_its_signals(void **state)
{
    struct aql q = open_aql();
    uint8_t packet[64] = {0};

    (void)state;
    set_signal(1, 1);
    set_signal(2, 0);
    set_signal(3, 1);
    put(packet + 8, address(signal_at(1)), 8);
    put(packet + 16, address(signal_at(2)), 8);
    submit(&q, packet, 3, 3);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    assert_int_equal(signal_value(3), 1);
    set_signal(1, 0);
    assert_true(reaches(3, 0));
    assert_int_equal(hsaKmtDestroyQueue(q.resource.id), KMT_OK);
}

static void test_barrier_value_compares_masked(void **state)
{
    static const struct {
        unsigned condition; /* equal, not equal, less, at least 5 */
        int64_t before, after;
    } rows[] = {{0, 4, 0x105}, {1, 5, 0x104}, {2, 0x305, 4}, {3, 0x104, 6}};
    struct aql q = open_aql();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t packet[64] = {[2] = 2};

        set_signal(1, rows[i].before);
        set_signal(3, 1);
        put(packet + 8, address(signal_at(1)), 8);
        put(packet + 16, 5, 8);
        put(packet + 24, 0xff, 8);
        put(packet + 32, rows[i].condition, 4);
        submit(&q, packet, 0, 3);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        assert_int_equal(signal_value(3), 1);
        /* The queue looks at it meanwhile. */
        __atomic_store_n((uint64_t *)(void *)(signal_at(1) + 8),
                         (uint64_t)rows[i].after, __ATOMIC_RELEASE);
        assert_true(reaches(3, 0));
    }
    assert_int_equal(hsaKmtDestroyQueue(q.resource.id), KMT_OK);
}

static void test_a_bad_packet_is_the_queues_error(void **state)
{
    static const struct {
        uint16_t header;
        uint8_t dimensions;
        uint16_t block;
        int64_t error;
    } rows[] = {
        {4, 0, 0, THUNK_BAD_PACKET},      /* for another kind of agent */
        {2, 0, 64, THUNK_BAD_DIMENSIONS}, /* none */
        {2, 1, 0, THUNK_BAD_DIMENSIONS},  /* an empty block */
        {2, 1, 2048, THUNK_BAD_WORKGROUP},
        {2, 1, 64, THUNK_BAD_CODE}, /* no kernel object */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct aql q = open_aql();
        uint8_t packet[64] = {[2] = rows[i].dimensions};

        put(packet + 4, rows[i].block, 2);
        put(packet + 12, 64, 4);
        set_signal(3, 1);
        submit(&q, packet, rows[i].header, 3);
        assert_true(reaches(0, rows[i].error));
        assert_int_equal(signal_value(3), 1); /* never complete */
        assert_int_equal(hsaKmtDestroyQueue(q.resource.id), KMT_OK);
    }
}

static void test_a_paused_queue_goes_on_later(void **state)
{
    struct aql q = open_aql();
    uint8_t packet[64] = {0};

    (void)state;
    set_signal(3, 1);
    assert_int_equal(hsaKmtUpdateQueue(q.resource.id, 0, 0, NULL, 0, NULL),
                     KMT_OK);
    submit(&q, packet, 3, 3);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    assert_int_equal(signal_value(3), 1);
    assert_int_equal(hsaKmtUpdateQueue(q.resource.id, 100, 0, NULL, 0, NULL),
                     KMT_OK);
    assert_true(reaches(3, 0));
    assert_int_equal(hsaKmtDestroyQueue(q.resource.id), KMT_OK);
}

/* ---- SDMA ---- */

static void emit(uint32_t *ring, uint64_t *n, size_t ndwords,
                 const uint32_t *dwords)
{
    for (size_t i = 0; i < ndwords; i++)
        ring[(*n)++ % (RING / 4)] = dwords[i];
}

#define EMIT(...)                                                              \
    emit(ring, &n, sizeof((uint32_t[]){__VA_ARGS__}) / 4,                      \
         (uint32_t[]){__VA_ARGS__})
#define LO(p) (uint32_t) address(p)
#define HI(p) (uint32_t)(address(p) >> 32)

static void test_copy_engine_packets(void **state)
{
    struct kmt_queue q = {0};
    uint32_t *ring = (uint32_t *)(void *)(memory + 65536);
    uint8_t *src = memory + 131072, *dst = src + 131072;
    uint32_t *words = (uint32_t *)(void *)(memory + 8192);
    uint64_t n = 0;

    (void)state;
    for (unsigned i = 0; i < 65536; i++)
        src[i] = (uint8_t)(i * 7 + i / 256);
    memset(dst, 0, 131072);
    memset(words, 0, 64);
    set_signal(3, 1);
    words[4] = 1;
    assert_int_equal(
        hsaKmtCreateQueue(GPU, KMT_QUEUE_SDMA, 100, 0, ring, RING, NULL, &q),
        KMT_OK);
    EMIT(1, 1000 - 1, 0, LO(src), HI(src), LO(dst), HI(dst));
    EMIT(2u << 16, 0, 0); /* padding */
    /* 5 by 3 by 2 bytes from (1, 2), pitch 16, slice 160 to pitch 8, 24. */
    EMIT(1 | 4 << 8, LO(src), HI(src), 1 | 2 << 16, 15u << 13, 159,
         LO(dst + 4096), HI(dst + 4096), 0, 7u << 13, 23, 4 | 2 << 16, 1);
    EMIT(11 | 2u << 30, LO(dst + 8192), HI(dst + 8192), 0x01020304, 64 - 4);
    EMIT(5, LO(&words[0]), HI(&words[0]), 77);
    EMIT(13 | 2 << 8, LO(&words[2]), HI(&words[2]));
    EMIT(8 | 3u << 28 | 1u << 31, LO(&words[4]), HI(&words[4]), 5, 0xff, 0);
    EMIT(10 | 47u << 25, LO(signal_at(3) + 8), HI(signal_at(3) + 8), 0xffffffff,
         0xffffffff, 0, 0, 0);
    __atomic_store_n(q.doorbell, n * 4, __ATOMIC_RELEASE);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    assert_int_equal(signal_value(3), 1); /* the poll waits */
    __atomic_store_n(&words[4], 0x105, __ATOMIC_RELEASE);
    assert_true(reaches(3, 0));
    assert_memory_equal(dst, src, 1000);
    assert_int_equal(dst[1000], 0);
    for (size_t z = 0; z < 2; z++)
        for (size_t y = 0; y < 3; y++)
            assert_memory_equal(dst + 4096 + z * 24 + y * 8,
                                src + 1 + z * 160 + (y + 2) * 16, 5);
    assert_int_equal(dst[8192], 4);
    assert_int_equal(dst[8192 + 63], 1);
    assert_int_equal(dst[8192 + 64], 0);
    assert_int_equal(words[0], 77);
    assert_true(words[2] || words[3]);
    assert_int_equal(hsaKmtDestroyQueue(q.id), KMT_OK);
}

static void test_copy_engine_reports_a_wild_address(void **state)
{
    struct kmt_event_descriptor memory_fault = {.type = KMT_EVENT_MEMORY};
    struct kmt_event *event;
    struct kmt_queue q = {0};
    uint32_t *ring = (uint32_t *)(void *)(memory + 65536);
    uint64_t n = 0;

    (void)state;
    assert_int_equal(hsaKmtCreateEvent(&memory_fault, true, false, &event),
                     KMT_OK);
    assert_int_equal(
        hsaKmtCreateQueue(GPU, KMT_QUEUE_SDMA, 100, 0, ring, RING, NULL, &q),
        KMT_OK);
    EMIT(5, 0x1000, 0x1234, 77);
    __atomic_store_n(q.doorbell, n * 4, __ATOMIC_RELEASE);
    assert_int_equal(hsaKmtWaitOnEvent(event, LONG_MS), KMT_OK);
    assert_int_equal(event->fault.node, GPU);
    assert_true(event->fault.address == UINT64_C(0x123400001000));
    assert_int_equal(event->fault.reasons, KMT_FAULT_NOT_PRESENT);
    assert_int_equal(hsaKmtDestroyQueue(q.id), KMT_OK);
    assert_int_equal(hsaKmtDestroyEvent(event), KMT_OK);
}

/* ---- events and memory ---- */

static void test_events(void **state)
{
    struct kmt_event_descriptor plain = {.type = KMT_EVENT_SIGNAL};
    struct kmt_event *e[2];

    (void)state;
    assert_int_equal(hsaKmtCreateEvent(&plain, false, false, &e[0]), KMT_OK);
    assert_int_equal(hsaKmtCreateEvent(&plain, true, false, &e[1]), KMT_OK);
    assert_int_not_equal(e[0]->id, e[1]->id);
    assert_int_equal(hsaKmtWaitOnEvent(e[0], 1), KMT_WAIT_TIMEOUT);
    assert_int_equal(hsaKmtSetEvent(e[0]), KMT_OK);
    assert_int_equal(hsaKmtWaitOnMultipleEvents(e, 2, true, 1),
                     KMT_WAIT_TIMEOUT);
    assert_int_equal(hsaKmtWaitOnMultipleEvents(e, 2, false, 1), KMT_OK);
    assert_int_equal(hsaKmtWaitOnEvent(e[0], 0), KMT_WAIT_TIMEOUT); /* reset */
    assert_int_equal(hsaKmtSetEvent(e[1]), KMT_OK);
    assert_int_equal(hsaKmtWaitOnEvent(e[1], 0xffffffff), KMT_OK);
    assert_int_equal(hsaKmtWaitOnEvent(e[1], 0), KMT_OK); /* stays */
    assert_int_equal(hsaKmtDestroyEvent(e[0]), KMT_OK);
    assert_int_equal(hsaKmtDestroyEvent(e[0]), KMT_INVALID_HANDLE);
    assert_int_equal(hsaKmtDestroyEvent(e[1]), KMT_OK);
}

static void test_registered_ranges_may_overlap(void **state)
{
    static char own[8192];
    uint64_t first, second;
    struct kmt_pointer info;

    (void)state;
    assert_int_equal(hsaKmtRegisterMemory(own + 16, 4096), KMT_OK);
    assert_int_equal(hsaKmtRegisterMemory(own + 1000, 4096), KMT_OK);
    assert_int_equal(hsaKmtRegisterMemory(own + 16, 4096), KMT_OK); /* again */
    hsaKmtMapMemoryToGPU(own + 16, 4096, &first);
    hsaKmtMapMemoryToGPU(own + 1000, 4096, &second);
    assert_true(first != address(own + 16) &&
                first % 4096 == address(own + 16) % 4096);
    assert_ptr_equal(thunk_memory(first + 5, 1), own + 21);
    assert_ptr_equal(thunk_memory(second, 4096), own + 1000);
    assert_int_equal(hsaKmtQueryPointerInfo(thunk_pointer(first), &info),
                     KMT_OK);
    assert_int_equal(info.type, KMT_POINTER_REGISTERED);
    assert_ptr_equal(info.cpu, own + 16);
    assert_int_equal(hsaKmtDeregisterMemory(own + 16), KMT_OK);
    assert_ptr_equal(thunk_memory(first, 1), own + 16); /* counted */
    assert_int_equal(hsaKmtDeregisterMemory(own + 16), KMT_OK);
    assert_null(thunk_memory(first, 1));
    assert_ptr_equal(thunk_memory(second, 1), own + 1000);
    assert_int_equal(hsaKmtDeregisterMemory(own + 1000), KMT_OK);
    assert_int_equal(hsaKmtDeregisterMemory(own + 1000), KMT_NOT_REGISTERED);
}

static void test_blocks(void **state)
{
    struct kmt_pointer info;
    void *p = NULL, *q = NULL;

    (void)state;
    assert_int_equal(hsaKmtAllocMemory(GPU, 4 << 20, 0, &p), KMT_OK);
    assert_int_equal(address(p) % (2 << 20), 0);
    assert_int_equal(hsaKmtQueryPointerInfo((char *)p + 100, &info), KMT_OK);
    assert_int_equal(info.type, KMT_POINTER_ALLOCATED);
    assert_int_equal(info.node, GPU);
    assert_ptr_equal(info.cpu, p);
    assert_int_equal(info.nbytes, 4 << 20);
    assert_int_equal(hsaKmtAllocMemory(GPU, UINT64_C(1) << 45, 0, &q),
                     KMT_NO_MEMORY);
    assert_int_equal(hsaKmtAllocMemory(9, 4096, 0, &q), KMT_INVALID_NODE);
    assert_int_equal(hsaKmtAllocMemory(GPU, 100, 0, &q), KMT_INVALID_PARAMETER);
    assert_int_equal(hsaKmtFreeMemory(p, 4 << 20), KMT_OK);
    assert_int_equal(hsaKmtFreeMemory(p, 4 << 20), KMT_INVALID_PARAMETER);
    assert_int_equal(hsaKmtQueryPointerInfo(p, &info), KMT_ERROR);
    assert_int_equal(info.type, KMT_POINTER_UNKNOWN);
}

/* Memory without an address, mapped at two of them. */
static void test_memory_is_mapped_apart_from_its_address(void **state)
{
    enum { PIECE = 8192, MAP = 1, UNMAP = 2, READ = 2, WRITE = 4, MMAP = 1 };
    void *handle = NULL, *device = NULL, *space = NULL, *wrong = NULL;
    struct kmt_bo_import first, second;
    const struct sim_alloc *a;
    uint64_t offset = 99, before = 0, after = 0, place = 0, at;
    uint32_t id = 0;
    uint8_t *host;
    int fd = -1;

    (void)state;
    assert_int_equal(hsaKmtAvailableMemory(GPU, &before), KMT_OK);
    assert_int_equal(hsaKmtAllocMemory(GPU, PIECE, KMT_MEM_NO_ADDRESS, &handle),
                     KMT_OK);
    assert_int_equal(hsaKmtAvailableMemory(GPU, &after), KMT_OK);
    assert_int_equal(before - after, PIECE);
    assert_int_equal(
        hsaKmtAllocMemory(GPU, UINT64_C(1) << 45, KMT_MEM_NO_ADDRESS, &wrong),
        KMT_NO_MEMORY);
    assert_int_equal(
        hsaKmtAllocMemory(0, (uint64_t)2 * PIECE, KMT_MEM_ONLY_ADDRESS, &space),
        KMT_OK);
    at = address(space);
    assert_int_equal(hsaKmtGetAMDGPUDeviceHandle(9, &device), KMT_INVALID_NODE);
    assert_int_equal(hsaKmtGetAMDGPUDeviceHandle(GPU, &device), KMT_OK);
    assert_int_equal(hsaKmtExportDMABufHandle(space, PIECE, &fd, &offset),
                     KMT_NOT_SUPPORTED);
    assert_int_equal(hsaKmtExportDMABufHandle(handle, PIECE, &fd, &offset),
                     KMT_OK);
    assert_int_equal(offset, 0);
    assert_int_equal(
        amdgpu_bo_import(device, KMT_BO_DMA_BUF, (uint32_t)fd, &first), 0);
    assert_int_equal(
        amdgpu_bo_import(device, KMT_BO_DMA_BUF, (uint32_t)fd, &second), 0);
    assert_true(amdgpu_bo_import(device, KMT_BO_KMS, (uint32_t)fd, &second) <
                0);
    close(fd);
    assert_int_equal(first.nbytes, PIECE);

    /* For a GPU, with access as it is asked for, and for a second one. */
    assert_true(amdgpu_bo_va_op(first.bo, PIECE, 4096, at, READ | WRITE, MAP) <
                0);
    assert_true(amdgpu_bo_va_op(first.bo, 0, PIECE, at, 0, UNMAP) < 0);
    assert_int_equal(amdgpu_bo_va_op(first.bo, 0, PIECE, at, READ, MAP), 0);
    a = sim_mem_find(at + PIECE - 1);
    assert_true(a && a->base == at && a->size == PIECE && a->readonly);
    assert_int_equal(amdgpu_bo_va_op(second.bo, 0, PIECE, at, READ, MAP), 0);
    assert_int_equal(
        amdgpu_bo_va_op(second.bo, 4096, 4096, at + PIECE, READ | WRITE, MAP),
        0);
    assert_false(sim_mem_find(at + PIECE)->readonly);
    sim_mem_find(at + PIECE)->bytes[7] = 42;
    assert_int_equal(sim_mem_find(at)->bytes[4096 + 7], 42);

    /* For the host, by the device's file. */
    assert_int_equal(amdgpu_bo_export(first.bo, KMT_BO_KMS, &id), 0);
    memcpy(&place, &id, sizeof(id));
    assert_int_equal(drmCommandWriteRead(0, MMAP, &place, sizeof(place)), 0);
    host = mmap(NULL, PIECE, PROT_READ, MAP_SHARED,
                amdgpu_device_get_fd(device), (off_t)place);
    assert_true(host != MAP_FAILED);
    assert_int_equal(host[4096 + 7], 42);
    munmap(host, PIECE);
    place = 12345;
    assert_true(drmCommandWriteRead(0, MMAP, &place, sizeof(place)) < 0);

    /* The mapping stays until its last owner unmaps it. */
    assert_int_equal(amdgpu_bo_va_op(first.bo, 0, PIECE, at, 0, UNMAP), 0);
    assert_non_null(sim_mem_find(at));
    assert_int_equal(amdgpu_bo_va_op(second.bo, 0, PIECE, at, 0, UNMAP), 0);
    assert_null(sim_mem_find(at));
    assert_int_equal(amdgpu_bo_va_op(second.bo, 0, 4096, at + PIECE, 0, UNMAP),
                     0);
    assert_int_equal(hsaKmtFreeMemory(handle, PIECE), KMT_OK);
    assert_int_equal(amdgpu_bo_free(first.bo), 0);
    assert_int_equal(hsaKmtAvailableMemory(GPU, &after), KMT_OK);
    assert_int_equal(before - after, PIECE);
    assert_int_equal(amdgpu_bo_free(second.bo), 0);
    assert_int_equal(hsaKmtAvailableMemory(GPU, &after), KMT_OK);
    assert_int_equal(before, after);
    assert_int_equal(hsaKmtFreeMemory(handle, PIECE), KMT_INVALID_PARAMETER);
    assert_int_equal(hsaKmtFreeMemory(space, (uint64_t)2 * PIECE), KMT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier_or_opens_with_one_of_its_signals),
        cmocka_unit_test(test_barrier_and_waits_for_all_of_its_signals),
        cmocka_unit_test(test_barrier_value_compares_masked),
        cmocka_unit_test(test_a_bad_packet_is_the_queues_error),
        cmocka_unit_test(test_a_paused_queue_goes_on_later),
        cmocka_unit_test(test_copy_engine_packets),
        cmocka_unit_test(test_copy_engine_reports_a_wild_address),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_registered_ranges_may_overlap),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_memory_is_mapped_apart_from_its_address),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx90a", 1);
    return cmocka_run_group_tests(tests, make_memory, drop_memory);
}
