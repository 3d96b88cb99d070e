/* reservation.c - reservations, and what is mapped in them
 *
 * A reservation is two pieces of address space of one size: the one that
 * programs and kernels see, without access (but for a large BAR), and a window
 * in which the interpreter finds the bytes at the same distances.
 */
#define _GNU_SOURCE
#include "reservation.h"

#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct reservation {
    struct reservation *next;
    uint64_t base, size;
    uint8_t *window;
    size_t nmapped;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservation *reservations;

static void *address_space(void *at, uint64_t size)
{
    void *p = mmap(at, size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                       (at ? MAP_FIXED_NOREPLACE : 0),
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Cuts an aligned piece out of a larger one. */
static uint8_t *aligned_space(uint64_t size, uint64_t align)
{
    uint8_t *p = address_space(NULL, size + align), *first;

    if (!p)
        return NULL;
    first = p + (-(uintptr_t)p & (align - 1));
    if (first != p)
        munmap(p, (size_t)(first - p));
    if (first + size != p + size + align)
        munmap(first + size, (size_t)(p + align - first));
    return first;
}

uint64_t sim_virtual_reserve(uint64_t size, uint64_t align, uint64_t at)
{
    struct reservation *r = calloc(1, sizeof(*r));
    uint8_t *seen = NULL;

    if (align < SIM_VIRTUAL_GRANULE)
        align = SIM_VIRTUAL_GRANULE;
    if (!r || size > UINT64_MAX / 4 || align > UINT64_MAX / 4)
        goto none;
    if (at && at % align == 0)
        seen = address_space((void *)(uintptr_t)at, size);
    if (!seen)
        seen = aligned_space(size, align);
    if (!seen)
        goto none;
    r->window = address_space(NULL, size);
    if (!r->window) {
        munmap(seen, size);
        goto none;
    }
    r->base = (uintptr_t)seen;
    r->size = size;
    pthread_mutex_lock(&lock);
    r->next = reservations;
    reservations = r;
    pthread_mutex_unlock(&lock);
    return r->base;
none:
    free(r);
    return 0;
}

/* The link to the reservation that holds the address, or to NULL. */
static struct reservation **find(uint64_t addr)
{
    struct reservation **link = &reservations;

    while (*link && addr - (*link)->base >= (*link)->size)
        link = &(*link)->next;
    return link;
}

bool sim_virtual_release(uint64_t base, uint64_t size)
{
    struct reservation **link, *r;

    pthread_mutex_lock(&lock);
    link = find(base);
    r = *link;
    if (r && (r->base != base || r->size != size || r->nmapped))
        r = NULL;
    if (r)
        *link = r->next;
    pthread_mutex_unlock(&lock);
    if (!r)
        return false;
    munmap((void *)(uintptr_t)r->base, r->size);
    munmap(r->window, r->size);
    free(r);
    return true;
}

int sim_physical_new(uint64_t size)
{
    int fd = memfd_create("kpk-sim-memory", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, (off_t)size) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Maps blank pages, so that a kernel which still runs after the memory was
 * unmapped does no harm. */
static void blank(uint8_t *window, uint64_t size)
{
    (void)mmap(window, size, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

struct sim_alloc *sim_virtual_map(uint64_t base, uint64_t size, int fd,
                                  uint64_t offset, int device)
{
    struct sim_alloc *a = NULL;
    struct reservation *r;
    uint8_t *at;

    pthread_mutex_lock(&lock);
    r = *find(base);
    if (!r || size == 0 || size > r->size - (base - r->base))
        goto out;
    at = r->window + (base - r->base);
    a = sim_mem_publish(device, base, at, size, SIM_MEM_DEVICE);
    if (!a)
        goto out;
    a->no_read = a->no_write = UINT64_MAX;
    if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
             (off_t)offset) == MAP_FAILED) {
        sim_mem_free(base);
        a = NULL;
        goto out;
    }
    if (sim_config()->large_bar)
        (void)mmap((void *)(uintptr_t)base, size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
    a->shared = true;
    r->nmapped++;
out:
    pthread_mutex_unlock(&lock);
    return a;
}

bool sim_virtual_unmap(uint64_t base)
{
    const struct sim_alloc *a;
    struct reservation *r;
    uint64_t size = 0;

    pthread_mutex_lock(&lock);
    r = *find(base);
    sim_mem_pin();
    a = sim_mem_find(base);
    if (r && a && a->shared && a->base == base)
        size = a->size;
    sim_mem_unpin();
    if (size && sim_mem_free(base)) {
        blank(r->window + (base - r->base), size);
        if (sim_config()->large_bar)
            (void)mmap((void *)(uintptr_t)base, size, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                       -1, 0);
        r->nmapped--;
    }
    pthread_mutex_unlock(&lock);
    return size != 0;
}
