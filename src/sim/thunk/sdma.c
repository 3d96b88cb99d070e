/* sdma.c - the packets of copy engines
 *
 * A ring of dwords; the first of a packet has the operation in its low byte
 * and a variant in the next. Indices count bytes and never wrap. A packet's
 * accesses to memory are checked like a kernel's.
 */
#include "sdma.h"

#include "hsa_signal.h"
#include "kmt.h"
#include "kmt_event.h"
#include "node.h"
#include "ring.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DWORDS = 16 };

enum outcome { SDMA_OK, SDMA_WAITS, SDMA_FAULT };

/* A packet in execution; `at` is its place, for faults. */
struct packet {
    struct thunk_queue *queue;
    uint32_t dw[MAX_DWORDS];
    uint64_t at;
};

static uint64_t address(const struct packet *p, unsigned dword)
{
    return p->dw[dword] | (uint64_t)p->dw[dword + 1] << 32;
}

/* The host address of [addr, addr + n); NULL, after reporting a fault, if there
 * is no memory. */
static void *reach(struct packet *p, uint64_t addr, uint64_t n)
{
    void *host = thunk_memory(addr, n);

    if (host)
        return host;
    fprintf(stderr,
            "kpack-sim: a copy engine of %s reaches for %llu bytes at 0x%llx, "
            "which are not in one allocation\n",
            p->queue->device->target_id, (unsigned long long)n,
            (unsigned long long)addr);
    p->at = addr;
    return NULL;
}

/* ---- copies and fills ---- */

static enum outcome copy_bytes(struct packet *p, uint64_t dst, uint64_t src,
                               uint64_t n)
{
    void *to = reach(p, dst, n), *from = to ? reach(p, src, n) : NULL;

    if (!to || !from)
        return SDMA_FAULT;
    memmove(to, from, n);
    return SDMA_OK;
}

/* The count is the number of bytes less one; newer engines use 30 bits of it.
 */
static enum outcome copy_linear(struct packet *p)
{
    return copy_bytes(p, address(p, 5), address(p, 3),
                      (uint64_t)(p->dw[1] & 0x3fffffff) + 1);
}

/* One side of a rectangle: where it begins, and its pitches, in elements. */
struct side {
    uint64_t base, pitch, slice;
};

static struct side side_at(const struct packet *p, unsigned dword,
                           unsigned element)
{
    const uint32_t *dw = &p->dw[dword];
    struct side s = {.base = address(p, dword)};
    uint64_t x = dw[2] & 0x3fff, y = dw[2] >> 16 & 0x3fff, z = dw[3] & 0x7ff;

    s.pitch = ((uint64_t)(dw[3] >> 13) + 1) << element;
    s.slice = ((uint64_t)(dw[4] & 0x0fffffff) + 1) << element;
    s.base += (x << element) + y * s.pitch + z * s.slice;
    return s;
}

static enum outcome copy_rectangle(struct packet *p)
{
    unsigned element = p->dw[0] >> 29;
    struct side src = side_at(p, 1, element), dst = side_at(p, 6, element);
    uint64_t width = ((uint64_t)(p->dw[11] & 0x3fff) + 1) << element;
    uint32_t rows = (p->dw[11] >> 16 & 0x3fff) + 1;
    uint32_t slices = (p->dw[12] & 0x7ff) + 1;
    uint32_t y, z;

    for (z = 0; z < slices; z++)
        for (y = 0; y < rows; y++)
            if (copy_bytes(p, dst.base + z * dst.slice + y * dst.pitch,
                           src.base + z * src.slice + y * src.pitch,
                           width) != SDMA_OK)
                return SDMA_FAULT;
    return SDMA_OK;
}

static enum outcome fill(struct packet *p)
{
    unsigned unit = 1u << (p->dw[0] >> 30);
    uint64_t n = (uint64_t)(p->dw[4] & 0x3fffffff) + unit, i;
    uint8_t *to = reach(p, address(p, 1), n);

    if (!to)
        return SDMA_FAULT;
    for (i = 0; i + unit <= n; i += unit)
        memcpy(to + i, &p->dw[3], unit < 4 ? unit : 4);
    return SDMA_OK;
}

/* ---- packets for order ---- */

static enum outcome fence(struct packet *p)
{
    uint32_t *to = reach(p, address(p, 1), 4);

    if (!to)
        return SDMA_FAULT;
    __atomic_store_n(to, p->dw[3], __ATOMIC_RELEASE);
    return SDMA_OK;
}

static enum outcome trap(struct packet *p)
{
    thunk_event_set(p->dw[1] & 0x0fffffff);
    return SDMA_OK;
}

static bool compare(unsigned how, uint32_t a, uint32_t b)
{
    switch (how) {
    case 1:
        return a < b;
    case 2:
        return a <= b;
    case 3:
        return a == b;
    case 4:
        return a != b;
    case 5:
        return a >= b;
    case 6:
        return a > b;
    default:
        return true;
    }
}

/* Waits for memory; of registers, only that which flushes writes is polled. */
static enum outcome poll(struct packet *p)
{
    const uint32_t *where;

    if (!(p->dw[0] >> 31))
        return SDMA_OK;
    where = reach(p, address(p, 1), 4);
    if (!where)
        return SDMA_FAULT;
    return compare(p->dw[0] >> 28 & 7,
                   __atomic_load_n(where, __ATOMIC_ACQUIRE) & p->dw[4],
                   p->dw[3] & p->dw[4])
               ? SDMA_OK
               : SDMA_WAITS;
}

enum { ATOMIC_ADD64 = 47 };

static enum outcome atomic(struct packet *p)
{
    uint64_t *where;

    if (p->dw[0] >> 25 != ATOMIC_ADD64) {
        fprintf(stderr, "kpack-sim: a copy engine is asked for atomic %u\n",
                p->dw[0] >> 25);
        p->at = address(p, 1);
        return SDMA_FAULT;
    }
    where = reach(p, address(p, 1), 8);
    if (!where)
        return SDMA_FAULT;
    __atomic_fetch_add(where, address(p, 3), __ATOMIC_ACQ_REL);
    return SDMA_OK;
}

static enum outcome timestamp(struct packet *p)
{
    uint64_t *to = reach(p, address(p, 1), 8);

    if (!to)
        return SDMA_FAULT;
    *to = thunk_now();
    return SDMA_OK;
}

/* Caches need no care here. */
static enum outcome nothing(struct packet *p)
{
    (void)p;
    return SDMA_OK;
}

/* ---- the ring ---- */

enum { ANY = -1 };

static const struct {
    int op, variant; /* ANY: all others */
    unsigned ndwords;
    enum outcome (*run)(struct packet *p);
} packets[] = {
    {1, 4, 13, copy_rectangle}, {1, ANY, 7, copy_linear}, {5, ANY, 4, fence},
    {6, ANY, 2, trap},          {8, ANY, 6, poll},        {10, ANY, 8, atomic},
    {11, ANY, 5, fill},         {13, ANY, 3, timestamp},  {17, ANY, 5, nothing},
};

static uint32_t dword_at(const struct thunk_queue *q, uint64_t index)
{
    uint32_t v;

    memcpy(&v, q->ring + (index & (q->nbytes - 1)), sizeof(v));
    return v;
}

static void stop(struct thunk_queue *q, uint64_t at)
{
    thunk_event_memory_fault(thunk_node(q->device), at, KMT_FAULT_NOT_PRESENT);
    q->stopped = true;
}

static void advance(struct thunk_queue *q, unsigned ndwords)
{
    __atomic_store_n(q->read_index, *q->read_index + 4ull * ndwords,
                     __ATOMIC_RELEASE);
}

/* Takes the packet at the read index apart; its row in the table, or -1. */
static int take_apart(struct thunk_queue *q, struct packet *p)
{
    uint64_t read = *q->read_index;
    unsigned i, k;

    p->queue = q;
    p->dw[0] = dword_at(q, read);
    for (k = 0; k < sizeof(packets) / sizeof(packets[0]); k++)
        if ((uint32_t)packets[k].op == (p->dw[0] & 0xff) &&
            (packets[k].variant == ANY ||
             (uint32_t)packets[k].variant == (p->dw[0] >> 8 & 0xff)))
            break;
    if (k == sizeof(packets) / sizeof(packets[0]))
        return -1;
    for (i = 1; i < packets[k].ndwords; i++)
        p->dw[i] = dword_at(q, read + 4ull * i);
    return (int)k;
}

enum thunk_work thunk_sdma_look(struct thunk_queue *q)
{
    struct packet p = {0};
    int k;

    if (__atomic_load_n(q->doorbell, __ATOMIC_ACQUIRE) <= *q->read_index)
        return THUNK_NO_WORK;
    k = take_apart(q, &p);
    if (k >= 0 && packets[k].run == poll && poll(&p) == SDMA_WAITS)
        return THUNK_NO_WORK;
    return THUNK_PACKET;
}

void thunk_sdma_step(struct thunk_queue *q)
{
    struct packet p = {0};
    int k = take_apart(q, &p);

    if (k >= 0) {
        enum outcome outcome = packets[k].run(&p);

        if (outcome == SDMA_FAULT)
            stop(q, p.at);
        else if (outcome == SDMA_OK)
            advance(q, packets[k].ndwords);
    } else if ((p.dw[0] & 0xff) == 0) {
        /* Padding: skips the packet's count of dwords. */
        advance(q, 1 + (p.dw[0] >> 16 & 0x3fff));
    } else {
        fprintf(stderr,
                "kpack-sim: the packet 0x%08x of a copy engine is unknown\n",
                p.dw[0]);
        stop(q, 0);
    }
}
