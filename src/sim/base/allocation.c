/* allocation.c - the arena, the table of allocations, and their quarantine
 *
 * The table is an array sorted by address. Readers search whatever array is
 * published at the time, without a lock; writers, under the lock, either append
 * to it in place (new allocations mostly lie above all others) or publish a
 * changed copy. Old arrays and records that left the quarantine may still have
 * readers. They go to a list and are released once no pin is held: a pin taken
 * later can only find the array published since.
 */
#define _GNU_SOURCE
#include "allocation.h"

#include "config.h"
#include "processor.h"
#include "written_bits.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    QUARANTINE = 2048, /* freed allocations that are still remembered */
    MAX_DEVICES = 64,
    OPEN_STEP = 64 << 20
};

/* Sizes of address space to try, largest first; ulimit -v may limit it. */
static const uint64_t arena_sizes[] = {256ull << 30, 64ull << 30, 16ull << 30,
                                       4ull << 30};

/* An allocation: sim_alloc, which every file sees, and this file's own fields.
 */
struct record {
    struct sim_alloc alloc; /* first: a record is found through it */
    uint64_t extent;        /* bytes of address space, guard page included */
    bool in_arena;
    bool mapped_here; /* host memory that is ours to unmap */
    struct record *next_freed;
};

struct table {
    size_t capacity;
    _Atomic size_t n;
    struct sim_alloc *entry[];
};

struct retired {
    struct retired *next;
    struct table *table;
    struct record *record;
};

static struct {
    pthread_mutex_t lock;
    _Atomic(struct table *) table;
    atomic_uint pins;

    uint8_t *seen;  /* the programs' addresses, without access */
    uint8_t *alias; /* the same pages, readable and writable */
    uint64_t size;
    uint64_t top;  /* arena bytes handed out so far */
    uint64_t open; /* accessible bytes of the alias */
    int fd;

    struct record *oldest_freed, *newest_freed;
    size_t nfreed;
    struct retired *retired;
    uint64_t serial;
    uint64_t used[MAX_DEVICES];
} mem = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) & ~(to - 1);
}

/* ---- the arena ---------------------------------------------------------- */

static bool map_arena(uint64_t size)
{
    uint8_t *seen, *alias;
    int fd = memfd_create("kpk-sim-arena", MFD_CLOEXEC);

    if (fd < 0)
        return false;
    if (ftruncate(fd, (off_t)size) != 0)
        goto no_maps;
    seen = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (seen == MAP_FAILED)
        goto no_maps;
    alias = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (alias == MAP_FAILED) {
        munmap(seen, size);
        goto no_maps;
    }
    /* A core dump of a quarter of a terabyte helps nobody. */
    madvise(seen, size, MADV_DONTDUMP);
    madvise(alias, size, MADV_DONTDUMP);
    mem.fd = fd;
    mem.seen = seen;
    mem.alias = alias;
    mem.size = size;
    return true;
no_maps:
    close(fd);
    return false;
}

/*
 * Opens the used part of the second mapping. Tools that keep a record of each
 * accessible byte (valgrind) would choke on the whole mapping.
 */
static bool open_alias(uint64_t end)
{
    uint64_t to = round_up(end, OPEN_STEP);

    if (end <= mem.open)
        return true;
    if (to > mem.size)
        to = mem.size;
    if (mprotect(mem.alias + mem.open, to - mem.open, PROT_READ | PROT_WRITE))
        return false;
    mem.open = to;
    return true;
}

static bool arena_ready(void)
{
    size_t i;

    for (i = 0; !mem.seen && i < sizeof(arena_sizes) / sizeof(*arena_sizes);
         i++)
        map_arena(arena_sizes[i]);
    return mem.seen != NULL;
}

/* Lets the host reach device memory where programs see it, or no more. */
static bool host_reaches(uint64_t offset, uint64_t size, bool may)
{
    return !sim_config()->large_bar ||
           mprotect(mem.seen + offset, round_up(size, PAGE),
                    may ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

/* ---- retiring ----------------------------------------------------------- */

static void release_record(struct record *r)
{
    if (r->alloc.code)
        r->alloc.drop_code(r->alloc.code);
    if (r->mapped_here)
        munmap(r->alloc.bytes, r->extent);
    sim_written_free(r->alloc.written, r->alloc.size);
    free(r);
}

/* Frees retired memory that no reader can still use. The caller holds the lock.
 */
static void release_retired(void)
{
    if (atomic_load(&mem.pins) != 0)
        return;
    while (mem.retired) {
        struct retired *it = mem.retired;

        mem.retired = it->next;
        free(it->table);
        if (it->record)
            release_record(it->record);
        free(it);
    }
}

static void retire(struct table *table, struct record *record)
{
    struct retired *it = malloc(sizeof(*it));

    if (!it)
        return; /* no memory: leak it, because a reader may still use it */
    *it = (struct retired){mem.retired, table, record};
    mem.retired = it;
}

/* ---- the table ---------------------------------------------------------- */

/* Number of entries with base <= addr. */
static size_t count_at_or_below(const struct table *t, size_t n, uint64_t addr)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (t->entry[middle]->base <= addr)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/*
 * Puts in `added` (may be NULL) and takes out `gone` (may be NULL). With the
 * lock held. False if there is no memory.
 */
static bool change_table(struct sim_alloc *added, const struct sim_alloc *gone)
{
    struct table *old = atomic_load(&mem.table), *fresh;
    size_t n = old ? atomic_load(&old->n) : 0, i, m = 0;

    if (added && !gone && old && n < old->capacity &&
        (n == 0 || old->entry[n - 1]->base < added->base)) {
        old->entry[n] = added;
        atomic_store(&old->n, n + 1);
        return true;
    }
    fresh = malloc(sizeof(*fresh) + (2 * n + 64) * sizeof(fresh->entry[0]));
    if (!fresh)
        return false;
    fresh->capacity = 2 * n + 64;
    for (i = 0; i < n; i++) {
        if (added && old->entry[i]->base > added->base) {
            fresh->entry[m++] = added;
            added = NULL;
        }
        if (old->entry[i] != gone)
            fresh->entry[m++] = old->entry[i];
    }
    if (added)
        fresh->entry[m++] = added;
    atomic_init(&fresh->n, m);
    atomic_store(&mem.table, fresh);
    if (old)
        retire(old, NULL);
    return true;
}

/* Forgets the allocation that was freed first. With the lock held. */
static void forget_oldest(void)
{
    struct record *r = mem.oldest_freed;

    if (!r || !change_table(NULL, &r->alloc))
        return;
    mem.oldest_freed = r->next_freed;
    if (!mem.oldest_freed)
        mem.newest_freed = NULL;
    mem.nfreed--;
    retire(NULL, r);
}

/*
 * Address space for `extent` bytes. New space first, so that addresses are not
 * used again soon; when that is used up, the first gap that is large enough.
 */
static bool find_space(uint64_t extent, uint64_t align, uint64_t *offset)
{
    uint64_t base = (uint64_t)(uintptr_t)mem.seen;
    uint64_t start = round_up(base + mem.top, align) - base;

    if (start <= mem.size && extent <= mem.size - start) {
        if (!open_alias(start + extent))
            return false;
        *offset = start;
        mem.top = start + extent;
        return true;
    }
    if (!open_alias(mem.size))
        return false;
    for (;;) {
        struct table *t = atomic_load(&mem.table);
        size_t i, n = t ? atomic_load(&t->n) : 0;

        start = round_up(base, align) - base;
        for (i = 0; i < n; i++) {
            const struct record *r = (const struct record *)t->entry[i];

            if (!r->in_arena)
                continue;
            if (start + extent <= r->alloc.base - base)
                break;
            start = round_up(r->alloc.base + r->extent, align) - base;
        }
        if (start <= mem.size && extent <= mem.size - start) {
            *offset = start;
            return true;
        }
        if (!mem.oldest_freed)
            return false;
        forget_oldest();
    }
}

/* ---- allocation --------------------------------------------------------- */

static bool counts_as_used(enum sim_mem_kind kind)
{
    return kind == SIM_MEM_DEVICE || kind == SIM_MEM_CODE;
}

static bool within_budget(int device, uint64_t size, enum sim_mem_kind kind)
{
    const struct sim_device *d = sim_device_get(device);

    if (!counts_as_used(kind) || !d || device >= MAX_DEVICES)
        return true;
    return size <= d->memory_nbytes &&
           mem.used[device] <= d->memory_nbytes - size;
}

static void count_used(const struct record *r, bool up)
{
    const struct sim_alloc *a = &r->alloc;

    if (!counts_as_used(a->kind) || a->device < 0 || a->device >= MAX_DEVICES ||
        (!r->in_arena && !r->mapped_here))
        return;
    if (up)
        mem.used[a->device] += a->size;
    else
        mem.used[a->device] -= a->size;
}

bool sim_mem_charge(int device, uint64_t size)
{
    bool ok;

    pthread_mutex_lock(&mem.lock);
    ok = within_budget(device, size, SIM_MEM_DEVICE);
    if (ok)
        mem.used[device] += size;
    pthread_mutex_unlock(&mem.lock);
    return ok;
}

void sim_mem_discharge(int device, uint64_t size)
{
    pthread_mutex_lock(&mem.lock);
    mem.used[device] -= size;
    pthread_mutex_unlock(&mem.lock);
}

static struct record *new_record(int device, uint64_t size,
                                 enum sim_mem_kind kind, bool track)
{
    struct record *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->alloc.size = size;
    r->alloc.kind = kind;
    r->alloc.device = device;
    r->alloc.serial = ++mem.serial;
    if (track && !(r->alloc.written = sim_written_new(size))) {
        free(r);
        return NULL;
    }
    return r;
}

static struct sim_alloc *publish(struct record *r)
{
    if (!change_table(&r->alloc, NULL)) {
        release_record(r);
        return NULL;
    }
    count_used(r, true);
    return &r->alloc;
}

/* Maps address space whose last page is inaccessible; NULL on failure. */
static uint8_t *map_host(uint64_t extent, uint64_t align, uint64_t at)
{
    uint64_t more = at || align <= PAGE ? 0 : align;
    uint8_t *bytes, *first;

    bytes = mmap((void *)(uintptr_t)at, extent + more, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                     (at ? MAP_FIXED_NOREPLACE : 0),
                 -1, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    if (more) {
        first = bytes + (round_up((uint64_t)(uintptr_t)bytes, align) -
                         (uint64_t)(uintptr_t)bytes);
        if (first != bytes)
            munmap(bytes, (size_t)(first - bytes));
        munmap(first + extent, (size_t)(bytes + more - first));
        bytes = first;
    }
    mprotect(bytes + extent - PAGE, PAGE, PROT_NONE);
    return bytes;
}

static struct sim_alloc *alloc_host(int device, uint64_t size, uint64_t align,
                                    uint64_t at, enum sim_mem_kind kind)
{
    uint64_t extent = round_up(size, PAGE) + PAGE;
    struct record *r;
    uint8_t *bytes = map_host(extent, align, at);

    if (!bytes)
        return NULL;
    r = new_record(device, size, kind, false);
    if (!r) {
        munmap(bytes, extent);
        return NULL;
    }
    r->alloc.base = (uint64_t)(uintptr_t)bytes;
    r->alloc.bytes = bytes;
    r->extent = extent;
    r->mapped_here = true;
    return publish(r);
}

static struct sim_alloc *alloc_at(int device, uint64_t offset, uint64_t size,
                                  uint64_t extent, enum sim_mem_kind kind)
{
    const bool reached = kind == SIM_MEM_DEVICE && sim_config()->large_bar;
    struct record *r;

    if (reached && !host_reaches(offset, size, true))
        return NULL;
    r = new_record(device, size, kind, true);
    if (!r)
        return NULL;
    r->alloc.base = (uint64_t)(uintptr_t)(mem.seen + offset);
    r->alloc.bytes = mem.alias + offset;
    r->extent = extent;
    r->in_arena = true;
    return publish(r);
}

struct sim_alloc *sim_mem_alloc(int device, uint64_t size, uint64_t align,
                                enum sim_mem_kind kind)
{
    struct sim_alloc *a = NULL;
    uint64_t extent, offset;

    if (size == 0 || size > UINT64_MAX / 4)
        return NULL;
    pthread_mutex_lock(&mem.lock);
    if (kind == SIM_MEM_HOST || kind == SIM_MEM_MANAGED) {
        a = alloc_host(device, size, align, 0, kind);
    } else if (within_budget(device, size, kind) && arena_ready()) {
        /* Whole pages, so that freed ones can be given back, and one more as
         * a gap: running off the end never meets the neighbour. */
        extent = round_up(size, PAGE) + PAGE;
        if (find_space(extent, align > PAGE ? align : PAGE, &offset))
            a = alloc_at(device, offset, size, extent, kind);
    }
    release_retired();
    pthread_mutex_unlock(&mem.lock);
    return a;
}

struct sim_alloc *sim_mem_map(int device, uint64_t size, uint64_t align,
                              uint64_t at, enum sim_mem_kind kind)
{
    struct sim_alloc *a = NULL;

    if (size == 0 || size > UINT64_MAX / 4)
        return NULL;
    pthread_mutex_lock(&mem.lock);
    if (within_budget(device, size, kind))
        a = alloc_host(device, size, align, at, kind);
    release_retired();
    pthread_mutex_unlock(&mem.lock);
    return a;
}

bool sim_mem_alloc_parts(int device, const struct sim_mem_part *parts, size_t n,
                         enum sim_mem_kind kind, struct sim_alloc **out)
{
    uint64_t extent, offset, total = 0;
    size_t i;
    bool ok = false;

    if (n == 0 || parts[n - 1].offset > UINT64_MAX / 4 ||
        parts[n - 1].size > UINT64_MAX / 4)
        return false;
    for (i = 0; i < n; i++)
        total += parts[i].size;
    extent = round_up(parts[n - 1].offset + parts[n - 1].size, PAGE) + PAGE;
    memset(out, 0, n * sizeof(out[0]));
    pthread_mutex_lock(&mem.lock);
    if (!within_budget(device, total, kind) || !arena_ready() ||
        !find_space(extent, PAGE, &offset))
        goto out;
    for (i = 0; i < n; i++) {
        uint64_t end = i + 1 < n ? parts[i + 1].offset : extent;

        out[i] = alloc_at(device, offset + parts[i].offset, parts[i].size,
                          end - parts[i].offset, kind);
        if (!out[i])
            break;
        out[i]->readonly = parts[i].readonly;
    }
    ok = i == n;
out:
    pthread_mutex_unlock(&mem.lock);
    if (!ok)
        for (i = 0; i < n && out[i]; i++) {
            sim_mem_free(out[i]->base);
            out[i] = NULL;
        }
    return ok;
}

/* Enters memory of another owner at an address without an allocation. The
 * caller holds the lock. */
static struct sim_alloc *publish_foreign(int device, uint64_t base, void *bytes,
                                         uint64_t size, enum sim_mem_kind kind)
{
    const struct table *t = atomic_load(&mem.table);
    size_t n = t ? atomic_load(&t->n) : 0;
    size_t i = t ? count_at_or_below(t, n, base + size - 1) : 0;
    struct record *r;

    if (i > 0 && t->entry[i - 1]->base + t->entry[i - 1]->size > base)
        return NULL;
    r = new_record(device, size, kind, false);
    if (!r)
        return NULL;
    r->alloc.base = base;
    r->alloc.bytes = bytes;
    r->extent = size;
    return publish(r);
}

struct sim_alloc *sim_mem_publish(int device, uint64_t base, void *bytes,
                                  uint64_t size, enum sim_mem_kind kind)
{
    struct sim_alloc *a;

    pthread_mutex_lock(&mem.lock);
    a = publish_foreign(device, base, bytes, size, kind);
    release_retired();
    pthread_mutex_unlock(&mem.lock);
    return a;
}

struct sim_alloc *sim_mem_register(int device, void *host, uint64_t size)
{
    uint64_t base = (uint64_t)(uintptr_t)host;

    if (!host || size == 0 || base + size < base)
        return NULL;
    return sim_mem_publish(device, base, host, size, SIM_MEM_HOST);
}

struct sim_alloc *sim_mem_alias(uint64_t base, void *host, uint64_t size)
{
    return sim_mem_publish(-1, base, host, size, SIM_MEM_HOST);
}

/* ---- freeing ------------------------------------------------------------ */

/*
 * Returns the pages of a freed allocation to the system; they read as zero when
 * used again. Segments of a code object begin anywhere in a page: the last one
 * that is freed of those on a page returns it. With the lock held.
 */
static void discard_pages(const struct record *r)
{
    const struct table *t = atomic_load(&mem.table);
    size_t n = atomic_load(&t->n), i;
    uint64_t first = r->alloc.base / PAGE * PAGE;
    uint64_t end = round_up(r->alloc.base + r->alloc.size, PAGE);
    uint64_t from = first, to = end;

    if (r->alloc.kind == SIM_MEM_DEVICE)
        host_reaches(first - (uint64_t)(uintptr_t)mem.seen, r->alloc.size,
                     false);
    for (i = count_at_or_below(t, n, r->alloc.base - 1);
         i > 0 && t->entry[i - 1]->base + t->entry[i - 1]->size > first; i--)
        if (!t->entry[i - 1]->freed)
            from = first + PAGE;
    for (i = count_at_or_below(t, n, r->alloc.base);
         i < n && t->entry[i]->base < end; i++)
        if (!t->entry[i]->freed)
            to = end - PAGE;
    if (from < to)
        fallocate(mem.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)(from - (uint64_t)(uintptr_t)mem.seen),
                  (off_t)(to - from));
}

/* The same for memory outside the arena, which a running kernel may still use.
 */
static void discard_host_pages(const struct record *r)
{
    madvise(r->alloc.bytes, r->extent, MADV_DONTNEED);
    if (atomic_load(&mem.pins) == 0)
        mprotect(r->alloc.bytes, r->extent, PROT_NONE);
}

bool sim_mem_free(uint64_t base)
{
    struct table *t;
    struct record *r = NULL;
    size_t i;

    pthread_mutex_lock(&mem.lock);
    t = atomic_load(&mem.table);
    i = t ? count_at_or_below(t, atomic_load(&t->n), base) : 0;
    if (i > 0 && t->entry[i - 1]->base == base && !t->entry[i - 1]->freed)
        r = (struct record *)t->entry[i - 1];
    if (r) {
        count_used(r, false);
        __atomic_store_n(&r->alloc.freed, true, __ATOMIC_RELEASE);
        if (!r->in_arena && !r->mapped_here) {
            /* The program's own memory: it may register it again. */
            if (change_table(NULL, &r->alloc))
                retire(NULL, r);
        } else {
            if (r->in_arena)
                discard_pages(r);
            else
                discard_host_pages(r);
            r->next_freed = NULL;
            if (mem.newest_freed)
                mem.newest_freed->next_freed = r;
            else
                mem.oldest_freed = r;
            mem.newest_freed = r;
            if (++mem.nfreed > QUARANTINE)
                forget_oldest();
        }
    }
    release_retired();
    pthread_mutex_unlock(&mem.lock);
    return r != NULL;
}

static void set_freed(uint64_t base, bool freed)
{
    struct table *t;
    size_t i;

    pthread_mutex_lock(&mem.lock);
    t = atomic_load(&mem.table);
    i = t ? count_at_or_below(t, atomic_load(&t->n), base) : 0;
    if (i > 0 && t->entry[i - 1]->base == base)
        __atomic_store_n(&t->entry[i - 1]->freed, freed, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mem.lock);
}

void sim_mem_suspend(uint64_t base)
{
    set_freed(base, true);
}

void sim_mem_resume(uint64_t base)
{
    set_freed(base, false);
}

/* ---- looking up --------------------------------------------------------- */

const struct sim_alloc *sim_mem_find(uint64_t addr)
{
    const struct table *t = atomic_load(&mem.table);
    const struct sim_alloc *a;
    size_t i;

    if (!t)
        return NULL;
    i = count_at_or_below(t, atomic_load(&t->n), addr);
    if (i == 0)
        return NULL;
    a = t->entry[i - 1];
    return addr - a->base < a->size ? a : NULL;
}

const struct sim_alloc *sim_mem_find_below(uint64_t addr)
{
    const struct table *t = atomic_load(&mem.table);
    size_t i;

    if (!t)
        return NULL;
    for (i = count_at_or_below(t, atomic_load(&t->n), addr); i > 0; i--)
        if (t->entry[i - 1]->base + t->entry[i - 1]->size <= addr)
            return t->entry[i - 1];
    return NULL;
}

bool sim_mem_is_kept(uint64_t addr)
{
    const struct table *t = atomic_load(&mem.table);
    const struct record *r;
    size_t i;

    if (mem.seen && addr - (uint64_t)(uintptr_t)mem.seen < mem.size)
        return true;
    i = t ? count_at_or_below(t, atomic_load(&t->n), addr) : 0;
    r = i ? (const struct record *)t->entry[i - 1] : NULL;
    return r && r->mapped_here && addr - r->alloc.base < r->extent;
}

struct sim_alloc *sim_mem_find_above(uint64_t addr)
{
    const struct table *t = atomic_load(&mem.table);
    size_t i, n = t ? atomic_load(&t->n) : 0;

    for (i = t ? count_at_or_below(t, n, addr) : 0; i < n; i++)
        if (!__atomic_load_n(&t->entry[i]->freed, __ATOMIC_ACQUIRE))
            return t->entry[i];
    return NULL;
}

void sim_mem_pin(void)
{
    atomic_fetch_add(&mem.pins, 1);
}

void sim_mem_unpin(void)
{
    atomic_fetch_sub(&mem.pins, 1);
}

void sim_mem_info(int device, uint64_t *used, uint64_t *total)
{
    const struct sim_device *d = sim_device_get(device);

    pthread_mutex_lock(&mem.lock);
    *used = d && device < MAX_DEVICES ? mem.used[device] : 0;
    pthread_mutex_unlock(&mem.lock);
    *total = d ? d->memory_nbytes : 0;
}

bool sim_mem_shared_file(uint64_t base, int *fd, uint64_t *offset)
{
    const struct sim_alloc *a;
    bool found;

    sim_mem_pin();
    a = sim_mem_find(base);
    found = a && a->base == base && a->kind == SIM_MEM_DEVICE &&
            ((const struct record *)a)->in_arena;
    if (found) {
        *fd = mem.fd;
        *offset = (uint64_t)(a->bytes - mem.alias);
    }
    sim_mem_unpin();
    return found;
}

/* ---- the end ------------------------------------------------------------ */

void sim_mem_shutdown(void)
{
    struct table *t;
    size_t i, n;

    pthread_mutex_lock(&mem.lock);
    release_retired();
    t = atomic_exchange(&mem.table, NULL);
    n = t ? atomic_load(&t->n) : 0;
    for (i = 0; i < n; i++)
        release_record((struct record *)t->entry[i]);
    free(t);
    mem.oldest_freed = mem.newest_freed = NULL;
    mem.nfreed = 0;
    if (mem.seen) {
        munmap(mem.seen, mem.size);
        munmap(mem.alias, mem.size);
        close(mem.fd);
        mem.seen = mem.alias = NULL;
        mem.fd = -1;
        mem.top = mem.open = 0;
    }
    memset(mem.used, 0, sizeof(mem.used));
    pthread_mutex_unlock(&mem.lock);
}
