/* aql.c - the packets of HSA's queues, and AMD's own among them */
#include "aql.h"

#include "hsa_signal.h"
#include "kernel_packet.h"
#include "node.h"
#include "ring.h"

#include "../base/allocation.h"
#include "../isa/code_cache.h"

#include <string.h>

enum {
    PACKET_NBYTES = 64,
    TYPE_VENDOR = 0,
    TYPE_INVALID = 1,
    TYPE_KERNEL = 2,
    TYPE_BARRIER_AND = 3,
    TYPE_BARRIER_OR = 5,
    FORMAT_COMMANDS = 1, /* a vendor packet with commands in a buffer */
    FORMAT_BARRIER_VALUE = 2,
    BARRIER_SIGNALS = 5,
    COMPLETION_AT = 56
};

/* Offsets in ROCr's queue object. */
enum { SCRATCH_NBYTES_AT = 176, INACTIVE_SIGNAL_AT = 192 };

static uint64_t field64(const uint8_t *packet, unsigned offset)
{
    uint64_t v;

    memcpy(&v, packet + offset, sizeof(v));
    return v;
}

static uint32_t field32(const uint8_t *packet, unsigned offset)
{
    uint32_t v;

    memcpy(&v, packet + offset, sizeof(v));
    return v;
}

static const uint8_t *queue_object(const struct thunk_queue *q)
{
    return thunk_pointer(q->amd_queue);
}

/* ---- a packet's dependencies ---- */

static bool barrier_open(const uint8_t *packet, bool any)
{
    unsigned i, named = 0, zero = 0;

    for (i = 0; i < BARRIER_SIGNALS; i++) {
        uint64_t signal = field64(packet, 8 + 8 * i);

        if (!signal)
            continue;
        named++;
        zero += thunk_signal_value(signal) == 0;
    }
    return named == 0 || (any ? zero > 0 : zero == named);
}

static bool value_reached(const uint8_t *packet)
{
    uint64_t signal = field64(packet, 8);
    int64_t wanted = (int64_t)field64(packet, 16);
    int64_t value =
        (int64_t)((uint64_t)thunk_signal_value(signal) & field64(packet, 24));

    switch (field32(packet, 32)) {
    case 0:
        return value == wanted;
    case 1:
        return value != wanted;
    case 2:
        return value < wanted;
    default:
        return value >= wanted;
    }
}

/* Lanes of the packet's waves: 32 if the descriptor says so. */
static unsigned wave_size(const struct thunk_queue *q, const uint8_t *packet)
{
    const uint8_t *descriptor = thunk_memory(field64(packet, 32), 64);

    return q->device->target->major >= 10 && descriptor && (descriptor[57] & 4)
               ? 32
               : 64;
}

/*
 * The queue object has the size of a wave's scratch, as bytes per lane of 64.
 * The interpreter does not need this scratch. It requests it as hardware does,
 * because programs see ROCr's answer or refusal.
 */
static bool has_scratch(struct thunk_queue *q, const uint8_t *packet)
{
    const uint8_t *object = queue_object(q);
    uint64_t inactive = field64(object, INACTIVE_SIGNAL_AT);
    uint64_t wanted = (uint64_t)field32(packet, 24) * wave_size(q, packet);

    if (!q->needs_scratch) {
        if (wanted <= (uint64_t)field32(object, SCRATCH_NBYTES_AT) * 64)
            return true;
        q->needs_scratch = true;
        thunk_signal_store(inactive, THUNK_NEEDS_SCRATCH);
        return false;
    }
    if (thunk_signal_value(inactive) != 0)
        return false;
    q->needs_scratch = false;
    return true;
}

static bool is_ready(struct thunk_queue *q, const uint8_t *packet)
{
    switch (packet[0]) {
    case TYPE_KERNEL:
        return has_scratch(q, packet);
    case TYPE_BARRIER_AND:
        return barrier_open(packet, false);
    case TYPE_BARRIER_OR:
        return barrier_open(packet, true);
    case TYPE_VENDOR:
        return packet[2] != FORMAT_BARRIER_VALUE || value_reached(packet);
    default:
        return true;
    }
}

/* ---- execution of packets ---- */

static int64_t execute(const struct thunk_queue *q, const uint8_t *packet)
{
    switch (packet[0]) {
    case TYPE_KERNEL:
        return thunk_run_kernel(q, packet);
    case TYPE_BARRIER_AND:
    case TYPE_BARRIER_OR:
        return 0;
    case TYPE_VENDOR:
        if (packet[2] == FORMAT_BARRIER_VALUE)
            return 0;
        if (packet[2] != FORMAT_COMMANDS)
            return THUNK_BAD_PACKET;
        /* ROCr sends these to have instruction caches emptied. */
        sim_code_rewritten();
        return 0;
    default:
        return THUNK_BAD_PACKET;
    }
}

static void fail(struct thunk_queue *q, int64_t error)
{
    q->stopped = true;
    thunk_signal_store(field64(queue_object(q), INACTIVE_SIGNAL_AT), error);
}

/* The packet at the read index, if its owner has finished writing it. */
static uint8_t *next_packet(const struct thunk_queue *q)
{
    uint64_t read = __atomic_load_n(q->read_index, __ATOMIC_RELAXED);
    uint64_t mask = q->nbytes / PACKET_NBYTES - 1;
    uint8_t *packet = q->ring + (read & mask) * PACKET_NBYTES;
    uint16_t header;

    if (__atomic_load_n(q->write_index, __ATOMIC_ACQUIRE) <= read)
        return NULL;
    /* It holds the last packet's index, and -1 at first. Who rings by a call
     * does not write it. */
    if (!thunk_is_dtif &&
        (int64_t)(__atomic_load_n(q->doorbell, __ATOMIC_ACQUIRE) - read) < 0)
        return NULL;
    header = __atomic_load_n((uint16_t *)(void *)packet, __ATOMIC_ACQUIRE);
    return (header & 0xff) == TYPE_INVALID ? NULL : packet;
}

enum thunk_work thunk_aql_look(struct thunk_queue *q)
{
    const uint8_t *packet = next_packet(q);

    if (!packet || !is_ready(q, packet))
        return THUNK_NO_WORK;
    return packet[0] == TYPE_KERNEL ? THUNK_KERNEL : THUNK_PACKET;
}

void thunk_aql_step(struct thunk_queue *q)
{
    uint8_t *packet = next_packet(q);
    uint64_t start = thunk_now(), completion = field64(packet, COMPLETION_AT);
    int64_t error = execute(q, packet);

    if (error) {
        fail(q, error);
        return;
    }
    /* From here on the slot is the owner's again. */
    __atomic_store_n((uint16_t *)(void *)packet, TYPE_INVALID,
                     __ATOMIC_RELEASE);
    __atomic_store_n(q->read_index, *q->read_index + 1, __ATOMIC_RELEASE);
    thunk_signal_complete(completion, start, thunk_now());
}
