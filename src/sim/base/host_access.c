/* host_access.c - the bytes that the host reads and writes, and which were
 * written
 *
 * A tracked allocation has one bit a byte, which says whether the byte was ever
 * stored to. Kernels set the bits as they store, copies and fills do it here.
 */
#define _GNU_SOURCE
#include "host_access.h"

#include "../run/dispatch.h"
#include "allocation.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    MAPPED_BITS = 1 << 20 /* larger bit sets are mapped */
};

/*
 * Size of an allocation's written bits, one a byte. Large bit sets are mapped
 * straight from the system: their pages cost nothing until a bit is set. One
 * spare word: writers may touch whole words.
 */
static uint64_t bits_nbytes(uint64_t size)
{
    return size / 8 + 16;
}

uint8_t *sim_written_new(uint64_t size)
{
    void *bits;

    if (bits_nbytes(size) < MAPPED_BITS)
        return calloc(1, bits_nbytes(size));
    bits = mmap(NULL, bits_nbytes(size), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bits == MAP_FAILED ? NULL : bits;
}

void sim_written_free(uint8_t *bits, uint64_t size)
{
    if (bits && bits_nbytes(size) >= MAPPED_BITS)
        munmap(bits, bits_nbytes(size));
    else
        free(bits);
}

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

/* Sets bits [from, from + n), whole words where it can. */
static void set_bits(uint8_t *bits, uint64_t from, uint64_t n)
{
    uint64_t end = from + n;

    while (from < end) {
        if (from % 64 == 0 && end - from >= 64) {
            __atomic_store_n((uint64_t *)(void *)(bits + from / 8), UINT64_MAX,
                             __ATOMIC_RELAXED);
            from += 64;
        } else {
            uint64_t last = (from | 7) + 1 < end ? (from | 7) + 1 : end;
            unsigned mask = (0xffu << (from % 8)) & 0xffu;

            if (last % 8)
                mask &= (1u << (last % 8)) - 1;
            __atomic_fetch_or(bits + from / 8, (uint8_t)mask, __ATOMIC_RELAXED);
            from = last;
        }
    }
}

void sim_mem_mark_written(uint64_t addr, uint64_t n)
{
    struct sim_alloc *a;

    sim_mem_pin();
    a = n ? find_whole(addr, n) : NULL;
    if (a && a->written)
        set_bits(a->written, addr - a->base, n);
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
            set_bits(a->written, from - a->base, to - from);
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
        set_bits(to->written, dst - to->base, n);
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
