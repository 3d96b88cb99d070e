/* hsa_signal.c - HSA signals as the packet processors see them
 *
 * A signal's handle is the address of a record in memory that ROCr made with
 * the thunk: the value at 8, the mailbox and ID of an event at 16 and 24, times
 * of the packet's start and end at 32 and 40.
 */
#include "hsa_signal.h"

#include "kmt_event.h"
#include "node.h"

#include "../base/allocation.h"
#include "../base/host_access.h"

#include <time.h>

struct signal {
    int64_t kind;
    _Atomic int64_t value;
    uint64_t mailbox;
    uint32_t event, reserved;
    uint64_t start, end;
};

_Static_assert(offsetof(struct signal, start) == 32, "times of a signal");

void *thunk_memory(uint64_t addr, uint64_t n)
{
    return sim_mem_host_view(addr, n);
}

static struct signal *signal_at(uint64_t handle)
{
    return handle ? thunk_memory(handle, sizeof(struct signal)) : NULL;
}

/* The mailbox and event are read before the value changes: a thread that waits
 * for the value may destroy the signal at once. */
static void wake(uint64_t mailbox, uint32_t event)
{
    if (!mailbox)
        return;
    __atomic_store_n((uint64_t *)thunk_pointer(mailbox), event,
                     __ATOMIC_RELEASE);
    thunk_event_set(event);
}

int64_t thunk_signal_value(uint64_t signal)
{
    struct signal *s = signal_at(signal);

    return s ? s->value : 0;
}

void thunk_signal_complete(uint64_t signal, uint64_t start, uint64_t end)
{
    struct signal *s = signal_at(signal);
    uint64_t mailbox;
    uint32_t event;

    if (!s)
        return;
    mailbox = s->mailbox;
    event = s->event;
    s->start = start;
    s->end = end;
    s->value--;
    wake(mailbox, event);
}

void thunk_signal_store(uint64_t signal, int64_t value)
{
    struct signal *s = signal_at(signal);
    uint64_t mailbox;
    uint32_t event;

    if (!s)
        return;
    mailbox = s->mailbox;
    event = s->event;
    s->value = value;
    wake(mailbox, event);
}
