/* host_access.c - the bytes that the host reads and writes
 *
 * Kernels set the bits of bytes that were written as they store, copies and
 * fills do it here.
 */
#define _GNU_SOURCE
#include "host_access.h"

#include "allocation.h"
#include "config.h"
#include "written_bits.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* The live allocation that holds all of [addr, addr + n); call with a pin. */
static struct sim_alloc *find_whole(uint64_t addr, uint64_t n)
{
    const struct sim_alloc *a = sim_mem_find(addr);

    if (!a || __atomic_load_n(&a->freed, __ATOMIC_ACQUIRE) ||
        n > a->size - (addr - a->base))
        return NULL;
    return (struct sim_alloc *)a;
}

/*
 * Mappings that adjoin in one reservation have their bytes side by side here,
 * too. True if such mappings cover [addr, addr + n); call with a pin.
 */
static bool adjoin(uint64_t addr, uint64_t n)
{
    const struct sim_alloc *a = sim_mem_find(addr), *next;
    uint64_t end;

    while (a && a->shared) {
        end = a->base + a->size;
        if (n <= end - addr)
            return true;
        next = sim_mem_find(end);
        if (!next || next->bytes != a->bytes + a->size)
            return false;
        a = next;
    }
    return false;
}

uint8_t *sim_mem_host_view(uint64_t addr, uint64_t n)
{
    const struct sim_alloc *a;
    uint8_t *view = NULL;

    sim_mem_pin();
    a = find_whole(addr, n);
    if (!a && adjoin(addr, n))
        a = sim_mem_find(addr);
    if (a)
        view = a->bytes + (addr - a->base);
    sim_mem_unpin();
    return view;
}

void sim_mem_mark_written(uint64_t addr, uint64_t n)
{
    struct sim_alloc *a;

    sim_mem_pin();
    a = n ? find_whole(addr, n) : NULL;
    if (a && a->written)
        sim_written_set(a->written, addr - a->base, n);
    if (a && a->kind == SIM_MEM_CODE)
        __atomic_fetch_add(&a->code_generation, 1, __ATOMIC_RELEASE);
    sim_mem_unpin();
}

/*
 * Whether the process has touched a page at its own address since it was
 * mapped: the system has a page there only then, as kernels and copies go by
 * the other address. Yes, if the system does not say.
 */
static bool host_touched(int pagemap, uint64_t page)
{
    const uint64_t present = UINT64_C(1) << 63;
    uint64_t entry;

    if (pread(pagemap, &entry, sizeof(entry),
              (off_t)(page / PAGE * sizeof(entry))) != sizeof(entry))
        return true;
    return entry & present;
}

void sim_mem_note_host(const struct sim_alloc *a, uint64_t addr, uint64_t n)
{
    const uint64_t end = addr + n;
    int pagemap;

    if (!sim_config()->large_bar || !a->written || a->kind != SIM_MEM_DEVICE)
        return;
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (uint64_t page = addr & ~(uint64_t)(PAGE - 1); page < end;
         page += PAGE) {
        uint64_t from = page < a->base ? a->base : page;
        uint64_t to = page + PAGE;

        if (to > a->base + a->size)
            to = a->base + a->size;
        if (host_touched(pagemap, page))
            sim_written_set(a->written, from - a->base, to - from);
    }
    if (pagemap >= 0)
        close(pagemap);
}

void sim_mem_copy_written(uint64_t dst, uint64_t src, uint64_t n)
{
    struct sim_alloc *to, *from;
    uint64_t i, d, s;

    sim_mem_pin();
    to = n ? find_whole(dst, n) : NULL;
    from = n ? find_whole(src, n) : NULL;
    if (!to || !from || !to->written) {
        sim_mem_unpin();
        return;
    }
    if (!from->written) { /* host memory counts as written */
        sim_written_set(to->written, dst - to->base, n);
    } else {
        sim_mem_note_host(from, src, n);
        d = dst - to->base;
        s = src - from->base;
        for (i = 0; i < n; i++) {
            uint8_t bit = (uint8_t)(1u << ((d + i) % 8));
            uint8_t *where = to->written + (d + i) / 8;

            if (i + 8 <= n && (d + i) % 8 == 0 && (s + i) % 8 == 0) {
                __atomic_store_n(where,
                                 __atomic_load_n(from->written + (s + i) / 8,
                                                 __ATOMIC_RELAXED),
                                 __ATOMIC_RELAXED);
                i += 7;
            } else if (__atomic_load_n(from->written + (s + i) / 8,
                                       __ATOMIC_RELAXED) >>
                           ((s + i) % 8) &
                       1) {
                __atomic_fetch_or(where, bit, __ATOMIC_RELAXED);
            } else {
                __atomic_fetch_and(where, (uint8_t)~bit, __ATOMIC_RELAXED);
            }
        }
    }
    if (to->kind == SIM_MEM_CODE)
        __atomic_fetch_add(&to->code_generation, 1, __ATOMIC_RELEASE);
    sim_mem_unpin();
}

void sim_mem_forget_written(uint64_t addr, uint64_t n)
{
    struct sim_alloc *a;

    sim_mem_pin();
    a = n ? find_whole(addr, n) : NULL;
    /* Only ever for a whole allocation that is used again. */
    if (a && a->written && addr == a->base && n == a->size) {
        if (sim_config()->large_bar) /* new pages for the host */
            madvise((void *)(uintptr_t)addr, n, MADV_DONTNEED);
        memset(a->written, 0, n / 8 + 1);
    }
    sim_mem_unpin();
}
