/* shared_event.c - an event's state that several processes map
 *
 * One page in a file, which other processes open by way of /proc.
 */
#include "shared_event.h"

#include "op_queue.h"

#include "../base/reservation.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* An event's page, shared between processes: how often the event was recorded,
 * and the latest record that its stream has come to. */
struct page {
    _Atomic uint64_t recorded, done;
};

struct shared_event {
    int fd; /* of this process */
    atomic_uint refs;
    struct page *page;
};

struct shared_event *shared_event_of(int fd)
{
    struct shared_event *s = calloc(1, sizeof(*s));
    void *page = MAP_FAILED;

    if (s && fd >= 0)
        page = mmap(NULL, SIM_VIRTUAL_GRANULE, PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        free(s);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    s->fd = fd;
    s->page = page;
    atomic_init(&s->refs, 1);
    return s;
}

struct shared_event *shared_event_new(void)
{
    return shared_event_of(sim_physical_new(SIM_VIRTUAL_GRANULE));
}

struct shared_event *shared_event_ref(struct shared_event *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void shared_event_unref(struct shared_event *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    munmap(s->page, SIM_VIRTUAL_GRANULE);
    close(s->fd);
    free(s);
}

uint64_t shared_event_record(struct shared_event *s)
{
    return atomic_fetch_add(&s->page->recorded, 1) + 1;
}

void shared_event_reach(struct shared_event *s, uint64_t turn)
{
    uint64_t done = atomic_load(&s->page->done);

    while (done < turn &&
           !atomic_compare_exchange_weak(&s->page->done, &done, turn))
        ;
}

uint64_t shared_event_turn(const struct shared_event *s)
{
    return atomic_load(&s->page->recorded);
}

bool shared_event_is_done(const struct shared_event *s, uint64_t turn)
{
    return atomic_load(&s->page->done) >= turn;
}

void shared_event_wait(const struct shared_event *s, uint64_t turn)
{
    enum { PAUSE_US = 50 };

    while (!shared_event_is_done(s, turn) && !queues_stopping())
        usleep(PAUSE_US);
}

int shared_event_descriptor(const struct shared_event *s)
{
    return s->fd;
}
